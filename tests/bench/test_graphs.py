"""The measured grid is the graph that other programs were measured on."""

from __future__ import annotations

import pytest

import sssp
from bench.common import percolated_grid


@pytest.mark.parametrize(
    ("width", "height", "n", "m", "total"),
    [(40, 30, 1145, 2898, 29_344_235), (100, 100, 9584, 24_322, 726_352_707)],
)
def test_the_grid_has_the_known_size_and_sum_of_distances(width, height, n, m, total):
    g = percolated_grid(width, height)
    assert (g.n, g.m) == (n, m)
    distances = sssp.shortest_paths(g, n // 2, device="cpu").distances
    assert int(distances.sum()) == total
