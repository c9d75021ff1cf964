"""Dense CPU baselines of papers (all pairs, transitive closure), for comparison only.

Floyd-Warshall with a pass over the matrix for every vertex; in blocks of 32; repeated squaring
and boolean squaring by tiles (Xiao et al. 2023 and 2021). One thread is their serial version,
more are their OpenMP version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp import Graph
from sssp.bench.papers import baselines
from sssp.cpu.intrinsics import wait_for_all
from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.cpu.team import run_team
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import ClosureRequest, MatrixRequest, pack_bits, unpack_bits
from sssp.engine.request import Answer
from sssp.kernels.jit import njit

#: side of a block of the blocked Floyd-Warshall
BLOCK = 32


@njit
def _plain_kernel(matrix, barrier, thread, threads):
    number = matrix.dtype.type
    n = matrix.shape[0]
    for k in range(n):
        through = matrix[k]
        for i in range(thread * n // threads, (thread + 1) * n // threads):
            start, row = matrix[i, k], matrix[i]
            for j in range(n):
                row[j] = min(row[j], number(start + through[j]))
        wait_for_all(barrier, threads)


@njit
def _update_tile(target, source, row, column, middle, side):
    """Relax a tile of `target` by the min-plus product of two tiles of `source`."""
    number = target.dtype.type
    n = target.shape[0]
    left, right = column * side, min(n, (column + 1) * side)
    for k in range(middle * side, min(n, (middle + 1) * side)):
        through = source[k, left:right]
        for i in range(row * side, min(n, (row + 1) * side)):
            start, ends = source[i, k], target[i, left:right]
            for j in range(right - left):
                ends[j] = min(ends[j], number(start + through[j]))


@njit
def _blocked_kernel(matrix, barrier, thread, threads):
    blocks = -(-matrix.shape[0] // BLOCK)
    for pivot in range(blocks):
        if thread == 0:
            _update_tile(matrix, matrix, pivot, pivot, pivot, BLOCK)
        wait_for_all(barrier, threads)
        for other in range(thread, blocks, threads):
            if other != pivot:
                _update_tile(matrix, matrix, pivot, other, pivot, BLOCK)
                _update_tile(matrix, matrix, other, pivot, pivot, BLOCK)
        wait_for_all(barrier, threads)
        for row in range(thread, blocks, threads):
            for column in range(blocks):
                if row != pivot and column != pivot:
                    _update_tile(matrix, matrix, row, column, pivot, BLOCK)
        wait_for_all(barrier, threads)


@njit
def _squaring_kernel(before, after, side, thread, threads):
    blocks = -(-before.shape[0] // side)
    for row in range(thread, blocks, threads):
        for column in range(blocks):
            for middle in range(blocks):
                _update_tile(after, before, row, column, middle, side)


@njit
def _closure_kernel(before, after, side, thread, threads):
    n = before.shape[0]
    blocks = -(-n // side)
    for row in range(thread, blocks, threads):
        for column in range(blocks):
            left, right = column * side, min(n, (column + 1) * side)
            for middle in range(blocks):
                for i in range(row * side, min(n, (row + 1) * side)):
                    ends = after[i, left:right]
                    for k in range(middle * side, min(n, (middle + 1) * side)):
                        first, second = before[i, k], before[k, left:right]
                        for j in range(right - left):
                            ends[j] |= first & second[j]


def _run_team(kernel: Callable[..., None], arrays: tuple[Any, ...], threads: int) -> None:
    run_team(threads, lambda team: lambda thread: kernel(*arrays, thread, team))


def solve(
    graph: Graph, request: MatrixRequest, method: baselines.BaselineMatrix, dtype: np.dtype[Any]
) -> Answer | None:
    """Solve all pairs by a baseline on the CPU; Ctrl-C waits for the end of a pass."""
    if request.carries_tails(dtype):
        raise ValueError(f"{method.name} finds no predecessors of float distances")
    if isinstance(method, baselines.BaselineSquaring):
        side = method.block

        def square(matrix: Matrix) -> int:
            other = matrix.room()
            for finished in range(request.squarings):
                if matrix.negative_vertex() is not None:
                    return finished
                other.distances[...] = matrix.distances
                both = matrix.distances, other.distances
                _run_team(_squaring_kernel, (*both, side), request.threads)
                matrix.swap(other)
            return request.squarings

        return solve_matrix(graph, request, dtype, square, copies=2)
    plain = isinstance(method, baselines.BaselineFloydWarshall)
    kernel = _plain_kernel if plain else _blocked_kernel
    rounds = request.n if plain else -(-request.n // BLOCK)

    def close(matrix: Matrix) -> int:
        _run_team(kernel, (matrix.distances, np.zeros(2, np.int64)), request.threads)
        return rounds

    return solve_matrix(graph, request, dtype, close)


def close(request: ClosureRequest, method: baselines.BaselineClosure) -> NDArray[np.uint64]:
    """Compute the transitive closure by a baseline; return it packed, 64 vertices to a word."""
    n = request.n
    parts = {"a boolean matrix, twice": 2 * n * n, "packed": 8 * n * request.words}
    check_memory(parts, request.memory_limit, request.device, request.advice)
    words = np.empty((n, request.words), np.uint64)
    request.fill(words, range(n))
    before = unpack_bits(words, n)
    for _ in range(request.squarings):
        after = before.copy()
        _run_team(_closure_kernel, (before, after, method.block), request.threads)
        before = after
    pack_bits(before, words)
    return words
