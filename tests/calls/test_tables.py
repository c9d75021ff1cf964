"""OD tables with fewer targets than sources are searched from the targets."""

from __future__ import annotations

import numpy as np
import pytest

import sssp
from tests.solvers import every_device


def by_rows(g: sssp.Graph, sources: np.ndarray, **options: object) -> np.ndarray:
    """Find a table source by source."""
    return np.array([sssp.shortest_paths(g, int(s), **options).distances for s in sources])  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def one_way() -> sssp.Graph:
    """A network whose weights differ by direction, with some arcs closed."""
    g = sssp.road_like(300, seed=2)
    random = np.random.default_rng(0)
    g = g.with_weights(random.integers(1, 100, g.m))
    return g.without_arcs(random.integers(0, g.m, 40))


@every_device
def test_a_thousand_homes_and_two_jobs_are_two_searches(device: str) -> None:
    tails, heads, weights = [0, 1, 2, 3, 4, 1], [1, 2, 3, 4, 0, 3], [4, 1, 7, 3, 5, 9]
    g = sssp.Graph.from_arcs(tails, heads, weights, n=6)
    homes = [0, 1, 2, 3, 4, 5, 1]
    table = sssp.shortest_paths(g, homes, targets=[3, 0], device=device)
    assert table.distances.tolist() == [
        [12, 0], [8, 16], [7, 15], [0, 8], [17, 5], [2**31 - 1] * 2, [8, 16]
    ]  # fmt: skip
    assert {counts.shape for counts in table.stats.values()} == {(2,)}
    assert table.distance(3, row=4) == 17
    assert table.graph is g
    assert table.sources.tolist() == homes
    sssp.verify(g, table)


def test_a_table_from_the_targets_is_the_one_from_the_sources(one_way: sssp.Graph) -> None:
    homes, jobs = np.arange(0, 300, 2), [7, 7, 250]
    for options in ({}, {"limit": 900}, {"dtype": "int64"}, {"method": "breadth-first"}):
        expected = by_rows(one_way, homes, targets=jobs, **options)
        table = sssp.shortest_paths(one_way, homes, targets=jobs, **options)
        np.testing.assert_array_equal(table.distances, expected)
        assert table.distances.dtype == expected.dtype
        assert {counts.shape for counts in table.stats.values()} == {(3,)}
    to_one = sssp.shortest_paths(one_way, homes, targets=7)
    assert to_one.distances.shape == (150,)
    np.testing.assert_array_equal(to_one.distances, by_rows(one_way, homes, targets=7))
    out = np.zeros((150, 3), np.int32)
    assert sssp.shortest_paths(one_way, homes, targets=jobs, out=out).distances is out
    np.testing.assert_array_equal(out, by_rows(one_way, homes, targets=jobs))


def test_what_might_differ_is_searched_from_the_sources(one_way: sssp.Graph) -> None:
    def searches(g: sssp.Graph, **options: object) -> int:
        r = sssp.shortest_paths(g, [0, 1, 2], targets=[3], **options)  # type: ignore[arg-type]
        return int(next(iter(r.stats.values())).size)

    assert searches(one_way) == 1
    assert searches(one_way, predecessors=True) == 3
    assert searches(one_way, dtype="float64") == 3
    assert searches(one_way.with_weights(one_way.weights / 2)) == 3
    long = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**60] * 3)
    assert searches(long) == 3
    # a source that reaches a negative cycle is refused, though its target is not behind it
    cycle = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 1, 3], [1, -3, 1, 1])
    with pytest.raises(sssp.NegativeCycleError):
        sssp.shortest_paths(cycle, [0, 3], targets=[3])


def test_a_table_takes_the_memory_of_its_own(one_way: sssp.Graph) -> None:
    homes = np.arange(300).repeat(40)
    limit = homes.size * (8 + 4) + 20_000  # whole rows would take 14 MB
    table = sssp.shortest_paths(one_way, homes, targets=[5], memory_limit=limit)
    np.testing.assert_array_equal(table.distances[::40, 0], by_rows(one_way, range(300), targets=5))  # type: ignore[arg-type]


def test_an_overflow_of_a_table_names_the_distance() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [2**30, 2**30])
    with pytest.raises(sssp.DistanceOverflowError, match="2147483648 does not fit int32"):
        sssp.shortest_paths(g, [0, 1, 2], targets=[2], dtype="int32")
    assert sssp.shortest_paths(g, [0, 1, 2], targets=2).distances.tolist() == [2**31, 2**30, 0]
