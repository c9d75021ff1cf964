"""Graphs as frames of lines, and back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.graph.graph import Graph
from tests.test_graph import weight_of

PLACES = [[4.0, 52.0], [4.1, 52.0], [4.2, 52.1]]


@pytest.fixture
def geopandas() -> Any:
    return pytest.importorskip("geopandas", reason="GeoPandas is not installed")


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
def test_arcs_are_lines(geopandas: Any, labels: Any) -> None:
    g = Graph.from_arcs([2, 0, 0, 1], [0, 2, 1, 0], [3, 1, 4, 9], 3, True, PLACES, labels)
    table = g.without_arcs(g.arc(0, 1)).to_geodataframe()
    assert list(table) == ["arc", "tail", "head", "weight", "geometry"]
    assert isinstance(table, geopandas.GeoDataFrame)
    assert table.crs.to_epsg() == 4326
    assert table["arc"].tolist() == [1, 2, 3], "a closed arc is not in it"
    assert table["weight"].tolist() == g.weights[table["arc"]].tolist() == [1, 9, 3]
    names = labels or [0, 1, 2]
    assert table["tail"].tolist() == [names[0], names[1], names[2]]
    assert table["head"].tolist() == [names[2], names[0], names[0]]
    assert [list(line.coords) for line in table.geometry] == [
        [(4.0, 52.0), (4.2, 52.1)],
        [(4.1, 52.0), (4.0, 52.0)],
        [(4.2, 52.1), (4.0, 52.0)],
    ]
    back = Graph.from_dataframe(table, "tail", "head", "weight")
    assert back.m == 3


def test_an_edge_of_an_undirected_graph_is_one_line(geopandas: Any) -> None:
    g = Graph.from_arcs([2, 0, 1], [0, 1, 0], [3, 1, 4], 3, False, PLACES, [30, 10, 20])
    table = g.to_geodataframe()
    assert table[["tail", "head", "weight"]].to_numpy().tolist() == [[30, 10, 1], [30, 20, 3]]
    assert g.arc_origin[table["arc"]].tolist() == [1, 0]
    back = Graph.from_dataframe(table, "tail", "head", "weight", directed=False)
    assert weight_of(back) == weight_of(g)


def test_flows_stand_beside_their_lines(geopandas: Any) -> None:
    g = Graph.from_arcs([0, 1, 0], [1, 2, 1], [9, 1, 4], 3, False, PLACES)
    r = sssp.shortest_paths(g, [0, 2], targets=1, predecessors=True)
    flows = r.load([5, 7])
    table = g.to_geodataframe()
    table["flow"] = flows[g.arc_origin[table["arc"]]]
    assert table["flow"].tolist() == [5, 7]


def test_empty_graphs_have_no_lines(geopandas: Any) -> None:
    for n in (0, 2):
        g = Graph.from_arcs([], [], [], coordinates=np.zeros((n, 2)))
        assert list(g.to_geodataframe()) == ["arc", "tail", "head", "weight", "geometry"]
        assert len(g.to_geodataframe()) == 0


def test_a_graph_without_degrees_has_no_lines(geopandas: Any) -> None:
    with pytest.raises(ValueError, match="no coordinates"):
        Graph.from_arcs([0], [1], [1]).to_geodataframe()
    with pytest.raises(ValueError, match="no degrees"):
        Graph.from_arcs([0], [1], [1], coordinates=[[1e6, 1e6], [2e6, 1e6]]).to_geodataframe()


def test_without_geopandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(sssp.MissingExtraError, match=r'pip install "sssp\[geo\]"'):
        Graph.from_arcs([0], [1], [1]).to_geodataframe()
