"""The typical weight of a graph, which sets the scale of bucket widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sssp.graph import Graph

__all__ = ["typical_weight"]

#: weights looked at
SAMPLE = 1 << 16


def typical_weight(graph: Graph) -> float:
    """Lower median of the positive weights in an even sample; 0 where there are none.

    It is one of the weights, so it cannot overflow. Found on first use and kept.
    """
    return float(graph.derived("typical weight", lambda: _median(graph)))


def _median(graph: Graph) -> float:
    sample = graph.weights[:: max(1, graph.m // SAMPLE)]
    positive = sample[sample > 0]
    return float(np.quantile(positive, 0.5, method="lower")) if positive.size else 0.0
