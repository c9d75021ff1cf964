"""Bellman-Ford on the GPU in push form: changed vertices relax the arcs that leave them.

The vertices that changed in the last round stand in a list; each has a group of threads that
relax its arcs side by side. A head whose distance falls is flagged, once a round, by a stamp, and
joins the next list: first a list of its block in shared memory, then, with one reservation a
block, the common one. (The thesis sorts the flags instead.)

What a round takes is a chain of dependent reads, so the chain is kept short: distances of 32 bits
share a word with the stamp, so that one atomic minimum lowers one and sets the other, and an
entry of a list brings the bounds of its arcs along.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import from_dtype, int64, uint32

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import inline, kernel, kernel_with, part
from sssp.cuda.device.bits import ordered_bits_of
from sssp.cuda.device.grid import SLOTS, barrier_of, slots_of, worker_of
from sssp.cuda.device_memory import DeviceGraph
from sssp.cuda.pool import device_array
from sssp.cuda.search.bellman_ford.rounds import (
    EXPANDED,
    RELAXED,
    ROUNDS,
    THREADS,
    Arcs,
    BellmanFordSearch,
    Kept,
    Limits,
    words_of,
)
from sssp.cuda.search_base import CLIPPED_ROW, Batch, RowArrays
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED, OVERFLOW

#: entries of a block's list of flagged vertices; what is beyond goes to the common list at once
STAGED = 2048
#: threads of a group, which relaxes the arcs of a vertex, as a power of two: as many as a vertex
#: has arcs on average, within these
LEAST_GROUP_BITS, MOST_GROUP_BITS = 2, 5
#: what `places` holds for a chunk that is not on the device
ABSENT = np.int32(np.iinfo(np.int32).min)
#: parts of an entry of a list
VERTEX, FIRST_ARC, END_OF_ARCS = 0, 1, 2
PARTS = 3
#: words of a block's ``stage``: how many vertices are staged, and where they go
SIZE, PLACE = 0, 1

# device functions pass related values as records, which the compiler takes apart; kernels have
# plain arguments, for the types in a record would be determined anew at every launch


class Chunks(namedtuple("Chunks", "bits places wanted pending")):
    """Which arc chunks are on the device, and which vertices wait for arcs of missing chunks.

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


class Group(namedtuple("Group", "member members place groups")):
    """Group of threads that relaxes one vertex's arcs, and the calling thread's number in it.

    Attributes
    ----------
    member, members : uint32
        Number of the thread in its group, and how many it has.
    place, groups : uint32
        Number of the group among those that work on the row, and how many do.
    """


class State(namedtuple("State", "words marks predecessors counters")):
    """Device arrays with the search state of all rows, such as distances and predecessors."""


class Round(namedtuple("Round", "row stamp current following counts slot staged stage")):
    """A thread block's data in one round: current and next list of vertices, and their sizes.

    Attributes
    ----------
    row : uint32
    stamp : uint32
        Of the vertices that fall in this round.
    current, following : array, shape (PARTS, n), uint32
        Lists of this round and of the next.
    counts, slot : array, shape (rows, SLOTS), uint32; uint32
        Sizes of the lists, and where that of the next one stands.
    staged, stage : array, shape (STAGED,) and (2,), uint32
        The block's part of the next list.
    """


@inline
def put(entries, place, vertex, indptr):
    """Write a vertex and its CSR arc range (begin, end) to a position in a frontier list."""
    entries[VERTEX, place] = vertex
    entries[FIRST_ARC, place] = indptr[vertex]
    entries[END_OF_ARCS, place] = indptr[uint32(vertex + 1)]


@inline
def _flag(vertex, round_, indptr):
    """Append a vertex to the next frontier: the block's buffer or, if full, the global list."""
    place = cuda.atomic.add(round_.stage, SIZE, uint32(1))
    if place < STAGED:
        round_.staged[place] = vertex
    else:
        place = cuda.atomic.add(round_.counts, (round_.row, round_.slot), uint32(1))
        put(round_.following, place, vertex, indptr)


@part
def _hand_on(worker, round_, indptr):
    """Append the block's shared-memory buffer to the global list of the next frontier."""
    staged, stage, following = round_.staged, round_.stage, round_.following
    flagged = uint32(min(stage[SIZE], uint32(STAGED)))
    if flagged > 0:
        if worker.thread == 0:
            stage[PLACE] = cuda.atomic.add(round_.counts, (round_.row, round_.slot), flagged)
        # read while the reservation is on its way
        head, arc, last = uint32(0), uint32(0), uint32(0)
        i = worker.thread
        if i < flagged:
            head = staged[i]
            arc, last = indptr[head], indptr[uint32(head + 1)]
        cuda.syncthreads()
        while i < flagged:
            place = uint32(stage[PLACE] + i)
            following[VERTEX, place] = head
            following[FIRST_ARC, place], following[END_OF_ARCS, place] = arc, last
            i = uint32(i + worker.threads)
            if i < flagged:
                head = staged[i]
                arc, last = indptr[head], indptr[uint32(head + 1)]
        if worker.thread == 0:
            stage[SIZE] = 0


@kernel
def _start_kernel(sources, first_sources, indptr, nothing, words, lists, counts):
    """Set a row's sources to distance 0 and write them to its first frontier; a block per row.

    ============= ===================== ======= ==============================================
    argument      shape                 dtype   written by
    ============= ===================== ======= ==============================================
    sources       (k,)                  int64   host
    first_sources (rows + 1,)           int64   host
    indptr        (n + 1,)              uint32  upload of the graph
    nothing       scalar                int64   host: the word of an unreached vertex
    words         (rows, n)             int64   host: `nothing`; here: sources
    lists         (rows, 2, PARTS, n)   uint32  here: the first of the two
    counts        (rows, SLOTS)         uint32  here
    ============= ===================== ======= ==============================================
    """
    row = cuda.blockIdx.x
    if cuda.threadIdx.x < SLOTS:
        counts[row, cuda.threadIdx.x] = 0
    cuda.syncthreads()
    i = first_sources[row] + cuda.threadIdx.x
    while i < first_sources[row + 1]:
        source = uint32(sources[i])
        # (the word of a distance of 0 is 0)
        if cuda.atomic.min(words, (row, source), int64(0)) == nothing:
            put(lists[row, 0], cuda.atomic.add(counts, (row, 0), uint32(1)), source, indptr)
        i += cuda.blockDim.x


@cache
def _make_push_kernel(
    dtype: np.dtype[Any], *, together: bool, streamed: bool, barrier: Any = None
) -> Any:
    """Return the kernel of push rounds for a dtype, for resident or streamed arcs.

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
    meet, worker_of_row = barrier or barrier_of(together=together), worker_of(together=together)
    bits, number_of = ordered_bits_of(dtype)
    key_of, lower = words_of(dtype.itemsize)
    number, unseen = from_dtype(dtype), unreached(dtype)

    @inline
    def relax(tail, head, candidate, arcs, chunks, limits, state, round_):
        """Relax an arc; if its head improves, add it to the next frontier, once per round."""
        row, counters = round_.row, state.counters
        if candidate > limits.bound:
            is_new = key_of(state.words[row, head]) == bits(unseen)
            if is_new and counters[row, CLIPPED_ROW] == 0:
                cuda.atomic.max(counters, (row, CLIPPED_ROW), CLIPPED)
        elif candidate < limits.lowest:
            cuda.atomic.max(counters, (row, CLIPPED_ROW), OVERFLOW)
        else:
            # not read before: a wasted minimum takes less than one more read in turn
            fallen = lower(state.words, state.marks, row, head, bits(candidate), round_.stamp)
            if limits.negative and fallen != 0:
                state.predecessors[row, head] = tail
            if streamed and fallen != 0 and chunks.places[head >> chunks.bits] == ABSENT:
                chunks.pending[row, head] = 1
                chunks.wanted[head >> chunks.bits] = 1
            elif fallen == 2:
                _flag(head, round_, arcs.indptr)

    @part
    def expand(group, size, arcs, chunks, limits, state, round_):
        """Relax the arcs of a frontier's vertices; return this thread's count of relaxed arcs."""
        current, relaxed = round_.current, uint32(0)
        i = group.place
        while i < size:
            tail = current[VERTEX, i]
            arc, last = current[FIRST_ARC, i], current[END_OF_ARCS, i]
            start = number_of(key_of(state.words[round_.row, tail]))
            i = uint32(i + group.groups)
            if group.member == 0:
                relaxed = uint32(relaxed + last - arc)
            if streamed:
                shift = chunks.places[tail >> chunks.bits]
                arc, last = uint32(arc + shift), uint32(last + shift)
            arc = uint32(arc + group.member)
            while arc < last:
                head = arcs.indices[arc]
                candidate = number(start + arcs.weights[arc])
                arc = uint32(arc + group.members)
                relax(tail, head, candidate, arcs, chunks, limits, state, round_)
        return relaxed

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel_with(max_registers=65536 // THREADS // (1 if together else 2))
    @no_type_check
    def _push_kernel(
        indptr, indices, weights, places, chunk_bits, pending, wanted, group_bits, negative, bound,
        lowest, allowance, first_row, words, marks, lists, counts, predecessors, counters,
    ):  # fmt: skip
        """Run Bellman-Ford push rounds, with all blocks on one row or with one row per block.

        Until a list is empty, or `allowance` vertices have been expanded.

        ============ =================== ======= =================================================
        argument     shape               dtype   written by
        ============ =================== ======= =================================================
        indptr       (n + 1,)            uint32  upload of the graph
        indices      (m,)                uint32  upload of the graph; streamed: of chunks
        weights      (m,)                number  upload of the graph; streamed: of chunks
        places       (chunks,)           int32   host, `_admit_kernel`; not read if not streamed
        chunk_bits   scalar              uint32  host; not read if not streamed
        pending      (rows, n)           uint8   `_admit_kernel`; here, if streamed: new ones
        wanted       (chunks,)           uint8   `_admit_kernel`; here, if streamed: new ones
        group_bits   scalar              uint32  host: threads of a group, as a power of two
        negative     scalar              boolean host: whether predecessors are wanted
        bound        scalar              number  host: greatest distance of interest
        lowest       scalar              number  host: least distance that the dtype holds
        allowance    scalar              int64   host
        first_row    scalar              int64   host: the row, if the blocks work together
        words        (rows, n)           int64   host: unreached; `_start_kernel`; here
        marks        (rows, n)           uint32  host: 0; here; unused where words hold stamps
        lists        (rows, 2, PARTS, n) uint32  `_start_kernel`, `_admit_kernel`; here
        counts       (rows, SLOTS)       uint32  `_start_kernel`, `_admit_kernel`; here
        predecessors (rows, n)           int32   host: -1; here, if negative
        counters     (rows, words)       int64   host: 0; here: statistics, `CLIPPED_ROW`
        ============ =================== ======= =================================================
        """
        worker = worker_of_row(first_row)
        row = worker.row
        arcs, chunks = Arcs(indptr, indices, weights), Chunks(chunk_bits, places, wanted, pending)
        limits, state = Limits(bound, lowest, negative), State(words, marks, predecessors, counters)
        # a line each, by which the simulator tells shared arrays apart
        staged = cuda.shared.array(STAGED, uint32)
        stage = cuda.shared.array(2, uint32)
        group = Group(
            uint32(worker.thread & ((1 << group_bits) - 1)),
            uint32(1 << group_bits),
            uint32((worker.block * worker.threads + worker.thread) >> group_bits),
            uint32((worker.blocks * worker.threads) >> group_bits),
        )
        rounds, expanded = uint32(counters[row, ROUNDS]), counters[row, EXPANDED]
        relaxed, stop = uint32(0), expanded + allowance
        if worker.thread == 0:
            stage[SIZE] = 0
        meet()
        while True:
            slots, side = slots_of(rounds, 0), uint32(rounds & 1)
            size = counts[row, slots.now]
            if size == 0 or expanded >= stop:
                break
            if worker.block == 0 and worker.thread == 0:
                counts[row, slots.before] = 0
            stamp, current, following = uint32(rounds + 1), lists[row, side], lists[row, side ^ 1]
            round_ = Round(row, stamp, current, following, counts, slots.after, staged, stage)
            relaxed = uint32(relaxed + expand(group, size, arcs, chunks, limits, state, round_))
            cuda.syncthreads()
            _hand_on(worker, round_, indptr)
            rounds = uint32(rounds + 1)
            expanded += size
            meet()
        cuda.atomic.add(counters, (row, RELAXED), int64(relaxed))
        if worker.block == 0 and worker.thread == 0:
            counters[row, ROUNDS], counters[row, EXPANDED] = rounds, expanded

    return _push_kernel


def row_arrays(graph: Graph, dtype: np.dtype[Any]) -> RowArrays:
    """Return the shapes and dtypes of the scratch arrays that the search of one row needs."""
    n, narrow = graph.n, dtype.itemsize == 4
    return (
        ((n if narrow else 1,), np.int64),
        ((1 if narrow else n,), np.uint32),
        ((2, PARTS, n), np.uint32),
        ((SLOTS,), np.uint32),
        ((n if graph.least_weight < 0 else 1,), INDEX),
    )


class PushSearch(BellmanFordSearch):
    """Bellman-Ford that pushes distances along outgoing arcs, with all arcs on the device."""

    arcs_travel = False

    def __init__(self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any]) -> None:
        super().__init__(graph, dtype)
        self.row_arrays = row_arrays(graph, dtype)
        average = math.log2(max(graph.m / max(graph.n, 1), 1))
        bits = min(max(math.ceil(average), LEAST_GROUP_BITS), MOST_GROUP_BITS)
        self.group_bits = np.uint32(bits)
        indptr = on_device.array("indptr", lambda: graph.indptr.astype(INDEX))
        self.indptr = indptr.view(np.uint32)
        if not self.arcs_travel:
            _, indices, weights = on_device.arcs(graph, dtype)
            self.arcs = indices.view(np.uint32), weights

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Compute the distances from a batch of sources, by push rounds."""
        self._start(batch, scratch)
        nothing = device_array((1, 1), np.uint8)
        chunks = Chunks(np.uint32(0), device_array(1, np.int32), nothing[0], nothing)
        counts, predecessors = scratch[3:]
        kept = Kept(self.words(batch, scratch), predecessors)
        self.run_rounds(batch, counts, kept, self.launcher(batch, scratch, self.arcs, chunks))
        self.finish(batch, kept)

    def _start(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        words, marks, lists, counts, predecessors = scratch
        if self.negative:
            batch.fill(predecessors, -1)
        nothing = int(unreached(self.dtype).view(self.integer))
        if self.dtype.itemsize == 4:
            nothing <<= 32  # (above a stamp of 0)
            batch.fill(words, nothing)
        else:
            batch.fill(marks, 0)
        _start_kernel[batch.rows, THREADS, batch.stream](
            batch.sources, batch.first_sources, self.indptr, np.int64(nothing),
            self.words(batch, scratch), lists, counts,
        )  # fmt: skip

    def words(self, batch: Batch, scratch: tuple[Any, ...]) -> Any:
        """Return the device array of distances; if 32-bit, each is packed with a round's number."""
        return scratch[0] if self.dtype.itemsize == 4 else self.keys(batch)

    def launcher(
        self, batch: Batch, scratch: tuple[Any, ...], arcs: tuple[Any, Any], chunks: Chunks
    ) -> Callable[[int], None]:
        """Return the function that launches push rounds on a batch, for `run_rounds`."""
        _, marks, lists, counts, predecessors = scratch
        together, blocks, first_rows = self.grid(batch)
        push = _make_push_kernel(self.dtype, together=together, streamed=self.arcs_travel)

        def launch(allowance: int) -> None:
            for first_row in first_rows:
                push[blocks, THREADS, batch.stream](
                    self.indptr, *arcs, chunks.places, chunks.bits, chunks.pending, chunks.wanted,
                    self.group_bits, self.negative, batch.bound, self.lowest, allowance, first_row,
                    self.words(batch, scratch), marks, lists, counts, predecessors, batch.counters,
                )  # fmt: skip

        return launch
