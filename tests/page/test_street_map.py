"""What the page is sent once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.page.street_map import StreetMap, pack
from sssp.graph.sphere import EARTH_RADIUS

#: degrees of a metre, along a meridian
METRE = 180 / (np.pi * EARTH_RADIUS)


def line(weights: list[int], metres: float = 100.0) -> sssp.Graph:
    """Return streets one behind the other, all of one length, there and back."""
    n = len(weights) + 1
    places = np.stack([np.full(n, 12.0), np.arange(n) * metres * METRE], axis=1)
    return sssp.Graph.from_arcs(
        np.arange(n - 1), np.arange(1, n), weights, directed=False, coordinates=places
    )


def test_every_open_arc_belongs_to_one_street():
    g = sssp.road_like(300, seed=1)
    one_way = g.without_arcs([3, 10, 11])
    streets = StreetMap(one_way)
    there, back = streets.arcs.T
    open_arcs = np.flatnonzero(one_way.weights != np.iinfo(np.int32).max)
    found = np.concatenate([there, back[back >= 0]])
    assert set(open_arcs) <= set(found.tolist())
    assert np.unique(found).size == found.size
    tails, heads = streets.streets.T
    assert (g.tails[there] == tails).all()
    assert (g.indices[there] == heads).all()
    both = back >= 0
    assert (g.tails[back[both]] == heads[both]).all()
    assert (g.indices[back[both]] == tails[both]).all()


def test_positions_are_metres_around_the_middle():
    g = line([5] * 20)
    streets = StreetMap(g)
    east, north = streets.positions.T
    assert np.abs(east).max() < 1e-3
    assert np.diff(north) == pytest.approx(np.full(20, 100.0), rel=1e-3)
    assert north[0] == pytest.approx(-1000, rel=1e-3)
    assert streets.lengths == pytest.approx(np.full(g.m, 100.0), rel=1e-9)


def test_classes_go_by_speed_beside_the_usual_one():
    #: 100 metres in so much time; most in 10
    times = [10, 10, 10, 10, 10, 20, 7, 5, 11, 4]
    g = line(times)
    streets = StreetMap(g)
    expected = dict(zip(range(10), [1, 1, 1, 1, 1, 0, 2, 3, 1, 3], strict=True))
    for arc in range(g.m):
        street = min(g.tails[arc], g.indices[arc])
        assert streets.arc_class[arc] == expected[int(street)]
    shares = {kind["name"]: kind["share"] for kind in streets.classes}
    assert shares == {"slow": 0.1, "usual": 0.6, "main": 0.1, "fast": 0.2}
    # fast ones last, on top
    drawn = streets.arc_class[streets.arcs[:, 0]]
    assert (np.diff(drawn.astype(int)) >= 0).all()


def test_lengths_that_are_given_count_instead_of_straight_lines():
    g = line([10] * 5)
    lengths = np.where(np.minimum(g.tails, g.indices) == 2, 300, 100)
    streets = StreetMap(g, lengths)
    assert (streets.lengths == lengths).all()
    assert (streets.arc_class == np.where(lengths == 300, 3, 1)).all()


def test_weights_and_lengths_of_nothing_have_the_usual_class():
    places = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.001]]
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [5, 0, 5], coordinates=places)
    assert StreetMap(g).arc_class.tolist() == [1, 1, 1]
    empty = sssp.Graph.from_arcs([], [], [], n=2, coordinates=[[0.0, 0.0], [1.0, 1.0]])
    assert StreetMap(empty).streets.shape == (0, 2)
    nothing = sssp.Graph.from_arcs([], [], [], n=0, coordinates=np.empty((0, 2)))
    assert StreetMap(nothing).positions.shape == (0, 2)


@pytest.mark.parametrize("places", [None, [[1000.0, 0.0], [2000.0, 500.0]]])
def test_a_map_needs_coordinates_in_degrees(places):
    g = sssp.Graph.from_arcs([0], [1], [1], coordinates=places)
    with pytest.raises(ValueError, match="coordinates"):
        StreetMap(g)


def test_arrays_are_packed_behind_a_text_that_says_where_they_are():
    arrays: dict[str, Any] = {
        "three": np.array([1, 2, 3], np.uint8),
        "points": np.arange(4, dtype=np.float32).reshape(2, 2),
        "big": np.array([258], ">u2"),
    }
    content = pack({"name": "caf\xe9"}, arrays)
    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    assert head["name"] == "caf\xe9"
    body = content[4 + length :]
    assert (4 + length) % 8 == 0
    for entry, array in zip(head["arrays"], arrays.values(), strict=True):
        assert entry["offset"] % 8 == 0
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        found = np.frombuffer(body, dtype, entry["length"], entry["offset"])
        assert found.tolist() == array.ravel().tolist()
