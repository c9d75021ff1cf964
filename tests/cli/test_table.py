"""``sssp table`` and ``sssp pairs``: files of vertices, points and trips in, distances out."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.cli import main
from tests.cli.conftest import outcome

LONG = "source,target,distance\n2,3,10\n2,1,\n5,3,21\n5,1,1\n"


def written(tmp_path: Path, name: str, content: str) -> str:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return str(path)


def table(*arguments: str, tmp_path: Path) -> str:
    """Run ``sssp table`` into a CSV file; return what that holds."""
    path = tmp_path / "out.csv"
    assert main(["table", *arguments, "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def test_a_table_has_a_row_a_pair_empty_where_unreached(graph, tmp_path, capsys):
    ends = ["--source", "2", "--source", "5", "--target", "3", "--target", "1"]
    assert table(graph, *ends, tmp_path=tmp_path) == LONG
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2 sources, 2 targets, 1 pairs unreached",
        f"wrote 4 rows to {tmp_path}/out.csv",
    ]


def test_a_table_goes_to_stdout_and_its_summary_to_stderr(graph, capsys):
    assert main(["table", graph, "--source", "2", "--target", "3", "--limit", "9"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "source,target,distance\n2,3,\n"
    assert captured.err.splitlines()[-1] == "wrote 1 rows to stdout"


POINT = "-0.0001,0.0002\n"


@pytest.mark.parametrize(
    "content",
    [
        *(f"{names}\n{POINT}" for names in ("lon,lat", "X,Y", "Longitude,LATITUDE")),
        *(f"{name}\n7\n" for name in ("source", "Origin", "VERTEX", "Id")),
        f"id,{{}}\nhome,{POINT}".format("Lon, Lat "),
    ],
)
def test_headings_are_read_in_any_case_and_by_their_other_names(content, tmp_path):
    g = sssp.road_like(60, seed=1)
    nearest = g.nearest_vertex(-0.0001, 0.0002)
    g.save(tmp_path / "town.sssp")
    homes = written(tmp_path, "homes.csv", content)
    found = table(
        str(tmp_path / "town.sssp"), "--sources", homes, "--target", "3", tmp_path=tmp_path
    )
    source = nearest if POINT in content else 7
    assert found.splitlines()[1] == f"{source},3,{sssp.shortest_paths(g, source).distances[3]}"


def test_a_name_of_places_may_be_called_id(tmp_path):
    sssp.road_like(60, seed=1).save(tmp_path / "town.sssp")
    homes = written(tmp_path, "homes.csv", f"ID,x,y\nhome,{POINT}")
    ends = ["--sources", homes, "--targets", homes, "--id", "id"]
    found = table(str(tmp_path / "town.sssp"), *ends, tmp_path=tmp_path)
    assert found == "source,target,distance\nhome,home,0\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("vertex;lon\n1;2\n", "in place of ';', and points in numbers"),
        ('lon,lat\n"8,5","47,1"\n', "write a point in place of the comma"),
    ],
)
def test_european_tables_are_told_how_to_be_written(content, message, tmp_path, capsys):
    sssp.road_like(60, seed=1).save(tmp_path / "town.sssp")
    homes = written(tmp_path, "homes.csv", content)
    assert main(["table", str(tmp_path / "town.sssp"), "--sources", homes, "--target", "1"]) == 2
    assert message in capsys.readouterr().err


def test_a_unit_is_a_conversion_in_every_command(tmp_path, capsys):
    """Limits are given in it, and distances shown and written in it."""
    g = sssp.road_like(60, seed=1)
    graph, out = str(tmp_path / "town.sssp"), tmp_path / "out.csv"
    g.save(graph)
    d = sssp.shortest_paths(g, 0).distances
    far = int(d.argmax())
    unit, ends = ["--unit", "km=1000", "-o", str(out)], ["--source", "0", "--target", str(far)]
    trips = written(tmp_path, "trips.csv", f"origin,destination\n0,{far}\n")
    for command in (["table", graph, *ends], ["pairs", graph, trips]):
        assert main([*command, *unit]) == 0
        assert out.read_text().splitlines()[1] == f"0,{far},{d[far] / 1000}"
    capsys.readouterr()
    assert main(["solve", graph, *ends, *unit]) == 0
    assert f"distance {d[far] / 1000:.6g} km, " in capsys.readouterr().out
    limit = ["--source", "0", "--limit", "4", *unit]
    assert main(["solve", graph, *limit]) == 0
    assert len(out.read_text().splitlines()) == 1 + np.count_nonzero(d <= 4000)
    assert main(["isochrone", graph, "--source", "0", "--limits", "2,4", *unit]) == 0
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert {row[0]: row[1:3] for row in rows} == {
        str(v): [str(d[v] / 1000), "2.0" if d[v] <= 2000 else "4.0"]
        for v in np.flatnonzero(d <= 4000)
    }
    assert f"within 4 km: {len(rows)} of 60 vertices" in capsys.readouterr().out


FORMULAS = ["=1+1", "+a", "-b", "@c", "-2+3", "-1.5", "a=b", "--1"]
SAFE = ["'=1+1", "'+a", "'-b", "'@c", "'-2+3", "-1.5", "a=b", "'--1"]


@pytest.mark.parametrize("safe", [False, True])
def test_text_that_a_spreadsheet_would_calculate_is_quoted_if_asked(tmp_path, capsys, safe):
    path, n = tmp_path / "g.sssp", len(FORMULAS)
    ring = list(range(n))
    g = sssp.Graph.from_arcs(ring, [*ring[1:], 0], [-1] * (n - 1) + [n], labels=FORMULAS)
    g.save(path)
    names = SAFE if safe else FORMULAS
    asked = ["--safe-csv"] if safe else []

    def rows(*arguments: str) -> list[list[str]]:
        assert main([*arguments, "-o", "-", *asked]) == 0
        return list(csv.reader(io.StringIO(capsys.readouterr().out)))

    ends = ["--sources", written(tmp_path, "s.csv", "vertex\n=1+1\n")]
    ends += ["--targets", written(tmp_path, "t.csv", "\n".join(["vertex", *FORMULAS]))]
    expected = [[names[0], name, str(-i)] for i, name in enumerate(names)]
    assert rows("table", str(path), *ends)[1:] == expected
    assert rows("table", str(path), *ends, "--wide")[0] == ["source", *names]
    assert [row[:2] for row in rows("solve", str(path), *ends[:2])[1:]] == [
        [name, str(-i)] for i, name in enumerate(names)
    ]
    assert rows("convert", str(path), "--format", "csv")[1][:3] == [names[0], names[1], "-1"]
    trips = written(tmp_path, "trips.csv", "source,target,=x,lon\n@c,-2+3,=2,-73.98\n")
    assert rows("pairs", str(path), trips, "--paths") == [
        ["source", "target", "'=x" if safe else "=x", "lon", "distance", "path"],
        [names[3], names[4], "'=2" if safe else "=2", "-73.98", "-1", f"{names[3]} -2+3"],
    ]


def test_safe_csv_belongs_to_csv(graph, tmp_path, capsys):
    asked = ["solve", graph, "--source", "2", "--safe-csv"]
    assert outcome([*asked, "-o", str(tmp_path / "out.npz")]) == 2
    assert "--safe-csv is for .csv output, not .npz" in capsys.readouterr().err
    assert outcome(asked) == 2
    assert "--safe-csv is for the output file: name one with -o" in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()


def test_solve_takes_files_too(graph, tmp_path, capsys):
    file = written(tmp_path, "s.csv", "vertex\n2\n")
    assert main(["solve", graph, "--sources", file, "-o", "-"]) == 0
    assert capsys.readouterr().out == "vertex,distance\n2,0\n3,10\n4,17\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", "source\n2\n5\n"),
        ("s.csv", '\ufeffname,vertex\nx,2\n\n"y, z",5\n'),
        ("s.anything", "source,target\n2,9\n5,9\n"),
        ("s.ss", "p aux sp ss 2\ns 2\ns 5\n"),
    ],
)
def test_sources_come_from_a_file(graph, tmp_path, name, content):
    file = written(tmp_path, name, content)
    ends = ["--sources", file, "--target", "3", "--target", "1"]
    assert table(graph, *ends, tmp_path=tmp_path) == LONG


def test_files_may_be_compressed_and_arguments_mixed_in_order(graph, tmp_path):
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(b"vertex\n5\n"))
    ends = ["--source", "2", "--sources", str(path), "--target", "3", "--target", "1"]
    assert table(graph, *ends, tmp_path=tmp_path) == LONG


def test_points_become_the_nearest_vertices(graph, coordinates, tmp_path, capsys):
    file = written(tmp_path, "s.csv", "lat,lon\n40.1,-74.1\n40.4,-74.39\n")
    ends = ["--sources", file, "--target", "3", "--target-at", "-74,40"]
    assert table(graph, "--coordinates", coordinates, *ends, tmp_path=tmp_path) == LONG
    notes = capsys.readouterr().out.splitlines()[:2]
    assert notes == [
        f"2 sources at points of {file}: their vertices are 423 m away on average, 847 m at most",
        "target at -74,40: vertex 1, 0 m away",
    ]


def test_a_wide_table_has_a_column_a_target(graph, tmp_path):
    ends = ["--source", "2", "--source", "5", "--target", "3", "--target", "1"]
    assert table(graph, *ends, "--wide", tmp_path=tmp_path) == "source,3,1\n2,10,\n5,21,1\n"


@pytest.mark.parametrize("cells", [5, 1 << 20])
def test_rows_may_go_by_a_column_of_the_files(graph, tmp_path, cells, monkeypatch):
    monkeypatch.setattr("sssp.apps.cli.table_command.BLOCK_CELLS", cells)
    homes = written(tmp_path, "homes.csv", "vertex,zone\n2,north\n5,south\n2,again\n")
    shops = written(tmp_path, "shops.csv", "zone,vertex\nmill,3\nbridge,1\n")
    ends = ["--sources", homes, "--targets", shops, "--target", "4", "--id", "zone"]
    assert table(graph, *ends, tmp_path=tmp_path) == (
        "source,target,distance\n"
        "north,mill,10\nnorth,bridge,\nnorth,4,17\n"
        "south,mill,21\nsouth,bridge,1\nsouth,4,28\n"
        "again,mill,10\nagain,bridge,\nagain,4,17\n"
    )
    assert table(graph, *ends, "--wide", tmp_path=tmp_path) == (
        "source,mill,bridge,4\nnorth,10,,17\nsouth,21,1,28\nagain,10,,17\n"
    )


def test_labels_may_be_strings(named, tmp_path):
    file = written(tmp_path, "s.csv", "vertex\nhome\n")
    rows = table(named, "--sources", file, "--target", "caf\xe9", tmp_path=tmp_path)
    assert rows == "source,target,distance\nhome,caf\xe9,7\n"


def test_a_table_larger_than_a_block_is_whole(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("sssp.apps.cli.table_command.BLOCK_CELLS", 5)
    ends = [word for v in "12345" for word in ("--source", v, "--target", v)]
    rows = table(graph, *ends, tmp_path=tmp_path).splitlines()[1:]
    g = sssp.read_graph(graph)
    found = sssp.shortest_paths(g, range(5), targets=range(5))
    assert rows == [
        f"{u + 1},{v + 1},{found.distances[u, v] if found.reached[u, v] else ''}"
        for u in range(5)
        for v in range(5)
    ]


def test_a_file_without_rows_makes_a_table_without(graph, tmp_path):
    file = written(tmp_path, "s.csv", "vertex\n")
    assert table(graph, "--sources", file, "--target", "1", tmp_path=tmp_path) == (
        "source,target,distance\n"
    )


def parquet_of(path: Path) -> dict[str, list[Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
    return columns


def test_parquet_goes_in_and_out(graph, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"vertex": [2, 5]}), tmp_path / "s")
    out = tmp_path / "out.parquet"
    ends = ["--sources", str(tmp_path / "s"), "--target", "3", "--target", "1"]
    assert main(["table", graph, *ends, "-o", str(out)]) == 0
    assert parquet_of(out) == {
        "source": [2, 2, 5, 5],
        "target": [3, 1, 3, 1],
        "distance": [10, None, 21, 1],
    }
    assert str(parquet.read_schema(out).field("distance").type) == "int32"
    arguments = ["table", graph, *ends, "--wide", "--format", "parquet", "-o", str(tmp_path / "x")]
    assert main(arguments) == 0
    assert parquet_of(tmp_path / "x") == {"source": [2, 5], "3": [10, 21], "1": [None, 1]}


def test_trips_keep_their_columns_and_order(graph, tmp_path, capsys):
    file = written(tmp_path, "trips.csv", 'who,source,target\nx,5,4\n"y,z",2,1\n,1,1\n')
    assert main(["pairs", graph, file, "--paths"]) == 0
    captured = capsys.readouterr()
    assert captured.out == (
        'who,source,target,distance,path\nx,5,4,28,5 1 2 3 4\n"y,z",2,1,,\n,1,1,0,1\n'
    )
    assert captured.err.splitlines()[1:] == ["3 trips, 1 unreached", "wrote 3 rows to stdout"]


def test_trips_between_points_get_their_vertices(graph, coordinates, tmp_path, capsys):
    file = written(tmp_path, "t.csv", "source_lon,source_lat,target\n-74.1,40.1,4\n")
    assert main(["pairs", graph, file, "--coordinates", coordinates, "--limit", "17"]) == 0
    assert capsys.readouterr().out == (
        "source_lon,source_lat,target,source,distance\n-74.1,40.1,4,2,17\n"
    )


def test_trips_of_a_dimacs_file(graph, tmp_path, capsys):
    file = written(tmp_path, "t.p2p", "p aux sp p2p 1\nq 5 2\n")
    assert main(["pairs", graph, file, "--method", "a-star"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "source,target,distance\n5,2,11\n"
    assert captured.err.startswith("a-star on cpu")


def test_trips_of_parquet_have_lists_of_vertices(named, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    trips = {"source": ["home", "work"], "target": ["caf\xe9", "home"], "weight": [0.5, None]}
    parquet.write_table(arrow.table(trips), tmp_path / "t.parquet")
    out = tmp_path / "out.parquet"
    assert main(["pairs", named, str(tmp_path / "t.parquet"), "--paths", "-o", str(out)]) == 0
    assert parquet_of(out) == trips | {
        "distance": [7, None],
        "path": [["home", "work", "caf\xe9"], None],
    }


SOLVE, BANDS = (
    [command, "GRAPH", "--sources", "FILE", *more]
    for command, more in (("solve", ["-o", "-"]), ("isochrone", ["--limits", "5"]))
)
PAIRS, TABLE = ["pairs", "GRAPH", "FILE"], ["table", "GRAPH", "--target", "1", "--sources", "FILE"]


@pytest.mark.parametrize(
    ("arguments", "content", "complaint"),
    [
        (TABLE, "vertex\n1\n\n9\n", "FILE:4: no vertex has the label 9"),
        (TABLE, f"vertex\n1\n{10**30}\n", "FILE:3: no vertex has the label 1000"),
        (TABLE, "vertex\n1.0\n", "FILE:2: '1.0' is not a vertex"),
        (TABLE, "vertex\n1.0\n", "write it without a point (pandas: .astype"),
        (TABLE, "vertex\n1.5\n", "'1.5' is not a vertex: this graph numbers its vertices\n"),
        (TABLE, 'vertex\n""\n', "FILE:2: vertex is missing"),
        (TABLE, "vertex,x\n1.0,a\n,b\n", "FILE:3: vertex is missing"),
        (TABLE, "name;vertex\na;1\n", "'name;vertex'; write commas between the columns in place"),
        (TABLE, "lon;lat\n4,5;52,1\n", "FILE:2: 3 cells under 1 headings; write commas between"),
        (PAIRS, "source\ttarget\n1\t1\n", "in place of '\\t'"),
        (TABLE, "1\n2\n", "no column source or vertex, nor lon and lat, but '1'"),
        (TABLE, "", "the file has no columns"),
        (TABLE, "vertex,vertex\n1,2\n", "more than one column is called 'vertex'"),
        (TABLE, "vertex,x\n1,2\n3\n", "FILE:3: 1 cells under 2 headings"),
        (TABLE, "lon,lat\n1,2\n", "has no coordinates to find the vertices of points by"),
        (TABLE, "lon,lat\n1,x\n", "FILE:2: lat must be a finite number, not 'x'"),
        (TABLE, "lon,lat\n1,2\nnan,3\n", "FILE:3: lon must be a finite number, not 'nan'"),
        (SOLVE, "vertex\n", "the files name no source"),
        (BANDS, "vertex\n", "the files name no source"),
        ([*TABLE, "--id", "zone"], "vertex\n1\n", "there is no column zone, but 'vertex'"),
        ([*TABLE, "--wide", "--target", "1"], "vertex\n1\n", "none may be there twice"),
        (PAIRS, "source\n1\n", "no column target, nor target_lon and target_lat, but 'source'"),
        (PAIRS, "source,target\n1,7\n", "FILE:2: no vertex has the label 7"),
        (PAIRS, "source,target,distance\n1,2,3\n", "there is a column distance already"),
        ([*PAIRS, "--method", "astar"], "", "unknown method 'astar'"),
        (
            [*PAIRS, "-o", "out.npz"],
            "source,target\n",
            "must end in .csv, .parquet, .geojson or .gpkg",
        ),
        (["table", "GRAPH", "--source", "1"], "", "required: --target V, --target-at LON,LAT or"),
        (["solve", "GRAPH", "--source-at", "1"], "", "'1' is not LON,LAT in degrees"),
        (["solve", "GRAPH", "--source-at", "-1,nan"], "", "'-1,nan' is not LON,LAT in degrees"),
        (["solve", "GRAPH", "--source-at", "1,2"], "", "name its .co file with --coordinates"),
        (["solve", "GRAPH", "--source", "1", "--format", "npz"], "", "name one with -o"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_one_line(
    graph, tmp_path, arguments, content, complaint, capsys
):
    names = {"FILE": written(tmp_path, "in.csv", content), "GRAPH": graph}
    assert outcome([names.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert complaint.replace("FILE", names["FILE"]) in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ([1.0, None], "FILE:2: source is missing"),
        ([1.0, float("nan")], "FILE:2: source is missing"),
        ([2, None], "FILE:2: source is missing"),
        (
            [2.0, 1.0],
            "FILE:1: 2.0 is not a vertex: this graph numbers its vertices; write it",
        ),
        ([True, False], "FILE:1: True is not a vertex: this graph numbers its vertices\n"),
    ],
)
def test_what_is_no_integer_in_parquet_is_no_vertex(graph, tmp_path, column, complaint, capsys):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "s.parquet")
    parquet.write_table(arrow.table({"source": column}), path)
    assert main(["table", graph, "--sources", path, "--target", "1"]) == 2
    assert complaint.replace("FILE", path) in capsys.readouterr().err


def test_a_missing_name_is_no_vertex_called_none(tmp_path, capsys):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    town, path = str(tmp_path / "town.sssp"), str(tmp_path / "s.parquet")
    sssp.Graph.from_arcs([0], [1], [5], labels=["mill", "None"]).save(town)
    parquet.write_table(arrow.table({"source": ["mill", None]}), path)
    assert main(["table", town, "--sources", path, "--target", "None"]) == 2
    assert f"{path}:2: source is missing" in capsys.readouterr().err


def test_reading_parquet_leaves_no_thread_behind(tmp_path):
    # one that lets go of what was read while Python ends aborts the process
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        pytest.skip("threads are counted on Linux")
    path = tmp_path / "s.parquet"
    parquet.write_table(arrow.table({"vertex": [1, 2], "name": ["a", "b"]}), path)
    code = (
        "import os, pathlib, pyarrow.parquet\n"
        "from sssp.apps.terminal.table_files import read_table\n"
        f"before = len(os.listdir({str(tasks)!r}))\n"
        f"read_table(pathlib.Path({str(path)!r}))\n"
        f"print(len(os.listdir({str(tasks)!r})) - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("content", [b"vertex\n\xff\n", b"PAR1 and no more", b"\x1f\x8b\x08cut"])
def test_a_damaged_file_is_named(graph, tmp_path, content, capsys):
    if content.startswith(b"PAR1"):
        pytest.importorskip("pyarrow")
    path = tmp_path / "in"
    path.write_bytes(content)
    assert main(["table", graph, "--sources", str(path), "--target", "1"]) == 2
    err = capsys.readouterr().err
    assert f"error: {path}: " in err
    assert err.count("\n") == 1


def test_parquet_without_pyarrow_names_the_extra(graph, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = ["-o", str(tmp_path / "out.parquet")]
    assert main(["table", graph, "--source", "1", "--target", "1", *out]) == 2
    assert 'pip install "sssp[parquet]"' in capsys.readouterr().err


def test_points_far_from_the_graph_are_refused(graph, coordinates, tmp_path, capsys):
    asked = ["solve", graph, "--coordinates", coordinates, "--source-at", "40,-74"]
    assert main(asked) == 2
    err = capsys.readouterr().err
    assert "--source-at 40,-74 is " in err
    assert "farther than --max-distance 1,000; are longitude and latitude swapped?" in err
    assert err.count("\n") == 1
    assert main([*asked, "--max-distance", "1e8"]) == 0
    assert "warning" not in capsys.readouterr().err
    points = tmp_path / "points.csv"
    points.write_text("lon,lat\n-73.98,40.75\n40,-74\n")
    asked = ["solve", graph, "--coordinates", coordinates, "--sources", str(points)]
    assert main([*asked, "--max-distance", "100000"]) == 2
    assert "the point 40.0,-74.0 is " in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_binary_goes_to_a_terminal(graph, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("sys.stdout", Terminal())
    ends = ["--source", "1", "--target", "1"]
    assert main(["table", graph, *ends, "--format", "parquet"]) == 2
    assert "a .parquet file is not for a terminal" in capsys.readouterr().err


def test_trips_are_lines_for_maps(graph, coordinates, tmp_path, capsys):
    geopandas = pytest.importorskip("geopandas")
    trips = tmp_path / "trips.csv"
    trips.write_text("who,source,target\nann,1,3\nbob,3,1\n")
    for name in ("out.geojson", "out.gpkg"):
        out = str(tmp_path / name)
        asked = ["pairs", graph, str(trips), "--coordinates", coordinates, "-o", out]
        assert main(asked) == 0
        assert capsys.readouterr().out.endswith(f"2 trips, 1 unreached\nwrote 2 rows to {out}\n")
        lines = geopandas.read_file(out)
        assert lines[["who", "source", "target"]].values.tolist() == [
            ["ann", 1, 3], ["bob", 3, 1]
        ]  # fmt: skip
        assert lines["distance"][0] == 20
        assert lines["distance"].isna().tolist() == [False, True]
        assert lines.geometry.isna().tolist() == [False, True]
        places = [[-74.0, 40.0], [-74.1, 40.1], [-74.2, 40.2]]
        assert list(map(list, lines.geometry[0].coords)) == places
        assert main([*asked, "--paths"]) == 2
        assert "has every path as a line: omit --paths" in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--no-prepare",), ("--method", "dijkstra")])
def test_a_road_map_is_prepared_for_many_trips(graph, tmp_path, monkeypatch, capsys, more):
    from sssp.apps.cli import pairs_command

    file = written(tmp_path, "trips.csv", "source,target\n5,4\n2,1\n1,1\n")
    assert main(["pairs", graph, file, *more]) == 0
    flat = capsys.readouterr()
    assert "sweep" not in flat.err
    monkeypatch.setattr(pairs_command, "WORTH_PREPARING", 3)
    assert main(["pairs", graph, file, *more]) == 0
    found = capsys.readouterr()
    assert found.out == flat.out
    assert ("sweep" in found.err) == (not more)

    def refuse(g):
        raise ValueError("this is no road network")

    monkeypatch.setattr(sssp, "prepare", refuse)
    assert main(["pairs", graph, file, *more]) == 0
    assert "sweep" not in capsys.readouterr().err


def test_lines_are_written_in_parts(graph, coordinates, tmp_path, monkeypatch):
    geopandas = pytest.importorskip("geopandas")
    from sssp.apps.terminal import output

    file = written(tmp_path, "trips.csv", "source,target\n1,3\n3,1\n1,2\n2,3\n5,4\n")
    out = [str(tmp_path / f"{name}.gpkg") for name in "ab"]
    for path in out:
        assert main(["pairs", graph, file, "--coordinates", coordinates, "-o", path]) == 0
        monkeypatch.setattr(output, "ROWS_TOGETHER", 2)
    assert len(geopandas.read_file(out[1])) == 5
    assert geopandas.read_file(out[0]).equals(geopandas.read_file(out[1]))
