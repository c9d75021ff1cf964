"""`pairs`: trips, each from its own source to its own target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.make_plan import choose_method
from sssp.calls.placement import (
    named_devices,
    place,
    search_work,
    trip_work,
)
from sssp.calls.shortest_paths import failure
from sssp.calls.trip_tables import solve_by_tables
from sssp.cpu.search.a_star import landmark_bytes
from sssp.cpu.tree import may_tie
from sssp.engine.check_arguments import (
    as_limit,
    as_memory_limit,
    as_network,
    as_vertices,
    distinct,
    refuse_negative,
    refuse_unprepared,
)
from sssp.engine.device_names import named_device
from sssp.engine.memory import FEWER_TRIPS, check_memory
from sssp.engine.network import open_part, reversed_graph
from sssp.engine.plan import Plan, is_symmetric, merged, run_placed, weights_of
from sssp.engine.progress import check_progress
from sssp.engine.request import Answer, Request
from sssp.engine.threads import check_threads
from sssp.graph.check_arrays import as_flag
from sssp.kernels.dtypes import FLOAT32, INT64, distance_dtype, largest_distance
from sssp.methods import (
    METHODS,
    TRIP_METHODS,
    AStar,
    Method,
    is_auto,
)
from sssp.results.trip_results import Trips

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy

#: bytes of a trip while those of a source are brought together, and in what is handed back
#: (measured, without its distance and path)
TRIP_BYTES = 80
#: up to so many targets of a source, A* to each is faster than one search that goes all ways
FEW = 8
#: trips for every thread from which on landmarks pay, which take 18 searches of one thread
WORTH_LANDMARKS = 45
#: so many times fewer targets than sources are worth searching from the other end
WORTH_TURNING = 2
#: vertices from which on a search takes longer than all that goes with it
WORTH_A_STAR = 1 << 12
#: time of A* with its landmarks, as a share of a search to one target
A_STAR_SHARE = 0.25


def pairs(
    g: Graph | Hierarchy,
    sources: ArrayLike,
    targets: ArrayLike,
    *,
    limit: float | None = None,
    method: str | Method = "auto",
    device: str | Sequence[str] = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Trips:
    """Find the shortest path of every trip, each with a source and a target of its own.

    Parameters
    ----------
    g : Graph or Hierarchy
        The graph.
    sources, targets : int, or array_like of int, shape (p,)
        The ends of the trips, in their order. An int stands for as many as the other side has.
        Duplicates are kept; empty is allowed.
    limit : float, optional
        Greatest distance of interest, inclusive.
    method : str or Method
        As for `sssp.shortest_paths`, or ``"a-star"``, which needs weights >= 0 (> 0 for paths) and
        keeps a table of landmarks with the graph. A name is obeyed for all trips.
    device : str, or sequence of str
        As for `sssp.shortest_paths`.
    predecessors : bool
        Also find the paths, for `Trips.path`.
    dtype, threads, memory_limit, progress
        As for `sssp.shortest_paths`.

    Returns
    -------
    Trips

    Raises
    ------
    VertexError
        A source or target is no vertex.
    ValueError
        Not as many sources as targets; paths from ``"a-star"`` in a graph with weights of 0, or
        floats that others absorb; another argument is not what it should be.
    NegativeWeightError, NegativeCycleError, DistanceOverflowError, DeviceError, TypeError
        As `sssp.shortest_paths`.

    Notes
    -----
    Trips with the same source share a search, which ends when their targets are settled. Those with
    the same target do, on the reversed graph, where targets are at most half as many as sources,
    distances are integers and no paths are wanted. Sources with up to 8 targets go by A* with
    landmarks on the CPU (`sssp.cpu.search.a_star`), one search a trip, if there are enough of them
    to pay for the landmarks: 45 a thread, without a limit, on graphs of 4,096 vertices or more. On
    New York (264,000 vertices) A* takes a fifth of the time, and the landmarks as much as 25
    searches to a target; they stay with the graph: 16 numbers a vertex.

    Distances on a prepared map are found by climbs from both ends that meet; on a GPU each trip
    counts for itself in `Trips.stats`, and up to a gigabyte there holds what climbs have found.

    Every answer is that of ``shortest_paths(g, source, targets=target, predecessors=True)``, to the
    bit, whatever trips go with it. Memory: 80 bytes a trip while those of a source are brought
    together, and its distance and path, some 30 bytes a vertex for every thread, and with paths the
    arcs by head, which are kept.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> trips = sssp.pairs(g, [0, 1, 0], [2, 2, 1], predecessors=True)
    >>> trips.distances.tolist(), trips.path(0).tolist()
    ([10, 5, 5], [0, 1, 2])
    """
    network = as_network(g)
    chosen = choose_method(network, method, METHODS | TRIP_METHODS)
    refuse_negative(network, chosen)
    weights = weights_of(network, chosen).dtype
    starts, ends = _ends(network, sources, targets)
    asked = distance_dtype(dtype, weights)
    request = Request(
        sources=starts,
        limit=as_limit(limit, integral=(asked or weights).kind == "i"),
        dtype=asked,
        predecessors=as_flag(predecessors, "predecessors"),
        advice=FEWER_TRIPS,
        threads=check_threads(threads),
        progress=check_progress(progress),
        reserved_bytes=TRIP_BYTES * starts.size,
    )
    if network._methods is not None:
        refuse_unprepared(network, request)
    call = _Call(network, starts, ends, request, chosen)
    call.refuse_too_many(device, memory_limit)
    if isinstance(chosen, AStar):
        call.refuse_ties()
    elif is_auto(method) and network._methods is None:
        call.consider_a_star()
    call.place(device, memory_limit)
    return call.answer()


def _ends(
    network: Graph, sources: ArrayLike, targets: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check the ends of the trips, and give both sides the same length."""
    starts, one_start = as_vertices(sources, network, "source")
    ends, one_end = as_vertices(targets, network, "target")
    if one_start != one_end:
        starts, ends = (side.copy() for side in np.broadcast_arrays(starts, ends))
    if starts.size != ends.size:
        raise ValueError(
            f"{starts.size} sources and {ends.size} targets: a trip has one of each; for all "
            "distances between them call shortest_paths(g, sources, targets=targets)"
        )
    return starts, ends


class _Groups(NamedTuple):
    """Trips that differ, those of a source together.

    Attributes
    ----------
    graph : Graph
        The graph that is searched.
    sources : ndarray, shape (k,), int64
        None twice.
    counts : ndarray, shape (k,), int64
        How many targets each has.
    targets : ndarray, shape (t,), int64
    trip_of : ndarray, shape (p,), int64
        Which of the t trips each trip of the call is.
    """

    graph: Graph
    sources: NDArray[np.int64]
    counts: NDArray[np.int64]
    targets: NDArray[np.int64]
    trip_of: NDArray[np.int64]

    @classmethod
    def of(cls, graph: Graph, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> _Groups:
        trips, trip_of = np.unique(starts * graph.n + ends, return_inverse=True)
        sources, counts = np.unique(trips // max(graph.n, 1), return_counts=True)
        return cls(graph, sources, counts, trips % max(graph.n, 1), trip_of)


class _Found(NamedTuple):
    """Answer to the trips that differ, and which of them each trip of the call is.

    None: they were found one by one, in the order of the call.
    """

    answer: Answer
    method: str
    trip_of: NDArray[np.int64] | None


class _Call:
    """A checked call, and what is decided about it.

    Attributes
    ----------
    method : Method
        Of trips that are found together.
    by_a_star : bool
        Whether the trips of sources with few targets go by A*, on the CPU.
    """

    def __init__(
        self,
        network: Graph,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        request: Request,
        method: Method,
    ) -> None:
        self.network, self.starts, self.ends = network, starts, ends
        self.request, self.method = request, method
        self.graph = open_part(network)
        self.weights = weights_of(self.graph, method)
        self.by_a_star = False

    @cached_property
    def groups(self) -> _Groups:
        """The trips by source, or by target on the reversed graph if searches are fewer then."""
        groups = _Groups.of(self.graph, self.starts, self.ends)
        if self._turns(groups):
            return _Groups.of(reversed_graph(self.graph), self.ends, self.starts)
        return groups

    def refuse_too_many(self, device: str | Sequence[str], memory_limit: float | None) -> None:
        """Refuse more trips than there may be, before they are sorted.

        Raises
        ------
        DeviceError
            They take more memory than the call may, or more than the host has.
        """
        named = [named_device(one) for one in named_devices(device)]
        # (whoever names a GPU limits the memory there)
        on_gpu = any(name.startswith("cuda") for name in named)
        limit = as_memory_limit(None if on_gpu else memory_limit)
        check_memory({"the trips": self.request.reserved_bytes}, limit, "cpu", self.request.advice)

    def _turns(self, groups: _Groups) -> bool:
        """Whether searches from the targets, on the reversed graph, are fewer and find the same."""
        return (
            not self.request.predecessors
            and not isinstance(self.method, AStar)
            and is_symmetric(self.request, self.graph.n, self.weights)
            and WORTH_TURNING * distinct(self.ends).size <= groups.sources.size
        )

    def _gives_paths(self) -> bool:
        """Whether A*, which does not see all of a row, finds the paths that are wanted."""
        if not self.request.predecessors:
            return True
        graph, dtype = self.graph, self.weights.working_dtypes(self.request.dtype)[0]
        longest = min(float(graph.greatest_weight) * graph.n, float(largest_distance(dtype)))
        return not may_tie(graph, dtype.type(longest), dtype)

    def refuse_ties(self) -> None:
        """Refuse paths by A* where they might not be those of other methods."""
        if not self._gives_paths():
            raise ValueError(
                "a-star finds paths only where every weight is above 0, and none so small that a "
                "sum of floats absorbs it; leave method away"
            )

    def consider_a_star(self) -> None:
        """Choose A* where it pays."""
        request, graph = self.request, self.graph
        few = self.groups.counts[self.groups.counts <= FEW]
        self.by_a_star = (
            graph.least_weight >= 0
            and graph.n >= WORTH_A_STAR
            and few.sum() >= WORTH_LANDMARKS * request.threads
            and request.limit is None
            # float32 rounds too much for bounds to help
            and request.dtype != FLOAT32
            and self._gives_paths()
        )

    def place(self, device: str | Sequence[str], memory_limit: float | None) -> None:
        """Choose where the call runs."""
        request, graph = self.request, self.graph
        work = None
        sizes = graph.n, graph.m
        if "cuda" in self.method.solvers and graph._methods is None:
            rows = self.groups.sources.size
            each = max(1, self.groups.targets.size // max(rows, 1))
            limited = request.limit is not None
            work = search_work(
                self.method, *sizes, rows, request.threads, targets=each, limited=limited
            )
        elif "cuda" in self.method.solvers and not request.predecessors:
            # (which of them are the same nobody asks: that takes longer than finding all)
            there = graph._is_on_device
            work = trip_work(*sizes, self.starts.size, request.threads, is_there=there)
        if work is not None and self.by_a_star:
            work = work._replace(seconds=work.seconds * A_STAR_SHARE)
        place(request, device, self.method, work, memory_limit=memory_limit)
        # (in the wider of the dtypes that may be needed)
        self.by_a_star &= 2 * landmark_bytes(graph, INT64) <= request.memory_limit

    def answer(self) -> Trips:
        """Find all trips.

        Raises
        ------
        NegativeCycleError, DistanceOverflowError, DeviceError
            As `pairs` documents.
        """
        found = run_placed(self.request, self._found)
        if found is None:
            raise failure(Plan(self.network, self.request, self.method))
        answer, method, trip_of = found
        distances, stats = answer.distances, answer.stats
        if trip_of is not None:
            distances = distances[trip_of]
            stats = {name: values[trip_of] for name, values in stats.items()}
        return Trips(
            self.network._tree_graph,
            self.starts,
            self.ends,
            distances,
            limit=self.request.limit,
            walks=answer.walks,
            walk_of=trip_of,
            method=method,
            device=answer.device,
            stats=stats,
        )

    def _found(self, request: Request) -> _Found | None:
        """Find the trips of all groups; None after an overflow."""
        if any(device != "cpu" for device in request.devices or [request.device]):
            if self.graph._methods is not None and not request.predecessors:
                return self._one_by_one(request)
            groups = self.groups
            whole = self._asked(request, np.ones(groups.sources.size, np.bool_))
            answer = _by_tables(Plan(groups.graph, whole, self.method))
            if answer is None:
                return None
            return _Found(_by_trip(answer, whole), self.method.name, groups.trip_of)
        groups = self.groups
        by_a_star = np.full(groups.sources.size, isinstance(self.method, AStar))
        if self.by_a_star:
            by_a_star = groups.counts <= FEW
        parts = []
        if by_a_star.any():
            parts.append(Plan(groups.graph, _singly(self._asked(request, by_a_star)), AStar()))
        if not by_a_star.all() or not parts:
            parts.append(Plan(groups.graph, self._asked(request, ~by_a_star), self.method))
        answers = []
        for part in parts:
            answer = part.run()
            if answer is None:
                return None
            answers.append(_by_trip(answer, part.request))
        # those by A* stand first now
        places = np.argsort(np.argsort(~np.repeat(by_a_star, groups.counts), kind="stable"))
        methods = "+".join(part.method.name for part in parts)
        return _Found(merged(answers), methods, places[groups.trip_of])

    def _one_by_one(self, request: Request) -> _Found | None:
        """Find the trips as they come: a GPU climbs on a prepared map, and groups climbs itself."""
        offsets = np.arange(self.starts.size + 1)
        whole = replace(request, sources=self.starts, targets=self.ends, target_offsets=offsets)
        answer = _by_tables(Plan(self.graph, whole, self.method))
        return None if answer is None else _Found(answer, self.method.name, None)

    def _asked(self, request: Request, chosen: NDArray[np.bool_]) -> Request:
        """Return the question for some of the sources."""
        groups = self.groups
        return replace(
            request,
            sources=groups.sources[chosen],
            targets=groups.targets[np.repeat(chosen, groups.counts)],
            target_offsets=np.concatenate(([0], np.cumsum(groups.counts[chosen]))),
        )


def _by_tables(plan: Plan[Request]) -> Answer | None:
    """Answer on a device that knows of no groups, or on several; None after an overflow."""
    if plan.request.devices:
        return plan.solve_on_devices(_by_tables)
    if plan.request.device == "cpu":
        return plan.run()
    return solve_by_tables(plan.network, plan.request, plan.method)


def _singly(request: Request) -> Request:
    """Return the same question with one target a source."""
    assert request.target_offsets is not None
    return replace(
        request,
        sources=np.repeat(request.sources, np.diff(request.target_offsets)),
        target_offsets=np.arange(request.target_offsets[-1] + 1),
    )


def _by_trip(answer: Answer, request: Request) -> Answer:
    """Return an answer whose counters have an entry a trip instead of one a source."""
    assert request.target_offsets is not None
    counts = np.diff(request.target_offsets)
    stats = {name: np.repeat(values, counts) for name, values in answer.stats.items()}
    return replace(answer, stats=stats)
