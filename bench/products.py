"""The min-plus product of rectangles of matrices on a GPU, from the tiles of the solvers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, no_type_check

import numpy as np
from numba import int64, uint32

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel_with
from sssp.cuda.matrix.min_plus import THREADS, make_product, tile_side


@dataclass(frozen=True)
class View:
    """A rectangle of a matrix on the device.

    Attributes
    ----------
    flat : device array, one axis
        The matrix, row by row.
    start : int
        Where the rectangle begins in it.
    stride : int
        Entries from one row to the next.
    rows, columns : int
    """

    flat: Any
    start: int
    stride: int
    rows: int
    columns: int

    @classmethod
    def of(cls, matrix: Any) -> View:
        """Return the whole of a contiguous device array of two axes."""
        rows, columns = matrix.shape
        return cls(matrix.reshape(matrix.size), 0, columns, rows, columns)

    def part(self, rows: slice, columns: slice) -> View:
        """Return the rectangle of some rows and columns of this one."""
        first, last, _ = rows.indices(self.rows)
        left, right, _ = columns.indices(self.columns)
        start = self.start + first * self.stride + left
        return View(self.flat, start, self.stride, max(0, last - first), max(0, right - left))


@cache
def _make_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel of `multiply` for a dtype."""
    product = make_product(dtype, in_place=True)
    tile = tile_side(dtype)

    @kernel_with(max_registers=65536 // (2 * THREADS))
    @no_type_check
    def _product_kernel(
        out, out_start, out_stride, a, a_start, a_stride, b, b_start, b_stride, rows, columns, depth
    ):
        """Lower a tile of `out` to the product of `a` and `b`, one thread block per tile.

        Start and stride of each tell which rectangle of the array it is; see `View`.

        ========== ======= ====== =================================
        argument   shape   dtype  written by
        ========== ======= ====== =================================
        out        (size,) number caller; here
        out_start  scalar  int64  host
        out_stride scalar  uint32 host
        a          (size,) number caller
        a_start    scalar  int64  host
        a_stride   scalar  uint32 host
        b          (size,) number caller
        b_start    scalar  int64  host
        b_stride   scalar  uint32 host
        rows       scalar  uint32 host: of `out` and `a`
        columns    scalar  uint32 host: of `out` and `b`
        depth      scalar  uint32 host: columns of `a`, rows of `b`
        ========== ======= ====== =================================
        """
        row, column = uint32(cuda.blockIdx.y * tile), uint32(cuda.blockIdx.x * tile)
        start = int64(out_start + int64(row) * int64(out_stride) + int64(column))
        product(
            out, start, out, start, out_stride, a, int64(a_start + int64(row) * int64(a_stride)),
            a_stride, b, int64(b_start + int64(column)), b_stride,
            min(uint32(tile), uint32(rows - row)), min(uint32(tile), uint32(columns - column)),
            depth, out, out,
        )  # fmt: skip

    return _product_kernel


def multiply(out: View, a: View, b: View, stream: Any) -> None:
    """Lower `out` to the min-plus product of `a` and `b`, where that is less.

    Parameters
    ----------
    out : View
        Not a part of `a` or `b`, but for a single tile, which may be either.
    a, b : View
        As many columns as rows, of the dtype of `out`.
    stream : stream

    Raises
    ------
    ValueError
        The shapes do not fit.
    """
    if (a.rows, b.columns, a.columns) != (out.rows, out.columns, b.rows):
        raise ValueError(
            f"({a.rows}, {a.columns}) times ({b.rows}, {b.columns}) is not "
            f"({out.rows}, {out.columns})"
        )
    if not (out.rows and out.columns and a.columns):
        return
    dtype = np.dtype(out.flat.dtype)
    tile = tile_side(dtype)
    grid = -(-out.columns // tile), -(-out.rows // tile)
    _make_kernel(dtype)[grid, THREADS, stream](
        *(part for view in (out, a, b) for part in _arguments(view)),
        *(np.uint32(size) for size in (out.rows, out.columns, a.columns)),
    )


def _arguments(view: View) -> tuple[Any, np.int64, np.uint32]:
    return view.flat, np.int64(view.start), np.uint32(view.stride)
