"""Graphs from tables of arcs, as ``sssp convert`` writes them, and from layers of maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sssp
from sssp.apps.terminal.table_files import FileTable, read_table
from sssp.errors import GraphFormatError, import_extra

#: the column that tells whether a line of a map is one arc, or two that lead both ways
ONE_WAY = "oneway"
#: what stands there for both ways, in any case
BOTH_WAYS = {"false", "no", "0", "none", "nan", ""}


def read_graph_table(path: Path) -> sssp.Graph:
    """Read a graph from a table with a row an arc: tail, head and weight, in any case.

    A line of a map has its ends for coordinates, and goes both ways unless its ``oneway`` is true.

    Raises
    ------
    GraphFormatError
        A column is missing, or holds no numbers.
    MissingExtraError
        Parquet without pyarrow, GeoPackage without GeoPandas.
    """
    import numpy as np

    lines = None
    if path.suffix.lower() == ".gpkg":
        table, lines = _read_layer(path)
    elif path.suffix.lower() == ".geojson":
        table, lines = _read_geojson(path)
    else:
        table = read_table(path)
    names = [table.columns[table.require(name)] for name in ("tail", "head")]
    weights = np.array(table.numbers(table.require("weight")))
    if (weights == np.rint(weights)).all() and np.abs(weights).max(initial=0) < 1 << 53:
        weights = weights.astype(np.int64)
    labels, vertices = np.unique(_as_labels(names[0] + names[1]), return_inverse=True)
    ends = vertices.reshape(2, -1)
    coordinates, directed = None, True
    if lines is not None:
        coordinates = np.empty((labels.size, 2))
        coordinates[ends] = np.stack([lines[:, :2], lines[:, 2:]])
        one_way = table.columns.get(table.find(ONE_WAY) or "", [False] * weights.size)
        both = np.array([str(value).lower() in BOTH_WAYS for value in one_way], np.bool_)
        directed = not both.all()
        if directed:
            ends = np.append(ends, ends[::-1, both], axis=1)
            weights = np.append(weights, weights[both])
    return sssp.Graph.from_arcs(
        ends[0], ends[1], weights, n=labels.size, directed=directed, coordinates=coordinates,
        labels=labels,
    )  # fmt: skip


def _as_labels(names: list[Any]) -> Any:
    """Return labels as integers, if all are some, else as texts."""
    import numpy as np

    try:
        return np.array([int(name) for name in names], np.int64)
    except (ValueError, TypeError, OverflowError):
        return np.array([str(name) for name in names], np.str_)


def _read_geojson(path: Path) -> tuple[FileTable, Any]:
    import numpy as np

    try:
        features = json.loads(path.read_bytes())["features"]
        lines = [feature["geometry"]["coordinates"] for feature in features]
        names = list(features[0]["properties"]) if features else []
        columns = {name: [one["properties"][name] for one in features] for name in names}
        ends = np.array([[*line[0][:2], *line[-1][:2]] for line in lines], float).reshape(-1, 4)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise GraphFormatError(
            "not a FeatureCollection of lines, all with the same properties", path=path
        ) from error
    return FileTable(str(path), columns, range(1, len(lines) + 1)), ends


def _read_layer(path: Path) -> tuple[FileTable, Any]:
    geopandas, shapely = (import_extra(name, "geo") for name in ("geopandas", "shapely"))
    import numpy as np

    frame = geopandas.read_file(path).to_crs(4326)
    lines = frame.geometry.array
    if not (shapely.get_type_id(lines) == shapely.GeometryType.LINESTRING).all():
        raise GraphFormatError("the layer has other shapes than lines", path=path)
    ends = [shapely.get_coordinates(shapely.get_point(lines, place)) for place in (0, -1)]
    columns = {str(name): frame[name].tolist() for name in frame.columns.drop(frame.geometry.name)}
    return FileTable(str(path), columns, range(1, len(frame) + 1)), np.hstack(ends)
