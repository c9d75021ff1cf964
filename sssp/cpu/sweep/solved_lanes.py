"""Rows that were swept side by side, and what the forms of an answer ask of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.decay import ordered_sums_of_lanes
from sssp.engine.narrow import convert_into
from sssp.engine.outputs import Entries, least_number
from sssp.engine.request import Reduction, Walks
from sssp.kernels.dtypes import INDEX, INT32, INT64
from sssp.kernels.jit import njit

#: places whose lanes are turned into rows together
TILE = 64


@njit
def _gather_kernel(block, start, places, rows):
    """Write lanes of some places as rows, some places at a time, which stay in the cache."""
    for low in range(0, places.size, TILE):
        high = min(low + TILE, places.size)
        for lane in range(rows.shape[0]):
            for column in range(low, high):
                rows[lane, column] = block[np.uint64(places[column]), start + lane]


@njit
def _reached_kernel(block, start, bound, places, vertices, distances):
    """Write what is reached in lanes row by row; `places` tell where that of every row begins."""
    for vertex in range(block.shape[0]):
        row = block[vertex, start : start + places.size]
        for lane in range(places.size):
            if row[lane] <= bound:
                vertices[places[lane]], distances[places[lane]] = vertex, row[lane]
                places[lane] += 1


@njit
def _reduce_kernel(block, start, places, bound, least, counts, greatest, upper, lower):
    """Count, compare and add up what is reached in lanes; `least` stands where nothing is.

    Sums go to `lower`, or their upper and lower 32 bits to both, where `upper` is not None; nowhere
    if `lower` is None. A loop each, so that the compiler sees which arrays do not overlap.
    """
    zero = block.dtype.type(0)
    for i in range(places.size):
        row = block[np.uint64(places[i]), start : start + counts.size]
        for lane in range(counts.size):
            counts[lane] += row[lane] <= bound
        for lane in range(counts.size):
            greatest[lane] = max(greatest[lane], row[lane] if row[lane] <= bound else least)
        if lower is None:
            continue
        if upper is None:
            for lane in range(counts.size):
                lower[lane] += np.int64(row[lane] if row[lane] <= bound else zero)
        else:
            for lane in range(counts.size):
                upper[lane] += (row[lane] if row[lane] <= bound else zero) >> 32
            for lane in range(counts.size):
                lower[lane] += (row[lane] if row[lane] <= bound else zero) & 0xFFFFFFFF


@njit
def _weigh_kernel(block, start, places, bound, weights, upper, lower):
    """Add up the weights of what is reached in lanes, their upper and lower 32 bits.

    Shapes: weights (places, c), sums (c, lanes).
    """
    zero = np.int64(0)
    for i in range(places.size):
        row = block[np.uint64(places[i]), start : start + upper.shape[1]]
        for column in range(upper.shape[0]):
            high, low = weights[i, column] >> 32, weights[i, column] & 0xFFFFFFFF
            for lane in range(upper.shape[1]):
                lower[column, lane] += low if row[lane] <= bound else zero
            if high != 0:
                for lane in range(upper.shape[1]):
                    upper[column, lane] += high if row[lane] <= bound else zero


class SweptLanes:
    """Finished rows side by side, as `sssp.engine.outputs.FinishedRows` wants them.

    Parameters
    ----------
    rows : range
        Which rows of the request.
    block : ndarray, shape (places, lanes)
        Their distances,
    start : int
        from this lane on.
    bound : number
        What is farther is not reached, whatever stands there: whole rows that are copied hold
        what results do.
    columns : ndarray, int64
        The places that the request wants, in its order; all of them are in order of vertex.

    What vertices weigh in a reduction stands in the same order.
    """

    origin: NDArray[np.int32] | None = None
    walks: Walks | None = None

    def __init__(
        self,
        rows: range,
        block: NDArray[Any],
        start: int,
        bound: Any,
        columns: NDArray[np.int64],
    ) -> None:
        self.rows, self._block, self._start = rows, block, start
        self._bound, self._columns = bound, columns

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Write the columns that the request wants."""
        if np.may_share_memory(out, self._block):
            return  # they were found in place
        in_place = out.dtype == self._block.dtype and out.flags.c_contiguous
        found = out if in_place else np.empty(out.shape, self._block.dtype)
        _gather_kernel(self._block, self._start, self._columns, found)
        if not in_place:
            convert_into(found, out)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """There are none."""
        raise AssertionError("trees are not found side by side")

    def paths(self) -> Entries:
        """There are none."""
        raise AssertionError("trees are not found side by side")

    def reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances."""
        assert not tails
        counts, dtype = self._numbers["count"], self._block.dtype
        ends = np.cumsum(counts)
        vertices, distances = np.empty(ends[-1], INDEX), np.empty(ends[-1], dtype)
        _reached_kernel(self._block, self._start, self._bound, ends - counts, vertices, distances)
        return Entries(counts, vertices, distances, None)

    def reduced(self, reduction: Reduction) -> NDArray[Any]:
        """Return what a step of a reduction makes of each row."""
        what, weights, dtype = reduction.what, reduction.vertex_weights, self._block.dtype
        if not reduction.is_exact(dtype):
            return ordered_sums_of_lanes(
                self._block, self._start, len(self.rows), self._columns, self._bound, weights,
                reduction.decay,
            )  # fmt: skip
        if weights is None:
            return self._numbers[what]
        upper, lower = np.zeros((2, reduction.columns, len(self.rows)), INT64)
        _weigh_kernel(self._block, self._start, self._columns, self._bound, weights, upper, lower)
        return np.stack((upper.T, lower.T), axis=2)

    @cached_property
    def _numbers(self) -> dict[str, NDArray[Any]]:
        """What is found in one pass: of floats without their sums, which depend on their order."""
        dtype, lanes = self._block.dtype, len(self.rows)
        floats = dtype.kind == "f"
        least = least_number(dtype)
        counts, greatest = np.zeros(lanes, dtype), np.full(lanes, least, dtype)
        upper, lower = np.zeros((2, lanes), INT64)
        _reduce_kernel(
            self._block, self._start, self._columns, self._bound, dtype.type(least), counts,
            greatest, None if floats or dtype == INT32 else upper, None if floats else lower,
        )  # fmt: skip
        if not floats:
            greatest = np.where(counts > 0, greatest.astype(INT64), least_number(INT64))
        return {
            "count": counts.astype(INT64),
            "eccentricity": greatest,
            "sum": np.stack((upper, lower), axis=1)[:, np.newaxis],
        }
