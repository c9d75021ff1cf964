"""The simulator that the other tests run kernels in: what it promises in place of a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from numba import int32, uint32

pytest.importorskip("numba_cuda")
pytest.importorskip("greenlet")

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel
from tests.cuda.conftest import SIMULATOR
from tests.race_checks import watching
from tests.simulator import WARP

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not SIMULATOR, reason="a GPU has threads, and no tracebacks"),
]

THREADS = 4


@pytest.fixture
def hazards() -> None:
    """Some of these kernels have them on purpose."""


def passed_on(*, barriers: bool) -> list[list[int]]:
    """Return what threads read of their neighbours, some before them and some after."""

    @inline
    def wait():
        if barriers:
            cuda.syncthreads()

    @kernel
    def passing_on(found):
        words = cuda.shared.array(THREADS, int32)
        thread = cuda.threadIdx.x
        words[thread] = 0
        cuda.syncthreads()
        words[thread] = 7
        wait()
        found[0, thread] = words[(thread - 1) % THREADS]
        cuda.syncthreads()
        words[thread] = 9
        wait()
        found[1, thread] = words[(thread + 1) % THREADS]

    found = np.zeros((2, THREADS), np.int32)
    passing_on[2, THREADS](found)
    rows: list[list[int]] = found.tolist()
    return rows


def test_threads_wait_at_a_barrier_and_what_lacks_one_goes_wrong() -> None:
    assert passed_on(barriers=True) == [[7] * THREADS, [9] * THREADS]
    missed = passed_on(barriers=False)
    assert 7 not in missed[0][1:]
    assert 9 not in missed[1][:-1]
    assert missed == passed_on(barriers=False)


def test_threads_that_have_ended_are_not_waited_for() -> None:
    @kernel
    def leaving_one_by_one(counts):
        for turn in range(cuda.threadIdx.x):
            cuda.syncthreads()
            cuda.atomic.add(counts, turn, 1)

    counts = np.zeros(THREADS, np.int32)
    leaving_one_by_one[1, THREADS](counts)
    assert counts.tolist() == [3, 2, 1, 0]


def test_an_error_names_its_thread_and_the_next_kernel_runs() -> None:
    @kernel
    def failing(array):
        cuda.syncthreads()
        array[cuda.grid(1)] = 1

    with pytest.raises(IndexError, match="out of bounds") as caught:
        failing[2, 2](np.zeros(3, np.int32))
    assert caught.value.__notes__ == ["in thread (1, 0, 0) of block (1, 0, 0)"]
    failing[2, 2](ones := np.zeros(4, np.int32))
    assert ones.tolist() == [1] * 4


def test_numbers_and_arrays_are_those_of_a_kernel() -> None:
    @kernel
    def converting(found):
        found[0] = uint32(int32(7) - int32(9))

    @kernel
    def counting_from_the_end(found):
        found[0] = found.shape[-1]

    converting[1, 1](found := np.zeros(2, np.int64))
    assert found.tolist() == [2**32 - 2, 0]
    with pytest.raises(IndexError, match="tuple index"):
        counting_from_the_end[1, 1](found)


def test_threads_agree_where_all_of_them_say_so() -> None:
    @kernel
    def voting(found):
        own = cuda.threadIdx.x
        for turn in range(2 * THREADS):
            found[turn, own] = cuda.syncthreads_and(turn >= own)

    found = np.zeros((2 * THREADS, THREADS), np.int32)
    voting[1, THREADS](found)
    expected = np.arange(2 * THREADS) >= THREADS - 1
    assert (found == expected[:, np.newaxis]).all()


def test_threads_of_a_warp_vote_and_exchange_values() -> None:
    @kernel
    def exchanging(found):
        own, lane = cuda.grid(1), cuda.laneid
        found[0, own] = lane
        found[1, own] = cuda.ballot_sync(0xFFFFFFFF, lane % 2 == 1)
        found[2, own] = cuda.shfl_sync(0xFFFFFFFF, own, 1)
        found[3, own] = cuda.shfl_up_sync(0xFFFFFFFF, own, 2)
        found[4, own] = cuda.shfl_down_sync(0xFFFFFFFF, own, 2)

    # the last warp of a block is not full
    threads = 2 * WARP + 3
    exchanging[1, threads](found := np.zeros((5, threads), np.int64))
    own = np.arange(threads)
    first, size = own // WARP * WARP, np.where(own < 2 * WARP, WARP, 3)
    odd = sum(1 << lane for lane in range(1, WARP, 2))
    assert found[0].tolist() == (own % WARP).tolist()
    assert found[1].tolist() == np.where(size == WARP, odd, 0b010).tolist()
    assert found[2].tolist() == (first + 1).tolist()
    assert found[3].tolist() == np.where(own - 2 >= first, own - 2, own).tolist()
    assert found[4].tolist() == np.where(own + 2 < first + size, own + 2, own).tolist()


def test_a_warp_waits_for_its_own_threads_alone() -> None:
    @kernel
    def passing_on(found):
        own = cuda.threadIdx.x
        # one warp turns more often than the other, and both meet at the end
        for turn in range(1 + own // WARP):
            found[turn, own] = own
            cuda.syncwarp()
            neighbour = found[turn, own ^ 1]
            cuda.syncwarp()
            found[turn, own] = neighbour
        cuda.syncthreads()
        found[2, own] = found[0, 2 * WARP - 1 - own]

    passing_on[1, 2 * WARP](found := np.zeros((3, 2 * WARP), np.int32))
    neighbours = np.arange(2 * WARP) ^ 1
    assert found[0].tolist() == neighbours.tolist()
    assert found[1].tolist() == [0] * WARP + neighbours[WARP:].tolist()
    assert found[2].tolist() == neighbours[::-1].tolist()


def test_a_warp_that_would_wait_forever_is_an_error() -> None:
    @kernel
    def waiting(found):
        if cuda.laneid == 0:
            cuda.syncthreads()
        found[0] = cuda.ballot_sync(0xFFFFFFFF, True)

    with pytest.raises(RuntimeError, match=r"some threads of a warp .* wait for the block"):
        waiting[1, WARP](np.zeros(1, np.int64))


def test_memory_that_nobody_has_written_is_no_zero() -> None:
    @kernel
    def reading(found):
        block, words = cuda.blockIdx.x, cuda.shared.array(2, int32)
        asked_for = cuda.shared.array(0, uint32)
        found[block, 0], found[block, 1] = words[0], asked_for[0]
        words[0], asked_for[0] = 5, 6

    found = cuda.device_array((3, 2), np.int64)
    assert found.copy_to_host().tolist() == [[-1, -1]] * 3
    reading[2, 1, 0, 4](found)
    assert found.copy_to_host().tolist() == [[-1, 2**32 - 1]] * 2 + [[-1, -1]]


def hazards_of(*, barrier: str, alike: bool = False, blocks: int = 1) -> list[str]:
    """Return what is found if threads read what their neighbours have written."""

    @inline
    def wait():
        if barrier == "of the block":
            cuda.syncthreads()
        elif barrier == "of the warp":
            cuda.syncwarp()

    @kernel
    def reading(words, found):
        own = cuda.grid(1)
        words[0 if alike else own] = 1
        wait()
        found[own] = words[own ^ WARP]

    with watching() as hazards:
        reading[blocks, 2 * WARP // blocks](
            np.zeros(2 * WARP, np.int32), np.zeros(2 * WARP, np.int32)
        )
    return sorted(hazards)


def test_what_has_no_barrier_is_a_hazard() -> None:
    assert hazards_of(barrier="of the block") == []
    for without in (
        hazards_of(barrier="none"),
        hazards_of(barrier="of the warp"),
        hazards_of(barrier="of the block", blocks=2),
    ):
        (found,) = without
        name = f"{__name__}:"
        assert found.startswith("reading: no barrier between ")
        assert found.count(name) == 2
    # (what is there already, the others do not write)
    assert len(hazards_of(barrier="of the block", alike=True, blocks=2)) == 1


def test_what_a_warp_has_exchanged_is_no_hazard_of_that_warp() -> None:
    @kernel
    def exchanging(words, found):
        own = cuda.threadIdx.x
        words[own] = own
        cuda.syncwarp()
        found[own] = words[own ^ 1]

    with watching() as hazards:
        exchanging[1, 2 * WARP](np.zeros(2 * WARP, np.int32), found := np.zeros(2 * WARP, np.int32))
    assert hazards == set()
    assert found.tolist() == (np.arange(2 * WARP) ^ 1).tolist()


def test_atomic_operations_are_no_hazards() -> None:
    @kernel
    def counting(counts):
        if counts[0] < 100:
            cuda.atomic.add(counts, 0, 1)

    with watching() as hazards:
        counting[2, THREADS](counts := np.zeros(1, np.int32))
    assert counts.tolist() == [2 * THREADS]
    assert hazards == set()


def test_an_index_below_zero_is_found() -> None:
    @kernel
    def reading(words):
        words[0] = words[int32(cuda.threadIdx.x) - 1]

    with watching() as hazards:
        reading[1, 1](np.zeros(2, np.int32))
    (found,) = hazards
    assert "an index below zero" in found
