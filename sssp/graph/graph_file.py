"""Conversion of a graph to the metadata and arrays of a ``.sssp`` file, and back.

Files are not trusted: all that is read is checked, in little more than one pass over the arcs.
The bytes of the file, with their checksums, are in `sssp.loaders`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.errors import GraphFormatError, quote
from sssp.graph.check_arrays import MOST_VERTICES, are_in_order, are_within, is_integer
from sssp.graph.csr import rows_are_own, twins_of
from sssp.graph.labels import Labels, are_plain, as_labels
from sssp.graph.turns import unpack_turns
from sssp.graph.weights import closed_count
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, OFFSET, Array
from sssp.loaders._files import Pathname

_KIND = "graph"
_COUNTS = ("input_arcs", "parallel_arcs", "self_loops")
_ARC_ARRAYS = ("indptr", "indices", "weights", "arc_origin")
_ALL_ARRAYS = (*_ARC_ARRAYS, "row_arc")
#: what the names of the columns of the input begin with, and of the texts that codes stand for
_INPUT, _TEXTS = "input:", "texts:"


def pack(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Convert the fields of a graph to the metadata and arrays of a ``.sssp`` file.

    Raises
    ------
    TypeError
        Labels that are neither integers nor strings.
    """
    meta = {name: fields[name] for name in ("directed", *_COUNTS)}
    meta |= {"kind": _KIND, "about": fields["about"]}
    # (files of older releases have no closed_arcs: there the greatest number is a weight)
    meta["closed_arcs"] = closed_count(fields["weights"])
    arrays = {name: fields[name] for name in _ARC_ARRAYS}
    for name, column in fields["input"].items():
        if column.dtype == object:
            codes: dict[str, int] = {}
            column = np.array([codes.setdefault(text, len(codes)) for text in column], INDEX)
            arrays[_TEXTS + name] = np.array(list(codes), str)
        arrays[_INPUT + name] = column
    optional = {name: fields[name] for name in ("row_arc", "coordinates")}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    if fields["turns"] is not None:
        turns_meta, turns_arrays = fields["turns"].pack()
        meta, arrays = meta | turns_meta, arrays | turns_arrays
    labels = fields["labels"]
    if isinstance(labels, range):
        meta["first_label"] = labels.start
    elif labels is not None and labels.dtype.kind in "iU":
        arrays["labels"] = labels
    elif labels is not None:
        limits = np.iinfo(INT64)

        def fits(label: Any) -> bool:
            if isinstance(labels[0], str):
                return type(label) in (str, np.str_) and not label.endswith("\0")
            return is_integer(label) and limits.min <= int(label) <= limits.max

        odd = next(label for label in labels.tolist() if not fits(label))
        raise TypeError(
            "a file holds labels that are all integers (of 64 bits) or all strings, not like "
            f"{odd!r}; relabel the vertices first"
        )
    return meta, arrays


def unpack(path: Pathname, meta: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Check the metadata and arrays of a ``.sssp`` file; return the fields of its graph.

    Raises
    ------
    GraphFormatError
        Not a graph, or not one that `pack` could have been given.
    """
    # (of a hierarchy's file the graph is a part)
    if meta.get("kind") not in (_KIND, "hierarchy"):
        kind = meta.get("kind")
        shown = quote(kind) if isinstance(kind, str) else "something else"
        raise GraphFormatError(f"the file holds no graph, but {shown}", path=path)
    if type(meta.get("directed")) is not bool:
        raise GraphFormatError("directed is missing or not of type bool", path=path)
    for name in _COUNTS:
        if type(meta.get(name)) is not int or not 0 <= meta[name] <= np.iinfo(INT64).max:
            raise GraphFormatError(f"{name} is missing or no count", path=path)
    for name in _ARC_ARRAYS:
        if name not in arrays:
            raise GraphFormatError(f"the array {name} is missing", path=path)
    fields = {name: meta[name] for name in ("directed", *_COUNTS)}
    fields |= {name: arrays.get(name) for name in _ALL_ARRAYS}
    weights = arrays["weights"]
    if "closed_arcs" not in meta and weights.dtype == INT32 and np.iinfo(INT32).max in weights:
        # in a file of an older release the greatest number is a weight
        fields["weights"] = weights.astype(INT64)
    if fault := _fault(fields):
        raise GraphFormatError(f"the arrays do not make a graph: {fault}", path=path)
    if meta.get("closed_arcs") not in (None, closed_count(fields["weights"])):
        raise GraphFormatError("closed_arcs is not the number of closed arcs", path=path)
    n = fields["indptr"].size - 1
    fields["coordinates"] = arrays.get("coordinates")
    if fields["coordinates"] is not None and not (
        _is(fields["coordinates"], (n, 2), FLOAT64) and np.isfinite(fields["coordinates"]).all()
    ):
        raise GraphFormatError(f"the coordinates are not those of {n} vertices", path=path)
    fields["labels"] = _unpack_labels(path, n, meta, arrays)
    fields["input"] = _unpack_input(path, arrays)
    fields["about"] = meta.get("about", {})
    if type(fields["about"]) is not dict:
        raise GraphFormatError("about is not a dictionary", path=path)
    fields["turns"] = unpack_turns(path, meta, arrays, fields["indptr"], fields["indices"])
    return fields


def _unpack_input(path: Pathname, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the columns of the original input that the file stores, by name."""
    columns = {}
    for key in filter(lambda key: key.startswith(_INPUT), arrays):
        name, column = key.removeprefix(_INPUT), arrays[key]
        texts = arrays.get(_TEXTS + name)
        if texts is not None:
            if not (_is(column, (column.size,), INDEX) and are_within(column, 0, texts.size)):
                raise GraphFormatError(f"the column {quote(name)} has bad text numbers", path=path)
            column = texts.astype(object)[column]
        columns[name] = column
    return columns


def _fault(fields: dict[str, Any]) -> str | None:
    """Return a message about the first invalid array or value of a graph, None if all is valid."""
    indptr, indices, weights, arc_origin, row_arc = (fields[name] for name in _ALL_ARRAYS)
    rows, directed = fields["input_arcs"], fields["directed"]
    n, m = indptr.size - 1, indices.size
    right = {
        "indptr": 0 <= n <= MOST_VERTICES and _is(indptr, (n + 1,), OFFSET),
        "indices": _is(indices, (m,), INDEX),
        "weights": _is(weights, (m,), INT32, INT64, FLOAT64),
        "arc_origin": _is(arc_origin, (m,), INT32, INT64),
        "row_arc": row_arc is None or _is(row_arc, (rows,), INT32, INT64),
    }
    wrong = [name for name, is_right in right.items() if not is_right]
    if wrong:
        return f"{wrong[0]} has another shape or dtype"
    if not are_within(indices, 0, n):
        return "a head is not a vertex"
    if not are_in_order(indptr, indices):
        return "indptr does not lead through arcs in order of head, none of them parallel"
    # (floats are as `as_stored` leaves them; the bits of minus zero are the least integer)
    if weights.dtype == FLOAT64 and not (
        np.all(weights > -np.inf) and np.all(weights.view(INT64) > np.iinfo(INT64).min)
    ):
        return "a weight is NaN, minus infinity or minus zero"
    if not are_within(arc_origin, 0, rows):
        return "arc_origin names a row that there is not"
    if row_arc is not None and not are_within(row_arc, -1, m):
        return "row_arc names an arc that there is not"
    own = row_arc is None or rows_are_own(row_arc, arc_origin)
    if directed and own:
        return None
    twins = twins_of(indptr, indices)
    if row_arc is not None and not own:
        arcs = row_arc[arc_origin]
        if not ((arcs == np.arange(arcs.size)) | (arcs == twins)).all():
            return "row_arc does not lead back to the arcs"
    if not directed and not (
        np.all(twins >= 0)
        and np.array_equal(weights[twins], weights)
        and np.array_equal(arc_origin[twins], arc_origin)
    ):
        return "the arcs of an undirected graph are not the same both ways"
    return None


def _is(array: Array, shape: tuple[int, ...], *dtypes: np.dtype[Any]) -> bool:
    return array.shape == shape and array.dtype in dtypes


def _unpack_labels(path: Pathname, n: int, meta: dict[str, Any], arrays: dict[str, Any]) -> Labels:
    first, labels = meta.get("first_label"), arrays.get("labels")
    if first is None and labels is None:
        return None
    if labels is None and type(first) is int and are_plain(range(first, first + n)):
        return range(first, first + n)
    if first is None and labels is not None and (labels.dtype == INT64 or labels.dtype.kind == "U"):
        try:
            return as_labels(labels, n)
        except ValueError as error:
            raise GraphFormatError(f"the labels are not valid: {error}", path=path) from None
    raise GraphFormatError(f"the labels are not those of {n} vertices", path=path)
