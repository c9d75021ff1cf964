"""Delta-stepping, a label-correcting search with buckets of width delta.

U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of
Algorithms 49 (2003), with all arcs relaxed alike (no light and heavy ones, as in S. Beamer,
K. Asanovic and D. Patterson, "The GAP benchmark suite", 2015): on a road network few vertices are
expanded twice, and a bucket costs O(1) where a heap costs O(log n). `bucket_width` chooses delta,
by default `DELTA` median weights.

A bucket is a doubly linked list through the vertices themselves. A vertex stands in at most one, so
memory is three words per vertex, and moving it costs O(1). The number of a bucket is
``int(distance * scale)``. However it is rounded, it never decreases as distances grow, and that is
all that the search needs. `BUCKETS` buckets cover a window of distances; one more list holds the
vertices beyond it. After its last bucket the window jumps to the least distance beyond, so that
gaps cost nothing and one very long arc needs no more buckets.

Lists are last in, first out: the vertex just reached is still in the cache. But a bucket is emptied
in rounds: a vertex that falls into it meanwhile waits for the next round. Otherwise many short arcs
in one bucket would be relaxed over and over, depth first.

A search on a road network waits for memory and for wrongly guessed branches, so a round goes in
chunks of some vertices, three steps each: take the vertices and prefetch their arcs;
collect the arcs that lead to a lower distance, without a branch for each; lower the distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.intrinsics import prefetch
from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, Number
from sssp.kernels.jit import njit, njit_inline, njit_uncounted
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import DeltaStepping

ZERO, ONE = np.uint64(0), np.uint64(1)
#: buckets of the window; the list after the last one is "beyond"
BUCKETS = 512
BEYOND = BUCKETS
#: default delta (bucket width) in median weights: on road networks a factor of two either way costs
#: little
DELTA = 1.0
#: above every bucket number, also in buckets of width 1
NEVER = (1 << 63) - 1
#: what a vertex needs to stand in a list: its neighbours there, and the list itself
LINK = np.dtype([("next", INDEX), ("previous", INDEX), ("bucket", INDEX)])
NONE = -1
#: strips of a chunk, and greatest number of arcs in one: a vertex with more has several, so that
#: scratch is bounded whatever the degrees. Of more strips more vertices are taken too early and
#: expanded again: with 64 a small map in wide buckets takes a quarter more expansions, no less time
STRIPS, STRIP = 16, 16
#: least width whose inverse is a number
LEAST_WIDTH = float(np.finfo(np.float64).tiny)


@njit_inline
def link(links, heads, bucket, vertex):
    """Insert `vertex` at the front of the linked list of a bucket.

    ``links``: `LINK`, one a vertex; ``heads`` int32, shape (BUCKETS + 1,): first vertex of every
    list. Vertices are unsigned where they index.
    """
    slot = np.uint32(bucket)
    name = np.int32(vertex)
    after = heads[slot]
    # before anything else: arrays may overlap for all that the compiler knows
    heads[slot] = name
    if after != NONE:
        links[np.uint32(after)].previous = name
    links[vertex].next = after
    links[vertex].previous = NONE
    links[vertex].bucket = bucket


@njit_inline
def unlink(links, heads, vertex):
    """Remove `vertex` from the linked list of its bucket."""
    bucket = links[vertex].bucket
    after, before = links[vertex].next, links[vertex].previous
    if after != NONE:
        links[np.uint32(after)].previous = before
    if before != NONE:
        links[np.uint32(before)].next = after
    else:
        heads[np.uint32(bucket)] = after
    links[vertex].bucket = NONE


@njit_inline
def rebase(links, heads, distances, scale):
    """Refill the buckets from the far pile; return the number of the first bucket."""
    base = np.int64(NEVER)
    vertex = heads[BEYOND]
    while vertex != NONE:
        base = min(base, np.int64(distances[vertex] * scale))
        vertex = links[vertex].next
    vertex = heads[BEYOND]
    heads[BEYOND] = NONE
    while vertex != NONE:
        after = links[vertex].next
        bucket = min(np.int64(distances[vertex] * scale) - base, BUCKETS)
        link(links, heads, np.int32(bucket), np.uint32(vertex))
        vertex = after
    return base


@njit_uncounted
def _search(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, links, heads, tails, firsts, ends, lowered, candidates,
):  # fmt: skip
    """Run delta-stepping from the sources of one row, in scratch arrays given by the caller.

    ``heads`` is full of `NONE`. The arrays after it hold a chunk: ``tails`` uint32, ``firsts`` and
    ``ends`` uint64, shape (STRIPS,), its strips; ``lowered`` uint32 and ``candidates`` number,
    shape (STRIPS * STRIP,), heads of arcs and the lower distances found for them.
    """
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    count, target, expanded, phases = 0, 0, 0, 0
    status, is_done = DONE, False
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
            link(links, heads, np.int32(BEYOND), np.uint32(source))
    while heads[BEYOND] != NONE and not is_done:
        base = rebase(links, heads, distances, scale)
        for bucket in range(np.uint32(BUCKETS)):
            if heads[bucket] == NONE:
                continue
            # only once all targets lie in earlier buckets: those are final
            while target < targets.size:
                distance = distances[targets[target]]
                if distance == unseen or np.int64(distance * scale) >= base + np.int64(bucket):
                    break
                target += 1
            if target == targets.size and target > 0:
                is_done = True
                break
            # vertices left in this round, and arcs left of the last vertex taken
            following, arc, last = NONE, ZERO, ZERO
            while following != NONE or arc != last or heads[bucket] != NONE:
                if following == NONE:  # a round
                    following, heads[bucket] = heads[bucket], NONE
                strips = ZERO
                while strips < np.uint64(STRIPS):
                    if arc == last:
                        if following == NONE:
                            break
                        tail = np.uint32(following)
                        following = links[tail].next
                        links[tail].bucket = NONE
                        expanded += 1
                        arc, last = indptr[tail], indptr[np.uint64(tail) + ONE]
                    prefetch(indices, arc)
                    prefetch(weights, arc)
                    tails[strips], firsts[strips] = tail, arc
                    arc = min(arc + np.uint64(STRIP), last)
                    ends[strips] = arc
                    strips += ONE
                found = ZERO
                for strip in range(strips):
                    length = distances[tails[strip]]
                    for place in range(firsts[strip], ends[strip]):
                        head = indices[place]
                        candidate = number(length + weights[place])
                        prefetch(links, head)
                        lowered[found], candidates[found] = head, candidate
                        found += np.uint64(candidate < distances[head])
                for place in range(found):
                    head, candidate = lowered[place], candidates[place]
                    before = distances[head]
                    if candidate >= before:
                        continue
                    if candidate > bound:
                        status = CLIPPED
                        continue
                    distances[head] = candidate
                    into = np.int32(min(np.int64(candidate * scale) - base, BUCKETS))
                    if before == unseen:
                        prefetch(indptr, head)
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
    counters[0], counters[1] = expanded, phases
    return status, count


@njit
def delta_stepping_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, links,
):  # fmt: skip
    """Find distances by delta-stepping; a kernel for `sssp.cpu.search_driver`.

    ``scale`` float64: buckets for a unit of distance; ``links``: `LINK`, one a vertex.
    """
    heads = np.empty(BUCKETS + 1, np.int32)
    heads[:] = NONE
    return _search(
        indptr, indices, weights, sources, targets, bound, distances, reached, counters,
        scale, links, heads, np.empty(STRIPS, np.uint32), np.empty(STRIPS, np.uint64),
        np.empty(STRIPS, np.uint64), np.empty(STRIPS * STRIP, np.uint32),
        np.empty(STRIPS * STRIP, distances.dtype),
    )  # fmt: skip


def make_links(n: int) -> tuple[NDArray[Any], ...]:
    """Allocate a worker's scratch memory: the links of the bucket lists, one per vertex."""
    return (np.empty(n, LINK),)


def finest_width(graph: Graph, dtype: Number) -> float:
    """Return the least bucket width with which all bucket numbers of a graph fit int64."""
    finest = 1.0 if graph.weights.dtype.kind == "i" else LEAST_WIDTH
    if dtype.kind == "f":  # (sums of integers, too, may be beyond int64 there)
        finest = max(finest, graph.greatest_weight * 2.0**-60 * graph.n)
    return finest


def bucket_width(graph: Graph, method: DeltaStepping, dtype: Number) -> float:
    """Return the bucket width: the method's `delta`, else `DELTA` times the median arc weight.

    A few enormous weights do not move the median.

    Raises
    ------
    ValueError
        The method's delta is too fine to number the buckets of this graph.
    """
    if method.delta is None:
        key = f"bucket width, {dtype.char}"
        return graph._cached(
            key, lambda: max(DELTA * typical_weight(graph), finest_width(graph, dtype))
        )
    least = finest_width(graph, graph.weights.dtype)
    if method.delta < least:
        raise ValueError(f"delta={method.delta} is too fine for this graph; take {least} or more")
    return max(method.delta, finest_width(graph, dtype))


def solve(graph: Graph, request: Request, method: DeltaStepping, dtype: Number) -> Answer | None:
    """Answer `request` by delta-stepping, with one search per row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : DeltaStepping
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    options = (1.0 / bucket_width(graph, method, dtype),)
    search = Search(delta_stepping_kernel, options, make_links, needs_arrivals=False)
    return solve_rows(graph, request, method, dtype, search)
