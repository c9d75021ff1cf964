r"""Find shortest paths in a graph file.

From one or more vertices. Vertices are written in the file's own numbers (labels), here and in what
is written. Without --target the distances to all vertices are found, with it those to the targets
and their paths. A .csv file has a line, a .npz file an entry of each array for every REACHED vertex
(of the targets, if there are any): vertex, distance and, with --predecessors, predecessor. That of
the source is the source itself. Several sources follow one another, told apart by a first column
(array) source.

Examples
--------
  # distances from vertex 1 to all others, in a file
  %(prog)s USA-road-d.NY.gr.gz --source 1 -o distances.csv
  # distances and paths from 1 to 264 and to 90
  %(prog)s USA-road-d.NY.gr.gz --source 1 --target 264 --target 90
  # what is within 20000 of vertex 7 and of vertex 9, the nearest first
  %(prog)s USA-road-d.NY.gr.gz --source 7 --source 9 --limit 20000 -o - | sort -t, -nk3
  # from Times Square to Wall Street
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz \
      --source-at -73.9855,40.7580 --target-at -74.0088,40.7066
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.output import NOWHERE, add_output, choose_output
from sssp.apps.terminal.table_files import write_table
from sssp.apps.terminal.vertices import add_vertices, find_ends, graph_of, require_vertices, search

FORMATS = ("csv", "npz", "parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp solve``."""
    arguments.add_graph(parser)
    add_vertices(parser, "source", help="where the paths start")
    add_vertices(parser, "target", help="print distance and path to this vertex only")
    arguments.add_search(parser)
    arguments.add_limit(parser, help="leave out what lies farther than this")
    arguments.add_unit(parser)
    text = "write the tree to the output file too"
    parser.add_argument("--predecessors", action="store_true", help=text)
    add_output(parser, FORMATS)


def run(options: argparse.Namespace) -> int:
    """Find the shortest paths, write them to a file if asked for, and print a summary."""
    require_vertices(options, "source")
    output, unit = choose_output(options), arguments.take_unit(options)
    g = graph_of(options)
    sources, targets, lines = find_ends(g, options)
    trees = options.predecessors or targets is not None
    asked = {"targets": targets, "limit": options.limit, "predecessors": trees}
    result, how = search(g, options, sssp.shortest_paths, sources, **asked)
    lines += [how, *_describe(result, unit)]
    if output.path != NOWHERE:
        # (before anything is printed: the file is complete even if printing fails)
        count = write_table(output, _columns(result, unit, options.predecessors))
        lines.append(f"wrote {count:,} vertices to {output.name}")
    output.summarize(lines)
    return 0


def _describe(result: sssp.ShortestPaths, unit: arguments.Unit) -> Iterator[str]:
    """Yield summary lines per source: distance and path to each target, or farthest vertex."""
    import numpy as np

    g, targets = result.graph, result.targets
    for row, source in enumerate(arguments.label_vertices(g, result.sources)):
        if targets is None:
            reached = result.reached[row]
            vertices = arguments.label_vertices(g, np.flatnonzero(reached))
            distances = result.distances[row][reached]
            farthest = distances.argmax()
            count = f"reached {vertices.size:,} of {g.n:,} vertices"
            end = f"farthest {vertices[farthest]}, distance {unit.text(distances[farthest])}"
            yield from (count, end) if result.rows == 1 else (f"source {source}: {count}, {end}",)
            continue
        start = "" if result.rows == 1 else f"source {source}, "
        for name, target in zip(arguments.label_vertices(g, targets), targets, strict=True):
            distance = result.distance(target, row)
            if math.isinf(distance):
                yield f"{start}target {name}: unreached"
                continue
            path = result.path_labels(target, row)
            yield f"{start}target {name}: distance {unit.text(distance)}, {len(path) - 1:,} arcs"
            yield f"path {' '.join(map(str, path))}"


def _columns(
    result: sssp.ShortestPaths, unit: arguments.Unit, predecessors: bool
) -> Iterator[dict[str, Any]]:
    """Yield, per source, table columns with a row per reached vertex, ordered as in `result`."""
    import numpy as np

    g = result.graph
    columns = np.arange(g.n) if result.targets is None else result.targets
    for row, reached in enumerate(result.reached):
        vertices, source = columns[reached], result.sources[row]
        block = {}
        if result.rows > 1:
            block["source"] = arguments.label_vertices(g, np.full(vertices.size, source))
        block["vertex"] = arguments.label_vertices(g, vertices)
        block["distance"] = unit.of(result.distances[row][reached])
        if predecessors:  # that of the source is the source itself
            if result.targets is None:
                tails = result.predecessors[row][vertices]
            else:
                paths = (result.path(target, row) for target in vertices)
                tails = np.array([path[-2] if path.size > 1 else -1 for path in paths], np.int64)
            block["predecessor"] = arguments.label_vertices(g, np.where(tails < 0, source, tails))
        yield block
