"""Overflow has one outcome, whatever the method: that of exact arithmetic.

A call goes on in int64, or raises, if and only if a distance that it must return does not fit.
Every method is asked the same questions, near 2^30, 2^31 and 2^62.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.papers.methods import BaselineBellmanFord, BaselineDijkstra
from tests import naive
from tests.naive import Arc, Network
from tests.strategies import graph_of

#: the greatest distances that int32 and int64 arithmetic hold, and that an int32 result can
INT32_SUM, INT64_SUM, INT32_RESULT = 2**30 - 2, 2**62 - 2, 2**31 - 2
SEARCHES = ["dijkstra", "delta-stepping", "threshold-dijkstra", "bellman-ford", BaselineDijkstra()]
EDGES = [
    *(2**30 + step for step in (-3, -2, -1, 0)),
    *(2**31 + step for step in (-3, -2, -1, 0)),
    *(2**61 + step for step in (-1, 0)),
    *(2**62 + step for step in (-3, -2)),
]
WEIGHTS = st.sampled_from([0, 1, 2, 2**29, *EDGES])


@st.composite
def networks_near_the_edge(draw: st.DrawFn) -> Network:
    """Draw a small graph whose sums cross the ends of the dtypes."""
    n = draw(st.integers(2, 6))
    vertices = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertices, vertices, WEIGHTS), min_size=1, max_size=12))
    return Network(n, tuple(Arc(*arc) for arc in arcs))


def must_overflow(
    network: Network, sources: list[int], targets: list[int] | None, limit: float
) -> bool:
    """Whether a wanted vertex is unreached in int64 arithmetic though an arc leads on."""
    lengths = network.lengths()
    within = naive.distances(lengths, sources, min(limit, INT64_SUM))
    wanted = range(network.n) if targets is None else targets
    if all(v in within for v in wanted):
        return False
    return any(
        tail in within and head not in within and within[tail] + weight <= limit
        for (tail, head), weight in lengths.items()
    )


def check(
    method: Any, network: Network, sources: list[int], device: str = "cpu", **options: Any
) -> None:
    """Ask a question, and compare the outcome with that of Python's integers."""
    g = graph_of(network)
    targets, limit = options.get("targets"), options.get("limit")
    limit = math.inf if limit is None else limit
    nearest = options.get("nearest", False)
    asked = np.dtype(options["dtype"]) if options.get("dtype") else None

    def ask() -> sssp.ShortestPaths:
        return sssp.shortest_paths(g, sources, method=method, device=device, **options)

    rows = [sources] if nearest else [[source] for source in sources]
    if any(must_overflow(network, row, targets, limit) for row in rows):
        with pytest.raises(sssp.DistanceOverflowError, match="a distance exceeds 4611686018427387"):
            ask()
        return
    wanted = range(network.n) if targets is None else targets
    lengths = network.lengths()
    found = [naive.distances(lengths, row, limit) for row in rows]
    expected = [[row.get(v, math.inf) for v in wanted] for row in found]
    greatest = max([d for row in expected for d in row if d < math.inf], default=0)
    if asked == np.int32 and greatest > INT32_RESULT:
        with pytest.raises(sssp.DistanceOverflowError, match="does not fit int32"):
            ask()
        return
    r = ask()
    fits = greatest <= INT32_RESULT
    assert r.distances.dtype == (asked or (np.int32 if fits else np.int64))
    assert as_lists(r.distances.reshape(len(rows), -1)) == expected


def as_lists(distances: Any) -> list[list[float]]:
    """Return integer distances as Python numbers, inf where nothing is reached."""
    missing = np.iinfo(distances.dtype).max
    return [[math.inf if d == missing else d for d in row] for row in distances.tolist()]


@pytest.mark.parametrize("method", SEARCHES)
@settings(max_examples=60)
@given(data=st.data())
def test_searches_overflow_when_exact_arithmetic_does(method: str, data: st.DataObject) -> None:
    network = data.draw(networks_near_the_edge())
    vertices = st.lists(st.integers(0, network.n - 1), min_size=1, max_size=3)
    options: dict[str, Any] = {
        "targets": data.draw(st.none() | vertices),
        "limit": data.draw(st.none() | st.sampled_from([0, *EDGES, 2**62, 2**63, 2**70])),
        "dtype": data.draw(st.sampled_from([None, np.int32, np.int64])),
        "nearest": data.draw(st.booleans()),
    }
    if max([0, *network.lengths().values()]) > INT64_SUM:
        return  # refused as a weight, before any search
    check(method, network, data.draw(vertices), **options)


@pytest.mark.parametrize("method", SEARCHES)
def test_an_arc_that_no_path_uses_costs_no_dtype(method: str) -> None:
    for heavy in (2**30 - 2, 2**61):
        arcs = (Arc(0, 1, 5), Arc(1, 2, 5), Arc(0, 2, heavy), Arc(1, 0, heavy))
        check(method, Network(4, arcs), [0, 2])
        check(method, Network(4, arcs), [1], targets=[3, 2])


@pytest.mark.parametrize("method", SEARCHES)
def test_what_lies_beyond_int64_matters_only_where_it_is_wanted(method: str) -> None:
    chain = Network(4, (Arc(0, 1, 2**61), Arc(1, 2, 2**61), Arc(2, 3, 1), Arc(0, 3, 7)))
    check(method, chain, [0])  # vertex 2 is too far away
    check(method, chain, [0], targets=[1, 3])
    check(method, chain, [0], limit=2**62 - 1)
    check(method, chain, [0], limit=2**62)
    check(method, chain, [1, 2])


@pytest.mark.parametrize("method", ["bellman-ford", BaselineBellmanFord()])
@pytest.mark.parametrize(("edge", "dtype"), [(2**30, np.int32), (2**62, np.int64)])
def test_a_way_over_a_far_vertex_is_not_missed(method: str, edge: int, dtype: Any) -> None:
    # 3 is too far away for the narrow dtype, but lies on the shortest path to 4
    arcs = (Arc(0, 2, edge // 2), Arc(2, 3, edge // 2), Arc(3, 4, 4 - edge), Arc(0, 4, 9))
    g = graph_of(Network(5, arcs))
    if dtype == np.int32:
        assert sssp.shortest_paths(g, 0, method=method).distance(4) == 4
        return
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(g, 0, method=method)
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(g, 0, method=method, targets=[4])


@pytest.mark.parametrize("method", ["bellman-ford", BaselineBellmanFord()])
def test_a_negative_cycle_is_the_reason_before_an_overflow_is(method: str) -> None:
    weight = -(2**61)
    falls = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [weight] * 4)
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(falls, 0, method=method)
    turns = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 1], [weight] * 4)
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(turns, 0, method=method)
    assert sorted(caught.value.cycle) == [1, 2, 3]


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_overflow_by_the_same_rule(method: str, dtype: Any) -> None:
    half = float(np.finfo(dtype).max) * 0.75
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 3], [half, half, 1.0, 2.0])
    options: Any = {"method": method, "dtype": dtype}
    with pytest.raises(sssp.DistanceOverflowError, match="greatest that float"):
        sssp.shortest_paths(g, 0, **options)
    assert sssp.shortest_paths(g, 0, targets=[1, 3], **options).distances[1] == 2
    assert sssp.shortest_paths(g, 0, limit=half, **options).to_float()[2] == math.inf
    assert sssp.shortest_paths(g, 2, **options).distances.tolist() == [math.inf, math.inf, 0, 1]


@pytest.mark.parametrize(
    "method", ["floyd-warshall", "repeated-squaring", "johnson", "dijkstra", "bellman-ford"]
)
@settings(max_examples=40)
@given(network=networks_near_the_edge(), dtype=st.sampled_from([None, np.int32, np.int64]))
def test_all_pairs_overflow_when_exact_arithmetic_does(
    method: str, network: Network, dtype: Any
) -> None:
    g = graph_of(network)
    if any(must_overflow(network, [v], None, math.inf) for v in range(network.n)):
        with pytest.raises(sssp.DistanceOverflowError):
            sssp.all_pairs(g, method=method, dtype=dtype)
        return
    expected = [
        [naive.distances(network.lengths(), [v]).get(u, math.inf) for u in range(network.n)]
        for v in range(network.n)
    ]
    greatest = max(d for row in expected for d in row if d < math.inf)
    if dtype == np.int32 and greatest > INT32_RESULT:
        with pytest.raises(sssp.DistanceOverflowError, match="does not fit int32"):
            sssp.all_pairs(g, method=method, dtype=dtype)
        return
    r = sssp.all_pairs(g, method=method, dtype=dtype)
    assert r.distances.dtype == (dtype or (np.int32 if greatest <= INT32_RESULT else np.int64))
    assert as_lists(r.distances) == expected
