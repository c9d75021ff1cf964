"""Delta-stepping on the GPU, with a near and a far pile.

A. Davidson, S. Baxter, M. Garland and J. Owens, "Work-efficient parallel GPU methods for
single-source shortest paths" (2014): vertices up to a threshold stand in the near pile and are
expanded hop by hop until it is empty; then the threshold rises, and the far pile gives up what
lies below it. `sssp.cpu.search.delta_stepping` is the serial twin.

On a road network some hundred vertices are near, and a hop is a chain of dependent reads, so
both the chain and the barriers are kept short:

- The near pile of a block is in its shared memory. Blocks that work on one source together meet
  once a phase (a rise of the threshold), not once a hop: each expands its part of the far pile
  and all that follows from it on its own, as fused buckets do on the CPU (Y. Zhang et al.,
  "Optimizing ordered graph algorithms with GraphIt", 2020). Only when a block has more than its
  pile holds, it puts all into a common pile, and the blocks meet at once to share it.
- A distance and whether its vertex stands in the near pile are one word, so that one atomic
  minimum lowers the distance and tells whether the vertex must be queued. In the far pile stands
  who was first reached beyond the threshold, so that pile needs no mark.
- `LANES` threads expand a vertex, each with one of its first arcs, which stand in a table of
  their own, found without ``indptr``.

No vertex is in a pile twice, so piles of n vertices are large enough for any graph.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64
from numpy.typing import NDArray

from sssp.cuda.batch import CLIPPED_ROW, Batch, Search
from sssp.cuda.compiler import SIMULATOR, bits_of, cuda, inline, kernel
from sssp.cuda.device.anchor import anchored, anchored_shared
from sssp.cuda.device.bits import number_of_bits
from sssp.cuda.device.grid import barrier_of, blocks_at_once
from sssp.cuda.device.warp import ballot, from_lane
from sssp.cuda.memory import DeviceGraph
from sssp.cuda.rows import solve_rows
from sssp.engine.query import Answer, Query
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.methods import DeltaStepping

__all__ = ["solve"]

#: threads of a block that works on one source with others
THREADS_TOGETHER = 32 if SIMULATOR else 512
#: threads of a block that has a source to itself: the fewer, the more blocks there are
FEWEST_THREADS, MOST_THREADS = (32, 32) if SIMULATOR else (128, 1024)
#: threads that a multiprocessor is given; half of them run at once
THREADS_A_MULTIPROCESSOR = 2048
#: vertices for each of the blocks that work on one source together
VERTICES_A_BLOCK = 2048
#: up to so many sources, and one more for so many vertices, are searched one after the other,
#: each by many blocks
FEW_SOURCES, VERTICES_A_SOURCE = 2, 2_000_000
#: default delta, for blocks that work together and for one alone: that many median weights,
#: divided by the arcs of a vertex (Davidson et al.)
WIDTH_TOGETHER, WIDTH = 80.0, 22.0
#: entries of a block's near pile, and of its far pile before it goes to the common one
NEAR_CAPACITY, FAR_CAPACITY = 1024, 1024
#: threads that expand a vertex, and arcs of it in the table
LANES = 4
LANE_BITS = 2
WARP_BITS = 5
#: registers of a thread, for blocks that work together and for one alone
REGISTERS_TOGETHER, REGISTERS = 128, 64
#: arcs beyond the table from which on a whole warp relaxes them
HEAVY = 32
#: parts of a head in the table: whether its tail has more arcs than the table holds; the vertex
MORE, VERTEX = 0x80000000, 0x7FFFFFFF
#: words of ``counts``: sizes of the near piles, three in turn, and of the far pile
NEAR, FAR = 0, 3
#: words of ``common``: sizes of the near and the far pile, three of each in turn; whether a
#: candidate was above the bound
COMMON_NEAR, COMMON_FAR, BEYOND, COMMON_WORDS = 0, 3, 6, 8
#: words of the counters
EXPANDED, PHASES, ROUNDS, HOPS = 0, 1, 2, 3
UNSIGNED = {4: uint32, 8: uint64}

# arrays and places that belong together travel as tuples, which the compiler takes apart


@inline
def _push_near(vertex, near, tallies):
    """Put `vertex` into the near pile of the block, or into the common one if that is full."""
    pile, size, common_pile, common_size = near
    counts, common_counts = tallies
    place = cuda.atomic.add(counts, size, uint32(1))
    if place < NEAR_CAPACITY:
        pile[place] = vertex
    else:
        common_pile[cuda.atomic.add(common_counts, common_size, uint32(1))] = vertex


@inline
def _push_far(vertex, far, tallies):
    """Put `vertex` into the far pile of the block, or into the common one if that is full."""
    pile, common_pile, common_size = far
    counts, common_counts = tallies
    place = cuda.atomic.add(counts, FAR, uint32(1))
    if place < FAR_CAPACITY:
        pile[place] = vertex
    else:
        common_pile[cuda.atomic.add(common_counts, common_size, uint32(1))] = vertex


def _word_functions(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return device functions: the word of a number and a queued flag, and the number of a word.

    Words are unsigned, order like the numbers, and hold the flag in the lowest bit: distances
    leave one bit free. In the word of an unreached vertex all bits are set but, of an integer
    dtype, the highest: then it has the same bits as what stands for an unreached distance.
    """
    bits, number = bits_of(dtype), number_of_bits(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}").type if SIMULATOR else UNSIGNED[dtype.itemsize]

    @inline
    def word_of(value, queued):
        return unsigned((unsigned(bits(value)) << unsigned(1)) | unsigned(queued))

    @inline
    def number_of(word):
        return number(unsigned(word >> unsigned(1)))

    return word_of, number_of


def _unreached_word(dtype: np.dtype[Any]) -> Any:
    unsigned = np.dtype(f"u{dtype.itemsize}").type
    return unsigned(unreached(dtype) if dtype.kind == "i" else np.iinfo(unsigned).max)


def _arc_function(dtype: np.dtype[Any]) -> Any:
    """Return a device function: head and weight of an arc in the table of first arcs.

    An arc is one word where both fit 64 bits, else two.
    """
    number = number_of_bits(dtype)
    if dtype.itemsize == 4:

        def arc_of(table, vertex, lane):
            arc = table[uint64(vertex) * uint64(LANES) + uint64(lane)]
            return uint32(arc & uint64(0xFFFFFFFF)), number(uint32(arc >> uint64(32)))

    else:

        def arc_of(table, vertex, lane):
            first = (uint64(vertex) * uint64(LANES) + uint64(lane)) * uint64(2)
            return uint32(table[first]), number(table[first + uint64(1)])

    return inline(arc_of)


@cache
def _make_kernel(dtype: np.dtype[Any], *, together: bool, barrier: Any = None) -> Any:
    """Return the kernel for a dtype.

    Parameters
    ----------
    dtype : dtype
    together : bool
        Whether all blocks work on one row, or each on a row of its own.
    barrier : device function, optional
        In place of the one that `together` asks for: the type check cannot have a grid's.
    """
    meet = barrier or barrier_of(together=together)
    word_of, number_of = _word_functions(dtype)
    arc_of = _arc_function(dtype)
    zero, unseen = dtype.type(0), unreached(dtype)
    nothing = _unreached_word(dtype)
    one = type(nothing)(1)
    popped = ~one
    unseen_bits = np.array(unseen, dtype).view(nothing.dtype)[()]

    @inline
    def relax(head, candidate, limits, words, near, far, tallies, least):
        """Relax an arc; gives the lesser of `least` and the distance of a vertex in a far pile."""
        threshold, bound, overflows = limits
        if candidate > bound:
            if overflows and words[head] == nothing:
                tallies[1][BEYOND] = 1
            return least
        is_near = candidate <= threshold
        word = word_of(candidate, is_near)
        before = cuda.atomic.min(words, head, word)
        if before <= word:
            return least
        if is_near:
            if before == nothing or before & one == 0:
                _push_near(head, near, tallies)
            return least
        if before == nothing:
            _push_far(head, far, tallies)
        return min(least, candidate)

    @inline
    def take(i, lane, size, pile, common, words, table):
        """Take place `i` of the near vertices out of its pile.

        Gives whether there is one, the vertex, its arc for this lane, and, to the first lane, its
        word.
        """
        shared, common_pile, block, blocks = common
        vertex, head, weight, word = uint32(0), uint32(0), zero, nothing
        active = i < size
        if active:
            if shared > 0:
                vertex = common_pile[uint32(i * blocks + block)]
            else:
                vertex = pile[i]
            head, weight = arc_of(table, vertex, lane)
            if SIMULATOR or lane == 0:
                word = cuda.atomic.and_(words, vertex, popped)
        return active, vertex, head, weight, word

    @inline
    def finish(words, vertex, word):
        """Turn a word into a distance."""
        if word != nothing:
            words[vertex] = word >> one
        elif nothing != unseen_bits:
            words[vertex] = unseen_bits

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel(max_registers=REGISTERS_TOGETHER if together else REGISTERS)
    def _delta_stepping_kernel(
        indptr,
        indices,
        weights,
        table,
        sources,
        first_sources,
        targets,
        bound,
        width,
        overflows,
        first_row,
        all_words,
        all_common_near,
        all_common_far,
        all_common_counts,
        all_common_least,
        counters,
    ):
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        row, block, blocks = uint32(cuda.blockIdx.x), uint32(0), uint32(1)
        if together:
            row, block, blocks = uint32(first_row), uint32(cuda.blockIdx.x), uint32(cuda.gridDim.x)
        number = weights.dtype.type
        words = anchored(all_words[row])
        common_counts, common_least = all_common_counts[row], all_common_least[row]
        if not together:
            # nobody else needs them
            common_counts = cuda.shared.array(COMMON_WORDS, uint32)
            common_least = cuda.shared.array(3, all_words.dtype)
        near_piles = anchored_shared(cuda.shared.array((2, NEAR_CAPACITY), uint32))
        far_pile = anchored_shared(cuda.shared.array(FAR_CAPACITY, uint32))
        counts = anchored_shared(cuda.shared.array(4, uint32))
        tallies = (counts, common_counts)
        # where the piles of the block go in the common ones
        places = anchored_shared(cuda.shared.array(2, uint32))
        least_far = anchored_shared(cuda.shared.array(1, all_words.dtype))
        if block == 0 and thread < COMMON_WORDS:
            common_counts[thread] = 0
        if block == 0 and thread < 3:
            common_least[thread] = nothing
        if thread < 4:
            counts[thread] = 0
        if thread == 0:
            least_far[0] = nothing
        meet()
        lane, group = uint32(thread & (LANES - 1)), uint32(thread >> LANE_BITS)
        leader = int32(thread & (32 - LANES))
        groups = uint32(threads >> LANE_BITS)
        warp_group = uint32((thread >> WARP_BITS) << (WARP_BITS - LANE_BITS))
        hop, rounds, phase, target = uint32(0), uint32(0), uint32(0), 0
        expanded, shared = 0, uint32(0)
        # sizes of the near pile that is expanded, of the next, and of the one before
        size_slot, next_slot, old_slot = uint32(NEAR), uint32(NEAR + 1), uint32(NEAR + 2)
        threshold = min(width, bound)
        # of what this thread has put into far piles
        least = number(unseen)
        i = uint32(first_sources[row] + block * threads + thread)
        while i < first_sources[row + 1]:
            source = uint32(sources[i])
            if cuda.atomic.min(words, source, word_of(zero, True)) == nothing:
                common_near = all_common_near[row, 1]
                near = (near_piles[0], size_slot, common_near, uint32(COMMON_NEAR + 1))
                _push_near(source, near, tallies)
            i = uint32(i + blocks * threads)
        while True:
            # a round: this block's part of the near vertices and what follows from them
            current_near = all_common_near[row, uint32(rounds & 1)]
            common_near = all_common_near[row, uint32((rounds + 1) & 1)]
            common_near_size = uint32(COMMON_NEAR + (rounds + 1) % 3)
            common_far = all_common_far[row, uint32((phase + 1) & 1)]
            common_far_size = uint32(COMMON_FAR + (phase + 1) % 3)
            far = (far_pile, common_far, common_far_size)
            limits = (threshold, bound, overflows)
            cuda.syncthreads()
            while True:
                size = counts[size_slot]
                if shared > 0:
                    size = uint32((shared + blocks - 1 - block) // blocks)
                elif size == 0 or size > NEAR_CAPACITY:
                    break
                if thread == 0:
                    counts[old_slot] = 0
                hop_side = uint32(hop & 1)
                pile, next_pile = near_piles[hop_side], near_piles[uint32(hop_side ^ 1)]
                common = (shared, current_near, block, blocks)
                near = (next_pile, next_slot, common_near, common_near_size)
                i = group
                active, vertex, head, weight, word = take(i, lane, size, pile, common, words, table)
                base = warp_group
                while base < size:
                    base, i = uint32(base + groups), uint32(i + groups)
                    expands, tail, tail_word = active, vertex, word
                    first_head, first_weight = head, weight
                    # the next ones are on their way while these wait for their answers
                    active, vertex, head, weight, word = take(
                        i, lane, size, pile, common, words, table
                    )
                    length = from_lane(number_of(tail_word), leader)
                    heavy = False
                    arc, last = uint32(0), uint32(0)
                    if expands:
                        if first_head & MORE != 0:
                            arc, last = indptr[tail], indptr[uint32(tail + 1)]
                            heavy = not SIMULATOR and last - arc > LANES + HEAVY
                            arc = uint32(arc + LANES + lane)
                        first_head = uint32(first_head & VERTEX)
                        # the table is padded with the vertex itself
                        if first_head != tail:
                            candidate = number(length + first_weight)
                            least = relax(
                                first_head, candidate, limits, words, near, far, tallies, least
                            )
                        while not heavy and arc < last:
                            candidate = number(length + weights[arc])
                            least = relax(
                                indices[arc], candidate, limits, words, near, far, tallies, least
                            )
                            arc = uint32(arc + LANES)
                    waiting = ballot(heavy and lane == 0)
                    while waiting != 0:
                        which = int32(cuda.ffs(waiting) - 1)
                        waiting = uint32(waiting & uint32(waiting - 1))
                        heavy_length = from_lane(length, which)
                        heavy_arc = uint32(uint32(from_lane(int32(arc), which)) + cuda.laneid)
                        heavy_last = uint32(from_lane(int32(last), which))
                        while heavy_arc < heavy_last:
                            candidate = number(heavy_length + weights[heavy_arc])
                            least = relax(
                                indices[heavy_arc],
                                candidate,
                                limits,
                                words,
                                near,
                                far,
                                tallies,
                                least,
                            )
                            heavy_arc = uint32(heavy_arc + 32)
                expanded += size
                hop = uint32(hop + 1)
                size_slot, next_slot, old_slot = next_slot, old_slot, size_slot
                shared = uint32(0)
                cuda.syncthreads()

            if least != unseen:
                cuda.atomic.min(least_far, 0, word_of(least, False))
                least = number(unseen)
            cuda.syncthreads()

            # what the block could not hold, or must not keep, goes to the common piles
            surplus = uint32(min(counts[size_slot], uint32(NEAR_CAPACITY)))
            far_size = uint32(min(counts[FAR], uint32(FAR_CAPACITY)))
            if thread == 0:
                if surplus > 0:
                    places[0] = cuda.atomic.add(common_counts, common_near_size, surplus)
                if far_size > 0:
                    places[1] = cuda.atomic.add(common_counts, common_far_size, far_size)
                cuda.atomic.min(common_least, uint32((phase + 1) % 3), least_far[0])
            cuda.syncthreads()
            pile = near_piles[uint32(hop & 1)]
            i = uint32(thread)
            while i < surplus:
                common_near[uint32(places[0] + i)] = pile[i]
                i = uint32(i + threads)
            i = uint32(thread)
            while i < far_size:
                common_far[uint32(places[1] + i)] = far_pile[i]
                i = uint32(i + threads)
            if thread == 0:
                counts[size_slot] = 0
                counts[FAR] = 0
                least_far[0] = nothing
            meet()

            rounds = uint32(rounds + 1)
            if block == 0 and thread == 0:
                common_counts[uint32(COMMON_NEAR + (rounds + 2) % 3)] = 0
            shared = common_counts[uint32(COMMON_NEAR + rounds % 3)]
            if shared > 0:
                continue

            # the phase is over: all distances up to the threshold are final
            phase = uint32(phase + 1)
            size = common_counts[uint32(COMMON_FAR + phase % 3)]
            while target < targets.size:
                word = words[targets[target]]
                if word == nothing or number_of(word) > threshold:
                    break
                target += 1
            if size == 0 or (target == targets.size and target > 0):
                break
            settled, threshold = threshold, bound
            first = number_of(common_least[uint32(phase % 3)])
            if first < number(bound - width):
                threshold = min(bound, number(first + width))
            if block == 0 and thread == 0:
                common_counts[uint32(COMMON_FAR + (phase + 2) % 3)] = 0
                common_least[uint32((phase + 2) % 3)] = nothing
            current_far = all_common_far[row, uint32(phase & 1)]
            common_near = all_common_near[row, uint32((rounds + 1) & 1)]
            common_near_size = uint32(COMMON_NEAR + (rounds + 1) % 3)
            near = (near_piles[uint32(hop & 1)], size_slot, common_near, common_near_size)
            common_far = all_common_far[row, uint32((phase + 1) & 1)]
            far = (far_pile, common_far, uint32(COMMON_FAR + (phase + 1) % 3))
            i = uint32(thread * blocks + block)
            if i < size:
                vertex = current_far[i]
            while i < size:
                tail = vertex
                i = uint32(i + threads * blocks)
                if i < size:
                    vertex = current_far[i]
                word = words[tail]
                distance = number_of(word)
                if distance > threshold:
                    least = min(least, distance)
                    _push_far(tail, far, tallies)
                elif distance > settled:
                    # other blocks may be relaxing arcs to it already
                    if together:
                        word = cuda.atomic.or_(words, tail, one)
                    else:
                        words[tail] = word | one
                    if word & one == 0:
                        _push_near(tail, near, tallies)
        if overflows and common_counts[BEYOND] != 0:
            # only a vertex that is still unreached, seen from a final distance, is too far away
            tail = uint32(block * threads + thread)
            while tail < words.size:
                word = words[tail]
                if word != nothing and number_of(word) <= threshold:
                    arc, last = indptr[tail], indptr[uint32(tail + 1)]
                    while arc < last:
                        candidate = number(number_of(word) + weights[arc])
                        if candidate > bound and words[indices[arc]] == nothing:
                            counters[row, CLIPPED_ROW] = 1
                        arc = uint32(arc + 1)
                tail = uint32(tail + blocks * threads)
            meet()
        vertex, stride = uint32(block * threads + thread), uint32(blocks * threads)
        # four at a time, for their reads overlap
        while uint32(vertex + 3 * stride) < words.size:
            second, third = uint32(vertex + stride), uint32(vertex + 2 * stride)
            fourth = uint32(vertex + 3 * stride)
            word, second_word = words[vertex], words[second]
            third_word, fourth_word = words[third], words[fourth]
            finish(words, vertex, word)
            finish(words, second, second_word)
            finish(words, third, third_word)
            finish(words, fourth, fourth_word)
            vertex = uint32(vertex + 4 * stride)
        while vertex < words.size:
            finish(words, vertex, words[vertex])
            vertex = uint32(vertex + stride)
        if thread == 0:
            cuda.atomic.add(counters, (row, EXPANDED), int64(expanded))
            cuda.atomic.max(counters, (row, HOPS), int64(hop))
            if block == 0:
                counters[row, PHASES], counters[row, ROUNDS] = phase, rounds

    return _delta_stepping_kernel


@njit
def _first_arcs_kernel(indptr, indices, weights, heads, first_weights):
    for v in range(indptr.size - 1):
        first, last = indptr[v], indptr[v + 1]
        for k in range(LANES):
            if first + k < last:
                heads[v, k] = indices[first + k]
                first_weights[v, k] = weights[first + k]
            else:
                heads[v, k] = v
                first_weights[v, k] = 0
            if last - first > LANES:
                heads[v, k] |= MORE


def _first_arcs(graph: Graph, dtype: np.dtype[Any]) -> NDArray[np.uint64]:
    """Table of the first `LANES` arcs of every vertex, for `_arc_function`.

    Padded with arcs to the vertex itself; heads carry `MORE` where that is not all.
    """
    unsigned = np.dtype(f"u{dtype.itemsize}")
    table = np.empty((graph.n, LANES, 2), unsigned)
    _first_arcs_kernel(
        graph.indptr,
        graph.indices,
        graph.weights_as(dtype),
        table[:, :, 0],
        table.view(dtype)[:, :, 1],
    )
    return table.reshape(-1).view(np.uint64)


class _DeltaSearch(Search):
    """The kernel with its arcs and scratch."""

    def __init__(
        self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any], delta: float | None
    ) -> None:
        self.graph, self.dtype, self.delta = graph, dtype, delta
        self.unsigned = np.dtype(f"u{dtype.itemsize}")
        indptr, indices, weights = on_device.arcs(graph, dtype)
        table = on_device.array(f"first arcs, {dtype}", lambda: _first_arcs(graph, dtype))
        self.arcs = (indptr.view(np.uint32), indices.view(np.uint32), weights, table)

    @property
    def row_bytes(self) -> int:
        """Scratch of one row."""
        piles = 4 * self.graph.n * INDEX.itemsize
        return piles + COMMON_WORDS * INDEX.itemsize + 3 * self.dtype.itemsize

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Scratch of a batch: common near and far piles, their sizes, least far distances."""
        n = self.graph.n
        return (
            cuda.device_array((rows, 2, n), np.uint32),
            cuda.device_array((rows, 2, n), np.uint32),
            cuda.device_array((rows, COMMON_WORDS), np.uint32),
            cuda.device_array((rows, 3), self.unsigned),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Run a batch of sources: a block each, or few of them one after the other."""
        words = batch.distances.view(self.unsigned)
        if self.dtype.kind == "f":
            batch.fill(words.view(np.dtype(f"i{self.dtype.itemsize}")), -1)
        together = batch.rows <= FEW_SOURCES + self.graph.n // VERTICES_A_SOURCE
        width = self._width(WIDTH_TOGETHER if together else WIDTH, batch.bound)
        search = _make_kernel(self.dtype, together=together)
        blocks, threads = self._blocks_together(), THREADS_TOGETHER
        if not together:
            blocks, threads = batch.rows, self._threads_alone(batch.rows)
        for first_row in range(batch.rows if together else 1):
            search[blocks, threads, batch.stream](
                *self.arcs,
                batch.sources,
                batch.first_sources,
                batch.targets,
                batch.bound,
                width,
                batch.bound == largest_distance(self.dtype),
                first_row,
                words,
                *scratch,
                batch.counters,
            )

    def _blocks_together(self) -> int:
        """Blocks for one source: as many as its frontier keeps busy, at most all that fit."""
        return max(1, min(self.graph.n // VERTICES_A_BLOCK, blocks_at_once()))

    def _threads_alone(self, rows: int) -> int:
        """Threads of each of `rows` blocks, a power of two, so that as many as may be fit."""
        threads, most = MOST_THREADS, THREADS_A_MULTIPROCESSOR * blocks_at_once()
        while threads > FEWEST_THREADS and threads * rows > most:
            threads //= 2
        return threads

    def _width(self, medians: float, bound: Any) -> Any:
        """Delta as a number of the dtype, at most `bound`."""
        delta = self.delta
        if delta is None:
            degree = max(self.graph.m / max(self.graph.n, 1), 1.0)
            delta = medians * typical_weight(self.graph) / degree
        return bound if delta >= bound else self.dtype.type(delta)


def solve(graph: Graph, query: Query, method: DeltaStepping, dtype: np.dtype[Any]) -> Answer | None:
    """Answer `query` with near and far piles.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : DeltaStepping
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    return solve_rows(
        graph,
        query,
        method,
        dtype,
        lambda on_device: _DeltaSearch(graph, on_device, dtype, method.delta),
    )
