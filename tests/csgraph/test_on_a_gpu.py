"""`sssp.csgraph` with ``device="cuda"``: what the CPU finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sssp import csgraph

pytestmark = pytest.mark.gpu

#: ties, an arc of weight 0, and two vertices out of reach
ARCS = ([0, 0, 1, 2, 3, 2, 4], [1, 2, 3, 3, 1, 0, 5])
POSITIVE, NEGATIVE = [2, 1, 1, 2, 0, 4, 1], [2, 5, 1, -2, 0, 4, 1]
QUESTIONS: list[tuple[str, list[int], dict[str, Any]]] = [
    ("dijkstra", POSITIVE, {"indices": [0, 2], "limit": 3.5}),
    ("dijkstra", POSITIVE, {"indices": [4, 2], "min_only": True, "directed": False}),
    ("bellman_ford", NEGATIVE, {"indices": 0}),
    ("johnson", NEGATIVE, {"indices": [2, 0]}),
    ("floyd_warshall", NEGATIVE, {}),
]


@pytest.mark.parametrize(("name", "weights", "options"), QUESTIONS, ids=lambda part: str(part)[:20])
def test_a_gpu_finds_what_the_cpu_finds(device, name, weights, options):
    matrix = sp.csr_array((weights, ARCS), shape=(6, 6))
    asked = getattr(csgraph, name)
    found = asked(matrix, return_predecessors=True, device=device, **options)
    expected = asked(matrix, return_predecessors=True, device="cpu", **options)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(ours, theirs)
