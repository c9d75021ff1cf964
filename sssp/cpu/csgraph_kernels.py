"""Kernels of `sssp.csgraph`: convert SciPy matrices, search graphs, convert the results."""

import numpy as np

from sssp.cpu.search.bellman_ford import bellman_ford_kernel
from sssp.cpu.search.dijkstra import dijkstra_kernel
from sssp.cpu.search_driver import COUNTERS
from sssp.cpu.tree import fewest_arcs_kernel, origins_kernel
from sssp.kernels.dtypes import INT32
from sssp.kernels.jit import njit
from sssp.kernels.status import DONE

#: the greatest number that is an int32 and weighs less than a closed arc
LARGEST = float(np.iinfo(INT32).max - 1)
#: entries of a dense matrix up to here count as 0, which means no arc
#: (`numpy.ma.masked_values`, by which SciPy tells)
NOTHING = 1e-8


@njit
def both_ways_kernel(indptr, indices, firsts, heads, arcs):
    """Build CSR arrays that hold every given arc and its reverse arc.

    ``firsts`` int64, shape (n + 1,), is zero on entry; ``heads`` and ``arcs``, shape (2 m,), get
    the heads and which of the given arcs they belong to.
    """
    n = firsts.size - 1
    for tail in range(n):
        firsts[tail + 1] += indptr[tail + 1] - indptr[tail]
        for arc in range(indptr[tail], indptr[tail + 1]):
            firsts[indices[arc] + 1] += 1
    for vertex in range(n):
        firsts[vertex + 1] += firsts[vertex]
    places = firsts[:-1].copy()
    for tail in range(n):
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            heads[places[tail]], arcs[places[tail]] = head, arc
            places[tail] += 1
            heads[places[head]], arcs[places[head]] = tail, arc
            places[head] += 1


@njit
def rows_kernel(indptr, indices, weights, sources, bound, distances, predecessors, origin):
    """Run Dijkstra from each source, or once from all together; weights must be 0 or more.

    That is one row, if ``origin`` is not None but int32, shape (n,), and gets the nearest source,
    if predecessors are wanted; sources are ascending then. ``distances`` float64, shape (k, n), and
    ``predecessors`` int32, shape (k, n), or (0, n) where they are not wanted, are written here.
    """
    arcs, n = (indptr, indices, weights), distances.shape[1]
    reached, counters = np.empty(n, np.int32), np.zeros(COUNTERS, np.int64)
    distances[:] = np.inf
    predecessors[:] = -1
    for row in range(distances.shape[0]):
        starts = sources[row : row + 1] if origin is None else sources
        lengths = distances[row]
        _, count = dijkstra_kernel(*arcs, starts, starts[:0], bound, lengths, reached, counters)
        if predecessors.shape[0] > 0:
            if origin is not None:
                origin[:] = -1
                origins_kernel(*arcs, starts, lengths, bound, 0.0, origin, np.empty(n, np.int32))
            fewest_arcs_kernel(
                *arcs, starts, lengths, reached[:count], bound, 0.0, origin, predecessors[row]
            )


@njit
def rounds_kernel(indptr, indices, weights, sources, everywhere, bound, distances, predecessors):
    """Find distances of each source by Bellman-Ford; return False if they may be inexact.

    It is not if a cycle may be negative, or a sum is out of bounds. ``everywhere`` int64: where a
    search begins that comes before all others, to see of all cycles that none is negative.
    """
    arcs, n = (indptr, indices, weights), distances.shape[1]
    reached, counters = np.empty(n, np.int32), np.zeros(COUNTERS, np.int64)
    scratch = np.empty((5, n), np.int32)
    distances[:] = np.inf
    predecessors[:] = -1
    before = np.full(n, np.inf)
    for row in range(-1, sources.size):
        source, lengths = everywhere, before
        if row >= 0:
            source, lengths = sources[row : row + 1], distances[row]
        counters[:] = 0
        status, count = bellman_ford_kernel(
            *arcs, source, np.inf, bound, lengths, reached, counters, True, bound, scratch[0],
            scratch[1], scratch[2], scratch[3], scratch[4],
        )  # fmt: skip
        if status != DONE:
            return False
        if row >= 0 and predecessors.shape[0] > 0:
            row_of = lengths, reached[:count], bound
            if fewest_arcs_kernel(*arcs, source, *row_of, 0.0, None, predecessors[row]) != count:
                return False
    return True


@njit
def dense_kernel(given, dense):
    """Copy the entries of a matrix to `dense`, with infinity for every entry that means no arc."""
    for i in range(given.size):
        weight = given[i]
        dense[i] = weight if NOTHING < abs(weight) < np.inf else np.inf


@njit
def matrix_extremes_kernel(matrix):
    """Return bounds of the finite entries, and two flags: all are numbers; all are integers.

    Minus infinity does not count as a number.
    """
    least = greatest = 0.0
    proper, whole = True, True
    for i in range(matrix.size):
        weight = matrix[i]
        if weight == np.inf:
            continue
        proper &= weight > -np.inf
        whole &= np.floor(weight) == weight
        least, greatest = min(least, weight), max(greatest, weight)
    return least, greatest, proper, whole
