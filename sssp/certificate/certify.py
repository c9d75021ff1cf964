"""An O(m) certificate that rows of distances are right.

Distances are right if and only if no arc is violated (``d[tail] + w >= d[head]``) and every
reached vertex hangs on a source by tight arcs (``d[tail] + w == d[head]``): the first makes them
no greater than any path, the second says that some path has just that length. One search from
the sources along tight arcs tests both, for it visits every reached vertex or finds one that it
cannot reach. Cycles of length zero are tight as well, which is why the search starts at the
sources instead of looking for a tight arc at every vertex. If the result has predecessors, the
search follows only those arcs, and so finds out whether they are a tree.

Distances to targets alone do not hold enough for that. Such a row is found anew by a plain search
(see `sssp.certificate.reference`), certified, and compared.

K. Mehlhorn, S. Naeher, "LEDA: A platform for combinatorial and geometric computing" (1999),
section 7.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.certificate import reference
from sssp.cpu.tree_sums import TreeSums, arcs_between
from sssp.errors import DistanceOverflowError, VerificationError
from sssp.graph.check_arrays import is_sparse
from sssp.graph.csr import arc_position
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT16, INT32, INT64, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.methods import METHODS, BreadthFirst
from sssp.results.check_result import check_form
from sssp.results.row_access import dense_row, stored_row
from sssp.results.trees import ShortestPaths

Vertices = NDArray[np.int64]
Array = NDArray[Any]

#: methods whose sums run from the source outward, so that they agree bit for bit
OUTWARD = tuple(METHODS)
#: tolerance of all others, in eps of the distances times n
ROUNDING = 4
#: what the kernel found; the place that it returns is an arc for the two arc codes, else a vertex
RIGHT, BAD_NUMBER, BEYOND, STRAY, BAD_SOURCE, VIOLATED, BAD_ORIGIN, UNCONNECTED = range(8)
#: states of a vertex in the search
UNSEEN, SEEN, ROOT = np.int8(0), np.int8(1), np.int8(2)
ONE = np.uint64(1)
#: stands for predecessors or origins that a result does not have
_NO_VERTICES = np.empty(0, INDEX)


@njit
def _certify_kernel(
    indptr, indices, weights, sources, distances, predecessors, origin, missing,
    bounds, state, stack,
):  # fmt: skip
    """Certify one row; return a status code, and the vertex or arc where it fails.

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
            # (added to the head's distance, for the difference of the two might wrap)
            if candidate < distances[head] - tolerance:
                return VIOLATED, arc
            if candidate > distances[head] + tolerance or state[head] == ROOT:
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
        waits = state[v] == UNSEEN and distances[v] != missing
        if waits and (culprit < 0 or distances[v] < distances[culprit]):
            culprit = v
    return UNCONNECTED, culprit


def certify_trees(g: Graph, result: ShortestPaths, rtol: float | None) -> None:
    """Certify `ShortestPaths` row by row; raise `VerificationError` at a wrong row."""
    result = result.to_host()
    check_form(g, result)
    certifier = Certifier(g, result, rtol)
    # NumPy compares a scalar of its own with a larger number by narrowing that one
    limit = result.limit.item() if isinstance(result.limit, np.generic) else result.limit
    for row in _rows_of(result):
        if result.targets is None:
            certifier.certify(row, limit)
        else:
            certifier.certify_targets(row, result.targets, limit)


@dataclass(frozen=True)
class CheckedRow:
    """One search: all its sources, and arrays of shape (n,), or (t,) for distances to targets.

    Predecessors and origin are empty where there are none.

    Predecessors of a row with targets may be `branches` instead: the vertices that they are
    stored for, ascending, and their tails.
    """

    number: int
    sources: Vertices
    distances: NDArray[Any]
    predecessors: NDArray[np.int32] = field(default_factory=lambda: _NO_VERTICES)
    branches: tuple[NDArray[Any], NDArray[np.int32]] | None = None
    origin: NDArray[np.int32] = field(default_factory=lambda: _NO_VERTICES)


def _rows_of(result: ShortestPaths) -> Iterator[CheckedRow]:
    missing, trees = unreached(result.distances.dtype), result.predecessors
    has_branches = result.targets is not None and is_sparse(trees)
    has_trees = trees is not None and not has_branches
    for i in range(result.rows):
        yield CheckedRow(
            i,
            result.sources if result.nearest else result.sources[i : i + 1],
            dense_row(result.distances, i, result.rows, missing),
            dense_row(trees, i, result.rows, -1) if has_trees else _NO_VERTICES,
            stored_row(trees, i) if has_branches else None,
            _NO_VERTICES if result.origin is None else result.origin,
        )


class Certifier:
    """Certifies rows of results on one graph, reusing its scratch."""

    def __init__(self, asked: Graph, result: Any, rtol: float | None) -> None:
        self.asked = asked
        self.graph = asked.without_closed_arcs()
        if result.method == BreadthFirst.name:
            self.graph = self.graph.with_weights(np.ones(self.graph.m, INT32))
        floats = result.distances.dtype.kind == "f"
        rounding = ROUNDING * float(np.finfo(result.distances.dtype).eps) * asked.n if floats else 0
        outward = set(result.method.split("+")) <= set(OUTWARD)
        self.rtol = (0 if outward else rounding) if rtol is None else float(rtol)
        #: for rows that cannot be right exactly
        self.last_rtol = rounding if rtol is None and self._negative else self.rtol
        self._state = np.empty(asked.n, np.int8)
        self._stack = np.empty(asked.n, INDEX)

    @property
    def _negative(self) -> bool:
        return self.graph.least_weight < 0

    def certify(self, row: CheckedRow, limit: float | None) -> float:
        """Raise `VerificationError` unless `row` is right within `limit`; return the `rtol`."""
        rtol = self.rtol
        code, place = self._look(row, limit, rtol)
        if code != RIGHT and rtol < self.last_rtol and not self._has_exact_answer(row, limit):
            rtol = self.last_rtol
            code, place = self._look(row, limit, rtol)
        if code != RIGHT:
            _Failure(self, row).explain(code, place, limit)
        return rtol

    def certify_targets(self, row: CheckedRow, targets: Vertices, limit: float | None) -> None:
        """Search again up to the farthest target, certify that row, and compare with it."""
        found, limit = self._find_anew(row, targets, limit)
        rtol = self.certify(found, limit)
        right = found.distances[targets]
        apart = _comparable(row.distances) != _comparable(right)
        if rtol:
            both = right != unreached(right.dtype)
            given = row.distances.astype(FLOAT64)
            gap = np.abs(np.subtract(given, right, out=np.zeros(right.size), where=both))
            apart &= ~(both & (gap <= self.tolerance(found.distances, rtol)))
        if apart.any():
            column = int(np.argmax(apart))
            raise VerificationError(
                f"{_name(row)}: target {targets[column]} is given the distance "
                f"{_show(row.distances[column])}; it is {_show(right[column])}"
            )
        if row.predecessors.size or row.origin.size:
            self.certify(replace(found, predecessors=row.predecessors, origin=row.origin), limit)
        if row.branches is not None:
            self._certify_branches(row, found, targets, rtol)

    def _look(self, row: CheckedRow, limit: float | None, rtol: float) -> tuple[int, int]:
        distances, weights = self.operands(row.distances)
        g, missing = self.graph, unreached(distances.dtype)
        code, place = _certify_kernel(
            *(g.indptr.view(np.uint64), g.indices.view(np.uint32), weights),
            *(row.sources, distances, row.predecessors, row.origin, missing),
            *(self.bounds(distances, limit, rtol), self._state, self._stack),
        )
        return code, int(place)

    def tolerance(self, distances: NDArray[Any], rtol: float) -> Any:
        """Return the greatest allowed difference of two sums, in the row's arithmetic."""
        number = _arithmetic(distances.dtype)
        reached = distances[distances != unreached(distances.dtype)]
        most = float(largest_distance(number)) / 4  # so that what it is added to does not wrap
        greatest = float(np.abs(reached.astype(FLOAT64)).max(initial=0))
        return number(min(rtol * greatest, most)) if rtol else number(0)

    def operands(self, distances: NDArray[Any]) -> tuple[Array, Array]:
        """Return distances and weights in one dtype, the wider one if they are integers."""
        weights = self.graph.weights
        if distances.dtype.kind == "i":
            if weights.dtype.kind == "f":
                raise VerificationError("integer distances cannot be right over float weights")
            if weights.dtype == INT64 or distances.dtype == INT16:
                distances = _comparable(distances)
            heaviest = max(abs(self.graph.least_weight), abs(self.graph.greatest_weight))
            if heaviest > largest_distance(INT64):
                raise VerificationError(
                    f"integer distances over a weight of {heaviest} cannot be certified: "
                    "sums might wrap"
                )
        try:
            return distances, self.graph.weights_as(distances.dtype)
        except DistanceOverflowError as error:
            raise VerificationError(f"distances cannot be {distances.dtype}: {error}") from error

    def bounds(
        self, distances: NDArray[Any], limit: float | None, rtol: float
    ) -> tuple[Any, Any, Any, Any]:
        """Return the kernel's argument `bounds`."""
        number, tolerance = _arithmetic(distances.dtype), self.tolerance(distances, rtol)
        largest = largest_distance(number)
        if limit is None or limit > _greatest(number):
            return largest, unreached(np.dtype(number)), largest, tolerance
        bound = number(limit)
        slack = min(tolerance, number(_greatest(number)) - bound)
        return bound + slack, bound - tolerance, largest, tolerance

    def _find_anew(
        self, row: CheckedRow, targets: Vertices, limit: float | None
    ) -> tuple[CheckedRow, float | None]:
        """Search again; return the row as far as it is final, and the limit up to which it is.

        If all targets are reached, that is what lies no farther than the farthest of them; but
        with negative weights everything, for paths may pass through vertices farther away than
        their end.
        """
        distances, weights, bound = self._blank(row.distances.dtype, limit)
        found = CheckedRow(row.number, row.sources, distances)
        if self._negative:
            dropped = self._relax(found, weights, bound)
            if dropped and weights.dtype == INT64 and bound == largest_distance(INT64):
                self._refuse_return(found, targets, weights)
                limit = bound
            return found, limit
        g = self.graph
        # (each once, without the sort or the hashing of a million targets for every row)
        wanted = np.zeros(g.n, np.bool_)
        wanted[targets] = True
        final = reference.dijkstra_kernel(
            g.indptr, g.indices, weights, row.sources, wanted, bound, distances
        )
        missing = unreached(distances.dtype)
        if not (distances[wanted] == missing).any():
            limit = final
            distances[distances > final] = missing
        return found, limit

    def _has_exact_answer(self, row: CheckedRow, limit: float | None) -> bool:
        """Return whether relaxing from the source fulfils a row over negative float weights."""
        distances, weights, bound = self._blank(row.distances.dtype, limit)
        found = CheckedRow(row.number, row.sources, distances)
        self._relax(found, weights, bound)
        return self._look(found, limit, 0)[0] == RIGHT

    def _relax(self, row: CheckedRow, weights: NDArray[Any], bound: Any) -> bool:
        """Fill in distances over negative weights; return whether some sums were dropped."""
        g, dtype = self.graph, weights.dtype
        tolerance = ROUNDING * float(np.finfo(dtype).eps) * g.n if dtype.kind == "f" else 0.0
        bounds = -largest_distance(dtype), bound
        code, rounded = reference.bellman_ford_kernel(
            g.indptr, g.indices, weights, row.sources, bounds, tolerance, row.distances
        )
        if code == reference.SINKING:
            raise VerificationError(
                f"{_name(row)}: a cycle of negative length is reached, so there is no answer"
            )
        if rounded:  # (sources that this alone has lowered stay at 0)
            starts = row.distances[row.sources]
            lowered = np.abs(starts) <= self.tolerance(row.distances, tolerance)
            row.distances[row.sources] = np.where(lowered, 0, starts)
        return bool(code == reference.DROPPED)

    def _refuse_return(self, row: CheckedRow, targets: Vertices, weights: Array) -> None:
        """Raise if a path might leave the range of int64 and come back to a target."""
        descent = sum(weights[weights < 0].tolist())
        nearest = largest_distance(INT64).item() + descent
        if any(distance > nearest for distance in row.distances[targets].tolist()):
            raise VerificationError(
                f"{_name(row)}: over negative weights some paths exceed 2**62 on their way, so "
                "that distances to these targets cannot be certified"
            )

    def _blank(self, dtype: np.dtype[Any], limit: float | None) -> tuple[Array, Array, Any]:
        """Return unreached distances (int64 for integers), weights alike, and their bound."""
        number = _arithmetic(dtype)
        nothing = np.full(self.graph.n, unreached(np.dtype(number)), number)
        distances, weights = self.operands(nothing)
        largest = largest_distance(number)
        bounded = limit is not None and limit < largest.item()
        return distances, weights, number(limit) if bounded else largest

    def _certify_branches(
        self, row: CheckedRow, found: CheckedRow, targets: Vertices, rtol: float
    ) -> None:
        """Compare the paths to the targets with the tree of a new search."""
        assert row.branches is not None
        vertices, tails = row.branches
        distances, missing = found.distances, unreached(found.distances.dtype)
        wanted = np.unique(targets[distances[targets] != missing])
        self._refuse(row, np.setdiff1d(wanted, vertices), "is reached, but no path to it is stored")
        roots = np.isin(vertices, row.sources) & (distances[vertices] == 0)
        wrong = "is stored with a predecessor if it is a source, or without one if it is none"
        self._refuse(row, vertices[(tails == -1) != roots], wrong)
        inner = ~roots
        places = np.minimum(np.searchsorted(vertices, tails[inner]), max(vertices.size - 1, 0))
        alone = vertices[inner][vertices[places] != tails[inner]]
        self._refuse(row, alone, "is stored, but not its predecessor")
        leaves = np.ones(vertices.size, np.bool_)
        leaves[places] = False
        stray = vertices[leaves & ~np.isin(vertices, wanted)]
        self._refuse(row, stray, "is stored, but lies on no path to a target")
        if rtol and distances.dtype.kind == "f":
            self._certify_lengths(row, found, wanted, rtol)
            return
        g = self.graph
        promised: NDArray[np.int32] = np.full(g.n, -1, INDEX)
        distances, weights = self.operands(distances)
        reference.tree_kernel(
            *(g.indptr, g.indices, weights, row.sources, distances, row.origin),
            *(unreached(distances.dtype), self._negative, g._arrivals, promised),
        )
        others = vertices[tails != promised[vertices]]
        self._refuse(row, others, "has not the predecessor that the call promises")

    def _certify_lengths(
        self, row: CheckedRow, found: CheckedRow, wanted: Vertices, rtol: float
    ) -> None:
        """Raise unless the branches are paths whose lengths are the distances of their ends."""
        from scipy.sparse import csr_array

        assert row.branches is not None
        vertices, tails = row.branches
        g, inner = self.graph, tails >= 0
        heads = vertices[inner]
        arcs = arcs_between(g, tails[inner], heads)
        self._refuse(row, heads[arcs < 0], "has a predecessor from which no arc leads to it")
        up = np.where(inner, np.searchsorted(vertices, tails), np.arange(vertices.size))
        for _ in range(int(vertices.size).bit_length()):
            up = up[up]
        self._refuse(row, vertices[inner[up]], "hangs on a cycle of predecessors")
        branches = csr_array((tails, vertices, [0, vertices.size]), shape=(1, g.n))
        lengths = np.empty((1, wanted.size), FLOAT64)
        trees = TreeSums(g, branches, row.sources, wanted, FLOAT64)
        # (as the search saw them: in float32 what is tiny weighs nothing)
        dtype = found.distances.dtype
        weights = g.weights_as(dtype if dtype.kind == "f" else FLOAT64).astype(FLOAT64)
        trees.skim(range(1), trees.by_head(weights), lengths)
        gap = np.abs(lengths[0] - found.distances[wanted])
        too_long = ~(gap <= self.tolerance(found.distances, rtol))
        self._refuse(row, wanted[too_long], "is the end of a path that is not as long as that")

    def _refuse(self, row: CheckedRow, vertices: NDArray[Any], what: str) -> None:
        """Raise for the first of some wrong vertices, if there are any."""
        if vertices.size:
            raise VerificationError(f"{_name(row)}: vertex {vertices[0]} {what}")


def _arithmetic(dtype: np.dtype[Any]) -> Any:
    """Return the type in which the kernels add."""
    return np.int64 if dtype.kind == "i" else dtype.type


def _greatest(number: Any) -> Any:
    """Return the greatest number of an arithmetic as a Python number, as a limit may exceed it."""
    return np.iinfo(number).max if number is np.int64 else np.finfo(number).max.item()


class _Failure:
    """Explains in words a failure that the kernel found."""

    def __init__(self, certifier: Certifier, row: CheckedRow) -> None:
        self.asked, self.graph, self.row = certifier.asked, certifier.graph, row
        self.distances, self.weights = certifier.operands(row.distances)

    def explain(self, code: int, place: int, limit: float | None) -> NoReturn:
        """Raise the error for the kernel's `code` at a vertex or arc."""
        reason = {
            BAD_NUMBER: lambda: f"{self._vertex(place)}, which is not a distance",
            BEYOND: lambda: f"{self._vertex(place)}, beyond the limit of {limit}",
            STRAY: lambda: self._explain_stray(place),
            BAD_SOURCE: lambda: f"source {place} is at distance {self._show(place)}, not 0",
            VIOLATED: lambda: f"{self._arc(place)}: the distance of its head is too great",
            BAD_ORIGIN: lambda: self._explain_origin(place),
            UNCONNECTED: lambda: self._explain_unconnected(place),
        }[code]()
        raise VerificationError(f"{_name(self.row)}: {reason}")

    def _explain_stray(self, vertex: int) -> str:
        predecessors, origin = self.row.predecessors, self.row.origin
        tree = "" if predecessors.size == 0 else f" with predecessor {predecessors[vertex]}"
        owner = "" if origin.size == 0 else f" with origin {origin[vertex]}"
        role = "source" if vertex in self.row.sources else "unreached vertex"
        return f"{role} {vertex}{tree}{owner}; a source is its own origin, and the rest must be -1"

    def _explain_origin(self, arc: int) -> str:
        tail, head = self._ends(arc)
        return (
            f"{self._arc(arc)}, and is tight: the origin of the head is {self.row.origin[head]}, "
            f"but the tail's, {self.row.origin[tail]}, is as near and smaller"
        )

    def _explain_unconnected(self, vertex: int) -> str:
        """Explain why no path from a source gives `vertex` its distance."""
        if vertex in self.row.sources:
            return f"source {vertex} is at distance {self._show(vertex)}, not 0"
        given = self._vertex(vertex)
        if self.row.predecessors.size == 0:
            arc = self._best_arc(vertex)
            if arc is None:
                return f"{given}, but no arc from a reached vertex enters it"
            return f"{given}, but no path from a source is as short; the best way: {self._arc(arc)}"
        tail = int(self.row.predecessors[vertex])
        is_vertex = 0 <= tail < self.graph.n
        arc = arc_position(self.graph.indptr, self.graph.indices, tail, vertex) if is_vertex else -1
        if arc < 0:
            return f"{given}, but its predecessor is {tail}, and no arc leads from there to it"
        other = "" if self.row.origin.size == 0 else ", or comes from another origin"
        return (
            f"{given}, but the arc from its predecessor {tail} is not tight, or leads round a "
            f"cycle{other}: {self._arc(arc)}"
        )

    def _best_arc(self, vertex: int) -> int | None:
        """Return the arc with the least distance to `vertex`; None if no tail is reached."""
        arcs = np.flatnonzero(self.graph.indices == vertex)
        starts = self.distances[self.graph.tails[arcs]]
        known = starts != unreached(starts.dtype)
        if not known.any():
            return None
        sums = starts[known].astype(_arithmetic(starts.dtype)) + self.weights[arcs[known]]
        return int(arcs[known][np.argmin(sums)])

    def _ends(self, arc: int) -> tuple[int, int]:
        return int(self.graph.tails[arc]), int(self.graph.indices[arc])

    def _arc(self, arc: int) -> str:
        tail, head = self._ends(arc)
        place = arc_position(self.asked.indptr, self.asked.indices, tail, head)
        return (
            f"arc {place} goes from vertex {tail} at distance {self._show(tail)} to vertex {head} "
            f"at distance {self._show(head)} with weight {self.weights[arc]}"
        )

    def _vertex(self, vertex: int) -> str:
        return f"vertex {vertex} is given the distance {self._show(vertex)}"

    def _show(self, vertex: int) -> str:
        return _show(self.distances[vertex])


def _name(row: CheckedRow) -> str:
    if row.sources.size == 1:
        return f"row {row.number}, source {row.sources[0]}"
    return f"row {row.number}, nearest of {row.sources.size} sources"


def _show(distance: Any) -> str:
    return "unreached" if distance == unreached(distance.dtype) else str(distance)


def _comparable(distances: NDArray[Any]) -> NDArray[Any]:
    """Convert integers to int64, so that the sentinels of all dtypes are equal."""
    if distances.dtype.kind == "f":
        return distances
    missing = distances == unreached(distances.dtype)
    return np.where(missing, unreached(INT64), distances.astype(INT64))
