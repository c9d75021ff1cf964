"""``sssp isochrone`` and ``sssp plot``: what is reached, as tables, on maps and as pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sssp
from sssp.apps.cli import main
from tests.cli.conftest import outcome

PNG = b"\x89PNG\r\n"


def test_bands_hold_what_is_within_their_limits(graph, tmp_path, capsys):
    file = tmp_path / "out.csv"
    assert main(["isochrone", graph, "--source", "1", "--limits", "20,10", "-o", str(file)]) == 0
    assert file.read_text() == "vertex,distance,band\n1,0,10\n2,10,10\n3,20,20\n"
    assert capsys.readouterr().out.splitlines()[1:] == [
        "within 10: 2 of 5 vertices",
        "within 20: 3 of 5 vertices",
        f"wrote 3 vertices to {file}",
    ]


def test_several_sources_share_the_bands_and_places_come_along(graph, coordinates, capsys):
    sources = ["--source", "3", "--source", "5"]
    places = ["--coordinates", coordinates]
    assert main(["isochrone", graph, *places, *sources, "--limits", "2.5,11"]) == 0
    assert capsys.readouterr().out == (
        "vertex,distance,band,source,lon,lat\n"
        "1,1,2.5,5,-74.0,40.0\n"
        "2,11,11.0,5,-74.1,40.1\n"
        "3,0,2.5,3,-74.2,40.2\n"
        "4,7,11.0,3,-74.3,40.3\n"
        "5,0,2.5,5,-74.4,40.4\n"
    )


def test_an_isochrone_comes_as_npz_and_parquet(graph, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("out.npz", "out.parquet"):
        out = ["-o", str(tmp_path / name)]
        assert main(["isochrone", graph, "--source", "1", "--limits", "10", *out]) == 0
    wanted = {"vertex": [1, 2], "distance": [0, 10], "band": [10, 10]}
    with np.load(tmp_path / "out.npz") as columns:
        assert {name: values.tolist() for name, values in columns.items()} == wanted
    assert parquet.read_table(tmp_path / "out.parquet").to_pydict() == wanted


@pytest.mark.parametrize("block", [1, 1 << 14])
def test_a_layer_for_maps_has_a_line_a_street_within_reach(tmp_path, capsys, monkeypatch, block):
    monkeypatch.setattr("sssp.apps.terminal.table_files.FEATURES", block)
    places = [[8.5, 47.0], [8.6, 47.123456789], [8.7, 47.2], [8.8, 47.3]]
    g = sssp.Graph.from_arcs(
        [0, 1, 1, 2], [1, 0, 2, 3], [5, 4, 5, 5], coordinates=places, labels=["a", "b", "c", "d"]
    )
    g.save(tmp_path / "g.sssp")
    arguments = ["--source", "a", "--limits", "5,10", "--format", "geojson"]
    assert main(["isochrone", str(tmp_path / "g.sssp"), *arguments]) == 0
    captured = capsys.readouterr()
    layer = json.loads(captured.out)
    assert layer["type"] == "FeatureCollection"
    assert layer["features"] == [
        {
            "type": "Feature",
            "properties": {"tail": "a", "head": "b", "distance": 5, "band": 5},
            "geometry": {"type": "LineString", "coordinates": [[8.5, 47.0], [8.6, 47.1234568]]},
        },
        {
            "type": "Feature",
            "properties": {"tail": "b", "head": "c", "distance": 10, "band": 10},
            "geometry": {"type": "LineString", "coordinates": [[8.6, 47.1234568], [8.7, 47.2]]},
        },
    ]
    assert captured.err.endswith("wrote 2 lines to stdout\n")


def test_where_nothing_is_near_the_layer_is_empty(graph, coordinates, tmp_path):
    out = tmp_path / "out.geojson"
    arguments = ["--coordinates", coordinates, "--source", "1", "--limits", "0", "-o", str(out)]
    assert main(["isochrone", graph, *arguments]) == 0
    assert json.loads(out.read_text()) == {"type": "FeatureCollection", "features": []}


@pytest.mark.parametrize(
    ("picture", "first"),
    [
        ([], PNG),
        (["--source", "1", "--limit", "20"], PNG),
        (["--source", "1", "--source-at", "-74.4,40.4", "--target", "4"], PNG),
        (["--source", "1", "--limits", "10,20", "--unit", "min"], b"<?xml"),
        (["--extent", "-74.2,-74,40,40.2", "--dpi", "50"], b"%PDF"),
    ],
)
def test_pictures_are_drawn(graph, coordinates, tmp_path, picture, first, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    formats = {PNG: "png", b"<?xml": "svg", b"%PDF": "pdf"}
    file, before = tmp_path / f"out.{formats[first]}", pyplot.get_fignums()
    arguments = [graph, "--coordinates", coordinates, *picture, "-o", str(file)]
    assert main(["plot", *arguments]) == 0
    assert file.read_bytes().startswith(first)
    assert capsys.readouterr().out.endswith(f"drew 5 vertices and 5 arcs to {file}\n")
    assert pyplot.get_fignums() == before


def test_a_picture_that_cannot_be_finished_leaves_the_old_one(
    graph, coordinates, tmp_path, monkeypatch
):
    figure = pytest.importorskip("matplotlib.figure")

    def fail(self, stream, **options):
        stream.write(PNG)
        raise KeyboardInterrupt

    monkeypatch.setattr(figure.Figure, "savefig", fail)
    file = tmp_path / "out.png"
    file.write_text("old")
    before = sorted(tmp_path.iterdir())
    assert main(["plot", graph, "--coordinates", coordinates, "-o", str(file)]) == 130
    assert file.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


def test_a_path_that_is_not_there_is_told_in_the_numbers_of_the_file(graph, coordinates, capsys):
    pytest.importorskip("matplotlib")
    ends = ["--source", "1", "--target", "5", "-o", "x.png"]
    assert main(["plot", graph, "--coordinates", coordinates, *ends]) == 2
    assert "no path leads to 5" in capsys.readouterr().err


ISOCHRONE, PLOT = ["isochrone", "FILE", "--source", "1"], ["plot", "FILE", "-o", "x.png"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (ISOCHRONE, "required: --limits"),
        ([*ISOCHRONE, "--limits", "5,x"], "'x' is not a number"),
        ([*ISOCHRONE, "--limits", "5,inf"], "no distance is as great as inf"),
        ([*ISOCHRONE, "--limits", "9" * 30], "no distance is as great as 999"),
        ([*ISOCHRONE, "--limits", "5", "-o", "x.kml"], "must end in .csv, .geojson, .npz or"),
        ([*ISOCHRONE, "--limits", "5", "-o", "x.geojson"], "name its .co file with --coordinates"),
        (["isochrone", "FILE", "--limits", "5"], "required: --source V, --source-at LON,LAT or"),
        (PLOT, "name its .co file with --coordinates"),
        (["plot", "FILE"], "required: -o/--output"),
        ([*PLOT[:3], "x.jpg"], "must end in .png, .svg or .pdf"),
        ([*PLOT, "--limits", "5"], "--limits needs --source"),
        ([*PLOT, "--limit", "5"], "--limit needs --source"),
        ([*PLOT, "--target", "5"], "--target needs --source"),
        ([*PLOT, "--source", "1", "--limits", "5", "--target", "4"], "--limits draws bands"),
        (
            ["plot", "road-like:9", *PLOT[2:], "--source", "1", "--target", "5", "--target", "4"],
            "name one target",
        ),
        ([*PLOT, "--extent", "1,2,3"], "'1,2,3' is not WEST,EAST,SOUTH,NORTH"),
        ([*PLOT, "--dpi", "0"], "0 is not 1 or more"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(
    graph, arguments, complaint, capsys, tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert outcome([argument.replace("FILE", graph) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == [Path(graph)]


def test_areas_are_polygons_a_limit(tmp_path, capsys):
    geopandas = pytest.importorskip("geopandas")
    g = sssp.road_like(300, seed=5)
    g.save(tmp_path / "town.sssp")
    asked = ["isochrone", str(tmp_path / "town.sssp"), "--source", "0", "--limits", "9000,5000"]
    wanted = sssp.shortest_paths(g, 0).isochrone_areas([5000, 9000], width=80)
    for name in ("areas.geojson", "areas.gpkg"):
        out = str(tmp_path / name)
        assert main([*asked, "--areas", "--width", "80", "-o", out]) == 0
        assert capsys.readouterr().out.endswith(f"wrote 2 areas to {out}\n")
        areas = geopandas.read_file(out)
        assert areas.crs == "EPSG:4326"
        assert areas["limit"].tolist() == [5000, 9000]
        assert areas.geometry.geom_equals_exact(wanted.geometry, 1e-6).all()
    assert main([*asked, "--areas"]) == 0
    layer = json.loads(capsys.readouterr().out)
    assert [feature["properties"] for feature in layer["features"]] == [
        {"limit": 5000},
        {"limit": 9000},
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--width", "80"], "--width is that of --areas"),
        (["--areas", "-o", "a.csv"], "must end in .geojson or .gpkg"),
        (["--areas", "--format", "csv"], "written as .geojson or .gpkg, not as .csv"),
        (["--format", "gpkg"], "written as .csv, .geojson, .npz or .parquet, not as .gpkg"),
        (["--areas", "--width", "0"], "'0' is not a number of metres, as 60"),
    ],
)
def test_what_is_no_area_is_refused(graph, options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert outcome(["isochrone", graph, "--source", "1", "--limits", "10", *options]) == 2
    assert message in capsys.readouterr().err
