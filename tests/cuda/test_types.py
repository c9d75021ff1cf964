"""Every kernel types for every dtype: a check of the real compiler that needs no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.cuda.conftest import SIMULATOR
from tests.solvers import USUAL

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

compiler = pytest.importorskip("numba_cuda") and pytest.importorskip("numba.cuda.compiler")
dispatcher = pytest.importorskip("numba.cuda.dispatcher")

from numba import boolean, from_dtype, int32, int64, types, uint8, uint32, uint64  # noqa: E402

from sssp.cuda import fill, tree  # noqa: E402
from sssp.cuda.device.grid import barrier_of  # noqa: E402
from sssp.cuda.search import delta_stepping, threshold_dijkstra  # noqa: E402
from sssp.cuda.search.bellman_ford import pull, push, rounds, streamed  # noqa: E402

#: both kinds and both sizes; the long profile takes the other two as well
DTYPES = [np.dtype(name) for name in ("int32", "float64")]
if settings().max_examples > USUAL:
    DTYPES += [np.dtype(name) for name in ("int64", "float32")]


def array(kind: Any, dimensions: int = 1) -> Any:
    return types.Array(kind, dimensions, "C")


class Hopper:
    compute_capability = (9, 0)


def check(kernel: Any, *signature: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # device functions are compiled for the current device, and there may be none
        patch.setattr(dispatcher, "get_current_device", lambda: Hopper)
        compiler.compile_cuda(kernel.py_func, types.void, signature, cc=Hopper.compute_capability)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("in_out", [False, True])
def test_threshold_dijkstra(in_out, dtype):
    number = from_dtype(dtype)
    bits = int32 if dtype.itemsize == 4 else int64
    arcs = (array(uint32), array(uint32), array(number), array(uint32, 2), array(number, 2))
    vertices = array(int64)
    check(
        threshold_dijkstra._make_kernel(dtype, in_out=in_out),
        *arcs,
        *arcs,
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
        array(number, 2),
        array(uint32, 3),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("streamed", [False, True])
def test_bellman_ford_push(streamed, dtype):
    number = from_dtype(dtype)
    # a barrier of the grid needs the driver, so a block's stands in
    push_kernel = push._make_push_kernel(
        dtype, together=True, streamed=streamed, barrier=barrier_of(together=False)
    )
    check(
        push_kernel,
        *(array(uint32), array(uint32), array(number)),
        *(array(int32), uint32, array(uint8, 2), array(uint8)),  # places .. wanted
        *(uint32, boolean, number, number, int64, int64),  # group_bits .. first_row
        *(array(int64, 2), array(uint32, 2), array(uint32, 4), array(uint32, 2)),  # words .. counts
        *(array(int32, 2), array(int64, 2)),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bellman_ford_pull_and_its_ends(dtype):
    number = from_dtype(dtype)
    bits = int32 if dtype.itemsize == 4 else int64
    pull_kernel = pull._make_pull_kernel(dtype, together=True, barrier=barrier_of(together=False))
    check(
        pull_kernel,
        *(array(uint32), array(uint32), array(number), number, number, int64, int64),
        *(array(bits, 2), array(bits, 2), array(uint32, 2), array(int32, 2), array(int64, 2)),
    )
    vertices, words = array(int64), array(uint32, 2)
    check(
        push._make_start_kernel(dtype),
        *(vertices, vertices, array(uint32), array(int64, 2), array(uint32, 4), words),
    )
    check(pull._make_root_kernel(dtype), vertices, vertices, array(bits, 2), words)
    check(rounds.make_finish_kernel(dtype, packed=True), array(int64), array(number))
    check(rounds.make_finish_kernel(dtype, packed=False), array(bits), array(number))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_trees(dtype):
    number = from_dtype(dtype)
    words, rows = array(int32), array(int32, 2)
    arcs = (words, words, array(number))
    found = (array(number), array(number, 2))  # finals, distances
    check(tree._smallest_tails_kernel, *arcs, *found, words, boolean, rows, words)
    check(
        tree._fewest_arcs_kernel,
        *arcs,
        array(int64),
        array(int64),
        found[0],
        *found,
        words,
        boolean,
        words,
        boolean,
        rows,
        rows,
        rows,
    )
    check(tree._spread_kernel, *arcs, found[0], *found, words, words)
    check(tree._root_kernel, array(int64), array(number, 2), words)
    check(fill._fill_kernel, array(number), number)


def test_what_has_no_dtype():
    check(tree._finish_kernel, array(int32))
    check(fill._fill_kernel, array(uint8), uint8)
    lists, counts, pending = array(uint32, 4), array(uint32, 2), array(uint8, 2)
    check(streamed._await_arcs_kernel, lists, counts, uint32, pending, array(uint8))
    check(
        streamed._admit_kernel,
        *(uint32, uint32, int32, array(uint32), array(int64, 2), array(int32), array(uint8)),
        *(pending, lists, counts),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("together", [False, True])
def test_delta_stepping(together, dtype):
    number = from_dtype(dtype)
    word = uint32 if dtype.itemsize == 4 else uint64
    # a barrier of the grid needs the driver, so a block's stands in
    search = delta_stepping._make_kernel(
        dtype, together=together, barrier=barrier_of(together=False)
    )
    vertices = array(int64)
    check(
        search,
        *(array(uint32), array(uint32), array(number), array(uint64)),
        *(vertices, vertices, vertices, number, number, int64),  # sources .. first_row
        *(array(word, 2), array(uint32, 3), array(uint32, 3)),
        *(array(uint32, 2), array(word, 2), array(int64, 2)),
    )
