"""Make a graph as large as a continent, prepare it, check it, and time its calls.

    python -m bench.prepared [continent | grid] [--side N] [--threads T] [--json FILE]
    python -m bench.prepared continent --country USA-road-d.NY --side 2

``continent`` is 4 x 4 copies of NE-synthetic (`sssp.datasets.find`), 24.4 million vertices, whose
separators are as small as a real map's; ``grid`` a percolated grid of 5,000 x 5,000 places, 24
million vertices, with separators of thousands: the worst that a road network can be. Every line is
printed as soon as it is known. Code is compiled
on a small graph before the clock runs; of calls that take long there is one.

Checked are, of rows of the prepared graph: `sssp.verify`, and equality with the search on the
graph; of tables and trips: the latter, of some rows and trips, too few for landmarks. Memory is
the greatest that the process has held so far.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

import sssp
from bench.graphs import add_arguments, choose_maker
from bench.listing import Listing, make_parser
from sssp.bench.prepared_maps import (
    ask_ours,
    count_bytes,
    draw_questions,
    preparing_pays_after,
)
from sssp.bench.workloads import time_call
from sssp.kernels.dtypes import INT32

#: vertices of the graph that compiles
SMALL = 5000
#: sources and targets of the table; rows and trips that are compared with searches on the graph
TABLE, CHECKED, CHECKED_TRIPS = 1000, 2, 20
SEED = 1
MEGABYTE = 10**6


HEADINGS = "what | s | ms each | peak MB | "
CELLS = "{what} | {seconds:,.3f} | {milliseconds:,.3f} | {megabytes:,.0f} | {note}"


class Run:
    """The measured steps from making a graph to calls on it."""

    def __init__(self, listing: Listing, threads: int | None) -> None:
        self.listing, self.threads = listing, threads
        self.random = np.random.default_rng(SEED)

    def add(
        self, what: str, seconds: float, remark: str = "", count: int = 0, equal: bool = True
    ) -> None:
        """Print and keep a line, with the greatest memory so far."""
        each, peak = seconds / count if count else None, _read_peak()
        row = {"what": what, "seconds": seconds, "each": each, "peak": peak, "remark": remark}
        self.listing.add(
            {**row, "equal": bool(equal)},
            milliseconds=None if each is None else 1e3 * each,
            megabytes=None if peak is None else peak / MEGABYTE,
            note=remark if equal else f"WRONG; {remark}",
        )

    def measure(self, make: Callable[[], sssp.Graph]) -> None:
        """Make, prepare, check and time."""
        seconds, graph = time_call(make)
        self.add("make", seconds, f"n = {graph.n:,}, m = {graph.m:,}, {graph.weights.dtype}")
        hierarchy, preparing = self.prepare(graph)
        self.weigh(hierarchy)
        self.check(hierarchy)
        self.ask(hierarchy, preparing)

    def prepare(self, graph: sssp.Graph) -> tuple[sssp.Hierarchy, float]:
        """Prepare the graph, save it and read it back; return it, and the seconds of preparing."""
        threads = self.threads
        preparing, hierarchy = time_call(lambda: sssp.prepare(graph, threads=threads))
        structure = hierarchy._structure
        weights = hierarchy._layered(INT32)
        held = [count_bytes(structure), count_bytes(weights, hierarchy._slots)]
        remark = (
            f"{structure.upper.size / graph.n:.2f} arcs and {structure.triangles / graph.n:,.1f} "
            f"triangles a vertex, height {structure.height:,}, structure "
            f"{held[0] / MEGABYTE:,.0f} MB, weights {held[1] / MEGABYTE:,.0f} MB"
        )
        self.add("prepare", preparing, remark)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "map.sssp")
            seconds, _ = time_call(lambda: hierarchy.save(path))
            self.add("save", seconds, f"{path.stat().st_size / MEGABYTE:,.0f} MB")
            seconds, _ = time_call(lambda: sssp.read_hierarchy(path, threads=threads).graph.n)
            self.add("read", seconds)
        return hierarchy, preparing

    def weigh(self, hierarchy: sssp.Hierarchy) -> None:
        """Set new weights on all arcs, and compare a row."""
        weights = hierarchy.graph.weights + self.random.integers(0, 500, hierarchy.m)

        def weigh() -> sssp.Hierarchy:
            other = hierarchy.with_weights(weights)
            other._layered(INT32, self.threads)
            return other

        seconds, other = time_call(weigh)
        source = int(self.random.integers(hierarchy.n))
        ours, flat = (sssp.shortest_paths(g, source).distances for g in (other, other.graph))
        equal = np.array_equal(ours, flat)
        self.add("new weights", seconds, "a row compared", equal=equal)

    def check(self, hierarchy: sssp.Hierarchy) -> None:
        """Certify some rows, and compare them with searches on the graph."""
        sources = self.random.integers(0, hierarchy.n, CHECKED)
        rows = sssp.shortest_paths(hierarchy, sources, predecessors=True, threads=self.threads)
        seconds, _ = time_call(lambda: sssp.verify(hierarchy.graph, rows))
        flat = sssp.shortest_paths(hierarchy.graph, sources, threads=self.threads)
        equal = np.array_equal(rows.distances, flat.distances)
        self.add("verify", seconds, f"{CHECKED} trees certified", CHECKED, equal)

    def ask(self, hierarchy: sssp.Hierarchy, preparing: float) -> None:
        """Time trees, a table and trips, beside a part of each on the graph."""
        options = {"threads": self.threads, "device": "cpu", "progress": False}
        prepared, flat = (ask_ours(g, **options) for g in (hierarchy, hierarchy.graph))
        for question in draw_questions(self.random, hierarchy.n, TABLE):
            # (memory that is new takes longer)
            question.ask(prepared)
            seconds, found = time_call(partial(question.ask, prepared))
            part = question.part(CHECKED_TRIPS if question.has_own_ends else CHECKED)
            flat_seconds, expected = time_call(partial(part.ask, flat))
            equal = np.array_equal(found.distances[: part.size], expected.distances)
            each, slow = seconds / question.size, flat_seconds / part.size
            pays = preparing_pays_after(preparing, each, slow, 1)
            after = "never" if pays is None else f"after {pays:,}"
            remark = f"flat {1e3 * slow:,.1f} ms each; preparing pays {after}"
            self.add(question.name, seconds, remark, question.size, equal)


def _read_peak() -> int | None:
    """Return the most bytes that the process has held so far, None if unknown."""
    try:
        import resource
    except ImportError:
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 if a figure is wrong."""
    parser = make_parser(__doc__)
    add_arguments(parser)
    parser.add_argument("--threads", type=int, help="of our calls (default all cores)")
    options = parser.parse_args(arguments)
    make = choose_maker(options)
    small = sssp.road_like(SMALL)
    _compile(small, options.threads)
    settings = {
        "graph": options.kind,
        "side": options.side,
        "threads": options.threads or "all",
    }
    listing = Listing(settings, HEADINGS, CELLS)
    Run(listing, options.threads).measure(make)
    return listing.finish(options.json)


def _compile(graph: sssp.Graph, threads: int | None) -> None:
    """Run all steps on a small graph, without output."""
    with redirect_stdout(StringIO()):
        Run(Listing({}, "", ""), threads).measure(lambda: graph)


if __name__ == "__main__":
    sys.exit(main())
