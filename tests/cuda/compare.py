"""What results of two devices have in common, and what a search takes of a device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import sssp
from tests.compare import assert_same


def assert_same_result(found: sssp.ShortestPaths, expected: sssp.ShortestPaths) -> None:
    """Compare what the GPU found with what is expected of it, to the bit."""
    assert found.device.startswith("cuda:")
    assert_same(found, expected)


def bytes_needed(solve: Callable[..., Any]) -> tuple[int, int, int]:
    """Bytes of the graph, of one search and of the answer, as a call that gets none is told."""
    with pytest.raises(sssp.DeviceError) as refusal:
        solve(memory_limit=1)
    text = str(refusal.value).replace(",", "")

    def of(part: str) -> int:
        found = re.search(rf"{part} (\d+)", text)
        return int(found[1]) if found else 0

    return of("the graph"), of("one search"), of("the answer")
