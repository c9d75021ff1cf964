"""Shortest-path trees and origins (nearest sources), computed from distances on the device.

The same trees as `sssp.cpu.tree` finds: the smallest tight tail, and where a row has a tight
arc between equal distances, or the graph a negative weight, the fewest arcs from the source and
then the smallest tail. Over negative float weights an arc may be tight to rounding only.

Origins come down tight arcs. To hand them on arc by arc takes as many passes over the graph as a
path has arcs; so every vertex first points to one of its tight tails, and pointers are followed in
leaps, each of which multiplies how far they lead (pointer jumping, Wyllie 1979). Then passes only
settle what that leaves open: where sources are equally near, or arcs weigh nothing.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numba import int32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import on_host
from sssp.cuda.pool import THREADS, blocks_for, device_array
from sssp.cuda.search_base import Batch
from sssp.engine.request import Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX

#: blocks that share the vertices of one row
BLOCKS = 1 if SIMULATOR else 64
#: pointers that a vertex follows at a time
HOPS = 8
#: passes over the arcs that hand origins on, for one look from the host
PASSES = 8
#: int32 words per vertex that a row's tree takes: predecessors, hops, queue
ROW_WORDS = 3
NONE = np.int32(np.iinfo(np.int32).max)


@kernel
def _finals_kernel(distances, targets, whole, bound, unseen, finals):
    """Write for every row the greatest distance to a target: up to it, distances are final.

    Up to there the row is final; the bound if a target is unreached, or where there are none, or
    if the `whole` row is: over negative arcs a path may pass vertices farther away than its end.

    ========= ========= ======= ===================================
    argument  shape     dtype   written by
    ========= ========= ======= ===================================
    distances (rows, n) number  the search
    targets   (t,)      int64   host
    whole     scalar    boolean host: whether all the row is final
    bound     scalar    number  host: greatest distance of interest
    unseen    scalar    number  host: what stands for none
    finals    (rows,)   number  here
    ========= ========= ======= ===================================
    """
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    farthest = cuda.shared.array(THREADS, distances.dtype)
    count = 0 if whole else targets.size
    own = distances[row, targets[0]] if count > 0 else unseen
    for i in range(thread, count, THREADS):
        own = max(own, distances[row, targets[i]])
    farthest[thread] = own
    cuda.syncthreads()
    if thread == 0:
        for i in range(THREADS):
            own = max(own, farthest[i])
        finals[row] = bound if own == unseen else own


@kernel
def _smallest_tails_kernel(
    indptr, indices, weights, finals, distances, origin, has_origin, arrivals, predecessors, ties
):
    """Find predecessors: each vertex's smallest tail among the arcs that attain its distance.

    ============ ========= ======= ===============================================
    argument     shape     dtype   written by
    ============ ========= ======= ===============================================
    indptr       (n + 1,)  int32   upload of the graph
    indices      (m,)      int32   upload of the graph
    weights      (m,)      number  upload of the graph
    finals       (rows,)   number  `_finals_kernel`
    distances    (rows, n) number  the search
    origin       (n,)      int32   `_spread_kernel`; not read without `has_origin`
    has_origin   scalar    boolean host: whether it was a nearest search
    arrivals     scalar    int32   host: heads below it that lead nowhere close no cycle
    predecessors (rows, n) int32   host: `NONE`; here
    ties         (rows,)   int32   host: 0; here
    ============ ========= ======= ===============================================
    """
    row = cuda.blockIdx.y
    number = distances.dtype.type
    final = finals[row]
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for tail in range(first, indptr.size - 1, cuda.gridDim.x * cuda.blockDim.x):
        start = distances[row, tail]
        if start > final:
            continue
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            end = distances[row, head]
            if end > final or number(start + weights[arc]) != end:
                continue
            if start == end and (head >= arrivals or indptr[head] < indptr[head + 1]):
                ties[row] = 1
            if not has_origin or origin[head] == origin[tail]:
                cuda.atomic.min(predecessors, (row, head), int32(tail))


@inline
def _is_tight(start, weight, end, tolerance):
    number = type(end)
    candidate = number(start + weight)
    return candidate == end or (tolerance > 0 and abs(candidate - end) <= tolerance)


@kernel
def _fewest_arcs_kernel(
    indptr, indices, weights, sources, first_sources, finals, tolerances, distances, origin,
    has_origin, ties, every_row, predecessors, hops, queue,
):  # fmt: skip
    """Find each row's shortest-path tree with the fewest arcs, breadth-first; a block per row.

    ============= =========== ======= ===============================================
    argument      shape       dtype   written by
    ============= =========== ======= ===============================================
    indptr        (n + 1,)    int32   upload of the graph
    indices       (m,)        int32   upload of the graph
    weights       (m,)        number  upload of the graph
    sources       (k,)        int64   host
    first_sources (rows + 1,) int64   host
    finals        (rows,)     number  `_finals_kernel`
    tolerances    (rows,)     number  host: 0; `_tolerances_kernel`
    distances     (rows, n)   number  the search
    origin        (n,)        int32   `_spread_kernel`; not read without `has_origin`
    has_origin    scalar      boolean host: whether it was a nearest search
    ties          (rows,)     int32   `_smallest_tails_kernel`: rows that need it
    every_row     scalar      boolean host: whether all rows do
    predecessors  (rows, n)   int32   `_smallest_tails_kernel`; here
    hops          (rows, n)   int32   here: arcs from a source, -1 for none
    queue         (rows, n)   int32   here: vertices in order of hops
    ============= =========== ======= ===============================================
    """
    row = cuda.blockIdx.x
    if ties[row] == 0 and not every_row:
        return
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    final, tolerance = finals[row], tolerances[row]
    size = cuda.shared.array(1, int32)
    for v in range(thread, indptr.size - 1, threads):
        predecessors[row, v] = NONE
        hops[row, v] = -1
    cuda.syncthreads()
    if thread == 0:
        size[0] = 0
        for i in range(first_sources[row], first_sources[row + 1]):
            source = sources[i]
            if hops[row, source] < 0 and distances[row, source] == 0:
                hops[row, source] = 0
                queue[row, size[0]] = source
                size[0] = int32(size[0] + 1)
    cuda.syncthreads()
    level, first, last = int32(0), int32(0), size[0]
    while first < last:
        level = int32(level + 1)
        cuda.syncthreads()
        for i in range(first + thread, last, threads):
            tail = queue[row, i]
            start = distances[row, tail]
            for arc in range(indptr[tail], indptr[tail + 1]):
                head = indices[arc]
                end = distances[row, head]
                if end > final or not _is_tight(start, weights[arc], end, tolerance):
                    continue
                if has_origin and origin[head] != origin[tail]:
                    continue
                before = cuda.atomic.cas(hops, (row, head), int32(-1), level)
                if before == -1:
                    queue[row, cuda.atomic.add(size, 0, int32(1))] = head
                if before == -1 or before == level:
                    cuda.atomic.min(predecessors, (row, head), tail)
        cuda.syncthreads()
        first, last = last, size[0]


@kernel
def _root_kernel(sources, distances, origin):
    """Set `origin`, the nearest source, of each source at distance 0 to the source itself."""
    for i in range(cuda.grid(1), sources.size, cuda.gridsize(1)):
        source = sources[i]
        if distances[0, source] == 0:
            origin[source] = source


@kernel
def _point_kernel(indptr, indices, weights, finals, tolerances, distances, origin):
    """Set `origin` of every vertex except the sources to the tail of a tight arc into it.

    ========== ======== ====== ==========================================================
    argument   shape    dtype  written by
    ========== ======== ====== ==========================================================
    indptr     (n + 1,) int32  upload of the graph
    indices    (m,)     int32  upload of the graph
    weights    (m,)     number upload of the graph
    finals     (rows,)  number `_finals_kernel`
    tolerances (rows,)  number host: 0; `_tolerances_kernel`
    distances  (1, n)   number the search
    origin     (n,)     int32  host: `NONE`; `_root_kernel`; here: any such tail, if any
    ========== ======== ====== ==========================================================
    """
    for tail in range(cuda.grid(1), indptr.size - 1, cuda.gridsize(1)):
        start = distances[0, tail]
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            end = distances[0, head]
            # (nearer, so that no pointers go in a circle)
            if start >= end or end > finals[0]:
                continue
            if origin[head] != head and _is_tight(start, weights[arc], end, tolerances[0]):
                origin[head] = tail


@kernel
def _jump_kernel(origin):
    """Advance every vertex's pointer several steps along its path to a source (pointer jumping)."""
    for vertex in range(cuda.grid(1), origin.size, cuda.gridsize(1)):
        found, hops = origin[vertex], 0
        while hops < HOPS and found != NONE and origin[found] != found:
            found = origin[found]
            hops += 1
        origin[vertex] = found


@kernel
def _spread_kernel(indptr, indices, weights, finals, tolerances, distances, origin, changed):
    """Lower each vertex's origin (source) to the least origin at the tails of tight arcs into it.

    ========== ======== ====== ==================================
    argument   shape    dtype  written by
    ========== ======== ====== ==================================
    indptr     (n + 1,) int32  upload of the graph
    indices    (m,)     int32  upload of the graph
    weights    (m,)     number upload of the graph
    finals     (rows,)  number `_finals_kernel`
    tolerances (rows,)  number host: 0; `_tolerances_kernel`
    distances  (1, n)   number the search
    origin     (n,)     int32  `_jump_kernel`; here
    changed    (1,)     int32  host: 0; here
    ========== ======== ====== ==================================
    """
    for tail in range(cuda.grid(1), indptr.size - 1, cuda.gridsize(1)):
        winner = origin[tail]
        if winner == NONE:
            continue
        start = distances[0, tail]
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            end = distances[0, head]
            if end > finals[0] or not _is_tight(start, weights[arc], end, tolerances[0]):
                continue
            if origin[head] != head and cuda.atomic.min(origin, head, winner) > winner:
                changed[0] = 1


@kernel
def _tolerances_kernel(distances, finals, found, hops, with_hops, unseen, share, tolerances):
    """Set each row's rounding tolerance for finding missing predecessors; 0 if none is missing.

    A root, of no hops, has no predecessor.

    ========== ========= ======= ===================================================
    argument   shape     dtype   written by
    ========== ========= ======= ===================================================
    distances  (rows, n) number  the search
    finals     (rows,)   number  `_finals_kernel`
    found      (rows, n) int32   predecessors or origins
    hops       (rows, n) int32   `_fewest_arcs_kernel`; not read without `with_hops`
    with_hops  scalar    boolean host
    unseen     scalar    number  host: what stands for none
    share      scalar    number  host: of the greatest distance
    tolerances (rows,)   number  here: 0, or that share
    ========== ========= ======= ===================================================
    """
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    greatest = cuda.shared.array(THREADS, distances.dtype)
    missing = cuda.shared.array(1, int32)
    own = distances.dtype.type(0)
    if thread == 0:
        missing[0] = 0
    cuda.syncthreads()
    for v in range(thread, distances.shape[1], THREADS):
        distance = distances[row, v]
        if distance == unseen:
            continue
        own = max(own, abs(distance))
        is_root = with_hops and hops[row, v] == 0
        if distance <= finals[row] and found[row, v] == NONE and not is_root:
            missing[0] = 1
    greatest[thread] = own
    cuda.syncthreads()
    if thread == 0:
        for i in range(THREADS):
            own = max(own, greatest[i])
        tolerances[row] = own * share if missing[0] != 0 else 0


@kernel
def _finish_kernel(array):
    """Replace the `NONE` entries of an array by -1: no predecessor or origin was found."""
    for i in range(cuda.grid(1), array.size, cuda.gridsize(1)):
        if array[i] == NONE:
            array[i] = -1


class Scratch(
    namedtuple("Scratch", "predecessors hops queue finals tolerances ties changed origin")
):
    """Device memory for finding the shortest-path trees of a batch of rows.

    Attributes
    ----------
    predecessors, hops, queue : device arrays, shape (rows, n), int32
        A row's tree, where it has no other place, and what finds it.
    finals : device array, shape (rows,)
        Only vertices at or below this distance belong to a row's tree.
    tolerances : device array, shape (rows,)
        How far the two sides of a tight arc may lie apart.
    ties, changed : device arrays, shape (rows,) and (1,), int32
    origin : device array, shape (n,), int32
    """


def tree_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of device memory that building one row's shortest-path tree needs."""
    words = 1 if request.nearest else 0
    if request.predecessors:
        words += ROW_WORDS - 1 if request.output == "device" else ROW_WORDS
    return words * graph.n * INDEX.itemsize


def allocate_tree(graph: Graph, request: Request, rows: int, dtype: np.dtype[Any]) -> Scratch:
    """Return device memory for building the shortest-path trees of at most `rows` rows."""

    def words(*, wanted: bool) -> Any:
        return device_array((rows, graph.n) if wanted else (1, 1), INDEX)

    return Scratch(
        predecessors=words(wanted=request.predecessors and request.output != "device"),
        hops=words(wanted=request.predecessors),
        queue=words(wanted=request.predecessors),
        finals=device_array(rows, dtype),
        tolerances=device_array(rows, dtype),
        ties=device_array(rows, INDEX),
        changed=device_array(1, INDEX),
        origin=device_array(graph.n if request.nearest else 1, INDEX),
    )


class Tree:
    """Shortest-path trees of a batch, found from its final distances.

    Parameters
    ----------
    graph : Graph
    arcs : tuple of device arrays
        ``indptr``, ``indices``, ``weights``.
    batch : Batch
        Solved.
    scratch : Scratch
    """

    def __init__(self, graph: Graph, arcs: tuple[Any, ...], batch: Batch, scratch: Scratch) -> None:
        self.graph, self.arcs, self.batch, self.scratch = graph, arcs, batch, scratch
        negative = graph.least_weight < 0
        self.may_be_inexact = negative and np.dtype(batch.distances.dtype).kind == "f"
        _finals_kernel[batch.rows, THREADS, batch.stream](
            batch.distances, batch.targets, negative, batch.bound, batch.unseen, scratch.finals
        )
        batch.fill(scratch.tolerances, 0)

    def origin(self) -> Any:
        """Return the nearest source of every vertex as a device array, -1 where there is none."""
        origin = self.scratch.origin
        self._find_origin(origin)
        if self.may_be_inexact and self._widen(origin.reshape(1, origin.size), hops=None):
            self._find_origin(origin)
            self.batch.fill(self.scratch.tolerances, 0)
        _finish_kernel[blocks_for(self.graph.n), THREADS, self.batch.stream](origin)
        return origin

    def _find_origin(self, origin: Any) -> None:
        batch, scratch = self.batch, self.scratch
        launch = (blocks_for(self.graph.n), THREADS, batch.stream)
        tight = *self.arcs, scratch.finals, scratch.tolerances, batch.distances, origin
        batch.fill(origin, NONE)
        _root_kernel[launch](batch.sources, batch.distances, origin)
        _point_kernel[launch](*tight)
        followed = 1
        while followed < self.graph.n:
            _jump_kernel[launch](origin)
            followed *= 1 + HOPS
        # (mostly all is settled by then, and one pass shows it)
        passes, changes = 1, True
        while changes:
            for _ in range(passes):
                batch.fill(scratch.changed, 0)
                _spread_kernel[launch](*tight, scratch.changed)
            changes = bool(on_host(scratch.changed, batch.stream)[0])
            passes = PASSES

    def _widen(self, found: Any, hops: Any | None) -> bool:
        """Set the tolerance for tight arcs in each row; return whether any tolerance is not 0."""
        batch, tolerances = self.batch, self.scratch.tolerances
        kind = np.dtype(batch.distances.dtype)
        _tolerances_kernel[batch.rows, THREADS, batch.stream](
            batch.distances, self.scratch.finals, found, found if hops is None else hops,
            hops is not None, batch.unseen, kind.type(4 * self.graph.n * np.finfo(kind).eps),
            tolerances,
        )  # fmt: skip
        return bool(on_host(tolerances, batch.stream)[: batch.rows].any())

    def predecessors(self, origin: Any | None, place: Any | None, fewest_arcs: bool = False) -> Any:
        """Compute the predecessors in all rows on the device; return them, shape (rows, n).

        Parameters
        ----------
        origin : device array, shape (n,), int32, or None
            Of a nearest search: a vertex and its predecessor have the same.
        place : device array, shape (rows, n), int32, or None
        fewest_arcs : bool
            Whether every tree takes the fewest arcs also where it need not.
        """
        batch, scratch = self.batch, self.scratch
        predecessors = scratch.predecessors[: batch.rows] if place is None else place
        batch.fill(predecessors, NONE)
        batch.fill(scratch.ties, 0)
        has_origin = origin is not None
        origin = origin if has_origin else scratch.ties
        _smallest_tails_kernel[(BLOCKS, batch.rows), THREADS, batch.stream](
            *self.arcs, scratch.finals, batch.distances, origin, has_origin,
            np.int32(self.graph._arrivals), predecessors, scratch.ties,
        )  # fmt: skip
        every_row = fewest_arcs or self.graph.least_weight < 0

        def take_fewest_arcs() -> None:
            _fewest_arcs_kernel[batch.rows, THREADS, batch.stream](
                *self.arcs, batch.sources, batch.first_sources, scratch.finals, scratch.tolerances,
                batch.distances, origin, has_origin, scratch.ties, every_row, predecessors,
                scratch.hops, scratch.queue,
            )  # fmt: skip

        take_fewest_arcs()
        if self.may_be_inexact and self._widen(predecessors, scratch.hops):
            take_fewest_arcs()
        _finish_kernel[blocks_for(predecessors.size), THREADS, batch.stream](
            predecessors.reshape(predecessors.size)
        )
        return predecessors
