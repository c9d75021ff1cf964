"""The command line, run in this process on tiny graphs."""

from __future__ import annotations

import csv
import gzip
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sssp
from sssp.apps.cli import main
from tests.patience import PATIENCE

CHECKOUT = Path(sssp.__file__).parents[1]


def facts(text: str) -> dict[str, str]:
    """Return the lines of ``info`` as a dict."""
    lines = (line.strip().split("  ", 1) for line in text.splitlines())
    return {name: value.strip() for name, value in lines}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_info_tells_sizes_weights_degrees_and_components(graph, capsys):
    assert main(["info", graph]) == 0
    told = facts(capsys.readouterr().out)
    assert told.pop("read in").endswith(" s")
    assert told.pop("memory").endswith(" MiB")
    assert told == {
        "graph": "tiny",
        "vertices": "5",
        "arcs": "5",
        "input arcs": "7",
        "parallel, reduced": "1",
        "self-loops, dropped": "1",
        "weights": "int32, 1 to 25",
        "out-degree": "1.000 on average",
        "0": "1 (20.0%)",
        "1": "3 (60.0%)",
        "2": "1 (20.0%)",
        "strong components": "5, the largest of 1 vertices (20.0%)",
        "weak components": "1, the largest of 5 vertices (100.0%)",
        "labels": "integers, 1 to 5",
        "coordinates": "none",
    }


def test_info_lists_devices_and_why_one_cannot_be_used(monkeypatch, capsys):
    cuda = pytest.importorskip("sssp.cuda.availability", exc_type=ImportError)
    opencl = pytest.importorskip("sssp.opencl.compiler", exc_type=ImportError)

    def fail(*_):
        raise sssp.DeviceError("not\ntoday")

    monkeypatch.setattr(cuda, "device_count", fail)
    monkeypatch.setattr(opencl, "find_devices", fail)
    assert main(["info", "--devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["cpu", "cuda", "opencl"]
    assert lines[0].endswith("thread(s)")
    assert lines[1].endswith("not: today")
    monkeypatch.undo()
    try:
        count = len(opencl.find_devices())
        opencl.device_number("opencl")
    except sssp.DeviceError:
        return
    assert main(["info", "--devices"]) == 0
    told = capsys.readouterr().out
    assert [f"opencl:{number} " in told for number in range(count)] == [True] * count
    assert "in one piece" in told


def test_info_tells_the_box_of_the_coordinates(graph, coordinates, capsys):
    assert main(["info", graph, "--coordinates", coordinates]) == 0
    assert facts(capsys.readouterr().out)["coordinates"] == (
        "longitude -74.400000 to -74.000000, latitude 40.000000 to 40.400000"
    )


@pytest.mark.parametrize("name", ["town", "town.co", "town.co.gz"])
def test_coordinates_go_by_the_name_of_the_graph_beside_them(
    graph, coordinates, tmp_path, monkeypatch, name, capsys
):
    folder = tmp_path / "graphs"
    folder.mkdir()
    for file, ending in ((graph, "gr"), (coordinates, "co")):
        content = gzip.compress(Path(file).read_bytes())
        (folder / f"town.{ending}.gz").write_bytes(content)
    monkeypatch.setenv("SSSP_DATA", str(folder))
    assert main(["info", "town", "--coordinates", name]) == 0
    assert "longitude -74.4" in facts(capsys.readouterr().out)["coordinates"]


def test_info_puts_many_arcs_on_one_line_and_counts_negative_weights(tmp_path, capsys):
    star = sssp.Graph.from_arcs([0] * 9, range(1, 10), [-1.5, *range(8)])
    star.save(tmp_path / "star.sssp")
    assert main(["info", str(tmp_path / "star.sssp")]) == 0
    told = facts(capsys.readouterr().out)
    assert told["8 or more"] == "1 (10.0%)"
    assert told["weights"] == "float64, -1.5 to 7.0, 1 below zero"
    assert told["labels"] == "none: vertices go by 0-based numbers"


def test_info_knows_what_to_say_of_an_empty_graph(tmp_path, capsys):
    path = tmp_path / "empty.gr"
    path.write_text("p sp 0 0\n")
    assert main(["info", str(path)]) == 0
    assert facts(capsys.readouterr().out)["strong components"] == "0"


def test_solve_sums_up_what_is_reached(graph, capsys):
    assert main(["solve", graph, "--source", "1"]) == 0
    out = capsys.readouterr().out
    assert "reached 4 of 5 vertices" in out
    assert "farthest 4, distance 27" in out


def test_a_target_gives_distance_and_path_in_the_numbers_of_the_file(graph, capsys):
    assert main(["solve", graph, "--source", "1", "--target", "4", "--target", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "target 4: distance 27, 3 arcs",
        "path 1 2 3 4",
        "target 1: distance 0, 0 arcs",
        "path 1",
    ]


def test_an_unreached_target_is_said_to_be_so(graph, capsys):
    assert main(["solve", graph, "--source", "1", "--target", "5"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["target 5: unreached"]


def test_a_csv_file_has_a_line_for_every_reached_vertex(graph, tmp_path, capsys):
    file = tmp_path / "out.csv"
    assert main(["solve", graph, "--source", "2", "-o", str(file)]) == 0
    assert file.read_bytes() == b"vertex,distance\n2,0\n3,10\n4,17\n"
    assert f"wrote 3 vertices to {file}" in capsys.readouterr().out


def test_predecessors_go_into_the_csv_file_and_end_at_the_source(graph, tmp_path):
    file = tmp_path / "out.csv"
    main(["solve", graph, "--source", "2", "--predecessors", "-o", str(file)])
    assert [(row["vertex"], row["predecessor"]) for row in read_csv(file)] == [
        ("2", "2"), ("3", "2"), ("4", "3"),
    ]  # fmt: skip


def test_a_npz_file_has_the_same_columns_with_their_dtypes(graph, tmp_path):
    file = tmp_path / "out.npz"
    main(["solve", graph, "--source", "5", "--predecessors", "-o", str(file)])
    with np.load(file) as columns:
        assert columns["vertex"].tolist() == [1, 2, 3, 4, 5]
        assert columns["distance"].tolist() == [1, 11, 21, 28, 0]
        assert columns["distance"].dtype == np.int32
        assert columns["predecessor"].tolist() == [5, 1, 2, 3, 5]


def test_a_limit_leaves_out_what_is_farther(graph, tmp_path):
    file = tmp_path / "out.csv"
    main(["solve", graph, "--source", "1", "--limit", "20", "-o", str(file)])
    assert [row["vertex"] for row in read_csv(file)] == ["1", "2", "3"]


def test_targets_leave_out_all_other_vertices(graph, tmp_path):
    file = tmp_path / "out.csv"
    targets = ["--target", "4", "--target", "5", "--target", "2"]
    main(["solve", graph, "--source", "1", *targets, "--predecessors", "-o", str(file)])
    assert file.read_text() == "vertex,distance,predecessor\n4,27,3\n2,10,1\n"


def test_several_sources_are_summed_up_one_a_line(graph, capsys):
    assert main(["solve", graph, "--source", "1", "--source", "3", "--source", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "source 1: reached 4 of 5 vertices, farthest 4, distance 27",
        "source 3: reached 2 of 5 vertices, farthest 4, distance 7",
        "source 1: reached 4 of 5 vertices, farthest 4, distance 27",
    ]


def test_several_sources_have_a_path_to_every_target(graph, capsys):
    targets = ["--target", "4", "--target", "2"]
    assert main(["solve", graph, "--source", "5", "--source", "3", *targets]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "source 5, target 4: distance 28, 4 arcs",
        "path 5 1 2 3 4",
        "source 5, target 2: distance 11, 2 arcs",
        "path 5 1 2",
        "source 3, target 4: distance 7, 1 arcs",
        "path 3 4",
        "source 3, target 2: unreached",
    ]


def test_several_sources_follow_one_another_in_the_csv_file(graph, tmp_path, capsys):
    file = tmp_path / "out.csv"
    sources = ["--source", "3", "--source", "2"]
    assert main(["solve", graph, *sources, "--predecessors", "-o", str(file)]) == 0
    assert file.read_text() == (
        "source,vertex,distance,predecessor\n3,3,0,3\n3,4,7,3\n2,2,0,2\n2,3,10,2\n2,4,17,3\n"
    )
    assert f"wrote 5 vertices to {file}" in capsys.readouterr().out


def test_several_sources_follow_one_another_in_the_npz_file(graph, tmp_path):
    file = tmp_path / "out.npz"
    sources = ["--source", "3", "--source", "2", "--target", "4", "--target", "3"]
    assert main(["solve", graph, *sources, "--predecessors", "-o", str(file)]) == 0
    with np.load(file) as columns:
        assert {name: values.tolist() for name, values in columns.items()} == {
            "source": [3, 3, 2, 2],
            "vertex": [4, 3, 4, 3],
            "distance": [7, 0, 17, 10],
            "predecessor": [3, 3, 3, 2],
        }


def test_the_csv_file_has_its_headings_once_if_the_first_source_reaches_nothing(graph, tmp_path):
    file = tmp_path / "out.csv"
    main(["solve", graph, "--source", "4", "--source", "1", "--target", "2", "-o", str(file)])
    assert file.read_text() == "source,vertex,distance\n1,2,10\n"


def test_sources_that_are_strings_are_written_as_such(tmp_path):
    path, file = tmp_path / "named.sssp", tmp_path / "out.csv"
    sssp.Graph.from_arcs([0], [1], [5], labels=["home", "a, b"]).save(path)
    main(["solve", str(path), "--source", "a, b", "--source", "home", "-o", str(file)])
    assert [(row["source"], row["vertex"]) for row in read_csv(file)] == [
        ("a, b", "a, b"), ("home", "home"), ("home", "a, b"),
    ]  # fmt: skip


def test_an_output_called_minus_is_the_csv_file_on_stdout(graph, capsys):
    assert main(["solve", graph, "--source", "2", "-o", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "vertex,distance\n2,0\n3,10\n4,17\n"
    assert captured.err.splitlines()[1:] == [
        "reached 3 of 5 vertices",
        "farthest 4, distance 17",
        "wrote 3 vertices to stdout",
    ]


def test_what_is_negative_is_told_in_the_numbers_of_the_file(tmp_path, capsys):
    path = tmp_path / "negative.gr"
    path.write_text("p sp 3 3\na 1 2 -5\na 2 3 1\na 3 1 1\n")
    assert main(["solve", str(path), "--source", "1"]) == 2
    told = capsys.readouterr().err.strip().rsplit(" vertices are ")[1].split(" -> ")
    assert told in (list("1231"), list("2312"), list("3123"))
    assert main(["solve", str(path), "--source", "1", "--method", "dijkstra"]) == 2
    assert "the arc 1 -> 2 weighs -5" in capsys.readouterr().err


def test_vertices_may_go_by_strings(tmp_path, capsys):
    path, file = tmp_path / "named.sssp", tmp_path / "out.csv"
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [0.5, 0.25], labels=["home", "7", "a, b"])
    g.save(path)
    arguments = ["--source", "home", "--predecessors", "-o", str(file)]
    assert main(["solve", str(path), *arguments]) == 0
    assert read_csv(file)[1:] == [
        {"vertex": "7", "distance": "0.5", "predecessor": "home"},
        {"vertex": "a, b", "distance": "0.75", "predecessor": "7"},
    ]
    assert main(["solve", str(path), "--source", "nowhere"]) == 2
    assert "no vertex has the label 'nowhere'" in capsys.readouterr().err


def test_a_method_may_carry_options(graph, capsys):
    arguments = ["--source", "1", "--method", "delta-stepping:delta=3", "--device", "cpu"]
    assert main(["solve", graph, *arguments]) == 0
    assert capsys.readouterr().out.startswith("delta-stepping on cpu")


def test_a_malformed_file_is_named_with_the_line_and_its_text(tmp_path, capsys):
    path = tmp_path / "broken.gr"
    path.write_text("p sp 2 1\na 1 x 3\n")
    assert main(["info", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"sssp info: error: {path}:2: ")
    assert err.endswith(": a 1 x 3\n")
    assert err.count("\n") == 1


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"sssp {sssp.__version__}\n"


def test_the_bench_is_a_command_too(graph, capsys):
    arguments = ["--graph", graph, "--source", "1", "--trials", "1", "--methods", "dijkstra"]
    assert main(["bench", *arguments]) == 0
    out = capsys.readouterr().out
    assert f"sssp bench --graph {graph}" in out
    assert "SciPy dijkstra" in out


def test_ctrl_c_leaves_no_traceback(graph, capsys, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sssp.shortest_paths", interrupted)
    assert main(["solve", graph, "--source", "1"]) == 130
    assert capsys.readouterr().err == "sssp solve: interrupted\n"


def test_help_imports_neither_numpy_nor_numba():
    script = (
        "import sys\n"
        "sys.argv = ['sssp', '--help']\n"
        "from sssp.apps.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    heavy = {'numpy', 'numba', 'scipy', 'tqdm'} & set(sys.modules)\n"
        "    sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "solve" in done.stdout


def test_the_console_script_is_the_command_line():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    module, function = project["project"]["scripts"]["sssp"].split(":")
    script = f"import sys, {module} as m; sys.argv[1:] = ['--version']; m.{function}()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert done.stdout == f"sssp {sssp.__version__}\n"


#: prints how many functions it compiles
SEARCH = """
import sssp
from sssp.kernels.cache import COUNTS
sssp.shortest_paths(sssp.road_like(20_000), 0, method="delta-stepping", dtype="int32")
print(COUNTS["compiled"])
"""


@pytest.mark.slow
def test_what_compile_has_compiled_is_there_for_the_next_process():
    command = [sys.executable, "-m", "sssp", "compile", "--methods", "delta-stepping"]
    command += ["--dtypes", "int32"]
    told = []
    for _ in range(2):
        process = subprocess.run(
            command, capture_output=True, text=True, cwd=CHECKOUT, timeout=300, check=True
        )
        told.append([int(word) for word in re.findall(r"(\d+) (?:functions|were)", process.stdout)])
    (compiled, found), (compiled_again, found_again) = told
    assert compiled_again == 0 < found_again <= compiled + found
    searched = subprocess.run(
        [sys.executable, "-c", SEARCH], capture_output=True, text=True, cwd=CHECKOUT
    )
    assert searched.stdout == "0\n"


def test_compile_makes_weights_that_only_int64_holds(capsys):
    assert main(["compile", "--methods", "a-star", "--dtypes", "int64"]) == 0
    assert "compiled" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--methods", "dijkstra,nothing"], "'nothing' is unknown"),
        (["--dtypes", "int8"], "'int8' is unknown"),
        (["--device", "tpu"], "invalid choice: 'tpu'"),
    ],
)
def test_compile_refuses_what_it_does_not_know(arguments, named, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["compile", *arguments])
    assert stopped.value.code == 2
    assert named in capsys.readouterr().err
