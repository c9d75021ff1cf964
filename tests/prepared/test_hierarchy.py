"""Hierarchies: their structure, other weights for it, files, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sssp
from sssp.loaders import read_arrays, write_arrays
from sssp.order import structure as structures
from sssp.order.structure import Structure, make_structure, neighbours
from tests import naive
from tests.prepared.conftest import assert_same_weights
from tests.strategies import SMALL_INTEGERS, graph_of, networks

RNG = np.random.default_rng(7)


def path_graph(n: int) -> sssp.Graph:
    return sssp.Graph.from_arcs(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, int), n)


def clique(n: int) -> sssp.Graph:
    tails, heads = np.nonzero(~np.eye(n, dtype=bool))
    return sssp.Graph.from_arcs(tails, heads, RNG.integers(1, 100, tails.size))


def expander(n: int) -> sssp.Graph:
    heads = np.concatenate([RNG.permutation(n) for _ in range(4)])
    return sssp.Graph.from_arcs(np.tile(np.arange(n), 4), heads, np.ones(4 * n, int), n)


def eliminated(g: sssp.Graph, order: NDArray[np.int32]) -> list[set[int]]:
    """Play the game: whoever goes joins all its neighbours that are left. In vertices."""
    around: list[set[int]] = [set() for _ in range(g.n)]
    for tail, head in zip(g.tails.tolist(), g.indices.tolist(), strict=True):
        if tail != head:
            around[tail].add(head)
            around[head].add(tail)
    left = [set[int]() for _ in range(g.n)]
    for v in order.tolist():
        left[v] = set(around[v])
        for u in around[v]:
            around[u].discard(v)
            around[u] |= around[v] - {u}
    return left


def check_structure(g: sssp.Graph, structure: Structure, order: NDArray[np.int32]) -> None:
    """Compare a structure with the game, played in the order that was given."""
    wanted = eliminated(g, order)
    n = g.n
    assert sorted(structure.order.tolist()) == list(range(n))
    np.testing.assert_array_equal(structure.rank[structure.order], np.arange(n))
    for r in range(n):
        ends = structure.upper[structure.first[r] : structure.first[r + 1]]
        assert (np.diff(ends) > 0).all()
        assert (ends > r).all()
        assert set(structure.order[ends].tolist()) == wanted[structure.order[r]]
        assert structure.parent[r] == (ends[0] if ends.size else -1)
        own = slice(*structure.lower_first[r : r + 2])
        below = structure.lower[own].astype(np.int64)
        assert (structure.upper[below] == r).all()
        assert (np.diff(below) > 0).all()
        lists_end = structure.first[np.searchsorted(structure.first, below, side="right")]
        assert (below + 1 + structure.lower_rest[own] == lists_end).all()
    counts = np.diff(structure.first)
    assert structure.triangles == int((counts * (counts - 1) // 2).sum())
    covered = [range(*part) for part in sorted(structure.tasks.ranges.tolist())]
    assert [r for part in covered for r in part] == list(range(n))


@given(networks(SMALL_INTEGERS), st.randoms(use_true_random=False))
def test_the_structure_is_that_of_the_game_for_any_order(
    network: naive.Network, random: Any
) -> None:
    g = graph_of(network)
    order = np.array(random.sample(range(g.n), g.n), np.int32)
    counted: list[tuple[int, int]] = []
    structure = make_structure(neighbours(g), order, 1, lambda *fill: counted.append(fill))
    check_structure(g, structure, order)
    assert counted == [(structure.upper.size, structure.triangles)]


@pytest.mark.parametrize("order", ["as it is", "backwards", "at random"])
def test_the_structure_of_larger_graphs_by_many_threads(order: str) -> None:
    g = sssp.road_like(6000)
    orders = {
        "as it is": np.arange(g.n, dtype=np.int32),
        "backwards": np.arange(g.n, dtype=np.int32)[::-1].copy(),
        "at random": RNG.permutation(g.n).astype(np.int32),
    }
    # (a bad order of many vertices makes cliques of thousands)
    part = g if order == "as it is" else sssp.road_like(2500)
    chosen = orders[order][orders[order] < part.n]
    alone = make_structure(neighbours(part), chosen, 1)
    together = make_structure(neighbours(part), chosen, 3)
    for one, other in zip(alone[:-2], together[:-2], strict=True):
        np.testing.assert_array_equal(one, other)
    if part.n < g.n:
        check_structure(part, alone, chosen)


@pytest.mark.parametrize(
    "g",
    [
        path_graph(5000),
        path_graph(1),
        sssp.Graph.from_arcs([], [], [], n=0),
        sssp.Graph.from_arcs([], [], [], n=100_000),
        sssp.Graph.from_arcs([0] * 3000, range(1, 3001), [1] * 3000, directed=False),
        clique(70),
        sssp.Graph.from_arcs([0, 1, 1, 1], [0, 1, 2, 2], [3, 0, 7, 5], n=3),
    ],
    ids=["path", "one", "none", "isolated", "star", "clique", "loops"],
)
def test_shapes(g: sssp.Graph) -> None:
    h = sssp.prepare(g)
    sources = np.arange(min(g.n, 4))
    found = sssp.shortest_paths(h, sources, threads=1).distances
    np.testing.assert_array_equal(found, sssp.shortest_paths(g, sources, threads=1).distances)


def test_public_members() -> None:
    public = [name for name in dir(sssp.Hierarchy) if not name.startswith("_")]
    figures = ["n", "m", "labels", "turns", "least_weight", "greatest_weight", "graph"]
    versions = ["with_weights", "with_changes", "without_arcs", "scenarios", "reverse"]
    versions += ["with_trip_labels", "with_turn_costs"]
    assert sorted(public) == sorted([*figures, *versions, "free_device", "save"])


def test_the_same_for_any_number_of_threads() -> None:
    g = sssp.road_like(20_000)
    one, three = sssp.prepare(g, threads=1), sssp.prepare(g, threads=3)
    np.testing.assert_array_equal(one._structure.order, three._structure.order)
    assert_same_weights(one, three)


def test_all_threads_may_take_part_near_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "SMALLEST", 50)
    monkeypatch.setattr(structures, "SHARED_TRIANGLES", 1)
    g = sssp.road_like(5000)
    one, three = sssp.prepare(g, threads=1), sssp.prepare(g, threads=3)
    assert three._structure.tasks.shared.sum() > 10
    assert_same_weights(one, three)


@given(networks(SMALL_INTEGERS, least_n=1), st.data())
def test_other_weights_closed_streets_and_the_way_back(
    network: naive.Network, data: st.DataObject
) -> None:
    g = graph_of(network)
    h = sssp.prepare(g)
    weights = data.draw(st.lists(SMALL_INTEGERS, min_size=g.m, max_size=g.m))
    closed = data.draw(st.lists(st.integers(0, g.m - 1), max_size=3)) if g.m else []
    for version in (
        h.with_weights(weights),
        h.without_arcs(closed),
        h.without_arcs(closed).with_changes(closed, [5] * len(closed)),
        h.reverse(),
        h.reverse().with_weights(weights),
        h.reverse().reverse(),
        h.with_weights([w / 8 for w in weights]),
    ):
        check_version(version)


def check_version(h: sssp.Hierarchy) -> None:
    for sources in (range(h.n), [0]):
        np.testing.assert_array_equal(
            sssp.shortest_paths(h, sources).distances,
            sssp.shortest_paths(h.graph, sources).distances,
        )


def test_what_a_map_leaves_to_its_graph_is_named() -> None:
    h = sssp.prepare(sssp.road_like(20))
    for name in ("nearest_vertex", "vertices", "coordinates", "arcs"):
        with pytest.raises(AttributeError, match=rf"its graph has: h\.graph\.{name}$"):
            getattr(h, name)
        assert not hasattr(h, name)
    with pytest.raises(AttributeError, match=r"no 'verticles'$"):
        getattr(h, "verticles")  # noqa: B009
    assert not hasattr(h, "_mapping")


def test_versions_share_their_structure_and_leave_the_first_alone() -> None:
    g = sssp.road_like(500)
    h = sssp.prepare(g)
    before = sssp.shortest_paths(h, 0).distances
    slower = h.with_weights(g.weights * 2)
    assert slower._structure is h._structure
    np.testing.assert_array_equal(sssp.shortest_paths(slower, 0).distances, 2 * before)
    np.testing.assert_array_equal(sssp.shortest_paths(h, 0).distances, before)
    assert h.reverse() is h.reverse()
    with pytest.raises(AttributeError, match="immutable"):
        h.graph = g
    with pytest.raises(ValueError, match="read-only"):
        h._structure.upper[0] = 1
    with pytest.raises(sssp.NegativeCycleError, match="with 2 vertices") as caught:
        h.with_changes([0], [-(10**6)])
    assert len(caught.value.cycle) == 2
    with pytest.raises(TypeError, match="Hierarchy"):
        sssp.prepare(h)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [1 << 53, 1 << 60])
def test_a_cycle_that_floats_take_for_none_is_refused(weight: int) -> None:
    g = sssp.Graph.from_arcs([0, 1, 1], [1, 0, 2], [weight, -weight - 1, 5])
    with pytest.raises(sssp.NegativeCycleError, match="with 2 vertices"):
        sssp.prepare(g)
    level = g.with_changes(1, -weight)
    h = sssp.prepare(level)
    assert sssp.shortest_paths(h, 0).distances.tolist() == [0, weight, weight + 5]
    with pytest.raises(sssp.NegativeCycleError, match="with 2 vertices"):
        h.with_changes(0, weight - 1)


def test_files(tmp_path: Path) -> None:
    g = sssp.road_like(500).largest_component()
    h = sssp.prepare(g)
    whole, alone, other = (tmp_path / name for name in ("whole.sssp", "alone.sssp", "g.sssp"))
    h.save(whole)
    h.save(alone, structure_only=True)
    g.save(other)
    assert alone.stat().st_size < whole.stat().st_size
    slower = g.with_weights(g.weights * 3)
    for read, graph in (
        (sssp.read_hierarchy(whole), g),
        (sssp.read_hierarchy(whole, slower), slower),
        (sssp.read_hierarchy(alone, slower), slower),
        (pickle.loads(pickle.dumps(h)), g),
    ):
        np.testing.assert_array_equal(read._structure.order, h._structure.order)
        np.testing.assert_array_equal(np.asarray(read.labels), np.asarray(graph.labels))
        found = sssp.shortest_paths(read, [0, 1, 2]).distances
        np.testing.assert_array_equal(found, sssp.shortest_paths(graph, [0, 1, 2]).distances)
    np.testing.assert_array_equal(sssp.read_graph(whole).weights, g.weights)
    with pytest.raises(TypeError, match="graph=g"):
        sssp.read_hierarchy(alone)
    with pytest.raises(sssp.GraphFormatError, match="structure"):
        sssp.read_graph(alone)
    with pytest.raises(sssp.GraphFormatError, match="prepare"):
        sssp.read_hierarchy(other)
    for path in (whole, alone):
        with pytest.raises(sssp.GraphFormatError, match="other vertices or arcs"):
            sssp.read_hierarchy(path, sssp.road_like(500, seed=1))


@pytest.mark.parametrize("order", [[0, 0], [0, 2], [0, -1], [0], [[0, 1]], [0.0, 1.0]])
def test_files_with_an_order_that_is_none(tmp_path: Path, order: list[Any]) -> None:
    path = tmp_path / "h.sssp"
    h = sssp.prepare(sssp.Graph.from_arcs([0], [1], [1]))
    h.save(path)
    meta, arrays = read_arrays(path)
    array = np.array(order)
    arrays["order"] = array.astype(np.int32) if array.dtype.kind == "i" else array
    write_arrays(path, meta, arrays)
    with pytest.raises(sssp.GraphFormatError, match="order"):
        sssp.read_hierarchy(path)


def test_what_is_no_road_network_is_refused_with_numbers() -> None:
    with pytest.raises(ValueError, match=r"no road network: [\d,]+ vertices .*\.shortest_paths"):
        sssp.prepare(expander(4000))
    with pytest.raises(sssp.DeviceError, match=r"chordal arcs [\d,]+\), but may take 100,000"):
        sssp.prepare(sssp.road_like(5000), memory_limit=1e5)
