"""The functions of `networkx.algorithms.shortest_paths.dense`: matrices of all pairs."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from networkx import NetworkXUnbounded
from numpy.typing import NDArray

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.refusal import raise_as_networkx
from sssp.apps.networkx.searches import Row, bellman_ford, matrix_of
from sssp.apps.networkx.versions import FLOYD_WARSHALL_KNOWS_CYCLES
from sssp.results.trees import ShortestPaths

Table = dict[Any, dict[Any, Any]]


def floyd_warshall(G: ConvertedGraph, weight: Any = "weight") -> Table:
    """Return the distances from every node, infinite where there is no path."""
    distances = _distances(G, weight, _matrix(G, weight, tree=False))
    rows = (Row(G, [vertex], row, None) for vertex, row in enumerate(distances))
    return {node: _all_lengths(G, row) for node, row in zip(G.nodes, rows, strict=True)}


def floyd_warshall_predecessor_and_distance(
    G: ConvertedGraph, weight: Any = "weight"
) -> tuple[Table, Table]:
    """Return for every node what stands before others on their paths, and the distances."""
    found = _matrix(G, weight, tree=True)
    columns = zip(_distances(G, weight, found), found.predecessors, strict=True)
    loops = set(G.loops.tolist())
    before: Table = {}
    lengths: Table = {}
    for vertex, (distances, tails) in enumerate(columns):
        node, row = G.nodes[vertex], Row(G, [vertex], distances, tails)
        tree = row.predecessors()
        # NetworkX has a node before the source only where an edge leads from there to itself,
        # and no row for a node that reaches nothing
        if vertex in loops:
            tree[node] = node
        else:
            del tree[node]
        if tree:
            before[node] = tree
        lengths[node] = _all_lengths(G, row)
    return before, lengths


def floyd_warshall_numpy(
    G: ConvertedGraph, nodelist: Collection[Any] | None = None, weight: Any = "weight"
) -> NDArray[np.float64]:
    """Return the distances as an array, infinite where there is no path."""
    if nodelist is not None and not len(nodelist) == len(G.nodes) == len(set(nodelist)):
        raise_as_networkx("floyd_warshall_numpy", G, G.nodes, nodelist=nodelist)
    matrix: NDArray[np.float64] = _matrix(G, weight, tree=False).to_float()
    if nodelist is None:
        return matrix
    vertices = [vertex for node in nodelist if (vertex := G.vertex(node)) is not None]
    if len(vertices) < len(nodelist):
        raise_as_networkx("floyd_warshall_numpy", G, G.nodes, nodelist=nodelist)
    return matrix[np.ix_(vertices, vertices)]


def _matrix(G: ConvertedGraph, weight: Any, *, tree: bool) -> ShortestPaths:
    """Search from every node.

    Raises
    ------
    networkx.NetworkXUnbounded
        There is a negative cycle, and NetworkX raises too.
    NotImplementedError
        There is one, and NetworkX does not.
    """
    try:
        return matrix_of(G, bellman_ford(G, weight), tree=tree)
    except NetworkXUnbounded as error:
        if FLOYD_WARSHALL_KNOWS_CYCLES:
            raise
        raise NotImplementedError("Floyd and Warshall's algorithm on a negative cycle") from error


def _distances(G: ConvertedGraph, weight: Any, found: ShortestPaths) -> NDArray[Any]:
    """Return the matrix, of floats if NetworkX takes 1.0 for the weights, which are all missing."""
    defaulted = "all" if weight is None else G.defaulted
    if FLOYD_WARSHALL_KNOWS_CYCLES or defaulted == "none":
        distances: NDArray[Any] = found.distances
        return distances
    if defaulted == "some":
        raise NotImplementedError("some weights are missing, for which NetworkX takes 1.0, not 1")
    as_floats: NDArray[np.float64] = found.to_float()
    return as_floats


def _all_lengths(G: ConvertedGraph, row: Row) -> dict[Any, Any]:
    return row.lengths() | dict.fromkeys(G.names[~row.reached].tolist(), math.inf)
