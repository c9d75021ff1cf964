"""The dense kernels type for every dtype: a check of the real compiler that needs no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.conftest import SIMULATOR

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

pytest.importorskip("numba_cuda")

from numba import float32, float64, from_dtype, int32, int64, uint8, uint32, uint64

from sssp.cuda.device.grid import barrier_of
from sssp.cuda.matrix import (
    driver,
    floyd_warshall,
    min_plus,
    repeated_squaring,
    transitive_closure,
)
from sssp.papers import cuda_matrix
from tests.cuda.test_types import DTYPES, array, check

FLAGS = array(int32)


@pytest.fixture(params=DTYPES, ids=str)
def dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_products_as_each_solver_takes_them() -> None:
    # one dtype each, for what is written out takes long to type
    view = (array(int64), int64, uint32)
    check(min_plus._make_kernel(np.dtype("int64")), *view, *view, *view, uint32, uint32, uint32)
    matrix, tails = array(int32), array(int32)
    others = floyd_warshall._make_tiles_kernel(np.dtype("int32"))
    check(others, matrix, matrix, uint32, uint32, uint32, FLAGS)
    matrix = array(float32)
    others = floyd_warshall._make_tiles_kernel(np.dtype("float32"), with_tails=True)
    check(others, matrix, tails, uint32, uint32, uint32, FLAGS)
    matrix = array(float64)
    square = repeated_squaring._make_kernel(np.dtype("float64"))
    check(square, matrix, matrix, matrix, matrix, uint32, FLAGS)


def test_the_block_on_the_diagonal(dtype: np.dtype[Any]) -> None:
    matrix, tails = array(from_dtype(dtype)), array(int32)
    check(floyd_warshall._make_close_kernel(dtype), matrix, matrix, uint32, uint32, FLAGS)
    if dtype == np.float64:
        close = floyd_warshall._make_close_kernel(dtype, with_tails=True)
        check(close, matrix, tails, uint32, uint32, FLAGS)


def test_baselines(dtype: np.dtype[Any]) -> None:
    matrix = array(from_dtype(dtype))
    check(cuda_matrix._step_kernel, matrix, uint32, uint32, FLAGS)
    for kernel in cuda_matrix._make_block_kernels(dtype):
        check(kernel, matrix, uint32, uint32, FLAGS)
    check(cuda_matrix._make_square_kernel(dtype, 16), matrix, matrix, uint32, FLAGS)


def test_passes_over_the_matrix(dtype: np.dtype[Any]) -> None:
    number = from_dtype(dtype)
    matrix, words = array(number), array(int32)
    check(driver._scatter_kernel, words, words, matrix, matrix)
    check(driver._diagonal_kernel, matrix, int64, FLAGS)
    check(driver._least_kernel, matrix, matrix)
    check(driver._settle_kernel, matrix, number, number, matrix)
    check(driver._first_tails_kernel, matrix, int64, number, words)
    check(driver._broken_kernel, matrix, words, int64, number, FLAGS)


def test_what_has_no_dtype() -> None:
    words = array(uint64)
    sweep = transitive_closure._make_sweep_kernel(barrier_of(together=False))
    check(sweep, words, uint32, uint32, uint32, uint32)
    check(transitive_closure._square_kernel, words, words, uint32, uint32, FLAGS)
    bits = array(uint8)
    check(cuda_matrix._make_boolean_square_kernel(16), bits, bits, uint32)
