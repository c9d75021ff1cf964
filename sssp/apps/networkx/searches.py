"""Searches on a converted graph, and their results in Python's own objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.apps.networkx.converted import ConvertedGraph
from sssp.kernels.dtypes import unreached

#: of the matrices that searches from all nodes fill, one after the other
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS = 64
#: how many paths `repr` shows
_SHOWN = 6
#: the method that counts arcs instead of adding up weights
HOPS = "breadth-first"


class SearchKind(NamedTuple):
    """The method, direction and cutoff of a search.

    Attributes
    ----------
    method : str
        Of `sssp.shortest_paths`.
    limit : number or None
        The greatest distance of interest, inclusive.
    backwards : bool
        Whether distances are those to the sources.
    """

    method: str
    limit: float | None = None
    backwards: bool = False


#: the kind of a search on weights that are not negative, without a cutoff
BY_WEIGHTS = SearchKind("auto")


def kind_of(
    algorithm: str, G: ConvertedGraph, weight: Any = None, cutoff: float | None = None
) -> SearchKind:
    """Return the search method and cutoff that correspond to a NetworkX algorithm.

    Raises
    ------
    NotImplementedError
        Dijkstra's algorithm on negative weights (what NetworkX does then depends on whether it
        comes across one).
    """
    if algorithm == HOPS:  # up to the cutoff, rounded up
        return SearchKind(HOPS, None if cutoff in (None, math.inf) else math.ceil(cutoff))
    if weight is None:  # no edge has such an attribute
        return SearchKind(HOPS, cutoff)
    if G.graph.least_weight >= 0:
        return SearchKind("auto", cutoff)
    if algorithm == "dijkstra":
        raise NotImplementedError("Dijkstra's algorithm on negative weights")
    return SearchKind("bellman-ford")


class Paths(Mapping[Any, list[Any]]):
    """The shortest path to every reached node, as a read-only mapping.

    It takes the place of NetworkX's dict of lists, and equals it. A path is made when it is asked
    for, a new list each time, in time of its length. ``dict(paths)`` or ``paths.copy()`` makes
    them all. It pickles without what the search has not reached.

    Parameters
    ----------
    names : ndarray, shape (n,), object
        The node of each vertex.
    index : dict
        The vertex of each node.
    predecessors : ndarray, shape (n,), int32
        The vertex before each one on its path; -1 for sources and unreached vertices.
    order : ndarray, int64
        The vertices that are reached, in the order of the mapping.
    """

    #: the walk from a node back to the source is turned round
    _step = -1

    def __init__(
        self,
        names: NDArray[Any],
        index: dict[Any, int] | None,
        predecessors: NDArray[np.int32],
        order: NDArray[np.int64],
    ) -> None:
        self._names, self._predecessors, self._order = names, predecessors, order
        if index is not None:
            self._index = index

    @cached_property
    def _index(self) -> dict[Any, int]:
        return dict(zip(self._names.tolist(), range(self._names.size), strict=True))

    @cached_property
    def _starts(self) -> frozenset[int]:
        reached = self._order
        return frozenset(reached[self._predecessors[reached] < 0].tolist())

    def __getitem__(self, node: Any) -> list[Any]:
        if node not in self:
            raise KeyError(node)
        item, vertex, walk = self._predecessors.item, self._index[node], []
        while vertex >= 0:
            walk.append(vertex)
            vertex = item(vertex)
        path: list[Any] = self._names[walk[:: self._step]].tolist()
        return path

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names[self._order].tolist())

    def __len__(self) -> int:
        return self._order.size

    def __contains__(self, node: object) -> bool:
        vertex = self._index.get(node)
        if vertex is None:
            return False
        return bool(self._predecessors[vertex] >= 0) or vertex in self._starts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and all(
            node in other and path == other[node] for node, path in self.items()
        )

    # (as of a dict)
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{node!r}: {path!r}" for node, path in islice(self.items(), _SHOWN)]
        more = [f"... {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return f"{type(self).__name__}({{{', '.join(shown + more)}}})"

    def copy(self) -> dict[Any, list[Any]]:
        """Return a plain dict with the path of every reached node as a list of nodes."""
        return dict(self)

    def __copy__(self) -> Paths:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle stores: the reached nodes, and the predecessor of each."""
        order = self._order
        place = np.full(self._names.size + 1, -1, np.int32)
        place[order] = np.arange(order.size)
        # (the place of -1 is the last one)
        predecessors = place[self._predecessors[order]]
        return type(self), (self._names[order], None, predecessors, np.arange(order.size))


class PathsTo(Paths):
    """A read-only mapping from each node to its shortest path to one target."""

    _step = 1


@dataclass(eq=False)
class SearchRow:
    """The result of one search, with methods that return it as Python's own objects.

    Attributes
    ----------
    G : ConvertedGraph
    starts : sequence of int
        The sources, no two alike.
    distances : ndarray, shape (n,)
    tails : ndarray, shape (n,), int32, or None
        The predecessors.
    kind : SearchKind
        How it was searched.
    """

    G: ConvertedGraph
    starts: Sequence[int]
    distances: NDArray[Any]
    tails: NDArray[np.int32] | None
    kind: SearchKind = BY_WEIGHTS

    @property
    def source(self) -> Any:
        """The NetworkX node of the first source."""
        return self.G.nodes[self.starts[0]]

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Mask of the reached vertices."""
        return np.asarray(self.distances != unreached(self.distances.dtype))

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The reached vertices in order of distance, the sources first."""
        others = self.reached.copy()
        others[self.starts] = False
        vertices = np.flatnonzero(others)
        nearest = np.argsort(self.distances[vertices], kind="stable")
        return np.concatenate([np.asarray(self.starts, np.int64), vertices[nearest]])

    def count(self) -> int:
        """Return how many vertices are reached."""
        return int(np.count_nonzero(self.reached))

    def total(self) -> Any:
        """Return the sum of the reached distances, added in ascending order by Python's `sum`."""
        return sum(np.sort(self.distances[self.reached]).tolist())

    def farthest(self) -> Any:
        """Return the greatest distance of any reached node; if it is zero, the integer 0."""
        return self.distances[self.reached].max().item() or 0

    def lengths(self) -> dict[Any, Any]:
        """Return the distance of every reached node, as a dict in order of distance."""
        values = self.distances[self._order].tolist()
        # an int, also among floats
        values[: len(self.starts)] = [0] * len(self.starts)
        return dict(zip(self.G.names[self._order].tolist(), values, strict=True))

    def paths(self) -> Paths:
        """Return each reached node's path from the source, or to the source (backward search)."""
        kind = PathsTo if self.kind.backwards else Paths
        assert self.tails is not None
        return kind(self.G.names, self.G.index, self.tails, self._order)

    def predecessors(self) -> dict[Any, Any]:
        """Return the predecessor of every reached node; None for sources."""
        before = self.tails[self._order]  # type: ignore[index]
        nodes = self.G.names[before].tolist()
        nodes[: len(self.starts)] = [None] * len(self.starts)
        return dict(zip(self.G.names[self._order].tolist(), nodes, strict=True))

    def all_predecessors(self) -> dict[Any, list[Any]]:
        """Return all predecessors on shortest paths of every reached node.

        Both in order of distance.
        """
        G, graph, by_hops = self.G, self.G.graph, self.kind.method == HOPS
        arcs = np.flatnonzero(self.reached[graph.tails] & self.reached[graph.indices])
        tails, heads = graph.tails[arcs], graph.indices[arcs]
        weights = 1 if by_hops else graph.weights[arcs]
        distances = self.distances
        if distances.dtype.kind == "i":  # sums of int32 may wrap
            distances = distances.astype(np.int64)
        tight = distances[tails] + weights == distances[heads]
        # (the graph has dropped loops)
        loops = G.zero_loops[self.reached[G.zero_loops] & (not by_hops)]
        place = np.empty(len(G.nodes), np.int32)
        place[self._order] = np.arange(self._order.size)
        tails = np.concatenate([tails[tight], loops])
        heads = place[np.concatenate([heads[tight], loops])]
        tails = tails[np.lexsort((place[tails], heads))]
        last = np.cumsum(np.bincount(heads, minlength=self._order.size)).tolist()
        before = G.names[tails].tolist()
        lists = (before[first:end] for first, end in pairwise([0, *last]))
        return dict(zip(G.names[self._order].tolist(), lists, strict=True))


def _call(search: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a search function of `sssp`; raise NetworkX's error if there is a negative cycle."""
    try:
        return search(*arguments, progress=False, **options)
    except sssp.NegativeCycleError as error:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from error


def _search(
    G: ConvertedGraph, kind: SearchKind, sources: Sequence[int], *, nearest: bool, **options: Any
) -> Any:
    """Compute distances from each source or, with `nearest`, from the nearest of all sources."""
    network = G.backwards if kind.backwards else G.graph
    options |= {"method": kind.method, "limit": kind.limit}
    starts = sources[0] if nearest and len(sources) == 1 else sources
    together = nearest and len(sources) > 1
    return _call(sssp.shortest_paths, network, starts, nearest=together, **options)


def search_from(
    G: ConvertedGraph, kind: SearchKind, sources: Sequence[int], *, tree: bool
) -> SearchRow:
    """Run one search; return each node's distance from the nearest of several sources."""
    found = _search(G, kind, sources, nearest=True, predecessors=tree)
    return SearchRow(G, sources, found.distances, found.predecessors, kind)


def search_each(
    G: ConvertedGraph, kind: SearchKind, sources: Sequence[int] | None = None, *, tree: bool
) -> Iterator[SearchRow]:
    """Search from every source (by default all nodes) in blocks; yield a row per source."""
    sources = range(len(G.nodes)) if sources is None else sources
    at_once = max(1, min(_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, len(G.nodes))))
    for first in range(0, len(sources), at_once):
        block = sources[first : first + at_once]
        found = _search(G, kind, block, nearest=False, predecessors=tree)
        for row, source in enumerate(block):
            # (a copy, so that one row does not keep the block)
            predecessors = found.predecessors[row].copy() if tree else None
            yield SearchRow(G, [source], found.distances[row].copy(), predecessors, kind)


class PathBetween(NamedTuple):
    """A shortest path between two nodes, and its length."""

    distance: Any
    path: list[Any]

    def lengths(self) -> Any:
        """Return the distance between the two nodes."""
        return self.distance

    def paths(self) -> list[Any]:
        """Return the shortest path as a list of nodes."""
        return self.path


def find_between(
    G: ConvertedGraph, kind: SearchKind, sources: Sequence[int], target: int | None, *, tree: bool
) -> PathBetween | None:
    """Return the target's distance from the nearest source and, with `tree`, the path.

    None if it is unreached, or None, which is not a vertex.
    """
    if target is None:
        if kind.method == "bellman-ford":  # (NetworkX comes to a negative cycle first)
            search_from(G, kind, sources, tree=False)
        return None
    if target in sources:
        return PathBetween(0, [G.nodes[target]])
    found = _search(G, kind, sources, nearest=True, targets=target, predecessors=tree)
    if not found.reached:
        return None
    walk, vertex = [], target
    if tree:
        arcs = found.predecessors
        before = dict(zip(arcs.indices.tolist(), arcs.data.tolist(), strict=True))
        while vertex >= 0:
            walk.append(G.nodes[vertex])
            vertex = before[vertex]
    return PathBetween(found.distances.item(), walk[::-1])


def find_matrix(G: ConvertedGraph, weight: Any, *, tree: bool) -> sssp.ShortestPaths:
    """Compute the distances of all pairs as a matrix and, with `tree`, the predecessors."""
    method = HOPS if weight is None else "auto"  # (no edge has such an attribute)
    found: sssp.ShortestPaths = _call(sssp.all_pairs, G.graph, method=method, predecessors=tree)
    return found
