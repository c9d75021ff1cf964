"""Load demand onto a prepared map on a GPU: batches of origins, swept depth by depth.

The twin of `sssp.cpu.sweep.flow_driver`; `sssp.cuda.sweep.flows` has the kernels. What does not
depend on weights is brought to the device once, and what is launched is recorded: a demand is
loaded on the versions of a map again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda import host_memory
from sssp.cuda.availability import SIMULATOR, cuda, select
from sssp.cuda.device.grid import blocks_at_once
from sssp.cuda.device_memory import available_bytes, download, fetch, move, upload
from sssp.cuda.graph_replay import Launches
from sssp.cuda.pool import THREADS, Shelf, blocks_for, current_pool, device_array, fill
from sssp.cuda.sweep import flows
from sssp.cuda.sweep.customization import basic_weights, tree_of
from sssp.cuda.sweep.device_tree import DeviceTree
from sssp.cuda.sweep.lane_sums import LANES, SLICES
from sssp.cuda.sweep.target_selection import Arrays
from sssp.cuda.sweep.triangle_walk import GREATEST, WORDS
from sssp.engine.check_memory import check_memory
from sssp.engine.demand import Demand
from sssp.engine.progress import progress_bar
from sssp.graph.csr import offsets
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INDEX, INT64, infinity
from sssp.order.prepared_map import PreparedMap
from sssp.order.structure import NO_SLOT, Structure, find_ancestors

#: most origins of a batch
MOST_LANES = 2048
#: lanes of a block that takes a vertex, at most
TOGETHER = 4 * LANES
#: arcs of a vertex for each slice of a block
ARCS_A_SLICE = flows.AHEAD
#: vertices of a level up to which flows are passed on by its threads in turn, and those of its
#: neighbours
MOST_IN_TURN = 2
#: vertices of a level that one block takes, with others before and after it
SMALL_LEVEL = 2 if SIMULATOR else 32
#: threads of a level that keep a multiprocessor busy
FILLING = 64 if SIMULATOR else 4096
FEWER_VOLUMES = "give fewer origins or destinations at a time, and add up the flows"


@dataclass
class SweptFlows:
    """Loader of one demand onto prepared maps, which may differ in weights, on a GPU.

    Parameters
    ----------
    demand : Demand
    number : int
        Of the device.
    memory_limit : int
        Bytes of the device that this may hold.
    progress : bool or None
    skips : bool
        Whether volumes that lead nowhere are left out, and not refused.
    """

    demand: Demand
    number: int
    memory_limit: int
    progress: bool | None
    skips: bool

    def load(self, version: PreparedMap) -> tuple[NDArray[np.float64], float] | None:
        """Return the flow on every arc of the graph, and the unreached volume.

        None where weights are negative, or sums may leave every dtype.

        Raises
        ------
        UnreachableError
            A volume leads nowhere, and is not to be skipped.
        DeviceError
            It needs more memory.
        """
        if version.graph.least_weight < 0:
            return None
        demand, structure, number = self.demand, version._structure, self.number
        ends = structure.rank[demand.destinations]
        with select(number):
            tree = tree_of(structure, number)
            shelf = tree.made.get_or_build("flows", lambda: Shelf(current_pool()))
            for dtype in version._weight_range.working_dtypes(None):
                key = (
                    dtype, demand.origins.size, demand.entries.size, demand.is_sparse,
                    self.memory_limit, id(version._slots), ends.tobytes(),
                )  # fmt: skip
                scratch = shelf.take(key)
                if scratch is None:
                    scratch = _Scratch(self, tree, version, dtype)
                scratch.bring(demand, structure.rank[demand.origins])
                flow, most = self._sweep(version, scratch)
                lost, trip, noted = (array.copy() for array in scratch.noted)
                shelf.leave(key, scratch.nbytes, scratch)
                if noted.view(FLOAT32)[0, GREATEST] > most:
                    continue
                if trip[0] != flows.NO_TRIP and not self.skips:
                    entry = (trip[0],) if demand.is_sparse else divmod(trip[0], max(1, ends.size))
                    demand.refuse_lost(demand.ends_of(tuple(map(int, entry))))
                return flow, float(lost[0])
        return None

    def _sweep(self, version: PreparedMap, scratch: _Scratch) -> tuple[NDArray[np.float64], Any]:
        """Load demand on a GPU; return arc flows, and the weight above which sums may overflow."""
        with basic_weights(version, scratch.dtype, self.number) as (maps, work):
            stream = maps.matrix.stream
            scratch.launches.do(
                _prepare, stream, scratch, work.memory.arrays["weights"], work.arc_weights
            )
            with progress_bar(self.demand.origins.size, self.progress, "origin") as advance:
                for batch, (begin, stop) in enumerate(pairwise(scratch.cuts)):
                    move(scratch.all_sources[batch], scratch["sources"], stream)
                    move(scratch.all_spans[batch], scratch["span"], stream)
                    scratch.launches.do(_load_batch, stream, scratch)
                    advance(stop - begin)
            scratch.launches.do(_unpack, stream, scratch, maps.found)
            flow = host_memory.empty(scratch["arc_flow"].shape, FLOAT64)
            download(scratch["arc_flow"], flow, stream)
            return flow, maps.most


class _Scratch(Arrays):
    """Device memory for loading demands of equal size to the same destinations.

    Attributes
    ----------
    lanes : int
        Origins of a batch, and unused ones.
    cuts : list of int
        The row where every batch begins; the last is the number of rows.
    all_sources : device array, shape (batches, lanes), int32
        Ranks of the origins of batches; -1: none.
    all_spans : device array, shape (batches, 3), int64
        The first trip of each batch, the one after its last, and its first row.
    levels : list of int
        Where ranks of every depth begin, of those that are swept; the last is where all end.
    all_levels : list of int
        The same of all ranks.
    nbytes : int
        Bytes of the device.
    """

    def __init__(
        self, swept: SweptFlows, tree: DeviceTree, version: PreparedMap, dtype: np.dtype[Any]
    ) -> None:
        super().__init__()
        structure, demand, limit = version._structure, swept.demand, swept.memory_limit
        ends = structure.rank[demand.destinations]
        self.launches, self.dtype = Launches(), dtype
        self.demand: Demand | None = None
        #: (kept, so that its identity in the key stays unique)
        self.slots = version._slots
        shared = tree.made.get_or_build("flows, ranks", lambda: _upload_ranks(structure))
        ranks, self.levels = _sort_by_depth(structure, find_ancestors(structure.parent, ends).ranks)
        spots = np.full(structure.order.size, -1, INDEX)
        spots[ranks] = np.arange(ranks.size, dtype=INDEX)
        _, self.all_levels = _sort_by_depth(structure, np.arange(structure.order.size, dtype=INDEX))
        # for each depth the mean number of chordal arcs up from its vertices
        passed = offsets(np.diff(structure.first)[ranks])[self.levels]
        self.degrees = np.diff(passed) / np.maximum(1, np.diff(self.levels))
        arcs, height, origins = structure.upper.size, max(1, structure.height), demand.origins.size
        lane = ranks.size * (dtype.itemsize + 10) + height * (dtype.itemsize + 12) + 4
        fixed = 2 * arcs * (dtype.itemsize + 16) + 12 * demand.entries.size + 12 * self.slots.size
        room = available_bytes(limit, tree.nbytes)
        parts = {"the map": tree.nbytes, "the volumes": fixed, "some origins": LANES * lane}
        check_memory(parts, limit, f"cuda:{swept.number}", FEWER_VOLUMES, tree.nbytes + room)
        most = max(1, min(MOST_LANES, (room - fixed) // lane) // LANES)
        groups = -(-origins // LANES)
        self.lanes = lanes = LANES * -(-groups // max(1, -(-groups // most)))
        self.cuts = [*range(0, origins, max(1, lanes)), origins]
        is_sparse = demand.is_sparse
        listed = demand.entries.size if is_sparse else 0
        # the structure's slots as kernels number them: all upward, then all downward
        up, is_down = self.slots >> np.uint32(1), self.slots & np.uint32(1)
        by_side = np.where(self.slots == NO_SLOT, NO_SLOT, is_down * np.uint32(arcs) + up)
        own = {
            "weights": device_array(2 * arcs, dtype),
            "triangles": device_array(2 * arcs, np.uint64),
            "on_slot": device_array(2 * arcs, FLOAT64),
            "distances": device_array(ranks.size * lanes, dtype),
            "choices": device_array(ranks.size * lanes, np.uint16),
            "flow": device_array(ranks.size * lanes, FLOAT64),
            "sources": device_array(lanes, INDEX),
            "span": device_array(3, INT64),
            "source_ranks": device_array(lanes, INDEX),
            "ways": device_array((lanes, height), dtype),
            "via": device_array((height, lanes), INDEX),
            "down_flow": device_array((height, lanes), FLOAT64),
            "volumes": device_array(demand.entries.size, FLOAT64),
            "rows": device_array(listed, INDEX),
            "columns": device_array(listed, INDEX),
            "lost": device_array(1, FLOAT64),
            "trip": device_array(1, INT64),
            "arc_flow": device_array(self.slots.size, FLOAT64),
            "slots": upload(by_side),
            "ranks": upload(ranks),
            "spots": upload(spots[ends]),
            "head_spots": upload(spots[structure.upper]),
        }
        self.nbytes = sum(array.nbytes for array in own.values())
        #: lost, trip, and what maps have found, on the host
        noted = (1, FLOAT64), (1, INT64), ((1, WORDS), INDEX)
        self.noted = [cuda.pinned_array(shape, kind) for shape, kind in noted]
        self.arrays = tree.arrays | shared | own
        numbers = {"lanes": np.uint32(lanes), "inf": infinity(dtype)}
        self.arrays |= numbers | {"place_ranks": tree["ranks"]}

    def bring(self, demand: Demand, origins: NDArray[np.int32]) -> None:
        """Copy a demand's volumes and origins to the device, unless the device already has them."""
        if demand is self.demand:
            return
        rows, entries = demand.origins.size, demand.entries.reshape(-1)
        sources = np.full((max(1, len(self.cuts) - 1), self.lanes), -1, INDEX)
        sources.reshape(-1)[:rows] = origins
        self.all_sources = upload(sources)
        starts = np.array(self.cuts) * max(1, demand.destinations.size)
        if demand.is_sparse:
            starts = demand.volumes.indptr[self.cuts].astype(INT64)
            lengths = np.diff(demand.volumes.indptr)
            self["rows"].copy_to_device(np.repeat(np.arange(rows, dtype=INDEX), lengths))
            self["columns"].copy_to_device(demand.volumes.indices.astype(INDEX))
        spans = np.stack((starts[:-1], starts[1:], self.cuts[:-1]), axis=1)
        self.all_spans = upload(np.ascontiguousarray(spans, INT64))
        upload(np.ascontiguousarray(entries), to=self["volumes"])
        self.demand = demand


def _upload_ranks(structure: Structure) -> dict[str, Any]:
    """Upload arrays for flows: parents of ranks, tails of chordal arcs, ranks by depth."""
    everyone: NDArray[np.int32] = np.arange(structure.order.size, dtype=INDEX)
    ranks, levels = _sort_by_depth(structure, everyone)
    tails = np.repeat(everyone, np.diff(structure.first))
    return {
        "parent": upload(structure.parent),
        "tails": upload(tails),
        "tail_depths": upload(structure.depth[tails]),
        "ranks_by_depth": upload(ranks),
        "level_first": upload(np.array(levels, np.uint32)),
    }


def _sort_by_depth(
    structure: Structure, ranks: NDArray[np.int32]
) -> tuple[NDArray[np.int32], list[int]]:
    """Return ranks sorted by depth in the elimination tree, and where each depth begins."""
    depths = structure.depth[ranks]
    levels = np.searchsorted(np.sort(depths), np.arange(structure.height + 1))
    return ranks[np.argsort(depths, kind="stable")].astype(INDEX), levels.tolist()


def _prepare(stream: Any, scratch: _Scratch, placed: Any, arc_weights: Any) -> None:
    """Copy chordal weights to rank order, and find the pair of arcs that each shortcut replaces."""
    arrays = scratch.arrays
    for name, value in (("on_slot", 0), ("down_flow", 0), ("lost", 0), ("trip", flows.NO_TRIP)):
        array = arrays[name]
        fill(array, array.dtype.type(value), stream)
    for kernel, size, others in (
        (flows.number_kernel, arrays["parent"].size, {"placed": placed}),
        (flows.mark_input_arcs_kernel, arrays["slots"].size, {"arc_weights": arc_weights}),
        (flows.first_triangles_kernel, arrays["tails"].size * flows.TRIANGLE_THREADS, {}),
    ):
        if size:
            scratch.launch(kernel, (-(-size // THREADS), THREADS, stream), **others)


def _load_batch(stream: Any, scratch: _Scratch) -> None:
    """Sweep from the origins of a batch, and add their flows to the chordal arcs."""
    arrays, lanes = scratch.arrays, scratch.lanes
    fill(arrays["flow"], 0.0, stream)
    scratch.launch(flows.ways_kernel, (lanes, flows.CLIMB_THREADS, stream))
    levels = [
        (low, high, _slices(degree, (high - low) * lanes))
        for (low, high), degree in zip(pairwise(scratch.levels), scratch.degrees, strict=True)
        if high > low
    ]

    def together(slices: int) -> int:
        """Return the number of origins (lanes of a batch) that one thread block handles."""
        most = min(TOGETHER, flows.LEVEL_THREADS // slices)
        while lanes % most:
            most //= 2
        return most

    for low, high, slices in levels:
        width = together(slices)
        grid = (high - low, lanes // width), (width, slices), stream
        scratch.launch(flows.descent_kernel, grid, first_spot=np.uint32(low))
    scratch.launch(flows.seed_kernel, (blocks_for(arrays["volumes"].size), THREADS, stream))
    width = together(1)
    for low, high, in_turn in _join_small(levels):
        blocks, first, spots = (1, high - 1, high - low) if in_turn else (high - low, low, 1)
        scratch.launch(
            flows.gather_kernel, ((blocks, lanes // width), width, stream),
            first_spot=np.uint32(first), in_turn=np.uint32(spots),
        )  # fmt: skip
    scratch.launch(flows.descend_kernel, (-(-lanes // THREADS), THREADS, stream))


def _join_small(levels: list[tuple[int, int, int]]) -> list[tuple[int, int, bool]]:
    """Merge small adjacent levels; return a list of ranges (low, high, is_small), deepest first."""
    runs: list[tuple[int, int, bool]] = []
    for low, high, _ in reversed(levels):
        is_small = high - low <= MOST_IN_TURN
        if is_small and runs and runs[-1][2]:
            runs[-1] = low, runs[-1][1], True
        else:
            runs.append((low, high, is_small))
    return runs


def _slices(degree: float, rows: int) -> int:
    """Return how many threads share the arcs of a vertex, for one source: a power of two.

    More of them wait less, where rows are too few to fill the device.
    """
    slices, most = 1, min(SLICES, blocks_at_once(FILLING) // max(1, rows))
    while 2 * slices <= most and slices * ARCS_A_SLICE < degree:
        slices *= 2
    return slices


def _unpack(stream: Any, scratch: _Scratch, found: Any) -> None:
    """Unpack shortcut flows to graph arcs; copy the volume of unreached trips to the host."""
    ranks = scratch["ranks_by_depth"]
    sizes, low, height = np.diff(scratch.all_levels), 0, len(scratch.all_levels) - 1
    while low < height:
        # (a block goes through small levels without the launches between them)
        large = np.flatnonzero(sizes[low:] > SMALL_LEVEL)
        high = low + max(1, int(large[0]) if large.size else height - low)
        blocks, threads = -(-int(sizes[low]) * flows.VERTEX_THREADS // THREADS), THREADS
        if sizes[low] <= SMALL_LEVEL:
            blocks, threads = 1, SMALL_LEVEL * flows.VERTEX_THREADS
        numbers = {"low": np.uint32(low), "high": np.uint32(high)}
        grid = blocks, threads, stream
        scratch.launch(flows.unpack_flows_kernel, grid, ranks=ranks, **numbers)
        low = high
    blocks = -(-max(1, scratch["slots"].size) // THREADS)
    grid = blocks, THREADS, stream
    scratch.launch(flows.collect_kernel, grid, flow=scratch["arc_flow"])
    for array, noted in zip((scratch["lost"], scratch["trip"], found), scratch.noted, strict=True):
        fetch(array, noted, stream)
