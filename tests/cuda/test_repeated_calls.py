"""Calls that come again find what was left by others, and nothing of theirs in their answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import sssp
from tests.solvers import SIMULATOR

pytestmark = pytest.mark.gpu

#: threads (of which the simulator is for one), and calls of each
THREADS = 1 if SIMULATOR else 2
CALLS = 20 if SIMULATOR else 500
#: calls before free memory is looked at, and after
FEW, MANY = 1_000, 10_000
#: vertices of the maps
SIZES = (30, 40) if SIMULATOR else (300, 2000)


def call_one(kind: int, g: Any, device: str, seed: int) -> list[Any]:
    """Return the arrays of an answer of one kind, on the host."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([1, 3, 5 if SIMULATOR else 70]))
    sources, ends = rng.integers(0, g.n, rows), rng.integers(0, g.n, rows)
    targets = rng.integers(0, g.n, int(rng.choice([1, 4, 9])))
    ask: dict[str, Any] = {"device": device, "progress": False}
    limit = int(rng.choice([500, 10_000]))
    output: Any = str(rng.choice(["host", "device"]))
    if device == "cpu":
        output = "host"
    if kind == 0:
        found = sssp.shortest_paths(g, sources, output=output, **ask)
    elif kind == 1:
        found = sssp.shortest_paths(g, sources, limit=limit, output=output, **ask)
    elif kind == 2:
        found = sssp.shortest_paths(g, sources, predecessors=True, output=output, **ask)
    elif kind == 3:
        found = sssp.shortest_paths(g, sources, targets=targets, output=output, **ask)
    elif kind == 4:
        return [sssp.pairs(g, sources, ends, **ask).distances]
    elif kind == 5:
        return [sssp.reduce(g, sources, str(rng.choice(["eccentricity", "sum", "mean"])), **ask)]
    elif kind == 6:
        weights = rng.integers(0, 9, g.n)
        return [sssp.reduce(g, sources, "weight", vertex_weights=weights, limit=limit, **ask)]
    elif kind == 7:
        return [sssp.reduce(g, sources, "sum", targets=targets, **ask)]
    else:
        changes = [(rng.integers(0, g.m, 2), int(rng.integers(1, 900))) for _ in range(5)]
        versions: Any = [g.with_changes(*change) for change in changes]
        if isinstance(g, sssp.Hierarchy):
            versions = g.scenarios(changes, 3, device=device)
            return [sssp.reduce(versions, sources, "sum", targets=targets, **ask)]
        return [sssp.reduce(one, sources, "sum", targets=targets, **ask) for one in versions]
    found = found.to_host()
    return [found.distances] if kind != 2 else [found.distances, found.predecessors]


@pytest.mark.usefixtures("device")
def test_mixed_calls_of_threads_are_those_of_the_cpu() -> None:
    maps: list[Any] = []
    for n in SIZES:
        graph = sssp.road_like(n, seed=n)
        prepared = sssp.prepare(graph)
        fresh = np.random.default_rng(n).integers(1, 900, graph.m)
        maps += [prepared, prepared.with_weights(fresh), prepared.without_arcs([0, 1]), graph]

    def ask(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for _ in range(CALLS):
            # (few seeds, so that the same calls come again)
            kind, own, seed = int(rng.integers(9)), maps[rng.integers(len(maps))], rng.integers(20)
            wanted = call_one(kind, own, "cpu", int(seed))
            for found, right in zip(call_one(kind, own, "cuda", int(seed)), wanted, strict=True):
                np.testing.assert_array_equal(found, right)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(ask, range(THREADS)))


@pytest.mark.skipif(SIMULATOR, reason="the simulator has no memory of a device")
@pytest.mark.usefixtures("device")
def test_ten_thousand_calls_take_no_more_memory_than_one_thousand() -> None:
    from sssp.cuda.availability import select
    from sssp.cuda.pool import current_pool

    h = sssp.prepare(sssp.road_like(2000))
    with select(0):
        pool = current_pool()
    taken: list[int] = []
    allocate = pool._allocate

    def note(size: int) -> Any:
        taken.append(size)
        return allocate(size)

    with pytest.MonkeyPatch.context() as patch:
        for number in range(MANY):
            if number == FEW:
                patch.setattr(pool, "_allocate", note)
            sssp.shortest_paths(h, [number % h.n], device="cuda", output="device", progress=False)
    assert taken == []
