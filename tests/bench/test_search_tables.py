"""The published figures, and the table that sets ours beside them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sssp.bench import harness, report, workloads
from sssp.bench.__main__ import main
from sssp.bench.papers import search_tables
from sssp.bench.papers.search_tables import RANDOM_GRAPHS, RandomGraph, random_graph
from sssp.bench.report import find_hardware
from sssp.bench.workloads import Workload
from sssp.calls.shortest_paths import shortest_paths
from sssp.errors import DeviceError
from sssp.methods import Dijkstra
from tests.bench.test_bench import grid_file, table_of


def table_under(text: str, title: str) -> tuple[list[list[str]], str]:
    """Return the cells of the table below a title, headings first, and what follows it."""
    part = next(part for part in text.split("\n\n") if part.startswith(title))
    cells = table_of(part, "graph")
    columns = len(cells[0])
    return [line for line in cells if len(line) == columns], part


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Two road graphs, one of them absent, a small stand-in, and two small random graphs."""
    grid_file(tmp_path, 8, "USA-road-d.Here.gr")
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    monkeypatch.setattr(search_tables, "ROAD_GRAPHS", ("USA-road-d.Here", "USA-road-d.Nowhere"))
    monkeypatch.setattr(search_tables, "STAND_IN", 300)
    monkeypatch.setattr(search_tables, "MANY_RELAXATIONS", 1000)
    small = (RandomGraph(6, 20, 1234.5, 0.31), RandomGraph(40, 300, 3.0, 4.0))
    monkeypatch.setattr(search_tables, "RANDOM_GRAPHS", small)


def cuda_target():
    """Return the module that knows the GPU; skips where Numba's CUDA target is not installed."""
    return pytest.importorskip("sssp.cuda.availability", exc_type=ImportError)


def without_gpu(device):
    raise DeviceError("CUDA cannot be used: not today")


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(cuda_target(), "device_number", without_gpu)


@pytest.fixture
def grid_header(tmp_path, capsys, monkeypatch):
    """Return the header of a run on a machine with the hardware given."""

    def header(found):
        monkeypatch.setattr(report, "find_hardware", lambda devices: found)
        arguments = ["--graph", str(grid_file(tmp_path)), "--trials", "1", "--methods", "dijkstra"]
        main(arguments)
        return capsys.readouterr().out.split("\n\n")[0]

    return header


def test_the_published_figures_are_those_of_the_thesis():
    assert [*search_tables.PUBLISHED.values()] == [1.75, 3.0]
    assert search_tables.ROAD_GRAPHS[::2] == ("USA-road-d.NY", "USA-road-d.COL", "USA-road-d.NW")
    assert [(row.n, row.m) for row in RANDOM_GRAPHS] == [
        (10, 34), (1_000, 18_555), (5_000, 122_984), (10_000, 489_476), (5_000, 1_242_105),
    ]  # fmt: skip
    assert [row.serial for row in RANDOM_GRAPHS] == [0.028, 270.3, 8799.9, 68532.7, 84488.6]
    assert [row.gpu for row in RANDOM_GRAPHS] == [0.31, 8.227, 45.855, 133.717, 238.185]


@pytest.mark.parametrize(("n", "m"), [(10, 34), (2, 2), (7, 6), (7, 42), (300, 5_000)])
def test_a_random_graph_has_so_many_distinct_arcs_and_is_reached_from_the_first_vertex(n, m):
    graph = random_graph(n, m, seed=5)
    assert (graph.n, graph.m) == (n, m)
    assert np.unique(graph.tails * n + graph.indices).size == m
    assert not np.any(graph.tails == graph.indices)
    assert shortest_paths(graph, 0).reached.all()
    assert 1 <= graph.weights.min() <= graph.weights.max() <= search_tables.GREATEST_WEIGHT


def test_a_seed_always_makes_the_same_random_graph():
    first, again, other = (random_graph(30, 200, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.indices, again.indices)
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)


def test_more_arcs_than_there_are_pairs_are_refused():
    with pytest.raises(ValueError, match="3 vertices take 2 to 6 distinct arcs, not 7"):
        random_graph(3, 7)


def test_figure_5_1_has_a_row_for_every_graph_also_for_absent_ones(tiny, no_gpu, capsys):
    assert main(["--table", "thesis", "--trials", "2"]) == 0
    out = capsys.readouterr().out
    (headings, here, nowhere, stand_in), text = table_under(out, "Thesis, figure 5-1")
    assert headings[3:7] == [
        "baseline-dijkstra ms", "dijkstra ms", "threshold cpu ms", "threshold cuda ms",
    ]  # fmt: skip
    assert here[:3] == ["USA-road-d.Here", "64", "224"]
    assert here[-3:] == ["1.750", "3.000", "yes"]
    assert nowhere == ["USA-road-d.Nowhere", *9 * "-", "1.750", "3.000", "skipped"]
    assert "Nowhere: skipped: not on this machine; data/README.md says where to get it" in text
    assert stand_in[:2] == ["road-like:300", "300"]
    assert stand_in[-3:] == ["-", "-", "yes"]
    assert {row[6] for row in (here, stand_in)} == {"-"}
    assert "threshold-dijkstra on cuda, USA-road-d.Here: skipped: CUDA cannot be used" in out


def test_table_5_2_prints_published_and_measured_times_side_by_side(tiny, no_gpu, capsys):
    main(["--table", "thesis", "--trials", "2"])
    (headings, *rows), _ = table_under(capsys.readouterr().out, "Thesis, table 5-2")
    assert headings == [
        "graph", "n", "m", "thesis serial ms", "thesis GPU ms",
        "baseline-bellman-ford ms", "bellman-ford ms", "pull cuda ms", "push cuda ms", "verified",
    ]  # fmt: skip
    assert [row[:5] for row in rows] == [
        ["random-6-20", "6", "20", "1,234.500", "0.310"],
        ["random-40-300", "40", "300", "3.000", "4.000"],
    ]
    assert all(float(row[5]) > 0 and float(row[6]) > 0 for row in rows)
    assert [row[7:] for row in rows] == 2 * [["-", "-", "yes"]]


def test_the_json_file_holds_the_table_and_the_trials_behind_it(tiny, no_gpu, tmp_path, capsys):
    file = tmp_path / "out.json"
    assert main(["--table", "thesis", "--trials", "2", "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    figure, table = report["comparisons"]
    rows = {(row["method"], row["device"], row["graph"]): row for row in report["rows"]}
    here = figure["records"][0]
    baseline, threshold = (
        rows[method, "cpu", "USA-road-d.Here"]
        for method in ("baseline-dijkstra", "threshold-dijkstra")
    )
    assert here["baseline-dijkstra ms"] == pytest.approx(1000 * baseline["median"])
    assert here["x cpu"] == pytest.approx(baseline["median"] / threshold["median"])
    assert here["phases"] == threshold["phases"] > 1
    assert here["threshold cuda ms"] is here["x cuda"] is None
    assert rows["threshold-dijkstra", "cuda", "USA-road-d.Here"]["skipped"] is True
    assert report["graphs"][0]["sources"] == [64 // 2 + 1]
    small, large = (
        rows["baseline-bellman-ford", "cpu", record["graph"]] for record in table["records"]
    )
    assert (len(small["trials"]), len(large["trials"])) == (2, 1)
    assert table["records"][0]["thesis serial ms"] == 1234.5


def test_what_would_take_too_long_is_skipped_with_its_reason(tiny, no_gpu, capsys):
    assert main(["--table", "thesis", "--trials", "1", "--row-limit", "1e-9"]) == 0
    out = capsys.readouterr().out
    rows = table_under(out, "Thesis, table 5-2")[0][1:]
    assert [row[5:] for row in rows] == [["-", "-", "-", "-", "skipped"]] * 2
    assert "baseline-bellman-ford on cpu, random-6-20: skipped: one call takes about" in out


def test_a_wrong_distance_shows_in_the_table_and_in_the_exit_code(
    tiny, no_gpu, capsys, monkeypatch
):
    def wrong_shortest_paths(graph, sources, **options):
        result = shortest_paths(graph, sources, **options)
        result.distances[0, -1] += 1
        return result

    monkeypatch.setattr(harness, "shortest_paths", wrong_shortest_paths)
    assert main(["--table", "thesis", "--trials", "1"]) == 1
    rows = table_under(capsys.readouterr().out, "Thesis, table 5-2")[0][1:]
    assert [row[-1] for row in rows] == ["NO", "NO"]


def test_a_graph_with_more_arcs_per_vertex_is_expected_to_take_longer(monkeypatch):
    plan = harness.BenchPlan(trials=1, row_limit=1e-9)
    clock = [0.0]
    monkeypatch.setattr(workloads, "perf_counter", lambda: clock[0])

    def linear(graph, sources, **options):
        clock[0] += graph.m
        return shortest_paths(graph, sources, **options)

    monkeypatch.setattr(harness, "shortest_paths", linear)
    contenders = harness.Harness([harness.Ours(Dijkstra())], (), plan)
    (row,) = contenders.measure(Workload("dense", random_graph(64, 4000), np.zeros(1, int)))
    assert row.remark == "one call takes about 4,000 s, the limit is 1e-09 s"


def test_a_table_brings_its_own_graphs(capsys):
    assert main(["--table", "thesis", "--graph", "road-like:100"]) == 2
    assert "--table thesis has graphs of its own: omit --graph" in capsys.readouterr().err


def test_the_hardware_names_a_usable_gpu_and_its_driver(grid_header, monkeypatch):
    numba = cuda_target()
    driver = SimpleNamespace(get_version=lambda: (13, 0))
    fake = SimpleNamespace(
        get_current_device=lambda: SimpleNamespace(name="Abacus 9000"),
        cudadrv=SimpleNamespace(driver=SimpleNamespace(driver=driver)),
    )
    monkeypatch.setattr(numba, "SIMULATOR", False)
    monkeypatch.setattr(numba, "cuda", fake)
    monkeypatch.setattr(numba, "select", lambda number: nullcontext())
    monkeypatch.setattr(numba, "device_number", lambda device: 0)
    found = find_hardware(["cpu", "cuda"])
    assert (found["gpu"], found["driver"]) == ("Abacus 9000", "CUDA 13.0")
    assert "gpu" not in find_hardware(["cpu"])
    assert "\nAbacus 9000, CUDA 13.0\n" in grid_header(found)


def test_a_gpu_that_cannot_be_used_is_left_out_of_the_hardware(no_gpu):
    assert find_hardware(["cuda"]) == find_hardware()


def test_methods_without_a_cuda_twin_are_skipped_on_it_with_the_reason(
    tmp_path, capsys, monkeypatch
):
    numba = cuda_target()
    monkeypatch.setattr(numba, "device_number", lambda device: 0)
    found = find_hardware()
    monkeypatch.setattr(report, "find_hardware", lambda devices: found)
    arguments = ["--graph", str(grid_file(tmp_path)), "--trials", "1", "--devices", "cuda"]
    assert main([*arguments, "--methods", "dijkstra"]) == 0
    assert (
        "dijkstra on cuda, grid: skipped: dijkstra does not run on cuda; searches that do: "
        in capsys.readouterr().out
    )
