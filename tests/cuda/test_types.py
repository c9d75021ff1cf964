"""Every kernel types for every dtype: a check of the real compiler that needs no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.conftest import SIMULATOR

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

compiler = pytest.importorskip("numba_cuda") and pytest.importorskip("numba.cuda.compiler")

from numba import boolean, from_dtype, int32, int64, types, uint8, uint32  # noqa: E402

from sssp.cuda import _tree, threshold_dijkstra  # noqa: E402

DTYPES = [np.dtype(name) for name in ("int32", "int64", "float32", "float64")]


def array(kind: Any, dimensions: int = 1) -> Any:
    return types.Array(kind, dimensions, "C")


def check(kernel: Any, *signature: Any) -> None:
    compiler.compile_cuda(kernel.py_func, types.void, signature, cc=(9, 0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_threshold_dijkstra(dtype):
    number = from_dtype(dtype)
    bits = int32 if dtype.itemsize == 4 else int64
    arcs = (array(uint32), array(uint32), array(number), array(uint32, 2), array(number, 2))
    vertices = array(int64)
    check(
        threshold_dijkstra._make_kernel(dtype),
        *arcs,
        *arcs,
        boolean,
        vertices,
        vertices,
        vertices,
        number,
        number,
        array(number, 2),
        array(bits, 2),
        array(int64, 2),
        array(uint8, 2),
        array(uint32, 2),
        array(uint32, 2),
        array(number, 2),
        array(uint32, 3),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_trees(dtype):
    number = from_dtype(dtype)
    words, rows = array(int32), array(int32, 2)
    arcs = (words, words, array(number))
    found = (array(number), array(number, 2))  # finals, distances
    check(_tree._smallest_tails_kernel, *arcs, *found, words, boolean, rows, words)
    check(
        _tree._fewest_arcs_kernel,
        *arcs,
        array(int64),
        array(int64),
        *found,
        words,
        boolean,
        words,
        boolean,
        rows,
        rows,
        rows,
    )
    check(_tree._spread_kernel, *arcs, *found, words, words)
    check(_tree._root_kernel, array(int64), array(number, 2), words)
    check(_tree._fill_kernel, array(number), number)


def test_what_has_no_dtype():
    check(_tree._finish_kernel, array(int32))
    check(_tree._fill_kernel, array(uint8), uint8)
