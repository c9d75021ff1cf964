"""Bellman-Ford on the GPU, with arcs copied from the host in chunks during the search.

The arcs travel in chunks of consecutive vertices through slots. Rounds run on the chunks that are
there; a vertex that falls while its arcs are elsewhere is noted as pending, and only the arrival
of its chunk clears that note. The search is over when no chunk has pending vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda, select
from sssp.cuda.compiler import kernel
from sssp.cuda.device.grid import slots_of
from sssp.cuda.device_memory import CHUNK, STAGING, DeviceGraph, on_host
from sssp.cuda.pool import device_array
from sssp.cuda.search.bellman_ford.push import ABSENT, VERTEX, Chunks, PushSearch, put
from sssp.cuda.search.bellman_ford.rounds import ALLOWANCE, ROUNDS, THREADS, Kept
from sssp.cuda.search_base import Batch
from sssp.engine.workers import Pool
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX

#: least bytes of a chunk: smaller ones travel no faster
SMALLEST_CHUNK = 256 if SIMULATOR else 1 << 20


@kernel
def _await_arcs_kernel(lists, counts, chunk_bits, pending, wanted):
    """Mark the vertices of the first frontiers as pending until their arcs are on the device.

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
    """Add to the next frontier the pending vertices whose arcs were just copied to the device.

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
    """Bellman-Ford by push rounds while the arcs are copied, chunk by chunk, to the device.

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
        self.arc_bytes = arc_bytes = INDEX.itemsize + dtype.itemsize
        # some chunks for every stream, several of them on the device at a time
        self.all_fit = graph.m * arc_bytes <= budget
        aim = max(graph.m * arc_bytes // (4 * streams), SMALLEST_CHUNK)
        # nor so small that the arcs of one vertex leave most slots half empty
        hub = 2 * int(np.diff(graph.indptr).max(initial=0)) * arc_bytes
        aim = max(min(aim, CHUNK, budget // 4), hub)
        bits = max(graph.n - 1, 1).bit_length()
        #: the first arc of every chunk, and the number of all
        self.firsts: NDArray[np.int64] = np.array([0, graph.m])
        largest = graph.m
        while bits > 0 and largest * arc_bytes > aim:
            bits -= 1
            self.firsts = np.append(graph.indptr[:: 1 << bits], graph.m)
            largest = int(np.diff(self.firsts).max())
        self.chunk_bits = np.uint32(bits)
        self.chunks = -(-graph.n >> bits)
        self.slot_size = max(largest, 1)
        slots = max(1, budget // (self.slot_size * arc_bytes))
        self.slots = self.chunks if self.all_fit else min(self.chunks, slots)
        #: arcs that there is room for
        self.room = max(graph.m, 1) if self.all_fit else self.slots * self.slot_size
        super().__init__(graph, on_device, dtype)
        # (each round may need a chunk)
        self.most_rounds = graph.n * self.chunks
        self.row_arrays += (((graph.n,), np.uint8),)  # whether vertices are pending
        self.device_number = on_device.number

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the device memory into which chunks of arcs are copied."""
        return self.room * self.arc_bytes

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return device arrays for the search of `rows` rows, including space for copied arcs."""
        return (
            *super().allocate(rows),
            device_array(self.room, np.uint32),
            device_array(self.room, self.dtype),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Compute the distances from a batch of sources while arcs are copied to the device.

        If all chunks fit, all are sent at once, that of the first source first; else those with
        pending vertices, half the slots at a time, again and again.
        """
        *of_push, pending, heads, weights = scratch
        scratch, arcs, stream = tuple(of_push), (heads, weights), batch.stream
        _, _, lists, counts, predecessors = scratch
        places, wanted = device_array(self.chunks, np.int32), device_array(self.chunks, np.uint8)
        chunks = Chunks(self.chunk_bits, places, wanted, pending)
        for array, value in ((places, ABSENT), (wanted, 0), (pending, 0)):
            batch.fill(array, value)
        self._start(batch, scratch)
        _await_arcs_kernel[batch.rows, THREADS, stream](
            lists, counts, self.chunk_bits, pending, wanted
        )
        kept = Kept(self.words(batch, scratch), predecessors)
        run = self.launcher(batch, scratch, arcs, chunks)
        vertices = 1 << int(self.chunk_bits)
        grid = (1 if SIMULATOR else min(64, -(-vertices // THREADS)), batch.rows)
        #: chunks sent, and how many may be until negative cycles are looked for
        sent, allowance = 0, ALLOWANCE * self.chunks
        #: slots and the chunks in them (-1: none), the one that came first in front
        residents = [(slot, -1) for slot in range(self.slots)]

        def send(chunk: int, slot: int) -> int:
            """Copy a chunk's arcs into device memory; return the first arc's position."""
            first, last = self.firsts[chunk : chunk + 2].tolist()
            start = first if self.all_fit else slot * self.slot_size
            parts = self.graph.indices[first:last], self.graph.weights_as(self.dtype)[first:last]
            number = self.device_number
            with select(number), STAGING.lease(number) as (own_stream, buffer):
                step = buffer.nbytes // self.dtype.itemsize
                for part, there in zip(parts, arcs, strict=True):
                    for cut in range(0, part.size, step):
                        piece = part[cut : cut + step]
                        staged = buffer[: piece.nbytes].view(there.dtype)
                        own_stream.synchronize()
                        np.copyto(staged, piece, casting="unsafe")
                        place = start + cut
                        there[place : place + piece.size].copy_to_device(staged, stream=own_stream)
            return start

        with Pool(self.streams, "sssp-arcs") as executor:
            while (asked := np.flatnonzero(wanted.copy_to_host(stream=stream))).size:
                wave = asked[: max(1, self.slots // 2)].tolist()
                if self.all_fit:
                    wave = np.roll(np.arange(self.chunks), -asked[0]).tolist()
                # those that have been in use longest
                freed, residents = residents[: len(wave)], residents[len(wave) :]
                for _, chunk in freed:
                    if chunk >= 0:
                        batch.fill(places[chunk : chunk + 1], ABSENT)
                slots = [slot for slot, _ in freed]
                stream.synchronize()
                starts = executor.map(send, wave, slots)
                for chunk, slot, start in zip(wave, slots, starts, strict=True):
                    _admit_kernel[grid, THREADS, stream](
                        np.uint32(chunk), self.chunk_bits, np.int32(start - self.firsts[chunk]),
                        self.indptr, batch.counters, places, wanted, pending, lists, counts,
                    )  # fmt: skip
                    residents.append((slot, chunk))
                    # while other chunks are on their way, do about as much work as this one brings:
                    # more would be in vain, for want of those others
                    run(vertices)
                sent += len(wave)
                if not self.run_rounds(batch, counts, kept, run):
                    break
                # cycles of negative length may span several chunks: look, ever more rarely
                if self.negative and sent > allowance:
                    allowance = 2 * sent
                    counters = on_host(batch.counters, stream)
                    unfinished = pending[: batch.rows].copy_to_host().any(axis=1)
                    if self.look(batch, counters, unfinished, kept):
                        break
        self.finish(batch, kept)
