"""The min-plus product of tiles, used by Floyd-Warshall and repeated squaring.

``C = min(C, A (+) B)``: the entry (i, j) of C falls to ``A[i, k] + B[k, j]`` where that is less
for some k. The rows of B are packed into a panel of constant stride, so that the compiler sees
which reads cannot overlap; two rows of C by four of B at a time keep as many vector registers
busy as there are, without loading anything twice. Edges need no padding.

In integers every operand lies between -INF and INF, so a sum never wraps
(`sssp.engine.matrix_request`).
"""

import numpy as np

from sssp.kernels.jit import njit, njit_inline

#: greatest number of rows of B that a panel holds
BLOCK = 64
#: columns of C in a tile, and stride of a panel
TILE = 256
#: rows of C in a tile
SPAN = 128
#: rows of B that are gone through at a time
DEPTH = 4


@njit
def _relax_row(row, start, through):
    number = row.dtype.type
    for j in range(row.size):
        row[j] = min(row[j], number(start + through[j]))


@njit
def _relax_row_with_tails(row, row_tails, start, through, through_tails):
    number = row.dtype.type
    for j in range(row.size):
        candidate = number(start + through[j])
        if candidate < row[j]:
            row[j] = candidate
            row_tails[j] = through_tails[j]


@njit_inline
def _relax_row_with_tails_deep(row, row_tails, starts, panel, panel_tails):
    """Relax a row of distances and predecessors by `DEPTH` rows of a panel (min-plus product).

    Everything is loaded before it is compared, for else the compiler sees branches.
    """
    number = row.dtype.type
    a0, a1, a2, a3 = starts[0], starts[1], starts[2], starts[3]
    for j in range(row.size):
        p0, p1, p2, p3 = panel[j], panel[TILE + j], panel[2 * TILE + j], panel[3 * TILE + j]
        t0, t1 = panel_tails[j], panel_tails[TILE + j]
        t2, t3 = panel_tails[2 * TILE + j], panel_tails[3 * TILE + j]
        least, tail = row[j], row_tails[j]
        candidate = number(a0 + p0)
        better = candidate < least
        least, tail = candidate if better else least, t0 if better else tail
        candidate = number(a1 + p1)
        better = candidate < least
        least, tail = candidate if better else least, t1 if better else tail
        candidate = number(a2 + p2)
        better = candidate < least
        least, tail = candidate if better else least, t2 if better else tail
        candidate = number(a3 + p3)
        better = candidate < least
        row[j], row_tails[j] = candidate if better else least, t3 if better else tail


@njit_inline
def _relax_two_rows(upper, lower, upper_starts, lower_starts, panel):
    """Relax two rows of C by two rows of A times `DEPTH` rows of a panel (min-plus)."""
    number = upper.dtype.type
    a0, a1, a2, a3 = upper_starts[0], upper_starts[1], upper_starts[2], upper_starts[3]
    b0, b1, b2, b3 = lower_starts[0], lower_starts[1], lower_starts[2], lower_starts[3]
    for j in range(upper.size):
        p0, p1, p2, p3 = panel[j], panel[TILE + j], panel[2 * TILE + j], panel[3 * TILE + j]
        u, v = upper[j], lower[j]
        u, v = min(u, number(a0 + p0)), min(v, number(b0 + p0))
        u, v = min(u, number(a1 + p1)), min(v, number(b1 + p1))
        u, v = min(u, number(a2 + p2)), min(v, number(b2 + p2))
        u, v = min(u, number(a3 + p3)), min(v, number(b3 + p3))
        upper[j], lower[j] = u, v


@njit
def new_panels(matrix, tails):
    """Return two buffers for packed rows of a matrix: for distances and for predecessors."""
    room = 0 if tails is None else BLOCK * TILE
    return np.empty(BLOCK * TILE, matrix.dtype), np.empty(room, np.int32)


@njit
def pack(matrix, tails, first, depth, column, width, panel, panel_tails):
    """Copy a rectangle of the matrix, and its predecessors if any, to a compact buffer."""
    for k in range(depth):
        _copy(matrix[first + k, column : column + width], panel[k * TILE : k * TILE + width])
        if tails is not None:
            row = tails[first + k, column : column + width]
            _copy(row, panel_tails[k * TILE : k * TILE + width])


@njit
def _copy(source, target):
    """Copy one row of a matrix to a row of a panel."""
    # (``target[:] = source`` would compile what raises if shapes differ: for seconds)
    for j in range(target.size):
        target[j] = source[j]


@njit
def relax(target, tails, starts, first, depth, row, end, column, width, panel, panel_tails):
    """Lower a tile of `target` to the min-plus product of a tile of A and a panel of rows of B.

    The tile is ``target[row:end, column : column + width]``, A is
    ``starts[row:end, first : first + depth]``; both may be of one matrix. Where `tails` is not
    None, it gets the tail of the shorter path.
    """
    deep = depth // DEPTH * DEPTH
    if tails is not None:
        for i in range(row, end):
            ends, ends_tails = target[i, column : column + width], tails[i, column : column + width]
            for k in range(0, deep, DEPTH):
                own, low, high = starts[i, first + k :], k * TILE, (k + DEPTH) * TILE
                through, tails_through = panel[low:high], panel_tails[low:high]
                _relax_row_with_tails_deep(ends, ends_tails, own, through, tails_through)
            for k in range(deep, depth):
                low, high = k * TILE, k * TILE + width
                through, tails_through = panel[low:high], panel_tails[low:high]
                _relax_row_with_tails(
                    ends, ends_tails, starts[i, first + k], through, tails_through
                )
        return
    paired = row + (end - row) // 2 * 2
    for i in range(row, paired, 2):
        upper, lower = target[i, column : column + width], target[i + 1, column : column + width]
        for k in range(0, deep, DEPTH):
            own, other = starts[i, first + k :], starts[i + 1, first + k :]
            _relax_two_rows(upper, lower, own, other, panel[k * TILE : (k + DEPTH) * TILE])
    for i in range(row, end):
        ends = target[i, column : column + width]
        for k in range(deep if i < paired else 0, depth):
            _relax_row(ends, starts[i, first + k], panel[k * TILE : k * TILE + width])
