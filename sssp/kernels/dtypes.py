"""Dtypes, sentinels and overflow limits of all kernels."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sssp.errors import DistanceOverflowError

INT16, INT32, INT64 = np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

#: what dense solvers work in before int32, for results that fit int16: unsigned sums of two
#: numbers up to `infinity` do not wrap
SHORT = np.dtype(np.uint16)

#: dtype of ``indptr`` (counts arcs) and of ``indices`` (names vertices)
OFFSET, INDEX = INT64, INT32

Number = np.dtype[Any]
Array = NDArray[Any]

#: what distances that are too long fit into
ROUNDED = "dtype='float64', or a graph with float weights, for distances that are rounded"


@cache
def infinity(dtype: Number) -> Any:
    """Return the internal infinity of a solver in `dtype`; every distance is below it.

    2^30 - 1 and 2^62 - 1, so that the sum of a distance and a weight, both below it, never
    wraps; 2^15 - 1 for `SHORT`; infinity for floats.
    """
    kind: Number = np.dtype(dtype)
    if kind.kind == "f":
        return kind.type(np.inf)
    if kind == SHORT:
        return kind.type(np.iinfo(INT16).max)
    return kind.type((1 << (8 * kind.itemsize - 2)) - 1)


@cache
def largest_distance(dtype: Number) -> Any:
    """Return the greatest distance that a solver working in `dtype` can hold."""
    kind: Number = np.dtype(dtype)
    return np.finfo(kind).max if kind.kind == "f" else kind.type(infinity(kind) - 1)


@cache
def safe_length(dtype: Number) -> float:
    """Return the bound below which path lengths fit `dtype`, in whatever order weights are added.

    `infinity` of integers; half of the greatest float, for sums on the way may be rounded up.
    """
    kind: Number = np.dtype(dtype)
    return float(np.finfo(kind).max) / 2 if kind.kind == "f" else float(infinity(kind))


@cache
def unreached(dtype: Number) -> Any:
    """Return the sentinel of an unreached vertex: ``iinfo.max`` or ``inf``."""
    kind: Number = np.dtype(dtype)
    if kind.kind == "f" or kind == SHORT:
        return infinity(kind)
    return kind.type(np.iinfo(kind).max)


def distance_dtype(
    dtype: DTypeLike | None, weights: Number, *, short: bool = False
) -> Number | None:
    """Check a call's ``dtype`` against the weights' dtype; return it, or None if not given.

    `short`: whether the call knows int16 too.

    Returns
    -------
    dtype or None
        The dtype asked for, None if the call leaves it open.

    Raises
    ------
    TypeError
        Not one of the four dtypes, or an integer dtype for float weights.
    """
    if dtype is None:
        return None
    asked = np.dtype(dtype)
    if asked not in (INT32, INT64, FLOAT32, FLOAT64) and not (short and asked == INT16):
        names = "int16, int32" if short else "int32"
        raise TypeError(f"dtype must be {names}, int64, float32 or float64, not {asked}")
    if asked.kind == "i" and weights.kind == "f":
        raise TypeError(
            f"distances over {weights} weights cannot be {asked}; scale the weights to integers "
            "first (g.scaled(1000)) or ask for a float dtype"
        )
    return asked


class WeightRange(NamedTuple):
    """The dtype and the range of a graph's weights.

    Attributes
    ----------
    dtype : dtype
        int32, int64 or float64: what a graph stores.
    least, greatest : int or float
        No weight is outside them.
    """

    dtype: Number
    least: int | float
    greatest: int | float

    @property
    def largest(self) -> int | float:
        """The greatest absolute value of a weight."""
        return max(abs(self.least), abs(self.greatest))

    @lru_cache  # noqa: B019  # a few numbers each
    def working_dtypes(self, asked: Number | None) -> tuple[Number, ...]:
        """Return the dtypes that a solver tries in this order until the distances fit one.

        Parameters
        ----------
        asked : dtype or None
            What the call wants the distances to be.

        Raises
        ------
        DistanceOverflowError
            A weight is too large for any of them.
        """
        floats = asked if asked is not None and asked.kind == "f" else None
        if self.dtype.kind == "f":
            floats = floats or FLOAT64
        if floats is not None:
            if self.largest > float(largest_distance(floats)):
                raise DistanceOverflowError(f"a weight of {self.largest} does not fit {floats}")
            return (floats,)
        if self.largest >= infinity(INT64):
            raise DistanceOverflowError(
                f"a weight of {self.largest} is too large: integer weights must stay below "
                f"2**62 - 1; use {ROUNDED}"
            )
        return (INT32, INT64) if self.largest < infinity(INT32) and asked != INT64 else (INT64,)
