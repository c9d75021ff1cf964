"""Benchmark tables of one-source searches: published results of a thesis, and our measurements.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), measured on an RTX 2080 and a
Xeon 8255C: figure 5-1 (Dijkstra) and table 5-2 (Bellman-Ford).
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sssp import Graph, datasets
from sssp.apps.terminal.arguments import BUILT_IN, NamedGraph
from sssp.bench.harness import BenchPlan, BenchTable, Harness, Ours
from sssp.bench.papers.baselines import BaselineBellmanFord, BaselineDijkstra
from sssp.bench.report import BenchReport, Cell, Measurement, summarize
from sssp.bench.workloads import Workload, choose_first
from sssp.methods import BellmanFord, Dijkstra, ThresholdDijkstra

#: relaxations of the serial Bellman-Ford from which one trial has to do
MANY_RELAXATIONS = 10**9
#: figure 5-1: how many times as fast threshold-dijkstra on the GPU is as Dijkstra with an open
#: set, on average and, at least, at best; the figure gives no times
PUBLISHED = {"thesis average x": 1.75, "thesis best x over": 3.0}
#: the graphs of figure 5-1
ROAD_GRAPHS = tuple(f"USA-road-d.{region}" for region in ("NY", "BAY", "COL", "FLA", "NW"))
#: vertices of the built-in graph that stands in for them, as many as New York has
STAND_IN = 264_346
#: weights of the random graphs are drawn from 1 to this
GREATEST_WEIGHT = 1000


@dataclass(frozen=True)
class RandomGraph:
    """A random graph of a thesis: its size, and its published times in milliseconds."""

    n: int
    m: int
    serial: float
    gpu: float


#: table 5-2
RANDOM_GRAPHS = (
    RandomGraph(10, 34, 0.028, 0.31),
    RandomGraph(1_000, 18_555, 270.3, 8.227),
    RandomGraph(5_000, 122_984, 8_799.9, 45.855),
    RandomGraph(10_000, 489_476, 68_532.7, 133.717),
    RandomGraph(5_000, 1_242_105, 84_488.6, 238.185),
)


def random_graph(n: int, m: int, seed: int = 0) -> Graph:
    """Make a random directed graph in which vertex 0 reaches all others.

    First every vertex but 0 gets an arc from a random vertex of smaller number (a random
    recursive tree); the other arcs are drawn evenly from all pairs of different vertices, and
    drawn anew where a pair has one already: there are no parallel arcs. Weights are integers,
    evenly from 1 to `GREATEST_WEIGHT`.
    """
    if not n - 1 <= m <= n * (n - 1):
        raise ValueError(f"{n} vertices take {n - 1} to {n * (n - 1)} distinct arcs, not {m}")
    random = np.random.default_rng(seed)
    heads = np.arange(1, n)
    # an arc is one number: the tail, and the head's place among the other vertices
    arcs = random.integers(0, heads) * (n - 1) + heads - 1
    while arcs.size < m:
        arcs = np.unique(np.append(arcs, random.integers(0, n * (n - 1), m - arcs.size)))
    tails, heads = np.divmod(arcs, n - 1)
    heads += heads >= tails
    return Graph.from_arcs(tails, heads, random.integers(1, GREATEST_WEIGHT + 1, m), n=n)


class Thesis(BenchTable):
    """Benchmark table: our Dijkstra and Bellman-Ford compared with results of a 2022 thesis."""

    def __init__(self, plan: BenchPlan, options: Namespace, report: BenchReport) -> None:
        super().__init__(plan, options, report)
        serial = [Ours(method) for method in (BaselineDijkstra(), Dijkstra(), ThresholdDijkstra())]
        self._dijkstra = Harness([*serial, Ours(ThresholdDijkstra(), "cuda")], (), plan)
        serial = [Ours(method) for method in (BaselineBellmanFord(), BellmanFord())]
        on_gpu = [Ours(BellmanFord(variant="pull"), "cuda"), Ours(BellmanFord(), "cuda")]
        self._bellman_ford = Harness([*serial, *on_gpu], (), plan)
        roads = (len(ROAD_GRAPHS) + 1) * (self._dijkstra.steps + 1)
        self.steps = roads + len(RANDOM_GRAPHS) * (self._bellman_ford.steps + 1)

    def measure(self) -> None:
        """Time our methods for figure 5-1 (Dijkstra) and table 5-2 (Bellman-Ford) of a thesis."""
        self._dijkstra.progress = self._bellman_ford.progress = self.progress
        comparison = self.compare(
            "Thesis, figure 5-1: Dijkstra with an open set against threshold-dijkstra, one source",
            "<graph|>n|>m|>baseline-dijkstra ms|>dijkstra ms|>threshold cpu ms|"
            ">threshold cuda ms|>x cpu|>x cuda|>phases|>thesis average x|"
            ">thesis best x over|<verified",
            "ms: median of one call from vertex n // 2, distances on the host; x: how many times\n"
            "as fast threshold-dijkstra is as baseline-dijkstra, a serial linear search over the\n"
            "open set. The thesis gives no times, only x of its GPU over its five graphs.",
        )
        origins = [NamedGraph(name, datasets.find(name)) for name in ROAD_GRAPHS]
        stand_in = NamedGraph(f"{BUILT_IN}:{STAND_IN}", size=STAND_IN)
        headings = ("baseline-dijkstra", "dijkstra", "threshold cpu", "threshold cuda")
        for origin in (*origins, stand_in):
            published: dict[str, Cell] = {} if origin is stand_in else {**PUBLISHED}
            if origin.path is None and origin is not stand_in:
                comparison.records.append(
                    {"graph": origin.name, "verified": "skipped", **published}
                )
                reason = "not on this machine; data/README.md says where to get it"
                comparison.remarks.append(f"{origin.name}: skipped: {reason}")
                continue
            self._dijkstra.progress(f"{origin.name}: loading")
            workload = self.load(origin, lambda graph: np.array([graph.n // 2]))
            measured, rows = self._measure(self._dijkstra, workload, headings)
            baseline, _, threshold, on_gpu = rows
            measured["phases"] = threshold.phases
            for heading, fast in (("x cpu", threshold), ("x cuda", on_gpu)):
                timed = not (baseline.skipped or fast.skipped)
                measured[heading] = baseline.median / fast.median if timed else None
            comparison.records.append(measured | published)
        self._measure_table()

    def _measure(
        self, harness: Harness, workload: Workload, headings: tuple[str, ...]
    ) -> tuple[dict[str, Cell], list[Measurement]]:
        """Measure a workload; return the cells of its table line, and the list of measurements."""
        rows = harness.measure(workload)
        self.report.rows += rows
        graph = workload.graph
        shared: dict[str, Cell] = {"graph": workload.name, "n": graph.n, "m": graph.m}
        times = zip(headings, rows, strict=True)
        for heading, row in times:
            shared[f"{heading} ms"] = None if row.skipped else 1000 * row.median
        return shared | {"verified": summarize(rows)}, rows

    def _measure_table(self) -> None:
        comparison = self.compare(
            "Thesis, table 5-2: Bellman-Ford on random graphs, one source",
            "<graph|>n|>m|>thesis serial ms|>thesis GPU ms|>baseline-bellman-ford ms|"
            ">bellman-ford ms|>pull cuda ms|>push cuda ms|<verified",
            "ms: median of one call from vertex 0. The thesis: Xeon 8255C and RTX 2080, on random\n"
            "graphs of its own; ours are seeded, every vertex reached, weights 1 to "
            f"{GREATEST_WEIGHT:,}.\nbaseline-bellman-ford, serial: n - 1 rounds over all arcs; "
            f"one trial from {MANY_RELAXATIONS:,} relaxations on.\ncuda: distances on the host; "
            "pull is the form of the thesis, push the modern one.",
        )
        random_graph(2, 2)  # compiles what makes graphs
        headings = ("baseline-bellman-ford", "bellman-ford", "pull cuda", "push cuda")
        for entry in RANDOM_GRAPHS:
            name = f"random-{entry.n}-{entry.m}"
            self._bellman_ford.progress(f"{name}: making")
            make = partial(random_graph, entry.n, entry.m, self.options.seed)
            many = entry.n * entry.m >= MANY_RELAXATIONS
            self._bellman_ford.plan = replace(self.plan, trials=1) if many else self.plan
            workload = self.make(name, make, choose_first)
            record, _ = self._measure(self._bellman_ford, workload, headings)
            record |= {"thesis serial ms": entry.serial, "thesis GPU ms": entry.gpu}
            comparison.records.append(record)
