"""Results as tables: distances as a pandas DataFrame, arcs of a tree as a GeoDataFrame."""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.errors import import_extra
from sssp.graph.check_arrays import is_sparse
from sssp.graph.frames import label_column
from sssp.graph.graph import Graph
from sssp.graph.sphere import locate_vertices
from sssp.kernels.dtypes import Array, unreached


def long_table(
    graph: Graph, sources: Array, targets: Array, distances: Any, origin: Array | None
) -> Any:
    """Return a DataFrame with a row per entry of the distances: source, target, distance.

    Parameters
    ----------
    sources : ndarray, shape (k,)
        Vertices.
    targets : ndarray, shape (t,)
        The vertices of the columns.
    distances : ndarray or csr_array, shape (k, t)
    origin : ndarray, shape (t,), or None
        The source of every column, -1 for none, where one row is that of all sources.
    """
    if is_sparse(distances):
        rows = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
        columns, found = distances.indices, distances.data.copy()
    else:
        rows = np.repeat(np.arange(sources.size if origin is None else 1), targets.size)
        columns, found = np.tile(np.arange(targets.size), len(distances)), distances.flatten()
    if origin is None:
        starts = label_column(graph.labels, sources).take(rows)
    else:
        starts = label_column(graph.labels, origin, origin < 0).take(columns)
    ends = label_column(graph.labels, targets).take(columns)
    return distance_table({"source": starts, "target": ends}, found)


def distance_table(columns: dict[str, Any], distances: Array) -> Any:
    """Return a DataFrame of `columns`, `distance` and `reached`; may overwrite `distances`.

    Distances are missing where nothing is reached.
    """
    pandas = import_extra("pandas", "geo")
    reached = distances != unreached(distances.dtype)
    if distances.dtype.kind == "i":
        found = pandas.arrays.IntegerArray(distances, ~reached)
    else:
        found = distances
        found[~reached] = np.nan
    return pandas.DataFrame({**columns, "distance": found, "reached": reached}, copy=False)


def facility_table(graph: Graph, facilities: Array, distances: Array, index: Array) -> Any:
    """Return a DataFrame with k rows per vertex: its k nearest facilities and their distances."""
    n, k = index.shape
    places = index.ravel()
    columns = {
        "vertex": label_column(graph.labels, np.arange(n)).take(np.repeat(np.arange(n), k)),
        "rank": np.tile(np.arange(k), n),
        "facility": label_column(graph.labels, facilities[places], places < 0),
    }
    return distance_table(columns, distances.flatten())


def wide_table(graph: Graph, sources: Array, targets: Array, distances: Any) -> Any:
    """Return a DataFrame of distances: a row per source, a column per target, NaN: unreached."""
    pandas = import_extra("pandas", "geo")
    missing = unreached(distances.dtype)
    if is_sparse(distances):
        values = np.full(distances.shape, missing, distances.dtype)
        rows = np.repeat(np.arange(values.shape[0]), np.diff(distances.indptr))
        values[rows, distances.indices] = distances.data
    else:
        values = distances.copy()
    lost = values == missing
    if lost.any():
        values = values.astype(np.promote_types(values.dtype, np.float32), copy=False)
        values[lost] = np.nan
    index, columns = (
        pandas.Index(label_column(graph.labels, vertices), name=name, tupleize_cols=False)
        for name, vertices in (("source", sources), ("target", targets))
    )
    return pandas.DataFrame(values, index, columns, copy=False)


def walk_lines(graph: Graph, firsts: Array, vertices: Array) -> Array:
    """Return paths as an array of `shapely.LineString`, None for empty paths.

    Parameters
    ----------
    firsts : ndarray, shape (t + 1,), int64
        Path i is ``vertices[firsts[i]:firsts[i + 1]]``.
    """
    shapely = import_extra("shapely", "geo")
    coordinates, _ = locate_vertices(graph, ", so it has no lines")
    sizes = np.diff(firsts)
    # (a line has two points, even where there is one vertex)
    copies = np.repeat(np.where(sizes == 1, 2, 1), sizes)
    path = np.repeat(np.repeat(np.cumsum(sizes > 0) - 1, sizes), copies)
    lines = np.full(sizes.size, None, object)
    lines[sizes > 0] = shapely.linestrings(coordinates[np.repeat(vertices, copies)], indices=path)
    return lines
