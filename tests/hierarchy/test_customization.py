"""New weights of a prepared map, customized on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import sssp

resident = pytest.importorskip("sssp.hierarchy.cuda.resident", exc_type=sssp.MissingExtraError)

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
    monkeypatch.setattr(resident, "most_shared_bytes", lambda: 0)
    assert_like_the_cpu(sssp.prepare(random_graph(weights)), device)
