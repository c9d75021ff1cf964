"""Delta-stepping on a GPU: what only it has; `tests.test_shortest_paths` asks for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from sssp import datasets
from tests.cuda.same_on_gpu import assert_like_the_cpu
from tests.naive import Arc, Network
from tests.solvers import MANY, SIMULATOR, needs_speed
from tests.strategies import graph_of

pytestmark = pytest.mark.gpu
METHOD = sssp.DeltaStepping()


def random_graph(
    rng: np.random.Generator, n: int, degree: int, weights: np.ndarray[Any, Any]
) -> sssp.Graph:
    tails, heads = rng.integers(0, n, (2, n * degree))
    return sssp.Graph.from_arcs(tails, heads, rng.choice(weights, n * degree), n=n)


def test_a_detour_that_overflows_is_no_overflow(device):
    far = 1 << 61
    g = sssp.Graph.from_arcs([0, 1, 0, 3], [1, 2, 3, 2], [far, far, far + 10, 1])
    r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=1), device=device)
    assert r.distances.tolist() == [0, far, far + 11, far + 10]
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [far, far])
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(g, 0, method="delta-stepping", device=device)


def test_the_threshold_jumps_through_gaps(device):
    arcs = tuple(Arc(v, v + 1, 10**6) for v in range(4))
    r = sssp.shortest_paths(
        graph_of(Network(5, arcs)), 0, method=sssp.DeltaStepping(delta=1), device=device
    )
    assert r.stats["phases"] == 5
    assert r.stats["expanded"] == 5


def test_stops_once_all_targets_are_settled(device):
    arcs = tuple(Arc(v, v + 1, 10) for v in range(50))
    g = graph_of(Network(51, arcs))
    r = sssp.shortest_paths(g, 0, targets=[2, 1], method=sssp.DeltaStepping(delta=5), device=device)
    assert r.distances.tolist() == [20, 10]
    assert r.stats["expanded"] == 3


@pytest.mark.parametrize("method", ["delta-stepping", "threshold-dijkstra"])
@pytest.mark.parametrize("sources", [1, MANY])
@pytest.mark.parametrize("count", [1, 40, 300])
def test_many_targets_end_a_search_as_a_few_do(count, sources, method, device):
    vertices = 350 if SIMULATOR else 20_000
    g = sssp.road_like(vertices)
    near = np.argsort(sssp.shortest_paths(g, 0).distances, kind="stable")
    targets = np.random.default_rng(count).permutation(near[:count])
    whole, some = (
        sssp.shortest_paths(g, [0] * sources, targets=wanted, method=method, device=device)
        for wanted in (None, targets)
    )
    np.testing.assert_array_equal(some.distances, whole.distances[:, targets])
    assert count > g.n // 2 or (some.stats["phases"] < whole.stats["phases"]).all()
    # (one that cannot be reached keeps it going to the end)
    alone = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], n=4)
    r = sssp.shortest_paths(alone, 0, targets=[1, 3, 2], method=method, device=device)
    assert r.reached.tolist() == [True, False, True]
    assert r.distances[[0, 2]].tolist() == [1, 2]


@pytest.mark.parametrize("sources", [1, MANY])
def test_piles_that_are_full_go_on_in_the_common_ones(sources, device, monkeypatch):
    from sssp.cuda.search import delta_stepping

    small = {"NEAR_CAPACITY": 2, "FAR_CAPACITY": 2, "VERTICES_A_BLOCK": 8}
    for name, value in small.items():
        monkeypatch.setattr(delta_stepping, name, value)
    delta_stepping._make_kernel.cache_clear()
    try:
        rng = np.random.default_rng(7)
        for _ in range(1 if SIMULATOR else 100):
            g = random_graph(rng, 30, 4, np.arange(20))
            assert_like_the_cpu(g, [0] * sources, sssp.DeltaStepping(delta=8), predecessors=True)
    finally:
        delta_stepping._make_kernel.cache_clear()


@needs_speed
@pytest.mark.parametrize("sources", [1, MANY])
@pytest.mark.parametrize("degree", [30, 100])
def test_a_warp_may_expand_several_vertices_of_many_arcs(degree, sources, device):
    rng = np.random.default_rng(degree)
    for _ in range(10):
        g = random_graph(rng, 400, degree, np.arange(1, 1000))
        assert_like_the_cpu(g, range(sources) if sources > 1 else 0, METHOD, predecessors=True)


@needs_speed
@pytest.mark.parametrize("name", ["rome99", "USA-road-d.NY", "USA-road-t.NY", "NE-synthetic"])
def test_real_graphs(name, device):
    path = datasets.find(name)
    if path is None:
        pytest.skip(f"{name} is not here; data/README.md says where to get it")
    g = sssp.read_graph(path)
    sources = np.arange(g.n) if g.n < 10_000 else np.random.default_rng(5).integers(0, g.n, 6)
    assert_like_the_cpu(g, sources, METHOD, predecessors=True)
    assert_like_the_cpu(g, int(sources[0]), METHOD, predecessors=True)
    assert_like_the_cpu(g, sources[:9], METHOD, nearest=True, predecessors=True)
    limit = sssp.shortest_paths(g, 0, device=device).distances.max() // 20
    assert_like_the_cpu(g, sources[:100], METHOD, limit=int(limit), predecessors=True)
    sssp.verify(
        g, sssp.shortest_paths(g, 0, method="delta-stepping", device=device, predecessors=True)
    )


@needs_speed
@pytest.mark.parametrize("sources", [1, MANY])
@pytest.mark.parametrize("weights", [[0], [1], [0, 1], [1, 1 << 30], [1, 1 << 60]])
def test_weights_that_break_buckets(weights, sources, device):
    rng = np.random.default_rng(11)
    g = random_graph(rng, 50_000, 8, np.array(weights))
    assert_like_the_cpu(g, rng.integers(0, g.n, sources), METHOD, predecessors=True)


@needs_speed
@pytest.mark.parametrize("sources", [1, MANY])
def test_a_star_and_a_chain(sources, device):
    leaves = 100_000
    weights = np.random.default_rng(3).integers(1, 1000, leaves)
    star = sssp.Graph.from_arcs(
        np.zeros(leaves, np.int32), np.arange(1, leaves + 1), weights, directed=False
    )
    assert_like_the_cpu(star, list(range(sources)), METHOD, predecessors=True)
    length = 1_000_000
    chain = sssp.Graph.from_arcs(
        np.arange(length), np.arange(1, length + 1), np.full(length, 3), directed=False
    )
    assert_like_the_cpu(chain, [length // 2] * sources, METHOD, predecessors=True)


@needs_speed
def test_a_hundred_runs_give_the_same(device):
    g = sssp.road_like(100_000)
    first = sssp.shortest_paths(g, [3] * MANY, method="delta-stepping", device=device)
    assert (first.distances == first.distances[0]).all()
    for _ in range(100):
        again = sssp.shortest_paths(g, 3, method="delta-stepping", device=device)
        np.testing.assert_array_equal(again.distances, first.distances[0])


@needs_speed
def test_the_built_in_graph_with_four_million_vertices(device):
    g = sssp.road_like(4_000_000)
    r = sssp.shortest_paths(g, 0, method="delta-stepping", device=device, predecessors=True)
    sssp.verify(g, r)
