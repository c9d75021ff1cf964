"""Distances from sources on a hierarchy, on a GPU: a climb, a step through the top, and a sweep.

The twin of `sssp.hierarchy.sweeps`, on the pieces that `sssp.hierarchy.bundles` cuts the
elimination tree into. Rows are swept side by side: a row is a *lane*, and the distances of a vertex
in all lanes are neighbours in memory, so that threads next to each other read and write next to
each other.

- A thread block climbs from a source to the top, along one path of the tree; the arcs of the next
  vertices on the path are brought ahead. From where it enters the top, one step over a dense matrix
  finds the distances of all that is there.
- Levels are swept by one launch each, where there are any.
- A thread block sweeps a bundle for some lanes. The distances of the boundary come into shared
  memory, then a thread goes through the bundle's arcs, for a lane of its own: it reads only what it
  wrote itself, so there is nothing to wait for. Arcs come as a stream, cut into groups of equal
  size, the next of which is read ahead.
- Of a few lanes a thread block sweeps a bundle by depth: threads relax the arcs into the vertices
  of one depth, an arc each, and meet before the next. They take the same stream.

Where only the number, the sum or the greatest of the distances is wanted, threads fold what they
find, and the lowest tier, which has nearly all vertices, writes nothing.

No row is filled first: whether a source has climbed past a vertex shows in their ranks.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, int32, int64, uint32, uint64

from sssp.cuda.compiler import SIMULATOR, bits_of, cuda, inline, kernel, number_of
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.kernels.dtypes import infinity, unreached

__all__ = [
    "CLIMB_THREADS",
    "ENDS",
    "LANES",
    "LEVEL_AT",
    "MEMBER",
    "PITCH",
    "ROW_BITS",
    "SLICES",
    "SLOTS",
    "STREAM_ROW",
    "TILE",
    "TOP",
    "TURNS",
    "Pass",
    "arc_reader",
    "arc_writer",
    "few_bytes",
    "make_climb_kernel",
    "make_few_kernel",
    "make_few_turn_kernel",
    "make_fold_kernel",
    "make_level_kernel",
    "make_sweep_kernel",
    "make_turn_kernel",
    "place_kernel",
    "shared_bytes",
    "stream_words",
    "total_kernel",
]

#: lanes come in multiples of this: threads of a warp
LANES = 2 if SIMULATOR else 32
#: threads that climb from a source
CLIMB_THREADS = 4 if SIMULATOR else 128
#: vertices of the top for each of them
SHARE = 2 if SIMULATOR else 5
#: most vertices of the top
TOP = CLIMB_THREADS * SHARE
#: most times that a path leaves a chain: at least doubling its subtree
MOST_CHAINS = 32
#: arcs of a stream that are in shared memory at a time, a multiple of all sizes of groups
CHUNK = 8 if SIMULATOR else 256
#: largest group
MOST_GROUPED = 4
#: parts that the arcs of a vertex on a level are divided into
SLICES = 2 if SIMULATOR else 16
#: threads that sweep a vertex on a level, for all lanes of a block
LEVEL_THREADS = LANES * SLICES
#: places where blocks add up what they fold, so that few meet; a power of two
SLOTS = 2 if SIMULATOR else 64
#: rows, and columns, of a tile that is turned
TILE = 2 if SIMULATOR else 32
#: entries between its rows: no two of a column share a bank
PITCH = TILE + 1
#: rows of a tile that a thread turns one by one
TURNS = 1 if SIMULATOR else 8
#: parts of a word of a stream: the row of the vertex that the arc comes from, the member that it
#: leads to, its level in the bundle, and whether a member ends with this group
ROW_BITS, MEMBER_BITS = 11, 10
LEVEL_AT = ROW_BITS + MEMBER_BITS
STREAM_ROW, MEMBER, LEVEL = (1 << ROW_BITS) - 1, (1 << MEMBER_BITS) - 1, (1 << (31 - LEVEL_AT)) - 1
#: parts of such a word in shared memory: where the row begins there, and the same mark
ROW, ENDS = 0x7FFFFFFF, 0x80000000


class Pass(NamedTuple):
    """A tier of bundles, which is one launch.

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


def stream_words(dtype: np.dtype[Any]) -> int:
    """Words of 64 bits that an arc of a stream takes."""
    return 1 if dtype.itemsize == 4 else 2


def shared_bytes(dtype: np.dtype[Any], room: int, threads: int) -> int:
    """Bytes of shared memory for a bundle of at most `room` rows, in so many lanes."""
    rows = (room + 1) * (threads * dtype.itemsize + 4)
    return -(-((CHUNK + MOST_GROUPED) * stream_words(dtype) * 8 + rows) // 8) * 8


def few_bytes(dtype: np.dtype[Any], room: int, lanes: int, arcs: int) -> int:
    """Bytes of shared memory for a bundle of at most `room` rows in a few lanes, and some arcs."""
    rows = (room + 1) * lanes * dtype.itemsize + room * 4
    return arcs * stream_words(dtype) * 8 + -(-rows // 8) * 8


@cache
def _make_arc_functions(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return device functions that read an arc of a stream, and write one."""
    bits, number = bits_of(dtype), number_of(dtype)

    if stream_words(dtype) == 1:

        @inline
        def read(stream, place):
            word = stream[place]
            return number(word >> 32), uint32(word)

        @inline
        def write(stream, place, weight, row):
            stream[place] = (int64(bits(weight)) << 32) | int64(row)

    else:

        @inline
        def read(stream, place):
            return number(stream[2 * place]), uint32(stream[2 * place + 1])

        @inline
        def write(stream, place, weight, row):
            stream[2 * place] = int64(bits(weight))
            stream[2 * place + 1] = int64(row)

    return read, write


def arc_reader(dtype: np.dtype[Any]) -> Any:
    """Return the device function that reads an arc of a stream."""
    return _make_arc_functions(dtype)[0]


def arc_writer(dtype: np.dtype[Any]) -> Any:
    """Return the device function that writes an arc of a stream."""
    return _make_arc_functions(dtype)[1]


@cache
def make_climb_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that climbs, and finds the distances of the top."""
    number, inf = from_dtype(dtype), infinity(dtype).item()

    @inline
    def brought(i, count, starts, stops, depths, weights, thread):
        """Return the weight of a thread's arc of a vertex on the path, and how deep it leads."""
        weight, depth = number(inf), int32(0)
        if i < count:
            arc = uint32(starts[i] + thread)
            if arc < stops[i]:
                weight, depth = weights[arc], depths[arc]
        return weight, depth

    @inline
    def relax(i, bottom, count, arc, stops, starts, depths, weights, way, thread):
        """Relax the arcs of a vertex on the path; all of them lead to other vertices."""
        if i < count:
            here = way[uint32(bottom - i)]
            weight, depth = arc
            found = number(here + weight)
            if found < way[uint32(depth)]:
                way[uint32(depth)] = found
            further = uint32(starts[i] + thread + CLIMB_THREADS)
            while further < stops[i]:
                found = number(here + weights[further])
                if found < way[uint32(depths[further])]:
                    way[uint32(depths[further])] = found
                further = uint32(further + CLIMB_THREADS)
        cuda.syncthreads()

    @kernel
    def _climb_kernel(
        sources, rank_of, ranks, places, vertices, chain, leap, depth, arcs_first, arcs_stop,
        depths, weights, first, upper, top, between, starts, stops, ways, source_ranks, counters,
        lanes, distances,
    ):  # fmt: skip
        """Climb from a source, a block each, and write the distances of the top.

        ============ ============== ====== =====================================================
        argument     shape          dtype  written by
        ============ ============== ====== =====================================================
        sources      (rows,)        int64  host
        rank_of      (n,)           int32  host: of vertices
        ranks        (n,)           int32  host: of places
        places       (n,)           int32  host: of ranks
        vertices     (n,)           int32  host: of places
        chain        (n,)           int32  host: the last rank of the chain, below the top
        leap         (n,)           int32  host: the rank above it, -1 where the top begins
        depth        (n,)           int32  host: of ranks
        arcs_first   (n,)           uint32 host: where the arcs up from every rank begin
        arcs_stop    (n,)           uint32 customization: where they end
        depths       (c,)           int32  customization: of their ends
        weights      (c,)           number customization
        first        (n + 1,)       uint32 host: where the chordal arcs of every rank begin
        upper        (chordal,)     int32  host: ranks above
        top          scalar         uint32 host: places of the top
        between      (top * top,)   number Floyd-Warshall
        starts       (rows, height) uint32 here: arcs of the vertices on the path, from
        stops        (rows, height) uint32 here: to
        ways         (rows, height) number here: lengths of the ways up, by depth
        source_ranks (lanes,)       int32  here
        counters     (rows, words)  int64  here: vertices passed, and all of them
        lanes        scalar         uint32 host
        distances    (n * lanes,)   number here: of the top
        ============ ============== ====== =====================================================
        """
        chains = cuda.shared.array(MOST_CHAINS, int32)
        offsets = cuda.shared.array(MOST_CHAINS, int32)
        lengths = cuda.shared.array(2, int32)
        doors = cuda.shared.array(TOP, uint32)
        door_ways = cuda.shared.array(TOP, number)
        least = cuda.local.array(SHARE, number)
        thread, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        rank = rank_of[sources[row]]
        bottom = uint32(depth[rank])
        start, stop, way = starts[row], stops[row], ways[row]
        i = thread
        while i <= bottom:
            way[i] = number(inf)
            i = uint32(i + CLIMB_THREADS)
        if thread == 0:
            source_ranks[row] = rank
            counters[row, 0], counters[row, 1] = int64(bottom) + 1, ranks.size
            # the path, chain by chain
            known, length = uint32(0), int32(0)
            above = rank
            if uint32(places[rank]) < top:
                above = int32(-1)
            while above >= 0:
                chains[known], offsets[known] = above, length
                length = int32(length + chain[above] - above + 1)
                known = uint32(known + 1)
                above = leap[above]
            lengths[0], lengths[1] = int32(known), length
        cuda.syncthreads()
        known, count = uint32(lengths[0]), uint32(lengths[1])
        if thread == 0:
            way[bottom] = number(0)
        i = thread
        while i < count:
            own = uint32(known - 1)
            while uint32(offsets[own]) > i:
                own = uint32(own - 1)
            passed = uint32(uint32(chains[own]) + i - uint32(offsets[own]))
            start[i], stop[i] = arcs_first[passed], arcs_stop[passed]
            i = uint32(i + CLIMB_THREADS)
        cuda.syncthreads()
        one = brought(uint32(0), count, start, stop, depths, weights, thread)
        two = brought(uint32(1), count, start, stop, depths, weights, thread)
        three = brought(uint32(2), count, start, stop, depths, weights, thread)
        four = brought(uint32(3), count, start, stop, depths, weights, thread)
        i = uint32(0)
        while i < count:
            relax(i, bottom, count, one, stop, start, depths, weights, way, thread)
            one = brought(uint32(i + 4), count, start, stop, depths, weights, thread)
            relax(uint32(i + 1), bottom, count, two, stop, start, depths, weights, way, thread)
            two = brought(uint32(i + 5), count, start, stop, depths, weights, thread)
            relax(uint32(i + 2), bottom, count, three, stop, start, depths, weights, way, thread)
            three = brought(uint32(i + 6), count, start, stop, depths, weights, thread)
            relax(uint32(i + 3), bottom, count, four, stop, start, depths, weights, way, thread)
            four = brought(uint32(i + 7), count, start, stop, depths, weights, thread)
            i = uint32(i + 4)
        # where the path enters the top
        entered = uint32(0)
        if count == 0:
            entered = uint32(1)
            if thread == 0:
                doors[0], door_ways[0] = uint32(places[rank]), number(0)
        else:
            final = uint32(uint32(chains[uint32(known - 1)]) + count - 1)
            final = uint32(final - uint32(offsets[uint32(known - 1)]))
            begin = first[final]
            entered = uint32(first[uint32(final + 1)] - begin)
            i = thread
            while i < entered:
                above = upper[uint32(begin + i)]
                doors[i], door_ways[i] = uint32(places[above]), way[uint32(depth[above])]
                i = uint32(i + CLIMB_THREADS)
        cuda.syncthreads()
        for share in range(SHARE):
            least[share] = number(inf)
        # (several rows at a time, for they come from far)
        i, last = uint32(0), uint32(max(entered, uint32(1)) - 1)
        while i < entered:
            i1, i2, i3 = (
                min(uint32(i + 1), last),
                min(uint32(i + 2), last),
                min(uint32(i + 3), last),
            )
            r0, r1 = uint32(doors[i] * top), uint32(doors[i1] * top)
            r2, r3 = uint32(doors[i2] * top), uint32(doors[i3] * top)
            w0, w1, w2, w3 = door_ways[i], door_ways[i1], door_ways[i2], door_ways[i3]
            for share in range(SHARE):
                column = min(uint32(share * CLIMB_THREADS + thread), uint32(top - 1))
                d0, d1 = between[uint32(r0 + column)], between[uint32(r1 + column)]
                d2, d3 = between[uint32(r2 + column)], between[uint32(r3 + column)]
                found = min(number(w0 + d0), least[share])
                found = min(number(w1 + d1), found)
                found = min(number(w2 + d2), found)
                least[share] = min(number(w3 + d3), found)
            i = uint32(i + 4)
        for share in range(SHARE):
            column = uint32(share * CLIMB_THREADS + thread)
            if column < top:
                vertex = uint64(uint32(vertices[column]))
                distances[vertex * uint64(lanes) + uint64(row)] = least[share]

    return _climb_kernel


@cache
def make_level_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that sweeps a level."""
    number, inf = from_dtype(dtype), infinity(dtype).item()

    @inline
    def far_away(vertex, distances, lanes, lane):
        """Return a distance from the memory of the device."""
        return distances[uint64(uint32(vertex)) * uint64(lanes) + lane]

    @kernel
    def _level_kernel(
        first_place, ranks, order, size, depth, arcs_first, arcs_stop, ends, weights,
        source_ranks, ways, lanes, distances,
    ):  # fmt: skip
        """Sweep vertices of one depth, a block a vertex and some lanes, the arcs in slices.

        There are as many slices as a block has rows of threads, a power of two.

        ============ ============== ====== ================================================
        argument     shape          dtype  written by
        ============ ============== ====== ================================================
        first_place  scalar         uint32 host: of the level
        ranks        (n,)           int32  host: of places
        order        (n,)           int32  host: vertices of ranks
        size         (n,)           int32  host: of the subtrees of ranks
        depth        (n,)           int32  host: of ranks
        arcs_first   (n,)           uint32 host: where the arcs of every rank begin
        arcs_stop    (n,)           uint32 customization: where those down to it end
        ends         (c,)           int32  customization: ranks that they come from
        weights      (c,)           number customization
        source_ranks (lanes,)       int32  `_climb_kernel`
        ways         (rows, height) number `_climb_kernel`
        lanes        scalar         uint32 host
        distances    (n * lanes,)   number `_climb_kernel`, the levels above; here
        ============ ============== ====== ================================================
        """
        best = cuda.shared.array(LEVEL_THREADS, number)
        lane_here, slice_here = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        together, slices = uint32(cuda.blockDim.x), uint32(cuda.blockDim.y)
        own = uint32(slice_here * together + lane_here)
        lane = uint64(cuda.blockIdx.y * together + lane_here)
        rank = uint32(ranks[uint32(first_place + cuda.blockIdx.x)])
        least = number(inf)
        if slice_here == 0:
            source = source_ranks[lane]
            if int32(int32(rank) - size[rank]) < source <= int32(rank):
                least = ways[lane, depth[rank]]
        arc, stop = uint32(arcs_first[rank] + slice_here), arcs_stop[rank]
        # several at a time, for they come from far
        while arc < stop:
            last = uint32(stop - 1)
            arc1, arc2 = min(uint32(arc + slices), last), min(uint32(arc + 2 * slices), last)
            arc3 = min(uint32(arc + 3 * slices), last)
            v0, v1, v2, v3 = (
                order[ends[arc]],
                order[ends[arc1]],
                order[ends[arc2]],
                order[ends[arc3]],
            )
            w0, w1, w2, w3 = weights[arc], weights[arc1], weights[arc2], weights[arc3]
            d0, d1 = far_away(v0, distances, lanes, lane), far_away(v1, distances, lanes, lane)
            d2, d3 = far_away(v2, distances, lanes, lane), far_away(v3, distances, lanes, lane)
            least = min(number(d0 + w0), least)
            least = min(number(d1 + w1), least)
            least = min(number(d2 + w2), least)
            least = min(number(d3 + w3), least)
            arc = uint32(arc + 4 * slices)
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

    return _level_kernel


@cache
def make_sweep_kernel(
    dtype: np.dtype[Any],
    group: int,
    *,
    folds: bool = False,
    stores: bool = True,
    weighs: bool = False,
) -> Any:
    """Return the kernel that sweeps bundles.

    Parameters
    ----------
    dtype : dtype
    group : int
        Arcs of a group of the stream: 2 or 4.
    folds : bool
        Whether distances are counted, added up and compared.
    stores : bool
        Whether they are written.
    weighs : bool
        Whether what is folded adds up weights in place of distances.
    """
    number, inf = from_dtype(dtype), infinity(dtype).item()
    read, write = _make_arc_functions(dtype)
    by_four = group == MOST_GROUPED
    words = stream_words(dtype)
    #: where in shared memory rows and vertices begin, behind the arcs
    rows_at = (CHUNK + MOST_GROUPED) * words * (8 // dtype.itemsize)
    words_a_number = dtype.itemsize // 4

    @inline
    def far_away(names, i, distances, lanes, lane):
        """Return a distance from the memory of the device."""
        return distances[uint64(uint32(names[i])) * uint64(lanes) + lane]

    @inline
    def placed(row, threads):
        """Return where in shared memory the distances of a row begin, and the mark beside it."""
        return uint32((rows_at + (row & uint32(STREAM_ROW)) * threads) | (row & uint32(ENDS)))

    @kernel
    def _sweep_kernel(
        first_bundle, room, bundle_first, boundary_first, boundary_vertices, lowest, highest,
        vertices, ranks, size, depth, stream_first, stream_stop, stream, source_ranks, ways, lanes,
        distances, bound, values, totals,
    ):  # fmt: skip
        """Sweep bundles, a block a bundle and some lanes, a thread a lane.

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
        source_ranks      (lanes,)           int32  `_climb_kernel`
        ways              (rows, height)     number `_climb_kernel`
        lanes             scalar             uint32 host
        distances         (n * lanes,)       number what was swept before; here, if it stores
        bound             scalar             number host: greatest distance that is folded
        values            (n,)               int64  host: weights of places, if they are added up
        totals            (SLOTS, 3, lanes)  int64  host: zeros; here, if it folds
        ================= ================== ====== ===========================================
        """
        arcs = cuda.shared.array(0, int64, alignment=ALIGNMENT)
        rows = cuda.shared.array(0, number, alignment=ALIGNMENT)
        names = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        sourced = cuda.shared.array(1, int32)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        bundle = uint32(first_bundle + cuda.blockIdx.x)
        lane = uint64(cuda.blockIdx.y * threads + thread)
        first, stop = uint32(bundle_first[bundle]), uint32(bundle_first[uint32(bundle + 1)])
        members = uint32(stop - first)
        begin = uint32(boundary_first[bundle])
        bounded = uint32(uint32(boundary_first[uint32(bundle + 1)]) - begin)
        names_at = uint32((rows_at + (room + 1) * threads) * words_a_number)
        source = source_ranks[lane]
        if thread == 0:
            sourced[0] = 0
        if stores:
            i = thread
            while i < members:
                names[uint32(names_at + i)] = uint32(vertices[uint32(first + i)])
                i = uint32(i + threads)
        cuda.syncthreads()
        # several at a time, for they come from far
        i = uint32(0)
        while i < bounded:
            last = uint32(bounded - 1)
            i1, i2 = min(uint32(i + 1), last), min(uint32(i + 2), last)
            i3 = min(uint32(i + 3), last)
            b0 = far_away(boundary_vertices, uint32(begin + i), distances, lanes, lane)
            b1 = far_away(boundary_vertices, uint32(begin + i1), distances, lanes, lane)
            b2 = far_away(boundary_vertices, uint32(begin + i2), distances, lanes, lane)
            b3 = far_away(boundary_vertices, uint32(begin + i3), distances, lanes, lane)
            i4, i5 = min(uint32(i + 4), last), min(uint32(i + 5), last)
            i6, i7 = min(uint32(i + 6), last), min(uint32(i + 7), last)
            b4 = far_away(boundary_vertices, uint32(begin + i4), distances, lanes, lane)
            b5 = far_away(boundary_vertices, uint32(begin + i5), distances, lanes, lane)
            b6 = far_away(boundary_vertices, uint32(begin + i6), distances, lanes, lane)
            b7 = far_away(boundary_vertices, uint32(begin + i7), distances, lanes, lane)
            at_boundary = uint32(rows_at + members * threads + thread)
            rows[uint32(at_boundary + i * threads)] = b0
            rows[uint32(at_boundary + i1 * threads)] = b1
            rows[uint32(at_boundary + i2 * threads)] = b2
            rows[uint32(at_boundary + i3 * threads)] = b3
            rows[uint32(at_boundary + i4 * threads)] = b4
            rows[uint32(at_boundary + i5 * threads)] = b5
            rows[uint32(at_boundary + i6 * threads)] = b6
            rows[uint32(at_boundary + i7 * threads)] = b7
            i = uint32(i + 8)
        # (arcs that only fill up their group come from here)
        rows[uint32(rows_at + (members + bounded) * threads + thread)] = number(inf)
        if lowest[bundle] <= source <= highest[bundle]:
            sourced[0] = 1
        cuda.syncthreads()
        seeded = sourced[0] != 0
        if seeded:
            i = uint32(0)
            while i < members:
                rank = ranks[uint32(first + i)]
                way = number(inf)
                if int32(rank - size[rank]) < source <= rank:
                    way = ways[lane, depth[rank]]
                rows[uint32(rows_at + i * threads + thread)] = way
                i = uint32(i + 1)
        least = number(inf)
        if seeded:
            least = rows[uint32(rows_at + thread)]
        reached, total, greatest = int64(0), int64(0), int64(0)
        member, own = uint32(0), uint32(rows_at + thread)
        start, end = uint64(stream_first[bundle]), uint64(stream_stop[bundle])
        while start < end:
            there = uint32(min(uint64(end - start), uint64(CHUNK)))
            cuda.syncthreads()
            i = thread
            while i < there:
                last = uint32(there - 1)
                i1, i2 = min(uint32(i + threads), last), min(uint32(i + 2 * threads), last)
                i3 = min(uint32(i + 3 * threads), last)
                w0, p0 = read(stream, uint64(start + uint64(i)))
                w1, p1 = read(stream, uint64(start + uint64(i1)))
                w2, p2 = read(stream, uint64(start + uint64(i2)))
                w3, p3 = read(stream, uint64(start + uint64(i3)))
                write(arcs, uint64(i), w0, placed(p0, threads))
                write(arcs, uint64(i1), w1, placed(p1, threads))
                write(arcs, uint64(i2), w2, placed(p2, threads))
                write(arcs, uint64(i3), w3, placed(p3, threads))
                i = uint32(i + 4 * threads)
            cuda.syncthreads()
            at = uint64(0)
            w0, p0 = read(arcs, at)
            w1, p1 = read(arcs, at + uint64(1))
            w2, p2, w3, p3 = w0, p0, w1, p1
            if by_four:
                w2, p2 = read(arcs, at + uint64(2))
                w3, p3 = read(arcs, at + uint64(3))
            while at < uint64(there):
                ends = p0 & uint32(ENDS)
                d0 = rows[uint32((p0 & uint32(ROW)) + thread)]
                d1 = rows[uint32((p1 & uint32(ROW)) + thread)]
                d2, d3 = d0, d1
                if by_four:
                    d2 = rows[uint32((p2 & uint32(ROW)) + thread)]
                    d3 = rows[uint32((p3 & uint32(ROW)) + thread)]
                at = uint64(at + uint64(group))
                v0, q0 = read(arcs, at)
                v1, q1 = read(arcs, at + uint64(1))
                v2, q2, v3, q3 = v0, q0, v1, q1
                if by_four:
                    v2, q2 = read(arcs, at + uint64(2))
                    v3, q3 = read(arcs, at + uint64(3))
                least = min(number(d0 + w0), least)
                least = min(number(d1 + w1), least)
                if by_four:
                    least = min(number(d2 + w2), least)
                    least = min(number(d3 + w3), least)
                w0, p0, w1, p1 = v0, q0, v1, q1
                w2, p2, w3, p3 = v2, q2, v3, q3
                if ends != 0:
                    rows[own] = least
                    if stores:
                        name = uint64(names[uint32(names_at + member)])
                        distances[name * uint64(lanes) + lane] = least
                    if folds and least <= bound:
                        reached += 1
                        total += values[uint32(first + member)] if weighs else int64(least)
                        greatest = max(greatest, int64(least))
                    member, own = uint32(member + 1), uint32(own + threads)
                    least = number(inf)
                    if seeded:
                        least = rows[own]
            start += uint64(there)
        if folds:
            slot = uint32(cuda.blockIdx.x & (SLOTS - 1))
            cuda.atomic.add(totals, (slot, 0, uint32(lane)), reached)
            cuda.atomic.add(totals, (slot, 1, uint32(lane)), total)
            cuda.atomic.max(totals, (slot, 2, uint32(lane)), greatest)

    return _sweep_kernel


@cache
def make_few_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that sweeps bundles for a few lanes."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    integer = int32 if dtype.itemsize == 4 else int64
    bits, from_bits = bits_of(dtype), number_of(dtype)
    read, _ = _make_arc_functions(dtype)
    words = stream_words(dtype)
    numbers_a_word, words_a_number = 8 // dtype.itemsize, dtype.itemsize // 4

    @inline
    def level_of(row):
        """Return the level that an arc leads to."""
        return uint32((row >> uint32(LEVEL_AT)) & uint32(LEVEL))

    @inline
    def name_of(i, first, members, begin, bounded, vertices, boundary_vertices):
        """Return the vertex of a row; of the last row, which has none, any."""
        name = uint32(0)
        if i < members:
            name = uint32(vertices[uint32(first + i)])
        elif i < members + bounded:
            name = uint32(boundary_vertices[uint32(begin + i - members)])
        return name

    @kernel
    def _few_kernel(
        first_bundle, room, most_arcs, bundle_first, boundary_first, boundary_vertices, lowest,
        highest, vertices, ranks, size, depth, stream_first, stream_stop, stream, source_ranks,
        ways, lanes, distances,
    ):  # fmt: skip
        """Sweep bundles, a block a bundle and a few lanes, a thread an arc and a lane.

        The arcs into the vertices of a level stand together in the stream, in order of level. Every
        thread looks at the next arc of its own, and relaxes it when its level has come.

        ================= ================ ====== ============================================
        argument          shape            dtype  written by
        ================= ================ ====== ============================================
        first_bundle      scalar           uint32 host: of the tier
        room              scalar           uint32 host: rows in shared memory, but for one
        most_arcs         scalar           uint32 host: arcs in shared memory
        bundle_first      (b + 1,)         int32  host: places
        boundary_first    (b + 1,)         int32  host
        boundary_vertices (x,)             int32  host
        lowest            (b,)             int32  host: least rank of a bundle's subtrees
        highest           (b,)             int32  host: greatest rank of them
        vertices          (n,)             int32  host: of places
        ranks             (n,)             int32  host: of places
        size              (n,)             int32  host: of the subtrees of ranks
        depth             (n,)             int32  host: of ranks
        stream_first      (b,)             uint32 host: where the stream of a bundle begins
        stream_stop       (b,)             uint32 customization: where it ends
        stream            (words,)         int64  customization
        source_ranks      (lanes,)         int32  `_climb_kernel`
        ways              (rows, height)   number `_climb_kernel`
        lanes             scalar           uint32 host
        distances         (n * lanes,)     number what was swept before; here
        ================= ================ ====== ============================================
        """
        # numbers are compared by their bits, for which there are atomics in hardware
        arcs = cuda.shared.array(0, int64, alignment=ALIGNMENT)
        rows = cuda.shared.array(0, integer, alignment=ALIGNMENT)
        names = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        lane_here, thread = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        together, threads = uint32(cuda.blockDim.x), uint32(cuda.blockDim.y)
        every, all_threads = uint32(thread * together + lane_here), uint32(threads * together)
        bundle = uint32(first_bundle + cuda.blockIdx.x)
        lane = uint64(cuda.blockIdx.y * together + lane_here)
        rows_at = uint32(most_arcs * words * numbers_a_word)
        names_at = uint32((rows_at + (room + 1) * together) * words_a_number)
        rows_at = uint32(rows_at + lane_here)
        first, stop = uint32(bundle_first[bundle]), uint32(bundle_first[uint32(bundle + 1)])
        begin = uint32(boundary_first[bundle])
        bounded = uint32(uint32(boundary_first[uint32(bundle + 1)]) - begin)
        members = uint32(stop - first)
        source = source_ranks[lane]
        sourced = lowest[bundle] <= source <= highest[bundle]
        start, end = uint64(stream_first[bundle]), uint64(stream_stop[bundle])
        i = thread
        name = name_of(i, first, members, begin, bounded, vertices, boundary_vertices)
        # (one row more: arcs that only fill up their group come from there)
        while i <= members + bounded:
            found = number(inf)
            if i < members:
                names[uint32(names_at + i)] = name
                if sourced:
                    rank = ranks[uint32(first + i)]
                    if int32(rank - size[rank]) < source <= rank:
                        found = ways[lane, depth[rank]]
            elif i < members + bounded:
                found = distances[uint64(name) * uint64(lanes) + lane]
            rows[uint32(rows_at + i * together)] = bits(found)
            i = uint32(i + threads)
            name = name_of(i, first, members, begin, bounded, vertices, boundary_vertices)
        while start < end:
            there = uint32(min(uint64(end - start), uint64(most_arcs)))
            # several at a time, for they come from far
            from_word, last = uint64(start * uint64(words)), uint32(there * words - 1)
            i = every
            while i <= last:
                i1 = min(uint32(i + all_threads), last)
                i2 = min(uint32(i + 2 * all_threads), last)
                i3 = min(uint32(i + 3 * all_threads), last)
                w0, w1 = stream[from_word + uint64(i)], stream[from_word + uint64(i1)]
                w2, w3 = stream[from_word + uint64(i2)], stream[from_word + uint64(i3)]
                arcs[i], arcs[i1], arcs[i2], arcs[i3] = w0, w1, w2, w3
                i = uint32(i + 4 * all_threads)
            cuda.syncthreads()
            last = uint32(there - 1)
            weight, row = read(arcs, uint64(last))
            last_level = level_of(row)
            weight, row = read(arcs, uint64(0))
            level = level_of(row)
            i = thread
            weight, row = read(arcs, uint64(min(i, last)))
            while level <= last_level:
                while i < there and level_of(row) == level:
                    above = from_bits(rows[uint32(rows_at + (row & uint32(STREAM_ROW)) * together)])
                    found = bits(number(above + weight))
                    own = uint32((row >> uint32(ROW_BITS)) & uint32(MEMBER))
                    own = uint32(rows_at + own * together)
                    i = uint32(i + threads)
                    weight, row = read(arcs, uint64(min(i, last)))
                    if found < rows[own]:
                        cuda.atomic.min(rows, own, found)
                cuda.syncthreads()
                level = uint32(level + 1)
            start += uint64(there)
        i = thread
        while i < members:
            name = uint64(names[uint32(names_at + i)])
            distances[name * uint64(lanes) + lane] = from_bits(rows[uint32(rows_at + i * together)])
            i = uint32(i + threads)

    return _few_kernel


@cache
def make_fold_kernel(dtype: np.dtype[Any], *, weighs: bool = False) -> Any:
    """Return the kernel that folds what stands above the bundles, or targets.

    Parameters
    ----------
    dtype : dtype
    weighs : bool
        Whether weights are added up in place of distances.
    """

    @kernel
    def _fold_kernel(places, lanes, bound, distances, values, totals):
        """Count, add up and compare distances, a block some places and lanes.

        ========= ================= ====== ==================================================
        argument  shape             dtype  written by
        ========= ================= ====== ==================================================
        places    (count,)          int    host: where they stand
        lanes     scalar            uint32 host
        bound     scalar            number host: greatest distance of interest
        distances (n * lanes,)      number the sweep
        values    (count,)          int64  host: their weights, if they are added up
        totals    (SLOTS, 3, lanes) int64  host: zeros; here: how many, their sum, the greatest
        ========= ================= ====== ==================================================
        """
        lane = uint32(cuda.blockIdx.y * LANES + cuda.threadIdx.x)
        step = uint32(cuda.gridDim.x * SLICES)
        reached, total, greatest = int64(0), int64(0), int64(0)
        i = uint32(cuda.blockIdx.x * SLICES + cuda.threadIdx.y)
        while i < places.size:
            found = distances[uint64(uint32(places[i])) * uint64(lanes) + uint64(lane)]
            if found <= bound:
                reached += 1
                total += values[i] if weighs else int64(found)
                greatest = max(greatest, int64(found))
            i = uint32(i + step)
        slot = uint32(cuda.blockIdx.x & (SLOTS - 1))
        cuda.atomic.add(totals, (slot, 0, lane), reached)
        cuda.atomic.add(totals, (slot, 1, lane), total)
        cuda.atomic.max(totals, (slot, 2, lane), greatest)

    return _fold_kernel


@kernel
def place_kernel(values, vertices, placed):
    """Bring values of vertices into the order of places: a thread a place."""
    place = cuda.grid(1)
    if place < placed.size:
        placed[place] = values[vertices[place]]


@kernel
def total_kernel(totals, words):
    """Fold the slots of every lane into the first: a thread a lane and a number."""
    lane, word = cuda.grid(1), cuda.blockIdx.y
    if lane < words.shape[1]:
        found = int64(0)
        for slot in range(SLOTS):
            if word < 2:
                found += totals[slot, word, lane]
            else:
                found = max(found, totals[slot, word, lane])
        words[word, lane] = found


@cache
def _make_as_distance(dtype: np.dtype[Any]) -> Any:
    """Return the device function that makes of what was swept what results have."""
    number = from_dtype(dtype)
    missing = unreached(dtype).item()
    inf = infinity(dtype).item()

    @inline
    def as_distance(found, bound, shifts, vertex, sources, row):
        shifted = found
        if shifts.size != 0 and found < number(inf):
            shifted = number(found + number(shifts[vertex] - shifts[sources[row]]))
        if found >= number(inf) or shifted > bound:
            shifted = number(missing)
        return shifted

    return as_distance


@cache
def make_turn_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that turns lanes into rows, as results have them."""
    number, as_distance = from_dtype(dtype), _make_as_distance(dtype)

    @kernel
    def _turn_kernel(swept, lanes, wanted, places, bound, shifts, sources, distances):
        """Copy lanes to rows, a block a tile of both; what is too far is not reached.

        ========= =============== ====== ============================================
        argument  shape           dtype  written by
        ========= =============== ====== ============================================
        swept     (size * lanes,) number the sweep
        lanes     scalar          uint32 host
        wanted    (t,)            int64  host: targets; empty: all vertices
        places    (t,)            int64  host: where their lanes stand
        bound     scalar          number host: greatest distance of interest
        shifts    (n,) or (0,)    number host: potentials, if weights are between them
        sources   (rows,)         int64  host
        distances (rows, columns) number here
        ========= =============== ====== ============================================
        """
        tile = cuda.shared.array((TILE, PITCH), number)
        x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        first = uint32(cuda.blockIdx.x * TILE)
        first_row = uint32(cuda.blockIdx.y * TILE)
        columns, rows = uint32(distances.shape[1]), uint32(distances.shape[0])
        i = y
        while i < TILE:
            column, row = uint32(first + i), uint32(first_row + x)
            if column < columns and row < rows:
                vertex = place = uint64(column)
                if wanted.size != 0:
                    vertex, place = uint64(wanted[column]), uint64(places[column])
                found = swept[place * uint64(lanes) + uint64(row)]
                tile[i, x] = as_distance(found, bound, shifts, vertex, sources, row)
            i = uint32(i + TURNS)
        cuda.syncthreads()
        i = y
        while i < TILE:
            row, column = uint32(first_row + i), uint32(first + x)
            if row < rows and column < columns:
                distances[row, column] = tile[x, i]
            i = uint32(i + TURNS)

    return _turn_kernel


@cache
def make_few_turn_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that turns a few lanes into rows."""
    as_distance = _make_as_distance(dtype)

    @kernel
    def _few_turn_kernel(swept, lanes, wanted, places, bound, shifts, sources, distances):
        """Copy lanes to rows, a thread a column; what is too far is not reached.

        ========= =============== ====== ============================================
        argument  shape           dtype  written by
        ========= =============== ====== ============================================
        swept     (size * lanes,) number the sweep
        lanes     scalar          uint32 host
        wanted    (t,)            int64  host: targets; empty: all vertices
        places    (t,)            int64  host: where their lanes stand
        bound     scalar          number host: greatest distance of interest
        shifts    (n,) or (0,)    number host: potentials, if weights are between them
        sources   (rows,)         int64  host
        distances (rows, columns) number here
        ========= =============== ====== ============================================
        """
        column = uint32(cuda.grid(1))
        if column >= distances.shape[1]:
            return
        vertex = place = uint64(column)
        if wanted.size != 0:
            vertex, place = uint64(wanted[column]), uint64(places[column])
        for i in range(distances.shape[0]):
            row = uint32(i)
            found = swept[place * uint64(lanes) + uint64(row)]
            distances[row, column] = as_distance(found, bound, shifts, vertex, sources, row)

    return _few_turn_kernel
