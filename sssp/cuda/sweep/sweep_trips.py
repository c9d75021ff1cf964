"""Distances of single trips on a hierarchy, on a GPU: upward searches from both ends meet.

The twin of `sssp.cpu.sweep.sweep_trips`, which says why they meet. Trips that begin, or end, at the
same vertex share a climb: vertices are marked and then numbered in order of rank, so that climbs
side by side go mostly along the same arcs.

- A warp climbs from a vertex to the root, its threads along the arcs of one ancestor at a time. The
  distances to all ancestors, by depth, are in shared memory meanwhile, and then the vertex' label.
- A warp finds a trip: the lowest ancestor of both ends, and the least sum of their labels so far.

No trip waits for another, and the host looks at none.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda, device_number
from sssp.cuda.compiler import SHARED, kernel
from sssp.cuda.device.warp import WARP, ballot, least_of_warp, reserve, warp_barrier
from sssp.cuda.device_memory import available_bytes, fetch, send, upload
from sssp.cuda.graph_replay import Launches
from sssp.cuda.pool import THREADS, blocks_for, device_array, fill
from sssp.cuda.sweep.customization import DeviceMap
from sssp.cuda.sweep.lane_sums import place_kernel
from sssp.engine.check_memory import check_memory
from sssp.engine.narrow import narrow
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INDEX, INT64, infinity, unreached
from sssp.methods import Method
from sssp.order.prepared_map import PreparedMap

#: warps of a block: as many climbs, if their labels have room in its shared memory, or trips
WARPS = 2 if SIMULATOR else 8
#: bytes of the labels of trips that are found together
LABEL_BYTES = 1 << 30
#: most trips that are found together, a power of two
MOST_TOGETHER = 1 << 20


@kernel
def _mark_kernel(sources, targets, rank_of, rows):
    """Set `rows` to 1 at the ranks of trip ends: row 0 for sources, row 1 for targets."""
    i, stride = cuda.grid(1), cuda.gridsize(1)
    while i < sources.size:
        rows[0, rank_of[sources[i]]] = 1
        rows[1, rank_of[targets[i]]] = 1
        i += stride


@kernel
def _number_kernel(rows, counts, ranks):
    """Assign numbers 0, 1, ... to the ranks of trip sources, and likewise to those of targets.

    ======== ========= ====== ===================================================
    argument shape     dtype  written by
    ======== ========= ====== ===================================================
    rows     (2, n)    int32  `_mark_kernel`: 1 or 0; here: the number, or 0
    counts   (2,)      uint32 host: 0; here: how many numbers there are
    ranks    (2, most) int32  here: by number
    ======== ========= ====== ===================================================
    """
    rank, side = uint32(cuda.grid(1)), uint32(cuda.blockIdx.y)
    wants = rank < rows.shape[1]
    if wants:
        wants = rows[side, rank] != 0
    number = reserve(counts, side, ballot(wants), uint32(cuda.threadIdx.x % WARP))
    if wants:
        rows[side, rank] = int32(number)
        ranks[side, number] = int32(rank)


@cache
def _make_climb_kernel(dtype: np.dtype[Any], *, shares: bool) -> Any:
    """Return the kernel that finds distances between vertices and elimination-tree ancestors."""
    number, inf = from_dtype(dtype), infinity(dtype).item()

    @kernel
    def _climb_kernel(
        ranks, counts, parent, depth, arcs_first, up_stop, up_depths, up_weights, down_stop,
        down_depths, down_weights, height, labels,
    ):  # fmt: skip
        """Compute the distances between each requested rank and its ancestors, a warp per rank.

        Sources climb along upward arcs, and targets along downward ones, in other blocks.

        ============ ================= ====== ================================================
        argument     shape             dtype  written by
        ============ ================= ====== ================================================
        ranks        (2, most)         int32  `_number_kernel`
        counts       (2,)              uint32 `_number_kernel`
        parent       (n,)              int32  host: of ranks
        depth        (n,)              int32  host: of ranks
        arcs_first   (n,)              uint32 host: where the arcs of every rank begin
        up_stop      (n,)              uint32 customization: where those up from it end
        up_depths    (c,)              int32  customization: of the ranks above
        up_weights   (c,)              number customization
        down_stop    (n,)              uint32 customization: where those down to it end
        down_depths  (c,)              int32  customization: of the ranks above
        down_weights (c,)              number customization
        height       scalar            uint32 host: entries of a label
        labels       (2, most, height) number here: distances of the ancestors, by depth
        ============ ================= ====== ================================================
        """
        row = uint32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)
        lane, side = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.y)
        if row >= counts[side]:
            return
        arcs_stop, depths, weights = up_stop, up_depths, up_weights
        if side == 1:
            arcs_stop, depths, weights = down_stop, down_depths, down_weights
        label = labels[side, row]
        way, base = label, uint32(0)
        if shares:
            way = cuda.shared.array(0, number)
            base = uint32(cuda.threadIdx.y * height)
        rank = ranks[side, row]
        bottom = uint32(depth[rank])
        i = lane
        while i <= bottom:
            way[uint32(base + i)] = number(inf)
            i = uint32(i + WARP)
        warp_barrier()
        if lane == 0:
            way[uint32(base + bottom)] = number(0)
        warp_barrier()
        above, start, stop = parent[rank], arcs_first[rank], arcs_stop[rank]
        left = uint32(bottom + 1)
        while left > 0:
            left = uint32(left - 1)
            # (where the next arcs are is known before these are through)
            after = uint32(max(above, 0))
            beyond, begin, end = parent[after], arcs_first[after], arcs_stop[after]
            here = way[uint32(base + left)]
            if here < number(inf):
                # (all of them lead to other vertices)
                arc = uint32(start + lane)
                while arc < stop:
                    place = uint32(base + uint32(depths[arc]))
                    found = number(here + weights[arc])
                    if found < way[place]:
                        way[place] = found
                    arc = uint32(arc + WARP)
            warp_barrier()
            above, start, stop = beyond, begin, end
        if shares:
            i = lane
            while i <= bottom:
                label[i] = way[uint32(base + i)]
                i = uint32(i + WARP)

    return _climb_kernel


@cache
def _make_meet_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that finds the distances of trips from the labels of both ends."""
    number, inf, missing = from_dtype(dtype), infinity(dtype).item(), unreached(dtype).item()

    @kernel
    def _meet_kernel(
        sources, targets, rank_of, rows, parent, chain, depth, labels, bound, shifts, distances,
        climbed,
    ):  # fmt: skip
        """Find each trip's distance from the labels of its ends, one warp per trip.

        ========= ================= ====== ==================================================
        argument  shape             dtype  written by
        ========= ================= ====== ==================================================
        sources   (trips,)          int64  host
        targets   (trips,)          int64  host
        rank_of   (n,)              int32  host: of vertices
        rows      (2, n)            int32  `_number_kernel`: of ranks, which label
        parent    (n,)              int32  host: of ranks
        chain     (n,)              int32  host: the last rank of the chain of every rank
        depth     (n,)              int32  host: of ranks
        labels    (2, most, height) number `_climb_kernel`: of sources, and of targets
        bound     scalar            number host: greatest distance of interest
        shifts    (n,) or (0,)      number host: potentials, if weights are between them
        distances (trips,)          number here
        climbed   (trips,)          int64  here: vertices passed
        ========= ================= ====== ==================================================
        """
        trip = uint64(uint32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y))
        lane = uint32(cuda.threadIdx.x)
        if trip >= uint64(sources.size):
            return
        source, target = sources[trip], targets[trip]
        start, end = rank_of[source], rank_of[target]
        # the lowest ancestor of both: chains are left upward until it is the same one
        one, other = start, end
        while one >= 0 and other >= 0 and chain[one] != chain[other]:
            if chain[one] < chain[other]:
                one = parent[chain[one]]
            else:
                other = parent[chain[other]]
        least = number(inf)
        if one >= 0 and other >= 0:
            common = uint32(depth[max(one, other)] + 1)
            up, down = labels[0, rows[0, start]], labels[1, rows[1, end]]
            i = lane
            while i < common:
                least = min(number(up[i] + down[i]), least)
                i = uint32(i + WARP)
        least = least_of_warp(least)
        if lane == 0:
            found = number(missing)
            if least <= bound:
                found = least
                if shifts.size != 0:
                    found = number(found + number(shifts[target] - shifts[source]))
            distances[trip] = found
            climbed[trip] = int64(depth[start]) + int64(depth[end]) + 2

    return _meet_kernel


class _Scratch(
    namedtuple(
        "_Scratch",
        "launches stream nbytes given found passed ends distances climbed rows counts ranks labels",
    )
):
    """Work arrays for a batch of trips, with the recorded kernel launches that use them.

    Attributes
    ----------
    launches : Launches
    stream : stream
    nbytes : int
        Of the device.
    given : pinned array, shape (2, trips), int64
        Sources and targets.
    found, passed : pinned arrays, shape (trips,)
        Distances, and numbers of visited vertices.
    ends, distances, climbed : device arrays
        The same there.
    rows, counts, ranks, labels : device arrays
        As kernels take them.
    """


class _Climbs(namedtuple("_Climbs", "map depths_down parent chain held")):
    """A prepared map on a GPU, with elimination tree arrays for the upward searches of trips."""


def find_trips(
    on_device: DeviceMap, hierarchy: PreparedMap, request: Request, method: Method
) -> Answer:
    """Find the distances of trips on a hierarchy, on the current device.

    O(arcs to ancestors) work a vertex where trips begin or end, and O(depth) a trip.
    """
    assert request.targets is not None
    assert request.target_offsets is not None
    dtype, total, limit = on_device.dtype, request.targets.size, request.memory_limit
    stats = {name: np.zeros(request.rows, INT64) for name in method.statistics}
    if total == 0:
        return Answer(narrow(np.empty(0, dtype), request.dtype), stats=stats)
    # (no source is without a target)
    alone, sources = request.rows == total, request.sources
    if not alone:
        sources = np.repeat(sources, np.diff(request.target_offsets))
    ends = np.stack((sources, request.targets))
    structure, number, shelf = hierarchy._structure, device_number(request.device), on_device.shelf

    def build() -> _Climbs:
        # the depths of the upper ends of downward arcs, in the order of these arcs
        down, stream = on_device.kept.down_ends, cuda.stream()
        depths_down = device_array(down.size, INDEX)
        place_kernel[-(-down.size // THREADS), THREADS, stream](
            on_device.tree["depth"], down, depths_down
        )
        stream.synchronize()
        paths = structure.shared.get_or_build(
            f"cuda:{number}, paths", lambda: (upload(structure.parent), upload(structure.chain))
        )
        held = on_device.nbytes + sum(array.nbytes for array in (depths_down, *paths))
        return _Climbs(on_device, depths_down, *paths, held)

    climbs = hierarchy._cached(f"cuda:{number}, {dtype.char}, climbs", build)
    n, height, held = hierarchy.n, structure.height, climbs.held
    # trips that are found together: more than there are, so that what is recorded comes again
    together = _power_of_two(min(total, MOST_TOGETHER))
    fixed = together * (3 * INT64.itemsize + dtype.itemsize) + 2 * n * INDEX.itemsize
    end_bytes = 2 * (height * dtype.itemsize + INDEX.itemsize)
    # (at most one label of each side for every vertex)
    labels, scratch = min(together, n), None
    if held + fixed + labels * end_bytes <= limit:
        scratch = shelf.take(("trips", together, labels))
    if scratch is None:
        parts = {"the map": held, "the trips": fixed, "a climb from both ends": end_bytes}
        room = available_bytes(limit, held)
        check_memory(parts, limit, request.device, request.advice, held + room)
        fitting = max(1, min(room - fixed, LABEL_BYTES) // end_bytes)
        if fitting < labels:
            together = _power_of_two(fitting // 2 + 1)
            labels = min(together, n)
            scratch = shelf.take(("trips", together, labels))
    if scratch is None:
        pinned = ((2, together), INT64), (together, dtype), (together, INT64)
        rows = ((2, n), INDEX), (2, np.uint32), ((2, labels), INDEX)
        arrays = [device_array(*each) for each in (*pinned, *rows, ((2, labels, height), dtype))]
        nbytes = sum(array.nbytes for array in arrays)
        own = (cuda.pinned_array(*each) for each in pinned)
        scratch = _Scratch(Launches(), cuda.stream(), nbytes, *own, *arrays)
    found, climbed = np.empty(total, dtype), np.empty(total, INT64)
    with progress_bar(total, request.progress, "trip") as advance:
        for low in range(0, total, together):
            part = slice(low, min(low + together, total))
            size = part.stop - low
            scratch.given[:, :size] = ends[:, part]
            # (what fills up is one of the trips again)
            scratch.given[:, size:] = ends[:, low : low + 1]
            scratch.launches.do(
                _launch_trips, scratch.stream, scratch, climbs, request.bound(dtype)
            )
            scratch.stream.synchronize()
            found[part], climbed[part] = scratch.found[:size], scratch.passed[:size]
            advance(size)
    shelf.leave(("trips", together, labels), scratch.nbytes, scratch)
    stats["climbed"] = climbed if alone else np.add.reduceat(climbed, request.target_offsets[:-1])
    return Answer(narrow(found, request.dtype), stats=stats)


def _launch_trips(stream: Any, scratch: _Scratch, climbs: _Climbs, bound: Any) -> None:
    """Queue the search of a batch of trips on a stream, with the copies to and from the GPU."""
    own, kept, tree = climbs.map, climbs.map.kept, climbs.map.tree
    sources, targets = scratch.ends[0], scratch.ends[1]
    rank_of, depth, height = tree["rank_of"], tree["depth"], np.uint32(tree.height)
    dtype, size, n = own.dtype, scratch.climbed.size, scratch.rows.shape[1]
    send(scratch.given, scratch.ends, stream)
    fill(scratch.rows, INDEX.type(0), stream)
    fill(scratch.counts, np.uint32(0), stream)
    _mark_kernel[blocks_for(size), THREADS, stream](sources, targets, rank_of, scratch.rows)
    marked = scratch.rows, scratch.counts, scratch.ranks
    _number_kernel[(-(-n // THREADS), 2), THREADS, stream](*marked)
    label = tree.height * dtype.itemsize
    together = min(WARPS, SHARED // label)
    grid, block = (-(-scratch.ranks.shape[1] // (together or WARPS)), 2), (WARP, together or WARPS)
    _make_climb_kernel(dtype, shares=together > 0)[grid, block, stream, together * label](
        scratch.ranks, scratch.counts, climbs.parent, depth, tree["kept_first"], kept.up_stop,
        kept.up_depths, kept.up_weights, kept.down_stop, climbs.depths_down, kept.down_weights,
        height, scratch.labels,
    )  # fmt: skip
    _make_meet_kernel(dtype)[-(-size // WARPS), (WARP, WARPS), stream](
        sources, targets, rank_of, scratch.rows, climbs.parent, climbs.chain, depth,
        scratch.labels, bound, own.shifts, scratch.distances, scratch.climbed,
    )  # fmt: skip
    fetch(scratch.distances, scratch.found, stream)
    fetch(scratch.climbed, scratch.passed, stream)


def _power_of_two(size: int) -> int:
    """Return the least power of two that is at least `size`."""
    return 1 << (size - 1).bit_length()
