"""Distances of single trips on a hierarchy: two climbs that meet.

From the source along arcs up, and from the target along arcs down, both only to ancestors in the
elimination tree. What both reach is an ancestor of both, and the shortest way leads over one of
them (Dibbelt, Strasser and Wagner 2016, section 5). There is no queue; a climb from a target stops
to spread where it is as long already as the best way known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.memory import FEWER_TRIPS, check_memory
from sssp.engine.narrow import narrowed
from sssp.engine.progress import progress_bar
from sssp.engine.query import Answer, Query
from sssp.engine.workers import in_order
from sssp.hierarchy.sweeps import climb_kernel
from sssp.kernels.dtypes import INT64, infinity, unreached
from sssp.kernels.jit import njit
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.hierarchy.hierarchy import Hierarchy

__all__ = ["solve_trips"]

#: sources of a piece of work
PIECE = 512


@njit
def _trips_kernel(
    low, high, sources, targets, shares, parent, up_first, up_ends, up_weights,
    down_first, down_ends, down_weights, inf, bound, unseen, there, back, distances, passed,
):  # fmt: skip
    """Find the trips of the sources low..high-1.

    Arguments
    ---------
    sources, targets : ranks
    shares : the targets of source i are those from ``shares[i]`` to ``shares[i + 1]``
    there, back : shape (n,), at INF; and so again afterwards
    distances : by target, written
    passed : by source, ranks passed by climbs; written
    """
    number = there.dtype.type
    for i in range(low, high):
        count = climb_kernel(sources[i], parent, up_first, up_ends, up_weights, inf, there)
        for j in range(shares[i], shares[i + 1]):
            least = inf
            back[targets[j]] = 0
            rank = np.int64(targets[j])
            while rank >= 0:
                start = back[rank]
                back[rank] = inf
                if start < least:
                    least = min(least, number(start + there[rank]))
                    for arc in range(np.uint64(down_first[rank]), np.uint64(down_first[rank + 1])):
                        candidate = number(start + down_weights[arc])
                        if candidate < back[down_ends[arc]]:
                            back[down_ends[arc]] = candidate
                count += 1
                rank = np.int64(parent[rank])
            distances[j] = least if least <= bound else unseen
        rank = np.int64(sources[i])
        while rank >= 0:
            there[rank] = inf
            rank = np.int64(parent[rank])
        passed[i] = count


def solve_trips(hierarchy: Hierarchy, query: Query, method: Method, dtype: np.dtype[Any]) -> Answer:
    """Find the distances of trips, those of every source together.

    O(arcs to ancestors) time a source and a target: some thousands on a city.
    """
    assert query.targets is not None
    assert query.shares is not None
    structure, metric = hierarchy.structure, hierarchy.metric(dtype)
    sources, targets = structure.rank[query.sources], structure.rank[query.targets]
    found: NDArray[Any] = np.empty(targets.size, dtype)
    counts = np.zeros((len(method.statistics), query.rows), INT64)
    climbs = 2 * hierarchy.n * dtype.itemsize
    needed = {"the distances": found.nbytes, "the climbs": climbs}
    check_memory(needed, query.memory_limit, "cpu", FEWER_TRIPS)
    free = query.memory_limit - found.nbytes
    threads = max(1, min(query.threads, -(-query.rows // PIECE), free // max(climbs, 1)))
    spare: list[NDArray[Any]] = []

    def solve(low: int) -> int:
        high = min(low + PIECE, query.rows)
        try:
            both = spare.pop()
        except IndexError:
            both = np.full((2, hierarchy.n), infinity(dtype), dtype)
        _trips_kernel(
            low, high, sources, targets, query.shares, structure.parent, *metric.up, *metric.down,
            infinity(dtype), query.bound(dtype), unreached(dtype), both[0], both[1], found,
            counts[0],
        )  # fmt: skip
        spare.append(both)
        return high - low

    with progress_bar(query.rows, query.progress) as advance:
        for done in in_order(solve, range(0, query.rows, PIECE), int(threads)):
            advance(done)
    return Answer(
        narrowed(found, query.dtype), stats=dict(zip(method.statistics, counts, strict=True))
    )
