"""Customization: weights of chordal arcs (Dibbelt, Strasser and Wagner 2016, section 4).

Every chordal arc gets two weights, that of the shortest way up along it and that of the way down,
in two passes over the triangles of chordal arcs. Say v is below x and x below y:

- *basic*, upward: the arc between x and y falls to the way over v. Then every shortest
  path is as short as some way that climbs and then descends.
- *perfect*, downward: the arcs above v fall to the ways over x and y. Then every chordal arc
  weighs what its ends are apart.

Both walk over the middle vertex x, mark the arcs above it once, and run through what is left of the
list of every v below: it is contiguous. Basic then writes arcs above x alone, perfect writes arcs
above lower vertices alone, so subtrees go side by side (`sssp.order.structure`).

An arc that perfect has made shorter is no use to a sweep, for there is a way without it that is
as short. What is left, about three arcs in four, is packed. (To drop an arc that is merely as long
as another way would be wrong: its two sides may each be the other's reason.)

Where a weight is negative, the first pass stops at a cycle below zero: once all that is below the
two ends of an arc is done, such a cycle shows as an arc whose two ways add up to less than nothing.
If there is none, a climb and a sweep from all vertices at once, with nothing pruned, give every
vertex a potential (Johnson 1977), and weights between potentials are not negative: all that
follows, here and in questions, goes on with those, and shifts its results back.

Integers: INF is no way. It bounds all sums of weights >= 0 by twice that, so nothing needs to be
tested before adding. A sum of two weights of arcs that reaches INF is dropped; that was none if
every weight is below half of it, which is looked at afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.sweeps import place_from
from sssp.cpu.vectors import add, choose, load, minimum, store, swap
from sssp.engine.workers import Pool, Spare, do_all, ordered_map
from sssp.kernels.dtypes import FLOAT64, INDEX, Number, infinity, safe_length
from sssp.kernels.jit import njit
from sssp.kernels.locks import make_lock
from sssp.order.structure import NO_SLOT, Structure

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
#: greater than the number of any arc
ALL = np.uint64(1) << np.uint64(40)
#: parts, for every thread, that work is cut into where no tree says how
PARTS = 4
#: arcs that are packed in one call, at most
MOST_AT_ONCE = 1 << 20
#: bytes of a line of cache, where an array begins
LINE = 64
UINT32 = np.dtype(np.uint32)
#: weights that a layer of changes may hold in any case, and as a part of all
FEW, HELD_SHARE = 10_000, 12


class PackedArcs(NamedTuple):
    """The chordal arcs that sweeps use: for every rank, the arcs to or from higher ranks.

    Attributes
    ----------
    first : ndarray, shape (n + 1,), uint32
    ends : ndarray, uint32
        The rank above.
    weights : ndarray, of the dtype of the distances
    """

    first: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    weights: NDArray[Any]


@dataclass(eq=False)
class Whole:
    """All weights of a full customization, which partial customizations change and restore.

    Attributes
    ----------
    basic, perfect : ndarray, shape (2 c,)
        Up and down along every chordal arc. A change writes here, and takes it back.
    up, down : PackedArcs
        What is kept of it.
    order : ndarray, shape (n,), int32
        The vertex of every rank.
    tops : ndarray, shape (2,)
        How many ranks have no packed arc up, and how many none down.
    deepest : int
        No way up has more arcs.
    greatest : float
        The greatest basic weight.
    lock : RLock
        Held during a change.
    is_changing : bool
        Whether a change writes here. With the lock free it was never finished, as in the child of a
        fork: then the weights are not whole.
    """

    basic: NDArray[Any]
    perfect: NDArray[Any]
    up: PackedArcs
    down: PackedArcs
    order: NDArray[np.int32]
    tops: NDArray[np.int64]
    deepest: int
    greatest: float
    lock: Any = field(default_factory=make_lock)
    is_changing: bool = False

    @cached_property
    def vertices_above(self) -> NDArray[np.uint32]:
        """The vertex at the upper end of every packed downward arc."""
        return self.order[self.down.ends].view(np.uint32)

    @cached_property
    def climbs(self) -> NDArray[np.float64]:
        """Length of the longest path up from each rank (row 0) and down to each rank (row 1)."""
        return _measure_climbs(self.up, self.down)

    @cached_property
    def longest(self) -> float:
        """Upper bound on the length of any upward path followed by a downward path."""
        return float(self.climbs.max(axis=1, initial=0).sum())

    @property
    def most_held(self) -> int:
        """Greatest number of changed weights that a partial customization may store."""
        return max(FEW, self.basic.size // HELD_SHARE)

    @cached_property
    def scratch(self) -> tuple[NDArray[Any], ...]:
        """Scratch arrays for partial customizations; each customization clears them at its end.

        Of every rank: a number, whether it is touched, a place; of every chordal arc whether it is
        marked.
        """
        n, marks = self.order.size, np.zeros(self.basic.size // 2, np.uint8)
        return np.empty(n, np.uint32), np.zeros(n, np.uint8), np.empty(n, INDEX), marks

    @cached_property
    def log(self) -> tuple[NDArray[Any], ...]:
        """The log of a partial customization: changed ranks, their old weights, and counters."""
        ranks = min(self.order.size, self.most_held)
        held = np.empty((2, self.most_held), self.basic.dtype)
        return np.empty(ranks, np.uint32), np.empty(ranks, np.int64), held, np.zeros(3, np.int64)


class Layer(NamedTuple):
    """The differences of a changed customization from its base: the changed ranks and weights.

    Attributes
    ----------
    ranks : ndarray, shape (p,), uint32
        Ranks with other arcs or weights, ascending.
    weights : ndarray, shape (2, t)
        Basic and perfect weights of all chordal arcs above these ranks, up and down alternating.
    up, down : PackedArcs
        Those that sweeps need, by place in `ranks`.
    """

    ranks: NDArray[np.uint32]
    weights: NDArray[Any]
    up: PackedArcs
    down: PackedArcs

    @classmethod
    def empty(cls, dtype: Number) -> Layer:
        """Return a layer (changes on top of a base map) that changes no arcs."""
        nothing = PackedArcs(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, dtype))
        return cls(np.empty(0, np.uint32), np.empty((2, 0), dtype), nothing, nothing)


class Metric(NamedTuple):
    """Customized arc weights of a hierarchy: base arrays, and a layer that replaces some of them.

    Attributes
    ----------
    base_up, base_down : PackedArcs
        Arcs of the base that lead up from a rank, and those that lead down to it.
    layer : Layer
    fits : bool
        Whether no sum, here or in a sweep, can leave the dtype: no way that climbs and then
        descends is that long.
    joined : bool
        Whether every vertex reaches every other.
    potentials : ndarray, shape (n,), or None
        Of every vertex, where a weight is negative: a way from u to v is longer than its arcs here
        by ``potentials[v] - potentials[u]``.
    whole : Whole or None
        What versions with some other weights are made from; None where weights are negative.
    """

    base_up: PackedArcs
    base_down: PackedArcs
    layer: Layer
    fits: bool
    joined: bool
    potentials: NDArray[Any] | None = None
    whole: Whole | None = None

    @property
    def up(self) -> tuple[NDArray[Any], ...]:
        """Arrays of the upward arcs: of the base map, then of ranks with changed weights."""
        return (*self.base_up, self.layer.ranks, *self.layer.up)

    @property
    def down(self) -> tuple[NDArray[Any], ...]:
        """Arrays of downward arcs: those of the base weights, then those of changed ranks."""
        return (*self.base_down, self.layer.ranks, *self.layer.down)

    def reversed(self) -> Metric:
        """Return the weights of the reversed graph: upward and downward arcs are swapped."""
        back = None if self.potentials is None else -self.potentials
        layer = self.layer._replace(up=self.layer.down, down=self.layer.up)
        return Metric(self.base_down, self.base_up, layer, self.fits, self.joined, back)

    def down_to_vertices(self, order: NDArray[np.int32]) -> tuple[NDArray[Any], ...]:
        """Return the downward arcs as arrays that number the upper ends by vertex, not by rank."""
        (first, ends, weights), whole = self.base_down, self.whole
        above = order[ends].view(np.uint32) if whole is None else whole.vertices_above
        own = self.layer.down
        own = own._replace(ends=order[own.ends].view(np.uint32))
        return (first, above, weights, self.layer.ranks, *own)


_NO_LAYER = Layer.empty(FLOAT64)
#: where sums may leave the dtype from the start
NO_METRIC = Metric(_NO_LAYER.up, _NO_LAYER.down, _NO_LAYER, fits=False, joined=False)


class _CycleBelowZeroError(Exception):
    """Raised at a cycle of negative length, which ends the customization."""


@njit
def _first_weights_kernel(low, high, slots, arc_weights, weights, inf):
    """Copy the weights of the graph's arcs low..high-1 to their directed chordal arcs.

    `weights` comes with INF everywhere.
    """
    for arc in range(low, high):
        slot = slots[arc]
        # (a closed arc weighs more)
        if slot != NO_SLOT and arc_weights[arc] < inf:
            weights[slot] = arc_weights[arc]


@njit
def _basic_kernel(
    low, high, arc_low, arc_high, first, upper, lower_first, lower, rest, weights, above, inf=None
):
    """Lower the weights of arcs from ranks low..high-1 to higher ranks by lower triangles.

    `inf` is a number and a switch. Without it (None) no weight is negative: sums are plain, for two
    times INF fits the dtype and lowers nothing, and False is returned. With it weights may be
    negative: a sum with INF is INF, for INF less something would pass as a way; and a rank is
    looked through for cycles once it is done.

    With `inf`, return whether a negative cycle was found; only valid if all of `lower` is looked
    at, for then the paths found so far are simple.

    Arguments
    ---------
    arc_low, arc_high : uint64; of lower vertices, those whose arcs are from the one up to the other
    first, upper, lower_first, lower, rest : of the structure, unsigned
    weights : shape (2 c,)
        Up and down along every arc; those above these ranks are written.
    above : shape (n,), uint32, of one worker
        Where the arc to every rank above is; scratch.
    inf : INF, where a weight may be negative; else None
    """
    number = weights.dtype.type
    for x in range(np.uint64(low), np.uint64(high)):
        for arc in range(first[x], first[x + ONE]):
            above[upper[arc]] = arc
        start, end = np.uint64(lower_first[x]), np.uint64(lower_first[x + ONE])
        start += np.uint64(place_from(arc_low, lower[start:end]))
        for k in range(start, end):
            below = np.uint64(lower[k])
            if below >= arc_high:
                break
            # from x down, and to x up
            back = swap(load(weights, TWO * below, 2))
            for other in range(below + ONE, below + ONE + np.uint64(rest[k])):
                far, arc = load(weights, TWO * other, 2), TWO * np.uint64(above[upper[other]])
                way = add(back, far)
                if inf is not None:
                    way = choose(back, inf, inf, choose(far, inf, inf, way))
                store(weights, arc, minimum(load(weights, arc, 2), way))
        if inf is not None:
            for arc in range(first[x], first[x + ONE]):
                up, down = weights[TWO * arc], weights[TWO * arc + ONE]
                if up < inf and down < inf and number(up + down) < 0:
                    return True
    return False


@njit
def _potentials_kernel(first, upper, weights, inf, potentials):
    """Compute potentials (distances from all ranks at once), and reduce the weights by them.

    `potentials` is 0 on entry. Negative weights, which rounding leaves, become 0.
    """
    number = weights.dtype.type
    n = np.uint64(potentials.size)
    for v in range(n):
        for arc in range(first[v], first[v + ONE]):
            if weights[TWO * arc] < inf:
                candidate = number(potentials[v] + weights[TWO * arc])
                potentials[upper[arc]] = min(potentials[upper[arc]], candidate)
    for i in range(n):
        v = n - ONE - i
        for arc in range(first[v], first[v + ONE]):
            if weights[TWO * arc + ONE] < inf:
                candidate = number(potentials[upper[arc]] + weights[TWO * arc + ONE])
                potentials[v] = min(potentials[v], candidate)
    for v in range(n):
        for arc in range(first[v], first[v + ONE]):
            height = number(potentials[upper[arc]] - potentials[v])
            up, down = weights[TWO * arc], weights[TWO * arc + ONE]
            if up < inf:
                weights[TWO * arc] = max(number(0), number(up - height))
            if down < inf:
                weights[TWO * arc + ONE] = max(number(0), number(down + height))


@njit
def _perfect_kernel(
    low, high, arc_low, arc_high, first, upper, lower_first, lower, rest, weights, above
):
    """Relax all triangles whose middle rank is low..high-1, from the top down (perfect pass).

    Arguments as of `_basic_kernel`, without INF. The arcs above these ranks are final; those of
    lower vertices are read and written.
    """
    x = np.uint64(high)
    while x > np.uint64(low):
        x -= ONE
        start, end = np.uint64(lower_first[x]), np.uint64(lower_first[x + ONE])
        if start == end:
            continue
        for arc in range(first[x], first[x + ONE]):
            above[upper[arc]] = arc
        start += np.uint64(place_from(arc_low, lower[start:end]))
        for k in range(start, end):
            below = np.uint64(lower[k])
            if below >= arc_high:
                break
            near = load(weights, TWO * below, 2)
            for other in range(below + ONE, below + ONE + np.uint64(rest[k])):
                slot, arc = TWO * other, TWO * np.uint64(above[upper[other]])
                far, over = load(weights, slot, 2), load(weights, arc, 2)
                near = minimum(near, add(far, swap(over)))
                store(weights, slot, minimum(far, add(near, over)))
            store(weights, TWO * below, near)


@njit
def count_kernel(start, end, basic, weights, inf):
    """Count the up and down arcs that sweeps need in a range of arcs; find the greatest weight.

    In loops that the compiler turns into vector operations.
    """
    nothing = weights.dtype.type(0)
    basic, weights = basic[2 * start : 2 * end], weights[2 * start : 2 * end]
    greatest = nothing
    for slot in range(basic.size):
        greatest = max(greatest, basic[slot] if basic[slot] < inf else nothing)
    both = ups = 0
    for slot in range(basic.size):
        kept = np.int64((basic[slot] < inf) & (weights[slot] == basic[slot]))
        both += kept
        ups += kept & ~slot & 1
    return ups, both - ups, greatest


@njit
def pack_kernel(
    low, high, first, upper, basic, weights, inf, up_place, up_end, up_first, up_ends, up_weights,
    down_place, down_end, down_first, down_ends, down_weights,
):  # fmt: skip
    """Copy the chordal arcs that sweeps need to packed arrays, for ranks low..high-1.

    What is not kept is written too, where the next arc will stand, so that no branch depends on the
    weights; but for what comes after the last, at ``up_end`` and ``down_end``.
    """
    up_place, down_place = np.uint64(up_place), np.uint64(down_place)
    v = np.uint64(low)
    for arc in range(first[v], first[np.uint64(high)]):
        while first[v] == arc:
            up_first[v], down_first[v] = up_place, down_place
            v += ONE
        up, down = weights[TWO * arc], weights[TWO * arc + ONE]
        basic_up, basic_down = basic[TWO * arc], basic[TWO * arc + ONE]
        if up_place < up_end:
            up_ends[up_place] = upper[arc]
            up_weights[up_place] = up
            up_place += np.uint64((basic_up < inf) & (up == basic_up))
        if down_place < down_end:
            down_ends[down_place] = upper[arc]
            down_weights[down_place] = down
            down_place += np.uint64((basic_down < inf) & (down == basic_down))
    while v < np.uint64(high):
        up_first[v], down_first[v] = up_place, down_place
        v += ONE


@njit
def _climbs_kernel(first, ends, weights, climbs):
    """Find the length of the longest path upward from every rank along packed arcs."""
    v = np.uint64(climbs.size)
    while v > ZERO:
        v -= ONE
        climb = 0.0
        for arc in range(np.uint64(first[v]), np.uint64(first[v + ONE])):
            climb = max(climb, climbs[ends[arc]] + weights[arc])
        climbs[v] = climb


def arcs_of(structure: Structure) -> tuple[NDArray[Any], ...]:
    """Return the arrays of upward and downward chordal arcs that kernels take as arguments."""
    arcs_up = structure.first.view(np.uint64), structure.upper.view(np.uint32)
    return *arcs_up, structure.lower_first, structure.lower, structure.lower_rest


def _measure_climbs(*arcs: PackedArcs) -> NDArray[np.float64]:
    """Return for each rank the lengths of the longest paths up from it and down to it."""
    found = np.empty((2, arcs[0].first.size - 1))
    for side, climbs in zip(arcs, found, strict=True):
        _climbs_kernel(*side, climbs)
    return found


def customize(
    structure: Structure,
    slots: NDArray[np.uint32],
    arc_weights: NDArray[Any],
    dtype: Number,
    threads: int,
    *,
    signed: bool = False,
) -> Metric | None:
    """Compute the weights of a structure's chordal arcs from those of the graph's arcs.

    Parameters
    ----------
    structure : Structure
    slots : ndarray, shape (m,), uint32
        `slots_of` the graph.
    arc_weights : ndarray, shape (m,), of `dtype`
        Closed arcs weigh the greatest number of the dtype, or infinity.
    dtype : dtype
    threads : int
    signed : bool
        Whether a weight may be negative. No simple way may be longer than half of what the dtype
        holds then.

    Returns
    -------
    Metric or None
        None: there is a cycle below zero.

    Notes
    -----
    O(triangles) time.
    """
    work = Customization(structure, slots, arc_weights, dtype, threads)
    try:
        work.find_basic(signed)
    except _CycleBelowZeroError:
        return None
    potentials = work.potentials() if signed else None
    work.find_perfect()
    return work.pack(potentials)


class Customization:
    """One customization in progress: the weights of chordal arcs, and the passes that lower them.

    Attributes
    ----------
    weights : ndarray, shape (2 c,)
        Up and down along every chordal arc; at first those of the graph's arcs.
    basic : the same
        As they are before the perfect pass.
    """

    def __init__(
        self,
        structure: Structure,
        slots: NDArray[np.uint32],
        arc_weights: NDArray[Any],
        dtype: Number,
        threads: int,
    ) -> None:
        self.structure, self.arcs = structure, arcs_of(structure)
        self.threads = structure.threads_for(threads)
        self.parts = PARTS * self.threads if self.threads > 1 else 1
        self.dtype, self.inf, self.n = dtype, infinity(dtype), structure.order.size
        self.first, self.upper = self.arcs[:2]
        self.weights: NDArray[Any] = np.empty(2 * self.upper.size, dtype)
        self.basic = np.empty_like(self.weights)
        pieces = structure.shared.get_or_build(f"pieces, {self.parts} parts", self._cut)
        self.pieces: list[tuple[int, int]] = pieces
        self._spare = Spare(self._scratch)

        def clear(piece: tuple[int, int]) -> None:
            self.weights[slice(*(2 * self.first[list(piece)]).tolist())] = self.inf

        def write(arcs: tuple[int, int]) -> None:
            _first_weights_kernel(*arcs, slots, arc_weights, self.weights, self.inf)

        do_all(clear, self.pieces, self.threads)
        cuts = [slots.size * part // self.parts for part in range(self.parts + 1)]
        do_all(write, pairwise(cuts), self.threads)

    def _scratch(self) -> NDArray[np.uint32]:
        return np.empty(self.n, np.uint32)

    def find_basic(self, signed: bool) -> None:
        """Run the basic customization; raise `_CycleBelowZeroError` at a negative cycle."""
        inf = [self.inf] if signed else []

        def find(low: int, high: int, above: NDArray[np.uint32]) -> None:
            if _basic_kernel(low, high, ZERO, ALL, *self.arcs, self.weights, above, *inf):
                raise _CycleBelowZeroError
            if not signed:
                self._keep_basic(low, high)

        def find_together(low: int, high: int, pool: Pool) -> None:
            # over what is below the range, every rank by itself; then over what is within
            inside = self.first[low]
            below = partial(self._run, _basic_kernel, ZERO, inside)
            for part in [pool.submit(below, rank, rank + 1) for rank in range(low, high)]:
                part.result()
            self._run(_basic_kernel, inside, ALL, low, high)
            self._keep_basic(low, high)

        together = None if signed else find_together
        self.structure.tasks.run(find, self.threads, self._scratch, together)

    def _keep_basic(self, low: int, high: int) -> None:
        """Copy to `basic` the weights of arcs whose lower end is a rank in low..high-1."""
        arcs = slice(2 * int(self.first[low]), 2 * int(self.first[high]))
        self.basic[arcs] = self.weights[arcs]

    def _run(self, kernel: Any, start: Any, end: Any, low: int, high: int) -> None:
        """Run a customization kernel on ranks low..high-1 and arcs start..end-1 of lower ranks."""
        with self._spare.lend() as above:
            kernel(low, high, start, end, *self.arcs, self.weights, above)

    def potentials(self) -> NDArray[Any]:
        """Reduce the weights by potentials of the ranks; return the potentials."""
        found = np.zeros(self.n, self.dtype)
        _potentials_kernel(self.first, self.upper, self.weights, self.inf, found)
        self._keep_basic(0, self.n)
        return found

    def find_perfect(self) -> None:
        """Run the perfect customization: chordal arcs get the distances between their ends."""

        def find(low: int, high: int, above: NDArray[np.uint32]) -> None:
            _perfect_kernel(low, high, ZERO, ALL, *self.arcs, self.weights, above)

        def find_together(low: int, high: int, pool: Pool) -> None:
            # within the range; then for what is below, some vertices by themselves
            inside = self.first[low]
            self._run(_perfect_kernel, inside, ALL, low, high)
            # For what is below, triangles of one lowest vertex write only arcs above that vertex.
            # So the arcs may be cut wherever the list of a vertex ends, and all parts pass the
            # whole range; where the cuts are decides only how even the parts are. The lower arcs of
            # one rank are taken as a sample of those of all ranks of the range: every part gets
            # about as many of them. The rank in the middle stands for the range.
            middle = (low + high) // 2
            own = slice(*self.structure.lower_first[middle : middle + 2])
            ends = self.structure.lower[own] + self.structure.lower_rest[own] + 1
            ends = ends[ends < inside]
            cuts = np.unique(ends[:: max(1, ends.size // self.parts)]).astype(np.uint64)
            ranges = pairwise([ZERO, *cuts, inside])
            parts = [pool.submit(self._run, _perfect_kernel, *ends, low, high) for ends in ranges]
            for part in parts:
                part.result()

        run = self.structure.tasks.run
        run(find, self.threads, self._scratch, find_together, downward=True)

    def pack(self, potentials: NDArray[Any] | None) -> Metric:
        """Pack the upward and downward arcs that sweeps need into arrays, as a `Metric`."""
        pieces = self.pieces

        def count(piece: tuple[int, int]) -> Any:
            start, end = self.first[list(piece)].tolist()
            return count_kernel(start, end, self.basic, self.weights, self.inf)

        counts = list(ordered_map(count, pieces, self.threads))
        ups, downs = (list(accumulate((kept[i] for kept in counts), initial=0)) for i in range(2))
        up, down = allocate_arcs(self.n, (ups[-1], downs[-1]), self.dtype)

        def pack(piece: int) -> None:
            pack_kernel(
                *pieces[piece], self.first, self.upper, self.basic, self.weights, self.inf,
                ups[piece], ups[piece + 1], *up, downs[piece], downs[piece + 1], *down,
            )  # fmt: skip

        do_all(pack, range(len(pieces)), self.threads)
        # no path has more arcs than the tree is deep; if that does not tell, paths are measured
        below = 0.0 if potentials is None else 2.0 * float(potentials.min(initial=0))
        greatest = float(max(kept[2] for kept in counts))
        deepest = max(1, int(self.structure.depth.max(initial=0)))
        most = safe_length(self.dtype)
        fits = 2.0 * deepest * greatest - below < most
        if not fits:
            with np.errstate(over="ignore"):  # (an infinite sum does not fit)
                longest = float(_measure_climbs(up, down).max(axis=1, initial=0).sum())
            fits = max(longest, 2.0 * greatest) - below < most
        # a rank without a way up is a top; a source reaches all that have a way down from there
        firsts, order = (up.first, down.first), self.structure.order
        tops = np.array([np.count_nonzero(first[1:] == first[:-1]) for first in firsts])
        joined = bool((tops == 1).all())
        metric = Metric(up, down, Layer.empty(self.dtype), fits, joined)
        if potentials is None:
            whole = Whole(self.basic, self.weights, up, down, order, tops, deepest, greatest)
            return metric._replace(whole=whole)
        return metric._replace(potentials=potentials[self.structure.rank])

    def _cut(self) -> list[tuple[int, int]]:
        """Return consecutive ranges of ranks with about equally many chordal arcs."""
        arcs = self.upper.size
        pieces = max(self.parts, arcs // MOST_AT_ONCE)
        even = np.arange(1, pieces) * arcs // pieces
        cuts = np.searchsorted(self.first, even.astype(np.uint64))
        return list(pairwise([0, *np.unique(cuts[(cuts > 0) & (cuts < self.n)]).tolist(), self.n]))


def allocate_arcs(n: int, sizes: tuple[int, int], dtype: Number) -> tuple[PackedArcs, PackedArcs]:
    """Allocate arrays for upward and downward arcs in one block, so that it gets large pages."""
    parts = [part for s in sizes for part in ((n + 1, UINT32), (s, UINT32), (s, dtype))]
    ends = list(accumulate(-(-size * kind.itemsize // LINE) * LINE for size, kind in parts))
    memory = np.empty(ends[-1], np.uint8)
    arrays: list[NDArray[Any]] = [
        memory[begin : begin + size * kind.itemsize].view(kind)
        for begin, (size, kind) in zip([0, *ends], parts, strict=False)
    ]
    arrays[0][n], arrays[3][n] = sizes
    return PackedArcs(*arrays[:3]), PackedArcs(*arrays[3:])
