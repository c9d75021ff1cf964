"""What a test of the backend needs of its environment."""

from __future__ import annotations

from importlib.metadata import entry_points

import networkx as nx
import pytest

from sssp.apps.networkx.choice import FIRST, NETWORKX

__all__ = ["needs_backend"]


def _what_is_missing() -> str:
    if not entry_points(group="networkx.backends", name="sssp"):
        return "the entry points of the backend are not installed: install the package again"
    if NETWORKX < FIRST:
        return f"the backend declines NetworkX {nx.__version__}"
    return ""


needs_backend = pytest.mark.skipif(bool(_what_is_missing()), reason=_what_is_missing())
