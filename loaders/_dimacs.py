"""Read and write DIMACS ``.gr``, ``.co``, ``.ss``, ``.p2p`` files (parsed in `_dimacs_records`).

Sources: http://www.diag.uniroma1.it/challenge9/format.shtml
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from os import fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import VertexError
from sssp.kernels.dtypes import INDEX, INT32, INT64
from sssp.loaders._columns import plain_array
from sssp.loaders._dimacs_records import CHUNK_BYTES, RecordFormat, RecordReader, refuse_record
from sssp.loaders._files import Pathname, compressed, decompressed

ARC, VERTEX, QUERY = ("tail", "head", "weight"), ("vertex", "x", "y"), ("source", "target")
#: kind, problem line, counts, letter and name of a record, its fields, how many are vertices
GR = RecordFormat("a graph file (.gr)", ("sp",), ("n", "m"), "a", "an arc", ARC, 2)
CO = RecordFormat(
    "a coordinates file (.co)", ("aux", "sp", "co"), ("n",), "v", "a vertex", VERTEX, 1
)
SS = RecordFormat(
    "a file of sources (.ss)", ("aux", "sp", "ss"), ("k",), "s", "a source", ("source",), 1
)
P2P = RecordFormat(
    "a file of queries (.p2p)", ("aux", "sp", "p2p"), ("k",), "q", "a query", QUERY, 2
)

#: a ``.co`` file holds millionths of a degree
_CO_UNITS_PER_DEGREE = 1e6

# An announced number of records is believed up to here; beyond, they must come to be believed.
_FIRST_RECORDS = 1 << 20

_WRITTEN_ARCS = 1 << 16


@dataclass(frozen=True, eq=False)
class ArcList:
    """The arcs of a graph file, in the order of the file.

    Attributes
    ----------
    n : int
        Number of vertices.
    tails, heads : ndarray of int32, shape (m,)
        Ends of each arc, 0-based: vertex 1 of the file is 0.
    weights : ndarray of int32 or int64, shape (m,)
        int32 if all fit.
    """

    n: int
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    weights: NDArray[np.int32] | NDArray[np.int64]


def read_gr(path: Pathname) -> ArcList:
    """Read a DIMACS graph file.

    Parameters
    ----------
    path : str or path-like
        A ``.gr`` file, plain or compressed with gzip, xz or bzip2 (told by its first bytes).

    Returns
    -------
    ArcList
        All arcs as they are, parallel ones and self-loops included.

    Raises
    ------
    GraphFormatError
        The file is not a well-formed graph file; names the line.
    FileNotFoundError
        There is no such file.

    Notes
    -----
    Reads once and in chunks, so that the peak of memory is the arrays returned and little more
    (once more the weights, if the first that needs int64 comes late).
    """
    with decompressed(path) as stream:
        return arcs_in(stream, path)


def arcs_in(stream: Any, path: Pathname, chunk_bytes: int = CHUNK_BYTES) -> ArcList:
    """Read a DIMACS graph file from an open stream; `path` is for messages."""
    reader = RecordReader(stream, path, GR, chunk_bytes)
    tails, heads, weights = _columns(reader)
    return ArcList(reader.counts[0], tails, heads, weights)


def read_weights(
    path: Pathname, arcs: ArcList, other: Pathname
) -> NDArray[np.int32] | NDArray[np.int64]:
    """Read the weights of a DIMACS graph file that holds the same arcs as another.

    Parameters
    ----------
    path : str or path-like
        A ``.gr`` file, plain or compressed.
    arcs : ArcList
        The arcs that it must hold, in this order.
    other : str or path-like
        The file that they come from, for messages.

    Returns
    -------
    ndarray of int32 or int64, shape (m,)
        A weight for each of the arcs, int32 if all fit.

    Raises
    ------
    GraphFormatError
        The file is not a well-formed graph file, or holds other arcs; names the line.
    FileNotFoundError
        There is no such file.
    """
    with decompressed(path) as stream:
        reader = RecordReader(stream, path, GR)
        tails, heads, weights = _columns(reader)
    n, m = reader.counts
    if (n, m) != (arcs.n, arcs.tails.size):
        reader.refuse_problem(
            f"{n} vertices and {m} arcs, but {fspath(other)} has {arcs.n} and {arcs.tails.size}: "
            "both must hold the same arcs in the same order"
        )
    different = (tails != arcs.tails) | (heads != arcs.heads)
    if different.any():
        row = int(np.argmax(different))
        reason = (
            f"row {row} is the arc {tails[row] + 1} -> {heads[row] + 1}, but in {fspath(other)} it "
            f"is {arcs.tails[row] + 1} -> {arcs.heads[row] + 1}: both must hold the same arcs in "
            "the same order"
        )
        refuse_record(reason, path, GR, row)
    return weights


def read_co(path: Pathname, n: int | None = None) -> NDArray[np.float64]:
    """Read a DIMACS coordinates file.

    Parameters
    ----------
    path : str or path-like
        A ``.co`` file, plain or compressed.
    n : int, optional
        Number of vertices of the graph that the coordinates belong to, to be checked.

    Returns
    -------
    coordinates : ndarray of float64, shape (n, 2)
        Degrees, longitude first: the integers of the file divided by a million.

    Raises
    ------
    GraphFormatError
        The file is not well-formed, or not every vertex occurs exactly once; names the line.
    FileNotFoundError
        There is no such file.
    """
    with decompressed(path) as stream:
        reader = RecordReader(stream, path, CO)
        vertices, x, y = _columns(reader)
    (announced,) = reader.counts
    if n is not None and n != announced:
        reader.refuse_problem(f"coordinates of {announced} vertices for a graph of {n}")
    # As many records as vertices: one is missing if and only if another is there twice.
    seen = np.zeros(announced, np.bool_)
    seen[vertices] = True
    if not seen.all():
        order = np.argsort(vertices, kind="stable")
        again = int(order[1:][vertices[order[1:]] == vertices[order[:-1]]].min())
        reason = f"vertex {vertices[again] + 1} for the second time (and another not at all)"
        refuse_record(reason, path, CO, again)
    coordinates = np.empty((announced, 2))
    coordinates[vertices, 0] = x / _CO_UNITS_PER_DEGREE
    coordinates[vertices, 1] = y / _CO_UNITS_PER_DEGREE
    return coordinates


def read_ss(path: Pathname) -> NDArray[np.int64]:
    """Read the sources of a single-source problem file.

    Parameters
    ----------
    path : str or path-like
        A ``.ss`` file, plain or compressed.

    Returns
    -------
    sources : ndarray of int64, shape (k,)
        0-based, in the order of the file. Such a file does not say how many vertices its graph
        has, so that only numbers below 1 are refused.

    Raises
    ------
    GraphFormatError
        The file is not well-formed; names the line.
    FileNotFoundError
        There is no such file.
    """
    with decompressed(path) as stream:
        (sources,) = _columns(RecordReader(stream, path, SS))
    return sources.astype(INT64)


def read_p2p(path: Pathname) -> NDArray[np.int64]:
    """Read the queries of a point-to-point problem file.

    Parameters
    ----------
    path : str or path-like
        A ``.p2p`` file, plain or compressed.

    Returns
    -------
    queries : ndarray of int64, shape (q, 2)
        Source and target of each query, 0-based, in the order of the file. Only numbers below
        1 are refused, as in `read_ss`.

    Raises
    ------
    GraphFormatError
        The file is not well-formed; names the line.
    FileNotFoundError
        There is no such file.
    """
    with decompressed(path) as stream:
        columns = _columns(RecordReader(stream, path, P2P))
    return np.stack(columns, axis=1).astype(INT64)


def write_gr(
    path: Pathname,
    n: int,
    tails: ArrayLike,
    heads: ArrayLike,
    weights: ArrayLike,
    *,
    comments: Iterable[str] = (),
) -> None:
    """Write a DIMACS graph file.

    The file appears under its name when it is complete, never in part, with the mode and owner
    of the one that it replaces; a pipe or a device is written to as it is.

    Parameters
    ----------
    path : str or path-like
        Where to; ``.gz``, ``.xz`` or ``.bz2`` at the end compresses.
    n : int
        Number of vertices.
    tails, heads : array_like of int, shape (m,)
        Ends of the arcs, 0-based.
    weights : array_like of int, shape (m,)
        Their weights: the format holds integers only.
    comments : iterable of str, optional
        Comment lines for the head of the file.

    Raises
    ------
    VertexError
        A tail or head is not in ``0..n-1``.
    TypeError
        An array holds something else than integers, or is masked.
    ValueError
        The arrays differ in length, or `n` or a weight is out of range.
    """
    n = index(n)
    given = {"tails": tails, "heads": heads, "weights": weights}
    columns = [plain_array(values, name) for name, values in given.items()]
    if not 0 <= n <= np.iinfo(INDEX).max:
        raise ValueError(f"n is {n}; it must be 0 to {np.iinfo(INDEX).max}")
    for name, values in zip(given, columns, strict=True):
        if values.ndim != 1 or values.size != columns[0].size:
            raise ValueError(
                f"{name} has shape {values.shape}, tails {columns[0].shape}: "
                "one-dimensional arrays of one length are needed"
            )
        if values.dtype.kind not in "iu" and values.size:
            raise TypeError(
                f"{name} holds {values.dtype}, but a .gr file holds integers: scale and round first"
            )
    if columns[2].size and columns[2].max() > np.iinfo(INT64).max:
        raise ValueError(f"weight {columns[2].max()} does not fit int64")
    for name, values in zip(("tails", "heads"), columns[:2], strict=True):
        wrong = np.flatnonzero((values < 0) | (values >= n))
        if wrong.size:
            raise VertexError(
                f"{name}[{wrong[0]}] is {values[wrong[0]]}; vertices are 0 to {n - 1}"
            )
    with compressed(path) as stream:
        _write_comments(stream, comments)
        stream.write(b"p sp %d %d\n" % (n, columns[0].size))
        for begin in range(0, columns[0].size, _WRITTEN_ARCS):
            tail, head, weight = (column[begin : begin + _WRITTEN_ARCS] for column in columns)
            ends = ((end.astype(INT64) + 1).tolist() for end in (tail, head))
            arcs = zip(*ends, weight.tolist(), strict=True)
            stream.write(b"".join(map(b"a %d %d %d\n".__mod__, arcs)))


def write_co(path: Pathname, coordinates: ArrayLike, *, comments: Iterable[str] = ()) -> None:
    """Write a DIMACS coordinates file, as `write_gr` writes graphs.

    Parameters
    ----------
    path : str or path-like
        Where to; ``.gz``, ``.xz`` or ``.bz2`` at the end compresses.
    coordinates : array_like of float, shape (n, 2)
        Degrees, longitude first; the file holds them rounded to a millionth (11 cm).
    comments : iterable of str, optional
        Comment lines for the head of the file.

    Raises
    ------
    ValueError
        Another shape, or numbers that are not finite, or that no file of integers holds.
    """
    places = np.asarray(plain_array(coordinates, "coordinates"), np.float64)
    if places.ndim != 2 or places.shape[1] != 2:
        raise ValueError(f"coordinates have shape {places.shape}: (n, 2) is needed")
    units = np.rint(places * _CO_UNITS_PER_DEGREE)
    if not (np.abs(units) < float(1 << 63)).all():
        raise ValueError("coordinates must be finite numbers of degrees")
    x, y = units.astype(INT64).T
    with compressed(path) as stream:
        _write_comments(stream, comments)
        stream.write(b"p aux sp co %d\n" % len(places))
        for begin in range(0, len(places), _WRITTEN_ARCS):
            part = slice(begin, begin + _WRITTEN_ARCS)
            vertices = range(begin + 1, len(places) + 1)
            lines = zip(vertices, x[part].tolist(), y[part].tolist(), strict=False)
            stream.write(b"".join(map(b"v %d %d %d\n".__mod__, lines)))


def _write_comments(stream: Any, comments: Iterable[str]) -> None:
    for comment in comments:
        for line in comment.splitlines() or [""]:
            stream.write(f"c {line}".rstrip().encode() + b"\n")


def _columns(reader: RecordReader) -> list[NDArray[Any]]:
    """Read all records: an array per field, int32 if its values fit, else int64."""
    columns: list[NDArray[Any]] = [np.empty(0, INT32) for _ in reader.form.fields]
    done, limits = 0, np.iinfo(INT32)
    for block in reader.blocks():
        end = done + block.shape[1]
        for field, values in enumerate(block):
            column = columns[field]
            if column.size < end:
                # Twice the length at most, so that a false promise of records costs next to
                # nothing; no more than announced, so that nothing is left over in the end.
                length = min(reader.counts[-1], max(2 * column.size, _FIRST_RECORDS, end))
                # Reallocation moves pages instead of bytes where the system can.
                column.resize(length, refcheck=False)
            narrow = column.dtype == INT32
            if narrow and (values.min() < limits.min or values.max() > limits.max):
                columns[field] = column.astype(INT64)
            columns[field][done:end] = values
        done = end
    return columns
