"""The picture of a run: time against n, a line a method with its slope."""

from __future__ import annotations

import json
import re
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from sssp.bench import report as plot
from sssp.bench.__main__ import main
from sssp.bench.report import BenchReport, Measurement, draw, fit_exponent
from sssp.methods import METHODS


def report_of(*rows: Measurement) -> BenchReport:
    hardware: dict[str, str | int | None]
    hardware = {"cpu": "abacus", "cores": 2, "usable_cores": 1, "memory": None, "system": "Beads 1"}
    return BenchReport(
        ["bench"], "today", {"sssp": "1.2.3"}, hardware, {"trials": 1}, rows=list(rows)
    )


def row_of(
    method: str, n: int, seconds: float, *, device: str = "cpu", sources: int = 1
) -> Measurement:
    return Measurement(method, device, f"g{n}", n, 3 * n, sources, trials=[seconds], verified=True)


def lines_of(report: BenchReport) -> dict[str, list[Any]]:
    """Return what is drawn, by what the legend calls it."""
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    (ax,) = draw(report).axes
    return {line.get_label(): [tuple(point) for point in line.get_xydata()] for line in ax.lines}


def test_a_slope_is_the_power_of_n():
    assert fit_exponent([(10, 2.0), (100, 2.0 * 10**1.5)]) == pytest.approx(1.5)
    assert fit_exponent([(n, 7.0) for n in (10, 100, 1000)]) == pytest.approx(0)
    # by least squares over all: the ends alone have 2/3
    assert fit_exponent([(1, 1.0), (10, 10.0), (100, 10.0), (1000, 100.0)]) == pytest.approx(0.6)
    assert fit_exponent([(10, 1.0), (10, 2.0)]) is None


def test_a_line_has_the_times_a_source_in_order_of_n():
    wrong = row_of("dijkstra", 300, 9.0)
    wrong.verified = False
    skipped = Measurement("dijkstra", "cpu", "g500", 500, 1500, 1)
    rows = row_of("dijkstra", 100, 0.04, sources=4), row_of("dijkstra", 10, 0.001)
    assert lines_of(report_of(*rows, wrong, skipped)) == {
        "dijkstra: n^1.00": [(10, pytest.approx(1)), (100, pytest.approx(10))]
    }


def test_one_size_has_no_slope_and_two_devices_have_names():
    rows = [row_of("dijkstra", 10, 1.0, device=device) for device in ("cpu", "cuda")]
    assert list(lines_of(report_of(*rows))) == ["dijkstra, cpu", "dijkstra, cuda"]


def test_numbers_on_the_axis_are_the_sizes_unless_they_would_overlap():
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")

    def numbers(*sizes):
        (ax,) = draw(report_of(*(row_of("dijkstra", n, 1.0) for n in sizes))).axes
        return [label.get_text() for label in ax.get_xticklabels()]

    assert numbers(4000) == ["4,000"]
    assert numbers(4000, 16_000, 1_000_000) == ["4,000", "16,000", "1,000,000"]
    assert "250,000" not in numbers(4000, 250_000, 264_346)


def test_the_bench_draws_all_methods_on_growing_graphs(monkeypatch, tmp_path, capsys):
    matplotlib = pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    monkeypatch.setattr(plot, "SIZES", (60, 240))
    picture, records = tmp_path / "times.SVG", tmp_path / "times.json"
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        assert main(["--plot", str(picture), "--json", str(records), "--trials", "1"]) == 0
    assert "breadth-first" in capsys.readouterr().out
    rows = json.loads(records.read_text())["rows"]
    assert {row["n"] for row in rows} == {60, 240}
    texts = [node.text for node in ElementTree.parse(picture).iter() if node.tag.endswith("text")]
    for method in ("SciPy dijkstra", *METHODS):
        of = [(row["n"], row["median"]) for row in rows if row["method"] == method]
        assert f"{method}: n^{fit_exponent(of):.2f}" in texts
    caption = next(text for text in texts if text and text.startswith("sssp "))
    assert re.search(r"numba \d", caption)
    assert any(text and " cores" in text for text in texts)


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_a_graph_that_is_named_is_drawn_in_other_formats(ending, tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    picture = tmp_path / f"times.{ending}"
    arguments = ["--graph", "road-like:60", "--methods", "dijkstra", "--trials", "1"]
    assert main([*arguments, "--plot", str(picture)]) == 0
    assert ending.upper().encode() in picture.read_bytes()[:5]


def test_what_cannot_be_drawn_is_refused_before_any_work(monkeypatch, tmp_path, capsys):
    picture = tmp_path / "times.png"
    assert main(["--plot", str(picture), "--table", "startup"]) == 2
    assert "omit --table" in capsys.readouterr().err
    for name in [*sys.modules, "matplotlib"]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    assert main(["--plot", str(picture)]) == 2
    said = capsys.readouterr()
    assert 'pip install "sssp[plot]"' in said.err
    assert said.out == ""
    assert not picture.exists()
