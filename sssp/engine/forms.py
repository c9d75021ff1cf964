"""What becomes of a finished row: the forms that an answer can take."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sssp.engine.query import Answer, Query, Reduction
from sssp.errors import DistanceOverflowError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, unreached
from sssp.kernels.jit import njit

__all__ = [
    "REMEDY",
    "Collector",
    "DenseCollector",
    "ReductionCollector",
    "Row",
    "SparseCollector",
    "joined_halves",
    "make_collector",
]

#: what to do about a distance that does not fit int32
REMEDY = "use dtype='int64', or None to let the call choose"


@dataclass
class Row:
    """One finished search.

    Attributes
    ----------
    distances : ndarray, shape (n,)
    reached : ndarray, shape (r,), int32
        Vertices with a distance, in any order.
    predecessors, origin : ndarray, shape (n,), int32, or None
    """

    distances: NDArray[Any]
    reached: NDArray[np.int32]
    predecessors: NDArray[np.int32] | None = None
    origin: NDArray[np.int32] | None = None


class Collector(Protocol):
    """Takes rows, from several threads at once and in any order, and makes the answer."""

    nbytes: int

    def distance_row(self, i: int) -> NDArray[Any] | None:
        """Where the search may write its distances; None: into its scratch."""

    def predecessor_row(self, i: int) -> NDArray[np.int32] | None:
        """Where the predecessors go; None: into scratch."""

    def take(self, i: int, row: Row) -> None:
        """Keep what the answer needs of row `i`."""

    def answer(self) -> Answer:
        """Return the answer once all rows are in."""


def make_collector(graph: Graph, query: Query, dtype: np.dtype[Any]) -> Collector:
    """Return the collector for the form of answer that `query` wants."""
    if query.reduction is not None:
        return ReductionCollector(query, query.reduction, dtype)
    if query.output == "sparse":
        return SparseCollector(graph, query, dtype)
    return DenseCollector(graph, query, dtype)


class DenseCollector:
    """Rows of a matrix, over all vertices or over the targets."""

    def __init__(self, graph: Graph, query: Query, dtype: np.dtype[Any]) -> None:
        self.query, self.dtype = query, dtype
        columns = graph.n if query.targets is None else query.targets.size
        self.shape = query.rows, columns
        self._lock = threading.Lock()
        self._distances: NDArray[Any] | None = None
        self._predecessors: NDArray[np.int32] | None = None
        self.origin: NDArray[np.int32] | None = None
        self._n = graph.n
        distances = 0 if query.out is not None else query.rows * columns * dtype.itemsize
        trees = query.rows * graph.n * INDEX.itemsize if query.predecessors else 0
        self.nbytes = distances + trees

    @property
    def distances(self) -> NDArray[Any]:
        """The matrix, made when the first row asks for it: after memory was planned."""
        with self._lock:
            if self._distances is None:
                out = self.query.out
                self._distances = np.empty(self.shape, self.dtype) if out is None else out
            return self._distances

    def distance_row(self, i: int) -> NDArray[Any] | None:
        """Row of the matrix itself where the search can write it."""
        return None if self.query.targets is not None else self._writable(self.distances[i])

    def distance_block(self, rows: range) -> NDArray[Any] | None:
        """Rows of the matrix itself, whatever its columns, if they can be written at once."""
        return self._writable(self.distances[rows.start : rows.stop])

    def _writable(self, part: NDArray[Any]) -> NDArray[Any] | None:
        fits = part.dtype == self.dtype and part.flags.c_contiguous and part.flags.aligned
        return part if fits else None

    def place(self, rows: range, distances: NDArray[Any]) -> None:
        """Copy several rows, over the columns of the answer, that were not written in place."""
        part = self.distances[rows.start : rows.stop]
        part[...] = _converted(distances, part.dtype)

    def predecessor_row(self, i: int) -> NDArray[np.int32]:
        """Row of the matrix of predecessors."""
        row: NDArray[np.int32] = self.predecessor_block(range(i, i + 1))[0]
        return row

    def predecessor_block(self, rows: range) -> NDArray[np.int32]:
        """Rows of the matrix of predecessors."""
        with self._lock:
            if self._predecessors is None:
                self._predecessors = np.empty((self.shape[0], self._n), INDEX)
            block: NDArray[np.int32] = self._predecessors[rows.start : rows.stop]
            return block

    def take(self, i: int, row: Row) -> None:
        """Copy what was not written in place."""
        self.origin = row.origin
        if self.distance_row(i) is not None:
            return
        values = row.distances
        if self.query.targets is not None:
            values = values[self.query.targets]
        self.distances[i] = _converted(values, self.distances.dtype)

    def answer(self) -> Answer:
        """Return the matrix, in the dtype that the call fixed or in the narrowest that fits."""
        distances = self.distances
        if self.query.out is None:
            distances = _narrowed(distances, self.query.dtype)
        predecessors = self._predecessors
        if predecessors is None and self.query.predecessors:
            predecessors = np.empty((self.shape[0], self._n), INDEX)
        return Answer(distances, predecessors, self.origin)


class SparseCollector:
    """The reached vertices of every row, in order of vertex."""

    def __init__(self, graph: Graph, query: Query, dtype: np.dtype[Any]) -> None:
        self.shape = query.rows, graph.n
        self.query, self.dtype = query, dtype
        self.nbytes = 0
        self._rows: list[tuple[NDArray[Any], ...]] = [()] * query.rows
        self.origin: NDArray[np.int32] | None = None

    def distance_row(self, i: int) -> None:
        """Nothing: the search writes into its scratch."""

    def predecessor_row(self, i: int) -> None:
        """Nothing: the search writes into its scratch."""

    def take(self, i: int, row: Row) -> None:
        """Keep vertices and distances, and predecessors where wanted."""
        vertices = np.sort(row.reached)
        tails = None if row.predecessors is None else row.predecessors[vertices]
        self.keep(i, vertices, row.distances[vertices], tails)
        self.origin = row.origin

    def keep(
        self,
        i: int,
        vertices: NDArray[np.int32],
        distances: NDArray[Any],
        tails: NDArray[np.int32] | None,
    ) -> None:
        """Keep what row `i` reached, in order of vertex."""
        self._rows[i] = (vertices, distances) if tails is None else (vertices, distances, tails)

    def answer(self) -> Answer:
        """Return the matrices; a stored zero is a source's own distance."""
        counts = [row[0].size for row in self._rows]
        indptr = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        indices = _joined(self._rows, 0, INDEX)
        values = _narrowed(_joined(self._rows, 1, self.dtype), self.query.dtype)
        distances = csr_array((values, indices, indptr), shape=self.shape)
        predecessors = None
        if self.query.predecessors:
            tails = _joined(self._rows, 2, INDEX)
            predecessors = csr_array((tails, indices, indptr), shape=self.shape)
        return Answer(distances, predecessors, self.origin)


def _joined(rows: list[tuple[NDArray[Any], ...]], part: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.concatenate([row[part] for row in rows] or [np.empty(0, dtype)])


class ReductionCollector:
    """One number a row."""

    def __init__(self, query: Query, reduction: Reduction, dtype: np.dtype[Any]) -> None:
        self.reduction = reduction
        values = dtype if reduction.vertex_weights is None else reduction.vertex_weights.dtype
        floats = values.kind == "f" and reduction.what != "count"
        self.values = np.zeros(query.rows, FLOAT64 if floats else INT64)
        self.nbytes = self.values.nbytes

    def distance_row(self, i: int) -> None:
        """Nothing: the search writes into its scratch."""

    def predecessor_row(self, i: int) -> None:
        """Nothing: the search writes into its scratch."""

    def take(self, i: int, row: Row) -> None:
        """Reduce the row."""
        what, weights = self.reduction.what, self.reduction.vertex_weights
        if what == "count":
            self.values[i] = row.reached.size
        elif what == "eccentricity":
            self.values[i] = _greatest_kernel(row.distances, row.reached)
        else:
            values = row.distances if weights is None else weights
            if values.dtype.kind == "f":
                self.values[i] = _float_sum_kernel(values, row.reached)
            else:
                self.values[i] = joined_halves(*_integer_sum_kernel(values, row.reached))

    def answer(self) -> Answer:
        """Return the numbers."""
        return Answer(self.values)


@njit
def _greatest_kernel(values, vertices):
    greatest = values[vertices[0]]  # a source at least is reached
    for vertex in vertices:
        greatest = max(greatest, values[vertex])
    return greatest


@njit
def _float_sum_kernel(values, vertices):
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


def joined_halves(high: Any, low: Any) -> int:
    """Return the sum of integers, from the sums of their upper and of their lower 32 bits.

    Raises
    ------
    DistanceOverflowError
        It does not fit int64.
    """
    total = (int(high) << 32) + int(low)
    if not -(1 << 63) <= total < 1 << 63:
        raise DistanceOverflowError(f"a sum of {total} does not fit int64")
    return total


@njit
def _greatest_reached(values, unreached_value):
    greatest = values.dtype.type(0)
    for value in values:
        if value != unreached_value and abs(value) > greatest:
            greatest = abs(value)
    return greatest


def _narrowed(values: NDArray[Any], asked: np.dtype[Any] | None) -> NDArray[Any]:
    """Bring int64 distances to int32 where the call asks for it, or leaves it open and all fit."""
    if values.dtype != INT64 or asked == INT64:
        return values
    greatest = _greatest_reached(values.reshape(-1), unreached(INT64))
    if asked is None and greatest >= unreached(INT32):
        return values
    return _converted(values, INT32)


def _converted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Bring distances to another dtype, sentinels included.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit an integer dtype.
    """
    if values.dtype == dtype:
        return values
    missing = values == unreached(values.dtype)
    if dtype == INT32:
        fits = missing | (np.abs(values) < unreached(INT32))
        if not fits.all():
            raise DistanceOverflowError(
                f"a distance of {values[~fits].flat[0]} does not fit int32; {REMEDY}"
            )
    return np.where(missing, unreached(dtype), values).astype(dtype)
