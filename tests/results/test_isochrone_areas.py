"""Areas of isochrones and of facilities, beside a fine raster of the same definition."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.graph.drawing import street_arcs
from sssp.results import isochrone_areas as areas_module

shapely = pytest.importorskip("shapely")
pytest.importorskip("geopandas")

#: metres of a degree of latitude, on the sphere
DEGREE = math.radians(6_371_008.8)
#: where the town lies, in degrees; its east is shorter than its north
LON, LAT = 8.5, 47.0
SHRINK = math.cos(math.radians(LAT))


def town(metres: Any, *arcs: tuple[int, int, float], **options: Any) -> sssp.Graph:
    """Return a graph of places in metres around one place."""
    places = np.asarray(metres, float).reshape(-1, 2)
    degrees = places / DEGREE / (SHRINK, 1) + (LON, LAT)
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ([], [], [])
    return sssp.Graph.from_arcs(
        tails, heads, weights, n=len(places), coordinates=degrees, **options
    )


def coordinates_of(g: sssp.Graph) -> Any:
    return g.coordinates


def in_metres(area: Any) -> Any:
    return shapely.transform(area, lambda degrees: (degrees - (LON, LAT)) * DEGREE * (SHRINK, 1))


def square_metres(areas: Any) -> list[float]:
    return [in_metres(area).area for area in areas.geometry]


def reached_parts(
    g: sssp.Graph, metres: np.ndarray, distances: list[float], limit: float
) -> list[tuple[Any, Any, int]]:
    """Walk down every arc by itself; yield the ends of what is reached, and from which vertex."""
    parts = [(place, place, v) for v, place in enumerate(metres) if distances[v] <= limit]
    for arc in range(g.m):
        tail, head, weight = int(g.tails[arc]), int(g.indices[arc]), g.weights[arc].item()
        left = limit - distances[tail]
        if left >= 0:
            share = 1.0 if weight <= left else left / weight
            end = metres[tail] + share * (metres[head] - metres[tail])
            parts.append((metres[tail], end, tail))
    return parts


def raster(parts: list[Any], least: np.ndarray, most: np.ndarray, step: float) -> Any:
    """Return the centres of fine cells, and how far they are from the nearest part."""
    x = np.arange(least[0], most[0], step) + step / 2
    y = np.arange(least[1], most[1], step) + step / 2
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    found = np.full(len(points), np.inf)
    for start, end, _ in parts:
        way = end - start
        square = (way @ way) or 1.0
        along = np.clip((points - start) @ way / square, 0, 1)
        found = np.minimum(found, np.hypot(*(points - start - along[:, None] * way).T))
    return points, found


#: up to seven crossings in a square of 600 metres, and streets between them
towns = st.builds(
    lambda places, arcs: (
        30.0 * np.array(places),
        [(u % len(places), v % len(places), w) for u, v, w in arcs],
    ),
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=7, unique=True
    ),
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 12)), min_size=1, max_size=12
    ),
)


@settings(max_examples=25)
@given(towns, st.sampled_from([40.0, 60.0, 110.0]), st.booleans())
def test_areas_are_what_a_fine_raster_shows(drawn: Any, width: float, directed: bool) -> None:
    metres, arcs = drawn
    g = town(metres, *arcs, directed=directed)
    result = sssp.shortest_paths(g, 0)
    distances = result.to_float().tolist()
    limits = [3, 8, 20]
    areas = result.isochrone_areas(limits, width=width)
    assert areas.crs == "EPSG:4326"
    assert areas["limit"].tolist() == limits
    assert areas.is_valid.all()
    for limit, area in zip(limits, areas.geometry, strict=True):
        parts = reached_parts(g, metres, distances, limit)
        step = width / 20
        points, apart = raster(parts, metres.min(axis=0) - width, metres.max(axis=0) + width, step)
        assert in_metres(area).area == pytest.approx((apart <= width).sum() * step**2, rel=0.012)
        # no point lies farther away than the width, but for the grid in corners between streets
        inside = shapely.contains_xy(in_metres(area), *points.T)
        assert (apart[inside] <= width * (1 + areas_module.SPACING)).all()
        assert inside[apart <= width * (1 - areas_module.SPACING)].all()
        reached = np.array(distances) <= limit
        assert shapely.contains_xy(area, *coordinates_of(g)[reached].T).all()
    for inner, outer in zip(areas.geometry[:-1], areas.geometry[1:], strict=True):
        assert outer.covers(inner)
    rings = result.isochrone_areas(limits, width=width, rings=True)
    assert rings.is_valid.all()
    grown = np.diff(square_metres(areas), prepend=0)
    assert square_metres(rings) == pytest.approx(grown.tolist(), abs=1)


def test_a_street_is_cut_where_the_limit_falls_on_it() -> None:
    g = town([[0, 0], [1000, 0]], (0, 1, 10))
    areas = sssp.shortest_paths(g, 0).isochrone_areas([0, 4, 10], width=50)
    dot = math.pi * 50**2
    assert square_metres(areas) == pytest.approx([dot, dot + 400 * 100, dot + 1000 * 100], rel=0.01)
    [left, low, right, high] = in_metres(areas.geometry[1]).bounds
    assert (left, low, right, high) == pytest.approx((-50, -50, 450, 50), abs=1)


def test_nobody_enters_a_one_way_street_from_its_end() -> None:
    g = town([[0, 0], [1000, 0], [500, 800]], (1, 0, 10), (0, 2, 5))
    r = sssp.shortest_paths(g, 0)
    [area] = r.isochrone_areas([5], width=50).geometry
    assert in_metres(area).bounds[2] == pytest.approx(550, abs=2)
    closed = g.without_arcs(g.arcs([0], [2]))
    [area] = sssp.shortest_paths(closed, 0).isochrone_areas([5], width=50).geometry
    assert in_metres(area).bounds == pytest.approx((-50, -50, 50, 50), abs=1)


def test_blocks_narrower_than_twice_the_width_are_filled() -> None:
    square = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)]
    g = town([[0, 0], [200, 0], [200, 200], [0, 200]], *square, directed=False)
    r = sssp.shortest_paths(g, 0)
    [block] = r.isochrone_areas([4], width=60).geometry
    assert [len(part.interiors) for part in block.geoms] == [1]
    [filled] = r.isochrone_areas([4], width=110).geometry
    assert [len(part.interiors) for part in filled.geoms] == [0]


def test_an_island_in_the_hole_of_an_area_is_a_part_of_its_own() -> None:
    square = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)]
    g = town([[0, 0], [900, 0], [900, 900], [0, 900], [450, 450]], *square, directed=False)
    r = sssp.shortest_paths(g, [0, 4], nearest=True)
    [area] = r.isochrone_areas([4], width=60).geometry
    assert sorted(len(part.interiors) for part in area.geoms) == [0, 1]
    assert area.is_valid
    assert shapely.contains_xy(area, *coordinates_of(g)[4])


def test_widths_are_right_at_every_latitude() -> None:
    places = [[20.0, 0.0], [20.01, 0.0], [20.0, 70.0], [20.01, 70.0]]
    g = sssp.Graph.from_arcs([0, 2], [1, 3], [1, 1], coordinates=places)
    [area] = sssp.shortest_paths(g, [0, 2], nearest=True).isochrone_areas([1], width=500).geometry
    for part, lat in zip(sorted(area.geoms, key=lambda part: part.bounds[1]), (0, 70), strict=True):
        west, south, east, north = part.bounds
        assert (north - south) * DEGREE == pytest.approx(1000, rel=0.01)
        wide = (east - west) * DEGREE * math.cos(math.radians(lat))
        long = 0.01 * DEGREE * math.cos(math.radians(lat))
        assert wide == pytest.approx(1000 + long, rel=0.01)


def test_rows_nearest_searches_and_prepared_maps_have_areas() -> None:
    g = sssp.road_like(400, seed=3)
    limits = [5_000, 9_000]
    table = sssp.shortest_paths(g, [7, 9])
    for row, source in enumerate((7, 9)):
        alone = sssp.shortest_paths(sssp.prepare(g), source, limit=9_000)
        wanted = alone.isochrone_areas(limits, width=80)
        found = table.isochrone_areas(limits, width=80, row=row)
        assert found.equals(wanted)
    both = sssp.shortest_paths(g, [7, 9], nearest=True).isochrone_areas(limits, width=80)
    for row in (0, 1):
        one = table.isochrone_areas(limits, width=80, row=row)
        for area, whole in zip(one.geometry, both.geometry, strict=True):
            assert in_metres(shapely.difference(area, whole)).area < 1e-3 * in_metres(area).area


def test_the_tiles_of_the_grid_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    g = sssp.road_like(300, seed=5)
    r = sssp.shortest_paths(g, 0)
    whole = r.isochrone_areas([20_000], width=70).geometry[0]
    monkeypatch.setattr(areas_module, "TILE", 16)
    tiled = r.isochrone_areas([20_000], width=70).geometry[0]
    assert whole.equals_exact(tiled, 1e-9, normalize=True)


def test_limits_that_reach_nothing_have_empty_areas() -> None:
    g = town([[0, 0], [1000, 0]], (0, 1, 10))
    areas = sssp.shortest_paths(g, 0).isochrone_areas([-2, -1, 5])
    assert areas.is_empty.tolist() == [True, True, False]
    assert sssp.shortest_paths(g, 0).isochrone_areas([-2]).is_empty.tolist() == [True]


def test_what_has_no_areas_says_so() -> None:
    g = town([[0, 0], [1000, 0]], (0, 1, 10))
    r = sssp.shortest_paths(g, 0, limit=5)
    with pytest.raises(ValueError, match="limit=5, so a band of 9"):
        r.isochrone_areas([9])
    with pytest.raises(ValueError, match="names no band"):
        r.isochrone_areas([])
    for width in (0, -1, math.nan, 1e6):
        with pytest.raises(ValueError, match="width must be 1 to 100,000 metres"):
            r.isochrone_areas([5], width=width)
    with pytest.raises(TypeError, match="width must be a number"):
        r.isochrone_areas([5], width="wide")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no coordinates"):
        sssp.shortest_paths(sssp.Graph.from_arcs([0], [1], [1]), 0).isochrone_areas([1])
    pole = sssp.Graph.from_arcs([0], [1], [1], coordinates=[[0, 80], [0, 89]])
    with pytest.raises(ValueError, match="up to 85 degrees"):
        sssp.shortest_paths(pole, 0).isochrone_areas([1])
    falling = town([[0, 0], [1000, 0]], (0, 1, -3))
    with pytest.raises(sssp.NegativeWeightError, match="weighs -3"):
        sssp.shortest_paths(falling, 0).isochrone_areas([1])


# -- service areas -----------------------------------------------------------------------------


@settings(max_examples=20)
@given(towns, st.booleans(), st.sampled_from(["from", "to"]), st.sampled_from([None, 9]))
def test_service_areas_share_out_what_is_near(
    drawn: Any, directed: bool, direction: Any, limit: int | None
) -> None:
    metres, arcs = drawn
    g = town(metres, *arcs, directed=directed)
    facilities = [0, len(metres) - 1, 0]
    found = sssp.nearest(g, facilities, direction=direction, limit=limit)
    areas = found.service_areas(width=60)
    assert areas["facility"].tolist() == facilities
    assert areas.is_valid.all()
    # the third stands where the first does, and comes second
    assert areas.is_empty.tolist()[2]
    way = g if direction == "from" else g.reverse()
    nearest = np.where(found.reached[:, 0], found.distances[:, 0], np.inf).tolist()
    parts = reached_parts(way, metres, nearest, math.inf if limit is None else limit)
    parts = [part for part in parts if math.isfinite(nearest[part[2]])]
    _, apart = raster(parts, metres.min(axis=0) - 60, metres.max(axis=0) + 60, 3)
    whole = (apart <= 60).sum() * 9
    sizes = square_metres(areas)
    # (where two meet, gaps as small as the grid)
    assert sum(sizes) == pytest.approx(whole, rel=0.03)
    a, b = (in_metres(area) for area in areas.geometry[:2])
    assert shapely.intersection(a, b).area < 1
    for v, index in enumerate(found.index[:, 0].tolist()):
        if index >= 0:
            assert shapely.distance(in_metres(areas.geometry[index]), shapely.Point(metres[v])) < 15


def test_facilities_meet_half_way() -> None:
    g = town([[0, 0], [1000, 0]], (0, 1, 10), directed=False)
    first, second = map(in_metres, sssp.nearest(g, [1, 0]).service_areas(width=50).geometry)
    assert first.bounds == pytest.approx((500, -50, 1050, 50), abs=2)
    assert second.bounds == pytest.approx((-50, -50, 500, 50), abs=2)
    one_way = town([[0, 0], [1000, 0]], (0, 1, 10))
    first, second = map(in_metres, sssp.nearest(one_way, [1, 0]).service_areas(width=50).geometry)
    assert second.bounds[2] == pytest.approx(1000, abs=50 / 6)
    ways = sssp.nearest(one_way, [0, 1], direction="to").service_areas(width=50)
    assert in_metres(ways.geometry[1]).bounds[0] == pytest.approx(0, abs=50 / 6)


# -- turns -------------------------------------------------------------------------------------


def crossing(cost: float) -> sssp.Graph:
    """Return a street east, there and back beyond its middle, and one north after a turn."""
    arcs = [(0, 1, 10), (1, 2, 10), (1, 3, 10), (3, 1, 10)]
    g = town([[-1000, 0], [0, 0], [0, 1000], [1000, 0]], *arcs)
    return g.with_turns(([0], [1], [cost]))


@pytest.mark.parametrize(
    ("cost", "limit", "north"), [(0, 15, 500), (3, 15, 200), (3, 11, 0), (math.inf, 35, 500)]
)
@pytest.mark.parametrize("unit", [1, 0.5])
def test_streets_are_entered_when_turns_let_one_in(
    cost: float, limit: float, north: float, unit: float
) -> None:
    g = crossing(cost)
    g = g.with_weights(g.weights * unit).with_turn_costs([cost * unit]) if unit != 1 else g
    options: list[Any] = [{}, {"predecessors": True}, {"nearest": True}, {"output": "sparse"}]
    for network in (g, sssp.prepare(g)):
        for option in options:
            found = sssp.shortest_paths(network, [0], limit=limit * unit, **option)
            areas = found.isochrone_areas([limit * unit / 2, limit * unit], width=60)
            assert in_metres(areas.geometry[1]).bounds[3] == pytest.approx(60 + north, abs=2)
            assert areas.geometry[1].covers(areas.geometry[0])
    # every street counts one, whatever its turn costs, unless that is forbidden
    counted = sssp.shortest_paths(g, 0, method="breadth-first").isochrone_areas([1.5])
    far = 60 if math.isinf(cost) else 560
    assert in_metres(counted.geometry[0]).bounds[3] == pytest.approx(far, abs=2)


def test_facilities_are_reached_by_turns() -> None:
    # to the north in 15: 2 of the street from the west, after which the turn takes 3, and 5 of
    # that from the east
    g = crossing(3)
    ways: list[tuple[Any, Any]] = [(g, "to"), (sssp.prepare(g), "to"), (g.reverse(), "from")]
    for network, direction in ways:
        for facilities in ([2], [2, 2]):
            found = sssp.nearest(network, facilities, direction=direction, limit=15)
            area = in_metres(found.service_areas(width=60).geometry[0])
            assert area.bounds == pytest.approx((-260, -60, 560, 1060), abs=2)
    # from west and north, and back again on the reversed graph
    back: list[tuple[Any, Any]] = [(g, "from"), (g.reverse(), "to")]
    for network, direction in back:
        first, second = (
            in_metres(area)
            for area in sssp.nearest(network, [0, 3], direction=direction).service_areas().geometry
        )
        # the east is nearer to the street north: 10 beside 10 and a turn of 3
        assert second.bounds == pytest.approx((0, -60, 1060, 1060), abs=62)
        assert first.bounds[0] == pytest.approx(-1060, abs=2)
        assert not first.contains(shapely.Point(0, 500))
        assert second.contains(shapely.Point(0, 500))


def begun(g: sssp.Graph, price: dict[tuple[int, int], float], first: list[int]) -> list[float]:
    """Relax pairs of arcs until nothing changes: at which distance each arc is begun."""
    found = [0.0 if arc in first else math.inf for arc in range(g.m)]
    for _ in range(g.m):
        for (a, b), cost in price.items():
            found[b] = min(found[b], found[a] + g.weights[a].item() + cost)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_turns_let_one_into_every_street_when_a_reference_says(seed: int) -> None:
    chance = np.random.default_rng(seed)
    n, m = 5, 14
    arcs = zip(*chance.integers(0, n, (2, m)).tolist(), chance.integers(0, 6, m), strict=True)
    g = town(chance.uniform(0, 500, (n, 2)), *arcs)
    price = {(a, b): 0.0 for a in range(g.m) for b in range(g.m) if g.indices[a] == g.tails[b]}
    named = [list(price)[i] for i in chance.choice(len(price), 5, replace=False)]
    price |= dict(zip(named, [math.inf, math.inf, 1, 2, 3], strict=True))
    before, behind = zip(*named, strict=True)
    t = g.with_turns((before, behind, [price[pair] for pair in named]), arcs=True)
    drawn, twins = street_arcs(t)
    sides = np.stack([drawn, twins])
    entered = np.array(begun(g, price, [a for a in range(g.m) if g.tails[a] == 0]))
    for network in (t, sssp.prepare(t)):
        found = sssp.shortest_paths(network, 0)._searched_distances(0)
        streets = areas_module.Streets.of(t, partial(np.array, found), t.weights)
        np.testing.assert_array_equal(streets.distances[sides >= 0], entered[sides[sides >= 0]])
    # to a facility, from where a street ends: against the arcs it begins there
    against = g.reverse()
    place = against.arcs(g.indices, g.tails)
    back = {(place[b].item(), place[a].item()): cost for (a, b), cost in price.items()}
    ends = np.array(begun(against, back, [a for a in range(g.m) if against.tails[a] == 0]))[place]
    near = sssp.nearest(t, [0], direction="to")
    assert near._searched is not None
    distances = near._searched[0][:, 0]
    streets = areas_module.Streets.of(t, lambda: distances, t.weights, towards=True)
    np.testing.assert_array_equal(
        streets.distances[sides[::-1] >= 0], ends[sides[::-1][sides[::-1] >= 0]]
    )
