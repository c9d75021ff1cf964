"""Cycles among the predecessors of a search, and whether they are negative.

A cycle is negative if the exact sum of its weights is below zero. The sums of a search may say
otherwise: rounding can lower the distances around a cycle of length zero, a few times or for ever.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import NegativeCycleError
from sssp.graph.csr import arc_positions
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit

__all__ = ["error_of", "has_cycle", "negative_cycle", "rounding", "settle_sources"]


@njit
def has_cycle(predecessors, vertices, marks):
    """Whether there is a cycle among the predecessors of `vertices`; ``marks`` int32 is scratch."""
    for i in range(vertices.size):
        marks[vertices[i]] = -1
    for i in range(vertices.size):
        vertex = vertices[i]
        while vertex >= 0 and marks[vertex] < 0:
            marks[vertex] = i
            vertex = predecessors[vertex]
        if vertex >= 0 and marks[vertex] == i:
            return True
    return False


@njit
def _next_cycle_kernel(predecessors, marks, start, cycle):
    """Find the next cycle from vertex `start` on; return its length, and where to go on.

    ``marks`` int32 is -1 everywhere before the first call, ``cycle`` int32 receives the vertices
    in order. Predecessors from racing threads will do.
    """
    n = predecessors.size
    while start < n:
        vertex = start
        while vertex >= 0 and marks[vertex] < 0:
            marks[vertex] = start
            vertex = predecessors[vertex]
        if vertex >= 0 and marks[vertex] == start:
            length, end = 0, vertex
            while length == 0 or vertex != end:
                cycle[length] = vertex
                length += 1
                vertex = predecessors[vertex]
            cycle[:length] = cycle[:length][::-1].copy()
            return length, start + 1
        start += 1
    return 0, n


def negative_cycle(graph: Graph, predecessors: NDArray[np.int32]) -> NDArray[np.int32]:
    """Vertices of a cycle among `predecessors` that is negative; empty if there is none.

    Parameters
    ----------
    graph : Graph
        Its own weights count, added up exactly.
    predecessors : ndarray, shape (n,), int32
        Tails of arcs, -1 for none; they need not belong to one moment of the search.
    """
    marks, cycle = np.full(graph.n, -1, INDEX), np.empty(graph.n, INDEX)
    start = 0
    while True:
        length, start = _next_cycle_kernel(predecessors, marks, start, cycle)
        if length == 0 or _is_negative(graph, cycle[:length]):
            return cycle[:length]


def _is_negative(graph: Graph, cycle: NDArray[np.int32]) -> bool:
    arcs = arc_positions(graph.indptr, graph.indices, np.roll(cycle, 1), cycle)
    weights = graph.weights[arcs].tolist()
    total = sum(weights) if graph.weights.dtype.kind == "i" else math.fsum(weights)
    return total < 0


def rounding(distances: NDArray[Any], n: int) -> Any:
    """How far sums over n arcs may lie apart in a row that rounding on a cycle has lowered."""
    kind = distances.dtype
    reached = distances[distances < np.inf]
    return kind.type(4 * n * np.finfo(kind).eps * np.abs(reached).max(initial=0))


def settle_sources(distances: NDArray[Any], sources: NDArray[np.int64], n: int) -> None:
    """Put sources back to 0 that only rounding on a cycle through them has lowered.

    Parameters
    ----------
    distances : ndarray, shape (n,), float
        A finished row in which some cycle of length zero seemed negative.
    sources : ndarray, int64
    n : int
    """
    starts = distances[sources]
    distances[sources] = np.where(np.abs(starts) <= rounding(distances, n), 0, starts)


def error_of(source: int, cycle: NDArray[np.int32]) -> NegativeCycleError:
    """Return the error that names a negative cycle."""
    vertices = cycle.tolist()
    shown = ", ".join(map(str, vertices[:10])) + (", ..." if len(vertices) > 10 else "")
    return NegativeCycleError(
        f"source {source} reaches a cycle of negative length with {len(vertices)} vertices "
        f"({shown}), so distances have no lower bound; .cycle holds it",
        vertices,
    )
