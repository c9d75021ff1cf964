"""A rival, its answer, and SciPy as the first: what the methods are measured against, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from sssp.graph.graph import Graph

__all__ = ["RIVALS", "Answer", "Rival"]

Solve = Callable[[NDArray[np.int64]], Any]


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
    """

    name: str
    prepare: Callable[[Graph], Solve]
    negative_weights: bool = False
    device: str = "cpu"
    read: Callable[[Any], Answer] = _of_distances


def _prepare_scipy(graph: Graph) -> Solve:
    # in the dtype that SciPy computes in: it would convert another anew in every call
    matrix = graph.to_scipy().astype(np.float64)
    return lambda sources: np.asarray(dijkstra(matrix, directed=True, indices=sources))


#: the first one is the reference that ratios are taken to
RIVALS = (Rival("SciPy dijkstra", _prepare_scipy),)
