"""The way to the device and back."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from mmap import PAGESIZE

import numpy as np
import pytest

import sssp
from tests.cuda.conftest import SIMULATOR

pytestmark = pytest.mark.gpu
pinned = pytest.mark.skipif(SIMULATOR, reason="the simulator knows no pinned memory")


@pytest.mark.parametrize("size", [0, 1, 1000, 262_144, 262_145, 5_000_001])
def test_arrays_come_back_as_they_went(size, device):
    from sssp.cuda import device_memory as memory
    from sssp.cuda.availability import cuda

    array = np.random.default_rng(size).integers(0, 1 << 30, size, np.int32)
    for back in (np.empty_like(array), memory.pinned_array(size, np.int32)):
        back.fill(-1)
        memory.download(memory.upload(array), back, cuda.stream())
        np.testing.assert_array_equal(back, array)


@pinned
def test_pinned_memory_is_known_wherever_it_is_from(device):
    from sssp.cuda import device_memory as memory
    from sssp.cuda.availability import select
    from sssp.cuda.driver import is_pinned, pin, unpin

    with select(0):
        ours, others = memory.pinned_array((3, 1000), np.int32), np.zeros((3, PAGESIZE))
        for part in (ours, ours[1], ours[2, 5:7]):
            assert is_pinned(part.ctypes.data, part.nbytes)
        assert not is_pinned(others.ctypes.data, others.nbytes)
        start = -(-others.ctypes.data // PAGESIZE) * PAGESIZE
        assert pin(start, PAGESIZE)
        assert not is_pinned(start, others.nbytes - PAGESIZE)
        unpin(start)


@pinned
@pytest.mark.parametrize("streams", [1, 3, 8])
@pytest.mark.parametrize("pages", [1, 100, 10_000])
def test_any_number_of_streams_and_any_piece_will_do(streams, pages, device):
    from sssp.cuda import device_memory as memory
    from sssp.cuda.availability import cuda

    array = np.random.default_rng(1).random((1237, 501))
    for whole in (array, array.reshape(-1)[3:-5]):
        there = memory.upload(whole, streams, pages * PAGESIZE)
        back = np.zeros_like(whole)
        memory.download(there, back, cuda.stream())
        np.testing.assert_array_equal(back, whole)


@pinned
def test_what_cannot_be_pinned_travels_too(device, tmp_path):
    from sssp.cuda import device_memory as memory
    from sssp.cuda.driver import pin, unpin

    array = np.arange(2_000_000)
    array.tofile(tmp_path / "array")
    mapped = np.memmap(tmp_path / "array", np.int64, mode="r")
    np.testing.assert_array_equal(memory.upload(mapped).copy_to_host(), array)
    # whole pages of its own: those at the ends may hold what comes next to it as well
    start = -(-array.ctypes.data // PAGESIZE) * PAGESIZE
    end = (array.ctypes.data + array.nbytes) // PAGESIZE * PAGESIZE
    assert pin(start, end - start)
    assert not pin(start, end - start)
    np.testing.assert_array_equal(memory.upload(array).copy_to_host(), array)
    unpin(start)
    np.testing.assert_array_equal(memory.upload(array).copy_to_host(), array)


@pinned
def test_threads_share_pinned_buffers_but_never_one_at_a_time(device):
    from sssp.cuda import device_memory as memory
    from sssp.cuda.availability import cuda, select

    staging = memory.Staging(1 << 16)

    def there_and_back(seed: int) -> bool:
        array = np.random.default_rng(seed).random(500_000)
        back = np.zeros_like(array)
        with select(0):
            there = memory.upload(array)
            for _ in range(3):
                staging.fetch(there, back)
            cuda.synchronize()
        return bool((back == array).all())

    with ThreadPoolExecutor(6) as executor:
        assert all(executor.map(there_and_back, range(12)))
    with select(0):
        with staging.lease(0) as (_, buffer):
            first = buffer.ctypes.data
        with staging.lease(0) as (_, buffer), staging.lease(0) as (_, other):
            assert buffer.ctypes.data == first
            assert other.ctypes.data != first


@pinned
def test_results_that_are_dropped_do_not_pile_up(device):
    import sssp
    from sssp.cuda import device_memory as memory
    from sssp.cuda.availability import select

    g = sssp.road_like(50_000)

    def free_after(calls: int) -> int:
        for _ in range(calls):
            r = sssp.shortest_paths(
                g, range(100), method="threshold-dijkstra", device=device, output="device"
            )
            assert r.distances.nbytes == 20_000_000
        gc.collect()
        with select(0):
            return memory.free_bytes()

    # (other processes may take memory of the device meanwhile, but hardly so every time)
    assert any(free_after(2) - free_after(6) < 3 * 20_000_000 for _ in range(5))


@pinned
def test_the_memory_of_an_answer_that_has_gone_is_pinned_for_the_next(device):
    from sssp.cuda import host_memory
    from sssp.cuda.availability import select
    from sssp.cuda.driver import is_pinned

    g = sssp.road_like(3000)
    sources = np.arange(host_memory.LEAST // (4 * g.n) + 1)

    def ask(sources):
        return sssp.shortest_paths(g, sources, device=device).distances

    kept = ask(sources)
    right, place = kept.copy(), kept.ctypes.data
    del kept
    for _ in range(2):
        again = ask(sources)
        assert again.ctypes.data == place
        with select(0):
            assert is_pinned(place, again.nbytes)
        np.testing.assert_array_equal(again, right)
        del again
    part = ask(sources)[1:2]
    # (what is left of an answer keeps its memory)
    other = ask(sources[::-1])
    np.testing.assert_array_equal(part, right[1:2])
    np.testing.assert_array_equal(other, right[::-1])
    assert not np.shares_memory(part, other)
