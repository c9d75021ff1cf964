"""Small maps that several files ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp


def arcs_of(arcs: tuple[np.ndarray[Any, Any], ...]) -> list[tuple[Any, ...]]:
    """List the arcs of a base and a layer: rank, end, weight."""
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    places = dict(zip(ranks.tolist(), range(ranks.size), strict=True))
    found = []
    for rank in range(first.size - 1):
        place, source = places.get(rank), (first, ends, weights)
        if place is not None:
            source = (own_first, own_ends, own_weights)
        start, end = source[0][rank if place is None else place :][:2].tolist()
        found += [
            (rank, *arc) for arc in zip(*(s[start:end].tolist() for s in source[1:]), strict=True)
        ]
    return found


def assert_same_weights(one: sssp.Hierarchy, other: sssp.Hierarchy) -> None:
    dtype = one.graph.weights.dtype
    metric, wanted = one._layered(dtype), other._layered(dtype)
    assert arcs_of(metric.up) == arcs_of(wanted.up)
    assert arcs_of(metric.down) == arcs_of(wanted.down)


@pytest.fixture(scope="module")
def tangle() -> sssp.Hierarchy:
    """A small map with levels above its bundles, and with parts that nobody reaches."""
    tails, heads, weights = np.random.default_rng(0).integers(0, 50, (3, 110))
    return sssp.prepare(sssp.Graph.from_arcs(tails, heads, weights, n=50))


@pytest.fixture(scope="module")
def joined() -> sssp.Hierarchy:
    """A small map on which everybody reaches everybody."""
    return sssp.prepare(sssp.road_like(40, seed=1).largest_component())
