"""The driver of dense CUDA solvers: builds the matrix, checks overflow, finds predecessors.

The twin of `sssp.cpu.matrix.matrix_driver`. The initial matrix is made on the device where a graph
is given, for its arcs are few beside n^2 entries; a matrix of the user's travels in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numba import int32, int64, uint32
from numpy.typing import NDArray

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device.ptx import has_short_arithmetic
from sssp.cuda.device_memory import available_bytes, device_graph, download, on_host, upload
from sssp.cuda.device_output import narrow_on_device
from sssp.cuda.driver import after, wait_for_device
from sssp.cuda.pool import device_array, fill
from sssp.cuda.search_base import Batch
from sssp.cuda.tree import ROW_WORDS, Tree, allocate_tree, tree_bytes
from sssp.engine import matrix_request
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import ClosureRequest, MatrixRequest
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT16, INT32, SHORT, infinity, largest_distance, unreached

THREADS = 32 if SIMULATOR else 256
#: blocks of a pass over the matrix
BLOCKS = 1 if SIMULATOR else 1056
#: bytes of the rows that travel at once
TRAVELLING = 64 << 20
#: greatest number of rows whose trees are looked for side by side
TREES = 1024
#: words of ``flags``: a vertex, counted from 1, whose entry on the diagonal is negative; whether
#: anything changed; a row, counted from 1, whose tails are no tree
NEGATIVE, CHANGED, BROKEN = 0, 1, 2


@kernel
def _scatter_kernel(indptr, indices, weights, n, matrix):
    """Write the weights of a graph's arcs to a matrix, with one thread block per tail vertex.

    ======== ======== ====== =========================================
    argument shape    dtype  written by
    ======== ======== ====== =========================================
    indptr   (v + 1,) int32  upload of the graph
    indices  (m,)     int32  upload of the graph
    weights  (m,)     number upload of the graph
    n        scalar   int64  host: columns of the matrix, v or more
    matrix   (n * n,) number host: infinity; here: weights
    ======== ======== ====== =========================================
    """
    tail = cuda.blockIdx.x
    while tail < indptr.size - 1:
        arc = indptr[tail] + cuda.threadIdx.x
        while arc < indptr[tail + 1]:
            matrix[int64(tail) * n + indices[arc]] = weights[arc]
            arc += cuda.blockDim.x
        tail += cuda.gridDim.x


@kernel
def _diagonal_kernel(matrix, n, flags):
    """Lower positive entries of the matrix diagonal to 0; flag a negative diagonal entry."""
    vertex = cuda.grid(1)
    if vertex < n:
        place = int64(vertex) * n + vertex
        matrix[place] = min(matrix[place], matrix.dtype.type(0))
        if matrix[place] < 0:
            cuda.atomic.max(flags, NEGATIVE, int32(vertex + 1))


@kernel
def _first_tails_kernel(matrix, n, unseen, tails):
    """Set each entry's predecessor: its row if it is an arc off the diagonal, else -1."""
    for i in range(cuda.grid(1), matrix.size, cuda.gridsize(1)):
        row = i // n
        tails[i] = int32(row) if matrix[i] < unseen and i - row * n != row else int32(-1)


@kernel
def _broken_kernel(matrix, tails, n, missing, flags):
    """Report a row in which predecessors of a reached vertex do not lead to the source.

    ======== ======== ====== ============================
    argument shape    dtype  written by
    ======== ======== ====== ============================
    matrix   (n * n,) number the solver; `_settle_kernel`
    tails    (n * n,) int32  the solver
    n        scalar   int64  host
    missing  scalar   number host: what stands for none
    flags    (3,)     int32  here: `BROKEN`
    ======== ======== ====== ============================
    """
    for i in range(cuda.grid(1), matrix.size, cuda.gridsize(1)):
        row = i // n
        vertex, steps = i - row * n, int64(0)
        if matrix[i] != missing:
            while vertex != row and vertex >= 0 and steps <= n:
                vertex = int64(tails[row * n + vertex])
                steps += 1
            if vertex != row:
                cuda.atomic.max(flags, BROKEN, int32(row + 1))


@kernel
def _least_kernel(matrix, leasts):
    """Write per thread the minimum of 0 and the matrix entries that it reads."""
    own = matrix.dtype.type(0)
    for i in range(cuda.grid(1), matrix.size, cuda.gridsize(1)):
        own = min(own, matrix[i])
    leasts[cuda.grid(1)] = own


@kernel
def _settle_kernel(matrix, above, missing, greatests):
    """Set entries of `above` or more to `missing`; write each thread's maximum of other entries."""
    own = matrix.dtype.type(0)
    for i in range(cuda.grid(1), matrix.size, cuda.gridsize(1)):
        if matrix[i] >= above:
            matrix[i] = missing
        else:
            own = max(own, matrix[i])
    greatests[cuda.grid(1)] = own


@kernel
def _unpack_kernel(matrix, n, missing, unpacked, rows, unpacked_missing):
    """Copy the entries between the first `rows` vertices to a matrix of another dtype.

    ================ ============== ====== ==================================
    argument         shape          dtype  written by
    ================ ============== ====== ==================================
    matrix           (n * n,)       uint16 the solver, `_settle_kernel`
    n                scalar         int64  host
    missing          scalar         uint16 host: what stands for none there
    unpacked         (rows * rows,) number here
    rows             scalar         int64  host
    unpacked_missing scalar         number host: what stands for none here
    ================ ============== ====== ==================================
    """
    for i in range(cuda.grid(1), unpacked.size, cuda.gridsize(1)):
        row = i // rows
        found = matrix[row * n + (i - row * rows)]
        unpacked[i] = unpacked_missing if found == missing else unpacked.dtype.type(found)


@inline
def flag_negative(matrix, own, n, row, rows, flags, threads):
    """Flag a negative entry on the diagonal of a tile that a thread block has just written.

    `threads`: of the block, a constant.
    """
    cuda.syncthreads()
    vertex = uint32(cuda.threadIdx.x)
    while vertex < rows:
        if matrix[own + int64(vertex) * int64(n + 1)] < 0:
            cuda.atomic.max(flags, NEGATIVE, int32(row + vertex + 1))
        vertex = uint32(vertex + threads)


class Matrix:
    """One or more n x n distance matrices in device memory, with status flags.

    Attributes
    ----------
    n, count : int
        Rows of a matrix, and how many matrices there are, one after the other. In `SHORT`, where
        entries go by twos, n is even: there is a vertex without arcs if need be.
    flat : device array, shape (count * n * n,)
        Row by row.
    tails : device array, shape (count * n * n,), int32, or None
        Where the solver has to carry them along: the tail of the last arc of the path that an
        entry came from, -1 for none.
    flags : device array, shape (3,), int32
        See `NEGATIVE`, `CHANGED` and `BROKEN`.
    stream : stream
        Of all work on it.
    """

    def __init__(
        self, n: int, dtype: np.dtype[Any], stream: Any, *, with_tails: bool, count: int = 1
    ) -> None:
        n += n % 2 if dtype == SHORT else 0
        self.n, self.count, self.stream = n, count, stream
        self.flat = device_array(count * n * n, dtype)
        self.tails = device_array(count * n * n, INDEX) if with_tails else None
        self.flags = device_array(3, INDEX)

    @classmethod
    def of(cls, request: MatrixRequest, dtype: np.dtype[Any], number: int) -> Matrix:
        """Return the initial matrix of a request; flag a negative diagonal entry."""
        matrix = cls(request.n, dtype, cuda.stream(), with_tails=request.carries_tails(dtype))
        n, flat, stream = matrix.n, matrix.flat, matrix.stream
        if request.stream is not None:
            after(request.stream, [stream])
        fill(matrix.flags, INDEX.type(0), stream)
        fill(flat, infinity(dtype), stream)
        if isinstance(request.source, Graph):
            kind = INT32 if dtype == SHORT else dtype
            arcs = device_graph(request.source, number).arcs(request.source, kind)
            blocks = 1 if SIMULATOR else min(n, 1 << 16)
            _scatter_kernel[blocks, 32, stream](*arcs, n, flat)
        else:
            step = max(1, TRAVELLING // (n * dtype.itemsize))
            for first in range(0, request.n, step):
                rows = range(first, min(first + step, request.n))
                block = np.full((len(rows), n), infinity(dtype))
                request.fill(block[:, : request.n], rows)
                part = flat[first * n : rows.stop * n]
                part.copy_to_device(upload(block.reshape(-1)), stream=stream)
                stream.synchronize()
        _diagonal_kernel[-(-n // THREADS), THREADS, stream](flat, n, matrix.flags)
        if matrix.tails is not None:
            _first_tails_kernel[BLOCKS, THREADS, stream](flat, n, infinity(dtype), matrix.tails)
        return matrix

    def room(self) -> Matrix:
        """Return a new uninitialized matrix with the size, dtype and status flags of this one."""
        dtype, with_tails = np.dtype(self.flat.dtype), self.tails is not None
        other = Matrix(self.n, dtype, self.stream, with_tails=with_tails)
        other.flags = self.flags
        return other

    def unpack(self, n: int, dtype: np.dtype[Any]) -> Matrix:
        """Return a copy of this 16-bit matrix (`SHORT`) for n vertices, in another dtype."""
        if self.n == n and dtype == INT16:
            other = copy(self)
            other.flat = self.flat.view(INT16)
            return other
        other = Matrix(n, dtype, self.stream, with_tails=False)
        other.flags = self.flags
        _unpack_kernel[BLOCKS, THREADS, self.stream](
            self.flat, self.n, unreached(SHORT), other.flat, n, unreached(dtype)
        )
        return other

    def flag(self, which: int) -> int:
        """Return the value of a status flag, after waiting for the work queued on the stream."""
        return int(on_host(self.flags, self.stream)[which])

    def vertex(self, which: int) -> int | None:
        """Return the vertex that a status flag reports; None if the flag is not set."""
        found = self.flag(which)
        return found - 1 if found else None

    @property
    def any_tails(self) -> Any:
        """The predecessors (tails), or a placeholder array for kernels that do not read them."""
        return self.flat if self.tails is None else self.tails

    def partials(self, look: Any, *arguments: Any) -> NDArray[Any]:
        """Run a kernel over the matrix; return its partial results, one for each thread."""
        found = device_array(BLOCKS * THREADS, self.flat.dtype)
        look[BLOCKS, THREADS, self.stream](self.flat, *arguments, found)
        host: NDArray[Any] = on_host(found, self.stream)
        return host


def solve_matrix(
    graph: Graph,
    request: MatrixRequest,
    dtype: np.dtype[Any],
    close: Callable[[Matrix], tuple[Matrix, int]],
    *,
    copies: int = 1,
) -> Answer | None:
    """Answer `request` in one dtype by the solver `close`; None if the dtype is too narrow.

    Parameters
    ----------
    graph : Graph
        Whose arcs the trees are made of.
    request : MatrixRequest
    dtype : dtype
    close : callable
        ``close(matrix)`` returns the closure, in the same matrix or another, and how many rounds
        that took. It may stop at a negative entry on the diagonal, which its kernels note.
    copies : int
        Matrices that it needs, the first included.

    Raises
    ------
    NegativeDiagonalError
        There is a negative cycle, or a false alarm.
    DeviceError
        The device cannot be used, or the call needs more memory than it may take.
    """
    number = device_number(request.device)
    with select(number):
        limit, room = request.memory_limit, available_bytes(request.memory_limit)
        # (in 16 bits first, where that is faster and fits)
        if dtype == INT32 and request.short and has_short_arithmetic():
            fits = _count_bytes(request, SHORT, copies) <= min(room, limit)
            answer = solve_matrix(graph, request, SHORT, close, copies=copies) if fits else None
            if answer is not None:
                return answer
        needed = _count_bytes(request, dtype, copies)
        parts = {f"a matrix of {request.n:,} vertices in {dtype}": needed}
        check_memory(parts, limit, request.device, request.advice, available_bytes(limit))
        if request.n == 0:
            nothing = (device_array(0, kind) for kind in (request.dtype or dtype, INDEX))
            distances, tails = (deliver(request, flat, (0, 0), number) for flat in nothing)
            tails = tails if request.predecessors else None
            return Answer(distances, tails, stats={"rounds": np.zeros(0, np.int64)})
        matrix, rounds = close(Matrix.of(request, dtype, number))
        vertex = matrix.vertex(NEGATIVE)
        if vertex is not None:
            raise matrix_request.NegativeDiagonalError(vertex)
        least = matrix.partials(_least_kernel).min()
        above = matrix_request.threshold(dtype, least)
        if above is None:
            return None
        greatest = matrix.partials(_settle_kernel, dtype.type(above), unreached(dtype)).max()
        if matrix_request.overflowed(dtype, above, greatest, request.heaviest):
            return None
        if dtype == SHORT:
            stays = request.dtype == INT16 and not request.predecessors
            matrix = matrix.unpack(request.n, INT16 if stays else INT32)
        tails, shape = None, (request.n, request.n)
        if matrix.tails is not None:
            row = _broken_row(matrix)
            if row is not None:
                raise matrix_request.NegativeDiagonalError(row)
            tails = deliver(request, matrix.tails, shape, number)
        elif request.predecessors:
            tails = _find_trees(graph, request, matrix, number)
        flat = narrow_on_device(matrix.flat, request.dtype, matrix.stream, (least, greatest))
        distances = deliver(request, flat, shape, number)
        return Answer(distances, tails, stats={"rounds": np.full(request.n, rounds, np.int64)})


def _count_bytes(request: MatrixRequest, dtype: np.dtype[Any], copies: int) -> int:
    """Return the GPU memory, in bytes, that a solver needs for distances and predecessors."""
    entries, tails, trees = request.n * request.n, 0, 0
    if request.carries_tails(dtype):
        tails = copies * INDEX.itemsize
    elif request.predecessors:
        tails = INDEX.itemsize if request.output == "device" else 0
        trees = request.n * ROW_WORDS * INDEX.itemsize
    return request.bytes_of_matrices(dtype, copies) + entries * tails + trees


def _broken_row(matrix: Matrix) -> int | None:
    """Return a matrix row whose predecessors do not form a tree, or None if there is none."""
    _broken_kernel[BLOCKS, THREADS, matrix.stream](
        matrix.flat, matrix.tails, matrix.n, unreached(matrix.flat.dtype), matrix.flags
    )
    return matrix.vertex(BROKEN)


def deliver(
    request: MatrixRequest | ClosureRequest, flat: Any, shape: tuple[int, int], number: int
) -> Any:
    """Return a device matrix as a `DeviceArray`, or as a host copy, as the request asks."""
    wait_for_device()
    if request.output == "device":
        return DeviceArray(flat, shape, number)
    host: NDArray[Any] = np.empty(shape, flat.dtype)
    download(flat, host.reshape(flat.size), cuda.stream())
    return host


def _find_trees(graph: Graph, request: MatrixRequest, matrix: Matrix, number: int) -> Any:
    """Return the predecessors for final integer distances, on the device or the host."""
    n, dtype, stream = request.n, np.dtype(matrix.flat.dtype), matrix.stream
    arcs = device_graph(graph, number).arcs(graph, dtype)
    nothing = np.empty(0, np.int64)
    query = Request(nothing, predecessors=True, output=request.output, device=request.device)
    there = request.output == "device"
    found = device_array(n * n, INDEX) if there else np.empty((n, n), INDEX)
    free = available_bytes(request.memory_limit)
    size = max(1, min(n, TREES, free // max(1, tree_bytes(graph, query))))
    scratch = allocate_tree(graph, query, size, dtype)
    for first in range(0, n, size):
        sources = np.arange(first, min(first + size, n))
        shape, part = (sources.size, n), slice(first * n, (first + sources.size) * n)
        firsts = np.arange(sources.size + 1)
        batch = Batch(
            sources.size, cuda.to_device(sources), cuda.to_device(firsts), cuda.to_device(nothing),
            largest_distance(dtype), unreached(dtype), matrix.flat[part].reshape(shape), None,
            stream,
        )  # fmt: skip
        place = found[part].reshape(shape) if there else None
        tails = Tree(graph, arcs, batch, scratch).predecessors(None, place)
        if not there:
            download(tails, found[first : first + sources.size], stream)
    stream.synchronize()
    return DeviceArray(found, (n, n), number) if there else found
