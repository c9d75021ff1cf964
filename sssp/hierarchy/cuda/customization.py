"""New weights for a structure on a GPU: customization, bundle by bundle, and packing for sweeps.

The twin of `sssp.hierarchy.customization`, on the pieces that `sssp.hierarchy.bundles` cuts the
elimination tree into: the basic pass goes up through tiers and levels, Floyd-Warshall closes the
top, the perfect pass comes back down and packs what is kept.

A thread block holds the *ways* of a bundle in shared memory, up and down along every arc: first the
arcs above its members, in the order of places, then those within its boundary, which belong to the
bundles above; ways over members come to them at the end. A member is the lower corner of triangles:
two arcs of its own, the *legs*, and the arc between their heads, the *third* side. Triangles are
listed once for a structure, by these numbers. Those of members of one depth go together, a *step*,
a thread each, and the next two of a thread are read ahead. Where a warp is enough for a bundle a
block has several, which do not wait for each other.

On levels, where separators are too wide for shared memory, a block takes a vertex, and finds the
third sides of its triangles among sorted arcs.

Several *sets* of weights are found together: whatever a set has of its own stands in a row of an
array, and so does a set in a grid of blocks. One set alone leaves most of a GPU idle.

Weights are never negative here: where the graph's are, those between potentials take their place.
Lengths of climbs, which bound all sums, are kept as 32-bit floats, by their bits, which order as
they do. They are found only where the greatest weight, which the basic pass knows, does not bound
them well enough.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, from_dtype, int32, int64, uint32, uint64

from sssp.cuda.compiler import SIMULATOR, bits_of, cuda, inline, kernel, number_of
from sssp.cuda.device.warp import (
    WARP,
    ballot,
    from_lane,
    least_of_warp,
    sums_of_warp,
    warp_barrier,
)
from sssp.cuda.device.warp import rank as takers_before
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.hierarchy.cuda.arcs import HALF, LOW_HALF, down_slot, place_of, rows_of, up_slot
from sssp.hierarchy.cuda.sweeps import ENDS, LEVEL_AT, ROW_BITS, arc_writer
from sssp.hierarchy.structure import NO_SLOT
from sssp.kernels.dtypes import FLOAT32, infinity

__all__ = [
    "APART",
    "FARTHEST",
    "GREATEST",
    "LONGEST_DOWN",
    "LONGEST_UP",
    "UNIT",
    "VERTEX_THREADS",
    "WORDS",
    "Room",
    "make_basic_kernel",
    "make_basic_level_kernel",
    "make_changes_kernel",
    "make_first_weights_kernel",
    "make_from_top_kernel",
    "make_perfect_kernel",
    "make_perfect_level_kernel",
    "make_to_top_kernel",
]

Crews = tuple[tuple[int, tuple[int, int]], ...]

#: words of ``found``: whether some vertex cannot climb or be climbed down to; by their bits, the
#: greatest weight of an arc before the perfect pass, the greatest distance within the top, and the
#: longest ways up and down, if they have been measured
APART, GREATEST, FARTHEST, LONGEST_UP, LONGEST_DOWN, WORDS = 0, 1, 2, 3, 4, 5
#: threads of a block that takes a vertex, on a level or in the top
VERTEX_THREADS = 2 * WARP if SIMULATOR else 128
#: bytes that the memory of a bundle is counted in: ways up and down along an arc, of any dtype
UNIT = 16
#: registers of a thread, so that a block may have 1,024 of them; of one that packs fewer, so that a
#: multiprocessor has more blocks
REGISTERS, PACKING_REGISTERS = 64, 44
#: more rows than any bundle has
ANY = 1 << ROW_BITS
#: rows up to which a bundle has so many threads, in the basic pass and in the perfect pass
CREWS: Crews = (48, (32, 32)), (64, (256, 256)), (88, (512, 512)), (ANY, (1024, 1024))
#: the same where there are blocks enough, of several sets
CREWS_OF_SETS: Crews = (48, (32, 32)), (64, (64, 128)), (88, (256, 256)), (ANY, (512, 512))
if SIMULATOR:
    CREWS = CREWS_OF_SETS = (4, (WARP, WARP)), (ANY, (2 * WARP, 2 * WARP))
#: bundles of a block, if a warp is enough for each
SIDE_BY_SIDE = 2

#: longer arcs count as that long
FAR = 1e38

_bits = bits_of(FLOAT32)
_length = number_of(FLOAT32)


@cache
def _make_length_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that gives the length of an arc as a 32-bit float."""
    if dtype.kind == "i":

        def length_of(weight):
            return float32(weight)

    else:

        def length_of(weight):
            return float32(min(weight, FAR))

    return inline(length_of)


@inline
def _note(found, word, length):
    """Let a word of what has been found be no less than a length."""
    if int32(_bits(length)) > found[word]:
        cuda.atomic.max(found, word, int32(_bits(length)))


def _shares(rows, arcs, numbers, words_a_number):
    """Return where in a bundle's shared memory everything begins, in words.

    First come the numbers, of ways; then where every step ends, and, for the perfect pass, where
    the arcs of every member begin, two lengths for every row, how many arcs down of every member
    are kept and how many groups come before them, whether arcs up and down are kept, a bit each.
    The last is where all ends.
    """
    ends = numbers * words_a_number
    starts = ends + rows
    lengths = starts + rows + 1
    groups = lengths + 2 * rows
    up_bits = groups + 2 * rows
    down_bits = up_bits + arcs // WARP + 1
    return ends, starts, lengths, groups, up_bits, down_bits, down_bits + arcs // WARP + 1


_shares_here = inline(_shares)


class Room(NamedTuple):
    """What a bundle needs of its block.

    Attributes
    ----------
    rows : int
        Most members and boundary vertices of a bundle.
    arcs : int
        Most arcs above its members.
    ways : int
        Most of these and the pairs of its boundary vertices together.
    """

    rows: int
    arcs: int
    ways: int

    def crew(self, sets: int, *, packs: bool) -> tuple[int, int]:
        """How many threads it has, and how many bundles a block has."""
        crews = CREWS if sets == 1 else CREWS_OF_SETS
        threads = next(crew[packs] for most, crew in crews if self.rows <= most)
        return threads, SIDE_BY_SIDE if threads == WARP else 1

    def numbers(self, *, packs: bool) -> int:
        """How many numbers it holds: all ways up and down, and what they were if it packs them."""
        return 2 * (self.ways + (self.arcs if packs else 0))

    def shared_bytes(self, dtype: np.dtype[Any], *, packs: bool, outside: bool) -> int:
        """Bytes of shared memory, a multiple of `UNIT`, without the numbers or with them."""
        end: int
        numbers = 0 if outside else self.numbers(packs=packs)
        _, starts, *_, end = _shares(self.rows, self.arcs, numbers, dtype.itemsize // 4)
        return -(-4 * (end if packs else starts) // UNIT) * UNIT


@cache
def make_changes_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that changes the weights of some arcs in some sets."""

    @kernel
    def _changes_kernel(places, values, arc_weights):
        """Change weights, a thread a change.

        =========== ======= ====== ===========================================
        argument    shape   dtype  written by
        =========== ======= ====== ===========================================
        places      (k,)    int64  host: a set's number times m, plus an arc's
        values      (k,)    number host
        arc_weights (s * m) number host: before; here: some of them
        =========== ======= ====== ===========================================
        """
        own = cuda.grid(1)
        if own < places.size:
            arc_weights[places[own]] = values[own]

    return _changes_kernel


# ---- basic pass


@inline
def _own_block():
    """Return the number of a block among those of its set, and that of the set.

    Blocks of one number are next to each other, so that what sets share is read once.
    """
    block = int64(cuda.blockIdx.y) * int64(cuda.gridDim.x) + int64(cuda.blockIdx.x)
    own = int64(block // int64(cuda.gridDim.y))
    return own, uint32(block - own * int64(cuda.gridDim.y))


@cache
def _make_given(dtype: np.dtype[Any]) -> Any:
    """Return a device function that gives the weight which an arc of the graph brings to a slot."""
    number, inf = from_dtype(dtype), infinity(dtype).item()

    @inline
    def given(arc_weights, givers, slot):
        giver, weight = givers[slot], number(inf)
        if giver != uint32(NO_SLOT):
            # (a closed arc weighs more)
            weight = min(arc_weights[giver], number(inf))
        return weight

    return given


@cache
def make_first_weights_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that all other kernels of a customization begin from."""
    inf, given = infinity(dtype).item(), _make_given(dtype)

    @kernel
    def _first_weights_kernel(count, arc_weights, givers, weights, matrix, found):
        """Give chordal arcs, both ways, the weights of the graph's arcs; clear the rest.

        A thread a chordal arc and direction, or an entry of the matrix, whatever is more.

        =========== ================ ====== =========================================
        argument    shape            dtype  written by
        =========== ================ ====== =========================================
        count       scalar           uint32 host: two for each arc above the lowest tier
        arc_weights (s, m)           number host
        givers      (2 c,)           uint32 `placed_givers_kernel`
        weights     (s, 2 c)         number here: up and down along these arcs
        matrix      (s, size * size) number here: INF
        found       (s, WORDS)       int32  here: 0
        =========== ================ ====== =========================================
        """
        block, weighed = _own_block()
        own = block * int64(cuda.blockDim.x) + int64(cuda.threadIdx.x)
        if own < count:
            weights[weighed, own] = given(arc_weights[weighed], givers, own)
        if own < matrix.shape[1]:
            matrix[weighed, own] = inf
        if own < WORDS:
            found[weighed, own] = 0

    return _first_weights_kernel


@inline
def _up(arc):
    """Return where the way up along an arc stands in shared memory; that down is the next.

    (With 64 bits, shifted last, the compiler sees that both can be read at once.)
    """
    return uint64(uint64(uint32(arc)) << uint64(1))


@cache
def _make_lend(dtype: np.dtype[Any], *, outside: bool) -> Any:
    """Return a device function that lends a bundle its numbers, and the place of its first arc."""
    number, arcs_a_unit = from_dtype(dtype), UNIT // 2 // dtype.itemsize
    if outside:

        def lent(spare, in_tier, weighed, numbers, units):
            own = int64(in_tier) * int64(cuda.gridDim.y) + int64(weighed)
            begin = int64(own * int64(numbers))
            return spare[begin : begin + int64(numbers)], uint32(0)

    else:

        def lent(spare, in_tier, weighed, numbers, units):
            numbers = cuda.shared.array(0, number, alignment=ALIGNMENT)
            return numbers, uint32(cuda.threadIdx.y * units * arcs_a_unit)

    return inline(lent)


@inline
def _meet():
    """Wait for all threads of a bundle."""
    if cuda.blockDim.y > 1:
        warp_barrier()
    else:
        cuda.syncthreads()


@cache
def _make_walk(relax: Any, *, from_below: bool) -> Any:
    """Return a device function that relaxes the triangles of a bundle, step by step.

    Words say where every step ends, in the order in which they are walked.

    ``relax(numbers, basic, ways, legs, third)`` takes one of them, by its words; `basic` and `ways`
    are the places of a bundle's first arc, as it was and as it becomes.
    """

    @inline
    def triangle(legs, thirds, own):
        """Return the words of one."""
        at = uint32(uint32(legs.size - 1) - own) if from_below else own
        return legs[at], uint32(thirds[at])

    @inline
    def settled(words, ends_at, stages, own, stage):
        """Return the place of a thread's next triangle and its step, from `own` in a step on."""
        while stage < stages and own >= words[uint32(ends_at + stage)]:
            own = uint32(words[uint32(ends_at + stage)] + cuda.threadIdx.x)
            stage = uint32(stage + 1)
        return own, stage

    @inline
    def walk(words, ends_at, stages, legs, thirds, numbers, basic, ways):
        threads = uint32(cuda.blockDim.x)
        # a thread's next two triangles are on their way while it relaxes, and while it waits
        own, later = settled(words, ends_at, stages, uint32(cuda.threadIdx.x), uint32(0))
        next_leg, next_third, next_stage = uint32(0), uint32(0), later
        if later < stages:
            next_leg, next_third = triangle(legs, thirds, own)
            own, later = settled(words, ends_at, stages, uint32(own + threads), later)
        then_leg, then_third, then_stage = uint32(0), uint32(0), later
        if later < stages:
            then_leg, then_third = triangle(legs, thirds, own)
            own, later = settled(words, ends_at, stages, uint32(own + threads), later)
        stage = uint32(0)
        while stage < stages:
            while next_stage == stage:
                leg, third = next_leg, next_third
                next_leg, next_third, next_stage = then_leg, then_third, then_stage
                then_stage = later
                if later < stages:
                    then_leg, then_third = triangle(legs, thirds, own)
                    own, later = settled(words, ends_at, stages, uint32(own + threads), later)
                relax(numbers, basic, ways, leg, third)
            _meet()
            stage = uint32(stage + 1)

    return walk


@cache
def make_basic_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel of the basic pass over bundles.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether ways are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    lent, given = _make_lend(dtype, outside=outside), _make_given(dtype)
    words_a_number = dtype.itemsize // 4
    length_of = _make_length_of(dtype)

    @inline
    def relax(numbers, _, ways, legs, third):
        """Let the third side fall to the ways over the lower corner."""
        one, other = _up(ways + (legs >> uint32(HALF))), _up(ways + (legs & uint32(LOW_HALF)))
        side = _up(ways + third)
        up, down = numbers[one], numbers[one + uint64(1)]
        other_up, other_down = numbers[other], numbers[other + uint64(1)]
        over, back = numbers[side], numbers[side + uint64(1)]
        way, way_back = number(down + other_up), number(other_down + up)
        if way < over:
            cuda.atomic.min(numbers, side, way)
        if way_back < back:
            cuda.atomic.min(numbers, side + uint64(1), way_back)

    walk = _make_walk(relax, from_below=True)

    @kernel(max_registers=REGISTERS)
    def _basic_kernel(
        first_bundle, last_bundle, units, room, arc_room, ways_room, bundle_first, step_first,
        step_triangles, arcs_first, triangle_first, legs, thirds, pair_first, pairs, pair_arcs,
        lowest, arc_weights, givers, weights, found, spare,
    ):  # fmt: skip
        """Let arcs fall to the ways over lower vertices, some threads a bundle and set.

        ============== ========== ====== ==========================================================
        argument       shape      dtype  written by
        ============== ========== ====== ==========================================================
        first_bundle   scalar     uint32 host: of the tier
        last_bundle    scalar     uint32 host: of the next
        units          scalar     uint32 host: of shared memory for a bundle
        room           scalar     uint32 host: most rows of a bundle
        arc_room       scalar     uint32 host: most arcs above its members
        ways_room      scalar     uint32 host: most arcs above its members and within its boundary
        bundle_first   (b + 1,)   int32  host: places
        step_first     (b + 1,)   uint32 host: where the steps of every bundle begin
        step_triangles (s,)       uint32 host: where the triangles of each begin in the bundle
        arcs_first     (n + 1,)   uint32 host: where the arcs of every place begin
        triangle_first (b + 1,)   int64  host: where the triangles of every bundle begin
        legs           (t,)       uint32 `triangles_kernel`
        thirds         (t,)       uint16 `triangles_kernel`
        pair_first     (b + 1,)   uint32 host: where the pairs of every bundle begin
        pairs          (p,)       uint32 `pairs_kernel`
        pair_arcs      (p,)       uint32 `pairs_kernel`
        lowest         scalar     uint32 host: whether arcs weigh what the graph gives them
        arc_weights    (s, m)     number host
        givers         (2 c,)     uint32 `placed_givers_kernel`
        weights        (s, 2 c)   number the kernels before; here: of the members and pairs
        found          (s, WORDS) int32  all kernels: `GREATEST`
        spare          (x,)       number here: ways, if shared memory is too small
        ============== ========== ====== ==========================================================
        """
        block, weighed = _own_block()
        in_tier = uint32(block * cuda.blockDim.y + cuda.threadIdx.y)
        bundle = uint32(first_bundle + in_tier)
        if bundle >= last_bundle:
            return
        weights, found = weights[weighed], found[weighed]
        arc_weights = arc_weights[weighed]
        held = uint32(2 * ways_room)
        numbers, ways = lent(spare, in_tier, weighed, held, units)
        if outside:
            held = uint32(0)
        ends_at, _, _, _, _, _, _ = _shares_here(room, arc_room, held, words_a_number)
        ends_at = uint32(ends_at + cuda.threadIdx.y * units * (UNIT // 4))
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        begin = uint32(arcs_first[bundle_first[bundle]])
        end = uint32(arcs_first[bundle_first[uint32(bundle + 1)]] - begin)
        first_step = uint32(step_first[bundle])
        stages = uint32(step_first[uint32(bundle + 1)] - first_step)
        first_pair, last_pair = uint32(pair_first[bundle]), uint32(pair_first[uint32(bundle + 1)])
        i = thread
        while i < end:
            up_at, down_at, place = up_slot(begin + i), down_slot(begin + i), _up(ways + i)
            if lowest:
                numbers[place] = given(arc_weights, givers, up_at)
                numbers[place + uint64(1)] = given(arc_weights, givers, down_at)
            else:
                numbers[place], numbers[place + uint64(1)] = weights[up_at], weights[down_at]
            i = uint32(i + threads)
        pair = uint32(first_pair + thread)
        while pair < last_pair:
            place = _up(ways + pairs[pair])
            numbers[place], numbers[place + uint64(1)] = number(inf), number(inf)
            pair = uint32(pair + threads)
        low, high = triangle_first[bundle], triangle_first[uint32(bundle + 1)]
        i = thread
        while i < stages:
            begins = step_triangles[uint32(first_step + stages - 1 - i)]
            words[uint32(ends_at + i)] = uint32(uint32(high - low) - begins)
            i = uint32(i + threads)
        _meet()
        walk(words, ends_at, stages, legs[low:high], thirds[low:high], numbers, ways, ways)
        greatest = float32(0)
        i = thread
        while i < end:
            place = _up(ways + i)
            up, down = numbers[place], numbers[place + uint64(1)]
            weights[up_slot(begin + i)], weights[down_slot(begin + i)] = up, down
            if up < inf:
                greatest = max(greatest, length_of(up))
            if down < inf:
                greatest = max(greatest, length_of(down))
            i = uint32(i + threads)
        _note(found, GREATEST, greatest)
        pair = uint32(first_pair + thread)
        while pair < last_pair:
            place, arc = _up(ways + pairs[pair]), pair_arcs[pair]
            up, down = numbers[place], numbers[place + uint64(1)]
            if up < inf:
                cuda.atomic.min(weights, up_slot(arc), up)
            if down < inf:
                cuda.atomic.min(weights, down_slot(arc), down)
            pair = uint32(pair + threads)

    return _basic_kernel


@cache
def make_basic_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of the basic pass over a level."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    length_of = _make_length_of(dtype)

    @kernel
    def _basic_level_kernel(first_place, places, arcs_first, heads, weights, found):
        """Let arcs fall to the ways over vertices of one depth, a block a vertex and set.

        =========== ========== ====== =========================================
        argument    shape      dtype  written by
        =========== ========== ====== =========================================
        first_place scalar     uint32 host: of the level
        places      (n,)       int32  host: of ranks
        arcs_first  (n + 1,)   uint32 host: where the arcs of every place begin
        heads       (c,)       int32  `placed_arcs_kernel`
        weights     (s, 2 c)   number the kernels before; here: of arcs above
        found       (s, WORDS) int32  all kernels: `GREATEST`
        =========== ========== ====== =========================================
        """
        weights, found = weights[cuda.blockIdx.y], found[cuda.blockIdx.y]
        place = uint32(first_place + cuda.blockIdx.x)
        begin = uint32(arcs_first[place])
        degree = uint32(arcs_first[uint32(place + 1)] - begin)
        thread, greatest = uint32(cuda.threadIdx.x), float32(0)
        i = uint32(thread // WARP)
        while i < degree:
            arc = uint32(begin + i)
            above = uint32(places[heads[arc]])
            low, high = uint32(arcs_first[above]), uint32(arcs_first[uint32(above + 1)])
            climb, descent = weights[up_slot(arc)], weights[down_slot(arc)]
            if climb < inf:
                greatest = max(greatest, length_of(climb))
            if descent < inf:
                greatest = max(greatest, length_of(descent))
            j = uint32(i + 1 + thread % WARP)
            while j < degree:
                other = uint32(begin + j)
                third = place_of(heads, low, high, heads[other])
                up = number(descent + weights[up_slot(other)])
                down = number(climb + weights[down_slot(other)])
                if up < weights[up_slot(third)]:
                    cuda.atomic.min(weights, up_slot(third), up)
                if down < weights[down_slot(third)]:
                    cuda.atomic.min(weights, down_slot(third), down)
                j = uint32(j + WARP)
            i = uint32(i + VERTEX_THREADS // WARP)
        if thread % WARP == 0:
            _note(found, GREATEST, greatest)

    return _basic_level_kernel


# ---- top


@cache
def make_to_top_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that brings arcs into the matrix of the top."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    length_of = _make_length_of(dtype)

    @kernel
    def _to_top_kernel(places, arcs_first, heads, weights, size, matrix, found):
        """Write the arcs of the top into its matrix, a block a place and set.

        ========== ================ ====== =========================================
        argument   shape            dtype  written by
        ========== ================ ====== =========================================
        places     (n,)             int32  host: of ranks
        arcs_first (n + 1,)         uint32 host: where the arcs of every place begin
        heads      (c,)             int32  `placed_arcs_kernel`
        weights    (s, 2 c)         number the basic pass
        size       scalar           uint32 host: places of the top
        matrix     (s, size * size) number `_first_weights_kernel`: INF; here
        found      (s, WORDS)       int32  all kernels: `GREATEST`
        ========== ================ ====== =========================================
        """
        weights, matrix = weights[cuda.blockIdx.y], matrix[cuda.blockIdx.y]
        found = found[cuda.blockIdx.y]
        own, thread = uint32(cuda.blockIdx.x), uint32(cuda.threadIdx.x)
        if thread == 0:
            matrix[uint32(own * size + own)] = number(0)
        greatest = float32(0)
        arc, stop = uint32(arcs_first[own] + thread), uint32(arcs_first[uint32(own + 1)])
        while arc < stop:
            above = uint32(places[heads[arc]])
            up, down = weights[up_slot(arc)], weights[down_slot(arc)]
            matrix[uint32(own * size + above)] = up
            matrix[uint32(above * size + own)] = down
            if up < inf:
                greatest = max(greatest, length_of(up))
            if down < inf:
                greatest = max(greatest, length_of(down))
            arc = uint32(arc + VERTEX_THREADS)
        _note(found, GREATEST, greatest)

    return _to_top_kernel


@cache
def _make_pack(dtype: np.dtype[Any]) -> Any:
    """Return a device function by which a warp packs what is kept of a vertex, in order."""
    inf = infinity(dtype).item()

    @inline
    def pack(
        place, ranks, depth, arcs_first, heads, weights, perfect, up_stop, up_depths, up_weights,
        down_stop, down_ends, down_weights,
    ):  # fmt: skip
        """Pack; return how many arcs up are kept, and how many down."""
        begin, stop = uint32(arcs_first[place]), uint32(arcs_first[uint32(place + 1)])
        lane = uint32(cuda.threadIdx.x % WARP)
        ups, downs, base = begin, begin, begin
        while base < stop:
            arc = min(uint32(base + lane), uint32(stop - 1))
            inside = uint32(base + lane) < stop
            up, down = perfect[up_slot(arc)], perfect[down_slot(arc)]
            keeps_up = inside and up < inf and up == weights[up_slot(arc)]
            keeps_down = inside and down < inf and down == weights[down_slot(arc)]
            kept_up, kept_down = ballot(keeps_up), ballot(keeps_down)
            if keeps_up:
                at = uint32(ups + takers_before(kept_up, lane))
                up_depths[at], up_weights[at] = depth[heads[arc]], up
            if keeps_down:
                at = uint32(downs + takers_before(kept_down, lane))
                down_ends[at], down_weights[at] = heads[arc], down
            ups = uint32(ups + uint32(cuda.popc(kept_up)))
            downs = uint32(downs + uint32(cuda.popc(kept_down)))
            base = uint32(base + WARP)
        if lane == 0:
            rank = uint32(ranks[place])
            up_stop[rank], down_stop[rank] = ups, downs
        return uint32(ups - begin), uint32(downs - begin)

    return pack


@cache
def make_from_top_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that brings distances out of the matrix of the top."""
    inf = infinity(dtype).item()
    pack = _make_pack(dtype)
    length_of = _make_length_of(dtype)

    @kernel
    def _from_top_kernel(
        ranks, places, depth, arcs_first, heads, size, matrix, perfect, lengths, found,
        up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
    ):  # fmt: skip
        """Give the arcs of the top the distances in its matrix, and pack them.

        A block a place and set.

        ============ ================ ====== =======================================================
        argument     shape            dtype  written by
        ============ ================ ====== =======================================================
        ranks        (n,)             int32  host: of places
        places       (n,)             int32  host: of ranks
        depth        (n,)             int32  host: of ranks
        arcs_first   (n + 1,)         uint32 host: where the arcs of every place begin
        heads        (c,)             int32  `placed_arcs_kernel`
        size         scalar           uint32 host: places of the top
        matrix       (s, size * size) number Floyd-Warshall
        perfect      (s, 2 c)         number here: of the top
        lengths      (s, 2, n)        int32  here: of the longest ways to and from the top, of ranks
        found        (s, WORDS)       int32  all kernels
        up_stop      (s, n)           uint32 here: where the arcs up end, of ranks
        up_depths    (s, c)           int32  here: depth of their heads
        up_weights   (s, c)           number here
        down_stop    (s, n)           uint32 here: the same of the arcs down
        down_ends    (s, c)           int32  here: their heads, as ranks
        down_weights (s, c)           number here
        ============ ================ ====== =======================================================
        """
        weighed = cuda.blockIdx.y
        matrix, perfect, lengths = matrix[weighed], perfect[weighed], lengths[weighed]
        found, up_stop, up_depths = found[weighed], up_stop[weighed], up_depths[weighed]
        up_weights, down_stop = up_weights[weighed], down_stop[weighed]
        down_ends, down_weights = down_ends[weighed], down_weights[weighed]
        longest = cuda.shared.array(1, int32)
        own, thread = uint32(cuda.blockIdx.x), uint32(cuda.threadIdx.x)
        if thread == 0:
            longest[0] = 0
        cuda.syncthreads()
        far, apart = float32(0), False
        column = thread
        while column < size:
            distance = matrix[uint32(own * size + column)]
            if distance < inf:
                far = max(far, length_of(distance))
            else:
                apart = True
            column = uint32(column + VERTEX_THREADS)
        cuda.atomic.max(longest, 0, int32(_bits(far)))
        if apart:
            found[APART] = 1
        arc = uint32(arcs_first[own] + thread)
        stop = uint32(arcs_first[uint32(own + 1)])
        while arc < stop:
            above = uint32(places[heads[arc]])
            perfect[up_slot(arc)] = matrix[uint32(own * size + above)]
            perfect[down_slot(arc)] = matrix[uint32(above * size + own)]
            arc = uint32(arc + VERTEX_THREADS)
        cuda.syncthreads()
        if thread == 0:
            lengths[0, ranks[own]], lengths[1, ranks[own]] = longest[0], 0
            for word in (FARTHEST, LONGEST_UP):
                if longest[0] > found[word]:
                    cuda.atomic.max(found, word, longest[0])
        if thread < WARP:
            # (of the top all arcs: shortcuts over its own vertices have not been found)
            pack(
                own, ranks, depth, arcs_first, heads, perfect, perfect, up_stop, up_depths,
                up_weights, down_stop, down_ends, down_weights,
            )  # fmt: skip

    return _from_top_kernel


# ---- perfect pass


@inline
def _kept_between(bits, words_at, low, high):
    """Count the arcs from one up to another that are kept, a bit each."""
    count = uint32(0)
    word = uint32(low // WARP)
    while uint32(word * WARP) < high:
        kept = uint32(bits[uint32(words_at + word)])
        begin = uint32(word * WARP)
        if begin < low:
            kept = uint32(kept & ~((uint32(1) << uint32(low - begin)) - uint32(1)))
        if uint32(high - begin) < WARP:
            kept = uint32(kept & ((uint32(1) << uint32(high - begin)) - uint32(1)))
        count = uint32(count + uint32(cuda.popc(kept)))
        word = uint32(word + 1)
    return count


@inline
def _last_group(kept, group_bits):
    """Number the last group of a member's arcs; a member without any has one too."""
    return uint32(uint32(max(kept, uint32(1)) - 1) >> group_bits)


@cache
def make_perfect_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel of the perfect pass over bundles, which packs what is kept.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether ways are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    write = arc_writer(dtype)
    lent = _make_lend(dtype, outside=outside)
    words_a_number = dtype.itemsize // 4
    length_of = _make_length_of(dtype)

    @inline
    def relax(numbers, basic, ways, legs, third):
        """Let the legs fall to the ways over each other's head.

        From what they were, so that no sum depends on which thread is first.
        """
        leg, other_leg = uint32(legs >> uint32(HALF)), uint32(legs & uint32(LOW_HALF))
        one, other, side = _up(basic + leg), _up(basic + other_leg), _up(ways + third)
        up, down = numbers[one], numbers[one + uint64(1)]
        other_up, other_down = numbers[other], numbers[other + uint64(1)]
        over, back = numbers[side], numbers[side + uint64(1)]
        one, other = _up(ways + leg), _up(ways + other_leg)
        way = number(other_up + back)
        if way < up:
            cuda.atomic.min(numbers, one, way)
        way = number(up + over)
        if way < other_up:
            cuda.atomic.min(numbers, other, way)
        way = number(over + other_down)
        if way < down:
            cuda.atomic.min(numbers, one + uint64(1), way)
        way = number(back + down)
        if way < other_down:
            cuda.atomic.min(numbers, other + uint64(1), way)

    walk = _make_walk(relax, from_below=False)

    @inline
    def lengthen(lengths, place, row, weight, basic):
        """Let the way of a member be as long as that over an arc which is kept."""
        if weight == basic and basic < inf:
            further = float32(_length(lengths[row]) + length_of(weight))
            cuda.atomic.max(lengths, place, int32(_bits(further)))

    @kernel(max_registers=PACKING_REGISTERS)
    def _perfect_kernel(
        first_bundle, last_bundle, units, room, arc_room, ways_room, group_bits, most, feeds, ranks,
        bundle_first, boundary_first, boundary, step_first, steps, step_triangles, arcs_first,
        heads, depths, rows, triangle_first, legs, thirds, pair_first, pairs, pair_arcs, weights,
        perfect, lengths, found, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
        stream_first, stream_stop, stream, spare,
    ):  # fmt: skip
        """Let arcs of members fall to the ways over higher vertices, some threads a bundle and set.

        ============== ========== ======= =====================================================
        argument       shape      dtype   written by
        ============== ========== ======= =====================================================
        first_bundle   scalar     uint32  host: of the tier
        last_bundle    scalar     uint32  host: of the next
        units          scalar     uint32  host: of shared memory for a bundle
        room           scalar     uint32  host: most rows of a bundle
        arc_room       scalar     uint32  host: most arcs above its members
        ways_room      scalar     uint32  host: most arcs above its members and within its boundary
        group_bits     scalar     uint32  host: arcs of a group of the stream, as a power of two
        most           scalar     float32 host: greatest weight that needs no lengths
        feeds          scalar     uint32  host: whether there are bundles below
        ranks          (n,)       int32   host: of places
        bundle_first   (b + 1,)   int32   host: places
        boundary_first (b + 1,)   int32   host
        boundary       (x,)       int32   host: ranks
        step_first     (b + 1,)   uint32  host: where the steps of every bundle begin
        steps          (s,)       uint32  host: the first place of each
        step_triangles (s,)       uint32  host: where the triangles of each begin in the bundle
        arcs_first     (n + 1,)   uint32  host: where the arcs of every place begin
        heads          (c,)       int32   `placed_arcs_kernel`
        depths         (c,)       int32   `placed_arcs_kernel`
        rows           (c,)       uint32  `placed_arcs_kernel`
        triangle_first (b + 1,)   int64   host: where the triangles of every bundle begin
        legs           (t,)       uint32  `triangles_kernel`
        thirds         (t,)       uint16  `triangles_kernel`
        pair_first     (b + 1,)   uint32  host: where the pairs of every bundle begin
        pairs          (p,)       uint32  `pairs_kernel`
        pair_arcs      (p,)       uint32  `pairs_kernel`
        weights        (s, 2 c)   number  the basic pass
        perfect        (s, 2 c)   number  what is above; here: of the members
        lengths        (s, 2, n)  int32   what is above; here: of the longest ways, of ranks
        found          (s, WORDS) int32   all kernels
        up_stop        (s, n)     uint32  here: where the arcs up that are kept end, of ranks
        up_depths      (s, c)     int32   here: depth of their heads
        up_weights     (s, c)     number  here
        down_stop      (s, n)     uint32  here: the same of the arcs down
        down_ends      (s, c)     int32   here: their heads, as ranks
        down_weights   (s, c)     number  here
        stream_first   (b,)       uint32  host: where the stream of every bundle begins
        stream_stop    (s, b)     uint32  here: where it ends
        stream         (s, words) int64   here: arcs down that are kept, in groups
        spare          (x,)       number  here: ways, if shared memory is too small
        ============== ========== ======= =====================================================
        """
        block, weighed = _own_block()
        in_tier = uint32(block * cuda.blockDim.y + cuda.threadIdx.y)
        bundle = uint32(first_bundle + in_tier)
        if bundle >= last_bundle:
            return
        weights, perfect, lengths = weights[weighed], perfect[weighed], lengths[weighed]
        found, up_stop, up_depths = found[weighed], up_stop[weighed], up_depths[weighed]
        up_weights, down_stop = up_weights[weighed], down_stop[weighed]
        down_ends, down_weights = down_ends[weighed], down_weights[weighed]
        stream_stop, stream = stream_stop[weighed], stream[weighed]
        measures = _length(found[GREATEST]) > most
        # (first what the ways of members were before)
        held = uint32(2 * (arc_room + ways_room))
        numbers, basic = lent(spare, in_tier, weighed, held, units)
        ways = uint32(basic + arc_room)
        if outside:
            held = uint32(0)
        ends_at, starts_at, lengths_at, groups_at, up_bits_at, down_bits_at, _ = _shares_here(
            room, arc_room, held, words_a_number
        )
        words_at = uint32(cuda.threadIdx.y * units * (UNIT // 4))
        ends_at, starts_at = uint32(ends_at + words_at), uint32(starts_at + words_at)
        lengths_at, groups_at = uint32(lengths_at + words_at), uint32(groups_at + words_at)
        up_bits_at, down_bits_at = uint32(up_bits_at + words_at), uint32(down_bits_at + words_at)
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        signed = cuda.shared.array(0, int32, alignment=ALIGNMENT)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        first, last = uint32(bundle_first[bundle]), uint32(bundle_first[uint32(bundle + 1)])
        members = uint32(last - first)
        boundary_at = uint32(boundary_first[bundle])
        count = uint32(members + boundary_first[uint32(bundle + 1)] - boundary_at)
        first_step = uint32(step_first[bundle])
        stages = uint32(step_first[uint32(bundle + 1)] - first_step)
        begin = uint32(arcs_first[first])
        end = uint32(arcs_first[last] - begin)
        i = thread
        while i < end:
            up, down = weights[up_slot(begin + i)], weights[down_slot(begin + i)]
            before, after = _up(basic + i), _up(ways + i)
            numbers[before], numbers[before + uint64(1)] = up, down
            numbers[after], numbers[after + uint64(1)] = up, down
            i = uint32(i + threads)
        pair = uint32(pair_first[bundle] + thread)
        last_pair = uint32(pair_first[uint32(bundle + 1)])
        while pair < last_pair:
            place, arc = _up(ways + pairs[pair]), pair_arcs[pair]
            numbers[place] = perfect[up_slot(arc)]
            numbers[place + uint64(1)] = perfect[down_slot(arc)]
            pair = uint32(pair + threads)
        i = thread
        while i <= members:
            words[uint32(starts_at + i)] = uint32(arcs_first[uint32(first + i)] - begin)
            i = uint32(i + threads)
        low, high = triangle_first[bundle], triangle_first[uint32(bundle + 1)]
        i = thread
        while i < stages:
            ends = uint32(high - low)
            if uint32(i + 1) < stages:
                ends = step_triangles[uint32(first_step + i + 1)]
            words[uint32(ends_at + i)] = ends
            i = uint32(i + threads)
        _meet()
        walk(words, ends_at, stages, legs[low:high], thirds[low:high], numbers, basic, ways)
        if measures:
            i = thread
            while i < count:
                up, down = int32(0), int32(0)
                if i >= members:
                    rank = uint32(boundary[uint32(boundary_at + i - members)])
                    up, down = lengths[0, rank], lengths[1, rank]
                signed[uint32(lengths_at + i)] = up
                signed[uint32(lengths_at + room + i)] = down
                i = uint32(i + threads)
            stage = uint32(0)
            while stage < stages:
                _meet()
                step = uint32(steps[uint32(first_step + stage)] - first)
                i, high_arc = uint32(words[uint32(starts_at + step)] + thread), end
                if uint32(stage + 1) < stages:
                    step = uint32(steps[uint32(first_step + stage + 1)] - first)
                    high_arc = words[uint32(starts_at + step)]
                while i < high_arc:
                    tail, head = rows_of(rows[uint32(begin + i)])
                    before, after = _up(basic + i), _up(ways + i)
                    lengthen(
                        signed, uint32(lengths_at + tail), uint32(lengths_at + head),
                        numbers[after], numbers[before],
                    )  # fmt: skip
                    lengthen(
                        signed, uint32(lengths_at + room + tail), uint32(lengths_at + room + head),
                        numbers[after + uint64(1)], numbers[before + uint64(1)],
                    )  # fmt: skip
                    i = uint32(i + threads)
                stage = uint32(stage + 1)
            _meet()
        # what is kept, a bit an arc
        base = uint32(0)
        while base < end:
            i = uint32(base + thread)
            keeps_up, keeps_down = False, False
            if i < end:
                before, after = _up(basic + i), _up(ways + i)
                was_up, was_down = numbers[before], numbers[before + uint64(1)]
                up, down = numbers[after], numbers[after + uint64(1)]
                if feeds:
                    arc = uint32(begin + i)
                    perfect[up_slot(arc)], perfect[down_slot(arc)] = up, down
                keeps_up = up == was_up and was_up < inf
                keeps_down = down == was_down and was_down < inf
            kept_up, kept_down = ballot(keeps_up), ballot(keeps_down)
            if thread % WARP == 0 and i < end:
                words[uint32(up_bits_at + i // WARP)] = kept_up
                words[uint32(down_bits_at + i // WARP)] = kept_down
            base = uint32(base + threads)
        _meet()
        i = thread
        while i < members:
            low, high = words[uint32(starts_at + i)], words[uint32(starts_at + i + 1)]
            ups = _kept_between(words, up_bits_at, low, high)
            downs = _kept_between(words, down_bits_at, low, high)
            rank = uint32(ranks[uint32(first + i)])
            up_stop[rank], down_stop[rank] = uint32(begin + low + ups), uint32(begin + low + downs)
            words[uint32(groups_at + i)] = downs
            if ups == 0 or downs == 0:
                found[APART] = 1
            if measures:
                up, down = signed[uint32(lengths_at + i)], signed[uint32(lengths_at + room + i)]
                lengths[0, rank], lengths[1, rank] = up, down
                if up > found[LONGEST_UP]:
                    cuda.atomic.max(found, LONGEST_UP, up)
                if down > found[LONGEST_DOWN]:
                    cuda.atomic.max(found, LONGEST_DOWN, down)
            i = uint32(i + threads)
        _meet()
        # (a member without any has a group that leads nowhere)
        base, ahead = uint32(0), uint32(0)
        while thread < WARP and base < members:
            i, own = uint32(base + thread), uint32(0)
            if i < members:
                own = uint32(_last_group(words[uint32(groups_at + i)], group_bits) + 1)
            sums = uint32(sums_of_warp(int32(own), thread))
            if i < members:
                words[uint32(groups_at + room + i)] = uint32(ahead + sums - own)
            ahead = uint32(ahead + uint32(from_lane(int32(sums), WARP - 1)))
            base = uint32(base + WARP)
        _meet()
        start = uint64(stream_first[bundle])
        i = thread
        while i < end:
            arc = uint32(begin + i)
            place, head = rows[arc], heads[arc]
            tail, _ = rows_of(place)
            low, bit = words[uint32(starts_at + tail)], uint32(uint32(1) << uint32(i % WARP))
            after = _up(ways + i)
            up, down = numbers[after], numbers[after + uint64(1)]
            if words[uint32(up_bits_at + i // WARP)] & bit:
                own = uint32(begin + low + _kept_between(words, up_bits_at, low, i))
                up_depths[own], up_weights[own] = depths[arc], up
            if words[uint32(down_bits_at + i // WARP)] & bit:
                k = _kept_between(words, down_bits_at, low, i)
                own = uint32(begin + low + k)
                down_ends[own], down_weights[own] = head, down
                last_group = _last_group(words[uint32(groups_at + tail)], group_bits)
                if uint32(k >> group_bits) == last_group:
                    place = uint32(place | uint32(ENDS))
                group_at = uint64(words[uint32(groups_at + room + tail)]) << uint64(group_bits)
                write(stream, start + group_at + uint64(k), down, place)
            i = uint32(i + threads)
        i = thread
        while i < members:
            k = words[uint32(groups_at + i)]
            last_group = _last_group(k, group_bits)
            group_at = uint64(words[uint32(groups_at + room + i)]) << uint64(group_bits)
            stop = uint32(uint32(last_group + 1) << group_bits)
            low, level = words[uint32(starts_at + i)], uint32(0)
            if low < words[uint32(starts_at + i + 1)]:
                level = uint32(rows[uint32(begin + low)] >> uint32(LEVEL_AT))
            marks = uint32((i << uint32(ROW_BITS)) | uint32(level << uint32(LEVEL_AT)))
            while k < stop:
                place = uint32(marks | count)
                if uint32(k >> group_bits) == last_group:
                    place = uint32(place | uint32(ENDS))
                write(stream, start + group_at + uint64(k), number(inf), place)
                k = uint32(k + 1)
            if i == uint32(members - 1):
                stream_stop[bundle] = uint32(start + group_at + uint64(stop))
            i = uint32(i + threads)

    return _perfect_kernel


@cache
def make_perfect_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of the perfect pass over a level, which packs what is kept."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    pack = _make_pack(dtype)
    length_of = _make_length_of(dtype)

    @inline
    def between(heads, arcs_first, places, perfect, tail, head):
        """Return the distance between two ranks that are joined, as far as it is that of an arc."""
        if tail == head:
            return number(inf)
        low, high = min(tail, head), max(tail, head)
        place = uint32(places[low])
        arc = place_of(
            heads, uint32(arcs_first[place]), uint32(arcs_first[uint32(place + 1)]), high
        )
        return perfect[up_slot(arc)] if tail < head else perfect[down_slot(arc)]

    @kernel
    def _perfect_level_kernel(
        first_place, most, ranks, places, depth, arcs_first, heads, weights, perfect, lengths,
        found, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
    ):  # fmt: skip
        """Let arcs of vertices of one depth fall to the ways over higher ones.

        A block a vertex and set.

        ============ ========== ======= ===================================================
        argument     shape      dtype   written by
        ============ ========== ======= ===================================================
        first_place  scalar     uint32  host: of the level
        most         scalar     float32 host: greatest weight that needs no lengths
        ranks        (n,)       int32   host: of places
        places       (n,)       int32   host: of ranks
        depth        (n,)       int32   host: of ranks
        arcs_first   (n + 1,)   uint32  host: where the arcs of every place begin
        heads        (c,)       int32   `placed_arcs_kernel`
        weights      (s, 2 c)   number  the basic pass
        perfect      (s, 2 c)   number  what is above; here: of these vertices
        lengths      (s, 2, n)  int32   what is above; here: of the longest ways, of ranks
        found        (s, WORDS) int32   all kernels
        up_stop      (s, n)     uint32  here: where the arcs up that are kept end, of ranks
        up_depths    (s, c)     int32   here: depth of their heads
        up_weights   (s, c)     number  here
        down_stop    (s, n)     uint32  here: the same of the arcs down
        down_ends    (s, c)     int32   here: their heads, as ranks
        down_weights (s, c)     number  here
        ============ ========== ======= ===================================================
        """
        weighed = cuda.blockIdx.y
        weights, perfect, lengths = weights[weighed], perfect[weighed], lengths[weighed]
        found, up_stop, up_depths = found[weighed], up_stop[weighed], up_depths[weighed]
        up_weights, down_stop = up_weights[weighed], down_stop[weighed]
        down_ends, down_weights = down_ends[weighed], down_weights[weighed]
        measures = _length(found[GREATEST]) > most
        longest = cuda.shared.array(2, int32)
        place, thread = uint32(first_place + cuda.blockIdx.x), uint32(cuda.threadIdx.x)
        begin = uint32(arcs_first[place])
        degree = uint32(arcs_first[uint32(place + 1)] - begin)
        rank = uint32(ranks[place])
        if thread < 2:
            longest[thread] = 0
        cuda.syncthreads()
        lane = uint32(thread % WARP)
        i = uint32(thread // WARP)
        while i < degree:
            arc = uint32(begin + i)
            own = heads[arc]
            up, down = weights[up_slot(arc)], weights[down_slot(arc)]
            was_up, was_down = up, down
            j = lane
            while j < degree:
                other = uint32(begin + j)
                head = heads[other]
                climb = weights[up_slot(other)]
                descent = weights[down_slot(other)]
                up = min(number(climb + between(heads, arcs_first, places, perfect, head, own)), up)
                down = min(
                    number(between(heads, arcs_first, places, perfect, own, head) + descent), down
                )
                j = uint32(j + WARP)
            up, down = least_of_warp(up), least_of_warp(down)
            if lane == 0:
                perfect[up_slot(arc)], perfect[down_slot(arc)] = up, down
                if measures and was_up < inf and up == was_up:
                    further = float32(_length(lengths[0, own]) + length_of(up))
                    cuda.atomic.max(longest, 0, int32(_bits(further)))
                if measures and was_down < inf and down == was_down:
                    further = float32(_length(lengths[1, own]) + length_of(down))
                    cuda.atomic.max(longest, 1, int32(_bits(further)))
            i = uint32(i + VERTEX_THREADS // WARP)
        cuda.syncthreads()
        if measures and thread == 0:
            lengths[0, rank], lengths[1, rank] = longest[0], longest[1]
            for way in range(2):
                if longest[way] > found[uint32(LONGEST_UP + way)]:
                    cuda.atomic.max(found, uint32(LONGEST_UP + way), longest[way])
        ups, downs = uint32(0), uint32(0)
        if thread < WARP:
            ups, downs = pack(
                place, ranks, depth, arcs_first, heads, weights, perfect, up_stop, up_depths,
                up_weights, down_stop, down_ends, down_weights,
            )  # fmt: skip
            if lane == 0 and (ups == 0 or downs == 0):
                found[APART] = 1

    return _perfect_level_kernel
