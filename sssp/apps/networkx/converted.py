"""A NetworkX graph converted to arrays, which NetworkX caches and passes to the backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sssp import Graph
from sssp.graph.interop import read_edges
from sssp.kernels.dtypes import largest_distance


class _Default(int):
    """Type of the weight 1 of edges without a weight attribute, distinct from an explicit 1."""


_MISSING = _Default(1)


@dataclass(eq=False)
class ConvertedGraph:
    """The arcs of a NetworkX graph as arrays, and its nodes in the order of NetworkX.

    It holds no reference to the NetworkX graph, whose cache holds it.

    Attributes
    ----------
    nodes : list
        The node of each vertex.
    graph : Graph
        Every edge as an arc, an undirected one as two. Without weights all arcs weigh 1.
    directed : bool
        Whether the NetworkX graph is.
    loops : ndarray, int32
        Vertices with an arc to themselves.
    zero_loops : ndarray, int32
        Those where such an arc weighs 0.
    defaulted : {"none", "some", "all"}
        Of how many edges the weight was missing.
    """

    __networkx_backend__: ClassVar[str] = "sssp"

    nodes: list[Any]
    graph: Graph
    directed: bool
    loops: NDArray[np.int32]
    zero_loops: NDArray[np.int32]
    defaulted: str

    def is_directed(self) -> bool:
        """Return whether the NetworkX graph is directed (NetworkX calls this method)."""
        return self.directed

    @cached_property
    def index(self) -> dict[Any, int]:
        """The vertex (0 to n - 1) of each node of NetworkX, as a dict."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def names(self) -> NDArray[Any]:
        """The NetworkX node of each vertex, as an array of objects."""
        return np.fromiter(self.nodes, object, len(self.nodes))

    @cached_property
    def backwards(self) -> Graph:
        """The graph with all arcs reversed; the same graph if it is undirected."""
        return self.graph.reverse() if self.directed else self.graph

    def vertex(self, node: Any) -> int | None:
        """Return the vertex of a NetworkX node; None if the graph has no such node."""
        try:
            return self.index.get(node)
        except TypeError:  # it has no hash
            return None

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def convert_from_nx(
    G: Any,
    *,
    edge_attrs: Mapping[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    **_: Any,
) -> ConvertedGraph:
    """Convert a NetworkX graph to arrays, with one edge attribute as weights, or with none.

    Raises
    ------
    NotImplementedError
        The attribute is no weight that this package adds up as Python does; NetworkX goes on
        without the backend, and remembers it.
    """
    if preserve_edge_attrs or len(edge_attrs or ()) > 1:
        raise NotImplementedError("the backend reads one attribute of the edges")
    nodes = list(G._adj)
    n = len(nodes)
    index = dict(zip(nodes, range(n), strict=True))
    tails, heads, edges = read_edges(G, index)
    weights, defaulted = np.ones(heads.size, np.int32), "all"
    if edge_attrs:
        [weight] = edge_attrs
        weights, defaulted = _weights([data.get(weight, _MISSING) for data in edges], weight, n)
    loops = tails == heads
    graph = Graph.from_arcs(tails, heads, weights, n)
    own, zeros = np.unique(tails[loops]), np.unique(tails[loops & (weights == 0)])
    converted = ConvertedGraph(nodes, graph, G.is_directed(), own, zeros, defaulted)
    converted.index = index
    return converted


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a result of the backend unchanged: it is made of Python's own objects."""
    return result


def _weights(values: list[Any], name: Any, n: int) -> tuple[NDArray[Any], str]:
    """Return edge weights as an array, and whether "none", "some" or "all" of them were missing."""
    kinds = set(map(type, values))
    others = kinds - {_Default}
    defaulted = "none" if _Default not in kinds else "some" if others else "all"
    if all(kind is int or issubclass(kind, np.integer) for kind in others):
        try:
            integers = np.fromiter(values, np.int64, len(values))
        except OverflowError as error:
            raise NotImplementedError(f"the {name!r} of an edge does not fit int64") from error
        greatest = max(int(integers.max(initial=0)), -int(integers.min(initial=0)))
        if n * greatest > largest_distance(np.int64):
            raise NotImplementedError(f"sums of the {name!r} of the edges may not fit int64")
        return integers, defaulted
    if kinds <= {float, np.float64}:
        floats = np.fromiter(values, np.float64, len(values))
        with np.errstate(over="ignore"):
            longest = n * np.abs(floats).max(initial=0)
        if not np.isfinite(longest):
            raise NotImplementedError(f"sums of the {name!r} of the edges may not be finite")
        return floats, defaulted
    shown = ", ".join(sorted("missing" if kind is _Default else kind.__name__ for kind in kinds))
    raise NotImplementedError(
        f"the {name!r} of the edges ({shown}) are neither all ints nor all floats"
    )
