"""Vectors in kernels compute lane by lane what NumPy does, in every dtype of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sssp.cpu.vectors import add, choose, fill, greatest_of, load, minimum, store, sum_of, swap
from sssp.kernels.jit import njit

LANES = 16


@njit
def _compute_kernel(matrix, number, found):
    one, other = load(matrix, 0, LANES), load(matrix, 1, LANES)
    store(found, 0, add(one, other))
    store(found, 1, add(one, number))
    store(found, 2, minimum(one, other))
    store(found, 3, minimum(one, number))
    store(found, 4, choose(one, other, number, one))
    store(found, 5, choose(one, number, other, number))
    store(found, 6, fill(number, LANES))
    return sum_of(one), greatest_of(one)


@njit
def _swap_kernel(row, place):
    store(row, place, swap(load(row, place, 2)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_every_lane_is_computed(dtype: Any) -> None:
    one, other = np.random.default_rng(0).integers(-3, 3, (2, LANES)).astype(dtype)
    number, found = dtype(2), np.empty((7, LANES), dtype)
    # (from an address that no vector instruction would choose)
    matrix = np.concatenate([[0], one, other]).astype(dtype)[1:].reshape(2, LANES)
    total, greatest = _compute_kernel(matrix, number, found)
    wanted = [
        one + other,
        one + number,
        np.minimum(one, other),
        np.minimum(one, number),
        np.where(one == other, number, one),
        np.where(one == number, other, number),
        np.full(LANES, number),
    ]
    np.testing.assert_array_equal(found, wanted)
    assert (total, greatest) == (one.sum(), one.max())


def test_a_pair_is_turned_where_it_stands() -> None:
    row = np.arange(6)
    _swap_kernel(row, 3)
    assert row.tolist() == [0, 1, 2, 4, 3, 5]


def test_what_is_chosen_may_have_another_dtype_than_what_is_compared() -> None:
    @njit
    def kernel(near, flows, found):
        store(found, 0, choose(load(near, 0, LANES), 3, load(flows, 0, LANES), 0.0))

    near, flows, found = np.arange(LANES, dtype=np.int32), np.full(LANES, 0.5), np.ones(LANES)
    kernel(near, flows, found)
    np.testing.assert_array_equal(found, np.where(near == 3, flows, 0.0))


def test_infinite_lanes_stay_infinite() -> None:
    matrix, found = np.full((2, LANES), np.inf), np.empty((7, LANES))
    total, greatest = _compute_kernel(matrix, 1.0, found)
    assert total == greatest == np.inf
    assert np.isinf(found[[0, 1, 2]]).all()
