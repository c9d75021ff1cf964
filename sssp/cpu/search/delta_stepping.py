"""Delta-stepping: buckets of width delta, label-correcting.

U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of
Algorithms 49 (2003), with all arcs relaxed alike (no light and heavy ones, as in GAPBS): on a
road network few vertices are expanded twice, and a bucket costs O(1) where a heap costs O(log n).

A row is searched by one thread (`sssp.cpu.search.delta_alone`). One source on several cores begins
with one thread as well, and a team takes over once the buckets are large
(`sssp.cpu.search.delta_team`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cpu.search.delta_alone import delta_stepping_kernel, own_links
from sssp.cpu.search_driver import Search, solve_rows
from sssp.engine.request import Answer, Query
from sssp.graph.arc_orders import typical_weight
from sssp.graph.graph import Graph
from sssp.methods import DeltaStepping

__all__ = ["bucket_width", "finest_width", "solve"]

#: vertices from which on a search may last long enough for a team to pay
WORTH_A_TEAM = 1 << 14
#: whose inverse is a number
LEAST_WIDTH = float(np.finfo(np.float64).tiny)


def finest_width(graph: Graph, dtype: np.dtype[Any]) -> float:
    """Least width of buckets that all distances of a graph, in a dtype, can be numbered by."""
    finest = LEAST_WIDTH
    if graph.weights.dtype.kind == "i":
        finest = 1.0
    if dtype.kind == "f":  # (sums of integers, too, may be beyond int64 there)
        finest = max(finest, graph.greatest_weight * 2.0**-60 * graph.n)
    return finest


def bucket_width(graph: Graph, method: DeltaStepping, dtype: np.dtype[Any]) -> float:
    """Width of a bucket: the method's, or the median weight, or the least that there can be.

    The median is close to the best width on road networks, where a factor of two either way
    costs little, and a few enormous weights do not move it.

    Raises
    ------
    ValueError
        The method's delta is too fine to number the buckets of this graph.
    """
    finest = finest_width(graph, dtype)
    if method.delta is None:
        return max(typical_weight(graph), finest)
    least = finest_width(graph, graph.weights.dtype)
    if method.delta < least:
        raise ValueError(f"delta={method.delta} is too fine for this graph; take {least} or more")
    return max(method.delta, finest)


def solve(graph: Graph, query: Query, method: DeltaStepping, dtype: np.dtype[Any]) -> Answer | None:
    """Answer `query` with one bucket search a row.

    Parameters
    ----------
    graph : Graph
        Weights >= 0.
    query : Query
    method : DeltaStepping
    dtype : dtype

    Returns
    -------
    Answer or None
        None: a distance may not fit the dtype.
    """
    width = bucket_width(graph, method, dtype)
    if query.rows == 1 and query.threads > 1 and graph.n >= WORTH_A_TEAM:
        from sssp.cpu.search.delta_team import TEAM_WIDTH, team_search

        team_width = width if method.delta is not None else width * TEAM_WIDTH
        search = team_search(query.threads, dtype, 1.0 / width, 1.0 / team_width)
    else:
        search = Search(delta_stepping_kernel, (1.0 / width,), own_links)
    return solve_rows(graph, query, method, dtype, search)
