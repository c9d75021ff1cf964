"""Check whether CUDA can be used, say why not and what to do, and select a device."""

from __future__ import annotations

import atexit
import os
import re
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from sssp.errors import DeviceError, MissingExtraError

#: of a device, with its number
NAME = re.compile(r"cuda(?::(\d+))?")
INSTALL = 'pip install "sssp[cu13]" (or "sssp[cu12]" for a driver older than 580)'

try:
    import numba_cuda  # noqa: F401 (without it Numba's own target answers, an older one)
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

if not hasattr(_cuda, "cudadrv"):  # Ctrl-C came in the middle of it, and Python does not go on
    raise DeviceError(
        "the import of numba.cuda was interrupted in this process, which leaves it unusable: "
        "restart Python"
    )

cuda: Any = _cuda
config: Any = _config
SIMULATOR = bool(config.ENABLE_CUDASIM)
# one block for one source is a choice here, not an oversight to be warned of
config.CUDA_LOW_OCCUPANCY_WARNINGS = False
#: a process, and Numba's CUDA target in it, where kernels can run
_usable_in: tuple[int, Any] | None = None
#: selects a device that is current already
CURRENT = nullcontext()
#: what stays as it is when Python ends
_at_the_end = ExitStack()


def device_number(device: str) -> int:
    """Return the number of the usable device that ``"cuda"`` or ``"cuda:N"`` names.

    Raises
    ------
    DeviceError
        The name is none, or the GPU cannot be used; the message says why and what to do.
    """
    name = NAME.fullmatch(device) if isinstance(device, str) else None
    if name is None:
        raise DeviceError(f"unknown device {device!r}: a GPU is called 'cuda' or 'cuda:N'")
    reason = _unusable()
    if reason is not None:
        raise DeviceError(f"CUDA cannot be used: {reason}")
    number, count = int(name[1] or 0), len(cuda.gpus.lst)
    if number >= count:
        raise DeviceError(f"there is no device {device!r}: this machine has {count} GPU(s)")
    return number


def device_count() -> int:
    """Return the number of usable GPUs; raise `DeviceError` if CUDA cannot be used.

    Raises
    ------
    DeviceError
        None can be used; the message says why and what to do.
    """
    device_number("cuda")
    return len(cuda.gpus.lst)


def describe(number: int) -> str:
    """Return the name of a device and its compute capability."""
    if SIMULATOR:
        return "Numba's CUDA simulator"
    device = cuda.gpus[number]
    return f"{device.name}, compute capability {'.'.join(map(str, device.compute_capability))}"


def select(number: int) -> AbstractContextManager[Any]:
    """Make a device current in a ``with`` block.

    Meanwhile Numba does not ask the driver for the current device, which it does for every array.
    """
    device = cuda.gpus[number]
    if SIMULATOR:
        return device  # type: ignore[no-any-return]
    runtime, own = cuda.cudadrv.devices._runtime, device.get_primary_context()
    before = runtime._get_attached_context()
    return CURRENT if before is own else _attach(device, runtime, own, before)


@contextmanager
def _attach(device: Any, runtime: Any, own: Any, before: Any) -> Iterator[None]:
    """In a ``with`` block, make a device current and attach its context to Numba's runtime."""
    runtime._set_attached_context(None)
    try:
        with device:
            runtime._set_attached_context(own)
            yield
    finally:
        runtime._set_attached_context(before)


def _unusable() -> str | None:
    """Return why this process cannot run kernels, with the remedy; None if it can.

    That one can is asked once a process: it takes longer than a short search.
    """
    global _usable_in
    asked = os.getpid(), cuda
    if _usable_in == asked:
        return None
    reason = _trouble()
    if reason is None:
        if _usable_in is None and not SIMULATOR:
            # (Python's own list of what is to be done at the end has to be there before ours)
            weakref.finalize(_leave_all_to_the_driver, int)
            atexit.register(_leave_all_to_the_driver)
        _usable_in = asked
    return reason


def _leave_all_to_the_driver() -> None:
    """Stop freeing device memory at exit: the driver cleans up after the process.

    Numba unloads a kernel once for every device that it ran on, but they share one library: behind
    a process with two devices memory of the host was freed twice, which ends it with an error.
    """
    for device in cuda.gpus.lst:
        if device.primary_context is not None:
            _at_the_end.enter_context(device.primary_context.deallocations.disable())


def _trouble() -> str | None:
    """Check the CUDA driver and toolkit; return the problem and its remedy, or None."""
    if SIMULATOR:
        return None
    driver = cuda.cudadrv.driver.driver
    try:
        trouble = None if driver.is_available else driver.initialization_error
    except Exception as error:  # whatever the driver throws while it starts
        trouble = error
    if trouble is not None:
        return (
            f"no NVIDIA driver works here ({' '.join(str(trouble).split())}); install one, on "
            "Ubuntu by: sudo ubuntu-drivers install; then `nvidia-smi` lists the GPU"
        )
    version = driver.get_version()
    extra = f'pip install "sssp[cu{min(max(version[0], 12), 13)}]"'
    try:
        trouble = None if cuda.is_available() else "libNVVM was not found"
        toolkit = cuda.runtime.get_version()
    except Exception as error:  # whatever a missing library throws
        trouble = error
    if trouble is not None:
        return f"the CUDA toolkit is missing or incomplete ({trouble}); install it: {extra}"
    if toolkit[0] > version[0]:
        return (
            f"the CUDA toolkit {'.'.join(map(str, toolkit))} is newer than the driver, which "
            f"knows CUDA {'.'.join(map(str, version))}; update the driver, or: {extra}"
        )
    return None
