"""The arcs of every vertex from the lightest on, as the settling threshold wants them."""

from __future__ import annotations

import numpy as np
import pytest

import sssp
from sssp.graph.arc_orders import arcs_by_weight


@pytest.mark.parametrize("greatest", [0, 9, 10**6])
def test_arcs_of_a_vertex_stand_by_weight_and_then_by_head(greatest: int) -> None:
    rng = np.random.default_rng(greatest)
    # from none to as many arcs as no insertion would sort
    degrees = np.array([300, 16, 0, 17, 1, 18, 2, 33])
    tails = np.repeat(np.arange(degrees.size), degrees)
    heads = np.concatenate([rng.permutation(300)[:degree] + 8 for degree in degrees])
    g = sssp.Graph.from_arcs(tails, heads, rng.integers(0, greatest + 1, tails.size), n=308)
    found = arcs_by_weight(g, np.dtype(np.int32))
    order = np.lexsort((g.indices, g.weights, g.tails))
    np.testing.assert_array_equal(found.indices, g.indices[order])
    np.testing.assert_array_equal(found.weights, g.weights[order])
