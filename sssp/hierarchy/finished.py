"""Rows that were swept side by side, and what the forms of an answer ask of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.finished import HostRows
from sssp.engine.forms import Entries, least_number
from sssp.engine.narrow import convert_into
from sssp.engine.query import Reduction, Walks
from sssp.kernels.dtypes import INDEX, INT32, INT64, unreached
from sssp.kernels.jit import njit

__all__ = ["SweptLanes"]


@njit
def _gather_kernel(block, start, places, rows):
    """Write lanes of some places as rows."""
    for column in range(places.size):
        place = places[column]
        for lane in range(rows.shape[0]):
            rows[lane, column] = block[place, start + lane]


@njit
def _reduce_kernel(block, start, unseen, least, counts, greatest, upper, lower):
    """Count, compare and add up what is reached in lanes; `least` stands where nothing is.

    Sums go to `lower`, or their upper and lower 32 bits to both, where `upper` is not None. A loop
    each, so that the compiler sees which arrays do not overlap.
    """
    zero = block.dtype.type(0)
    for place in range(block.shape[0]):
        row = block[place, start : start + counts.size]
        for lane in range(counts.size):
            counts[lane] += row[lane] != unseen
        for lane in range(counts.size):
            greatest[lane] = max(greatest[lane], row[lane] if row[lane] != unseen else least)
        if upper is None:
            for lane in range(counts.size):
                lower[lane] += np.int64(row[lane] if row[lane] != unseen else zero)
        else:
            for lane in range(counts.size):
                upper[lane] += (row[lane] if row[lane] != unseen else zero) >> 32
            for lane in range(counts.size):
                lower[lane] += (row[lane] if row[lane] != unseen else zero) & 0xFFFFFFFF


class SweptLanes:
    """Finished rows side by side, as `sssp.engine.forms.FinishedRows` wants them.

    Parameters
    ----------
    rows : range
        Which rows of the query.
    block : ndarray, shape (places, lanes)
        Their distances,
    start : int
        from this lane on.
    columns : ndarray, int64, or None
        The places that the query wants, in its order; None: all, which are in order of vertex.
    """

    origin: NDArray[np.int32] | None = None
    walks: Walks | None = None

    def __init__(
        self, rows: range, block: NDArray[Any], start: int, columns: NDArray[np.int64] | None
    ) -> None:
        self.rows, self._block, self._start, self._columns = rows, block, start, columns

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Write the columns that the query wants."""
        if np.may_share_memory(out, self._block):
            return  # they were found in place
        columns = np.arange(len(self._block)) if self._columns is None else self._columns
        found: NDArray[Any] = np.empty((len(self.rows), columns.size), self._block.dtype)
        _gather_kernel(self._block, self._start, columns, found)
        convert_into(found, out)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """There are none."""
        raise AssertionError("trees are not found side by side")

    def paths(self) -> Entries:
        """There are none."""
        raise AssertionError("trees are not found side by side")

    def reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances."""
        return self._one_by_one.reached(tails=tails)

    def reduced(self, reduction: Reduction) -> NDArray[Any]:
        """Return what a step of a reduction makes of each row."""
        if reduction.what in self._numbers:
            return self._numbers[reduction.what]
        return self._one_by_one.reduced(reduction)

    @cached_property
    def _numbers(self) -> dict[str, NDArray[np.int64]]:
        """What is found without looking at every row by itself: of all vertices, in integers."""
        if self._columns is not None or self._block.dtype.kind == "f":
            return {}
        dtype, lanes = self._block.dtype, len(self.rows)
        least = np.iinfo(dtype).min
        counts, greatest = np.zeros(lanes, dtype), np.full(lanes, least, dtype)
        upper, lower = np.zeros((2, lanes), INT64)
        _reduce_kernel(
            self._block, self._start, unreached(dtype), dtype.type(least), counts, greatest,
            None if dtype == INT32 else upper, lower,
        )  # fmt: skip
        return {
            "count": counts.astype(INT64),
            "eccentricity": np.where(counts > 0, greatest.astype(INT64), least_number(INT64)),
            "sum": np.stack((upper, lower), axis=1)[:, np.newaxis],
        }

    @cached_property
    def _one_by_one(self) -> HostRows:
        end = self._start + len(self.rows)
        distances = np.ascontiguousarray(self._block[:, self._start : end].T)
        unseen = unreached(distances.dtype)
        reached = [np.flatnonzero(row != unseen).astype(INDEX) for row in distances]
        return HostRows(self.rows, self._columns, distances, reached)
