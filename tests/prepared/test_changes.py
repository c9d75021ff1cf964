"""Versions of a prepared map, some of whose arcs weigh something else."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sssp
from sssp.prepared.scenarios import Scenarios, build_in_batches
from tests import naive
from tests.prepared.conftest import assert_same_weights
from tests.strategies import DYADIC, LARGE_INTEGERS, SMALL_INTEGERS, graph_of, networks


def anew(h: sssp.Hierarchy) -> sssp.Hierarchy:
    """Return the same map, all of whose weights are found anew."""
    return h.with_weights(h.graph.weights)


def assert_same_answers(one: sssp.Hierarchy, other: sssp.Hierarchy, seed: int = 0) -> None:
    """Ask all that sweeps and climbs are made of; floats agree to the bit."""
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, one.n, (2, 20))
    kinds: list[dict[str, Any]] = [{}, {"targets": targets}, {"nearest": True}]
    for asked in (sources[0], sources):
        for options in kinds:
            np.testing.assert_array_equal(
                sssp.shortest_paths(one, asked, **options).distances,
                sssp.shortest_paths(other, asked, **options).distances,
            )
    starts, ends = rng.integers(0, one.n, (2, 200))
    trips, wanted = sssp.pairs(one, starts, ends), sssp.pairs(other, starts, ends)
    np.testing.assert_array_equal(trips.distances, wanted.distances)
    for i in np.flatnonzero(trips.reached)[:5]:
        way = sssp.pairs(one, starts[i], ends[i], predecessors=True).path(0)
        same = sssp.pairs(other, starts[i], ends[i], predecessors=True).path(0)
        np.testing.assert_array_equal(way, same)
    if one.least_weight >= 0:
        limit = np.median(wanted.distances[wanted.reached])
        near = sssp.shortest_paths(one, sources[0], limit=limit, output="sparse")
        far = sssp.shortest_paths(other, sources[0], limit=limit, output="sparse")
        assert near.reached.nnz == far.reached.nnz
        assert (near.distances != far.distances).nnz == 0


@given(networks(SMALL_INTEGERS, least_n=1) | networks(DYADIC, least_n=1), st.data())
def test_versions_of_versions_of_small_graphs(network: naive.Network, data: st.DataObject) -> None:
    g = graph_of(network)
    version = sssp.prepare(g)
    weights = DYADIC if g.weights.dtype.kind == "f" else SMALL_INTEGERS
    arcs = st.lists(st.integers(0, g.m - 1), max_size=3) if g.m else st.just([])
    for _ in range(4):
        some = data.draw(arcs)
        if data.draw(st.booleans()):
            version = version.without_arcs(some)
        else:
            version = version.with_changes(some, [data.draw(weights) for _ in some])
        if data.draw(st.booleans()):
            version = version.reverse()
        np.testing.assert_array_equal(
            sssp.shortest_paths(version, range(g.n)).distances,
            sssp.shortest_paths(version.graph, range(g.n)).distances,
        )


@given(networks(LARGE_INTEGERS, least_n=1), st.data())
def test_weights_that_need_another_dtype(network: naive.Network, data: st.DataObject) -> None:
    g = graph_of(network)
    version = sssp.prepare(g)
    for _ in range(2 * min(g.m, 1)):
        arc = data.draw(st.integers(0, g.m - 1))
        version = version.with_changes(arc, data.draw(LARGE_INTEGERS | st.just(2**40)))
        for dtype in (None, np.int64):
            np.testing.assert_array_equal(
                sssp.shortest_paths(version, range(g.n), dtype=dtype).distances,
                sssp.shortest_paths(version.graph, range(g.n), dtype=dtype).distances,
            )


def test_weights_too_large_to_be_asked_about_come_and_go() -> None:
    h = sssp.prepare(sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5]))
    for heavy in (h.with_weights([4, 1 << 62]), h.with_changes(1, 1 << 62)):
        with pytest.raises(sssp.DistanceOverflowError, match="a weight of 4611686018427387904"):
            sssp.shortest_paths(heavy, 0)
        for version, distance in ((heavy.with_changes(1, 7), 11), (heavy.without_arcs(1), None)):
            found = sssp.shortest_paths(version, 0)
            assert found.reached[2] == (distance is not None)
            assert distance in (None, found.distances[2])


@pytest.fixture(scope="module", params=[np.int32, np.float64], ids=["int32", "float64"])
def roads(request: Any) -> sssp.Hierarchy:
    g = sssp.road_like(3000, seed=5)
    weights = g.weights * 0.37 if request.param == np.float64 else g.weights
    return sssp.prepare(g.with_weights(weights))


def test_streets_are_closed_open_again_and_jam(roads: sssp.Hierarchy) -> None:
    g, rng, version = roads.graph, np.random.default_rng(1), roads
    before = sssp.shortest_paths(roads, 0).distances
    closed = np.empty(0, np.int64)
    for step in range(12):
        some = rng.integers(0, g.m, 3)
        streets = np.union1d(some, g.arcs(g.indices[some], g.tails[some]))
        if step % 3 == 0:
            version, closed = version.without_arcs(streets), streets
        elif step % 3 == 1:
            version = version.with_changes(closed, g.weights[closed])
        else:
            version = version.with_changes(some, g.weights[some] * rng.choice([0, 2, 3], 3))
        assert_same_answers(version, anew(version), step)
    np.testing.assert_array_equal(sssp.shortest_paths(roads, 0).distances, before)
    searched = sssp.shortest_paths(version.graph, 0, predecessors=True)
    swept = sssp.shortest_paths(version, 0, predecessors=True)
    np.testing.assert_array_equal(swept.predecessors, searched.predecessors)


def test_what_has_not_changed_is_shared(roads: sssp.Hierarchy) -> None:
    arcs = np.arange(0, 200, 20)
    version = roads.without_arcs(arcs[:5]).without_arcs(arcs[5:])
    dtype = roads.graph.weights.dtype
    held = version._layered(dtype)
    assert held.whole is roads._layered(dtype).whole
    assert held.base_up is roads._layered(dtype).base_up
    assert 0 < held.layer.ranks.size < roads.n / 4
    again = version.with_changes(arcs, roads.graph.weights[arcs])
    assert again._layered(dtype).layer.ranks.size == 0, "as it was"
    assert_same_weights(version, anew(version))


@pytest.mark.parametrize("share", [0.05, 1])
def test_more_than_pays(roads: sssp.Hierarchy, share: float) -> None:
    arcs = np.flatnonzero(np.random.default_rng(2).random(roads.m) < share)
    assert_same_answers(
        slower := roads.with_changes(arcs, 7 * roads.graph.weights[arcs]), anew(slower)
    )
    parts = roads
    for some in np.array_split(arcs[:600], 6):
        parts = parts.without_arcs(some)
    assert_same_answers(parts, anew(parts))


def test_parts_that_nobody_reaches_come_and_go(roads: sssp.Hierarchy) -> None:
    g = roads.graph
    around = np.flatnonzero((g.tails == 50) | (g.indices == 50))
    cut = roads.without_arcs(around)
    row = sssp.shortest_paths(cut, [0, 1, 2]).reached[:, 50]
    assert not row.any()
    back = cut.with_changes(around, g.weights[around])
    np.testing.assert_array_equal(
        sssp.shortest_paths(back, [0, 1, 2]).distances,
        sssp.shortest_paths(roads, [0, 1, 2]).distances,
    )


def test_changes_of_a_reversed_map(roads: sssp.Hierarchy) -> None:
    back = roads.reverse()
    arcs = [3, 70, 400]
    for version in (back.without_arcs(arcs), back.with_changes(arcs, [5, 0, 9]).without_arcs(3)):
        assert_same_answers(version, anew(version))
        assert_same_answers(version.reverse(), anew(version.reverse()))


def test_a_map_is_reversed_any_number_of_times(roads: sssp.Hierarchy) -> None:
    back = roads.reverse()
    assert back.reverse() is roads
    version = back
    for _ in range(2001):
        version = version.reverse()
    assert version is roads
    changed = back.without_arcs([3])
    for version in (changed.reverse(), changed.reverse().reverse()):
        assert_same_answers(version, anew(version))


def test_a_negative_cycle_of_a_reversed_map_is_one_of_its_graph() -> None:
    back = sssp.prepare(sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [4, 5, 6])).reverse()
    arc = back.graph.arc(1, 0)
    for ask in (back.with_changes, lambda *change: list(back.scenarios([change]))):
        with pytest.raises(sssp.NegativeCycleError) as caught:
            ask(arc, -20)
        cycle = caught.value.cycle
        assert cycle[cycle.index(0) :] + cycle[: cycle.index(0)] == [0, 2, 1]


def test_negative_weights_come_and_go() -> None:
    g = sssp.road_like(500, seed=1)
    h = sssp.prepare(g)
    arc = int(np.argmax(g.weights))
    downhill = h.without_arcs([0]).with_changes(arc, -5)
    np.testing.assert_array_equal(
        sssp.shortest_paths(downhill, range(20)).distances,
        sssp.shortest_paths(downhill.graph, range(20)).distances,
    )
    with pytest.raises(sssp.NegativeCycleError):
        h.with_changes(arc, -(10**6))
    up_again = downhill.with_changes(arc, 5)
    assert_same_answers(up_again, anew(up_again))


def test_threads_may_make_versions_of_one_map(roads: sssp.Hierarchy) -> None:
    def distances(arc: int) -> Any:
        return sssp.shortest_paths(roads.without_arcs(arc), arc % roads.n, threads=1).distances

    arcs = range(0, roads.m, 60)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(distances, arcs))
    for arc, row in zip(arcs, found, strict=True):
        g = roads.graph.without_arcs(arc)
        wanted = sssp.shortest_paths(g, arc % g.n, threads=1).distances
        np.testing.assert_allclose(row, wanted, rtol=1e-12)


def scenarios_of(g: sssp.Graph) -> list[Any]:
    rng = np.random.default_rng(4)
    closed = np.iinfo(np.int64).max if g.weights.dtype.kind == "i" else np.inf
    return [
        g.weights * 2,
        ([5, 6, 7], closed),
        (3, 1),
        (np.arange(g.m), rng.integers(1, 1000, g.m)),
        g.weights[::-1].tolist(),
        ([], []),
        g.weights * 1.5,
    ]


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_scenarios_are_what_they_are_one_by_one(roads: sssp.Hierarchy, batch: int) -> None:
    g = roads.graph
    changes = scenarios_of(g)
    found = list(roads.scenarios(iter(changes), batch=batch))
    assert len(found) == len(changes)
    for version, change in zip(found, changes, strict=True):
        wanted = g.with_changes(*change) if isinstance(change, tuple) else g.with_weights(change)
        np.testing.assert_array_equal(version.graph.weights, wanted.weights)
        assert version._structure is roads._structure
        assert_same_answers(version, anew(version))
        changed = version.without_arcs([0, 1])
        assert_same_answers(changed, anew(changed))


def test_scenarios_are_made_when_they_are_asked_for(roads: sssp.Hierarchy) -> None:
    taken = []

    def changes() -> Iterator[Any]:
        for number in count():
            taken.append(number)
            yield number % roads.m, 7

    scenarios = roads.scenarios(changes(), batch=3)
    assert not taken
    first = next(scenarios)
    assert len(taken) == 3
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None, "nobody else keeps it"
    for _ in range(3):
        last = next(scenarios)
    assert len(taken) == 6
    assert last.graph.weights[3] == 7
    assert list(roads.scenarios([])) == []


@pytest.mark.parametrize("kind", [np.asarray, list, memoryview])
@pytest.mark.parametrize("batch", [1, 2, 64])
def test_a_generator_may_refill_its_arrays(roads: sssp.Hierarchy, batch: int, kind: Any) -> None:
    whole, some, arcs = np.empty(roads.m, np.int64), np.empty(2, np.int64), np.empty(2, np.int64)

    def changes() -> Iterator[Any]:
        held = kind(whole) if kind is not list else whole.tolist()
        for number in range(1, 4):
            whole.fill(number)
            if kind is list:
                held[:] = whole.tolist()
            yield held
        for number in range(4, 7):
            some.fill(number)
            arcs[:] = number, number + 1
            yield arcs, some

    found = list(roads.scenarios(changes(), batch=batch))
    for number, version in enumerate(found, 1):
        weights = version.graph.weights
        changed = np.arange(roads.m) if number < 4 else np.array([number, number + 1])
        wanted = roads.graph.with_changes(changed, np.full(changed.size, number))
        np.testing.assert_array_equal(weights, wanted.weights)


def test_light_changes_are_made_without_other_threads() -> None:
    def make(change: str, threads: int) -> tuple[bool, int]:
        return threading.current_thread() is threading.main_thread(), threads

    changes = ["light", "light", "heavy", "light", "heavy", "heavy"]
    batches = build_in_batches(make, changes, 2, 4, is_light=lambda change: change == "light")
    made = list(Scenarios(batches))
    here = [alone for alone, _ in made]
    # (of two heavy ones in a batch the calling thread may take either)
    assert all(here[:4]), "a light one is here, and a heavy one alone in its batch"
    assert [threads for _, threads in made] == [4, 4, 4, 4, 2, 2]


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (([0, 10**9], 1), IndexError),
        ([1, 2, 3], ValueError),
        ((1, 2, 3), TypeError),
        ((0, "x"), TypeError),
        ((0, -(10**9)), sssp.NegativeCycleError),
    ],
)
def test_an_error_names_its_scenario(
    roads: sssp.Hierarchy, change: Any, error: type[Exception], batch: int
) -> None:
    scenarios = roads.scenarios([(0, 5), (1, 5), change, (10**9, 5)], batch=batch)
    with pytest.raises(error, match=r"^scenario 2: "):
        list(scenarios)
    with pytest.raises(ValueError, match="batch must be an integer of 1 or more, not 0"):
        roads.scenarios([], batch=0)
