"""Skims and loads along trees that stay on a GPU, from searches and from prepared maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from tests.cuda.conftest import SIMULATOR

pytestmark = pytest.mark.gpu

SIZE = 24 if SIMULATOR else 3000
#: from where on a prepared map leaves rows side by side
MANY = 5 if SIMULATOR else 40


@pytest.fixture(scope="module")
def streets() -> sssp.Graph:
    """Streets both ways, some of them parallel, and a vertex apart."""
    g = sssp.road_like(SIZE, seed=3)
    tails, heads = np.append(g.tails, g.tails[:9]), np.append(g.indices, g.indices[:9])
    weights = np.append(g.weights, g.weights[:9] + 1)
    return sssp.Graph.from_arcs(tails, heads, weights, n=g.n + 1)


def trees(g: Any, sources: Any, device: str, **options: Any) -> tuple[Any, Any]:
    """Return trees on the device, and the same on the host."""
    found = sssp.shortest_paths(
        g, sources, predecessors=True, device=device, output="device", **options
    )
    return found, found.to_host()


@pytest.mark.parametrize("rows", [1, MANY])
@pytest.mark.parametrize("prepared", [False, True])
def test_sums_are_those_of_the_host(streets, device, rows, prepared):
    g = streets.largest_component()
    rng = np.random.default_rng(rows)
    network = sssp.prepare(g) if prepared else g
    there, here = trees(network, rng.integers(0, g.n, rows), device)
    values = rng.integers(-50, 1000, g.m)
    sums = there.skim(values)
    assert (sums.device, sums.shape, sums.dtype) == ("cuda:0", (rows, g.n), np.int64)
    np.testing.assert_array_equal(sums.to_host(), here.skim(values))
    lengths = rng.random(g.m)
    found = there.skim(lengths).to_host()
    np.testing.assert_allclose(found, here.skim(lengths), rtol=1e-12)
    np.testing.assert_array_equal(there.skim(lengths).to_host(), found)
    volumes = rng.integers(-3, 9, (rows, g.n))
    np.testing.assert_array_equal(there.load(volumes), here.load(volumes))


def test_what_is_not_reached_has_no_sum_and_takes_no_volume(streets, device):
    there, here = trees(streets, [0, 7, 7], device, limit=int(streets.weights.max()) * 2)
    values = np.arange(streets.m)
    np.testing.assert_array_equal(there.skim(values).to_host(), here.skim(values))
    np.testing.assert_array_equal(there.skim(values * 0.5).to_host(), here.skim(values * 0.5))
    volumes = np.where(here.reached, 2, 0)
    np.testing.assert_array_equal(there.load(volumes), here.load(volumes))
    volumes[1, -1] = 1
    with pytest.raises(sssp.UnreachableError, match=f"from source 7.*vertex {streets.n - 1} first"):
        there.load(volumes)


@pytest.mark.parametrize("nearest", [False, True])
def test_one_row_has_one_axis(streets, device, nearest):
    sources: Any = [3, 11, 5] if nearest else 3
    there, here = trees(streets, sources, device, nearest=nearest)
    values = np.arange(streets.m)
    np.testing.assert_array_equal(there.skim(values).to_host(), here.skim(values))
    volumes = here.reached.astype(np.int64)
    np.testing.assert_array_equal(there.load(volumes), here.load(volumes))


def test_volumes_may_lie_on_the_device(streets, device):
    g = streets.largest_component()
    there, here = trees(g, [0, 7], device)
    volumes = there.skim(np.ones(g.m, int))
    np.testing.assert_array_equal(there.load(volumes), here.load(volumes.to_host()))
    with pytest.raises(TypeError, match="int64 there, without gaps"):
        there.load(there.distances)
    one, _ = trees(g, [0], device)
    with pytest.raises(ValueError, match="expected volumes, shaped like the distances"):
        one.load(volumes)


@pytest.mark.skipif(SIMULATOR, reason="the arrays of Numba's simulator have no interface")
def test_volumes_are_taken_from_whoever_has_them(streets, device):
    from sssp.cuda.availability import cuda

    there, here = trees(streets, [0, 7], device)
    volumes = here.reached * np.arange(streets.n)
    np.testing.assert_array_equal(there.load(cuda.to_device(volumes)), here.load(volumes))
    turned = cuda.to_device(np.asfortranarray(volumes))
    np.testing.assert_array_equal(there.load(turned), here.load(volumes))
    for wrong in (volumes.astype(np.int32), volumes):
        with pytest.raises(TypeError, match="int64 there, without gaps"):
            there.load(cuda.to_device(np.repeat(wrong, 2, axis=1))[:, ::2])


def test_sums_that_may_leave_int64_are_exact_or_refused(device):
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [1, 1, 1])
    there, here = trees(g, [0], device)
    large = (1 << 63) - 5
    np.testing.assert_array_equal(there.skim([large, -large, 7]).to_host(), [[0, large, 0, 7]])
    with pytest.raises(sssp.DistanceOverflowError, match="does not fit int64"):
        there.skim([large, large, 0])
    volumes = [[0, large, -large, 3]]
    np.testing.assert_array_equal(there.load(volumes), here.load(volumes))
    with pytest.raises(sssp.DistanceOverflowError, match="does not fit int64"):
        there.load([[0, large, large, 0]])


def test_floats_that_are_no_numbers_are_refused(device):
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1])
    there, _ = trees(g, [0], device)
    with pytest.raises(ValueError, match=r"the value of arc 1.* is inf"):
        there.skim([1.0, np.inf])
    with pytest.raises(ValueError, match="from source 0 to vertex 2 is nan"):
        there.load([[0, 0, np.nan]])
    np.testing.assert_array_equal(there.load([[0, 0.5, 0.25]]), [0.75, 0.25])


def test_without_trees_there_is_nothing_to_sum_along(device):
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1])
    there = sssp.shortest_paths(g, [0], device=device, output="device")
    for ask in (lambda: there.skim([1, 2]), lambda: there.load([[0, 0, 1]])):
        with pytest.raises(ValueError, match="this needs predecessors"):
            ask()
    none, _ = trees(g, [], device)
    assert none.skim([1, 2]).to_host().shape == (0, 3)
    np.testing.assert_array_equal(none.load(np.zeros((0, 3), int)), [0, 0])
