"""The command line in a real terminal, with a person who watches and presses Ctrl-C."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sssp
from tests.cli.test_process import environment
from tests.patience import PATIENCE, wait_until
from tests.site import site

pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")  # not on Windows

CHECKOUT = Path(sssp.__file__).parents[1]
CTRL_C = b"\x03"
ROWS, COLUMNS = 24, 100
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

        def is_so() -> bool:
            assert until() or self._look(), self.shown
            return until()

        wait_until(is_so, "what should be shown")

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
    # (at the pace below it takes minutes, and is interrupted)
    content = bytes(1 << 25)
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


#: the command line whose files get their heading and a block of rows, and then nothing more
NEVER_DONE = """
import time
from sssp.apps.cli import console
from sssp.apps.terminal import table_files as tables

content, written = tables._csv, []

def some_of(lines):
    if len(written) == 2:
        time.sleep(10**6)
    written.append(content(lines))
    return written[-1]

tables._csv = some_of
console()
"""


def test_ctrl_c_leaves_the_old_table(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / "table.csv"
    out.write_text("old")
    vertices = tmp_path / "vertices.csv"
    vertices.write_text("vertex\n" + "".join(f"{v}\n" for v in range(3000)))
    ends = ["--sources", str(vertices), "--targets", str(vertices)]
    program = ["table", "road-like:3000", *ends, "-o", str(out)]
    with terminal("-c", NEVER_DONE, *program) as screen:
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


#: sets the title of the window; begins the same by one character; shows the rest backwards
EVIL = "\x1b]0;owned\x07", "\x9b2J", "\u202eoff"


@pytest.mark.parametrize(
    "words",
    [
        ("info", "{}"),
        ("solve", "{}", "--source", EVIL[0]),
        ("solve", "{}", "--source", EVIL[0], "--target", EVIL[2]),
        ("solve", "{}", "--source", EVIL[0], "-o", "-"),
        ("table", "{}", "--source", EVIL[0], "--target", EVIL[1], "--target", EVIL[2]),
        ("solve", "{}", "--source", EVIL[0] * 2),
    ],
)
def test_labels_and_names_of_graphs_do_nothing_to_a_terminal(tmp_path, words):
    file = tmp_path / f"{EVIL[1]}{EVIL[2]}.sssp"
    sssp.Graph.from_arcs([0, 1], [1, 2], [5, 2], labels=EVIL).save(file)
    arguments = [word.format(file) for word in words]
    own = {"PYTHONIOENCODING": "utf-8"}
    with terminal("-m", "sssp", *arguments, **own) as screen:
        screen.exit_code()
    shown = screen.shown.decode()
    assert any(ascii(label)[1:-1] in shown for label in EVIL)
    assert "Traceback" not in shown
    assert [c for c in shown if not c.isprintable() and c not in "\r\n"] == []


def test_pipes_and_files_get_labels_as_they_are(tmp_path):
    file = tmp_path / "evil.sssp"
    sssp.Graph.from_arcs([0, 1], [1, 2], [5, 2], labels=EVIL).save(file)
    command = [sys.executable, "-m", "sssp", "solve", str(file), "--source", EVIL[0]]
    for more in (["-o", "-"], ["--target", EVIL[2]]):
        done = subprocess.run([*command, *more], capture_output=True, check=True, timeout=PATIENCE)
        for label in EVIL:
            assert label.encode() in done.stdout
