"""From one dtype of distances to another on the host, sentinels included."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError
from sssp.kernels.dtypes import INT32, INT64, unreached
from sssp.kernels.jit import njit

__all__ = ["REMEDY", "convert_into", "narrowed", "refuse_narrow"]

#: what to do about a distance that does not fit int32
REMEDY = "use dtype='int64', or None to let the call choose"


@njit
def _convert_kernel(values, missing, converted, converted_missing):
    """Copy integers to another width; return the first place where one does not fit, or -1."""
    number = converted.dtype.type
    for i in range(values.size):
        value = values[i]
        if value == missing:
            converted[i] = converted_missing
        else:
            if not -converted_missing < value < converted_missing:
                return i
            converted[i] = number(value)
    return -1


def refuse_narrow(value: object) -> DistanceOverflowError:
    """Return the error for a distance that does not fit an int32 that the call asks for."""
    return DistanceOverflowError(f"a distance of {value} does not fit int32; {REMEDY}")


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
    flat = np.ascontiguousarray(values).reshape(-1)
    place = _convert_kernel(
        flat, unreached(values.dtype), converted.reshape(-1), unreached(out.dtype)
    )
    if place >= 0:
        raise refuse_narrow(flat[place])
    if not in_place:
        out[...] = converted


def narrowed(values: NDArray[Any], asked: np.dtype[Any] | None) -> NDArray[Any]:
    """Bring int64 distances to int32 where the call asks for it, or leaves it open and all fit.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit int32, which the call asks for.
    """
    if values.dtype != INT64 or asked == INT64:
        return values
    narrow = np.empty(values.shape, INT32)
    flat = values.reshape(-1)
    place = _convert_kernel(flat, unreached(INT64), narrow.reshape(-1), unreached(INT32))
    if place < 0:
        return narrow
    if asked == INT32:
        raise refuse_narrow(flat[place])
    return values
