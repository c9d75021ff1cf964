"""Skims, loads and arcs of paths: everything that walks a shortest-path tree."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sssp
from tests import naive
from tests.results.forgeries import cut_to_paths
from tests.strategies import (
    DYADIC,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    vertex_lists,
)

GREATEST = np.iinfo(np.int64).max
ATTRIBUTES = st.integers(-5, 100) | st.integers(0, 2**50)
VOLUMES = st.integers(0, 20)


class Trees(NamedTuple):
    """A call for predecessors, its result, and the rows that the reference gives."""

    network: naive.Network
    result: sssp.ShortestPaths
    rows: list[naive.Row]

    @property
    def columns(self) -> list[int]:
        """Vertex of every column of the distances."""
        targets = self.result.targets
        return list(range(self.network.n)) if targets is None else targets.tolist()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what `skim` returns and `load` takes."""
        shape: tuple[int, ...] = self.result.distances.shape
        return shape


@st.composite
def trees(draw: st.DrawFn, drawn: st.SearchStrategy[naive.Network]) -> Trees:
    network = draw(drawn)
    vertices: st.SearchStrategy[Any] = vertex_lists(network.n)
    if network.n:
        vertices |= st.integers(0, network.n - 1)
    sources = draw(vertices)
    nearest = sources != [] and draw(st.booleans())
    output: Any = draw(st.sampled_from(["host", "host", "sparse"]))
    targets = None if output == "sparse" else draw(st.none() | vertices)
    limit = draw(st.none() | st.integers(0, 12))
    starts = [sources] if isinstance(sources, int) else sources
    try:
        rows = [
            naive.solve(
                network,
                start,
                limit=np.inf if limit is None else limit,
                targets=[targets] if isinstance(targets, int) else targets,
            )
            for start in ([starts] if nearest else [[source] for source in starts])
        ]
    except naive.NegativeCycle:
        assume(False)
    result = sssp.shortest_paths(
        graph_of(network),
        sources,
        nearest=nearest,
        targets=targets,
        limit=limit,
        output=output,
        predecessors=True,
    )
    return Trees(network, cut_to_paths(result) if draw(st.booleans()) else result, rows)


any_trees = trees(networks(SMALL_INTEGERS) | networks(DYADIC) | negative_networks())


def per_input_row(network: naive.Network, numbers: st.SearchStrategy[Any]) -> Any:
    return st.lists(numbers, min_size=len(network.arcs), max_size=len(network.arcs))


@settings(max_examples=250)
@given(asked=any_trees, data=st.data())
def test_a_skim_sums_an_attribute_along_every_tree_path(asked: Trees, data: st.DataObject) -> None:
    floats = data.draw(st.booleans())
    values = data.draw(per_input_row(asked.network, DYADIC if floats else ATTRIBUTES))
    dtype, missing = (np.float64, np.inf) if floats else (np.int64, GREATEST)
    sums = asked.result.skim(np.array(values, dtype)[asked.result.graph.arc_origin])
    expected = [
        [naive.skim(asked.network, row, values).get(v, missing) for v in asked.columns]
        for row in asked.rows
    ]
    assert sums.shape == asked.shape
    assert sums.dtype == dtype
    np.testing.assert_array_equal(sums, np.array(expected, dtype).reshape(asked.shape))


@settings(max_examples=250)
@given(asked=any_trees, data=st.data())
def test_a_load_is_the_sum_of_the_volumes_over_their_paths(
    asked: Trees, data: st.DataObject
) -> None:
    floats = data.draw(st.booleans())
    numbers = DYADIC if floats else VOLUMES
    volumes = [
        [data.draw(numbers) if v in row.distances else 0 for v in asked.columns]
        for row in asked.rows
    ]
    dtype = np.float64 if floats else np.int64
    flow = asked.result.load(np.array(volumes, dtype).reshape(asked.shape))
    expected = np.zeros(len(asked.network.arcs), dtype)
    for row, row_volumes in zip(asked.rows, volumes, strict=True):
        for vertex, volume in zip(asked.columns, row_volumes, strict=True):
            expected += np.array(naive.load(asked.network, row, {vertex: volume}), dtype)
    assert flow.dtype == dtype
    np.testing.assert_array_equal(flow, expected)


@settings(max_examples=150)
@given(asked=any_trees)
def test_the_arcs_of_a_path_join_its_vertices_and_sum_to_its_length(asked: Trees) -> None:
    g, result = asked.result.graph, asked.result
    rows = asked.network.rows()
    for i, row in enumerate(asked.rows):
        for target in set(asked.columns) & set(row.distances):
            arcs = result.path_arcs(target, row=i)
            path = naive.path(row.predecessors, target)
            assert arcs.dtype == np.int64
            assert [*g.tails[arcs], target] == path
            assert [*path[:1], *g.indices[arcs]] == path
            assert g.arc_origin[arcs].tolist() == [rows[pair] for pair in pairwise(path)]
            start = row.distances[path[0]]
            assert start + g.weights[arcs].sum() == result.distance(target, row=i)


@settings(max_examples=100)
@given(asked=trees(networks(st.floats(0, 1e30))))
def test_a_skim_of_the_weights_is_the_distance_bit_for_bit(asked: Trees) -> None:
    assume(asked.network.arcs)
    expected = [[row.distances.get(v, np.inf) for v in asked.columns] for row in asked.rows]
    np.testing.assert_array_equal(
        asked.result.skim(asked.result.graph.weights), np.array(expected).reshape(asked.shape)
    )


# -- by hand -----------------------------------------------------------------------------------


@pytest.fixture
def streets() -> sssp.Graph:
    """Five two-way streets: 0-1-2-3, a lighter one beside 1-2, and 3-4 that nobody needs."""
    tails, heads, minutes = [0, 1, 2, 1, 4], [1, 2, 3, 2, 3], [4, 7, 2, 5, 1]
    return sssp.Graph.from_arcs(tails, heads, minutes, n=6, directed=False)


def test_both_directions_of_a_street_load_the_same_input_row(streets: sssp.Graph) -> None:
    r = sssp.shortest_paths(streets, [0, 3], predecessors=True)
    volumes = np.zeros((2, 6), np.int64)
    volumes[0, 3], volumes[1, 0], volumes[1, 1] = 10, 200, 3000
    assert r.load(volumes).tolist() == [210, 0, 3210, 3210, 0]


def test_kilometres_along_the_fastest_path(streets: sssp.Graph) -> None:
    kilometres = np.array([1.5, 0.25, 3.0, 9.0, 0.5])
    r = sssp.shortest_paths(streets, 0, predecessors=True)
    assert r.distances[3] == 11
    assert r.skim(kilometres[streets.arc_origin]).tolist() == [0, 1.5, 10.5, 13.5, 14, np.inf]
    assert r.path_arcs(0).tolist() == []
    assert streets.arc_origin[r.path_arcs(3)].tolist() == [0, 3, 2]
    one = sssp.shortest_paths(streets, 0, targets=3, predecessors=True)
    assert one.skim(kilometres[streets.arc_origin]) == 13.5
    assert one.load(7).tolist() == [7, 0, 7, 7, 0]


def test_a_deep_tree_and_a_wide_one_are_no_special_cases() -> None:
    n = 100_000
    chain = sssp.Graph.from_arcs(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, int))
    r = sssp.shortest_paths(chain, 0, predecessors=True)
    assert r.skim(np.full(n - 1, 3))[-1] == 3 * (n - 1)
    assert r.load(np.ones(n, int)).tolist() == list(range(n - 1, 0, -1))
    star = sssp.Graph.from_arcs(np.zeros(n - 1, int), np.arange(1, n), np.ones(n - 1, int))
    values = np.arange(n - 1) * 7
    r = sssp.shortest_paths(star, 0, predecessors=True)
    assert r.skim(values).tolist() == [0, *values]
    assert r.load(np.arange(n)).tolist() == list(range(1, n))


@pytest.mark.parametrize("targets", [None, range(0, 20_000, 9)])
def test_floats_are_the_same_bits_for_any_number_of_threads(targets: Any) -> None:
    g = sssp.road_like(20_000)
    random = np.random.default_rng(1)
    r = sssp.shortest_paths(g, range(0, 20_000, 700), targets=targets, predecessors=True)
    values, volumes = random.random(g.m), random.random(r.distances.shape)
    found = []
    try:
        for threads in (1, 2, 5):
            sssp.set_threads(threads)
            found.append((r.skim(values), r.load(volumes)))
    finally:
        sssp.set_threads(None)
    for sums, flow in found:
        np.testing.assert_array_equal(sums, found[0][0])
        np.testing.assert_array_equal(flow, found[0][1])
    row, column = 17, 1234
    vertex = column if targets is None else targets[column]
    along = values[r.path_arcs(vertex, row)]
    assert found[0][0][row, column] == pytest.approx(along.sum())
    assert found[0][1].sum() == pytest.approx((volumes * r.skim(np.ones(g.m))).sum())


def test_what_is_wrong_in_a_later_row_is_named_whichever_thread_finds_it() -> None:
    n = 70_000
    chain = sssp.Graph.from_arcs(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, int))
    r = sssp.shortest_paths(chain, [0, 1, 2, 3], predecessors=True)
    volumes = np.ones((4, n))
    volumes[np.tril_indices(4, -1)] = 0
    assert r.load(volumes)[:4].tolist() == [n - 1, 2 * n - 4, 3 * n - 9, 4 * n - 16]
    volumes[2:, 0] = 1
    with pytest.raises(sssp.UnreachableError, match="source 2 to 1 vertices"):
        r.load(volumes)
    values = np.ones(n - 1)
    values[1] = np.nan
    with pytest.raises(ValueError, match="arc 1 on the path from source 0 to vertex 2"):
        r.skim(values)


def test_paths_to_targets_are_those_of_the_whole_tree_where_a_float_absorbs_an_arc() -> None:
    # 0-5-1-4 has the smaller tail at 4, 0-3-4 fewer arcs; 1-2 adds nothing to 1e18
    tails, heads = [0, 5, 0, 1, 1, 3], [5, 1, 3, 2, 4, 4]
    far, near = [5e17, 5e17, 1e18, 1.0, 1e18, 1e18], [5.0, 5.0, 10.0, 1.0, 10.0, 10.0]
    for weights, path in ((far, [0, 3, 4]), (near, [0, 5, 1, 4])):
        g = sssp.Graph.from_arcs(tails, heads, weights)
        for targets in (None, [4], [4, 2]):
            r = sssp.shortest_paths(g, [0], targets=targets, predecessors=True)
            assert r.path(4).tolist() == path


def test_volumes_to_unreached_vertices_are_refused_by_name(streets: sssp.Graph) -> None:
    r = sssp.shortest_paths(streets, [1, 3], predecessors=True, limit=5)
    volumes = np.ones((2, 6))
    volumes[0] = 0
    with pytest.raises(sssp.UnreachableError, match=r"source 3 to 3 vertices .* vertex 0 first"):
        r.load(volumes)
    nearest = sssp.shortest_paths(streets, [1, 3], predecessors=True, nearest=True)
    with pytest.raises(sssp.UnreachableError, match="any of 2 sources to 1 vertices"):
        nearest.load(np.full(6, 0.5))


@pytest.mark.parametrize(
    ("sources", "options", "shape"),
    [
        (0, {}, (6,)),
        ([0], {}, (1, 6)),
        ([0, 1], {"output": "sparse"}, (2, 6)),
        (0, {"output": "sparse"}, (1, 6)),
        ([0, 1], {"targets": [2, 3, 4]}, (2, 3)),
        ([0, 1], {"targets": 2}, (2,)),
        ([0, 1], {"nearest": True}, (6,)),
        ([], {}, (0, 6)),
    ],
)
def test_volumes_have_the_shape_of_the_distances(
    streets: sssp.Graph, sources: Any, options: dict[str, Any], shape: tuple[int, ...]
) -> None:
    r = sssp.shortest_paths(streets, sources, predecessors=True, **options)
    assert r.load(np.zeros(shape)).tolist() == [0.0] * 5
    assert r.skim(np.zeros(streets.m)).shape == shape
    for wrong in ((), (5,), (*shape, 1)):
        with pytest.raises(ValueError, match=r"volumes.*shape"):
            r.load(np.zeros(wrong))


def test_values_must_be_one_number_an_arc(streets: sssp.Graph) -> None:
    r = sssp.shortest_paths(streets, 0, predecessors=True)
    with pytest.raises(ValueError, match=rf"\({streets.m},\), not \(5,\)"):
        r.skim(np.ones(5))
    for wrong in ("a", 1j):
        with pytest.raises(TypeError, match="integers or floats"):
            r.skim(np.full(streets.m, wrong))
    # (what is missing may be so off all paths)
    with pytest.raises(ValueError, match=r"the value of arc 0 on the path .* is nan"):
        r.skim(np.full(streets.m, None))
    with pytest.raises(TypeError, match="integers or floats"):
        r.load(["a"] * 6)


def test_sums_along_paths_need_predecessors(streets: sssp.Graph) -> None:
    r = sssp.shortest_paths(streets, 0)
    for ask in (
        lambda: r.skim(np.ones(streets.m)),
        lambda: r.load(np.zeros(6)),
        lambda: r.path_arcs(3),
    ):
        with pytest.raises(ValueError, match="predecessors=True"):
            ask()
