"""Breadth-first search: distances are numbers of arcs; weights are ignored.

E. F. Moore, "The shortest path through a maze" (1959). O(n + m) time, serial in a row.
"""

from __future__ import annotations

import numpy as np

from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INT32, Number
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import BreadthFirst

ONE = np.uint64(1)


@njit
def _breadth_first_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters
):
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    count, first, target = 0, 0, 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
    # the vertices in order of discovery are the queue
    while first < count:
        tail = np.uint32(reached[first])
        level = distances[tail]
        while target < targets.size and distances[targets[target]] < level:
            target += 1
        if target == targets.size and target > 0:
            break
        first += 1
        candidate = number(level + 1)
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            if distances[head] != unseen:
                continue
            if candidate > bound:
                status = CLIPPED
                continue
            distances[head] = candidate
            reached[count] = head
            count += 1
    counters[0] = first
    return status, count


def solve(graph: Graph, request: Request, method: BreadthFirst, dtype: Number) -> Answer | None:
    """Answer `request` by breadth-first search; distances are numbers of arcs, in `dtype`.

    Parameters
    ----------
    graph : Graph
        Weights of any sign; ignored.
    request : Request
    method : BreadthFirst
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    units = graph._cached("unit weights", lambda: graph.with_weights(np.ones(graph.m, INT32)))
    return solve_rows(units, request, method, dtype, Search(_breadth_first_kernel))
