"""Johnson's algorithm: many searches of a sparse graph that may have negative weights.

D. B. Johnson, "Efficient algorithms for shortest paths in sparse networks" (1977). Bellman-Ford
from a vertex outside, with an arc of weight 0 to every other, gives each vertex v a potential
h(v). Every weight w(u, v) becomes w(u, v) + h(u) - h(v), which is not negative and leaves shortest
paths what they are, so that searches from one source at a time can find them.

Integers come back exactly. Floats lose digits to potentials, and one very negative arc can make
them useless for pairs that never use it: so only the trees are taken from the searches, the
weights themselves are added along them, from the source on, and arcs are relaxed until none is
violated. Then a row is what Bellman-Ford finds, to the bit: floating-point addition never reverses
an order, so the least sum over all paths is a fixed point, and every label is the sum of a path.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.calls.shortest_paths import run_plan
from sssp.cpu.matrix.matrix_driver import tails_from_arcs
from sssp.cpu.search.bellman_ford import repair_kernel, sum_along_kernel
from sssp.engine.memory import check_memory
from sssp.engine.narrow import narrow
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.engine.workers import ordered_map
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, largest_distance, unreached
from sssp.methods import BellmanFord, DeltaStepping, Johnson, Method

#: expansions for every vertex after which a row is left to a search from the beginning
EXPANSIONS = 4


def johnson(plan: Plan[Request]) -> Answer:
    """Answer a plan by Johnson's algorithm; any cycle of negative length is an error."""
    graph, request = plan.network._tree_graph.without_closed_arcs(), plan.request
    if graph.least_weight >= 0:
        return _search(graph, request, DeltaStepping())
    if request.output == "device":
        raise ValueError(
            "johnson brings distances over negative weights back on the host: omit "
            "output='device', or use method='floyd-warshall'"
        )
    entries = request.rows * graph.n
    needed = entries * (2 * INT64.itemsize + (2 * INDEX.itemsize if request.predecessors else 0))
    parts = {f"johnson over {graph.n:,} vertices": needed}
    check_memory(parts, request.memory_limit, request.device, request.advice)
    integral = (request.dtype or graph.weights.dtype).kind == graph.weights.dtype.kind == "i"
    potentials = _potentials(graph, request)
    weights = graph.weights_as(potentials.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        reduced = weights + potentials[graph.tails] - potentials[graph.indices]
    if not _is_usable(reduced, weights, potentials):
        return _search(graph, request, BellmanFord())
    if integral:
        return _integer_answer(graph, request, potentials, reduced)
    return _float_answer(graph, request, reduced)


def _potentials(graph: Graph, request: Request) -> NDArray[Any]:
    """Return int64 or float64 potentials: distances from an extra vertex with arcs of 0 to all."""
    dtype = INT64 if graph.weights.dtype.kind == "i" else FLOAT64
    sources, resources = np.arange(graph.n), request.resources()
    outside = Request(sources, dtype=dtype, nearest=True, origins=False, **resources)
    found: NDArray[Any] = run_plan(Plan(graph, outside, BellmanFord())).distances[0]
    return found


def _is_usable(reduced: NDArray[Any], weights: NDArray[Any], potentials: NDArray[Any]) -> bool:
    """Return whether reduced weights, and distances over them, fit their integer dtype."""
    if reduced.dtype.kind == "f":
        return bool(np.isfinite(reduced).all())
    heaviest = max(abs(int(weights.min())), abs(int(weights.max())))
    return heaviest - 2 * int(potentials.min()) <= int(largest_distance(INT64))


def _search(graph: Graph, request: Request, method: Method) -> Answer:
    """Search from every source over reduced weights."""
    answer = run_plan(Plan(graph, request, method))
    answer.stats = _statistics(answer)
    return answer


def _statistics(answer: Answer) -> dict[str, NDArray[np.int64]]:
    return {name: answer.stats[name] for name in Johnson.statistics}


def _integer_answer(
    graph: Graph, request: Request, potentials: NDArray[np.int64], reduced: NDArray[np.int64]
) -> Answer:
    lengths = replace(request, predecessors=False, dtype=None, out=None)
    found = Plan(graph.with_weights(reduced), lengths, DeltaStepping()).run()
    if found is None:
        return _search(graph, request, BellmanFord())
    distances = np.empty((request.rows, graph.n), INT64)
    for source, own, row in zip(request.sources, found.distances, distances, strict=True):
        missing = own == unreached(own.dtype)
        np.add(own, potentials - potentials[source], out=row)
        row[missing] = unreached(INT64)
    return _finish(graph, request, distances, found)


def _float_answer(graph: Graph, request: Request, reduced: NDArray[Any]) -> Answer:
    trees = replace(request, predecessors=True, dtype=None, out=None)
    # (rounding may have left a reduced weight just below zero)
    searched = graph.with_weights(np.maximum(reduced, 0))
    found = Plan(searched, trees, DeltaStepping()).run()
    if found is None:
        return _search(graph, request, BellmanFord())
    dtype = request.dtype or FLOAT64
    arcs = (graph.indptr, graph.indices, graph.weights_as(dtype))
    distances = np.empty((request.rows, graph.n), dtype)

    def mend(row: int) -> bool:
        source, queue = int(request.sources[row]), np.empty(graph.n, INDEX)
        sum_along_kernel(*arcs, source, found.predecessors[row], distances[row], queue)
        queued, most = np.empty(graph.n, np.bool_), EXPANSIONS * graph.n
        done: bool = repair_kernel(*arcs, distances[row], queued, queue, most)
        return done

    mended = np.array([*ordered_map(mend, range(request.rows), request.threads)], np.bool_)
    left = np.flatnonzero(~mended)
    if left.size:
        sources = request.sources[left]
        rows = replace(request, sources=sources, predecessors=False, dtype=dtype, out=None)
        distances[left] = run_plan(Plan(graph, rows, BellmanFord())).distances
    return _finish(graph, request, distances, found)


def _finish(graph: Graph, request: Request, distances: NDArray[Any], found: Answer) -> Answer:
    """Find the trees for final distances."""
    tails = None
    if request.predecessors:
        tails = np.full(distances.shape, -1, INDEX)
        tails_from_arcs(graph, request.sources, distances, tails, request.threads)
    return Answer(narrow(distances, request.dtype), tails, stats=_statistics(found))
