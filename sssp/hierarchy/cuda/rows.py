"""Answers a question about shortest paths by sweeps over a hierarchy, on a GPU.

The twin of `sssp.hierarchy.rows`. Nearest sources, float weights with trees, and integers whose
sums leave int64 go by a search on the graph, on the same device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.batch import COUNTERS, Batch, Search
from sssp.cuda.compiler import SHARED, SIMULATOR, address, cuda, device_number, select
from sssp.cuda.device.grid import blocks_at_once
from sssp.cuda.fill import THREADS, fill
from sssp.cuda.finished import DeviceRows
from sssp.cuda.memory import DeviceGraph, fetch, move, upload
from sssp.cuda.pool import device_array
from sssp.cuda.rows import solve_rows
from sssp.engine.forms import least_number
from sssp.engine.query import Answer, Query, Reduction
from sssp.hierarchy.cuda.climb import CLIMB_THREADS, make_climb_kernel
from sssp.hierarchy.cuda.few_lanes import few_bytes, make_few_kernel
from sssp.hierarchy.cuda.folds import (
    LANES,
    SLICES,
    SLOTS,
    make_fold_kernel,
    place_kernel,
    total_kernel,
)
from sssp.hierarchy.cuda.launches import Launches
from sssp.hierarchy.cuda.pieces import Above, DeviceTree
from sssp.hierarchy.cuda.ready import answer_at_once
from sssp.hierarchy.cuda.selection import Packed, Selection
from sssp.hierarchy.cuda.sweeps import (
    LEVEL_THREADS,
    make_level_kernel,
    make_sweep_kernel,
    shared_bytes,
)
from sssp.hierarchy.cuda.trees import make_tails_kernel
from sssp.hierarchy.cuda.trips import found_trips
from sssp.hierarchy.cuda.turns import TILE, TURNS, make_few_turn_kernel, make_turn_kernel
from sssp.hierarchy.cuda.versions import DeviceMap, device_map
from sssp.hierarchy.rows import check_question, searched, solve_by, weighed_at_targets
from sssp.kernels.dtypes import INDEX, INT32, INT64
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.hierarchy.hierarchy import Hierarchy

__all__ = ["FEW", "MOST_ROWS", "LanesSearch", "solve", "solve_trips", "whole_lanes"]

#: most lanes of a block in the lowest tier, which has bundles enough, and in the others
MOST_TOGETHER, FEW_TOGETHER = 4 * LANES, 2 * LANES
#: up to so many rows a thread block sweeps a bundle by depth, a thread an arc
FEW = 4 if SIMULATOR else 32
#: threads of such a block in the lowest tier, and in the others, whose levels are wider
FEW_THREADS = (4, 4) if SIMULATOR else (32, 128)
#: groups of arcs that it has in shared memory at a time, for every row of a bundle
FEW_GROUPS = 4
#: blocks of a multiprocessor at a time: where there are more, each takes more lanes
FEW_BLOCKS = 16
#: part of the vertices up to which targets are selected; for targets that nobody has asked for
#: before, so many distances of all vertices pay for it
SELECTED, WORTH_SELECTING = (1.0, 0) if SIMULATOR else (1 / 2, 1 << 30)
#: bytes of a table that is answered at once
TABLE_BYTES = 512 << 20
#: rows that are swept side by side, and bytes of their distances, unless those of FEWEST are more
MOST_ROWS, BYTES, FEWEST = 1024, 1 << 30, 256


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
    with select(device_number(query.device)):
        return solve_by(_swept, _fits, hierarchy, query, method, dtype)


def _swept(
    hierarchy: Hierarchy, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer by sweeps, but for nearest sources; the device is current."""
    if query.nearest:
        return searched(hierarchy, query, method, dtype)
    graph = hierarchy.graph.open_part() if query.predecessors else hierarchy.graph
    number = device_number(query.device)

    def make_search(on_device: DeviceGraph) -> Search:
        there, trees = device_map(hierarchy, dtype, number), None
        if query.predecessors and graph.least_weight > 0:
            trees = on_device.arcs(graph, dtype, reverse=True)
        return _search_for(there, query, trees)

    if query.rows and query.stream is None and not query.predecessors:
        search = _ready_search(device_map(hierarchy, dtype, number), query)
        answer = None if search is None else answer_at_once(search, query, method)
        if answer is not None:
            return answer
    if _ends_at_targets(query):
        query = weighed_at_targets(query)
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
    number = device_number(query.device)
    with select(number):
        on_device = device_map(hierarchy, dtype, number)
        return found_trips(on_device, hierarchy, query, method) if on_device.fits else None


def _fits(hierarchy: Hierarchy, query: Query, dtype: np.dtype[Any]) -> bool:
    """Whether no sum can leave a dtype; of a search on the graph that is for the search to tell."""
    if query.nearest:
        return True
    return device_map(hierarchy, dtype, device_number(query.device)).fits


def _ready_search(on_device: DeviceMap, query: Query) -> LanesSearch | None:
    """Return the search for what is answered at once; None: it is not.

    Those are whole rows of a few sources, on the host, and what comes of targets that have been
    selected before.
    """
    if query.targets is None:
        plain = query.rows <= FEW and query.output == "host" and query.reduction is None
        return _Turned(on_device, None, direct=_is_whole(on_device, query)) if plain else None
    selection = on_device.tree.selections.known(query.targets)
    nbytes = query.rows * query.targets.size * on_device.dtype.itemsize
    if selection is None or query.output == "sparse" or not _is_light(query):
        return None
    search = _targets_search(on_device, query, on_device.selected.of(selection))
    assert search.rows_at_once is not None
    fits = query.rows <= search.rows_at_once if query.reduction is not None else True
    return search if fits and nbytes <= TABLE_BYTES else None


class Scratch(NamedTuple):
    """What the batches of a lane work in, one after the other, and what was launched in it.

    Attributes
    ----------
    launches : Launches
    sources : device array, shape (lanes,), int64
    counters : device array, shape (lanes, COUNTERS), int64
    source_ranks : device array, shape (lanes,), int32
    starts, stops : device arrays, shape (lanes, height), uint32
        Where the arcs of the vertices on a climb are.
    ways : device array, shape (lanes, height)
        How far they are.
    swept : device array, one axis, or None
        Distances of all vertices, side by side; None if the answer has room for them.
    totals, words : device arrays of int64, or None
        What distances are folded to: by slots, and all together.
    here : ndarray or None
        The same on the host, pinned.
    """

    launches: Launches
    sources: Any
    counters: Any
    source_ranks: Any
    starts: Any
    stops: Any
    ways: Any
    swept: Any
    totals: Any = None
    words: Any = None
    here: Any = None


class LanesSearch(Search):
    """Climbs and sweeps, ready to run on a map in one dtype; it leaves lanes for others."""

    writes_all, together = True, LANES
    #: up to so many rows are swept by the kernel for a few
    few = FEW
    #: whether lanes are what results have, so that a single one is the row itself
    direct = False

    def __init__(
        self,
        on_device: DeviceMap,
        trees: tuple[Any, ...] | None = None,
        packed: Packed | None = None,
        above: Above | None = None,
    ) -> None:
        self.map, self.tree, self.dtype = on_device, on_device.tree, on_device.dtype
        self.n, self.packed = self.tree.size, packed
        self.pieces: DeviceTree | Selection | Above = self.tree
        self.streams, self.size, self.held = on_device.streams, self.n, on_device.nbytes
        if packed is not None:
            self.pieces, self.streams = packed.selection, packed.streams
            self.size = rounded_up(packed.selection.size)
            self.held += packed.nbytes
        elif above is not None:
            self.pieces, self.size = above, above.size
            self.held += above.nbytes
        #: of what is swept in which weights: no others share it
        self.serial = on_device.number, 0 if packed is None else packed.serial
        fitting = BYTES // max(1, self.size * self.dtype.itemsize)
        self.rows_at_once = max(FEWEST, min(MOST_ROWS, fitting // LANES * LANES))
        self.totals, self.wanted = on_device.nothing
        #: weights of places, or of targets, that are added up in place of distances; empty: none
        self.values = self.wanted
        self.places_wanted = self.wanted
        if trees is not None:  # (which are found by tiles of lanes)
            self.few = 0
        self.trees: tuple[Any, ...] = trees or ()
        self.finds_trees = trees is not None

    @property
    def row_bytes(self) -> int:
        """Bytes of scratch for one row."""
        height: int = self.tree.height
        return (self.size + height) * self.dtype.itemsize + 8 * height

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the map, and of lanes that only fill up the last of them."""
        return int(self.held) + LANES * self.row_bytes

    def lanes(self, rows: int) -> int:
        """Return how many lanes some rows take; a few take no more than they are."""
        return rows if rows <= self.few else whole_lanes(rows)

    def allocate(self, rows: int) -> Any:
        """Return `Scratch` for some rows."""
        lanes = self.lanes(rows)
        return self.map.shelf.take((type(self), self.size, lanes)) or self.fresh(lanes)

    def release(self, scratch: Any) -> None:
        """Leave scratch for the calls after this one."""
        nbytes = sum(getattr(part, "nbytes", 0) for part in scratch)
        self.map.shelf.leave((type(self), self.size, scratch.sources.size), nbytes, scratch)

    def fresh(self, lanes: int) -> Scratch:
        """Allocate memory."""
        height = max(1, self.tree.height)
        return Scratch(
            Launches(),
            device_array(lanes, INT64),
            cuda.to_device(np.zeros((lanes, COUNTERS), INT64)),
            device_array(lanes, INDEX),
            device_array((lanes, height), np.uint32),
            device_array((lanes, height), np.uint32),
            device_array((lanes, height), self.dtype),
            self.lanes_memory(lanes),
        )

    def lanes_memory(self, lanes: int) -> Any:
        """Return memory for all distances; lanes that nobody fills hold numbers."""
        memory = device_array(max(1, self.size * lanes), self.dtype)
        fill(memory, self.dtype.type(0), cuda.default_stream())
        return memory

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Fill the distances and counters of a batch."""
        sources, counters = scratch.sources, scratch.counters
        move(batch.sources, sources, batch.stream)

        def launch(stream: Any) -> None:
            own = replace(batch, sources=sources[: batch.rows], counters=counters, stream=stream)
            self.fill(own, scratch)

        # (all that the kernels are given, but for the scratch, in which this stands)
        places = map(address, self.places(batch))
        asked = self.serial, batch.rows, self.few, self.pitch, batch.bound, *places
        scratch.launches.do(asked, batch.stream, launch)
        move(counters, batch.counters, batch.stream)
        self.hand_over(batch, scratch)

    def places(self, batch: Batch) -> tuple[Any, ...]:
        """Arrays of the call that `fill` works on."""
        return ()

    def fill(self, batch: Batch, scratch: Any) -> None:
        """Launch what is worth recording: fill lanes, and fold them if that is wanted."""
        self.fill_lanes(batch, scratch, self.lanes(batch.rows), scratch.swept)

    def hand_over(self, batch: Batch, scratch: Any) -> None:
        """Launch what brings lanes to the answer, whose address no other batch has."""

    def fill_lanes(
        self, batch: Batch, scratch: Any, lanes: int, swept: Any, totals: Any = None
    ) -> None:
        """Climb and sweep; `lanes` of `swept` there are in all, of which the first are filled."""
        source_ranks, ways = scratch.source_ranks, scratch.ways
        if self.lanes(batch.rows) != batch.rows:
            batch.fill(source_ranks, -1)
        self.climb(batch, scratch, lanes, swept)
        self.sweep(batch, (source_ranks, ways, np.uint32(lanes), swept), totals)

    def climb(self, batch: Batch, scratch: Any, lanes: int, swept: Any) -> None:
        """Climb from the sources."""
        pieces, on_device = self.pieces, self.map
        make_climb_kernel(self.dtype)[batch.rows, CLIMB_THREADS, batch.stream](
            batch.sources,
            *pieces["rank_of ranks places vertices chain leap depth"],
            *on_device.up,
            *pieces["first upper"],
            np.uint32(self.tree.bundles.top),
            on_device.between,
            scratch.starts,
            scratch.stops,
            scratch.ways,
            scratch.source_ranks,
            batch.counters,
            np.uint32(lanes),
            swept,
        )

    def sweep(self, batch: Batch, lanes: tuple[Any, ...], totals: Any) -> None:
        """Sweep levels and bundles; with `totals` fold what is found."""
        width, stream = self.lanes(batch.rows), batch.stream
        together = width if batch.rows <= self.few else LANES
        slices = 1 << (LEVEL_THREADS // together).bit_length() - 1
        for low, high in pairwise(self.tree.bundles.levels.tolist()):
            grid, block = (high - low, width // together), (together, slices)
            make_level_kernel(self.dtype)[grid, block, stream](
                np.uint32(low), *self.pieces["ranks order size depth"], *self.map.down, *lanes
            )
        if batch.rows <= self.few:
            self._sweep_few(width, lanes, stream)
        else:
            self._sweep_many(batch, lanes, totals)

    def _sweep_few(self, width: int, lanes: tuple[Any, ...], stream: Any) -> None:
        """Sweep bundles, a thread an arc."""
        pieces, sweep = self.pieces, make_few_kernel(self.dtype)
        for low, high, room, group, lowest in pieces.passes:
            arcs = FEW_GROUPS * group * room
            threads = FEW_THREADS[0] if lowest else FEW_THREADS[1]
            together = self._few_together(width, high - low, room, arcs, threads)
            sweep[
                (high - low, width // together), (together, threads // together), stream,
                few_bytes(self.dtype, room, together, arcs),
            ](
                *map(np.uint32, (low, room, arcs)),
                *pieces["bundle_first boundary_first boundary_vertices lowest highest"],
                *pieces["vertices ranks size depth"],
                *self.streams,
                *lanes,
            )  # fmt: skip

    def _few_together(self, width: int, bundles: int, room: int, arcs: int, threads: int) -> int:
        """How many lanes a block takes: one, but where there would be too many blocks."""
        fitting = [
            lanes
            for lanes in range(1, min(width, threads) + 1)
            if width % lanes == 0 and few_bytes(self.dtype, room, lanes, arcs) <= SHARED
        ]
        most = blocks_at_once(FEW_BLOCKS)
        return next((few for few in fitting if bundles * width // few <= most), fitting[-1])

    def _sweep_many(self, batch: Batch, lanes: tuple[Any, ...], totals: Any) -> None:
        """Sweep bundles, a thread a lane."""
        pieces, width, stream = self.pieces, self.lanes(batch.rows), batch.stream
        if totals is not None:
            above, (_, _, pitch, swept) = self.tree.bundles.start, lanes
            self.fold(batch, pieces["vertices"][:above], pitch, swept, totals)
        for low, high, room, group, lowest in pieces.passes:
            threads = self._together(width, room, lowest=lowest)
            folds = totals is not None
            make_sweep_kernel(
                self.dtype,
                group,
                folds=folds,
                stores=not (folds and lowest),
                weighs=folds and self.values.size > 0,
            )[
                (high - low, width // threads), threads, stream,
                shared_bytes(self.dtype, room, threads),
            ](
                np.uint32(low),
                np.uint32(room),
                *pieces["bundle_first boundary_first boundary_vertices lowest highest"],
                *pieces["vertices ranks size depth"],
                *self.streams,
                *lanes,
                batch.bound,
                self.values,
                totals if folds else self.totals,
            )  # fmt: skip

    def fold(self, batch: Batch, places: Any, lanes: np.uint32, swept: Any, totals: Any) -> None:
        """Fold the distances of some places, which are swept."""
        grid = max(1, min(SLOTS, -(-places.size // SLICES))), self.lanes(batch.rows) // LANES
        fold = make_fold_kernel(self.dtype, weighs=self.values.size > 0)
        fold[grid, (LANES, SLICES), batch.stream](
            places, lanes, batch.bound, swept, self.values, totals
        )

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
        *,
        direct: bool = False,
        packed: Packed | None = None,
    ) -> None:
        super().__init__(on_device, trees, packed)
        self.direct = direct and trees is None
        self.columns = None if targets is None else targets.size
        if packed is not None:
            self.wanted, self.places_wanted = packed.selection.wanted, packed.selection.columns
        elif targets is not None:
            self.wanted = self.places_wanted = cuda.to_device(targets)

    def is_row(self, rows: int) -> bool:
        """Whether the only lane is the row itself."""
        return self.direct and self.lanes(rows) == 1

    def places(self, batch: Batch) -> tuple[Any, ...]:
        """Arrays of the call that `fill` works on."""
        return (batch.distances,) if self.is_row(batch.rows) else ()

    def fill(self, batch: Batch, scratch: Any) -> None:
        """Launch what is worth recording."""
        swept = batch.distances.reshape(self.n) if self.is_row(batch.rows) else scratch.swept
        self.fill_lanes(batch, scratch, self.lanes(batch.rows), swept)

    def hand_over(self, batch: Batch, scratch: Any) -> None:
        """Turn lanes, and find trees by them."""
        columns = self.n if self.columns is None else self.columns
        if not columns or self.is_row(batch.rows):
            return
        lanes = self.lanes(batch.rows)
        turn, grid, block = self._turn(columns, batch.rows)
        turn[grid, block, batch.stream](
            scratch.swept,
            np.uint32(lanes),
            self.wanted,
            self.places_wanted,
            batch.bound,
            self.map.shifts,
            batch.sources,
            batch.distances,
        )
        if self.finds_trees:
            self.find_tails(batch, lanes, scratch.swept, turned=True)

    def _turn(self, columns: int, rows: int) -> tuple[Any, Any, Any]:
        """Return the kernel, and the grid and blocks of its launch."""
        if rows <= self.few:
            return make_few_turn_kernel(self.dtype), -(-columns // THREADS), THREADS
        grid = -(-columns // TILE), -(-rows // TILE)
        return make_turn_kernel(self.dtype), grid, (TILE, TURNS)


class _SideBySide(LanesSearch):
    """Lanes are the answer, on the device."""

    few = 0

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

    def fill(self, batch: Batch, scratch: Any) -> None:
        """Launch all kernels."""
        assert self.pitch is not None
        self.fill_lanes(batch, scratch, self.pitch, batch.distances)
        if self.finds_trees and self.n:
            self.find_tails(batch, self.pitch, batch.distances, turned=False)


class _Folded(LanesSearch):
    """Lanes are folded: only how many distances there are, their sum, and the greatest are kept.

    In place of distances it may add up what the vertices weigh.

    They go to the host when they are asked for, and not with what fills them: what else is to come
    from the device would wait behind a batch that is still under way.

    The lowest tier writes nothing, and nothing stands in memory for it.
    """

    columns = few = 0

    def __init__(
        self, on_device: DeviceMap, reduction: Reduction, packed: Packed | None = None
    ) -> None:
        tree, weights = on_device.tree, reduction.vertex_weights
        above = tree.made.made("above", lambda: Above(tree)) if packed is None else None
        super().__init__(on_device, packed=packed, above=above)
        if weights is not None:
            self.values = upload(np.ascontiguousarray(weights[:, 0]))
            if packed is None:
                given, self.values = self.values, device_array(self.n, INT64)
                blocks = -(-self.n // THREADS)
                place_kernel[blocks, THREADS](given, self.tree["vertices"], self.values)
            self.held += self.values.nbytes

    def places(self, batch: Batch) -> tuple[Any, ...]:
        """Arrays of the call that `fill` works on."""
        return (self.values,)

    def fresh(self, lanes: int) -> Scratch:
        """Allocate memory, also for the numbers, there and here."""
        totals, numbers = device_array((SLOTS, 3, lanes), INT64), (3, lanes)
        words, here = device_array(numbers, INT64), cuda.pinned_array(numbers, INT64)
        return super().fresh(lanes)._replace(totals=totals, words=words, here=here)

    def fill(self, batch: Batch, scratch: Any) -> None:
        """Launch all kernels."""
        swept, totals, words = scratch.swept, scratch.totals, scratch.words
        batch.fill(totals, 0)
        lanes = whole_lanes(batch.rows)
        if self.packed is None:
            self.fill_lanes(batch, scratch, lanes, swept, totals)
        else:
            self.fill_lanes(batch, scratch, lanes, swept)
            self.fold(batch, self.packed.selection.columns, np.uint32(lanes), swept, totals)
        blocks = -(-words.shape[1] // THREADS)
        total_kernel[(blocks, 3), THREADS, batch.stream](totals, words)

    def finished(self, rows: DeviceRows, scratch: Any) -> DeviceRows:
        """Return the numbers as forms ask for them."""
        fetch(scratch.words, scratch.here, rows.batch.stream)
        return FoldedRows(**vars(rows), words=scratch.here)


@dataclass
class FoldedRows(DeviceRows):
    """A finished batch of which only a few numbers a row are known.

    Attributes
    ----------
    words : ndarray, shape (3, lanes), int64
        How many distances there are, their sum, and the greatest; on their way to here.
    """

    words: Any = None

    @cached_property
    def _found(self) -> NDArray[np.int64]:
        self.batch.stream.synchronize()
        words: NDArray[np.int64] = self.words[:, : self.batch.rows]
        return words

    def reduced(self, reduction: Reduction) -> NDArray[Any]:
        """Return what a step of a reduction makes of each row, as `FinishedRows` says."""
        numbers: NDArray[np.int64]
        counts, sums, greatest = self._found
        if reduction.what == "count":
            numbers = counts
        elif reduction.what == "eccentricity":
            numbers = np.where(counts > 0, greatest, least_number(INT64))
        else:  # in halves
            numbers = np.zeros((sums.size, 1, 2), INT64)
            numbers[:, 0, 1] = sums
        return numbers


def rounded_up(size: int) -> int:
    """Return for how many places memory is taken: much the same for selections of a kind."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def whole_lanes(rows: int) -> int:
    """Return how many lanes some rows take."""
    return -(-rows // LANES) * LANES


def _search_for(on_device: DeviceMap, query: Query, trees: tuple[Any, ...] | None) -> Search:
    """Choose what becomes of the lanes; with arcs to find trees by, if lanes do for that."""
    whole = _is_whole(on_device, query)
    if query.predecessors and (trees is None or query.targets is not None):
        return _Turned(on_device, None, trees, direct=whole)
    if _ends_at_targets(query):
        assert query.targets is not None
        return _targets_search(on_device, query, _packed(on_device, query.targets, query.rows))
    if query.reduction is not None and query.targets is None and _folds(on_device, query.reduction):
        return _Folded(on_device, query.reduction)
    if not _is_light(query):
        return _Turned(on_device, None, trees, direct=whole)
    filled = query.rows > FEW and on_device.dtype != INT64
    if query.output == "device" and query.reduction is None and whole and filled:
        return _SideBySide(on_device, query.rows, trees)
    return _Turned(on_device, None, trees, direct=whole)


def _targets_search(on_device: DeviceMap, query: Query, packed: Packed | None) -> LanesSearch:
    """Choose what becomes of lanes that targets are found in."""
    assert query.targets is not None
    reduction = query.reduction
    if reduction is not None and packed is not None and _folds(on_device, reduction):
        return _Folded(on_device, reduction, packed)
    return _Turned(on_device, query.targets, packed=packed)


def _ends_at_targets(query: Query) -> bool:
    """Whether rows have the columns of its targets alone."""
    if query.targets is None or query.predecessors:
        return False
    # (a row has one column at least, and of no targets that holds anything)
    return query.reduction is None or query.targets.size > 0


def _is_light(query: Query) -> bool:
    """Whether it asks for distances, or only how many there are, their sum, and the greatest."""
    reduction = query.reduction
    return reduction is None or (reduction.vertex_weights is None and reduction.decay is None)


def _folds(on_device: DeviceMap, reduction: Reduction) -> bool:
    """Whether lanes are folded as they are: to whole numbers that no order changes."""
    if on_device.dtype != INT32 or on_device.shifts.size or reduction.decay is not None:
        return False
    weights = reduction.vertex_weights
    if weights is None:
        return True
    if weights.dtype.kind == "f" or weights.shape[1] != 1:
        return False
    most = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    return most * len(weights) <= np.iinfo(INT64).max


def _packed(on_device: DeviceMap, targets: NDArray[np.int64], rows: int) -> Packed | None:
    """Return what is swept for some targets, if that takes less time than to sweep all vertices."""
    tree = on_device.tree
    if not 0 < targets.size <= tree.size * SELECTED:
        return None
    if rows * tree.size < WORTH_SELECTING and not tree.selections.come_again(targets):
        return None
    return on_device.selected.of(tree.selections.of(tree, targets))


def _is_whole(on_device: DeviceMap, query: Query) -> bool:
    """Whether lanes are rows: what is not reached, or too far, is told where rows are turned."""
    return on_device.joined and not on_device.shifts.size and query.limit is None
