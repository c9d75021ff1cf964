"""NetworkX by itself and through our backend: the same questions, in turn, in one run.

    python -m bench.backend [--graph USA-road-d.NY | --vertices 2000] [--trials 5] [--json FILE]

Each question is asked of NetworkX alone, of the backend with a graph that is not converted yet
(a first call, but for imports and compilation), and with one that is. Times are medians; answers
are compared, paths by their lengths.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import sssp
from bench.common import SEED, Record, options_of, real_graph
from sssp.engine.threads import default_threads

__all__ = ["main"]

# (its stubs give every function a type of its own)
nx: Any = import_module("networkx")

#: of the nodes of a graph, those between which single paths are asked for
PAIRS = ((0.5, 0.1), (0.5, 0.9), (0.3, 0.7))
#: paths are compared for this many nodes
COMPARED = 20
#: most nodes of a graph of which all pairs are asked for
FEW = 3000


@dataclass
class Figure:
    """Seconds that one question took, in three ways."""

    question: str
    networkx: float
    first: float
    converted: float
    equal: bool


def questions(G: Any) -> dict[str, Callable[[str], Any]]:
    """Return what is asked: a function of the backend's name gives an answer to compare."""
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


def measured(G: Any, name: str, ask: Callable[[str], Any], trials: int) -> Figure:
    """Ask one question in all three ways, in turn."""

    def seconds(backend: str) -> tuple[float, Any]:
        start = time.perf_counter()
        answer = ask(backend)
        return time.perf_counter() - start, answer() if callable(answer) else answer

    seconds("sssp")
    times: dict[str, list[float]] = {"networkx": [], "first": [], "converted": []}
    equal = True
    for _ in range(trials):
        alone, expected = seconds("networkx")
        G.__networkx_cache__.clear()
        first, answer = seconds("sssp")
        converted, again = seconds("sssp")
        for way, one in zip(times.values(), (alone, first, converted), strict=True):
            way.append(one)
        equal = equal and answer == expected == again
    medians = {way: statistics.median(some) for way, some in times.items()}
    return Figure(name, **medians, equal=equal)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if an answer is another one than NetworkX's."""
    parser = options_of(__doc__)
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
    record = Record(settings, ("question", "NetworkX, ms", "first call", "converted", "equal"))
    for name, ask in questions(G).items():
        figure = measured(G, name, ask, options.trials)
        ways = (figure.first, figure.converted)
        cells = [f"{1e3 * one:.1f} ({figure.networkx / one:.1f}x)" for one in ways]
        verdict = "yes" if figure.equal else "NO"
        record.add([figure], (name, f"{1e3 * figure.networkx:.1f}", *cells, verdict))
    return record.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
