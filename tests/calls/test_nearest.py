"""`nearest`: the k nearest facilities of every vertex, against plain references."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import sssp
from sssp.kernels.dtypes import unreached
from tests import naive
from tests.solvers import draw_and_ask, every_device
from tests.strategies import (
    FLOATS,
    HUGE_INTEGERS,
    LARGE_INTEGERS,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    vertex_lists,
)
from tests.test_overflow import INT64_SUM


class Question(NamedTuple):
    """A graph, facilities, and the options of the call."""

    network: naive.Network
    facilities: list[int]
    options: dict[str, Any]


@st.composite
def questions(draw: st.DrawFn, any_network: st.SearchStrategy[naive.Network]) -> Question:
    network = draw(any_network)
    return Question(
        network,
        draw(vertex_lists(network.n, 5)),
        {
            "k": draw(st.integers(1, 4)),
            "direction": draw(st.sampled_from(["from", "to"])),
            "limit": draw(st.none() | st.sampled_from([0, 2, 5.5, 2**30])),
        },
    )


def turned(network: naive.Network) -> naive.Network:
    arcs = (naive.Arc(head, tail, weight) for tail, head, weight in network.arcs)
    return naive.Network(network.n, tuple(arcs), network.directed, network.integer)


def expected(question: Question) -> list[list[tuple[Any, int]]]:
    """Return the (distance, position) of the k nearest of every vertex."""
    network, options = question.network, question.options
    if options["direction"] == "to":
        network = turned(network)
    limit = math.inf if options["limit"] is None else options["limit"]
    rows = [naive.distances(network.lengths(), [f], limit) for f in question.facilities]
    return [
        sorted((row[v], i) for i, row in enumerate(rows) if v in row)[: options["k"]]
        for v in range(network.n)
    ]


def ask(question: Question, device: str) -> None:
    network = question.network
    methods = ["auto"] if device == "cuda" else ["auto", "dijkstra", "bellman-ford"]
    least = min((weight for weight in network.lengths().values()), default=0)
    for method in methods if least >= 0 else ["auto"]:

        def call(method: str = method) -> sssp.NearestFacilities:
            g = graph_of(network)
            facilities = question.facilities
            return sssp.nearest(g, facilities, method=method, device=device, **question.options)

        try:
            wanted = expected(question)
        except naive.NegativeCycle:
            with pytest.raises(sssp.NegativeCycleError):
                call()
            continue
        if network.integer and any(d > INT64_SUM for row in wanted for d, _ in row):
            with pytest.raises(sssp.DistanceOverflowError, match="float64"):
                call()
            continue
        check(question, wanted, call())


def check(
    question: Question, wanted: list[list[tuple[Any, int]]], r: sssp.NearestFacilities
) -> None:
    n, k = question.network.n, question.options["k"]
    assert r.distances.shape == r.index.shape == r.reached.shape == (n, k)
    assert r.index.dtype == np.int32
    fits = all(abs(d) <= 2**31 - 2 for row in wanted for d, _ in row)
    dtype = (
        np.dtype(np.int32 if fits else np.int64) if question.network.integer else np.dtype(float)
    )
    assert r.distances.dtype == dtype
    padded = [row + [(unreached(dtype).item(), -1)] * (k - len(row)) for row in wanted]
    assert r.distances.tolist() == [[d for d, _ in row] for row in padded]
    assert r.reached.tolist() == [[i >= 0 for _, i in row] for row in padded]
    if question.network.integer:
        assert r.index.tolist() == [[i for _, i in row] for row in padded]


@every_device
def test_integers_agree_with_the_reference(device: str) -> None:
    drawn = networks(SMALL_INTEGERS) | networks(LARGE_INTEGERS) | networks(HUGE_INTEGERS)
    draw_and_ask(device, questions(drawn), lambda q: ask(q, device), 100)


@every_device
def test_floats_and_negative_weights_agree_with_the_reference(device: str) -> None:
    drawn = networks(FLOATS) | negative_networks()
    draw_and_ask(device, questions(drawn), lambda q: ask(q, device), 60)


def test_floats_that_tie_name_facilities_that_are_so_far() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 3], [2, 2, 3, 4], [0.25, 0.5, 1e18, 1.0])
    for method in ("dijkstra", "delta-stepping"):
        r = sssp.nearest(g, [1, 0], k=2, method=method)
        assert r.distances.tolist()[2:] == [[0.25, 0.5], [1e18, 1e18], [1e18, 1e18]]
        assert sorted(r.index[4].tolist()) == [0, 1]


def test_the_nearest_of_many_on_a_road_network_both_ways() -> None:
    g = sssp.road_like(3000, seed=1)
    random = np.random.default_rng(2)
    g = g.with_weights(random.integers(1, 50, g.m))
    hospitals = random.integers(0, g.n, 40)
    for direction, graph in (("from", g), ("to", g.reverse())):
        r = sssp.nearest(g, hospitals, k=3, direction=direction)  # type: ignore[arg-type]
        table = sssp.shortest_paths(graph, hospitals).distances.T
        order = np.argsort(table, axis=1, kind="stable")[:, :3]
        np.testing.assert_array_equal(r.index, order)
        np.testing.assert_array_equal(r.distances, np.take_along_axis(table, order, 1))
        assert r.method == "dijkstra"
    few = sssp.nearest(g, hospitals, k=5)
    assert few.method == "delta-stepping"
    np.testing.assert_array_equal(few.index[:, :3], sssp.nearest(g, hospitals, k=3).index)
    one = sssp.shortest_paths(g, hospitals, nearest=True)
    np.testing.assert_array_equal(sssp.nearest(g, hospitals).distances[:, 0], one.distances)


def test_behind_closed_arcs_nothing_is_too_far() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [5, 5, 2**60, 2**60]).without_arcs([3])
    for network in (g, sssp.prepare(g)):
        r = sssp.nearest(network, [0])
        assert r.distances[:, 0].tolist() == [0, 5, 10, 10 + 2**60, 2**63 - 1]


def test_a_result_says_what_it_is_and_travels() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5])
    r = sssp.nearest(g, [1, 1], k=3, limit=9)
    assert repr(r) == (
        "<NearestFacilities 3 of 2, from them, limit 9; distances int32, shape (3, 3); "
        "by dijkstra on cpu>"
    )
    assert r.stats == {"settled": 4}
    again = pickle.loads(pickle.dumps(r))
    assert again.index.tolist() == [[-1] * 3, [0, 1, -1], [0, 1, -1]]
    assert again.facilities[again.index[again.reached]].tolist() == [1, 1, 1, 1]
    assert not sssp.nearest(g, [], k=2).reached.any()
    assert sssp.nearest(g, 2, direction="to", dtype="int64").distances.tolist() == [[9], [5], [0]]
    by_arcs = sssp.nearest(g, 0, method="breadth-first")
    assert by_arcs.distances.tolist() == [[0], [1], [2]]
    assert by_arcs.stats == {"expanded": 3}


def test_what_cannot_be_asked_is_refused() -> None:
    g = sssp.road_like(50)
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="k must be an integer of 1 or more"):
            sssp.nearest(g, [1], k=k)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="direction must be 'from' or 'to', not 'both'"):
        sssp.nearest(g, [1], direction="both")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(sssp.VertexError, match="facility 50 is not a vertex"):
        sssp.nearest(g, [1, 50])
    with pytest.raises(TypeError, match="facilities must be an int or one row of integers"):
        sssp.nearest(g, [1.5])
    with pytest.raises(sssp.DeviceError, match="the answer"):
        sssp.nearest(g, [1], k=1000, memory_limit=1000)
    far = sssp.Graph.from_arcs([0, 1], [1, 2], [2**30, 2**30])
    with pytest.raises(sssp.DistanceOverflowError, match="int32"):
        sssp.nearest(far, 0, dtype="int32")
    negative = sssp.Graph.from_arcs([0, 1], [1, 2], [1, -2])
    with pytest.raises(sssp.NegativeWeightError, match="dijkstra needs weights >= 0"):
        sssp.nearest(negative, 0, method="dijkstra")


@pytest.mark.parametrize("prepared", [False, True])
def test_rows_from_facilities_are_found_in_parts_where_memory_is_short(prepared: bool) -> None:
    g = sssp.road_like(3000, seed=1)
    h = sssp.prepare(g) if prepared else g
    options: Any = {"k": 2, "method": "auto" if prepared else "delta-stepping", "threads": 1}
    facilities = range(0, 3000, 10)
    expected = sssp.nearest(h, facilities, **options)
    # (rows of all facilities at once are 3.6 MB)
    limit = 1_000_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        found = sssp.nearest(h, facilities, memory_limit=limit, **options)
        most = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert most < limit
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.index, expected.index)
