"""What calls return, and sums along shortest-path trees."""

from sssp.results.shortest_paths import ShortestPaths

__all__ = ["ShortestPaths"]
