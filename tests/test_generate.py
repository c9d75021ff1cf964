"""The built-in graph: New York's proportions, exact size, one graph per seed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, dijkstra

from sssp import datasets
from sssp.datasets.generate import road_like
from sssp.graph.reading import read_graph

NEW_YORK_N = 264_346

#: property: New York's figure, and how far from it a road-like graph of that size may be
NEW_YORK = {
    "arcs per vertex": (2.762, 0.05 * 2.762),
    "share of out-degree 1": (0.156, 0.05),
    "share of out-degree 2": (0.153, 0.05),
    "share of out-degree 3": (0.471, 0.05),
    "share of out-degree 4": (0.216, 0.05),
    "weight, 5% percentile": (288, 0.3 * 288),
    "weight, lower quartile": (687, 0.2 * 687),
    "weight, median": (951, 0.2 * 951),
    "weight, upper quartile": (1615, 0.2 * 1615),
    "weight, 95% percentile": (3041, 0.2 * 3041),
    "arcs between vertices of out-degree 2": (0.030, 0.01),
    "greatest hop count from n // 2": (448, 100),
    "greatest distance from n // 2": (1_051_459, 0.3 * 1_051_459),
    "|tail - head|, median": (4, 4),
    "|tail - head|, 90% percentile": (445, 0.3 * 445),
    "|tail - head|, 99% percentile": (17_578, 0.3 * 17_578),
}


def portrait(g):
    """The figures of `NEW_YORK`, measured."""
    degrees = np.diff(g.indptr)
    tails = np.repeat(np.arange(g.n), degrees)
    weights = np.percentile(g.weights, [5, 25, 50, 75, 95])
    gaps = np.percentile(np.abs(tails - g.indices), [50, 90, 99])
    matrix, source = g.to_scipy(), g.n // 2
    figures = [
        g.m / g.n,
        *((degrees == k).mean() for k in (1, 2, 3, 4)),
        *weights,
        ((degrees[tails] == 2) & (degrees[g.indices] == 2)).mean(),
        dijkstra(matrix, indices=source, unweighted=True).max(),
        dijkstra(matrix, indices=source).max(),
        *gaps,
    ]
    return dict(zip(NEW_YORK, map(float, figures), strict=True))


def checksum(g):
    arrays = (g.indptr, "<i8"), (g.indices, "<i4"), (g.weights, "<i4"), (g.coordinates, "<f8")
    return zlib.crc32(b"".join(array.astype(kind).tobytes() for array, kind in arrays))


def is_strongly_connected(g):
    count, _ = connected_components(g.to_scipy(), directed=True, connection="strong")
    return count <= 1


def straight_lines(g):
    """Great-circle length of every arc in decimetres, on a sphere 40,000 km around."""
    tails = np.repeat(np.arange(g.n), np.diff(g.indptr))
    start, end = np.radians(g.coordinates[tails]), np.radians(g.coordinates[g.indices])
    half_chord = (
        np.sin((end[:, 1] - start[:, 1]) / 2) ** 2
        + np.cos(start[:, 1]) * np.cos(end[:, 1]) * np.sin((end[:, 0] - start[:, 0]) / 2) ** 2
    )
    return 4e8 / np.pi * np.arcsin(np.sqrt(half_chord))


@pytest.fixture(scope="module")
def as_large_as_new_york():
    return road_like(NEW_YORK_N)


def test_proportions_are_close_to_those_of_new_york(as_large_as_new_york):
    measured = portrait(as_large_as_new_york)
    print(f"\n{'':40}{'New York':>12}{'road_like':>12}")
    for name, (wanted, _) in NEW_YORK.items():
        print(f"{name:40}{wanted:12,.10g}{measured[name]:12,.4g}")
    for name, (wanted, tolerance) in NEW_YORK.items():
        assert measured[name] == pytest.approx(wanted, abs=tolerance), name
    assert 350 <= measured["greatest hop count from n // 2"] <= 650


def test_the_figures_given_for_new_york_are_right():
    path = datasets.find("USA-road-d.NY")
    if path is None:
        pytest.skip("USA-road-d.NY.gr is not on this machine")
    measured = portrait(read_graph(path))
    for name, (figure, _) in NEW_YORK.items():
        assert measured[name] == pytest.approx(figure, abs=0.0005, rel=0.0002), name


def test_weights_are_the_straight_lines_between_the_coordinates(as_large_as_new_york):
    g = as_large_as_new_york
    lines = straight_lines(g)
    assert np.all(g.weights >= lines)
    # rounding up adds 1, a degree of longitude a little off the equator is shorter
    assert np.all(g.weights <= 1.0001 * lines + 2)


def test_coordinates_fill_a_square_around_the_origin(as_large_as_new_york):
    coordinates = as_large_as_new_york.coordinates
    assert coordinates.shape == (NEW_YORK_N, 2)
    assert np.all(np.abs(coordinates) < 0.4)
    counts, _, _ = np.histogram2d(coordinates[:, 0], coordinates[:, 1], bins=10)
    assert counts.min() > 0
    assert counts.max() > 5 * counts.min()  # cities and open country


@pytest.mark.parametrize("n", [*range(51), 997, 4096, 12_345, 65_537])
def test_a_graph_has_exactly_n_vertices_and_is_a_connected_simple_road_map(n):
    for seed in (0, 1):
        g = road_like(n, seed)
        assert g.n == n
        assert is_strongly_connected(g)
        assert g.parallel_arcs == g.self_loops == 0
        assert g.weights.dtype == np.int32
        assert n < 2 or g.weights.min() > 0
        assert np.array_equal(g.reverse().indices, g.indices)
        assert np.array_equal(g.reverse().weights, g.weights)
        assert np.diff(g.indptr).max(initial=0) <= 4


def test_a_large_graph_is_strongly_connected(as_large_as_new_york):
    assert is_strongly_connected(as_large_as_new_york)


def test_the_same_graph_comes_out_everywhere():
    assert checksum(road_like(5000, 7)) == 1014119251


def test_seeds_make_different_graphs_and_a_call_repeats_itself():
    sums = [checksum(road_like(2000, seed)) for seed in (0, 1, 2, 3)]
    assert len(set(sums)) == 4
    assert checksum(road_like(np.int32(2000), np.uint64(3))) == sums[3]
    assert checksum(road_like(2000)) == sums[0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1,), ValueError, "0 to 536870912 vertices, not -1"),
        ((1 << 30,), ValueError, "not 1073741824"),
        ((10, -3), ValueError, "seed must not be negative: -3"),
        ((10.0,), TypeError, "float"),
        ((10, None), TypeError, "NoneType"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        road_like(*arguments)
