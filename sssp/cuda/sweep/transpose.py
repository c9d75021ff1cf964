"""GPU kernels that transpose swept distances, from a row per vertex to a row per source."""

from numba import uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel

#: rows, and columns, of a tile that is transposed
TILE = 2 if SIMULATOR else 32
#: entries between its rows: no two of a column share a bank
PITCH = TILE + 1
#: rows of a tile that a thread turns one by one
TILE_ROWS = 1 if SIMULATOR else 8


@inline
def _as_distance(found, inf, missing, bound, shifts, vertex, sources, row):
    """Remove potentials from a swept distance; return `missing` if unreached or above `bound`."""
    number = type(found)
    shifted = found
    if shifts.size != 0 and found < inf:
        shifted = number(found + number(shifts[vertex] - shifts[sources[row]]))
    if found >= inf or shifted > bound:
        shifted = number(missing)
    return shifted


@kernel
def transpose_kernel(swept, lanes, wanted, places, inf, missing, bound, shifts, sources, distances):
    """Transpose distances, to a row per source; a distance above the limit counts as unreached.

    ========= =============== ====== ============================================
    argument  shape           dtype  written by
    ========= =============== ====== ============================================
    swept     (size * lanes,) number the sweep
    lanes     scalar          uint32 host
    wanted    (t,)            int64  host: targets; empty: all vertices
    places    (t,)            int64  host: where their lanes stand
    inf       scalar          number host: what the sweep writes for none
    missing   scalar          number host: what stands for none in rows
    bound     scalar          number host: greatest distance of interest
    shifts    (n,) or (0,)    number host: potentials, if weights are between them
    sources   (rows,)         int64  host
    distances (rows, columns) number here
    ========= =============== ====== ============================================
    """
    tile = cuda.shared.array((TILE, PITCH), distances.dtype)
    x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    first = uint32(cuda.blockIdx.x * TILE)
    first_row = uint32(cuda.blockIdx.y * TILE)
    columns, rows = uint32(distances.shape[1]), uint32(distances.shape[0])
    i = y
    while i < TILE:
        column, row = uint32(first + i), uint32(first_row + x)
        if column < columns and row < rows:
            vertex = place = uint64(column)
            if wanted.size != 0:
                vertex, place = uint64(wanted[column]), uint64(places[column])
            found = swept[place * uint64(lanes) + uint64(row)]
            tile[i, x] = _as_distance(found, inf, missing, bound, shifts, vertex, sources, row)
        i = uint32(i + TILE_ROWS)
    cuda.syncthreads()
    i = y
    while i < TILE:
        row, column = uint32(first_row + i), uint32(first + x)
        if row < rows and column < columns:
            distances[row, column] = tile[x, i]
        i = uint32(i + TILE_ROWS)


@kernel
def few_transpose_kernel(
    swept, lanes, wanted, places, inf, missing, bound, shifts, sources, distances
):
    """Transpose swept distances to a row per source; those above the limit become unreached.

    ========= =============== ====== ============================================
    argument  shape           dtype  written by
    ========= =============== ====== ============================================
    swept     (size * lanes,) number the sweep
    lanes     scalar          uint32 host
    wanted    (t,)            int64  host: targets; empty: all vertices
    places    (t,)            int64  host: where their lanes stand
    inf       scalar          number host: what the sweep writes for none
    missing   scalar          number host: what stands for none in rows
    bound     scalar          number host: greatest distance of interest
    shifts    (n,) or (0,)    number host: potentials, if weights are between them
    sources   (rows,)         int64  host
    distances (rows, columns) number here
    ========= =============== ====== ============================================
    """
    column = uint32(cuda.grid(1))
    if column >= distances.shape[1]:
        return
    vertex = place = uint64(column)
    if wanted.size != 0:
        vertex, place = uint64(wanted[column]), uint64(places[column])
    for i in range(distances.shape[0]):
        row = uint32(i)
        found = swept[place * uint64(lanes) + uint64(row)]
        distances[row, column] = _as_distance(
            found, inf, missing, bound, shifts, vertex, sources, row
        )
