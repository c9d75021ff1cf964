"""Cycles among the predecessors of a search: what proves a negative cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import NegativeCycleError
from sssp.graph.csr import arc_position
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit

__all__ = ["error_of", "find_cycle", "negative_cycle", "unsupported_cycle"]


@njit
def find_cycle(predecessors, vertices, marks, cycle):
    """Length of a cycle among the predecessors of `vertices`, which it writes; 0 if none."""
    for i in range(vertices.size):
        marks[vertices[i]] = -1
    for i in range(vertices.size):
        vertex = vertices[i]
        while vertex >= 0 and marks[vertex] < 0:
            marks[vertex] = i
            vertex = predecessors[vertex]
        if vertex >= 0 and marks[vertex] == i:
            length, end = 0, vertex
            while length == 0 or vertex != end:
                cycle[length] = vertex
                length += 1
                vertex = predecessors[vertex]
            cycle[:length] = cycle[:length][::-1].copy()
            return length
    return 0


@njit
def _negative_cycle_kernel(indptr, indices, weights, predecessors):
    """Return the first cycle among the predecessors whose weights, re-added, are below zero.

    Predecessors from racing threads will do, for the weights are those of the arcs themselves.
    """
    n = predecessors.size
    marks = np.full(n, -1, np.int32)
    cycle = np.empty(n, np.int32)
    for start in range(n):
        vertex = start
        while vertex >= 0 and marks[vertex] < 0:
            marks[vertex] = start
            vertex = predecessors[vertex]
        if vertex < 0 or marks[vertex] != start:
            continue
        total = weights.dtype.type(0)
        length, end = 0, vertex
        while length == 0 or vertex != end:
            tail = predecessors[vertex]
            total += weights[arc_position(indptr, indices, tail, vertex)]
            cycle[length] = vertex
            length += 1
            vertex = tail
        if total < 0:
            return cycle[:length][::-1].copy()
    return cycle[:0]


@njit
def _unsupported_kernel(indptr, indices, weights, sources, distances):
    """Give every vertex that no tight path from a source reaches a tight tail of its kind."""
    n = distances.size
    number = distances.dtype.type
    supported = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int32)
    size = 0
    for source in sources:
        if distances[source] == 0 and not supported[source]:
            supported[source] = True
            queue[size] = source
            size += 1
    done = 0
    while done < size:
        tail = queue[done]
        done += 1
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            if not supported[head] and distances[head] == number(distances[tail] + weights[arc]):
                supported[head] = True
                queue[size] = head
                size += 1
    predecessors = np.full(n, -1, np.int32)
    for tail in range(n):
        if supported[tail] or distances[tail] == np.inf:
            continue
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            if not supported[head] and distances[head] == number(distances[tail] + weights[arc]):
                predecessors[head] = tail
    return predecessors


def negative_cycle(graph: Graph, predecessors: NDArray[np.int32]) -> NDArray[np.int32]:
    """Vertices of a cycle among `predecessors` that is negative; empty if there is none.

    Parameters
    ----------
    graph : Graph
        Its own weights count: int64 or float64 sums.
    predecessors : ndarray, shape (n,), int32
        Tails of arcs, -1 for none; they need not belong to one moment of the search.
    """
    weights = graph.weights.astype(np.int64) if graph.weights.dtype.kind == "i" else graph.weights
    found: NDArray[np.int32] = _negative_cycle_kernel(
        graph.indptr, graph.indices, weights, predecessors
    )
    return found


def unsupported_cycle(
    graph: Graph, sources: NDArray[np.int64], distances: NDArray[Any]
) -> NDArray[np.int32]:
    """Vertices of a cycle whose float distances hold each other up; empty if there is none.

    Rounding can lower the distances around a cycle of length zero, until they are tight along
    the cycle and along nothing that leads there.
    """
    predecessors = _unsupported_kernel(
        graph.indptr, graph.indices, graph.weights_as(distances.dtype), sources, distances
    )
    vertices = np.flatnonzero(predecessors >= 0).astype(INDEX)
    cycle = np.empty(graph.n, INDEX)
    length = find_cycle(predecessors, vertices, np.full(graph.n, -1, INDEX), cycle)
    return cycle[:length]


def error_of(source: int, cycle: NDArray[np.int32]) -> NegativeCycleError:
    """Return the error that names a negative cycle."""
    vertices = cycle.tolist()
    shown = ", ".join(map(str, vertices[:10])) + (", ..." if len(vertices) > 10 else "")
    return NegativeCycleError(
        f"source {source} reaches a cycle of negative length with {len(vertices)} vertices "
        f"({shown}), so distances have no lower bound; .cycle holds it",
        vertices,
    )
