"""Rows that were solved on the CPU, and what the forms of an answer ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.forms import Entries
from sssp.engine.narrow import convert_into
from sssp.engine.query import Reduction
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit

__all__ = ["HostRows"]

#: one vertex of so many from which on looking at all is faster than sorting those
MANY = 16


@njit
def _paths_kernel(targets, predecessors, vertices):
    """Write down every vertex on a path to a target once; return how many there are.

    Its predecessor p becomes ``-3 - p``, so that it is not taken twice.
    """
    count = 0
    for target in targets:
        vertex = target
        while vertex >= 0 and predecessors[vertex] >= -1:
            vertices[count] = vertex
            count += 1
            tail = predecessors[vertex]
            predecessors[vertex] = -3 - tail
            vertex = tail
    return count


@njit
def _greatest_kernel(values, vertices):
    greatest = values[vertices[0]]  # a source at least is reached
    for vertex in vertices:
        greatest = max(greatest, values[vertex])
    return greatest


@njit
def _float_sum_kernel(values, vertices):
    """Sum in order of vertex, which is the same whatever method found them."""
    total = 0.0
    for vertex in vertices:
        total += values[vertex]
    return total


@njit
def _integer_sum_kernel(values, vertices):
    """Sum in two halves that cannot overflow."""
    high, low = np.int64(0), np.int64(0)
    for vertex in vertices:
        value = np.int64(values[vertex])
        high += value >> 32
        low += value & 0xFFFFFFFF
    return high, low


@dataclass
class HostRows:
    """Finished rows on the host.

    Attributes
    ----------
    rows : range
        Which rows of the query.
    targets : ndarray, int64, or None
        The columns that the query wants; None: all.
    distances : ndarray, shape (rows, n), any strides
    reached : list of ndarray, int32
        Of each row the vertices with a distance, in any order.
    predecessors : ndarray, shape (rows, n), int32, or None
        `paths` marks what it has seen in there.
    branches : list of tuple of two ndarrays, int32, or None
        Of each row the vertices on the paths to the targets, ascending, and their predecessors,
        if they were found alone.
    origin : ndarray, shape (n,), int32, or None
    """

    rows: range
    targets: NDArray[np.int64] | None
    distances: NDArray[Any]
    reached_vertices: list[NDArray[np.int32]]
    predecessors: NDArray[np.int32] | None = None
    branches: list[tuple[NDArray[np.int32], NDArray[np.int32]]] | None = None
    origin: NDArray[np.int32] | None = None

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Write the columns that the query wants, unless they were found in place."""
        if self.targets is not None:
            convert_into(self.distances[:, self.targets], out)
        elif not np.may_share_memory(out, self.distances):
            convert_into(self.distances, out)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """Write the predecessors, unless they were found in place."""
        assert self.predecessors is not None
        if not np.may_share_memory(out, self.predecessors):
            out[...] = self.predecessors

    def reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances, and predecessors if wanted."""
        rows = [self._in_order(i) for i in range(len(self.reached_vertices))]
        trees = None if self.predecessors is None or not tails else self.predecessors
        return Entries(
            np.array([row.size for row in rows], np.int64),
            _joined(rows),
            _joined([self.distances[i, row] for i, row in enumerate(rows)]),
            None if trees is None else _joined([trees[i, row] for i, row in enumerate(rows)]),
        )

    def paths(self) -> Entries:
        """Return the vertices on the paths to the targets with their predecessors."""
        branches = self._cut_branches() if self.branches is None else self.branches
        counts = np.array([vertices.size for vertices, _ in branches], np.int64)
        vertices, tails = map(list, zip(*branches, strict=True))
        return Entries(counts, _joined(vertices), None, _joined(tails))

    def _cut_branches(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Return what the predecessors of each row hold of the paths to the targets."""
        assert self.predecessors is not None
        assert self.targets is not None
        branches = []
        for i, predecessors in enumerate(self.predecessors):
            ends = self.targets[self.distances[i, self.targets] != unreached(self.distances.dtype)]
            vertices = np.empty(self.reached_vertices[i].size, INDEX)
            count = _paths_kernel(ends, predecessors, vertices)
            vertices = np.sort(vertices[:count])
            branches.append((vertices, -3 - predecessors[vertices]))
        return branches

    def reduced(self, reduction: Reduction) -> NDArray[Any]:
        """Return one number a row; of an integer sum its halves, shape (rows, 2)."""
        what, weights = reduction.what, reduction.vertex_weights
        if what == "count":
            return np.array([vertices.size for vertices in self.reached_vertices])
        found = []
        for i, vertices in enumerate(self.reached_vertices):
            values = self.distances[i] if weights is None else weights
            if what == "eccentricity":
                found.append(_greatest_kernel(values, vertices))
            elif values.dtype.kind == "f":
                found.append(_float_sum_kernel(values, self._in_order(i)))
            else:
                found.append(_integer_sum_kernel(values, vertices))
        return np.array(found)

    def _in_order(self, i: int) -> NDArray[np.int32]:
        """Return the reached vertices of a row in order."""
        vertices, distances = self.reached_vertices[i], self.distances[i]
        if vertices.size * MANY < distances.size:
            return np.sort(vertices)
        return np.flatnonzero(distances != unreached(distances.dtype)).astype(INDEX)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
