"""The perfect pass on a GPU: relax each arc over its intermediate and upper triangles.

Arcs that have fallen are shortcuts that nobody needs; the others are packed for sweeps, up and
down. `sssp.cuda.sweep.customization` says how, and what happened before.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import float32, from_dtype, int32, uint32, uint64

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel, kernel_with
from sssp.cuda.device.warp import WARP, ballot, from_lane, least_of_warp, sums_of_warp
from sssp.cuda.device.warp import rank as takers_before
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.cuda.sweep.arc_slots import HALF, LOW_HALF, down_slot, lower, rows_of, third_of, up_slot
from sssp.cuda.sweep.packed_arcs import ENDS, LEVEL_AT, ROW_BITS, make_arc_functions
from sssp.cuda.sweep.triangle_walk import (
    APART,
    FARTHEST,
    GREATEST,
    LONGEST_UP,
    VERTEX_THREADS,
    length_bits,
    length_of_bits,
    make_lend,
    make_length_of,
    make_walk,
    meet,
    own_block,
    own_shares,
    up_position,
)
from sssp.kernels.dtypes import infinity

#: registers of a thread: few, so that a multiprocessor has more blocks
REGISTERS = 44


class KeptArcs(
    namedtuple("KeptArcs", "up_stop up_depths up_weights down_stop down_ends down_weights")
):
    """The upward and downward arcs that sweeps need after perfect customization, sorted by rank.

    Attributes
    ----------
    up_stop, down_stop : device arrays, shape (n,), uint32
        Where the arcs up from every rank end, and those down to it.
    up_depths : device array, shape (c,), int32
        Depths of the heads of arcs up.
    down_ends : device array, shape (c,), int32
        The ranks that arcs down come from.
    up_weights, down_weights : device arrays, shape (c,)
    """


@inline
def _kept_of(weighed, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights):
    """Return one map's arcs that perfect customization kept, from the arrays of all maps."""
    up = up_stop[weighed], up_depths[weighed], up_weights[weighed]
    return KeptArcs(*up, down_stop[weighed], down_ends[weighed], down_weights[weighed])


@inline
def _pack(place, ranks, depth, arcs_first, heads, weights, perfect, kept, inf):
    """Pack a vertex's arcs that sweeps need, by one warp; return the counts of up and down arcs."""
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
            kept.up_depths[at], kept.up_weights[at] = depth[heads[arc]], up
        if keeps_down:
            at = uint32(downs + takers_before(kept_down, lane))
            kept.down_ends[at], kept.down_weights[at] = heads[arc], down
        ups = uint32(ups + uint32(cuda.popc(kept_up)))
        downs = uint32(downs + uint32(cuda.popc(kept_down)))
        base = uint32(base + WARP)
    if lane == 0:
        rank = uint32(ranks[place])
        kept.up_stop[rank], kept.down_stop[rank] = ups, downs
    return uint32(ups - begin), uint32(downs - begin)


@cache
def make_from_top_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that copies distances from a matrix to arcs between top tree vertices."""
    inf, length_of = infinity(dtype).item(), make_length_of(dtype)

    @kernel
    def _from_top_kernel(
        ranks, places, depth, arcs_first, heads, size, matrix, perfect, lengths, found,
        up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
    ):  # fmt: skip
        """Set the weights of arcs between top vertices to distances, read from `matrix`.

        A block per place and set.

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
        matrix, perfect = matrix[weighed], perfect[weighed]
        lengths, found = lengths[weighed], found[weighed]
        kept = _kept_of(weighed, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights)
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
        cuda.atomic.max(longest, 0, int32(length_bits(far)))
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
            _pack(own, ranks, depth, arcs_first, heads, perfect, perfect, kept, inf)

    return _from_top_kernel


class Bundle(namedtuple("Bundle", "first members begin arcs thread threads")):
    """A bundle of subtrees in the perfect pass, with the number of the calling thread.

    Attributes
    ----------
    first, members : uint32
        Place of its first member, and how many it has.
    begin, arcs : uint32
        The first arc above them, and how many there are.
    thread, threads : uint32
        Number of the thread, and how many there are.
    """


class Held(namedtuple("Held", "numbers basic ways words signed at room")):
    """Working memory of a bundle in perfect customization, such as old and new arc weights.

    Attributes
    ----------
    numbers : array of number
        Ways up and down along arcs.
    basic, ways : uint32
        Place of the first arc, as it was and as it becomes.
    words, signed : array of uint32, array of int32
        The memory after the numbers.
    at : Shares
        Where everything begins there.
    room : uint32
        Most rows of a bundle.
    """


@inline
def _kept_between(bits, words_at, low, high):
    """Return the number of set bits from `low` to `high` (excluded) in a bit mask of arcs."""
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
    """Return the last group's index when `kept` arcs form groups of ``2**group_bits`` arcs."""
    return uint32(uint32(max(kept, uint32(1)) - 1) >> group_bits)


@inline
def _note_members(bundle, held, arcs_first):
    """Write to shared memory where each vertex of a bundle of subtrees has its first arc."""
    i = bundle.thread
    while i <= bundle.members:
        begins = uint32(arcs_first[uint32(bundle.first + i)] - bundle.begin)
        held.words[uint32(held.at.starts + i)] = begins
        i = uint32(i + bundle.threads)


@inline
def _number_groups(bundle, held, group_bits):
    """Write for each vertex of a bundle the index of its first group of 2 or 4 downward arcs.

    A member of which no arc is kept has a group too, that leads nowhere.
    """
    base, ahead = uint32(0), uint32(0)
    while bundle.thread < WARP and base < bundle.members:
        i, own = uint32(base + bundle.thread), uint32(0)
        if i < bundle.members:
            own = uint32(_last_group(held.words[uint32(held.at.groups + i)], group_bits) + 1)
        sums = uint32(sums_of_warp(int32(own), bundle.thread))
        if i < bundle.members:
            held.words[uint32(held.at.groups + held.room + i)] = uint32(ahead + sums - own)
        ahead = uint32(ahead + uint32(from_lane(int32(sums), WARP - 1)))
        base = uint32(base + WARP)


@inline
def _note_kept(bundle, held, ranks, measures, lengths, found, kept):
    """Write for each vertex of a bundle where its packed upward and downward arcs end."""
    words, at = held.words, held.at
    i = bundle.thread
    while i < bundle.members:
        low, high = words[uint32(at.starts + i)], words[uint32(at.starts + i + 1)]
        ups = _kept_between(words, at.up_bits, low, high)
        downs = _kept_between(words, at.down_bits, low, high)
        rank = uint32(ranks[uint32(bundle.first + i)])
        kept.up_stop[rank] = uint32(bundle.begin + low + ups)
        kept.down_stop[rank] = uint32(bundle.begin + low + downs)
        words[uint32(at.groups + i)] = downs
        if ups == 0 or downs == 0:
            found[APART] = 1
        if measures:
            for way in range(2):
                length = held.signed[uint32(at.lengths + way * held.room + i)]
                lengths[way, rank] = length
                if length > found[LONGEST_UP + way]:
                    cuda.atomic.max(found, LONGEST_UP + way, length)
        i = uint32(i + bundle.threads)


@cache
def make_perfect_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel that runs the perfect customization (of a CCH) on bundles of subtrees.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether ways are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    _, write, _ = make_arc_functions(dtype)
    lend = make_lend(dtype, outside=outside)
    words_a_number = dtype.itemsize // 4
    length_of = make_length_of(dtype)

    @inline
    def relax(numbers, basic, ways, legs, third):
        """Lower the weights of two sides of a triangle, each by the path over the other two.

        From what they were, so that no sum depends on which thread is first.
        """
        leg, other_leg = uint32(legs >> uint32(HALF)), uint32(legs & uint32(LOW_HALF))
        one, other, side = (
            up_position(basic + leg),
            up_position(basic + other_leg),
            up_position(ways + third),
        )
        up, down = numbers[one], numbers[one + uint64(1)]
        other_up, other_down = numbers[other], numbers[other + uint64(1)]
        over, back = numbers[side], numbers[side + uint64(1)]
        one, other = up_position(ways + leg), up_position(ways + other_leg)
        lower(numbers, one, up, number(other_up + back))
        lower(numbers, other, other_up, number(up + over))
        lower(numbers, one + uint64(1), down, number(over + other_down))
        lower(numbers, other + uint64(1), other_down, number(back + down))

    walk = make_walk(relax, from_below=False)

    @inline
    def bring(bundle, held, weights):
        """Make two copies of the arc weights of a bundle of subtrees: one to keep, one to relax."""
        i = bundle.thread
        while i < bundle.arcs:
            arc = uint32(bundle.begin + i)
            up, down = weights[up_slot(arc)], weights[down_slot(arc)]
            before, after = up_position(held.basic + i), up_position(held.ways + i)
            held.numbers[before], held.numbers[before + uint64(1)] = up, down
            held.numbers[after], held.numbers[after + uint64(1)] = up, down
            i = uint32(i + bundle.threads)

    @inline
    def bring_pairs(bundle, held, pair, last_pair, pairs, pair_arcs, perfect):
        """Copy the weights of arcs between boundary vertices to a bundle's working memory."""
        while pair < last_pair:
            place, arc = up_position(held.ways + pairs[pair]), pair_arcs[pair]
            held.numbers[place] = perfect[up_slot(arc)]
            held.numbers[place + uint64(1)] = perfect[down_slot(arc)]
            pair = uint32(pair + bundle.threads)

    @inline
    def measure(
        bundle, held, boundary, boundary_at, count, steps, first_step, stages, rows, lengths
    ):  # fmt: skip
        """Find each vertex's longest upward and downward path length, in one bundle of subtrees."""
        numbers, words, signed = held.numbers, held.words, held.signed
        i = bundle.thread
        while i < count:
            for way in range(2):
                length = int32(0)
                if i >= bundle.members:
                    length = lengths[way, boundary[uint32(boundary_at + i - bundle.members)]]
                signed[uint32(held.at.lengths + way * held.room + i)] = length
            i = uint32(i + bundle.threads)
        stage = uint32(0)
        while stage < stages:
            meet()
            step = uint32(steps[uint32(first_step + stage)] - bundle.first)
            i, stop = uint32(words[uint32(held.at.starts + step)] + bundle.thread), bundle.arcs
            if uint32(stage + 1) < stages:
                step = uint32(steps[uint32(first_step + stage + 1)] - bundle.first)
                stop = words[uint32(held.at.starts + step)]
            while i < stop:
                tail, head = rows_of(rows[uint32(bundle.begin + i)])
                for direction in range(2):
                    basic = numbers[up_position(held.basic + i) + uint64(direction)]
                    weight = numbers[up_position(held.ways + i) + uint64(direction)]
                    if weight == basic and basic < inf:
                        at = uint32(held.at.lengths + direction * held.room)
                        above = length_of_bits(signed[uint32(at + head)])
                        further = float32(above + length_of(weight))
                        cuda.atomic.max(signed, uint32(at + tail), int32(length_bits(further)))
                i = uint32(i + bundle.threads)
            stage = uint32(stage + 1)
        meet()

    @inline
    def choose(bundle, held, feeds, perfect):
        """Mark in bit masks the arcs whose weights the perfect pass has not lowered."""
        base = uint32(0)
        while base < bundle.arcs:
            i = uint32(base + bundle.thread)
            keeps_up, keeps_down = False, False
            if i < bundle.arcs:
                before, after = up_position(held.basic + i), up_position(held.ways + i)
                was_up, was_down = held.numbers[before], held.numbers[before + uint64(1)]
                up, down = held.numbers[after], held.numbers[after + uint64(1)]
                if feeds:
                    arc = uint32(bundle.begin + i)
                    perfect[up_slot(arc)], perfect[down_slot(arc)] = up, down
                keeps_up = up == was_up and was_up < inf
                keeps_down = down == was_down and was_down < inf
            kept_up, kept_down = ballot(keeps_up), ballot(keeps_down)
            if bundle.thread % WARP == 0 and i < bundle.arcs:
                held.words[uint32(held.at.up_bits + i // WARP)] = kept_up
                held.words[uint32(held.at.down_bits + i // WARP)] = kept_down
            base = uint32(base + bundle.threads)

    @inline
    def pack(bundle, held, group_bits, rows, heads, depths, kept, stream, start):
        """Pack the arcs of a bundle that sweeps need; write downward arcs also to `stream`.

        There a member's kept arc k comes at `group_at` + k: behind all groups of the members before
        it. `sssp.cuda.sweep.packed_arcs` has an example.
        """
        words, at = held.words, held.at
        i = bundle.thread
        while i < bundle.arcs:
            arc = uint32(bundle.begin + i)
            place, head = rows[arc], heads[arc]
            tail, _ = rows_of(place)
            low, bit = words[uint32(at.starts + tail)], uint32(uint32(1) << uint32(i % WARP))
            after = up_position(held.ways + i)
            up, down = held.numbers[after], held.numbers[after + uint64(1)]
            if words[uint32(at.up_bits + i // WARP)] & bit:
                own = uint32(bundle.begin + low + _kept_between(words, at.up_bits, low, i))
                kept.up_depths[own], kept.up_weights[own] = depths[arc], up
            if words[uint32(at.down_bits + i // WARP)] & bit:
                k = _kept_between(words, at.down_bits, low, i)
                own = uint32(bundle.begin + low + k)
                kept.down_ends[own], kept.down_weights[own] = head, down
                last_group = _last_group(words[uint32(at.groups + tail)], group_bits)
                if k == uint32(last_group << group_bits):
                    place = uint32(place | uint32(ENDS))
                group_at = uint64(words[uint32(at.groups + held.room + tail)])
                group_at = uint64(group_at << uint64(group_bits))
                write(stream, start + group_at + uint64(k), down, place)
            i = uint32(i + bundle.threads)

    @inline
    def fill_up(bundle, held, group_bits, count, rows, stream, start, stream_stop, own):
        """Pad the last group of arcs of each vertex with arcs of infinite weight.

        They come from row `count`, which is behind all rows of the bundle: the dots in the example
        of `sssp.cuda.sweep.packed_arcs`.
        """
        words, at = held.words, held.at
        i = bundle.thread
        while i < bundle.members:
            k = words[uint32(at.groups + i)]
            last_group = _last_group(k, group_bits)
            group_at = uint64(words[uint32(at.groups + held.room + i)]) << uint64(group_bits)
            stop = uint32(uint32(last_group + 1) << group_bits)
            low, level = words[uint32(at.starts + i)], uint32(0)
            if low < words[uint32(at.starts + i + 1)]:
                level = uint32(rows[uint32(bundle.begin + low)] >> uint32(LEVEL_AT))
            marks = uint32((i << uint32(ROW_BITS)) | uint32(level << uint32(LEVEL_AT)))
            while k < stop:
                place = uint32(marks | count)
                if k == uint32(last_group << group_bits):
                    place = uint32(place | uint32(ENDS))
                write(stream, start + group_at + uint64(k), number(inf), place)
                k = uint32(k + 1)
            if i == uint32(bundle.members - 1):
                stream_stop[own] = uint32(start + group_at + uint64(stop))
            i = uint32(i + bundle.threads)

    @kernel_with(max_registers=REGISTERS)
    @no_type_check
    def _perfect_kernel(
        first_bundle, last_bundle, units, room, arc_room, ways_room, group_bits, most, feeds, ranks,
        bundle_first, boundary_first, boundary, step_first, steps, step_triangles, arcs_first,
        heads, depths, rows, triangle_first, legs, thirds, pair_first, pairs, pair_arcs, weights,
        perfect, lengths, found, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
        stream_first, stream_stop, stream, spare,
    ):  # fmt: skip
        """Run perfect customization in one tier (layer) of the tree, and pack arcs for the sweeps.

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

        A block may have several bundles. The shared memory of the next one begins `units` * `UNIT`
        bytes further. Within a bundle, from its begin (`own_shares`; a number is one word or two):

        ============ ============= =========================================== =================
        offset       size          what                                        written by
        ============ ============= =========================================== =================
        basic        2 arc_room    numbers: up and down along members' arcs,   `bring`
                                   as the basic pass left them
        ways         2 ways_room   numbers: the same, which fall here; then    `bring`,
                                   those of pairs, which are read only         `bring_pairs`
        at.ends      room          words: where every step of triangles ends   here
        at.starts    room + 1      words: where the arcs of every member begin `_note_members`
        at.lengths   2 room        words: longest ways up of every row; down   `measure`
        at.groups    room          words: kept arcs down of every member       `_note_kept`
         + room      room          words: groups of all members before it      `_number_groups`
        at.up_bits   arc_room / 32 words: a bit an arc: is it kept, upward     `choose`
        at.down_bits arc_room / 32 words: the same, downward                   `choose`
        ============ ============= =========================================== =================

        With `outside` the first two are in `spare`, and the rest begins at 0. `basic` and `ways`
        count in arcs, of two numbers each; `at` counts in words of 4 bytes. Bits have a word more
        than the division gives, for the remainder.
        """
        block, weighed = own_block()
        in_tier = uint32(block * cuda.blockDim.y + cuda.threadIdx.y)
        own = uint32(first_bundle + in_tier)
        if own >= last_bundle:
            return
        weights, perfect, lengths = weights[weighed], perfect[weighed], lengths[weighed]
        found, stream_stop, stream = found[weighed], stream_stop[weighed], stream[weighed]
        kept = _kept_of(weighed, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights)
        measures = length_of_bits(found[GREATEST]) > most
        # (first what the ways of members were before)
        needed = uint32(2 * (arc_room + ways_room))
        numbers, basic = lend(spare, in_tier, weighed, needed, units)
        if outside:
            needed = uint32(0)
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        signed = cuda.shared.array(0, int32, alignment=ALIGNMENT)
        at = own_shares(room, arc_room, needed, words_a_number, units)
        held = Held(numbers, basic, uint32(basic + arc_room), words, signed, at, room)
        first, last = uint32(bundle_first[own]), uint32(bundle_first[uint32(own + 1)])
        begin = uint32(arcs_first[first])
        bundle = Bundle(
            first, uint32(last - first), begin, uint32(arcs_first[last] - begin),
            uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x),
        )  # fmt: skip
        boundary_at = uint32(boundary_first[own])
        count = uint32(bundle.members + boundary_first[uint32(own + 1)] - boundary_at)
        first_step = uint32(step_first[own])
        stages = uint32(step_first[uint32(own + 1)] - first_step)
        bring(bundle, held, weights)
        pair = uint32(pair_first[own] + bundle.thread)
        bring_pairs(
            bundle, held, pair, uint32(pair_first[uint32(own + 1)]), pairs, pair_arcs, perfect
        )
        _note_members(bundle, held, arcs_first)
        low, high = triangle_first[own], triangle_first[uint32(own + 1)]
        i = bundle.thread
        while i < stages:
            ends = uint32(high - low)
            if uint32(i + 1) < stages:
                ends = step_triangles[uint32(first_step + i + 1)]
            words[uint32(at.ends + i)] = ends
            i = uint32(i + bundle.threads)
        meet()
        walk(words, at.ends, stages, legs[low:high], thirds[low:high], numbers, basic, held.ways)
        if measures:
            measure(
                bundle, held, boundary, boundary_at, count, steps, first_step, stages, rows, lengths
            )  # fmt: skip
        choose(bundle, held, feeds, perfect)
        meet()
        _note_kept(bundle, held, ranks, measures, lengths, found, kept)
        meet()
        _number_groups(bundle, held, group_bits)
        meet()
        start = uint64(stream_first[own])
        pack(bundle, held, group_bits, rows, heads, depths, kept, stream, start)
        fill_up(bundle, held, group_bits, count, rows, stream, start, stream_stop, own)

    return _perfect_kernel


@cache
def make_perfect_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of the perfect customization for all vertices of one tree depth."""
    number = from_dtype(dtype)

    @kernel
    def _perfect_level_kernel(first_place, places, arcs_first, heads, weights, perfect):
        """Relax the arcs of the vertices of one depth through higher vertices (perfect pass).

        Some blocks per vertex and set, a warp per arc.

        =========== ======== ====== =========================================
        argument    shape    dtype  written by
        =========== ======== ====== =========================================
        first_place scalar   uint32 host: of the level
        places      (n,)     int32  host: of ranks
        arcs_first  (n + 1,) uint32 host: where the arcs of every place begin
        heads       (c,)     int32  `placed_arcs_kernel`
        weights     (s, 2 c) number the basic pass
        perfect     (s, 2 c) number what is above; here: of these vertices
        =========== ======== ====== =========================================
        """
        weights, perfect = weights[cuda.blockIdx.y], perfect[cuda.blockIdx.y]
        place, thread = uint32(first_place + cuda.blockIdx.x), uint32(cuda.threadIdx.x)
        begin = uint32(arcs_first[place])
        degree = uint32(arcs_first[uint32(place + 1)] - begin)
        lane, warps = uint32(thread % WARP), uint32(VERTEX_THREADS // WARP)
        i = uint32(cuda.blockIdx.z * warps + thread // WARP)
        while i < degree:
            arc = uint32(begin + i)
            up, down = weights[up_slot(arc)], weights[down_slot(arc)]
            j = lane
            while j < degree:
                if i != j:
                    first, second = min(i, j), max(i, j)
                    above = uint32(places[heads[uint32(begin + first)]])
                    low, high = uint32(arcs_first[above]), uint32(arcs_first[uint32(above + 1)])
                    further = heads[uint32(begin + second)]
                    third = third_of(heads, low, high, first, second, degree, further)
                    there, back = perfect[up_slot(third)], perfect[down_slot(third)]
                    if i < j:
                        there, back = back, there
                    # (now from the head of the other arc to that of this one, and back)
                    other = uint32(begin + j)
                    up = min(up, number(weights[up_slot(other)] + there))
                    down = min(down, number(back + weights[down_slot(other)]))
                j = uint32(j + WARP)
            up, down = least_of_warp(up), least_of_warp(down)
            if lane == 0:
                perfect[up_slot(arc)], perfect[down_slot(arc)] = up, down
            i = uint32(i + cuda.gridDim.z * warps)

    return _perfect_level_kernel


@cache
def make_lengths_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that measures the longest upward and downward paths of one level."""
    inf, length_of = infinity(dtype).item(), make_length_of(dtype)

    @kernel
    def _lengths_level_kernel(
        first_place, most, ranks, arcs_first, heads, weights, perfect, lengths, found
    ):
        """Find for each vertex of a level the length of the longest upward and downward path.

        =========== ========== ======= ===============================================
        argument    shape      dtype   written by
        =========== ========== ======= ===============================================
        first_place scalar     uint32  host: of the level
        most        scalar     float32 host: greatest weight that needs no lengths
        ranks       (n,)       int32   host: of places
        arcs_first  (n + 1,)   uint32  host: where the arcs of every place begin
        heads       (c,)       int32   `placed_arcs_kernel`
        weights     (s, 2 c)   number  the basic pass
        perfect     (s, 2 c)   number  the perfect pass
        lengths     (s, 2, n)  int32   what is above; here: of these vertices, by ranks
        found       (s, WORDS) int32   all kernels: `LONGEST_UP`, `LONGEST_DOWN`
        =========== ========== ======= ===============================================
        """
        weighed = cuda.blockIdx.y
        weights, perfect, lengths = weights[weighed], perfect[weighed], lengths[weighed]
        found = found[weighed]
        longest = cuda.shared.array(2, int32)
        if length_of_bits(found[GREATEST]) <= most:
            return
        place, thread = uint32(first_place + cuda.blockIdx.x), uint32(cuda.threadIdx.x)
        if thread < 2:
            longest[thread] = 0
        cuda.syncthreads()
        arc = uint32(arcs_first[place] + thread)
        while arc < uint32(arcs_first[uint32(place + 1)]):
            head = heads[arc]
            for way in range(2):
                slot = uint32(up_slot(arc) + way)
                weight = perfect[slot]
                if weight < inf and weight == weights[slot]:
                    further = float32(length_of_bits(lengths[way, head]) + length_of(weight))
                    cuda.atomic.max(longest, way, int32(length_bits(further)))
            arc = uint32(arc + VERTEX_THREADS)
        cuda.syncthreads()
        if thread < 2:
            lengths[thread, ranks[place]] = longest[thread]
            word = uint32(LONGEST_UP + thread)
            if longest[thread] > found[word]:
                cuda.atomic.max(found, word, longest[thread])

    return _lengths_level_kernel


@cache
def make_pack_levels_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that packs the arcs that sweeps need, for vertices swept by levels."""
    inf = infinity(dtype).item()

    @kernel
    def _pack_levels_kernel(
        first_place, last_place, ranks, depth, arcs_first, heads, weights, perfect, found,
        up_stop, up_depths, up_weights, down_stop, down_ends, down_weights,
    ):  # fmt: skip
        """Copy the arcs that sweeps need to packed arrays, for vertices swept level by level.

        ============ ========== ====== ===================================================
        argument     shape      dtype  written by
        ============ ========== ====== ===================================================
        first_place  scalar     uint32 host: of all levels
        last_place   scalar     uint32 host: of the bundles
        ranks        (n,)       int32  host: of places
        depth        (n,)       int32  host: of ranks
        arcs_first   (n + 1,)   uint32 host: where the arcs of every place begin
        heads        (c,)       int32  `placed_arcs_kernel`
        weights      (s, 2 c)   number the basic pass
        perfect      (s, 2 c)   number the perfect pass
        found        (s, WORDS) int32  all kernels: `APART`
        up_stop      (s, n)     uint32 here: where the arcs up that are kept end, of ranks
        up_depths    (s, c)     int32  here: depth of their heads
        up_weights   (s, c)     number here
        down_stop    (s, n)     uint32 here: the same of the arcs down
        down_ends    (s, c)     int32  here: their heads, as ranks
        down_weights (s, c)     number here
        ============ ========== ====== ===================================================
        """
        weighed = cuda.blockIdx.y
        kept = _kept_of(weighed, up_stop, up_depths, up_weights, down_stop, down_ends, down_weights)
        warp = uint32(cuda.blockIdx.x * (VERTEX_THREADS // WARP) + cuda.threadIdx.x // WARP)
        place = uint32(first_place + warp)
        if place >= last_place:
            return
        weights, perfect = weights[weighed], perfect[weighed]
        ups, downs = _pack(place, ranks, depth, arcs_first, heads, weights, perfect, kept, inf)
        if ups == 0 or downs == 0:
            found[weighed, APART] = 1

    return _pack_levels_kernel
