"""`verify`: an O(m) certificate that a result is right, whatever computed it.

Distances are right if and only if no arc is violated (``d[tail] + w >= d[head]``) and every
reached vertex hangs on a source by tight arcs (``d[tail] + w == d[head]``): the first makes them
no greater than any path, the second says that some path has just that length. One search from
the sources along tight arcs tests both, for it visits every reached vertex or finds one that it
cannot reach. Cycles of length zero are tight as well, which is why the search starts at the
sources instead of looking for a tight arc at every vertex. If the result has predecessors, the
search follows only those arcs, and so finds out whether they are a tree.

K. Mehlhorn, S. Naeher, "LEDA: A platform for combinatorial and geometric computing" (1999),
section 7.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.engine.plan import Plan, overflow_error
from sssp.engine.query import Query
from sssp.errors import VerificationError
from sssp.kernels.dtypes import INDEX, INT32, INT64, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.methods import BellmanFord, BreadthFirst, Dijkstra

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.results.shortest_paths import ShortestPaths

__all__ = ["verify"]

#: what the kernel found; the place that it returns is an arc for the two arc codes, else a vertex
RIGHT, BAD_NUMBER, BEYOND, STRAY, BAD_SOURCE, VIOLATED, BAD_ORIGIN, UNCONNECTED = range(8)
#: states of a vertex in the search
UNSEEN, SEEN, ROOT = np.int8(0), np.int8(1), np.int8(2)
ONE = np.uint64(1)
#: stands for predecessors or origins that a result does not have
_NO_VERTICES = np.empty(0, INDEX)


@njit
def _certify_kernel(
    indptr,
    indices,
    weights,
    sources,
    distances,
    predecessors,
    origin,
    missing,
    bounds,
    state,
    stack,
):
    """Certify one row; return a code, and the vertex or arc where it fails.

    `predecessors` and `origin` are empty where there are none. `bounds` holds the greatest
    distance that a vertex may have, the greatest that no unreached vertex may have, the
    greatest number that can be added safely, and the tolerance; for integers they are int64,
    and so are all sums.
    """
    greatest, least_missing, largest, tolerance = bounds
    with_tree, with_origin = predecessors.size > 0, origin.size > 0
    waiting = 0
    for v in range(distances.size):
        state[v] = UNSEEN
        if distances[v] == missing:
            if (with_tree and predecessors[v] != -1) or (with_origin and origin[v] != -1):
                return STRAY, v
        else:
            waiting += 1
            # written so that NaN fails too
            if not -largest <= distances[v] <= largest:
                return BAD_NUMBER, v
            if distances[v] > greatest:
                return BEYOND, v

    size = 0
    for source in sources:
        if not distances[source] <= 0:
            return BAD_SOURCE, source
        if distances[source] == 0 and state[source] == UNSEEN:
            if with_tree and predecessors[source] != -1:
                return STRAY, source
            if with_origin and origin[source] != source:
                return STRAY, source
            state[source] = ROOT
            stack[size] = source
            size += 1
            waiting -= 1

    while size > 0:
        size -= 1
        tail = np.uint32(stack[size])
        start = distances[tail]
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            head = indices[arc]
            candidate = start + weights[arc]
            if distances[head] == missing:
                if candidate <= least_missing:
                    return VIOLATED, arc
                continue
            slack = candidate - distances[head]
            if slack < -tolerance:
                return VIOLATED, arc
            if slack > tolerance or state[head] == ROOT:
                continue
            if with_origin and origin[tail] != origin[head]:
                # within a tolerance ties are a matter of luck
                if tolerance == 0 and origin[tail] < origin[head]:
                    return BAD_ORIGIN, arc
                continue
            if state[head] == UNSEEN and (not with_tree or predecessors[head] == np.int32(tail)):
                state[head] = SEEN
                stack[size] = head
                size += 1
                waiting -= 1

    if waiting == 0:
        return RIGHT, 0
    # the nearest one, since what hangs on it is not connected either
    culprit = -1
    for v in range(distances.size):
        if (
            state[v] == UNSEEN
            and distances[v] != missing
            and (culprit < 0 or distances[v] < distances[culprit])
        ):
            culprit = v
    return UNCONNECTED, culprit


def verify(g: Graph, result: ShortestPaths, *, rtol: float = 0.0) -> None:
    """Certify that `result` answers its query on `g`.

    Parameters
    ----------
    g : Graph
        The graph that was asked about.
    result : ShortestPaths
        From any method and device: one source or many, nearest, limited, with targets, sparse.
        One on a device is copied to the host.
    rtol : float, default 0
        How far the two sides of ``d[tail] + w == d[head]`` may lie apart, as a share of the
        greatest distance of the row. 0 suits integers and every method that adds from the
        source outward: they agree bit for bit.

    Raises
    ------
    VerificationError
        The result is wrong: a distance that is not the shortest, a vertex that should be
        reached or should not, predecessors that are not a shortest-path tree, an origin that is
        not the smallest nearest source. The message names the row, the vertex or arc and the
        numbers.
    ValueError
        An `rtol` that is not a finite number of 0 or more.

    Notes
    -----
    O(n + m) time a row and O(n) memory. Rows with targets do not hold enough to be certified
    alone: they are found anew by Dijkstra's algorithm, certified, and compared, which takes
    longer (by Bellman-Ford if a weight is negative). Results of ``breadth-first`` are certified
    with every weight 1.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
    >>> sssp.verify(g, sssp.shortest_paths(g, 0, predecessors=True))
    """
    if not 0 <= rtol < math.inf:
        raise ValueError(f"rtol must be a finite number of 0 or more, not {rtol}")
    result = result.to_host()
    _check_shapes(g, result)
    if result.method == BreadthFirst.name:
        g = g.with_weights(np.ones(g.m, INT32))
    certifier = _Certifier(g, rtol)
    for row in _rows_of(g, result):
        if result.targets is None:
            certifier.certify(row, result.limit)
        else:
            _certify_targets(certifier, row, result)


@dataclass(frozen=True)
class _Row:
    """One search: all its sources, and arrays of shape (n,), or (t,) for distances to targets."""

    number: int
    sources: NDArray[np.int64]
    distances: NDArray[Any]
    predecessors: NDArray[np.int32] | None
    origin: NDArray[np.int32] | None


def _check_shapes(g: Graph, result: ShortestPaths) -> None:
    """Refuse a result that cannot belong to `g`."""
    columns = g.n if result.targets is None else result.targets.size
    expected = {
        "distances": (result.distances, result.rows * columns),
        "predecessors": (result.predecessors, result.rows * g.n),
        "origin": (result.origin, g.n),
    }
    for name, (array, size) in expected.items():
        if array is not None and np.prod(array.shape, dtype=int) != size:
            raise VerificationError(
                f"{name} of shape {array.shape} do not belong to {result.rows} searches in a "
                f"graph of {g.n} vertices"
            )
    for what, vertices in (("source", result.sources), ("target", result.targets)):
        if vertices is not None and not ((vertices >= 0) & (vertices < g.n)).all():
            raise VerificationError(f"a {what} is not a vertex of this graph of {g.n} vertices")


def _rows_of(g: Graph, result: ShortestPaths) -> Iterator[_Row]:
    missing = unreached(result.distances.dtype)
    for i in range(result.rows):
        predecessors = result.predecessors
        yield _Row(
            i,
            result.sources if result.nearest else result.sources[i : i + 1],
            _dense_row(result.distances, i, result.rows, missing),
            None if predecessors is None else _dense_row(predecessors, i, result.rows, -1),
            result.origin,
        )


def _dense_row(matrix: Any, i: int, rows: int, missing: Any) -> NDArray[Any]:
    """Return row `i`, contiguous, with `missing` where a sparse matrix stores nothing."""
    if isinstance(matrix, np.ndarray | np.generic):
        return np.ascontiguousarray(matrix.reshape(rows, -1)[i])
    stored = slice(*matrix.indptr[i : i + 2])
    row = np.full(matrix.shape[1], missing, matrix.dtype)
    row[matrix.indices[stored]] = matrix.data[stored]
    return row


class _Certifier:
    """Certifies rows on one graph, with scratch that serves them all."""

    def __init__(self, graph: Graph, rtol: float) -> None:
        self.graph, self.rtol = graph, rtol
        self._state = np.empty(graph.n, np.int8)
        self._stack = np.empty(graph.n, INDEX)

    def certify(self, row: _Row, limit: float | None) -> None:
        """Raise `VerificationError` unless `row` is right within `limit`."""
        distances, weights = self._operands(row.distances)
        code, place = _certify_kernel(
            self.graph.indptr.view(np.uint64),
            self.graph.indices.view(np.uint32),
            weights,
            row.sources,
            distances,
            _NO_VERTICES if row.predecessors is None else row.predecessors,
            _NO_VERTICES if row.origin is None else row.origin,
            unreached(distances.dtype),
            self._bounds(distances, limit),
            self._state,
            self._stack,
        )
        if code != RIGHT:
            _Failure(self.graph, row, distances, weights).explain(code, int(place), limit)

    def tolerance(self, distances: NDArray[Any]) -> Any:
        """Return how far two sums may lie apart, as a number of the row's arithmetic."""
        number = _arithmetic(distances.dtype)
        if not self.rtol:
            return number(0)
        reached = distances[distances != unreached(distances.dtype)]
        return number(self.rtol * float(np.abs(reached).max(initial=0)))

    def _operands(self, distances: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances and weights in one dtype, the wider one if they are integers."""
        weights = self.graph.weights
        if distances.dtype.kind == "i" and weights.dtype == INT64:
            distances = _comparable(distances)
        if distances.dtype.kind == "i":
            heaviest = max(abs(self.graph.least_weight), abs(self.graph.greatest_weight))
            if heaviest > largest_distance(INT64):
                raise VerificationError(
                    f"integer distances over a weight of {heaviest} cannot be certified: "
                    "sums might wrap"
                )
        return distances, self.graph.weights_as(distances.dtype)

    def _bounds(self, distances: NDArray[Any], limit: float | None) -> tuple[Any, Any, Any, Any]:
        """Return the numbers that the kernel wants as `bounds`."""
        number, tolerance = _arithmetic(distances.dtype), self.tolerance(distances)
        largest = largest_distance(INT64 if distances.dtype.kind == "i" else distances.dtype)
        if limit is None or limit >= largest:
            return largest, unreached(np.dtype(number)), largest, tolerance
        bound = number(limit)
        return bound + tolerance, bound - tolerance, largest, tolerance


def _arithmetic(dtype: np.dtype[Any]) -> type[np.int64] | type[np.floating[Any]]:
    """Return the type in which the kernel adds."""
    return np.int64 if dtype.kind == "i" else dtype.type


class _Failure:
    """Says in words what the kernel found."""

    def __init__(
        self, graph: Graph, row: _Row, distances: NDArray[Any], weights: NDArray[Any]
    ) -> None:
        self.graph, self.row, self.distances, self.weights = graph, row, distances, weights

    def explain(self, code: int, place: int, limit: float | None) -> NoReturn:
        """Raise the error for the kernel's `code` at a vertex or arc."""
        reason = {
            BAD_NUMBER: lambda: f"{self._vertex(place)}, which is no distance",
            BEYOND: lambda: f"{self._vertex(place)}, beyond the limit of {limit}",
            STRAY: lambda: self._stray(place),
            BAD_SOURCE: lambda: f"source {place} is at distance {self._shown(place)}, not 0",
            VIOLATED: lambda: f"{self._arc(place)}: the distance of its head is too great",
            BAD_ORIGIN: lambda: self._bad_origin(place),
            UNCONNECTED: lambda: self._unconnected(place),
        }[code]()
        raise VerificationError(f"{_name(self.row)}: {reason}")

    def _stray(self, vertex: int) -> str:
        predecessors, origin = self.row.predecessors, self.row.origin
        tree = "" if predecessors is None else f" with predecessor {predecessors[vertex]}"
        owner = "" if origin is None else f" with origin {origin[vertex]}"
        role = "source" if vertex in self.row.sources else "unreached vertex"
        return f"{role} {vertex}{tree}{owner}; a source is its own origin, and the rest must be -1"

    def _bad_origin(self, arc: int) -> str:
        assert self.row.origin is not None
        tail, head = self._ends(arc)
        return (
            f"{self._arc(arc)}, and is tight: the origin of the head is {self.row.origin[head]}, "
            f"but the tail's, {self.row.origin[tail]}, is as near and smaller"
        )

    def _unconnected(self, vertex: int) -> str:
        """Say why the search did not come to `vertex`, the nearest of those."""
        if vertex in self.row.sources:
            return f"source {vertex} is at distance {self._shown(vertex)}, not 0"
        given = self._vertex(vertex)
        if self.row.predecessors is None:
            arc = self._arc_between(self._best_tail(vertex), vertex)
            if arc is None:
                return f"{given}, but no arc from a reached vertex enters it"
            return f"{given}, but no path from a source is as short; the best way: {self._arc(arc)}"
        tail = int(self.row.predecessors[vertex])
        arc = self._arc_between(tail, vertex)
        if arc is None:
            return f"{given}, but its predecessor is {tail}, and no arc leads from there to it"
        other = "" if self.row.origin is None else ", or comes from another origin"
        return (
            f"{given}, but the arc from its predecessor {tail} is not tight, or leads round a "
            f"cycle{other}: {self._arc(arc)}"
        )

    def _best_tail(self, vertex: int) -> int:
        """Return the tail over which `vertex` is nearest, -1 if no reached vertex is a tail."""
        arcs = np.flatnonzero(self.graph.indices == vertex)
        tails = self.graph.tails[arcs]
        known = self.distances[tails] != unreached(self.distances.dtype)
        if not known.any():
            return -1
        starts = self.distances[tails[known]].astype(_arithmetic(self.distances.dtype))
        sums = starts + self.weights[arcs[known]]
        return int(tails[known][np.argmin(sums)])

    def _arc_between(self, tail: int, head: int) -> int | None:
        if not 0 <= tail < self.graph.n:
            return None
        first, last = (int(bound) for bound in self.graph.indptr[tail : tail + 2])
        place = first + int(np.searchsorted(self.graph.indices[first:last], head))
        return place if place < last and self.graph.indices[place] == head else None

    def _ends(self, arc: int) -> tuple[int, int]:
        return int(self.graph.tails[arc]), int(self.graph.indices[arc])

    def _arc(self, arc: int) -> str:
        tail, head = self._ends(arc)
        return (
            f"arc {arc} goes from vertex {tail} at distance {self._shown(tail)} to vertex {head} "
            f"at distance {self._shown(head)} with weight {self.weights[arc]}"
        )

    def _vertex(self, vertex: int) -> str:
        return f"vertex {vertex} is given the distance {self._shown(vertex)}"

    def _shown(self, vertex: int) -> str:
        return _shown(self.distances[vertex])


def _name(row: _Row) -> str:
    if row.sources.size == 1:
        return f"row {row.number}, source {row.sources[0]}"
    return f"row {row.number}, nearest of {row.sources.size} sources"


def _shown(distance: Any) -> str:
    return "unreached" if distance == unreached(distance.dtype) else str(distance)


def _certify_targets(certifier: _Certifier, row: _Row, result: ShortestPaths) -> None:
    """Find the whole row anew, certify it, and compare."""
    assert result.targets is not None
    fresh = _solve_anew(certifier.graph, row, result)
    certifier.certify(fresh, result.limit)
    right = fresh.distances[result.targets]
    apart = _comparable(row.distances) != _comparable(right)
    if certifier.rtol:
        both = (row.distances != unreached(row.distances.dtype)) & (right != unreached(right.dtype))
        gap = np.abs(np.subtract(row.distances, right, where=both, out=np.zeros_like(right)))
        apart &= ~(both & (gap <= certifier.tolerance(fresh.distances)))
    if apart.any():
        column = int(np.argmax(apart))
        raise VerificationError(
            f"{_name(row)}: target {result.targets[column]} is given the distance "
            f"{_shown(row.distances[column])}; it is {_shown(right[column])}"
        )
    if row.predecessors is not None or row.origin is not None:
        certifier.certify(*_final_part(certifier.graph, fresh, row, result))


def _solve_anew(graph: Graph, row: _Row, result: ShortestPaths) -> _Row:
    dtype = result.distances.dtype
    query = Query(
        sources=row.sources,
        limit=result.limit,
        dtype=dtype if dtype.kind == "f" else None,
        nearest=result.nearest,
    )
    method = BellmanFord() if graph.least_weight < 0 else Dijkstra()
    answer = Plan(graph, query, method).run()
    if answer is None:
        raise overflow_error(graph, query)
    return _Row(row.number, row.sources, answer.distances[0], None, answer.origin)


def _final_part(
    graph: Graph, fresh: _Row, row: _Row, result: ShortestPaths
) -> tuple[_Row, float | None]:
    """Return the part of a targeted row that is final, as a limited row, and its limit.

    If all targets are reached, that is what lies no farther than the farthest of them; but with
    negative weights everything, for paths may pass through vertices farther away than their end.
    """
    distances, limit = fresh.distances, result.limit
    missing = unreached(distances.dtype)
    at_targets = distances[result.targets]
    all_reached = at_targets.size > 0 and not (at_targets == missing).any()
    if all_reached and graph.least_weight >= 0:
        farthest = at_targets.max()
        limit = farthest.item()
        distances = np.where(distances <= farthest, distances, missing)
    return _Row(row.number, row.sources, distances, row.predecessors, row.origin), limit


def _comparable(distances: NDArray[Any]) -> NDArray[Any]:
    """Widen integers, so that unreached equals unreached whatever the dtypes."""
    if distances.dtype.kind == "f":
        return distances
    missing = distances == unreached(distances.dtype)
    return np.where(missing, unreached(INT64), distances.astype(INT64))
