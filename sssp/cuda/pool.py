"""The memory pool of a device, for answers and scratch: freed blocks are kept for later calls.

Taking memory from the driver and giving it back costs milliseconds where a call needs hundreds of
megabytes: more than the GPU works on it. So blocks that are given back wait for whoever asks for
as much next.

Whoever drops an array may have queued work on it, on any stream of any library. Giving memory back
to the driver waits for that work; here the next owner does, and only for blocks that were dropped
after anybody has waited last.

What calls of a kind work in stays whole, with what was launched in it, for the next of that kind:
it waits among the blocks, and goes as they do, the oldest first. While calls follow each other
closely (`sssp.engine.reuse`) nothing goes but for whoever asks for more than is left.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.driver import repeat_word, wait_for_device
from sssp.engine.reuse import in_series, trim_after_series
from sssp.errors import DeviceError
from sssp.graph.graph import ON_FREE_DEVICE

#: threads of a block in passes over arrays
THREADS = 32 if SIMULATOR else 256
#: bytes of what the driver repeats
WORD = 4
#: part of a device's memory that may wait there between calls
KEPT = 1 / 8
#: a block serves whoever asks for at least so much of it
FILLED = 0.8
#: bytes of a device that is simulated
SIMULATED = 8 << 30
#: sizes are multiples of the first, and of the second from there on: of which the driver makes all
SMALL, LARGE = 512, 2 << 20


@dataclass(eq=False)
class Block:
    """A block of device memory from the driver.

    Attributes
    ----------
    memory : object
        Keeps it: when it is gone, so is the memory.
    size : int
        Bytes.
    dropped : int
        When it was given back last, on the clock of its pool.
    """

    memory: Any
    size: int
    dropped: int = 0


@dataclass(eq=False)
class Scratch:
    """Scratch memory of a finished call, kept in the pool for later calls of the same kind.

    Attributes
    ----------
    shelf : Shelf
        Where such calls look for it.
    key : object
        Of their kind.
    size : int
        Bytes of the device.
    content : object
    """

    shelf: Shelf
    key: Any
    size: int
    content: Any


class MemoryPool:
    """A pool of unused memory of a GPU or the host: blocks and scratch that later calls reuse.

    Parameters
    ----------
    allocate : callable
        Returns what keeps so many bytes; raises MemoryError if there are not so many.
    wait : callable
        Returns once the device has done all that is queued.
    most : int
        Bytes that may wait between calls. Of more the oldest go.
    """

    def __init__(self, allocate: Callable[[int], Any], wait: Callable[[], None], most: int) -> None:
        self._allocate, self._wait, self.most = allocate, wait, most
        self._lock = threading.Lock()
        #: blocks in use: were they held by loans alone, their memory would go before these give it
        #: back, when Python collects both with a cycle
        self._lent: set[Block] = set()
        #: in the order in which they were given back
        self._idle: list[Block | Scratch] = []
        #: bytes of these
        self._waiting = 0
        #: not among them yet: whatever Python collects in the midst of anything gives back here
        self._returned: deque[Block] = deque()
        self._clock = count(1)
        #: when a block was dropped last; and what was dropped up to then is in use no more
        self._dropped = self._waited = 0
        trim_after_series(self)

    @property
    def idle_bytes(self) -> int:
        """Bytes of idle blocks and scratch."""
        with self._lock:
            self._sort_in()
            return self._waiting

    def take(self, nbytes: int) -> Block:
        """Return a block of at least `nbytes` bytes that no queued work uses.

        Raises
        ------
        MemoryError
            There is none, though nothing waits any more.
        """
        size = -(-nbytes // SMALL) * SMALL if nbytes < LARGE else -(-nbytes // LARGE) * LARGE
        with self._lock:
            self._sort_in()
            block = self._take_idle(size)
        if block is None:
            try:
                block = Block(self._allocate(size), size)
            except MemoryError:
                self.release()
                block = Block(self._allocate(size), size)
        self._lent.add(block)
        if block.dropped > self._waited:
            self.wait()
        return block

    def wait(self) -> None:
        """Wait for the device; mark the memory blocks that were returned earlier as reusable."""
        now = next(self._clock)
        self._wait()
        self._waited = max(self._waited, now)

    def settle(self) -> None:
        """Wait for the device if memory was returned to the pool since the last wait."""
        if self._dropped > self._waited:
            self.wait()

    def _take_idle(self, size: int) -> Block | None:
        """Take the smallest idle block that fits with little waste (the newest in a tie)."""
        found, at, least = None, 0, int(size / FILLED) + 1
        for place in range(len(self._idle) - 1, -1, -1):
            block = self._idle[place]
            if size <= block.size < least and isinstance(block, Block):
                found, at, least = block, place, block.size
                if least == size:
                    break
        if found is not None:
            del self._idle[at]
            self._waiting -= found.size
        return found

    def leave(self, block: Block) -> None:
        """Return a block to the pool, from any thread at any time."""
        block.dropped = self._dropped = next(self._clock)
        self._lent.discard(block)
        self._returned.append(block)
        # (who holds the lock sorts it in, or the next who asks)
        if self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def take_scratch(self, shelf: Shelf, key: Any) -> Any:
        """Take the work memory stored under `key` out of the pool; None if there is none."""
        with self._lock:
            for left in reversed(self._idle):
                if isinstance(left, Scratch) and left.shelf is shelf and left.key == key:
                    self._idle.remove(left)
                    self._waiting -= left.size
                    return left.content
        return None

    def leave_scratch(self, scratch: Scratch) -> None:
        """Put scratch memory that no queued work uses into the pool, for later calls."""
        with self._lock:
            self._idle.append(scratch)
            self._waiting += scratch.size
            self._sort_in()

    def release(self) -> None:
        """Free all idle memory."""
        with self._lock:
            self._sort_in(0)

    def trim(self) -> None:
        """Free idle memory until the pool is within its limit."""
        with self._lock:
            self._sort_in()

    def _sort_in(self, most: float | None = None) -> None:
        """Make returned blocks idle; free idle memory over the limit. The caller holds the lock."""
        if most is None:
            most = inf if in_series() else self.most
        self._take_in(len(self._idle))
        while self._waiting > most:
            self._waiting -= self._idle.pop(0).size
            # (the blocks of scratch are as old as it was)
            self._take_in(0)

    def _take_in(self, place: int) -> None:
        """Insert all returned memory blocks into the list of idle blocks, from index `place` on."""
        while self._returned:
            block = self._returned.popleft()
            self._idle.insert(place, block)
            self._waiting += block.size
            place += 1


class _Loan:
    """Owner of a GPU memory block; returns it to the pool once no array or view refers to it."""

    __slots__ = ("_block", "_pool")

    def __init__(self, pool: MemoryPool, block: Block) -> None:
        self._pool, self._block = pool, block

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # (when the modules are taken apart that the pool needs)
            self._pool.leave(self._block)


class Shelf:
    """A cache of GPU scratch memory for later calls, in which entries are found by key.

    Nothing on it is kept from others: it counts as free, and goes for whoever needs the memory.

    Parameters
    ----------
    pool : MemoryPool
        Where that waits.
    """

    def __init__(self, pool: MemoryPool) -> None:
        self._pool = pool

    def take(self, key: Any) -> Any:
        """Remove and return the scratch memory cached under a key; None if there is none."""
        return self._pool.take_scratch(self, key)

    def leave(self, key: Any, nbytes: int, content: Any) -> None:
        """Add GPU scratch memory that is no longer in use to this cache, under a key."""
        self._pool.leave_scratch(Scratch(self, key, nbytes, content))


_lock = threading.Lock()
_pools: dict[int, MemoryPool] = {}


def device_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
    """Return an uninitialized array of the current device.

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
    pool = current_pool()
    try:
        block = pool.take(nbytes)
    except MemoryError as error:
        raise DeviceError(
            f"the GPU has no {nbytes:,} bytes left, though there seemed to be enough: others take "
            f"its memory too; memory_limit keeps a call small ({error})"
        ) from error
    memory = block.memory
    lent = cuda.cudadrv.driver.MemoryPointer(
        memory.context, memory.device_pointer, nbytes, owner=_Loan(pool, block)
    )
    strides = [dtype.itemsize]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * int(extent))
    return cuda.cudadrv.devicearray.DeviceNDArray(shape, tuple(strides[::-1]), dtype, gpu_data=lent)


def idle_bytes(number: int) -> int:
    """Return how many bytes of a device are idle in its memory pool, free for reuse."""
    pool = _pools.get(number)
    return 0 if pool is None else pool.idle_bytes


def release() -> None:
    """Free all idle memory on every device."""
    for pool in list(_pools.values()):
        pool.release()


ON_FREE_DEVICE.append(release)


def current_pool() -> MemoryPool:
    """Return the pool of the current device."""
    context = None if SIMULATOR else cuda.current_context()
    number = 0 if context is None else context.device.id
    with _lock:
        if number not in _pools:
            total = SIMULATED if context is None else context.get_memory_info().total
            _pools[number] = MemoryPool(_from_driver, wait_for_device, int(KEPT * total))
        return _pools[number]


def _from_driver(size: int) -> Any:
    """Allocate memory on the current device; return the object that owns it.

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


@kernel
def _fill_kernel(array, value):
    """Set all entries of an array to a value."""
    for i in range(cuda.grid(1), array.size, cuda.gridsize(1)):
        array[i] = value


def blocks_for(size: int) -> int:
    """Return the number of blocks to launch for a grid-stride pass over `size` entries."""
    return 1 if SIMULATOR else max(1, min(4096, -(-size // THREADS)))


def fill(array: Any, value: Any, stream: Any) -> None:
    """Set all entries of a contiguous device array to a value, in stream order.

    The driver does it where all 32-bit words are alike: Python launches a kernel in ten times the
    time that it asks the driver in.
    """
    if not array.size:
        return
    words = np.array([value], array.dtype)
    if not SIMULATOR and words.nbytes % WORD == 0:
        words = words.view(np.uint32)
        if (words == words[0]).all():
            repeat_word(array, int(words[0]), array.size * words.size, stream)
            return
    flat = array.reshape(array.size)
    _fill_kernel[blocks_for(flat.size), THREADS, stream](flat, value)
