"""Serial reference searches and shortest-path trees, to compare results with.

They share nothing with the solvers, so that a fault of one is not a fault of both.
"""

from heapq import heappop, heappush

import numpy as np

from sssp.graph.csr import arc_position
from sssp.kernels.jit import njit

#: how Bellman-Ford ended
SETTLED, DROPPED, SINKING = range(3)


@njit
def dijkstra_kernel(indptr, indices, weights, sources, wanted, bound, distances):
    """Search by Dijkstra's algorithm with a binary heap until all `wanted` vertices are final.

    `wanted` is a mask. What lies beyond `bound` is dropped. `distances` come unreached. Returns the
    greatest distance that is final: `bound`, or that of the farthest wanted vertex if all of them
    are reached.
    """
    number = distances.dtype.type
    is_wanted = wanted.copy()
    waiting, final = np.count_nonzero(wanted), bound
    heap = [(number(0), np.int64(source)) for source in sources]
    for source in sources:
        distances[source] = 0
    while len(heap) > 0:
        start, tail = heappop(heap)
        if start > final:
            break
        if start != distances[tail]:
            continue
        if is_wanted[tail]:
            is_wanted[tail] = False
            waiting -= 1
            if waiting == 0:
                final = start
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            candidate = number(start + weights[arc])
            if candidate <= final and candidate < distances[head]:
                distances[head] = candidate
                heappush(heap, (candidate, np.int64(head)))
    return final


@njit
def _cycles_of(indptr, indices, weights, tails, tolerance):
    """Return whether predecessors form a cycle, and whether a cycle's length is surely negative."""
    closes = False
    seen = np.full(tails.size, -1, np.int32)
    for start in range(tails.size):
        vertex = start
        while vertex >= 0 and seen[vertex] < 0:
            seen[vertex] = start
            vertex = tails[vertex]
        if vertex < 0 or seen[vertex] != start:
            continue
        closes = True
        if tolerance == 0:  # sums are exact: such a cycle has just been found shorter than none
            return True, True
        total = size = 0.0
        end = vertex
        while size == 0 or vertex != end:
            weight = weights[arc_position(indptr, indices, tails[vertex], vertex)]
            total += weight
            size += abs(weight)
            vertex = tails[vertex]
        if total < -tolerance * size:
            return True, True
    return closes, False


@njit
def bellman_ford_kernel(indptr, indices, weights, sources, bounds, tolerance, distances):
    """Find distances by Bellman-Ford in at most n rounds; return a status code.

    What lies above the upper of the two `bounds` is dropped. `distances` come unreached.
    `tolerance` is that share of a sum that may be rounding, 0 where sums are exact. Returns a
    code: `SETTLED`, `DROPPED` if something was, or `SINKING`: round a negative cycle, or below
    the lower bound; and whether rounding has lowered distances round a cycle that is not negative.
    """
    least, greatest = bounds
    number = distances.dtype.type
    n = distances.size
    tails = np.full(n, -1, np.int32)
    waits = np.zeros(n, np.bool_)
    now, later = np.empty(n, np.int32), np.empty(n, np.int32)
    size, look, code = 0, 1, SETTLED
    for source in sources:
        if distances[source] != 0:
            distances[source] = 0
            now[size] = source
            size += 1
    for step in range(n):
        count = 0
        for i in range(size):
            waits[now[i]] = False
        for i in range(size):
            tail = now[i]
            for arc in range(indptr[tail], indptr[tail + 1]):
                head = indices[arc]
                candidate = number(distances[tail] + weights[arc])
                if candidate >= distances[head]:
                    continue
                if candidate > greatest:
                    code = DROPPED
                    continue
                if candidate < least:
                    return SINKING, False
                distances[head] = candidate
                tails[head] = tail
                if not waits[head]:
                    waits[head] = True
                    later[count] = head
                    count += 1
        if count == 0:
            return code, _cycles_of(indptr, indices, weights, tails, tolerance)[0]
        now, later, size = later, now, count
        if step == look:  # n rounds of a large graph would take too long
            look *= 2
            if _cycles_of(indptr, indices, weights, tails, tolerance)[1]:
                return SINKING, False
    return SINKING if tolerance == 0 else code, True


@njit
def tree_kernel(
    indptr, indices, weights, sources, distances, origin, missing, fewest, arrivals, tails
):
    """Write the predecessors of a shortest-path tree to `tails`, which holds -1 on entry.

    Among tight arcs the smallest tail; where one joins two vertices at the same distance, or
    `fewest` says so, the whole row takes fewest arcs first; but not for heads below `arrivals` from
    which nothing leads on, as they are on no cycle. `origin` is empty or that of a
    nearest search, whose tails have the origin of the head.
    """
    number = distances.dtype.type
    n = distances.size
    hops = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    size = 0
    for source in sources:
        if distances[source] == 0 and hops[source] < 0:
            hops[source] = 0
            queue[size] = source
            size += 1
    first = 0
    while first < size:
        tail = queue[first]
        first += 1
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            end = distances[head]
            if end == missing or number(distances[tail] + weights[arc]) != end:
                continue
            leads_on = head >= arrivals or indptr[head] < indptr[head + 1]
            fewest = fewest or (leads_on and distances[tail] == end)
            if hops[head] < 0 and (origin.size == 0 or origin[tail] == origin[head]):
                hops[head] = hops[tail] + 1
                queue[size] = head
                size += 1
    for tail in range(n):
        if hops[tail] < 0:
            continue
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            if (
                tails[head] < 0
                and hops[head] > 0
                and number(distances[tail] + weights[arc]) == distances[head]
                and (origin.size == 0 or origin[tail] == origin[head])
                and (not fewest or hops[tail] + 1 == hops[head])
            ):
                tails[head] = tail
