"""``sssp assign`` on a network of two ways."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sssp.apps.cli import main
from sssp.calls import assign as assigning

NET = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 3
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 3
<END OF METADATA>
1 2 100 5 10 0.15 1 0 1 1 ;
1 3 50 3 4 0.15 1 0 0 1 ;
3 2 50 3 4 0.15 1 0 0 1 ;
"""
EQUILIBRIUM = [7.6 / 0.039, 400 - 7.6 / 0.039, 400 - 7.6 / 0.039]
TRIPS = "<NUMBER OF ZONES> 2\n<TOTAL OD FLOW> 400\n<END OF METADATA>\nOrigin 1\n2 : 400;\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    for kind, text in (("net", NET), ("trips", TRIPS)):
        (tmp_path / f"own_{kind}.tntp").write_text(text)
    return ["own_net.tntp", "own_trips.tntp"]  # by name, in the folder


def test_flows_are_written_in_order_of_the_links(files, tmp_path, capsys):
    path = tmp_path / "flows.csv"
    assert main(["assign", *files, "--gap", "1e-9", "-o", str(path)]) == 0
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["tail"], row["head"]) for row in rows] == [("1", "2"), ("1", "3"), ("3", "2")]
    assert [float(row["flow"]) for row in rows] == pytest.approx(
        [7.6 / 0.039, 400 - 7.6 / 0.039, 400 - 7.6 / 0.039]
    )
    costs = [float(row["cost"]) for row in rows]
    assert costs[0] == pytest.approx(costs[1] + costs[2])
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("gap ")
    assert "reached after" in told[0]
    assert told[1:] == [
        f"objective {told[1].split()[1]} everybody's cost {told[1].split()[-1]}",
        f"wrote 3 rows to {path}",
    ]


def test_a_forbidden_turn_leaves_one_way(files, tmp_path, capsys):
    table = tmp_path / "turns.csv"
    table.write_text("from,via,to,kind\n1,3,2,no\n")
    assert main(["assign", *files, "--turns", str(table)]) == 0
    flows = csv.DictReader(capsys.readouterr().out.splitlines())
    assert [float(row["flow"]) for row in flows] == [400, 0, 0]


def test_lengths_and_tolls_may_cost(files, capsys):
    assert main(["assign", *files, "--gap", "1e-9", "--distance", "1", "--toll", "3"]) == 0
    captured = capsys.readouterr()
    flow = [float(row["flow"]) for row in csv.DictReader(captured.out.splitlines())]
    # 18 + 0.015 x = 14 + 0.024 (400 - x)
    assert flow == pytest.approx([5.6 / 0.039, 400 - 5.6 / 0.039, 400 - 5.6 / 0.039])
    assert "wrote 3 rows to stdout" in captured.err


def test_too_few_iterations_are_told_in_the_summary(files, capsys):
    assert main(["assign", *files, "--method", "msa", "--iterations", "2", "--gap", "1e-9"]) == 0
    assert "not yet reached after 2 iterations" in capsys.readouterr().err


def test_ctrl_c_writes_what_there_is(files, capsys, monkeypatch):
    def interrupt(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(assigning, "find_step", interrupt)
    assert main(["assign", *files, "--gap", "1e-9"]) == 130
    captured = capsys.readouterr()
    assert "interrupted after 1 iterations" in captured.err
    assert captured.out.count("\n") == 4


def test_what_is_no_file_is_told_with_where_to_get_it(files, capsys):
    for name, hint in (("none.tntp", ""), ("Anaheim_net.tntp", "sssp fetch Anaheim_net.tntp")):
        with pytest.raises(SystemExit):
            main(["assign", name, files[1]])
        told = capsys.readouterr().err
        assert f"no file '{name}'" in told
        assert hint in told


def test_a_malformed_file_is_told_in_one_line(files, tmp_path, capsys):
    (tmp_path / files[1]).write_text(TRIPS.replace("2 : 400", "3 : 400"))
    assert main(["assign", *files]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "own_trips.tntp:5: destination must be a whole number from 1 to 2" in told
