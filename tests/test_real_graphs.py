"""Real road networks: known sums of distances, certificates, known counts of phases.

The graphs are not part of the project; without them these tests skip.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sssp
from sssp import datasets
from sssp.bench.papers.baselines import BaselineBellmanFord, BaselineDijkstra
from sssp.methods import Method
from tests.solvers import every_device, needs_speed

METHODS: list[Method] = [
    sssp.Dijkstra(),
    sssp.DeltaStepping(),
    sssp.BellmanFord(),
    sssp.ThresholdDijkstra(criterion="out"),
    sssp.ThresholdDijkstra(criterion="in-out"),
]
#: hopeless on larger graphs
BASELINES: list[Method] = [BaselineDijkstra(), BaselineBellmanFord()]
CASES = [(name, method) for name in datasets.REFERENCE for method in METHODS] + [
    ("rome99", method) for method in BASELINES
]


@cache
def graph(name: str) -> sssp.Graph:
    path = datasets.find(name)
    if path is None:
        pytest.skip(f"{name} is not on this machine (data/README.md says where to get it)")
    return sssp.read_graph(path)


@pytest.mark.parametrize(("name", "method"), CASES, ids=str)
def test_distances_have_the_known_sum_and_are_certified(name: str, method: Method) -> None:
    g, known = graph(name), datasets.REFERENCE[name]
    r = sssp.shortest_paths(g, 0, method=method, predecessors=True)
    assert (g.n, g.m) == (known.n, known.m)
    assert int(r.distances.sum(dtype="int64")) == known.distance_sum
    assert r.distances.max() == known.largest_distance
    assert r.distances.argmax() == known.farthest_vertex
    sssp.verify(g, r)


@pytest.mark.parametrize("name", ["USA-road-d.NY", "USA-road-t.NY"])
def test_many_rows_limits_targets_and_nearest_are_certified(name: str) -> None:
    g = graph(name)
    sources = [0, g.n // 2, g.n - 1]
    whole = sssp.shortest_paths(g, sources, predecessors=True)
    sssp.verify(g, whole)
    limit = int(whole.distances.max()) // 20
    near = sssp.shortest_paths(g, sources, limit=limit, output="sparse", predecessors=True)
    sssp.verify(g, near)
    assert near.distances.nnz == (whole.distances <= limit).sum()
    table = sssp.shortest_paths(g, sources, targets=[17, 200_000], predecessors=True)
    sssp.verify(g, table)
    assert (table.distances == whole.distances[:, [17, 200_000]]).all()
    nearest = sssp.shortest_paths(g, sources, nearest=True, predecessors=True)
    sssp.verify(g, nearest)
    assert (nearest.distances == whole.distances.min(axis=0)).all()


@needs_speed
@every_device
def test_trips_tables_and_facilities_agree_with_whole_rows(device: str) -> None:
    g = graph("USA-road-d.NY")
    random = np.random.default_rng(0)
    places, targets = random.integers(0, g.n, 12), random.integers(0, g.n, 48)
    whole = sssp.shortest_paths(g, places, predecessors=True)
    sources = places.repeat(4)
    trips = sssp.pairs(g, sources, targets, predecessors=True, device=device, threads=1)
    assert trips.method == ("a-star" if device == "cpu" else "delta-stepping")
    for i, (trip, target) in enumerate(zip(trips.distances, targets.tolist(), strict=True)):
        assert trip == whole.distances[i // 4, target]
        assert (trips.path(i) == whole.path(target, row=i // 4)).all()

    table = sssp.shortest_paths(g, places, targets=targets[:3], device=device)
    assert (table.distances == whole.distances[:, targets[:3]]).all()

    nearest = sssp.nearest(g, places, k=3, device=device, limit=10**9)
    order = whole.distances.argsort(axis=0, kind="stable")[:3].T
    assert (nearest.index == order).all()


def test_breadth_first_counts_the_known_number_of_arcs() -> None:
    g = graph("USA-road-d.NY")
    r = sssp.shortest_paths(g, [0, g.n // 2], method="breadth-first", predecessors=True)
    assert r.distances.max(axis=1).tolist() == [619, 448]
    sssp.verify(g, r)


@pytest.mark.parametrize(
    ("name", "criterion", "phases"),
    [
        ("USA-road-d.NY", "out", 4397),
        ("USA-road-d.NY", "in-out", 4122),
        ("USA-road-t.NY", "out", 3180),
        ("USA-road-t.NY", "in-out", 2992),
    ],
)
def test_threshold_dijkstra_takes_the_known_number_of_phases(
    name: str, criterion: str, phases: int
) -> None:
    g = graph(name)
    r = sssp.shortest_paths(g, g.n // 2, method=sssp.ThresholdDijkstra(criterion=criterion))
    assert (r.stats["phases"], r.stats["settled"]) == (phases, g.n)
