"""Rows that were solved on the CPU, and what the forms of an answer ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.decay import ordered_sums
from sssp.engine.narrow import convert_into
from sssp.engine.outputs import Entries, least_number
from sssp.engine.request import Reduction, Walks
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
def _greatest_kernel(distances, vertices, greatest):
    for vertex in vertices:
        greatest = max(greatest, distances[vertex])
    return greatest


@njit
def _integer_sum_kernel(distances, weights, vertices, halves):
    """Add up distances, or columns of weights, in two halves that cannot overflow."""
    for vertex in vertices:
        for column in range(halves.shape[0]):
            # (not in one expression, which would have the type of both: a float)
            if weights is None:
                value = np.int64(distances[vertex])
            else:
                value = np.int64(weights[vertex, column])
            halves[column, 0] += value >> 32
            halves[column, 1] += value & 0xFFFFFFFF


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
    walks : Walks or None
        Of trips: the paths to the targets.
    """

    rows: range
    targets: NDArray[np.int64] | None
    distances: NDArray[Any]
    reached_vertices: list[NDArray[np.int32]]
    predecessors: NDArray[np.int32] | None = None
    branches: list[tuple[NDArray[np.int32], NDArray[np.int32]]] | None = None
    origin: NDArray[np.int32] | None = None
    walks: Walks | None = None

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
        """Return what a step of a reduction makes of each row, as `FinishedRows` says."""
        return np.array([self._reduced(i, reduction) for i in range(len(self.rows))])

    def _reduced(self, i: int, reduction: Reduction) -> Any:
        what, weights, distances = reduction.what, reduction.vertex_weights, self.distances[i]
        exact = reduction.is_exact(distances.dtype)
        vertices = self._counting(i, in_order=not exact)
        if what == "count":
            return vertices.size
        if what == "eccentricity":
            least = least_number(reduction.dtype_of(distances.dtype))
            return _greatest_kernel(distances, vertices, least)
        if not exact:
            unseen = unreached(distances.dtype)
            return ordered_sums(distances, unseen, vertices, weights, reduction.decay)
        halves: NDArray[np.int64] = np.zeros((reduction.columns, 2), np.int64)
        _integer_sum_kernel(distances, weights, vertices, halves)
        return halves

    def _counting(self, i: int, *, in_order: bool) -> NDArray[Any]:
        """Return the reached vertices of a row, of those that the query wants."""
        if self.targets is not None:
            unseen = unreached(self.distances.dtype)
            counting: NDArray[Any] = self.targets[self.distances[i, self.targets] != unseen]
            return counting
        return self._in_order(i) if in_order else self.reached_vertices[i]

    def _in_order(self, i: int) -> NDArray[np.int32]:
        """Return the reached vertices of a row in order."""
        vertices, distances = self.reached_vertices[i], self.distances[i]
        if vertices.size * MANY < distances.size:
            return np.sort(vertices)
        return np.flatnonzero(distances != unreached(distances.dtype)).astype(INDEX)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
