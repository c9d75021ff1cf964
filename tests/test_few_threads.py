"""Calls where the system starts no more threads, in forked children, or after a broken import."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.engine import workers
from sssp.engine.workers import Pool, lend_pool
from tests.patience import PATIENCE, wait_until
from tests.same_results import assert_same_array

G = sssp.road_like(3000)
SOURCES = np.arange(0, 3000, 100)
#: weights some of which are negative, without a negative cycle
NEGATIVE = sssp.Graph.from_arcs([0, 1, 2, 0, 3], [1, 2, 3, 3, 4], [4, -2, 3, 9, 1])
HALVES = NEGATIVE.with_weights(NEGATIVE.weights / 2)
MATRIX = np.where(np.random.default_rng(1).random((420, 420)) < 0.05, 7.0, np.inf)


def prepared() -> Any:
    return sssp.prepare(G)


def write_job(folder: Path) -> Any:
    report = sssp.run(G, SOURCES, to=folder / "table.parquet", targets=SOURCES)
    return report.blocks


def read_file(folder: Path) -> Any:
    G.save(folder / "g.sssp")
    return sssp.read_graph(folder / "g.sssp").weights


#: calls with several threads, each to something that can be compared
CALLS: dict[str, Callable[[Path], Any]] = {
    "rows": lambda _: sssp.shortest_paths(G, SOURCES, predecessors=True).distances,
    "sparse": lambda _: sssp.shortest_paths(
        G, SOURCES, output="sparse", limit=9999
    ).distances.toarray(),
    "nearest": lambda _: sssp.nearest(G, SOURCES, k=2).distances,
    "pairs": lambda _: sssp.pairs(G, SOURCES, SOURCES[::-1]).distances,
    "paths": lambda _: sssp.pairs(G, SOURCES, SOURCES[::-1], predecessors=True).path(3),
    "reduce": lambda _: sssp.reduce(G, SOURCES, "sum"),
    "betweenness": lambda _: sssp.betweenness(G, SOURCES),
    "blocks": lambda _: [b.distances for b in sssp.iter_blocks(G, SOURCES, block_size=7)],
    "johnson": lambda _: sssp.all_pairs(HALVES, method="johnson").distances,
    "floyd-warshall": lambda _: sssp.all_pairs(MATRIX).distances,
    "squaring": lambda _: sssp.all_pairs(MATRIX, method="repeated-squaring").distances,
    "closure": lambda _: sssp.transitive_closure(MATRIX < 9),
    "prepare": lambda _: sssp.shortest_paths(prepared(), SOURCES).distances,
    "trips": lambda _: sssp.pairs(prepared(), SOURCES, SOURCES[::-1]).distances,
    "weights": lambda _: (
        sssp.shortest_paths(prepared().with_weights(G.weights * 2), SOURCES).distances
    ),
    "scenarios": lambda _: [
        sssp.shortest_paths(h, 0).distances
        for h in prepared().scenarios([G.weights, G.weights * 2])
    ],
    "verify": lambda _: sssp.verify(G, sssp.shortest_paths(G, SOURCES)),
    "load": lambda _: sssp.shortest_paths(G, SOURCES, predecessors=True).load(
        np.ones((SOURCES.size, G.n), np.int64)
    ),
    "flows": lambda _: sssp.load(prepared(), (SOURCES, SOURCES[::-1], np.ones(SOURCES.size))).flow,
    "job": write_job,
    "file": read_file,
}


@pytest.fixture(autouse=True, scope="module")
def three_threads() -> Iterator[None]:
    """Let every call take three threads, on machines with fewer cores too."""
    sssp.set_threads(3)
    yield
    sssp.set_threads(None)


@pytest.fixture(params=[0, 1, 2])
def few_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system start few threads more."""
    left = [request.param]
    start = threading.Thread.start

    def start_few(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_few)
    monkeypatch.setattr(workers, "_idle", {})


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {name: call(tmp_path_factory.mktemp(name)) for name, call in CALLS.items()}


@pytest.mark.parametrize("name", CALLS)
def test_calls_go_on_with_the_threads_that_there_are(
    name: str, expected: dict[str, Any], few_threads: None, tmp_path: Path
) -> None:
    found, wanted = CALLS[name](tmp_path), expected[name]
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same_array(one, other)
    elif isinstance(wanted, np.ndarray):
        assert_same_array(found, wanted)
    else:
        assert found == wanted


def test_an_error_of_a_pool_without_threads_is_that_of_its_future(few_threads: None) -> None:
    with Pool(2) as pool:
        future = pool.submit(int, "x")
        with pytest.raises(ValueError, match="invalid literal"):
            future.result()
        assert list(pool.map(abs, [-1, -2])) == [1, 2]


def test_the_environment_asks_for_no_more_threads_than_help() -> None:
    code = "from sssp.engine.threads import default_threads as ask; print(ask(), ask())"
    for asked, most in (("1000000", max(64, 4 * (os.cpu_count() or 1))), ("64", 64)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"SSSP_THREADS": asked},
            capture_output=True,
            text=True,
            check=True,
        )
        first, second = map(int, done.stdout.split())
        assert 1 <= first == second <= most
        assert done.stderr.count("SSSP_THREADS=1000000 is more than") == (asked == "1000000")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_may_change_weights_while_a_thread_of_its_parent_does() -> None:
    hierarchy = sssp.prepare(G)
    arcs, weights = np.arange(3), np.array([1, 2, 3])
    changed = hierarchy.with_changes(arcs, weights)
    expected = sssp.shortest_paths(changed, 5).distances
    whole: Any = hierarchy._layered(np.dtype(np.int32)).whole
    held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        # as in the middle of a change, which writes into the weights
        with whole.lock, hierarchy.graph._derived.lock:
            whole.is_changing = True
            before = whole.basic.copy()
            whole.basic[:] = 0
            held.set()
            may_end.wait(PATIENCE)
            whole.basic[:] = before
            whole.is_changing = False

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        right = False
        try:
            again = hierarchy.with_changes(arcs, weights)
            right = bool((sssp.shortest_paths(again, 5).distances == expected).all())
        finally:
            os._exit(0 if right else 1)
    status = -1

    def has_ended() -> bool:
        nonlocal status
        number, status = os.waitpid(child, os.WNOHANG)
        return number == child

    try:
        wait_until(has_ended, "the child")
    except TimeoutError:
        os.kill(child, 9)
        raise
    finally:
        may_end.set()
        thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    # and the parent's own weights are as they were
    again = hierarchy.with_changes(arcs, weights)
    assert_same_array(sssp.shortest_paths(again, 5).distances, expected)


def test_an_interrupted_import_of_the_compiler_for_gpus_is_told() -> None:
    pytest.importorskip("numba_cuda")
    code = """
import sys, types
import numba, numba_cuda
half = types.ModuleType("numba.cuda")
sys.modules["numba.cuda"] = numba.cuda = half
import sssp
try:
    sssp.shortest_paths(sssp.road_like(10), 0, device="cuda")
except sssp.DeviceError as error:
    print(error)
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "interrupted" in done.stdout
    assert "restart Python" in done.stdout


def test_threads_are_lent_again_but_not_after_an_error() -> None:
    with lend_pool(2) as first:
        assert first.submit(int).result() == 0
    with lend_pool(2) as again, lend_pool(2) as other:
        assert again is first
        assert other is not first
    with pytest.raises(KeyboardInterrupt), lend_pool(2) as broken:
        raise KeyboardInterrupt
    with lend_pool(2) as one, lend_pool(2) as two:
        assert broken not in (one, two)
    with pytest.raises(RuntimeError, match="shutdown"):
        broken.submit(int)
