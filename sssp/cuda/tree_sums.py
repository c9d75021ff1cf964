"""Sums along shortest-path trees on a GPU: skims and loads by pointer jumping.

The twin of `sssp.cpu.tree_sums`, for trees that store all vertices. Every vertex of every row
knows an ancestor, first the one before it and then one twice as far away each round (Wyllie, "The
complexity of parallel computations", 1979). In a round a skim adds the sum of that ancestor, which
comes from as far above; a load gives that ancestor what has come together here, which is from as
far below. So paths of p arcs take log2(p) rounds, and all vertices take part in each.

Entries are numbered as they stand in memory, row by row or, where rows stand side by side, vertex
by vertex; in a kernel ``strides`` are those of a row and of a vertex.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numba import int32, int64, uint64
from numpy.typing import NDArray

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.availability import cuda, select
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import SHARE, device_graph, free_bytes, upload
from sssp.cuda.device_weights import on_host
from sssp.cuda.pool import THREADS, blocks_for, device_array, fill
from sssp.engine.check_memory import NO_LIMIT, check_memory
from sssp.engine.exact_sums import is_wide
from sssp.graph.arc_orders import order_of_heads
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT64, unreached

#: what is above a root, and above what is not reached
ROOT, NOTHING = -2, -1
#: words of ``found``: whether some ancestor is left, whether a number is not to be
LEFT, ODD, WORDS = 0, 1, 2
FEWER = "ask for fewer sources in a call, or call to_host() first"
#: threads that share the rows of a vertex, where those stand side by side
TOGETHER = 32


@inline
def _place_of(entry, row_stride, vertex_stride, rows, n):
    """Return the row and the vertex of an entry, given its index in the flat arrays."""
    entry = uint64(entry)
    row = (entry // uint64(row_stride)) % uint64(rows)
    return row, (entry // uint64(vertex_stride)) % uint64(n)


@inline
def _arc_into(indptr, tails, head, tail):
    """Return the position of the arc `tail` -> `head` among arcs sorted by head; -1 if none."""
    found = int32(-1)
    for arc in range(indptr[head], indptr[head + 1]):
        if tails[arc] == tail:
            found = int32(arc)
    return found


@kernel
def _above_kernel(row_stride, vertex_stride, memory_rows, n, rows, predecessors, above):
    """Initialize pointer jumping: each entry points to its predecessor in the tree.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    memory_rows   scalar     int64  host: in memory
    n             scalar     int64  host
    rows          scalar     int64  host: of the answer
    predecessors  (entries,) int32  the search
    above         (entries,) int32  here
    ============= ========== ====== ==========================================================
    """
    for entry in range(cuda.grid(1), above.size, cuda.gridsize(1)):
        row, _ = _place_of(entry, row_stride, vertex_stride, memory_rows, n)
        above[entry] = predecessors[entry] if row < uint64(rows) else int32(NOTHING)


@kernel
def _roots_kernel(sources, first_sources, row_stride, vertex_stride, above):
    """Mark the sources as tree roots in `above`, so that they differ from unreached vertices.

    ============= =========== ====== =====================================================
    argument      shape       dtype  written by
    ============= =========== ====== =====================================================
    sources       (k,)        int64  host
    first_sources (rows + 1,) int64  host: where those of every row begin
    row_stride    scalar      int64  host
    vertex_stride scalar      int64  host
    above         (entries,)  int32  host: predecessors; here: ROOT at sources without one
    ============= =========== ====== =====================================================
    """
    row = cuda.grid(1)
    if row + 1 >= first_sources.size:
        return
    for i in range(first_sources[row], first_sources[row + 1]):
        entry = row * row_stride + sources[i] * vertex_stride
        if above[entry] == NOTHING:
            above[entry] = ROOT


@kernel
def _values_kernel(
    indptr, tails, values, row_stride, vertex_stride, rows, n, missing, above, sums
):  # fmt: skip
    """Write for each vertex the value of the arc from its predecessor.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    indptr        (n + 1,)   int64  host: where the arcs to every head begin
    tails         (m,)       int32  host
    values        (m,)       number host: of the arcs by head
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    rows          scalar     int64  host: in memory
    n             scalar     int64  host
    missing       scalar     number host: what stands for unreached
    above         (entries,) int32  `_roots_kernel`
    sums          (entries,) number here
    ============= ========== ====== ==========================================================
    """
    for entry in range(cuda.grid(1), above.size, cuda.gridsize(1)):
        tail, found = above[entry], sums.dtype.type(0)
        if tail == NOTHING:
            found = missing
        elif tail >= 0:
            _, vertex = _place_of(entry, row_stride, vertex_stride, rows, n)
            found = values[_arc_into(indptr, tails, vertex, tail)]
        sums[entry] = found


@kernel
def _add_kernel(
    row_stride, vertex_stride, rows, n, above, sums, further, longer, found
):  # fmt: skip
    """Run one round of pointer jumping, which sums arc values along each vertex's tree path.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    rows          scalar     int64  host: in memory
    n             scalar     int64  host
    above         (entries,) int32  the round before
    sums          (entries,) number the round before
    further       (entries,) int32  here: ancestors twice as far away
    longer        (entries,) number here: sums of twice as many arcs
    found         (WORDS,)   int32  host: zeros; here: of ancestors, and of sums
    ============= ========== ====== ==========================================================
    """
    for entry in range(cuda.grid(1), above.size, cuda.gridsize(1)):
        ancestor, so_far = above[entry], sums[entry]
        if ancestor >= 0:
            row, _ = _place_of(entry, row_stride, vertex_stride, rows, n)
            there = row * uint64(row_stride) + uint64(ancestor) * uint64(vertex_stride)
            so_far = so_far + sums[there]
            if not isfinite(so_far):  # (integers are)
                found[ODD] = 1
            ancestor = above[there]
            if ancestor >= 0:
                found[LEFT] = 1
        further[entry], longer[entry] = ancestor, so_far


@kernel
def _volumes_kernel(
    row_stride, vertex_stride, memory_rows, n, rows, volumes, volume_row, volume_vertex, above,
    flows, greatest, found,
):  # fmt: skip
    """Copy every vertex's volume to the array of flows; flag volumes at unreached vertices.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    memory_rows   scalar     int64  host: in memory
    n             scalar     int64  host
    rows          scalar     int64  host: of the answer
    volumes       (x,)       int64  caller
    volume_row    scalar     int64  host: between rows there
    volume_vertex scalar     int64  host: between vertices there
    above         (entries,) int32  `_roots_kernel`
    flows         (entries,) int64  here
    greatest      (2,)       int64  host: zeros; here: the greatest volume, and of the negative
    found         (WORDS,)   int32  host: zeros; here: whether one leads to what is not reached
    ============= ========== ====== ==========================================================
    """
    most, least = int64(0), int64(0)
    for entry in range(cuda.grid(1), flows.size, cuda.gridsize(1)):
        row, vertex = _place_of(entry, row_stride, vertex_stride, memory_rows, n)
        volume = int64(0)
        if row < uint64(rows):
            volume = volumes[row * uint64(volume_row) + vertex * uint64(volume_vertex)]
            most, least = max(most, volume), min(least, volume)
            if volume != 0 and above[entry] == NOTHING:
                found[ODD] = 1
        flows[entry] = volume
    if most > greatest[0]:
        cuda.atomic.max(greatest, 0, most)
    if least < greatest[1]:
        cuda.atomic.min(greatest, 1, least)


@kernel
def _give_kernel(
    row_stride, vertex_stride, rows, n, above, flows, further, wider, found
):  # fmt: skip
    """Do one round of pointer jumping, which adds up flows toward the roots of the trees.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    rows          scalar     int64  host: in memory
    n             scalar     int64  host
    above         (entries,) int32  the round before
    flows         (entries,) int64  the round before
    further       (entries,) int32  here: ancestors twice as far away
    wider         (entries,) int64  host: flows; here: what comes from twice as far below
    found         (WORDS,)   int32  host: zeros; here: whether any ancestor is left
    ============= ========== ====== ==========================================================
    """
    for entry in range(cuda.grid(1), above.size, cuda.gridsize(1)):
        ancestor, flow = above[entry], flows[entry]
        if ancestor >= 0:
            row, _ = _place_of(entry, row_stride, vertex_stride, rows, n)
            there = row * uint64(row_stride) + uint64(ancestor) * uint64(vertex_stride)
            if flow != 0:
                cuda.atomic.add(wider, there, flow)
            ancestor = above[there]
            if ancestor >= 0:
                found[LEFT] = 1
        further[entry] = ancestor


@kernel
def _spread_kernel(
    indptr, tails, row_stride, vertex_stride, rows, together, predecessors, flows, loads
):  # fmt: skip
    """Add the flow of every vertex, over all rows, to the load of the arc from its predecessor.

    ============= ========== ====== ==========================================================
    argument      shape      dtype  written by
    ============= ========== ====== ==========================================================
    indptr        (n + 1,)   int64  host: where the arcs to every head begin
    tails         (m,)       int32  host
    row_stride    scalar     int64  host
    vertex_stride scalar     int64  host
    rows          scalar     int64  host: of the answer
    together      scalar     int64  host: threads that share a vertex
    predecessors  (entries,) int32  the search
    flows         (entries,) int64  `_give_kernel`
    loads         (m,)       int64  host: zeros; here: of the arcs by head
    ============= ========== ====== ==========================================================
    """
    thread = cuda.grid(1)
    vertex = thread // together
    if vertex + 1 >= indptr.size:
        return
    for arc in range(indptr[vertex], indptr[vertex + 1]):
        tail, load = tails[arc], int64(0)
        for row in range(thread % together, rows, together):
            entry = row * row_stride + vertex * vertex_stride
            if predecessors[entry] == tail:
                load += flows[entry]
        if load != 0:
            cuda.atomic.add(loads, arc, load)


class TreeSumsThere:
    """Sums along shortest-path trees, computed on the device that holds the trees.

    Parameters
    ----------
    graph : Graph
    predecessors : DeviceArray, shape (rows, n), int32
    sources : ndarray, int64
        One a row, or all of the one row.
    """

    def __init__(self, graph: Graph, predecessors: DeviceArray, sources: NDArray[np.int64]) -> None:
        self.graph, self.predecessors, self.sources = graph, predecessors, sources
        self.rows, n = predecessors.shape
        pitch = predecessors.pitch
        self.strides = (n, 1) if pitch is None else (1, pitch)
        self.memory_rows = self.rows if pitch is None else pitch
        self.entries = self.memory_rows * n
        #: parameters by which kernels find row and vertex of an entry
        self._layout = *self.strides, self.memory_rows, n
        self.stream = cuda.default_stream()

    def skim(self, values: NDArray[Any]) -> DeviceArray | None:
        """Sum arc values along the tree path to every vertex; return None if a sum is not finite.

        Parameters
        ----------
        values : ndarray, shape (m,)
            Of which no sum can leave the dtype, if they are integers.

        Returns
        -------
        DeviceArray, shape (rows, n), or None
            None: a sum is not finite.

        Raises
        ------
        DeviceError
            There is not so much memory on the device.
        """
        dtype = values.dtype
        with select(self.predecessors.number):
            self._check_memory(2 * dtype.itemsize)
            above, further = self._above(), device_array(self.entries, INDEX)
            sums, longer = (device_array(self.entries, dtype) for _ in range(2))
            found = cuda.to_device(np.zeros(WORDS, INDEX))
            indptr, tails, order = self._arcs()
            _values_kernel[blocks_for(self.entries), THREADS, self.stream](
                indptr, tails, upload(values[order]), *self._layout, unreached(dtype), above, sums
            )
            while self._is_left(found, _add_kernel, *self._layout, above, sums, further, longer):
                above, further, sums, longer = further, above, longer, sums
            if found.copy_to_host()[ODD]:
                return None
            return self.predecessors.like(longer)

    def upload(self, sums: NDArray[Any]) -> DeviceArray:
        """Copy an array of sums from the host to the device; return the `DeviceArray`."""
        number = self.predecessors.number
        with select(number):
            flat = cuda.to_device(np.ascontiguousarray(sums).reshape(-1))
        return DeviceArray(flat, sums.shape, number)

    def on_host(self, volumes: Any) -> NDArray[Any]:
        """Return traffic volumes as a NumPy array, copied to the host if they are on a GPU."""
        return volumes if isinstance(volumes, np.ndarray) else on_host(volumes)

    def load(self, volumes: Any) -> NDArray[np.int64] | None:
        """Send each vertex's volume along its shortest path; return the flow on every arc.

        Parameters
        ----------
        volumes : ndarray or array of a GPU library, shape (rows, n), int64

        Returns
        -------
        ndarray, shape (m,), int64, or None
            Flow on every arc. None: a sum may leave int64, or a volume leads to what is not
            reached.

        Raises
        ------
        TypeError
            Those on the device are not int64, or there are gaps between them.
        DeviceError
            There is not so much memory on the device.
        """
        with select(self.predecessors.number):
            self._check_memory((3 if isinstance(volumes, np.ndarray) else 2) * INT64.itemsize)
            there = self._bring_volumes(volumes)
            above, further = self._above(), device_array(self.entries, INDEX)
            flows, wider = (device_array(self.entries, INT64) for _ in range(2))
            found = cuda.to_device(np.zeros(WORDS, INDEX))
            greatest = cuda.to_device(np.zeros(2, INT64))
            _volumes_kernel[blocks_for(self.entries), THREADS, self.stream](
                *self._layout, self.rows, *there, above, flows, greatest, found
            )
            most, least = greatest.copy_to_host().tolist()
            if found.copy_to_host()[ODD] or is_wide(max(most, -least), self.entries):
                return None
            wider.copy_to_device(flows, stream=self.stream)
            while self._is_left(found, _give_kernel, *self._layout, above, flows, further, wider):
                above, further = further, above
                flows.copy_to_device(wider, stream=self.stream)
            indptr, tails, order = self._arcs()
            loads = cuda.to_device(np.zeros(max(1, self.graph.m), INT64))
            together = TOGETHER if self.strides[0] == 1 else 1
            _spread_kernel[-(-self.graph.n * together // THREADS), THREADS, self.stream](
                indptr, tails, *self.strides, self.rows, together, self.predecessors.flat, wider,
                loads,
            )  # fmt: skip
            by_arc: NDArray[np.int64] = np.empty(self.graph.m, INT64)
            by_arc[order] = loads.copy_to_host()[: self.graph.m]
            return by_arc

    def _bring_volumes(self, volumes: Any) -> tuple[Any, int, int]:
        """Return the trip volumes as a flat device array, with its row stride and vertex stride."""
        rows, n = self.predecessors.shape
        if isinstance(volumes, np.ndarray):
            return upload(volumes.reshape(-1)), n, 1
        if volumes.dtype == INT64:
            if isinstance(volumes, DeviceArray):
                return volumes.flat, *((n, 1) if volumes.pitch is None else (1, volumes.pitch))
            array = cuda.as_cuda_array(volumes)
            if array.is_c_contiguous():
                return array.reshape(array.size), n, 1
            if array.is_f_contiguous():
                return array.T.reshape(array.size), 1, rows
        raise TypeError(
            "volumes on a GPU are int64 there, without gaps; those of the host may be any numbers"
        )

    def _check_memory(self, numbers: int) -> None:
        """Raise DeviceError if the GPU lacks the memory for sums along the trees."""
        needed = self.entries * (numbers + 2 * INDEX.itemsize)
        room = int(free_bytes() * SHARE)
        needs = {"sums along the trees": needed}
        check_memory(needs, NO_LIMIT, self.predecessors.device, FEWER, room)

    def _arcs(self) -> tuple[Any, Any, NDArray[Any]]:
        """Return arcs sorted by head: offsets and tails on the GPU, old positions on the host."""
        indptr, tails, order = order_of_heads(self.graph)
        there = device_graph(self.graph, self.predecessors.number)
        return (
            there.array("heads' indptr", lambda: indptr.astype(INT64)),
            there.array("heads' tails", lambda: tails),
            order,
        )

    def _above(self) -> Any:
        """Return every vertex's predecessor per tree; `ROOT` at sources, `NOTHING` if unreached."""
        above = device_array(self.entries, INDEX)
        _above_kernel[blocks_for(self.entries), THREADS, self.stream](
            *self._layout, self.rows, self.predecessors.flat, above
        )
        firsts = np.arange(self.rows + 1)
        if self.rows != self.sources.size:  # the nearest of all
            firsts = np.array([0, self.sources.size])
        _roots_kernel[-(-self.rows // THREADS), THREADS, self.stream](
            cuda.to_device(self.sources), cuda.to_device(firsts), *self.strides, above
        )
        return above

    def _is_left(self, found: Any, a_round: Any, *arguments: Any) -> bool:
        """Run a round of pointer jumping; return True if another round is needed."""
        fill(found[LEFT : LEFT + 1], INDEX.type(0), self.stream)
        a_round[blocks_for(self.entries), THREADS, self.stream](*arguments, found)
        return bool(found.copy_to_host()[LEFT])
