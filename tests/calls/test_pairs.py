"""`pairs`: trips by every method on every device, against plain references."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import sssp
from sssp.calls.pairs import TRIP_BYTES
from sssp.kernels.dtypes import unreached
from sssp.methods import METHODS, TRIP_METHODS
from tests import naive
from tests.solvers import draw_and_ask, every_device
from tests.strategies import (
    FLOATS,
    HUGE_INTEGERS,
    LARGE_INTEGERS,
    SMALL_INTEGERS,
    graph_of,
    in_arithmetic_of,
    negative_networks,
    networks,
    with_unit_weights,
)
from tests.test_overflow import must_overflow

POSITIVE = st.integers(1, 6)
NEAR_ONE = st.floats(1, 2)


class Question(NamedTuple):
    """A graph, the ends of some trips, and the options of the call."""

    network: naive.Network
    sources: int | list[int]
    targets: int | list[int]
    options: dict[str, Any]

    def trips(self) -> list[tuple[int, int]]:
        sides: list[Any] = [self.sources, self.targets]
        given = [len(side) for side in sides if isinstance(side, list)]
        sides = [[side] * max([1, *given]) if isinstance(side, int) else side for side in sides]
        if 0 in given:
            return []
        return list(zip(*sides, strict=True))


@st.composite
def questions(
    draw: st.DrawFn, any_network: st.SearchStrategy[naive.Network], dtypes: list[Any]
) -> Question:
    network = draw(any_network)
    vertex = st.integers(0, network.n - 1)
    p = draw(st.sampled_from([0, 1, 3, 6]))
    # few sources, so that trips share them
    few = st.sampled_from(draw(st.lists(vertex, min_size=1, max_size=3)))
    one, other = (draw(vertex | st.lists(end, min_size=p, max_size=p)) for end in (few, vertex))
    if draw(st.booleans()):
        one, other = other, one
    return Question(
        network,
        one,
        other,
        {
            "limit": draw(st.none() | st.sampled_from([0, 2, 5.5, 100, 2**30])),
            "predecessors": draw(st.booleans()),
            "dtype": draw(st.sampled_from(dtypes)),
            "threads": draw(st.sampled_from([1, 2])),
        },
    )


def methods_on(device: str) -> list[str]:
    # on a GPU all go the same way (`sssp.cuda.search_driver`)
    return ["auto"] if device == "cuda" else ["auto", *METHODS, *TRIP_METHODS]


def ask_all(device: str, question: Question) -> None:
    for method in methods_on(device):
        try:
            ask(question, method, device)
        except Exception as error:
            error.add_note(f"asked of {method}")
            raise


def ask(question: Question, method: str, device: str) -> None:
    seen = question
    if method == "breadth-first":
        seen = question._replace(network=with_unit_weights(question.network))
    network, options = seen.network, seen.options
    least = min((w for w in network.lengths().values()), default=0)
    if least < 0 and method not in ("auto", "bellman-ford"):
        return
    rows = []
    limit = math.inf if options["limit"] is None else options["limit"]
    try:
        for source, target in question.trips():
            arithmetic = in_arithmetic_of(network, options["dtype"])
            rows.append(naive.solve(arithmetic, [source], limit=limit, targets=[target]))
    except naive.NegativeCycle:
        with pytest.raises(sssp.NegativeCycleError):
            call(question, method, device)
        return
    found = [row.distances.get(t) for row, (_, t) in zip(rows, question.trips(), strict=True)]
    integral = network.integer and options["dtype"] not in (np.float32, np.float64)
    may_tie = least == 0 or not integral
    refused = method == "a-star" and options["predecessors"] and may_tie
    errors = (sssp.DistanceOverflowError, ValueError) if refused else sssp.DistanceOverflowError
    instead = "|every weight is above 0" if refused else ""
    lost = [must_overflow(network, [s], [t], limit) for s, t in question.trips() if integral]
    if any(lost):
        with pytest.raises(errors, match="float64" + instead):
            call(question, method, device)
        return
    if options["dtype"] is np.int32 and any(d is not None and abs(d) > 2**31 - 2 for d in found):
        with pytest.raises(errors, match="int32" + instead):
            call(question, method, device)
        return
    with suppress(ValueError) if refused else nullcontext():
        trips = call(question, method, device)
        check(seen, rows, found, trips)


def call(question: Question, method: str, device: str) -> sssp.Trips:
    g = graph_of(question.network)
    sources, targets = question.sources, question.targets
    return sssp.pairs(g, sources, targets, method=method, device=device, **question.options)


def check(question: Question, rows: list[naive.Row], found: list[Any], trips: sssp.Trips) -> None:
    assert len(trips) == len(found)
    assert list(zip(trips.sources, trips.targets, strict=True)) == question.trips()
    dtype = question.options["dtype"]
    if dtype is None and not question.network.integer:
        dtype = np.float64
    if dtype is None:
        dtype = np.int32 if all(abs(d or 0) <= 2**31 - 2 for d in found) else np.int64
    missing = unreached(np.dtype(dtype))
    expected = np.array([missing if d is None else d for d in found], dtype)
    assert trips.distances.dtype == dtype
    np.testing.assert_array_equal(trips.distances, expected)
    assert trips.reached.tolist() == [d is not None for d in found]
    assert all(counts.shape == (len(trips),) for counts in trips.stats.values())
    if not question.options["predecessors"]:
        return
    for i, (row, (_, target)) in enumerate(zip(rows, question.trips(), strict=True)):
        if found[i] is None:
            with pytest.raises(sssp.UnreachableError, match=f"trip {i}, from vertex"):
                trips.path(i)
        else:
            assert trips.path(i).tolist() == naive.path(row.predecessors, target)


INTEGERS = [None, np.int32, np.int64, np.float64]


@every_device
def test_integers_agree_with_the_reference(device: str) -> None:
    drawn = networks(SMALL_INTEGERS, least_n=1) | networks(POSITIVE, least_n=1)
    draw_and_ask(device, questions(drawn, INTEGERS), lambda q: ask_all(device, q), 60)


@every_device
def test_floats_agree_bit_for_bit_with_the_reference(device: str) -> None:
    drawn = networks(FLOATS, least_n=1) | networks(NEAR_ONE, least_n=1)
    dtypes = [None, np.float32]
    draw_and_ask(device, questions(drawn, dtypes), lambda q: ask_all(device, q), 60)


@every_device
def test_negative_weights_agree_with_the_reference(device: str) -> None:
    drawn = negative_networks().filter(lambda network: network.n > 0)
    draw_and_ask(device, questions(drawn, [None]), lambda q: ask_all(device, q), 30)


@every_device
def test_sums_beyond_a_dtype_are_right_or_refused(device: str) -> None:
    drawn = networks(LARGE_INTEGERS, least_n=1) | networks(HUGE_INTEGERS, least_n=1)
    draw_and_ask(device, questions(drawn, INTEGERS[:3]), lambda q: ask_all(device, q), 60)


def test_auto_finds_what_a_loop_finds_by_every_way_that_it_takes() -> None:
    g = sssp.road_like(5000, seed=3)
    random = np.random.default_rng(0)
    # one source with many targets, and many sources with few
    sources = np.concatenate([np.full(30, 7), random.integers(0, g.n, 60)])
    targets = random.integers(0, g.n, 90)
    order = random.permutation(90)
    sources, targets = sources[order], targets[order]
    trips = sssp.pairs(g, sources, targets, predecessors=True, threads=1)
    assert trips.method == "a-star+delta-stepping"
    for i, (s, t) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        r = sssp.shortest_paths(g, s, targets=t, predecessors=True)
        assert trips.distances[i] == r.distances
        assert trips.path(i).tolist() == r.path(t).tolist()
    few = sssp.pairs(g, sources[:40], targets[:40], threads=1)
    assert few.method == "delta-stepping"
    np.testing.assert_array_equal(few.distances, trips.distances[:40])


def test_floats_by_landmarks_agree_to_the_bit_on_many_vertices() -> None:
    g = sssp.road_like(5000, seed=3)
    random = np.random.default_rng(1)
    g = g.with_weights(g.weights * random.random(g.m) + 1e-3)
    sources, targets = random.integers(0, g.n, (2, 50))
    trips = sssp.pairs(g, sources, targets, predecessors=True, threads=1)
    assert trips.method == "a-star"
    plain = sssp.pairs(g, sources, targets, method="dijkstra", predecessors=True)
    np.testing.assert_array_equal(trips.distances, plain.distances)
    assert [trips.path(i).tolist() for i in range(50)] == [
        plain.path(i).tolist() for i in range(50)
    ]


def test_many_homes_and_one_job_are_one_search() -> None:
    g = sssp.road_like(300)
    to = sssp.pairs(g, range(g.n), 5, method="dijkstra")
    assert to.stats["settled"].tolist() == [g.n] * g.n
    one_by_one = sssp.pairs(g, range(g.n), 5, method="dijkstra", predecessors=True)
    assert len(set(one_by_one.stats["settled"].tolist())) > 1
    np.testing.assert_array_equal(to.distances, one_by_one.distances)


def test_a_path_depends_on_its_own_ends_alone() -> None:
    # 3 -> 4 joins two vertices at one distance: paths that long take the fewest arcs
    tails, heads = [0, 0, 1, 2, 3, 0, 0, 6, 5, 7], [1, 2, 3, 3, 4, 5, 6, 7, 8, 8]
    weights = [1, 2, 3, 2, 0, 3, 1, 1, 4, 5]
    g = sssp.Graph.from_arcs(tails, heads, weights)
    alone = [sssp.shortest_paths(g, 0, targets=t, predecessors=True).path(t) for t in (8, 4, 3)]
    for device in ("cpu",):
        trips = sssp.pairs(g, 0, [8, 4, 3], predecessors=True, device=device)
        assert [trips.path(i).tolist() for i in range(3)] == [path.tolist() for path in alone]


@every_device
def test_skim_and_load_follow_the_paths(device: str) -> None:
    edges = [(0, 1, 5), (0, 1, 4), (1, 2, 3), (2, 0, 9), (3, 3, 1)]
    g = sssp.Graph.from_arcs(*np.array(edges).T)
    trips = sssp.pairs(g, [0, 0, 1, 3, 2], [2, 2, 1, 0, 1], predecessors=True, device=device)
    assert trips.path_arcs(0).tolist() == g.arcs([0, 1], [1, 2]).tolist()
    kilometres = np.array([50, 40, 30, 90, 10])[g.arc_origin]
    unreached_ = np.iinfo(np.int64).max
    assert trips.skim(kilometres).tolist() == [70, 70, 0, unreached_, 130]
    assert trips.skim(kilometres / 4).tolist() == [17.5, 17.5, 0, math.inf, 32.5]
    assert trips.load([1, 2, 4, 0, 8]).tolist() == [0, 11, 3, 8, 0]
    assert trips.load([0.5, 0, 0, 0, 0]).tolist() == [0, 0.5, 0.5, 0, 0]
    with pytest.raises(sssp.UnreachableError, match="trip 3, from vertex 3 to vertex 0"):
        trips.load([1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"shape \(5,\), not \(2,\)"):
        trips.load([1, 2])
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(5,\); values\[graph.arc_origin\]"):
        trips.skim([1, 2, 3, 4, 5])


def test_sums_along_paths_are_exact_or_refused() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [1, 1, 1])
    trips = sssp.pairs(g, 0, [3, 2], predecessors=True)
    whole = sssp.pairs(g, 0, 3, predecessors=True)
    assert whole.skim([2**62, 2**62, -(2**62)]).tolist() == [2**62]
    with pytest.raises(sssp.DistanceOverflowError, match="values along a path"):
        trips.skim([2**62, 2**62, -(2**62)])
    with pytest.raises(sssp.DistanceOverflowError, match="trip 1, from vertex 0 to vertex 2"):
        trips.skim([2**62, 2**62 - 1, -1])
    assert trips.load([2**62, -(2**62)]).tolist() == [0, 0, 2**62]
    with pytest.raises(sssp.DistanceOverflowError, match="volumes on an arc"):
        trips.load([2**62, 2**62])
    with pytest.raises(ValueError, match="value of arc 1 on the path of trip 0"):
        trips.skim([1.0, math.inf, 1.0])
    with pytest.raises(ValueError, match="volume of trip 1"):
        trips.load([1.0, math.nan])


def test_trips_speak_labels_and_travel() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5], labels=["home", "shop", "work"])
    trips = sssp.pairs(g, g.vertices(["home", "home"]), 2, predecessors=True, limit=9)
    assert trips.path_labels(-1) == ["home", "shop", "work"]
    assert repr(trips) == (
        "<Trips 2 trips, limit 9, with paths, 2 reached; distances int32; by delta-stepping on cpu>"
    )
    assert trips.to_float().tolist() == [9.0, 9.0]
    trips.skim([1, 1])
    again = pickle.loads(pickle.dumps(trips))
    assert again.path(1).tolist() == [0, 1, 2]
    assert again.distances.tolist() == [9, 9]
    assert len(sssp.pairs(g, [], 0)) == 0
    assert sssp.pairs(g, [], [], predecessors=True).load([]).tolist() == [0, 0]
    with pytest.raises(sssp.UnreachableError, match="has no path within the limit of 8"):
        sssp.pairs(g, 0, 2, predecessors=True, limit=8).path(0)


@pytest.mark.parametrize("method", ["auto", "dijkstra", "a-star"])
def test_trips_that_take_more_memory_than_they_may_are_refused(method: str) -> None:
    g = sssp.road_like(300)
    random = np.random.default_rng(1)
    sources, targets = random.integers(0, g.n, (2, 100_000))
    sssp.pairs(g, sources[:9], targets[:9], method=method, threads=1)
    tracemalloc.start()
    sssp.pairs(g, sources, targets, method=method, threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    asked: dict[str, Any] = {"method": method, "threads": 1}
    with pytest.raises(sssp.DeviceError, match=r"\(the trips 8,000,000\).* fewer trips at a time"):
        sssp.pairs(g, sources, targets, memory_limit=0.6 * peak, **asked)
    sssp.pairs(g, sources, targets, memory_limit=1.6 * peak, **asked)
    # they count beside a search, too
    with pytest.raises(sssp.DeviceError, match=r"the answer 8,[\d,]+, a search"):
        sssp.pairs(g, sources, targets, memory_limit=8_000_001, method="dijkstra")


def test_what_is_no_trip_is_refused() -> None:
    g = sssp.road_like(50)
    with pytest.raises(ValueError, match=r"2 sources and 3 targets.*shortest_paths\(g, sources"):
        sssp.pairs(g, [1, 2], [1, 2, 3])
    with pytest.raises(sssp.VertexError, match="target 5000 is not a vertex"):
        sssp.pairs(g, [1], [5000])
    with pytest.raises(sssp.VertexError, match="source -1 is not a vertex"):
        sssp.pairs(g, -1, [5])
    with pytest.raises(ValueError, match=r"unknown method 'astar'; choose from auto, .*a-star"):
        sssp.pairs(g, 1, 2, method="astar")
    with pytest.raises(ValueError, match=r"unknown method 'a-star'"):
        sssp.shortest_paths(g, 1, method="a-star")
    with pytest.raises(sssp.DeviceError, match="a-star does not run on cuda"):
        sssp.pairs(g, 1, 2, method="a-star", device="cuda")
    with pytest.raises(sssp.DeviceError, match="the landmarks"):
        sssp.pairs(g, 1, 2, method="a-star", memory_limit=1000)
    with pytest.raises(sssp.DeviceError, match="the paths so far"):
        sssp.pairs(g, 1, range(50), predecessors=True, memory_limit=50 * TRIP_BYTES + 1500)
    negative = sssp.Graph.from_arcs([0, 1], [1, 2], [1, -2])
    with pytest.raises(sssp.NegativeWeightError, match="a-star needs weights >= 0"):
        sssp.pairs(negative, 0, 2, method="a-star")
    zero = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 0])
    assert sssp.pairs(zero, 0, [2], method="a-star").distances.tolist() == [1]
    long = sssp.Graph.from_arcs([0, 1], [1, 2], [1e308, 1e280])
    with pytest.raises(ValueError, match="a sum of floats absorbs it"):
        sssp.pairs(long, 0, 2, method="a-star", predecessors=True)
    with pytest.raises(ValueError, match="every weight is above 0"):
        sssp.pairs(zero, 0, 2, method="a-star", predecessors=True)
    trips = sssp.pairs(g, [1], [2])
    with pytest.raises(ValueError, match=r"call pairs\(predecessors=True\)"):
        trips.path(0)
    with pytest.raises(sssp.VertexError, match="trip 1 does not exist: the call had 1 trips"):
        sssp.pairs(g, [1], [2], predecessors=True).path(1)
