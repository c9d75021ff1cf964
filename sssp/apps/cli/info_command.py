"""Print the properties of a graph file, or list the devices (CPU, GPUs) of this machine.

Of a graph: size, weights, degrees, components, labels, coordinates. Of devices also why one cannot
be used.

Examples
--------
  # size, weights, degrees and components
  %(prog)s USA-road-d.NY.gr.gz
  # and where it lies
  %(prog)s USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz
  # devices that calls may name, and why one cannot be used
  %(prog)s --devices
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal

import sssp
from sssp.apps.terminal.arguments import GRAPH_HELP, add_coordinates, find_graph
from sssp.apps.terminal.outcome import on_one_line
from sssp.errors import SSSPError

#: out-degrees from here on share a line
MANY_ARCS = 8
MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp info``."""
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
    """Print the properties of a graph, or of the devices, one property per line."""
    facts = list(_devices() if options.devices else _facts(options))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:{width}}  {value}")
    return 0


def _facts(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    start = perf_counter()
    g: sssp.Graph = options.graph.load(options.coordinates)
    seconds = perf_counter() - start
    yield "graph", on_one_line(options.graph.name)
    yield "read in", f"{seconds:.2f} s"
    yield "vertices", f"{g.n:,}"
    yield "arcs", f"{g.m:,}" + ("" if g.directed else " (every input arc in both directions)")
    yield "input arcs", f"{g.input_arcs:,}"
    yield "  parallel, reduced", f"{g.parallel_arcs:,}"
    yield "  self-loops, dropped", f"{g.self_loops:,}"
    negative = np.count_nonzero(g.weights < 0)
    span = f"{g.least_weight:,} to {g.greatest_weight:,}" if g.m else "none"
    below = f", {negative:,} below zero" if negative else ""
    yield "weights", f"{g.weights.dtype}, {span}{below}"
    yield "out-degree", f"{g.m / g.n:.3f} on average" if g.n else "-"
    counts = np.bincount(np.minimum(np.diff(g.indptr), MANY_ARCS))
    for degree in np.flatnonzero(counts):
        name = f"  {degree}" + (" or more" if degree == MANY_ARCS else "")
        yield name, f"{counts[degree]:,} ({counts[degree] / g.n:.1%})"
    connections: tuple[Literal["strong", "weak"], ...] = ("strong", "weak")
    for connection in connections:
        pattern = csr_array((np.ones(g.m, np.int8), g.indices, g.indptr), shape=(g.n, g.n))
        count, component = connected_components(pattern, directed=True, connection=connection)
        largest = np.bincount(component, minlength=1).max()
        share = f", the largest of {largest:,} vertices ({largest / g.n:.1%})" if g.n else ""
        yield f"{connection} components", f"{count:,}{share}"
    labels, points = g.labels, g.coordinates
    if labels is None or g.n == 0:
        yield "labels", "none" if labels is not None else "none: vertices go by 0-based numbers"
    else:
        kind = {"i": "integers", "U": "strings"}.get(labels.dtype.kind, "objects")
        yield "labels", f"{kind}, {labels[0]} to {labels[-1]}"
    if points is None or g.n == 0:
        yield "coordinates", "none"
    else:
        (west, south), (east, north) = points.min(axis=0), points.max(axis=0)
        box = f"longitude {west:.6f} to {east:.6f}, latitude {south:.6f} to {north:.6f}"
        yield "coordinates", box
    arrays: list[Any] = [g.indptr, g.indices, g.weights, g.arc_origin]
    arrays += [] if points is None else [points]
    yield "memory", f"{sum(array.nbytes for array in arrays) / MIB:,.1f} MiB"
    for name, value in g.about.items():
        if name != "left_out":
            yield name, on_one_line(f"{value:,}" if isinstance(value, int) else str(value))
    for reason, (number, case) in g.about.get("left_out", {}).items():
        yield f"  left out: {reason}", on_one_line(f"{number:,}, the first {case}")
