"""``sssp serve``: what it serves, and what it refuses before it does."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import sssp
from sssp.apps.cli import main
from sssp.apps.page.answers import MapRequest
from sssp.apps.page.server import PageServer
from tests.cli.conftest import outcome
from tests.patience import PATIENCE


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would be served: the head of the map and an answer; the command ends at once."""
    found: list[dict[str, Any]] = []

    def note(self: PageServer) -> None:
        content, _ = self.files["/map"]
        length = int.from_bytes(content[:4], "little")
        head = json.loads(content[4 : 4 + length])
        route = self.answers.route(MapRequest((0,), 3))
        facts = self.answers.distances(MapRequest((0,))).facts
        found.append({**head, "route": route, "method": facts["method"], "at": self.address})

    monkeypatch.setattr(PageServer, "serve_forever", note)
    return found


def test_a_graph_is_served_with_its_units(graph, coordinates, served, capsys):
    files = [graph, "--coordinates", coordinates, "--distances", graph]
    units = ["--unit", "min=60", "--distance-unit", "km=1000", "--port", "0"]
    assert main(["serve", *files, *units]) == 0
    (page,) = served
    assert page["unit"] == {"name": "min", "size": 60.0}
    assert page["length"] == {"name": "km", "size": 1000.0, "straight": False}
    assert page["prepared"] is False
    assert page["route"]["distance"] == page["route"]["length"] == 27
    assert page["route"]["labels"] == ["1", "4"]
    out = capsys.readouterr().out
    assert out == f"tiny: {page['at']}  (Ctrl-C ends)\n"
    assert page["at"].startswith("http://127.0.0.1:")


def test_routes_heed_the_turns_of_a_file(graph, coordinates, tmp_path, served):
    table = tmp_path / "turns.csv"
    table.write_text("from,via,to,kind\n1,2,3,no\n")
    words = ["serve", graph, "--coordinates", coordinates, "--turns", str(table), "--port", "0"]
    for more in ([], ["--prepare"]):
        assert main([*words, *more]) == 0
    assert [page["route"]["distance"] for page in served] == [32, 32]


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_who_opens_it_to_others_is_told(graph, coordinates, served, capsys, host, warned):
    assert main(["serve", graph, "--coordinates", coordinates, "--port", "0", "--host", host]) == 0
    assert ("no password" in capsys.readouterr().err) == warned


def test_prepared_maps_are_known_and_made(tmp_path, served):
    g = sssp.road_like(300, seed=4)
    flat, prepared = str(tmp_path / "flat.sssp"), str(tmp_path / "prepared.sssp")
    g.save(flat)
    sssp.prepare(g).save(prepared)
    for arguments in ([flat], [prepared], [flat, "--prepare"]):
        assert main(["serve", *arguments, "--port", "0"]) == 0
    assert [page["prepared"] for page in served] == [False, True, True]
    assert [page["method"] == "sweep" for page in served] == [False, True, True]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "name its .co file with --coordinates"),
        (["--unit", "min=0"], "is not NAME=N"),
        (["--unit", "=3"], "is not NAME=N"),
        (["--distance-unit", "km=3"], "needs --distances"),
        (["--port", "65536"], "not a port"),
        (["--device", "abacus"], "abacus"),
        (["--host", "192.0.2.1"], "192.0.2.1"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    graph, coordinates, more, message, served, capsys
):
    places = ["--coordinates", coordinates] if more else []
    assert outcome(["serve", graph, *places, "--port", "0", *more]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert served == []


def test_lengths_of_other_arcs_are_refused(graph, coordinates, tmp_path, served, capsys):
    other = tmp_path / "other.gr"
    other.write_text("p sp 5 1\na 1 2 3\n")
    files = [graph, "--coordinates", coordinates, "--distances", str(other)]
    assert main(["serve", *files, "--port", "0"]) == 2
    assert "its arcs are not those" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(graph, coordinates, served, capsys):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", graph, "--coordinates", coordinates, "--port", port]) == 2
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it(graph: str, coordinates: str, sent: signal.Signals, code: int) -> None:
    command = [sys.executable, "-m", "sssp", "serve", graph, "--coordinates", coordinates]
    with subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(sssp.__file__).parents[1],
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("tiny: http://127.0.0.1:")
        with urllib.request.urlopen(line.split()[1], timeout=PATIENCE) as page:
            assert b"<canvas" in page.read()
        process.send_signal(sent)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (code, "")
    assert err == ("sssp: interrupted\n" if code else "")
