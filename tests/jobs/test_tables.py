"""What a job writes is what one call finds, in every form that readers know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from tests.jobs.tables import ring_with_chords

G = ring_with_chords(200)
#: with duplicates
SOURCES = [5, 7, 5, 100, *range(140, 160), 7]
DISTINCT = [5, 7, 100, *range(140, 160)]
UNREACHED = np.iinfo(np.int32).max


def arrays_in(table: Path) -> Any:
    return pytest.importorskip("zarr").open_group(str(table), mode="r")


@pytest.mark.parametrize(
    ("asked", "searches"),
    [
        ({}, len(DISTINCT)),
        ({"limit": 900}, len(DISTINCT)),
        ({"targets": [3, 1, 3]}, 3),
        ({"targets": range(50)}, len(DISTINCT)),
        ({"targets": [3, 1], "compression": None}, 2),
        ({"targets": [3, 1], "dtype": np.int64, "threads": 1}, 2),
        ({"compression": None, "method": "dijkstra"}, len(DISTINCT)),
    ],
)
def test_a_store_holds_what_one_call_finds(
    tmp_path: Path, asked: dict[str, Any], searches: int
) -> None:
    group = pytest.importorskip("zarr")
    report = sssp.run(G, SOURCES, to=tmp_path / "od.zarr", block_size=4, **asked)
    assert report.sources.tolist() == DISTINCT
    assert report.searches == searches
    assert report.complete
    call = {name: value for name, value in asked.items() if name != "compression"}
    expected = sssp.shortest_paths(G, SOURCES, **call).distances
    group = arrays_in(tmp_path / "od.zarr")
    assert group["distances"].metadata.zarr_format == 3
    assert group["distances"].dtype == asked.get("dtype", np.int32)
    np.testing.assert_array_equal(group["distances"][:][report.rows], expected)
    assert group["source"][:].tolist() == DISTINCT
    assert group["target"][:].tolist() == list(asked.get("targets", range(G.n)))
    assert report.check() == report.written


def test_xarray_reads_a_store_by_labels(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    g = ring_with_chords(200, labels=np.arange(200) * 10)
    sssp.run(g, [3, 9], to=tmp_path / "od.zarr", targets=[20, 30, 40], skim={"km": g.weights / 4})
    with xarray.open_zarr(str(tmp_path / "od.zarr"), consolidated=False) as table:
        r = sssp.shortest_paths(g, [3, 9], targets=[20, 30, 40], predecessors=True)
        assert table["distances"].dims == ("source", "target")
        assert int(table["distances"].sel(source=90, target=300)) == r.distance(30, 1)
        np.testing.assert_array_equal(table["km"].to_numpy(), r.skim(g.weights / 4))


def test_what_is_not_reached_is_said_in_a_store_and_left_out_of_a_long_table(
    tmp_path: Path,
) -> None:
    pytest.importorskip("zarr")
    parquet = pytest.importorskip("pyarrow.parquet")
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5], n=4)
    sssp.run(g, [1, 3], to=tmp_path / "od.zarr")
    array = arrays_in(tmp_path / "od.zarr")["distances"]
    assert array.attrs["unreached"] == UNREACHED
    assert array[:].tolist() == [[UNREACHED, 0, 5, UNREACHED], [UNREACHED] * 3 + [0]]
    sssp.run(g, [1, 3], to=tmp_path / "od")
    assert parquet.read_table(tmp_path / "od").to_pydict() == {
        "source": [1, 1, 3],
        "target": [1, 2, 3],
        "distance": [0, 5, 0],
    }


@pytest.mark.parametrize("by_targets", [False, True])
def test_duckdb_and_polars_read_long_parts(tmp_path: Path, by_targets: bool) -> None:
    pytest.importorskip("pyarrow")
    names = np.array([f"v{i}" for i in range(200)])
    g = ring_with_chords(200, labels=names)
    targets = [1, 2] if by_targets else list(range(30))
    report = sssp.run(g, DISTINCT, to=tmp_path / "od", targets=targets, block_size=1)
    assert report.blocks == len(targets) if by_targets else len(DISTINCT)
    expected = sssp.shortest_paths(g, DISTINCT, targets=targets).to_dataframe()
    wanted = {
        (one.source, one.target): one.distance for one in expected.itertuples() if one.reached
    }
    polars = pytest.importorskip("polars")
    rows = polars.read_parquet(tmp_path / "od" / "*.parquet").rows()
    assert {(source, target): distance for source, target, distance in rows} == wanted
    assert len(rows) == len(wanted)
    duckdb = pytest.importorskip("duckdb")
    request = f"select source, sum(distance) from '{tmp_path}/od/*.parquet' group by source"
    sums = expected.groupby("source")["distance"].sum()
    assert dict(duckdb.sql(request).fetchall()) == sums.to_dict()


def test_a_wide_table_has_a_column_a_target(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5], n=4, labels=list("abcd"))
    sssp.run(g, [0, 3], to=tmp_path / "od", targets=[2, 3], form="wide", skim={"arcs": [1, 1]})
    assert parquet.read_table(tmp_path / "od").to_pydict() == {
        "source": ["a", "d"],
        "c": [9, None],
        "d": [None, 0],
        "arcs c": [2, None],
        "arcs d": [None, 0],
    }


@pytest.mark.parametrize("what", ["eccentricity", "mean", "count"])
def test_reduced_rows_are_those_of_reduce(tmp_path: Path, what: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    report = sssp.run(G, SOURCES, to=tmp_path / "r", reduce=what, limit=900, block_size=5)
    table = parquet.read_table(tmp_path / "r").to_pydict()
    assert table["source"] == DISTINCT
    assert table[what] == sssp.reduce(G, DISTINCT, what, limit=900).tolist()
    assert report.certified == 16


def test_columns_of_weights_are_reduced_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    asked: dict[str, Any] = {
        "vertex_weights": np.arange(400).reshape(200, 2),
        "decay": ("exponential", 0.001),
    }
    sssp.run(G, SOURCES, to=tmp_path / "r.zarr", reduce="weight", block_size=5, **asked)
    found = arrays_in(tmp_path / "r.zarr")["weight"]
    np.testing.assert_array_equal(found[:], sssp.reduce(G, DISTINCT, "weight", **asked))
    sssp.run(G, SOURCES, to=tmp_path / "r", reduce="weight", block_size=5, **asked)
    parquet = pytest.importorskip("pyarrow.parquet")
    names = parquet.read_table(tmp_path / "r").column_names
    assert names == ["source", "weight_0", "weight_1"]


def test_a_prepared_map_writes_the_same_bytes_of_distances(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    h = sssp.prepare(G)
    for network, name in ((G, "flat.zarr"), (h, "prepared.zarr")):
        sssp.run(network, SOURCES, to=tmp_path / name, block_size=7)
    flat, prepared = (arrays_in(tmp_path / f"{name}.zarr") for name in ("flat", "prepared"))
    np.testing.assert_array_equal(flat["distances"][:], prepared["distances"][:])
    sums = sssp.run(h, SOURCES, to=tmp_path / "sums.zarr", reduce="sum", targets=[1, 2])
    assert sums.certified == 16
    found = arrays_in(tmp_path / "sums.zarr")["sum"][:]
    np.testing.assert_array_equal(found, sssp.reduce(G, DISTINCT, "sum", targets=[1, 2]))


def test_no_sources_make_an_empty_table(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    report = sssp.run(G, [], to=tmp_path / "od.zarr")
    assert report.complete
    assert arrays_in(tmp_path / "od.zarr")["distances"].shape == (0, 200)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"targets": [0, 2], "skim": {"km": [0.5, 1.5]}},
        {"targets": [0, 2], "form": "wide", "skim": {"km": [0.5, 1.5]}},
        {"reduce": "mean"},
        {"reduce": "weight", "vertex_weights": [[1, 2]] * 3},
        {"sources": [0, 1], "targets": []},
    ],
)
def test_parts_of_an_empty_table_have_its_columns(tmp_path: Path, asked: dict[str, Any]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5], labels=["a", "b", "c"])
    full = {"sources": [0, 1], **asked, "targets": asked.get("targets") or [0, 2]}
    sssp.run(g, to=tmp_path / "full", **full)
    for _ in range(2):
        report = sssp.run(g, to=tmp_path / "od", **{"sources": [], **asked})
        assert (report.complete, report.blocks) == (True, 0)
        assert report.check() == report.written > 0
    table = parquet.read_table(tmp_path / "od")
    assert table.num_rows == 0
    assert table.schema == parquet.read_table(tmp_path / "full").schema


def test_a_long_table_has_a_row_a_pair_however_often_a_target_is_named(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, targets in (("twice", [9, 3, 9, 1, 3]), ("once", [9, 3, 1])):
        for skim in (None, {"km": G.weights / 4}):
            to = tmp_path / f"{name} {skim is None}"
            sssp.run(G, DISTINCT, to=to, targets=targets, skim=skim, block_size=2)
    for plain in (False, True):
        twice, once = (
            parquet.read_table(tmp_path / f"{name} {plain}") for name in ("twice", "once")
        )
        assert once.num_rows == 3 * len(DISTINCT)
        assert twice.equals(once)
    # (what a reduction is asked counts as often as `reduce` counts it)
    sssp.run(G, SOURCES, to=tmp_path / "sum", reduce="sum", targets=[9, 3, 9])
    sums = parquet.read_table(tmp_path / "sum")["sum"].to_pylist()
    assert sums == sssp.reduce(G, DISTINCT, "sum", targets=[9, 3, 9]).tolist()


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"to": "s3://bucket/od.zarr"}, ValueError, "a folder that this process sees"),
        ({"to": ""}, ValueError, "to is '', which is not the name"),
        ({"form": "tall"}, ValueError, "'long' or 'wide'"),
        ({"to": "od.zarr", "form": "long"}, ValueError, "'long' or 'wide'"),
        ({"compression": "gzip"}, ValueError, "'zstd' or None"),
        ({"sources": [200]}, sssp.VertexError, "source 200"),
        ({"targets": [-1]}, sssp.VertexError, "target -1"),
        ({"reduce": "median"}, ValueError, "median"),
        ({"vertex_weights": [1] * 200}, ValueError, "vertex_weights belongs to the reduction"),
        ({"decay": ("step", 9)}, ValueError, "decay belongs to the reduction 'weight'"),
        ({"reduce": "sum", "decay": ("step", 9)}, ValueError, "belongs to the reduction 'weight'"),
        ({"reduce": "weight"}, ValueError, "the reduction 'weight' needs vertex_weights"),
        ({"skim": [1.0]}, ValueError, "one an arc"),
        ({"skim": {"source": G.weights}}, ValueError, "a skim is called 'source'"),
        ({"skim": G.weights, "reduce": "sum"}, ValueError, "omit one"),
        ({"targets": [4, 4], "form": "wide"}, ValueError, "4 is named twice"),
        ({"block_size": 0}, ValueError, "block_size"),
        ({"certify": -1}, ValueError, "certify must be an integer of 0 or more, not -1"),
        ({"certify": 0.5}, ValueError, "certify must be an integer of 0 or more, not 0.5"),
        ({"certify": False}, ValueError, "certify must be an integer of 0 or more, not False"),
        ({"on": 3}, TypeError, "Executor or a dask.distributed.Client, not int"),
        ({"device": "gpu"}, sssp.DeviceError, "unknown device"),
        ({"resume": "yes"}, TypeError, "resume must be True or False"),
        ({"progress": "yes"}, TypeError, "progress must be True or False"),
    ],
)
def test_what_makes_no_job_is_refused_before_anything_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        sssp.run(G, **{"sources": [1, 2], "to": "od", **asked})
    assert list(tmp_path.iterdir()) == []


def test_a_job_without_memory_is_told_what_helps(tmp_path: Path) -> None:
    h = sssp.prepare(G)
    with pytest.raises(sssp.DeviceError, match=r"; pass a smaller block_size \(.*\); or r"):
        sssp.run(h, range(64), to=tmp_path / "od", memory_limit=8_000, block_size=64)
    sssp.run(h, range(64), to=tmp_path / "od", memory_limit=8_000, block_size=1)


def test_labels_that_a_store_cannot_hold_stand_there_as_vertices(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    g = ring_with_chords(6, labels=list("abcdef"))
    sssp.run(g, [5, 2, 5], to=tmp_path / "od.zarr", targets=[4, 1, 3])
    table = arrays_in(tmp_path / "od.zarr")
    assert (table["source"][:].tolist(), table["target"][:].tolist()) == ([5, 2], [4, 1, 3])


@pytest.mark.parametrize("label", ["source", "km a"])
def test_columns_of_a_wide_table_that_would_have_one_name_are_refused(
    tmp_path: Path, label: str
) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5], labels=["a", label, "c"])
    asked: dict[str, Any] = {"targets": [0, 1], "form": "wide", "skim": {"km": [1, 1]}}
    with pytest.raises(ValueError, match=f"two columns .* would be called '{label}'"):
        sssp.run(g, [0, 2], to=tmp_path / "od", **asked)
    assert list(tmp_path.iterdir()) == []


def test_string_labels_stand_in_parquet_and_odd_ones_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    g = sssp.Graph.from_arcs([0], [1], [1], labels=[(1, 2), (3, 4)])
    with pytest.raises(TypeError, match=r"not like \(1, 2\)"):
        sssp.run(g, [0], to=tmp_path / "od")
    pytest.importorskip("zarr")
    sssp.run(g, [1], to=tmp_path / "od.zarr")
    assert arrays_in(tmp_path / "od.zarr")["distances"][:].tolist() == [[UNREACHED, 0]]
