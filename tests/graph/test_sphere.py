"""The nearest vertex of points: on the sphere, in metres, within a distance; odd points."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas
import pytest

from sssp import datasets
from sssp.graph.graph import Graph
from sssp.loaders import read_co

RADIUS = 6371.0088e3


def graph_at(*coordinates: tuple[float, float]) -> Graph:
    return Graph.from_arcs([], [], [], coordinates=np.array(coordinates, float))


@pytest.fixture
def towns() -> Graph:
    """Amsterdam, Brussels, Cologne."""
    return graph_at((4.9, 52.37), (4.35, 50.85), (6.96, 50.94))


def haversine(lon: Any, lat: Any, lons: Any, lats: Any) -> Any:
    lon, lat, lons, lats = map(np.radians, (lon, lat, lons, lats))
    chord = np.sin((lats - lat) / 2) ** 2 + np.cos(lat) * np.cos(lats) * (
        np.sin((lons - lon) / 2) ** 2
    )
    return 2 * np.arcsin(np.sqrt(chord))


def test_the_nearest_vertex_is_nearest_on_the_sphere() -> None:
    random = np.random.default_rng(1)
    # All over the world, and crowded at the date line and a pole.
    world = np.stack([random.uniform(-180, 180, 300), random.uniform(-90, 90, 300)], axis=1)
    east, west = random.uniform(179, 180, 50), random.uniform(-180, -179, 50)
    date_line = np.stack([np.append(east, west), random.uniform(-1, 1, 100)], axis=1)
    pole = np.stack([random.uniform(-180, 180, 50), random.uniform(88, 90, 50)], axis=1)
    points = np.concatenate([world, date_line, pole])
    vertices, queries = points[::2], points[1::2]
    g = Graph.from_arcs([], [], [], coordinates=vertices)
    found = g.nearest_vertex(queries[:, 0], queries[:, 1])
    distances = haversine(*queries.T[:, :, None], *vertices.T)
    np.testing.assert_array_equal(found, distances.argmin(axis=1))
    assert g.nearest_vertex(*queries[3]) == found[3]
    assert type(g.nearest_vertex(*queries[3])) is int


def test_nearest_vertex_broadcasts_and_says_what_it_needs() -> None:
    g = Graph.from_arcs([], [], [], coordinates=[[179.9, 0.0], [170.0, 0.0]])
    assert g.nearest_vertex(-179.9, [0.0, 1.0]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="finite"):
        g.nearest_vertex(math.inf, 0)
    with pytest.raises(TypeError, match="lat must not be a masked array"):
        g.nearest_vertex([1.0], np.ma.array([1.0], mask=[True]))
    with pytest.raises(ValueError, match="coordinates="):
        Graph.from_arcs([0], [1], [1]).nearest_vertex(0, 0)


def test_distances_are_metres_on_the_sphere(towns: Graph) -> None:
    vertex, metres = towns.nearest_vertex(4.9, 51.37, distance=True)
    assert (vertex, type(vertex), type(metres)) == (1, int, float)
    assert metres == pytest.approx(RADIUS * haversine(4.9, 51.37, 4.35, 50.85))
    assert towns.nearest_vertex(4.9, 53.37, distance=True)[1] == pytest.approx(
        RADIUS * math.pi / 180
    ), "a degree of a meridian"
    points = np.random.default_rng(2).uniform((3, 50), (8, 54), (5, 40, 2))
    vertices, distances = towns.nearest_vertex(points[..., 0], points[..., 1], distance=True)
    assert vertices.shape == distances.shape == (5, 40)
    assert (str(vertices.dtype), str(distances.dtype)) == ("int64", "float64")
    assert towns.coordinates is not None
    expected = haversine(*np.moveaxis(points, -1, 0)[..., None], *towns.coordinates.T)
    np.testing.assert_allclose(distances, RADIUS * expected.min(axis=-1))
    np.testing.assert_array_equal(vertices, expected.argmin(axis=-1))
    for place in [(0, 0), (4, 39)]:
        one = towns.nearest_vertex(*points[place], distance=True)
        assert one == (vertices[place], distances[place])
    assert towns.nearest_vertex([], [], distance=True)[1].shape == (0,)
    _, little = graph_at((0, 0)).nearest_vertex(1e-9, 0.0, distance=True)
    assert little == pytest.approx(RADIUS * math.radians(1e-9)), "precise near by"


def test_beyond_max_distance_there_is_no_vertex(towns: Graph) -> None:
    lons, lats = [4.9, 4.9, 4.35, 7.5], [52.37, 52.4, 50.8, 52.0]
    vertices, metres = towns.nearest_vertex(lons, lats, distance=True)
    for bound in (0.0, metres[1], np.nextafter(metres[2], 0), metres[2], 1e9, math.inf):
        found, distances = towns.nearest_vertex(lons, lats, distance=True, max_distance=bound)
        near = metres <= bound
        np.testing.assert_array_equal(found, np.where(near, vertices, -1))
        np.testing.assert_array_equal(distances, np.where(near, metres, np.inf))
        np.testing.assert_array_equal(towns.nearest_vertex(lons, lats, max_distance=bound), found)
    assert towns.nearest_vertex(7.5, 52.0, max_distance=1000) == -1
    assert towns.nearest_vertex(7.5, 52.0, distance=True, max_distance=1000) == (-1, math.inf)
    for wrong in (-1, math.nan):
        with pytest.raises(ValueError, match="max_distance must be a number of metres"):
            towns.nearest_vertex(4, 52, max_distance=wrong)


@pytest.mark.parametrize(
    ("lon", "lat", "message"),
    [
        (math.inf, 0, r"finite numbers; the point is \(inf, 0.0\)"),
        ([4, math.nan, math.nan], [52, 52, 52], r"2 of 3 points are not: row 1 is \(nan, 52.0\)"),
        (pandas.Series([4.0, None]), 52, r"1 of 2 .* row 1 is \(nan, 52.0\)"),
        ([[4, 4], [math.nan, 4]], 52, r"row \(1, 0\) is"),
        ([4, 5, 6], [52, 52, 520], r"degrees, longitude first; 1 of 3 .* row 2 is \(6.0, 520.0\)"),
        (34.05, -118.24, "longitude first"),
        (600_000, 50, "degrees"),
    ],
)
def test_points_that_are_none_are_refused_with_their_row(
    towns: Graph, lon: Any, lat: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        towns.nearest_vertex(lon, lat)


def test_a_graph_whose_coordinates_are_no_degrees_is_told_so() -> None:
    g = graph_at((456_000, 5_200_000), (457_000, 5_201_000))
    with pytest.raises(ValueError, match=r"456000 to 457000 and .* are no degrees"):
        g.nearest_vertex(8.5, 47.4)


def test_points_all_far_outside_warn(towns: Graph) -> None:
    with pytest.warns(UserWarning, match=r"all 2 points .* 4.35 to 6.96 .* swapped\?") as caught:
        towns.nearest_vertex([52.1, 51.0], [4.9, 5.0])
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the point lies far outside .* swapped"):
        towns.nearest_vertex(52.1, 4.9, max_distance=1000)
    with pytest.warns(UserWarning, match="another region"):
        towns.nearest_vertex(8.5, 40.0)


def test_points_around_the_graph_do_not_warn(towns: Graph) -> None:
    fiji = graph_at((179.5, -18), (-179.5, -17))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        towns.nearest_vertex([52.1, 4.0], [4.9, 52.0])
        towns.nearest_vertex(3.0, 49.0)
        graph_at((4.9, 52.37)).nearest_vertex(4.5, 52.0)
        towns.nearest_vertex([], [])
        assert graph_at((-74, 40.7), (-73.9, 40.8)).nearest_vertex(286.05, 40.8) == 1
        assert fiji.nearest_vertex([181.0, -181.0], -17.5).tolist() == [1, 0]


def test_points_of_a_real_graph_find_their_vertices() -> None:
    path = datasets.find("USA-road-d.NY.co")
    if path is None:
        pytest.skip("USA-road-d.NY.co is not on this machine")
    coordinates = read_co(path)
    g = Graph.from_arcs([], [], [], coordinates=coordinates)
    random = np.random.default_rng(3)
    points = random.uniform(coordinates.min(0), coordinates.max(0), (60, 2))
    points[:30] = random.choice(coordinates, 30) + random.normal(0, 1e-3, (30, 2))
    vertices, metres = g.nearest_vertex(
        points[:, 0], points[:, 1], distance=True, max_distance=3000
    )
    best = np.array([RADIUS * haversine(*point, *coordinates.T).min() for point in points])
    np.testing.assert_array_equal(vertices >= 0, best <= 3000)
    assert 30 < np.count_nonzero(vertices < 0) + 30 < 60
    np.testing.assert_allclose(metres[vertices >= 0], best[best <= 3000], atol=1e-6)
