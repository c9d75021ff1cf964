"""Answers a question about shortest paths by sweeps over a hierarchy, on a GPU.

The twin of `sssp.hierarchy.rows`. Nearest sources, float weights with trees, and integers whose
sums leave int64 go by a search on the graph, on the same device.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sssp.cuda.batch import Batch, Search
from sssp.cuda.compiler import cuda, device_number
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.rows import solve_rows
from sssp.engine.query import Answer, Query
from sssp.hierarchy.cuda.resident import DeviceMap, DeviceTree
from sssp.hierarchy.cuda.sweeps import (
    CLIMB_THREADS,
    LANES,
    SLICES,
    TILE,
    TURNS,
    make_climb_kernel,
    make_level_kernel,
    make_sweep_kernel,
    make_turn_kernel,
    shared_bytes,
)
from sssp.hierarchy.rows import check_question, searched
from sssp.kernels.dtypes import INDEX, INT32
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.hierarchy.hierarchy import Hierarchy

__all__ = ["solve"]

#: bytes of shared memory that a block gets without being asked twice
SHARED = 48 << 10
#: most lanes of a block in the lowest tier, which has bundles enough, and in the others
MOST_TOGETHER, FEW_TOGETHER = 8 * LANES, LANES
#: rows that are swept side by side, and bytes of their distances, unless those of FEWEST are more
MOST_ROWS, BYTES, FEWEST = 256, 1 << 30, 64


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
    check_question(hierarchy, query, dtype)
    fits = hierarchy.metric(dtype).fits
    if not fits and dtype == INT32:
        return None
    if not fits or query.nearest or (dtype.kind == "f" and query.predecessors):
        return searched(hierarchy, query, method, dtype)
    graph = hierarchy.graph.open_part() if query.predecessors else hierarchy.graph
    number = device_number(query.device)

    def make_search(on_device: DeviceGraph) -> Search:
        return _Sweep(device_map(hierarchy, dtype, number))

    return solve_rows(graph, query, method, dtype, make_search)


def device_map(hierarchy: Hierarchy, dtype: np.dtype[Any], number: int) -> DeviceMap:
    """Return the weights of a map on a device, which is current; brought there once."""
    structure = hierarchy.structure
    tree = structure.shared.derived(f"cuda:{number}", lambda: DeviceTree(structure))
    return hierarchy.derived(
        f"cuda:{number}, {dtype.char}",
        lambda: DeviceMap(tree, structure, hierarchy.metric(dtype)),
    )


class _Sweep(Search):
    """Climbs and sweeps, ready to run on a map in one dtype."""

    def __init__(self, on_device: DeviceMap) -> None:
        self.map, self.tree, self.dtype = on_device, on_device.tree, on_device.dtype
        self.n: int = self.tree.bundles.rank.size
        fitting = BYTES // max(1, self.n * self.dtype.itemsize)
        self.rows_at_once = max(FEWEST, min(MOST_ROWS, fitting // LANES * LANES))

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
        """Return ranks of the sources, the climbs (path and ways), and lanes."""
        lanes, height = -(-rows // LANES) * LANES, max(1, self.tree.height)
        return (
            cuda.device_array(lanes, INDEX),
            cuda.device_array((lanes, height), np.uint32),
            cuda.device_array((lanes, height), np.uint32),
            cuda.device_array((lanes, height), self.dtype),
            cuda.device_array(max(1, self.n * lanes), self.dtype),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Fill the distances and counters of a batch."""
        source_ranks, starts, stops, ways, swept = scratch
        lanes = -(-batch.rows // LANES) * LANES
        batch.fill(source_ranks, -1)
        self._climb(batch, (starts, stops, ways, source_ranks), lanes, swept)
        self._sweep(batch.stream, source_ranks, ways, lanes, swept)
        grid = -(-self.n // TILE), -(-batch.rows // TILE)
        make_turn_kernel(self.dtype)[grid, (TILE, TURNS), batch.stream](
            swept, np.uint32(lanes), batch.bound, self.map.shifts, batch.sources, batch.distances
        )

    def _climb(self, batch: Batch, scratch: tuple[Any, ...], lanes: int, swept: Any) -> None:
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

    def _sweep(self, stream: Any, source_ranks: Any, ways: Any, lanes: int, swept: Any) -> None:
        tree, on_device, bundles = self.tree, self.map, self.tree.bundles
        last = source_ranks, ways, np.uint32(lanes), swept
        for low, high in pairwise(bundles.levels.tolist()):
            grid = high - low, lanes // LANES
            make_level_kernel(self.dtype)[grid, (LANES, SLICES), stream](
                np.uint32(low), *tree["ranks order size depth"], *on_device.down, *last
            )
        for tier, (low, high) in enumerate(pairwise(bundles.tiers.tolist())):
            group, room = tree.group(tier), int(bundles.rooms[tier])
            threads = self._together(lanes, room, lowest=tier == bundles.tiers.size - 2)
            launch = (high - low, lanes // threads), threads, stream
            nbytes = shared_bytes(self.dtype, room, threads)
            make_sweep_kernel(self.dtype, group)[*launch, nbytes](
                np.uint32(low),
                np.uint32(room),
                *tree["bundle_first boundary_first boundary_vertices lowest highest"],
                *tree["vertices ranks size depth"],
                on_device.stream_first,
                on_device.stream,
                *last,
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
