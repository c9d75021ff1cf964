"""Searches on the graphs that `scipy.sparse.csgraph` accepts; results as SciPy has them.

SciPy's own validation decides what an entry means: entries of a COO matrix at one place sum, and
so do those of a CSR matrix, but of float64, where they are parallel arcs; a stored zero is an arc,
a zero of a dense matrix is none. Nothing more is reduced here, for parallel arcs and self-loops do
no harm to a search.

SciPy computes in float64. Where weights are integers, and n - 1 of the heaviest sum to no more than
2^53, a sum of integers is the same number: then integers are searched, which is faster.

A small graph is searched in one call of a kernel, since the engine's own work takes longer there
than the search; all else goes through the engine. Both find the same: distances added from the
source outward, and of all trees the one with the fewest arcs, then the smallest tails.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph._validation import validate_graph

from sssp.calls.johnson import johnson
from sssp.calls.make_plan import make_plan
from sssp.cpu import csgraph_kernels as kernels
from sssp.engine import thresholds
from sssp.engine.device_names import named_device
from sssp.engine.plan import Plan, run_placed
from sssp.engine.request import Answer, Request
from sssp.errors import DistanceOverflowError, NegativeCycleError
from sssp.graph.check_arrays import is_sparse
from sssp.graph.csr import offsets, seal, tails_of
from sssp.graph.graph import Graph
from sssp.graph.weights import Extremes
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, OFFSET, largest_distance, unreached
from sssp.methods import BellmanFord, DeltaStepping, Johnson, Method

#: up to here every integer is a float64
EXACT = 1 << 53
NO_ROWS = np.empty(0, INDEX)


class ScipyArcs(NamedTuple):
    """Arcs in compressed sparse rows, possibly with parallel arcs and self-loops.

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


def validate_csr(csgraph: Any, directed: bool) -> Any:
    """Validate a graph as SciPy does; return it as a CSR matrix.

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
    return validate(csgraph, directed, dense_output=False)


def validate(csgraph: Any, directed: bool, **options: Any) -> Any:
    """Validate a matrix as SciPy does; refuse a graph of this package."""
    refuse_graph(csgraph)
    return validate_graph(csgraph, directed, **options)


def refuse_graph(csgraph: Any) -> None:
    """Raise an error if a graph of this package is given in place of a matrix."""
    if hasattr(csgraph, "_tree_graph"):
        csgraph._tree_graph._refuse_turns("a function of SciPy's")
        raise TypeError(
            "csgraph must be a matrix: ask sssp.shortest_paths of a graph, or give g.to_scipy()"
        )


def arcs_of(matrix: Any, directed: bool, unweighted: bool) -> ScipyArcs:
    """Return the arcs of a validated CSR matrix as `ScipyArcs`.

    Parameters
    ----------
    matrix : CSR matrix or array
        Of `validate_csr`.
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
        indptr, indices, weights = offsets(kept)[indptr], indices[kept], weights[kept]
        least = weights.min(initial=0)
    if not directed:
        firsts, heads = np.zeros_like(indptr), np.empty(2 * indices.size, INDEX)
        arcs = np.empty(heads.size, OFFSET)
        kernels.both_ways_kernel(seal(indptr), seal(indices), firsts, heads, arcs)
        indptr, indices, weights = firsts, heads, weights[arcs]
    return ScipyArcs(indptr, indices, weights, least)


def is_exact(n: int, least: Any, greatest: Any) -> bool:
    """Return whether float64 holds all path lengths of n vertices and integer weights exactly."""
    return max(-int(least), int(greatest)) * max(n - 1, 1) <= EXACT


def graph_of(arcs: ScipyArcs) -> Graph:
    """Convert the arcs of a SciPy matrix to a `Graph`, which may have parallel arcs.

    Its weights are integers where that makes no difference. Parallel arcs are left in it, but for
    the sake of negative weights (a cycle is looked for by the ends of its arcs) the lightest of
    them alone.
    """
    weights = arcs.weights
    least = weights.min().item() if weights.size else 0
    greatest = weights.max().item() if weights.size else 0
    integral = weights.dtype.kind == "i" or (
        max(-least, greatest) <= EXACT and bool((np.floor(weights) == weights).all())
    )
    dtype: np.dtype[Any] = FLOAT64
    if integral and is_exact(arcs.n, least, greatest):
        dtype = INT32 if least >= -kernels.LARGEST and greatest <= kernels.LARGEST else INT64
    weights = weights.astype(dtype, copy=False)
    if arcs.least < 0:
        return Graph.from_arcs(tails_of(arcs.indptr), arcs.indices, weights, n=arcs.n)
    graph = Graph._from_csr(
        arcs.indptr, arcs.indices, weights, arc_origin=NO_ROWS, input_arcs=0, directed=True,
        parallel_arcs=0, self_loops=0,
    )  # fmt: skip
    number = float if dtype == FLOAT64 else int
    extremes = Extremes(dtype, number(least), number(greatest), closed=0, idle=0)
    graph._cached("extremes", lambda: extremes)
    return graph


#: what SciPy writes where there is no predecessor, nor a source
NO_VERTEX = -9999
#: no sum in here is off by more, relative to what was added up
ROUNDING = 4 * float(np.finfo(FLOAT64).eps)
#: how far SciPy lets an arc be violated before it sees a negative cycle
TOLERANCE = 1e-15
ROUNDS = BellmanFord()
LONGEST = float(largest_distance(FLOAT64))


class SearchResult(NamedTuple):
    """A search result in the format of `scipy.sparse.csgraph`: distances and predecessors.

    Attributes
    ----------
    distances : ndarray, shape (k, n), float64
        inf where unreached.
    predecessors : ndarray, shape (k, n), int32, or None
        `NO_VERTEX` for none.
    sources : ndarray, shape (n,), int32, or None
        Of a search from all sources together, the nearest of them.
    """

    distances: NDArray[np.float64]
    predecessors: NDArray[np.int32] | None = None
    sources: NDArray[np.int32] | None = None


def as_floats(values: NDArray[Any], out: NDArray[np.float64], unit: int = 1) -> None:
    """Write distances to `out` as floats; an integer distance becomes ``distance // unit``."""
    out[...] = values if unit == 1 else values // unit
    out[values == unreached(values.dtype)] = np.inf


def with_null(vertices: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
    """Replace -1 (no vertex) in an array, if given, by SciPy's `NO_VERTEX`; return the array."""
    if vertices is not None:
        vertices[vertices < 0] = NO_VERTEX
    return vertices


def search_rows(
    arcs: ScipyArcs,
    sources: NDArray[np.int64],
    *,
    predecessors: bool,
    device: str,
    limit: float = math.inf,
    negative: Method = ROUNDS,
    nearest: bool = False,
) -> SearchResult | None:
    """Search from each source, or find each vertex's nearest source; return arrays as SciPy does.

    Parameters
    ----------
    arcs : ScipyArcs
    sources : ndarray, shape (k,), int64
    predecessors : bool
    device : str
        As the caller of the package gave it.
    limit : float
        Inclusive, 0 or more; with negative weights inf.
    negative : BellmanFord or Johnson
        The method for negative weights.
    nearest : bool
        Whether to find one row, and the nearest source of each vertex; for weights of 0 or more.

    Returns
    -------
    SearchResult or None
        None: SciPy is to decide. A weight is minus infinity, a sum is beyond all floats, or a
        cycle is so short below zero that SciPy may not see it.

    Raises
    ------
    NegativeCycleError
        The message is SciPy's.
    DeviceError
        The device cannot be used, or lacks memory.
    """
    if arcs.least == -np.inf:
        return None
    row_count = 1 if nearest else sources.size
    if _is_small(arcs, row_count, device) or (nearest and sources.size == 0):
        ends = seal(arcs.indptr).view(np.uint64), seal(arcs.indices).view(np.uint32)
        parts, shape = (*ends, seal(arcs.weights.astype(FLOAT64, copy=False))), (row_count, arcs.n)
        lengths: NDArray[np.float64] = np.empty(shape, FLOAT64)
        tails = np.empty(shape if predecessors else (0, arcs.n), INDEX)
        origin = np.empty(tails.size, INDEX) if nearest else None
        done = True
        if arcs.least >= 0:
            starts = np.sort(sources) if nearest else sources
            kernels.rows_kernel(*parts, starts, min(limit, LONGEST), lengths, tails, origin)
        else:
            everywhere = np.arange(arcs.n if isinstance(negative, Johnson) else 0)
            asked = *parts, sources, everywhere, LONGEST
            done = kernels.rounds_kernel(*asked, lengths, tails)
        if done:  # (else a cycle may be negative)
            trees = (tails, origin) if predecessors else ()
            return SearchResult(lengths, *map(with_null, trees))
    method = DeltaStepping() if arcs.least >= 0 else negative
    graph = graph_of(arcs)
    known = {method.name: type(method)}
    plan = make_plan(
        graph, sources, method=method, known=known, limit=limit, predecessors=predecessors,
        device=device, nearest=nearest,
    )  # fmt: skip
    distances: NDArray[np.float64] = np.empty((row_count, graph.n), FLOAT64)
    request = replace(plan.request, origins=predecessors, fewest_arcs=True, out=distances)
    plan = plan._replace(request=request)

    def answer(request: Request) -> Answer | None:
        part = plan._replace(request=request)
        return johnson(part) if isinstance(method, Johnson) else part.run()

    try:
        rows = run_placed(plan.request, answer)
    except DistanceOverflowError:
        return None
    except NegativeCycleError as error:
        # SciPy detects a cycle where an arc is violated by more than a tolerance, which one is
        # for certain if the cycle is longer below zero than all its arcs are allowed
        cycle = graph.weights[graph.arcs(error.cycle, np.roll(error.cycle, -1))].tolist()
        allowed = len(cycle) * (TOLERANCE + ROUNDING * math.fsum(map(abs, cycle)))
        if -math.fsum(cycle) <= allowed:
            return None
        raise _translate_cycle(plan, error) from None
    if rows is None:
        return None
    if rows.distances is not distances:
        as_floats(rows.distances, distances)
    trees = (rows.predecessors, rows.origin) if predecessors else ()
    return SearchResult(distances, *map(with_null, trees))


def _is_small(arcs: ScipyArcs, rows: int, device: str) -> bool:
    """Return whether the search may use the CPU and is so small that SciPy should do it."""
    size = arcs.n + arcs.indices.size
    small = size <= thresholds.SCIPY_ROW and rows * size <= thresholds.SCIPY_ROWS
    return named_device(device) in ("auto", "cpu") and small


def _translate_cycle(plan: Plan[Request], error: NegativeCycleError) -> NegativeCycleError:
    """Return the negative cycle error with SciPy's text and the vertex that SciPy names.

    Of Bellman-Ford it is the first source that reaches such a cycle; threads may have come to
    another first.
    """
    vertex = min(error.cycle)
    if isinstance(plan.method, BellmanFord):
        for part in plan.split(rows=1):
            try:
                part.run()
            except NegativeCycleError as first:
                vertex, error = int(part.request.sources[0]), first
                break
    return NegativeCycleError(f"Negative cycle detected on node {vertex}", error.cycle)
