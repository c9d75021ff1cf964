"""Sums of floats over the vertices of each row on a GPU, in the order of `sssp.engine.float_sums`.

A thread adds up a group of places of one row, and then a thread per row the sums of its groups: as
on a CPU, to the last bit, but for exponentials and powers. The rows stand one behind the other, or
side by side as a sweep leaves them.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache, cached_property
from typing import Any

import numpy as np
from numba import float64, int64

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device_memory import upload
from sssp.cuda.graph_replay import key_of_fields
from sssp.cuda.pool import device_array
from sssp.engine.decay import factor_at
from sssp.engine.float_sums import GROUP
from sssp.engine.reductions import Step
from sssp.kernels.dtypes import FLOAT64, INT64

#: threads of a block that add up groups: along the rows or places that stand side by side, and
#: across
ALONG, ACROSS = (2, 2) if SIMULATOR else (32, 8)
#: rows of a block that adds sums of groups, how many of each it brings at a time, and its threads
ROWS, BROUGHT, THREADS = (2, 4, 4) if SIMULATOR else (8, 512, 1024)

#: the rounded product, which is not fused with an addition
multiply = (lambda a, b: a * b) if SIMULATOR else cuda.libdevice.dmul_rn
factor = inline(factor_at.py_func)


@cache
def make_groups_kernel(
    kind: int, *, weighs: bool, targeted: bool, by_vertex: bool, side_by_side: bool
) -> Any:
    """Return the kernel that sums a function of the distances over blocks of `GROUP` vertices.

    Parameters
    ----------
    kind : int
        What is added up of a vertex, times its weight: see `sssp.engine.decay.Decay`.
    weighs : bool
        Whether vertices have weights.
    targeted : bool
        Whether only some places count.
    by_vertex : bool
        Whether their weights are those of all vertices, or stand in their order.
    side_by_side : bool
        Whether neighbours in memory are of different rows.
    """

    @kernel
    def _add_groups_kernel(
        distances, rows, row_step, place_step, size, bound, places, weights, number, edges, values,
        sums,
    ):  # fmt: skip
        """Compute partial sums of ``weight * factor(distance)`` over groups of a row's vertices.

        ========== ================= ======= ===================================================
        argument   shape             dtype   written by
        ========== ================= ======= ===================================================
        distances  (rows * n,)       number  the search
        rows       scalar            int64   host
        row_step   scalar            int64   host: how far apart rows stand
        place_step scalar            int64   host: how far apart places stand
        size       scalar            int64   host: how many places count
        bound      scalar            number  host: greatest distance that counts
        places     (size,)           int64   host: which count; not read unless only some do
        weights    (c, ...)          float64 host; not read but for a weighted sum
        number     scalar            float64 host: rate, exponent or distance of a decay
        edges      (e,)              float64 host: of a decay by a table
        values     (e,)              float64 host
        sums       (c, groups, rows) float64 here
        ========== ================= ======= ===================================================
        """
        column = cuda.blockIdx.z
        row, group = cuda.grid(2)
        if not side_by_side:
            row, group = group, row
        if group >= sums.shape[1] or row >= rows:
            return
        first, total = int64(row) * row_step, float64(0)
        for i in range(group * GROUP, min(int64((group + 1) * GROUP), size)):
            place = int64(places[i] if targeted else i)
            distance = distances[first + place * place_step]
            if distance <= bound:
                value = float64(factor(kind, number, edges, values, float64(distance)))
                if weighs:
                    value = multiply(value, float64(weights[column, place if by_vertex else i]))
                total += value
        sums[column, group, row] = total

    return _add_groups_kernel


@kernel
def _add_sums_kernel(sums, totals):
    """Add up each row's partial sums (one per group of vertices) for each column of vertex weights.

    ======== ================= ======= ====================
    argument shape             dtype   written by
    ======== ================= ======= ====================
    sums     (c, groups, rows) float64 `make_groups_kernel`
    totals   (c, rows)         float64 here
    ======== ================= ======= ====================
    """
    thread, column = cuda.threadIdx.x, cuda.blockIdx.y
    first_row = cuda.blockIdx.x * ROWS
    tile = cuda.shared.array((BROUGHT, ROWS), float64)
    total, first = float64(0), int64(0)
    while first < sums.shape[1]:
        i = thread
        while i < BROUGHT * ROWS:
            group, row = first + i // ROWS, first_row + i % ROWS
            found = float64(0)
            if group < sums.shape[1] and row < sums.shape[2]:
                found = sums[column, group, row]
            tile[i // ROWS, i % ROWS] = found
            i += THREADS
        cuda.syncthreads()
        if thread < ROWS:
            for group in range(0, BROUGHT, 4):
                # (all four are read before the first is added)
                a, b = tile[group, thread], tile[group + 1, thread]
                c, d = tile[group + 2, thread], tile[group + 3, thread]
                total = total + a + b + c + d
        cuda.syncthreads()
        first += BROUGHT
    if thread < ROWS and first_row + thread < sums.shape[2]:
        totals[column, first_row + thread] = total


class OrderedSums:
    """Float sums over the vertices of each row, always added in the same order.

    Parameters
    ----------
    step : Step
        Whose sums depend on their order.
    weights : device array, shape (c, n), or None
        Of the vertices, or of the places that count in their order.
    places : device array, shape (size,), int64, or None
        The places that count; None: the first.
    size : int
        How many.
    by_vertex : bool
        Whether the weights are those of all vertices.
    """

    def __init__(
        self, step: Step, weights: Any, places: Any, size: int, *, by_vertex: bool = False
    ) -> None:
        summand = step.summand
        self.kind, self.number = summand.kind, float(summand.number)
        self.edges, self.values = upload(summand.edges), upload(summand.values)
        self.weighs, self.targeted = weights is not None, places is not None
        self.by_vertex, self.columns, self.size = by_vertex, step.columns, size
        # (what is not read may be anything)
        self.weights = self.edges.reshape((1, self.edges.size)) if weights is None else weights
        self.places = upload(np.empty(0, INT64)) if places is None else places

    @cached_property
    def replay_key(self) -> Any:
        """Key under which launches are recorded for replay, made from all fields of this object."""
        return key_of_fields(self)

    def launch(
        self, distances: Any, steps: tuple[int, int], bound: Any, rows: int, memory: SumsMemory,
        stream: Any,
    ) -> None:  # fmt: skip
        """Queue the kernels that sum some rows; the sums go to ``memory.totals``.

        Parameters
        ----------
        distances : device array, one axis
        steps : tuple of int
            How far apart rows stand, and places.
        bound : number
            The greatest distance that counts.
        rows : int
        memory : SumsMemory
        stream : stream
        """
        side_by_side = steps[0] == 1
        groups = memory.sums.shape[1]
        along, across = (rows, groups) if side_by_side else (groups, rows)
        add = make_groups_kernel(
            self.kind, weighs=self.weighs, targeted=self.targeted, by_vertex=self.by_vertex,
            side_by_side=side_by_side,
        )  # fmt: skip
        blocks = -(-along // ALONG), -(-across // ACROSS), self.columns
        add[blocks, (ALONG, ACROSS), stream](
            distances, *map(np.int64, (rows, *steps, self.size)), bound, self.places, self.weights,
            self.number, self.edges, self.values, memory.sums,
        )  # fmt: skip
        _add_sums_kernel[(-(-rows // ROWS), self.columns), THREADS, stream](
            memory.sums, memory.totals
        )


class SumsMemory(namedtuple("SumsMemory", "sums totals")):
    """Device memory for the sums over groups of vertices, and for their totals per row.

    Attributes
    ----------
    sums : device array, shape (c, groups, rows), float64
        Of groups of places.
    totals : device array, shape (c, rows), float64
    """

    @classmethod
    def allocate(cls, columns: int, size: int, rows: int) -> SumsMemory:
        """Return memory for `rows` rows, each with sums over `size` vertices."""
        groups = max(1, -(-size // GROUP))
        return cls(
            device_array((columns, groups, rows), FLOAT64), device_array((columns, rows), FLOAT64)
        )


def sums_bytes(columns: int, size: int) -> int:
    """Return the bytes of device memory that the sums over one row of `size` vertices take."""
    return 8 * columns * (1 + max(1, -(-size // GROUP)))
