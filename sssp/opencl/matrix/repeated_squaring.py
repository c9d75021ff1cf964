"""Repeated squaring over (min, +) by OpenCL; the algorithm of `sssp.cpu.matrix.repeated_squaring`.

A square goes from one matrix to another, some rows at a time, and a flag on the device says whether
an entry fell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INT32
from sssp.methods import RepeatedSquaring
from sssp.opencl.compiler import open_queue
from sssp.opencl.matrix.min_plus import DeviceMatrix, Product, check_matrices
from sssp.opencl.tiles import BLOCK


def _square(product: Product, before: DeviceMatrix, after: DeviceMatrix, advance: Any) -> bool:
    """Make a square; return whether it differs."""
    queue, n, side = before.queue, before.n, before.side
    queue.fill(product.changed, 0, INT32)
    step = queue.step_of(side * side * BLOCK) * BLOCK
    for first in range(0, side, step):
        rows = min(step, side - first)
        part, size = before.part(first, 0), (rows, side, side)
        within = max(0, n - first), n
        product(after.part(first, 0), part, part, before.part(0, 0), size, within=within)
        queue.finish()
        advance(rows)
    return queue.flag(product.changed)


def solve(
    graph: Graph, request: MatrixRequest, method: RepeatedSquaring, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` with at most ``request.squarings`` products.

    As `sssp.cpu.matrix.repeated_squaring.solve`.
    """
    with open_queue(request.device) as queue:

        def close(matrix: Matrix) -> int:
            check_matrices(queue, request, matrix.distances.dtype, copies=2)
            there = DeviceMatrix.of(queue, matrix)
            other = there.room()
            product = Product(queue, there.dtype, with_tails=there.tails is not None)
            rounds = 0
            with progress_bar(request.squarings * there.side, request.progress, "row") as advance:
                while rounds < request.squarings:
                    rounds += 1
                    changed = _square(product, there, other, advance)
                    there, other = other, there
                    if method.early_stop and not changed:
                        break
            there.bring_back(matrix)
            return rounds

        return solve_matrix(graph, request, dtype, close)
