"""Time searches from one source on the GPU by CUDA events, with distances left on the device.

    python -m bench.searches [--method NAME] [--side 5200] [--json FILE]

Each method on the graphs that it is judged by: NY and NE-synthetic (where `sssp.datasets.find`
finds them), a grid that is made here, the largest graphs of the thesis. A figure is the median of
several runs, from distances cleared to distances in device memory; the time of
clearing stands beside it. Of every figure three rows are compared with the CPU's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.graphs import SEED, percolated_grid, real_graph
from bench.listing import Listing, make_parser, time_launches
from sssp.bench.papers.search_tables import RANDOM_GRAPHS, random_graph
from sssp.cuda.availability import cuda
from sssp.cuda.device_memory import DeviceGraph, device_graph
from sssp.cuda.search.bellman_ford.pull import PullSearch
from sssp.cuda.search.bellman_ford.push import PushSearch
from sssp.cuda.search.bellman_ford.streamed import StreamedSearch
from sssp.cuda.search.delta_stepping import _DeltaSearch
from sssp.cuda.search.threshold_dijkstra import _ThresholdSearch
from sssp.cuda.search_base import COUNTERS, Batch, Search
from sssp.kernels.dtypes import INT32, largest_distance, unreached
from sssp.methods import METHODS

#: timed runs of a figure, and of one that takes long
RUNS, FEW_RUNS = 10, 3
RANDOM_SOURCES = 10
#: rows compared with the CPU's
CHECKED = 3
#: share of the diameter that an isochrone reaches
REACH = 20
#: bytes of the arcs that may be on the device at a time: all
ROOMY = 1 << 40


HEADINGS = (
    "method | graph (n; m) | what | ms, median of so many runs | us a source | "
    "clearing, us a source | statistics of a row | "
)
CELLS = (
    "{name} | {graph} ({n:,}; {m:,}) | {what} | {median:.2f} of {runs} | {each:.2f} | "
    "{clearing_each:.2f} | {counts} | {equal}"
)

#: a row of the JSON; times in milliseconds, of the whole call, and statistics a source
Figure = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A method with its options, and the tasks to time it with on a graph."""

    method: str
    form: str
    #: ``search(graph, on_device, dtype)`` makes it
    search: Callable[[sssp.Graph, DeviceGraph, np.dtype[Any]], Search]
    #: a name of `_graph`
    graph: str
    tasks: Sequence[Callable[[Bench], Figure]]
    #: timed runs
    runs: int = RUNS


class Bench:
    """The search of a case, on its graph."""

    def __init__(self, case: Case, graph: sssp.Graph) -> None:
        self.case, self.graph = case, graph
        self.search = case.search(graph, device_graph(graph, 0), INT32)
        self.stream = cuda.stream()

    def middle(self) -> Figure:
        """Measure from vertex n // 2."""
        return self._measure("source n // 2", np.array([self.graph.n // 2]))

    def typical(self) -> Figure:
        """Measure from the random source of median time."""
        figures = [
            self._measure(f"median of {RANDOM_SOURCES} random sources", np.array([source]))
            for source in self._random(RANDOM_SOURCES)
        ]
        figures.sort(key=lambda figure: float(figure["median"]))
        equal = all(figure["equal"] for figure in figures)
        return {**figures[len(figures) // 2], "equal": equal}

    def batch(self, count: int) -> Figure:
        """Measure from many sources side by side."""
        return self._measure(f"{count:,} sources", self._random(count))

    def isochrones(self, count: int) -> Figure:
        """Measure from many sources, each search up to a share of the diameter."""
        far = sssp.shortest_paths(self.graph, self.graph.n // 2, device="cpu").distances
        across = sssp.shortest_paths(self.graph, int(far.argmax()), device="cpu").distances
        limit = int(across.max()) // REACH
        return self._measure(f"{count:,} isochrones to {limit:,}", self._random(count), limit)

    def _random(self, count: int) -> NDArray[np.int64]:
        return np.random.default_rng(SEED).integers(0, self.graph.n, count)

    def _measure(self, what: str, sources: NDArray[np.int64], limit: int | None = None) -> Figure:
        """Time a batch of sources, and compare some rows."""
        rows, n = sources.size, self.graph.n
        batch = Batch(
            rows,
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
        # the first compiles
        times = [self._run(batch, scratch) for _ in range(self.case.runs + 1)][1:]
        clearing, searching = np.array(times).T
        counters = batch.counters.copy_to_host().mean(axis=0).tolist()
        found = batch.distances[:CHECKED].copy_to_host()
        expected = sssp.shortest_paths(
            self.graph, sources[:CHECKED], limit=limit, device="cpu", dtype="int32"
        )
        return {
            "method": self.case.method,
            "form": self.case.form,
            "graph": self.case.graph,
            "n": n,
            "m": self.graph.m,
            "what": what,
            "sources": rows,
            "runs": self.case.runs,
            "median": float(np.median(searching)),
            "fastest": float(searching.min()),
            "clearing": float(np.median(clearing)),
            "statistics": dict(zip(METHODS[self.case.method].statistics, counters, strict=False)),
            "equal": bool((found == expected.distances).all()),
        }

    def _run(self, batch: Batch, scratch: tuple[Any, ...]) -> list[float]:
        """Return the milliseconds of clearing and of searching."""

        def clear() -> None:
            batch.fill(batch.distances, batch.unseen)
            batch.fill(batch.counters, 0)

        return time_launches(self.stream, clear, lambda: self.search.launch(batch, scratch))


# -- what is measured ----------------------------------------------------------------------------

NY, NE, GRID = "USA-road-d.NY", "NE-synthetic", "grid"
#: the two largest of table 5-2
THESIS = {f"random-{entry.n}-{entry.m}": entry for entry in RANDOM_GRAPHS[-2:]}
ONE_SOURCE = (Bench.middle, Bench.typical)


def _many(count: int) -> Callable[[Bench], Figure]:
    return partial(Bench.batch, count=count)


_delta_stepping = partial(Case, "delta-stepping", "", partial(_DeltaSearch, delta=None))


def _threshold_dijkstra(criterion: str, tasks: Sequence[Callable[[Bench], Figure]]) -> Case:
    search = partial(_ThresholdSearch, in_out=criterion == "in-out")
    return Case("threshold-dijkstra", criterion, search, NY, tasks)


def _streamed(streams: int) -> Case:
    search = partial(StreamedSearch, budget=ROOMY, streams=streams)
    return Case("bellman-ford", f"push, {streams} streams", search, NY, (Bench.middle,))


_push = partial(Case, "bellman-ford", "push", PushSearch)
_pull = partial(Case, "bellman-ford", "pull", PullSearch, tasks=(Bench.middle,), runs=FEW_RUNS)

CASES = (
    _delta_stepping(NY, (*ONE_SOURCE, _many(1056), partial(Bench.isochrones, count=10_000))),
    _delta_stepping(NE, (*ONE_SOURCE, _many(264))),
    _delta_stepping(GRID, ONE_SOURCE),
    _threshold_dijkstra("out", (*ONE_SOURCE, _many(1056))),
    _threshold_dijkstra("in-out", (Bench.middle,)),
    _push(NY, ONE_SOURCE),
    *(_streamed(streams) for streams in (1, 2, 4, 8)),
    _pull(NY),
    *(case for name in THESIS for case in (_push(name, (Bench.middle,)), _pull(name))),
)


@lru_cache(1)
def _graph(name: str, side: int) -> sssp.Graph | None:
    """Read or make a graph; None if its file is not here."""
    if name == GRID:
        return percolated_grid(side, side)
    if name in THESIS:
        return random_graph(THESIS[name].n, THESIS[name].m)
    return real_graph(name)


def _figures(methods: Sequence[str], side: int) -> Iterator[Figure]:
    """Measure all cases of some methods."""
    for case in CASES:
        if case.method not in methods:
            continue
        graph = _graph(case.graph, side)
        if graph is None:
            continue
        bench = Bench(case, graph)
        yield from (task(bench) for task in case.tasks)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    methods = list(dict.fromkeys(case.method for case in CASES))
    parser = make_parser(__doc__)
    parser.add_argument(
        "--method",
        dest="methods",
        action="append",
        choices=methods,
        metavar="NAME",
        help=f"{', '.join(methods)}; repeatable (default all)",
    )
    parser.add_argument("--side", type=int, default=5200, help="of the grid, in vertices")
    options = parser.parse_args()
    listing = Listing({"seed": SEED, "clock": "CUDA events, milliseconds"}, HEADINGS, CELLS)
    for figure in _figures(options.methods or methods, options.side):
        each = 1000 / figure["sources"]
        counts = (f"{name} {value:,.0f}" for name, value in figure["statistics"].items())
        listing.add(
            figure,
            name=f"{figure['method']} {figure['form']}".strip(),
            each=each * figure["median"],
            clearing_each=each * figure["clearing"],
            counts=", ".join(counts),
        )
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
