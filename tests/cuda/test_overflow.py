"""Overflow and closed arcs on the device: the questions that every method is asked on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from tests.cuda.compare import assert_same_result
from tests.cuda.conftest import SIMULATOR
from tests.naive import Arc, Network
from tests.strategies import SMALL_INTEGERS, networks
from tests.test_closed_arcs import closures, without
from tests.test_overflow import EDGES, INT64_SUM, check, networks_near_the_edge

pytestmark = pytest.mark.gpu
EXAMPLES = 4 if SIMULATOR else 200
METHODS = {
    "delta-stepping": "delta-stepping",
    "threshold-dijkstra": "threshold-dijkstra",
    "in-out": sssp.ThresholdDijkstra(criterion="in-out"),
    "push": "bellman-ford",
    "pull": sssp.BellmanFord(variant="pull"),
    "streamed": sssp.BellmanFord(streams=2),
}
#: so many sources have a block each
MANY = 5


with_every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@with_every_method
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_overflows_when_exact_arithmetic_does(
    data: st.DataObject, method: Any, device: str
) -> None:
    network = data.draw(networks_near_the_edge())
    if max([0, *network.lengths().values()]) > INT64_SUM:
        return  # refused as a weight, before any search
    vertices = st.lists(st.integers(0, network.n - 1), min_size=1, max_size=MANY)
    check(
        method,
        network,
        data.draw(vertices),
        device,
        targets=data.draw(st.none() | vertices),
        limit=data.draw(st.none() | st.sampled_from([0, *EDGES, 2**62, 2**70])),
        dtype=data.draw(st.sampled_from([None, np.int32, np.int64])),
        nearest=data.draw(st.booleans()),
    )


@with_every_method
def test_an_arc_that_no_path_uses_costs_no_dtype(method: Any, device: str) -> None:
    heavy = 2**61
    network = Network(4, (Arc(0, 1, 5), Arc(1, 2, 5), Arc(0, 2, heavy), Arc(1, 0, heavy)))
    check(method, network, [0], device)
    check(method, network, [1] * MANY, device, targets=[3, 2])


@with_every_method
def test_what_lies_beyond_int64_matters_only_where_it_is_wanted(method: Any, device: str) -> None:
    chain = Network(4, (Arc(0, 1, 2**61), Arc(1, 2, 2**61), Arc(2, 3, 1), Arc(0, 3, 7)))
    check(method, chain, [0], device)  # vertex 2 is too far away
    check(method, chain, [0] * MANY, device)
    check(method, chain, [0], device, targets=[1, 3])
    check(method, chain, [0], device, limit=2**62 - 1)
    check(method, chain, [0], device, limit=2**62)


@with_every_method
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # the simulator's sums
def test_floats_overflow_by_the_same_rule(method: Any, device: str) -> None:
    half = float(np.finfo(np.float32).max) * 0.75
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 3], [half, half, 1.0, 2.0])
    options: Any = {"method": method, "dtype": np.float32, "device": device}
    with pytest.raises(sssp.DistanceOverflowError, match="greatest that float"):
        sssp.shortest_paths(g, 0, **options)
    assert sssp.shortest_paths(g, 0, targets=[1, 3], **options).distances[1] == 2
    assert sssp.shortest_paths(g, 0, limit=half, **options).to_float()[2] == np.inf


@with_every_method
@settings(max_examples=EXAMPLES)
@given(drawn=closures(networks(SMALL_INTEGERS, least_n=1)))
def test_searches_never_take_closed_arcs(drawn: Any, method: Any, device: str) -> None:
    g, arcs = drawn
    closed, plain = g.without_arcs(arcs), without(g, arcs)
    options: Any = {"method": method, "predecessors": True}
    found = sssp.shortest_paths(closed, [0, g.n - 1], device=device, **options)
    expected = sssp.shortest_paths(plain, [0, g.n - 1], predecessors=True, device="cpu")
    assert_same_result(found, expected)
