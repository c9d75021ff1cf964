"""The functions of `networkx.algorithms.shortest_paths.weighted`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from networkx import NetworkXUnbounded

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.path_functions import Paths
from sssp.apps.networkx.refusal import between, named, raise_as_networkx
from sssp.apps.networkx.searches import (
    Question,
    Row,
    bellman_ford,
    dijkstra,
    is_unbounded,
    length_between,
    path_between,
    row_from,
    rows_from,
    rows_of_all_pairs,
)

Lengths = dict[Any, Any]
LengthAndPath = tuple[Any, list[Any]]


def dijkstra_path(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return the nodes on a shortest path."""
    path: list[Any] = single_source_dijkstra(G, source, target, weight=weight)[1]
    return path


def dijkstra_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """Return the length of a shortest path."""
    question = dijkstra(G, weight)
    return between("dijkstra_path_length", G, length_between, question, source, target)


def single_source_dijkstra_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Paths:
    """Return the path to every node from one."""
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from one."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


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
    starts = _starts(G, sources)
    return row_from(G, dijkstra(G, weight, cutoff), starts, tree=True).paths()


def multi_source_dijkstra_path_length(
    G: ConvertedGraph, sources: Collection[Any], cutoff: float | None = None, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from the nearest of some."""
    starts = _starts(G, sources)
    return row_from(G, dijkstra(G, weight, cutoff), starts, tree=False).lengths()


def multi_source_dijkstra(
    G: ConvertedGraph,
    sources: Collection[Any],
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return the distance of every node from the nearest of some, and the paths; or of one node."""
    starts = _starts(G, sources)
    question = dijkstra(G, weight, cutoff)
    if target is None:
        return _both(row_from(G, question, starts, tree=True))
    end = G.vertex(target)
    found = None if end is None else path_between(G, question, starts, end)
    if found is None:
        ends = {"sources": sources, "target": target}
        raise_as_networkx("multi_source_dijkstra", G, (*sources, target), **ends)
    return found


def dijkstra_predecessor_and_distance(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], Lengths]:
    """Return all nodes that stand before each one on shortest paths, and the distances."""
    start = named("dijkstra_predecessor_and_distance", G, source=source)
    return _before_and_lengths(G, dijkstra(G, weight, cutoff), start)


def all_pairs_dijkstra(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[Lengths, Paths]]]:
    """Yield every node with the distances of all others from it, and the paths."""
    return ((node, _both(row)) for node, row in _rows(G, dijkstra(G, weight, cutoff), tree=True))


def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Yield every node with the distances of all others from it."""
    rows = _rows(G, dijkstra(G, weight, cutoff), tree=False)
    return ((node, row.lengths()) for node, row in rows)


def all_pairs_dijkstra_path(
    G: ConvertedGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    return ((node, row.paths()) for node, row in _rows(G, dijkstra(G, weight, cutoff), tree=True))


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
    start = named("bellman_ford_predecessor_and_distance", G, source=source)
    _refuse_negative_loops(G, weight)
    return _before_and_lengths(G, bellman_ford(G, weight), start)


def bellman_ford_path(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> list[Any]:
    """Return the nodes on a shortest path."""
    path: list[Any] = single_source_bellman_ford(G, source, target, weight)[1]
    return path


def bellman_ford_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """Return the length of a shortest path."""
    question = bellman_ford(G, weight)
    return between("bellman_ford_path_length", G, length_between, question, source, target)


def single_source_bellman_ford_path(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> Paths:
    """Return the path to every node from one."""
    start = _bellman_ford_start(G, source)
    return row_from(G, bellman_ford(G, weight), [start], tree=True).paths()


def single_source_bellman_ford_path_length(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> Lengths:
    """Return the distance of every node from one."""
    start = named("single_source_bellman_ford_path_length", G, source=source)
    return row_from(G, bellman_ford(G, weight), [start], tree=False).lengths()


def single_source_bellman_ford(
    G: ConvertedGraph, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return the distance of every node from one, and the paths; of the target alone if given."""
    question = bellman_ford(G, weight)
    if target is None:
        return _both(row_from(G, question, [_bellman_ford_start(G, source)], tree=True))
    found: LengthAndPath = between(
        "single_source_bellman_ford", G, path_between, question, source, target
    )
    return found


def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Yield every node with the distances of all others from it."""
    return ((node, row.lengths()) for node, row in _rows(G, bellman_ford(G, weight), tree=False))


def all_pairs_bellman_ford_path(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    return ((node, row.paths()) for node, row in _rows(G, bellman_ford(G, weight), tree=True))


def goldberg_radzik(
    G: ConvertedGraph, source: Any, weight: Any = "weight"
) -> tuple[dict[Any, Any], Lengths]:
    """Return the node before each one on its path, and the distances."""
    start = named("goldberg_radzik", G, source=source)
    _refuse_negative_loops(G, weight)
    row = row_from(G, bellman_ford(G, weight), [start], tree=True)
    return row.predecessors(), row.lengths()


def negative_edge_cycle(G: ConvertedGraph, weight: Any = "weight", heuristic: bool = True) -> bool:
    """Tell whether there is a cycle of negative length; `heuristic` makes no difference."""
    question = bellman_ford(G, weight)
    return question.method == "bellman-ford" and is_unbounded(G)


def bidirectional_dijkstra(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> LengthAndPath:
    """Return the length of a shortest path and its nodes."""
    question = dijkstra(G, weight)
    found: LengthAndPath = between(
        "bidirectional_dijkstra", G, path_between, question, source, target
    )
    return found


def johnson(G: ConvertedGraph, weight: Any = "weight") -> dict[Any, Paths]:
    """Return the paths from every node to all others."""
    rows = rows_of_all_pairs(G, bellman_ford(G, weight))
    return {node: row.paths() for node, row in zip(G.nodes, rows, strict=True)}


def _both(row: Row) -> tuple[Lengths, Paths]:
    return row.lengths(), row.paths()


def _before_and_lengths(
    G: ConvertedGraph, question: Question, start: int
) -> tuple[dict[Any, list[Any]], Lengths]:
    by_hops = question.method == "breadth-first"
    row = row_from(G, question, [start], tree=False)
    return row.all_predecessors(by_hops=by_hops), row.lengths()


def _refuse_negative_loops(G: ConvertedGraph, weight: Any) -> None:
    if weight is not None and G.has_negative_loop:
        raise NetworkXUnbounded("Negative cycle detected.")


def _rows(G: ConvertedGraph, question: Question, *, tree: bool) -> Iterator[tuple[Any, Row]]:
    return zip(G.nodes, rows_from(G, question, range(len(G.nodes)), tree=tree), strict=True)


def _starts(G: ConvertedGraph, sources: Collection[Any]) -> list[int]:
    """Return the vertices of the sources, which are nodes, and at least one."""
    vertices = [vertex for node in sources if (vertex := G.vertex(node)) is not None]
    if not vertices or len(vertices) < len(sources):
        raise_as_networkx("multi_source_dijkstra", G, sources, sources=sources)
    return list(dict.fromkeys(vertices))


def _bellman_ford_start(G: ConvertedGraph, source: Any) -> int:
    return named("single_source_bellman_ford", G, source=source)
