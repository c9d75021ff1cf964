"""Numba's CUDA target and the driver: whether they can be used and why not, kernels, launches."""

from __future__ import annotations

import atexit
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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
#: what stays as it is when Python ends
_at_the_end = ExitStack()


def kernel_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator of kernels with compiler options; compiled code is kept on disk.

    Mypy reads a kernel that it decorates if `typing.no_type_check` does not stand between.
    """

    def decorate(function: Any) -> Any:
        if SIMULATOR:  # which knows no options, and compiles nothing
            return cuda.jit(function)
        from sssp.cuda.kernel_cache import DeviceCodeCache

        dispatcher = cuda.jit(**options)(function)
        dispatcher._cache = DeviceCodeCache(function, repr(sorted(options.items())))
        return dispatcher

    return decorate


def _inline(function: Any) -> Any:
    """Decorate a small device function that Numba inlines at every call."""
    return cuda.jit(device=True, inline="always")(function)


def _part(function: Any) -> Any:
    """Decorate a part of a kernel, a device function that LLVM inlines at every call.

    It is typed on its own, so that parts within parts compile in a fraction of the time that copies
    of their source take, to the same machine code. An array in shared memory that it makes is the
    same one at every call.
    """
    return cuda.jit(device=True, **({} if SIMULATOR else {"forceinline": True}))(function)


if TYPE_CHECKING:  # the types within a kernel are Numba's business
    from typing import no_type_check as inline
    from typing import no_type_check as kernel
    from typing import no_type_check as part
else:
    kernel, inline, part = kernel_with(), _inline, _part

#: bytes of shared memory that a block gets without being asked for
SHARED = 48 << 10


def most_shared_bytes() -> int:
    """Return the most shared memory that a block of the current device may have, in bytes."""
    if SIMULATOR:
        return SHARED
    return int(cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)


def launch(kernel: Any, configuration: tuple[Any, ...], *arguments: Any) -> None:
    """Launch a kernel that may need more shared memory than the default limit.

    `configuration`: blocks, threads, stream, bytes of dynamic shared memory.
    """
    nbytes = configuration[3]
    if nbytes > SHARED and not SIMULATOR:
        from cuda.bindings import driver

        types = tuple(map(kernel.typeof_pyval, arguments))
        function = kernel.compile(types)._codelibrary.get_cufunc()
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device = cuda.get_current_device().id
        (status,) = driver.cuKernelSetAttribute(attribute, nbytes, function.handle, device)
        if int(status) != 0:
            raise DeviceError(
                f"the CUDA driver refuses {nbytes:,} bytes of shared memory: {status}"
            )
    kernel[configuration](*arguments)


def bind(kernel: Any, arrays: Mapping[str, Any], /, **others: Any) -> list[Any]:
    """Return the arguments of a kernel in order, looked up by the names of its parameters.

    Parameters
    ----------
    kernel : kernel
    arrays : mapping of device arrays by name
        More than the kernel takes, perhaps.
    others
        Further arguments; they count before arrays of the same name.

    Raises
    ------
    TypeError
        The kernel has no parameter of this name, or nothing has the name of a parameter.
    """
    function = kernel.fn if SIMULATOR else kernel.py_func
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if wrong := [
        *(f"no parameter {name!r}" for name in others if name not in names),
        *(f"no argument for {name!r}" for name in names if name not in {**arrays, **others}),
    ]:
        raise TypeError(f"launch of {function.__name__}: {', '.join(wrong)}")
    return [others[name] if name in others else arrays[name] for name in names]


#: while launches are recorded, nobody may wait for a whole device
_recording = threading.RLock()


def wait_for_device() -> None:
    """Wait until the current device has finished all queued work on all streams."""
    if not SIMULATOR:
        with _recording:
            cuda.synchronize()


class Recording:
    """Launches on one stream, recorded as a CUDA graph that starts much faster.

    Parameters
    ----------
    launches : callable
        Launches kernels on the stream that it is given, on the current device; all of them have
        run before. They are recorded, and do not run.
    """

    def __init__(self, launches: Callable[[Any], None]) -> None:
        from cuda.bindings import driver

        self._driver, self._graph = driver, None
        # (what other threads do on the default stream would end the recording on any other stream)
        apart = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        own = self._check(driver.cuStreamCreate(apart))
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        try:
            with _recording:
                self._check(driver.cuStreamBeginCapture(own, relaxed))
                try:
                    launches(cuda.external_stream(int(own)))
                finally:
                    ended = driver.cuStreamEndCapture(own)
            graph = self._check(ended)
            self._graph = self._check(driver.cuGraphInstantiate(graph, 0))
            self._check(driver.cuGraphDestroy(graph))
        finally:
            self._check(driver.cuStreamDestroy(own))

    def replay(self, stream: Any) -> None:
        """Queue the recorded launches."""
        own = self._driver.CUstream(int(stream.handle))
        self._check(self._driver.cuGraphLaunch(self._graph, own))

    def __del__(self) -> None:
        if self._graph is not None:
            self._driver.cuGraphExecDestroy(self._graph)

    @staticmethod
    def _check(answer: tuple[Any, ...]) -> Any:
        if int(answer[0]) != 0:
            raise DeviceError(f"the CUDA driver refuses a graph: {answer[0]}")
        return answer[1] if len(answer) > 1 else None


def address(array: Any) -> int:
    """Address of the first entry of a device array."""
    if SIMULATOR:
        return int(array._ary.ctypes.data)
    return int(array.device_ctypes_pointer.value or 0)


def device_of(array: Any) -> int:
    """Number of the device that holds an array of any library; 0 for an empty array."""
    start = array.__cuda_array_interface__["data"][0]
    if SIMULATOR or not start:
        return 0
    driver = cuda.cudadrv.driver
    ordinal = driver.binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(driver.driver.cuPointerGetAttribute(ordinal, driver.binding.CUdeviceptr(start)))


def copy_bytes(to: int, start: int, nbytes: int, stream: Any) -> None:
    """Copy between addresses, on the device or in pinned memory, in stream order.

    What Numba's arrays do, without the views of them that a piece would take.
    """
    cuda.cudadrv.driver.driver.cuMemcpyAsync(to, start, nbytes, int(stream.handle))


def repeat_word(array: Any, word: int, times: int, stream: Any) -> None:
    """Fill a device array with a 32-bit word from its first entry on, in stream order."""
    cuda.cudadrv.driver.driver.cuMemsetD32Async(address(array), word, times, int(stream.handle))


def is_pinned(start: int, nbytes: int) -> bool:
    """Whether host memory, of one byte at least, is pinned, also by other libraries."""
    if SIMULATOR:
        return False
    from cuda.bindings import driver

    return all(
        int(driver.cuMemHostGetFlags(place)[0]) == 0 for place in (start, start + nbytes - 1)
    )


def pin(start: int, nbytes: int) -> bool:
    """Pin pages of the host in place; return False if that fails, or they are pinned already."""
    driver = cuda.cudadrv.driver
    try:
        driver.driver.cuMemHostRegister(start, nbytes, 0)
    except driver.CudaAPIError:
        return False
    return True


def unpin(start: int) -> None:
    """Undo `pin`."""
    cuda.cudadrv.driver.driver.cuMemHostUnregister(start)


def after(handle: int, streams: Sequence[Any]) -> None:
    """Make streams wait for the work queued so far on the caller's stream."""
    if SIMULATOR:  # runs everything at once
        return
    event = cuda.event(timing=False)
    event.record(cuda.external_stream(handle))
    for stream in streams:
        event.wait(stream)


def device_number(device: str) -> int:
    """Return the number of the usable device that ``"cuda"`` or ``"cuda:N"`` names.

    Raises
    ------
    DeviceError
        The name is none, or the GPU cannot be used; the message says why and what to do.
    """
    number = _parse(device) if isinstance(device, str) else None
    if number is None:
        raise DeviceError(f"unknown device {device!r}: a GPU is called 'cuda' or 'cuda:N'")
    reason = _unusable()
    if reason is not None:
        raise DeviceError(f"CUDA cannot be used: {reason}")
    count = len(cuda.gpus.lst)
    if number >= count:
        raise DeviceError(f"there is no device {device!r}: this machine has {count} GPU(s)")
    return number


@lru_cache
def _parse(device: str) -> int | None:
    """Return the number of a GPU from its name; None if it is not one."""
    match = NAME.fullmatch(device)
    return None if match is None else int(match[1] or 0)


def device_count() -> int:
    """Return the number of GPUs, all of them usable.

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


@contextmanager
def select(number: int) -> Iterator[None]:
    """Make a device current in a ``with`` block.

    Meanwhile Numba does not ask the driver for the current device, which it does for every array.
    """
    device = cuda.gpus[number]
    if SIMULATOR:
        with device:
            yield
        return
    runtime, own = cuda.cudadrv.devices._runtime, device.get_primary_context()
    before = runtime._get_attached_context()
    if before is own:
        yield
        return
    runtime._set_attached_context(None)
    try:
        with device:
            runtime._set_attached_context(own)
            yield
    finally:
        runtime._set_attached_context(before)


def _unusable() -> str | None:
    """Return why kernels cannot run here, with the remedy; None if they can.

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
    """Check driver and toolkit; return the problem that they report, or None."""
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
