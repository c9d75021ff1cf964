"""Measure delta-stepping on the GPU by CUDA events: one source, many, and isochrones.

    python bench/delta_stepping.py [--side 5200] [--json FILE]

Measured are NY, NE-synthetic (where `sssp.datasets.find` finds them) and a grid that is made
here. A figure is the median of ten runs, from distances cleared to distances in device memory;
what clearing takes is told beside it. Of every figure three rows are compared with the CPU's.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sssp
from bench.graphs import percolated_grid
from sssp import datasets
from sssp._dtypes import INT32, largest_distance, unreached
from sssp.bench.machine import hardware, versions
from sssp.cuda._memory import device_graph
from sssp.cuda._numba import cuda
from sssp.cuda._rows import COUNTERS, Batch
from sssp.cuda.delta_stepping import _DeltaSearch

RUNS = 10
RANDOM_SOURCES = 10
SEED = 1
#: rows compared with the CPU's
CHECKED = 3
#: share of the diameter that an isochrone reaches
REACH = 20


@dataclass
class Figure:
    """One line of the table; times in milliseconds, of the whole call."""

    graph: str
    what: str
    sources: int
    median: float
    fastest: float
    clearing: float
    expanded: float
    phases: float
    hops: float
    equal: bool


class Bench:
    """The search on one graph."""

    def __init__(self, name: str, graph: sssp.Graph) -> None:
        self.name, self.graph = name, graph
        self.on_device = device_graph(graph, 0)
        self.search = _DeltaSearch(graph, self.on_device, INT32, None)
        self.stream = cuda.stream()

    def measure(
        self, what: str, sources: NDArray[np.int64], limit: int | None = None, runs: int = RUNS
    ) -> Figure:
        """Time a batch of sources."""
        rows, n = sources.size, self.graph.n
        batch = Batch(
            cuda.to_device(sources),
            cuda.to_device(np.arange(rows + 1)),
            cuda.to_device(np.empty(0, np.int64)),
            largest_distance(INT32) if limit is None else INT32.type(limit),
            unreached(INT32),
            cuda.device_array((rows, n), INT32),
            cuda.device_array((rows, COUNTERS), np.int64),
            self.stream,
        )
        scratch = self.search.allocate(rows)
        times = [self._run(batch, scratch) for _ in range(runs + 1)][1:]  # the first compiles
        clearing, searching = np.array(times).T
        counters = batch.counters.copy_to_host().mean(axis=0)
        found = batch.distances[:CHECKED].copy_to_host()
        expected = sssp.shortest_paths(
            self.graph, sources[:CHECKED], limit=limit, device="cpu", dtype="int32"
        )
        return Figure(
            self.name,
            what,
            rows,
            float(np.median(searching)),
            float(searching.min()),
            float(np.median(clearing)),
            float(counters[0] / n),
            float(counters[1]),
            float(counters[3]),
            bool((found == expected.distances).all()),
        )

    def _run(self, batch: Batch, scratch: tuple[Any, ...]) -> tuple[float, float]:
        start, cleared, end = (cuda.event() for _ in range(3))
        start.record(self.stream)
        batch.fill(batch.distances, batch.unseen)
        batch.fill(batch.counters, 0)
        cleared.record(self.stream)
        self.search.launch(batch, scratch)
        end.record(self.stream)
        end.synchronize()
        return cuda.event_elapsed_time(start, cleared), cuda.event_elapsed_time(cleared, end)

    def one_source(self) -> list[Figure]:
        """From vertex n // 2, and from the one that takes the median time of ten at random."""
        middle = self.measure("source n // 2", np.array([self.graph.n // 2]))
        others = [
            self.measure("median of 10 random sources", np.array([source]))
            for source in self._random(RANDOM_SOURCES)
        ]
        others.sort(key=lambda figure: figure.median)
        typical = others[len(others) // 2]
        typical.equal = all(figure.equal for figure in others)
        return [middle, typical]

    def many_sources(self, count: int) -> Figure:
        """All in one batch."""
        return self.measure(f"{count:,} sources", self._random(count))

    def isochrones(self, count: int) -> Figure:
        """All in one batch, each up to a share of the diameter."""
        far = sssp.shortest_paths(self.graph, self.graph.n // 2, device="cpu").distances
        across = sssp.shortest_paths(self.graph, int(far.argmax()), device="cpu").distances
        limit = int(across.max()) // REACH
        return self.measure(f"{count:,} isochrones to {limit:,}", self._random(count), limit)

    def _random(self, count: int) -> NDArray[np.int64]:
        return np.random.default_rng(SEED).integers(0, self.graph.n, count)


def _all_figures(side: int) -> list[Figure]:
    figures = []
    for name, count in (("USA-road-d.NY", 1056), ("NE-synthetic", 264)):
        path = datasets.find(name)
        if path is None:
            print(f"{name} is not here; data/README.md says where to get it", file=sys.stderr)
            continue
        bench = Bench(name, sssp.read_graph(path))
        figures += [*bench.one_source(), bench.many_sources(count)]
        if name == "USA-road-d.NY":
            figures.append(bench.isochrones(10_000))
    grid = percolated_grid(side, side)
    figures += Bench(f"grid of {grid.n:,} vertices", grid).one_source()
    return figures


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=5200, help="of the grid, in vertices")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    figures = _all_figures(options.side)
    print("| graph | what | ms | us a source | clearing, us a source | expanded / n | hops | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for figure in figures:
        each = 1000 / figure.sources
        print(
            f"| {figure.graph} | {figure.what} | {figure.median:.2f} | {figure.median * each:.2f} "
            f"| {figure.clearing * each:.2f} | {figure.expanded:.3f} | {figure.hops:,.0f} "
            f"| {'equal' if figure.equal else 'WRONG'} |"
        )
    if options.json is not None:
        record = {
            "schema": 1,
            "command": ["python", "bench/delta_stepping.py", "--side", str(options.side)],
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(["numpy", "numba", "numba-cuda"]),
            "hardware": hardware(["cuda"]),
            "settings": {"runs": RUNS, "seed": SEED, "clock": "CUDA events, milliseconds"},
            "rows": [asdict(figure) for figure in figures],
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(figure.equal for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
