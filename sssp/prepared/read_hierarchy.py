"""Read a prepared map from a file that `Hierarchy.save` wrote.

A file (``.sssp``) holds the order of the vertices, from which the structure follows in a tenth of
the time that the order took, and the graph, unless the structure alone was saved; then a digest of
the topology stands for it. Whatever permutation a file holds makes a right hierarchy, and one that
is too large is refused like any other: nothing in a file has to be trusted. Magic number, version
and checksums are those of every ``.sssp`` file, which `sssp.loaders._sssp_container` checks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.engine.check_arguments import as_memory_limit, as_network
from sssp.engine.threads import check_threads
from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.graph_file import unpack
from sssp.graph.reading import graph_of
from sssp.kernels.dtypes import INDEX
from sssp.loaders import read_any
from sssp.loaders._files import Pathname
from sssp.order.structure import neighbours
from sssp.prepared.hierarchy import ALONE, WITH_GRAPH, Hierarchy, topology_digest
from sssp.prepared.prepare import build_hierarchy


def read_hierarchy(
    path: Pathname,
    graph: Graph | None = None,
    *,
    threads: int | None = None,
    memory_limit: float | None = None,
) -> Hierarchy:
    """Read a prepared map that `Hierarchy.save` wrote.

    Parameters
    ----------
    path : path-like
        A file, plain or compressed.
    graph : Graph, optional
        With the same vertices and arcs as the one that was prepared, whatever they weigh; its
        weights count. A file that holds the structure alone needs it.
    threads : int, optional
        Greatest number of threads.
    memory_limit : number, optional
        Bytes that structure and weights may take; by default the machine's memory.

    Returns
    -------
    Hierarchy

    Raises
    ------
    GraphFormatError
        The file is damaged, holds no hierarchy, or that of a graph with other vertices or arcs.
    TypeError
        The file holds the structure alone, and no graph is given.
    NegativeCycleError
        A cycle is of negative length, wherever it is.
    DistanceOverflowError, ValueError, DeviceError
        As `prepare` raises them.

    Notes
    -----
    The structure is made anew from the order, and the weights from those of the graph.
    """
    given = None if graph is None else as_network(graph)
    return _hierarchy_in(read_any(path), path, given, threads, memory_limit)


def read_network(path: Pathname, coordinates: Pathname | None = None) -> Graph | Hierarchy:
    """Read a graph from a file, or a prepared map if the file contains one.

    It is read once, from the beginning to the end, so a pipe will do.

    Parameters
    ----------
    path : path-like
        As `sssp.read_graph` and `read_hierarchy` take it.
    coordinates : path-like, optional
        A DIMACS ``.co`` file for the same vertices.

    Raises
    ------
    GraphFormatError, OSError, TypeError, NegativeCycleError, ValueError, DeviceError
        As those raise them.
    """
    content = read_any(path)
    if not _holds_hierarchy(content):
        return graph_of(content, path, coordinates)
    given = None if coordinates is None else graph_of(content, path, coordinates)
    return _hierarchy_in(content, path, given, None, None)


def _holds_hierarchy(content: Any) -> bool:
    """Return whether the content read from a file is a hierarchy saved by `Hierarchy.save`."""
    return isinstance(content, tuple) and content[0].get("kind") in (WITH_GRAPH, ALONE)


def _hierarchy_in(
    content: Any, path: Pathname, graph: Graph | None, threads: int | None, limit: float | None
) -> Hierarchy:
    """Return the hierarchy in a file's content; `graph`, if given, replaces the stored graph."""
    if not _holds_hierarchy(content):
        raise GraphFormatError(
            "the file holds no hierarchy; sssp.prepare(sssp.read_graph(path)) makes one", path=path
        )
    meta, arrays = content
    if meta["kind"] == WITH_GRAPH:
        own = Graph._from_csr(**unpack(path, *content))
        graph = graph or own
        same = graph is own or topology_digest(graph._searched) == topology_digest(own._searched)
    elif graph is None:
        raise TypeError(
            f"{path} holds the structure of a hierarchy alone, without weights; pass the "
            "graph whose weights count, read_hierarchy(path, graph=g)"
        )
    else:
        same = topology_digest(graph._searched) == meta.get("topology")
    if not same:
        raise GraphFormatError(
            "the hierarchy is that of a graph with other vertices or arcs; closed arcs keep their "
            "places (g.without_arcs), whatever else changes needs sssp.prepare(g)",
            path=path,
        )
    order, n = arrays.get("order"), graph._searched.n
    if order is None or order.shape != (n,) or order.dtype != INDEX:
        raise GraphFormatError("the order of the vertices is missing or no order", path=path)
    if n and (order.min() < 0 or order.max() >= n):
        raise GraphFormatError("the order names a vertex that does not exist", path=path)
    if (np.bincount(order, minlength=n) == 0).any():
        raise GraphFormatError("the order leaves out a vertex", path=path)
    limits = check_threads(threads), as_memory_limit(limit)
    return build_hierarchy(graph, neighbours(graph._searched), order, *limits)
