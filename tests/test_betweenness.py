"""Betweenness: by definition, as NetworkX has it, and the same bits on a device however found."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from tests import naive
from tests.naive import Arc, Network
from tests.solvers import SIMULATOR, draw_and_ask, every_device, needs_speed, solvers_on
from tests.strategies import DYADIC, FLOATS, graph_of, networks, vertex_lists

#: many ties, few zeros
LENGTHS = st.sampled_from([0, 1, 1, 1, 1, 2, 2, 3, 10])


@settings(max_examples=300)
@given(network=networks(LENGTHS) | networks(DYADIC), data=st.data())
def test_betweenness_is_what_its_definition_says(network: Network, data: st.DataObject) -> None:
    sources = data.draw(st.none() | vertex_lists(network.n))
    starts = list(range(network.n)) if sources is None else sources
    g = graph_of(network)
    try:
        for source in starts:
            naive.path_counts(network, source)
    except naive.EndlessPaths:
        with pytest.raises(ValueError, match=r"source \d cannot be counted: arcs of weight 0"):
            sssp.betweenness(g, sources)
        return
    # a cycle of zeros that is reached is tight from every source that reaches it
    expected = np.array(naive.betweenness(network, starts), float)
    if not network.directed:
        expected = expected / 2
    found = sssp.betweenness(g, sources)
    assert found.dtype == np.float64
    assert found.shape == (network.n,)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_betweenness_is_that_of_networkx(directed: bool, normalized: bool) -> None:
    G = nx.gnm_random_graph(40, 110, seed=3, directed=directed)
    random = np.random.default_rng(5)
    for _, _, data in G.edges(data=True):
        data["length"] = int(random.integers(1, 5))
    g = sssp.Graph.from_networkx(G, weight="length")
    options: dict[str, Any] = {"normalized": normalized, "weight": "length"}
    theirs = nx.betweenness_centrality(G, **options)
    found = sssp.betweenness(g, normalized=normalized)
    assert dict(zip(G, found.tolist(), strict=True)) == pytest.approx(theirs)
    sources = [7, 3, 21]
    theirs = nx.betweenness_centrality_subset(G, sources, list(G), **options)
    found = sssp.betweenness(g, g.vertices(sources), normalized=normalized)
    assert dict(zip(G, found.tolist(), strict=True)) == pytest.approx(theirs)


@every_device
def test_the_bits_are_the_same_whatever_finds_the_distances(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sssp.engine.thresholds.COUNTED_BYTES", 0)  # several blocks of few rows
    monkeypatch.setattr("sssp.engine.thresholds.COUNTED_ROWS", 2)
    random = np.random.default_rng(1)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4, create_using=nx.DiGraph))
    for _, _, data in grid.edges(data=True):
        data["weight"] = int(random.integers(1, 3))
    integers = sssp.Graph.from_networkx(grid)
    floats = integers.with_weights(np.full(grid.size(), 0.1))
    for g in [integers] if SIMULATOR else [integers, floats]:
        starts, bits = [0, 4, 9], None
        on_cpu = sssp.betweenness(g, starts, method="dijkstra", threads=1, device="cpu")
        assert on_cpu.max() > 1
        for solver in solvers_on(device, weighted=True):
            if solver.method.name in ("delta-stepping", "dijkstra"):
                found = sssp.betweenness(g, starts, method=solver.method, device=device, threads=3)
                bits = found if bits is None else bits
                np.testing.assert_array_equal(found, bits)
        np.testing.assert_allclose(found, on_cpu, rtol=0 if device == "cpu" else 1e-12)


@every_device
def test_every_device_counts_paths(device: str) -> None:
    def ask(network: Network) -> None:
        g = graph_of(network)
        try:
            expected = sssp.betweenness(g, device="cpu")
        except ValueError as error:
            with pytest.raises(ValueError, match=f"^{re.escape(str(error))}$"):
                sssp.betweenness(g, device=device)
            return
        np.testing.assert_allclose(sssp.betweenness(g, device=device), expected, rtol=1e-12)

    draw_and_ask(device, networks(LENGTHS) | networks(DYADIC), ask, 50)


@every_device
def test_a_prepared_map_counts_the_paths_of_its_graph(device: str) -> None:
    """Sweeps round floats in another order, so that arcs of shortest paths would not be tight."""

    def ask(network: Network) -> None:
        g = graph_of(network)
        h = sssp.prepare(g, threads=1)
        try:
            expected = sssp.betweenness(g, device=device)
        except ValueError as error:
            with pytest.raises(ValueError, match=f"^{re.escape(str(error))}$"):
                sssp.betweenness(h, device=device)
            return
        np.testing.assert_array_equal(sssp.betweenness(h, device=device), expected)

    for weights in (
        [2.5, 1.9, 1.5, 0.8, 0.9, 0.2, 0.3],  # was a division by zero
        [0.3, 2.2, 1.6, 2.2, 1.3, 1.4, 0.4],  # was wrong
    ):
        ends = [0, 1, 2, 3, 4, 0, 2], [1, 2, 3, 4, 5, 3, 5]
        arcs = tuple(Arc(*arc) for arc in zip(*ends, weights, strict=True))
        ask(Network(6, arcs, directed=False, integer=False))
    draw_and_ask(device, networks(LENGTHS) | networks(FLOATS), ask, 50)


def test_breadth_first_counts_paths_by_their_arcs() -> None:
    g = sssp.Graph.from_arcs([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 5, 9])
    assert sssp.betweenness(g).tolist() == [0, 1, 0, 0]
    assert sssp.betweenness(g, method="breadth-first").tolist() == [0, 0.5, 0.5, 0]


def test_arcs_of_weight_0_lie_on_paths_and_parallel_arcs_are_one() -> None:
    g = sssp.Graph.from_arcs([0, 1, 0, 0], [1, 2, 2, 2], [0, 1, 1, 1])
    assert sssp.betweenness(g).tolist() == [0, 0.5, 0]


def test_sources_count_as_often_as_they_are_named() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [1, 1, 1])
    assert sssp.betweenness(g, 0).tolist() == [0, 2, 1, 0]
    assert sssp.betweenness(g, [0, 0, 1]).tolist() == [0, 4, 3, 0]
    assert sssp.betweenness(g, []).tolist() == [0, 0, 0, 0]
    assert sssp.betweenness(g, 0, normalized=True).tolist() == [0, 2 / 6, 1 / 6, 0]
    for n in (0, 1, 2):
        small = sssp.Graph.from_arcs([], [], np.zeros(0, int), n=n)
        assert sssp.betweenness(small, normalized=True).tolist() == [0] * n


def test_closed_arcs_are_on_no_path() -> None:
    g = sssp.Graph.from_arcs([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 1, 1])
    assert sssp.betweenness(g.without_arcs([0])).tolist() == [0, 0, 1, 0]


def test_what_cannot_be_counted_is_refused() -> None:
    circle = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [3, 0, 0], n=4)
    assert sssp.betweenness(circle, 3).tolist() == [0] * 4
    with pytest.raises(ValueError, match="source 0 cannot be counted: arcs of weight 0"):
        sssp.betweenness(circle, [3, 0, 1])
    negative = sssp.Graph.from_arcs([0, 1], [1, 2], [3, -1])
    with pytest.raises(sssp.NegativeWeightError, match="1 -> 2 weighs -1"):
        sssp.betweenness(negative)
    with pytest.raises(TypeError, match="normalized must be True or False"):
        sssp.betweenness(circle, normalized="yes")  # type: ignore[arg-type]
    with pytest.raises(sssp.DeviceError, match="the workers"):
        sssp.betweenness(street_of_blocks(100), [0, 1], memory_limit=10_000)


@needs_speed
@every_device
def test_more_paths_than_a_float_counts_are_refused(device: str) -> None:
    with pytest.raises(
        sssp.DistanceOverflowError, match="shortest paths from source 0 to a vertex exceeds"
    ):
        sssp.betweenness(street_of_blocks(1100), 0, device=device)


def street_of_blocks(count: int) -> sssp.Graph:
    """Return a street with two ways round every block."""
    street = np.arange(count) * 3
    tails = np.concatenate([street, street, street + 1, street + 2])
    heads = np.concatenate([street + 1, street + 2, street + 3, street + 3])
    return sssp.Graph.from_arcs(tails, heads, np.ones(tails.size, int))
