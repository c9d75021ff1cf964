"""The functions of `networkx.algorithms.shortest_paths.unweighted`: distances in numbers of edges.

Arguments, results and exceptions of all functions here and beside are those of NetworkX.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.path_functions import Paths, PathsTo
from sssp.apps.networkx.refusal import between, named
from sssp.apps.networkx.searches import by_hops, path_between, row_from, rows_from


def single_source_shortest_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance of every node from one."""
    start = named("single_source_shortest_path_length", G, source=source)
    return row_from(G, by_hops(cutoff), [start], tree=False).lengths()


def single_target_shortest_path_length(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance of every node to one."""
    end = named("single_target_shortest_path_length", G, target=target)
    return row_from(G, by_hops(cutoff).turned(), [end], tree=False).lengths()


def all_pairs_shortest_path_length(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Yield every node with the distances of all others from it."""
    rows = rows_from(G, by_hops(cutoff), range(len(G.nodes)), tree=False)
    return ((node, row.lengths()) for node, row in zip(G.nodes, rows, strict=True))


def bidirectional_shortest_path(G: ConvertedGraph, source: Any, target: Any) -> list[Any]:
    """Return the nodes on a shortest path."""
    path: list[Any]
    _, path = between("bidirectional_shortest_path", G, path_between, by_hops(), source, target)
    return path


def single_source_shortest_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> Paths:
    """Return the path to every node from one."""
    start = named("single_source_shortest_path", G, source=source)
    return row_from(G, by_hops(cutoff), [start], tree=True).paths()


def single_target_shortest_path(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> PathsTo:
    """Return the path from every node to one."""
    end = named("single_target_shortest_path", G, target=target)
    return row_from(G, by_hops(cutoff).turned(), [end], tree=True).paths_to()


def all_pairs_shortest_path(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, Paths]]:
    """Yield every node with the paths to all others from it."""
    rows = rows_from(G, by_hops(cutoff), range(len(G.nodes)), tree=True)
    return ((node, row.paths()) for node, row in zip(G.nodes, rows, strict=True))


def predecessor(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    """Return all nodes that stand before each one on shortest paths, or before one."""
    start = named("predecessor", G, source=source)
    # (a cutoff of 0 is none here)
    row = row_from(G, by_hops(cutoff or None), [start], tree=False)
    before = row.all_predecessors(by_hops=True)
    if target is None:
        return (before, row.lengths()) if return_seen else before
    if return_seen:
        return before.get(target, []), row.lengths().get(target, -1)
    return before.get(target, [])
