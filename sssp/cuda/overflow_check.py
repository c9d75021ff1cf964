"""The exact test for overflow on the device; twin of `sssp.engine.overflow`, which explains it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import float64, int64

from sssp.cuda.batch import Batch
from sssp.cuda.compiler import SIMULATOR, cuda, kernel
from sssp.cuda.fill import THREADS
from sssp.engine.overflow import OverflowTest
from sssp.kernels.dtypes import INDEX

#: blocks that share the vertices of one row
BLOCKS = 1 if SIMULATOR else 64


@kernel
def _whole_kernel(distances, targets, unseen, suspects):
    """Clear the suspicion of a row whose targets are all reached, one block a row."""
    row = cuda.blockIdx.x
    missing = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == 0:
        missing[0] = 0
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < targets.size:
        if distances[row, targets[i]] == unseen:
            missing[0] = 1
        i += cuda.blockDim.x
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and missing[0] == 0:
        suspects[row] = 0


@cache
def _make_leads_on_kernel(integral: bool) -> Any:
    """Return the kernel that notes rows in which an arc leads from a reached vertex to another."""
    wide = int64 if integral else float64

    @kernel
    def _leads_on_kernel(indptr, indices, weights, distances, unseen, limit, suspects, found):
        """Note rows in which an arc leads from a reached vertex to an unreached one.

        Sums are taken in the type of the limit, which none of them leaves.

        ========= ========= ================ ======================================
        argument  shape     dtype            written by
        ========= ========= ================ ======================================
        indptr    (n + 1,)  int32            upload of the graph
        indices   (m,)      int32            upload of the graph
        weights   (m,)      number           upload of the graph
        distances (rows, n) number           the search
        unseen    scalar    number           host: what stands for none
        limit     scalar    int64 or float64 host: greatest sum that matters
        suspects  (rows,)   int32            host: rows to look at; `_whole_kernel`
        found     (1,)      int32            host: 0; here: whether there is one
        ========= ========= ================ ======================================
        """
        row = cuda.blockIdx.y
        if suspects[row] == 0:
            return
        tail, stride = cuda.grid(1), cuda.gridsize(1)
        while tail < indptr.size - 1:
            start = distances[row, tail]
            if start != unseen:
                for arc in range(indptr[tail], indptr[tail + 1]):
                    if (
                        distances[row, indices[arc]] == unseen
                        and wide(start) + wide(weights[arc]) <= limit
                    ):
                        found[0] = 1
            tail += stride

    return _leads_on_kernel


def overflowed(
    test: OverflowTest, arcs: tuple[Any, ...], batch: Batch, suspects: np.ndarray[Any, Any]
) -> bool:
    """Whether a wanted vertex of a batch may be unreached only because the dtype is too narrow.

    Parameters
    ----------
    test : OverflowTest
        Of the request.
    arcs : tuple of device arrays
        ``indptr``, ``indices``, ``weights``.
    batch : Batch
        Solved.
    suspects : ndarray, shape (rows,), bool
        Rows to be looked at.
    """
    stream = batch.stream
    on_device = cuda.to_device(suspects.astype(INDEX), stream=stream)
    found = cuda.to_device(np.zeros(1, INDEX), stream=stream)
    if test.targets is not None:
        _whole_kernel[batch.rows, THREADS, stream](
            batch.distances, batch.targets, batch.unseen, on_device
        )
    integral = np.dtype(batch.distances.dtype).kind == "i"
    _make_leads_on_kernel(integral)[(BLOCKS, batch.rows), THREADS, stream](
        *arcs, batch.distances, batch.unseen, test.limit, on_device, found
    )
    result = found.copy_to_host(stream=stream)
    stream.synchronize()
    return bool(result[0])
