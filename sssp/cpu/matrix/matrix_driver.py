"""The driver of dense solvers: builds the matrix, checks for overflow, finds predecessors.

Predecessors of integers follow from the distances, as those of one-source searches do: the
smallest tail among the tight arcs, or fewest arcs (`sssp.cpu.tree`). Floats are added in another
order here than along a path, so few of their arcs would be tight: the solver carries a matrix of
tails along, in which ``tails[i, j]`` is the tail of the last arc of the path that ``D[i, j]``
came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search import bellman_ford
from sssp.cpu.search_driver import ranges_of
from sssp.cpu.team import team_size
from sssp.cpu.tree import Tree
from sssp.engine.check_memory import check_memory
from sssp.engine.cycles import has_cycle
from sssp.engine.matrix_request import MatrixRequest, NegativeDiagonalError, overflowed, threshold
from sssp.engine.narrow import narrow
from sssp.engine.request import Answer, Request
from sssp.engine.workers import do_all
from sssp.graph.arc_orders import unsigned_arcs
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT32, SHORT, Number, infinity, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.methods import BellmanFord

#: entries of a block of rows that one thread fills at a time
FILLED = 1 << 18
#: steps of a kernel in the time that it takes to fill an entry
FILLING = 32
#: rows of the initial matrix that predecessors are looked for in at a time, and of the answer
#: that a thread takes
TAILS, ROWS = 256, 64
#: bytes of a cache line
LINE = 64
#: arcs that are tried one by one in the time that the whole matrix takes to try as many pairs
DENSE = 8


@njit
def _settle_kernel(values, above, missing):
    """Replace the internal infinity by the public sentinel; return the greatest finite entry."""
    zero = values.dtype.type(0)
    greatest = zero
    for i in range(values.size):
        value = values[i]
        far = value >= above
        near = zero if far else value
        greatest = max(greatest, near)
        values[i] = missing if far else value
    return greatest


@njit
def _tight_tails_kernel(distances, weights, first, tails, row, end):
    """Find each entry's predecessor among a block of vertices: the least tail of a tight arc.

    From the last to the first, so that the smallest stays. ``weights`` are rows of the initial
    matrix, with no arc on the diagonal, and none is 0 or less: a sum that wraps, from a tail
    that is unreached, is negative and no distance.
    """
    number = distances.dtype.type
    depth = weights.shape[0]
    for i in range(row, end):
        ends, found = distances[i], tails[i]
        for k in range(depth - 1, depth // 4 * 4 - 1, -1):
            start, arcs = ends[first + k], weights[k]
            for j in range(ends.size):
                found[j] = first + k if number(start + arcs[j]) == ends[j] else found[j]
        for k in range(depth // 4 * 4 - 4, -1, -4):
            tail = np.int32(first + k)
            s0, s1 = ends[first + k], ends[first + k + 1]
            s2, s3 = ends[first + k + 2], ends[first + k + 3]
            w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            for j in range(ends.size):
                distance, best = ends[j], found[j]
                best = np.int32(tail + 3) if number(s3 + w3[j]) == distance else best
                best = np.int32(tail + 2) if number(s2 + w2[j]) == distance else best
                best = np.int32(tail + 1) if number(s1 + w1[j]) == distance else best
                found[j] = tail if number(s0 + w0[j]) == distance else best


class Matrix:
    """A dense solver's distance matrix, with a predecessor matrix if the solver keeps one.

    Attributes
    ----------
    distances : ndarray, shape (n, n)
    tails : ndarray, shape (n, n), int32, or None
        -1 for none.
    """

    def __init__(self, n: int, dtype: Number, with_tails: bool) -> None:
        # (a matrix that begins with a cache line saves a sixth of a run)
        room = np.empty(n * n * dtype.itemsize + LINE, np.uint8)
        skipped = -room.ctypes.data % LINE
        begun = room[skipped : room.size - LINE + skipped]
        self.distances: NDArray[Any] = begun.view(dtype).reshape(n, n)
        self.tails = np.empty((n, n), INDEX) if with_tails else None

    @classmethod
    def of(cls, request: MatrixRequest, dtype: Number) -> Matrix:
        """Return the matrix of a request's arc weights, with predecessors if they are needed."""
        n = request.n
        matrix = cls(n, dtype, request.carries_tails(dtype))

        def fill(rows: range) -> None:
            block = matrix.distances[rows.start : rows.stop]
            request.fill(block, rows)
            if matrix.tails is not None:
                vertices = np.arange(rows.start, rows.stop, dtype=INDEX)
                tails = np.where(block < infinity(dtype), vertices[:, np.newaxis], INDEX.type(-1))
                tails[np.arange(len(rows)), vertices] = -1
                matrix.tails[rows.start : rows.stop] = tails

        blocks = ranges_of(n, max(1, FILLED // max(1, n)))
        do_all(fill, blocks, team_size(request.threads, FILLING * n * n))
        return matrix

    def room(self) -> Matrix:
        """Return a new matrix of the same size and dtype, uninitialized."""
        return Matrix(len(self.distances), self.distances.dtype, self.tails is not None)

    def swap(self, other: Matrix) -> None:
        """Exchange the arrays of two matrices."""
        self.distances, other.distances = other.distances, self.distances
        self.tails, other.tails = other.tails, self.tails

    def negative_vertex(self) -> int | None:
        """Return the first vertex with a negative diagonal entry; None if there is none."""
        vertices = np.flatnonzero(np.diagonal(self.distances) < 0)
        return int(vertices[0]) if vertices.size else None


def solve_matrix(
    graph: Graph,
    request: MatrixRequest,
    dtype: Number,
    close: Callable[[Matrix], int],
    *,
    copies: int = 1,
) -> Answer | None:
    """Answer a dense request with the solver `close`; return None if the dtype is too narrow.

    Parameters
    ----------
    graph : Graph
        Whose arcs the trees are made of.
    request : MatrixRequest
    dtype : dtype
    close : callable
        ``close(matrix)`` brings the matrix to its closure, in place or by giving it other arrays,
        and returns how many rounds that took. It may stop at a negative entry on the diagonal.
    copies : int
        Matrices that it needs, the first included.

    Raises
    ------
    NegativeDiagonalError
        There is a negative cycle, or a false alarm.
    DeviceError
        The call needs more memory than it may take.
    """
    limit = request.memory_limit
    if dtype == INT32 and request.short and _count_bytes(request, SHORT, copies) <= limit:
        answer = solve_matrix(graph, request, SHORT, close, copies=copies)
        if answer is not None:
            return answer
    parts = {f"a matrix of {request.n:,} vertices in {dtype}": _count_bytes(request, dtype, copies)}
    check_memory(parts, limit, "cpu", request.advice)
    matrix = Matrix.of(request, dtype)
    rounds = close(matrix)
    vertex = matrix.negative_vertex()
    if vertex is not None:
        raise NegativeDiagonalError(vertex)
    distances, tails = matrix.distances, matrix.tails
    # the public sentinel is written unless the dtype was too narrow
    above = threshold(dtype, distances.min(initial=0))
    if above is None:
        return None
    greatest = _settle_kernel(distances.reshape(-1), dtype.type(above), unreached(dtype))
    if overflowed(dtype, above, greatest, request.heaviest):
        return None
    if tails is not None:
        _mend(graph, request, distances, tails)
    elif request.predecessors:
        # (in `SHORT` a sum with infinity may be infinity)
        distances = narrow(distances, INT32) if dtype == SHORT else distances
        tails = tight_tails(graph, request, distances)
    stats = {"rounds": np.full(request.n, rounds, np.int64)}
    return Answer(narrow(distances, request.dtype), tails, stats=stats)


def _count_bytes(request: MatrixRequest, dtype: Number, copies: int) -> int:
    """Return the bytes of all matrices of distances and of predecessors that a call needs."""
    tails = copies if request.carries_tails(dtype) else int(request.predecessors)
    return request.bytes_of_matrices(dtype, copies) + request.n * request.n * tails * INDEX.itemsize


def tight_tails(graph: Graph, request: MatrixRequest, distances: NDArray[Any]) -> NDArray[np.int32]:
    """Find predecessors of final integer distances from tight arcs, for all pairs.

    Parameters
    ----------
    graph : Graph
        Of the request.
    request : MatrixRequest
    distances : ndarray, shape (n, n)
        In a working dtype.

    Returns
    -------
    ndarray, shape (n, n), int32
    """
    n = request.n
    tails = np.full((n, n), -1, INDEX)
    sparse = request.source is graph and graph.m * DENSE < n * n
    if sparse or not request.positive:
        tails_from_arcs(graph, np.arange(n), distances, tails, request.threads)
        return tails
    for rows in reversed(list(ranges_of(n, TAILS))):
        weights = np.empty((len(rows), n), distances.dtype)
        request.fill(weights, rows)
        weights[np.arange(len(rows)), rows] = infinity(distances.dtype)

        def find(part: range, weights: NDArray[Any] = weights, first: int = rows.start) -> None:
            _tight_tails_kernel(distances, weights, first, tails, part.start, part.stop)

        do_all(find, ranges_of(n, ROWS), team_size(request.threads, n**3))
    return tails


def tails_from_arcs(
    graph: Graph,
    sources: NDArray[np.int64],
    distances: NDArray[Any],
    tails: NDArray[np.int32],
    threads: int,
) -> None:
    """Write to `tails` the predecessors, found by tight arcs, for the distances of some sources."""
    dtype = distances.dtype
    arcs = unsigned_arcs(graph, dtype)

    def find(rows: range) -> None:
        for i in rows:
            row = distances[i]
            reached = np.flatnonzero(row != unreached(dtype)).astype(INDEX)
            tree = Tree(graph, arcs, sources[i : i + 1], row, reached, largest_distance(dtype))
            tree.predecessors(None, tails[i])

    do_all(find, ranges_of(sources.size, ROWS), threads)


def _mend(
    graph: Graph, request: MatrixRequest, distances: NDArray[Any], tails: NDArray[np.int32]
) -> None:
    """Replace rows of predecessors that, through rounding, form no tree, by searching again.

    They get the tree of a search from their source.
    """
    vertices, marks = np.arange(request.n, dtype=INDEX), np.empty(request.n, INDEX)
    missing = unreached(distances.dtype)

    def is_broken(row: NDArray[np.int32], lengths: NDArray[Any]) -> bool:
        """Return whether a row of predecessors is no tree: it has a cycle or more than one root."""
        roots = np.count_nonzero((row < 0) & (lengths != missing))
        return bool(roots > 1 or has_cycle(row, vertices, marks))

    # (row by row: masks of all rows would take as much memory again as a matrix)
    sources = np.flatnonzero([is_broken(*row) for row in zip(tails, distances, strict=True)])
    if not sources.size:
        return
    broken = Request(sources, dtype=distances.dtype, predecessors=True, threads=request.threads)
    answer = bellman_ford.solve(graph, broken, BellmanFord(), distances.dtype)
    assert answer is not None  # the matrix has no distance that overflows
    tails[sources] = answer.predecessors
