"""Every form of answer from the device, over several batches, is that of the CPU."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.engine.reductions import COUNT, GREATEST, REDUCTIONS, TOTAL, WEIGHT, Block, Rule
from tests.cuda.conftest import SIMULATOR
from tests.same_results import assert_same_array
from tests.strategies import DYADIC, LARGE_INTEGERS, SMALL_INTEGERS, graph_of, networks

pytestmark = pytest.mark.gpu
EXAMPLES = 8 if SIMULATOR else 300
METHOD = "threshold-dijkstra"
#: sums that are rounded
TENTHS = st.integers(-9, 9).map(lambda tenths: tenths / 10)
DECAYS = [
    None, ("exponential", 0.3), ("power", 2), ([1, 5], [1.0, 0.3]), ("linear", 6), ("gaussian", 3),
    lambda distances: 1 / (1 + distances),
]  # fmt: skip
large = pytest.mark.skipif(SIMULATOR, reason="the simulator runs a few thousand threads a second")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("sssp.cuda.batch_size.LARGEST_BATCH", 2)


@pytest.mark.parametrize("what", list(REDUCTIONS))
@settings(max_examples=5 if SIMULATOR else 300)
@given(data=st.data())
def test_reductions_are_those_of_the_cpu(what, data, device):
    g = graph_of(
        data.draw(networks(SMALL_INTEGERS | LARGE_INTEGERS | DYADIC | TENTHS.map(abs), least_n=1))
    )
    vertex = st.integers(0, g.n - 1)
    sources = data.draw(vertex | st.lists(vertex, max_size=5))
    options: dict[str, Any] = {
        "limit": data.draw(st.none() | st.integers(0, 20)),
        "targets": data.draw(st.none() | st.lists(vertex, max_size=4)),
    }
    if what == "weight":
        number = data.draw(st.sampled_from([st.integers(-9, 9), st.integers(-1, 2**54), TENTHS]))
        shape = data.draw(st.sampled_from([(g.n,), (g.n, 1), (g.n, 3)]))
        weights = data.draw(st.lists(number, min_size=math.prod(shape), max_size=math.prod(shape)))
        options["vertex_weights"] = np.reshape(weights, shape)
        options["decay"] = data.draw(st.sampled_from(DECAYS))
    found = sssp.reduce(g, sources, what, method=METHOD, device=device, **options)
    expected = sssp.reduce(g, sources, what, method=METHOD, **options)
    assert type(found) is type(expected)
    # (to the bit, floats too, but for exponentials and powers)
    decay = options.get("decay")
    exact = decay is None or callable(decay) or not isinstance(decay[0], str)
    rtol = 0 if exact else 1e-14
    np.testing.assert_allclose(found, expected, rtol=rtol)
    if not isinstance(sources, int):
        assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    "weights", [[3, 1, 4, 1, 5], [0.3, 0.1, 0.4, 0.1, 0.5]], ids=["int", "float"]
)
def test_a_new_reduction_is_one_entry(weights, device, monkeypatch):
    def finish(block: Block, *results: Any) -> Any:
        # (sums of integers in halves, the upper ones 0)
        return sum(result.reshape(block.sources.size, -1).sum(axis=1) for result in results)

    rule = Rule((GREATEST, TOTAL, COUNT, WEIGHT), finish, is_float=True)
    monkeypatch.setitem(REDUCTIONS, "all", rule)
    g = sssp.Graph.from_arcs([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], weights)
    distances = sssp.shortest_paths(g, range(4)).distances
    expected = distances.max(axis=1) + distances.sum(axis=1) + 4 + 10
    networks: list[Any] = [g, sssp.prepare(g)]
    for network, on in product(networks, ("cpu", device)):
        found = sssp.reduce(network, range(4), "all", vertex_weights=[1, 2, 3, 4], device=on)
        np.testing.assert_array_equal(found, expected)


def test_sums_are_exact_or_refused(device):
    star = sssp.Graph.from_arcs(np.zeros(5, int), np.arange(1, 6), 2**61 - np.arange(5))
    options: dict[str, Any] = {"method": METHOD, "device": device}
    with pytest.raises(sssp.DistanceOverflowError, match=str(5 * 2**61 - 10)):
        sssp.reduce(star, 0, "sum", **options)
    assert sssp.reduce(star, 0, "eccentricity", **options) == 2**61
    assert sssp.reduce(star, 0, "sum", limit=2**61 - 3, **options) == 2 * 2**61 - 7
    people = [2**62, -(2**62), 1, 2**53, 1, -3]
    assert sssp.reduce(star, 0, "weight", vertex_weights=people, **options) == 2**53 - 1


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_sparse_matrices_are_those_of_the_cpu(data, device):
    g = graph_of(data.draw(networks(SMALL_INTEGERS | DYADIC, least_n=1)))
    vertex = st.integers(0, g.n - 1)
    sources = data.draw(vertex | st.lists(vertex, max_size=5))
    options = {
        "output": "sparse",
        "predecessors": data.draw(st.booleans()),
        "limit": data.draw(st.none() | st.integers(0, 20)),
        "method": METHOD,
    }
    found = sssp.shortest_paths(g, sources, device=device, **options)
    expected = sssp.shortest_paths(g, sources, **options)
    for name in ("distances", "predecessors"):
        there, here = getattr(found, name), getattr(expected, name)
        assert (there is None) == (here is None)
        if here is not None:
            assert there.dtype == here.dtype
            assert (there.indptr.dtype, there.indices.dtype) == (
                here.indptr.dtype,
                here.indices.dtype,
            )
            for part in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(there, part), getattr(here, part))


def test_a_row_longer_than_a_tile_is_compacted_in_order(device):
    n = 150 if SIMULATOR else 30_000
    g = sssp.road_like(n)
    limit = int(sssp.shortest_paths(g, 0).distances.max()) // 2
    options: dict[str, Any] = {"method": METHOD, "limit": limit, "predecessors": True}
    sources = [0, g.n // 2]
    found = sssp.shortest_paths(g, sources, device=device, output="sparse", **options)
    expected = sssp.shortest_paths(g, sources, output="sparse", **options)
    assert 0 < found.distances.nnz < 2 * g.n
    np.testing.assert_array_equal(found.distances.indices, expected.distances.indices)
    np.testing.assert_array_equal(found.distances.data, expected.distances.data)
    np.testing.assert_array_equal(found.predecessors.data, expected.predecessors.data)
    for what in ("sum", "eccentricity", "count"):
        np.testing.assert_array_equal(
            sssp.reduce(g, sources, what, method=METHOD, device=device),
            sssp.reduce(g, sources, what),
        )


def test_targets_over_several_batches(device):
    g = sssp.road_like(20)
    options: dict[str, Any] = {"method": METHOD, "targets": [3, 19, 3], "predecessors": True}
    found = sssp.shortest_paths(g, range(5), device=device, **options)
    expected = sssp.shortest_paths(g, range(5), **options)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert_same_array(found.predecessors, expected.predecessors)
    options |= {"output": "device", "predecessors": False}
    on_device = sssp.shortest_paths(g, range(5), device=device, **options)
    np.testing.assert_array_equal(on_device.distances.to_host(), expected.distances)


def test_rows_go_into_any_out(device):
    g = sssp.road_like(20)
    expected = sssp.shortest_paths(g, range(5)).distances
    for out in (
        np.empty((5, 20), np.int32),
        np.empty((20, 5), np.int32).T,
        np.empty((5, 20), np.int64),
    ):
        sssp.shortest_paths(g, range(5), method=METHOD, device=device, out=out)
        np.testing.assert_array_equal(out, expected)


def test_an_answer_larger_than_the_host_is_refused_with_numbers(device, monkeypatch):
    monkeypatch.setattr("sssp.cuda.search_driver.physical_memory", lambda: 399)
    g = sssp.road_like(20)
    with pytest.raises(sssp.DeviceError, match=r"the answer on the host 400\), but may take 399"):
        sssp.shortest_paths(g, range(5), method=METHOD, device=device)
    assert sssp.reduce(g, range(5), "count", method=METHOD, device=device).tolist() == [20] * 5


def test_an_overflow_in_a_later_batch_repeats_all_in_int64(device):
    g = sssp.Graph.from_arcs([4, 3, 2, 1, 0], [5, 4, 3, 2, 1], [1 << 29] * 5)
    r = sssp.shortest_paths(g, [5, 4, 3, 2, 1, 0], method=METHOD, device=device)
    assert r.distances.dtype == np.int64
    np.testing.assert_array_equal(r.distances, sssp.shortest_paths(g, [5, 4, 3, 2, 1, 0]).distances)


def test_blocks_on_the_device(device):
    g = sssp.road_like(20)
    blocks = sssp.iter_blocks(
        g, range(5), block_size=3, method=METHOD, device=device, output="device"
    )
    found = np.concatenate([r.distances.to_host() for r in blocks])
    np.testing.assert_array_equal(found, sssp.shortest_paths(g, range(5)).distances)


@large
def test_many_batches_of_a_real_size(device, monkeypatch):
    monkeypatch.setattr("sssp.cuda.batch_size.LARGEST_BATCH", 60)
    g = sssp.road_like(50_000)
    sources = np.random.default_rng(1).integers(0, g.n, 500)
    found = sssp.shortest_paths(g, sources, method=METHOD, device=device, predecessors=True)
    expected = sssp.shortest_paths(g, sources, predecessors=True)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)
