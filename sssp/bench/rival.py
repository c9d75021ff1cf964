"""Rivals that the methods are measured against: their form, their answers, and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from sssp import Graph

Vertices = NDArray[np.int64]
Solve = Callable[[Vertices], Any]


@dataclass(frozen=True)
class Answer:
    """A rival's result, as far as it reports it."""

    #: vertices reached from every source, shape (k,), int64
    reached: NDArray[np.int64]
    #: shape (k, n) or (k, t), inf where unreached
    distances: NDArray[np.float64] | None = None
    #: those whose distances it reports, shape (k, t); None: all n
    vertices: NDArray[np.int64] | None = None
    #: by its own clock, all sources together; None: the time of the call counts
    seconds: float | None = None
    #: whether it passed its own verification, if it has one
    right: bool = True
    remark: str = ""


def read_rows(distances: Any) -> Answer:
    """Return the answer of rows of distances, inf where unreached."""
    rows = np.asarray(distances, np.float64)
    return Answer(np.count_nonzero(np.isfinite(rows), axis=1), rows)


@dataclass(frozen=True)
class PreparedMap:
    """Calls that answer questions on one graph; None: it does not answer that one."""

    #: ``trees(sources)``: distances to all vertices, shape (k, n)
    trees: Callable[[Vertices], Any] | None
    #: ``table(sources, targets)``: distances of all pairs, shape (k, t)
    table: Callable[[Vertices, Vertices], Any]
    #: ``trips(sources, targets)``: distances of trips, shape (p,)
    trips: Callable[[Vertices, Vertices], Any]
    #: ``read(result)`` turns their results into an array, untimed; unreached is inf, or the
    #: greatest integer where it is one of ours
    read: Callable[[Any], NDArray[Any]]
    #: ``weigh(weights)`` gives the arcs other weights; None: it has to be prepared anew
    weigh: Callable[[NDArray[Any]], Any] | None = None
    #: as `trips`, but lists the vertices on the way too
    paths: Callable[[Vertices, Vertices], Any] | None = None


@dataclass(frozen=True)
class Rival:
    """Another library's solver, or another program."""

    #: in the table
    name: str
    #: ``prepare(graph)`` brings the graph to the rival's form, untimed, and returns
    #: ``solve(sources)``. An `sssp.SSSPError` of either says why the rival is skipped
    prepare: Callable[[Graph], Solve]
    negative_weights: bool = False
    device: str = "cpu"
    #: ``read(result)`` turns what ``solve`` returned into an `Answer`, untimed
    read: Callable[[Any], Answer] = read_rows
    #: ``mapped(graph)`` brings the graph to the rival's form, untimed, and returns a function
    #: without arguments that prepares it, timed. None: it prepares nothing
    mapped: Callable[[Graph], Callable[[], PreparedMap]] | None = None


def _prepare_scipy(graph: Graph) -> Solve:
    # in the dtype that SciPy computes in: it would convert another anew in every call
    matrix = graph.to_scipy().astype(np.float64)
    return lambda sources: np.asarray(dijkstra(matrix, directed=True, indices=sources))


#: the first one is the reference that ratios are taken to
RIVALS = (Rival("SciPy dijkstra", _prepare_scipy),)
