"""Negative weights and negative cycles, by the frontier method and by the plain baseline."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.papers.methods import BaselineBellmanFord
from tests import naive
from tests.compare import on_paths, trees_of
from tests.naive import Arc, Network
from tests.strategies import graph_of, negative_networks, networks, vertex_lists

METHODS = [sssp.BellmanFord(), BaselineBellmanFord()]
both_methods = pytest.mark.parametrize("method", METHODS, ids=repr)

#: many negative cycles
MOSTLY_NEGATIVE = st.integers(-5, 3)
#: a sum of few leaves int32 arithmetic, also downwards
LARGE = st.sampled_from([-(2**30), -(2**29), -1, 0, 1, 2**29, 2**30, 2**31])
#: sums are exact
EIGHTHS = st.integers(-16, 16).map(lambda eighths: eighths / 8)


def check(method: Any, network: Network, sources: list[int], **options: Any) -> None:
    """Compare a call with the reference, tree and all, or its refusal with the cycle."""
    g = graph_of(network)
    starts = [sources] if options.get("nearest") else [[source] for source in sources]
    limit, targets = options.get("limit", np.inf), options.get("targets")
    try:
        rows = [naive.solve(network, start, limit=limit, targets=targets) for start in starts]
    except naive.NegativeCycle:
        with pytest.raises(sssp.NegativeCycleError) as caught:
            sssp.shortest_paths(g, sources, method=method, predecessors=True, **options)
        assert naive.is_negative_cycle(network, caught.value.cycle)
        assert reaches(network, sources, caught.value.cycle[0])
        return
    r = sssp.shortest_paths(g, sources, method=method, predecessors=True, **options)
    sssp.verify(g, r)
    columns = range(network.n) if r.targets is None else r.targets.tolist()
    found = r.distances.reshape(len(rows), len(columns))
    missing = np.inf if found.dtype.kind == "f" else np.iinfo(found.dtype).max
    for row, distances in zip(rows, found, strict=True):
        assert distances.tolist() == [row.distances.get(v, missing) for v in columns]
    if r.targets is not None:
        assert trees_of(r) == [on_paths(row, columns) for row in rows]
        return
    assert trees_of(r) == [
        {v: row.predecessors.get(v, -1) for v in range(network.n)} for row in rows
    ]


def reaches(network: Network, sources: list[int], vertex: int) -> bool:
    return vertex in naive.breadth_first(network, sources)


def times_two_to_the_27(network: Network) -> Network:
    """Make sums of many arcs leave int32 arithmetic."""
    return network.with_weights(weight * 2**27 for _, _, weight in network.arcs)


@both_methods
@settings(max_examples=150)
@given(network=negative_networks() | negative_networks().map(times_two_to_the_27), data=st.data())
def test_distances_over_negative_arcs_agree_with_the_reference(
    method: Any, network: Network, data: st.DataObject
) -> None:
    sources = data.draw(vertex_lists(network.n))
    options: dict[str, Any] = {
        "nearest": sources != [] and data.draw(st.booleans()),
        "threads": data.draw(st.sampled_from([1, 2])),
    }
    if data.draw(st.booleans()):
        options["limit"] = data.draw(st.integers(0, 30) | st.just(2**29))
    if data.draw(st.booleans()):
        options["targets"] = data.draw(vertex_lists(network.n))
    check(method, network, sources, **options)


@both_methods
@settings(max_examples=150)
@given(network=networks(MOSTLY_NEGATIVE, least_n=1) | networks(EIGHTHS, least_n=1), data=st.data())
def test_a_negative_cycle_is_found_exactly_if_a_source_reaches_one(
    method: Any, network: Network, data: st.DataObject
) -> None:
    check(method, network, data.draw(vertex_lists(network.n)))


@both_methods
@settings(max_examples=100)
@given(network=networks(LARGE, least_n=1))
def test_sums_beyond_int32_in_either_direction_go_on_in_int64(
    method: Any, network: Network
) -> None:
    check(method, network, [0])


# -- cycles ------------------------------------------------------------------------------------


def cycle_of(network: Network, source: Any, method: Any, **options: Any) -> list[int]:
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(graph_of(network), source, method=method, **options)
    cycle = caught.value.cycle
    assert naive.is_negative_cycle(network, cycle)
    assert all(type(vertex) is int for vertex in cycle)
    return cycle


def turned(cycle: list[int]) -> list[int]:
    """Begin a cycle at its smallest vertex."""
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


@both_methods
def test_the_cycle_comes_in_the_order_of_its_arcs(method: Any) -> None:
    ring = [4, 2, 5, 3]
    arcs = [Arc(tail, head, -1) for tail, head in zip(ring, ring[1:] + ring[:1], strict=True)]
    network = Network(6, (Arc(0, 1, 7), Arc(1, 5, 7), *arcs))
    assert turned(cycle_of(network, 0, method)) == [2, 5, 3, 4]
    assert turned(cycle_of(network, 3, method)) == [2, 5, 3, 4]


@both_methods
def test_a_negative_cycle_out_of_reach_is_no_matter(method: Any) -> None:
    network = Network(5, (Arc(0, 1, -3), Arc(2, 3, -1), Arc(3, 2, -1), Arc(3, 1, -9)))
    g = graph_of(network)
    r = sssp.shortest_paths(g, [0, 1, 4], method=method)
    assert r.to_float()[0].tolist() == [0, -3, np.inf, np.inf, np.inf]
    assert turned(cycle_of(network, [0, 2], method)) == [2, 3]
    assert turned(cycle_of(network, [0, 3], method, nearest=True)) == [2, 3]
    assert turned(cycle_of(network, [4, 3, 0], method, threads=2)) == [2, 3]


@both_methods
def test_a_negative_self_loop_is_a_cycle_of_one_vertex(method: Any) -> None:
    network = Network(4, (Arc(0, 1, 5), Arc(1, 1, -1), Arc(2, 3, 1), Arc(3, 3, 4)))
    assert cycle_of(network, 0, method) == [1]
    assert cycle_of(network, 1, method) == [1]
    assert sssp.shortest_paths(graph_of(network), 2, method=method).distance(3) == 1
    assert cycle_of(Network(1, (Arc(0, 0, -1),)), 0, method) == [0]


@both_methods
def test_a_negative_edge_of_an_undirected_graph_is_a_cycle(method: Any) -> None:
    network = Network(3, (Arc(0, 1, 2), Arc(2, 1, -1)), directed=False)
    assert turned(cycle_of(network, 0, method)) == [1, 2]


@both_methods
@pytest.mark.parametrize("weight", [-(2**29), -(2**30) + 2, -(2**31), -(2**61), -(2**62) + 2])
def test_a_cycle_of_huge_weights_is_a_cycle_and_no_overflow(method: Any, weight: int) -> None:
    two = Network(3, (Arc(0, 1, 1), Arc(1, 2, weight), Arc(2, 1, weight)))
    assert turned(cycle_of(two, 0, method)) == [1, 2]
    ring = Network(9, tuple(Arc(v, (v + 1) % 9, weight // 16) for v in range(9)))
    assert turned(cycle_of(ring, 4, method)) == list(range(9))


@both_methods
def test_a_zero_sum_cycle_is_not_negative(method: Any) -> None:
    ring = [Arc(0, 1, 5), Arc(1, 2, -9), Arc(2, 3, 6), Arc(3, 1, 3), Arc(3, 0, -2)]
    check(method, Network(4, tuple(ring)), [0, 2])
    eighths = [Arc(tail, head, weight / 8) for tail, head, weight in ring]
    check(method, Network(4, tuple(eighths), integer=False), [0, 2])


@both_methods
@pytest.mark.parametrize("isolated", [0, 300])
@pytest.mark.parametrize(
    ("ring", "start"),
    [
        ([0.6, -0.6], 0.7),  # once round, 0.7 has become 0.6999999999999998, and stays it
        ([1.0, 0.8, -0.7, -1.1], 3.3),  # settles after two rounds
        ([0.8, 0.8, -1.6], 1e9),  # sinks for ever
    ],
)
def test_a_cycle_of_length_zero_is_not_negative_however_it_rounds(
    method: Any, ring: list[float], start: float, isolated: int
) -> None:
    assert math.fsum(ring) == 0
    length = len(ring)
    arcs = [Arc(v, (v + 1) % length, weight) for v, weight in enumerate(ring)]
    n = length + 1 + isolated
    g = graph_of(Network(n, (Arc(length, 0, start), *arcs), integer=False))
    r = sssp.shortest_paths(g, length, method=method, predecessors=True)
    expected = np.add.accumulate([start, *ring[:-1]])
    np.testing.assert_allclose(r.distances[:length], expected, rtol=4 * n * 2.0**-52)
    assert r.path(length - 1).tolist() == [length, *range(length)]
    sssp.verify(g, r, rtol=4 * n * 2.0**-52)


@both_methods
@pytest.mark.parametrize("arcs", [[(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 0), (1, 2)]])
def test_a_source_on_a_cycle_of_length_zero_stays_at_zero(method: Any, arcs: Any) -> None:
    # integers whose float32 forms do not add up to zero; and floats round the source
    weights = [-17163891, 3270355, 13893536] if (2, 0) in arcs else [0.1, -0.1, 0.3]
    tails, heads = zip(*arcs, strict=True)
    g = sssp.Graph.from_arcs(tails, heads, weights)
    dtype = np.float32 if g.weights.dtype.kind == "i" else np.float64
    for nearest in (False, True):
        sources = [0, 0] if nearest else 0
        r = sssp.shortest_paths(
            g, sources, method=method, dtype=dtype, predecessors=True, nearest=nearest
        )
        assert r.distances[0] == 0
        assert r.path(2).tolist() == [0, 1, 2]
        sssp.verify(g, r, rtol=4 * g.n * float(np.finfo(dtype).eps))


@both_methods
def test_a_cycle_below_zero_is_found_beside_one_that_only_seems_so(method: Any) -> None:
    seeming = [Arc(0, 1, 1e9), Arc(1, 2, 0.8), Arc(2, 3, 0.8), Arc(3, 1, -1.6)]
    real = [Arc(3, 4, 5.0), Arc(4, 5, 1.0), Arc(5, 4, -1.25)]
    g = graph_of(Network(300, (*seeming, *real), integer=False))
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(g, 0, method=method)
    assert turned(caught.value.cycle) == [4, 5]


@both_methods
def test_a_cycle_that_rounding_feigns_on_the_way_is_no_matter(method: Any) -> None:
    # the ring 0, 1 sinks once from 0.7, but not from the 0.5 that comes later
    detour = [Arc(v, v + 1, 0.125) for v in range(2, 5)]
    arcs = (Arc(0, 1, 0.6), Arc(1, 0, -0.6), Arc(2, 0, 0.7), *detour, Arc(5, 0, 0.125))
    check(method, Network(40, arcs, integer=False), [2, 3, 0])


@both_methods
def test_float_cycles_however_light_are_found(method: Any) -> None:
    for weight in (-1e-9, -1e300, -5e-324):
        network = Network(3, (Arc(0, 1, 0.0), Arc(1, 2, weight), Arc(2, 1, 0.0)), integer=False)
        assert turned(cycle_of(network, 0, method)) == [1, 2]
    network = Network(3, (Arc(0, 1, 1.0), Arc(1, 2, -2.0), Arc(2, 1, 1.5)), integer=False)
    assert turned(cycle_of(network, 0, method, dtype=np.float32)) == [1, 2]


@both_methods
def test_the_error_names_the_source_and_survives_pickling(method: Any) -> None:
    ring = Network(30, tuple(Arc(v, (v + 1) % 30, -1) for v in range(30)))
    with pytest.raises(sssp.NegativeCycleError, match=r"source 7 .* 30 vertices .*, \.\.\.") as e:
        sssp.shortest_paths(graph_of(ring), [7], method=method)
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.cycle) == (str(e.value), e.value.cycle)


def test_a_cycle_in_a_large_graph_is_found_long_before_n_rounds() -> None:
    n = 20_000
    random = np.random.default_rng(5)
    tails, heads = random.integers(0, n, (2, 3 * n))
    weights = random.integers(1, 1000, 3 * n)
    ring = np.arange(10) * 37
    g = sssp.Graph.from_arcs(
        [*tails, *ring], [*heads, *np.roll(ring, -1)], [*weights, *[-1] * 10], n=n
    )
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(g, 0)
    cycle = caught.value.cycle
    lengths = g.to_scipy()
    assert sum(lengths[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)) < 0


# -- limits and overflow -----------------------------------------------------------------------


@both_methods
def test_a_path_may_not_leave_the_limit_and_come_back(method: Any) -> None:
    network = Network(5, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(0, 3, 4), Arc(3, 2, 3), Arc(2, 4, -1)))
    check(method, network, [0], limit=9)
    check(method, network, [0], limit=10)
    g = graph_of(network)
    within = sssp.shortest_paths(g, 0, method=method, limit=9, predecessors=True)
    assert within.to_float().tolist() == [0, np.inf, 7, 4, 6]
    assert within.path(4).tolist() == [0, 3, 2, 4]
    assert sssp.reduce(g, 0, "count", limit=9, method=method) == 4
    # a cycle that lies beyond the limit is out of reach
    far = Network(3, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(2, 1, -5)))
    assert sssp.shortest_paths(graph_of(far), 0, method=method, limit=9).reached.tolist() == [
        True,
        False,
        False,
    ]
    assert turned(cycle_of(far, 0, method, limit=10)) == [1, 2]


@both_methods
def test_paths_to_targets_may_pass_through_vertices_farther_away(method: Any) -> None:
    network = Network(4, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(2, 3, -5)))
    g = graph_of(network)
    for targets in ([2], [3, 2]):
        r = sssp.shortest_paths(g, 0, method=method, targets=targets, predecessors=True)
        assert r.path(2).tolist() == [0, 1, 2]
        sssp.verify(g, r)


@both_methods
def test_a_distance_below_int32_goes_on_in_int64(method: Any) -> None:
    chain = Network(4, tuple(Arc(v, v + 1, -(2**30) + 2) for v in range(3)))
    r = sssp.shortest_paths(graph_of(chain), 0, method=method)
    assert r.distances.dtype == np.int64
    assert r.distances.tolist() == [-v * (2**30 - 2) for v in range(4)]
    with pytest.raises(sssp.DistanceOverflowError, match="int32"):
        sssp.shortest_paths(graph_of(chain), 0, method=method, dtype=np.int32)
    # fits int32, though not the arithmetic
    r = sssp.shortest_paths(graph_of(chain), 0, method=method, targets=[2], dtype=np.int32)
    assert r.distances.tolist() == [-(2**31) + 4]


@both_methods
@pytest.mark.parametrize("sign", [1, -1])
def test_an_overflow_of_int64_without_a_cycle_is_refused(method: Any, sign: int) -> None:
    chain = Network(4, (Arc(0, 1, -2), *(Arc(v, v + 1, sign * 2**61) for v in range(1, 3))))
    g = graph_of(chain)
    if sign > 0:
        assert sssp.shortest_paths(g, 0, method=method).distance(3) == 2**62 - 2
        g = graph_of(Network(5, (*chain.arcs, Arc(3, 4, 2))))
    with pytest.raises(sssp.DistanceOverflowError, match="float64"):
        sssp.shortest_paths(g, 0, method=method)
    assert sssp.shortest_paths(g, 0, method=method, dtype=float).distance(3) == sign * 2.0**62
    # the search that was broken off has left nothing behind
    assert sssp.shortest_paths(g, 2, method=method).distance(3) == sign * 2**61


@both_methods
@pytest.mark.parametrize("sign", [1, -1])
def test_a_float_overflow_in_either_direction_is_refused(method: Any, sign: int) -> None:
    arcs = (Arc(0, 1, -1.0), Arc(1, 2, sign * 1e308), Arc(2, 3, sign * 1e308))
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(graph_of(Network(4, arcs, integer=False)), 0, method=method)


def test_statistics_count_rounds_expansions_and_relaxations() -> None:
    chain = graph_of(Network(5, tuple(Arc(v, v + 1, -1) for v in range(4))))
    r = sssp.shortest_paths(chain, [0, 3], method="bellman-ford")
    assert {name: values.tolist() for name, values in r.stats.items()} == {
        "rounds": [5, 2],
        "expanded": [5, 2],
        "relaxed": [4, 1],
    }
    r = sssp.shortest_paths(chain, 0, method=BaselineBellmanFord())
    assert r.stats == {"rounds": 5}
