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
from sssp.cpu.tree_sums import TreeSums
from sssp.engine.check_memory import check_memory
from sssp.engine.cycles import settle
from sssp.engine.narrow import narrow
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.engine.workers import ordered_map
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, largest_distance, unreached
from sssp.methods import BellmanFord, DeltaStepping, Johnson, Method


def johnson(plan: Plan[Request]) -> Answer:
    """Solve a plan by Johnson's algorithm; raise an error for any cycle of negative length."""
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
    # distances from an extra vertex with arcs of 0 to all others
    is_integer = graph.weights.dtype.kind == "i"
    outside = Request(
        np.arange(graph.n), dtype=INT64 if is_integer else FLOAT64, nearest=True, origins=False,
        **request.resources(),
    )  # fmt: skip
    potentials = run_plan(Plan(graph, outside, BellmanFord())).distances[0]
    weights = graph.weights_as(potentials.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        reduced = weights + potentials[graph.tails] - potentials[graph.indices]
    if is_integer:
        heaviest = max(abs(int(weights.min())), abs(int(weights.max())))
        fits = heaviest - 2 * int(potentials.min()) <= int(largest_distance(INT64))
    else:
        fits = bool(np.isfinite(reduced).all())
    whole = is_integer and (request.dtype or INT64).kind == "i"
    found = None
    if fits:
        # (of floats trees; rounding may have left a reduced weight just below zero)
        searched = graph.with_weights(reduced if whole else np.maximum(reduced, 0))
        rows = replace(request, predecessors=not whole, dtype=None, out=None)
        found = Plan(searched, rows, DeltaStepping()).run()
    if found is None:
        return _search(graph, request, BellmanFord())
    if whole:
        distances = np.empty((request.rows, graph.n), INT64)
        for source, own, row in zip(request.sources, found.distances, distances, strict=True):
            missing = own == unreached(own.dtype)
            np.add(own, potentials - potentials[source], out=row)
            row[missing] = unreached(INT64)
    else:
        distances = _add_along(graph, request, found.predecessors)
    tails = None
    if request.predecessors:
        tails = np.full(distances.shape, -1, INDEX)
        tails_from_arcs(graph, request.sources, distances, tails, request.threads)
    stats = {name: found.stats[name] for name in Johnson.statistics}
    return Answer(narrow(distances, request.dtype), tails, stats=stats)


def _search(graph: Graph, request: Request, method: Method) -> Answer:
    """Solve a request by `method`; return the answer with the statistics that Johnson reports."""
    answer = run_plan(Plan(graph, request, method))
    answer.stats = {name: answer.stats[name] for name in Johnson.statistics}
    return answer


def _add_along(graph: Graph, request: Request, trees: NDArray[np.int32]) -> NDArray[Any]:
    """Return float distances: sums of weights along `trees`, relaxed until no arc is violated."""
    dtype = request.dtype or FLOAT64
    distances = np.empty((request.rows, graph.n), dtype)
    sums = TreeSums(graph, trees, request.sources, None, dtype)
    values = sums.by_head(graph.weights_as(dtype))

    def mend(row: int) -> bool:
        if sums.skim(range(row, row + 1), values, distances[row : row + 1]) is not None:
            return False
        return settle(graph, distances[row])  # (else the row is searched from the beginning)

    mended = np.array([*ordered_map(mend, range(request.rows), request.threads)], np.bool_)
    left = np.flatnonzero(~mended)
    if left.size:
        sources = request.sources[left]
        rows = replace(request, sources=sources, predecessors=False, dtype=dtype, out=None)
        distances[left] = run_plan(Plan(graph, rows, BellmanFord())).distances
    return distances
