"""Rivals beside ours: libraries where they are installed, programs by stand-ins for them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sssp
from bench.rivals import RIVALS, main
from sssp.loaders import write_gr
from tests.bench.test_bench import grid_file, table_of

#: plain Dijkstra, by which stand-ins answer
SEARCH = """
import heapq, struct, sys
from array import array
from math import inf

def search(n, arcs, source):
    out = [[] for _ in range(n)]
    for tail, head, weight in arcs:
        out[tail].append((head, weight))
    distances, heap = [inf] * n, [(0, source)]
    while heap:
        distance, vertex = heapq.heappop(heap)
        if distance < distances[vertex]:
            distances[vertex] = distance
            for head, weight in out[vertex]:
                heapq.heappush(heap, (distance + weight, head))
    return distances

def rows(ends, heads, weights):
    first = 0
    for tail, end in enumerate(ends):
        for arc in range(first, end):
            yield tail, heads[arc], weights[arc]
        first = end

option = dict(zip(sys.argv[1::2], sys.argv[2::2]))
"""
GAPBS = """
assert sys.argv[-2:] == ["-a", "-v"] and option["-n"] == "1" and int(option["-d"]) > 0
arcs = []
for line in open(option["-f"]):
    if line[0] == "p":
        n = int(line.split()[2])
    if line[0] == "a":
        tail, head, weight = map(int, line.split()[1:])
        arcs.append((tail - 1, head - 1, weight))
found = search(n, arcs, int(option["-r"]))
print("took 7 iterations")
print("Trial Time:          0.00250")
print("SSSP Tree reaches", sum(d < inf for d in found) - LOST, "nodes")
print("Verification:           VERDICT")
print("Verification Time:   0.00010")
"""
ADDS = """
data = open(sys.argv[-1], "rb").read()
version, size, n, m = struct.unpack_from("<4Q", data)
assert (version, size) == (1, 4)
ends = struct.unpack_from(f"<{n}Q", data, 32)
heads = struct.unpack_from(f"<{m}I", data, 32 + 8 * n)
weights = struct.unpack_from(f"<{m}I", data, 32 + 8 * n + 4 * (m + m % 2))
found = search(n, rows(ends, heads, weights), int(option["-s"]))
with open(option["-o"], "w") as file:
    for vertex, distance in enumerate(found):
        file.write(f"{vertex} {'INF' if distance == inf else distance + LOST}\\n")
print("Total time: 2 ms", file=sys.stderr)
print("Total time: 2500000 ns", file=sys.stderr)
"""
ROUTINGKIT = """
def vector(path):
    return array("I", open(path, "rb").read())
first_out, heads, weights, sources, targets = map(vector, sys.argv[1:6])
found = search(len(first_out) - 1, rows(first_out[1:], heads, weights), sources[0])
open(sys.argv[6], "wb").write(array("I", [found[targets[0]] + LOST]).tobytes())
print("Running test requests ... done")
print("max running time : 2500musec")
print("avg running time : 2500musec")
"""
PROGRAMS = {
    "gapbs": ("GAPBS_SSSP", GAPBS),
    "wasp": ("WASP_SSSP", GAPBS),
    "adds": ("ADDS_SSSP", ADDS),
    "routingkit": ("RUN_DIJKSTRA", ROUTINGKIT),
}
#: wasp is asked as gapbs is
LANGUAGES = ("gapbs", "adds", "routingkit")
LIBRARIES = ("networkit", "igraph", "rustworkx")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return what makes a program in a rival's place and names it in the rival's variable."""

    def make(rival: str, code: str) -> None:
        path = tmp_path / f"{rival}.py"
        path.write_text(f"#!{sys.executable} -S\n{SEARCH}{code}")
        path.chmod(0o755)
        monkeypatch.setenv(PROGRAMS[rival][0], str(path))

    return make


def measured(rival: str, graph: Path, capsys: Any, *more: str) -> SimpleNamespace:
    arguments = ["--rivals", rival, "--graph", str(graph), "--trials", "1", *more]
    code = main([*arguments, "--methods", "dijkstra"])
    out = capsys.readouterr().out
    _, scipy, row, ours = table_of(out)
    return SimpleNamespace(code=code, out=out, scipy=scipy, row=row, ours=ours)


def broken_grid(folder: Path) -> Path:
    """Write a grid and a vertex that nothing reaches."""
    tails, heads = [0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]
    path = folder / "broken.gr"
    write_gr(path, 4, tails, heads, [5, 5, 7, 7, 20, 20])
    return path


@pytest.mark.parametrize("rival", LANGUAGES)
def test_a_program_is_timed_by_its_own_clock_and_verified(rival, stand_in, tmp_path, capsys):
    program = PROGRAMS[rival][1].replace("LOST", "0").replace("VERDICT", "PASS")
    stand_in(rival, program)
    for graph in (grid_file(tmp_path, 5), broken_grid(tmp_path)):
        found = measured(rival, graph, capsys, "--source", "1", "--source", "2")
        assert found.code == 0
        assert found.row[0] == RIVALS[rival].name
        assert found.row[6:8] == ["5.00", "5.00"]
        ratio = float(found.scipy[6]) / 5
        assert float(found.row[8]) == pytest.approx(ratio, abs=0.01)
        assert (found.row[-1], found.ours[-1]) == ("yes", "yes")


@pytest.mark.parametrize("rival", PROGRAMS)
def test_a_program_that_finds_something_else_fails(rival, stand_in, tmp_path, capsys):
    program = PROGRAMS[rival][1].replace("LOST", "1").replace("VERDICT", "PASS")
    stand_in(rival, program)
    found = measured(rival, grid_file(tmp_path, 5), capsys)
    assert found.code == 1
    assert found.row[-1] == "NO"
    words = "it reaches 24 vertices, where 25 are" if "GAPBS" in PROGRAMS[rival][0] else "NO: it "
    assert words in found.out


def test_a_program_that_fails_its_own_test_is_believed(stand_in, tmp_path, capsys):
    stand_in("gapbs", GAPBS.replace("LOST", "0").replace("VERDICT", "FAIL"))
    found = measured("gapbs", grid_file(tmp_path, 5), capsys)
    assert (found.code, found.row[-1], found.ours[-1]) == (1, "NO", "yes")
    assert "it fails its own verification" in found.out


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit('no GPU here')", "it ended with code 1: no GPU here"),
        ("print('hello')", "its output has no"),
    ],
)
def test_a_program_that_breaks_off_is_skipped_with_its_words(
    code, reason, stand_in, tmp_path, capsys
):
    stand_in("gapbs", code)
    found = measured("gapbs", grid_file(tmp_path, 5), capsys)
    assert (found.code, found.row[-1], found.ours[-1]) == (0, "skipped", "yes")
    assert f"skipped: {reason}" in found.out


@pytest.mark.parametrize("rival", PROGRAMS)
def test_a_program_that_is_not_here_is_skipped_and_says_where_to_put_it(
    rival, tmp_path, capsys, monkeypatch
):
    variable = PROGRAMS[rival][0]
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    graph = grid_file(tmp_path, 5)
    found = measured(rival, graph, capsys)
    assert (found.code, found.row[-1]) == (0, "skipped")
    assert f"or name it in {variable}" in found.out
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    assert f"{variable} names no program" in measured(rival, graph, capsys).out


@pytest.mark.parametrize("rival", LIBRARIES)
def test_a_library_that_is_not_here_is_skipped_and_says_how_to_get_it(
    rival, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, rival, None)
    found = measured(rival, grid_file(tmp_path, 5), capsys)
    assert (found.code, found.row[-1], found.ours[-1]) == (0, "skipped", "yes")
    assert f"not installed: pip install {rival}" in found.out


@pytest.mark.parametrize("rival", LIBRARIES)
def test_a_library_finds_the_distances_that_we_find(rival, tmp_path, capsys):
    pytest.importorskip(rival)
    for graph in (grid_file(tmp_path, 5), broken_grid(tmp_path)):
        found = measured(rival, graph, capsys, "--source", "1", "--source", "2")
        assert (found.code, found.row[-1], found.ours[-1]) == (0, "yes", "yes")
        assert float(found.row[6]) > 0


def test_fractions_are_too_much_for_programs(stand_in, tmp_path, capsys):
    stand_in("adds", ADDS)
    path = tmp_path / "floats.sssp"
    sssp.Graph.from_arcs([0, 1], [1, 0], np.array([0.5, 1.5])).save(path)
    found = measured("adds", path, capsys)
    assert found.row[-1] == "skipped"
    assert "it takes whole weights" in found.out


def test_an_unknown_rival_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["--rivals", "gapbs,abacus"])
    assert "unknown rival 'abacus'; choose from all, networkit, igraph" in capsys.readouterr().err
