"""Calls of the CUDA driver: addresses and copies, pinned memory, waiting, recorded launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.errors import DeviceError

#: while launches are recorded, nobody may wait for a whole device
_recording = threading.RLock()


def wait_for_device() -> None:
    """Wait until the current device has finished all queued work on all streams."""
    if not SIMULATOR:
        with _recording:
            cuda.synchronize()


class Recording:
    """Kernel launches on one stream, recorded as a CUDA graph to replay with little overhead.

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
        """Queue the recorded launches on a stream."""
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
    """Return the address of the first entry of a device array."""
    if SIMULATOR:
        return int(array._ary.ctypes.data)
    return int(array.device_ctypes_pointer.value or 0)


def device_of(array: Any) -> int:
    """Return the number of the GPU that holds an array of any library; 0 for an empty array."""
    start = array.__cuda_array_interface__["data"][0]
    if SIMULATOR or not start:
        return 0
    driver = cuda.cudadrv.driver
    ordinal = driver.binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(driver.driver.cuPointerGetAttribute(ordinal, driver.binding.CUdeviceptr(start)))


def copy_bytes(to: int, start: int, nbytes: int, stream: Any) -> None:
    """Copy bytes between addresses, on the device or in pinned memory, in stream order.

    What Numba's arrays do, without the views of them that a piece would take.
    """
    cuda.cudadrv.driver.driver.cuMemcpyAsync(to, start, nbytes, int(stream.handle))


def repeat_word(array: Any, word: int, times: int, stream: Any) -> None:
    """Write a 32-bit word `times` times from a device array's start on, in stream order."""
    cuda.cudadrv.driver.driver.cuMemsetD32Async(address(array), word, times, int(stream.handle))


def is_pinned(start: int, nbytes: int) -> bool:
    """Return True if host memory of `nbytes` (1 or more) bytes is pinned, by any library."""
    if SIMULATOR:
        return False
    from cuda.bindings import driver

    return all(
        int(driver.cuMemHostGetFlags(place)[0]) == 0 for place in (start, start + nbytes - 1)
    )


def pin(start: int, nbytes: int) -> bool:
    """Pin host pages in place; return False if that fails or they are pinned already."""
    driver = cuda.cudadrv.driver
    try:
        driver.driver.cuMemHostRegister(start, nbytes, 0)
    except driver.CudaAPIError:
        return False
    return True


def unpin(start: int) -> None:
    """Unpin the host pages that `pin` has pinned at an address."""
    cuda.cudadrv.driver.driver.cuMemHostUnregister(start)


def event() -> Any:
    """Return a new event: a point in the order of a stream, for which other streams can wait."""
    return cuda.event() if SIMULATOR else cuda.event(timing=False)


def after(handle: int, streams: Sequence[Any]) -> None:
    """Make each of `streams` wait for the work already queued on the caller's stream."""
    if SIMULATOR:  # runs everything at once
        return
    queued = event()
    queued.record(cuda.external_stream(handle))
    for stream in streams:
        queued.wait(stream)
