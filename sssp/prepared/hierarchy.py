"""`Hierarchy`: a graph prepared for many questions under any weights; versions and scenarios."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.cpu.search.bellman_ford import negative_cycle_from
from sssp.cpu.sweep.customization import NO_METRIC, Metric, customize
from sssp.cpu.sweep.partial_customization import LayeredMetric, change_arcs
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_count
from sssp.engine.cycles import describe_cycle
from sssp.engine.device_names import named_device
from sssp.engine.reuse import Derived
from sssp.engine.threads import default_threads
from sssp.engine.workers import ordered_map
from sssp.errors import NegativeCycleError
from sssp.graph.check_arrays import arc_column
from sssp.graph.graph import Graph
from sssp.graph.graph_file import pack
from sssp.graph.weights import converted
from sssp.kernels.dtypes import FLOAT64, INT64, WeightRange, largest_distance, safe_length
from sssp.loaders import write_arrays
from sssp.methods import SWEEP_METHODS, Method
from sssp.order.structure import Structure, slots_of

T = TypeVar("T")
R = TypeVar("R")

#: kinds of files: with the graph, or with the structure alone
WITH_GRAPH, ALONE = "hierarchy", "structure"


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

    Notes
    -----
    Memory of New York (264,346 vertices): structure 24 MB, weights 40 MB a dtype. Versions share
    the structure; one with some other weights shares the weights too, but for some kilobytes.
    """

    __slots__ = ("__weakref__", "_derived", "_opposite", "_structure", "graph")

    graph: Graph
    #: the order of the vertices and its chordal arcs, shared by all versions
    _structure: Structure
    _opposite: Hierarchy | None
    _derived: Derived

    #: the methods that answer questions, for the engine
    _methods: ClassVar[dict[str, type[Method]] | None] = SWEEP_METHODS

    def __init__(
        self,
        graph: Graph,
        structure: Structure,
        slots: NDArray[np.uint32] | None = None,
        opposite: Hierarchy | None = None,
    ) -> None:
        derived = Derived()
        if slots is not None:
            derived["slots"] = slots
        fields = {"_structure": structure, "_opposite": opposite, "_derived": derived}
        for name, value in ({"graph": graph} | fields).items():
            object.__setattr__(self, name, value)

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

    def free_device(self) -> None:
        """Drop the copies on CUDA devices; the next call there makes new ones.

        Those of its graph go too, and those of the reversed map.
        """
        others = [self._opposite, *self._derived.values()]
        for version in (self, *(held for held in others if isinstance(held, Hierarchy))):
            version._derived.free_device()
            version.graph.free_device()
        self._structure.shared.free_device()

    if not TYPE_CHECKING:  # (type checkers would take every name to exist)

        def __getattr__(self, name: str) -> NoReturn:
            """Point to the graph's attribute of the same name."""
            theirs = not name.startswith("_") and hasattr(Graph, name)
            hint = f"; its graph has: h.graph.{name}" if theirs else ""
            raise AttributeError(f"a prepared map has no {name!r}{hint}", name=name, obj=self)

    # -- what the engine and solvers read (`sssp.order.prepared_map`) ---------------------------

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype and extremes of the weights of the open arcs."""
        return self.graph._weight_range

    @property
    def _tree_graph(self) -> Graph:
        """The graph that shortest-path trees are made of."""
        return self.graph

    @property
    def _is_on_device(self) -> bool:
        """Whether a GPU holds the tree that versions of this map share."""
        return any(key.startswith("cuda:") for key in list(self._structure.shared))

    @property
    def _slots(self) -> NDArray[np.uint32]:
        """Positions of the graph's arcs among the directed chordal arcs."""
        return self._cached("slots", lambda: slots_of(self._structure, self.graph))

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return what `build` returned the first time."""
        return self._derived.made(key, build)

    def _layered(self, dtype: np.dtype[Any], threads: int | None = None) -> LayeredMetric:
        """Return the customized weights in one dtype, computed on first use and kept."""

        def build() -> LayeredMetric:
            if self._opposite is not None:
                return self._opposite._layered(dtype, threads).reversed()
            return LayeredMetric.unchanged(self._customize(dtype, threads))

        return self._cached(_key(dtype), build)

    def _customize(self, dtype: np.dtype[Any], threads: int | None) -> Metric:
        graph, signed = self.graph, self.least_weight < 0
        if signed and not 2.0 * _longest_way(graph) < safe_length(dtype):
            return NO_METRIC
        weights, workers = graph.weights_as(dtype), threads or default_threads()
        metric = None
        if not (signed and bool((graph.weights[graph._loops] < 0).any())):
            metric = customize(self._structure, self._slots, weights, dtype, workers, signed=signed)
        if metric is None:
            _refuse_negative_cycle(graph)
        # (searches handle a cycle that only rounding makes negative)
        return metric or NO_METRIC

    def _weigh(self, threads: int | None = None) -> Hierarchy:
        """Customize in the first dtype that is wide enough; return itself."""
        dtypes = self._weight_range.working_dtypes(None)
        fits = any(self._layered(dtype, threads).fits for dtype in dtypes)
        if not fits and self.least_weight < 0:
            _refuse_negative_cycle(self.graph)  # no customization has looked for one
        return self

    def _check(self, threads: int | None = None) -> Hierarchy:
        """Refuse cycles of negative length; return itself, perhaps not yet customized."""
        return self._weigh(threads) if self.least_weight < 0 else self

    # -- other weights -------------------------------------------------------------------------

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
        return Hierarchy(graph, self._structure, self._slots)._check()

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
        return self._change(self.graph.with_changes(arcs, weights), arcs)

    def without_arcs(self, arcs: ArrayLike) -> Hierarchy:
        """Return the hierarchy of ``graph.without_arcs(arcs)``; as fast as `with_changes`."""
        return self._change(self.graph.without_arcs(arcs), arcs)

    def scenarios(
        self,
        changes: Iterable[ArrayLike | tuple[ArrayLike, ArrayLike]],
        batch: int = 64,
        *,
        device: str = "auto",
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
        device : str, default "auto"
            Where they will be asked: as for `sssp.shortest_paths`, but for several; ``"auto"`` is
            the CPU unless ``SSSP_DEVICE`` names a GPU. A GPU customizes up to 32 at a time, as far
            as a thirty-second of its memory goes (New York: 60 MB each); of a scenario that
            changes some arcs only these travel there.

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
        named = named_device(device)
        if named in ("auto", "cpu"):
            return build_in_batches(self._scenario, changes, size, threads)
        from sssp.cuda.compiler import device_number
        from sssp.cuda.sweep.device_maps import customize_together

        finish = partial(customize_together, number=device_number(named))
        return build_in_batches(self._version, changes, size, threads, finish, self._is_light)

    def _scenario(self, change: Any, threads: int) -> Hierarchy:
        """Return the customized version of a scenario."""
        if not isinstance(change, tuple):
            return self._version(change, threads)._weigh(threads)._lean()
        graph = self._graph_of(change)
        return self._change(graph, change[0], threads)._weigh(threads)

    def _version(self, change: Any, threads: int) -> Hierarchy:
        """Return the version of a scenario, customized only if a weight is negative."""
        graph = self._graph_of(change)
        graph._weight_range.working_dtypes(None)  # (refuses here, where its number is known)
        return Hierarchy(graph, self._structure, self._slots)._check(threads)

    def _graph_of(self, change: Any) -> Graph:
        """Return the graph of a scenario."""
        if not isinstance(change, tuple):
            return _with_weights(self.graph, change)
        if len(change) != 2:
            raise TypeError(
                "a scenario is an array of weights or a tuple (arcs, weights), not a tuple of "
                f"{len(change)}"
            )
        return self.graph.with_changes(*change)

    def _is_light(self, change: Any) -> bool:
        """Whether the version of a scenario only records which arcs change."""
        return isinstance(change, tuple) and self.least_weight >= 0

    def _lean(self) -> Hierarchy:
        """Drop the weights that `change_arcs` needs, half of the memory."""
        for key, held in self._derived.items():
            if isinstance(held, LayeredMetric):
                self._derived[key] = held._replace(base=held.base._replace(whole=None))
        return self

    def _change(self, graph: Graph, arcs: ArrayLike, threads: int | None = None) -> Hierarchy:
        """Return the hierarchy of a graph with other weights on some arcs."""
        places = arc_column(arcs, self.m)
        if self._opposite is not None:
            return self._change_opposite(graph, places, threads)
        version = Hierarchy(graph, self._structure, self._slots)
        same = graph.weights.dtype == self.graph.weights.dtype
        usual = _is_usual(self._weight_range) and _is_usual(graph._weight_range)
        if same and usual and places.size <= thresholds.MOST_CHANGES:
            places = np.unique(places)
            if not any(key.startswith(("weights", "cuda")) for key in self._derived):
                self._weigh(threads)  # (a map that only a GPU holds is changed there)
            for dtype in graph._weight_range.working_dtypes(None):
                known = self._derived.get(_key(dtype))
                if known is None:
                    continue
                found = change_arcs(known, self._structure, graph, places, self._slots[places])
                if found is not None:
                    version._derived[_key(dtype)] = found
        return version._check(threads)

    def _change_opposite(
        self, graph: Graph, places: NDArray[np.int64], threads: int | None
    ) -> Hierarchy:
        """Change the same arcs in the opposite map."""
        assert self._opposite is not None
        there = self._opposite.graph
        arcs = there.arcs(graph.indices[places], graph.tails[places])
        weights = graph.weights[places]
        if weights.dtype.kind == "i":
            weights = converted(weights, INT64)  # closed arcs weigh the greatest of int64
        try:
            version = self._opposite._change(there.with_changes(arcs, weights), arcs, threads)
        except NegativeCycleError:
            _refuse_negative_cycle(graph)  # in the direction that was asked for
            raise
        return Hierarchy(graph, self._structure, None, version)

    def reverse(self) -> Hierarchy:
        """Return the hierarchy of ``graph.reverse()``, with the same weights the other way."""
        if self._opposite is not None:
            return self._opposite
        return self._cached(
            "reverse", lambda: Hierarchy(self.graph.reverse(), self._structure, None, self)
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
        graph, arrays = self.graph, {"order": self._structure.order}
        if structure_only:
            meta = {"kind": ALONE, "n": graph.n, "topology": topology_digest(graph)}
            write_arrays(path, meta, arrays)
        else:
            meta, fields = pack(graph._fields())
            write_arrays(path, meta | {"kind": WITH_GRAPH}, fields | arrays)

    def __repr__(self) -> str:
        arcs = self._structure.upper.size
        return f"Hierarchy({self.graph!r}, {arcs:,} chordal arcs)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.graph, self._structure)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be deleted")


def topology_digest(graph: Graph) -> str:
    """Return a digest of vertices and arcs, whatever they weigh."""
    digest = hashlib.sha256(f"{graph.n} {graph.m}".encode())
    digest.update(graph.indptr.tobytes())
    digest.update(graph.indices.tobytes())
    return digest.hexdigest()


def _with_weights(graph: Graph, w: Any, rows: Any = None) -> Graph:
    """Return ``graph.with_weights(w, rows=rows)``, of which either may be on a CUDA device."""
    if rows is None and _is_device_array(w):
        from sssp.cuda.device_weights import with_weights_there

        return with_weights_there(graph, w)
    if _is_device_array(rows):
        from sssp.cuda.device_weights import on_host

        rows = on_host(rows)
    return graph.with_weights(w, rows=rows)


def _is_usual(weights: WeightRange) -> bool:
    """Whether no weight is negative or so large that calls refuse it."""
    most = largest_distance(FLOAT64 if weights.dtype.kind == "f" else INT64)
    return weights.least >= 0 and weights.greatest <= most.item()


def _key(dtype: np.dtype[Any]) -> str:
    """Return the cache key of the weights in a dtype."""
    return f"weights, {dtype.char}"


def _rebuilt(graph: Graph, structure: Structure) -> Hierarchy:
    # (pickles forget that arrays are read-only, which makes other types of them for kernels)
    return Hierarchy(graph, structure.frozen())


def _longest_way(graph: Graph) -> float:
    """Bound the absolute length of every simple path, which leaves every vertex at most once."""
    part = graph.without_closed_arcs()
    steps = np.zeros(graph.n)
    np.maximum.at(steps, part.tails, np.abs(part.weights.astype(float)))
    return float(steps.sum())


def _refuse_negative_cycle(graph: Graph) -> None:
    """Raise `NegativeCycleError` with a cycle, unless none is exactly below zero."""
    cycle = negative_cycle_from(graph.without_closed_arcs(), np.arange(graph.n))
    if cycle.size:
        raise NegativeCycleError(
            f"the graph has {describe_cycle(cycle)}, so a prepared map has no shortest ways; "
            ".cycle holds it, and sssp.shortest_paths(g, ...) answers sources that do not reach it",
            cycle.tolist(),
        )


# ---- scenarios


def build_in_batches(
    build: Callable[[Any, int], T],
    changes: Iterable[Any],
    batch: int,
    threads: int,
    finish: Callable[[list[T]], None] | None = None,
    is_light: Callable[[Any], bool] = lambda change: False,
) -> Iterator[T]:
    """Yield ``build(change, threads)`` for each change, in order, a batch at a time.

    Parameters
    ----------
    build : callable
    changes : iterable
        Read a batch at a time, and copied as they are read.
    batch : int
        How many are built before the first of them is yielded; none is kept after that.
    threads : int
        They share the scenarios of a batch; the only scenario of a batch gets them all.
    finish : callable, optional
        Called with every batch before its first item is yielded.
    is_light : callable, optional
        Whether building takes less time than handing the change to a thread; the caller's thread
        builds a batch of light changes.
    """
    left = enumerate(changes)
    while some := [(number, _numbered(_copy, number, one)) for number, one in islice(left, batch)]:
        workers = 1 if all(is_light(change) for _, change in some) else min(threads, len(some))

        def build_one(numbered: tuple[int, Any], each: int = threads // workers) -> T:
            return _numbered(build, *numbered, each)

        built = deque(ordered_map(build_one, some, workers))
        if finish is not None:
            finish(list(built))
        del some
        while built:
            yield built.popleft()


def _copy(change: Any) -> Any:
    """Return a copy of a scenario, because a generator may refill the same arrays."""
    if isinstance(change, tuple):
        return tuple(map(_copy, change))
    if _is_device_array(change):
        from sssp.cuda.device_weights import copied

        return copied(change)
    try:
        return deepcopy(change)
    except TypeError:  # (NumPy reads things that this cannot copy: a memoryview, a file's dataset)
        return np.array(change)


def _numbered(call: Callable[..., R], number: int, *arguments: Any) -> R:
    """Return ``call(*arguments)``; prefix the message of an exception with the scenario."""
    try:
        return call(*arguments)
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (f"scenario {number}: {error.args[0]}", *error.args[1:])
        else:
            error.add_note(f"scenario {number}")
        raise


def _is_device_array(array: Any) -> bool:
    """Tell whether an array of any library is on a CUDA device."""
    return hasattr(array, "__cuda_array_interface__")
