"""Graph files for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

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


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gr"
    path.write_text(GRAPH)
    return str(path)
