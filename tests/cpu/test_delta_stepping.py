"""Buckets on the CPU: vertices of many arcs, and distances as far as a dtype goes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.cpu.search.delta_stepping import BUCKETS, STRIP, STRIPS
from tests.same_results import assert_same

#: arcs of a vertex that do not fit in one chunk
MANY = 3 * STRIPS * STRIP + 5


def same(g: sssp.Graph, sources: Any, delta: float | None, **options: Any) -> None:
    """Compare with Dijkstra's algorithm in every part of the answer."""
    found = sssp.shortest_paths(
        g, sources, method=sssp.DeltaStepping(delta=delta), device="cpu", **options
    )
    assert_same(found, sssp.shortest_paths(g, sources, method="dijkstra", **options))


@pytest.mark.parametrize(("hub", "a", "b"), list(itertools.permutations([2, 3, 4])))
@pytest.mark.parametrize("delta", [1, 1000])
def test_a_vertex_lowered_twice_while_arcs_of_it_are_left_is_expanded_again(
    hub: int, a: int, b: int, delta: float
) -> None:
    """In a wide bucket: from 10 to 3 in its first chunk, behind vertex 1, and to 2 in its last."""
    leaves = np.arange(6, 6 + MANY)
    tails = np.concatenate([[0, 0, 0, a, a, b, 1], np.full(MANY, hub), leaves])
    heads = np.concatenate([[hub, a, b, 1, hub, hub, 5], leaves, leaves[::-1]])
    weights = np.concatenate([[10, 2, 2, 1, 1, 0, 1], np.arange(MANY) % 50, np.full(MANY, 3)])
    same(sssp.Graph.from_arcs(tails, heads, weights), 0, delta, predecessors=True)


@pytest.mark.parametrize("delta", [None, 1, 50, 1e5])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_hubs_among_arcs_of_no_length_agree_with_dijkstra(
    dtype: type[np.number[Any]], delta: float | None
) -> None:
    random = np.random.default_rng(0)
    n, m = 4000, 12_000
    hubs = np.repeat(random.integers(0, n, 5), MANY)
    tails = np.concatenate([random.integers(0, n, m), hubs, random.integers(0, n, hubs.size)])
    heads = np.concatenate([random.integers(0, n, m + hubs.size), hubs])
    weights = random.integers(0, 2, tails.size) * random.integers(1, 1000, tails.size)
    g = sssp.Graph.from_arcs(tails, heads, weights.astype(dtype), n=n)
    for source in (0, 1, int(hubs[0])):
        same(g, source, delta, predecessors=True)
        same(g, source, delta, targets=[2, 3])
        same(g, source, delta, limit=300)


def test_all_arcs_of_a_hub_are_relaxed_and_all_vertices_without_arcs_are_taken() -> None:
    leaves = np.arange(1, MANY)
    g = sssp.Graph.from_arcs(np.zeros(leaves.size, int), leaves, leaves)
    for delta in (1, 1000):
        r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=delta), device="cpu")
        assert r.distances.tolist() == [0, *leaves]
        assert r.stats["expanded"] == g.n


def test_every_vertex_of_a_chain_has_a_bucket_of_its_own() -> None:
    n = 3 * BUCKETS
    g = sssp.Graph.from_arcs(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 5))
    r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=2), device="cpu")
    assert r.distances.tolist() == list(range(0, 5 * n, 5))
    assert r.stats == {"expanded": n, "phases": n}


def test_the_farthest_distances_that_int64_holds_have_buckets() -> None:
    far = 2**62 - 2
    g = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [far - 2**40, 2**40 - 1, 0, 1])
    r = sssp.shortest_paths(g, 0, method=sssp.DeltaStepping(delta=1), device="cpu")
    assert r.distances.tolist() == [0, far - 2**40, far - 1, far - 1, far]


def test_a_search_after_targets_or_an_overflow_ended_another_finds_its_scratch_clean() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 4], [2**29, 2**29, 2**29, 5])
    for _ in range(3):
        assert sssp.shortest_paths(g, 0, device="cpu", targets=4).distances == 5
        r = sssp.shortest_paths(g, 0, device="cpu")
        assert r.distances.tolist() == [0, 2**29, 2**30, 3 * 2**29, 5]
        assert sssp.shortest_paths(g, 1, device="cpu", limit=2**29).distances[2] == 2**29
