"""Measure a prepared graph as large as a continent on GPUs, or all pairs of a smaller one.

    python -m bench.large [continent | grid] [--devices cuda:0,cuda:1] [--json FILE]
    python -m bench.large continent --country USA-road-d.NY --side 2 --sources 4096
    python -m bench.large colorado
    python -m bench.large FILE.gr.gz

``continent`` is 4 x 4 copies of NE-synthetic, ``grid`` a percolated grid of 5,000 x 5,000 places:
24 million vertices each, as for `bench.prepared`. Weights and batches of trees are measured as
`bench.sweeps` does it; then many rows are summed up, by one GPU and by all. That takes some
minutes, so every line is printed as soon as it is known, with the seconds since the start, and what
shows that answers are right comes early: trees are certified right after the first batch, of every
batch two rows are compared with searches on the graph, and the sums with those of these rows and
with each other.

Of Colorado (USA-road-d.COL), and of any other graph, all distances are found on one GPU: reduced to
the eccentricity of every vertex, written to pinned memory in blocks, and left on the device as far
as they fit. Some rows are compared with searches on the graph, and some trees certified.

Of the time, what it takes to compile counts for whatever comes first. Kernels can be compiled
meanwhile, beside the host's work:

    python -m sssp compile --device cuda --methods sweep --dtypes int32 &
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.graphs import SEED, SIDES, add_arguments, choose_maker
from bench.listing import Listing, make_parser
from bench.sweeps import CELLS, HEADINGS, RUNS, Bench
from sssp.calls.choose_device import named_devices
from sssp.cuda.availability import select
from sssp.cuda.device_memory import free_bytes, pinned_array, upload
from sssp.cuda.driver import wait_for_device
from sssp.kernels.dtypes import INT32

Vertices = NDArray[np.int64]

#: the largest comes first: what does not fit shows there
BATCHES = 256, 64, 32, 8, 1
#: first rows of every batch and sum, which are compared
CHECKED = 2
#: rows that are summed up, if the call names no number, and how often; rows that warm up every
#: device, so that it has memory for the largest batches
SOURCES, TIMES, WARMING = 16_384, 3, 1024
#: rows of all pairs that are written to the host together, and the part of the free memory of a
#: device that rows are left in
BLOCK, LEFT = 1024, 0.8


class Continent(Bench):
    """A large graph, and its measurements that take seconds.

    Sums are shared among `devices`; batches run on the first GPU there is.
    """

    def __init__(
        self,
        listing: Listing,
        name: str,
        graph: sssp.Graph,
        devices: list[str],
        sources: int,
    ) -> None:
        super().__init__(listing, name, graph)
        self.devices, self.sources = devices, sources

    def run(self) -> None:
        """Measure everything; sum up the rows of that many sources."""
        first = self.prepare()
        some = self.draw(CHECKED)
        known = self.time_call("rows on the CPU", CHECKED, lambda: self.search_graph(some), 0)
        with select(0):
            self.weigh_on_device(first.tree)
            for size in BATCHES:
                self.time_trees(self._beginning_with(some, size), known.distances[:size])
                if size == BATCHES[0]:
                    self.certify()
            self.weigh_from_host(0)
        sums = known.distances.sum(axis=1, dtype=np.int64, where=known.reached)
        self._sum_up(self._beginning_with(some, self.sources), sums)

    def _beginning_with(self, some: Vertices, count: int) -> Vertices:
        """Return a number of vertices that begin with given ones; the others are random."""
        found: Vertices = np.concatenate((some, self.draw(count)))[:count]
        return found

    def _sum_up(self, sources: Vertices, known: NDArray[np.int64]) -> None:
        """Sum the distances from all sources; compare those from the first sources."""

        def sums(devices: list[str], sources: Vertices = sources) -> NDArray[np.int64]:
            found: NDArray[np.int64] = sssp.reduce(
                self.hierarchy, sources, "sum", device=devices, progress=False
            )
            return found

        # (contexts, kernels, and the map on every device)
        for device in self.devices:
            self.time_call(
                f"first sums on {device}", WARMING, partial(sums, [device], sources[:WARMING]), 0
            )
        for devices in (self.devices[:1], self.devices)[: len(self.devices)]:
            known = self.time_call(
                f"sums, {', '.join(devices)}",
                sources.size,
                partial(sums, devices),
                TIMES,
                partial(_begins_with, known),
            )


class AllPairs(Bench):
    """The distances of all pairs of a graph, on the first GPU."""

    def run(self) -> None:
        """Measure everything."""
        self.prepare()
        graph, some = self.graph, self.draw(CHECKED)
        known = self.time_call("rows on the CPU", CHECKED, lambda: self.search_graph(some), 0)
        greatest, vertices = known.distances.max(axis=1), np.arange(graph.n)
        with select(0):
            weights = upload(graph.weights)

            def weigh_and_find() -> NDArray[np.int64]:
                return _eccentricities(self.hierarchy.with_weights(weights), vertices)

            def is_right(found: NDArray[np.int64]) -> bool:
                return bool(np.array_equal(found[some], greatest))

            find = partial(_eccentricities, self.hierarchy, vertices)
            self.time_call("every eccentricity", graph.n, find, TIMES, is_right)
            what = "new weights, then every eccentricity"
            self.time_call(what, graph.n, weigh_and_find, TIMES, is_right)
            self.certify()
            rows = min(graph.n, max(1, int(LEFT * free_bytes()) // (INT32.itemsize * graph.n)))
            self.time_call(
                "rows left on the device", rows, partial(self._leave, vertices[:rows]), 1
            )
            write = "every row to pinned memory"
            self.time_call(write, graph.n, self._write, 1, self._is_first_row)

    def _leave(self, sources: Vertices) -> None:
        """Find rows that stay on the device until they are dropped."""
        options: Any = {"device": "cuda", "output": "device", "progress": False}
        sssp.shortest_paths(self.hierarchy, sources, **options)
        wait_for_device()

    def _write(self) -> NDArray[np.int32]:
        """Write all rows to pinned memory in blocks, the first block last; return the first row."""
        n = self.graph.n
        block = pinned_array((min(BLOCK, n), n), INT32)
        for low in reversed(range(0, n, BLOCK)):
            sources = np.arange(low, min(low + BLOCK, n))
            out = block[: sources.size]
            sssp.shortest_paths(self.hierarchy, sources, device="cuda", out=out, progress=False)
        first: NDArray[np.int32] = block[0].copy()
        return first

    def _is_first_row(self, found: NDArray[np.int32]) -> bool:
        first = self.search_graph(np.zeros(1, np.int64)).distances[0]
        return bool(np.array_equal(found, first))


def _eccentricities(hierarchy: sssp.Hierarchy, vertices: Vertices) -> NDArray[np.int64]:
    found: NDArray[np.int64] = sssp.reduce(
        hierarchy, vertices, "eccentricity", device="cuda", progress=False
    )
    return found


def _begins_with(known: NDArray[np.int64], found: NDArray[np.int64]) -> bool:
    return bool(np.array_equal(found[: known.size], known[: found.size]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 if a figure is wrong."""
    parser = make_parser(__doc__)
    add_arguments(parser, any_graph=True)
    parser.add_argument("--devices", help="names with commas between (default: all GPUs)")
    parser.add_argument("--sources", type=int, default=SOURCES, help="whose rows are summed up")
    options = parser.parse_args(arguments)
    try:
        make = choose_maker(options)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    devices = options.devices.split(",") if options.devices else named_devices("cuda:all")
    settings = {"graph": options.kind, "side": options.side, "devices": devices}
    listing = Listing(settings | {"seed": SEED, "runs": RUNS}, HEADINGS, CELLS)
    graph = make()
    name = Path(options.kind).name
    bench: Continent | AllPairs
    if options.kind in SIDES:
        bench = Continent(listing, name, graph, devices, options.sources)
    else:
        bench = AllPairs(listing, name, graph)
    bench.add(f"make, n = {graph.n:,}", 1e3 * listing.seconds, clock="calls")
    bench.run()
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
