"""Measure when which method wins on the CPU: one source on kinds of graphs, all pairs by density.

    python -m bench.methods [--json FILE]

A figure is the median of `RUNS` calls, those of the methods in turn; one source by one thread, all
pairs by all. Every answer is compared with that of the first method. `bench.figures` draws it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from bench.common import SEED, Record, options_of, percolated_grid, random_graph, real_graph
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


@dataclass
class Figure:
    """One method on one graph; milliseconds."""

    what: str
    graph: str
    n: int
    m: int
    method: str
    threads: int
    median: float
    runs: int
    equal: bool


def kinds() -> Iterator[tuple[str, sssp.Graph]]:
    """Yield graphs of all kinds that a search may meet, with their names."""
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


def measured(
    what: str, name: str, graph: sssp.Graph, calls: Mapping[str, Callable[[], Any]], threads: int
) -> list[Figure]:
    """Time calls in turn."""
    times: dict[str, list[float]] = {method: [] for method in calls}
    # (the first ones compile)
    answers = {method: call().distances for method, call in calls.items()}
    expected = next(iter(answers.values()))
    for _ in range(RUNS):
        for method, call in calls.items():
            start = perf_counter()
            call()
            times[method].append(1000 * (perf_counter() - start))
    equal = {method: np.array_equal(found, expected) for method, found in answers.items()}
    return [
        Figure(what, name, graph.n, graph.m, method, threads, float(np.median(took)), RUNS, right)
        for (method, took), right in zip(times.items(), equal.values(), strict=True)
    ]


def one_source() -> Iterator[list[Figure]]:
    """Every search on every kind of graph, by one thread."""
    for name, graph in kinds():
        call = partial(sssp.shortest_paths, graph, graph.n // 2, device="cpu", threads=1)
        calls = {method: partial(call, method=method) for method in SEARCHES}
        yield measured("one source", name, graph, calls, 1)


def all_pairs() -> Iterator[list[Figure]]:
    """Floyd-Warshall beside searches from every vertex, by all threads."""
    for n in DENSE:
        for degree in DEGREES:
            graph = random_graph(n, degree)
            call = partial(sssp.all_pairs, graph, device="cpu")
            methods = ("floyd-warshall", "delta-stepping")
            calls = {method: partial(call, method=method) for method in methods}
            name = f"random, {degree} arcs a vertex"
            yield measured("all pairs", name, graph, calls, usable_cores())


def cells(figures: Sequence[Figure]) -> list[str]:
    """One line for the methods on one graph."""
    first = figures[0]
    shown = [f"{figure.method} {figure.median:.2f}" for figure in figures]
    wrong = [figure.method for figure in figures if not figure.equal]
    return [first.what, first.graph, f"{first.n:,}", ", ".join(shown), ", ".join(wrong) or "equal"]


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any answer differs."""
    options = options_of(__doc__).parse_args()
    settings = {"runs": RUNS, "seed": SEED, "clock": "wall, milliseconds"}
    record = Record(settings, ["call", "graph", "n", "ms by method", ""])
    for figures in (*one_source(), *all_pairs()):
        record.add(figures, cells(figures))
    return record.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
