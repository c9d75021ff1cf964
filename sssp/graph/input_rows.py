"""From input rows to the arcs that they became, and back; positions that move.

Loops instead of NumPy's fancy indexing, which first makes 32-bit positions 64 bits wide: that
takes longer than the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.graph.csr import row_dtype, seal
from sssp.kernels.jit import njit

Array = NDArray[Any]


@njit
def _moved_kernel(positions, places, moved):
    """Write ``places[positions]``, but -1 where a position is -1."""
    for i in range(positions.size):
        position = positions[i]
        moved[i] = places[position] if position >= 0 else -1


@njit
def _picked_kernel(values, places, pick):
    """Write ``values[places]``."""
    for i in range(places.size):
        pick[i] = values[places[i]]


@njit
def _inverse_kernel(order, places):
    """Write where `order` puts every position."""
    for i in range(order.size):
        places[order[i]] = i


@njit
def _lightest_kernel(row_arc, values, lightest):
    """Write the lightest row of every arc, the first among equals; `lightest` comes as -1."""
    for row in range(row_arc.size):
        arc = row_arc[row]
        if arc >= 0:
            best = lightest[arc]
            if best < 0 or values[row] < values[best]:
                lightest[arc] = row


@njit
def _lightest_of_both_kernel(twins, values, lightest):
    """Give both arcs of an undirected one the lighter of their rows, the first among equals."""
    for arc in range(twins.size):
        twin = twins[arc]
        if twin > arc:
            row, other = lightest[arc], lightest[twin]
            if row < 0 or (
                other >= 0
                and (values[other] < values[row] or (values[other] == values[row] and other < row))
            ):
                row = other
            lightest[arc] = lightest[twin] = row


class Lightest(NamedTuple):
    """The rows whose weights count.

    Attributes
    ----------
    rows : ndarray of int32 or int64, shape (m,)
        The row of every arc.
    weights : ndarray, shape (m,)
        The weights of these rows.
    """

    rows: Array
    weights: Array


def lightest_rows(row_arc: Array, values: Array, m: int, twins: Array | None) -> Lightest:
    """Find the lightest row of every arc, as `build_csr` would.

    Parameters
    ----------
    row_arc : ndarray of int32 or int64, shape (k,)
        The arc of every row, -1 for none. Every arc, or its twin, has a row.
    values : ndarray, shape (k,)
        Weights of the rows, without NaN.
    m : int
        Number of arcs.
    twins : ndarray of int32 or int64, shape (m,), or None
        As of `twins_of`, if a row stands for both directions.
    """
    values = seal(values)
    lightest = np.full(m, -1, row_dtype(values.size))
    _lightest_kernel(seal(row_arc), values, lightest)
    if twins is not None:
        _lightest_of_both_kernel(seal(twins), values, lightest)
    return Lightest(lightest, pick(values, lightest))


def pick(values: Array, places: Array) -> Array:
    """Return ``values[places]``; NumPy would first make the places 64 bits wide."""
    chosen = np.empty(places.size, values.dtype)
    _picked_kernel(seal(values), seal(places), chosen)
    return chosen


def inverse(order: Array) -> Array:
    """Return the permutation that undoes another."""
    places = np.empty_like(order)
    _inverse_kernel(seal(order), places)
    return places


def moved(positions: Array, places: Array) -> Array:
    """Return ``places[positions]``, but -1 where a position is -1."""
    new = np.empty(positions.size, places.dtype)
    _moved_kernel(seal(positions), seal(places), new)
    return new


def rows_are_own(row_arc: Array, arc_origin: Array) -> bool:
    """Tell whether every arc is that of its row, so that no row stands for two arcs."""
    # (rows are within; to make sure of it takes NumPy half as long again)
    arcs = row_arc.take(arc_origin, mode="clip")
    return np.array_equal(arcs, np.arange(arcs.size, dtype=arcs.dtype))
