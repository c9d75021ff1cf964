"""`Hierarchy`: a graph prepared once for many fast queries under any arc weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.cpu.search.bellman_ford import negative_cycle_from
from sssp.cpu.sweep.customization import NO_METRIC, Metric, customize
from sssp.cpu.sweep.partial_customization import change_arcs
from sssp.cpu.sweep.trip_labels import TripLabels, make_labels
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_count, as_memory_limit
from sssp.engine.cycles import describe_cycle
from sssp.engine.device_names import kind_of, named_device
from sssp.engine.threads import default_threads
from sssp.errors import DeviceError, NegativeCycleError
from sssp.graph.check_arrays import arc_column, is_on_device
from sssp.graph.graph import Graph
from sssp.graph.graph_file import pack
from sssp.graph.turns import Turns
from sssp.graph.weights import converted
from sssp.kernels.dtypes import FLOAT64, INT32, INT64, WeightRange, largest_distance, safe_length
from sssp.kernels.locks import Derived
from sssp.loaders import write_arrays
from sssp.methods import SWEEP_METHODS, Method
from sssp.order.structure import Structure, slots_of
from sssp.prepared.scenarios import Scenarios, build_in_batches

T = TypeVar("T")

#: kinds of files: with the graph, or with the structure alone
WITH_GRAPH, ALONE = "hierarchy", "structure"

#: key of labels that are kept
TRIP_LABELS = "trip labels"


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
        fields = {"graph": graph, "_structure": structure, "_opposite": opposite}
        for name, value in (fields | {"_derived": derived}).items():
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
    def turns(self) -> Turns | None:
        """Turn costs and forbidden turns of the graph; None for a graph without turns."""
        return self.graph.turns

    @property
    def labels(self) -> NDArray[Any] | None:
        """Labels of the graph's vertices, or None if they have no labels."""
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
        """Drop the copies of this map on CUDA devices; a later call on a device makes new ones.

        Those of its graph go too, and those of the reversed map.
        """
        others = [self._opposite, *self._derived.values()]
        for version in (self, *(held for held in others if isinstance(held, Hierarchy))):
            version._derived.free_device()
            version.graph.free_device()
        self._structure.shared.free_device()

    if not TYPE_CHECKING:  # (type checkers would take every name to exist)

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with a hint to ``h.graph`` if the graph has the attribute."""
            theirs = not name.startswith("_") and hasattr(Graph, name)
            hint = f"; its graph has: h.graph.{name}" if theirs else ""
            raise AttributeError(f"a prepared map has no {name!r}{hint}", name=name, obj=self)

    # -- what the engine and solvers read (`sssp.order.prepared_map`) ---------------------------

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype, least and greatest weight of the arcs that are not closed."""
        return self.graph._weight_range

    @property
    def _tree_graph(self) -> Graph:
        """The original graph, whose arcs form the shortest-path trees of results."""
        return self.graph

    @property
    def _searched(self) -> Hierarchy:
        """The hierarchy to sweep: this one or, with turns, that of the turn-expanded graph."""
        if self.graph.turns is None:
            return self
        return self._cached(
            "searched", lambda: Hierarchy(self.graph._searched, self._structure, self._slots)
        )

    @property
    def _is_on_device(self) -> bool:
        """Whether a GPU holds the structure of this map, which does not depend on weights."""
        return any(key.startswith("cuda:") for key in list(self._structure.shared))

    @property
    def _slots(self) -> NDArray[np.uint32]:
        """Positions of the graph's arcs among the directed chordal arcs."""
        return self._cached("slots", lambda: slots_of(self._structure, self.graph._searched))

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return the result of ``build()``, computed on first use and cached under `key`."""
        return self._derived.get_or_build(key, build)

    def _layered(self, dtype: np.dtype[Any], threads: int | None = None) -> Metric:
        """Return the customized weights in one dtype, computed on first use and kept."""
        if self.graph.turns is not None:
            return self._searched._layered(dtype, threads)

        def build() -> Metric:
            if self._opposite is not None:
                return self._opposite._layered(dtype, threads).reversed()
            return self._customize(dtype, threads)

        return self._cached(_key(dtype), build)

    def _customize(self, dtype: np.dtype[Any], threads: int | None) -> Metric:
        graph, signed = self.graph, self.least_weight < 0
        if signed:
            # an upper bound on the absolute length of every simple path
            part, steps = graph.without_closed_arcs(), np.zeros(graph.n)
            np.maximum.at(steps, part.tails, np.abs(part.weights.astype(float)))
            if not 2.0 * float(steps.sum()) < safe_length(dtype):
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
        """Customize this hierarchy in the first dtype that fits all distances; return itself."""
        if self.graph.turns is not None:
            self._searched._weigh(threads)
            return self
        dtypes = self._weight_range.working_dtypes(None)
        fits = any(self._layered(dtype, threads).fits for dtype in dtypes)
        if not fits and self.least_weight < 0:
            _refuse_negative_cycle(self.graph)  # no customization has looked for one
        return self

    def _check(self, threads: int | None = None) -> Hierarchy:
        """Return this hierarchy; raise an error if the graph has a negative cycle."""
        return self._weigh(threads) if self.least_weight < 0 else self

    # -- other weights -------------------------------------------------------------------------

    def with_weights(
        self, w: ArrayLike | None = None, *, rows: ArrayLike | None = None
    ) -> Hierarchy:
        """Return a hierarchy of the same graph with new arc weights, in O(triangles) time.

        Raises
        ------
        NegativeCycleError
            A cycle is of negative length, wherever it is.

        Notes
        -----
        Weights of which none is negative are customized where the first question is asked, on the
        CPU or on a GPU, and when it is. A GPU that has the memory of a version that is gone begins
        at once: integers of the host, too, are then looked through there.

        `w` and `rows` may be arrays of CuPy, PyTorch or Numba. `w` is copied, and looked through,
        on its own device, when the stream that it names has made it; the host gets it when it is
        asked for: by questions on the CPU or on another GPU, by ``graph.weights`` and what is made
        of them, and at once where a weight is negative.
        """
        ahead = None
        if self._is_on_device and self.graph.turns is None:
            from sssp.cuda.sweep.customization import find_idle_memory

            ahead = find_idle_memory(self._structure, self._slots)
        graph = _with_weights(self.graph, w, rows, ahead)
        version = Hierarchy(graph, self._structure, self._slots)._check()
        if ahead is not None:
            ahead.adopt(version)
        return version

    def with_turn_costs(self, costs: ArrayLike) -> Hierarchy:
        """Return the hierarchy of ``graph.with_turn_costs(costs)``; as fast as `with_weights`.

        Restrictions that hold at some hours are named once, and cost 0 or inf by the hour.

        Raises
        ------
        ValueError, TypeError, DistanceOverflowError
            As `Graph.with_turn_costs`.
        """
        return Hierarchy(self.graph.with_turn_costs(costs), self._structure, self._slots)._check()

    def with_changes(self, arcs: ArrayLike, weights: ArrayLike) -> Hierarchy:
        """Return the hierarchy for the graph with new weights on some arcs.

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
    ) -> Scenarios[Hierarchy]:
        """Yield a hierarchy for each of many scenarios (sets of new weights), in their order.

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
            As of `with_weights` or `with_changes`; nothing but the caller keeps it. `sssp.reduce`
            takes the iterator itself in place of a graph, and answers a batch at a time.

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
            return Scenarios(build_in_batches(self._scenario, changes, size, threads))
        if kind_of(named) != "cuda":
            raise DeviceError(f"prepared maps are customized on 'cpu' or 'cuda', not on {named!r}")
        from sssp.cuda.availability import device_number
        from sssp.cuda.sweep.customization import customize_together

        def finish(versions: list[Hierarchy]) -> None:
            customize_together([one._searched for one in versions], device_number(named))

        batches = build_in_batches(self._version, changes, size, threads, finish, self._is_light)
        return Scenarios(batches)

    def _scenario(self, change: Any, threads: int) -> Hierarchy:
        """Return a hierarchy customized to the changed weights of one scenario."""
        if isinstance(change, tuple):
            return self._change(self._graph_of(change), change[0], threads)._weigh(threads)
        version = self._version(change, threads)._weigh(threads)
        # (without the weights that `change_arcs` needs, half of the memory)
        derived = version._searched._derived
        for key, held in derived.items():
            if isinstance(held, Metric):
                derived[key] = held._replace(whole=None)
        return version

    def _version(self, change: Any, threads: int) -> Hierarchy:
        """Return the hierarchy with a scenario's weights; raise an error on a negative cycle."""
        graph = self._graph_of(change)
        graph._weight_range.working_dtypes(None)  # (refuses here, where its number is known)
        return Hierarchy(graph, self._structure, self._slots)._check(threads)

    def _graph_of(self, change: Any) -> Graph:
        """Return the graph with the weights that a scenario (weights or arc changes) defines."""
        if not isinstance(change, tuple):
            return _with_weights(self.graph, change)
        if len(change) != 2:
            raise TypeError(
                "a scenario is an array of weights or a tuple (arcs, weights), not a tuple of "
                f"{len(change)}"
            )
        return self.graph.with_changes(*change)

    def _is_light(self, change: Any) -> bool:
        """Return whether it is cheap to build the hierarchy for `change`, a change of weights."""
        return is_on_device(change) or (isinstance(change, tuple) and self.least_weight >= 0)

    def _change(self, graph: Graph, arcs: ArrayLike, threads: int | None = None) -> Hierarchy:
        """Return a hierarchy for `graph`, in which only the weights of `arcs` have changed."""
        places = arc_column(arcs, self.m)
        if self._opposite is not None and graph.turns is None:
            return self._change_opposite(graph, places, threads)
        version = Hierarchy(graph, self._structure, self._slots)
        if graph.turns is not None:
            # the arcs of the expansion that stand for these
            is_changed = np.zeros(self.m, np.bool_)
            is_changed[places] = True
            there = np.flatnonzero(graph.turns.expansion.values_of_arcs(is_changed))
            before, after = self._searched, graph._searched
            if before.graph.weights.dtype == after.weights.dtype:
                changed = before.graph._change_at(there, after.weights[there])
                version._derived["searched"] = before._change(changed, there, threads)
            return version._check(threads)
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
        """Change the weights of a reversed hierarchy, by changing those of the original one."""
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
        """Return the reversed graph's hierarchy; it shares the customized weights of this one."""
        if self._opposite is not None:
            return self._opposite

        def build() -> Hierarchy:
            turned = Hierarchy(self.graph.reverse(), self._structure, None, self)
            if self.graph.turns is not None:
                turned._derived["searched"] = self._searched.reverse()
            return turned

        return self._cached("reverse", build)

    def with_trip_labels(self, memory_limit: float | None = None) -> Hierarchy:
        """Return the hierarchy with a distance label of every vertex, for fast trips.

        On the CPU `sssp.pairs` then takes some hundred nanoseconds a trip instead of microseconds:
        it looks at two labels and at no arc. Everything else is answered as before.

        Parameters
        ----------
        memory_limit : number, optional
            Bytes that the labels may take; by default what the machine has.

        Returns
        -------
        Hierarchy
            With the same weights. Versions of other weights (`with_weights` and its like) have no
            labels, and files have none.

        Raises
        ------
        ValueError
            The weights are floats, or their sums do not fit int64.
        DeviceError
            The labels take more memory than they may.

        Notes
        -----
        O(arcs * depth) time: of New York 0.1 s, and 300 MB. A label has the distances to all
        ancestors of a vertex in the elimination tree, and from them (customizable tree labels:
        Farhan and Koehler 2026).
        """
        limit = as_memory_limit(memory_limit)
        if self.graph.turns is not None:
            version = Hierarchy(self.graph, self._structure, self._slots, self._opposite)
            version._derived["searched"] = self._searched.with_trip_labels(limit)
            return version
        dtypes = self._weight_range.working_dtypes(None)
        usable = [dtype for dtype in dtypes if dtype.kind == "i" and self._layered(dtype).fits]
        if not usable:
            raise ValueError(
                "trip labels are for integer weights whose sums fit int64: ask sssp.pairs of the "
                "map as it is, or round the weights"
            )
        labels = make_labels(self._structure, self._layered(usable[0]), usable[0], limit)
        version = Hierarchy(self.graph, self._structure, None, self._opposite)
        version._derived.update(self._derived.copy())
        version._derived[TRIP_LABELS] = labels
        return version

    def _trip_labels(self, dtype: np.dtype[Any]) -> TripLabels | None:
        """Return the distance labels kept for trips if they are of the given dtype; else None."""
        labels: TripLabels | None = self._derived.get(TRIP_LABELS)
        return None if labels is None or labels.up.dtype != dtype else labels

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
            meta = {"kind": ALONE, "n": graph.n, "topology": topology_digest(graph._searched)}
        else:
            meta, fields = pack(graph._fields())
            meta, arrays = meta | {"kind": WITH_GRAPH}, fields | arrays
        write_arrays(path, meta, arrays)

    def __repr__(self) -> str:
        return f"Hierarchy({self.graph!r}, {self._structure.upper.size:,} chordal arcs)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.graph, self._structure)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a hierarchy is immutable: {name} cannot be deleted")


def topology_digest(graph: Graph) -> str:
    """Return a digest of a graph's vertices and arcs, without weights."""
    digest = hashlib.sha256(f"{graph.n} {graph.m}".encode())
    digest.update(graph.indptr.tobytes())
    digest.update(graph.indices.tobytes())
    return digest.hexdigest()


def _with_weights(graph: Graph, w: Any, rows: Any = None, ahead: Any = None) -> Graph:
    """Return the graph with new weights, which a host array or a CUDA device array holds.

    With `ahead` (`sssp.cuda.sweep.customization`), its device looks through integers of the host.
    """
    if ahead is not None and rows is None and type(w) is np.ndarray and w.dtype in (INT32, INT64):
        from sssp.cuda.device_weights import with_weights_there

        with suppress(DeviceError):  # (it may have no room for them)
            return with_weights_there(graph, w, ahead)
    if is_on_device(w) or is_on_device(rows):
        from sssp.cuda.device_weights import on_host, with_weights_there

        if rows is None and graph.turns is None:
            return with_weights_there(graph, w, ahead)
        w, rows = (on_host(given) if is_on_device(given) else given for given in (w, rows))
    return graph.with_weights(w, rows=rows)


def _is_usual(weights: WeightRange) -> bool:
    """Return whether all weights are non-negative and at most the largest 64-bit distance."""
    most = largest_distance(FLOAT64 if weights.dtype.kind == "f" else INT64)
    return weights.least >= 0 and weights.greatest <= most.item()


def _key(dtype: np.dtype[Any]) -> str:
    """Return the cache key of the customized weights in a dtype."""
    return f"weights, {dtype.char}"


def _restore(graph: Graph, structure: Structure) -> Hierarchy:
    # (pickles forget that arrays are read-only, which makes other types of them for kernels)
    return Hierarchy(graph, structure.frozen())


def _refuse_negative_cycle(graph: Graph) -> None:
    """Raise `NegativeCycleError` with a cycle whose exact sum is negative, if there is one."""
    cycle = negative_cycle_from(graph.without_closed_arcs(), np.arange(graph.n))
    if cycle.size:
        raise NegativeCycleError(
            f"the graph has {describe_cycle(cycle)}, so a prepared map has no shortest ways; "
            ".cycle holds it, and sssp.shortest_paths(g, ...) answers sources that do not reach it",
            cycle.tolist(),
        )
