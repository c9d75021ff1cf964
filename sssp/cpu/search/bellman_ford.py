"""Bellman-Ford with a frontier: negative weights, negative cycles.

R. Bellman, "On a routing problem" (1958); L. R. Ford (1956). In each round only the vertices
whose distance changed in the one before relax their arcs. O(n m) time in the worst case.

A negative cycle shows itself as a cycle among the predecessors long before the n-th round
(B. V. Cherkassky and A. V. Goldberg, "Negative-cycle detection algorithms", 1999); the
predecessors are searched whenever the work since the last search outweighs another one. Which
cycle is negative decides the exact sum of its weights (`sssp.engine.cycles`): rounding can lower
the distances around a cycle of length zero, a few times or for ever. So a search that finds none
but such cycles goes on, and ends with the n-th round at the latest.

A path may not leave the limit of a request, even where negative arcs lead back below it: what is
not reached leads nowhere, so that a limited result can be certified like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.cycles import has_cycle, negative_cycle, negative_cycle_below, settle_sources
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, Number, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE, NEGATIVE_CYCLE, OVERFLOW, SUSPECT
from sssp.methods import BellmanFord

ONE = np.uint64(1)
#: expansions for every reached vertex before predecessors are searched for a cycle again
EXPANSIONS = 4
#: words of ``counters``: the statistics; what else a search that goes on has to know
ROUNDS, EXPANDED, RELAXED, COUNT, SIZE, NEXT_SEARCH, DROPPED = range(7)


@njit
def bellman_ford_kernel(
    indptr, indices, weights, sources, unseen, bound, distances, reached, counters, negative,
    largest, predecessors, marks, first_frontier, second_frontier, round_of,
):  # fmt: skip
    """Run Bellman-Ford until no distance falls, or predecessors may hold a negative cycle.

    ``counters`` int64 is zero before a search; after `SUSPECT` another call goes on with it.
    """
    number = distances.dtype.type
    rounds, expanded, relaxed = counters[ROUNDS], counters[EXPANDED], counters[RELAXED]
    count, size, next_search = counters[COUNT], counters[SIZE], counters[NEXT_SEARCH]
    status = CLIPPED if counters[DROPPED] else DONE
    frontier, following = first_frontier, second_frontier
    if rounds % 2 == 1:
        frontier, following = following, frontier
    if rounds == 0:
        for source in sources:
            if distances[source] == unseen:
                distances[source] = 0
                predecessors[source] = -1
                round_of[source] = 0
                reached[count] = source
                frontier[count] = source
                count += 1
        size = count
        next_search = EXPANSIONS * count
    while size > 0 and status != SUSPECT:
        rounds += 1
        following_size = 0
        for i in range(size):
            tail = np.uint32(frontier[i])
            start = distances[tail]
            first, last = indptr[tail], indptr[np.uint64(tail) + ONE]
            relaxed += np.int64(last - first)
            for arc in range(first, last):
                head = indices[arc]
                before = distances[head]
                candidate = number(start + weights[arc])
                if candidate >= before:
                    continue
                if candidate > bound:
                    counters[DROPPED] = 1
                    continue
                if before == unseen:
                    reached[count] = head
                    round_of[head] = 0
                    count += 1
                predecessors[head] = tail
                if candidate < -largest:
                    return OVERFLOW, count
                distances[head] = candidate
                if round_of[head] != rounds:
                    round_of[head] = rounds
                    following[following_size] = head
                    following_size += 1
        expanded += size
        frontier, following = following, frontier
        size = following_size
        if negative and (size == 0 or expanded >= next_search or rounds > distances.size):
            next_search = expanded + EXPANSIONS * count
            if has_cycle(predecessors, reached[:count], marks):
                status = SUSPECT
    if status != SUSPECT:
        status = CLIPPED if counters[DROPPED] else DONE
    counters[ROUNDS], counters[EXPANDED], counters[RELAXED] = rounds, expanded, relaxed
    counters[COUNT], counters[SIZE], counters[NEXT_SEARCH] = count, size, next_search
    return status, count


class CheckedKernel:
    """A Bellman-Ford kernel that confirms each possible negative cycle by an exact test.

    It is called as `sssp.cpu.search_driver` wants a kernel.

    Parameters
    ----------
    kernel : callable
        As `bellman_ford_kernel`; predecessors are the first array of its scratch.
    graph : Graph
    dtype : dtype
    """

    def __init__(self, kernel: Any, graph: Graph, dtype: Number) -> None:
        self.kernel, self.graph, self.dtype = kernel, graph, dtype

    def __call__(self, *arguments: Any) -> tuple[int, int]:
        """Search from one row's sources; return the status and the number of reached vertices."""
        arcs, (sources, _, *row), scratch = arguments[:3], arguments[3:9], arguments[9:]
        (_, distances, reached, counters), dtype = row, self.dtype
        signs = self.graph.least_weight < 0, largest_distance(dtype)
        counters[:] = 0
        while True:
            status, count = self.kernel(*arcs, sources, unreached(dtype), *row, *signs, *scratch)
            if status not in (SUSPECT, OVERFLOW):
                return status, count
            known, changed = np.full(self.graph.n, -1, INDEX), reached[:count]
            known[changed] = scratch[0][changed]
            cycle = negative_cycle(self.graph, known)
            if cycle.size:
                reached[: cycle.size] = cycle
                return NEGATIVE_CYCLE, cycle.size
            if status == OVERFLOW:
                return status, count
            if counters[SIZE] == 0 or counters[ROUNDS] > self.graph.n:
                settle_sources(distances, sources, self.graph.n)
                return DONE, count


def negative_cycle_from(graph: Graph, sources: NDArray[np.int64]) -> NDArray[np.int32]:
    """Find a negative cycle that is reachable from the sources.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    sources : ndarray, shape (k,), int64
        One search from all of them.

    Returns
    -------
    ndarray of int32
        The vertices of a cycle whose exact sum is below zero; empty if none is found.
    """
    weights = graph._weight_range
    # (floats do not tell -1 from 0 beside weights of 2**60)
    fits = weights.dtype.kind == "i" and weights.largest <= largest_distance(INT64)
    for dtype in (INT64, FLOAT64) if fits else (FLOAT64,):
        distances, bound = np.full(graph.n, unreached(dtype)), largest_distance(dtype)
        distances[sources] = 0
        cycle = negative_cycle_below(graph, distances, bound, -bound)
        if cycle.size:
            break
    return cycle


def _arrays(n: int) -> tuple[NDArray[Any], ...]:
    return tuple(np.empty(n, INDEX) for _ in range(5))


def solve(graph: Graph, request: Request, method: BellmanFord, dtype: Number) -> Answer | None:
    """Answer `request` by Bellman-Ford with a frontier, in one dtype.

    Parameters
    ----------
    graph : Graph
        Weights of any sign.
    request : Request
    method : BellmanFord
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.

    Raises
    ------
    NegativeCycleError
        A source reaches a cycle of negative length.
    """
    kernel = CheckedKernel(bellman_ford_kernel, graph, dtype)
    return solve_rows(graph, request, method, dtype, Search(kernel, (), _arrays))
