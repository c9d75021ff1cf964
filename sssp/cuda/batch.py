"""What a search on a GPU is handed, rows that are solved side by side, and what it has to offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from sssp.cuda.fill import fill

__all__ = ["CLIPPED_ROW", "COUNTERS", "Batch", "Search"]

#: int64 words of a row in ``Batch.counters``: what the method counts, in the order of its
#: ``statistics``; last a status code (`sssp.kernels.status`)
COUNTERS = 8
CLIPPED_ROW = 7


@dataclass
class Batch:
    """Rows that are solved side by side, on the device.

    Attributes
    ----------
    sources, first_sources : device arrays, int64
        Row i starts from ``sources[first_sources[i]:first_sources[i + 1]]``.
    targets : device array, int64
        Empty: all vertices.
    bound, unseen : number
        Greatest distance of interest, and what stands for none.
    distances : device array, shape (rows, n)
        All `unseen` before the search.
    counters : device array, shape (rows, COUNTERS), int64
        Zero before the search.
    stream : stream
    """

    sources: Any
    first_sources: Any
    targets: Any
    bound: Any
    unseen: Any
    distances: Any
    counters: Any
    stream: Any

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.distances.shape[0])

    def fill(self, array: Any, value: Any) -> None:
        """Set all entries of a device array, in the order of the stream."""
        fill(array, array.dtype.type(value), self.stream)


class Search(ABC):
    """A method, ready to run on one graph in one dtype."""

    #: whether the arcs come and go, because there may not be room for all
    arcs_travel = False
    #: rows that fill the device; None: a few for every multiprocessor
    rows_at_once: int | None = None

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Bytes of scratch for one row."""

    @property
    def fixed_bytes(self) -> int:
        """Bytes of scratch that a batch needs whatever the number of its rows."""
        return 0

    @abstractmethod
    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return scratch for a batch of at most so many rows."""

    @abstractmethod
    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Fill the distances and counters of a batch.

        Another batch may be under way on another stream: what is written to belongs to the
        batch or its scratch.
        """
