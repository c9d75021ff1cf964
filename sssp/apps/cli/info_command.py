"""Describe a graph file: size, weights, degrees, components, labels, coordinates.

Or which devices there are, and why one cannot be used.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any, Literal

import sssp
from sssp.apps.terminal.arguments import GRAPH_HELP, add_coordinates, find_graph
from sssp.apps.terminal.outcome import on_one_line
from sssp.errors import SSSPError

SUMMARY = "tell what is in a graph file, or which devices there are"
EXAMPLES = """examples:
  # size, weights, degrees and components
  %(prog)s USA-road-d.NY.gr.gz
  # and where it lies
  %(prog)s USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz
  # devices that calls may name, and why one cannot be used
  %(prog)s --devices
"""
#: out-degrees from here on share a line
MANY_ARCS = 8
MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("graph", nargs="?", type=find_graph, metavar="FILE", help=GRAPH_HELP)
    text = "list the devices that calls may name, and why one cannot be used"
    either.add_argument("--devices", action="store_true", help=text)
    add_coordinates(parser)


def _devices() -> Iterator[tuple[str, str]]:
    from sssp.engine.threads import check_threads

    yield "cpu", f"{check_threads(None)} thread(s)"
    try:
        from sssp.cuda import availability as cuda

        for number in range(cuda.device_count()):
            yield f"cuda:{number}", cuda.describe(number)
    except SSSPError as error:
        yield "cuda", on_one_line(str(error))
    try:
        from sssp.opencl import compiler as opencl

        opencl.device_number("opencl")
        for number, device in enumerate(opencl.find_devices()):
            yield f"opencl:{number}", on_one_line(opencl.describe(device))
    except SSSPError as error:
        yield "opencl", on_one_line(str(error))


def run(options: argparse.Namespace) -> int:
    """Print the facts, one a line."""
    if options.devices:
        return _print(_devices())
    start = perf_counter()
    g = options.graph.load(options.coordinates)
    seconds = perf_counter() - start
    name = on_one_line(options.graph.name)
    return _print([("graph", name), ("read in", f"{seconds:.2f} s"), *_facts(g)])


def _print(facts: Iterable[tuple[str, str]]) -> int:
    facts = list(facts)
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:{width}}  {value}")
    return 0


def _facts(g: sssp.Graph) -> Iterator[tuple[str, str]]:
    yield "vertices", f"{g.n:,}"
    yield "arcs", f"{g.m:,}" + ("" if g.directed else " (every input arc in both directions)")
    yield "input arcs", f"{g.input_arcs:,}"
    yield "  parallel, reduced", f"{g.parallel_arcs:,}"
    yield "  self-loops, dropped", f"{g.self_loops:,}"
    yield "weights", _weights(g)
    yield "out-degree", f"{g.m / g.n:.3f} on average" if g.n else "-"
    yield from _degrees(g)
    yield "strong components", _components(g, "strong")
    yield "weak components", _components(g, "weak")
    yield "labels", _labels(g)
    yield "coordinates", _coordinates(g)
    yield "memory", f"{_bytes(g) / MIB:,.1f} MiB"
    for name, value in g.about.items():
        if name != "left_out":
            yield name, on_one_line(f"{value:,}" if isinstance(value, int) else str(value))
    for reason, (number, case) in g.about.get("left_out", {}).items():
        yield f"  left out: {reason}", on_one_line(f"{number:,}, the first {case}")


def _weights(g: sssp.Graph) -> str:
    if g.m == 0:
        return f"{g.weights.dtype}, none"
    import numpy as np

    negative = np.count_nonzero(g.weights < 0)
    return f"{g.weights.dtype}, {g.least_weight:,} to {g.greatest_weight:,}" + (
        f", {negative:,} below zero" if negative else ""
    )


def _degrees(g: sssp.Graph) -> Iterator[tuple[str, str]]:
    import numpy as np

    counts = np.bincount(np.minimum(np.diff(g.indptr), MANY_ARCS))
    for degree in np.flatnonzero(counts):
        name = f"  {degree}" + (" or more" if degree == MANY_ARCS else "")
        yield name, f"{counts[degree]:,} ({counts[degree] / g.n:.1%})"


def _components(g: sssp.Graph, connection: Literal["strong", "weak"]) -> str:
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if g.n == 0:
        return "0"
    pattern = csr_array((np.ones(g.m, np.int8), g.indices, g.indptr), shape=(g.n, g.n))
    count, component = connected_components(pattern, directed=True, connection=connection)
    largest = np.bincount(component).max()
    return f"{count:,}, the largest of {largest:,} vertices ({largest / g.n:.1%})"


def _labels(g: sssp.Graph) -> str:
    labels = g.labels
    if labels is None:
        return "none: vertices go by 0-based numbers"
    if g.n == 0:
        return "none"
    kind = {"i": "integers", "U": "strings"}.get(labels.dtype.kind, "objects")
    return f"{kind}, {labels[0]} to {labels[-1]}"


def _coordinates(g: sssp.Graph) -> str:
    if g.coordinates is None or g.n == 0:
        return "none"
    (west, south), (east, north) = g.coordinates.min(axis=0), g.coordinates.max(axis=0)
    return f"longitude {west:.6f} to {east:.6f}, latitude {south:.6f} to {north:.6f}"


def _bytes(g: sssp.Graph) -> int:
    arrays: list[Any] = [g.indptr, g.indices, g.weights, g.arc_origin]
    if g.coordinates is not None:
        arrays.append(g.coordinates)
    return sum(array.nbytes for array in arrays)
