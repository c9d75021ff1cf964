"""Delta-stepping: buckets of width delta, label-correcting.

U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of
Algorithms 49 (2003), with all arcs relaxed alike (no light and heavy ones, as in GAPBS): on a
road network few vertices are expanded twice, and a bucket costs O(1) where a heap costs O(log n).

The buckets are doubly linked lists through the vertices themselves, so a vertex stands in one
bucket at most and memory is three words a vertex. They cover a window of distances; one more
list holds everything beyond it. When the window is used up, it jumps to the least distance
beyond, so that gaps cost nothing and one very long arc needs no more buckets. Last in, first
out: the vertex just reached is still in the cache. But a bucket is emptied in rounds: what falls
into it meanwhile waits for the next one, for else many short arcs in one bucket would be relaxed
over and over, depth first.

The number of a bucket is ``int(distance / delta)``. It never decreases as distances grow,
whatever the rounding, and that is all the algorithm needs.

One source on several cores is searched by a team, after S. Beamer, K. Asanovic and D. Patterson,
"The GAP benchmark suite" (2015), with bucket fusion (Y. Zhang et al., "Optimizing ordered graph
algorithms with GraphIt", 2020): every thread has buckets of its own. The team agrees on a bucket
number; who has more than a fair part there puts the surplus into a common frontier; all relax
theirs and then the frontier, side by side. What falls into the same bucket meanwhile stays with
the thread that reached it and is relaxed at once, so the team meets only twice a bucket.

The team shares distances without a single atomic operation on them (the fences of `lock` would
keep a thread from having several reads under way). A write may get lost beneath another thread's
larger one; so every thread remembers the least distance it proposed for a vertex, relaxes with
that, and a vertex is passed over only where somebody has proposed less. A lost write costs
superfluous work, and at the end the least proposal counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.atomics import atomic_add, wait_for_all
from sssp.cpu.rows import Search, solve_rows
from sssp.cpu.team import run_team
from sssp.engine.query import Answer, Query
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import DeltaStepping

__all__ = ["solve"]

ONE = np.uint64(1)
#: buckets of the window; the list after the last one is "beyond"
BUCKETS = 512
#: bucket number of a thread that has nothing left: above every distance, also of width 1
NEVER = (1 << 63) - 1
#: vertices that a team shares at a time; the rest of a bucket stays with its thread
FRONTIER = 1 << 14
#: vertices that a thread takes from the frontier at a time
CHUNK = 16
#: words of ``shared``: size and progress of the frontier, one of each for three rounds in turn
SIZE, TAKEN, ROUNDS = 0, 3, 3
#: columns of ``announced``: a thread's next bucket, and how many vertices it has there
NUMBER, LENGTH = 0, 1
#: vertices from which on one source is worth a team
TEAM_PAYS = 50_000
#: threads of a team at most: its buckets are too short for more, and each takes memory
LARGEST_TEAM = 8
#: delta of a team in median weights: wider buckets, so that the threads meet less often
TEAM_WIDTH = 6.0
#: what a vertex needs to stand in a list: its neighbours there, and the list itself
LINK = [("next", INDEX), ("previous", INDEX), ("bucket", INDEX)]
NONE = -1


@njit
def _link(links, heads, bucket, vertex):
    """Put `vertex` at the front of a bucket."""
    slot = np.uint32(bucket)
    name = np.int32(vertex)
    after = heads[slot]
    heads[slot] = name
    if after != NONE:
        links[np.uint32(after)].previous = name
    links[vertex].next = after
    links[vertex].previous = NONE
    links[vertex].bucket = bucket


@njit
def _unlink(links, heads, vertex):
    """Take `vertex` out of the bucket that it stands in."""
    bucket = links[vertex].bucket
    after, before = links[vertex].next, links[vertex].previous
    if after != NONE:
        links[np.uint32(after)].previous = before
    if before != NONE:
        links[np.uint32(before)].next = after
    else:
        heads[np.uint32(bucket)] = after
    links[vertex].bucket = NONE


@njit
def _pop(links, heads, bucket):
    """Take the front vertex out of a bucket that is not empty; cheaper than `_unlink`."""
    vertex = np.uint32(heads[bucket])
    after = links[vertex].next
    heads[bucket] = after
    if after != NONE:
        links[np.uint32(after)].previous = NONE
    links[vertex].bucket = NONE
    return vertex


@njit
def _least_beyond(links, heads, distances, scale):
    """Least bucket number beyond the window; `NEVER` if there is none."""
    least = np.int64(NEVER)
    vertex = heads[BUCKETS]
    while vertex != NONE:
        least = min(least, np.int64(distances[vertex] * scale))
        vertex = links[vertex].next
    return least


@njit
def _rebase(links, heads, distances, base, scale):
    """Let the window begin at bucket number `base`."""
    vertex = heads[BUCKETS]
    heads[BUCKETS] = NONE
    while vertex != NONE:
        after = links[vertex].next
        bucket = min(np.int64(distances[vertex] * scale) - base, BUCKETS)
        _link(links, heads, np.int32(bucket), np.uint32(vertex))
        vertex = after


@njit
def _delta_stepping_kernel(
    indptr,
    indices,
    weights,
    sources,
    targets,
    bound,
    distances,
    reached,
    counters,
    scale,
    links,
):
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    heads = np.full(BUCKETS + 1, NONE, np.int32)
    count, target, expanded, windows = 0, 0, 0, 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
            _link(links, heads, np.int32(BUCKETS), np.uint32(source))
    while heads[BUCKETS] != NONE:
        base = _least_beyond(links, heads, distances, scale)
        _rebase(links, heads, distances, base, scale)
        windows += 1
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
                counters[0], counters[1] = expanded, windows
                return status, count
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
                        status = CLIPPED
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
                            _unlink(links, heads, head)
                    _link(links, heads, into, head)
    counters[0], counters[1] = expanded, windows
    return status, count


@njit
def _next_bucket(links, heads, base, bucket, scale):
    """Absolute number of a thread's first bucket that is not empty; `NEVER` if all are."""
    for later in range(bucket, BUCKETS):
        if heads[later] != NONE:
            return base + later
    return _least_beyond(links, heads, links.proposed, scale)


@njit
def _length(links, heads, bucket):
    """Vertices of a bucket; reading along the list also brings it into the cache."""
    vertex, count = heads[bucket], 0
    while vertex != NONE:
        count += 1
        vertex = links[vertex].next
    return count


@njit
def _surplus(announced, thread, number):
    """How many vertices of bucket `number` a thread has above its fair part."""
    total = 0
    for other in range(announced.shape[0]):
        if announced[other, NUMBER] == number:
            total += announced[other, LENGTH]
    own = announced[thread, LENGTH] if announced[thread, NUMBER] == number else 0
    return own - (total + announced.shape[0] - 1) // announced.shape[0]


@njit
def _share(links, heads, bucket, count, frontier, frontier_starts, shared, slot):
    """Move `count` vertices of a thread's bucket to the frontier; what finds no room stays."""
    place = atomic_add(shared, slot, count)
    while count > 0 and place < frontier.size:
        frontier[place] = _pop(links, heads, bucket)
        frontier_starts[place] = links[frontier[place]].proposed
        place += 1
        count -= 1


@njit
def _settled_below(distances, targets, number, scale, unseen):
    """Whether all targets lie in buckets before `number`."""
    for target in targets:
        distance = distances[target]
        if distance == unseen or np.int64(distance * scale) >= number:
            return False
    return targets.size > 0


@njit
def _team_kernel(
    indptr,
    indices,
    weights,
    sources,
    targets,
    bound,
    distances,
    reached,
    unseen,
    scale,
    all_links,
    frontier,
    frontier_starts,
    shared,
    barrier,
    announced,
    thread,
):
    """One thread of the team; no link is in a bucket or proposed on entry and on return.

    Gives whether a candidate was clipped, the number of vertices expanded, and which part of
    ``reached`` this thread has filled.
    """
    number_type = distances.dtype.type
    threads = announced.shape[0]
    links = all_links[thread]
    heads = np.full(BUCKETS + 1, NONE, np.int32)
    if thread == 0:
        for source in sources:
            if distances[source] == unseen:
                distances[source] = 0
                links[source].proposed = 0
                _link(links, heads, np.int32(BUCKETS), np.uint32(source))
    clipped, expanded = False, 0
    base, bucket, turn = np.int64(-BUCKETS), 0, 0
    while True:
        number = _next_bucket(links, heads, base, bucket, scale)
        own = _length(links, heads, number - base) if number < base + BUCKETS else 0
        announced[thread, NUMBER], announced[thread, LENGTH] = number, own
        wait_for_all(barrier, threads)
        number = announced[:, NUMBER].min()
        if number == NEVER or _settled_below(distances, targets, number, scale, unseen):
            break
        if number >= base + BUCKETS:
            base = number
            _rebase(links, heads, links.proposed, base, scale)
        bucket = number - base
        slot = turn % ROUNDS
        surplus = _surplus(announced, thread, number)
        if surplus > 0:
            _share(
                links,
                heads,
                bucket,
                surplus,
                frontier,
                frontier_starts,
                shared,
                SIZE + slot,
            )
        wait_for_all(barrier, threads)
        if thread == 0:
            after = (turn + 1) % ROUNDS
            shared[SIZE + after] = 0
            shared[TAKEN + after] = 0
        size = min(shared[SIZE + slot], frontier.size)
        place = end = 0
        following = NONE
        while True:
            if following == NONE:  # a round
                following, heads[bucket] = heads[bucket], NONE
            if following != NONE:
                tail = np.uint32(following)
                following = links[tail].next
                links[tail].bucket = NONE
                start = links[tail].proposed
            elif place < end:
                tail = np.uint32(frontier[place])
                start = frontier_starts[place]
                place += 1
            else:
                place = atomic_add(shared, TAKEN + slot, CHUNK) if end < size else size
                if place >= size:
                    break
                end = min(place + CHUNK, size)
                continue
            if distances[tail] < start:  # whoever proposed that relaxes it
                continue
            expanded += 1
            for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                head = indices[arc]
                candidate = number_type(start + weights[arc])
                if candidate >= distances[head] or candidate >= links[head].proposed:
                    continue
                if candidate > bound:
                    clipped = True
                    continue
                distances[head] = candidate
                links[head].proposed = candidate
                into = np.int32(min(np.int64(candidate * scale) - base, BUCKETS))
                was = links[head].bucket
                if was == into:
                    continue
                if was != NONE:
                    _unlink(links, heads, head)
                _link(links, heads, into, head)
        turn += 1
    for bucket in range(BUCKETS + 1):
        while heads[bucket] != NONE:
            _pop(links, heads, bucket)
    # the part of the vertices that this thread completes
    first, last = thread * distances.size // threads, (thread + 1) * distances.size // threads
    count = first
    for vertex in range(first, last):
        least = distances[vertex]
        for other in range(threads):
            least = min(least, all_links[other, vertex].proposed)
            all_links[other, vertex].proposed = unseen
        distances[vertex] = least
        if least != unseen:
            reached[count] = vertex
            count += 1
    return clipped, expanded, first, count


def _team_links(threads: int, dtype: np.dtype[Any]) -> Any:
    """Return what makes the scratch of a team: the lists and proposals of every thread."""
    entry = np.dtype([*LINK, ("proposed", dtype)], align=True)

    def make(n: int) -> tuple[NDArray[Any], ...]:
        links = np.empty((threads, n), entry)
        links["bucket"] = NONE
        links["proposed"] = unreached(dtype)
        return (links,)

    return make


def _run_team(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    bound: Any,
    distances: NDArray[Any],
    reached: NDArray[np.int32],
    counters: NDArray[np.int64],
    scale: float,
    links: NDArray[Any],
) -> tuple[int, int]:
    """Run a team of ``len(links)`` threads; a kernel as `sssp.cpu.rows` wants them."""
    unseen = distances[0]  # as every entry is still
    frontier = np.empty(FRONTIER, INDEX)
    frontier_starts = np.empty(FRONTIER, distances.dtype)
    shared = np.zeros(2 * ROUNDS, np.int64)
    barrier = np.zeros(2, np.int64)
    announced = np.empty((len(links), 2), np.int64)

    def work(thread: int) -> Any:
        return _team_kernel(
            indptr,
            indices,
            weights,
            sources,
            targets,
            bound,
            distances,
            reached,
            unseen,
            scale,
            links,
            frontier,
            frontier_starts,
            shared,
            barrier,
            announced,
            thread,
        )

    parts = run_team(len(links), work)
    counters[0] = sum(expanded for _, expanded, _, _ in parts)
    count = 0
    for _, _, first, last in parts:
        reached[count : count + last - first] = reached[first:last]
        count += last - first
    return CLIPPED if any(part[0] for part in parts) else DONE, count


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


def _own_links(n: int) -> tuple[NDArray[Any], ...]:
    return (np.empty(n, LINK),)


def solve(graph: Graph, query: Query, method: DeltaStepping, dtype: np.dtype[Any]) -> Answer | None:
    """Answer `query` with one bucket search a row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : DeltaStepping
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    width = bucket_width(graph, method)
    threads = min(query.threads, LARGEST_TEAM)
    if query.rows == 1 and threads > 1 and graph.n >= TEAM_PAYS:
        scale = 1.0 / (width if method.delta is not None else width * TEAM_WIDTH)
        search = Search(_run_team, (scale,), _team_links(threads, dtype))
    else:
        search = Search(_delta_stepping_kernel, (1.0 / width,), _own_links)
    return solve_rows(graph, query, method, dtype, search)
