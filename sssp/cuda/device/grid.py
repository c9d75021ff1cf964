"""Thread numbers and barriers for a row that one block, or the whole grid, works on.

Threads read in one step what they counted in the step before, and the step after that must find
zero. With three slots no thread reads, or counts in, the slot that is being cleared, so that a step
takes one barrier.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from numba import uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline


class Worker(namedtuple("Worker", "row thread threads block blocks")):
    """Position of a thread among all threads that work on its row; all fields uint32.

    Attributes
    ----------
    row : uint32
    thread, threads : uint32
        Its number in its block, and how many that has.
    block, blocks : uint32
        The number of its block among those that work on the row, and how many do.
    """


def worker_of(*, together: bool) -> Any:
    """Return a device function that finds the row, thread and block numbers of a thread.

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
    """Return a device function: a barrier for all threads of the grid, or of a block."""

    @inline
    def barrier():
        if together:
            cuda.cg.this_grid().sync()
        else:
            cuda.syncthreads()

    return barrier


def blocks_at_once(per_multiprocessor: int = 1) -> int:
    """Return the number of thread blocks that run on the current GPU at the same time.

    In the simulator one: its barrier of the grid is that of a block.
    """
    if SIMULATOR:
        return 1
    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT) * per_multiprocessor


SLOTS = 3


class Slots(namedtuple("Slots", "now after before")):
    """Indices of three array entries with changing roles: one is read, one filled, one cleared.

    Attributes
    ----------
    now : uint32
        What the last step left: only read.
    after : uint32
        What the next step will read: filled.
    before : uint32
        What the last step read: cleared, to be filled in the next step.
    """


@inline
def slots_of(step, first):
    """Return the three positions of a rotating buffer that a step reads, fills and clears."""
    return Slots(
        uint32(first + step % SLOTS),
        uint32(first + (step + 1) % SLOTS),
        uint32(first + (step + 2) % SLOTS),
    )


@inline
def rotate(slots):
    """Return the three rotating array positions (read, fill, clear) for the next step."""
    return Slots(slots.after, slots.before, slots.now)
