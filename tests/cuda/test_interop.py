"""CuPy and PyTorch beside this package: arrays, streams and the current device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from tests.cuda.conftest import SIMULATOR

pytestmark = pytest.mark.gpu
if SIMULATOR:
    pytest.skip("other GPU libraries need a GPU", allow_module_level=True)

METHOD = "threshold-dijkstra"
SOURCES = [0, 500, 7]


@pytest.fixture(scope="module")
def graph() -> sssp.Graph:
    return sssp.road_like(2000)


@pytest.fixture(scope="module")
def expected(graph: sssp.Graph) -> sssp.ShortestPaths:
    return sssp.shortest_paths(graph, SOURCES, predecessors=True)


def solved(graph: sssp.Graph, device: str, **options: Any) -> sssp.ShortestPaths:
    return sssp.shortest_paths(
        graph,
        SOURCES,
        method=METHOD,
        device=device,
        output="device",
        predecessors=True,
        **options,
    )


def current_context() -> int:
    """The driver's own word for the context of this thread."""
    from sssp.cuda.availability import cuda

    return int(cuda.cudadrv.driver.driver.cuCtxGetCurrent())


def test_cupy_takes_a_result_without_a_copy(graph, expected, device):
    cupy = pytest.importorskip("cupy")
    before = cupy.arange(1000)
    r = solved(graph, device)
    distances, tails = cupy.asarray(r.distances), cupy.asarray(r.predecessors)
    assert distances.data.ptr == r.distances.__cuda_array_interface__["data"][0]
    del r  # CuPy keeps the memory
    between = cupy.asnumpy(distances.max(axis=1))
    again = solved(graph, device)
    np.testing.assert_array_equal(between, expected.distances.max(axis=1))
    np.testing.assert_array_equal(cupy.asnumpy(tails), expected.predecessors)
    assert bool((cupy.asarray(again.distances) == distances).all())
    assert int(before.sum()) == 499_500


def test_pytorch_takes_a_result_without_a_copy(graph, expected, device):
    torch = pytest.importorskip("torch")
    before = torch.arange(1000, device="cuda")
    r = solved(graph, device)
    distances = torch.as_tensor(r.distances, device="cuda")
    assert distances.data_ptr() == r.distances.__cuda_array_interface__["data"][0]
    del r  # PyTorch keeps the memory
    again = solved(graph, device)
    np.testing.assert_array_equal(distances.cpu().numpy(), expected.distances)
    tails = torch.as_tensor(again.predecessors, device="cuda")
    np.testing.assert_array_equal(tails.cpu().numpy(), expected.predecessors)
    assert int((before * 2).sum()) == 999_000


def test_a_call_stands_in_the_order_of_a_cupy_stream(graph, expected, device):
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        heavy = cupy.random.random((4000, 4000))
        for _ in range(20):
            heavy = heavy @ heavy
            heavy /= heavy.max()
    r = solved(graph, device, stream=stream.ptr)
    assert stream.done  # the call began after what was queued
    assert r.distances.__cuda_array_interface__["stream"] == stream.ptr
    with stream:  # the way back as well, for no other stream waits for this one
        greatest = cupy.asnumpy(cupy.asarray(r.distances).max(axis=1))
    np.testing.assert_array_equal(greatest, expected.distances.max(axis=1))


def test_a_call_stands_in_the_order_of_a_pytorch_stream(graph, expected, device):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        heavy = torch.rand((4000, 4000), device="cuda")
        for _ in range(20):
            heavy = heavy @ heavy
            heavy /= heavy.max()
    r = solved(graph, device, stream=stream.cuda_stream)
    assert stream.query()
    with torch.cuda.stream(stream):
        greatest = torch.as_tensor(r.distances, device="cuda").max(dim=1).values.cpu().numpy()
    np.testing.assert_array_equal(greatest, expected.distances.max(axis=1))


def test_streams_are_objects_too(graph, expected, device):
    from sssp.cuda.availability import cuda

    stream = cuda.stream()
    r = solved(graph, device, stream=stream)
    assert r.distances.__cuda_array_interface__["stream"] == int(stream.handle)
    np.testing.assert_array_equal(r.distances.to_host(), expected.distances)


def test_context_and_device_are_left_as_found(graph, device):
    cupy = pytest.importorskip("cupy")
    torch = pytest.importorskip("torch")
    torch.cuda.synchronize()
    last = torch.cuda.device_count() - 1
    torch.cuda.set_device(last)
    context = current_context()
    r = solved(graph, device)
    r.to_host()
    assert current_context() == context
    assert torch.cuda.current_device() == cupy.cuda.runtime.getDevice() == last
    with pytest.raises(sssp.DeviceError):
        solved(graph, device, memory_limit=1)
    assert current_context() == context
    graph.free_device()
    assert int(torch.ones(5, device="cuda").sum()) == 5  # the context was not reset
    torch.cuda.set_device(0)


def of_cupy(weights: np.ndarray[Any, Any]) -> Any:
    return pytest.importorskip("cupy").asarray(weights)


def of_pytorch(weights: np.ndarray[Any, Any]) -> Any:
    return pytest.importorskip("torch").as_tensor(weights, device="cuda")


@pytest.mark.parametrize("of_library", [of_cupy, of_pytorch])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_weights_of_a_prepared_map_may_be_on_the_device(graph, of_library, dtype, device):
    weights = (graph.weights * 3 + np.arange(graph.m) % 5).astype(dtype)
    # (every second one: what a library has may have gaps)
    with_gaps = of_library(np.repeat(weights, 2))[::2]
    h = sssp.prepare(graph)
    wanted = sssp.shortest_paths(graph.with_weights(weights), SOURCES).distances
    for own in (of_library(weights), with_gaps):
        busy = h.with_weights(own)
        own[:] = 0  # (the version has a copy)
        found = sssp.shortest_paths(busy, SOURCES, device=device).distances
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if dtype is np.float64 else 0)
        np.testing.assert_array_equal(busy.graph.weights, weights)


def test_weights_are_taken_in_the_order_of_their_stream(graph, device):
    cupy = pytest.importorskip("cupy")
    h = sssp.prepare(graph)
    with cupy.cuda.Stream(non_blocking=True):
        heavy = cupy.random.random((4000, 4000))
        for _ in range(20):
            heavy = heavy @ heavy
            heavy /= heavy.max()
        weights = cupy.asarray(graph.weights) + (heavy[0, 0] >= 0)
        busy = h.with_weights(weights)
        weights[:] = 0
    np.testing.assert_array_equal(busy.graph.weights, graph.weights + 1)
