"""`verify` accepts what is right, and nothing else."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sssp
from tests import naive
from tests.strategies import (
    DYADIC,
    ODDITIES,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
)

UNREACHED = np.iinfo(np.int32).max


def altered(result: sssp.ShortestPaths, **parts: Any) -> sssp.ShortestPaths:
    """Return a copy of `result` with other arrays in it."""
    forged = copy.copy(result)
    for name, part in parts.items():
        setattr(forged, name, np.asarray(part))
    return forged


def changed(array: Any, index: Any, value: Any) -> Any:
    """Return a copy of `array` with one entry replaced."""
    forged = array.copy()
    forged[index] = value
    return forged


@pytest.fixture
def ladder() -> sssp.Graph:
    """Two ways from 0 to 3, of lengths 4 and 4, a longer arc, and a vertex apart."""
    return sssp.Graph.from_arcs([0, 0, 1, 2, 0], [1, 2, 3, 3, 3], [1, 2, 3, 2, 9], n=5)


@pytest.fixture
def answer(ladder: sssp.Graph) -> sssp.ShortestPaths:
    return sssp.shortest_paths(ladder, 0, predecessors=True)


# -- any change is noticed ---------------------------------------------------------------------


@st.composite
def answers(draw: st.DrawFn) -> tuple[sssp.Graph, sssp.ShortestPaths]:
    """Draw a right answer, in any form that the certificate has to deal with."""
    network = draw(
        networks(SMALL_INTEGERS, least_n=1) | networks(DYADIC, least_n=1) | negative_networks()
    )
    assume(network.n > 0)
    g = graph_of(network)
    vertices = st.lists(st.integers(0, g.n - 1), min_size=1, max_size=3)
    try:
        result = sssp.shortest_paths(
            g,
            draw(vertices),
            targets=draw(st.none() | vertices),
            nearest=draw(st.booleans()),
            limit=draw(st.none() | st.integers(0, 12)),
            method=draw(st.sampled_from(["bellman-ford", "breadth-first"])),
            predecessors=draw(st.booleans()),
        )
    except sssp.NegativeCycleError:
        assume(False)
    return g, result


@settings(max_examples=200)
@given(answer=answers(), data=st.data())
def test_any_other_distance_is_refused(
    answer: tuple[sssp.Graph, sssp.ShortestPaths], data: st.DataObject
) -> None:
    g, result = answer
    distances = result.distances
    place = data.draw(st.integers(0, distances.size - 1))
    unreached = np.inf if distances.dtype.kind == "f" else np.iinfo(distances.dtype).max
    known = sorted(set(distances.ravel().tolist()) | {unreached, 0})
    value = data.draw(st.sampled_from(known) | st.integers(-20, 20))
    forged = distances.copy()
    forged.flat[place] = value
    assume(forged.flat[place] != distances.flat[place])
    sssp.verify(g, result)
    with pytest.raises(sssp.VerificationError, match=r"^row "):
        sssp.verify(g, altered(result, distances=forged))


@settings(max_examples=200)
@given(network=networks(st.integers(0, 2), least_n=2), data=st.data())
def test_other_predecessors_are_accepted_only_if_they_are_a_shortest_path_tree(
    network: naive.Network, data: st.DataObject
) -> None:
    g = graph_of(network)
    result = sssp.shortest_paths(g, 0, predecessors=True)
    vertex = st.integers(0, g.n - 1)
    forged = result.predecessors
    for _ in range(data.draw(st.integers(1, 2))):
        forged = changed(forged, data.draw(vertex), data.draw(vertex | st.just(-1)))
    if is_shortest_path_tree(network, forged.tolist()):
        sssp.verify(g, altered(result, predecessors=forged))
    else:
        with pytest.raises(sssp.VerificationError, match=r"^row 0, source 0: "):
            sssp.verify(g, altered(result, predecessors=forged))


def is_shortest_path_tree(network: naive.Network, predecessors: list[int]) -> bool:
    """Walk back from every vertex and compare the length of the way."""
    lengths = network.lengths()
    distances = naive.distances(lengths, [0])
    for v, tail in enumerate(predecessors):
        if (v == 0 or v not in distances) != (tail == -1):
            return False
    for v in distances:
        way = [v]
        while predecessors[way[-1]] != -1:
            way.append(predecessors[way[-1]])
            if len(way) > network.n or (way[-1], way[-2]) not in lengths:
                return False
        if sum(lengths[way[i + 1], way[i]] for i in range(len(way) - 1)) != distances[v]:
            return False
    return True


@settings(max_examples=100)
@given(network=networks(st.integers(0, 2), least_n=3), data=st.data())
def test_any_other_origin_is_refused(network: naive.Network, data: st.DataObject) -> None:
    g = graph_of(network)
    result = sssp.shortest_paths(g, [2, 0, 1], nearest=True)
    v, origin = data.draw(st.integers(0, g.n - 1)), data.draw(st.integers(-1, 2))
    assert result.origin is not None
    assume(result.origin[v] != origin)
    sssp.verify(g, result)
    with pytest.raises(sssp.VerificationError, match="nearest of 3 sources"):
        sssp.verify(g, altered(result, origin=changed(result.origin, v, origin)))


# -- what the message says ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vertex", "distance", "message"),
    [
        (3, 5, "row 0, source 0: arc 3 goes from vertex 1 at distance 1 to vertex 3 at "
               "distance 5 with weight 3|arc 4 goes from vertex 2 .* too great"),
        (3, 3, "vertex 3 is given the distance 3, but .* predecessor 1 is not tight"),
        (3, UNREACHED, "to vertex 3 at distance unreached .* too great|unreached vertex 3 with"),
        (4, 7, "vertex 4 is given the distance 7, but its predecessor is -1, and no arc"),
        (0, 1, "source 0 is at distance 1, not 0"),
        (0, UNREACHED, "source 0 .*unreached|unreached vertex 0"),
        (0, -1, "source 0 is at distance -1, not 0"),
    ],
)  # fmt: skip
def test_the_message_names_the_vertex_or_arc_and_the_numbers(
    ladder: sssp.Graph, answer: sssp.ShortestPaths, vertex: int, distance: int, message: str
) -> None:
    forged = altered(answer, distances=changed(answer.distances, vertex, distance))
    with pytest.raises(sssp.VerificationError, match=message):
        sssp.verify(ladder, forged)


@pytest.mark.parametrize(
    ("predecessors", "message"),
    [
        ([-1, 0, 0, 0, -1], "vertex 3 .* predecessor 0 is not tight.* with weight 9"),
        ([-1, 0, 0, 4, -1], "vertex 3 .* its predecessor is 4, .* no arc"),
        ([-1, 0, 0, 99, -1], "vertex 3 .* its predecessor is 99"),
        ([-1, 0, 0, -1, -1], "vertex 3 .* its predecessor is -1"),
        ([-1, 0, 0, 1, 2], "unreached vertex 4 with predecessor 2"),
        ([2, 0, 0, 1, -1], "source 0 with predecessor 2"),
    ],
)
def test_the_message_names_the_wrong_predecessor(
    ladder: sssp.Graph, answer: sssp.ShortestPaths, predecessors: list[int], message: str
) -> None:
    with pytest.raises(sssp.VerificationError, match=message):
        sssp.verify(ladder, altered(answer, predecessors=np.array(predecessors, np.int32)))


def test_the_message_names_the_row(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, [0, 1, 2])
    forged = altered(r, distances=changed(r.distances, (2, 3), 1))
    with pytest.raises(sssp.VerificationError, match="row 2, source 2: vertex 3"):
        sssp.verify(ladder, forged)


def test_the_message_names_the_target(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, [1, 0], targets=[4, 3])
    forged = altered(r, distances=changed(r.distances, (1, 1), 5))
    with pytest.raises(sssp.VerificationError, match=r"row 1, .*target 3 .* 5; it is 4"):
        sssp.verify(ladder, forged)
    forged = altered(r, distances=changed(r.distances, (0, 0), 5))
    with pytest.raises(sssp.VerificationError, match=r"row 0, .*target 4 .* 5; it is unreached"):
        sssp.verify(ladder, forged)


# -- what makes a weaker certificate fail ------------------------------------------------------


def test_a_zero_weight_cycle_certifies_nothing() -> None:
    g = graph_of(ODDITIES["zero-weight cycle out of reach"])
    r = sssp.shortest_paths(g, 0, predecessors=True)
    forged = altered(r, distances=[0, 1, 7, 7])
    forged.predecessors = None
    with pytest.raises(sssp.VerificationError, match="vertex 2 is given the distance 7"):
        sssp.verify(g, forged)
    forged.predecessors = np.array([-1, 0, 3, 2], np.int32)
    with pytest.raises(sssp.VerificationError, match=r"predecessor 3 .* leads round a cycle"):
        sssp.verify(g, forged)


def test_a_limited_answer_must_be_complete(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, 0, limit=3)
    sssp.verify(ladder, r)
    with pytest.raises(sssp.VerificationError, match="to vertex 2 at distance unreached"):
        sssp.verify(ladder, altered(r, distances=changed(r.distances, 2, UNREACHED)))
    with pytest.raises(sssp.VerificationError, match="distance 4, beyond the limit of 3"):
        sssp.verify(ladder, altered(r, distances=changed(r.distances, 3, 4)))


def test_sums_of_integers_do_not_wrap() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [2**30, 2**31 - 1])
    r = sssp.shortest_paths(g, 0)
    for wrapped in (2**30 + 2**31 - 1 - 2**32, UNREACHED - 1):
        forged = altered(r, distances=np.array([0, 2**30, wrapped], np.int32))
        with pytest.raises(sssp.VerificationError):
            sssp.verify(g, forged)
    far = sssp.Graph.from_arcs([0, 1], [1, 2], [2**61, 1])
    r = sssp.shortest_paths(far, 0)
    sssp.verify(far, r)
    for wrapped in (-(2**63), 2**63 - 2):
        with pytest.raises(sssp.VerificationError):
            sssp.verify(far, altered(r, distances=changed(r.distances, 2, wrapped)))
    heavy = sssp.Graph.from_arcs([0, 1], [1, 2], [2**62, 2**62])
    forged = altered(r, distances=[0, 2**62, -(2**63)])
    with pytest.raises(sssp.VerificationError, match=f"weight of {2**62}"):
        sssp.verify(heavy, forged)


def test_int32_distances_over_int64_weights_are_certified() -> None:
    g = sssp.Graph.from_arcs([0, 0], [1, 2], [2**40, 5])
    r = sssp.shortest_paths(g, 0, limit=2**20, dtype=np.int32)
    assert g.weights.dtype == np.int64
    assert r.distances.dtype == np.int32
    sssp.verify(g, r)
    with pytest.raises(sssp.VerificationError, match="vertex 1"):
        sssp.verify(g, altered(r, distances=changed(r.distances, 1, 7)))


def test_nan_is_no_distance() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [0.5, 0.5])
    r = sssp.shortest_paths(g, 0)
    for value in (math.nan, -math.inf):
        with pytest.raises(sssp.VerificationError, match=r"vertex 1 .*no distance"):
            sssp.verify(g, altered(r, distances=changed(r.distances, 1, value)))


def test_a_distance_that_overflowed_to_infinity_is_refused() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1e308, 1e308])
    r = sssp.shortest_paths(g, 0, limit=1.5e308)
    sssp.verify(g, r)
    r.limit = None
    with pytest.raises(sssp.VerificationError, match="to vertex 2 at distance unreached"):
        sssp.verify(g, r)


def test_a_source_at_distance_0_is_its_own_origin() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [0, 4])
    r = sssp.shortest_paths(g, [0, 1], nearest=True, predecessors=True)
    assert r.origin is not None
    assert r.origin.tolist() == [0, 1, 1]
    sssp.verify(g, r)
    with pytest.raises(sssp.VerificationError, match=r"source 1 .*with origin 0"):
        sssp.verify(g, altered(r, origin=np.array([0, 0, 0], np.int32)))


def test_the_smaller_of_two_nearest_sources_is_the_origin() -> None:
    g = sssp.Graph.from_arcs([0, 1], [2, 2], [3, 3])
    r = sssp.shortest_paths(g, [1, 0], nearest=True)
    sssp.verify(g, r)
    with pytest.raises(sssp.VerificationError, match=r"origin of the head is 1, .* tail's, 0"):
        sssp.verify(g, altered(r, origin=np.array([0, 1, 1], np.int32)))


# -- forms and tolerance -----------------------------------------------------------------------


def test_a_result_of_another_graph_is_refused(ladder: sssp.Graph) -> None:
    small = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
    for arguments in ({}, {"targets": [3]}, {"output": "sparse"}, {"nearest": True}):
        r = sssp.shortest_paths(ladder, [0, 4], **arguments)
        with pytest.raises(sssp.VerificationError, match="3 vertices"):
            sssp.verify(small, r)
    other_weights = ladder.with_weights(ladder.weights + 1)
    with pytest.raises(sssp.VerificationError, match="vertex 1 is given the distance 1"):
        sssp.verify(other_weights, sssp.shortest_paths(ladder, 0))


def test_sparse_rows_are_certified(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, [0, 4], output="sparse", predecessors=True, limit=3)
    sssp.verify(ladder, r)
    forged = copy.copy(r)
    forged.distances = r.distances.copy()
    forged.distances.data[1] += 1
    with pytest.raises(sssp.VerificationError, match="row 0"):
        sssp.verify(ladder, forged)
    forged.distances = r.distances[[0, 0]]
    with pytest.raises(sssp.VerificationError, match="row 1, source 4"):
        sssp.verify(ladder, forged)


def test_rows_may_be_a_transposed_view(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, [0, 1], predecessors=True)
    assert r.predecessors is not None
    sssp.verify(
        ladder,
        altered(
            r,
            distances=np.asfortranarray(r.distances),
            predecessors=np.asfortranarray(r.predecessors),
        ),
    )


def test_numbers_of_arcs_are_certified_with_unit_weights(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, 0, method="breadth-first", predecessors=True)
    assert r.distances.tolist() == [0, 1, 1, 1, UNREACHED]
    sssp.verify(ladder, r)
    weighted = sssp.shortest_paths(ladder, 0)
    weighted.method = "breadth-first"
    with pytest.raises(sssp.VerificationError, match="weight 1"):
        sssp.verify(ladder, weighted)


@pytest.mark.parametrize("targets", [None, [3, 3, 4, 0]])
def test_a_tolerance_forgives_rounding_and_no_more(targets: list[int] | None) -> None:
    g = sssp.Graph.from_arcs([0, 0, 1, 2], [1, 2, 3, 3], [0.1, 0.3, 0.2, 0.3], n=5)
    r = sssp.shortest_paths(g, [0, 1], targets=targets)
    rounded = altered(r, distances=r.distances * (1 + 1e-12))
    with pytest.raises(sssp.VerificationError):
        sssp.verify(g, rounded)
    sssp.verify(g, rounded, rtol=1e-10)
    with pytest.raises(sssp.VerificationError):
        sssp.verify(g, altered(r, distances=r.distances * 1.001), rtol=1e-10)
    forged = altered(r, distances=np.where(r.reached, r.distances, 1.0))
    with pytest.raises(sssp.VerificationError):
        sssp.verify(g, forged, rtol=1e-10)


def test_a_tolerance_is_a_finite_number_of_0_or_more(
    ladder: sssp.Graph, answer: sssp.ShortestPaths
) -> None:
    for rtol in (-1e-9, math.nan, math.inf):
        with pytest.raises(ValueError, match="rtol"):
            sssp.verify(ladder, answer, rtol=rtol)


def test_empty_answers_are_right() -> None:
    g = sssp.Graph.from_arcs([], [], [], n=2)
    for sources in ([], [0], 1):
        for targets in (None, [], [1]):
            sssp.verify(g, sssp.shortest_paths(g, sources, targets=targets, predecessors=True))
    sssp.verify(
        sssp.Graph.from_arcs([], [], []),
        sssp.shortest_paths(sssp.Graph.from_arcs([], [], []), []),
    )
