"""``--turns FILE``: every command that reads a graph heeds it, or says which line is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sssp
from sssp.apps.cli import main
from tests.cli.conftest import outcome

#: for the graph whose shortest path from 1 leads over 2: the other is longer by 5
BAN = "from,via,to,kind\n1,2,3,no\n"
#: options of commands, and the ending of what they write
ASKED = {
    "solve": (["--source", "1", "--target", "4", "-o"], ".csv"),
    "table": (["--source", "1", "--target", "4", "-o"], ".csv"),
    "pairs": (["trips.csv", "--paths", "-o"], ".csv"),
    "isochrone": (["--source", "1", "--limits", "30", "-o"], ".csv"),
    "plot": (["--source", "1", "--limits", "30", "-o"], ".png"),
    "run": (["--source", "1", "--target", "4", "--to"], ""),
}


def read(path: Path) -> Any:
    if path.is_dir():
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
    return path.read_bytes()


@pytest.mark.parametrize("command", ASKED)
def test_the_turns_of_a_file_are_heeded(command, graph, coordinates, tmp_path, monkeypatch):
    pytest.importorskip({"plot": "matplotlib", "run": "pyarrow"}.get(command, "sssp"))
    monkeypatch.chdir(tmp_path)
    Path("turns.csv").write_text(BAN)
    Path("trips.csv").write_text("source,target\n1,4\n")
    given = [graph, "--coordinates", coordinates]
    assert main(["convert", *given, "--turns", "turns.csv", "-o", "t.sssp"]) == 0
    options, ending = ASKED[command]
    found = []
    for number, words in enumerate((given, [*given, "--turns", "turns.csv"], ["t.sssp"])):
        out = tmp_path / f"out{number}{ending}"
        assert main([command, words[0], *options, str(out), *words[1:]]) == 0
        found.append(read(out))
    assert found[0] != found[1] == found[2]
    if command in ("solve", "table", "pairs"):
        assert b"27" in found[0]
        assert b"32" in found[1]


def turned(tmp_path: Path, text: str, weights: list[float], *more: str) -> list[str]:
    """Write streets from v to a and b, and turns; return a command that reads them."""
    path, table = tmp_path / "g.sssp", tmp_path / "turns.csv"
    sssp.Graph.from_arcs([0, 0], [1, 2], weights, directed=False, labels=list("vab")).save(path)
    table.write_text(text)
    out = str(tmp_path / "t.sssp")
    return ["convert", str(path), "--turns", str(table), *more, "-o", out]


def test_costs_keep_all_their_digits(tmp_path):
    text = "FROM,Via,to,cost\na,v,b,9007199254740993\nb,v,a,inf\na,v,b,1e3\n"
    assert main(turned(tmp_path, text, [1, 1], "--u-turns", "9007199254740995")) == 0
    t = sssp.read_graph(tmp_path / "t.sssp")
    assert sssp.shortest_paths(t, t.vertex("a")).distances.tolist() == [1, 0, 2**53 + 3]
    assert not sssp.shortest_paths(t, t.vertex("b")).reached[1]
    assert t.turns is not None
    assert 2**53 + 3 in t.turns.costs.tolist()


def test_costs_beside_floats_have_fractions_and_are_scaled(tmp_path):
    text = "from,via,to,cost,kind\na,v,b,0.25,cost\nb,v,a,,no\n"
    assert main(turned(tmp_path, text, [0.5, 1], "--scale", "100")) == 0
    t = sssp.read_graph(tmp_path / "t.sssp")
    assert sssp.shortest_paths(t, t.vertex("a")).distances.tolist() == [50, 0, 175]
    assert not sssp.shortest_paths(t, t.vertex("b")).reached[1]


RULE = "cost must be 0 or more (beside integer weights a whole number below 2**63), or inf, not "


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("from,to,cost\na,b,1\n", "", "there is no column via"),
        ("from,via,to\na,v,b\n", "", "there is no column cost"),
        ("from,via,to,cost\na,v,b,1\na,b,v,1\n", ":3", "no arc leads from a to b"),
        ("from,via,to,cost\na,v,b,1\n\na,v,v,1\n", ":4", "no arc leads from v to v"),
        ("from,via,to,cost\na,v,x,1\n", ":2", "no vertex has the label 'x'"),
        ("from,via,to,kind\na,v,b,never\n", ":2", "kind must be cost, no or only, not 'never'"),
        *(
            (f"from,via,to,cost\na,v,b,1\na,v,b,{cost}\n", ":3", f"{RULE}{cost!r}")
            for cost in ("dear", "", "-1", "nan", "0.5", "1e30", "9223372036854775808")
        ),
    ],
)
def test_a_file_that_holds_no_turns_is_refused_by_its_line(tmp_path, capsys, text, place, words):
    assert outcome(turned(tmp_path, text, [1, 1])) == 2
    assert f"{tmp_path}/turns.csv{place}: {words}" in capsys.readouterr().err


def test_turns_come_to_a_graph_without_and_before_it_is_prepared(graph, tmp_path, capsys):
    prepared, other, table = (str(tmp_path / name) for name in ("h.sssp", "t.sssp", "turns.csv"))
    Path(table).write_text(BAN)
    g = sssp.read_graph(graph)
    sssp.prepare(g).save(prepared)
    g.with_turns(u_turns=1).save(other)
    for path, words in ((prepared, "this map is prepared already"), (other, "has turns")):
        for option in (["--turns", table], ["--u-turns", "3"]):
            assert main(["run", path, "--all-sources", *option, "--to", str(tmp_path / "od")]) == 2
            assert words in capsys.readouterr().err
