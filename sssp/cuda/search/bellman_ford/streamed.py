"""Bellman-Ford on the GPU while the arcs are transferred, or do not all fit on the device.

The arcs travel in chunks of consecutive vertices through slots. Rounds run on the chunks that are
there; a vertex that falls while its arcs are elsewhere is noted as pending, and only the arrival
of its chunk clears that note. The search is over when no chunk has pending vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from sssp.cuda.availability import SIMULATOR, cuda, select
from sssp.cuda.batch import Batch
from sssp.cuda.compiler import kernel
from sssp.cuda.device.grid import slots_of
from sssp.cuda.device_memory import CHUNK, STAGING, DeviceGraph, on_host
from sssp.cuda.pool import device_array
from sssp.cuda.search.bellman_ford.push import ABSENT, VERTEX, Chunks, PushSearch, put
from sssp.cuda.search.bellman_ford.rounds import ALLOWANCE, ROUNDS, THREADS
from sssp.engine.workers import Pool
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX

#: least bytes of a chunk: smaller ones travel no faster
SMALLEST_CHUNK = 256 if SIMULATOR else 1 << 20


@kernel
def _await_arcs_kernel(lists, counts, chunk_bits, pending, wanted):
    """Turn the first frontiers into pending vertices, as no arcs have arrived yet.

    ========== =================== ======= =========================
    argument   shape               dtype   written by
    ========== =================== ======= =========================
    lists      (rows, 2, PARTS, n) uint32  `_start_kernel`
    counts     (rows, SLOTS)       uint32  `_start_kernel`; here
    chunk_bits scalar              uint32  host
    pending    (rows, n)           uint8   host: 0; here
    wanted     (chunks,)           uint8   host: 0; here
    ========== =================== ======= =========================
    """
    row = cuda.blockIdx.x
    i = uint32(cuda.threadIdx.x)
    while i < counts[row, 0]:
        vertex = lists[row, 0, VERTEX, i]
        pending[row, vertex] = 1
        wanted[vertex >> chunk_bits] = 1
        i = uint32(i + cuda.blockDim.x)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        counts[row, 0] = 0


@kernel
def _admit_kernel(
    chunk, chunk_bits, shift, indptr, counters, places, wanted, pending, lists, counts
):
    """Admit a chunk whose arcs have arrived: add its pending vertices to the next frontier.

    ========== =================== ======= ==========================================
    argument   shape               dtype   written by
    ========== =================== ======= ==========================================
    chunk      scalar              uint32  host
    chunk_bits scalar              uint32  host
    shift      scalar              int32   host: what `places` is to hold
    indptr     (n + 1,)            uint32  upload of the graph
    counters   (rows, words)       int64   the push kernel
    places     (chunks,)           int32   here
    wanted     (chunks,)           uint8   here: 0
    pending    (rows, n)           uint8   the push kernel; here: 0
    lists      (rows, 2, PARTS, n) uint32  here: the one of the next round
    counts     (rows, SLOTS)       uint32  here
    ========== =================== ======= ==========================================
    """
    row = cuda.blockIdx.y
    start = uint32(cuda.grid(1))
    if start == 0:
        places[chunk] = shift
        wanted[chunk] = 0
    current = uint32(counters[row, ROUNDS])
    vertex = uint32((chunk << chunk_bits) + start)
    last = min(uint32((chunk + 1) << chunk_bits), uint32(pending.shape[1]))
    while vertex < last:
        if pending[row, vertex] != 0:
            pending[row, vertex] = 0
            place = cuda.atomic.add(counts, (row, slots_of(current, 0).now), uint32(1))
            put(lists[row, uint32(current & 1)], place, vertex, indptr)
        vertex = uint32(vertex + cuda.gridDim.x * cuda.blockDim.x)


class StreamedSearch(PushSearch):
    """Bellman-Ford in push form, while chunks of arcs pass through slots of device memory.

    Parameters
    ----------
    budget : int
        Bytes that the slots may take.
    streams : int
        How many chunks travel at a time.
    """

    arcs_travel = True

    def __init__(
        self,
        graph: Graph,
        on_device: DeviceGraph,
        dtype: np.dtype[Any],
        *,
        budget: int,
        streams: int,
    ) -> None:
        self.streams = streams
        self.arc_bytes = INDEX.itemsize + dtype.itemsize
        self._cut(graph, budget)
        super().__init__(graph, on_device, dtype)
        self.row_arrays += (((graph.n,), np.uint8),)  # whether vertices are pending
        self.device_number = on_device.number

    def _cut(self, graph: Graph, budget: int) -> None:
        """Choose the chunks of arcs: some for every stream, several on the device at a time."""
        self.all_fit = graph.m * self.arc_bytes <= budget
        aim = max(graph.m * self.arc_bytes // (4 * self.streams), SMALLEST_CHUNK)
        # nor so small that the arcs of one vertex leave most slots half empty
        hub = 2 * int(np.diff(graph.indptr).max(initial=0)) * self.arc_bytes
        aim = max(min(aim, CHUNK, budget // 4), hub)
        bits = max(graph.n - 1, 1).bit_length()
        largest = graph.m
        while bits > 0 and largest * self.arc_bytes > aim:
            bits -= 1
            bounds = graph.indptr[:: 1 << bits]
            largest = int(np.diff(np.append(bounds, graph.m)).max())
        self.chunk_bits = np.uint32(bits)
        self.chunks = -(-graph.n >> bits)
        self.slot_size = max(largest, 1)
        slots = max(1, budget // (self.slot_size * self.arc_bytes))
        self.slots = self.chunks if self.all_fit else min(self.chunks, slots)
        #: arcs that there is room for
        self.room = max(graph.m, 1) if self.all_fit else self.slots * self.slot_size

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the slots for chunks."""
        return self.room * self.arc_bytes

    @property
    def most_rounds(self) -> int:
        """Number of rounds after which exact arithmetic is finished; each may need a chunk."""
        return self.graph.n * self.chunks

    def bounds(self, chunk: int) -> tuple[int, int]:
        """Return the first arc of a chunk, and of the next chunk."""
        ends = np.minimum(np.array([chunk, chunk + 1]) << self.chunk_bits, self.graph.n)
        first, last = self.graph.indptr[ends].tolist()
        return first, last

    def place(self, chunk: int, slot: int) -> int:
        """Return the position of a chunk's first arc: its number if all fit, else the slot's."""
        return self.bounds(chunk)[0] if self.all_fit else slot * self.slot_size

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return scratch of a batch; pending flags and slots come last."""
        return (
            *super().allocate(rows),
            device_array(self.room, np.uint32),
            device_array(self.room, self.dtype),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Search for a batch of sources while the arcs arrive."""
        *of_push, pending, heads, weights = scratch
        scratch = tuple(of_push)
        chunks = Chunks(
            self.chunk_bits,
            device_array(self.chunks, np.int32),
            device_array(self.chunks, np.uint8),
            pending,
        )
        for array, value in ((chunks.places, ABSENT), (chunks.wanted, 0), (pending, 0)):
            batch.fill(array, value)
        self._start(batch, scratch)
        lists, counts = scratch[2:4]
        _await_arcs_kernel[batch.rows, THREADS, batch.stream](
            lists, counts, self.chunk_bits, pending, chunks.wanted
        )
        _Traffic(self, batch, scratch, (heads, weights), chunks).run()
        self.finish(batch, self.words(batch, scratch), scratch[-1])


class _Traffic:
    """The transfer of chunks for one batch: their order, and their slots."""

    def __init__(
        self,
        search: StreamedSearch,
        batch: Batch,
        scratch: tuple[Any, ...],
        arcs: tuple[Any, Any],
        chunks: Chunks,
    ) -> None:
        self.search, self.batch, self.arcs, self.chunks = search, batch, arcs, chunks
        self.lists, self.counts, self.predecessors = scratch[2:]
        self.words = search.words(batch, scratch)
        self.launch = search.launcher(batch, scratch, arcs, chunks)
        #: chunks sent, and how many may be until negative cycles are looked for
        self.sent, self.allowance = 0, ALLOWANCE * search.chunks
        #: slots and the chunks in them (-1: none), the one that came first in front
        self.residents = [(slot, -1) for slot in range(search.slots)]

    def run(self) -> None:
        """Send chunks until no vertex is waiting for one.

        If all fit, all are sent at once, that of the first source first; else those with pending
        vertices, half the slots at a time, again and again.
        """
        search = self.search
        with Pool(search.streams, "sssp-arcs") as executor:
            while True:
                wanted = np.flatnonzero(self.chunks.wanted.copy_to_host(stream=self.batch.stream))
                if wanted.size == 0:
                    return
                wave = wanted[: max(1, search.slots // 2)].tolist()
                if search.all_fit:
                    wave = np.roll(np.arange(search.chunks), -wanted[0]).tolist()
                # those that have been in use longest
                freed, self.residents = self.residents[: len(wave)], self.residents[len(wave) :]
                for _, chunk in freed:
                    if chunk >= 0:
                        self.batch.fill(self.chunks.places[chunk : chunk + 1], ABSENT)
                slots = [slot for slot, _ in freed]
                self.batch.stream.synchronize()
                for chunk, slot in zip(wave, executor.map(self._send, wave, slots), strict=True):
                    self._admit(chunk, slot)
                self.sent += len(wave)
                state = self.counts, self.words, self.predecessors
                if not search.run_rounds(self.batch, *state, self.launch):
                    return
                if search.negative and self._never_ends():
                    return

    def _never_ends(self) -> bool:
        """Look, with growing intervals, for negative cycles that span several chunks.

        Return whether it is no use to wait for arcs any longer.

        Raises
        ------
        NegativeCycleError
            There is one.
        """
        if self.sent <= self.allowance:
            return False
        self.allowance = 2 * self.sent
        batch = self.batch
        counters = on_host(batch.counters, batch.stream)
        unfinished = self.chunks.pending[: batch.rows].copy_to_host().any(axis=1)
        return self.search.look(batch, counters, unfinished, self.words, self.predecessors)

    def _send(self, chunk: int, slot: int) -> int:
        """Copy the arcs of a chunk into a slot, in a thread of the pool."""
        graph, search = self.search.graph, self.search
        first, last = search.bounds(chunk)
        start = search.place(chunk, slot)
        parts = graph.indices[first:last], graph.weights_as(search.dtype)[first:last]
        with select(search.device_number), STAGING.lease(search.device_number) as (stream, buffer):
            step = buffer.nbytes // search.dtype.itemsize
            for part, there in zip(parts, self.arcs, strict=True):
                for cut in range(0, part.size, step):
                    piece = part[cut : cut + step]
                    staged = buffer[: piece.nbytes].view(there.dtype)
                    stream.synchronize()
                    np.copyto(staged, piece, casting="unsafe")
                    place = start + cut
                    there[place : place + piece.size].copy_to_device(staged, stream=stream)
        return slot

    def _admit(self, chunk: int, slot: int) -> None:
        """Admit a chunk, and run some rounds while other chunks are transferred."""
        search, batch = self.search, self.batch
        vertices = 1 << int(search.chunk_bits)
        grid = (1 if SIMULATOR else min(64, -(-vertices // THREADS)), batch.rows)
        _admit_kernel[grid, THREADS, batch.stream](
            np.uint32(chunk), search.chunk_bits,
            np.int32(search.place(chunk, slot) - search.bounds(chunk)[0]), search.indptr,
            batch.counters, self.chunks.places, self.chunks.wanted, self.chunks.pending, self.lists,
            self.counts,
        )  # fmt: skip
        self.residents.append((slot, chunk))
        # about as much work as the chunk brings: more, and what it has not got is done in vain
        self.launch(vertices)
