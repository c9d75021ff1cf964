r"""Write a table of distances, sources by targets.

The distances from many sources to many targets: an origin-destination table. Sources and targets
come from files, one vertex or point per row, or from the command line; the table has them in that
order, by their labels, or with --id by a column of the files. It is written block by block, so that
it may be larger than memory. Every pair has a row: source, target and distance, which is empty
where the target is not reached. With --wide every source has a row, and every target a column.

Examples
--------
  # from homes to jobs; both files have a column vertex, or columns lon and lat
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz \
      --sources homes.csv --targets jobs.parquet -o times.parquet
  # the same, called by the files' column name instead of by vertices
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz \
      --sources homes.csv --targets offices.csv --id name -o times.csv
  # a small matrix on the screen
  %(prog)s USA-road-d.NY.gr.gz --source 1 --source 7 --target 9 --target 23 --wide
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any

import sssp
from sssp.apps.terminal import arguments, vertices
from sssp.apps.terminal.output import STDOUT, add_output, choose_output
from sssp.apps.terminal.table_files import write_table

FORMATS = ("csv", "parquet")
#: distances that are held at once, unless a single source has more
BLOCK_CELLS = 1 << 26


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp table``."""
    arguments.add_graph(parser)
    vertices.add_vertices(parser, "source", help="where paths start")
    vertices.add_vertices(parser, "target", help="where paths end")
    text = (
        "call sources and targets by this column of their files, not by the labels of their "
        "vertices"
    )
    parser.add_argument("--id", metavar="COLUMN", help=text)
    text = "a row a source and a column a target, as a matrix"
    parser.add_argument("--wide", action="store_true", help=text)
    arguments.add_search(parser)
    arguments.add_limit(parser, help="leave empty what lies farther than this")
    arguments.add_unit(parser)
    add_output(parser, FORMATS, default=STDOUT)


def run(options: argparse.Namespace) -> int:
    """Compute all distances from sources to targets; write a table, and print a summary."""
    import numpy as np

    vertices.require_vertices(options, "source", "target")
    output, unit = choose_output(options), arguments.take_unit(options)
    g = vertices.graph_of(options)
    sources = vertices.find_vertices(g, options, "source", options.id, allow_none=True)
    targets = vertices.find_vertices(g, options, "target", options.id)
    #: what solved every block, and its number of unreached pairs
    seen: list[tuple[str, int]] = []

    def list_columns(results: Iterable[sssp.ShortestPaths]) -> Iterator[dict[str, Any]]:
        """Yield blocks of the table: a row per pair or, with ``--wide``, a row per source."""
        rows, columns = sources.names, targets.names
        names = [str(name) for name in columns.tolist()] if options.wide else []
        if options.wide and len({"source", *names}) <= len(names):
            raise ValueError(
                "with --wide every target has a column of its own, so that none may be there "
                "twice, nor be called source"
            )
        done = 0
        for result in results:
            part = rows[done : done + result.rows]
            done += result.rows
            seen.append((f"{result.method} on {result.device}", int((~result.reached).sum())))
            distances = unit.of(np.ma.masked_array(result.distances, ~result.reached))
            if options.wide:
                yield {"source": part, **dict(zip(names, distances.T, strict=True))}
            else:
                source, target = np.repeat(part, columns.size), np.tile(columns, result.rows)
                yield {"source": source, "target": target, "distance": distances.ravel()}

    start = perf_counter()
    with vertices.name_negatives(g):
        searched = {name: getattr(options, name) for name in ("limit", "method", "device")}
        searched["targets"] = targets.vertices
        results: Iterable[sssp.ShortestPaths]
        if sources.vertices.size == 0:  # a table without rows has columns
            results = [sssp.shortest_paths(g, sources.vertices, **searched)]
        else:
            block_size = max(1, BLOCK_CELLS // max(1, targets.vertices.size))
            results = sssp.iter_blocks(g, sources.vertices, block_size=block_size, **searched)
        count = write_table(output, list_columns(results))
    seconds = perf_counter() - start
    method, unreached = seen[-1][0], sum(pairs for _, pairs in seen)
    lines = [
        f"{method}, {seconds:.3f} s with compilation, if any, and writing",
        f"{sources.vertices.size:,} sources, {targets.vertices.size:,} targets, "
        f"{unreached:,} pairs unreached",
        f"wrote {count:,} rows to {output.name}",
    ]
    output.summarize([*sources.notes, *targets.notes, *lines])
    return 0
