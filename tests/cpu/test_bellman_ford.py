"""Bellman-Ford on the CPU: what it counts, for the answers are tested with all methods'."""

from __future__ import annotations

import sssp
from sssp.bench.papers.baselines import BaselineBellmanFord
from tests.naive import Arc, Network
from tests.strategies import graph_of


def test_statistics_count_rounds_expansions_and_relaxations() -> None:
    chain = graph_of(Network(5, tuple(Arc(v, v + 1, -1) for v in range(4))))
    r = sssp.shortest_paths(chain, [0, 3], method="bellman-ford")
    assert {name: values.tolist() for name, values in r.stats.items()} == {
        "rounds": [5, 2],
        "expanded": [5, 2],
        "relaxed": [4, 1],
    }
    r = sssp.shortest_paths(chain, 0, method=BaselineBellmanFord())
    assert r.stats == {"rounds": 5}
