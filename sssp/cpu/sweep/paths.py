"""Paths from a source to a few targets on a hierarchy, each from its end, without a sweep.

A path goes back from its target over tight arcs, always to the smallest tail (`sssp.cpu.walks`): it
needs the distances of its own vertices, and of the tails of arcs into them. The distance of a rank
hangs on those above it alone. So whatever is looked at on the way is swept when it is first looked
at, with the ranks from there up to the root: the lazy sweep of Strasser and Zeitz, "A fast and
tight heuristic for A* in road networks" (SEA 2021).
"""

from __future__ import annotations

import numpy as np

from sssp.cpu.sweep.sweeps import climb_kernel, least_over_arcs, place_from
from sssp.cpu.tree import reset
from sssp.kernels.jit import njit

ZERO, ONE = np.uint64(0), np.uint64(1)
#: vertices on paths for which there is room at first
FIRST_CAPACITY = 4096


@njit
def _sweep_to(
    rank, parent, first, ends, weights, ranks, own_first, own_ends, own_weights, distances, known,
    visited, looked_at,
):  # fmt: skip
    """Sweep a rank, and whatever is above it and was not swept; count that in `looked_at`."""
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
        least = distances[below]
        changed = place_from(below, ranks)
        if changed < ranks.size and ranks[changed] == below:
            start, end = own_first[changed], own_first[changed + 1]
            least = least_over_arcs(least, start, end, own_ends, own_weights, distances)
        else:
            start, end = first[below], first[below + ONE]
            least = least_over_arcs(least, start, end, ends, weights, distances)
        distances[below] = least
    return looked_at


@njit
def paths_kernel(
    source, targets, parent, first, ends, weights, ranks, own_first, own_ends, own_weights,
    distances, inf, bound, rank_of, indptr, tails, arc_weights, row, reached, predecessors, visited,
    known,
):  # fmt: skip
    """Find the paths from a source to some targets, each from its end, along tight arcs.

    What is swept is the ranks of the targets, and of the tails of arcs into the paths, and what is
    above them. No arc may join two vertices at the same distance: the smallest tail is the next.

    Arguments
    ---------
    source : rank
    targets : vertices
    parent : of every rank in the elimination tree
    first, ends, weights, ranks, own_first, own_ends, own_weights : the arcs down to every rank
    distances : shape (n,), by rank: what the climb brought; INF again afterwards
    bound : greatest distance of interest
    rank_of : the rank of every vertex
    indptr, tails, arc_weights : the arcs that end at every vertex, in order of tail
    row : by vertex, written on the paths
    reached : shape (n,), int32: the vertices on the paths, each once; written
    predecessors : shape (n,), int32: their tails, but for the source; written
    visited : shape (n,), int32: the ranks that were looked at; written
    known : shape (n,), bool: False, and again afterwards

    Returns
    -------
    int, int
        Numbers of vertices on the paths and of ranks looked at.
    """
    number = distances.dtype.type
    found, looked_at = ZERO, ZERO
    for target in targets:
        vertex = np.uint64(target)
        rank = np.uint64(rank_of[vertex])
        looked_at = _sweep_to(
            rank, parent, first, ends, weights, ranks, own_first, own_ends, own_weights, distances,
            known, visited, looked_at,
        )  # fmt: skip
        # (a path ends where it comes to another one, or to the source)
        while distances[rank] <= bound and row[vertex] != distances[rank]:
            distance = distances[rank]
            row[vertex] = distance
            reached[found] = vertex
            found += ONE
            for arc in range(np.uint64(indptr[vertex]), np.uint64(indptr[vertex + ONE])):
                tail = np.uint64(tails[arc])
                rank = np.uint64(rank_of[tail])
                looked_at = _sweep_to(
                    rank, parent, first, ends, weights, ranks, own_first, own_ends, own_weights,
                    distances, known, visited, looked_at,
                )  # fmt: skip
                if number(distances[rank] + arc_weights[arc]) == distance:
                    predecessors[vertex] = tail
                    vertex = tail
                    break
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
    sources, offsets, targets, parent, up, down, climbed, inf, bound, rank_of, back, row, unseen,
    reached, predecessors, visited, known, distances, firsts, counters,
):  # fmt: skip
    """Find the trips of some sources, and write down their paths, one behind the other.

    Arguments
    ---------
    sources : ranks
    offsets : where the targets of every source begin, and where the last ones end
    targets : vertices
    parent : of every rank in the elimination tree
    up, down : the arcs up from every rank, and down to it
    climbed : shape (n,), at INF, and again afterwards
    inf, bound, rank_of, visited, known : of `paths_kernel`
    back : the arcs that end at every vertex, in order of tail
    row : shape (n,), at `unseen`, and again afterwards
    reached : shape (n,), scratch
    predecessors : shape (n,), int32: at -1, and again afterwards
    distances : of every trip, written
    firsts : shape (trips + 1,): where the path of every trip begins; written
    counters : shape (2, sources): ranks passed by the climb, and looked at; written

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
        counters[0, i] = climb_kernel(sources[i], parent, *up, inf, climbed)
        count, looked_at = paths_kernel(
            sources[i], targets[low:high], parent, *down, climbed, inf, bound, rank_of, *back, row,
            reached, predecessors, visited, known,
        )  # fmt: skip
        counters[1, i], found = looked_at, np.int64(count)
        for trip in range(low, high):
            if size + found > vertices.size:
                bigger = np.empty(2 * (size + found), np.int32)
                bigger[:size] = vertices[:size]
                vertices = bigger
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
