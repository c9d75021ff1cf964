"""Transitive closure by blocked Warshall, as products of bit matrices on tensor cores.

A round takes some vertices, the *pivots*. Their rows are transposed into a *panel*, whose rows are
the columns of the matrix, a bit a pivot: the tensor cores count what a row of A and a column of B
have in common by words along what is summed over. Then

1. the block of pivots and its transpose, a part of the panel, are squared into themselves until
   nothing changes;
2. the pivots' columns of all rows take over what that block leads to;
3. all rows take over, through the pivots' columns, what the pivots reach: nearly all the work.

All three are ``out |= A * B``, in place: bits only ever appear, each of a path that is there, so
that it does not matter which are seen. All rounds are one launch, whose blocks meet after a step.

A thread block keeps `COLUMNS` columns of B in shared memory and goes down a strip of rows of A,
which pass through twice 512 bits at a time. It is two groups of four warps, each with rows of its
own: while one waits, reads, or makes bits of counts, the other may multiply. A warp has 64 x 64
counts in registers. The words of a thread are neighbours (the order of the bits summed over is
free), and so are the columns that it finds (the order of the columns of a tile is free, too), eight
to a byte.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int32, uint8, uint32, uint64

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel, launch, part
from sssp.cuda.device import ptx
from sssp.cuda.device.grid import barrier_of, blocks_at_once
from sssp.cuda.device.warp import WARP
from sssp.cuda.pool import device_array, fill
from sssp.engine.progress import progress_bar

#: bits, and words, of a slice; rows and columns of a tile
SLICE, WORDS = 512, 16
ROWS, COLUMNS = 128, 256
#: threads, and those of a group, which has half of a tile's rows and waits for no other
THREADS, GROUP = 256, 128
#: words of a slice of A and of B; bytes of the bits of a tile
A_WORDS, B_WORDS, TILE_BYTES = ROWS * WORDS, COLUMNS * WORDS, ROWS * COLUMNS // 8
#: rows that a block transposes at a time, words of them, and words between rows in shared memory
TURNED, TURNED_WORDS, TURNED_PITCH = 256, 32, 33
#: most tiles of a strip
STRIP = 16
#: blocks of a pass over the matrix
BLOCKS = 1056
#: products of bits that are queued before the host shows progress: a fraction of a second
QUEUED = 1 << 50
#: flags of a round: whether a squaring changed anything, one each
FLAGS = 16


def pivots_of(size: int) -> int:
    """Return the number of pivots (vertices) in one closure round, from the matrix size."""
    return 4096 if size >= 24_000 else 2048


def shared_bytes(pivots: int) -> int:
    """Return the shared memory bytes of a thread block that handles `pivots` pivot vertices."""
    return max(
        pivots // SLICE * B_WORDS * 4 + 2 * A_WORDS * 4 + TILE_BYTES, TURNED * TURNED_PITCH * 4
    )


@part
def _swap_blocks(x, lane, distance, low):
    """Return this thread's row after one step of a warp's 32 x 32 bit matrix transpose."""
    y = uint32(cuda.shfl_xor_sync(0xFFFFFFFF, int32(x), int32(distance)))
    if lane & distance == 0:
        return uint32((x & low) | ((y & low) << distance))
    return uint32((x & ~low) | ((y >> distance) & low))


@part
def _transpose(reach, pitch, first, depth, panel, panel_pitch):
    """Write the transpose of rows `first` to ``first + depth - 1`` of a bit matrix to `panel`."""
    tile = cuda.shared.array(0, uint32, alignment=16)
    thread = uint32(cuda.threadIdx.x)
    lane, warp = uint32(thread % WARP), uint32(thread // WARP)
    word_jobs = uint32((pitch + TURNED_WORDS - 1) // TURNED_WORDS)
    jobs = uint32(word_jobs * (depth // TURNED))
    job = uint32(cuda.blockIdx.x)
    while job < jobs:
        word, rows = uint32(job % word_jobs * TURNED_WORDS), uint32(job // word_jobs * TURNED)
        inside = uint32(word + lane) < pitch
        row = warp
        while row < TURNED:
            at, bits = uint32(row * TURNED_PITCH + lane), uint32(0)
            if inside:
                place = uint64(uint64(first + rows + row) * uint64(pitch) + uint64(word + lane))
                bits = reach[place]
            tile[at] = bits
            row = uint32(row + THREADS // WARP)
        cuda.syncthreads()
        for w in range(TURNED_WORDS):
            x = tile[uint32((warp * WARP + lane) * TURNED_PITCH + w)]
            x = _swap_blocks(x, lane, uint32(16), uint32(0x0000FFFF))
            x = _swap_blocks(x, lane, uint32(8), uint32(0x00FF00FF))
            x = _swap_blocks(x, lane, uint32(4), uint32(0x0F0F0F0F))
            x = _swap_blocks(x, lane, uint32(2), uint32(0x33333333))
            x = _swap_blocks(x, lane, uint32(1), uint32(0x55555555))
            if uint32(word + w) < pitch:
                row = uint64(uint64(word + w) * uint64(WARP) + uint64(lane))
                panel[uint64(row * uint64(panel_pitch) + uint64(rows // WARP + warp))] = x
        cuda.syncthreads()
        job = uint32(job + cuda.gridDim.x)


@part
def _multiply_eight(shared, a_own, b_at, counts, first):
    """Multiply four bit-matrix tiles of A by eight columns of B; add the results to `counts`."""
    b0, b1, b2, b3 = ptx.four_tiles(shared, b_at)
    for m in range(4):
        at, a = m * 32 + first, 8 * m
        c0, c1, c2, c3 = counts[at], counts[at + 1], counts[at + 2], counts[at + 3]
        c0, c1, c2, c3 = ptx.add_common_bits(
            c0, c1, c2, c3, a_own[a], a_own[a + 1], a_own[a + 2], a_own[a + 3], b0, b1
        )
        c0, c1, c2, c3 = ptx.add_common_bits(
            c0, c1, c2, c3, a_own[a + 4], a_own[a + 5], a_own[a + 6], a_own[a + 7], b2, b3
        )
        counts[at], counts[at + 1], counts[at + 2], counts[at + 3] = c0, c1, c2, c3


@part
def _byte_of(counts, at):
    """Return a byte whose bits tell which of eight counts are nonzero."""
    found = uint32(0)
    for t in range(4):
        # (16 bits are enough for a count)
        two = uint32(counts[at + 4 * t] | (counts[at + 4 * t + 1] << uint32(16)))
        found = uint32(found | (ptx.least_halves(two, uint32(0x10001)) << uint32(2 * t)))
    return uint8(uint32(found | (found >> uint32(15))))


@part
def _multiply_strip(
    own, a_start, out_start, own_pitch, other, other_at, other_pitch, tiles, slices
):
    """Compute ``out |= A * B`` of bit matrices for a strip of rows, with one thread block.

    Parameters
    ----------
    own, a_start, out_start, own_pitch
        A and out: flat words, where the strip's rows of both begin, and words from row to row.
    other, other_at, other_pitch
        B, column by column: flat words, where its columns begin, and words from column to column.
    tiles, slices
        Of `ROWS` rows, and of `SLICE` columns of A.

    Returns
    -------
    bool
        Whether a word of this thread changed.
    """
    shared = cuda.shared.array(0, uint32, alignment=16)
    found_bytes = cuda.shared.array(0, uint8, alignment=16)
    counts, a_own = cuda.local.array(128, uint32), cuda.local.array(32, uint32)
    thread = uint32(cuda.threadIdx.x)
    lane, warp = uint32(thread % WARP), uint32(thread // WARP)
    g, q = uint32(lane // 4), uint32(lane % 4)
    warp_row, warp_column = uint32(warp // 4 * 64), uint32(warp % 4 * 64)
    a_base = uint32(slices * B_WORDS)
    found_base = uint32(4 * (a_base + 2 * A_WORDS))
    # where quarters of a slice's 16 words stand is turned from row to row, so that eight rows that
    # are read together meet in no bank
    line, quarter = uint32(thread // 4), uint32(thread % 4 * 4)
    b_quarter = uint32(quarter ^ (line // 8 % 4 * 4))
    group, member = uint32(thread // GROUP), uint32(thread % GROUP)
    a_line = uint32(group * 64 + member // 4)
    a_quarter = uint32(quarter ^ (a_line // 2 % 4 * 4))
    r, tile = uint32(lane % 8), uint32(lane // 8)
    a_from = uint32(a_base + (warp_row + r + tile % 2 * 8) * WORDS + ((tile // 2) ^ (r // 2)) * 4)
    b_from = uint32((warp_column + r // 2 * 8 + r % 2) * WORDS + (tile ^ (r // 2)) * 4)
    s = uint32(0)
    while s < slices:
        for p in range(COLUMNS // 64):
            there = uint32(line + 64 * p)
            start = uint64(other_at + uint64(there) * uint64(other_pitch))
            ptx.start_copy(
                shared, uint32(s * B_WORDS + there * WORDS + b_quarter),
                other, uint64(start + uint64(s * WORDS + quarter)),
            )  # fmt: skip
        s = uint32(s + 1)
    steps = uint32(tiles * slices)
    next_row = uint64(a_start + uint64(a_line) * uint64(own_pitch) + uint64(quarter))
    quarter_tile, tile_words = uint64(32) * uint64(own_pitch), uint64(ROWS) * uint64(own_pitch)
    a_to = uint32(a_base + a_line * WORDS + a_quarter)
    for p in range(2):
        place = uint64(next_row + uint64(p) * quarter_tile)
        ptx.start_copy(shared, uint32(a_to + 32 * p * WORDS), own, place)
    out_row = uint64(
        out_start + uint64(group * 64 + member // 2) * uint64(own_pitch) + uint64(member % 2 * 4)
    )
    for i in range(128):
        counts[i] = uint32(0)
    changed = False
    next_slice, now_slice, side, step = uint32(0), uint32(0), uint32(0), uint32(0)
    ptx.wait_for_copies()
    cuda.syncthreads()
    while step < steps:
        ptx.wait_for_copies()
        ptx.wait_for_group(uint32(group + 1), uint32(GROUP))
        step = uint32(step + 1)
        if step < steps:
            next_slice = uint32(next_slice + 1)
            if next_slice == slices:
                next_slice = uint32(0)
                next_row = uint64(next_row + tile_words)
            to = uint32(a_to + (side ^ uint32(1)) * A_WORDS)
            for p in range(2):
                place = uint64(next_row + uint64(next_slice * WORDS) + uint64(p) * quarter_tile)
                ptx.start_copy(shared, uint32(to + 32 * p * WORDS), own, place)
        a_at = uint32(a_from + side * A_WORDS)
        for m in range(4):
            at, a = uint32(a_at + m * 16 * WORDS), 8 * m
            w0, w1, w2, w3 = ptx.four_tiles(shared, at)
            w4, w5, w6, w7 = ptx.four_tiles(shared, uint32(at ^ uint32(8)))
            a_own[a], a_own[a + 1], a_own[a + 2], a_own[a + 3] = w0, w1, w2, w3
            a_own[a + 4], a_own[a + 5], a_own[a + 6], a_own[a + 7] = w4, w5, w6, w7
        b_at = uint32(b_from + now_slice * B_WORDS)
        for t in range(8):
            at = uint32(b_at + (t // 4 * 32 + t % 4 * 2) * WORDS)
            _multiply_eight(shared, a_own, at, counts, 4 * t)
        side = uint32(side ^ uint32(1))
        now_slice = uint32(now_slice + 1)
        if now_slice == slices:
            now_slice = uint32(0)
            before0, before1, before2, before3 = ptx.read_four(own, out_row)
            for m in range(4):
                for h in range(2):
                    for w in range(2):
                        row = uint32(warp_row + m * 16 + h * 8 + g)
                        byte = _byte_of(counts, m * 32 + w * 16 + 2 * h)
                        at = uint32(found_base + row * 32 + warp_column // 8 + w * 4 + q)
                        found_bytes[at] = byte
            for i in range(128):
                counts[i] = uint32(0)
            ptx.wait_for_group(uint32(group + 1), uint32(GROUP))
            found_at = uint32(found_base // 4 + thread * 4)
            f0, f1 = shared[found_at], shared[uint32(found_at + 1)]
            f2, f3 = shared[uint32(found_at + 2)], shared[uint32(found_at + 3)]
            f0, f1 = uint32(f0 | before0), uint32(f1 | before1)
            f2, f3 = uint32(f2 | before2), uint32(f3 | before3)
            if f0 != before0 or f1 != before1 or f2 != before2 or f3 != before3:
                ptx.write_four(own, out_row, f0, f1, f2, f3)
                changed = True
            out_row = uint64(out_row + tile_words)
    cuda.syncthreads()
    return changed


@cache
def make_products_kernel(barrier: Any = None) -> Any:
    """Return the kernel that runs rounds of blocked Warshall for the transitive closure."""
    meet = barrier or barrier_of(together=True)

    @kernel
    def _products_kernel(
        reach, size, pivots, panel, flags, first_round, last_round, block_strip, column_strip,
        strip,
    ):  # fmt: skip
        """Run some rounds of blocked Warshall, for the transitive closure of a bit matrix.

        ============ ===================== ====== ==========================================
        argument     shape                 dtype  written by
        ============ ===================== ====== ==========================================
        reach        (size * size / 32,)   uint32 host: arcs; here
        size         scalar                uint32 host: vertices, a multiple of `SLICE`
        pivots       scalar                uint32 host: of a round, a multiple of `SLICE`
        panel        (size * pivots / 32,) uint32 here: the rows of the pivots, transposed
        flags        (rounds * FLAGS,)     uint32 host: 0; here: whether a squaring changed it
        first_round  scalar                uint32 host
        last_round   scalar                uint32 host: not included
        block_strip  scalar                uint32 host: tiles of a job, of what is squared
        column_strip scalar                uint32 host: the same of the pivots' columns
        strip        scalar                uint32 host: the same of all columns
        ============ ===================== ====== ==========================================
        """
        pitch, panel_pitch = uint32(size // 32), uint32(pivots // 32)
        number = uint32(first_round)
        while number < last_round:
            first = uint32(number * pivots)
            depth = min(uint32(pivots), uint32(size - first))
            _transpose(reach, pitch, first, depth, panel, panel_pitch)
            meet()
            squarings = uint32(32 - cuda.clz(int32(depth - 1)))
            step = uint32(0)
            while step < squarings + 2:
                # what is squared is the block; then come the pivots' columns, then all columns
                row, out_column, tiles, layers = first, uint32(first), uint32(depth // ROWS), 2
                columns, others, own_strip = uint32(depth // COLUMNS), first, block_strip
                if step >= squarings:
                    row, tiles, layers = uint32(0), uint32(size // ROWS), 1
                    own_strip = column_strip
                if step > squarings:
                    out_column, others, columns = uint32(0), uint32(0), uint32(size // COLUMNS)
                    own_strip = strip
                strips = uint32((tiles + own_strip - 1) // own_strip)
                job, jobs = uint32(cuda.blockIdx.x), uint32(strips * columns * layers)
                changed = False
                while job < jobs:
                    column = uint32(job % columns * COLUMNS)
                    own_tile = uint32(job // columns % strips * own_strip)
                    own_tiles = min(own_strip, uint32(tiles - own_tile))
                    own, own_pitch, other, other_pitch = reach, pitch, panel, panel_pitch
                    own_row = uint64(row + own_tile * ROWS)
                    a_start = uint64(own_row * uint64(pitch) + uint64(first // 32))
                    out_start = uint64(
                        own_row * uint64(pitch) + uint64((out_column + column) // 32)
                    )
                    other_at = uint64(others + column) * uint64(panel_pitch)
                    if job >= strips * columns:
                        # the transpose of the block, a part of the panel
                        own, own_pitch, other, other_pitch = panel, panel_pitch, reach, pitch
                        a_start = uint64(own_row * uint64(panel_pitch))
                        out_start = uint64(a_start + uint64(column // 32))
                        other_at = uint64(
                            uint64(first + column) * uint64(pitch) + uint64(first // 32)
                        )
                    fell = _multiply_strip(
                        own, a_start, out_start, own_pitch, other, other_at, other_pitch,
                        own_tiles, uint32(depth // SLICE),
                    )  # fmt: skip
                    changed = changed or fell
                    job = uint32(job + cuda.gridDim.x)
                flag = uint32(number * FLAGS + step)
                if changed and step < squarings:
                    flags[flag] = 1
                meet()
                if step < squarings and flags[flag] == 0:
                    step = squarings
                else:
                    step = uint32(step + 1)
            number = uint32(number + 1)

    return _products_kernel


@kernel
def _copy_rows_kernel(rows, words, copied, copied_words):
    """Copy a bit matrix to one with more or fewer words per row; added words are 0."""
    for i in range(cuda.grid(1), copied.size, cuda.gridsize(1)):
        row = i // copied_words
        word, found = i - row * copied_words, uint64(0)
        if word < words and row * words < rows.size:
            found = rows[row * words + word]
        copied[i] = found


def pad(n: int) -> int:
    """Return the number of rows (and columns) of the padded bit matrix for n vertices."""
    return -(-n // SLICE) * SLICE


def bytes_of_products(n: int) -> int:
    """Return the bytes of scratch that the closure of n vertices takes besides its result."""
    size = pad(n)
    return size // 8 * (size + min(size, pivots_of(size)))


def _strip_of(columns: int, tiles: int, blocks: int) -> int:
    """Return the number of matrix tiles per job that minimizes the estimated time of a kernel."""
    strips = np.arange(1, min(STRIP, tiles) + 1)
    # (half a tile's time goes by at the start of a strip)
    times = -(-columns * -(-tiles // strips) // blocks) * (strips + 0.5)
    return int(strips[times.argmin()])


class Products:
    """Device memory to compute a transitive closure by products of bit matrices.

    Parameters
    ----------
    n : int
        1 or more.
    """

    def __init__(self, n: int, pivots: int | None = None) -> None:
        self.n, self.size, self.words = n, pad(n), -(-n // 64)
        self.pivots = min(self.size, pivots or pivots_of(self.size))
        self.rounds = -(-self.size // self.pivots)
        self.reach = device_array(self.size * (self.size // 64), np.uint64)
        self.panel = device_array(self.size * (self.pivots // 32), np.uint32)
        self.flags = device_array(self.rounds * FLAGS, np.uint32)
        few, columns = self.pivots // COLUMNS, self.size // COLUMNS
        tiles = self.size // ROWS
        shapes = (2 * few, self.pivots // ROWS), (few, tiles), (columns, tiles)
        self.strips = [np.uint32(_strip_of(*shape, blocks_at_once())) for shape in shapes]

    def take(self, reach: Any, stream: Any) -> None:
        """Queue a copy of a bit matrix into this object's padded matrix; reset the change flags."""
        fill(self.flags, np.uint32(0), stream)
        own = self.size // 64
        _copy_rows_kernel[BLOCKS, THREADS, stream](reach, self.words, self.reach, own)

    def give(self, reach: Any, stream: Any) -> None:
        """Queue a copy of the computed bit matrix, without padding, to the device array `reach`."""
        own = self.size // 64
        _copy_rows_kernel[BLOCKS, THREADS, stream](self.reach, own, reach, self.words)

    def close(self, stream: Any, rounds: range | None = None) -> None:
        """Queue the rounds of the transitive closure on the device, or only those in `rounds`."""
        rounds = rounds or range(self.rounds)
        launch(
            make_products_kernel(), (blocks_at_once(), THREADS, stream, shared_bytes(self.pivots)),
            self.reach.view(np.uint32), np.uint32(self.size), np.uint32(self.pivots), self.panel,
            self.flags, np.uint32(rounds.start), np.uint32(rounds.stop), *self.strips,
        )  # fmt: skip


def close_by_products(reach: Any, n: int, stream: Any, progress: bool | None) -> None:
    """Replace a bit matrix by its transitive closure, in place, by products of bits.

    Parameters
    ----------
    reach : device array, shape (n * ceil(n / 64),), uint64
        64 columns to a word.
    n : int
        1 or more.
    stream : stream
    progress : bool or None
        As the call has it.
    """
    products = Products(n)
    products.take(reach, stream)
    step = max(1, QUEUED // (products.size**2 * products.pivots))
    with progress_bar(n, progress, "vertex") as advance:
        for first in range(0, products.rounds, step):
            some = range(first, min(first + step, products.rounds))
            products.close(stream, some)
            if len(some) < products.rounds:
                stream.synchronize()
            advance(min(n, some.stop * products.pivots) - first * products.pivots)
    products.give(reach, stream)
