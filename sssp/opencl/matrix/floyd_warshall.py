"""Blocked Floyd-Warshall by OpenCL; the algorithm of `sssp.cpu.matrix.floyd_warshall`.

A round closes the block on the diagonal in one work-group; then the block's rows and columns meet
it, and all other tiles meet those, by min-plus products. Where several tiles share a side of the
block, or carry tails along, the rows and columns are read from copies: what one reads another may
have written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cpu.matrix.matrix_driver import Matrix, solve_matrix
from sssp.engine.matrix_request import MatrixRequest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.methods import FloydWarshall
from sssp.opencl.compiler import number_macros, open_queue
from sssp.opencl.matrix.min_plus import NONE, DeviceMatrix, Part, Product, check_matrices
from sssp.opencl.tiles import BLOCK

#: items along a side of the group that closes a block on a GPU
SIDE = 16


class Rounds:
    """The kernels and buffers that the rounds of blocked Floyd-Warshall use on one matrix."""

    def __init__(self, matrix: DeviceMatrix) -> None:
        queue, dtype, side, stride = matrix.queue, matrix.dtype, matrix.side, matrix.stride
        self.matrix, self.queue, self.tails = matrix, queue, matrix.tails is not None
        self.product = Product(queue, dtype, with_tails=self.tails)
        self.items = 1 if queue.device.is_cpu else SIDE
        self.close_block = queue.kernel(
            "floyd_warshall", "close_block", **number_macros(dtype, 1), SIDE=self.items,
            PER=BLOCK // self.items, TAILS=int(self.tails),
            UNROLL='_Pragma("unroll")' if self.items > 1 else "",
        )  # fmt: skip
        tails = queue.empty(BLOCK * stride, INDEX) if self.tails else None
        self.rows = Part(queue.empty(BLOCK * stride, dtype), tails, 0, stride)
        self.columns = Part(queue.empty(side * BLOCK, dtype), None, 0, BLOCK)

    def queue_round(self, block: int) -> None:
        """Queue one Floyd-Warshall round: diagonal block, its rows and columns, other tiles."""
        matrix, product, side, first = self.matrix, self.product, self.matrix.side, block * BLOCK
        corner, whole = matrix.part(first, first), matrix.part(0, 0)
        rows, columns = matrix.part(first, 0), matrix.part(0, first)
        group = (self.items, self.items)
        tails = [matrix.tails] if self.tails else []
        at, stride = np.uint64(corner.at), np.uint32(corner.stride)
        self.close_block(group, group, matrix.flat, at, stride, *tails)
        a, b = columns, rows
        if self.tails or product.tile.sides != (BLOCK, BLOCK):
            a, b = self.columns, self.rows
            for to, of in ((b.flat, rows.flat), (b.tails, rows.tails)):
                if to is not None:
                    offset = rows.at * (to.size // (BLOCK * rows.stride))
                    self.queue.copy(to, of, src_offset=offset, byte_count=to.size)
            itemsize = matrix.dtype.itemsize
            self.queue.copy(
                a.flat, columns.flat, src_origin=(columns.at * itemsize, 0, 0),
                dst_origin=(0, 0, 0), region=(BLOCK * itemsize, side, 1),
                src_pitches=(columns.stride * itemsize,), dst_pitches=(BLOCK * itemsize,),
            )  # fmt: skip
        product(rows, rows, corner, b, (BLOCK, side, BLOCK), skip=(NONE, block))
        product(columns, columns, a, corner, (side, BLOCK, BLOCK), skip=(block, NONE))
        product(whole, whole, columns, rows, (side, side, BLOCK), skip=(block, block))


def solve(
    graph: Graph, request: MatrixRequest, method: FloydWarshall, dtype: np.dtype[Any]
) -> Answer | None:
    """Compute all-pairs distances by blocked Floyd-Warshall on an OpenCL device."""
    with open_queue(request.device) as queue:

        def close(matrix: Matrix) -> int:
            check_matrices(queue, request, matrix.distances.dtype, copies=1, strips=2)
            there = DeviceMatrix.of(queue, matrix)
            rounds, turns = -(-there.n // BLOCK), Rounds(there)
            step = queue.step_of(there.side * there.side * BLOCK)
            with progress_bar(rounds, request.progress, "round") as advance:
                for first in range(0, rounds, step):
                    part = range(first, min(first + step, rounds))
                    for block in part:
                        turns.queue_round(block)
                    queue.finish()
                    advance(len(part))
            there.copy_to(matrix)
            return rounds

        return solve_matrix(graph, request, dtype, close)
