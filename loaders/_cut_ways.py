"""Convert roads of OpenStreetMap to rows: all ways are cut at junctions in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError
from sssp.loaders._files import Pathname
from sssp.loaders._profiles import Profile
from sssp.loaders._restrictions import LeftOut, Rows, Turns, places_of, resolve_turns

Array = NDArray[Any]

#: the credit that has to stand wherever the data is shown or passed on
ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0 (openstreetmap.org/copyright)"
#: metres, as `Graph.nearest_vertex` has it
EARTH_RADIUS = 6371008.8
#: kilometres an hour in a metre a second
KMH = 3.6


class RoadNetwork(NamedTuple):
    """The roads of an OpenStreetMap file for one profile; rows are arcs.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        OpenStreetMap's id of each vertex, ascending.
    coordinates : ndarray of float64, shape (n, 2)
        Longitude and latitude in degrees.
    tails, heads : ndarray of int32, shape (k,)
        Vertices.
    seconds : ndarray of float64, shape (k,)
        Time to drive, cycle or walk a row, with the delays at nodes on it and at its head.
    columns : dict of str to ndarray, shape (k,)
        ``way`` (int64), ``name`` and ``highway`` (objects: str), ``length`` (metres, float64),
        ``speed`` (kilometres an hour, float64). With ``shapes=True`` also ``shape_points``
        (degrees, float64, shape (points, 2)) and ``shape_offsets`` (int64, shape (k + 1,)):
        ``shape_points[shape_offsets[row]:shape_offsets[row + 1]]`` leads from tail to head.
    turns : Turns
        Restrictions, as rows.
    report : dict
        What was read, and what was left out, and why.
    """

    ids: Array
    coordinates: Array
    tails: Array
    heads: Array
    seconds: Array
    columns: dict[str, Array]
    turns: Turns
    report: dict[str, Any]


def cut_ways(
    roads: Any, profile: Profile, inside: Any, shapes: bool, left_out: LeftOut, path: Pathname
) -> RoadNetwork:
    """Cut the ways at vertices, and convert the pieces to rows.

    Parameters
    ----------
    roads : sssp.loaders._osm.Roads
        At least one way.
    profile, inside, shapes, path
        As for `read_osm`.
    left_out : LeftOut
        Goes into the report.
    """
    refs = np.frombuffer(roads.refs, np.int64)
    points = np.frombuffer(roads.points, np.float64).reshape(-1, 2)
    way = np.repeat(np.arange(len(roads.ways)), roads.counts)
    # (a node that a way names twice in a row is named once)
    new = np.ones(refs.size, bool)
    new[1:] = (refs[1:] != refs[:-1]) | (way[1:] != way[:-1])
    refs, points, way = refs[new], points[new], way[new]
    # nodes of ways that have coordinates, within the area
    usable = np.isfinite(points[:, 0])
    if not usable.any():
        raise GraphFormatError(
            f"no node of way {roads.ways[0]} stands before it in the file; `osmium sort` brings "
            "nodes, ways and relations in order",
            path=path,
        )
    ways = np.sort(roads.ways)
    twice = ways[1:][ways[1:] == ways[:-1]]
    if twice.size:
        raise GraphFormatError(
            f"way {twice[0]} stands in the file more than once, as in a "
            "history; `osmium time-filter` makes a file of one day of it",
            path=path,
        )
    if inside is not None:
        usable[usable] = inside(*points[usable].T)
    for broken in np.unique(way[~usable]).tolist():
        left_out("ways cut where nodes are missing or outside", f"way {roads.ways[broken]}")
    ids, place, node = np.unique(refs, return_index=True, return_inverse=True)
    # (of a barrier at a crossing it is unknown which road it closes)
    barriers = places_of(roads.blocked, ids)
    ends_there = _degrees(_join(usable, way), node)[barriers]
    closed = barriers[(barriers >= 0) & (ends_there <= 2)]
    for barrier in closed.tolist():
        left_out("nodes closed by a barrier", f"node {ids[barrier]}")
    passable = np.ones(ids.size, bool)
    passable[closed] = False
    joined = _join(usable & passable[node], way)
    metres = np.zeros(refs.size)
    metres[:-1] = metres_between(points[:-1], points[1:])
    speeds = np.frombuffer(roads.speeds, np.float64).reshape(-1, 2)
    first, last, rows, along, tails, heads = _find_pieces(joined, node, speeds[way] > 0, metres)
    if not rows.size:
        raise GraphFormatError("no road of the file lies in that area", path=path)
    length = _sums(metres, first, last)[rows]
    of_way = way[first][rows]
    speed = speeds[of_way, np.where(along, 0, 1)]
    # the delays at the nodes within each row and at its head
    delays = np.array(list(roads.delays.values()), np.float64).reshape(-1, 2)
    delayed = places_of(np.fromiter(roads.delays, np.int64, len(roads.delays)), ids)
    at = np.zeros((ids.size, 2))
    at[delayed[delayed >= 0]] = delays[delayed >= 0]
    forward, backward = at[node].T
    ahead = _sums(np.append(forward[1:], 0.0), first, last)[rows]
    delay = np.where(along, ahead, _sums(backward, first, last)[rows])
    seconds = length / (speed / KMH) + delay
    is_vertex = np.zeros(ids.size, bool)
    is_vertex[tails] = is_vertex[heads] = True
    number = np.cumsum(is_vertex, dtype=np.int32) - np.int32(1)
    ids, place, tails, heads = ids[is_vertex], place[is_vertex], number[tails], number[heads]
    ways = np.frombuffer(roads.ways, np.int64)[of_way]
    columns: dict[str, Array] = {"way": ways, "length": length, "speed": speed}
    for name, texts in (("name", roads.names), ("highway", roads.kinds)):
        columns[name] = np.array(texts, object)[of_way]
    if shapes:  # the points of each row from tail to head, row after row
        counts = (last - first)[rows] + 1
        offsets = np.concatenate(([0], np.cumsum(counts)))
        step = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        begin = np.repeat(np.where(along, first[rows], last[rows]), counts)
        places = begin + np.where(np.repeat(along, counts), step, -step)
        columns |= {"shape_offsets": offsets, "shape_points": points[places]}
    turns, met = resolve_turns(roads.relations, Rows(ids, tails, heads, ways, along), left_out)
    report = {
        "attribution": ATTRIBUTION,
        "profile": profile.name,
        "ways": len(roads.ways),
        "restrictions": met,
        "left_out": left_out.cases,
    }
    return RoadNetwork(ids, points[place], tails, heads, seconds, columns, turns, report)


def _join(usable: Array, way: Array) -> Array:
    joined = np.zeros(way.size, bool)
    joined[:-1] = usable[:-1] & usable[1:] & (way[:-1] == way[1:])
    return joined


def _degrees(joined: Array, node: Array) -> Array:
    """Count the parts of ways that end at each node."""
    ends = np.concatenate((node[joined], node[1:][joined[:-1]]))
    return np.bincount(ends, minlength=int(node.max()) + 1)


def _find_pieces(
    joined: Array, node: Array, is_open: Array, metres: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Cut between vertices: where ways meet or end, and in loops and parallel streets.

    A graph keeps one arc between two vertices, and no arc from a vertex to itself. A street that
    leads between the same two vertices as a shorter one, or back to where it began, is cut once
    more at a node in its middle, so that it stays.

    Returns
    -------
    first, last : ndarray of int64, shape (pieces,)
        Where the pieces, parts of ways between two vertices, begin and end in the list of the
        nodes of all ways.
    rows : ndarray of int64, shape (k,)
        The piece of each row: a piece in a direction that is open.
    along : ndarray of bool, shape (k,)
        Whether a row goes as its way does.
    tails, heads : ndarray of int64, shape (k,)
        Nodes.
    """
    after = np.zeros_like(joined)  # joined to the one before
    after[1:] = joined[:-1]
    is_vertex = _degrees(joined, node) > 2
    is_vertex[node[joined != after]] = True
    while True:
        # (where one ends the next one that begins is another)
        places = np.flatnonzero(is_vertex[node] & (joined | after))
        begins = np.flatnonzero(joined[places])
        first, last = places[begins], places[begins + 1]
        rows, direction = np.nonzero(is_open[first])
        along = direction == 0
        tails = node[np.where(along, first[rows], last[rows])]
        heads = node[np.where(along, last[rows], first[rows])]
        # rows that are loops, or parallel to a shorter row
        ends = tails * (heads.max(initial=0) + 1) + heads
        order = np.lexsort((_sums(metres, first, last)[rows], ends))
        lost = tails == heads
        lost[order[1:][np.diff(ends[order]) == 0]] = True
        again = lost & (last - first > 1)[rows]
        if not again.any():
            return first, last, rows, along, tails, heads
        is_vertex[node[(first + last)[rows[again]] // 2]] = True


def metres_between(points: Array, others: Array) -> Array:
    """Return the distances of points, in degrees, on a sphere: the haversine formula."""
    (x, y), (u, v) = np.radians(points).T, np.radians(others).T
    half = np.sin((v - y) / 2) ** 2 + np.cos(y) * np.cos(v) * np.sin((u - x) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(half))  # type: ignore[no-any-return]


def _sums(values: Array, first: Array, last: Array) -> Array:
    """Add up ``values[first:last]`` for each piece."""
    ends = np.stack((first, last), axis=1).ravel()
    return np.add.reduceat(values, ends)[::2] if ends.size else np.zeros(0)
