"""Threads that work on one matrix together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from sssp.cpu.atomics import atomic_add
from sssp.kernels.jit import njit

__all__ = ["next_task", "run_team", "step_of", "team_size"]

T = TypeVar("T")

#: steps of a kernel's innermost work between two chances for Ctrl-C and progress
STEPS = 1 << 33
#: steps for which it pays to start a thread
SHARE = 1 << 24


@njit
def next_task(taken, total, thread):
    """Next of the tasks ``0 .. total - 1``, or `total` if there are no more.

    Each thread has a share, which is the same whenever there are as many tasks, so that what it
    works on stays in its cache; when it is done, it helps the others. ``taken`` int64, zeros,
    counts for every share who came to it.
    """
    threads = taken.size
    for other in range(threads):
        share = (thread + other) % threads
        task = share * total // threads + atomic_add(taken, share, 1)
        if task < (share + 1) * total // threads:
            return task
    return total


def run_team(threads: int, work: Callable[[int], T]) -> list[T]:
    """Call ``work(thread)`` for every thread of a team at once, and return what they return.

    Nobody starts before all can: inside a kernel, who waits for a thread that never came spins
    for ever. Threads of their own, for an executor takes half a millisecond more.

    Raises
    ------
    RuntimeError
        The system has no more threads.
    """
    if threads == 1:
        return [work(0)]
    gate = threading.Barrier(threads)
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            try:
                gate.wait()
            except BaseException:  # Ctrl-C, say: then nobody is to start
                gate.abort()
                raise
            results[thread] = work(thread)
        except BaseException as error:
            errors.append(error)

    others = [
        threading.Thread(target=run, args=(thread,), name=f"sssp_{thread}")
        for thread in range(1, threads)
    ]
    try:
        for other in others:
            other.start()
    except RuntimeError:
        gate.abort()
        raise
    run(0)
    for other in others:
        other.join()
    if errors:
        raise errors[0]
    return [results[thread] for thread in range(threads)]


def step_of(steps_each: int) -> int:
    """How many pieces of work, of so many steps each, a team does at a time."""
    return max(1, STEPS // max(1, steps_each))


def team_size(threads: int, steps: int) -> int:
    """How many of the threads that a call may use are worth starting for so many steps."""
    return max(1, min(threads, steps // SHARE))
