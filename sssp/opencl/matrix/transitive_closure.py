"""Transitive closure by OpenCL, 64 vertices to a word: by squaring.

Xiao et al., "Parallel transitive closure algorithm for heterogeneous architecture" (2021); which
rows of a word of pivots a row takes over is looked up in tables of unions of four of them (V. L.
Arlazarov, E. A. Dinic, M. A. Kronrod, I. A. Faradzev, "On economical construction of the transitive
closure of a directed graph", 1970).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.matrix_request import WORD, ClosureRequest
from sssp.engine.memory import check_memory
from sssp.engine.progress import progress_bar
from sssp.kernels.dtypes import INT32
from sssp.methods import ClosureBySquaring
from sssp.opencl.compiler import open_queue


class Strip(NamedTuple):
    """How a work-group makes a part of a square.

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


def close(request: ClosureRequest, method: ClosureBySquaring) -> NDArray[np.uint64]:
    """Return the packed closure; as `sssp.cpu.matrix.transitive_closure.close`."""
    n, words = request.n, request.words
    with open_queue(request.device) as queue:
        facts = queue.device.facts
        fits = facts.local_mem_size > TABLES and facts.max_work_group_size >= 256
        strip = ON_A_CPU if queue.device.is_cpu else ON_A_GPU if fits else ON_A_SMALL_GPU
        wide = _padded(words, strip.width * strip.entries)
        high = _padded(max(n, wide * WORD), strip.height * strip.rows)
        size = high * wide * 8
        what, limit = f"the closure of {n:,} vertices", request.memory_limit
        check_memory({what: size + 8 * n * words}, limit, "cpu", request.advice)
        room = facts.global_mem_size
        check_memory({f"{what}, twice": 2 * size}, limit, request.device, request.advice, room)
        queue.device.check_pieces(size)
        reach = np.zeros((high, wide), np.uint64)
        request.fill(reach[:n, :words], range(n))
        square = queue.kernel(
            "transitive_closure", "square", WV=f"ulong{strip.entries}", VEC=strip.entries,
            WIDTH=strip.width, HEIGHT=strip.height, ROWS=strip.rows,
        )  # fmt: skip
        before, after = (queue.empty(high * wide, reach.dtype) for _ in range(2))
        changed = queue.empty(1, INT32)
        queue.copy(before, reach)
        group, groups = (strip.width, strip.height), high // (strip.height * strip.rows)
        step = queue.step_of(strip.height * strip.rows * wide * wide * LOOKED_UP)
        with progress_bar(request.squarings * groups, request.progress, "strip") as advance:
            for _ in range(request.squarings):
                queue.fill(changed, 0, INT32)
                for first in range(0, groups, step):
                    count = min(step, groups - first)
                    items = wide // strip.entries, count * strip.height
                    square(items, group, before, after, np.uint32(wide), np.uint32(first), changed)
                    queue.finish()
                    advance(count)
                before, after = after, before
                if method.early_stop and not queue.flag(changed):
                    break
        queue.copy(reach, before)
        return reach[:n, :words].copy()


def _padded(count: int, step: int) -> int:
    """Return the next multiple of a step, one at least."""
    return -(-max(count, 1) // step) * step
