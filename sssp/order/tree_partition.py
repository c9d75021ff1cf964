"""Partition an elimination tree into bundles of subtrees, one per thread block of a GPU.

A launch for every level of the tree would leave a GPU idle: there are hundreds of levels, and few
vertices on most of them. So the tree is cut from below into tiers of *bundles*. A bundle is some
subtrees of what is left; its vertices, together with those above that they are joined to (its
*boundary*), are so few that the distances of all fit into the shared memory of a thread block. A
tier is one launch, and within a bundle there is no waiting for another thread block.

The last few hundred vertices are the *top*: of those all distances are kept as a dense matrix, so
that a source comes to all of them in one step. Where separators are wide, as in grids or on maps of
continents, some vertices remain between bundles and top; they are swept by *levels*.

Size and boundary of a subtree together never fall on the way up: the neighbours of a vertex that
lie above its parent are neighbours of the parent too. So one pass finds a tier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.graph.csr import offsets
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit
from sssp.order.structure import Structure, sort_runs

#: a tier that takes less than this part of what is left does not pay for its launch
WORTH_A_TIER = 1 / 128
#: what a vertex is in before it is in a tier
NO_TIER = -1


class Bundles(NamedTuple):
    """A partition of the elimination tree for GPU sweeps, with a new numbering of all ranks.

    Places number the ranks anew: first the top, then the levels, then the tiers from above, bundle
    by bundle; whatever is above a vertex comes before it.

    Attributes
    ----------
    rank, place : ndarray, shape (n,), int32
        The rank of every place, and the place of every rank.
    top : int
        How many places the top has.
    levels : ndarray, shape (l + 1,), int64
        The place where every level begins; the last ends where the bundles begin.
    tiers : ndarray, shape (t + 1,), int64
        The bundle where every tier begins.
    rooms : ndarray, shape (t,), int64
        Most rows, of vertices and boundary, of a bundle of every tier.
    first : ndarray, shape (b + 1,), int32
        The place where every bundle begins.
    lowest, highest : ndarray, shape (b,), int32
        The least rank below a bundle's vertices or among them, and the greatest.
    boundary_first : ndarray, shape (b + 1,), int32
        Where the boundary of every bundle begins, in
    boundary : ndarray, int32
        Ranks, ascending for each bundle.
    """

    rank: NDArray[np.int32]
    place: NDArray[np.int32]
    top: int
    levels: NDArray[np.int64]
    tiers: NDArray[np.int64]
    rooms: NDArray[np.int64]
    first: NDArray[np.int32]
    lowest: NDArray[np.int32]
    highest: NDArray[np.int32]
    boundary_first: NDArray[np.int32]
    boundary: NDArray[np.int32]

    @property
    def start(self) -> int:
        """Place, in sweep order, of the first vertex that is in a bundle (group of subtrees)."""
        return int(self.levels[-1])


@njit
def _tier_kernel(parent, first, limit, number, tiers, left):
    """Put all remaining subtrees within a size limit into one tier; return their vertex count.

    Arguments
    ---------
    parent, first : of the structure
    limit : most rows of such a subtree
    number : of the tier
    tiers : of every rank; written
    left : shape (n,), scratch
    """
    left[:] = 0
    taken = 0
    for v in range(parent.size):
        if tiers[v] != NO_TIER:
            continue
        left[v] += 1
        if left[v] + first[v + 1] - first[v] <= limit:
            tiers[v] = number
            taken += 1
        if parent[v] >= 0:
            left[parent[v]] += left[v]
    return taken


@njit
def _bundle_kernel(parent, first, upper, limit, number, tiers, bundles, rows, seen, start):
    """Pack the subtrees of one tier of the partition, by rank, into bundles of limited size.

    Arguments
    ---------
    parent, first, upper : of the structure
    limit : most rows of a bundle
    number : of the tier
    tiers : of every rank
    bundles : of every rank; written for those of the tier
    rows : shape (n,): how many ranks of the tier are in the subtree of every one; scratch
    seen : shape (n,), scratch: less than `start`
    start : number of the first bundle

    Returns the number after the last, and most rows of any.
    """
    n = parent.size
    rows[:] = 0
    for v in range(n):
        if tiers[v] == number:
            rows[v] += 1
            up = parent[v]
            if up >= 0 and tiers[up] == number:
                rows[up] += rows[v]
    bundle, room, most = start - 1, 0, 0
    for v in range(n):
        up = parent[v]
        if tiers[v] != number or (up >= 0 and tiers[up] == number):
            continue
        more = rows[v]
        for arc in range(first[v], first[v + 1]):
            more += bundle < start or seen[upper[arc]] != bundle
        if bundle < start or room + more > limit:
            bundle, room = bundle + 1, 0
            more = rows[v] + first[v + 1] - first[v]
        for arc in range(first[v], first[v + 1]):
            seen[upper[arc]] = bundle
        room += more
        most = max(most, room)
        bundles[v] = bundle
    for i in range(n):
        v = n - 1 - i
        if tiers[v] == number and parent[v] >= 0 and tiers[parent[v]] == number:
            bundles[v] = bundles[parent[v]]
    return bundle + 1, most


@njit
def _boundary_kernel(
    bundle_first, rank, size, first, upper, seen, lowest, highest, boundary_first, boundary
):
    """List the neighbours above each bundle of subtrees, and the range of ranks of each bundle.

    Arguments: bundle_first, rank, of the bundles; size, first, upper, of the structure; seen, shape
    (n,), scratch, negative; lowest, highest, boundary_first, and boundary as far as there is room:
    written.
    """
    count = 0
    boundary_first[0] = 0
    for b in range(lowest.size):
        for place in range(bundle_first[b], bundle_first[b + 1]):
            seen[rank[place]] = b
        least, greatest = size.size, 0
        start = count
        for place in range(bundle_first[b], bundle_first[b + 1]):
            v = rank[place]
            least, greatest = min(least, v - size[v] + 1), max(greatest, v)
            for arc in range(first[v], first[v + 1]):
                above = upper[arc]
                if seen[above] != b:
                    seen[above] = b
                    if count < boundary.size:
                        boundary[count] = above
                    count += 1
        sort_runs(boundary[start:count])
        lowest[b], highest[b] = least, greatest
        boundary_first[b + 1] = count


def make_bundles(structure: Structure, limits: tuple[int, ...], top: int) -> Bundles:
    """Partition the elimination tree into its top, levels, and groups of subtrees (bundles).

    Parameters
    ----------
    structure : Structure
    limits : tuple of int
        Most rows of a bundle, by tier from below; the last counts for all further ones.
    top : int
        Most vertices of the top.

    Notes
    -----
    O(n + chordal arcs) time a tier.
    """
    n, parent = structure.order.size, structure.parent
    first, upper = structure.first, structure.upper
    tiers, bundles = np.full(n, NO_TIER, INDEX), np.full(n, -1, INDEX)
    scratch, seen = np.empty(n, INDEX), np.full(n, -1, INDEX)
    left, counts = n, [0]
    rooms: list[int] = []
    while left > top:
        limit = limits[min(len(rooms), len(limits) - 1)]
        taken = _tier_kernel(parent, first, limit, len(rooms), tiers, scratch)
        if taken == 0 or (len(rooms) >= len(limits) and taken < WORTH_A_TIER * left):
            tiers[tiers == len(rooms)] = NO_TIER
            break
        end, most = _bundle_kernel(
            parent, first, upper, limit, len(rooms), tiers, bundles, scratch, seen, counts[-1]
        )
        counts.append(end)
        rooms.append(most)
        left -= taken
    # parts in the order of places: top, levels by depth, bundles of the tiers from above
    remaining = tiers == NO_TIER
    depths = structure.depth[remaining]
    by_depth = np.bincount(depths, minlength=1)
    last = int(np.searchsorted(np.cumsum(by_depth), top, side="right"))
    levels = max(0, by_depth.size - last) if left > top else 0
    parts = np.empty(n, INDEX)
    parts[remaining] = np.maximum(depths - (last - 1), 0) if levels else 0
    turned = offsets(np.diff(counts)[::-1])
    inside = ~remaining
    shifts = turned[-2::-1] - np.array(counts[:-1])
    parts[inside] = bundles[inside] + (1 + levels + shifts[tiers[inside]])
    part_first = offsets(np.bincount(parts, minlength=1 + levels + counts[-1]))
    # by part, then by depth, then from the last rank to the first
    keys = parts.astype(np.int64) * (structure.height + 1) + structure.depth
    rank, place = (n - 1 - np.argsort(keys[::-1], kind="stable")).astype(INDEX), np.empty(n, INDEX)
    place[rank] = np.arange(n, dtype=INDEX)
    bundle_first = part_first[1 + levels :].astype(INDEX)
    lowest, highest = np.empty((2, counts[-1]), INDEX)
    boundary_first, boundary = np.empty(counts[-1] + 1, INDEX), np.empty(0, INDEX)
    for _ in range(2):  # to count, and to fill
        seen[:] = -1
        _boundary_kernel(
            bundle_first, rank, structure.size, first, upper, seen, lowest, highest,
            boundary_first, boundary,
        )  # fmt: skip
        boundary = np.empty(boundary_first[-1], INDEX) if boundary.size == 0 else boundary
    return Bundles(
        rank, place, int(part_first[1]), part_first[1 : 2 + levels], turned,
        np.array(rooms[::-1], np.int64), bundle_first, lowest, highest, boundary_first,
        boundary,
    )  # fmt: skip
