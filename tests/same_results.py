"""Compare two results of the same question, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

import sssp
from tests import naive

__all__ = ["assert_same", "assert_same_array", "on_paths", "trees_of"]


def is_sparse(array: Any) -> bool:
    return bool(issparse(array))


def assert_same_array(found: Any, expected: Any) -> None:
    """Compare arrays, sparse or not, to the bit."""
    assert is_sparse(found) == is_sparse(expected)
    if is_sparse(found):
        assert found.shape == expected.shape
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    else:
        np.testing.assert_array_equal(found, expected)


def assert_same(found: sssp.ShortestPaths, expected: sssp.ShortestPaths) -> None:
    """Compare distances, predecessors and origins, to the bit."""
    assert found.distances.dtype == expected.distances.dtype
    for name in ("distances", "predecessors", "origin"):
        assert_same_array(getattr(found, name), getattr(expected, name))


def on_paths(row: naive.Row, targets: Iterable[int]) -> dict[int, int]:
    """Return the predecessor, -1 for none, of every vertex on the paths to targets."""
    tails: dict[int, int] = {}
    for vertex in targets:
        while vertex in row.distances and vertex not in tails:
            tails[vertex] = row.predecessors.get(vertex, -1)
            vertex = tails[vertex]
    return dict(sorted(tails.items()))


def trees_of(result: sssp.ShortestPaths) -> list[dict[int, int]]:
    """Return what is known of the predecessors of every row: all of them, or what is stored."""
    trees: Any = result.predecessors
    if not is_sparse(trees):
        shape = result.rows, result.graph.n
        return [dict(enumerate(row)) for row in trees.reshape(shape).tolist()]
    rows = zip(trees.indptr, trees.indptr[1:], strict=False)
    return [
        dict(zip(trees.indices[first:last].tolist(), trees.data[first:last].tolist(), strict=True))
        for first, last in rows
    ]
