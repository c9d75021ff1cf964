"""Hypothesis strategies for small graphs and requests, and a list of odd graphs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import sssp
from tests.naive import Arc, Network, Number, Turned

GREATEST_N = 10
GREATEST_DEGREE = 4
#: many ties and zeros
SMALL_INTEGERS = st.sampled_from([0, 1, 1, 1, 2, 2, 3, 10])
#: sums cross the infinity of int32 arithmetic, then int32 itself
LARGE_INTEGERS = st.sampled_from([0, 1, 2**28, 2**29, 2**30 - 2, 2**30 - 1, 2**30, 2**31])
#: sums cross the infinity of int64 arithmetic
HUGE_INTEGERS = st.sampled_from([0, 1, 2**31, 2**59, 2**60, 2**61])
#: a sum of few leaves int32 or int64 arithmetic, also downwards
HUGE_OF_ANY_SIGN = st.sampled_from([-(2**60), -(2**30), -(2**29), -1, 0, 1, 2**29, 2**31, 2**61])
#: sums are exact, in float32 too
DYADIC = st.integers(0, 16).map(lambda eighths: eighths / 8)
#: sums round, absorb and underflow, but never overflow, in float32 neither
FINITE = st.floats(0, 1e30, allow_nan=False, allow_infinity=False)
FLOATS = DYADIC | FINITE | st.sampled_from([0.1, 0.2, 0.3, 1e-30, math.inf])
NEGATIVE_INTEGERS = st.integers(-3, 9)
NEGATIVE_DYADIC = NEGATIVE_INTEGERS.map(lambda eighths: eighths / 8)


@st.composite
def networks(
    draw: st.DrawFn,
    weights: st.SearchStrategy[Number] = SMALL_INTEGERS,
    least_n: int = 0,
    directed: bool | None = None,
) -> Network:
    """Draw a graph: parallel arcs, self-loops, isolated and unreachable vertices and all."""
    n = draw(st.integers(least_n, GREATEST_N))
    if directed is None:
        directed = draw(st.booleans())
    vertices = st.integers(0, max(n - 1, 0))
    # drawn first, for lists of any size up to a bound are mostly short, and short ones say little
    m = draw(st.integers(0, GREATEST_DEGREE * n))
    arcs = draw(st.lists(st.tuples(vertices, vertices, weights), min_size=m, max_size=m))
    integer = all(isinstance(weight, int) for _, _, weight in arcs)
    return Network(n, tuple(Arc(*arc) for arc in arcs), directed, integer)


@st.composite
def negative_networks(draw: st.DrawFn) -> Network:
    """Draw a directed graph with negative weights, often without a negative cycle.

    Potentials shift the weights of every path between two vertices alike, so that those cycles
    that were not negative stay so.
    """
    weights, height = draw(
        st.sampled_from([(NEGATIVE_INTEGERS, 6), (SMALL_INTEGERS, 6), (DYADIC, 6.0)])
    )
    network = draw(networks(weights, directed=True))
    heights = st.integers(0, 3).map(lambda level: level * height)
    potentials = draw(st.lists(heights, min_size=network.n, max_size=network.n))
    return network.with_weights(
        arc.weight + potentials[arc.tail] - potentials[arc.head] for arc in network.arcs
    )


def times_two_to_the_27(network: Network) -> Network:
    """Make sums of many arcs leave int32 arithmetic."""
    return network.with_weights(weight * 2**27 for _, _, weight in network.arcs)


def vertex_lists(n: int, greatest: int = 4) -> st.SearchStrategy[list[int]]:
    """Lists of vertices, duplicates and all; empty ones only if there are no vertices."""
    if n == 0:
        return st.just([])
    return st.lists(st.integers(0, n - 1), min_size=1, max_size=greatest)


def graph_of(network: Network) -> sssp.Graph:
    """Hand `network` to the package as a user would."""
    tails, heads, weights = zip(*network.arcs, strict=True) if network.arcs else ((), (), ())
    return sssp.Graph.from_arcs(
        np.array(tails, dtype=np.int64),
        np.array(heads, dtype=np.int64),
        np.array(weights, dtype=np.int64 if network.integer else np.float64),
        n=network.n,
        directed=network.directed,
    )


def in_arithmetic_of(network: Network, dtype: Any) -> Network:
    """Return `network` with weights that add as the distances of a call with `dtype` do."""
    if dtype not in (np.float32, np.float64):
        return network
    convert = float if dtype == np.float64 else np.float32
    return network.with_weights(convert(arc.weight) for arc in network.arcs)


def with_unit_weights(network: Network) -> Network:
    """Return `network` with weight 1 on every arc that is one."""
    units = (math.inf if arc.weight == math.inf else 1 for arc in network.arcs)
    return replace(network.with_weights(units), integer=True)


def _chain(n: int, weight: int) -> Network:
    return Network(n, tuple(Arc(v, v + 1, weight) for v in range(n - 1)))


def _star(n: int) -> Network:
    spokes = [Arc(0, v, 1 + v % 3) for v in range(1, n)]
    return Network(n, tuple(spokes), directed=False)


#: graphs that have caught someone out, by name; every one has vertex 0
ODDITIES = {
    "one vertex": Network(1, ()),
    "one self-loop": Network(1, (Arc(0, 0, 0), Arc(0, 0, 7))),
    "no arcs": Network(3, ()),
    "star": _star(200),
    "chain": _chain(300, 3),
    "all weights zero": Network(
        6, tuple(Arc(u, v, 0) for u in range(6) for v in range(6) if u != v)
    ),
    "zero-weight cycle off the path": Network(
        4, (Arc(0, 1, 5), Arc(1, 2, 0), Arc(2, 3, 0), Arc(3, 1, 0))
    ),
    "zero-weight cycle out of reach": Network(4, (Arc(0, 1, 1), Arc(2, 3, 0), Arc(3, 2, 0))),
    "one very long arc": Network(
        40, (*_chain(40, 1).arcs[:-1], Arc(0, 39, 2**29), Arc(38, 39, 2**29 - 40))
    ),
    "weights 1 and 2^30": Network(4, (Arc(0, 1, 1), Arc(1, 2, 2**30), Arc(2, 3, 1))),
    "weights near 2^31": Network(3, (Arc(0, 1, 2**31 - 2), Arc(1, 2, 2**31 - 1))),
    "weights of 2^60": Network(4, (Arc(0, 1, 2**60), Arc(1, 2, 2**60), Arc(2, 3, 1))),
    "parallel arcs": Network(2, (Arc(0, 1, 9), Arc(0, 1, 4), Arc(0, 1, 4), Arc(1, 0, 1))),
    "float absorbed by rounding": Network(
        4, (Arc(0, 1, 1e18), Arc(1, 2, 1.0), Arc(2, 3, 1.0), Arc(3, 1, 0.0)), integer=False
    ),
    "floats far apart": Network(
        5, (Arc(0, 1, 1e-300), Arc(1, 2, 1e300), Arc(0, 3, 5e-324), Arc(3, 4, 1e9)), integer=False
    ),
}


# ---- turns


#: weights may become anything
UNBOUND = st.just(0.0)


@st.composite
def turned_graphs(
    draw: st.DrawFn,
    weights: st.SearchStrategy[Number] = SMALL_INTEGERS,
    *,
    closes: bool = True,
    lightest: st.SearchStrategy[float] = UNBOUND,
) -> tuple[sssp.Graph, dict[str, Any], Turned]:
    """Draw a graph, arguments of `Graph.with_turns` by position, and what turns cost by them."""
    g = graph_of(draw(networks(weights, least_n=1)))
    if closes and g.m and draw(st.booleans()):  # (some arcs may be closed before turns are named)
        g = g.without_arcs(draw(st.lists(st.integers(0, g.m - 1), max_size=2)))
    closed = np.iinfo(g.weights.dtype).max if g.weights.dtype.kind == "i" else math.inf
    lengths = [math.inf if w == closed else w for w in g.weights.tolist()]
    arcs = tuple(map(Arc, g.tails.tolist(), g.indices.tolist(), lengths))
    after = [[b for b in range(g.m) if arcs[b].tail == arcs[a].head] for a in range(g.m)]
    pairs = [(a, b) for a in range(g.m) for b in after[a]]
    prices = st.sampled_from([0, 1, 4, math.inf])
    costs: dict[tuple[int, int], Number] = {}
    usual = draw(st.none() | st.lists(prices, min_size=len(pairs), max_size=len(pairs)))
    if usual is not None:
        costs |= dict(zip(pairs, usual, strict=True))
    u_turns = draw(st.none() | prices)
    for a, b in pairs:
        if u_turns is not None and arcs[b].head == arcs[a].tail and len(after[a]) > 1:
            costs[a, b] = u_turns
    some = st.lists(st.sampled_from(pairs), max_size=5) if pairs else st.just([])
    rows = [(*pair, draw(prices), draw(st.sampled_from(["cost", "no"]))) for pair in draw(some)]
    named: dict[tuple[int, int], Number] = {}
    for a, b, price, kind in rows:
        named[a, b] = max(named.get((a, b), 0), price if kind == "cost" else math.inf)
    costs |= named
    only = draw(some)
    for a, _ in only:
        costs |= {(a, b): math.inf for b in after[a] if (a, b) not in only}
    rows += [(*pair, 0, "only") for pair in only]
    ways = set()
    for first in draw(st.lists(st.integers(0, g.m - 1), max_size=3)) if g.m else []:
        way = [first]
        for choice in draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)):
            if after[way[-1]]:
                way.append(after[way[-1]][choice % len(after[way[-1]])])
        if len(way) > 1:
            ways.add(tuple(way))
    table = tuple(map(list, zip(*rows, strict=True))) if rows else None
    given = {"table": table, "arcs": True, "cost": usual, "u_turns": u_turns, "ways": list(ways)}
    given["lightest"] = draw(lightest)
    return g, given, Turned(arcs, costs, frozenset(ways))
