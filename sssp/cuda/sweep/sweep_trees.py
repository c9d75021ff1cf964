"""Shortest-path trees from the distances of a sweep in lanes, on a GPU.

Where integers are above 0 no two vertices of the same distance are joined by a tight arc, so the
smallest tail among the tight arcs makes a tree (`sssp.cpu.tree`). The arcs that lead to a vertex
stand in order of tail: the first tight one is it. Blocks go through all vertices for some lanes
before they come to the next, so that distances of those lanes stay in the cache.
"""

from numba import int32, uint32, uint64

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.sweep.transpose import PITCH, TILE, TILE_ROWS


@kernel
def tails_kernel(indptr, tails, weights, bound, lanes, rows, transposed, distances, predecessors):
    """Find the predecessor of every vertex in every row: the smallest tail of a tight arc into it.

    ============ ================== ====== ==============================================
    argument     shape              dtype  written by
    ============ ================== ====== ==============================================
    indptr       (n + 1,)           int32  upload of the reversed graph
    tails        (m,)               int32  upload of the reversed graph
    weights      (m,)               number upload of the reversed graph
    bound        scalar             number host: greatest distance of interest
    lanes        scalar             uint32 host: between neighbours in a row
    rows         scalar             uint32 host
    transposed   scalar             bool   host: whether lanes become rows
    distances    (n * lanes,)       number the sweep
    predecessors (n * rows or lanes,) int32 here: of rows, or of lanes; -1 for none
    ============ ================== ====== ==============================================
    """
    tile = cuda.shared.array((TILE, PITCH), int32)
    x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    first, first_row = uint32(cuda.blockIdx.x * TILE), uint32(cuda.blockIdx.y * TILE)
    n, lane = uint32(indptr.size - 1), uint64(uint32(first_row + x))
    i = y
    while i < TILE:
        vertex, found = uint32(first + i), int32(-1)
        if vertex < n:
            place = uint64(vertex) * uint64(lanes) + lane
            end = distances[place]
            arc, stop = uint32(indptr[vertex]), uint32(indptr[uint32(vertex + 1)])
            if end > bound:
                stop = arc
            while arc < stop:
                tail = tails[arc]
                start = distances[uint64(uint32(tail)) * uint64(lanes) + lane]
                if type(end)(start + weights[arc]) == end:
                    found, arc = tail, stop
                else:
                    arc = uint32(arc + 1)
            if not transposed:
                predecessors[place] = found
        tile[i, x] = found
        i = uint32(i + TILE_ROWS)
    if transposed:
        cuda.syncthreads()
        i = y
        while i < TILE:
            row, column = uint32(first_row + i), uint32(first + x)
            if row < rows and column < n:
                predecessors[uint64(row) * uint64(n) + uint64(column)] = tile[x, i]
            i = uint32(i + TILE_ROWS)
