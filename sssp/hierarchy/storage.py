"""Hierarchies in ``.sssp`` files.

A file holds the order of the vertices, from which the structure follows in a tenth of the time
that the order took, and the graph, unless the structure alone was saved; then a digest of the
topology stands for it. Whatever permutation a file holds makes a right hierarchy, and one that is
too large is refused like any other: nothing in a file has to be trusted.
"""

from __future__ import annotations

import hashlib
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.checks import as_memory_limit, as_network
from sssp.engine.threads import check_threads
from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.storage import packed, unpacked
from sssp.hierarchy.hierarchy import Hierarchy, customized_hierarchy
from sssp.hierarchy.prepare import structure_for
from sssp.hierarchy.structure import neighbours
from sssp.kernels.dtypes import INDEX
from sssp.loaders import read_any, write_arrays

__all__ = ["read_hierarchy", "write_hierarchy"]

WITH_GRAPH, ALONE = "hierarchy", "structure"


def _digest(graph: Graph) -> str:
    """Return what tells topologies apart: vertices and arcs, whatever they weigh."""
    digest = hashlib.sha256(f"{graph.n} {graph.m}".encode())
    digest.update(graph.indptr.tobytes())
    digest.update(graph.indices.tobytes())
    return digest.hexdigest()


def write_hierarchy(
    path: str | PathLike[str], hierarchy: Hierarchy, *, structure_only: bool
) -> None:
    """Write what `read_hierarchy` reads."""
    order = {"order": hierarchy.structure.order}
    if structure_only:
        graph = hierarchy.graph
        write_arrays(path, {"kind": ALONE, "n": graph.n, "topology": _digest(graph)}, order)
    else:
        meta, arrays = packed(hierarchy.graph._fields())
        write_arrays(path, meta | {"kind": WITH_GRAPH}, arrays | order)


def read_hierarchy(
    path: str | PathLike[str],
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
    ValueError, DeviceError
        As `prepare` raises them.

    Notes
    -----
    The structure is made anew from the order, and the weights from those of the graph.
    """
    content = read_any(path)
    if not isinstance(content, tuple) or content[0].get("kind") not in (WITH_GRAPH, ALONE):
        raise GraphFormatError(
            "the file holds no hierarchy; sssp.prepare(sssp.read_graph(path)) makes one", path=path
        )
    meta, arrays = content
    given = None if graph is None else as_network(graph)
    if meta["kind"] == WITH_GRAPH:
        own = Graph._from_csr(**unpacked(path, *content))
        if given is not None and _digest(given) != _digest(own):
            raise _other_topology(path)
        given = given or own
    elif given is None:
        raise TypeError(
            f"{path} holds the structure of a hierarchy alone: pass the graph whose weights count, "
            "read_hierarchy(path, graph=g)"
        )
    elif _digest(given) != meta.get("topology"):
        raise _other_topology(path)
    order = _order(path, arrays, given.n)
    workers = check_threads(threads)
    limit = as_memory_limit(memory_limit, "cpu")
    structure = structure_for(given, neighbours(given), order, workers, limit)
    return customized_hierarchy(given, structure, threads=workers)


def _other_topology(path: str | PathLike[str]) -> GraphFormatError:
    return GraphFormatError(
        "the hierarchy is that of a graph with other vertices or arcs; closed arcs keep their "
        "places (g.without_arcs), whatever else changes needs sssp.prepare(g)",
        path=path,
    )


def _order(path: str | PathLike[str], arrays: dict[str, Any], n: int) -> NDArray[np.int32]:
    """Return the order of a file, if it is one."""
    order = arrays.get("order")
    if order is None or order.shape != (n,) or order.dtype != INDEX:
        raise GraphFormatError("the order of the vertices is missing or no order", path=path)
    seen = np.zeros(n, np.bool_)
    if n and (order.min() < 0 or order.max() >= n):
        raise GraphFormatError("the order names a vertex that there is not", path=path)
    seen[order] = True
    if not seen.all():
        raise GraphFormatError("the order leaves out a vertex", path=path)
    return np.asarray(order, INDEX)
