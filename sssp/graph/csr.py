"""Build CSR arrays from lists of arcs; transpose them, find arcs, and map arcs to input rows.

Two stable counting-sort passes, by head and then by tail, bring the arcs into order; parallel ones
stand side by side then, and merge. Arrays are checked by the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.dtypes import INDEX, OFFSET, Array
from sssp.kernels.jit import njit, njit_uncounted


@njit_uncounted
def arc_position(indptr, indices, tail, head):
    """Return the position of the arc from `tail` to `head`, -1 if there is none.

    By bisection, for arcs stand in order of head.
    """
    first, last = np.int64(indptr[tail]), np.int64(indptr[tail + 1])
    end = last
    while first < last:
        middle = (first + last) // 2
        if indices[middle] < head:
            first = middle + 1
        else:
            last = middle
    return first if first < end and indices[first] == head else np.int64(-1)


@njit
def _positions_kernel(indptr, indices, tails, heads, positions):
    """Write the position of each arc ``tails[i]`` -> ``heads[i]``; -1 where there is none."""
    for i in range(positions.size):
        positions[i] = arc_position(indptr, indices, tails[i], heads[i])


@njit
def _stable_sort_kernel(keys, order, starts, reordered):
    """Sort the items in `order` by their key, stably, and write them to `reordered`."""
    for i in range(order.size):
        starts[keys[order[i]] + 1] += 1
    for key in range(1, starts.size):
        starts[key] += starts[key - 1]
    for i in range(order.size):
        key = keys[order[i]]
        reordered[starts[key]] = order[i]
        starts[key] += 1


@njit
def _pick_kernel(values, places, chosen):
    """Write ``values[places]`` to `chosen`; an index of -1 means the last entry."""
    for i in range(places.size):
        chosen[i] = values[places[i]]


@njit
def _lightest_rows_kernel(row_arc, twins, values, lightest):
    """Write for each arc the number of its lightest row in the input table, the first in a tie.

    With `twins` a row is that of both arcs of an undirected edge.
    """
    for row in range(row_arc.size):
        arc = row_arc[row]
        for _ in range(1 if twins is None else 2):
            if arc >= 0 and (lightest[arc] < 0 or values[row] < values[lightest[arc]]):
                lightest[arc] = row
            if twins is not None and arc >= 0:
                arc = twins[arc]


def spread(firsts: Array, counts: Array) -> Array:
    """Return the integers ``firsts[i]`` to ``firsts[i] + counts[i] - 1``, for all i in order."""
    begins = np.cumsum(counts) - counts
    numbers: Array = np.arange(counts.sum()) + np.repeat(firsts - begins, counts)
    return numbers


def offsets(counts: Array) -> NDArray[np.int64]:
    """Return the cumulative sums of list sizes, from 0: where each list begins, and the end."""
    begins = np.zeros(counts.size + 1, OFFSET)
    np.cumsum(counts, out=begins[1:])
    return begins


def row_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype to number `count` rows or arcs: int32 while they fit, else int64."""
    return INDEX if count <= np.iinfo(INDEX).max else OFFSET


def build_csr(n: int, tails: Array, heads: Array, weights: Array) -> tuple[Array, ...]:
    """Sort arcs by tail and head and merge parallel ones to the lightest.

    Parameters
    ----------
    n : int
        Number of vertices.
    tails, heads : ndarray of int32, shape (k,)
        All within ``0..n-1``.
    weights : ndarray of int32, int64 or float64, shape (k,)
        No NaN.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
        Where the arcs of each vertex begin.
    indices : ndarray of int32, shape (m,)
        Heads.
    weights : ndarray, shape (m,)
        In the dtype that was given.
    rows : ndarray of int32 or int64, shape (m,)
        Which of the given arcs each one is; of equal parallel ones the first.
    order : ndarray of int32 or int64, shape (k,)
        The given arcs by tail and head.
    is_new : ndarray of bool, shape (k,)
        Which of them, in that order, are not parallel to the one before.
    """
    k = tails.size
    order = np.arange(k, dtype=row_dtype(k))
    falls = (tails[1:] == tails[:-1]) & (heads[1:] < heads[:-1])
    if (falls | (tails[1:] < tails[:-1])).any():
        order = _stable_sort(heads, order, n)
        order = _stable_sort(tails, order, n)
    tails, heads, weights = tails[order], heads[order], weights[order]
    is_new = np.ones(k, np.bool_)
    is_new[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
    rows = order
    if not is_new.all():
        arcs = np.cumsum(is_new, dtype=order.dtype) - 1
        places, weights = lightest_rows(arcs, weights, int(arcs[-1]) + 1, None)
        tails, heads, rows = tails[places], heads[places], order[places]
    return offsets(np.bincount(tails, minlength=n)), heads, weights, rows, order, is_new


def reduce_arcs(
    n: int, tails: Array, heads: Array, weights: Array, *, directed: bool
) -> dict[str, Any]:
    """Build CSR arrays of arcs without parallel arcs and without non-negative self-loops.

    Parameters are those of `build_csr`, and whether each arc stands for one direction only.

    Returns
    -------
    dict
        Attributes of a `Graph` by name; ``row_arc`` is None if ``arc_origin`` tells as much: one
        arc per row, one row per arc.
    """
    given = tails.size
    rows = None  # input row of every arc that is built in; None: its own place
    loops = (tails == heads) & (weights >= 0)
    if loops.any():
        rows = np.flatnonzero(~loops)
        tails, heads, weights = tails[rows], heads[rows], weights[rows]
    kept = tails.size
    if not directed:
        # both directions of an arc side by side, a self-loop once
        given_arcs = np.repeat(np.arange(kept), np.where(tails == heads, 1, 2))
        backward = np.zeros(given_arcs.size, bool)
        backward[1:] = given_arcs[1:] == given_arcs[:-1]
        tails, heads, weights = tails[given_arcs], heads[given_arcs], weights[given_arcs]
        tails, heads = np.where(backward, heads, tails), np.where(backward, tails, heads)
        rows = given_arcs if rows is None else rows[given_arcs]
    indptr, indices, weights, arc_origin, order, is_new = build_csr(n, tails, heads, weights)
    row_arc = None
    remaining = arc_origin.size
    if not directed or remaining < kept:
        became = np.empty_like(order)
        became[order] = np.cumsum(is_new, dtype=became.dtype) - 1
        row_arc = np.full(given, -1, became.dtype)
        row_arc[~loops] = became if directed else became[~backward]
    if rows is not None:
        arc_origin = rows[arc_origin].astype(row_dtype(given))
    if not directed:
        remaining = (remaining + self_loops_of(indptr, indices).size) // 2
    return {
        "indptr": indptr,
        "indices": indices,
        "weights": weights,
        "arc_origin": arc_origin,
        "row_arc": row_arc,
        "input_arcs": given,
        "parallel_arcs": kept - remaining,
        "self_loops": given - kept,
        "directed": directed,
    }


def arc_positions(indptr: Array, indices: Array, tails: Array, heads: Array) -> NDArray[np.int64]:
    """Return the position of each arc ``tails[i]`` -> ``heads[i]``; -1 where there is none.

    Parameters
    ----------
    indptr, indices : ndarray
        Of a graph.
    tails, heads : ndarray of int, shape (k,)
        All within ``0..n-1``.
    """
    positions = np.empty(tails.size, OFFSET)
    _positions_kernel(seal(indptr), seal(indices), seal(tails), seal(heads), positions)
    return positions


def twins_of(indptr: Array, indices: Array) -> Array:
    """Return the position of each arc's reverse arc, -1 for none."""
    twins = np.empty(indices.size, row_dtype(indices.size))
    heads = seal(indices)
    _positions_kernel(seal(indptr), heads, heads, seal(tails_of(indptr)), twins)
    return twins


def self_loops_of(indptr: Array, indices: Array) -> NDArray[np.int64]:
    """Return the positions of the self-loops."""
    return np.flatnonzero(tails_of(indptr) == indices)


def transpose(indptr: Array, indices: Array) -> tuple[Array, Array, Array]:
    """Return the arcs sorted by head, then tail: offsets, tails, and positions before sorting.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
        Where the arcs into each vertex begin.
    tails : ndarray of int32, shape (m,)
    order : ndarray of int32 or int64, shape (m,)
        Which arcs they are.
    """
    n = indptr.size - 1
    order = _stable_sort(indices, np.arange(indices.size, dtype=row_dtype(indices.size)), n)
    return offsets(np.bincount(indices, minlength=n)), pick(tails_of(indptr), order), order


def tails_of(indptr: Array) -> Array:
    """Return the tail vertex of every arc of a CSR graph, as int32."""
    return np.repeat(np.arange(indptr.size - 1, dtype=INDEX), np.diff(indptr))


def _stable_sort(keys: Array, order: Array, n: int) -> Array:
    reordered = np.empty_like(order)
    _stable_sort_kernel(seal(keys), order, np.zeros(n + 1, OFFSET), reordered)
    return reordered


def seal(array: Array) -> Array:
    """Return a read-only view of an array, copied first if it is not contiguous."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def lightest_rows(arcs: Array, values: Array, m: int, twins: Array | None) -> tuple[Array, Array]:
    """Return for each arc the input row with the least weight, and this weight.

    Parameters
    ----------
    arcs : ndarray of int32 or int64, shape (k,)
        The arc of every row, -1 for none. Every arc, or its twin, has a row.
    values : ndarray, shape (k,)
        Weights of the rows, without NaN.
    m : int
        Number of arcs.
    twins : ndarray of int32 or int64, shape (m,), or None
        As of `twins_of`, if a row stands for both directions.

    Returns
    -------
    rows : ndarray of int32 or int64, shape (m,)
        The row of every arc.
    weights : ndarray, shape (m,)
        The weights of these rows.
    """
    values = seal(values)
    lightest = np.full(m, -1, row_dtype(values.size))
    both = None if twins is None else seal(twins)
    _lightest_rows_kernel(seal(arcs), both, values, lightest)
    return lightest, pick(values, lightest)


def pick(values: Array, places: Array) -> Array:
    """Return ``values[places]``, without NumPy's 64-bit copy of the indices `places`.

    That copy would take longer than all else.
    """
    chosen = np.empty(places.size, values.dtype)
    _pick_kernel(seal(values), seal(places), chosen)
    return chosen


def move(positions: Array, places: Array) -> Array:
    """Map positions by a table: return ``places[positions]``, but -1 where a position is -1."""
    return pick(np.append(places, places.dtype.type(-1)), positions)


def rows_are_own(row_arc: Array, arc_origin: Array) -> bool:
    """Return True if no input row stands for two arcs, one in each direction."""
    # (rows are within; to make sure of it takes NumPy half as long again)
    arcs = row_arc.take(arc_origin, mode="clip")
    return np.array_equal(arcs, np.arange(arcs.size, dtype=arcs.dtype))


def freeze(array: Array) -> Array:
    """Return an array over the same memory that cannot be made writable again.

    NumPy lets an array be made writable whenever the array that owns its memory could be; one over
    a read-only `memoryview` stays so. (Which no array of dates can be: graphs hold none.)
    """
    base: object = array.base  # an array, as far as NumPy's own annotations know
    if isinstance(base, memoryview) and base.readonly:
        return array
    return np.asarray(array.data.toreadonly())
