"""Warp primitives: ballots, shuffles, scans, reserved positions in lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline

#: threads of a warp: Numba's simulator knows no warps, but that of the tests has small ones
WARP = getattr(cuda, "warpsize", 1) if SIMULATOR else 32
FULL_WARP = 0xFFFFFFFF


@inline
def ballot(wants):
    """Return a bit mask of the threads of the warp whose argument is true."""
    if WARP == 1:
        return uint32(1) if wants else uint32(0)
    return uint32(cuda.ballot_sync(FULL_WARP, wants))


@inline
def from_lane(value, lane):
    """Return the value that another thread of the warp passes (a shuffle)."""
    return value if WARP == 1 else cuda.shfl_sync(FULL_WARP, value, lane)


@inline
def warp_barrier():
    """Wait for all threads of the warp (a barrier)."""
    if WARP != 1:
        cuda.syncwarp()


@inline
def _own_lane():
    """Return the number of the thread in its warp, read from the hardware."""
    return uint32(0) if WARP == 1 else uint32(cuda.laneid)


@inline
def least_of_warp(value):
    """Return the minimum over the warp, valid in its first thread."""
    offset = WARP // 2
    while offset > 0:
        value = min(value, cuda.shfl_down_sync(FULL_WARP, value, offset))
        offset >>= 1
    return value


@inline
def sum_of_warp(value, lane, threads):
    """Return the sum over the warp's first `threads` threads, valid in its first thread."""
    offset = WARP // 2
    while offset > 0:
        other = cuda.shfl_down_sync(FULL_WARP, value, offset)
        if lane + offset < threads:
            value += other
        offset >>= 1
    return value


@inline
def sums_of_warp(value, lane):
    """Return the inclusive prefix sum of a thread's value within its warp (a scan)."""
    offset = 1
    while offset < WARP:
        before = cuda.shfl_up_sync(FULL_WARP, value, offset)
        if lane >= offset:
            value += before
        offset <<= 1
    return value


@inline
def rank(takers, lane):
    """Return how many threads of the warp before `lane` are in the bit mask `takers`."""
    return uint32(cuda.popc(takers & uint32((uint32(1) << lane) - uint32(1))))


@inline
def reserve(counts, slot, takers, lane):
    """Reserve a list position for each thread in `takers`, by one atomic addition per warp."""
    place = uint32(0)
    if lane == 0:
        # plus its lane, which is 0 and which the compiler does not know to be: where all threads
        # may add to one word it first gathers what they add, and here is only one
        slot = uint32(slot + _own_lane())
        place = cuda.atomic.add(counts, slot, uint32(cuda.popc(takers)))
    return uint32(uint32(from_lane(int32(place), 0)) + rank(takers, lane))


def lower_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that lowers a shared value to the minimum over all threads.

    It must be called by whole warps.
    """
    shuffles = dtype != np.int32

    @inline
    def lower(numbers, place, value):
        least = least_of_warp(value) if shuffles else value
        # (without shuffles the compiler makes this one instruction and one operation a warp)
        if (not shuffles or cuda.threadIdx.x % WARP == 0) and least < numbers[place]:
            cuda.atomic.min(numbers, place, least)

    return lower
