"""Memory that the blocks of a job hand on."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.jobs import blocks, stores
from sssp.apps.jobs.blocks import Buffers
from sssp.apps.jobs.runners import AHEAD, WRITERS_A_GPU, LocalRunner
from sssp.kernels.dtypes import FLOAT64, INT32


def place(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_memory_serves_again_once_the_last_view_of_it_has_gone() -> None:
    buffers = Buffers()
    array = buffers.take((4, 1000), INT32)
    assert (array.shape, array.dtype, array.flags.writeable) == ((4, 1000), INT32, True)
    first, view = place(array), np.asarray(array[1:3].T)[:5].view()
    view[...] = 7
    del array
    other = buffers.take((4, 1000), INT32)
    other[...] = 0
    assert place(other) != first
    assert (view == 7).all()
    del view
    again = buffers.take((2, 1000), FLOAT64)
    assert (place(again), again.shape, again.dtype) == (first, (2, 1000), FLOAT64)
    assert buffers.take((0, 5), INT32).shape == (0, 5)


def test_what_is_too_small_is_given_up() -> None:
    buffers = Buffers()
    for size in (1000, 1001, 2000, 2000):
        buffers.take((size,), INT32)
    assert [memory.size for memory in buffers._returned] == [8000]
    small = buffers.take((3,), INT32)
    assert not buffers._returned
    del small
    assert [memory.size for memory in buffers._returned] == [8000]


def test_nothing_is_held_once_the_job_is_gone() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        buffers = Buffers()
        idle, kept = buffers.take((1_000_000,), INT32), buffers.take((1_000_000,), INT32)
        del idle, buffers
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 4_100_000
        kept[...] = 1
        del kept
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def test_no_two_arrays_share_memory_whatever_threads_do() -> None:
    buffers = Buffers()

    def fill(number: int) -> bool:
        for size in range(1, 200):
            array = buffers.take((size, 7), INT32)
            array[...] = number
            part = array[size // 2 :].T
            del array
            if not (part == number).all():
                return False
        return True

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(fill, range(32)))


def test_buffers_travel_without_memory() -> None:
    buffers = Buffers()
    buffers.take((1000,), INT32)
    copy = pickle.loads(pickle.dumps(buffers))
    assert len(pickle.dumps(buffers)) < 100
    assert not copy._returned


def test_blocks_of_a_gpu_and_what_is_being_written_stay_below_500_mb() -> None:
    for search_bytes in (4, 1000, 1 << 20, 33 << 20, stores.GPU_BLOCK_BYTES):
        for searches in (1, 1000, 10**9):
            size = stores.block_size_of(searches, search_bytes, on_gpu=True)
            together = stores.blocks_together(size, search_bytes)
            assert together * size * search_bytes <= stores.GPU_BLOCK_BYTES
    # (a chunk, and what it is compressed to)
    writing = WRITERS_A_GPU * 2 * stores.CHUNK_BYTES
    assert AHEAD * stores.GPU_BLOCK_BYTES + writing < 500e6


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_memory_does_not_grow_with_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str | None
) -> None:
    pytest.importorskip("zarr")
    call, chunk = 2 << 20, 1 << 18
    monkeypatch.setattr(stores, "GPU_BLOCK_BYTES", call)
    monkeypatch.setattr("sssp.apps.jobs.stores.CHUNK_BYTES", chunk)

    solve = blocks.Inputs.solve

    def search(inputs: Any, some: Any, device: Any, threads: Any) -> list[blocks.Solved]:
        return solve(inputs, some, "cpu", threads)

    # blocks are found as on a GPU: some in a call, while those before them are written
    monkeypatch.setattr(blocks.Inputs, "solve", search)
    g = sssp.road_like(10_000, seed=1)
    together = stores.blocks_together(16, 4 * g.n)
    monkeypatch.setattr(
        "sssp.apps.jobs.job.LocalRunner",
        lambda devices, threads, one, by_rule: LocalRunner(["cuda"], threads, together),
    )
    asked: dict[str, Any] = {"compression": compression, "device": "cpu", "certify": 0}
    sssp.run(g, range(10), to=tmp_path / "warm.zarr", **asked)
    tracemalloc.start()
    try:
        held = tracemalloc.get_traced_memory()[0]
        report = sssp.run(g, range(1000), to=tmp_path / "od.zarr", **asked)
        most = tracemalloc.get_traced_memory()[1] - held
    finally:
        tracemalloc.stop()
    assert (report.block_size, report.nbytes) == (16, 40_000_000)
    assert most < AHEAD * call + WRITERS_A_GPU * 2 * chunk + (1 << 20)
