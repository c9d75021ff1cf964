"""New weights for a structure on a GPU: customization, bundle by bundle, and packing for sweeps.

The twin of `sssp.hierarchy.customization`, on the pieces that `sssp.hierarchy.bundles` cuts the
elimination tree into: the basic pass goes up through tiers and levels, Floyd-Warshall closes the
top, the perfect pass comes back down and packs what is kept.

A thread block holds a bundle as a matrix in shared memory, a row for every member and every vertex
of its boundary. A member is the lower corner of triangles whose third sides join its neighbours
above, so in a matrix triangles are neither stored nor looked for. Members of one depth go together,
a *step*; threads next to each other take arcs above them that are next to each other, and the
threads of a slice some of the other arcs of their tails. Arcs within the boundary belong to the
bundles above; ways over members come to them at the end.

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
from numba import float32, from_dtype, int32, int64, uint16, uint32, uint64

from sssp.cuda.compiler import SIMULATOR, bits_of, cuda, inline, kernel, number_of
from sssp.cuda.device.warp import WARP, ballot, least_of_warp
from sssp.cuda.device.warp import rank as before
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.hierarchy.cuda.sweeps import ENDS, LEVEL_AT, ROW_BITS, arc_writer
from sssp.hierarchy.structure import NO_SLOT
from sssp.kernels.dtypes import FLOAT32, infinity

__all__ = [
    "APART",
    "FARTHEST",
    "GREATEST",
    "LONGEST_DOWN",
    "LONGEST_UP",
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
    "pairs_kernel",
    "placed_arcs_kernel",
    "placed_givers_kernel",
]

#: words of ``found``: whether some vertex cannot climb or be climbed down to; by their bits, the
#: greatest weight of an arc before the perfect pass, the greatest distance within the top, and the
#: longest ways up and down, if they have been measured
APART, GREATEST, FARTHEST, LONGEST_UP, LONGEST_DOWN, WORDS = 0, 1, 2, 3, 4, 5
#: threads of a block that takes a vertex, on a level or in the top
VERTEX_THREADS = 2 if SIMULATOR else 128
#: registers of a thread, so that a block may have so many threads
REGISTERS = 65536 // 1024
#: a row of a bundle fits into so many bits of a word
HALF, LOW_HALF = 16, 0xFFFF
#: rows up to which a bundle's block has so many threads, which take so many arcs side by side
CREWS = (48, (32, 16)), (64, (256, 64)), (1 << HALF, (512, 64))
#: the same where there are blocks enough, of several sets
CREWS_OF_SETS = (48, (32, 16)), (64, (64, 32)), (88, (256, 64)), (1 << HALF, (512, 64))

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


def _shares(rows, arcs, matrix, words_a_number):
    """Return where in a block's shared memory everything begins, each in its own units.

    First comes the matrix, of numbers; then words: where the arcs of every member and of every
    step begin, two lengths for every row, groups of every member and those before, whether arcs up
    and down are kept, a bit each; then half words, the rows that arcs lead to.
    """
    starts = matrix * words_a_number
    steps = starts + rows + 1
    lengths = steps + rows + 1
    groups = lengths + 2 * rows
    up_bits = groups + 2 * rows
    down_bits = up_bits + arcs // WARP + 1
    halves = 2 * (down_bits + arcs // WARP + 1)
    return starts, steps, lengths, groups, up_bits, down_bits, halves


_shares_here = inline(_shares)


class Room(NamedTuple):
    """What a bundle's block needs.

    Attributes
    ----------
    rows : int
        Most members and boundary vertices of a bundle.
    arcs : int
        Most arcs above its members.
    """

    rows: int
    arcs: int

    def crew(self, sets: int) -> tuple[int, int]:
        """How many threads it has, and how many arcs they take side by side."""
        if SIMULATOR:
            return 4, 2
        crews = CREWS if sets == 1 else CREWS_OF_SETS
        return next(crew for most, crew in crews if self.rows <= most)

    @property
    def size(self) -> int:
        """Entries of the matrix; an odd number of them to a row, so that columns use all banks."""
        return self.rows * (self.rows | 1)

    def shared_bytes(self, dtype: np.dtype[Any], *, outside: bool) -> int:
        """Bytes of shared memory, without the matrix or with it."""
        matrix = 0 if outside else self.size
        halves: int
        *_, halves = _shares(self.rows, self.arcs, matrix, dtype.itemsize // 4)
        return -(-(halves + self.arcs) // 4) * 8


@inline
def _rows_of(word):
    """Return the rows of the tail and of the head of an arc."""
    return uint32(word >> uint32(HALF)), uint32(word & uint32(LOW_HALF))


@inline
def _marked(member, level):
    """Return the part of a word of the stream that all arcs of a member share."""
    return uint32((member << uint32(ROW_BITS)) | (uint32(level) << uint32(LEVEL_AT)))


@inline
def _place_of(values, low, high, value):
    """Return where a value stands in a part of an array that is sorted."""
    while low < high:
        middle = uint32((low + high) >> uint32(1))
        if values[middle] < value:
            low = uint32(middle + 1)
        else:
            high = middle
    return low


# ---- once for a structure


@kernel
def placed_arcs_kernel(
    start, ranks, places, bundles, bundle_first, boundary_first, boundary, first, upper,
    arcs_first, heads, rows,
):  # fmt: skip
    """Sort the chordal arcs by place, and say which rows each joins, a thread a place.

    ============== ============ ====== =========================================================
    argument       shape        dtype  written by
    ============== ============ ====== =========================================================
    start          scalar       uint32 host: the place where bundles begin
    ranks          (n,)         int32  host: of places
    places         (n,)         int32  host: of ranks
    bundles        (n - start,) int32  host: of places, from the first bundle
    bundle_first   (b + 1,)     int32  host
    boundary_first (b + 1,)     int32  host
    boundary       (x,)         int32  host: ranks
    first          (n + 1,)     uint32 host: where the chordal arcs of every rank begin
    upper          (c,)         int32  host: ranks above
    arcs_first     (n + 1,)     uint32 host: where those of every place begin
    heads          (c,)         int32  here: ranks above
    rows           (c,)         uint32 here: in the lower half that of the head, then the tail's
    ============== ============ ====== =========================================================
    """
    place = uint32(cuda.grid(1))
    if place >= ranks.size:
        return
    rank = uint32(ranks[place])
    arc, stop = uint32(first[rank]), uint32(first[uint32(rank + 1)])
    at = uint32(arcs_first[place])
    bundle, own, begin, end = uint32(0), uint32(0), uint32(0), uint32(0)
    members, low_place = uint32(0), uint32(0)
    inside = place >= start
    if inside:
        bundle = uint32(bundles[uint32(place - start)])
        low_place = uint32(bundle_first[bundle])
        own = uint32(place - low_place)
        members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - low_place)
        begin = uint32(boundary_first[bundle])
        end = uint32(boundary_first[uint32(bundle + 1)])
    while arc < stop:
        head = upper[arc]
        heads[at] = head
        if inside:
            row = uint32(places[head])
            if row >= low_place:
                row = uint32(row - low_place)
            else:
                row = uint32(members + (_place_of(boundary, begin, end, head) - begin))
            rows[at] = uint32((own << uint32(HALF)) | row)
        arc, at = uint32(arc + 1), uint32(at + 1)


@inline
def up_slot(arc):
    """Return where the weight up along a chordal arc stands."""
    return uint32(arc << uint32(1))


@inline
def down_slot(arc):
    """Return where the weight down along a chordal arc stands."""
    return uint32((arc << uint32(1)) | uint32(1))


@kernel
def pairs_kernel(roots, root_pairs, places, arcs_first, heads, rows, pairs, pair_arcs):
    """List the arcs within the boundaries of bundles, a block a root of a bundle's subtrees.

    Every neighbour above a subtree is one of its root's, and they are all joined.

    ========== ======== ====== ============================================================
    argument   shape    dtype  written by
    ========== ======== ====== ============================================================
    roots      (r,)     int32  host: places, bundle by bundle
    root_pairs (r + 1,) uint32 host: where the pairs of every root begin
    places     (n,)     int32  host: of ranks
    arcs_first (n + 1,) uint32 host: where the arcs of every place begin
    heads      (c,)     int32  `placed_arcs_kernel`
    rows       (c,)     uint32 `placed_arcs_kernel`
    pairs      (p,)     uint32 here: in the lower half the row of the head, then the tail's
    pair_arcs  (p,)     uint32 here: the number of the arc between them
    ========== ======== ====== ============================================================
    """
    root = uint32(roots[cuda.blockIdx.x])
    begin, stop = arcs_first[root], arcs_first[uint32(root + 1)]
    at = uint32(root_pairs[cuda.blockIdx.x])
    degree = uint32(stop - begin)
    i = uint32(0)
    while i < degree:
        tail = uint32(begin + i)
        place = uint32(places[heads[tail]])
        low, high = arcs_first[place], arcs_first[uint32(place + 1)]
        j = uint32(i + 1 + cuda.threadIdx.x)
        while j < degree:
            head = uint32(begin + j)
            own = uint32(at + j - i - 1)
            pairs[own] = ((rows[tail] & uint32(LOW_HALF)) << uint32(HALF)) | (
                rows[head] & uint32(LOW_HALF)
            )
            pair_arcs[own] = _place_of(heads, low, high, heads[head])
            j = uint32(j + cuda.blockDim.x)
        at = uint32(at + degree - i - 1)
        i = uint32(i + 1)


@kernel
def placed_givers_kernel(slots, ranks, places, first, arcs_first, givers):
    """Say which arc of a graph gives a chordal arc its weight, a thread an arc of the graph.

    ========== ======== ====== ==================================================
    argument   shape    dtype  written by
    ========== ======== ====== ==================================================
    slots      (m,)     uint32 host: among the chordal arcs by rank
    ranks      (n,)     int32  host: of places
    places     (n,)     int32  host: of ranks
    first      (n + 1,) uint32 host: where the chordal arcs of every rank begin
    arcs_first (n + 1,) uint32 host: where those of every place begin
    givers     (2 c,)   uint32 host: NO_SLOT; here: of arcs by place, up and down
    ========== ======== ====== ==================================================
    """
    own = cuda.grid(1)
    if own >= slots.size:
        return
    slot = slots[own]
    if slot == uint32(NO_SLOT):
        return
    arc = uint32(slot >> uint32(1))
    low, high = uint32(0), uint32(ranks.size)
    while uint32(low + 1) < high:
        middle = uint32((low + high) >> uint32(1))
        if first[middle] <= arc:
            low = middle
        else:
            high = middle
    further = uint32(arcs_first[uint32(places[low])] + (arc - first[low]))
    givers[uint32((further << uint32(1)) | (slot & uint32(1)))] = uint32(own)


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


@cache
def make_first_weights_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that all other kernels of a customization begin from."""
    inf = infinity(dtype).item()

    @kernel
    def _first_weights_kernel(arc_weights, givers, weights, matrix, found):
        """Give chordal arcs, both ways, the weights of the graph's arcs; clear the rest.

        A thread a chordal arc and direction, or an entry of the matrix, whatever is more.

        =========== ================ ====== =========================================
        argument    shape            dtype  written by
        =========== ================ ====== =========================================
        arc_weights (s, m)           number host
        givers      (2 c,)           uint32 `placed_givers_kernel`
        weights     (s, 2 c)         number here: up and down along every chordal arc
        matrix      (s, size * size) number here: INF
        found       (s, WORDS)       int32  here: 0
        =========== ================ ====== =========================================
        """
        own, weighed = cuda.grid(1), cuda.blockIdx.y
        if own < givers.size:
            giver, weight = givers[own], inf
            if giver != uint32(NO_SLOT):
                # (a closed arc weighs more)
                weight = min(arc_weights[weighed, giver], inf)
            weights[weighed, own] = weight
        if own < matrix.shape[1]:
            matrix[weighed, own] = inf
        if own < WORDS:
            found[weighed, own] = 0

    return _first_weights_kernel


@cache
def _make_bundle_parts(dtype: np.dtype[Any], *, outside: bool) -> tuple[Any, Any]:
    """Return device functions that lend a block its matrix, and read a bundle into it."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    if outside:

        @inline
        def lent(spare, size):
            block = int64(cuda.blockIdx.y) * int64(cuda.gridDim.x) + int64(cuda.blockIdx.x)
            begin = int64(block * int64(size))
            return spare[begin : begin + int64(size)]

    else:

        @inline
        def lent(spare, size):
            return cuda.shared.array(0, number, alignment=ALIGNMENT)

    @inline
    def read(
        matrix, words, halves, starts_at, steps_at, halves_at, pitch, count, members, first,
        step_places, arcs_first, rows, weights,
    ):  # fmt: skip
        """Fill the matrix with the arcs of the members; list where they begin and lead to."""
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        i = thread
        while i < uint32(count * pitch):
            matrix[i] = number(inf)
            i = uint32(i + threads)
        begin = uint32(arcs_first[first])
        i = thread
        while i <= members:
            words[uint32(starts_at + i)] = uint32(arcs_first[uint32(first + i)] - begin)
            i = uint32(i + threads)
        i = thread
        while i < step_places.size:
            words[uint32(steps_at + i)] = uint32(arcs_first[step_places[i]] - begin)
            i = uint32(i + threads)
        cuda.syncthreads()
        end = words[uint32(starts_at + members)]
        i = thread
        while i < end:
            arc = uint32(begin + i)
            word = rows[arc]
            tail, head = _rows_of(word)
            halves[uint32(halves_at + i)] = uint16(head)
            matrix[uint32(tail * pitch + head)] = weights[up_slot(arc)]
            matrix[uint32(head * pitch + tail)] = weights[down_slot(arc)]
            i = uint32(i + threads)
        return begin, end

    return lent, read


@cache
def make_basic_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel of the basic pass over bundles.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether matrices are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    lent, read = _make_bundle_parts(dtype, outside=outside)
    words_a_number = dtype.itemsize // 4
    length_of = _make_length_of(dtype)

    @kernel(max_registers=REGISTERS)
    def _basic_kernel(
        first_bundle, room, arc_room, across, bundle_first, boundary_first, step_first, steps,
        arcs_first, rows, pair_first, pairs, pair_arcs, weights, found, spare,
    ):  # fmt: skip
        """Let arcs fall to the ways over lower vertices, a block a bundle and set.

        ============== ========== ====== ==================================================
        argument       shape      dtype  written by
        ============== ========== ====== ==================================================
        first_bundle   scalar     uint32 host: of the tier
        room           scalar     uint32 host: most rows of a bundle
        arc_room       scalar     uint32 host: most arcs above its members
        across         scalar     uint32 host: arcs that threads take side by side
        bundle_first   (b + 1,)   int32  host: places
        boundary_first (b + 1,)   int32  host
        step_first     (b + 1,)   uint32 host: where the steps of every bundle begin
        steps          (s,)       uint32 host: the first place of each
        arcs_first     (n + 1,)   uint32 host: where the arcs of every place begin
        rows           (c,)       uint32 `placed_arcs_kernel`
        pair_first     (b + 1,)   uint32 host: where the pairs of every bundle begin
        pairs          (p,)       uint32 `pairs_kernel`
        pair_arcs      (p,)       uint32 `pairs_kernel`
        weights        (s, 2 c)   number the kernels before; here: of the members and pairs
        found          (s, WORDS) int32  all kernels: `GREATEST`
        spare          (x,)       number here: matrices, if shared memory is too small
        ============== ========== ====== ==================================================
        """
        weights, found = weights[cuda.blockIdx.y], found[cuda.blockIdx.y]
        size = uint32(room * (room | uint32(1)))
        matrix = lent(spare, size)
        if outside:
            size = uint32(0)
        starts_at, steps_at, _, _, _, _, halves_at = _shares_here(
            room, arc_room, size, words_a_number
        )
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        halves = cuda.shared.array(0, uint16, alignment=ALIGNMENT)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        bundle = uint32(first_bundle + cuda.blockIdx.x)
        first = uint32(bundle_first[bundle])
        members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - first)
        bounded = uint32(boundary_first[uint32(bundle + 1)] - boundary_first[bundle])
        count = uint32(members + bounded)
        pitch = uint32(count | uint32(1))
        begin, end = read(
            matrix, words, halves, starts_at, steps_at, halves_at, pitch, count, members, first,
            steps[step_first[bundle] : step_first[uint32(bundle + 1)]], arcs_first, rows, weights,
        )  # fmt: skip
        stages = uint32(step_first[uint32(bundle + 1)] - step_first[bundle])
        cuda.syncthreads()
        beside, part = uint32(thread % across), uint32(thread // across)
        parts = uint32(threads // across)
        stage = stages
        while stage > 0:
            stage = uint32(stage - 1)
            i, high = uint32(words[uint32(steps_at + stage)] + beside), end
            if uint32(stage + 1) < stages:
                high = words[uint32(steps_at + stage + 1)]
            while i < high:
                word = rows[uint32(begin + i)]
                tail, head = _rows_of(word)
                own, row = uint32(tail * pitch), uint32(head * pitch)
                here = matrix[uint32(row + tail)]
                j = uint32(words[uint32(starts_at + tail)] + part)
                stop = words[uint32(starts_at + tail + 1)]
                while j < stop:
                    # (two at a time, for each waits for what it reads)
                    next_j = min(uint32(j + parts), uint32(stop - 1))
                    other = uint32(halves[uint32(halves_at + j)])
                    another = uint32(halves[uint32(halves_at + next_j)])
                    way = number(here + matrix[uint32(own + other)])
                    another_way = number(here + matrix[uint32(own + another)])
                    known = matrix[uint32(row + other)]
                    another_known = matrix[uint32(row + another)]
                    if way < known:
                        cuda.atomic.min(matrix, uint32(row + other), way)
                    if another_way < another_known:
                        cuda.atomic.min(matrix, uint32(row + another), another_way)
                    j = uint32(j + 2 * parts)
                i = uint32(i + across)
            cuda.syncthreads()
        greatest = float32(0)
        i = thread
        while i < end:
            arc = uint32(begin + i)
            word = rows[arc]
            tail, head = _rows_of(word)
            up, down = matrix[uint32(tail * pitch + head)], matrix[uint32(head * pitch + tail)]
            weights[up_slot(arc)], weights[down_slot(arc)] = up, down
            if up < inf:
                greatest = max(greatest, length_of(up))
            if down < inf:
                greatest = max(greatest, length_of(down))
            i = uint32(i + threads)
        _note(found, GREATEST, greatest)
        pair = uint32(pair_first[bundle] + thread)
        last = uint32(pair_first[uint32(bundle + 1)])
        while pair < last:
            word, arc = pairs[pair], pair_arcs[pair]
            tail, head = _rows_of(word)
            up, down = matrix[uint32(tail * pitch + head)], matrix[uint32(head * pitch + tail)]
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
                third = _place_of(heads, low, high, heads[other])
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
                at = uint32(ups + before(kept_up, lane))
                up_depths[at], up_weights[at] = depth[heads[arc]], up
            if keeps_down:
                at = uint32(downs + before(kept_down, lane))
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


@cache
def make_perfect_kernel(dtype: np.dtype[Any], *, outside: bool = False) -> Any:
    """Return the kernel of the perfect pass over bundles, which packs what is kept.

    Parameters
    ----------
    dtype : dtype
    outside : bool
        Whether matrices are in the memory of the device, for shared memory is too small.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    write = arc_writer(dtype)
    lent, read = _make_bundle_parts(dtype, outside=outside)
    words_a_number = dtype.itemsize // 4
    length_of = _make_length_of(dtype)

    @inline
    def lengthen(lengths, place, row, weight, basic):
        """Let the way of a member be as long as that over an arc which is kept."""
        if weight == basic and basic < inf:
            further = float32(_length(lengths[row]) + length_of(weight))
            cuda.atomic.max(lengths, place, int32(_bits(further)))

    @kernel(max_registers=REGISTERS)
    def _perfect_kernel(
        first_bundle, room, arc_room, across, group, most, feeds, ranks, depth, levels,
        bundle_first, boundary_first, boundary, step_first, steps, arcs_first, heads, rows,
        pair_first, pairs, pair_arcs, weights, perfect, lengths, found, up_stop, up_depths,
        up_weights, down_stop, down_ends, down_weights, stream_first, stream_stop, stream, spare,
    ):  # fmt: skip
        """Let arcs of members fall to the ways over higher vertices, a block a bundle and set.

        ============== ========== ======= ===================================================
        argument       shape      dtype   written by
        ============== ========== ======= ===================================================
        first_bundle   scalar     uint32  host: of the tier
        room           scalar     uint32  host: most rows of a bundle
        arc_room       scalar     uint32  host: most arcs above its members
        across         scalar     uint32  host: arcs that threads take side by side
        group          scalar     uint32  host: arcs of a group of the stream
        most           scalar     float32 host: greatest weight that needs no lengths
        feeds          scalar     uint32  host: whether there are bundles below
        ranks          (n,)       int32   host: of places
        depth          (n,)       int32   host: of ranks
        levels         (n - x,)   int32   host: of places in bundles, within them
        bundle_first   (b + 1,)   int32   host: places
        boundary_first (b + 1,)   int32   host
        boundary       (x,)       int32   host: ranks
        step_first     (b + 1,)   uint32  host: where the steps of every bundle begin
        steps          (s,)       uint32  host: the first place of each
        arcs_first     (n + 1,)   uint32  host: where the arcs of every place begin
        heads          (c,)       int32   `placed_arcs_kernel`
        rows           (c,)       uint32  `placed_arcs_kernel`
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
        spare          (x,)       number  here: matrices, if shared memory is too small
        ============== ========== ======= ===================================================
        """
        weighed = cuda.blockIdx.y
        weights, perfect, lengths = weights[weighed], perfect[weighed], lengths[weighed]
        found, up_stop, up_depths = found[weighed], up_stop[weighed], up_depths[weighed]
        up_weights, down_stop = up_weights[weighed], down_stop[weighed]
        down_ends, down_weights = down_ends[weighed], down_weights[weighed]
        stream_stop, stream = stream_stop[weighed], stream[weighed]
        measures = _length(found[GREATEST]) > most
        size = uint32(room * (room | uint32(1)))
        matrix = lent(spare, size)
        if outside:
            size = uint32(0)
        starts_at, steps_at, lengths_at, groups_at, up_bits_at, down_bits_at, halves_at = (
            _shares_here(room, arc_room, size, words_a_number)
        )
        words = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        signed = cuda.shared.array(0, int32, alignment=ALIGNMENT)
        halves = cuda.shared.array(0, uint16, alignment=ALIGNMENT)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        bundle = uint32(first_bundle + cuda.blockIdx.x)
        first = uint32(bundle_first[bundle])
        members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - first)
        boundary_at = uint32(boundary_first[bundle])
        bounded = uint32(uint32(boundary_first[uint32(bundle + 1)]) - boundary_at)
        count = uint32(members + bounded)
        pitch = uint32(count | uint32(1))
        begin, end = read(
            matrix, words, halves, starts_at, steps_at, halves_at, pitch, count, members, first,
            steps[step_first[bundle] : step_first[uint32(bundle + 1)]], arcs_first, rows, weights,
        )  # fmt: skip
        stages = uint32(step_first[uint32(bundle + 1)] - step_first[bundle])
        pair = uint32(pair_first[bundle] + thread)
        last = uint32(pair_first[uint32(bundle + 1)])
        while pair < last:
            word, arc = pairs[pair], pair_arcs[pair]
            tail, head = _rows_of(word)
            matrix[uint32(tail * pitch + head)] = perfect[up_slot(arc)]
            matrix[uint32(head * pitch + tail)] = perfect[down_slot(arc)]
            pair = uint32(pair + threads)
        i = thread
        while measures and i < count:
            up, down = int32(0), int32(0)
            if i >= members:
                rank = uint32(boundary[uint32(boundary_at + i - members)])
                up, down = lengths[0, rank], lengths[1, rank]
            signed[uint32(lengths_at + i)] = up
            signed[uint32(lengths_at + room + i)] = down
            i = uint32(i + threads)
        cuda.syncthreads()
        beside, part = uint32(thread % across), uint32(thread // across)
        parts = uint32(threads // across)
        stage, low = uint32(0), uint32(0)
        last_stage = uint32(stages + 1) if measures else stages
        while stage < last_stage:
            # (threads lower what others have yet to read, which read what it was from outside)
            begins, high = end, end
            if stage < stages:
                begins = words[uint32(steps_at + stage)]
            if uint32(stage + 1) < stages:
                high = words[uint32(steps_at + stage + 1)]
            i = uint32(begins + beside)
            while i < high:
                word = rows[uint32(begin + i)]
                tail, head = _rows_of(word)
                own, row = uint32(tail * pitch), uint32(head * pitch)
                up, down = number(inf), number(inf)
                j = uint32(words[uint32(starts_at + tail)] + part)
                stop = words[uint32(starts_at + tail + 1)]
                while j < stop:
                    # (two at a time, for each waits for what it reads)
                    next_j = min(uint32(j + parts), uint32(stop - 1))
                    other = uint32(halves[uint32(halves_at + j)])
                    another = uint32(halves[uint32(halves_at + next_j)])
                    arc, next_arc = uint32(begin + j), uint32(begin + next_j)
                    climb, next_climb = weights[up_slot(arc)], weights[up_slot(next_arc)]
                    descent, next_descent = weights[down_slot(arc)], weights[down_slot(next_arc)]
                    over = matrix[uint32(other * pitch + head)]
                    next_over = matrix[uint32(another * pitch + head)]
                    back, next_back = matrix[uint32(row + other)], matrix[uint32(row + another)]
                    up = min(number(climb + over), up)
                    down = min(number(back + descent), down)
                    up = min(number(next_climb + next_over), up)
                    down = min(number(next_back + next_descent), down)
                    j = uint32(j + 2 * parts)
                if up < matrix[uint32(own + head)]:
                    cuda.atomic.min(matrix, uint32(own + head), up)
                if down < matrix[uint32(row + tail)]:
                    cuda.atomic.min(matrix, uint32(row + tail), down)
                i = uint32(i + across)
            # meanwhile the longest ways of those before
            i = uint32(low + thread)
            while measures and i < begins:
                arc = uint32(begin + i)
                word = rows[arc]
                tail, head = _rows_of(word)
                lengthen(
                    signed, uint32(lengths_at + tail), uint32(lengths_at + head),
                    matrix[uint32(tail * pitch + head)], weights[up_slot(arc)],
                )  # fmt: skip
                lengthen(
                    signed, uint32(lengths_at + room + tail), uint32(lengths_at + room + head),
                    matrix[uint32(head * pitch + tail)], weights[down_slot(arc)],
                )  # fmt: skip
                i = uint32(i + threads)
            low = begins
            cuda.syncthreads()
            stage = uint32(stage + 1)
        # what is kept, a bit an arc
        base = uint32(0)
        while base < end:
            i = uint32(base + thread)
            keeps_up, keeps_down = False, False
            if i < end:
                arc = uint32(begin + i)
                word = rows[arc]
                tail, head = _rows_of(word)
                up, down = matrix[uint32(tail * pitch + head)], matrix[uint32(head * pitch + tail)]
                was_up, was_down = weights[up_slot(arc)], weights[down_slot(arc)]
                if feeds:
                    perfect[up_slot(arc)], perfect[down_slot(arc)] = up, down
                keeps_up = up == was_up and was_up < inf
                keeps_down = down == was_down and was_down < inf
            kept_up, kept_down = ballot(keeps_up), ballot(keeps_down)
            if thread % WARP == 0 and i < end:
                words[uint32(up_bits_at + i // WARP)] = kept_up
                words[uint32(down_bits_at + i // WARP)] = kept_down
            base = uint32(base + threads)
        cuda.syncthreads()
        i = thread
        while i < members:
            low, high = words[uint32(starts_at + i)], words[uint32(starts_at + i + 1)]
            ups = _kept_between(words, up_bits_at, low, high)
            downs = _kept_between(words, down_bits_at, low, high)
            rank = uint32(ranks[uint32(first + i)])
            up_stop[rank], down_stop[rank] = uint32(begin + low + ups), uint32(begin + low + downs)
            # (a member without any has a group that leads nowhere)
            words[uint32(groups_at + i)] = max(uint32(1), uint32((downs + group - 1) // group))
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
        cuda.syncthreads()
        i = thread
        while i < members:
            ahead, k = uint32(0), uint32(0)
            while k < i:
                ahead = uint32(ahead + words[uint32(groups_at + k)])
                k = uint32(k + 1)
            words[uint32(groups_at + room + i)] = ahead
            i = uint32(i + threads)
        cuda.syncthreads()
        start = uint64(stream_first[bundle])
        first_inside = uint32(first - uint32(bundle_first[0]))
        i = thread
        while i < end:
            arc = uint32(begin + i)
            word = rows[arc]
            tail, head = _rows_of(word)
            low, bit = words[uint32(starts_at + tail)], uint32(uint32(1) << uint32(i % WARP))
            if words[uint32(up_bits_at + i // WARP)] & bit:
                place = uint32(begin + low + _kept_between(words, up_bits_at, low, i))
                up_depths[place] = depth[heads[arc]]
                up_weights[place] = matrix[uint32(tail * pitch + head)]
            if words[uint32(down_bits_at + i // WARP)] & bit:
                k = _kept_between(words, down_bits_at, low, i)
                down = matrix[uint32(head * pitch + tail)]
                down_ends[uint32(begin + low + k)] = heads[arc]
                down_weights[uint32(begin + low + k)] = down
                place = uint32(head | _marked(tail, levels[uint32(first_inside + tail)]))
                if k >= uint32((words[uint32(groups_at + tail)] - 1) * group):
                    place = uint32(place | uint32(ENDS))
                group_at = uint64(words[uint32(groups_at + room + tail)])
                write(stream, start + group_at * uint64(group) + uint64(k), down, place)
            i = uint32(i + threads)
        i = thread
        while i < members:
            low, high = words[uint32(starts_at + i)], words[uint32(starts_at + i + 1)]
            k = _kept_between(words, down_bits_at, low, high)
            group_at = uint64(words[uint32(groups_at + room + i)]) * uint64(group)
            stop = uint32(words[uint32(groups_at + i)] * group)
            while k < stop:
                place = uint32(count | _marked(i, levels[uint32(first_inside + i)]))
                if k >= uint32(stop - group):
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
        arc = _place_of(
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
