"""Negative weights and negative cycles: what every method that takes them makes of them."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.engine.cycles import negative_cycle, negative_cycle_below
from tests import naive
from tests.naive import Arc, Network
from tests.questions import PLAIN, Question, ask_all
from tests.solvers import SIMULATOR, SOLVERS, Solver, every_solver, needs_speed, parametrize
from tests.strategies import graph_of

#: whose sums leave int32, or nearly, and int64
HUGE = [-(2**29), -(2**30) + 2, -(2**31), -(2**61), -(2**62) + 2]
every_such_solver = every_solver(negative_weights=True, weighted=True)


def check(solver: Solver, network: Network, sources: list[int], **options: Any) -> None:
    """Compare a call with the reference, tree and all, or its refusal with the cycle."""
    ask_all([solver], Question(network, sources, {**PLAIN, "predecessors": True, **options}))


# -- cycles ------------------------------------------------------------------------------------


def cycle_of(network: Network, source: Any, solver: Solver, **options: Any) -> list[int]:
    with pytest.raises(sssp.NegativeCycleError) as caught:
        solver(graph_of(network), source, **options)
    cycle = caught.value.cycle
    assert naive.is_negative_cycle(network, cycle)
    assert all(type(vertex) is int for vertex in cycle)
    return cycle


def turned(cycle: list[int]) -> list[int]:
    """Begin a cycle at its smallest vertex."""
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


@every_such_solver
def test_the_cycle_comes_in_the_order_of_its_arcs(solver: Solver) -> None:
    ring = [4, 2, 5, 3]
    arcs = [Arc(tail, head, -1) for tail, head in zip(ring, ring[1:] + ring[:1], strict=True)]
    network = Network(6, (Arc(0, 1, 7), Arc(1, 5, 7), *arcs))
    assert turned(cycle_of(network, 0, solver)) == [2, 5, 3, 4]
    assert turned(cycle_of(network, 3, solver)) == [2, 5, 3, 4]


@every_such_solver
def test_a_negative_cycle_out_of_reach_is_no_matter(solver: Solver) -> None:
    network = Network(5, (Arc(0, 1, -3), Arc(2, 3, -1), Arc(3, 2, -1), Arc(3, 1, -9)))
    g = graph_of(network)
    r = solver(g, [0, 1, 4])
    assert r.to_float()[0].tolist() == [0, -3, np.inf, np.inf, np.inf]
    assert turned(cycle_of(network, [0, 2], solver)) == [2, 3]
    assert turned(cycle_of(network, [0, 3], solver, nearest=True)) == [2, 3]
    assert turned(cycle_of(network, [4, 3, 0], solver, threads=2)) == [2, 3]


@every_such_solver
def test_a_negative_self_loop_is_a_cycle_of_one_vertex(solver: Solver) -> None:
    network = Network(4, (Arc(0, 1, 5), Arc(1, 1, -1), Arc(2, 3, 1), Arc(3, 3, 4)))
    assert cycle_of(network, 0, solver) == [1]
    assert cycle_of(network, 1, solver) == [1]
    assert solver(graph_of(network), 2).distance(3) == 1
    assert cycle_of(Network(1, (Arc(0, 0, -1),)), 0, solver) == [0]


@every_such_solver
def test_a_negative_edge_of_an_undirected_graph_is_a_cycle(solver: Solver) -> None:
    network = Network(3, (Arc(0, 1, 2), Arc(2, 1, -1)), directed=False)
    assert turned(cycle_of(network, 0, solver)) == [1, 2]


@every_such_solver
@pytest.mark.parametrize("weight", [-(2**31), -(2**62) + 2] if SIMULATOR else HUGE)
def test_a_cycle_of_huge_weights_is_a_cycle_and_no_overflow(solver: Solver, weight: int) -> None:
    two = Network(3, (Arc(0, 1, 1), Arc(1, 2, weight), Arc(2, 1, weight)))
    assert turned(cycle_of(two, 0, solver)) == [1, 2]
    ring = Network(9, tuple(Arc(v, (v + 1) % 9, weight // 16) for v in range(9)))
    assert turned(cycle_of(ring, 4, solver)) == list(range(9))


@every_such_solver
def test_a_zero_sum_cycle_is_not_negative(solver: Solver) -> None:
    ring = [Arc(0, 1, 5), Arc(1, 2, -9), Arc(2, 3, 6), Arc(3, 1, 3), Arc(3, 0, -2)]
    check(solver, Network(4, tuple(ring)), [0, 2])
    eighths = [Arc(tail, head, weight / 8) for tail, head, weight in ring]
    check(solver, Network(4, tuple(eighths), integer=False), [0, 2])


@every_such_solver
@pytest.mark.parametrize("isolated", [0] if SIMULATOR else [0, 300])
@pytest.mark.parametrize(
    ("ring", "start"),
    [
        ([0.6, -0.6], 0.7),  # once round, 0.7 has become 0.6999999999999998, and stays it
        ([1.0, 0.8, -0.7, -1.1], 3.3),  # settles after two rounds
        ([0.8, 0.8, -1.6], 1e9),  # sinks for ever
    ],
)
def test_a_cycle_of_length_zero_is_not_negative_however_it_rounds(
    solver: Solver, ring: list[float], start: float, isolated: int
) -> None:
    assert math.fsum(ring) == 0
    length = len(ring)
    arcs = [Arc(v, (v + 1) % length, weight) for v, weight in enumerate(ring)]
    n = length + 1 + isolated
    g = graph_of(Network(n, (Arc(length, 0, start), *arcs), integer=False))
    r = solver(g, length, predecessors=True)
    expected = np.add.accumulate([start, *ring[:-1]])
    np.testing.assert_allclose(r.distances[:length], expected, rtol=4 * n * 2.0**-52)
    assert r.path(length - 1).tolist() == [length, *range(length)]
    sssp.verify(g, r, rtol=4 * n * 2.0**-52)


@every_such_solver
@pytest.mark.parametrize(
    ("arcs", "weights", "dtype"),
    [
        # integers and floats whose float32 forms do not add up to zero; and floats round the source
        ([(0, 1), (1, 2), (2, 0)], [-17163891, 3270355, 13893536], np.float32),
        ([(0, 1), (1, 2), (2, 0)], [-1e17, 3e16, 7e16], np.float32),
        ([(0, 1), (1, 0), (1, 2)], [0.1, -0.1, 0.3], np.float64),
    ],
)
def test_a_source_on_a_cycle_of_length_zero_stays_at_zero(
    solver: Solver, arcs: Any, weights: Any, dtype: Any
) -> None:
    tails, heads = zip(*arcs, strict=True)
    g = sssp.Graph.from_arcs(tails, heads, weights)
    for nearest in (False, True):
        asked: dict[str, Any] = {"dtype": dtype, "predecessors": True, "nearest": nearest}
        sources = [0, 0] if nearest else 0
        r = solver(g, sources, **asked)
        assert r.distances[0] == 0
        assert r.path(2).tolist() == [0, 1, 2]
        sssp.verify(g, r)
        sssp.verify(g, solver(g, sources, targets=[2, 0], **asked))


@every_such_solver
def test_a_cycle_below_zero_is_found_beside_one_that_only_seems_so(solver: Solver) -> None:
    seeming = [Arc(0, 1, 1e9), Arc(1, 2, 0.8), Arc(2, 3, 0.8), Arc(3, 1, -1.6)]
    real = [Arc(3, 4, 5.0), Arc(4, 5, 1.0), Arc(5, 4, -1.25)]
    g = graph_of(Network(10 if SIMULATOR else 300, (*seeming, *real), integer=False))
    with pytest.raises(sssp.NegativeCycleError) as caught:
        solver(g, 0)
    assert turned(caught.value.cycle) == [4, 5]


@every_such_solver
def test_a_cycle_that_rounding_feigns_on_the_way_is_no_matter(solver: Solver) -> None:
    # the ring 0, 1 sinks once from 0.7, but not from the 0.5 that comes later
    detour = [Arc(v, v + 1, 0.125) for v in range(2, 5)]
    arcs = (Arc(0, 1, 0.6), Arc(1, 0, -0.6), Arc(2, 0, 0.7), *detour, Arc(5, 0, 0.125))
    check(solver, Network(40, arcs, integer=False), [2, 3, 0])


@every_such_solver
def test_float_cycles_however_light_are_found(solver: Solver) -> None:
    for weight in (-1e-9, -1e300, -5e-324):
        network = Network(3, (Arc(0, 1, 0.0), Arc(1, 2, weight), Arc(2, 1, 0.0)), integer=False)
        assert turned(cycle_of(network, 0, solver)) == [1, 2]
    network = Network(3, (Arc(0, 1, 1.0), Arc(1, 2, -2.0), Arc(2, 1, 1.5)), integer=False)
    assert turned(cycle_of(network, 0, solver, dtype=np.float32)) == [1, 2]


@every_such_solver
def test_the_error_names_the_source_and_survives_pickling(solver: Solver) -> None:
    ring = Network(30, tuple(Arc(v, (v + 1) % 30, -1) for v in range(30)))
    with pytest.raises(sssp.NegativeCycleError, match=r"source 7 .* 30 vertices .*, \.\.\.") as e:
        solver(graph_of(ring), [7])
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.cycle) == (str(e.value), e.value.cycle)


@needs_speed
@parametrize([s for s in SOLVERS if s.method.name == "bellman-ford"])
def test_a_cycle_in_a_large_graph_is_found_long_before_n_rounds(solver: Solver) -> None:
    n = 20_000
    random = np.random.default_rng(5)
    tails, heads = random.integers(0, n, (2, 3 * n))
    weights = random.integers(1, 1000, 3 * n)
    ring = np.arange(10) * 37
    g = sssp.Graph.from_arcs(
        [*tails, *ring], [*heads, *np.roll(ring, -1)], [*weights, *[-1] * 10], n=n
    )
    with pytest.raises(sssp.NegativeCycleError) as caught:
        solver(g, 0)
    cycle = caught.value.cycle
    lengths = g.to_scipy()
    assert sum(lengths[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)) < 0


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_distances_alone_show_a_cycle_that_predecessors_hide(dtype: Any) -> None:
    """Threads that lower vertices 0 and 2 at once may leave them one another's predecessors."""
    arcs = [(0, 1, -4), (1, 0, -4), (1, 2, -4), (2, 1, -4), (0, 2, 1), (2, 0, 1), (3, 0, 9)]
    tails, heads, weights = np.array(arcs).T
    g = sssp.Graph.from_arcs(tails, heads, weights)
    bounds: dict[str, Any] = {"bound": dtype(100), "lowest": dtype(-(2**40))}
    assert negative_cycle(g, np.array([2, 0, 0, -1], np.int32)).size == 0
    distances = np.array([-4000, -4001, -4002, 0], dtype)
    cycle = negative_cycle_below(g, distances, **bounds).tolist()
    assert g.weights[g.arcs(cycle, cycle[1:] + cycle[:1])].sum() < 0

    level = g.with_weights([-4, 1, 4, -4, 8, 4, 9])  # in order of tail, then of head
    assert negative_cycle_below(level, np.array([9, 5, 1, 0], dtype), **bounds).size == 0


# -- limits and overflow -----------------------------------------------------------------------


@every_such_solver
def test_a_path_may_not_leave_the_limit_and_come_back(solver: Solver) -> None:
    network = Network(5, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(0, 3, 4), Arc(3, 2, 3), Arc(2, 4, -1)))
    check(solver, network, [0], limit=9)
    check(solver, network, [0], limit=10)
    g = graph_of(network)
    within = solver(g, 0, limit=9, predecessors=True)
    assert within.to_float().tolist() == [0, np.inf, 7, 4, 6]
    assert within.path(4).tolist() == [0, 3, 2, 4]
    assert sssp.reduce(g, 0, "count", limit=9) == 4
    # a cycle that lies beyond the limit is out of reach
    far = Network(3, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(2, 1, -5)))
    assert solver(graph_of(far), 0, limit=9).reached.tolist() == [
        True,
        False,
        False,
    ]
    assert turned(cycle_of(far, 0, solver, limit=10)) == [1, 2]


@every_such_solver
def test_paths_to_targets_may_pass_through_vertices_farther_away(solver: Solver) -> None:
    network = Network(4, (Arc(0, 1, 10), Arc(1, 2, -5), Arc(2, 3, -5)))
    g = graph_of(network)
    for targets in ([2], [3, 2]):
        r = solver(g, 0, targets=targets, predecessors=True)
        assert r.path(2).tolist() == [0, 1, 2]
        sssp.verify(g, r)


@every_such_solver
def test_a_distance_below_int32_goes_on_in_int64(solver: Solver) -> None:
    chain = Network(4, tuple(Arc(v, v + 1, -(2**30) + 2) for v in range(3)))
    r = solver(graph_of(chain), 0)
    assert r.distances.dtype == np.int64
    assert r.distances.tolist() == [-v * (2**30 - 2) for v in range(4)]
    with pytest.raises(sssp.DistanceOverflowError, match="int32"):
        solver(graph_of(chain), 0, dtype=np.int32)
    # fits int32, though not the arithmetic
    r = solver(graph_of(chain), 0, targets=[2], dtype=np.int32)
    assert r.distances.tolist() == [-(2**31) + 4]


@every_such_solver
@pytest.mark.parametrize("sign", [1, -1])
def test_an_overflow_of_int64_without_a_cycle_is_refused(solver: Solver, sign: int) -> None:
    chain = Network(4, (Arc(0, 1, -2), *(Arc(v, v + 1, sign * 2**61) for v in range(1, 3))))
    g = graph_of(chain)
    if sign > 0:
        assert solver(g, 0).distance(3) == 2**62 - 2
        g = graph_of(Network(5, (*chain.arcs, Arc(3, 4, 2))))
    with pytest.raises(sssp.DistanceOverflowError, match="float64"):
        solver(g, 0)
    assert solver(g, 0, dtype=float).distance(3) == sign * 2.0**62
    # the search that was broken off has left nothing behind
    assert solver(g, 2).distance(3) == sign * 2**61


@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # the simulator's sums
@every_such_solver
@pytest.mark.parametrize("sign", [1, -1])
def test_a_float_overflow_in_either_direction_is_refused(solver: Solver, sign: int) -> None:
    arcs = (Arc(0, 1, -1.0), Arc(1, 2, sign * 1e308), Arc(2, 3, sign * 1e308))
    with pytest.raises(sssp.DistanceOverflowError):
        solver(graph_of(Network(4, arcs, integer=False)), 0)


@every_such_solver
def test_an_overflow_towards_minus_infinity_is_noticed(solver: Solver) -> None:
    tails, heads = np.arange(5), np.arange(1, 6)
    narrow = sssp.Graph.from_arcs(tails, heads, [-(2**29)] * 5)
    r = solver(narrow, 0)
    assert r.distances.dtype == np.int64
    assert r.distances.tolist() == [-hops << 29 for hops in range(6)]
    wide = sssp.Graph.from_arcs(tails, heads, [-(2**61)] * 5)
    with pytest.raises(sssp.DistanceOverflowError, match="int64"):
        solver(wide, 0)
    # as low as that, a cycle may not wait until it is looked for
    cycle = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [5, -(2**60), -(2**60)])
    with pytest.raises(sssp.NegativeCycleError) as caught:
        solver(cycle, 0)
    assert sorted(caught.value.cycle) == [1, 2]


@every_such_solver
def test_only_a_cycle_that_a_source_reaches_counts(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 2, 3, 3, 5], [1, 3, 2, 4, 5], [1, 2, -3, 1, -1])
    assert solver(g, 0).distance(1) == 1
    for source, cycle in ((2, [2, 3]), (5, [5])):
        with pytest.raises(sssp.NegativeCycleError, match=f"source {source}") as caught:
            solver(g, [0, source])
        assert sorted(caught.value.cycle) == cycle
