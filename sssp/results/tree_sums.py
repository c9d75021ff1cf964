"""Sums along shortest-path trees: one pass from the root down, or from the leaves up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.graph.checks import is_sparse
from sssp.graph.csr import arc_position
from sssp.kernels.dtypes import INDEX, OFFSET
from sssp.kernels.jit import njit
from sssp.results.rows import dense_row, stored_row

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = ["Tree", "add_at", "arcs_between"]


@njit
def _arcs_kernel(indptr, indices, tails, heads, arcs):
    """Find the arc from every tail to its head; -1 where there is no tail."""
    for i in range(heads.size):
        tail = tails[i]
        arcs[i] = -1 if tail < 0 else arc_position(indptr, indices, tail, heads[i])


@njit
def _order_kernel(tails):
    """Return the vertices that have a tail, every one after its own."""
    n = tails.size
    order = np.empty(n, np.int32)
    placed = np.zeros(n, np.bool_)
    climb = np.empty(n, np.int32)
    size = 0
    for start in range(n):
        height = 0
        vertex = start
        while not placed[vertex] and tails[vertex] >= 0:
            climb[height] = vertex
            height += 1
            vertex = tails[vertex]
        for i in range(height - 1, -1, -1):
            order[size] = climb[i]
            placed[climb[i]] = True
            size += 1
    return order[:size]


@njit
def _skim_kernel(tails, arcs, order, values, sums):
    """Add `values` of the arcs along every tree path into `sums`, which is 0 at the roots."""
    for head in order:
        sums[head] = sums[tails[head]] + values[arcs[head]]


@njit
def add_at(sums, places, values):
    """``numpy.add.at`` of one axis, which warns of nothing: whoever calls looks at the sums."""
    for i in range(places.size):
        sums[places[i]] += values[i]


@njit
def _load_kernel(tails, arcs, order, flows, loads):
    """Send the flow of every vertex up its tree path, adding it to `loads` of the arcs."""
    for i in range(order.size - 1, -1, -1):
        head = order[i]
        loads[arcs[head]] += flows[head]
        flows[tails[head]] += flows[head]


def arcs_between(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> NDArray[np.int64]:
    """Return the arc from every tail to its head, which must exist; -1 for a tail of -1."""
    arcs: NDArray[np.int64] = np.empty(heads.size, OFFSET)
    _arcs_kernel(graph.indptr, graph.indices, tails, heads, arcs)
    return arcs


@dataclass(frozen=True)
class Tree:
    """The tree of one row, over the vertices that are stored of it; costs nothing in the others.

    Attributes
    ----------
    vertices : ndarray, shape (s,), or None
        The stored vertices, ascending; None: all of the graph.
    tails : ndarray, shape (s,), int32
        Place of the tail of every one among them; -1 for roots, and for what is not reached.
    arcs : ndarray, shape (s,), int64
        The arc from there.
    order : ndarray, int32
        Places of those that have a tail, each after its tail.
    """

    vertices: NDArray[Any] | None
    tails: NDArray[np.int32]
    arcs: NDArray[np.int64]
    order: NDArray[np.int32]

    @classmethod
    def of(cls, graph: Graph, predecessors: Any, row: int, rows: int) -> Tree:
        """Return the tree of a row of predecessors."""
        if is_sparse(predecessors):
            return cls.of_stored(graph, *stored_row(predecessors, row))
        tails = dense_row(predecessors, row, rows, -1)
        arcs = arcs_between(graph, tails, np.arange(graph.n, dtype=INDEX))
        return cls(None, tails, arcs, _order_kernel(tails))

    @classmethod
    def of_stored(cls, graph: Graph, vertices: NDArray[Any], tails: NDArray[np.int32]) -> Tree:
        """Return the tree of some vertices, ascending, whose tails are among them."""
        places = np.searchsorted(vertices, tails).astype(INDEX)
        places[tails < 0] = -1
        return cls(vertices, places, arcs_between(graph, tails, vertices), _order_kernel(places))

    def places(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Return where `vertices` stand, which must be stored."""
        return vertices if self.vertices is None else np.searchsorted(self.vertices, vertices)

    def skim(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of `values` of the arcs on the way to every place."""
        sums = np.zeros(self.tails.size, values.dtype)
        _skim_kernel(self.tails, self.arcs, self.order, values, sums)
        return sums

    def load(self, places: NDArray[Any], volumes: NDArray[Any], loads: NDArray[Any]) -> None:
        """Add the flow of `volumes`, from the root to `places`, to `loads` of the arcs."""
        flows = np.zeros(self.tails.size, volumes.dtype)
        add_at(flows, places, volumes)
        _load_kernel(self.tails, self.arcs, self.order, flows, loads)
