"""Small maps that several files ask."""

from __future__ import annotations

import numpy as np
import pytest

import sssp


@pytest.fixture(scope="module")
def tangle() -> sssp.Hierarchy:
    """A small map with levels above its bundles, and with parts that nobody reaches."""
    tails, heads, weights = np.random.default_rng(0).integers(0, 50, (3, 110))
    return sssp.prepare(sssp.Graph.from_arcs(tails, heads, weights, n=50))


@pytest.fixture(scope="module")
def joined() -> sssp.Hierarchy:
    """A small map on which everybody reaches everybody."""
    return sssp.prepare(sssp.road_like(40, seed=1).largest_component())
