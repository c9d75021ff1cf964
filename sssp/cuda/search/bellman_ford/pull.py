"""Bellman-Ford on the GPU in pull form: each vertex relaxes the arcs that enter it.

Two generations of distances. A block owns a range of vertices and reads the arcs that enter them;
the last generation is in its shared memory, whole if it fits, else tile by tile. A tile has some
heads in its middle, for most tails are numbered near their heads; other tails are looked up where
they are, which takes less than to bring their tiles for the sake of one or two. Distance and
predecessor are written once a round.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import from_dtype, int32, uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel, kernel_with, part
from sssp.cuda.device.bits import ordered_bits_of
from sssp.cuda.device.grid import SLOTS, barrier_of, slots_of, worker_of
from sssp.cuda.device_memory import DeviceGraph
from sssp.cuda.search.bellman_ford.rounds import (
    EXPANDED,
    RELAXED,
    ROUNDS,
    THREADS,
    Arcs,
    BellmanFordSearch,
    Kept,
    Limits,
)
from sssp.cuda.search_base import CLIPPED_ROW, Batch
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED, OVERFLOW

#: bytes of a tile of distances in shared memory
TILE_BYTES = 64 if SIMULATOR else 48 * 1000

# device functions pass related values as records, which the compiler takes apart; kernels have
# plain arguments, for the types in a record would be determined anew at every launch


class Tile(namedtuple("Tile", "keys first end")):
    """Distances of consecutive vertices, in shared memory.

    Attributes
    ----------
    keys : array, shape (length,)
    first, end : uint32
        Vertices of the tile.
    """


class Range(namedtuple("Range", "first end stretch margin")):
    """The vertices whose in-arcs a thread block relaxes, as a range that is divided into tiles.

    Attributes
    ----------
    first, end : uint32
        Heads of the block.
    stretch, margin : uint32
        Heads of a tile, and how far it goes beyond them on either side.
    """


@kernel
def _root_kernel(sources, first_sources, keys, changes):
    """Set the distances of a row's sources to 0, one block per row.

    ============= ============= ======= ==============================================
    argument      shape         dtype   written by
    ============= ============= ======= ==============================================
    sources       (k,)          int64   host
    first_sources (rows + 1,)   int64   host
    keys          (rows, n)     integer host: unreached; here: sources
    changes       (rows, SLOTS) uint32  host: 0; here: whether there is a source
    ============= ============= ======= ==============================================
    """
    row = cuda.blockIdx.x
    i = first_sources[row] + cuda.threadIdx.x
    while i < first_sources[row + 1]:
        keys[row, sources[i]] = 0  # (whatever the dtype)
        changes[row, 0] = 1
        i += cuda.blockDim.x


@cache
def _make_pull_kernel(dtype: np.dtype[Any], *, together: bool, barrier: Any = None) -> Any:
    """Return the kernel of a Bellman-Ford pull round: each vertex relaxes its incoming arcs."""
    meet, worker_of_row = barrier or barrier_of(together=together), worker_of(together=together)
    bits, number_of = ordered_bits_of(dtype)
    number, unseen, tile_length = from_dtype(dtype), unreached(dtype), TILE_BYTES // dtype.itemsize

    @inline
    def best_of(head, before, old, tile, arcs, limits, counters, row):
        """Return the least key (distance) that an arc into `head` gives, and the tail of that arc.

        The tail is -1 if no key is less than the key `before`, which the head has.
        """
        nothing = bits(unseen)
        best, tail_of_best = before, int32(-1)
        arc, last = arcs.indptr[head], arcs.indptr[uint32(head + 1)]
        while arc < last:
            tail = arcs.indices[arc]
            if tile.first <= tail and tail < tile.end:
                start = tile.keys[uint32(tail - tile.first)]
            else:
                start = old[tail]
            if start != nothing:
                candidate = number(number_of(start) + arcs.weights[arc])
                if candidate > limits.bound:
                    if best == nothing and counters[row, CLIPPED_ROW] == 0:
                        cuda.atomic.max(counters, (row, CLIPPED_ROW), CLIPPED)
                elif candidate < limits.lowest:
                    cuda.atomic.max(counters, (row, CLIPPED_ROW), OVERFLOW)
                elif bits(candidate) < best:
                    best, tail_of_best = bits(candidate), int32(tail)
            arc = uint32(arc + 1)
        return best, tail_of_best

    @part
    def pull(worker, heads, n, tile_keys, old, new, arcs, limits, predecessors, counters):
        """Relax the arcs into the range `heads`; return True if this thread lowered a distance."""
        changed, base = False, heads.first
        while base < heads.end:
            base_end = uint32(min(uint32(base + heads.stretch), heads.end))
            tile_first = uint32(base - min(base, heads.margin))
            tile_end = uint32(min(uint32(base_end + heads.margin), n))
            tile = Tile(tile_keys, tile_first, tile_end)
            i = uint32(tile_first + worker.thread)
            while i < tile_end:
                tile_keys[uint32(i - tile_first)] = old[i]
                i = uint32(i + worker.threads)
            cuda.syncthreads()
            head = uint32(base + worker.thread)
            while head < base_end:
                before = tile.keys[uint32(head - tile.first)]
                best, tail = best_of(head, before, old, tile, arcs, limits, counters, worker.row)
                new[head] = best
                if best < before:
                    predecessors[worker.row, head] = tail
                    changed = True
                head = uint32(head + worker.threads)
            # all are done with the tile
            cuda.syncthreads()
            base = base_end
        return changed

    @kernel_with(max_registers=65536 // THREADS // (1 if together else 2))
    @no_type_check
    def _pull_kernel(
        indptr, indices, weights, bound, lowest, allowance, first_row, keys, other_keys, changes,
        predecessors, counters,
    ):  # fmt: skip
        """Run Bellman-Ford pull rounds, with all blocks on one row or with one row per block.

        Until nothing changes, or `allowance` vertices have been expanded.

        ============ ============= ======= =======================================================
        argument     shape         dtype   written by
        ============ ============= ======= =======================================================
        indptr       (n + 1,)      uint32  upload of the reverse graph
        indices      (m,)          uint32  upload of the reverse graph
        weights      (m,)          number  upload of the reverse graph
        bound        scalar        number  host: greatest distance of interest
        lowest       scalar        number  host: least distance that the dtype holds
        allowance    scalar        int64   host
        first_row    scalar        int64   host: the row, if the blocks work together
        keys         (rows, n)     integer host: unreached; `_root_kernel`; here, in odd rounds
        other_keys   (rows, n)     integer here, in even rounds
        changes      (rows, SLOTS) uint32  host: 0; `_root_kernel`; here
        predecessors (rows, n)     int32   host: -1; here
        counters     (rows, words) int64   host: 0; here: statistics, `CLIPPED_ROW`
        ============ ============= ======= =======================================================
        """
        worker = worker_of_row(first_row)
        row, n = worker.row, uint32(indptr.size - 1)
        owned = uint32((n + worker.blocks - 1) // worker.blocks)
        stretch, margin = n, n
        if n > tile_length:
            stretch = uint32(min(owned, uint32(tile_length // 2)))
            margin = uint32(stretch // 2)
        first = uint32(min(worker.block * owned, n))
        end = uint32(min((worker.block + 1) * owned, n))
        heads = Range(first, end, stretch, margin)
        tile_keys = cuda.shared.array(tile_length, keys.dtype)
        arcs, limits = Arcs(indptr, indices, weights), Limits(bound, lowest, True)
        rounds, expanded = uint32(counters[row, ROUNDS]), counters[row, EXPANDED]
        stop = expanded + allowance
        while True:
            slots = slots_of(rounds, 0)
            if changes[row, slots.now] == 0 or expanded >= stop:
                break
            if worker.block == 0 and worker.thread == 0:
                changes[row, slots.before] = 0
            old, new = keys[row], other_keys[row]
            if rounds & 1:
                old, new = other_keys[row], keys[row]
            if pull(worker, heads, n, tile_keys, old, new, arcs, limits, predecessors, counters):
                changes[row, slots.after] = 1
            rounds = uint32(rounds + 1)
            expanded += n
            meet()
        if worker.block == 0 and worker.thread == 0:
            counters[row, ROUNDS], counters[row, EXPANDED] = rounds, expanded
            counters[row, RELAXED] = rounds * indices.size

    return _pull_kernel


class PullSearch(BellmanFordSearch):
    """Bellman-Ford in pull form: each vertex relaxes the arcs that enter it."""

    def __init__(self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any]) -> None:
        super().__init__(graph, dtype)
        self.arcs = on_device.arcs(graph, dtype, reverse=True)
        # the other generation, whether anything changed, predecessors
        n = graph.n
        self.row_arrays = ((n,), self.integer), ((SLOTS,), np.uint32), ((n,), INDEX)

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Compute the distances from a batch of sources, by pull rounds."""
        other_keys, changes, predecessors = scratch
        batch.fill(predecessors, -1)
        batch.fill(changes, 0)
        _root_kernel[batch.rows, THREADS, batch.stream](
            batch.sources, batch.first_sources, self.keys(batch), changes
        )
        together, blocks, first_rows = self.grid(batch)
        pull = _make_pull_kernel(self.dtype, together=together)
        indptr, indices, weights = self.arcs

        def launch(allowance: int) -> None:
            for first_row in first_rows:
                pull[blocks, THREADS, batch.stream](
                    indptr.view(np.uint32), indices.view(np.uint32), weights, batch.bound,
                    self.lowest, allowance, first_row, self.keys(batch), other_keys, changes,
                    predecessors, batch.counters,
                )  # fmt: skip

        # after a round without changes both generations are the same
        kept = Kept(self.keys(batch), predecessors)
        self.run_rounds(batch, changes, kept, launch)
        self.finish(batch, kept)
