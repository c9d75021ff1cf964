"""The kernels of the device layer type for every dtype, as those of the solvers do."""

from __future__ import annotations

import pytest

from tests.cuda.conftest import SIMULATOR

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

pytest.importorskip("numba_cuda")

from numba import boolean, float64, from_dtype, int32, int64

from sssp.cuda import finished, narrow, overflow, reduce, tree
from sssp.engine.query import REDUCTIONS
from tests.cuda.test_types import DTYPES, array, check


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_forms_of_an_answer(dtype):
    number = from_dtype(dtype)
    rows, words = array(number, 2), array(int32, 2)
    check(finished._gather_kernel, rows, array(int64), rows)
    check(finished._count_kernel, rows, number, words)
    entries = (array(int32), array(number), array(int32))
    compact = finished._compact_kernel
    check(compact, rows, number, words, boolean, boolean, array(int64, 2), *entries)
    # marks of paths are compacted too
    marks = array(int32, 2)
    check(finished._mark_paths_kernel, rows, number, array(int64), words, marks)
    check(compact, marks, int32, words, boolean, boolean, array(int64, 2), *entries)
    check(overflow._whole_kernel, rows, array(int64), number, array(int32))
    leads_on = overflow._make_leads_on_kernel(dtype.kind == "i")
    limit = int64 if dtype.kind == "i" else float64
    flags = array(int32), array(int32)
    check(leads_on, array(int32), array(int32), array(number), rows, number, limit, *flags)
    tolerances = tree._tolerances_kernel
    row = array(number)
    check(tolerances, rows, row, marks, marks, boolean, number, number, row)
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
    check(narrow._magnitude_kernel, array(int64), int64, array(int64))
    check(narrow._narrow_kernel, array(int64), int64, array(int32), int32)
