"""The min-plus product by OpenCL, used by Floyd-Warshall and repeated squaring.

``out = min(old, A (+) B)`` on rectangles of matrices that lie on the device (``min_plus.cl``). A
matrix is padded with vertices of which no arc leads away, so that every tile is whole. They are
farther than every threshold of `sssp.engine.matrix_request`, as all that is unreachable.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sssp.cpu.matrix.matrix_driver import Matrix
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import MatrixRequest
from sssp.kernels.dtypes import FLOAT32, INDEX, infinity
from sssp.kernels.locks import make_lock
from sssp.opencl.compiler import NUMBERS, Buffer, DeviceQueue, number_macros
from sssp.opencl.tiles import BLOCK, ProductTile, choose_tile, tiles_for

#: bytes by which rows are moved apart that would else be a multiple of `ALIKE` bytes apart, and so
#: meet in few sets of a cache and few channels of memory
APART, ALIKE = 128, 1024
#: vertices of the product by which tiles are measured
MEASURED = 2048
#: names no block
NONE = (1 << 32) - 1
_lock = make_lock()
#: the tile that was chosen, by number of the device, dtype, and whether tails are carried along
_tiles: dict[tuple[int, np.dtype[Any], bool], ProductTile] = {}


class Part(NamedTuple):
    """A submatrix on a device: buffers, the offset of the first entry, and the row stride."""

    flat: Buffer
    tails: Buffer | None
    at: int
    stride: int


class DeviceMatrix:
    """A padded distance matrix on a device, with a predecessor matrix if the solver updates one.

    Attributes
    ----------
    n, side, stride : int
        Vertices, those with padding, and entries from one row to the next.
    flat, tails : Buffer
    """

    def __init__(
        self, queue: DeviceQueue, n: int, dtype: np.dtype[Any], *, with_tails: bool
    ) -> None:
        self.queue, self.n, self.dtype = queue, n, dtype
        self.side, self.stride = padded(n, dtype)
        entries = self.side * self.stride
        self.flat = queue.empty(entries, dtype)
        self.tails = queue.empty(entries, INDEX) if with_tails else None

    @classmethod
    def of(cls, queue: DeviceQueue, matrix: Matrix) -> DeviceMatrix:
        """Return a padded copy on the device of a host matrix."""
        host = matrix.distances
        there = cls(queue, len(host), host.dtype, with_tails=matrix.tails is not None)
        queue.fill(there.flat, infinity(host.dtype), host.dtype)
        there.overwrite(host)
        if matrix.tails is not None:
            queue.fill(there.tails, -1, INDEX)
            there._travel(there.tails, matrix.tails, to_device=True)
        return there

    def overwrite(self, host: np.ndarray[Any, Any]) -> None:
        """Copy distances from the host to this device matrix."""
        self._travel(self.flat, host, to_device=True)

    def copy_to(self, matrix: Matrix) -> None:
        """Copy the distances, and the predecessors if present, from the device to a host matrix."""
        self._travel(self.flat, matrix.distances, to_device=False)
        if matrix.tails is not None:
            self._travel(self.tails, matrix.tails, to_device=False)

    def _travel(self, buffer: Buffer, host: np.ndarray[Any, Any], *, to_device: bool) -> None:
        if host.size == 0:
            return
        width = self.n * host.itemsize
        rectangle = {
            "buffer_origin": (0, 0, 0),
            "host_origin": (0, 0, 0),
            "region": (width, self.n, 1),
            "buffer_pitches": (self.stride * host.itemsize,),
            "host_pitches": (width,),
        }
        self.queue.copy(*((buffer, host) if to_device else (host, buffer)), **rectangle)

    def room(self) -> DeviceMatrix:
        """Return a new uninitialized device matrix with the size and dtype of this one."""
        return DeviceMatrix(self.queue, self.n, self.dtype, with_tails=self.tails is not None)

    def differs_from(self, other: DeviceMatrix) -> bool:
        """Return whether the distances differ from those of another matrix."""
        number, size = NUMBERS[self.dtype][0], (self.n, self.n)
        return self.queue.differ(self.flat, other.flat, size, self.stride, number)

    def part(self, row: int, column: int) -> Part:
        """Return the part of the matrix that begins at a row and column."""
        return Part(self.flat, self.tails, row * self.stride + column, self.stride)


def padded(n: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return side and row stride, in entries, of the padded matrix for `n` vertices."""
    side = -(-max(n, 1) // BLOCK) * BLOCK
    is_alike = side * dtype.itemsize % ALIKE == 0
    return side, side + (APART // dtype.itemsize if is_alike else 0)


def check_matrices(
    queue: DeviceQueue, request: MatrixRequest, dtype: np.dtype[Any], copies: int, strips: int = 0
) -> None:
    """Raise `DeviceError` if the device lacks the dtype or the memory for the matrices.

    It needs some copies of the whole matrix, and of `BLOCK` of its rows.

    Raises
    ------
    DeviceError
        With what it has.
    """
    queue.device.check(dtype)
    side, stride = padded(request.n, dtype)
    tails = INDEX.itemsize if request.carries_tails(dtype) else 0
    entries = (copies * side + strips * BLOCK) * stride
    what = f"a matrix of {request.n:,} vertices in {dtype}"
    parts = {what: entries * dtype.itemsize, "tails": entries * tails}
    room = queue.device.facts.global_mem_size
    check_memory(parts, request.memory_limit, request.device, request.advice, room)
    queue.device.check_pieces(side * stride * max(dtype.itemsize, tails))


class Product:
    """The min-plus matrix product on an OpenCL device, compiled for one dtype.

    Parameters
    ----------
    queue : DeviceQueue
    dtype : dtype
    with_tails : bool
    tile : ProductTile, optional
        By default the one that measured fastest.
    """

    def __init__(
        self,
        queue: DeviceQueue,
        dtype: np.dtype[Any],
        *,
        with_tails: bool,
        tile: ProductTile | None = None,
    ) -> None:
        self.tile = tile or _fastest_tile(queue, dtype, with_tails)
        self.is_cpu = queue.device.is_cpu
        self._kernel = queue.kernel(
            "min_plus", "multiply", **number_macros(dtype, self.tile.entries),
            HEIGHT=self.tile.height, WIDTH=self.tile.width, ROWS=self.tile.rows,
            VECTORS=self.tile.vectors, DEPTH=self.tile.depth, BLOCK=BLOCK, TAILS=int(with_tails),
            FMIN=int(dtype == FLOAT32 and not self.is_cpu),
        )  # fmt: skip

    def __call__(
        self,
        out: Part,
        old: Part,
        a: Part,
        b: Part,
        size: tuple[int, int, int],
        *,
        skip: tuple[int, int] = (NONE, NONE),
    ) -> None:
        """Queue the min-plus product ``out = min(old, A (+) B)`` of parts of matrices.

        Parameters
        ----------
        out, old, a, b : Part
            ``out`` and ``old`` begin at the same entry, and may be the same. So may ``out`` and A,
            or B, if `BLOCK` columns, or rows, are one tile's, and no tails are carried along.
        size : tuple of int
            Rows, columns, and columns of A: multiples of `BLOCK`.
        skip : tuple of int
            Blocks of rows, and of columns, that are left out.
        """
        rows, columns, depth = size
        # (a CPU goes down the rows where the columns of B are long, and stay in its caches)
        tile, axis = self.tile, 0 if self.is_cpu and depth > BLOCK else 1
        groups = [rows // tile.sides[0], columns // tile.sides[1]]
        down, across = groups if axis == 1 else groups[::-1]
        tails = [part.tails for part in (out, old, b) if part.tails is not None]
        wide, short = np.uint64, np.uint32
        self._kernel(
            (across * tile.width, down * tile.height), (tile.width, tile.height),
            out.flat, old.flat, wide(out.at), short(out.stride), a.flat, wide(a.at),
            short(a.stride), b.flat, wide(b.at), *map(short, (depth, *skip, axis)), *tails,
        )  # fmt: skip


def _fastest_tile(queue: DeviceQueue, dtype: np.dtype[Any], with_tails: bool) -> ProductTile:
    """Return the fastest tile for products on a device, measured at most once a process."""
    key = queue.device.number, dtype, with_tails
    with _lock:
        if key not in _tiles:
            n, size = MEASURED, (MEASURED, MEASURED, MEASURED)

            def multiply(tile: ProductTile) -> None:
                a, b = (DeviceMatrix(queue, n, dtype, with_tails=with_tails) for _ in range(2))
                whole, out = a.part(0, 0), b.part(0, 0)
                product = Product(queue, dtype, with_tails=with_tails, tile=tile)
                product(out, whole, whole, whole, size)
                queue.finish()

            tiles, what = tiles_for(queue.device, dtype), f"{dtype} {with_tails}"
            _tiles[key] = choose_tile(queue.device, tiles, what, multiply)
        return _tiles[key]
