"""Checks of graph arguments, such as vertices, coordinates, positions and order of arcs.

Weights are checked in `sssp.graph.check_weights`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from numbers import Integral, Real
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import DistanceOverflowError, VertexError
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, OFFSET, Array

#: as many vertices as ``indices`` can name
MOST_VERTICES = int(np.iinfo(INDEX).max)


def is_sparse(matrix: Any) -> bool:
    """Return whether a matrix is a SciPy sparse one, without importing `scipy.sparse`."""
    if isinstance(matrix, np.ndarray):
        return False
    # (while another thread imports it for the first time, it lacks the function)
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return issparse is not None and bool(issparse(matrix))


def is_on_device(array: Any) -> bool:
    """Return whether an array of any library is on a CUDA device."""
    return hasattr(array, "__cuda_array_interface__")


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer of any type, but not a boolean or a time span."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def is_real(value: Any) -> bool:
    """Return whether a value is a number of any type, but not a boolean or a time span."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def as_flag(value: Any, name: str) -> bool:
    """Check that an argument is True or False; return it as a bool.

    Raises
    ------
    TypeError
        It is neither; a string such as ``"no"``, say.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(f"{name} must be True or False, not {value!r}")


def as_choice(value: Any, name: str, *choices: str) -> Any:
    """Check that an argument is one of the allowed values in `choices`; return it.

    Raises
    ------
    ValueError
        It is not; the message names them.
    """
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return value


def refuse_mask(values: Any, name: str) -> None:
    """Raise for a masked array, because NumPy would drop its mask.

    Raises
    ------
    TypeError
        `name` is in it.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be a masked array, which does not say what stands behind the mask: "
            "pass values.filled(...) or values.compressed()"
        )


def number_array(values: Any, name: str) -> Array:
    """Return integers, booleans or floats as an array, without loss of precision.

    What is missing, None or pandas' NA, is NaN.

    Raises
    ------
    TypeError
        Something else; a masked array.
    DistanceOverflowError
        An integer that fits no dtype.
    """
    refuse_mask(values, name)
    array: Array = np.asarray(values)
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and not hasattr(values, "dtype")):
        array = _as_given(array, values, name)
    if array.dtype.kind not in "iubf":
        raise TypeError(f"{name} must be integers or floats, not {array.dtype}")
    return array


def _as_given(array: Array, values: Any, name: str) -> Array:
    """Undo NumPy's conversion of numbers to objects, and of large integers to floats.

    It does so of large Python integers, of those beside a uint64, and of the columns of a
    DataFrame that may have missing entries.
    """
    objects: Array = np.asarray(values, dtype=object)
    numbers = objects.ravel().tolist()
    if numbers and all(isinstance(number, Integral) for number in numbers):
        try:
            return objects.astype(INT64)
        except OverflowError:
            raise too_large(max(numbers, key=abs), name) from None
    if array.dtype.kind != "O":
        return array
    # (pandas is not loaded for its NA, which is equal to nothing)
    known = [math.nan if v is None or type(v).__name__ == "NAType" else v for v in numbers]
    if not all(isinstance(number, Real) for number in known):
        return array
    try:
        return np.array(known, FLOAT64).reshape(array.shape)
    except OverflowError:  # an int beyond all floats
        whole = [number for number in known if isinstance(number, int)]
        raise too_large(max(whole, key=abs), name) from None


def too_large(number: Any, name: str) -> DistanceOverflowError:
    """Return the error for an integer that does not fit int64."""
    return DistanceOverflowError(
        f"{name} must fit int64, and {number} does not; floats are taken too, and rounded"
    )


def integer_column(
    values: ArrayLike, name: str, advice: str, what: str = "integers counted from 0"
) -> Array:
    """Return `values` as a one-dimensional array after checking that they are integers."""
    refuse_mask(values, name)
    column: Array = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {column.shape}; {advice}")
    if column.size == 0:
        return np.empty(0, INDEX)
    if column.dtype.kind not in "iu":
        raise TypeError(f"{name} must be {what}, not {column.dtype}; {advice}")
    return column


def vertex_count(
    n: SupportsIndex | None, tails: Array, heads: Array, coordinates: ArrayLike | None, labels: Any
) -> int:
    """Return the number of vertices: `n` if given, else from labels, coordinates or arcs."""
    if n is not None:
        if isinstance(n, bool | np.bool_) or not hasattr(n, "__index__"):
            raise TypeError(f"n must be an integer, not {n!r}")
        count = index(n)
        if count < 0:
            raise ValueError(f"n must not be negative, but is {count}")
    elif labels is not None and hasattr(labels, "__len__"):
        count = len(labels)
    elif coordinates is not None:
        count = len(np.asarray(coordinates))
    else:
        count = max((int(column.max()) + 1 for column in (tails, heads) if column.size), default=0)
    if count > MOST_VERTICES:
        raise ValueError(
            f"{count} vertices are more than {MOST_VERTICES}, the most that fit int32; "
            "number the vertices 0..n-1, and give their names as labels, or let "
            "Graph.from_dataframe do both"
        )
    return count


def ends_within(
    tails: Array, heads: Array, n: int, advise: Callable[[Any], str]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return tails and heads as int32 after checking that all are in ``0..n-1``.

    ``advise(number)`` says what else to know of one that is not, at the end of the message.
    """
    for column, name in ((tails, "tail"), (heads, "head")):
        if not are_within(column, 0, n):
            row = int(np.argmax((column < 0) | (column >= n)))
            raise VertexError(
                f"{name} {column[row]} in row {row} is not a vertex of a graph with n = {n} "
                f"(vertices count from 0){advise(column[row])}"
            )
    return np.ascontiguousarray(tails, INDEX), np.ascontiguousarray(heads, INDEX)


def are_within(numbers: Array, least: int, end: int) -> bool:
    """Return whether all numbers are at least `least` and below `end`."""
    return numbers.size == 0 or bool(numbers.min() >= least and numbers.max() < end)


def first_true(mask: Array) -> int | None:
    """Return the position of the first True in a mask; None if there is none."""
    return int(np.argmax(mask)) if mask.any() else None


def arc_column(values: ArrayLike, m: int) -> NDArray[np.int64]:
    """Check one or many positions of arcs; return them as a new one-dimensional int64 array.

    Raises
    ------
    TypeError
        Not integers.
    IndexError
        Outside ``0..m-1``.
    """
    column = np.atleast_1d(values)
    advice = "g.arcs(tails, heads) are the positions of arcs between vertices"
    if column.dtype.kind == "b":
        advice = "numpy.flatnonzero(mask) are those of a mask"
    column = integer_column(column, "arcs", advice, "positions, integers")
    place = first_true((column < 0) | (column >= m))
    if place is not None:
        none = " (-1 in g.row_arc says that a row is not an arc)" if column[place] == -1 else ""
        raise IndexError(
            f"{column[place]} at place {place} of arcs is no position of an arc: the positions "
            f"of this graph are 0 to {m - 1}{none}"
            if m
            else f"there is no arc {column[place]}: the graph has none"
        )
    return column.astype(OFFSET)


def coordinate_pairs(coordinates: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Check coordinates and return a new (n, 2) float64 array; None if none are passed."""
    if coordinates is None:
        return None
    refuse_mask(coordinates, "coordinates")
    pairs = np.array(coordinates, dtype=FLOAT64, order="C")
    if n == 0 and pairs.size == 0:
        return pairs.reshape(0, 2)
    if pairs.shape != (n, 2):
        raise ValueError(
            f"coordinates must be longitude and latitude, of shape ({n}, 2), not {pairs.shape}"
        )
    if not np.isfinite(pairs).all():
        vertex = int(np.flatnonzero(~np.isfinite(pairs).all(axis=1))[0])
        raise ValueError(f"the coordinates of vertex {vertex} are not finite: {pairs[vertex]}")
    return pairs


def are_in_order(indptr: Array, indices: Array) -> bool:
    """Return whether `indptr` is valid and the heads of each vertex's arcs strictly increase.

    That is so if every head is above the one before it but where another vertex' arcs begin.
    """
    m = indices.size
    if indptr[0] != 0 or indptr[-1] != m or (indptr[:-1] > indptr[1:]).any():
        return False
    may_begin = np.empty(m + 1, np.bool_)
    np.greater(indices[1:], indices[:-1], out=may_begin[1:m])
    may_begin[indptr] = True
    return bool(may_begin.all())
