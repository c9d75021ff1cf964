"""Checked requests for all pairs, and the arithmetic that all dense solvers share.

Calls turn their arguments into a `MatrixRequest` or a `ClosureRequest` once; solvers trust it. A
solver of `MatrixRequest` works in place in a matrix D of shape (n, n), made by `fill`:
the weight of an arc, 0 on the diagonal (or a negative self-loop), and INF = ``infinity(dtype)``
where there is no arc.

**Unreachable stays unreachable.** In integers INF is an ordinary number: kernels compute
``min(d, a + b)`` without a branch, in 32 bits with one fused instruction on some GPUs. Values
only ever decrease, so nothing exceeds INF, and no sum of two exceeds the dtype. Nothing is
proven beforehand; when the solver is done, two passes over D decide (`threshold`, `overflowed`):

1. Let ``least`` be the least entry, or 0. Unless ``least > -INF / 2`` the call overflowed. If it
   is, no sum ever wrapped: a wrapped one needs an operand below -2^30 (-2^62), and that, or
   something lower, would still stand in D. So D is exactly the closure of a complete graph, in
   which absent arcs weigh INF.
2. A walk with such an arc has at least the length ``T = INF + 2 * least``, for what lies before
   and after the arc is no shorter than ``least``, and more of those arcs make it only longer.
   So an entry below T is the length of a path of real arcs, and the exact distance.
3. Let ``greatest`` be the greatest entry below T. Distances grow by no more than the heaviest
   weight from one vertex of a path to the next; so if ``greatest + heaviest < T``, no distance is
   T or more, and every entry from T on is unreachable. Otherwise the call overflowed.

An overflowed call is repeated in the wider dtype, and where that overflows too, by searches from
every vertex, which decide exactly. In floats INF is inf, which stays what it is; T is inf, and a
margin for rounding takes the place of exactness.

**Negative cycles.** Walks round one get shorter without end, and exponentially fast. A negative
entry of the diagonal stays negative whatever wraps, so a solver tests the diagonal after every
round, before it trusts any other entry, stops, and raises `NegativeDiagonalError`. Whether that is
a real cycle or a false alarm (sums that wrapped, or a float cycle of length zero) decides a search
from the vertex; after a false alarm the whole call is answered by searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.request import Resources
from sssp.graph.graph import Graph
from sssp.graph.matrix import mark_arcs
from sssp.kernels.dtypes import INT16, INT32, INT64, SHORT, WeightRange, infinity, largest_distance

#: share of the greatest float up to which sums, in whatever order, are sure not to overflow
SURE = 0.999
#: entries of a boolean block that is packed at once
BLOCK = 1 << 24

Number = np.dtype[Any]


class NegativeDiagonalError(Exception):
    """A diagonal entry is negative: a negative cycle, or a false alarm from rounding.

    Attributes
    ----------
    vertex : int
        Where it stands.
    """

    def __init__(self, vertex: int) -> None:
        super().__init__(f"the entry ({vertex}, {vertex}) is negative")
        self.vertex = vertex


def threshold(dtype: Number, least: Any) -> Any:
    """Return the least matrix entry that means unreachable, or None if a distance overflowed.

    Parameters
    ----------
    dtype : dtype
        Of the matrix.
    least : number
        Its least entry.

    Returns
    -------
    int, float or None
        None: the call overflowed.
    """
    lowest = min(least.item() if isinstance(least, np.generic) else least, 0)
    if dtype.kind == "f":
        return float("inf") if lowest > -SURE * float(largest_distance(dtype)) else None
    above = int(infinity(dtype)) + 2 * lowest
    return above if above > 0 else None


def overflowed(dtype: Number, above: Any, greatest: Any, heaviest: Any) -> bool:
    """Return whether a distance in the matrix may be so large that it was taken for infinite.

    Parameters
    ----------
    dtype : dtype
        Of the matrix.
    above : number
        Its `threshold`.
    greatest : number
        Its greatest entry below that.
    heaviest : number
        The greatest weight of an arc.
    """
    if dtype.kind == "f":
        return float(greatest) + float(heaviest) > SURE * float(largest_distance(dtype))
    return int(greatest) + int(heaviest) >= int(above)


def squarings(arcs: int) -> int:
    """Return the number of matrix squarings that cover all walks of up to `arcs` arcs."""
    return max(0, arcs - 1).bit_length()


@dataclass
class MatrixRequest(Resources):
    """A checked call of `all_pairs`, for a method that works on a matrix.

    Attributes
    ----------
    n : int
    source : Graph, or ndarray, shape (n, n)
        The open part of a graph; or a matrix of any real dtype, without NaN or -inf.
    zero_is_arc : bool
        Whether an off-diagonal 0 of a matrix is an arc of weight 0 instead of none.
    weights : WeightRange
    dtype : dtype or None
        What the distances must be; None leaves it to the solver (int32 if all fit).
    predecessors : bool
    short : bool
        Whether distances may all be below the infinity of `SHORT`, and integers none negative:
        then a solver that works in int32 tries that first.
    """

    n: int
    source: Graph | NDArray[Any]
    zero_is_arc: bool
    weights: WeightRange
    dtype: Number | None = None
    predecessors: bool = False
    short: bool = False

    @property
    def negative(self) -> bool:
        """Whether a weight may be negative."""
        return self.weights.least < 0

    @property
    def heaviest(self) -> int | float:
        """The greatest arc weight, or 0 if every weight is negative."""
        return max(self.weights.greatest, 0)

    @property
    def positive(self) -> bool:
        """Whether all weights are positive: then every tight arc increases the distance."""
        zero_is_none = not isinstance(self.source, Graph) and not self.zero_is_arc
        return self.weights.least > 0 or (self.weights.least == 0 and zero_is_none)

    @property
    def squarings(self) -> int:
        """Number of matrix squarings needed to find all shortest paths and any negative cycle."""
        return squarings(self.n - 1) + (1 if self.negative and self.n > 1 else 0)

    def carries_tails(self, dtype: Number) -> bool:
        """Return whether solvers update predecessors along with distances of this dtype."""
        return self.predecessors and dtype.kind == "f"

    def bytes_of_matrices(self, dtype: Number, copies: int) -> int:
        """Return the bytes of the matrices that a solver works in, and of the converted result."""
        converted = 0
        if dtype == SHORT:
            converted = INT32.itemsize
            if self.dtype == INT16 and not self.predecessors:
                converted = self.n % 2 * INT16.itemsize
        elif dtype.kind == "i" and self.dtype != dtype:
            converted = 0 if dtype == (self.dtype or INT32) else INT32.itemsize
        return self.n * self.n * (dtype.itemsize + max((copies - 1) * dtype.itemsize, converted))

    def fill(self, out: NDArray[Any], rows: range) -> None:
        """Write rows of the initial matrix: weights, and infinity where there is no arc.

        Parameters
        ----------
        out : ndarray, shape (len(rows), n), contiguous
            In a working dtype. Gets weights; 0 or a negative self-loop on the diagonal;
            ``infinity(out.dtype)`` where there is no arc.
        rows : range
            Of step 1.
        """
        if isinstance(self.source, Graph):
            g = self.source
            arcs = slice(int(g.indptr[rows.start]), int(g.indptr[rows.stop]))
            out[...] = infinity(out.dtype)
            place = (g.tails[arcs].astype(INT64) - rows.start) * self.n + g.indices[arcs]
            kind = INT32 if out.dtype == SHORT else out.dtype
            out.reshape(-1)[place] = g.weights_as(kind)[arcs]
        else:
            block = self.source[rows.start : rows.stop]
            out[...] = infinity(out.dtype)
            np.copyto(out, block, casting="unsafe", where=mark_arcs(block, self.zero_is_arc))
            if out.dtype.kind == "f":
                out += 0  # turns -0.0 into 0.0
        place = np.arange(len(rows))
        out[place, rows.start + place] = np.minimum(out[place, rows.start + place], 0)


@dataclass
class ClosureRequest(Resources):
    """Checked arguments of a call of `transitive_closure`.

    Attributes
    ----------
    n : int
    arcs : tuple of ndarray, or None
        CSR ``indptr`` and ``indices``.
    matrix : ndarray, shape (n, n), or None
        Exactly one of the two is there. Entries other than 0 and inf are arcs; those of the
        diagonal are self-loops.
    reflexive : bool
        Whether every vertex reaches itself.
    """

    n: int
    arcs: tuple[NDArray[Any], NDArray[Any]] | None
    matrix: NDArray[Any] | None
    reflexive: bool = True

    @property
    def words(self) -> int:
        """Number of 64-bit words in a row of the packed matrix."""
        return -(-self.n // WORD)

    @property
    def squarings(self) -> int:
        """Number of matrix squarings needed for the transitive closure of n vertices."""
        return squarings(self.n - 1 if self.reflexive else self.n)

    def fill(self, out: NDArray[np.uint64], rows: range) -> None:
        """Write rows of the initial matrix: one bit for each arc, 64 bits to a word.

        Parameters
        ----------
        out : ndarray, shape (len(rows), words), uint64
            Column j is bit ``j % 64`` of word ``j // 64``; bits beyond n are 0.
        rows : range
            Of step 1.
        """
        step = max(1, BLOCK // max(1, self.n))
        for first in range(rows.start, rows.stop, step):
            last = min(first + step, rows.stop)
            place, bits = np.arange(last - first), np.zeros((last - first, self.n), np.bool_)
            if self.arcs is not None:
                indptr, indices = self.arcs
                tails = np.repeat(place, np.diff(indptr[first : last + 1]))
                bits[tails, indices[indptr[first] : indptr[last]]] = True
            else:
                assert self.matrix is not None
                bits[...] = mark_arcs(self.matrix[first:last], False)
            if self.reflexive:
                bits[place, first + place] = True
            pack_bits(bits, out[first - rows.start : last - rows.start])


# ---- boolean matrices, 64 columns to a word: column j is bit ``j % 64`` of word ``j // 64``

#: columns in a word
WORD = 64


def pack_bits(bits: NDArray[Any], out: NDArray[np.uint64]) -> None:
    """Pack a matrix of booleans (or of 0 and 1) into words of 64 bits.

    Parameters
    ----------
    bits : ndarray, shape (rows, columns)
    out : ndarray, shape (rows, words), uint64
        Bits beyond the columns become 0.
    """
    octets = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), 8 * out.shape[1]), np.uint8)
    padded[:, : octets.shape[1]] = octets
    out[...] = padded.view("<u8")


def unpack_bits(words: NDArray[np.uint64], columns: int) -> NDArray[np.uint8]:
    """Unpack words of 64 bits to a matrix of 0 and 1, shape (rows, columns), uint8."""
    octets = words.astype("<u8", copy=False).view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.unpackbits(octets, axis=1, count=columns, bitorder="little")
