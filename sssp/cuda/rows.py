"""Runs a CUDA search over all sources of a query: batches, memory, trees, the way back.

The twin of `sssp.cpu.rows`. A method is a `Search`: it launches kernels that fill the rows of a
`Batch`, all on one stream. Everything else is here, once for all of them; `sssp.cuda.forms` has
what becomes of finished rows.

Two lanes, each with a stream and memory of its own, take batches in turn: while the rows of one
travel back, the other's are solved, and its blocks fill the multiprocessors that the last blocks
of the first leave idle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.compiler import after, cuda, device_number, select
from sssp.cuda.device.grid import blocks_at_once
from sssp.cuda.forms import Form, make_form
from sssp.cuda.memory import DeviceGraph, device_graph, free_bytes
from sssp.cuda.tree import Scratch, Tree, allocate_tree, fill, tree_bytes
from sssp.engine.progress import progress_bar
from sssp.engine.query import Answer, Query
from sssp.errors import DeviceError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import largest_distance, unreached
from sssp.kernels.status import OVERFLOW

__all__ = ["CLIPPED_ROW", "COUNTERS", "Batch", "Search", "solve_rows"]

#: int64 words of a row in ``Batch.counters``: statistics first, last whether it was clipped
COUNTERS = 8
CLIPPED_ROW = 7
#: part of the free memory that a call takes; the rest is for the driver and for others
SHARE = 0.9
#: batches that are solved side by side or on their way back
LANES = 2
#: sources in a batch: enough to fill any GPU, few enough that results come back meanwhile
LARGEST_BATCH = 1024
#: bytes of distances that are worth a batch of their own, if it fills the GPU
BATCH_BYTES = 256 << 20
#: sources for every multiprocessor that fill the GPU
FILLING = 3


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

    #: names of the statistics, in the order of the counters
    counters: ClassVar[tuple[str, ...]]

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

    def check(  # noqa: B027  most searches have nothing to report
        self, batch: Batch, scratch: tuple[Any, ...], counters: NDArray[np.int64]
    ) -> None:
        """Raise what the counters of a finished batch report, before its rows are collected."""


def solve_rows(
    graph: Graph, query: Query, make_search: Callable[[DeviceGraph, np.dtype[Any]], Search]
) -> Answer:
    """Answer `query` on its device with the search that `make_search` returns for a dtype.

    Raises
    ------
    DeviceError
        The device cannot be used, or lacks memory for a single row or for the answer.
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


@dataclass
class _Lane:
    """Stream and memory for one batch after the other.

    Attributes
    ----------
    distances : device array, shape (rows, n), or None
        None where the answer has room for them.
    scratch, form_scratch : tuple of device arrays
        Of the search, and of the form of the answer.
    tree : Scratch or None
    batch, rows
        The batch that is under way, and which rows it has.
    """

    stream: Any
    distances: Any
    counters: Any
    scratch: tuple[Any, ...]
    form_scratch: tuple[Any, ...]
    tree: Scratch | None
    batch: Batch | None = None
    rows: range = range(0)


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
        self.bound = query.bound(dtype)
        self.unseen = unreached(dtype)
        self.stats = {name: np.zeros(query.rows, np.int64) for name in search.counters}
        self.form: Form = make_form(graph, query, dtype, on_device.number)

    def run(self) -> Answer | None:
        """Return the answer, or None after an overflow."""
        query = self.query
        lanes, self.size = self._plan()
        self.form.reserve()
        targets = np.empty(0, np.int64) if query.targets is None else query.targets
        firsts = [0, query.sources.size] if query.nearest else range(self.size + 1)
        self.sources, self.targets = cuda.to_device(query.sources), cuda.to_device(targets)
        self.firsts = cuda.to_device(np.array(firsts, np.int64))
        idle = [self._lane() for _ in range(lanes)]
        if query.stream is not None:
            after(query.stream, [lane.stream for lane in idle])
        under_way: deque[_Lane] = deque()
        with progress_bar(query.rows, query.progress) as advance:
            for first in range(0, query.rows, self.size):
                lane = idle.pop() if idle else under_way.popleft()
                if not self._finish(lane):
                    return None
                advance(len(lane.rows))
                self._start(lane, range(first, min(first + self.size, query.rows)))
                under_way.append(lane)
            for lane in under_way:
                if not self._finish(lane):
                    return None
                lane.stream.synchronize()
                advance(len(lane.rows))
        answer = self.form.answer()
        answer.stats = self.stats
        return answer

    def _plan(self) -> tuple[int, int]:
        """How many lanes, and how many rows in a batch, so that all fits into memory."""
        query, search, form = self.query, self.search, self.form
        rows_of = self.graph.n * self.dtype.itemsize
        row = search.row_bytes + tree_bytes(self.graph, query) + form.row_bytes
        if not form.holds_distances:
            row += rows_of
        free = min(int(free_bytes() * SHARE), query.memory_limit - self.on_device.nbytes)
        room = free - form.fixed_bytes
        if query.rows and room < row + search.fixed_bytes:
            answer = f" and the answer {form.fixed_bytes:,}" if form.fixed_bytes else ""
            raise DeviceError(
                f"one search takes {row + search.fixed_bytes:,} bytes{answer}, but only "
                f"{max(free, 0):,} may be used beside the {self.on_device.nbytes:,} of the graph "
                f"on {query.device}; raise memory_limit, free memory of other programs, ask for "
                "fewer sources at a time, or use device='cpu'"
            )
        filling = FILLING * blocks_at_once()
        size = min(max(filling, BATCH_BYTES // max(rows_of, 1)), LARGEST_BATCH)

        def fitting(lanes: int) -> int:
            return int((room // lanes - search.fixed_bytes) // max(row, 1))

        lanes = 1 if query.rows <= min(size, fitting(1)) or fitting(LANES) < 1 else LANES
        size = max(1, min(size, fitting(lanes), query.rows))
        # all alike, instead of a small one at the end
        return lanes, -(-query.rows // max(1, -(-query.rows // size))) or 1

    def _lane(self) -> _Lane:
        rows, n, query = self.size, self.graph.n, self.query
        matrix = None if self.form.holds_distances else cuda.device_array((rows, n), self.dtype)
        return _Lane(
            stream=cuda.stream(),
            distances=matrix,
            counters=cuda.device_array((rows, COUNTERS), np.int64),
            scratch=self.search.allocate(rows),
            form_scratch=self.form.allocate(rows),
            tree=allocate_tree(self.graph, query, rows, self.dtype) if query.wants_tree else None,
        )

    def _start(self, lane: _Lane, rows: range) -> None:
        """Launch the search for some rows."""
        sources, firsts = self.sources, self.firsts
        if not self.query.nearest:
            sources, firsts = sources[rows.start : rows.stop], firsts[: len(rows) + 1]
        if self.form.holds_distances:
            distances = self.form.distances(rows)
        else:
            distances = lane.distances[: len(rows)]
        batch = Batch(
            sources,
            firsts,
            self.targets,
            self.bound,
            self.unseen,
            distances,
            lane.counters[: len(rows)],
            lane.stream,
        )
        lane.batch, lane.rows = batch, rows
        batch.fill(batch.distances, self.unseen)
        batch.fill(batch.counters, 0)
        self.search.launch(batch, lane.scratch)

    def _finish(self, lane: _Lane) -> bool:
        """Wait for the batch of a lane, if it has one, and collect it; False after an overflow."""
        batch, rows = lane.batch, lane.rows
        if batch is None:
            return True
        counters = batch.counters.copy_to_host(stream=lane.stream)
        lane.stream.synchronize()
        status = counters[:, CLIPPED_ROW]
        clipped = status.any() and self.bound == largest_distance(self.dtype)
        if clipped or (status == OVERFLOW).any():
            return False
        self.search.check(batch, lane.scratch, counters)
        for name, values in zip(self.search.counters, counters.T, strict=False):
            self.stats[name][rows.start : rows.stop] = values
        origin = tails = None
        if lane.tree is not None:
            tree = Tree(self.graph, self.arcs, batch, lane.tree)
            origin = tree.origin() if self.query.nearest else None
            if self.query.predecessors:
                tails = tree.predecessors(origin, self.form.predecessors(rows))
        self.form.take(rows, batch, lane.form_scratch, tails, origin)
        return True
