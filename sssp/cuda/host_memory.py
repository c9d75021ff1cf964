"""Host memory for large answers, reused once the arrays in it are gone.

A GPU copies into pinned memory three times as fast as into fresh pages, which the host first has to
find and clear. Pinning takes longer than one copy: a block is pinned where it lies when it serves a
second answer. A block whose answer is kept is never pinned.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from math import prod
from mmap import PAGESIZE
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda, select
from sssp.cuda.driver import pin, unpin
from sssp.cuda.pool import Block, MemoryPool
from sssp.graph.graph import ON_FREE_DEVICE

#: bytes of an answer from which on its memory is used again, and of what may wait for another
LEAST, MOST = 256 << 10, 1 << 30


class _Pages:
    """Page-aligned block of host memory for answers, pinned (page-locked) at its second use.

    Attributes
    ----------
    array : ndarray, uint8
        Whole pages, which nothing else is in.
    answers : int
        How many it has served.
    """

    def __init__(self, size: int) -> None:
        size += -size % PAGESIZE
        memory = np.empty(size + PAGESIZE, np.uint8)
        first = -memory.ctypes.data % PAGESIZE
        self.array, self.answers = memory[first : first + size], 0

    def serve(self) -> int:
        """Return the address of the memory block; pin (page-lock) the block once it is reused."""
        self.answers += 1
        start = self.array.ctypes.data
        if self.answers == 2 and pin(start, self.array.size):
            number = cuda.get_current_device().id
            weakref.finalize(self, _unpin, self.array, number).atexit = False
        return start


def _unpin(array: NDArray[np.uint8], number: int) -> None:
    """Unpin the memory of a host array that a device has pinned."""
    with suppress(Exception), select(number):
        unpin(array.ctypes.data)


class _Lease:
    """Owner of a memory block lent to one answer; returns the block when no array uses it."""

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        place = block.memory.serve(), False
        self.__array_interface__ = {
            "shape": shape, "typestr": dtype.str, "data": place, "version": 3,
        }  # fmt: skip
        weakref.finalize(self, _pool.leave, block).atexit = False


_pool = MemoryPool(_Pages, lambda: None, MOST)
ON_FREE_DEVICE.append(_pool.release)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialized host array, to which the current device can copy an answer."""
    nbytes = prod(shape) * dtype.itemsize
    if SIMULATOR or nbytes < LEAST:
        return np.empty(shape, dtype)
    return np.asarray(_Lease(_pool.take(nbytes), shape, dtype))
