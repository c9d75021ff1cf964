"""Memory of a device that waits for its next owner."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from sssp.cuda.pool import LARGE, SMALL, Block, MemoryPool, Shelf
from sssp.engine.reuse import series
from tests.cuda.conftest import SIMULATOR

real = pytest.mark.skipif(SIMULATOR, reason="the simulator has no memory of a device")


class Driver:
    """A device that knows who has its memory."""

    def __init__(self, room: int) -> None:
        self.room, self.asked, self.waits = room, 0, 0

    def allocate(self, size: int) -> Memory:
        self.asked += 1
        if size > self.room:
            raise MemoryError
        self.room -= size
        return Memory(self, size)

    def wait(self) -> None:
        self.waits += 1


class Memory:
    """So many bytes, free once this is gone."""

    def __init__(self, driver: Driver, size: int) -> None:
        self.driver, self.size = driver, size

    def __del__(self) -> None:
        self.driver.room += self.size


def pool_of(driver: Driver, most: int = 1 << 40) -> MemoryPool:
    return MemoryPool(driver.allocate, driver.wait, most)


def test_a_block_serves_the_next_who_asks_for_about_as_much() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver)
    first = pool.take(10 * LARGE - 5)
    assert first.size == 10 * LARGE
    pool.leave(first)
    assert pool.idle_bytes == first.size
    assert pool.take(11 * LARGE) is not first
    assert pool.take(7 * LARGE) is not first
    assert pool.take(8 * LARGE) is first
    assert pool.idle_bytes == 0
    assert pool.take(1).size == SMALL
    # of several the smallest that will do
    blocks = [pool.take(size * LARGE) for size in (100, 90, 95)]
    for block in blocks:
        pool.leave(block)
    assert pool.take(89 * LARGE) is blocks[1]


def test_work_on_a_block_is_waited_for_once_and_by_its_next_owner() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver)
    blocks = [pool.take(1000) for _ in range(3)]
    for block in blocks:
        pool.leave(block)
    assert driver.waits == 0
    again = [pool.take(1000) for _ in range(3)]
    assert set(map(id, again)) == set(map(id, blocks))
    assert driver.waits == 1  # all were dropped before it
    pool.leave(again[0])
    pool.take(5000)  # from the driver: nobody has worked on that
    assert driver.waits == 1
    assert pool.take(1000) is again[0]
    assert driver.waits == 2


def test_a_block_that_is_dropped_while_another_waits_is_waited_for() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver)
    one, other = pool.take(1000), pool.take(1000)
    pool.leave(one)

    def wait() -> None:
        driver.waits += 1
        if driver.waits == 1:
            pool.leave(other)

    pool._wait = wait
    assert pool.take(1000) is one
    assert pool.take(1000) is other
    assert driver.waits == 2


def test_of_more_than_may_wait_the_oldest_goes() -> None:
    driver = Driver(100 * LARGE)
    pool = pool_of(driver, most=5 * LARGE)
    blocks = [pool.take(size * LARGE) for size in (2, 3, 2, 50)]
    for block in blocks:
        pool.leave(block)
    blocks.clear()
    assert pool.idle_bytes == 0  # the last alone is too much
    del block
    assert driver.room == 100 * LARGE
    for block in [pool.take(size * LARGE) for size in (2, 3, 2)]:
        pool.leave(block)
    del block
    assert pool.idle_bytes == 5 * LARGE
    assert driver.room == 95 * LARGE
    pool.release()
    assert driver.room == 100 * LARGE


def test_what_waits_goes_before_a_call_is_refused() -> None:
    driver = Driver(10 * LARGE)
    pool = pool_of(driver)
    pool.leave(pool.take(9 * LARGE))
    whole = pool.take(10 * LARGE)
    assert pool.idle_bytes == 0
    with pytest.raises(MemoryError):
        pool.take(1)
    pool.leave(whole)
    assert pool.take(9 * LARGE).size == 10 * LARGE


def test_whoever_gives_back_in_the_midst_of_anything_does_not_wait_for_itself() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver, most=0)
    held = pool.take(LARGE)

    class Leaving:
        def __del__(self) -> None:
            pool.leave(held)

    pool.leave(Block(Leaving(), LARGE))  # (is dropped at once, while the lock is held)
    assert pool.idle_bytes == 0


def test_no_block_has_two_owners() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver, most=20 * SMALL)
    shelf = Shelf(pool)
    owned: set[Block] = set()
    lock = threading.Lock()

    def take_and_leave(seed: int) -> None:
        random = np.random.default_rng(seed)
        mine: list[Block] = []
        for _ in range(500):
            chance, key = random.random(), int(random.integers(3))
            if mine and chance < 0.5:
                block = mine.pop(int(random.integers(len(mine))))
                with lock:
                    owned.remove(block)
                if chance < 0.3:
                    pool.leave(block)
                else:
                    shelf.leave(key, block.size, Content(pool, block))
            else:
                scratch = shelf.take(key) if chance < 0.7 else None
                block = pool.take(int(random.integers(1, 20 * SMALL)))
                with lock:
                    assert block not in owned
                    assert scratch is None or scratch.block not in owned
                    owned.add(block)
                mine.append(block)

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(take_and_leave, range(8)))
    assert pool.idle_bytes <= 20 * SMALL


@pytest.mark.gpu
@real
def test_memory_of_an_array_waits_for_the_next_and_counts_as_free(device: str) -> None:
    from sssp.cuda import device_memory as memory
    from sssp.cuda import pool
    from sssp.cuda.availability import cuda, select
    from sssp.cuda.driver import address

    def free_of_the_driver() -> int:
        return int(cuda.current_context().get_memory_info().free)

    with select(0):
        pool.release()
        array = pool.device_array((3, 40_000_000), np.int32)
        assert (array.shape, array.strides) == ((3, 40_000_000), (160_000_000, 4))
        place, part = address(array), array[1, 5:10]
        del array
        assert pool.idle_bytes(0) == 0  # a view of it is left
        part.copy_to_device(np.arange(5, dtype=np.int32))
        assert part.copy_to_host().tolist() == [0, 1, 2, 3, 4]
        del part
        assert pool.idle_bytes(0) >= 480_000_000
        # (others may take memory of the device meanwhile, but hardly so much every time)
        assert any(memory.free_bytes() > free_of_the_driver() + 400_000_000 for _ in range(5))
        again = pool.device_array(118_000_000, np.int32)
        assert address(again) == place
        del again
        pool.release()
        assert pool.idle_bytes(0) == 0
        assert pool.device_array((0, 5), np.int32).shape == (0, 5)


@pytest.mark.gpu
@real
def test_memory_is_not_reused_while_another_stream_works_on_it(device: str) -> None:
    from sssp.cuda import pool
    from sssp.cuda.availability import cuda, select
    from sssp.cuda.compiler import kernel
    from sssp.cuda.driver import address

    @kernel
    def copy_slowly(source: Any, turns: int, found: Any) -> None:
        place, total = cuda.grid(1), 0
        for turn in range(turns):
            total = max(total, source[(place + turn) % source.size])
        found[place] = total

    # (what other tests have left may not come back in the midst of it, and is not of this size)
    size = 7 << 20
    with select(0):
        found, stream = pool.device_array(256, np.int32), cuda.stream()
        # (what compiles a kernel may hold its first arguments until garbage is collected)
        copy_slowly[1, 256, stream](found, 1, found)
        for _ in range(3):
            gc.collect()
            pool.release()
            array = pool.device_array(size, np.int32)
            array.copy_to_device(np.full(size, 1, np.int32))
            place = address(array)
            copy_slowly[1, 256, stream](array, 300_000, found)
            del array
            again, other = pool.device_array(size, np.int32), cuda.stream()
            assert address(again) == place
            again.copy_to_device(np.full(size, 2, np.int32), stream=other)
            stream.synchronize()
            assert (found.copy_to_host() == 1).all()
            del again


@pytest.mark.gpu
@real
def test_what_waits_goes_for_whoever_asks_for_more_and_with_free_device(device: str) -> None:
    import sssp
    from sssp.cuda import pool
    from sssp.cuda.availability import select

    g = sssp.road_like(50_000)

    def asked_for_more() -> None:
        with pytest.raises(sssp.DeviceError, match="bytes left"):
            pool.device_array(1 << 50, np.uint8)

    with select(0):
        for last in (asked_for_more, g.free_device):
            r = sssp.shortest_paths(g, range(500), device=device, output="device")
            del r
            assert pool.idle_bytes(0) >= 500 * 50_000 * 4
            last()
            assert pool.idle_bytes(0) == 0


def test_scratch_waits_whole_for_calls_of_its_kind() -> None:
    pool = pool_of(Driver(1 << 40), most=3 * LARGE)
    shelf, other, content = Shelf(pool), Shelf(pool), object()
    shelf.leave("rows", LARGE, content)
    assert pool.idle_bytes == LARGE
    assert (shelf.take("trips"), other.take("rows")) == (None, None)
    assert shelf.take("rows") is content
    assert (pool.idle_bytes, shelf.take("rows")) == (0, None)
    # the oldest goes first, block or scratch
    block = pool.take(LARGE)
    shelf.leave("rows", LARGE, content)
    pool.leave(block)
    shelf.leave("trips", 2 * LARGE, content)
    assert pool.idle_bytes == 3 * LARGE
    assert (shelf.take("rows"), shelf.take("trips")) == (None, content)


class Content:
    """Scratch that has a block."""

    def __init__(self, pool: MemoryPool, block: Block) -> None:
        self.pool, self.block = pool, block

    def __del__(self) -> None:
        self.pool.leave(self.block)


def test_blocks_of_scratch_that_goes_wait_as_if_they_were_as_old() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver, most=4 * LARGE)
    shelf = Shelf(pool)
    shelf.leave("old", 3 * LARGE, Content(pool, pool.take(LARGE)))
    pool.leave(pool.take(2 * LARGE))
    assert shelf.take("old") is None
    assert pool.idle_bytes == 3 * LARGE
    pool.leave(pool.take(LARGE))
    assert driver.asked == 2
    shelf.leave("new", LARGE, Content(pool, pool.take(LARGE)))
    # whoever finds no memory gets that of scratch too
    driver.room = 0
    assert pool.take(3 * LARGE).size == 3 * LARGE
    assert shelf.take("new") is None


def test_in_a_series_of_calls_all_stays_until_it_ends() -> None:
    driver = Driver(1 << 40)
    pool = pool_of(driver, most=LARGE)
    shelf, content = Shelf(pool), object()
    shelf.leave("large", 2 * LARGE, content)
    assert (pool.idle_bytes, shelf.take("large")) == (0, None)
    block = pool.take(2 * LARGE)
    with series():
        with series():
            shelf.leave("large", 2 * LARGE, content)
        pool.leave(block)
        assert shelf.take("large") is content
        shelf.leave("large", 2 * LARGE, content)
        shelf.leave("small", LARGE, content)
        assert pool.idle_bytes == 5 * LARGE
    assert (shelf.take("large"), shelf.take("small")) == (None, content)
    # (what an error ends is over as well)
    with suppress(KeyError), series():
        pool.leave(pool.take(2 * LARGE))
        raise KeyError
    assert pool.idle_bytes == 0


@pytest.mark.gpu
@real
def test_scratch_counts_as_free_and_goes_for_whoever_asks_for_more(device: str) -> None:
    from sssp.cuda import device_memory as memory
    from sssp.cuda import pool
    from sssp.cuda.availability import select

    with select(0), series():
        shelf = Shelf(pool.current_pool())
        size = int(0.4 * memory.free_bytes())
        shelf.leave("rows", size, (pool.device_array(size, np.uint8),))
        assert memory.free_bytes() > 2 * size
        rows = [pool.device_array(size, np.uint8) for _ in range(2)]
        assert shelf.take("rows") is None
        del rows
        pool.release()
