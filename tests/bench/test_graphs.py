"""The measured grid is the graph that other programs were measured on."""

from __future__ import annotations

import numpy as np
import pytest

import sssp
from bench.graphs import HEAVIER, LIGHTER, continent, percolated_grid


@pytest.mark.parametrize(
    ("width", "height", "n", "m", "total"),
    [(40, 30, 1145, 2898, 29_344_235), (100, 100, 9584, 24_322, 726_352_707)],
)
def test_the_grid_has_the_known_size_and_sum_of_distances(width, height, n, m, total):
    g = percolated_grid(width, height)
    assert (g.n, g.m) == (n, m)
    distances = sssp.shortest_paths(g, n // 2, device="cpu").distances
    assert int(distances.sum()) == total


def test_a_continent_is_countries_joined_by_a_few_roads_over_every_border():
    country, side, crossings = sssp.road_like(400), 3, 4
    g = continent(country, side=side, crossings=crossings)
    assert g.n == side * side * country.n
    assert sssp.shortest_paths(g, 0, device="cpu").reached.all()
    place = np.stack((g.tails, g.indices)) // country.n
    row, column = place // side, place % side
    abroad = place[0] != place[1]
    apart = np.abs(row[0] - row[1]) + np.abs(column[0] - column[1])
    assert (apart[abroad] == 1).all()
    borders, roads = np.unique(np.sort(place[:, abroad], axis=0), axis=1, return_counts=True)
    assert borders.shape[1] == 2 * side * (side - 1)
    assert roads.tolist() == [2 * crossings] * borders.shape[1]
    # every country is the same but for its weights, which are the same both ways
    assert (g.reverse().weights == g.weights).all()
    for copy in range(side * side):
        home = (place == copy).all(axis=0)
        assert (g.tails[home] % country.n).tolist() == country.tails.tolist()
        share = g.weights[home] / country.weights
        assert LIGHTER - 0.01 < share.min() < 1 < share.max() < HEAVIER + 0.01


def test_a_continent_is_the_same_every_time():
    country = sssp.road_like(100)
    weights = [continent(country, side=2, crossings=3, seed=s).weights for s in (1, 1, 2)]
    assert (weights[0] == weights[1]).all()
    assert (weights[0] != weights[2]).any()
