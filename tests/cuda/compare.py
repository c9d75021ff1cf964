"""What results of two devices have to have in common."""

from __future__ import annotations

import numpy as np

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
