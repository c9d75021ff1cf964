"""GPU customization: shared memory of a bundle of subtrees, and the loop over its triangles.

`sssp.cuda.sweep.customization` explains the words; `basic_pass` and `perfect_pass` have the
kernels.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, from_dtype, int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline
from sssp.cuda.device.bits import bits_of, number_of
from sssp.cuda.device.warp import WARP, warp_barrier
from sssp.cuda.matrix.min_plus import ALIGNMENT
from sssp.cuda.sweep.packed_arcs import ROW_BITS
from sssp.kernels.dtypes import FLOAT32

Crews = tuple[tuple[int, tuple[int, int]], ...]

#: words of ``found``: whether some vertex cannot climb or be climbed down to; by their bits, the
#: greatest weight of an arc before the perfect pass, the greatest distance within the top, and the
#: longest ways up and down, if they have been measured
APART, GREATEST, FARTHEST, LONGEST_UP, LONGEST_DOWN, WORDS = 0, 1, 2, 3, 4, 5
#: threads of a block that takes a vertex, on a level or in the top
VERTEX_THREADS = 2 * WARP if SIMULATOR else 128
#: bytes that the memory of a bundle is counted in: ways up and down along an arc, of any dtype
UNIT = 16
#: more rows than any bundle has
ANY = 1 << ROW_BITS
#: rows up to which a bundle has so many threads, in the basic pass and in the perfect pass
CREWS: Crews = (48, (32, 32)), (64, (256, 256)), (88, (512, 512)), (ANY, (1024, 1024))
#: the same where there are blocks enough, of several sets
CREWS_OF_SETS: Crews = (48, (32, 32)), (64, (64, 128)), (88, (256, 256)), (ANY, (512, 512))
if SIMULATOR:
    CREWS = CREWS_OF_SETS = (4, (WARP, WARP)), (ANY, (2 * WARP, 2 * WARP))
#: bundles of a block, if a warp is enough for each
SIDE_BY_SIDE = 2

#: longer arcs count as that long
FAR = 1e38

#: a length as an integer that orders as it does, and back
length_bits = bits_of(FLOAT32)
length_of_bits = number_of(FLOAT32)


@cache
def make_length_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that converts a weight to a length, a 32-bit float."""
    floats = dtype.kind == "f"

    @inline
    def length_of(weight):
        return float32(min(weight, FAR) if floats else weight)

    return length_of


@inline
def note(found, word, length):
    """Store a path length in a status word if it exceeds the stored length (atomic maximum)."""
    if int32(length_bits(length)) > found[word]:
        cuda.atomic.max(found, word, int32(length_bits(length)))


class Shares(namedtuple("Shares", "ends starts lengths groups up_bits down_bits stop")):
    """Offsets of the arrays of a bundle of vertices in shared memory, in 32-bit words.

    Attributes
    ----------
    ends : uint32
        Where every step ends; before come the numbers, of ways. The rest is the perfect pass's.
    starts : uint32
        Where the arcs of every member begin.
    lengths : uint32
        Of the longest ways up from every row, and after all of them those down.
    groups : uint32
        How many arcs down of every member are kept, and after all of them how many groups come
        before its own.
    up_bits, down_bits : uint32
        Whether arcs up and down are kept, a bit each.
    stop : uint32
        Where all ends.
    """


def _shares(rows: Any, arcs: Any, numbers: Any, words_a_number: Any) -> Shares:
    """Return the positions of the arrays of a bundle of subtrees in its part of shared memory."""
    ends = numbers * words_a_number
    starts = ends + rows
    lengths = starts + rows + 1
    groups = lengths + 2 * rows
    up_bits = groups + 2 * rows
    down_bits = up_bits + arcs // WARP + 1
    return Shares(ends, starts, lengths, groups, up_bits, down_bits, down_bits + arcs // WARP + 1)


_shares_here = inline(_shares)


@inline
def own_shares(room, arc_room, numbers, words_a_number, units):
    """Return the offsets of a bundle's arrays in the shared memory of its thread block."""
    shares = _shares_here(room, arc_room, numbers, words_a_number)
    own = uint32(cuda.threadIdx.y * units * (UNIT // 4))
    return Shares(
        uint32(shares.ends + own),
        uint32(shares.starts + own),
        uint32(shares.lengths + own),
        uint32(shares.groups + own),
        uint32(shares.up_bits + own),
        uint32(shares.down_bits + own),
        uint32(shares.stop + own),
    )


class Room(NamedTuple):
    """Greatest sizes of the tree parts (bundles) that thread blocks process in shared memory.

    Attributes
    ----------
    rows : int
        Most members and boundary vertices of a bundle.
    arcs : int
        Most arcs above its members.
    ways : int
        Most of these and the pairs of its boundary vertices together.
    """

    rows: int
    arcs: int
    ways: int

    def crew(self, sets: int, *, packs: bool) -> tuple[int, int]:
        """Return how many threads a bundle of vertices gets, and how many bundles a block has."""
        crews = CREWS if sets == 1 else CREWS_OF_SETS
        threads = next(crew[packs] for most, crew in crews if self.rows <= most)
        return threads, SIDE_BY_SIDE if threads == WARP else 1

    def numbers(self, *, packs: bool) -> int:
        """Return the maximum number of arc weights stored to customize one bundle of subtrees."""
        return 2 * (self.ways + (self.arcs if packs else 0))

    def shared_bytes(self, dtype: np.dtype[Any], *, packs: bool, outside: bool) -> int:
        """Return the bytes of shared memory for the customization of one bundle of subtrees."""
        numbers = 0 if outside else self.numbers(packs=packs)
        shares = _shares(self.rows, self.arcs, numbers, dtype.itemsize // 4)
        words: int = shares.stop if packs else shares.starts
        return -(-4 * words // UNIT) * UNIT


@inline
def own_block():
    """Return this thread block's number among the blocks of a weight set, and the set's number.

    Blocks of one number are next to each other, so that what sets share is read once.
    """
    block = int64(cuda.blockIdx.y) * int64(cuda.gridDim.x) + int64(cuda.blockIdx.x)
    own = int64(block // int64(cuda.gridDim.y))
    return own, uint32(block - own * int64(cuda.gridDim.y))


@inline
def up_position(arc):
    """Return the index of an arc's upward weight in `numbers`; the downward weight follows.

    (With 64 bits, shifted last, the compiler sees that both can be read at once.)
    """
    return uint64(uint64(uint32(arc)) << uint64(1))


@cache
def make_lend(dtype: np.dtype[Any], *, outside: bool) -> Any:
    """Return a device function that locates a subtree bundle's weights: an array and an offset."""
    number, arcs_a_unit = from_dtype(dtype), UNIT // 2 // dtype.itemsize

    @inline
    def lend(spare, in_tier, weighed, numbers, units):
        if outside:
            own = int64(in_tier) * int64(cuda.gridDim.y) + int64(weighed)
            begin = int64(own * int64(numbers))
            return spare[begin : begin + int64(numbers)], uint32(0)
        shared = cuda.shared.array(0, number, alignment=ALIGNMENT)
        return shared, uint32(cuda.threadIdx.y * units * arcs_a_unit)

    return lend


@inline
def meet():
    """Wait until all threads that work on a bundle of subtrees arrive (a barrier)."""
    if cuda.blockDim.y > 1:
        warp_barrier()
    else:
        cuda.syncthreads()


@cache
def make_walk(relax: Any, *, from_below: bool) -> Any:
    """Return a device function that relaxes the triangles in a bundle of subtrees, depth by depth.

    Words say where every step ends, in the order in which they are walked.

    - *depth*: of a vertex in the elimination tree.
    - *step*: the members of a bundle that have one depth, and the triangles of which they are the
      lower corner. These are relaxed side by side.
    - *stage*: number of a step in the order of the walk. The perfect pass begins with the highest
      members; with `from_below`, in the basic pass, stage 0 is the deepest ones.

    ``relax(numbers, basic, ways, legs, third)`` takes one of them, by its words; `basic` and `ways`
    are the places of a bundle's first arc, as it was and as it becomes.
    """

    @inline
    def triangle(legs, thirds, own):
        """Return the arc numbers of a triangle: two arcs packed in one word, and the third arc."""
        at = uint32(uint32(legs.size - 1) - own) if from_below else own
        return legs[at], uint32(thirds[at])

    @inline
    def find_next(words, ends_at, stages, own, stage):
        """Return the position of this thread's next triangle, and the number of its step (depth).

        In every step a thread takes the triangle of its own number, and every `blockDim.x`-th after
        it. Where that leads beyond the end of a step it begins anew in the next one.
        """
        while stage < stages and own >= words[uint32(ends_at + stage)]:
            own = uint32(words[uint32(ends_at + stage)] + cuda.threadIdx.x)
            stage = uint32(stage + 1)
        return own, stage

    @inline
    def walk(words, ends_at, stages, legs, thirds, numbers, basic, ways):
        """Relax all triangles of a bundle (the vertices of a thread block), stage by stage.

        The words of a triangle take long to come, so a thread asks for them two triangles ahead. Of
        a thread with the triangles A, B in stage 0 and C, D, E in stage 1, in time:

            asks for   A B   C   D           E   -   -
            relaxes          A   B   meet    C   D   E   meet
            stage            0   0           1   1   1

        So while A is relaxed, B (`next`) and C (`then`) are on their way. `own` and `later` are the
        position and the stage of the triangle to ask for after these. Asking early is safe
        across a barrier: words of triangles do not change, only weights do.
        """
        threads = uint32(cuda.blockDim.x)
        # a thread's next two triangles are on their way while it relaxes, and while it waits
        own, later = find_next(words, ends_at, stages, uint32(cuda.threadIdx.x), uint32(0))
        next_leg, next_third, next_stage = uint32(0), uint32(0), later
        if later < stages:
            next_leg, next_third = triangle(legs, thirds, own)
            own, later = find_next(words, ends_at, stages, uint32(own + threads), later)
        then_leg, then_third, then_stage = uint32(0), uint32(0), later
        if later < stages:
            then_leg, then_third = triangle(legs, thirds, own)
            own, later = find_next(words, ends_at, stages, uint32(own + threads), later)
        stage = uint32(0)
        while stage < stages:
            while next_stage == stage:
                leg, third = next_leg, next_third
                next_leg, next_third, next_stage = then_leg, then_third, then_stage
                then_stage = later
                if later < stages:
                    then_leg, then_third = triangle(legs, thirds, own)
                    own, later = find_next(words, ends_at, stages, uint32(own + threads), later)
                relax(numbers, basic, ways, leg, third)
            meet()
            stage = uint32(stage + 1)

    return walk
