"""Arc arrays for solvers: with unsigned indices, sorted by weight, or sorted by head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.graph.csr import freeze, offsets, pick, transpose
from sssp.kernels.dtypes import OFFSET
from sssp.kernels.jit import njit

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.graph.turns import Expansion

#: where the arcs of each vertex begin, their other ends, and their weights or positions
Arcs = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]
UnsignedArcs = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]
#: up to this many arcs insertion beats a general sort
FEW = 16
#: weights looked at
SAMPLE = 1 << 16


@njit
def _insertion_sort(order, weights, first, last):
    """Sort the few arcs in ``order[first:last]`` by weight; equal weights keep their order."""
    for i in range(first + 1, last):
        arc = order[i]
        j = i
        while j > first and weights[order[j - 1]] > weights[arc]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = arc


@njit
def _order_kernel(indptr, weights, order):
    """Write to `order` the arc positions of every vertex, sorted by weight, then by head."""
    for i in range(order.size):
        order[i] = i
    for v in range(indptr.size - 1):
        first, last = indptr[v], indptr[v + 1]
        if last - first <= FEW:
            _insertion_sort(order, weights, first, last)
        else:
            order[first:last] = first + np.argsort(weights[first:last], kind="mergesort")


class ArcsByWeight(NamedTuple):
    """The arcs of a graph, each vertex's sorted by weight, then by head.

    Attributes
    ----------
    indptr : ndarray, shape (n + 1,), int64
        The graph's own.
    indices : ndarray, shape (m,), int32
        Heads.
    weights : ndarray, shape (m,)
        In the dtype that was asked for.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[Any]


def arcs_by_weight(graph: Graph, dtype: np.dtype[Any], *, reverse: bool = False) -> ArcsByWeight:
    """Return the arcs of `graph`, or of its reverse, grouped by tail and sorted by weight.

    O(m log degree) time.
    """

    def build() -> ArcsByWeight:
        base = graph.reverse() if reverse else graph
        weights = base.weights_as(dtype)
        order = np.empty(base.m, OFFSET)
        _order_kernel(base.indptr, weights, order)
        return ArcsByWeight(base.indptr, freeze(base.indices[order]), freeze(weights[order]))

    return graph._cached(f"{'reverse ' if reverse else ''}arcs by weight, {dtype}", build)


def typical_weight(graph: Graph) -> float:
    """Return the lower median of positive weights in a sample of arcs; 0 if none is positive.

    It is one of the weights, so it cannot overflow. Found on first use and kept.
    """

    def build() -> float:
        sample = graph.weights[:: max(1, graph.m // SAMPLE)]
        positive = sample[sample > 0]
        return float(np.quantile(positive, 0.5, method="lower")) if positive.size else 0.0

    return graph._cached("typical weight", build)


def unsigned_arcs(graph: Graph, dtype: np.dtype[Any]) -> UnsignedArcs:
    """Return the CSR arrays of a graph with unsigned indices, and its weights in `dtype`.

    Unsigned, because Numba tests every signed index for a wrap-around from the end.
    """

    def build() -> UnsignedArcs:
        return graph.indptr.view(np.uint64), graph.indices.view(np.uint32), graph.weights_as(dtype)

    return graph._cached(f"unsigned arcs, {dtype.char}", build)


def arcs_without_arrivals(graph: Graph, expansion: Expansion, dtype: np.dtype[Any]) -> UnsignedArcs:
    """Return the CSR arrays of a turn expansion without the arcs to trip ends (arrivals).

    These are a quarter of the arcs where every turn costs something, and all weigh 0.
    """

    def build_ends() -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint32]]:
        is_arrival = np.zeros(graph.n, np.bool_)
        is_arrival[: expansion.n] = expansion.split
        leads_on = ~is_arrival[graph.indices]
        indptr = offsets(leads_on)[graph.indptr].view(np.uint64)
        kept = np.flatnonzero(leads_on)
        return kept, freeze(indptr), freeze(graph.indices[kept].view(np.uint32))

    kept, indptr, indices = graph._shared("arcs without arrivals", build_ends)
    weights = graph._cached(
        f"weights without arrivals, {dtype.char}", lambda: freeze(graph.weights_as(dtype)[kept])
    )
    return indptr, indices, weights


def order_of_heads(graph: Graph) -> Arcs:
    """Return the arcs sorted by head: offsets by vertex, tails, and positions in the graph.

    Made on first use and kept, also for graphs that differ in weights alone. O(n + m) time.
    """

    def build() -> Arcs:
        indptr, tails, order = transpose(graph.indptr, graph.indices)
        return freeze(indptr), freeze(tails), order

    return graph._shared("arcs by head", build)


def arcs_by_head(graph: Graph, dtype: np.dtype[Any]) -> Arcs:
    """Return offsets, tails and weights of the arcs sorted by head, then by tail. O(n + m) time.

    Made on first use and kept; graphs that differ in weights alone share all but the weights.
    """
    indptr, tails, order = order_of_heads(graph)
    key = f"weights by head, {dtype}"
    return indptr, tails, graph._cached(key, lambda: freeze(pick(graph.weights_as(dtype), order)))
