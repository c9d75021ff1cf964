"""Distance labels of all vertices (distances to their ancestors), kept to answer trips fast.

What `sssp.cpu.sweep.sweep_trips` finds for the ends of some trips is written down for all vertices
(customizable tree labels: Farhan and Koehler 2026). A trip is then the least sum of two labels over
what their vertices have in common, and no arc is looked at.

An ancestor's label comes before those below it: that of a vertex is the least of those of the heads
of its arcs, each with the arc's weight added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.sweeps import Arcs
from sssp.cpu.sweep.target_selection import select_arcs
from sssp.engine.check_memory import check_memory
from sssp.engine.threads import default_threads
from sssp.engine.workers import ordered_map
from sssp.graph.csr import offsets
from sssp.kernels.dtypes import INT64, Number, infinity
from sssp.kernels.jit import njit
from sssp.order.structure import Structure, find_ancestors


class TripLabels(NamedTuple):
    """Distances from each vertex to its ancestors in the elimination tree, and back.

    Attributes
    ----------
    first : ndarray, shape (n + 1,), int64
        Where the label of each rank begins: that of a rank of depth d has d + 1 entries, from the
        root on.
    up, down : ndarray, shape (first[n],)
        Distances to the ancestors, and from them.
    """

    first: NDArray[np.int64]
    up: NDArray[Any]
    down: NDArray[Any]


@njit
def _labels_kernel(first, depth, arc_first, ends, weights, inf, labels):
    """Find each rank's distance label from the labels of its upper neighbours, root first.

    Arguments
    ---------
    first, labels : as of `TripLabels`; the labels are written
    depth : of every rank in the elimination tree
    arc_first, ends, weights : the arcs up from every rank, or down to it
    """
    number = labels.dtype.type
    for rank in range(depth.size - 1, -1, -1):
        own = labels[first[rank] : first[rank] + depth[rank]]
        own[:] = inf
        labels[first[rank] + depth[rank]] = 0
        for arc in range(arc_first[rank], arc_first[rank + 1]):
            head, weight = np.int64(ends[arc]), weights[arc]
            above = labels[first[head] : first[head] + depth[head] + 1]
            for i in range(above.size):
                own[i] = min(own[i], number(above[i] + weight))


@njit
def meet_kernel(
    sources, targets, up_first, down_first, parent, depth, chain, up, down, inf, bound, unseen,
    distances,
):  # fmt: skip
    """Find each trip's distance: the least sum, over common ancestors, of its ends' labels.

    Arguments
    ---------
    sources, targets : of every trip, the ranks of its ends
    up_first, down_first : of every trip, where its labels begin in `up` and `down`
    parent, depth, chain : of every rank in the elimination tree
    up, down : labels, one behind the other
    distances : of every trip, written
    """
    number = distances.dtype.type
    for i in range(sources.size):
        one, other = np.int64(sources[i]), np.int64(targets[i])
        # the lowest ancestor of both: chains are left upward until it is the same one
        while one >= 0 and other >= 0 and chain[one] != chain[other]:
            if chain[one] < chain[other]:
                one = np.int64(parent[chain[one]])
            else:
                other = np.int64(parent[chain[other]])
        least = inf
        if one >= 0 and other >= 0:
            common = np.int64(depth[max(one, other)]) + 1
            there = up[up_first[i] : up_first[i] + common]
            back = down[down_first[i] : down_first[i] + common]
            for k in range(common):
                least = min(least, number(there[k] + back[k]))
        distances[i] = least if least <= bound else unseen


def make_labels(structure: Structure, metric: Any, dtype: Number, memory_limit: int) -> TripLabels:
    """Compute the distance labels of all vertices; O(arcs * depth) time.

    Raises
    ------
    DeviceError
        They take more memory than they may.
    """
    first = offsets(structure.depth.astype(INT64) + 1)
    size = int(first[-1])
    parts = {"labels to ancestors and from them": 2 * size * dtype.itemsize + first.nbytes}
    check_memory(parts, memory_limit, "cpu", "")

    all_ranks = find_ancestors(structure.parent, structure.rank)

    def find(arcs: Arcs) -> NDArray[Any]:
        labels: NDArray[Any] = np.empty(size, dtype)
        packed = select_arcs(arcs, all_ranks).arcs[:3]  # (base and layer in one)
        _labels_kernel(first, structure.depth, *packed, infinity(dtype), labels)
        return labels

    return TripLabels(first, *ordered_map(find, (metric.up, metric.down), default_threads()))
