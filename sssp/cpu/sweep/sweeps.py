"""Distances from sources on a hierarchy: an upward search (climb) and a sweep (PHAST).

Delling, Goldberg, Nowatzyk and Werneck, "PHAST" (2011), on the elimination tree of Dibbelt,
Strasser and Wagner (2016).

A source climbs: all that a way up leads to is an ancestor in the elimination tree, so its ways up
are found along one path of the tree, without a queue. Then all ranks are swept from the top: what
is above a vertex is final when it is swept, and its distance is the least over the arcs from
there, or what the source's climb brought. Both only add and compare along arrays that lie in order
of rank.

Many sources are swept `LANES` at a time: side by side in memory, a vertex after the other, so that
one vector instruction serves them all. Their distances stand in order of vertex right away. Ranks
that are no ancestors of a source get no entry before they are swept, so nothing is filled first.

With targets, only these and their ancestors are swept (`sssp.cpu.sweep.target_selection`).

Arcs come in a tuple, those of a base and a layer over it (`sssp.cpu.sweep.partial_customization`):
first, ends and weights by rank, then the ranks that have others, ascending, and first, ends and
weights by place among those. A kernel passes the ranks in order, and so these too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree import grow, reset
from sssp.cpu.vectors import add, fill, load, minimum, store
from sssp.kernels.dtypes import Number
from sssp.kernels.jit import njit, njit_uncounted

#: sources that are swept side by side: a cache line of int32
LANES = 16
ZERO, ONE, WIDE = np.uint64(0), np.uint64(1), np.uint64(LANES)
#: vertices on paths for which there is room at first
FIRST_CAPACITY = 4096
#: greater than any rank
ALL = np.uint64(1) << np.uint64(40)
#: arcs of a base and a layer, as kernels take them
Arcs = tuple[NDArray[Any], ...]


@njit
def place_from(rank, ranks):
    """Return the first position in ascending `ranks` whose rank is at least `rank`."""
    low, high = np.int64(0), ranks.size
    while low < high:
        middle = (low + high) >> 1
        if ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _relax_arcs(distance, start, end, ends, weights, distances):
    """Relax the upward arcs ``start..end-1`` of a rank whose distance is `distance`."""
    number = distances.dtype.type
    for arc in range(np.uint64(start), np.uint64(end)):
        candidate = number(distance + weights[arc])
        if candidate < distances[ends[arc]]:
            distances[ends[arc]] = candidate


@njit_uncounted
def _relax_rank(rank, place, arcs, distances):
    """Relax the upward arcs of a rank, with its changed weights if there are any."""
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    distance = distances[rank]
    if place < ranks.size and ranks[place] == rank:
        start, end = own_first[place], own_first[place + 1]
        _relax_arcs(distance, start, end, own_ends, own_weights, distances)
    else:
        _relax_arcs(distance, first[rank], first[rank + 1], ends, weights, distances)


@njit
def climb_kernel(source, parent, arcs, inf, distances):
    """Find the upward distances from a source; return the number of visited ranks.

    Arguments
    ---------
    source : rank
    parent : of every rank in the elimination tree
    arcs : those up
    distances : shape (n,), at INF; written at ancestors of the source
    """
    ranks = arcs[3]
    distances[source] = 0
    passed = 0
    rank = np.int64(source)
    place = place_from(rank, ranks)
    while rank >= 0:
        while place < ranks.size and ranks[place] < rank:
            place += 1
        if distances[rank] < inf:
            _relax_rank(rank, place, arcs, distances)
        passed += 1
        rank = np.int64(parent[rank])
    return passed


@njit
def climb_all_kernel(arcs, inf, distances):
    """Relax the upward arcs of all ranks that have a distance, in one pass from the lowest up."""
    ranks, place = arcs[3], 0
    for rank in range(distances.size):
        if distances[rank] < inf:
            _relax_rank(rank, place, arcs, distances)
        place += place < ranks.size and ranks[place] == rank


@njit
def _least_over_arcs(least, start, end, ends, weights, distances):
    """Return the least of a rank's distance and the distances over some downward arcs to it."""
    number = distances.dtype.type
    for arc in range(np.uint64(start), np.uint64(end)):
        least = min(least, number(distances[ends[arc]] + weights[arc]))
    return least


@njit
def sweep_kernel(arcs, distances, greatest, order, row, unseen):
    """Complete the distances by a downward sweep of all ranks; return the number of reached ranks.

    Arguments
    ---------
    arcs : those down to every rank
    distances : shape (n,), by rank: what the climb brought, INF elsewhere; written
    greatest : what is above is unreached
    order : the place in `row` of every rank
    row : shape (n,), written
    unseen : what stands for unreached there
    """
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    reached = 0
    place = ranks.size
    following = np.uint64(ranks[place - 1]) if place else ALL
    rank = np.uint64(distances.size)
    end = np.uint64(first[rank])
    while rank > ZERO:
        rank -= ONE
        start = np.uint64(first[rank])
        if rank == following:
            place -= 1
            own, own_end = own_first[place], own_first[place + 1]
            least = distances[rank]
            least = _least_over_arcs(least, own, own_end, own_ends, own_weights, distances)
            following = np.uint64(ranks[place - 1]) if place else ALL
        else:
            least = _least_over_arcs(distances[rank], start, end, ends, weights, distances)
        end = start
        distances[rank] = least
        row[order[rank]] = least if least <= greatest else unseen
        reached += least <= greatest
    return reached


@njit
def sweep_within_kernel(
    source, size, upper_first, upper, arcs, distances, inf, bound, order, row, reached, visited
):
    """Find distances from one source up to a bound, by a sweep that skips far subtrees.

    A subtree without the source, from whose root all chordal arcs lead up to ranks beyond the
    bound, is passed over: all that leads into it comes from those.

    Arguments
    ---------
    source : rank
    size : of the subtree of every rank
    upper_first, upper : chordal arcs of the structure
    arcs : those down to every rank
    distances : shape (n,), by rank: what the climb brought; INF again afterwards
    bound : greatest distance of interest
    order : the vertex of every rank
    row : by vertex, written where a distance is within the bound
    reached : shape (n,), int32: the vertices where that is; written
    visited : shape (n,), int32: the ranks that were visited; written

    Returns
    -------
    int, int
        Numbers of vertices reached and of ranks visited.
    """
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    found = looked_at = 0
    rank = distances.size - 1
    place = ranks.size - 1
    while rank >= 0:
        while place >= 0 and ranks[place] > rank:
            place -= 1
        least = distances[rank]
        if place >= 0 and ranks[place] == rank:
            start, end = own_first[place], own_first[place + 1]
            least = _least_over_arcs(least, start, end, own_ends, own_weights, distances)
        else:
            least = _least_over_arcs(least, first[rank], first[rank + 1], ends, weights, distances)
        distances[rank] = least
        visited[looked_at] = rank
        looked_at += 1
        if least <= bound:
            row[order[rank]] = least
            reached[found] = order[rank]
            found += 1
        elif not rank - size[rank] < source <= rank:
            is_far = True
            for arc in range(upper_first[rank], upper_first[rank + 1]):
                if distances[upper[arc]] <= bound:
                    is_far = False
                    break
            if is_far:
                rank -= size[rank] - 1
        rank -= 1
    for i in range(looked_at):
        distances[visited[i]] = inf
    return found, looked_at


@njit
def climb_lanes_kernel(
    sources, parent, arcs, inf, distances, places, is_open, block, start, lanes, passed
):
    """Compute the distances over upward arcs from each source into a column of `block`.

    Arguments
    ---------
    sources : ranks
    parent, ..., distances : of `climb_kernel`; distances are INF again afterwards
    places : the place in `block` of every rank; -1: none
    is_open : shape (places,), uint8: whether anything stands in a row of the block; written
    block : shape (places, lanes of all); `lanes` of them from `start` on are written
    passed : shape (sources,): how many ranks were passed
    """
    for lane in range(sources.size):
        passed[lane] = climb_kernel(sources[lane], parent, arcs, inf, distances)
        rank = np.int64(sources[lane])
        while rank >= 0:
            place = places[rank]
            if place >= 0:
                if not is_open[place]:
                    is_open[place] = 1
                    for other in range(start, start + lanes):
                        block[place, other] = inf
                block[place, start + lane] = distances[rank]
            distances[rank] = inf
            rank = np.int64(parent[rank])


@njit
def clear_marks_kernel(sources, parent, places, is_open):
    """Clear the marks in `is_open` of all ancestors of the sources."""
    for source in sources:
        rank = np.int64(source)
        while rank >= 0:
            if places[rank] >= 0:
                is_open[places[rank]] = 0
            rank = np.int64(parent[rank])


@njit
def _sweep_lanes_kernel(first, ends, weights, order, is_open, block, stride, groups, inf):
    """Relax the downward arcs of consecutive ranks, highest first, for many sources at once."""
    rank = np.uint64(order.size)
    end = np.uint64(first[rank])
    while rank > ZERO:
        rank -= ONE
        start = np.uint64(first[rank])
        place = np.uint64(order[rank])
        for group in range(groups):
            row = place * stride + group
            near = load(block, row, LANES) if is_open[place] else fill(inf, LANES)
            for arc in range(start, end):
                far = load(block, np.uint64(ends[arc]) * stride + group, LANES)
                near = minimum(near, add(far, weights[arc]))
            store(block, row, near)
        end = start


@njit
def sweep_lanes_kernel(arcs, order, is_open, block, stride, groups, inf):
    """Sweep all selected ranks for many sources, one lane per source.

    Arguments
    ---------
    arcs : those down to every rank of a selection; ends are places in `block`
    order : the place of every rank
    is_open : by place, whether a climb brought anything
    block : shape (any, LANES): `stride` rows of every place, one after the other; written
    stride, groups : uint64; the first `groups` rows of every place are swept
    """
    # of the base: where the arcs of every rank begin; their upper ends, and their weights. Of the
    # layer: the ranks that have other arcs, ascending; then the same three by place among those
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    lanes, high = (is_open, block, stride, groups, inf), order.size
    # from the top: the ranks between two of the layer, down to rank + 1; then that rank by itself
    for i in range(ranks.size):
        place = ranks.size - 1 - i
        rank = np.int64(ranks[place])
        below, own = first[rank + 1 : high + 1], own_first[place : place + 2]
        _sweep_lanes_kernel(below, ends, weights, order[rank + 1 : high], *lanes)
        _sweep_lanes_kernel(own, own_ends, own_weights, order[rank : rank + 1], *lanes)
        high = rank
    _sweep_lanes_kernel(first[: high + 1], ends, weights, order[:high], *lanes)


@njit
def cut_kernel(block, start, end, greatest, unseen):
    """Replace the distances above `greatest` by the unreached value in columns start..end-1."""
    for place in range(block.shape[0]):
        row = block[place, start:end]
        for lane in range(row.size):
            row[lane] = row[lane] if row[lane] <= greatest else unseen


@njit
def shift_kernel(block, start, heights, source_heights, unseen):
    """Convert distances in weights reduced by potentials to distances in the graph's weights."""
    number = block.dtype.type
    for place in range(block.shape[0]):
        for i in range(source_heights.size):
            distance = block[place, start + i]
            if distance != unseen:
                block[place, start + i] = number(distance + heights[place] - source_heights[i])


def lanes_memory(places: int, lanes: int, dtype: Number) -> NDArray[Any]:
    """Return an uninitialized matrix of `places` rows and `lanes` columns, in aligned memory."""
    size, line = places * lanes * dtype.itemsize, LANES * dtype.itemsize
    flat = np.empty(size + line, np.uint8)
    start = -flat.ctypes.data % line
    return flat[start : start + size].view(dtype).reshape(places, lanes)


# ---- paths to a few targets, each from its end, without a sweep of all ranks
#
# A path goes back from its target over tight arcs, always to the smallest tail (`sssp.cpu.tree`):
# it needs the distances of its own vertices and of the tails of arcs into them. The distance of a
# rank depends on the ranks above it alone. So every rank that is needed is swept on demand, with
# its ancestors up to the root: the lazy sweep of Strasser and Zeitz, "A fast and tight heuristic
# for A* in road networks" (SEA 2021).


@njit_uncounted
def _sweep_to(rank, parent, arcs, distances, known, visited, looked_at):
    """Compute the distances of a rank and its ancestors; return how many ranks are now visited."""
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs
    begin, above = looked_at, np.int64(rank)
    while above >= 0 and not known[np.uint64(above)]:
        known[np.uint64(above)] = True
        visited[looked_at] = above
        looked_at += ONE
        above = np.int64(parent[np.uint64(above)])
    place = looked_at
    while place > begin:
        place -= ONE
        below = np.uint64(visited[place])
        least, changed = distances[below], place_from(below, ranks)
        if changed < ranks.size and ranks[changed] == below:
            start, end = own_first[changed], own_first[changed + 1]
            least = _least_over_arcs(least, start, end, own_ends, own_weights, distances)
        else:
            start, end = first[below], first[below + ONE]
            least = _least_over_arcs(least, start, end, ends, weights, distances)
        distances[below] = least
    return looked_at


@njit
def paths_kernel(
    source, targets, parent, arcs, distances, inf, bound, slack, rank_of, indptr, tails,
    arc_weights, row, reached, predecessors, visited, known,
):  # fmt: skip
    """Find the paths from a source to targets: from each target backward along tight arcs.

    What is swept is the ranks of the targets, and of the tails of arcs into the paths, and what is
    above them. No arc may join two vertices at the same distance: the smallest tail is the next.
    An arc counts as tight if it is too long by at most `slack` of the distance; if rounding leaves
    none, the shortest way in is taken.

    Arguments
    ---------
    source : rank
    targets : vertices
    parent : of every rank in the elimination tree
    arcs : those down to every rank
    distances : shape (n,), by rank: what the climb brought; INF again afterwards
    bound : greatest distance of interest
    slack : what rounding may add to a distance, as a part of it; 0 for integers
    rank_of : the rank of every vertex
    indptr, tails, arc_weights : the arcs that end at every vertex, in order of tail
    row : by vertex, written on the paths
    reached : shape (n,), int32: the vertices on the paths, each once; written
    predecessors : shape (n,), int32: their tails, but for the source; written
    visited : shape (n,), int32: the ranks that were visited; written
    known : shape (n,), bool: False, and again afterwards

    Returns
    -------
    int, int
        Numbers of vertices on the paths and of ranks visited.
    """
    number = distances.dtype.type
    found, looked_at = ZERO, ZERO
    for target in targets:
        vertex = np.uint64(target)
        rank = np.uint64(rank_of[vertex])
        looked_at = _sweep_to(rank, parent, arcs, distances, known, visited, looked_at)
        # (a path ends where it comes to another one, or to the source)
        while distances[rank] <= bound and row[vertex] != distances[rank]:
            distance = distances[rank]
            row[vertex] = distance
            reached[found] = vertex
            found += ONE
            if rank == np.uint64(source):
                break
            tight, least, nearest = number(distance + slack * distance), inf, vertex
            for arc in range(np.uint64(indptr[vertex]), np.uint64(indptr[vertex + ONE])):
                tail = np.uint64(tails[arc])
                rank = np.uint64(rank_of[tail])
                looked_at = _sweep_to(rank, parent, arcs, distances, known, visited, looked_at)
                length = number(distances[rank] + arc_weights[arc])
                if length < least:
                    least, nearest = length, tail
                    if length <= tight:
                        break
            predecessors[vertex] = nearest
            vertex = nearest
            rank = np.uint64(rank_of[vertex])
    for place in range(looked_at):
        rank = np.uint64(visited[place])
        distances[rank] = inf
        known[rank] = False
    above = np.int64(source)
    while above >= 0:
        distances[np.uint64(above)] = inf
        above = np.int64(parent[np.uint64(above)])
    return found, looked_at


@njit
def trips_kernel(
    sources, offsets, targets, parent, up, down, climbed, inf, bound, slack, rank_of, back, row,
    unseen, reached, predecessors, visited, known, distances, firsts, counters,
):  # fmt: skip
    """Find distances and paths of the trips from some sources; all paths go to one array.

    Arguments
    ---------
    sources : ranks
    offsets : where the targets of every source begin, and where the last ones end
    targets : vertices
    parent : of every rank in the elimination tree
    up, down : the arcs up from every rank, and down to it
    climbed : shape (n,), at INF, and again afterwards
    inf, bound, slack, rank_of, visited, known : of `paths_kernel`
    back : the arcs that end at every vertex, in order of tail
    row : shape (n,), at `unseen`, and again afterwards
    reached : shape (n,), scratch
    predecessors : shape (n,), int32: at -1, and again afterwards
    distances : of every trip, written
    firsts : shape (trips + 1,): where the path of every trip begins; written
    counters : shape (2, sources): ranks passed by the climb, and visited; written

    Returns
    -------
    ndarray, int32
        The vertices on the paths, from the sources to the targets.
    """
    vertices = np.empty(FIRST_CAPACITY, np.int32)
    size = 0
    firsts[0] = 0
    for i in range(sources.size):
        low, high = offsets[i] - offsets[0], offsets[i + 1] - offsets[0]
        counters[0, i] = climb_kernel(sources[i], parent, up, inf, climbed)
        count, looked_at = paths_kernel(
            sources[i], targets[low:high], parent, down, climbed, inf, bound, slack, rank_of,
            *back, row, reached, predecessors, visited, known,
        )  # fmt: skip
        counters[1, i], found = looked_at, np.int64(count)
        for trip in range(low, high):
            while size + found > vertices.size:
                vertices = grow(vertices)
            vertex = np.int64(targets[trip])
            distances[trip] = row[vertex]
            first = size
            while vertex >= 0 and row[vertex] != unseen:
                vertices[size] = vertex
                size += 1
                vertex = np.int64(predecessors[vertex])
            vertices[first:size] = vertices[first:size][::-1].copy()
            firsts[trip + 1] = size
        reset(row, reached[:found], unseen)
        reset(predecessors, reached[:found], -1)
    return vertices[:size].copy()
