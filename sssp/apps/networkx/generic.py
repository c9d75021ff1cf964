"""The functions of `networkx.algorithms.shortest_paths.generic`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.path_functions import Paths
from sssp.apps.networkx.refusal import ask_networkx, raise_as_networkx
from sssp.apps.networkx.searches import (
    Question,
    bellman_ford,
    by_hops,
    dijkstra,
    length_between,
    path_between,
    row_from,
    rows_from,
)


def has_path(G: ConvertedGraph, source: Any, target: Any) -> bool:
    """Tell whether there is a path."""
    start, end = G.vertex(source), G.vertex(target)
    if start is None or end is None:  # (NetworkX takes None for all nodes)
        return bool(ask_networkx("has_path", G, (source, target), source=source, target=target))
    return length_between(G, by_hops(), [start], end) is not None


def shortest_path(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> list[Any] | Paths | Iterator[tuple[Any, Paths]]:
    """Return a shortest path, those from or to all nodes, or an iterator over those of all."""

    def refuse() -> NoReturn:
        ends = {"source": source, "target": target}
        raise_as_networkx("shortest_path", G, ends.values(), **ends, weight=weight, method=method)

    question = _question(G, weight, method)
    if question is None:
        refuse()
    if source is None and target is None:
        rows = rows_from(G, question, range(len(G.nodes)), tree=True)
        return ((node, row.paths()) for node, row in zip(G.nodes, rows, strict=True))
    start, end = G.vertex(source), G.vertex(target)
    if source is None:
        if end is None:
            refuse()
        return row_from(G, question.turned(), [end], tree=True).paths_to()
    if start is None:
        refuse()
    if target is None:
        return row_from(G, question, [start], tree=True).paths()
    found = None if end is None else path_between(G, question, [start], end)
    if found is None:
        refuse()
    return found[1]


def shortest_path_length(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return the length of a shortest path, or those from or to all nodes, or of all pairs."""

    def refuse() -> NoReturn:
        ends = {"source": source, "target": target}
        options = {"weight": weight, "method": method}
        raise_as_networkx("shortest_path_length", G, ends.values(), **ends, **options)

    question = _question(G, weight, method)
    if question is None:
        refuse()
    if source is None and target is None:
        rows = rows_from(G, question, range(len(G.nodes)), tree=False)
        return ((node, row.lengths()) for node, row in zip(G.nodes, rows, strict=True))
    start, end = G.vertex(source), G.vertex(target)
    if source is None:
        if end is None:
            refuse()
        return row_from(G, question.turned(), [end], tree=False).lengths()
    if start is None:
        refuse()
    if target is None:
        return row_from(G, question, [start], tree=False).lengths()
    length = None if end is None else length_between(G, question, [start], end)
    if length is None:
        refuse()
    return length


def _question(G: ConvertedGraph, weight: Any, method: str) -> Question | None:
    """Return how to search; None if there is no such method."""
    if method not in ("dijkstra", "bellman-ford"):
        return None
    if weight is None:
        return by_hops()
    return dijkstra(G, weight) if method == "dijkstra" else bellman_ford(G, weight)
