"""A bound on every distance of a graph, which fixes a dtype before any is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sssp.engine.plan import Plan, weights_of
from sssp.engine.request import Request
from sssp.kernels.dtypes import INT32, INT64, WeightRange, largest_distance, unreached
from sssp.methods import DeltaStepping

if TYPE_CHECKING:
    from sssp.engine.network import Network


def with_fixed_dtype(plan: Plan[Request]) -> Plan[Request]:
    """Return the plan with its dtype fixed, so that all parts of it have the same.

    The caller's; else int32 if a bound on every distance fits, else int64.
    """
    request = plan.request
    weights = weights_of(plan.network, plan.method)
    if request.dtype is not None or weights.dtype.kind == "f":
        return plan
    most = _longest_distance(plan.network, weights)
    if request.limit is not None and weights.least >= 0:  # (no limit keeps distances from falling)
        most = min(most, request.limit)
    dtype = INT32 if most <= largest_distance(INT32) else INT64
    return plan._replace(request=replace(request, dtype=dtype))


def _longest_distance(network: Network, weights: WeightRange) -> float:
    """Bound every distance over integer weights.

    A shortest path has at most n - 1 arcs. Where that many of the heaviest do not fit int32 but
    every vertex reaches every other, a way over vertex 0 is a better bound: two searches, made
    once and kept.
    """
    bound = float(weights.largest) * max(network.n - 1, 0)
    if bound <= largest_distance(INT32) or weights.least < 0:
        return bound
    return min(bound, network._cached("longest way over vertex 0", lambda: _over_zero(network)))


def _over_zero(network: Network) -> float:
    total = 0.0
    for graph in (network._tree_graph, network._tree_graph.reverse()):
        answer = Plan(graph, Request(np.zeros(1, np.int64), dtype=INT64), DeltaStepping()).run()
        greatest = np.inf if answer is None else answer.distances.max()
        total += np.inf if greatest == unreached(INT64) else float(greatest)
    return total
