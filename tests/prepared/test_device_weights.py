"""New weights of a prepared map that are on a GPU already, and stay there."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.graph.weights import closed_weight

arrays = pytest.importorskip("sssp.cuda.arrays", exc_type=sssp.MissingExtraError)

from sssp.cuda.availability import SIMULATOR, cuda, device_number  # noqa: E402
from sssp.cuda.sweep import customization as versions  # noqa: E402

pytestmark = pytest.mark.gpu

INT32_MAX, INT64_MAX = (int(np.iinfo(dtype).max) for dtype in (np.int32, np.int64))
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
#: what one arc may weigh among others that weigh little
ODDITIES: dict[str, list[Any]] = {
    "f2": [np.inf, -0.0],
    "f4": [np.inf, -0.0, 2.0**31],
    "f8": [np.inf, -0.0, INT32_MAX, 2.0**63],
    "i4": [INT32_MAX, INT32_MAX - 1],
    "u4": [INT32_MAX, INT32_MAX - 1, 2**32 - 1],
    "i8": [INT32_MAX, INT32_MAX - 1, INT64_MAX, INT64_MAX - 1],
    "u8": [INT32_MAX, INT32_MAX - 1, INT64_MAX, INT64_MAX - 1],
}


def there(weights: Any) -> Any:
    """Weights as a GPU library has them."""
    column = np.asarray(weights)
    return arrays.DeviceArray(cuda.to_device(column.reshape(-1)), column.shape, 0)


def is_here(graph: sssp.Graph) -> bool:
    """Whether the host has the weights."""
    return graph._make_weights is None


def assert_like(found: sssp.Graph, wanted: sssp.Graph) -> None:
    """Check what is known of weights that are not here, and then themselves."""
    assert not is_here(found)
    assert found._extremes == wanted._extremes
    assert type(found._extremes.least) is type(wanted._extremes.least)
    assert found._weight_range == wanted._weight_range
    assert found.directed == wanted.directed
    assert repr(found) == repr(wanted)
    assert not is_here(found)
    np.testing.assert_array_equal(found.weights, wanted.weights, strict=True)
    np.testing.assert_array_equal(np.signbit(found.weights), np.signbit(wanted.weights))
    assert is_here(found)


def assert_right(h: sssp.Hierarchy, device: str, **options: Any) -> None:
    found = sssp.shortest_paths(h, range(3), device=device, **options)
    wanted = sssp.shortest_paths(h.graph, range(3), device="cpu", **options)
    exact = wanted.distances.dtype.kind == "i"
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=0 if exact else 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_version_is_that_of_the_same_weights_on_the_host(
    dtype: str, tangle: sssp.Hierarchy, device: str
) -> None:
    weights = np.random.default_rng(1).integers(0, 2, tangle.m).astype(dtype)
    for oddity in (weights[5], *ODDITIES.get(dtype, [])):
        weights[5] = oddity
        busy, wanted = tangle.with_weights(there(weights)), tangle.graph.with_weights(weights)
        if dtype == "f2":
            np.testing.assert_array_equal(busy.graph.weights, wanted.weights, strict=True)
        else:
            assert_like(busy.graph, wanted)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_questions_on_the_device_leave_weights_there(
    dtype: str, tangle: sssp.Hierarchy, device: str
) -> None:
    weights = np.random.default_rng(2).integers(1, 9, tangle.m).astype(dtype)
    if dtype == "i8":
        weights[weights == 1] = 1 << 33
    busy = tangle.with_weights(there(weights))
    sssp.shortest_paths(busy, [0, 1], device=device)
    again = busy.with_weights(there(weights * 2))
    sssp.pairs(again, [0, 1], [2, 3], device=device)
    assert not is_here(busy.graph)
    assert not is_here(again.graph)
    assert_right(busy, device)
    assert_right(again, device)
    if dtype == "f8":
        assert_right(tangle.with_weights(there(weights)), device, dtype="float32")


@pytest.mark.parametrize("before", ["i4", "i8", "f8"])
@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_a_closed_arc_that_weighs_the_same_stays_closed(
    dtype: str, before: str, tangle: sssp.Hierarchy, device: str
) -> None:
    old = np.arange(tangle.m).astype(before)
    if before == "i8":
        old[0] = 1 << 40
    shut = tangle.with_weights(old).without_arcs([3, 4, 5])
    closed = closed_weight(shut.graph.weights.dtype).item()
    weights = np.arange(tangle.m).astype(dtype)
    if dtype[0] == "f" or closed <= np.iinfo(dtype).max:
        # (of these two one was open; a third one opens)
        weights[[4, 6]] = closed
    on_device = shut.with_weights(there(shut.graph.weights))
    for version in (shut, on_device):
        assert_like(version.with_weights(there(weights)).graph, shut.graph.with_weights(weights))
    assert on_device.graph.closed_arcs == 3


def test_all_arcs_closed(tangle: sssp.Hierarchy, device: str) -> None:
    for weights in (np.full(tangle.m, np.inf), np.full(tangle.m, INT64_MAX)):
        busy = tangle.with_weights(there(weights))
        assert_like(busy.graph, tangle.graph.with_weights(weights))
        assert_right(busy, device)


def test_weights_that_differ_by_direction(joined: sssp.Hierarchy, device: str) -> None:
    g = joined.graph
    assert not g.directed
    for weights in (g.weights * 3, np.arange(g.m)):
        busy = joined.with_weights(there(weights))
        assert_like(busy.graph, g.with_weights(weights))
        assert_right(busy, device, predecessors=True)


@pytest.mark.parametrize(
    "weights",
    [
        lambda m: np.full(m, np.nan),
        lambda m: np.where(np.arange(m) == 7, -np.inf, np.float32(1)),
        lambda m: np.where(np.arange(m) == 7, 2**63, 1).astype(np.uint64),
        lambda m: np.zeros(m, complex),
        lambda m: np.zeros((m, 1)),
        lambda m: np.zeros(m + 1),
        lambda m: np.zeros(0),
    ],
)
def test_errors_are_those_of_the_host(weights: Any, tangle: sssp.Hierarchy, device: str) -> None:
    column = weights(tangle.m)
    with pytest.raises((ValueError, TypeError, sssp.DistanceOverflowError)) as wanted:
        tangle.with_weights(column)
    with pytest.raises(wanted.type) as found:
        tangle.with_weights(there(column))
    assert str(found.value) == str(wanted.value)


def test_what_becomes_of_the_array_later_changes_nothing(
    tangle: sssp.Hierarchy, device: str
) -> None:
    for dtype in (np.int32, np.int64, np.float64):
        weights = np.arange(tangle.m).astype(dtype)
        own = there(weights)
        busy = tangle.with_weights(own)
        own.flat.copy_to_device(np.zeros_like(weights))
        sssp.shortest_paths(busy, [0], device=device)
        np.testing.assert_array_equal(busy.graph.weights, weights)
        assert_right(busy, device)


def test_whoever_asks_elsewhere_brings_the_weights(tangle: sssp.Hierarchy, device: str) -> None:
    weights = np.random.default_rng(4).integers(1, 90, tangle.m)
    wanted = tangle.with_weights(weights)
    expected = sssp.shortest_paths(wanted, range(3), device="cpu", predecessors=True)
    for prepared in (
        lambda h: h,
        lambda h: pickle.loads(pickle.dumps(h)),
        lambda h: h.with_changes([], []),
        lambda h: h.reverse().reverse(),
    ):
        busy = prepared(tangle.with_weights(there(weights)))
        for place in ("cpu", device):
            found = sssp.shortest_paths(busy, range(3), device=place, predecessors=True)
            np.testing.assert_array_equal(found.distances, expected.distances)
            np.testing.assert_array_equal(found.predecessors, expected.predecessors)
        np.testing.assert_array_equal(busy.graph.weights, weights)
    assert_right(tangle.with_weights(there(weights)).without_arcs([1, 2]), device)
    # on another device they are those of the host
    busy = tangle.with_weights(there(weights))
    there_too = versions._weights_of(busy, np.dtype(np.int32), device_number(device) + 1)
    np.testing.assert_array_equal(there_too.all, weights)


def test_a_device_that_is_freed_leaves_the_weights(tangle: sssp.Hierarchy, device: str) -> None:
    weights = np.arange(tangle.m)
    busy = tangle.with_weights(there(weights))
    assert not is_here(busy.graph)
    busy.free_device()
    assert is_here(busy.graph)
    assert not any(key.startswith("cuda") for key in busy.graph._derived)
    np.testing.assert_array_equal(busy.graph.weights, weights)
    assert_right(busy, device)


def test_weights_for_rows_of_the_input(tangle: sssp.Hierarchy, device: str) -> None:
    rows = np.random.default_rng(6).integers(1, 90, tangle.graph.input_arcs)
    busy, wanted = tangle.with_weights(rows=there(rows)), tangle.with_weights(rows=rows)
    np.testing.assert_array_equal(busy.graph.weights, wanted.graph.weights)
    with pytest.raises(TypeError, match="one of w"):
        tangle.with_weights(there(rows), rows=rows)


def test_negative_weights(device: str) -> None:
    h = sssp.prepare(sssp.Graph.from_arcs([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [4, 3, 4, 4, 9]))
    for weights in ([4, 9, 4, 4, -3], [4.5, 9, 4, 4, -2.5]):
        busy = h.with_weights(there(weights))
        assert busy.least_weight == weights[-1]
        assert_right(busy, device)
    with pytest.raises(sssp.NegativeCycleError):
        h.with_weights(there([4, 9, 4, 4, -30]))


def test_a_loop_that_came_to_weigh_nothing(device: str) -> None:
    g = sssp.Graph.from_arcs([0, 0, 1], [0, 1, 0], [-1, 2, 3]).with_weights([0, 2, 3])
    h = sssp.prepare(g)
    for weights in ([5, 1, 1], [1, 2, 2]):
        busy = h.with_weights(there(weights))
        assert busy.graph._extremes == g.with_weights(weights)._extremes
    with pytest.raises(sssp.NegativeCycleError):
        h.with_weights(there([-1, 2, 2]))


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_scenarios(place: str, tangle: sssp.Hierarchy, device: str) -> None:
    rng = np.random.default_rng(8)
    given = [rng.integers(1, 90, tangle.m).astype(dtype) for dtype in ("i4", "f8", "i8", "i4")]
    # (those of a batch are shared by threads, of which the simulator takes no two)
    ask: dict[str, Any] = {"device": place, "batch": 1 if SIMULATOR else 64}
    for version, weights in zip(tangle.scenarios(map(there, given), **ask), given, strict=True):
        assert is_here(version.graph) == (place == "cpu")
        assert_right(version, device)
        np.testing.assert_array_equal(version.graph.weights, weights)
    with pytest.raises(ValueError, match=r"^scenario 1: the weight in row 0 is nan"):
        list(tangle.scenarios([there(given[0]), there(given[1] * np.nan)], **ask))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_generator_may_refill_an_array_there(
    place: str, step: int, tangle: sssp.Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSSP_THREADS", "1")  # (threads share a batch, of which the simulator
    # takes no two)
    column = np.zeros(step * tangle.m, np.int32)
    held = cuda.to_device(column)
    given = [np.full_like(column, number) for number in (1, 2, 3)]

    def changes() -> Iterator[Any]:
        for weights in given:
            held.copy_to_device(weights)
            yield held[::step]

    found = list(tangle.scenarios(changes(), device=place))
    for version, weights in zip(found, given, strict=True):
        np.testing.assert_array_equal(version.graph.weights, weights[: tangle.m])


@pytest.mark.parametrize("place", ["host", "device"])
def test_rows_asked_behind_a_customization(place: str, joined: sssp.Hierarchy, device: str) -> None:
    graph, random = joined.graph, np.random.default_rng(3)
    usual = random.integers(1, 1000, (2, graph.m))
    apart = usual[0].copy()
    apart[graph.indices == 7] = INT64_MAX  # (closed: nobody reaches the vertex)
    large = np.full(graph.m, 3 * 10**8)  # (a sum of eight leaves int32)
    options: Iterator[dict[str, Any]] = cycle(({"output": "device"}, {"predecessors": True}, {}))
    for weights in (*usual, apart, usual[0], large) * 2:
        version = joined.with_weights(there(weights) if place == "device" else weights)
        sources = [0, 5, 9][: random.integers(1, 4)]
        found = sssp.shortest_paths(version, sources, device=device, **next(options)).to_host()
        wanted = sssp.shortest_paths(version.graph, sources, device="cpu", predecessors=True)
        np.testing.assert_array_equal(found.distances, wanted.distances, strict=True)
        if found.predecessors is not None:
            np.testing.assert_array_equal(found.predecessors, wanted.predecessors)


@pytest.mark.parametrize("place", [np.asarray, there])
def test_a_version_takes_the_memory_of_one_that_is_gone_at_once(
    place: Callable[[Any], Any], joined: sssp.Hierarchy, device: str
) -> None:
    weights = np.random.default_rng(4).integers(1, 1000, joined.m)
    key = versions._key(np.dtype(np.int32), 0)
    first = joined.with_weights(place(weights))
    assert_right(first, device)
    del first
    second, third = (joined.with_weights(place(weights + more)) for more in (1, 2))
    assert key in second._derived
    for version in (second, third):
        assert_right(version, device)
        assert_right(version, device, targets=[3, 4])
    del second
    too_large = joined.with_weights(place(np.full(joined.m, 2**62)))
    with pytest.raises(sssp.DistanceOverflowError, match="must stay below"):
        sssp.shortest_paths(too_large, 0, device=device)
    np.testing.assert_array_equal(
        sssp.pairs(third, [1], [2], device=device).distances,
        sssp.pairs(third.graph, [1], [2]).distances,
    )
