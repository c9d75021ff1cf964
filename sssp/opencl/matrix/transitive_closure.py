"""Transitive closure by OpenCL: squaring of a bit matrix with 64 vertices per word.

Xiao et al., "Parallel transitive closure algorithm for heterogeneous architecture" (2021); which
rows of a word of pivots a row takes over is looked up in tables of unions of four of them (V. L.
Arlazarov, E. A. Dinic, M. A. Kronrod, I. A. Faradzev, "On economical construction of the transitive
closure of a directed graph", 1970).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import WORD, ClosureRequest
from sssp.engine.progress import progress_bar
from sssp.methods import ClosureBySquaring
from sssp.opencl.compiler import DeviceQueue, open_queue


class Strip(NamedTuple):
    """Sizes of the part of a boolean matrix product that one OpenCL work-group computes.

    Attributes
    ----------
    width, height : int
        Vectors of words, and items that share each; their tables take ``width`` times 256 vectors
        of local memory.
    rows, entries : int
        Of an item, and words of a vector.
    """

    width: int
    height: int
    rows: int
    entries: int


#: on a CPU a group is one item; on a GPU tables take 32 KB, and where that is too much 16
ON_A_CPU, ON_A_GPU, ON_A_SMALL_GPU = Strip(1, 1, 128, 8), Strip(8, 32, 8, 2), Strip(4, 16, 8, 2)
#: unions that a row takes over for a word of pivots
LOOKED_UP = 16
#: bytes of the tables of a GPU's strip
TABLES = 32 << 10


class Squares:
    """A boolean matrix on a device, packed into bits and padded, that can be squared repeatedly.

    Parameters
    ----------
    queue : DeviceQueue
    n : int
        Vertices.
    """

    def __init__(self, queue: DeviceQueue, n: int) -> None:
        facts, self.queue, self.n, self.words = queue.device.facts, queue, n, -(-n // WORD)
        fits = facts.local_mem_size > TABLES and facts.max_work_group_size >= 256
        self.strip = ON_A_CPU if queue.device.is_cpu else ON_A_GPU if fits else ON_A_SMALL_GPU
        self.wide = _padded(self.words, self.strip.width * self.strip.entries)
        self.high = _padded(max(n, self.wide * WORD), self.strip.height * self.strip.rows)
        self.nbytes = self.high * self.wide * 8

    def upload(self, request: ClosureRequest) -> None:
        """Copy the adjacency matrix of a request, as padded bits, to the device."""
        reach = np.zeros((self.high, self.wide), np.uint64)
        request.fill(reach[: self.n, : self.words], range(self.n))
        self._before, self._after = (
            self.queue.empty(self.high * self.wide, reach.dtype) for _ in range(2)
        )
        self.queue.copy(self._before, reach)

    def close(self, rounds: int, *, early_stop: bool, advance: Callable[..., object]) -> None:
        """Square the matrix at most `rounds` times, or until a square changes nothing."""
        queue, strip, wide = self.queue, self.strip, self.wide
        square = queue.kernel(
            "transitive_closure", "square", WV=f"ulong{strip.entries}", VEC=strip.entries,
            WIDTH=strip.width, HEIGHT=strip.height, ROWS=strip.rows,
        )  # fmt: skip
        group, rows = (strip.width, strip.height), strip.height * strip.rows
        groups, step = self.high // rows, queue.step_of(rows * wide * wide * LOOKED_UP)
        for _ in range(rounds):
            for first in range(0, groups, step):
                count = min(step, groups - first)
                items = wide // strip.entries, count * strip.height
                places = np.uint32(wide), np.uint32(first)
                square(items, group, self._before, self._after, *places)
                queue.finish()
                advance(count * rows)
            self._before, self._after = self._after, self._before
            if early_stop and not queue.differ(
                self._before, self._after, (self.n, wide), wide, "ulong"
            ):
                break

    def to_host(self) -> NDArray[np.uint64]:
        """Copy the packed bit matrix to the host and return it without padding."""
        reach = np.empty((self.high, self.wide), np.uint64)
        self.queue.copy(reach, self._before)
        return reach[: self.n, : self.words].copy()


def close(request: ClosureRequest, method: ClosureBySquaring) -> NDArray[np.uint64]:
    """Compute the transitive closure by OpenCL; return it packed, 64 vertices to a word."""
    n, limit, rounds = request.n, request.memory_limit, request.squarings
    with open_queue(request.device) as queue:
        squares = Squares(queue, n)
        what, size = f"the closure of {n:,} vertices", squares.nbytes
        check_memory({what: size + 8 * n * squares.words}, limit, "cpu", request.advice)
        room = queue.device.facts.global_mem_size
        check_memory({f"{what}, twice": 2 * size}, limit, request.device, request.advice, room)
        queue.device.check_pieces(size)
        squares.upload(request)
        with progress_bar(rounds * squares.high, request.progress, "row") as advance:
            squares.close(rounds, early_stop=method.early_stop, advance=advance)
        return squares.to_host()


def _padded(count: int, step: int) -> int:
    """Round a size up to a multiple of a step, at least one step."""
    return -(-max(count, 1) // step) * step
