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

A team pays only where buckets are large. So one thread begins, by itself, and looks now and then
whether a team would be faster (`Pause`); it goes on while the others start, and hands its open
vertices over when all have come. The team compares its time with what one thread would have taken
for as many expansions. Once it is behind by a twentieth of a whole search it leaves for good, and
one thread goes on: a chain leaves nothing to share, and beside another program a thread may be kept
from its core while the others wait for it.
"""

from __future__ import annotations

import contextlib
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.atomics import atomic_add, now, wait_for_all
from sssp.cpu.buckets import (
    BEYOND,
    BUCKETS,
    LINK,
    NEVER,
    NONE,
    gather,
    least_beyond,
    link,
    pop,
    rebase,
    unlink,
)
from sssp.cpu.search.delta_alone import (
    EXPANDED,
    NO_PAUSE,
    ONE,
    PACE,
    PAUSED,
    PHASES,
    REACHED,
    WAS_CLIPPED,
    Pause,
    empty_buckets,
    first_open,
    own_links,
)
from sssp.cpu.search_driver import Search
from sssp.cpu.team import BEGIN, LEAVE, SIGNAL, come, start_thread
from sssp.kernels.dtypes import INDEX, largest_distance, unreached
from sssp.kernels.jit import UNCOUNTED, is_ahead, is_compiled, njit, part
from sssp.kernels.status import CLIPPED, DONE

__all__ = ["TEAM_WIDTH", "team_search"]

#: threads of a team at most: its buckets are too short for more, and each takes memory
LARGEST_TEAM = 8
#: delta of a team in that of one thread: wider buckets, so that the threads meet less often
TEAM_WIDTH = 6.0
#: when a team pays; a tenth of a millisecond is what it takes to start one
TEAM_PAYS = Pause(window=1024, time=600_000, bucket=256, cost=20, left=2_500_000, expanded=32)
#: where a limit or targets may soon end the search
TEAM_MAY_PAY = TEAM_PAYS._replace(time=5 * TEAM_PAYS.time)
#: nanoseconds of searches in a process from which on it may wait some seconds for the team's kernel
WORTH_COMPILING = 1_000_000_000
#: when one did on this graph the last time
AT_ONCE = Pause(window=1, time=0, bucket=0, cost=0, left=0, expanded=0)
#: where nobody is awaited, as `come` has it
NOBODY = np.zeros(2, np.int64)
#: part of the time that one thread takes for all vertices by which a team may be behind one thread,
#: or be ahead for later; and the most that this may be, in nanoseconds
SLACK, LARGEST_SLACK = 0.1, 5_000_000
#: expansions of a turn below which there was nothing to share: all its time counts as lost; and how
#: many such turns, one after the other, are enough
FEW, ENOUGH = 64, 100
#: vertices that a team shares at a time; the rest of a bucket stays with its thread
FRONTIER = 1 << 14
#: vertices that a thread takes from the frontier at a time
CHUNK = 16
#: words of ``shared``: size and progress of the frontier, one of each for three rounds in turn
SIZE, TAKEN, ROUNDS = 0, 3, 3
#: columns of ``announced``: a thread's next bucket, how many vertices it has there, its expansions
#: so far, whether it clipped a candidate, and whether the team is to leave, as the first one says
NUMBER, LENGTH, WORK, HAS_CLIPPED, LEAVES, COLUMNS = 0, 1, 2, 3, 4, 8
#: binary logarithm of the vertices of a block
BLOCK = 7


class Lists(NamedTuple):
    """Memory that a search keeps for the next.

    Attributes
    ----------
    links_alone : ndarray, shape (n,), records
        `LINK`, of one thread alone.
    links : ndarray, shape (threads, n), records
        `LINK` of every thread of a team, and the least distance that it has ``proposed``; between
        teams nothing is, and no vertex stands in a list.
    carried : ndarray, shape (n,), bool
        Vertices that were open when the team took over; False between teams.
    pace : ndarray, shape (1,), int64
        If the last team stayed to the end, picoseconds of one thread for an expansion, as they
        were before a team took over: the next begins at once, and is compared with that. Else 0.
    """

    links_alone: NDArray[Any]
    links: NDArray[Any]
    carried: NDArray[np.bool_]
    pace: NDArray[np.int64]


class Meeting(NamedTuple):
    """What a team has in common.

    Attributes
    ----------
    heads : ndarray, shape (threads, BUCKETS + 1), int32
        Of every thread's buckets.
    touched : ndarray, shape (threads, blocks), bool
        Blocks of vertices in which a thread has proposed distances.
    frontier, lengths : ndarray, shape (FRONTIER,)
        Vertices that anybody may relax, and the distances to relax them with.
    shared : ndarray, shape (2 * ROUNDS,), int64
    announced : ndarray, shape (threads, COLUMNS), int64
    start, barrier : ndarray, shape (2,), int64
        For `come` and `wait_for_all`.
    """

    heads: NDArray[np.int32]
    touched: NDArray[np.bool_]
    frontier: NDArray[np.int32]
    lengths: NDArray[Any]
    shared: NDArray[np.int64]
    announced: NDArray[np.int64]
    start: NDArray[np.int64]
    barrier: NDArray[np.int64]


def new_meeting(threads: int, n: int, dtype: np.dtype[Any]) -> Meeting:
    """Return where so many threads meet for a search among n vertices."""
    return Meeting(
        np.full((threads, BUCKETS + 1), NONE, INDEX),
        np.zeros((threads, (n >> BLOCK) + 1), np.bool_),
        np.empty(FRONTIER, INDEX),
        np.empty(FRONTIER, dtype),
        np.zeros(2 * ROUNDS, np.int64),
        np.zeros((threads, COLUMNS), np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
    )


@part(**UNCOUNTED)
def _take_over(lists, meeting, heads_alone, distances):
    """Hand all open vertices, which stand beyond the window, to the first thread."""
    alone, links = lists.links_alone, lists.links[0]
    heads, touched = meeting.heads[0], meeting.touched[0]
    following = heads_alone[BEYOND]
    while following != NONE:
        vertex = np.uint32(following)
        following = alone[vertex].next
        links[vertex].proposed = distances[vertex]
        touched[vertex >> np.uint32(BLOCK)] = True
        link(links, heads, np.int32(BEYOND), vertex)
        lists.carried[vertex] = True


@part(**UNCOUNTED)
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


@part(**UNCOUNTED)
def _surplus(announced, thread, number):
    """How many vertices of bucket `number` a thread has above its fair part."""
    total = 0
    for other in range(announced.shape[0]):
        if announced[other, NUMBER] == number:
            total += announced[other, LENGTH]
    own = announced[thread, LENGTH] if announced[thread, NUMBER] == number else 0
    return own - (total + announced.shape[0] - 1) // announced.shape[0]


@part(**UNCOUNTED)
def _share(links, heads, bucket, count, meeting, slot):
    """Move `count` vertices of a thread's bucket to the frontier; what finds no room stays."""
    frontier, lengths = meeting.frontier, meeting.lengths
    place = atomic_add(meeting.shared, slot, count)
    while count > 0 and place < frontier.size:
        vertex = pop(links, heads, bucket)
        frontier[place], lengths[place] = vertex, links[vertex].proposed
        place += 1
        count -= 1


@part
def _falls_behind(announced, pace, slack, clock):
    """Whether the team has taken longer than one thread would have.

    ``pace``: picoseconds of one thread for an expansion. ``clock`` int64, four words: time and
    expansions when this was asked before, how many nanoseconds the team was behind then, and how
    many turns had nothing to share.
    """
    time, work = now(), np.int64(0)
    for thread in range(announced.shape[0]):
        work += announced[thread, WORK]
    done = work - clock[1]
    alone = pace * done // 1000 if done >= FEW else 0
    behind = clock[2] + (time - clock[0]) - alone
    idle = clock[3] + 1 if done < FEW else 0
    clock[0], clock[1], clock[2], clock[3] = time, work, max(behind, -slack), idle
    return behind > slack or idle == ENOUGH


@part(**UNCOUNTED)
def _relax(
    indptr, indices, weights, bound, distances, scale, base, bucket,
    links, heads, touched, meeting, slot,
):  # fmt: skip
    """Empty a thread's bucket and help with the frontier.

    Returns how many vertices were expanded, and whether a candidate was clipped.
    """
    number = distances.dtype.type
    frontier, lengths, shared = meeting.frontier, meeting.lengths, meeting.shared
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
            length = links[tail].proposed
        elif place < end:
            tail = np.uint32(frontier[place])
            length = lengths[place]
            place += 1
        else:
            place = atomic_add(shared, TAKEN + slot, CHUNK) if end < size else size
            if place >= size:
                return expanded, clipped
            end = min(place + CHUNK, size)
            continue
        if distances[tail] < length:  # whoever proposed that relaxes it
            continue
        expanded += 1
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            candidate = number(length + weights[arc])
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
                unlink(links, heads, head)
            else:  # the first time, at least
                touched[head >> np.uint32(BLOCK)] = True
            link(links, heads, into, head)


@part(**UNCOUNTED)
def _complete(lists, meeting, thread, distances, reached, counters, unseen, is_done, least, found):
    """Let the least proposal count, in the part of the vertices that this thread completes.

    Where the search is not done, open vertices are linked beyond the window of one thread alone,
    by the heads of this one. The team's own lists are clear afterwards. ``least`` and ``found``
    are scratch for a block.
    """
    carried, touched = lists.carried, meeting.touched
    threads, blocks = touched.shape
    meeting.heads[thread][:] = NONE
    for block in range(thread * blocks // threads, (thread + 1) * blocks // threads):
        begin, end = block << BLOCK, min((block + 1) << BLOCK, distances.size)
        used = False
        for other in range(threads):
            used |= touched[other, block]
        if not used:
            continue
        if not is_done:
            _keep_open(lists, meeting.heads[thread], begin, end, unseen)
        least[:] = unseen
        for other in range(threads):
            if touched[other, block]:
                for place in range(np.uint64(end - begin)):
                    entry = lists.links[other, np.uint64(begin) + place]
                    least[place] = min(least[place], entry.proposed)
                    entry.proposed, entry.bucket = unseen, NONE
        count = np.uint64(0)
        for place in range(np.uint64(end - begin)):
            vertex = np.uint64(begin) + place
            distances[vertex] = min(distances[vertex], least[place])
            found[count] = vertex
            count += np.uint64(least[place] != unseen and not carried[vertex])
        carried[begin:end] = False
        place = atomic_add(counters, REACHED, np.int64(count))
        for i in range(count):
            reached[np.uint64(place) + i] = found[i]


@part(**UNCOUNTED)
def _keep_open(lists, heads, begin, end, unseen):
    """Link those of a block's vertices that stand in a list with their least proposal."""
    alone = lists.links_alone
    for vertex in range(np.uint64(begin), np.uint64(end)):
        least, is_open = unseen, False
        for other in range(lists.links.shape[0]):
            entry = lists.links[other, vertex]
            if entry.proposed <= least:
                stands = entry.bucket != NONE
                is_open = stands or (is_open and entry.proposed == least)
                least = entry.proposed
        if least != unseen:
            alone[vertex].bucket = NONE
        if is_open:
            link(alone, heads, np.int32(BEYOND), vertex)


@part(**UNCOUNTED)
def _hand_back(lists, meeting, heads_alone, counters, turns):
    """Count what the team has done, and leave the open vertices to one thread alone."""
    counters[PHASES] += turns
    for row in meeting.announced:
        counters[EXPANDED] += row[WORK]
        counters[WAS_CLIPPED] |= row[HAS_CLIPPED]
    alone = lists.links_alone
    heads_alone[:] = NONE
    for heads in meeting.heads:
        while heads[BEYOND] != NONE:
            link(alone, heads_alone, np.int32(BEYOND), pop(alone, heads, BEYOND))


@njit
def _team_kernel(
    indptr, indices, weights, targets, bound, distances, reached, counters,
    scale, unseen, slack, lists, heads_alone, meeting, thread,
):  # fmt: skip
    """One thread of a team, until the search is done or the team leaves.

    The arguments up to ``counters`` are those of `sssp.cpu.search_driver`, as one thread alone has
    left them; all threads write to ``distances`` and ``reached``, the first to ``counters``. The
    others:

    - ``scale`` float64: buckets of the team for a unit of distance.
    - ``unseen``: what the distance of an unreached vertex is.
    - ``slack`` int: nanoseconds that the team may be behind one thread.
    - ``lists`` `Lists`, ``heads_alone`` int32: all open vertices stand beyond the window of one
      thread alone on entry, and do so again after `PAUSED`.
    - ``meeting`` `Meeting`: new. The first thread calls once all others have come.
    - ``thread`` int: number of this one.

    Returns the status to the first thread: `PAUSED`, if one thread is to go on, or what a search
    returns.
    """
    announced, barrier = meeting.announced, meeting.barrier
    threads = announced.shape[0]
    clock = np.array([now(), 0, 0, 0])
    if thread == 0:
        atomic_add(meeting.start, SIGNAL, BEGIN)
        _take_over(lists, meeting, heads_alone, distances)
    elif not come(meeting.start):
        return PAUSED
    links, heads, touched = lists.links[thread], meeting.heads[thread], meeting.touched[thread]
    status, target = PAUSED, 0
    # (a plain 0 has a type of its own, for which a function would be compiled once more)
    base, bucket, turn = np.int64(-BUCKETS), np.int64(0), np.int64(0)
    while True:
        _announce(links, heads, base, bucket, scale, announced[thread])
        if thread == 0:
            announced[thread, LEAVES] = _falls_behind(announced, counters[PACE], slack, clock)
        wait_for_all(barrier, threads)
        number = np.int64(NEVER)
        for other in range(threads):
            number = min(number, announced[other, NUMBER])
        if announced[0, LEAVES] and number != NEVER:
            break
        # last: who has left the loop may lower distances already, and so settle more targets
        target = first_open(targets, target, distances, number, scale, unseen)
        if number == NEVER or (target == targets.size and target > 0):
            status = DONE
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
        expanded, clipped = _relax(
            indptr, indices, weights, bound, distances, scale, base, bucket,
            links, heads, touched, meeting, slot,
        )  # fmt: skip
        announced[thread, WORK] += expanded
        announced[thread, HAS_CLIPPED] |= clipped
        turn += 1
    least, found = np.empty(1 << BLOCK, distances.dtype), np.empty(1 << BLOCK, np.int32)
    _complete(
        lists, meeting, thread, distances, reached, counters, unseen, status == DONE, least, found
    )
    wait_for_all(barrier, threads)
    if thread == 0:
        _hand_back(lists, meeting, heads_alone, counters, turn)
    return CLIPPED if status == DONE and counters[WAS_CLIPPED] else status


class _Team:
    """The threads that may join one search.

    Parameters
    ----------
    threads : int
    arguments : tuple
        Of the team's kernel, up to ``heads_alone``.
    """

    def __init__(self, threads: int, arguments: tuple[Any, ...]) -> None:
        self.threads, self.arguments = threads, arguments
        distances = arguments[5]
        self.meeting = new_meeting(threads, distances.size, distances.dtype)

    def call(self) -> None:
        """Start all threads but the first; who is started starts the next.

        If the system has no more threads, they are never complete.
        """
        with contextlib.suppress(RuntimeError):
            start_thread(self._join_in, 1)

    def _join_in(self, thread: int) -> None:
        if thread + 1 < self.threads:
            with contextlib.suppress(RuntimeError):
                start_thread(self._join_in, thread + 1)
        self.work(thread)

    def arguments_of(self, thread: int) -> tuple[Any, ...]:
        """What the kernel gets for one thread."""
        return *self.arguments, self.meeting, thread

    def work(self, thread: int) -> int:
        """Do the part of one thread; gives the status to the first."""
        status: int = _team_kernel(*self.arguments_of(thread))
        return status

    def dismiss(self) -> None:
        """Let go who has come, or comes yet."""
        self.meeting.start[SIGNAL] = LEAVE


class _Readiness:
    """Whether the team's kernel is there, for one dtype of distances.

    It takes seconds to compile, and most processes never search as long as that. So they do
    without, until their searches have taken `WORTH_COMPILING`. What is on disk is used at once.
    """

    def __init__(self) -> None:
        self.is_loaded = False
        self._is_kept: bool | None = None
        self._searched = 0

    def patience(self, arguments: tuple[Any, ...]) -> int:
        """Nanoseconds that a search rather goes on alone than have the kernel compiled."""
        if self._is_kept is None:
            self._is_kept = is_compiled(_team_kernel, *_Team(2, arguments).arguments_of(1))
        return 0 if self._is_kept else WORTH_COMPILING - self._searched

    def count(self, nanoseconds: int) -> None:
        """Take note of how long a search has gone on alone."""
        self._searched += nanoseconds

    def load(self, arguments: tuple[Any, ...]) -> None:
        """Have the kernel ready before anybody waits for the team."""
        if not self.is_loaded:
            team = _Team(2, arguments)
            team.dismiss()
            team.work(1)
            self.is_loaded = True


_readiness: dict[np.dtype[Any], _Readiness] = {}


def slack(n: int, pace: int) -> int:
    """Nanoseconds that a team may be behind, where an expansion takes `pace` picoseconds."""
    return int(min(SLACK * n * pace / 1000, LARGEST_SLACK))


def _search(
    indptr: NDArray[np.uint64],
    indices: NDArray[np.uint32],
    weights: NDArray[Any],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    bound: Any,
    distances: NDArray[Any],
    reached: NDArray[np.int32],
    counters: NDArray[np.int64],
    scale: float,
    team_scale: float,
    *scratch: NDArray[Any],
) -> tuple[int, int]:
    """Search from the sources; a kernel as `sssp.cpu.search_driver` wants them.

    Python may raise KeyboardInterrupt between any two steps: whoever has come to join a team is
    let go, and from the moment that it begins all its threads are in compiled code, which nothing
    interrupts.
    """
    lists = Lists(*scratch)
    unseen = unreached(distances.dtype)
    heads = np.full(BUCKETS + 1, NONE, INDEX)
    counters[:] = 0
    question = indptr, indices, weights, targets, bound, distances, reached, counters
    alone = *question, scale, unseen, lists.links_alone, heads
    pays = TEAM_PAYS
    if targets.size > 0 or bound < largest_distance(distances.dtype):
        pays = TEAM_MAY_PAY
    elif lists.pace[0]:
        pays = AT_ONCE
    ready = _readiness.setdefault(distances.dtype, _Readiness())
    began = perf_counter_ns()
    if not ready.is_loaded:
        together = *question, team_scale, unseen, 0, lists, heads
        if is_ahead():
            gather(lists.links_alone, heads)
            ready.load(together)
        else:
            pays = pays._replace(time=max(pays.time, ready.patience(together)))
    status = empty_buckets(*alone, sources, pays, NOBODY, 1)
    if not ready.is_loaded:
        ready.count(perf_counter_ns() - began)
    if status == PAUSED:
        gather(lists.links_alone, heads)
        pace = int(lists.pace[0] if pays is AT_ONCE else counters[PACE])
        most_behind = slack(distances.size, pace)
        together = *question, team_scale, unseen, most_behind, lists, heads
        ready.load(together)
        team = _Team(len(lists.links), together)
        try:
            team.call()
            awaited = team.meeting.start, team.threads - 1
            status = empty_buckets(*alone, sources[:0], NO_PAUSE, *awaited)
            if status == PAUSED:
                gather(lists.links_alone, heads)
                counters[PACE] = pace
                status = team.work(0)
                lists.pace[0] = pace if status != PAUSED else 0
        finally:
            team.dismiss()
        if status == PAUSED:
            status = empty_buckets(*alone, sources[:0], NO_PAUSE, NOBODY, 1)
    return status, int(counters[REACHED])


def team_search(threads: int, dtype: np.dtype[Any], scale: float, team_scale: float) -> Search:
    """Return the search of one source by at most so many threads.

    Parameters
    ----------
    threads : int
        2 or more.
    dtype : dtype
        Of the distances.
    scale, team_scale : float
        Buckets for a unit of distance, of one thread and of a team.
    """
    proposal = np.dtype([("proposed", dtype), *LINK], align=True)
    threads = min(threads, LARGEST_TEAM)

    def make_lists(n: int) -> tuple[NDArray[Any], ...]:
        links = np.empty((threads, n), proposal)
        links["proposed"], links["bucket"] = unreached(dtype), NONE
        return *own_links(n), links, np.zeros(n, np.bool_), np.zeros(1, np.int64)

    return Search(_search, (scale, team_scale), make_lists)
