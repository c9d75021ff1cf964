"""Measure where the GPU pays: whole calls on CPU and CUDA, from and to arrays of the host.

    python -m bench.devices [--only TEXT] [--largest 400_000_000] [--json FILE]

A figure is the median of seven calls (of fewer where they take seconds), with kernels compiled
and the graph on the device; the first call on a fresh graph, upload included, stands beside it.
On the CPU a call has 2, 16 or all threads, a long one all. First and last row are compared between
the devices. What driver, context and compilation take in a new process stands in front.
The rule of ``device="auto"`` (`sssp.engine.thresholds`) rests on these figures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import sssp
from bench.graphs import SEED, random_graph, real_graph
from bench.listing import Listing, make_parser
from sssp.bench.workloads import repeat, time_call
from sssp.engine.threads import usable_cores

RUNS = 7
#: seconds of calls after which there are no more
ENOUGH = 1.0
THREADS = (2, 16)
ROADS = (1_000, 10_000, 100_000, 1_000_000, 4_000_000)
SOURCES = (1, 4, 16, 64, 512)
REAL = "USA-road-d.NY"
#: of a prepared map: sources; targets of each; trips of a call
PREPARED_SOURCES = (1, 16, 64, 256, 1024)
PREPARED_TARGETS, TRIPS = 1000, (10_000, 100_000, 1_000_000)
#: more than stand at any vertex, if they are added up
MOST_JOBS = 100
#: share of the eccentricity that an isochrone reaches
REACH = 20
DENSE = (100, 300, 1000, 3000, 10_000)
CLOSURES = (300, 1000, 3000, 10_000)
#: arcs per vertex of the random graphs
DEGREES = (4, 30)
#: entries of an answer, and steps of a dense method, beyond which few threads take too long
ENTRIES_OF_FEW, STEPS_OF_FEW = 5e7, 3e10

Call = Callable[..., Any]


Rows = list[dict[str, Any]]


@dataclass
class Case:
    """A call to time: ``call(graph, device=..., threads=...)``."""

    what: str
    name: str
    rows: int
    graph: sssp.Graph | sssp.Hierarchy
    call: Call
    few_threads: bool = True

    def measure(self) -> Rows:
        """Time the call on a fresh copy of the graph, and again, on CPU and CUDA."""
        expected, rows = None, []
        for place in self._places():
            graph = self.graph.with_weights(self.graph._tree_graph.weights)
            call = partial(self.call, graph, **place)
            first, result = time_call(call)
            if expected is None:
                expected = _ends(result)
            equal = bool(np.array_equal(_ends(result), expected))
            del result
            times = repeat(call, RUNS, ENOUGH)
            rows.append(self._row(place, first, float(np.median(times)), len(times), equal))
        return rows

    def _places(self) -> list[dict[str, Any]]:
        """Return keywords of the call: the CPU with all threads first."""
        cores = usable_cores()
        counts = [cores, *(count for count in THREADS if self.few_threads and count < cores)]
        return [*({"device": "cpu", "threads": count} for count in counts), {"device": "cuda"}]

    def _row(
        self, place: dict[str, Any], first: float, median: float, runs: int, equal: bool
    ) -> dict[str, Any]:
        """Return a row of the JSON, in milliseconds."""
        return {
            "what": self.what,
            "graph": self.name,
            "n": self.graph.n,
            "m": self.graph.m,
            "rows": self.rows,
            "device": place["device"],
            "threads": place.get("threads", 0),
            "first": 1000 * first,
            "median": 1000 * median,
            "runs": runs,
            "equal": equal,
        }


class Start(Case):
    """The first call of its kind in a process: driver, context and compiled kernels."""

    def measure(self) -> Rows:
        """Time the first call and the second on CUDA."""
        call = partial(self.call, self.graph, device="cuda")
        (first, _), (again, _) = time_call(call), time_call(call)
        return [self._row({"device": "cuda"}, first, again, 1, True)]


def _ends(result: Any) -> Any:
    """Return the first and last row of an answer."""
    answer = getattr(result, "distances", result)
    if isinstance(answer, np.ndarray):
        return np.atleast_1d(answer)[[0, -1]]
    return answer[[0, -1]].toarray()


def _paths(sources: Any, **options: Any) -> Call:
    return lambda graph, **place: sssp.shortest_paths(graph, sources, **options, **place)


def _pairs(method: str) -> Call:
    return lambda graph, **place: sssp.all_pairs(graph, method=method, **place)


def _sums(sources: Any, what: str = "sum", **options: Any) -> Call:
    return lambda graph, **place: sssp.reduce(graph, sources, what, **options, **place)


def _trips(sources: Any, targets: Any) -> Call:
    return lambda graph, **place: sssp.pairs(graph, sources, targets, **place)


def _sources(graph: sssp.Graph, count: int) -> Any:
    return np.random.default_rng(SEED).integers(0, graph.n, count)


def _few_threads(graph: sssp.Graph, rows: int) -> bool:
    return rows * graph.n <= ENTRIES_OF_FEW


def _starts() -> Iterator[Case]:
    graph = sssp.road_like(1000)
    calls = {
        "one source": _paths(0),
        "many sources": _paths(range(graph.n)),
        "trees": _paths(range(graph.n), predecessors=True),
        "bellman-ford": _paths(0, method="bellman-ford"),
        "floyd-warshall": _pairs("floyd-warshall"),
        "closure": sssp.transitive_closure,
    }
    for what, call in calls.items():
        yield Start(f"start, {what}", "road_like", 0, graph, call)
    hierarchy = sssp.prepare(graph, progress=False)
    for count in (1, 512):
        call = _paths(_sources(graph, count))
        yield Start(f"start, prepared, {count}", "road_like", count, hierarchy, call)


def _searches(name: str, graph: sssp.Graph) -> Iterator[Case]:
    """Yield delta-stepping from few sources and many."""
    for count in SOURCES:
        call = _paths(_sources(graph, count), method="delta-stepping")
        few = _few_threads(graph, count)
        yield Case("delta-stepping", name, count, graph, call, few)


def _forms(name: str, graph: sssp.Graph) -> Iterator[Case]:
    """Yield other methods, and other answers than dense distances."""
    far = sssp.shortest_paths(graph, graph.n // 2, device="cpu").distances
    limit = int(far.max()) // REACH
    forms: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
        ("bellman-ford", (1, 16), {"method": "bellman-ford"}),
        ("threshold-dijkstra", (1, 16, 64), {"method": "threshold-dijkstra"}),
        ("tree", (1, 16, 64), {"predecessors": True}),
        ("10 targets", (1, 64), {"targets": _sources(graph, 10)}),
        ("isochrones", (1, 64, 512, 4096), {"limit": limit, "output": "sparse"}),
        ("dense isochrones", (1, 64, 512), {"limit": limit}),
    ]
    for what, counts, options in forms:
        for count in counts:
            call = _paths(_sources(graph, count), **options)
            yield Case(what, name, count, graph, call, _few_threads(graph, count))
    for count in (1, 64, 512):
        call = _sums(_sources(graph, count))
        yield Case("sums", name, count, graph, call, _few_threads(graph, count))


def _prepared(name: str, graph: sssp.Graph) -> Iterator[Case]:
    """Yield calls on a prepared map: rows, trees, tables, sums of distances and of jobs, trips."""
    hierarchy = sssp.prepare(graph, progress=False)
    jobs = np.random.default_rng(SEED).integers(0, MOST_JOBS, graph.n)
    weighed: dict[str, Any] = {"what": "weight", "vertex_weights": jobs}
    for count in PREPARED_SOURCES:
        sources = _sources(graph, count)
        few = _few_threads(graph, count)
        yield Case("prepared", name, count, hierarchy, _paths(sources), few)
        yield Case("prepared, sums", name, count, hierarchy, _sums(sources))
        yield Case("prepared, jobs", name, count, hierarchy, _sums(sources, **weighed))
        call = _paths(sources, predecessors=True)
        yield Case("prepared, trees", name, count, hierarchy, call, few)
        call = _paths(sources, targets=_sources(graph, PREPARED_TARGETS))
        yield Case("prepared, targets", name, count, hierarchy, call)
    for count in TRIPS:
        trips = np.random.default_rng(SEED).integers(0, graph.n, (2, count))
        yield Case("prepared, trips", name, count, hierarchy, _trips(*trips))


def _all_pairs(n: int) -> Iterator[Case]:
    """Yield Floyd-Warshall, and searches from every vertex of graphs of several degrees."""
    few = n**3 <= STEPS_OF_FEW
    graphs = {f"random, degree {degree}": random_graph(n, degree) for degree in DEGREES}
    sparse = next(iter(graphs.values()))
    yield Case("floyd-warshall", "random", n, sparse, _pairs("floyd-warshall"), few)
    for name, graph in (graphs | {"road_like": sssp.road_like(n)}).items():
        yield Case("all by delta-stepping", name, n, graph, _pairs("delta-stepping"), few)


def _all_cases() -> Iterator[Case]:
    yield from _starts()
    for size in ROADS:
        yield from _searches("road_like", sssp.road_like(size))
    for n in DENSE:
        yield from _all_pairs(n)
    for n in CLOSURES:
        yield Case("closure", "random", n, random_graph(n, DEGREES[0]), sssp.transitive_closure)
    graph = real_graph(REAL)
    if graph is not None:
        yield from _searches(REAL, graph)
        yield from _forms(REAL, graph)
        yield from _prepared(REAL, graph)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="part of the names of call and graph")
    parser.add_argument(
        "--largest", type=int, default=400_000_000, help="leave out answers of more entries"
    )
    options = parser.parse_args()
    counts = list(dict.fromkeys((*THREADS, usable_cores())))
    threads = "".join(f"{count} threads, ms | " for count in counts)
    headings = f"call | graph | n | rows | {threads}CUDA, ms | first, ms | times as fast | "
    threads = "".join(f"{{threads_{count}:.2f}} | " for count in counts)
    cells = "{what} | {graph} | {n:,} | {rows:,} | " + threads
    cells += "{cuda:.2f} | {first:.2f} | {times:.2f} | {equal}"
    settings = {"runs": RUNS, "seed": SEED, "clock": "wall, milliseconds"}
    listing = Listing(settings, headings, cells)
    for case in _all_cases():
        small = case.rows * case.graph.n <= options.largest
        if not (small and options.only in f"{case.what}, {case.name}"):
            continue
        rows = case.measure()
        *on_cpu, cuda = rows
        shown = dict.fromkeys(f"threads_{count}" for count in counts)
        shown |= {f"threads_{row['threads']}": row["median"] for row in on_cpu}
        shown |= {"cuda": cuda["median"], "first": cuda["first"]}
        shown |= {"times": rows[0]["median"] / cuda["median"]}
        listing.add(*rows, **{**shown, "equal": all(row["equal"] for row in rows)})
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
