"""Threshold-batched Dijkstra: the phases, for the answers are tested with all methods'."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp import datasets
from tests import naive
from tests.naive import Arc, Network
from tests.strategies import DYADIC, ODDITIES, SMALL_INTEGERS, graph_of, networks

both_criteria = pytest.mark.parametrize("criterion", ["out", "in-out"])
#: phases from vertex n // 2
NEW_YORK = {
    ("USA-road-d.NY", "out"): 4397,
    ("USA-road-d.NY", "in-out"): 4122,
    ("USA-road-t.NY", "out"): 3180,
    ("USA-road-t.NY", "in-out"): 2992,
}


def check(network: Network, source: int, criterion: str) -> None:
    """Compare the statistics of a search with those of the reference."""
    expected = naive.threshold_phases(network, source, criterion)
    r = sssp.shortest_paths(
        graph_of(network), source, method=sssp.ThresholdDijkstra(criterion=criterion)
    )
    assert r.stats["phases"] == len(expected.settled)
    assert r.stats["settled"] == sum(expected.settled) == len(expected.distances)
    assert r.stats["largest_open"] == expected.largest_open
    assert r.stats["open"] >= r.stats["settled"]
    missing = np.inf if r.distances.dtype.kind == "f" else np.iinfo(r.distances.dtype).max
    assert r.distances.tolist() == [expected.distances.get(v, missing) for v in range(network.n)]


@both_criteria
@settings(max_examples=200)
@given(
    network=networks(SMALL_INTEGERS, least_n=1)
    | networks(DYADIC, least_n=1)
    | networks(st.integers(0, 1000), least_n=1),
    data=st.data(),
)
def test_phases_and_open_vertices_are_those_of_the_reference(
    criterion: str, network: Network, data: st.DataObject
) -> None:
    check(network, data.draw(st.integers(0, network.n - 1)), criterion)


@both_criteria
@pytest.mark.parametrize("name", ["star", "all weights zero", "one vertex", "parallel arcs"])
def test_odd_graphs_go_through_the_phases_of_the_reference(criterion: str, name: str) -> None:
    check(ODDITIES[name], 0, criterion)


@both_criteria
def test_vertices_at_the_threshold_itself_settle(criterion: str) -> None:
    # with < instead of <= no phase would ever settle anything here
    n = 50
    zeros = Network(n, tuple(Arc(v, w, 0) for v in range(n) for w in (v + 1, v + 7) if w < n))
    r = sssp.shortest_paths(
        graph_of(zeros), 0, method=sssp.ThresholdDijkstra(criterion=criterion), predecessors=True
    )
    assert r.distances.tolist() == [0] * n
    assert r.stats["settled"] == n
    sssp.verify(graph_of(zeros), r)


def test_equal_weights_settle_a_level_a_phase() -> None:
    side = 12
    grid = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    heads = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    g = sssp.Graph.from_arcs(tails, heads, np.full(tails.size, 5), directed=False)
    r = sssp.shortest_paths(g, 0, method="threshold-dijkstra")
    assert r.stats["phases"] == 2 * side - 1
    assert r.stats["settled"] == side * side
    assert r.stats["largest_open"] == side
    assert r.stats["open"] == side * side


def test_the_in_test_settles_what_nothing_shorter_can_enter() -> None:
    # 2 is far, but only 0 leads there
    arcs = [(0, 1, 1), (1, 3, 1), (3, 1, 1), (0, 2, 100), (2, 4, 1), (4, 5, 1)]
    network = Network(6, tuple(Arc(*arc) for arc in arcs))
    phases = {}
    for criterion in ("out", "in-out"):
        check(network, 0, criterion)
        method = sssp.ThresholdDijkstra(criterion=criterion)
        r = sssp.shortest_paths(graph_of(network), 0, method=method)
        phases[criterion] = r.stats["phases"]
    assert phases == {"out": 5, "in-out": 4}


@both_criteria
def test_every_row_has_statistics_and_targets_save_phases(criterion: str) -> None:
    chain = graph_of(ODDITIES["chain"])
    method = sssp.ThresholdDijkstra(criterion=criterion)
    r = sssp.shortest_paths(chain, [0, 290, 299], method=method, threads=2)
    assert r.stats["phases"].tolist() == [300, 10, 1]
    assert r.stats["settled"].tolist() == [300, 10, 1]
    assert r.stats["largest_open"].tolist() == [1, 1, 1]
    near = sssp.shortest_paths(chain, 0, targets=[3, 9], method=method)
    assert 10 <= near.stats["phases"] <= 11
    within = sssp.shortest_paths(chain, 0, limit=27, method=method)
    assert within.stats["settled"] == 10


@both_criteria
def test_what_an_earlier_search_settled_is_open_to_the_next(criterion: str) -> None:
    random = np.random.default_rng(4)
    tails, heads = random.integers(0, 300, (2, 1000))
    g = sssp.Graph.from_arcs(tails, heads, random.integers(0, 100, 1000), n=300)
    method = sssp.ThresholdDijkstra(criterion=criterion)
    first = sssp.shortest_paths(g, 0, method=method)
    sssp.shortest_paths(g, 0, targets=[5], method=method)
    sssp.shortest_paths(g, 0, limit=50, method=method)
    again = sssp.shortest_paths(g, 0, method=method)
    assert again.stats == first.stats
    assert again.distances.tolist() == first.distances.tolist()


@pytest.mark.parametrize("name", ["USA-road-d.NY", "USA-road-t.NY"])
def test_new_york_takes_as_many_phases_as_is_known(name: str) -> None:
    path = datasets.find(name)
    if path is None:
        pytest.skip(f"{name} is not on this machine; data/README.md says where to get it")
    g = sssp.read_graph(path)
    for criterion in ("out", "in-out"):
        method = sssp.ThresholdDijkstra(criterion=criterion)
        r = sssp.shortest_paths(g, g.n // 2, method=method)
        assert r.stats["phases"] == NEW_YORK[name, criterion]
        assert r.stats["settled"] == g.n
        sssp.verify(g, r)
