"""Checks of the columns that a graph is made from: vertices, weights, coordinates."""

from __future__ import annotations

import math
from numbers import Integral
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import DistanceOverflowError, VertexError
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, narrow_weights

__all__ = [
    "MOST_VERTICES",
    "coordinate_pairs",
    "refuse_mask",
    "scaled_weights",
    "vertex_column",
    "vertex_count",
    "weight_column",
    "within",
]

Array = NDArray[Any]

#: as many vertices as ``indices`` can name
MOST_VERTICES = int(np.iinfo(INDEX).max)


def refuse_mask(values: Any, name: str) -> None:
    """Refuse a masked array.

    Raises
    ------
    TypeError
        It is one; the message says what to do.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, which does not say what stands behind the mask: "
            "pass values.filled(...), or values.compressed()"
        )


def vertex_column(values: ArrayLike, name: str) -> Array:
    """Check that `values` is a column of integers (not yet that they are vertices)."""
    column: Array = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{name}s must be one-dimensional, not of shape {column.shape}")
    if column.size == 0:
        return np.empty(0, INDEX)
    if column.dtype.kind not in "iu":
        raise TypeError(
            f"{name}s must be integers counted from 0, not {column.dtype}; "
            "other names of vertices are given as labels"
        )
    return column


def vertex_count(
    n: SupportsIndex | None,
    tails: Array,
    heads: Array,
    coordinates: ArrayLike | None,
    labels: Any,
) -> int:
    """Return the number of vertices: `n` if given, else what the other arguments imply."""
    if n is not None:
        count = index(n)
        if count < 0:
            raise ValueError(f"n must not be negative, but is {count}")
    elif labels is not None and hasattr(labels, "__len__"):
        count = len(labels)
    elif coordinates is not None:
        count = len(np.asarray(coordinates))
    else:
        count = max((int(column.max()) + 1 for column in (tails, heads) if column.size), default=0)
    if count > MOST_VERTICES:
        raise ValueError(
            f"{count} vertices are more than {MOST_VERTICES}, the most that fit int32; "
            "if these are names rather than numbers 0..n-1, give them as labels"
        )
    return count


def within(column: Array, n: int, name: str) -> NDArray[np.int32]:
    """Return a column of vertices as int32 after checking that all are in ``0..n-1``."""
    if column.size and (column.min() < 0 or column.max() >= n):
        row = int(np.flatnonzero((column < 0) | (column >= n))[0])
        raise VertexError(
            f"{name} {column[row]} in row {row} is no vertex of a graph with n = {n} "
            "(vertices count from 0)"
        )
    return np.ascontiguousarray(column, INDEX)


def weight_column(values: ArrayLike) -> Array:
    """Return weights in the dtype that a graph stores, as a new array without NaN and -inf."""
    column: Array = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"weights must be one-dimensional, not of shape {column.shape}")
    if not hasattr(values, "dtype"):
        column = _exact(column, values)
    weights = narrow_weights(column)
    if weights.dtype.kind == "f":
        refused = np.isnan(weights) | (weights == -np.inf)
        if refused.any():
            row = int(np.flatnonzero(refused)[0])
            raise ValueError(
                f"the weight in row {row} is {weights[row]}; a missing arc has weight +inf"
            )
    return weights


def _exact(column: Array, values: Any) -> Array:
    """Catch what NumPy makes of plain Python numbers: floats of large integers, and of nothing."""
    if column.size == 0:
        return column.astype(INT64)
    if column.dtype.kind in "fO" and all(isinstance(value, Integral) for value in values):
        worst = max(values, key=abs)
        raise DistanceOverflowError(f"weight {worst} does not fit int64")
    return column


def coordinate_pairs(coordinates: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Return coordinates as a new float64 array of shape (n, 2), all finite."""
    if coordinates is None:
        return None
    pairs = np.array(coordinates, dtype=FLOAT64, order="C")
    if n == 0 and pairs.size == 0:
        return pairs.reshape(0, 2)
    if pairs.shape != (n, 2):
        raise ValueError(
            f"coordinates must have shape ({n}, 2), longitude and latitude of each vertex, "
            f"not {pairs.shape}"
        )
    if not np.isfinite(pairs).all():
        vertex = int(np.flatnonzero(~np.isfinite(pairs).all(axis=1))[0])
        raise ValueError(f"the coordinates of vertex {vertex} are not finite: {pairs[vertex]}")
    return pairs


def scaled_weights(weights: Array, factor: float) -> NDArray[np.int64]:
    """Return ``rint(weights * factor)``, exact where both are whole numbers."""
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"the factor must be a finite number above zero, not {factor}")
    if weights.size == 0:
        return np.empty(0, INT64)
    limits = np.iinfo(INT64)
    whole = weights.dtype.kind == "i" and factor == int(factor)
    if whole:
        multiple = int(factor)
        extremes = [int(weights.min()) * multiple, int(weights.max()) * multiple]
        if limits.min <= extremes[0] and extremes[1] <= limits.max:
            return weights.astype(INT64) * multiple
    else:
        with np.errstate(over="ignore"):
            products = np.rint(weights * float(factor))
        extremes = [products.min().item(), products.max().item()]
        # (2^63 is a float, iinfo.max is not.)
        if extremes[0] >= -(2.0**63) and extremes[1] < 2.0**63:
            return products.astype(INT64)
    raise DistanceOverflowError(
        f"weights from {weights.min()} to {weights.max()} times {factor} do not fit int64; "
        "take a smaller factor"
    )
