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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.certificate import reference
from sssp.cpu.tree_sums import arcs_between
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

#: tolerance of methods that do not add from the source outward, in eps of the distances times n
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
    """Certify a row of distances; return a status code, and the vertex or arc that fails.

    Of `UNCONNECTED` vertices it names none: they are reached, and their state is `UNSEEN`.
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

    return RIGHT if waiting == 0 else UNCONNECTED, 0


def certify_trees(g: Graph, result: ShortestPaths, rtol: float | None) -> None:
    """Certify `ShortestPaths` row by row; raise `VerificationError` at a wrong row."""
    result = result.to_host()
    check_form(g, result)
    certifier = Certifier(g, result, rtol)
    # NumPy compares a scalar of its own with a larger number by narrowing that one
    limit = result.limit.item() if isinstance(result.limit, np.generic) else result.limit
    missing, trees = unreached(result.distances.dtype), result.predecessors
    has_branches = result.targets is not None and is_sparse(trees)
    has_trees = trees is not None and not has_branches
    for i in range(result.rows):
        row = CheckedRow(
            i,
            result.sources if result.nearest else result.sources[i : i + 1],
            dense_row(result.distances, i, result.rows, missing),
            dense_row(trees, i, result.rows, -1) if has_trees else _NO_VERTICES,
            stored_row(trees, i) if has_branches else None,
            _NO_VERTICES if result.origin is None else result.origin,
        )
        if result.targets is None:
            certifier.certify(row, limit)
        else:
            certifier.certify_targets(row, result.targets, limit)


class CheckedRow(NamedTuple):
    """One result row to certify: its sources, distances, predecessors and nearest sources.

    Predecessors and origin are empty where there are none.

    Predecessors of a row with targets may be `branches` instead: the vertices that they are
    stored for, ascending, and their tails.
    """

    number: int
    sources: Vertices
    distances: NDArray[Any]
    predecessors: NDArray[np.int32] = _NO_VERTICES
    branches: tuple[NDArray[Any], NDArray[np.int32]] | None = None
    origin: NDArray[np.int32] = _NO_VERTICES


class Certifier:
    """Verifier of the distances and predecessors in result rows on one graph."""

    def __init__(self, asked: Graph, result: Any, rtol: float | None) -> None:
        self.asked = asked
        self.graph = asked.without_closed_arcs()
        if result.method == BreadthFirst.name:
            self.graph = self.graph.with_weights(np.ones(self.graph.m, INT32))
        self._negative = self.graph.least_weight < 0
        rounding = _rounding(result.distances.dtype, asked.n)
        # methods of searches add from the source outward, so that they agree bit for bit
        outward = set(result.method.split("+")) <= set(METHODS)
        self.rtol = (0 if outward else rounding) if rtol is None else float(rtol)
        #: for rows that cannot be right exactly
        self.last_rtol = rounding if rtol is None and self._negative else self.rtol
        self._state = np.empty(asked.n, np.int8)
        self._stack = np.empty(asked.n, INDEX)

    def certify(self, row: CheckedRow, limit: float | None) -> float:
        """Verify the distances of `row` up to `limit`, or raise; return the tolerance used."""
        rtol = self.rtol
        code, place = self._look(row, limit, rtol)
        if code != RIGHT and rtol < self.last_rtol:
            found, weights, bound = self._unreached_row(row, limit)
            self._relax(found, weights, bound)
            if self._look(found, limit, 0)[0] != RIGHT:  # (no row is right without tolerance)
                rtol = self.last_rtol
                code, place = self._look(row, limit, rtol)
        if code != RIGHT:
            raise VerificationError(f"{_name(row)}: {_explain(self, row, code, place, limit)}")
        return rtol

    def certify_targets(self, row: CheckedRow, targets: Vertices, limit: float | None) -> None:
        """Certify distances to targets by a new, certified search up to the farthest target."""
        found, limit = self._search_again(row, targets, limit)
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
            self.certify(found._replace(predecessors=row.predecessors, origin=row.origin), limit)
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
        if code == UNCONNECTED:  # the nearest one: what hangs on it is not connected either
            waiting = np.flatnonzero((self._state == UNSEEN) & (distances != missing))
            place = waiting[distances[waiting].argmin()]
        return code, int(place)

    def tolerance(self, distances: NDArray[Any], rtol: float) -> Any:
        """Return the greatest allowed difference of two path sums (int64, or the float dtype)."""
        number = _arithmetic(distances.dtype)
        reached = distances[distances != unreached(distances.dtype)]
        most = float(largest_distance(number)) / 4  # so that what it is added to does not wrap
        greatest = float(np.abs(reached.astype(FLOAT64)).max(initial=0))
        return number(min(rtol * greatest, most)) if rtol else number(0)

    def operands(self, distances: NDArray[Any]) -> tuple[Array, Array]:
        """Return the distances, and the graph's weights, converted to a common dtype."""
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
        """Return limit + tolerance, limit - tolerance, the dtype's greatest distance, tolerance."""
        number, tolerance = _arithmetic(distances.dtype), self.tolerance(distances, rtol)
        largest = largest_distance(number)
        # (as a Python number, for a limit may exceed it)
        most = np.iinfo(number).max if number is np.int64 else np.finfo(number).max.item()
        if limit is None or limit > most:
            return largest, unreached(np.dtype(number)), largest, tolerance
        bound = number(limit)
        return bound + min(tolerance, number(most) - bound), bound - tolerance, largest, tolerance

    def _search_again(
        self, row: CheckedRow, targets: Vertices, limit: float | None
    ) -> tuple[CheckedRow, float | None]:
        """Compute a row of distances again; return it, and the limit up to which it is final.

        If all targets are reached, that is what lies no farther than the farthest of them; but
        with negative weights everything, for paths may pass through vertices farther away than
        their end.
        """
        found, weights, bound = self._unreached_row(row, limit)
        g, distances = self.graph, found.distances
        if self._negative:
            dropped = self._relax(found, weights, bound)
            if dropped and weights.dtype == INT64 and bound == largest_distance(INT64):
                # a path might leave the range of int64 and come back to a target
                nearest = bound.item() + sum(weights[weights < 0].tolist())
                if any(distance > nearest for distance in distances[targets].tolist()):
                    raise VerificationError(
                        f"{_name(row)}: over negative weights some paths exceed 2**62 on their "
                        "way, so that distances to these targets cannot be certified"
                    )
                limit = bound
            return found, limit
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

    def _relax(self, row: CheckedRow, weights: NDArray[Any], bound: Any) -> bool:
        """Compute distances by Bellman-Ford; return True if sums above `bound` were dropped."""
        g, bounds = self.graph, (-largest_distance(weights.dtype), bound)
        tolerance = _rounding(weights.dtype, g.n)
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

    def _unreached_row(self, row: CheckedRow, limit: float | None) -> tuple[CheckedRow, Array, Any]:
        """Return a row of unreached distances, the arc weights, and the distance limit."""
        number = _arithmetic(row.distances.dtype)
        nothing = np.full(self.graph.n, unreached(np.dtype(number)), number)
        distances, weights = self.operands(nothing)
        largest = largest_distance(number)
        bounded = limit is not None and limit < largest.item()
        blank = CheckedRow(row.number, row.sources, distances)
        return blank, weights, number(limit) if bounded else largest

    def _certify_branches(
        self, row: CheckedRow, found: CheckedRow, targets: Vertices, rtol: float
    ) -> None:
        """Certify that the stored paths to targets are shortest, by a new search."""
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
        g = self.graph
        if rtol and distances.dtype.kind == "f":  # (ties are a matter of luck: lengths count)
            heads = vertices[inner]
            arcs = arcs_between(g, tails[inner], heads)
            self._refuse(row, heads[arcs < 0], "has a predecessor from which no arc leads to it")
            # (as the search saw them: in float32 what is tiny weighs nothing)
            weights = g.weights_as(distances.dtype).astype(FLOAT64)
            lengths = np.zeros(vertices.size, FLOAT64)
            lengths[inner] = weights[arcs]
            up = np.where(inner, np.searchsorted(vertices, tails), np.arange(vertices.size))
            for _ in range(int(vertices.size).bit_length()):  # (twice as many arcs each time)
                lengths += lengths[up]
                up = up[up]
            self._refuse(row, vertices[inner[up]], "hangs on a cycle of predecessors")
            gap = np.abs(lengths[np.searchsorted(vertices, wanted)] - distances[wanted])
            too_long = ~(gap <= self.tolerance(distances, rtol))
            self._refuse(row, wanted[too_long], "is the end of a path that is not as long as that")
            return
        promised: NDArray[np.int32] = np.full(g.n, -1, INDEX)
        distances, weights = self.operands(distances)
        reference.tree_kernel(
            *(g.indptr, g.indices, weights, row.sources, distances, row.origin),
            *(unreached(distances.dtype), self._negative, g._arrivals, promised),
        )
        others = vertices[tails != promised[vertices]]
        self._refuse(row, others, "has not the predecessor that the call promises")

    def _refuse(self, row: CheckedRow, vertices: NDArray[Any], what: str) -> None:
        """Raise `VerificationError` for the first of the wrong vertices, if there are any."""
        if vertices.size:
            raise VerificationError(f"{_name(row)}: vertex {vertices[0]} {what}")


def _arithmetic(dtype: np.dtype[Any]) -> Any:
    """Return the number type in which the kernels add distances of a dtype."""
    return np.int64 if dtype.kind == "i" else dtype.type


def _rounding(dtype: np.dtype[Any], n: int) -> float:
    """Return the relative error that rounding may cause in a sum over n arcs; 0 for integers."""
    return ROUNDING * float(np.finfo(dtype).eps) * n if dtype.kind == "f" else 0.0


def _explain(
    certifier: Certifier, row: CheckedRow, code: int, place: int, limit: float | None
) -> str:
    """Return in words what the kernel's status `code` says about a vertex or an arc."""
    g, asked = certifier.graph, certifier.asked
    distances, weights = certifier.operands(row.distances)

    def describe(arc: int) -> str:
        tail, head = int(g.tails[arc]), int(g.indices[arc])
        position = arc_position(asked.indptr, asked.indices, tail, head)
        return (
            f"arc {position} goes from vertex {tail} at distance {_show(distances[tail])} to "
            f"vertex {head} at distance {_show(distances[head])} with weight {weights[arc]}"
        )

    if code == VIOLATED:
        return f"{describe(place)}: the distance of its head is too great"
    if code == BAD_ORIGIN:
        tail, head = row.origin[[g.tails[place], g.indices[place]]]
        return (
            f"{describe(place)}, and is tight: the origin of the head is {head}, but the tail's, "
            f"{tail}, is as near and smaller"
        )
    if code == STRAY:
        tree = "" if row.predecessors.size == 0 else f" with predecessor {row.predecessors[place]}"
        owner = "" if row.origin.size == 0 else f" with origin {row.origin[place]}"
        role = "source" if place in row.sources else "unreached vertex"
        return f"{role} {place}{tree}{owner}; a source is its own origin, and the rest must be -1"
    if code == BAD_SOURCE or (code == UNCONNECTED and place in row.sources):
        return f"source {place} is at distance {_show(distances[place])}, not 0"
    given = f"vertex {place} is given the distance {_show(distances[place])}"
    if code == BAD_NUMBER:
        return f"{given}, which is not a distance"
    if code == BEYOND:
        return f"{given}, beyond the limit of {limit}"
    # no path from a source gives this vertex its distance
    if row.predecessors.size == 0:
        arcs = np.flatnonzero(g.indices == place)
        arcs = arcs[distances[g.tails[arcs]] != unreached(distances.dtype)]
        if arcs.size == 0:
            return f"{given}, but no arc from a reached vertex enters it"
        sums = distances[g.tails[arcs]].astype(_arithmetic(distances.dtype)) + weights[arcs]
        best = describe(int(arcs[np.argmin(sums)]))
        return f"{given}, but no path from a source is as short; the best way: {best}"
    tail = int(row.predecessors[place])
    arc = arc_position(g.indptr, g.indices, tail, place) if 0 <= tail < g.n else -1
    if arc < 0:
        return f"{given}, but its predecessor is {tail}, and no arc leads from there to it"
    other = "" if row.origin.size == 0 else ", or comes from another origin"
    return (
        f"{given}, but the arc from its predecessor {tail} is not tight, or leads round a "
        f"cycle{other}: {describe(arc)}"
    )


def _name(row: CheckedRow) -> str:
    if row.sources.size == 1:
        return f"row {row.number}, source {row.sources[0]}"
    return f"row {row.number}, nearest of {row.sources.size} sources"


def _show(distance: Any) -> str:
    return "unreached" if distance == unreached(distance.dtype) else str(distance)


def _comparable(distances: NDArray[Any]) -> NDArray[Any]:
    """Convert integer distances to int64, sentinels included; return floats unchanged."""
    if distances.dtype.kind == "f":
        return distances
    missing = distances == unreached(distances.dtype)
    return np.where(missing, unreached(INT64), distances.astype(INT64))
