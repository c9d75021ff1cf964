"""Prepare a map: find an order of its vertices, and build the hierarchy for an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_arguments import as_memory_limit, as_network
from sssp.engine.check_memory import check_memory
from sssp.engine.progress import check_progress, progress_bar
from sssp.engine.threads import check_threads
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.order.nested_dissection import SeparatorTooLarge, elimination_order
from sssp.order.structure import MOST_ARCS, make_structure, neighbours
from sssp.prepared.hierarchy import Hierarchy

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
    """Prepare a map for many fast queries: order its vertices and customize its weights.

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
    streets = searched
    if graph.turns is not None:
        # Both directions of a street become one vertex, so that separators are cuts through
        # streets, as in Buchhold, Wagner, Zeitz and Zuendorf, "Customizable contraction hierarchies
        # with turn costs" (ATMOS 2020). Vertices without arcs in or out, where trips end or begin,
        # come first in any order, and would make streets that meet look dearer to cut.
        numbers = np.unique(graph.turns.expansion.street, return_inverse=True)[1]
        leads_on = np.bincount(searched.indices, minlength=searched.n) > 0
        leads_on &= np.diff(searched.indptr) > 0
        inner = leads_on[searched.tails] & leads_on[searched.indices]
        ends = numbers[searched.tails[inner]], numbers[searched.indices[inner]]
        ones = np.ones(ends[0].size, INDEX)
        streets = Graph.from_arcs(*ends, ones, int(numbers.max(initial=-1)) + 1)
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
                f"this is no road network: {error.separator:,} vertices are needed to "
                f"split {error.piece:,} in half, and would all be joined to one another; {ADVICE}"
            ) from None
    if graph.turns is not None:
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        order = np.lexsort((rank[numbers], leads_on)).astype(INDEX)
    return build_hierarchy(graph, around, order, workers, limit)


def _most_triangles(graph: Graph) -> int:
    return max(MANY_TRIANGLES, TRIANGLES_EACH * (graph.n + graph.m))


def build_hierarchy(
    graph: Graph,
    around: tuple[NDArray[np.int64], NDArray[np.int32]],
    order: NDArray[np.int32],
    threads: int,
    limit: int,
) -> Hierarchy:
    """Build a graph's hierarchy for an order; raise if it takes too much work or memory."""
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
