"""Brandes' dependencies, for betweenness centrality, computed from distances on a GPU.

Brandes (2001), "A faster algorithm for betweenness centrality". As on the CPU
(`sssp.cpu.path_counts`) only final distances are needed: the arcs that are tight make an acyclic
graph, and a vertex follows once the tails of all its tight arcs have come. What comes together is
a level; levels are passed outward for the numbers of paths, and back for the dependencies. Sums
are pulled along the arcs in their order, so that they do not depend on which thread was first.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int32
from numpy.typing import NDArray

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import kernel
from sssp.cuda.device_memory import available_bytes, device_graph
from sssp.cuda.pool import blocks_for, device_array, fill
from sssp.engine.check_memory import check_memory
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, unreached
from sssp.kernels.status import DONE, NEGATIVE_CYCLE, OVERFLOW

#: threads of a block, which has a row
THREADS = 4 if SIMULATOR else 512
#: rows that are in hand at a time, at most: some for every multiprocessor
MOST_ROWS = 2 if SIMULATOR else 512
#: words of ``found``: vertices in ``order``, and reached ones
SIZE, REACHED = 0, 1


@kernel
def _dependencies_kernel(
    in_indptr, tails, in_weights, indptr, heads, weights, distances, unseen, sources, left, order,
    levels, paths, shares, status,
):  # fmt: skip
    """Compute the dependency of a source on every vertex (Brandes), one block per row.

    ========== =========== ======= ==========================================================
    argument   shape       dtype   written by
    ========== =========== ======= ==========================================================
    in_indptr  (n + 1,)    int32   upload of the reverse graph
    tails      (m,)        int32   upload of the reverse graph
    in_weights (m,)        number  upload of the reverse graph
    indptr     (n + 1,)    int32   upload of the graph
    heads      (m,)        int32   upload of the graph
    weights    (m,)        number  upload of the graph
    distances  (rows, n)   number  a search
    unseen     scalar      number  host: what stands for unreached
    sources    (rows,)     int64   host
    left       (rows, n)   int32   here: tight arcs into a vertex whose tails have not come
    order      (rows, n)   int32   here: vertices as they come
    levels     (rows, n+2) int32   here: where each level begins in `order`
    paths      (rows, n)   float64 here: number of shortest paths
    shares     (rows, n)   float64 here: dependencies; 0 for the source and what is not reached
    status     (rows,)     int64   host: `DONE`; here, as of `sssp.cpu.path_counts`
    ========== =========== ======= ==========================================================
    """
    row, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    found = cuda.shared.array(2, int32)
    own, source = distances[row], sources[row]
    if thread < 2:
        found[thread] = 0
    cuda.syncthreads()
    reached = int32(0)
    for vertex in range(thread, own.size, threads):
        end = own[vertex]
        into = int32(0)
        if end != unseen:
            reached += int32(1)
            for arc in range(in_indptr[vertex], in_indptr[vertex + 1]):
                if own[tails[arc]] + in_weights[arc] == end:
                    into += int32(1)
        left[row, vertex] = into
        shares[row, vertex] = 0.0
    cuda.atomic.add(found, REACHED, reached)
    cuda.syncthreads()
    if thread == 0:
        # (a source on a cycle of zeros never begins)
        found[SIZE] = 1 if left[row, source] == 0 else 0
        order[row, 0] = source
        levels[row, 0], levels[row, 1] = 0, found[SIZE]
    cuda.syncthreads()
    level, begin, end_of_level = 0, 0, levels[row, 1]
    while begin < end_of_level:
        for place in range(begin + thread, end_of_level, threads):
            vertex = order[row, place]
            count = 1.0 if vertex == source else 0.0
            for arc in range(in_indptr[vertex], in_indptr[vertex + 1]):
                if own[tails[arc]] + in_weights[arc] == own[vertex]:
                    count += paths[row, tails[arc]]
            paths[row, vertex] = count
            if count == np.inf:
                status[row] = OVERFLOW
            for arc in range(indptr[vertex], indptr[vertex + 1]):
                head = heads[arc]
                tight = own[head] != unseen and own[vertex] + weights[arc] == own[head]
                if tight and cuda.atomic.sub(left, (row, head), 1) == 1:
                    order[row, cuda.atomic.add(found, SIZE, 1)] = head
        cuda.syncthreads()
        level += 1
        begin, end_of_level = end_of_level, found[SIZE]
        if thread == 0:
            levels[row, level + 1] = end_of_level
        cuda.syncthreads()
    if end_of_level != found[REACHED]:
        if thread == 0:
            status[row] = NEGATIVE_CYCLE
        return
    while level > 1:  # the source, which is the first level, is on no path of its own
        level -= 1
        for place in range(levels[row, level] + thread, levels[row, level + 1], threads):
            vertex = order[row, place]
            share = float64(0)
            for arc in range(indptr[vertex], indptr[vertex + 1]):
                head = heads[arc]
                if own[head] != unseen and own[vertex] + weights[arc] == own[head]:
                    share += paths[row, vertex] * ((1.0 + shares[row, head]) / paths[row, head])
            shares[row, vertex] = share
        cuda.syncthreads()


@kernel
def _add_rows_kernel(shares, total):
    """Add the Brandes dependencies of all rows to the total of each vertex, in row order.

    ====== ========= ======= ======================
    shares (rows, n) float64 `_dependencies_kernel`
    total  (n,)      float64 host: zeros; here
    ====== ========= ======= ======================
    """
    for vertex in range(cuda.grid(1), total.size, cuda.gridsize(1)):
        so_far = total[vertex]
        for row in range(shares.shape[0]):
            so_far += shares[row, vertex]
        total[vertex] = so_far


class Dependencies:
    """Total of Brandes' dependencies per vertex, computed from rows of distances on a device.

    Parameters
    ----------
    graph : Graph
        That was searched; without closed arcs.
    device : str
    rows : int
        How many there will be.
    memory_limit : int
        Bytes that the call may take on the device.
    remedy : str
        What the caller can do where that is not enough.

    Attributes
    ----------
    rows : int
        How many can be added at a time.
    nbytes : int
        Bytes of the device that this takes.

    Raises
    ------
    DeviceError
        One row does not fit.
    """

    def __init__(
        self, graph: Graph, device: str, rows: int, memory_limit: int, remedy: str
    ) -> None:
        self.number = device_number(device)
        n, dtype = graph.n, graph.weights.dtype
        with select(self.number):
            on_device = device_graph(graph, self.number)
            forward = on_device.arcs(graph, dtype)
            self._arcs = on_device.arcs(graph, dtype, reverse=True) + forward
            row = 3 * (n + 1) * INDEX.itemsize + 2 * n * FLOAT64.itemsize
            room = available_bytes(memory_limit, on_device.nbytes)
            limit = memory_limit - on_device.nbytes
            check_memory({"a row of path counts": row}, limit, device, remedy, room)
            # as much again for the searches
            self.rows = max(1, min(MOST_ROWS, rows, room // (2 * row)))
            self.nbytes = self.rows * row
            self._total = device_array(n, FLOAT64)
            fill(self._total, 0.0, cuda.default_stream())
            # of `_dependencies_kernel`: left, order, levels, paths, shares
            arrays = (n, INDEX), (n, INDEX), (n + 2, INDEX), (n, FLOAT64), (n, FLOAT64)
            self._scratch = [device_array((self.rows, size), kind) for size, kind in arrays]

    def add(self, sources: NDArray[np.int64], distances: DeviceArray) -> NDArray[np.int64]:
        """Add the Brandes dependencies of some rows to the total; return a status code per row."""
        rows, n = distances.shape
        with select(self.number):
            scratch = [array[:rows] for array in self._scratch]
            status = cuda.to_device(np.full(rows, DONE, np.int64))
            if rows and n:
                _dependencies_kernel[rows, THREADS](
                    *self._arcs, distances.for_kernels(), unreached(distances.dtype),
                    cuda.to_device(sources), *scratch, status,
                )  # fmt: skip
                _add_rows_kernel[blocks_for(n), THREADS](scratch[-1], self._total)
            found: NDArray[np.int64] = status.copy_to_host()
        return found

    def total(self) -> NDArray[np.float64]:
        """Return each vertex's sum of Brandes' dependencies over all rows that have been added."""
        with select(self.number):
            total: NDArray[np.float64] = self._total.copy_to_host()
        return total
