"""`Trips` and `NearestFacilities`: certified, in tables, by vertex; forged ones are refused."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import sssp

G = sssp.road_like(300, seed=3)
RNG = np.random.default_rng(5)


def random_graph(seed: int, floats: bool = False) -> sssp.Graph:
    rng = np.random.default_rng(seed)
    n, m = 12, 30
    weights: Any = rng.integers(0, 4, m)
    if floats:
        weights = weights * 0.1
    return sssp.Graph.from_arcs(rng.integers(0, n, m), rng.integers(0, n, m), weights, n=n)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floats", [False, True])
def test_right_results_pass(seed: int, prepared: bool, floats: bool) -> None:
    g = random_graph(seed, floats)
    on = sssp.prepare(g) if prepared else g
    ends = np.arange(g.n)
    for limit in (None, 3):
        trips = sssp.pairs(on, ends, ends[::-1], limit=limit, predecessors=True)
        sssp.verify(g, trips)
        sssp.verify(g, sssp.pairs(on, ends, ends[::-1], limit=limit))
        for direction in ("from", "to"):
            for k in (1, 3):
                found = sssp.nearest(on, [1, 5, 5, 9], k=k, direction=direction, limit=limit)
                sssp.verify(g, found)


def test_closed_arcs_and_cities_pass() -> None:
    closed = G.without_arcs([0, 5, 9])
    for g in (G, closed, sssp.prepare(G).without_arcs([0, 5, 9]).graph):
        trips = sssp.pairs(g, range(0, 300, 7), range(0, 301, 7), predecessors=True)
        sssp.verify(g, trips)
        sssp.verify(g, sssp.nearest(g, range(0, 300, 30), k=2))


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_number_is_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(seed)
    right = sssp.nearest(g, [1, 5, 9], k=2)
    forged = copy.deepcopy(right)
    v, i = int(rng.integers(g.n)), int(rng.integers(2))
    if seed % 3 == 0:
        forged.distances[v, i] = 2
    elif seed % 3 == 1:
        forged.index[v, i] = int(rng.integers(-1, 3))
    else:
        forged.index[v], forged.distances[v] = -1, np.iinfo(forged.distances.dtype).max
    same = (forged.index == right.index).all() and (forged.distances == right.distances).all()
    if same:
        sssp.verify(g, forged)
    else:
        with pytest.raises(sssp.VerificationError):
            sssp.verify(g, forged)


def test_forged_trips_are_refused() -> None:
    trips = sssp.pairs(G, [0, 4, 4], [250, 100, 9], predecessors=True)
    assert trips.has_paths
    farther = copy.deepcopy(trips)
    farther.distances[1] += 1
    with pytest.raises(sssp.VerificationError, match="target 100"):
        sssp.verify(G, farther)
    elsewhere = copy.deepcopy(trips)
    elsewhere._walk_of = elsewhere._walk_of[[1, 0, 2]]
    with pytest.raises(sssp.VerificationError, match="does not lead from"):
        sssp.verify(G, elsewhere)
    torn = copy.deepcopy(trips)
    assert torn._walks is not None
    torn._walks.vertices[1] = 299
    with pytest.raises(sssp.VerificationError, match="no open arc"):
        sssp.verify(G, torn)
    # a way round, of arcs that there are
    g = sssp.Graph.from_arcs([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 2, 2])
    short = sssp.pairs(g, [0], [3], predecessors=True)
    assert short._walks is not None
    short._walks.vertices[1] = 2
    with pytest.raises(sssp.VerificationError, match="is 4 long, its distance 2"):
        sssp.verify(g, short)


def test_what_is_verified_must_be_a_result() -> None:
    with pytest.raises(TypeError, match="pairs or nearest"):
        sssp.verify(G, np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the graph first"):
        sssp.verify(sssp.nearest(G, [0]), G)  # type: ignore[arg-type]


def test_one_distance_is_a_python_number() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5], n=4)
    trips = sssp.pairs(g, [0, 0], [2, 3])
    assert (trips.distance(0), trips.distance(-1)) == (10, math.inf)
    assert isinstance(trips.distance(0), int)
    assert not trips.has_paths
    found = sssp.nearest(g, [2, 0], k=2)
    assert [found.distance(v) for v in range(4)] == [0, 5, 0, math.inf]
    assert [found.distance(2, 1), found.distance(0, rank=1)] == [10, math.inf]
    for wrong in ((4, 0), (0, 2), (-1, 0)):
        with pytest.raises(sssp.VertexError, match="4 vertices and 2 ranks"):
            found.distance(*wrong)


def test_tables() -> None:
    pandas = pytest.importorskip("pandas")
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5], n=4, labels=list("abcd"))
    table = sssp.pairs(g, [0, 0], [2, 3]).to_dataframe()
    assert table["source"].tolist() == ["a", "a"]
    assert table["target"].tolist() == ["c", "d"]
    assert table["distance"].tolist() == [10, pandas.NA]
    assert table["reached"].tolist() == [True, False]
    table = sssp.nearest(g, [2, 0], k=2).to_dataframe()
    assert table["vertex"].tolist() == list("aabbccdd")
    assert table["rank"].tolist() == [0, 1] * 4
    assert [x if isinstance(x, str) else None for x in table["facility"]] == [
        "a", None, "a", None, "c", "a", None, None,
    ]  # fmt: skip
    assert table["distance"].sum() == 15
    assert table["reached"].sum() == 4


def test_pictures() -> None:
    pytest.importorskip("matplotlib")
    found = sssp.nearest(G, [0, 100, 200], k=2)
    axes = found.plot(rank=1, unit="m")
    assert axes.collections or axes.images
    with pytest.raises(sssp.VertexError):
        found.plot(rank=2)
    trips = sssp.pairs(G, [0, 1], [200, 299], predecessors=True)
    assert trips.plot_flows([3, 4]) is not None
