"""Sums along shortest-path trees: one pass from the root down, or from the leaves up."""

from __future__ import annotations

import numpy as np

from sssp.graph.csr import arc_position
from sssp.kernels.jit import njit

__all__ = ["load_kernel", "order_kernel", "skim_kernel"]


@njit
def order_kernel(predecessors):
    """Return the vertices that have a predecessor, every one after its own."""
    n = predecessors.size
    order = np.empty(n, np.int32)
    placed = np.zeros(n, np.bool_)
    climb = np.empty(n, np.int32)
    size = 0
    for start in range(n):
        height = 0
        vertex = start
        while not placed[vertex] and predecessors[vertex] >= 0:
            climb[height] = vertex
            height += 1
            vertex = predecessors[vertex]
        for i in range(height - 1, -1, -1):
            order[size] = climb[i]
            placed[climb[i]] = True
            size += 1
    return order[:size]


@njit
def skim_kernel(indptr, indices, predecessors, order, values, sums):
    """Add `values` of the arcs along every tree path into `sums`, which is 0 at the roots."""
    for head in order:
        tail = predecessors[head]
        sums[head] = sums[tail] + values[arc_position(indptr, indices, tail, head)]


@njit
def load_kernel(indptr, indices, predecessors, order, flows, loads):
    """Send the flow of every vertex up its tree path, adding it to `loads` of the arcs."""
    for i in range(order.size - 1, -1, -1):
        head = order[i]
        tail = predecessors[head]
        loads[arc_position(indptr, indices, tail, head)] += flows[head]
        flows[tail] += flows[head]
