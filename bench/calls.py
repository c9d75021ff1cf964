"""Measure whole calls on the GPU by the caller's clock, beside the time that the GPU is busy.

    python -m bench.calls [GRAPH ...] [--only TEXT] [--runs N] [--json FILE]

A graph is a name that `sssp.datasets.find` knows, or a file; default USA-road-d.NY. "Called" is the
median time of warm calls, from Python to a synchronised device. "Busy" is the time in which kernels
or copies of one such call run, as PyTorch's profiler tells; empty without PyTorch. Every answer, or
some rows of it, is compared with that of the CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.graphs import SEED
from bench.listing import Listing, make_parser
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.workloads import repeat
from sssp.cuda.availability import select
from sssp.cuda.device_memory import pinned_array, upload
from sssp.cuda.driver import wait_for_device
from sssp.kernels.dtypes import INT32

GRAPH = "USA-road-d.NY"
#: timed calls, fewer if they take longer than so many seconds; calls before them
RUNS, LIMIT, WARM = 50, 5.0, 4
#: rows that are compared with the CPU's
CHECKED = 3
#: rows of a batch of trees; rows and columns of tables; streets that are closed; hours of a week
TREES, COLUMNS, TABLE, STREETS, WEEK = 256, 1_000, 10_000, 1_000, 168
HEADINGS = "graph | call | called, ms | GPU busy, ms | "
CELLS = "{graph} | {call} | {called:,.3f} | {busy:,.3f} | {equal}"


@dataclass(frozen=True)
class Call:
    """A call to time.

    Attributes
    ----------
    name : str
    ask : callable
        Asks, on a device, for what is drawn anew each time or stands fixed.
    is_right : callable
        Whether an answer is that of the CPU.
    """

    name: str
    ask: Callable[[], Any]
    is_right: Callable[[Any], bool]


class Calls:
    """The calls of the table, on one graph."""

    def __init__(self, graph: sssp.Graph) -> None:
        self.graph, self.hierarchy = graph, sssp.prepare(graph)
        self.random = np.random.default_rng(SEED)

    def __iter__(self) -> Iterator[Call]:
        yield from self.trees()
        yield from self.weights()
        yield from self.tables()
        yield from self.trips_and_numbers()
        yield from self.flat()
        yield from self.scenarios()

    def draw(self, count: int) -> NDArray[np.int64]:
        """Return random vertices."""
        return self.random.integers(0, self.graph.n, count)

    def ask(self, graph: Any, sources: Any, **options: Any) -> Any:
        """Ask for distances on the GPU."""
        return sssp.shortest_paths(graph, sources, device="cuda", progress=False, **options)

    def compare(self, graph: Any, sources: Any, targets: Any = None) -> Callable[[Any], bool]:
        """Return a function that compares the first rows of an answer with the CPU's."""
        some = np.asarray(sources)[:CHECKED]

        def is_right(found: Any) -> bool:
            tree = found.predecessors is not None
            right = sssp.shortest_paths(
                graph, some, targets=targets, device="cpu", predecessors=tree
            )
            found = found.to_host()
            equal = np.array_equal(found.distances[: some.size], right.distances)
            if tree:
                equal &= np.array_equal(found.predecessors[: some.size], right.predecessors)
            return bool(equal)

        return is_right

    def trees(self) -> Iterator[Call]:
        """Yield calls for whole rows, left on the device or copied to the host."""
        h, one, many = self.hierarchy, self.draw(1), self.draw(TREES)
        for name, sources in (("1 tree", one), (f"{TREES} trees", many)):
            is_right, places = self.compare(h, sources), pinned_array((sources.size, h.n), INT32)
            for where, options in (
                ("left on the device", {"output": "device"}),
                ("left there, with predecessors", {"output": "device", "predecessors": True}),
                ("to pinned memory", {"out": places}),
                ("to the host", {}),
            ):
                yield Call(
                    f"{name}, {where}",
                    partial(self.ask, h, sources, **options),
                    is_right,
                )

    def weights(self) -> Iterator[Call]:
        """Yield calls that set new weights each time and find a tree."""
        one, graph = self.draw(1), self.graph
        here = [self.random.integers(1, 2000, graph.m).astype(np.int32) for _ in range(2)]
        there = [upload(weights) for weights in here]
        for where, sets in (("host", here), ("device", there)):
            turns = iter(range(1 << 30))

            def weigh(sets: Any = sets, turns: Any = turns) -> Any:
                fresh = self.hierarchy.with_weights(sets[next(turns) % 2])
                return fresh, self.ask(fresh, one, output="device")

            def is_right(found: Any) -> bool:
                return self.compare(found[0], one)(found[1])

            yield Call(f"new weights of the {where}, 1 tree left there", weigh, is_right)

    def tables(self) -> Iterator[Call]:
        """Yield calls for tables to the same targets, and to new targets each time."""
        h = self.hierarchy
        for rows, columns in ((TREES, COLUMNS), (TABLE, TABLE)):
            sources, targets = self.draw(rows), self.draw(columns)

            def table(targets: Any, sources: Any = sources) -> Any:
                return targets, self.ask(h, sources, targets=targets, output="device")

            def is_right(found: Any, sources: Any = sources) -> bool:
                return self.compare(h, sources, found[0])(found[1])

            def draw_anew(columns: int = columns, ask: Any = table) -> Any:
                return ask(self.draw(columns))

            name = f"table {rows:,} x {columns:,}"
            if rows < TABLE:
                call = partial(table, targets)
                yield Call(f"{name}, the same targets", call, is_right)
            yield Call(f"{name}, others each time", draw_anew, is_right)

    def trips_and_numbers(self) -> Iterator[Call]:
        """Yield calls for trips, and for rows that are reduced to one number each."""
        h = self.hierarchy
        for count in (1, 1000):
            ends = self.draw(count), self.draw(count)

            def trips(device: str = "cuda", ends: Any = ends) -> Any:
                return sssp.pairs(h, *ends, device=device, progress=False)

            def is_right(found: Any, trips: Any = trips) -> bool:
                return np.array_equal(found.distances, trips("cpu").distances)

            yield Call(f"{count:,} trip{'s' * (count > 1)}", trips, is_right)
        sources = self.draw(TREES)
        for name, options in (
            ("eccentricity", {"what": "eccentricity"}),
            ("weight with a decay", {"what": "weight", "decay": ("exponential", 1e-4)}),
        ):

            def reduce(rows: Any = sources, device: str = "cuda", options: Any = options) -> Any:
                return sssp.reduce(h, rows, device=device, progress=False, **options)

            def is_close(found: Any, reduce: Any = reduce) -> bool:
                return np.allclose(found[:CHECKED], reduce(sources[:CHECKED], "cpu"), rtol=1e-12)

            yield Call(f"{name} of {TREES}", reduce, is_close)

    def flat(self) -> Iterator[Call]:
        """Yield searches on the graph itself."""
        for count, output in ((1, "device"), (1, "host"), (64, "device"), (256, "host")):
            sources = self.draw(count) if count > 1 else np.array([self.graph.n // 2])
            where = "left on the device" if output == "device" else "to the host"
            yield Call(
                f"flat, {count} source{'s' * (count > 1)}, {where}",
                partial(self.ask, self.graph, sources, output=output),
                self.compare(self.graph, sources),
            )

    def scenarios(self) -> Iterator[Call]:
        """Yield closed streets, and the weights of a week."""
        graph, h = self.graph, self.hierarchy
        homes, jobs = self.draw(COLUMNS), self.draw(COLUMNS)
        arcs = self.random.choice(graph.m, STREETS, replace=False)
        streets = np.stack((arcs, graph._twins[arcs]), axis=1)
        closed = np.iinfo(np.int64).max
        changes = [(street[street >= 0], closed) for street in streets]

        def access(versions: Any, device: str) -> Any:
            return sssp.reduce(versions, homes, "mean", targets=jobs, device=device, progress=False)

        def is_right(found: Any) -> bool:
            wanted = access(h.scenarios(changes[:CHECKED]), "cpu")
            return bool(np.array_equal(found[:CHECKED], wanted))

        yield Call(
            f"{STREETS:,} closed streets, mean of {COLUMNS:,} x {COLUMNS:,}",
            lambda: access(h.scenarios(changes, device="cuda"), "cuda"),
            is_right,
        )
        hours = [
            upload(np.maximum(graph.weights * part // 1000, 1).astype(np.int32))
            for part in self.random.integers(500, 2000, WEEK)
        ]
        sources = self.draw(TREES)

        def week(some: Any = hours, rows: Any = sources, device: str = "cuda") -> Any:
            versions = h.scenarios(some, device=device)
            return sssp.reduce(versions, rows, "eccentricity", device=device, progress=False)

        def is_like(found: Any) -> bool:
            wanted = week([hours[0].copy_to_host()], sources[:CHECKED], "cpu")
            return bool(np.array_equal(found[0][:CHECKED], wanted[0]))

        yield Call(f"a week: {WEEK} weights, {TREES} eccentricities each", week, is_like)


def busy_milliseconds(call: Callable[[], Any]) -> float | None:
    """Return the milliseconds that the GPU is busy with a call; None without PyTorch."""
    try:
        from torch.autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return None
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        call()
        wait_for_device()
    spans = sorted(
        (event.time_range.start, event.time_range.end)
        for event in record.events()
        if event.device_type == DeviceType.CUDA
    )
    busy, until = 0.0, 0.0
    for start, end in spans:
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy / 1e3


def measure(listing: Listing, name: str, calls: Calls, only: str, runs: int) -> None:
    """Print and keep a row for every call."""
    for call in calls:
        if only not in call.name:
            continue
        answer: list[Any] = [None]

        def ask(call: Call = call, answer: list[Any] = answer) -> None:
            answer[0] = call.ask()
            wait_for_device()

        repeat(ask, WARM, LIMIT)
        called = 1e3 * float(np.median(repeat(ask, runs, LIMIT)))
        equal, busy = call.is_right(answer[0]), busy_milliseconds(ask)
        listing.add(
            {"graph": name, "call": call.name, "called": called, "busy": busy, "equal": equal}
        )


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("graphs", nargs="*", type=find_graph, metavar="GRAPH")
    parser.add_argument("--only", default="", help="calls whose name has this in it")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of every call (default {RUNS})")
    options = parser.parse_args()
    listing = Listing({"seed": SEED, "runs": options.runs}, HEADINGS, CELLS)
    for graph in options.graphs or [find_graph(GRAPH)]:
        with select(0):
            measure(listing, graph.name, Calls(graph.load()), options.only, options.runs)
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
