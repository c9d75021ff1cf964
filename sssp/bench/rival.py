"""A rival, its answer, and SciPy as the first: what the methods are measured against, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from sssp.graph.graph import Graph

__all__ = ["RIVALS", "Answer", "PreparedMap", "Rival"]

Vertices = NDArray[np.int64]
Solve = Callable[[Vertices], Any]


@dataclass(frozen=True)
class Answer:
    """What a rival tells of its result, as far as it tells it.

    Attributes
    ----------
    reached : ndarray, shape (k,), int64
        Vertices reached from every source.
    distances : ndarray, shape (k, n) or (k, t), float64, or None
        inf where unreached.
    vertices : ndarray, shape (k, t), int64, or None
        Those whose distances it tells; None: all n.
    seconds : float or None
        By its own clock, all sources together; None: what the call took.
    right : bool
        Whether it passed its own verification, if it has one.
    remark : str
        What else to know of the row.
    """

    reached: NDArray[np.int64]
    distances: NDArray[np.float64] | None = None
    vertices: NDArray[np.int64] | None = None
    seconds: float | None = None
    right: bool = True
    remark: str = ""


def _of_distances(result: Any) -> Answer:
    return Answer(np.count_nonzero(np.isfinite(result), axis=1), result)


@dataclass(frozen=True)
class PreparedMap:
    """What answers many questions on one graph, by one question or other.

    Attributes
    ----------
    trees : callable or None
        ``trees(sources)``: distances to all vertices, shape (k, n). None: it finds none.
    table : callable
        ``table(sources, targets)``: distances of all pairs, shape (k, t).
    trips : callable
        ``trips(sources, targets)``: distances of trips, shape (p,).
    read : callable
        ``read(result)`` turns what these return into an array, untimed; unreached is inf, or the
        greatest integer where it is one of ours.
    weigh : callable or None
        ``weigh(weights)`` gives the arcs other weights; None: it has to be prepared anew.
    paths : callable or None
        As `trips`, but the vertices on the way are listed too. None: it lists none.
    """

    trees: Callable[[Vertices], Any] | None
    table: Callable[[Vertices, Vertices], Any]
    trips: Callable[[Vertices, Vertices], Any]
    read: Callable[[Any], NDArray[Any]]
    weigh: Callable[[NDArray[Any]], Any] | None = None
    paths: Callable[[Vertices, Vertices], Any] | None = None


@dataclass(frozen=True)
class Rival:
    """Another library's solver, or another program.

    Attributes
    ----------
    name : str
        What the table calls it.
    prepare : callable
        ``prepare(graph)`` brings the graph to the rival's form, untimed, and returns
        ``solve(sources)``. An `sssp.SSSPError` of either says why the rival is skipped.
    negative_weights : bool
        Whether it takes them.
    device : str
        Where it runs.
    read : callable
        ``read(result)`` turns what ``solve`` returned into an `Answer`, untimed; by default the
        result is an ndarray of float64, shape (k, n), inf where unreached.
    mapped : callable or None
        ``mapped(graph)`` brings the graph to the rival's form, untimed, and returns what then
        prepares it, timed: a function without arguments that returns a `PreparedMap`. None: it
        prepares nothing.
    """

    name: str
    prepare: Callable[[Graph], Solve]
    negative_weights: bool = False
    device: str = "cpu"
    read: Callable[[Any], Answer] = _of_distances
    mapped: Callable[[Graph], Callable[[], PreparedMap]] | None = None


def _prepare_scipy(graph: Graph) -> Solve:
    # in the dtype that SciPy computes in: it would convert another anew in every call
    matrix = graph.to_scipy().astype(np.float64)
    return lambda sources: np.asarray(dijkstra(matrix, directed=True, indices=sources))


#: the first one is the reference that ratios are taken to
RIVALS = (Rival("SciPy dijkstra", _prepare_scipy),)
