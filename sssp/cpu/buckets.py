"""Buckets of vertices by distance: doubly linked lists through the vertices themselves.

A vertex stands in one bucket at most, so memory is a few words a vertex, and to move it costs
O(1). `BUCKETS` buckets cover a window of distances; one more list holds everything beyond it. When
the window is used up, it jumps to the least distance beyond, so that gaps cost nothing and one
very long arc needs no more buckets.

The number of a bucket is ``int(distance * scale)``. It never decreases as distances grow, whatever
the rounding, and that is all that a search needs. A bucket of the window has that number less
that of the window's first.

``links`` is an array of records, one a vertex, with the fields of `LINK` among others; ``heads``
int32, shape (`BUCKETS` + 1,), the first vertex of every list. Vertices are unsigned where they
index.
"""

from __future__ import annotations

import numpy as np

from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit

__all__ = [
    "BEYOND",
    "BUCKETS",
    "LINK",
    "NEVER",
    "NONE",
    "gather",
    "least_beyond",
    "link",
    "pop",
    "rebase",
    "unlink",
]

#: buckets of the window; the list after the last one is "beyond"
BUCKETS = 512
BEYOND = BUCKETS
#: bucket number of nothing: above every distance, also in buckets of width 1
NEVER = (1 << 63) - 1
#: what a vertex needs to stand in a list: its neighbours there, and the list itself
LINK = [("next", INDEX), ("previous", INDEX), ("bucket", INDEX)]
NONE = -1


@njit(inline="always")
def link(links, heads, bucket, vertex):
    """Put `vertex` at the front of a list."""
    slot = np.uint32(bucket)
    name = np.int32(vertex)
    after = heads[slot]
    heads[slot] = name
    if after != NONE:
        links[np.uint32(after)].previous = name
    links[vertex].next = after
    links[vertex].previous = NONE
    links[vertex].bucket = bucket


@njit(inline="always")
def unlink(links, heads, vertex):
    """Take `vertex` out of the list that it stands in."""
    bucket = links[vertex].bucket
    after, before = links[vertex].next, links[vertex].previous
    if after != NONE:
        links[np.uint32(after)].previous = before
    if before != NONE:
        links[np.uint32(before)].next = after
    else:
        heads[np.uint32(bucket)] = after
    links[vertex].bucket = NONE


@njit(inline="always")
def pop(links, heads, bucket):
    """Take the front vertex out of a list that is not empty; cheaper than `unlink`."""
    vertex = np.uint32(heads[bucket])
    after = links[vertex].next
    heads[bucket] = after
    if after != NONE:
        links[np.uint32(after)].previous = NONE
    links[vertex].bucket = NONE
    return vertex


@njit
def gather(links, heads):
    """Move all vertices of the window beyond it."""
    for bucket in range(BUCKETS):
        while heads[bucket] != NONE:
            link(links, heads, np.int32(BEYOND), pop(links, heads, bucket))


@njit(inline="always")
def least_beyond(links, heads, distances, scale):
    """Least bucket number beyond the window; `NEVER` if there is none."""
    least = np.int64(NEVER)
    vertex = heads[BEYOND]
    while vertex != NONE:
        least = min(least, np.int64(distances[vertex] * scale))
        vertex = links[vertex].next
    return least


@njit(inline="always")
def rebase(links, heads, distances, base, scale):
    """Let the window begin at bucket number `base`."""
    vertex = heads[BEYOND]
    heads[BEYOND] = NONE
    while vertex != NONE:
        after = links[vertex].next
        bucket = min(np.int64(distances[vertex] * scale) - base, BUCKETS)
        link(links, heads, np.int32(bucket), np.uint32(vertex))
        vertex = after
