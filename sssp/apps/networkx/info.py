"""The metadata of the backend; NetworkX reads it during its own import, so this imports nothing."""

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
_ONE_SEARCH = "One search from the source."
_SUMS = "Sums of floats are those of single searches, which a matrix adds in another order."

#: what users of a function should know, line by line, and the functions
_NOTES: dict[tuple[str, ...], str] = {
    (_PATHS, _WEIGHTS): "all_pairs_bellman_ford_path johnson shortest_path "
    "single_source_bellman_ford_path",
    (_LENGTHS, _WEIGHTS): "all_pairs_bellman_ford_path_length goldberg_radzik shortest_path_length "
    "bellman_ford_predecessor_and_distance single_source_bellman_ford_path_length",
    (_LENGTHS, _PATHS, _NOT_NEGATIVE): "all_pairs_dijkstra multi_source_dijkstra "
    "single_source_dijkstra",
    (_PATHS, _NOT_NEGATIVE): "all_pairs_dijkstra_path multi_source_dijkstra_path "
    "single_source_dijkstra_path",
    (_LENGTHS, _NOT_NEGATIVE): "all_pairs_dijkstra_path_length dijkstra_predecessor_and_distance "
    "multi_source_dijkstra_path_length single_source_dijkstra_path_length",
    (_PATHS,): "all_pairs_shortest_path single_source_shortest_path single_target_shortest_path",
    (_LENGTHS,): "all_pairs_shortest_path_length single_source_shortest_path_length "
    "single_target_shortest_path_length",
    (_WEIGHTS,): "bellman_ford_path bellman_ford_path_length",
    (_ONE_SEARCH, _NOT_NEGATIVE): "bidirectional_dijkstra",
    (_ONE_SEARCH,): "bidirectional_shortest_path has_path predecessor",
    (_NOT_NEGATIVE,): "closeness_centrality dijkstra_path dijkstra_path_length",
    ("Without ``e`` and ``usebounds``.", _NOT_NEGATIVE): "diameter radius",
    ("Without ``sp``.", _NOT_NEGATIVE): "eccentricity",
    (_LENGTHS, _WEIGHTS, _SUMS): "floyd_warshall floyd_warshall_predecessor_and_distance",
    (_WEIGHTS, _SUMS): "floyd_warshall_numpy",
    ("The graph is not touched.", _WEIGHTS): "negative_edge_cycle",
    (_LENGTHS, _PATHS, _WEIGHTS): "single_source_bellman_ford",
}
#: every function that the backend has, and what its users should know
FUNCTIONS = {
    name: "\n".join(lines) for lines, names in _NOTES.items() for name in sorted(names.split())
}


def get_info() -> dict[str, Any]:
    """Return the name of the backend and its functions, in the form that NetworkX reads."""
    return {
        "backend_name": "sssp",
        "project": "sssp",
        "package": "sssp",
        "short_summary": "Exact shortest paths on road networks, compiled, on all cores.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
