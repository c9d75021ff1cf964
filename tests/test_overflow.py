"""Overflow has one outcome, whatever the method: that of exact arithmetic.

A call goes on in int64, or raises, if and only if a distance that it must return does not fit.
Every method on every device is asked the same questions, near 2^30, 2^31 and 2^62.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from tests import naive
from tests.naive import Arc, Network
from tests.solvers import (
    MANY,
    Solver,
    asked_of,
    draw_and_ask,
    every_device,
    every_solver,
    solvers_on,
)
from tests.strategies import graph_of

#: the greatest distances that int32 and int64 arithmetic hold, and that an int32 result can
INT32_SUM, INT64_SUM, INT32_RESULT = 2**30 - 2, 2**62 - 2, 2**31 - 2
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


def check(solver: Solver, network: Network, sources: list[int], **options: Any) -> None:
    """Ask a question, and compare the outcome with that of Python's integers."""
    g = graph_of(network)
    targets, limit = options.get("targets"), options.get("limit")
    limit = math.inf if limit is None else limit
    nearest = options.get("nearest", False)
    asked = np.dtype(options["dtype"]) if options.get("dtype") else None

    def ask() -> sssp.ShortestPaths:
        return solver(g, sources, **options)

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


@every_device
def test_searches_overflow_when_exact_arithmetic_does(device: str) -> None:
    def ask(question: Any) -> None:
        network, sources, options = question
        for solver in solvers:
            with asked_of(solver):
                check(solver, network, sources, **options)

    solvers = solvers_on(device, weighted=True)
    draw_and_ask(device, questions_near_the_edge(), ask, 100)


@st.composite
def questions_near_the_edge(draw: st.DrawFn) -> tuple[Network, list[int], dict[str, Any]]:
    # what is heavier is refused as a weight, before any search
    network = draw(networks_near_the_edge().filter(lambda drawn: heaviest(drawn) <= INT64_SUM))
    vertices = st.lists(st.integers(0, network.n - 1), min_size=1, max_size=MANY)
    options = {
        "targets": draw(st.none() | vertices),
        "limit": draw(st.none() | st.sampled_from([0, *EDGES, 2**62, 2**63, 2**70])),
        "dtype": draw(st.sampled_from([None, np.int32, np.int64])),
        "nearest": draw(st.booleans()),
    }
    return network, draw(vertices), options


def heaviest(network: Network) -> int:
    return max(map(int, [0, *network.lengths().values()]))


@every_solver(weighted=True)
def test_an_arc_that_no_path_uses_costs_no_dtype(solver: Solver) -> None:
    for heavy in (2**30 - 2, 2**61):
        arcs = (Arc(0, 1, 5), Arc(1, 2, 5), Arc(0, 2, heavy), Arc(1, 0, heavy))
        check(solver, Network(4, arcs), [0, 2])
        check(solver, Network(4, arcs), [1], targets=[3, 2])
        check(solver, Network(4, arcs), [1] * MANY, targets=[3, 2])


@every_solver(weighted=True)
def test_what_lies_beyond_int64_matters_only_where_it_is_wanted(solver: Solver) -> None:
    chain = Network(4, (Arc(0, 1, 2**61), Arc(1, 2, 2**61), Arc(2, 3, 1), Arc(0, 3, 7)))
    check(solver, chain, [0])  # vertex 2 is too far away
    check(solver, chain, [0] * MANY)
    check(solver, chain, [0], targets=[1, 3])
    check(solver, chain, [0], limit=2**62 - 1)
    check(solver, chain, [0], limit=2**62)
    check(solver, chain, [1, 2])


@every_solver(weighted=True, negative_weights=True)
@pytest.mark.parametrize(("edge", "dtype"), [(2**30, np.int32), (2**62, np.int64)])
def test_a_way_over_a_far_vertex_is_not_missed(solver: Solver, edge: int, dtype: Any) -> None:
    # 3 is too far away for the narrow dtype, but lies on the shortest path to 4
    arcs = (Arc(0, 2, edge // 2), Arc(2, 3, edge // 2), Arc(3, 4, 4 - edge), Arc(0, 4, 9))
    g = graph_of(Network(5, arcs))
    if dtype == np.int32:
        assert solver(g, 0).distance(4) == 4
        return
    with pytest.raises(sssp.DistanceOverflowError):
        solver(g, 0)
    with pytest.raises(sssp.DistanceOverflowError):
        solver(g, 0, targets=[4])


@every_solver(weighted=True, negative_weights=True)
def test_a_negative_cycle_is_the_reason_before_an_overflow_is(solver: Solver) -> None:
    weight = -(2**61)
    falls = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 4], [weight] * 4)
    with pytest.raises(sssp.DistanceOverflowError):
        solver(falls, 0)
    turns = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 1], [weight] * 4)
    with pytest.raises(sssp.NegativeCycleError) as caught:
        solver(turns, 0)
    assert sorted(caught.value.cycle) == [1, 2, 3]


@every_solver(weighted=True, any_floats=True)
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # the simulator's sums
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_overflow_by_the_same_rule(solver: Solver, dtype: Any) -> None:
    half = float(np.finfo(dtype).max) * 0.75
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 3], [half, half, 1.0, 2.0])
    options: Any = {"dtype": dtype}
    remedy = "dtype='float64'" if dtype == np.float32 else "weights in a larger unit"
    with pytest.raises(sssp.DistanceOverflowError, match=f"greatest that float.*{remedy}"):
        solver(g, 0, **options)
    assert solver(g, 0, targets=[1, 3], **options).distances[1] == 2
    assert solver(g, 0, limit=half, **options).to_float()[2] == math.inf
    assert solver(g, 2, **options).distances.tolist() == [math.inf, math.inf, 0, 1]


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


def test_a_call_without_a_dtype_is_told_how_else_distances_are_rounded() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [2**61, 2**61])
    with pytest.raises(sssp.DistanceOverflowError, match="or a graph with float weights"):
        sssp.reduce(g, 0, "sum")
    rounded = g.with_weights(g.weights.astype(float))
    assert sssp.reduce(rounded, 0, "sum") == 2.0**61 + 2.0**62
