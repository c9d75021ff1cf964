"""`verify` accepts what is right, and nothing else."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import sssp
from tests import naive
from tests.results.forgeries import cut_to_paths
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
        length = sum(lengths[way[i + 1], way[i]] for i in range(len(way) - 1))
        # (a vertex that is not reached has no predecessor either)
        if way[-1] != 0 or length != distances[v]:
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
        with pytest.raises(sssp.VerificationError, match=r"vertex 1 .*not a distance"):
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


# -- near the end of int64 -----------------------------------------------------------------------

LARGEST = 2**62 - 2


def test_targets_near_the_greatest_distance_are_certified() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [2**61, 2**61 - 2, 1, 2**61])
    near = sssp.shortest_paths(g, [0, 1], targets=[1], predecessors=True)
    assert near.distances.tolist() == [[2**61], [0]]
    sssp.verify(g, near)
    for shape in (lambda r: r, cut_to_paths):
        small = g.with_weights([1, 1, 1, 1])
        r = shape(sssp.shortest_paths(small, 0, targets=[2, 1], dtype="int64", predecessors=True))
        farthest = altered(r, distances=np.array([LARGEST, 2**61]))
        sssp.verify(g, farthest)
        for wrong in (LARGEST - 1, LARGEST + 1, -(2**63), 2**63 - 1, 2**63 - 2):
            with pytest.raises(sssp.VerificationError, match=f"target 2 .*it is {LARGEST}"):
                sssp.verify(g, altered(r, distances=np.array([wrong, 2**61])))
        # what lies beyond 2**62 - 2 is not unreached: the call had to raise
        beyond = altered(r, targets=np.array([4, 1]), distances=np.array([2**63 - 1, 2**61]))
        with pytest.raises(sssp.VerificationError):
            sssp.verify(g, beyond)
        beyond.limit = LARGEST
        if shape is cut_to_paths:
            beyond.predecessors = csr_array(([-1, 0], [0, 1], [0, 2]), shape=(1, 5), dtype=np.int32)
        else:
            beyond.predecessors = np.array([-1, 0, 1, -1, -1], np.int32)
        sssp.verify(g, beyond)


def test_without_targets_nothing_can_be_too_far() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [2**61, 2**61, 2**61])
    for options in ({}, {"predecessors": True}, {"limit": 2**61}):
        sssp.verify(g, sssp.shortest_paths(g, [0, 1], targets=[], **options))


def test_limits_near_the_greatest_distance() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**61, 2**61 - 2, 1])
    within = sssp.shortest_paths(g, 0, limit=2**61)
    for limit, reached in ((2**61, 2), (LARGEST, 3)):
        distances = [0, 2**61, LARGEST, 2**63 - 1]
        distances[reached:] = [2**63 - 1] * (4 - reached)
        r = altered(within, distances=np.array(distances))
        r.limit = limit
        sssp.verify(g, r)
        for larger in (limit + 1, LARGEST + 1, 2**63 - 1, 2**63, 2**80, None):
            r.limit = larger
            if larger is not None and larger < LARGEST:
                sssp.verify(g, r)
            else:
                with pytest.raises(sssp.VerificationError, match="unreached"):
                    sssp.verify(g, r)


def test_negative_distances_do_not_make_sums_wrap() -> None:
    weights = [2**62 - 5, -29, 2**62 - 5]
    g = sssp.Graph.from_arcs([0, 0, 1], [1, 2, 2], weights)
    r = sssp.shortest_paths(g.with_weights([1, -29, 1]), 0, dtype="int64", predecessors=True)
    sssp.verify(g, altered(r, distances=np.array([0, 2**62 - 5, -29])))


def test_what_lies_beyond_may_not_come_back_to_a_certified_target() -> None:
    def arcs(back: int) -> sssp.Graph:
        heads, weights = [1, 2, 3, 4, 5], [LARGEST, 9, -back, 7, -5]
        return sssp.Graph.from_arcs([0, 1, 2, 0, 4], heads, weights, n=6)

    near = arcs(3).with_weights([1, 7, 9, -3, -5])
    r = sssp.shortest_paths(near, 0, targets=[5], dtype="int64")
    assert r.distances.tolist() == [2]
    sssp.verify(arcs(3), r)
    with pytest.raises(sssp.VerificationError, match=r"target 5 .* 3; it is 2"):
        sssp.verify(arcs(3), altered(r, distances=np.array([3])))
    # 3 is unreached only in sums that stay below 2**62; 5 might be nearer by way of it
    for target, back in ((3, 3), (5, LARGEST - 1)):
        beyond = altered(r, targets=np.array([target]))
        with pytest.raises(sssp.VerificationError, match="cannot be certified"):
            sssp.verify(arcs(back), beyond)


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
    with pytest.raises(sssp.VerificationError, match="predecessors are not stored for"):
        sssp.verify(ladder, forged)
    forged.predecessors = None
    with pytest.raises(sssp.VerificationError, match="row 1, source 4"):
        sssp.verify(ladder, forged)


def test_sparse_rows_store_what_is_reached_and_nothing_else(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, 0, output="sparse")
    forged = copy.copy(r)
    data = np.array([*r.distances.data, UNREACHED], np.int32)
    forged.distances = csr_array((data, range(5), [0, 5]), shape=(1, 5))
    with pytest.raises(sssp.VerificationError, match="entry for a vertex that is unreached"):
        sssp.verify(ladder, forged)
    forged.distances = csr_array((r.distances.data, [0, 2, 1, 3], [0, 4]), shape=(1, 5))
    with pytest.raises(sssp.VerificationError, match="ascending columns"):
        sssp.verify(ladder, forged)


def test_what_is_neither_graph_nor_result_is_refused(
    ladder: sssp.Graph, answer: sssp.ShortestPaths
) -> None:
    with pytest.raises(TypeError, match="takes the graph first"):
        sssp.verify(answer, ladder)  # type: ignore[arg-type]
    for wrong in (None, ladder.to_scipy(), "ny.gr"):
        with pytest.raises(TypeError, match="g must be the Graph that was asked about, not"):
            sssp.verify(wrong, answer)  # type: ignore[arg-type]
        with pytest.raises(
            TypeError, match="result must be what shortest_paths, all_pairs, pairs or nearest"
        ):
            sssp.verify(ladder, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not ndarray"):
        sssp.verify(ladder, answer.distances)


def test_parts_that_do_not_belong_together_are_refused(ladder: sssp.Graph) -> None:
    r = sssp.shortest_paths(ladder, [0, 4], nearest=True)
    nearest = copy.copy(r)
    nearest.origin = None
    with pytest.raises(sssp.VerificationError, match="origin is missing"):
        sssp.verify(ladder, nearest)
    plain = sssp.shortest_paths(ladder, 0)
    with pytest.raises(sssp.VerificationError, match="origin is there"):
        sssp.verify(ladder, altered(plain, origin=r.origin))
    for limit in (-1, math.nan, "3", True):
        plain.limit = limit  # type: ignore[assignment]
        with pytest.raises(sssp.VerificationError, match="limit must be"):
            sssp.verify(ladder, plain)
    halves = ladder.with_weights(ladder.weights / 2)
    with pytest.raises(sssp.VerificationError, match=r"integer distances .* float weights"):
        sssp.verify(halves, sssp.shortest_paths(ladder, 0))
    heavy = halves.with_weights([1e300] * 5)
    single = sssp.shortest_paths(halves, 0, dtype=np.float32)
    with pytest.raises(sssp.VerificationError, match="distances cannot be float32"):
        sssp.verify(heavy, single)


# -- paths to targets --------------------------------------------------------------------------


@pytest.fixture
def ways() -> sssp.Graph:
    """From 0 to 4 by 1 or by 2, and on to 5; 3 is a dead end, 6 apart."""
    tails, heads, weights = [0, 0, 0, 1, 2, 4], [1, 2, 3, 4, 4, 5], [1, 2, 1, 3, 2, 5]
    return sssp.Graph.from_arcs(tails, heads, weights, n=7)


def stored(tails: dict[int, int]) -> Any:
    data = np.array(list(tails.values()), np.int32)
    return csr_array((data, list(tails), [0, len(tails)]), shape=(1, 7))


@pytest.mark.parametrize(
    ("tails", "message"),
    [
        ({0: -1, 1: 0, 4: 1}, None),
        ({0: -1, 2: 0, 4: 2}, "vertex 4 has not the predecessor that the call promises"),
        ({0: -1, 1: 0, 3: 0, 4: 1}, "vertex 3 is stored, but lies on no path to a target"),
        ({0: -1, 1: 0, 4: 1, 5: 4}, "vertex 5 is stored, but lies on no path to a target"),
        ({0: -1, 4: 1}, "vertex 4 is stored, but not its predecessor"),
        ({1: 0, 4: 1}, "vertex 1 is stored, but not its predecessor"),
        ({0: -1, 1: 0}, "vertex 4 is reached, but no path to it is stored"),
        ({}, "vertex 4 is reached, but no path to it is stored"),
        ({0: -1, 1: -1, 4: 1}, "vertex 1 is stored .* without one"),
        ({0: 1, 1: 0, 4: 1}, "vertex 0 is stored with a predecessor if it is a source"),
        ({0: -1, 1: 0, 4: 1, 6: -1}, "vertex 6 is stored .* without one"),
        ({0: -1, 1: 4, 4: 1}, "vertex 0 is stored, but lies on no path|vertex 1 has not"),
        ({0: -1, 1: 0, 4: 99}, "vertex 4 is stored, but not its predecessor"),
        ({0: -1, 1: 0, 4: -2}, "vertex 4"),
    ],
)
def test_stored_predecessors_are_the_paths_to_the_targets_and_no_more(
    ways: sssp.Graph, tails: dict[int, int], message: str | None
) -> None:
    r = sssp.shortest_paths(ways, 0, targets=[4, 6], predecessors=True)
    given = copy.copy(r)
    given.predecessors = stored(tails)
    halves = sssp.shortest_paths(ways.with_weights(ways.weights / 2), 0, targets=[4, 6])
    halves.predecessors = given.predecessors
    regrouped = altered(halves, distances=halves.distances * (1 + 2**-52))
    regrouped.method = "sweep"
    if message is None:
        for right in (given, halves, regrouped):
            sssp.verify(right.graph, right)
        return
    for wrong in (given, halves):
        with pytest.raises(sssp.VerificationError, match=message):
            sssp.verify(wrong.graph, wrong)
    if tails == {0: -1, 2: 0, 4: 2}:  # as short
        sssp.verify(regrouped.graph, regrouped)
    else:
        with pytest.raises(sssp.VerificationError):
            sssp.verify(regrouped.graph, regrouped)


@pytest.mark.parametrize(
    ("tails", "message"),
    [
        ({0: -1, 3: 0, 4: 3, 5: 4}, "vertex 4 has a predecessor from which no arc leads to it"),
        ({0: -1, 1: 5, 4: 1, 5: 4}, "vertex 0 is stored, but lies on no path"),
        ({0: -1, 1: 0, 4: 1, 5: 1}, "vertex 5 has a predecessor from which no arc"),
        ({1: 5, 4: 1, 5: 4}, "vertex 1 hangs on a cycle of predecessors"),
        ({0: -1, 1: 0, 4: 0, 5: 4}, "vertex 1 is stored, but lies on no path"),
        ({0: -1, 4: 0, 5: 4}, "vertex 4 is the end of a path that is not as long as that"),
    ],
)
def test_regrouped_sums_need_paths_as_well(
    ways: sssp.Graph, tails: dict[int, int], message: str
) -> None:
    tail, head = [5, 0], [1, 4]
    g = sssp.Graph.from_arcs(
        [*ways.tails, *tail], [*ways.indices, *head], [*(ways.weights / 2), 0.0, 9.0], n=7
    )
    r = sssp.shortest_paths(g, 0, targets=[4, 5], predecessors=True)
    r.method = "sweep"
    r.predecessors = stored({0: -1, 2: 0, 4: 2, 5: 4})
    sssp.verify(g, r)
    r.predecessors = stored(tails)
    with pytest.raises(sssp.VerificationError, match=message):
        sssp.verify(g, r)


def test_what_float32_does_not_hold_weighs_nothing() -> None:
    g = sssp.Graph.from_arcs([0], [1], [6.4e-214])
    r = sssp.shortest_paths(g, 0, targets=[1], dtype=np.float32, predecessors=True)
    sssp.verify(g, r, rtol=1e-6)


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
    for wrong in ("0", True, [0.1], 1j):
        with pytest.raises(TypeError, match="rtol must be a number"):
            sssp.verify(ladder, answer, rtol=wrong)  # type: ignore[arg-type]


def test_a_tolerance_of_any_size_neither_wraps_nor_warns(
    ladder: sssp.Graph, answer: sssp.ShortestPaths
) -> None:
    floats = sssp.shortest_paths(ladder.with_weights([0.5, 1, 2, 3, 4]), 0, dtype=np.float32)
    rtols: list[Any] = [1, 1e10, 1e300, np.float32(0.5)]
    for rtol in rtols:
        sssp.verify(ladder, answer, rtol=rtol)
        sssp.verify(floats.graph, floats, rtol=rtol)


def test_by_default_only_methods_that_regroup_sums_are_forgiven_rounding() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [0.1, 0.2, 0.3])
    outward = sssp.shortest_paths(g, 0, predecessors=True)
    assert outward.distances[3] == (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3)
    rounded = altered(outward, distances=changed(outward.distances, 3, 0.1 + (0.2 + 0.3)))
    with pytest.raises(sssp.VerificationError, match="vertex 3"):
        sssp.verify(g, rounded)
    for method in ("floyd-warshall", "repeated-squaring", "johnson", "sweep"):
        rounded.method = method
        sssp.verify(g, rounded)
        with pytest.raises(sssp.VerificationError):
            sssp.verify(g, rounded, rtol=0)
        wrong = altered(rounded, distances=rounded.distances * (1 + 1e-12))
        with pytest.raises(sssp.VerificationError):
            sssp.verify(g, wrong)
    integers = g.scaled(10)
    exact = sssp.all_pairs(integers, method="floyd-warshall")
    exact.distances = changed(exact.distances, (0, 3), 5)
    with pytest.raises(sssp.VerificationError, match="row 0"):
        sssp.verify(integers, exact)


@pytest.mark.parametrize("method", ["floyd-warshall", "repeated-squaring", "johnson"])
def test_float_tables_of_every_method_pass_by_default(method: str) -> None:
    random = np.random.default_rng(3)
    matrix = random.random((40, 40)) * (random.random((40, 40)) < 0.2)
    r = sssp.all_pairs(matrix, method=method, predecessors=True)
    sssp.verify(r.graph, r)


@pytest.mark.parametrize("targets", [None, [0, 1]])
@pytest.mark.parametrize(
    ("ring", "start", "distances"),
    [
        # once round, 0.7 has become 0.6999999999999998, and stays it: no path is so short
        ([0.6, -0.6], 0.7, [0.6999999999999998, 1.2999999999999998, 0]),
        # sinks for ever, by rounding, though its sum is 0
        ([0.8, 0.8, -1.6], 1e9, [1e9, 1e9 + 0.8, 1e9 + 1.6, 0]),
    ],
)
def test_a_cycle_that_only_rounding_makes_negative_is_forgiven(
    ring: list[float], start: float, distances: list[float], targets: list[int] | None
) -> None:
    n = len(ring) + 1
    tails, heads = [*range(n - 1), n - 1], [*range(1, n - 1), 0, 0]
    g = sssp.Graph.from_arcs(tails, heads, [*ring, start])
    acyclic = g.with_weights(np.where(g.weights < 0, np.inf, g.weights))
    r = sssp.shortest_paths(acyclic, n - 1, targets=targets, method="bellman-ford")
    forged = altered(r, distances=np.array(distances)[slice(None) if targets is None else targets])
    sssp.verify(g, forged)
    with pytest.raises(sssp.VerificationError):
        sssp.verify(g, forged, rtol=0)
    with pytest.raises(sssp.VerificationError):
        sssp.verify(g, altered(forged, distances=forged.distances * (1 + 1e-9)))
    # where sums can be exact, they have to be
    with pytest.raises(sssp.VerificationError):
        sssp.verify(acyclic, altered(r, distances=np.nextafter(r.distances, 9e9)))


@pytest.mark.parametrize("number", [int, float])
@pytest.mark.parametrize("targets", [None, [2], [0]])
def test_a_negative_cycle_has_no_right_answer(number: Any, targets: Any) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], list(map(number, [5, -3, 4])))
    r = sssp.shortest_paths(g, 0, targets=targets, predecessors=True)
    sinking = g.with_weights(list(map(number, [5, -3, 2])))
    with pytest.raises(sssp.VerificationError, match="row 0, source 0"):
        sssp.verify(sinking, r)


def test_empty_answers_are_right() -> None:
    g = sssp.Graph.from_arcs([], [], [], n=2)
    for sources in ([], [0], 1):
        for targets in (None, [], [1]):
            sssp.verify(g, sssp.shortest_paths(g, sources, targets=targets, predecessors=True))
    sssp.verify(
        sssp.Graph.from_arcs([], [], []),
        sssp.shortest_paths(sssp.Graph.from_arcs([], [], []), []),
    )
