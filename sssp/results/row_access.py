"""Functions that read single rows of a search result's arrays, dense or sparse.

A call may drop the axis of the sources, that of the targets, or both; sparse rows store what a
search reached (distances), or what a tree holds (predecessors), in order of vertex.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree_sums import add_at, arcs_between
from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import is_sparse
from sssp.graph.graph import Graph
from sssp.graph.turns import Turns

#: entries of distances that `repr` may look through
GLANCE = 1 << 24


def stored_row(matrix: Any, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the stored columns of a row of a CSR matrix, ascending, and their values."""
    stored = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
    return matrix.indices[stored], matrix.data[stored]


def dense_row(matrix: Any, row: int, rows: int, missing: Any) -> NDArray[Any]:
    """Return a row of a dense or sparse matrix as a contiguous dense array.

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
    """Return a function that maps a column to the matrix entry in one row, as a Python number.

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


def labels_of(graph: Graph, vertices: NDArray[Any]) -> list[Any]:
    """Return the labels of vertices; the vertices if the graph has none."""
    return list((vertices if graph.labels is None else graph.labels[vertices]).tolist())


def arcs_along(graph: Graph, path: NDArray[Any]) -> NDArray[np.int64]:
    """Return the arcs of a path, given its vertices."""
    return arcs_between(graph, path[:-1], path[1:])


def require_turns(graph: Graph) -> Turns:
    """Return the turns of a graph; raise `ValueError` if it has none."""
    if graph.turns is None:
        raise ValueError("this graph has no turns: g.with_turns names some")
    return graph.turns


def add_up(loads: NDArray[Any], places: NDArray[np.int32], size: int) -> NDArray[Any]:
    """Return for each index 0..size-1 the sum of the loads with that index in `places`."""
    sums = np.zeros(size + 1, loads.dtype)
    add_at(sums, np.where(places < 0, size, places), loads)
    return sums[:size]


def onto_arcs(graph: Graph, loads: NDArray[Any]) -> NDArray[Any]:
    """Convert loads of the searched arcs (with turns, of the expansion) to loads of graph arcs."""
    return loads if graph.turns is None else add_up(loads, graph.turns.expansion.arc_of, graph.m)


def as_index(value: Any, what: str) -> int:
    """Return an integer of any type (also a NumPy scalar or 0-d array) as an int."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{what} is an int, not True or False")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an int, not {value!r} ({type(value).__name__})") from None


def refuse_sum(values: NDArray[Any], arcs: NDArray[np.int64], where: str) -> NoReturn:
    """Raise the error for a sum over a path with a value that is not finite, or that overflows."""
    odd = arcs[~np.isfinite(values[arcs])]
    if odd.size:
        raise ValueError(
            f"the value of arc {odd[0]} {where} is {values[odd[0]]}; every value on a path must be "
            "a finite number"
        )
    raise DistanceOverflowError(
        f"the sum of values {where} does not fit {values.dtype}, whose greatest number stands for "
        "unreached"
    )
