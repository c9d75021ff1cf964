"""Blocked Floyd-Warshall on the GPU: three kernels per round, in place.

The twin of `sssp.cpu.matrix.floyd_warshall`. A round takes a block of vertices as intermediate
ones:

1. the block on the diagonal is closed, by one thread block that holds it in registers and hands
   around a row and a column at a time;
2. the cross: the tiles in the block's rows and columns meet the closed block;
3. all other tiles meet their tiles of the cross: nearly all the work.

The last two are min-plus products of tiles (`sssp.cuda.matrix.min_plus`), so a block is as wide as
a tile. Every kernel returns at once when the diagonal has been seen negative, so that the run stops
although the host queues rounds ahead.
"""

from __future__ import annotations

from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import from_dtype, int32, int64, uint32

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel, kernel_with, part
from sssp.cuda.matrix.matrix_driver import NEGATIVE, Matrix, flag_negative, solve_matrix
from sssp.cuda.matrix.min_plus import ALIGNMENT, SIDE, SMALL_TILE, THREADS, make_product, tile_side
from sssp.cuda.matrix.min_plus_short import TILE as SHORT_TILE
from sssp.cuda.matrix.min_plus_short import launch_short_round
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import SHORT, infinity
from sssp.methods import FloydWarshall

#: updates that are queued before the host looks at the flags: a fraction of a second
QUEUED = 1 << 41
#: phases of a round that share a kernel
CROSS, OTHERS = 0, 1


@cache
def _make_close(dtype: np.dtype[Any], tile: int, *, with_tails: bool = False) -> Any:
    """Return the device function of the first phase: plain Floyd-Warshall on the diagonal block.

    ``close(matrix, tails, n, first, flags)`` is for a whole block of `THREADS` threads; its
    arguments are those of `_close_kernel`.
    """
    number = from_dtype(dtype)
    unseen = infinity(dtype).item()
    per = tile // SIDE
    half, half_tile = per // 2, tile // 2

    @part
    def step(k, depth, own, place, arrays):
        """Relax the entries of the diagonal block through vertex `k`: one Floyd-Warshall step.

        `own` is a constant in all calls, for registers have no addresses; of one type, so that the
        step is typed once.
        """
        if k < depth:
            first_row, first_column = place
            rows, columns, row_tails, starts, ends, least, own_tails = arrays
            # two pairs of buffers in turn, so that one barrier a step is enough
            side = uint32(k & 1)
            owner = uint32(k % half_tile // half * half)
            if first_row == owner:
                for j in range(per):
                    column = uint32(first_column + (j // half) * half_tile + j % half)
                    rows[side, column] = least[own, j]
                    if with_tails:
                        row_tails[side, column] = own_tails[own, j]
            if first_column == owner:
                for i in range(per):
                    row = uint32(first_row + (i // half) * half_tile + i % half)
                    columns[side, row] = least[i, own]
            cuda.syncthreads()
            for i in range(per):
                starts[i] = columns[side, uint32(first_row + (i // half) * half_tile + i % half)]
            for j in range(per):
                ends[j] = rows[side, uint32(first_column + (j // half) * half_tile + j % half)]
            for i in range(per):
                for j in range(per):
                    candidate = number(starts[i] + ends[j])
                    if with_tails and candidate < least[i, j]:
                        column = uint32(first_column + (j // half) * half_tile + j % half)
                        own_tails[i, j] = row_tails[side, column]
                    least[i, j] = min(candidate, least[i, j])

    @part
    def close(matrix, tails, n, first, flags):
        rows = cuda.shared.array((2, tile), number, alignment=ALIGNMENT)
        columns = cuda.shared.array((2, tile), number, alignment=ALIGNMENT)
        row_tails = cuda.shared.array((2, tile), int32)
        least = cuda.local.array((per, per), number)
        own_tails = cuda.local.array((per, per), int32)
        ends, starts = cuda.local.array(per, number), cuda.local.array(per, number)
        thread = uint32(cuda.threadIdx.x)
        first_row, first_column = uint32(thread // SIDE * half), uint32(thread % SIDE * half)
        place = first_row, first_column
        depth = min(uint32(tile), uint32(n - first))
        corner = int64(int64(first) * int64(n) + int64(first))
        matrix, tails = matrix[corner:], tails[corner:]
        for i in range(per):
            row = uint32(first_row + (i // half) * half_tile + i % half)
            for j in range(per):
                column = uint32(first_column + (j // half) * half_tile + j % half)
                least[i, j] = number(unseen)
                if row < depth and column < depth:
                    least[i, j] = matrix[uint32(row * n + column)]
                    if with_tails:
                        own_tails[i, j] = tails[uint32(row * n + column)]
        arrays = rows, columns, row_tails, starts, ends, least, own_tails
        k = uint32(0)
        while k < half_tile:
            for own in range(half):
                step(uint32(k + uint32(own)), depth, own, place, arrays)
            k = uint32(k + half)
        while k < tile:
            for own in range(half, per):
                step(uint32(k + uint32(own - half)), depth, own, place, arrays)
            k = uint32(k + half)
        for i in range(per):
            row = uint32(first_row + (i // half) * half_tile + i % half)
            for j in range(per):
                column = uint32(first_column + (j // half) * half_tile + j % half)
                if row < depth and column < depth:
                    matrix[uint32(row * n + column)] = least[i, j]
                    if with_tails:
                        tails[uint32(row * n + column)] = own_tails[i, j]
                    if row == column and least[i, j] < 0:
                        cuda.atomic.max(flags, NEGATIVE, int32(first + row + 1))

    return close


@cache
def _make_close_kernel(dtype: np.dtype[Any], tile: int, *, with_tails: bool = False) -> Any:
    """Return the kernel of a round's first phase: Floyd-Warshall on the diagonal block."""
    close = _make_close(dtype, tile, with_tails=with_tails)

    @kernel
    def _close_kernel(matrix, tails, n, first, flags):
        """Run Floyd-Warshall on the diagonal tile at index `first` of each matrix.

        ======== ============ ====== ================================================
        argument shape        dtype  written by
        ======== ============ ====== ================================================
        matrix   (s * n * n,) number the rounds before; here: the block
        tails    (s * n * n,) int32  the rounds before; here; any array without tails
        n        scalar       uint32 host
        first    scalar       uint32 host
        flags    (3,)         int32  all kernels: `NEGATIVE`
        ======== ============ ====== ================================================
        """
        if flags[NEGATIVE] != 0:
            return
        own = int64(int64(cuda.blockIdx.x) * int64(n) * int64(n))
        close(matrix[own:], tails[own:], n, first, flags)

    return _close_kernel


@cache
def _make_tiles_kernel(
    dtype: np.dtype[Any], tile: int, *, with_tails: bool = False, closes: bool = False
) -> Any:
    """Return the kernel of a round's second and third phases: min-plus products of tiles.

    `closes`: the third begins the next round, by closing its block on the diagonal.
    """
    close = _make_close(dtype, tile, with_tails=with_tails)
    product = make_product(dtype, in_place=True, with_tails=with_tails, tile=tile)

    @kernel_with(max_registers=65536 // (2 * THREADS))
    @no_type_check
    def _tiles_kernel(matrix, tails, n, first, phase, flags):
        """Lower the distances in a tile by paths through the vertices of the diagonal block.

        ======== ============ ====== ================================================
        argument shape        dtype  written by
        ======== ============ ====== ================================================
        matrix   (s * n * n,) number `_close_kernel`, the rounds before; here
        tails    (s * n * n,) int32  the rounds before; here; any array without tails
        n        scalar       uint32 host
        first    scalar       uint32 host: the closed block
        phase    scalar       uint32 host: `CROSS` or `OTHERS`, which says what tiles
        flags    (3,)         int32  all kernels: `NEGATIVE`
        ======== ============ ====== ================================================
        """
        if flags[NEGATIVE] != 0:
            return
        start = int64(int64(cuda.blockIdx.z) * int64(n) * int64(n))
        matrix, tails = matrix[start:], tails[start:]
        block = uint32(first // tile)
        column_tile, row_tile = uint32(cuda.blockIdx.x), uint32(cuda.blockIdx.y)
        # leap over the block itself
        if column_tile >= block:
            column_tile = uint32(column_tile + 1)
        if phase == CROSS:
            if row_tile == 0:
                row_tile = block
            else:
                row_tile, column_tile = column_tile, block
        elif row_tile >= block:
            row_tile = uint32(row_tile + 1)
        row, column = uint32(row_tile * tile), uint32(column_tile * tile)
        own = int64(int64(row) * int64(n) + int64(column))
        from_row = int64(int64(row) * int64(n) + int64(first))
        to_column = int64(int64(first) * int64(n) + int64(column))
        rows, columns = min(uint32(tile), uint32(n - row)), min(uint32(tile), uint32(n - column))
        depth = min(uint32(tile), uint32(n - first))
        product(
            matrix, own, matrix, own, n, matrix, from_row, n, matrix, to_column, n,
            rows, columns, depth, tails, tails,
        )  # fmt: skip
        if row == column:
            flag_negative(matrix, own, n, row, rows, flags, THREADS)
            if closes and row == uint32(first + tile):
                close(matrix, tails, n, row, flags)

    return _tiles_kernel


def launch_round(matrix: Matrix, first: int, tile: int, *, closes: bool = False) -> None:
    """Queue one Floyd-Warshall round: the diagonal block starts at `first`, one tile wide.

    `closes`: every round closes the block of the next one too.
    """
    dtype, with_tails = np.dtype(matrix.flat.dtype), matrix.tails is not None
    arrays = matrix.flat, matrix.any_tails, np.uint32(matrix.n), np.uint32(first)
    if first == 0 or not closes:
        close = _make_close_kernel(dtype, tile, with_tails=with_tails)
        close[matrix.count, THREADS, matrix.stream](*arrays, matrix.flags)
    others, count = -(-matrix.n // tile) - 1, matrix.count
    if others:
        tiles = _make_tiles_kernel(dtype, tile, with_tails=with_tails, closes=closes)
        for phase, grid in ((CROSS, (others, 2, count)), (OTHERS, (others, others, count))):
            tiles[grid, THREADS, matrix.stream](*arrays, np.uint32(phase), matrix.flags)


def launch_rounds(matrix: Matrix) -> None:
    """Queue all rounds of Floyd-Warshall for one or more small matrices.

    Of one matrix small tiles leave fewer multiprocessors idle; several have enough of any.
    """
    tile = SMALL_TILE if matrix.count == 1 else tile_side(np.dtype(matrix.flat.dtype))
    for first in range(0, matrix.n, tile):
        launch_round(matrix, first, tile, closes=True)


def solve(
    graph: Graph, request: MatrixRequest, method: FloydWarshall, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` by Floyd-Warshall: ``ceil(n / tile)`` rounds of three kernels.

    Parameters
    ----------
    graph : Graph
        Whose arcs the trees are made of.
    request : MatrixRequest
        Weights of any sign.
    method : FloydWarshall
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
        n, dtype = matrix.n, np.dtype(matrix.flat.dtype)
        short, looked = dtype == SHORT, 0
        tile = SHORT_TILE if short else tile_side(dtype, with_tails=matrix.tails is not None)
        with progress_bar(n, request.progress, "vertex") as advance:
            for first in range(0, n, tile):
                if short:
                    launch_short_round(matrix, first)
                else:
                    launch_round(matrix, first, tile)
                done = min(first + tile, n)
                if (done - looked) * n * n >= QUEUED:
                    if matrix.flag(NEGATIVE):
                        break
                    advance(done - looked)
                    looked = done
        return matrix, -(-done // tile)

    return solve_matrix(graph, request, dtype, close)
