from __future__ import annotations

import bz2
import dataclasses
import gzip
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sssp
from sssp.errors import GraphFormatError
from sssp.loaders import PROFILES, Profile, RoadNetwork, read_osm
from sssp.loaders import _osm as reader
from tests.osm_files import (
    Node,
    PlainMap,
    Relation,
    Way,
    as_xml,
    ban,
    find_extract,
    grid,
    plain_distances,
    read_plainly,
    write_osm,
)

CAR = PROFILES["car"]
#: a street from west to east through 1, 2, 3 and one from south to north through 4, 2, 5
CROSS = (
    [
        *(Node(1, 8.0, 47.0), Node(2, 8.001, 47.0), Node(3, 8.003, 47.0)),
        *(Node(4, 8.001, 46.999), Node(5, 8.001, 47.001), Node(6, 8.002, 47.0)),
    ],
    [Way(10, [1, 2, 6, 3], {"highway": "primary", "name": "Höhe"}), Way(11, [4, 2, 5])],
)


def arcs_of(roads: RoadNetwork) -> list[tuple[int, int, int]]:
    """Return tail, head and way of every row, by id, in order."""
    tails, heads = roads.ids[roads.tails], roads.ids[roads.heads]
    return sorted(zip(tails.tolist(), heads.tolist(), roads.columns["way"].tolist(), strict=True))


def by_arc(roads: RoadNetwork, values: np.ndarray) -> dict[tuple[int, int, int], float]:
    """Return a value of every row, by tail, head and way."""
    order = np.lexsort((roads.columns["way"], roads.ids[roads.heads], roads.ids[roads.tails]))
    return dict(zip(arcs_of(roads), values[order].tolist(), strict=True))


def turns_of(roads: RoadNetwork) -> list[tuple[int, ...]]:
    """Return the nodes that forbidden turns lead over."""
    sequences = [*roads.turns.pairs.tolist(), *roads.turns.chains]
    return sorted(
        (*(roads.ids[roads.tails[rows]].tolist()), int(roads.ids[roads.heads[rows[-1]]]))
        for rows in sequences
    )


def reasons(roads: RoadNetwork) -> dict[str, int]:
    return {reason: count for reason, (count, _) in roads.report["left_out"].items()}


# -- what a file says ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".osm", ".osm.pbf", ".osm.bz2", ".osm.gz"])
def test_a_file_is_read_in_whatever_format(tmp_path, suffix):
    roads = read_osm(write_osm(tmp_path / f"cross{suffix}", *CROSS))
    assert roads.ids.tolist() == [1, 2, 3, 4, 5]  # 6 is a point of a street, no junction
    there = [(1, 2, 10), (2, 3, 10), (4, 2, 11), (2, 5, 11)]
    assert arcs_of(roads) == sorted(there + [(head, tail, way) for tail, head, way in there])
    assert roads.coordinates.tolist() == [list(node[1:3]) for node in CROSS[0][:5]]
    lengths = by_arc(roads, roads.columns["length"])
    parallel = math.cos(math.radians(47)) * 6371008.8 * math.radians(0.002)
    assert lengths[2, 3, 10] == lengths[3, 2, 10] == pytest.approx(parallel, rel=1e-7)
    assert set(roads.columns["name"]) == {"Höhe", ""}
    assert set(roads.columns["highway"]) == {"primary", "residential"}
    np.testing.assert_allclose(
        roads.seconds, roads.columns["length"] / roads.columns["speed"] * 3.6, rtol=1e-12
    )
    assert "OpenStreetMap" in roads.report["attribution"]


def test_a_file_in_many_parts_is_the_same(tmp_path, monkeypatch):
    nodes = [Node(i, 8 + i / 1e4, 47.0) for i in range(1, 20_001)]
    ways = [Way(i, range(i, i + 101)) for i in range(1, 19_900, 100)]
    path = write_osm(tmp_path / "long.osm.pbf", nodes, ways)
    whole = read_osm(path)
    monkeypatch.setattr(reader, "_PART", 100)
    steps: list[int] = []
    parts = read_osm(path, advance=steps.append)
    assert len(steps) > 3
    assert sum(steps) == path.stat().st_size
    assert arcs_of(parts) == arcs_of(whole)
    np.testing.assert_array_equal(parts.seconds, whole.seconds)


def test_shapes_lead_from_tail_to_head(tmp_path):
    roads = read_osm(write_osm(tmp_path / "cross.osm", *CROSS), shapes=True)
    offsets, points = roads.columns["shape_offsets"], roads.columns["shape_points"]
    for row, (tail, head) in enumerate(zip(roads.tails, roads.heads, strict=True)):
        shape = points[offsets[row] : offsets[row + 1]]
        assert shape[[0, -1]].tolist() == roads.coordinates[[tail, head]].tolist()
    assert sorted(np.diff(offsets).tolist()) == [2] * 6 + [3, 3]
    assert [8.002, 47.0] in points.tolist()


# -- tags ------------------------------------------------------------------------------------------

SPEEDS = [
    ("car", {"highway": "residential"}, (30, 30)),
    ("car", {"highway": "residential", "maxspeed": "50"}, (50, 50)),
    ("car", {"highway": "residential", "maxspeed": "30 mph"}, (48.28032, 48.28032)),
    ("car", {"highway": "residential", "maxspeed": "10 knots"}, (18.52, 18.52)),
    ("car", {"highway": "residential", "maxspeed": "40 km/h"}, (40, 40)),
    ("car", {"highway": "primary", "maxspeed": "RU:urban"}, (60, 60)),
    ("car", {"highway": "primary", "maxspeed": "PT:urban"}, (50, 50)),
    ("car", {"highway": "primary", "maxspeed": "BE-VLG:rural"}, (70, 70)),
    ("car", {"highway": "primary", "maxspeed": "DE:zone:30"}, (30, 30)),
    ("car", {"highway": "living_street", "maxspeed": "walk"}, (6, 6)),
    ("car", {"highway": "motorway", "maxspeed": "none"}, (110, 0)),
    ("car", {"highway": "motorway", "maxspeed": "DE:motorway"}, (110, 0)),
    ("car", {"highway": "motorway", "oneway": "no"}, (110, 110)),
    ("car", {"highway": "primary", "maxspeed": "50", "maxspeed:backward": "70"}, (50, 70)),
    ("car", {"highway": "primary", "oneway": "yes"}, (65, 0)),
    ("car", {"highway": "primary", "oneway": "-1"}, (0, 65)),
    ("car", {"highway": "primary", "oneway": "reversible"}, (0, 0)),
    ("car", {"highway": "primary", "oneway": "alternating"}, (65, 65)),
    ("car", {"highway": "primary", "junction": "roundabout"}, (65, 0)),
    ("car", {"highway": "primary", "junction": "roundabout", "oneway": "no"}, (65, 65)),
    ("car", {"highway": "primary", "oneway": "yes", "oneway:motorcar": "no"}, (65, 65)),
    ("car", {"highway": "primary", "access": "no"}, (0, 0)),
    ("car", {"highway": "primary", "access": "no", "motor_vehicle": "yes"}, (65, 65)),
    ("car", {"highway": "primary", "motor_vehicle": "destination"}, (65, 65)),
    ("car", {"highway": "primary", "motorcar": "no", "motor_vehicle": "yes"}, (0, 0)),
    ("car", {"highway": "track"}, (0, 0)),
    ("car", {"highway": "track", "access": "yes"}, (0, 0)),
    ("car", {"highway": "track", "motor_vehicle": "yes"}, (15, 15)),
    ("car", {"route": "ferry"}, (0, 0)),
    ("car", {"route": "ferry", "motor_vehicle": "yes"}, (20, 20)),
    ("car", {"highway": "service", "area": "yes"}, (0, 0)),
    ("car", {"highway": "footway"}, (0, 0)),
    ("bicycle", {"highway": "residential", "maxspeed": "50"}, (16, 16)),
    ("bicycle", {"highway": "residential", "maxspeed": "10"}, (10, 10)),
    ("bicycle", {"highway": "residential", "oneway": "yes"}, (16, 0)),
    ("bicycle", {"highway": "residential", "oneway": "yes", "oneway:bicycle": "no"}, (16, 16)),
    ("bicycle", {"highway": "residential", "oneway": "yes", "cycleway": "opposite"}, (16, 16)),
    (
        "bicycle",
        {"highway": "primary", "oneway": "yes", "cycleway:left": "opposite_lane"},
        (16, 16),
    ),
    ("bicycle", {"highway": "footway"}, (0, 0)),
    ("bicycle", {"highway": "footway", "bicycle": "yes"}, (10, 10)),
    ("bicycle", {"highway": "path", "bicycle": "dismount"}, (0, 0)),
    ("bicycle", {"highway": "primary", "motorroad": "yes"}, (0, 0)),
    ("foot", {"highway": "residential", "oneway": "yes", "maxspeed": "30"}, (5, 5)),
    ("foot", {"highway": "primary", "junction": "roundabout"}, (5, 5)),
    ("foot", {"highway": "footway", "oneway:foot": "yes"}, (5, 0)),
    ("foot", {"highway": "steps"}, (2.5, 2.5)),
    ("foot", {"highway": "motorway"}, (0, 0)),
    ("foot", {"highway": "trunk", "foot": "yes"}, (5, 5)),
]


@pytest.mark.parametrize(("profile", "tags", "speeds"), SPEEDS, ids=str)
def test_tags_say_how_fast_and_which_way(profile, tags, speeds):
    complaints: list[str] = []
    assert PROFILES[profile].speeds_on(tags.get, complaints.append) == pytest.approx(speeds)
    assert complaints == []


@pytest.mark.parametrize("text", ["fast", "50; 80", "0", "-5", "5000000", "50mphs", "XX:unknown"])
def test_a_speed_that_cannot_be_read_is_told_of(tmp_path, text):
    way = Way(7, [1, 2], {"highway": "primary", "oneway": "yes", "maxspeed": text})
    roads = read_osm(write_osm(tmp_path / "x.osm", grid(2, 1), [way]))
    assert roads.columns["speed"].tolist() == [65]
    case = [1, f"way 7: maxspeed={text}"]
    assert roads.report["left_out"] == {"speeds that cannot be read": case}


def test_nodes_delay_those_who_come_to_them(tmp_path):
    nodes = grid(4, 1)
    signals = {"highway": "traffic_signals"}
    nodes[1] = nodes[1]._replace(tags=signals | {"traffic_signals:direction": "forward"})
    nodes[3] = nodes[3]._replace(tags=signals)
    path = write_osm(tmp_path / "x.osm.pbf", nodes, [Way(5, [1, 2, 3]), Way(6, [3, 4])])
    roads = read_osm(path)
    pure = roads.columns["length"] / (roads.columns["speed"] / 3.6)
    delays = by_arc(roads, roads.seconds - pure)
    expected = {(1, 3, 5): 8, (3, 1, 5): 0, (3, 4, 6): 8, (4, 3, 6): 0}
    assert delays == pytest.approx(expected, abs=1e-9)
    calm = dataclasses.replace(CAR, delays={})
    np.testing.assert_allclose(read_osm(path, calm).seconds, pure, rtol=1e-12)


@pytest.mark.parametrize(
    ("tags", "passes"),
    [
        ({"barrier": "bollard"}, False),
        ({"barrier": "bollard", "motor_vehicle": "yes"}, True),
        ({"barrier": "gate"}, True),
        ({"barrier": "gate", "access": "private"}, False),
        ({"barrier": "kerb", "access": "private"}, True),
    ],
)
def test_a_barrier_closes_its_node(tmp_path, tags, passes):
    nodes = grid(5, 1)
    nodes[2] = nodes[2]._replace(tags=tags)
    roads = read_osm(write_osm(tmp_path / "x.osm.pbf", nodes, [Way(5, [1, 2, 3, 4, 5])]))
    through = [(1, 5, 5), (5, 1, 5)] if passes else [(1, 2, 5), (2, 1, 5), (4, 5, 5), (5, 4, 5)]
    assert arcs_of(roads) == through
    assert reasons(roads) == ({} if passes else {"nodes closed by a barrier": 1})
    assert len(arcs_of(read_osm(tmp_path / "x.osm.pbf", "foot"))) == (
        2 if "access" not in tags or passes else 4
    )


def test_a_barrier_at_a_crossing_closes_none(tmp_path):
    nodes, ways = CROSS
    blocked = [node._replace(tags={"barrier": "bollard"} if node.id == 2 else {}) for node in nodes]
    roads = read_osm(write_osm(tmp_path / "x.osm", blocked, ways))
    assert len(arcs_of(roads)) == 8


# -- junctions -------------------------------------------------------------------------------------


def test_parallel_streets_and_loops_keep_all_their_arcs(tmp_path):
    # from 1 to 2 straight, and by 4, 5, 6; a loop from 2 by 7, 8, 9 back to 2
    nodes = [Node(i, 8 + 0.001 * (i % 4), 47 + 0.001 * (i // 4)) for i in range(1, 10)]
    ways = [Way(1, [1, 2]), Way(2, [1, 4, 5, 6, 2]), Way(3, [2, 7, 8, 9, 2])]
    roads = read_osm(write_osm(tmp_path / "x.osm", nodes, ways))
    arcs = arcs_of(roads)
    ends = Counter((tail, head) for tail, head, _ in arcs)
    assert max(ends.values()) == 1
    assert all(tail != head for tail, head, _ in arcs)
    assert [arc for arc in arcs if arc[2] == 2] == [(1, 5, 2), (2, 5, 2), (5, 1, 2), (5, 2, 2)]
    assert len([arc for arc in arcs if arc[2] == 3]) == 6
    alone = read_osm(write_osm(tmp_path / "y.osm", nodes, ways[:1]))
    assert arcs_of(alone) == [(1, 2, 1), (2, 1, 1)]


def test_nodes_named_twice_in_a_row_and_ways_of_one_node(tmp_path):
    ways = [Way(1, [1, 1, 2, 2, 3]), Way(2, [3]), Way(3, [2, 2])]
    roads = read_osm(write_osm(tmp_path / "x.osm", grid(3, 1), ways))
    assert arcs_of(roads) == [(1, 3, 1), (3, 1, 1)]


def test_ways_are_cut_where_nodes_are_missing_or_outside(tmp_path):
    nodes = grid(6, 1)
    path = write_osm(tmp_path / "x.osm", [n for n in nodes if n.id != 3], [Way(9, range(1, 7))])
    left, right = [(1, 2, 9), (2, 1, 9)], [(4, 6, 9), (6, 4, 9)]
    roads = read_osm(path)
    assert arcs_of(roads) == left + right
    assert reasons(roads) == {"ways cut where nodes are missing or outside": 1}
    west = read_osm(path, inside=lambda lon, lat: lon < nodes[3].lon)
    assert arcs_of(west) == left


# -- restrictions ----------------------------------------------------------------------------------

#: four arms of a crossing at 5: 2 to the south, 4 to the west, 6 to the east, 8 to the north
ARMS = [Way(20, [2, 5]), Way(40, [4, 5]), Way(60, [6, 5]), Way(80, [5, 8])]
TURNS = [
    (ban(1, 20, 5, 40, "no_left_turn"), "car", [(2, 5, 4)]),
    (ban(1, 20, 5, 40, "only_left_turn"), "car", [(2, 5, 2), (2, 5, 6), (2, 5, 8)]),
    (ban(1, 20, 5, 20, "no_u_turn"), "car", [(2, 5, 2)]),
    (ban(1, 20, 5, 40, "no_left_turn"), "bicycle", [(2, 5, 4)]),
    (ban(1, 20, 5, 40, "no_left_turn"), "foot", []),
    (ban(1, 20, 5, 40, "no_left_turn", **{"except": "psv;bicycle"}), "bicycle", []),
    (ban(1, 20, 5, 40, "no_left_turn", **{"except": "psv;bicycle"}), "car", [(2, 5, 4)]),
    (ban(1, 20, 5, 40, "no_left_turn", **{"except": "motorcar"}), "car", []),
    (ban(1, 20, 5, 40, "no_turn_at_all_here"), "car", [(2, 5, 4)]),
    (ban(1, 20, 5, 40, "give_way"), "car", []),
    (ban(1, 20, 5, 40, "no_left_turn", day_on="Monday"), "car", []),
    (ban(1, 20, 8, 40, "no_left_turn"), "car", []),  # they do not meet there
    (ban(1, 20, 5, 77, "no_left_turn"), "car", []),
    (ban(1, 20, 6, 40, "no_left_turn"), "car", []),
]


@pytest.mark.parametrize(("relation", "profile", "turns"), TURNS)
def test_a_restriction_becomes_turns(tmp_path, relation, profile, turns):
    path = write_osm(tmp_path / "x.osm.pbf", grid(3, 3), ARMS, [relation])
    roads = read_osm(path, profile)
    assert turns_of(roads) == turns
    assert roads.report["restrictions"] == bool(turns)
    assert sum(reasons(roads).values()) == (not turns)
    if not turns:
        ((_, case),) = roads.report["left_out"].values()
        assert case.startswith("relation 1")


@pytest.mark.parametrize(
    ("tags", "profile", "reason"),
    [
        ({"restriction:hgv": "no_left_turn"}, "car", "restrictions of others"),
        ({"restriction:motorcar": "no_left_turn"}, "bicycle", "restrictions of others"),
        ({"restriction:motorcar": "no_left_turn"}, "car", None),
        ({"restriction:foot": "no_left_turn"}, "foot", None),
        (
            {"restriction:conditional": "no_left_turn @ (Mo-Fr 07:00-09:00)"},
            "car",
            "restrictions that depend on the hour",
        ),
        ({}, "car", "restrictions of an unknown kind"),
    ],
)
def test_a_restriction_is_for_some(tmp_path, tags, profile, reason):
    members = ban(3, 20, 5, 40, "").members
    relation = Relation(3, members, {"type": "restriction"} | tags)
    roads = read_osm(write_osm(tmp_path / "x.osm", grid(3, 3), ARMS, [relation]), profile)
    assert turns_of(roads) == ([(2, 5, 4)] if reason is None else [])
    assert list(reasons(roads)) == ([] if reason is None else [reason])


def test_incomplete_restrictions_and_those_with_several_meanings_are_left_out(tmp_path):
    through = [Way(1, [2, 5, 8]), Way(2, [4, 5]), Way(3, [5, 6])]
    whole = ban(1, 2, 5, 1, "no_left_turn")  # into way 1, which goes both ways from 5
    without_via = whole._replace(id=2, members=[whole.members[0], whole.members[2]])
    path = write_osm(tmp_path / "x.osm", grid(3, 3), through, [whole, without_via])
    roads = read_osm(path)
    assert turns_of(roads) == []
    assert roads.report["left_out"] == {
        "restrictions without from, via or to": [1, "relation 2: no_left_turn"],
        "restrictions that may mean several turns": [1, "relation 1"],
    }


def test_several_ways_in_or_out_are_one_restriction(tmp_path):
    relation = ban(1, 20, 5, 40, "no_exit")
    relation = relation._replace(members=[*relation.members, ("w", 80, "to")])
    roads = read_osm(write_osm(tmp_path / "x.osm", grid(3, 3), ARMS, [relation]))
    assert turns_of(roads) == [(2, 5, 4), (2, 5, 8)]
    only = relation._replace(tags=dict(relation.tags) | {"restriction": "only_straight_on"})
    roads = read_osm(write_osm(tmp_path / "y.osm", grid(3, 3), ARMS, [only]))
    assert turns_of(roads) == [(2, 5, 2), (2, 5, 6)]


@pytest.mark.parametrize("backward", [False, True])
def test_a_restriction_over_ways_is_a_chain_of_rows(tmp_path, backward):
    # down the left lane from 7, over 4 - 5 - 6 (with a street from 5), back up the right one to 9
    middle = [6, 5, 4] if backward else [4, 5, 6]
    ways = [Way(1, [7, 4]), Way(2, middle), Way(3, [6, 9]), Way(4, [5, 2]), Way(5, [6, 3])]
    path = write_osm(tmp_path / "x.osm", grid(3, 3), ways, [ban(8, 1, [2], 3, "no_u_turn")])
    assert turns_of(read_osm(path)) == [(7, 4, 5, 6, 9)]
    path = write_osm(tmp_path / "y.osm", grid(3, 3), ways, [ban(8, 1, [2], 3, "only_u_turn")])
    assert turns_of(read_osm(path)) == [(7, 4, 5, 6, 3), (7, 4, 5, 6, 5)]
    ways[1] = ways[1]._replace(
        tags=dict(ways[1].tags) | {"oneway": "-1" if not backward else "yes"}
    )
    path = write_osm(tmp_path / "z.osm", grid(3, 3), ways, [ban(8, 1, [2], 3, "no_u_turn")])
    assert reasons(read_osm(path)) == {
        "restrictions of ways that do not meet, or not in that direction": 1
    }


# -- what is no such file --------------------------------------------------------------------------


def test_a_file_without_roads_is_refused(tmp_path):
    path = write_osm(tmp_path / "x.osm.pbf", grid(2, 1), [Way(1, [1, 2], {"highway": "footway"})])
    with pytest.raises(GraphFormatError, match=r"x\.osm\.pbf: the file holds no road for .*'car'"):
        read_osm(path)
    with pytest.raises(GraphFormatError, match="no road of the file lies in that area"):
        read_osm(path, "foot", inside=lambda lon, lat: lon > 90)


def test_ways_before_their_nodes_are_refused_by_id(tmp_path):
    path = write_osm(tmp_path / "x.osm", grid(2, 1), [Way(17, [1, 2])])
    lines = path.read_text(encoding="utf-8").splitlines()
    way = next(i for i, line in enumerate(lines) if "<way" in line)
    lines[2:] = [*lines[way:-1], *lines[2:way], lines[-1]]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(GraphFormatError, match="no node of way 17 stands before it"):
        read_osm(path)


def test_a_way_that_stands_there_twice_is_refused_by_id(tmp_path):
    path = write_osm(tmp_path / "x.osm", grid(2, 1), [Way(17, [1, 2]), Way(17, [1, 2])])
    with pytest.raises(GraphFormatError, match="way 17 stands in the file more than once"):
        read_osm(path)


@pytest.mark.parametrize("kept", [3, 20, -1, -30])
def test_a_file_cut_short_is_refused(tmp_path, kept):
    nodes = [Node(i, 8 + i / 1e4, 47.0) for i in range(1, 2001)]
    path = write_osm(tmp_path / "x.osm.pbf", nodes, [Way(1, range(1, 2001))])
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(GraphFormatError, match=r"x\.osm\.pbf: osmium cannot read the file"):
        read_osm(path)


def test_other_damage_is_refused(tmp_path):
    path = write_osm(tmp_path / "x.osm", *CROSS)
    text = path.read_bytes()
    for name, content, message in [
        ("a.osm", text[: len(text) // 2], "osmium cannot read"),
        ("b.osm", text.replace(b"</way>", b"</wax>", 1), "osmium cannot read"),
        ("c.osm.gz", gzip.compress(text)[:-20], "cut short or corrupt"),
        ("d.osm.bz2", bz2.compress(text)[:-20], "cut short or corrupt"),
        ("e.osm", b"a b c\n", "osmium cannot read"),
        ("f.osm", b"", "osmium cannot read"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(GraphFormatError, match=message):
            read_osm(tmp_path / name)


def test_profiles_are_checked():
    with pytest.raises(ValueError, match="no profile 'horse': choose from car, bicycle, foot"):
        read_osm("nowhere.osm", "horse")
    with pytest.raises(TypeError, match=r"profile must be a name or a sssp\.Profile, not int"):
        read_osm("nowhere.osm", 7)  # type: ignore[arg-type]
    for speed in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="km/h on primary is no speed above 0"):
            Profile("mine", {"primary": speed}, ("access",))
    with pytest.raises(ValueError, match="s at crossing is no delay from 0 on"):
        dataclasses.replace(CAR, delays={"crossing": -1})


# -- beside plain readings -------------------------------------------------------------------------


def assert_same_map(roads: RoadNetwork, plain: PlainMap) -> None:
    """Check rows, distances between some vertices, and turns."""
    offsets, points = roads.columns["shape_offsets"], roads.columns["shape_points"]
    ids_at: dict[tuple[float, ...], set[int]] = {}
    for node, place in plain.places.items():
        ids_at.setdefault(place, set()).add(node)
    first, last, covered = {}, {}, set()
    for row, way in enumerate(roads.columns["way"].tolist()):
        shape = [ids_at[tuple(point)] for point in points[offsets[row] : offsets[row + 1]].tolist()]
        shape[0], shape[-1] = {int(roads.ids[roads.tails[row]])}, {int(roads.ids[roads.heads[row]])}
        parts = []
        for some, others in pairwise(shape):
            part, *more = [(a, b, way) for a in some for b in others if (a, b, way) in plain.parts]
            assert not more
            parts.append(part)
        length = sum(plain.parts[part] for part in parts)
        assert math.isclose(roads.columns["length"][row], length, rel_tol=1e-6, abs_tol=1e-6)
        first[row], last[row] = parts[0], parts[-1]
        covered.update(parts)
    assert covered == plain.parts.keys()
    ours = {(last[start], first[end]) for start, end in roads.turns.pairs.tolist()}
    assert ours == plain.turns
    # vertices are what the docstring says, and the middles of what would be lost
    around: dict[int, set[int]] = {}
    for tail, head, _ in plain.parts:
        around.setdefault(tail, set()).add(head)
        around.setdefault(head, set()).add(tail)
    crossings = {node for node, others in around.items() if len(others) != 2}
    assert crossings <= set(roads.ids.tolist())


MAP_TAGS = [
    {"highway": "residential"},
    {"highway": "primary", "oneway": "yes"},
    {"highway": "primary", "oneway": "-1"},
    {"highway": "motorway"},
    {"highway": "tertiary", "junction": "roundabout"},
    {"highway": "track", "motorcar": "yes"},
    {"highway": "service", "access": "private"},
    {"highway": "service", "access": "no", "vehicle": "yes"},
    {"highway": "footway"},
    {"building": "yes"},
]


def forward_only(path: list[int]) -> list[int]:
    """Return a walk up to where it would go over a street a second time."""
    seen: list[set[int]] = []
    for place, part in enumerate(pairwise(path)):
        if set(part) in seen:
            return path[: place + 1]
        seen.append(set(part))
    return path


@st.composite
def maps(draw):
    """Draw ways over a small grid, and restrictions of them."""
    nodes = grid(4, 3)
    ways = [
        Way(100 + number, path, draw(st.sampled_from(MAP_TAGS)))
        for number, path in enumerate(
            draw(
                st.lists(
                    st.lists(st.integers(1, 13), min_size=1, max_size=7), min_size=1, max_size=7
                )
            )
        )
    ]
    way = st.sampled_from([way.id for way in ways])
    kind = st.sampled_from(["no_left_turn", "only_straight_on", "no_u_turn", "no_entry", "odd"])
    relations = [
        ban(number, draw(way), draw(st.integers(1, 12)), draw(way), draw(kind))
        for number in range(1, draw(st.integers(0, 8)) + 1)
    ]
    return nodes, [Way(99, [1, 2]), *ways], relations


@given(maps())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_small_map_is_read_as_plainly(tmp_path, content):
    path = write_osm(tmp_path / "map.osm", *content)
    assert_same_map(read_osm(path, shapes=True), read_plainly(path))


@given(maps(), st.integers(0, 12), st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_distances_are_those_over_all_nodes(tmp_path, content, pick, turns):
    path = write_osm(tmp_path / "map.osm.pbf", *content)
    g, plain = (
        sssp.read_osm(path, weight="metres", turns=turns),
        read_plainly(as_xml(path, tmp_path)),
    )
    assert g.labels is not None
    ids = g.labels.tolist()
    expected = plain_distances(plain, ids[pick % g.n], ids, turns)
    r = sssp.shortest_paths(g, pick % g.n, method="dijkstra", device="cpu")
    found = {node: r.distance(v) for v, node in enumerate(ids) if r.reached[v]}
    assert found == pytest.approx({node: expected[node] for node in found}, rel=1e-6, abs=1e-6)
    assert found.keys() == expected.keys() & set(ids)


@pytest.mark.parametrize("name", ["reisterstown.osm.pbf", "cathedral.osm.pbf"])
def test_a_real_extract_is_read_as_plainly(tmp_path, name, monkeypatch):
    path = find_extract(name)
    # (the plain reading knows no barriers)
    monkeypatch.setattr(Profile, "closes_node", lambda self, tags: False)
    roads = read_osm(path, shapes=True)
    assert_same_map(roads, read_plainly(as_xml(path, tmp_path)))
