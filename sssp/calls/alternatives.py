"""`alternatives`: several good routes for every trip, unlike each other.

The shortest paths from the source and those to the target make two trees. Where both have an arc,
it is of a plateau: a path of the one tree that is a path of the other, too. To the plateau by the
first tree, along it, and on by the second is a route of which every part that does not hold the
whole plateau is a shortest path. So routes over long plateaus are what a driver would call
sensible (A. H. Jones, Choice Routing, 2005; I. Abraham, D. Delling, A. V. Goldberg and R. F.
Werneck, Alternative routes in road networks, 2010, section 3).

Where plateaus are few, the arcs of the routes that are known are made longer, and the shortest path
of what lies within the stretch is found anew, some times over (R. Bader, J. Dees, R. Geisberger and
P. Sanders, Alternative route graphs in road networks, 2011, section 4.2). Arcs weigh there what
they lead away from the target by, so that such a search settles little beside its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.pairs import ends_of_trips, pairs, user_walks
from sssp.calls.shortest_paths import shortest_paths
from sssp.cpu.tree import Tree
from sssp.cpu.tree_sums import arcs_between
from sssp.engine.check_arguments import as_count, as_network
from sssp.engine.narrow import narrow
from sssp.engine.network import reversed_graph
from sssp.engine.progress import check_progress, progress_bar
from sssp.engine.request import Walks
from sssp.engine.threads import check_threads
from sssp.engine.workers import ordered_map
from sssp.errors import NegativeWeightError
from sssp.graph.arc_orders import unsigned_arcs
from sssp.graph.check_arrays import is_real
from sssp.graph.csr import offsets, spread
from sssp.graph.graph import Graph
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, unreached
from sssp.results.trip_results import Alternatives

if TYPE_CHECKING:
    from sssp.prepared.hierarchy import Hierarchy
    from sssp.results.trees import ShortestPaths

#: of the shortest distance: parts of a route that are no longer are shortest paths
LOCALITY = 0.25
#: of its weight, by which an arc gets longer each time that a route has it; searches at most, and
#: how often parts of what they find are replaced
PENALTY, SEARCHES, STRAIGHTENINGS = 0.4, 3, 4
#: distances from which on sums of longer arcs might not fit int64
LONGEST = 1 << 56
#: of floats: differences of rounding
ROUNDING = 1e-9


class _Route(NamedTuple):
    """One route of a trip: vertices, arcs, length, and greatest overlap with an earlier route.

    Attributes
    ----------
    vertices : ndarray, shape (vertices,)
    arcs : ndarray, shape (vertices - 1,)
    length : int or float
    sharing : float
        The greatest part of its weight that it has in common with an earlier one.
    """

    vertices: NDArray[Any]
    arcs: NDArray[np.int64]
    length: Any
    sharing: float


class _Corridor(NamedTuple):
    """Vertices on source-target paths within a length limit, with distances from both ends.

    Attributes
    ----------
    vertices : ndarray, shape (k,)
        Of the graph.
    place : ndarray, shape (n,), int32
        Where a vertex of the graph stands among them; -1: nowhere.
    from_source, to_target : ndarray, shape (k,)
        Distances.
    before, behind : ndarray, shape (k,), int32
        The place of the next vertex on the way back to the source, and on that to the target; -1
        for none.
    """

    vertices: NDArray[np.int64]
    place: NDArray[np.int32]
    from_source: NDArray[Any]
    to_target: NDArray[Any]
    before: NDArray[np.int32]
    behind: NDArray[np.int32]

    @classmethod
    def between(cls, there: ShortestPaths, back: ShortestPaths, limit: float) -> _Corridor:
        """Return all vertices on source-target paths no longer than `limit`, with distances."""
        # (a limit may be infinite)
        near = np.flatnonzero(there.reached & back.reached)
        ways = [_widen(search.distances[near]) for search in (there, back)]
        close = sum(ways) <= limit
        near = near[close]
        place = np.full(there.graph.n, -1, INDEX)
        place[near] = np.arange(near.size)
        trees = []
        for search in (there, back):
            graph, distances = search.graph.without_closed_arcs(), search.distances
            arcs = unsigned_arcs(graph, distances.dtype)
            # a tree is found among these vertices alone
            own = distances[near]
            distances[:] = unreached(distances.dtype)
            distances[near] = own
            final = own.max(initial=0)
            tree = Tree(graph, arcs, search.sources, distances, near.astype(INDEX), final)
            tails = np.full(graph.n, -1, INDEX)
            tree.predecessors(None, tails)
            tails = tails[near]
            trees.append(np.where(tails < 0, -1, place[tails]))
        return cls(near, place, *(way[close] for way in ways), *trees)


def alternatives(
    g: Graph | Hierarchy,
    sources: ArrayLike,
    targets: ArrayLike,
    *,
    k: int = 3,
    stretch: float = 1.25,
    sharing: float = 0.8,
    threads: int | None = None,
    progress: bool | None = None,
) -> Alternatives:
    """Find for every trip a few good routes that differ from each other.

    Parameters
    ----------
    g : Graph or Hierarchy
        The graph; on a prepared map it is several times as fast.
    sources, targets : int, or array_like of int, shape (p,)
        The ends of the trips, as for `sssp.pairs`.
    k : int
        Greatest number of routes a trip, the shortest one among them.
    stretch : float
        No route is longer than this times the shortest one; 1 or more.
    sharing : float
        No route has a greater part of its weight in common with an earlier one of the same trip;
        0 to 1.
    threads, progress
        As for `sssp.shortest_paths`.

    Returns
    -------
    Alternatives
        `Trips` with paths, trip by trip, at most `k` each: the shortest first, then those that
        leave their plateau least, then those by longer arcs. A trip without a path has none. A
        trip may have fewer than `k`, for what is not good is left out.

    Raises
    ------
    VertexError, TypeError
        As `sssp.pairs`.
    ValueError
        Another argument is not what it should be.
    NegativeWeightError
        A negative weight.

    See Also
    --------
    pairs : The shortest path alone.
    csgraph.yen : The k shortest paths, which are near copies of the first.

    Notes
    -----
    Every route but the first is locally optimal: each of its parts that weighs less than a
    quarter of the shortest distance is a shortest path, so that no route makes a detour only to
    come back to the same street. Routes over plateaus come first (`sssp.calls.alternatives`); where
    these are fewer than `k`, up to three searches follow, in which the arcs of known routes are
    longer. Turns are heeded, and what they cost is a part of the weight.

    Two trees a trip, as far as `stretch` allows, O(vertices reached) for the plateaus, and the
    searches among the vertices that a route may have.

    Examples
    --------
    >>> import sssp
    >>> ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    >>> tails, heads = zip(*ring)
    >>> g = sssp.Graph.from_arcs(tails, heads, [4, 4, 4, 5, 4, 4], directed=False)
    >>> ways = sssp.alternatives(g, 0, 3)
    >>> [ways.path(i).tolist() for i in range(len(ways))], ways.stretch.round(2).tolist()
    ([[0, 1, 2, 3], [0, 5, 4, 3]], [1.0, 1.08])
    """
    user, count = as_network(g), as_count(k, "k")
    _check_share("stretch", stretch, 1, np.inf)
    _check_share("sharing", sharing, 0, 1)
    if user.least_weight < 0:
        raise NegativeWeightError(
            f"this graph has a weight of {user.least_weight}: alternatives need weights of 0 or "
            "more"
        )
    workers, shown = check_threads(threads), check_progress(progress)
    starts, ends, _ = ends_of_trips(user, sources, targets)
    # (one with turns has routes over its expansion)
    network, turns = user._searched, user.turns
    trips = pairs(network, starts, ends, predecessors=True, threads=workers, progress=False)
    graph = trips.graph
    # (a sweep adds floats up in another order than paths, whose arcs are to be told by their sums)
    is_float = graph.weights.dtype.kind == "f"
    searched = graph if is_float else network
    reversed_ = reversed_graph(searched)
    found: list[list[_Route]] = []

    def find(trip: int) -> list[_Route]:
        if not trips.reached[trip]:
            return []
        least = trips.distances[trip].item()
        path = trips.path(trip)
        routes = [_Route(path, trips.path_arcs(trip), least, 0.0)]
        if count == 1 or least == 0:
            return routes
        limit = stretch * least
        reach = limit * (1 + ROUNDING) if is_float else limit
        ask = partial(shortest_paths, limit=reach, threads=1, progress=False, device="cpu")
        corridor = _Corridor.between(ask(searched, path[0]), ask(reversed_, path[-1]), reach)
        least *= LOCALITY
        for way in chain(
            _routes_over_plateaus(corridor, least),
            _routes_by_penalties(network, corridor, routes, least),
        ):
            arcs = arcs_between(graph, way[:-1], way[1:])
            weights = _widen(graph.weights[arcs])
            length = weights.sum().item()
            common = max(weights[np.isin(arcs, route.arcs)].sum().item() for route in routes)
            share = common / length if length else 1.0
            # (what has all in common is the same route)
            if length <= limit and share <= sharing and share < 1:
                routes.append(_Route(way, arcs, length, share))
                if len(routes) == count:
                    break
        return routes

    with progress_bar(len(trips), shown, "trip") as advance:
        for routes in ordered_map(find, range(len(trips)), workers):
            found.append(routes)
            advance(1)
    pair = np.repeat(np.arange(len(trips)), [len(routes) for routes in found])
    chosen = [route for routes in found for route in routes]
    dtype = INT64 if trips.distances.dtype.kind == "i" else trips.distances.dtype
    lengths = np.array([route.length for route in chosen], dtype)
    shortest = np.array([routes[0].length for routes in found for _ in routes], FLOAT64)
    ratio = np.divide(lengths, shortest, out=np.ones(pair.size), where=shortest > 0)
    vertices = np.concatenate([np.empty(0, INDEX), *(route.vertices for route in chosen)])
    sizes = np.array([route.vertices.size for route in chosen], INT64)
    walks = Walks(offsets(sizes), vertices.astype(INDEX))
    if turns is not None:
        starts, ends = turns.expansion.vertex_of[starts], turns.expansion.vertex_of[ends]
        walks = user_walks(turns.expansion, walks)
    return Alternatives(
        user._tree_graph,
        starts[pair],
        ends[pair],
        narrow(lengths, None),
        limit=None,
        method=f"plateaus+{trips.method}",
        device="cpu",
        stats={},
        _walks=walks,
        _walk_of=np.arange(pair.size),
        pair=pair,
        stretch=ratio,
        sharing=np.array([route.sharing for route in chosen], FLOAT64),
    )


def _check_share(name: str, value: Any, least: float, most: float) -> None:
    if not is_real(value):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be {least} to {most}, not {value!r}")


def _widen(weights: NDArray[Any]) -> NDArray[Any]:
    """Convert weights to the dtype of their sums: int64 or float64."""
    return weights.astype(INT64 if weights.dtype.kind == "i" else FLOAT64)


def _routes_over_plateaus(corridor: _Corridor, least: float) -> Iterator[NDArray[Any]]:
    """Yield routes that contain a plateau, ordered by the length of the part outside it.

    Parameters
    ----------
    corridor : _Corridor
    least : number
        The least length of a plateau.
    """
    near, _, from_source, to_target, before, behind = corridor
    every = np.arange(near.size)
    shared = (before >= 0) & (behind[before] == every)
    first = np.where(shared, before, every)
    while not np.array_equal(further := first[first], first):
        first = further
    long = from_source - from_source[first]
    is_end = long >= least
    is_end[before[shared]] = False
    ends = np.flatnonzero(is_end)
    # what a route has beside its plateau
    order = np.argsort((from_source + to_target - long)[ends], kind="stable")
    for end in ends[order].tolist():
        way = [*_walk(before, end)[::-1], *_walk(behind, end)[1:]]
        # (rounding may leave a part of it just outside the limit)
        is_whole = from_source[way[0]] == 0 == to_target[way[-1]]
        if is_whole and len(set(way)) == len(way):
            yield near[way]


def _walk(following: NDArray[np.int32], vertex: int) -> list[int]:
    """Follow the pointers in `following` from `vertex` to -1; return the visited vertices."""
    way = [vertex]
    while (vertex := following[vertex].item()) >= 0:
        way.append(vertex)
    return way


def _routes_by_penalties(
    network: Graph | Hierarchy, corridor: _Corridor, routes: list[_Route], below: float
) -> Iterator[NDArray[Any]]:
    """Yield candidate routes: shortest paths after penalizing the arcs of earlier routes.

    Parameters
    ----------
    network : Graph or Hierarchy
    corridor : _Corridor
    routes : list of _Route
        Known before; the caller adds to it.
    below : number
        Parts of a route that are shorter are shortest paths.
    """
    to_target = corridor.to_target
    if to_target.max() >= LONGEST:
        return
    # the arcs between the vertices of the corridor
    graph, near = network._tree_graph, corridor.vertices
    degrees = np.diff(graph.indptr)[near]
    arcs = spread(graph.indptr[near], degrees)
    heads = corridor.place[graph.indices[arcs]]
    inside = (heads >= 0) & (graph.weights[arcs] != closed_weight(graph.weights.dtype))
    tails, weights = np.repeat(np.arange(near.size), degrees)[inside], graph.weights[arcs[inside]]
    streets = Graph.from_arcs(tails, heads[inside], weights, n=near.size)
    tails, heads, weights = streets.tails, streets.indices, streets.weights
    # by how much farther the way to the target is over an arc (sums of floats are rounded); and
    # a little, for a search over arcs of no length takes longer
    detours = np.maximum(_widen(weights) + to_target[heads] - to_target[tails], 0) + 1
    ways = [corridor.place[route.vertices] for route in routes]
    for _ in range(SEARCHES):
        for way in ways:
            arcs = arcs_between(streets, way[:-1], way[1:])
            detours[arcs] += np.ceil(PENALTY * weights[arcs]).astype(detours.dtype)
        trip = pairs(
            streets.with_weights(detours), way[:1], way[-1:], predecessors=True, device="cpu",
            threads=1, progress=False,
        )  # fmt: skip
        ways = [trip.path(0)]
        straight = _straighten(network, corridor.vertices[ways[0]], corridor, below)
        if straight is not None:
            yield straight


def _straighten(
    network: Graph | Hierarchy, way: NDArray[Any], corridor: _Corridor, below: float
) -> NDArray[Any] | None:
    """Return the path with its parts of length up to `below` replaced by shortest paths.

    The parts that get shorter by most come first. None if this does not end soon.
    """
    graph = network._tree_graph
    ask = partial(pairs, network, limit=below, device="cpu", threads=1, progress=False)
    for _ in range(STRAIGHTENINGS):
        weights = _widen(graph.weights[arcs_between(graph, way[:-1], way[1:])])
        lengths = np.append(0, np.cumsum(weights))
        # the longest part from each vertex on, and of those that end together the longest
        last = np.searchsorted(lengths, lengths + below) - 1
        first = np.flatnonzero(np.diff(last, prepend=-1))
        last = last[first]
        long = lengths[last] - lengths[first]
        if lengths.dtype.kind == "f":
            long *= 1 - ROUNDING
        # what the distances from the source or to the target prove need not be searched
        place = corridor.place[way]
        there, back = corridor.from_source[place], corridor.to_target[place]
        proven = (there[last] - there[first] >= long) | (back[first] - back[last] >= long)
        open_ = (last > first) & ~(proven & (place[first] >= 0) & (place[last] >= 0))
        first, last, long = first[open_], last[open_], long[open_]
        gains = long - ask(way[first], way[last]).distances
        if not (gains > 0).any():
            return way
        # parts that do not meet, in their order; what gains most is taken first
        chosen: list[int] = []
        for i in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)].tolist():
            if all(last[i] < first[j] or last[j] < first[i] for j in chosen):
                chosen.append(i)
        chosen.sort()
        first, last = first[chosen], last[chosen]
        parts = ask(way[first], way[last], predecessors=True)
        pieces, begin = [], 0
        for i in range(len(parts)):
            pieces += [way[begin : first[i]], parts.path(i)]
            begin = last[i] + 1
        # without loops: it goes on from where it meets a vertex for the last time
        passed = np.concatenate([*pieces, way[begin:]]).tolist()
        final = {vertex: i for i, vertex in enumerate(passed)}
        short, i = [], 0
        while i < len(passed):
            short.append(passed[i])
            i = final[passed[i]] + 1
        way = np.array(short, INT64)
    return None
