"""Repeated squaring over (min, +): all pairs in ``ceil(log2(n - 1))`` products of n^3 steps.

Xiao et al., "All-source pair shortest path parallel algorithm based on GPU acceleration" (2023).
The matrix holds the shortest walks of at most one arc; after every squaring, of twice as many.
Walks of n - 1 arcs hold all shortest paths; one more squaring finds a negative cycle of n arcs.

Every product goes from one matrix to another, tile by tile, so the threads of a team never meet.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.cpu.matrix.min_plus import BLOCK, SPAN, TILE, new_panels, pack, relax
from sssp.cpu.team import next_task, run_team, step_of, team_size
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import Number
from sssp.kernels.jit import njit
from sssp.methods import RepeatedSquaring


@njit
def _copy(after, before, row, end, left, right):
    for i in range(row, end):
        for j in range(left, right):
            after[i, j] = before[i, j]


@njit
def _squaring_kernel(before, after, tails_before, tails_after, first_task, tasks, taken, thread):
    """Compute some tiles of the squared matrix in one thread; return whether an entry changed."""
    n = before.shape[0]
    panel, panel_tails = new_panels(before, tails_before)
    strips = -(-n // TILE)
    changed = False
    task = next_task(taken, tasks, thread)
    while task < tasks:
        tile = first_task + task
        left, row = tile % strips * TILE, tile // strips * SPAN
        right, end = min(n, left + TILE), min(n, row + SPAN)
        _copy(after, before, row, end, left, right)
        if tails_after is not None:
            _copy(tails_after, tails_before, row, end, left, right)
        for first in range(0, n, BLOCK):
            depth, width = min(BLOCK, n - first), right - left
            pack(before, tails_before, first, depth, left, width, panel, panel_tails)
            relax(
                after, tails_after, before, first, depth,
                row, end, left, width, panel, panel_tails,
            )  # fmt: skip
        changed |= (before[row:end, left:right] != after[row:end, left:right]).any()
        task = next_task(taken, tasks, thread)
    return changed


def solve(
    graph: Graph, request: MatrixRequest, method: RepeatedSquaring, dtype: Number
) -> Answer | None:
    """Find all-pairs distances by at most ``request.squarings`` min-plus squarings of a matrix.

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
    n = request.n
    tiles = -(-n // TILE) * -(-n // SPAN)
    step = step_of(SPAN * TILE * n)
    threads = team_size(request.threads, n**3)

    def close(matrix: Matrix) -> int:
        other, rounds = matrix.room(), request.squarings

        def prepare(threads: int) -> Callable[[int], bool]:
            arrays = matrix.distances, other.distances, matrix.tails, other.tails
            part = first, last - first, np.zeros(threads, np.int64)
            return lambda thread: _squaring_kernel(*arrays, *part, thread)

        with progress_bar(rounds * tiles, request.progress, "tile") as advance:
            for finished in range(rounds):
                if matrix.negative_vertex() is not None:
                    return finished
                changed = False
                for first in range(0, tiles, step):
                    last = min(first + step, tiles)
                    changed |= any(run_team(threads, prepare))
                    advance(last - first)
                matrix.swap(other)
                if method.early_stop and not changed:
                    return finished + 1
        return rounds

    return solve_matrix(graph, request, dtype, close, copies=2)
