"""GPU kernels that compute distances from many sources by a downward sweep of the hierarchy.

The twin of `sssp.cpu.sweep.sweeps`, on the pieces that `sssp.order.tree_partition` cuts the
elimination tree into. Rows are swept side by side: a row is a *lane*, and the distances of a vertex
in all lanes are neighbours in memory, so that threads next to each other read and write next to
each other.

- `sssp.cuda.sweep.climb` has found the distances of the top, and the ways up from each source.
- Levels are swept by one launch each, where there are any.
- A thread block sweeps a bundle for some lanes. The distances of the boundary come into shared
  memory, then a thread goes through the bundle's arcs, for a lane of its own: it reads only what it
  wrote itself, so there is nothing to wait for. Arcs come as a stream, the next group of which is
  read ahead.

Where only the number, the sum or the greatest of the distances is wanted, threads fold what they
find, and the lowest tier, which has nearly all vertices, writes nothing.

No row is filled first: whether a source has climbed past a vertex shows in their ranks.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.cuda.sweep.lane_sums import LANES, SLICES, add_up
from sssp.cuda.sweep.packed_arcs import (
    ENDS,
    MOST_GROUPED,
    STREAM_ROW,
    make_arc_functions,
    stream_words,
)
from sssp.kernels.dtypes import infinity

#: arcs of a stream that are in shared memory at a time, a multiple of all sizes of groups
CHUNK = 8 if SIMULATOR else 256
#: arcs of a vertex, and distances of a boundary, that a thread reads at once: they come from far
AHEAD, BROUGHT = 4, 8
#: threads that sweep a vertex on a level, for all lanes of a block
LEVEL_THREADS = LANES * SLICES
#: parts of the word of an arc in shared memory: where its row begins there, and whether a member
#: ends, as in the stream
ROW = 0x7FFFFFFF


class Pass(NamedTuple):
    """Parameters of one kernel launch of a sweep, such as the range of vertex bundles.

    Attributes
    ----------
    low, high : int
        Its first bundle, and that after its last.
    room : int
        Most rows of any.
    group : int
        Arcs of a group of a stream.
    lowest : bool
        Whether it is the lowest tier.
    """

    low: int
    high: int
    room: int
    group: int
    lowest: bool


class Bundle(namedtuple("Bundle", "first members begin bounded")):
    """Index ranges of a bundle: subtrees that a thread block sweeps, and their boundary vertices.

    Attributes
    ----------
    first, members : uint32
        Place of its first member, and how many it has.
    begin, bounded : uint32
        The first vertex of its boundary, and how many there are.
    """


def shared_bytes(dtype: np.dtype[Any], room: int, threads: int) -> int:
    """Return how many bytes of shared memory a thread block needs to sweep `room` vertices."""
    rows = (room + 1) * (threads * dtype.itemsize + 4)
    return -(-((CHUNK + MOST_GROUPED) * stream_words(dtype) * 8 + rows) // 8) * 8


@inline
def has_passed(source, rank, size):
    """Return whether `rank` is the rank of the source or of one of its ancestors in the tree."""
    return int32(int32(rank) - size[rank]) < source <= int32(rank)


@inline
def _global_distance(vertex, distances, lanes, lane):
    """Read the distance of a vertex from one source (lane) from global memory."""
    return distances[uint64(uint32(vertex)) * uint64(lanes) + lane]


@kernel
def level_kernel(
    first_place, ranks, order, size, depth, kept_first, down_stop, down_ends, down_weights,
    source_ranks, ways, lanes, inf, distances,
):  # fmt: skip
    """Compute the distances from all sources to the vertices of one elimination tree depth.

    There are as many slices as a block has rows of threads, a power of two.

    ============ ============== ====== ================================================
    argument     shape          dtype  written by
    ============ ============== ====== ================================================
    first_place  scalar         uint32 host: of the level
    ranks        (n,)           int32  host: of places
    order        (n,)           int32  host: vertices of ranks
    size         (n,)           int32  host: of the subtrees of ranks
    depth        (n,)           int32  host: of ranks
    kept_first   (n,)           uint32 host: where the kept arcs of every rank begin
    down_stop    (n,)           uint32 customization: where those down to it end
    down_ends    (c,)           int32  customization: ranks that they come from
    down_weights (c,)           number customization
    source_ranks (lanes,)       int32  `climb_kernel`
    ways         (rows, height) number `climb_kernel`
    lanes        scalar         uint32 host
    inf          scalar         number host: `infinity`
    distances    (n * lanes,)   number `climb_kernel`, the levels above; here
    ============ ============== ====== ================================================
    """
    best = cuda.shared.array(LEVEL_THREADS, distances.dtype)
    lane_here, slice_here = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    together, slices = uint32(cuda.blockDim.x), uint32(cuda.blockDim.y)
    own = uint32(slice_here * together + lane_here)
    lane = uint64(cuda.blockIdx.y * together + lane_here)
    rank = uint32(ranks[uint32(first_place + cuda.blockIdx.x)])
    least = inf
    if slice_here == 0 and has_passed(source_ranks[lane], rank, size):
        least = ways[lane, depth[rank]]
    arc, stop = uint32(kept_first[rank] + slice_here), down_stop[rank]
    while arc < stop:
        for i in range(AHEAD):
            further = min(uint32(arc + uint32(i) * slices), uint32(stop - 1))
            vertex, weight = order[down_ends[further]], down_weights[further]
            found = _global_distance(vertex, distances, lanes, lane)
            least = min(type(inf)(found + weight), least)
        arc = uint32(arc + AHEAD * slices)
    best[own] = least
    half = uint32(slices >> uint32(1))
    while half > 0:
        cuda.syncthreads()
        if slice_here < half:
            least = min(best[uint32(own + half * together)], least)
            best[own] = least
        half = uint32(half >> uint32(1))
    if slice_here == 0:
        distances[uint64(uint32(order[rank])) * uint64(lanes) + lane] = least


@inline
def bundle_of(number, bundle_first, boundary_first):
    """Return the position and size of a bundle of subtrees and of its boundary, as a `Bundle`."""
    first, stop = uint32(bundle_first[number]), uint32(bundle_first[uint32(number + 1)])
    begin = uint32(boundary_first[number])
    bounded = uint32(uint32(boundary_first[uint32(number + 1)]) - begin)
    return Bundle(first, uint32(stop - first), begin, bounded)


@cache
def make_sweep_kernel(
    dtype: np.dtype[Any], group: int, *, folds: str | None = None, stores: bool = True
) -> Any:
    """Return a kernel for downward PHAST sweeps from many sources, with optional reductions.

    Parameters
    ----------
    dtype : dtype
    group : int
        Arcs of a group of the stream: 2 or 4.
    folds : {"greatest", "distances", "weights"}, optional
        What the distances from a source are reduced to. ``"greatest"``: their maximum;
        ``"distances"``: also their count and sum; ``"weights"``: also their count, and the sum of
        the weights of the vertices that they lead to.
    stores : bool
        Whether distances are written.
    """
    adds, weighs = folds in ("distances", "weights"), folds == "weights"
    number, inf = from_dtype(dtype), infinity(dtype).item()
    read, write, read_shared = make_arc_functions(dtype)
    words = stream_words(dtype)
    #: where in shared memory rows and vertices begin, behind the arcs
    rows_at = (CHUNK + MOST_GROUPED) * words * (8 // dtype.itemsize)
    words_a_number = dtype.itemsize // 4

    @inline
    def bring_boundary(bundle, vertices, distances, lanes, lane, rows, threads):
        """Load a source's distances at the upper neighbours of subtrees into shared memory."""
        ahead = cuda.local.array(BROUGHT, number)
        i = uint32(0)
        while i < bundle.bounded:
            last = uint32(bundle.bounded - 1)
            for k in range(BROUGHT):
                row = min(uint32(i + uint32(k)), last)
                vertex = vertices[uint32(bundle.begin + row)]
                ahead[k] = _global_distance(vertex, distances, lanes, lane)
            for k in range(BROUGHT):
                row = uint32(bundle.members + min(uint32(i + uint32(k)), last))
                rows[uint32(row * threads)] = ahead[k]
            i = uint32(i + BROUGHT)

    @inline
    def seed(bundle, source, ranks, size, depth, ways, lane, rows, threads):
        """Set distances in a bundle of subtrees to those of an upward search, or to infinity."""
        i = uint32(0)
        while i < bundle.members:
            rank = ranks[uint32(bundle.first + i)]
            way = number(inf)
            if has_passed(source, rank, size):
                way = ways[lane, depth[rank]]
            rows[uint32(i * threads)] = way
            i = uint32(i + 1)

    @inline
    def read_ahead(stream, start, end, ahead, tails, thread, threads):
        """Load the next arcs of the arc stream into registers; return the number of these arcs."""
        most = min(uint32(AHEAD * threads), uint32(CHUNK))
        count = uint32(min(uint64(end - start), uint64(most)))
        if count > 0:
            for k in range(AHEAD):
                place = min(uint32(thread + uint32(k) * threads), uint32(count - 1))
                ahead[k], tails[k] = read(stream, uint64(start + uint64(place)))
        return count

    @inline
    def share(ahead, tails, count, arcs, thread, threads):
        """Write the arcs in registers to shared memory, with offsets of their tails' distances."""
        for k in range(AHEAD):
            place = min(uint32(thread + uint32(k) * threads), uint32(count - 1))
            offset = uint32(tails[k] & uint32(STREAM_ROW)) * threads
            write(arcs, uint64(place), ahead[k], uint32(offset | (tails[k] & uint32(ENDS))))

    @kernel
    def _sweep_kernel(
        first_bundle, room, bundle_first, boundary_first, boundary_vertices, lowest, highest,
        vertices, ranks, size, depth, stream_first, stream_stop, stream, source_ranks, ways, lanes,
        distances, bound, values, totals,
    ):  # fmt: skip
        """Sweep bundles of subtrees downward, with one thread for each bundle and source.

        ================= ================== ====== ===========================================
        argument          shape              dtype  written by
        ================= ================== ====== ===========================================
        first_bundle      scalar             uint32 host: of the tier
        room              scalar             uint32 host: rows in shared memory, but for one
        bundle_first      (b + 1,)           int32  host: places
        boundary_first    (b + 1,)           int32  host
        boundary_vertices (x,)               int32  host
        lowest            (b,)               int32  host: least rank of a bundle's subtrees
        highest           (b,)               int32  host: greatest rank of them
        vertices          (n,)               int32  host: of places; those that are stored do
        ranks             (n,)               int32  host: of places
        size              (n,)               int32  host: of the subtrees of ranks
        depth             (n,)               int32  host: of ranks
        stream_first      (b,)               uint32 host: where the stream of a bundle begins
        stream_stop       (b,)               uint32 customization: where it ends
        stream            (words,)           int64  customization
        source_ranks      (lanes,)           int32  `climb_kernel`
        ways              (rows, height)     number `climb_kernel`
        lanes             scalar             uint32 host
        distances         (n * lanes,)       number what was swept before; here, if it stores
        bound             scalar             number host: greatest distance that is folded
        values            (n,)               int64  host: weights of places, if they are added up
        totals            (SLOTS, 3, lanes)  int64  host: zeros; here, if it folds
        ================= ================== ====== ===========================================
        """
        arcs = cuda.shared.array(0, int64, alignment=ALIGNMENT)
        rows = cuda.shared.array(0, number, alignment=ALIGNMENT)
        halves = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        sourced = cuda.shared.array(1, int32)
        weights, places = cuda.local.array(group, number), cuda.local.array(group, uint32)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        own_bundle = uint32(first_bundle + cuda.blockIdx.x)
        lane = uint64(cuda.blockIdx.y * threads + thread)
        bundle = bundle_of(own_bundle, bundle_first, boundary_first)
        first, members = bundle.first, bundle.members
        names_at = uint32((rows_at + (room + 1) * threads) * words_a_number)
        source = source_ranks[lane]
        if thread == 0:
            sourced[0] = 0
        if stores:
            i = thread
            while i < members:
                halves[uint32(names_at + i)] = uint32(vertices[uint32(first + i)])
                i = uint32(i + threads)
        # (the first arcs of the stream are on their way while the boundary comes)
        start, end = uint64(stream_first[own_bundle]), uint64(stream_stop[own_bundle])
        ahead, tails = cuda.local.array(AHEAD, number), cuda.local.array(AHEAD, uint32)
        count = read_ahead(stream, start, end, ahead, tails, thread, threads)
        cuda.syncthreads()
        rows = rows[uint32(rows_at + thread) :]  # (those of this thread's source)
        bring_boundary(bundle, boundary_vertices, distances, lanes, lane, rows, threads)
        # (arcs that only fill up their group come from here)
        rows[uint32((members + bundle.bounded) * threads)] = number(inf)
        if lowest[own_bundle] <= source <= highest[own_bundle]:
            sourced[0] = 1
        cuda.syncthreads()
        seeded = sourced[0] != 0
        if seeded:
            seed(bundle, source, ranks, size, depth, ways, lane, rows, threads)
        least = number(inf)
        if seeded:
            least = rows[uint32(0)]
        reached, total, greatest = uint32(0), int64(0), number(0)
        member, own = uint32(0), uint32(0)
        while count > 0:
            share(ahead, tails, count, arcs, thread, threads)
            cuda.syncthreads()
            at = uint64(0)
            for k in range(group):
                weights[k], places[k] = read_shared(arcs, halves, uint64(at + uint64(k)))
            while at < uint64(count):
                ends = places[0] & uint32(ENDS)
                places[0] = uint32(places[0] & uint32(ROW))
                at = uint64(at + uint64(group))
                for k in range(group):
                    above = rows[places[k]]
                    least = min(number(above + weights[k]), least)
                    # (the next arc is on its way before it is needed)
                    weights[k], places[k] = read_shared(arcs, halves, uint64(at + uint64(k)))
                if ends != 0:
                    rows[own] = least
                    if stores:
                        name = uint64(halves[uint32(names_at + member)])
                        distances[name * uint64(lanes) + lane] = least
                    if folds is not None and least <= bound:
                        greatest = max(greatest, number(least + number(1)))
                        if adds:
                            reached = uint32(reached + 1)
                            total += values[uint32(first + member)] if weighs else int64(least)
                    member, own = uint32(member + 1), uint32(own + threads)
                    least = number(inf)
                    if seeded:
                        least = rows[own]
            start += uint64(count)
            count = read_ahead(stream, start, end, ahead, tails, thread, threads)
            cuda.syncthreads()
        if folds is not None:
            add_up(totals, uint32(lane), int64(reached), total, int64(greatest))

    return _sweep_kernel
