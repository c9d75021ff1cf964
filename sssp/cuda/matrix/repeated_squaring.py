"""Repeated squaring over (min, +) on the GPU: each round multiplies the matrix by itself.

The twin of `sssp.cpu.matrix.repeated_squaring`. A product goes from one matrix to another, so that
the result does not depend on the order of its tiles. Whether anything changed is a flag on the
device, and so is a negative diagonal.
"""

from __future__ import annotations

from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import int64, uint32

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel_with
from sssp.cuda.matrix.matrix_driver import CHANGED, NEGATIVE, Matrix, flag_negative, solve_matrix
from sssp.cuda.matrix.min_plus import THREADS, make_product, tile_side
from sssp.cuda.matrix.min_plus_short import multiply_short
from sssp.cuda.pool import fill
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, SHORT
from sssp.methods import RepeatedSquaring

#: updates that are queued before the host looks at the flags: a fraction of a second
QUEUED = 1 << 41


@cache
def _make_kernel(dtype: np.dtype[Any], *, with_tails: bool = False) -> Any:
    """Return the kernel that squares a matrix over (min, +), for a dtype."""
    product = make_product(dtype, in_place=False, with_tails=with_tails)
    tile = tile_side(dtype, with_tails=with_tails)

    @kernel_with(max_registers=65536 // (2 * THREADS))
    @no_type_check
    def _squaring_kernel(before, after, tails, after_tails, n, flags):
        """Compute a tile of the min-plus square of a matrix, one thread block per tile.

        =========== ======== ====== =========================================
        argument    shape    dtype  written by
        =========== ======== ====== =========================================
        before      (n * n,) number the round before
        after       (n * n,) number here
        tails       (n * n,) int32  the round before; any array without tails
        after_tails (n * n,) int32  here; any array without tails
        n           scalar   uint32 host
        flags       (3,)     int32  all tiles: `NEGATIVE`, `CHANGED`; host: 0
        =========== ======== ====== =========================================
        """
        if flags[NEGATIVE] != 0:
            return
        row, column = uint32(cuda.blockIdx.y * tile), uint32(cuda.blockIdx.x * tile)
        own = int64(int64(row) * int64(n) + int64(column))
        rows, columns = min(uint32(tile), uint32(n - row)), min(uint32(tile), uint32(n - column))
        changed = product(
            after, own, before, own, n, before, int64(int64(row) * int64(n)), n,
            before, int64(column), n, rows, columns, n, after_tails, tails,
        )  # fmt: skip
        if changed:
            flags[CHANGED] = 1
        if row == column:
            flag_negative(after, own, n, row, rows, flags, THREADS)

    return _squaring_kernel


def launch_square(matrix: Matrix, after: Matrix) -> None:
    """Queue the min-plus squaring of `matrix`, with the result in `after`."""
    dtype, n = np.dtype(matrix.flat.dtype), matrix.n
    if dtype == SHORT:
        multiply_short(after, matrix, matrix, matrix)
        return
    with_tails = matrix.tails is not None
    tiles = -(-n // tile_side(dtype, with_tails=with_tails))
    _make_kernel(dtype, with_tails=with_tails)[(tiles, tiles), THREADS, matrix.stream](
        matrix.flat, after.flat, matrix.any_tails, after.any_tails, np.uint32(n), matrix.flags
    )


def solve(
    graph: Graph, request: MatrixRequest, method: RepeatedSquaring, dtype: np.dtype[Any]
) -> Answer | None:
    """Compute the shortest paths between all vertices by repeated min-plus squaring.

    Parameters
    ----------
    graph : Graph
        Whose arcs the trees are made of.
    request : MatrixRequest
        Weights of any sign.
    method : RepeatedSquaring
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.

    Raises
    ------
    NegativeDiagonalError
        There is a negative cycle, or a false alarm.
    DeviceError
        The matrix needs more memory than the call may take.
    """

    def close(matrix: Matrix) -> tuple[Matrix, int]:
        rounds = request.squarings
        other = matrix.room()
        looks = method.early_stop or matrix.n**3 >= QUEUED
        with progress_bar(rounds, request.progress, "round") as advance:
            for finished in range(1, rounds + 1):
                fill(matrix.flags[CHANGED : CHANGED + 1], INDEX.type(0), matrix.stream)
                launch_square(matrix, other)
                matrix, other = other, matrix
                if not looks:
                    continue
                stops = method.early_stop and not matrix.flag(CHANGED)
                if stops or matrix.flag(NEGATIVE):
                    return matrix, finished
                advance(1)
        return matrix, rounds

    return solve_matrix(graph, request, dtype, close, copies=2)
