"""Teams of threads that work on one matrix together."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from threading import Barrier, BrokenBarrierError
from typing import TypeVar

from sssp.cpu.intrinsics import atomic_add
from sssp.engine import thresholds
from sssp.engine.workers import POLL_SECONDS, lend_pool
from sssp.kernels.jit import njit

T = TypeVar("T")

#: steps of a kernel's innermost work between two chances for Ctrl-C and progress
STEPS = 1 << 33
#: seconds for which a thread of a team waits for the others to be started
PATIENCE = 1.0


@njit
def next_task(taken, total, thread):
    """Take the next task of ``0 .. total - 1``; return `total` if there are no more.

    Each thread has a share, which is the same whenever there are as many tasks, so that what it
    works on stays in its cache; when it is done, it helps the others. ``taken`` int64, zeros,
    counts the tasks taken of every share.
    """
    threads = taken.size
    for other in range(threads):
        share = (thread + other) % threads
        task = share * total // threads + atomic_add(taken, share, 1)
        if task < (share + 1) * total // threads:
            return task
    return total


def run_team(threads: int, prepare: Callable[[int], Callable[[int], T]]) -> list[T]:
    """Run the function that ``prepare(threads)`` returns in several threads; return all results.

    No thread starts working before all are there: a kernel would wait for ever for one that cannot
    be started. Where the system has too few, the caller works alone. Else the caller is none of the
    team: Python raises KeyboardInterrupt in the main thread, between any two steps, and the others
    would wait for it for ever. An interrupt is raised once the team has ended.
    """
    if threads == 1:
        return [prepare(1)(0)]
    work, meeting = prepare(threads), Barrier(threads)

    def join_in(thread: int) -> T:
        meeting.wait(PATIENCE)
        return work(thread)

    with lend_pool(threads) as pool:
        futures = [pool.submit(join_in, thread) for thread in range(threads)]
        # (with a timeout, for else Ctrl-C is not heard on every system)
        while wait(futures, POLL_SECONDS).not_done:
            pass
    try:
        return [future.result() for future in futures]
    except BrokenBarrierError:
        return [prepare(1)(0)]


def step_of(steps_each: int) -> int:
    """Return how many work items of `steps_each` steps each fit between two signal checks."""
    return max(1, STEPS // max(1, steps_each))


def team_size(threads: int, steps: int) -> int:
    """Return how many of `threads` are worth starting for work of `steps` steps; at least 1."""
    return max(1, min(threads, steps // thresholds.WORTH_A_THREAD))
