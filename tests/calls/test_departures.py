"""Trips at every hour, beside a call with the weights of that hour."""

from __future__ import annotations

import numpy as np
import pytest

import sssp


def test_every_hour_has_the_distances_of_its_weights() -> None:
    g = sssp.road_like(300, seed=2)
    hours = g.weights * np.array([[1], [3], [2]])
    starts, ends = [5, 70, 9], [200, 1, 9]
    for network in (g, sssp.prepare(g)):
        times = sssp.times_by_departure(network, hours, starts, ends)
        assert times.dtype == np.float64
        for hour, weights in enumerate(hours):
            expected = sssp.pairs(g.with_weights(weights), starts, ends).to_float()
            assert times[:, hour].tolist() == expected.tolist()
        again = sssp.times_by_departure(network, iter(hours), starts, ends, limit=4000)
        assert np.array_equal(again, np.where(times <= 4000, times, np.inf))
        assert sssp.times_by_departure(network, [], starts, ends).size == 0


def test_wrong_weights_are_refused() -> None:
    g = sssp.road_like(30, seed=2)
    for network in (g, sssp.prepare(g)):
        with pytest.raises(ValueError, match="5 weights for"):
            sssp.times_by_departure(network, np.ones((2, 5)), [0], [1])
