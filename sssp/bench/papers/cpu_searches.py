"""Plain serial shortest-path algorithms, with which papers compare their own methods.

They are here to be compared with, and are never chosen by ``method="auto"``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp import Graph
from sssp.bench.papers.baselines import BaselineDijkstra
from sssp.cpu.search.bellman_ford import SIZE, CheckedKernel
from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.cycles import has_cycle
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE, OVERFLOW, SUSPECT
from sssp.methods import Method

ONE = np.uint64(1)


@njit
def _dijkstra_by_linear_search_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters, open_vertices
):
    """Search by Dijkstra 1959 without a heap: scan the open set for the least distance."""
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    count, opened, target, settled = 0, 0, 0, 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            open_vertices[count] = source
            count += 1
    opened = count
    while opened > 0:
        nearest = 0
        for i in range(1, opened):
            if distances[open_vertices[i]] < distances[open_vertices[nearest]]:
                nearest = i
        tail = np.uint32(open_vertices[nearest])
        start = distances[tail]
        while target < targets.size and distances[targets[target]] < start:
            target += 1
        if target == targets.size and target > 0:
            break
        settled += 1
        opened -= 1
        open_vertices[nearest] = open_vertices[opened]
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            candidate = number(start + weights[arc])
            if candidate >= distances[head]:
                continue
            if candidate > bound:
                status = CLIPPED
                continue
            if distances[head] == unseen:
                reached[count] = head
                count += 1
                open_vertices[opened] = head
                opened += 1
            distances[head] = candidate
    counters[0] = settled
    return status, count


@njit
def _bellman_ford_over_all_arcs_kernel(
    indptr, indices, weights, sources, unseen, bound, distances, reached, counters, negative,
    largest, predecessors, marks,
):  # fmt: skip
    """Search by Bellman 1958: n - 1 rounds over all arcs, one more to detect a negative cycle."""
    number = distances.dtype.type
    count = 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            predecessors[source] = -1
            reached[count] = source
            count += 1
    for _ in range(distances.size):
        for tail in range(np.uint64(distances.size)):
            start = distances[tail]
            if start == unseen:
                continue
            for arc in range(indptr[tail], indptr[tail + ONE]):
                head = indices[arc]
                candidate = number(start + weights[arc])
                if candidate >= distances[head]:
                    continue
                if candidate > bound:
                    status = CLIPPED
                    continue
                if distances[head] == unseen:
                    reached[count] = head
                    count += 1
                predecessors[head] = tail
                if candidate < -largest:
                    return OVERFLOW, count
                distances[head] = candidate
    counters[0], counters[SIZE] = distances.size, 0
    # the last round changes distances only around a cycle; rounding can do so earlier
    if negative and has_cycle(predecessors, reached[:count], marks):
        status = SUSPECT
    return status, count


@cache
def _index_arrays(count: int) -> Any:
    def make(n: int) -> tuple[NDArray[Any], ...]:
        return tuple(np.empty(n, INDEX) for _ in range(count))

    return make


def solve(graph: Graph, request: Request, method: Method, dtype: np.dtype[Any]) -> Answer | None:
    """Search by a serial baseline; return None if a distance may not fit the dtype."""
    if isinstance(method, BaselineDijkstra):
        search = Search(_dijkstra_by_linear_search_kernel, (), _index_arrays(1))
    else:
        kernel = CheckedKernel(_bellman_ford_over_all_arcs_kernel, graph, dtype)
        search = Search(kernel, (), _index_arrays(2))
    return solve_rows(graph, request, method, dtype, search)
