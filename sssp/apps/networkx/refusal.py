"""NetworkX's own exceptions, with its own messages, whatever its version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import networkx as nx

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.searches import Question, row_from


def ask_networkx(name: str, G: ConvertedGraph, nodes: Iterable[Any], /, **arguments: Any) -> Any:
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


def raise_as_networkx(
    name: str, G: ConvertedGraph, nodes: Iterable[Any], /, **arguments: Any
) -> NoReturn:
    """Raise what NetworkX raises for a node that is missing, or not reached: see `ask_networkx`."""
    found = ask_networkx(name, G, nodes, **arguments)
    raise AssertionError(f"NetworkX has an answer where sssp has none: {name} found {found!r}")


def named(name: str, G: ConvertedGraph, /, **node: Any) -> int:
    """Return the vertex of a node, given by the name of its parameter; raise if it is none."""
    [given] = node.values()
    vertex = G.vertex(given)
    if vertex is None:
        raise_as_networkx(name, G, (), **node)
    return vertex


def between(
    name: str,
    G: ConvertedGraph,
    find: Callable[[ConvertedGraph, Question, Sequence[int], int], Any],
    question: Question,
    source: Any,
    target: Any,
) -> Any:
    """Return what is found of two nodes; raise if one is none, or there is no path.

    Parameters
    ----------
    find : `length_between` or `path_between`
    """
    start, end = G.vertex(source), G.vertex(target)
    if start is not None and end is None and question.method == "bellman-ford":
        row_from(G, question, [start], tree=False)  # (NetworkX comes to a negative cycle first)
    found = None if start is None or end is None else find(G, question, [start], end)
    if found is None:
        raise_as_networkx(name, G, (source, target), source=source, target=target)
    return found
