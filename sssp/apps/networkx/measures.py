"""Closeness, eccentricity, diameter and radius: numbers about the distances of whole graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.refusal import ask_networkx, raise_as_networkx
from sssp.apps.networkx.searches import Row, by_hops, dijkstra, rows_from


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
    question = (by_hops() if distance is None else dijkstra(G, distance)).turned()
    if u is None:
        rows = rows_from(G, question, range(len(G.nodes)), tree=False)
        closeness = (_closeness(G, row, wf_improved) for row in rows)
        return dict(zip(G.nodes, closeness, strict=True))
    vertex = G.vertex(u)
    if vertex is None:
        raise_as_networkx("closeness_centrality", G, (), u=u, distance=distance)
    [row] = rows_from(G, question, [vertex], tree=False)
    return _closeness(G, row, wf_improved)


def _closeness(G: ConvertedGraph, row: Row, wf_improved: bool) -> float:
    """Compute what NetworkX computes, in its order."""
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
        return ask_networkx("eccentricity", G, (), v=v, weight=weight)
    if v is None:
        return _eccentricities(G, range(len(G.nodes)), weight)
    vertex = G.vertex(v)
    if vertex is not None:
        return _eccentricities(G, [vertex], weight)[v]
    vertices = [found for node in v if (found := G.vertex(node)) is not None]
    if len(vertices) < len(v):
        raise NotImplementedError("v holds something that is no node")
    return _eccentricities(G, vertices, weight)


def _eccentricities(G: ConvertedGraph, vertices: Sequence[int], weight: Any) -> dict[Any, Any]:
    question = by_hops() if weight is None else dijkstra(G, weight)
    found = {}
    for vertex, row in zip(vertices, rows_from(G, question, vertices, tree=False), strict=True):
        if row.count() < len(G.nodes):
            raise_as_networkx("eccentricity", G, G.nodes[:2])
        found[G.nodes[vertex]] = row.farthest()
    return found


def diameter(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the greatest eccentricity.

    `e`, eccentricities, and `usebounds` do not come here: `can_run` declines.
    """
    if not G.nodes:
        return ask_networkx("diameter", G, (), weight=weight)
    return max(eccentricity(G, weight=weight).values())


def radius(G: ConvertedGraph, e: None = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the least eccentricity; `e` and `usebounds` as for `diameter`."""
    if not G.nodes:
        return ask_networkx("radius", G, (), weight=weight)
    return min(eccentricity(G, weight=weight).values())
