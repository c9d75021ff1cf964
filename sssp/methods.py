"""The registry of methods: options, solver modules by device, statistics and time estimates.

A method object says what to run, never how: the solvers read its fields. ``shortest_paths``
takes the name (``"delta-stepping"``, default options) or the object
(``DeltaStepping(delta=5000)``); so do ``pairs`` and ``all_pairs``, which know the methods of
`TRIP_METHODS` and `DENSE_METHODS` as well, and ``transitive_closure`` with those of
`CLOSURE_METHODS`.

A new method is a file with its solver and an entry here. What ``"auto"`` stands for is in
`sssp.engine.choose_method`.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, ClassVar

__all__ = [
    "CLOSURE_METHODS",
    "DENSE_METHODS",
    "METHODS",
    "SWEEP_METHODS",
    "AStar",
    "BellmanFord",
    "BreadthFirst",
    "ClosureBySquaring",
    "ClosureByWarshall",
    "DeltaStepping",
    "Dijkstra",
    "FloydWarshall",
    "Johnson",
    "Method",
    "RepeatedSquaring",
    "Sweep",
    "ThresholdDijkstra",
    "as_method",
    "is_auto",
]


@dataclass(frozen=True)
class Method:
    """Base class of methods: instance fields are the options, class variables describe the method.

    Attributes
    ----------
    name : str
        The name on the command line, in tables and in ``result.method``.
    task : {"search", "trips", "matrix", "closure"}
        What it does: a method object is taken by the calls that take other methods of its task.
    solvers : dict of str to str
        Module of its solver by the kind of device that it runs on: ``"cpu"``, ``"cuda"``,
        ``"opencl"``.
    statistics : dict of str to str
        What it counts, the same on every device: the keys of ``result.stats`` and their meaning.
    negative_weights : bool
        Whether the method takes them.
    weighted : bool
        Whether the method looks at the weights at all.
    seconds : float or None
        Of one core, for a vertex of a search or sweep, or for one of the n^3 steps on a matrix:
        what ``device="auto"`` goes by. None: it stays on the CPU.
    tree_seconds : float or None
        The same where trees are wanted, if that takes much longer.
    kernels : str or None
        Where its kernels for a GPU stand, if that is not the module of its solver.
    """

    name: ClassVar[str]
    task: ClassVar[str] = "search"
    solvers: ClassVar[dict[str, str]]
    statistics: ClassVar[dict[str, str]]
    negative_weights: ClassVar[bool] = False
    weighted: ClassVar[bool] = True
    seconds: ClassVar[float | None] = None
    tree_seconds: ClassVar[float | None] = None
    kernels: ClassVar[str | None] = None


def _twins(module: str, *others: str) -> dict[str, str]:
    """Return a dict from device kind to solver module of a method: `sssp.<kind>.<module>`."""
    return {kind: f"sssp.{kind}.{module}" for kind in ("cpu", "cuda", *others)}


_ROUNDS = {"rounds": "passes over the matrix"}


@dataclass(frozen=True)
class Dijkstra(Method):
    """Label-setting search with a heap (Dijkstra 1959); the safe choice for any weights >= 0."""

    name: ClassVar[str] = "dijkstra"
    solvers: ClassVar[dict[str, str]] = {"cpu": "sssp.cpu.search.dijkstra"}
    statistics: ClassVar[dict[str, str]] = {"settled": "vertices expanded"}


@dataclass(frozen=True)
class DeltaStepping(Method):
    """Delta-stepping: search with buckets (Meyer and Sanders 2003); the fastest method on roads.

    Parameters
    ----------
    delta : float, optional
        Width of a bucket in units of the weights; positive. By default the median weight; on
        CUDA 80 median weights for a few sources, 22 for many, divided by the arcs of a vertex.
    """

    name: ClassVar[str] = "delta-stepping"
    solvers: ClassVar[dict[str, str]] = _twins("search.delta_stepping")
    statistics: ClassVar[dict[str, str]] = {
        "expanded": "vertices expanded, with repetition",
        "phases": "buckets emptied, or rises of the threshold between near and far",
    }
    # on NY
    seconds: ClassVar[float | None] = 30e-9
    delta: float | None = None

    def __post_init__(self) -> None:
        given: Any = self.delta
        if given is None:
            return
        is_number = isinstance(given, numbers.Real) and not isinstance(given, bool)
        if not (is_number and 0 < given < float("inf")):
            raise ValueError(f"delta must be a positive number, not {shortened(self.delta)}")


@dataclass(frozen=True)
class BellmanFord(Method):
    """Rounds over the vertices whose distance changed (Bellman 1958); takes negative weights.

    Parameters
    ----------
    variant : {"push", "pull"}
        CUDA only. Push: changed vertices relax the arcs that leave them. Pull: every vertex
        looks at the arcs that enter it, as in the thesis of 2022.
    streams : int
        CUDA only. Streams over which the arcs travel to the device while rounds already run on
        those that are there; 0: the arcs are brought to the device first, and kept.
    """

    name: ClassVar[str] = "bellman-ford"
    solvers: ClassVar[dict[str, str]] = _twins("search.bellman_ford")
    statistics: ClassVar[dict[str, str]] = {
        "rounds": "passes over the vertices that changed",
        "expanded": "vertices whose arcs were relaxed, with repetition",
        "relaxed": "arcs relaxed, with repetition",
    }
    # took 1.4e-6 on NY, takes less where paths have fewer arcs
    seconds: ClassVar[float | None] = 300e-9
    negative_weights: ClassVar[bool] = True
    variant: str = "push"
    streams: int = 0

    def __post_init__(self) -> None:
        if self.variant not in ("push", "pull"):
            raise ValueError(f"variant must be 'push' or 'pull', not {self.variant!r}")
        if isinstance(self.streams, bool) or not isinstance(self.streams, int) or self.streams < 0:
            raise ValueError(f"streams must be an int of 0 or more, not {self.streams!r}")
        if self.streams and self.variant == "pull":
            raise ValueError("streamed transfer needs variant='push'")


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
    solvers: ClassVar[dict[str, str]] = _twins("search.threshold_dijkstra")
    statistics: ClassVar[dict[str, str]] = {
        "phases": "settling thresholds computed",
        "settled": "vertices settled",
        "largest_open": "most vertices open in a phase",
        "open": "vertices open, summed over the phases",
    }
    # on NY
    seconds: ClassVar[float | None] = 80e-9
    criterion: str = "out"

    def __post_init__(self) -> None:
        if self.criterion not in ("out", "in-out"):
            raise ValueError(f"criterion must be 'out' or 'in-out', not {self.criterion!r}")


@dataclass(frozen=True)
class BreadthFirst(Method):
    """Breadth-first search: distances in numbers of arcs; weights, even negative, are ignored."""

    name: ClassVar[str] = "breadth-first"
    solvers: ClassVar[dict[str, str]] = {"cpu": "sssp.cpu.search.breadth_first"}
    statistics: ClassVar[dict[str, str]] = {"expanded": "vertices whose arcs were looked at"}
    negative_weights: ClassVar[bool] = True
    weighted: ClassVar[bool] = False


@dataclass(frozen=True)
class CountingStreets(DeltaStepping):
    """Breadth-first search on a graph with turns: counts streets, not arcs of the expansion."""

    name: ClassVar[str] = BreadthFirst.name


@dataclass(frozen=True)
class AStar(Method):
    """A* from one source to one target, with landmark bounds (Goldberg and Harrelson 2005)."""

    name: ClassVar[str] = "a-star"
    task: ClassVar[str] = "trips"
    solvers: ClassVar[dict[str, str]] = {"cpu": "sssp.cpu.search.a_star"}
    statistics: ClassVar[dict[str, str]] = {
        "expanded": "vertices expanded, with repetition",
        "phases": "buckets emptied",
    }


@dataclass(frozen=True)
class Sweep(Method):
    """Upward search, then a downward sweep over a `Hierarchy` (PHAST, Delling et al. 2011)."""

    name: ClassVar[str] = "sweep"
    task: ClassVar[str] = "sweep"
    solvers: ClassVar[dict[str, str]] = _twins("sweep.sweep_driver")
    statistics: ClassVar[dict[str, str]] = {
        "climbed": "vertices passed on the way up",
        "swept": "vertices whose distance was found from those above",
    }
    # on NY, many side by side; trees are found one by one
    seconds: ClassVar[float | None] = 1.2e-9
    tree_seconds: ClassVar[float | None] = 30e-9
    kernels: ClassVar[str | None] = "sssp.cuda.sweep"
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class FloydWarshall(Method):
    """All pairs in n^3 steps, block by block (Floyd 1962, Warshall 1962); for dense graphs."""

    name: ClassVar[str] = "floyd-warshall"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _twins("matrix.floyd_warshall", "opencl")
    statistics: ClassVar[dict[str, str]] = _ROUNDS
    # at n = 3,000
    seconds: ClassVar[float | None] = 7e-11
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class RepeatedSquaring(Method):
    """All pairs by squaring the matrix over (min, +), ``ceil(log2(n - 1))`` times.

    Parameters
    ----------
    early_stop : bool
        End after a squaring that changed nothing.
    """

    name: ClassVar[str] = "repeated-squaring"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _twins("matrix.repeated_squaring", "opencl")
    statistics: ClassVar[dict[str, str]] = _ROUNDS
    # at n = 3,000
    seconds: ClassVar[float | None] = 7e-10
    negative_weights: ClassVar[bool] = True
    early_stop: bool = True


@dataclass(frozen=True)
class Johnson(Method):
    """All pairs by potentials that make weights non-negative (Johnson 1977); for sparse graphs."""

    name: ClassVar[str] = "johnson"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _twins("search.delta_stepping")
    statistics: ClassVar[dict[str, str]] = {
        "expanded": "vertices expanded by the searches, with repetition"
    }
    seconds: ClassVar[float | None] = DeltaStepping.seconds
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class ClosureByWarshall(Method):
    """Transitive closure in one pass over the vertices, 64 bits to a word (Warshall 1962)."""

    name: ClassVar[str] = "closure-by-warshall"
    task: ClassVar[str] = "closure"
    solvers: ClassVar[dict[str, str]] = _twins("matrix.transitive_closure")
    statistics: ClassVar[dict[str, str]] = {}
    # at n = 10,000
    seconds: ClassVar[float | None] = 2e-13
    negative_weights: ClassVar[bool] = True
    weighted: ClassVar[bool] = False


@dataclass(frozen=True)
class ClosureBySquaring(Method):
    """Transitive closure by squaring the boolean matrix, 64 vertices to a word.

    Parameters
    ----------
    early_stop : bool
        End after a squaring that changed nothing.
    """

    name: ClassVar[str] = "closure-by-squaring"
    task: ClassVar[str] = "closure"
    solvers: ClassVar[dict[str, str]] = _twins("matrix.transitive_closure", "opencl")
    statistics: ClassVar[dict[str, str]] = {}
    negative_weights: ClassVar[bool] = True
    weighted: ClassVar[bool] = False
    early_stop: bool = True


def _by_name(*kinds: type[Method]) -> dict[str, type[Method]]:
    return {kind.name: kind for kind in kinds}


#: methods of ``shortest_paths``; ``all_pairs`` runs them from every vertex
METHODS = _by_name(Dijkstra, DeltaStepping, BellmanFord, ThresholdDijkstra, BreadthFirst)
#: methods of ``pairs`` alone
TRIP_METHODS = _by_name(AStar)
#: methods on a hierarchy; no others answer there
SWEEP_METHODS = _by_name(Sweep)
#: methods of ``all_pairs`` alone
DENSE_METHODS = _by_name(FloydWarshall, RepeatedSquaring, Johnson)
#: methods of ``transitive_closure``
CLOSURE_METHODS = _by_name(ClosureByWarshall, ClosureBySquaring)


def is_auto(method: str | Method) -> bool:
    """Return whether `method` is ``"auto"``, so that the package chooses the method."""
    return isinstance(method, str) and method == "auto"


def as_method(method: str | Method, known: dict[str, type[Method]] = METHODS) -> Method:
    """Turn a method's name into a method object; objects are returned unchanged.

    Parameters
    ----------
    method : str or Method
    known : dict
        The methods that the call takes, by name. Of objects it takes all of the same task, also
        those that have no name here.

    Raises
    ------
    ValueError
        It is none of those; the message lists them.
    TypeError
        A class in place of an object.
    """
    if isinstance(method, Method) and method.task in {kind.task for kind in known.values()}:
        return method
    if isinstance(method, str) and method in known:
        return known[method]()
    if isinstance(method, type) and issubclass(method, Method):
        raise TypeError(f"method is a class: pass an object, as sssp.{method.__name__}()")
    shown = method.name if isinstance(method, Method) else method
    raise ValueError(f"unknown method {shown!r}; choose from {', '.join(['auto', *known])}")
