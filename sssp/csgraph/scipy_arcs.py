"""What SciPy takes for a graph, as arcs.

SciPy's own validation decides what an entry means: entries of a COO matrix at one place sum, and
so do those of a CSR matrix, but of float64, where they are parallel arcs; a stored zero is an arc,
a zero of a dense matrix is none. Nothing more is reduced here, for parallel arcs and self-loops do
no harm to a search.

SciPy computes in float64. Where weights are integers, and n - 1 of the heaviest sum to no more than
2^53, a sum of integers is the same number: then integers are searched, which is faster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph._validation import validate_graph

from sssp.cpu.small_rows import LARGEST, both_ways_kernel, integers_kernel
from sssp.graph.check_arrays import is_sparse
from sssp.graph.csr import sealed, tails_of
from sssp.graph.graph import Graph
from sssp.graph.weights import Extremes
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, OFFSET

#: up to here every integer is a float64
EXACT = 1 << 53
NO_ROWS = np.empty(0, INDEX)


class Arcs(NamedTuple):
    """Arcs in compressed sparse rows, parallel ones and self-loops among them.

    Attributes
    ----------
    indptr : ndarray, shape (n + 1,), int64
    indices : ndarray, shape (m,), int32
        Heads, in any order within a row.
    weights : ndarray, shape (m,), int32, int64 or float64
        Finite, but for minus infinity.
    least : number
        No weight is less, and it is 0 or less.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[Any]
    least: Any

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.indptr.size - 1


def csr_of(csgraph: Any, directed: bool) -> Any:
    """Validate a graph as SciPy does.

    Returns
    -------
    CSR matrix or array
        Of float64 as SciPy has it, or of integers if it was given so, each place once.

    Raises
    ------
    ValueError, TypeError
        As SciPy raises them.
    """
    if (
        is_sparse(csgraph)
        and csgraph.format == "csr"
        and csgraph.dtype in (INT32, INT64)
        and len(csgraph.shape) == 2
        and csgraph.shape[0] == csgraph.shape[1]
        and csgraph.has_canonical_format
    ):
        return csgraph
    return validate_graph(csgraph, directed, dense_output=False)


def arcs_of(matrix: Any, directed: bool, unweighted: bool) -> Arcs:
    """Return the arcs of a validated graph.

    Parameters
    ----------
    matrix : CSR matrix or array
        Of `csr_of`.
    directed : bool
        If not, every entry is an arc both ways.
    unweighted : bool
        Whether every entry weighs 1, whatever it holds. Else NaN and infinity are no arcs.
    """
    indptr: NDArray[Any] = matrix.indptr.astype(OFFSET, copy=False)
    m = int(indptr[-1])
    indices = np.ascontiguousarray(matrix.indices[:m], INDEX)
    weights = np.ones(m, INT32) if unweighted else np.ascontiguousarray(matrix.data[:m])
    least = weights.min(initial=0)
    if weights.dtype.kind == "f" and not weights.max(initial=0) < np.inf:
        kept = weights < np.inf
        before = np.concatenate((np.zeros(1, OFFSET), np.cumsum(kept)))
        indptr, indices, weights = before[indptr], indices[kept], weights[kept]
        least = weights.min(initial=0)
    if not directed:
        firsts, heads = np.zeros_like(indptr), np.empty(2 * indices.size, INDEX)
        arcs = np.empty(heads.size, OFFSET)
        both_ways_kernel(sealed(indptr), sealed(indices), firsts, heads, arcs)
        indptr, indices, weights = firsts, heads, weights[arcs]
    return Arcs(indptr, indices, weights, least)


def is_exact(n: int, least: Any, greatest: Any) -> bool:
    """Whether sums of integers between these, over paths in n vertices, are float64 as they are."""
    return max(-int(least), int(greatest)) * max(n - 1, 1) <= EXACT


def graph_of(arcs: Arcs) -> Graph:
    """Return a graph of the arcs for the solvers, and for them alone.

    Its weights are integers where that makes no difference. Parallel arcs are left in it, but for
    the sake of negative weights (a cycle is looked for by the ends of its arcs) the lightest of
    them alone.
    """
    weights, extremes = _exact(arcs)
    if arcs.least < 0:
        return Graph.from_arcs(tails_of(arcs.indptr), arcs.indices, weights, n=arcs.n)
    graph = Graph._from_csr(
        arcs.indptr,
        arcs.indices,
        weights,
        arc_origin=NO_ROWS,
        input_arcs=0,
        directed=True,
        parallel_arcs=0,
        self_loops=0,
    )
    graph._cached("extremes", lambda: extremes)
    return graph


def _exact(arcs: Arcs) -> tuple[NDArray[Any], Extremes]:
    """Return the weights as int32 or int64 if sums of them are the same, else as float64."""
    weights = arcs.weights
    if weights.dtype.kind == "f":
        narrow = np.empty(weights.size, INT32)
        if integers_kernel(sealed(weights), narrow):
            weights = narrow
    least = weights.min().item() if weights.size else 0
    greatest = weights.max().item() if weights.size else 0
    dtype: np.dtype[Any] = FLOAT64
    if _are_integers(weights, least, greatest) and is_exact(arcs.n, least, greatest):
        dtype = INT32 if least >= -LARGEST and greatest <= LARGEST else INT64
    number = float if dtype == FLOAT64 else int
    extremes = Extremes(number(least), number(greatest), closed=0, idle=0)
    return weights.astype(dtype, copy=False), extremes


def _are_integers(weights: NDArray[Any], least: Any, greatest: Any) -> bool:
    if weights.dtype.kind == "i":
        return True
    return max(-least, greatest) <= EXACT and bool((np.floor(weights) == weights).all())
