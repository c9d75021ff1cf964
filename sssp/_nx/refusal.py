"""NetworkX's own exceptions, with its own messages, whatever its version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import networkx as nx

from sssp._nx.converted import ConvertedGraph

__all__ = ["ask_networkx", "raise_as_networkx"]


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
