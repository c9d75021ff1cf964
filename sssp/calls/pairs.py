"""`pairs`: shortest paths of trips; `times_by_departure`: trip lengths by hour of departure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.choose_device import named_devices, place, search_work, trip_work
from sssp.calls.make_plan import make_request
from sssp.calls.shortest_paths import failure
from sssp.cpu.search.a_star import landmark_bytes
from sssp.cpu.tree import find_walks, untied_distance
from sssp.engine import check_arguments, thresholds
from sssp.engine.arc_ends import ArcEnds
from sssp.engine.check_memory import FEWER_TRIPS, check_memory, physical_memory
from sssp.engine.choose_method import choose_method
from sssp.engine.device_names import named_device
from sssp.engine.narrow import convert_into, narrow
from sssp.engine.network import open_part, reversed_graph
from sssp.engine.outputs import join_walks
from sssp.engine.plan import Plan, is_symmetric, merge_answers, run_placed, weights_of
from sssp.engine.request import Answer, Request, Walks
from sssp.graph.arc_orders import unsigned_arcs
from sssp.graph.check_arrays import arc_column, as_flag
from sssp.graph.csr import offsets, spread
from sssp.kernels.dtypes import FLOAT32, INDEX, INT64, largest_distance, unreached
from sssp.methods import METHODS, TRIP_METHODS, AStar, Method, is_auto
from sssp.results.trip_results import Trips

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.graph.turns import Expansion
    from sssp.prepared.hierarchy import Hierarchy

#: bytes of a trip while those of a source are brought together, and in what is handed back
#: (measured, without its distance and path)
TRIP_BYTES = 80


def pairs(
    g: Graph | Hierarchy,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    source_arcs: ArrayLike | None = None,
    target_arcs: ArrayLike | None = None,
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
    source_arcs, target_arcs : int, or array_like of int, shape (p,), optional
        In place of `sources` or `targets`: arcs, as positions in ``graph.indices``
        (`Graph.arcs`). A trip starts after its source arc, whose weight does not count, and drives
        to the end of its target arc, whose weight counts; so do the turns from the one and to the
        other (`Graph.with_turns`). From an arc to itself leads a round trip. Paths begin at the
        head of the source arc, and end with the target arc.
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
        A source or target is not a vertex.
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
    searches to a target; they stay with the graph: 16 numbers per vertex.

    Distances on a prepared map are found by climbs from both ends that meet; on a GPU each trip
    counts for itself in `Trips.stats`, and up to a gigabyte there holds what climbs have found.

    Every answer is that of ``shortest_paths(g, source, targets=target, predecessors=True)``, to the
    bit, whatever trips go with it. Memory: 80 bytes per trip while those of a source are brought
    together, and its distance and path, some 30 bytes per vertex for every thread, and with paths
    the arcs by head, which are kept.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> trips = sssp.pairs(g, [0, 1, 0], [2, 2, 1], predecessors=True)
    >>> trips.distances.tolist(), trips.path(0).tolist()
    ([10, 5, 5], [0, 1, 2])
    """
    user = check_arguments.as_network(g)
    network, chosen = choose_method(user, method, METHODS | TRIP_METHODS)
    starts, ends, after = ends_of_trips(user, sources, targets, source_arcs, target_arcs)
    arc_ends = None
    if target_arcs is not None:
        graphs = user._tree_graph, network._tree_graph
        arc_ends = ArcEnds.of(*graphs, ends, weighted=chosen.weighted)
        starts, ends = np.repeat(starts, arc_ends.counts), arc_ends.tails
    request = make_request(
        network, chosen, starts, limit, dtype, threads, progress, source_arcs=after,
        arc_ends=arc_ends, predecessors=as_flag(predecessors, "predecessors"), advice=FEWER_TRIPS,
        reserved_bytes=TRIP_BYTES * starts.size,
    )  # fmt: skip
    # more trips than the limit are refused before they are sorted; a limit for a GPU is not one
    # for the host
    on_gpu = any(named_device(one).startswith("cuda") for one in named_devices(device))
    most = check_arguments.as_memory_limit(None if on_gpu else memory_limit)
    check_memory({"the trips": request.reserved_bytes}, most, "cpu", request.advice)
    call = _Call(user._tree_graph, open_part(network), starts, ends, request, chosen)
    if isinstance(chosen, AStar) and not call.finds_paths():
        raise ValueError(
            "a-star finds paths only where every weight is above 0, and none so small that a "
            "sum of floats absorbs it; omit method="
        )
    if is_auto(method) and network._methods is None:
        call.consider_a_star()
    call.place(device, memory_limit)
    trips = run_placed(request, call.solve)
    if trips is None:
        raise failure(Plan(network, request, chosen))
    return trips


def times_by_departure(
    g: Graph | Hierarchy,
    weights: Iterable[ArrayLike],
    sources: ArrayLike,
    targets: ArrayLike,
    **options: Any,
) -> NDArray[np.float64]:
    """Find the distance of every trip at every hour of departure, with the weights of that hour.

    Parameters
    ----------
    g : Graph or Hierarchy
        A prepared map learns of new weights in milliseconds.
    weights : iterable of array_like, or array_like, shape (hours, m)
        Of each hour the weights of all arcs, as for `Graph.with_weights`. Lengths over speeds, say:
        ``(length[:, None] / speed)[g.arc_origin].T`` of a table of speeds by input row and hour.
    sources, targets : int, or array_like of int, shape (p,)
        The ends of the trips, as for `sssp.pairs`.
    **options
        Of `sssp.pairs`.

    Returns
    -------
    ndarray, shape (p, hours), float64
        Distances; inf where no path leads.

    Raises
    ------
    ValueError, TypeError, VertexError, SSSPError
        As `Hierarchy.scenarios` and `sssp.pairs`.

    Notes
    -----
    Travel is frozen at departure: a trip meets the streets of the hour at which it starts until
    its end. That is wrong for trips that are long beside an hour whose weights change.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> sssp.times_by_departure(g, [[5, 20, 5], [9, 20, 14]], [0, 1], [2, 2]).tolist()
    [[10.0, 20.0], [5.0, 14.0]]
    """
    network = check_arguments.as_network(g)
    # (a prepared map customizes many together)
    scenarios = getattr(network, "scenarios", partial(map, network.with_weights))
    options = {"progress": False} | options
    columns = [pairs(at, sources, targets, **options).to_float() for at in scenarios(weights)]
    return np.stack(columns, axis=1) if columns else np.empty((0, 0))


def ends_of_trips(
    user: Graph,
    sources: ArrayLike | None,
    targets: ArrayLike | None,
    source_arcs: ArrayLike | None = None,
    target_arcs: ArrayLike | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Check the ends of trips; return sources, targets, and the arcs after which trips start.

    They are vertices of the graph that is searched; with `target_arcs` trips end at these arcs.
    """
    starts, after, one_start = check_arguments.as_starts(user, sources, source_arcs)
    check_arguments.refuse_both("target", targets, target_arcs)
    if target_arcs is not None:
        ends, one_end = arc_column(target_arcs, user.m), np.ndim(target_arcs) == 0
    else:
        ends, one_end = check_arguments.as_vertices(targets, user, "target")
        ends = ends if user.turns is None else user.turns.expansion.end[ends]
    if one_start != one_end:
        starts, ends = (side.copy() for side in np.broadcast_arrays(starts, ends))
    if starts.size != ends.size:
        raise ValueError(
            f"{starts.size} sources and {ends.size} targets: a trip has one of each; for all "
            "distances between them call shortest_paths(g, sources, targets=targets)"
        )
    return starts, ends, None if after is None else np.broadcast_to(after, starts.shape)


class _Groups(NamedTuple):
    """Distinct trips, grouped by source.

    Attributes
    ----------
    graph : Graph
        The graph that is searched.
    sources : ndarray, shape (k,), int64
    offsets : ndarray, shape (k + 1,), int64
        Source i has ``targets[offsets[i]:offsets[i + 1]]``.
    targets : ndarray, shape (t,), int64
    trip_of : ndarray, shape (p,), int64, or slice
        Which of the t trips each trip of the call is.
    """

    graph: Graph
    sources: NDArray[np.int64]
    offsets: NDArray[np.int64]
    targets: NDArray[np.int64]
    trip_of: Any

    @classmethod
    def of(cls, graph: Graph, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> _Groups:
        """Group the distinct trips by source."""
        n = max(graph.n, 1)
        trips, trip_of = np.unique(starts * n + ends, return_inverse=True)
        sources, firsts = np.unique(trips // n, return_index=True)
        return cls(graph, sources, np.append(firsts, trips.size), trips % n, trip_of)

    def part(self, chosen: NDArray[np.bool_]) -> _Groups:
        """Return the trips from only those sources for which the mask `chosen` is True."""
        counts = np.diff(self.offsets)
        targets = self.targets[np.repeat(chosen, counts)]
        firsts = offsets(counts[chosen])
        return self._replace(sources=self.sources[chosen], offsets=firsts, targets=targets)


@dataclass
class _Call:
    """A checked call of `pairs`, which chooses method, direction and device.

    Attributes
    ----------
    user_graph : Graph
        The graph of the result; of one with turns the expansion is searched.
    graph : Graph or Hierarchy
        What is searched, without closed arcs.
    starts, ends : ndarray, int64
        The ends of the trips there.
    method : Method
        Of trips that are found together.
    by_a_star : bool
        Whether the trips of sources with few targets go by A*, on the CPU.
    """

    user_graph: Graph
    graph: Graph
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    request: Request
    method: Method
    by_a_star: bool = False

    @cached_property
    def groups(self) -> _Groups:
        """The trips, grouped by source or, on the reversed graph, by target to save searches."""
        groups = _Groups.of(self.graph, self.starts, self.ends)
        turns = (
            not self.request.predecessors
            and not isinstance(self.method, AStar)
            and is_symmetric(self.request, self.graph.n, weights_of(self.graph, self.method))
            and thresholds.WORTH_TRANSPOSING * check_arguments.distinct(self.ends).size
            <= groups.sources.size
        )
        if turns:
            return _Groups.of(reversed_graph(self.graph), self.ends, self.starts)
        return groups

    def finds_paths(self) -> bool:
        """Return whether A* can answer: not if paths are requested and an arc may have length 0."""
        if not self.request.predecessors:
            return True
        graph, weights = self.graph, weights_of(self.graph, self.method)
        dtype = weights.working_dtypes(self.request.dtype)[0]
        longest = min(float(graph.greatest_weight) * graph.n, float(largest_distance(dtype)))
        return longest <= untied_distance(graph, dtype)

    def consider_a_star(self) -> None:
        """Choose A* for sources with few targets if it is expected to be faster."""
        request, graph = self.request, self.graph
        counts = np.diff(self.groups.offsets)
        self.by_a_star = (
            self.user_graph.turns is None  # (landmarks tell nothing of vertices that lead nowhere)
            and graph.least_weight >= 0
            and graph.n >= thresholds.WORTH_A_STAR
            and counts[counts <= thresholds.A_STAR_TARGETS].sum()
            >= thresholds.WORTH_LANDMARKS * request.threads
            and request.limit is None
            # float32 rounds too much for bounds to help
            and request.dtype != FLOAT32
            and self.finds_paths()
        )

    def place(self, device: str | Sequence[str], memory_limit: float | None) -> None:
        """Choose the device of the call by its estimated cost and `memory_limit`."""
        request, graph, work = self.request, self.graph, None
        if "cuda" in self.method.solvers and graph._methods is None:
            rows, limited = self.groups.sources.size, request.limit is not None
            each = max(1, self.groups.targets.size // max(rows, 1))
            sizes = graph.n, graph.m, rows, request.threads
            work = search_work(self.method, *sizes, targets=each, limited=limited)
        elif "cuda" in self.method.solvers and not request.predecessors:
            # (duplicates count: to find them takes longer than all trips)
            trips, is_there = self.starts.size, graph._is_on_device
            work = trip_work(graph.n, graph.m, trips, request.threads, is_there=is_there)
        if work is not None and self.by_a_star:
            work = work._replace(seconds=work.seconds * thresholds.A_STAR_SHARE)
        place(request, device, self.method, work, memory_limit=memory_limit)
        # (in the wider of the dtypes that may be needed)
        self.by_a_star &= 2 * landmark_bytes(graph, INT64) <= request.memory_limit

    def solve(self, request: Request) -> Trips | None:
        """Find all trips' distances (and paths) on the chosen device; None after an overflow."""
        on_cpu = all(device == "cpu" for device in request.devices or [request.device])
        if on_cpu or request.predecessors or self.graph._methods is None:
            groups = self.groups
        else:  # (a GPU climbs on a prepared map, and groups the climbs itself)
            alone = np.arange(self.starts.size + 1)
            groups = _Groups(self.graph, self.starts, alone, self.ends, slice(None))
        parts: list[tuple[Method, _Groups]] = [(self.method, groups)]
        trip_of = groups.trip_of
        if on_cpu and (self.by_a_star or isinstance(self.method, AStar)):
            counts = np.diff(groups.offsets)
            few = counts <= (thresholds.A_STAR_TARGETS if self.by_a_star else groups.graph.n)
            near = groups.part(few)
            starts = np.repeat(near.sources, np.diff(near.offsets))
            singly = near._replace(sources=starts, offsets=np.arange(starts.size + 1))
            parts = [(AStar(), singly), (self.method, groups.part(~few))]
            parts = [part for part in parts if part[1].sources.size] or parts[:1]
            # those by A* stand first now
            trip_of = np.argsort(np.argsort(np.repeat(~few, counts), kind="stable"))[trip_of]
        answers, names = [], []
        for method, part in parts:
            asked = replace(
                request, sources=part.sources, targets=part.targets, target_offsets=part.offsets
            )
            answer = _run(Plan(part.graph, asked, method))
            if answer is None:
                return None
            if part.sources.size < part.targets.size:
                for name, values in answer.stats.items():
                    answer.stats[name] = np.repeat(values, np.diff(part.offsets))
            answers.append(answer)
            names.append(answer.searched_by or method.name)
        answer = merge_answers(answers)
        starts, ends, walks = self.starts, self.ends, answer.walks
        if self.user_graph.turns is not None:
            expansion = self.user_graph.turns.expansion
            starts, ends = expansion.vertex_of[starts], expansion.vertex_of[ends]
            walks = None if walks is None else user_walks(expansion, walks)
        distances, walk_of, arc_ends = answer.distances[trip_of], trip_of, request.arc_ends
        if arc_ends is not None:
            totals, least = arc_ends.reach(distances[np.newaxis], request.limit)
            chosen = arc_ends.choose(totals[0], least[0])
            trip_of = walk_of = np.arange(answer.distances.size)[trip_of][chosen]
            distances, starts = narrow(least[0], request.dtype), starts[arc_ends.firsts[:-1]]
            ends = self.user_graph.indices[arc_ends.arcs].astype(INT64)
            if walks is not None:
                is_there = distances != unreached(distances.dtype)
                walks, walk_of = _lengthen(walks, walk_of, ends, is_there), np.arange(ends.size)
        return Trips(
            self.user_graph,
            starts,
            ends,
            distances,
            limit=request.limit,
            source_arcs=request.source_arcs,
            target_arcs=None if arc_ends is None else arc_ends.arcs,
            method="+".join(names),
            device=answer.device,
            stats={name: values[trip_of] for name, values in answer.stats.items()},
            _walks=walks,
            _walk_of=np.arange(0) if walks is None else walk_of,
        )


def _lengthen(
    walks: Walks, walk_of: NDArray[Any], ends: NDArray[np.int64], is_there: NDArray[np.bool_]
) -> Walks:
    """Append the vertex `ends[i]` to the path of trip i; unreached trips get empty paths."""
    counts = np.where(is_there, np.diff(walks.firsts)[walk_of], 0)
    vertices = walks.vertices[spread(walks.firsts[walk_of], counts)]
    longer = np.insert(vertices, np.cumsum(counts)[is_there], ends[is_there])
    return Walks(offsets(counts + is_there), longer)


def user_walks(expansion: Expansion, walks: Walks) -> Walks:
    """Convert paths over a turn-expanded graph to paths over the vertices of the user's graph."""
    stays = expansion.are_steps(walks.vertices)
    before = offsets(stays)
    return Walks(before[walks.firsts], expansion.vertex_of[walks.vertices[stays]].astype(INDEX))


def _run(plan: Plan[Request]) -> Answer | None:
    """Solve a request for trips: find distances, and paths if requested; None after an overflow."""
    request = plan.request
    if request.devices:
        return plan.solve_on_devices(_run)
    if request.device == "cpu" or not request.predecessors:
        return plan.run()
    rows = plan._replace(request=replace(request, predecessors=False, outward=True))
    answer = rows.run()
    if answer is None:
        return None
    if plan.network._methods is not None:  # (a prepared map's trips are climbed again on the CPU)
        asked = replace(request, device="cpu", memory_limit=physical_memory(), progress=False)
        found = plan._replace(request=asked).run()
        answer.walks = None if found is None else found.walks
    else:
        answer.walks = _find_walks(rows, answer.distances)
    return None if answer.walks is None else answer


def _find_walks(plan: Plan[Request], lengths: NDArray[Any]) -> Walks | None:
    """Find the paths of trips whose distances are known, by full searches; None on overflow.

    A block of sources is searched at a time, up to the farthest of its targets.
    """
    graph = plan.network._tree_graph.without_closed_arcs()
    weights = weights_of(graph, plan.method)
    tails, walks = np.full(graph.n, -1, INDEX), list[Walks]()
    last = 0
    for part in plan.split(max(1, thresholds.PATHS_BYTES // (INT64.itemsize * max(graph.n, 1)))):
        request = part.request
        assert request.targets is not None
        first, last = last, last + request.targets.size
        own, limit = lengths[first:last], request.limit
        if graph.least_weight >= 0:
            limit = own[own != unreached(own.dtype)].max(initial=own.dtype.type(0)).item()
        # (other distances may be too long for the dtype of the call)
        asked = None if own.dtype.kind == "i" else own.dtype
        whole = replace(request, targets=None, target_offsets=None, dtype=asked, progress=False)
        whole.limit = limit
        found = part._replace(request=whole).run()
        if found is None:
            return None
        dtype = weights.working_dtypes(asked)[0]
        if found.distances.dtype.itemsize > dtype.itemsize:
            dtype = found.distances.dtype
        arcs, bound = unsigned_arcs(graph, dtype), request.bound(dtype)
        distances = np.empty(graph.n, dtype)
        for row, source in enumerate(request.sources):
            convert_into(found.distances[row], distances)
            reached = np.flatnonzero(distances != unreached(dtype)).astype(INDEX)
            ends = request.targets_of(row)
            assert ends is not None
            walks.append(
                find_walks(graph, arcs, np.array([source]), ends, distances, reached, bound, tails)
            )
    return join_walks(walks)
