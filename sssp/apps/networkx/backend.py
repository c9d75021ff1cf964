"""The backend ``sssp`` of NetworkX: its functions, and when they take a call.

NetworkX hands a call to ``sssp`` if it is asked to (``backend="sssp"``), or if it may choose
(``nx.config.backend_priority = ["sssp"]``) and the backend wants it. The graph is converted once
for each attribute and kept in ``G.__networkx_cache__``, which the methods of the graph clear. An
attribute that is changed in place, ``G[u][v]["weight"] = 9``, is not noticed: clear the cache
then, ``G.__networkx_cache__.clear()``.

Answers are those of NetworkX, in its types: exact ints from ints, floats that are added up along
the path, dicts in order of distance. Three things differ. Of several shortest paths it may be
another one; paths come as a read-only mapping that makes each one when it is asked for
(`sssp.apps.networkx.searches.Paths`); and what is added up along a whole path may differ in
its last digits from what NetworkX puts together of two halves (`bidirectional_dijkstra`) or by
matrices.

Goes back to NetworkX, which then goes on itself if it may choose: weights that are neither all
ints nor all floats (a missing one is the int 1), infinities and NaN, ints whose sums may not fit
int64, functions in place of weights, and Dijkstra's algorithm on negative weights.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import networkx as nx
import numpy as np

from sssp import ShortestPaths
from sssp.apps.networkx.choice import FLOYD_WARSHALL_KNOWS_CYCLES, can_run, should_run
from sssp.apps.networkx.converted import ConvertedGraph, convert_from_nx, convert_to_nx
from sssp.apps.networkx.searches import (
    Paths,
    SearchKind,
    SearchRow,
    bellman_ford,
    by_hops,
    dijkstra,
    find_between,
    find_matrix,
    has_negative_cycle,
    search_each,
    search_from,
)

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]

Lengths = dict[Any, Any]
LengthAndPath = tuple[Any, list[Any]]
Table = dict[Any, Lengths]

# -- weighted ------------------------------------------------------------------------------------


def dijkstra_path(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the nodes on a shortest path."""
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """Return the length of a shortest path."""
    kind = dijkstra(G, weight)
    return _between("dijkstra_path_length", G, kind, source, target, tree=False)[0]


def single_source_dijkstra_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Paths:
    """Return the path to every node from one."""
    return _nearest(G, {source}, cutoff, weight, tree=True).paths()


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from one."""
    return _nearest(G, {source}, cutoff, weight, tree=False).lengths()


def single_source_dijkstra(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return the distance of every node from one, and the paths; of the target alone if given."""
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def multi_source_dijkstra_path(
    G: ConvertedGraph, sources: Collection[Any], cutoff: float | None = None, weight: Any = "weight"
) -> Paths:
    """Return the path to every node from the nearest of some."""
    return _nearest(G, sources, cutoff, weight, tree=True).paths()


def multi_source_dijkstra_path_length(
    G: ConvertedGraph, sources: Collection[Any], cutoff: float | None = None, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from the nearest of some."""
    return _nearest(G, sources, cutoff, weight, tree=False).lengths()


def multi_source_dijkstra(
    G: ConvertedGraph,
    sources: Collection[Any],
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return the distance of every node from the nearest of some, and the paths; or of one node."""
    if target is None:
        return _both(_nearest(G, sources, cutoff, weight, tree=True))
    starts, end = _starts(G, sources), G.vertex(target)
    found = find_between(G, dijkstra(G, weight, cutoff), starts, end, tree=True)
    if found is None:
        ends = {"sources": sources, "target": target}
        _raise_as_networkx("multi_source_dijkstra", G, (*sources, target), **ends)
    return found


def dijkstra_predecessor_and_distance(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], Lengths]:
    """Return all nodes that stand before each one on shortest paths, and the distances."""
    start = _require("dijkstra_predecessor_and_distance", G, source=source)
    return _before_and_lengths(G, dijkstra(G, weight, cutoff), start)


def all_pairs_dijkstra(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[Lengths, Paths]]]:
    """Yield every node with the distances of all others from it, and the paths."""
    rows = search_each(G, dijkstra(G, weight, cutoff), tree=True)
    return ((row.source, _both(row)) for row in rows)


def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Yield every node with the distances of all others from it."""
    return _all_lengths(G, dijkstra(G, weight, cutoff))


def all_pairs_dijkstra_path(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    return _all_paths(G, dijkstra(G, weight, cutoff))


def bellman_ford_predecessor_and_distance(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    weight: Any = "weight",
    heuristic: bool = False,
) -> tuple[dict[Any, list[Any]], Lengths]:
    """Return all nodes that stand before each one on shortest paths, and the distances.

    `target` and `heuristic` make no difference.
    """
    start = _require("bellman_ford_predecessor_and_distance", G, source=source)
    _refuse_negative_loops(G, weight)
    return _before_and_lengths(G, bellman_ford(G, weight), start)


def bellman_ford_path(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the nodes on a shortest path."""
    return single_source_bellman_ford(G, source, target, weight)[1]


def bellman_ford_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """Return the length of a shortest path."""
    kind = bellman_ford(G, weight)
    return _between("bellman_ford_path_length", G, kind, source, target, tree=False)[0]


def single_source_bellman_ford_path(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> Paths:
    """Return the path to every node from one."""
    start = _require("single_source_bellman_ford", G, source=source)
    return search_from(G, bellman_ford(G, weight), [start], tree=True).paths()


def single_source_bellman_ford_path_length(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from one."""
    start = _require("single_source_bellman_ford_path_length", G, source=source)
    return search_from(G, bellman_ford(G, weight), [start], tree=False).lengths()


def single_source_bellman_ford(
    G: ConvertedGraph, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return the distance of every node from one, and the paths; of the target alone if given."""
    kind = bellman_ford(G, weight)
    if target is None:
        start = _require("single_source_bellman_ford", G, source=source)
        return _both(search_from(G, kind, [start], tree=True))
    return _between("single_source_bellman_ford", G, kind, source, target, tree=True)


def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Yield every node with the distances of all others from it."""
    return _all_lengths(G, bellman_ford(G, weight))


def all_pairs_bellman_ford_path(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    return _all_paths(G, bellman_ford(G, weight))


def goldberg_radzik(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> tuple[dict[Any, Any], Lengths]:
    """Return the node before each one on its path, and the distances."""
    start = _require("goldberg_radzik", G, source=source)
    _refuse_negative_loops(G, weight)
    row = search_from(G, bellman_ford(G, weight), [start], tree=True)
    return row.predecessors(), row.lengths()


def negative_edge_cycle(G: ConvertedGraph, weight: Any = "weight", heuristic: bool = True) -> bool:
    """Return whether there is a cycle of negative length; `heuristic` makes no difference."""
    kind = bellman_ford(G, weight)
    return kind.method == "bellman-ford" and has_negative_cycle(G)


def bidirectional_dijkstra(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> LengthAndPath:
    """Return the length of a shortest path and its nodes."""
    kind = dijkstra(G, weight)
    return _between("bidirectional_dijkstra", G, kind, source, target, tree=True)


def johnson(G: ConvertedGraph, weight: Any = "weight") -> dict[Any, Paths]:
    """Return the paths from every node to all others."""
    found = find_matrix(G, bellman_ford(G, weight), tree=True)
    columns = zip(G.nodes, found.distances, found.predecessors, strict=True)
    return {node: SearchRow(G, [v], *row).paths() for v, (node, *row) in enumerate(columns)}


def _both(row: SearchRow) -> tuple[Lengths, Paths]:
    return row.lengths(), row.paths()


def _before_and_lengths(
    G: ConvertedGraph, kind: SearchKind, start: int
) -> tuple[dict[Any, list[Any]], Lengths]:
    row = search_from(G, kind, [start], tree=False)
    before = row.all_predecessors(by_hops=kind.method == "breadth-first")
    return before, row.lengths()


def _refuse_negative_loops(G: ConvertedGraph, weight: Any) -> None:
    loops = G.graph.indices == G.graph.tails
    if weight is not None and (G.graph.weights[loops] < 0).any():
        raise nx.NetworkXUnbounded("Negative cycle detected.")


def _all_lengths(G: ConvertedGraph, kind: SearchKind) -> Iterator[tuple[Any, Lengths]]:
    return ((row.source, row.lengths()) for row in search_each(G, kind, tree=False))


def _all_paths(G: ConvertedGraph, kind: SearchKind) -> Iterator[tuple[Any, Paths]]:
    return ((row.source, row.paths()) for row in search_each(G, kind, tree=True))


def _nearest(
    G: ConvertedGraph, sources: Collection[Any], cutoff: Any, weight: Any, *, tree: bool
) -> SearchRow:
    """Search from the nearest of several nodes."""
    starts = _starts(G, sources)
    return search_from(G, dijkstra(G, weight, cutoff), starts, tree=tree)


def _starts(G: ConvertedGraph, sources: Collection[Any]) -> list[int]:
    """Return the vertices of the sources, which are nodes, and at least one."""
    vertices = [vertex for node in sources if (vertex := G.vertex(node)) is not None]
    if not vertices or len(vertices) < len(sources):
        _raise_as_networkx("multi_source_dijkstra", G, sources, sources=sources)
    return list(dict.fromkeys(vertices))


# -- unweighted ----------------------------------------------------------------------------------


def single_source_shortest_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance of every node from one."""
    start = _require("single_source_shortest_path_length", G, source=source)
    return search_from(G, by_hops(cutoff), [start], tree=False).lengths()


def single_target_shortest_path_length(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance of every node to one."""
    end = _require("single_target_shortest_path_length", G, target=target)
    return search_from(G, by_hops(cutoff).reverse(), [end], tree=False).lengths()


def all_pairs_shortest_path_length(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Yield every node with the distances of all others from it."""
    return _all_lengths(G, by_hops(cutoff))


def bidirectional_shortest_path(G: ConvertedGraph, source: Any, target: Any) -> list[Any]:
    """Return the nodes on a shortest path."""
    return _between("bidirectional_shortest_path", G, by_hops(), source, target, tree=True)[1]


def single_source_shortest_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> Paths:
    """Return the path to every node from one."""
    start = _require("single_source_shortest_path", G, source=source)
    return search_from(G, by_hops(cutoff), [start], tree=True).paths()


def single_target_shortest_path(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> Paths:
    """Return the path from every node to one."""
    end = _require("single_target_shortest_path", G, target=target)
    return search_from(G, by_hops(cutoff).reverse(), [end], tree=True).paths()


def all_pairs_shortest_path(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    return _all_paths(G, by_hops(cutoff))


def predecessor(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    """Return all nodes that stand before each one on shortest paths, or before one."""
    start = _require("predecessor", G, source=source)
    # (a cutoff of 0 is none here)
    row = search_from(G, by_hops(cutoff or None), [start], tree=False)
    before = row.all_predecessors(by_hops=True)
    lengths = row.lengths() if return_seen else {}
    found: tuple[Any, Any] = (before, lengths)
    if target is not None:
        found = (before.get(target, []), lengths.get(target, -1))
    return found if return_seen else found[0]


# -- generic -------------------------------------------------------------------------------------


def has_path(G: ConvertedGraph, source: Any, target: Any) -> bool:
    """Return whether there is a path."""
    start, end = G.vertex(source), G.vertex(target)
    if start is None or end is None:  # (NetworkX takes None for all nodes)
        return bool(_ask_networkx("has_path", G, (source, target), source=source, target=target))
    return find_between(G, by_hops(), [start], end, tree=False) is not None


def shortest_path(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return a shortest path, those from or to all nodes, or an iterator over those of all."""
    found = _search_generic("shortest_path", G, source, target, weight, method, tree=True)
    return found[1] if isinstance(found, tuple) else found


def shortest_path_length(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return the length of a shortest path, or those from or to all nodes, or of all pairs."""
    found = _search_generic("shortest_path_length", G, source, target, weight, method, tree=False)
    return found[0] if isinstance(found, tuple) else found


def _search_generic(
    name: str, G: ConvertedGraph, source: Any, target: Any, weight: Any, method: str, *, tree: bool
) -> Any:
    """Return the answer of `shortest_path` or its length; between two nodes both."""

    def refuse() -> NoReturn:
        ends = {"source": source, "target": target}
        _raise_as_networkx(name, G, ends.values(), **ends, weight=weight, method=method)

    if weight is None and method in ("dijkstra", "bellman-ford"):
        kind = by_hops()
    elif method == "dijkstra":
        kind = dijkstra(G, weight)
    elif method == "bellman-ford":
        kind = bellman_ford(G, weight)
    else:
        refuse()
    if source is None and target is None:
        return (_all_paths if tree else _all_lengths)(G, kind)
    start, end = G.vertex(source), G.vertex(target)
    if source is None or target is None:
        if source is None:
            start, kind = end, kind.reverse()
        if start is None:
            refuse()
        row = search_from(G, kind, [start], tree=tree)
        return row.paths() if tree else row.lengths()
    found = find_between(G, kind, [start], end, tree=tree)
    if found is None:
        refuse()
    return found


# -- dense ---------------------------------------------------------------------------------------


def floyd_warshall(G: ConvertedGraph, weight: Any = "weight") -> Table:
    """Return the distances from every node, infinite where there is no path."""
    distances = _distances(G, weight, _matrix(G, weight, tree=False))
    rows = (SearchRow(G, [vertex], row, None) for vertex, row in enumerate(distances))
    return {node: _complete(G, row) for node, row in zip(G.nodes, rows, strict=True)}


def floyd_warshall_predecessor_and_distance(
    G: ConvertedGraph, weight: Any = "weight"
) -> tuple[Table, Table]:
    """Return for every node the predecessors on the paths to all others, and the distances."""
    found = _matrix(G, weight, tree=True)
    columns = zip(_distances(G, weight, found), found.predecessors, strict=True)
    loops = set(G.loops.tolist())
    before: Table = {}
    lengths: Table = {}
    for vertex, (distances, tails) in enumerate(columns):
        node, row = G.nodes[vertex], SearchRow(G, [vertex], distances, tails)
        tree = row.predecessors()
        # NetworkX has a node before the source only where an edge leads from there to itself,
        # and no row for a node that reaches nothing
        if vertex in loops:
            tree[node] = node
        else:
            del tree[node]
        if tree:
            before[node] = tree
        lengths[node] = _complete(G, row)
    return before, lengths


def floyd_warshall_numpy(
    G: ConvertedGraph, nodelist: Collection[Any] | None = None, weight: Any = "weight"
) -> Any:
    """Return the distances as an array, infinite where there is no path."""
    if nodelist is not None and not len(nodelist) == len(G.nodes) == len(set(nodelist)):
        _raise_as_networkx("floyd_warshall_numpy", G, G.nodes, nodelist=nodelist)
    matrix = _matrix(G, weight, tree=False).to_float()
    if nodelist is None:
        return matrix
    vertices = [vertex for node in nodelist if (vertex := G.vertex(node)) is not None]
    if len(vertices) < len(nodelist):
        _raise_as_networkx("floyd_warshall_numpy", G, G.nodes, nodelist=nodelist)
    return matrix[np.ix_(vertices, vertices)]


def _matrix(G: ConvertedGraph, weight: Any, *, tree: bool) -> ShortestPaths:
    """Search from every node; refuse a negative cycle as this version of NetworkX does."""
    try:
        return find_matrix(G, bellman_ford(G, weight), tree=tree)
    except nx.NetworkXUnbounded as error:
        if FLOYD_WARSHALL_KNOWS_CYCLES:
            raise
        raise NotImplementedError("Floyd and Warshall's algorithm on a negative cycle") from error


def _distances(G: ConvertedGraph, weight: Any, found: ShortestPaths) -> Any:
    """Return the matrix, of floats if NetworkX takes 1.0 for the weights, which are all missing."""
    defaulted = "all" if weight is None else G.defaulted
    if defaulted == "some" and not FLOYD_WARSHALL_KNOWS_CYCLES:
        raise NotImplementedError("some weights are missing, for which NetworkX takes 1.0, not 1")
    as_they_are = FLOYD_WARSHALL_KNOWS_CYCLES or defaulted == "none"
    return found.distances if as_they_are else found.to_float()


def _complete(G: ConvertedGraph, row: SearchRow) -> dict[Any, Any]:
    return row.lengths() | dict.fromkeys(G.names[~row.reached].tolist(), math.inf)


# -- distance measures ---------------------------------------------------------------------------


def closeness_centrality(
    G: ConvertedGraph,
    u: Any = None,
    distance: Any = None,
    wf_improved: bool = True,
    *,
    sp: None = None,
) -> Any:
    """Return the closeness of every node, or of one.

    `sp`, distances that NetworkX 3.7 takes, does not come here: `can_run` declines.
    """
    kind = (by_hops() if distance is None else dijkstra(G, distance)).reverse()
    if u is None:
        rows = search_each(G, kind, tree=False)
        closeness = (_closeness(G, row, wf_improved) for row in rows)
        return dict(zip(G.nodes, closeness, strict=True))
    vertex = G.vertex(u)
    if vertex is None:
        _raise_as_networkx("closeness_centrality", G, (), u=u, distance=distance)
    row = search_from(G, kind, [vertex], tree=False)
    return _closeness(G, row, wf_improved)


def _closeness(G: ConvertedGraph, row: SearchRow, wf_improved: bool) -> float:
    """Return the closeness of the source of a row, computed in the order of NetworkX."""
    n, total = len(G.nodes), row.total()
    if not total > 0.0 or n <= 1:
        return 0.0
    others = row.count() - 1.0
    closeness: float = others / total
    return closeness * (others / (n - 1)) if wf_improved else closeness


def eccentricity(G: ConvertedGraph, v: Any = None, sp: None = None, weight: Any = None) -> Any:
    """Return the distance of the farthest node from every node, from some, or from one.

    `sp`, distances, does not come here: `can_run` declines.
    """
    if not G.nodes:
        return _ask_networkx("eccentricity", G, (), v=v, weight=weight)
    if v is None:
        return _eccentricities(G, range(len(G.nodes)), weight)
    vertex = G.vertex(v)
    if vertex is not None:
        return _eccentricities(G, [vertex], weight)[v]
    vertices = [found for node in v if (found := G.vertex(node)) is not None]
    if len(vertices) < len(v):
        raise NotImplementedError("v holds something that is not a node")
    return _eccentricities(G, vertices, weight)


def _eccentricities(G: ConvertedGraph, vertices: Sequence[int], weight: Any) -> dict[Any, Any]:
    kind = by_hops() if weight is None else dijkstra(G, weight)
    found = {}
    for vertex, row in zip(vertices, search_each(G, kind, vertices, tree=False), strict=True):
        if row.count() < len(G.nodes):
            _raise_as_networkx("eccentricity", G, G.nodes[:2])
        found[G.nodes[vertex]] = row.farthest()
    return found


def diameter(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the greatest eccentricity.

    `e`, eccentricities, and `usebounds` do not come here: `can_run` declines.
    """
    if not G.nodes:
        return _ask_networkx("diameter", G, (), weight=weight)
    return max(eccentricity(G, weight=weight).values())


def radius(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the least eccentricity; `e` and `usebounds` as for `diameter`."""
    if not G.nodes:
        return _ask_networkx("radius", G, (), weight=weight)
    return min(eccentricity(G, weight=weight).values())


# -- refusals ------------------------------------------------------------------------------------


def _ask_networkx(name: str, G: ConvertedGraph, nodes: Iterable[Any], /, **arguments: Any) -> Any:
    """Call NetworkX's own function on a graph that has no edges.

    Parameters
    ----------
    name : str
        The function of NetworkX.
    G : ConvertedGraph
    nodes : iterable
        Those of them that `G` has are the nodes of that graph, which is as directed as `G`.
    **arguments
        Of the function.
    """
    stand_in: Any = nx.DiGraph() if G.is_directed() else nx.Graph()
    stand_in.add_nodes_from(node for node in nodes if G.vertex(node) is not None)
    return getattr(nx, name).orig_func(stand_in, **arguments)


def _raise_as_networkx(
    name: str, G: ConvertedGraph, nodes: Iterable[Any], /, **arguments: Any
) -> NoReturn:
    """Raise the error of NetworkX for a node that is missing, or not reached."""
    found = _ask_networkx(name, G, nodes, **arguments)
    raise AssertionError(f"NetworkX has an answer where sssp has none: {name} found {found!r}")


def _require(name: str, G: ConvertedGraph, /, **node: Any) -> int:
    """Return the vertex of a node, given by the name of its parameter; raise if it is not one."""
    [given] = node.values()
    vertex = G.vertex(given)
    if vertex is None:
        _raise_as_networkx(name, G, (), **node)
    return vertex


def _between(
    name: str, G: ConvertedGraph, kind: SearchKind, source: Any, target: Any, *, tree: bool
) -> LengthAndPath:
    """Return the length of a shortest path and its nodes, or raise as a function of NetworkX."""
    start, end = G.vertex(source), G.vertex(target)
    if start is not None and end is None and kind.method == "bellman-ford":
        search_from(G, kind, [start], tree=False)  # (NetworkX comes to a negative cycle first)
    found = find_between(G, kind, [start], end, tree=tree)
    if found is None:
        _raise_as_networkx(name, G, (source, target), source=source, target=target)
    return found
