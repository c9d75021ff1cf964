"""From a list of arcs to CSR arrays, in O(n + m).

Two stable counting-sort passes, by head and then by tail, bring the arcs into order; one more
pass merges parallel ones. The arrays are not touched beyond that, so whoever calls has checked
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.dtypes import INDEX, OFFSET
from sssp.kernels.jit import njit

__all__ = [
    "CSR",
    "Reduced",
    "arc_position",
    "build_csr",
    "droppable",
    "order_by_head",
    "reduce_arcs",
    "tails_of",
]

Array = NDArray[Any]


@njit
def arc_position(indptr, indices, tail, head):
    """Position of the arc from `tail` to `head`, by bisection: arcs stand in order of head."""
    first, last = indptr[tail], indptr[tail + 1]
    while first < last:
        middle = (first + last) // 2
        if indices[middle] < head:
            first = middle + 1
        else:
            last = middle
    return first


@njit
def _is_sorted_kernel(tails, heads):
    for i in range(1, tails.size):
        if tails[i] < tails[i - 1]:
            return False
        if tails[i] == tails[i - 1] and heads[i] < heads[i - 1]:
            return False
    return True


@njit
def _stable_sort_kernel(keys, order, starts, reordered):
    """Rearrange `order` by ``keys[order]``; `starts` comes zeroed, of length ``n + 1``."""
    for i in range(order.size):
        starts[keys[order[i]] + 1] += 1
    for key in range(1, starts.size):
        starts[key] += starts[key - 1]
    for i in range(order.size):
        key = keys[order[i]]
        reordered[starts[key]] = order[i]
        starts[key] += 1


@njit
def _merge_kernel(order, tails, heads, weights, indptr, indices, least, rows):
    """Keep the lightest of parallel arcs, the first row among equals; return how many remain."""
    kept = -1
    last_tail = last_head = -1
    for i in range(order.size):
        row = order[i]
        tail, head, weight = tails[row], heads[row], weights[row]
        if tail != last_tail or head != last_head:
            kept += 1
            indptr[tail + 1] += 1
            indices[kept] = head
            least[kept] = weight
            rows[kept] = row
            last_tail, last_head = tail, head
        elif weight < least[kept]:
            least[kept] = weight
            rows[kept] = row
    for v in range(1, indptr.size):
        indptr[v] += indptr[v - 1]
    return kept + 1


class CSR(NamedTuple):
    """Arcs ordered by tail and head, none parallel.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n + 1,)
        Where the arcs of each vertex begin.
    indices : ndarray of int32, shape (m,)
        Heads.
    weights : ndarray, shape (m,)
        In the dtype that was given.
    rows : ndarray of int32 or int64, shape (m,)
        Which of the given arcs each one is.
    """

    indptr: Array
    indices: Array
    weights: Array
    rows: Array


def _row_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype that numbers `count` input rows: int32 while they fit, else int64."""
    return INDEX if count <= np.iinfo(INDEX).max else OFFSET


def build_csr(n: int, tails: Array, heads: Array, weights: Array) -> CSR:
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
    CSR
        New arrays; of equal parallel arcs the first row stays.
    """
    tails, heads, weights = _sealed(tails), _sealed(heads), _sealed(weights)
    k = tails.size
    order = np.arange(k, dtype=_row_dtype(k))
    if not _is_sorted_kernel(tails, heads):
        order = _stable_sort(heads, order, n)
        order = _stable_sort(tails, order, n)
    indptr = np.zeros(n + 1, OFFSET)
    indices, least, rows = np.empty(k, INDEX), np.empty(k, weights.dtype), np.empty_like(order)
    m = _merge_kernel(order, tails, heads, weights, indptr, indices, least, rows)
    if m < k:
        indices, least, rows = indices[:m].copy(), least[:m].copy(), rows[:m].copy()
    return CSR(indptr, indices, least, rows)


class Reduced(NamedTuple):
    """Arcs as a graph keeps them, and what became of the others.

    Attributes
    ----------
    arcs : CSR
        The kept arcs; ``arcs.rows`` are input rows.
    parallel_arcs : int
        Input arcs that a lighter or earlier parallel one replaced.
    self_loops : int
        Non-negative self-loops among the input, dropped.
    """

    arcs: CSR
    parallel_arcs: int
    self_loops: int


def reduce_arcs(n: int, tails: Array, heads: Array, weights: Array, *, directed: bool) -> Reduced:
    """Drop what is no arc, double undirected arcs, sort, and merge parallel ones.

    Parameters are those of `build_csr`, and whether each arc stands for one direction only.
    """
    endless, loops = droppable(tails, heads, weights)
    dropped = endless | loops
    rows = None
    if dropped.any():
        rows = np.flatnonzero(~dropped)
        tails, heads, weights = tails[rows], heads[rows], weights[rows]
    kept = tails.size
    if not directed:
        both = _both_ways(tails, heads)
        rows = both.rows if rows is None else rows[both.rows]
        tails, heads, weights = both.tails, both.heads, weights[both.rows]
    arcs = build_csr(n, tails, heads, weights)
    if rows is not None:
        arcs = arcs._replace(rows=rows[arcs.rows].astype(_row_dtype(dropped.size)))
    remaining = arcs.rows.size
    if not directed:
        loops_left = int(np.count_nonzero(tails_of(arcs.indptr) == arcs.indices))
        remaining = (remaining + loops_left) // 2
    return Reduced(arcs, kept - remaining, int(np.count_nonzero(loops)))


def droppable(tails: Array, heads: Array, weights: Array) -> tuple[Array, Array]:
    """Return masks of the arcs of infinite weight, and of the non-negative self-loops."""
    endless = weights == np.inf if weights.dtype.kind == "f" else np.zeros(weights.size, bool)
    return endless, (tails == heads) & (weights >= 0) & ~endless


class _BothWays(NamedTuple):
    tails: Array
    heads: Array
    rows: Array


def _both_ways(tails: Array, heads: Array) -> _BothWays:
    """Store each arc in both directions side by side, a self-loop once."""
    rows = np.repeat(np.arange(tails.size), np.where(tails == heads, 1, 2))
    backward = np.zeros(rows.size, bool)
    backward[1:] = rows[1:] == rows[:-1]
    forward_tails, forward_heads = tails[rows], heads[rows]
    return _BothWays(
        np.where(backward, forward_heads, forward_tails),
        np.where(backward, forward_tails, forward_heads),
        rows,
    )


def order_by_head(n: int, indices: Array) -> Array:
    """Return the permutation of the arcs that turns CSR into its transpose.

    Parameters
    ----------
    n : int
        Number of vertices.
    indices : ndarray of int32, shape (m,)
        Heads of the arcs, which stand in order of tail.

    Returns
    -------
    ndarray of int32 or int64, shape (m,)
        Positions ordered by head; those of one head keep the order of their tails.
    """
    return _stable_sort(
        _sealed(indices), np.arange(indices.size, dtype=_row_dtype(indices.size)), n
    )


def tails_of(indptr: Array) -> Array:
    """Expand `indptr` to the tail of every arc, int32."""
    return np.repeat(np.arange(indptr.size - 1, dtype=INDEX), np.diff(indptr))


def _stable_sort(keys: Array, order: Array, n: int) -> Array:
    reordered = np.empty_like(order)
    _stable_sort_kernel(keys, order, np.zeros(n + 1, OFFSET), reordered)
    return reordered


def _sealed(array: Array) -> Array:
    """Return a contiguous read-only view: Numba compiles anew for writable arrays."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
