"""The command line as a process: closed, full and impatient streams, and Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sssp
from tests.patience import PATIENCE

CHECKOUT = Path(sssp.__file__).parents[1]


def environment(**variables: str) -> dict[str, str]:
    """Return that of the tests, without what changes how Python writes."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return inherited | {"PYTHONPATH": str(CHECKOUT)} | variables


def shell(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in which ``sssp`` is ours."""
    ours = f"sssp() {{ '{sys.executable}' -m sssp \"$@\"; }}; set -o pipefail; "
    return subprocess.run(
        ["bash", "-c", ours + command],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=environment(**variables),
    )


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        ("sssp --help | true", ""),
        ("sssp --help | true", "1"),
        ("sssp info '{}' | true", ""),
        ("sssp info '{}' | true", "1"),
        ("sssp solve '{}' --source 1 -o - | true", ""),
    ],
)
def test_a_closed_pipe_is_no_error(graph, command, unbuffered):
    done = shell(command.format(graph), PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "complaint", "unbuffered"),
    [
        ("sssp --help >&-", "stdout is closed", ""),
        ("sssp info '{}' >&-", "stdout is closed", ""),
        ("sssp --help >/dev/full", "No space left on device", ""),
        ("sssp --version >/dev/full", "No space left on device", "1"),
        ("sssp info '{}' >/dev/full", "No space left on device", ""),
        ("sssp solve '{}' --source 1 -o - >/dev/full", "No space left on device", ""),
    ],
)
def test_a_stdout_that_takes_nothing_is_an_error(graph, command, complaint, unbuffered):
    done = shell(command.format(graph), PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sssp")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_an_error_that_nobody_hears_has_its_exit_code(stderr):
    done = shell(f"sssp info nowhere.gr {stderr}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_without_stderr_the_csv_file_on_stdout_is_alone(graph):
    done = shell(f"sssp solve '{graph}' --source 2 -o - 2>&-")
    assert (done.returncode, done.stdout) == (0, "vertex,distance\n2,0\n3,10\n4,17\n")


def test_without_stderr_the_bench_has_no_bar(graph):
    done = shell(f"sssp bench --graph '{graph}' --trials 1 --methods dijkstra 2>&-")
    assert done.returncode == 0
    assert "SciPy dijkstra" in done.stdout


def test_stdout_by_its_name_is_the_csv_file_alone(graph):
    done = shell(f"sssp solve '{graph}' --source 2 -o /dev/stdout")
    assert (done.returncode, done.stdout) == (0, "vertex,distance\n2,0\n3,10\n4,17\n")
    assert "wrote 3 vertices to stdout" in done.stderr


def test_a_file_that_outgrows_its_disk_is_not_there(graph, tmp_path):
    before = sorted(tmp_path.iterdir())
    done = shell(f"ulimit -f 0; sssp solve '{graph}' --source 1 -o '{tmp_path}/out.csv'")
    assert done.returncode == 2
    assert f"File too large: '{tmp_path}/out.csv'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.npz"])
def test_a_pipe_stays_a_pipe(graph, tmp_path, name):
    pipe = tmp_path / name
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = shell(f"sssp solve '{graph}' --source 2 -o '{pipe}'")
    content = os.read(reader, 1 << 16)
    os.close(reader)
    assert (done.returncode, done.stderr) == (0, "")
    assert pipe.is_fifo()
    if name == "pipe.npz":
        with np.load(io.BytesIO(content)) as columns:
            assert columns["distance"].tolist() == [0, 10, 17]
    else:
        assert content == b"vertex,distance\n2,0\n3,10\n4,17\n"


# -- Ctrl-C ------------------------------------------------------------------------------------

#: a module in place of numba during whose import Ctrl-C is pressed; and in it, or in code that it
#: calls, something takes the exception for its own and goes on
INTERRUPTED_NUMBA = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
raise ImportError("it went on")
"""


@pytest.mark.parametrize(
    ("trap", "code", "told"),
    [
        ("", 130, "sssp: interrupted\n"),
        # as a shell starts programs in the background
        ("trap '' INT; ", 2, "sssp solve: error: it went on\n"),
    ],
)
def test_ctrl_c_is_heard_while_modules_are_imported(graph, tmp_path, trap, code, told):
    (tmp_path / "numba.py").write_text(INTERRUPTED_NUMBA)
    path = os.pathsep.join((str(CHECKOUT), str(tmp_path)))
    done = shell(f"{trap}sssp solve '{graph}' --source 1", PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", told)


#: Ctrl-C in a callback of the interpreter, from which no exception can leave
INTERRUPTED_CALLBACK = """
import signal, time
from sssp.apps.terminal.interrupt import leave, raise_interrupts

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def main():
    with raise_interrupts():
        try:
            Callback()
            time.sleep(10**6)
        finally:
            print("tidied up", flush=True)
    return 0

leave(main)
"""


#: a machine so busy that the interrupt comes again before the callback is over
SLOW_TIMER = """
import time
from sssp.apps.terminal import interrupt

class SlowTimer(interrupt.Timer):
    def start(self):
        super().start()
        time.sleep(0.2)

interrupt.Timer = SlowTimer
"""


@pytest.mark.parametrize("before", ["", SLOW_TIMER], ids=["at once", "late"])
def test_ctrl_c_is_heard_in_a_callback_and_leaves_time_to_tidy_up(before):
    done = subprocess.run(
        [sys.executable, "-c", before + INTERRUPTED_CALLBACK],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=environment(),
    )
    told = (done.returncode, done.stdout, done.stderr)
    assert told == (130, "tidied up\n", "sssp: interrupted\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("command", [["info"], ["solve", "--source", "1"], ["bench", "--graph"]])
def test_ctrl_c_leaves_no_traceback_while_a_graph_is_read(command, tmp_path):
    pipe = tmp_path / "endless.gr"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "sssp", *command, pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        descriptor = opened_for_writing(pipe, process)
        try:
            out, err = interrupted(process)
        finally:
            process.kill()
            os.close(descriptor)
    assert (process.returncode, out) == (130, "")
    assert err.endswith(": interrupted\n")
    assert err.count("\n") == 1


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C, and again after a while; return what was printed.

    Python forgets an interrupt that comes while it cleans up after an import.
    """
    for _ in range(PATIENCE // 20):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            pass
    raise AssertionError("no interrupt was heard")


def opened_for_writing(pipe: Path, reader: subprocess.Popen[str]) -> int:
    """Open a named pipe once `reader` has opened it."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert reader.poll() is None, reader.communicate()
            time.sleep(0.02)
