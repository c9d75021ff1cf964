"""The upward search (climb) from a source to the top of the elimination tree, on a GPU.

A thread block climbs along one path of the elimination tree; the arcs of the next vertices on the
path are loaded ahead. From where it enters the top, one step over a dense matrix finds the
distances of all that is there. A climb always goes up to the top: no bound ends it earlier.
"""

from collections import namedtuple

from numba import int32, int64, uint32, uint64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel

#: threads that climb from a source
CLIMB_THREADS = 4 if SIMULATOR else 128
#: vertices of the top for each of them
SHARE = 2 if SIMULATOR else 5
#: most vertices of the top
TOP = CLIMB_THREADS * SHARE
#: vertices of the path, and rows of the top, that are read at once, for they come from far
AHEAD = 4
#: most times that a path leaves a chain: at least doubling its subtree
MOST_CHAINS = 32


class Path(namedtuple("Path", "chains offsets known count")):
    """The elimination tree path from a vertex to the top, as runs (chains) of consecutive ranks.

    Attributes
    ----------
    chains, offsets : array
        The first rank of every chain, and how many vertices come before it.
    known, count : uint32
        Number of chains, and of their vertices.
    """


class Climb(namedtuple("Climb", "bottom count starts stops depths weights way thread inf")):
    """State of an upward search: distances by depth; arcs of the source and its ancestors."""


@inline
def _list_chains(rank, chain, leap, chains, offsets):
    """List the chains (runs of consecutive ranks) on a rank's path up the elimination tree.

    Return how many chains there are, and how many vertices they have.
    """
    known, length = uint32(0), int32(0)
    while rank >= 0:
        chains[known], offsets[known] = rank, length
        length = int32(length + chain[rank] - rank + 1)
        known = uint32(known + 1)
        rank = leap[rank]
    return known, length


@inline
def _note_arcs(path, arcs_first, arcs_stop, start, stop, thread):
    """Write the first and end positions of the upward arcs of every vertex on an upward path."""
    i = thread
    while i < path.count:
        own = uint32(path.known - 1)
        while uint32(path.offsets[own]) > i:
            own = uint32(own - 1)
        passed = uint32(uint32(path.chains[own]) + i - uint32(path.offsets[own]))
        start[i], stop[i] = arcs_first[passed], arcs_stop[passed]
        i = uint32(i + CLIMB_THREADS)


@inline
def _find_doors(path, places, depth, first, upper, way, doors, door_ways, thread):
    """List the heads of arcs from an upward path's last vertex, with distances; return how many."""
    own = uint32(path.known - 1)
    last = uint32(uint32(path.chains[own]) + path.count - 1 - uint32(path.offsets[own]))
    begin = first[last]
    entered = uint32(first[uint32(last + 1)] - begin)
    i = thread
    while i < entered:
        above = upper[uint32(begin + i)]
        doors[i], door_ways[i] = uint32(places[above]), way[uint32(depth[above])]
        i = uint32(i + CLIMB_THREADS)
    return entered


@inline
def _load_arc(i, climb):
    """Return the weight and the head's depth of this thread's first arc out of path vertex `i`."""
    weight, depth = climb.inf, int32(0)
    if i < climb.count:
        arc = uint32(climb.starts[i] + climb.thread)
        if arc < climb.stops[i]:
            weight, depth = climb.weights[arc], climb.depths[arc]
    return weight, depth


@inline
def _relax(i, weight, depth, climb):
    """Relax the upward arcs of vertex `i` of an upward path, with all threads of the block."""
    way = climb.way
    if i < climb.count:
        here = way[uint32(climb.bottom - i)]
        found = type(here)(here + weight)
        if found < way[uint32(depth)]:
            way[uint32(depth)] = found
        further = uint32(climb.starts[i] + climb.thread + CLIMB_THREADS)
        while further < climb.stops[i]:
            found = type(here)(here + climb.weights[further])
            if found < way[uint32(climb.depths[further])]:
                way[uint32(climb.depths[further])] = found
            further = uint32(further + CLIMB_THREADS)
    cuda.syncthreads()


@inline
def _climb_path(climb):
    """Relax the upward arcs along the path from a source to the top of the elimination tree."""
    weights = cuda.local.array(AHEAD, climb.weights.dtype)
    depths = cuda.local.array(AHEAD, int32)
    for k in range(AHEAD):
        weights[k], depths[k] = _load_arc(uint32(k), climb)
    i = uint32(0)
    while i < climb.count:
        for k in range(AHEAD):
            _relax(uint32(i + uint32(k)), weights[k], depths[k], climb)
            weights[k], depths[k] = _load_arc(uint32(i + uint32(k + AHEAD)), climb)
        i = uint32(i + AHEAD)


@inline
def _cross_top(entered, doors, door_ways, top, between, least, thread, inf):
    """Compute distances to all top vertices of the tree, using the matrix of their distances."""
    for share in range(SHARE):
        least[share] = inf
    i = uint32(0)
    while i < entered:
        for share in range(SHARE):
            column = min(uint32(share * CLIMB_THREADS + thread), uint32(top - 1))
            for k in range(AHEAD):
                door = min(uint32(i + uint32(k)), uint32(entered - 1))
                found = type(inf)(door_ways[door] + between[uint32(doors[door] * top + column)])
                least[share] = min(found, least[share])
        i = uint32(i + AHEAD)


@kernel
def climb_kernel(
    given, rank_of, ranks, places, vertices, chain, leap, depth, kept_first, up_stop, up_depths,
    up_weights, first, upper, top, between, inf, sources, starts, stops, ways, source_ranks,
    counters, lanes, distances,
):  # fmt: skip
    """Search upward from each source, one block per source; write the top vertices' distances.

    ============ ============== ====== =====================================================
    argument     shape          dtype  written by
    ============ ============== ====== =====================================================
    given        (rows, ...)    int64  host: the sources, in its memory
    rank_of      (n,)           int32  host: of vertices
    ranks        (n,)           int32  host: of places
    places       (n,)           int32  host: of ranks
    vertices     (n,)           int32  host: of places
    chain        (n,)           int32  host: the last rank of the chain, below the top
    leap         (n,)           int32  host: the rank above it, -1 where the top begins
    depth        (n,)           int32  host: of ranks
    kept_first   (n,)           uint32 host: where the kept arcs of every rank begin
    up_stop      (n,)           uint32 customization: where those up from it end
    up_depths    (c,)           int32  customization: of their ends
    up_weights   (c,)           number customization
    first        (n + 1,)       uint32 host: where the chordal arcs of every rank begin
    upper        (chordal,)     int32  host: ranks above
    top          scalar         uint32 host: places of the top
    between      (top * top,)   number Floyd-Warshall
    inf          scalar         number host: `infinity`
    sources      (rows,)        int64  here
    starts       (rows, height) uint32 here: arcs of the vertices on the path, from
    stops        (rows, height) uint32 here: to
    ways         (rows, height) number here: lengths of the ways up, by depth
    source_ranks (lanes,)       int32  here
    counters     (rows, words)  int64  here: vertices passed, and all of them
    lanes        scalar         uint32 host
    distances    (n * lanes,)   number here: of the top
    ============ ============== ====== =====================================================
    """
    chains = cuda.shared.array(MOST_CHAINS, int32)
    offsets = cuda.shared.array(MOST_CHAINS, int32)
    lengths = cuda.shared.array(2, int32)
    doors = cuda.shared.array(TOP, uint32)
    door_ways = cuda.shared.array(TOP, up_weights.dtype)
    least = cuda.local.array(SHARE, up_weights.dtype)
    thread, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    source = given[row]
    rank = rank_of[source]
    bottom = uint32(depth[rank])
    start, stop, way = starts[row], stops[row], ways[row]
    i = thread
    while i <= bottom:
        way[i] = inf
        i = uint32(i + CLIMB_THREADS)
    if thread == 0:
        sources[row], source_ranks[row] = source, rank
        counters[row, 0], counters[row, 1] = int64(bottom) + 1, ranks.size
        above = rank
        if uint32(places[rank]) < top:
            above = int32(-1)
        known, length = _list_chains(above, chain, leap, chains, offsets)
        lengths[0], lengths[1] = int32(known), length
    cuda.syncthreads()
    path = Path(chains, offsets, uint32(lengths[0]), uint32(lengths[1]))
    if thread == 0:
        way[bottom] = 0
    _note_arcs(path, kept_first, up_stop, start, stop, thread)
    cuda.syncthreads()
    _climb_path(Climb(bottom, path.count, start, stop, up_depths, up_weights, way, thread, inf))
    entered = uint32(1)
    if path.count > 0:
        entered = _find_doors(path, places, depth, first, upper, way, doors, door_ways, thread)
    elif thread == 0:  # the source is in the top
        doors[0], door_ways[0] = uint32(places[rank]), 0
    cuda.syncthreads()
    _cross_top(entered, doors, door_ways, top, between, least, thread, inf)
    for share in range(SHARE):
        column = uint32(share * CLIMB_THREADS + thread)
        if column < top:
            vertex = uint64(uint32(vertices[column]))
            distances[vertex * uint64(lanes) + uint64(row)] = least[share]
