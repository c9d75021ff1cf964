"""Isochrone and service areas: polygons of all points near the reached parts of streets.

A buffer of every street, joined by GEOS, takes a minute for a city. Here the distances from the
streets are found on the points of a grid, a sixth of the width apart, and the boundary is drawn
where they equal the width (marching squares: W. E. Lorensen and H. E. Cline, Marching cubes,
SIGGRAPH 1987). In each cell of the grid the inside is convex parts, which only grow as distances
fall, and boundaries of one area do not touch. So areas are valid, and nested, by construction;
details smaller than a cell are lost.

The grid lies in Mercator's projection, which stretches all directions alike: at every street the
width is stretched as the map is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sssp.errors import NegativeWeightError, import_extra
from sssp.graph.check_arrays import is_real
from sssp.graph.csr import tails_of
from sssp.graph.drawing import MOST_LATITUDE, street_arcs
from sssp.graph.graph import Graph
from sssp.graph.sphere import EARTH_RADIUS, locate_vertices, mercator
from sssp.graph.weights import closed_weight, converted
from sssp.kernels.dtypes import FLOAT64, INT64, Array
from sssp.kernels.jit import njit

#: between two points of the grid, in widths
SPACING = 1 / 6
#: how far from a line distances are found, in widths: at both ends of every side that a boundary
#: crosses, even where two facilities meet
REACH = 1 + 2 * SPACING
#: cells of a tile's side; tiles are filled one after the other, where there are lines
TILE = 128
#: a boundary crosses the side of a cell at least so far from its ends, as a part of the side
LEAST_PART = 1 / 64
#: in widths; what is nearer by less is as near (the map's stretch varies along a street)
TIE = 1e-3
#: of a street, as a part of it; less is a difference of rounding
LEAST_TAKEN = 1e-9
#: widths in metres: smaller ones give more points than can be drawn, and a map of Mercator's
#: is no longer like the earth within greater ones
LEAST_WIDTH, MOST_WIDTH = 1, 100_000


@njit
def _lower_kernel(lines, widths, first_column, first_row, squares):
    """Lower each grid point's squared distance to the nearest line, if a given line is nearer.

    Points of two tiles get the same numbers in both, to the bit.

    Parameters
    ----------
    lines : float64 (k, 4)
        x and y of both ends, in steps of the grid.
    widths : float64 (k,)
    first_column, first_row : int
        Where the tile begins.
    squares : float64 (rows, columns)
        Written within `REACH` of the lines.
    """
    rows, columns = squares.shape
    for i in range(len(lines)):
        x, y, width = lines[i, 0], lines[i, 1], widths[i]
        dx, dy = lines[i, 2] - x, lines[i, 3] - y
        around = REACH * width
        left = max(math.ceil(min(x, x + dx) - around) - first_column, 0)
        right = min(math.floor(max(x, x + dx) + around) - first_column, columns - 1)
        bottom = max(math.ceil(min(y, y + dy) - around) - first_row, 0)
        top = min(math.floor(max(y, y + dy) + around) - first_row, rows - 1)
        square = dx * dx + dy * dy
        shrink = 1.0 / square if square > 0.0 else 0.0
        unit = 1.0 / (width * width)
        for row in range(bottom, top + 1):
            found = squares[row]
            b = first_row + row - y
            for column in range(left, right + 1):
                a = first_column + column - x
                t = min(max((a * dx + b * dy) * shrink, 0.0), 1.0)
                u, v = a - t * dx, b - t * dy
                found[column] = min(found[column], (u * u + v * v) * unit)


@njit
def _part_inside(inside, outside):
    """Return the fraction of a cell side inside the contour, from the levels at both ends."""
    return min(max(inside / (inside - outside), LEAST_PART), 1.0 - LEAST_PART)


@njit
def _contour_kernel(levels, first, stride, sides, places):
    """Find the line segments (pieces) around the area of negative grid values; return their number.

    Parameters
    ----------
    levels : float64 (rows, columns)
        At the points of a tile.
    first, stride : int
        The number of its first point, and how many points a row of the whole grid has.
    sides : int64 (4 rows columns, 2)
        Written: the sides of cells where a piece begins and ends; twice the number of a point is
        the side to the right of it, and one more is that above it.
    places : float64 (4 rows columns, 2)
        Written: where a piece begins, in columns and rows.
    """
    count = 0
    corners = np.empty(4)
    for row in range(levels.shape[0] - 1):
        for column in range(levels.shape[1] - 1):
            # against the clock; side i of a cell leads from corner i to the next one
            corners[0], corners[1] = levels[row, column], levels[row, column + 1]
            corners[2], corners[3] = levels[row + 1, column + 1], levels[row + 1, column]
            code = 0
            for i in range(4):
                code |= int(corners[i] < 0.0) << i
            if code == 0 or code == 15:
                continue
            corner = first + row * stride + column
            names = (2 * corner, 2 * corner + 3, 2 * (corner + stride), 2 * corner + 1)
            for i in range(4):
                last, beyond = corners[i], corners[(i + 1) % 4]
                if not (last < 0.0 and beyond >= 0.0):
                    continue
                # corners inside that lie side by side are cut off together, others apart
                start = i
                while corners[start] < 0.0:
                    start = (start + 3) % 4
                sides[count, 0], sides[count, 1] = names[i], names[start]
                t = _part_inside(last, beyond)
                x, y = (t, 1.0, 1.0 - t, 0.0)[i], (0.0, t, 1.0, 1.0 - t)[i]
                places[count, 0], places[count, 1] = column + x, row + y
                count += 1
    return count


@njit
def _rings_kernel(after, order, firsts):
    """Join the pieces of isochrone boundaries into closed rings; return the number of rings.

    Parameters
    ----------
    after : int64 (k,)
        The piece that begins where a piece ends.
    order : int64 (k,)
        Written: pieces, ring by ring.
    firsts : int64 (k + 1,)
        Written: where rings begin in `order`, and where the last one ends.
    """
    seen = np.zeros(after.size, np.bool_)
    rings = count = 0
    for piece in range(after.size):
        if seen[piece]:
            continue
        firsts[rings] = count
        rings += 1
        while not seen[piece]:
            seen[piece] = True
            order[count] = piece
            count += 1
            piece = after[piece]
    firsts[rings] = count
    return rings


class Streets(NamedTuple):
    """Streets, each with the shortest-path distances to both ends and the weights both ways.

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n, 2)
        Longitude and latitude of all vertices.
    ends : ndarray of int, shape (2, k)
        Vertices.
    begins : ndarray of int, shape (2, k)
        The vertices that they are entered from, of the graph that is searched.
    distances : ndarray of float64, shape (2, k)
        With what turning in costs; inf for unreached.
    weights : ndarray of float64, shape (2, k)
        Of the street, entered from the first and from the second end; inf if that is closed.
    """

    coordinates: Array
    ends: Array
    begins: Array
    distances: Array
    weights: Array

    @classmethod
    def of(
        cls,
        graph: Graph,
        distances: Callable[[], Array],
        weights: Array | None,
        *,
        towards: bool = False,
    ) -> Streets:
        """Return a graph's streets, with distances at their ends and weights in both directions.

        Parameters
        ----------
        distances : callable
            Returns them, shape (n,), or with turns those of all vertices of the expansion.
        weights : ndarray, shape (m,), or None
            What the distances are sums of; None: numbers of streets, whatever turns cost.
        towards : bool
            Whether the paths lead to where the search began, so that it went against the arcs.

        Raises
        ------
        ValueError
            No coordinates in degrees, or too near to a pole.
        NegativeWeightError
        """
        coordinates, box = locate_vertices(graph, ", so it has no areas")
        if max(-box.south, box.north) > MOST_LATITUDE:
            raise ValueError(
                f"areas are drawn up to {MOST_LATITUDE} degrees of latitude, and this graph goes "
                f"from {box.south} to {box.north}"
            )
        arcs, twins = street_arcs(graph)
        if weights is None:
            weights = np.ones(graph.m)
            graph = graph if graph.turns is None else graph._counting_streets()
        costs = weights.astype(FLOAT64)
        costs[graph.weights == closed_weight(graph.weights.dtype)] = np.inf
        if costs.min(initial=0) < 0:
            raise NegativeWeightError(
                f"an arc weighs {costs.min()}: areas need weights of 0 or more, for a street is "
                "cut where a limit falls on it"
            )
        sides = np.stack([twins, arcs] if towards else [arcs, twins])
        # (unreached is what a closed arc weighs)
        known = converted(distances(), FLOAT64)
        # for each arc the searched vertex at which it begins, and the distance there
        if graph.turns is None:
            begins = graph.indices if towards else graph.tails
            starts = known[begins]
        else:
            turns, expansion = graph.turns, graph.turns.expansion
            begins = expansion.indices if towards else tails_of(expansion.indptr)
            starts = known[begins]
            # (an arc of the expansion costs its turn first, and one of a reversed expansion last)
            if turns.backward == towards:
                starts += np.append(converted(turns.costs, FLOAT64), 0)[expansion.turn_of]
            order = np.lexsort((starts, expansion.arc_of))
            order = order[expansion.arc_of[order] >= 0]
            # (a trip may begin with any arc, so each is there)
            _, least = np.unique(expansion.arc_of[order], return_index=True)
            begins, starts = begins[order[least]], starts[order[least]]
        entered = np.where(sides >= 0, costs[sides], np.inf)
        ends = np.stack([graph.tails[arcs], graph.indices[arcs]])
        return cls(coordinates, ends, begins[sides], starts[sides], entered)

    def reached(self, limit: float) -> Array:
        """Return the fraction of each street reached from each of its ends: float64, shape (2, k).

        An arc is cut where the limit falls on it, and where those from both ends meet.
        """
        (near, far), (there, back) = self.distances, self.weights
        with np.errstate(invalid="ignore", divide="ignore"):
            within = np.fmin(np.fmax((limit - self.distances) / self.weights, 0), 1)
            meeting = (far + back - near) / (there + back)
        is_reached = np.isfinite(self.distances) & (self.distances <= limit)
        within[is_reached & (self.weights == 0)] = 1
        meeting = np.select([np.isinf(back), np.isinf(there)], [1.0, 0.0], meeting)
        # (of a street of weight 0 whose ends are equally far, a half each)
        meeting = np.clip(np.nan_to_num(meeting, nan=0.5), 0, 1)
        return np.minimum(within, [meeting, 1 - meeting])


class Lines(NamedTuple):
    """Lines in Mercator coordinates, each with a width and the number of the area it belongs to.

    Attributes
    ----------
    places : ndarray of float64, shape (k, 4)
        x and y of both ends, in metres on the equator, or in steps of the grid.
    widths : ndarray of float64, shape (k,)
        In the same unit of the map at each line.
    marks : ndarray of int, shape (k,)
        Which area a line is of.
    """

    places: Array
    widths: Array
    marks: Array

    def take(self, chosen: Any) -> Lines:
        """Return the lines that an index array or a mask chooses."""
        return Lines(*(column[chosen] for column in self))


def draw_areas(
    streets: Streets, parts: Array, marks: Array, dots: Array, width: float, *, apart: bool = False
) -> dict[int, Any]:
    """Return a dict from area number (mark) to the `shapely.MultiPolygon` around its streets.

    Boundaries are drawn on a grid around the lines, tile by tile, from the lines near a tile.

    Parameters
    ----------
    parts : ndarray of float64, shape (p, 2, k)
        How much of each street is taken from either end, p times over.
    marks : ndarray of int, shape (p, 2, k)
    dots : ndarray of int, shape (d, 2)
        Vertices and their marks: lines of length zero.
    width : float
        In metres.
    apart : bool
        Whether a point is of the nearest line's mark alone; else of all greater marks, too.

    Raises
    ------
    ValueError, TypeError
        No such width.
    """
    if not is_real(width):
        raise TypeError(f"width must be a number of metres, not {width!r}")
    if not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise ValueError(f"width must be {LEAST_WIDTH} to {MOST_WIDTH:,} metres, not {width}")
    taken = parts > LEAST_TAKEN
    _, side, street = np.nonzero(taken)
    starts, stops = (
        mercator(streets.coordinates[np.append(streets.ends[end, street], dots[:, 0])])
        for end in (side, 1 - side)
    )
    if not len(starts):
        return {}
    ways = np.append(parts[taken], np.zeros(len(dots)))[:, None] * (stops - starts)
    # a map of Mercator's is stretched by one by the cosine of the latitude: cosh of y
    widths = width * np.cosh((starts + ways / 2)[:, 1] / EARTH_RADIUS)
    own_marks = np.append(marks[taken], dots[:, 1])
    step = SPACING * widths.min()
    # (uneven, so that hardly a line is just the width from a row of points)
    around = (REACH + SPACING) * widths.max() + step * np.array([0.37, 0.41])
    origin = np.minimum(starts, starts + ways).min(axis=0) - around
    # in steps of the grid, and cut into pieces no longer than a tile
    starts, ways = (starts - origin) / step, ways / step
    line, piece, count = _within(np.maximum(np.ceil(np.hypot(*ways.T) / TILE), 1))
    ends = [starts[line] + ways[line] * (piece + i)[:, None] / count[:, None] for i in (0, 1)]
    lines = Lines(np.hstack(ends), widths[line] / step, own_marks[line])
    around = REACH * lines.widths[:, None]
    low = ((np.minimum(*ends) - around) // TILE).astype(INT64)
    high = ((np.maximum(*ends) + around) // TILE).astype(INT64)
    columns = int(high[:, 0].max()) + 1
    wide, tall = (high - low + 1).T
    line, number, _ = _within(wide * tall)
    row, column = np.divmod(number, wide[line])
    tile = (low[line, 1] + row) * columns + low[line, 0] + column
    order = np.lexsort((lines.marks[line], tile))
    tiles, near = tile[order], line[order]

    sides, begins = np.empty((4 * TILE**2, 2), INT64), np.empty((4 * TILE**2, 2))
    stride, level = columns * TILE + 1, _divide if apart else _nest
    all_marks = np.unique(own_marks)
    found: dict[int, Any] = {mark: [] for mark in all_marks.tolist()}
    for first, last in pairwise(np.flatnonzero(np.diff(tiles, prepend=-1, append=-1))):
        above, left = divmod(int(tiles[first]), columns)
        corner = left * TILE, above * TILE
        for mark, levels in level(lines.take(near[first:last]), all_marks, corner):
            size = _contour_kernel(levels, corner[1] * stride + corner[0], stride, sides, begins)
            found[mark].append((sides[:size].copy(), begins[:size] + corner))
    areas = {}
    for mark, pieces in found.items():
        named, placed = (np.concatenate(part) for part in zip(*pieces, strict=True))
        begin, end = named.T
        order = np.argsort(begin)
        after = order[np.searchsorted(begin, end, sorter=order)]
        order, firsts = np.empty(after.size, INT64), np.empty(after.size + 1, INT64)
        rings = _rings_kernel(after, order, firsts)
        areas[mark] = _polygons(placed[order] * step + origin, firsts[: rings + 1])
    return areas


def _nest(lines: Lines, marks: Array, corner: tuple[int, int]) -> Iterator[tuple[int, Array]]:
    """Yield each distance limit's index, and a grid of values negative inside its isochrone."""
    squares = np.full((TILE + 1, TILE + 1), REACH**2)
    cuts = [0, *np.searchsorted(lines.marks, marks, "right").tolist()]
    for mark, start, end in zip(marks.tolist(), cuts[:-1], cuts[1:], strict=True):
        _lower_kernel(lines.places[start:end], lines.widths[start:end], *corner, squares)
        yield mark, np.sqrt(squares) - 1


def _divide(lines: Lines, _: Array, corner: tuple[int, int]) -> Iterator[tuple[int, Array]]:
    """For each service area, yield the area's index and a grid that is negative inside the area."""
    marks = np.unique(lines.marks)
    distances = np.full((marks.size, TILE + 1, TILE + 1), REACH**2)
    for mark, squares in zip(marks, distances, strict=True):
        own = lines.take(lines.marks == mark)
        _lower_kernel(own.places, own.widths, *corner, squares)
    np.sqrt(distances, out=distances)
    for number, mark in enumerate(marks.tolist()):
        own = distances[number]
        levels = own - 1
        # where streets lie on each other, or end alike, the smaller mark's is taken to be nearer
        for others, tie in ((distances[:number], SPACING), (distances[number + 1 :], -SPACING)):
            behind = own - others.min(axis=0, initial=np.inf)
            behind[np.abs(behind) < TIE] = tie
            np.maximum(levels, behind, out=levels)
        yield mark, levels


def _polygons(places: Array, firsts: Array) -> Any:
    """Convert rings in Mercator metres to one `shapely.MultiPolygon` in degrees.

    Parameters
    ----------
    places : ndarray of float64, shape (k, 2)
        On the map, ring by ring; the inside is on the left.
    firsts : ndarray of int64, shape (rings + 1,)
    """
    shapely = import_extra("shapely", "geo")
    if not len(places):
        return shapely.MultiPolygon()
    lon, lat = places.T / EARTH_RADIUS
    degrees = np.degrees(np.stack([lon, np.arctan(np.sinh(lat))], axis=1))
    ring, _, _ = _within(np.diff(firsts))
    rings = shapely.linearrings(degrees, indices=ring)
    filled, is_shell = shapely.polygons(rings), shapely.is_ccw(rings)
    shells, holes = np.flatnonzero(is_shell), np.flatnonzero(~is_shell)
    # a hole is of the smallest ring around it
    tree = shapely.STRtree(shapely.points(degrees[firsts[holes]]))
    shell, hole = tree.query(filled[shells], predicate="contains")
    smallest_last = np.argsort(-shapely.area(filled)[shells[shell]], kind="stable")
    owner = np.empty(rings.size, INT64)
    owner[shells] = np.arange(shells.size)
    owner[holes[hole[smallest_last]]] = shell[smallest_last]
    # (of the rings of a polygon the first one is its shell)
    order = np.lexsort((~is_shell, owner))
    return shapely.multipolygons(shapely.polygons(rings[order], indices=owner[order]))


def _within(counts: Array) -> tuple[Array, Array, Array]:
    """Return for each member of consecutive groups: its group, index in it, and group size."""
    sizes = counts.astype(INT64)
    group = np.repeat(np.arange(sizes.size), sizes)
    return group, np.arange(group.size) - (np.cumsum(sizes) - sizes)[group], sizes[group]
