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
  minimum lowers the distance and tells whether the vertex must be queued. The far pile gets the
  vertices that were first reached beyond the threshold, so that it needs no mark.
- `GROUP` threads expand a vertex, each with one of its first arcs, which stand in a table of
  their own, found without ``indptr``.

No vertex is in a pile twice, so piles of n vertices are large enough for any graph.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
from numba import from_dtype, int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel, kernel_with, part
from sssp.cuda.device.anchor import anchor, anchor_shared
from sssp.cuda.device.bits import bits_of, number_of
from sssp.cuda.device.grid import SLOTS, barrier_of, blocks_at_once, rotate, slots_of, worker_of
from sssp.cuda.device.warp import WARP, ballot, from_lane
from sssp.cuda.device_memory import DeviceGraph
from sssp.cuda.graph_replay import key_of
from sssp.cuda.pool import THREADS, blocks_for, device_array
from sssp.cuda.search_base import CLIPPED_ROW, Batch, Search
from sssp.cuda.search_driver import solve_rows
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import unreached
from sssp.kernels.status import CLIPPED
from sssp.methods import DeltaStepping

#: default delta in median weights, divided by the arcs of a vertex: where many blocks search from
#: one source, and where each has a source of its own (Davidson et al.)
DELTA_TOGETHER, DELTA_ALONE = 80.0, 22.0
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
#: entries of a block's near pile, and of its far pile before it goes to the common one
NEAR_CAPACITY, FAR_CAPACITY = 1024, 1024
#: threads of a group, which expands a vertex, and arcs of a vertex in the table
GROUP = 4
GROUP_BITS = 2
#: registers of a thread, for blocks that work together and for one alone
REGISTERS_TOGETHER, REGISTERS = 128, 64
#: arcs beyond the table from which on a whole warp relaxes them
WIDE = 1 if SIMULATOR else 32
#: words of a row that a thread turns into distances at once
AHEAD = 4
#: parts of a head in the table: whether its tail has more arcs than the table holds; the vertex
MORE, VERTEX = 0x80000000, 0x7FFFFFFF
#: sizes of a block's piles: of the near ones, rotating by hop, and of the far one
NEAR, FAR, OWN_SIZES = 0, 3, 4
#: sizes of the common piles: of the near one, rotating by round, and of the far one, rotating by
#: phase; then a status code, `CLIPPED` if a candidate above the bound was dropped
COMMON_NEAR, COMMON_FAR, STATUS, COMMON_SIZES = 0, 3, 6, 8
#: words of the counters
EXPANDED, PHASES = 0, 1
UNSIGNED = {4: uint32, 8: uint64}

# device functions pass related values as records, which the compiler takes apart; kernels have
# plain arguments, for the types in a record would be determined anew at every launch

# How piles and sizes rotate. h, r, p: the numbers of a hop, a round, a phase. A phase has one round
# or more, a round any number of hops. `split` before a round counts as a part of that round and of
# its phase. Entries have two places in turn, sizes three slots (`sssp.cuda.device.grid`).
#
# what         entries      size or word        filled               read           size cleared
# own near     (h + 1) & 1  NEAR + (h + 1) % 3  in hop h (1)         in hop h + 1   in hop h + 2 (2)
# own far      -            FAR                 in hops, in `split`  in `_spill`    in `_spill`
# own.least    -            0                   behind the hops      in `_spill`    in `_spill`
# common near  (r + 1) & 1  COMMON_NEAR         in round r: what     in round       at the start of
#                             + (r + 1) % 3       own near cannot      r + 1          round r + 2
#                                                 hold (2)
# common far   (p + 1) & 1  COMMON_FAR          in phase p: what     at the start   at the start of
#                             + (p + 1) % 3       own far cannot       of phase       phase p + 2
#                                                 hold; `_spill`       p + 1
# common.least -            (p + 1) % 3         in phase p: in       at the start   at the start of
#                                                 `_spill`             of phase       phase p + 2
#                                                                      p + 1
#
# (1) Sources, and `split`, fill the pile of the hop that comes next: h & 1, and slot h % 3.
# (2) If too many wait for hop h + 1, the round ends: `_spill` moves all to the common pile, and
#     clears the size.
#
# Barriers: the threads of a block wait before the first hop of a round and after every hop
# (`cuda.syncthreads`), so what hop h fills is whole in hop h + 1. All blocks of a row wait after
# every round (`meet`, behind `_spill`); the start of a round or a phase is right behind that. So of
# three slots, what is cleared was last read before the last barrier, and is not filled before the
# next one.


class Arcs(namedtuple("Arcs", "indptr indices weights table")):
    """The graph: CSR arrays, and a table with the first arcs of every vertex."""


class OwnPiles(namedtuple("OwnPiles", "near far sizes places least")):
    """One thread block's lists of near and far vertices, with their sizes, in shared memory.

    Attributes
    ----------
    near : array, shape (2, NEAR_CAPACITY), uint32
        Rotating by hop: one is expanded while the other is filled.
    far : array, shape (FAR_CAPACITY,), uint32
    sizes : array, shape (OWN_SIZES,), uint32
        One may be above its capacity: then the rest is in a common pile.
    places : array, shape (2,), uint32
        Where the near and the far pile go in the common ones.
    least : array, shape (1,), words
        Least word that the block has put into far piles in this round.
    """


class CommonPiles(namedtuple("CommonPiles", "near far sizes least")):
    """Each row's near and far vertex lists (piles), which all thread blocks share.

    Attributes
    ----------
    near, far : array, shape (rows, 2, n), uint32
        Rotating by round and by phase: one is read while the other is filled.
    sizes : array, shape (COMMON_SIZES,), uint32
    least : array, shape (SLOTS,), words
        Rotating by phase: least word in the far pile.
    """


class CommonPile(namedtuple("CommonPile", "entries sizes slot")):
    """A vertex list (pile) that all thread blocks of a row fill, with a counter of its vertices."""


class Pile(namedtuple("Pile", "entries sizes slot common")):
    """A thread block's list of queued vertices, and the list shared by blocks for its overflow."""


class Queue(namedtuple("Queue", "size entries common shared")):
    """Vertices that a thread block expands in one step, with the list that contains them.

    Attributes
    ----------
    size : uint32
        Vertices for this block.
    entries, common : array, uint32
    shared : uint32
        Size of the common pile; 0 if the block's own counts.
    """


class Group(namedtuple("Group", "member place first total leader")):
    """The threads that expand one vertex, and the calling thread's number among them.

    Attributes
    ----------
    member : uint32
        Number of the thread in its group.
    place, first, total : uint32
        Numbers of the group, and of the first group of the warp, in the block; how many it has.
    leader : int32
        Lane of the first member.
    """


class Block(namedtuple("Block", "worker group arcs words own common")):
    """The arrays that a thread block works on: arcs, a row's distances, vertex lists (piles).

    Attributes
    ----------
    worker : Worker
    group : Group
        The calling thread, in the grid and as one that expands vertices.
    arcs : Arcs
    words : array, shape (n,)
        Of the row.
    own : OwnPiles
    common : CommonPiles
    """


class Limits(namedtuple("Limits", "threshold bound")):
    """The greatest near distance (the threshold), and the greatest distance of interest."""


class Progress(namedtuple("Progress", "hop expanded slots least")):
    """Progress of a block: steps made, vertices expanded, least distance put in a far pile.

    Attributes
    ----------
    hop, expanded : integers
        Hops that it made, and vertices that it expanded in them.
    slots : Slots
        Of the sizes of its near piles, rotating by hop.
    least : number
        Least distance of a vertex that this thread has put into a far pile since the last hop of a
        round.
    """


@inline
def _near_of_round(common, row, rounds):
    """Return the near pile, shared by a row's thread blocks, that is read in the next round."""
    entries = common.near[row, uint32((rounds + 1) & 1)]
    return CommonPile(entries, common.sizes, slots_of(rounds, COMMON_NEAR).after)


@inline
def _near_of_hop(own, hop, slot, common):
    """Return a thread block's list of the vertices that it expands in a given step (`hop`)."""
    return Pile(own.near[uint32(hop & 1)], own.sizes, slot, common)


@inline
def _far_of_phase(own, common, row, phase):
    """Return the far pile that a phase fills; the next phase divides it into near and far."""
    entries = common.far[row, uint32((phase + 1) & 1)]
    pile = CommonPile(entries, common.sizes, slots_of(phase, COMMON_FAR).after)
    return Pile(own.far, own.sizes, uint32(FAR), pile)


@inline
def _push(vertex, pile):
    """Append `vertex` to a thread block's list or, if that is full, to the list of all blocks."""
    place = cuda.atomic.add(pile.sizes, pile.slot, uint32(1))
    if place < uint32(pile.entries.size):
        pile.entries[place] = vertex
    else:
        common = pile.common
        common.entries[cuda.atomic.add(common.sizes, common.slot, uint32(1))] = vertex


@inline
def _move(worker, pile, size, place):
    """Copy a thread block's vertex list to the list of all blocks, from index `place` on."""
    common = pile.common.entries
    i = uint32(worker.thread)
    while i < size:
        common[uint32(place + i)] = pile.entries[i]
        i = uint32(i + worker.threads)


@part
def _spill(block, near, far, phase, nothing):
    """Move a thread block's far vertices and remaining near vertices to the lists of all blocks."""
    worker, own, common = block.worker, block.own, block.common
    surplus = uint32(min(own.sizes[near.slot], uint32(near.entries.size)))
    far_size = uint32(min(own.sizes[far.slot], uint32(far.entries.size)))
    if worker.thread == 0:
        if surplus > 0:
            own.places[0] = cuda.atomic.add(common.sizes, near.common.slot, surplus)
        if far_size > 0:
            own.places[1] = cuda.atomic.add(common.sizes, far.common.slot, far_size)
        cuda.atomic.min(common.least, slots_of(phase, 0).after, own.least[0])
    cuda.syncthreads()
    _move(worker, near, surplus, own.places[0])
    _move(worker, far, far_size, own.places[1])
    if worker.thread == 0:
        own.sizes[near.slot] = 0
        own.sizes[far.slot] = 0
        own.least[0] = nothing


@cache
def _make_kernel(dtype: np.dtype[Any], *, together: bool, barrier: Any = None) -> Any:
    """Return the delta-stepping kernel for a dtype, in which one or all blocks search a row.

    Parameters
    ----------
    dtype : dtype
    together : bool
        Whether all blocks work on one row, or each on a row of its own.
    barrier : device function, optional
        In place of the one that `together` asks for: the type check cannot have a grid's.
    """
    meet, worker_of_row = barrier or barrier_of(together=together), worker_of(together=together)
    bits, number_from, number = bits_of(dtype), number_of(dtype), from_dtype(dtype)
    zero, unseen, narrow = dtype.type(0), unreached(dtype), dtype.itemsize == 4
    # (the simulator calculates with NumPy's numbers)
    numpy_word = np.dtype(f"u{dtype.itemsize}").type
    word_type = UNSIGNED[dtype.itemsize]
    unsigned = numpy_word if SIMULATOR else word_type
    # the word of an unreached vertex: all bits are set but, of an integer dtype, the highest, so
    # that it has the same bits as the sentinel of distances
    nothing = numpy_word(unseen if dtype.kind == "i" else np.iinfo(numpy_word).max)
    one, popped = numpy_word(1), ~numpy_word(1)
    unseen_bits = np.array(unseen, dtype).view(nothing.dtype)[()]

    @inline
    def word_of(value, queued):
        """Pack a distance and a queued flag into one word, which orders like the distance.

        Words are unsigned, order like the numbers, and hold the flag in the lowest bit: distances
        leave one bit free.
        """
        return unsigned((unsigned(bits(value)) << unsigned(1)) | unsigned(queued))

    @inline
    def value_of(word):
        """Return the distance that is packed in a word."""
        return number_from(unsigned(word >> unsigned(1)))

    @inline
    def arc_of(table, vertex, k):
        """Return head and weight of arc `k` of a vertex, from a table of every vertex's first arcs.

        An arc is one word where both fit 64 bits, else two.
        """
        place = uint64(vertex) * uint64(GROUP) + uint64(k)
        if narrow:
            arc = table[place]
            return uint32(arc & uint64(0xFFFFFFFF)), number_from(uint32(arc >> uint64(32)))
        first = place * uint64(2)
        return uint32(table[first]), number_from(table[first + uint64(1)])

    @inline
    def common_piles(row, near, far, sizes, least):
        """Return a search's near and far vertex lists, which its thread blocks share.

        The sizes for a block that works alone are in its shared memory.
        """
        if together:
            return CommonPiles(near, far, sizes[row], least[row])
        own_sizes = cuda.shared.array(COMMON_SIZES, uint32)
        own_least = cuda.shared.array(SLOTS, word_type)
        return CommonPiles(near, far, own_sizes, own_least)

    @inline
    def relax(head, candidate, words, limits, near, far, least):
        """Relax an arc, queue its head if improved; return the least distance in the far pile."""
        if candidate > limits.bound:
            if words[head] == nothing:
                near.common.sizes[STATUS] = CLIPPED
            return least
        is_near = candidate <= limits.threshold
        word = word_of(candidate, is_near)
        before = cuda.atomic.min(words, head, word)
        if before <= word:
            return least
        if is_near:
            if before == nothing or before & one == 0:
                _push(head, near)
            return least
        if before == nothing:
            _push(head, far)
        return min(least, candidate)

    @inline
    def take(i, queue, block):
        """Take vertex `i` of a queue: clear its queued flag, load this thread's first arc.

        Whether there is one, the vertex, head and weight of the arc, and for the first thread of a
        group the vertex' word.
        """
        worker, group = block.worker, block.group
        vertex, head, weight, word = uint32(0), uint32(0), zero, nothing
        active = i < queue.size
        if active:
            if queue.shared > 0:
                vertex = queue.common[uint32(i * worker.blocks + worker.block)]
            else:
                vertex = queue.entries[i]
            head, weight = arc_of(block.arcs.table, vertex, group.member)
            if WARP < GROUP or group.member == 0:
                word = cuda.atomic.and_(block.words, vertex, popped)
        return active, vertex, head, weight, word

    @part
    def relax_wide(block, wide, arc, last, length, limits, near, far, least):
        """Relax high-degree vertices by warp; return the least distance above the threshold."""
        arcs = block.arcs
        waiting = ballot(wide and block.group.member == 0)
        while waiting != 0:
            lane = int32(cuda.ffs(waiting) - 1)
            waiting = uint32(waiting & uint32(waiting - 1))
            wide_length = from_lane(length, lane)
            wide_arc = uint32(uint32(from_lane(int32(arc), lane)) + cuda.laneid)
            wide_last = uint32(from_lane(int32(last), lane))
            while wide_arc < wide_last:
                candidate = number(wide_length + arcs.weights[wide_arc])
                head = arcs.indices[wide_arc]
                least = relax(head, candidate, block.words, limits, near, far, least)
                wide_arc = uint32(wide_arc + WARP)
        return least

    @part
    def relax_queue(block, queue, limits, near, far, least):
        """Relax the arcs of all queued vertices; return the least distance above the threshold."""
        group, arcs, words = block.group, block.arcs, block.words
        i = group.place
        following = take(i, queue, block)
        first_of_warp = group.first
        while first_of_warp < queue.size:
            first_of_warp, i = uint32(first_of_warp + group.total), uint32(i + group.total)
            active, vertex, head, weight, word = following
            # (read before the next loads are issued: waiting for this word would wait for them too)
            length = from_lane(value_of(word), group.leader)
            # the next ones are on their way while these wait for their answers
            following = take(i, queue, block)
            wide = False
            arc, last = uint32(0), uint32(0)
            if active:
                if head & MORE != 0:
                    arc, last = arcs.indptr[vertex], arcs.indptr[uint32(vertex + 1)]
                    wide = WARP > GROUP and last - arc > GROUP + WIDE
                    arc = uint32(arc + GROUP + group.member)
                head = uint32(head & VERTEX)
                # the table is padded with the vertex itself
                if head != vertex:
                    candidate = number(length + weight)
                    least = relax(head, candidate, words, limits, near, far, least)
                while not wide and arc < last:
                    candidate = number(length + arcs.weights[arc])
                    least = relax(arcs.indices[arc], candidate, words, limits, near, far, least)
                    arc = uint32(arc + GROUP)
            least = relax_wide(block, wide, arc, last, length, limits, near, far, least)
        return least

    @part
    def expand(block, limits, entries, shared, surplus, far, progress):
        """Relax the arcs of a thread block's near vertices (up to the threshold), hop by hop.

        Stop when none is left, or more than the block can hold.
        """
        worker, own = block.worker, block.own
        hop, expanded, slots, least = progress
        cuda.syncthreads()
        while True:
            size = own.sizes[slots.now]
            if shared > 0:
                size = uint32((shared + worker.blocks - 1 - worker.block) // worker.blocks)
            elif size == 0 or size > own.near.shape[1]:
                break
            if worker.thread == 0:
                own.sizes[slots.before] = 0
            queue = Queue(size, own.near[uint32(hop & 1)], entries, shared)
            hop = uint32(hop + 1)
            near = _near_of_hop(own, hop, slots.after, surplus)
            least = relax_queue(block, queue, limits, near, far, least)
            expanded += size
            slots = rotate(slots)
            shared = uint32(0)
            cuda.syncthreads()
        if least != unseen:
            cuda.atomic.min(own.least, 0, word_of(least, False))
            least = number(unseen)
        cuda.syncthreads()
        return Progress(hop, expanded, slots, least)

    @part
    def split(block, entries, size, settled, threshold, near, far, least):
        """Divide a far pile by the new threshold into the near pile and a new far pile.

        Vertices at or below the last threshold, `settled`, have been expanded, and drop out.
        """
        worker, words = block.worker, block.words
        i = uint32(worker.thread * worker.blocks + worker.block)
        if i < size:
            following = entries[i]
        while i < size:
            vertex = following
            i = uint32(i + worker.threads * worker.blocks)
            if i < size:
                following = entries[i]
            word = words[vertex]
            distance = value_of(word)
            if distance > threshold:
                least = min(least, distance)
                _push(vertex, far)
            elif distance > settled:
                # other blocks may be relaxing arcs to it already
                if together:
                    word = cuda.atomic.or_(words, vertex, one)
                else:
                    words[vertex] = word | one
                if word & one == 0:
                    _push(vertex, near)
        return least

    @inline
    def finish(words, vertex, word):
        if word != nothing:
            words[vertex] = word >> one
        elif nothing != unseen_bits:
            words[vertex] = unseen_bits

    @part
    def write_out(worker, words):
        """Convert the packed words of a row to distances, in place."""
        vertex = uint32(worker.block * worker.threads + worker.thread)
        stride = uint32(worker.blocks * worker.threads)
        ahead = cuda.local.array(AHEAD, word_type)
        # some at a time, for their reads overlap
        while uint32(vertex + (AHEAD - 1) * stride) < words.size:
            for k in range(AHEAD):
                ahead[k] = words[uint32(vertex + uint32(k) * stride)]
            for k in range(AHEAD):
                finish(words, uint32(vertex + uint32(k) * stride), ahead[k])
            vertex = uint32(vertex + AHEAD * stride)
        while vertex < words.size:
            finish(words, vertex, words[vertex])
            vertex = uint32(vertex + stride)

    # loops count by hand, for the length of a range with a step takes a 64-bit division; indices
    # are unsigned, for Numba tests every signed one for a wrap-around from the end
    @kernel_with(max_registers=REGISTERS_TOGETHER if together else REGISTERS)
    @no_type_check
    def _delta_stepping_kernel(
        indptr, indices, weights, table, sources, first_sources, targets, bound, width, first_row,
        all_words, all_common_near, all_common_far, all_common_sizes, all_common_least, counters,
    ):  # fmt: skip
        """Run delta-stepping: all blocks on one row, or each block on a row of its own.

        ================ =============== ======== ================================================
        argument         shape           dtype    written by
        ================ =============== ======== ================================================
        indptr           (n + 1,)        uint32   upload of the graph
        indices          (m,)            uint32   upload of the graph
        weights          (m,)            number   upload of the graph
        table            (words,)        uint64   upload of `_first_arcs`
        sources          (k,)            int64    host
        first_sources    (rows + 1,)     int64    host
        targets          (t,)            int64    host; empty: all vertices
        bound            scalar          number   host: greatest distance of interest
        width            scalar          number   host: delta, at most `bound`
        first_row        scalar          int64    host: the row, if the blocks work together
        all_words        (rows, n)       word     host: unreached; here: words, then distances
        all_common_near  (rows, 2, n)    uint32   here
        all_common_far   (rows, 2, n)    uint32   here
        all_common_sizes (rows, 8)       uint32   here
        all_common_least (rows, 3)       word     here
        counters         (rows, words)   int64    host: 0; here: statistics, `CLIPPED_ROW`
        ================ =============== ======== ================================================

        A word is an unsigned integer as wide as a number, as `word_of` writes it. A table above the
        records of this file says how piles rotate: what is filled, read and cleared when.
        """
        worker = worker_of_row(first_row)
        row = worker.row
        arcs, words = Arcs(indptr, indices, weights, table), anchor(all_words[row])
        common = common_piles(
            row, all_common_near, all_common_far, all_common_sizes, all_common_least
        )
        own = OwnPiles(
            anchor_shared(cuda.shared.array((2, NEAR_CAPACITY), uint32)),
            anchor_shared(cuda.shared.array(FAR_CAPACITY, uint32)),
            anchor_shared(cuda.shared.array(OWN_SIZES, uint32)),
            anchor_shared(cuda.shared.array(2, uint32)),
            anchor_shared(cuda.shared.array(1, word_type)),
        )
        thread = worker.thread
        if worker.block == 0 and thread < COMMON_SIZES:
            common.sizes[thread] = 0
        if worker.block == 0 and thread < SLOTS:
            common.least[thread] = nothing
        if thread < OWN_SIZES:
            own.sizes[thread] = 0
        if thread == 0:
            own.least[0] = nothing
        meet()
        group = Group(
            uint32(thread & (GROUP - 1)),
            uint32(thread >> GROUP_BITS),
            uint32(thread // WARP * (WARP // GROUP)),
            uint32(worker.threads >> GROUP_BITS),
            int32(((thread & (WARP - 1)) >> GROUP_BITS) << GROUP_BITS),
        )
        block = Block(worker, group, arcs, words, own, common)
        slots = slots_of(uint32(0), NEAR)
        progress = Progress(uint32(0), 0, slots, number(unseen))
        rounds, phase, shared = uint32(0), uint32(0), uint32(0)
        target = int64(worker.thread)
        threshold = min(width, bound)
        near = _near_of_hop(own, progress.hop, slots.now, _near_of_round(common, row, rounds))
        i = uint32(first_sources[row] + worker.block * worker.threads + thread)
        last = first_sources[row + 1]
        while i < last:
            source = uint32(sources[i])
            if cuda.atomic.min(words, source, word_of(zero, True)) == nothing:
                _push(source, near)
            i = uint32(i + worker.blocks * worker.threads)
        while True:
            # a round: this block's part of the near vertices and what follows from them
            entries = common.near[row, uint32(rounds & 1)]
            surplus = _near_of_round(common, row, rounds)
            far = _far_of_phase(own, common, row, phase)
            limits = Limits(threshold, bound)
            progress = expand(block, limits, entries, shared, surplus, far, progress)
            near = _near_of_hop(own, progress.hop, progress.slots.now, surplus)
            _spill(block, near, far, phase, nothing)
            meet()
            rounds = uint32(rounds + 1)
            near_slots = slots_of(rounds, COMMON_NEAR)
            if worker.block == 0 and worker.thread == 0:
                common.sizes[near_slots.before] = 0
            shared = common.sizes[near_slots.now]
            if shared > 0:
                continue
            # the phase is over: all distances up to the threshold are final
            phase = uint32(phase + 1)
            if common.sizes[slots_of(phase, COMMON_FAR).now] == 0:
                break
            if targets.size > 0:
                # the threads of a block share the targets. If several blocks work on a row, each
                # looks at all of them: words up to the threshold are final, so all blocks agree
                while target < targets.size:
                    word = words[targets[target]]
                    if word == nothing or value_of(word) > threshold:
                        break
                    target += worker.threads
                if cuda.syncthreads_and(int32(target >= targets.size)):
                    break
            # raise the threshold, and divide the far pile by it
            hop, expanded, slots, least = progress
            far_slots, least_slots = slots_of(phase, COMMON_FAR), slots_of(phase, 0)
            settled, first_far = threshold, value_of(common.least[least_slots.now])
            threshold = bound
            # saturated
            if first_far < number(bound - width):
                threshold = min(bound, number(first_far + width))
            size = common.sizes[far_slots.now]
            if worker.block == 0 and worker.thread == 0:
                common.sizes[far_slots.before] = 0
                common.least[least_slots.before] = nothing
            entries = common.far[row, uint32(phase & 1)]
            near = _near_of_hop(own, hop, slots.now, _near_of_round(common, row, rounds))
            far = _far_of_phase(own, common, row, phase)
            least = split(block, entries, size, settled, threshold, near, far, least)
            progress = Progress(hop, expanded, slots, least)
        write_out(worker, words)
        if worker.thread == 0:
            cuda.atomic.add(counters, (row, EXPANDED), int64(progress.expanded))
            if worker.block == 0:
                counters[row, PHASES] = phase
                counters[row, CLIPPED_ROW] = common.sizes[STATUS]

    return _delta_stepping_kernel


@kernel
def _first_arcs_kernel(indptr, indices, weights, table):
    """Write a table of the first `GROUP` arcs of every vertex, which `arc_of` reads.

    ============= ================== ======== =================================
    argument      shape              dtype    written by
    ============= ================== ======== =================================
    indptr        (n + 1,)           uint32   upload of the graph
    indices       (m,)               uint32   upload of the graph
    weights       (m,)               word     upload of the graph: their bits
    table         (2 * GROUP * n,)   word     here: heads and weights in turn
    ============= ================== ======== =================================

    Padded with arcs to the vertex itself; heads carry `MORE` where that is not all.
    """
    for entry in range(cuda.grid(1), (indptr.size - 1) * GROUP, cuda.gridsize(1)):
        vertex = entry // GROUP
        first, last = indptr[vertex], indptr[vertex + 1]
        arc = first + entry % GROUP
        head, weight = uint32(vertex), weights.dtype.type(0)
        if arc < last:
            head, weight = indices[arc], weights[arc]
        if last - first > GROUP:
            head |= uint32(MORE)
        table[2 * entry], table[2 * entry + 1] = head, weight


def _first_arcs(indptr: Any, indices: Any, bits: Any) -> Any:
    """Return a device array with head and weight of the first `GROUP` arcs of every vertex."""
    table = device_array(2 * GROUP * (indptr.size - 1), bits.dtype)
    stream = cuda.stream()
    _first_arcs_kernel[blocks_for(table.size), THREADS, stream](indptr, indices, bits, table)
    stream.synchronize()
    return table.view(np.uint64)


class _DeltaSearch(Search):
    """Delta-stepping search on one graph, which launches the kernel for batches of sources.

    It does not hold the graph, whose copy on the device may keep it.
    """

    is_replayed = True

    def __init__(
        self, graph: Graph, on_device: DeviceGraph, dtype: np.dtype[Any], delta: float | None
    ) -> None:
        self.n, self.dtype, self.delta = graph.n, dtype, delta
        #: the median weight, divided by the arcs of a vertex: delta is by default so many of these
        self.unit = typical_weight(graph) / max(graph.m / max(graph.n, 1), 1.0)
        self.unsigned = np.dtype(f"u{dtype.itemsize}")
        indptr, indices, weights = on_device.arcs(graph, dtype)
        indptr, indices = indptr.view(np.uint32), indices.view(np.uint32)
        bits = weights.view(self.unsigned)
        table = on_device.array(f"first arcs, {dtype}", lambda: _first_arcs(indptr, indices, bits))
        self.arcs = (indptr, indices, weights, table)
        #: all arguments that the launches depend on
        self.replay_key = key_of((self.arcs, delta, self.n, self.unit))
        # common near and far piles, their sizes, least far distances
        pile = (2, graph.n), np.uint32
        self.row_arrays = pile, pile, ((COMMON_SIZES,), np.uint32), ((SLOTS,), self.unsigned)

    def launch(self, batch: Batch, scratch: tuple[Any, ...]) -> None:
        """Compute a batch's distances: one block per row, or all blocks on one row at a time."""
        words = batch.distances.view(self.unsigned)
        if self.dtype.kind == "f":
            batch.fill(words.view(np.dtype(f"i{self.dtype.itemsize}")), -1)
        n, bound, delta = self.n, batch.bound, self.delta
        together = batch.rows <= FEW_SOURCES + n // VERTICES_A_SOURCE
        if delta is None:
            delta = (DELTA_TOGETHER if together else DELTA_ALONE) * self.unit
        width = bound if delta >= bound else self.dtype.type(delta)
        search = _make_kernel(self.dtype, together=together)
        # as many as the frontier of one source keeps busy, at most all that fit
        blocks, threads = max(1, min(n // VERTICES_A_BLOCK, blocks_at_once())), THREADS_TOGETHER
        if not together:
            # so many threads that all blocks fit
            blocks, threads = batch.rows, MOST_THREADS
            fitting = THREADS_A_MULTIPROCESSOR * blocks_at_once() // batch.rows
            while threads > max(FEWEST_THREADS, fitting):
                threads //= 2
        for first_row in range(batch.rows if together else 1):
            search[blocks, threads, batch.stream](
                *self.arcs, batch.sources, batch.first_sources, batch.targets, bound, width,
                first_row, words, *scratch, batch.counters,
            )  # fmt: skip


def solve(
    graph: Graph, request: Request, method: DeltaStepping, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` by delta-stepping; None if a distance may not fit the dtype.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : DeltaStepping
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """

    def make_search(on_device: DeviceGraph) -> Search:
        build = partial(_DeltaSearch, graph, on_device, dtype, method.delta)
        if method.delta is not None:
            return build()
        return on_device.searches.get_or_build(f"delta-stepping, {dtype}", build)

    return solve_rows(graph, request, method, dtype, make_search)
