"""Delta-stepping in one thread, one bucket after another (`sssp.cpu.search.delta_stepping`).

The buckets are the lists of `sssp.cpu.buckets`. Last in, first out: the vertex just reached is
still in the cache. But a bucket is emptied in rounds: what falls into it meanwhile waits for the
next one, for else many short arcs in one bucket would be relaxed over and over, depth first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.atomics import now
from sssp.cpu.buckets import (
    BEYOND,
    BUCKETS,
    LINK,
    NEVER,
    NONE,
    least_beyond,
    link,
    rebase,
    unlink,
)
from sssp.cpu.team import has_come
from sssp.kernels.jit import UNCOUNTED, njit
from sssp.kernels.status import CLIPPED, DONE

__all__ = [
    "NO_PAUSE",
    "PAUSED",
    "Pause",
    "delta_stepping_kernel",
    "empty_buckets",
    "first_open",
    "own_links",
]

ONE = np.uint64(1)
#: words of ``counters``: the method's statistics; then, for a team, whether a candidate was
#: clipped, vertices reached, and picoseconds of one thread for an expansion
EXPANDED, PHASES, WAS_CLIPPED, REACHED, PACE = 0, 1, 2, 3, 4
#: status of a search that has stopped for a team to go on
PAUSED = -1


class Pause(NamedTuple):
    """When a search by one thread stops because a team would be faster; all must hold.

    Attributes
    ----------
    window : int
        Expansions between two looks at the clock; the next four are about those.
    time : int
        Least number of nanoseconds since the search began.
    bucket : int
        Least mean number of expansions for every bucket: with fewer there is nothing to share.
    cost : int
        Least mean number of nanoseconds for an expansion: cheaper ones are over before another
        thread has the data.
    left : int
        Least number of nanoseconds that the vertices left would take.
    expanded : int
        Least number of expansions for every open vertex, since these are handed over one by one.
    """

    window: int
    time: int
    bucket: int
    cost: int
    left: int
    expanded: int


NO_PAUSE = Pause(NEVER, 0, 0, 0, 0, 0)


@njit(inline="always")
def first_open(targets, target, distances, number, scale, unseen):
    """First of the targets, from `target` on, that does not lie in a bucket before `number`."""
    while target < targets.size:
        distance = distances[targets[target]]
        if distance == unseen or np.int64(distance * scale) >= number:
            break
        target += 1
    return target


@njit(**UNCOUNTED)
def empty_buckets(
    indptr, indices, weights, targets, bound, distances, reached, counters,
    scale, unseen, links, heads, sources, pause, start, others,
):  # fmt: skip
    """Search in one thread, one bucket after another.

    The arguments up to ``counters`` are those of `sssp.cpu.search_driver`, with ``counters``
    zeroed, or all as an earlier call has left them. The others:

    - ``scale`` float64: buckets for a unit of distance.
    - ``unseen``: what the distance of an unreached vertex is.
    - ``links``, ``heads``: as `sssp.cpu.buckets` has them; open vertices stand beyond the window
      on entry, and anywhere after `PAUSED`.
    - ``sources`` int64: where the search begins; none where it goes on.
    - ``pause`` `Pause`: when to stop for a team.
    - ``start`` int64, two words, ``others`` int: stop as soon as so many threads have come
      (`sssp.cpu.team`).

    Returns the status: `PAUSED`, if a team may go on, or what a search returns.
    """
    number = distances.dtype.type
    count, target = counters[REACHED], 0
    expanded, phases = counters[EXPANDED], counters[PHASES]
    clipped = counters[WAS_CLIPPED] != 0
    began = looked = now()
    looked_expanded, looked_phases = expanded, phases
    pace = np.int64(NEVER)
    status, going_on = DONE, True
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            reached[count] = source
            count += 1
            link(links, heads, np.int32(BEYOND), np.uint32(source))
    while going_on and heads[BEYOND] != NONE:
        base = least_beyond(links, heads, distances, scale)
        rebase(links, heads, distances, base, scale)
        for bucket in range(np.uint32(BUCKETS)):
            if heads[bucket] == NONE:
                continue
            # only once all targets lie in earlier buckets: those are final
            if targets.size > 0:
                number_here = base + np.int64(bucket)
                target = first_open(targets, target, distances, number_here, scale, unseen)
                if target == targets.size:
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
                length = distances[tail]
                for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                    head = indices[arc]
                    before = distances[head]
                    candidate = number(length + weights[arc])
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
            stop = has_come(start, others)
            work = expanded - looked_expanded
            if work >= pause.window:
                last, looked = looked, now()
                time = looked - last
                # the first are dearer than those to come: they find nothing in the cache
                pace = min(pace, time * 1000 // work)
                stop |= (
                    looked - began >= pause.time
                    and work >= pause.bucket * (phases - looked_phases)
                    and pace >= pause.cost * 1000
                    and (distances.size - expanded) * pace >= pause.left * 1000
                    and expanded >= (count - expanded) * pause.expanded
                )
                looked_expanded, looked_phases = expanded, phases
            if stop:
                status, going_on = PAUSED, False
                break
    counters[EXPANDED], counters[PHASES], counters[PACE] = expanded, phases, pace
    counters[WAS_CLIPPED], counters[REACHED] = clipped, count
    return CLIPPED if clipped and status == DONE else status


@njit
def delta_stepping_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, links,
):  # fmt: skip
    """Search in one thread; a kernel as `sssp.cpu.search_driver` wants them.

    ``scale`` float64: buckets for a unit of distance; ``links``: `LINK`, one a vertex.
    """
    unseen = distances[0]
    heads = np.empty(BUCKETS + 1, np.int32)
    heads[:] = NONE
    counters[:] = 0
    # (a plain 1 has a type of its own, for which all would be compiled once more)
    status = empty_buckets(
        indptr, indices, weights, targets, bound, distances, reached, counters,
        scale, unseen, links, heads, sources, NO_PAUSE, np.zeros(2, np.int64), np.int64(1),
    )  # fmt: skip
    return status, counters[REACHED]


def own_links(n: int) -> tuple[NDArray[Any], ...]:
    """Return the scratch of one thread."""
    return (np.empty(n, LINK),)
