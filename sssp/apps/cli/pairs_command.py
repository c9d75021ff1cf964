"""Find the shortest path of each trip (source and target) in a table.

A CSV or Parquet file has columns source and target (or origin and destination), with labels of
vertices, or source_lon, source_lat, target_lon and target_lat, in degrees, all in any case; a
DIMACS .p2p file will do. What is written has a row per trip, in the same order: all columns of the
file, and distance, which is empty where no path leads there; for points also source and target, the
vertices that were found. With --paths there is a column path, too: its vertices, with blanks
between (in Parquet a list).

A .geojson or .gpkg file is for maps: the path of every trip is a line, straight from vertex to
vertex, in degrees (WGS 84), with the other columns as its properties, and reached.

Examples
--------
  # how long every trip takes
  %(prog)s USA-road-t.NY.gr.gz trips.csv -o times.csv
  # the same from stdin to stdout, with the vertices on the way
  %(prog)s USA-road-t.NY.gr.gz - --paths < trips.csv
  # lines for maps
  %(prog)s USA-road-t.NY.gr.gz trips.csv --coordinates USA-road-d.NY.co.gz -o trips.gpkg
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.output import DRIVERS, STDOUT, add_output, choose_output
from sssp.apps.terminal.table_files import FileTable, read_table, write_table
from sssp.apps.terminal.vertices import add_max_distance, find_in_table, network_of, search
from sssp.methods import METHODS, TRIP_METHODS

FORMATS = ("csv", "parquet", *DRIVERS)
ENDS = ("source", "target")
DISTANCE, PATH = "distance", "path"
#: trips from which on a map is prepared: New York's takes 0.9 s of CPU to prepare and 0.2 ms for a
#: trip with its path; without, a trip takes 5 ms
WORTH_PREPARING = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp pairs``."""
    arguments.add_graph(parser)
    text = "a CSV, Parquet or .p2p file; - is CSV on stdin"
    parser.add_argument("trips", type=Path, metavar="TRIPS", help=text)
    parser.add_argument("--paths", action="store_true", help="write the vertices on the way, too")
    add_max_distance(parser)
    text = (
        f"prepare the map first, or do not; by default from {WORTH_PREPARING:,} trips on, if it is "
        "a road network without negative weights and --method is auto"
    )
    parser.add_argument("--prepare", action=argparse.BooleanOptionalAction, help=text)
    arguments.add_search(parser, METHODS | TRIP_METHODS)
    arguments.add_limit(parser, help="leave empty what lies farther than this")
    arguments.add_unit(parser)
    add_output(parser, FORMATS, default=STDOUT)


def run(options: argparse.Namespace) -> int:
    """Find the shortest path of every trip; write a row per trip, and print a summary."""
    import numpy as np

    output, unit = choose_output(options), arguments.take_unit(options)
    table, draws = read_table(options.trips), output.format in DRIVERS
    if options.paths and draws:
        raise ValueError(f"a .{output.format} file has every path as a line: omit --paths")
    for name in (DISTANCE, PATH) if options.paths else (DISTANCE,):
        if name in table.columns:
            reason = f"there is a column {name} already, which this command writes: rename it"
            raise sssp.GraphFormatError(reason, path=table.path)
    network = _prepare(network_of(options), table, options)
    g = network._tree_graph
    if draws:
        arguments.require_coordinates(g)
    farthest = options.max_distance
    ends = [find_in_table(g, table, role, [role], farthest, f"{role}_") for role in ENDS]
    asked = {"limit": options.limit, "predecessors": options.paths or draws}
    trips, how = search(network, options, sssp.pairs, *(end.vertices for end in ends), **asked)
    if draws:
        lines = trips.to_geodataframe()
        lines[DISTANCE] = unit.of(lines[DISTANCE])
        others = {name: column for name, column in table.columns.items() if name not in lines}
        output.write_frame(lines.assign(**others), "trips")
    else:
        columns: dict[str, Any] = dict(table.columns)
        for name, own in zip(ENDS, (trips.sources, trips.targets), strict=True):
            columns[table.find(name) or name] = arguments.label_vertices(g, own)
        columns[DISTANCE] = unit.of(np.ma.masked_array(trips.distances, ~trips.reached))
        if options.paths:
            columns[PATH] = [
                trips.path_labels(trip) if reached else None
                for trip, reached in enumerate(trips.reached.tolist())
            ]
        write_table(output, [columns])
    count = len(trips)
    unreached = count - int(trips.reached.sum())
    notes = [note for end in ends for note in end.notes]
    counted = f"{count:,} trips, {unreached:,} unreached"
    output.summarize([*notes, how, counted, f"wrote {count:,} rows to {output.name}"])
    return 0


def _prepare(
    network: sssp.Graph | sssp.Hierarchy, table: FileTable, options: argparse.Namespace
) -> sssp.Graph | sssp.Hierarchy:
    """Return the hierarchy of the network if one is requested or pays off, else the network."""
    if options.prepare is False or not isinstance(network, sssp.Graph):
        return network
    if options.prepare:
        return sssp.prepare(network)
    many = len(table.lines) >= WORTH_PREPARING
    if many and options.method == "auto" and network.least_weight >= 0:
        # (`prepare` refuses other networks early)
        with suppress(ValueError, sssp.DeviceError):
            return sssp.prepare(network)
    return network
