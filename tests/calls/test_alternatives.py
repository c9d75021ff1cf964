"""Alternative routes, beside via paths that are found and judged one by one."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp

LOCAL = 0.25


def all_distances(g: sssp.Graph) -> tuple[dict[tuple[int, int], int], list[list[float]]]:
    """Return the weights of arcs, and distances by Floyd and Warshall."""
    weights = {
        (int(u), int(v)): int(w) for u, v, w in zip(g.tails, g.indices, g.weights, strict=True)
    }
    d = [[0 if u == v else weights.get((u, v), math.inf) for v in range(g.n)] for u in range(g.n)]
    for via in range(g.n):
        for u in range(g.n):
            for v in range(g.n):
                d[u][v] = min(d[u][v], d[u][via] + d[via][v])
    return weights, d


def shortest(
    weights: dict[tuple[int, int], int], d: list[list[float]], u: int, v: int
) -> list[int]:
    path = [u]
    while path[-1] != v:
        here = path[-1]
        [following] = [
            b for (a, b), w in weights.items() if a == here and w + d[b][v] == d[here][v]
        ]
        path.append(following)
    return path


def length(weights: dict[tuple[int, int], int], path: list[int]) -> int:
    return sum(weights[arc] for arc in pairwise(path))


def naive(g: sssp.Graph, s: int, t: int, k: int, stretch: float, sharing: float) -> list[list[int]]:
    """Choose among the shortest paths over every vertex, greedily."""
    weights, d = all_distances(g)
    if math.isinf(d[s][t]):
        return []
    chosen = [shortest(weights, d, s, t)]
    candidates = {}
    for via in range(g.n):
        if d[s][via] + d[via][t] > stretch * d[s][t]:
            continue
        path = [*shortest(weights, d, s, via), *shortest(weights, d, via, t)[1:]]
        long = length(weights, path)
        from_source = [b for b in path if length(weights, path[: path.index(b) + 1]) == d[s][b]]
        to_target = [a for a in path if length(weights, path[path.index(a) :]) == d[a][t]]
        plateau = d[s][from_source[-1]] - (long - d[to_target[0]][t])
        if len(set(path)) == len(path) and plateau >= LOCAL * d[s][t]:
            candidates[tuple(path)] = long - plateau
    for path in map(list, sorted(candidates, key=lambda path: candidates[path])):
        arcs = set(pairwise(path))
        common = [
            sum(weights[arc] for arc in arcs & set(pairwise(other))) / length(weights, path)
            for other in chosen
        ]
        if len(chosen) < k and max(common) <= sharing and max(common) < 1:
            chosen.append(path)
    return chosen


def town(seed: int, n: int, arcs: int, directed: bool = True) -> sssp.Graph:
    """Return a graph in which no two paths are equally long, but for a miracle."""
    chance = np.random.default_rng(seed)
    tails, heads = chance.integers(0, n, (2, arcs))
    weights = chance.integers(1 << 20, 1 << 23, arcs)
    return sssp.Graph.from_arcs(tails, heads, weights, n=n, directed=directed)


@settings(max_examples=150)
@given(
    st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 40), st.booleans(),
    st.sampled_from([1, 2, 3, 5]), st.sampled_from([1.0, 1.25, 2.0]),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
)  # fmt: skip
def test_routes_are_those_of_the_reference(
    seed: int, n: int, arcs: int, directed: bool, k: int, stretch: float, sharing: float
) -> None:
    g = town(seed, n, arcs, directed)
    ways = sssp.alternatives(g, 0, n - 1, k=k, stretch=stretch, sharing=sharing)
    found = [ways.path(i).tolist() for i in range(len(ways))]
    # what plateaus give comes first, and searches may add to it
    expected = naive(g, 0, n - 1, k, stretch, sharing)
    assert found[: len(expected)] == expected
    assert len(set(map(tuple, found))) == len(found) <= k
    weights, d = all_distances(g)
    for i, path in enumerate(found):
        assert ways.distances[i] == length(weights, path)
        assert ways.stretch[i] * d[0][n - 1] == pytest.approx(length(weights, path))
        assert ways.stretch[i] <= stretch
        assert ways.sharing[i] <= sharing
        for start in range(len(path)):
            for end in range(start + 1, len(path)):
                part = path[start : end + 1]
                if i == 0 or length(weights, part) < LOCAL * d[0][n - 1]:
                    assert length(weights, part) == d[part[0]][part[-1]]


@pytest.fixture(scope="module")
def streets() -> sssp.Graph:
    return sssp.road_like(3000, seed=4)


@pytest.fixture(scope="module")
def ways(streets: sssp.Graph) -> Any:
    return sssp.alternatives(sssp.prepare(streets), [5, 9, 9, 700], [2000, 2500, 9, 1])


def test_a_prepared_map_has_the_routes_of_its_graph(streets: sssp.Graph, ways: Any) -> None:
    flat = sssp.alternatives(streets, [5, 9, 9, 700], [2000, 2500, 9, 1], threads=1)
    assert [ways.path(i).tolist() for i in range(len(ways))] == [
        flat.path(i).tolist() for i in range(len(flat))
    ]
    for name in ("pair", "stretch", "sharing", "distances", "sources", "targets"):
        assert np.array_equal(getattr(ways, name), getattr(flat, name)), name


def test_routes_come_pair_by_pair_the_shortest_first(streets: sssp.Graph, ways: Any) -> None:
    trips = sssp.pairs(streets, [5, 9, 9, 700], [2000, 2500, 9, 1], predecessors=True)
    counts = np.bincount(ways.pair)
    assert counts.max() == 3
    assert counts.tolist()[2] == 1  # from a vertex to itself there is one way
    for pair in range(4):
        first = np.flatnonzero(ways.pair == pair)[0]
        assert ways.path(first).tolist() == trips.path(pair).tolist()
        assert ways.distances[first] == trips.distances[pair]
        assert (ways.stretch[first], ways.sharing[first]) == (1, 0)
    assert (ways.stretch <= 1.25).all()
    assert (ways.sharing <= 0.8).all()
    assert (ways.skim(streets.weights) == ways.distances).all()


def test_sharing_is_what_a_route_has_in_common(streets: sssp.Graph, ways: Any) -> None:
    for route in np.flatnonzero(ways.sharing > 0):
        own = ways.path_arcs(route)
        others = np.flatnonzero((ways.pair == ways.pair[route]) & (np.arange(len(ways)) < route))
        common = [streets.weights[np.intersect1d(own, ways.path_arcs(i))].sum() for i in others]
        assert ways.sharing[route] == max(common) / streets.weights[own].sum()


def test_routes_are_a_table_and_pickle(ways: Any) -> None:
    again = pickle.loads(pickle.dumps(ways))
    assert again.path(1).tolist() == ways.path(1).tolist()
    assert again.pair.tolist() == ways.pair.tolist()
    assert repr(ways).startswith("<Alternatives ")
    pytest.importorskip("pandas")
    table = ways.to_dataframe()
    assert list(table) == [
        *("source", "target", "distance", "reached", "pair", "stretch", "sharing")
    ]
    assert table["pair"].tolist() == ways.pair.tolist()


def test_floats_have_routes() -> None:
    g = town(3, 9, 40)
    whole = sssp.alternatives(g, 0, 8, stretch=2.0)
    parts = sssp.alternatives(g.with_weights(g.weights / 1000), 0, 8, stretch=2.0)
    assert [whole.path(i).tolist() for i in range(len(whole))] == [
        parts.path(i).tolist() for i in range(len(parts))
    ]
    assert parts.distances == pytest.approx(whole.distances / 1000)


def test_closed_streets_are_in_no_route() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    tails, heads = zip(*ring, strict=True)
    g = sssp.Graph.from_arcs(tails, heads, [4, 4, 4, 5, 4, 4], directed=False)
    assert len(sssp.alternatives(g, 0, 3)) == 2
    for network in (g, sssp.prepare(g)):
        closed = network.without_arcs(g.arcs([3, 4], [4, 3]))
        ways = sssp.alternatives(closed, 0, 3)
        assert [ways.path(i).tolist() for i in range(len(ways))] == [[0, 1, 2, 3]]


def test_trips_without_a_path_have_no_route() -> None:
    g = sssp.Graph.from_arcs([0], [1], [4], n=3)
    ways = sssp.alternatives(g, [2, 0, 0], [0, 1, 2])
    assert (ways.pair.tolist(), len(ways), ways.path(0).tolist()) == ([1], 1, [0, 1])
    assert len(sssp.alternatives(g, [], [])) == 0
    assert sssp.alternatives(g, 2, 2).path(0).tolist() == [2]


def test_where_plateaus_are_few_longer_arcs_show_other_ways() -> None:
    """In a grid of equal streets a tree of smallest tails has one way along the edge."""
    side = 8
    corner = np.arange(side * side).reshape(side, side)
    right, down = (corner[:, :-1], corner[:, 1:]), (corner[:-1], corner[1:])
    tails, heads = (np.append(a.ravel(), b.ravel()) for a, b in zip(right, down, strict=True))
    g = sssp.Graph.from_arcs(tails, heads, np.full(tails.size, 100), directed=False)
    for network in (g, sssp.prepare(g), g.with_weights(g.weights / 7)):
        ways = sssp.alternatives(network, 0, side * side - 1, k=4)
        assert len(ways) == 4
        assert ways.sharing.max() <= 0.8
        assert ways.stretch == pytest.approx(1)


def test_trees_are_asked_for_the_vertices_that_they_know(monkeypatch: Any) -> None:
    # arcs of weight 0, for which a tree passes through all vertices at a distance
    from sssp.cpu.tree import Tree

    class Strict(Tree):
        def predecessors(self, *arguments: Any, **options: Any) -> None:
            at_a_distance = np.flatnonzero(self.distances <= self.final)
            assert self.reached.tolist() == at_a_distance.tolist()
            super().predecessors(*arguments, **options)

    monkeypatch.setattr("sssp.calls.alternatives.Tree", Strict)
    g = sssp.road_like(300, seed=2)
    for weights in (np.where(g.weights % 3 == 0, 0, g.weights), g.weights * 0.5):
        for network in (g.with_weights(weights), sssp.prepare(g.with_weights(weights))):
            assert len(sssp.alternatives(network, [5, 8], [250, 40], stretch=1.1)) >= 2


def test_turns_are_heeded() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    tails, heads = zip(*ring, strict=True)
    g = sssp.Graph.from_arcs(tails, heads, [40, 40, 40, 50, 40, 40], directed=False)
    into, out = g.arc(5, 4), g.arc(4, 3)
    for cost, routes in ((7, [[0, 1, 2, 3], [0, 5, 4, 3]]), (np.inf, [[0, 1, 2, 3]])):
        turns = g.with_turns(([into], [out], [cost]), arcs=True)
        for network in (turns, sssp.prepare(turns)):
            ways = sssp.alternatives(network, 0, 3)
            assert [ways.path(i).tolist() for i in range(len(ways))] == routes
            assert ways.distances.tolist() == [120, 137][: len(routes)]
            assert (ways.sources.tolist(), ways.targets[0]) == ([0] * len(routes), 3)
            assert ways.graph is turns


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_routes_with_turns_cost_their_arcs_and_turns(seed: int) -> None:
    chance = np.random.default_rng(seed)
    g = town(seed, 8, 40)
    into = chance.integers(0, g.m, 60)
    out = np.array([chance.integers(g.indptr[v], g.indptr[v + 1] + 1) for v in g.indices[into]])
    is_turn = (out < g.indptr[g.indices[into] + 1]) & (out < g.m)
    keys, rows = np.unique(into[is_turn] * g.m + out[is_turn], return_index=True)
    into, out = into[is_turn][rows], out[is_turn][rows]
    costs = chance.choice([np.inf, 1 << 21, 5], keys.size)
    turns = g.with_turns((into, out, costs), arcs=True)
    cost_of = dict(zip(zip(into.tolist(), out.tolist(), strict=True), costs, strict=True))
    ways = sssp.alternatives(turns, 0, 7, stretch=2)
    shortest = sssp.pairs(turns, 0, 7).to_float()[0]
    for route in range(len(ways)):
        arcs = ways.path_arcs(route).tolist()
        cost = g.weights[arcs].sum() + sum(cost_of.get(turn, 0) for turn in pairwise(arcs))
        assert ways.distances[route] == cost
        assert shortest <= cost <= 2 * shortest


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be"),
        ({"stretch": 0.9}, ValueError, "stretch must be 1 to inf, not 0.9"),
        ({"sharing": 1.5}, ValueError, "sharing must be 0 to 1, not 1.5"),
        ({"sharing": math.nan}, ValueError, "sharing must be 0 to 1, not nan"),
        ({"stretch": "far"}, TypeError, "stretch must be a number, not 'far'"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sssp.alternatives(sssp.Graph.from_arcs([0], [1], [4]), 0, 1, **asked)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(sssp.NegativeWeightError, match="a weight of -4"):
        sssp.alternatives(sssp.Graph.from_arcs([0], [1], [-4]), 0, 1)


def test_verify_takes_no_alternatives(streets: sssp.Graph, ways: Any) -> None:
    with pytest.raises(TypeError, match="alternatives are longer"):
        sssp.verify(streets, ways)
