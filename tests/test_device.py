"""`device="auto"`: the rule, what it never does, and that a named device is obeyed or refused."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.bench.papers.baselines import BaselineDijkstra, BaselineFloydWarshall
from sssp.calls import choose_device as choice
from sssp.calls.choose_device import (
    Work,
    choose_device,
    search_work,
    trip_work,
)
from sssp.calls.make_plan import _estimate, make_plan
from sssp.engine import thresholds
from sssp.engine.device_names import VARIABLE
from sssp.errors import DeviceError, DistanceOverflowError
from sssp.kernels import cache_files, messages
from sssp.methods import CLOSURE_METHODS, DENSE_METHODS, METHODS, Sweep, as_method

#: what a process takes that has to compile as well
START = thresholds.LOAD + thresholds.COMPILE
#: everything that a GPU can be asked for
STARTED = {
    kind.solvers["cuda"] for kind in (METHODS | DENSE_METHODS).values() if "cuda" in kind.solvers
}
GRAPH = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
SLOW = Work(2 * thresholds.WORTH_A_GPU)
VERY_SLOW = Work(2 * START)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process knows of its GPU."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(choice, "_started", set())
    monkeypatch.setattr(choice, "_spent", {})
    kept_on_disk(monkeypatch)
    choice._gpu_is_usable.cache_clear()
    monkeypatch.setattr(messages, "_warned", set())


def kept_on_disk(monkeypatch: pytest.MonkeyPatch, *kernels: str) -> None:
    """Let these kernels, and no others, have been compiled before."""
    monkeypatch.setattr(cache_files, "names", lambda: iter(f"{kernel}-0123" for kernel in kernels))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU, which is never really used."""
    monkeypatch.setattr(choice, "_number", lambda named: int(named.partition(":")[2] or 0))
    monkeypatch.setattr(choice, "_gpu_is_usable", lambda: True)
    monkeypatch.setattr(choice, "_has_room", lambda needed: True)


@pytest.fixture
def untouchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that nobody may ask for."""

    def fail(named: str) -> int:
        raise AssertionError(f"the driver was asked for {named}")

    monkeypatch.setattr(choice, "_number", fail)


def place(work: Work | None, device: str = "auto", **options: Any) -> tuple[str, bool]:
    return choose_device(device, sssp.DeltaStepping(), work, **options)


def warm(method: str) -> None:
    """Let this method have been used on the GPU."""
    assert choose_device("cuda", as_method(method), None)[0] == "cuda:0"


# what bench/devices.py measured: method, vertices, arcs, rows, threads, and whether the GPU, with
# the graph still to be uploaded, was faster by much (True) or slower (False)
NY = 264_346, 730_100
MILLION = 1_000_000, 2_704_302
MEASURED = [
    ("delta-stepping", 1_000, 2_722, 1, 2, False),
    ("delta-stepping", 10_000, 26_988, 16, 2, False),
    ("delta-stepping", 100_000, 270_026, 1, 16, False),
    ("delta-stepping", 100_000, 270_026, 64, 2, True),
    ("delta-stepping", 100_000, 270_026, 512, 16, True),
    ("delta-stepping", *NY, 1, 2, False),
    ("delta-stepping", *NY, 1, 16, False),
    ("delta-stepping", *NY, 16, 2, True),
    ("delta-stepping", *NY, 64, 16, True),
    ("delta-stepping", *MILLION, 4, 2, True),
    ("delta-stepping", *MILLION, 16, 16, True),
    ("delta-stepping", 4_000_000, 10_819_122, 1, 16, True),
    ("bellman-ford", *NY, 1, 16, True),
    ("threshold-dijkstra", *NY, 64, 16, True),
]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("method", "n", "m", "rows", "threads", "faster"), MEASURED)
def test_auto_takes_what_measured_faster(method, n, m, rows, threads, faster):
    warm(method)
    work = search_work(as_method(method), n, m, rows, threads)
    chosen = choose_device("auto", as_method(method), work)
    assert chosen == (("cuda:0", True) if faster else ("cpu", False))


# the same of a prepared map: rows, threads, options, and whether the GPU, with the map there, was
# faster by much (True) or not
PREPARED = [
    (1, 2, {}, False),
    (64, 16, {}, False),
    (256, 2, {}, True),
    (256, 16, {}, False),
    (1024, 16, {}, False),
    (64, 2, {"reduced": True}, True),
    (256, 2, {"reduced": True}, True),
    (1024, 16, {"reduced": True}, True),
    (64, 2, {"trees": True}, True),
    (256, 16, {"trees": True}, True),
    (16, 2, {"targets": 1000}, False),
]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("rows", "threads", "options", "faster"), PREPARED)
def test_auto_takes_what_measured_faster_on_prepared_maps(rows, threads, options, faster):
    choose_device("cuda", Sweep(), None)
    options = dict(options)
    columns = options.get("targets", NY[0]) * (2 if options.get("trees") else 1)
    host_bytes = 0 if options.pop("reduced", False) else 4 * rows * columns
    work = search_work(Sweep(), *NY, rows, threads, host_bytes=host_bytes, is_there=True, **options)
    assert (choose_device("auto", Sweep(), work)[0] == "cuda:0") == faster


@pytest.mark.usefixtures("gpu")
def test_a_prepared_map_is_brought_to_a_gpu_for_what_is_worth_that():
    choose_device("cuda", Sweep(), None)
    h = sssp.prepare(sssp.road_like(300))
    networks: list[Any] = [h, h.graph]
    for network in networks:
        plan = make_plan(network, range(300))
        work = _estimate(network, plan.method, plan.request, network._weight_range)
        assert work is not None
        assert (work.bringing > 0) == (network is h)
    assert make_plan(h, [0], nearest=True).request.device == "cpu"
    for size, is_there, chosen in (
        (NY, True, "cuda:0"),
        (NY, False, "cuda:0"),
        ((24_400_000, 60_000_000), True, "cuda:0"),
        ((24_400_000, 60_000_000), False, "cpu"),
    ):
        work = trip_work(*size, 100_000, 2, is_there=is_there)
        assert choose_device("auto", Sweep(), work)[0] == chosen
    for trips, chosen in ((500, "cpu"), (1_000, "cuda:0")):
        work = trip_work(*NY, trips, 2, is_there=True)
        assert choose_device("auto", Sweep(), work)[0] == chosen


def test_more_threads_and_nearer_ends_keep_work_on_the_cpu():
    def seconds(threads: int = 1, **options: Any) -> float:
        work = search_work(sssp.DeltaStepping(), *NY, 64, threads, **options)
        assert work is not None
        return work.seconds

    assert seconds() > seconds(2) > seconds(4)
    assert seconds(limited=True) < seconds(targets=1) < seconds(targets=100) < seconds()


@pytest.mark.usefixtures("gpu")
def test_a_gpu_is_started_once_the_calls_that_are_worth_it_have_taken_long_enough():
    # neither small calls nor those of another method count
    for _ in range(1000):
        assert place(Work(0.9 * thresholds.WORTH_A_GPU))[0] == "cpu"
    choose_device("auto", sssp.BellmanFord(), Work(0.9 * START))
    calls = int(START / SLOW.seconds)
    assert {place(SLOW)[0] for _ in range(calls - 1)} == {"cpu"}
    place(SLOW)
    assert place(SLOW) == ("cuda:0", True)
    # again not for small ones
    assert place(Work(0.9 * thresholds.WORTH_A_GPU))[0] == "cpu"


@pytest.mark.usefixtures("gpu")
def test_what_is_compiled_or_loaded_already_is_not_waited_for(monkeypatch):
    work = Work(1.1 * thresholds.LOAD)
    assert choose_device("auto", sssp.BellmanFord(), work) == ("cpu", False)
    monkeypatch.setattr(choice, "_spent", {})
    kept_on_disk(monkeypatch, "sssp.cuda.search.bellman_ford.push._make_push_kernel._push_kernel")
    assert place(Work(1.1 * thresholds.LOAD))[0] == "cpu"
    assert choose_device("auto", sssp.BellmanFord(), work)[0] == "cuda:0"
    # the driver is there for the next method
    assert place(Work(0.8 * thresholds.COMPILE))[0] == "cpu"
    assert place(Work(0.2 * thresholds.COMPILE))[0] == "cuda:0"


@pytest.mark.usefixtures("gpu")
def test_one_call_that_is_long_enough_starts_a_gpu_and_so_does_one_that_names_it():
    assert place(VERY_SLOW)[0] == "cuda:0"
    assert choose_device("auto", sssp.BellmanFord(), Work(1.0)) == ("cpu", False)
    warm("bellman-ford")
    assert choose_device("auto", sssp.BellmanFord(), Work(1.0)) == ("cuda:0", True)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("first", ["johnson", "delta-stepping"])
def test_methods_that_share_their_kernels_start_a_gpu_for_each_other(first):
    every = METHODS | DENSE_METHODS
    assert choose_device("cuda", every[first](), None)[0] == "cuda:0"
    for name in ("johnson", "delta-stepping"):
        assert choose_device("auto", every[name](), SLOW)[0] == "cuda:0"


@pytest.mark.usefixtures("untouchable")
def test_small_work_asks_no_driver(monkeypatch):
    monkeypatch.setattr(choice, "_started", STARTED)
    g = sssp.road_like(1000)
    assert sssp.shortest_paths(g, 0).device == "cpu"
    assert sssp.shortest_paths(g, range(20), predecessors=True, targets=[5]).device == "cpu"
    assert sssp.all_pairs(g).device == "cpu"
    assert sssp.all_pairs([[0, -1], [2, 0]], method="johnson").device == "cpu"
    assert sssp.transitive_closure([[0, 1], [0, 0]]).tolist() == [[True, True], [False, True]]
    assert sssp.reduce(g, [0, 1], "count").tolist() == [1000, 1000]
    assert [r.device for r in sssp.iter_blocks(g, range(4), block_size=2)] == ["cpu", "cpu"]


@pytest.mark.usefixtures("untouchable")
def test_what_stays_on_the_cpu_asks_no_driver(monkeypatch):
    monkeypatch.setattr(choice, "_started", STARTED)
    for name in ("WORTH_A_GPU", "LOAD", "COMPILE"):
        monkeypatch.setattr(thresholds, name, 0.0)
    monkeypatch.setattr("sssp.engine.thresholds.NOT_ESTIMATED", 0)
    floats = sssp.Graph.from_arcs([0, 1], [1, 2], [0.1, 0.2])
    for method in ("dijkstra", "breadth-first", BaselineDijkstra()):
        assert sssp.shortest_paths(GRAPH, 0, method=method).device == "cpu"
    assert sssp.shortest_paths(GRAPH, 0, memory_limit=1 << 30).device == "cpu"
    assert sssp.shortest_paths(GRAPH, 0, device="cpu").device == "cpu"
    # what the host computes
    assert sssp.reduce(floats, 0, "weight", decay=("step", 0.2)) == 2
    assert sssp.all_pairs([[0, 0.5], [0.5, 0]], method="floyd-warshall").device == "cpu"
    assert sssp.all_pairs([[0, 5]] * 2, method="floyd-warshall", dtype=float).device == "cpu"
    assert sssp.all_pairs([[0, 5]] * 2, method=BaselineFloydWarshall()).device == "cpu"
    assert sssp.all_pairs([[0, 5]] * 2, memory_limit=1 << 30).device == "cpu"
    monkeypatch.setattr(choice, "_home", os.getpid() + 1)
    assert sssp.shortest_paths(GRAPH, 0).device == "cpu"


@pytest.mark.parametrize(
    ("work", "answer"),
    [
        (Work(START, host_bytes=1 << 70), "cpu"),
        (Work(START, device_bytes=1 << 70), "cpu"),
        (Work(START, 1 << 20, 1 << 20), "cuda:0"),
    ],
)
@pytest.mark.usefixtures("gpu")
def test_results_and_graphs_that_do_not_fit_stay_on_the_cpu(work, answer, monkeypatch):
    monkeypatch.setattr(choice, "_has_room", lambda needed: needed < 1 << 40)
    assert place(work)[0] == answer


def test_a_machine_without_a_gpu_is_asked_once_and_says_so_once(monkeypatch, caplog):
    asked = []

    def missing(named: str) -> int:
        asked.append(named)
        raise DeviceError("no NVIDIA driver works here")

    monkeypatch.setattr(choice, "_number", missing)
    with caplog.at_level(logging.INFO, "sssp"):
        assert [place(VERY_SLOW)[0] for _ in range(3)] == ["cpu"] * 3
    assert asked == ["cuda"]
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "device='auto' is the CPU: no NVIDIA driver works here")
    ]


def test_the_simulator_is_no_gpu(monkeypatch, caplog):
    numba = pytest.importorskip("sssp.cuda.availability", exc_type=sssp.MissingExtraError)
    monkeypatch.setattr(numba, "SIMULATOR", True)
    monkeypatch.setattr(choice, "_number", lambda named: 0)
    with caplog.at_level(logging.INFO, "sssp"):
        assert place(VERY_SLOW)[0] == "cpu"
    assert "simulator" in caplog.text


@pytest.mark.usefixtures("gpu")
def test_the_variable_names_the_device_of_auto_alone(monkeypatch):
    for value, chosen in {"cpu": "cpu", "cuda": "cuda:0", "cuda:3": "cuda:3", "": "cpu"}.items():
        monkeypatch.setenv(VARIABLE, value)
        assert place(None) == (chosen, False)
        assert place(None, "cpu") == ("cpu", False)
        assert place(None, "cuda:1") == ("cuda:1", False)
    monkeypatch.setenv(VARIABLE, "cpu")
    assert place(VERY_SLOW) == ("cpu", False)
    monkeypatch.setenv(VARIABLE, "cuda")
    with pytest.raises(DeviceError, match=r"dijkstra does not run on cuda; .*delta-stepping"):
        sssp.shortest_paths(GRAPH, 0, method="dijkstra")


@pytest.mark.parametrize("value", ["gpu", "cuda:", "cuda:x", "auto", "CPU"])
def test_a_variable_that_names_no_device_is_refused(value, monkeypatch):
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(
        DeviceError, match=f"SSSP_DEVICE is '{value}'; set it to cpu, cuda, cuda:N, opencl or"
    ):
        sssp.shortest_paths(GRAPH, 0)
    assert sssp.shortest_paths(GRAPH, 0, device="cpu").device == "cpu"


@pytest.mark.parametrize("device", ["gpu", "cuda:", "", None, 0])
def test_a_device_that_is_none_is_refused(device):
    with pytest.raises(DeviceError, match=r"unknown device .*choose 'auto', 'cpu', 'cuda'"):
        sssp.shortest_paths(GRAPH, 0, device=device)


@pytest.mark.usefixtures("gpu")
def test_what_only_a_gpu_can_do_goes_there_or_is_refused():
    assert place(None, output="device") == ("cuda:0", False)
    assert place(None, stream=0) == ("cuda:0", False)
    with pytest.raises(DeviceError, match="dijkstra does not run on cuda"):
        sssp.shortest_paths(GRAPH, 0, method="dijkstra", output="device")
    with pytest.raises(ValueError, match="needs device='cuda'"):
        sssp.shortest_paths(GRAPH, 0, device="cpu", stream=1)


@pytest.fixture
def break_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Give all methods solvers for the GPU that fail with an error."""

    def break_all(error: Exception) -> None:
        def fail(*_: Any) -> Any:
            raise error

        name = f"tests.gpu_with_{type(error).__name__}_{error}"
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        for function in ("solve", "close"):
            setattr(sys.modules[name], function, fail)
        for kind in (METHODS | DENSE_METHODS | CLOSURE_METHODS).values():
            if "cuda" in kind.solvers:
                monkeypatch.setitem(kind.solvers, "cuda", name)

    return break_all


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_lacks_memory_leaves_the_call_to_the_cpu_with_one_line(
    monkeypatch, caplog, break_gpu
):
    for name in ("WORTH_A_GPU", "LOAD", "COMPILE"):
        monkeypatch.setattr(thresholds, name, 0.0)
    monkeypatch.setattr("sssp.engine.thresholds.NOT_ESTIMATED", 0)
    break_gpu(DeviceError("one search takes 99 bytes, but only 9 may be used"))
    for _ in range(2):
        r = sssp.shortest_paths(GRAPH, 0, predecessors=True)
        assert (r.device, r.distances.tolist(), r.path(2).tolist()) == (
            "cpu",
            [0, 5, 10],
            [0, 1, 2],
        )
        sssp.verify(GRAPH, r)
    assert sssp.reduce(GRAPH, 0, "sum") == 15
    r = sssp.all_pairs(GRAPH, method="floyd-warshall")
    assert (r.device, r.distances[0].tolist()) == ("cpu", [0, 5, 10])
    assert sssp.transitive_closure(GRAPH)[0].all()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "falls back to the CPU: one search takes 99 bytes" in caplog.text


@pytest.mark.usefixtures("gpu")
def test_a_named_gpu_is_never_replaced_and_other_errors_are_no_reason_to(monkeypatch, break_gpu):
    break_gpu(DeviceError("too small"))
    with pytest.raises(DeviceError, match="too small"):
        sssp.shortest_paths(GRAPH, 0, device="cuda")
    for name in ("WORTH_A_GPU", "LOAD", "COMPILE"):
        monkeypatch.setattr(thresholds, name, 0.0)
    monkeypatch.setattr("sssp.engine.thresholds.NOT_ESTIMATED", 0)
    break_gpu(DistanceOverflowError("too long"))
    with pytest.raises(DistanceOverflowError, match="too long"):
        sssp.shortest_paths(GRAPH, 0)


def test_estimates_know_the_size_of_the_result():
    def host_bytes(**options: Any) -> int:
        plan = make_plan(GRAPH, [0, 1], **options)
        work = _estimate(GRAPH, plan.method, plan.request, GRAPH._weight_range)
        assert work is not None
        return work.host_bytes

    assert host_bytes(predecessors=True, dtype=np.int64) == 2 * 3 * (8 + 4)
    assert host_bytes(output="sparse") == 0


def test_a_call_that_runs_on_one_device_refuses_several_in_the_same_words():
    h = sssp.prepare(GRAPH)
    calls = (
        lambda device: sssp.all_pairs(GRAPH, device=device),
        lambda device: sssp.all_pairs(GRAPH, method="dijkstra", device=device),
        lambda device: sssp.transitive_closure(GRAPH, device=device),
        lambda device: sssp.nearest(GRAPH, [0], device=device),
        lambda device: sssp.betweenness(GRAPH, device=device),
        lambda device: h.scenarios([], device=device),
    )
    for call in calls:
        for device in (["cpu", "cpu"], "cuda:all"):
            with pytest.raises(DeviceError, match="this call runs on one device, not on"):
                call(device)


def test_an_opencl_device_whose_compiler_fails_is_named_with_what_it_says(monkeypatch):
    compiler = pytest.importorskip("sssp.opencl.compiler", exc_type=ImportError)
    if not compiler.find_devices():
        pytest.skip("OpenCL finds no device")

    def fail(*_: Any) -> None:
        raise compiler.cl.Error("clBuildProgram failed\n\nerror: unknown target CPU")

    monkeypatch.setattr(compiler.cl, "Program", fail)
    monkeypatch.setattr(compiler, "_compiler_flaw", compiler._compiler_flaw.__wrapped__)
    with pytest.raises(DeviceError, match="cannot be used: its compiler fails: error: unknown t"):
        sssp.all_pairs(sssp.road_like(3), device="opencl:0")
