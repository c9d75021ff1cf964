"""Arc weights passed as a GPU array: checked on the GPU, and copied to the host on demand.

One pass copies them and finds what a graph has to know of weights. What is odd about them, the
host says: it gets all of them then, and raises what it always raises.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype
from numpy.typing import NDArray

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.availability import SIMULATOR, cuda, select
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import device_graph, fetch, move, send
from sssp.cuda.driver import device_of
from sssp.cuda.graph_replay import Launches
from sssp.cuda.pool import THREADS, device_array
from sssp.graph.graph import Graph
from sssp.graph.weights import Extremes, closed_weight, integer_dtype
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INT32, INT64

#: blocks that look through weights
BLOCKS = 2 if SIMULATOR else 256
#: what they find: the least and the greatest open weight, the number of closed arcs, whether some
#: weight is one that a graph does not store, and whether some arc and its twin weigh differently
LEAST, GREATEST, CLOSED, ODD, DIFFER, WORDS = 0, 1, 2, 3, 4, 5


@cache
def _make_stored_kernel(
    given: np.dtype[Any], kept: np.dtype[Any], before: np.dtype[Any] | None, mirrored: bool
) -> Any:
    """Return the kernel that checks weights and converts them to a dtype that a graph stores.

    Parameters
    ----------
    given : dtype
        Integers, booleans, or floats of 32 or 64 bits.
    kept : dtype
        int32, int64 or float64.
    before : dtype or None
        Of what the arcs weighed, if some were closed: given that again they stay closed.
    mirrored : bool
        Whether arcs are compared with their twins.
    """
    wide = _widest(given)
    number, stored_as = from_dtype(wide), from_dtype(kept)
    closed, kept_closed = closed_weight(wide).item(), closed_weight(kept).item()
    keeps = before is not None
    was_closed = closed_weight(before).item() if before is not None else 0
    floats, wraps = wide == FLOAT64, given == np.uint64
    zero = 0.0 if floats else 0
    least_of_all = _least_of_all(wide)

    @inline
    def read(arc, weights, weights_before):
        """Return an arc's new weight as int64 or float64; a sentinel if the arc stays closed."""
        # (a zero more, and there is no -0.0)
        weight = number(number(weights[arc]) + zero)
        if keeps and weight == was_closed and weights_before[arc] == was_closed:
            weight = number(closed)
        return weight

    @kernel
    def _stored_kernel(weights, weights_before, twins, stored, found):
        """Convert arc weights to the stored dtype; also record their range and any invalid value.

        ============== ======== ============= =======================================
        argument       shape    dtype         written by
        ============== ======== ============= =======================================
        weights        (m,)     given         the caller
        weights_before (m,)     before        host; not read unless an arc was closed
        twins          (m,)     integer       host; not read unless arcs have twins
        stored         (m,)     kept          here: what does not fit is anything
        found          (WORDS,) int64 float64 host: of no weights; here: `WORDS`
        ============== ======== ============= =======================================
        """
        thread = cuda.threadIdx.x
        words = cuda.shared.array((WORDS, THREADS), number)
        least, greatest = number(closed), number(least_of_all)
        shut, odd, differ = number(0), number(0), number(0)
        for arc in range(cuda.grid(1), weights.size, cuda.gridsize(1)):
            weight = read(arc, weights, weights_before)
            if (floats and not weight > -np.inf) or (wraps and weight < 0):
                odd = number(1)
            elif weight == closed:
                shut = number(shut + 1)
            else:
                least, greatest = min(least, weight), max(greatest, weight)
            if mirrored and read(twins[arc], weights, weights_before) != weight:
                differ = number(1)
            stored[arc] = stored_as(kept_closed if weight == closed else weight)
        words[LEAST, thread], words[GREATEST, thread] = least, greatest
        words[CLOSED, thread], words[ODD, thread], words[DIFFER, thread] = shut, odd, differ
        reach = THREADS // 2
        while reach > 0:
            cuda.syncthreads()
            if thread < reach:
                other = thread + reach
                words[LEAST, thread] = min(words[LEAST, thread], words[LEAST, other])
                words[GREATEST, thread] = max(words[GREATEST, thread], words[GREATEST, other])
                for word in range(CLOSED, WORDS):
                    words[word, thread] += words[word, other]
            reach //= 2
        if thread == 0:
            cuda.atomic.min(found, LEAST, words[LEAST, 0])
            cuda.atomic.max(found, GREATEST, words[GREATEST, 0])
            for word in range(CLOSED, WORDS):
                cuda.atomic.add(found, word, words[word, 0])

    return _stored_kernel


def _widest(given: np.dtype[Any]) -> np.dtype[Any]:
    """Return float64 for float weights, else int64: the widest dtypes that a graph stores."""
    return FLOAT64 if given.kind == "f" else INT64


def _least_of_all(wide: np.dtype[Any]) -> float | int:
    return -np.inf if wide == FLOAT64 else int(np.iinfo(wide).min)


def on_host(array: Any) -> NDArray[Any]:
    """Return a host copy of any library's device array."""
    with select(device_of(array)):
        copy: NDArray[Any] = cuda.as_cuda_array(array).copy_to_host()
    return copy


def copy_there(array: Any) -> DeviceArray:
    """Return a copy of a GPU array of any library, such as PyTorch, on the same GPU."""
    number = device_of(array)
    with select(number):
        given = cuda.as_cuda_array(array)
        if given.is_c_contiguous():
            copy = device_array(given.size, given.dtype)
            copy.copy_to_device(given.reshape(given.size))
            cuda.default_stream().synchronize()  # (or its owner might change it before it is read)
        else:
            copy = cuda.to_device(np.ascontiguousarray(given.copy_to_host()).reshape(-1))
    return DeviceArray(copy, given.shape, number)


def with_weights_there(graph: Graph, weights: Any, ahead: Any = None) -> Graph:
    """Return the graph with the new weights that a device array of any library holds.

    They are copied on that device when the stream that they name, if any, has made them. On the
    host they are made when somebody looks at them. With `ahead` (`sssp.cuda.sweep.customization`)
    the next step is queued behind, and `weights` may be a host array, which its device checks.

    Raises
    ------
    ValueError, TypeError, DistanceOverflowError
        As `Graph.with_weights`.
    """
    is_here = isinstance(weights, np.ndarray)
    number = ahead.number if ahead is not None and is_here else device_of(weights)
    if ahead is not None and ahead.number != number:
        ahead = None
    with select(number):
        column = weights if is_here else cuda.as_cuda_array(weights)
        reweighted = _reweight(graph, column, number, ahead) if _is_usual(graph, column) else None
        if reweighted is None:
            return graph.with_weights(column if is_here else column.copy_to_host())
        return reweighted


def _is_usual(graph: Graph, column: Any) -> bool:
    """Return True if the device can check new weights: one per arc, contiguous, no self-loop.

    (The sign of its weight would matter.)
    """
    if column.shape != (graph.m,) or graph.m == 0 or graph._loops.size:
        return False
    if not column.flags["C_CONTIGUOUS"]:
        return False
    return column.dtype.kind in "iub" or column.dtype in (FLOAT32, FLOAT64)


class _Check:
    """GPU memory for converting and checking new weights, reused at fixed addresses."""

    def __init__(self, m: int, given: np.dtype[Any], kept: np.dtype[Any]) -> None:
        wide = _widest(given)
        self.given, self.stored = device_array(m, given), device_array(m, kept)
        self.noted = device_array(WORDS, wide)
        self.nothing, self.found = (cuda.pinned_array(WORDS, wide) for _ in range(2))
        self.nothing[:] = closed_weight(wide), _least_of_all(wide), 0, 0, 0
        self.launches = Launches()
        self.nbytes = self.given.nbytes + self.stored.nbytes + self.noted.nbytes


def _launch_check(stream: Any, check: _Check, before: Any, weights_before: Any, twins: Any) -> None:
    """Queue a kernel that converts and checks new weights, and copy the outcome to the host."""
    send(check.nothing, check.noted, stream)
    stored = _make_stored_kernel(check.given.dtype, check.stored.dtype, before, twins is not None)
    # (what is not read may be anything)
    read = (check.given if array is None else array for array in (weights_before, twins))
    stored[BLOCKS, THREADS, stream](check.given, *read, check.stored, check.noted)
    fetch(check.noted, check.found, stream)


def _reweight(graph: Graph, column: Any, number: int, ahead: Any) -> Graph | None:
    """Return the graph with new weights on the device; None if the host has to check them."""
    own, wide, m = device_graph(graph, number), _widest(column.dtype), graph.m
    stream, before = own.stream, graph._weight_range.dtype if graph.closed_arcs else None
    weights_before = before and own.array(f"weights, {before}", lambda: graph.weights)
    twins = None if graph.directed else own.array("twins", lambda: graph._twins)
    # (most integers fit into 32 bits)
    for dtype in (INT32, INT64) if wide == INT64 else (FLOAT64,):
        key = "check of weights", column.dtype, dtype
        check = own.shelf.take(key) or _Check(m, column.dtype, dtype)
        there = device_array(m, dtype)
        bring = send if isinstance(column, np.ndarray) else move
        bring(column, check.given, stream)
        check.launches.do(_launch_check, stream, check, before, weights_before, twins)
        move(check.stored, there, stream)
        if ahead is not None and dtype == INT32:
            ahead.queue(there, stream)
        stream.synchronize()
        least, greatest, closed, odd, differ = check.found.tolist()
        own.shelf.leave(key, check.nbytes, check)
        if odd:
            return None
        least, greatest = (0, 0) if closed == m else (least, greatest)
        extremes = Extremes(dtype, least, greatest, int(closed), 0)
        if dtype != INT32 or integer_dtype(extremes.least, extremes.greatest) == INT32:
            break
    directed = twins is None or bool(differ)
    reweighted = graph._reweight(DeviceArray(there, (m,), number).to_host, directed=directed)
    reweighted._derived["extremes"] = extremes
    device_graph(reweighted, number).array(f"weights, {there.dtype}", lambda: there)
    return reweighted
