"""Arc streams: downward arcs of each bundle of subtrees, in the order a thread block reads them.

Arcs of a member follow each other, in groups of equal size; arcs that only fill up their group come
from a row that is beyond all others. With the weight of an arc goes a word: the *row* of the vertex
that it comes from (members of the bundle are first, its boundary behind), the *member* that it
leads to, the *level* of that in the bundle, and, of the first arc of a group, a mark where the
member ends with the group. Where a weight has 32 bits, both are one word of 64 bits, else two.

An example, in groups of two arcs: of three members, 0 keeps the arcs a, b, c, member 1 none, and
member 2 the arc d. A dot is an arc that only fills up: it weighs INF.

    group          0      1      2      3
    arcs           a  b   c  .   .  .   d  .
    member         0  0   0  0   1  1   2  2
    member ends    -  -   x  -   x  -   x  -

So kept arcs (3, 0, 1) take (2, 1, 1) groups, before which there are (0, 2, 3), and the stream ends
8 arcs after its begin. A sweep takes whole groups, and is done with a member where the mark is.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64

from sssp.cuda.compiler import inline
from sssp.cuda.device.bits import bits_of, number_of

#: parts of the word of an arc, from the lowest bit: the row, the member, the level, the mark
ROW_BITS, MEMBER_BITS = 11, 10
LEVEL_AT = ROW_BITS + MEMBER_BITS
STREAM_ROW, MEMBER, LEVEL = (1 << ROW_BITS) - 1, (1 << MEMBER_BITS) - 1, (1 << (31 - LEVEL_AT)) - 1
ENDS = 0x80000000
#: largest group
MOST_GROUPED = 4


class ArcStreams(namedtuple("ArcStreams", "stream_first stream_stop stream")):
    """Packed downward arcs in one array, with one range (stream) per bundle of subtrees.

    Attributes
    ----------
    stream_first, stream_stop : device arrays, shape (b,), uint32
        Where the stream of every bundle begins and ends.
    stream : device array, int64
    """


def stream_words(dtype: np.dtype[Any]) -> int:
    """Return how many 64-bit words a packed arc takes: 1 for weights of 4 bytes, else 2."""
    return 1 if dtype.itemsize == 4 else 2


@cache
def make_arc_functions(dtype: np.dtype[Any]) -> tuple[Any, Any, Any]:
    """Return functions that read a packed arc, write one, and read one from shared memory."""
    bits, number, words = bits_of(dtype), number_of(dtype), stream_words(dtype)

    @inline
    def read(stream, place):
        if words == 1:
            word = stream[place]
            return number(word >> 32), uint32(word)
        return number(stream[2 * place]), uint32(stream[2 * place + 1])

    @inline
    def write(stream, place, weight, row):
        if words == 1:
            stream[place] = (int64(bits(weight)) << 32) | int64(row)
        else:
            stream[2 * place] = int64(bits(weight))
            stream[2 * place + 1] = int64(row)

    @inline
    def read_shared(stream, halves, place):
        """Read a packed arc from shared memory; `halves` views that memory as 32-bit words."""
        # (an index cut out of 64 bits takes three instructions more than one of 32)
        first = uint64(place * uint64(words))
        if words == 1:
            weight = number(int32(halves[uint64(uint64(2) * first + uint64(1))]))
            return weight, halves[uint64(uint64(2) * first)]
        return number(stream[first]), halves[uint64(uint64(2) * first + uint64(2))]

    return read, write, read_shared
