"""Progress bars, and what they cost where nobody sees them."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import sssp
from sssp.engine.progress import progress_bar
from tests.patience import PATIENCE

CHECKOUT = Path(sssp.__file__).parents[1]

#: as in a notebook: an IPython kernel, its way to show things, and maybe widgets
NOTEBOOK = """
import sys, types

def module(name, **contents):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(contents)

class ZMQInteractiveShell:
    kernel = object()
    config = {"IPKernelApp": {}}

module("ipykernel")
module("ipykernel.zmqshell")
module("IPython", get_ipython=ZMQInteractiveShell)
module("IPython.display", display=lambda widget: print("a widget"))
sys.modules["ipywidgets"] = None
"""
WIDGETS = """
class Widget:
    def __init__(self, **contents):
        vars(self).update({"style": Widget, "layout": types.SimpleNamespace(), "bar_style": ""})
        vars(self).update(contents)
    bar_color = None
    def close(self):
        pass

module("ipywidgets", HTML=Widget, FloatProgress=Widget, HBox=Widget)
"""
WORK = """
import sys

from sssp.engine import progress

progress.DELAY = 0
with progress.progress_bar(5, {wanted}, "apple") as advance:
    for _ in range(5):
        advance(1)
"""


def in_fresh_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
        cwd=CHECKOUT,
    )


def test_a_notebook_without_widgets_has_the_plain_bar_and_no_warning():
    done = in_fresh_process(NOTEBOOK + WORK.format(wanted=None))
    assert done.stdout == ""
    assert "5/5" in done.stderr
    assert "Warning" not in done.stderr


def test_a_notebook_with_widgets_has_a_widget():
    done = in_fresh_process(NOTEBOOK + WIDGETS + WORK.format(wanted=None))
    assert (done.stdout, done.stderr) == ("a widget\n", "")


def test_ipykernel_imported_by_a_script_makes_no_notebook():
    done = in_fresh_process(
        NOTEBOOK + "sys.modules['IPython'].get_ipython = lambda: None\n" + WORK.format(wanted=None)
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_bar_leaves_neither_threads_nor_locks_between_processes():
    check = (
        "import sys, threading; print(threading.active_count(), 'multiprocessing' in sys.modules)"
    )
    done = in_fresh_process(WORK.format(wanted=True) + check)
    assert "5/5" in done.stderr
    assert done.stdout == "1 False\n"


def test_a_bar_that_is_never_due_is_never_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("sssp.engine.progress.perf_counter", lambda: 0.0)
    with progress_bar(1000, True) as advance:
        for _ in range(1000):
            advance(1)


@pytest.mark.parametrize("stderr", [None, "closed"])
@pytest.mark.parametrize("wanted", [None, False, True])
def test_without_stderr_there_is_no_bar(wanted, stderr, monkeypatch):
    stream = None
    if stderr == "closed":
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr("sssp.engine.progress.DELAY", 0)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(9, wanted) as advance:
        advance(1)
        advance(8)


def test_several_threads_move_one_bar(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sssp.engine.progress.DELAY", 0)
    monkeypatch.setattr(sys, "stderr", stream)

    def work() -> None:
        for _ in range(500):
            advance(1)

    with progress_bar(4000, True, "apple") as advance:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "4000/4000" in stream.getvalue()


@pytest.mark.parametrize(
    "call",
    [
        lambda g, **how: sssp.shortest_paths(g, 0, **how),
        lambda g, **how: sssp.reduce(g, [0], "sum", **how),
        lambda g, **how: next(sssp.iter_blocks(g, [0], **how)),
        lambda g, **how: sssp.pairs(g, [0], [1], **how),
        lambda g, **how: sssp.nearest(g, [0], **how),
        lambda g, **how: sssp.betweenness(g, **how),
        lambda g, **how: sssp.load(g, ([0], [1], [[1]]), **how),
        lambda g, **how: sssp.load(sssp.prepare(g), ([0], [1], [[1]]), **how),
        lambda g, **how: sssp.all_pairs(g, **how),
        lambda g, **how: sssp.all_pairs(g, method="floyd-warshall", **how),
        lambda g, **how: sssp.transitive_closure(g, **how),
        lambda g, **how: sssp.prepare(g, **how),
    ],
)
def test_no_call_takes_a_word_for_an_answer(call: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="progress must be True or False, not 'no'"):
        call(sssp.road_like(20), progress="no")
