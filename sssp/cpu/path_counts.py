"""Brandes' dependencies for betweenness centrality, from one row of distances at a time.

Brandes (2001), "A faster algorithm for betweenness centrality": shortest paths are counted from
the source outward, and dependencies added up backward, along the tight arcs. Brandes takes the
vertices in order of distance. Here a vertex follows once all heads of its tight arcs have come,
which needs nothing but final distances, of any method, and is right for weights of 0 too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.workers import Spare
from sssp.graph.arc_orders import arcs_by_head
from sssp.graph.csr import seal
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, OFFSET, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import DONE, NEGATIVE_CYCLE, OVERFLOW

ONE = np.uint64(1)


@njit
def _list_tight_arcs(indptr, tails, heads, weights, distances, unseen, firsts, tight, children):
    """List the tails of tight arcs by head, and count the tight arcs out of every vertex.

    No branch depends on the numbers, for a processor could not guess it.
    """
    kept = 0
    firsts[0] = 0
    for arc in range(heads.size):
        tail, head = np.uint32(tails[arc]), np.uint32(heads[arc])
        end = distances[head]
        is_tight = (distances[tail] + weights[arc] == end) & (end != unseen)
        tight[kept] = tail
        kept += is_tight
        firsts[np.uint64(head) + ONE] = kept
        children[tail] += is_tight
    for vertex in range(distances.size):
        if indptr[vertex] == indptr[vertex + 1]:
            firsts[vertex + 1] = firsts[vertex]


@njit
def _dependencies_kernel(
    arcs, weights, distances, unseen, source, firsts, tight, children, order, paths, shares
):
    """Compute Brandes' dependencies of one source on all vertices; return a status.

    Return a status: `OVERFLOW` if there are more paths than a float64 counts, `NEGATIVE_CYCLE` if
    tight arcs close a cycle, so that there is no end to them.

    ========= ========== ======= ==============================================================
    argument  shape      dtype   written by
    ========= ========== ======= ==============================================================
    arcs      (n + 1,) m ints    host: arcs by head: where those of each begin, tails, heads
    weights   (m,)       number  host: at least 0, in that order
    distances (n,)       number  a search
    unseen    scalar     number  host: what stands for unreached
    source    scalar     int     host
    firsts    (n + 1,)   int64   scratch: where the tight arcs into a vertex begin
    tight     (m + 1,)   uint32  scratch: their tails
    children  (n,)       int32   scratch: tight arcs from a vertex whose heads are not in `order`
    order     (n + 1,)   uint32  scratch: vertices, each after the heads of all its tight arcs
    paths     (n,)       float64 scratch: number of shortest paths
    shares    (n,)       float64 here: dependencies; 0 for the source and what is not reached
    ========= ========== ======= ==============================================================
    """
    indptr, tails, heads = arcs
    for vertex in range(distances.size):
        children[vertex] = 0
        shares[vertex] = 0.0
    _list_tight_arcs(indptr, tails, heads, weights, distances, unseen, firsts, tight, children)
    reached, size, at = np.uint64(0), np.uint64(0), np.uint64(0)
    for vertex in range(distances.size):
        is_reached = distances[vertex] != unseen
        reached += np.uint64(is_reached)
        order[size] = vertex
        size += np.uint64(is_reached & (children[vertex] == 0))
    while at < size:
        vertex = order[at]
        at += ONE
        for arc in range(firsts[vertex], firsts[vertex + ONE]):
            tail = tight[arc]
            left = children[tail] - np.int32(1)
            children[tail] = left
            order[size] = tail
            size += np.uint64(left == 0)
    if size != reached:
        return NEGATIVE_CYCLE
    # the source comes last, for it is before all others on some path
    most = paths[source] = 1.0
    at = size - ONE
    while at > 0:
        at -= ONE
        vertex = order[at]
        count = 0.0
        for arc in range(firsts[vertex], firsts[vertex + ONE]):
            count += paths[tight[arc]]
        paths[vertex] = count
        most = max(most, count)
    if most == np.inf:
        return OVERFLOW
    while at < size - ONE:
        vertex = order[at]
        at += ONE
        share = (1.0 + shares[vertex]) / paths[vertex]
        for arc in range(firsts[vertex], firsts[vertex + ONE]):
            tail = tight[arc]
            shares[tail] += paths[tail] * share
    shares[source] = 0.0
    return DONE


class Dependencies:
    """Computation of Brandes' dependencies from rows of distances, usable by several threads.

    Parameters
    ----------
    graph : Graph
        That was searched.
    weighted : bool
        Whether its weights were looked at; else all arcs are 1 long.
    """

    def __init__(self, graph: Graph, weighted: bool) -> None:
        indptr, tails, weights = arcs_by_head(graph, graph.weights.dtype)
        heads = np.repeat(np.arange(graph.n, dtype=INDEX), np.diff(indptr))
        self._arcs = indptr, tails, heads
        self._weights = weights if weighted else seal(np.ones(graph.m, INT32))
        n, m = graph.n, graph.m
        #: bytes of scratch of a thread, and of a row of results
        self.nbytes = 32 * n + 4 * m
        sizes = (n + 1, OFFSET), (m + 1, np.uint32), (n, INDEX), (n + 1, np.uint32), (n, FLOAT64)
        self._spare = Spare(lambda: tuple(np.empty(*part) for part in sizes))

    def of(self, source: int, distances: NDArray[Any]) -> tuple[int, NDArray[np.float64]]:
        """Return a status code, and the Brandes dependency of a source on every vertex."""
        shares, unseen = np.empty(distances.size, FLOAT64), unreached(distances.dtype)
        row = distances, unseen, source
        with self._spare.lend() as scratch:
            status = _dependencies_kernel(self._arcs, self._weights, *row, *scratch, shares)
        return int(status), shares
