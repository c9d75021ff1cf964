"""Bellman-Ford on a GPU, in all its forms: what only it has; the suites ask for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from sssp import BellmanFord, datasets
from tests.cuda.same_on_gpu import assert_like_the_cpu
from tests.solvers import SIMULATOR, needs_speed

pytestmark = pytest.mark.gpu
METHODS = [BellmanFord(), BellmanFord(variant="pull"), BellmanFord(streams=2)]
every_form = pytest.mark.parametrize("method", METHODS, ids=["push", "pull", "streamed"])


@every_form
def test_few_sources_are_searched_by_all_blocks_in_turn(method, device, monkeypatch):
    from sssp.cuda.search.bellman_ford import rounds

    monkeypatch.setattr(rounds, "VERTICES_A_SOURCE", 4)
    g = sssp.road_like(20)
    assert_like_the_cpu(g, [0, 7, 19], method, predecessors=True)


@every_form
def test_returns_a_negative_cycle(method, device):
    n = 6 if SIMULATOR else 3000
    weights = np.full(n, 5)
    weights[n // 2] = -5 * n
    g = sssp.Graph.from_arcs(np.arange(n), (np.arange(n) + 1) % n, weights)
    with pytest.raises(sssp.NegativeCycleError, match=f"with {n} vertices") as caught:
        sssp.shortest_paths(g, [0, 3], method=method, device=device)
    first = caught.value.cycle.index(0)
    assert caught.value.cycle[first:] + caught.value.cycle[:first] == list(range(n))


@pytest.mark.parametrize("sources", [3, [3, 7, 0]])
@pytest.mark.parametrize("streams", [0, 3])
def test_solves_graphs_whose_arcs_exceed_the_memory_limit(streams, sources, device):
    n = 12 if SIMULATOR else 20_000
    g = sssp.road_like(n)
    needed = (n + 1) * (4 + 1 + 8 + 24 + 4) + g.m * 8 // 3  # a row, scratch, a third of the arcs
    r = sssp.shortest_paths(
        g, sources, method=BellmanFord(streams=streams), device=device, memory_limit=needed
    )
    copy: Any = g._cached("cuda:0", dict)  # made by the call
    assert copy.held("weights, int32") is None
    np.testing.assert_array_equal(r.distances, sssp.shortest_paths(g, sources).distances)


def test_a_negative_cycle_whose_arcs_are_never_here_together_is_found(device):
    n = 60 if SIMULATOR else 600_000
    cycle = np.arange(12) * (n // 12)
    others = np.arange(n)
    tails = np.concatenate((others, cycle))
    heads = np.concatenate((others // 2, np.roll(cycle, -1)))
    weights = np.concatenate((np.full(n, 20), np.full(11, 1), [-12]))
    g = sssp.Graph.from_arcs(tails, heads, weights)
    # a row, scratch with predecessors, a third of the arcs
    needed = (n + 1) * (4 + 1 + 8 + 24 + 4 + 4) + g.m * 8 // 3
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(g, 0, method=BellmanFord(streams=2), device=device, memory_limit=needed)
    assert sorted(caught.value.cycle) == cycle.tolist()


def test_refuses_with_numbers_a_tree_whose_arcs_exceed_the_memory_limit(device):
    g = sssp.road_like(60)
    with pytest.raises(sssp.DeviceError, match=r"one search [\d,]+"):
        sssp.shortest_paths(
            g, 0, method="bellman-ford", device=device, memory_limit=1000, predecessors=True
        )


def test_names_an_option_that_is_none():
    with pytest.raises(ValueError, match="variant must be 'push' or 'pull', not 'shove'"):
        BellmanFord(variant="shove")
    with pytest.raises(ValueError, match="streams must be an int of 0 or more, not -1"):
        BellmanFord(streams=-1)
    with pytest.raises(ValueError, match="streamed transfer needs variant='push'"):
        BellmanFord(variant="pull", streams=2)


@needs_speed
@every_form
@pytest.mark.parametrize("name", ["rome99", "USA-road-d.NY", "USA-road-t.NY", "NE-synthetic"])
def test_real_graphs(name, method, device):
    path = datasets.find(name)
    if path is None:
        pytest.skip(f"{name} is not here; data/README.md says where to get it")
    g = sssp.read_graph(path)
    sources = np.arange(g.n) if g.n < 10_000 else np.random.default_rng(5).integers(0, g.n, 2)
    found = sssp.shortest_paths(g, sources, method=method, device=device, predecessors=True)
    expected = sssp.shortest_paths(g, sources, predecessors=True)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)
    sssp.verify(g, sssp.shortest_paths(g, 0, method=method, device=device, predecessors=True))


@needs_speed
@every_form
def test_potentials_make_weights_of_a_road_network_negative(method, device):
    g = sssp.road_like(50_000)
    heights = np.random.default_rng(1).integers(0, 2000, g.n)
    shifted = g.with_weights(g.weights + heights[g.tails] - heights[g.indices])
    assert shifted.least_weight < 0
    r = sssp.shortest_paths(shifted, 7, method=method, device=device, predecessors=True)
    sssp.verify(shifted, r)
    plain = sssp.shortest_paths(g, 7)
    np.testing.assert_array_equal(r.reached, plain.reached)
    expected = plain.distances + heights[7] - heights
    np.testing.assert_array_equal(r.distances[r.reached], expected[r.reached])


@needs_speed
@every_form
def test_lists_longer_than_shared_memory(method, device):
    leaves = 100_000
    weights = np.random.default_rng(3).integers(1, 1000, leaves)
    g = sssp.Graph.from_arcs(
        np.zeros(leaves, np.int32), np.arange(1, leaves + 1), weights, directed=False
    )
    assert_like_the_cpu(g, [0, 1], method, predecessors=True)


@needs_speed
@every_form
def test_the_built_in_graph_with_four_million_vertices(method, device):
    g = sssp.road_like(4_000_000)
    r = sssp.shortest_paths(g, g.n // 2, method=method, device=device, predecessors=True)
    sssp.verify(g, r)
