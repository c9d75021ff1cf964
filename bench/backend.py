"""Time NetworkX alone and through our backend: the same requests, in turn, in one run.

    python -m bench.backend [--graph USA-road-d.NY | --vertices 2000] [--trials 5] [--json FILE]

Each question is asked of NetworkX alone, of the backend with a graph that is not converted yet
(a first call, but for imports and compilation), and with one that is. Times are medians; answers
are compared, paths by their lengths.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import sssp
from bench.graphs import SEED, real_graph
from bench.listing import Listing, make_parser
from sssp.bench.workloads import time_call
from sssp.engine.threads import default_threads

# (its stubs give every function a type of its own)
nx: Any = import_module("networkx")

#: of the nodes of a graph, those between which single paths are asked for
PAIRS = ((0.5, 0.1), (0.5, 0.9), (0.3, 0.7))
#: paths are compared for this many nodes
COMPARED = 20
#: most nodes of a graph of which all pairs are asked for
FEW = 3000


HEADINGS = "question | NetworkX, ms | first call | converted | equal"
CELLS = (
    "{question} | {alone:.1f} | {once:.1f} ({gain_once:.1f}x) | {again:.1f} ({gain:.1f}x) | {equal}"
)


def questions(G: Any) -> dict[str, Callable[[str], Any]]:
    """Return functions that call a backend by name and return a comparable answer."""
    nodes = list(G)
    source = nodes[len(nodes) // 2]
    pairs = [tuple(nodes[int(share * len(nodes))] for share in pair) for pair in PAIRS]

    def length(path: list[Any]) -> Any:
        return sum(G[tail][head]["weight"] for tail, head in pairwise(path))

    def of_pairs(function: Any) -> Callable[[str], Any]:
        return lambda backend: [function(G, *pair, backend=backend) for pair in pairs]

    def of_paths(backend: str) -> Any:
        paths = nx.single_source_dijkstra_path(G, source, backend=backend)
        return lambda: [length(paths[node]) for node in nodes[:COMPARED]]

    asked = {
        "single_source_dijkstra_path_length": lambda backend: nx.single_source_dijkstra_path_length(
            G, source, backend=backend
        ),
        "single_source_dijkstra_path": of_paths,
        "single_source_shortest_path_length": lambda backend: nx.single_source_shortest_path_length(
            G, source, backend=backend
        ),
        f"dijkstra_path_length, {len(pairs)} pairs": of_pairs(nx.dijkstra_path_length),
        f"bidirectional_dijkstra, {len(pairs)} pairs": lambda backend: [
            found[0] for found in of_pairs(nx.bidirectional_dijkstra)(backend)
        ],
        f"has_path, {len(pairs)} pairs": of_pairs(nx.has_path),
    }
    if len(nodes) > FEW:
        return asked
    return asked | {
        "all_pairs_dijkstra_path_length": lambda backend: dict(
            nx.all_pairs_dijkstra_path_length(G, backend=backend)
        ),
        "closeness_centrality by weights": lambda backend: nx.closeness_centrality(
            G, distance="weight", backend=backend
        ),
        "eccentricity by weights": lambda backend: nx.eccentricity(
            G, weight="weight", backend=backend
        ),
    }


def measure(G: Any, ask: Callable[[str], Any], trials: int) -> dict[str, Any]:
    """Time one request in all three ways, in turn; return the seconds and whether all agree."""

    def call(backend: str) -> tuple[float, Any]:
        seconds, answer = time_call(lambda: ask(backend))
        return seconds, answer() if callable(answer) else answer

    call("sssp")
    times: dict[str, list[float]] = {"networkx": [], "first": [], "converted": []}
    equal = True
    for _ in range(trials):
        alone, expected = call("networkx")
        G.__networkx_cache__.clear()
        first, answer = call("sssp")
        converted, again = call("sssp")
        for way, one in zip(times.values(), (alone, first, converted), strict=True):
            way.append(one)
        equal = equal and answer == expected == again
    medians = {way: statistics.median(some) for way, some in times.items()}
    return {**medians, "equal": bool(equal)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if an answer differs from NetworkX's."""
    parser = make_parser(__doc__)
    parser.add_argument("--graph", default="USA-road-d.NY", metavar="NAME", help="a published one")
    parser.add_argument("--vertices", type=int, metavar="N", help="one that is made up instead")
    parser.add_argument("--trials", type=int, default=5)
    options = parser.parse_args(arguments)
    if options.vertices:
        graph: sssp.Graph | None = sssp.road_like(options.vertices, seed=SEED).largest_component()
    else:
        graph = real_graph(options.graph)
    if graph is None:
        return 1
    G = graph.to_networkx()
    nx.config.warnings_to_ignore.add("cache")
    settings = {
        "graph": repr(graph),
        "trials": options.trials,
        "networkx": nx.__version__,
        "threads": default_threads(),
    }
    listing = Listing(settings, HEADINGS, CELLS)
    for name, ask in questions(G).items():
        row = {"question": name, **measure(G, ask, options.trials)}
        alone, first, converted = (row[way] for way in ("networkx", "first", "converted"))
        gains = {"gain_once": alone / first, "gain": alone / converted}
        listing.add(row, alone=1e3 * alone, once=1e3 * first, again=1e3 * converted, **gains)
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
