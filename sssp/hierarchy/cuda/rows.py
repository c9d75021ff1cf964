"""Answers a question about shortest paths by sweeps over a hierarchy, on a GPU.

The twin of `sssp.hierarchy.rows`. Nearest sources, float weights with trees, and integers whose
sums leave int64 go by a search on the graph, on the same device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.batch import Batch, Search
from sssp.cuda.compiler import SIMULATOR, Recording, address, cuda, device_number, select
from sssp.cuda.fill import THREADS
from sssp.cuda.finished import DeviceRows, on_host
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.rows import solve_rows
from sssp.engine.forms import least_number
from sssp.engine.query import Answer, Query, Reduction
from sssp.hierarchy.cuda.resident import DeviceMap, DeviceTree
from sssp.hierarchy.cuda.sweeps import (
    CLIMB_THREADS,
    LANES,
    SLICES,
    SLOTS,
    TILE,
    TURNS,
    make_climb_kernel,
    make_fold_kernel,
    make_level_kernel,
    make_sweep_kernel,
    make_turn_kernel,
    shared_bytes,
    total_kernel,
)
from sssp.hierarchy.cuda.trees import make_tails_kernel
from sssp.hierarchy.cuda.trips import found_trips
from sssp.hierarchy.customization import Metric
from sssp.hierarchy.rows import check_question, searched, solve_by
from sssp.kernels.dtypes import INDEX, INT32, INT64
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.hierarchy.hierarchy import Hierarchy

__all__ = ["LanesSearch", "device_map", "solve", "solve_trips", "whole_lanes"]

#: bytes of shared memory that a block gets without being asked twice
SHARED = 48 << 10
#: most lanes of a block in the lowest tier, which has bundles enough, and in the others
MOST_TOGETHER, FEW_TOGETHER = 4 * LANES, 2 * LANES
#: rows that are swept side by side, and bytes of their distances, unless those of FEWEST are more
MOST_ROWS, BYTES, FEWEST = 256, 1 << 30, 64
#: different launches that one scratch remembers
MOST_SEEN = 64


def solve(
    hierarchy: Hierarchy, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `query` in one dtype; None if a distance may be too long for it.

    Raises
    ------
    TypeError, ValueError
        As the twin does.
    DeviceError
        The device cannot be used, or one row does not fit into what it may take.
    """
    return solve_by(_swept, hierarchy, query, method, dtype)


def _swept(
    hierarchy: Hierarchy, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer by sweeps, but for nearest sources."""
    if query.nearest:
        return searched(hierarchy, query, method, dtype)
    graph = hierarchy.graph.open_part() if query.predecessors else hierarchy.graph
    number = device_number(query.device)

    def make_search(on_device: DeviceGraph) -> Search:
        there, trees = device_map(hierarchy, dtype, number), None
        if query.predecessors and graph.least_weight > 0:
            trees = on_device.arcs(graph, dtype, reverse=True)
        return _search_for(there, hierarchy.metric(dtype), query, trees)

    return solve_rows(graph, query, method, dtype, make_search)


def solve_trips(
    hierarchy: Hierarchy, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Find the distances of trips by climbs that meet; None if sums may leave the dtype.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As `solve` does.
    """
    check_question(hierarchy, query, dtype)
    if not hierarchy.layered(dtype).fits:
        return None
    number = device_number(query.device)
    with select(number):
        return found_trips(device_map(hierarchy, dtype, number), hierarchy, query, method)


def device_map(hierarchy: Hierarchy, dtype: np.dtype[Any], number: int) -> DeviceMap:
    """Return the weights of a map on a device, which is current; brought there once."""
    structure = hierarchy.structure
    tree = structure.shared.made(f"cuda:{number}", lambda: DeviceTree(structure))
    return hierarchy.derived(
        f"cuda:{number}, {dtype.char}",
        lambda: DeviceMap(tree, structure, hierarchy.metric(dtype)),
    )


class _Launches:
    """What was launched in one scratch: what comes again is recorded, and replayed.

    A launch from Python takes as long as several kernels run. When much has been asked for, all of
    it is forgotten: addresses of answers, and limits, may never come again.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], Recording | None] = {}

    def do(self, asked: tuple[Any, ...], stream: Any, launches: Callable[[Any], None]) -> None:
        """Launch kernels on a stream; those that are asked for again do the same as before."""
        recording = self._seen.get(asked)
        if recording is not None:
            recording.replay(stream)
        elif asked in self._seen:
            self._seen[asked] = recording = Recording(launches)
            recording.replay(stream)
        else:
            launches(stream)
            if len(self._seen) == MOST_SEEN:
                self._seen.clear()
            if not SIMULATOR:
                self._seen[asked] = None


class LanesSearch(Search):
    """Climbs and sweeps, ready to run on a map in one dtype; it leaves lanes for others."""

    writes_all, together = True, LANES

    def __init__(self, on_device: DeviceMap, trees: tuple[Any, ...] | None = None) -> None:
        self.map, self.tree, self.dtype = on_device, on_device.tree, on_device.dtype
        self.n: int = self.tree.bundles.rank.size
        fitting = BYTES // max(1, self.n * self.dtype.itemsize)
        self.rows_at_once = max(FEWEST, min(MOST_ROWS, fitting // LANES * LANES))
        self.totals, self.wanted = on_device.nothing
        self.trees: tuple[Any, ...] = trees or ()
        self.finds_trees = trees is not None

    @property
    def row_bytes(self) -> int:
        """Bytes of scratch for one row."""
        height: int = self.tree.height
        return (self.n + height) * self.dtype.itemsize + 8 * height

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the map, and of lanes that only fill up the last of them."""
        held: int = self.map.nbytes
        return held + LANES * self.row_bytes

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return memory for the sources, their ranks, the climbs (path and ways), and lanes.

        Before them stands what was launched in it.
        """
        lanes = whole_lanes(rows)
        return self.map.pool.take((type(self), lanes)) or self.fresh(lanes)

    def release(self, scratch: tuple[Any, ...]) -> None:
        """Leave scratch for the calls after this one."""
        arrays = [part for part in scratch if hasattr(part, "nbytes")]
        key = type(self), arrays[0].size
        self.map.pool.leave(key, sum(part.nbytes for part in arrays), scratch)

    def fresh(self, lanes: int) -> tuple[Any, ...]:
        """Allocate memory."""
        height = max(1, self.tree.height)
        return (
            _Launches(),
            cuda.device_array(lanes, INT64),
            cuda.device_array(lanes, INDEX),
            cuda.device_array((lanes, height), np.uint32),
            cuda.device_array((lanes, height), np.uint32),
            cuda.device_array((lanes, height), self.dtype),
            self.lanes_memory(lanes),
        )

    def lanes_memory(self, lanes: int) -> Any:
        """Return memory for the distances of all vertices."""
        return cuda.device_array(max(1, self.n * lanes), self.dtype)

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Fill the distances and counters of a batch."""
        launches, sources, *_ = scratch
        own = sources[: batch.rows]
        own.copy_to_device(batch.sources, stream=batch.stream)

        def launch(stream: Any) -> None:
            self.fill(replace(batch, sources=own, stream=stream), scratch)

        # (all that the kernels are given, but for the map and the scratch, in which this stands)
        places = batch.counters, *self.places(batch)
        asked = batch.rows, self.pitch, batch.bound, *map(address, places)
        launches.do(asked, batch.stream, launch)
        self.hand_over(batch, scratch)

    def places(self, batch: Batch) -> tuple[Any, ...]:
        """Arrays of the call that `fill` works on."""
        return ()

    def fill(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Launch what is worth recording: fill lanes, and fold them if that is wanted."""
        self.fill_lanes(batch, scratch, whole_lanes(batch.rows), scratch[6])

    def hand_over(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Launch what brings lanes to the answer, whose address no other batch has."""

    def fill_lanes(
        self, batch: Batch, scratch: tuple[Any, ...], lanes: int, swept: Any, totals: Any = None
    ) -> None:
        """Climb and sweep; `lanes` of `swept` there are in all, of which the first are filled."""
        _, _, source_ranks, starts, stops, ways, *_ = scratch
        batch.fill(source_ranks, -1)
        self.climb(batch, (starts, stops, ways, source_ranks), lanes, swept)
        self.sweep(batch, (source_ranks, ways, np.uint32(lanes), swept), totals)

    def climb(self, batch: Batch, scratch: tuple[Any, ...], lanes: int, swept: Any) -> None:
        """Climb from the sources."""
        tree, on_device = self.tree, self.map
        starts, stops, ways, source_ranks = scratch
        make_climb_kernel(self.dtype)[batch.rows, CLIMB_THREADS, batch.stream](
            batch.sources,
            *tree["rank_of ranks places vertices chain leap depth"],
            *on_device.up,
            *tree["first upper"],
            np.uint32(tree.bundles.top),
            on_device.between,
            starts,
            stops,
            ways,
            source_ranks,
            batch.counters,
            np.uint32(lanes),
            swept,
        )

    def sweep(self, batch: Batch, lanes: tuple[Any, ...], totals: Any) -> None:
        """Sweep levels and bundles; with `totals` fold what is found."""
        tree, on_device, bundles = self.tree, self.map, self.tree.bundles
        width, stream = whole_lanes(batch.rows), batch.stream
        for low, high in pairwise(bundles.levels.tolist()):
            grid = high - low, width // LANES
            make_level_kernel(self.dtype)[grid, (LANES, SLICES), stream](
                np.uint32(low), *tree["ranks order size depth"], *on_device.down, *lanes
            )
        if totals is not None:
            count, (_, _, pitch, swept) = int(bundles.levels[-1]), lanes
            grid = max(1, min(SLOTS, -(-count // SLICES))), width // LANES
            make_fold_kernel(self.dtype)[grid, (LANES, SLICES), stream](
                np.uint32(count), tree["vertices"], pitch, batch.bound, swept, totals
            )
        for tier, (low, high) in enumerate(pairwise(bundles.tiers.tolist())):
            lowest, room = tier == bundles.tiers.size - 2, int(bundles.rooms[tier])
            threads = self._together(width, room, lowest=lowest)
            folds = totals is not None
            make_sweep_kernel(
                self.dtype, tree.group(tier), folds=folds, stores=not (folds and lowest)
            )[
                (high - low, width // threads), threads, stream,
                shared_bytes(self.dtype, room, threads),
            ](
                np.uint32(low),
                np.uint32(room),
                *tree["bundle_first boundary_first boundary_vertices lowest highest"],
                *tree["vertices ranks size depth"],
                on_device.stream_first,
                on_device.stream,
                *lanes,
                batch.bound,
                totals if folds else self.totals,
            )  # fmt: skip

    def find_tails(self, batch: Batch, lanes: int, swept: Any, *, turned: bool) -> None:
        """Find predecessors from lanes, for lanes or for rows."""
        tails = batch.tails.reshape(batch.tails.size)
        grid = -(-self.n // TILE), -(-batch.rows // TILE)
        make_tails_kernel(self.dtype, turned=turned)[grid, (TILE, TURNS), batch.stream](
            *self.trees, batch.bound, np.uint32(lanes), np.uint32(batch.rows), swept, tails
        )

    def _together(self, lanes: int, room: int, *, lowest: bool) -> int:
        """How many lanes a block of a tier takes."""
        most = MOST_TOGETHER if lowest else FEW_TOGETHER
        fitting = [
            threads
            for threads in range(LANES, most + 1, LANES)
            if lanes % threads == 0 and shared_bytes(self.dtype, room, threads) <= SHARED
        ]
        return fitting[-1]


class _Turned(LanesSearch):
    """Lanes are turned into rows, of all vertices or of the targets."""

    def __init__(
        self,
        on_device: DeviceMap,
        targets: NDArray[np.int64] | None,
        trees: tuple[Any, ...] | None = None,
    ) -> None:
        super().__init__(on_device, trees)
        self.columns = None if targets is None else targets.size
        if targets is not None:
            self.wanted = cuda.to_device(targets)

    def hand_over(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Turn lanes, and find trees by them."""
        columns = self.n if self.columns is None else self.columns
        if columns:
            grid = -(-columns // TILE), -(-batch.rows // TILE)
            make_turn_kernel(self.dtype)[grid, (TILE, TURNS), batch.stream](
                scratch[6],
                np.uint32(whole_lanes(batch.rows)),
                self.wanted,
                batch.bound,
                self.map.shifts,
                batch.sources,
                batch.distances,
            )
        if self.finds_trees and columns:
            self.find_tails(batch, whole_lanes(batch.rows), scratch[6], turned=True)


class _SideBySide(LanesSearch):
    """Lanes are the answer, on the device."""

    def __init__(
        self, on_device: DeviceMap, rows: int, trees: tuple[Any, ...] | None = None
    ) -> None:
        super().__init__(on_device, trees)
        self.pitch = whole_lanes(rows)

    def lanes_memory(self, lanes: int) -> Any:
        """Return nothing: the answer has room for them."""
        return None

    def places(self, batch: Batch) -> tuple[Any, ...]:
        """Arrays of the call that `fill` works on."""
        tails = (batch.tails, *self.trees) if self.finds_trees else ()
        return batch.distances, *tails

    def fill(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Launch all kernels."""
        assert self.pitch is not None
        self.fill_lanes(batch, scratch, self.pitch, batch.distances)
        if self.finds_trees and self.n:
            self.find_tails(batch, self.pitch, batch.distances, turned=False)


class _Folded(LanesSearch):
    """Lanes are folded: only how many distances there are, their sum, and the greatest are kept."""

    columns = 0

    def fresh(self, lanes: int) -> tuple[Any, ...]:
        """Allocate memory, also for the numbers."""
        totals = cuda.device_array((SLOTS, 3, lanes), INT64)
        return *super().fresh(lanes), totals, cuda.device_array((3, lanes), INT64)

    def fill(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Launch all kernels."""
        *_, swept, totals, words = scratch
        batch.fill(totals, 0)
        self.fill_lanes(batch, scratch, whole_lanes(batch.rows), swept, totals)
        blocks = -(-words.shape[1] // THREADS)
        total_kernel[(blocks, 3), THREADS, batch.stream](totals, words)

    def finished(self, rows: DeviceRows, scratch: tuple[Any, ...]) -> DeviceRows:
        """Return the numbers as forms ask for them."""
        return FoldedRows(**vars(rows), words=scratch[-1])


@dataclass
class FoldedRows(DeviceRows):
    """A finished batch of which only a few numbers a row are known.

    Attributes
    ----------
    words : device array, shape (3, lanes), int64
        How many distances there are, their sum, and the greatest.
    """

    words: Any = None

    def reduced(self, reduction: Reduction) -> NDArray[Any]:
        """Return what a step of a reduction makes of each row, as `FinishedRows` says."""
        words: NDArray[np.int64] = on_host(self.words, self.batch.stream)[:, : self.batch.rows]
        counts, sums, greatest = words
        numbers: dict[str, NDArray[np.int64]] = {
            "count": counts,
            "eccentricity": np.where(counts > 0, greatest, least_number(INT64)),
            "sum": np.stack((np.zeros_like(sums), sums), axis=1)[:, np.newaxis],
        }
        return numbers[reduction.what]


def whole_lanes(rows: int) -> int:
    """Return how many lanes some rows take."""
    return -(-rows // LANES) * LANES


def _search_for(
    on_device: DeviceMap, metric: Metric, query: Query, trees: tuple[Any, ...] | None
) -> Search:
    """Choose what becomes of the lanes; with arcs to find trees by, if lanes do for that."""
    reduction, dtype = query.reduction, on_device.dtype
    plain = reduction is None or (reduction.vertex_weights is None and reduction.decay is None)
    if (query.predecessors and (trees is None or query.targets is not None)) or not plain:
        return _Turned(on_device, None, trees)
    if query.targets is not None:
        return _Turned(on_device, query.targets)
    if reduction is not None and dtype == INT32 and metric.potentials is None:
        return _Folded(on_device)
    # (unreached vertices and what is too far are told apart where rows are turned)
    whole = metric.joined and metric.potentials is None and query.limit is None
    filled = 2 * query.rows >= LANES and dtype != INT64
    if query.output == "device" and reduction is None and whole and filled:
        return _SideBySide(on_device, query.rows, trees)
    return _Turned(on_device, None, trees)
