"""Trips from labels that are kept are those of climbs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import sssp

LABELS = "trip labels"


def assert_same_trips(plain: sssp.Hierarchy, labelled: sssp.Hierarchy, **options: Any) -> None:
    rng = np.random.default_rng(1)
    for count in (1, 7, 20_000):
        sources, targets = rng.integers(0, plain.n, count), rng.integers(0, plain.n, count)
        wanted = sssp.pairs(plain, sources, targets, device="cpu", **options)
        found = sssp.pairs(labelled, sources, targets, device="cpu", **options)
        np.testing.assert_array_equal(found.distances, wanted.distances, strict=True)
        np.testing.assert_array_equal(found.stats["climbed"], wanted.stats["climbed"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["tangle", "joined"])
def test_trips_are_those_of_climbs(name: str, threads: int, request: pytest.FixtureRequest) -> None:
    h = request.getfixturevalue(name)
    labelled = h.with_trip_labels()
    assert labelled._trip_labels(np.dtype(np.int32)) is not None
    assert_same_trips(h, labelled, threads=threads)
    assert_same_trips(h, labelled, limit=60)
    assert_same_trips(h.reverse(), h.reverse().with_trip_labels())
    table = np.arange(5)
    for found in (h, labelled):
        rows = sssp.shortest_paths(found, table, targets=table, device="cpu").distances
        np.testing.assert_array_equal(rows, sssp.shortest_paths(h.graph, table).distances[:, :5])


def test_labels_of_changed_arcs(tangle: sssp.Hierarchy) -> None:
    changed = tangle.with_changes([0, 3, 5], [1, 900, 40])
    assert_same_trips(changed, changed.with_trip_labels())


def test_labels_of_negative_and_of_large_weights(tangle: sssp.Hierarchy) -> None:
    heights = np.random.default_rng(2).integers(0, 50, tangle.n)
    graph = tangle.graph
    slopes = graph.weights + heights[graph.indices] - heights[graph.tails]
    assert slopes.min() < 0
    for weights in (slopes, graph.weights.astype(np.int64) << 33):
        h = tangle.with_weights(weights)
        assert_same_trips(h, h.with_trip_labels())


def test_other_weights_have_no_labels(tangle: sssp.Hierarchy) -> None:
    labelled = tangle.with_trip_labels()
    assert LABELS not in tangle._derived
    for version in (
        labelled.with_weights(tangle.graph.weights),
        labelled.without_arcs([0]),
        pickle.loads(pickle.dumps(labelled)),
    ):
        assert LABELS not in version._derived


def test_labels_that_cannot_be_made_are_refused(tangle: sssp.Hierarchy) -> None:
    with pytest.raises(sssp.DeviceError, match=r"needs [0-9,]+ bytes of memory .*may take 100"):
        tangle.with_trip_labels(memory_limit=100)
    with pytest.raises(ValueError, match="integer weights"):
        tangle.with_weights(tangle.graph.weights / 3).with_trip_labels()
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
        tangle.with_trip_labels(memory_limit=-1)
