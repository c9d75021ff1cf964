"""The interface that graphs and prepared maps share, so that calls can be solved on either."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from sssp.graph.graph import Graph
from sssp.kernels.dtypes import WeightRange
from sssp.methods import Method

T = TypeVar("T")
N = TypeVar("N", bound="Network")


class Network(Protocol):
    """The attributes that the engine reads of a graph or a prepared map."""

    #: the only methods that answer on it, the fastest first; None: those of graphs
    _methods: ClassVar[dict[str, type[Method]] | None]

    @property
    def n(self) -> int:
        """Number of vertices."""

    @property
    def _is_on_device(self) -> bool:
        """Whether a GPU holds the elimination tree of this prepared map; False for a graph."""

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype, least and greatest weight of all arcs except closed (impassable) ones."""

    @property
    def _tree_graph(self) -> Graph:
        """The graph to which the arcs of shortest-path trees belong."""

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return the result of ``build()``, computed on the first call with `key`, then kept."""

    def free_device(self) -> None:
        """Drop the copies of this network on CUDA devices."""


def reversed_graph(graph: Graph) -> Graph:
    """Return the reversed graph, made once and kept."""
    return graph._cached("reversed", graph.reverse)


def methods_of(network: object) -> dict[str, type[Method]] | None:
    """Return the search methods (classes by name) of a prepared map; None for any other object."""
    return getattr(network, "_methods", None)


def open_part(network: N) -> N:
    """Return a graph without its closed arcs, for solvers; a prepared map unchanged."""
    return network if network._methods else network.without_closed_arcs()  # type: ignore[attr-defined]
