"""An exact test, after a search, whether a distance exceeded what its dtype can hold.

Searches drop what is longer than their bound, and say so. Where that bound is only what the
dtype can hold, a dropped candidate matters if its head is wanted and no other way led there: if a
vertex stayed unreached, and an arc leads to one from a reached vertex with a sum within the limit
of the call. Only then does a call go on in a wider dtype, or raise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.request import Request
from sssp.kernels.dtypes import FLOAT64, INT64, WeightRange, infinity, largest_distance, unreached
from sssp.kernels.jit import njit

ONE = np.uint64(1)


@njit
def _has_missed_vertex_kernel(indptr, indices, weights, distances, reached, unseen, limit):
    """Return whether some arc gives an unreached vertex a distance of at most `limit`.

    ``limit`` has the type in which sums are taken: int64, which none of them leaves, or float64.
    """
    wide = type(limit)
    for i in range(reached.size):
        tail = np.uint32(reached[i])
        start = wide(distances[tail])
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            if distances[indices[arc]] == unseen and start + wide(weights[arc]) <= limit:
                return True
    return False


@lru_cache
def wide_limit(limit: int | float | None, kind: str) -> Any:
    """Return the distance limit as int64 or float64; without a limit, the type's greatest value."""
    if kind == "f":
        return FLOAT64.type(infinity(FLOAT64) if limit is None else limit)
    beyond = np.iinfo(INT64).max
    return INT64.type(beyond if limit is None else min(int(limit), beyond))


class OverflowTest:
    """A test whether a vertex is unreached only because its distance overflows the dtype.

    Parameters
    ----------
    request : Request
    n : int
        Number of vertices.
    weights : WeightRange
        Of the open arcs.
    dtype : dtype
        Of the search.
    """

    def __init__(
        self, request: Request, n: int, weights: WeightRange, dtype: np.dtype[Any]
    ) -> None:
        self.unseen = unreached(dtype)
        self._query = request
        self.targets = None if weights.least < 0 else request.targets
        largest = largest_distance(dtype)
        self._possible = request.limit is None or request.limit >= largest.item()
        self.dropped_silently = False
        self.limit = wide_limit(request.limit, dtype.kind)
        if dtype.kind == "f":
            # an infinite sum is no shorter than unreached, so kernels do not notice it
            self.dropped_silently = float(weights.greatest) * max(n - 1, 0) > float(largest)

    def concerns(self, dropped: Any) -> Any:
        """Return whether a row, or each of several rows, needs the test for overflowed distances.

        Parameters
        ----------
        dropped : bool, or ndarray of bool
            Whether its search says that it dropped a candidate; of one row, or of several.
        """
        return self._possible & (dropped | self.dropped_silently)

    def overflowed(
        self,
        arcs: tuple[NDArray[Any], ...],
        distances: NDArray[Any],
        reached: NDArray[np.integer[Any]],
        row: int = 0,
    ) -> bool:
        """Return whether a needed distance of the row may be missing only because of overflow.

        Over negative arcs every vertex may lie on the way to a wanted one. O(arcs of the reached
        vertices) time.
        """
        if self.targets is not None:
            wanted = self._query.targets_of(row)
            if not (distances[wanted] == self.unseen).any():
                return False
        return bool(_has_missed_vertex_kernel(*arcs, distances, reached, self.unseen, self.limit))
