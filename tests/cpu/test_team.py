"""One source searched by a team of threads: right every time, and never stuck."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.cpu.search import delta_alone, delta_stepping, delta_team
from sssp.cpu.team import COME, start_thread
from sssp.kernels.jit import compiling_ahead
from tests import naive
from tests.compare import assert_same
from tests.patience import PATIENCE, wait_until
from tests.strategies import (
    DYADIC,
    FLOATS,
    HUGE_INTEGERS,
    LARGE_INTEGERS,
    ODDITIES,
    SMALL_INTEGERS,
    graph_of,
    networks,
    vertex_lists,
)


def never_stuck(test: Callable[..., None]) -> Callable[..., None]:
    """Fail a test that hangs, as a team does whose threads wait for each other."""

    @functools.wraps(test)
    def guarded(*args: Any, **kwargs: Any) -> None:
        failures: list[BaseException] = []

        def run() -> None:
            try:
                test(*args, **kwargs)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        if thread.is_alive():
            pytest.fail(f"the team has not come back within {PATIENCE} s")
        for failure in failures:
            raise failure

    return guarded


#: a team takes over at the first bucket, however little there is to share
AT_ONCE = delta_alone.Pause(window=1, time=0, bucket=0, cost=0, left=0, expanded=0)
#: nanoseconds that a team may be behind so that it stays to the end, and so that it leaves
STAYS, LEAVES = 10**15, -(10**15)


CALL = delta_team._Team.call


@pytest.fixture(autouse=True, scope="module", params=[STAYS, LEAVES], ids=["stays", "leaves"])
def teams_always(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a team take over every search, on graphs of any size."""

    def call_and_wait(team: Any) -> None:
        CALL(team)
        wait_until(lambda: team.meeting.start[COME] == team.threads - 1, "the team")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_stepping, "WORTH_A_TEAM", 0)
        patch.setattr(delta_team, "TEAM_PAYS", AT_ONCE)
        patch.setattr(delta_team, "slack", lambda n, pace: request.param)
        patch.setattr(delta_team._Team, "call", call_and_wait)
        with compiling_ahead():
            yield


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Size of every team that has searched."""
    sizes = []
    work = delta_team._Team.work

    def recorded(team: Any, thread: int) -> int:
        if thread == 0:
            sizes.append(team.threads)
        return work(team, thread)

    monkeypatch.setattr(delta_team._Team, "work", recorded)
    return sizes


def random_graph(n: int, m: int, dtype: Any = np.int64, seed: int = 0) -> sssp.Graph:
    random = np.random.default_rng(seed)
    tails, heads = random.integers(0, n, (2, m))
    return sssp.Graph.from_arcs(tails, heads, random.integers(0, 1000, m).astype(dtype), n=n)


def same(g: sssp.Graph, sources: Any, threads: int, delta: float | None, **options: Any) -> None:
    """Compare a team with Dijkstra's algorithm in every part of the answer."""
    team = sssp.shortest_paths(
        g, sources, method=sssp.DeltaStepping(delta=delta), threads=threads, **options
    )
    alone = sssp.shortest_paths(g, sources, method="dijkstra", **options)
    assert team.stats.keys() == {"expanded", "phases"}
    assert_same(team, alone)


@pytest.mark.parametrize(
    "weights",
    [SMALL_INTEGERS, LARGE_INTEGERS, DYADIC, FLOATS],
    ids=["small", "large", "dyadic", "floats"],
)
@never_stuck
@settings(max_examples=30)
@given(data=st.data())
def test_a_team_agrees_with_dijkstra_in_every_combination(
    weights: st.SearchStrategy[naive.Number], data: st.DataObject
) -> None:
    network = data.draw(networks(weights, least_n=1))
    vertices = st.integers(0, network.n - 1)
    nearest = data.draw(st.booleans())
    sources = data.draw(st.lists(vertices, min_size=1, max_size=4) if nearest else vertices)
    integers = [np.int64] if network.integer else []
    same(
        graph_of(network),
        sources,
        data.draw(st.sampled_from([2, 3])),
        data.draw(st.sampled_from([None, 1e30 if weights is FLOATS else 2.0])),
        nearest=nearest,
        targets=data.draw(st.none() | vertices | vertex_lists(network.n)),
        limit=data.draw(st.none() | st.integers(0, 12) | st.just(2**31)),
        dtype=data.draw(st.sampled_from([None, *integers, np.float64])),
        predecessors=data.draw(st.booleans()),
    )


@never_stuck
@settings(max_examples=50)
@given(network=networks(HUGE_INTEGERS, least_n=1))
def test_a_team_notices_an_overflow_when_dijkstra_does(network: naive.Network) -> None:
    g = graph_of(network)
    try:
        alone = sssp.shortest_paths(g, 0, method="dijkstra").distances
    except sssp.DistanceOverflowError:
        with pytest.raises(sssp.DistanceOverflowError, match="float64"):
            sssp.shortest_paths(g, 0, threads=2)
        return
    try:
        team = sssp.shortest_paths(g, 0, threads=2).distances
    except sssp.DistanceOverflowError:  # a longer path may overflow on the way
        assert sum(sorted(network.lengths().values())[-network.n :]) > 2**62 - 2
    else:
        np.testing.assert_array_equal(team, alone)


@pytest.mark.parametrize("name", ODDITIES)
@never_stuck
def test_odd_graphs_are_no_special_cases_for_a_team(name: str) -> None:
    g = graph_of(ODDITIES[name])
    for delta in (None, max(3.0, g.greatest_weight * 2.0**-59 * g.n)):
        same(g, 0, 2, delta, predecessors=True)
        same(g, [g.n - 1, 0], 3, delta, predecessors=True, nearest=True)


@never_stuck
def test_the_farthest_distances_that_int64_holds_have_buckets() -> None:
    far = 2**62 - 2
    g = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [far - 2**40, 2**40 - 1, 0, 1])
    for threads in (1, 2):
        r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=1), threads=threads)
        assert r.distances.tolist() == [0, far - 2**40, far - 1, far - 1, far]


@pytest.mark.parametrize("threads", [2, 3])
@never_stuck
def test_a_team_is_right_however_its_threads_meet(threads: int, calls: list[int]) -> None:
    g = random_graph(2000, 6000)
    expected = sssp.shortest_paths(g, 0, method="dijkstra", predecessors=True)
    for _ in range(400):
        r = sssp.shortest_paths(g, 0, threads=threads, predecessors=True)
        np.testing.assert_array_equal(r.distances, expected.distances)
        np.testing.assert_array_equal(r.predecessors, expected.predecessors)
    assert calls == [threads] * 400


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("delta", [1, 50, 1e5])
@never_stuck
def test_narrow_and_wide_buckets_agree(dtype: Any, delta: float) -> None:
    g = random_graph(1000, 4000, dtype, seed=1)
    for source in range(20):
        same(g, source, 2, delta, predecessors=True)


@never_stuck
def test_a_bucket_of_more_vertices_than_are_shared_is_relaxed_all_the_same() -> None:
    leaves = delta_team.FRONTIER + 5000
    hub, leaf = np.zeros(leaves, int), np.arange(1, leaves + 1)
    g = sssp.Graph.from_arcs(
        np.concatenate([hub, leaf]), np.concatenate([leaf, leaves + leaf]), np.ones(2 * leaves, int)
    )
    for delta in (1, 4):
        r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=delta), threads=2)
        assert r.distances.tolist() == [0, *[1] * leaves, *[2] * leaves]


@never_stuck
def test_lists_are_empty_again_after_targets_stopped_a_team() -> None:
    g = random_graph(2000, 6000, seed=2)
    for source in range(0, 200, 10):
        same(g, source, 2, None, targets=[source + 1, source + 2])
        same(g, source, 2, None, limit=700, predecessors=True)
        same(g, source, 2, None)


@never_stuck
def test_a_team_that_overflowed_leaves_its_lists_empty() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 4], [2**29, 2**29, 2**29, 5])
    for _ in range(3):
        r = sssp.shortest_paths(g, 0, threads=2)
        assert r.distances.tolist() == [0, 2**29, 2**30, 3 * 2**29, 5]
        assert sssp.shortest_paths(g, 1, threads=2, limit=2**29).distances[2] == 2**29


@never_stuck
def test_a_team_has_as_many_threads_as_the_call_allows(calls: list[int]) -> None:
    g = random_graph(500, 1500)
    for threads in (2, 3, 2, 1, 3):
        sssp.shortest_paths(g, 0, threads=threads)
    assert calls == [2, 3, 2, 3]
    sssp.shortest_paths(g, [0, 1], threads=3)
    sssp.shortest_paths(g, [0, 1], threads=3, nearest=True)
    assert sssp.reduce(g, 0, "count", threads=2) == sssp.reduce(g, 0, "count", threads=1)
    assert calls[4:] == [3, 2]


@never_stuck
def test_several_teams_search_one_graph_at_once() -> None:
    g = random_graph(2000, 6000, seed=3)
    expected = [sssp.shortest_paths(g, s, method="dijkstra").distances for s in range(4)]
    wrong = []

    def ask(source: int) -> None:
        for _ in range(20):
            found = sssp.shortest_paths(g, source, threads=2).distances
            if not np.array_equal(found, expected[source]):
                wrong.append(source)

    callers = [threading.Thread(target=ask, args=(source,)) for source in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_nobody_waits_for_the_kernel_before_searches_have_taken_long(
    calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_team, "_readiness", {})
    monkeypatch.setattr(delta_team, "is_ahead", lambda: False)
    monkeypatch.setattr(delta_team, "is_compiled", lambda *arguments: False)
    monkeypatch.setattr(delta_team, "WORTH_COMPILING", 10**18)
    g = random_graph(2000, 6000)
    sssp.shortest_paths(g, 0, threads=2)
    assert calls == []
    monkeypatch.setattr(delta_team, "WORTH_COMPILING", 1)
    sssp.shortest_paths(g, 0, threads=2)
    sssp.shortest_paths(g, 0, threads=2)
    assert calls == [2, 2]


def test_a_search_that_is_soon_over_starts_no_team(
    calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_team, "TEAM_PAYS", AT_ONCE._replace(window=10**6))
    sssp.shortest_paths(random_graph(500, 1500), 0, threads=2)
    assert calls == []


@pytest.mark.parametrize("most", [0, 1])
def test_where_the_system_has_no_more_threads_one_goes_on_alone(
    most: int, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def start_few(function: Callable[..., object], *arguments: Any) -> None:
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(arguments)
        start_thread(function, *arguments)

    monkeypatch.setattr(delta_team, "start_thread", start_few)
    # (nothing to wait for: the team never comes)
    monkeypatch.setattr(delta_team._Team, "call", CALL)
    same(random_graph(500, 1500), 0, 3, 50, predecessors=True)
    assert len(started) == most
    assert calls == []
