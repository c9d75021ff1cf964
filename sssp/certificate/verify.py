"""`verify`: check that the distances and paths of a result are shortest.

Trees are certified in `sssp.certificate.certify`; trips and facilities here.

Trips are certified source by source, as distances to targets are; their paths must be paths of that
length.

The k nearest facilities of a vertex are labels (facility, distance). They are right if and only if

- they are complete: the label of a tail, moved along an arc, is among the labels of the head, or
  all k labels there come before it, by distance and then by position of the facility;
- they are real: one search along tight arcs, from the labels of distance 0 at the facilities
  themselves, visits every label.

The first makes them no farther than the true ones, for what is among the k nearest of a head is
among those of the tail before it on a shortest path; the second says that such paths exist.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.certificate.certify import Array, Certifier, CheckedRow, Vertices, certify_trees
from sssp.cpu.search import nearest_labels
from sssp.cpu.tree_sums import arcs_between, skim_kernel
from sssp.engine.arc_ends import ArcEnds
from sssp.engine.check_arguments import as_starts
from sssp.engine.network import methods_of
from sssp.engine.request import Request
from sssp.errors import VerificationError
from sssp.graph.check_arrays import arc_column, is_real, is_sparse
from sssp.graph.graph import Graph
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import INDEX, INT64, unreached
from sssp.kernels.jit import njit
from sssp.methods import BreadthFirst, DeltaStepping
from sssp.results.check_result import check_form
from sssp.results.facilities import NearestFacilities
from sssp.results.trees import ShortestPaths
from sssp.results.trip_results import Alternatives, Trips
from sssp.results.turned_paths import TurnedPaths

#: distances and positions of facilities, k a vertex
Labels = tuple[Array, NDArray[np.int32]]
RESULTS = (ShortestPaths, Trips, NearestFacilities)


def verify(
    g: Graph, result: ShortestPaths | Trips | NearestFacilities, *, rtol: float | None = None
) -> None:
    """Check a result on graph `g`; raise VerificationError unless it is correct.

    Parameters
    ----------
    g : Graph
        The graph that was asked about.
    result : ShortestPaths, Trips or NearestFacilities
        From any method and device: one source or many, nearest, limited, with targets, sparse;
        trips with their paths; the k nearest facilities. One on a device is copied to the host.
    rtol : float, optional
        How far the two sides of ``d[tail] + w == d[head]`` may lie apart, as a share of the
        greatest distance of the row. By default 0 for integers, and for methods that add from
        the source outward: they agree bit for bit. ``4 * eps * n`` for float distances of
        methods that add in another order (Floyd-Warshall, repeated squaring, Johnson), and for
        float rows that no sums fulfil exactly, because rounding makes a cycle of length zero
        seem negative.

    Raises
    ------
    VerificationError
        The result is wrong: a distance that is not the shortest, a vertex that should be
        reached or should not, predecessors that are not a shortest-path tree, an origin that is
        not the smallest nearest source, parts that do not belong together. The message names the
        row, the vertex or arc and the numbers.
    TypeError
        `g` is not a `Graph`, `result` not a result, `rtol` not a number.
    ValueError
        An `rtol` that is not a finite number of 0 or more.

    Notes
    -----
    O(n + m) time per row and O(n) memory. A limited result is certified complete as well: no arc
    leads to an unreached vertex within the limit. Rows with targets do not hold enough to be
    certified alone: they are found anew by Dijkstra's algorithm, certified, and compared, which
    takes longer (by Bellman-Ford if a weight is negative); their predecessors must be the tree
    that the call promises, cut to the paths to the targets. Trips are certified in the same way,
    one search a source, and their paths must be paths of that length. Nearest facilities take
    O(k^2 m) time and O(k n) memory. Results of ``breadth-first`` are certified with every weight 1.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
    >>> sssp.verify(g, sssp.shortest_paths(g, 0, predecessors=True))
    """
    graph: Any = g
    if isinstance(graph, RESULTS):
        raise TypeError("verify(g, result) takes the graph first, then the result")
    if not isinstance(graph, Graph):
        own = "; of a prepared map that is h.graph" if methods_of(g) is not None else ""
        raise TypeError(f"g must be the Graph that was asked about, not {type(g).__name__}{own}")
    if not isinstance(result, RESULTS):
        raise TypeError(
            "result must be what shortest_paths, all_pairs, pairs or nearest returned, not "
            f"{type(result).__name__}"
        )
    if rtol is not None and not is_real(rtol):
        raise TypeError(f"rtol must be a number, not {rtol!r}")
    if rtol is not None and not 0 <= rtol < math.inf:
        raise ValueError(f"rtol must be a finite number of 0 or more, not {rtol}")
    if isinstance(result, Alternatives):
        raise TypeError(
            "alternatives are longer than the shortest paths: verify what sssp.pairs returns"
        )
    if g.turns is None and isinstance(result, TurnedPaths):
        raise VerificationError("the result is that of a graph with turns, and g has none")
    if g.turns is not None and result.method == BreadthFirst.name:
        g, result = g._counting_streets(), copy(result)
        result.method = DeltaStepping.name  # (on these weights)
    if isinstance(result, Trips):
        certify_trips(g, result, rtol)
    elif isinstance(result, NearestFacilities):
        certify_facilities(g, result, rtol)
    else:
        plain = g.turns is None and result.target_arcs is None
        certify_trees(*((g, result) if plain else _on_searched(g, result)), rtol)


def _searched_ends(g: Graph, result: ShortestPaths | Trips) -> tuple[Graph, Vertices, Vertices]:
    """Return the graph on which to certify a result, and the sources and targets in that graph."""
    by_vertex, after, on = result.sources, result.source_arcs, result.target_arcs
    for arcs, vertices in ((after, by_vertex), (on, result.targets)):
        right = arcs is None or (g.indices[arc_column(arcs, g.m)] == vertices).all()
        _require(right, "sources and targets are not the heads of their arcs")
    sources, _, _ = as_starts(g, by_vertex if after is None else None, after)
    if on is not None:
        ends = ArcEnds.of(g, g._searched, on, weighted=result.method != BreadthFirst.name)
        extended = ends.extend(g._searched)
        return extended, sources, np.arange(g._searched.n, extended.n)
    targets = np.arange(g.n) if result.targets is None else result.targets
    return g._searched, sources, targets if g.turns is None else g.turns.expansion.end[targets]


def _on_searched(g: Graph, result: ShortestPaths) -> tuple[Graph, ShortestPaths]:
    """Return the graph on which to certify a result of `g`, and the result on that graph."""
    inside = getattr(result, "_inside", None)
    if inside is None:  # (its rows are those of targets)
        check_form(g, result)
        inside = object.__new__(ShortestPaths)
        inside.__dict__.update(result.__dict__, predecessors=None)
        inside.graph, inside.sources, inside.targets = _searched_ends(g, result)
        return inside.graph, inside
    assert g.turns is not None
    expansion = g.turns.expansion
    distances, own = result.distances, inside.distances
    if inside.targets is None:
        own = own[:, expansion.end] if is_sparse(own) else own[..., expansion.end]
    same = abs(own - distances).nnz == 0 if is_sparse(own) else np.array_equal(own, distances)
    same &= np.array_equal(result.sources, expansion.vertex_of[inside.sources])
    same &= result.reached.shape == own.shape
    _require(same, "the result and its paths over the expansion are not those of one call")
    inside = copy(inside)
    inside.method = result.method
    return g._searched, inside


#: what the kernel found; the place that it returns is an arc for `INCOMPLETE`, else a vertex
RIGHT, BAD_NUMBER, DISORDER, NOT_HERE, INCOMPLETE, UNREAL = range(6)


@njit
def _certify_labels_kernel(
    indptr, indices, weights, facilities, distances, index, bounds, seen, stack
):
    """Certify all (facility, distance) labels; return a status, and the wrong vertex or arc.

    Of `UNREAL` labels it names none: they are not `seen`.
    `distances` and `index` have shape (n, k), `index` -1 where there is no label; `bounds` are the
    greatest distance that a label may have, the greatest that a missing one may not have, and the
    tolerance. `seen` bool (n, k), false, and `stack` int64 (n k,) are scratch.
    """
    greatest, least_missing, tolerance = bounds
    n, k = index.shape
    left = 0
    for v in range(n):
        for i in range(k):
            place, distance = index[v, i], distances[v, i]
            if place < 0:
                if i + 1 < k and index[v, i + 1] >= 0:
                    return DISORDER, v
                continue
            left += 1
            # (written so that NaN fails too)
            if place >= facilities.size or not 0 <= distance <= greatest:
                return BAD_NUMBER, v
            for j in range(i):
                if index[v, j] == place or distances[v, j] > distance:
                    return DISORDER, v
            tie = i > 0 and tolerance == 0 and distances[v, i - 1] == distance
            if tie and index[v, i - 1] > place:
                return DISORDER, v

    size = 0
    for place in range(facilities.size):
        v = facilities[place]
        at = -1
        for i in range(k):
            if index[v, i] == place:
                at = i
        if at >= 0 and distances[v, at] == 0:
            seen[v, at] = True
            stack[size] = v * k + at
            size += 1
        elif at >= 0 or index[v, k - 1] < 0 or distances[v, k - 1] > 0:
            return NOT_HERE, v

    for tail in range(n):
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            for i in range(k):
                if index[tail, i] < 0:
                    break
                place, there = index[tail, i], distances[tail, i] + weights[arc]
                if there > least_missing:
                    break
                holds = False
                for j in range(k):
                    if index[head, j] == place:
                        if distances[head, j] > there + tolerance:
                            return INCOMPLETE, arc
                        holds = True
                if holds:
                    continue
                last = index[head, k - 1]
                if last < 0 or distances[head, k - 1] > there + tolerance:
                    return INCOMPLETE, arc
                if tolerance == 0 and distances[head, k - 1] == there and last > place:
                    return INCOMPLETE, arc

    while size > 0:
        size -= 1
        left -= 1
        tail, i = stack[size] // k, stack[size] % k
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            for j in range(k):
                if index[head, j] == index[tail, i] and not seen[head, j]:
                    gap = distances[tail, i] + weights[arc] - distances[head, j]
                    if -tolerance <= gap <= tolerance:
                        seen[head, j] = True
                        stack[size] = head * k + j
                        size += 1
    return RIGHT if left == 0 else UNREAL, 0


def certify_facilities(g: Graph, result: NearestFacilities, rtol: float | None) -> None:
    """Raise `VerificationError` unless `result` holds the k nearest facilities of every vertex."""
    facilities, distances, index = result.facilities, result.distances, result.index
    flat = facilities.dtype == INT64 and facilities.ndim == 1
    _require(flat, "facilities must be int64 vertices")
    inside = (facilities >= 0) & (facilities < g.n)
    _require(inside.all() and facilities.size > 0, "facilities must be vertices of this graph")
    shaped = index.ndim == 2 and index.shape == distances.shape and len(index) == g.n
    form = "index must be int32, shaped as distances: (vertices, k)"
    _require(shaped and index.dtype == INDEX, form)
    absent = distances == unreached(distances.dtype)
    _require(((index < 0) == absent).all(), "index must be -1 just where there is no distance")
    asked = g._searched.reverse() if result.direction == "to" else g._searched
    certifier = Certifier(asked, result, rtol)
    numbers, weights = certifier.operands(distances)
    greatest, least_missing, _, tolerance = certifier.bounds(numbers, result.limit, certifier.rtol)
    graph = certifier.graph
    if g.turns is not None:
        ends = g.turns.expansion.begin, g.turns.expansion.end
        begin, end = ends if result.direction == "from" else ends[::-1]
        facilities = begin[facilities]
        numbers, index = _compare_labels(certifier, result, facilities, end)
    seen = np.zeros(index.shape, np.bool_)
    code, place = _certify_labels_kernel(
        *(graph.indptr, graph.indices, weights, facilities),
        *map(np.ascontiguousarray, (numbers, index)),
        *((greatest, least_missing, tolerance), seen, np.empty(index.size, np.int64)),
    )
    if code == RIGHT:
        return
    if code == UNREAL:
        place = ((index >= 0) & ~seen).any(axis=1).argmax()
    vertex = int(graph.indices[place]) if code == INCOMPLETE else int(place)
    given = f"vertex {vertex} is given the facilities {index[vertex]} at {numbers[vertex]}"
    reason = {
        BAD_NUMBER: "a position or a distance is none, or is beyond the limit",
        DISORDER: "they are not ascending by distance and position, each once",
        NOT_HERE: "a facility stands here, at distance 0",
        INCOMPLETE: "one is nearer by way of an arc from vertex "
        f"{graph.tails[place] if code == INCOMPLETE else ''}",
        UNREAL: "no path to one of them is of that length",
    }[code]
    raise VerificationError(f"{given}, but {reason}")


def _compare_labels(
    certifier: Certifier, result: NearestFacilities, facilities: Vertices, end: Vertices
) -> Labels:
    """Find the nearest facilities by a new search; raise an error if those of `result` differ.

    Their order, and choices within the tolerance, may differ.

    Parameters
    ----------
    certifier : Certifier
        Of the expansion.
    facilities, end : ndarray, int64
        Its vertices where searches begin, and those that stand for the vertices of the result.
    """
    graph, (distances, _) = certifier.graph, certifier.operands(result.distances)
    tolerance = certifier.tolerance(distances, certifier.rtol)
    if graph.least_weight < 0:
        raise ValueError(
            "nearest facilities on a graph with turns are certified where no weight is negative"
        )

    def search(starts: Vertices, k: int) -> Labels:
        request = Request(sources=starts, limit=result.limit)
        found = nearest_labels.solve(graph, request, k, distances.dtype)
        if found is None:
            raise VerificationError("distances are given that do not fit their dtype")
        return found[0]

    index, labels = result.index, search(facilities, result.index.shape[1])
    right_distances, right_index = labels[0][end], labels[1][end]
    differs, wrong = index != right_index, (index >= 0) != (right_index >= 0)
    both = (right_index >= 0) & ~wrong
    gap = np.subtract(distances, right_distances, out=np.zeros_like(distances), where=both)
    wrong |= np.abs(gap) > tolerance
    if not tolerance:
        wrong |= differs
    for place in np.unique(index[differs & ~wrong]):
        reach = search(facilities[[place]], 1)[0][end]
        wrong |= (index == place) & differs & (np.abs(distances - reach) > tolerance)
    if wrong.any():
        v = int(np.argmax(wrong.any(axis=1)))
        raise VerificationError(
            f"vertex {v} is given the facilities {index[v]} at {distances[v]}, but with turns the "
            f"nearest are {right_index[v]} at {right_distances[v]}"
        )
    return labels


def certify_trips(g: Graph, result: Trips, rtol: float | None) -> None:
    """Raise `VerificationError` unless every trip's distance and path length are right."""
    shape = (len(result),)
    for name in ("sources", "targets"):
        vertices = getattr(result, name)
        _require(vertices.dtype == INT64 and vertices.shape == shape, f"{name} must be int64, 1-D")
        _require(((vertices >= 0) & (vertices < g.n)).all(), f"{name} must be vertices")
    _require(result.distances.shape == shape, "distances must have one number a trip")
    searched, sources, targets = _searched_ends(g, result)
    certifier = Certifier(searched, result, rtol)
    order = np.argsort(sources, kind="stable")
    for trips in np.split(order, np.flatnonzero(np.diff(sources[order])) + 1):
        if trips.size:
            row = CheckedRow(int(trips[0]), sources[trips[:1]], result.distances[trips])
            certifier.certify_targets(row, targets[trips], result.limit)
    if result.has_paths:
        _certify_paths(g, certifier, result, sources)


@njit
def _follow_kernel(indptr, arc_of, indices, weights, closed, begin, firsts, arcs, lengths):
    """Add up path lengths in the turn expansion; return the first forbidden path's index, or -1.

    Path i begins at vertex ``begin[i]`` of it.
    """
    for i in range(lengths.size):
        at = begin[i]
        for step in range(firsts[i] + 1, firsts[i + 1]):
            arc, end = indptr[at], indptr[at + 1]
            while arc < end and (arc_of[arc] != arcs[step] or weights[arc] == closed):
                arc += 1
            if arc == end:
                return i
            lengths[i] += weights[arc]
            at = indices[arc]
    return -1


def _certify_paths(asked: Graph, certifier: Certifier, result: Trips, sources: Vertices) -> None:
    """Raise unless every path leads from source to target, and its length is the distance."""
    walks = result._require_walks()
    g = certifier.graph if asked.turns is None else asked
    reached, firsts = result.reached, walks.firsts[result._walk_of]
    ends = walks.firsts[result._walk_of + 1]
    _require((ends > firsts)[reached].all(), "a trip that is reached has no path")
    at = np.flatnonzero(reached)
    wrong = walks.vertices[firsts[at]] != result.sources[at]
    wrong |= walks.vertices[ends[at] - 1] != result.targets[at]
    if result.target_arcs is not None:
        wrong |= walks.vertices[ends[at] - 2] != asked.tails[result.target_arcs[at]]
    if wrong.any():
        trip = at[np.argmax(wrong)]
        raise VerificationError(
            f"the path of trip {trip} does not lead from its source to its target"
        )
    begins = walks.firsts[:-1][np.diff(walks.firsts) > 0]
    tails = np.roll(walks.vertices, 1)
    tails[begins] = -1
    arcs = arcs_between(g, tails, walks.vertices)
    gone = (tails >= 0) & (arcs < 0)
    if gone.any():
        place = int(np.argmax(gone))
        raise VerificationError(
            f"a path goes from vertex {tails[place]} to {walks.vertices[place]}, where there "
            "is no open arc"
        )
    numbers, weights = certifier.operands(result.distances)
    lengths = np.zeros(walks.firsts.size - 1, numbers.dtype)
    if asked.turns is None:
        skim_kernel(walks.firsts, arcs, weights, lengths)
    else:
        expansion, weights = asked.turns.expansion, asked._searched.weights_as(numbers.dtype)
        closed = closed_weight(weights.dtype)
        begin = np.zeros(lengths.size, INT64)
        begin[result._walk_of] = sources
        lost = _follow_kernel(
            expansion.indptr, expansion.arc_of, expansion.indices, weights, closed,
            begin, walks.firsts, arcs, lengths,
        )  # fmt: skip
        if lost >= 0:
            trip = int(np.argmax(result._walk_of == lost))
            raise VerificationError(f"the path of trip {trip} takes a turn that is forbidden")
    given, found = numbers[at], lengths[result._walk_of[at]]
    wrong = np.abs(found - given) > certifier.tolerance(numbers, certifier.last_rtol)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise VerificationError(
            f"the path of trip {at[place]} is {found[place]} long, its distance {given[place]}"
        )


def _require(holds: Any, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)
