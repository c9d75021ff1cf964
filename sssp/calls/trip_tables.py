"""Trips on a device as parts of tables, one a block of sources.

The solver of prepared maps knows of trips (`sssp.cuda.sweep.sweep_trips`), unless paths are wanted.
For the others a block of sources is searched at once, all of them to the targets of any, and each
keeps its own. For paths the block is searched again, up to the farthest of its targets, and whole
rows come to the host, where paths are read from them (`sssp.cpu.walks`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.walks import walks_to
from sssp.engine.narrow import convert_into, narrowed
from sssp.engine.network import Network
from sssp.engine.outputs import joined_walks
from sssp.engine.plan import solver_of, weights_of
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request, Walks
from sssp.graph.arc_orders import unsigned_arcs
from sssp.kernels.dtypes import INDEX, unreached
from sssp.methods import BellmanFord, DeltaStepping, Method

#: bytes of a table on the host, and most sources of one
BLOCK_BYTES, LARGEST_BLOCK = 256 << 20, 1024


def solve_by_tables(network: Network, request: Request, method: Method) -> Answer | None:
    """Answer a question about trips on its device; None if a distance fits no dtype.

    Parameters
    ----------
    network : Network
        Without closed arcs. Paths on a prepared map are those of a search on its graph.
    request : Request
        With target offsets.
    method : Method

    Raises
    ------
    DeviceError, NegativeCycleError
        As the solver of the method does.
    """
    graph = network._tree_graph
    searches = request.predecessors and network._methods is not None
    if searches:
        network, counted = graph.without_closed_arcs(), method.statistics
        method = BellmanFord() if graph.least_weight < 0 else DeltaStepping()
    for dtype in weights_of(network, method).working_dtypes(request.dtype):
        answer = _answer_in(dtype, network, request, method)
        if answer is not None:
            answer.device = request.device
            if searches:
                answer.stats = {name: np.zeros(request.rows, np.int64) for name in counted}
            return answer
    return None


def _answer_in(
    dtype: np.dtype[Any], network: Network, request: Request, method: Method
) -> Answer | None:
    """Answer in one dtype: by a solver that knows of trips, or by tables."""
    solver = solver_of(method, request.device)
    if hasattr(solver, "solve_trips") and not request.predecessors:
        answer: Answer | None = solver.solve_trips(network, request, method, dtype)
        if answer is not None:
            return answer
    return _Tables(network, request, method, dtype).answer()


class _Tables:
    """All trips in one dtype."""

    def __init__(
        self, network: Network, request: Request, method: Method, dtype: np.dtype[Any]
    ) -> None:
        assert request.target_offsets is not None
        assert request.targets is not None
        self.network, self.request, self.method, self.dtype = network, request, method, dtype
        self.graph = graph = network._tree_graph
        self.target_offsets, self.targets = request.target_offsets, request.targets
        self.distances: NDArray[Any] = np.empty(request.targets.size, dtype)
        self.stats = {name: np.zeros(request.rows, np.int64) for name in method.statistics}
        self.walks: list[Walks] = []
        self.tails = np.full(graph.n if request.predecessors else 0, -1, INDEX)
        self.arcs = unsigned_arcs(graph, dtype) if request.predecessors else None

    def answer(self) -> Answer | None:
        rows = self.request.rows
        with progress_bar(rows, self.request.progress) as advance:
            first = 0
            while first < rows:
                block = self._block(first)
                if not self._find(block):
                    return None
                advance(len(block))
                first = block.stop
        distances = narrowed(self.distances, self.request.dtype)
        walks = joined_walks(self.walks) if self.request.predecessors else None
        return Answer(distances, stats=self.stats, walks=walks)

    def _block(self, first: int) -> range:
        """Return the rows from one on that are searched together."""
        size = min(LARGEST_BLOCK, self.request.rows - first)
        while size > 1:
            targets = int(self.target_offsets[first + size] - self.target_offsets[first])
            columns = self.graph.n if self.request.predecessors else min(targets, self.graph.n)
            if size * columns * self.dtype.itemsize <= BLOCK_BYTES:
                break
            size //= 2
        return range(first, first + size)

    def _find(self, rows: range) -> bool:
        """Find the trips of a block; False after an overflow."""
        own = self.targets[self.target_offsets[rows.start] : self.target_offsets[rows.stop]]
        targets, columns = np.unique(own, return_inverse=True)
        answer = self._searched(rows, targets=targets)
        if answer is None:
            # perhaps what is too long is no trip
            return len(rows) > 1 and all(self._find(range(row, row + 1)) for row in rows)
        for values, found in zip(self.stats.values(), answer.stats.values(), strict=True):
            values[rows.start : rows.stop] = found
        table = answer.distances
        offsets = self.target_offsets[rows.start : rows.stop + 1]
        which = np.repeat(np.arange(len(rows)), np.diff(offsets))
        convert_into(table[which, columns], self.distances[offsets[0] : offsets[-1]])
        return not self.request.predecessors or self._find_paths(rows)

    def _find_paths(self, rows: range) -> bool:
        """Find the paths of a block whose distances are known; False after an overflow."""
        own = self.distances[self.target_offsets[rows.start] : self.target_offsets[rows.stop]]
        limit = self.request.limit
        if self.graph.least_weight >= 0:
            limit = own[own != unreached(self.dtype)].max(initial=self.dtype.type(0)).item()
        answer = self._searched(rows, limit=limit)
        if answer is None:
            return False
        assert self.arcs is not None
        distances = np.empty(self.graph.n, self.dtype)
        for row, found in zip(rows, answer.distances, strict=True):
            convert_into(found, distances)
            self.walks.append(
                walks_to(
                    self.graph,
                    self.arcs,
                    self.request.sources[row : row + 1],
                    self.targets[self.target_offsets[row] : self.target_offsets[row + 1]],
                    distances,
                    np.flatnonzero(distances != unreached(self.dtype)).astype(INDEX),
                    self.request.bound(self.dtype),
                    self.tails,
                )
            )
        return True

    def _searched(self, rows: range, **asked: Any) -> Answer | None:
        """Search from the sources of a block, for a table that is no part of the answer."""
        request = replace(
            self.request,
            sources=self.request.sources[rows.start : rows.stop],
            targets=None,
            target_offsets=None,
            # what is no trip may be too long for the dtype of the call
            dtype=None if self.dtype.kind == "i" else self.dtype,
            predecessors=False,
            progress=False,
        )
        solver = solver_of(self.method, request.device)
        found: Answer | None = solver.solve(
            self.network, replace(request, **asked), self.method, self.dtype
        )
        return found
