"""Numba's CUDA simulator, mended and made faster for tests.

A thread of the GPU is a thread of Python there, and another one asks all of them in turn, without
a pause, whether they have come to a barrier: most of the time goes into asking.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numba.core import types
from numba.cuda.simulator.kernel import BlockManager, BlockThread
from numba.cuda.simulator.kernelapi import FakeCUDAShared
from numba.np.numpy_support import as_dtype

__all__ = ["prepare"]

_lock = threading.Lock()


def prepare() -> None:
    """Let threads wait for each other instead of being asked, and find the same shared arrays."""
    for kind, name, function in (
        (BlockManager, "run", _run_block),
        (BlockThread, "syncthreads", lambda thread: thread._manager.meeting.wait()),
        (FakeCUDAShared, "array", _shared_array),
    ):
        setattr(kind, name, function)


class _Meeting:
    """Where the threads of a block meet; those that have ended are not waited for."""

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition()
        self._going = threads
        self._waiting = self._number = 0
        self._failed = False

    def wait(self) -> None:
        """Wait until all that are still going have come here."""
        with self._changed:
            number = self._number
            self._waiting += 1
            self._go_on_if_all_are_here()
            self._changed.wait_for(lambda: self._number != number or self._failed)
            if self._failed:
                raise threading.BrokenBarrierError("another thread of the block has failed")

    def leave(self, *, failed: bool) -> None:
        """Count a thread no more."""
        with self._changed:
            self._going -= 1
            self._failed |= failed
            self._go_on_if_all_are_here()

    def _go_on_if_all_are_here(self) -> None:
        if self._waiting == self._going or self._failed:
            self._waiting = 0
            self._number += 1
            self._changed.notify_all()


def _run_block(block: Any, place: Any, *args: Any) -> None:
    """Run the threads of a block; raise what the first of them to fail has raised."""
    threads: list[Any] = []

    def run() -> None:
        failed = True
        try:
            block._f(*args)
            failed = False
        finally:
            block.meeting.leave(failed=failed)

    block.meeting = _Meeting(int(np.prod(block._block_dim)))
    for thread in np.ndindex(*block._block_dim):
        threads.append(BlockThread(run, block, place, thread, block._debug))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [thread.exception for thread in threads if thread.exception]
    errors.sort(key=lambda error: isinstance(error[0], threading.BrokenBarrierError))
    if errors:
        raise errors[0][0].with_traceback(errors[0][1])


def _shared_array(shared: Any, shape: Any, dtype: Any, alignment: None = None) -> Any:
    """Return the array of a line of a kernel, made by the first thread that comes there.

    The simulator's own asks and makes without a lock, so that two threads may get an array each;
    and it reads the sources of all callers to learn which line that is.
    """
    if shape == 0:  # the memory that a launch asks for, seen in some dtype
        return shared._dynshared.view(as_dtype(dtype))
    caller = sys._getframe(1)
    line = (caller.f_code.co_filename, caller.f_lineno)
    with _lock:
        if line not in shared._allocations:
            kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
            shared._allocations[line] = np.empty(shape, kind)
        return shared._allocations[line]
