"""Benchmark of `sssp.csgraph` against the functions of SciPy that it replaces.

Calls of the two alternate, so that the load of the machine is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csgraph as scipys
from scipy.sparse import csr_array

from sssp import csgraph, set_threads
from sssp.bench.harness import BenchTable
from sssp.bench.report import RIGHT, WRONG, Cell
from sssp.bench.workloads import alternate, name_road_graph

TITLE = "sssp.csgraph in place of scipy.sparse.csgraph"
NOTE = (
    "ms: median of calls that alternate, conversion of the matrix included; equal: whether the\n"
    "distances are the same, to the bit."
)
COLUMNS = "<function|<matrix|<asked for|>SciPy ms|>ms|>x|<equal"
#: vertices: of the graph where there is no real one, of dense matrices, of a small matrix
SIZE, DENSE, SMALL = 250_000, 1000, 100
SOURCES = 64
#: of the small matrix, so many a vertex; and seconds that its calls may take
ARCS, AT_LEAST = 4, 0.2
GREATEST_WEIGHT = 1000


#: function, name of the matrix, what is asked for, the matrix and the other arguments of a call
Case = tuple[str, str, str, Any, dict[str, Any]]


class DropIn(BenchTable):
    """Benchmark table: functions of `sssp.csgraph` and of SciPy, timed alternately."""

    steps = 10

    def measure(self) -> None:
        """Time every task with `sssp.csgraph` and with SciPy; compare their results."""
        comparison = self.compare(TITLE, COLUMNS, NOTE)
        if self.plan.threads is not None:
            set_threads(self.plan.threads)
        self.progress("loading")
        for function, name, asked, matrix, options in self._tasks():
            self.progress(f"{function}, {name}, {asked}")
            modules = (scipys, csgraph)
            calls = [partial(getattr(module, function), matrix, **options) for module in modules]
            expected, found = (call() for call in calls)  # (the first call compiles)
            if options.get("return_predecessors"):
                expected, found = expected[0], found[0]
            limits = self.plan.trials, AT_LEAST, self.plan.row_limit
            slow, fast = map(median, alternate(dict(enumerate(calls)), *limits).values())
            record: dict[str, Cell] = {"function": function, "matrix": name, "asked for": asked}
            record |= {"SciPy ms": 1000 * slow, "ms": 1000 * fast, "x": slow / fast}
            record["equal"] = RIGHT if np.array_equal(expected, found) else WRONG
            comparison.records.append(record)

    def _tasks(self) -> Iterator[Case]:
        draw: Any = partial(self.random.choice, replace=False)
        workload = self.load(name_road_graph(SIZE), lambda g: draw(g.n, min(g.n, SOURCES)))
        road, middle = workload.graph.to_scipy(), workload.graph.n // 2
        many = workload.sources
        trees = {"return_predecessors": True}
        yield "dijkstra", workload.name, "one source", road, {"indices": middle}
        yield "dijkstra", workload.name, "one tree", road, {"indices": middle, **trees}
        yield "dijkstra", workload.name, f"{many.size} sources", road, {"indices": many}
        size = min(DENSE, workload.graph.n)
        dense = self.random.integers(1, GREATEST_WEIGHT, (size, size)).astype(np.float64)
        yield "floyd_warshall", f"dense, n = {size}", "all", dense, {}
        yield "floyd_warshall", f"dense, n = {size}", "all, with trees", dense, trees
        tails = np.repeat(np.arange(SMALL), ARCS)
        heads = self.random.integers(0, SMALL, tails.size)
        weights = self.random.integers(1, GREATEST_WEIGHT, tails.size).astype(np.float64)
        small = csr_array((weights, (tails, heads)), shape=(SMALL, SMALL))
        name = f"sparse, n = {SMALL}"
        yield "dijkstra", name, "one source", small, {"indices": 0}
        yield "dijkstra", name, "one tree", small, {"indices": 0, **trees}
        yield "dijkstra", name, "all", small, {}
        yield "shortest_path", name, "one source", small, {"indices": 0}
