r"""Find isochrones: what the sources reach within given limits of distance.

In bands: from one source, or from the nearest of several. A .csv, .npz or .parquet file has a row
for every vertex that is reached within the widest limit: vertex, distance, band (the least limit
that it is within), the source that is nearest if there are several, and lon and lat if the graph
has coordinates.

A .geojson file is for maps: a FeatureCollection with a line for every street of which both ends
are reached, straight from vertex to vertex, in degrees (WGS 84). Its properties are tail, head,
and distance and band of the farther end. A street that goes both ways is one line; one that leads
out of the widest band is left out.

With --areas a .geojson or .gpkg file has an area for each limit instead, with the property limit:
all points within --width metres of what is reached of the streets, which are cut where the limit
falls on them. Each area covers the one before.

Examples
--------
  # what is within 5000, 10000 and 20000 of a vertex
  %(prog)s USA-road-d.NY.gr.gz --source 1 --limits 5000,10000,20000 -o bands.csv
  # the areas within 10 and 20 minutes, as polygons
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz --limits 166670,333340 \
      --source-at -73.9772,40.7527 --areas -o areas.gpkg
  # a layer of streets, from the nearest of two stations
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz --limits 20000,40000 \
      --source-at -73.9772,40.7527 --source-at -73.9935,40.7506 -o stations.geojson
"""

from __future__ import annotations

import argparse
import math

import sssp
from sssp.apps.terminal import arguments, vertices
from sssp.apps.terminal.output import DRIVERS, STDOUT, add_output, choose_output
from sssp.apps.terminal.table_files import write_lines, write_table

FORMATS = ("csv", "geojson", "npz", "parquet")
#: of areas, in metres
WIDTH = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp isochrone``."""
    arguments.add_graph(parser)
    vertices.add_vertices(parser, "source", help="where the paths start")
    text = "where the bands end, inclusive, in --unit or in that of weights"
    arguments.add_limits(parser, required=True, help=text)
    arguments.add_unit(parser)
    text = "write areas, as polygons, to a .geojson or .gpkg file"
    parser.add_argument("--areas", action="store_true", help=text)
    text = f"how far areas reach beside the streets, in metres (default {WIDTH:.0f})"
    kind = arguments.positive_number("a number of metres, as 60")
    parser.add_argument("--width", type=kind, metavar="METRES", help=text)
    arguments.add_search(parser)
    add_output(parser, (*FORMATS, "gpkg"), default=STDOUT)


def run(options: argparse.Namespace) -> int:
    """Find the isochrones; write reached vertices, streets or areas, and print a summary."""
    import numpy as np

    from sssp.graph.drawing import street_arcs

    vertices.require_vertices(options, "source")
    if options.width is not None and not options.areas:
        raise ValueError("--width is that of --areas")
    options.formats = tuple(DRIVERS) if options.areas else FORMATS
    output, unit = choose_output(options), arguments.take_unit(options)
    g = vertices.graph_of(options)
    if output.format in DRIVERS:
        arguments.require_coordinates(g)
    sources = vertices.find_vertices(g, options, "source")
    asked = {"nearest": True, "limit": math.ceil(options.limits[-1])}
    result, how = vertices.search(g, options, sssp.shortest_paths, sources.vertices, **asked)
    limits = np.array(options.limits)
    if options.areas:
        areas = result.isochrone_areas(limits, width=options.width or WIDTH)
        areas["limit"] = unit.of(areas["limit"])
        output.write_frame(areas, "areas")
        written = f"{len(areas):,} areas"
    elif output.format == "geojson":
        # a line for every street with both ends in reach
        arcs, _ = street_arcs(g)
        ends = np.stack([g.tails[arcs], g.indices[arcs]])
        tails, heads = ends[:, result.reached[ends].all(axis=0)]
        farther = np.maximum(result.distances[tails], result.distances[heads])
        bands = {"distance": farther, "band": limits[np.searchsorted(limits, farther)]}
        shown = {name: unit.of(values) for name, values in bands.items()}
        shown = arguments.label_arcs(g, tails, heads) | shown
        written = f"{write_lines(output, g, tails, heads, shown):,} lines"
    else:
        reached = np.flatnonzero(result.reached)
        distances = result.distances[reached]
        columns = {
            "vertex": arguments.label_vertices(g, reached),
            "distance": unit.of(distances),
            "band": unit.of(limits[np.searchsorted(limits, distances)]),
        }
        if result.sources.size > 1:
            assert result.origin is not None
            columns["source"] = arguments.label_vertices(g, result.origin[reached])
        if g.coordinates is not None:
            columns["lon"], columns["lat"] = g.coordinates[reached].T
        written = f"{write_table(output, [columns]):,} vertices"
    counts = np.searchsorted(np.sort(result.distances[result.reached]), limits, "right")
    within = [
        f"within {unit.text(limit)}: {count:,} of {g.n:,} vertices"
        for limit, count in zip(options.limits, counts, strict=True)
    ]
    output.summarize([*sources.notes, how, *within, f"wrote {written} to {output.name}"])
    return 0
