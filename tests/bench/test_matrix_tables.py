"""The tables of the dense systems: published figures, and ours beside them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sssp
from sssp.bench.__main__ import main
from sssp.bench.papers import matrix_tables
from sssp.bench.papers.matrix_tables import BLOCKS, DENSE_TABLES, PUBLISHED
from sssp.calls import choose_device
from sssp.errors import DeviceError, SSSPError

SIZES = (5, 70)


@pytest.fixture
def tiny(monkeypatch):
    """Tables over small matrices, on a machine without a GPU."""
    for name, spec in DENSE_TABLES.items():
        monkeypatch.setitem(DENSE_TABLES, name, replace(spec, sizes=SIZES))
    monkeypatch.setattr(matrix_tables, "BLOCKS_SIZES", SIZES)
    target = pytest.importorskip("sssp.cuda.availability", exc_type=ImportError)

    def without_gpu(device):
        raise DeviceError("CUDA cannot be used: not today")

    monkeypatch.setattr(target, "device_number", without_gpu)


def has_opencl():
    try:
        return choose_device._number("opencl") >= 0
    except SSSPError:
        return False


def records(name, tmp_path, *options):
    """Run the bench and return the lines of its table, and what it wrote besides."""
    file = tmp_path / "out.json"
    code = main(["--table", name, "--trials", "1", "--json", str(file), *options])
    content = json.loads(file.read_text())
    (comparison,) = content["comparisons"]
    return code, comparison["records"], comparison, content


def test_the_published_figures_are_those_of_the_papers():
    floyd_warshall = PUBLISHED["floyd-warshall"]
    assert floyd_warshall["paper plain GPU ms"][10_000] == 22616
    assert floyd_warshall["paper blocked GPU ms"][10_000] == 1195.6
    assert PUBLISHED["blocks"]["paper GPU s"] == {4: 0.96, 8: 0.94, 16: 0.85, 32: 0.91}
    assert PUBLISHED["squaring"]["paper GPU s"] == {10: 0.04, 10_000: 2.07}
    for name, spec in DENSE_TABLES.items():
        assert list(spec.sizes) == sorted(spec.sizes)
        for figures in PUBLISHED[name].values():
            assert set(figures) <= set(spec.sizes)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["squaring", "floyd-warshall", "closure"])
def test_a_table_has_a_line_for_every_size(name, tmp_path, capsys):
    code, lines, comparison, content = records(name, tmp_path)
    there = {"cpu", "opencl"} if has_opencl() else {"cpu"}
    assert code == 0
    assert [line["n"] for line in lines] == list(SIZES)
    for line in lines:
        assert line["verified"] == "yes"
        for contender in DENSE_TABLES[name].contenders:
            time = line[contender.heading]
            assert time > 0 if contender.device in there else time is None
    assert all(row["verified"] for row in content["rows"])
    assert sum("not today" in remark for remark in comparison["remarks"]) == len(
        [c for c in DENSE_TABLES[name].contenders if c.device == "cuda"]
    )
    assert "nothing\nis claimed" in capsys.readouterr().out or name != "squaring"


@pytest.mark.usefixtures("tiny")
def test_the_blocks_table_has_a_line_for_every_side_of_a_tile(tmp_path):
    code, lines, _, _ = records("blocks", tmp_path)
    assert code == 0
    assert [line["block"] for line in lines] == list(BLOCKS)
    assert [line["paper GPU s"] for line in lines] == [0.96, 0.94, 0.85, 0.91]
    assert all(line["baseline parallel ms"] > 0 for line in lines)


@pytest.mark.usefixtures("tiny")
def test_what_would_take_too_long_shows_the_largest_that_did_not_and_says_so(tmp_path, monkeypatch):
    spec = DENSE_TABLES["squaring"]
    monkeypatch.setitem(DENSE_TABLES, "squaring", replace(spec, sizes=(5, 10_000)))
    code, lines, comparison, _ = records("squaring", tmp_path, "--row-limit", "0.01")
    assert code == 0
    assert lines[1]["serial ms"].endswith(" at n = 5")
    assert lines[1]["paper serial s"] == 407.10
    assert lines[1]["verified"] == "skipped"
    assert "is not\nscaled" in comparison["note"]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["floyd-warshall", "closure"])
def test_a_wrong_result_fails_the_run(name, tmp_path, monkeypatch):
    def broken(call):
        def solve(*arguments, **options):
            result = call(*arguments, **options)
            entries = result.distances if hasattr(result, "distances") else result
            entries[-1, 0] ^= entries.dtype.type(1)
            return result

        return solve

    monkeypatch.setattr(matrix_tables, "all_pairs", broken(_integers))
    monkeypatch.setattr(matrix_tables, "transitive_closure", broken(sssp.transitive_closure))
    code, lines, _, _ = records(name, tmp_path)
    assert code == 1
    assert {line["verified"] for line in lines} == {"NO"}


@pytest.mark.usefixtures("tiny")
def test_a_contender_that_breaks_down_fails_alone(tmp_path, monkeypatch):
    def broken(*arguments, **options):
        if options["threads"] == 1:
            raise IndexError("off by one")
        return sssp.all_pairs(*arguments, **options)

    monkeypatch.setattr(matrix_tables, "all_pairs", broken)
    code, lines, comparison, content = records("squaring", tmp_path, "--threads", "2")
    assert code == 1
    assert [line["serial ms"] for line in lines] == [None, None]
    assert all(line["parallel ms"] > 0 for line in lines)
    assert lines[0]["verified"] == "NO"
    remark = "it broke down with IndexError in test_matrix_tables.py:"
    assert any(remark in text for text in comparison["remarks"])
    (failed,) = [row for row in content["rows"] if row["verified"] is False]
    assert failed["remark"].startswith(remark)


def _integers(*arguments, **options):
    return sssp.all_pairs(*arguments, **{**options, "dtype": np.int32})
