"""Results that stay on the device, and the order of the caller's stream."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from tests.cuda.conftest import SIMULATOR
from tests.cuda.same_on_gpu import bytes_needed
from tests.strategies import DYADIC, SMALL_INTEGERS, graph_of, networks

EXAMPLES = 10 if SIMULATOR else 300
METHOD = "threshold-dijkstra"


def solved(g: sssp.Graph, sources: Any, device: str, **options: Any) -> sssp.ShortestPaths:
    return sssp.shortest_paths(g, sources, method=METHOD, device=device, output="device", **options)


@pytest.mark.gpu
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_device_result_is_the_host_result_elsewhere(data, device):
    g = graph_of(data.draw(networks(SMALL_INTEGERS | DYADIC, least_n=1)))
    vertex = st.integers(0, g.n - 1)
    options = {
        "limit": data.draw(st.none() | st.integers(0, 20)),
        "nearest": data.draw(st.booleans()),
        "targets": data.draw(st.none() | vertex | st.lists(vertex, max_size=3)),
    }
    if options["targets"] is None:  # paths to targets are put together on the host
        options["predecessors"] = data.draw(st.booleans())
    if g.weights.dtype.kind == "i":
        options["dtype"] = data.draw(st.sampled_from([None, "int32", "int64", "float32"]))
    least = 1 if options["nearest"] else 0
    sources = data.draw(vertex | st.lists(vertex, min_size=least, max_size=3))
    found = solved(g, sources, device, **options)
    expected = sssp.shortest_paths(g, sources, method=METHOD, **options)
    host = found.to_host()
    assert host.to_host() is host
    for name in ("distances", "predecessors", "origin"):
        there, here, array = (getattr(r, name) for r in (found, host, expected))
        assert (there is None) == (here is None) == (array is None), name
        if array is not None:
            assert (there.shape, there.dtype) == (array.shape, array.dtype), name
            assert here.dtype == array.dtype
            np.testing.assert_array_equal(here, array, err_msg=name)
    sssp.verify(g, found)


@pytest.mark.gpu
def test_a_device_result_becomes_a_table_by_way_of_the_host(device):
    g = sssp.road_like(20)
    found = solved(g, [0, 5], device)
    with pytest.raises(TypeError, match=r"call to_host\(\) first"):
        found.to_dataframe()
    expected = sssp.shortest_paths(g, [0, 5], method=METHOD)
    for wide in (False, True):
        assert found.to_host().to_dataframe(wide=wide).equals(expected.to_dataframe(wide=wide))


@pytest.mark.gpu
def test_an_array_on_the_device_tells_what_it_is(device):
    g = sssp.road_like(20)
    array = solved(g, [0, 5], device).distances
    assert (array.shape, array.ndim, array.size, array.nbytes) == ((2, 20), 2, 40, 160)
    assert (array.dtype, array.device, len(array)) == (np.int32, "cuda:0", 2)
    assert repr(array) == "<DeviceArray on cuda:0: int32, shape (2, 20)>"
    interface = array.__cuda_array_interface__
    address, read_only = interface.pop("data")
    assert address > 0
    assert not read_only
    assert interface == {
        "shape": (2, 20),
        "typestr": "<i4",
        "strides": None,
        "version": 3,
        "stream": None,
    }
    with pytest.raises(TypeError, match=r"lives on cuda:0.*to_host"):
        np.asarray(array)
    with pytest.raises(ValueError, match="40 entries"):
        array.reshape((3, 13))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array.to_host())


@pytest.mark.gpu
def test_what_looks_into_a_device_result_asks_for_the_host_first(device):
    g = sssp.road_like(20)
    r = solved(g, 0, device, predecessors=True)
    for look in (
        lambda: r.reached,
        r.to_float,
        lambda: r.distance(3),
        lambda: r.path(3),
    ):
        with pytest.raises(TypeError, match=r"lives on cuda:0: call to_host\(\) first"):
            look()
    expected = sssp.shortest_paths(g, 0, predecessors=True)
    assert r.to_host().path(7).tolist() == expected.path(7).tolist()


@pytest.mark.gpu
def test_a_device_result_pickles_as_its_host_copy(device):
    g = sssp.road_like(20)
    r = solved(g, [3, 4], device, predecessors=True)
    copy = pickle.loads(pickle.dumps(r))
    assert isinstance(copy.distances, np.ndarray)
    assert copy.device == "cuda:0"
    np.testing.assert_array_equal(copy.distances, r.distances.to_host())
    np.testing.assert_array_equal(copy.predecessors, r.predecessors.to_host())


@pytest.mark.gpu
def test_wide_distances_become_narrow_where_all_fit(device):
    # the sum passes the infinity of int32 arithmetic but not int32 itself
    fits = sssp.Graph.from_arcs([0, 1], [1, 2], [1 << 29, (1 << 29) + 5], n=4)
    wide = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [1 << 29] * 3 + [], n=4).scaled(2)
    found = solved(fits, 0, device).to_host()
    assert found.distances.dtype == np.int32
    assert found.distances.tolist() == [0, 1 << 29, (1 << 30) + 5, np.iinfo(np.int32).max]
    found = solved(wide, 0, device).to_host()
    assert found.distances.dtype == np.int64
    assert found.distances.tolist() == [0, 1 << 30, 1 << 31, 3 << 30]
    with pytest.raises(sssp.DistanceOverflowError, match=f"{3 << 30} does not fit int32"):
        solved(wide, 0, device, dtype="int32")


@pytest.mark.gpu
def test_a_device_result_that_does_not_fit_is_refused_with_numbers(device):
    g = sssp.road_like(20)
    solve = partial(solved, g, device=device)
    of_graph, of_search, of_answer = bytes_needed(partial(solve, range(5)))
    assert of_answer == 5 * 20 * 4
    limit = of_graph + of_search + of_answer
    found = solve(range(5), memory_limit=limit).to_host()
    np.testing.assert_array_equal(found.distances, sssp.shortest_paths(g, range(5)).distances)
    with pytest.raises(sssp.DeviceError, match=r"needs [\d,]+ bytes .*the answer 800, one search"):
        solve(range(10), memory_limit=limit)


@pytest.mark.gpu
def test_paths_to_targets_do_not_stay_on_the_device(device):
    with pytest.raises(ValueError, match="are put together on the host"):
        solved(sssp.road_like(20), 0, device, targets=[3], predecessors=True)


def test_the_host_has_no_device_result_and_no_stream():
    g = sssp.road_like(20)
    with pytest.raises(ValueError, match=r"output='device'.*device='cuda'"):
        sssp.shortest_paths(g, 0, device="cpu", output="device")
    with pytest.raises(ValueError, match=r"stream=.*device='cuda'"):
        sssp.shortest_paths(g, 0, device="cpu", stream=0)
    r = sssp.shortest_paths(g, 0)
    assert r.to_host() is r


@pytest.mark.gpu
def test_a_bad_stream_or_place_for_a_device_result_is_refused(device):
    g = sssp.road_like(20)
    for stream in ("main", True, -1, 1.5):
        with pytest.raises(TypeError, match="__cuda_stream__"):
            solved(g, 0, device, stream=stream)
    with pytest.raises(ValueError, match="omit out="):
        solved(g, 0, device, out=np.empty(20, np.int32))


@pytest.mark.gpu
def test_the_stream_of_a_call_is_that_of_its_arrays(device):
    class Stream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 2

    g = sssp.road_like(20)
    # 2 is the default stream of the thread; 0 the default of all, which the interface calls 1
    for stream, handle in ((Stream(), 2), (2, 2), (0, 1), (1, 1)):
        array = solved(g, 0, device, stream=stream).distances
        assert array.__cuda_array_interface__["stream"] == handle
        np.testing.assert_array_equal(array.to_host(), sssp.shortest_paths(g, 0).distances)


@pytest.mark.gpu
def test_no_targets_leave_the_nearest_source_of_every_vertex(device):
    g = sssp.road_like(20)
    options: Any = {"nearest": True, "targets": []}
    expected = sssp.shortest_paths(g, [0, 5], method=METHOD, **options)
    assert min(expected.origin) == 0
    np.testing.assert_array_equal(
        solved(g, [0, 5], device, **options).to_host().origin, expected.origin
    )
