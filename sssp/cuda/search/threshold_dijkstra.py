"""Threshold-batched Dijkstra on the GPU: one thread block per source.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.1 and 4.1, after
A. Crauser, K. Mehlhorn, U. Meyer and P. Sanders, "A parallelization of Dijkstra's shortest path
algorithm" (1998). `sssp.cpu.search.threshold_dijkstra` explains phases and criteria; this twin runs
the same phases.

On a road network some hundred vertices are open at a time, too few for more than one block, and
a barrier of a block costs a fraction of one of the grid. What a phase takes is a chain of
dependent reads, and what many sources take is the number of scattered ones, so both are kept
small. Every thread owns some of the open vertices for as long as they are open. The `LIGHTEST`
lightest arcs of an open vertex wait in shared memory, where an arc is struck out once its head is
settled; only a vertex with more arcs has a pointer, past those. A phase has two barriers:

A. a thread takes over vertices that were reached in the phase before, if it has room; of each
   vertex it owns it finds the least useful arc; the block reduces the settling threshold;
B. of the open vertices at or below it a thread settles and relaxes its own; a vertex reached for
   the first time joins the arrivals. The arcs beyond the lightest of all vertices just settled
   are relaxed after one more barrier, `GROUP` threads per vertex.

Distances that fall during B do not count before the next phase: what B compares is what A read.
Counts and minima rotate through three slots, so that a slot can be cleared while no thread
reads it.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import from_dtype, int32, int64, uint32
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel_with, part
from sssp.cuda.device.anchor import anchor, anchor_shared
from sssp.cuda.device.bits import bits_of
from sssp.cuda.device.grid import SLOTS, rotate, slots_of
from sssp.cuda.device.warp import WARP, ballot, lower_of, rank, reserve, warp_barrier
from sssp.cuda.device_memory import DeviceGraph
from sssp.cuda.search_base import CLIPPED_ROW, Batch, Search
from sssp.cuda.search_driver import solve_rows
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import arcs_by_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED
from sssp.methods import ThresholdDijkstra

#: threads of a block for one source, and for many at once: an odd number of warps, so that
#: neighbouring places of a thread lie in different banks of shared memory
THREADS_ALONE, THREADS = (64, 32) if SIMULATOR else (736, 352)
#: by bytes of a number: without spills, and with 4 bytes four blocks fit on a multiprocessor
MAX_REGISTERS = {4: 40, 8: 48}
#: bytes of shared memory for one lightest arc of every open vertex; others are in global memory
CAPACITY_BYTES = 256 if SIMULATOR else 3072
#: places for arrivals in shared memory
ARRIVALS = 32 if SIMULATOR else 512
#: and for vertices with more arcs than the lightest
LONGS = 2 if SIMULATOR else 64
#: lightest arcs of a vertex in the table
LIGHTEST = 4
#: bit of the last of their ends that says that the vertex has more arcs
MORE = np.uint32(1 << 31)
VERTEX = np.uint32(MORE - 1)
#: threads of a group, which relaxes the other arcs of a vertex side by side
GROUP = 32
SETTLED = 1
#: words of ``counts``, rotating by phase: arrivals, those taken over, vertices settled, and those
#: of them with more arcs than the lightest
ARRIVED, TAKEN, GONE, LONG = (SLOTS * what for what in range(4))
COUNTS = 4 * SLOTS
#: what a block notices: a status code, `CLIPPED` if a candidate above the bound was dropped
STATUS, FLAGS = 0, 1

# device functions pass related values as records, which the compiler takes apart; kernels have
# plain arguments, for the types in a record would be determined anew at every launch


class Arcs(namedtuple("Arcs", "indptr ends weights lightest_ends lightest_weights")):
    """CSR arrays of arcs, sorted by weight at each vertex, and a table of the lightest arcs.

    Attributes
    ----------
    indptr, ends, weights : array
    lightest_ends, lightest_weights : array, shape (n, LIGHTEST)
        The table of `_lightest_arcs`.
    """


class List(namedtuple("List", "shared spilled")):
    """A list on the GPU: the first entries are in shared memory, the others in global memory."""


class OpenVertices(namedtuple("OpenVertices", "vertices seen heads weights")):
    """The open vertices of a row, in a list whose positions are divided among threads.

    Attributes
    ----------
    vertices, seen : List
        Vertex, and its distance at the beginning of the phase.
    heads, weights : array, shape (LIGHTEST, capacity)
        In shared memory, the lightest arcs of those that have their place there. The weight is
        `unseen` once the head is settled.
    """


class State(namedtuple("State", "distances bits settled pointers in_pointers in_least")):
    """State of a row's vertices in a search: distances, settled flags, and arc positions.

    Attributes
    ----------
    distances, bits : array, shape (n,)
        The same memory, as numbers and as integers.
    settled : array, shape (n,), uint8
    pointers : array, shape (n,), uint32
        First arc, beyond the lightest, whose head was not settled when last looked at; 0: none yet.
    in_pointers : array, shape (n,), uint32
        The same of the arcs that enter.
    in_least : array, shape (places,)
        By place among the open vertices: weight of the lightest arc in from one not settled.
    """


class Tallies(namedtuple("Tallies", "counts thresholds leasts flags hidden")):
    """A thread block's counters, distance thresholds and flags, in shared memory.

    Attributes
    ----------
    counts : array, shape (COUNTS,), uint32
    thresholds, leasts : array, shape (SLOTS,)
        Rotating by phase: settling threshold, and least distance of an open vertex.
    flags : array, shape (FLAGS,), int32
    hidden : array, shape (2,)
        What a weight becomes by the state of the arc's other end, as the greater of the two:
        itself, or out of the question.
    """


class Owner(namedtuple("Owner", "thread threads lane warp first")):
    """The indices of a thread in its block and warp, and of the first open vertex it handles.

    Attributes
    ----------
    thread, threads : uint32
    lane, warp : uint32
        Its number in its warp, and the first thread of that.
    first : uint32
        Its first place: it owns every `threads`-th from there on.
    """


class Block(
    namedtuple(
        "Block",
        "owner state out_arcs in_arcs open_vertices arrivals long settling tallies bound unseen",
    )
):
    """The data of a thread block's search: arcs, open vertices, and newly reached vertices.

    Attributes
    ----------
    owner : Owner
        The calling thread.
    state : State
    out_arcs, in_arcs : Arcs
    open_vertices : OpenVertices
    arrivals : List
        Vertices reached for the first time, to be taken over in the next phase.
    long : List
        Vertices just settled that have more arcs than the lightest.
    settling : array, shape (threads,), uint32
        Places that each warp is settling.
    tallies : Tallies
    bound, unseen : number
        Greatest distance of interest, and what stands for none.
    """


@inline
def _get_entry(entries, i):
    """Return entry `i` of a list, which begins in shared and continues in global memory."""
    if i < uint32(entries.shared.size):
        return entries.shared[i]
    return entries.spilled[uint32(i - uint32(entries.shared.size))]


@inline
def _set_entry(entries, i, entry):
    """Write entry `i` of a list, which begins in shared and continues in global memory."""
    if i < uint32(entries.shared.size):
        entries.shared[i] = entry
    else:
        entries.spilled[uint32(i - uint32(entries.shared.size))] = entry


@part
def _clear_slots(block, slots):
    """Reset the counters and minima that the next phase will write."""
    owner, tallies = block.owner, block.tallies
    # the last thread, which seldom owns a vertex
    if owner.thread == owner.threads - 1:
        for first in range(0, COUNTS, SLOTS):
            tallies.counts[uint32(first + slots.before)] = 0
        tallies.thresholds[slots.after] = block.unseen
        tallies.leasts[slots.after] = block.unseen


@inline
def _load_lightest(vertex, place, open_vertices, arcs):
    """Copy an open vertex's lightest arcs from global memory to column `place` in shared memory."""
    for k in range(LIGHTEST):
        open_vertices.heads[k, place] = arcs.lightest_ends[vertex, k]
        open_vertices.weights[k, place] = arcs.lightest_weights[vertex, k]


@part
def _take_over(block, slots, end, count, arrived):
    """Move newly reached vertices into a thread's list; return the list's next free position."""
    owner, open_vertices = block.owner, block.open_vertices
    asking = ballot(end < count)
    while asking:
        i = reserve(block.tallies.counts, uint32(TAKEN + slots.now), asking, owner.lane)
        takes = end < count and i < arrived
        if takes:
            vertex = _get_entry(block.arrivals, i)
            _set_entry(open_vertices.vertices, end, vertex)
            if end < uint32(open_vertices.vertices.shared.size):
                _load_lightest(vertex, end, open_vertices, block.out_arcs)
            end = uint32(end + owner.threads)
        asking = ballot(takes and end < count)
    return end


@inline
def _least_in_shared(place, open_vertices, settled, unseen):
    """Drop a vertex's arcs to settled heads from shared memory; return the least weight left."""
    heads, weights = open_vertices.heads, open_vertices.weights
    states = cuda.local.array(LIGHTEST, int32)
    useful = unseen
    # first all loads, so that they are under way together
    for k in range(LIGHTEST):
        states[k] = SETTLED
        if weights[k, place] != unseen:
            states[k] = settled[heads[k, place] & VERTEX]
    for k in range(LIGHTEST):
        if states[k] == SETTLED:
            weights[k, place] = unseen
        else:
            useful = min(useful, weights[k, place])
    return useful


@inline
def _least_in_table(vertex, arcs, settled, hidden, unseen):
    """Return the least weight of a vertex's lightest arcs whose other ends are unsettled."""
    least = unseen
    # no branch, so that all loads are under way together; padded with weight `unseen`
    for k in range(LIGHTEST):
        end = arcs.lightest_ends[vertex, k] & VERTEX
        least = min(least, max(arcs.lightest_weights[vertex, k], hidden[settled[end]]))
    return least


@inline
def _least_beyond(vertex, arcs, pointers, settled, unseen):
    """Return the least weight of arcs to unsettled heads, except a vertex's `LIGHTEST` lightest."""
    last = arcs.indptr[uint32(vertex + 1)]
    pointer = max(pointers[vertex], uint32(arcs.indptr[vertex] + LIGHTEST))
    while pointer < last and settled[arcs.ends[pointer]] == SETTLED:
        pointer = uint32(pointer + 1)
    pointers[vertex] = pointer
    return arcs.weights[pointer] if pointer < last else unseen


@part
def _least_out(block, vertex, place):
    """Return the least weight of a vertex's arcs to unsettled heads (OUT criterion)."""
    state, arcs, unseen = block.state, block.out_arcs, block.unseen
    if place < uint32(block.open_vertices.vertices.shared.size):
        useful = _least_in_shared(place, block.open_vertices, state.settled, unseen)
        more = block.open_vertices.heads[LIGHTEST - 1, place] & MORE
    else:
        useful = _least_in_table(vertex, arcs, state.settled, block.tallies.hidden, unseen)
        more = arcs.lightest_ends[vertex, LIGHTEST - 1] & MORE
    if useful == unseen and more:
        useful = _least_beyond(vertex, arcs, state.pointers, state.settled, unseen)
    return useful


@part
def _move_up(vertex, place, kept, open_vertices, arcs):
    """Move an open vertex to its thread's next free position in the list of open vertices."""
    heads, weights = open_vertices.heads, open_vertices.weights
    capacity = uint32(open_vertices.vertices.shared.size)
    _set_entry(open_vertices.vertices, kept, vertex)
    if kept < capacity:
        if place < capacity:
            for k in range(LIGHTEST):
                heads[k, kept] = heads[k, place]
                weights[k, kept] = weights[k, place]
        else:
            _load_lightest(vertex, kept, open_vertices, arcs)


@cache
def _make_kernel(dtype: np.dtype[Any], *, in_out: bool) -> Any:
    """Return the threshold Dijkstra kernel for a dtype, with the OUT or IN-OUT criterion."""
    bits, number, lower = bits_of(dtype), from_dtype(dtype), lower_of(dtype)
    zero, capacity = dtype.type(0), CAPACITY_BYTES // dtype.itemsize

    @part
    def seed(block, sources, first, last):
        """Set the distances of a row's sources to 0, and list them as newly reached vertices."""
        i = uint32(first + block.owner.thread)
        while i < last:
            source = uint32(sources[i])
            if cuda.atomic.min(block.state.bits, source, bits(zero)) == bits(block.unseen):
                at = cuda.atomic.add(block.tallies.counts, ARRIVED, uint32(1))
                _set_entry(block.arrivals, at, source)
            i = uint32(i + block.owner.threads)

    @part
    def evaluate(block, slots, end, has_targets):
        """Compute the settling threshold of a phase, and the least distance of an open vertex.

        A parallel reduction.
        """
        open_vertices, unseen = block.open_vertices, block.unseen
        threshold, least = unseen, unseen
        i = block.owner.first
        while i < end:
            vertex = _get_entry(open_vertices.vertices, i)
            distance = block.state.distances[vertex]
            useful = _least_out(block, vertex, i)
            _set_entry(open_vertices.seen, i, distance)
            if useful != unseen:
                # saturated, for an arc may be too long to be useful at all
                threshold = min(threshold, number(distance + min(useful, block.bound)))
            least = min(least, distance)
            if in_out:
                state, arcs, hidden = block.state, block.in_arcs, block.tallies.hidden
                useful = _least_in_table(vertex, arcs, state.settled, hidden, unseen)
                if useful == unseen and arcs.lightest_ends[vertex, LIGHTEST - 1] & MORE:
                    pointers = state.in_pointers
                    useful = _least_beyond(vertex, arcs, pointers, state.settled, unseen)
                state.in_least[i] = useful
            i = uint32(i + block.owner.threads)
        lower(block.tallies.thresholds, slots.now, threshold)
        if in_out or has_targets:
            lower(block.tallies.leasts, slots.now, least)

    @inline
    def reaches(block, head, candidate):
        """Relax an arc; return True if its head is reached for the first time.

        Floats are lowered as integers, for Numba's atomic minimum of a float does not return what
        was there at that moment.
        """
        if candidate <= block.bound:
            return cuda.atomic.min(block.state.bits, head, bits(candidate)) == bits(block.unseen)
        if block.state.distances[head] == block.unseen:
            block.tallies.flags[STATUS] = CLIPPED
        return False

    @part
    def relax_lightest(block, slots, leaving, settles, place):
        """Relax the lightest arcs of the vertices that a warp settles."""
        owner, open_vertices, arcs = block.owner, block.open_vertices, block.out_arcs
        if settles:
            block.settling[uint32(owner.warp + rank(leaving, owner.lane))] = place
        leavers = uint32(cuda.popc(leaving))
        if owner.lane == 0:
            cuda.atomic.add(block.tallies.counts, uint32(GONE + slots.after), leavers)
        warp_barrier()
        first = uint32(0)
        while first < leavers * LIGHTEST:
            arc, head, arrives = uint32(first + owner.lane), uint32(0), False
            if arc < leavers * LIGHTEST:
                i, k = block.settling[uint32(owner.warp + arc // LIGHTEST)], uint32(arc % LIGHTEST)
                tail = _get_entry(open_vertices.vertices, i)
                start = _get_entry(open_vertices.seen, i)
                if i < uint32(open_vertices.vertices.shared.size):
                    head, weight = open_vertices.heads[k, i], open_vertices.weights[k, i]
                else:
                    head, weight = arcs.lightest_ends[tail, k], arcs.lightest_weights[tail, k]
                if k == LIGHTEST - 1 and head & MORE:
                    at = cuda.atomic.add(
                        block.tallies.counts, uint32(LONG + slots.after), uint32(1)
                    )
                    _set_entry(block.long, at, tail)
                head = uint32(head & VERTEX)
                if weight != block.unseen:
                    arrives = reaches(block, head, number(start + weight))
            arriving = ballot(arrives)
            if arriving:
                slot = uint32(ARRIVED + slots.after)
                at = reserve(block.tallies.counts, slot, arriving, owner.lane)
                if arrives:
                    _set_entry(block.arrivals, at, head)
            first = uint32(first + WARP)
        warp_barrier()

    @part
    def settle(block, slots, end, threshold, least):
        """Settle open vertices up to the threshold, relax their lightest arcs, compact the list.

        Vertices that stay open move up to free places. Return the first place of the thread after
        them.
        """
        owner, open_vertices, state = block.owner, block.open_vertices, block.state
        i, kept = owner.first, owner.first
        while ballot(i < end):
            settles = False
            if i < end:
                vertex = _get_entry(open_vertices.vertices, i)
                distance = _get_entry(open_vertices.seen, i)
                settles = distance <= threshold
                if in_out and not settles:
                    weight = state.in_least[i]
                    reach = number(least + min(weight, block.bound))
                    settles = weight == block.unseen or distance <= reach
                if settles:
                    state.settled[vertex] = SETTLED
                else:
                    if i != kept:
                        _move_up(vertex, i, kept, open_vertices, block.out_arcs)
                    kept = uint32(kept + owner.threads)
            leaving = ballot(settles)
            if leaving:
                relax_lightest(block, slots, leaving, settles, i)
            i = uint32(i + owner.threads)
        return kept

    @part
    def relax_rest(block, slots, count):
        """Relax all but the lightest arcs of the vertices settled in this phase."""
        owner, arcs = block.owner, block.out_arcs
        i = uint32(owner.thread // GROUP)
        while i < count:
            tail = _get_entry(block.long, i)
            start = block.state.distances[tail]
            arc, last = uint32(arcs.indptr[tail] + LIGHTEST), arcs.indptr[uint32(tail + 1)]
            arc = uint32(arc + owner.thread % GROUP)
            while arc < last:
                head, candidate = arcs.ends[arc], number(start + arcs.weights[arc])
                if reaches(block, head, candidate):
                    slot = uint32(ARRIVED + slots.after)
                    _set_entry(
                        block.arrivals, cuda.atomic.add(block.tallies.counts, slot, uint32(1)), head
                    )
                arc = uint32(arc + GROUP)
            i = uint32(i + owner.threads // GROUP)

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel_with(max_registers=MAX_REGISTERS[dtype.itemsize])
    @no_type_check
    def _threshold_dijkstra_kernel(
        indptr, heads, weights, lightest_heads, lightest_weights, in_indptr, tails, in_weights,
        lightest_tails, lightest_in_weights, sources, first_sources, targets, bound, unseen,
        all_distances, all_distance_bits, counters, all_settled, all_pointers, all_in_pointers,
        all_in_least, all_seen, spilled,
    ):  # fmt: skip
        """Run threshold Dijkstra from the sources of a row, one block per row.

        =================== ================== ======= =========================================
        argument            shape              dtype   written by
        =================== ================== ======= =========================================
        indptr              (n + 1,)           uint32  upload of the graph, arcs by weight
        heads               (m,)               uint32  upload of the graph, arcs by weight
        weights             (m,)               number  upload of the graph, arcs by weight
        lightest_heads      (n, LIGHTEST)      uint32  upload of `_lightest_arcs`
        lightest_weights    (n, LIGHTEST)      number  upload of `_lightest_arcs`
        in_indptr           (n + 1,)           uint32  upload of the reverse graph
        tails               (m,)               uint32  upload of the reverse graph
        in_weights          (m,)               number  upload of the reverse graph
        lightest_tails      (n, LIGHTEST)      uint32  upload of its `_lightest_arcs`
        lightest_in_weights (n, LIGHTEST)      number  upload of its `_lightest_arcs`
        sources             (k,)               int64   host
        first_sources       (rows + 1,)        int64   host
        targets             (t,)               int64   host; empty: all vertices
        bound               scalar             number  host: greatest distance of interest
        unseen              scalar             number  host: what stands for none
        all_distances       (rows, n)          number  host: `unseen`; here
        all_distance_bits   (rows, n)          integer the same memory
        counters            (rows, words)      int64   host: 0; here: statistics, `CLIPPED_ROW`
        all_settled         (rows, n)          uint8   host: 0; here
        all_pointers        (rows, n)          uint32  host: 0; here
        all_in_pointers     (rows, n)          uint32  host: 0; here
        all_in_least        (rows, places)     number  here
        all_seen            (rows, places)     number  here
        spilled             (rows, 3, places)  uint32  here: open vertices, arrivals, long ones
        =================== ================== ======= =========================================

        There is a place for every vertex and thread. Without the IN test the arrays of incoming
        arcs are not read, and may be any arrays.
        """
        row = uint32(cuda.blockIdx.x)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        lane = uint32(thread % WARP)
        # neighbouring places belong to different warps, for neighbours in the list settle together
        own_place = uint32(lane * uint32(threads // WARP) + thread // WARP)
        owner = Owner(thread, threads, lane, uint32(thread - lane), own_place)
        distances, distance_bits = anchor(all_distances[row]), anchor(all_distance_bits[row])
        settled, in_least = anchor(all_settled[row]), all_in_least[row]
        pointers, in_pointers = all_pointers[row], all_in_pointers[row]
        block = Block(
            owner,
            State(distances, distance_bits, settled, pointers, in_pointers, in_least),
            Arcs(indptr, heads, weights, lightest_heads, lightest_weights),
            Arcs(in_indptr, tails, in_weights, lightest_tails, lightest_in_weights),
            OpenVertices(
                List(anchor_shared(cuda.shared.array(capacity, uint32)), spilled[row, 0]),
                List(anchor_shared(cuda.shared.array(capacity, number)), all_seen[row]),
                anchor_shared(cuda.shared.array((LIGHTEST, capacity), uint32)),
                anchor_shared(cuda.shared.array((LIGHTEST, capacity), number)),
            ),
            List(anchor_shared(cuda.shared.array(ARRIVALS, uint32)), spilled[row, 1]),
            List(anchor_shared(cuda.shared.array(LONGS, uint32)), spilled[row, 2]),
            anchor_shared(cuda.shared.array(THREADS_ALONE, uint32)),
            Tallies(
                anchor_shared(cuda.shared.array(COUNTS, uint32)),
                anchor_shared(cuda.shared.array(SLOTS, number)),
                anchor_shared(cuda.shared.array(SLOTS, number)),
                anchor_shared(cuda.shared.array(FLAGS, int32)),
                anchor_shared(cuda.shared.array(2, number)),
            ),
            bound,
            unseen,
        )
        tallies = block.tallies
        if thread < COUNTS:
            tallies.counts[thread] = 0
        if thread < SLOTS:
            tallies.thresholds[thread] = unseen
            tallies.leasts[thread] = unseen
            tallies.flags[thread % FLAGS] = 0
            tallies.hidden[thread % 2] = unseen if thread % 2 == SETTLED else zero
        cuda.syncthreads()
        seed(block, sources, first_sources[row], first_sources[row + 1])
        cuda.syncthreads()
        # this thread's places are in use up to `end`, those of the block up to `count`
        end, count = owner.first, uint32(0)
        phase, total_settled, most_open, total_open = uint32(0), 0, uint32(0), 0
        target = int64(owner.thread)
        slots = slots_of(uint32(0), 0)
        while True:
            arrived = tallies.counts[uint32(ARRIVED + slots.now)]
            gone = tallies.counts[uint32(GONE + slots.now)]
            total_settled += gone
            count = uint32(count + arrived - gone)
            if count == 0:
                break
            _clear_slots(block, slots)

            # A
            end = _take_over(block, slots, end, count, arrived)
            evaluate(block, slots, end, targets.size > 0)
            cuda.syncthreads()
            threshold, least = tallies.thresholds[slots.now], tallies.leasts[slots.now]
            if targets.size > 0:
                # the threads of the block share the targets, all of which are settled once they lie
                # below the least open distance: ties of the last are final too
                while target < targets.size and distances[targets[target]] < least:
                    target += owner.threads
                if cuda.syncthreads_and(int32(target >= targets.size)):
                    break
            phase = uint32(phase + 1)
            most_open = max(most_open, count)
            total_open += count

            # B
            end = settle(block, slots, end, threshold, least)
            cuda.syncthreads()
            long_count = tallies.counts[uint32(LONG + slots.after)]
            if long_count > 0:
                relax_rest(block, slots, long_count)
                cuda.syncthreads()
            slots = rotate(slots)
        if owner.thread == 0:
            counters[row, 0], counters[row, 1] = phase, total_settled
            counters[row, 2], counters[row, 3] = most_open, total_open
            counters[row, CLIPPED_ROW] = tallies.flags[STATUS]

    return _threshold_dijkstra_kernel


def _lightest_arcs(graph: Graph, dtype: np.dtype[Any], reverse: bool) -> tuple[NDArray[Any], ...]:
    """Return two arrays (n, LIGHTEST): ends and weights of the lightest arcs of each vertex.

    The last end has the bit `MORE` if the vertex has more arcs.
    """
    indptr, ends, weights = arcs_by_weight(graph, dtype, reverse=reverse)
    arcs = indptr[:-1, np.newaxis] + np.arange(LIGHTEST)
    missing = arcs >= indptr[1:, np.newaxis]
    # (one more arc behind all stands for what is missing)
    arcs[missing] = graph.m
    lightest_weights = np.append(weights, unreached(dtype))[arcs]
    vertices = np.arange(graph.n, dtype=INDEX)[:, np.newaxis]
    ends = np.append(ends, INDEX.type(0))[arcs]
    lightest_ends = np.where(missing, vertices, ends).astype(np.uint32)
    lightest_ends[np.diff(indptr) > LIGHTEST, LIGHTEST - 1] |= MORE
    return lightest_ends, lightest_weights


class _ThresholdSearch(Search):
    """Threshold-batched Dijkstra searches of one graph on a GPU."""

    def __init__(
        self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any], *, in_out: bool
    ) -> None:
        self.dtype, self.in_out = dtype, in_out
        self.out_arcs = self._arcs(graph, on_device, reverse=False)
        # unused without the IN test: then any arcs will do
        self.in_arcs = self._arcs(graph, on_device, reverse=True) if in_out else self.out_arcs
        # threads own one open vertex more or less than others
        n, places = graph.n, graph.n + THREADS_ALONE
        n_in, places_in = (n, places) if in_out else (1, 1)
        # settled flags, pointers, lightest arcs in, distances seen, lists
        self.row_arrays = (
            ((n,), np.uint8), ((n,), INDEX), ((n_in,), INDEX), ((places_in,), dtype),
            ((places,), dtype), ((3, places), np.uint32),
        )  # fmt: skip

    def _arcs(self, graph: Graph, on_device: DeviceGraph, *, reverse: bool) -> tuple[Any, ...]:
        side = "reverse " if reverse else ""

        @cache
        def table() -> tuple[NDArray[Any], ...]:
            return _lightest_arcs(graph, self.dtype, reverse)

        indptr, ends, weights = on_device.arcs_by_weight(graph, self.dtype, reverse=reverse)
        return (
            indptr.view(np.uint32),
            ends.view(np.uint32),
            weights,
            on_device.array(f"{side}lightest ends, {self.dtype}", lambda: table()[0]),
            on_device.array(f"{side}lightest weights, {self.dtype}", lambda: table()[1]),
        )

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Compute the distances from a batch of sources, one block per row."""
        settled, pointers, in_pointers, in_least, seen, lists = scratch
        for array in (settled, pointers, in_pointers):
            batch.fill(array, 0)
        threads = THREADS_ALONE if batch.rows == 1 else THREADS
        _make_kernel(self.dtype, in_out=self.in_out)[batch.rows, threads, batch.stream](
            *self.out_arcs, *self.in_arcs, batch.sources, batch.first_sources, batch.targets,
            batch.bound, batch.unseen, batch.distances,
            batch.distances.view(np.dtype(f"i{self.dtype.itemsize}")), batch.counters, settled,
            pointers.view(np.uint32), in_pointers.view(np.uint32), in_least, seen, lists,
        )  # fmt: skip


def solve(
    graph: Graph, request: Request, method: ThresholdDijkstra, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` by threshold Dijkstra in phases, with one thread block per search.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : ThresholdDijkstra
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    in_out = method.criterion == "in-out"

    def make_search(on_device: DeviceGraph) -> Search:
        return _ThresholdSearch(graph, on_device, dtype, in_out=in_out)

    return solve_rows(graph, request, method, dtype, make_search)
