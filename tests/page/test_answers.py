"""What the map answers, against what the calls of the package say."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.page.answers import UNREACHED, Answers, MapRequest, encode, parse_request
from sssp.apps.page.street_map import StreetMap
from sssp.graph.drawing import flows_on_arcs

GRAPH = sssp.road_like(300, seed=4)
NETWORKS: dict[str, Any] = {"flat": lambda: GRAPH, "prepared": lambda: sssp.prepare(GRAPH)}


@pytest.fixture(scope="module", params=NETWORKS)
def answers(request: pytest.FixtureRequest) -> Answers:
    return Answers(NETWORKS[request.param](), StreetMap(GRAPH))


def decoded(values: np.ndarray[Any, Any], facts: dict[str, Any]) -> np.ndarray[Any, Any]:
    distances = facts["least"] + facts["step"] * values.astype(float)
    return np.where(values == UNREACHED, np.inf, distances)


def assert_right(answers: Answers, question: MapRequest, g: sssp.Graph) -> None:
    answer = answers.distances(question)
    expected = sssp.shortest_paths(g, list(question.sources), nearest=True)
    assert answer.values.dtype == np.uint16
    found = decoded(*answer)
    reached = expected.reached
    assert (np.isfinite(found) == reached).all()
    half = answer.facts["step"] / 2 * (1 + 1e-9)
    assert np.abs(found[reached] - expected.distances[reached]).max() <= half
    assert answer.facts["reached"] == reached.sum()
    assert answer.facts["greatest"] == expected.distances[reached].max()


def test_distances_are_those_of_the_call(answers):
    assert_right(answers, MapRequest((7,)), GRAPH)
    assert_right(answers, MapRequest((7, 100, 250)), GRAPH)


def test_a_closed_street_is_closed_both_ways(answers):
    question = MapRequest((7,), closed=(0, 5, 40))
    arcs = answers.map.arcs[list(question.closed)].ravel()
    assert_right(answers, question, GRAPH.without_arcs(arcs[arcs >= 0]))
    # and the map as it was answers as it did
    assert_right(answers, MapRequest((7,)), GRAPH)


def test_traffic_makes_streets_of_a_class_longer(answers):
    factors = (1.0, 1.5, 2.0, 3.0)
    scaled = np.rint(GRAPH.weights * np.array(factors)[answers.map.arc_class]).astype(int)
    slower = GRAPH.with_weights(scaled)
    assert not np.array_equal(slower.weights, GRAPH.weights)
    question = MapRequest((7,), traffic=factors)
    assert_right(answers, question, slower)
    arcs = answers.map.arcs[9]
    assert_right(answers, replace(question, closed=(9,)), slower.without_arcs(arcs[arcs >= 0]))


@pytest.mark.parametrize("prepare", [lambda t: t, sssp.prepare], ids=["flat", "prepared"])
def test_turns_are_heeded(prepare):
    t = GRAPH.with_turns(u_turns=np.inf, cost=np.arange(pairs_of(GRAPH)) % 900)
    answers = Answers(prepare(t), StreetMap(t))
    arcs = answers.map.arcs[9]
    for question, graph in (
        (MapRequest((7,), 100), t),
        (MapRequest((7, 250), 100, closed=(9,)), t.without_arcs(arcs[arcs >= 0])),
    ):
        assert_right(answers, question, graph)
        route = answers.route(question)
        right = sssp.pairs(graph, route["source"], 100, predecessors=True)
        assert (
            route["distance"]
            == sssp.shortest_paths(graph, question.sources).distances[:, 100].min()
        )
        assert route["vertices"] == right.path(0).tolist()
        assert answers.certificate(question)["vertices"] == GRAPH.n


def pairs_of(g: sssp.Graph) -> int:
    return int(np.diff(g.indptr)[g.indices].sum())


def test_traffic_leaves_closed_arcs_closed():
    closed = GRAPH.without_arcs([0, 1, 2])
    floats = GRAPH.with_weights(GRAPH.weights / 7).without_arcs([0, 1, 2])
    for g in (closed, floats):
        answers = Answers(g, StreetMap(g))
        values, facts = answers.distances(MapRequest((3,), traffic=(2.0, 2.0, 2.0, 2.0)))
        expected = sssp.shortest_paths(g, 3).to_float() * 2
        assert decoded(values, facts) == pytest.approx(expected, abs=facts["step"])


def test_a_route_comes_from_the_nearest_pin(answers):
    trees = sssp.shortest_paths(GRAPH, [7, 100], predecessors=True)
    for target in (30, 200, 299):
        row = int(np.argmin([trees.distance(target, row) for row in range(2)]))
        route = answers.route(MapRequest((7, 100), target))
        assert route["source"] == (7, 100)[row]
        assert route["vertices"] == trees.path(target, row).tolist()
        assert route["distance"] == trees.distance(target, row)
        lengths = answers.map.lengths[trees.path_arcs(target, row)]
        assert route["length"] == pytest.approx(lengths.sum())


def test_where_no_way_leads_there_is_no_route(answers):
    street = int(np.flatnonzero((answers.map.streets == 30).any(axis=1))[0])
    at_vertex = (answers.map.streets == 30).any(axis=1)
    question = MapRequest((7,), 30, closed=tuple(np.flatnonzero(at_vertex).tolist()))
    assert street in question.closed
    assert answers.route(question)["reached"] is False
    answer = answers.distances(question)
    assert answer.values[30] == UNREACHED


def test_colours_by_source_are_positions_of_the_nearest(answers):
    sources = (250, 7, 100)
    answer = answers.distances(MapRequest(sources, by_source=True))
    origin = sssp.shortest_paths(GRAPH, list(sources), nearest=True).origin
    assert np.array_equal(np.array(sources)[answer.values], origin)


def test_a_certificate_counts_what_it_proves(answers):
    proof = answers.certificate(MapRequest((7,)))
    assert proof["vertices"] == GRAPH.n
    assert proof["arcs"] == GRAPH.m
    proof = answers.certificate(MapRequest((7, 9), closed=(0,)))
    assert proof["arcs"] == GRAPH.m - 2


def test_a_wrong_tree_has_no_certificate(answers, monkeypatch):
    right = sssp.shortest_paths(GRAPH, 7, predecessors=True)
    right.distances = right.distances + (np.arange(GRAPH.n) == 9)
    monkeypatch.setattr("sssp.shortest_paths", lambda *a, **k: right)
    with pytest.raises(sssp.VerificationError):
        answers.certificate(MapRequest((7,)))


def test_versions_of_the_map_go_when_there_are_many(answers):
    def alive() -> int:
        gc.collect()
        return sum(type(one) is sssp.Graph for one in gc.get_objects())

    for street in range(20):
        answers.distances(MapRequest((7,), closed=(street,)))
    before = alive()
    for street in range(20, 60):
        answers.distances(MapRequest((7,), closed=(street,)))
    assert alive() <= before + 1


def test_labels_lead_to_vertices_and_back():
    g = sssp.Graph.from_arcs(
        [0, 1], [1, 0], [5, 5], labels=["home", "7"], coordinates=[[0.0, 0.0], [1.0, 0.0]]
    )
    named = Answers(g, StreetMap(g))
    assert named.vertex("7") == 1
    assert named.distances(MapRequest((0,))).facts["labels"] == ["home"]
    numbered = Answers(GRAPH, StreetMap(GRAPH))
    assert numbered.vertex("7") == 7
    for answers, label in ((named, "away"), (numbered, "300"), (numbered, "x"), (numbered, "-1")):
        with pytest.raises(sssp.VertexError):
            answers.vertex(label)


@pytest.mark.parametrize(
    "distances",
    [
        np.array([0, 3, 65_534, np.iinfo(np.int32).max], np.int32),
        np.array([0, 10**12, 7, np.iinfo(np.int64).max], np.int64),
        np.array([0.0, 0.25, 1e9, np.inf]),
        np.array([-5.5, 0.0, 1.0]),
        np.array([-(10**9), 10**9], np.int32),
        np.array([np.inf, np.inf]),
        np.array([4]),
    ],
)
def test_sixteen_bits_hold_a_distance_to_half_a_step(distances):
    values, scale = encode(distances)
    found = decoded(values, scale)
    missing = np.inf if distances.dtype.kind == "f" else np.iinfo(distances.dtype).max
    reached = distances != missing
    assert (np.isfinite(found) == reached).all()
    found, expected = found[reached], distances[reached]
    assert (np.abs(found - expected) <= scale["step"] * 0.500001).all()
    if reached.any():
        span = float(expected.max()) - float(expected.min())
        assert scale["step"] <= max(1.0, span / 65_000)
        assert values[reached].max() < UNREACHED


# -- questions -------------------------------------------------------------------------------

#: vertices and streets
SIZES = 10, 5


def test_a_question_is_read_as_it_is_asked():
    fields = {"sources": [3, 1], "target": 9, "closed": [4, 0, 4], "traffic": [1, 2, 1, 1]}
    expected = MapRequest((3, 1), 9, (0, 4), (1.0, 2.0, 1.0, 1.0))
    assert parse_request(fields, *SIZES) == expected
    # traffic that changes nothing is none
    assert parse_request({"sources": [0], "traffic": [1, 1, 1.0, 1]}, *SIZES).traffic == ()


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"sources": [10]}, sssp.VertexError, "10 is not a vertex: they are 0..9"),
        ({"sources": [-1]}, sssp.VertexError, "is not a vertex"),
        ({"sources": [True]}, sssp.VertexError, "is not a vertex"),
        ({"sources": [1.0]}, sssp.VertexError, "is not a vertex"),
        ({"sources": ["1"]}, sssp.VertexError, "is not a vertex"),
        ({"sources": [None]}, sssp.VertexError, "is not a vertex"),
        ({"sources": [[[[1]]]]}, sssp.VertexError, "is not a vertex"),
        ({"sources": [0], "target": 99}, sssp.VertexError, "99 is not a vertex"),
        ({"sources": [0], "target": "x" * 999}, sssp.VertexError, r'"x{39}\.\.\. is not a vertex'),
        ({}, ValueError, "sources must name a vertex"),
        ({"sources": []}, ValueError, "sources must name a vertex"),
        ({"sources": 7}, ValueError, "sources must be a list"),
        ({"sources": [0] * 1001}, ValueError, "sources may name 1000"),
        ({"sources": [0], "closed": [5]}, ValueError, "5 is not a street: they are 0..4"),
        ({"sources": [0], "closed": list(range(1001))}, ValueError, "closed may name 1000"),
        ({"sources": [0], "traffic": [1, 1]}, ValueError, "4 factors, not 2"),
        ({"sources": [0], "traffic": [1, 1, 1, 0]}, ValueError, "0 is not a factor"),
        ({"sources": [0], "traffic": [1, 1, 1, 1e99]}, ValueError, "is not a factor"),
        ({"sources": [0], "traffic": [1, 1, 1, float("nan")]}, ValueError, "is not a factor"),
        ({"sources": [0], "traffic": [1, 1, 1, True]}, ValueError, "is not a factor"),
        ({"sources": [0], "by_source": 1}, ValueError, "true or false"),
        ({"sources": [0], "limit": 5}, ValueError, "nothing is called 'limit'"),
    ],
)
def test_what_makes_no_question_is_refused(fields, error, message):
    with pytest.raises(error, match=message):
        parse_request(fields, *SIZES)


def test_other_ways_are_alternatives(answers):
    question = MapRequest((7,), target=250, others=True)
    route = answers.route(question)
    ways = sssp.alternatives(GRAPH, 7, 250)
    assert len(ways) > 1
    assert [way["vertices"] for way in route["others"]] == [
        ways.path(i).tolist() for i in range(1, len(ways))
    ]
    assert route["others"][0]["distance"] == ways.distances[1]
    assert route["others"][0]["sharing"] == ways.sharing[1]
    assert answers.route(replace(question, others=False))["others"] == []


def test_areas_are_those_of_the_call(answers):
    geopandas = pytest.importorskip("geopandas")
    limits = (2000.0, 900.5)
    found = answers.areas(MapRequest((7, 100), limits=limits))
    result = sssp.shortest_paths(GRAPH, [7, 100], nearest=True)
    expected = result.isochrone_areas(sorted(limits), width=60)
    areas = geopandas.GeoDataFrame.from_features(found["features"])
    assert areas["limit"].tolist() == sorted(limits)
    shapely = pytest.importorskip("shapely")
    assert shapely.area(areas.geometry.array) == pytest.approx(
        shapely.area(expected.geometry.array)
    )
    with pytest.raises(ValueError, match="must name a limit"):
        answers.areas(MapRequest((7,)))


def test_places_are_found_by_a_part_of_their_name_in_any_case():
    names = ["Old Mill", "Mill", "Town hall", "mill lane"]
    g = sssp.Graph.from_arcs(
        [0, 1, 2], [1, 2, 3], [4, 4, 4], labels=names, coordinates=np.eye(4)[:, :2]
    )
    answers = Answers(g, StreetMap(g))
    for text, vertex in (("Mill", 1), ("mill", 1), ("LANE", 3), ("town", 2), ("old", 0)):
        assert answers.vertex(text) == vertex
    with pytest.raises(sssp.VertexError, match="no vertex has the label 'church'"):
        answers.vertex("church")


def test_flows_are_widths_of_streets():
    street_map = StreetMap(GRAPH)
    flows = np.zeros(GRAPH.m)
    there, back = street_map.arcs[[3, 9]].T
    flows[there], flows[back[0]] = [30, 100], 10
    widths = street_map.arrays(flows)["flows"]
    assert widths[[3, 9]].tolist() == [102, 255]
    assert int(np.count_nonzero(widths)) == 2
    rows = flows_on_arcs(GRAPH, np.arange(GRAPH.input_arcs))
    assert rows.sum() == np.arange(GRAPH.input_arcs).sum()
    assert np.array_equal(rows[GRAPH.row_arc], np.arange(GRAPH.input_arcs))


@pytest.mark.parametrize("limits", [[-1], [float("inf")], ["5"], [True], 5, [1] * 20])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ValueError, match="limits m"):
        parse_request({"sources": [1], "limits": limits}, 10, 10)
