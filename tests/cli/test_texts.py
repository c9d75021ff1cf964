"""Texts from files in errors, and what counts as a number."""

from __future__ import annotations

import pytest

import sssp
from sssp.apps.cli import main
from sssp.errors import LONGEST, join_briefly, plain_digits, quote
from tests.cli.conftest import outcome

#: `int` takes all of these
ODD_NUMBERS = ["1_0", "\u0661", "\uff11", "1\u00a0"]


def test_an_excerpt_is_the_beginning_of_what_is_long():
    assert quote("a" * (LONGEST - 2)) == repr("a" * (LONGEST - 2))
    for value in ("a" * LONGEST, b"\n" * LONGEST, list(range(LONGEST))):
        assert len(quote(value)) == LONGEST
        assert quote(value).endswith("...")
    assert join_briefly(["a", "b"]) == "a, b"
    assert len(join_briefly(["a"] * 10**6)) == LONGEST


@pytest.mark.parametrize("text", ODD_NUMBERS)
def test_digits_of_other_scripts_and_with_bars_between_are_not_plain(text):
    assert int(text) in (1, 10)
    with pytest.raises(ValueError, match="plain digits"):
        plain_digits(text)


@pytest.mark.parametrize("text", ["12", "-7", "+7", " 8 ", "1.5e3"])
def test_other_numbers_are_plain(text):
    assert plain_digits(text) == text


@pytest.mark.parametrize("text", ODD_NUMBERS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "{graph}", "--source", "{text}"],
        ["solve", "{graph}", "--source", "1", "--target", "{text}"],
        ["solve", "{graph}", "--source", "1", "--limit", "{text}"],
        ["solve", "{graph}", "--sources", "{table}"],
        ["solve", "{graph}", "--coordinates", "{coordinates}", "--source-at={text},{text}"],
        ["solve", "road-like:{text}", "--source", "0"],
        ["isochrone", "{graph}", "--source", "1", "--limits", "{text},20"],
        ["run", "{graph}", "--all-sources", "--to", "{folder}", "--threads", "{text}"],
    ],
)
def test_the_command_line_takes_plain_digits_only(
    graph, coordinates, tmp_path, capsys, arguments, text
):
    table = tmp_path / "sources.csv"
    table.write_text(f"source\n{text}\n", encoding="utf-8")
    words = {"graph": graph, "coordinates": coordinates, "text": text, "table": table}
    words["folder"] = str(tmp_path / "out")
    assert outcome([argument.format(**words) for argument in arguments]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "without a point" not in told


def test_blanks_and_signs_around_labels_are_taken(graph, tmp_path, capsys):
    table = tmp_path / "sources.csv"
    table.write_text("source\n 1\n+2 \n")
    assert main(["solve", graph, "--sources", str(table), "--target", "+3"]) == 0
    assert "source 2, target 3: distance 10" in capsys.readouterr().out


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("name", "content", "arguments"),
    [
        ("labels.csv", f"source\n{LONG}\n", ["solve", "{graph}", "--sources", "{file}"]),
        ("labels.csv", f"source\n{LONG}\n", ["solve", "{named}", "--sources", "{file}"]),
        ("points.csv", f"lon,lat\n{LONG},1\n", ["solve", "{graph}", "--sources", "{file}"]),
        ("columns.csv", f"{LONG},b\n1,2\n", ["solve", "{graph}", "--sources", "{file}"]),
        ("twins.csv", f"{LONG},{LONG}\n1,2\n", ["solve", "{graph}", "--sources", "{file}"]),
        ("many.csv", ",".join(map(str, range(999))), ["solve", "{graph}", "--sources", "{file}"]),
        ("long.gr", f"p sp 2 1\na 1 2 {LONG}\n", ["info", "{file}"]),
        ("long.gr", f"{LONG}\n", ["info", "{file}"]),
    ],
)
def test_errors_hold_little_of_a_file(graph, tmp_path, capsys, name, content, arguments):
    file, named = tmp_path / name, tmp_path / "named.sssp"
    file.write_text(content)
    labels = [c * 5000 for c in "abc"]
    sssp.Graph.from_arcs([0, 1], [1, 2], [5, 2], labels=labels).save(named)
    words = {"file": file, "graph": graph, "named": named}
    assert outcome([argument.format(**words) for argument in arguments]) == 2
    told = capsys.readouterr().err.replace(str(file), "").replace(str(named), "")
    assert len(told) < 4 * LONGEST
    assert "..." in told


def test_errors_hold_little_of_the_labels_of_a_graph(tmp_path, capsys):
    labels = [c * 5000 for c in "abc"]
    named, negative = tmp_path / "named.sssp", tmp_path / "negative.sssp"
    sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 2, -1], labels=labels).save(negative)
    sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [5, 2, -9], labels=labels).save(named)
    for file, method in ((named, "bellman-ford"), (negative, "dijkstra")):
        ends = ["--source", labels[0], "--method", method]
        assert outcome(["solve", str(file), *ends]) == 2
        told = capsys.readouterr().err
        assert "..." in told
        assert len(told) < 4 * LONGEST
