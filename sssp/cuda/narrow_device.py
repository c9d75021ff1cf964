"""From int64 distances to int32 on the device, sentinels included; twin of `sssp.engine.narrow`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from sssp.cuda.compiler import SIMULATOR, cuda, kernel
from sssp.cuda.fill import THREADS
from sssp.cuda.pool import device_array
from sssp.engine.narrow import refuse_narrow
from sssp.kernels.dtypes import INT32, INT64, unreached

#: blocks of a kernel that leaves one number for a whole matrix
BLOCKS = 1 if SIMULATOR else 512


@kernel
def _magnitude_kernel(values, missing, greatest):
    """Find the greatest absolute value of integer distances."""
    own = int64(0)
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < values.size:
        if values[i] != missing:
            own = max(own, abs(int64(values[i])))
        i += stride
    cuda.atomic.max(greatest, 0, own)


@kernel
def _narrow_kernel(values, missing, narrow, narrow_missing):
    """Copy distances to a narrower dtype, in which they fit."""
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < values.size:
        narrow[i] = narrow_missing if values[i] == missing else narrow.dtype.type(values[i])
        i += stride


def narrow_on_device(
    flat: Any, asked: np.dtype[Any] | None, stream: Any, extremes: tuple[Any, Any] | None = None
) -> Any:
    """Bring integers to what the call asks for, or to int32 where it leaves it open and all fit.

    Parameters
    ----------
    flat : device array, one axis
    asked : dtype or None
        What the distances must be.
    stream : stream
    extremes : tuple, optional
        Least and greatest distance, where they are known.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit int32, which the call asks for.
    """
    wide, target = np.dtype(flat.dtype), asked or INT32
    if wide.kind == "f" or wide.itemsize <= target.itemsize:
        return flat
    if extremes is None:
        found = cuda.to_device(np.zeros(1, INT64))
        _magnitude_kernel[BLOCKS, THREADS, stream](flat, unreached(wide), found)
        magnitude = int(found.copy_to_host(stream=stream)[0])
        stream.synchronize()
    else:
        magnitude = max(int(extremes[1]), -int(extremes[0]))
    if magnitude >= unreached(target):
        if asked is None:
            return flat
        raise refuse_narrow(magnitude, target)
    narrow = device_array(flat.size, target)
    _narrow_kernel[BLOCKS, THREADS, stream](flat, unreached(wide), narrow, unreached(target))
    stream.synchronize()
    return narrow
