"""The command line in a real terminal, with a person who watches and presses Ctrl-C."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sssp
from tests.cli.test_process import environment
from tests.site import site

pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")  # not on Windows

CHECKOUT = Path(sssp.__file__).parents[1]
CTRL_C = b"\x03"
ROWS, COLUMNS = 24, 100
PATIENCE = 60.0
#: makes stdin the terminal that Ctrl-C comes from, and becomes Python with the rest of its words
LAUNCHER = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Terminal:
    """A program in a terminal: what it shows, and what is typed."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self.shown = b""
        self._screen, program_side = pty.openpty()
        termios.tcsetwinsize(program_side, (ROWS, COLUMNS))
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *arguments],
            stdin=program_side,
            stdout=program_side,
            stderr=program_side,
            env=environment(**variables),
        )
        os.close(program_side)

    def watch(self, until: Callable[[], bool]) -> None:
        """Look at the screen until something is so."""
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, self.shown
            assert self._look(), self.shown

    def type(self, keys: bytes) -> None:
        os.write(self._screen, keys)

    def exit_code(self) -> int:
        """Watch the program to its end."""
        while self._look():
            pass
        return self._process.wait(PATIENCE)

    def _look(self) -> bool:
        """Take what is shown next; tell whether the program is still there."""
        if select.select([self._screen], [], [], 0.02)[0]:
            try:
                piece = os.read(self._screen, 1 << 16)
            except OSError:  # as Linux ends a terminal
                return False
            self.shown += piece
            return bool(piece)
        return True

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)


@contextmanager
def terminal(*arguments: str, **variables: str) -> Iterator[Terminal]:
    opened = Terminal(*arguments, **variables)
    try:
        yield opened
    finally:
        opened.close()


#: the command line with another site
ELSEWHERE = """
import sys
from sssp import datasets
datasets.SITE, datasets.CHECKSUMS["rome99.gr"] = sys.argv[1:3]
sys.argv[1:3] = []
from sssp.apps.cli import console
console()
"""


def test_a_download_shows_a_bar_and_ctrl_c_leaves_nothing_of_it(tmp_path):
    pytest.importorskip("pooch")
    content = bytes(1 << 20)
    own = {"SSSP_CACHE_DIR": str(tmp_path), "SSSP_DATA": "", "NO_PROXY": "127.0.0.1"}
    with site() as served:
        served.files["/rome/rome99.gr"], served.pace = content, 0.01
        checksum = hashlib.sha256(content).hexdigest()
        program = "-c", ELSEWHERE, served.address, checksum, "fetch", "rome99"
        with terminal(*program, **own) as screen:
            screen.watch(lambda: b"rome99.gr:" in screen.shown)
            assert len(list(tmp_path.iterdir())) == 1  # what is there so far
            screen.type(CTRL_C)
            assert screen.exit_code() == 130
            # (where the bar was, or behind the ^C that the terminal shows)
            assert screen.shown.endswith(b"sssp fetch: interrupted\r\n")
            assert b"Traceback" not in screen.shown
        assert list(tmp_path.iterdir()) == []
        served.pace = 0
        with terminal(*program, **own) as screen:
            assert screen.exit_code() == 0
            assert screen.shown.endswith(f"{tmp_path / 'rome99.gr'}\r\n".encode())
    assert (tmp_path / "rome99.gr").read_bytes() == content


def test_ctrl_c_leaves_the_old_table(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / "table.csv"
    out.write_text("old")
    vertices = tmp_path / "vertices.csv"
    vertices.write_text("vertex\n" + "".join(f"{v}\n" for v in range(3000)))
    ends = ["--sources", str(vertices), "--targets", str(vertices)]
    program = ["-m", "sssp", "table", "road-like:3000", *ends, "-o", str(out)]
    with terminal(*program) as screen:
        screen.watch(lambda: any(path.stat().st_size > 1 << 16 for path in folder.iterdir()))
        screen.type(CTRL_C)
        assert screen.exit_code() == 130
        assert screen.shown.endswith(b"sssp table: interrupted\r\n")
        assert b"Traceback" not in screen.shown
    assert [path.name for path in folder.iterdir()] == ["table.csv"]
    assert out.read_text() == "old"


def test_in_a_terminal_an_answer_on_the_screen_comes_with_its_summary(graph):
    ends = ["--source", "2", "--target", "3", "--target", "1"]
    with terminal("-m", "sssp", "table", graph, *ends) as screen:
        assert screen.exit_code() == 0
    lines = screen.shown.decode().split("\r\n")
    assert lines[:3] == ["source,target,distance", "2,3,10", "2,1,"]
    assert lines[-2] == "wrote 2 rows to stdout"
