"""Count, sum and maximum of the distances from each source of a sweep, on a GPU.

Every block folds what its threads see, and adds it up in one of some places; few meet there. At the
end the places are folded. Integers are the same in any order.
"""

from numba import int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel

#: lanes come in multiples of this: threads of a warp
LANES = 2 if SIMULATOR else 32
#: parts that what is folded in a lane, or the arcs of a vertex on a level, are divided into
SLICES = 2 if SIMULATOR else 16
#: places where blocks add up what they fold, a power of two
SLOTS = 2 if SIMULATOR else 64


@inline
def add_up(totals, lane, reached, total, greatest):
    """Merge a thread's count, sum and maximum for one source into one of the partial results.

    The maximum is one more than the greatest distance; 0: there is none.
    """
    slot = uint32(cuda.blockIdx.x & (SLOTS - 1))
    cuda.atomic.add(totals, (slot, 0, lane), reached)
    cuda.atomic.add(totals, (slot, 1, lane), total)
    cuda.atomic.max(totals, (slot, 2, lane), greatest)


@kernel
def fold_kernel(places, lanes, bound, distances, values, totals):
    """Reduce each source's distances at listed vertices to their count, sum and maximum.

    ========= ================= ====== ==================================================
    argument  shape             dtype  written by
    ========= ================= ====== ==================================================
    places    (count,)          int    host: where they stand
    lanes     scalar            uint32 host
    bound     scalar            number host: greatest distance of interest
    distances (n * lanes,)      number the sweep
    values    (count,)          int64  host: their weights, if they are added up
    totals    (SLOTS, 3, lanes) int64  host: zeros; here, by `add_up`
    ========= ================= ====== ==================================================
    """
    lane = uint32(cuda.blockIdx.y * LANES + cuda.threadIdx.x)
    step = uint32(cuda.gridDim.x * SLICES)
    reached, total, greatest = int64(0), int64(0), int64(0)
    i = uint32(cuda.blockIdx.x * SLICES + cuda.threadIdx.y)
    while i < places.size:
        found = distances[uint64(uint32(places[i])) * uint64(lanes) + uint64(lane)]
        if found <= bound:
            reached += 1
            total += values[i] if values.size != 0 else int64(found)
            greatest = max(greatest, int64(found) + 1)
        i = uint32(i + step)
    add_up(totals, lane, reached, total, greatest)


@kernel
def place_kernel(values, vertices, placed):
    """Copy ``values[vertices]`` to the array `placed`, one thread per entry."""
    place = cuda.grid(1)
    if place < placed.size:
        placed[place] = values[vertices[place]]


@kernel
def total_kernel(totals, words):
    """Combine each source's partial counts, sums and maxima into one count, sum and maximum."""
    lane, word = cuda.grid(1), cuda.blockIdx.y
    if lane < words.shape[1]:
        found = int64(0)
        for slot in range(SLOTS):
            if word < 2:
                found += totals[slot, word, lane]
            else:
                found = max(found, totals[slot, word, lane])
        words[word, lane] = found
