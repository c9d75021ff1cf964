"""The min-plus product of tiles, and how threads share tiles."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sssp.cpu import team
from sssp.cpu.matrix.min_plus import BLOCK, TILE, new_panels, pack, relax
from sssp.engine import thresholds, workers
from sssp.kernels.dtypes import infinity
from tests.patience import PATIENCE


@pytest.mark.parametrize(
    ("dtype", "with_tails"),
    [
        (np.int32, False),
        (np.int64, False),
        (np.float32, False),
        (np.float64, False),
        (np.float64, True),
    ],
)
@pytest.mark.parametrize(
    ("rows", "depth", "width"), [(1, 1, 1), (2, 4, 128), (3, 5, 7), (9, 64, 127), (2, 3, 64)]
)
def test_a_rectangular_product_is_the_least_of_all_sums(dtype, with_tails, rows, depth, width):
    random = np.random.default_rng(rows)
    n = 200
    matrix = random.integers(-50, 1000, (n, n)).astype(dtype)
    matrix[random.random((n, n)) < 0.2] = infinity(dtype)
    tails = random.integers(0, n, (n, n), dtype=np.int32) if with_tails else None
    first, row, column = 130, 11, 13
    after, tails_after = matrix.copy(), None if tails is None else tails.copy()

    panel, panel_tails = new_panels(matrix, tails)
    pack(matrix, tails, first, depth, column, width, panel, panel_tails)
    relax(
        after, tails_after, matrix, first, depth,
        row, row + rows, column, width, panel, panel_tails,
    )  # fmt: skip

    tile = np.s_[row : row + rows, column : column + width]
    through = matrix[first : first + depth, column : column + width]
    starts = matrix[row : row + rows, first : first + depth]
    sums = (starts[:, :, np.newaxis] + through).astype(dtype)
    expected = matrix.copy()
    expected[tile] = np.minimum(matrix[tile], sums.min(axis=1))
    np.testing.assert_array_equal(after, expected)
    if tails is not None:
        best = np.take_along_axis(
            tails[first : first + depth, column : column + width], sums.argmin(axis=1), axis=0
        )
        expected_tails = tails.copy()
        expected_tails[tile] = np.where(expected[tile] < matrix[tile], best, tails[tile])
        np.testing.assert_array_equal(tails_after, expected_tails)


def test_a_panel_is_as_large_as_a_block_and_has_tails_only_if_asked():
    matrix = np.zeros((1, 1), np.int32)
    panel, panel_tails = new_panels(matrix, None)
    assert panel.size == BLOCK * TILE
    assert panel_tails.size == 0


@pytest.mark.parametrize(("threads", "tasks"), [(1, 5), (2, 7), (3, 3), (5, 2), (4, 0)])
def test_every_task_is_taken_once_whoever_is_slow(threads, tasks):
    taken = np.zeros(threads, np.int64)
    fair = [team.next_task(taken, tasks, thread) for thread in range(threads)]
    rest = []
    while (task := team.next_task(taken, tasks, threads - 1)) < tasks:
        rest.append(task)
    assert sorted([task for task in fair if task < tasks] + rest) == list(range(tasks))
    assert team.next_task(taken, tasks, 0) == tasks


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_team_runs_together_or_is_one_thread(most, monkeypatch):
    def prepare(threads):
        meeting = threading.Barrier(threads)

        def work(thread):
            meeting.wait(timeout=PATIENCE)
            return thread, threads

        return work

    assert team.run_team(3, prepare) == [(0, 3), (1, 3), (2, 3)]
    assert team.run_team(1, prepare) == [(0, 1)]

    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_few(thread):
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_few)
    monkeypatch.setattr(workers, "_idle", {})
    assert team.run_team(3, prepare) == [(0, 1)]


@pytest.mark.parametrize("failing", [0, 2])
def test_an_error_in_a_team_is_raised_once_all_are_done(failing):
    done = []

    def work(thread):
        if thread == failing:
            raise ValueError("thread gave up")
        done.append(thread)

    with pytest.raises(ValueError, match="gave up"):
        team.run_team(3, lambda threads: work)
    assert sorted([*done, failing]) == [0, 1, 2]


def test_a_team_is_no_larger_than_its_work():
    assert team.team_size(8, 0) == 1
    assert team.team_size(8, 3 * thresholds.WORTH_A_THREAD) == 3
    assert team.team_size(2, 1 << 60) == 2
    assert team.step_of(1) == team.STEPS
    assert team.step_of(1 << 60) == 1
