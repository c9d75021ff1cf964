"""Measure prepared maps on the GPU: sweeps by CUDA events, whole calls by the clock.

    python -m bench.sweeps [GRAPH ...] [--sources N] [--json FILE]

A graph is a name that `sssp.datasets.find` knows, a file, ``grid`` (a percolated grid of 5,000 x
5,000 places, the worst that a road network can be) or ``continent`` (16 copies of NE-synthetic);
default USA-road-d.NY. What a batch of trees takes on the device is the median of several replays of
its launches as one CUDA graph, from sources there to distances there, in the order of the vertices
and side by side; what calls take is from Python to Python. Lines are printed as they are known.
Some rows of every batch are compared with searches on the graph; two are certified.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from bench.common import Record, options_of
from bench.graphs import COUNTRY_SIZE, graph_called
from sssp.cuda.batch import COUNTERS, Batch
from sssp.cuda.compiler import Recording, cuda, select
from sssp.cuda.memory import device_graph, pinned_array
from sssp.hierarchy.cuda.resident import DeviceMap, DeviceMaps, DeviceTree, device_map
from sssp.hierarchy.cuda.rows import MOST_ROWS, LanesSearch
from sssp.hierarchy.cuda.selection import Packed
from sssp.kernels.dtypes import INT32, largest_distance, unreached

RUNS = 10
BATCHES = 256, 64, 32, 16, 8, 1
SEED = 1
#: calls for a tree to pinned memory, of which the median counts
CLICKS = 100
#: rows of a batch that are compared; rows that are certified
CHECKED, CERTIFIED = 4, 2
#: rows and columns of the tables
TABLES = 1_000, 10_000
#: sources of a reduction, if that are not all; trips of a call; trees with predecessors
REDUCED, TRIPS, TREES = 1 << 18, 1_000_000, 256
#: sets of weights that are customized together; streets that are closed in turn, homes and jobs,
#: and scenarios that are compared with the CPU
SETS, BRIDGES, ENDS, COMPARED = 64, 1000, 1000, 5


@dataclass
class Figure:
    """One line of the table; microseconds a unit (tree, entry, trip), milliseconds in all."""

    graph: str
    what: str
    milliseconds: float
    units: int
    clock: str
    equal: bool = True

    @property
    def each(self) -> float:
        """Microseconds a unit."""
        return 1e3 * self.milliseconds / self.units


class Bench:
    """A graph, and what is measured on it."""

    def __init__(self, record: Record, name: str, graph: sssp.Graph, sources: int | None) -> None:
        self.record, self.name, self.graph = record, name, graph
        self.random = np.random.default_rng(SEED)
        self.sources = sources

    def run(self) -> None:
        """Measure everything."""
        graph, n = self.graph, self.graph.n
        self.hierarchy = hierarchy = self._call("prepare", 1, lambda: sssp.prepare(graph))
        with select(0):
            first = device_map(hierarchy, INT32, 0)
            bundles = first.tree.bundles
            print(
                f"{self.name}: top {bundles.top}, levels {bundles.levels.size - 1}, bundles "
                f"{np.diff(bundles.tiers).tolist()}, {first.nbytes / 1e6:,.0f} MB on the device",
                file=sys.stderr,
            )
            self._weights(first)
            for size in BATCHES:
                if size * n * 4 <= 24 << 30:
                    self._trees(size)
            if n <= COUNTRY_SIZE:
                self._trees(TREES, with_tails=True)
        self.certify()
        ask: dict[str, Any] = {"device": "cuda", "progress": False}
        one = self._some(1)
        self._call("one tree, host to host", 1, lambda: sssp.shortest_paths(hierarchy, one, **ask))
        pinned = partial(
            sssp.shortest_paths, hierarchy, one, **ask, out=pinned_array((1, n), INT32)
        )
        self._call("one tree, to pinned memory", 1, pinned, CLICKS)
        if n > COUNTRY_SIZE:
            return
        self._close_bridges()
        trees = self._some(TREES)
        ask["output"] = "device"
        self._call("trees", TREES, lambda: sssp.shortest_paths(hierarchy, trees, **ask))
        self._call(
            "trees with predecessors",
            TREES,
            lambda: sssp.shortest_paths(hierarchy, trees, predecessors=True, **ask),
        )
        self._along(trees, ask)
        for size in TABLES:
            self._table(size)
        del ask["output"]
        chosen = np.arange(min(n, self.sources or REDUCED))
        for what in ("eccentricity", "closeness"):
            reduced = partial(sssp.reduce, hierarchy, chosen, what, **ask)
            self._call(what, chosen.size, reduced, 1)
        starts, targets = self._some(TRIPS), self._some(TRIPS)
        self._call("trips", TRIPS, lambda: sssp.pairs(hierarchy, starts, targets, **ask))

    def _weights(self, on_device: DeviceMap) -> None:
        """Time new weights: on the device, and from an array on the host."""
        tree, graph = on_device.tree, self.graph
        self._add(
            Figure(self.name, "new weights on the device", self._weighed(tree, 1), 1, "events")
        )
        count = tree.together(INT32, SETS)
        milliseconds = SETS / count * self._weighed(tree, count)
        self._add(Figure(self.name, "sets of weights on the device", milliseconds, SETS, "events"))
        fresh = self.random.integers(1, 2000, graph.m)

        def weigh() -> sssp.Hierarchy:
            other: sssp.Hierarchy = self.hierarchy.with_weights(fresh)
            device_map(other, INT32, 0)
            return other

        other = self._call("new weights, host to device", 1, weigh)
        source = self._some(1)
        rows = [
            sssp.shortest_paths(g, source, device=device).distances
            for g, device in ((other, "cuda"), (other.graph, "cpu"))
        ]
        self.record.rows[-1]["equal"] = equal = bool(np.array_equal(*rows))
        print(
            f"{self.name}: a tree of new weights is {'equal' if equal else 'WRONG'}",
            file=sys.stderr,
        )

    def _weighed(self, tree: DeviceTree, count: int) -> float:
        """Return the milliseconds in which some sets of weights are customized together."""
        maps = DeviceMaps(tree, INT32, count, shifted=False)
        givers, weights = tree.givers(self.hierarchy.slots), tree.weights(INT32, count)
        sets = cuda.to_device(np.tile(self.graph.weights_as(INT32), (count, 1)))

        def launch(own: Any) -> None:
            maps.launch(weights, sets, givers, own, count)

        stream = cuda.stream()
        launch(stream)
        return self._replayed(Recording(launch), stream)

    def _close_bridges(self) -> None:
        """Close one street after the other; find the mean way from homes to jobs."""
        graph, hierarchy = self.graph, self.hierarchy
        homes, jobs = self._some(ENDS), self._some(ENDS)
        arcs = self.random.choice(graph.m, BRIDGES, replace=False)
        streets = np.stack((arcs, graph._twins[arcs]), axis=1)  # (-1 where there is no way back)
        closed = np.iinfo(np.int64).max
        changes = [(street[street >= 0], closed) for street in streets]

        def access(versions: Iterable[sssp.Hierarchy], device: str) -> list[Any]:
            return [
                sssp.reduce(h, homes, "mean", targets=jobs, device=device, progress=False)
                for h in versions
            ]

        found = self._call(
            "closed bridges, mean access of homes to jobs",
            BRIDGES,
            lambda: access(hierarchy.scenarios(changes, device="cuda"), "cuda"),
            1,
        )
        wanted = access(hierarchy.scenarios(changes[:COMPARED]), "cpu")
        self.record.rows[-1]["equal"] = equal = bool(np.array_equal(found[:COMPARED], wanted))
        print(
            f"{self.name}: scenarios are {'equal' if equal else 'WRONG'}",
            file=sys.stderr,
        )

    def _replayed(self, recording: Recording, stream: Any) -> float:
        """Return the milliseconds of a recording, the median of several replays."""
        times = []
        for _ in range(RUNS + 1):
            start, end = cuda.event(), cuda.event()
            start.record(stream)
            recording.replay(stream)
            end.record(stream)
            end.synchronize()
            times.append(cuda.event_elapsed_time(start, end))
        return float(np.median(times[1:]))

    def _some(self, count: int) -> Any:
        return self.random.integers(0, self.graph.n, count)

    def _call(self, what: str, units: int, call: Callable[[], Any], runs: int = 3) -> Any:
        """Time a call; of several runs the median, after one that may compile."""
        several = what != "prepare"
        times = []
        for _ in range(1 + runs if several else 1):
            start = perf_counter()
            result = call()
            times.append(1e3 * (perf_counter() - start))
        self._add(Figure(self.name, what, float(np.median(times[-runs:])), units, "calls"))
        return result

    def _add(self, figure: Figure) -> None:
        cells = (
            figure.graph,
            figure.what,
            f"{figure.milliseconds:,.3f}",
            f"{figure.units:,}",
            f"{figure.each:,.4f}",
            figure.clock,
            "equal" if figure.equal else "WRONG",
        )
        self.record.add([figure], cells)

    def _table(self, size: int) -> None:
        """Time tables that are left on the device, to the same targets and to others each time."""
        hierarchy, sources, targets = self.hierarchy, self._some(size), self._some(size)

        def table(targets: Any) -> Any:
            return sssp.shortest_paths(
                hierarchy, sources, targets=targets, device="cuda", output="device", progress=False
            )

        what = f"table {size:,} x {size:,}"
        # (what is asked again is made ready by the first few calls)
        found = self._call(what, size * size, lambda: table(targets), RUNS)
        rows = slice(CHECKED)
        flat = sssp.shortest_paths(
            self.graph, sources[rows], targets=targets, device="cpu", dtype="int32"
        )
        equal = bool(np.array_equal(found.to_host().distances[rows], flat.distances))
        self.record.rows[-1]["equal"] = equal
        print(f"{self.name}: rows of it are {'equal' if equal else 'WRONG'}", file=sys.stderr)
        self._call(f"{what}, other targets", size * size, lambda: table(self._some(size)))
        with select(0):
            there = device_map(hierarchy, INT32, 0)
            packed = there.selected.of(there.tree.selections.of(there.tree, targets))
            self._trees(min(size, MOST_ROWS), packed=packed)
            recording = Recording(lambda own: packed.launch(there.streams, own))
            times = self._replayed(recording, cuda.stream())
            self._add(Figure(self.name, f"streams of {size:,} targets", times, 1, "events"))

    def _trees(self, size: int, *, with_tails: bool = False, packed: Packed | None = None) -> None:
        """Time a batch of trees on the device, with predecessors or without, or to some targets."""
        n, sources, stream = self.graph.n, self._some(size), cuda.stream()
        arcs, tails = None, None
        if with_tails:
            arcs = device_graph(self.graph, 0).arcs(self.graph, INT32, reverse=True)
        search = LanesSearch(device_map(self.hierarchy, INT32, 0), arcs, packed)
        scratch, lanes = search.allocate(size), search.lanes(size)
        if with_tails:
            tails = cuda.device_array(n * lanes, INT32)
        batch = Batch(
            size,
            cuda.to_device(sources),
            None,
            None,
            largest_distance(INT32),
            unreached(INT32),
            None,
            cuda.device_array((size, COUNTERS), np.int64),
            stream,
            tails,
        )

        def launch(own: Any) -> None:
            there = replace(batch, stream=own)
            search.fill(there, scratch)
            if with_tails:
                search.find_tails(there, lanes, scratch[-1], turned=False)

        launch(stream)
        stream.synchronize()
        milliseconds = self._replayed(Recording(launch), stream)
        rows = slice(min(size, CHECKED))
        flat = sssp.shortest_paths(
            self.graph, sources[rows], device="cpu", dtype="int32", predecessors=with_tails
        )
        equal = True
        for there, expected in ((scratch[-1], flat.distances), (tails, flat.predecessors)):
            if there is not None:
                found = there.reshape((search.size, lanes))[:, rows].copy_to_host().T
                if packed is not None:
                    places = packed.selection.columns.copy_to_host()
                    found, expected = found[:, places], expected[:, packed.selection.targets]
                equal = equal and bool(np.array_equal(found, expected))
        what = f"{size} trees{' with predecessors' if with_tails else ''} on the device"
        if packed is not None:
            what = f"{size} trees to {packed.selection.targets.size:,} targets on the device"
        self._add(Figure(self.name, what, milliseconds, size, "events", equal))

    def _along(self, sources: Any, ask: dict[str, Any]) -> None:
        """Time sums along trees that stay on the device."""
        trees = sssp.shortest_paths(self.hierarchy, sources, predecessors=True, **ask)
        values = self.random.integers(0, 1000, self.graph.m)
        volumes = trees.skim(values)
        self._call("skim along trees on the device", TREES, lambda: trees.skim(values))
        self._call("load onto trees on the device", TREES, lambda: trees.load(volumes))

    def certify(self) -> None:
        """Check some trees by their certificate."""
        rows = sssp.shortest_paths(
            self.hierarchy, self._some(CERTIFIED), predecessors=True, device="cuda"
        )
        sssp.verify(self.graph, rows)
        print(f"{self.name}: {CERTIFIED} trees are certified", file=sys.stderr)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = options_of(__doc__)
    parser.add_argument("graphs", nargs="*", default=["USA-road-d.NY"], metavar="GRAPH")
    parser.add_argument("--sources", type=int, help="of reductions (default all of a city)")
    options = parser.parse_args()
    record = Record(
        {"seed": SEED, "runs": RUNS},
        ("graph", "what", "ms", "units", "us a unit", "clock", ""),
    )
    for name in options.graphs:
        graph = graph_called(name)
        if graph is not None:
            Bench(record, name, graph, options.sources).run()
    return record.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
