"""GPU kernels that list and number the arcs and triangles of each bundle of subtrees.

Chordal arcs are numbered by place: those of a vertex, to ranks above it in order, follow those of
the vertex at the place before. Weights up and down along an arc are next to each other.

Within a bundle arcs are numbered anew: first those of its members, then those within its boundary,
for which there is a number for every two boundary vertices. A triangle is three such numbers.
"""

from numba import uint32

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.sweep.packed_arcs import LEVEL_AT, MEMBER, ROW_BITS, STREAM_ROW
from sssp.order.structure import NO_SLOT

#: the number of an arc in its bundle fits into so many bits of a word
HALF, LOW_HALF = 16, 0xFFFF


@inline
def rows_of(word):
    """Unpack an arc; return the indices of its tail and its head within a bundle of subtrees."""
    return uint32((word >> uint32(ROW_BITS)) & uint32(MEMBER)), uint32(word & uint32(STREAM_ROW))


@inline
def place_of(values, low, high, value):
    """Return the first position in sorted ``values[low:high]`` with a value >= `value`."""
    while low < high:
        middle = uint32((low + high) >> uint32(1))
        if values[middle] < value:
            low = uint32(middle + 1)
        else:
            high = middle
    return low


@inline
def third_of(heads, low, high, i, j, degree, head):
    """Return the index of the arc between the heads of the i-th and j-th arcs of a vertex.

    It is one of those of the former head, from `low` up to `high`, which has arcs to all heads
    after its own: so many stand before it, and so many behind. Within a supernode that leaves one.
    """
    return place_of(heads, uint32(low + (j - i - 1)), uint32(high - (degree - j)), head)


@kernel
def placed_arcs_kernel(
    start, ranks, places, depth, bundles, levels, bundle_first, boundary_first, boundary, first,
    upper, arcs_first, heads, depths, rows,
):  # fmt: skip
    """Copy the heads of chordal arcs into arrays sorted by tail, in the vertex order of sweeps.

    ============== ============ ====== =========================================================
    argument       shape        dtype  written by
    ============== ============ ====== =========================================================
    start          scalar       uint32 host: the place where bundles begin
    ranks          (n,)         int32  host: of places
    places         (n,)         int32  host: of ranks
    depth          (n,)         int32  host: of ranks
    bundles        (n - start,) int32  host: of places, from the first bundle
    levels         (n - start,) int32  host: of the same places, within their bundles
    bundle_first   (b + 1,)     int32  host
    boundary_first (b + 1,)     int32  host
    boundary       (x,)         int32  host: ranks
    first          (n + 1,)     uint32 host: where the chordal arcs of every rank begin
    upper          (c,)         int32  host: ranks above
    arcs_first     (n + 1,)     uint32 host: where those of every place begin
    heads          (c,)         int32  here: ranks above
    depths         (c,)         int32  here: of these
    rows           (c,)         uint32 here: as in a stream, of the arc down
    ============== ============ ====== =========================================================
    """
    place = uint32(cuda.grid(1))
    if place >= ranks.size:
        return
    rank = uint32(ranks[place])
    arc, stop = uint32(first[rank]), uint32(first[uint32(rank + 1)])
    at = uint32(arcs_first[place])
    bundle, marks, begin, end = uint32(0), uint32(0), uint32(0), uint32(0)
    members, low_place = uint32(0), uint32(0)
    inside = place >= start
    if inside:
        bundle = uint32(bundles[uint32(place - start)])
        low_place = uint32(bundle_first[bundle])
        marks = uint32(uint32(place - low_place) << uint32(ROW_BITS))
        marks = uint32(marks | uint32(uint32(levels[uint32(place - start)]) << uint32(LEVEL_AT)))
        members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - low_place)
        begin = uint32(boundary_first[bundle])
        end = uint32(boundary_first[uint32(bundle + 1)])
    while arc < stop:
        head = upper[arc]
        heads[at], depths[at] = head, depth[head]
        if inside:
            row = uint32(places[head])
            if row >= low_place:
                row = uint32(row - low_place)
            else:
                row = uint32(members + (place_of(boundary, begin, end, head) - begin))
            rows[at] = uint32(marks | row)
        arc, at = uint32(arc + 1), uint32(at + 1)


@inline
def up_slot(arc):
    """Return the position of a chordal arc's upward weight among all weights."""
    return uint32(arc << uint32(1))


@inline
def down_slot(arc):
    """Return the position of a chordal arc's downward weight among all weights."""
    return uint32((arc << uint32(1)) | uint32(1))


@inline
def lower(weights, slot, known, way):
    """Lower ``weights[slot]`` to the path length `way`, if that is below its old value `known`.

    Most are not, and spare the atomic minimum.
    """
    if way < known:
        cuda.atomic.min(weights, slot, way)


@inline
def _extent(bundle, bundle_first, boundary_first, arcs_first):
    """Return a subtree bundle's vertex count, boundary vertex count, first arc and arc count."""
    first, last = uint32(bundle_first[bundle]), uint32(bundle_first[uint32(bundle + 1)])
    bounded = uint32(boundary_first[uint32(bundle + 1)] - boundary_first[bundle])
    begin = uint32(arcs_first[first])
    return uint32(last - first), bounded, begin, uint32(arcs_first[last] - begin)


@inline
def _pair_between(bounded, low, high):
    """Return the number of a pair of boundary vertices in the list of all such pairs."""
    return uint32(low * (2 * bounded - low - 1) // 2 + (high - low - 1))


@kernel
def pairs_kernel(
    start, roots, root_pairs, bundles, places, bundle_first, boundary_first, arcs_first, heads,
    rows, pairs, pair_arcs,
):  # fmt: skip
    """List the chordal arcs between the upper neighbours of each subtree, a block per subtree.

    Every neighbour above a subtree is one of its root's, and they are all joined.

    ============== =========== ====== ============================================================
    argument       shape       dtype  written by
    ============== =========== ====== ============================================================
    start          scalar      uint32 host: the place where bundles begin
    roots          (r,)        int32  host: places, bundle by bundle
    root_pairs     (r + 1,)    uint32 host: where the pairs of every root begin
    bundles        (n - start) int32  host: of places, from the first bundle
    places         (n,)        int32  host: of ranks
    bundle_first   (b + 1,)    int32  host: places
    boundary_first (b + 1,)    int32  host
    arcs_first     (n + 1,)    uint32 host: where the arcs of every place begin
    heads          (c,)        int32  `placed_arcs_kernel`
    rows           (c,)        uint32 `placed_arcs_kernel`
    pairs          (p,)        uint32 here: the number of the arc between them in the bundle
    pair_arcs      (p,)        uint32 here: its number among all
    ============== =========== ====== ============================================================
    """
    root = uint32(roots[cuda.blockIdx.x])
    bundle = uint32(bundles[uint32(root - start)])
    members, bounded, _, own_arcs = _extent(bundle, bundle_first, boundary_first, arcs_first)
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
            pairs[own] = own_arcs + _pair_between(
                bounded,
                uint32((rows[tail] & uint32(STREAM_ROW)) - members),
                uint32((rows[head] & uint32(STREAM_ROW)) - members),
            )
            pair_arcs[own] = place_of(heads, low, high, heads[head])
            j = uint32(j + cuda.blockDim.x)
        at = uint32(at + degree - i - 1)
        i = uint32(i + 1)


@kernel
def triangles_kernel(
    start, bundles, places, bundle_first, boundary_first, arcs_first, heads, rows, triangles_first,
    legs, thirds,
):  # fmt: skip
    """List the triangles whose lowest vertex is in any bundle of subtrees; a thread per vertex.

    =============== =========== ====== ===========================================================
    argument        shape       dtype  written by
    =============== =========== ====== ===========================================================
    start           scalar      uint32 host: the place where bundles begin
    bundles         (n - start) int32  host: of places, from the first bundle
    places          (n,)        int32  host: of ranks
    bundle_first    (b + 1,)    int32  host: places
    boundary_first  (b + 1,)    int32  host
    arcs_first      (n + 1,)    uint32 host: where the arcs of every place begin
    heads           (c,)        int32  `placed_arcs_kernel`
    rows            (c,)        uint32 `placed_arcs_kernel`
    triangles_first (n - start) int64  host: where those of every place begin
    legs            (t,)        uint32 here: the numbers of two arcs in the bundle, a half each
    thirds          (t,)        uint16 here: that of the arc between their heads, the first's tail
    =============== =========== ====== ===========================================================
    """
    inside = cuda.grid(1)
    if inside >= bundles.size:
        return
    place, bundle = uint32(start + inside), uint32(bundles[inside])
    members, bounded, begin, own_arcs = _extent(bundle, bundle_first, boundary_first, arcs_first)
    stop, at = uint32(arcs_first[uint32(place + 1)]), triangles_first[inside]
    arc = uint32(arcs_first[place])
    while arc < stop:
        row = uint32(rows[arc] & uint32(STREAM_ROW))
        above = uint32(places[heads[arc]])
        low, high = arcs_first[above], arcs_first[uint32(above + 1)]
        other = uint32(arc + 1)
        while other < stop:
            if row < members:
                third = uint32(place_of(heads, low, high, heads[other]) - begin)
            else:
                further = uint32((rows[other] & uint32(STREAM_ROW)) - members)
                third = own_arcs + _pair_between(bounded, uint32(row - members), further)
            legs[at] = (uint32(arc - begin) << uint32(HALF)) | uint32(other - begin)
            thirds[at] = third
            at, other = at + 1, uint32(other + 1)
        arc = uint32(arc + 1)


@kernel
def placed_givers_kernel(slots, ranks, places, first, arcs_first, givers):
    """Write for each chordal arc the graph arc that gives its weight; a thread per graph arc.

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
