"""Runs a CUDA search over all sources of a query: batches, memory, trees, the way back.

The twin of `sssp.cpu._rows`. A method is a `Search`: it launches kernels that fill the rows of a
`Batch`, all on one stream. Everything else is here, once for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sssp._collect import Row, make_collector
from sssp._dtypes import INDEX, largest_distance, unreached
from sssp._progress import progress_bar
from sssp._query import Answer, Query
from sssp.cuda import _tree
from sssp.cuda._memory import DeviceGraph, device_graph, download, free_bytes
from sssp.cuda._numba import cuda, device_number, select
from sssp.errors import DeviceError
from sssp.graph import Graph

__all__ = ["CLIPPED_ROW", "COUNTERS", "Batch", "Search", "solve_rows"]

#: int64 words of a row in ``Batch.counters``: statistics first, last whether it was clipped
COUNTERS = 8
CLIPPED_ROW = 7
#: part of the free memory that a call takes; the rest is for the driver and for others
SHARE = 0.9
#: sources in a batch: enough to fill any GPU, few enough that results come back meanwhile
LARGEST_BATCH = 1024
_NOBODY = np.empty(0, INDEX)


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
        _tree.fill(array, array.dtype.type(value), self.stream)


class Search(ABC):
    """A method, ready to run on one graph in one dtype."""

    #: names of the statistics, in the order of the counters
    counters: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Bytes of scratch for one row."""

    @abstractmethod
    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return scratch for a batch."""

    @abstractmethod
    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Fill the distances and counters of a batch."""


def solve_rows(
    graph: Graph, query: Query, make_search: Callable[[DeviceGraph, np.dtype[Any]], Search]
) -> Answer:
    """Answer `query` on its device with the search that `make_search` returns for a dtype.

    Raises
    ------
    DeviceError
        The device cannot be used, or lacks memory for a single row.
    DistanceOverflowError
        A distance fits none of the dtypes that the call may use.
    """
    number = device_number(query.device)
    with select(number):
        on_device = device_graph(graph, number)
        return query.widened(
            graph,
            lambda dtype: _Rows(
                graph, query, make_search(on_device, dtype), dtype, on_device
            ).run(),
        )


class _Rows:
    """One pass over all rows of a query in one dtype."""

    def __init__(
        self,
        graph: Graph,
        query: Query,
        search: Search,
        dtype: np.dtype[Any],
        on_device: DeviceGraph,
    ) -> None:
        self.graph, self.query, self.search, self.dtype = graph, query, search, dtype
        # by head: only trees need them in that order
        self.arcs = on_device.arcs(graph, dtype) if query.wants_tree else ()
        self.on_device = on_device
        self.stream = cuda.stream()
        self.bound = query.bound(dtype)
        self.unseen = unreached(dtype)
        targets = np.empty(0, np.int64) if query.targets is None else query.targets
        self.targets = cuda.to_device(targets)
        self.stats = {name: np.zeros(query.rows, np.int64) for name in search.counters}
        self.collector = make_collector(graph, query, dtype)

    def run(self) -> Answer | None:
        """Return the answer, or None after an overflow."""
        with progress_bar(self.query.rows, self.query.progress) as advance:
            for rows in self._batches():
                if not self._solve(rows):
                    return None
                advance(len(rows))
        answer = self.collector.answer()
        answer.stats = self.stats
        return answer

    def _batches(self) -> Iterator[range]:
        """Split the rows so that a batch fits into memory."""
        n, query = self.graph.n, self.query
        row = n * self.dtype.itemsize + self.search.row_bytes
        if query.predecessors:
            row += _tree.ROW_WORDS * n * INDEX.itemsize
        free = min(int(free_bytes() * SHARE), query.memory_limit - self.on_device.nbytes)
        if query.rows and free < row:
            raise DeviceError(
                f"one search takes {row:,} bytes, but only {max(free, 0):,} may be used beside "
                f"the {self.on_device.nbytes:,} of the graph on {query.device}; raise "
                "memory_limit, free memory of other programs, or use device='cpu'"
            )
        size = max(1, min(free // max(row, 1), LARGEST_BATCH))
        for first in range(0, query.rows, size):
            yield range(first, min(first + size, query.rows))

    def _batch(self, rows: range) -> Batch:
        query = self.query
        if query.nearest:
            sources, firsts = query.sources, np.array([0, query.sources.size])
        else:
            sources, firsts = query.sources[rows.start : rows.stop], np.arange(len(rows) + 1)
        return Batch(
            cuda.to_device(sources),
            cuda.to_device(firsts.astype(np.int64)),
            self.targets,
            self.bound,
            self.unseen,
            cuda.device_array((len(rows), self.graph.n), self.dtype),
            cuda.device_array((len(rows), COUNTERS), np.int64),
            self.stream,
        )

    def _solve(self, rows: range) -> bool:
        """Solve a batch and collect its rows; False after an overflow."""
        batch = self._batch(rows)
        batch.fill(batch.distances, self.unseen)
        batch.fill(batch.counters, 0)
        self.search.launch(batch, self.search.allocate(batch.rows))
        counters = batch.counters.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        if counters[:, CLIPPED_ROW].any() and self.bound == largest_distance(self.dtype):
            return False
        for name, values in zip(self.search.counters, counters.T, strict=False):
            self.stats[name][rows.start : rows.stop] = values
        block = self.collector.distance_block(rows)
        distances = np.empty((len(rows), self.graph.n), self.dtype) if block is None else block
        download(batch.distances, distances)
        origin = predecessors = None
        if self.query.wants_tree:
            tree = _tree.Tree(self.graph, self.arcs, batch, self._finals(distances))
            origin = tree.origins() if self.query.nearest else None
            predecessors = tree.predecessors(origin) if self.query.predecessors else None
        for i, row in enumerate(rows):
            # the rows of a block are where they belong, and nobody asks what they reached
            reached = _reached(distances[i], self.unseen) if block is None else _NOBODY
            done = Row(distances[i], reached)
            done.origin = None if origin is None else origin.copy_to_host()
            done.predecessors = None if predecessors is None else predecessors[i]
            self._collect(row, done, placed=block is not None)
        return True

    def _finals(self, distances: NDArray[Any]) -> NDArray[Any]:
        """Greatest distance up to which each row is final: that of its farthest target."""
        finals = np.full(distances.shape[0], self.bound, self.dtype)
        if self.query.targets is not None and self.query.targets.size:
            farthest = distances[:, self.query.targets].max(axis=1)
            finals = np.where(farthest < self.unseen, farthest, finals)
        return finals

    def _collect(self, row: int, done: Row, *, placed: bool) -> None:
        direct = None if placed else self.collector.distance_row(row)
        if direct is not None:
            direct[:] = done.distances
        if done.predecessors is not None:
            tree = self.collector.predecessor_row(row)
            if tree is not None:
                tree[:] = done.predecessors
        self.collector.take(row, done)


def _reached(distances: NDArray[Any], unseen: Any) -> NDArray[np.int32]:
    return np.flatnonzero(distances != unseen).astype(INDEX)
