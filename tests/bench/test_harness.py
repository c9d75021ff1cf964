"""The harness with solvers that are wrong, slow or greedy on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sssp.bench import harness, workloads
from sssp.bench.__main__ import main
from sssp.bench.harness import RIVALS, BenchPlan, Harness, Ours, Rival
from sssp.bench.workloads import Workload
from sssp.calls.shortest_paths import shortest_paths
from sssp.errors import DeviceError
from sssp.graph.graph import Graph
from sssp.loaders import write_gr
from sssp.methods import Dijkstra

QUICK = BenchPlan(trials=2, threads=1)


def path_graph(n: int = 6) -> Graph:
    tails = np.arange(n - 1)
    return Graph.from_arcs(tails, tails + 1, np.full(n - 1, 10))


def workload(graph: Graph, *sources: int) -> Workload:
    return Workload("path", graph, np.array(sources))


def measure(work, rivals=RIVALS, plan=QUICK):
    return Harness([Ours(Dijkstra())], rivals, plan).measure(work)


def wrong_shortest_paths(graph, sources, **options):
    """Add one to the last distance."""
    result = shortest_paths(graph, sources, **options)
    result.distances[0, -1] += 1
    return result


def test_a_wrong_distance_fails_the_certificate(monkeypatch):
    monkeypatch.setattr(harness, "shortest_paths", wrong_shortest_paths)
    scipy, ours = measure(workload(path_graph(), 0))
    assert ours.verified is False
    assert "vertex 5" in ours.remark
    assert scipy.verified is None
    assert ours.trials


def test_timed_distances_that_differ_from_the_certified_ones_fail(monkeypatch):
    def solve(graph, sources, **options):
        result = shortest_paths(graph, sources, **options)
        if not options.get("predecessors"):
            result.distances[0, -1] += 1
        return result

    monkeypatch.setattr(harness, "shortest_paths", solve)
    assert measure(workload(path_graph(), 0))[1].remark == (
        "the timed distances differ from the certified ones"
    )


def test_a_row_without_the_memory_to_verify_it_keeps_its_times(monkeypatch):
    def solve(graph, sources, **options):
        if options.get("predecessors"):
            raise MemoryError
        return shortest_paths(graph, sources, **options)

    monkeypatch.setattr(harness, "shortest_paths", solve)
    ours = measure(workload(path_graph(), 0))[1]
    assert ours.verified is None
    assert ours.remark == "could not be verified: MemoryError"
    assert len(ours.trials) == 2


def test_a_rival_that_disagrees_fails_both_rows():
    def prepare(graph):
        solve = RIVALS[0].prepare(graph)
        return lambda sources: solve(sources) + 1

    rival, ours = measure(workload(path_graph(), 2), [Rival("off by one", prepare)])
    assert (rival.verified, ours.verified) == (False, False)
    assert rival.remark == "it finds 1 for vertex 2, where 0 is certified"
    assert ours.remark == "the distances differ from those of off by one"


def test_a_failed_row_makes_the_exit_code_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(harness, "shortest_paths", wrong_shortest_paths)
    path = tmp_path / "path.gr"
    write_gr(path, 3, [0, 1], [1, 2], [5, 5])
    arguments = ["--graph", str(path), "--source", "1", "--trials", "1", "--methods", "dijkstra"]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "dijkstra on cpu, path: NO: " in out


def test_distances_that_a_float_cannot_hold_are_not_compared_with_scipy():
    graph = path_graph(4).with_weights(np.full(3, 2**60 + 1))
    scipy, ours = measure(workload(graph, 0))
    assert ours.verified is True
    assert scipy.verified is None


def test_rivals_solve_four_sources_spread_over_all_and_ratios_are_per_source():
    calls = []

    def prepare(graph):
        def solve(sources):
            calls.append(sources.tolist())
            return right(sources)

        right = RIVALS[0].prepare(graph)
        return solve

    graph = path_graph(40)
    rival, ours = measure(workload(graph, *range(10, 20)), [Rival("counted", prepare)])
    assert calls[-3:] == [[10, 13, 16, 19]] * 3
    assert calls[-5:-3] == [[10], [10]]
    assert (rival.sources, ours.sources) == (4, 10)
    assert ours.ratio == pytest.approx((rival.median / 4) / (ours.median / 10))


def test_trials_of_all_contenders_take_turns_after_everything_is_warm():
    steps: list[str] = []
    contenders = Harness([Ours(Dijkstra())], RIVALS, QUICK, steps.append)
    contenders.measure(workload(path_graph(), 0))
    assert [step.removeprefix("path: ") for step in steps] == [
        "SciPy dijkstra on cpu, warm-up",
        "dijkstra on cpu, warm-up",
        "SciPy dijkstra on cpu, trial 1",
        "dijkstra on cpu, trial 1",
        "SciPy dijkstra on cpu, trial 2",
        "dijkstra on cpu, trial 2",
        "dijkstra on cpu, verification",
    ]
    assert len(steps) == contenders.steps


def test_jit_is_timed_once_for_every_dtype_of_weights():
    contenders = Harness([Ours(Dijkstra())], RIVALS, QUICK)
    integers, floats = path_graph(), path_graph().with_weights(np.full(5, 0.5))
    jit = [contenders.measure(workload(g, 0))[1].jit_seconds for g in (integers, floats, integers)]
    assert [seconds is None for seconds in jit] == [False, False, True]


def test_a_quadratic_solver_is_foretold_and_never_started(monkeypatch):
    sizes = []
    clock = [0.0]

    def prepare(graph):
        def solve(sources):
            sizes.append(graph.n)
            clock[0] += 1e-9 * graph.n**2
            return np.zeros((1, graph.n))

        return solve

    monkeypatch.setattr(workloads, "perf_counter", lambda: clock[0])
    rows = Harness([], [Rival("quadratic", prepare)], QUICK).measure(
        workload(path_graph(300_000), 0)
    )
    assert rows[0].remark == "one call takes about 90 s, the limit is 60 s"
    assert max(sizes) == 64**2


def test_trials_are_cut_to_what_the_limit_allows(monkeypatch):
    clock = [0.0]

    def prepare(graph):
        def solve(sources):
            clock[0] += graph.n
            return np.zeros((1, graph.n))

        return solve

    monkeypatch.setattr(workloads, "perf_counter", lambda: clock[0])
    plan = replace(QUICK, trials=9, row_limit=35)
    (row,) = Harness([], [Rival("slow", prepare)], plan).measure(workload(path_graph(10), 0))
    assert row.trials == [10, 10, 10]
    assert row.remark == "trials cut to 3, to end within 35 s"


@pytest.mark.parametrize("error", [DeviceError("4 GB needed, 1 GB free"), MemoryError()])
def test_a_contender_that_breaks_off_during_trials_is_skipped(error, monkeypatch):
    calls = []

    def solve(graph, sources, **options):
        calls.append(graph.n)
        if calls.count(6) > 3:
            raise error
        return shortest_paths(graph, sources, **options)

    monkeypatch.setattr(harness, "shortest_paths", solve)
    scipy, ours = measure(workload(path_graph(6), 0))
    assert ours.skipped
    assert ours.ratio is None
    assert ours.remark == (str(error) or "MemoryError")
    assert not scipy.skipped


@pytest.mark.parametrize("after", [0, 3])
def test_a_contender_that_breaks_down_fails_alone(after, monkeypatch):
    calls = []

    def solve(graph, sources, **options):
        calls.append(graph.n)
        if calls.count(6) > after:
            raise TypeError("unhashable type: 'ndarray'")
        return shortest_paths(graph, sources, **options)

    monkeypatch.setattr(harness, "shortest_paths", solve)
    scipy, ours = measure(workload(path_graph(6), 0))
    assert ours.skipped
    assert ours.verified is False
    assert ours.remark.startswith("it broke down with TypeError in test_harness.py:")
    assert ours.remark.endswith(": unhashable type: 'ndarray'")
    assert len(scipy.trials) == QUICK.trials


def test_a_contender_that_breaks_down_while_it_is_verified_keeps_its_times(monkeypatch):
    def solve(graph, sources, **options):
        if options.get("predecessors"):
            raise ZeroDivisionError("division by zero")
        return shortest_paths(graph, sources, **options)

    monkeypatch.setattr(harness, "shortest_paths", solve)
    ours = measure(workload(path_graph(), 0))[1]
    assert ours.verified is False
    assert "ZeroDivisionError" in ours.remark
    assert len(ours.trials) == QUICK.trials


def test_what_breaks_down_makes_the_exit_code_one_and_stands_in_the_table(
    tmp_path, capsys, monkeypatch
):
    def solve(graph, sources, **options):
        raise IndexError

    monkeypatch.setattr(harness, "shortest_paths", solve)
    path = tmp_path / "path.gr"
    write_gr(path, 3, [0, 1], [1, 2], [5, 5])
    assert main(["--graph", str(path), "--source", "1", "--methods", "dijkstra"]) == 1
    assert "dijkstra on cpu, path: NO: it broke down with IndexError in" in capsys.readouterr().out
