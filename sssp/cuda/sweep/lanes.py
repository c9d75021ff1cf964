"""Distances from many sources at once by GPU sweeps: device memory and kernel launches.

What becomes of them then is written in `sssp.cuda.sweep.sweep_outputs`.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.batch_size import swept_at_once
from sssp.cuda.compiler import SHARED, launch_by_name
from sssp.cuda.device.grid import blocks_at_once
from sssp.cuda.graph_replay import key_of_fields
from sssp.cuda.pool import device_array, fill
from sssp.cuda.search_base import Batch, Search
from sssp.cuda.sweep.climb import CLIMB_THREADS, climb_kernel
from sssp.cuda.sweep.customization import DeviceMap
from sssp.cuda.sweep.device_tree import Above, DeviceTree
from sssp.cuda.sweep.lane_sums import LANES, SLICES, SLOTS, fold_kernel
from sssp.cuda.sweep.small_batch_sweep import few_bytes, make_few_kernel
from sssp.cuda.sweep.sweep_trees import tails_kernel
from sssp.cuda.sweep.sweeps import (
    LEVEL_THREADS,
    Pass,
    level_kernel,
    make_sweep_kernel,
    shared_bytes,
)
from sssp.cuda.sweep.target_selection import Packed, Selection
from sssp.cuda.sweep.transpose import TILE, TILE_ROWS
from sssp.kernels.dtypes import INDEX, infinity

#: most lanes of a block in the lowest tier, which has bundles enough, and in the others
MOST_TOGETHER, FEW_TOGETHER = 4 * LANES, 2 * LANES
#: up to so many rows a thread block sweeps a bundle by depth, a thread per arc
FEW = 4 if SIMULATOR else 32
#: a tier is swept so for more rows too where its bundles have at most so many lanes together for
#: each multiprocessor and nothing is folded: 28 us in place of 40 for 256 rows of New York
FEW_LANES = 8 if SIMULATOR else 160
#: threads of such a block in the lowest tier, and in the others, whose levels are wider
FEW_THREADS = (4, 4) if SIMULATOR else (32, 128)
#: groups of arcs that it has in shared memory at a time, for every row of a bundle
FEW_GROUPS = 4
#: blocks of a multiprocessor at a time: where there are more, each takes more lanes
FEW_BLOCKS = 16


class Scratch(
    namedtuple(
        "Scratch",
        "source_ranks starts stops ways swept totals words here",
        defaults=(None, None, None),
    )
):
    """Device memory for sweeps from several sources at once, reused from batch to batch.

    Attributes
    ----------
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


class LanesSearch(Search):
    """Base class of GPU sweeps from many sources at once (lanes); subclasses choose the output."""

    writes_all, is_replayed, together = True, True, LANES
    rows_at_once: int
    #: up to so many rows are swept by the kernel for a few
    few = FEW
    #: what distances are folded to, as `make_sweep_kernel` takes it
    folds: str | None = None
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
        self.n, self.packed, self.reads_targets = self.tree.size, packed, packed is None
        self.pieces: DeviceTree | Selection | Above = self.tree
        self.streams, self.size, self.held = on_device.streams, self.n, on_device.nbytes
        if packed is not None:
            self.pieces, self.streams = packed.selection, packed.streams
            self.size = round_up(packed.selection.size)
            self.held += packed.nbytes
        elif above is not None:
            self.pieces, self.size = above, above.size
            self.held += above.nbytes
        row = self.size * self.dtype.itemsize
        self.rows_at_once = swept_at_once(row, LANES, selected=packed is not None)
        self.totals, self.wanted = on_device.nothing
        #: weights of places, or of targets, that are added up in place of distances; empty: none
        self.values = self.wanted
        self.places_wanted = self.wanted
        if trees is not None:  # (which are found by tiles of lanes)
            self.few = 0
        self.trees: tuple[Any, ...] = trees or ()
        self.finds_trees = trees is not None

    @property
    def ready(self) -> Any:
        """CUDA event at the end of the map's customization; None if it is known to be over."""
        findings = self.map.findings
        return findings.done if findings.is_pending else None

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays of a sweep as a dict, keyed by the names of kernel parameters."""
        return self.pieces.arrays | self.map.kept._asdict() | self.streams._asdict()

    @property
    def row_bytes(self) -> int:
        """Bytes of device memory that a sweep needs for each row of distances."""
        height: int = self.tree.height
        return (self.size + height) * self.dtype.itemsize + 8 * height

    @property
    def fixed_bytes(self) -> int:
        """Bytes of device memory that a batch needs regardless of its number of rows."""
        return int(self.held) + LANES * self.row_bytes

    def lanes(self, rows: int) -> int:
        """Return how many columns the distance matrix has for `rows` sources, with any padding."""
        return rows if rows <= self.few else whole_lanes(rows)

    @property
    def kind(self) -> Any:
        """Part of the key under which scratch memory is cached: sizes and options of the sweep."""
        return self.size, self.few, self.finds_trees, self.direct, self.pitch

    def allocate(self, rows: int) -> Any:
        """Return device memory (`Scratch`) to sweep `rows` rows."""
        lanes = self.lanes(rows)
        height = max(1, self.tree.height)
        return Scratch(
            device_array(lanes, INDEX),
            device_array((lanes, height), np.uint32),
            device_array((lanes, height), np.uint32),
            device_array((lanes, height), self.dtype),
            self.lanes_memory(lanes),
        )

    def lanes_memory(self, lanes: int) -> Any:
        """Return device memory for the distances of `lanes` searches, filled with 0."""
        memory = device_array(max(1, self.size * lanes), self.dtype)
        fill(memory, self.dtype.type(0), cuda.default_stream())
        return memory

    @cached_property
    def replay_key(self) -> Any:
        """Key under which recorded GPU launches are cached, made of all fields of this object."""
        return key_of_fields(self)

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Compute the distances from a batch of sources by a sweep, in the scratch memory."""
        self.fill_lanes(batch, scratch, self.lanes(batch.rows), scratch.swept)

    def fill_lanes(
        self, batch: Batch, scratch: Any, lanes: int, swept: Any, totals: Any = None
    ) -> None:
        """Compute a batch's distances by upward searches and a sweep, and write them to `swept`."""
        if self.lanes(batch.rows) != batch.rows:
            batch.fill(scratch.source_ranks, -1)
        arrays = self.arrays | {
            "source_ranks": scratch.source_ranks,
            "ways": scratch.ways,
            "lanes": np.uint32(lanes),
            "inf": infinity(self.dtype),
            "distances": swept,
        }
        launch_by_name(
            climb_kernel, (batch.rows, CLIMB_THREADS, batch.stream), arrays,
            given=batch.given, sources=batch.sources, counters=batch.counters,
            top=np.uint32(self.tree.bundles.top), between=self.map.between, starts=scratch.starts,
            stops=scratch.stops,
        )  # fmt: skip
        self.sweep(batch, arrays, totals)

    def sweep(self, batch: Batch, arrays: dict[str, Any], totals: Any) -> None:
        """Queue a batch's downward sweep; also reduce its distances to `totals` if it is given."""
        width, stream = self.lanes(batch.rows), batch.stream
        together = width if batch.rows <= self.few else LANES
        slices = 1 << (LEVEL_THREADS // together).bit_length() - 1
        for low, high in pairwise(self.tree.bundles.levels.tolist()):
            grid, block = (high - low, width // together), (together, slices)
            launch_by_name(level_kernel, (grid, block, stream), arrays, first_place=np.uint32(low))
        if totals is not None:
            above = self.pieces["vertices"][: self.tree.bundles.start]
            self.fold(batch, above, arrays["lanes"], arrays["distances"], totals)
        for tier in self.pieces.passes:
            few = (tier.high - tier.low) * width <= blocks_at_once(FEW_LANES) and totals is None
            if few or batch.rows <= self.few:
                self._sweep_few(width, arrays, stream, tier)
            else:
                self._sweep_many(batch, arrays, totals, tier)

    def _sweep_few(self, width: int, arrays: dict[str, Any], stream: Any, tier: Pass) -> None:
        """Queue the sweep of some subtrees of the hierarchy for few sources: one thread per arc."""
        low, high, room, group, lowest = tier
        arcs = FEW_GROUPS * group * room
        threads = FEW_THREADS[0] if lowest else FEW_THREADS[1]
        together = self._few_together(width, high - low, room, arcs, threads)
        grid, block = (high - low, width // together), (together, threads // together)
        nbytes = few_bytes(self.dtype, room, together, arcs)
        launch_by_name(
            make_few_kernel(self.dtype), (grid, block, stream, nbytes), arrays,
            first_bundle=np.uint32(low), room=np.uint32(room), most_arcs=np.uint32(arcs),
        )  # fmt: skip

    def _few_together(self, width: int, bundles: int, room: int, arcs: int, threads: int) -> int:
        """Return the number of lanes (sources) per thread block for the sweep of a small batch."""
        fitting = [
            lanes
            for lanes in range(1, min(width, threads) + 1)
            if width % lanes == 0 and few_bytes(self.dtype, room, lanes, arcs) <= SHARED
        ]
        most = blocks_at_once(FEW_BLOCKS)
        return next((few for few in fitting if bundles * width // few <= most), fitting[-1])

    def _sweep_many(self, batch: Batch, arrays: dict[str, Any], totals: Any, tier: Pass) -> None:
        """Queue the sweep of some subtrees of the hierarchy, with one thread per source."""
        low, high, room, group, lowest = tier
        width, stream = self.lanes(batch.rows), batch.stream
        threads, folds = self._together(width, room, lowest=lowest), totals is not None
        sweep = make_sweep_kernel(
            self.dtype, group, folds=self.folds if folds else None, stores=not (folds and lowest)
        )
        grid, nbytes = (high - low, width // threads), shared_bytes(self.dtype, room, threads)
        launch_by_name(
            sweep, (grid, threads, stream, nbytes), arrays, first_bundle=np.uint32(low),
            room=np.uint32(room), bound=batch.bound, values=self.values,
            totals=totals if folds else self.totals,
        )  # fmt: skip

    def fold(self, batch: Batch, places: Any, lanes: np.uint32, swept: Any, totals: Any) -> None:
        """Queue the reduction, per source, of the swept distances to the vertices at `places`."""
        grid = max(1, min(SLOTS, -(-places.size // SLICES))), self.lanes(batch.rows) // LANES
        fold_kernel[grid, (LANES, SLICES), batch.stream](
            places, lanes, batch.bound, swept, self.values, totals
        )

    def find_tails(self, batch: Batch, lanes: int, swept: Any, *, transposed: bool) -> None:
        """Find the predecessors of a batch from its distances, and write them as a matrix."""
        tails = batch.tails.reshape(batch.tails.size)
        grid = -(-self.n // TILE), -(-batch.rows // TILE)
        tails_kernel[grid, (TILE, TILE_ROWS), batch.stream](
            *self.trees, batch.bound, np.uint32(lanes), np.uint32(batch.rows), transposed, swept,
            tails,
        )  # fmt: skip

    def _together(self, lanes: int, room: int, *, lowest: bool) -> int:
        """Return how many sources a thread block sweeps at once, limited by shared memory."""
        most = MOST_TOGETHER if lowest else FEW_TOGETHER
        return max(
            threads
            for threads in range(LANES, most + 1, LANES)
            if lanes % threads == 0 and shared_bytes(self.dtype, room, threads) <= SHARED
        )


def round_up(size: int) -> int:
    """Round a vertex count up to four significant bits, so that few distinct array sizes occur."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def whole_lanes(rows: int) -> int:
    """Round a number of rows up to a multiple of `LANES`."""
    return -(-rows // LANES) * LANES
