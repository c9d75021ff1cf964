"""A* with landmarks: a search directed towards its target (ALT).

A. V. Goldberg and C. Harrelson, "Computing the shortest path: A* search meets graph theory", SODA
2005. From a few landmarks the distances to and from all vertices are known. By the triangle
inequality each bounds what is left of the way: d(v, t) >= d(v, L) - d(t, L), and
d(v, t) >= d(L, t) - d(L, v). A vertex is expanded in the order of its distance plus the greatest of
these bounds (its key), and the search ends where keys exceed the distance of the target: on road
networks with a tenth of the vertices that Dijkstra's algorithm expands.

It needs bounds that do not exceed the truth, and nothing else: a vertex whose distance falls is
expanded again, in the buckets of `sssp.cpu.search.delta_stepping`. So a distance too long for the
dtype may stand in the table as the longest that fits; and sums of floats, rounded from the source
outward as everywhere, are the least once the search goes on for what all rounding together may
amount to.

The landmarks lie far apart: each is the vertex farthest from those before. They belong to a graph
and a dtype, are found by 18 searches when they are first asked for, take 16 numbers per vertex, and
are kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search.delta_stepping import (
    BEYOND,
    BUCKETS,
    NONE,
    bucket_width,
    delta_stepping_kernel,
    finest_width,
    link,
    make_links,
    rebase,
    unlink,
)
from sssp.cpu.search_driver import COUNTERS, Search, solve_rows
from sssp.engine.check_memory import check_memory
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import arcs_by_head, typical_weight, unsigned_arcs
from sssp.graph.csr import freeze
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, Number, infinity, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import AStar, DeltaStepping

ONE = np.uint64(1)
LANDMARKS = 8
#: bounds on what is left of the way: two for every landmark
BOUNDS = 2 * LANDMARKS
#: searches for a place to begin at, while they reach less than half of the graph
BEGINNINGS = 4
#: buckets for one of delta-stepping: keys grow little along an arc that leads to the target
FINER = 16


@njit
def _bound_distance(heights, vertex, goal):
    """Return the landmarks' best lower bound on the distance from a vertex to the target."""
    number = heights.dtype.type
    most = number(0)
    for i in range(BOUNDS):
        most = max(most, number(heights[vertex, i] - goal[i]))
    return most


@njit
def _a_star_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    scale, heights, limited, rounding, highest, links, keys,
):  # fmt: skip
    """Find the distance of one source and target by A*; a kernel for `sssp.cpu.search_driver`.

    - ``scale`` float64: buckets for a unit of a key.
    - ``heights`` number, shape (n, BOUNDS): a column's difference between two vertices is no more
      than the distance from the first to the second.
    - ``limited`` bool: whether what is longer than ``bound`` is of no interest.
    - ``rounding`` float64: how far sums may be off, relative to the greatest; 0 for integers.
    - ``highest`` number: no height has a greater absolute value.
    - ``links``, ``keys`` number: `LINK` (`sssp.cpu.search.delta_stepping`) and a key, one a vertex.
    """
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still
    heads = np.empty(BUCKETS + 1, np.int32)
    heads[:] = NONE
    source, target = np.uint32(sources[0]), np.uint32(targets[0])
    goal = np.empty(BOUNDS, heights.dtype)
    for i in range(BOUNDS):
        goal[i] = heights[target, i]
    distances[source] = 0
    reached[0] = source
    keys[source] = _bound_distance(heights, source, goal)
    link(links, heads, np.int32(BEYOND), source)
    count, expanded, phases, clipped = 1, 0, 0, False
    # keys beyond `reach` lead to nothing
    reach, ending = bound, limited
    if source == target:
        reach, ending = number(0), True
    if ending and rounding > 0:
        reach = number(reach + rounding * (reach + highest))
    going_on = True
    while going_on and heads[BEYOND] != NONE:
        base = rebase(links, heads, keys, scale)
        for bucket in range(np.uint32(BUCKETS)):
            if heads[bucket] == NONE:
                continue
            # (a limit may be beyond all that an int64 can number)
            if ending and np.float64(base + np.int64(bucket)) > reach * scale:
                going_on = False
                break
            following = NONE
            while following != NONE or heads[bucket] != NONE:
                if following == NONE:  # a round
                    following, heads[bucket] = heads[bucket], NONE
                tail = np.uint32(following)
                following = links[tail].next
                links[tail].bucket = NONE
                if ending and keys[tail] > reach:
                    continue
                expanded += 1
                length = distances[tail]
                for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                    head = indices[arc]
                    before = distances[head]
                    candidate = number(length + weights[arc])
                    if candidate >= before:
                        continue
                    if candidate > bound:
                        clipped = True
                        continue
                    distances[head] = candidate
                    if before == unseen:
                        reached[count] = head
                        count += 1
                        links[head].bucket = NONE
                    if head == target:
                        reach, ending = candidate, True
                        if rounding > 0:
                            reach = number(reach + rounding * (reach + highest))
                        continue
                    key = number(candidate + _bound_distance(heights, head, goal))
                    if ending and key > reach:
                        continue
                    keys[head] = key
                    # (rounded, a key may be less than that of its tail)
                    into = max(np.int64(key * scale) - base, np.int64(bucket))
                    into = np.int32(min(into, np.int64(BUCKETS)))
                    was = links[head].bucket
                    if was == into:
                        continue
                    if was != NONE:
                        unlink(links, heads, head)
                    link(links, heads, into, head)
            phases += 1
    counters[0], counters[1] = expanded, phases
    return CLIPPED if clipped else DONE, count


def _find_heights(
    graph: Graph, dtype: Number, starts: NDArray[np.int64]
) -> tuple[NDArray[Any], Any]:
    """Choose landmarks; return the distances to them and the negated distances from them.

    Parameters
    ----------
    graph : Graph
    dtype : dtype
    starts : ndarray, int64
        Vertices to begin the choice at: the first from which half of the graph is reached.

    Returns
    -------
    heights : ndarray, shape (n, BOUNDS)
        Of every landmark the negated distance from it, and the distance to it; what is unreached
        or too long counts as `highest`.
    highest : number
        The greatest of all: an infinity that can be added, or the longest distance among floats.
    """
    scale, links = 1.0 / bucket_width(graph, DeltaStepping(), dtype), make_links(graph.n)
    indptr, tails, weights = arcs_by_head(graph, dtype)
    against = indptr.view(np.uint64), tails.view(np.uint32), weights
    ways = unsigned_arcs(graph, dtype), against
    unseen = unreached(dtype)

    def search(arcs: tuple[NDArray[Any], ...], source: int) -> tuple[NDArray[Any], int]:
        """Return the distances from a vertex, and the number of vertices it reaches."""
        row = np.full(graph.n, unseen, dtype)
        sources, reached = np.array([source], np.int64), np.empty(graph.n, INDEX)
        _, count = delta_stepping_kernel(
            *arcs, sources, sources[:0], largest_distance(dtype), row, reached,
            np.zeros(COUNTERS, np.int64), scale, *links,
        )  # fmt: skip
        return row, count

    most = -1
    for start in starts[:BEGINNINGS].tolist():
        found, count = search(ways[0], start)
        if count > most:
            row, most = found, count
        if 2 * most >= graph.n:
            break
    heights: NDArray[Any] = np.empty((graph.n, BOUNDS), dtype)
    nearest = np.full(graph.n, unseen, dtype)
    for i in range(LANDMARKS):
        # the vertex farthest from the landmarks before it, of those that they reach
        landmark = int(np.where(row == unseen, -1, row).argmax())
        for j, arcs in enumerate(ways):
            found, _ = search(arcs, landmark)
            np.minimum(nearest, found, out=nearest)
            heights[:, 2 * i + j] = found
        row = nearest
    highest = infinity(dtype)
    if dtype.kind == "f":
        highest = heights[heights != unseen].max(initial=dtype.type(0))
    np.minimum(heights, highest, out=heights)
    np.negative(heights[:, ::2], out=heights[:, ::2])
    return freeze(heights), highest


def landmark_bytes(graph: Graph, dtype: Number) -> int:
    """Return the bytes that the landmarks of a graph take."""
    return graph.n * BOUNDS * dtype.itemsize


def solve(graph: Graph, request: Request, method: AStar, dtype: Number) -> Answer | None:
    """Answer `request` by A* with landmarks, one search for each source and its one target.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : AStar
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.

    """
    if request.rows == 0:
        return solve_rows(graph, request, method, dtype, Search(_a_star_kernel))
    size = landmark_bytes(graph, dtype)
    advice = "take method='delta-stepping', which needs none"
    check_memory({"the landmarks": size}, request.memory_limit, "cpu", advice)
    key = f"landmarks, {dtype}"
    heights, highest = graph._cached(key, lambda: _find_heights(graph, dtype, request.sources))
    # keys are sums of two distances: buckets for twice the range
    width = max(typical_weight(graph) / FINER, 2 * finest_width(graph, dtype))
    bound = request.bound(dtype)
    rounding = 0.0 if dtype.kind == "i" else 8.0 * graph.n * float(np.finfo(dtype).eps)
    limited = bool(bound < largest_distance(dtype))
    options = 1.0 / width, heights, limited, rounding, highest
    search = Search(_a_star_kernel, options, lambda n: (*make_links(n), np.empty(n, dtype)))
    left = replace(request, memory_limit=request.memory_limit - size)
    return solve_rows(graph, left, method, dtype, search)
