"""What is solved in a measurement: a graph, and the sources to start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.apps.terminal.arguments import NamedGraph, vertex_of
from sssp.errors import VertexError
from sssp.graph.graph import Graph

__all__ = ["GraphRecord", "Loader", "Workload", "chosen_sources", "random_sources", "recorded"]

#: sources that rivals solve, and whose rows are certified
SAMPLE = 4
#: vertices of the graph that compiles the generator
TINY = 100

Choose = Callable[[Graph], NDArray[np.int64]]


@dataclass(frozen=True)
class Workload:
    """A graph and the sources to start from.

    Attributes
    ----------
    name : str
        The graph's name.
    graph : Graph
    sources : ndarray, shape (k,), int64
    """

    name: str
    graph: Graph
    sources: NDArray[np.int64]

    @property
    def sample(self) -> NDArray[np.int64]:
        """Positions of at most `SAMPLE` sources, spread evenly."""
        k = self.sources.size
        return np.unique(np.linspace(0, k - 1, min(k, SAMPLE)).astype(np.int64))


def random_sources(graph: Graph, count: int, seed: int) -> NDArray[np.int64]:
    """Draw distinct vertices that have an outgoing arc.

    Raises
    ------
    VertexError
        There are fewer than `count`.
    """
    candidates = np.flatnonzero(np.diff(graph.indptr))
    if candidates.size < count:
        raise VertexError(
            f"{count} sources asked for, but only {candidates.size} vertices have an outgoing arc"
        )
    return np.random.default_rng(seed).choice(candidates, count, replace=False)


def chosen_sources(graph: Graph, labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the vertices of labels as they were written on the command line.

    Raises
    ------
    VertexError
        A label that no vertex has.
    """
    return np.array([vertex_of(graph, label) for label in labels], dtype=np.int64)


@dataclass(frozen=True)
class GraphRecord:
    """What the report says of a graph.

    Attributes
    ----------
    name : str
    file : str or None
        Its name, for its folder says nothing elsewhere. None: made by the built-in generator.
    n, m : int
    weights : str
        Their dtype.
    sources : list
        Labels of the sources.
    load_seconds : float
        Reading or making it.
    jit_seconds : float or None
        Compiling the code for that; None if an earlier graph did it.
    """

    name: str
    file: str | None
    n: int
    m: int
    weights: str
    sources: list[Any]
    load_seconds: float
    jit_seconds: float | None


def recorded(
    name: str,
    path: Path | None,
    load: Callable[[], Graph],
    choose: Choose,
    jit_seconds: float | None = None,
) -> tuple[Workload, GraphRecord]:
    """Load a graph under the clock; return it with its sources, and what the report says."""
    start = perf_counter()
    graph = load()
    load_seconds = perf_counter() - start
    sources = choose(graph)
    labels = sources if graph.labels is None else graph.labels[sources]
    return Workload(name, graph, sources), GraphRecord(
        name=name,
        file=None if path is None else path.name,
        n=graph.n,
        m=graph.m,
        weights=str(graph.weights.dtype),
        sources=labels.tolist(),
        load_seconds=load_seconds,
        jit_seconds=jit_seconds,
    )


class Loader:
    """Reads or makes graphs, and takes the time: loading and JIT apart."""

    def __init__(self) -> None:
        self._compiled: set[bool] = set()

    def load(
        self, origin: NamedGraph, choose: Choose, coordinates: Path | None = None
    ) -> tuple[Workload, GraphRecord]:
        """Return the graph with sources that `choose` picks, and what the report says of it."""
        jit_seconds = self._compile(origin)
        load = partial(origin.load, coordinates)
        return recorded(origin.name, origin.path, load, choose, jit_seconds)

    def _compile(self, origin: NamedGraph) -> float | None:
        """Make or read a tiny graph, once a kind; return the seconds, None if done before."""
        built_in = origin.path is None
        if built_in in self._compiled:
            return None
        self._compiled.add(built_in)
        start = perf_counter()
        if built_in:
            NamedGraph(origin.name, size=TINY).load()
        else:
            _read_tiny_graph()
        return perf_counter() - start


def _read_tiny_graph() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "tiny.gr")
        path.write_text("p sp 2 2\na 1 2 3\na 2 1 3\n")
        NamedGraph(path.name, path).load()
