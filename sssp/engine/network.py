"""The protocol of networks: what a plan runs on, a graph or a prepared map."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from sssp.kernels.dtypes import WeightRange
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

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
        """Whether a GPU has what it needs beyond a graph's arrays: the pieces of a prepared map."""

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype and extremes of the weights of the open arcs."""

    @property
    def _tree_graph(self) -> Graph:
        """The graph whose arcs the trees are made of."""

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return ``build()``, called once, then kept."""

    def free_device(self) -> None:
        """Drop the copies on CUDA devices."""


def reversed_graph(graph: Graph) -> Graph:
    """Return the graph with every arc turned around, made once and kept."""
    return graph._cached("reversed", graph.reverse)


def methods_of(network: object) -> dict[str, type[Method]] | None:
    """Return the methods of a network; None for a graph and any other argument."""
    own: dict[str, type[Method]] | None = getattr(network, "_methods", None)
    return own


def open_part(network: N) -> N:
    """Return a graph without its closed arcs, which solvers work on; a prepared map itself."""
    return network if network._methods else network.without_closed_arcs()  # type: ignore[attr-defined]
