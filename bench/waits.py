"""Time on New York the tasks whose waiting times with other tools are published.

    python -m bench.waits [GRAPH] [--json FILE]

Five complaints from the issues of other projects, each with what it asks of a graph, on this
machine, with all its cores and kernels compiled. Their graphs and machines are others: a line says
what such a thing takes here, not how many times as fast it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sssp
from bench.graphs import SEED
from bench.listing import Listing, make_parser
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.workloads import time_call

GRAPH = "USA-road-d.NY"
HEADINGS = "where | what was asked | they waited | here | seconds | "
CELLS = "{where} | {asked} | {waited} | {here} | {seconds:.3g} | {equal}"
#: trips whose distances are compared with those of searches
CHECKED = 20


def waits(graph: sssp.Graph) -> Iterator[tuple[str, str, str, str, Callable[[], Any]]]:
    """Yield source, task, published time, code with this package, and a function that runs it."""
    random = np.random.default_rng(SEED)
    h = sssp.prepare(graph)

    def draw(count: int) -> Any:
        return random.integers(0, graph.n, count)

    trips = draw(5_000), draw(5_000)
    yield (
        "OSMnx 1030", "5,000 routes", "5.3 minutes", "pairs(h, starts, ends, predecessors=True)",
        lambda: sssp.pairs(h, *trips, predecessors=True, device="cpu"),
    )  # fmt: skip
    sources, targets = draw(1_000), draw(1_000)
    yield (
        "Valhalla 973", "1,000 x 1,000 times", "111 s", "shortest_paths(h, homes, targets=jobs)",
        lambda: sssp.shortest_paths(h, sources, targets=targets, device="cpu"),
    )  # fmt: skip
    weights = random.integers(1, 10_000, graph.m)
    yield (
        "GraphHopper 1565", "new weights on a prepared map", "hours", "h.with_weights(weights)",
        lambda: sssp.shortest_paths(h.with_weights(weights), 0, device="cpu"),
    )  # fmt: skip
    many = draw(44_000)
    yield (
        "cuGraph 1320", "44,000 searches", "2 hours", 'reduce(h, homes, "mean")',
        lambda: sssp.reduce(h, many, "mean", device="cpu"),
    )  # fmt: skip
    tails, arcs = graph.tails, random.choice(graph.m, min(20_000, graph.m // 4), replace=False)
    after = graph.indptr[graph.indices[arcs]]
    some = after < graph.indptr[graph.indices[arcs] + 1]
    table = arcs[some], after[some], np.full(np.count_nonzero(some), np.inf)
    assert (tails[table[1]] == graph.indices[table[0]]).all()
    yield (
        "OSMnx 22, NetworkX 4679", "forbidden turns", "since 2017",
        "prepare(g.with_turns(table)), then a tree",
        lambda: sssp.shortest_paths(
            sssp.prepare(graph.with_turns(table, arcs=True)), 0, device="cpu"
        ),
    )  # fmt: skip


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if trips are wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("graph", nargs="?", type=find_graph, metavar="GRAPH")
    options = parser.parse_args()
    graph = (options.graph or find_graph(GRAPH)).load()
    listing = Listing({"seed": SEED}, HEADINGS, CELLS)
    for where, asked, waited, here, run in waits(graph):
        run()  # compiles
        seconds, found = time_call(run)
        equal = True
        if isinstance(found, sssp.Trips):
            right = sssp.pairs(graph, found.sources[:CHECKED], found.targets[:CHECKED])
            equal = bool((right.distances == found.distances[:CHECKED]).all())
        listing.add(
            {
                "where": where, "asked": asked, "waited": waited, "here": here,
                "seconds": seconds, "equal": equal,
            }
        )  # fmt: skip
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
