"""The min-plus product on the GPU, used by Floyd-Warshall and repeated squaring.

``C = min(C, A (+) B)``: the entry (i, j) of C falls to ``A[i, k] + B[k, j]`` where that is less
for some k. A block of threads makes a tile of C, a thread a square of its entries in registers.
Slices of A (transposed) and B pass through shared memory, twice `DEPTH` deep, so that the next
slice is on its way while one is used.

What makes it fast, by the machine code for compute capability 9.0:

- ``min(int32(a + b), c)`` is one instruction there (VIADDMNMX), half of a multiprocessor's lanes
  a clock: 33 ms for n = 8192 on an H100 is the limit. Floats take an addition and a minimum, and
  their limit is nearly the same; 64-bit numbers take four to seven instructions.
- The loop over a slice is written out: 1,024 such instructions, 64 reads of 16 bytes from shared
  memory, and some 180 more, nearly all for the next slice. Rolled up, a third of all instructions
  were index arithmetic.
- Accumulators start at infinity and meet C at the very end: loaded first, the 64 addresses of C
  stay alive and registers spill.
- Every index is a 32-bit offset into a tile that a 64-bit one begins, so that matrices may have
  more than 2^31 entries at no cost.

Edges cost nothing inside the loop: indices beyond the last row or column are drawn back onto it,
and the last slice is moved back until it fits, for an operand that comes twice does not change a
minimum.

In integers every operand lies between -INF and INF, so a sum never wraps
(`sssp.engine.matrix_request`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, int32, int64, uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, part
from sssp.kernels.dtypes import FLOAT64, infinity

#: threads along a side of a tile, and of a block
SIDE = 4 if SIMULATOR else 16
THREADS = SIDE * SIDE
#: columns of A and rows of B in a slice; the loop over them is written out
DEPTH = 16
#: of shared memory, in bytes, so that 16 of them are read at once; the simulator knows none
ALIGNMENT = None if SIMULATOR else 16
#: side of a tile where a matrix has few: a smaller one leaves fewer multiprocessors idle
SMALL_TILE = SIDE * (2 if SIMULATOR else 4)
#: entries between the rows of a slice of A: off by 4, so that transposing meets no bank twice
PADDING = 4


def tile_side(dtype: np.dtype[Any], *, with_tails: bool = False) -> int:
    """Return the side length, in entries, of the square matrix tile of one thread block."""
    wide = dtype.itemsize == 4 and not with_tails and not SIMULATOR
    return 2 * SMALL_TILE if wide else SMALL_TILE


@cache
def make_product(
    dtype: np.dtype[Any], *, in_place: bool, with_tails: bool = False, tile: int | None = None
) -> Any:
    """Return the device function that computes one tile of a min-plus product.

    ``product(out, out_start, old, old_start, out_stride, a, a_start, a_stride, b, b_start,
    b_stride, rows, columns, depth, out_tails, old_tails)``, all arrays flat, the starts int64 and
    the rest uint32, is for a whole block of `THREADS` threads. It writes ``min(old, A (+) B)`` to
    a rectangle of at most a tile's rows and columns of ``out``, and returns whether an entry
    of this thread is less than in ``old``. The tile may be its own A or B: it is written when all
    has been read.

    Parameters
    ----------
    dtype : dtype
    in_place : bool
        ``out`` is ``old``: then only entries that fall are written.
    with_tails : bool
        An entry that falls through k gets the tail that stands at (k, j) of B. The tails of
        ``old`` and B are in ``old_tails``, in places of the same number. Without this, any arrays
        will do.
    tile : int, default `tile_side`
        Side of a tile: `SIDE` times 2, 4 or 8.
    """
    number = from_dtype(dtype)
    unseen = infinity(dtype).item()
    doubles = dtype == FLOAT64
    tile = tile or tile_side(dtype, with_tails=with_tails)
    per = tile // SIDE
    half, half_tile = per // 2, tile // 2
    padded = tile + PADDING
    loads = tile * DEPTH // THREADS
    a_rows, b_rows = THREADS // DEPTH, THREADS // tile

    @part
    def relax(slices, k, begin, place, own):
        """Relax a thread's matrix entries by the sums of column `k` of A and row `k` of B."""
        a_slice, b_slice = slices
        first_row, first_column = place
        a_own, b_own, least, through = own
        for i in range(per):
            a_own[i] = a_slice[k, uint32(first_row + (i // half) * half_tile + i % half)]
        for j in range(per):
            b_own[j] = b_slice[k, uint32(first_column + (j // half) * half_tile + j % half)]
        for i in range(per):
            for j in range(per):
                if with_tails:
                    candidate = number(a_own[i] + b_own[j])
                    better = candidate < least[i, j]
                    least[i, j] = candidate if better else least[i, j]
                    through[i, j] = uint32(begin + k) if better else through[i, j]
                elif doubles:
                    # min() of these minds NaN, at twice the instructions
                    candidate = number(a_own[i] + b_own[j])
                    least[i, j] = candidate if candidate < least[i, j] else least[i, j]
                else:
                    least[i, j] = min(number(a_own[i] + b_own[j]), least[i, j])

    @part
    def relax_four(slices, k, begin, place, own):
        relax(slices, k, begin, place, own)
        relax(slices, uint32(k + 1), begin, place, own)
        relax(slices, uint32(k + 2), begin, place, own)
        relax(slices, uint32(k + 3), begin, place, own)

    @inline
    def product(
        out, out_start, old, old_start, out_stride, a, a_start, a_stride, b, b_start, b_stride,
        rows, columns, depth, out_tails, old_tails,
    ):  # fmt: skip
        a_slices = cuda.shared.array((2, DEPTH, padded), number, alignment=ALIGNMENT)
        b_slices = cuda.shared.array((2, DEPTH, tile), number, alignment=ALIGNMENT)
        least = cuda.local.array((per, per), number)
        through = cuda.local.array((per, per), uint32)
        a_own, b_own = cuda.local.array(per, number), cuda.local.array(per, number)
        a_next, b_next = cuda.local.array(loads, number), cuda.local.array(loads, number)
        a_offsets = cuda.local.array(loads, uint32)
        thread = uint32(cuda.threadIdx.x)
        first_row = uint32((thread // SIDE) * half)
        first_column = uint32((thread % SIDE) * half)
        place, own = (first_row, first_column), (a_own, b_own, least, through)
        a_k, a_row = uint32(thread % DEPTH), uint32(thread // DEPTH)
        b_column, b_k = uint32(thread % tile), uint32(thread // tile)
        for i in range(per):
            for j in range(per):
                least[i, j] = number(unseen)
                through[i, j] = uint32(0)

        a, b, b_tails = a[a_start:], b[b_start:], old_tails[b_start:]
        a_at = min(a_k, uint32(depth - 1))
        b_offset = uint32(min(b_column, uint32(columns - 1)))
        for s in range(loads):
            row = uint32(a_row + s * a_rows)
            a_offsets[s] = uint32(min(row, uint32(rows - 1)) * a_stride)
            a_slices[0, a_k, row] = a[uint32(a_at + a_offsets[s])]
        for s in range(loads):
            k = uint32(b_k + s * b_rows)
            from_row = min(k, uint32(depth - 1))
            b_slices[0, k, b_column] = b[uint32(b_offset + from_row * b_stride)]
        b_offset = uint32(b_offset + b_k * b_stride)
        cuda.syncthreads()

        b_at, b_step = int64(0), uint32(b_rows * b_stride)
        side, begin = uint32(0), uint32(0)
        ready = uint32(min(uint32(DEPTH), depth))
        while True:
            ahead = min(uint32(depth - ready), uint32(DEPTH))
            if ahead != 0:
                a_at = uint32(a_at + ahead)
                b_at = int64(b_at + int64(uint32(ahead * b_stride)))
                b_there = b[b_at:]
                for s in range(loads):
                    a_next[s] = a[uint32(a_at + a_offsets[s])]
                for s in range(loads):
                    b_next[s] = b_there[uint32(b_offset + s * b_step)]
            slices = a_slices[side], b_slices[side]
            # numbers of one type, so that the four are typed once
            relax_four(slices, uint32(0), begin, place, own)
            relax_four(slices, uint32(4), begin, place, own)
            relax_four(slices, uint32(8), begin, place, own)
            relax_four(slices, uint32(12), begin, place, own)
            if ahead == 0:
                break
            ready = uint32(ready + ahead)
            side, begin = uint32(side ^ 1), uint32(begin + ahead)
            for s in range(loads):
                a_slices[side, a_k, uint32(a_row + s * a_rows)] = a_next[s]
            for s in range(loads):
                b_slices[side, uint32(b_k + s * b_rows), b_column] = b_next[s]
            cuda.syncthreads()

        out, old = out[out_start:], old[old_start:]
        if with_tails:
            out_tails, old_tails = out_tails[out_start:], old_tails[old_start:]
            for i in range(per):
                row = uint32(first_row + (i // half) * half_tile + i % half)
                for j in range(per):
                    column = uint32(first_column + (j // half) * half_tile + j % half)
                    if row < rows and column < columns:
                        place = uint32(row * out_stride + column)
                        tail = old_tails[place]
                        if least[i, j] < old[place]:
                            there = int64(int64(through[i, j]) * int64(b_stride) + int64(column))
                            tail = b_tails[there]
                        through[i, j] = uint32(tail)
            cuda.syncthreads()
        changed = False
        for i in range(per):
            row = uint32(first_row + (i // half) * half_tile + i % half)
            if row < rows:
                for j in range(per):
                    column = uint32(first_column + (j // half) * half_tile + j % half)
                    if column < columns:
                        place = uint32(row * out_stride + column)
                        before = old[place]
                        falls = least[i, j] < before
                        changed = changed or falls
                        if falls or not in_place:
                            out[place] = min(least[i, j], before)
                            if with_tails:
                                out_tails[place] = int32(through[i, j])
        return changed

    return product
