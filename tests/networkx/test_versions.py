"""Versions of NetworkX that the backend leaves alone."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from sssp.apps.networkx import backend, choice
from sssp.apps.networkx.choice import FIRST, NETWORKX


def test_older_versions_of_networkx_get_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    call: Any = ("dijkstra_path", (nx.path_graph(3), 0, 1), {})
    assert backend.can_run(*call) is (NETWORKX >= FIRST)
    monkeypatch.setattr(choice, "NETWORKX", (FIRST[0], FIRST[1] - 1))
    # a text would be a yes to the oldest
    assert backend.can_run(*call) is False
