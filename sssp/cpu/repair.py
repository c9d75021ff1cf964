"""Float rows made exact: what sums from the source outward, in any order of relaxation, come to.

A row that was found in another way (by potentials, say) holds for every vertex the sum along some
path, added from the source on; but rounding, or a potential that swallowed a weight, may have let
it choose a path that is not the shortest. Relaxing arcs from there until none is violated gives,
to the bit, what Bellman-Ford gives from the beginning: floating-point addition never reverses an
order, so the least sum over all paths is a fixed point, and every label is the sum of a path.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.graph.csr import arc_position
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit

#: expansions for every vertex after which a row is left to a search from the beginning
EXPANSIONS = 4


@njit
def _sum_along_kernel(indptr, indices, weights, source, predecessors, distances, climb):
    """Add the weights along the tree, outward; the rest is inf."""
    distances[:] = np.inf
    distances[source] = 0
    for start in range(predecessors.size):
        height, vertex = 0, start
        while distances[vertex] == np.inf and predecessors[vertex] >= 0:
            climb[height] = vertex
            height += 1
            vertex = predecessors[vertex]
        for i in range(height - 1, -1, -1):
            head = climb[i]
            tail = predecessors[head]
            arc = arc_position(indptr, indices, tail, head)
            distances[head] = distances[tail] + weights[arc]


@njit
def _repair_kernel(indptr, indices, weights, distances, queued, queue, most):
    """Relax violated arcs until there are none; return whether that took at most `most` turns."""
    n = distances.size
    number = distances.dtype.type
    size = 0
    for tail in range(n):
        queued[tail] = False
        if distances[tail] == np.inf:
            continue
        for arc in range(indptr[tail], indptr[tail + 1]):
            if number(distances[tail] + weights[arc]) < distances[indices[arc]]:
                queued[tail] = True
                queue[size] = tail
                size += 1
                break
    first, turns = 0, 0
    while size > 0:
        tail = queue[first]
        first = first + 1 if first + 1 < n else 0
        size -= 1
        turns += 1
        if turns > most:
            return False
        queued[tail] = False
        start = distances[tail]
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            candidate = number(start + weights[arc])
            if candidate < distances[head]:
                distances[head] = candidate
                if not queued[head]:
                    queued[head] = True
                    queue[(first + size) % n] = head
                    size += 1
    return True


def sum_along(
    arcs: tuple[NDArray[Any], ...],
    source: int,
    predecessors: NDArray[np.int32],
    distances: NDArray[Any],
) -> None:
    """Fill a row with the sums of the weights along a tree, added outward in its dtype.

    Parameters
    ----------
    arcs : tuple of ndarray
        ``indptr``, ``indices``, and ``weights`` in the dtype of the distances.
    source : int
    predecessors : ndarray, shape (n,), int32
    distances : ndarray, shape (n,), float32 or float64
    """
    climb = np.empty(predecessors.size, INDEX)
    _sum_along_kernel(*arcs, source, predecessors, distances, climb)


def repair(arcs: tuple[NDArray[Any], ...], distances: NDArray[Any]) -> bool:
    """Relax the violated arcs of a row until there are none.

    Parameters
    ----------
    arcs : tuple of ndarray
        ``indptr``, ``indices``, and ``weights`` in the dtype of the distances.
    distances : ndarray, shape (n,), float32 or float64
        Sums along paths; inf where unreached.

    Returns
    -------
    bool
        Whether it came to an end; if not, a search from the source finds the row.
    """
    n = distances.size
    queued, queue = np.empty(n, np.bool_), np.empty(n, INDEX)
    done: bool = _repair_kernel(*arcs, distances, queued, queue, EXPANSIONS * n)
    return done
