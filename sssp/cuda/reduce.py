"""One number for every row of a batch, found on the device.

Every block of a row folds its share of the vertices into two words, then one thread a row folds
those of the blocks, always in the same order: sums of floats are the same in every call.
Integers are summed in two halves, which cannot overflow.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import float64, int64

from sssp.cuda.compiler import SIMULATOR, cuda, inline, kernel

if TYPE_CHECKING:
    from sssp.cuda.batch import Batch

__all__ = ["ROW_BYTES", "allocate", "launch"]

#: threads of a block, a power of two
THREADS = 32 if SIMULATOR else 256
#: blocks that share the vertices of one row
BLOCKS = 2 if SIMULATOR else 64
#: scratch of a row: two words a block, and two in all
ROW_BYTES = 16 * (BLOCKS + 1)
LOW_HALF = 0xFFFFFFFF


@cache
def _make_kernels(what: str, integral: bool) -> tuple[Any, Any]:
    """Return the kernels that fold the vertices of a block, and the blocks of a row.

    Parameters
    ----------
    what : str
        One of `sssp.engine.query.REDUCTIONS`.
    integral : bool
        Whether the result is an integer; then a sum is in two words, of its upper and its
        lower 32 bits, else it is in the first alone.
    """
    number = int64 if integral else float64
    greatest, counts, weighted = what == "eccentricity", what == "count", what == "weight"
    halves = integral and not greatest
    start = (np.iinfo(np.int64).min if integral else -np.inf) if greatest else 0

    @inline
    def fold(a, b):
        if greatest:
            return max(a, b)
        return number(a + b)

    @kernel
    def _fold_vertices_kernel(distances, unseen, weights, found):
        """Fold a block's share of the vertices of a row, and those of its threads.

        A total is an int64 or float64.

        ========= ================= ====== =====================================
        argument  shape             dtype  written by
        ========= ================= ====== =====================================
        distances (rows, n)         number the search
        unseen    scalar            number host: what stands for none
        weights   (n,)              total  host; not read but for a weighted sum
        found     (rows, BLOCKS, 2) total  here
        ========= ================= ====== =====================================
        """
        block, row, thread = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        words = cuda.shared.array((2, THREADS), number)
        first, second = number(start), number(start)
        vertex = cuda.grid(1)
        while vertex < distances.shape[1]:
            distance = distances[row, vertex]
            if distance != unseen:
                value = number(distance)
                if counts:
                    value = number(1)
                if weighted:
                    value = number(weights[vertex])
                if halves:
                    first = fold(first, number(int64(value) >> 32))
                    second = fold(second, number(int64(value) & LOW_HALF))
                else:
                    first = fold(first, value)
            vertex += THREADS * BLOCKS
        words[0, thread], words[1, thread] = first, second
        reach = THREADS // 2
        while reach > 0:
            cuda.syncthreads()
            if thread < reach:
                words[0, thread] = fold(words[0, thread], words[0, thread + reach])
                words[1, thread] = fold(words[1, thread], words[1, thread + reach])
            reach //= 2
        if thread == 0:
            found[row, block, 0], found[row, block, 1] = words[0, 0], words[1, 0]

    @kernel
    def _fold_blocks_kernel(found, rows, totals):
        """Fold what the blocks of a row found, one thread a row."""
        row = cuda.grid(1)
        if row >= rows:
            return
        first, second = number(start), number(start)
        for block in range(BLOCKS):
            first = fold(first, found[row, block, 0])
            second = fold(second, found[row, block, 1])
        totals[row, 0], totals[row, 1] = first, second

    return _fold_vertices_kernel, _fold_blocks_kernel


def allocate(rows: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return words of the blocks, and of the rows; int64 or float64."""
    return (
        cuda.device_array((rows, BLOCKS, 2), dtype),
        cuda.device_array((rows, 2), dtype),
    )


def launch(what: str, batch: Batch, weights: Any, scratch: tuple[Any, Any]) -> None:
    """Reduce the rows of a batch.

    Parameters
    ----------
    what : str
    batch : Batch
        Solved.
    weights : device array, shape (n,)
        Of the vertices; unused but for ``"weight"``.
    scratch : tuple
        From `allocate`. The second array receives the totals: upper and lower half of an
        integer sum, else the number itself and something.
    """
    found, totals = scratch
    fold_vertices, fold_blocks = _make_kernels(what, found.dtype == np.int64)
    fold_vertices[(BLOCKS, batch.rows), THREADS, batch.stream](
        batch.distances, batch.unseen, weights, found
    )
    fold_blocks[-(-batch.rows // THREADS), THREADS, batch.stream](found, batch.rows, totals)
