"""The engine behind all functions of the backend: searches on a converted graph, one row each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sssp.apps.networkx.converted import ConvertedGraph
from sssp.apps.networkx.path_functions import Paths, PathsTo
from sssp.calls.all_pairs import all_pairs
from sssp.calls.shortest_paths import shortest_paths
from sssp.errors import NegativeCycleError
from sssp.kernels.dtypes import INDEX, INT64, unreached
from sssp.results.trees import ShortestPaths

#: of the matrices that searches from all nodes fill, one after the other
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS = 64


class Question(NamedTuple):
    """How a function searches.

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

    def turned(self) -> Question:
        """Ask for the distances to the sources."""
        return self._replace(backwards=True)


def by_hops(cutoff: float | None = None) -> Question:
    """Ask as NetworkX searches without weights, which begins a level if it is below the cutoff."""
    if cutoff is None or cutoff == math.inf:
        return Question("breadth-first")
    return Question("breadth-first", math.ceil(cutoff))


def dijkstra(G: ConvertedGraph, weight: Any, cutoff: float | None = None) -> Question:
    """Ask as Dijkstra's algorithm does.

    Raises
    ------
    NotImplementedError
        A weight is negative: what NetworkX does then hangs on whether it comes across.
    """
    if weight is None:  # no edge has such an attribute
        return Question("breadth-first", cutoff)
    if G.graph.least_weight < 0:
        raise NotImplementedError("Dijkstra's algorithm on negative weights")
    return Question("auto", cutoff)


def bellman_ford(G: ConvertedGraph, weight: Any) -> Question:
    """Ask as the algorithm of Bellman and Ford does, which takes negative weights."""
    if weight is None:
        return Question("breadth-first")
    return Question("bellman-ford" if G.graph.least_weight < 0 else "auto")


class Row:
    """What one search has found, in Python's own objects.

    Parameters
    ----------
    G : ConvertedGraph
    starts : sequence of int
        The sources, no two alike.
    distances : ndarray, shape (n,)
    predecessors : ndarray, shape (n,), int32, or None
    """

    def __init__(
        self,
        G: ConvertedGraph,
        starts: Sequence[int],
        distances: NDArray[Any],
        predecessors: NDArray[np.int32] | None,
    ) -> None:
        self._G = G
        self._starts = starts
        self._distances = distances
        self._predecessors = predecessors

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Which vertices have a distance."""
        mask: NDArray[np.bool_] = self._distances != unreached(self._distances.dtype)
        return mask

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """What is reached, in order of distance, the sources in front."""
        others = self.reached.copy()
        others[self._starts] = False
        vertices = np.flatnonzero(others)
        nearest = np.argsort(self._distances[vertices], kind="stable")
        return np.concatenate([np.asarray(self._starts, np.int64), vertices[nearest]])

    def count(self) -> int:
        """Return how many vertices are reached."""
        return int(np.count_nonzero(self.reached))

    def total(self) -> Any:
        """Return the sum of the distances, as Python adds them up in their order."""
        return sum(np.sort(self._distances[self.reached]).tolist())

    def farthest(self) -> Any:
        """Return the greatest distance; 0 of none but zeros, also among floats."""
        return self._distances[self.reached].max().item() or 0

    def lengths(self) -> dict[Any, Any]:
        """Return the distance of every node that is reached."""
        values = self._distances[self._order].tolist()
        # an int, also among floats
        values[: len(self._starts)] = [0] * len(self._starts)
        return dict(zip(self._G.names[self._order].tolist(), values, strict=True))

    def paths(self) -> Paths:
        """Return the path to every node that is reached."""
        return Paths(*self._tree())

    def paths_to(self) -> PathsTo:
        """Return the path from every node that a search backwards has reached."""
        return PathsTo(*self._tree())

    def _tree(self) -> tuple[Any, ...]:
        return self._G.names, self._G.index, self._predecessors, self._order

    def predecessors(self) -> dict[Any, Any]:
        """Return the node before each one that is reached; None for sources."""
        before = self._predecessors[self._order]  # type: ignore[index]
        nodes = self._G.names[before].tolist()
        nodes[: len(self._starts)] = [None] * len(self._starts)
        return dict(zip(self._G.names[self._order].tolist(), nodes, strict=True))

    def all_predecessors(self, *, by_hops: bool) -> dict[Any, list[Any]]:
        """Return every node from which a shortest path comes to each one that is reached.

        Both in order of distance.
        """
        G, graph = self._G, self._G.graph
        arcs = np.flatnonzero(self.reached[graph.tails] & self.reached[graph.indices])
        tails, heads = graph.tails[arcs], graph.indices[arcs]
        weights = 1 if by_hops else graph.weights[arcs]
        distances = self._distances
        if distances.dtype.kind == "i":  # sums of int32 may wrap
            distances = distances.astype(INT64)
        tight = distances[tails] + weights == distances[heads]
        # (the graph has dropped loops)
        loops = G.zero_loops[self.reached[G.zero_loops] & (not by_hops)]
        place = np.empty(len(G.nodes), INDEX)
        place[self._order] = np.arange(self._order.size)
        tails = np.concatenate([tails[tight], loops])
        heads = place[np.concatenate([heads[tight], loops])]
        tails = tails[np.lexsort((place[tails], heads))]
        last = np.cumsum(np.bincount(heads, minlength=self._order.size)).tolist()
        before = G.names[tails].tolist()
        lists = (before[first:end] for first, end in pairwise([0, *last]))
        return dict(zip(G.names[self._order].tolist(), lists, strict=True))


@contextmanager
def _cycles_as_networkx_names_them() -> Iterator[None]:
    try:
        yield
    except NegativeCycleError as error:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from error


def _ask(G: ConvertedGraph, question: Question, sources: Any, **options: Any) -> ShortestPaths:
    """Search.

    Raises
    ------
    networkx.NetworkXUnbounded
        There is a negative cycle.
    """
    network = G.backwards if question.backwards else G.graph
    with _cycles_as_networkx_names_them():
        return shortest_paths(
            network,
            sources,
            method=question.method,
            limit=question.limit,
            progress=False,
            **options,
        )


def is_unbounded(G: ConvertedGraph) -> bool:
    """Whether there is a cycle of negative length anywhere."""
    everywhere = np.arange(len(G.nodes))
    try:
        shortest_paths(G.graph, everywhere, method="bellman-ford", nearest=True, progress=False)
    except NegativeCycleError:
        return True
    return False


def row_from(G: ConvertedGraph, question: Question, sources: Sequence[int], *, tree: bool) -> Row:
    """Search from sources together, no two of them alike."""
    found = _ask_together(G, question, sources, predecessors=tree)
    return Row(G, sources, found.distances, found.predecessors)


def path_between(
    G: ConvertedGraph, question: Question, sources: Sequence[int], target: int
) -> tuple[Any, list[Any]] | None:
    """Return the distance of a vertex and the nodes on the way there; None if it is unreached."""
    if target in sources:
        return 0, [G.nodes[target]]
    found = _ask_together(G, question, sources, targets=target, predecessors=True)
    if not found.reached:
        return None
    tree: Any = found.predecessors
    before = dict(zip(tree.indices.tolist(), tree.data.tolist(), strict=True))
    walk, vertex = [], target
    while vertex >= 0:
        walk.append(G.nodes[vertex])
        vertex = before[vertex]
    return found.distances.item(), walk[::-1]


def length_between(
    G: ConvertedGraph, question: Question, sources: Sequence[int], target: int
) -> Any:
    """Return the distance of a vertex; None if it is unreached."""
    if target in sources:
        return 0
    found = _ask_together(G, question, sources, targets=target)
    return found.distances.item() if found.reached else None


def _ask_together(
    G: ConvertedGraph, question: Question, sources: Sequence[int], **options: Any
) -> ShortestPaths:
    """Search once, from all sources."""
    together = len(sources) > 1
    return _ask(G, question, sources if together else sources[0], nearest=together, **options)


def rows_from(
    G: ConvertedGraph, question: Question, sources: Sequence[int], *, tree: bool
) -> Iterator[Row]:
    """Search from one source after the other, some at a time."""
    at_once = max(1, min(_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, len(G.nodes))))
    for first in range(0, len(sources), at_once):
        block = sources[first : first + at_once]
        found = _ask(G, question, block, predecessors=tree)
        for row, source in enumerate(block):
            # (a copy, so that one row does not keep the block)
            predecessors = found.predecessors[row].copy() if tree else None
            yield Row(G, [source], found.distances[row].copy(), predecessors)


def matrix_of(G: ConvertedGraph, question: Question, *, tree: bool) -> ShortestPaths:
    """Search from every node, in one matrix, by what is fastest for such a graph."""
    method = question.method if question.method == "breadth-first" else "auto"
    with _cycles_as_networkx_names_them():
        return all_pairs(G.graph, method=method, predecessors=tree, progress=False)


def rows_of_all_pairs(G: ConvertedGraph, question: Question) -> Iterator[Row]:
    """Return the rows of such a matrix, with their trees."""
    found = matrix_of(G, question, tree=True)
    columns = zip(found.distances, found.predecessors, strict=True)
    return (Row(G, [source], *row) for source, row in enumerate(columns))
