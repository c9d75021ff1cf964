"""Answers a question about shortest paths by sweeps over a hierarchy, on the CPU.

Rows of distances alone are swept many at a time, in blocks of lanes (`sssp.cpu.sweep.sweeps`): a
dense answer over all vertices is made in place, and its memory is that of the transposed matrix.
Rows that need a tree are swept one by one, and their trees found as those of every search, from the
distances (`sssp.cpu.search_driver`), so that they are the same. Of paths to a few targets only what
they are found by is swept (`sssp.cpu.sweep.paths`).

Float weights of which tight arcs are wanted (for trees, origins, or numbers of paths), and integers
whose sums leave int64, go by a search on the graph: its distances are rounded from the source
outward, and its test of overflow is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search_driver import Rows, Scratch, SingleRows
from sssp.cpu.solved_rows import HostRows, reached_in_order
from sssp.cpu.sweep.paths import paths_kernel, trips_kernel
from sssp.cpu.sweep.solved_lanes import SweptLanes
from sssp.cpu.sweep.sweep_trips import solve_trips
from sssp.cpu.sweep.sweeps import (
    LANES,
    Selection,
    climb_all_kernel,
    climb_kernel,
    climb_lanes_kernel,
    close_kernel,
    cut_kernel,
    lanes_memory,
    select_ancestors,
    shift_kernel,
    sweep_kernel,
    sweep_lanes_kernel,
    sweep_within_kernel,
)
from sssp.cpu.tree import may_tie, reset
from sssp.engine.memory import check_memory
from sssp.engine.narrow import bytes_of_entry, convert_into, narrowed
from sssp.engine.request import Answer, Request, Walks
from sssp.graph.arc_orders import arcs_by_head
from sssp.kernels.dtypes import INDEX, INT64, infinity
from sssp.methods import Method
from sssp.order.prepared_map import PreparedMap, solve_by_sweeps, weigh_targets

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

#: bytes of a worker's block of lanes, but for one group of them
BLOCK_BYTES = 256 << 20
#: most lanes of a block
MOST_LANES = 64
#: up to so many rows are swept one by one
FEW = 2
#: entries of a table, for every vertex, that are found one by one
TRIPS_A_VERTEX = 1 / 64
#: part of the vertices that are targets up to which paths to them are found from their ends
BACKWARD = 1 / 1000
#: sources whose trips are found together: for some milliseconds nobody hears Ctrl-C
TRIPS_TOGETHER = 64
#: part of the vertices up to which rows with a limit are swept one by one, as far as it reaches
NEAR = 1 / 16


def solve(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` in one dtype; None if a distance may be too long for it."""
    return solve_by_sweeps(_swept, _fits, hierarchy, request, method, dtype)


def _swept(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer by sweeps, or trips by climbs."""
    if request.target_offsets is not None and not request.predecessors:
        return solve_trips(hierarchy, request, method, dtype)
    if request.wants_tree or request.nearest or request.predecessors:
        kind = _TripRows if _are_trips_back(hierarchy.graph, request, dtype) else _SweptRows
        return kind(hierarchy, request, method, dtype).run()
    if _is_small_table(hierarchy, request):
        return _solve_as_trips(hierarchy, request, method, dtype)
    if request.rows <= FEW or _stays_near(hierarchy, request, method, dtype):
        return _SweptRows(hierarchy, request, method, dtype).run()
    return _LaneRows(hierarchy, request, method, dtype).run()


def _fits(hierarchy: PreparedMap, request: Request, dtype: np.dtype[Any]) -> bool:
    """Whether no sum can leave a dtype."""
    return bool(hierarchy._layered(dtype).fits)


def _may_go_back(graph: Graph, request: Request, dtype: np.dtype[Any]) -> bool:
    """Whether paths to targets may be found from their ends."""
    if (
        request.targets is None
        or request.nearest
        or request.fewest_arcs
        or not request.predecessors
    ):
        return False
    return not may_tie(graph, request.bound(dtype), dtype)


def _are_few(targets: int, n: int) -> bool:
    """Whether that takes less time for the targets of a source than to sweep all vertices."""
    return targets <= BACKWARD * n


def _are_trips_back(graph: Graph, request: Request, dtype: np.dtype[Any]) -> bool:
    """Whether trips are wanted whose paths are all found from their ends."""
    if request.target_offsets is None or not _may_go_back(graph, request, dtype):
        return False
    return _are_few(int(np.diff(request.target_offsets).max(initial=0)), graph.n)


def _is_small_table(hierarchy: PreparedMap, request: Request) -> bool:
    """Whether its entries, one by one, take less time than a sweep."""
    if request.targets is None or request.reduction is not None:
        return False
    return TRIPS_A_VERTEX * hierarchy.n >= request.rows * request.targets.size


def _solve_as_trips(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer:
    """Find every entry of a table as a trip."""
    assert request.targets is not None
    rows, columns = request.rows, request.targets.size
    trips = replace(
        request,
        targets=np.tile(request.targets, rows),
        target_offsets=np.arange(rows + 1) * columns,
        out=None,
    )
    answer = solve_trips(hierarchy, trips, method, dtype)
    answer.distances = answer.distances.reshape(rows, columns)
    if request.out is not None:
        convert_into(answer.distances, request.out)
        answer.distances = request.out
    return answer


def _stays_near(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> bool:
    """Whether the first row tells that rows end long before all vertices are swept."""
    if request.limit is None or request.targets is not None:
        return False
    probe = replace(request, sources=request.sources[:1], output="sparse", reduction=None, out=None)
    answer = _SweptRows(hierarchy, probe, method, dtype).run()
    return answer is not None and answer.stats["swept"][0] <= NEAR * hierarchy.n


class _SweptRows(SingleRows):
    """Rows that are swept one by one: trees, nearest sources, a row or two."""

    def __init__(
        self, hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
    ) -> None:
        # (trees go along the arcs of the part that is open; nobody else looks at them)
        graph = hierarchy.graph
        if request.wants_tree or request.predecessors:
            graph = graph.without_closed_arcs()
        super().__init__(graph, request, method, dtype)
        self.structure, self.metric = hierarchy._structure, hierarchy._layered(dtype)
        self.inf = infinity(dtype)
        self.back: tuple[NDArray[Any], ...] | None = None
        if _may_go_back(graph, request, dtype):
            self.back = arcs_by_head(graph, dtype)
        self.extra = _climbs(dtype, backward=self.back is not None)

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Sweep for one row."""
        up, down, structure = self.metric.up, self.metric.down, self.structure
        climbed, visited, known = scratch.extra
        place = self.form.place(rows)
        distances = scratch.distances if place is None else place
        row = distances[0]
        sources = structure.rank[self.sources_of(rows.start)]
        shifts = self.metric.potentials
        shift = 0 if shifts is None else shifts[self.sources_of(rows.start)].max()
        if self.request.nearest:
            climbed[sources] = 0
            if shifts is not None:
                # (those at a higher potential have the advantage that their rows are shifted by)
                climbed[sources] = shift - shifts[self.sources_of(rows.start)]
            climb_all_kernel(*up, self.inf, climbed)
            passed = climbed.size
        else:
            passed = climb_kernel(sources[0], structure.parent, *up, self.inf, climbed)
        targets = self.request.targets_of(rows.start)
        few = targets is not None and _are_few(targets.size, self.graph.n)
        back = self.back if few else None
        if back is not None:
            count, swept = paths_kernel(
                sources[0], targets, structure.parent, *down, climbed, self.inf, self.bound,
                structure.rank, *back, row, scratch.reached, scratch.predecessors[0], visited,
                known,
            )  # fmt: skip
            reached = scratch.reached[:count]
        elif self.request.limit is None or self.request.nearest:
            count = sweep_kernel(*down, climbed, self.bound, structure.order, row, self.unseen)
            reached, swept = scratch.reached[:count], climbed.size
            reached_in_order(row, self.unseen, reached)
            climbed.fill(self.inf)
        else:
            if place is not None:
                row.fill(self.unseen)
            count, swept = sweep_within_kernel(
                sources[0], structure.size, structure.first, structure.upper, *down, climbed,
                self.inf, self.bound, structure.order, row, scratch.reached, visited,
            )  # fmt: skip
            reached = scratch.reached[:count]
        if shifts is not None:
            row[reached] += shifts[reached] - shift
        scratch.counters[:2] = passed, swept
        self.finish(rows, distances, reached, scratch, goes_back=back is not None)
        if place is None:
            reset(row, reached, self.unseen)


class _TripRows(_SweptRows):
    """Trips with their paths, some at a time: they are found in less time than Python takes."""

    def blocks(self, threads: int) -> Iterator[range]:
        """Yield sources whose trips are found in one call."""
        rows = self.request.rows
        step = max(1, min(TRIPS_TOGETHER, -(-rows // threads)))
        return (range(first, min(first + step, rows)) for first in range(0, rows, step))

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Find the trips of some sources."""
        request, structure = self.request, self.structure
        assert request.target_offsets is not None
        assert request.targets is not None
        assert self.back is not None
        offsets = request.target_offsets[rows.start : rows.stop + 1]
        targets = request.targets[offsets[0] : offsets[-1]]
        distances = np.empty((1, targets.size), self.dtype)
        firsts = np.empty(targets.size + 1, INT64)
        vertices = trips_kernel(
            structure.rank[request.sources[rows.start : rows.stop]], offsets, targets,
            structure.parent, self.metric.up, self.metric.down, scratch.extra[0], self.inf,
            self.bound, structure.rank, tuple(self.back), scratch.distances[0], self.unseen,
            scratch.reached, scratch.predecessors[0], *scratch.extra[1:], distances[0], firsts,
            self.counts[:, rows.start : rows.stop],
        )  # fmt: skip
        self.form.take(
            HostRows(rows, np.arange(targets.size), distances, [], walks=Walks(firsts, vertices))
        )


@cache
def _climbs(dtype: np.dtype[Any], *, backward: bool) -> Callable[[int], tuple[NDArray[Any], ...]]:
    """Return what makes the memory of climbs, always the same function."""

    def memory(n: int) -> tuple[NDArray[Any], ...]:
        known = np.zeros(n if backward else 0, np.bool_)
        return np.full(n, infinity(dtype), dtype), np.empty(n, INDEX), known

    return memory


class _Lanes(NamedTuple):
    """Scratch of a worker that sweeps rows side by side.

    Attributes
    ----------
    climbed : ndarray, shape (n,)
        At INF between rows.
    is_open : ndarray, shape (places,), uint8
        Zero between rows.
    block : ndarray, shape (places, lanes), or None
        None: the answer is made in place.
    """

    climbed: NDArray[Any]
    is_open: NDArray[np.uint8]
    block: NDArray[Any] | None


class _LaneRows(Rows):
    """Rows that are swept side by side: distances alone.

    Attributes
    ----------
    memory : ndarray, shape (n, lanes), or None
        Where the answer is made; None: every worker has a block of its own.
    columns : ndarray, int64
        Where in a block the targets stand, or all vertices in order; none if rows are made in
        place.
    heights : ndarray or None
        The potential of every place, if weights are between potentials.
    """

    def __init__(
        self, hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
    ) -> None:
        self.asked, self.memory = request.dtype, None
        whole = request.targets is None and request.reduction is None
        # (of a few rows most lanes would be empty, and kept with the answer)
        fills = 2 * request.rows >= LANES
        if whole and fills and request.out is None and request.output == "host":
            self.memory = _memory_for(request, hierarchy.n, dtype)
            request = replace(request, out=self.memory[:, : request.rows].T)
        super().__init__(hierarchy.graph, weigh_targets(request), method, dtype)
        if self.memory is not None:
            self.form.nbytes = self.memory.size * bytes_of_entry(dtype, self.asked)
        self.structure, self.metric = hierarchy._structure, hierarchy._layered(dtype)
        self.inf = infinity(dtype)
        self.selection, self.columns = self._select(hierarchy)
        self.heights = self._heights()
        self.places = self.selection.order.size
        self.shared_bytes = self._shared_bytes
        group = max(1, self.places * LANES * dtype.itemsize)
        # (what reads lanes itself sees what is too far; potentials must not bring it near)
        reads = request.reduction is not None or request.output == "sparse"
        leaves_some = request.limit is not None or not self.metric.joined
        self.cuts = leaves_some and not (reads and self.metric.potentials is None)
        # (no wider than a worker's share, for pages of a block are touched as a whole)
        share = -(-request.rows // (LANES * request.threads))
        held = self.form.nbytes + self.counts.nbytes + self.request.nbytes + self.shared_bytes
        room = request.memory_limit - held - hierarchy.n * dtype.itemsize - self.places
        fitting = min(MOST_LANES // LANES, BLOCK_BYTES // group, share, room // group)
        self.together = max(1, fitting) * LANES

    @property
    def _shared_bytes(self) -> int:
        """What is there for this question; the selection of all vertices is kept with the map."""
        own = self.columns.nbytes
        if self.request.targets is not None:
            own += self.selection.nbytes + (0 if self.heights is None else self.heights.nbytes)
        return own

    def _heights(self) -> NDArray[Any] | None:
        """Return the potential of every place, if weights are between potentials."""
        shifts: NDArray[Any] | None = self.metric.potentials
        places = self.selection.places
        if shifts is None or self.request.targets is None:
            return shifts
        heights: NDArray[Any] = np.empty(self.selection.order.size, self.dtype)
        swept = places >= 0
        heights[places[swept]] = shifts[self.structure.order[swept]]
        return heights

    def _select(self, hierarchy: PreparedMap) -> tuple[Selection, NDArray[np.int64]]:
        targets = self.request.targets
        if targets is None:
            columns = np.arange(hierarchy.n if self.memory is None else 0)
            order = self.structure.order
            selection = hierarchy._cached(
                f"all vertices, {self.dtype.char}",
                lambda: Selection(order, order, self.metric.down_to_vertices(order)),
            )
            return selection, columns
        ranks = self.structure.rank[targets]
        limit, advice = self.request.memory_limit, self.request.advice

        def check(nbytes: int) -> None:
            check_memory({"arcs down to the targets": nbytes}, limit, "cpu", advice)

        selection = select_ancestors(self.metric.down, self.structure.parent, ranks, check)
        return selection, selection.places[ranks].astype(INT64)

    def run(self) -> Answer | None:
        """Return the answer."""
        answer = super().run()
        if answer is not None and self.memory is not None:
            answer.distances = narrowed(answer.distances.T, self.asked).T
        return answer

    def blocks(self, threads: int) -> Iterator[range]:
        """Yield rows that are swept together: whole groups of lanes."""
        rows, step = self.request.rows, self.together
        return (range(first, min(first + step, rows)) for first in range(0, rows, step))

    @property
    def worker_bytes(self) -> int:
        """What a worker's scratch takes."""
        width = 0 if self.memory is not None else self.together
        return self.graph.n * self.dtype.itemsize + self.places * (1 + width * self.dtype.itemsize)

    @property
    def least_bytes(self) -> int:
        """What it takes for the smallest question of the kind: a few rows are swept one by one."""
        return self.places * self.dtype.itemsize

    def lease(self) -> _Lanes:
        """Return the scratch of a worker."""
        block = None
        if self.memory is None:
            block = lanes_memory(self.places, self.together, self.dtype)
        climbed = np.full(self.graph.n, self.inf, self.dtype)
        return _Lanes(climbed, np.zeros(self.places, np.uint8), block)

    def solve(self, rows: range, scratch: _Lanes) -> None:
        """Sweep for some rows."""
        selection, parent = self.selection, self.structure.parent
        block, start = scratch.block, 0
        if block is None:
            assert self.memory is not None
            block, start = self.memory, rows.start
        lanes = -(-len(rows) // LANES) * LANES
        ranks = self.structure.rank[self.request.sources[rows.start : rows.stop]]
        climbed, swept = self.counts
        climb_lanes_kernel(
            ranks, parent, *self.metric.up, self.inf, scratch.climbed, selection.places,
            scratch.is_open, block, start, lanes, climbed[rows.start : rows.stop],
        )  # fmt: skip
        swept[rows.start : rows.stop] = self.places
        sweep_lanes_kernel(
            *selection.arcs, selection.order, scratch.is_open, block.reshape(-1)[start:],
            np.uint64(block.shape[1]), np.uint64(lanes), self.inf,
        )  # fmt: skip
        close_kernel(ranks, parent, selection.places, scratch.is_open)
        if self.cuts:
            cut_kernel(block, start, start + len(rows), self.bound, self.unseen)
        if self.metric.potentials is not None:
            starts = self.metric.potentials[self.request.sources[rows.start : rows.stop]]
            shift_kernel(block, start, self.heights, starts, self.unseen)
        self.form.take(SweptLanes(rows, block, start, self.bound, self.columns))


def _memory_for(request: Request, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return memory for all rows side by side."""
    lanes = -(-request.rows // LANES) * LANES
    needed = {"the answer": n * lanes * bytes_of_entry(dtype, request.dtype)}
    check_memory(needed, request.memory_limit, "cpu", request.advice)
    return lanes_memory(n, lanes, dtype)
