"""New weights of a prepared map, customized on a GPU."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import sssp
from tests.prepared.conftest import arcs_of
from tests.solvers import SIMULATOR

pieces = pytest.importorskip("sssp.cuda.sweep.device_tree", exc_type=sssp.MissingExtraError)

pytestmark = pytest.mark.gpu


def random_graph(weights: type) -> sssp.Graph:
    """Random arcs: bundles, and levels between them and the top."""
    tails, heads, numbers = np.random.default_rng(3).integers(0, 40, (3, 110))
    return sssp.Graph.from_arcs(tails, heads, numbers.astype(weights), n=40)


def assert_like_the_cpu(h: sssp.Hierarchy, device: str) -> None:
    found = sssp.shortest_paths(h, range(3), device=device).distances
    wanted = sssp.shortest_paths(h.graph, range(3), device="cpu").distances
    np.testing.assert_allclose(found, wanted, rtol=1e-12 if wanted.dtype.kind == "f" else 0)


def test_versions_are_customized_where_they_are_asked(device: str) -> None:
    g = random_graph(int)
    h = sssp.prepare(g)
    weights = np.random.default_rng(5).integers(1, 90, g.m)
    busy = h.with_weights(weights)
    # (versions in turn: one takes the memory of another that is gone)
    for _ in range(2):
        for version in (busy, busy.without_arcs([3, 4]), busy.with_weights(weights * 2)):
            assert_like_the_cpu(version, device)
    assert_like_the_cpu(busy.reverse(), device)
    # sums that leave 32 bits are noticed, and found in 64
    assert_like_the_cpu(h.with_weights(weights << 22), device)


@pytest.mark.parametrize("weights", [int, float])
def test_bundles_that_shared_memory_is_too_small_for(
    weights: type, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "most_shared_bytes", lambda: 0)
    assert_like_the_cpu(sssp.prepare(random_graph(weights)), device)


def assert_all_like_the_cpu(versions: list[sssp.Hierarchy], device: str) -> None:
    for version in versions:
        assert any(key.startswith("cuda") for key in version._derived), "customized ahead"
        assert_like_the_cpu(version, device)


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("weights", [int, float])
def test_scenarios_are_customized_together(weights: type, batch: int, device: str) -> None:
    g = random_graph(weights)
    h, rng = sssp.prepare(g), np.random.default_rng(7)
    closed = np.inf if weights is float else np.iinfo(np.int64).max
    changes: list[Any] = [
        (3, closed),
        ([], []),
        rng.integers(1, 90, g.m).astype(weights),
        ([1, 2, 1], [5, 0, 70]),
        (np.arange(g.m), rng.integers(1, 90, g.m)),
        # (sums that leave 32 bits, in the midst of others that do not)
        (np.arange(0, g.m, 2), (1 << 22) * rng.integers(1, 90, (g.m + 1) // 2)),
        g.weights,
    ]
    versions = list(h.scenarios(changes, batch, device=device))
    assert_all_like_the_cpu(versions, device)
    # changes on top of changes, on either side; what is gone leaves its memory to others
    busy = versions[3]
    assert_all_like_the_cpu(list(busy.scenarios([(3, closed), (1, 9)], device=device)), device)
    del versions
    again = busy.without_arcs([4, 5]).with_changes([4, 7], [1, 2])
    change = again.graph._change
    assert change is not None
    assert change.graph is g
    assert change.places.tolist() == [1, 2, 4, 5, 7]
    assert_like_the_cpu(again, device)
    assert_all_like_the_cpu(list(h.scenarios([(8, 1)] * 3, device=device)), device)
    copied = pickle.loads(pickle.dumps(again))
    assert_like_the_cpu(copied, device)
    assert_all_like_the_cpu(list(h.reverse().scenarios([(8, closed)], device=device)), device)


def test_scenarios_with_negative_weights(device: str) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [4, 3, 4, 4, 9])
    h = sssp.prepare(g)
    versions = list(h.scenarios([(1, -2), (1, 2), (0, -1)], device=device))
    for version in versions:
        assert_like_the_cpu(version, device)
    with pytest.raises(sssp.NegativeCycleError, match=r"^scenario 1: "):
        list(h.scenarios([(0, 1), (0, -100)], device=device))


def test_scenarios_of_a_map_without_vertices(device: str) -> None:
    h = sssp.prepare(sssp.Graph.from_arcs([], [], []))
    for version in h.scenarios([np.empty(0), ([], [])], device=device):
        assert sssp.shortest_paths(version, [], device=device).distances.shape == (0, 0)


def test_a_scenario_too_heavy_to_be_asked_is_named(device: str) -> None:
    h = sssp.prepare(sssp.Graph.from_arcs([0, 1], [1, 0], [1, 2]))
    for heavy in ((1, 1 << 62), [1, 1 << 62]):
        with pytest.raises(sssp.DistanceOverflowError, match=r"^scenario 1: a weight of"):
            list(h.scenarios([(0, 1), heavy], device=device))


def test_nobody_gets_the_memory_of_a_map_that_is_in_use(device: str) -> None:
    from sssp.cuda.availability import select
    from sssp.cuda.sweep.customization import DeviceMap, device_map

    h = sssp.prepare(random_graph(int))

    def there(version: sssp.Hierarchy) -> DeviceMap:
        with select(0):
            return device_map(version, np.dtype(np.int32), 0)

    # (as a call holds it, while another thread drops the version, or frees the device)
    used = there(h.with_changes(0, 5))
    other = h.with_changes(0, 6)
    assert there(other).number != used.number
    number = used.number
    del used
    assert there(h.with_changes(0, 7)).number == number


def test_a_device_that_is_freed_holds_nothing_of_a_reversed_map(device: str) -> None:
    h = sssp.prepare(random_graph(int))
    back = h.reverse()
    assert_like_the_cpu(back, device)
    h.free_device()
    for derived in (back._derived, back.graph._derived):
        assert not any(key.startswith("cuda") for key in derived)
    assert_like_the_cpu(back, device)


@pytest.mark.parametrize(
    ("weight", "dtype"), [(-(1 << 40), None), (1e300, "float32"), (-1e300, "float32")]
)
def test_an_arc_that_is_changed_may_have_weighed_too_much(
    weight: float, dtype: str | None, device: str
) -> None:
    tails = np.arange(40)
    g = sssp.Graph.from_arcs(tails, tails + 1, [weight] + [type(weight)(5)] * 39)
    version = sssp.prepare(g).with_changes([0], [3])
    change = version.graph._change
    assert change is not None
    assert change.graph is g
    found = sssp.shortest_paths(version, 0, dtype=dtype, device=device)
    assert found.distances[-1] == 3 + 39 * 5


@pytest.mark.parametrize("named", ["gpu", b"cuda", None])
def test_a_device_of_scenarios_is_refused_at_once(named: Any) -> None:
    h = sssp.prepare(random_graph(int))
    with pytest.raises(sssp.DeviceError, match=f"^unknown device {named!r}; choose"):
        h.scenarios([(0, 1)], device=named)


@pytest.mark.parametrize("seed", range(4))
def test_the_longest_ways_are_as_long_as_on_the_cpu(seed: int, device: str) -> None:
    from sssp.cuda.availability import device_number, select
    from sssp.cuda.sweep import triangle_walk
    from sssp.cuda.sweep.customization import device_map

    # (more than the top, long enough to be measured, and of very different lengths)
    g = sssp.road_like(60 if SIMULATOR else 4000, seed=seed).largest_component()
    weights = 1 << np.random.default_rng(seed).integers(0, 27, g.m)
    h, number = sssp.prepare(g).with_weights(weights), device_number(device)
    with select(number):
        there = device_map(h, np.dtype(np.int32), number).settle()
        noted, top = there.findings.noted[0].view(np.float32), there.tree.bundles.top
        within = there.between.copy_to_host().reshape(-1)[: top * top].reshape(top, top)
        ranks = there.tree["ranks"].copy_to_host()[:top].tolist()
    # (a way up ends with one step within the top, and a way down begins below it)
    farthest = dict(zip(ranks, within.max(axis=1).tolist(), strict=True))
    metric = h._layered(np.dtype(np.int32))
    for arcs, word, at_top in (
        (metric.up, triangle_walk.LONGEST_UP, farthest),
        (metric.down, triangle_walk.LONGEST_DOWN, dict.fromkeys(ranks, 0)),
    ):
        longest = at_top | dict.fromkeys(set(range(g.n)) - at_top.keys(), 0)
        for rank, end, weight in sorted(arcs_of(arcs), reverse=True):
            if rank not in at_top:
                longest[rank] = max(longest[rank], weight + longest[end])
        assert max(longest.values()) > 0
        assert noted[word] == pytest.approx(max(longest.values()), rel=1e-6)
