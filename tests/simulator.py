"""Numba's CUDA simulator, mended and made faster for tests.

Numba's own runs every thread of the GPU as a thread of Python, and another one asks all of them in
turn, without a pause, whether they have come to a barrier. Here the threads of a block take turns:
each runs up to its next barrier, then the next one does. Their order turns around at every barrier:
what goes wrong for want of one goes wrong every time. Calls of device functions, entries of arrays
and conversions of numbers, of which kernels are made, go by the shortest way.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet
from numba import cuda
from numba.core import types
from numba.cuda.simulator import kernel as simulated
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeShape
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAModule, FakeCUDAShared, GridGroup
from numba.np.numpy_support import as_dtype

__all__ = ["prepare"]

#: what converts to Numba's numbers outside of kernels, by the identity of the type
NUMBERS = {id(kind): as_dtype(kind).type for kind in types.integer_domain | types.real_domain}

_call_as_usual = simulated.FakeCUDAKernel.__call__
_convert_as_usual = types.Type.__call__
#: globals of the modules whose device functions the running kernel has called, and their `cuda`
_lent: list[tuple[dict[str, Any], Any]] = []


def prepare() -> None:
    """Let threads take turns, and kernels go by the shortest way."""
    for kind, name, function in (
        (simulated.BlockManager, "run", _run_block),
        (simulated.FakeCUDAKernel, "__call__", _call),
        (simulated, "FakeWithinKernelCUDAArray", lambda array: array._ary.view(_Entries)),
        (types.Integer, "__call__", _convert),
        (types.Float, "__call__", _convert),
        (FakeCUDAModule, "threadIdx", property(lambda _: getcurrent().index)),
        (FakeCUDAModule, "blockIdx", property(lambda _: getcurrent().block)),
        (FakeCUDAModule, "syncthreads", _wait),
        (FakeCUDAModule, "syncthreads_and", _agree),
        (GridGroup, "sync", _wait),
        (FakeCUDAShared, "array", _shared_array),
        (cuda, "as_cuda_array", _as_cuda_array),
    ):
        setattr(kind, name, function)


def _as_cuda_array(array: Any) -> FakeCUDAArray:
    """See an array of another library as one of the simulator, as Numba does on a GPU."""
    memory = SimpleNamespace(__array_interface__=array.__cuda_array_interface__, owner=array)
    return FakeCUDAArray(np.asarray(memory))


def _run_block(block: Any, place: Any, *args: Any) -> None:
    """Run the threads of a block in turns; those that have ended are not waited for."""
    going = []
    for index in np.ndindex(*block._block_dim):
        thread = greenlet(block._f)
        thread.index, thread.block = Dim3(*index), Dim3(*place)
        going.append(thread)
        thread.crew = going
    given = args
    while going:
        for thread in going:
            try:
                thread.switch(*given)
            except Exception as error:
                error.add_note(f"in thread {thread.index} of block {thread.block}")
                raise
        going[:] = [thread for thread in reversed(going) if not thread.dead]
        given = ()


def _wait(_: Any) -> None:
    """Let the other threads of the block come to the barrier too."""
    getcurrent().parent.switch()


def _agree(_: Any, value: Any) -> bool:
    """Return whether a value is true in all threads of the block, which come to this barrier."""
    thread = getcurrent()
    thread.vote = bool(value)
    _wait(_)
    agreed = all(other.vote for other in thread.crew if not other.dead)
    # (the next vote is not before all have seen this one)
    _wait(_)
    return agreed


def _call(kernel: Any, *args: Any) -> Any:
    """Launch a kernel, or call a device function from one."""
    running = simulated._kernel_context
    if running is not None:
        names = kernel.fn.__globals__
        if names.get("cuda", running) is not running:
            _lent.append((names, names["cuda"]))
            names["cuda"] = running
        return kernel.fn(*args)
    try:
        return _call_as_usual(kernel, *args)
    finally:
        for names, cuda in _lent:
            names["cuda"] = cuda
        _lent.clear()


class _Entries(np.ndarray[Any, Any]):
    """An array within a kernel, without what kernels lack."""

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        """Its shape, which has no end to count from."""
        return FakeShape(super().shape)


def _convert(kind: Any, *args: Any) -> Any:
    """Convert a number, or do what else is done with a type that is called."""
    if len(args) == 1 and isinstance(args[0], (int, float, np.generic)):
        return NUMBERS[id(kind)](args[0])
    return _convert_as_usual(kind, *args)


def _shared_array(shared: Any, shape: Any, dtype: Any, alignment: None = None) -> Any:
    """Return the array of a line of a kernel, made by the first thread that comes there.

    The simulator's own reads the sources of all callers to learn which line that is.
    """
    if shape == 0:  # the memory that a launch asks for, seen in some dtype
        return shared._dynshared.view(as_dtype(dtype))
    caller = sys._getframe(1)
    line = (caller.f_code.co_filename, caller.f_lineno)
    if line not in shared._allocations:
        kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
        shared._allocations[line] = np.empty(shape, kind)
    return shared._allocations[line]
