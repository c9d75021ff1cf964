from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import sssp
from sssp.errors import GraphFormatError, MissingExtraError
from sssp.loaders import read_osm as read_roads
from sssp.loaders import write_arrays
from tests.osm_files import Way, as_xml, ban, find_extract, grid, write_osm

TEXTS = ("name", "highway")


@pytest.fixture
def town(tmp_path):
    """A block of streets of which the one in the middle has a name, with a forbidden turn."""
    ways = [Way(1, [1, 2]), Way(8, [2, 3])]
    ways += [Way(2, [4, 5, 6], {"highway": "primary", "name": "Große Straße"})]
    ways += [Way(3 + column, [column, column + 3, column + 6]) for column in (1, 2, 3)]
    ways += [Way(7, [7, 8, 9])]
    return write_osm(tmp_path / "town.osm.pbf", grid(3, 3), ways, [ban(9, 1, 2, 5, "no_left_turn")])


def test_a_file_becomes_a_graph_of_ids(town):
    g, roads = sssp.read_osm(town), read_roads(town)
    assert g.labels is not None
    assert g.labels.tolist() == roads.ids.tolist() == [*range(1, 10)]
    assert (g.m, g.input_arcs) == (roads.tails.size,) * 2
    np.testing.assert_array_equal(g.tails, roads.tails[g.arc_origin])
    np.testing.assert_array_equal(g.weights, roads.seconds[g.arc_origin])
    np.testing.assert_array_equal(g.coordinates, roads.coordinates)
    assert g.input["name"][g.arc_origin[g.arc(g.vertex(4), g.vertex(5))]] == "Große Straße"
    metres = sssp.read_osm(town, weight="metres")
    np.testing.assert_array_equal(metres.weights, metres.input["length"][metres.arc_origin])
    assert metres.about["weight"] == "metres"
    r = sssp.shortest_paths(metres, metres.vertex(1), predecessors=True)
    assert list(r.path_labels(metres.vertex(3))) == [1, 2, 3]


def test_forbidden_turns_are_obeyed(tmp_path):
    ways = [Way(1, [1, 2]), Way(2, [2, 3]), Way(3, [2, 5]), Way(4, [3, 6, 5])]
    path = write_osm(tmp_path / "x.osm", grid(3, 2), ways, [ban(9, 1, 2, 3, "no_left_turn")])
    g = sssp.read_osm(path, weight="metres")
    free = sssp.read_osm(path, weight="metres", turns=False)
    assert free.turns is None
    assert g.turns is not None
    assert (g.turns.rows, g.turns.unmet) == (1, 0)
    assert same_input(g, free)
    start, end = g.vertices([1, 5])
    straight, around = (sssp.pairs(x, start, end, predecessors=True) for x in (free, g))
    assert list(straight.path_labels(0)) == [1, 2, 5]
    assert list(around.path_labels(0)) == [1, 2, 3, 5]
    length = g.input["length"][g.arc_origin[around.path_arcs(0)]].sum()
    assert around.distances[0] == pytest.approx(length)
    assert sssp.pairs(sssp.prepare(g), start, end).distances[0] == pytest.approx(length)
    g.save(tmp_path / "x.sssp")
    assert sssp.pairs(sssp.read_graph(tmp_path / "x.sssp"), start, end).distances == length


def test_a_turn_over_ways_is_forbidden_as_a_whole(tmp_path):
    # from 7 over 4, 5, 6 to 9: not in one go, but by 3
    ways = [Way(1, [7, 4]), Way(2, [4, 5, 6]), Way(3, [6, 9]), Way(4, [6, 3])]
    oneway = {"highway": "residential", "oneway": "yes"}
    ways = [way._replace(tags=oneway) if way.id < 4 else way for way in ways]
    path = write_osm(tmp_path / "x.osm", grid(3, 3), ways, [ban(8, 1, [2], 3, "no_u_turn")])
    g = sssp.read_osm(path, weight="metres")
    trips = sssp.pairs(g, g.vertices([7, 4]), g.vertices([9, 9]), predecessors=True)
    assert [list(trips.path_labels(i)) for i in (0, 1)] == [[7, 4, 6, 3, 6, 9], [4, 6, 9]]


def same_input(g: sssp.Graph, other: sssp.Graph) -> bool:
    assert g.about == other.about
    return g.input.keys() == other.input.keys() and all(
        np.array_equal(column, other.input[name]) and column.dtype == other.input[name].dtype
        for name, column in g.input.items()
    )


def test_what_the_input_says_is_kept(town, tmp_path):
    g = sssp.read_osm(town, shapes=True)
    assert {"way", "length", "speed", "shape_offsets", "shape_points", *TEXTS} == g.input.keys()
    assert all(g.input[name].dtype == object for name in TEXTS)
    for other in (
        g.with_weights(g.weights * 2),
        g.without_arcs([0]),
        g.reverse(),
        g.largest_component(),
        pickle.loads(pickle.dumps(g)),
    ):
        assert same_input(g, other)
    g.save(tmp_path / "town.sssp")
    assert same_input(g, sssp.read_graph(tmp_path / "town.sssp"))
    with pytest.raises(TypeError):
        g.input["name"] = g.input["way"]  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        g.input["length"][0] = 1
    sssp.prepare(g).save(tmp_path / "town.ch.sssp")
    assert same_input(g, sssp.read_hierarchy(tmp_path / "town.ch.sssp").graph)
    assert dict(sssp.Graph.from_arcs([0], [1], [1]).input) == {}


def test_a_forged_column_of_texts_is_refused(town, tmp_path):
    from sssp.graph.graph_file import pack

    meta, arrays = pack(sssp.read_osm(town)._fields())
    for change in (
        {"input:name": arrays["input:name"] + 1},
        {"input:name": arrays["input:name"] - 1},
        {"input:name": arrays["input:name"].astype(np.float64)},
    ):
        write_arrays(tmp_path / "forged.sssp", meta, arrays | change)
        with pytest.raises(GraphFormatError, match="column 'name' has bad text numbers"):
            sssp.read_graph(tmp_path / "forged.sssp")
    write_arrays(tmp_path / "forged.sssp", meta | {"about": 7}, arrays)
    with pytest.raises(GraphFormatError, match="about is not a dictionary"):
        sssp.read_graph(tmp_path / "forged.sssp")


def test_read_graph_knows_such_files(town, tmp_path):
    g = sssp.read_osm(town)
    for path in (town, as_xml(town, tmp_path)):
        other = sssp.read_graph(path)
        assert same_input(g, other)
        np.testing.assert_array_equal(g.weights, other.weights)
    with pytest.raises(ValueError, match="has coordinates of its own"):
        sssp.read_graph(town, coordinates=town)
    with pytest.raises(GraphFormatError, match=r"an OpenStreetMap file \(sssp\.read_osm"):
        sssp.loaders.read_gr(town)


def test_an_area_is_a_box_or_a_polygon(town):
    pytest.importorskip("shapely")
    west = sssp.read_osm(town, box=(8.4, 47.0, 8.5015, 48))
    assert west.labels is not None
    assert west.labels.tolist() == [1, 2, 4, 5, 7, 8]
    ring = [(8.4, 47.0), (8.5015, 47.0), (8.5015, 48.0), (8.4, 48.0)]
    assert same_input(west, sssp.read_osm(town, polygon=ring))
    for bad in ((1, 2, 3), (2, 0, 1, 1), (0, 1, 1, np.nan)):
        with pytest.raises(ValueError, match=r"box must be \(west, south, east, north\)"):
            sssp.read_osm(town, box=bad)
    with pytest.raises(ValueError, match="not both"):
        sssp.read_osm(town, box=(0, 0, 1, 1), polygon=ring)
    with pytest.raises(ValueError, match="weight must be 'seconds' or 'metres', not 'miles'"):
        sssp.read_osm(town, weight="miles")  # type: ignore[arg-type]


def test_without_osmium_the_extra_is_named(town, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "osmium", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sssp\[osm\]"'):
        sssp.read_osm(town)


# -- real extracts ---------------------------------------------------------------------------------


def test_the_figures_of_porto():
    g = sssp.read_osm(find_extract("porto.osm.pbf"))
    assert (g.n, g.input_arcs) == (64_353, 149_180)
    assert g.about["restrictions"] == 335
    left = sum(n for reason, (n, _) in g.about["left_out"].items() if "restrictions" in reason)
    assert g.about["restrictions"] + left == 357
    assert g.largest_component().n > 0.9 * g.n


def test_arcs_and_lengths_are_those_of_osmnx(tmp_path, monkeypatch):
    """But for streets that are cut in their middle, and circles that are where they begin."""
    osmnx = pytest.importorskip("osmnx")
    monkeypatch.setattr(sssp.Profile, "closes_node", lambda profile, tags: False)
    car = dataclasses.replace(sssp.loaders.PROFILES["car"], closed=())
    path = find_extract("cathedral.osm.pbf")
    g = sssp.read_osm(path, car, "metres", box=(-77.09, 38.92, -77.07, 38.94))
    assert g.labels is not None
    ways = set(g.input["way"].tolist())
    G = osmnx.graph_from_xml(as_xml(path, tmp_path, ways), simplify=False, retain_all=True)
    G = osmnx.simplify_graph(G, edge_attrs_differ=["osmid"])
    theirs: dict[tuple[int, int, int], list[float]] = {}
    for tail, head, edge in G.edges(data=True):
        theirs.setdefault((tail, head, edge["osmid"]), []).append(edge["length"])
    ends = g.labels[g.tails[g.row_arc]], g.labels[g.indices[g.row_arc]]
    columns = (*ends, g.input["way"], g.input["length"])
    ours = {arc[:3]: arc[3] for arc in zip(*(column.tolist() for column in columns), strict=True)}
    inside = {arc: length for arc, length in ours.items() if {*arc[:2]} <= set(G)}
    assert len(inside) > 800
    assert inside == pytest.approx({arc: min(theirs[arc]) for arc in inside}, rel=1e-6)
    # theirs beyond are of ways that ours cuts once more, or lead out of the box
    cut = {way for _, _, way in ours.keys() - inside.keys()}
    beyond = {arc for arc in theirs.keys() - ours.keys() if {*arc[:2]} <= set(g.labels.tolist())}
    assert {way for _, _, way in beyond} <= cut
    assert len(beyond) < 0.15 * len(ours)
