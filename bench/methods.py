"""Find the fastest method on the CPU: one source on kinds of graphs, all pairs by density.

    python -m bench.methods [--json FILE]

A figure is the median of `RUNS` calls, those of the methods in turn; one source by one thread, all
pairs by all. Every answer is compared with that of the first method. `bench.figures` draws it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import sssp
from bench.graphs import SEED, percolated_grid, random_graph, real_graph
from bench.listing import Listing, make_parser
from sssp.bench.workloads import alternate
from sssp.engine.threads import usable_cores

RUNS = 7
SEARCHES = ("dijkstra", "delta-stepping", "threshold-dijkstra", "bellman-ford")
SIZE = 100_000
#: vertices of a side of the grid
SIDE = 400
#: weights of the widest range are 2 to the power of up to, but without, this
POWERS = 30
DENSE = (300, 1000, 2000)
DEGREES = (3, 10, 30, 100, 250)


HEADINGS = "call | graph | n | ms by method | "
CELLS = "{what} | {graph} | {n:,} | {times} | {all_equal}"

Figures = list[dict[str, Any]]


def kinds() -> Iterator[tuple[str, sssp.Graph]]:
    """Yield graphs of many kinds, with their names."""
    real = real_graph("USA-road-d.NY")
    if real is not None:
        yield "New York", real
    yield "built-in roads", sssp.road_like(SIZE)
    yield "grid with gaps", percolated_grid(SIDE, SIDE)
    yield "random, 4 arcs a vertex", random_graph(SIZE, 4)
    yield "random, 30 arcs a vertex", random_graph(SIZE // 4, 30)
    sparse = random_graph(SIZE, 4)
    powers = np.random.default_rng(SEED).integers(0, POWERS, sparse.m)
    yield "random, weights 1 to 2^29", sparse.with_weights(2**powers)
    line = np.arange(SIZE)
    yield "chain", sssp.Graph.from_arcs(line[:-1], line[1:], line[1:] % 7 + 1, directed=False)


def measure(
    what: str, name: str, graph: sssp.Graph, calls: Mapping[str, Callable[[], Any]], threads: int
) -> Figures:
    """Time calls in turn; return a row for each, in milliseconds."""
    # (the first ones compile)
    answers = {method: call().distances for method, call in calls.items()}
    expected = next(iter(answers.values()))
    common = {"what": what, "graph": name, "n": graph.n, "m": graph.m}
    return [
        {
            **common,
            "method": method,
            "threads": threads,
            "median": 1000 * float(np.median(seconds)),
            "runs": RUNS,
            "equal": np.array_equal(answers[method], expected),
        }
        for method, seconds in alternate(calls, RUNS).items()
    ]


def one_source() -> Iterator[Figures]:
    """Measure every search on every kind of graph, by one thread."""
    for name, graph in kinds():
        call = partial(sssp.shortest_paths, graph, graph.n // 2, device="cpu", threads=1)
        calls = {method: partial(call, method=method) for method in SEARCHES}
        yield measure("one source", name, graph, calls, 1)


def all_pairs() -> Iterator[Figures]:
    """Measure Floyd-Warshall beside searches from every vertex, by all threads."""
    for n in DENSE:
        for degree in DEGREES:
            graph = random_graph(n, degree)
            call = partial(sssp.all_pairs, graph, device="cpu")
            methods = ("floyd-warshall", "delta-stepping")
            calls = {method: partial(call, method=method) for method in methods}
            name = f"random, {degree} arcs a vertex"
            yield measure("all pairs", name, graph, calls, usable_cores())


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any answer differs."""
    options = make_parser(__doc__).parse_args()
    settings = {"runs": RUNS, "seed": SEED, "clock": "wall, milliseconds"}
    listing = Listing(settings, HEADINGS, CELLS)
    for rows in (*one_source(), *all_pairs()):
        times = ", ".join(f"{row['method']} {row['median']:.2f}" for row in rows)
        wrong = [row["method"] for row in rows if not row["equal"]]
        listing.add(*rows, times=times, all_equal=", ".join(wrong) or "equal")
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
