"""Bellman-Ford with a frontier: negative weights, negative cycles.

R. Bellman, "On a routing problem" (1958); L. R. Ford (1956). In each round only the vertices
whose distance changed in the one before relax their arcs. O(n m) time in the worst case.

A negative cycle shows itself as a cycle among the predecessors long before the n-th round
(B. V. Cherkassky and A. V. Goldberg, "Negative-cycle detection algorithms", 1999); the
predecessors are searched whenever the work since the last search outweighs another one.

A path may not leave the limit of a query, even where negative arcs lead back below it: what is
not reached leads nowhere, so that a limited result can be certified like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.rows import Search, solve_rows
from sssp.engine.cycles import find_cycle
from sssp.engine.query import Answer, Query
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, largest_distance
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE, NEGATIVE_CYCLE, OVERFLOW
from sssp.methods import BellmanFord

__all__ = ["solve"]

ONE = np.uint64(1)
#: expansions for every reached vertex before predecessors are searched for a cycle again
PATIENCE = 4


@njit
def _arc_weight(indptr, indices, weights, tail, head):
    for arc in range(indptr[tail], indptr[tail + 1]):
        if indices[arc] == head:
            return weights[arc]
    return weights[indptr[tail]]  # never: the arc exists


@njit
def _sums_below_zero(indptr, indices, weights, cycle):
    """Whether the weights of a cycle, re-added, are negative: rounding can feign one."""
    total = weights.dtype.type(0)
    for i in range(cycle.size):
        total += _arc_weight(indptr, indices, weights, cycle[i - 1], cycle[i])
    return total < 0


@njit
def _bellman_ford_kernel(
    indptr,
    indices,
    weights,
    sources,
    targets,
    bound,
    distances,
    reached,
    counters,
    negative,
    largest,
    frontier,
    following,
    predecessors,
    marks,
    round_of,
):
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    count, size, rounds, relaxed, expanded = 0, 0, 0, 0, 0
    next_search = 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            predecessors[source] = -1
            round_of[source] = 0
            reached[count] = source
            frontier[count] = source
            count += 1
    size = count
    next_search = PATIENCE * count
    while size > 0:
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
                    status = CLIPPED
                    continue
                if before == unseen:
                    reached[count] = head
                    round_of[head] = 0
                    count += 1
                predecessors[head] = tail
                if candidate < -largest:
                    length = find_cycle(predecessors, reached[:count], marks, following)
                    if length == 0:
                        return OVERFLOW, count
                    reached[:length] = following[:length]
                    return NEGATIVE_CYCLE, length
                distances[head] = candidate
                if round_of[head] != rounds:
                    round_of[head] = rounds
                    following[following_size] = head
                    following_size += 1
        expanded += size
        if negative and (expanded >= next_search or rounds > distances.size):
            next_search = expanded + PATIENCE * count
            length = find_cycle(predecessors, reached[:count], marks, frontier)
            if length > 0 and (
                rounds > distances.size
                or _sums_below_zero(indptr, indices, weights, frontier[:length])
            ):
                reached[:length] = frontier[:length]
                return NEGATIVE_CYCLE, length
        frontier, following = following, frontier
        size = following_size
    if negative:
        # rounding can lower the distances around a cycle of length zero, a few times or for ever
        length = find_cycle(predecessors, reached[:count], marks, frontier)
        if length > 0:
            reached[:length] = frontier[:length]
            return NEGATIVE_CYCLE, length
    counters[0], counters[1], counters[2] = rounds, expanded, relaxed
    return status, count


def _arrays(n: int) -> tuple[NDArray[Any], ...]:
    return tuple(np.empty(n, INDEX) for _ in range(5))


def solve(graph: Graph, query: Query, method: BellmanFord) -> Answer:
    """Answer `query` round by round.

    Parameters
    ----------
    graph : Graph
        Weights of any sign.
    query : Query
    method : BellmanFord

    Returns
    -------
    Answer
        Its statistics: ``rounds``; ``expanded``, the vertices whose arcs were relaxed, with
        repetition; ``relaxed``, those arcs.

    Raises
    ------
    NegativeCycleError
        A source reaches a cycle of negative length.
    """
    return solve_rows(
        graph,
        query,
        lambda dtype: Search(
            _bellman_ford_kernel,
            ("rounds", "expanded", "relaxed"),
            (graph.least_weight < 0, largest_distance(dtype)),
            _arrays,
        ),
    )
