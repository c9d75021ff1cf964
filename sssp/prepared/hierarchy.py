"""`Hierarchy`: a graph prepared for many questions, whatever its arcs come to weigh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.cpu.search.bellman_ford import negative_cycle_from
from sssp.cpu.sweep.customization import NO_METRIC, Metric, customized
from sssp.cpu.sweep.partial_customization import MOST_CHANGES, LayeredMetric, changed, unchanged
from sssp.cpu.sweep.sweeps import Selection, everything
from sssp.engine.check_arguments import as_count
from sssp.engine.cycles import described
from sssp.engine.derived import Derived
from sssp.engine.threads import default_threads
from sssp.errors import NegativeCycleError
from sssp.graph.check_arrays import arc_column
from sssp.graph.graph import Graph
from sssp.graph.weights import converted
from sssp.kernels.dtypes import FLOAT64, INT64, WeightRange, largest_distance, safe_length
from sssp.methods import SWEEP_METHODS, Method
from sssp.order.structure import Structure, slots_of
from sssp.prepared.hierarchy_file import write_hierarchy
from sssp.prepared.scenarios import is_device_array, made_in_batches

T = TypeVar("T")


class Hierarchy:
    """A graph, prepared by its topology alone and customized to its weights; immutable.

    `prepare` makes one, `read_hierarchy` reads one. It stands wherever a graph may, in
    `shortest_paths`, `pairs`, `nearest`, `reduce`, `iter_blocks` and `betweenness`; vertices,
    labels, coordinates and positions of arcs are those of `graph`.

    Attributes
    ----------
    graph : Graph
        What it answers for.
    n, m : int
        Numbers of vertices and arcs of the graph.
    structure : Structure
        The order of the vertices, and the arcs that it makes (`sssp.order.structure`); shared
        by all versions of a map.

    Notes
    -----
    Memory of New York (264,346 vertices): structure 24 MB, weights 40 MB a dtype. Versions share
    the structure; one with some other weights shares the weights too, but for some kilobytes.
    """

    __slots__ = ("__weakref__", "_derived", "_opposite", "_slots", "graph", "structure")

    graph: Graph
    structure: Structure
    _slots: NDArray[np.uint32] | None
    _opposite: Hierarchy | None
    _derived: Derived

    #: what may answer questions
    methods: ClassVar[dict[str, type[Method]]] = SWEEP_METHODS

    def __init__(
        self,
        graph: Graph,
        structure: Structure,
        slots: NDArray[np.uint32] | None = None,
        opposite: Hierarchy | None = None,
    ) -> None:
        for name, value in (
            ("graph", graph),
            ("structure", structure),
            ("_slots", slots),
            ("_opposite", opposite),
            ("_derived", Derived()),
        ):
            object.__setattr__(self, name, value)

    # -- what the engine asks ------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.n

    @property
    def m(self) -> int:
        """Number of arcs of the graph."""
        return self.graph.m

    @property
    def labels(self) -> NDArray[Any] | None:
        """Labels of the graph."""
        return self.graph.labels

    @property
    def least_weight(self) -> int | float:
        """Least weight of the open arcs."""
        return self.graph.least_weight

    @property
    def greatest_weight(self) -> int | float:
        """Greatest weight of the open arcs."""
        return self.graph.greatest_weight

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype and extremes of the weights of the open arcs."""
        return self.graph._weight_range

    @property
    def _tree_graph(self) -> Graph:
        """The graph whose arcs the trees are made of."""
        return self.graph

    def without_closed_arcs(self) -> Hierarchy:
        """Return itself: closed arcs have no weight in it."""
        return self

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return what `build` makes from this hierarchy: made once, then kept."""
        return self._derived.made(key, build)

    def keep(self, key: str, value: Any) -> None:
        """Keep what was made from this hierarchy together with what others need."""
        self._derived.made(key, lambda: value)

    @property
    def is_on_device(self) -> bool:
        """Whether a GPU has the pieces that versions of this map share."""
        return any(key.startswith("cuda:") for key in list(self.structure.shared))

    def free_device(self) -> None:
        """Drop the copies on CUDA devices; the next call there makes new ones.

        Those of its graph go too, and those of the reversed map.
        """
        others = [self._opposite, *self._derived.values()]
        for version in (self, *(held for held in others if isinstance(held, Hierarchy))):
            version._derived.free_device()
            version.graph.free_device()
        self.structure.shared.free_device()

    if not TYPE_CHECKING:  # (to whom every name would be there)

        def __getattr__(self, name: str) -> NoReturn:
            """Say where that is which a map leaves to its graph."""
            theirs = not name.startswith("_") and hasattr(Graph, name)
            hint = f"; its graph has: h.graph.{name}" if theirs else ""
            raise AttributeError(f"a prepared map has no {name!r}{hint}", name=name, obj=self)

    # -- weights -------------------------------------------------------------------------------

    def metric(self, dtype: np.dtype[Any], threads: int | None = None) -> Metric:
        """Return its weights in one dtype, in arrays of its own; made on first use and kept."""
        return self._cached(f"metric, {dtype.char}", self.layered(dtype, threads).flat)

    def layered(self, dtype: np.dtype[Any], threads: int | None = None) -> LayeredMetric:
        """Return its weights in one dtype, in arrays that versions share but for a layer."""

        def build() -> LayeredMetric:
            if self._opposite is not None:
                return self._opposite.layered(dtype, threads).reversed()
            return unchanged(self._customized(dtype, threads))

        return self._cached(_key(dtype), build)

    def _customized(self, dtype: np.dtype[Any], threads: int | None) -> Metric:
        graph, signed = self.graph, self.least_weight < 0
        if signed and not 2.0 * _longest_way(graph) < safe_length(dtype):
            return NO_METRIC
        weights, workers = graph.weights_as(dtype), threads or default_threads()
        metric = None
        if not (signed and _has_negative_loop(graph)):
            metric = customized(self.structure, self.slots, weights, dtype, workers, signed=signed)
        if metric is None:
            refuse_negative_cycle(graph)
        # (a cycle that only rounding makes negative is for searches)
        return metric or NO_METRIC

    @property
    def slots(self) -> NDArray[np.uint32]:
        """Where the arcs of the graph stand among the directed chordal arcs."""
        if self._slots is None:
            object.__setattr__(self, "_slots", slots_of(self.structure, self.graph))
        assert self._slots is not None
        return self._slots

    def everything(self, dtype: np.dtype[Any]) -> Selection:
        """Return the selection of all vertices, in order of vertex."""
        return self._cached(
            f"everything, {dtype.char}",
            lambda: everything(
                self.layered(dtype).down_to_vertices(self.structure.order), self.structure.order
            ),
        )

    def with_weights(
        self, w: ArrayLike | None = None, *, rows: ArrayLike | None = None
    ) -> Hierarchy:
        """Return the hierarchy of ``graph.with_weights(w, rows=rows)``; O(triangles) time.

        Raises
        ------
        NegativeCycleError
            A cycle is of negative length, wherever it is.

        Notes
        -----
        Weights of which none is negative are customized where the first question is asked, on the
        CPU or on a GPU, and when it is.

        `w` and `rows` may be arrays of CuPy, PyTorch or Numba. `w` is copied, and looked through,
        on its own device, when the stream that it names has made it; the host gets it when it is
        asked for: by questions on the CPU or on another GPU, by ``graph.weights`` and what is made
        of them, and at once where a weight is negative.
        """
        graph = _with_weights(self.graph, w, rows)
        return _checked(Hierarchy(graph, self.structure, self.slots))

    def with_changes(self, arcs: ArrayLike, weights: ArrayLike) -> Hierarchy:
        """Return the hierarchy of ``graph.with_changes(arcs, weights)``.

        Raises
        ------
        NegativeCycleError
            A cycle is of negative length, wherever it is.

        Notes
        -----
        Only what depends on these arcs is found anew, if that pays and no weight is negative: a
        millisecond for a street of New York, copying the graph's weights included; up to some
        hundred arcs here and there, or ten thousand side by side. The version shares all else
        with this hierarchy, and may be changed in turn.
        """
        return self._changed(self.graph.with_changes(arcs, weights), arcs)

    def without_arcs(self, arcs: ArrayLike) -> Hierarchy:
        """Return the hierarchy of ``graph.without_arcs(arcs)``; as fast as `with_changes`."""
        return self._changed(self.graph.without_arcs(arcs), arcs)

    def scenarios(
        self,
        changes: Iterable[ArrayLike | tuple[ArrayLike, ArrayLike]],
        batch: int = 64,
        *,
        device: str = "cpu",
    ) -> Iterator[Hierarchy]:
        """Yield a hierarchy for each of many scenarios, in their order.

        Parameters
        ----------
        changes : iterable
            Of each scenario either its weights, as for `with_weights`, on a GPU too, or a tuple
            ``(arcs, weights)``, as for `with_changes`; what they do not name is as in this
            hierarchy. It is taken as far as scenarios are asked for, a batch at a time, and may be
            endless; arrays are copied as they are taken, so that a generator may refill one.
        batch : int, default 64
            How many scenarios are customized together, by all threads, and held until they are
            asked for: each with weights of its own takes 17 MB of New York, and the 3 MB of its
            graph; one of some arcs these 3 MB.
        device : str, default "cpu"
            Where they will be asked: ``"cpu"``, ``"cuda"`` or ``"cuda:N"``. A GPU customizes up to
            32 at a time, as far as a thirty-second of its memory goes (New York: 60 MB each); of a
            scenario that changes some arcs only these travel there.

        Yields
        ------
        Hierarchy
            As of `with_weights` or `with_changes`; nothing but the caller keeps it.

        Raises
        ------
        ValueError, TypeError, IndexError, NegativeCycleError, DistanceOverflowError
            As these do, when the scenario's batch is made; the message begins with the number of
            the scenario, counted from 0. A batch that is no positive integer is refused at once.
        DeviceError
            At once: the device cannot be used.

        Notes
        -----
        The same distances as one by one. Of New York's weights some ten scenarios a second on two
        busy cores, of closed streets some hundreds.

        Examples
        --------
        Which street is missed most, where each is closed in turn::

            closed = np.iinfo(np.int64).max
            for arc, hs in zip(streets, h.scenarios((arc, closed) for arc in streets)):
                minutes[arc] = sssp.pairs(hs, homes, hospitals).distances.mean()
        """
        size, threads = as_count(batch, "batch"), default_threads()
        if device == "cpu":
            return made_in_batches(self._scenario, changes, size, threads)
        from sssp.cuda.compiler import device_number
        from sssp.cuda.sweep.device_maps import customize_together

        finish = partial(customize_together, number=device_number(device))
        return made_in_batches(self._version, changes, size, threads, finish, self._is_light)

    def _scenario(self, change: Any, threads: int) -> Hierarchy:
        """Return the version of a scenario, customized."""
        if not isinstance(change, tuple):
            return _weighed(self._version(change, threads), threads)._lean()
        _refuse_tuple(change)
        return _weighed(
            self._changed(self.graph.with_changes(*change), change[0], threads), threads
        )

    def _version(self, change: Any, threads: int) -> Hierarchy:
        """Return the version of a scenario, whose weights are still to come unless negative."""
        if not isinstance(change, tuple):
            graph = _with_weights(self.graph, change)
        else:
            _refuse_tuple(change)
            graph = self.graph.with_changes(*change)
        graph._weight_range.working_dtypes(None)  # (refuses here, where its number is known)
        return _checked(Hierarchy(graph, self.structure, self.slots), threads)

    def _is_light(self, change: Any) -> bool:
        """Whether the version of a scenario only says which arcs weigh something else."""
        return isinstance(change, tuple) and self.least_weight >= 0

    def _lean(self) -> Hierarchy:
        """Drop what versions are made from, half of its memory; they are customized anew then."""
        for key, held in self._derived.items():
            if isinstance(held, LayeredMetric):
                self._derived[key] = held._replace(base=held.base._replace(whole=None))
        return self

    def _changed(self, graph: Graph, arcs: ArrayLike, threads: int | None = None) -> Hierarchy:
        """Return the hierarchy of a graph some of whose arcs weigh something else."""
        places = arc_column(arcs, self.m)
        if self._opposite is not None:
            return self._opposite_changed(graph, places, threads)
        version = Hierarchy(graph, self.structure, self.slots)
        same = graph.weights.dtype == self.graph.weights.dtype
        usual = _is_usual(self._weight_range) and _is_usual(graph._weight_range)
        if same and usual and places.size <= MOST_CHANGES:
            places = np.unique(places)
            if not any(key.startswith(("weights", "cuda")) for key in self._derived):
                _weighed(self, threads)  # (who has asked on a GPU alone goes on there)
            for dtype in graph._weight_range.working_dtypes(None):
                known = self._derived.get(_key(dtype))
                if known is None:
                    continue
                found = changed(known, self.structure, graph, places, self.slots[places])
                if found is not None:
                    version._derived[_key(dtype)] = found
        return _checked(version, threads)

    def _opposite_changed(
        self, graph: Graph, places: NDArray[np.int64], threads: int | None
    ) -> Hierarchy:
        """Change the same arcs of the graph that this one's is the reverse of."""
        assert self._opposite is not None
        there = self._opposite.graph
        arcs = there.arcs(graph.indices[places], graph.tails[places])
        weights = graph.weights[places]
        if weights.dtype.kind == "i":
            weights = converted(weights, INT64)  # what closes an arc, whatever the dtype
        try:
            version = self._opposite._changed(there.with_changes(arcs, weights), arcs, threads)
        except NegativeCycleError:
            refuse_negative_cycle(graph)  # the way round that was asked about
            raise
        return Hierarchy(graph, self.structure, None, version)

    def reverse(self) -> Hierarchy:
        """Return the hierarchy of ``graph.reverse()``, with the same weights the other way."""
        if self._opposite is not None:
            return self._opposite
        return self._cached(
            "reverse", lambda: Hierarchy(self.graph.reverse(), self.structure, None, self)
        )

    # -- out -----------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, structure_only: bool = False) -> None:
        """Write the hierarchy to a ``.sssp`` file, for `read_hierarchy`.

        Parameters
        ----------
        path : path-like
            Written beside and renamed: a crash leaves the old file, or none.
        structure_only : bool
            Leave the graph out, and so its weights: the file then serves every graph with the
            same vertices and arcs, and no other.

        Raises
        ------
        TypeError
            Labels that are neither integers nor strings; the message shows the first.
        """
        write_hierarchy(path, self.graph, self.structure.order, structure_only=structure_only)

    def __repr__(self) -> str:
        arcs = self.structure.upper.size
        return f"Hierarchy({self.graph!r}, {arcs:,} chordal arcs)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.graph, self.structure)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be deleted")


def _refuse_tuple(change: tuple[Any, ...]) -> None:
    """Refuse a scenario that is a tuple of anything but arcs and weights."""
    if len(change) != 2:
        raise TypeError(
            "a scenario is an array of weights or a tuple (arcs, weights), not a tuple of "
            f"{len(change)}"
        )


def _with_weights(graph: Graph, w: Any, rows: Any = None) -> Graph:
    """Return ``graph.with_weights(w, rows=rows)``, of which either may be on a CUDA device."""
    if rows is None and is_device_array(w):
        from sssp.cuda.device_weights import with_weights_there

        return with_weights_there(graph, w)
    if is_device_array(rows):
        from sssp.cuda.device_weights import on_host

        rows = on_host(rows)
    return graph.with_weights(w, rows=rows)


def _is_usual(weights: WeightRange) -> bool:
    """Whether no weight is negative, or so large that questions are refused."""
    most = largest_distance(FLOAT64 if weights.dtype.kind == "f" else INT64)
    return weights.least >= 0 and weights.greatest <= most.item()


def _key(dtype: np.dtype[Any]) -> str:
    """Return under which name weights in a dtype are kept."""
    return f"weights, {dtype.char}"


def _rebuilt(graph: Graph, structure: Structure) -> Hierarchy:
    # (pickles forget that arrays are read-only, which makes other types of them for kernels)
    return Hierarchy(graph, structure.frozen())


def _longest_way(graph: Graph) -> float:
    """Bound the length of every simple way, up or down: every vertex is left once at most."""
    part = graph.without_closed_arcs()
    steps = np.zeros(graph.n)
    np.maximum.at(steps, part.tails, np.abs(part.weights.astype(float)))
    return float(steps.sum())


def _has_negative_loop(graph: Graph) -> bool:
    return bool((graph.weights[graph._loops] < 0).any())


def refuse_negative_cycle(graph: Graph) -> None:
    """Raise the error that holds a cycle, unless none is below zero exactly.

    Raises
    ------
    NegativeCycleError
        Wherever the cycle is: a map is prepared for all sources.
    """
    cycle = negative_cycle_from(graph.without_closed_arcs(), np.arange(graph.n))
    if cycle.size:
        raise NegativeCycleError(
            f"the graph has {described(cycle)}, so a prepared map has no shortest ways; .cycle "
            "holds it, and sssp.shortest_paths(g, ...) answers for sources that do not reach it",
            cycle.tolist(),
        )


def customized_hierarchy(
    graph: Graph,
    structure: Structure,
    slots: NDArray[np.uint32] | None = None,
    threads: int | None = None,
) -> Hierarchy:
    """Return the hierarchy of a graph, with its weights.

    Raises
    ------
    NegativeCycleError
        A cycle is of negative length, wherever it is.
    """
    return _weighed(Hierarchy(graph, structure, slots), threads)


def _checked(hierarchy: Hierarchy, threads: int | None = None) -> Hierarchy:
    """Return a hierarchy without a cycle of negative length; its weights may still be to come."""
    return _weighed(hierarchy, threads) if hierarchy.least_weight < 0 else hierarchy


def _weighed(hierarchy: Hierarchy, threads: int | None = None) -> Hierarchy:
    """Return a hierarchy with its weights, in the first dtype that is wide enough."""
    graph = hierarchy.graph
    dtypes = graph._weight_range.working_dtypes(None)
    fits = any(hierarchy.layered(dtype, threads).fits for dtype in dtypes)
    if not fits and graph.least_weight < 0:
        refuse_negative_cycle(graph)  # nobody has looked
    return hierarchy
