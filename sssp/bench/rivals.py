"""What the methods are measured against, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sssp.graph.graph import Graph

__all__ = ["RIVALS", "Rival"]

Solve = Callable[[NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True)
class Rival:
    """Another library's solver.

    Attributes
    ----------
    name : str
        What the table calls it.
    prepare : callable
        ``prepare(graph)`` brings the graph to the rival's form, untimed, and returns
        ``solve(sources)``, whose result is an ndarray of float64, shape (k, n), inf where
        unreached.
    negative_weights : bool
        Whether it takes them.
    device : str
        Where it runs.
    """

    name: str
    prepare: Callable[[Graph], Solve]
    negative_weights: bool = False
    device: str = "cpu"


def _prepare_scipy(graph: Graph) -> Solve:
    # in the dtypes that SciPy computes in: it would convert others anew in every call
    index = np.int32 if graph.m <= np.iinfo(np.int32).max else np.int64
    matrix = csr_array(
        (graph.weights.astype(np.float64), graph.indices, graph.indptr.astype(index)),
        shape=(graph.n, graph.n),
    )
    return lambda sources: np.asarray(dijkstra(matrix, directed=True, indices=sources))


#: the first one is the reference that ratios are taken to
RIVALS = (Rival("SciPy dijkstra", _prepare_scipy),)
