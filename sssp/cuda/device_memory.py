"""Device copies of a graph's arrays, and copies to and from a device in pinned chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import cycle, pairwise
from mmap import PAGESIZE
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.driver import address, copy_bytes, is_pinned, pin, unpin
from sssp.cuda.pool import Shelf, current_pool, device_array, idle_bytes
from sssp.engine.workers import Pool
from sssp.errors import DeviceError
from sssp.graph.arc_orders import ArcsByWeight, arcs_by_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.kernels.locks import Derived

#: bytes of a pinned staging buffer, one a stream
CHUNK = 4 << 20
#: streams that chunks travel over
STREAMS = 8
#: streams, and threads, that bring an answer to the host
FETCHERS = 12
#: bytes of an array that are pinned at a time on the way to the device
PIECE = 16 << 20
#: part of the free memory that a call takes; the rest is for the driver and for others
SHARE = 0.9
#: smaller arrays go in one plain copy: pinning costs more than it saves
PLAIN = 1 << 20
#: smaller arrays come back in one plain copy
PLAIN_BACK = 64 << 10


class Staging:
    """Pinned buffers for copies, each with its own stream, leased to one caller at a time.

    Pinning takes longer than copying, so buffers that come back are kept for the next copy.

    Parameters
    ----------
    chunk : int
        Bytes of a buffer.
    """

    def __init__(self, chunk: int = CHUNK) -> None:
        self.chunk = chunk
        self._idle: dict[int, list[tuple[Any, NDArray[np.uint8]]]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lease(self, device: int) -> Iterator[tuple[Any, NDArray[np.uint8]]]:
        """Lease a stream with its pinned host buffer, for copies of the current device."""
        with self._lock:
            idle = self._idle.setdefault(device, [])
            lane = idle.pop() if idle else None
        if lane is None:
            lane = cuda.stream(), cuda.pinned_array(self.chunk, np.uint8)
        try:
            yield lane
        finally:
            # an error may leave a copy under way
            lane[0].synchronize()
            with self._lock:
                if len(idle) < FETCHERS:
                    idle.append(lane)

    def fetch(self, on_device: Any, array: NDArray[Any]) -> None:
        """Copy a device array into a contiguous host array, in several chunks at the same time.

        Every stream has a thread that empties its buffer, for touching fresh memory on the host
        takes longer than the way there.
        """
        host = array.reshape(-1).view(np.uint8)
        there = address(on_device)
        device = cuda.get_current_device().id
        workers = min(FETCHERS, -(-host.size // self.chunk))

        def move(worker: int) -> None:
            with cuda.gpus[device], self.lease(device) as (stream, buffer):
                for start in range(worker * self.chunk, host.size, workers * self.chunk):
                    part = host[start : start + self.chunk]
                    copy_bytes(buffer.ctypes.data, there + start, part.size, stream)
                    stream.synchronize()
                    part[:] = buffer[: part.size]

        with Pool(workers, "sssp-copy") as executor:
            list(executor.map(move, range(workers)))


STAGING = Staging()
#: one upload at a time: two of the same array would unpin it under each other's copies
_PINNING = threading.Lock()


def upload(array: NDArray[Any], streams: int = STREAMS, piece: int = PIECE, to: Any = None) -> Any:
    """Copy a host array to the current device over several streams; pin its pages meanwhile.

    The driver copies pageable memory through a small pinned buffer of its own. Pinning the pages
    of the array takes less time than that, and while one piece travels the next is pinned. What
    cannot be pinned (a file that is mapped read-only, say) the driver copies in its way.

    Parameters
    ----------
    array : ndarray
        Copied first if it is not contiguous.
    streams : int
        How many streams.
    piece : int
        Bytes of a piece, a multiple of the page size.
    to : device array, optional
        Where it goes, of the same shape and dtype.

    Returns
    -------
    device array
    """
    array = np.ascontiguousarray(array)
    on_device = device_array(array.shape, array.dtype) if to is None else to
    if array.nbytes <= PLAIN or SIMULATOR:
        if array.size:
            on_device.copy_to_device(array)
        return on_device
    here, there = array.ctypes.data, address(on_device)
    # whole pages are pinned; what sticks out at the ends belongs to others too
    first, last = -here % PAGESIZE, array.nbytes - (here + array.nbytes) % PAGESIZE
    cuts = [0, *range(first, last, piece), last, array.nbytes]
    lanes = [cuda.stream() for _ in range(streams)]
    pinned = []
    with _PINNING:
        try:
            for lane, (start, end) in zip(cycle(lanes), pairwise(cuts), strict=False):
                if first <= start < end <= last and pin(here + start, end - start):
                    pinned.append(here + start)
                if start < end:
                    copy_bytes(there + start, here + start, end - start, lane)
        finally:
            for lane in lanes:
                lane.synchronize()
            for start in pinned:
                unpin(start)
    return on_device


def download(on_device: Any, array: NDArray[Any], stream: Any) -> None:
    """Copy a device array into a contiguous host array, after the stream's queued work.

    Parameters
    ----------
    on_device : device array
    array : ndarray, contiguous
    stream : stream
        What it has queued is done first. The copy itself does not hold up other streams.
    """
    if array.size == 0:
        return
    small = array.nbytes <= PLAIN_BACK
    if small or SIMULATOR or is_pinned(array.ctypes.data, array.nbytes):
        # (which returns when all of it is there, of pageable memory)
        fetch(on_device, array, stream)
        stream.synchronize()
    elif array.nbytes <= STAGING.chunk:
        # through one pinned buffer
        host = array.reshape(-1).view(np.uint8)
        with STAGING.lease(cuda.get_current_device().id) as (_, buffer):
            part = buffer[: host.size]
            try:
                fetch(on_device, part, stream)
            finally:
                stream.synchronize()
            host[:] = part
    else:
        stream.synchronize()
        STAGING.fetch(on_device, array)


def on_host(array: Any, stream: Any) -> Any:
    """Return a host copy of a device array, once the stream's queued work is done."""
    host: NDArray[Any] = np.empty(array.shape, array.dtype)
    download(array, host, stream)
    return host


def send(array: NDArray[Any], on_device: Any, stream: Any) -> None:
    """Copy a contiguous host array to a device array of the same size, in stream order.

    If that is not pinned, the driver copies it first, and comes back then.
    """
    if SIMULATOR:
        on_device.copy_to_device(array)
    else:
        copy_bytes(address(on_device), array.ctypes.data, array.nbytes, stream)


def fetch(on_device: Any, array: NDArray[Any], stream: Any) -> None:
    """Copy a device array into a contiguous host array of the same size, in stream order.

    If that is not pinned, the driver takes a detour, and comes back when it is done.
    """
    if SIMULATOR:
        on_device.copy_to_host(array)
    else:
        copy_bytes(array.ctypes.data, address(on_device), array.nbytes, stream)


def move(there: Any, to: Any, stream: Any) -> None:
    """Queue on a stream the copy of a device array into another, up to the shorter size.

    Both of one dtype, and row by row.
    """
    size = min(there.size, to.size)
    if not size:
        return
    if SIMULATOR:
        to.reshape(to.size)[:size].copy_to_device(there.reshape(there.size)[:size])
    else:
        copy_bytes(address(to), address(there), size * to.dtype.itemsize, stream)


def mapped_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> tuple[NDArray[Any], Any]:
    """Return pinned memory as a host array, and as a device array that kernels use in place."""
    if SIMULATOR:
        there = cuda.mapped_array(shape, dtype)
        return there._ary, there
    array, driver = cuda.pinned_array(shape, dtype), cuda.cudadrv.driver
    # (its address is the same on the device)
    start, context = driver.binding.CUdeviceptr(array.ctypes.data), cuda.current_context()
    memory = driver.MemoryPointer(context, start, array.nbytes, owner=array)
    parts = array.shape, array.strides, array.dtype
    return array, cuda.cudadrv.devicearray.DeviceNDArray(*parts, gpu_data=memory)


def pinned_array(
    shape: int | tuple[int, ...], dtype: DTypeLike, device: str = "cuda"
) -> NDArray[Any]:
    """Return a pinned host array to pass as ``out``: GPU results are copied to it fast.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    device : str
        ``"cuda"`` or ``"cuda:N"``; other GPUs copy into it as well.

    Raises
    ------
    DeviceError
        The device cannot be used.

    Notes
    -----
    Its memory is taken from the machine until the last view of it has gone, and making it takes
    longer than a search: make it once, for many calls. Pinned memory of other libraries
    (``torch.empty(n, pin_memory=True).numpy()``) does as well.
    """
    with select(device_number(device)):
        if np.prod(shape) == 0:
            return np.empty(shape, dtype)
        array: NDArray[Any] = cuda.pinned_array(shape, np.dtype(dtype))
        return array


def available_bytes(memory_limit: int, held: int = 0) -> int:
    """Return how many bytes a call may still allocate on the current device.

    Parameters
    ----------
    memory_limit : int
        Of the call.
    held : int
        What it holds there already: arcs, say.
    """
    return min(int(free_bytes() * SHARE), memory_limit - held)


def free_bytes() -> int:
    """Return how many bytes of the current device are free, or idle in its memory pool."""
    if SIMULATOR:
        return 1 << 30
    context = cuda.current_context()
    # what this process has dropped but Numba not yet freed
    context.deallocations.clear()
    return int(context.get_memory_info().free) + idle_bytes(context.device.id)


class DeviceGraph:
    """The arrays of a graph on one device, each uploaded on first use, then kept.

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
        #: where searches leave their scratch, for graphs of the same arcs too
        self.shelf = graph._shared(f"cuda:{number}, scratch", lambda: Shelf(current_pool()))
        self._arrays = Derived()
        #: searches that need nothing but these arrays
        self.searches = Derived()

    @cached_property
    def stream(self) -> Any:
        """Stream for work outside of searches, such as checks of new weights."""
        return cuda.stream()

    @property
    def nbytes(self) -> int:
        """Bytes that the uploaded arrays take."""
        return sum(array.nbytes for array in self._arrays.values())

    def held(self, name: str) -> Any | None:
        """Return the device array of a name, or None if it has not been uploaded."""
        return self._arrays.get(name)

    def array(self, name: str, build: Callable[[], Any]) -> Any:
        """Return the device array with this name; at first use, upload what `build` returns."""

        def make() -> Any:
            array = build()
            return upload(array) if isinstance(array, np.ndarray) else array

        return self._arrays.get_or_build(name, make)

    def arcs(
        self, graph: Graph, dtype: np.dtype[Any], *, reverse: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return ``indptr`` (int32), ``indices``, ``weights``; a vertex's arcs are sorted by head.

        Of the reversed graph if asked, and then by tail.
        """
        side = "reverse " if reverse else ""

        def base() -> Graph:
            return graph.reverse() if reverse else graph

        return (
            self.array(f"{side}indptr", lambda: base().indptr.astype(INDEX)),
            self.array(f"{side}indices", lambda: base().indices),
            self.array(f"{side}weights, {dtype}", lambda: base().weights_as(dtype)),
        )

    def arcs_by_weight(
        self, graph: Graph, dtype: np.dtype[Any], *, reverse: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return CSR device arrays of the graph's arcs, sorted by weight at every vertex."""
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
    return graph._cached(f"cuda:{number}", lambda: DeviceGraph(graph, number))
