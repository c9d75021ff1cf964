"""`prepare` and `read_hierarchy`: make a hierarchy from a graph, or read it from a file.

A file (``.sssp``) holds the order of the vertices, from which the structure follows in a tenth of
the time that the order took, and the graph, unless the structure alone was saved; then a digest of
the topology stands for it. Whatever permutation a file holds makes a right hierarchy, and one that
is too large is refused like any other: nothing in a file has to be trusted.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_arguments import as_memory_limit, as_network
from sssp.engine.memory import check_memory
from sssp.engine.progress import check_progress, progress_bar
from sssp.engine.threads import check_threads
from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.graph_file import unpack
from sssp.graph.reading import graph_of
from sssp.graph.turns import Expansion
from sssp.kernels.dtypes import INDEX
from sssp.loaders import read_any
from sssp.order.nested_dissection import SeparatorTooLarge, elimination_order
from sssp.order.structure import MOST_ARCS, make_structure, neighbours
from sssp.prepared.hierarchy import ALONE, WITH_GRAPH, Hierarchy, topology_digest

#: more triangles than so many, and than so many for a vertex or arc, are no road network's
MANY_TRIANGLES, TRIANGLES_EACH = 10**8, 1000
ADVICE = "ask the graph itself, sssp.shortest_paths(g, ...), or sssp.all_pairs if it is dense"
#: bytes of a chordal arc in structure and weights, while these are found
ARC_BYTES, WEIGHT_BYTES = 24, 6
#: bytes of a vertex and of an arc of the graph
VERTEX_BYTES, INPUT_BYTES = 150, 20


def prepare(
    g: Graph,
    *,
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Hierarchy:
    """Prepare a map: an order of its vertices, and the weights that make many questions fast.

    What takes long depends on the topology alone: other weights are a matter of milliseconds
    (`Hierarchy.with_weights`).

    Parameters
    ----------
    g : Graph
        A road network, or what is like one: with small separators.
    threads : int, optional
        Greatest number of threads; by default as for `shortest_paths`.
    memory_limit : number, optional
        Bytes that structure and weights may take; by default the machine's memory.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal or notebook, after two seconds.

    Returns
    -------
    Hierarchy
        The same for any number of threads.

    Raises
    ------
    NegativeCycleError
        A cycle is of negative length, wherever it is.
    DistanceOverflowError
        An integer weight is 2**62 - 1 or more.
    ValueError
        The graph is no road network: its hierarchy would have too many triangles. The message has
        the numbers.
    DeviceError
        It would take more memory than it may.
    TypeError
        No graph.

    Notes
    -----
    Nested dissection by flows, about O(n log n) time on road networks
    (`sssp.order.nested_dissection`), then O(triangles) for the weights. It pays after some 30 to
    200 trees, or some hundred trips (``python -m sssp.bench --table hierarchy``); no call prepares
    unasked.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.road_like(1000)
    >>> h = sssp.prepare(g)
    >>> bool((sssp.shortest_paths(h, 0).distances == sssp.shortest_paths(g, 0).distances).all())
    True
    """
    graph = as_network(g)
    if not isinstance(graph, Graph):
        raise TypeError(
            f"prepare takes a sssp.Graph, not {type(graph).__name__}; h.graph is one, and "
            "h.with_weights(w) keeps what is prepared"
        )
    workers = check_threads(threads)
    limit = as_memory_limit(memory_limit)
    wanted = check_progress(progress)
    searched = graph._searched
    around = neighbours(searched)
    streets = graph if graph.turns is None else _streets_of(searched, graph.turns.expansion)
    with progress_bar(streets.n, wanted, "vertex") as advance:
        try:
            # a separator becomes a clique
            order = elimination_order(
                *(around if streets is searched else neighbours(streets)),
                threads=workers,
                widest=int(np.cbrt(6.0 * _most_triangles(searched))),
                advance=advance,
            )
        except SeparatorTooLarge as error:
            raise ValueError(
                f"this is no road network: {error.separator:,} vertices have to go to cut "
                f"{error.piece:,} into halves, and would be joined by an arc each to each; {ADVICE}"
            ) from None
    if graph.turns is not None:
        order = _order_of_streets(searched, graph.turns.expansion, order)
    return _build(graph, around, order, workers, limit)


def _numbers_of_streets(expansion: Expansion) -> NDArray[np.int64]:
    """Return a street number for each vertex of an expansion, equal for both directions."""
    numbers: NDArray[np.int64] = np.unique(expansion.street, return_inverse=True)[1]
    return numbers


def _streets_of(searched: Graph, expansion: Expansion) -> Graph:
    """Return the turn-expanded graph with both directions of a street merged into one vertex.

    Its separators are cuts through streets, as in Buchhold, Wagner, Zeitz and Zuendorf,
    "Customizable contraction hierarchies with turn costs" (ATMOS 2020).
    """
    numbers, leads = _numbers_of_streets(expansion), _leads_on(searched)
    # (ends of trips come first in any order, and would make streets that meet look dearer to cut)
    inner = leads[searched.tails] & leads[searched.indices]
    ends = numbers[searched.tails[inner]], numbers[searched.indices[inner]]
    return Graph.from_arcs(*ends, np.ones(ends[0].size, INDEX), int(numbers.max(initial=-1)) + 1)


def _leads_on(searched: Graph) -> NDArray[np.bool_]:
    """Return which vertices have arcs in and arcs out."""
    leads: NDArray[np.bool_] = np.bincount(searched.indices, minlength=searched.n) > 0
    return leads & (np.diff(searched.indptr) > 0)


def _order_of_streets(
    searched: Graph, expansion: Expansion, order: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the order of an expansion from that of its streets; dead ends come first."""
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    numbers = _numbers_of_streets(expansion)
    return np.lexsort((rank[numbers], _leads_on(searched))).astype(INDEX)


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
    DistanceOverflowError, ValueError, DeviceError
        As `prepare` raises them.

    Notes
    -----
    The structure is made anew from the order, and the weights from those of the graph.
    """
    given = None if graph is None else as_network(graph)
    return _hierarchy_in(read_any(path), path, given, threads, memory_limit)


def read_network(
    path: str | PathLike[str], coordinates: str | PathLike[str] | None = None
) -> Graph | Hierarchy:
    """Read a graph, or a prepared map where the file holds one.

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
    """Return whether a file's content, from `read_any`, was written by `Hierarchy.save`."""
    return isinstance(content, tuple) and content[0].get("kind") in (WITH_GRAPH, ALONE)


def _hierarchy_in(
    content: Any,
    path: str | PathLike[str],
    graph: Graph | None,
    threads: int | None,
    memory_limit: float | None,
) -> Hierarchy:
    """Return the hierarchy in a file; `graph`, if given, replaces that in the file."""
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
    order = _order_in(arrays, path, graph._searched.n)
    workers, limit = check_threads(threads), as_memory_limit(memory_limit)
    return _build(graph, neighbours(graph._searched), order, workers, limit)


def _order_in(arrays: dict[str, Any], path: str | PathLike[str], n: int) -> NDArray[np.int32]:
    """Return the order of vertices in a file, after checking it."""
    order = arrays.get("order")
    if order is None or order.shape != (n,) or order.dtype != INDEX:
        raise GraphFormatError("the order of the vertices is missing or no order", path=path)
    if n and (order.min() < 0 or order.max() >= n):
        raise GraphFormatError("the order names a vertex that there is not", path=path)
    if (np.bincount(order, minlength=n) == 0).any():
        raise GraphFormatError("the order leaves out a vertex", path=path)
    return np.asarray(order, INDEX)


def _most_triangles(graph: Graph) -> int:
    return max(MANY_TRIANGLES, TRIANGLES_EACH * (graph.n + graph.m))


def _build(
    graph: Graph,
    around: tuple[NDArray[np.int64], NDArray[np.int32]],
    order: NDArray[np.int32],
    threads: int,
    limit: int,
) -> Hierarchy:
    """Build the hierarchy for an order; refuse too much work or memory."""
    searched = graph._searched

    def accept(arcs: int, triangles: int) -> None:
        if triangles > _most_triangles(searched) or arcs > MOST_ARCS:
            raise ValueError(
                f"this is no road network: its hierarchy would have {arcs / searched.n:,.0f} arcs "
                f"and {triangles / searched.n:,.0f} triangles a vertex (some 4 and 25 are usual), "
                f"{triangles:,} in all; {ADVICE}"
            )
        arc_bytes = ARC_BYTES + WEIGHT_BYTES * searched.weights.dtype.itemsize
        parts: dict[str, Any] = {
            "the graph's vertices and arcs": VERTEX_BYTES * searched.n + INPUT_BYTES * searched.m,
            f"{arcs:,} chordal arcs": arc_bytes * arcs,
        }
        check_memory(parts, limit, "cpu", ADVICE)

    return Hierarchy(graph, make_structure(around, order, threads, accept))._weigh(threads)
