"""A graph as the metadata and arrays of a ``.sssp`` file, and back.

Reading does next to nothing: it checks what code that trusts a graph could crash on. That the
bytes are those that were written is the business of `sssp.loaders`.
"""

from __future__ import annotations

from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError
from sssp.graph.labels import Labels
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, OFFSET

__all__ = ["packed", "unpacked"]

Array = NDArray[Any]

_KIND = "graph"
_SCALARS = {"directed": bool, "input_arcs": int, "parallel_arcs": int, "self_loops": int}
_ARC_ARRAYS = ("indptr", "indices", "weights", "arc_origin")


def packed(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Turn the fields of a graph into metadata and arrays.

    Raises
    ------
    TypeError
        Labels that are neither integers nor strings.
    """
    meta = {"kind": _KIND, **{name: fields[name] for name in _SCALARS}}
    arrays = {name: fields[name] for name in _ARC_ARRAYS}
    if fields["coordinates"] is not None:
        arrays["coordinates"] = fields["coordinates"]
    labels = fields["labels"]
    if isinstance(labels, range):
        meta["first_label"] = labels.start
    elif labels is not None and labels.dtype.kind in "iU":
        arrays["labels"] = labels
    elif labels is not None:
        raise TypeError(
            "a file holds labels that are all integers (of 64 bits) or all strings, not like "
            f"{_first_odd(labels.tolist())!r}; relabel the vertices first"
        )
    return meta, arrays


def unpacked(
    path: str | PathLike[str], meta: dict[str, Any], arrays: dict[str, Array]
) -> dict[str, Any]:
    """Turn what `packed` made back into the fields of a graph; `path` is for messages.

    Raises
    ------
    GraphFormatError
        Not a graph, or not one that could be used without risk.
    """
    if meta.get("kind") != _KIND:
        raise GraphFormatError(f"the file holds no graph, but {meta.get('kind')!r}", path=path)
    for name, kind in _SCALARS.items():
        if type(meta.get(name)) is not kind:
            raise GraphFormatError(f"{name} is missing or not of type {kind.__name__}", path=path)
    for name in _ARC_ARRAYS:
        if name not in arrays:
            raise GraphFormatError(f"the array {name} is missing", path=path)
    fields = {name: meta[name] for name in _SCALARS} | {name: arrays[name] for name in _ARC_ARRAYS}
    if not _is_consistent(**fields):
        raise GraphFormatError("the arrays do not make a graph", path=path)
    n = fields["indptr"].size - 1
    fields["coordinates"] = arrays.get("coordinates")
    if fields["coordinates"] is not None and not _is(fields["coordinates"], (n, 2), FLOAT64):
        raise GraphFormatError(f"the coordinates are not those of {n} vertices", path=path)
    fields["labels"] = _unpacked_labels(path, n, meta, arrays)
    return fields


def _is_consistent(
    indptr: Array, indices: Array, weights: Array, arc_origin: Array, input_arcs: int, **_: Any
) -> bool:
    n, m = indptr.size - 1, indices.size
    return (
        n >= 0
        and _is(indptr, (n + 1,), OFFSET)
        and _is(indices, (m,), INDEX)
        and _is(weights, (m,), INT32, INT64, FLOAT64)
        and _is(arc_origin, (m,), INT32, INT64)
        and indptr[0] == 0
        and indptr[-1] == m
        and bool(np.all(indptr[:-1] <= indptr[1:]))
        and _all_below(n, indices)
        and _all_below(input_arcs, arc_origin)
    )


def _is(array: Array, shape: tuple[int, ...], *dtypes: np.dtype[Any]) -> bool:
    return array.shape == shape and array.dtype in dtypes


def _all_below(bound: int, array: Array) -> bool:
    return array.size == 0 or bool(array.min() >= 0 and array.max() < bound)


def _first_odd(labels: list[Any]) -> Any:
    """Return the first label that keeps them from being all int64 or all strings."""
    fits = _fits_string if isinstance(labels[0], str) else _fits_int64
    return next(label for label in labels if not fits(label))


def _fits_string(label: Any) -> bool:
    return type(label) in (str, np.str_) and not label.endswith("\0")


def _fits_int64(label: Any) -> bool:
    limits = np.iinfo(INT64)
    is_integer = isinstance(label, Integral) and not isinstance(label, bool)
    return is_integer and limits.min <= int(label) <= limits.max


def _unpacked_labels(
    path: str | PathLike[str], n: int, meta: dict[str, Any], arrays: dict[str, Array]
) -> Labels:
    first, labels = meta.get("first_label"), arrays.get("labels")
    if type(first) is int:
        return range(first, first + n)
    if first is None and labels is None:
        return None
    if labels is not None and labels.shape == (n,) and labels.dtype.kind in "iU":
        return labels
    raise GraphFormatError(f"the labels are not those of {n} vertices", path=path)
