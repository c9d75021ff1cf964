"""The kernels of the device layer type for every dtype, as those of the solvers do."""

from __future__ import annotations

import pytest

from tests.cuda.conftest import SIMULATOR

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

pytest.importorskip("numba_cuda")

from numba import boolean, float64, from_dtype, int32, int64

from sssp.cuda import forms, reduce, tree
from sssp.engine.query import REDUCTIONS
from tests.cuda.test_types import DTYPES, array, check


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_forms_of_an_answer(dtype):
    number = from_dtype(dtype)
    rows, words = array(number, 2), array(int32, 2)
    check(forms._gather_kernel, rows, array(int64), rows)
    check(forms._count_kernel, rows, number, words)
    entries = (array(int32), array(number), array(int32))
    check(forms._compact_kernel, rows, number, words, boolean, array(int64, 2), *entries)
    check(tree._finals_kernel, rows, array(int64), boolean, number, number, array(number))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("what", REDUCTIONS)
def test_reductions(what, dtype):
    number = from_dtype(dtype)
    for total in (int64, float64):
        vertices, blocks = reduce._make_kernels(what, total is int64)
        check(vertices, array(number, 2), number, array(total), array(total, 3))
        check(blocks, array(total, 3), int64, array(total, 2))


def test_narrowing():
    check(forms._magnitude_kernel, array(int64), int64, array(int64))
    check(forms.narrow_kernel, array(int64), int64, array(int32), int32)
