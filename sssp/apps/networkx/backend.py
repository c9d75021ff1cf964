"""The backend ``sssp`` of NetworkX: its functions, and when they take a call.

NetworkX hands a call to ``sssp`` if it is asked to (``backend="sssp"``), or if it may choose
(``nx.config.backend_priority = ["sssp"]``) and the backend wants it. The graph is converted once
for each attribute and kept in ``G.__networkx_cache__``, which the methods of the graph clear. An
attribute that is changed in place, ``G[u][v]["weight"] = 9``, is not noticed: clear the cache
then, ``G.__networkx_cache__.clear()``.

Answers are those of NetworkX, in its types: exact ints from ints, floats that are added up along
the path, dicts in order of distance. Three things differ. Of several shortest paths it may be
another one; paths come as a read-only mapping that makes each one when it is asked for
(`sssp.apps.networkx.path_functions.Paths`); and what is added up along a whole path may differ in
its last digits from what NetworkX puts together of two halves (`bidirectional_dijkstra`) or by
matrices.

Goes back to NetworkX, which then goes on itself if it may choose: weights that are neither all
ints nor all floats (a missing one is the int 1), infinities and NaN, ints whose sums may not fit
int64, functions in place of weights, and Dijkstra's algorithm on negative weights.
"""

from __future__ import annotations

from sssp.apps.networkx.choice import can_run, should_run
from sssp.apps.networkx.converted import convert_from_nx, convert_to_nx
from sssp.apps.networkx.dense import (
    floyd_warshall,
    floyd_warshall_numpy,
    floyd_warshall_predecessor_and_distance,
)
from sssp.apps.networkx.generic import has_path, shortest_path, shortest_path_length
from sssp.apps.networkx.measures import closeness_centrality, diameter, eccentricity, radius
from sssp.apps.networkx.unweighted import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    bidirectional_shortest_path,
    predecessor,
    single_source_shortest_path,
    single_source_shortest_path_length,
    single_target_shortest_path,
    single_target_shortest_path_length,
)
from sssp.apps.networkx.weighted import (
    all_pairs_bellman_ford_path,
    all_pairs_bellman_ford_path_length,
    all_pairs_dijkstra,
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    bellman_ford_path,
    bellman_ford_path_length,
    bellman_ford_predecessor_and_distance,
    bidirectional_dijkstra,
    dijkstra_path,
    dijkstra_path_length,
    dijkstra_predecessor_and_distance,
    goldberg_radzik,
    johnson,
    multi_source_dijkstra,
    multi_source_dijkstra_path,
    multi_source_dijkstra_path_length,
    negative_edge_cycle,
    single_source_bellman_ford,
    single_source_bellman_ford_path,
    single_source_bellman_ford_path_length,
    single_source_dijkstra,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
)

__all__ = [
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bellman_ford_predecessor_and_distance",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "can_run",
    "closeness_centrality",
    "convert_from_nx",
    "convert_to_nx",
    "diameter",
    "dijkstra_path",
    "dijkstra_path_length",
    "dijkstra_predecessor_and_distance",
    "eccentricity",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "goldberg_radzik",
    "has_path",
    "johnson",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "negative_edge_cycle",
    "predecessor",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "should_run",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
]
