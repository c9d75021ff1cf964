"""No method on any device takes a closed arc; it opens again with new weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.methods import DENSE_METHODS
from tests.naive import Network
from tests.same_results import assert_same
from tests.solvers import Solver, asked_of, draw_and_ask, every_device, every_solver, solvers_on
from tests.strategies import DYADIC, SMALL_INTEGERS, graph_of, negative_networks, networks


def without(g: sssp.Graph, arcs: Any) -> sssp.Graph:
    """Return a graph that has never had these arcs."""
    left = np.setdiff1d(np.arange(g.m), arcs)
    return sssp.Graph.from_arcs(g.tails[left], g.indices[left], g.weights[left], n=g.n)


@st.composite
def closures(draw: st.DrawFn, any_network: st.SearchStrategy[Network]) -> tuple[Any, Any]:
    """Draw a graph and some of its arcs."""
    g = graph_of(draw(any_network))
    if g.m == 0:
        return g, []
    return g, draw(st.lists(st.integers(0, g.m - 1), max_size=g.m))


@every_device
def test_searches_never_take_closed_arcs(device: str) -> None:
    def ask(drawn: Any) -> None:
        g, arcs = drawn
        closed, plain = g.without_arcs(arcs), without(g, arcs)
        for solver in solvers_on(device):
            with asked_of(solver):
                check(solver, closed, plain)

    drawn = closures(networks(SMALL_INTEGERS, least_n=1) | networks(DYADIC, least_n=1))
    draw_and_ask(device, drawn, ask, 50)


def check(solver: Solver, closed: sssp.Graph, plain: sssp.Graph) -> None:
    """Compare all forms of an answer with those on the graph that never had the closed arcs."""
    sources, reference = [0, closed.n - 1], Solver(solver.method, "cpu")
    questions: list[dict[str, Any]] = [
        {"predecessors": True},
        {"targets": [closed.n // 2, 0], "predecessors": True},
        {"nearest": True, "predecessors": True},
        {"limit": 3, "output": "sparse", "predecessors": True},
    ]
    for options in questions:
        r = solver(closed, sources, **options)
        assert_same(r, reference(plain, sources, **options))
        assert r.graph is closed
        sssp.verify(closed, r)
    if solver.weighted:
        r = solver(closed, sources, predecessors=True)
        lengths = r.skim(closed.weights)
        np.testing.assert_array_equal(lengths[r.reached], r.distances[r.reached])
    summed = sssp.reduce(closed, sources, "sum", method=solver.method, device=solver.device)
    assert summed.tolist() == sssp.reduce(plain, sources, "sum", method=solver.method).tolist()


@every_device
def test_negative_weights_never_reopen_a_closed_arc(device: str) -> None:
    def ask(drawn: Any) -> None:
        g, arcs = drawn
        closed, plain = g.without_arcs(arcs), without(g, arcs)
        for solver in solvers_on(device, weighted=True, negative_weights=True):
            with asked_of(solver):
                everywhere = range(g.n)
                assert outcome(solver, closed, everywhere) == outcome(solver, plain, everywhere)

    draw_and_ask(device, closures(negative_networks()), ask, 60)


@pytest.mark.parametrize("method", DENSE_METHODS)
@settings(max_examples=40)
@given(drawn=closures(negative_networks()))
def test_negative_entries_never_reopen_a_closed_arc(method: str, drawn: Any) -> None:
    g, arcs = drawn
    closed, plain = g.without_arcs(arcs), without(g, arcs)
    solve = partial(sssp.all_pairs, method=method)
    assert outcome(solve, closed) == outcome(solve, plain)


def outcome(solve: Any, *question: Any) -> Any:
    try:
        return solve(*question).distances.tolist()
    except sssp.NegativeCycleError:
        return "a negative cycle"


@pytest.mark.parametrize("method", ["closure-by-warshall", "closure-by-squaring"])
def test_a_closure_does_not_pass_closed_arcs(method: str) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [4, 5, 6])
    closed = g.without_arcs([1])
    assert sssp.transitive_closure(closed, method=method).sum() == 4 + 2
    assert sssp.transitive_closure(g, method=method).sum() == 4 + 6


def test_an_arc_opens_again_with_the_next_weights() -> None:
    g = sssp.Graph.from_arcs([0, 0, 1], [1, 2, 2], [1, 10, 1])
    closed = g.without_arcs([g.arc(1, 2)])
    assert sssp.shortest_paths(closed, 0).distances.tolist() == [0, 1, 10]
    assert sssp.shortest_paths(closed.with_weights([1, 10, 2]), 0).distances.tolist() == [0, 1, 3]
    again = closed.with_changes([g.arc(1, 2)], [5])
    assert sssp.shortest_paths(again, 0).distances.tolist() == [0, 1, 6]
    assert (closed.m, closed.closed_arcs, again.closed_arcs) == (3, 1, 0)


@every_solver()
def test_nothing_but_closed_arcs_leads_nowhere(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 0], [1, 1]).without_arcs([0, 1])
    assert solver(g, [0, 1]).reached.tolist() == [[True, False], [False, True]]


def test_nothing_but_closed_arcs_is_a_matrix_without_any() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 0], [1, 1]).without_arcs([0, 1])
    assert sssp.all_pairs(g, method="floyd-warshall").reached.tolist() == [
        [True, False],
        [False, True],
    ]
