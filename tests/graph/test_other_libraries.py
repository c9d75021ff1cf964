"""Graphs of other libraries, as the documentation brings them in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import sssp
from tests.test_graph import weight_of

ARCS = [(0, 1, 3), (1, 2, 4), (2, 0, 5), (1, 2, 2)]
BOTH_WAYS = {(0, 1): 3, (1, 0): 3, (1, 2): 2, (2, 1): 2, (2, 0): 5, (0, 2): 5}


def of_igraph(igraph: Any, directed: bool) -> Any:
    G = igraph.Graph(4, [arc[:2] for arc in ARCS], directed)
    G.es["weight"] = [weight for *_, weight in ARCS]
    return G


def of_rustworkx(rustworkx: Any, directed: bool) -> Any:
    G = rustworkx.PyDiGraph() if directed else rustworkx.PyGraph()
    G.add_nodes_from(["a", "b", "c", "gone", "d"])
    G.add_edges_from(ARCS)
    G.remove_node(3)
    return G


def of_networkit(networkit: Any, directed: bool) -> Any:
    G = networkit.Graph(4, weighted=True, directed=directed)
    for arc in ARCS:
        G.addEdge(*arc)
    return G


@pytest.mark.filterwarnings("default")  # theirs
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("made", [of_igraph, of_rustworkx, of_networkit])
def test_the_two_lines_of_the_documentation_make_the_graph(
    made: Callable[[Any, bool], Any], directed: bool
) -> None:
    name = made.__name__.removeprefix("of_")
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    text = inspect.getdoc(sssp.Graph.from_arcs) or ""
    found = re.search(rf"^    # {name}.*\n((?:    .+\n)+)", text, re.MULTILINE)
    assert found is not None
    lines = inspect.cleandoc(found[1])
    assert lines.count("\n") == 1, "two lines"
    scope = {"G": made(library, directed), "sssp": sssp, "numpy": numpy, name: library}
    exec(lines, scope)
    g: Any = scope["g"]
    assert weight_of(g) == ({arc[:2]: arc[2] for arc in ARCS} if directed else BOTH_WAYS)
    assert g.n == (5 if made is of_rustworkx else 4)
    if made is of_networkit:
        assert g.scaled(1).weights.dtype == numpy.int32


# -- OSMnx -------------------------------------------------------------------------------------

STREETS = """<?xml version="1.0" encoding="UTF-8"?>
<osm version="0.6">
<node id="101" lat="52.0" lon="4.0"/>
<node id="102" lat="52.001" lon="4.0"/>
<node id="103" lat="52.002" lon="4.001"/>
<node id="104" lat="52.001" lon="4.002"/>
<node id="105" lat="52.0005" lon="4.0012"/>
<way id="1"><nd ref="101"/><nd ref="102"/><nd ref="103"/>
    <tag k="highway" v="residential"/><tag k="name" v="Mill Lane"/></way>
<way id="2"><nd ref="103"/><nd ref="104"/>
    <tag k="highway" v="primary"/><tag k="oneway" v="yes"/><tag k="maxspeed" v="50"/></way>
<way id="3"><nd ref="101"/><nd ref="105"/><nd ref="104"/><tag k="highway" v="residential"/></way>
<way id="4"><nd ref="104"/><nd ref="101"/><tag k="highway" v="residential"/></way>
</osm>
"""


@pytest.fixture
def osmnx() -> Any:
    return pytest.importorskip("osmnx", reason="OSMnx is not installed")


@pytest.fixture
def streets(osmnx: Any, tmp_path: Path) -> Any:
    """Three crossings, two streets between two of them, and one way back that is closed."""
    path = tmp_path / "streets.osm"
    path.write_text(STREETS, encoding="utf-8")
    G = osmnx.graph_from_xml(path, retain_all=True)
    return osmnx.add_edge_travel_times(osmnx.add_edge_speeds(G, fallback=30))


@pytest.mark.filterwarnings("default")  # theirs
@pytest.mark.parametrize("weight", ["length", "travel_time"])
def test_a_graph_of_osmnx_comes_in_with_all_that_it_has(streets: Any, weight: str) -> None:
    g = sssp.Graph.from_networkx(streets, weight=weight)
    assert g.labels is not None
    assert sorted(g.labels.tolist()) == [101, 103, 104]
    assert (g.m, g.parallel_arcs) == (5, 2)
    assert g.coordinates is not None
    assert g.coordinates[g.vertex(103)].tolist() == [4.001, 52.002]
    assert g.nearest_vertex(4.0011, 52.0019) == g.vertex(103)
    r = sssp.shortest_paths(g, g.vertex(103), predecessors=True)
    edges = list(streets.edges(keys=True))
    way = [edges[row] for row in g.arc_origin[r.path_arcs(g.vertex(101))]]
    direct = streets.edges[103, 101, 0][weight]
    past = [
        (103, 104, 0),
        min((e for e in edges if e[:2] == (104, 101)), key=lambda e: streets.edges[e][weight]),
    ]
    around = sum(streets.edges[edge][weight] for edge in past)
    assert way == ([(103, 101, 0)] if direct < around else past)
    assert r.distance(g.vertex(101)) == min(direct, around)


@pytest.mark.filterwarnings("default")  # theirs
def test_frames_of_osmnx_make_the_same_graph(osmnx: Any, streets: Any) -> None:
    nodes, edges = osmnx.graph_to_gdfs(streets)
    g = sssp.Graph.from_dataframe(edges, weight="length", nodes=nodes)
    other = sssp.Graph.from_networkx(streets, weight="length")
    assert g.labels is not None
    assert other.labels is not None
    assert g.labels.tolist() == other.labels.tolist()
    assert weight_of(g) == weight_of(other)
    numpy.testing.assert_array_equal(g.coordinates, other.coordinates)


def test_a_projected_graph_of_osmnx_warns_once(osmnx: Any, streets: Any) -> None:
    projected = osmnx.project_graph(streets)
    with pytest.warns(UserWarning, match="projected") as caught:
        g = sssp.Graph.from_networkx(projected, weight="length")
    assert len(caught) == 1
    assert g.coordinates is None
    other = sssp.Graph.from_networkx(streets, weight="length")
    assert g.arc(g.vertex(103), g.vertex(104)) >= 0
    assert sorted(g.weights) == sorted(other.weights)
