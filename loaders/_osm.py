"""Convert OpenStreetMap files to arcs; ways are cut at junctions, relations become turns.

pyosmium reads: its filters let roads, nodes that delay or block, and restrictions through to
Python, and its table of locations gives every way its coordinates. All else is done for all ways
at once.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from operator import attrgetter
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError, import_extra
from sssp.loaders import _files
from sssp.loaders._cut_ways import RoadNetwork, cut_ways
from sssp.loaders._files import Pathname
from sssp.loaders._profiles import GATES, PROFILES, Profile, find_profile, road_class
from sssp.loaders._restrictions import LeftOut, Relation, read_relation

Array = NDArray[Any]

#: bytes that are read in one go
_PART = 1 << 22
#: the tag of a blob's length in its header
_DATA_SIZE = 3 << 3
#: osmium's table of the places of nodes: 16 bytes each, of those alone that are in the file
_LOCATIONS = "sparse_mem_array"
_REF = attrgetter("ref")
#: digits before the points of a line in well-known binary: byte order, kind and count
_LINE_HEAD = 18


class Roads:
    """The ways and nodes of a file, in its order."""

    def __init__(self, no_location: type[Exception]) -> None:
        self.no_location = no_location
        self.ways, self.counts, self.refs = array("q"), array("q"), array("q")
        self.speeds, self.points = array("d"), bytearray()
        self.kinds: list[str] = []
        self.names: list[str] = []
        self.known: dict[tuple[str | None, ...], tuple[tuple[float, float], set[str]]] = {}
        self.delays: dict[int, tuple[float, float]] = {}
        self.blocked: list[int] = []
        self.relations: list[Relation] = []

    def add_node(self, node: Any, profile: Profile) -> None:
        """Store the effect of a node on vehicles that pass it."""
        tags = node.tags.get
        kind = tags("highway")
        if kind in profile.delays:
            delay = profile.delays[kind]
            toward = tags(f"{kind}:direction") or tags("direction")
            self.delays[node.id] = (delay * (toward != "backward"), delay * (toward != "forward"))
        if tags("barrier") is not None and profile.closes_node(tags):
            self.blocked.append(node.id)

    def add_way(
        self, way: Any, profile: Profile, left_out: LeftOut, lines: Any, every: Any
    ) -> None:
        """Store a way that is open in some direction, with its nodes and their coordinates."""
        tags = way.tags.get
        values = tuple(map(tags, profile.keys))
        # (few ways have tags that no other has)
        if values not in self.known:
            unread: set[str] = set()
            read = dict(zip(profile.keys, values, strict=True)).get
            self.known[values] = profile.speeds_on(read, unread.add), unread
        speeds, unread = self.known[values]
        for tag in unread:
            left_out("speeds that cannot be read", f"way {way.id}: {tag}")
        nodes = way.nodes
        refs = array("q", map(_REF, map(nodes.__getitem__, range(len(nodes)))))
        few = len(refs) < 2
        if few or not any(speeds):
            reason = "ways of fewer than two nodes" if few else "ways closed to the profile"
            left_out(reason, f"way {way.id}")
            return
        try:
            line = bytes.fromhex(lines.create_linestring(way, every)[_LINE_HEAD:])
        except self.no_location:
            places = (node.location for node in nodes)
            pairs = [(at.lon, at.lat) if at.valid() else (np.nan, np.nan) for at in places]
            line = np.array(pairs).tobytes()
        self.ways.append(way.id)
        self.counts.append(len(refs))
        self.refs.extend(refs)
        self.speeds.extend(speeds)
        self.points += line
        # (one copy of each text)
        self.kinds.append(intern(road_class(tags)))
        self.names.append(intern(tags("name") or ""))


def read_osm(
    path: Pathname,
    profile: str | Profile = "car",
    *,
    inside: Callable[[Array, Array], Array] | None = None,
    shapes: bool = False,
    advance: Callable[[int], object] | None = None,
) -> RoadNetwork:
    """Read the roads of an OpenStreetMap file (PBF or XML, plain or compressed).

    Parameters
    ----------
    path : path-like
        A file or a pipe; it is read once.
    profile : {"car", "bicycle", "foot"} or Profile
        Who travels.
    inside : callable, optional
        Is given longitudes and latitudes, shape (points,), and tells which points to keep. Ways
        are cut there.
    shapes : bool, default False
        Keep the points between junctions.
    advance : callable, optional
        Is told how many bytes of the file have been read since it was last.

    Returns
    -------
    RoadNetwork

    Raises
    ------
    GraphFormatError
        The file is damaged, or in another order than nodes, ways, relations; or it holds no road.
    MissingExtraError
        osmium is not installed.
    """
    chosen, before = find_profile(profile), 0
    with open(os.fspath(path), "rb") as file, _files.decompressing(file) as stream:

        def step() -> None:
            nonlocal before
            if advance is not None and file.seekable():
                now = file.tell()
                advance(now - before)
                before = now

        return roads_in(stream, path, chosen, inside, shapes, step)


def roads_in(
    stream: Any,
    path: Pathname,
    profile: Profile = PROFILES["car"],
    inside: Callable[[Array, Array], Array] | None = None,
    shapes: bool = False,
    step: Callable[[], object] = lambda: None,
) -> RoadNetwork:
    """Read roads from a stream of decompressed bytes; call `step` while reading."""
    osmium = import_extra("osmium", "osm")
    left_out = LeftOut()
    roads = Roads(osmium.InvalidLocationError)
    kinds = {*profile.speeds, *profile.permitted}
    wanted = [("highway", kind) for kind in kinds.union(profile.delays)]
    wanted += [("barrier", kind) for kind in {*profile.barriers, *GATES}]
    wanted += [("route", "ferry"), ("type", "restriction")]
    # (osmium's iterator does not keep them alive)
    chosen = osmium.filter.TagFilter(*wanted)
    places = osmium.index.create_map(_LOCATIONS)
    locate = osmium.NodeLocationsForWays(places)
    locate.ignore_errors()
    pool = osmium.io.ThreadPool()
    lines, every = osmium.geom.WKBFactory(), osmium.geom.use_nodes.ALL
    try:
        for buffer, kind in _buffers(stream, step):
            source = osmium.io.FileBuffer(buffer, kind)
            with osmium.io.Reader(source, osmium.osm.ALL, thread_pool=pool) as reader:
                for thing in osmium.OsmFileIterator(reader, locate, chosen):
                    if thing.is_node():
                        roads.add_node(thing, profile)
                    elif thing.is_relation():
                        relation = read_relation(thing, profile, left_out)
                        roads.relations += [relation] if relation else []
                    elif road_class(thing.tags.get) in kinds:
                        roads.add_way(thing, profile, left_out, lines, every)
    except RuntimeError as error:  # all that osmium raises about a file
        raise GraphFormatError(f"osmium cannot read the file: {error}", path=path) from None
    except _files.DAMAGED_STREAM as error:
        _files.refuse_damage(error, path)
    if not roads.ways:
        message = f"the file holds no road for the profile {profile.name!r}"
        raise GraphFormatError(message, path=path)
    return cut_ways(roads, profile, inside, shapes, left_out, path)


def _buffers(stream: Any, step: Callable[[], object]) -> Iterator[tuple[bytes, str]]:
    """Yield the parts of a file, each readable by osmium on its own, and their format.

    XML is one part. A PBF file is a row of blobs, the first of which is the header; each part has
    the header and some more.
    """
    if not _files.is_pbf(stream.peek(_files.PEEKED_BYTES)):
        part = bytearray()
        while piece := stream.read(_PART):
            part += piece
            step()
        yield bytes(part), "osm"
        return
    header = _read_blob(stream)
    part = bytearray(header)
    while blob := _read_blob(stream):
        part += blob
        if len(part) > _PART:
            step()
            yield bytes(part), "pbf"
            part = bytearray(header)
    step()
    yield bytes(part), "pbf"


def _read_blob(stream: Any) -> bytes:
    """Read a blob of a PBF file with its header, which holds its length; b"" at the end."""
    prefix = stream.read(4)
    header = stream.read(int.from_bytes(prefix, "big"))
    # a tag of one byte, then a number, or a length and so many bytes
    size = place = 0
    while place < len(header):
        tag, place = header[place], place + 1
        number = shift = 0
        while place < len(header):  # seven bits a byte, the eighth tells whether more follow
            byte, place = header[place], place + 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        place += number if tag & 7 == 2 else 0
        size = number if tag == _DATA_SIZE else size
    data = stream.read(size)
    if prefix and (not header or len(data) < size):
        raise RuntimeError("it is cut short")
    return bytes(prefix + header + data)
