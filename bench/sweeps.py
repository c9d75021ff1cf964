"""Measure prepared maps on the GPU: sweeps by CUDA events, whole calls by the clock.

    python -m bench.sweeps [GRAPH ...] [--sources N] [--json FILE]

A graph is a name that `sssp.datasets.find` knows, or a file; default USA-road-d.NY. (Graphs of the
size of a continent: `bench.large`; calls beside what the GPU is busy: `bench.calls`.) The time of a
batch of trees on the device is the median of several replays of its launches as one CUDA graph,
from sources there to distances there, in the order of the vertices and side by side; calls are
timed from Python to Python. New weights are also timed stage by stage, from the lowest tier, of the
highest number, up and down again. Lines are printed as they are known, with the seconds since the
start. Some rows of every batch are compared with searches on the graph; two trees are certified.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.graphs import SEED
from bench.listing import Listing, make_parser, time_launches
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.workloads import repeat
from sssp.cuda.availability import cuda, select
from sssp.cuda.batch_size import MOST_ROWS
from sssp.cuda.device_memory import device_graph, pinned_array
from sssp.cuda.driver import Recording
from sssp.cuda.search_base import COUNTERS, Batch
from sssp.cuda.sweep.customization import (
    DeviceMap,
    DeviceMaps,
    Work,
    customize,
    device_map,
    together,
    working_memory,
)
from sssp.cuda.sweep.device_tree import DeviceTree
from sssp.cuda.sweep.lanes import LanesSearch
from sssp.cuda.sweep.target_selection import Packed, pack_streams
from sssp.cuda.sweep.transpose import TILE, TILE_ROWS, transpose_kernel
from sssp.kernels.dtypes import INT32, infinity, largest_distance, unreached

GRAPH = "USA-road-d.NY"
RUNS = 10
BATCHES = 256, 64, 32, 16, 8, 1
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
HEADINGS = "at, s | graph | what | ms | units | us a unit | clock | "
CELLS = (
    "{at:,.1f} | {graph} | {what} | {milliseconds:,.3f} | {units:,} | {each:,.4f} | {clock} | "
    "{equal}"
)


class Bench:
    """A prepared graph, and measurements for graphs of any size."""

    hierarchy: sssp.Hierarchy

    def __init__(self, listing: Listing, name: str, graph: sssp.Graph) -> None:
        self.listing, self.name, self.graph = listing, name, graph
        self.random = np.random.default_rng(SEED)

    def prepare(self) -> DeviceMap:
        """Prepare the graph, and copy it to the first device."""
        self.hierarchy = self.time_call("prepare", 1, lambda: sssp.prepare(self.graph), 0)
        with select(0):
            there: DeviceMap = self.time_call("first map on the device", 1, self.device_map, 0)
        bundles = there.tree.bundles
        print(
            f"{self.name}: top {bundles.top}, levels {bundles.levels.size - 1}, bundles "
            f"{np.diff(bundles.tiers).tolist()}, {there.nbytes / 1e6:,.0f} MB on the device",
            file=sys.stderr,
        )
        return there

    def device_map(self) -> DeviceMap:
        """Return the map on the current device."""
        return device_map(self.hierarchy, INT32, 0)

    def draw(self, count: int) -> Any:
        """Return random vertices."""
        return self.random.integers(0, self.graph.n, count)

    def search_graph(self, sources: Any, *, with_tails: bool = False) -> sssp.ShortestPaths:
        """Search the graph itself, on the CPU."""
        return sssp.shortest_paths(
            self.graph, sources, device="cpu", dtype="int32", predecessors=with_tails
        )

    def add(
        self,
        what: str,
        milliseconds: float,
        units: int = 1,
        equal: bool | None = None,
        clock: str = "events",
    ) -> None:
        """Print and keep the time of all units: trees, entries or trips."""
        at, each = self.listing.seconds, 1e3 * milliseconds / units
        row = {"graph": self.name, "what": what, "milliseconds": milliseconds, "units": units}
        self.listing.add({**row, "clock": clock, "equal": equal, "at": at}, each=each)

    def time_call(
        self,
        what: str,
        units: int,
        call: Callable[[], Any],
        runs: int = 3,
        is_right: Callable[[Any], bool] | None = None,
    ) -> Any:
        """Time a call by the median of some runs after a first, and return its result.

        The first may compile; with no runs after it, it counts.
        """
        results: list[Any] = [None]

        def ask() -> None:
            results[0] = call()

        seconds = repeat(ask, 1 + runs)
        equal = None if is_right is None else is_right(results[0])
        self.add(what, 1e3 * float(np.median(seconds[min(runs, 1) :])), units, equal, "calls")
        return results[0]

    def replay(self, recording: Recording, stream: Any) -> float:
        """Return the milliseconds of a recording, the median of several replays."""
        times = [time_launches(stream, lambda: recording.replay(stream)) for _ in range(RUNS + 1)]
        return float(np.median(times[1:]))

    def weigh_on_device(self, tree: DeviceTree, *, by_stage: bool = False) -> None:
        """Time new weights that are on the device."""
        milliseconds = self.time_weights(tree, 1, by_stage=by_stage)
        self.add("new weights on the device", milliseconds, 1)

    def time_weights(self, tree: DeviceTree, count: int, *, by_stage: bool = False) -> float:
        """Return the milliseconds in which some sets of weights are customized together.

        And list those of every stage: alone again and again, it finds more in the cache.
        """
        maps = DeviceMaps(tree, INT32, count, shifted=False)
        sets = cuda.to_device(np.tile(self.graph.weights_as(INT32), (count, 1)))
        givers, memory = tree.givers(self.hierarchy._slots), working_memory(tree, INT32, count)
        work, stream = Work(memory, sets, givers, count), cuda.stream()
        customize(stream, maps, work)
        for name, stage in maps.stages() if by_stage else []:
            milliseconds = self.replay(Recording(partial(stage, work)), stream)
            what = f"{name}, of {count}"
            self.add(what, milliseconds, count)
        return self.replay(Recording(lambda own: customize(own, maps, work)), stream)

    def weigh_from_host(self, runs: int) -> None:
        """Time new weights from an array on the host, and compare a tree of them."""
        fresh, source = self.random.integers(1, 2000, self.graph.m), self.draw(1)

        def weigh() -> sssp.Hierarchy:
            other: sssp.Hierarchy = self.hierarchy.with_weights(fresh)
            device_map(other, INT32, 0)
            return other

        def is_right(other: sssp.Hierarchy) -> bool:
            found, expected = (
                sssp.shortest_paths(g, source, device=device).distances
                for g, device in ((other, "cuda"), (other.graph, "cpu"))
            )
            return bool(np.array_equal(found, expected))

        self.time_call("new weights, host to device", 1, weigh, runs, is_right)

    def time_trees(
        self, sources: Any, distances: Any, tails: Any = None, packed: Packed | None = None
    ) -> None:
        """Time a batch of trees on the device, to all vertices or to some targets.

        Parameters
        ----------
        sources : ndarray, int64
        distances : ndarray, shape (rows, n), int32
            Expected for the first of them, at least one.
        tails : ndarray, shape (rows, n), int32, optional
            Predecessors, if they are to be found too.
        packed : Packed, optional
            What is swept to some targets.
        """
        n, size, stream = self.graph.n, sources.size, cuda.stream()
        arcs = places = None
        if tails is not None:
            arcs = device_graph(self.graph, 0).arcs(self.graph, INT32, reverse=True)
        search = LanesSearch(self.device_map(), arcs, packed)
        scratch, lanes = search.allocate(size), search.lanes(size)
        if tails is not None:
            places = cuda.device_array(n * lanes, INT32)
        given = cuda.to_device(sources)
        batch = Batch(
            size,
            given,
            None,
            None,
            largest_distance(INT32),
            unreached(INT32),
            None,
            cuda.device_array((size, COUNTERS), np.int64),
            stream,
            places,
            given,
        )

        def launch(own: Any) -> None:
            there = replace(batch, stream=own)
            search.launch(there, scratch)
            if tails is not None:
                search.find_tails(there, lanes, scratch.swept, transposed=False)

        launch(stream)
        stream.synchronize()
        milliseconds = self.replay(Recording(launch), stream)
        what = f"{size} trees{'' if tails is None else ' with predecessors'} on the device"
        if packed is not None:
            targets = packed.selection.targets
            distances = distances[:, targets]
            what = f"{size} trees to {targets.size:,} targets on the device"
        equal = all(
            np.array_equal(_first_rows(search, batch, there, expected.shape), expected)
            for there, expected in ((scratch.swept, distances), (places, tails))
            if there is not None
        )
        self.add(what, milliseconds, size, equal)

    def certify(self) -> None:
        """Check some trees by their certificate."""

        def certified() -> bool:
            rows = sssp.shortest_paths(
                self.hierarchy, self.draw(CERTIFIED), predecessors=True, device="cuda"
            )
            sssp.verify(self.graph, rows)
            return True

        self.time_call("trees found and certified", CERTIFIED, certified, 0, bool)


def _first_rows(
    search: LanesSearch, batch: Batch, lanes: Any, shape: tuple[int, ...]
) -> NDArray[np.int32]:
    """Return the first rows of lanes only: all lanes of a continent take 25 GB.

    Parameters
    ----------
    search : LanesSearch
    batch : Batch
        That it has filled.
    lanes : device array, one axis
        Distances, or predecessors.
    shape : tuple of int
        Rows and columns: all vertices, or the targets.
    """
    nothing, packed = search.map.nothing[1], search.packed
    places = (
        (nothing, nothing)
        if packed is None
        else (packed.selection.wanted, packed.selection.columns)
    )
    rows = cuda.device_array(shape, INT32)
    grid = -(-shape[1] // TILE), -(-shape[0] // TILE)
    transpose_kernel[grid, (TILE, TILE_ROWS), batch.stream](
        lanes, np.uint32(search.lanes(batch.rows)), *places, infinity(INT32), unreached(INT32),
        batch.bound, search.map.shifts, batch.sources, rows,
    )  # fmt: skip
    found: NDArray[np.int32] = rows.copy_to_host(stream=batch.stream)
    batch.stream.synchronize()
    return found


class City(Bench):
    """A city or a country, with all measurements."""

    def __init__(self, listing: Listing, name: str, graph: sssp.Graph, sources: int | None) -> None:
        super().__init__(listing, name, graph)
        self.sources = sources

    def run(self) -> None:
        """Measure everything."""
        first = self.prepare()
        with select(0):
            self.weigh_on_device(first.tree, by_stage=True)
            self._weigh_sets(first.tree)
            self.weigh_from_host(3)
            for size in BATCHES:
                self._compare_trees(size)
            self._compare_trees(TREES, with_tails=True)
        self.certify()
        hierarchy, one = self.hierarchy, self.draw(1)
        ask: dict[str, Any] = {"device": "cuda", "progress": False}
        call = partial(sssp.shortest_paths, hierarchy, one, **ask)
        self.time_call("one tree, host to host", 1, call)
        pinned = partial(call, out=pinned_array((1, self.graph.n), INT32))
        self.time_call("one tree, to pinned memory", 1, pinned, CLICKS)
        self._close_bridges()
        self._keep_trees()
        for size in TABLES:
            self._time_table(size)
        chosen = np.arange(min(self.graph.n, self.sources or REDUCED))
        for what in ("eccentricity", "closeness"):
            reduced = partial(sssp.reduce, hierarchy, chosen, what, **ask)
            self.time_call(what, chosen.size, reduced, 1)
        starts, targets = self.draw(TRIPS), self.draw(TRIPS)
        self.time_call("trips", TRIPS, lambda: sssp.pairs(hierarchy, starts, targets, **ask))

    def _compare_trees(
        self, size: int, *, with_tails: bool = False, packed: Packed | None = None
    ) -> None:
        sources = self.draw(size)
        right = self.search_graph(sources[:CHECKED], with_tails=with_tails)
        self.time_trees(sources, right.distances, right.predecessors, packed)

    def _weigh_sets(self, tree: DeviceTree) -> None:
        """Time many sets of weights that are on the device."""
        count = together(tree, INT32, SETS)
        milliseconds = SETS / count * self.time_weights(tree, count, by_stage=True)
        self.add("sets of weights on the device", milliseconds, SETS)

    def _close_bridges(self) -> None:
        """Close one street after the other; find the mean way from homes to jobs."""
        graph, hierarchy = self.graph, self.hierarchy
        homes, jobs = self.draw(ENDS), self.draw(ENDS)
        arcs = self.random.choice(graph.m, BRIDGES, replace=False)
        streets = np.stack((arcs, graph._twins[arcs]), axis=1)  # (-1 where there is no way back)
        closed = np.iinfo(np.int64).max
        changes = [(street[street >= 0], closed) for street in streets]

        def access(versions: Any, device: str) -> Any:
            return sssp.reduce(versions, homes, "mean", targets=jobs, device=device, progress=False)

        def is_right(found: Any) -> bool:
            wanted = access(hierarchy.scenarios(changes[:COMPARED]), "cpu")
            return bool(np.array_equal(found[:COMPARED], wanted))

        self.time_call(
            "closed bridges, mean access of homes to jobs",
            BRIDGES,
            lambda: access(hierarchy.scenarios(changes, device="cuda"), "cuda"),
            1,
            is_right,
        )

    def _keep_trees(self) -> None:
        """Time trees that stay on the device, and sums along them."""
        call = partial(
            sssp.shortest_paths,
            self.hierarchy,
            self.draw(TREES),
            device="cuda",
            output="device",
            progress=False,
        )
        self.time_call("trees", TREES, call)
        trees = self.time_call("trees with predecessors", TREES, partial(call, predecessors=True))
        values = self.random.integers(0, 1000, self.graph.m)
        volumes = trees.skim(values)
        self.time_call("skim along trees on the device", TREES, lambda: trees.skim(values))
        self.time_call("load onto trees on the device", TREES, lambda: trees.load(volumes))

    def _time_table(self, size: int) -> None:
        """Time tables that are left on the device, to the same targets and to others each time."""
        hierarchy, sources, targets = self.hierarchy, self.draw(size), self.draw(size)

        def table(targets: Any) -> Any:
            return sssp.shortest_paths(
                hierarchy, sources, targets=targets, device="cuda", output="device", progress=False
            )

        def is_right(found: Any) -> bool:
            rows = slice(CHECKED)
            expected = self.search_graph(sources[rows]).distances[:, targets]
            return bool(np.array_equal(found.to_host().distances[rows], expected))

        what = f"table {size:,} x {size:,}"
        # (the first few calls prepare a repeated question)
        self.time_call(what, size * size, lambda: table(targets), RUNS, is_right)
        self.time_call(f"{what}, other targets", size * size, lambda: table(self.draw(size)))
        with select(0):
            there = self.device_map()
            packed = there.selected.of(there.tree.selections.of(there.tree, targets))
            self._compare_trees(min(size, MOST_ROWS), packed=packed)
            recording = Recording(lambda own: pack_streams(own, packed, there.streams))
            times = self.replay(recording, cuda.stream())
            self.add(f"streams of {size:,} targets", times, 1)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("graphs", nargs="*", type=find_graph, metavar="GRAPH")
    parser.add_argument("--sources", type=int, help="of reductions (default all of a city)")
    options = parser.parse_args()
    listing = Listing({"seed": SEED, "runs": RUNS}, HEADINGS, CELLS)
    for graph in options.graphs or [find_graph(GRAPH)]:
        City(listing, graph.name, graph.load(), options.sources).run()
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
