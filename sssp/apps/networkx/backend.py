"""The functions of the NetworkX backend ``sssp``.

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
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from inspect import signature
from operator import methodcaller
from typing import Any, NoReturn

import networkx as nx
import numpy as np

from sssp import ShortestPaths
from sssp.apps.networkx import searches
from sssp.apps.networkx.choice import FLOYD_WARSHALL_KNOWS_CYCLES, can_run, should_run
from sssp.apps.networkx.converted import ConvertedGraph, convert_from_nx, convert_to_nx
from sssp.apps.networkx.info import FUNCTIONS
from sssp.apps.networkx.searches import HOPS, PathBetween, Paths, SearchKind, SearchRow, kind_of

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]

Lengths = dict[Any, Any]
Table = dict[Any, Lengths]
#: of a function, by name
Arguments = dict[str, Any]
#: takes the answer of a function from what a search has found
Form = Callable[[Any], Any]

# -- what functions return of a row, or of a path between two nodes --------------------------------


def _both(found: SearchRow | PathBetween) -> tuple[Any, Any]:
    return found.lengths(), found.paths()


def _tree(row: SearchRow) -> tuple[dict[Any, Any], Lengths]:
    """Return a search's predecessors and distances, as two dicts keyed by reached node."""
    _refuse_negative_loops(row)
    return row.predecessors(), row.lengths()


def _all_trees(row: SearchRow) -> tuple[dict[Any, list[Any]], Lengths]:
    """Return all predecessors of each node on shortest paths, and the distances."""
    _refuse_negative_loops(row)
    return row.all_predecessors(), row.lengths()


def _refuse_negative_loops(row: SearchRow) -> None:
    """Raise `NetworkXUnbounded` if a self-loop has negative weight and the search uses weights."""
    graph = row.G.graph
    if row.kind.method != HOPS and (graph.weights[graph.indices == graph.tails] < 0).any():
        raise nx.NetworkXUnbounded("Negative cycle detected.")


LENGTHS, PATHS = methodcaller("lengths"), methodcaller("paths")
#: forms that need the predecessors of a search
OF_TREES = (PATHS, _both, _tree)

# -- functions that only differ in algorithm and form: their names tell ----------------------------

#: parameters that are nodes to search between, from or to
ENDS: tuple[str, ...] = ("source", "sources", "target")
#: algorithms by a part of the names of their functions
ALGORITHMS = {
    "dijkstra": "dijkstra",
    "bellman_ford": "bellman-ford",
    "goldberg_radzik": "bellman-ford",
    "shortest_path": HOPS,
}
#: those that take the name of an algorithm
BY_METHOD = {"shortest_path", "shortest_path_length"}
#: without a target these find a whole row
TARGET_IS_OPTIONAL = {
    *("dijkstra_path", "single_source_dijkstra", "multi_source_dijkstra"),
    *("bellman_ford_path", "single_source_bellman_ford"),
}


#: what a function makes of a row or a path, by the end of its name; `_both` for other names
FORMS: dict[str, Form] = {
    "goldberg_radzik": _tree,
    "_predecessor_and_distance": _all_trees,
    "_path_length": LENGTHS,
    "_path": PATHS,
}


def _make_function(name: str, algorithm: str) -> Callable[..., Any]:
    """Return the backend's version of the NetworkX function `name`, with its signature."""
    form = next((form for ending, form in FORMS.items() if name.endswith(ending)), _both)
    theirs = getattr(nx, name).orig_func
    _, *parameters = signature(theirs).parameters
    nodes = [end for end in ENDS if end in parameters]
    if form is _all_trees and "target" in nodes:
        nodes.remove("target")  # (it makes no difference)
    optional = ENDS if name in BY_METHOD else ("target",) if name in TARGET_IS_OPTIONAL else ()

    @wraps(theirs, ("__name__", "__qualname__", "__doc__"))
    def answer(G: ConvertedGraph, *args: Any, **more: Any) -> Any:
        # (NetworkX has bound all arguments, defaults too)
        given = dict(zip(parameters, args, strict=False)) | more
        left_open = {end for end in optional if given.get(end) is None}
        ends = {end: given[end] for end in nodes if end not in left_open}
        method = given["method"] if name in BY_METHOD else algorithm
        if name in BY_METHOD and method not in ("dijkstra", "bellman-ford"):
            _raise_as_networkx(name, G, ends.values(), **given)
        kind = kind_of(method, G, given.get("weight"), given.get("cutoff"))
        return _search(name, G, kind, ends, form, given)

    return answer


def _search(
    name: str, G: ConvertedGraph, kind: SearchKind, ends: Arguments, form: Form, given: Arguments
) -> Any:
    """Run the search that a NetworkX function asks for; return the result in NetworkX's format.

    Where a node is missing, or not reached, NetworkX's function raises its error, of the arguments
    that are given.
    """
    tree = form in OF_TREES
    if not ends:
        return ((row.source, form(row)) for row in searches.search_each(G, kind, tree=tree))
    target = ends.get("target")
    sources = ends["sources"] if "sources" in ends else [ends.get("source", target)]
    starts: list[Any] = list(dict.fromkeys(map(G.vertex, sources)))
    found: SearchRow | PathBetween | None = None
    if starts and None not in starts:
        if len(ends) == 2:
            found = searches.find_between(G, kind, starts, G.vertex(target), tree=tree)
        else:
            kind = kind._replace(backwards="target" in ends)
            found = searches.search_from(G, kind, starts, tree=tree)
    if found is None:
        _raise_as_networkx(name, G, (*sources, target), **given)
    return form(found)


for _name in FUNCTIONS:
    for _part, _algorithm in ALGORITHMS.items():
        if _part in _name:
            globals()[_name] = _make_function(_name, _algorithm)


# -- others of one search, or of one a node --------------------------------------------------------


def predecessor(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    """Return the predecessors of every node, or of `target`, on paths with the fewest arcs."""

    def form(row: SearchRow) -> tuple[Any, Any]:
        return row.all_predecessors(), row.lengths() if return_seen else {}

    # (a cutoff of 0 is none here)
    kind, ends = kind_of(HOPS, G, cutoff=cutoff or None), {"source": source}
    before, lengths = _search("predecessor", G, kind, ends, form, ends)
    if target is not None:
        before, lengths = before.get(target, []), lengths.get(target, -1)
    return (before, lengths) if return_seen else before


def has_path(G: ConvertedGraph, source: Any, target: Any) -> bool:
    """Return whether there is a path from the source to the target."""
    start, end = G.vertex(source), G.vertex(target)
    if start is None or end is None:  # (NetworkX takes None for all nodes)
        return bool(_ask_networkx("has_path", G, (source, target), source=source, target=target))
    return searches.find_between(G, kind_of(HOPS, G), [start], end, tree=False) is not None


def negative_edge_cycle(G: ConvertedGraph, weight: Any = "weight", heuristic: bool = True) -> bool:
    """Return whether there is a cycle of negative length; `heuristic` makes no difference."""
    kind = kind_of("bellman-ford", G, weight)
    try:
        if kind.method == "bellman-ford":
            searches.search_from(G, kind, range(len(G.nodes)), tree=False)
    except nx.NetworkXUnbounded:
        return True
    return False


# -- dense ---------------------------------------------------------------------------------------


def johnson(G: ConvertedGraph, weight: Any = "weight") -> dict[Any, Paths]:
    """Return the shortest paths from every node to all nodes that it reaches."""
    found = searches.find_matrix(G, weight, tree=True)
    columns = zip(G.nodes, found.distances, found.predecessors, strict=True)
    return {node: SearchRow(G, [v], *row).paths() for v, (node, *row) in enumerate(columns)}


def floyd_warshall(G: ConvertedGraph, weight: Any = "weight") -> Table:
    """Return all-pairs distances as a dict of dicts, infinite where there is no path."""
    distances = _distances(G, weight, _matrix(G, weight, tree=False))
    rows = (SearchRow(G, [vertex], row, None) for vertex, row in enumerate(distances))
    return {node: _complete(G, row) for node, row in zip(G.nodes, rows, strict=True)}


def floyd_warshall_predecessor_and_distance(
    G: ConvertedGraph, weight: Any = "weight"
) -> tuple[Table, Table]:
    """Return all-pairs predecessors and distances, each as a dict of dicts by source node."""
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
    """Return all-pairs distances as a matrix, infinite where there is no path."""
    n = len(G.nodes)
    vertices: Any = range(n) if nodelist is None else [G.vertex(node) for node in nodelist]
    if len(vertices) != n or {*vertices} != {*range(n)}:
        _raise_as_networkx("floyd_warshall_numpy", G, G.nodes, nodelist=nodelist)
    matrix = _matrix(G, weight, tree=False).to_float()
    return matrix if nodelist is None else matrix[np.ix_(vertices, vertices)]


def _matrix(G: ConvertedGraph, weight: Any, *, tree: bool) -> ShortestPaths:
    """Compute distances (and predecessors) of all pairs; raise an error at a negative cycle."""
    try:
        return searches.find_matrix(G, weight, tree=tree)
    except nx.NetworkXUnbounded as error:
        if FLOYD_WARSHALL_KNOWS_CYCLES:
            raise
        raise NotImplementedError("Floyd and Warshall's algorithm on a negative cycle") from error


def _distances(G: ConvertedGraph, weight: Any, found: ShortestPaths) -> Any:
    """Return the distance matrix; convert integers to floats where NetworkX returns floats."""
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
    """Return the closeness centrality of every node, or of one, summed as in NetworkX.

    `sp`, distances that NetworkX 3.7 takes, does not come here: `can_run` declines.
    """
    kind, n = kind_of("dijkstra", G, distance)._replace(backwards=True), len(G.nodes)
    vertex = None if u is None else G.vertex(u)
    if u is not None and vertex is None:
        _raise_as_networkx("closeness_centrality", G, (), u=u, distance=distance)
    found: dict[Any, float] = {}
    for row in searches.search_each(G, kind, None if vertex is None else [vertex], tree=False):
        total, others = row.total(), row.count() - 1.0
        closeness = others / total if total > 0.0 and n > 1 else 0.0
        found[row.source] = closeness * (others / (n - 1)) if wf_improved and n > 1 else closeness
    return found if vertex is None else found[G.nodes[vertex]]


def eccentricity(G: ConvertedGraph, v: Any = None, sp: None = None, weight: Any = None) -> Any:
    """Return the eccentricity (greatest distance) of every node, of some nodes, or of one.

    `sp`, distances, does not come here: `can_run` declines.
    """
    if not G.nodes:
        return _ask_networkx("eccentricity", G, (), v=v, weight=weight)
    vertex = None if v is None else G.vertex(v)
    vertices: Sequence[int] = range(len(G.nodes)) if vertex is None else [vertex]
    if v is not None and vertex is None:
        vertices = [found for node in v if (found := G.vertex(node)) is not None]
        if len(vertices) < len(v):
            raise NotImplementedError("v holds something that is not a node")
    farthest = {}
    for row in searches.search_each(G, kind_of("dijkstra", G, weight), vertices, tree=False):
        if row.count() < len(G.nodes):
            _raise_as_networkx("eccentricity", G, G.nodes[:2])
        farthest[row.source] = row.farthest()
    return farthest if vertex is None else farthest[v]


def diameter(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the greatest eccentricity.

    `e`, eccentricities, and `usebounds` do not come here: `can_run` declines.
    """
    return max(eccentricity(G, weight=weight).values())


def radius(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the radius of a graph, which is the least eccentricity of a node."""
    return min(eccentricity(G, weight=weight).values())


# -- refusals ------------------------------------------------------------------------------------


def _ask_networkx(name: str, G: ConvertedGraph, nodes: Iterable[Any], /, **arguments: Any) -> Any:
    """Call a NetworkX function on an edgeless graph of `nodes`; return its result or raise.

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
    """Raise the error that NetworkX's own function raises for a missing or unreached node."""
    found = _ask_networkx(name, G, nodes, **arguments)
    raise AssertionError(f"NetworkX has an answer where sssp has none: {name} found {found!r}")
