"""Bellman-Ford on the GPU in pull form: every vertex looks at the arcs that enter it.

Two generations of distances. A block owns a range of vertices and reads the arcs that enter them;
the last generation is in its shared memory, whole if it fits, else tile by tile. A tile has some
heads in its middle, for most tails are numbered near their heads; other tails are looked up where
they are, which takes less than to bring their tiles for the sake of one or two. Distance and
predecessor are written once a round.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int32, uint32

from sssp.cuda.batch import CLIPPED_ROW, Batch
from sssp.cuda.compiler import SIMULATOR, cuda, kernel
from sssp.cuda.device.bits import ordered_bits_of
from sssp.cuda.device.grid import barrier_of
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.search.bellman_ford.rounds import (
    EXPANDED,
    RELAXED,
    ROUNDS,
    THREADS,
    BellmanFordSearch,
)
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED, OVERFLOW

__all__ = ["PullSearch"]

#: bytes of a tile of distances in shared memory
TILE_BYTES = 64 if SIMULATOR else 48 * 1000


@cache
def _make_root_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that sets the sources of every row to 0."""
    bits = ordered_bits_of(dtype)[0]
    zero = dtype.type(0)

    @cuda.jit
    def _root_kernel(sources, first_sources, keys, changes):
        row = cuda.blockIdx.x
        i = first_sources[row] + cuda.threadIdx.x
        while i < first_sources[row + 1]:
            keys[row, sources[i]] = bits(zero)
            changes[row, 0] = 1
            i += cuda.blockDim.x

    return _root_kernel


@cache
def _make_pull_kernel(dtype: np.dtype[Any], *, together: bool, barrier: Any = None) -> Any:
    """Return the kernel for a dtype; the parameters are those of `_make_push_kernel`."""
    bits, number_of = ordered_bits_of(dtype)
    meet = barrier or barrier_of(together=together)
    tile_length = TILE_BYTES // dtype.itemsize
    unseen = unreached(dtype)

    @kernel(max_registers=65536 // THREADS // (1 if together else 2))
    def _pull_kernel(
        indptr,
        indices,
        weights,
        bound,
        lowest,
        patience,
        first_row,
        keys,
        other_keys,
        changes,
        predecessors,
        counters,
    ):
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        row, block, blocks = uint32(cuda.blockIdx.x), uint32(0), uint32(1)
        if together:
            row, block, blocks = uint32(first_row), uint32(cuda.blockIdx.x), uint32(cuda.gridDim.x)
        number = weights.dtype.type
        tile = cuda.shared.array(tile_length, keys.dtype)
        nothing = bits(unseen)
        n = uint32(indptr.size - 1)
        owned = uint32((n + blocks - 1) // blocks)
        first, end = uint32(min(block * owned, n)), uint32(min((block + 1) * owned, n))
        # heads of a tile, and how far it goes beyond them on either side
        stretch, margin = n, n
        if n > tile_length:
            stretch = uint32(min(owned, uint32(tile_length // 2)))
            margin = uint32(stretch // 2)
        rounds, expanded = uint32(counters[row, ROUNDS]), counters[row, EXPANDED]
        stop = expanded + patience
        while True:
            if changes[row, rounds % 3] == 0 or expanded >= stop:
                break
            after = uint32((rounds + 1) % 3)
            if block == 0 and thread == 0:
                changes[row, uint32((rounds + 2) % 3)] = 0
            old, new = keys[row], other_keys[row]
            if rounds & 1:
                old, new = other_keys[row], keys[row]
            changed = False
            base = first
            while base < end:
                base_end = uint32(min(uint32(base + stretch), end))
                tile_first = uint32(base - min(base, margin))
                tile_end = uint32(min(uint32(base_end + margin), n))
                i = uint32(tile_first + thread)
                while i < tile_end:
                    tile[uint32(i - tile_first)] = old[i]
                    i = uint32(i + threads)
                cuda.syncthreads()
                head = uint32(base + thread)
                while head < base_end:
                    before = tile[uint32(head - tile_first)]
                    best, tail_of_best = before, int32(-1)
                    arc, last = indptr[head], indptr[uint32(head + 1)]
                    while arc < last:
                        tail = indices[arc]
                        if tile_first <= tail and tail < tile_end:
                            start = tile[uint32(tail - tile_first)]
                        else:
                            start = old[tail]
                        if start != nothing:
                            candidate = number(number_of(start) + weights[arc])
                            if candidate > bound:
                                if best == nothing and counters[row, CLIPPED_ROW] == 0:
                                    cuda.atomic.max(counters, (row, CLIPPED_ROW), CLIPPED)
                            elif candidate < lowest:
                                cuda.atomic.max(counters, (row, CLIPPED_ROW), OVERFLOW)
                            elif bits(candidate) < best:
                                best, tail_of_best = bits(candidate), int32(tail)
                        arc = uint32(arc + 1)
                    new[head] = best
                    if best < before:
                        predecessors[row, head] = tail_of_best
                        changed = True
                    head = uint32(head + threads)
                # all are done with the tile
                cuda.syncthreads()
                base = base_end
            if changed:
                changes[row, after] = 1
            rounds = uint32(rounds + 1)
            expanded += n
            meet()
        if block == 0 and thread == 0:
            counters[row, ROUNDS], counters[row, EXPANDED] = rounds, expanded
            counters[row, RELAXED] = rounds * indices.size

    return _pull_kernel


class PullSearch(BellmanFordSearch):
    """Every vertex looks at the arcs that enter it."""

    def __init__(self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any]) -> None:
        super().__init__(graph, dtype)
        self.arcs = (
            on_device.array("reverse indptr", lambda: graph.reverse().indptr.astype(INDEX)),
            on_device.array("reverse indices", lambda: graph.reverse().indices),
            on_device.array(f"reverse weights, {dtype}", lambda: graph.reverse().weights_as(dtype)),
        )

    @property
    def row_bytes(self) -> int:
        """Scratch of one row."""
        return self.graph.n * (self.dtype.itemsize + INDEX.itemsize)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Scratch of a batch: the other generation, whether anything changed, predecessors."""
        n = self.graph.n
        return (
            cuda.device_array((rows, n), self.integer),
            cuda.device_array((rows, 3), np.uint32),
            cuda.device_array((rows, n), INDEX),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Run a batch of sources."""
        other_keys, changes, predecessors = scratch
        batch.fill(predecessors, -1)
        batch.fill(changes, 0)
        _make_root_kernel(self.dtype)[batch.rows, THREADS, batch.stream](
            batch.sources, batch.first_sources, self.keys(batch), changes
        )
        together, blocks, first_rows = self.grid(batch)
        pull = _make_pull_kernel(self.dtype, together=together)
        indptr, indices, weights = self.arcs

        def launch(patience: int) -> None:
            for first_row in first_rows:
                pull[blocks, THREADS, batch.stream](
                    indptr.view(np.uint32),
                    indices.view(np.uint32),
                    weights,
                    batch.bound,
                    self.lowest,
                    patience,
                    first_row,
                    self.keys(batch),
                    other_keys,
                    changes,
                    predecessors,
                    batch.counters,
                )

        # after a round without changes both generations are the same
        self.run_rounds(batch, changes, predecessors, launch)
        self.finish(batch, self.keys(batch), predecessors)
