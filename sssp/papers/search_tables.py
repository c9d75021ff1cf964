"""Published evaluations as data: searches from one source.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), measured on an RTX 2080 and a
Xeon 8255C: figure 5-1 (Dijkstra) and table 5-2 (Bellman-Ford).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sssp.graph.graph import Graph

__all__ = [
    "PUBLISHED_AVERAGE",
    "PUBLISHED_BEST",
    "RANDOM_GRAPHS",
    "ROAD_GRAPHS",
    "RandomGraph",
    "random_graph",
]

#: figure 5-1: how many times as fast threshold-dijkstra on the GPU is as Dijkstra with an open
#: set, on average and, at least, at best; the figure gives no times
PUBLISHED_AVERAGE, PUBLISHED_BEST = 1.75, 3.0
#: the graphs of figure 5-1
ROAD_GRAPHS = tuple(f"USA-road-d.{region}" for region in ("NY", "BAY", "COL", "FLA", "NW"))
#: vertices of the built-in graph that stands in for them, as many as New York has
STAND_IN = 264_346
#: weights of the random graphs are drawn from 1 to this
GREATEST_WEIGHT = 1000


@dataclass(frozen=True)
class RandomGraph:
    """A row of table 5-2.

    Attributes
    ----------
    n, m : int
        Vertices and arcs.
    serial, gpu : float
        Published times in milliseconds.
    """

    n: int
    m: int
    serial: float
    gpu: float


#: table 5-2
RANDOM_GRAPHS = (
    RandomGraph(10, 34, 0.028, 0.31),
    RandomGraph(1_000, 18_555, 270.3, 8.227),
    RandomGraph(5_000, 122_984, 8_799.9, 45.855),
    RandomGraph(10_000, 489_476, 68_532.7, 133.717),
    RandomGraph(5_000, 1_242_105, 84_488.6, 238.185),
)


def random_graph(n: int, m: int, seed: int = 0) -> Graph:
    """Make a random directed graph in which vertex 0 reaches all others.

    First every vertex but 0 gets an arc from a random vertex of smaller number (a random
    recursive tree); the other arcs are drawn evenly from all pairs of different vertices, and
    drawn anew where a pair has one already. Weights are whole numbers, evenly from 1 to
    `GREATEST_WEIGHT`.

    Parameters
    ----------
    n, m : int
        Vertices and arcs, n - 1 <= m <= n * (n - 1); there are no parallel arcs.
    seed : int
        Of NumPy's PCG64.

    Raises
    ------
    ValueError
        No such graph has `m` arcs.
    """
    if not n - 1 <= m <= n * (n - 1):
        raise ValueError(f"{n} vertices take {n - 1} to {n * (n - 1)} distinct arcs, not {m}")
    random = np.random.default_rng(seed)
    heads = np.arange(1, n)
    # an arc is one number: the tail, and the head's place among the other vertices
    arcs = random.integers(0, heads) * (n - 1) + heads - 1
    while arcs.size < m:
        arcs = np.unique(np.append(arcs, random.integers(0, n * (n - 1), m - arcs.size)))
    tails, heads = np.divmod(arcs, n - 1)
    heads += heads >= tails
    return Graph.from_arcs(tails, heads, random.integers(1, GREATEST_WEIGHT + 1, m), n=n)
