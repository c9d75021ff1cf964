"""The one place that imports Numba's CUDA target, and that knows why it cannot be used."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sssp.errors import DeviceError, MissingExtraError

__all__ = ["SIMULATOR", "bits_of", "cuda", "device_number", "kernel", "select"]

INSTALL = 'pip install "sssp[cu13]" (or "sssp[cu12]" for a driver older than 580)'

try:
    from numba import config as _config
    from numba import cuda as _cuda
except (ImportError, AttributeError) as error:  # numba-cuda 0.30 and numpy >= 2.5: row_stack
    if "row_stack" in str(error):
        raise MissingExtraError(
            'the installed numba-cuda does not work with this NumPy: pip install "numpy<2.5"'
        ) from error
    raise MissingExtraError(
        f"Numba's CUDA target cannot be imported ({error}): {INSTALL}"
    ) from error

cuda: Any = _cuda
config: Any = _config
SIMULATOR = bool(config.ENABLE_CUDASIM)
# one block for one source is a choice here, not an oversight to be warned of
config.CUDA_LOW_OCCUPANCY_WARNINGS = False


def kernel(**options: Any) -> Any:
    """Return `cuda.jit` with compiler options that the simulator does not know."""
    return cuda.jit if SIMULATOR else cuda.jit(**options)


def bits_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that gives a number as the integer of the same bits.

    Floats that are not negative order like their bits.
    """
    if dtype.kind == "i":

        def bits(value):
            return value

    elif SIMULATOR:
        integer = np.dtype(f"i{dtype.itemsize}")

        def bits(value):
            return dtype.type(value).view(integer)

    elif dtype == np.float32:
        from numba.cuda.libdevice import float_as_int

        def bits(value):
            return float_as_int(value)

    else:
        from numba.cuda.libdevice import double_as_longlong

        def bits(value):
            return double_as_longlong(value)

    return cuda.jit(device=True, inline="always")(bits)


def device_number(device: str) -> int:
    """Number of the device that ``"cuda"`` or ``"cuda:N"`` names, checked to be usable.

    Raises
    ------
    DeviceError
        The name is none, or the GPU cannot be used; the message says why and what to do.
    """
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match is None:
        raise DeviceError(f"unknown device {device!r}; choose 'auto', 'cpu', 'cuda' or 'cuda:N'")
    reason = _unusable()
    if reason is not None:
        raise DeviceError(f"CUDA cannot be used: {reason}")
    number = int(match[1] or 0)
    count = len(cuda.gpus.lst)
    if number >= count:
        raise DeviceError(f"there is no device {device!r}: this machine has {count} GPU(s)")
    return number


def select(number: int) -> Any:
    """Context manager that makes a device current and leaves the previous one as found."""
    return cuda.gpus[number]


def _unusable() -> str | None:
    """Return why no kernel can run here, and what to do about it; None if one can."""
    if SIMULATOR:
        return None
    try:
        if not cuda.is_available():
            return (
                "no NVIDIA driver was found; install one (afterwards `nvidia-smi` lists the GPU), "
                "or use device='cpu'"
            )
        driver = cuda.cudadrv.driver.driver.get_version()
        toolkit = cuda.runtime.get_version()
    except Exception as error:  # whatever the driver or a missing library throws
        return f"{type(error).__name__}: {error}; install the toolkit: {INSTALL}"
    if toolkit[0] > driver[0]:
        return (
            f"the CUDA toolkit {'.'.join(map(str, toolkit))} is newer than the driver's CUDA "
            f"{'.'.join(map(str, driver))}; update the driver, or: pip install "
            f'"sssp[cu{driver[0]}]"'
        )
    return None
