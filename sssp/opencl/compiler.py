"""Access to OpenCL: devices, compiled kernels, a queue for each call, and reasons for failures."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sssp.errors import DeviceError, import_extra
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INT32, INT64, SHORT, infinity
from sssp.kernels.locks import make_lock

cl: Any = import_extra("pyopencl", "opencl")

INSTALL = (
    "install the OpenCL driver of the GPU, or for the processor PoCL (pip install "
    '"pyopencl[pocl]"); OCL_ICD_VENDORS may name the folder with its .icd file'
)
#: OpenCL's names of the numbers in a matrix, and of integers of their size
NUMBERS: dict[np.dtype[Any], tuple[str, str]] = {
    SHORT: ("ushort", "short"),
    INT32: ("int", "int"),
    INT64: ("long", "long"),
    FLOAT32: ("float", "int"),
    FLOAT64: ("double", "long"),
}
#: steps of a kernel that a compute unit makes in the time that Ctrl-C may wait: 0.3 s on a CPU
QUEUED = 1 << 33
#: items of a GPU that compare two rows
ACROSS = 64
Buffer = Any
_lock = make_lock()
#: a child after a fork cannot use the drivers that its parent has started
_home = os.getpid()


def find_devices() -> list[Any]:
    """Return the OpenCL devices of all platforms, in the order in which they are numbered.

    Raises
    ------
    DeviceError
        A parent of this process had loaded OpenCL.
    """
    if os.getpid() != _home:
        raise DeviceError(
            "OpenCL was loaded before this process was forked, which its drivers do not survive: "
            "start processes by the method 'spawn'"
        )
    platforms, found = [], []
    with suppress(cl.Error):  # which says that there is none
        platforms = cl.get_platforms()
    for platform in platforms:
        with suppress(cl.Error):
            found += platform.get_devices()
    return found


def device_number(named: str) -> int:
    """Return a named device's number; ``"opencl"`` is the first GPU, or else the first device.

    Raises
    ------
    DeviceError
        There is no such device, or it cannot be used.
    """
    found, number = find_devices(), named.partition(":")[2]
    if not found:
        raise DeviceError(f"OpenCL cannot be used: no device was found; {INSTALL}")
    if int(number or 0) >= len(found):
        raise DeviceError(f"there is no device {named!r}: OpenCL finds {len(found)} device(s) here")
    gpus = [i for i, device in enumerate(found) if device.type & cl.device_type.GPU]
    chosen = int(number) if number else (gpus or [0])[0]
    if flaw := flaw_of(found[chosen]):
        raise DeviceError(f"opencl:{chosen} ({found[chosen].name}) cannot be used: {flaw}")
    return chosen


def flaw_of(device: Any) -> str:
    """Return why a device cannot be used; empty if it can."""
    if not device.available:
        return "its driver says that it is not available"
    if not device.compiler_available:
        return "its driver has no compiler"
    return _compiler_flaw(device.int_ptr) if device.endian_little else "it is big-endian"


@cache
def _compiler_flaw(pointer: int) -> str:
    """Return why a device cannot compile a minimal program; empty if it can.

    PoCL 3.0 fails so on processors that are newer than its compiler.
    """
    context = cl.Context([cl.Device.from_int_ptr(pointer)])
    try:
        cl.Program(context, "kernel void nothing() {}").build()
    except cl.Error as error:
        lines = str(error).splitlines()
        return f"its compiler fails: {next((s for s in lines if 'error:' in s), lines[0])}"
    return ""


def describe(device: Any) -> str:
    """Return a device's name and limits, or why it cannot be used."""
    kinds = {cl.device_type.CPU: "CPU", cl.device_type.GPU: "GPU"}
    kind = next((name for bit, name in kinds.items() if device.type & bit), "accelerator")
    name, flaw = f"{device.name.strip()} ({device.platform.name.strip()})", flaw_of(device)
    if flaw:
        return f"{name} cannot be used: {flaw}"
    floats = "64-bit floats" if device.double_fp_config else "no 64-bit floats"
    size = f"{device.global_mem_size:,} bytes, {device.max_mem_alloc_size:,} in one piece"
    return f"{name}: a {kind}, {size}, {floats}"


class Device:
    """An OpenCL device, with its context and the kernels compiled for it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.facts = find_devices()[number]
        self.name = f"opencl:{number} ({self.facts.name.strip()})"
        self.context = cl.Context([self.facts])
        self.is_cpu = bool(self.facts.type & cl.device_type.CPU)
        #: compiled, by the name of the file in `sssp.opencl.matrix` and the macros
        self.programs: dict[Any, Any] = {}

    def check(self, dtype: np.dtype[Any]) -> None:
        """Raise `DeviceError` if the device does not support a dtype.

        Raises
        ------
        DeviceError
            Naming the device.
        """
        if dtype == FLOAT64 and not self.facts.double_fp_config:
            raise DeviceError(
                f"{self.name} has no 64-bit floats: pass dtype='float32', or name another device"
            )

    def check_pieces(self, nbytes: int) -> None:
        """Raise `DeviceError` if a matrix exceeds the device's largest allocation.

        Raises
        ------
        DeviceError
            With both numbers.
        """
        most = self.facts.max_mem_alloc_size
        if nbytes > most:
            raise DeviceError(
                f"a matrix takes {nbytes:,} bytes in one piece, of which {self.name} gives {most:,}"
            )


_device = cache(Device)


class DeviceQueue:
    """An in-order queue for one call on a device."""

    def __init__(self, named: str) -> None:
        with _lock:
            self.device = _device(device_number(named))
        self._queue = cl.CommandQueue(self.device.context)

    def kernel(self, file: str, name: str, **macros: Any) -> Any:
        """Return a function that queues a compiled OpenCL kernel with work sizes and arguments.

        The program of its file is compiled once for given macros.
        """
        device, key = self.device, (file, *macros.items())
        with _lock:
            if key not in device.programs:
                lines = [f"#define {name} {value}" for name, value in macros.items()]
                text = (files("sssp.opencl.matrix") / f"{file}.cl").read_text(encoding="utf-8")
                with warnings.catch_warnings():  # of a compiler
                    warnings.simplefilter("ignore", cl.CompilerWarning)
                    program = cl.Program(device.context, "\n".join([*lines, text]))
                    device.programs[key] = program.build("-cl-std=CL1.2")
        # (the arguments of a kernel are a part of it, so that threads must not share one)
        kernel = cl.Kernel(device.programs[key], name)
        return lambda items, group, *arguments: kernel(self._queue, items, group, *arguments)

    def empty(self, entries: int, dtype: np.dtype[Any]) -> Buffer:
        """Return an uninitialized buffer for `entries` entries of a dtype."""
        nbytes = max(1, entries) * dtype.itemsize
        return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, nbytes)

    def fill(self, buffer: Buffer, value: Any, dtype: np.dtype[Any]) -> None:
        """Queue filling a whole buffer with a value."""
        cl.enqueue_fill_buffer(self._queue, buffer, np.array(value, dtype), 0, buffer.size)

    def copy(self, target: Any, source: Any, **options: Any) -> None:
        """Copy between a device buffer and a host array (blocking), or between buffers (queued).

        With options, those of `pyopencl.enqueue_copy`, a rectangle.
        """
        cl.enqueue_copy(self._queue, target, source, **options)

    def differ(
        self, one: Buffer, other: Buffer, size: tuple[int, int], stride: int, number: str
    ) -> bool:
        """Return whether two matrices differ in any of their first `size` rows and columns."""
        changed, found = self.empty(1, INT32), np.zeros(1, INT32)
        self.copy(changed, found)
        items = size[0], 1 if self.device.is_cpu else ACROSS
        compare = self.kernel("differ", "differ", T=number)
        compare(items, None, one, other, np.uint32(stride), np.uint32(size[1]), changed)
        self.copy(found, changed)
        return bool(found[0])

    def step_of(self, steps_each: int) -> int:
        """Return how many work items of `steps_each` operations to queue before each wait."""
        units: int = self.device.facts.max_compute_units
        return max(1, QUEUED * units // max(1, steps_each))

    def finish(self) -> None:
        """Wait until all queued work is done."""
        self._queue.finish()


@contextmanager
def open_queue(named: str) -> Iterator[DeviceQueue]:
    """Open a queue on a device in a ``with`` block; driver errors become `DeviceError`."""
    try:
        yield DeviceQueue(named)
    except cl.Error as error:
        raise DeviceError(f"{named} fails: {error}") from error


def number_macros(dtype: np.dtype[Any], entries: int) -> dict[str, Any]:
    """Return a kernel's C macros for a dtype: scalar and vector types, infinity, addition.

    Sums of integers are those of unsigned ones, which wrap; those of signed ones must not.
    """
    number, integer = NUMBERS[dtype]
    bound = "INFINITY" if dtype.kind == "f" else int(infinity(dtype))
    length = "" if entries == 1 else entries
    many = f"{number}{length}"
    wraps = f"as_{many}(as_u{many}(x) + as_u{many}(y))"
    return {
        "T": number,
        "TV": many,
        "I": integer,
        "IV": f"{integer}{length}",
        "VEC": entries,
        "INF": f"({number})({bound})",
        "ADD(x, y)": wraps if dtype.kind == "i" else "((x) + (y))",
    }
