"""The min-plus product and Floyd-Warshall in 16 bits, two distances to a word, on a GPU.

`sssp.cuda.matrix.min_plus` in words: a word of B or C holds two neighbouring columns, and an entry
of A stands twice in the word that it becomes in shared memory, so that one instruction lowers both
halves (VIADDMNMX.U16x2). A tile has as many words as rows, twice as many columns.

Infinity is 2^15 - 1: the sum of two entries never wraps, entries below it are exact, and all others
are infinity; whether that hides a longer distance is decided as for other integers
(`sssp.engine.matrix_request.overflowed`). A matrix has an even number of rows and columns: a vertex
that only fills up has no arcs.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from numba import int64, uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel, kernel_with, part
from sssp.cuda.device.ptx import high_twice, least_halves, low_twice, lower_halves
from sssp.cuda.matrix.matrix_driver import CHANGED, Matrix
from sssp.cuda.matrix.min_plus import ALIGNMENT, DEPTH, PADDING, SIDE, THREADS
from sssp.kernels.dtypes import SHORT, infinity

#: rows of a tile, and words of a row; those of a thread, and half of them
TILE = SIDE * (4 if SIMULATOR else 8)
PER = TILE // SIDE
HALF, HALF_TILE = PER // 2, TILE // 2
#: words of a row of the block on the diagonal, of which it holds `TILE` columns: half of them, and
#: those of a thread in each half
BLOCK_WORDS, HALF_BLOCK, QUARTER = TILE // 2, TILE // 4, HALF // 2
#: words of the columns of A in a slice
PAIRS = DEPTH // 2
A_LOADS, B_LOADS = TILE * PAIRS // THREADS, TILE * DEPTH // THREADS
A_ROWS, B_ROWS = THREADS // PAIRS, THREADS // TILE
PADDED = TILE + PADDING
#: infinity in both halves
UNSEEN = int(infinity(SHORT)) * 0x10001


@part
def _relax(slices, k, place, own):
    """Lower a thread's entries by the min-plus product of column `k` of A and row `k` of B."""
    a_slice, b_slice = slices
    first_row, first_word = place
    a_own, b_own, least = own
    for i in range(PER):
        a_own[i] = a_slice[k, uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)]
    for j in range(PER):
        b_own[j] = b_slice[k, uint32(first_word + (j // HALF) * HALF_TILE + j % HALF)]
    for i in range(PER):
        for j in range(PER):
            least[i, j] = lower_halves(a_own[i], b_own[j], least[i, j])


@part
def _relax_four(slices, k, place, own):
    _relax(slices, k, place, own)
    _relax(slices, uint32(k + 1), place, own)
    _relax(slices, uint32(k + 2), place, own)
    _relax(slices, uint32(k + 3), place, own)


@inline
def _product(out, old, start, stride, a, a_start, b, b_start, rows, words, pairs):
    """Write a tile of the min-plus product of A and B; return whether this thread lowered an entry.

    Everything is in words, and rows of all matrices are `stride` apart; A has `pairs` of columns.
    """
    a_slices = cuda.shared.array((2, DEPTH, PADDED), uint32, alignment=ALIGNMENT)
    b_slices = cuda.shared.array((2, DEPTH, TILE), uint32, alignment=ALIGNMENT)
    least = cuda.local.array((PER, PER), uint32)
    a_own, b_own = cuda.local.array(PER, uint32), cuda.local.array(PER, uint32)
    a_next, b_next = cuda.local.array(A_LOADS, uint32), cuda.local.array(B_LOADS, uint32)
    a_offsets = cuda.local.array(A_LOADS, uint32)
    thread = uint32(cuda.threadIdx.x)
    first_row, first_word = uint32((thread // SIDE) * HALF), uint32((thread % SIDE) * HALF)
    place, own = (first_row, first_word), (a_own, b_own, least)
    a_pair, a_row = uint32(thread % PAIRS), uint32(thread // PAIRS)
    b_word, b_k = uint32(thread % TILE), uint32(thread // TILE)
    for i in range(PER):
        for j in range(PER):
            least[i, j] = uint32(UNSEEN)
    # indices beyond the last row, pair or word are drawn back onto it
    a, b = a[a_start:], b[b_start:]
    a_at = min(a_pair, uint32(pairs - 1))
    b_offset = uint32(min(b_word, uint32(words - 1)))
    for s in range(A_LOADS):
        row = uint32(a_row + s * A_ROWS)
        a_offsets[s] = uint32(min(row, uint32(rows - 1)) * stride)
        pair = a[uint32(a_at + a_offsets[s])]
        a_slices[0, uint32(2 * a_pair), row] = low_twice(pair)
        a_slices[0, uint32(2 * a_pair + 1), row] = high_twice(pair)
    for s in range(B_LOADS):
        k = uint32(b_k + s * B_ROWS)
        from_row = uint32(2 * min(uint32(k // 2), uint32(pairs - 1)) + k % 2)
        b_slices[0, k, b_word] = b[uint32(b_offset + from_row * stride)]
    b_offset = uint32(b_offset + b_k * stride)
    cuda.syncthreads()

    b_at, b_step = int64(0), uint32(B_ROWS * stride)
    side, ready = uint32(0), min(uint32(PAIRS), pairs)
    while True:
        ahead = min(uint32(pairs - ready), uint32(PAIRS))
        if ahead != 0:
            a_at = uint32(a_at + ahead)
            b_at = int64(b_at + int64(uint32(2 * ahead * stride)))
            b_there = b[b_at:]
            for s in range(A_LOADS):
                a_next[s] = a[uint32(a_at + a_offsets[s])]
            for s in range(B_LOADS):
                b_next[s] = b_there[uint32(b_offset + s * b_step)]
        slices = a_slices[side], b_slices[side]
        _relax_four(slices, uint32(0), place, own)
        _relax_four(slices, uint32(4), place, own)
        _relax_four(slices, uint32(8), place, own)
        _relax_four(slices, uint32(12), place, own)
        if ahead == 0:
            break
        ready = uint32(ready + ahead)
        side = uint32(side ^ 1)
        for s in range(A_LOADS):
            row = uint32(a_row + s * A_ROWS)
            a_slices[side, uint32(2 * a_pair), row] = low_twice(a_next[s])
            a_slices[side, uint32(2 * a_pair + 1), row] = high_twice(a_next[s])
        for s in range(B_LOADS):
            b_slices[side, uint32(b_k + s * B_ROWS), b_word] = b_next[s]
        cuda.syncthreads()

    out, old = out[start:], old[start:]
    changed = False
    for i in range(PER):
        row = uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)
        if row < rows:
            for j in range(PER):
                word = uint32(first_word + (j // HALF) * HALF_TILE + j % HALF)
                if word < words:
                    at = uint32(row * stride + word)
                    before = old[at]
                    after = least_halves(least[i, j], before)
                    out[at] = after
                    changed = changed or after != before
    return changed


@kernel_with(max_registers=65536 // (2 * THREADS))
@no_type_check
def _product_kernel(out, old, a, b, n, flags):
    """Compute a tile of the min-plus product of two matrices, one thread block per tile.

    ======== ============ ====== ========================================
    argument shape        dtype  written by
    ======== ============ ====== ========================================
    out      (n * n / 2,) uint32 here: ``min(old, A (+) B)``
    old      (n * n / 2,) uint32 caller; may be `out`
    a        (n * n / 2,) uint32 caller
    b        (n * n / 2,) uint32 caller
    n        scalar       uint32 host: even
    flags    (3,)         int32  host: 0; here: `CHANGED`
    ======== ============ ====== ========================================
    """
    stride = uint32(n // 2)
    row, word = uint32(cuda.blockIdx.y * TILE), uint32(cuda.blockIdx.x * TILE)
    changed = _product(
        out, old, int64(int64(row) * int64(stride) + int64(word)), stride,
        a, int64(int64(row) * int64(stride)), b, int64(word),
        min(uint32(TILE), uint32(n - row)), min(uint32(TILE), uint32(stride - word)), stride,
    )  # fmt: skip
    if changed:
        flags[CHANGED] = 1


@part
def _step(k, i_own, j_own, is_high, owner, place, arrays):
    """Relax the entries of the diagonal block through vertex `k`: one Floyd-Warshall step.

    Its row and its column are with the threads that come `owner`-th, at `i_own` and `j_own`.
    """
    first_row, first_word = place
    rows, columns, starts, ends, least = arrays
    side = k % 2
    if first_row == uint32(owner * HALF):
        for j in range(HALF):
            word = uint32(first_word + (j // QUARTER) * HALF_BLOCK + j % QUARTER)
            rows[side, word] = least[i_own, j]
    if first_word == uint32(owner * QUARTER):
        for i in range(PER):
            row = uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)
            both = least[i, j_own]
            columns[side, row] = high_twice(both) if is_high else low_twice(both)
    cuda.syncthreads()
    for i in range(PER):
        starts[i] = columns[side, uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)]
    for j in range(HALF):
        ends[j] = rows[side, uint32(first_word + (j // QUARTER) * HALF_BLOCK + j % QUARTER)]
    for i in range(PER):
        for j in range(HALF):
            least[i, j] = lower_halves(starts[i], ends[j], least[i, j])


@kernel
def _close_kernel(matrix, n, first):
    """Run Floyd-Warshall within the `TILE` vertices from `first` on, with one thread block.

    ======== ============ ====== =================================
    argument shape        dtype  written by
    ======== ============ ====== =================================
    matrix   (n * n / 2,) uint32 the rounds before; here: the block
    n        scalar       uint32 host: even
    first    scalar       uint32 host: a multiple of `TILE`
    ======== ============ ====== =================================
    """
    rows = cuda.shared.array((2, BLOCK_WORDS), uint32, alignment=ALIGNMENT)
    columns = cuda.shared.array((2, TILE), uint32, alignment=ALIGNMENT)
    least = cuda.local.array((PER, HALF), uint32)
    starts, ends = cuda.local.array(PER, uint32), cuda.local.array(HALF, uint32)
    thread = uint32(cuda.threadIdx.x)
    first_row, first_word = uint32(thread // SIDE * HALF), uint32(thread % SIDE * QUARTER)
    place, arrays = (first_row, first_word), (rows, columns, starts, ends, least)
    depth, stride = min(uint32(TILE), uint32(n - first)), uint32(n // 2)
    matrix = matrix[int64(int64(first) * int64(stride) + int64(first // 2)) :]
    for i in range(PER):
        row = uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)
        for j in range(HALF):
            word = uint32(first_word + (j // QUARTER) * HALF_BLOCK + j % QUARTER)
            least[i, j] = uint32(UNSEEN)
            if row < depth and uint32(2 * word) < depth:
                least[i, j] = matrix[uint32(row * stride + word)]
    # vertices of the first half of the block, then those of the second; beyond the last one there
    # are no arcs
    owner = uint32(0)
    while owner < SIDE:
        for k in range(HALF):
            _step(k, k, k // 2, k % 2 == 1, owner, place, arrays)
        owner = uint32(owner + 1)
    owner = uint32(0)
    while owner < SIDE:
        for k in range(HALF):
            _step(k, HALF + k, QUARTER + k // 2, k % 2 == 1, owner, place, arrays)
        owner = uint32(owner + 1)
    for i in range(PER):
        row = uint32(first_row + (i // HALF) * HALF_TILE + i % HALF)
        for j in range(HALF):
            word = uint32(first_word + (j // QUARTER) * HALF_BLOCK + j % QUARTER)
            if row < depth and uint32(2 * word) < depth:
                matrix[uint32(row * stride + word)] = least[i, j]


@kernel_with(max_registers=65536 // (2 * THREADS))
@no_type_check
def _tiles_kernel(matrix, n, first, cross):
    """Relax a matrix tile by paths through the vertices of the diagonal block at `first`.

    The block has `TILE` columns, half of those of a tile: what stands beside it in a tile is found
    once more, and nothing of it falls.

    ======== ============ ====== ==================================================
    argument shape        dtype  written by
    ======== ============ ====== ==================================================
    matrix   (n * n / 2,) uint32 `_close_kernel`, the rounds before; here
    n        scalar       uint32 host: even
    first    scalar       uint32 host: the closed block
    cross    scalar       uint32 host: 1 for the block's rows and columns, 0 for others
    ======== ============ ====== ==================================================
    """
    stride, depth = uint32(n // 2), min(uint32(TILE), uint32(n - first))
    row, word = uint32(cuda.blockIdx.y * TILE), uint32(cuda.blockIdx.x * TILE)
    words = min(uint32(TILE), uint32(stride - min(word, stride)))
    if cross != 0:
        if cuda.blockIdx.y == 0:
            row = uint32(first)
        else:
            row, word = uint32(cuda.blockIdx.x * TILE), uint32(first // 2)
            words = uint32(depth // 2)
    elif row == first:
        return
    if words == 0 or row >= n:
        return
    from_row = int64(int64(row) * int64(stride))
    _product(
        matrix, matrix, int64(from_row + int64(word)), stride,
        matrix, int64(from_row + int64(first // 2)),
        matrix, int64(int64(first) * int64(stride) + int64(word)),
        min(uint32(TILE), uint32(n - row)), words, uint32(depth // 2),
    )  # fmt: skip


def multiply_short(out: Matrix, old: Matrix, a: Matrix, b: Matrix) -> None:
    """Queue the kernel of the 16-bit min-plus product ``out = min(old, A (+) B)`` on the GPU."""
    n = out.n
    _product_kernel[(-(-n // (2 * TILE)), -(-n // TILE)), THREADS, out.stream](
        *(each.flat.view(np.uint32) for each in (out, old, a, b)), np.uint32(n), out.flags
    )


def launch_short_round(matrix: Matrix, first: int) -> None:
    """Queue the 16-bit Floyd-Warshall round for the `TILE` vertices from `first` on."""
    n, words, stream = matrix.n, matrix.flat.view(np.uint32), matrix.stream
    numbers = np.uint32(n), np.uint32(first)
    rows, columns = -(-n // TILE), -(-n // (2 * TILE))
    _close_kernel[1, THREADS, stream](words, *numbers)
    _tiles_kernel[(rows, 2), THREADS, stream](words, *numbers, np.uint32(1))
    _tiles_kernel[(columns, rows), THREADS, stream](words, *numbers, np.uint32(0))
