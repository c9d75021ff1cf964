"""Load demand onto a prepared map, and skim its trips, on the CPU.

What does not depend on the weights is prepared once for all versions: the origins in groups of
`LANES`, in order of rank, so that those of a group have most ancestors in common; which ranks are
swept; and the volumes, side by side, in the order in which places are passed.

Groups come in blocks, whose flows are added up in order: the result does not depend on the number
of threads. A table sweeps what leads to any of its destinations. Where few of them belong to a
group, as for single trips, every group sweeps only what leads to its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.flow_unpacking import street_of_slots, sum_over_shortcuts, unpack
from sssp.cpu.sweep.flows import lanes_kernel, load_kernel, skim_kernel, slots_kernel
from sssp.cpu.sweep.sweeps import LANES, lanes_memory
from sssp.cpu.sweep.target_selection import select_arcs
from sssp.cpu.tree_sums import add_at
from sssp.engine import thresholds
from sssp.engine.check_memory import check_memory
from sssp.engine.demand import Demand
from sssp.engine.progress import progress_bar
from sssp.engine.workers import ordered_map
from sssp.graph.csr import offsets
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, Number, infinity
from sssp.order.prepared_map import PreparedMap
from sssp.order.structure import NO_SLOT, Ancestors, Structure, find_ancestors

#: blocks that are enough to spread over threads
BLOCKS = 32
#: a group sweeps for its own destinations if those of all groups are fewer than one in so many
OWN_SHARE = 4
FEWER_VOLUMES = "give fewer origins at a time, and add up the flows"


class Block(NamedTuple):
    """Sources, targets and their ancestors in the tree, as input of one flow kernel call.

    Attributes
    ----------
    arrays : tuple
        As kernels take them.
    columns : ndarray, shape (targets,)
        The column of every target.
    rows : ndarray, shape (groups, LANES)
        The row of every lane; -1: none.
    entries, spots : ndarray
        Which entries of a sparse table they have, and where they stand in the flat lanes.
    ups, downs : Ancestors
        What sources climb, and what is swept.
    """

    arrays: tuple[NDArray[Any], ...]
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]
    spots: NDArray[np.int64]
    ups: Ancestors
    downs: Ancestors


class _Packed(NamedTuple):
    """The upward and downward arcs that sweeps from one block of origins use, packed in arrays.

    `slots` has the directed chordal arc of every arc up, and of every arc down.
    """

    ups: tuple[NDArray[Any], ...]
    downs: tuple[Any, ...]
    slots: tuple[NDArray[np.int64], NDArray[np.int64]]


class SweptFlows:
    """Computation of flows and skims of one demand, on a prepared map with any arc weights.

    Parameters
    ----------
    prepared : PreparedMap
    demand : Demand
    threads : int
    memory_limit : int
        Bytes that this may hold.
    progress : bool or None
    skips : bool
        Whether volumes that lead nowhere are left out, and not refused.

    Raises
    ------
    DeviceError
        It needs more memory.
    """

    def __init__(
        self,
        prepared: PreparedMap,
        demand: Demand,
        threads: int,
        memory_limit: int,
        progress: bool | None,
        *,
        skips: bool,
    ) -> None:
        self.demand, self.progress, self.skips = demand, progress, skips
        self.threads, self.memory_limit = threads, memory_limit
        self.structure = s = prepared._structure
        self.street_of = street_of_slots(s, prepared._slots)
        self.origins, self.ends = s.rank[demand.origins], s.rank[demand.destinations]
        self.by_rank = np.argsort(self.origins, kind="stable")
        self.columns_by_rank = np.argsort(self.ends, kind="stable")
        self.positions = np.empty(self.ends.size, INT64)
        self.positions[self.columns_by_rank] = np.arange(self.ends.size)
        groups = -(-self.by_rank.size // LANES)
        few = groups * self.ends.size // OWN_SHARE
        # whether all groups sweep for all destinations
        self.is_table = not demand.is_sparse or bool(demand.volumes.nnz >= few)
        # (the same blocks for any number of threads, because floats are added up in their order)
        steps = 2 * s.upper.size * self.by_rank.size
        blocks = min(BLOCKS, max(1, -(-steps // thresholds.FLOW_STEPS)))
        each = max(1, -(-groups // blocks)) if self.is_table else 1
        self.parts = [range(low, min(low + each, groups)) for low in range(0, groups, each)]
        self.shared = None
        if self.is_table:
            self.shared = tuple(find_ancestors(s.parent, x) for x in (self.origins, self.ends))
        self.group_bytes = self.ends.size * LANES * FLOAT64.itemsize
        self.all_bytes = self.group_bytes * groups
        # whether a kernel takes the volumes of a block at once, or of one group after the other
        self.is_small = self.is_table and self.all_bytes <= thresholds.KEPT_LANES
        #: whether volumes stand side by side from one version to the next
        self.keeps = self.is_small
        self._blocks: dict[range, Block] = {}
        self._volumes: dict[range, NDArray[np.float64]] = {}
        self._idle: SimpleQueue[NDArray[np.float64]] = SimpleQueue()

    # -- the demand, side by side --------------------------------------------------------------

    def _pieces(self, part: range) -> list[range]:
        """Split a range of groups of origins into one range for each kernel call."""
        return [part] if self.is_small else [range(i, i + 1) for i in part]

    def _block(self, part: range) -> Block:
        """Return sources and targets for some groups of `LANES` sources, as kernel arguments."""
        known = self._blocks.get(part)
        if known is not None:
            return known
        low, high = part.start * LANES, min(part.stop * LANES, self.by_rank.size)
        chosen = self.by_rank[low:high]
        rows = np.full((len(part), LANES), -1, INT64)
        rows.reshape(-1)[: high - low] = chosen
        first_sources = np.minimum(np.arange(len(part) + 1) * LANES, high - low)
        if self.demand.is_sparse:
            # of each group the columns in order of rank, and all entries
            table, t = self.demand.volumes, max(1, self.ends.size)
            counts = np.diff(table.indptr)[chosen]
            begins = offsets(counts)
            entries = np.arange(begins[-1]) + np.repeat(table.indptr[chosen] - begins[:-1], counts)
            lane = np.repeat(np.arange(chosen.size), counts)
            keys = lane // LANES * t + self.positions[table.indices[entries]]
            targets, target_of = np.unique(keys, return_inverse=True)
            starts = np.searchsorted(targets, np.arange(first_sources.size) * t)
            columns, spots = self.columns_by_rank[targets % t], target_of * LANES + lane % LANES
        else:
            starts = np.arange(len(part) + 1) * self.ends.size
            columns = np.tile(self.columns_by_rank, len(part))
            entries, spots = np.empty((2, 0), INT64)
        parent, origins, ends = self.structure.parent, self.origins[chosen], self.ends[columns]
        ups, downs = self.shared or (find_ancestors(parent, origins), find_ancestors(parent, ends))
        arrays = ups.places[origins], first_sources, starts, downs.places[ends]
        block = Block(arrays, columns, rows, entries, spots, ups, downs)
        if self.keeps:
            self._blocks[part] = block
        return block

    def _gather(self, block: Block) -> NDArray[np.float64]:
        """Return the trip volumes of a block: one row per target, one column (lane) per source."""
        volumes, starts = self.demand.volumes, block.arrays[2]
        if self.demand.is_sparse:
            lanes = np.zeros((block.columns.size, LANES))
            add_at(lanes.reshape(-1), block.spots, volumes.data[block.entries])
            return lanes
        try:
            lanes = self._idle.get_nowait()  # (fresh memory takes half as long as what it is for)
        except Empty:
            lanes = np.empty((block.columns.size, LANES))
        for own, begin, end in zip(block.rows, starts[:-1], starts[1:], strict=True):
            lanes_kernel(volumes, own[own >= 0], self.positions, lanes[begin:end])
        return lanes

    # -- a version -----------------------------------------------------------------------------

    def load(self, version: PreparedMap) -> tuple[NDArray[np.float64], float] | None:
        """Return the flow on every arc of the graph, and the unreached volume.

        None where sums may leave every dtype.

        Raises
        ------
        UnreachableError
            A volume leads nowhere, and is not to be skipped.
        """
        weighed = self._weigh(version)
        if weighed is None:
            return None
        flow, lost = np.zeros(2 * self.structure.upper.size), 0.0

        def load(part: range) -> tuple[Any, Any, Any]:
            lost = np.zeros(1)
            loads: tuple[NDArray[np.float64], ...] = ()
            for piece in self._pieces(part):
                block, volumes = self._block(piece), self._volumes.get(piece)
                if volumes is None:
                    volumes = self._gather(block)
                    if self.keeps:
                        self._volumes[piece] = volumes
                packed = weighed.pack(block)
                loads = loads or tuple(np.zeros(slots.size) for slots in packed.slots)
                which, tables = np.full(2, -1, INT64), (packed.ups, packed.downs, weighed.inf)
                scratch = weighed.scratch(packed)
                load_kernel(block.arrays, volumes, *tables, scratch, *loads, lost, which)
                target, lane = which.tolist()
                if target >= 0 and not self.skips:
                    group = int(np.searchsorted(block.arrays[2], target, side="right")) - 1
                    ends = int(block.rows[group, lane]), int(block.columns[target])
                    self.demand.refuse_lost(ends)
                if not (self.keeps or self.demand.is_sparse):
                    self._idle.put(volumes)
            return packed.slots, loads, lost[0]

        of_table: Any = None
        for slots, loads, left in self._run(load, weighed):
            lost += float(left)
            if not self.is_table:
                _spread(flow, slots, loads)
            elif of_table is None:
                of_table = slots, loads
            else:  # (all blocks of a table have the same arcs)
                for whole, part in zip(of_table[1], loads, strict=True):
                    whole += part
        if of_table is not None:
            _spread(flow, *of_table)
        # (one load may be all; from the second on there may be many)
        most = max(thresholds.KEPT_LANES, self.memory_limit // thresholds.KEPT_SHARE)
        self.keeps = self.is_table and self.all_bytes <= most
        return unpack(version, weighed.dtype, self.street_of, flow, self.threads), lost

    def skim(self, version: PreparedMap, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return for each row of arc `values` the sum along the path of every trip of the demand.

        Infinity where nothing leads; None where sums may leave every dtype.
        """
        weighed = self._weigh(version)
        if weighed is None:
            return None
        marks = np.zeros(2 * self.structure.upper.size)
        for part in self.parts[:1] if self.is_table else self.parts:
            for slots in weighed.pack(self._block(part)).slots:
                marks[slots] = 1.0
        sides = np.full((marks.size, 2), NO_SLOT)
        unpack(version, weighed.dtype, self.street_of, marks, self.threads, sides)
        sums = sum_over_shortcuts(self.street_of, sides, marks, values)
        found = np.empty((len(values), *self.demand.entries.shape))
        last: tuple[_Packed, Any] | None = None

        def skim(part: range) -> None:
            nonlocal last
            block, known = self._block(part), last
            packed = weighed.pack(block)
            if known is None or known[0] is not packed:  # (it is that of every block of a table)
                last = known = packed, [sums.take(slots, axis=1) for slots in packed.slots]
            lanes = np.empty((len(values), block.columns.size, LANES))
            tables = block.arrays, packed.ups, packed.downs, weighed.inf
            skim_kernel(*tables, weighed.scratch(packed), *known[1], lanes)
            # from targets and lanes to the entries of the demand
            if self.demand.is_sparse:
                found[:, block.entries] = lanes.reshape(len(found), -1)[:, block.spots]
                return
            starts = block.arrays[2]
            for own, low, high in zip(block.rows, starts[:-1], starts[1:], strict=True):
                rows = own[own >= 0]
                of_group = lanes[:, low:high, : rows.size].swapaxes(1, 2)
                found[:, rows[:, np.newaxis], block.columns[low:high]] = of_group

        for _ in self._run(skim, weighed):
            pass
        return found

    def _weigh(self, version: PreparedMap) -> _Weighed | None:
        """Return a map's customized weights in a dtype that holds all sums; None if none does."""
        for dtype in version._weight_range.working_dtypes(None):
            metric = version._layered(dtype, self.threads)
            if metric.fits:
                return _Weighed(self.structure, metric, dtype, self.is_table)
        return None

    def _run(self, work: Callable[[range], Any], weighed: _Weighed) -> Iterator[Any]:
        """Call `work` for every block of origins, in parallel; yield the results in order."""
        if not self.parts:
            return
        packed = weighed.pack(self._block(self._pieces(self.parts[0])[0]))
        arcs = sum(slots.size for slots in packed.slots)
        steps = arcs * self.by_rank.size
        threads = min(self.threads, len(self.parts), max(1, -(-steps // thresholds.FLOW_STEPS)))
        places = packed.downs[0].size * (LANES * weighed.dtype.itemsize + 1)
        volumes = self.all_bytes if self.keeps else threads * self.group_bytes
        parts = {
            "the map's arcs with flow": 2 * self.structure.upper.size * FLOAT64.itemsize,
            "the volumes side by side": volumes,
            "sweeps": threads * (places + arcs * FLOAT64.itemsize),
        }
        check_memory(parts, self.memory_limit, "cpu", FEWER_VOLUMES)
        with progress_bar(self.by_rank.size, self.progress, "origin") as advance:
            for part, done in zip(self.parts, ordered_map(work, self.parts, threads), strict=True):
                advance(LANES * len(part))
                yield done


def _spread(flow: NDArray[np.float64], slots: Any, loads: Any) -> None:
    """Add flows computed on a selection of arcs to the flows of all directed chordal arcs."""
    for own, load in zip(slots, loads, strict=True):
        add_at(flow, own, load)


class _Weighed:
    """The customized weights of a map, with arcs packed for the sweeps that load flows."""

    def __init__(self, structure: Structure, metric: Any, dtype: Number, is_table: bool) -> None:
        self.structure, self.metric, self.dtype = structure, metric, dtype
        self.inf, self.is_table = infinity(dtype), is_table
        self._packed: _Packed | None = None

    def pack(self, block: Block) -> _Packed:
        """Return packed arrays of the arcs that sweeps from a block of trip origins need."""
        if self._packed is not None and self.is_table:
            return self._packed
        s, sides = self.structure, []
        sought = (self.metric.up, block.ups), (self.metric.down, block.downs)
        for down, (arcs, ancestors) in enumerate(sought):
            own = select_arcs(arcs, ancestors).arcs
            slots, depths = np.empty(own[1].size, INT64), np.empty(own[1].size, INDEX)
            tree = tuple(ancestors), s.first, s.upper, s.depth
            slots_kernel(*tree, down, *own[:2], slots, depths)
            sides.append((own, slots, depths))
        (up_arcs, up_slots, up_depths), (down_arcs, down_slots, down_depths) = sides
        (places, ranks), swept = block.ups, block.downs.ranks
        parent = s.parent[ranks]
        above = np.where(parent >= 0, places[parent], INDEX.type(-1))
        ups = ranks, block.downs.places[ranks], above, s.depth[ranks], *up_arcs[:3], up_depths
        downs = swept, s.depth[swept], down_arcs, down_depths
        self._packed = packed = _Packed(ups, downs, (up_slots, down_slots))
        return packed

    def scratch(self, packed: _Packed) -> tuple[Any, ...]:
        """Allocate the scratch arrays that the kernels need for one block of origins."""
        height, swept = self.structure.height, packed.downs[0].size
        climbs = tuple(np.empty((height, LANES), dtype) for dtype in (INDEX, self.dtype, INT64))
        block, is_open = lanes_memory(swept, LANES, self.dtype), np.zeros(swept, np.uint8)
        climbed = np.full(packed.ups[0].size, self.inf, self.dtype)
        flows = lanes_memory(2 * height, LANES, FLOAT64)
        flows.fill(0.0)
        return climbed, climbs, is_open, block, flows[:height], flows[height:]
