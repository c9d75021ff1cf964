"""Threads of a warp that act together; in the simulator a warp is a thread of its own."""

from __future__ import annotations

from numba import int32, uint32

from sssp.cuda._numba import SIMULATOR, cuda, inline

__all__ = ["WARP", "ballot", "from_lane", "least_of_warp", "meet", "rank", "reserve"]

WARP = 1 if SIMULATOR else 32
FULL_WARP = 0xFFFFFFFF

if SIMULATOR:

    @inline
    def ballot(wants):
        """Return which threads of the warp want something, one bit each."""
        return uint32(1) if wants else uint32(0)

    @inline
    def from_lane(value, lane):
        """Value of a thread of the warp."""
        return value

    @inline
    def least_of_warp(value):
        """Least value in the warp, known to its first thread."""
        return value

    @inline
    def meet():
        """Barrier of the warp."""

else:

    @inline
    def ballot(wants):
        """Return which threads of the warp want something, one bit each."""
        return uint32(cuda.ballot_sync(FULL_WARP, wants))

    @inline
    def from_lane(value, lane):
        """Value of a thread of the warp."""
        return cuda.shfl_sync(FULL_WARP, value, lane)

    @inline
    def least_of_warp(value):
        """Least value in the warp, known to its first thread."""
        offset = 16
        while offset > 0:
            value = min(value, cuda.shfl_down_sync(FULL_WARP, value, offset))
            offset >>= 1
        return value

    @inline
    def meet():
        """Barrier of the warp."""
        cuda.syncwarp()


@inline
def rank(takers, lane):
    """How many threads of the warp before this one are among the takers."""
    return uint32(cuda.popc(takers & uint32((uint32(1) << lane) - uint32(1))))


@inline
def reserve(counts, slot, takers, lane):
    """Place in a list for every taker: one atomic operation a warp."""
    place = uint32(0)
    if lane == 0:
        place = cuda.atomic.add(counts, slot, uint32(cuda.popc(takers)))
    return uint32(uint32(from_lane(int32(place), 0)) + rank(takers, lane))
