"""Floyd-Warshall on the matrices that `scipy.sparse.csgraph` accepts.

SciPy's tree takes the fewest arcs among the shortest paths, then the smallest tails. For integers
that is a question of lengths alone: let an arc of weight w count (n + 1) w + 1, and a path of
length d over h arcs counts (n + 1) d + h. So the least counts give distances and numbers of arcs at
once, every arc of a tree leads to a greater count, and the smallest tail is right wherever it
stands; and a negative cycle, of n arcs at most, counts less than 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.calls.choose_device import matrix_work, place
from sssp.cpu.csgraph_kernels import LARGEST, dense_kernel, matrix_extremes_kernel
from sssp.csgraph.scipy_rows import SearchResult, as_floats, is_exact, validate, with_null
from sssp.engine.matrix_request import MatrixRequest, NegativeDiagonalError
from sssp.engine.plan import Plan
from sssp.engine.request import Request
from sssp.engine.threads import check_threads
from sssp.errors import DistanceOverflowError, NegativeCycleError
from sssp.graph.check_arrays import is_sparse
from sssp.graph.csr import seal
from sssp.graph.graph import Graph
from sssp.graph.matrix import MatrixGraph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, WeightRange, infinity
from sssp.methods import BellmanFord, FloydWarshall


class _CountRequest(MatrixRequest):
    """All-pairs request with weights ``w * (n + 1) + 1``, to prefer equal paths of fewer arcs."""

    @property
    def positive(self) -> bool:
        """Always True: with the weights ``w * (n + 1) + 1``, no cycle has length zero."""
        return True

    def fill(self, out: NDArray[Any], rows: range) -> None:
        """Write rows of the initial matrix, with every weight w changed to ``w * (n + 1) + 1``."""
        assert isinstance(self.source, np.ndarray)
        block, place = self.source[rows.start : rows.stop], np.arange(len(rows))
        out[...] = infinity(out.dtype)
        np.copyto(out, block * (self.n + 1) + 1, casting="unsafe", where=block < np.inf)
        out[place, rows.start + place] = 0


class _CountGraph(MatrixGraph):
    """The graph of a dense matrix, with every weight w replaced by ``w * (n + 1) + 1``."""

    __slots__ = ()

    def _build(self) -> Graph:
        graph = super()._build()
        return graph.with_weights(graph.weights.astype(INT64) * (self.n + 1) + 1)


def validate_dense(csgraph: Any, directed: bool, unweighted: bool, overwrite: bool) -> NDArray[Any]:
    """Validate a dense graph as SciPy does; return its weights, infinity for missing arcs.

    Returns
    -------
    ndarray, shape (n, n), float64
        `csgraph` itself, changed, if that is asked for and possible.
    """
    plain = type(csgraph) is np.ndarray and csgraph.dtype == FLOAT64 and csgraph.ndim == 2
    matrix: NDArray[Any]
    if plain and csgraph.shape[0] == csgraph.shape[1] and csgraph.flags.carray:
        matrix = csgraph if overwrite else np.empty_like(csgraph)
        dense_kernel(seal(csgraph).reshape(-1), matrix.reshape(-1))
    else:
        matrix = validate(csgraph, directed, csr_output=False, copy_if_dense=not overwrite)
        # (SciPy leaves other orders unsolved, and says so on stderr alone)
        matrix = np.ascontiguousarray(matrix)
        if not is_sparse(csgraph):
            matrix[matrix == 0] = np.inf
    if unweighted:
        matrix[~np.isinf(matrix)] = 1
    matrix.reshape(-1)[:: len(matrix) + 1] = 0
    if not directed:
        np.minimum(matrix, matrix.T, out=matrix)
    return matrix


def close_matrix(matrix: NDArray[Any], predecessors: bool, device: str) -> SearchResult | None:
    """Replace arc weights in a matrix by all-pairs distances; None means that SciPy must do it.

    Parameters
    ----------
    matrix : ndarray, shape (n, n), float64
        Of `validate_dense`.
    predecessors : bool
    device : str
        As the caller of the package gave it.

    Returns
    -------
    SearchResult or None
        None: SciPy is to decide. The matrix holds what is not a number, or has a negative cycle, or
        sums are beyond all floats.

    Raises
    ------
    DeviceError
        The device cannot be used, or lacks memory.
    """
    if matrix.size == 0:
        return None
    least, greatest, proper, whole = matrix_extremes_kernel(seal(matrix).reshape(-1))
    if not proper:
        return None
    n = len(matrix)
    unit = n + 1 if predecessors else 1
    integral = whole and is_exact(n, int(least) * unit, (int(greatest) + 1) * unit)
    if integral:
        counts = int(least) * unit + predecessors, int(greatest) * unit + predecessors
        narrow = counts[0] >= -LARGEST and counts[1] <= LARGEST
        weights = WeightRange(INT32 if narrow else INT64, *counts)
    else:
        unit, weights = 1, WeightRange(FLOAT64, least, greatest)
    graph_type: type[MatrixGraph] = _CountGraph if unit > 1 else MatrixGraph
    request_type = _CountRequest if unit > 1 else MatrixRequest
    graph = graph_type.of(matrix, zero_is_arc=True)
    request = request_type(n, matrix, zero_is_arc=True, weights=weights)
    graph._cached("weight range", lambda: weights)
    request.predecessors, request.threads = predecessors, check_threads(None)
    method, work = FloydWarshall(), None
    # (floats stay here: another device adds in another order)
    if integral:
        host_bytes = matrix.nbytes + INDEX.itemsize * n * n * predecessors
        work = matrix_work(method, n, request.threads, host_bytes=host_bytes)
    place(request, device, method, work)
    try:
        answer = Plan(graph, request, method).run()
    except (NegativeDiagonalError, DistanceOverflowError):
        return None
    if answer is None:
        return None
    as_floats(answer.distances, matrix, unit)
    return SearchResult(matrix, with_null(answer.predecessors) if predecessors else None)


def find_cycle(matrix: NDArray[Any]) -> list[int]:
    """Return the vertices of a negative cycle in a dense weight matrix; empty if none is found."""
    if not matrix_extremes_kernel(seal(matrix).reshape(-1))[2]:
        return []
    graph = MatrixGraph.of(matrix, zero_is_arc=True)
    request = Request(np.arange(len(matrix)), nearest=True, threads=1)
    try:
        Plan(graph, request, BellmanFord()).run()
    except (NegativeCycleError, DistanceOverflowError) as error:
        return getattr(error, "cycle", [])
    return []
