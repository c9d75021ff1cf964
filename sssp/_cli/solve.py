"""Find shortest paths from one vertex of a graph file.

Vertices are written in the file's own numbers (labels), here and in what is written. Without
--target the distances to all vertices are found, with it those to the targets and their paths.
A .csv file has a line, a .npz file an entry of each array for every REACHED vertex (of the
targets, if there are any): vertex, distance and, with --predecessors, predecessor. That of the
source is the source itself.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sssp._cli._arguments import graph_source, one_method, vertex_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sssp.graph.graph import Graph
    from sssp.results.shortest_paths import ShortestPaths

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "find shortest paths in a graph file"
FORMATS = (".csv", ".npz")
#: rows of a .csv file that are turned into text at once
CSV_BLOCK = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "graph", type=graph_source, metavar="FILE", help="a .gr or .sssp file, or road-like:N"
    )
    parser.add_argument("--source", required=True, metavar="V", help="where the paths start")
    parser.add_argument(
        "--target",
        dest="targets",
        action="append",
        metavar="W",
        help="print distance and path to this vertex only; repeatable",
    )
    parser.add_argument(
        "--method",
        type=_method_or_auto,
        default="auto",
        metavar="NAME",
        help="a method, with options if need be: delta-stepping:delta=5000 (default auto)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default auto)")
    parser.add_argument(
        "--limit", type=_number, metavar="D", help="leave out what lies farther than this"
    )
    parser.add_argument(
        "--predecessors", action="store_true", help="write the tree to the output file too"
    )
    parser.add_argument(
        "-o", "--output", type=_output_file, metavar="FILE", help="write a .csv or .npz file"
    )


def run(options: argparse.Namespace) -> int:
    """Solve, print the answer, and write it to a file if asked for."""
    from sssp.calls.shortest_paths import shortest_paths

    g = options.graph.load()
    source = vertex_of(g, options.source)
    targets = None
    if options.targets:
        targets = [vertex_of(g, target) for target in options.targets]
    start = perf_counter()
    result = shortest_paths(
        g,
        source,
        targets=targets,
        limit=options.limit,
        method=options.method,
        device=options.device,
        predecessors=options.predecessors or targets is not None,
    )
    seconds = perf_counter() - start
    print(f"{result.method} on {result.device}, {seconds:.3f} s with compilation, if any")
    if targets is None:
        _print_summary(g, result)
    else:
        for label, target in zip(options.targets, targets, strict=True):
            _print_path(label, target, result)
    if options.output is not None:
        columns = _columns(g, source, result, options.predecessors)
        _write(options.output, columns)
        print(f"wrote {columns['vertex'].size:,} vertices to {options.output}")
    return 0


def _print_summary(g: Graph, result: ShortestPaths) -> None:
    import numpy as np

    reached = np.flatnonzero(result.reached)
    farthest = reached[np.argmax(result.distances[reached])]
    print(f"reached {reached.size:,} of {g.n:,} vertices")
    print(f"farthest {_labels(g, farthest)}, distance {result.distances[farthest]}")


def _print_path(label: str, target: int, result: ShortestPaths) -> None:
    distance = result.distance(target)
    if math.isinf(distance):
        print(f"target {label}: unreached")
        return
    path = result.path_labels(target)
    print(f"target {label}: distance {distance}, {len(path) - 1:,} arcs")
    print("path", *path)


def _columns(
    g: Graph, source: int, result: ShortestPaths, predecessors: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays to write: one entry a reached vertex, in the order of the graph."""
    import numpy as np

    vertices = np.arange(g.n) if result.targets is None else result.targets
    reached = result.reached
    columns = {"vertex": _labels(g, vertices[reached]), "distance": result.distances[reached]}
    if predecessors:
        tails = result.predecessors[vertices[reached]]
        columns["predecessor"] = _labels(g, np.where(tails < 0, source, tails))
    return columns


def _labels(g: Graph, vertices: NDArray[Any]) -> NDArray[Any]:
    return vertices if g.labels is None else g.labels[vertices]


def _write(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    if path.suffix == ".npz":
        import numpy as np

        np.savez(path, allow_pickle=False, **columns)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for start in range(0, columns["vertex"].size, CSV_BLOCK):
            blocks = (column[start : start + CSV_BLOCK].tolist() for column in columns.values())
            writer.writerows(zip(*blocks, strict=True))


def _method_or_auto(text: str) -> Any:
    return text if text == "auto" else one_method(text)


def _number(text: str) -> int | float:
    number: int | float
    try:
        number = int(text)
    except ValueError:
        number = float(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    return number


def _output_file(text: str) -> Path:
    path = Path(text)
    if path.suffix not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {' or '.join(FORMATS)}")
    return path
