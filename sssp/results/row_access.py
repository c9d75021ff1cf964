"""Rows of a result's arrays, whatever their form.

A call may drop the axis of the sources, that of the targets, or both; sparse rows store what a
search reached (distances), or what a tree holds (predecessors), in order of vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.graph.check_arrays import is_sparse


def stored_row(matrix: Any, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the columns that a row of a CSR matrix stores, ascending, and what stands there."""
    stored = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
    return matrix.indices[stored], matrix.data[stored]


def dense_row(matrix: Any, row: int, rows: int, missing: Any) -> NDArray[Any]:
    """Return a row with all its columns, contiguous.

    Parameters
    ----------
    matrix : ndarray with the entries of `rows` rows, or csr_array, shape (rows, columns)
    row : int
        From 0.
    rows : int
        How many rows there are.
    missing : number
        What stands where a sparse row stores nothing.
    """
    if not is_sparse(matrix):
        return np.ascontiguousarray(matrix.reshape(rows, -1)[row])
    values = np.full(matrix.shape[1], missing, matrix.dtype)
    columns, stored = stored_row(matrix, row)
    values[columns] = stored
    return values


def entries(matrix: Any, row: int, rows: int, missing: Any) -> Callable[[int], Any]:
    """Return what gives an entry of what `dense_row` would return, as a Python number.

    In O(log) time of what is stored.
    """
    if not is_sparse(matrix):
        whole: NDArray[Any] = matrix.reshape(rows, -1)[row]
        return whole.item
    columns, stored = stored_row(matrix, row)

    def find(column: int) -> Any:
        # (of another dtype, it would have all columns converted)
        place = columns.searchsorted(columns.dtype.type(column))
        is_stored = place < columns.size and columns.item(place) == column
        return stored.item(place) if is_stored else missing

    return find
