"""Small OpenStreetMap files for tests, and plain readings of such files to compare ours with.

`read_plainly` parses XML by itself and makes no junctions: every part of a way between two nodes
is an arc of its own. It knows cars only, and of their rules what `car_directions` says.
"""

from __future__ import annotations

import bz2
import heapq
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import osmium
import pytest

import sssp

Part = tuple[int, int, int]  # tail, head, way

CAR_ROADS = {
    *("motorway", "trunk", "primary", "secondary", "tertiary"),
    *("motorway_link", "trunk_link", "primary_link", "secondary_link", "tertiary_link"),
    *("unclassified", "residential", "living_street", "service", "road"),
}
NEEDS_TAG = {"track", "pedestrian", "busway"}
NO = {"no", "private", "agricultural", "forestry", "emergency", "military", "psv", "bus", "hgv"}
NO |= {"use_sidepath", "dismount"}


class Node(NamedTuple):
    id: int
    lon: float
    lat: float
    tags: Mapping[str, str] = {}


class Way(NamedTuple):
    id: int
    nodes: Sequence[int]
    tags: Mapping[str, str] = {"highway": "residential"}


class Relation(NamedTuple):
    id: int
    members: Sequence[tuple[str, int, str]]
    tags: Mapping[str, str]


def grid(columns: int, rows: int) -> list[Node]:
    """Return nodes some 80 to 110 m apart, numbered row by row from 1 on."""
    return [
        Node(1 + row * columns + column, 8.5 + column / 1000 + row / 33333, 47.3 + row / 1000)
        for row in range(rows)
        for column in range(columns)
    ]


def ban(
    id: int, start: int, via: int | Sequence[int], end: int, kind: str, **tags: str
) -> Relation:
    """Return a restriction from a way to a way, via a node or via ways."""
    between = [("n", via, "via")] if isinstance(via, int) else [("w", way, "via") for way in via]
    members = [("w", start, "from"), *between, ("w", end, "to")]
    return Relation(id, members, {"type": "restriction", "restriction": kind} | tags)


def write_osm(
    path: Path,
    nodes: Iterable[Node],
    ways: Iterable[Way],
    relations: Iterable[Relation] = (),
) -> Path:
    """Write a file whose format its name says, and return its path."""
    with osmium.SimpleWriter(str(path), overwrite=True) as writer:
        for node in nodes:
            place = (node.lon, node.lat)
            writer.add_node(osmium.osm.mutable.Node(id=node.id, location=place, tags=node.tags))
        for way in ways:
            writer.add_way(osmium.osm.mutable.Way(id=way.id, nodes=way.nodes, tags=way.tags))
        for relation in relations:
            thing = osmium.osm.mutable.Relation(
                id=relation.id, members=list(relation.members), tags=relation.tags
            )
            writer.add_relation(thing)
    return path


def find_extract(name: str) -> Path:
    """Return the path of a real extract, or skip."""
    path = sssp.datasets.find(name)
    if path is None:
        pytest.skip(f"no {name} in SSSP_DATA")
    return path


def as_xml(path: Path, folder: Path, ways: set[int] | None = None) -> Path:
    """Write a file again as XML: all of it, or some ways alone, with their nodes."""
    xml = folder / "again.osm"
    chosen = osmium.IdTracker()
    for thing in osmium.FileProcessor(path, osmium.osm.WAY):
        if ways is not None and thing.id in ways:
            chosen.add_way(thing.id)
            chosen.add_references(thing)
    processor: Any = osmium.FileProcessor(path)
    if ways is not None:
        processor = processor.with_filter(chosen.id_filter())
    with osmium.SimpleWriter(str(xml), overwrite=True) as writer:
        for thing in processor:
            writer.add(thing)
    return xml


class PlainMap(NamedTuple):
    """What a file says: places of nodes, open parts of ways, and forbidden turns of two parts."""

    places: dict[int, tuple[float, float]]
    parts: dict[Part, float]  # metres
    turns: set[tuple[Part, Part]]


def car_directions(tags: Mapping[str, str]) -> tuple[bool, bool]:
    """Tell whether a car may drive along a way, and against it."""
    road = tags.get("highway", "")
    keys = [key for key in ("motorcar", "motor_vehicle", "vehicle", "access") if key in tags]
    access = tags[keys[0]] if keys else None
    special = bool(keys) and keys[0] != "access"
    if access in NO or tags.get("area") == "yes":
        return False, False
    if road not in CAR_ROADS and not (road in NEEDS_TAG and special):
        return False, False
    oneway = "no"
    if tags.get("junction") in ("roundabout", "circular") or road == "motorway":
        oneway = "yes"
    for key in ("oneway", "oneway:vehicle", "oneway:motor_vehicle", "oneway:motorcar"):
        oneway = tags.get(key, oneway)
    if oneway == "reversible":
        return False, False
    return oneway not in ("-1", "reverse"), oneway not in ("yes", "true", "1")


def great_circle(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return metres on a sphere, by the angle between two vectors."""
    vectors = []
    for lon, lat in (one, other):
        x, y = math.radians(lon), math.radians(lat)
        vectors.append((math.cos(y) * math.cos(x), math.cos(y) * math.sin(x), math.sin(y)))
    half = min(1.0, math.dist(*vectors) / 2)
    return 2 * 6371008.8 * math.asin(half)


def read_plainly(path: Path) -> PlainMap:
    """Read XML; without barriers, and of restrictions those over one node."""
    text = path.read_bytes()
    root = ElementTree.fromstring(bz2.decompress(text) if path.suffix == ".bz2" else text)
    places = {
        int(node.get("id", "")): (float(node.get("lon", "")), float(node.get("lat", "")))
        for node in root.iter("node")
    }
    parts: dict[Part, float] = {}
    for element in root.iter("way"):
        way = int(element.get("id", ""))
        nodes = [int(ref.get("ref", "")) for ref in element.iter("nd")]
        along, against = car_directions(tags_of(element))
        for one, other in pairwise(nodes):
            if one == other or one not in places or other not in places:
                continue
            length = great_circle(places[one], places[other])
            parts |= {(one, other, way): length} if along else {}
            parts |= {(other, one, way): length} if against else {}
    turns: set[tuple[Part, Part]] = set()
    into: dict[int, list[Part]] = {}
    out: dict[int, list[Part]] = {}
    for part in parts:
        out.setdefault(part[0], []).append(part)
        into.setdefault(part[1], []).append(part)
    for element in root.iter("relation"):
        turns |= banned_by(element, into, out)
    return PlainMap(places, parts, turns)


def tags_of(element: Any) -> dict[str, str]:
    return {tag.get("k"): tag.get("v") for tag in element.iter("tag")}


def banned_by(
    element: Any, into: Mapping[int, list[Part]], out: Mapping[int, list[Part]]
) -> set[tuple[Part, Part]]:
    """Return the turns that a restriction over one node forbids cars."""
    tags = tags_of(element)
    kind = tags.get("restriction", "")
    kind = tags.get("restriction:motor_vehicle", kind)
    kind = tags.get("restriction:motorcar", kind)
    lifted = {"motorcar", "motor_vehicle", "vehicle"} & set(tags.get("except", "").split(";"))
    timed = any(word in key for key in tags for word in ("day_o", "hour_o"))
    if tags.get("type") != "restriction" or lifted or timed:
        return set()
    members: dict[str, list[int]] = {}
    for member in element.iter("member"):
        key = f"{member.get('role')} {member.get('type')}"
        members.setdefault(key, []).append(int(member.get("ref")))
    if len(members.get("via node", [])) != 1 or not members.get("from way"):
        return set()
    via = members["via node"][0]
    starts = [part for part in into.get(via, []) if part[2] in members["from way"]]
    ends = [part for part in out.get(via, []) if part[2] in members.get("to way", [])]
    if not ends or len(starts) * len(ends) > len(members["from way"]) * len(members["to way"]):
        return set()
    if kind.startswith("only_"):
        ends = [part for part in out[via] if part not in ends]
    known = kind.startswith(("no_", "only_"))
    return {(start, end) for start in starts for end in ends} if known else set()


def plain_distances(
    plain: PlainMap, source: int, vertices: Iterable[int], obeying: bool = True
) -> dict[int, float]:
    """Return the metres from a node to all, by Dijkstra's algorithm over parts of ways.

    One turns around at vertices only, not in the middle of a street.
    """
    out: dict[int, list[Part]] = {}
    for part in plain.parts:
        out.setdefault(part[0], []).append(part)
    junctions = set(vertices)
    banned = plain.turns if obeying else set()
    found: dict[int, float] = {source: 0.0}
    settled: set[Part] = set()
    queue = [(plain.parts[part], part) for part in out.get(source, [])]
    heapq.heapify(queue)
    while queue:
        length, part = heapq.heappop(queue)
        if part in settled:
            continue
        settled.add(part)
        tail, node, way = part
        found.setdefault(node, length)
        for other in out.get(node, []):
            around = other == (node, tail, way) and node not in junctions
            if not around and (part, other) not in banned:
                heapq.heappush(queue, (length + plain.parts[other], other))
    return found
