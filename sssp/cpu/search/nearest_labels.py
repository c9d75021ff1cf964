"""The k nearest facilities of every vertex: Dijkstra's algorithm with up to k labels a vertex.

A label says that a facility lies so far from a vertex. Labels come off a 4-ary heap in the order of
distance, and a vertex keeps the first k of different facilities, at equal distances those of the
least positions; what others take the place of leads to nothing. For if a facility is among the k
nearest of a vertex, it is among those of all vertices on its shortest path there: k others, nearer
to one of these, or as near and before it, would be so at the end of the path as well.
O(k m log(k m)) time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search.dijkstra import sift_down, sift_up
from sssp.cpu.tree import grow
from sssp.engine.overflow import wide_limit
from sssp.engine.request import Request
from sssp.graph.arc_orders import unsigned_arcs
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, Number, largest_distance, unreached
from sssp.kernels.jit import njit

ONE = np.uint64(1)
#: bits of a label in the heap that name its vertex; those above name the facility
HALF = np.uint64(32)
FIRST_CAPACITY = 4096
#: vertices whose rows are merged together
TILE = 256

#: distances and positions of facilities, both of shape (n, k)
Table = tuple[NDArray[Any], NDArray[np.int32]]


@njit
def _label(place, vertex):
    return np.uint64(place) << HALF | np.uint64(vertex)


@njit
def _take(distances, index, vertex, distance, place):
    """Add a facility to the k nearest of a vertex if near enough; return whether it was added."""
    k = index.shape[1]
    last = k - 1
    if index[vertex, last] >= 0 and (
        distances[vertex, last] < distance
        or (distances[vertex, last] == distance and index[vertex, last] <= place)
    ):
        return False
    # the label that goes: that of the same facility, else the last
    goes = 0
    while goes < last and index[vertex, goes] >= 0 and index[vertex, goes] != place:
        goes += 1
    if index[vertex, goes] == place and distances[vertex, goes] <= distance:
        return False
    while goes > 0 and (
        distance < distances[vertex, goes - 1]
        or (distance == distances[vertex, goes - 1] and place < index[vertex, goes - 1])
    ):
        distances[vertex, goes] = distances[vertex, goes - 1]
        index[vertex, goes] = index[vertex, goes - 1]
        goes -= 1
    distances[vertex, goes] = distance
    index[vertex, goes] = place
    return True


@njit
def _labels_kernel(indptr, indices, weights, facilities, bound, distances, index):
    """Find up to k nearest facilities of every vertex within `bound`, by Dijkstra's algorithm.

    ``distances`` number and ``index`` int32, shape (n, k): unreached and -1 on entry. A label is
    long if it is above ``bound``.
    """
    k = index.shape[1]
    number = distances.dtype.type
    capacity = max(FIRST_CAPACITY, facilities.size)
    keys, labels = np.empty(capacity, distances.dtype), np.empty(capacity, np.uint64)
    size, settled, clipped = np.uint64(0), 0, False
    for i in range(facilities.size):
        vertex, place = np.uint32(facilities[i]), np.int32(i)
        if _take(distances, index, vertex, number(0), place):
            sift_up(keys, labels, size, number(0), _label(place, vertex))
            size += ONE
    while size > 0:
        start, place, tail = keys[0], np.int32(labels[0] >> HALF), np.uint32(labels[0])
        size -= ONE
        sift_down(keys, labels, size, keys[size], labels[size])
        i = 0
        while i < k and index[tail, i] != place:
            i += 1
        if i == k or distances[tail, i] != start:  # a better one has taken its place
            continue
        settled += 1
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            candidate = number(start + weights[arc])
            if candidate > bound:
                clipped = True
                continue
            if not _take(distances, index, head, candidate, place):
                continue
            if size == np.uint64(keys.size):
                keys, labels = grow(keys), grow(labels)
            sift_up(keys, labels, size, candidate, _label(place, head))
            size += ONE
    return settled, clipped


@njit
def _leads_on_kernel(indptr, indices, weights, distances, index, limit):
    """Return whether an arc can add a label within `limit` to a head with fewer than k labels.

    ``limit`` has the type in which sums are taken: int64, which none of them leaves, or float64.
    """
    n, k = index.shape
    wide = type(limit)
    for tail in range(n):
        for i in range(k):
            if index[tail, i] < 0:
                break
            for arc in range(indptr[tail], indptr[tail + 1]):
                head = indices[arc]
                if (
                    index[head, k - 1] < 0
                    and not (index[head] == index[tail, i]).any()
                    and wide(distances[tail, i]) + wide(weights[arc]) <= limit
                ):
                    return True
    return False


@njit
def merge_kernel(rows, missing, first, distances, index):
    """Merge the distance rows of some facilities into the sorted table of the k nearest.

    Of some vertices at a time, so that the cache holds them however the rows lie in memory.
    """
    number = distances.dtype.type
    n, k = index.shape
    for low in range(0, n, TILE):
        for place in range(len(rows)):
            for vertex in range(low, min(low + TILE, n)):
                if rows[place, vertex] == missing:
                    continue
                distance = number(rows[place, vertex])
                i = k
                # what came before stands before
                while i > 0 and (index[vertex, i - 1] < 0 or distance < distances[vertex, i - 1]):
                    if i < k:
                        distances[vertex, i] = distances[vertex, i - 1]
                        index[vertex, i] = index[vertex, i - 1]
                    i -= 1
                if i < k:
                    distances[vertex, i] = distance
                    index[vertex, i] = first + place


def empty_table(n: int, k: int, dtype: Number) -> Table:
    """Return an empty table of k facilities per vertex: distances unreached, positions -1."""
    return np.full((n, k), unreached(dtype), dtype), np.full((n, k), -1, INDEX)


def leads_on(graph: Graph, table: Table, limit: int | float | None) -> bool:
    """Return whether the table of nearest facilities may lack entries because of an overflow."""
    if (table[1] >= 0).all():
        return False
    dtype = table[0].dtype
    limit = wide_limit(limit, dtype.kind)
    return bool(_leads_on_kernel(*unsigned_arcs(graph, dtype), *table, limit))


def solve(graph: Graph, request: Request, k: int, dtype: Number) -> tuple[Table, int] | None:
    """Find the k nearest sources of every vertex; return None if `dtype` may be too small.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
        Its sources are the facilities.
    k : int
    dtype : dtype

    Returns
    -------
    table, settled : tuple and int, or None
        And how many labels were settled. None: a distance may not fit the dtype.
    """
    table = empty_table(graph.n, k, dtype)
    bound = request.bound(dtype)
    arcs = unsigned_arcs(graph, dtype)
    settled, clipped = _labels_kernel(*arcs, request.sources, bound, *table)
    if clipped and bound == largest_distance(dtype) and leads_on(graph, table, request.limit):
        return None
    return table, settled
