"""What becomes of finished batches: the forms of an answer, twins of those in `sssp.engine.forms`.

Only what the answer holds leaves the device: columns of targets are gathered and reached
vertices compacted there, and a reduction sends back one number a row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numba import int32, int64
from numpy.typing import NDArray

from sssp.cuda import reduce
from sssp.cuda.arrays import DeviceArray
from sssp.cuda.compiler import SIMULATOR, cuda
from sssp.cuda.memory import download
from sssp.cuda.tree import THREADS, blocks_for
from sssp.engine.forms import (
    REMEDY,
    DenseCollector,
    ReductionCollector,
    SparseCollector,
    joined_halves,
)
from sssp.engine.query import Answer, Query, Reduction, physical_memory
from sssp.errors import DeviceError, DistanceOverflowError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT32, INT64, unreached

if TYPE_CHECKING:
    from sssp.cuda.rows import Batch

__all__ = ["Form", "make_form", "narrow_kernel"]

#: vertices side by side that one thread compacts
RUN = 4 if SIMULATOR else 16
#: vertices that one block compacts
TILE = THREADS * RUN
#: blocks of a kernel that leaves one number for a whole matrix
FEW_BLOCKS = 1 if SIMULATOR else 512


@cuda.jit
def _gather_kernel(distances, targets, columns):
    row = cuda.blockIdx.y
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < targets.size:
        columns[row, i] = distances[row, targets[i]]
        i += stride


@cuda.jit
def _count_kernel(distances, unseen, counts):
    """Count the reached vertices of a tile of a row, one block a tile."""
    tile, row = cuda.blockIdx.x, cuda.blockIdx.y
    total = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    last = min(int64((tile + 1) * TILE), distances.shape[1])
    vertex, own = tile * TILE + cuda.threadIdx.x, int32(0)
    while vertex < last:
        if distances[row, vertex] != unseen:
            own = int32(own + 1)
        vertex += THREADS
    cuda.atomic.add(total, 0, own)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        counts[row, tile] = total[0]


@cuda.jit
def _compact_kernel(distances, unseen, predecessors, with_tails, offsets, vertices, numbers, tails):
    """Write down what a tile has reached, in order of vertex, from its offset on."""
    tile, row, thread = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    sums = cuda.shared.array((2, THREADS), int32)
    first = tile * TILE + thread * RUN
    last = min(int64(first + RUN), distances.shape[1])
    own = int32(0)
    for vertex in range(first, last):
        if distances[row, vertex] != unseen:
            own = int32(own + 1)
    sums[0, thread] = own
    side, reach = 0, 1
    while reach < THREADS:  # prefix sums, each step over twice the distance
        cuda.syncthreads()
        total = sums[side, thread]
        if thread >= reach:
            total = int32(total + sums[side, thread - reach])
        side ^= 1
        sums[side, thread] = total
        reach *= 2
    place = offsets[row, tile] + sums[side, thread] - own
    for vertex in range(first, last):
        if distances[row, vertex] != unseen:
            vertices[place] = vertex
            numbers[place] = distances[row, vertex]
            if with_tails:
                tails[place] = predecessors[row, vertex]
            place += 1


@cuda.jit
def _magnitude_kernel(values, missing, greatest):
    """Find the greatest absolute value of int64 distances."""
    own = int64(0)
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < values.size:
        if values[i] != missing:
            own = max(own, abs(values[i]))
        i += stride
    cuda.atomic.max(greatest, 0, own)


@cuda.jit
def narrow_kernel(values, missing, narrow, narrow_missing):
    """Copy int64 distances that fit to int32."""
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < values.size:
        narrow[i] = narrow_missing if values[i] == missing else int32(values[i])
        i += stride


class Form(Protocol):
    """Takes batches, in order, and makes the answer.

    Attributes
    ----------
    fixed_bytes, row_bytes : int
        Bytes on the device, for the answer and for the scratch of one row of a batch.
    holds_distances : bool
        Whether the search writes its distances right into the answer.
    """

    fixed_bytes: int
    row_bytes: int
    holds_distances: bool

    def reserve(self) -> None:
        """Allocate what the answer needs on the device."""

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return scratch for a batch of at most so many rows."""

    def distances(self, rows: range) -> Any:
        """Return where the search writes its distances, if the answer holds them."""

    def predecessors(self, rows: range) -> Any | None:
        """Return where the predecessors go; None: into scratch."""

    def take(
        self, rows: range, batch: Batch, scratch: tuple[Any, ...], tails: Any, origin: Any
    ) -> None:
        """Keep what the answer needs of a batch: device arrays, `tails` of predecessors."""

    def answer(self) -> Answer:
        """Return the answer once all rows are in."""


def make_form(graph: Graph, query: Query, dtype: np.dtype[Any], number: int) -> Form:
    """Return the form of answer that `query` wants from a device."""
    if query.reduction is not None:
        return ReducedForm(query, query.reduction, dtype)
    if query.output == "device":
        return DeviceForm(graph, query, dtype, number)
    if query.output == "sparse":
        return SparseForm(graph, query, dtype)
    return DenseForm(graph, query, dtype)


class _HostForm:
    """What the forms have in common whose answer is on the host."""

    fixed_bytes = 0
    row_bytes = 0
    holds_distances = False

    def reserve(self) -> None:
        """Nothing: the answer is on the host."""

    def distances(self, rows: range) -> None:
        """Nothing: they are in scratch."""

    def predecessors(self, rows: range) -> None:
        """Nothing: they are in scratch."""


class DenseForm(_HostForm):
    """Rows of a matrix on the host, over all vertices or over the targets."""

    def __init__(self, graph: Graph, query: Query, dtype: np.dtype[Any]) -> None:
        self.query, self.dtype = query, dtype
        self.collector = DenseCollector(graph, query, dtype)
        if self.collector.nbytes > physical_memory():
            raise DeviceError(
                f"the answer takes {self.collector.nbytes:,} bytes, but the host has "
                f"{physical_memory():,}; ask for fewer sources at a time (sssp.iter_blocks) or "
                "for less of each (targets, limit with output='sparse', sssp.reduce)"
            )
        if query.targets is not None:
            self.row_bytes = query.targets.size * dtype.itemsize

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Columns of the targets."""
        targets = self.query.targets
        if targets is None or targets.size == 0:
            return ()
        return (cuda.device_array((rows, targets.size), self.dtype),)

    def take(
        self, rows: range, batch: Batch, scratch: tuple[Any, ...], tails: Any, origin: Any
    ) -> None:
        """Copy the rows to where they belong."""
        found = batch.distances
        if scratch:
            found = scratch[0][: batch.rows]
            _gather(batch, found)
        block = self.collector.distance_block(rows)
        if block is not None:
            download(found, block, batch.stream)
        else:
            shape = len(rows), self.collector.shape[1]
            host: NDArray[Any] = np.empty(shape, self.dtype)
            download(found, host, batch.stream)
            self.collector.place(rows, host)
        if tails is not None:
            download(tails, self.collector.predecessor_block(rows), batch.stream)
        self.collector.origin = _on_host(origin, batch.stream)

    def answer(self) -> Answer:
        """Return the matrix."""
        return self.collector.answer()


class SparseForm(_HostForm):
    """The reached vertices of every row, in order of vertex, compacted on the device."""

    def __init__(self, graph: Graph, query: Query, dtype: np.dtype[Any]) -> None:
        self.n, self.dtype, self.with_tails = graph.n, dtype, query.predecessors
        self.tiles = -(-graph.n // TILE)
        self.collector = SparseCollector(graph, query, dtype)
        entry = dtype.itemsize + INDEX.itemsize * (2 if self.with_tails else 1)
        self.row_bytes = self.n * entry + self.tiles * (INDEX.itemsize + INT64.itemsize)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Counts and offsets of tiles; vertices, distances and predecessors, at most all."""
        entries = rows * self.n
        return (
            cuda.device_array((rows, self.tiles), INDEX),
            cuda.device_array((rows, self.tiles), INT64),
            cuda.device_array(entries, INDEX),
            cuda.device_array(entries, self.dtype),
            cuda.device_array(entries if self.with_tails else 1, INDEX),
        )

    def take(
        self, rows: range, batch: Batch, scratch: tuple[Any, ...], tails: Any, origin: Any
    ) -> None:
        """Count, compact, and copy what there is."""
        counts, offsets, *entries = scratch
        counts, offsets = counts[: batch.rows], offsets[: batch.rows]
        launch = (self.tiles, batch.rows), THREADS, batch.stream
        _count_kernel[launch](batch.distances, batch.unseen, counts)
        reached = _on_host(counts, batch.stream).astype(np.int64)
        ends = np.cumsum(reached).reshape(reached.shape)
        offsets.copy_to_device(ends - reached, stream=batch.stream)
        _compact_kernel[launch](
            batch.distances,
            batch.unseen,
            batch.distances.view(INDEX) if tails is None else tails,
            self.with_tails,
            offsets,
            *entries,
        )
        kept = entries if self.with_tails else entries[:2]
        vertices, distances, *found_tails = (
            _on_host(column[: ends[-1, -1]], batch.stream) for column in kept
        )
        for row, (first, last) in zip(rows, pairwise([0, *ends[:, -1].tolist()]), strict=True):
            own = slice(first, last)
            row_tails = found_tails[0][own] if found_tails else None
            self.collector.keep(row, vertices[own], distances[own], row_tails)
        self.collector.origin = _on_host(origin, batch.stream)

    def answer(self) -> Answer:
        """Return the matrices."""
        return self.collector.answer()


class ReducedForm(_HostForm):
    """One number a row."""

    def __init__(self, query: Query, reduction: Reduction, dtype: np.dtype[Any]) -> None:
        self.reduction = reduction
        self.collector = ReductionCollector(query, reduction, dtype)
        self.integral = self.collector.values.dtype == INT64
        self.row_bytes = reduce.ROW_BYTES
        weights = reduction.vertex_weights
        self.fixed_bytes = 0 if weights is None else weights.nbytes
        self.weights: Any = None

    def reserve(self) -> None:
        """Bring the weights of the vertices to the device."""
        weights = self.reduction.vertex_weights
        self.weights = cuda.to_device(self.collector.values[:0] if weights is None else weights)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Return what the blocks of a row find, and what they find together."""
        return reduce.allocate(rows, self.collector.values.dtype)

    def take(
        self, rows: range, batch: Batch, scratch: tuple[Any, ...], tails: Any, origin: Any
    ) -> None:
        """Reduce the rows of a batch."""
        reduce.launch(self.reduction.what, batch, self.weights, scratch)
        totals = _on_host(scratch[-1], batch.stream)[: batch.rows]
        values = self.collector.values[rows.start : rows.stop]
        if self.integral and self.reduction.what != "eccentricity":
            values[:] = [joined_halves(high, low) for high, low in totals.tolist()]
        else:
            values[:] = totals[:, 0]

    def answer(self) -> Answer:
        """Return the numbers."""
        return self.collector.answer()


class DeviceForm:
    """Matrices that stay on the device."""

    def __init__(self, graph: Graph, query: Query, dtype: np.dtype[Any], number: int) -> None:
        self.query, self.dtype, self.number = query, dtype, number
        self.row_bytes = 0
        self.holds_distances = query.targets is None
        columns = graph.n if query.targets is None else query.targets.size
        self.shape = query.rows, columns
        self.tree_shape = query.rows, graph.n if query.predecessors else 0
        self.may_narrow = dtype == INT64 and query.dtype != INT64
        entry = dtype.itemsize + (INT32.itemsize if self.may_narrow else 0)
        self.fixed_bytes = query.rows * (columns * entry + self.tree_shape[1] * INDEX.itemsize)
        self._distances: Any = None
        self._predecessors: Any = None
        self._origin: Any = None

    def reserve(self) -> None:
        """Allocate the matrices."""
        self._distances = cuda.device_array(self.shape[0] * self.shape[1], self.dtype)
        if self.query.predecessors:
            self._predecessors = cuda.device_array(self.tree_shape[0] * self.tree_shape[1], INDEX)

    def allocate(self, rows: int) -> tuple[Any, ...]:
        """Nothing: all has its place."""
        return ()

    def distances(self, rows: range) -> Any:
        """Rows of the matrix."""
        return _part(self._distances, self.shape, rows)

    def predecessors(self, rows: range) -> Any | None:
        """Rows of the matrix of predecessors."""
        if self._predecessors is None:
            return None
        return _part(self._predecessors, self.tree_shape, rows)

    def take(
        self, rows: range, batch: Batch, scratch: tuple[Any, ...], tails: Any, origin: Any
    ) -> None:
        """Gather the columns of targets; all else is in place."""
        self._origin = origin
        if self.query.targets is not None and self.query.targets.size:
            _gather(batch, _part(self._distances, self.shape, rows))

    def answer(self) -> Answer:
        """Return the matrices, in the dtype that the call fixed or in the narrowest that fits."""

        def wrapped(flat: Any, shape: tuple[int, ...]) -> DeviceArray | None:
            return None if flat is None else DeviceArray(flat, shape, self.number, stream)

        stream = self.query.stream
        origin = self._origin
        return Answer(
            wrapped(self._narrowed(), self.shape),
            wrapped(self._predecessors, self.tree_shape),
            wrapped(origin, () if origin is None else origin.shape),
        )

    def _narrowed(self) -> Any:
        """Bring int64 distances to int32 as `sssp.engine.forms` does."""
        wide = self._distances
        if not self.may_narrow:
            return wide
        stream = cuda.stream()
        greatest = cuda.to_device(np.zeros(1, INT64))
        _magnitude_kernel[FEW_BLOCKS, THREADS, stream](wide, unreached(INT64), greatest)
        magnitude = int(_on_host(greatest, stream)[0])
        if magnitude >= unreached(INT32):
            if self.query.dtype is None:
                return wide
            raise DistanceOverflowError(
                f"a distance of magnitude {magnitude} does not fit int32; {REMEDY}"
            )
        narrow = cuda.device_array(wide.size, INT32)
        narrow_kernel[FEW_BLOCKS, THREADS, stream](wide, unreached(INT64), narrow, unreached(INT32))
        stream.synchronize()
        return narrow


def _part(flat: Any, shape: tuple[int, int], rows: range) -> Any:
    """Some rows of a matrix as a matrix."""
    columns = shape[1]
    return flat[rows.start * columns : rows.stop * columns].reshape(len(rows), columns)


def _gather(batch: Batch, columns: Any) -> None:
    blocks = blocks_for(columns.shape[1])
    _gather_kernel[(blocks, batch.rows), THREADS, batch.stream](
        batch.distances, batch.targets, columns
    )


def _on_host(array: Any, stream: Any) -> Any:
    """Host copy of a device array, None of None."""
    if array is None:
        return None
    host: NDArray[Any] = np.empty(array.shape, array.dtype)
    download(array, host, stream)
    return host
