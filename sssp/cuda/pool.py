"""Memory of a device for answers and scratch: what is given back stays there for the next call.

Taking memory from the driver and giving it back costs milliseconds where a call needs hundreds of
megabytes: more than the GPU works on it. So blocks that are given back wait for whoever asks for
as much next.

Whoever drops an array may have queued work on it, on any stream of any library. Giving memory back
to the driver waits for that work; here the next owner does, and only for blocks that were dropped
after anybody has waited last.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import prod
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike

from sssp.cuda.compiler import SIMULATOR, cuda, wait_for_device
from sssp.errors import DeviceError
from sssp.graph.graph import ON_FREE_DEVICE

__all__ = ["KEPT", "MemoryPool", "device_array", "idle_bytes", "kept_until_needed", "release"]

#: part of a device's memory that may wait there
KEPT = 1 / 8
#: a block serves whoever asks for at least so much of it
FILLED = 0.8
#: sizes are multiples of the first, and of the second from there on: of which the driver makes all
SMALL, LARGE = 512, 2 << 20


@dataclass(eq=False)
class Block:
    """Memory from the driver.

    Attributes
    ----------
    memory : object
        Keeps it: when it is gone, so is the memory.
    size : int
        Bytes.
    dropped : int
        When it was given back last, on the clock of its pool.
    lent : object
        What numbers those who use it now.
    """

    memory: Any
    size: int
    dropped: int = 0
    lent: Any = None


class MemoryPool:
    """Blocks of one device that wait for their next owner.

    Parameters
    ----------
    allocate : callable
        Returns what keeps so many bytes; raises MemoryError if there are not so many.
    wait : callable
        Returns once the device has done all that is queued.
    most : int
        Bytes that may wait. Of more the oldest go.
    """

    def __init__(self, allocate: Callable[[int], Any], wait: Callable[[], None], most: int) -> None:
        self._allocate, self._wait, self.most = allocate, wait, most
        self._lock = threading.Lock()
        #: in the order in which they were given back
        self._idle: list[Block] = []
        #: not among them yet: whatever Python collects in the midst of anything gives back here
        self._returned: deque[Block] = deque()
        self._clock = count(1)
        #: what was dropped up to then is in use no more
        self._waited = 0

    @property
    def idle_bytes(self) -> int:
        """Bytes that wait."""
        with self._lock:
            self._sort_in()
            return sum(block.size for block in self._idle)

    def take(self, nbytes: int) -> Block:
        """Return a block of at least so many bytes that no work is queued on.

        Raises
        ------
        MemoryError
            There is none, though nothing waits any more.
        """
        size = -(-nbytes // SMALL) * SMALL if nbytes < LARGE else -(-nbytes // LARGE) * LARGE
        with self._lock:
            self._sort_in()
            fitting = [block for block in self._idle if block.size >= size >= FILLED * block.size]
            if fitting:
                block = min(fitting, key=lambda block: block.size)
                self._idle.remove(block)
        if not fitting:
            return Block(self._allocated(size), size)
        now = next(self._clock)
        if block.dropped > self._waited:
            self._wait()
            self._waited = max(self._waited, now)
        return block

    def leave(self, block: Block) -> None:
        """Give a block back; any thread may, at any time."""
        block.lent, block.dropped = None, next(self._clock)
        self._returned.append(block)
        # (who holds the lock sorts it in, or the next who asks)
        if self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def release(self, most: int = 0) -> None:
        """Let what waits go, but for so many bytes."""
        with self._lock:
            self._sort_in(most)

    def _allocated(self, size: int) -> Any:
        try:
            return self._allocate(size)
        except MemoryError:
            self.release()
            return self._allocate(size)

    def _sort_in(self, most: int | None = None) -> None:
        """Take in what was returned, and let go what is too much; the lock is held."""
        while self._returned:
            self._idle.append(self._returned.popleft())
        left = sum(block.size for block in self._idle)
        most = self.most if most is None else most
        while left > most:
            left -= self._idle.pop(0).size


class Keeper(Protocol):
    """Who keeps memory of a device that others may have if there is no more."""

    @property
    def idle_bytes(self) -> int:
        """Bytes that nobody uses."""

    def release(self) -> None:
        """Let go of them."""


_lock = threading.Lock()
_pools: dict[int, MemoryPool] = {}
_keepers: dict[int, WeakSet[Keeper]] = {}


def kept_until_needed(keeper: Keeper) -> None:
    """Count what somebody keeps on the current device as free, and take it if there is no other."""
    number = 0 if SIMULATOR else cuda.current_context().device.id
    with _lock:
        _keepers.setdefault(number, WeakSet()).add(keeper)


def _keepers_of(number: int) -> list[Keeper]:
    with _lock:
        return list(_keepers.get(number, ()))


def device_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
    """Return an array of the current device whose entries are anything.

    When nothing refers to it any more, its memory waits for another one.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype

    Raises
    ------
    DeviceError
        There is not so much memory, though all that waits was given back.
    """
    shape, dtype = (shape,) if isinstance(shape, int | np.integer) else shape, np.dtype(dtype)
    nbytes = prod(map(int, shape)) * dtype.itemsize
    if SIMULATOR or nbytes == 0:
        return cuda.device_array(shape, dtype)
    context = cuda.current_context()
    pool = _pool_of(context)
    try:
        block = pool.take(nbytes)
    except MemoryError:
        block = None
    try:
        if block is None:
            for keeper in _keepers_of(context.device.id):
                keeper.release()
            block = pool.take(nbytes)
    except MemoryError as error:
        raise DeviceError(
            f"the GPU has no {nbytes:,} bytes left, though there seemed to be enough: others take "
            f"its memory too; memory_limit keeps a call small ({error})"
        ) from error
    driver = cuda.cudadrv.driver
    block.lent = driver.AutoFreePointer(
        weakref.proxy(context), block.memory.device_pointer, nbytes,
        finalizer=partial(pool.leave, block),
    )  # fmt: skip
    strides = [dtype.itemsize]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * int(extent))
    return cuda.cudadrv.devicearray.DeviceNDArray(
        shape, tuple(strides[::-1]), dtype, gpu_data=block.lent.own()
    )


def idle_bytes(number: int) -> int:
    """Bytes of a device that wait for an owner: as good as free."""
    pool = _pools.get(number)
    kept = sum(keeper.idle_bytes for keeper in _keepers_of(number))
    return kept + (0 if pool is None else pool.idle_bytes)


def release() -> None:
    """Give all memory that waits back to the driver, on every device."""
    for pool in list(_pools.values()):
        pool.release()


ON_FREE_DEVICE.append(release)


def _pool_of(context: Any) -> MemoryPool:
    number = context.device.id
    with _lock:
        if number not in _pools:
            most = int(KEPT * context.get_memory_info().total)
            _pools[number] = MemoryPool(_from_driver, wait_for_device, most)
        return _pools[number]


def _from_driver(size: int) -> Any:
    """Return what keeps so many bytes of the current device.

    Raises
    ------
    MemoryError
        There are not so many.
    """
    driver = cuda.cudadrv.driver
    try:
        return cuda.current_context().memalloc(size)
    except driver.CudaAPIError as error:
        if error.code == driver.binding.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise MemoryError(str(error)) from error
        raise
