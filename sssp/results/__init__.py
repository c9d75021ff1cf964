"""What calls return, and sums along shortest-path trees."""

from sssp.results.facilities import NearestFacilities
from sssp.results.trees import ShortestPaths
from sssp.results.trip_results import Trips

__all__ = ["NearestFacilities", "ShortestPaths", "Trips"]
