"""Conversion of integer distances between dtypes on the host; unreached stays unreached."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError
from sssp.kernels.dtypes import INT16, INT32, INT64, SHORT, unreached
from sssp.kernels.jit import njit

#: what to do about a distance that does not fit the dtype that a call asks for
REMEDY = "use dtype='int64', or None to let the call choose"


@njit
def _convert_kernel(values, missing, converted, converted_missing):
    """Convert integers to another dtype; return the first that does not fit, else `missing`."""
    number = converted.dtype.type
    for row in range(values.shape[0]):
        for i in range(values.shape[1]):
            value = values[row, i]
            if value == missing:
                converted[row, i] = converted_missing
            else:
                if not -converted_missing < value < converted_missing:
                    return value
                converted[row, i] = number(value)
    return missing


def _convert(values: NDArray[Any], converted: NDArray[Any]) -> Any:
    """Convert integers to another dtype; return the first value out of range, None if all fit."""
    strided = values.ndim == 2 and not values.flags.c_contiguous  # (not to be copied for this)
    rows = values if strided else np.ascontiguousarray(values).reshape(1, -1)
    missing = unreached(values.dtype)
    misfit = _convert_kernel(
        rows, missing, converted.reshape(rows.shape), unreached(converted.dtype)
    )
    return None if misfit == missing else misfit


def refuse_narrow(value: object, asked: np.dtype[Any] = INT32) -> DistanceOverflowError:
    """Return the error for a distance that does not fit the dtype that the call asks for."""
    return DistanceOverflowError(f"a distance of {value} does not fit {asked}; {REMEDY}")


def convert_into(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Write distances into an array of the same shape, of the same or another integer dtype.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit.
    """
    if values.dtype == out.dtype:
        out[...] = values
        return
    in_place = out.flags.c_contiguous and out.flags.aligned
    converted = out if in_place else np.empty_like(values, out.dtype)
    misfit = _convert(values, converted)
    if misfit is not None:
        raise refuse_narrow(misfit)
    if not in_place:
        out[...] = converted


def bytes_of_entry(dtype: np.dtype[Any], asked: np.dtype[Any] | None) -> int:
    """Return the memory per distance, in bytes, including a copy in int32 if one may be made."""
    return dtype.itemsize + (INT32.itemsize if (dtype == INT64 and asked != INT64) else 0)


def narrow(values: NDArray[Any], asked: np.dtype[Any] | None) -> NDArray[Any]:
    """Convert integer distances to the requested dtype; if `asked` is None, to int32 if all fit.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit the dtype that the call asks for.
    """
    target = asked or INT32
    if values.dtype.kind == "f" or values.dtype == target:
        return values
    if values.dtype == SHORT and target == INT16:
        return values.view(INT16)
    narrow = np.empty(values.shape, target)
    misfit = _convert(values, narrow)
    if misfit is None:
        return narrow
    if asked is not None:
        raise refuse_narrow(misfit, asked)
    return values
