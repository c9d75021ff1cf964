"""Rows of distances and predecessors as SciPy gives them: float64, and -9999 for none.

What is small is searched at once in one call of a kernel, since there the way through the engine
takes longer than the search; all else goes through the engine. Both find the same: distances
added from the source outward, and of all trees the one with the fewest arcs, then the smallest
tails.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.calls.johnson import johnson
from sssp.calls.placement import place, search_work
from sssp.cpu.small_rows import (
    floats_kernel,
    nearest_kernel,
    null_kernel,
    rounds_kernel,
    rows_kernel,
)
from sssp.csgraph.scipy_arcs import Arcs, graph_of
from sssp.engine import thresholds
from sssp.engine.device_names import named_device
from sssp.engine.plan import Plan, run_placed
from sssp.engine.request import Answer, Request
from sssp.engine.threads import check_threads
from sssp.errors import DistanceOverflowError, NegativeCycleError
from sssp.graph.csr import sealed
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, largest_distance, unreached
from sssp.methods import BellmanFord, DeltaStepping, Johnson, Method

#: what SciPy writes where there is no predecessor, nor a source
NO_VERTEX = -9999
#: no sum in here is off by more, relative to what was added up
ROUNDING = 4 * float(np.finfo(FLOAT64).eps)
#: how far SciPy lets an arc be violated before it sees a negative cycle
TOLERANCE = 1e-15
ROUNDS = BellmanFord()
LONGEST = float(largest_distance(FLOAT64))


class Found(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    distances : ndarray, shape (k, n), float64
        inf where unreached.
    predecessors : ndarray, shape (k, n), int32, or None
        `NO_VERTEX` for none.
    sources : ndarray, shape (n,), int32, or None
        Of a search from all sources together, the nearest of them.
    """

    distances: NDArray[np.float64]
    predecessors: NDArray[np.int32] | None = None
    sources: NDArray[np.int32] | None = None


def as_floats(values: NDArray[Any], out: NDArray[np.float64], unit: int = 1) -> None:
    """Write distances into floats of the same shape; of integers how often they hold `unit`."""
    if values.dtype.kind == "f":
        out[...] = values
        return
    floats_kernel(values.reshape(-1), unreached(values.dtype), unit, out.reshape(-1))


def with_null(vertices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Write SciPy's number for no vertex in place of ours."""
    null_kernel(vertices.reshape(-1), NO_VERTEX)
    return vertices


def rows_of(
    arcs: Arcs,
    sources: NDArray[np.int64],
    *,
    predecessors: bool,
    device: str,
    limit: float = math.inf,
    negative: Method = ROUNDS,
) -> Found | None:
    """Search from every source.

    Parameters
    ----------
    arcs : Arcs
    sources : ndarray, shape (k,), int64
    predecessors : bool
    device : str
        As the caller of the package gave it.
    limit : float
        Inclusive, 0 or more; with negative weights inf.
    negative : BellmanFord or Johnson
        The method for negative weights.

    Returns
    -------
    Found or None
        None: SciPy is to decide. A weight is minus infinity, a sum is beyond all floats, or a
        cycle is so short below zero that SciPy may not see it.

    Raises
    ------
    NegativeCycleError
        The message is SciPy's.
    DeviceError
        The device cannot be used, or lacks memory.
    """
    if arcs.least == -np.inf:
        return None
    if _is_small(arcs, sources.size, device):
        found = _rows_at_once(arcs, sources, limit, predecessors, negative)
        if found is not None:
            return found
    method = DeltaStepping() if arcs.least >= 0 else negative
    return _rows_by_engine(graph_of(arcs), sources, method, limit, predecessors, device)


def _is_small(arcs: Arcs, rows: int, device: str) -> bool:
    """Whether searches are better not sent through the engine; refuses a device of no name."""
    size = arcs.n + arcs.indices.size
    small = size <= thresholds.SCIPY_ROW and rows * size <= thresholds.SCIPY_ROWS
    return not named_device(device).startswith("cuda") and small


def _rows_at_once(
    arcs: Arcs, sources: NDArray[np.int64], limit: float, predecessors: bool, negative: Method
) -> Found | None:
    """Search in one call of a kernel; None where that does not tell what a cycle is."""
    parts = _as_kernels_take(arcs)
    shape = sources.size, arcs.n
    distances = np.empty(shape, FLOAT64)
    tails = np.empty(shape if predecessors else (0, arcs.n), INDEX)
    if arcs.least >= 0:
        rows_kernel(*parts, sources, min(limit, LONGEST), distances, tails, NO_VERTEX)
    else:
        everywhere = np.arange(arcs.n if isinstance(negative, Johnson) else 0)
        if not rounds_kernel(*parts, sources, everywhere, LONGEST, distances, tails, NO_VERTEX):
            return None
    return Found(distances, tails if predecessors else None)


def _as_kernels_take(arcs: Arcs) -> tuple[NDArray[Any], ...]:
    return (
        sealed(arcs.indptr).view(np.uint64),
        sealed(arcs.indices).view(np.uint32),
        sealed(arcs.weights.astype(FLOAT64, copy=False)),
    )


def _rows_by_engine(
    graph: Graph,
    sources: NDArray[np.int64],
    method: Method,
    limit: float,
    predecessors: bool,
    device: str,
) -> Found | None:
    distances = np.empty((sources.size, graph.n), FLOAT64)
    request = _make_request(graph, sources, limit, predecessors)
    request.out = distances
    plan = _plan(graph, request, method, device)

    def answer(request: Request) -> Answer | None:
        part = plan._replace(request=request)
        return johnson(part) if isinstance(method, Johnson) else part.run()

    try:
        found = run_placed(request, answer)
    except DistanceOverflowError:
        return None
    except NegativeCycleError as error:
        if not _is_plainly_negative(graph, error.cycle):
            return None
        raise _as_scipy_says(plan, error) from None
    if found is None:
        return None
    if found.distances is not distances:
        as_floats(found.distances, distances)
    return Found(distances, with_null(found.predecessors) if predecessors else None)


def nearest_of(
    arcs: Arcs, sources: NDArray[np.int64], *, limit: float, predecessors: bool, device: str
) -> Found | None:
    """Search from all sources together: one row, and which source is nearest.

    Parameters, errors and None are those of `rows_of`; weights are 0 or more.
    """
    if _is_small(arcs, 1, device) or sources.size == 0:
        distances = np.empty((1, arcs.n), FLOAT64)
        tails = np.empty((int(predecessors), arcs.n), INDEX)
        origin = np.empty(arcs.n if predecessors else 0, INDEX)
        nearest_kernel(
            *_as_kernels_take(arcs),
            np.sort(sources),
            min(limit, LONGEST),
            distances,
            tails,
            origin,
            NO_VERTEX,
        )
    else:
        graph = graph_of(arcs)
        request = _make_request(graph, sources, limit, predecessors, nearest=True)
        request.out = distances = np.empty((1, graph.n), FLOAT64)
        answer = _plan(graph, request, DeltaStepping(), device).run()
        if answer is None:
            return None
        tails, origin = answer.predecessors, answer.origin
    if not predecessors:
        return Found(distances)
    return Found(distances, with_null(tails), with_null(origin))


def _make_request(
    graph: Graph,
    sources: NDArray[np.int64],
    limit: float,
    predecessors: bool,
    nearest: bool = False,
) -> Request:
    """Return the request, but for where it runs."""
    reach: float | None = None if limit == math.inf else limit
    if reach is not None and graph.weights.dtype.kind == "i":
        reach = int(reach)
    return Request(
        sources=sources,
        limit=reach,
        predecessors=predecessors,
        nearest=nearest,
        origins=predecessors,
        fewest_arcs=True,
        threads=check_threads(None),
    )


def _plan(graph: Graph, request: Request, method: Method, device: str) -> Plan[Request]:
    """Choose where a request runs."""
    host_bytes = request.rows * graph.n * (FLOAT64.itemsize + INDEX.itemsize * request.predecessors)
    work = search_work(
        method,
        graph.n,
        graph.m,
        request.rows,
        request.threads,
        limited=request.limit is not None,
        host_bytes=host_bytes,
    )
    place(request, device, method, work)
    return Plan(graph, request, method)


def _is_plainly_negative(graph: Graph, cycle: list[int]) -> bool:
    """Whether SciPy is sure to see that a cycle is negative.

    It looks for an arc that is violated by more than a tolerance, which at least one is if the
    cycle is longer below zero than all its arcs are allowed.
    """
    heads = np.roll(cycle, -1)
    weights = graph.weights[graph.arcs(cycle, heads)].tolist()
    allowed = len(weights) * (TOLERANCE + ROUNDING * math.fsum(map(abs, weights)))
    return -math.fsum(weights) > allowed


def _as_scipy_says(plan: Plan[Request], error: NegativeCycleError) -> NegativeCycleError:
    """Return the error of a negative cycle with SciPy's text, which names a vertex.

    Of Bellman-Ford it is the first source that reaches such a cycle; threads may have come to
    another first.
    """
    vertex = min(error.cycle)
    if isinstance(plan.method, BellmanFord):
        for part in plan.split(rows=1):
            try:
                part.run()
            except NegativeCycleError as first:
                vertex, error = int(part.request.sources[0]), first
                break
    return NegativeCycleError(f"Negative cycle detected on node {vertex}", error.cycle)
