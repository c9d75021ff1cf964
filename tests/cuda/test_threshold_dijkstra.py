"""Threshold-batched Dijkstra on a GPU: what only it has, and statistics like its CPU twin's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import sssp
from sssp import datasets
from tests.cuda.same_on_gpu import assert_like_the_cpu, bytes_needed
from tests.solvers import SIMULATOR, needs_speed

pytestmark = pytest.mark.gpu


def test_sparse_output_and_out(device):
    g = sssp.road_like(20)
    options = {"method": "threshold-dijkstra", "device": device, "limit": 2500}
    dense = sssp.shortest_paths(g, [0, 5], **options)
    sparse = sssp.shortest_paths(g, [0, 5], output="sparse", **options)
    np.testing.assert_array_equal(sparse.reached.toarray(), dense.reached)
    out = np.empty((2, 20), np.int32)
    sssp.shortest_paths(g, [0, 5], out=out, **options)
    np.testing.assert_array_equal(out, dense.distances)


def test_refuses_with_numbers_what_does_not_fit(device):
    with pytest.raises(sssp.DeviceError, match=r"one search [\d,]+"):
        sssp.shortest_paths(
            sssp.road_like(20), 0, method="threshold-dijkstra", device=device, memory_limit=100
        )


def test_splits_sources_into_batches_that_fit(device):
    g = sssp.road_like(20)
    solve = partial(sssp.shortest_paths, g, range(5), method="threshold-dijkstra", device=device)
    of_graph, of_search, _ = bytes_needed(solve)
    found = solve(memory_limit=of_graph + 2 * of_search)
    np.testing.assert_array_equal(found.distances, sssp.shortest_paths(g, range(5)).distances)


def test_frees_the_copy_of_a_graph(device):
    g = sssp.road_like(20)
    before = sssp.shortest_paths(g, 3, method="threshold-dijkstra", device=device)
    copy: Any = g._cached("cuda:0", dict)  # made by the call before
    g.free_device()
    again = sssp.shortest_paths(g, 3, method="threshold-dijkstra", device=device)
    assert g._cached("cuda:0", dict) is not copy
    np.testing.assert_array_equal(before.distances, again.distances)


def test_says_which_methods_and_devices_there_are(device):
    g = sssp.road_like(20)
    with pytest.raises(sssp.DeviceError, match=r"searches that do: .*threshold-dijkstra"):
        sssp.shortest_paths(g, 0, method="dijkstra", device=device)
    with pytest.raises(sssp.DeviceError, match="there is no device 'cuda:99'"):
        sssp.shortest_paths(g, 0, method="threshold-dijkstra", device="cuda:99")
    with pytest.raises(sssp.DeviceError, match="unknown device 'gpu'"):
        sssp.shortest_paths(g, 0, device="gpu")


@needs_speed
@pytest.mark.parametrize("criterion", ["out", "in-out"])
@pytest.mark.parametrize("name", ["rome99", "USA-road-d.NY", "USA-road-t.NY", "NE-synthetic"])
def test_real_graphs(name, criterion, device):
    path = datasets.find(name)
    if path is None:
        pytest.skip(f"{name} is not here; data/README.md says where to get it")
    g = sssp.read_graph(path)
    sources = np.arange(g.n) if g.n < 10_000 else np.random.default_rng(5).integers(0, g.n, 4)
    method = sssp.ThresholdDijkstra(criterion)
    found = sssp.shortest_paths(g, sources, method=method, device=device, predecessors=True)
    expected = sssp.shortest_paths(g, sources, predecessors=True)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)
    sssp.verify(g, sssp.shortest_paths(g, 0, method=method, device=device, predecessors=True))


@needs_speed
def test_lists_longer_than_shared_memory(device):
    leaves = 100_000
    weights = np.random.default_rng(3).integers(1, 1000, leaves)
    g = sssp.Graph.from_arcs(
        np.zeros(leaves, np.int32), np.arange(1, leaves + 1), weights, directed=False
    )
    assert_like_the_cpu(g, [0, 1], sssp.ThresholdDijkstra("out"), predecessors=True)
    assert_like_the_cpu(g, [0, 1], sssp.ThresholdDijkstra("in-out"))


def test_many_open_vertices_and_then_few(device):
    leaves, chain = (300, 10) if SIMULATOR else (20_000, 1000)
    # the last leaves stay open while most are settled, and the chain goes on alone
    weights = np.r_[np.arange(leaves) // (leaves // 4) + 1, np.full(chain, 7)]
    tails = np.r_[np.zeros(leaves, np.int64), 0, leaves + np.arange(1, chain)]
    heads = np.arange(1, leaves + chain + 1)
    arcs_back = np.arange(1, leaves + 1)
    g = sssp.Graph.from_arcs(
        np.r_[tails, arcs_back],
        np.r_[heads, np.full(leaves, leaves + chain + 1)],
        np.r_[weights, 10 * arcs_back],
        n=leaves + chain + 2,
    )
    for criterion in ("out", "in-out"):
        method = sssp.ThresholdDijkstra(criterion)
        assert_like_the_cpu(g, [0, 1], method, predecessors=True)


@pytest.mark.parametrize("degree", [3, 30, 100])
def test_vertices_of_few_and_of_many_arcs(degree, device):
    n = 20 if SIMULATOR else 2000
    rng = np.random.default_rng(degree)
    tails, heads = rng.integers(0, n, (2, n * degree))
    g = sssp.Graph.from_arcs(tails, heads, rng.integers(0, 1000, n * degree), n=n)
    for criterion in ("out", "in-out"):
        method = sssp.ThresholdDijkstra(criterion)
        assert_like_the_cpu(g, [0, 1], method, predecessors=True)


@needs_speed
def test_the_built_in_graph_with_four_million_vertices(device):
    g = sssp.road_like(4_000_000)
    r = sssp.shortest_paths(g, 0, method="threshold-dijkstra", device=device, predecessors=True)
    sssp.verify(g, r)
