"""Threshold-batched Dijkstra on the GPU: a thread block a source.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.1 and 4.1, after
A. Crauser, K. Mehlhorn, U. Meyer and P. Sanders, "A parallelization of Dijkstra's shortest path
algorithm" (1998). `sssp.cpu.search.threshold_dijkstra` explains phases and criteria; this twin runs
the same phases.

On a road network some hundred vertices are open at a time, too few for more than one block, and
a barrier of a block costs a fraction of one of the grid. What a phase takes is a chain of
dependent reads, and what many sources take is the number of scattered ones, so both are kept
small. Every thread owns some of the open vertices for as long as they are open. The `NEAR`
lightest arcs of an open vertex wait in shared memory, where an arc is struck out once its head is
settled; only a vertex with more arcs has a pointer, past those. A phase has two barriers:

A. a thread takes over vertices that were reached in the phase before, if it has room; of each
   vertex it owns it finds the least useful arc; the block reduces the settling threshold;
B. of the open vertices at or below it a thread settles and relaxes its own; a vertex reached for
   the first time joins the arrivals. The arcs beyond the near ones of all vertices just settled
   are relaxed after one more barrier, `LANES` threads a vertex.

Distances that fall during B do not count before the next phase: what B compares is what A read.
Counts and minima rotate through three slots, so that a slot can be cleared while nobody looks.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int32, uint32
from numpy.typing import NDArray

from sssp.cuda.batch import CLIPPED_ROW, Batch, Search
from sssp.cuda.compiler import SIMULATOR, bits_of, cuda, inline, kernel
from sssp.cuda.device.anchor import anchored, anchored_shared
from sssp.cuda.device.warp import WARP, ballot, lower_of, meet, rank, reserve
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.rows import solve_rows
from sssp.engine.query import Answer, Query
from sssp.graph.arc_orders import arcs_by_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.methods import ThresholdDijkstra

__all__ = ["solve"]

#: threads of a block for one source, and for many at once: an odd number of warps, so that what
#: is dealt to them in turn lies in different banks of shared memory
THREADS_ALONE, THREADS = (64, 32) if SIMULATOR else (736, 352)
#: by bytes of a number: without spills, and with 4 bytes four blocks fit on a multiprocessor
MAX_REGISTERS = {4: 40, 8: 48}
#: bytes of each near arc of all open vertices in shared memory; what is beyond is in global memory
CAPACITY_BYTES = 256 if SIMULATOR else 3072
#: places for arrivals in shared memory
ARRIVALS = 32 if SIMULATOR else 512
#: and for vertices with more arcs than the near ones
LONGS = 2 if SIMULATOR else 64
#: lightest arcs of a vertex in the table
NEAR = 4
#: bit of the last near arc's end that says that the vertex has more arcs
MORE = np.uint32(1 << 31)
VERTEX = np.uint32(MORE - 1)
#: threads that relax the other arcs of a vertex side by side
LANES = 32
SETTLED = 1
#: words of ``counts``, three in turn of each: arrivals, those taken over, vertices settled, and
#: those of them with more arcs than the near ones
ARRIVED, TAKEN, GONE, LONG = 0, 3, 6, 9
#: what a block notices: a candidate above the bound, and that all targets are settled
CLIPPED, STOP = 0, 1


@inline
def _entry(shared, spilled, i):
    """Entry `i` of a list that begins in shared memory and goes on in global memory."""
    if i < uint32(shared.size):
        return shared[i]
    return spilled[uint32(i - uint32(shared.size))]


@inline
def _put(shared, spilled, i, entry):
    if i < uint32(shared.size):
        shared[i] = entry
    else:
        spilled[uint32(i - uint32(shared.size))] = entry


@inline
def _least_near(vertex, near_ends, near_weights, settled, hidden, unseen):
    """Weight of the lightest near arc of `vertex` whose other end is not settled, by the table."""
    least = unseen
    # no branch, so that all loads are under way together; padded with weight `unseen`
    for k in range(NEAR):
        end = near_ends[vertex, k] & VERTEX
        least = min(least, max(near_weights[vertex, k], hidden[settled[end]]))
    return least


@inline
def _least_far(vertex, indptr, ends, weights, pointers, settled, unseen):
    """Weight of the lightest arc beyond the near ones whose other end is not settled."""
    last = indptr[uint32(vertex + 1)]
    pointer = max(pointers[vertex], uint32(indptr[vertex] + NEAR))
    while pointer < last and settled[ends[pointer]] == SETTLED:
        pointer = uint32(pointer + 1)
    pointers[vertex] = pointer
    return weights[pointer] if pointer < last else unseen


@cache
def _make_kernel(dtype: np.dtype[Any], *, in_out: bool) -> Any:
    """Return the kernel for a dtype and criterion.

    Floats are lowered as integers, for Numba's atomic minimum of a float does not return what
    was there at that moment.
    """
    bits = bits_of(dtype)
    lower = lower_of(dtype)
    capacity = CAPACITY_BYTES // dtype.itemsize

    @inline
    def reaches(head, candidate, bound, unseen, distances, distance_bits, flags):
        """Relax an arc; return whether its head was reached for the first time."""
        if candidate <= bound:
            return cuda.atomic.min(distance_bits, head, bits(candidate)) == bits(unseen)
        if distances[head] == unseen:
            flags[CLIPPED] = 1
        return False

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel(max_registers=MAX_REGISTERS[dtype.itemsize])
    def _threshold_dijkstra_kernel(
        indptr,
        indices,
        weights,
        near_heads,
        near_weights,
        in_indptr,
        in_indices,
        in_weights,
        near_tails,
        near_in_weights,
        sources,
        first_sources,
        targets,
        bound,
        unseen,
        all_distances,
        all_distance_bits,
        counters,
        all_settled,
        all_pointers,
        all_in_pointers,
        all_in_least,
        all_seen,
        spilled,
    ):
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        row = uint32(cuda.blockIdx.x)
        number = all_distances.dtype.type
        distances, settled = anchored(all_distances[row]), anchored(all_settled[row])
        distance_bits, pointers = anchored(all_distance_bits[row]), all_pointers[row]
        in_pointers, in_least, spilled_seen = all_in_pointers[row], all_in_least[row], all_seen[row]
        spilled_vertices, spilled_arrivals = spilled[row, 0], spilled[row, 1]
        spilled_long = spilled[row, 2]
        unseen_bits = bits(unseen)
        # of the open vertices, thread by thread: vertex, distance seen in A, near arcs
        vertices = anchored_shared(cuda.shared.array(capacity, uint32))
        seen = anchored_shared(cuda.shared.array(capacity, all_distances.dtype))
        heads = anchored_shared(cuda.shared.array((NEAR, capacity), uint32))
        lightest = anchored_shared(cuda.shared.array((NEAR, capacity), all_distances.dtype))
        arrivals = anchored_shared(cuda.shared.array(ARRIVALS, uint32))
        long = anchored_shared(cuda.shared.array(LONGS, uint32))
        counts = anchored_shared(cuda.shared.array(12, uint32))
        thresholds = anchored_shared(cuda.shared.array(3, all_distances.dtype))
        leasts = anchored_shared(cuda.shared.array(3, all_distances.dtype))
        flags = anchored_shared(cuda.shared.array(2, int32))
        # what a weight becomes by the state of the arc's other end: itself, or out of the question
        hidden = anchored_shared(cuda.shared.array(2, all_distances.dtype))
        # entries that the warp is settling
        settling = anchored_shared(cuda.shared.array(THREADS_ALONE, uint32))
        states = cuda.local.array(NEAR, int32)
        lane = uint32(thread % WARP)
        warp = uint32(thread - lane)
        # places are dealt to the warps in turn, for neighbours in the list settle together
        first_place = uint32(lane * uint32(threads // WARP) + thread // WARP)
        if thread < 3:
            counts[ARRIVED + thread] = 0
            counts[TAKEN + thread] = 0
            counts[GONE + thread] = 0
            counts[LONG + thread] = 0
            thresholds[thread] = unseen
            leasts[thread] = unseen
            flags[thread % 2] = 0
            hidden[thread % 2] = unseen if thread % 2 == SETTLED else number(0)
        cuda.syncthreads()
        i = uint32(first_sources[row] + thread)
        while i < first_sources[row + 1]:
            source = uint32(sources[i])
            if cuda.atomic.min(distance_bits, source, bits(number(0))) == unseen_bits:
                place = cuda.atomic.add(counts, ARRIVED, uint32(1))
                _put(arrivals, spilled_arrivals, place, source)
            i = uint32(i + threads)
        cuda.syncthreads()
        # entries of this thread stand at its first place, that + threads, ... up to end
        end, count = first_place, uint32(0)
        phase, total_settled, most_open, total_open, target = uint32(0), 0, uint32(0), 0, 0
        slot, after, before = uint32(0), uint32(1), uint32(2)
        while True:
            arrived, gone = counts[uint32(ARRIVED + slot)], counts[uint32(GONE + slot)]
            total_settled += gone
            count = uint32(count + arrived - gone)
            if count == 0:
                break
            # the last thread, which seldom owns a vertex
            if thread == threads - 1:
                counts[uint32(ARRIVED + before)] = 0
                counts[uint32(TAKEN + before)] = 0
                counts[uint32(GONE + before)] = 0
                counts[uint32(LONG + before)] = 0
                thresholds[after] = unseen
                leasts[after] = unseen

            # A: take over arrivals; threshold and least open distance
            asking = ballot(end < count)
            while asking:
                place = reserve(counts, uint32(TAKEN + slot), asking, lane)
                takes = end < count and place < arrived
                if takes:
                    vertex = _entry(arrivals, spilled_arrivals, place)
                    _put(vertices, spilled_vertices, end, vertex)
                    if end < capacity:
                        for k in range(NEAR):
                            heads[k, end] = near_heads[vertex, k]
                            lightest[k, end] = near_weights[vertex, k]
                    end = uint32(end + threads)
                asking = ballot(takes and end < count)
            threshold, least = unseen, unseen
            i = first_place
            while i < end:
                vertex = _entry(vertices, spilled_vertices, i)
                distance = distances[vertex]
                useful = unseen
                # first all loads, so that they are under way together
                if i < capacity:
                    for k in range(NEAR):
                        states[k] = SETTLED
                        if lightest[k, i] != unseen:
                            states[k] = settled[heads[k, i] & VERTEX]
                    for k in range(NEAR):
                        if states[k] == SETTLED:
                            lightest[k, i] = unseen
                        else:
                            useful = min(useful, lightest[k, i])
                    more = heads[NEAR - 1, i] & MORE
                else:
                    useful = _least_near(vertex, near_heads, near_weights, settled, hidden, unseen)
                    more = near_heads[vertex, NEAR - 1] & MORE
                if useful == unseen and more:
                    useful = _least_far(vertex, indptr, indices, weights, pointers, settled, unseen)
                _put(seen, spilled_seen, i, distance)
                if useful != unseen:
                    # saturated, for an arc may be too long to be useful at all
                    threshold = min(threshold, number(distance + min(useful, bound)))
                least = min(least, distance)
                if in_out:
                    useful = _least_near(
                        vertex, near_tails, near_in_weights, settled, hidden, unseen
                    )
                    if useful == unseen and near_tails[vertex, NEAR - 1] & MORE:
                        useful = _least_far(
                            vertex, in_indptr, in_indices, in_weights, in_pointers, settled, unseen
                        )
                    in_least[i] = useful
                i = uint32(i + threads)
            lower(thresholds, slot, threshold)
            if in_out or targets.size > 0:
                lower(leasts, slot, least)
            cuda.syncthreads()
            threshold, least = thresholds[slot], leasts[slot]
            if targets.size > 0:
                # only once all lie below the least open distance: ties of the last are final too
                if thread == 0:
                    while target < targets.size and distances[targets[target]] < least:
                        target += 1
                    if target == targets.size:
                        flags[STOP] = 1
                cuda.syncthreads()
                if flags[STOP] != 0:
                    break

            phase = uint32(phase + 1)
            most_open = max(most_open, count)
            total_open += count

            # B: settle and relax; entries that stay close ranks
            i, kept = first_place, first_place
            while ballot(i < end):
                settles = False
                if i < end:
                    vertex = _entry(vertices, spilled_vertices, i)
                    distance = _entry(seen, spilled_seen, i)
                    settles = distance <= threshold
                    if in_out and not settles:
                        weight = in_least[i]
                        settles = weight == unseen or distance <= number(least + min(weight, bound))
                    if settles:
                        settled[vertex] = SETTLED
                    else:
                        if i != kept:
                            _put(vertices, spilled_vertices, kept, vertex)
                            if kept < capacity:
                                for k in range(NEAR):
                                    if i < capacity:
                                        heads[k, kept] = heads[k, i]
                                        lightest[k, kept] = lightest[k, i]
                                    else:
                                        heads[k, kept] = near_heads[vertex, k]
                                        lightest[k, kept] = near_weights[vertex, k]
                        kept = uint32(kept + threads)
                leaving = ballot(settles)
                if leaving:
                    if settles:
                        settling[uint32(warp + rank(leaving, lane))] = i
                    leavers = uint32(cuda.popc(leaving))
                    if lane == 0:
                        cuda.atomic.add(counts, uint32(GONE + after), leavers)
                    meet()
                    first = uint32(0)
                    while first < leavers * NEAR:
                        arc, head, arrives = uint32(first + lane), uint32(0), False
                        if arc < leavers * NEAR:
                            entry, k = settling[uint32(warp + arc // NEAR)], uint32(arc % NEAR)
                            tail = _entry(vertices, spilled_vertices, entry)
                            start = _entry(seen, spilled_seen, entry)
                            if entry < capacity:
                                head, weight = heads[k, entry], lightest[k, entry]
                            else:
                                head, weight = near_heads[tail, k], near_weights[tail, k]
                            if k == NEAR - 1 and head & MORE:
                                place = cuda.atomic.add(counts, uint32(LONG + after), uint32(1))
                                _put(long, spilled_long, place, tail)
                            head = uint32(head & VERTEX)
                            if weight != unseen:
                                candidate = number(start + weight)
                                arrives = reaches(
                                    head, candidate, bound, unseen, distances, distance_bits, flags
                                )
                        arriving = ballot(arrives)
                        if arriving:
                            place = reserve(counts, uint32(ARRIVED + after), arriving, lane)
                            if arrives:
                                _put(arrivals, spilled_arrivals, place, head)
                        first = uint32(first + WARP)
                    meet()
                i = uint32(i + threads)
            end = kept
            cuda.syncthreads()
            long_count = counts[uint32(LONG + after)]
            if long_count > 0:
                i = uint32(thread // LANES)
                while i < long_count:
                    tail = _entry(long, spilled_long, i)
                    start = distances[tail]
                    arc, last = uint32(indptr[tail] + NEAR), indptr[uint32(tail + 1)]
                    arc = uint32(arc + thread % LANES)
                    while arc < last:
                        head, candidate = indices[arc], number(start + weights[arc])
                        if reaches(head, candidate, bound, unseen, distances, distance_bits, flags):
                            place = cuda.atomic.add(counts, uint32(ARRIVED + after), uint32(1))
                            _put(arrivals, spilled_arrivals, place, head)
                        arc = uint32(arc + LANES)
                    i = uint32(i + threads // LANES)
                cuda.syncthreads()
            slot, after, before = after, before, slot
        if thread == 0:
            counters[row, 0], counters[row, 1] = phase, total_settled
            counters[row, 2], counters[row, 3] = most_open, total_open
            counters[row, CLIPPED_ROW] = flags[CLIPPED]

    return _threshold_dijkstra_kernel


def _near_arcs(graph: Graph, dtype: np.dtype[Any], reverse: bool) -> tuple[NDArray[Any], ...]:
    """Table of the `NEAR` lightest arcs of every vertex: other ends and weights, (n, NEAR).

    The last end has the bit `MORE` if the vertex has more arcs.
    """
    indptr, ends, weights = arcs_by_weight(graph, dtype, reverse=reverse)
    arcs = indptr[:-1, np.newaxis] + np.arange(NEAR)
    missing = arcs >= indptr[1:, np.newaxis]
    arcs[missing] = 0
    vertices = np.arange(graph.n, dtype=INDEX)[:, np.newaxis]
    if graph.m == 0:  # then all are missing, and no arc stands at 0
        ends = np.broadcast_to(vertices, arcs.shape).astype(np.uint32)
        return ends, np.full(arcs.shape, unreached(dtype), dtype)
    near_weights = np.where(missing, unreached(dtype), weights[arcs]).astype(dtype)
    near_ends = np.where(missing, vertices, ends[arcs]).astype(np.uint32)
    near_ends[np.diff(indptr) > NEAR, NEAR - 1] |= MORE
    return near_ends, near_weights


class _ThresholdSearch(Search):
    """The kernel with its arcs and scratch."""

    def __init__(
        self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any], *, in_out: bool
    ) -> None:
        self.n, self.dtype, self.in_out = graph.n, dtype, in_out
        self.out_arcs = self._arcs(graph, on_device, reverse=False)
        # unused without the IN test: then any arcs will do
        self.in_arcs = self._arcs(graph, on_device, reverse=True) if in_out else self.out_arcs

    def _arcs(self, graph: Graph, on_device: DeviceGraph, *, reverse: bool) -> tuple[Any, ...]:
        side = "reverse " if reverse else ""

        @cache
        def table() -> tuple[NDArray[Any], ...]:
            return _near_arcs(graph, self.dtype, reverse)

        indptr, ends, weights = on_device.arcs_by_weight(graph, self.dtype, reverse=reverse)
        return (
            indptr.view(np.uint32),
            ends.view(np.uint32),
            weights,
            on_device.array(f"{side}near ends, {self.dtype}", lambda: table()[0]),
            on_device.array(f"{side}near weights, {self.dtype}", lambda: table()[1]),
        )

    @property
    def row_bytes(self) -> int:
        """Scratch of one row."""
        pointers = INDEX.itemsize * (2 if self.in_out else 1)
        numbers = self.dtype.itemsize * (2 if self.in_out else 1)
        return self.n * (1 + pointers) + self._entries * (numbers + 3 * INDEX.itemsize)

    @property
    def _entries(self) -> int:
        """Places for the open vertices, for threads own one more or less."""
        return self.n + THREADS_ALONE

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Scratch: settled flags, pointers, lightest arcs in, distances seen, lists."""
        n_in, entries_in = (self.n, self._entries) if self.in_out else (1, 1)
        return (
            cuda.device_array((rows, self.n), np.uint8),
            cuda.device_array((rows, self.n), INDEX),
            cuda.device_array((rows, n_in), INDEX),
            cuda.device_array((rows, entries_in), self.dtype),
            cuda.device_array((rows, self._entries), self.dtype),
            cuda.device_array((rows, 3, self._entries), np.uint32),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Run a batch of sources, one block each."""
        settled, pointers, in_pointers, in_least, seen, lists = scratch
        for array in (settled, pointers, in_pointers):
            batch.fill(array, 0)
        threads = THREADS_ALONE if batch.rows == 1 else THREADS
        _make_kernel(self.dtype, in_out=self.in_out)[batch.rows, threads, batch.stream](
            *self.out_arcs,
            *self.in_arcs,
            batch.sources,
            batch.first_sources,
            batch.targets,
            batch.bound,
            batch.unseen,
            batch.distances,
            batch.distances.view(np.dtype(f"i{self.dtype.itemsize}")),
            batch.counters,
            settled,
            pointers.view(np.uint32),
            in_pointers.view(np.uint32),
            in_least,
            seen,
            lists,
        )


def solve(
    graph: Graph, query: Query, method: ThresholdDijkstra, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `query` phase by phase, a thread block a source.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : ThresholdDijkstra
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    in_out = method.criterion == "in-out"
    return solve_rows(
        graph,
        query,
        method,
        dtype,
        lambda on_device: _ThresholdSearch(graph, on_device, dtype, in_out=in_out),
    )
