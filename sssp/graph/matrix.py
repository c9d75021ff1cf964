"""Dense matrices as input, and the graph that they describe."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import number_array
from sssp.graph.graph import Graph
from sssp.graph.weights import integer_dtype
from sssp.kernels.dtypes import FLOAT64, INT64, WeightRange
from sssp.kernels.locks import Derived

#: entries that are looked through at a time
BLOCK = 1 << 20


def as_matrix(values: Any) -> NDArray[Any]:
    """Check that a dense matrix is square and numeric, and return it as an array.

    Raises
    ------
    TypeError
        Neither integers, booleans nor floats; or a masked array.
    DistanceOverflowError
        An integer that fits no dtype.
    ValueError
        Not square.
    """
    matrix = number_array(values, "the matrix's entries")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a matrix must be square, not of shape {matrix.shape}")
    return matrix


def weight_range(matrix: NDArray[Any]) -> WeightRange:
    """Return dtype, least and greatest weight of a matrix; raise an error at NaN or -infinity.

    Raises
    ------
    ValueError
        An entry that is NaN or minus infinity; the message names the first.
    DistanceOverflowError
        An integer that does not fit int64.
    """
    floats = matrix.dtype.kind == "f"
    least: Any = math.inf
    greatest: Any = 0
    for first, rows in _blocks(matrix):
        low = rows.min().item()
        if floats and not low > -np.inf:
            row, column = np.argwhere(~(rows > -np.inf))[0]
            raise ValueError(
                f"entry ({first + row}, {column}) of the matrix is {rows[row, column]}; "
                "where there is no arc write inf (or 0)"
            )
        high = rows.max(where=rows < np.inf, initial=0).item() if floats else rows.max().item()
        least, greatest = min(least, low), max(greatest, high)
    least = 0 if least == math.inf else least
    if floats:
        return WeightRange(FLOAT64, float(least), float(greatest))
    if greatest > np.iinfo(INT64).max:
        raise DistanceOverflowError(f"weight {greatest} does not fit int64")
    return WeightRange(integer_dtype(least, greatest), int(least), int(greatest))


def _blocks(matrix: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield blocks of rows of a matrix, each with the index of its first row."""
    step = max(1, BLOCK // max(1, len(matrix)))
    for first in range(0, len(matrix), step):
        yield first, matrix[first : first + step]


def mark_arcs(rows: NDArray[Any], zero_is_arc: bool) -> NDArray[np.bool_]:
    """Return a mask of the matrix entries that stand for arcs, self-loops included."""
    arcs = np.ones(rows.shape, np.bool_) if zero_is_arc else rows != 0
    if rows.dtype.kind == "f":
        arcs &= rows < np.inf
    return arcs


class MatrixGraph(Graph):
    """The graph of a dense matrix; its arcs are built when they are first used.

    The matrix itself is not copied, so it must not change before that.
    """

    __slots__ = ("_matrix", "_zero_is_arc")

    _matrix: NDArray[Any]
    _zero_is_arc: bool

    @classmethod
    def of(cls, matrix: NDArray[Any], zero_is_arc: bool) -> MatrixGraph:
        """Return the graph of a checked matrix.

        Parameters
        ----------
        matrix : ndarray, shape (n, n)
        zero_is_arc : bool
            Whether an off-diagonal 0 is an arc of weight 0 instead of none.
        """
        self = object.__new__(cls)
        fields = {"n": len(matrix), "_matrix": matrix, "_zero_is_arc": zero_is_arc}
        fields |= {"_derived": Derived(), "turns": None}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return self

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype, least and greatest weight of the matrix, found without building the graph."""
        return self._cached("weight range", lambda: weight_range(self._matrix))

    def _count_entries(self) -> int:
        """Count the entries that are arcs or loops, without building the graph."""
        parts = (mark_arcs(rows, self._zero_is_arc) for _, rows in _blocks(self._matrix))
        return sum(int(np.count_nonzero(part)) for part in parts)

    def without_closed_arcs(self) -> MatrixGraph:
        """Return this same graph, because a matrix has no closed arcs."""
        return self

    def __getattr__(self, name: str) -> Any:
        # called only for what is not there yet
        if name not in Graph.__slots__ or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._derived.lock:
            made = self._build()
            for slot in Graph.__slots__:
                if slot not in ("__weakref__", "_derived", "n", "turns"):
                    object.__setattr__(self, slot, getattr(made, slot))
        return object.__getattribute__(self, name)

    def _build(self) -> Graph:
        """Build the graph, with an arc or loop for each entry that `mark_arcs` marks."""
        arcs = mark_arcs(self._matrix, self._zero_is_arc)
        tails, heads = np.nonzero(arcs)
        return Graph.from_arcs(tails, heads, self._matrix[arcs], n=self.n)
