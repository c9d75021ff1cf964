"""A closed arc is one that no path takes, whatever the method; it opens again with new weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.methods import DENSE_METHODS, METHODS
from sssp.papers.methods import BaselineBellmanFord
from tests.compare import assert_same
from tests.naive import Network
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


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(drawn=closures(networks(SMALL_INTEGERS, least_n=1) | networks(DYADIC, least_n=1)))
def test_searches_never_take_closed_arcs(method: str, drawn: Any) -> None:
    g, arcs = drawn
    closed, sources = g.without_arcs(arcs), [0, g.n - 1]
    questions: list[dict[str, Any]] = [
        {"predecessors": True},
        {"targets": [g.n // 2, 0], "predecessors": True},
        {"nearest": True, "predecessors": True},
        {"limit": 3, "output": "sparse", "predecessors": True},
    ]
    for options in questions:
        r = sssp.shortest_paths(closed, sources, method=method, **options)
        assert_same(r, sssp.shortest_paths(without(g, arcs), sources, method=method, **options))
        assert r.graph is closed
        sssp.verify(closed, r)
        if method != "breadth-first" and options in questions[:1]:
            lengths = r.skim(closed.weights)
            np.testing.assert_array_equal(lengths[r.reached], r.distances[r.reached])
    what = sssp.reduce(closed, sources, "sum", method=method).tolist()
    assert what == sssp.reduce(without(g, arcs), sources, "sum", method=method).tolist()


@pytest.mark.parametrize("method", ["bellman-ford", BaselineBellmanFord(), *DENSE_METHODS])
@settings(max_examples=40)
@given(drawn=closures(negative_networks()))
def test_negative_weights_never_reopen_a_closed_arc(method: str, drawn: Any) -> None:
    g, arcs = drawn
    closed, plain = g.without_arcs(arcs), without(g, arcs)

    def ask(graph: sssp.Graph) -> Any:
        try:
            if method in DENSE_METHODS:
                return sssp.all_pairs(graph, method=method).distances.tolist()
            return sssp.shortest_paths(graph, range(graph.n), method=method).distances.tolist()
        except sssp.NegativeCycleError:
            return "a negative cycle"

    assert ask(closed) == ask(plain)


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


def test_nothing_but_closed_arcs_is_a_graph_without_any() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 0], [1, 1]).without_arcs([0, 1])
    for method in METHODS:
        assert sssp.shortest_paths(g, [0, 1], method=method).reached.tolist() == [
            [True, False],
            [False, True],
        ]
    assert sssp.all_pairs(g, method="floyd-warshall").reached.tolist() == [
        [True, False],
        [False, True],
    ]
