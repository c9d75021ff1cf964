"""``sssp convert``: what is written is read as the same graph."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.cli import main
from tests.cli.conftest import outcome
from tests.osm_files import Way, grid, write_osm


def arcs(g: Any) -> list[list[Any]]:
    """Return all that a graph file holds."""
    arrays = (g.indptr, g.indices, g.weights, g.labels, g.coordinates)
    return [array.tolist() for array in arrays]


@pytest.mark.parametrize("name", ["out.gr", "out.gr.gz", "out.gr.xz", "out.gr.bz2", "out.sssp"])
def test_a_graph_survives_there_and_back(graph, coordinates, tmp_path, name, capsys):
    first, second = tmp_path / name, tmp_path / "again.sssp"
    places = tmp_path / "out.co.gz"
    arguments = [graph, "--coordinates", coordinates, "-o", str(first)]
    assert main(["convert", *arguments, "--coordinates-output", str(places)]) == 0
    assert main(["convert", str(first), "--coordinates", str(places), "-o", str(second)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"wrote 5 arcs to {first} in ")
    assert told[1:-1] == [f"wrote 5 coordinates to {places}"]
    g, original = sssp.read_graph(second), sssp.read_graph(graph, coordinates=coordinates)
    assert arcs(g) == arcs(original)


def test_what_a_text_file_cannot_hold_is_told(tmp_path, capsys):
    path, out = tmp_path / "g.sssp", tmp_path / "g.gr"
    places = [[8, 47], [9, 47], [9, 48]]
    labels = ["a", "b", "c"]
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 7], coordinates=places, labels=labels)
    g.without_arcs([1]).with_turns(([0], [1], [np.inf])).save(path)
    assert main(["convert", str(path), "-o", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "left out the turns",
        "left out 1 closed arcs",
        "left out the coordinates; --coordinates-output FILE writes them",
        "vertices 1 to 3 stand for those that went by a to c",
    ]
    assert out.read_text() == "p sp 3 1\na 1 2 5\n"


def test_vertices_without_labels_count_from_1_in_a_text_file(tmp_path, capsys):
    sssp.Graph.from_arcs([0, 1], [1, 2], [5, 7]).save(tmp_path / "g.sssp")
    assert main(["convert", str(tmp_path / "g.sssp"), "-o", str(tmp_path / "g.gr")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "vertices 1 to 3 stand for those that went by 0 to 2"
    ]


def test_floats_become_integers_on_demand(tmp_path, capsys):
    path, out = str(tmp_path / "g.sssp"), tmp_path / "g.gr"
    sssp.Graph.from_arcs([0, 1], [1, 2], [0.5, 1.2346], labels=[1, 2, 3]).save(path)
    assert main(["convert", path, "-o", str(out)]) == 2
    assert "these weights are float64: --scale 1000 keeps" in capsys.readouterr().err
    assert not out.exists()
    assert main(["convert", path, "--scale", "1000", "-o", str(out)]) == 0
    assert out.read_text() == "p sp 3 2\na 1 2 500\na 2 3 1235\n"


@pytest.mark.parametrize("name", ["arcs.csv", "arcs.parquet"])
def test_arcs_are_rows_in_labels(named, tmp_path, name):
    out = tmp_path / name
    if out.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["convert", named, "-o", str(out)]) == 0
    if out.suffix == ".csv":
        assert out.read_text() == "tail,head,weight\nhome,work,5\nwork,caf\xe9,2\n"
    else:
        columns = {"tail": ["home", "work"], "head": ["work", "caf\xe9"], "weight": [5, 2]}
        assert parquet.read_table(out).to_pydict() == columns


@pytest.fixture
def square(tmp_path: Path) -> sssp.Graph:
    """An undirected graph with a closed edge, in ``square.sssp``."""
    places = [[8, 47], [9, 47], [9, 48]]
    g = sssp.Graph.from_arcs(
        [0, 1, 2], [1, 2, 0], [5, np.inf, 2.5], directed=False, coordinates=places
    )
    g.save(tmp_path / "square.sssp")
    return g


def test_lines_for_maps(square, tmp_path):
    out = tmp_path / "arcs.geojson"
    assert main(["convert", str(tmp_path / "square.sssp"), "-o", str(out)]) == 0
    features = json.loads(out.read_text())["features"]
    assert [feature["properties"] for feature in features] == [
        {"tail": 0, "head": 1, "weight": 5.0, "oneway": False},
        {"tail": 0, "head": 2, "weight": 2.5, "oneway": False},
    ]
    assert features[1]["geometry"] == {
        "type": "LineString", "coordinates": [[8.0, 47.0], [9.0, 48.0]]
    }  # fmt: skip


def test_a_geopackage_holds_the_same_lines(square, tmp_path):
    geopandas = pytest.importorskip("geopandas")
    out = tmp_path / "arcs.gpkg"
    assert main(["convert", str(tmp_path / "square.sssp"), "-o", str(out)]) == 0
    layer = geopandas.read_file(out, layer="arcs")
    assert layer[["tail", "head", "weight"]].values.tolist() == [[0, 1, 5.0], [0, 2, 2.5]]
    assert layer.crs.to_epsg() == 4326
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arcs.gpkg", "square.sssp"]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ending", ["gr", "sssp", "csv", "parquet", "geojson", "gpkg"])
def test_what_is_written_is_read(ending, directed, tmp_path):
    for module in {"parquet": ["pyarrow"], "gpkg": ["geopandas"]}.get(ending, []):
        pytest.importorskip(module)
    g = sssp.road_like(60, seed=2)
    if directed:
        g = sssp.Graph.from_arcs(
            g.tails[::2], g.indices[::2], g.weights[::2], n=g.n, coordinates=g.coordinates
        )
    g.save(tmp_path / "g.sssp")
    written, again = str(tmp_path / f"out.{ending}"), tmp_path / "again.sssp"
    assert main(["convert", str(tmp_path / "g.sssp"), "-o", written]) == 0
    assert main(["convert", written, "-o", str(again)]) == 0
    back = sssp.read_graph(again)
    lost = back.n != g.n  # (a table knows no vertex without arcs)
    assert lost <= directed
    expected = {(a, b): w for a, b, w in zip(g.tails, g.indices, g.weights, strict=True)}
    names = np.arange(g.n) if back.labels is None else back.labels - (ending == "gr")
    found = zip(names[back.tails], names[back.indices], back.weights, strict=True)
    assert {(a, b): w for a, b, w in found} == expected
    if ending in ("geojson", "gpkg"):
        assert back.directed == directed
        assert back.coordinates is not None
        assert g.coordinates is not None
        assert back.coordinates == pytest.approx(g.coordinates[names], abs=1e-7)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.csv", "tail,head\n1,2\n", "there is no column weight, but 'tail', 'head'"),
        ("g.csv", "Tail,HEAD,Weight\n1,2,3,5\n", "4 cells under 3 headings"),
        ("g.csv", 'tail,head,weight\n1,2,"3,5"\n', "a point in place of the comma"),
        ("g.geojson", "{}", "not a FeatureCollection of lines"),
        ("g.geojson", '{"features": [{"geometry": null, "properties": {}}]}', "of lines"),
    ],
)
def test_tables_that_are_no_graph_are_refused(name, content, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_text(content)
    assert main(["convert", str(path), "-o", str(tmp_path / "g.sssp")]) == 2
    assert message in capsys.readouterr().err


def test_a_graph_goes_to_stdout_in_any_format(graph, tmp_path, capfdbinary):
    out = tmp_path / "out.sssp"
    assert main(["convert", graph, "-o", str(out)]) == 0
    capfdbinary.readouterr()
    assert main(["convert", graph, "--format", "sssp", "-o", "-"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == out.read_bytes()
    assert captured.err.startswith(b"wrote 5 arcs to stdout in ")
    assert main(["convert", graph, "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"p sp 5 5\na 1 2 10\n")


def test_what_is_not_finished_leaves_the_old_file(graph, tmp_path, monkeypatch):
    def fail(self, path):
        raise KeyboardInterrupt

    monkeypatch.setattr(sssp.Graph, "save", fail)
    out = tmp_path / "out.sssp"
    out.write_text("old")
    for output in (["-o", str(out)], ["--format", "sssp", "-o", str(tmp_path / "new")]):
        assert main(["convert", graph, *output]) == 130
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.sssp", "tiny.gr"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name one file to write"),
        (["x.sssp", "-o", "x.gr"], "name one file to write"),
        (["-o", "x.txt"], "must end in .gr, .gr.gz, .gr.xz, .gr.bz2, .sssp, .csv"),
        (["-o", "x.geojson"], "name its .co file with --coordinates"),
        (["-o", "x.gr", "--coordinates-output", "x.co"], "name its .co file with --coordinates"),
        (["-o", "x.gr", "--coordinates-output", "no/x.co"], "cannot be written"),
        (["-o", "x.gr", "--scale", "-1"], "'-1' is not a number above 0"),
        (["-o", "x.gr", "--scale", "1e300"], "int64"),
    ],
)
def test_what_cannot_be_written_is_told(graph, arguments, complaint, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert outcome(["convert", graph, *arguments]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [Path(graph)]


def test_turns_of_a_file_are_in_what_is_written(tmp_path, capsys):
    path, table, out = tmp_path / "g.sssp", tmp_path / "turns.csv", tmp_path / "t.sssp"
    streets = [0, 0, 0, 0], [1, 2, 3, 4], [10] * 4
    sssp.Graph.from_arcs(*streets, directed=False, labels=list("vabcd")).save(path)
    table.write_text("from,via,to,cost,kind\na,v,b,inf,cost\nb,v,c,0,only\na,v,c,5,cost\n")
    given = ["--turns", str(table), "--u-turns", "1"]
    assert main(["convert", str(path), *given, "-o", str(out)]) == 0
    t = sssp.read_graph(out)
    assert sssp.shortest_paths(t, t.vertex("a")).distances.tolist() == [10, 0, 40, 25, 20]
    assert sssp.shortest_paths(t, t.vertex("b")).distances.tolist() == [10, 40, 0, 20, 40]
    assert main(["convert", str(out), "-o", str(tmp_path / "t.gr")]) == 0
    assert "left out the turns" in capsys.readouterr().out.splitlines()


def test_streets_of_openstreetmap_become_a_graph(tmp_path, capsys):
    path, out = write_osm(tmp_path / "town.osm.pbf", grid(3, 1), [Way(1, [1, 2])]), tmp_path / "t"
    for name, weight, speed in [
        ("", "seconds", 30),
        (":foot", "seconds", 5),
        (":foot,metres", "metres", 5),
    ]:
        assert main(["convert", f"{path}{name}", f"{out}.sssp"]) == 0
        g = sssp.read_graph(f"{out}.sssp")
        assert g.about["weight"] == weight
        assert g.input["speed"].tolist() == [speed] * 2
    capsys.readouterr()
    assert main(["info", f"{path}:bicycle"]) == 0
    told = capsys.readouterr().out
    assert "© OpenStreetMap contributors" in told
    assert re.search(r"^profile +bicycle$", told, re.MULTILINE)
    for name, complaint in [
        (":horse", "no profile 'horse': choose from car, bicycle, foot"),
        (":foot,miles", "weight must be 'seconds' or 'metres'"),
    ]:
        assert outcome(["info", f"{path}{name}"]) == 2
        assert complaint in capsys.readouterr().err
    assert outcome(["info", str(path), "--coordinates", str(path)]) == 2
    assert "town has coordinates of its own: omit --coordinates" in capsys.readouterr().err


def test_what_openstreetmap_does_not_tell_is_told(tmp_path, capsys):
    ways = [Way(1, [1, 2], {"highway": "primary", "maxspeed": "fast"})]
    assert main(["info", str(write_osm(tmp_path / "town.osm", grid(3, 1), ways))]) == 0
    assert re.search(
        r"left out: speeds that cannot be read +1, the first way 1: maxspeed=fast$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
