"""Weights that a caller has on a device: checked there, and kept there until the host wants them.

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
from sssp.cuda.compiler import SIMULATOR, cuda, device_of, kernel, select
from sssp.cuda.device_memory import device_graph, fetch
from sssp.cuda.device_output import copy_narrow
from sssp.cuda.pool import THREADS, blocks_for, device_array
from sssp.graph.graph import Graph
from sssp.graph.weights import Extremes, closed_weight, integer_dtype
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INDEX, INT32, INT64

#: blocks that look through weights
BLOCKS = 2 if SIMULATOR else 256
#: what each of them finds: the least and the greatest open weight, the number of closed arcs, and
#: whether some weight is one that a graph does not store
LEAST, GREATEST, CLOSED, ODD, WORDS = 0, 1, 2, 3, 4


@cache
def _make_stored_kernel(given: np.dtype[Any], before: np.dtype[Any] | None) -> Any:
    """Return the kernel that brings weights to the widest dtype that a graph stores.

    Parameters
    ----------
    given : dtype
        Integers, booleans, or floats of 32 or 64 bits.
    before : dtype or None
        Of what the arcs weighed, if some were closed: given that again they stay closed.
    """
    wide = _widest(given)
    number, closed = from_dtype(wide), closed_weight(wide).item()
    keeps = before is not None
    was_closed = closed_weight(before).item() if before is not None else 0
    floats, wraps = wide == FLOAT64, given == np.uint64
    zero = 0.0 if floats else 0
    least_of_all = -np.inf if floats else np.iinfo(wide).min

    @kernel
    def _stored_kernel(weights, weights_before, stored, found):
        """Copy weights, a block some of them; find the extremes of the open ones.

        ============== =============== ============= =======================================
        argument       shape           dtype         written by
        ============== =============== ============= =======================================
        weights        (m,)            given         the caller
        weights_before (m,)            before        host; not read unless an arc was closed
        stored         (m,)            int64 float64 here: odd ones are anything
        found          (BLOCKS, WORDS) int64 float64 here: `WORDS`
        ============== =============== ============= =======================================
        """
        block, thread = cuda.blockIdx.x, cuda.threadIdx.x
        words = cuda.shared.array((WORDS, THREADS), number)
        least, greatest = number(closed), number(least_of_all)
        shut, odd = number(0), number(0)
        for arc in range(cuda.grid(1), weights.size, cuda.gridsize(1)):
            # (a zero more, and there is no -0.0)
            weight = number(number(weights[arc]) + zero)
            if (floats and not weight > -np.inf) or (wraps and weight < 0):
                odd = number(1)
            elif weight == closed or (
                keeps and weight == was_closed and weights_before[arc] == was_closed
            ):
                weight = number(closed)
                shut = number(shut + 1)
            else:
                least, greatest = min(least, weight), max(greatest, weight)
            stored[arc] = weight
        words[LEAST, thread], words[GREATEST, thread] = least, greatest
        words[CLOSED, thread], words[ODD, thread] = shut, odd
        reach = THREADS // 2
        while reach > 0:
            cuda.syncthreads()
            if thread < reach:
                other = thread + reach
                words[LEAST, thread] = min(words[LEAST, thread], words[LEAST, other])
                words[GREATEST, thread] = max(words[GREATEST, thread], words[GREATEST, other])
                words[CLOSED, thread] += words[CLOSED, other]
                words[ODD, thread] += words[ODD, other]
            reach //= 2
        if thread == 0:
            for word in range(WORDS):
                found[block, word] = words[word, 0]

    return _stored_kernel


@kernel
def _directions_kernel(weights, twins, differ):
    """Note in ``differ[0]`` that an arc does not weigh what its twin weighs."""
    for arc in range(cuda.grid(1), weights.size, cuda.gridsize(1)):
        if weights[arc] != weights[twins[arc]]:
            differ[0] = 1


def _widest(given: np.dtype[Any]) -> np.dtype[Any]:
    """Return the widest dtype that a graph stores such weights in."""
    return FLOAT64 if given.kind == "f" else INT64


def on_host(array: Any) -> NDArray[Any]:
    """Return a copy on the host of an array that any library has on a device."""
    with select(device_of(array)):
        copy: NDArray[Any] = cuda.as_cuda_array(array).copy_to_host()
    return copy


def copied(array: Any) -> DeviceArray:
    """Return a copy on its device of an array that any library has there."""
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


def with_weights_there(graph: Graph, weights: Any) -> Graph:
    """Return ``graph.with_weights(weights)`` of weights that any library has on a device.

    They are copied on that device when the stream that they name, if any, has made them. On the
    host they are made when somebody looks at them.

    Raises
    ------
    ValueError, TypeError, DistanceOverflowError
        As `Graph.with_weights`.
    """
    number = device_of(weights)
    with select(number):
        column = cuda.as_cuda_array(weights)
        reweighted = _reweight(graph, column, number) if _is_usual(graph, column) else None
        return graph.with_weights(column.copy_to_host()) if reweighted is None else reweighted


def _is_usual(graph: Graph, column: Any) -> bool:
    """Whether these are weights for all arcs, and there is no self-loop, whose sign matters."""
    if column.shape != (graph.m,) or graph.m == 0 or graph._loops.size:
        return False
    return column.dtype.kind in "iub" or column.dtype in (FLOAT32, FLOAT64)


def _reweight(graph: Graph, column: Any, number: int) -> Graph | None:
    """Return the graph with weights of the current device; None: some of them are odd."""
    stream, own = cuda.stream(), device_graph(graph, number)
    before = graph._weight_range.dtype if graph.closed_arcs else None
    there = device_array(graph.m, _widest(column.dtype))
    # (what is not read may be anything)
    there_before = there
    if before is not None:
        there_before = own.array(f"weights, {before}", lambda: graph.weights)
    look = _make_stored_kernel(column.dtype, before)
    noted = device_array((BLOCKS, WORDS), there.dtype)
    look[BLOCKS, THREADS, stream](column, there_before, there, noted)
    found = np.empty((BLOCKS, WORDS), there.dtype)
    fetch(noted, found, stream)
    stream.synchronize()
    if found[:, ODD].any():
        return None
    extremes = _extremes(found, graph.m)
    if there.dtype == INT64 and integer_dtype(extremes.least, extremes.greatest) == INT32:
        there = copy_narrow(there, INT32, stream)
    directed = graph.directed
    if not directed:
        differ = cuda.to_device(np.zeros(1, INDEX))
        twins = own.array("twins", lambda: graph._twins)
        _directions_kernel[blocks_for(graph.m), THREADS, stream](there, twins, differ)
        directed = bool(differ.copy_to_host(stream=stream)[0])
    stream.synchronize()
    reweighted = graph._reweight(DeviceArray(there, (graph.m,), number).to_host, directed=directed)
    reweighted._keep_extremes(extremes, np.dtype(there.dtype))
    device_graph(reweighted, number).array(f"weights, {there.dtype}", lambda: there)
    return reweighted


def _extremes(found: NDArray[Any], arcs: int) -> Extremes:
    """Put together what blocks have found."""
    closed = int(found[:, CLOSED].sum())
    if closed == arcs:
        return Extremes(0, 0, closed, 0)
    return Extremes(found[:, LEAST].min().item(), found[:, GREATEST].max().item(), closed, 0)
