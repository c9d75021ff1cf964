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
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit

ONE = np.uint64(1)
#: expansions for every vertex before predecessors are searched for a cycle, or a row is given up
EXPANSIONS = 4
#: words of ``state``
ROUNDS, SIZE = range(2)


@njit
def _find_cycle(predecessors, vertices, start, marks):
    """Find a cycle by following predecessors from each vertex in ``vertices[start:]``.

    Returns a vertex on it, or -1, and the next `start`. ``marks`` int32 is -1 at all vertices
    before the first call. Predecessors from racing threads will do.
    """
    for i in range(start, vertices.size):
        vertex = np.int64(vertices[i])
        while vertex >= 0 and marks[vertex] < 0:
            marks[vertex] = i
            vertex = np.int64(predecessors[vertex])
        if vertex >= 0 and marks[vertex] == i:
            return vertex, i + 1
    return np.int64(-1), vertices.size


@njit
def has_cycle(predecessors, vertices, marks):
    """Return whether following predecessors from `vertices` finds a cycle; `marks` is scratch."""
    for i in range(vertices.size):
        marks[vertices[i]] = -1
    return _find_cycle(predecessors, vertices, 0, marks)[0] >= 0


def negative_cycle(graph: Graph, predecessors: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the vertices of a negative cycle among `predecessors`; empty if there is none.

    Parameters
    ----------
    graph : Graph
        Its own weights count, added up exactly.
    predecessors : ndarray, shape (n,), int32
        Tails of arcs, -1 for none; they need not belong to one moment of the search.
    """
    marks, everyone = np.full(graph.n, -1, INDEX), np.arange(graph.n, dtype=INDEX)
    add_up = sum if graph.weights.dtype.kind == "i" else math.fsum
    start = 0
    while True:
        vertex, start = _find_cycle(predecessors, everyone, start, marks)
        cycle: list[int] = []
        while vertex >= 0 and vertex not in cycle[:1]:
            cycle.append(vertex)
            vertex = predecessors.item(vertex)
        heads = np.array(cycle[::-1], INDEX)
        arcs = arc_positions(graph.indptr, graph.indices, np.roll(heads, 1), heads)
        if not cycle or add_up(graph.weights[arcs].tolist()) < 0:
            return heads


@njit
def _fall_on_kernel(
    indptr, indices, weights, unseen, bound, lowest, distances, predecessors, lists, round_of, state
):
    """Relax arcs in rounds until no distance falls, or too many vertices have been expanded.

    The first round is that of all reached vertices; ``state`` and ``round_of`` are 0 before it. The
    frontier stands in ``lists[ROUNDS % 2]``; ``predecessors`` are those of what fell here, if they
    are wanted.
    """
    number = distances.dtype.type
    rounds, size, left = state[ROUNDS], state[SIZE], EXPANSIONS * distances.size
    if rounds == 0:
        for vertex in range(distances.size):
            lists[0, size] = vertex
            size += distances[vertex] != unseen
    while size > 0 and left > 0:
        frontier, following = lists[rounds % 2], lists[(rounds + 1) % 2]
        rounds += 1
        left -= size
        fallen = 0
        for i in range(size):
            tail = np.uint64(frontier[i])
            start = distances[tail]
            for arc in range(np.uint64(indptr[tail]), np.uint64(indptr[tail + ONE])):
                head = np.uint64(indices[arc])
                candidate = number(start + weights[arc])
                if candidate >= distances[head] or candidate > bound or candidate < lowest:
                    continue
                distances[head] = candidate
                if predecessors is not None:
                    predecessors[head] = tail
                if round_of[head] != rounds:
                    round_of[head] = rounds
                    following[fallen] = head
                    fallen += 1
        size = fallen
    state[ROUNDS], state[SIZE] = rounds, size


def _new_state(n: int) -> tuple[NDArray[Any], ...]:
    """Return new working arrays for `_fall_on_kernel`, which relaxes the distances of a row."""
    return np.empty((2, n + 1), INDEX), np.zeros(n, INDEX), np.zeros(2, np.int64)


def settle(graph: Graph, distances: NDArray[Any]) -> bool:
    """Relax arcs until no distance of a row falls; return False if it stops at a work limit.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    distances : ndarray, shape (n,)
        Lengths of walks from a source; lowered in place.
    """
    arcs = graph.indptr, graph.indices, graph.weights_as(distances.dtype)
    infinite, state = unreached(distances.dtype), _new_state(graph.n)
    _fall_on_kernel(*arcs, infinite, infinite, -infinite, distances, None, *state)
    return not state[-1][SIZE]


def negative_cycle_below(
    graph: Graph, distances: NDArray[Any], bound: Any, lowest: Any
) -> NDArray[np.int32]:
    """Relax a row of distances further; return the vertices of a negative cycle, empty if none.

    Threads that lower a vertex at once may leave it the predecessor of one that lost, in every
    round the same, and so hide a cycle from `negative_cycle`. Here one thread goes on with the
    row. O(n m) time, but what still falls is seldom more than the cycle.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    distances : ndarray, shape (n,)
        Lengths of walks from a source; lowered in place.
    bound, lowest : number
        Greatest distance of interest, and least that the dtype holds.
    """
    predecessors, (*lists, state) = np.full(graph.n, -1, INDEX), _new_state(graph.n)
    arcs = graph.indptr, graph.indices, graph.weights_as(distances.dtype)
    row = unreached(distances.dtype), bound, lowest, distances, predecessors
    while True:
        _fall_on_kernel(*arcs, *row, *lists, state)
        cycle = negative_cycle(graph, predecessors)
        if cycle.size or not state[SIZE] or state[ROUNDS] > graph.n:
            return cycle


def rounding(distances: NDArray[Any], n: int) -> Any:
    """Return the tolerance for rounding errors that a zero-length cycle adds to distances."""
    kind = distances.dtype
    reached = distances[distances < np.inf]
    return kind.type(4 * n * np.finfo(kind).eps * np.abs(reached).max(initial=0))


def settle_sources(distances: NDArray[Any], sources: NDArray[np.int64], n: int) -> None:
    """Reset source distances to 0 where they differ from 0 only by rounding on a cycle.

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
    """Return the `NegativeCycleError` for a source that reaches a negative cycle."""
    return NegativeCycleError(
        f"source {source} reaches {describe_cycle(cycle)}, so distances have no lower bound; "
        ".cycle holds it",
        cycle.tolist(),
    )


def describe_cycle(cycle: NDArray[np.int32]) -> str:
    """Return a text that describes a negative cycle, for an error message."""
    vertices = cycle.tolist()
    shown = ", ".join(map(str, vertices[:10])) + (", ..." if len(vertices) > 10 else "")
    return f"a cycle of negative length with {len(vertices)} vertices ({shown})"
