"""All-pairs distances on OpenCL devices, by repeatedly squaring a matrix over (min, +).

A square goes from one matrix to another, some rows at a time; then the two are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.methods import RepeatedSquaring
from sssp.opencl.compiler import open_queue
from sssp.opencl.matrix.min_plus import DeviceMatrix, Product, check_matrices
from sssp.opencl.tiles import BLOCK


def solve(
    graph: Graph, request: MatrixRequest, method: RepeatedSquaring, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer the all-pairs `request` by at most ``request.squarings`` min-plus squarings.

    As `sssp.cpu.matrix.repeated_squaring.solve`.
    """
    with open_queue(request.device) as queue:

        def close(matrix: Matrix) -> int:
            check_matrices(queue, request, matrix.distances.dtype, copies=2)
            there = DeviceMatrix.of(queue, matrix)
            other = there.room()
            product = Product(queue, there.dtype, with_tails=there.tails is not None)
            rounds, side = 0, there.side
            step = queue.step_of(side * side * BLOCK) * BLOCK
            with progress_bar(request.squarings * side, request.progress, "row") as advance:
                while rounds < request.squarings:
                    rounds += 1
                    for first in range(0, side, step):
                        rows, part = min(step, side - first), there.part(first, 0)
                        whole, out = there.part(0, 0), other.part(first, 0)
                        product(out, part, part, whole, (rows, side, side))
                        queue.finish()
                        advance(rows)
                    there, other = other, there
                    if method.early_stop and not there.differs_from(other):
                        break
            there.copy_to(matrix)
            return rounds

        return solve_matrix(graph, request, dtype, close)
