"""Johnson's algorithm: all pairs of a sparse graph that may have negative weights.

D. B. Johnson, "Efficient algorithms for shortest paths in sparse networks" (1977). Bellman-Ford
from a vertex outside, with an arc of weight 0 to every other, gives each vertex v a potential
h(v). Every weight w(u, v) becomes w(u, v) + h(u) - h(v), which is not negative and leaves shortest
paths what they are, so that searches from one source at a time can find them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.calls.shortest_paths import shortest_paths
from sssp.cpu.matrix.driver import narrowed, tails_from_arcs
from sssp.engine.matrix_query import Answer, check_memory
from sssp.engine.query import Query
from sssp.errors import DistanceOverflowError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT64, largest_distance, unreached
from sssp.methods import BellmanFord, Johnson
from sssp.results.shortest_paths import ShortestPaths

__all__ = ["johnson"]


def johnson(graph: Graph, query: Query) -> ShortestPaths:
    """Answer `query`, whose sources are all vertices.

    Raises
    ------
    NegativeCycleError
        There is a cycle of negative length.
    DistanceOverflowError
        A distance does not fit the dtype fixed by the call, or int64.
    ValueError
        The result is to stay on a device, but has to be put together on the host.
    """
    if graph.least_weight >= 0:
        result = _search(graph, query, query.predecessors, query.dtype, query.output)
        result.method = Johnson.name
        return result
    if query.output == "device":
        raise ValueError(
            "johnson brings distances over negative weights back on the host: leave "
            "output='device' away, or use method='floyd-warshall'"
        )
    entries = graph.n * graph.n
    needed = entries * (2 * INT64.itemsize + (2 * INDEX.itemsize if query.predecessors else 0))
    check_memory(needed, query.memory_limit, f"johnson over {graph.n:,} vertices")
    potentials = shortest_paths(
        graph,
        query.sources,
        nearest=True,
        method=BellmanFord(),
        device=query.device,
        dtype=INT64 if graph.weights.dtype.kind == "i" else None,
    ).distances
    if graph.weights.dtype.kind == "i":
        answer = _integer_answer(graph, query, potentials)
    else:
        answer = _float_answer(graph, query, potentials)
    return ShortestPaths(
        graph,
        query,
        answer,
        single=False,
        single_target=False,
        method=Johnson.name,
        device=query.device,
    )


def _search(
    graph: Graph, query: Query, predecessors: bool, dtype: Any, output: Any = "host"
) -> ShortestPaths:
    return shortest_paths(
        graph,
        query.sources,
        device=query.device,
        predecessors=predecessors,
        dtype=dtype,
        output=output,
        threads=query.threads,
        memory_limit=query.memory_limit,
        stream=query.stream,
        progress=query.progress,
    )


def _integer_answer(graph: Graph, query: Query, potentials: NDArray[np.int64]) -> Answer:
    heaviest = max(abs(graph.least_weight), abs(graph.greatest_weight))
    if heaviest - 2 * int(potentials.min()) > largest_distance(INT64):
        raise DistanceOverflowError(
            f"weights up to {heaviest} and distances down to {potentials.min()} exceed int64 "
            "arithmetic; use floats"
        )
    weights = graph.weights_as(INT64) + potentials[graph.tails] - potentials[graph.indices]
    found = _search(graph.with_weights(weights), query, False, None)
    distances = np.empty((graph.n, graph.n), INT64)
    for row, lengths in zip(range(graph.n), found.distances, strict=True):
        missing = lengths == unreached(lengths.dtype)
        np.add(lengths, potentials - potentials[row], out=distances[row])
        distances[row, missing] = unreached(INT64)
    tails = None
    if query.predecessors:
        tails = np.full(distances.shape, -1, INDEX)
        tails_from_arcs(graph, distances, tails, query.threads)
    if query.dtype is not None and query.dtype.kind == "f":
        reached = distances != unreached(INT64)
        return Answer(np.where(reached, distances, np.inf).astype(query.dtype), tails)
    return Answer(narrowed(distances, query.dtype), tails, stats=found.stats)


def _float_answer(graph: Graph, query: Query, potentials: NDArray[np.float64]) -> Answer:
    """Add the weights themselves along the paths found: potentials would cost precision."""
    weights = graph.weights + potentials[graph.tails] - potentials[graph.indices]
    if not np.isfinite(weights).all():
        raise DistanceOverflowError("weights and distances together exceed float64 arithmetic")
    found = _search(graph.with_weights(np.maximum(weights, 0)), query, True, None)
    distances = found.skim(graph.weights)
    if query.dtype is not None:
        distances = distances.astype(query.dtype)
    return Answer(distances, found.predecessors if query.predecessors else None, stats=found.stats)
