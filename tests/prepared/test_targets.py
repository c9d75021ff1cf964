"""Sweeps to some targets, on a GPU, pass what is above them and find the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import sssp
from tests.solvers import SIMULATOR, needs_speed

pytestmark = pytest.mark.gpu

#: rows that are swept by the kernel for a few, and by that for many
SOME, MANY = 3, 6 if SIMULATOR else 70


@pytest.fixture(autouse=True)
def always(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Select whatever targets there are, worth it or not."""
    from sssp.cuda.sweep import sweep_driver as rows

    monkeypatch.setattr(rows, "SELECTED", 1.0)
    monkeypatch.setattr(rows, "WORTH_SELECTING", 0)


@pytest.fixture(scope="module")
def roads() -> sssp.Hierarchy:
    """A map with one-way streets and parts that nobody reaches."""
    whole = sssp.road_like(3000, seed=3)
    kept = np.random.default_rng(3).random(whole.m) < 0.9
    tails, heads = whole.tails[kept], whole.indices[kept]
    return sssp.prepare(sssp.Graph.from_arcs(tails, heads, whole.weights[kept], n=whole.n))


def on_device(h: sssp.Hierarchy, dtype: Any = np.int32) -> Any:
    from sssp.cuda.availability import select
    from sssp.cuda.sweep.customization import device_map

    with select(0):
        return device_map(h, np.dtype(dtype), 0)


def compare(h: sssp.Hierarchy, sources: Any, targets: Any, device: str, **options: Any) -> None:
    """Compare a table with that of the CPU, on the host and left on the device."""
    wanted = sssp.shortest_paths(h, sources, targets=targets, device="cpu", **options)
    found = sssp.shortest_paths(h, sources, targets=targets, device=device, **options)
    kept = sssp.shortest_paths(
        h, sources, targets=targets, device=device, output="device", **options
    ).to_host()
    assert found.distances.dtype == wanted.distances.dtype
    rounding = 1e-6 if wanted.distances.dtype.kind == "f" else 0
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=rounding)
    np.testing.assert_array_equal(kept.distances, found.distances)
    depths = h._structure.depth[h._structure.rank[np.asarray(sources)]]
    np.testing.assert_array_equal(kept.stats["climbed"], depths + 1)
    selections = on_device(h, found.distances.dtype).tree.selections
    assert not len(targets) or selections.known(np.array(targets)) is not None


@pytest.mark.parametrize("k", [1, SOME, MANY])
@pytest.mark.parametrize("name", ["tangle", "joined"])
def test_tables_are_those_of_the_cpu(
    name: str, k: int, device: str, request: pytest.FixtureRequest
) -> None:
    h = request.getfixturevalue(name)
    rng = np.random.default_rng(k)
    sources = rng.integers(0, h.n, k)
    for targets in ([3], [20, 7, 7, 1, 20], rng.permutation(h.n)[: h.n // 3], range(h.n), []):
        compare(h, sources, targets, device)
    compare(h, sources, [4, 30, 11], device, limit=60)


@pytest.mark.parametrize("k", [SOME, MANY])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_tables_in_every_dtype(tangle: sssp.Hierarchy, device: str, dtype: type, k: int) -> None:
    heavy = dtype(1 << 33 if dtype is np.int64 else 0.37)
    h = tangle.with_weights(tangle.graph.weights.astype(dtype) * heavy)
    sources = np.random.default_rng(k).integers(0, h.n, k)
    compare(h, sources, [40, 2, 17, 2], device, dtype=dtype)


@pytest.mark.parametrize("k", [SOME, MANY])
def test_tables_over_negative_weights(joined: sssp.Hierarchy, device: str, k: int) -> None:
    g = joined.graph
    heights = np.random.default_rng(1).integers(0, 10_000, g.n)
    h = joined.with_weights(g.weights + heights[g.indices] - heights[g.tails])
    assert h.least_weight < 0
    compare(h, np.arange(k) % g.n, [30, 3, 14], device)


def test_numbers_of_targets(joined: sssp.Hierarchy, tangle: sssp.Hierarchy, device: str) -> None:
    for h in (joined, tangle):
        sources = np.arange(MANY) % h.n
        for targets in ([9, 30, 9, 1], []):
            for what in ("eccentricity", "sum", "mean", "count", "closeness"):
                found = sssp.reduce(h, sources, what, targets=targets, device=device)
                wanted = sssp.reduce(h, sources, what, targets=targets, device="cpu")
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["tangle", "joined"])
def test_what_targets_weigh(name: str, device: str, request: pytest.FixtureRequest) -> None:
    h = request.getfixturevalue(name)
    rng = np.random.default_rng(9)
    sources = rng.integers(0, h.n, SOME)
    jobs, shares = rng.integers(0, 100, h.n), rng.random((h.n, 2))
    # (what others of both signs would add up to leaves int64)
    large = jobs + np.where(np.arange(h.n) % 2, 1 << 58, -1 << 58)
    for targets in (None, [3], [20, 7, 7, 1], rng.permutation(h.n)[: h.n // 2], []):
        for weights, decay in (
            (jobs, None),
            (large, None),
            (shares, None),
            (jobs, ("step", 60)),
            (shares, ("exponential", 0.1)),
        ):
            found, wanted = (
                sssp.reduce(
                    h, sources, "weight",
                    targets=targets, vertex_weights=weights, decay=decay, device=each,
                )
                for each in (device, "cpu")
            )  # fmt: skip
            # (an exponential may differ in its last bit)
            rtol = 1e-14 if decay is not None and decay[0] == "exponential" else 0
            np.testing.assert_allclose(found, wanted, rtol=rtol, strict=True)


def test_targets_and_their_ancestors_are_selected(joined: sssp.Hierarchy, device: str) -> None:
    tree, structure = on_device(joined).tree, joined._structure
    start = int(tree.bundles.levels[-1])
    for targets in ([5], [5, 5, 12, 33], range(joined.n)):
        # (on the host it might search from the targets)
        sssp.shortest_paths(joined, [0, 1], targets=targets, device=device, output="device")
        found = tree.selections.known(np.array(targets))
        above = set(tree.bundles.rank[:start].tolist())
        for rank in structure.rank[list(targets)].tolist():
            while rank >= 0:
                above.add(rank)
                rank = int(structure.parent[rank])
        ranks = found["ranks"].copy_to_host()
        assert found.size == len(above) == len(ranks)
        assert set(ranks.tolist()) == above
        places = found.columns.copy_to_host()
        np.testing.assert_array_equal(ranks[places], structure.rank[list(targets)])
    # (of all targets all is selected)
    assert found.size == joined.n
    np.testing.assert_array_equal(ranks, tree.bundles.rank)


def test_versions_of_a_map_share_what_is_selected(joined: sssp.Hierarchy, device: str) -> None:
    tree, targets = on_device(joined).tree, [2, 25, 8]
    sources = np.arange(MANY) % joined.n
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(3):
        h = joined.with_weights(rng.integers(0, 100, joined.graph.m))
        for version in (h, joined, h):
            compare(version, sources, targets, device)
        seen.append(tree.selections.known(np.array(targets)))
        # (the next version may have its memory)
        del h, version
    assert seen[0] is seen[1] is seen[2]


def test_what_is_asked_again_is_kept_and_not_mixed_up(
    joined: sssp.Hierarchy, tangle: sssp.Hierarchy, device: str
) -> None:
    rng = np.random.default_rng(8)
    # (more than are kept, and of much the same size)
    asked = [rng.integers(0, 40, 3) for _ in range(7)]
    for targets in (*asked, *asked[::-1], *(targets for one in asked for targets in [one] * 3)):
        for h in (joined, tangle):
            sources = rng.integers(0, h.n, SOME if SIMULATOR else MANY)
            wanted = sssp.shortest_paths(h, sources, targets=targets, device="cpu")
            found = sssp.shortest_paths(
                h, sources, targets=targets, device=device, output="device"
            ).to_host()
            np.testing.assert_array_equal(found.distances, wanted.distances)


def test_targets_of_few_rows_are_selected_when_they_come_again(
    joined: sssp.Hierarchy, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sssp.cuda.sweep import sweep_driver as rows

    monkeypatch.setattr(rows, "WORTH_SELECTING", 3 * joined.n)
    selections = on_device(joined).tree.selections
    for sources, targets, at_once in (([0, 3], [6, 13], False), ([0, 3, 4], [13, 6], True)):
        wanted = sssp.shortest_paths(joined, sources, targets=targets, device="cpu")
        for selected in (at_once, True, True):
            found = sssp.shortest_paths(
                joined, sources, targets=targets, device=device, output="device"
            )
            np.testing.assert_array_equal(found.to_host().distances, wanted.distances)
            assert (selections.known(np.array(targets)) is not None) == selected


def test_many_targets_are_not_selected(
    joined: sssp.Hierarchy, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sssp.cuda.sweep import sweep_driver as rows

    monkeypatch.setattr(rows, "SELECTED", 1 / 8)
    targets = np.arange(1, joined.n, 2)
    found = sssp.shortest_paths(joined, [0, 3], targets=targets, device=device)
    wanted = sssp.shortest_paths(joined, [0, 3], targets=targets, device="cpu")
    np.testing.assert_array_equal(found.distances, wanted.distances)
    assert on_device(joined).tree.selections.known(targets) is None


@needs_speed
@pytest.mark.parametrize("k", [1, 7, 32, 33, 256, 2500])
def test_large_tables(roads: sssp.Hierarchy, device: str, k: int) -> None:
    rng = np.random.default_rng(k)
    for t in (1, 20, 300, 3000):
        sources, targets = rng.integers(0, roads.n, k), rng.integers(0, roads.n, t)
        for options in ({}, {"dtype": np.int64}, {"limit": 5000}):
            compare(roads, sources, targets, device, **options)


@needs_speed
@pytest.mark.parametrize("k", [20, 100])
def test_large_tables_of_other_weights(roads: sssp.Hierarchy, device: str, k: int) -> None:
    rng = np.random.default_rng(k)
    g, (sources, targets) = roads.graph, rng.integers(0, roads.n, (2, k))
    heights = rng.integers(0, 10_000, g.n)
    for weights in (
        (g.weights * 0.37).astype(np.float32),
        g.weights * 0.37,
        g.weights << 33,
        g.weights + heights[g.indices] - heights[g.tails],
    ):
        h = roads.with_weights(weights)
        for _ in range(3):  # as it is launched, recorded, and replayed
            compare(h, sources, targets, device, dtype=weights.dtype)
        for what in ("eccentricity", "sum", "mean", "count"):
            found = sssp.reduce(h, sources, what, targets=targets, device=device)
            wanted = sssp.reduce(h, sources, what, targets=targets, device="cpu")
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@needs_speed
def test_tables_from_two_threads(roads: sssp.Hierarchy, device: str) -> None:
    rng = np.random.default_rng(0)
    asked = [(rng.integers(0, roads.n, 100), rng.integers(0, roads.n, 50)) for _ in range(6)]
    wanted = [sssp.shortest_paths(roads, s, targets=t, device="cpu").distances for s, t in asked]

    def ask(i: int) -> bool:
        sources, targets = asked[i % 6]
        found = sssp.shortest_paths(roads, sources, targets=targets, device=device).distances
        return np.array_equal(found, wanted[i % 6])

    # (two threads that load one kernel at the same time get in Numba's way)
    assert ask(0)
    with ThreadPoolExecutor(2) as executor:
        assert all(executor.map(ask, range(100)))
