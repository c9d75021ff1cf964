"""What a call takes on the host: its `memory_limit` at most, and 5% for what Python needs."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import sssp
from tests.solvers import needs_speed

pytestmark = needs_speed

ROOM = 1.05
# A small call also holds blocks that wait for their turn, more of them on a busy machine.
WAITING = 1 << 16
N = 20_000


def town(weights: str) -> sssp.Graph:
    g = sssp.road_like(N, seed=1)
    return {
        "int32": g,
        "int64": g.with_weights(g.weights.astype(np.int64) * 100_000),
        "float": g.with_weights(g.weights / 10),
        "negative": with_a_way_down(g),
    }[weights]


def with_a_way_down(g: sssp.Graph) -> sssp.Graph:
    """Return the graph with a potential added, which makes some weights negative."""
    heights = np.random.default_rng(2).integers(0, int(g.greatest_weight), g.n)
    return g.with_weights(g.weights + heights[g.indices] - heights[g.tails])


@pytest.fixture(scope="module", params=["int32", "int64", "float", "negative"])
def prepared(request: pytest.FixtureRequest) -> sssp.Hierarchy:
    return sssp.prepare(town(request.param))


@cache
def some(count: int) -> Any:
    """Return vertices; the caller's own array, which is made before anything is measured."""
    return np.random.default_rng(count).choice(N, count, replace=False)


WEIGHTS = np.random.default_rng(3).random((N, 3))
ASKS: dict[str, Callable[..., Any]] = {
    "a few rows": lambda g, **k: sssp.shortest_paths(g, some(3), **k),
    "rows": lambda g, **k: sssp.shortest_paths(g, some(60), **k),
    "a table": lambda g, **k: sssp.shortest_paths(g, some(40), targets=some(50), **k),
    "a large table": lambda g, **k: sssp.shortest_paths(g, some(40), targets=some(5000), **k),
    "sums": lambda g, **k: sssp.reduce(g, some(40), "sum", targets=some(1000), **k),
    "closeness": lambda g, **k: sssp.reduce(g, some(40), "closeness", targets=some(5000), **k),
    "means over all": lambda g, **k: sssp.reduce(g, some(40), "mean", **k),
    "weights": lambda g, **k: sssp.reduce(
        g, some(40), "weight", targets=some(1000), vertex_weights=WEIGHTS, **k
    ),
    "sparse rows": lambda g, **k: sssp.shortest_paths(g, some(20), output="sparse", **k),
    "sparse trees": lambda g, **k: sssp.shortest_paths(
        g, some(10), output="sparse", predecessors=True, **k
    ),
    "paths": lambda g, **k: sssp.shortest_paths(
        g, some(10), targets=some(300), predecessors=True, **k
    ),
}


@pytest.mark.parametrize("asked", ASKS)
def test_a_call_stays_within_the_least_limit_that_it_takes(
    asked: str, prepared: sssp.Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # (else scratch of an earlier call, which a graph keeps, would not be seen)
    monkeypatch.setattr("sssp.engine.thresholds.KEPT_SCRATCH", 0)
    negative = prepared.least_weight < 0  # (a search takes long there, and is no other)
    for network in [prepared] if negative else [prepared, prepared.graph]:

        def ask(limit: int | None, network: Any = network) -> None:
            ASKS[asked](network, threads=2, memory_limit=limit)

        ask(None)
        limit = least_limit(ask)
        for more in (limit, 2 * limit):  # (for one worker, and then for two)
            ask(more)
            most = ROOM * more + WAITING
            assert peak(ask, more) <= most, f"{type(network).__name__} within {more:,}"


def least_limit(ask: Callable[[int], None]) -> int:
    """Return the least limit, or somewhat more, that a call is not refused with."""
    limit = 1
    while True:
        try:
            ask(limit)
        except sssp.DeviceError as error:
            needed = re.match(r"this call needs ([\d,]+) bytes", str(error))
            assert needed is not None
            # (what is reached shows itself row by row)
            limit = max(int(needed[1].replace(",", "")), limit + limit // 50)
        else:
            return limit


def peak(ask: Callable[[int], None], limit: int) -> int:
    """Return the most bytes that a call holds at a time, which NumPy tells of its arrays."""
    tracemalloc.start()
    try:
        ask(limit)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
