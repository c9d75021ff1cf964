"""Shortest-path trees and nearest sources, computed from final distances on the CPU.

Solvers find distances only. A tree follows from them in one pass over the tight arcs (arcs with
``d[tail] + w == d[head]``), always the same one: the smallest tail. Where a tight arc joins two
vertices at the same distance (a zero weight, or a float absorbed by rounding), or weights are
negative, tails chosen one by one might close a cycle; then the whole row takes, among all
trees of tight arcs, the fewest arcs from the source, and then the smallest tail. Where no arc is
as light as that, the paths to a few targets are found from their ends, in time of their own.

Over negative float weights, rounding can lower the distances around a cycle of length zero, until
they are tight along the cycle and along nothing that leads there. Where a tree of tight arcs does
not come to all vertices for that reason, the two sides of an arc may lie ``4 eps n`` apart,
relative to the greatest distance.

The path of a trip is read from distances without a tree: from its end it goes back over tight arcs,
always to the smallest tail. That is the path of the tree as long as distances grow along every
tight arc up to its end. Where one joins two vertices at the same distance, the tree takes the
fewest arcs instead, and so do the paths of targets that lie no nearer than the first such arc: a
path depends on its own two ends alone, not on other targets of its source.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_arguments import distinct
from sssp.engine.cycles import rounding
from sssp.engine.outputs import Entries
from sssp.engine.request import Walks
from sssp.graph.arc_orders import arcs_by_head
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, OFFSET, Number, unreached
from sssp.kernels.jit import njit

ONE = np.uint64(1)
#: one vertex of so many from which on it is faster to set them all
MANY = 4
#: vertices of paths for which there is room at first
FIRST_CAPACITY = 1024


@njit
def reset(row, vertices, value):
    """Restore `value` in all entries of `row`, given that only those at `vertices` were changed."""
    if vertices.size * MANY > row.size:
        row[:] = value
        return
    for i in range(vertices.size):
        row[vertices[i]] = value


@njit
def grow(array):
    """Return an array twice as long that begins with the same entries."""
    bigger = np.empty(2 * array.size, array.dtype)
    # (a slice would compile what raises if shapes differ, with its text: for seconds)
    for i in range(array.size):
        bigger[i] = array[i]
    return bigger


@njit
def _smallest_tails_kernel(
    indptr, indices, weights, distances, reached, final, origin, predecessors, arrivals
):
    """Set predecessors to the smallest tails of tight arcs; return True if they may form a cycle.

    Heads below `arrivals` from which nothing leads on cannot be on a cycle.
    """
    for i in range(reached.size):
        tail = np.uint32(reached[i])
        start = distances[tail]
        if start > final:
            continue
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            end = distances[head]
            if end > final or distances.dtype.type(start + weights[arc]) != end:
                continue
            if start == end and (head >= arrivals or indptr[head] < indptr[head + ONE]):
                return True
            if origin is not None:  # noqa: SIM102 (Numba prunes this test at compile time)
                if origin[head] != origin[tail]:
                    continue
            if predecessors[head] < 0 or np.int32(tail) < predecessors[head]:
                predecessors[head] = tail
    return False


@njit
def _is_tight(start, weight, end, tolerance):
    candidate = type(end)(start + weight)
    return candidate == end or (tolerance > 0 and abs(candidate - end) <= tolerance)


@njit
def fewest_arcs_kernel(
    indptr, indices, weights, sources, distances, reached, final, tolerance, origin, predecessors
):
    """Write the predecessors of shortest paths with the fewest arcs, found by breadth-first search.

    Return how many vertices it came to.
    """
    hops = np.empty(distances.size, np.int32)
    queue = np.empty(reached.size, np.int32)
    for i in range(reached.size):
        hops[reached[i]] = -1
        predecessors[reached[i]] = -1
    size = 0
    for source in sources:
        if hops[source] < 0 and distances[source] == 0:
            hops[source] = 0
            queue[size] = source
            size += 1
    first = 0
    while first < size:
        tail = np.uint32(queue[first])
        first += 1
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            end = distances[head]
            if end > final or not _is_tight(distances[tail], weights[arc], end, tolerance):
                continue
            if origin is not None:  # noqa: SIM102 (Numba prunes this test at compile time)
                if origin[head] != origin[tail]:
                    continue
            if hops[head] < 0:
                hops[head] = hops[tail] + 1
                predecessors[head] = tail
                queue[size] = head
                size += 1
            elif hops[head] == hops[tail] + 1 and np.int32(tail) < predecessors[head]:
                predecessors[head] = tail
    return size


@njit
def origins_kernel(indptr, indices, weights, sources, distances, final, tolerance, origin, queue):
    """Write each vertex's origin along tight arcs; return how many vertices have an origin."""
    claimed = 0
    for source in sources:
        if distances[source] == 0:
            origin[source] = source
            claimed += 1
    for source in sources:
        if origin[source] != source:
            continue
        queue[0] = source
        first, size = 0, 1
        while first < size:
            tail = np.uint32(queue[first])
            first += 1
            for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                head = indices[arc]
                end = distances[head]
                if (
                    end <= final
                    and origin[head] < 0
                    and _is_tight(distances[tail], weights[arc], end, tolerance)
                ):
                    origin[head] = source
                    claimed += 1
                    queue[size] = head
                    size += 1
    return claimed


def untied_distance(graph: Graph, dtype: Number) -> float:
    """Return a distance up to which no shortest-path arc has equally distant ends; -1 if unknown.

    In exact arithmetic such an arc weighs 0; floats absorb what is below their spacing.
    """
    least = float(dtype.type(graph._least_inner_weight))
    if dtype.kind == "i":
        return math.inf if least > 0 or graph.m == 0 else -1.0
    return least / float(np.finfo(dtype).eps) if least > 0 else -1.0


@njit
def _cut_kernel(predecessors, vertices, tails):
    """Sort path vertices, copy their predecessors to `tails`, and reset `predecessors` to -1."""
    if vertices.size * MANY <= predecessors.size:
        vertices.sort()
    else:
        place = 0
        for vertex in range(predecessors.size):
            if predecessors[vertex] != -1:
                vertices[place] = vertex
                place += 1
    for i in range(vertices.size):
        tails[i] = max(predecessors[vertices[i]], -1)
        predecessors[vertices[i]] = -1


@njit
def _branches_kernel(by_head, targets, block, unseen, predecessors, counts, vertices, tails):
    """For each of several sources, find the vertices on shortest paths to the targets.

    Walk back from every reached target along the smallest tight tails; only arcs that are longer
    than 0, in sums too, may be tight. Write for each lane how many vertices are on its paths,
    these, ascending, and their predecessors; return the number of all. `predecessors` is -1
    everywhere, and again on return.
    """
    indptr, starts, weights = by_head
    size = 0
    for lane in range(counts.size):
        distances, first = block[:, lane], size
        for target in targets:
            vertex = np.uint64(target)
            if distances[vertex] == unseen:
                continue
            while predecessors[vertex] == -1:
                vertices[size] = vertex
                size += 1
                predecessors[vertex] = -2  # (stays so at the source)
                end = distances[vertex]
                for place in range(indptr[vertex], indptr[vertex + ONE]):
                    tail = np.uint64(starts[place])
                    if distances.dtype.type(distances[tail] + weights[place]) == end:
                        predecessors[vertex] = tail
                        vertex = tail
                        break
        counts[lane] = size - first
        _cut_kernel(predecessors, vertices[first:size], tails[first:size])
    return size


def find_branches(
    graph: Graph,
    targets: NDArray[Any],
    block: NDArray[Any],
    rows: int,
    predecessors: NDArray[np.int32],
) -> Entries:
    """Return, for each source, the vertices on paths to the targets, with predecessors.

    Takes O(s log s) time for s vertices on the paths, and time in the arcs that end at them.

    Parameters
    ----------
    graph : Graph
    targets : ndarray, shape (t,), int64
    block : ndarray, shape (n, rows or more)
        Distances from one source a row, within `untied_distance`.
    rows : int
    predecessors : ndarray, shape (n,), int32
        Scratch: -1 everywhere, and again on return.
    """
    counts, found = np.empty(rows, OFFSET), np.empty((2, graph.n * rows), INDEX)
    lanes = targets, block, unreached(block.dtype), predecessors
    size = _branches_kernel(tuple(arcs_by_head(graph, block.dtype)), *lanes, counts, *found)
    vertices, tails = found[:, :size].copy()
    return Entries(counts, vertices, None, tails)


def cut_branches(vertices: NDArray[np.int32], predecessors: NDArray[np.int32]) -> Entries:
    """Return sorted copies of path vertices and their predecessors; reset `predecessors` to -1.

    The predecessor of the source is -2 on entry, and -1 in what is returned.
    """
    vertices, tails = vertices.copy(), np.empty_like(vertices)
    _cut_kernel(predecessors, vertices, tails)
    return Entries(np.array([vertices.size]), vertices, None, tails)


@dataclass
class Tree:
    """The shortest-path tree of one row, computed from its distances.

    Parameters
    ----------
    graph : Graph
    arcs : tuple of ndarray
        ``indptr``, ``indices``, ``weights`` as the search saw them.
    sources : ndarray, shape (s,), int64
        All sources of the row: more than one in a nearest search.
    distances : ndarray, shape (n,)
    reached : ndarray, int32
        The vertices at a distance; scratch holds these alone, so all up to `final` are among them.
    final : number
        Only vertices at or below this distance belong to the tree.
    """

    graph: Graph
    arcs: tuple[NDArray[Any], ...]
    sources: NDArray[np.int64]
    distances: NDArray[Any]
    reached: NDArray[np.int32]
    final: Any

    def _search_tight_arcs(self, search: Callable[[Any], int]) -> None:
        """Run `search` on exactly tight arcs; repeat with a tolerance if it misses a vertex.

        ``search(tolerance)`` returns how many vertices it came to.
        """
        found, dtype = search(self.distances.dtype.type(0)), self.distances.dtype
        if dtype.kind == "i" or self.graph.least_weight >= 0:
            return
        if found != np.count_nonzero(self.distances[self.reached] <= self.final):
            search(rounding(self.distances, self.graph.n))

    def origins(self) -> NDArray[np.int32]:
        """Return the nearest source of every vertex, the smallest in a tie; -1 if unreached."""
        origin, queue = np.empty(self.graph.n, INDEX), np.empty(self.graph.n, INDEX)
        row = distinct(self.sources), self.distances, self.final

        def search(tolerance: Any) -> int:
            origin.fill(-1)
            return int(origins_kernel(*self.arcs, *row, tolerance, origin, queue))

        self._search_tight_arcs(search)
        return origin

    def predecessors(
        self,
        origin: NDArray[np.int32] | None,
        predecessors: NDArray[np.int32],
        fewest_arcs: bool = False,
    ) -> None:
        """Write the predecessor of every vertex; the array is -1 everywhere on entry.

        Parameters
        ----------
        origin : ndarray, shape (n,), int32, or None
            Of a nearest search: a vertex and its predecessor have the same.
        predecessors : ndarray, shape (n,), int32
        fewest_arcs : bool
            Whether the tree takes the fewest arcs also where it need not.
        """
        row, written = (self.distances, self.reached, self.final), (origin, predecessors)
        if not (fewest_arcs or self.graph.least_weight < 0):
            last = np.uint64(self.graph._arrivals)
            if not _smallest_tails_kernel(*self.arcs, *row, *written, last):
                return
        start = *self.arcs, self.sources, *row
        self._search_tight_arcs(lambda tolerance: fewest_arcs_kernel(*start, tolerance, *written))


# ---- paths of trips


@njit
def _first_tie_kernel(indptr, indices, weights, distances, reached, unseen, arrivals):
    """Return the least distance at which a tight arc joins equally far vertices, else `unseen`.

    `arrivals` as of `_smallest_tails_kernel`.
    """
    least = unseen
    for i in range(reached.size):
        tail = np.uint32(reached[i])
        start = distances[tail]
        if start >= least:
            continue
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            if distances[head] != start or type(start)(start + weights[arc]) != start:
                continue
            if head >= arrivals or indptr[head] < indptr[head + ONE]:
                least = start
    return least


@njit
def _walks_kernel(
    indptr, starts, weights, source, targets, distances, unseen, tie, tails, tails_beyond, firsts
):  # fmt: skip
    """Write the paths to the targets, one behind the other, by following predecessors.

    ``indptr``, ``starts``, ``weights`` are the arcs in order of head, then of tail. ``tails`` int32
    gets the tails on the paths to targets nearer than ``tie``, and has -1 elsewhere;
    ``tails_beyond`` has those of all others. Path i is ``vertices[firsts[i]:firsts[i + 1]]`` of
    what is returned.
    """
    vertices = np.empty(FIRST_CAPACITY, np.int32)
    size = 0
    firsts[0] = 0
    for i in range(targets.size):
        vertex = np.int64(targets[i])
        length = distances[vertex]
        if length == unseen:
            vertex = np.int64(-1)
        known = tails if length < tie else tails_beyond
        while vertex >= 0:
            if size == vertices.size:
                vertices = grow(vertices)
            vertices[size] = vertex
            size += 1
            if vertex == source:
                break
            end = distances[vertex]
            if known[vertex] < 0 and end < tie:
                for arc in range(indptr[vertex], indptr[vertex + 1]):
                    start = distances[starts[arc]]
                    # in order of tail, so the first is the smallest
                    if start != unseen and type(end)(start + weights[arc]) == end:
                        known[vertex] = starts[arc]
                        break
            vertex = np.int64(known[vertex])
        vertices[firsts[i] : size] = vertices[firsts[i] : size][::-1].copy()
        firsts[i + 1] = size
    return vertices[:size].copy()


def find_walks(
    graph: Graph,
    arcs: tuple[NDArray[Any], ...],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    distances: NDArray[Any],
    reached: NDArray[np.int32],
    bound: Any,
    tails: NDArray[np.int32],
) -> Walks:
    """Return the path from a source to each of its targets.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    arcs : tuple of ndarray
        ``indptr``, ``indices``, ``weights`` as the search saw them.
    sources : ndarray, shape (1,), int64
    targets : ndarray, shape (t,), int64
    distances : ndarray, shape (n,)
        Final up to the farthest target, over negative arcs everywhere. Where no arc may tie
        (`untied_distance`) it is enough that they are on every shortest path to a target, and
        nowhere too short.
    reached : ndarray, int32
        The vertices at a distance.
    bound : number
        Greatest distance of interest.
    tails : ndarray, shape (n,), int32
        Scratch: -1, but for tails on the paths that are known already; -1 everywhere on return.

    Returns
    -------
    Walks
    """
    dtype = distances.dtype
    unseen = unreached(dtype)
    lengths = distances[targets]
    farthest = lengths[lengths != unseen].max(initial=dtype.type(0))
    tie, final, beyond = unseen, farthest, tails
    if graph.least_weight < 0:
        tie, final = -unseen, bound
    elif farthest > untied_distance(graph, dtype):
        last = np.uint64(graph._arrivals)
        tie = _first_tie_kernel(*arcs, distances, reached, unseen, last)
    if farthest >= tie:
        beyond = np.full(graph.n, -1, INDEX)
        tree = Tree(graph, arcs, sources, distances, reached, final)
        tree.predecessors(None, beyond, fewest_arcs=True)
    firsts, known = np.empty(targets.size + 1, np.int64), (tie, tails, beyond)
    trip = sources[0], targets, distances, unseen
    vertices = _walks_kernel(*arcs_by_head(graph, dtype), *trip, *known, firsts)
    reset(tails, vertices, -1)
    return Walks(firsts, vertices)
