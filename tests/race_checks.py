"""Data races of kernels, looked for in the simulator, as compute-sanitizer does on a GPU.

    NUMBA_ENABLE_CUDASIM=1 python -m pytest --hazards -m "gpu and not slow"

A hazard is a word that two threads come to with no barrier between them, if one of them changes it
other than by an atomic operation. Blocks of a launch have no barrier between them at all: unlike
the sanitizer, this looks at what they do to the memory of the device too. An index below zero,
which NumPy counts from the end, is none that a kernel means, and found as well.

Who writes what is there already changes nothing. Who reads what others change by atomic operations
reads an older number or a newer one, and kernels that do so ask for no more: they look whether a
minimum would change anything before they take it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from greenlet import getcurrent
from numba.cuda.simulator import kernel as simulated
from numba.cuda.simulator.kernelapi import FakeCUDAAtomic

from tests import simulator

__all__ = ["MEANT", "watching"]

#: kernels, by their module and name, that are right whichever of two threads is first
MEANT = {
    ("sssp.cuda.matrix.transitive_closure", "_sweep_kernel"): "unions of unions, of closed sets",
    ("sssp.cuda.search.bellman_ford.pull", "_pull_kernel"): "counters, if there is nothing to do",
    ("sssp.cuda.search.bellman_ford.push", "_push_kernel"): "predecessors, to look for a cycle by",
    ("sssp.cuda.tree", "_jump_kernel"): "pointers only ever come nearer to their roots",
    ("sssp.cuda.tree", "_point_kernel"): "any tight arc will do",
    ("sssp.cuda.sweep.climb", "climb_kernel"): "a thread without an arc reads, for nothing",
    (
        "sssp.bench.papers.cuda_matrix",
        "_step_kernel",
    ): "row and column k stay what they are in step k",
}
ATOMICS = [name for name in vars(FakeCUDAAtomic) if not name.startswith("__")]


class Access(NamedTuple):
    """Somebody came to a word: which thread, after how many barriers, and where in the code."""

    thread: Any
    turns: tuple[int, int]
    line: str

    def meets(self, other: Access) -> bool:
        """Whether nothing says which of two is first."""
        if self.thread is other.thread:
            return False
        if self.thread.warps is not other.thread.warps:
            return True
        (turn, of_warp), (other_turn, other_of_warp) = self.turns, other.turns
        if turn != other_turn:
            return False
        return of_warp == other_of_warp or self.thread.warp is not other.thread.warp


class Watch:
    """What the threads of a launch have done to every word, and the hazards of all launches."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.atomic = False
        self.begin("", "")

    def begin(self, module: str, kernel: str) -> None:
        """Forget the last launch; its words may have become others."""
        self.kernel, self.meant = kernel, (module, kernel) in MEANT
        self.written: dict[int, Access] = {}
        self.read: dict[int, dict[Any, Access]] = {}
        # (memory of a block that is gone would be that of the next)
        self.kept: list[Any] = []

    def note(self, array: Any, key: Any, *, changes: bool) -> None:
        """Note that the running thread reads or writes an entry."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(each < 0 for each in keys):
            self.found.add(f"{self.kernel}: an index below zero, {line()}")
        if self.meant or self.atomic:
            return
        place = array.start + sum(map(int.__mul__, map(int, keys), array.strides))
        access = Access(getcurrent(), getcurrent().turns, line())
        before = [self.written[place]] if place in self.written else []
        if changes:
            before += self.read.pop(place, {}).values()
            self.written[place] = access
        else:
            self.read.setdefault(place, {})[access.thread] = access
        for other in before:
            if access.meets(other):
                lines = sorted([access.line, other.line])
                self.found.add(f"{self.kernel}: no barrier between {' and '.join(lines)}")


_watch = Watch()


def line() -> str:
    """Line of a kernel, or of a device function, that is running."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename in OWN:
        frame = frame.f_back
    return f"{frame.f_globals['__name__']}:{frame.f_lineno}"


OWN = {__file__, simulator.__file__, sys.modules[FakeCUDAAtomic.__module__].__file__}


class Watched(simulator.Entries):
    """An array within a kernel whose entries are watched."""

    def __array_finalize__(self, _: Any) -> None:
        self.start = self.__array_interface__["data"][0]

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, np.ndarray):
            _watch.note(self, key, changes=False)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        before = np.ndarray.__getitem__(self, key)
        super().__setitem__(key, value)
        after = np.ndarray.__getitem__(self, key)
        if before.tobytes() != after.tobytes():
            _watch.note(self, key, changes=True)


def _atomically(operation: Any) -> Any:
    def watched(*args: Any) -> Any:
        _watch.atomic = True
        try:
            return operation(*args)
        finally:
            _watch.atomic = False

    return watched


@contextmanager
def watching() -> Iterator[set[str]]:
    """Watch all kernels that run meanwhile; gives what is found, as lines of text."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ATOMICS:
            patch.setattr(FakeCUDAAtomic, name, _atomically(getattr(FakeCUDAAtomic, name)))
        launched, unwritten = simulated.FakeCUDAKernel.__call__, simulator._unwritten

        def launch(kernel: Any, *args: Any) -> Any:
            if simulated._get_kernel_context() is None:
                _watch.begin(kernel.fn.__module__, kernel.fn.__name__)
            return launched(kernel, *args)

        def kept(*args: Any) -> Any:
            _watch.kept.append(unwritten(*args))
            return _watch.kept[-1]

        patch.setattr(simulated.FakeCUDAKernel, "__call__", launch)
        patch.setattr(simulator, "_unwritten", kept)
        patch.setattr(simulator, "entries", Watched)
        _watch.found = set()
        yield _watch.found
