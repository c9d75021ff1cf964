"""Delta-stepping: buckets of width delta, label-correcting.

U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of
Algorithms 49 (2003), with all arcs relaxed alike (no light and heavy ones, as in GAPBS): on a
road network few vertices are expanded twice, and a bucket costs O(1) where a heap costs O(log n).

The buckets are the lists of `sssp.cpu.buckets`. Last in, first out: the vertex just reached is
still in the cache. But a bucket is emptied in rounds: what falls into it meanwhile waits for the
next one, for else many short arcs in one bucket would be relaxed over and over, depth first.

One source on several cores begins with one thread as well, and a team takes over once the buckets
are large (`sssp.cpu.search.delta_team`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.atomics import now
from sssp.cpu.buckets import (
    BEYOND,
    BUCKETS,
    LINK,
    NEVER,
    NONE,
    gather,
    least_beyond,
    link,
    rebase,
    unlink,
)
from sssp.cpu.rows import Search, solve_rows
from sssp.cpu.team import has_come
from sssp.engine.query import Answer, Query
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import DeltaStepping

__all__ = ["solve"]

ONE = np.uint64(1)
#: words of the counters: the statistics, whether a candidate was clipped, vertices reached, and
#: nanoseconds of `WINDOW` expansions
EXPANDED, PHASES, WAS_CLIPPED, REACHED, PACE = 0, 1, 2, 3, 4
COUNTERS = ("expanded", "phases")
#: status of a search that has stopped for a team to go on
PAUSED = -1
#: expansions after which a search looks whether a team pays
WINDOW = 4096
#: vertices of a bucket from which on it is worth sharing
LARGE = 64
#: nanoseconds of an expansion below which to hand the search over takes longer than to go on
CHEAP = 20
#: nanoseconds of work left, if there is so much, for which a team is worth starting
WORTH = 2_500_000
#: expansions for every open vertex from which on these can be handed over at little cost
OPEN = 32


#: pause of a search that no team goes on with: it waits for ever and for nobody
NO_PAUSE = (NEVER, np.zeros(2, np.int64), 0)


@njit
def empty_buckets(
    indptr, indices, weights, targets, bound, distances, reached, counters,
    scale, patience, gate, awaited, unseen, links, heads,
):  # fmt: skip
    """Empty one bucket after another; all open vertices stand beyond the window on entry.

    Gives the status: `PAUSED` with all open vertices beyond the window again.
    """
    number = distances.dtype.type
    count, target = counters[REACHED], 0
    expanded, phases = counters[EXPANDED], counters[PHASES]
    clipped = counters[WAS_CLIPPED] != 0
    window = WINDOW if patience != NEVER else NEVER
    begin = seen = now() if patience != NEVER else 0
    seen_expanded, seen_phases = expanded, phases
    pace = np.int64(NEVER)
    status, going_on = DONE, True
    while going_on and heads[BEYOND] != NONE:
        base = least_beyond(links, heads, distances, scale)
        rebase(links, heads, distances, base, scale)
        for bucket in range(np.uint32(BUCKETS)):
            if heads[bucket] == NONE:
                continue
            # only once all targets lie in earlier buckets: those are final
            while (
                target < targets.size
                and distances[targets[target]] != unseen
                and np.int64(distances[targets[target]] * scale) < base + np.int64(bucket)
            ):
                target += 1
            if target == targets.size and target > 0:
                going_on = False
                break
            following = NONE
            while following != NONE or heads[bucket] != NONE:
                if following == NONE:  # a round
                    following, heads[bucket] = heads[bucket], NONE
                tail = np.uint32(following)
                following = links[tail].next
                links[tail].bucket = NONE
                expanded += 1
                start = distances[tail]
                for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                    head = indices[arc]
                    before = distances[head]
                    candidate = number(start + weights[arc])
                    if candidate >= before:
                        continue
                    if candidate > bound:
                        clipped = True
                        continue
                    distances[head] = candidate
                    into = np.int32(min(np.int64(candidate * scale) - base, BUCKETS))
                    if before == unseen:
                        reached[count] = head
                        count += 1
                    else:
                        was = links[head].bucket
                        if was == into:
                            continue
                        if was != NONE:
                            unlink(links, heads, head)
                    link(links, heads, into, head)
            phases += 1
            if awaited > 0 and has_come(gate, awaited):
                status, going_on = PAUSED, False
                break
            if expanded - seen_expanded >= window:
                last, seen = seen, now()
                pace = (seen - last) * WINDOW // (expanded - seen_expanded)
                if (
                    seen - begin >= patience
                    and pace >= CHEAP * WINDOW
                    and expanded - seen_expanded >= LARGE * (phases - seen_phases)
                    and (count - expanded) * OPEN <= expanded
                    and (distances.size - expanded) * pace >= WORTH * WINDOW
                ):
                    status, going_on = PAUSED, False
                    break
                seen_expanded, seen_phases = expanded, phases
    if status == PAUSED:
        gather(links, heads)
        if heads[BEYOND] == NONE:
            status = DONE
    if patience != NEVER:
        counters[PACE] = pace
    counters[EXPANDED], counters[PHASES] = expanded, phases
    counters[WAS_CLIPPED], counters[REACHED] = clipped, count
    return CLIPPED if clipped and status == DONE else status


@njit
def delta_stepping_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, patience, gate, awaited, links, heads,
):  # fmt: skip
    """Search from the sources; a kernel as `sssp.cpu.rows` wants them."""
    unseen = distances[0]  # as every entry is still
    heads[:] = NONE
    counters[:] = 0
    count = 0
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
            link(links, heads, np.int32(BEYOND), np.uint32(source))
    counters[REACHED] = count
    status = empty_buckets(
        indptr, indices, weights, targets, bound, distances, reached, counters,
        scale, patience, gate, awaited, unseen, links, heads,
    )  # fmt: skip
    return status, counters[REACHED]


def bucket_width(graph: Graph, method: DeltaStepping) -> float:
    """Width of a bucket: the method's, or the median weight.

    The median is close to the best width on road networks, where a factor of two either way
    costs little, and a few enormous weights do not move it.

    Raises
    ------
    ValueError
        The method's delta is too fine to number the buckets of this graph.
    """
    finest = 1.0 if graph.weights.dtype.kind == "i" else graph.greatest_weight * 2.0**-60 * graph.n
    finest = max(finest, float(np.finfo(np.float64).tiny))
    if method.delta is None:
        return max(typical_weight(graph), finest)
    if method.delta < finest:
        raise ValueError(f"delta={method.delta} is too fine for this graph; take {finest} or more")
    return method.delta


def own_lists(n: int) -> tuple[NDArray[Any], ...]:
    """Return the scratch of one thread: links and heads."""
    return np.empty(n, LINK), np.empty(BUCKETS + 1, np.int32)


def solve(graph: Graph, query: Query, method: DeltaStepping) -> Answer:
    """Answer `query` with one bucket search a row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : DeltaStepping

    Returns
    -------
    Answer
        Its statistics: ``expanded``, the vertices expanded, and ``phases``, the buckets emptied.
    """
    scale = 1.0 / bucket_width(graph, method)
    threads = query.threads
    if query.rows == 1 and threads > 1:
        from sssp.cpu.search.delta_team import team_search

        return solve_rows(graph, query, lambda dtype: team_search(threads, scale, dtype))
    search = Search(delta_stepping_kernel, COUNTERS, (scale, *NO_PAUSE), own_lists)
    return solve_rows(graph, query, lambda dtype: search)
