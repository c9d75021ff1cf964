"""Threshold-batched Dijkstra: each phase settles all open vertices that are provably final.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.1 and 4.1, after
A. Crauser, K. Mehlhorn, U. Meyer and P. Sanders, "A parallelization of Dijkstra's shortest path
algorithm" (1998). The serial twin of the CUDA solver: the same phases, the same statistics.

A vertex is unreached, open or settled. In each phase

1. every open vertex advances a pointer past its lightest arcs whose heads are settled; the arc
   it stops at is its least useful one (settled vertices never reopen, so it never goes back);
2. the settling threshold (the "evaluation value", OUT criterion) is the least sum of an open
   vertex' distance and its least useful arc: nothing shorter can still arrive anywhere;
3. every open vertex at or below the threshold is settled. With ``criterion="in-out"`` so is
   every open v with ``dist[v] <= least open distance + lightest arc into v from a tail that is
   not settled``. The sum is the safe side: a difference would round the wrong way;
4. the arcs of all vertices just settled are relaxed.

Both tests look at heads (tails) that are *not settled*, open ones included, in one snapshot.
O(m + phases * open vertices) time; every arc is relaxed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import arcs_by_weight
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, OFFSET, Number
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, DONE
from sssp.methods import ThresholdDijkstra

ONE = np.uint64(1)
SETTLED = 1


@njit
def _advance(pointer, last, neighbours, settled):
    """Return the first position, from `pointer` on, of an arc whose other end is not settled."""
    while pointer < last and settled[np.uint32(neighbours[pointer])] == SETTLED:
        pointer += 1
    return pointer


@njit
def _threshold_dijkstra_kernel(
    indptr, indices, weights, sources, targets, bound, distances, reached, counters,
    heads_by_weight, out_weights, in_indptr, tails_by_weight, in_weights, in_out, settled,
    out_pointers, in_pointers, open_vertices, batch,
):  # fmt: skip
    number = distances.dtype.type
    unseen = distances[0]  # as every entry is still, and above every distance
    count, target, phases, most_open, total_open = 0, 0, 0, 0, 0
    status = DONE
    for source in sources:
        if distances[source] == unseen:
            distances[source] = 0
            out_pointers[source] = indptr[source]
            in_pointers[source] = in_indptr[source]
            reached[count] = source
            open_vertices[count] = source
            count += 1
    opened = count
    while opened > 0:
        threshold, least = unseen, unseen
        for i in range(opened):
            vertex = np.uint32(open_vertices[i])
            distance = distances[vertex]
            least = min(least, distance)
            last = np.int64(indptr[np.uint64(vertex) + ONE])
            pointer = _advance(out_pointers[vertex], last, heads_by_weight, settled)
            out_pointers[vertex] = pointer
            if pointer < last:
                # saturated, for an arc may be too long to be useful at all
                threshold = min(threshold, distance + min(out_weights[pointer], bound))
        while target < targets.size and distances[targets[target]] < least:
            target += 1
        if target == targets.size and target > 0:
            break
        phases += 1
        total_open += opened
        most_open = max(most_open, opened)
        still_open, settling = 0, 0
        for i in range(opened):
            vertex = np.uint32(open_vertices[i])
            distance = distances[vertex]
            final = distance <= threshold
            if in_out and not final:
                last = np.int64(in_indptr[np.uint64(vertex) + ONE])
                pointer = _advance(in_pointers[vertex], last, tails_by_weight, settled)
                in_pointers[vertex] = pointer
                final = pointer == last or distance <= least + min(in_weights[pointer], bound)
            if final:
                batch[settling] = vertex
                settling += 1
            else:
                open_vertices[still_open] = vertex
                still_open += 1
        opened = still_open
        for i in range(settling):
            settled[np.uint32(batch[i])] = SETTLED
        for i in range(settling):
            tail = np.uint32(batch[i])
            start = distances[tail]
            for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
                head = indices[arc]
                before = distances[head]
                candidate = number(start + weights[arc])
                if candidate >= before:
                    continue
                if candidate > bound:
                    status = CLIPPED
                    continue
                if before == unseen:
                    out_pointers[head] = indptr[head]
                    in_pointers[head] = in_indptr[head]
                    reached[count] = head
                    count += 1
                    open_vertices[opened] = head
                    opened += 1
                distances[head] = candidate
    for i in range(count):
        settled[np.uint32(reached[i])] = 0
    counters[0], counters[1] = phases, count - opened
    counters[2], counters[3] = most_open, total_open
    return status, count


def _arrays(n: int) -> tuple[NDArray[Any], ...]:
    empty = [np.empty(n, dtype) for dtype in (OFFSET, OFFSET, INDEX, INDEX)]
    return np.zeros(n, np.uint8), *empty


def solve(
    graph: Graph, request: Request, method: ThresholdDijkstra, dtype: Number
) -> Answer | None:
    """Answer `request` by threshold Dijkstra, with one search per row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    request : Request
    method : ThresholdDijkstra
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    in_out = method.criterion == "in-out"
    out_arcs = arcs_by_weight(graph, dtype)
    # unused without the IN test: then any arcs will do
    in_arcs = arcs_by_weight(graph, dtype, reverse=True) if in_out else out_arcs
    into = in_arcs.indptr.view(np.uint64), in_arcs.indices, in_arcs.weights
    options = (out_arcs.indices, out_arcs.weights, *into, in_out)
    search = Search(_threshold_dijkstra_kernel, options, _arrays)
    return solve_rows(graph, request, method, dtype, search)
