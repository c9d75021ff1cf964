"""The scripts beside the package: they import, explain themselves, and write their figures down."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import sssp
from bench import prepared, waits
from bench.graphs import random_graph, real_graph
from bench.listing import Listing, time_launches
from sssp.bench import prepared_maps
from tests.bench.test_prepared_maps import forged
from tests.patience import PATIENCE
from tests.solvers import SIMULATOR

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(
    "script",
    [
        "backend",
        "calls",
        "dense",
        "devices",
        "jobs",
        "large",
        "methods",
        "od_table",
        "prepared",
        "rivals",
        "searches",
        "sweeps",
        "upload",
        "waits",
    ],
)
def test_a_script_runs_from_the_root_and_explains_itself(script):
    if script not in ("backend", "jobs", "methods", "od_table", "prepared", "rivals", "waits"):
        pytest.importorskip("numba_cuda")
    command = [sys.executable, "-m", f"bench.{script}", "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert f"python -m bench.{script}" in done.stdout
    assert "--json" in done.stdout


def test_no_script_changes_where_python_looks_for_modules():
    scripts = list((ROOT / "bench").glob("*.py"))
    assert len(scripts) > 5
    assert [path.name for path in scripts if "sys.path" in path.read_text()] == []


def test_a_listing_is_a_table_at_once_and_json_in_the_end(tmp_path, capsys):
    listing = Listing({"runs": 3}, "what | s | ", "{what} {more} | {seconds:,.2f} | {equal}")
    rows: list[dict[str, Any]] = [{"what": "a", "seconds": 1234.5678, "equal": True}, {"what": "b"}]
    listing.add(*rows, more="and b")
    listing.add({"what": "c", "seconds": None, "equal": None}, more=3)
    assert capsys.readouterr().out.splitlines() == [
        "| what | s |  |",
        "| --- | --- | --- |",
        "| a and b | 1,234.57 | equal |",
        "| c 3 |  |  |",
    ]
    file = tmp_path / "out.json"
    assert listing.finish(file) == 0
    content = json.loads(file.read_text())
    assert content["rows"] == [*rows, {"what": "c", "seconds": None, "equal": None}]
    assert content["settings"] == {"runs": 3}
    assert content["schema"] == 1
    assert {"numpy", "numba", "sssp", "python"} <= set(content["versions"])
    assert {"cpu", "cores"} <= set(content["hardware"])
    assert set(content) == {
        *("schema", "command", "started", "versions", "hardware", "settings", "rows"),
    }


def test_launches_are_timed_step_by_step_between_events(monkeypatch):
    compiler = pytest.importorskip("sssp.cuda.availability", exc_type=ImportError)
    clock, done = [0.0], []

    class Event:
        def record(self, stream):
            self.stream, self.at = stream, clock[0]

        def synchronize(self):
            done.append(self)

    def step(milliseconds):
        clock[0] += milliseconds

    fake = SimpleNamespace(event=Event, event_elapsed_time=lambda start, end: end.at - start.at)
    monkeypatch.setattr(compiler, "cuda", fake)
    assert time_launches("stream", lambda: step(2.5), lambda: step(4)) == [2.5, 4]
    (last,) = done
    assert (last.at, last.stream) == (6.5, "stream")


def test_a_wrong_row_makes_the_exit_code_one(capsys):
    listing = Listing({}, "verdict", "{equal}")
    listing.add({"equal": False})
    assert listing.finish(None) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "| WRONG |"


def test_a_random_graph_is_the_same_every_time():
    first, again = random_graph(50, 3), random_graph(50, 3)
    assert first.n == 50
    assert 100 < first.m <= 150
    assert first.weights.tolist() == again.weights.tolist()


def test_a_graph_that_is_not_here_is_told_and_none(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    assert real_graph("USA-road-d.Nowhere") is None
    assert "USA-road-d.Nowhere is not here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (["continent", "--country", "road-like:500", "--side", "2"], "n = 2,000"),
        (["grid", "--side", "30"], "n = "),
    ],
)
def test_a_continent_is_made_prepared_checked_and_timed(
    arguments, size, monkeypatch, tmp_path, capsys
):
    for module, name, value in (
        (prepared, "SMALL", 100),
        (prepared_maps, "TREES", (1, 3)),
        (prepared_maps, "TRIPS", (50,)),
        (prepared_maps, "PATHS", 40),
    ):
        monkeypatch.setattr(module, name, value)
    file = tmp_path / "out.json"
    assert prepared.main([*arguments, "--threads", "1", "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    whats = [line.split("|")[1].strip() for line in lines]
    assert whats[2:8] == ["make", "prepare", "save", "read", "new weights", "verify"]
    assert whats[8:10] == ["1 tree", "3 trees"]
    assert (whats[10][:5], whats[11:]) == ("table", ["50 trips", "40 paths"])
    assert size in lines[2]
    content = json.loads(file.read_text())
    assert [row["what"] for row in content["rows"]] == whats[2:]
    assert all(row["equal"] and row["seconds"] > 0 for row in content["rows"])


def test_a_prepared_graph_that_answers_wrongly_makes_the_exit_code_one(monkeypatch, capsys):
    monkeypatch.setattr(prepared, "SMALL", 100)
    monkeypatch.setattr(prepared_maps, "TREES", (2,))
    monkeypatch.setattr(prepared_maps, "TRIPS", (50,))
    monkeypatch.setattr(prepared_maps, "PATHS", 40)
    monkeypatch.setattr("sssp.pairs", forged)
    assert prepared.main(["grid", "--side", "20"]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert [line.split("|")[1].strip() for line in wrong] == ["50 trips", "40 paths"]


@pytest.mark.gpu
def test_a_large_graph_is_made_once_prepared_once_and_measured(
    device, monkeypatch, tmp_path, capsys
):
    from bench import large, sweeps

    sizes: tuple[int, ...] = (40, 2, 1)
    if SIMULATOR:  # which has neither recordings nor the time of a launch
        sizes = (5, 1)
        monkeypatch.setattr(sweeps, "Recording", lambda launch: None)
        monkeypatch.setattr(sweeps.Bench, "replay", lambda bench, recording, stream: 1.0)
    monkeypatch.setattr(large, "BATCHES", sizes)
    file, side = tmp_path / "out.json", "12" if SIMULATOR else "40"
    asked = ["grid", "--side", side, "--sources", "6", "--devices", device, "--json", str(file)]
    assert large.main(asked) == 0
    rows = json.loads(file.read_text())["rows"]
    first, *others = (f"{size} trees on the device" for size in sizes)
    assert [row["what"] for row in rows[1:]] == [
        "prepare",
        "first map on the device",
        "rows on the CPU",
        "new weights on the device",
        first,
        "trees found and certified",
        *others,
        "new weights, host to device",
        f"first sums on {device}",
        f"sums, {device}",
    ]
    assert rows[0]["what"].startswith("make, n = ")
    compared = [row["what"] for row in rows if row["equal"]]
    assert compared == [rows[i]["what"] for i in (*range(5, 8 + len(others)), -1)]
    times = [row["at"] for row in rows]
    assert times == sorted(times)
    assert times[0] > 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(rows)


@pytest.mark.gpu
def test_all_pairs_of_a_graph_are_found_and_compared(device, monkeypatch, tmp_path):
    from bench import large, sweeps

    if SIMULATOR:
        monkeypatch.setattr(sweeps, "Recording", lambda launch: None)
    monkeypatch.setattr(large, "BLOCK", 30)
    monkeypatch.setattr(large, "TIMES", 1)
    file, size = tmp_path / "out.json", "40" if SIMULATOR else "1000"
    assert large.main([f"road-like:{size}", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert {row["what"]: row["equal"] for row in rows[4:]} == {
        "every eccentricity": True,
        "new weights, then every eccentricity": True,
        "trees found and certified": True,
        "rows left on the device": None,
        "every row to pinned memory": True,
    }
    assert all(row["units"] == int(size) for row in rows if row["what"].startswith("every"))


def test_a_large_graph_that_is_not_there_is_named(capsys):
    pytest.importorskip("sssp.cuda.availability", exc_type=ImportError)
    from bench import large

    with pytest.raises(SystemExit):
        large.main(["nowhere.gr"])
    assert "nowhere.gr" in capsys.readouterr().err


def test_the_figures_of_the_documentation_are_those_of_the_results(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    from bench.figures import PICTURES, draw

    for file in draw(tmp_path):
        shown = (PICTURES / file.name).read_text(encoding="utf-8")
        assert texts_of(file.read_text(encoding="utf-8")) == texts_of(shown), file.name


def test_no_kernel_lies_above_the_roof():
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed").use("agg")
    from matplotlib import pyplot

    from bench.figures import BANDWIDTH, FIGURES, RESULTS

    record = json.loads((RESULTS / "h100-dense.json").read_text(encoding="utf-8"))
    figure = FIGURES["roofline"](pyplot)
    (ax,) = figure.axes
    _, *kernels = ax.lines
    points = {line.get_label(): [tuple(point) for point in line.get_xydata()] for line in kernels}
    pyplot.close(figure)
    for label, found in points.items():
        for updates_a_byte, rate in found:
            roof = min(record["settings"]["limit, minima a second"], BANDWIDTH * updates_a_byte)
            assert rate < roof, label
    # an entry read and written, at 4 bytes, for 1, 32 and 128 updates
    assert points["Floyd-Warshall, a launch a vertex"][0][0] == pytest.approx(1 / 8)
    assert points["a paper's Floyd-Warshall, blocks of 32"][0][0] == pytest.approx(32 / 8, rel=0.01)
    assert points["Floyd-Warshall, n = 1,000 to 32,768"][6][0] == pytest.approx(128 / 8)


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_what_people_wait_for_is_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.sssp"
    sssp.road_like(300).save(path)
    with patch("sys.argv", ["waits", str(path)]):
        assert waits.main() == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 5
    assert all(line.endswith("| equal |") for line in lines[2:])
