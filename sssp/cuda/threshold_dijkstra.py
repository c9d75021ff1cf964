"""Threshold-batched Dijkstra on the GPU: a thread block a source.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.1 and 4.1, after
A. Crauser, K. Mehlhorn, U. Meyer and P. Sanders, "A parallelization of Dijkstra's shortest path
algorithm" (1998). `sssp.cpu.threshold_dijkstra` explains phases and criteria; this twin runs the
same phases.

On a road network some hundred vertices are open at a time, too few for more than one block, and
a barrier of a block costs a fraction of one of the grid. What a phase takes is a chain of
dependent reads, so the chain is kept short: the `NEAR` lightest arcs of every vertex stand in a
table of their own, found without ``indptr``, and all of them are looked at side by side instead
of one after the other. Only a vertex with more arcs has a pointer, past those. A phase has three
barriers:

A. every open vertex finds its least useful arc; the block reduces the settling threshold;
B. open vertices at or below it are settled: they move to the batch, the others to the next list;
C. the arcs of the batch are relaxed, `NEAR` threads a vertex; a vertex reached for the first
   time joins the next list.

Lists (of vertices; the first `CAPACITY` entries in shared memory) and minima rotate through
three slots, so that a slot can be cleared while nobody looks.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int32, uint32
from numpy.typing import NDArray

from sssp._dtypes import INDEX, unreached
from sssp._orders import arcs_by_weight
from sssp._query import Answer, Query
from sssp.cuda._memory import DeviceGraph
from sssp.cuda._numba import SIMULATOR, bits_of, cuda, kernel
from sssp.cuda._rows import CLIPPED_ROW, Batch, Search, solve_rows
from sssp.graph import Graph
from sssp.methods import ThresholdDijkstra

__all__ = ["solve"]

#: threads of a block for one source, and for many at once
THREADS_ALONE, THREADS = (64, 32) if SIMULATOR else (512, 384)
#: entries of a list in shared memory; what is beyond is in global memory
CAPACITY = 1024
#: lightest arcs of a vertex in the table, and threads that relax its arcs side by side
NEAR = 4
SETTLED = 1
#: words of ``counts``: sizes of the open lists and of the batches, three of each in turn
OPENED, SETTLING = 0, 3
#: what a block notices: a candidate above the bound, and that all targets are settled
CLIPPED, STOP = 0, 1
FULL_WARP = 0xFFFFFFFF

if SIMULATOR:

    @cuda.jit(device=True, inline="always")
    def _reserve(counts, first_slot, wants_first, second_slot, wants_second):
        """Place in one of two lists for every thread that wants one."""
        if wants_first or wants_second:
            return cuda.atomic.add(counts, first_slot if wants_first else second_slot, uint32(1))
        return uint32(0)

    @cuda.jit(device=True, inline="always")
    def _lower(minima, slot, value):
        """Lower a shared minimum to the least value among the threads."""
        cuda.atomic.min(minima, slot, value)

else:

    @cuda.jit(device=True, inline="always")
    def _reserve(counts, first_slot, wants_first, second_slot, wants_second):
        """Place in one of two lists for every thread that wants one.

        One atomic operation a warp: its first lane reserves in one list, its second in the other.
        """
        first_takers = cuda.ballot_sync(FULL_WARP, wants_first)
        second_takers = cuda.ballot_sync(FULL_WARP, wants_second)
        lane = cuda.laneid
        place = int32(0)
        if lane < 2:
            takers = first_takers if lane == 0 else second_takers
            slot = first_slot if lane == 0 else second_slot
            place = int32(cuda.atomic.add(counts, slot, uint32(cuda.popc(takers))))
        first_place = cuda.shfl_sync(FULL_WARP, place, 0)
        second_place = cuda.shfl_sync(FULL_WARP, place, 1)
        before = (1 << lane) - 1
        if wants_first:
            return uint32(first_place + cuda.popc(first_takers & before))
        return uint32(second_place + cuda.popc(second_takers & before))

    @cuda.jit(device=True, inline="always")
    def _lower(minima, slot, value):
        """Lower a shared minimum to the least value among the threads: reduced in each warp."""
        offset = 16
        while offset > 0:
            value = min(value, cuda.shfl_down_sync(FULL_WARP, value, offset))
            offset >>= 1
        if cuda.laneid == 0 and value < minima[slot]:
            cuda.atomic.min(minima, slot, value)


@cuda.jit(device=True, inline="always")
def _entry(shared, spilled, i):
    """Vertex at place `i` of a list."""
    if i < CAPACITY:
        return shared[i]
    return spilled[uint32(i - CAPACITY)]


@cuda.jit(device=True, inline="always")
def _put(shared, spilled, i, vertex):
    if i < CAPACITY:
        shared[i] = vertex
    else:
        spilled[uint32(i - CAPACITY)] = vertex


@cuda.jit(device=True, inline="always")
def _least_useful(
    vertex, near_ends, near_weights, indptr, ends, weights, pointers, settled, hidden, unseen
):
    """Weight of the lightest arc of `vertex` whose other end is not settled, or `unseen`."""
    least = unseen
    # no branch, so that all loads are under way together; padded with weight `unseen`
    for k in range(NEAR):
        least = min(least, max(near_weights[vertex, k], hidden[settled[near_ends[vertex, k]]]))
    if least == unseen and near_weights[vertex, NEAR - 1] != unseen:
        last = indptr[uint32(vertex + 1)]
        pointer = max(pointers[vertex], uint32(indptr[vertex] + NEAR))
        while pointer < last and settled[ends[pointer]] == SETTLED:
            pointer = uint32(pointer + 1)
        pointers[vertex] = pointer
        if pointer < last:
            least = weights[pointer]
    return least


@cache
def _make_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel for a dtype.

    Floats are lowered as integers, for Numba's atomic minimum of a float does not return what
    was there at that moment.
    """
    bits = bits_of(dtype)

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel(max_registers=65536 // THREADS_ALONE)
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
        in_out,
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
        spilled,
    ):
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        row = uint32(cuda.blockIdx.x)
        number = all_distances.dtype.type
        distances, distance_bits = all_distances[row], all_distance_bits[row]
        settled, pointers = all_settled[row], all_pointers[row]
        in_pointers, in_least = all_in_pointers[row], all_in_least[row]
        unseen_bits = bits(unseen)
        lists = cuda.shared.array((2, CAPACITY), uint32)
        batch = cuda.shared.array(CAPACITY, uint32)
        counts = cuda.shared.array(6, uint32)
        thresholds = cuda.shared.array(3, all_distances.dtype)
        leasts = cuda.shared.array(3, all_distances.dtype)
        flags = cuda.shared.array(2, int32)
        # what a weight becomes by the state of the arc's other end: itself, or out of the question
        hidden = cuda.shared.array(2, all_distances.dtype)
        if thread < 3:
            counts[OPENED + thread] = 0
            counts[SETTLING + thread] = 0
            thresholds[thread] = unseen
            leasts[thread] = unseen
            flags[thread % 2] = 0
            hidden[thread % 2] = unseen if thread % 2 == SETTLED else number(0)
        cuda.syncthreads()
        i = uint32(first_sources[row] + thread)
        while i < first_sources[row + 1]:
            source = uint32(sources[i])
            if cuda.atomic.min(distance_bits, source, bits(number(0))) == unseen_bits:
                _put(lists[0], spilled[row, 0], cuda.atomic.add(counts, OPENED, uint32(1)), source)
            i = uint32(i + threads)
        cuda.syncthreads()
        phase, total_settled, most_open, total_open, target = uint32(0), 0, uint32(0), 0, 0
        while True:
            slot, side = uint32(phase % 3), uint32(phase & 1)
            after = uint32((phase + 1) % 3)
            current, spilled_current = lists[side], spilled[row, side]
            following, spilled_following = lists[uint32(side ^ 1)], spilled[row, uint32(side ^ 1)]
            count = counts[uint32(OPENED + slot)]
            if count == 0:
                break
            if thread == 0:
                counts[uint32(OPENED + (phase + 2) % 3)] = 0
                counts[uint32(SETTLING + after)] = 0
                thresholds[after] = unseen
                leasts[after] = unseen

            # A: threshold and least open distance
            threshold, least = unseen, unseen
            i = uint32(thread)
            while i < count:
                vertex = _entry(current, spilled_current, i)
                distance = distances[vertex]
                weight = _least_useful(
                    vertex,
                    near_heads,
                    near_weights,
                    indptr,
                    indices,
                    weights,
                    pointers,
                    settled,
                    hidden,
                    unseen,
                )
                if weight != unseen:
                    # saturated, for an arc may be too long to be useful at all
                    threshold = min(threshold, number(distance + min(weight, bound)))
                least = min(least, distance)
                if in_out:
                    in_least[i] = _least_useful(
                        vertex,
                        near_tails,
                        near_in_weights,
                        in_indptr,
                        in_indices,
                        in_weights,
                        in_pointers,
                        settled,
                        hidden,
                        unseen,
                    )
                i = uint32(i + threads)
            _lower(thresholds, slot, threshold)
            if in_out or targets.size > 0:
                _lower(leasts, slot, least)
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

            # B: settle
            base = uint32(0)
            while base < count:
                i = uint32(base + thread)
                base = uint32(base + threads)
                settles, stays = False, False
                vertex = uint32(0)
                if i < count:
                    vertex = _entry(current, spilled_current, i)
                    distance = distances[vertex]
                    settles = distance <= threshold
                    if in_out and not settles:
                        weight = in_least[i]
                        settles = weight == unseen or distance <= number(least + min(weight, bound))
                    stays = not settles
                place = _reserve(
                    counts, uint32(SETTLING + slot), settles, uint32(OPENED + after), stays
                )
                if settles:
                    settled[vertex] = SETTLED
                    _put(batch, spilled[row, 2], place, vertex)
                if stays:
                    _put(following, spilled_following, place, vertex)
            cuda.syncthreads()

            # C: relax
            batch_size = counts[uint32(SETTLING + slot)]
            lane = uint32(thread % NEAR)
            i = uint32(thread // NEAR)
            while i < batch_size:
                tail = _entry(batch, spilled[row, 2], i)
                start = distances[tail]
                head, weight = near_heads[tail, lane], near_weights[tail, lane]
                arc, last = uint32(0), uint32(0)
                if near_weights[tail, NEAR - 1] != unseen:
                    arc, last = uint32(indptr[tail] + NEAR + lane), indptr[uint32(tail + 1)]
                while weight != unseen:
                    candidate = number(start + weight)
                    if candidate > bound:
                        if distances[head] == unseen:
                            flags[CLIPPED] = 1
                    elif cuda.atomic.min(distance_bits, head, bits(candidate)) == unseen_bits:
                        place = cuda.atomic.add(counts, uint32(OPENED + after), uint32(1))
                        _put(following, spilled_following, place, head)
                    weight = unseen
                    if arc < last:
                        head, weight = indices[arc], weights[arc]
                        arc = uint32(arc + NEAR)
                i = uint32(i + threads // NEAR)
            phase = uint32(phase + 1)
            total_settled += batch_size
            most_open = max(most_open, count)
            total_open += count
            cuda.syncthreads()
        if thread == 0:
            counters[row, 0], counters[row, 1] = phase, total_settled
            counters[row, 2], counters[row, 3] = most_open, total_open
            counters[row, CLIPPED_ROW] = flags[CLIPPED]

    return _threshold_dijkstra_kernel


def _near_arcs(graph: Graph, dtype: np.dtype[Any], reverse: bool) -> tuple[NDArray[Any], ...]:
    """Table of the `NEAR` lightest arcs of every vertex: other ends and weights, (n, NEAR)."""
    indptr, ends, weights = arcs_by_weight(graph, dtype, reverse=reverse)
    arcs = indptr[:-1, np.newaxis] + np.arange(NEAR)
    missing = arcs >= indptr[1:, np.newaxis]
    arcs[missing] = 0
    vertices = np.arange(graph.n, dtype=INDEX)[:, np.newaxis]
    if graph.m == 0:  # then all are missing, and no arc stands at 0
        return np.broadcast_to(vertices, arcs.shape), np.full(arcs.shape, unreached(dtype), dtype)
    near_weights = np.where(missing, unreached(dtype), weights[arcs]).astype(dtype)
    return np.where(missing, vertices, ends[arcs]), near_weights


class _ThresholdSearch(Search):
    """The kernel with its arcs and scratch."""

    counters = ("phases", "settled", "largest_open", "open")

    def __init__(
        self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any], *, in_out: bool
    ) -> None:
        self.n, self.dtype, self.in_out = graph.n, dtype, in_out
        self.out_arcs = self._arcs(graph, on_device, reverse=False)
        # unused without the IN test: then any arcs will do
        self.in_arcs = self._arcs(graph, on_device, reverse=True) if in_out else self.out_arcs

    def _arcs(self, graph: Graph, on_device: DeviceGraph, *, reverse: bool) -> tuple[Any, ...]:
        side = "reverse " if reverse else ""

        def near(part: int) -> Any:
            name = f"{side}near {('ends', 'weights')[part]}, {self.dtype}"
            return on_device.array(name, lambda: _near_arcs(graph, self.dtype, reverse)[part])

        indptr, ends, weights = on_device.arcs_by_weight(graph, self.dtype, reverse=reverse)
        return (
            indptr.view(np.uint32),
            ends.view(np.uint32),
            weights,
            near(0).view(np.uint32),
            near(1),
        )

    @property
    def row_bytes(self) -> int:
        """Scratch of one row."""
        pointers = INDEX.itemsize * (2 if self.in_out else 1)
        in_least = self.dtype.itemsize if self.in_out else 0
        return self.n * (1 + pointers + in_least + 3 * INDEX.itemsize)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Scratch of a batch: settled flags, pointers, lightest arcs in, lists and batch."""
        n_in = self.n if self.in_out else 1
        return (
            cuda.device_array((rows, self.n), np.uint8),
            cuda.device_array((rows, self.n), INDEX),
            cuda.device_array((rows, n_in), INDEX),
            cuda.device_array((rows, n_in), self.dtype),
            cuda.device_array((rows, 3, self.n), INDEX),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Run a batch of sources, one block each."""
        settled, pointers, in_pointers, in_least, lists = scratch
        for array in (settled, pointers, in_pointers):
            batch.fill(array, 0)
        threads = THREADS_ALONE if batch.rows == 1 else THREADS
        _make_kernel(self.dtype)[batch.rows, threads, batch.stream](
            *self.out_arcs,
            *self.in_arcs,
            self.in_out,
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
            lists.view(np.uint32),
        )


def solve(graph: Graph, query: Query, method: ThresholdDijkstra) -> Answer:
    """Answer `query` phase by phase, a thread block a source.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : ThresholdDijkstra

    Returns
    -------
    Answer
        Its statistics are those of `sssp.cpu.threshold_dijkstra`.
    """
    in_out = method.criterion == "in-out"
    return solve_rows(
        graph,
        query,
        lambda on_device, dtype: _ThresholdSearch(graph, on_device, dtype, in_out=in_out),
    )
