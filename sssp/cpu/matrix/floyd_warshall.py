"""Blocked Floyd-Warshall: all pairs in n^3 steps, in place.

R. W. Floyd, "Algorithm 97: shortest path" (1962); S. Warshall, "A theorem on boolean matrices"
(1962); in blocks: G. Venkataraman, S. Sahni, S. Mukhopadhyaya, "A blocked all-pairs
shortest-paths algorithm" (2003). A round takes a block of vertices as intermediate ones, in three
steps: the block on the diagonal; the blocks in its rows and columns; all others, whose min-plus
products are nearly all the work.

The threads of a team share the tiles of a step and meet after it. Nothing is read in a step that
another thread writes in it, so the result does not depend on their number. The block of the next
round is closed within the third step, by the thread that relaxed its tile: no other reads it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sssp.cpu.intrinsics import wait_for_all
from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.cpu.matrix.min_plus import BLOCK, SPAN, TILE, new_panels, pack, relax
from sssp.cpu.team import next_task, run_team, step_of, team_size
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import Number
from sssp.kernels.jit import njit
from sssp.methods import FloydWarshall


@njit
def _close_block(matrix, tails, first, depth):
    """Run plain Floyd-Warshall on the diagonal block of `depth` vertices from `first` on."""
    number = matrix.dtype.type
    for k in range(first, first + depth):
        through = matrix[k, first : first + depth]
        for i in range(first, first + depth):
            start = matrix[i, k]
            row = matrix[i, first : first + depth]
            for j in range(depth):
                candidate = number(start + through[j])
                if tails is None:
                    row[j] = min(row[j], candidate)
                elif candidate < row[j]:
                    row[j] = candidate
                    tails[i, first + j] = tails[k, first + j]


@njit
def _cut_beside(side, strip, size, n, first, after):
    """Return the index range of a strip's rows or columns before or behind the pivot block.

    Strip i has `size` rows or columns of all n; a negative one is ``first..after`` itself.
    """
    if strip < 0:
        return first, (after if side == 0 else first)
    begin, end = strip * size, min(n, (strip + 1) * size)
    if side == 0:
        return begin, min(end, first)
    return max(begin, after), end


@njit
def _relax_tile(matrix, tails, first, depth, strip, span, panel, panel_tails):
    """Relax a tile through the pivot block, leaving out the block's own rows and columns.

    A negative span stands for the block's rows, and a negative strip for its columns.
    """
    n, after = matrix.shape[0], first + depth
    for side in range(2):
        left, right = _cut_beside(side, strip, TILE, n, first, after)
        if left >= right:
            continue
        width = right - left
        pack(matrix, tails, first, depth, left, width, panel, panel_tails)
        for half in range(2):
            top, bottom = _cut_beside(half, span, SPAN, n, first, after)
            if top < bottom:
                relax(
                    matrix, tails, matrix, first, depth,
                    top, bottom, left, width, panel, panel_tails,
                )  # fmt: skip


@njit
def _floyd_warshall_kernel(
    matrix, tails, first_round, last_round, negative, taken, stop, barrier, thread
):
    """Run one thread's share of Floyd-Warshall rounds; stop at a negative diagonal entry.

    ``taken`` int64, zeros, shape (rounds, 2, threads): for `next_task` in its second and third
    step. ``stop`` int64, a zero: whether the first thread has seen a negative cycle.
    """
    n, threads = matrix.shape[0], taken.shape[2]
    panel, panel_tails = new_panels(matrix, tails)
    strips, spans = -(-n // TILE), -(-n // SPAN)
    first = first_round * BLOCK
    if thread == 0:
        _close_block(matrix, tails, first, min(BLOCK, n - first))
    wait_for_all(barrier, threads)
    for turn in range(last_round - first_round):
        first = (first_round + turn) * BLOCK
        depth = min(BLOCK, n - first)
        if negative:
            if thread == 0:
                for vertex in range(n):
                    if matrix[vertex, vertex] < 0:
                        stop[0] = 1
            wait_for_all(barrier, threads)
            if stop[0] != 0:
                return
        task = next_task(taken[turn, 0], strips + spans, thread)
        while task < strips + spans:
            strip = task if task < strips else -1
            _relax_tile(matrix, tails, first, depth, strip, task - strips, panel, panel_tails)
            task = next_task(taken[turn, 0], strips + spans, thread)
        wait_for_all(barrier, threads)
        # the next block lies in one tile, for sides of tiles are multiples of its own
        after = first + depth
        tile_of_next = after // SPAN * strips + after // TILE
        task = next_task(taken[turn, 1], strips * spans, thread)
        while task < strips * spans:
            strip, span = task % strips, task // strips
            _relax_tile(matrix, tails, first, depth, strip, span, panel, panel_tails)
            if task == tile_of_next and turn + 1 < last_round - first_round:
                _close_block(matrix, tails, after, min(BLOCK, n - after))
            task = next_task(taken[turn, 1], strips * spans, thread)
        wait_for_all(barrier, threads)


def solve(
    graph: Graph, request: MatrixRequest, method: FloydWarshall, dtype: Number
) -> Answer | None:
    """Answer `request` by blocked Floyd-Warshall: ``ceil(n / 64)`` rounds of three steps.

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
    n = request.n
    rounds = -(-n // BLOCK)
    step = step_of(n * n * BLOCK)
    threads = team_size(request.threads, n**3)

    def close(matrix: Matrix) -> int:
        def prepare(threads: int) -> Callable[[int], None]:
            taken = np.zeros((last - first, 2, threads), np.int64)
            part = matrix.distances, matrix.tails, first, last, request.negative, taken
            stop, barrier = np.zeros(1, np.int64), np.zeros(2, np.int64)
            return lambda thread: _floyd_warshall_kernel(*part, stop, barrier, thread)

        with progress_bar(n, request.progress, "vertex") as advance:
            for first in range(0, rounds, step):
                last = min(first + step, rounds)
                run_team(threads, prepare)
                if matrix.negative_vertex() is not None:
                    return last
                advance(min(last * BLOCK, n) - first * BLOCK)
        return rounds

    return solve_matrix(graph, request, dtype, close)
