"""Rows with targets of their own, on a device: parts of tables, one a block of sources.

A block of sources is searched at once, all of them to the targets of any, and each keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sssp.engine.narrow import convert_into, narrowed
from sssp.engine.plan import merged
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request

#: bytes of a table on the host, and most sources of one
BLOCK_BYTES, LARGEST_BLOCK = 256 << 20, 1024


def solve_by_tables(
    solve: Callable[[Request], Answer | None], n: int, request: Request, dtype: np.dtype[Any]
) -> Answer | None:
    """Find distances to the targets of every source; None if one may be too long for a dtype.

    Parameters
    ----------
    solve : callable
        Answers a request without target offsets in this dtype.
    n : int
        Vertices of the graph that it searches.
    request : Request
    dtype : dtype
    """
    firsts = range(0, max(request.rows, 1), LARGEST_BLOCK)
    left = [request.part(slice(first, first + LARGEST_BLOCK)) for first in reversed(firsts)]
    answers = []
    with progress_bar(request.rows, request.progress) as advance:
        while left:
            part = left.pop()
            size, columns = part.rows, min(part.columns(n), n)
            fits = size * columns * dtype.itemsize <= BLOCK_BYTES
            answer = _solve_block(solve, part, dtype) if fits or size <= 1 else None
            if answer is not None:
                answers.append(answer)
                advance(size)
            elif size > 1:
                # (the distance that is too long may belong to no trip)
                left += [part.part(slice(size // 2, None)), part.part(slice(size // 2))]
            else:
                return None
    whole = merged(answers)
    whole.distances = narrowed(whole.distances, request.dtype)
    return whole


def _solve_block(
    solve: Callable[[Request], Answer | None], request: Request, dtype: np.dtype[Any]
) -> Answer | None:
    """Find a table from all sources to the targets of any, and keep each row's own entries."""
    assert request.target_offsets is not None
    assert request.targets is not None
    targets, columns = np.unique(request.targets, return_inverse=True)
    # (other distances may be too long for the dtype of the call)
    asked = None if dtype.kind == "i" else dtype
    table = replace(request, targets=targets, target_offsets=None, dtype=asked, progress=False)
    answer = solve(table)
    if answer is None:
        return None
    row_of = np.repeat(np.arange(request.rows), np.diff(request.target_offsets))
    distances = np.empty(columns.size, dtype)
    convert_into(answer.distances[row_of, columns], distances)
    return Answer(distances, stats=answer.stats)
