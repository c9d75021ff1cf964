"""Reductions of rows of distances on a GPU: counts, sums, sums with decay, and maxima.

What is exact in any order (counts, greatest distances, sums of integers) is folded: every block of
a row folds its share of the vertices into two words, then one thread per row folds those of the
blocks. Integers are summed in two halves, which cannot overflow. Floats are added in order
(`sssp.cuda.ordered_sums`).
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import float64, int64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import upload
from sssp.cuda.ordered_sums import OrderedSums, SumsMemory, sums_bytes
from sssp.cuda.pool import device_array
from sssp.engine.reductions import Reduction, Step
from sssp.kernels.dtypes import FLOAT64, INT64

if TYPE_CHECKING:
    from sssp.cuda.search_base import Batch

#: threads of a block, a power of two
THREADS = 32 if SIMULATOR else 256
#: blocks that share the vertices of one row
BLOCKS = 2 if SIMULATOR else 64
LOW_HALF = 0xFFFFFFFF


@cache
def _make_kernels(step: str, combine: str, integral: bool, targeted: bool) -> tuple[Any, Any]:
    """Return the kernels that reduce rows: to one result per thread block, then per row.

    Parameters
    ----------
    step, combine : str
        `Step.number` and `Step.combine`.
    integral : bool
        Whether the result is an integer; then a sum is in two words, of its upper and its
        lower 32 bits, else it is in the first alone.
    targeted : bool
        Whether only targets count.
    """
    number = int64 if integral else float64
    greatest, counts, weighted = combine == "max", step == "one", step == "weight"
    halves = integral and not greatest
    start = (np.iinfo(np.int64).min if integral else -np.inf) if greatest else 0

    @inline
    def fold(a, b):
        if greatest:
            return max(a, b)
        return number(a + b)

    @kernel
    def _fold_vertices_kernel(distances, unseen, targets, weights, column, found):
        """Reduce every row of distances to partial results (such as sums), one per thread block.

        A total is an int64 or float64.

        ========= ================= ====== ==============================================
        argument  shape             dtype  written by
        ========= ================= ====== ==============================================
        distances (rows, n)         number the search
        unseen    scalar            number host: what stands for none
        targets   (t,)              int64  host; not read unless only they count
        weights   (c, n)            total  host; not read but for a weighted sum
        column    scalar            int    host: which row of the weights
        found     (rows, BLOCKS, 2) total  here
        ========= ================= ====== ==============================================
        """
        block, row, thread = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        words = cuda.shared.array((2, THREADS), number)
        first, second = number(start), number(start)
        size = targets.size if targeted else distances.shape[1]
        i = cuda.grid(1)
        while i < size:
            vertex = targets[i] if targeted else i
            distance = distances[row, vertex]
            if distance != unseen:
                value = number(distance)
                if counts:
                    value = number(1)
                if weighted:
                    value = number(weights[column, vertex])
                if halves:
                    first = fold(first, number(int64(value) >> 32))
                    second = fold(second, number(int64(value) & LOW_HALF))
                else:
                    first = fold(first, value)
            i += THREADS * BLOCKS
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
    def _fold_blocks_kernel(found, column, totals):
        """Combine the partial results of a row's thread blocks into the result of the row.

        ========= ================= ====== =======================
        argument  shape             dtype  written by
        ========= ================= ====== =======================
        found     (rows, BLOCKS, 2) total  `_fold_vertices_kernel`
        column    scalar            int    host: where totals go
        totals    (rows, c, 2)      total  here
        ========= ================= ====== =======================
        """
        row = cuda.grid(1)
        if row >= found.shape[0]:
            return
        first, second = number(start), number(start)
        for block in range(BLOCKS):
            first = fold(first, found[row, block, 0])
            second = fold(second, found[row, block, 1])
        totals[row, column, 0], totals[row, column, 1] = first, second

    return _fold_vertices_kernel, _fold_blocks_kernel


class Words(namedtuple("Words", "found totals ordered")):
    """Device arrays for the results of a reduction (such as a sum) over each row of a batch.

    Attributes
    ----------
    found : device array, shape (rows, BLOCKS, 2), int64
        Of the blocks; the greatest of floats in the same bytes.
    totals : device array, shape (rows, c, 2), the same
    ordered : SumsMemory
    """

    @classmethod
    def allocate(cls, rows: int, reduction: Reduction, dtype: np.dtype[Any], size: int) -> Words:
        """Return device memory for reducing at most `rows` rows, of `size` distances each."""
        columns, size = reduction.columns, _ordered(reduction, dtype) * size
        return cls(
            device_array((rows, BLOCKS, 2), INT64),
            device_array((rows, columns, 2), INT64),
            SumsMemory.allocate(columns, size, rows),
        )


def row_bytes(reduction: Reduction, dtype: np.dtype[Any], size: int) -> int:
    """Return the device bytes that reducing one row of `size` distances takes."""
    columns, size = reduction.columns, _ordered(reduction, dtype) * size
    return 16 * (BLOCKS + columns) + sums_bytes(columns, size)


def _ordered(reduction: Reduction, dtype: np.dtype[Any]) -> bool:
    """Return whether some sum of a reduction depends on the order of addition."""
    return not all(step.is_exact(dtype) for step in reduction.steps)


def on_device(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Upload the vertex weights of a reduction, transposed to shape (columns, n); return them.

    Where there are none, what is never read, but of the type that kernels for such distances have.
    """
    weights = reduction.vertex_weights
    if weights is None:
        weights = np.zeros((1, 1), FLOAT64 if dtype.kind == "f" else INT64)
    return upload(weights.T)


def reduce_rows(step: Step, batch: Batch, targeted: bool, weights: Any, words: Words) -> Any:
    """Queue one reduction step on a batch's rows; return the device array of its results.

    Parameters
    ----------
    step : Step
    batch : Batch
        Solved.
    targeted : bool
        Whether only its targets count.
    weights : device array
        From `on_device`.
    words : Words

    Returns
    -------
    device array
        Of what is exact in any order, shape (rows, c, 2): upper and lower half of an integer sum,
        else the number itself and something. Of sums of floats, shape (c, rows).
    """
    given = batch.distances, batch.unseen, batch.targets, weights
    if not step.is_exact(batch.distances.dtype):
        rows, n = batch.distances.shape
        weights = None if step.vertex_weights is None else weights
        places, size = (batch.targets, batch.targets.size) if targeted else (None, n)
        add = OrderedSums(step, weights, places, size, by_vertex=targeted)
        flat = batch.distances.reshape(rows * n)
        add.launch(flat, (n, 1), batch.bound, rows, words.ordered, batch.stream)
        return words.ordered.totals
    kind = step.dtype_of(batch.distances.dtype)
    found, totals = words.found[: batch.rows].view(kind), words.totals.view(kind)
    fold_vertices, fold_blocks = _make_kernels(step.number, step.combine, kind == INT64, targeted)
    for column in range(step.columns):
        fold_vertices[(BLOCKS, batch.rows), THREADS, batch.stream](*given, column, found)
        fold_blocks[-(-batch.rows // THREADS), THREADS, batch.stream](found, column, totals)
    return totals
