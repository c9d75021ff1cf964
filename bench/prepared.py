"""Make a graph of the size of a continent, prepare it, check it, and time what it answers.

    python -m bench.prepared [continent | grid] [--side N] [--threads T] [--json FILE]
    python -m bench.prepared continent --country USA-road-d.NY --side 2

``continent`` is 4 x 4 copies of NE-synthetic (`sssp.datasets.find`), 24.4 million vertices, whose
separators are as small as a real map's; ``grid`` a percolated grid of 5,000 x 5,000 places, 24
million vertices, with separators of thousands: the worst that a road network can be. Every line is
printed as soon as it is known: a run that is cut off has told what it has found. Code is compiled
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
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from bench.common import Record, options_of
from bench.graphs import add_arguments, maker_of
from sssp.bench.prepared_maps import answers_of, held_bytes, preparing_pays_after, questions
from sssp.kernels.dtypes import INT32

#: vertices of the graph that compiles
SMALL = 5000
#: sources and targets of the table; rows and trips that are compared with searches on the graph
TABLE, CHECKED, CHECKED_TRIPS = 1000, 2, 20
SEED = 1
MEGABYTE = 10**6


@dataclass
class Figure:
    """One line of the table.

    Attributes
    ----------
    what : str
    seconds : float
        Of one call.
    each : float or None
        Seconds a tree, row or trip.
    peak : int or None
        Most bytes that the process has held so far.
    remark : str
    equal : bool
        Whether what was compared is the same.
    """

    what: str
    seconds: float
    each: float | None = None
    peak: int | None = None
    remark: str = ""
    equal: bool = True


class Run:
    """A graph, and what becomes of it.

    Parameters
    ----------
    record : Record
    threads : int or None
    """

    def __init__(self, record: Record, threads: int | None) -> None:
        self.record, self.threads = record, threads
        self.random = np.random.default_rng(SEED)

    def add(self, figure: Figure) -> None:
        """Print and keep a line."""
        figure.peak = _peak()
        each = "" if figure.each is None else f"{1e3 * figure.each:,.3f}"
        peak = "" if figure.peak is None else f"{figure.peak / MEGABYTE:,.0f}"
        note = figure.remark if figure.equal else f"DIFFERS; {figure.remark}"
        self.record.add([figure], (figure.what, f"{figure.seconds:,.3f}", each, peak, note))

    def timed(self, what: str, call: Callable[[], Any], count: int = 0) -> tuple[Figure, Any]:
        """Return the figure of a call, and its result."""
        start = perf_counter()
        result = call()
        seconds = perf_counter() - start
        return Figure(what, seconds, seconds / count if count else None), result

    def measure(self, make: Callable[[], sssp.Graph]) -> None:
        """Make, prepare, check and time."""
        figure, graph = self.timed("make", make)
        figure.remark = f"n = {graph.n:,}, m = {graph.m:,}, {graph.weights.dtype}"
        self.add(figure)
        hierarchy, preparing = self.prepare(graph)
        self.weigh(hierarchy)
        self.check(hierarchy)
        self.ask(hierarchy, preparing)

    def prepare(self, graph: sssp.Graph) -> tuple[sssp.Hierarchy, float]:
        """Prepare the graph, save it and read it back; return it, and how long preparing took."""
        threads = self.threads
        figure, hierarchy = self.timed("prepare", lambda: sssp.prepare(graph, threads=threads))
        structure = hierarchy.structure
        held = [held_bytes(structure), held_bytes(hierarchy.metric(INT32), hierarchy.slots)]
        figure.remark = (
            f"{structure.upper.size / graph.n:.2f} arcs and {structure.triangles / graph.n:,.1f} "
            f"triangles a vertex, height {structure.height:,}, structure "
            f"{held[0] / MEGABYTE:,.0f} MB, weights {held[1] / MEGABYTE:,.0f} MB"
        )
        self.add(figure)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "map.sssp")
            saving, _ = self.timed("save", lambda: hierarchy.save(path))
            saving.remark = f"{path.stat().st_size / MEGABYTE:,.0f} MB"
            self.add(saving)
            reading, _ = self.timed(
                "read", lambda: sssp.read_hierarchy(path, threads=threads).graph.n
            )
            self.add(reading)
        return hierarchy, figure.seconds

    def weigh(self, hierarchy: sssp.Hierarchy) -> None:
        """Give all arcs other weights, and compare a row."""
        weights = hierarchy.graph.weights + self.random.integers(0, 500, hierarchy.m)

        def weigh() -> sssp.Hierarchy:
            other = hierarchy.with_weights(weights)
            other.layered(INT32, self.threads)
            return other

        figure, other = self.timed("new weights", weigh)
        source = int(self.random.integers(hierarchy.n))
        ours, flat = (sssp.shortest_paths(g, source).distances for g in (other, other.graph))
        figure.equal, figure.remark = bool(np.array_equal(ours, flat)), "a row compared"
        self.add(figure)

    def check(self, hierarchy: sssp.Hierarchy) -> None:
        """Certify some rows, and compare them with searches on the graph."""
        sources = self.random.integers(0, hierarchy.n, CHECKED)
        rows = sssp.shortest_paths(hierarchy, sources, predecessors=True, threads=self.threads)
        figure, _ = self.timed("verify", lambda: sssp.verify(hierarchy.graph, rows), CHECKED)
        flat = sssp.shortest_paths(hierarchy.graph, sources, threads=self.threads)
        figure.equal = bool(np.array_equal(rows.distances, flat.distances))
        figure.remark = f"{CHECKED} trees certified"
        self.add(figure)

    def ask(self, hierarchy: sssp.Hierarchy, preparing: float) -> None:
        """Time trees, a table and trips, beside a part of each on the graph."""
        options = {"threads": self.threads, "device": "cpu", "progress": False}
        prepared, flat = (answers_of(g, **options) for g in (hierarchy, hierarchy.graph))
        for question in questions(self.random, hierarchy.n, TABLE):
            # (memory that is new takes longer)
            question.ask(prepared)
            figure, found = self.timed(
                question.name, partial(question.ask, prepared), question.size
            )
            part = question.part(CHECKED_TRIPS if question.has_own_ends else CHECKED)
            beside, expected = self.timed("", partial(part.ask, flat), part.size)
            figure.equal = np.array_equal(found.distances[: part.size], expected.distances)
            each, slow = figure.seconds / question.size, beside.seconds / part.size
            pays = preparing_pays_after(preparing, each, slow, 1)
            after = "never" if pays is None else f"after {pays:,}"
            figure.remark = f"flat {1e3 * slow:,.1f} ms each; preparing pays {after}"
            self.add(figure)


def _peak() -> int | None:
    """Return the most bytes that the process has held so far, if the system tells."""
    try:
        import resource
    except ImportError:
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 if a figure is wrong."""
    parser = options_of(__doc__)
    add_arguments(parser)
    parser.add_argument("--threads", type=int, help="of our calls (default all cores)")
    options = parser.parse_args(arguments)
    make = maker_of(options)
    small = sssp.road_like(SMALL)
    _compile(small, options.threads)
    settings = {
        "graph": options.kind,
        "side": options.side,
        "threads": options.threads or "all",
    }
    columns = ("what", "s", "ms each", "peak MB", "")
    record = Record(settings, columns)
    Run(record, options.threads).measure(make)
    return record.finish(options.json)


def _compile(graph: sssp.Graph, threads: int | None) -> None:
    """Ask a small graph everything, silently."""
    with redirect_stdout(StringIO()):
        Run(Record({}, ()), threads).measure(lambda: graph)


if __name__ == "__main__":
    sys.exit(main())
