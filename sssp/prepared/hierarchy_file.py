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

from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.graph_file import pack, unpack
from sssp.kernels.dtypes import INDEX
from sssp.loaders import write_arrays

WITH_GRAPH, ALONE = "hierarchy", "structure"


def _digest(graph: Graph) -> str:
    """Return what tells topologies apart: vertices and arcs, whatever they weigh."""
    digest = hashlib.sha256(f"{graph.n} {graph.m}".encode())
    digest.update(graph.indptr.tobytes())
    digest.update(graph.indices.tobytes())
    return digest.hexdigest()


def write_hierarchy(
    path: str | PathLike[str], graph: Graph, order: NDArray[np.int32], *, structure_only: bool
) -> None:
    """Write what `graph_and_order` reads."""
    arrays = {"order": order}
    if structure_only:
        write_arrays(path, {"kind": ALONE, "n": graph.n, "topology": _digest(graph)}, arrays)
    else:
        meta, fields = pack(graph._fields())
        write_arrays(path, meta | {"kind": WITH_GRAPH}, fields | arrays)


def holds_hierarchy(content: Any) -> bool:
    """Tell whether a file holds what `write_hierarchy` writes, as `read_any` has read it."""
    return isinstance(content, tuple) and content[0].get("kind") in (WITH_GRAPH, ALONE)


def graph_and_order(
    content: Any, path: str | PathLike[str], graph: Graph | None
) -> tuple[Graph, NDArray[np.int32]]:
    """Return what `write_hierarchy` wrote; `graph`, if given, stands in for that in the file.

    Parameters
    ----------
    content : ArcList, or meta and arrays
        Of the file, as `read_any` has read it.
    path : path-like
        What to call it.
    graph : Graph or None

    Raises
    ------
    GraphFormatError, TypeError
        As `sssp.read_hierarchy` documents.
    """
    if not holds_hierarchy(content):
        raise GraphFormatError(
            "the file holds no hierarchy; sssp.prepare(sssp.read_graph(path)) makes one", path=path
        )
    meta, arrays = content
    if meta["kind"] == WITH_GRAPH:
        own = Graph._from_csr(**unpack(path, *content))
        if graph is not None and _digest(graph) != _digest(own):
            raise _other_topology(path)
        graph = graph or own
    elif graph is None:
        raise TypeError(
            f"{path} holds the structure of a hierarchy alone, without weights; pass the "
            "graph whose weights count, read_hierarchy(path, graph=g)"
        )
    elif _digest(graph) != meta.get("topology"):
        raise _other_topology(path)
    return graph, _order(path, arrays, graph.n)


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
