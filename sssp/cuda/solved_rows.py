"""Distances solved on a GPU, and kernels that extract the requested output from them.

Only what an answer holds leaves the device: columns of targets are gathered, reached vertices and
paths compacted there, and a reduction sends back one number per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int32, int64
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.device_memory import download, on_host
from sssp.cuda.pool import THREADS, blocks_for, device_array
from sssp.cuda.row_reductions import Words, reduce_rows, row_bytes
from sssp.cuda.search_base import Batch
from sssp.engine.decay import FUNCTION
from sssp.engine.float_sums import ordered_sums
from sssp.engine.narrow import convert_into
from sssp.engine.outputs import Entries
from sssp.engine.reductions import Step
from sssp.engine.request import Request
from sssp.kernels.dtypes import INDEX, INT64

#: vertices side by side that one thread compacts
RUN = 4 if SIMULATOR else 16
#: vertices that one block compacts
TILE = THREADS * RUN
#: in a row of marks: not on a path to a target
APART = np.int32(-2)
#: columns of entries, which stand one row behind the other
ENTRIES = {"vertices", "numbers", "tails"}


@kernel
def _gather_kernel(distances, targets, columns):
    """Copy the targets' distances of every row to a matrix with one column per target.

    ========= ========= ====== ==========
    argument  shape     dtype  written by
    ========= ========= ====== ==========
    distances (rows, n) number the search
    targets   (t,)      int64  host
    columns   (rows, t) number here
    ========= ========= ====== ==========
    """
    row = cuda.blockIdx.y
    i, stride = cuda.grid(1), cuda.blockDim.x * cuda.gridDim.x
    while i < targets.size:
        columns[row, i] = distances[row, targets[i]]
        i += stride


@kernel
def _count_kernel(distances, unseen, counts):
    """Count the reached vertices of a tile of a row, one block per tile."""
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


@kernel
def _compact_kernel(
    distances, unseen, predecessors, with_tails, with_numbers, offsets, vertices, numbers, tails
):
    """List the reached vertices of every row in ascending order, one thread block per tile.

    ============ ============= ======= ==========================================
    argument     shape         dtype   written by
    ============ ============= ======= ==========================================
    distances    (rows, n)     number  the search; or marks, `_mark_paths_kernel`
    unseen       scalar        number  host: what stands for none
    predecessors (rows, n)     int32   the tree; not read without tails
    with_tails   scalar        boolean host: whether `tails` is wanted
    with_numbers scalar        boolean host: whether `numbers` is wanted
    offsets      (rows, tiles) int64   host, from what `_count_kernel` counts
    vertices     (entries,)    int32   here
    numbers      (entries,)    number  here, if wanted
    tails        (entries,)    int32   here, if wanted: predecessors
    ============ ============= ======= ==========================================
    """
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
            if with_numbers:
                numbers[place] = distances[row, vertex]
            if with_tails:
                tails[place] = predecessors[row, vertex]
            place += 1


@kernel
def _mark_paths_kernel(distances, unseen, targets, predecessors, marks):
    """Copy the predecessors of every vertex on a path to a target, one thread per target.

    Who comes to a vertex first goes on from there.

    ============ ========= ====== ==========================
    argument     shape     dtype  written by
    ============ ========= ====== ==========================
    distances    (rows, n) number the search
    unseen       scalar    number host: what stands for none
    targets      (t,)      int64  host
    predecessors (rows, n) int32  the tree
    marks        (rows, n) int32  host: `APART`; here
    ============ ========= ====== ==========================
    """
    row = cuda.blockIdx.y
    i, stride = cuda.grid(1), cuda.gridsize(1)
    while i < targets.size:
        vertex = int64(targets[i])
        if distances[row, vertex] == unseen:
            vertex = int64(-1)
        while vertex >= 0:
            tail = predecessors[row, vertex]
            if cuda.atomic.exch(marks, (row, vertex), tail) != APART:
                break
            vertex = int64(tail)
        i += stride


@dataclass
class FormScratch:
    """Scratch arrays on the GPU for the results of a batch; an array that is not needed is None.

    Attributes
    ----------
    columns : device array, shape (rows, t)
        Distances of the targets.
    marks : device array, shape (rows, n), int32
        Predecessors on paths to targets.
    counts, offsets : device arrays, shape (rows, tiles), int32 and int64
    vertices, numbers, tails : device arrays, one axis
        Compacted entries, at most all.
    words : Words
        Of a reduction.
    weights : device array, shape (c, n)
        Of the vertices, for a reduction.
    nbytes : int
        Bytes of the device, without the weights.
    """

    columns: Any = None
    marks: Any = None
    counts: Any = None
    offsets: Any = None
    vertices: Any = None
    numbers: Any = None
    tails: Any = None
    words: Any = None
    weights: Any = None
    nbytes: int = 0

    @classmethod
    def allocate(
        cls, n: int, request: Request, dtype: np.dtype[Any], columns: int, rows: int
    ) -> FormScratch:
        """Allocate the arrays for the output of at most `rows` rows of `columns` distances each."""
        arrays = {
            # (an empty array cannot be cut)
            name: device_array((rows, size or 1), kind)
            for name, (size, kind) in _row_arrays(n, request, dtype).items()
        }
        for name in ENTRIES & arrays.keys():
            arrays[name] = arrays[name].reshape(arrays[name].size)
        if request.reduction is not None and columns:
            arrays["words"] = Words.allocate(rows, request.reduction, dtype, columns)
        return cls(**arrays, nbytes=rows * form_bytes(n, request, dtype, columns))


def _row_arrays(
    n: int, request: Request, dtype: np.dtype[Any]
) -> dict[str, tuple[int, np.dtype[Any]]]:
    """Return the size per row and the dtype of each named device array that the output needs."""
    targeted = request.targets is not None
    sparse = request.output == "sparse" and request.reduction is None
    paths = targeted and request.predecessors
    arrays = {}
    if targeted and request.output == "host" and request.reduction is None:
        arrays["columns"] = request.columns(n), dtype
    if paths:
        arrays["marks"] = n, INDEX
    if sparse or paths:
        arrays["counts"], arrays["offsets"] = (_tiles(n), INDEX), (_tiles(n), INT64)
        # kernels take all columns, also those that they leave alone
        arrays["vertices"], arrays["numbers"] = (n, INDEX), (n if sparse else 0, dtype)
        arrays["tails"] = n if request.predecessors else 0, INDEX
    return arrays


def _tiles(n: int) -> int:
    return -(-n // TILE)


def form_bytes(n: int, request: Request, dtype: np.dtype[Any], columns: int) -> int:
    """Return how many bytes of device memory the output of one row needs."""
    arrays = _row_arrays(n, request, dtype).values()
    size = sum(entries * kind.itemsize for entries, kind in arrays)
    if request.reduction is not None and columns:
        size += row_bytes(request.reduction, dtype, columns)
    return size


@dataclass
class DeviceRows:
    """Results of a finished batch of searches, in device memory.

    Attributes
    ----------
    rows : range
        Which rows of the request.
    batch : Batch
    scratch : FormScratch
    predecessors : device array, shape (rows, n), int32, or None
    on_device_origin : device array, shape (n,), int32, or None
    targeted : bool
        Whether the request wants the columns of targets only.
    is_fetched : bool
        Whether the distances are where the form wants them.
    """

    rows: range
    batch: Batch
    scratch: FormScratch
    predecessors: Any
    on_device_origin: Any
    targeted: bool
    is_fetched: bool

    @property
    def origin(self) -> NDArray[np.int32] | None:
        """Nearest source of every vertex, on the host; None unless the request asks for it."""
        if self.on_device_origin is None:
            return None
        found: NDArray[np.int32] = on_host(self.on_device_origin, self.batch.stream)
        return found

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Copy the requested columns of the distances to a host array."""
        if not out.shape[1] or self.is_fetched:
            return
        found = self.batch.distances
        if self.targeted:
            found = self.scratch.columns[: self.batch.rows]
            gather(self.batch, found)
        _bring(found, out, self.batch.stream)

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """Copy the predecessors of the vertices in every row of the batch to a host array."""
        _bring(self.predecessors, out, self.batch.stream)

    def list_reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances, and predecessors if requested."""
        batch = self.batch
        counts, columns = self._compact(batch.distances, batch.unseen, tails=tails, numbers=True)
        return Entries(counts, columns[0], columns[1], columns[2] if tails else None)

    def paths(self) -> Entries:
        """Return the vertices on the paths to the targets with their predecessors."""
        batch, marks = self.batch, self.scratch.marks[: self.batch.rows]
        batch.fill(marks, APART)
        if batch.targets.size:
            grid = blocks_for(batch.targets.size), batch.rows
            _mark_paths_kernel[grid, THREADS, batch.stream](
                batch.distances, batch.unseen, batch.targets, self.predecessors, marks
            )
        counts, columns = self._compact(marks, APART, tails=True, numbers=False)
        return Entries(counts, columns[0], None, columns[2])

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Return the results of a reduction step (such as a sum), one per row, as a host array."""
        batch = self.batch
        if step.summand.kind == FUNCTION:
            rows, some = on_host(batch.distances, batch.stream), None
            if self.targeted:
                some = on_host(batch.targets, batch.stream)
            weights, decay = step.vertex_weights, step.decay
            return np.array([ordered_sums(row, batch.unseen, some, weights, decay) for row in rows])
        given = self.targeted, self.scratch.weights, self.scratch.words
        numbers: NDArray[Any] = on_host(reduce_rows(step, batch, *given), batch.stream)
        if numbers.ndim == 2:  # (sums of floats)
            return numbers[: step.columns, : batch.rows].T
        numbers = numbers[: batch.rows, : step.columns]
        if step.number == "one":
            numbers = (numbers[:, 0, 0] << 32) + numbers[:, 0, 1]
        elif step.combine == "max":
            numbers = numbers[:, 0, 0]
        return numbers

    def _compact(
        self, matrix: Any, absent: Any, *, tails: bool, numbers: bool
    ) -> tuple[NDArray[np.int64], list[Any]]:
        """Return how many entries per row differ from `absent`, and their columns and values."""
        batch, scratch = self.batch, self.scratch
        rows, n = batch.rows, matrix.shape[1]
        if n == 0:
            nothing = np.empty(0, INDEX)
            return np.zeros(rows, INT64), [nothing, np.empty(0, matrix.dtype), nothing]
        counts, offsets = scratch.counts[:rows], scratch.offsets[:rows]
        launch = (_tiles(n), rows), THREADS, batch.stream
        _count_kernel[launch](matrix, absent, counts)
        found = on_host(counts, batch.stream).astype(INT64)
        ends = np.cumsum(found).reshape(found.shape)
        offsets.copy_to_device(ends - found, stream=batch.stream)
        _compact_kernel[launch](
            matrix, absent, matrix.view(INDEX) if self.predecessors is None else self.predecessors,
            tails, numbers, offsets, scratch.vertices, scratch.numbers, scratch.tails,
        )  # fmt: skip
        size = int(ends[-1, -1])
        wanted = (scratch.vertices, True), (scratch.numbers, numbers), (scratch.tails, tails)
        columns = [on_host(each[:size], batch.stream) if asked else None for each, asked in wanted]
        return found.sum(axis=1), columns


def gather(batch: Batch, columns: Any) -> None:
    """Queue the copy of the targets' distances to a matrix with one column per target."""
    grid = blocks_for(columns.shape[1]), batch.rows
    _gather_kernel[grid, THREADS, batch.stream](batch.distances, batch.targets, columns)


def _bring(array: Any, out: NDArray[Any], stream: Any) -> None:
    """Copy a device matrix to a host array; convert dtype and memory layout if necessary."""
    if out.dtype == array.dtype and out.flags.c_contiguous and out.flags.aligned:
        download(array, out, stream)
    else:
        convert_into(on_host(array, stream), out)
