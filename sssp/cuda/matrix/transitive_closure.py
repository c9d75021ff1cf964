"""Transitive closure on the GPU with 64-bit words: by Warshall's algorithm or by squaring.

The twin of `sssp.cpu.matrix.transitive_closure`, which names the sources. Both take a word of
vertices, the pivots, at a time: a row that reaches some of them takes over what those reach,
looked up four pivots at a time in tables of all 16 unions of four rows. The tables of a column of
`WIDTH` words are in shared memory; the threads that look up a row read 128 bytes side by side, so
that no two meet in a bank. That is an eighth of the memory traffic of one row after the other, and
reading shared memory is what bounds it.

**The sweep** is one kernel on the whole grid, whose blocks meet once a word. Every block closes
the 64 x 64 bits among the pivots itself, completes the pivots' rows by that, in its own columns,
and then updates its rows. Others write meanwhile what it reads, but bits only ever appear, each
of a path that is there: whether a block sees the old word or the new one, the closure comes out.

**Squaring** goes from one matrix to another, so that the number of rounds is always the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import int64, uint32, uint64
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import inline, kernel_with
from sssp.cuda.device.grid import barrier_of, blocks_at_once
from sssp.cuda.device.ptx import has_bit_products
from sssp.cuda.device.warp import from_lane
from sssp.cuda.device_memory import available_bytes, on_host, upload
from sssp.cuda.driver import after
from sssp.cuda.matrix.matrix_driver import deliver
from sssp.cuda.pool import device_array, fill
from sssp.engine import thresholds
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import WORD, ClosureRequest
from sssp.engine.progress import progress_bar
from sssp.kernels.dtypes import INDEX
from sssp.methods import ClosureBySquaring, ClosureByWarshall

#: words of a row that a block looks after, and threads that look up one row side by side
WIDTH = 2 if SIMULATOR else 16
THREADS = 8 if SIMULATOR else 512
GROUPS = THREADS // WIDTH
#: blocks of the sweep on a multiprocessor: of 42 KB of shared memory and 64 registers a thread
BLOCKS = 2
#: rows that a group squares at a time
ROWS = 2 if SIMULATOR else 8
#: bits that a table is about, its entries, tables of half a word and of a word
NIBBLE, UNIONS, HALF, TABLES = 4, 16, 8, 16
#: steps on words in one launch of the sweep: a fraction of a second
QUEUED = 1 << 41


@inline
def _close_words(words, count):
    """Run Warshall's algorithm on a 64 x 64 bit matrix in shared memory.

    Each lane has two rows in registers; the warp hands row after row around. The simulator, which
    knows no warps, runs it in one thread.
    """
    lane = uint32(cuda.threadIdx.x)
    if SIMULATOR:
        for k in range(count if lane == 0 else 0):
            for i in range(count):
                if (words[i] >> uint64(k)) & uint64(1):
                    words[i] |= words[k]
    elif lane < 32:
        upper, lower = int64(words[lane]), int64(words[uint32(lane + 32)])
        for k in range(32):
            pivot = from_lane(upper, k)
            upper |= pivot & -((upper >> k) & 1)
            lower |= pivot & -((lower >> k) & 1)
        for k in range(32):
            pivot = from_lane(lower, k)
            upper |= pivot & -((upper >> (k + 32)) & 1)
            lower |= pivot & -((lower >> (k + 32)) & 1)
        words[lane] = uint64(upper)
        words[uint32(lane + 32)] = uint64(lower)


@inline
def _fill_tables(pivots, tables):
    """Compute the unions of all 16 subsets of every four pivot rows, with all threads of a block.

    They wait before for the pivots, and after for the tables.
    """
    cuda.syncthreads()
    rows = cuda.local.array(NIBBLE, uint64)
    i = uint32(cuda.threadIdx.x)
    while i < TABLES * WIDTH:
        table, lane = uint32(i // WIDTH), uint32(i % WIDTH)
        for bit in range(NIBBLE):
            rows[bit] = pivots[uint32(table * NIBBLE + bit), lane]
        for union in range(UNIONS):
            found = uint64(0)
            for bit in range(NIBBLE):
                if (union >> bit) & 1:
                    found |= rows[bit]
            tables[table, union, lane] = found
        i = uint32(i + THREADS)
    cuda.syncthreads()


@inline
def _bring_pivots(matrix, base, count, words, own, lane, group, pivots):
    """Load words of `count` pivot rows of a bit matrix, from row `base` on, into shared memory."""
    row = group
    while row < WORD:
        pivots[row, lane] = uint64(0)
        if row < count and own < words:
            pivots[row, lane] = matrix[uint64(base + row) * words + own]
        row = uint32(row + GROUPS)


@inline
def _look_up(word, tables, lane):
    """Return one 64-bit word of the bitwise OR of the pivot rows that `word` selects."""
    low, high = uint32(word), uint32(word >> uint64(32))
    found = uint64(0)
    for table in range(HALF):
        shift = uint32(table * NIBBLE)
        found |= tables[table, uint32((low >> shift) & uint32(UNIONS - 1)), lane]
        found |= tables[HALF + table, uint32((high >> shift) & uint32(UNIONS - 1)), lane]
    return found


@cache
def _make_sweep_kernel(barrier: Any = None) -> Any:
    """Return the CUDA kernel of Warshall's algorithm on a bit matrix."""
    meet = barrier or barrier_of(together=True)

    @kernel_with(max_registers=65536 // THREADS // BLOCKS)
    @no_type_check
    def _sweep_kernel(reach, n, words, first_word, last_word):
        """Run Warshall's algorithm on a bit matrix by all thread blocks, 64 pivots at a time.

        ========== ============ ====== ==================
        argument   shape        dtype  written by
        ========== ============ ====== ==================
        reach      (n * words,) uint64 host: arcs; here
        n          scalar       uint32 host
        words      scalar       uint32 host: of a row
        first_word scalar       uint32 host
        last_word  scalar       uint32 host: not included
        ========== ============ ====== ==================
        """
        tables = cuda.shared.array((TABLES, UNIONS, WIDTH), uint64)
        pivots = cuda.shared.array((WORD, WIDTH), uint64)
        closed = cuda.shared.array(WORD, uint64)
        thread = uint32(cuda.threadIdx.x)
        lane, group = uint32(thread % WIDTH), uint32(thread // WIDTH)
        block, blocks = uint32(cuda.blockIdx.x), uint32(cuda.gridDim.x)
        # column by column, and the rows of one shared by as many blocks as there are for it
        all_columns = uint32((words + WIDTH - 1) // WIDTH)
        columns = min(all_columns, blocks)
        shares = uint32(blocks // columns)
        share = uint32(block // columns)
        word = uint32(first_word)
        while word < last_word:
            base = uint32(word * WORD)
            count = min(uint32(n - base), uint32(WORD))
            row = thread
            while row < WORD:
                closed[row] = uint64(0)
                if row < count:
                    closed[row] = reach[uint64(base + row) * words + word]
                row = uint32(row + THREADS)
            cuda.syncthreads()
            _close_words(closed, count)
            column = uint32(block % columns)
            while column < all_columns and share < shares:
                own = uint32(column * WIDTH + lane)
                _bring_pivots(reach, base, count, words, own, lane, group, pivots)
                _fill_tables(pivots, tables)
                row = group
                while row < count:
                    pivots[row, lane] |= _look_up(closed[row], tables, lane)
                    row = uint32(row + GROUPS)
                _fill_tables(pivots, tables)
                row = uint32(share * GROUPS + group)
                while row < n:
                    through = reach[uint64(row) * words + word]
                    if through != 0 and own < words:
                        place = uint64(row) * words + own
                        before = reach[place]
                        after = before | _look_up(through, tables, lane)
                        if after != before:
                            reach[place] = after
                    row = uint32(row + shares * GROUPS)
                column = uint32(column + columns)
                cuda.syncthreads()
            meet()
            word = uint32(word + 1)

    return _sweep_kernel


@kernel_with(max_registers=65536 // THREADS // BLOCKS)
@no_type_check
def _square_kernel(before, after, n, words, changed):
    """Compute the boolean square of a bit matrix; each block computes some rows and columns.

    ======== ============ ====== ============================
    argument shape        dtype  written by
    ======== ============ ====== ============================
    before   (n * words,) uint64 host: arcs; the round before
    after    (n * words,) uint64 here
    n        scalar       uint32 host
    words    scalar       uint32 host: of a row
    changed  (1,)         int32  host: 0; here
    ======== ============ ====== ============================
    """
    tables = cuda.shared.array((TABLES, UNIONS, WIDTH), uint64)
    pivots = cuda.shared.array((WORD, WIDTH), uint64)
    found = cuda.local.array(ROWS, uint64)
    thread = uint32(cuda.threadIdx.x)
    lane, group = uint32(thread % WIDTH), uint32(thread // WIDTH)
    own = uint32(cuda.blockIdx.x * WIDTH + lane)
    first = uint32(cuda.blockIdx.y * (GROUPS * ROWS) + group)
    for r in range(ROWS):
        found[r] = uint64(0)
    word = uint32(0)
    while word < words:
        base = uint32(word * WORD)
        _bring_pivots(before, base, uint32(n - base), words, own, lane, group, pivots)
        _fill_tables(pivots, tables)
        for r in range(ROWS):
            row = uint32(first + r * GROUPS)
            if row < n:
                through = before[uint64(row) * words + word]
                if through != 0:
                    found[r] |= _look_up(through, tables, lane)
        cuda.syncthreads()
        word = uint32(word + 1)
    for r in range(ROWS):
        row = uint32(first + r * GROUPS)
        if row < n and own < words:
            place = uint64(row) * words + own
            known = before[place]
            after[place] = known | found[r]
            if known | found[r] != known:
                changed[0] = 1


def sweep(reach: Any, n: int, words: range, stream: Any) -> None:
    """Queue Warshall's algorithm on a bit matrix; `words` is the range of pivots, 64 per word.

    Parameters
    ----------
    reach : device array, shape (n * ceil(n / 64),), uint64
    n : int
    words : range
        Of step 1.
    stream : stream
    """
    _make_sweep_kernel()[blocks_at_once(BLOCKS), THREADS, stream](
        reach, np.uint32(n), np.uint32(-(-n // WORD)), np.uint32(words.start), np.uint32(words.stop)
    )


def square(before: Any, after: Any, n: int, changed: Any, stream: Any) -> None:
    """Queue the boolean square of a bit matrix; set `changed` if an entry changed."""
    words = -(-n // WORD)
    grid = -(-words // WIDTH), -(-n // (GROUPS * ROWS))
    _square_kernel[grid, THREADS, stream](before, after, np.uint32(n), np.uint32(words), changed)


def pack_matrix(request: ClosureRequest) -> Any:
    """Return the initial bit matrix of a request on the current device, as a flat array."""
    host: NDArray[np.uint64] = np.empty((request.n, request.words), np.uint64)
    request.fill(host, range(request.n))
    return upload(host.reshape(-1))


def close(request: ClosureRequest, method: ClosureByWarshall | ClosureBySquaring) -> Any:
    """Return the transitive closure of a request's graph: a bit matrix, 64 columns to a word.

    Parameters
    ----------
    request : ClosureRequest
    method : ClosureByWarshall or ClosureBySquaring

    Returns
    -------
    ndarray or DeviceArray, shape (n, ceil(n / 64)), uint64
        Column j is bit ``j % 64`` of word ``j // 64``; bits beyond n are 0.

    Raises
    ------
    DeviceError
        The device cannot be used, or it needs more memory than the call may take.
    """
    number, n, words = device_number(request.device), request.n, request.words
    with select(number):
        needed = n * words * 8 * (2 if isinstance(method, ClosureBySquaring) else 1)
        free = available_bytes(request.memory_limit)
        parts = {f"the closure of {n:,} vertices": needed}
        check_memory(parts, request.memory_limit, request.device, request.advice, free)
        reach, stream = pack_matrix(request), cuda.stream()
        if request.stream is not None:
            after(request.stream, [stream])
        if n and isinstance(method, ClosureBySquaring):
            other, changed = device_array(reach.size, np.uint64), device_array(1, INDEX)
            with progress_bar(request.squarings, request.progress, "round") as advance:
                for _ in range(request.squarings):
                    fill(changed, INDEX.type(0), stream)
                    square(reach, other, n, changed, stream)
                    reach, other = other, reach
                    if method.early_stop and not on_host(changed, stream)[0]:
                        break
                    advance(1)
        elif n:
            _close_by_rows(request, reach, stream, free - needed)
        return deliver(request, reach, (n, words), number)


def _close_by_rows(request: ClosureRequest, reach: Any, stream: Any, free: int) -> None:
    """Close a reachability matrix in place, by bit products or Warshall's algorithm."""
    n, words = request.n, request.words
    # products are faster from so many vertices on even where hardly a vertex reaches another
    if n >= thresholds.PRODUCTS_VERTICES and has_bit_products():
        # (which the simulator cannot import)
        from sssp.cuda.matrix.closure_products import bytes_of_products, close_by_products

        if bytes_of_products(n) <= free:
            close_by_products(reach, n, stream, request.progress)
            return
    step = max(1, QUEUED // (n * words * TABLES))
    with progress_bar(words, request.progress, "word") as advance:
        for first in range(0, words, step):
            part = range(first, min(first + step, words))
            sweep(reach, n, part, stream)
            stream.synchronize()
            advance(len(part))
