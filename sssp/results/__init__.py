"""The results of calls, and sums along shortest-path trees."""

from sssp.results.facilities import NearestFacilities
from sssp.results.trees import ShortestPaths
from sssp.results.trip_results import Alternatives, Trips

__all__ = ["Alternatives", "NearestFacilities", "ShortestPaths", "Trips"]
