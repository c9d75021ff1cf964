"""Exact sums of int64 numbers; a sum that does not fit int64 raises an error.

A sum may leave int64 on its way and come back, so that looking at every addition says too much.
Where the sums might leave it at all, the upper and the lower 32 bits are added up apart: neither
can wrap, and together they tell whether the whole fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import number_array, too_large
from sssp.kernels.dtypes import FLOAT64, INT64

HALF = 32
LOWER = (1 << HALF) - 1
#: sums below it are far from wrapping
SAFE = 1 << 62


def as_numbers(values: ArrayLike, what: str) -> NDArray[Any]:
    """Convert values to an int64 or float64 array, without rounding integers.

    Raises
    ------
    TypeError
        Neither integers, booleans nor floats; a masked array.
    DistanceOverflowError
        An integer that does not fit int64.
    """
    array = number_array(values, what)
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(INT64).max:
        raise too_large(array.max(), what)
    return array.astype(FLOAT64 if array.dtype.kind == "f" else INT64, copy=False)


def sum_products(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the sum of ``first[i] * second[i]`` as a float; integers are summed in int64.

    Without BLAS, whose threads spin for milliseconds after a product and slow the next search.
    """
    return float(np.einsum("i,i", first, second))


def may_wrap(values: NDArray[Any], count: int) -> bool:
    """Return whether a sum of `count` of the `values` might leave int64."""
    if values.dtype.kind == "f" or values.size == 0:
        return False
    return is_wide(max(abs(int(values.min())), abs(int(values.max()))), count)


def is_wide(greatest: int, count: int) -> bool:
    """Return whether a sum of `count` integers up to `greatest` might leave int64."""
    return greatest * count >= SAFE


def parts_of(values: NDArray[Any], wide: bool) -> tuple[NDArray[Any], ...]:
    """Return a tuple: upper and lower 32 bits of `values` if `wide`, else only `values`."""
    return (values >> HALF, values & LOWER) if wide else (values,)


def carry(sums: Sequence[NDArray[Any]]) -> None:
    """Carry the overflow of the lower 32-bit halves of sums into the upper halves, in place."""
    if len(sums) == 2:
        upper, lower = sums
        upper += lower >> HALF
        lower &= LOWER


def join_parts(sums: Sequence[NDArray[Any]], what: str) -> NDArray[Any]:
    """Join separate sums of upper and lower 32-bit halves into int64 sums; overwrite the inputs.

    Raises
    ------
    DistanceOverflowError
        One does not fit int64.
    """
    if len(sums) == 1:
        return sums[0]
    carry(sums)
    upper, lower = sums
    half = 1 << (HALF - 1)
    outside = np.argwhere((upper < -half) | (upper >= half))
    if outside.size:
        first = tuple(outside[0])
        total = (int(upper[first]) << HALF) + int(lower[first])
        raise DistanceOverflowError(
            f"a sum of {what} is {total}, which does not fit int64; give them as floats"
        )
    return np.asarray((upper << HALF) | lower)
