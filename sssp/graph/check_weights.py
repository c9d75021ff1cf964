"""Checks of arc weights, and their conversion to the dtype that a graph stores.

Negative weights are stored like others, and only methods that cannot take them raise an error
(`refuse_negative`). Weights that are passed as a GPU array are checked in
`sssp.cuda.device_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sssp.errors import DistanceOverflowError, NegativeWeightError
from sssp.graph.check_arrays import refuse_mask
from sssp.graph.weights import INT64_RANGE, closed_weight, integer_dtype
from sssp.kernels.dtypes import FLOAT64, INT32, INT64, Array
from sssp.methods import Method


def weight_column(values: ArrayLike, count: int | None = None, of: str = "") -> Array:
    """Return weights as a column of integers, booleans or floats, without loss of precision.

    Parameters
    ----------
    values : array_like
    count, of : int and str, optional
        How many there have to be, and what they are the weights of.
    """
    refuse_mask(values, "weights")
    column: Array = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"weights must be one-dimensional, not of shape {column.shape}")
    if count is not None and column.size != count:
        raise ValueError(f"{column.size} weights for {count} {of}")
    if column.dtype.kind == "O" or not hasattr(values, "dtype"):
        # NumPy makes floats or objects of large Python integers, and floats of empty lists
        if column.size == 0:
            return column.astype(INT64)
        if column.dtype.kind in "fO":
            column = _exact_numbers(column, values)
    if column.dtype.kind not in "iubf":
        raise TypeError(f"weights must be integers or floats, not {column.dtype}")
    return column


def _exact_numbers(column: Array, values: Any) -> Array:
    """Convert numbers to int64 if all finite ones are integers, else to floats if all are real."""
    others = [value for value in values if not isinstance(value, Integral)]
    whole = all(isinstance(value, Real) and value == math.inf for value in others)
    try:
        if whole and len(others) < column.size:
            return np.array([int(v) if v != math.inf else INT64_RANGE.max for v in values], INT64)
        if column.dtype.kind == "O" and all(isinstance(value, Real) for value in values):
            return column.astype(FLOAT64)
    except OverflowError:
        raise too_large(values, INT64 if whole else FLOAT64) from None
    return column


def too_large(values: Iterable[Any], dtype: np.dtype[Any]) -> DistanceOverflowError:
    """Return the error for Python numbers that do not fit a dtype; it names the largest."""
    worst = max((value for value in values if abs(value) < math.inf), key=abs)
    return DistanceOverflowError(f"weight {worst} does not fit {dtype}")


def as_stored(column: Array, before: Array | None = None) -> Array:
    """Return a new column of weights in the dtype that a graph stores.

    Integers (and booleans) become int32 if all open ones fit, else int64; floats of any width
    become float64, with -0.0 turned into 0.0.

    Parameters
    ----------
    column : ndarray, shape (k,)
        As of `weight_column`. Infinity, and the greatest number of int64, close an arc.
    before : ndarray, shape (k,), optional
        What these arcs weighed. One that was closed and is given what it weighed stays closed.

    Raises
    ------
    ValueError
        NaN or minus infinity; the message names the row.
    DistanceOverflowError
        A number that does not fit.
    """
    stays = None
    if before is not None:
        closed = closed_weight(before.dtype)
        stays = (before == closed) & (column == closed)
    if column.dtype.kind != "f":
        return _store_integers(column, stays)
    with np.errstate(over="ignore"):
        weights = column.astype(FLOAT64)
    weights += 0.0
    if column.dtype.itemsize > FLOAT64.itemsize:
        lost = np.isinf(weights) & np.isfinite(column)
        if lost.any():
            # (to be formatted it would become a float64)
            raise DistanceOverflowError(f"weight {column[lost][0]!s} does not fit float64")
    if weights.size and not weights.min() > -np.inf:
        row = int(np.argmin(weights > -np.inf))
        raise ValueError(f"the weight in row {row} is {column[row]}; a closed arc has weight +inf")
    if stays is not None:
        weights[stays] = closed_weight(FLOAT64)
    return weights


def _store_integers(column: Array, stays: Array | None) -> Array:
    if column.size == 0:
        return column.astype(INT32)
    greatest = int(column.max())
    least = 0 if column.dtype.itemsize <= INT32.itemsize else int(column.min())
    if greatest > INT64_RANGE.max:
        raise DistanceOverflowError(f"weight {greatest} does not fit int64")
    closed = stays
    if greatest == INT64_RANGE.max:
        closed = column == INT64_RANGE.max if stays is None else stays | (column == INT64_RANGE.max)
    if closed is not None:
        open_weights = column[~closed]
        least = int(open_weights.min(initial=0))
        greatest = int(open_weights.max(initial=0))
    weights = column.astype(integer_dtype(least, greatest))
    if closed is not None:
        weights[closed] = closed_weight(weights.dtype)
    return weights


def refuse_negative(graph: Any, method: Method) -> None:
    """Raise NegativeWeightError if a weight is negative and the method needs weights >= 0.

    Raises
    ------
    NegativeWeightError
        With the lightest arc.
    """
    if graph._weight_range.least < 0 and not method.negative_weights:
        graph = graph._tree_graph
        arc = int(np.argmin(graph.weights))
        raise NegativeWeightError(
            f"{method.name} needs weights >= 0, but the arc {graph.tails[arc]} -> "
            f"{graph.indices[arc]} weighs {graph.weights[arc]}"
        )
