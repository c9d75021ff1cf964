"""The workload of a measurement (a graph and its sources), and timers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp import Graph, datasets
from sssp.apps.terminal.arguments import BUILT_IN, NamedGraph, find_graph, vertex_of
from sssp.errors import VertexError

#: sources that rivals solve, and whose rows are certified
SAMPLE = 4
#: vertices of the graph that compiles the generator
TINY = 100
#: the graph of most published figures
REAL = "USA-road-d.NY"

Choose = Callable[[Graph], NDArray[np.int64]]


@dataclass(frozen=True)
class Workload:
    """A graph with its name and its sources."""

    name: str
    graph: Graph
    sources: NDArray[np.int64]

    @property
    def sample(self) -> NDArray[np.int64]:
        """Positions of at most `SAMPLE` sources, spread evenly."""
        k = self.sources.size
        return np.unique(np.linspace(0, k - 1, min(k, SAMPLE)).astype(np.int64))


def choose_random(graph: Graph, count: int, seed: int) -> NDArray[np.int64]:
    """Draw distinct vertices that have an outgoing arc."""
    candidates = np.flatnonzero(np.diff(graph.indptr))
    if candidates.size < count:
        raise VertexError(
            f"{count} sources asked for, but only {candidates.size} vertices have an outgoing arc"
        )
    return np.random.default_rng(seed).choice(candidates, count, replace=False)


def choose_by_label(graph: Graph, labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the vertices for labels, given as on the command line."""
    return np.array([vertex_of(graph, label) for label in labels], dtype=np.int64)


def choose_first(graph: Graph) -> NDArray[np.int64]:
    """Return the first vertex, if there is one."""
    return np.arange(min(graph.n, 1))


@dataclass(frozen=True)
class GraphRecord:
    """The report's record of a graph: size, and times of loading."""

    name: str
    #: base name of its file; None: made by the built-in generator
    file: str | None
    n: int
    m: int
    #: their dtype
    weights: str
    #: labels of the sources
    sources: list[Any]
    #: reading or making it
    load_seconds: float
    #: compiling the code for that; None if an earlier graph did it
    jit_seconds: float | None


def load(
    name: str, make: Callable[[], Graph], choose: Choose, file: str | None = None, jit: Any = None
) -> tuple[Workload, GraphRecord]:
    """Load a graph and time it; return its workload (graph and sources) and its record."""
    load_seconds, graph = time_call(make)
    sources = choose(graph)
    labels = sources if graph.labels is None else graph.labels[sources]
    facts = graph.n, graph.m, str(graph.weights.dtype), labels.tolist()
    return Workload(name, graph, sources), GraphRecord(name, file, *facts, load_seconds, jit)


def name_road_graph(size: int) -> NamedGraph:
    """Return New York if it is on this machine, else a built-in graph of `size` vertices."""
    file = datasets.find(REAL)
    return NamedGraph(REAL, file) if file else find_graph(f"{BUILT_IN}:{size}")


class Loader:
    """A loader of graphs that times loading and compilation separately."""

    def __init__(self) -> None:
        self._compiled: set[bool] = set()

    def load(
        self, origin: NamedGraph, choose: Choose, coordinates: Path | None = None
    ) -> tuple[Workload, GraphRecord]:
        """Load a graph and time it; return it with sources picked by `choose`, and its record."""
        # first a tiny graph, which compiles the reader
        built_in, jit_seconds = origin.path is None, None
        if built_in not in self._compiled:
            self._compiled.add(built_in)
            with TemporaryDirectory() as folder:
                path = Path(folder, "tiny.gr")
                path.write_text("p sp 2 2\na 1 2 3\na 2 1 3\n")
                tiny = NamedGraph(path.name, None if built_in else path, size=TINY)
                jit_seconds, _ = time_call(tiny.load)
        file = None if origin.path is None else origin.path.name
        return load(origin.name, partial(origin.load, coordinates), choose, file, jit_seconds)


# -- the clock: seconds of calls on the host, milliseconds of launches on a GPU -------------------


def time_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call once; return the seconds and the result."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def time_without_gc(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call once while the garbage collector is off; return the seconds and the result."""
    gc.disable()
    try:
        return time_call(call)
    finally:
        gc.enable()


def repeat(call: Callable[[], Any], runs: int, limit: float = inf) -> list[float]:
    """Return the seconds of `runs` calls, or of fewer (at least one) if they exceed the limit."""
    return alternate({None: call}, runs, limit=limit)[None]


def alternate(
    calls: Mapping[Any, Callable[[], Any]], runs: int, at_least: float = 0.0, limit: float = inf
) -> dict[Any, list[float]]:
    """Time several calls alternately, so that the state of the machine is the same for all.

    Each runs so often, and on until the first has taken `at_least` seconds; no more beyond a limit.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in calls}
    firsts = next(iter(seconds.values()))
    while (len(firsts) < runs or sum(firsts) < at_least) and sum(firsts) <= limit:
        for name, call in calls.items():
            seconds[name].append(time_call(call)[0])
    return seconds
