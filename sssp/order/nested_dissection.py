"""Elimination orders for customizable contraction hierarchies: nested dissection by flows.

A customizable hierarchy eliminates the vertices one after the other, joining all neighbours of
each; the order alone decides how many arcs and triangles that makes. A good one puts small
separators last: J. Dibbelt, B. Strasser and D. Wagner, "Customizable contraction hierarchies", ACM
Journal of Experimental Algorithmics 21, 2016. Good separators of road networks come from flows: L.
Gottesbüren, M. Hamann, T. N. Uhl and D. Wagner, "Faster and better nested dissection orders for
customizable contraction hierarchies", Algorithms 12, 2019. Here, without coordinates:

1. *Reduce.* Trees are peeled from their leaves, then vertices of degree 2, then 3, are eliminated
   in rounds of vertices that are no neighbours. That adds no arc or hardly any. What is left of a
   road network, a tenth to a third, is the core (`sssp.order.low_degree`).
2. *Dissect.* Four landmarks a, b, x, y lie far apart; hop distances from them give four directions:
   a - b, x - y, their sum, their difference. Along each the first and the last quarter of a piece
   are the terminals of a maximum flow that may use every vertex once. What separates them at least,
   nearest to the one side or to the other, are candidates for a separator; the least for the size
   of the smaller side wins. What remains is two pieces (`sssp.order.max_flow`).
3. *Finish.* A piece of 128 vertices or less is eliminated by minimum degree, where neighbours in
   separators count and stay.

The flow is found by rounds of depth-first searches that visit every vertex once (A. Pothen and
C.-J. Fan, "Computing the block triangular form of a sparse matrix", ACM Transactions on
Mathematical Software 16, 1990), in the band between the terminals, numbered by distance from the
sinks so that every search tries first what is nearest to them. Nearest minimum cuts are unique,
however the flow was found; ties go by number; nothing asks for the number of threads. So a graph
has one order.

Memory: about 90 bytes per vertex of a road network. A piece owns a range of positions, from its
first in the order to its last, and a range of arcs; its two parts take its place in a second set of
arrays, theirs in the first one again, and so on. So nothing is allocated on the way down.

A kernel that may take longer than a few milliseconds reads ``stop``, one word that all threads
share, and returns early once it is set: its results are not read then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.workers import POLL_SECONDS, Pool
from sssp.graph.csr import seal
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit, njit_uncounted
from sssp.order import low_degree
from sssp.order.low_degree import ARC, NONE, ONE, VERTEX
from sssp.order.max_flow import (
    BETWEEN,
    DIRECTIONS,
    FAR,
    NEAR,
    components_kernel,
    cut_kernel,
    landmarks_kernel,
    new_scratch,
)

#: vertices that a task reduces, those beside another task's vertices excepted
CHUNK = 2_000_000
#: part of a piece that is terminal, at either end
SHARE = 0.25
#: in pieces of more than `HUGE` vertices a narrow band often does; so there these are tried, as
#: long as the score falls below `GAIN` of the last
SHARES_IF_HUGE = (0.45, 0.38, 0.31, SHARE)
HUGE = 400_000
GAIN = 0.95
#: pieces of this size or less are one task
GRAIN = 20_000

#: vertices of a piece that is eliminated by minimum degree
SMALL = 128
#: key of a vertex that is eliminated
LAST = np.iinfo(np.int64).max
#: bits of a position in a small piece, and of the number that counts changes of degree down
POSITION_BITS, CHANGE_BITS = 8, 32
#: that number, before any: the greatest
UNCHANGED = (1 << CHANGE_BITS) - 1
WORD = 64
#: of Knuth's multiplicative hashing
SPREAD = 2654435761


class SeparatorTooLarge(Exception):
    """A separator is larger than the caller accepts.

    Attributes
    ----------
    piece, separator : int
        Vertices of the piece, and of its best separator.
    """

    def __init__(self, piece: int, separator: int) -> None:
        super().__init__(piece, separator)
        self.piece, self.separator = piece, separator


class Core(NamedTuple):
    """A graph in CSR form: heads of the arcs of v are ``heads[starts[v] : starts[v + 1]]``."""

    starts: NDArray[np.uint64]
    heads: NDArray[np.uint32]


class Pieces(NamedTuple):
    """Subgraphs of a nested dissection in CSR arrays; each numbers its vertices from 0.

    Attributes
    ----------
    starts : ndarray, shape (2, n + 1), uint64
        Of a piece at positions first to last, ``starts[row, first : last + 1]`` are its own.
        Where a piece ends and the next begins they agree on the entry, for arcs lie in the order
        of vertices.
    heads : ndarray, shape (2, m), uint32
        Numbered within the piece, from 0.
    names : ndarray, shape (2, n), uint32
        The core's vertex at a position.
    """

    starts: NDArray[np.uint64]
    heads: NDArray[np.uint32]
    names: NDArray[np.uint32]

    def views(self, first: int, last: int, row: int) -> tuple[NDArray[Any], ...]:
        """Return views of the arc offsets, arc heads and vertex names of one subgraph."""
        return self.starts[row, first : last + 1], self.heads[row], self.names[row, first:last]


# ------------------------------------------------------------------------------ pieces


@njit
def _split_kernel(starts, heads, names, part, numbers, starts_below, heads_below, names_below):
    """Divide a subgraph as `part` says (sides, separator); write the arcs within each side.

    Return the numbers of vertices on the near side and in the separator.

    - ``names``: of the piece's vertices.
    - ``numbers`` uint32, shape (n or more,): numbers in the part; written.
    - ``starts_below``, ``heads_below``, ``names_below``: of the parts; written. ``starts_below``
      are the piece's own, those of heads begin where the graph's do.
    """
    n = names.size
    near = far = between = 0
    for v in range(n):
        if part[v] == NEAR:
            numbers[v] = near
            near += 1
        elif part[v] == FAR:
            numbers[v] = far
            far += 1
        else:
            between += 1
    arcs = starts[0]
    position = 0
    for side in range(3):
        for v in range(n):
            if part[v] != side:
                continue
            names_below[position] = names[v]
            starts_below[position] = arcs
            position += 1
            if side == BETWEEN:
                continue
            for arc in range(starts[v], starts[v + 1]):
                head = heads[arc]
                if part[head] == side:
                    heads_below[arcs] = numbers[head]
                    arcs += ONE
    # where the next piece begins, or parts of its
    starts_below[n] = starts[n]
    return near, between


@njit
def _spread_kernel(names, order):
    """Order a separator: every other vertex, then every other one of the rest, and so on.

    It stands in the order of the core, so often along its line; eliminated that way it would make
    a hierarchy of more levels.
    """
    position, step = 0, 1
    while position < names.size:
        for i in range(step - 1, names.size, 2 * step):
            order[position] = names[i]
            position += 1
        step *= 2


# ------------------------------------------------------------------------ small pieces


@njit_uncounted
def _count_ones(word):
    """Count the set bits of a 64-bit word."""
    word = word - ((word >> ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit
def _neighbours_kernel(core, starts, heads, names):
    """Return a bit matrix with the neighbours of every vertex in a piece of the graph.

    Bits of the piece come first; neighbours in separators have the others, in the order in which
    they are met, by a hash table.
    """
    n = names.size
    room = 0
    for v in range(n):
        room += np.int64(core.starts[names[v] + 1] - core.starts[names[v]])
    slots = WORD
    while slots < 2 * room:
        slots *= 2
    known, numbers = np.full(slots, NONE), np.empty(slots, np.uint32)
    ends = np.empty(room, np.uint32)
    size, k = n, 0
    for v in range(n):
        own = starts[v]
        for arc in range(core.starts[names[v]], core.starts[names[v] + 1]):
            head = core.heads[arc]
            # arcs within the piece are in the same order as in the core
            if own < starts[v + 1] and names[heads[own]] == head:
                ends[k] = heads[own]
                own += ONE
            else:
                slot = ((head * SPREAD) >> 16) & (slots - 1)
                while known[slot] != NONE and known[slot] != head:
                    slot = (slot + 1) & (slots - 1)
                if known[slot] == NONE:
                    known[slot] = head
                    numbers[slot] = size
                    size += 1
                ends[k] = numbers[slot]
            k += 1
    rows = np.zeros((n, (size + WORD - 1) // WORD), np.uint64)
    k = 0
    for v in range(n):
        for _ in range(core.starts[names[v]], core.starts[names[v] + 1]):
            rows[v, ends[k] // WORD] |= ONE << np.uint64(ends[k] % WORD)
            k += 1
    return rows


@njit
def _minimum_degree_kernel(core, starts, heads, names, order):
    """Order the vertices of a small subgraph for elimination by minimum degree.

    The vertex with the least key is next. A key has three parts:

        bits 40 and up   degree
        bits 8 to 39     `change`, when the degree of this vertex changed last
        bits 0 to 7      position in the piece

    `change` is one number for the piece. It begins at `UNCHANGED`, all bits set, and counts down by
    one at every change of a degree: so of equal degrees the one that changed last has the least
    key. Among vertices that never changed the first position goes first.
    """
    n = names.size
    rows = _neighbours_kernel(core, starts, heads, names)
    words = rows.shape[1]
    keys, degrees = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        degrees[v] = core.starts[names[v] + 1] - core.starts[names[v]]
        keys[v] = (degrees[v] << CHANGE_BITS | UNCHANGED) << POSITION_BITS | v
    change = UNCHANGED
    for position in range(n):
        key = keys[0]
        for v in range(1, n):
            key = min(key, keys[v])
        v = key & ((1 << POSITION_BITS) - 1)
        keys[v] = LAST
        order[position] = names[v]
        for word in range(words):
            left = rows[v, word]
            while left != 0:
                u = word * WORD + _count_ones((left & (~left + ONE)) - ONE)
                left &= left - ONE
                if u >= n:
                    break
                degree = 0
                for i in range(words):
                    rows[u, i] |= rows[v, i]
                rows[u, u // WORD] &= ~(ONE << np.uint64(u % WORD))
                rows[u, v // WORD] &= ~(ONE << np.uint64(v % WORD))
                for i in range(words):
                    degree += _count_ones(rows[u, i])
                if degree != degrees[u]:
                    change -= 1
                    degrees[u] = degree
                    keys[u] = (degree << CHANGE_BITS | change) << POSITION_BITS | u


# ------------------------------------------------------------------------- recursion


@njit
def _dissect_kernel(core, pieces, first, last, row, widest, hops, scratch, part, order, stop):
    """Order the vertices of a subgraph by nested dissection; stop if a separator is too large.

    Return the numbers of vertices of a piece and of its separator, if that is too wide; else 0, 0.

    - ``core``, ``pieces``: a `Core` and its `Pieces`.
    - ``first``, ``last``, ``row``: where the piece is.
    - ``hops``, ``scratch``, ``part``: memory, of `landmarks_kernel`, `cut_kernel` (two).
    - ``order`` uint32, shape (n,): the core's vertices; written from `first` to `last`.
    """
    # the larger part waits: so no more wait than a piece can be halved
    waiting = np.empty((WORD, 3), np.int64)
    best = np.empty(1, np.float64)
    size = 0
    while not stop[0]:
        starts, names = pieces.starts[row, first : last + 1], pieces.names[row, first:last]
        heads = pieces.heads[row]
        if last - first <= SMALL:
            _minimum_degree_kernel(core, starts, heads, names, order[first:last])
            if size == 0:
                break
            size -= 1
            first, last, row = waiting[size, 0], waiting[size, 1], waiting[size, 2]
            continue
        kept = 0
        if landmarks_kernel(starts, heads, hops, scratch.queue, stop):
            best[0] = np.inf
            for direction in range(DIRECTIONS):
                before = best[0]
                new = 1 - kept
                cut_kernel(starts, heads, hops, direction, SHARE, best, scratch, part[new], stop)
                if best[0] < before:
                    kept = new
        else:
            components_kernel(starts, heads, part[kept], scratch.queue, stop)
        if stop[0]:
            break
        row = 1 - row
        near, between = _split_kernel(
            starts, heads, names, part[kept], scratch.queue,
            pieces.starts[row, first : last + 1], pieces.heads[row], pieces.names[row, first:last],
        )  # fmt: skip
        if between > widest:
            return last - first, between
        middle, end = first + near, last - between
        _spread_kernel(pieces.names[row, end:last], order[end:last])
        if near < end - middle:
            larger, until, last = middle, end, middle
        else:
            larger, until, first, last = first, middle, middle, end
        waiting[size, 0], waiting[size, 1], waiting[size, 2] = larger, until, row
        size += 1
    return 0, 0


# --------------------------------------------------------------------------- the driver

#: yields calls that may run side by side, each a function and its arguments; gets their results
Routine = Generator[list[Any], list[Any], None]


class _Elimination:
    """The computation of one graph's elimination order, with kernels in parallel threads.

    Generators run side by side in the caller's thread; only kernels run in other threads.
    """

    def __init__(
        self, graph: Core, widest: int, advance: Callable[[int], object], threads: int
    ) -> None:
        self.graph, self.widest, self.advance = graph, widest, advance
        self.executor = Pool(threads)
        #: what kernels read
        self.stop = np.zeros(1, np.int64)
        #: what every generator waits for: its calls
        self.pending: dict[Routine, list[Future[Any]]] = {}
        #: what is eliminated in advance, in order
        self.low: list[NDArray[np.uint32]] = []
        #: the core's vertices, and their order
        self.vertices = self.order = np.empty(0, VERTEX)

    def go_on(self, routine: Routine, results: list[Any] | None = None) -> None:
        """Resume a generator with the results of the calls it yielded; submit its next calls."""
        with suppress(StopIteration):
            calls = routine.send(results)  # type: ignore[arg-type]
            self.pending[routine] = [self.executor.submit(*call) for call in calls]

    def run(self) -> None:
        """Compute the elimination order of the graph, with kernels in parallel threads."""
        try:
            self.go_on(self.reduce())
            while self.pending:
                under_way = [call for calls in self.pending.values() for call in calls]
                # with a timeout, for else Ctrl-C is not heard on every system
                wait([call for call in under_way if not call.done()], POLL_SECONDS, FIRST_COMPLETED)
                for routine, calls in list(self.pending.items()):
                    if all(call.done() for call in calls):
                        del self.pending[routine]
                        self.go_on(routine, [call.result() for call in calls])
        finally:
            # Ctrl-C, or an exception: kernels return soon
            self.stop[0] = 1
            self.executor.shutdown(wait=False, cancel_futures=True)

    def reduce(self) -> Routine:
        """Eliminate vertices of low degree, then start the dissection of the core."""
        graph = self.graph
        n, m = graph.starts.size - 1, graph.heads.size
        table = np.empty((n, low_degree.VERTEX_COLUMNS), VERTEX)
        eliminated, listed = np.empty(n, VERTEX), np.zeros((2, n), VERTEX)
        counts = yield [(low_degree.peel_kernel, *graph, table, listed[0], eliminated, self.stop)]
        self._place_low(eliminated, 0, counts[0])
        heads, following = np.empty((2, m), VERTEX)
        lists = table, heads, following
        memory = listed, eliminated, self.stop
        chunks = max(1, n // CHUNK)
        ranges = list(pairwise(n * i // chunks for i in range(chunks + 1)))
        yield [(low_degree.list_arcs_kernel, *some, *graph, *lists, self.stop) for some in ranges]
        counts = yield [(low_degree.rounds_kernel, *some, *lists, *memory) for some in ranges]
        for (first, _), count in zip(ranges, counts, strict=True):
            self._place_low(eliminated, first, count)
        if chunks > 1:
            # now those at the borders
            table[:, [low_degree.TOUCHED, low_degree.LISTED]] = 0
            counts = yield [(low_degree.rounds_kernel, 0, n, *lists, *memory)]
            self._place_low(eliminated, 0, counts[0])
        left = n - sum([part.size for part in self.low])
        core, starts = np.empty(left, VERTEX), np.empty(left + 1, ARC)
        core_heads = np.empty(m, VERTEX)
        counts = yield [(low_degree.core_kernel, *lists, core, starts, core_heads, self.stop)]
        self.vertices, self.order = core, np.empty(left, VERTEX)
        self.core = Core(starts, core_heads[: counts[0]].copy())
        rows = starts, self.core.heads, np.arange(left, dtype=VERTEX)
        self.pieces = Pieces(*(np.array([row, row]) for row in rows))
        self.go_on(self._dissect(0, left, 0))

    def _place_low(self, eliminated: NDArray[np.uint32], first: int, count: int) -> None:
        self.low.append(eliminated[first : first + count].copy())
        self.advance(count)

    def _dissect(self, first: int, last: int, row: int) -> Routine:
        """Order the vertices of a subgraph: in one task if small, else by splitting it in two."""
        n = last - first
        if n <= GRAIN:

            def dissect_alone() -> tuple[int, int]:
                begin, end = self.pieces.starts[row, [first, last]]
                scratch = new_scratch(n, int(end - begin))
                hops, part = np.empty((4, n), VERTEX), np.empty((2, n), np.uint8)
                memory = hops, scratch, part, self.order, self.stop
                piece = self.core, self.pieces, first, last, row, self.widest
                return _dissect_kernel(*piece, *memory)  # type: ignore[no-any-return]

            too_wide = yield [(dissect_alone,)]
            self._check(*too_wide[0])
            self.advance(n)
            return
        starts, heads, names = self.pieces.views(first, last, row)
        part = np.empty(n, np.uint8)
        hops, queue = np.empty((4, n), VERTEX), np.empty(n + 1, VERTEX)
        connected = yield [(landmarks_kernel, starts, heads, hops, queue, self.stop)]
        if not connected[0]:
            yield [(components_kernel, starts, heads, part, queue, self.stop)]
        else:
            best, score = np.full(1, np.inf), np.inf

            def cut(direction: int, share: float) -> tuple[float, NDArray[np.uint8]]:
                found, scratch = np.empty(n, np.uint8), new_scratch(n, int(starts[n] - starts[0]))
                piece = starts, heads, hops, direction, share
                return cut_kernel(*piece, best, scratch, found, self.stop), found

            for share in SHARES_IF_HUGE if n > HUGE else (SHARE,):
                cuts = yield [(cut, direction, share) for direction in range(DIRECTIONS)]
                before = score
                for found, candidate in cuts:
                    if found < score:
                        score, part = found, candidate
                if before < np.inf and score > GAIN * before:
                    break
        row = 1 - row
        below = self.pieces.views(first, last, row)
        sizes = yield [(_split_kernel, starts, heads, names, part, queue, *below)]
        near, between = sizes[0]
        self._check(n, between)
        middle, end = first + near, last - between
        _spread_kernel(below[2][n - between :], self.order[end:last])
        self.advance(between)
        self.go_on(self._dissect(first, middle, row))
        self.go_on(self._dissect(middle, end, row))

    def _check(self, piece: int, separator: int) -> None:
        if separator > self.widest:
            raise SeparatorTooLarge(piece, separator)


def elimination_order(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    *,
    threads: int = 1,
    widest: int | None = None,
    advance: Callable[[int], object] = lambda count: None,
) -> NDArray[np.int32]:
    """Compute an elimination order of the vertices of a graph.

    Parameters
    ----------
    indptr : ndarray, shape (n + 1,), int64
    indices : ndarray, shape (m,), int32
        CSR arrays of an undirected graph: every arc both ways, no loops, no parallel arcs, heads
        ascending. Fewer than 2^32 - 1 arcs.
    threads : int, default 1
        They do not change the order.
    widest : int, optional
        Separators of more vertices are refused.
    advance : callable, optional
        Told how many more vertices have got their place, of n; by the caller's thread.

    Returns
    -------
    ndarray, shape (n,), int32
        The vertices; the first is eliminated first.

    Raises
    ------
    SeparatorTooLarge
        A separator has more than `widest` vertices: as soon as it is found.
    ValueError
        Too many arcs.

    Notes
    -----
    Time grows as n log n on road networks: 7 microseconds for a vertex of the core on one core.
    What other threads do ends within half a second after Ctrl-C, or any exception.
    """
    n = indptr.size - 1
    if indices.size >= NONE:
        raise ValueError(f"an order takes fewer than {NONE} arcs, not {indices.size}")
    graph = Core(seal(indptr.view(ARC)), seal(indices.view(VERTEX)))
    making = _Elimination(graph, n if widest is None else widest, advance, threads)
    making.run()
    return np.concatenate([*making.low, making.vertices[making.order]]).view(INDEX)
