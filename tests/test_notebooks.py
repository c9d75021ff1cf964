"""What notebooks show of graphs and results."""

from __future__ import annotations

import base64
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

import sssp
from sssp import Graph
from sssp.graph import drawing

PNG = b"\x89PNG"


@pytest.fixture
def pyplot() -> Any:
    matplotlib = pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def pictures_of(shown: Any) -> list[bytes]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', shown._repr_html_())
    return [base64.b64decode(one, validate=True) for one in found]


@pytest.fixture(scope="module")
def town() -> Graph:
    return sssp.road_like(60, seed=1)


def test_what_has_coordinates_shows_what_it_prints_and_a_picture(town: Graph, pyplot: Any) -> None:
    for shown in (
        town,
        town.with_weights(np.full(town.m, np.inf)),
        sssp.shortest_paths(town, 3),
        sssp.shortest_paths(town, [3, 4], limit=100, output="sparse"),
        sssp.shortest_paths(town, [3, 4], nearest=True),
        sssp.pairs(town, [3, 4], [9, 9], predecessors=True),
        sssp.nearest(town, [3, 4], k=2),
        sssp.nearest(town, []),
    ):
        (picture,) = pictures_of(shown)
        assert picture.startswith(PNG)
        assert unescape(shown._repr_html_()).count(repr(shown)) == 1
    # or the notebook would show it a second time
    assert pyplot.get_fignums() == []


def test_pictures_of_different_results_differ(town: Graph, pyplot: Any) -> None:
    pictures = {pictures_of(sssp.shortest_paths(town, source))[0] for source in (0, 30)}
    assert len(pictures) == 2


def test_what_cannot_be_drawn_shows_what_it_prints(
    town: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    arcs = town.tails, town.indices, town.weights
    metres = np.arange(2.0 * town.n).reshape(-1, 2) * 1000
    plain, projected = Graph.from_arcs(*arcs), Graph.from_arcs(*arcs, coordinates=metres)
    nothing: list[Any] = [
        plain,
        projected,
        Graph.from_arcs([], [], [], n=0, coordinates=np.empty((0, 2))),
        sssp.shortest_paths(plain, 0),
        sssp.shortest_paths(town, 0, targets=[1, 2]),
        sssp.shortest_paths(town, []),
        sssp.pairs(town, 0, 1),
        sssp.pairs(town, [], [], predecessors=True),
    ]
    for shown in nothing:
        assert pictures_of(shown) == []
    assert "&lt;ShortestPaths from vertex 0" in nothing[3]._repr_html_()
    monkeypatch.setattr(drawing, "MOST_ARCS", town.m - 1)
    assert pictures_of(town) == []


def test_without_matplotlib_there_is_no_picture(
    town: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    assert pictures_of(town) == []
