"""What calls return, and sums along shortest-path trees."""

from sssp.results.nearest import NearestFacilities
from sssp.results.shortest_paths import ShortestPaths
from sssp.results.trips import Trips

__all__ = ["NearestFacilities", "ShortestPaths", "Trips"]
