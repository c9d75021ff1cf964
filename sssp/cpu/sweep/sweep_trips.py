"""Distances of single trips on a hierarchy, by upward searches from source and target.

From the source along arcs up, and from the target along arcs down, both only to ancestors in the
elimination tree. The shortest way leads over an ancestor of both (Dibbelt, Strasser and Wagner
2016, section 5), and those are the beginning of both paths from the root: so the distances to the
ancestors of a vertex, from the root on, are a label, and a trip is the least sum of two labels over
what their vertices have in common.

Climbs go in groups of `LANES`. Their vertices are sorted, so that neighbours have most ancestors in
common, and the arcs of an ancestor are gone through once for all. In order of rank they come by
themselves: the path of a vertex is followed up to where that of the next one joins it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.sweeps import LANES, Arcs, lanes_memory, place_from
from sssp.cpu.sweep.trip_labels import meet_kernel
from sssp.cpu.vectors import add, load, minimum, store
from sssp.engine.check_memory import check_memory
from sssp.engine.narrow import convert_into, narrow
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request
from sssp.engine.workers import Spare, ordered_map
from sssp.kernels.dtypes import INDEX, INT64, Number, infinity, unreached
from sssp.kernels.jit import njit
from sssp.methods import Method
from sssp.order.prepared_map import PreparedMap

#: bytes of the labels of a piece of work, and trips of one at most
LABEL_BYTES, MOST_TRIPS = 64 << 20, 1 << 15
#: trips of a piece of work where labels are kept
MOST_MET = 1 << 13
ONE = np.uint64(1)


@njit
def _ancestors_kernel(group, parent, inf, block, path):
    """Write given ranks and all their ancestors to `path`, ascending; return their number.

    Their rows of `block` are made INF, but for 0 in the lane of every rank.
    """
    count = 0
    for i in range(group.size):
        following = group[i + 1] if i + 1 < group.size else parent.size
        rank = group[i]
        # (an ancestor beyond the next rank is one of that too)
        while 0 <= rank < following:
            path[count] = rank
            count += 1
            block[rank, :] = inf
            rank = parent[rank]
    for lane in range(group.size):
        block[group[lane], lane] = 0
    return count


@njit
def _relax_path_kernel(path, offset, first, ends, weights, block):
    """Relax the arcs of the ranks in `path`, in ascending order, for `LANES` searches at once.

    The arcs of a rank begin at ``first[rank - offset]``.
    """
    for rank in path:
        own, place = load(block, rank, LANES), rank - offset
        for arc in range(np.uint64(first[place]), np.uint64(first[place + 1])):
            end = np.uint64(ends[arc])
            store(block, end, minimum(load(block, end, LANES), add(own, weights[arc])))


@njit
def _relax_layered_path_kernel(path, arcs, block):
    """Relax for all sources the arcs of the ranks on a path; use the new arcs of changed ranks."""
    # of the base: where the arcs of every rank begin; their ends above, and their weights. Of the
    # layer: the ranks that have other arcs, ascending; then the same three by place among those.
    # The arcs of a changed rank begin at own_first[place], so its offset is rank - place
    first, ends, weights, changed, own_first, own_ends, own_weights = arcs
    done = 0
    place = place_from(path[0], changed) if path.size else 0
    while place < changed.size and changed[place] <= path[-1]:
        rank = changed[place]
        here = done + place_from(rank, path[done:])
        if path[here] == rank:
            _relax_path_kernel(path[done:here], 0, first, ends, weights, block)
            _relax_path_kernel(
                path[here : here + 1], rank - place, own_first, own_ends, own_weights, block
            )
            done = here + 1
        place += 1
    _relax_path_kernel(path[done:], 0, first, ends, weights, block)


@njit
def _labels_kernel(ranks, parent, depth, arcs, inf, block, path, labels):
    """Find the distance label of every rank: the distances to its ancestors.

    Arguments
    ---------
    ranks : ascending, none twice
    parent, depth : of every rank in the elimination tree
    arcs : those up, or down
    block : shape (n, LANES), scratch
    path : shape (n,), int32, scratch
    labels : shape (ranks, greatest depth + 1); entry i is the distance to the ancestor of depth i
    """
    for start in range(0, ranks.size, LANES):
        group = ranks[start : start + LANES]
        count = _ancestors_kernel(group, parent, inf, block, path)
        _relax_layered_path_kernel(path[:count], arcs, block)
        for lane in range(group.size):
            rank = np.int64(group[lane])
            while rank >= 0:
                labels[start + lane, depth[rank]] = block[rank, lane]
                rank = np.int64(parent[rank])


def solve_trips(hierarchy: PreparedMap, request: Request, method: Method, dtype: Number) -> Answer:
    """Find the distances of trips, or from all sources to all targets, by distance labels.

    O(arcs to ancestors) time per source and target, `LANES` at a time, and O(depth) a trip.
    """
    assert request.targets is not None
    vertices, offsets = request.targets, request.target_offsets
    if offsets is None:
        offsets = np.arange(request.rows + 1) * vertices.size
        vertices = np.tile(vertices, request.rows)
    source_of = np.repeat(request.sources, np.diff(offsets))
    structure, metric, inf = hierarchy._structure, hierarchy._layered(dtype), infinity(dtype)
    sources, targets = structure.rank[source_of], structure.rank[vertices]
    found: NDArray[Any] = np.empty(targets.size, dtype)
    labels, piece, each = hierarchy._trip_labels(dtype), MOST_MET, 0
    parts = {"the trips": found.nbytes + request.reserved_bytes}
    if labels is None:
        label_bytes = 2 * structure.height * dtype.itemsize
        piece = int(max(LANES, min(MOST_TRIPS, LABEL_BYTES // max(label_bytes, 1))))
        each = hierarchy.n * (LANES * dtype.itemsize + 4) + min(piece, targets.size) * label_bytes
        parts["the climbs"] = each
    check_memory(parts, request.memory_limit, "cpu", request.advice)
    pieces = range(0, targets.size, piece)
    room = request.memory_limit - parts["the trips"]
    threads = min(request.threads, len(pieces), room // max(each, 1))
    tree = structure.parent, structure.depth, structure.chain
    bounds = inf, request.bound(dtype), unreached(dtype)
    n = hierarchy.n
    spare = Spare(lambda: (lanes_memory(n, LANES, dtype), np.empty(n, INDEX)))

    def climb(ranks: NDArray[np.int32], arcs: Arcs, scratch: Any) -> tuple[Any, NDArray[Any]]:
        """Compute distance labels of `ranks`; return each rank's offset, and the label array."""
        ranks, place_of = np.unique(ranks, return_inverse=True)
        labels: NDArray[Any] = np.empty((ranks.size, structure.height), dtype)
        _labels_kernel(ranks, *tree[:2], arcs, inf, *scratch, labels)
        return place_of * structure.height, labels.reshape(-1)

    def solve(low: int) -> int:
        part = slice(low, min(low + piece, targets.size))
        ends = sources[part], targets[part]
        if labels is not None:
            firsts = labels.first[ends[0]], labels.first[ends[1]]
            meet_kernel(*ends, *firsts, *tree, labels.up, labels.down, *bounds, found[part])
            return part.stop - low
        with spare.lend() as scratch:
            up_first, up = climb(ends[0], metric.up, scratch)
            down_first, down = climb(ends[1], metric.down, scratch)
        meet_kernel(*ends, up_first, down_first, *tree, up, down, *bounds, found[part])
        return part.stop - low

    with progress_bar(targets.size, request.progress, "trip") as advance:
        for done in ordered_map(solve, pieces, max(1, int(threads))):
            advance(done)
    if metric.potentials is not None:
        reached = found != unreached(dtype)
        heights = metric.potentials[vertices] - metric.potentials[source_of]
        found[reached] += heights[reached]
    counts = np.zeros((len(method.statistics), request.rows), INT64)
    if request.rows:
        passed = structure.depth[targets] + 1
        counts[0] = structure.depth[structure.rank[request.sources]] + 1
        counts[0] += np.add.reduceat(np.append(passed, 0), offsets[:-1])
    stats = dict(zip(method.statistics, counts, strict=True))
    distances = narrow(found, request.dtype)
    if request.target_offsets is None:
        distances = distances.reshape(request.rows, request.targets.size)
    if request.out is not None:
        convert_into(distances, request.out)
        distances = request.out
    return Answer(distances, stats=stats)
