"""Whether results of two devices are the same, and what memory a search takes of a device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.methods import Method
from tests.same_results import assert_same
from tests.solvers import Solver


def assert_like_the_cpu(g: sssp.Graph, sources: Any, method: Method, **options: Any) -> None:
    """Compare what the GPU finds with what Dijkstra's method does, or Bellman-Ford's, to the bit.

    Threshold-batched Dijkstra also counts what its twin on the CPU counts.
    """
    counts = isinstance(method, sssp.ThresholdDijkstra)
    usual: Method = sssp.BellmanFord() if g.least_weight < 0 else sssp.Dijkstra()
    reference = Solver(method if counts else usual, "cpu")
    expected = reference(g, sources, **options)
    found = Solver(method, "cuda")(g, sources, **options)
    assert found.device.startswith("cuda:")
    assert_same(found, expected)
    if counts:
        assert found.stats.keys() == expected.stats.keys()
        for name, values in expected.stats.items():
            np.testing.assert_array_equal(found.stats[name], values, err_msg=name)


def bytes_needed(solve: Callable[..., Any]) -> tuple[int, int, int]:
    """Bytes of the graph, of one search and of the answer, as a call that gets none is told."""
    with pytest.raises(sssp.DeviceError) as refusal:
        solve(memory_limit=1)
    text = str(refusal.value).replace(",", "")

    def of(part: str) -> int:
        found = re.search(rf"{part} (\d+)", text)
        return int(found[1]) if found else 0

    return of("the graph"), of("one search"), of("the answer")
