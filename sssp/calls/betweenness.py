"""`betweenness`: the betweenness centrality of every vertex, over all or some sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.make_plan import make_plan
from sssp.calls.shortest_paths import run_plan
from sssp.cpu.path_counts import Dependencies
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_network
from sssp.engine.check_memory import FEWER_SOURCES, check_memory
from sssp.engine.device_names import refuse_several
from sssp.engine.plan import Plan, run_placed
from sssp.engine.progress import progress_bar
from sssp.engine.request import Request
from sssp.engine.workers import ordered_map
from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import as_flag
from sssp.graph.check_weights import refuse_negative
from sssp.kernels.dtypes import FLOAT64
from sssp.kernels.status import DONE, OVERFLOW
from sssp.methods import Dijkstra, Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy

FEWER = f"{FEWER_SOURCES}, or pass threads=1"
ON_HOST = "pass device='cpu'"


def betweenness(
    g: Graph | Hierarchy,
    sources: ArrayLike | None = None,
    *,
    normalized: bool = False,
    method: str | Method = "auto",
    device: str = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> NDArray[np.float64]:
    """Compute the betweenness centrality of every vertex, over all or some sources.

    Parameters
    ----------
    g : Graph or Hierarchy
        With weights of 0 or more.
    sources : int, or array_like of int, shape (k,), optional
        Where paths begin; by default at every vertex. A sample gives an estimate: multiply it by
        ``g.n / k``. What is named twice counts twice.
    normalized : bool
        Divide by the number ``(n - 1) * (n - 2)`` of pairs of other vertices.
    method, device, threads, memory_limit, progress
        As for `sssp.shortest_paths`.

    Returns
    -------
    ndarray, shape (n,), float64
        For each vertex v the sum, over all sources s and all vertices t, both other than v, of
        the share of the shortest paths from s to t that pass v. In an undirected graph a path
        and its reverse are one, so it is half of that, unless it is normalized.

    Raises
    ------
    NegativeWeightError
        A weight is negative.
    ValueError
        Arcs of weight 0 (or floats that are absorbed by rounding) close a cycle that a source
        reaches: there is no end to shortest paths round it; or the graph has turns.
    DistanceOverflowError
        There are more shortest paths between two vertices than a float64 counts.
    VertexError, DeviceError, TypeError
        As `sssp.shortest_paths` does.

    Notes
    -----
    The algorithm of Brandes (2001): a search from every source, then O(n + m) more time and
    O(n + m) memory for every thread; on a GPU every block takes a source. The result has the same
    bits whatever method and number of threads, for what sources contribute is added in their
    order; a GPU adds along the arcs in another order than the CPU.

    It is what ``networkx.betweenness_centrality`` finds, and with some sources
    ``betweenness_centrality_subset`` with all vertices as targets; but those count arcs of weight
    0 wrongly. Paths are told apart by their vertices: parallel arcs are one, the lightest. With
    float weights two paths are equally short if their rounded lengths are the same number, added up
    from the source: a prepared map searches its graph for them.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 1, 1])
    >>> sssp.betweenness(g).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    network = as_network(g)
    network._tree_graph._refuse_turns("betweenness")
    normalized = as_flag(normalized, "normalized")
    refuse_negative(network, Dijkstra())
    refuse_several(device)
    plan = make_plan(
        network, np.arange(network.n) if sources is None else sources, method=method, device=device,
        threads=threads, memory_limit=memory_limit, progress=progress, advice=FEWER_SOURCES,
    )  # fmt: skip
    plan.request.outward = True

    def add_up(request: Request) -> NDArray[np.float64]:
        sum_up = _sum_on_host if request.device == "cpu" else _sum_on_device
        return sum_up(plan._replace(request=request))

    total = run_placed(plan.request, add_up)
    n = network.n
    if normalized:
        return total / ((n - 1) * (n - 2)) if n > 2 else total
    return total if network._tree_graph.directed else total / 2


def _sum_on_host(plan: Plan[Request]) -> NDArray[np.float64]:
    request, graph = plan.request, plan.network._tree_graph.without_closed_arcs()
    dependencies = Dependencies(graph, plan.method.weighted)
    fitting = thresholds.COUNTED_BYTES // max(1, 8 * graph.n)
    rows = max(thresholds.COUNTED_ROWS * request.threads, fitting)
    needed = {
        "distances of a block": 8 * graph.n * min(rows, request.rows),
        "the workers": dependencies.nbytes * min(request.threads, request.rows),
    }
    check_memory(needed, request.memory_limit, "cpu", FEWER)

    def contribution(row: tuple[int, NDArray[np.generic]]) -> NDArray[np.float64]:
        status, shares = dependencies.of(*row)
        _check(status, row[0])
        return shares

    total = np.zeros(graph.n, FLOAT64)
    with progress_bar(request.rows, request.progress) as advance:
        for part in plan.split(rows):
            part.request.progress = False
            found = run_plan(part).distances
            searched = zip(part.request.sources.tolist(), found, strict=True)
            for shares in ordered_map(contribution, searched, request.threads):
                total += shares
                advance(1)
            del found  # (before there are the next rows)
    return total


def _sum_on_device(plan: Plan[Request]) -> NDArray[np.float64]:
    from sssp.cuda.path_counts import Dependencies as DependenciesOnDevice

    request, graph = plan.request, plan.network._tree_graph.without_closed_arcs()
    limit = request.memory_limit
    dependencies = DependenciesOnDevice(graph, request.device, request.rows, limit, ON_HOST)
    left = limit - dependencies.nbytes
    there = replace(request, output="device", progress=False, memory_limit=left)
    with progress_bar(request.rows, request.progress) as advance:
        for part in plan._replace(request=there).split(dependencies.rows):
            sources = part.request.sources
            statuses = dependencies.add(sources, run_plan(part).distances)
            for status, source in zip(statuses.tolist(), sources.tolist(), strict=True):
                _check(status, source)
            advance(sources.size)
    return dependencies.total()


def _check(status: int, source: int) -> None:
    """Raise the error for the status code of a row; do nothing if the code is `DONE`."""
    if status == OVERFLOW:
        raise DistanceOverflowError(
            f"the number of shortest paths from source {source} to a vertex exceeds float64; "
            "weights that differ more have fewer ties"
        )
    if status != DONE:
        raise ValueError(
            f"shortest paths from source {source} cannot be counted: arcs of weight 0, or lost "
            "to rounding beside the distance, close a cycle; merge the ends of such arcs, or "
            "give them a weight (g.scaled(1000) makes integers)"
        )
