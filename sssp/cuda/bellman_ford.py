"""Bellman-Ford on the GPU: rounds over the vertices whose distance changed.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.2 and 4.2, in two
forms; `sssp.cpu.bellman_ford` is the serial twin.

- Push (`sssp.cuda._push`): the vertices that changed relax the arcs that leave them.
- Pull (`sssp.cuda._pull`): every vertex looks at the arcs that enter it.
- Streamed (`sssp.cuda._streamed`): push, while the arcs are still on their way, or where they do
  not fit.

A source has the whole grid, whose blocks meet at a barrier, and a few sources have it in turn; many
have a block each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp._dtypes import INDEX
from sssp._query import Answer, Query
from sssp.cuda._memory import DeviceGraph, free_bytes
from sssp.cuda._pull import PullSearch
from sssp.cuda._push import PushSearch, push_bytes
from sssp.cuda._rows import SHARE, Search, solve_rows
from sssp.cuda._streamed import StreamedSearch
from sssp.cuda._tree import row_bytes
from sssp.graph import Graph
from sssp.methods import BellmanFord

__all__ = ["solve"]

#: streams where the memory alone asks for chunks
DEFAULT_STREAMS = 4


def solve(graph: Graph, query: Query, method: BellmanFord) -> Answer:
    """Answer `query` round by round.

    Parameters
    ----------
    graph : Graph
        Weights of any sign.
    query : Query
    method : BellmanFord

    Returns
    -------
    Answer
        Its statistics: ``rounds``; ``expanded``, the vertices whose arcs were relaxed, with
        repetition; ``relaxed``, those arcs. Of push they vary a little from call to call, for
        the threads of a round see what others have just written.

    Raises
    ------
    NegativeCycleError
        A source reaches a cycle of negative length.
    """

    def make_search(on_device: DeviceGraph, dtype: np.dtype[Any]) -> Search:
        if method.variant == "pull":
            return PullSearch(graph, on_device, dtype)
        budget = _budget(graph, query, on_device, dtype)
        resident = on_device.holds(f"weights, {dtype}")
        fits = resident or graph.m * (INDEX.itemsize + dtype.itemsize) <= budget
        if fits and not method.streams:
            return PushSearch(graph, on_device, dtype)
        streams = method.streams or DEFAULT_STREAMS
        return StreamedSearch(graph, on_device, dtype, budget=budget, streams=streams)

    return solve_rows(graph, query, make_search)


def _budget(graph: Graph, query: Query, on_device: DeviceGraph, dtype: np.dtype[Any]) -> int:
    """Bytes for arcs beside one row with all its scratch."""
    row = graph.n * (dtype.itemsize + 1) + push_bytes(graph, dtype)
    row += row_bytes(graph, query)
    row += (graph.n + 1) * INDEX.itemsize  # indptr, which all rows share
    free = min(int(free_bytes() * SHARE), query.memory_limit - on_device.nbytes)
    return free - row
