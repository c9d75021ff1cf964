"""What results of two devices have in common, and what a search takes of a device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sssp


def assert_same_result(found: sssp.ShortestPaths, expected: sssp.ShortestPaths) -> None:
    """Compare what the GPU found with what is expected of it, to the bit."""
    assert found.device.startswith("cuda:")
    assert found.distances.dtype == expected.distances.dtype
    np.testing.assert_array_equal(found.distances, expected.distances)
    if expected.predecessors is not None:
        np.testing.assert_array_equal(found.predecessors, expected.predecessors)
    if expected.origin is not None:
        np.testing.assert_array_equal(found.origin, expected.origin)


def bytes_needed(solve: Callable[..., Any]) -> tuple[int, int, int]:
    """Bytes of the graph, of one search and of the answer, as a call that gets none is told."""
    with pytest.raises(sssp.DeviceError) as refusal:
        solve(memory_limit=1)
    text = str(refusal.value).replace(",", "")

    def after(words: str) -> int:
        found = re.search(rf"{words} (\d+)", text)
        return int(found[1]) if found else 0

    return after("beside the"), after("one search takes"), after("and the answer")
