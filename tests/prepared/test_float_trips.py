"""Paths of trips over floats on prepared maps, walked back over arcs tight but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import sssp


def grid(side: int, weights: np.ndarray) -> sssp.Graph:
    """Return a square of streets in both directions."""
    number = np.arange(side * side).reshape(side, side)
    tails = np.concatenate((number[:, :-1].ravel(), number[:-1].ravel()))
    heads = np.concatenate((number[:, 1:].ravel(), number[1:].ravel()))
    return sssp.Graph.from_arcs(tails, heads, weights[: tails.size], directed=False)


def check(trips: sssp.Trips, reference: np.ndarray) -> None:
    """Compare trips with the distances of searches, and their paths with their own distances."""
    graph, within = trips.graph, 4 * np.finfo(np.float64).eps * trips.graph.n
    np.testing.assert_allclose(trips.distances, reference, rtol=within)
    for i in range(trips.distances.size):
        if trips.reached[i]:
            along = graph.weights[trips.path_arcs(i)].sum()
            assert abs(along - trips.distances[i]) <= within * trips.distances[i]
            assert len(set(trips.path(i))) == len(trips.path(i))
    sssp.verify(graph, trips)


@pytest.mark.parametrize("kind", ["irregular", "ties"])
def test_paths_add_up_to_distances_that_sweeps_have_found(kind: str) -> None:
    rng = np.random.default_rng(3)
    # (multiples of a tenth: most paths have others as long, in floats a little longer or shorter)
    weights = rng.random(4000) + 0.01 if kind == "irregular" else rng.integers(1, 4, 4000) / 10
    g = grid(40, weights)
    h = sssp.prepare(g)
    sources, targets = rng.integers(g.n, size=(2, 60))
    targets[:3] = sources[:3]
    for options in ({}, {"limit": 6.0}, {"threads": 1}):
        trips = sssp.pairs(h, sources, targets, predecessors=True, **options)
        assert trips.method == "sweep"
        check(trips, sssp.pairs(g, sources, targets, **options).distances)
    streets = sssp.pairs(h, 0, g.n - 1, predecessors=True).path_arcs(0)[5:9]
    closed = h.without_arcs(streets)
    trips = sssp.pairs(closed, sources, targets, predecessors=True)
    assert trips.method == "sweep"
    check(trips, sssp.pairs(closed.graph, sources, targets).distances)


def test_a_part_that_is_cut_off_is_unreached() -> None:
    g = grid(40, np.full(4000, 0.7))
    corner = np.flatnonzero((g.indices == 0) | (np.repeat(np.arange(g.n), np.diff(g.indptr)) == 0))
    h = sssp.prepare(g).without_arcs(corner)
    trips = sssp.pairs(h, [5, 0, 0], [0, 5, 0], predecessors=True)
    assert trips.reached.tolist() == [False, False, True]
    assert trips.path(2).tolist() == [0]


def test_arcs_that_rounding_could_hide_are_searched() -> None:
    weights = np.full(4000, 0.7)
    weights[17] = 1e-13
    g = grid(40, weights)
    trips = sssp.pairs(sssp.prepare(g), [0, 3], [g.n - 1, 800], predecessors=True)
    assert trips.method == "delta-stepping"
    check(trips, sssp.pairs(g, [0, 3], [g.n - 1, 800]).distances)
