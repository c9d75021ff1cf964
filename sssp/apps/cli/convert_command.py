"""Write a graph in another format.

An .sssp file holds all of a graph, coordinates and labels too, and is read fastest. A .gr file
(.gr.gz, .gr.xz, .gr.bz2) is the text of the DIMACS challenges: arcs with integer weights, whose
vertices count from 1; coordinates go into a .co file of their own. A .csv or .parquet file has a
row per arc: tail, head and weight, in labels. A .geojson or .gpkg file has a line per arc, for maps
(one an edge if the graph is undirected: oneway tells). All of these are read, too. Of parallel
arcs the lightest is written; closed arcs and turns are kept in .sssp alone.

With --turns, a CSV or Parquet file has a row a turn: columns from, via and to, labels of vertices,
and cost, in the unit of the weights that are read, inf to forbid it; or kind, which is no
(forbidden), only (all others from there are forbidden) or cost. All commands that search a graph
take such a file, and heed the turns of what is written.

Examples
--------
  # graph and coordinates into one file that is read at once
  %(prog)s USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz -o ny.sssp
  # and back
  %(prog)s ny.sssp -o ny.gr.gz --coordinates-output ny.co.gz
  # float kilometres as integer metres, for programs that take no floats
  %(prog)s road-like:1000 --scale 1000 -o scaled.gr
  # turns that are forbidden, or cost something
  %(prog)s ny.sssp --turns turns.csv --u-turns 20 -o ny-turns.sssp
  # OpenStreetMap's streets, for a bicycle
  %(prog)s porto.osm.pbf:bicycle porto.sssp
  # a layer for a GIS
  %(prog)s ny.sssp -o ny.geojson
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import Any

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.interrupt import raise_interrupts
from sssp.apps.terminal.outcome import name_in_errors, on_one_line
from sssp.apps.terminal.output import NOWHERE, Output, add_output, choose_output, output_path
from sssp.apps.terminal.table_files import FileTable, read_table, write_lines, write_table
from sssp.apps.terminal.vertices import graph_of, with_turns
from sssp.errors import GraphFormatError, import_extra

DIMACS = ("gr", "gr.gz", "gr.xz", "gr.bz2")
#: the column that tells whether a line of a map is one arc, or two that lead both ways; and what
#: stands there for both ways, in any case
ONE_WAY, BOTH_WAYS = "oneway", {"false", "no", "0", "none", "nan", ""}
FORMATS = (*DIMACS, "sssp", "csv", "parquet", "geojson", "gpkg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp convert``."""
    arguments.add_graph(parser)
    text = "multiply the weights by this, and round them to integers"
    factor = arguments.positive_number("a number above 0")
    parser.add_argument("--scale", type=factor, metavar="F", help=text)
    text = "also write the coordinates there, as a .co file (.co.gz, .co.xz, .co.bz2)"
    parser.add_argument("--coordinates-output", type=arguments.new_file, metavar="FILE", help=text)
    text = "the file to write, as with -o"
    parser.add_argument("to", type=output_path, nargs="?", metavar="OUTPUT", help=text)
    add_output(parser, FORMATS)


def run(options: argparse.Namespace) -> int:
    """Read a graph, write it in another format, and report what that format cannot hold."""
    import numpy as np

    if (options.to is None) == (options.output == NOWHERE):
        raise ValueError("name one file to write, behind that to read or with -o")
    options.output = options.to or options.output
    output, places = choose_output(options), options.coordinates_output
    if options.graph.is_table and options.coordinates is None:
        g = with_turns(_read_arcs(options.graph.path), options)
    else:
        g = graph_of(options)
    if places is not None:
        arguments.require_coordinates(g)
    if options.scale is not None:
        g = g.scaled(options.scale)
    start = perf_counter()
    count = _write(g, output)
    lines = [f"wrote {count:,} arcs to {output.name} in {perf_counter() - start:.2f} s"]
    if places is not None:
        with raise_interrupts(), name_in_errors(places):
            sssp.loaders.write_co(places, arguments.require_coordinates(g))
        lines.append(f"wrote {g.n:,} coordinates to {on_one_line(str(places))}")
    # the parts of the graph that the format does not hold
    if output.format != "sssp" and g.turns is not None:
        lines.append("left out the turns")
    if output.format != "sssp" and g.closed_arcs:
        lines.append(f"left out {g.closed_arcs:,} closed arcs")
    if output.format in DIMACS and g.coordinates is not None and places is None:
        lines.append("left out the coordinates; --coordinates-output FILE writes them")
    labels = np.arange(g.n) if g.labels is None else g.labels
    if output.format in DIMACS and not np.array_equal(labels, np.arange(1, g.n + 1)):
        lines.append(
            f"vertices 1 to {g.n} stand for those that went by {labels[0]} to {labels[-1]}"
        )
    output.summarize(lines)
    return 0


def _read_arcs(path: Path) -> sssp.Graph:
    """Read a graph from a table of arcs: columns tail, head and weight, upper or lower case.

    A line of a map has its ends for coordinates, and goes both ways unless its ``oneway`` is true.

    Raises
    ------
    GraphFormatError
        A column is missing, or holds no numbers.
    MissingExtraError
        Parquet without pyarrow, GeoPackage without GeoPandas.
    """
    import numpy as np

    readers = {".gpkg": _read_layer, ".geojson": _read_geojson}
    read = readers.get(path.suffix.lower())
    table, lines = (read_table(path), None) if read is None else read(path)
    tails, heads = (table.columns[table.require(name)] for name in ("tail", "head"))
    weights = np.array(table.numbers(table.require("weight")))
    if (weights == np.rint(weights)).all() and np.abs(weights).max(initial=0) < 1 << 53:
        weights = weights.astype(np.int64)
    names: Any
    try:
        names = np.array([int(name) for name in tails + heads], np.int64)
    except (ValueError, TypeError, OverflowError):
        names = np.array([str(name) for name in tails + heads], np.str_)
    labels, vertices = np.unique(names, return_inverse=True)
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


def _write(g: sssp.Graph, output: Output) -> int:
    """Write a graph to `output` in `output.format`; return the number of written arcs."""
    import numpy as np

    if output.format == "sssp":
        output.save(g.save)
        return g.m
    if output.format == "gpkg":
        arguments.require_coordinates(g)
        frame = g.to_geodataframe().assign(**{ONE_WAY: g.directed})
        output.write_frame(frame, "arcs")
        return len(frame)
    arcs = g.without_closed_arcs()
    tails, heads, weights = arcs.tails, arcs.indices, arcs.weights
    if output.format in DIMACS:
        if weights.dtype.kind == "f":
            raise ValueError(
                f"a .gr file holds integers, and these weights are {g.weights.dtype}: --scale 1000 "
                "keeps three digits behind the point"
            )
        output.save(lambda path: sssp.loaders.write_gr(path, arcs.n, tails, heads, weights))
        return arcs.m
    if output.format == "geojson":
        shown = np.flatnonzero(g.directed | (tails <= heads))
        tails, heads, weights = tails[shown], heads[shown], weights[shown]
    columns = arguments.label_arcs(g, tails, heads) | {"weight": weights}
    if output.format == "geojson":
        one_way = {ONE_WAY: np.full(tails.size, g.directed)}
        return write_lines(output, g, tails, heads, columns | one_way)
    return write_table(output, [columns])
