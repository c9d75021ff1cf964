"""Numba's CUDA simulator, mended and made faster for tests.

Numba's own runs every thread of the GPU as a thread of Python, and another one asks all of them in
turn, without a pause, whether they have come to a barrier. Here the threads of a block take turns:
each runs up to its next barrier, then the next one does. Their order turns around at every barrier:
what goes wrong for want of one goes wrong every time. Calls of device functions, entries of arrays
and conversions of numbers, of which kernels are made, go by the shortest way.

A warp, of which Numba's simulator knows nothing, has a few threads that vote, exchange values and
wait for each other. One that does so while another thread of its warp waits for the whole block
would wait forever on a GPU, and fails here. Memory that nobody has written is full of ones.
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

__all__ = ["WARP", "Entries", "prepare"]

#: threads of a warp: enough for two groups of those that expand a vertex together
WARP = 8

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
        (simulated, "FakeWithinKernelCUDAArray", lambda array: array._ary.view(entries)),
        (types.Integer, "__call__", _convert),
        (types.Float, "__call__", _convert),
        (FakeCUDAModule, "threadIdx", property(lambda _: getcurrent().index)),
        (FakeCUDAModule, "blockIdx", property(lambda _: getcurrent().block)),
        (FakeCUDAModule, "laneid", property(lambda _: getcurrent().lane)),
        (FakeCUDAModule, "syncthreads", _wait),
        (FakeCUDAModule, "syncthreads_and", _agree),
        (FakeCUDAModule, "syncwarp", _meet),
        (FakeCUDAModule, "ballot_sync", _vote),
        (FakeCUDAModule, "shfl_sync", _from_lane),
        (FakeCUDAModule, "shfl_up_sync", _from_before),
        (FakeCUDAModule, "shfl_down_sync", _from_after),
        (GridGroup, "sync", _wait),
        (FakeCUDAShared, "__init__", _share),
        (FakeCUDAShared, "array", _shared_array),
        (cuda, "device_array", _device_array),
        (cuda, "as_cuda_array", _as_cuda_array),
        (cuda, "warpsize", WARP),
    ):
        setattr(kind, name, function)


def _as_cuda_array(array: Any) -> FakeCUDAArray:
    """See an array of another library as one of the simulator, as Numba does on a GPU."""
    memory = SimpleNamespace(__array_interface__=array.__cuda_array_interface__, owner=array)
    return FakeCUDAArray(np.asarray(memory))


def _run_block(block: Any, place: Any, *args: Any) -> None:
    """Run the threads of a block in turns; those that have ended are not waited for."""
    shared: Any = simulated._get_kernel_context().shared
    _share(shared, shared._dynshared_size)
    warps: list[list[Any]] = []
    for number, index in enumerate(_indices(*block._block_dim)):
        thread = greenlet(block._f)
        thread.index, thread.block = Dim3(*index), Dim3(*place)
        thread.lane, thread.given, thread.turns = number % WARP, args, (0, 0)
        if thread.lane == 0:
            warps.append([])
        warps[-1].append(thread)
        thread.warp, thread.warps = warps[-1], warps
    while warps:
        for warp in warps:
            _run_warp(warp)
        warps[:] = [warp for warp in reversed(warps) if warp]


def _indices(x: int, y: int, z: int) -> Any:
    """Yield the numbers of a block's threads in the order of its warps."""
    return ((i, j, k) for k in range(z) for j in range(y) for i in range(x))


def _run_warp(warp: list[Any]) -> None:
    """Run the threads of a warp until all that have not ended wait for the block."""
    meets = True
    while meets:
        asked = {}
        for thread in warp:
            try:
                answer = thread.switch(*thread.given)
            except Exception as error:
                error.add_note(f"in thread {thread.index} of block {thread.block}")
                raise
            thread.given = ()
            if not thread.dead:
                asked[thread] = answer
        warp[:] = [thread for thread in reversed(warp) if thread in asked]
        meets = any(answer is not None for answer in asked.values())
        if meets:
            if None in asked.values():
                raise RuntimeError(
                    f"some threads of a warp of block {warp[0].block} wait for the block, "
                    "and others for the warp"
                )
            values = {thread.lane: value for thread, (value,) in asked.items()}
            for thread in warp:
                thread.given = (values,)


def _wait(_: Any) -> None:
    """Let the other threads of the block come to the barrier too."""
    thread = getcurrent()
    thread.parent.switch(None)
    thread.turns = (thread.turns[0] + 1, 0)


def _agree(_: Any, value: Any) -> bool:
    """Return whether a value is true in all threads of the block, which come to this barrier."""
    thread = getcurrent()
    thread.vote = bool(value)
    _wait(_)
    agreed = all(other.vote for warp in thread.warps for other in warp if not other.dead)
    # (the next vote is not before all have seen this one)
    _wait(_)
    return agreed


def _exchanged(value: Any) -> dict[int, Any]:
    """Return the values of the threads of the warp, by their lanes, once all have given one."""
    values: dict[int, Any] = getcurrent().parent.switch((value,))
    return values


def _meet(_: Any) -> None:
    """Let the other threads of the warp come to the barrier too."""
    _exchanged(None)
    thread = getcurrent()
    thread.turns = (thread.turns[0], thread.turns[1] + 1)


def _vote(_: Any, mask: int, value: Any) -> int:
    """Return which threads of the warp say so, a bit each."""
    return sum(1 << lane for lane, vote in _exchanged(bool(value)).items() if vote)


def _from_lane(_: Any, mask: int, value: Any, lane: Any) -> Any:
    """Return the value of a thread of the warp, which has not ended."""
    return _exchanged(value)[int(lane)]


def _from_before(_: Any, mask: int, value: Any, offset: Any) -> Any:
    """Return the value of the thread so many before, or the own one if there is none."""
    return _exchanged(value).get(getcurrent().lane - int(offset), value)


def _from_after(_: Any, mask: int, value: Any, offset: Any) -> Any:
    """Return the value of the thread so many after, or the own one if there is none."""
    return _exchanged(value).get(getcurrent().lane + int(offset), value)


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


class Entries(np.ndarray[Any, Any]):
    """An array within a kernel, without what kernels lack."""

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        """Its shape, which has no end to count from."""
        return FakeShape(super().shape)


#: what kernels see arrays as
entries: type[Entries] = Entries


def _convert(kind: Any, *args: Any) -> Any:
    """Convert a number, or do what else is done with a type that is called."""
    if len(args) == 1 and isinstance(args[0], (int, float, np.generic)):
        return NUMBERS[id(kind)](args[0])
    return _convert_as_usual(kind, *args)


def _unwritten(shape: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array that holds what no kernel would take for its own."""
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8).fill(0xFF)
    return array


def _device_array(shape: Any, dtype: Any, stream: Any = 0) -> FakeCUDAArray:
    """Allocate memory of the device."""
    return FakeCUDAArray(_unwritten(shape, np.dtype(dtype)), stream)


def _share(shared: Any, dynshared_size: int) -> None:
    """Allocate the shared memory of a block that its launch asks for; the rest follows."""
    shared._allocations, shared._dynshared_size = {}, dynshared_size
    shared._dynshared = _unwritten(dynshared_size, np.dtype(np.byte))


def _shared_array(shared: Any, shape: Any, dtype: Any, alignment: None = None) -> Any:
    """Return the array of a line of a kernel, made by the first thread that comes there.

    The simulator's own reads the sources of all callers to learn which line that is.
    """
    if shape == 0:  # the memory that a launch asks for, seen in some dtype
        return shared._dynshared.view(as_dtype(dtype)).view(entries)
    caller = sys._getframe(1)
    line = (caller.f_code.co_filename, caller.f_lineno)
    if line not in shared._allocations:
        kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
        shared._allocations[line] = _unwritten(shape, np.dtype(kind))
    return shared._allocations[line].view(entries)
