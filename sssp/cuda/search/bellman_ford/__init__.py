"""Bellman-Ford on the GPU: rounds over the vertices whose distance changed.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.2 and 4.2, in two
forms; `sssp.cpu.search.bellman_ford` is the serial twin.

- Push (`push`): the vertices that changed relax the arcs that leave them.
- Pull (`pull`): every vertex looks at the arcs that enter it.
- Streamed (`streamed`): push, while the arcs are still on their way, or where they do
  not fit.

A source has the whole grid, whose blocks meet at a barrier, and a few sources have it in turn; many
have a block each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cuda.device_memory import DeviceGraph, available_bytes
from sssp.cuda.search.bellman_ford.pull import PullSearch
from sssp.cuda.search.bellman_ford.push import PushSearch, row_arrays
from sssp.cuda.search.bellman_ford.streamed import StreamedSearch
from sssp.cuda.search_base import Search, row_bytes
from sssp.cuda.search_driver import solve_rows
from sssp.cuda.tree import tree_bytes
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.methods import BellmanFord

#: streams where the memory alone asks for chunks
DEFAULT_STREAMS = 4


def solve(
    graph: Graph, request: Request, method: BellmanFord, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` by rounds of Bellman-Ford; None if a distance may not fit the dtype.

    Statistics of push vary a little from call to call, for the threads of a round see what others
    have just written.

    Parameters
    ----------
    graph : Graph
        Weights of any sign.
    request : Request
    method : BellmanFord
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.

    Raises
    ------
    NegativeCycleError
        A source reaches a cycle of negative length.
    """

    def make_search(on_device: DeviceGraph) -> Search:
        if method.variant == "pull":
            return PullSearch(graph, on_device, dtype)
        # beside one row with all its scratch, and indptr, which all rows share
        row = graph.n * (dtype.itemsize + 1) + row_bytes(row_arrays(graph, dtype))
        row += tree_bytes(graph, request) + (graph.n + 1) * INDEX.itemsize
        budget = available_bytes(request.memory_limit, on_device.nbytes) - row
        arcs = map(on_device.held, ("indices", f"weights, {dtype}"))
        resident = all(array is not None for array in arcs)
        fits = resident or graph.m * (INDEX.itemsize + dtype.itemsize) <= budget
        if fits and not method.streams:
            return PushSearch(graph, on_device, dtype)
        streams = method.streams or DEFAULT_STREAMS
        return StreamedSearch(graph, on_device, dtype, budget=budget, streams=streams)

    return solve_rows(graph, request, method, dtype, make_search)
