"""The dense CUDA kernels of papers, to measure against; `auto` never chooses one.

- **Floyd-Warshall, plain**: a launch for every vertex k, a thread for every entry of the matrix.
- **Floyd-Warshall, blocked**: three kernels per round of 32 vertices, with 1,024 threads that each
  have one entry of a tile in shared memory.
- **Squaring**: Xiao et al., "All-source pair shortest path parallel algorithm based on GPU
  acceleration" (2023). A thread has an entry of a B x B tile of the product. The tile's row band
  of one factor and column band of the other pass through two tiles of shared memory, B steps at a
  time. All rounds are run.
- **Boolean squaring**: Xiao et al., "Parallel transitive closure algorithm for heterogeneous
  architecture" (2021), the same with or and and, a byte an entry.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, int32, int64, uint32
from numpy.typing import NDArray

from sssp import Graph
from sssp.bench.papers import baselines
from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import available_bytes, download, upload
from sssp.cuda.matrix.matrix_driver import NEGATIVE, Matrix, deliver, solve_matrix
from sssp.cuda.pool import device_array
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import ClosureRequest, MatrixRequest, pack_bits, unpack_bits
from sssp.engine.request import Answer
from sssp.kernels.dtypes import infinity

#: side of a block of blocked Floyd-Warshall, with a thread per entry
SIDE = 4 if SIMULATOR else 32
#: threads along the rows and columns of the plain one's blocks
WIDE, HIGH = (4, 4) if SIMULATOR else (32, 8)


@inline
def _entry(matrix, n, row, column, unseen):
    """Return a matrix entry, or the value `unseen` if the position lies outside the matrix."""
    if row < n and column < n:
        return matrix[int64(row) * int64(n) + int64(column)]
    return unseen


@inline
def _put(matrix, n, row, column, value, flags):
    """Write an entry if it lies inside the matrix; flag a negative diagonal entry (a cycle)."""
    if row < n and column < n:
        matrix[int64(row) * int64(n) + int64(column)] = value
        if row == column and value < 0:
            cuda.atomic.max(flags, NEGATIVE, int32(row + 1))


@kernel
def _step_kernel(matrix, n, k, flags):
    """Relax every matrix entry through vertex `k`, one thread per entry (Floyd-Warshall)."""
    column, row = cuda.grid(2)
    if flags[NEGATIVE] != 0 or row >= n or column >= n:
        return
    number = matrix.dtype.type
    place = int64(row) * int64(n) + int64(column)
    start, end = matrix[int64(row) * int64(n) + k], matrix[int64(k) * int64(n) + column]
    _put(matrix, n, row, column, min(matrix[place], number(start + end)), flags)


@inline
def _beside(block, first):
    """Return the first index of tile `block`, where tiles are counted without the diagonal tile."""
    begin = uint32(block * SIDE)
    return uint32(begin + SIDE) if begin >= first else begin


@cache
def _make_block_kernel(dtype: np.dtype[Any], phase: str) -> Any:
    """Return the kernel for one of the three phases of a blocked Floyd-Warshall round."""
    number, unseen = from_dtype(dtype), infinity(dtype)
    in_cross, in_others = phase == "cross", phase == "others"

    @kernel
    def _block_kernel(matrix, n, first, flags):
        """Relax matrix entries by paths over the vertices of the diagonal block at `first`.

        The first phase relaxes that block, the second the tiles in its rows and in its columns,
        the third all others.
        """
        if flags[NEGATIVE] != 0:
            return
        starts = cuda.shared.array((SIDE, SIDE), number)
        ends = cuda.shared.array((SIDE, SIDE), number)
        x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        top, left = uint32(first), uint32(first)
        if in_others:
            top = _beside(cuda.blockIdx.y, first)
        elif in_cross and cuda.blockIdx.y != 0:
            top = _beside(cuda.blockIdx.x, first)
        if in_others or (in_cross and cuda.blockIdx.y == 0):
            left = _beside(cuda.blockIdx.x, first)
        row, column = uint32(top + y), uint32(left + x)
        starts[y, x] = _entry(matrix, n, row, uint32(first + x), unseen)
        ends[y, x] = _entry(matrix, n, uint32(first + y), column, unseen)
        least = _entry(matrix, n, row, column, unseen)
        cuda.syncthreads()
        for k in range(SIDE):
            least = min(least, number(starts[y, k] + ends[k, x]))
            if not in_others:
                # (the tile itself is among what it is relaxed through)
                cuda.syncthreads()
                if left == first:
                    starts[y, x] = least
                if top == first:
                    ends[y, x] = least
                cuda.syncthreads()
        _put(matrix, n, row, column, least, flags)

    return _block_kernel


@cache
def _make_square_kernel(dtype: np.dtype[Any], side: int) -> Any:
    """Return the kernel that squares a matrix by tiles, over (min, +) or, for bytes, (or, and)."""
    number, boolean = from_dtype(dtype), dtype == np.uint8
    unseen = np.uint8(0) if boolean else infinity(dtype)

    @kernel
    def _square_kernel(before, after, n, flags):
        """Write the min-plus or boolean square of the matrix `before` to `after`."""
        if flags[NEGATIVE] != 0:
            return
        starts = cuda.shared.array((side, side), number)
        ends = cuda.shared.array((side, side), number)
        x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        row, column = uint32(cuda.blockIdx.y * side + y), uint32(cuda.blockIdx.x * side + x)
        found, first = unseen, uint32(0)
        while first < n:
            starts[y, x] = _entry(before, n, row, uint32(first + x), unseen)
            ends[y, x] = _entry(before, n, uint32(first + y), column, unseen)
            cuda.syncthreads()
            for k in range(side):
                start, end = starts[y, k], ends[k, x]
                found = found | (start & end) if boolean else min(found, number(start + end))
            cuda.syncthreads()
            first = uint32(first + side)
        own = _entry(before, n, row, column, unseen)
        _put(after, n, row, column, found | own if boolean else min(found, own), flags)

    return _square_kernel


def launch_square(before: Any, after: Any, n: int, side: int, flags: Any, stream: Any) -> None:
    """Queue the min-plus or boolean square of matrix `before` into `after`."""
    grid = -(-n // side), -(-n // side)
    run = _make_square_kernel(np.dtype(before.dtype), side)
    run[grid, (side, side), stream](before, after, np.uint32(n), flags)


def launch_steps(matrix: Matrix) -> tuple[Matrix, int]:
    """Launch one Floyd-Warshall kernel per vertex; return the matrix and the number of launches."""
    grid = -(-matrix.n // WIDE), -(-matrix.n // HIGH)
    run = _step_kernel[grid, (WIDE, HIGH), matrix.stream]
    for k in range(matrix.n):
        run(matrix.flat, np.uint32(matrix.n), np.uint32(k), matrix.flags)
    return matrix, matrix.n


def launch_rounds(matrix: Matrix) -> tuple[Matrix, int]:
    """Launch blocked Floyd-Warshall; return the matrix and the number of rounds."""
    blocks = -(-matrix.n // SIDE)
    grids = {"diagonal": (1, 1), "cross": (blocks - 1, 2), "others": (blocks - 1, blocks - 1)}
    for first in range(0, matrix.n, SIDE):
        for phase, grid in grids.items():
            if grid[0]:
                run = _make_block_kernel(np.dtype(matrix.flat.dtype), phase)
                run[grid, (SIDE, SIDE), matrix.stream](
                    matrix.flat, np.uint32(matrix.n), np.uint32(first), matrix.flags
                )
    return matrix, blocks


def close(request: ClosureRequest, method: baselines.BaselineClosure) -> Any:
    """Compute the transitive closure by a baseline's CUDA kernels; return it as a bit matrix."""
    number = device_number(request.device)
    n, side = request.n, method.block
    with select(number):
        free = available_bytes(request.memory_limit)
        parts = {"a boolean matrix, twice": 2 * n * n}
        check_memory(parts, request.memory_limit, request.device, request.advice, free)
        words: NDArray[np.uint64] = np.empty((n, request.words), np.uint64)
        request.fill(words, range(n))
        if n:
            bits = unpack_bits(words, n)
            before, after = upload(bits.reshape(-1)), device_array(n * n, np.uint8)
            stream, flags = cuda.stream(), upload(np.zeros(NEGATIVE + 1, np.int32))
            for _ in range(request.squarings):
                launch_square(before, after, n, side, flags, stream)
                before, after = after, before
            download(before, bits.reshape(-1), stream)
            pack_bits(bits, words)
        return deliver(request, upload(words.reshape(-1)), words.shape, number)


def solve(
    graph: Graph, request: MatrixRequest, method: baselines.BaselineMatrix, dtype: np.dtype[Any]
) -> Answer | None:
    """Solve all pairs by the CUDA kernels of a paper's baseline."""

    def square(matrix: Matrix) -> tuple[Matrix, int]:
        other = matrix.room()
        for _ in range(request.squarings):
            launch_square(matrix.flat, other.flat, matrix.n, side, matrix.flags, matrix.stream)
            matrix, other = other, matrix
        return matrix, request.squarings

    if isinstance(method, baselines.BaselineFloydWarshall):
        return solve_matrix(graph, request, dtype, launch_steps)
    if isinstance(method, baselines.BaselineBlockedFloydWarshall):
        return solve_matrix(graph, request, dtype, launch_rounds)
    assert isinstance(method, baselines.BaselineSquaring)
    side = method.block
    return solve_matrix(graph, request, dtype, square, copies=2)
