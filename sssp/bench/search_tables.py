"""Our own figures beside those of `sssp.papers.search_tables`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sssp import datasets
from sssp.apps.terminal.arguments import BUILT_IN, NamedGraph
from sssp.bench.harness import Harness, Ours, Plan, Row
from sssp.bench.report import Cell, Comparison, Report, verdict
from sssp.bench.workloads import Loader, recorded
from sssp.graph.graph import Graph
from sssp.methods import BellmanFord, Dijkstra, ThresholdDijkstra
from sssp.papers.methods import BaselineBellmanFord, BaselineDijkstra
from sssp.papers.search_tables import (
    GREATEST_WEIGHT,
    PUBLISHED_AVERAGE,
    PUBLISHED_BEST,
    RANDOM_GRAPHS,
    ROAD_GRAPHS,
    STAND_IN,
    RandomGraph,
    random_graph,
)

__all__ = ["Thesis"]

#: relaxations of the serial Bellman-Ford from which one trial has to do
MANY_RELAXATIONS = 10**9


class Thesis:
    """Measures both evaluations of the thesis into a report.

    Parameters
    ----------
    plan : Plan
    seed : int
        Of the random graphs.
    report : Report
        Gets graphs, rows and a `Comparison` for each evaluation.
    """

    def __init__(self, plan: Plan, seed: int, report: Report) -> None:
        self.plan = plan
        self.seed = seed
        self.report = report
        self._dijkstra = Harness(
            [
                Ours(BaselineDijkstra()),
                Ours(Dijkstra()),
                Ours(ThresholdDijkstra()),
                Ours(ThresholdDijkstra(), "cuda"),
            ],
            (),
            plan,
        )
        self._bellman_ford = Harness(
            [
                Ours(BaselineBellmanFord()),
                Ours(BellmanFord()),
                Ours(BellmanFord(variant="pull"), "cuda"),
                Ours(BellmanFord(), "cuda"),
            ],
            (),
            plan,
        )

    @property
    def steps(self) -> int:
        """Calls of `progress`, at most."""
        roads = (len(ROAD_GRAPHS) + 1) * (self._dijkstra.steps + 1)
        return roads + len(RANDOM_GRAPHS) * (self._bellman_ford.steps + 1)

    def measure(self, progress: Callable[[str], None]) -> None:
        """Measure everything; what is done by the time of an error stands in the report.

        ``progress(text)`` is told before every step what it is.
        """
        self._dijkstra.progress = self._bellman_ford.progress = progress
        self._measure_figure()
        self._measure_table()

    def _measure_figure(self) -> None:
        comparison = Comparison(
            "Thesis, figure 5-1: Dijkstra with an open set against threshold-dijkstra, one source",
            (
                "<graph",
                ">n",
                ">m",
                ">baseline-dijkstra ms",
                ">dijkstra ms",
                ">threshold cpu ms",
                ">threshold cuda ms",
                ">x cpu",
                ">x cuda",
                ">phases",
                ">thesis average x",
                ">thesis best x over",
                "<verified",
            ),
            "ms: median of one call from vertex n // 2, distances on the host; x: how many times\n"
            "as fast threshold-dijkstra is as baseline-dijkstra, a serial linear search over the\n"
            "open set. The thesis gives no times, only x of its GPU over its five graphs.",
        )
        self.report.comparisons.append(comparison)
        published: dict[str, Cell] = {
            "thesis average x": PUBLISHED_AVERAGE,
            "thesis best x over": PUBLISHED_BEST,
        }
        loader = Loader()
        for name in ROAD_GRAPHS:
            path = datasets.find(name)
            if path is None:
                comparison.records.append({"graph": name, **published, "verified": "skipped"})
                comparison.remarks.append(
                    f"{name}: skipped: not on this machine; data/README.md says where to get it"
                )
                continue
            record = self._road_record(loader, NamedGraph(name, path))
            comparison.records.append({**record, **published})
        stand_in = NamedGraph(f"{BUILT_IN}:{STAND_IN}", size=STAND_IN)
        comparison.records.append(self._road_record(loader, stand_in))

    def _road_record(self, loader: Loader, origin: NamedGraph) -> dict[str, Cell]:
        self._dijkstra.progress(f"{origin.name}: loading")
        workload, graph = loader.load(origin, _middle)
        self.report.graphs.append(graph)
        rows = self._dijkstra.measure(workload)
        self.report.rows += rows
        baseline, dijkstra, threshold, on_gpu = rows
        return {
            "graph": graph.name,
            "n": graph.n,
            "m": graph.m,
            "baseline-dijkstra ms": _milliseconds(baseline),
            "dijkstra ms": _milliseconds(dijkstra),
            "threshold cpu ms": _milliseconds(threshold),
            "threshold cuda ms": _milliseconds(on_gpu),
            "x cpu": _speed_up(baseline, threshold),
            "x cuda": _speed_up(baseline, on_gpu),
            "phases": threshold.phases,
            "verified": verdict(rows),
        }

    def _measure_table(self) -> None:
        comparison = Comparison(
            "Thesis, table 5-2: Bellman-Ford on random graphs, one source",
            (
                "<graph",
                ">n",
                ">m",
                ">thesis serial ms",
                ">thesis GPU ms",
                ">baseline-bellman-ford ms",
                ">bellman-ford ms",
                ">pull cuda ms",
                ">push cuda ms",
                "<verified",
            ),
            "ms: median of one call from vertex 0. The thesis: Xeon 8255C and RTX 2080, on random\n"
            "graphs of its own; ours are seeded, every vertex reached, weights 1 to "
            f"{GREATEST_WEIGHT:,}.\nbaseline-bellman-ford, serial: n - 1 rounds over all arcs; "
            f"one trial from {MANY_RELAXATIONS:,} relaxations on.\ncuda: distances on the host; "
            "pull is the form of the thesis, push the modern one.",
        )
        self.report.comparisons.append(comparison)
        random_graph(2, 2)  # compiles what makes graphs
        for entry in RANDOM_GRAPHS:
            comparison.records.append(self._random_record(entry))

    def _random_record(self, entry: RandomGraph) -> dict[str, Cell]:
        name = f"random-{entry.n}-{entry.m}"
        self._bellman_ford.progress(f"{name}: making")
        make = partial(random_graph, entry.n, entry.m, self.seed)
        workload, graph = recorded(name, None, make, _first)
        self.report.graphs.append(graph)
        many = entry.n * entry.m >= MANY_RELAXATIONS
        self._bellman_ford.plan = replace(self.plan, trials=1) if many else self.plan
        rows = self._bellman_ford.measure(workload)
        self.report.rows += rows
        baseline, frontier, pull, push = rows
        return {
            "graph": name,
            "n": graph.n,
            "m": graph.m,
            "thesis serial ms": entry.serial,
            "thesis GPU ms": entry.gpu,
            "baseline-bellman-ford ms": _milliseconds(baseline),
            "bellman-ford ms": _milliseconds(frontier),
            "pull cuda ms": _milliseconds(pull),
            "push cuda ms": _milliseconds(push),
            "verified": verdict(rows),
        }


def _middle(graph: Graph) -> NDArray[np.int64]:
    return np.array([graph.n // 2])


def _first(graph: Graph) -> NDArray[np.int64]:
    return np.array([0])


def _milliseconds(row: Row) -> float | None:
    return None if row.skipped else 1000 * row.median


def _speed_up(slow: Row, fast: Row) -> float | None:
    return None if slow.skipped or fast.skipped else slow.median / fast.median
