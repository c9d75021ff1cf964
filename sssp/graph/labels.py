"""Vertex labels: their storage, and the lookup from a label to its vertex.

Consecutive integers (1..n in a DIMACS graph) are kept as a `range`, which costs nothing; other
integers are searched in sorted order; strings and objects are looked up in a dict that is made
on first use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import VertexError, join_briefly, quote
from sssp.graph.check_arrays import is_integer, refuse_mask
from sssp.kernels.dtypes import Array

_INT64 = np.iinfo(np.int64)
_EXAMPLES = 3

Labels = range | Array | None


def as_labels(labels: Any, n: int) -> Labels:
    """Check vertex labels; return them as a range or an array, or None if there are none.

    Parameters
    ----------
    labels : sequence of length n, or None
        Integers, strings, or any hashable objects; no two alike.
    n : int
        Number of vertices.

    Returns
    -------
    range, ndarray of shape (n,), or None
        A range for consecutive integers, else an array of int64, ``str_`` or objects.

    Raises
    ------
    ValueError
        Not `n` labels, or one of them twice.
    TypeError
        Booleans, floats and other arrays that name nothing; a set.
    """
    if labels is None:
        return None
    refuse_mask(labels, "labels")
    plain = isinstance(labels, range) and are_plain(labels)
    array = labels if plain else _as_array(labels)
    if not plain and array.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, not of shape {array.shape}")
    if len(array) != n:
        raise ValueError(f"{len(array)} labels for {n} vertices")
    if plain:
        return array
    if array.dtype.kind == "i":
        span = range(int(array[0]), int(array[-1]) + 1) if n else range(0)
        if span.stop - span.start == n and are_plain(span) and np.all(np.diff(array) == 1):
            return span
        ordered = np.sort(array)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]].tolist()
    else:
        try:
            counts = Counter(array.tolist())
        except TypeError as error:
            raise TypeError(f"labels must be hashable: {error}") from error
        repeated = [label for label, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(f"the label {quote(repeated[0])} stands for more than one vertex")
    return array


def lookup_of(labels: Labels, n: int) -> Lookup:
    """Return an object that maps labels (in a graph without labels, numbers) to vertices."""
    if labels is None:
        return _IntegerLookup(
            range(n), f"no vertex {{}} in a graph of {n} vertices, counted from 0"
        )
    if isinstance(labels, range):
        shown = f"{labels.start}..{labels.stop - 1}" if labels else "none"
    elif labels.dtype.kind == "i":
        shown = f"{labels.size} integers between {labels.min()} and {labels.max()}"
    else:
        return _HashLookup(labels)
    return _IntegerLookup(labels, f"no vertex has the label {{}}; the labels are {shown}")


def are_labels(values: Array, labels: Labels, n: int) -> bool:
    """Return whether all `values` are among `labels`; False if the graph has no labels."""
    if labels is None:
        return False
    try:
        lookup_of(labels, n).find_all(values)
    except (VertexError, TypeError):
        return False
    return True


def label_hint(graph: Any, value: Any) -> str:
    """Return a hint for messages if `value` is a label, not a vertex; else an empty text.

    To be put behind a message.
    """
    if graph.labels is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        vertex = graph.vertex(value)
    except (VertexError, TypeError):
        return ""
    return (
        f"; {value!r} is the label of vertex {vertex}: pass g.vertex({value!r}), or "
        "g.vertices(labels) for many"
    )


def no_vertex(value: Any, graph: Any, what: str = "") -> VertexError:
    """Return the exception for a number that is no vertex; its message begins with `what`."""
    if graph.n == 0:
        return VertexError(f"{what}{value} is not a vertex: the graph has none")
    none = " (-1 of nearest_vertex says that none is near)" if value == -1 else ""
    return VertexError(
        f"{what}{value} is not a vertex of this graph{none}: vertices are 0..{graph.n - 1}"
        f"{label_hint(graph, value)}"
    )


def are_plain(labels: range) -> bool:
    """Return whether a range of labels has step 1 and lies, with its end, within int64."""
    return labels.step == 1 and _INT64.min <= labels.start and labels.stop <= _INT64.max


def _as_array(labels: Any) -> Array:
    if isinstance(labels, set | frozenset):
        raise TypeError("labels must stand in the order of the vertices, and a set has none")
    if not hasattr(labels, "__array__"):
        if not isinstance(labels, Iterable):
            raise TypeError(f"labels must be a sequence, not {labels!r}")
        return _array_of_values(list(labels))
    array: Array = np.asarray(labels)
    if array.dtype.kind in "OT" and array.ndim == 1:  # (T: NumPy's strings of any length)
        return _array_of_values(array.tolist())
    if array.dtype.kind == "U":
        return array.copy()
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.max(initial=0) <= _INT64.max):
        return array.astype(np.int64)
    raise TypeError(f"labels must be integers, strings or objects, not {array.dtype}")


def _array_of_values(values: list[Any]) -> Array:
    """Return values as an array: int64 if all fit, ``str_`` if all are strings, else objects."""
    kinds = set(map(type, values))
    if bool not in kinds and all(issubclass(kind, Integral) for kind in kinds):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    elif kinds <= {str, np.str_} and not any(value.endswith("\0") for value in values):
        # (NumPy pads strings with NUL, so it cannot tell a trailing one from padding.)
        return np.array(values, dtype=np.str_)
    return np.fromiter(values, object, len(values))


def _as_integer(label: Any) -> int:
    if isinstance(label, bool | np.bool_) or not hasattr(label, "__index__"):
        raise TypeError(f"the vertices go by integers, not by {label!r} ({type(label).__name__})")
    return index(label)


def _as_integers(labels: ArrayLike) -> NDArray[np.int64]:
    refuse_mask(labels, "labels")
    array: Array = np.asarray(labels)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    kind = array.dtype.kind
    if array.ndim == 1 and (kind == "O" or (kind == "f" and isinstance(labels, list | tuple))):
        # NumPy makes objects of large integers, and floats of one beside a uint64
        values = np.asarray(labels, object).tolist()
        if all(map(is_integer, values)):
            for value in values:
                if not _INT64.min <= value <= _INT64.max:
                    raise VertexError(f"no vertex has the label {value}")
            array = np.array(values, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the vertices of this graph go by integers, not by {array.dtype}")
    if array.dtype.kind == "u" and array.max() > _INT64.max:
        raise VertexError(f"no vertex has the label {array.max()}")
    return array.astype(np.int64)


class _IntegerLookup:
    """Lookup from integer labels to vertices: by offset if consecutive, else by binary search."""

    def __init__(self, labels: range | Array, complaint: str) -> None:
        self._labels, self._complaint = labels, complaint
        if not isinstance(labels, range):
            self._vertices = np.argsort(labels)
            self._labels = labels[self._vertices]

    def find(self, label: Any) -> int:
        number = _as_integer(label)
        if isinstance(self._labels, range) and number in self._labels:
            return number - self._labels.start
        if not _INT64.min <= number <= _INT64.max:
            raise VertexError(self._complaint.format(number))
        return int(self.find_all(np.int64(number)))

    def find_all(self, labels: Any) -> NDArray[np.int64]:
        numbers = _as_integers(labels)
        if isinstance(self._labels, range):
            known = (numbers >= self._labels.start) & (numbers < self._labels.stop)
            vertices = numbers - self._labels.start
        else:
            # (n > 0: the labels of an empty graph are a range.)
            place = np.minimum(np.searchsorted(self._labels, numbers), self._labels.size - 1)
            known, vertices = self._labels[place] == numbers, self._vertices[place]
        if not known.all():
            raise VertexError(self._complaint.format(numbers[~known][0]))
        return np.asarray(vertices, np.int64)


class _HashLookup:
    """Lookup from labels to vertices by a dict, for labels that are strings or objects."""

    def __init__(self, labels: Array) -> None:
        self._labels = labels
        self._vertex_of = {label: vertex for vertex, label in enumerate(labels.tolist())}

    def find(self, label: Any) -> int:
        try:
            vertex = self._vertex_of.get(label)
        except TypeError as error:
            raise TypeError(f"{quote(label)} cannot be a label: {error}") from error
        if vertex is None:
            shown = join_briefly(map(quote, self._labels[:_EXAMPLES].tolist()))
            shown += ", ..." if self._labels.size > _EXAMPLES else ""
            raise VertexError(f"no vertex has the label {quote(label)}; the labels are {shown}")
        return vertex

    def find_all(self, labels: Iterable[Any]) -> NDArray[np.int64]:
        if isinstance(labels, str):
            raise TypeError(f"a sequence of labels is needed, not the one string {labels!r}")
        if not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) == 0:
            raise TypeError(f"a sequence of labels is needed, not {labels!r}; g.vertex takes one")
        refuse_mask(labels, "labels")
        return np.array([self.find(label) for label in labels], dtype=np.int64)


Lookup = _IntegerLookup | _HashLookup
