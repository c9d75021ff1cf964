"""Points on the sphere: nearest vertices and distances."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sssp.graph.check_arrays import is_real, refuse_mask
from sssp.kernels.dtypes import FLOAT64, INT64, Array

#: metres; the mean radius R1 of the ellipsoid WGS 84
EARTH_RADIUS = 6_371_008.8
#: what to do where a graph has no coordinates
HOW_TO_LOCATE = (
    "give them as read_graph(path, coordinates='....co.gz'), from_arcs(..., coordinates=...) or "
    "from_dataframe(..., nodes=...) with columns lon and lat"
)
#: points this far outside the box of a graph are odd, however small it is; in degrees
FAR = 1.0
#: what a bound of the search tree, which is exclusive, needs to be inclusive after rounding
SLACK = 1e-12
#: in degrees; longitudes may count from -180 or from 0
MOST_LONGITUDE, MOST_LATITUDE = 360, 90


class Box(NamedTuple):
    """A box of longitudes and latitudes in degrees."""

    west: float
    south: float
    east: float
    north: float

    @property
    def extent(self) -> float:
        """Length of the longer side of the box, in degrees."""
        return max(self.east - self.west, self.north - self.south)

    def holds(self, lon: Array, lat: Array, margin: float) -> Any:
        """Return a mask of points in the box widened by `margin` degrees on all sides."""
        eastward = (lon - self.west + margin) % 360
        inside = eastward <= self.east - self.west + 2 * margin
        return inside & (lat >= self.south - margin) & (lat <= self.north + margin)

    def __str__(self) -> str:
        west, south, east, north = (f"{side:.6g}" for side in self)
        return f"longitude {west} to {east} and latitude {south} to {north}"


class Sphere:
    """A KD-tree of vertices on the unit sphere, to find the nearest vertex of a point.

    Parameters
    ----------
    coordinates : ndarray of float64, shape (n, 2)
        Longitude and latitude in degrees; n > 0.

    Raises
    ------
    ValueError
        They are no degrees.
    """

    def __init__(self, coordinates: Array) -> None:
        self.size = len(coordinates)
        self.box = require_degrees(coordinates)
        self.tree = _tree(_on_unit_sphere(*coordinates.T))

    def nearest(self, lon: Array, lat: Array, max_distance: float) -> tuple[Array, Array]:
        """Return the nearest vertex of every point and its distance in metres.

        Farther than `max_distance` there is none: -1, at distance inf.
        """
        if not is_real(max_distance):
            raise TypeError(f"max_distance must be a number of metres, not {max_distance!r}")
        if not max_distance >= 0:
            raise ValueError(f"max_distance must be a number of metres >= 0, not {max_distance!r}")
        places = _on_unit_sphere(lon.ravel(), lat.ravel())
        # neighbours one after the other find what they need in the cache
        order = _tree(places).indices if len(places) > 1 else slice(None)
        bound = 2 * np.sin(min(max_distance / EARTH_RADIUS, np.pi) / 2) + SLACK
        chords, vertices = np.empty(len(places)), np.empty(len(places), INT64)
        chords[order], vertices[order] = self.tree.query(places[order], distance_upper_bound=bound)
        metres = _metres_of(chords)
        none = (vertices == self.size) | (metres > max_distance)
        vertices[none], metres[none] = -1, np.inf
        return vertices.reshape(lon.shape), metres.reshape(lon.shape)

    def warn_if_far(self, lon: Array, lat: Array, stacklevel: int) -> None:
        """Warn if all points are far outside the graph, as when lon and lat are swapped."""
        margin = max(self.box.extent, FAR)
        if lon.size == 0 or self.box.holds(lon, lat, margin).any():
            return
        what = "the point lies" if lon.size == 1 else f"all {lon.size} points lie"
        swapped = self.box.holds(lat, lon, margin).any()
        why = "are they swapped? longitude comes first" if swapped else "is it another region?"
        warnings.warn(
            f"{what} far outside the graph of {self.box}: the first is at longitude "
            f"{lon.flat[0]:.6g}, latitude {lat.flat[0]:.6g}; {why}",
            UserWarning,
            stacklevel=stacklevel,
        )


def points_of(lon: ArrayLike, lat: ArrayLike) -> tuple[Array, Array]:
    """Check longitudes and latitudes in degrees; return them broadcast to one shape.

    Raises
    ------
    ValueError
        Not finite, or no degrees; the message names the first.
    TypeError
        A masked array.
    """
    refuse_mask(lon, "lon")
    refuse_mask(lat, "lat")
    lons, lats = np.broadcast_arrays(np.asarray(lon, FLOAT64), np.asarray(lat, FLOAT64))
    for right, demand in (
        (np.isfinite(lons) & np.isfinite(lats), "must be finite numbers"),
        (are_degrees(lons, lats), "must be degrees, longitude first"),
    ):
        if right.all():
            continue
        first, what = int(np.argmin(right)), "the point"
        if right.ndim:
            row = tuple(map(int, np.unravel_index(first, right.shape))) if right.ndim > 1 else first
            what = f"{np.count_nonzero(~right)} of {right.size} points are not: row {row}"
        point = float(lons.flat[first]), float(lats.flat[first])
        raise ValueError(f"lon and lat {demand}; {what} is {point}")
    return lons, lats


def mercator(degrees: Array) -> Array:
    """Project longitudes and latitudes, shape (k, 2), to Mercator coordinates in metres."""
    lon, lat = np.radians(degrees).T
    return EARTH_RADIUS * np.stack([lon, np.arcsinh(np.tan(lat))], axis=1)


def locate_vertices(graph: Any, otherwise: str) -> tuple[Array, Box]:
    """Return the coordinates of a graph, shape (n, 2), and the box around them.

    Raises
    ------
    ValueError
        There are none (the message goes on with `otherwise`), or they are no degrees.
    """
    if graph.coordinates is None:
        raise ValueError(f"this graph has no coordinates{otherwise}; {HOW_TO_LOCATE}")
    return graph.coordinates, require_degrees(graph.coordinates)


def require_degrees(coordinates: Array) -> Box:
    """Raise if coordinates, shape (n, 2), are not degrees; else return the box around them.

    Raises
    ------
    ValueError
        They are no degrees.
    """
    if not len(coordinates):
        return Box(0, 0, 0, 0)
    box = Box(*coordinates.min(axis=0).tolist(), *coordinates.max(axis=0).tolist())
    if not are_degrees(*coordinates.T).all():
        raise ValueError(
            f"the coordinates of this graph, {box}, are no degrees, longitude first; if they are "
            "projected, make the graph with degrees"
        )
    return box


def metres_between(degrees: Array, starts: Array, ends: Array) -> Array:
    """Return the great-circle distances in metres from points `starts` to points `ends`."""
    places = _on_unit_sphere(*degrees.T)
    return _metres_of(np.linalg.norm(places[starts] - places[ends], axis=1))


def _metres_of(chords: Array) -> Array:
    return 2 * EARTH_RADIUS * np.arcsin(np.minimum(chords / 2, 1))


def are_degrees(lon: Array, lat: Array) -> Any:
    """Return a mask: True where a point is a possible longitude and latitude in degrees."""
    return (np.abs(lon) <= MOST_LONGITUDE) & (np.abs(lat) <= MOST_LATITUDE)


def _on_unit_sphere(lon: Array, lat: Array) -> Array:
    """Convert points in degrees to points on the unit sphere, shape (k, 3)."""
    longitude, latitude = np.radians(lon), np.radians(lat)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def _tree(places: Array) -> Any:
    from scipy.spatial import cKDTree

    # cells instead of tight boxes, halved instead of balanced: built in half the time, and points
    # in empty country (a bay) are found as fast as those beside a vertex, not in thrice the time
    return cKDTree(places, balanced_tree=False, compact_nodes=False)
