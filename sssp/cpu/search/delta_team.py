"""Delta-stepping from one source by a team of threads.

After S. Beamer, K. Asanovic and D. Patterson, "The GAP benchmark suite" (2015), with bucket fusion
(Y. Zhang et al., "Optimizing ordered graph algorithms with GraphIt", 2020): every thread has
buckets of its own. The team agrees on a bucket number; who has more than a fair part there puts
the surplus into a common frontier; all relax theirs and then the frontier, side by side. What
falls into the same bucket meanwhile stays with the thread that reached it and is relaxed at once,
so the team meets only twice a bucket.

The team shares distances without a single atomic operation on them (the fences of `lock` would
keep a thread from having several reads under way). A write may get lost beneath another thread's
larger one; so every thread remembers the least distance it proposed for a vertex, relaxes with
that, and a vertex is passed over only where somebody has proposed less. A lost write costs
superfluous work, and at the end the least proposal counts.

A team pays only where buckets are large: one thread begins, and goes on where the team has left.
The team leaves as soon as it has taken longer than one thread would have, which it counts in
expansions: a chain leaves nothing to share, and beside another program a thread may be kept from
its core while the others wait for it. Every team that left makes the next one wait for twice as
many expansions, so what teams cost in vain stays a small part of the whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.atomics import atomic_add, now, wait_for_all
from sssp.cpu.buckets import (
    BEYOND,
    BUCKETS,
    NEVER,
    NONE,
    least_beyond,
    link,
    pop,
    rebase,
    unlink,
)
from sssp.cpu.rows import Search
from sssp.cpu.search.delta_stepping import (
    COUNTERS,
    EXPANDED,
    NO_PAUSE,
    ONE,
    PACE,
    PAUSED,
    PHASES,
    REACHED,
    WAS_CLIPPED,
    WINDOW,
    delta_stepping_kernel,
    empty_buckets,
    own_lists,
)
from sssp.cpu.team import LEAVE, SIGNAL, begin, come, start_thread
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE

__all__ = ["team_search"]

#: threads of a team at most: its buckets are too short for more, and each takes memory
LARGEST_TEAM = 8
#: delta of a team in that of one thread: wider buckets, so that the threads meet less often
TEAM_WIDTH = 6.0
#: nanoseconds of one thread before a team may take over for the first time
PATIENCE = 1_200_000
#: vertices that a team shares at a time; the rest of a bucket stays with its thread
FRONTIER = 1 << 14
#: vertices that a thread takes from the frontier at a time
CHUNK = 16
#: words of ``shared``: size and progress of the frontier, one of each for three rounds in turn
SIZE, TAKEN, ROUNDS = 0, 3, 3
#: columns of ``announced``: a thread's next bucket, how many vertices it has there, its
#: expansions so far, whether the team is to leave (as the first thread says), and at the end
#: whether it clipped a candidate, and how many vertices it has found
NUMBER, LENGTH, WORK, LEAVES, HAS_CLIPPED, FOUND, COLUMNS = 0, 1, 2, 3, 4, 5, 8
#: nanoseconds that a team may be behind one thread, or be ahead for later
SLACK = 300_000
#: binary logarithm of the vertices of a block, which is passed over if no thread has proposed there
BLOCK = 7
#: teams after which their numbers begin anew
TEAMS = np.iinfo(np.int16).max


class Lists(NamedTuple):
    """Buckets of one thread alone, and buckets and proposals of every thread of a team.

    Attributes
    ----------
    links_alone : ndarray, shape (n,), records
        `LINK`.
    heads_alone : ndarray, shape (BUCKETS + 1,), int32
    links : ndarray, shape (threads, n), records
        A link, and the least distance that the thread has ``proposed``; both mean something where
        ``team`` is the number of the team at work, so that nobody has to clear them.
    heads : ndarray, shape (threads, BUCKETS + 1), int32
    touched : ndarray, shape (threads, blocks), bool
        Blocks of vertices in which a thread has proposed.
    carried : ndarray, shape (n,), bool
        Vertices that were open when the team took over; False between teams.
    found : ndarray, shape (n,), int32
        What each thread has found in its part of the vertices.
    teams : ndarray, shape (1,), int16
        How many have been at work.
    """

    links_alone: NDArray[Any]
    heads_alone: NDArray[np.int32]
    links: NDArray[Any]
    heads: NDArray[np.int32]
    touched: NDArray[np.bool_]
    carried: NDArray[np.bool_]
    found: NDArray[np.int32]
    teams: NDArray[np.int16]


class Meeting(NamedTuple):
    """Where the threads of a team meet.

    Attributes
    ----------
    frontier : ndarray, shape (FRONTIER,), int32
        Vertices that anybody may relax.
    starts : ndarray, shape (FRONTIER,)
        Their distances.
    shared : ndarray, shape (2 * ROUNDS,), int64
    announced : ndarray, shape (threads, COLUMNS), int64
    start, barrier : ndarray, shape (2,), int64
        For `begin` and `come`, and for `wait_for_all`.
    """

    frontier: NDArray[np.int32]
    starts: NDArray[Any]
    shared: NDArray[np.int64]
    announced: NDArray[np.int64]
    start: NDArray[np.int64]
    barrier: NDArray[np.int64]


@njit
def _seed(lists, distances):
    """Hand all open vertices, which stand beyond the window, to the first thread."""
    team = lists.teams[0]
    links, heads, touched = lists.links[0], lists.heads[0], lists.touched[0]
    following = lists.heads_alone[BEYOND]
    while following != NONE:
        vertex = np.uint32(following)
        following = lists.links_alone[vertex].next
        links[vertex].proposed = distances[vertex]
        links[vertex].team = team
        link(links, heads, np.int32(BEYOND), vertex)
        touched[vertex >> np.uint32(BLOCK)] = True
        lists.carried[vertex] = True


@njit
def _announce(links, heads, base, bucket, scale, announced):
    """Tell the absolute number of a thread's next bucket, and how many vertices it has there.

    Reading along the list also brings it into the cache.
    """
    while bucket < BUCKETS and heads[bucket] == NONE:
        bucket += 1
    count = 0
    if bucket < BUCKETS:
        announced[NUMBER] = base + bucket
        vertex = heads[bucket]
        while vertex != NONE:
            count += 1
            vertex = links[vertex].next
    else:
        announced[NUMBER] = least_beyond(links, heads, links.proposed, scale)
    announced[LENGTH] = count


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
def _share(links, heads, bucket, count, meeting, slot):
    """Move `count` vertices of a thread's bucket to the frontier; what finds no room stays."""
    frontier, starts = meeting.frontier, meeting.starts
    place = atomic_add(meeting.shared, slot, count)
    while count > 0 and place < frontier.size:
        vertex = pop(links, heads, bucket)
        frontier[place], starts[place] = vertex, links[vertex].proposed
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
def _falls_behind(announced, pace, last):
    """Whether the team takes longer than one thread would.

    ``last`` float64, three words: time and expansions when this was asked before, and how far the
    team is behind, in nanoseconds.
    """
    time, work = now(), announced[:, WORK].sum()
    behind = last[2] + (time - last[0]) - pace * (work - last[1])
    last[0], last[1], last[2] = time, work, max(behind, -SLACK)
    return behind > SLACK


@njit
def _relax(
    indptr, indices, weights, bound, distances, scale, base, bucket,
    links, heads, touched, team, meeting, slot,
):  # fmt: skip
    """Empty a thread's bucket, help with the frontier; gives expansions and whether it clipped."""
    number = distances.dtype.type
    frontier, starts, shared = meeting.frontier, meeting.starts, meeting.shared
    size = min(shared[SIZE + slot], frontier.size)
    place = end = 0
    following = NONE
    expanded, clipped = 0, False
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
            start = starts[place]
            place += 1
        else:
            place = atomic_add(shared, TAKEN + slot, CHUNK) if end < size else size
            if place >= size:
                return expanded, clipped
            end = min(place + CHUNK, size)
            continue
        if distances[tail] < start:  # whoever proposed that relaxes it
            continue
        expanded += 1
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            candidate = number(start + weights[arc])
            if candidate >= distances[head]:
                continue
            if candidate > bound:
                clipped = True
                continue
            known = links[head].team == team
            if known and candidate >= links[head].proposed:
                continue
            distances[head] = candidate
            links[head].proposed = candidate
            into = np.int32(min(np.int64(candidate * scale) - base, BUCKETS))
            if known:
                was = links[head].bucket
                if was == into:
                    continue
                if was != NONE:
                    unlink(links, heads, head)
            else:
                links[head].team = team
                touched[head >> np.uint32(BLOCK)] = True
            link(links, heads, into, head)


@njit
def _complete(lists, thread, distances, unseen, is_done):
    """Let the least proposal count, in the part of the vertices that this thread completes.

    Where the search is not done, open vertices are linked beyond the thread's window, by the links
    of one thread alone. Gives which part of ``found`` it has filled, with vertices that had not
    been reached before.
    """
    touched, carried, found = lists.touched, lists.carried, lists.found
    team, threads, blocks = lists.teams[0], touched.shape[0], touched.shape[1]
    first_block, end_block = thread * blocks // threads, (thread + 1) * blocks // threads
    lists.heads[thread][:] = NONE
    count = first = first_block << BLOCK
    least = np.empty(1 << BLOCK, distances.dtype)
    for block in range(first_block, end_block):
        begin, end = block << BLOCK, min((block + 1) << BLOCK, distances.size)
        used = False
        for other in range(threads):
            if touched[other, block]:
                if not used:
                    least[:] = unseen
                    used = True
                links = lists.links[other, begin:end]
                for place in range(end - begin):
                    if links[place].team == team:
                        least[place] = min(least[place], links[place].proposed)
        if not used:
            continue
        if not is_done:
            _keep_open(lists, thread, begin, end, least)
        for place in range(end - begin):
            vertex = begin + place
            if least[place] != unseen:
                distances[vertex] = least[place]
                if not carried[vertex]:
                    found[count] = vertex
                    count += 1
        carried[begin:end] = False
    return first, count


@njit
def _keep_open(lists, thread, begin, end, least):
    """Link those of a block's vertices that stand in a list with their `least` proposal."""
    team, alone, chain = lists.teams[0], lists.links_alone, lists.heads[thread]
    for vertex in range(np.uint64(begin), np.uint64(end)):
        is_reached, is_open = False, False
        for other in range(lists.links.shape[0]):
            entry = lists.links[other, vertex]
            if entry.team == team:
                is_reached = True
                is_open |= entry.bucket != NONE and entry.proposed == least[vertex - begin]
        if is_reached:
            alone[vertex].bucket = NONE
        if is_open:
            link(alone, chain, np.int32(BEYOND), vertex)


@njit
def _hand_back(lists, announced, counters, turns):
    """Count what the team has done, and leave the open vertices to one thread alone."""
    counters[PHASES] += turns
    for row in announced:
        counters[EXPANDED] += row[WORK]
        counters[WAS_CLIPPED] |= row[HAS_CLIPPED]
        counters[REACHED] += row[FOUND]
    links, heads = lists.links_alone, lists.heads_alone
    heads[:] = NONE
    for chain in lists.heads:
        while chain[BEYOND] != NONE:
            link(links, heads, np.int32(BEYOND), pop(links, chain, BEYOND))


@njit
def _team_kernel(
    indptr, indices, weights, targets, bound, distances, reached, counters,
    scale, unseen, lists, meeting, thread,
):  # fmt: skip
    """One thread of a team, until the search is done or the team leaves.

    The first thread calls when all others have come, with all open vertices beyond the window of
    one thread alone, and gets the status: `PAUSED`, with the open vertices there again, if the
    search is not done.
    """
    announced, barrier = meeting.announced, meeting.barrier
    threads = announced.shape[0]
    if not (begin(meeting.start, threads - 1) if thread == 0 else come(meeting.start)):
        return PAUSED
    links, heads, touched = lists.links[thread], lists.heads[thread], lists.touched[thread]
    team = lists.teams[0]
    touched[:] = False
    heads[:] = NONE
    last = np.zeros(3)
    if thread == 0:
        last[0] = now()
        _seed(lists, distances)
    status, clipped, expanded = PAUSED, False, 0
    base, bucket, turn = np.int64(-BUCKETS), 0, 0
    while True:
        _announce(links, heads, base, bucket, scale, announced[thread])
        announced[thread, WORK] = expanded
        if thread == 0:
            announced[thread, LEAVES] = _falls_behind(announced, counters[PACE] / WINDOW, last)
        wait_for_all(barrier, threads)
        number = announced[:, NUMBER].min()
        if number == NEVER or _settled_below(distances, targets, number, scale, unseen):
            status = DONE
            break
        if announced[0, LEAVES]:
            break
        if number >= base + BUCKETS:
            base, bucket = number, 0
            rebase(links, heads, links.proposed, base, scale)
            wait_for_all(barrier, threads)
            continue  # only now do they know how many vertices each has there
        bucket = number - base
        slot = turn % ROUNDS
        surplus = _surplus(announced, thread, number)
        if surplus > 0:
            _share(links, heads, bucket, surplus, meeting, SIZE + slot)
        wait_for_all(barrier, threads)
        if thread == 0:
            after = (turn + 1) % ROUNDS
            meeting.shared[SIZE + after] = 0
            meeting.shared[TAKEN + after] = 0
        more, has_clipped = _relax(
            indptr, indices, weights, bound, distances, scale, base, bucket,
            links, heads, touched, team, meeting, slot,
        )  # fmt: skip
        expanded += more
        clipped |= has_clipped
        turn += 1
    first, end = _complete(lists, thread, distances, unseen, status == DONE)
    announced[thread, HAS_CLIPPED], announced[thread, FOUND] = clipped, end - first
    wait_for_all(barrier, threads)
    place = counters[REACHED] + announced[:thread, FOUND].sum()
    reached[place : place + end - first] = lists.found[first:end]
    wait_for_all(barrier, threads)
    if thread == 0:
        _hand_back(lists, announced, counters, turn)
    return CLIPPED if status == DONE and counters[WAS_CLIPPED] else status


#: dtypes of distances that the team's kernel has been compiled for
_compiled: set[np.dtype[Any]] = set()


def _new_meeting(threads: int, dtype: np.dtype[Any]) -> Meeting:
    return Meeting(
        np.empty(FRONTIER, INDEX),
        np.empty(FRONTIER, dtype),
        np.zeros(2 * ROUNDS, np.int64),
        np.zeros((threads, COLUMNS), np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
    )


def _compile(threads: int, dtype: np.dtype[Any], part: Callable[[Meeting, int], int]) -> None:
    """Have the team's kernel ready, for else the search would be over before it is."""
    if dtype not in _compiled:
        meeting = _new_meeting(threads, dtype)
        meeting.start[SIGNAL] = LEAVE
        part(meeting, 1)
        _compiled.add(dtype)


def _call(threads: int, dtype: np.dtype[Any], part: Callable[[Meeting, int], int]) -> Meeting:
    """Start all threads of a team but the first; who is started starts the next."""
    meeting = _new_meeting(threads, dtype)

    def join_in(thread: int) -> None:
        if thread < threads:
            # if the system has no more threads, they are never complete
            with contextlib.suppress(RuntimeError):
                start_thread(join_in, thread + 1)
            part(meeting, thread)

    with contextlib.suppress(RuntimeError):
        start_thread(join_in, 1)
    return meeting


def _search(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, *scratch,
) -> tuple[int, int]:  # fmt: skip
    """Search from the sources; a kernel as `sssp.cpu.rows` wants them.

    The caller may be interrupted between any two steps; whoever has come by then to join a team
    gives up after a while.
    """
    lists = Lists(*scratch)
    threads, dtype = len(lists.links), distances.dtype
    place = indptr, indices, weights, targets, bound, distances, reached, counters
    alone = unreached(dtype), lists.links_alone, lists.heads_alone
    patience = PATIENCE

    def part(meeting: Meeting, thread: int) -> int:
        status: int = _team_kernel(
            *place, scale / TEAM_WIDTH, unreached(dtype), lists, meeting, thread
        )
        return status

    status, _ = delta_stepping_kernel(
        *place[:3], sources, *place[3:], scale, patience, *NO_PAUSE[1:], *alone[1:]
    )
    while status == PAUSED:
        _compile(threads, dtype, part)
        _new_team(lists)
        meeting = _call(threads, dtype, part)
        status = empty_buckets(*place, scale, NEVER, meeting.start, threads - 1, *alone)
        if status == PAUSED:
            status = part(meeting, 0)
        else:
            meeting.start[SIGNAL] = LEAVE
        if status == PAUSED:
            patience *= 2
            status = empty_buckets(*place, scale, patience, *NO_PAUSE[1:], *alone)
    return status, int(counters[REACHED])


def _new_team(lists: Lists) -> None:
    if lists.teams[0] == TEAMS:
        lists.links["team"] = lists.teams[0] = 0
    lists.teams[0] += 1


def team_search(threads: int, scale: float, dtype: np.dtype[Any]) -> Search:
    """Return the search of one source by at most so many threads.

    Parameters
    ----------
    threads : int
    scale : float
        Of one thread's buckets.
    dtype : dtype
        Of the distances.
    """
    entry = np.dtype(
        [
            ("proposed", dtype),
            ("next", INDEX),
            ("previous", INDEX),
            ("bucket", np.int16),
            ("team", np.int16),
        ],
        align=True,
    )
    threads = min(threads, LARGEST_TEAM)

    def make_lists(n: int) -> tuple[NDArray[Any], ...]:
        return (
            *own_lists(n),
            np.zeros((threads, n), entry),
            np.empty((threads, BUCKETS + 1), np.int32),
            np.empty((threads, (n >> BLOCK) + 1), np.bool_),
            np.zeros(n, np.bool_),
            np.empty(n, INDEX),
            np.zeros(1, np.int16),
        )

    return Search(_search, COUNTERS, (scale,), make_lists)
