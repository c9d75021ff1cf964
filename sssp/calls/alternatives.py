"""`alternatives`: several good routes from a source to a target that differ.

The shortest paths from the source and those to the target make two trees. Where both have an arc,
it is of a plateau: a path of the one tree that is a path of the other, too. To the plateau by the
first tree, along it, and on by the second is a route of which every part that does not hold the
whole plateau is a shortest path. So routes over long plateaus are what a driver would call
sensible (A. H. Jones, Choice Routing, 2005; I. Abraham, D. Delling, A. V. Goldberg and R. F.
Werneck, Alternative routes in road networks, 2010, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.pairs import pairs
from sssp.calls.shortest_paths import shortest_paths
from sssp.cpu.tree_sums import arcs_between
from sssp.engine.check_arguments import as_count, as_network
from sssp.engine.narrow import narrow
from sssp.engine.network import reversed_graph
from sssp.engine.progress import check_progress, progress_bar
from sssp.engine.request import Walks
from sssp.engine.threads import check_threads
from sssp.engine.workers import ordered_map
from sssp.errors import NegativeWeightError
from sssp.graph.check_arrays import is_real
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64
from sssp.results.trip_results import Alternatives

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy
    from sssp.results.trees import ShortestPaths

#: of the shortest distance: parts of a route that are no longer are shortest paths
LOCALITY = 0.25


class _Route(NamedTuple):
    """A route: vertices, arcs, length, and its greatest share in common with an earlier route.

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
        leave their plateau least. A trip without a path has none. A trip may have fewer than
        `k`, for what is not good is left out.

    Raises
    ------
    VertexError, TypeError
        As `sssp.pairs`.
    ValueError
        Another argument is not what it should be; the graph has turns.
    NegativeWeightError
        A negative weight.

    See Also
    --------
    pairs : The shortest path alone.
    csgraph.yen : The k shortest paths, which are near copies of the first.

    Notes
    -----
    Every route but the first is locally optimal: each of its parts that weighs less than a
    quarter of the shortest distance is a shortest path, so that nobody takes a detour to come back
    to the same street. Of several shortest paths between two vertices each tree knows one, so that
    in a grid of equal streets there may be few plateaus.

    Two trees a trip, as far as `stretch` allows, and O(vertices reached) for the plateaus.

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
    network, count = as_network(g), as_count(k, "k")
    network._tree_graph._refuse_turns("alternatives")
    for name, value, least, most in (("stretch", stretch, 1, np.inf), ("sharing", sharing, 0, 1)):
        if not is_real(value):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"{name} must be {least} to {most}, not {value!r}")
    if network.least_weight < 0:
        raise NegativeWeightError(
            f"this graph has a weight of {network.least_weight}: alternatives need weights of 0 or "
            "more"
        )
    workers, shown = check_threads(threads), check_progress(progress)
    trips = pairs(g, sources, targets, predecessors=True, threads=workers, progress=False)
    back = reversed_graph(network)
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
        ask = partial(shortest_paths, predecessors=True, limit=limit, threads=1, progress=False)
        ends = ask(g, path[0], device="cpu"), ask(back, path[-1], device="cpu")
        for vertices in _routes_over_plateaus(*ends, limit, LOCALITY * least):
            route = _judge(trips.graph, vertices, routes)
            # (what has all in common is the same route)
            if route.length <= limit and route.sharing <= sharing and route.sharing < 1:
                routes.append(route)
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
    sizes = [route.vertices.size for route in chosen]
    walks = Walks(
        np.append(0, np.cumsum(sizes, dtype=INT64)),
        np.concatenate([np.empty(0, INDEX), *(route.vertices for route in chosen)]).astype(INDEX),
    )
    return Alternatives(
        trips.graph,
        trips.sources[pair],
        trips.targets[pair],
        narrow(lengths, None),
        limit=None,
        walks=walks,
        walk_of=np.arange(pair.size),
        method=f"plateaus+{trips.method}",
        device="cpu",
        stats={},
        pair=pair,
        stretch=ratio,
        sharing=np.array([route.sharing for route in chosen], FLOAT64),
    )


def _judge(graph: Graph, vertices: NDArray[Any], earlier: list[_Route]) -> _Route:
    """Measure a route: its length, and the greatest share of it on an earlier route."""
    arcs = arcs_between(graph, vertices[:-1], vertices[1:])
    weights = graph.weights[arcs].astype(INT64 if graph.weights.dtype.kind == "i" else FLOAT64)
    length = weights.sum().item()
    common = max(weights[np.isin(arcs, route.arcs)].sum().item() for route in earlier)
    return _Route(vertices, arcs, length, common / length if length else 1.0)


def _routes_over_plateaus(
    there: ShortestPaths, back: ShortestPaths, limit: float, least: float
) -> Iterator[NDArray[Any]]:
    """Yield the routes over plateaus, in order of their length without the plateau.

    Parameters
    ----------
    there, back : ShortestPaths
        From the source; from the target, against the arcs.
    limit : number
        The greatest length of a route.
    least : number
        The least length of a plateau.
    """
    near = np.flatnonzero(there.reached & back.reached)
    wide = np.promote_types(there.distances.dtype, INT64)
    from_source, to_target = (tree.distances[near].astype(wide) for tree in (there, back))
    close = from_source + to_target <= limit
    near, from_source, to_target = near[close], from_source[close], to_target[close]
    # the vertex before each one that the other tree comes from as well
    before = there.predecessors[near]
    shared = (before >= 0) & (back.predecessors[before] == near)
    place = np.full(there.graph.n, -1, INDEX)
    place[near] = np.arange(near.size)
    first = np.where(shared, place[before], np.arange(near.size))
    # (rounding may leave it just outside the limit)
    first = np.where(first < 0, np.arange(near.size), first)
    while not np.array_equal(further := first[first], first):
        first = further
    long = from_source - from_source[first]
    goes_on = np.zeros(near.size, np.bool_)
    goes_on[place[before[shared]]] = True
    ends = np.flatnonzero(~goes_on & (long >= least))
    # what a route has beside its plateau
    order = np.argsort((from_source + to_target - long)[ends], kind="stable")
    for end in ends[order]:
        vertex = near[end].item()
        way = np.append(there.path(vertex), back.path(vertex)[-2::-1])
        if np.unique(way).size == way.size:
            yield way
