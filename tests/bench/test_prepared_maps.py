"""The table of prepared maps: its lines, what is verified of them, and who else is asked."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sssp
from bench import rivals
from sssp.bench import __main__ as bench
from sssp.bench import prepared_maps
from sssp.bench.harness import Rival, RivalMap
from sssp.bench.prepared_maps import count_bytes, preparing_pays_after
from sssp.loaders import write_gr
from tests.bench.test_bench import table_of

GRAPH = "road-like:500"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in {"TREES": (1, 5), "TRIPS": (20,), "PATHS": 10, "TINY": 20}.items():
        monkeypatch.setattr(prepared_maps, name, value)


def measured(
    capsys: Any, *more: str, main: Any = bench.main, graph: str = GRAPH
) -> SimpleNamespace:
    code = main(["--table", "hierarchy", "--graph", graph, "--trials", "1", "--side", "7", *more])
    out = capsys.readouterr().out
    headings, *lines = table_of(out, "graph")
    rows = {line[1]: dict(zip(headings, line, strict=True)) for line in lines if len(line) > 2}
    return SimpleNamespace(code=code, out=out, rows=rows)


@pytest.mark.slow
def test_every_question_is_asked_of_all_and_the_answers_are_equal(tmp_path, capsys):
    file = tmp_path / "out.json"
    found = measured(capsys, "--json", str(file))
    assert found.code == 0
    built = ["prepare", "read from its file", "new weights", "closed street, 1 tree"]
    asked = ["1 tree", "5 trees", "table 7 x 7", "20 trips", "10 paths"]
    assert list(found.rows) == [*built, *asked]
    for name in built:
        assert float(found.rows[name]["ms"]) > 0
    assert found.rows[built[-1]]["equal"] == "yes"
    assert float(found.rows[built[-1]]["x"]) > 0
    for name in asked:
        row = found.rows[name]
        assert row["equal"] == "yes"
        by_scipy = ("SciPy ms", "x SciPy") if name != "10 paths" else ()
        for column in ("ms", "flat ms", "x", *by_scipy):
            assert float(row[column].replace(",", "")) > 0, (name, column)
        assert row["pays after"] == "never" or int(row["pays after"].replace(",", "")) > 0
    h = sssp.prepare(sssp.road_like(500))
    megabytes = f"{count_bytes(h._structure) / 1e6:.3f}"
    assert found.rows["prepare"]["MB"] == megabytes
    (comparison,) = json.loads(file.read_text())["comparisons"]
    assert [line["asked for"] for line in comparison["records"]] == list(found.rows)


@pytest.mark.gpu
@pytest.mark.parametrize("devices", ["cuda", "cpu,cuda"])
@pytest.mark.usefixtures("device")
def test_a_gpu_is_asked_in_place_of_the_cpu_or_beside_it(devices, capsys):
    found = measured(capsys, "--devices", devices, graph="road-like:30")
    assert found.code == 0
    assert "differs" not in found.out
    for name in ("new weights", "1 tree", "5 trees", "table 7 x 7", "20 trips", "10 paths"):
        row = found.rows[name]
        assert float(row["cuda ms" if "," in devices else "ms"].replace(",", "")) > 0, name
        assert row["equal"] in ("yes", "-")


#: before a test puts `forged` in its place
PAIRS = sssp.pairs


def forged(network, *arguments, **options):
    """Answer trips, and the first of a prepared map wrongly."""
    trips = PAIRS(network, *arguments, **options)
    if isinstance(network, sssp.Hierarchy):
        trips.distances[0] += 1
    return trips


def test_a_wrong_answer_is_told_and_the_exit_code_is_one(monkeypatch, capsys):
    monkeypatch.setattr("sssp.pairs", forged)
    found = measured(capsys)
    assert found.code == 1
    assert [name for name, row in found.rows.items() if row["equal"] == "NO"] == [
        "20 trips",
        "10 paths",
    ]


def test_who_would_take_too_long_is_asked_a_part_and_the_table_says_so(capsys):
    found = measured(capsys, "--row-limit", "1e-9")
    assert found.code == 0
    assert f"{GRAPH}: table 7 x 7: flat asked 4 of 7" in found.out
    assert found.rows["table 7 x 7"]["equal"] == "yes"


def test_a_graph_that_cannot_be_prepared_is_told(tmp_path, capsys):
    path = tmp_path / "cycle.gr"
    write_gr(path, 2, [0, 1], [1, 0], [-6, 5])
    found = measured(capsys, graph=str(path))
    assert found.code == 0
    assert "cycle: broken off: the graph has a cycle of negative length" in found.out


def test_negative_weights_are_for_who_takes_them(tmp_path, capsys, monkeypatch):
    path = tmp_path / "negative.gr"
    tails, heads = np.arange(39), np.arange(1, 40)
    write_gr(path, 40, tails, heads, np.where(tails % 3, 7, -2))
    monkeypatch.setitem(rivals.RIVALS, "stand-in", stand_in(0))
    found = measured(capsys, "--rivals", "stand-in", main=rivals.main, graph=str(path))
    assert found.code == 0
    row = found.rows["20 trips"]
    assert (row["SciPy ms"], row["stand-in ms"], row["equal"]) == ("-", "-", "yes")
    assert float(row["flat ms"]) > 0


@pytest.mark.parametrize(
    ("prepared", "ours", "flat", "count", "pays"),
    [(10, 1, 2, 1, 10), (10, 1, 3, 4, 20), (1, 0.5, 0.8, 1, 4), (10, 2, 2, 1, None)],
)
def test_preparing_pays_when_the_time_saved_is_that_of_preparing(prepared, ours, flat, count, pays):
    assert preparing_pays_after(prepared, ours, flat, count) == pays


def test_held_bytes_are_those_of_arrays_however_deep_they_lie():
    arrays = np.zeros(3, np.int32), (np.zeros(2), 5, ())
    assert count_bytes(*arrays) == count_bytes(arrays) == 28


# -- rivals ------------------------------------------------------------------------------------


def stand_in(more: int) -> Rival:
    """Return a rival that prepares nothing, and finds distances that are `more` than right."""

    def mapped(graph: sssp.Graph) -> Any:
        def table(sources: Any, targets: Any) -> Any:
            return sssp.shortest_paths(graph, sources, targets=targets).to_float() + more

        def trips(sources: Any, targets: Any) -> Any:
            return sssp.pairs(graph, sources, targets).to_float() + more

        return lambda: RivalMap(None, table, trips, np.asarray, lambda weights: None)

    return Rival("stand-in", lambda graph: lambda sources: None, mapped=mapped)


@pytest.mark.parametrize("more", [0, 1])
def test_a_rival_that_prepares_maps_is_asked_what_it_can_answer(more, monkeypatch, capsys):
    monkeypatch.setitem(rivals.RIVALS, "stand-in", stand_in(more))
    found = measured(capsys, "--rivals", "stand-in", main=rivals.main)
    assert found.code == 0
    times = {name: row["stand-in ms"] for name, row in found.rows.items()}
    silent = [name for name, time in times.items() if time == "-"]
    nothing_to_save = ["read from its file", "closed street, 1 tree"]
    assert silent == [*nothing_to_save, "1 tree", "5 trees", "10 paths"]
    assert ("20 trips: stand-in differs" in found.out) == bool(more)
    assert found.rows["20 trips"]["equal"] == "yes"  # ours is


@pytest.mark.parametrize(
    ("rival", "module", "package"),
    [("cch", "routingkit_cch", "routingkit-cch"), ("pandana", "pandana", "pandana")],
)
def test_a_library_that_is_not_here_is_left_out_and_says_how_to_get_it(
    rival, module, package, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, module, None)
    found = measured(capsys, "--rivals", rival, main=rivals.main)
    assert found.code == 0
    assert f"skipped: not installed: pip install {package}" in found.out


@pytest.mark.filterwarnings("default:::pandana", "default:::pandas")
@pytest.mark.parametrize(("rival", "module"), [("cch", "routingkit_cch"), ("pandana", "pandana")])
def test_a_library_finds_what_we_find(rival, module, capsys):
    pytest.importorskip(module)
    found = measured(capsys, "--rivals", rival, main=rivals.main)
    assert found.code == 0
    assert "differs" not in found.out
    assert "skipped" not in found.out
    assert "broke down" not in found.out
    assert float(found.rows["20 trips"][f"{rivals.RIVALS[rival].name} ms"]) > 0
