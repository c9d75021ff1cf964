"""Thread numbers and barriers for one row: by one block, or by the whole grid.

What threads count in one turn, they read in the next, and the turn after that must find zero. With
three slots the one that is cleared is read by nobody and counted in by nobody, so that a turn takes
one barrier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline


class Worker(NamedTuple):
    """A thread's number among all threads that work on its row; all fields uint32.

    Attributes
    ----------
    row : uint32
    thread, threads : uint32
        Its number in its block, and how many that has.
    block, blocks : uint32
        The number of its block among those that work on the row, and how many do.
    """

    row: Any
    thread: Any
    threads: Any
    block: Any
    blocks: Any


def worker_of(*, together: bool) -> Any:
    """Return a device function that gives the calling thread as a `Worker`.

    It takes the row of the whole grid, or, if every block has a row of its own, anything.
    """

    @inline
    def worker_of_row(first_row):
        row, block, blocks = uint32(cuda.blockIdx.x), uint32(0), uint32(1)
        if together:
            row, block, blocks = uint32(first_row), row, uint32(cuda.gridDim.x)
        return Worker(row, uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x), block, blocks)

    return worker_of_row


def barrier_of(*, together: bool) -> Any:
    """Return a device function that is the barrier of the grid, or of a block."""

    @inline
    def barrier():
        if together:
            cuda.cg.this_grid().sync()
        else:
            cuda.syncthreads()

    return barrier


def blocks_at_once(per_multiprocessor: int = 1) -> int:
    """Return the number of blocks of a grid with a barrier, from how many fit on a multiprocessor.

    In the simulator one: its barrier of the grid is that of a block.
    """
    if SIMULATOR:
        return 1
    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT) * per_multiprocessor


SLOTS = 3


class Slots(NamedTuple):
    """Three positions in an array that change roles every turn: now, next, and to be cleared.

    Attributes
    ----------
    now : uint32
        What the last turn left: only read.
    after : uint32
        What the next turn will read: filled.
    before : uint32
        What the last turn read: cleared, to be filled in the next turn.
    """

    now: Any
    after: Any
    before: Any


@inline
def slots_of(turn, first):
    """Return the slots of a turn by its number; the three positions start at `first`."""
    return Slots(
        uint32(first + turn % SLOTS),
        uint32(first + (turn + 1) % SLOTS),
        uint32(first + (turn + 2) % SLOTS),
    )


@inline
def rotate(slots):
    """Return the slots of the next turn."""
    return Slots(slots.after, slots.before, slots.now)
