"""Stored weights: their dtypes, closed arcs, extremes, changes and conversions.

A closed arc weighs the greatest number of its dtype, infinity for floats: it loses to every
parallel one, and is told from the others without another array. So an integer dtype is wide
enough for open weights only if all of them are below its greatest number. Given weights are checked
in `sssp.graph.check_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import is_real
from sssp.kernels.dtypes import INT32, INT64, Array, unreached
from sssp.kernels.jit import njit


def closed_weight(dtype: np.dtype[Any]) -> Any:
    """Return the sentinel weight of a closed arc, equal to an unreached distance."""
    return unreached(dtype)


def closed_count(weights: Array) -> int:
    """Return the number of closed arcs among weights."""
    return int(np.count_nonzero(weights == closed_weight(weights.dtype)))


INT64_RANGE, INT32_RANGE = np.iinfo(INT64), np.iinfo(INT32)


def integer_dtype(least: int | float, greatest: int | float) -> np.dtype[Any]:
    """Return the dtype in which a graph stores open integer weights of `least` to `greatest`."""
    return INT32 if INT32_RANGE.min <= least and greatest < INT32_RANGE.max else INT64


def converted(weights: Array, dtype: np.dtype[Any]) -> Array:
    """Return stored weights in another dtype that holds them; closed arcs stay closed."""
    result, closed = weights.astype(dtype), closed_weight(weights.dtype)
    if dtype != weights.dtype and weights.size and weights.max() == closed:
        result[weights == closed] = closed_weight(dtype)
    return result


class Extremes(NamedTuple):
    """Least and greatest weight of open arcs; numbers of closed arcs and non-negative self-loops.

    Attributes
    ----------
    dtype : dtype
        Of the weights.
    least, greatest : int or float
        Of the arcs that a path may take; 0 where there are none.
    closed, idle : int
        Numbers of closed arcs, and of other self-loops that weigh 0 or more.
    """

    dtype: np.dtype[Any]
    least: int | float
    greatest: int | float
    closed: int
    idle: int


@njit
def _extremes_kernel(weights, closed, lowest):
    """Return the least and the greatest weight of open arcs, and the number of closed arcs."""
    least, greatest, count = closed, lowest, 0
    for arc in range(weights.size):  # (over positions: else Numba makes no vector operations of it)
        weight = weights[arc]
        count += weight == closed
        least = min(least, weight)
        greatest = max(greatest, lowest if weight == closed else weight)
    return least, greatest, count


@njit
def _copy_kernel(values, copies):
    """Copy integers to int32 without a check; return the least and the greatest original."""
    least = greatest = values[0]
    for arc in range(values.size):
        value = values[arc]
        least, greatest = min(least, value), max(greatest, value)
        copies[arc] = INT32.type(value)
    return least, greatest


def copy_open(column: Array) -> tuple[Array, Extremes] | None:
    """Copy integer weights to int32; return them and their range, or None if an arc is closed.

    None if that takes more: floats, numbers that do not fit int32, other layouts.
    """
    if column.dtype not in (INT32, INT64) or not (column.size and column.flags.c_contiguous):
        return None
    weights = np.empty(column.size, INT32)
    least, greatest = _copy_kernel(column, weights)
    if integer_dtype(least, greatest) != INT32:
        return None
    return weights, Extremes(INT32, least, greatest, 0, 0)


def extremes_of(weights: Array, loops: Array) -> Extremes:
    """Return the least and greatest weight of open arcs, and the number of closed arcs."""
    closed = closed_weight(weights.dtype)
    idle = loops[(weights[loops] >= 0) & (weights[loops] != closed)]
    if idle.size:  # (they count as little as closed arcs)
        weights = weights.copy()
        weights[idle] = closed
        weights.flags.writeable = False  # (as of a graph, or Numba compiles again)
    if weights.size == 0:
        return Extremes(weights.dtype, 0, 0, 0, 0)
    greatest = weights.max()
    if greatest != closed:
        return Extremes(weights.dtype, weights.min().item(), greatest.item(), 0, 0)
    lowest = weights.dtype.type(-np.inf if weights.dtype.kind == "f" else -closed - 1)
    least, most, count = _extremes_kernel(weights, closed, lowest)
    least, most = (0, 0) if count == weights.size else (least, most)
    return Extremes(weights.dtype, least, most, count - idle.size, idle.size)


class Change(NamedTuple):
    """The difference in weights between two graphs with the same arcs and dtype.

    Attributes
    ----------
    graph : Graph
        The other.
    places : ndarray, shape (k,), int64
        The arcs that may weigh something else, ascending.
    values : ndarray, shape (k,)
        What they weigh.
    """

    graph: Any
    places: Array
    values: Array

    @classmethod
    def of(cls, graph: Any, places: Array, values: Array) -> Change:
        """Return a `Change` of arc weights; if a position is repeated, its last value counts."""
        if places.size == 1:
            return cls(graph, places.copy(), values.copy())
        places, last = np.unique(places[::-1], return_index=True)
        return cls(graph, places, values[::-1][last])

    def apply(self) -> Array:
        """Return the weights of all arcs after the change."""
        weights: Array = self.graph.weights.copy()
        weights[self.places] = self.values
        return weights

    def from_base(self) -> Change:
        """Merge this change with its graph's earlier change into one change of the base graph."""
        before = self.graph._change
        if before is None or before.values.dtype != self.values.dtype:
            return self
        places = np.append(before.places, self.places)
        return Change.of(before.graph, places, np.append(before.values, self.values))


def extremes_after(
    extremes: Extremes, before: Array, after: Array, arcs: int, weights: Callable[[], Array]
) -> Extremes | None:
    """Return the least and greatest weights after a change; None if all weights must be scanned.

    Parameters
    ----------
    extremes : Extremes
        Of weights of the same dtype, before it; none is that of a self-loop.
    before, after : ndarray, shape (k,)
        What the changed arcs weighed, and what they weigh; each once.
    arcs : int
        How many weights there are.
    weights : callable
        Gives them all, after it.

    Returns
    -------
    Extremes or None
        None: the greatest weight was that of a changed arc, or there was no open one.
    """
    closed = closed_weight(before.dtype)
    was, comes = before[before != closed], after[after != closed]
    count = extremes.closed + was.size - comes.size
    if arcs in (extremes.closed, count):
        return None
    least, greatest = extremes.least, extremes.greatest
    if comes.size:
        least, greatest = min(least, comes.min().item()), max(greatest, comes.max().item())
    if was.size and was.max() == greatest and not (comes == greatest).any():
        return None
    if was.size and was.min() == least and not (comes == least).any():
        least = weights().min().item()  # (closed arcs weigh more)
    return Extremes(before.dtype, least, greatest, count, 0)


def scale_weights(weights: Array, factor: float) -> Array:
    """Return ``rint(weights * factor)`` as int64; exact if weights and factor are integers.

    Closed arcs weigh the greatest int64.
    """
    if not is_real(factor):
        raise TypeError(f"the factor must be one number, not {type(factor).__name__}")
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"the factor must be a finite number above zero, not {factor}")
    is_open = weights != closed_weight(weights.dtype)
    part = weights[is_open]
    scaled = np.full(weights.size, closed_weight(INT64))
    if part.size == 0:
        return scaled
    whole = weights.dtype.kind == "i" and factor == int(factor)
    times = int(factor) if whole else float(factor)
    least, greatest = part.min().item(), part.max().item()
    if not (INT64_RANGE.min <= least * times and greatest * times < INT64_RANGE.max):
        raise DistanceOverflowError(
            f"weights from {least} to {greatest} times {factor} do not fit int64; "
            "take a smaller factor"
        )
    scaled[is_open] = part.astype(INT64) * times if whole else np.rint(part * times)
    return scaled
