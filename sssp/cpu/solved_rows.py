"""Solved rows of a request (distances, trees, paths) in host memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.float_sums import ordered_sums
from sssp.engine.narrow import convert_into
from sssp.engine.outputs import Entries
from sssp.engine.reductions import Step, least_number
from sssp.engine.request import Walks
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.jit import njit

#: one vertex of so many from which on looking at all is faster than sorting those
MANY = 16


@njit
def reached_kernel(distances, unseen, vertices):
    """Fill `vertices`, whose size is the reached count, with the reached vertices, ascending."""
    place = 0
    for vertex in range(distances.size):
        if place == vertices.size:
            break
        vertices[place] = vertex
        place += distances[vertex] != unseen


@njit
def _paths_kernel(targets, predecessors, vertices):
    """List the vertices on the paths to some targets, each once; return their number.

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
def _reduce_kernel(distances, unseen, weights, vertices, greatest, halves):
    """Count the reached `vertices`, sum distances or weights, and find the greatest distance.

    That is `greatest` if none is reached. Sum integer distances, or columns of weights, in two
    halves that cannot overflow.
    """
    count = 0
    for vertex in vertices:
        if distances[vertex] == unseen:
            continue
        count += 1
        greatest = max(greatest, distances[vertex])
        for column in range(halves.shape[0]):
            # (not in one expression, which would have the type of both: a float)
            if weights is None:
                value = np.int64(distances[vertex])
            else:
                value = np.int64(weights[vertex, column])
            halves[column, 0] += value >> 32
            halves[column, 1] += value & 0xFFFFFFFF
    return count, greatest


@dataclass
class HostRows:
    """Solved rows of a request in host memory: distances, with predecessors or paths.

    Attributes
    ----------
    rows : range
        Which rows of the request.
    targets : ndarray of integers, or None
        The columns that the request wants; None: all.
    distances : ndarray, shape (rows, n), any strides
    reached : list of ndarray, int32
        Of each row the vertices with a distance, in any order.
    predecessors : ndarray, shape (rows, n), int32, or None
        `paths` marks what it has seen in there.
    branches : Entries or None
        The vertices on the paths to the targets, ascending, and their predecessors, if they were
        found alone.
    origin : ndarray, shape (n,), int32, or None
    walks : Walks or None
        Of trips: the paths to the targets.
    places : ndarray of integers, or None
        Positions of the targets among those that are requested, if some are left out.
    """

    rows: range
    targets: NDArray[Any] | None
    distances: NDArray[Any]
    reached_vertices: list[NDArray[np.int32]]
    predecessors: NDArray[np.int32] | None = None
    branches: Entries | None = None
    origin: NDArray[np.int32] | None = None
    walks: Walks | None = None
    places: NDArray[np.int64] | None = None

    def drop_unreached(self, is_target: NDArray[np.bool_]) -> None:
        """Remove unreached targets to save time; do nothing if the search reached many vertices."""
        assert self.targets is not None
        if self._are_few(0):
            (reached,) = self.reached_vertices
            some = np.sort(reached[is_target[reached]])
            self.places, self.targets = np.searchsorted(self.targets, some), some

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Write the requested columns' distances to `out`, unless they were computed in place."""
        if self.targets is not None:
            for distances, row in zip(self.distances, out, strict=True):
                if distances.dtype == out.dtype:
                    # (NumPy fills a copy of `out` first where it might still refuse a place)
                    np.take(distances, self.targets, out=row, mode="clip")
                else:
                    convert_into(distances[self.targets], row)
        elif not np.may_share_memory(out, self.distances):
            convert_into(self.distances[:, : out.shape[1]], out)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """Copy the predecessors to `out`, unless the search wrote them directly into `out`."""
        assert self.predecessors is not None
        if not np.may_share_memory(out, self.predecessors):
            out[...] = self.predecessors

    def list_reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances, and predecessors if requested."""
        rows, unseen = [], unreached(self.distances.dtype)
        for i, vertices in enumerate(self.reached_vertices):
            if self._are_few(i):
                rows.append(np.sort(vertices))
            else:
                rows.append(np.flatnonzero(self.distances[i] != unseen).astype(INDEX))
        counts = np.array([row.size for row in rows], np.int64)
        distances = _join([self.distances[i, row] for i, row in enumerate(rows)])
        if self.predecessors is None or not tails:
            return Entries(counts, _join(rows), distances, None)
        trees = _join([self.predecessors[i, row] for i, row in enumerate(rows)])
        return Entries(counts, _join(rows), distances, trees)

    def paths(self) -> Entries:
        """Return for each row the vertices on the paths to targets, and their predecessors."""
        if self.branches is not None:
            return self.branches
        assert self.predecessors is not None
        assert self.targets is not None
        rows, tails, unseen = [], [], unreached(self.distances.dtype)
        for i, predecessors in enumerate(self.predecessors):
            ends = self.targets[self.distances[i, self.targets] != unseen]
            found = np.empty(self.reached_vertices[i].size, INDEX)
            rows.append(np.sort(found[: _paths_kernel(ends, predecessors, found)]))
            tails.append(-3 - predecessors[rows[i]])
        counts = np.array([row.size for row in rows], np.int64)
        return Entries(counts, _join(rows), None, _join(tails))

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Reduce the distances of each row to the count, maximum or sum that `step` defines."""
        return np.array([self._reduce_row(i, step) for i in range(len(self.rows))])

    def _reduce_row(self, i: int, step: Step) -> Any:
        weights, distances = step.vertex_weights, self.distances[i]
        unseen = unreached(distances.dtype)
        if not step.is_exact(distances.dtype):
            some, places = self.targets, self.places
            if some is None and self._are_few(i):
                some = places = np.sort(self.reached_vertices[i])
            return ordered_sums(distances, unseen, some, weights, step.decay, places)
        vertices = self.reached_vertices[i] if self.targets is None else self.targets
        is_sum = step.number != "one" and step.combine != "max"
        halves: NDArray[np.int64] = np.zeros((step.columns * is_sum, 2), np.int64)
        least = least_number(step.dtype_of(distances.dtype))
        found = _reduce_kernel(distances, unseen, weights, vertices, least, halves)
        return halves if is_sum else found[step.number != "one"]

    def _are_few(self, i: int) -> bool:
        """Return True if sorting a row's reached vertices is faster than scanning the whole row."""
        return len(self.reached_vertices[i]) * MANY < len(self.distances[i])


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
