"""Paths of trips, read from finished distances without a tree.

From its end a path goes back over tight arcs, always to the smallest tail: a few arcs to look at
for every vertex of it. That is the path of the tree that `sssp.cpu.tree` finds, as long as
distances grow along every tight arc up to its end. Where one joins two vertices at the same
distance, that tree takes the fewest arcs instead, and so do the paths of targets that lie no nearer
than the first such arc: a path depends on its own two ends alone, whatever other targets its source
has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree import Tree, may_tie, reset
from sssp.engine.request import Walks
from sssp.graph.arc_orders import arcs_by_head
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit

ONE = np.uint64(1)
#: vertices for which there is room at first
FIRST_CAPACITY = 1024


@njit
def _first_tie_kernel(indptr, indices, weights, distances, reached, unseen):
    """Least distance at which a tight arc joins two vertices; `unseen` if none does."""
    least = unseen
    for i in range(reached.size):
        tail = np.uint32(reached[i])
        start = distances[tail]
        if start >= least:
            continue
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            if distances[indices[arc]] == start and type(start)(start + weights[arc]) == start:
                least = start
    return least


@njit
def _walks_kernel(
    indptr, starts, weights, source, targets, distances, unseen, tie, tails, tails_beyond, firsts
):  # fmt: skip
    """Write down the paths to the targets, one behind the other.

    ``indptr``, ``starts``, ``weights`` are the arcs in order of head, then of tail. ``tails`` int32
    gets the tails on the paths to targets nearer than ``tie``, and has -1 elsewhere;
    ``tails_beyond`` has those of all others. Path i is ``vertices[firsts[i]:firsts[i + 1]]`` of
    what is returned.
    """
    vertices = np.empty(FIRST_CAPACITY, np.int32)
    size = 0
    firsts[0] = 0
    for i in range(targets.size):
        vertex = np.int64(targets[i])
        length = distances[vertex]
        if length == unseen:
            vertex = np.int64(-1)
        known = tails if length < tie else tails_beyond
        while vertex >= 0:
            if size == vertices.size:
                bigger = np.empty(2 * size, np.int32)
                for place in range(size):
                    bigger[place] = vertices[place]
                vertices = bigger
            vertices[size] = vertex
            size += 1
            if vertex == source:
                break
            end = distances[vertex]
            if known[vertex] < 0 and end < tie:
                for arc in range(indptr[vertex], indptr[vertex + 1]):
                    start = distances[starts[arc]]
                    # in order of tail, so the first is the smallest
                    if start != unseen and type(end)(start + weights[arc]) == end:
                        known[vertex] = starts[arc]
                        break
            vertex = np.int64(known[vertex])
        first, last = firsts[i], size - 1
        while first < last:
            vertices[first], vertices[last] = vertices[last], vertices[first]
            first, last = first + 1, last - 1
        firsts[i + 1] = size
    return vertices[:size].copy()


def walks_to(
    graph: Graph,
    arcs: tuple[NDArray[Any], ...],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    distances: NDArray[Any],
    reached: NDArray[np.int32],
    bound: Any,
    tails: NDArray[np.int32],
) -> Walks:
    """Return the path from a source to each of its targets.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    arcs : tuple of ndarray
        ``indptr``, ``indices``, ``weights`` as the search saw them.
    sources : ndarray, shape (1,), int64
    targets : ndarray, shape (t,), int64
    distances : ndarray, shape (n,)
        Final up to the farthest target, over negative arcs everywhere. Where no arc may tie
        (`sssp.cpu.tree.may_tie`) it is enough that they are on every shortest path to a target, and
        nowhere too short.
    reached : ndarray, int32
        The vertices at a distance.
    bound : number
        Greatest distance of interest.
    tails : ndarray, shape (n,), int32
        Scratch: -1, but for tails on the paths that are known already; -1 everywhere on return.

    Returns
    -------
    Walks
    """
    dtype = distances.dtype
    unseen = unreached(dtype)
    lengths = distances[targets]
    farthest = lengths[lengths != unseen].max(initial=dtype.type(0))
    tie, beyond = unseen, tails
    negative = graph.least_weight < 0
    if negative:
        tie = -unseen
    elif may_tie(graph, farthest, dtype):
        tie = _first_tie_kernel(*arcs, distances, reached, unseen)
    if farthest >= tie:
        final = bound if negative else farthest
        beyond = np.full(graph.n, -1, INDEX)
        tree = Tree(graph, arcs, sources, distances, reached, final)
        tree.predecessors(None, beyond, fewest_arcs=True)
    firsts = np.empty(targets.size + 1, np.int64)
    back = arcs_by_head(graph, dtype)
    vertices = _walks_kernel(
        *back, sources[0], targets, distances, unseen, tie, tails, beyond, firsts
    )
    reset(tails, vertices, -1)
    return Walks(firsts, vertices)
