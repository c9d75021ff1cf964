"""Dijkstra's algorithm with a lazy 4-ary heap.

E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1
(1959). The heap is implicit and 4-ary: half as deep as a binary one, and the four children of
a node share a cache line. Instead of decreasing a key the vertex is pushed again and the entry
with the old distance is skipped when it comes up. O(m log m) time, O(m) memory in the worst
case; every arc is relaxed once.
"""

from __future__ import annotations

import numpy as np

from sssp.cpu.search_driver import Search, solve_rows
from sssp.cpu.tree import grow
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import Number
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import Dijkstra

ZERO, ONE, TWO, THREE = (np.uint64(i) for i in range(4))
FIRST_CAPACITY = 4096


@njit
def sift_up(keys, vertices, position, key, vertex):
    """Place an entry in a heap: move it up from a vacant position until the order holds."""
    while position > ZERO:
        parent = (position - ONE) >> TWO
        if keys[parent] <= key:
            break
        keys[position] = keys[parent]
        vertices[position] = vertices[parent]
        position = parent
    keys[position] = key
    vertices[position] = vertex


@njit
def sift_down(keys, vertices, size, key, vertex):
    """Place an entry in a heap of `size` entries: move it down from the vacant root."""
    position = ZERO
    while True:
        child = (position << TWO) + ONE
        if child >= size:
            break
        least, least_key = child, keys[child]
        if child + THREE < size:  # the usual case, without a loop
            second, third, fourth = keys[child + ONE], keys[child + TWO], keys[child + THREE]
            if second < least_key:
                least, least_key = child + ONE, second
            if third < least_key:
                least, least_key = child + TWO, third
            if fourth < least_key:
                least, least_key = child + THREE, fourth
        else:
            for sibling in range(child + ONE, size):
                if keys[sibling] < least_key:
                    least, least_key = sibling, keys[sibling]
        if least_key >= key:
            break
        keys[position] = least_key
        vertices[position] = vertices[least]
        position = least
    keys[position] = key
    vertices[position] = vertex


@njit
def dijkstra_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters
):
    """Find distances by Dijkstra with a heap; a kernel for `sssp.cpu.search_driver`."""
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    capacity = max(FIRST_CAPACITY, sources.size)
    keys, vertices = np.empty(capacity, distances.dtype), np.empty(capacity, np.uint32)
    size, count, target, settled = ZERO, 0, 0, 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
            sift_up(keys, vertices, size, number(0), np.uint32(source))
            size += ONE
    while size > ZERO:
        start, tail = keys[0], vertices[0]
        size -= ONE
        sift_down(keys, vertices, size, keys[size], vertices[size])
        # only once all targets lie below the least open distance: ties of the last are final too
        while target < targets.size and distances[targets[target]] < start:
            target += 1
        if target == targets.size and target > 0:
            break
        if distances[tail] != start:
            continue
        settled += 1
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            before = distances[head]
            candidate = number(start + weights[arc])
            if candidate >= before:
                continue
            if candidate > bound:
                status = CLIPPED
                continue
            if before == unseen:
                reached[count] = head
                count += 1
            distances[head] = candidate
            if size == np.uint64(keys.size):
                keys, vertices = grow(keys), grow(vertices)
            sift_up(keys, vertices, size, candidate, head)
            size += ONE
    counters[0] = settled
    return status, count


def solve(graph: Graph, request: Request, method: Dijkstra, dtype: Number) -> Answer | None:
    """Answer `request` by Dijkstra's algorithm, with one search per row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : Dijkstra
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    return solve_rows(graph, request, method, dtype, Search(dijkstra_kernel, needs_arrivals=False))
