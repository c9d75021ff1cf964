"""The workload of a measurement (a graph and its sources), and timers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp import Graph, datasets
from sssp.apps.terminal.arguments import BUILT_IN, NamedGraph, find_graph

#: sources that rivals solve, and whose rows are certified
SAMPLE = 4
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
        """Indices into `sources` of at most `SAMPLE` sources, spread evenly."""
        k = self.sources.size
        return np.unique(np.linspace(0, k - 1, min(k, SAMPLE)).astype(np.int64))


def choose_first(graph: Graph) -> NDArray[np.int64]:
    """Return vertex 0 as the only source; an empty array if the graph has no vertex."""
    return np.arange(min(graph.n, 1))


@dataclass
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
    jit_seconds: float | None = None


def name_road_graph(size: int) -> NamedGraph:
    """Choose the New York graph if its file is found, else a generated one of `size` vertices."""
    file = datasets.find(REAL)
    return NamedGraph(REAL, file) if file else find_graph(f"{BUILT_IN}:{size}")


# -- the clock: seconds of calls on the host, milliseconds of launches on a GPU -------------------


def time_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function once; return the seconds that it took, and its result."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def time_without_gc(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function once with the garbage collector off; return the seconds and its result."""
    gc.disable()
    try:
        return time_call(call)
    finally:
        gc.enable()


def repeat(call: Callable[[], Any], runs: int, limit: float = inf) -> list[float]:
    """Return the seconds of up to `runs` calls; stop once they exceed `limit` in total."""
    return alternate({None: call}, runs, limit=limit)[None]


def alternate(
    calls: Mapping[Any, Callable[[], Any]], runs: int, at_least: float = 0.0, limit: float = inf
) -> dict[Any, list[float]]:
    """Time several calls alternately (same machine state for all); return seconds by name.

    Each runs so often, and on until the first has taken `at_least` seconds; no more beyond a limit.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in calls}
    firsts = next(iter(seconds.values()))
    while (len(firsts) < runs or sum(firsts) < at_least) and sum(firsts) <= limit:
        for name, call in calls.items():
            seconds[name].append(time_call(call)[0])
    return seconds
