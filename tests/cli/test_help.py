"""The examples that the help of every command teaches by: they run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sssp
from sssp.apps.cli import COMMANDS, main
from sssp.loaders import write_co, write_gr
from tests.cli.test_assign_command import NET, TRIPS
from tests.osm_files import Way, grid, write_osm

#: what runs for minutes or until Ctrl-C, or needs a GPU or a cluster
PARSED_ONLY = {"bench", "compile", "run", "serve"}
#: the part of the earth that the examples name points of
WEST, EAST, SOUTH, NORTH = -74.05, -73.90, 40.66, 40.82
#: packages that an example needs, by what tells that it does
NEEDED = {".parquet": "pyarrow", ".png": "matplotlib", ".svg": "matplotlib"} | dict.fromkeys(
    (".gpkg", ".geojson"), "geopandas"
)


def examples(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the command lines of a help text, each as one line."""
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    told, codes = capsys.readouterr().out.split("examples:")[1].split("\nexit codes:")
    assert "130 Ctrl-C" in codes
    lines = told.replace("\\\n", "").splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    assert len(found) >= 2
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that the examples read, each of a small graph."""
    g = sssp.road_like(1000)
    assert g.coordinates is not None
    low, high = g.coordinates.min(axis=0), g.coordinates.max(axis=0)
    places = (g.coordinates - low) / (high - low) * [EAST - WEST, NORTH - SOUTH] + [WEST, SOUTH]
    for kind in ("d", "t"):
        write_gr(tmp_path / f"USA-road-{kind}.NY.gr.gz", g.n, g.tails, g.indices, g.weights)
    write_co(tmp_path / "USA-road-d.NY.co.gz", places)
    (tmp_path / "rome99.gr").write_text("p sp 1 0\n")
    write_osm(tmp_path / "porto.osm.pbf", grid(2, 1), [Way(1, [1, 2])])
    (tmp_path / "homes.csv").write_text("vertex,name\n1,a\n5,b\n")
    (tmp_path / "offices.csv").write_text("name,lon,lat\nc,-73.98,40.75\n")
    via = g.indices[0]
    turn = f"{g.tails[0] + 1},{via + 1},{g.indices[g.indptr[via]] + 1},no\n"
    (tmp_path / "turns.csv").write_text("from,via,to,kind\n" + turn)
    (tmp_path / "trips.csv").write_text("trip,source,target\na,1,5\n")
    for name in ("SiouxFalls", "ChicagoSketch"):
        (tmp_path / f"{name}_net.tntp").write_text(NET)
        (tmp_path / f"{name}_trips.tntp").write_text(TRIPS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    return tmp_path


@contextmanager
def standard_input(path: str) -> Iterator[None]:
    """Read stdin from a file for a while."""
    kept = os.dup(0)
    with open(path, "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PARSED_ONLY))
def test_the_examples_of_the_help_run(command, folder, capsys):
    for line in examples(command, capsys):
        for ending, package in NEEDED.items():
            if ending in line:
                pytest.importorskip(package)
        if ".parquet" in line:
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.table({"vertex": [3, 9]}), folder / "jobs.parquet")
        before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        alone, _, read = line.split(" | ")[0].partition(" < ")
        program, *arguments = shlex.split(alone)
        assert program == "sssp"
        with standard_input(read or os.devnull):
            assert main(arguments) == 0, line
        for option in ("-o", "--coordinates-output"):
            name = arguments[arguments.index(option) + 1] if option in arguments else "-"
            if name != "-":
                written = folder / name
                assert written.stat().st_mtime_ns != before.get(written), line


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_examples_of_the_help_fit_a_terminal(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = capsys.readouterr().out
    assert max(map(len, told[told.index("\nexamples:") :].splitlines())) <= 100


@pytest.mark.parametrize("command", sorted(PARSED_ONLY))
def test_the_examples_of_slow_commands_parse(command, capsys, monkeypatch):
    lines = examples(command, capsys)
    monkeypatch.setattr(f"{COMMANDS[command]}.run", lambda options: 7)
    monkeypatch.setattr("sssp.datasets.find", Path)
    for line in lines:
        words = shlex.split(line)
        program = words.index("sssp")  # behind what sets variables
        assert main(words[program + 1 :]) == 7


def test_the_lines_of_the_page_on_the_command_line_parse(monkeypatch):
    page = (Path(sssp.__file__).parents[1] / "docs/command-line.md").read_text(encoding="utf-8")
    lines = [line[2:] for line in page.replace("\\\n", "").splitlines() if line[:2] == "$ "]
    monkeypatch.setattr("sssp.datasets.find", Path)
    shown = set()
    for line in lines:
        program, command, *rest = shlex.split(line.split(" | ")[0].split(" < ")[0])
        if program != "sssp":
            continue
        monkeypatch.setattr(f"{COMMANDS[command]}.run", lambda options: 7)
        assert main([command, *rest]) == 7, line
        shown.add(command)
    assert shown == set(COMMANDS)


def test_the_help_of_the_program_names_every_command_and_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    for name in (*COMMANDS, "exit codes:", "stderr", "130 Ctrl-C"):
        assert name in told


def test_a_point_in_the_west_is_no_option(folder, capsys):
    files = ["USA-road-d.NY", "--coordinates", "USA-road-d.NY.co"]
    assert main(["solve", *files, "--source-at", "-73.98,40.75", "--target", "9"]) == 0
    said = capsys.readouterr().out.splitlines()
    g = sssp.read_graph(folder / "USA-road-d.NY.gr.gz", coordinates=folder / "USA-road-d.NY.co.gz")
    vertex = g.nearest_vertex(-73.98, 40.75)
    assert said[0].startswith(f"source at -73.98,40.75: vertex {vertex + 1}, ")
    assert said[0].endswith(" m away")
    distance = sssp.shortest_paths(g, vertex).distance(8)
    assert said[2].startswith(f"target 9: distance {np.int64(distance)}, ")


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_pages_say_how_many_commands_there_are(page: str) -> None:
    text = (Path(sssp.__file__).parents[1] / page).read_text(encoding="utf-8")
    assert len(COMMANDS) == 13
    assert "thirteen commands" in text.lower()
