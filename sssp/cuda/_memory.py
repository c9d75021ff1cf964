"""Arrays of a graph on a device, and the way there: pinned chunks over several streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp._dtypes import INDEX
from sssp._orders import ArcsByWeight, arcs_by_weight
from sssp.cuda._numba import SIMULATOR, cuda
from sssp.errors import DeviceError
from sssp.graph import Graph

__all__ = ["DeviceGraph", "device_graph", "download", "free_bytes", "upload"]

#: bytes of a pinned staging buffer, one a stream
CHUNK = 4 << 20
#: streams that chunks travel over, so that some fill while others travel
STREAMS = 8
#: smaller arrays go in one plain copy: pinning costs more than it saves
PLAIN = 1 << 20


def _through_pinned(
    array: NDArray[Any],
    on_device: Any,
    move: Callable[[NDArray[Any], Any, NDArray[Any], Any], None],
    streams: int,
    chunk: int,
) -> None:
    """Move chunks of an array side by side, each stream with a thread and a buffer of its own."""
    step = max(1, chunk // array.itemsize)
    starts = range(0, array.size, step)
    device = cuda.get_current_device().id

    def feed(worker: int) -> None:
        with cuda.gpus[device]:
            stream = cuda.stream()
            buffer = cuda.pinned_array(step, array.dtype)
            for start in starts[worker::streams]:
                part = array[start : start + step]
                there = on_device[start : start + part.size]
                move(part, there, buffer[: part.size], stream)

    with ThreadPoolExecutor(streams, thread_name_prefix="sssp-copy") as executor:
        list(executor.map(feed, range(streams)))


def _send(part: NDArray[Any], there: Any, buffer: NDArray[Any], stream: Any) -> None:
    np.copyto(buffer, part)
    there.copy_to_device(buffer, stream=stream)
    stream.synchronize()


def _fetch(part: NDArray[Any], there: Any, buffer: NDArray[Any], stream: Any) -> None:
    there.copy_to_host(buffer, stream=stream)
    stream.synchronize()
    np.copyto(part, buffer)


def upload(array: NDArray[Any], streams: int = STREAMS, chunk: int = CHUNK) -> Any:
    """Copy an array to the current device through pinned memory, in chunks side by side.

    The driver copies pageable memory through one small pinned buffer, at a seventh of the speed
    of the bus. Here every stream has a thread that fills its own buffer.

    Parameters
    ----------
    array : ndarray, contiguous
    streams : int
        How many streams, and threads that feed them.
    chunk : int
        Bytes of a staging buffer.

    Returns
    -------
    device array
    """
    if SIMULATOR or array.nbytes <= PLAIN:
        return cuda.to_device(array)
    whole = cuda.device_array(array.shape, array.dtype)
    _through_pinned(array.reshape(-1), whole.reshape(array.size), _send, streams, chunk)
    return whole


def download(
    on_device: Any, array: NDArray[Any], streams: int = STREAMS, chunk: int = CHUNK
) -> None:
    """Copy a device array into a contiguous array of the same shape; the way back of `upload`.

    Whatever wrote the device array must be done.
    """
    if SIMULATOR or array.nbytes <= PLAIN:
        on_device.copy_to_host(array)
        return
    _through_pinned(array.reshape(-1), on_device.reshape(array.size), _fetch, streams, chunk)


def free_bytes() -> int:
    """Bytes of the current device that are free."""
    if SIMULATOR:
        return 1 << 30
    return int(cuda.current_context().get_memory_info().free)


class DeviceGraph:
    """The arrays of a graph on one device, each uploaded on first use and kept.

    Parameters
    ----------
    graph : Graph
        Held by its own arrays only, so that the copy dies with the graph.
    number : int
        The device, which is current.
    """

    def __init__(self, graph: Graph, number: int) -> None:
        if graph.m > np.iinfo(INDEX).max:
            raise DeviceError(
                f"a graph of {graph.m:,} arcs is too large for CUDA solvers, which number arcs "
                f"in 32 bits: at most {np.iinfo(INDEX).max:,}; use device='cpu'"
            )
        self.number = number
        self._arrays: dict[str, Any] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes that the uploaded arrays take."""
        return sum(array.nbytes for array in self._arrays.values())

    def array(self, name: str, build: Callable[[], NDArray[Any]]) -> Any:
        """Return an array by name, uploading what `build` returns the first time."""
        with self._lock:
            if name not in self._arrays:
                self._arrays[name] = upload(np.ascontiguousarray(build()))
            return self._arrays[name]

    def arcs(self, graph: Graph, dtype: np.dtype[Any]) -> tuple[Any, Any, Any]:
        """``indptr`` (int32), ``indices`` and ``weights``, those of a vertex by head."""
        return (
            self.array("indptr", lambda: graph.indptr.astype(INDEX)),
            self.array("indices", lambda: graph.indices),
            self.array(f"weights, {dtype}", lambda: graph.weights_as(dtype)),
        )

    def arcs_by_weight(
        self, graph: Graph, dtype: np.dtype[Any], *, reverse: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the same with the arcs of a vertex by weight; of the reversed graph if asked."""
        side = "reverse " if reverse else ""

        def arcs() -> ArcsByWeight:
            return arcs_by_weight(graph, dtype, reverse=reverse)

        return (
            self.array(f"{side}indptr", lambda: arcs().indptr.astype(INDEX)),
            self.array(f"{side}by weight, {dtype}", lambda: arcs().indices),
            self.array(f"{side}weights by weight, {dtype}", lambda: arcs().weights),
        )


def device_graph(graph: Graph, number: int) -> DeviceGraph:
    """Return the copy of `graph` on a device, made once; ``graph.free_device()`` drops it."""
    return graph.derived(f"cuda:{number}", lambda: DeviceGraph(graph, number))
