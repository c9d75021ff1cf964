"""Answer requests by sweeps over a prepared map, on the CPU.

- Single distances (trips, small tables): two climbs that meet (`sssp.cpu.sweep.sweep_trips`).
- Paths to a few targets: from their ends, sweeping only what they touch (`trips_kernel`,
  `paths_kernel`).
- Paths to many targets: in lanes, and walked back row by row (`sssp.cpu.tree.find_branches`).
- One or two rows, rows with a tree, and rows that a limit keeps short: one sweep each. Trees are
  found from the distances as those of searches (`sssp.cpu.search_driver`), so they are the same.
- All other rows: in lanes, many sources a sweep. A dense answer over all vertices is made in place,
  and its memory is that of the transposed matrix.

Float weights whose tight arcs are wanted (for trees, origins, or numbers of paths), and integers
whose sums leave int64, go by a search on the graph: its distances are rounded from the source
outward, and its test of overflow is exact. Paths of trips need no tree: they are walked back over
arcs that are tight but for rounding, where no arc is so short that rounding could hide it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search_driver import Allocate, Rows, Scratch, SingleRows, ranges_of
from sssp.cpu.solved_rows import HostRows, reached_kernel
from sssp.cpu.sweep import sweeps
from sssp.cpu.sweep.sweep_trips import solve_trips
from sssp.cpu.sweep.sweeps import LANES, lanes_memory
from sssp.cpu.sweep.target_selection import Selection, ancestors_of, select_arcs
from sssp.cpu.tree import find_branches, reset, untied_distance
from sssp.engine import thresholds
from sssp.engine.check_memory import check_memory
from sssp.engine.float_sums import ordered_sums_of_lanes
from sssp.engine.narrow import bytes_of_entry, convert_into, narrow
from sssp.engine.outputs import Entries
from sssp.engine.reductions import Step, least_number
from sssp.engine.request import Answer, Request, Walks
from sssp.graph.arc_orders import arcs_by_head
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT32, INT64, Number, infinity, unreached
from sssp.kernels.jit import njit
from sssp.methods import Method
from sssp.order.prepared_map import PreparedMap, ends_of_trips, solve_by_sweeps, weigh_targets

#: places whose lanes are transposed together
TILE = 64
#: rows are swept where they are returned if all vertices are at most so many times those known
MORE = 1.25


def solve(prepared: PreparedMap, request: Request, method: Method, dtype: Number) -> Answer | None:
    """Answer `request` by sweeps in `dtype`; return None if a distance may overflow the dtype."""
    graph = prepared.graph
    finds_paths = request.target_offsets is not None and request.predecessors
    may_walk = finds_paths and not request.outward and graph._least_inner_weight > 0
    if dtype.kind == "f" and may_walk and _fits(prepared, request, dtype):
        # paths are walked back if no arc weighs as little as distances differ by rounding
        asked = replace(request, predecessors=False, dtype=dtype, progress=False)
        lengths = solve_trips(prepared, asked, method, dtype).distances
        greatest = lengths[np.isfinite(lengths)].max(initial=dtype.type(0))
        if _searches_backward(graph, request, 4 * max(graph.n, 1) * greatest):
            return _TripRows(prepared, request, method, dtype, backward=True).run()
    return solve_by_sweeps(_solve, _fits, prepared, request, method, dtype)


def _fits(prepared: PreparedMap, request: Request, dtype: Number) -> bool:
    """Return whether no sum of arc weights in a sweep of the map can overflow the dtype."""
    return bool(prepared._layered(dtype).fits)


def _solve(prepared: PreparedMap, request: Request, method: Method, dtype: Number) -> Answer | None:
    """Answer a request on a prepared map by the kind of CPU sweep that suits it."""
    question = prepared, request, method, dtype
    targets, few = request.targets, request.rows <= thresholds.SINGLE_ROWS
    if request.target_offsets is not None and not request.predecessors:
        return solve_trips(*question)
    if request.wants_tree or request.nearest or request.predecessors:
        bound = request.bound(dtype)
        if _searches_backward(prepared.graph, request, bound):
            rows = _SweptRows if request.target_offsets is None else _TripRows
            return rows(*question, backward=True).run()
        # paths in lanes: to targets, from many rows, without ties, with room for a block
        has_paths = request.wants_tree and targets is not None and not few
        if has_paths and not (request.nearest or request.fewest_arcs) and request.limit is None:
            room = min(thresholds.LANES_BYTES, request.memory_limit // 4) // request.threads
            fits = prepared.n * LANES * (dtype.itemsize + 2 * INDEX.itemsize) <= room
            if fits and bound <= untied_distance(prepared.graph, dtype):
                return _LanePaths(*question).run()
        return _SweptRows(*question).run()
    is_plain, most = request.reduction is None and request.width is None, thresholds.TRIPS_A_VERTEX
    if targets is not None and is_plain and request.rows * targets.size <= most * prepared.n:
        return solve_trips(*question)
    stays_near = False
    if not few and request.limit is not None and (targets is None or request.width is not None):
        # (one row tells whether the limit confines all to a small share of the vertices)
        probe = Request(sources=request.sources[:1], limit=request.limit, output="sparse")
        answer = _SweptRows(prepared, probe, method, dtype).run()
        near = thresholds.NEAR * prepared.n
        stays_near = answer is not None and answer.stats["swept"][0] <= near
    return (_SweptRows if few or stays_near else _LaneRows)(*question).run()


def _searches_backward(graph: Graph, request: Request, farthest: Any) -> bool:
    """Return whether tracing paths back from the targets is possible and worthwhile."""
    if request.targets is None or request.nearest or request.fewest_arcs:
        return False
    sources = 1 if request.target_offsets is None else max(1, request.rows)
    are_few = request.targets.size <= thresholds.BACKWARD * graph.n * sources
    return request.predecessors and are_few and farthest <= untied_distance(graph, farthest.dtype)


class _SweptRows(SingleRows):
    """Solver that finds each row of distances by a separate sweep, and a tree if requested."""

    def __init__(
        self,
        prepared: PreparedMap,
        request: Request,
        method: Method,
        dtype: Number,
        *,
        backward: bool = False,
    ) -> None:
        graph = prepared.graph
        if request.wants_tree or request.predecessors:  # (which read the graph's arcs)
            graph = graph.without_closed_arcs()
        super().__init__(graph, request, method, dtype, _climb_scratch(dtype, backward))
        self.structure, self.metric = prepared._structure, prepared._layered(dtype)
        self.inf = infinity(dtype)
        self.slack = dtype.type(4 * np.finfo(dtype).eps if dtype.kind == "f" else 0)
        self.goes_back, self.back = backward, arcs_by_head(graph, dtype) if backward else None

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Find the distances of one row by climb and sweep, and add the row to the answer."""
        up, down, structure = self.metric.up, self.metric.down, self.structure
        climbed, visited, known = scratch.extra
        place = self.form.place(rows)
        distances = scratch.distances if place is None else place
        row = distances[0]
        sources = structure.rank[self.sources_of(rows.start)]
        shifts = self.metric.potentials
        heights = 0 if shifts is None else shifts[self.sources_of(rows.start)]
        shift = 0 if shifts is None else np.max(heights)
        if self.request.nearest:
            # (the potential of a source shortens its distances, relative to the highest source)
            climbed[sources] = shift - heights
            sweeps.climb_all_kernel(up, self.inf, climbed)
            passed = climbed.size
        else:
            passed = sweeps.climb_kernel(sources[0], structure.parent, up, self.inf, climbed)
        targets = self.request.targets_of(rows.start)
        if self.back is not None:
            count, swept = sweeps.paths_kernel(
                sources[0], targets, structure.parent, down, climbed, self.inf, self.bound,
                self.slack, structure.rank, *self.back, row, scratch.reached,
                scratch.predecessors[0], visited, known,
            )  # fmt: skip
        elif self.request.limit is None or self.request.nearest:
            out = structure.order, row, self.unseen
            count, swept = sweeps.sweep_kernel(down, climbed, self.bound, *out), climbed.size
            reached_kernel(row, self.unseen, scratch.reached[:count])
            climbed.fill(self.inf)
        else:
            if place is not None:
                row.fill(self.unseen)
            count, swept = sweeps.sweep_within_kernel(
                sources[0], structure.size, structure.first, structure.upper, down, climbed,
                self.inf, self.bound, structure.order, row, scratch.reached, visited,
            )  # fmt: skip
        reached = scratch.reached[:count]
        if shifts is not None:
            row[reached] += shifts[reached] - shift
        self.counts[:, rows.start] = passed, swept
        self.finish(rows, distances, reached, scratch)
        if place is None:
            reset(row, reached, self.unseen)


class _TripRows(_SweptRows):
    """Solver that finds distances and paths of trips by sweeps, several sources per kernel call."""

    def blocks(self, threads: int) -> Iterator[range]:
        """Yield ranges of sources, one range for each kernel call."""
        step = max(1, min(thresholds.TRIPS_TOGETHER, -(-self.request.rows // threads)))
        return ranges_of(self.request.rows, step)

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Find the shortest paths of all trips from some sources; add them to the answer."""
        request, structure = self.request, self.structure
        assert request.target_offsets is not None
        assert request.targets is not None
        assert self.back is not None
        offsets = request.target_offsets[rows.start : rows.stop + 1]
        targets = request.targets[offsets[0] : offsets[-1]]
        distances = np.empty((1, targets.size), self.dtype)
        firsts = np.empty(targets.size + 1, INT64)
        vertices = sweeps.trips_kernel(
            structure.rank[request.sources[rows.start : rows.stop]], offsets, targets,
            structure.parent, self.metric.up, self.metric.down, scratch.extra[0], self.inf,
            self.bound, self.slack, structure.rank, tuple(self.back), scratch.distances[0],
            self.unseen, scratch.reached, scratch.predecessors[0], *scratch.extra[1:], distances[0],
            firsts, self.counts[:, rows.start : rows.stop],
        )  # fmt: skip
        walks = Walks(firsts, vertices)
        self.form.take(HostRows(rows, np.arange(targets.size), distances, [], walks=walks))


@cache
def _climb_scratch(dtype: Number, backward: bool) -> Allocate:
    """Return a function that allocates one worker's scratch arrays for upward searches."""
    return lambda n: (
        np.full(n, infinity(dtype), dtype), np.empty(n, INDEX), np.zeros(n * backward, np.bool_),
    )  # fmt: skip


class _LaneRows(Rows):
    """Solver that sweeps many rows together, one vector lane per row; it finds no trees.

    Attributes
    ----------
    memory : ndarray, shape (n, lanes), or None
        The dense answer, transposed, with all vertices; None: every worker has a block of its own.
    answer : ndarray, shape (width, lanes), or None
        The same where a row has far fewer vertices, to which blocks are copied.
    columns : ndarray, int64
        Where in a block the targets stand, or all vertices in order; empty with `memory`.
    heights : ndarray or None
        The potential of every place, if weights are between potentials.
    """

    def __init__(
        self, prepared: PreparedMap, request: Request, method: Method, dtype: Number
    ) -> None:
        self.asked, self.memory = request.dtype, None
        self.answer: NDArray[Any] | None = None
        whole = request.targets is None and request.reduction is None
        # (the answer would keep the empty lanes of few rows)
        fills = 2 * request.rows >= LANES
        if whole and fills and request.out is None and request.output == "host":
            lanes, known = -(-request.rows // LANES) * LANES, request.columns(prepared.n)
            places = prepared.n if prepared.n <= MORE * known else known
            size = places * lanes * bytes_of_entry(dtype, request.dtype)
            check_memory({"the answer": size}, request.memory_limit, "cpu", request.advice)
            self.answer = lanes_memory(places, lanes, dtype)
            request = replace(request, out=self.answer[:known, : request.rows].T)
        super().__init__(prepared.graph, weigh_targets(request), method, dtype)
        if self.answer is not None:
            self.form.nbytes = self.answer.size * bytes_of_entry(dtype, self.asked)
            if len(self.answer) == prepared.n:
                self.memory, self.answer = self.answer, None
        self.structure, self.metric = prepared._structure, prepared._layered(dtype)
        self.inf = infinity(dtype)
        self.selection, self.columns = self._select(prepared)
        self.places = self.selection.order.size
        shifts, place_of = self.metric.potentials, self.selection.places
        self.heights: NDArray[Any] | None = shifts
        if shifts is not None and place_of is not self.structure.order:
            self.heights, swept = np.empty(self.places, dtype), place_of >= 0
            self.heights[place_of[swept]] = shifts[self.structure.order[swept]]
        # (the map keeps the selection of all vertices)
        self.shared_bytes = self.columns.nbytes
        if request.targets is not None and request.width is None:
            self.shared_bytes += self.selection.nbytes
            self.shared_bytes += 0 if self.heights is None else self.heights.nbytes
        group = max(1, self.places * LANES * dtype.itemsize)
        # (readers of lanes compare with the bound themselves, but not after potentials are added)
        is_read = self.memory is None and not request.predecessors
        self.cuts = not (is_read and self.metric.potentials is None) and (
            request.limit is not None or not self._is_joined(prepared)
        )
        # (no wider than a worker's share, because a block is written in whole pages)
        share = max(1, -(-request.rows // (LANES * request.threads)))
        held = self.form.nbytes + self.counts.nbytes + self.request.nbytes + self.shared_bytes
        room = request.memory_limit - held - prepared.n * dtype.itemsize - self.places
        most = min(thresholds.MOST_LANES // LANES, thresholds.LANES_BYTES // group)
        blocks = -(-share // max(1, min(most, room // group)))
        # (whole groups of lanes, all about as wide: a narrow one takes nearly as long)
        self.together = -(-share // blocks) * LANES
        width = 0 if self.memory is not None else self.together
        # (the rows of the smallest request are swept one by one)
        self.least_bytes = self.places * dtype.itemsize
        self.worker_bytes = prepared.n * dtype.itemsize + self.places + self.least_bytes * width

    def _select(self, prepared: PreparedMap) -> tuple[Selection, NDArray[np.int64]]:
        targets, width = self.request.targets, self.request.width
        if targets is None and (width is None or self.memory is not None):
            columns = np.arange(prepared.n if self.memory is None else 0)
            return self._select_all(prepared), columns
        ranks = self.structure.rank[slice(width) if targets is None else targets]
        limit, advice = self.request.memory_limit, self.request.advice

        def check(nbytes: int) -> None:
            check_memory({"arcs down to the targets": nbytes}, limit, "cpu", advice)

        def select() -> Selection:
            return select_arcs(self.metric.down, ancestors_of(self.structure, ranks), check)

        # (the map keeps the selection of all that a user knows, too)
        kept = width is not None
        selection = prepared._cached(f"known, {self.dtype.char}", select) if kept else select()
        return selection, selection.places[ranks].astype(INT64)

    def _select_all(self, prepared: PreparedMap) -> Selection:
        order, down = self.structure.order, self.metric.down_to_vertices
        key = f"all vertices, {self.dtype.char}"
        return prepared._cached(key, lambda: Selection(order, order, down(order)))

    def _is_joined(self, prepared: PreparedMap) -> bool:
        """Return whether every vertex of the user's graph reaches every other."""
        metric, asked = self.metric, self.request.asked
        if metric.joined or asked is None or asked.turns is None or metric.layer.ranks.size:
            return bool(metric.joined)

        def build() -> bool:
            sinks, departures = ends_of_trips(prepared, asked)
            if sinks[-1] or departures[-1]:
                return False
            tops = []  # ranks that are not left out, and have no arc to a higher such rank
            for arcs, left_out in ((metric.base_up, sinks), (metric.base_down, departures)):
                is_top, tails = ~left_out, np.repeat(np.arange(prepared.n), np.diff(arcs.first))
                is_top[tails[~left_out[arcs.ends]]] = False
                tops.append(np.count_nonzero(is_top))
            return tops == [1, 1]

        return prepared._cached(f"joined, {self.dtype.char}", build)

    def run(self) -> Answer | None:
        """Sweep from all sources, one lane per source; return the answer, None after overflow."""
        answer = super().run()
        if answer is not None and (self.memory is not None or self.answer is not None):
            answer.distances = narrow(answer.distances.T, self.asked).T
        return answer

    def lease(self) -> tuple[NDArray[Any], ...]:
        """Return a worker's three scratch arrays, for the upward searches and the sweep."""
        block = self.memory
        if block is None:
            block = lanes_memory(self.places, self.together, self.dtype)
        return np.full(self.graph.n, self.inf, self.dtype), np.zeros(self.places, np.uint8), block

    def solve(self, rows: range, scratch: tuple[NDArray[Any], ...]) -> None:
        """Compute a range of rows of distances by one sweep, and add them to the answer."""
        start, block = self.sweep(rows, *scratch), scratch[-1]
        if self.answer is None:
            self.form.take(SweptLanes(rows, block, start, self.bound, self.columns))
        else:
            lanes = block, start, self.columns, self.bound, self.unseen
            _copy_lanes_kernel(*lanes, self.answer, rows.start, len(rows))

    def sweep(
        self, rows: range, distances: NDArray[Any], is_open: NDArray[Any], block: NDArray[Any]
    ) -> int:
        """Compute distances into `block`, a column per source; return the first column's index."""
        selection, parent = self.selection, self.structure.parent
        start = 0 if self.memory is None else rows.start
        lanes = -(-len(rows) // LANES) * LANES
        ranks = self.structure.rank[self.request.sources[rows.start : rows.stop]]
        climbed, swept = self.counts
        sweeps.climb_lanes_kernel(
            ranks, parent, self.metric.up, self.inf, distances, selection.places,
            is_open, block, start, lanes, climbed[rows.start : rows.stop],
        )  # fmt: skip
        swept[rows.start : rows.stop] = self.places
        sweeps.sweep_lanes_kernel(
            selection.arcs, selection.order, is_open, block.reshape(-1, LANES)[start // LANES :],
            np.uint64(block.shape[1] // LANES), np.uint64(lanes // LANES), self.inf,
        )  # fmt: skip
        sweeps.clear_marks_kernel(ranks, parent, selection.places, is_open)
        if self.cuts:
            known = block if self.memory is None else block[: self.request.columns(self.places)]
            sweeps.cut_kernel(known, start, start + len(rows), self.bound, self.unseen)
        if self.metric.potentials is not None:
            starts = self.metric.potentials[self.request.sources[rows.start : rows.stop]]
            sweeps.shift_kernel(block, start, self.heights, starts, self.unseen)
        return start


class _LanePaths(_LaneRows):
    """Solver for shortest paths from many sources to targets; each sweep takes `LANES` sources."""

    def __init__(
        self, prepared: PreparedMap, request: Request, method: Method, dtype: Number
    ) -> None:
        super().__init__(prepared, request, method, dtype)
        self.together = LANES
        self.worker_bytes = prepared.n * (dtype.itemsize + 1 + LANES * dtype.itemsize)
        # (and the vertices on paths to targets)
        self.worker_bytes += (1 + 2 * LANES) * prepared.n * INDEX.itemsize
        self.open_graph = prepared.graph.without_closed_arcs()

    def _select(self, prepared: PreparedMap) -> tuple[Selection, NDArray[np.int64]]:
        assert self.request.targets is not None
        return self._select_all(prepared), self.request.targets

    def solve(self, rows: range, scratch: tuple[NDArray[Any], ...]) -> None:
        """Add the distances and paths from some sources to the targets to the answer."""
        self.sweep(rows, *scratch)
        lanes = scratch[-1], len(rows), np.full(self.graph.n, -1, INDEX)
        branches = find_branches(self.open_graph, self.columns, *lanes)
        self.form.take(SweptLanes(rows, scratch[-1], 0, self.bound, self.columns, branches))


# ---- results that stand in lanes


@njit
def _gather_kernel(block, start, places, bound, unseen, rows):
    """Copy the distances of selected vertices to `rows`, which has one row for each source."""
    for low in range(0, places.size, TILE):
        high = min(low + TILE, places.size)
        for lane in range(rows.shape[0]):
            for column in range(low, high):
                distance = block[np.uint64(places[column]), start + lane]
                rows[lane, column] = distance if distance <= bound else unseen


@njit
def _copy_lanes_kernel(block, start, places, bound, unseen, answer, first, count):
    """Copy the distances of selected vertices to `answer`; write `unseen` if above `bound`."""
    for i in range(places.size):
        row = block[np.uint64(places[i]), start : start + count]
        kept = answer[i, first : first + count]
        for lane in range(count):
            kept[lane] = row[lane] if row[lane] <= bound else unseen


@njit
def _reached_kernel(block, start, bound, places, vertices, distances):
    """Write each lane's reached vertices and distances to two arrays, from ``places[lane]`` on."""
    for vertex in range(block.shape[0]):
        row = block[vertex, start : start + places.size]
        for lane in range(places.size):
            if row[lane] <= bound:
                vertices[places[lane]], distances[places[lane]] = vertex, row[lane]
                places[lane] += 1


@njit
def _reduce_kernel(block, start, places, bound, least, counts, greatest, upper, lower):
    """Write the count, maximum and sum of the reached distances in every lane (row) of a block.

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
    """Sum the 64-bit weights of the vertices that each row (lane) reached, in 32-bit halves.

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


@dataclass
class SweptLanes:
    """Distances from finished sources of a request, in a matrix with one column per source.

    Parameters
    ----------
    rows : range
        Which rows of the request.
    block : ndarray, shape (places, lanes)
        Their distances,
    start : int
        from this lane on.
    bound : number
        Greater distances count as unreached; rows swept in place hold the sentinel.
    columns : ndarray, int64
        The places of the requested vertices, in the request's order, as that of vertex weights.
    branches : Entries, optional
        The vertices on the paths to them, with their predecessors.
    """

    origin: ClassVar[NDArray[np.int32] | None] = None
    walks: ClassVar[Walks | None] = None
    rows: range
    block: NDArray[Any]
    start: int
    bound: Any
    columns: NDArray[np.int64]
    branches: Entries | None = None

    @property
    def _lanes(self) -> tuple[Any, ...]:
        """Common arguments of the kernels that read results from a matrix of swept distances."""
        return self.block, self.start, self.columns, self.bound

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Write the distances of the requested columns to `out`, one row per source."""
        if np.may_share_memory(out, self.block):
            return  # swept in place
        in_place = out.dtype == self.block.dtype and out.flags.c_contiguous
        found = out if in_place else np.empty(out.shape, self.block.dtype)
        _gather_kernel(*self._lanes, unreached(found.dtype), found)
        if not in_place:
            convert_into(found, out)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """Raise AssertionError: sweeps of many sources at once never find rows of predecessors."""
        raise AssertionError

    def paths(self) -> Entries:
        """Return for each row the vertices on paths to the targets, and their predecessors."""
        assert self.branches is not None
        return self.branches

    def list_reached(self, *, tails: bool) -> Entries:
        """Return the vertices that each source reaches, with their distances."""
        assert not tails
        counts, dtype = self._numbers["one", "sum"], self.block.dtype
        ends = np.cumsum(counts)
        vertices, distances = np.empty(ends[-1], INDEX), np.empty(ends[-1], dtype)
        lanes = self.block, self.start, self.bound
        _reached_kernel(*lanes, ends - counts, vertices, distances)
        return Entries(counts, vertices, distances, None)

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Return one result per row (lane) for a reduction step: a count, maximum or sum."""
        weights = step.vertex_weights
        if not step.is_exact(self.block.dtype):
            among = len(self.rows), self.columns, self.bound, weights
            return ordered_sums_of_lanes(self.block, self.start, *among, step.decay)
        if weights is None:
            return self._numbers[step.number, step.combine]
        upper, lower = np.zeros((2, step.columns, len(self.rows)), INT64)
        _weigh_kernel(*self._lanes, weights, upper, lower)
        return np.stack((upper.T, lower.T), axis=2)

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], NDArray[Any]]:
        """Return count, maximum and integer sum of the reached distances of each row."""
        dtype, lanes = self.block.dtype, len(self.rows)
        floats, least = dtype.kind == "f", least_number(dtype)
        counts, greatest = np.zeros(lanes, dtype), np.full(lanes, least, dtype)
        upper, lower = np.zeros((2, lanes), INT64)
        halves = None if floats or dtype == INT32 else upper, None if floats else lower
        _reduce_kernel(*self._lanes, dtype.type(least), counts, greatest, *halves)
        if not floats:
            greatest = np.where(counts > 0, greatest.astype(INT64), least_number(INT64))
        sums = np.stack((upper, lower), axis=1)[:, np.newaxis]
        return {
            ("one", "sum"): counts.astype(INT64),
            ("distance", "max"): greatest,
            ("distance", "sum"): sums,
        }
