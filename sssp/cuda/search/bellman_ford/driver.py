"""Which form of Bellman-Ford answers a request on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cuda.batch import Search, row_bytes
from sssp.cuda.device_memory import DeviceGraph, available_bytes
from sssp.cuda.search.bellman_ford.pull import PullSearch
from sssp.cuda.search.bellman_ford.push import PushSearch, row_arrays
from sssp.cuda.search.bellman_ford.streamed import StreamedSearch
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
    """Answer `request` round by round, in one dtype.

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
        budget = _budget(graph, request, on_device, dtype)
        arcs = map(on_device.held, ("indices", f"weights, {dtype}"))
        resident = all(array is not None for array in arcs)
        fits = resident or graph.m * (INDEX.itemsize + dtype.itemsize) <= budget
        if fits and not method.streams:
            return PushSearch(graph, on_device, dtype)
        streams = method.streams or DEFAULT_STREAMS
        return StreamedSearch(graph, on_device, dtype, budget=budget, streams=streams)

    return solve_rows(graph, request, method, dtype, make_search)


def _budget(graph: Graph, request: Request, on_device: DeviceGraph, dtype: np.dtype[Any]) -> int:
    """Bytes for arcs beside one row with all its scratch."""
    row = graph.n * (dtype.itemsize + 1) + row_bytes(row_arrays(graph, dtype))
    row += tree_bytes(graph, request)
    row += (graph.n + 1) * INDEX.itemsize  # indptr, which all rows share
    return available_bytes(request.memory_limit, on_device.nbytes) - row
