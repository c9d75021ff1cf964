"""Conversion from data frames (edges, nodes) to arrays (arcs, vertices), and back.

Own ids become vertices on the way in and labels on the way out. pandas is imported only where a
frame of its is there, or asked for.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from sssp.errors import GraphFormatError, import_extra
from sssp.graph.check_arrays import integer_column
from sssp.graph.labels import no_vertex
from sssp.graph.sphere import locate_vertices
from sssp.kernels.dtypes import FLOAT64, INT64, Array

DEGREES = ("lon", "lat")
#: names of the columns that may hold longitude and latitude; the first pair that is there counts
COORDINATE_COLUMNS = (DEGREES, ("longitude", "latitude"), ("x", "y"))
#: names that do not say what they are measured in
ANY_UNIT = COORDINATE_COLUMNS[-1]
#: the greatest longitude and latitude, in degrees
MOST_DEGREES = (180, 90)
#: the reference system of longitude and latitude in degrees
WGS84 = "EPSG:4326"
_EXAMPLES = 3


def as_frame(value: Any, name: str, instead: str) -> Any:
    """Return `value` after checking that it is a pandas DataFrame.

    Raises
    ------
    TypeError
        It is none; the message says how to make one, else what to call `instead`.
    """
    # whoever has a frame has imported it, not only begun to
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    if frame is not None and isinstance(value, frame):
        return value
    remedy = instead
    for method in ("to_frame", "to_pandas"):
        if callable(getattr(value, method, None)):
            remedy = f"{name}.{method}() makes one"
    if hasattr(value, "adjacency"):
        remedy = "sssp.Graph.from_networkx(G, weight) takes a graph of NetworkX or OSMnx"
    raise TypeError(f"{name} must be a pandas DataFrame, not {type(value).__name__}; {remedy}")


def arcs_of(
    edges: Any, tail: Hashable, head: Hashable, weight: Hashable, nodes: Any | None
) -> tuple[Array, Array, Array, Array]:
    """Return tails, heads and weights of a frame's edges, and the id of every vertex.

    Vertices are numbered in order of the index of `nodes`, without `nodes` in order of first
    appearance, row by row, the tail before the head.

    Returns
    -------
    tails, heads : ndarray of int64, shape (k,)
        Vertices.
    weights : ndarray of int or float, shape (k,)
        No NaN, no minus infinity.
    ids : ndarray of int64 or objects, shape (n,)
        Id of each vertex.

    Raises
    ------
    TypeError
        `tail`, `head` or `weight` is not a name.
    GraphFormatError
        The frames do not hold what is needed; the message names the rows.
    """
    import pandas
    from pandas.api.types import is_hashable

    for name, what in ((tail, "tail"), (head, "head"), (weight, "weight")):
        if not is_hashable(name):
            raise TypeError(
                f"{what} is the name of a column of edges, not a {type(name).__name__}: "
                "edges.assign(name=values) adds a column, and nodes go in as nodes="
            )
    tail_ids = _ids(_column(edges, tail), f"edges, {tail!r}")
    head_ids = _ids(_column(edges, head), f"edges, {head!r}")
    weights = _weights(_column(edges, weight), f"edges, {weight!r}")
    node_ids = np.empty(0, INT64)
    if nodes is not None:
        node_ids = _ids(nodes.index.to_flat_index(), "nodes, the index")
    # as one column, nodes first, its ids are numbered by first appearance in one go
    known = node_ids.size
    are_numbers = all(c.dtype == INT64 for c in (node_ids, tail_ids, head_ids) if c.size)
    ids = np.empty(known + 2 * len(edges), INT64 if are_numbers else object)
    ids[:known], ids[known::2], ids[known + 1 :: 2] = node_ids, tail_ids, head_ids
    try:
        if are_numbers:
            numbers, distinct = pandas.factorize(ids)
        else:
            # alike is what the lookup of labels finds alike; to pandas 2 all texts end at a NUL
            number_of: defaultdict[Any, int] = defaultdict(count().__next__)
            numbers = np.fromiter(map(number_of.__getitem__, ids.tolist()), INT64, ids.size)
            distinct = np.fromiter(number_of, object, len(number_of))
    except TypeError:  # some cannot be hashed
        texts = (f"edges, {tail!r}:", f"edges, {head!r}:", "nodes, the index:")
        complaint = "have an id that cannot be hashed, as no list can; .map(tuple) makes tuples"
        for column, where in zip((tail_ids, head_ids, node_ids), texts, strict=True):
            odd = [not is_hashable(name) for name in column.tolist()]
            _refuse(odd, partial(_show_id, column), where, complaint)
        raise
    # an id that stands for a second time is not numbered by its row
    twins = np.zeros(known, bool)
    twins[1:] = numbers[1:known] <= np.maximum.accumulate(numbers[: known - 1]) if known else False
    complaint = "have an id that an earlier row has: nodes[~nodes.index.duplicated()] drops them"
    _refuse(twins, partial(_show_id, node_ids), "nodes:", complaint)
    tails, heads = numbers[known::2], numbers[known + 1 :: 2]
    if nodes is not None:
        ends = np.where(tails >= known, tail_ids, head_ids)
        complaint = "have an end that is not in the index of nodes, where nodes.set_index puts ids"
        _refuse((tails >= known) | (heads >= known), partial(_show_id, ends), "edges:", complaint)
    return tails, heads, weights, distinct


def node_coordinates(nodes: Any) -> Array | None:
    """Return longitude and latitude of the rows of `nodes`, shape (n, 2), or None if absent.

    Taken are columns ``lon`` and ``lat``, else ``longitude`` and ``latitude``, else ``x`` and
    ``y``, in any case, else the points of a GeoDataFrame.

    Raises
    ------
    GraphFormatError
        They are projected, missing or no numbers.
    """
    # (the array of a column of geometries has the x and y of all, and their reference system)
    geometry = getattr(getattr(nodes, "geometry", None), "array", None)
    points = geometry if hasattr(type(geometry), "x") else None
    known = {name.strip().lower(): name for name in nodes.columns if isinstance(name, str)}
    names = next((pair for pair in COORDINATE_COLUMNS if set(pair) <= set(known)), None)
    if names is not None:
        columns = [_numbers(_column(nodes, known[name]), name) for name in names]
    elif points is not None:
        try:
            columns = [np.asarray(points.x, FLOAT64), np.asarray(points.y, FLOAT64)]
        except ValueError as error:  # other shapes than points
            raise GraphFormatError(f"the geometry of nodes gives no coordinates: {error}") from None
    else:
        for name, other in (DEGREES, DEGREES[::-1]):
            if name in known:
                raise GraphFormatError(
                    f"nodes has a column {known[name]!r}, but no column {other!r}: both are needed"
                )
        return None
    pairs = np.stack(columns, axis=1)
    system = getattr(points, "crs", None) if names in (None, ANY_UNIT) else None
    projected = system is not None and bool(system.is_projected)

    def show(row: int) -> str:
        return f"{_show_id(nodes.index, row)} at {tuple(pairs[row].tolist())}"

    _refuse(~np.isfinite(pairs).all(axis=1), show, "nodes:", "lack a coordinate")
    beyond = (np.abs(pairs) > MOST_DEGREES).any(axis=1)
    if system is not None and projected and names is not None and not beyond.any():
        raise GraphFormatError(
            f"nodes: the points are projected ({system.name}), so x and y may not be degrees: "
            "call the columns lon and lat if they are degrees, else drop them and give "
            "nodes.to_crs(4326)"
        )
    _refuse(
        beyond | projected,
        show,
        "nodes:",
        "have coordinates that are no degrees, but projected: give degrees as columns lon and "
        "lat, or as points without x and y, as of nodes.to_crs(4326), or leave all of them out",
    )
    return pairs


def points_in(places: Any) -> tuple[Array, Array]:
    """Return longitude and latitude, in degrees, of a GeoSeries of points in any CRS.

    Raises
    ------
    TypeError
        No GeoSeries, and no GeoDataFrame.
    ValueError
        They have no reference system; another shape than a point.
    """
    points: Any = getattr(places, "geometry", None)
    if not hasattr(points, "to_crs"):
        raise TypeError(f"points are lon and lat, or a GeoSeries, not {type(places).__name__}")
    if points.crs is None:
        raise ValueError("the points have no reference system: .set_crs(4326) if they are degrees")
    degrees = points.to_crs(WGS84).array
    try:
        return np.asarray(degrees.x, FLOAT64), np.asarray(degrees.y, FLOAT64)
    except ValueError as error:
        raise ValueError(f"{error}; .representative_point() makes points of other shapes") from None


def by_vertex(values: Any, graph: Any) -> Any:
    """Return the values of a Series or DataFrame indexed by vertex ids, in order of vertex.

    Ids that are not there have 0. Its default index, and whatever is no Series, is left as it is.

    Raises
    ------
    VertexError, TypeError
        An id that is no vertex.
    ValueError
        An id that is there twice.
    """
    if _has_own_index(values, graph.n):
        return _spread(values, graph.vertices(values.index.to_numpy()), graph.n, 0)
    return values


def by_arc(values: Any, graph: Any) -> Any:
    """Return a Series with a (tail, head) index as an array with one value per arc of the graph.

    In an undirected graph a pair of ids stands for both ways. Arcs that are not there have NaN.

    Raises
    ------
    VertexError, TypeError, ValueError
        As `by_vertex`; no arc leads from an id to another.
    """
    if not _has_own_index(values, graph.m) or values.index.nlevels != 2:
        return values
    ends = [graph.vertices(values.index.get_level_values(level).to_numpy()) for level in (0, 1)]
    found = _spread(values, graph.arcs(*ends), graph.m, np.nan)
    if not graph.directed:
        back = graph.arcs(*ends[::-1])
        found[back] = np.where(np.isnan(found[back]), values.to_numpy(FLOAT64), found[back])
    return found if np.isnan(found).any() else found.astype(values.dtype)


def _has_own_index(values: Any, size: int) -> bool:
    """Return whether `values` is a Series or DataFrame whose index is not ``range(size)``."""
    pandas: Any = sys.modules.get("pandas")
    # (another thread may have begun to import it)
    kinds = [getattr(pandas, name, None) for name in ("Series", "DataFrame")]
    if not any(kind is not None and isinstance(values, kind) for kind in kinds):
        return False
    return not values.index.equals(pandas.RangeIndex(size))


def _spread(values: Any, places: Array, size: int, missing: Any) -> Array:
    """Return an array that holds the values of a Series at `places`, and `missing` elsewhere."""
    twins = values.index.duplicated()
    if twins.any():
        name = values.index[twins][0]
        raise ValueError(f"{name!r} is in the index twice: .groupby(level=0).sum() makes one of it")
    numbers = values.to_numpy()
    found: Array = np.full((size, *numbers.shape[1:]), missing, np.result_type(numbers, missing))
    found[places] = numbers
    return found


def label_column(labels: Array | None, vertices: Array, missing: Array | None = None) -> Any:
    """Return the labels of vertices (without labels, their numbers) as a column of a frame.

    Parameters
    ----------
    labels : ndarray, shape (n,), or None
        Of a graph.
    vertices : ndarray of int, shape (k,)
        May be -1 where they are missing.
    missing : ndarray of bool, shape (k,), optional
        Where they are; the column can then hold that.
    """
    pandas = import_extra("pandas", "geo")
    names = vertices.astype(INT64) if labels is None else labels[vertices]
    if names.dtype == INT64:
        return names if missing is None else pandas.arrays.IntegerArray(names, missing)
    column = pandas.Series(names).array  # texts in pandas' own dtype; tuples stay as they are
    if missing is not None and missing.any():
        column = column.take(np.where(missing, -1, np.arange(missing.size)), allow_fill=True)
    return column


def vertex_table(graph: Any, values: Any, vertices: Any) -> Any:
    """Return a frame of vertex values and labels; implements `Graph.to_dataframe`."""
    pandas = import_extra("pandas", "geo")
    chosen = np.arange(graph.n)
    if vertices is not None:
        advice = "g.vertices(ids) makes them"
        column = integer_column(np.atleast_1d(vertices), "vertices", advice, "integers")
        chosen = column.astype(INT64)
        outside = chosen[(chosen < 0) | (chosen >= graph.n)]
        if outside.size:
            raise no_vertex(outside[0], graph)
    columns = values if isinstance(values, Mapping) else {"value": values}
    table = {"vertex": label_column(graph.labels, chosen)}
    for name, column in columns.items():
        table[name] = np.asarray(column)
        if table[name].shape != chosen.shape:
            raise ValueError(
                f"{name} has shape {table[name].shape}, and there are {chosen.size} vertices: give "
                "a value for each, and several columns as {'name': values, ...}"
            )
    return pandas.DataFrame(table)


def arc_lines(graph: Any, arcs: Array, tails: Array, heads: Array, **values: Array) -> Any:
    """Return arcs as straight lines in a GeoDataFrame.

    Parameters
    ----------
    graph : Graph
    arcs, tails, heads : ndarray of int, shape (k,)
        Positions and ends.
    **values : ndarray, shape (k,)
        More columns.

    Raises
    ------
    MissingExtraError
        GeoPandas or shapely are not installed.
    ValueError
        No coordinates, or no degrees.
    """
    geopandas, shapely = import_extra("geopandas", "geo"), import_extra("shapely", "geo")
    coordinates, _ = locate_vertices(graph, ", so it has no lines")
    ends = {"tail": tails, "head": heads}
    table = {"arc": arcs} | {name: label_column(graph.labels, ends[name]) for name in ends} | values
    lines = shapely.linestrings(coordinates[np.stack([tails, heads], axis=1)])
    return geopandas.GeoDataFrame(table, geometry=lines, crs=WGS84)


def _column(frame: Any, name: Hashable) -> Any:
    """Return the column of a frame, or else its index level, that has the given name."""
    levels = [level for level in frame.index.names if level is not None]
    if name in frame.columns:
        column = frame[name]
        if column.ndim != 1:
            raise GraphFormatError(f"the frame has more than one column {name!r}; rename them")
        return column
    if levels.count(name) == 1:
        return frame.index.get_level_values(name)
    columns = ", ".join(map(repr, frame.columns)) or "none"
    index = f", and the levels of its index {', '.join(map(repr, levels))}" if levels else ""
    raise GraphFormatError(
        f"the frame has no column {name!r}; its columns are {columns}{index}: name the right one "
        "with tail=, head= or weight="
    )


def _ids(column: Any, where: str) -> Array:
    """Return a column of ids as int64 if all are integers that fit, else as objects."""
    _refuse(column.isna(), None, f"{where}:", "lack an id; drop them")
    if len(column) == 0:
        return np.empty(0, INT64)  # what has no rows has any dtype
    array = np.asarray(column)  # (of categories, what they stand for)
    kind = column.dtype.kind if array.dtype.kind == "O" else array.dtype.kind
    if kind in "iu":
        array = array.astype(np.uint64 if kind == "u" else INT64)
        return array.astype(INT64 if kind == "i" or array.max() <= 2**63 - 1 else object)
    if kind not in "OU":
        raise GraphFormatError(
            f"{where}: ids must be integers, strings or other hashable objects, not "
            f"{column.dtype}; if all are whole numbers, .astype('int64') makes integers of them"
        )
    return array.astype(object)


def _weights(column: Any, where: str) -> Array:
    _refuse(column.isna(), None, f"{where}:", "lack a weight; drop them, or fill in inf to close")
    if len(column) == 0:
        return np.empty(0, INT64)
    kind = column.dtype.kind
    if kind not in "iuf":
        raise GraphFormatError(
            f"{where}: weights must be integers or floats, not {column.dtype}; pandas.to_numeric("
            "column) makes numbers of texts and objects, .astype('int64') of booleans, "
            ".dt.total_seconds() of spans of time"
        )
    # (of columns that are nullable, sparse or of Arrow, NumPy's would be objects)
    plain = isinstance(column.dtype, np.dtype)
    weights = column.to_numpy() if plain else column.to_numpy(dtype=f"{kind}8")
    # (NaN beside NA, as of Arrow)
    unusable = ~(weights > -np.inf)
    _refuse(unusable, None, f"{where}:", "are NaN or minus infinity; a closed arc weighs +inf")
    return np.asarray(weights)


def _numbers(column: Any, name: str) -> Array:
    if len(column) and column.dtype.kind not in "iuf":
        raise GraphFormatError(f"nodes, {name!r}: coordinates must be numbers, not {column.dtype}")
    return np.asarray(column.to_numpy(dtype=FLOAT64, na_value=np.nan))


def _show_id(ids: Any, row: int) -> str:
    """Return the ``repr`` of a row's id as a Python object, not as an object of NumPy's type."""
    return repr(ids[row : row + 1].tolist()[0])


def _refuse(chosen: Any, show: Callable[[int], str] | None, where: str, complaint: str) -> None:
    """Raise `GraphFormatError` that lists the rows where `chosen` is True, if there are any."""
    if not np.any(chosen):
        return
    rows = excerpt(chosen, "rows", lambda row: f"{row}: {show(row)}" if show else str(row))
    raise GraphFormatError(f"{where} {rows} {complaint}")


def excerpt(chosen: Any, what: str, show: Callable[[int], str]) -> str:
    """Return a text that counts the rows marked True in `chosen` and shows the first few."""
    places = np.flatnonzero(chosen)
    shown = ", ".join(map(show, places[:_EXAMPLES].tolist()))
    more = ", ..." if places.size > _EXAMPLES else ""
    return f"{places.size} of {len(chosen)} {what} [{shown}{more}]"
