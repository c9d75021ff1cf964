"""What is the user's to mend is told in one line on stderr, with exit code 2."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import sssp
from sssp.apps.cli import main
from sssp.apps.terminal.outcome import reword_for_options
from tests.cli.conftest import outcome

#: longer than any file system takes, and than Python reads as a number
LONG_NAME, LONG_NUMBER = "a" * 300, "9" * 5000
SOLVE = ["solve", "FILE", "--source", "1"]
BANDS = ["isochrone", "FILE", "--source", "1"]
BENCH = ["bench", "--graph", "FILE", "--trials", "1"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["isochron"], "did you mean isochrone?"),
        (["info"], "one of the arguments FILE --devices is required"),
        (["info", "FILE", "--devices"], "not allowed with argument FILE"),
        (["info", "FILE", "extra"], "unrecognized arguments: extra"),
        (
            ["solve", "FILE", "--source", "1", "2"],
            "2; for several, write --source before",
        ),
        ([*SOLVE, "--limit", "3", "4"], "arguments: 4; --limit takes one value"),
        ([*BANDS, "--limits", "9", "4"], "arguments: 4; --limits takes A,B,... in one piece"),
        ([*BANDS, "--limits", "9", "--limits", "4"], "given twice; --limits takes A,B,... in one"),
        ([*BANDS, "--limits", "9,", "4"], "'' is not a number; several go as 2000,4000"),
        (["info", "FILE", "--ex\ntra"], "unrecognized arguments: --ex: tra"),
        # graphs
        (["info", ""], "no file ''"),
        (["info", "."], "'.' is a folder"),
        (["info", "nowhere.gr"], "no file 'nowhere.gr'"),
        (["info", "FILE/nowhere"], "no file '"),
        (["info", LONG_NAME], "File name too long"),
        (["info", "\udcff\x1b[31m"], r"no file '\udcff\x1b[31m'"),
        (["info", "road-like:"], "needs a number of vertices"),
        (["info", "road-like:1e6"], "needs a number of vertices"),
        (["info", "road-like:0"], "needs a number of vertices"),
        (["info", "road-like:\N{SUPERSCRIPT TWO}"], "needs a number of vertices"),
        (["info", f"road-like:{LONG_NUMBER}"], "needs a number of vertices"),
        (["info", "road-like:99999999999"], "0 to 536870912 vertices"),
        (["info", "road-like:9", "--coordinates", "x.co"], "omit --coordinates"),
        (["info", "FILE", "--coordinates", "x.co"], "No such file or directory: 'x.co'"),
        (["info", "FILE", "--coordinates", "."], "Is a directory: '.'"),
        (["info", "FILE", "--coordinates", LONG_NAME], "File name too long"),
        (["info", "FILE", "--coordinates", "FILE"], "looks like a graph file"),
        # vertices
        (["solve", "FILE"], "required: --source"),
        (["solve", "FILE", "--source", "6"], "no vertex has the label 6"),
        (["solve", "FILE", "--source", "-1"], "no vertex has the label -1"),
        (["solve", "FILE", "--source", "1.0"], "'1.0' is not a vertex"),
        (["solve", "FILE", "--source", ""], "'' is not a vertex"),
        (["solve", "FILE", "--source", LONG_NUMBER], "is not a vertex"),
        ([*SOLVE, "--source", "6"], "no vertex has the label 6"),
        ([*SOLVE, "--target", "0"], "no vertex has the label 0"),
        ([*SOLVE, "--target", "\x1b[31m"], r"'\x1b[31m' is not a vertex"),
        # numbers
        ([*SOLVE, "--limit", "abc"], "--limit: 'abc' is not a number"),
        ([*SOLVE, "--limit", ""], "--limit: '' is not a number"),
        ([*SOLVE, "--limit", "-3"], "-3 is not a number from 0 on"),
        ([*SOLVE, "--limit", "nan"], "nan is not a number from 0 on"),
        ([*SOLVE, "--limit", "3", "--limit", "4"], "--limit: given twice"),
        # methods and devices
        ([*SOLVE, "--method", ""], "unknown method ''"),
        ([*SOLVE, "--method", "astar"], "unknown method 'astar'"),
        ([*SOLVE, "--method", "floyd-warshall"], "unknown method 'floyd-warshall'"),
        ([*SOLVE, "--method", "dijkstra:delta=3"], "it has no options"),
        ([*SOLVE, "--method", "delta-stepping:omega=3"], "no option 'omega'"),
        ([*SOLVE, "--method", "delta-stepping:delta"], "write option=value"),
        ([*SOLVE, "--method", "delta-stepping:delta=1e-9"], "delta=1e-09 is too fine"),
        ([*SOLVE, "--method", "delta-stepping:delta=nan"], "positive number, not nan"),
        ([*SOLVE, "--method", "delta-stepping:delta=abc"], "positive number, not 'abc'"),
        (
            [*SOLVE, "--method", f"delta-stepping:delta={'-' * 100_000}1"],
            "must be a positive number",
        ),
        ([*SOLVE, "--method", f"delta-stepping:delta={LONG_NUMBER}"], "positive number, not inf"),
        ([*SOLVE, "--method", "delta-stepping:delta=3,delta=5"], "given twice"),
        ([*SOLVE, "--method", "bellman-ford:streams=2.5"], "streams must be an int"),
        ([*SOLVE, "--method", "dijkstra", "--method", "dijkstra"], "--method: given twice"),
        ([*SOLVE, "--device", "abacus"], "unknown device 'abacus'"),
        ([*SOLVE, "--device", "cuda:-1"], "unknown device 'cuda:-1'"),
        # output files
        ([*SOLVE, "-o", ""], "'' cannot be written"),
        ([*SOLVE, "-o", "out.txt"], "must end in .csv, .npz or .parquet"),
        ([*SOLVE, "-o", "no/such/out.csv"], "cannot be written: no such folder"),
        ([*SOLVE, "-o", "FILE/out.csv"], "cannot be written: no such folder"),
        ([*SOLVE, "-o", "."], "'.' cannot be written: it is a folder"),
        ([*SOLVE, "-o", f"{LONG_NAME}.csv"], "File name too long"),
        ([*SOLVE, "-o", "a.csv", "-o", "b.csv"], "--output: given twice"),
        # downloads
        (["fetch"], "name a graph, as rome99"),
        (["fetch", "Atlantis"], "no graph 'Atlantis' is published"),
        # the bench
        (["bench", "--trials", "1.5"], "'1.5' is not a whole number"),
        (["bench", "--sources", "x"], "'x' is not a whole number"),
        (["bench", "--seed", "-1"], "-1 is not 0 or more"),
        (["bench", "--row-limit", "nan"], "not a positive number of seconds"),
        (["bench", "--row-limit", "inf"], "not a positive number of seconds"),
        (["bench", "--row-limit", "0"], "not a positive number of seconds"),
        (["bench", "--json", LONG_NAME], "File name too long"),
        ([*BENCH, "--source", "x"], "'x' is not a vertex"),
    ],
)
def test_nonsense_is_told_in_one_line(graph, arguments, complaint, capsys):
    given = [argument.replace("FILE", graph) for argument in arguments]
    assert outcome(given) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sssp")
    assert ": error: " in captured.err
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("wrong", "wrong"),
        # what is wrong is told as it is
        ("dtype=int32 is wrong; pass dtype=float, or h.graph", "dtype=int32 is wrong"),
        ("wrong; eat less (sssp.reduce); or pass out=, a memmap", "wrong; eat less"),
        ("wrong; pass out=, a memmap; or eat less (or fast)", "wrong; eat less (or fast)"),
        ("wrong; call g.vertices(labels)", "wrong"),
        ("wrong; leave it away (or .astype('int64'))", "wrong; leave it away"),
        ("wrong; use a limit (or dtype='float64')", "wrong; use a limit"),
        ("wrong; pass a smaller block_size", "wrong; pass a smaller --block-size"),
        ("wrong; a smaller chunk_size; go home", "wrong; go home"),
        ("wrong; use device='cpu'", "wrong; use --device cpu"),
        ("wrong; set PYTHONIOENCODING=utf-8", "wrong; set PYTHONIOENCODING=utf-8"),
        ("wrong; `sssp table` writes USA.sssp.gz", "wrong; `sssp table` writes USA.sssp.gz"),
    ],
)
def test_what_the_library_advises_is_told_by_options_or_not_at_all(message, told):
    assert reword_for_options(message, {"block_size", "device", "limit"}) == told


@pytest.mark.parametrize(
    ("arguments", "has", "advice"),
    [
        (["solve", "-o", "NEW.csv"], 70, "; ask for fewer sources at a time or for less of each"),
        (["table", "--target", "1", "--target", "2"], 70, "; ask for less of each source"),
        # (of a single search there is no less)
        (["run", "--to", "NEW", "--block-size", "1"], 50, ""),
    ],
)
def test_a_command_without_memory_says_what_a_command_can_do(
    graph, arguments, has, advice, tmp_path, capsys, monkeypatch
):
    # (a search takes 60)
    for module in ("engine.check_memory", "calls.choose_device"):
        monkeypatch.setattr(f"sssp.{module}.physical_memory", lambda: has)
    command, *rest = [word.replace("NEW", str(tmp_path / "new")) for word in arguments]
    sources = ["--source", "1", "--source", "2", "--source", "5"]
    assert main([command, graph, *sources, *rest, "--method", "dijkstra"]) == 2
    assert capsys.readouterr().err.endswith(f"all that this machine has{advice}\n")


@pytest.mark.parametrize("limit", ["1" + "0" * 400, LONG_NUMBER, "inf"])
def test_a_limit_that_no_float_holds_is_none(tmp_path, limit, capsys):
    path = tmp_path / "float.sssp"
    sssp.Graph.from_arcs([0], [1], [0.5]).save(path)
    assert main(["solve", str(path), "--source", "0", "--limit", limit]) == 0
    assert "reached 2 of 2 vertices" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "out of memory"),
        (MemoryError("8 GiB for an array"), "out of memory: 8 GiB for an array"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("corrupt"), "corrupt"),
        (PermissionError(13, "Permission denied", "x.gr"), "Permission denied: 'x.gr'"),
        (ValueError("sources must be\n  one row"), "sources must be: one row"),
        (TypeError("limit must be a number"), "limit must be a number"),
        (OverflowError("int too large"), "int too large"),
        (RecursionError("too deep"), "too deep"),
        (ImportError("\nno libblas\n"), "no libblas"),
        (sssp.MissingExtraError("pip install sssp[cu12]"), "pip install sssp[cu12]"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "'utf-8' codec can't decode byte 0xff"),
        (ValueError(), "ValueError"),
    ],
)
def test_errors_of_every_kind_are_told_in_one_line(graph, error, told, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("sssp.shortest_paths", fail)
    assert main(["solve", graph, "--source", "1"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"sssp solve: error: {told}")
    assert err.count("\n") == 1


def test_a_bug_of_ours_shows_its_traceback(graph, monkeypatch):
    def fail(*arguments, **options):
        raise AttributeError("'NoneType' object has no attribute 'n'")

    monkeypatch.setattr("sssp.shortest_paths", fail)
    with pytest.raises(AttributeError):
        main(["solve", graph, "--source", "1"])


# -- what cannot be printed --------------------------------------------------------------------


def take_only_ascii(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Make stdout take only ASCII; return what it gets."""
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    return output


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "NAMED"],
        ["solve", "NAMED", "--source", "home"],
        ["solve", "NAMED", "--source", "home", "--target", "caf\xe9"],
    ],
)
def test_labels_that_stdout_cannot_show_are_an_error(named, arguments, capsys, monkeypatch):
    take_only_ascii(monkeypatch)
    assert main([argument.replace("NAMED", named) for argument in arguments]) == 2
    err = capsys.readouterr().err
    assert r"the output takes only ascii, which has no '\xe9'; set PYTHONIOENCODING=utf-8" in err
    assert err.count("\n") == 1


def test_a_file_is_written_whatever_stdout_can_show(named, tmp_path, monkeypatch):
    file = tmp_path / "out.csv"
    take_only_ascii(monkeypatch)
    assert main(["solve", named, "--source", "work", "-o", str(file)]) == 2
    assert file.read_text(encoding="utf-8") == "vertex,distance\nwork,0\ncaf\xe9,2\n"


def test_the_csv_file_on_stdout_is_utf_8_as_it_is_elsewhere(named, monkeypatch):
    output = take_only_ascii(monkeypatch)
    assert main(["solve", named, "--source", "work", "-o", "-"]) == 0
    assert output.getvalue().decode() == "vertex,distance\nwork,0\ncaf\xe9,2\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_table_in_another_encoding_is_refused_with_what_to_do(graph, tmp_path, encoding, capsys):
    file = tmp_path / "trips.csv"
    file.write_text("source,target,name\n1,2,caf\xe9\n", encoding=encoding)
    assert main(["pairs", graph, str(file)]) == 2
    assert 'save it as UTF-8, which Excel calls "CSV UTF-8' in capsys.readouterr().err


def test_names_of_files_are_shown_whatever_bytes_they_have(graph, tmp_path, capsys):
    file = tmp_path / "\udcff\n.csv"
    assert main(["solve", graph, "--source", "1", "-o", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(r"/\udcff: .csv")
    odd = tmp_path / "\udcff.gr"
    odd.write_bytes(Path(graph).read_bytes())
    assert main(["info", str(odd)]) == 0
    assert r"\udcff" in capsys.readouterr().out


# -- files that appear whole or not at all -----------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 2)]
)
@pytest.mark.parametrize("name", ["out.csv", "out.npz"])
def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    graph, tmp_path, name, error, code, monkeypatch
):
    def fail(*arguments, **options):
        raise error

    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / name
    file.write_text("old")
    monkeypatch.setattr("csv.writer", fail)
    monkeypatch.setattr("zipfile.ZipFile.open", fail)
    assert main(["solve", graph, "--source", "1", "-o", str(file)]) == code
    assert [path.name for path in file.parent.iterdir()] == [name]
    assert file.read_text() == "old"


class ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("arguments", [[*SOLVE, "-o"], [*BENCH, "--methods", "dijkstra", "--json"]])
def test_a_file_is_written_whoever_reads_stdout(graph, tmp_path, arguments, monkeypatch):
    file = tmp_path / "out.csv"
    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    assert main([*(argument.replace("FILE", graph) for argument in arguments), str(file)]) == 0
    assert file.stat().st_size > 0


def test_a_report_is_printed_if_its_file_cannot_be_written(graph, tmp_path, capsys, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sssp.bench.report.BenchReport.write_json", full)
    arguments = [graph if argument == "FILE" else argument for argument in BENCH]
    assert main([*arguments, "--methods", "dijkstra", "--json", str(tmp_path / "x.json")]) == 2
    captured = capsys.readouterr()
    assert "SciPy dijkstra" in captured.out
    assert captured.err == f"sssp bench: error: No space left on device: '{tmp_path}/x.json'\n"
