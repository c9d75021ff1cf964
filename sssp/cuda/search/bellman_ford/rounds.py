"""Bellman-Ford on the GPU: base class and functions shared by push and pull searches.

Distances are kept as integers that order alike (a float's bits, mirrored where it is negative),
for which the hardware has an atomic minimum.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import int32, int64, uint32
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel
from sssp.cuda.device.bits import ordered_bits_of
from sssp.cuda.device.grid import SLOTS, blocks_at_once
from sssp.cuda.device_memory import on_host
from sssp.cuda.search_base import CLIPPED_ROW, Batch, Search
from sssp.engine import cycles
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, largest_distance
from sssp.kernels.status import OVERFLOW

#: threads of a block
THREADS = 32 if SIMULATOR else 384
#: up to one source for so many vertices, they are searched one after the other, by all blocks
VERTICES_A_SOURCE = 4_000
#: expansions for every vertex before predecessors are first searched for a cycle; then twice, ..
ALLOWANCE = 4
FOREVER = 1 << 62
#: words of the counters
ROUNDS, EXPANDED, RELAXED = 0, 1, 2


class Arcs(namedtuple("Arcs", "indptr indices weights")):
    """CSR arrays of the arcs that leave each vertex (push) or enter it (pull)."""


class Limits(namedtuple("Limits", "bound lowest negative")):
    """Distance limit, least distance that the dtype can hold, and a negative-weights flag."""


class Kept(namedtuple("Kept", "words predecessors")):
    """Distances and predecessors of a batch in device memory.

    Attributes
    ----------
    words : device array, shape (rows, n)
        Distances, with stamps perhaps.
    predecessors : device array, shape (rows, n), int32
        Not read unless a weight is negative.
    """


@cache
def words_of(itemsize: int) -> tuple[Any, Any]:
    """Return two device functions: one reads a stored distance, one lowers it atomically.

    A distance of 32 bits shares its word with the stamp of the round in which it fell last, which
    stands in the lower half and so never decides a minimum. One of 64 bits is the word, and the
    stamp stands in an array of its own.

    Parameters
    ----------
    itemsize : int
        Bytes of a distance: 4 or 8.

    Returns
    -------
    key_of : device function
        The key of a word.
    lower : device function
        Lower a vertex; 0 if it was not above, 1 if it fell, 2 if it fell first in this round.
    """
    stamps = itemsize == 4

    @inline
    def key_of(word):
        return int32(word >> 32) if stamps else word

    @inline
    def lower(words, marks, row, vertex, key, stamp):
        new = int64(key) << 32 | int64(stamp) if stamps else key
        before = cuda.atomic.min(words, (row, vertex), new)
        if key >= key_of(before):
            return 0
        known = (
            uint32(before & 0xFFFFFFFF) if stamps else cuda.atomic.exch(marks, (row, vertex), stamp)
        )
        return 2 if known != stamp else 1

    return key_of, lower


@cache
def make_finish_kernel(dtype: np.dtype[Any], *, packed: bool) -> Any:
    """Return the kernel that converts packed words, or ordered integer keys, to distances."""
    number_of = ordered_bits_of(dtype)[1]
    key_of, _ = words_of(dtype.itemsize if packed else 8)

    @kernel
    def _finish_kernel(words, distances):
        """Convert distances from the integer codes that the search uses to numbers.

        ========= ======== ================ ==============================
        argument  shape    dtype            written by
        ========= ======== ================ ==============================
        words     (size,)  int64 or integer the kernels of push and pull
        distances (size,)  number           here
        ========= ======== ================ ==============================
        """
        for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
            distances[i] = number_of(key_of(words[i]))

    return _finish_kernel


class BellmanFordSearch(Search):
    """Base class of push and pull: runs rounds, detects negative cycles, converts distances."""

    def __init__(self, graph: Graph, dtype: np.dtype[Any]) -> None:
        self.graph, self.dtype = graph, dtype
        self.negative = graph.least_weight < 0
        self.lowest = dtype.type(-largest_distance(dtype))
        self.integer = np.dtype(f"i{dtype.itemsize}")
        #: number of rounds after which exact arithmetic is finished
        self.most_rounds = graph.n

    def grid(self, batch: Batch) -> tuple[bool, int, range]:
        """Return whether all blocks share a row, the number of blocks, and each launch's first row.

        A few rows are done one after the other, many side by side, a block each.
        """
        if batch.rows <= max(1, self.graph.n // VERTICES_A_SOURCE):
            return True, blocks_at_once(), range(batch.rows)
        return False, batch.rows, range(1)

    def keys(self, batch: Batch) -> Any:
        """Return a batch's distance array viewed as integers of the same size."""
        return batch.distances.view(self.integer)

    def run_rounds(
        self, batch: Batch, active: Any, kept: Kept, launch: Callable[[int], None]
    ) -> bool:
        """Run rounds until no vertex is active; return False if overflow or rounding ends them.

        With negative weights they pause for a search for negative cycles, ever more rarely.

        Parameters
        ----------
        batch : Batch
        active : device array, shape (rows, SLOTS)
            Rotating by round: how much the next round has to do.
        kept : Kept
        launch : callable
            Runs rounds until so many vertices have been expanded in a row, or none is left.

        Raises
        ------
        NegativeCycleError
            A row reaches a cycle with an exact sum below zero.
        """
        if not self.negative:
            launch(FOREVER)
            return True
        allowance = ALLOWANCE * self.graph.n
        while True:
            launch(allowance)
            counters = on_host(batch.counters, batch.stream)
            waiting = on_host(active[: batch.rows], batch.stream)
            unfinished = waiting[np.arange(batch.rows), counters[:, ROUNDS] % SLOTS] != 0
            never_ends = self.look(batch, counters, unfinished, kept)
            if not unfinished.any():
                return True
            if never_ends:
                return False
            allowance *= 2

    def look(
        self, batch: Batch, counters: NDArray[np.int64], unfinished: NDArray[np.bool_], kept: Kept
    ) -> bool:
        """Raise an error for a negative cycle; else return whether the search can end early.

        It can if a distance has left the dtype, for then the rows are thrown away, or if rounding
        alone keeps the rows going.

        Parameters
        ----------
        batch : Batch
        counters : ndarray, shape (rows, words)
            Of the batch.
        unfinished : ndarray, shape (rows,)
            Rows that have something left to do.
        kept : Kept

        Raises
        ------
        NegativeCycleError
            A row reaches a cycle with an exact sum below zero.
        """
        overflowed = counters[:, CLIPPED_ROW] == OVERFLOW
        late = unfinished & (counters[:, ROUNDS] > self.most_rounds)
        for row in np.flatnonzero(unfinished | overflowed):
            cycle = cycles.negative_cycle(self.graph, kept.predecessors[row].copy_to_host())
            if late[row] and not cycle.size:
                keys = kept.words[row].copy_to_host()
                if keys.dtype.itemsize > self.dtype.itemsize:
                    keys = (keys >> 32).astype(self.integer)
                if self.dtype.kind == "f":
                    keys = np.where(keys < 0, keys ^ np.iinfo(self.integer).max, keys)
                distances = keys.view(self.dtype)
                cycle = cycles.negative_cycle_below(self.graph, distances, batch.bound, self.lowest)
            if cycle.size:
                first = batch.first_sources.copy_to_host()[row]
                raise cycles.error_of(int(batch.sources.copy_to_host()[first]), cycle)
        if overflowed.any():
            return True
        # rounding can lower the distances around a cycle of length zero for ever
        return self.dtype.kind == "f" and bool(late.any() and (late == unfinished).all())

    def finish(self, batch: Batch, kept: Kept) -> None:
        """Decode the stored distances; with negative float weights, check for negative cycles.

        Raises
        ------
        NegativeCycleError
            The exact sum of a cycle among the predecessors of a row of floats is below zero, and
            not only by rounding.
        """
        packed = kept.words.dtype.itemsize > self.dtype.itemsize
        may_be_inexact = self.negative and self.dtype.kind == "f"
        if packed or may_be_inexact:
            size = batch.distances.size
            make_finish_kernel(self.dtype, packed=packed)[batch.rows, THREADS, batch.stream](
                kept.words[: batch.rows].reshape(size), batch.distances.reshape(size)
            )
        if not may_be_inexact:
            return
        sources = batch.sources.copy_to_host()
        firsts = batch.first_sources.copy_to_host()
        for row in range(batch.rows):
            tails = kept.predecessors[row].copy_to_host()
            marks = np.empty(self.graph.n, INDEX)
            if not cycles.has_cycle(tails, np.flatnonzero(tails >= 0).astype(INDEX), marks):
                continue
            own = sources[firsts[row] : firsts[row + 1]]
            cycle = cycles.negative_cycle(self.graph, tails)
            if cycle.size:
                raise cycles.error_of(int(own[0]), cycle)
            distances = batch.distances[row].copy_to_host()
            cycles.settle_sources(distances, own, self.graph.n)
            batch.distances[row].copy_to_device(distances)
