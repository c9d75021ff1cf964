"""A downward sweep (PHAST) from few sources on a GPU: one thread per arc, not per source.

The twin for few of `sssp.cuda.sweep.sweeps`. A thread block sweeps a bundle by depth: threads
relax the arcs into the vertices of one depth, an arc each, and meet before the next. They take the
same stream.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, int32, int64, uint32, uint64

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device.bits import bits_of, number_of
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.cuda.sweep.packed_arcs import (
    LEVEL,
    LEVEL_AT,
    MEMBER,
    ROW_BITS,
    STREAM_ROW,
    make_arc_functions,
    stream_words,
)
from sssp.cuda.sweep.sweeps import AHEAD, bundle_of, has_passed
from sssp.kernels.dtypes import infinity


def few_bytes(dtype: np.dtype[Any], room: int, lanes: int, arcs: int) -> int:
    """Return the bytes of shared memory that a thread block needs to sweep a small batch."""
    rows = (room + 1) * lanes * dtype.itemsize + room * 4
    return arcs * stream_words(dtype) * 8 + -(-rows // 8) * 8


@cache
def make_few_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of the downward sweep (PHAST) from few sources."""
    number, inf = from_dtype(dtype), infinity(dtype).item()
    integer = int32 if dtype.itemsize == 4 else int64
    bits, from_bits = bits_of(dtype), number_of(dtype)
    read, _, _ = make_arc_functions(dtype)
    words = stream_words(dtype)
    numbers_a_word, words_a_number = 8 // dtype.itemsize, dtype.itemsize // 4

    @inline
    def level_of(row):
        """Return the level of an arc's head within its bundle, unpacked from the arc's word."""
        return uint32((row >> uint32(LEVEL_AT)) & uint32(LEVEL))

    @inline
    def name_of(i, bundle, vertices, boundary_vertices):
        """Return the global index of item `i` of a bundle: vertices, then boundary; else 0."""
        name = uint32(0)
        if i < bundle.members:
            name = uint32(vertices[uint32(bundle.first + i)])
        elif i < bundle.members + bundle.bounded:
            name = uint32(boundary_vertices[uint32(bundle.begin + i - bundle.members)])
        return name

    @inline
    def bring_arcs(stream, start, there, arcs, thread, threads):
        """Copy arcs from global to shared memory, with several loads at once to hide latency."""
        from_word, last = uint64(start * uint64(words)), uint32(there * words - 1)
        ahead = cuda.local.array(AHEAD, int64)
        i = thread
        while i <= last:
            for k in range(AHEAD):
                ahead[k] = stream[from_word + uint64(min(uint32(i + uint32(k) * threads), last))]
            for k in range(AHEAD):
                arcs[min(uint32(i + uint32(k) * threads), last)] = ahead[k]
            i = uint32(i + AHEAD * threads)

    @inline
    def relax(arcs, there, rows, rows_at, together, thread, threads):
        """Relax the arcs in shared memory level by level, with a barrier after each level."""
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

    @kernel
    def _few_kernel(
        first_bundle, room, most_arcs, bundle_first, boundary_first, boundary_vertices, lowest,
        highest, vertices, ranks, size, depth, stream_first, stream_stop, stream, source_ranks,
        ways, lanes, distances,
    ):  # fmt: skip
        """Sweep bundles of subtrees for a small batch of sources, a thread per arc and source.

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
        source_ranks      (lanes,)         int32  `climb_kernel`
        ways              (rows, height)   number `climb_kernel`
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
        own_bundle = uint32(first_bundle + cuda.blockIdx.x)
        lane = uint64(cuda.blockIdx.y * together + lane_here)
        rows_at = uint32(most_arcs * words * numbers_a_word)
        names_at = uint32((rows_at + (room + 1) * together) * words_a_number)
        rows_at = uint32(rows_at + lane_here)
        bundle = bundle_of(own_bundle, bundle_first, boundary_first)
        members, bounded = bundle.members, bundle.bounded
        source = source_ranks[lane]
        sourced = lowest[own_bundle] <= source <= highest[own_bundle]
        start, end = uint64(stream_first[own_bundle]), uint64(stream_stop[own_bundle])
        i = thread
        name = name_of(i, bundle, vertices, boundary_vertices)
        # (one row more: arcs that only fill up their group come from there)
        while i <= members + bounded:
            found = number(inf)
            if i < members:
                names[uint32(names_at + i)] = name
                if sourced:
                    rank = ranks[uint32(bundle.first + i)]
                    if has_passed(source, rank, size):
                        found = ways[lane, depth[rank]]
            elif i < members + bounded:
                found = distances[uint64(name) * uint64(lanes) + lane]
            rows[uint32(rows_at + i * together)] = bits(found)
            i = uint32(i + threads)
            name = name_of(i, bundle, vertices, boundary_vertices)
        while start < end:
            there = uint32(min(uint64(end - start), uint64(most_arcs)))
            bring_arcs(stream, start, there, arcs, every, all_threads)
            cuda.syncthreads()
            relax(arcs, there, rows, rows_at, together, thread, threads)
            start += uint64(there)
        i = thread
        while i < members:
            name = uint64(names[uint32(names_at + i)])
            distances[name * uint64(lanes) + lane] = from_bits(rows[uint32(rows_at + i * together)])
            i = uint32(i + threads)

    return _few_kernel
