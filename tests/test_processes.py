"""Threads, processes and pickles: one graph serves them all."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.cpu import search_driver as rows
from sssp.graph.check_arrays import is_sparse
from sssp.graph.frames import as_frame
from tests.patience import PATIENCE, wait_until

#: one call of every kind that has scratch, caches or threads of its own
CALLS: list[dict[str, Any]] = [
    {"method": "dijkstra"},
    {"method": "delta-stepping", "predecessors": True},
    {"method": "bellman-ford", "dtype": "int64"},
    {"method": "breadth-first", "limit": 9},
    {"method": "threshold-dijkstra"},
    {"method": sssp.ThresholdDijkstra(criterion="in-out"), "dtype": "float64"},
    {"nearest": True, "predecessors": True},
    {"output": "sparse", "limit": 60, "predecessors": True},
]


def random_graph(n: int = 3000) -> sssp.Graph:
    random = np.random.default_rng(11)
    tails, heads = random.integers(0, n, (2, 3 * n))
    return sssp.Graph.from_arcs(tails, heads, random.integers(0, 100, 3 * n), n=n, directed=False)


def contents(result: sssp.ShortestPaths) -> list[list[Any]]:
    """Return all that `result` holds, as plain lists."""
    parts = [result.distances, result.predecessors, result.origin]
    arrays = [getattr(part, "data", part) for part in parts if part is not None]
    return [np.asarray(array).tolist() for array in arrays]


def solve(g: sssp.Graph, sources: Any, options: dict[str, Any]) -> sssp.ShortestPaths:
    return sssp.shortest_paths(g, sources, threads=2, **options)


def test_eight_threads_on_one_graph_get_the_answers_of_one() -> None:
    sources = [0, 17, 2999]
    expected = [contents(solve(random_graph(), sources, call)) for call in CALLS]
    shared = random_graph()
    start = threading.Barrier(len(CALLS))

    def work(offset: int) -> None:
        start.wait()
        for i in range(2 * len(CALLS)):
            which = (offset + i) % len(CALLS)
            assert contents(solve(shared, sources, CALLS[which])) == expected[which]

    with ThreadPoolExecutor(len(CALLS)) as executor:
        for future in [executor.submit(work, offset) for offset in range(len(CALLS))]:
            future.result()


@pytest.mark.parametrize("package", ["scipy.sparse", "pandas"])
def test_what_another_thread_is_about_to_import_is_taken_as_not_there(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, ModuleType(package))
    assert not is_sparse([[0, 1]])
    with pytest.raises(TypeError, match="edges must be a pandas DataFrame, not list"):
        as_frame([1], "edges", "Graph.from_arcs takes columns")


# Python warns of forks of a process with threads, and BLAS libraries have some of their own
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_processes_started_after_a_solve_can_solve(start_method: str) -> None:
    if start_method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {start_method}")
    g = random_graph()
    expected = [solve(g, [0, 1], call) for call in CALLS]
    context = multiprocessing.get_context(start_method)
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        futures = [executor.submit(solve, g, [0, 1], call) for call in CALLS]
        results = [future.result(timeout=PATIENCE) for future in futures]
    for call, result, before in zip(CALLS, results, expected, strict=True):
        assert contents(result) == contents(before), call
        sssp.verify(g, result)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_results_and_graphs_pickle(call: dict[str, Any]) -> None:
    g = random_graph(50)
    result = solve(g, [3, 4], call)
    copy = pickle.loads(pickle.dumps(result))
    assert contents(copy) == contents(result)
    assert (copy.method, copy.limit, copy.nearest) == (result.method, result.limit, result.nearest)
    assert copy.graph.m == g.m
    sssp.verify(copy.graph, copy)
    assert contents(solve(copy.graph, [3, 4], call)) == contents(result)


def test_a_pickled_graph_leaves_behind_what_can_be_made_again() -> None:
    fresh = len(pickle.dumps(random_graph()))
    used = random_graph()
    for call in CALLS:
        solve(used, 0, call)
    assert len(pickle.dumps(used)) == fresh


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_call(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    g = random_graph()
    sssp.shortest_paths(g, [0, 1], limit=0, output="sparse", threads=threads)
    # on the CPU: an interrupt that meets the import of a GPU's driver may be lost
    sources, here = np.zeros(1_000_000, int), threading.get_ident()
    solve = rows._SearchedRows.solve
    begun: list[range] = []
    unheard: list[range] = []

    def interrupted(self: Any, some: range, scratch: Any) -> None:
        begun.append(some)
        if len(begun) == 1:
            signal.pthread_kill(here, signal.SIGINT)
        try:  # (in the calling thread the interrupt comes by then)
            wait_until(lambda: self.stop)
        except TimeoutError:
            unheard.append(some)
        solve(self, some, scratch)

    monkeypatch.setattr(rows._SearchedRows, "solve", interrupted)
    # a shell that starts its jobs in the background has them ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # in a callback of the garbage collector, as Hypothesis has one, an interrupt is lost
    gc.disable()
    try:
        with pytest.raises(KeyboardInterrupt):
            sssp.shortest_paths(g, sources, limit=0, output="sparse", threads=threads, device="cpu")
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, before)
    assert len(begun) <= threads  # the rows in hand
    assert unheard == []
    monkeypatch.undo()
    assert sssp.shortest_paths(g, 0, targets=5).distance(5) >= 0


#: seconds without an answer after which an interrupt is sent again
RESENT = 5
#: calls that start a team, over and over; every interrupt that is heard is answered with a line
CALL_WITH_TEAMS = """
import signal, sys
import numpy as np, sssp
from sssp.engine import thresholds
signal.signal(signal.SIGINT, signal.default_int_handler)
# a team at once, for else the matrix would have to be large
thresholds.WORTH_A_THREAD = 1
matrix = np.random.default_rng(0).integers(1, 99, (150, 150))
def call(threads):
    return sssp.all_pairs(matrix, method="floyd-warshall", threads=threads, device="cpu")
found = expected = call(1).distances
heard = 0
while heard < int(sys.argv[1]):
    try:
        assert (found == expected).all()
        found = call(2 + heard % 3).distances
        print("ready", flush=True)
        while True:
            found = call(2 + heard % 3).distances
    except KeyboardInterrupt:
        heard += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_an_interrupt_while_a_team_starts_leaves_no_thread_waiting() -> None:
    interrupts = 60
    command = [sys.executable, "-c", CALL_WITH_TEAMS, str(interrupts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        stuck = threading.Timer(4 * PATIENCE, process.kill)
        stuck.start()
        try:
            for i in range(interrupts):
                # (Python loses an interrupt that comes in a callback, as of a weak reference)
                while not select.select([process.stdout], [], [], RESENT)[0]:
                    process.send_signal(signal.SIGINT)
                if process.stdout.readline() != "ready\n":
                    break  # (what was sent again was heard twice)
                time.sleep(0.005 + 0.00037 * i)
                process.send_signal(signal.SIGINT)
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(RESENT)
                process.send_signal(signal.SIGINT)
            # (one that comes twice, or at the very end, ends the process; what is stuck is killed)
            assert process.returncode in (0, -signal.SIGINT)
        finally:
            stuck.cancel()
            process.kill()


#: prints how often compiled code was found on disk, and how often it was not
COUNT_COMPILATIONS = """
import sys
from numba.core.dispatcher import Dispatcher
import sssp

g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
for method in ("dijkstra", "delta-stepping"):
    sssp.verify(g, sssp.shortest_paths(g, [0, 1], method=method, predecessors=True))
kernels = {
    kernel
    for name, module in list(sys.modules.items()) if name.startswith("sssp.")
    for kernel in vars(module).values() if isinstance(kernel, Dispatcher)
}
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels))
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""


def test_a_second_process_does_not_compile_again() -> None:
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", COUNT_COMPILATIONS],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(sssp.__file__).parent.parent,
            timeout=300,
        )
    found, compiled = map(int, run.stdout.split())
    assert compiled == 0
    assert found >= 4
