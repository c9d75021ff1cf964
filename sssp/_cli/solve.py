"""Find shortest paths from one or more vertices of a graph file.

Vertices are written in the file's own numbers (labels), here and in what is written. Without
--target the distances to all vertices are found, with it those to the targets and their paths.
A .csv file has a line, a .npz file an entry of each array for every REACHED vertex (of the
targets, if there are any): vertex, distance and, with --predecessors, predecessor. That of the
source is the source itself. Several sources follow one another, told apart by a first column
(array) source.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO

from sssp._terminal.arguments import GRAPH_HELP, named_graph, new_file, one_method, vertex_of
from sssp._terminal.interrupt import tidying_up
from sssp._terminal.outcome import naming, on_one_line, tell
from sssp.errors import NegativeCycleError, NegativeWeightError
from sssp.methods import METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sssp.graph.graph import Graph
    from sssp.results.shortest_paths import ShortestPaths

    Columns = dict[str, NDArray[Any]]

__all__ = ["EXAMPLES", "SUMMARY", "add_arguments", "run"]

SUMMARY = "find shortest paths in a graph file"
EXAMPLES = """examples:
  # distances from vertex 1 to all others, in a file
  %(prog)s USA-road-d.NY.gr.gz --source 1 -o distances.csv
  # distances and paths from 1 to 264346 and to 90644
  %(prog)s USA-road-d.NY.gr.gz --source 1 --target 264346 --target 90644
  # what is within 20000 of vertex 7 and of vertex 9, the nearest first
  %(prog)s USA-road-d.NY.gr.gz --source 7 --source 9 --limit 20000 -o - | sort -t, -nk3
"""
FORMATS = (".csv", ".npz")
#: name of an output file that stands for stdout
STDOUT = Path("-")
#: vertices of a negative cycle that a message holds
SHOWN_VERTICES = 20
#: rows of a .csv file that are turned into text at once
CSV_BLOCK = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("graph", type=named_graph, metavar="FILE", help=GRAPH_HELP)
    parser.add_argument(
        "--source",
        dest="sources",
        action="append",
        required=True,
        metavar="V",
        help="where the paths start; repeatable",
    )
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
        help=f"auto, {', '.join(METHODS)}; options follow a colon, as in "
        "delta-stepping:delta=5000 (default auto)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default auto)")
    parser.add_argument(
        "--limit", type=_distance, metavar="D", help="leave out what lies farther than this"
    )
    parser.add_argument(
        "--predecessors", action="store_true", help="write the tree to the output file too"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=_output_file,
        metavar="FILE",
        help="write a .csv or .npz file; - is .csv on stdout, and the summary goes to stderr",
    )


def run(options: argparse.Namespace) -> int:
    """Solve, write the answer to a file if asked for, and print a summary."""
    from sssp.calls.shortest_paths import shortest_paths

    g = options.graph.load()
    sources = [vertex_of(g, source) for source in options.sources]
    targets = None
    if options.targets:
        targets = [vertex_of(g, target) for target in options.targets]
    start = perf_counter()
    try:
        result = shortest_paths(
            g,
            sources,
            targets=targets,
            limit=options.limit,
            method=options.method,
            device=options.device,
            predecessors=options.predecessors or targets is not None,
        )
    except (NegativeCycleError, NegativeWeightError) as error:
        raise type(error)(_negative(g, error)) from error
    seconds = perf_counter() - start
    lines = [f"{result.method} on {result.device}, {seconds:.3f} s with compilation, if any"]
    lines += _farthest(options, result) if targets is None else _paths(options, result, targets)
    if options.output is not None:
        # before anything is printed: whatever becomes of that, the file is there
        count = _write(options.output, _columns(result, options.predecessors))
        lines.append(f"wrote {count:,} vertices to {_name(options.output)}")
    if options.output == STDOUT:
        for line in lines:
            tell(line)
    else:
        print(*lines, sep="\n")
    return 0


def _negative(g: Graph, error: NegativeCycleError | NegativeWeightError) -> str:
    """Tell what is negative in the file's own numbers; the error itself counts vertices from 0."""
    import numpy as np

    if isinstance(error, NegativeCycleError):
        cycle = np.array([*error.cycle, error.cycle[0]])
        way = " -> ".join(map(str, _labels(g, cycle[: SHOWN_VERTICES + 1])))
        return (
            "a cycle of negative length is reached, so distances have no lower bound; its "
            f"{cycle.size - 1:,} vertices are {way}{' ...' * (cycle.size > SHOWN_VERTICES + 1)}"
        )
    arc = int(np.argmin(g.weights))
    tail, head = _labels(g, np.array([g.tails[arc], g.indices[arc]]))
    return (
        f"the arc {tail} -> {head} weighs {g.weights[arc]}, below zero, which this method does "
        "not take; bellman-ford does"
    )


def _farthest(options: argparse.Namespace, result: ShortestPaths) -> Iterator[str]:
    """Sum up what every source reaches."""
    n = result.graph.n
    for source, columns in zip(options.sources, _columns(result), strict=True):
        vertices, distances = columns["vertex"], columns["distance"]
        farthest = distances.argmax()
        reached = f"reached {vertices.size:,} of {n:,} vertices"
        end = f"farthest {vertices[farthest]}, distance {distances[farthest]}"
        if result.rows == 1:
            yield from (reached, end)
        else:
            yield f"source {source}: {reached}, {end}"


def _paths(options: argparse.Namespace, result: ShortestPaths, targets: list[int]) -> Iterator[str]:
    """Tell distance and path from every source to every target."""
    for row, source in enumerate(options.sources):
        start = "" if result.rows == 1 else f"source {source}, "
        for label, target in zip(options.targets, targets, strict=True):
            distance = result.distance(target, row)
            if math.isinf(distance):
                yield f"{start}target {label}: unreached"
                continue
            path = result.path_labels(target, row)
            yield f"{start}target {label}: distance {distance}, {len(path) - 1:,} arcs"
            yield f"path {' '.join(map(str, path))}"


def _columns(result: ShortestPaths, predecessors: bool = False) -> Iterator[Columns]:
    """Yield the arrays of every source: one entry a reached vertex, in the order of the graph."""
    import numpy as np

    g = result.graph
    columns = np.arange(g.n) if result.targets is None else result.targets
    for row, reached in enumerate(result.reached):
        vertices, source = columns[reached], result.sources[row]
        block = {}
        if result.rows > 1:
            block["source"] = _labels(g, np.full(vertices.size, source))
        block["vertex"] = _labels(g, vertices)
        block["distance"] = result.distances[row][reached]
        if predecessors:
            tails = _tails(result, row, vertices)
            block["predecessor"] = _labels(g, np.where(tails < 0, source, tails))
        yield block


def _labels(g: Graph, vertices: NDArray[Any]) -> NDArray[Any]:
    return vertices if g.labels is None else g.labels[vertices]


def _tails(result: ShortestPaths, row: int, vertices: NDArray[Any]) -> NDArray[Any]:
    """Return the predecessors of reached vertices, -1 for the source."""
    import numpy as np

    if result.targets is None:
        tails: NDArray[Any] = result.predecessors[row][vertices]
        return tails
    paths = (result.path(target, row) for target in vertices)
    return np.array([path[-2] if path.size > 1 else -1 for path in paths], np.int64)


def _write(output: Path, blocks: Iterator[Columns]) -> int:
    """Write the arrays of all sources; return how many entries they have."""
    write = _write_npz if output.suffix.lower() == ".npz" else _write_csv
    with naming(_name(output)):
        if output == STDOUT:
            count = write(sys.stdout.buffer, blocks)
            sys.stdout.buffer.flush()
            return count
        from sssp.loaders._files import replaced_file

        with tidying_up(), replaced_file(output) as stream:
            return write(stream, blocks)


def _write_npz(stream: BinaryIO, blocks: Iterator[Columns]) -> int:
    import numpy as np

    rows = list(blocks)
    columns: dict[str, Any] = {
        name: np.concatenate([row[name] for row in rows]) for name in rows[0]
    }
    np.savez(stream, **columns)
    return int(columns["vertex"].size)


def _write_csv(stream: BinaryIO, blocks: Iterator[Columns]) -> int:
    count = 0
    for row, columns in enumerate(blocks):
        if row == 0:
            stream.write(_csv([columns]))
        size = columns["vertex"].size
        for start in range(0, size, CSV_BLOCK):
            part = (column[start : start + CSV_BLOCK].tolist() for column in columns.values())
            stream.write(_csv(zip(*part, strict=True)))
        count += size
    return count


def _csv(lines: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def _name(output: Path) -> str:
    return "stdout" if output == STDOUT else on_one_line(str(output))


def _method_or_auto(text: str) -> Any:
    return text if text == "auto" else one_method(text)


def _distance(text: str) -> int | float:
    number: int | float
    try:
        try:
            number = int(text)
        except ValueError:
            number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    # what no float holds, nothing is as far as
    return number if number <= sys.float_info.max else math.inf


def _output_file(text: str) -> Path:
    if text == str(STDOUT):
        return STDOUT
    path = new_file(text)
    if _is_stdout(path):
        return STDOUT
    if path.suffix.lower() not in FORMATS and (path.is_file() or not path.exists()):
        raise argparse.ArgumentTypeError(f"{text!r} must end in {' or '.join(FORMATS)}")
    return path


def _is_stdout(path: Path) -> bool:
    """Tell whether a file, such as ``/dev/stdout``, is what stdout leads to."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False
