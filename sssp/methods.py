"""The methods by name, each an object that carries its options.

A method object says what to run, never how: the solvers read its fields. ``shortest_paths``
takes the name (``"delta-stepping"``, default options) or the object
(``DeltaStepping(delta=5000)``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "METHODS",
    "BaselineBellmanFord",
    "BaselineDijkstra",
    "BellmanFord",
    "BreadthFirst",
    "DeltaStepping",
    "Dijkstra",
    "Method",
    "ThresholdDijkstra",
    "as_method",
]


@dataclass(frozen=True)
class Method:
    """What all methods share.

    Attributes
    ----------
    name : str
        The name on the command line, in tables and in ``result.method``.
    negative_weights : bool
        Whether the method takes them.
    weighted : bool
        Whether the method looks at the weights at all.
    """

    name: ClassVar[str]
    negative_weights: ClassVar[bool] = False
    weighted: ClassVar[bool] = True


@dataclass(frozen=True)
class Dijkstra(Method):
    """Label-setting search with a heap (Dijkstra 1959); the safe choice for any weights >= 0."""

    name: ClassVar[str] = "dijkstra"


@dataclass(frozen=True)
class DeltaStepping(Method):
    """Label-correcting search with buckets (Meyer and Sanders 2003); the fastest on roads.

    Parameters
    ----------
    delta : float, optional
        Width of a bucket in units of the weights; positive. By default the median weight.
    """

    name: ClassVar[str] = "delta-stepping"
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and not 0 < self.delta < float("inf"):
            raise ValueError(f"delta must be a positive number, not {self.delta!r}")


@dataclass(frozen=True)
class BellmanFord(Method):
    """Rounds over the vertices whose distance changed (Bellman 1958); takes negative weights."""

    name: ClassVar[str] = "bellman-ford"
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class ThresholdDijkstra(Method):
    """Dijkstra in phases that settle all vertices up to a threshold (Crauser et al. 1998).

    Parameters
    ----------
    criterion : {"out", "in-out"}
        Which test settles a vertex: the OUT-criterion alone (the thesis' evaluation value), or
        the IN-criterion as well: fewer phases, each dearer.
    """

    name: ClassVar[str] = "threshold-dijkstra"
    criterion: str = "out"

    def __post_init__(self) -> None:
        if self.criterion not in ("out", "in-out"):
            raise ValueError(f"criterion must be 'out' or 'in-out', not {self.criterion!r}")


@dataclass(frozen=True)
class BreadthFirst(Method):
    """Distances in numbers of arcs; weights, also negative ones, are ignored."""

    name: ClassVar[str] = "breadth-first"
    negative_weights: ClassVar[bool] = True
    weighted: ClassVar[bool] = False


@dataclass(frozen=True)
class BaselineDijkstra(Method):
    """Dijkstra with a linear search over the open set, as papers measure against; a baseline."""

    name: ClassVar[str] = "baseline-dijkstra"


@dataclass(frozen=True)
class BaselineBellmanFord(Method):
    """Bellman-Ford over all arcs for n - 1 rounds, as papers measure against; a baseline."""

    name: ClassVar[str] = "baseline-bellman-ford"
    negative_weights: ClassVar[bool] = True


METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        Dijkstra,
        DeltaStepping,
        BellmanFord,
        ThresholdDijkstra,
        BreadthFirst,
        BaselineDijkstra,
        BaselineBellmanFord,
    )
}


def as_method(method: str | Method) -> Method:
    """Turn a method's name into its object; objects pass.

    Raises
    ------
    ValueError
        No method has that name; the message lists those that exist.
    """
    if isinstance(method, Method):
        return method
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    raise ValueError(f"unknown method {method!r}; choose from {', '.join(['auto', *METHODS])}")
