"""The bench as its user sees it: the table, the JSON file, exit codes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sssp.bench import drop_ins, startup
from sssp.bench.__main__ import main
from sssp.loaders import write_gr
from tests.cli.test_assign_command import NET, TRIPS
from tests.patience import PATIENCE


def grid_file(folder: Path, side: int = 12, name: str = "grid.gr") -> Path:
    """Write a grid with arcs in both directions, and return its path."""
    vertex = np.arange(side * side).reshape(side, side)
    forward = np.stack(
        (
            np.concatenate((vertex[:, :-1].ravel(), vertex[:-1].ravel())),
            np.concatenate((vertex[:, 1:].ravel(), vertex[1:].ravel())),
        )
    )
    tails, heads = np.hstack((forward, forward[::-1]))
    weights = np.random.default_rng(7).integers(1, 100, tails.size)
    path = folder / name
    write_gr(path, side * side, tails, heads, weights)
    return path


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    return grid_file(tmp_path)


def table_of(text: str, heading: str = "method") -> list[list[str]]:
    """Return the cells of the table whose first column has this heading, headings first."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(heading + " "))
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[start:end]
    ]


@pytest.mark.slow
def test_the_table_of_starts_has_a_row_for_every_process(monkeypatch, tmp_path, capsys):
    kept = [("import sssp", "cpu", startup.IMPORT)]
    kept += [task for task in startup.list_tasks() if task[:2] == ("bellman-ford, a source", "cpu")]
    kept += [("nothing", "cpu", "import no_such_package")]
    monkeypatch.setattr(startup, "list_tasks", lambda: iter(kept))
    monkeypatch.setattr(startup, "SIZE", 1000)
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    assert main(["--table", "startup", "--trials", "1"]) == 0
    out = capsys.readouterr().out
    _, imported, search, *_ = table_of(out, "task")
    assert imported[:2] == ["import sssp", "cpu"]
    assert imported[-1] == "0, 0"
    first, following = map(float, search[2:4])
    assert 0 < following < first
    # what the first process compiles, the next one finds
    compiled, again = map(int, search[-1].split(", "))
    assert again == 0 < compiled
    assert "nothing on cpu: skipped: ModuleNotFoundError: No module named 'no_such_package'" in out


@pytest.mark.slow
def test_the_table_of_the_drop_in_finds_what_scipy_finds(monkeypatch, tmp_path, capsys):
    for name, size in {"SIZE": 3000, "DENSE": 20, "SOURCES": 3, "AT_LEAST": 0}.items():
        monkeypatch.setattr(drop_ins, name, size)
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    assert main(["--table", "csgraph", "--trials", "1"]) == 0
    headings, *rows, _, _ = table_of(capsys.readouterr().out, "function")
    assert headings == ["function", "matrix", "asked for", "SciPy ms", "ms", "x", "equal"]
    assert len(rows) == 9
    for row in rows:
        slow, fast, ratio = (float(cell.replace(",", "")) for cell in row[3:6])
        assert min(slow, fast, ratio) > 0
        assert row[-1] == "yes"


@pytest.mark.slow
def test_a_drop_in_that_finds_something_else_makes_the_exit_code_one(monkeypatch, tmp_path, capsys):
    for name, size in {"SIZE": 100, "DENSE": 20, "SOURCES": 3, "AT_LEAST": 0}.items():
        monkeypatch.setattr(drop_ins, name, size)
    monkeypatch.setattr("sssp.csgraph.floyd_warshall", lambda matrix, **options: -matrix)
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    assert main(["--table", "csgraph", "--trials", "1"]) == 1
    _, *rows = table_of(capsys.readouterr().out, "function")
    assert [row[0] for row in rows if row[-1] == "NO"] == ["floyd_warshall"] * 2


def write_problem(folder, flow):
    for kind, text in (("net", NET), ("trips", TRIPS), ("flow", flow)):
        (folder / f"Anaheim_{kind}.tntp").write_text(text)


@pytest.mark.parametrize(("first", "code"), [(7.6 / 0.039, 0), (100, 1)])
def test_the_table_of_equilibria_compares_with_published_flows(
    first, code, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    rest = 400 - first
    rows = f"1 2 {first} 0\n3 2 {rest} 0\n1 3 {rest} 0\n"
    write_problem(tmp_path, f"From To Volume Cost\n{rows}")
    assert main(["--table", "assignment", "--trials", "1"]) == code
    out = capsys.readouterr().out
    headings, *lines = table_of(out, "problem")
    assert headings[:4] == ["problem", "gap", "contender", "iterations"]
    ours = [line for line in lines if "sssp" in line]
    assert [(line[0], line[1]) for line in ours] == [("Anaheim", "1e-04"), ("Anaheim", "1e-06")]
    assert {line[-1] for line in ours} == {"NO" if code else "yes"}
    assert "SiouxFalls is not here" in out


def test_the_table_has_one_verified_row_for_scipy_and_every_method(grid, capsys):
    assert main(["--graph", str(grid), "--sources", "6", "--trials", "2"]) == 0
    headings, *rows = table_of(capsys.readouterr().out)
    assert headings == [
        "method", "device", "graph", "n", "m", "sources",
        "median ms", "fastest ms", "x SciPy", "M dist/s", "verified",
    ]  # fmt: skip
    assert [row[:6] for row in rows] == [
        ["SciPy dijkstra", "cpu", "grid", "144", "528", "4"],
        ["dijkstra", "cpu", "grid", "144", "528", "6"],
        ["delta-stepping", "cpu", "grid", "144", "528", "6"],
    ]
    assert [row[-1] for row in rows] == ["yes", "yes", "yes"]
    assert all(0 < float(row[7]) <= float(row[6]) for row in rows)
    assert float(rows[0][8]) == 1


def test_the_header_names_versions_hardware_and_the_command(grid, capsys):
    main(["--graph", str(grid), "--trials", "1", "--seed", "3"])
    header = capsys.readouterr().out.split("\n\n")[0]
    for package in ("sssp", "python", "numpy", "scipy", "numba"):
        assert f"{package} " in header
    assert f"python -m sssp.bench --graph {grid} --trials 1 --seed 3" in header
    assert "cores" in header
    assert "seed 3" in header


def test_the_json_file_holds_every_trial_and_agrees_with_itself(grid, tmp_path, capsys):
    file = tmp_path / "out.json"
    arguments = ["--graph", str(grid), "--source", "5", "--source", "70", "--trials", "3"]
    assert main([*arguments, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    assert report["schema"] == 1
    assert report["command"] == ["python", "-m", "sssp.bench", *arguments, "--json", str(file)]
    assert report["settings"]["trials"] == 3
    assert {"cpu", "cores", "memory", "system", "usable_cores"} == set(report["hardware"])
    assert report["graphs"] == [
        {
            "name": "grid", "file": grid.name, "n": 144, "m": 528, "weights": "int32",
            "sources": [5, 70], "load_seconds": report["graphs"][0]["load_seconds"],
            "jit_seconds": report["graphs"][0]["jit_seconds"],
        }
    ]  # fmt: skip
    scipy, *ours = report["rows"]
    for row in (scipy, *ours):
        assert len(row["trials"]) == 3
        assert row["fastest"] == min(row["trials"])
        assert row["median"] == sorted(row["trials"])[1]
        assert row["distances"] == 2 * 144
        assert row["distances_per_second"] == pytest.approx(288 / row["median"])
        assert row["ratio"] == pytest.approx(scipy["median"] / row["median"])
        assert row["verified"] is True
        assert row["skipped"] is False


def test_load_setup_and_jit_times_stand_in_a_table_of_their_own(grid, capsys):
    main(["--graph", str(grid), "--trials", "1"])
    out = capsys.readouterr().out
    assert "JIT" not in "\n".join(out.split("\n\n")[:2])
    headings, *rows = table_of(out, "what")
    assert headings == ["what", "device", "graph", "once ms", "JIT ms"]
    assert [row[0] for row in rows] == ["load", "SciPy dijkstra", "dijkstra", "delta-stepping"]


def test_a_method_may_carry_options(grid, capsys):
    methods = "delta-stepping:delta=50,delta-stepping,dijkstra"
    assert main(["--graph", str(grid), "--trials", "1", "--methods", methods]) == 0
    rows = table_of(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows[1:]] == ["delta-stepping:delta=50", "delta-stepping", "dijkstra"]


def test_all_means_every_method(grid, capsys):
    from sssp.methods import METHODS

    assert main(["--graph", str(grid), "--trials", "1", "--methods", "all"]) == 0
    rows = table_of(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows[1:]] == list(METHODS)
    assert {row[-1] for row in rows} == {"yes"}


def test_the_same_seed_draws_the_same_sources(grid, tmp_path, capsys):
    def sources(seed: str) -> list[int]:
        file = tmp_path / "out.json"
        arguments = ["--graph", str(grid), "--sources", "9", "--trials", "1", "--seed", seed]
        main([*arguments, "--json", str(file)])
        chosen: list[int] = json.loads(file.read_text())["graphs"][0]["sources"]
        return chosen

    first = sources("1")
    assert sources("1") == first
    assert sources("2") != first
    assert len(set(first)) == 9


def test_a_source_without_outgoing_arcs_is_never_drawn(tmp_path, capsys):
    path = tmp_path / "star.gr"
    write_gr(path, 5, [2, 2], [0, 1], [1, 1])
    file = tmp_path / "out.json"
    assert main(["--graph", str(path), "--trials", "1", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["graphs"][0]["sources"] == [3]
    assert main(["--graph", str(path), "--sources", "2", "--trials", "1"]) == 2
    assert "only 1 vertices have an outgoing arc" in capsys.readouterr().err


def test_unreached_vertices_are_no_distances(tmp_path):
    path, file = tmp_path / "star.gr", tmp_path / "out.json"
    write_gr(path, 5, [2, 2], [0, 1], [1, 1])
    main(["--graph", str(path), "--trials", "1", "--json", str(file)])
    assert [row["distances"] for row in json.loads(file.read_text())["rows"]] == [3, 3, 3]


def test_a_device_that_does_not_exist_gives_a_skipped_row_with_the_reason(grid, capsys):
    assert main(["--graph", str(grid), "--trials", "1", "--devices", "cpu,abacus"]) == 0
    out = capsys.readouterr().out
    rows = table_of(out)[1:]
    assert [(row[1], row[-1]) for row in rows[1:]] == [
        ("cpu", "yes"), ("cpu", "yes"), ("abacus", "skipped"), ("abacus", "skipped"),
    ]  # fmt: skip
    assert "dijkstra on abacus, grid: skipped: unknown device 'abacus'" in out


def test_an_option_that_does_not_suit_a_graph_fails_its_row_and_spares_the_others(grid, capsys):
    methods = "delta-stepping:delta=1e-9,dijkstra"
    assert main(["--graph", str(grid), "--trials", "1", "--methods", methods]) == 1
    out = capsys.readouterr().out
    assert [row[-1] for row in table_of(out)[1:]] == ["yes", "NO", "yes"]
    assert "delta=1e-09 is too fine" in out


def test_rows_beyond_the_limit_are_skipped_with_the_expected_time(grid, capsys):
    assert main(["--graph", str(grid), "--trials", "1", "--row-limit", "1e-9"]) == 0
    out = capsys.readouterr().out
    assert [row[-1] for row in table_of(out)[1:]] == ["skipped"] * 3
    assert out.count("the limit is 1e-09 s") == 3


def test_negative_weights_skip_what_cannot_take_them(tmp_path, capsys):
    path = tmp_path / "negative.gr"
    write_gr(path, 3, [0, 1], [1, 2], [5, -2])
    assert main(["--graph", str(path), "--trials", "1", "--source", "1"]) == 0
    out = capsys.readouterr().out
    assert "SciPy dijkstra on cpu, negative: skipped: it does not take negative weights" in out
    assert "dijkstra on cpu, negative: skipped: dijkstra needs weights >= 0" in out


def test_several_graphs_share_one_table(tmp_path, capsys):
    small, large = grid_file(tmp_path, 4, "small.gr.gz"), grid_file(tmp_path, 6, "large.gr")
    methods = ["--methods", "dijkstra", "--trials", "1"]
    assert main(["--graph", str(small), "--graph", str(large), *methods]) == 0
    rows = table_of(capsys.readouterr().out)[1:]
    assert [row[2] for row in rows] == ["small", "small", "large", "large"]


def test_without_a_graph_it_takes_the_built_in_one_and_all_that_are_found(
    grid, capsys, monkeypatch
):
    monkeypatch.setattr("sssp.datasets.available", lambda: {"Gridville": grid})
    monkeypatch.setattr("sssp.bench.__main__.DEFAULT_SIZE", 500)
    assert main(["--trials", "1", "--methods", "dijkstra"]) == 0
    rows = table_of(capsys.readouterr().out)[1:]
    assert [(row[2], row[3]) for row in rows[::2]] == [
        ("road-like:500", "500"),
        ("Gridville", "144"),
    ]
    assert {row[-1] for row in rows} == {"yes"}


def test_a_graph_may_go_by_the_name_under_which_it_is_published(tmp_path, capsys, monkeypatch):
    grid_file(tmp_path, 5, "USA-road-d.XY.gr.gz")
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    assert main(["--graph", "USA-road-d.XY", "--trials", "1"]) == 0
    assert table_of(capsys.readouterr().out)[1][2] == "USA-road-d.XY"


def test_what_was_measured_before_an_error_is_reported(grid, tmp_path, capsys):
    broken = tmp_path / "broken.gr"
    broken.write_text("p sp 2 1\na 1 x 3\n")
    assert main(["--graph", str(grid), "--graph", str(broken), "--trials", "1"]) == 2
    captured = capsys.readouterr()
    assert [row[2] for row in table_of(captured.out)[1:]] == ["grid"] * 3
    assert "broken.gr:2" in captured.err
    assert "a 1 x 3" in captured.err
    assert captured.err.count("\n") == 1


def test_without_a_terminal_there_is_no_progress(grid, capsys):
    main(["--graph", str(grid), "--trials", "1"])
    assert capsys.readouterr().err == ""


def test_progress_names_every_step_on_a_terminal(grid, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["--graph", str(grid), "--trials", "2", "--methods", "dijkstra"])
    err = capsys.readouterr().err
    for step in ("loading", "SciPy dijkstra on cpu, warm-up", "dijkstra on cpu, trial 2"):
        assert f"grid: {step}" in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--methods", "dijkstar"], "unknown method 'dijkstar'; choose from dijkstra"),
        (["--methods", "delta-stepping:omega=3"], "has no option 'omega'; its options are delta"),
        (["--methods", "dijkstra:delta=3"], "dijkstra has no option 'delta'; it has no options"),
        (["--methods", "delta-stepping:delta"], "write option=value"),
        (["--methods", "delta-stepping:delta=-1"], "delta must be a positive number"),
        (["--graph", "nowhere.gr"], "no file 'nowhere.gr'"),
        (["--graph", "road-like:many"], "needs a number of vertices"),
        (["--graph", "."], "is a folder"),
        (["--trials", "0"], "0 is not 1 or more"),
        (["--sources", "2", "--source", "1"], "not allowed with"),
        (["--json", "no/such/folder.json"], "no such folder"),
        (["--plot", "times.doc"], "must end in one of .png, .svg, .pdf"),
    ],
)
def test_nonsense_is_refused_before_any_work(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert complaint in capsys.readouterr().err


def test_it_runs_as_a_module_in_a_process_of_its_own(grid):
    command = [sys.executable, "-m", "sssp.bench", "--graph", grid, "--sources", "2"]
    done = subprocess.run(
        [*command, "--trials", "1"], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [row[-1] for row in table_of(done.stdout)[1:]] == ["yes"] * 3
