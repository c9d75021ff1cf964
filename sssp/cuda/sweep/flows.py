"""Flows on a prepared map by sweeps on a GPU, without building shortest-path trees.

The twin of `sssp.cpu.sweep.flows` and `sssp.cpu.sweep.flow_unpacking`, with the same rule for paths
of the same length. Everything goes by depth in the elimination tree, one launch a depth, all
origins of a batch side by side (a *lane* each): what a vertex depends on is less deep, and what
depends on it is deeper.

1. Every origin climbs, and keeps the arc over which it came to each of its ancestors.
2. The sweep goes down, over the vertices above destinations alone.
3. Flows go up: what arrives at a vertex goes over the arc that gave it its distance, found again by
   equality; or down the climb of its origin, if that was as short.
4. Shortcuts hand their flows to the two sides of a triangle, from the top down. Which triangle a
   shortcut stands for depends on weights alone: it is found for all at once before.

Chordal arcs are numbered by rank, as on the CPU. A *slot* is one of them in one direction: that of
arc e up is e, and that down is c + e, for c chordal arcs. A *spot* is the number of
a vertex that is swept, by depth.
"""

from numba import int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.device.warp import WARP, ballot, from_lane, sum_of_warp
from sssp.cuda.sweep.arc_slots import down_slot, third_of, up_slot
from sssp.cuda.sweep.lane_sums import LANES
from sssp.cuda.sweep.sweeps import has_passed
from sssp.order.structure import NO_SLOT

#: most threads of a block that takes a vertex
LEVEL_THREADS = 4 if SIMULATOR else 512
#: threads that climb from an origin
CLIMB_THREADS = 2 if SIMULATOR else 128
#: threads that look at the triangles over one arc
TRIANGLE_THREADS = 2 if SIMULATOR else 8
#: threads that look at the arcs of one vertex whose flow is handed on
VERTEX_THREADS = 2 if SIMULATOR else 32
#: arcs of a vertex that a thread reads at once
AHEAD = 4
#: of a shortcut whose triangle is not known
NO_TRIANGLE = (1 << 64) - 1
#: of a trip that is not lost
NO_TRIP = (1 << 63) - 1


@kernel
def number_kernel(place_ranks, arcs_first, first, placed, weights, triangles):
    """Copy chordal arc weights from partition order to rank order, a thread per vertex.

    =========== ======== ====== ===========================================
    argument    shape    dtype  written by
    =========== ======== ====== ===========================================
    place_ranks (n,)     int32  host: of places
    arcs_first  (n + 1,) uint32 host: where the arcs of every place begin
    first       (n + 1,) uint32 host: the same of ranks
    placed      (s, 2 c) number the basic pass
    weights     (2 c,)   number here: of slots
    triangles   (2 c,)   uint64 here: `NO_TRIANGLE`
    =========== ======== ====== ===========================================
    """
    place = cuda.grid(1)
    if place < place_ranks.size:
        arc, stop = uint32(arcs_first[place]), uint32(arcs_first[place + 1])
        up, arcs = uint32(first[place_ranks[place]]), uint32(weights.size // 2)
        while arc < stop:
            down = uint32(arcs + up)
            weights[up], weights[down] = placed[0, up_slot(arc)], placed[0, down_slot(arc)]
            triangles[up] = triangles[down] = uint64(NO_TRIANGLE)
            arc, up = uint32(arc + 1), uint32(up + 1)


@kernel
def mark_input_arcs_kernel(slots, arc_weights, weights, triangles):
    """Mark chordal arcs whose weight equals that of their input arc, a thread per arc.

    =========== ====== ====== ==============================================================
    argument    shape  dtype  written by
    =========== ====== ====== ==============================================================
    slots       (m,)   uint32 host: of the graph's arcs; `NO_SLOT` of a self-loop
    arc_weights (s, m) number host
    weights     (2 c,) number `number_kernel`
    triangles   (2 c,) uint64 `number_kernel`; here: 0 where an arc of the graph is passed
    =========== ====== ====== ==============================================================
    """
    arc = cuda.grid(1)
    if arc < slots.size:
        slot = slots[arc]
        if slot != uint32(NO_SLOT) and arc_weights[0, arc] == weights[slot]:
            triangles[slot] = uint64(0)


@kernel
def first_triangles_kernel(tails, first, upper, inf, weights, triangles):
    """Find for every shortcut the first triangle whose two sides add up to its weight.

    Some threads for each arc from the lower corner; the first triangle is that of the lowest
    corner. A triangle is kept as its two arcs from there, in 32 bits each.

    ========= ======== ====== ==============================================================
    argument  shape    dtype  written by
    ========= ======== ====== ==============================================================
    tails     (c,)     int32  host: the rank that every chordal arc leaves
    first     (n + 1,) uint32 host: where the arcs of every rank begin
    upper     (c,)     int32  host: ranks above
    inf       scalar   number host: `infinity`
    weights   (2 c,)   number `number_kernel`
    triangles (2 c,)   uint64 `mark_input_arcs_kernel`; here
    ========= ======== ====== ==============================================================
    """
    thread = int64(cuda.grid(1))
    if thread // TRIANGLE_THREADS >= tails.size:
        return
    arc, arcs = uint32(thread // TRIANGLE_THREADS), uint32(tails.size)
    number, lower, head = type(inf), tails[arc], upper[arc]
    begin, low, high = uint32(first[lower]), uint32(first[head]), uint32(first[head + 1])
    degree, i = uint32(first[lower + 1] - begin), uint32(arc - begin)
    climb, descent = weights[arc], weights[uint32(arcs + arc)]
    j = uint32(i + 1 + thread % TRIANGLE_THREADS)
    while j < degree:
        other = uint32(begin + j)
        third = third_of(upper, low, high, i, j, degree, upper[other])
        there = number(descent + weights[other])
        back = number(climb + weights[uint32(arcs + other)])
        triangle = uint64((uint64(arc) << uint64(32)) | uint64(other))
        if there < inf and there == weights[third]:
            cuda.atomic.min(triangles, third, triangle)
        third = uint32(arcs + third)
        if back < inf and back == weights[third]:
            cuda.atomic.min(triangles, third, triangle)
        j = uint32(j + TRIANGLE_THREADS)


@kernel
def ways_kernel(sources, first, upper, parent, depth, inf, weights, source_ranks, ways, via):
    """Find upward distances from each origin to its ancestors, and the last arc of each path.

    ============ ============== ====== ====================================================
    argument     shape          dtype  written by
    ============ ============== ====== ====================================================
    sources      (lanes,)       int32  host: ranks; -1: none
    first        (n + 1,)       uint32 host: where the chordal arcs of every rank begin
    upper        (c,)           int32  host: ranks above
    parent       (n,)           int32  host: of ranks; -1: none
    depth        (n,)           int32  host: of ranks
    inf          scalar         number host: `infinity`
    weights      (2 c,)         number `number_kernel`
    source_ranks (lanes,)       int32  here: `sources`
    ways         (lanes, height) number here: lengths of the ways up, by depth
    via          (height, lanes) int32 here: the arc that the way came over; -1: none
    ============ ============== ====== ====================================================
    """
    lane, thread = cuda.blockIdx.x, uint32(cuda.threadIdx.x)
    rank = sources[lane]
    if thread == 0:
        source_ranks[lane] = rank
    if rank < 0:
        return
    bottom, way = depth[rank], ways[lane]
    i = thread
    while i <= uint32(bottom):
        way[i], via[i, lane] = inf, int32(-1)
        i = uint32(i + CLIMB_THREADS)
    cuda.syncthreads()
    if thread == 0:
        way[bottom] = 0
    cuda.syncthreads()
    while rank >= 0:
        arc, stop, here = uint32(first[rank] + thread), first[rank + 1], way[depth[rank]]
        rank = parent[rank]
        if here < inf:
            while arc < stop:
                above, found = depth[upper[arc]], type(inf)(here + weights[arc])
                if found < way[above]:
                    way[above], via[above, lane] = found, int32(arc)
                arc = uint32(arc + CLIMB_THREADS)
        cuda.syncthreads()


@kernel
def seed_kernel(span, volumes, rows, columns, spots, lanes, inf, distances, flow, lost, trip):
    """Add each trip's volume to the flow at its destination, in the column of its origin.

    ========= ============== ======= =====================================================
    argument  shape          dtype   written by
    ========= ============== ======= =====================================================
    span      (3,)           int64   host: first and end of its trips, row of its first lane
    volumes   (trips,)       float64 host
    rows      (trips,) or 0  int32   host: of trips; none: they are a table, row by row
    columns   the same       int32   host: of trips
    spots     (columns,)     int32   host: where distances of the ends of columns are
    lanes     scalar         uint32  host
    inf       scalar         number  host: `infinity`
    distances (s * lanes,)   number  the sweep
    flow      (s * lanes,)   float64 host: zeros; here
    lost      (1,)           float64 host: 0; here: the volume that leads nowhere
    trip      (1,)           int64   host: `NO_TRIP`; here: the first such trip
    ========= ============== ======= =====================================================
    """
    i, is_table = int64(cuda.grid(1)), rows.size == 0
    count = int64(span[1] - span[0])
    if is_table:
        count = int64(lanes) * spots.size
    while i < count:
        trip_here = int64(span[0] + i)
        if is_table:
            # (lanes of a column side by side, as they are written)
            group = int64(i // LANES)
            column = int64(group % spots.size)
            lane = int64(group // spots.size * LANES + i % LANES)
            trip_here = int64(span[0] + lane * spots.size + column)
        elif trip_here < span[1]:
            lane, column = int64(rows[trip_here] - span[2]), int64(columns[trip_here])
        volume = volumes[trip_here] if trip_here < span[1] else 0.0
        if volume != 0:
            spot = uint64(spots[column]) * uint64(lanes) + uint64(lane)
            if distances[spot] < inf:
                cuda.atomic.add(flow, spot, volume)
            else:
                cuda.atomic.add(lost, 0, volume)
                cuda.atomic.min(trip, 0, trip_here)
        i += cuda.gridsize(1)


@kernel
def descent_kernel(
    first_spot, ranks, size, depth, first, head_spots, inf, weights, source_ranks, ways, lanes,
    distances, choices,
):  # fmt: skip
    """Compute distances and last arcs for the vertices of one depth in the elimination tree.

    The arcs of a vertex are shared by as many slices as a block has rows of threads, a power
    of two.

    ============ =============== ====== =================================================
    argument     shape           dtype  written by
    ============ =============== ====== =================================================
    first_spot   scalar          uint32 host: of the level
    ranks        (s,)            int32  host: of spots
    size         (n,)            int32  host: of the subtrees of ranks
    depth        (n,)            int32  host: of ranks
    first        (n + 1,)        uint32 host: where the chordal arcs of every rank begin
    head_spots   (c,)            int32  host: of the heads of these
    inf          scalar          number host: `infinity`
    weights      (2 c,)          number `number_kernel`
    source_ranks (lanes,)        int32  `ways_kernel`
    ways         (lanes, height) number `ways_kernel`
    lanes        scalar          uint32 host
    distances    (s * lanes,)    number what is less deep; here: of this depth
    choices      (s * lanes,)    uint16 here: 1 + which arc gives them, the first; 0: the climb
    ============ =============== ====== =================================================
    """
    best = cuda.shared.array(LEVEL_THREADS, weights.dtype)
    giver = cuda.shared.array(LEVEL_THREADS, uint32)
    lane_here, slice_here = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    together, slices = uint32(cuda.blockDim.x), uint32(cuda.blockDim.y)
    own, arcs = uint32(slice_here * together + lane_here), uint32(head_spots.size)
    lane = uint64(cuda.blockIdx.y * together + lane_here)
    spot = uint32(first_spot + cuda.blockIdx.x)
    rank, least, choice = uint32(ranks[spot]), inf, uint32(0)
    if slice_here == 0 and has_passed(source_ranks[lane], rank, size):
        least = ways[lane, depth[rank]]
    before, stop = uint32(first[rank] - 1), uint32(first[uint32(rank + 1)])
    arc = uint32(first[rank] + slice_here)
    while arc < stop:
        for i in range(AHEAD):  # (at once, for they come from far)
            ahead = min(uint32(arc + uint32(i) * slices), uint32(stop - 1))
            end = uint64(uint32(head_spots[ahead])) * uint64(lanes) + lane
            way = type(inf)(distances[end] + weights[uint32(arcs + ahead)])
            if way < least:
                least, choice = way, uint32(ahead - before)
        arc = uint32(arc + AHEAD * slices)
    best[own], giver[own] = least, choice
    half = uint32(slices >> uint32(1))
    while half > 0:
        cuda.syncthreads()
        other = uint32(own + half * together)
        if slice_here < half and (
            best[other] < least or (best[other] == least and giver[other] < choice)
        ):
            least, choice = best[other], giver[other]
            best[own], giver[own] = least, choice
        half = uint32(half >> uint32(1))
    if slice_here == 0:
        here = uint64(spot) * uint64(lanes) + lane
        distances[here], choices[here] = least, choice


@kernel
def gather_kernel(
    first_spot, in_turn, ranks, depth, first, head_spots, lanes, choices, flow, down_flow, on_slot
):
    """Pass the flow at vertices of one depth back to their predecessors on shortest paths.

    Or of some depths, from the last vertex on: lanes do not wait for each other.

    ========== =============== ======= ==================================================
    argument   shape           dtype   written by
    ========== =============== ======= ==================================================
    first_spot scalar          uint32  host: of the level; of some, the last
    in_turn    scalar          uint32  host: how many spots a block takes, one by one
    ranks      (s,)            int32   host: of spots
    depth      (n,)            int32   host: of ranks
    first      (n + 1,)        uint32  host: where the chordal arcs of every rank begin
    head_spots (c,)            int32   host: of the heads of these
    lanes      scalar          uint32  host
    choices    (s * lanes,)    uint16  `descent_kernel`
    flow       (s * lanes,)    float64 what is deeper; here: of what is above
    down_flow  (height, lanes) float64 host: zeros; here: what goes down the climb
    on_slot    (2 c,)          float64 added to: flows down
    ========== =============== ======= ==================================================
    """
    thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    lane, arcs = uint64(cuda.blockIdx.y * threads + thread), uint32(head_spots.size)
    in_group, in_warp = min(WARP, int32(threads)), int32(thread % WARP)
    passed = uint32(0)
    while passed < in_turn:
        spot = uint32(first_spot + cuda.blockIdx.x - passed)
        here, rank = uint64(spot) * uint64(lanes) + lane, uint32(ranks[spot])
        volume, choice = flow[here], uint32(choices[here])
        found = uint32(first[rank] + choice - 1)
        goes = volume != 0 and choice != 0
        if goes:
            end = uint64(uint32(head_spots[found])) * uint64(lanes) + lane
            cuda.atomic.add(flow, end, volume)
        elif volume != 0:
            down_flow[depth[rank], lane] = volume
        # (most lanes of a warp take the same arc: one addition for all of these)
        goers = ballot(goes)
        while goers != 0:
            leader = uint32(cuda.ffs(goers) - 1)
            arc = uint32(from_lane(int32(found), leader))
            joins = goes and found == arc
            total = sum_of_warp(volume if joins else 0.0, in_warp, in_group)
            if in_warp == 0:
                cuda.atomic.add(on_slot, uint32(arcs + arc), total)
            goes = goes and not joins
            goers = ballot(goes)
        passed = uint32(passed + 1)


@kernel
def descend_kernel(tail_depths, via, down_flow, on_slot):
    """Add the flow from each origin to the upward arcs of the paths that start there.

    =========== =============== ======= =======================================================
    argument    shape           dtype   written by
    =========== =============== ======= =======================================================
    tail_depths (c,)            int32   host: the depth of the rank that each chordal arc leaves
    via         (height, lanes) int32   `ways_kernel`
    down_flow   (height, lanes) float64 `gather_kernel`; zeros afterwards
    on_slot     (2 c,)          float64 added to: flows up
    =========== =============== ======= =======================================================
    """
    lane = cuda.grid(1)
    if lane < down_flow.shape[1]:
        for i in range(down_flow.shape[0]):
            volume, arc = down_flow[i, lane], via[i, lane]  # (both at once, for they are far)
            if volume != 0:
                down_flow[i, lane] = 0.0
                if arc >= 0:
                    down_flow[tail_depths[arc], lane] += volume
                    cuda.atomic.add(on_slot, arc, volume)


@kernel
def unpack_flows_kernel(low, high, level_first, ranks, first, triangles, on_slot):
    """Move the flow of each shortcut to the two arcs that it stands for, level by level.

    Some threads per vertex.

    =========== ============= ======= =======================================================
    argument    shape         dtype   written by
    =========== ============= ======= =======================================================
    low         scalar        uint32  host: the first level
    high        scalar        uint32  host: that after the last; of several blocks, the next
    level_first (levels + 1,) uint32  host: where every level begins
    ranks       (n,)          int32   host: of all levels
    first       (n + 1,)      uint32  host: where the chordal arcs of every rank begin
    triangles   (2 c,)        uint64  `first_triangles_kernel`
    on_slot     (2 c,)        float64 flows of slots; here: 0 of shortcuts, and more of sides
    =========== ============= ======= =======================================================
    """
    thread, level, arcs = uint32(cuda.grid(1)), low, uint32(on_slot.size // 2)
    while level < high:
        place = uint32(level_first[level] + thread // VERTEX_THREADS)
        level = uint32(level + 1)
        if place < level_first[level]:
            rank = ranks[place]
            begin = uint32(first[rank])
            count = uint32(2 * (first[rank + 1] - begin))
            i = uint32(thread % VERTEX_THREADS)
            while i < count:
                is_down = uint32(i & uint32(1))
                slot = uint32(is_down * arcs + begin + (i >> uint32(1)))
                volume, triangle = on_slot[slot], triangles[slot]
                if volume != 0 and triangle != 0:
                    # from the tail down to the lower corner, and up to the head
                    down = uint32(triangle >> uint64(32))
                    up = uint32(triangle & uint64(0xFFFFFFFF))
                    if is_down != 0:
                        down, up = up, down
                    on_slot[slot] = 0.0
                    cuda.atomic.add(on_slot, uint32(arcs + down), volume)
                    cuda.atomic.add(on_slot, up, volume)
                i = uint32(i + VERTEX_THREADS)
        cuda.syncthreads()


@kernel
def collect_kernel(slots, on_slot, flow):
    """Copy the flows of chordal arcs to the graph's arcs, a thread per graph arc.

    ======== ====== ======= ==========================================================
    argument shape  dtype   written by
    ======== ====== ======= ==========================================================
    slots    (m,)   uint32  host: of the graph's arcs; `NO_SLOT` of a self-loop
    on_slot  (2 c,) float64 `unpack_flows_kernel`
    flow     (m,)   float64 here
    ======== ====== ======= ==========================================================
    """
    arc = cuda.grid(1)
    if arc < slots.size:
        slot = slots[arc]
        flow[arc] = 0.0 if slot == uint32(NO_SLOT) else on_slot[slot]
