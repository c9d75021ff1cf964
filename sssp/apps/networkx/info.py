"""What NetworkX reads about the backend while it is being imported: so this imports nothing."""

from __future__ import annotations

from typing import Any

_LENGTHS = "The dict is in order of distance."
_PATHS = (
    "Paths are put together when they are asked for: their mapping is read-only,\n"
    "``dict(paths)`` or ``paths.copy()`` makes a dict of it."
)
_WEIGHTS = (
    "Weights are all ints, or all floats and finite; other graphs go back to NetworkX.\n"
    "Of several shortest paths it may be another one that comes back."
)
_NOT_NEGATIVE = f"{_WEIGHTS}\nGraphs with a negative weight go back to NetworkX as well."
_SUMS = "Sums of floats are those of single searches, which a matrix adds in another order."

#: every function that the backend has, and what its users should know
FUNCTIONS = {
    "all_pairs_bellman_ford_path": f"{_PATHS}\n{_WEIGHTS}",
    "all_pairs_bellman_ford_path_length": f"{_LENGTHS}\n{_WEIGHTS}",
    "all_pairs_dijkstra": f"{_LENGTHS}\n{_PATHS}\n{_NOT_NEGATIVE}",
    "all_pairs_dijkstra_path": f"{_PATHS}\n{_NOT_NEGATIVE}",
    "all_pairs_dijkstra_path_length": f"{_LENGTHS}\n{_NOT_NEGATIVE}",
    "all_pairs_shortest_path": _PATHS,
    "all_pairs_shortest_path_length": _LENGTHS,
    "bellman_ford_path": _WEIGHTS,
    "bellman_ford_path_length": _WEIGHTS,
    "bellman_ford_predecessor_and_distance": f"{_LENGTHS}\n{_WEIGHTS}",
    "bidirectional_dijkstra": f"One search from the source.\n{_NOT_NEGATIVE}",
    "bidirectional_shortest_path": "One search from the source.",
    "closeness_centrality": _NOT_NEGATIVE,
    "diameter": f"Without ``e`` and ``usebounds``.\n{_NOT_NEGATIVE}",
    "dijkstra_path": _NOT_NEGATIVE,
    "dijkstra_path_length": _NOT_NEGATIVE,
    "dijkstra_predecessor_and_distance": f"{_LENGTHS}\n{_NOT_NEGATIVE}",
    "eccentricity": f"Without ``sp``.\n{_NOT_NEGATIVE}",
    "floyd_warshall": f"{_LENGTHS}\n{_WEIGHTS}\n{_SUMS}",
    "floyd_warshall_numpy": f"{_WEIGHTS}\n{_SUMS}",
    "floyd_warshall_predecessor_and_distance": f"{_LENGTHS}\n{_WEIGHTS}\n{_SUMS}",
    "goldberg_radzik": f"{_LENGTHS}\n{_WEIGHTS}",
    "has_path": "One search from the source.",
    "johnson": f"{_PATHS}\n{_WEIGHTS}",
    "multi_source_dijkstra": f"{_LENGTHS}\n{_PATHS}\n{_NOT_NEGATIVE}",
    "multi_source_dijkstra_path": f"{_PATHS}\n{_NOT_NEGATIVE}",
    "multi_source_dijkstra_path_length": f"{_LENGTHS}\n{_NOT_NEGATIVE}",
    "negative_edge_cycle": f"The graph is not touched.\n{_WEIGHTS}",
    "predecessor": "One search from the source.",
    "radius": f"Without ``e`` and ``usebounds``.\n{_NOT_NEGATIVE}",
    "shortest_path": f"{_PATHS}\n{_WEIGHTS}",
    "shortest_path_length": f"{_LENGTHS}\n{_WEIGHTS}",
    "single_source_bellman_ford": f"{_LENGTHS}\n{_PATHS}\n{_WEIGHTS}",
    "single_source_bellman_ford_path": f"{_PATHS}\n{_WEIGHTS}",
    "single_source_bellman_ford_path_length": f"{_LENGTHS}\n{_WEIGHTS}",
    "single_source_dijkstra": f"{_LENGTHS}\n{_PATHS}\n{_NOT_NEGATIVE}",
    "single_source_dijkstra_path": f"{_PATHS}\n{_NOT_NEGATIVE}",
    "single_source_dijkstra_path_length": f"{_LENGTHS}\n{_NOT_NEGATIVE}",
    "single_source_shortest_path": _PATHS,
    "single_source_shortest_path_length": _LENGTHS,
    "single_target_shortest_path": _PATHS,
    "single_target_shortest_path_length": _LENGTHS,
}


def get_info() -> dict[str, Any]:
    """Return the name of the backend and its functions, as NetworkX wants them."""
    return {
        "backend_name": "sssp",
        "project": "sssp",
        "package": "sssp",
        "short_summary": "Exact shortest paths on road networks, compiled, on all cores.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
