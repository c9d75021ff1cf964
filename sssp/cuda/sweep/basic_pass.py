"""The basic pass of a customization on a GPU: relax each arc over its lower triangles.

`sssp.cuda.sweep.customization` says how, and what happens after it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import float32, from_dtype, int64, uint32, uint64

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel, kernel_with
from sssp.cuda.device.warp import WARP
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.cuda.sweep.arc_slots import HALF, LOW_HALF, down_slot, lower, third_of, up_slot
from sssp.cuda.sweep.triangle_walk import (
    GREATEST,
    VERTEX_THREADS,
    WORDS,
    make_lend,
    make_length_of,
    make_walk,
    meet,
    note,
    own_block,
    own_shares,
    up_position,
)
from sssp.kernels.dtypes import infinity
from sssp.order.structure import NO_SLOT

#: registers of a thread, so that a block may have 1,024 of them
REGISTERS = 64


@kernel
def changes_kernel(places, values, arc_weights):
    """Overwrite changed arc weights in several sets of weights, one thread per change.

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


@cache
def _make_load_weight(dtype: np.dtype[Any]) -> Any:
    """Return a function that reads a chordal arc's weight in the graph; infinity for a shortcut."""
    number, inf = from_dtype(dtype), infinity(dtype).item()

    @inline
    def load_weight(arc_weights, givers, slot):
        giver, weight = givers[slot], number(inf)
        if giver != uint32(NO_SLOT):
            # (a closed arc weighs more)
            weight = min(arc_weights[giver], number(inf))
        return weight

    return load_weight


@cache
def _make_greatest(dtype: np.dtype[Any]) -> Any:
    """Return a function that updates a maximum by the finite up and down weights of an arc."""
    inf, length_of = infinity(dtype).item(), make_length_of(dtype)

    @inline
    def with_arc(greatest, up, down):
        if up < inf:
            greatest = max(greatest, length_of(up))
        if down < inf:
            greatest = max(greatest, length_of(down))
        return greatest

    return with_arc


@cache
def make_first_weights_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that initializes a customization: weights, top matrix, status words."""
    inf, load_weight = infinity(dtype).item(), _make_load_weight(dtype)

    @kernel
    def _first_weights_kernel(count, arc_weights, givers, weights, matrix, found):
        """Initialize chordal arc weights from the graph, and the distance matrix of top vertices.

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
        block, weighed = own_block()
        own = block * int64(cuda.blockDim.x) + int64(cuda.threadIdx.x)
        if own < count:
            weights[weighed, own] = load_weight(arc_weights[weighed], givers, own)
        if own < matrix.shape[1]:
            matrix[weighed, own] = inf
        if own < WORDS:
            found[weighed, own] = 0

    return _first_weights_kernel


@cache
def make_basic_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel of the basic customization pass, which relaxes arcs over lower triangles.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether ways are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    lend, load_weight = make_lend(dtype, outside=outside), _make_load_weight(dtype)
    words_a_number = dtype.itemsize // 4
    with_arc = _make_greatest(dtype)

    @inline
    def relax(numbers, _, ways, legs, third):
        """Relax both directions of a triangle's upper arc by the paths over the lowest vertex."""
        one, other = (
            up_position(ways + (legs >> uint32(HALF))),
            up_position(ways + (legs & uint32(LOW_HALF))),
        )
        side = up_position(ways + third)
        up, down = numbers[one], numbers[one + uint64(1)]
        other_up, other_down = numbers[other], numbers[other + uint64(1)]
        over, back = numbers[side], numbers[side + uint64(1)]
        lower(numbers, side, over, number(down + other_up))
        lower(numbers, side + uint64(1), back, number(other_down + up))

    walk = make_walk(relax, from_below=True)

    @kernel_with(max_registers=REGISTERS)
    @no_type_check
    def _basic_kernel(
        first_bundle, last_bundle, units, room, arc_room, ways_room, bundle_first, step_first,
        step_triangles, arcs_first, triangle_first, legs, thirds, pair_first, pairs, pair_arcs,
        lowest, arc_weights, givers, weights, found, spare,
    ):  # fmt: skip
        """Relax arcs over lower triangles in bundles of subtrees, per weight set (basic pass).

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

        Words of this pass:

        - `ways`: a position, not a length: that of the bundle's first arc in `numbers`, counted in
          arcs. ``numbers[up_position(ways + i)]`` is the weight up along arc i of the bundle, the
          next number the weight down. In `relax`, `way` is a length: of the path over the lowest
          vertex.
        - `room`, `arc_room`, `ways_room`: the greatest sizes of a bundle of this tier (`Room`), by
          which its memory is laid out.
        - `units`: the size of that memory in units of `UNIT` bytes.
        - `lend`: gives the memory of the weights: shared memory, or with `outside` a part of
          `spare`. `held` is how many numbers of them are in shared memory, before the words.
        - `legs`: of a triangle, the two arcs of its lowest vertex, the numbers of both in one word;
          `thirds`: the arc between their heads, which this pass lowers.
        - `pairs`: arcs within the boundary. They begin at INF here, and what they get over members
          is taken to `weights` at the end by an atomic minimum, for other bundles have them too.
        """
        block, weighed = own_block()
        in_tier = uint32(block * cuda.blockDim.y + cuda.threadIdx.y)
        bundle = uint32(first_bundle + in_tier)
        if bundle >= last_bundle:
            return
        weights, found = weights[weighed], found[weighed]
        arc_weights = arc_weights[weighed]
        held = uint32(2 * ways_room)
        numbers, ways = lend(spare, in_tier, weighed, held, units)
        if outside:
            held = uint32(0)
        ends_at = own_shares(room, arc_room, held, words_a_number, units).ends
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        begin = uint32(arcs_first[bundle_first[bundle]])
        end = uint32(arcs_first[bundle_first[uint32(bundle + 1)]] - begin)
        first_step = uint32(step_first[bundle])
        stages = uint32(step_first[uint32(bundle + 1)] - first_step)
        first_pair, last_pair = uint32(pair_first[bundle]), uint32(pair_first[uint32(bundle + 1)])
        i = thread
        while i < end:
            up_at, down_at, place = up_slot(begin + i), down_slot(begin + i), up_position(ways + i)
            if lowest:
                numbers[place] = load_weight(arc_weights, givers, up_at)
                numbers[place + uint64(1)] = load_weight(arc_weights, givers, down_at)
            else:
                numbers[place], numbers[place + uint64(1)] = weights[up_at], weights[down_at]
            i = uint32(i + threads)
        pair = uint32(first_pair + thread)
        while pair < last_pair:
            place = up_position(ways + pairs[pair])
            numbers[place], numbers[place + uint64(1)] = number(inf), number(inf)
            pair = uint32(pair + threads)
        low, high = triangle_first[bundle], triangle_first[uint32(bundle + 1)]
        i = thread
        while i < stages:
            begins = step_triangles[uint32(first_step + stages - 1 - i)]
            words[uint32(ends_at + i)] = uint32(uint32(high - low) - begins)
            i = uint32(i + threads)
        meet()
        walk(words, ends_at, stages, legs[low:high], thirds[low:high], numbers, ways, ways)
        greatest = float32(0)
        i = thread
        while i < end:
            place = up_position(ways + i)
            up, down = numbers[place], numbers[place + uint64(1)]
            weights[up_slot(begin + i)], weights[down_slot(begin + i)] = up, down
            greatest = with_arc(greatest, up, down)
            i = uint32(i + threads)
        note(found, GREATEST, greatest)
        pair = uint32(first_pair + thread)
        while pair < last_pair:
            place, arc = up_position(ways + pairs[pair]), pair_arcs[pair]
            up, down = numbers[place], numbers[place + uint64(1)]
            lower(weights, up_slot(arc), number(inf), up)
            lower(weights, down_slot(arc), number(inf), down)
            pair = uint32(pair + threads)

    return _basic_kernel


@cache
def make_basic_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of basic customization for vertices of one depth near the tree's root."""
    number, with_arc = from_dtype(dtype), _make_greatest(dtype)

    @kernel
    def _basic_level_kernel(first_place, places, arcs_first, heads, weights, found):
        """Lower arc weights by triangles whose lowest vertex is on one level (basic pass).

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
        warps = uint32(VERTEX_THREADS // WARP)
        i = uint32(cuda.blockIdx.z * warps + thread // WARP)
        while i < degree:
            arc = uint32(begin + i)
            above = uint32(places[heads[arc]])
            low, high = uint32(arcs_first[above]), uint32(arcs_first[uint32(above + 1)])
            climb, descent = weights[up_slot(arc)], weights[down_slot(arc)]
            greatest = with_arc(greatest, climb, descent)
            j = uint32(i + 1 + thread % WARP)
            while j < degree:
                other = uint32(begin + j)
                third = third_of(heads, low, high, i, j, degree, heads[other])
                over, back = up_slot(third), down_slot(third)
                lower(weights, over, weights[over], number(descent + weights[up_slot(other)]))
                lower(weights, back, weights[back], number(climb + weights[down_slot(other)]))
                j = uint32(j + WARP)
            i = uint32(i + cuda.gridDim.z * warps)
        if thread % WARP == 0:
            note(found, GREATEST, greatest)

    return _basic_level_kernel


@cache
def make_to_top_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that writes the arc weights among the top vertices to a dense matrix."""
    number, with_arc = from_dtype(dtype), _make_greatest(dtype)

    @kernel
    def _to_top_kernel(places, arcs_first, heads, weights, size, matrix, found):
        """Copy the weights of arcs between top vertices to dense matrices, one per weight set.

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
            greatest = with_arc(greatest, up, down)
            arc = uint32(arc + VERTEX_THREADS)
        note(found, GREATEST, greatest)

    return _to_top_kernel
