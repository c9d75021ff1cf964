"""Input of a search on a GPU (a batch of rows), and the interface of such searches.

How many rows fit into the free memory is decided in `sssp.cuda.batch_size`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sssp.cuda.graph_replay import key_of_fields
from sssp.cuda.pool import device_array, fill

RowArrays = tuple[tuple[tuple[int, ...], DTypeLike], ...]

#: int64 words of a row in ``Batch.counters``: what the method counts, in the order of its
#: ``statistics``; last a status code (`sssp.kernels.status`)
COUNTERS = 8
CLIPPED_ROW = 7


def row_bytes(arrays: RowArrays) -> int:
    """Return the bytes that one row takes in arrays of the given shapes and dtypes."""
    return sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in arrays)


@dataclass
class Batch:
    """Rows of a request that one search solves together on the device, with their arrays.

    Attributes
    ----------
    rows : int
        How many.
    sources, first_sources : device arrays, int64
        Row i starts from ``sources[first_sources[i]:first_sources[i + 1]]``; of the latter there
        may be more.
    targets : device array, int64
        Empty: all vertices.
    bound, unseen : number
        Greatest distance of interest, and what stands for none.
    distances : device array, shape (rows, columns)
        All `unseen` before the search, unless it `writes_all`.
    counters : device array, shape (rows, COUNTERS), int64
        Zero before the search. Memory of the host, if the search `writes_all`.
    stream : stream
    tails : device array, int32, or None
        Where predecessors go, of a search that `finds_trees`; in the shape of the distances.
    given : device array, int64
        The sources, in memory of the host: a search that `writes_all` copies them to `sources`.
    """

    rows: int
    sources: Any
    first_sources: Any
    targets: Any
    bound: Any
    unseen: Any
    distances: Any
    counters: Any
    stream: Any
    tails: Any = None
    given: Any = None

    @cached_property
    def replay_key(self) -> Any:
        """Key under which recorded GPU launches are cached, made of all fields but the stream."""
        return key_of_fields(replace(self, stream=None))

    def fill(self, array: Any, value: Any) -> None:
        """Set all entries of a device array to a value, in stream order."""
        fill(array, array.dtype.type(value), self.stream)


class Search(ABC):
    """Base class of CUDA searches, for one graph in one dtype."""

    #: whether the arcs come and go, because there may not be room for all
    arcs_travel = False
    #: rows that fill the device; None: a few for every multiprocessor
    rows_at_once: int | None = None
    #: batches are of a multiple of so many rows, but for the last
    together = 1
    #: whether it writes every distance, its counters on the host, and the sources on the device, so
    #: that nothing is filled or copied around it: that takes longer than a small kernel
    writes_all = False
    #: whether it leaves predecessors too, which need not be found from its distances then
    finds_trees = False
    #: distances that it leaves of every row: those of the targets, in their order, or none, because
    #: it finds what becomes of them; None: those of all vertices
    columns: int | None = None
    #: of all rows together, how far apart neighbours in a row stand in the answer on the device,
    #: if rows stand side by side there; None: one row stands behind the other
    pitch: int | None = None
    #: arrays of scratch: shape of a row, and dtype
    row_arrays: RowArrays = ()
    #: whether it reads the targets of a batch
    reads_targets = True
    #: whether launches depend on nothing but the batch, the scratch and its `replay_key`, so that
    #: they can be recorded
    is_replayed = False

    @property
    def ready(self) -> Any:
        """CUDA event to wait for until the search's input is prepared; None if it is ready."""
        return None

    def part(self, rows: range) -> Search:
        """Return the search for a batch of rows: this one, unless a subclass makes another."""
        return self

    def alike(self, rows: int, most: int) -> int:
        """Return a batch size of about `most` rows that splits `rows` into nearly equal batches."""
        alike = -(-rows // max(1, -(-rows // most)))
        return -(-alike // self.together) * self.together

    @property
    def row_bytes(self) -> int:
        """Bytes of scratch memory that a batch needs for each of its rows."""
        return row_bytes(self.row_arrays)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of scratch of a batch that do not depend on its number of rows."""
        return 0

    @property
    def kind(self) -> Any:
        """Part of the key by which scratch is reused: the shapes and dtypes of its arrays."""
        return self.row_arrays

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return a tuple of device arrays, as scratch memory for a batch of at most `rows` rows."""
        return tuple(device_array((rows, *shape), kind) for shape, kind in self.row_arrays)

    @abstractmethod
    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Search from the sources of a batch; write the distances and counters of each row.

        Another batch may be under way on another stream: what is written to belongs to the
        batch or its scratch.
        """

    def complete(self, rows: Any, scratch: tuple[Any, ...]) -> Any:
        """Return the results of a finished batch, from which the answer is built."""
        return rows
