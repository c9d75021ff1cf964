"""Machine operations: several threads on one array lose nothing, and a prefetch never fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from sssp.cpu.intrinsics import atomic_add, atomic_load, prefetch, wait_for_all
from sssp.kernels.jit import njit

THREADS = 4


@njit
def _add_kernel(counts, times, tickets):
    for i in range(times):
        tickets[i] = atomic_add(counts, i % counts.size, 1)


@njit
def _relay_kernel(barrier, threads, thread, rounds, posts, seen):
    """In every round post a number, meet, read all, and meet again before the next post."""
    for turn in range(rounds):
        posts[thread] = turn
        wait_for_all(barrier, threads)
        for i in range(threads):
            seen[thread] += posts[i] == turn
        wait_for_all(barrier, threads)


@njit
def _load_kernel(words):
    return atomic_load(words, 1)


@njit
def _prefetch_kernel(words, places):
    for place in places:
        prefetch(words, place)
    return True


def together(work: Any) -> list[Any]:
    """Run ``work(thread)`` in several threads."""
    with ThreadPoolExecutor(THREADS) as executor:
        return list(executor.map(work, range(THREADS)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_no_addition_is_lost_and_every_old_value_is_given_once(dtype: type[np.integer]) -> None:
    times, width = 100_000, 5
    counts = np.zeros(width, dtype)
    tickets = np.empty((THREADS, times), dtype)
    together(lambda thread: _add_kernel(counts, times, tickets[thread]))
    assert counts.tolist() == [THREADS * times // width] * width
    for place in range(width):
        drawn = np.sort(tickets[:, place::width].ravel())
        np.testing.assert_array_equal(drawn, np.arange(drawn.size))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_load_gives_the_value(dtype: type[np.integer]) -> None:
    assert _load_kernel(np.array([1, -7, 3], dtype)) == -7


def test_nobody_passes_the_barrier_before_all_have_come() -> None:
    rounds = 2_000
    barrier = np.zeros(2, np.int64)
    posts = np.full(THREADS, -1)
    seen = np.zeros(THREADS, np.int64)
    together(lambda thread: _relay_kernel(barrier, THREADS, thread, rounds, posts, seen))
    assert seen.tolist() == [THREADS * rounds] * THREADS
    assert barrier.tolist() == [0, 2 * rounds]


def test_a_team_of_one_does_not_wait() -> None:
    barrier = np.zeros(2, np.int64)
    wait_for_all(barrier, 1)
    wait_for_all(barrier, 1)
    assert barrier.tolist() == [0, 2]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float64, [("a", "i4"), ("b", "i4")]])
def test_a_prefetch_changes_nothing_and_may_be_anywhere(dtype: Any) -> None:
    words = np.zeros(4, dtype)
    for place in (0, 3, 4, 1 << 40):
        assert _prefetch_kernel(words, np.array([place], np.uint64))
    assert words.tolist() == np.zeros(4, dtype).tolist()
