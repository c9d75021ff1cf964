"""Bellman-Ford on the GPU in push form: changed vertices relax the arcs that leave them.

The vertices that changed in the last round stand in a list; each has some lanes (threads) that
relax its arcs side by side. A head whose distance falls is flagged, once a round, by a stamp, and
joins the next list: first a list of its block in shared memory, then, with one reservation a
block, the common one. (The thesis sorts the flags instead.)

What a round takes is a chain of dependent reads, so the chain is kept short: distances of 32 bits
share a word with the stamp, so that one atomic minimum lowers one and sets the other, and an
entry of a list brings the bounds of its arcs along.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import int64, uint32

from sssp.cuda.batch import CLIPPED_ROW, Batch
from sssp.cuda.compiler import cuda, kernel
from sssp.cuda.device.bits import ordered_bits_of
from sssp.cuda.device.grid import barrier_of
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.search.bellman_ford.rounds import (
    EXPANDED,
    RELAXED,
    ROUNDS,
    THREADS,
    BellmanFordSearch,
    words_of,
)
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED, OVERFLOW

__all__ = [
    "ABSENT",
    "END_OF_ARCS",
    "FIRST_ARC",
    "VERTEX",
    "Chunks",
    "PushSearch",
    "push_bytes",
]

#: entries of a block's list of flagged vertices; what is beyond goes to the common list at once
STAGED = 2048
#: lanes of a vertex, as a power of two: as many as its arcs on average, within these
LEAST_LANES, MOST_LANES = 2, 5
#: what `places` holds for a chunk that is not on the device
ABSENT = np.int32(np.iinfo(np.int32).min)
#: parts of an entry of a list
VERTEX, FIRST_ARC, END_OF_ARCS = 0, 1, 2
PARTS = 3


@cache
def _make_start_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that puts the sources of every row into its first list."""
    bits = ordered_bits_of(dtype)[0]
    make_word = words_of(dtype.itemsize).make
    zero, unseen = dtype.type(0), unreached(dtype)

    @cuda.jit
    def _start_kernel(sources, first_sources, indptr, words, lists, counts):
        row = cuda.blockIdx.x
        nothing = make_word(bits(unseen))
        if cuda.threadIdx.x < 3:
            counts[row, cuda.threadIdx.x] = 0
        cuda.syncthreads()
        i = first_sources[row] + cuda.threadIdx.x
        while i < first_sources[row + 1]:
            source = uint32(sources[i])
            if cuda.atomic.min(words, (row, source), make_word(bits(zero))) == nothing:
                place = cuda.atomic.add(counts, (row, 0), uint32(1))
                lists[row, 0, VERTEX, place] = source
                lists[row, 0, FIRST_ARC, place] = indptr[source]
                lists[row, 0, END_OF_ARCS, place] = indptr[uint32(source + 1)]
            i += cuda.blockDim.x

    return _start_kernel


@cache
def _make_push_kernel(
    dtype: np.dtype[Any], *, together: bool, streamed: bool, barrier: Any = None
) -> Any:
    """Return the kernel for a dtype.

    Parameters
    ----------
    dtype : dtype
    together : bool
        Whether the grid works on one row, or every block on a row of its own.
    streamed : bool
        Whether arcs come in chunks.
    barrier : device function, optional
        In place of the one that `together` asks for: the type check cannot have a grid's.
    """
    bits, number_of = ordered_bits_of(dtype)
    held = words_of(dtype.itemsize)
    key_of, lower = held.key_of, held.lower
    meet = barrier or barrier_of(together=together)
    unseen = unreached(dtype)

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel(max_registers=65536 // THREADS // (1 if together else 2))
    def _push_kernel(
        indptr,
        indices,
        weights,
        places,
        chunk_bits,
        pending,
        wanted,
        lane_bits,
        negative,
        bound,
        lowest,
        patience,
        first_row,
        words,
        marks,
        lists,
        counts,
        predecessors,
        counters,
    ):
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        row, block, blocks = uint32(cuda.blockIdx.x), uint32(0), uint32(1)
        if together:
            row, block, blocks = uint32(first_row), uint32(cuda.blockIdx.x), uint32(cuda.gridDim.x)
        number = weights.dtype.type
        nothing = bits(unseen)
        staged = cuda.shared.array(STAGED, uint32)
        # how many are staged, and where they go
        stage = cuda.shared.array(2, uint32)
        lane = uint32(thread & ((1 << lane_bits) - 1))
        lanes = uint32(1 << lane_bits)
        group = uint32((block * threads + thread) >> lane_bits)
        groups = uint32((blocks * threads) >> lane_bits)
        rounds, expanded = uint32(counters[row, ROUNDS]), counters[row, EXPANDED]
        relaxed = uint32(0)
        stop = expanded + patience
        if thread == 0:
            stage[0] = 0
        meet()
        while True:
            size = counts[row, rounds % 3]
            if size == 0 or expanded >= stop:
                break
            after, side = uint32((rounds + 1) % 3), uint32(rounds & 1)
            stamp = uint32(rounds + 1)
            current, following = lists[row, side], lists[row, uint32(side ^ 1)]
            if block == 0 and thread == 0:
                counts[row, uint32((rounds + 2) % 3)] = 0
            i = group
            while i < size:
                tail = current[VERTEX, i]
                arc, last = current[FIRST_ARC, i], current[END_OF_ARCS, i]
                start = number_of(key_of(words[row, tail]))
                i = uint32(i + groups)
                if lane == 0:
                    relaxed = uint32(relaxed + last - arc)
                if streamed:
                    shift = places[tail >> chunk_bits]
                    arc, last = uint32(arc + shift), uint32(last + shift)
                arc = uint32(arc + lane)
                while arc < last:
                    head = indices[arc]
                    candidate = number(start + weights[arc])
                    arc = uint32(arc + lanes)
                    if candidate > bound:
                        if key_of(words[row, head]) == nothing and counters[row, CLIPPED_ROW] == 0:
                            cuda.atomic.max(counters, (row, CLIPPED_ROW), CLIPPED)
                    elif candidate < lowest:
                        cuda.atomic.max(counters, (row, CLIPPED_ROW), OVERFLOW)
                    else:
                        # not read before: a wasted minimum takes less than one more read in turn
                        fallen = lower(words, marks, row, head, bits(candidate), stamp)
                        if negative and fallen != 0:
                            predecessors[row, head] = tail
                        if streamed and fallen != 0 and places[head >> chunk_bits] == ABSENT:
                            pending[row, head] = 1
                            wanted[head >> chunk_bits] = 1
                        elif fallen == 2:
                            place = cuda.atomic.add(stage, 0, uint32(1))
                            if place < STAGED:
                                staged[place] = head
                            else:
                                place = cuda.atomic.add(counts, (row, after), uint32(1))
                                following[VERTEX, place] = head
                                following[FIRST_ARC, place] = indptr[head]
                                following[END_OF_ARCS, place] = indptr[uint32(head + 1)]
            cuda.syncthreads()
            flagged = uint32(min(stage[0], uint32(STAGED)))
            if flagged > 0:
                if thread == 0:
                    stage[1] = cuda.atomic.add(counts, (row, after), flagged)
                # read while the reservation is on its way
                head, arc, last = uint32(0), uint32(0), uint32(0)
                i = thread
                if i < flagged:
                    head = staged[i]
                    arc, last = indptr[head], indptr[uint32(head + 1)]
                cuda.syncthreads()
                while i < flagged:
                    place = uint32(stage[1] + i)
                    following[VERTEX, place] = head
                    following[FIRST_ARC, place], following[END_OF_ARCS, place] = arc, last
                    i = uint32(i + threads)
                    if i < flagged:
                        head = staged[i]
                        arc, last = indptr[head], indptr[uint32(head + 1)]
                if thread == 0:
                    stage[0] = 0
            rounds = uint32(rounds + 1)
            expanded += size
            meet()
        cuda.atomic.add(counters, (row, RELAXED), int64(relaxed))
        if block == 0 and thread == 0:
            counters[row, ROUNDS], counters[row, EXPANDED] = rounds, expanded

    return _push_kernel


@dataclass
class Chunks:
    """Where the arcs of a streamed search are, and who waits for them; all on the device.

    Attributes
    ----------
    bits : uint32
        Chunk c has the arcs of vertices ``c << bits`` to ``(c + 1) << bits``.
    places : device array, shape (chunks,), int32
        What to add to the number of an arc for its place; `ABSENT`: it has none.
    wanted : device array, shape (chunks,), uint8
        Whether a vertex of the chunk is pending.
    pending : device array, shape (rows, n), uint8
    """

    bits: np.uint32
    places: Any
    wanted: Any
    pending: Any


def push_bytes(graph: Graph, dtype: np.dtype[Any]) -> int:
    """Scratch of a row: words or marks, lists, predecessors."""
    stamps = 8 if dtype.itemsize == 4 else INDEX.itemsize
    trees = INDEX.itemsize if graph.least_weight < 0 else 0
    return graph.n * (stamps + 2 * PARTS * INDEX.itemsize + trees)


class PushSearch(BellmanFordSearch):
    """Changed vertices relax the arcs that leave them; all arcs are on the device."""

    arcs_travel = False

    def __init__(self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any]) -> None:
        super().__init__(graph, dtype)
        average = math.log2(max(graph.m / max(graph.n, 1), 1))
        self.lane_bits = np.uint32(min(max(math.ceil(average), LEAST_LANES), MOST_LANES))
        indptr = on_device.array("indptr", lambda: graph.indptr.astype(INDEX))
        self.indptr = indptr.view(np.uint32)
        if not self.arcs_travel:
            _, indices, weights = on_device.arcs(graph, dtype)
            self.arcs = indices.view(np.uint32), weights

    @property
    def row_bytes(self) -> int:
        """Scratch of one row."""
        return push_bytes(self.graph, self.dtype)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Scratch of a batch: words and marks, lists and their sizes, predecessors."""
        n, narrow = self.graph.n, self.dtype.itemsize == 4
        return (
            cuda.device_array((rows, n if narrow else 1), np.int64),
            cuda.device_array((rows, 1 if narrow else n), np.uint32),
            cuda.device_array((rows, 2, PARTS, n), np.uint32),
            cuda.device_array((rows, 3), np.uint32),
            cuda.device_array((rows, n if self.negative else 1), INDEX),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Run a batch of sources."""
        self._start(batch, scratch)
        nothing = cuda.device_array((1, 1), np.uint8)
        places = cuda.device_array(1, np.int32)
        chunks = Chunks(np.uint32(0), places, nothing[0], nothing)
        counts, predecessors = scratch[3:]
        launch = self.launcher(batch, scratch, self.arcs, chunks)
        self.run_rounds(batch, counts, predecessors, launch)
        self.finish(batch, self._words(batch, scratch), scratch[-1])

    def _start(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        words, marks, lists, counts, predecessors = scratch
        if self.negative:
            batch.fill(predecessors, -1)
        if self.dtype.itemsize == 4:
            # the integer of an unreached distance, above a stamp of 0
            batch.fill(words, int(unreached(self.dtype).view(self.integer)) << 32)
        else:
            batch.fill(marks, 0)
        _make_start_kernel(self.dtype)[batch.rows, THREADS, batch.stream](
            batch.sources,
            batch.first_sources,
            self.indptr,
            self._words(batch, scratch),
            lists,
            counts,
        )

    def _words(self, batch: Batch, scratch: tuple[Any, ...]) -> Any:
        """Where the kernels keep distances: those of 64 bits in place."""
        return scratch[0] if self.dtype.itemsize == 4 else self.keys(batch)

    def launcher(
        self, batch: Batch, scratch: tuple[Any, ...], arcs: tuple[Any, Any], chunks: Chunks
    ) -> Callable[[int], None]:
        """Return what `run_rounds` launches."""
        _, marks, lists, counts, predecessors = scratch
        together, blocks, first_rows = self.grid(batch)
        push = _make_push_kernel(self.dtype, together=together, streamed=self.arcs_travel)

        def launch(patience: int) -> None:
            for first_row in first_rows:
                push[blocks, THREADS, batch.stream](
                    self.indptr,
                    *arcs,
                    chunks.places,
                    chunks.bits,
                    chunks.pending,
                    chunks.wanted,
                    self.lane_bits,
                    self.negative,
                    batch.bound,
                    self.lowest,
                    patience,
                    first_row,
                    self._words(batch, scratch),
                    marks,
                    lists,
                    counts,
                    predecessors,
                    batch.counters,
                )

        return launch
