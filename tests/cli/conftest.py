"""Graph files for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import sssp
from sssp.apps.cli import main

#: 1 -> 2 -> 3 -> 4 with a detour 1 -> 3, a parallel arc, a self-loop, and 5, which is not reached
GRAPH = """c a tiny graph
p sp 5 7
a 1 2 10
a 1 2 12
a 2 3 10
a 1 3 25
a 3 4 7
a 5 1 1
a 4 4 3
"""
COORDINATES = """p aux sp co 5
v 1 -74000000 40000000
v 2 -74100000 40100000
v 3 -74200000 40200000
v 4 -74300000 40300000
v 5 -74400000 40400000
"""


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gr"
    path.write_text(GRAPH)
    return str(path)


@pytest.fixture
def coordinates(tmp_path: Path) -> str:
    """Those of `graph`."""
    path = tmp_path / "tiny.co"
    path.write_text(COORDINATES)
    return str(path)


@pytest.fixture
def named(tmp_path: Path) -> str:
    """A graph whose vertices go by strings."""
    path = tmp_path / "named.sssp"
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 2], labels=["home", "work", "caf\xe9"])
    g.save(path)
    return str(path)


def outcome(arguments: list[str]) -> object:
    """Return the exit code, whether the parser or the command ends it."""
    try:
        return main(arguments)
    except SystemExit as stop:
        return stop.code
