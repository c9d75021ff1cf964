"""Drawings of networks on Matplotlib axes: few arcs as lines, many as an image.

An image is drawn here, in one pass over the lines, for Matplotlib takes minutes for many. A line
leaves ink on the pixels that it passes, in proportion to its length and width there; a pixel gets
the mean colour of its ink, and is as opaque as it has ink. So an image does not depend on the order
of the lines, and shows where they are dense even when they are much thinner than a pixel.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import import_extra
from sssp.graph.csr import seal, twins_of
from sssp.graph.sphere import EARTH_RADIUS, Box, are_degrees, locate_vertices
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import Array, unreached
from sssp.kernels.jit import njit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: up to so many lines are drawn as lines, more as an image: 2 MB of SVG, a quarter of a second
LINES_MOST = 10_000
#: networks lie above images, such as a map of the country, and below Matplotlib's lines
NETWORK_ORDER = 1
#: what is not reached, or carries nothing
GREY = "0.8"
#: grades of a scale of colours; a line's grade is a byte
GRADES = 256
#: of a figure made here, in inches: the longer side of the map, and the least of the shorter one
LONG_SIDE, SHORT_SIDE = 7.0, 3.5
#: of images; twice what a screen shows, so that they stay sharp in print
DOTS_PER_INCH = 200
#: room for a scale of colours beside a map, in inches
BAR_WIDTH = 1.1
#: the part of viridis that can be seen on white
VISIBLE_PART = 0.88
#: pixels of an image's side; a GiB of ink
MOST_PIXELS = 8_000
#: free space around what is shown, as a part of its longer side
MARGIN = 0.03
#: what is shown is at least this part of the graph's longer side
LEAST_PART = 0.02
#: a graph of one point is shown so large, in degrees
LEAST_EXTENT = 1e-3
#: widths of lines in points: as a part of the distance between them, at least, at most
PART_OF_SPACING, LEAST_WIDTH, MOST_WIDTH = 0.15, 0.03, 1.5
#: lines whose colour says something are wider by this factor, and at least so wide
BOLDNESS, LEAST_BOLD_WIDTH = 2, 0.3
#: of the line that carries most
MOST_FLOW_WIDTH = 6.0
#: near the poles a degree of longitude is next to nothing: maps are drawn as if at this latitude
MOST_LATITUDE = 85
#: loads that the legend of flows shows
SHOWN_LOADS = 3
POINTS_PER_INCH = 72
#: red, green, blue, and how much ink there is
CHANNELS = 4
#: pixels around an image that a line through its edge may still touch
EDGE = 2
#: of a path and the casing that sets it off from the network, in points
PATH_WIDTH, CASING_WIDTH = 2.5, 5.0
#: orange-red: in no map of colours that is used here, and told from it by the colour-blind
PATH_COLOR = "#d62d20"
#: of sources, in points; of many of them
DOT_SIZE, SMALL_DOT_SIZE, MANY_DOTS = 7.0, 3.0, 20
#: of lines in the legend of bands, in points
LEGEND_WIDTH = 4.0
#: a notebook shows no picture of a graph of more arcs: it takes longer to draw than a reader
#: waits (New York's 730,100 take a second)
MOST_ARCS = 1_000_000
#: of a picture in a notebook, in inches; dots an inch; of letters, in points
SIDE, NOTEBOOK_DOTS_PER_INCH, LETTERS = 4.0, 100, 8


class Unit(NamedTuple):
    """A unit in which distances are shown: its name, and its size in units of the weights."""

    name: str
    size: float

    def of(self, distances: Any) -> Any:
        """Convert distances from units of the weights to this unit."""
        return distances if self.size == 1 else distances / self.size

    def text(self, distance: float) -> str:
        """Convert a distance from units of the weights to this unit, and return it as text."""
        number = distance if self.size == 1 else f"{distance / self.size:.6g}"
        return f"{number} {self.name}" if self.name else str(number)


@njit
def _clip(start, step, least, most, begin, end):
    """Clip the interval ``[begin, end]`` to the t where ``start + t * step`` is within bounds.

    One side of the algorithm of Liang and Barsky (1984); nothing is left where ``begin > end``.
    """
    if step == 0.0:
        return (begin, end) if least <= start <= most else (1.0, 0.0)
    near, far = (least - start) / step, (most - start) / step
    return max(begin, min(near, far)), min(end, max(near, far))


@njit
def _drop(ink, x, y, red, green, blue, amount):
    """Add an amount of colour to the four pixels around a point, with bilinear weights."""
    column, row = math.floor(x), math.floor(y)
    right, below = x - column, y - row
    for down in range(2):
        for across in range(2):
            part = amount * (right if across else 1 - right) * (below if down else 1 - below)
            pixel = ink[row + down, column + across]
            pixel[0] += part * red
            pixel[1] += part * green
            pixel[2] += part * blue
            pixel[3] += part


@njit
def _ink_kernel(points, tails, heads, shades, colors, widths, west, north, across, down, edge, ink):
    """Draw antialiased lines: add the colour and coverage of every line to an image's pixels.

    Parameters
    ----------
    points : float64 (n, 2)
        Where vertices are.
    tails, heads : int32 (k,)
        Ends of the lines.
    shades : uint8 (k,)
        Rows of `colors` and `widths`.
    colors : float64 (p, 4)
        Red, green, blue, opacity.
    widths : float64 (p,)
        In pixels.
    west, north, across, down : float64
        The corner of the image, and pixels for each unit to the east and to the south.
    edge : int
        How many pixels more than the image `ink` has on every side.
    ink : float32 (height + 2 edge, width + 2 edge, 4)
        Sums of ink times colour, and of ink; written.
    """
    bottom, right = ink.shape[0] - 2 * edge + 1.0, ink.shape[1] - 2 * edge + 1.0
    for i in range(tails.size):
        tail, head, shade = tails[i], heads[i], shades[i]
        x, y = (points[tail, 0] - west) * across, (north - points[tail, 1]) * down
        dx = (points[head, 0] - west) * across - x
        dy = (north - points[head, 1]) * down - y
        begin, end = _clip(x, dx, -1.0, right, 0.0, 1.0)
        begin, end = _clip(y, dy, -1.0, bottom, begin, end)
        if begin > end:
            continue
        whole = math.hypot(dx, dy)
        length = whole * (end - begin)
        if length == 0.0:
            continue
        drops = math.ceil(length)
        strands = math.ceil(widths[shade])
        amount = length / drops * widths[shade] / strands * colors[shade, 3]
        apart = widths[shade] / strands / whole
        for strand in range(strands):
            aside = (strand - (strands - 1) / 2) * apart
            for drop in range(drops):
                t = begin + (end - begin) * (drop + 0.5) / drops
                # the centre of a pixel is half a pixel from its corner
                _drop(
                    ink, x + t * dx - aside * dy + edge - 0.5, y + t * dy + aside * dx + edge - 0.5,
                    colors[shade, 0], colors[shade, 1], colors[shade, 2], amount,
                )  # fmt: skip


#: of the bar of a scale and of credits: points, colour, greatest part of the width of a map
SMALL, INK, BAR_PART = 7, "0.25", 0.25
KM_PER_DEGREE = math.radians(EARTH_RADIUS) / 1000


class Style(NamedTuple):
    """The common arguments of `Graph.plot` and the other plotting methods.

    Attributes
    ----------
    ax : matplotlib.axes.Axes or None
        None makes a figure.
    extent : sequence of west, east, south, north, or None
        What is shown.
    colors : a colour, or a map of colours
    width : float or None
        Of lines, in points.
    unit, title : str
    credit : str or None
        Attribution of the data; None: that of the graph's file.
    """

    ax: Axes | None
    extent: Sequence[float] | None
    colors: Any
    width: float | None
    unit: str
    title: str
    credit: str | None


class Map:
    """A part of a network on axes in degrees, with equal scales to the east and to the north.

    Parameters
    ----------
    graph : Graph
    style : Style
        Without `extent` the vertices `around` are shown.
    around : ndarray of int or bool, or slice
        Vertices.
    beside : float
        How much wider than the map a figure made here is, in inches.
    """

    def __init__(
        self, graph: Any, style: Style, around: Any = slice(None), beside: float = 0
    ) -> None:
        import_extra("matplotlib", "plot")
        self.coordinates, whole = locate_vertices(graph, " to draw it by")
        self.graph, self.style = graph, style
        self._width, ax = check_width(style.width), style.ax
        if style.extent is None:
            self.box = _box_around(self.coordinates[around], whole)
        else:
            self.box = _check_extent(style.extent, whole)
        latitude = min(abs(self.box.south + self.box.north) / 2, MOST_LATITUDE)
        #: of a degree of latitude to one of longitude
        self.aspect = 1 / math.cos(math.radians(latitude))
        if ax is None:
            longest = max(self._sides)
            wide, high = (max(SHORT_SIDE, LONG_SIDE * side / longest) for side in self._sides)
            pyplot = import_extra("matplotlib.pyplot", "plot")
            _, ax = pyplot.subplots(figsize=(wide + beside, high), layout="constrained")
            ax.set_axis_off()
        self.ax: Axes = ax
        self._show_box()

    def label(self) -> Axes:
        """Write the title above the map, a scale in kilometres, and the attribution below it."""
        if self.style.title:
            self.ax.set_title(self.style.title, loc="left")
        look: dict[str, Any] = {"transform": self.ax.transAxes, "fontsize": SMALL, "color": INK}
        wide = self._sides[0] * KM_PER_DEGREE
        power = 10.0 ** math.floor(math.log10(wide * BAR_PART))
        km = max(step * power for step in (1, 2, 5) if step * power <= wide * BAR_PART)
        end, height = 0.02 + km / wide, 0.015
        self.ax.plot(
            [0.02, 0.02, end, end], [height + 0.012, height, height, height + 0.012], linewidth=1,
            color=INK, transform=self.ax.transAxes, scalex=False, scaley=False, zorder=4,
        )  # fmt: skip
        text = f"{km:g} km" if km >= 1 else f"{1000 * km:g} m"
        self.ax.text((0.02 + end) / 2, height + 0.015, text, ha="center", va="bottom", **look)
        if credit := self.graph._credit(self.style.credit):
            self.ax.text(1, -0.005, credit, ha="right", va="top", **look)
        return self.ax

    def _show_box(self) -> None:
        self.ax.set_aspect(self.aspect)
        self.ax.set_xlim(self.box.west, self.box.east)
        self.ax.set_ylim(self.box.south, self.box.north)

    @property
    def _sides(self) -> tuple[float, float]:
        """Width and height of the map's box in degrees, with longitude scaled to match latitude."""
        box = self.box
        return (box.east - box.west) / self.aspect, box.north - box.south

    @property
    def _inches(self) -> tuple[float, float]:
        """Width and height of the map's box as drawn on the figure, in inches."""
        window, dpi = self.ax.get_window_extent(), self.ax.figure.dpi
        east, north = self._sides
        scale = min(window.width / dpi / east, window.height / dpi / north)
        return east * scale, north * scale

    def in_view(self, streets: Array) -> Array:
        """Return a mask of streets, given as tails and heads: True if one may be visible."""
        (lon, lat), box = self.coordinates.T, self.box
        sides = [lon < box.west, lon > box.east, lat < box.south, lat > box.north]
        # (as bits of one number: both ends beyond the same side)
        tails, heads = np.packbits(sides, axis=0)[0, streets]
        return np.asarray((tails & heads) == 0)

    def streets_in_view(self) -> Array:
        """Return the lines of the network that may be visible: tails and heads, shape (2, k)."""
        arcs, _ = street_arcs(self.graph)
        streets = np.stack([self.graph.tails[arcs], self.graph.indices[arcs]])
        return streets[:, self.in_view(streets)]

    def widths(self, lines: int) -> tuple[float, float]:
        """Return two line widths in points for `lines` lines: a thin one and a bold one.

        Both are that of the style, if it says one.
        """
        if self._width is not None:
            return self._width, self._width
        wide, high = self._inches
        spacing = math.sqrt(wide * high / max(lines, 1)) * POINTS_PER_INCH
        thin = min(max(PART_OF_SPACING * spacing, LEAST_WIDTH), MOST_WIDTH)
        return thin, min(max(BOLDNESS * thin, LEAST_BOLD_WIDTH), MOST_WIDTH)

    def draw(self, streets: Array, colors: Any, widths: Any, grades: Array | None = None) -> None:
        """Draw arcs as lines, all in one colour or each in the colour of its class (`grades`).

        Parameters
        ----------
        streets : ndarray of int32, shape (2, k)
            Tails and heads.
        colors : a colour, or a map of colours
            Of all lines, or of their grades.
        widths : float, or ndarray of float64, shape (GRADES,)
            In points; of all lines, or by grade.
        grades : ndarray of uint8, shape (k,), or None
            The greatest lie on top. None: lines of one colour.
        """
        if grades is None:
            grades = np.zeros(streets.shape[1], np.uint8)
            palette = import_extra("matplotlib.colors", "plot").to_rgba_array(colors)
        else:
            palette = colors(np.linspace(0, 1, GRADES))
        widths = np.broadcast_to(np.asarray(widths, np.float64), len(palette))
        if streets.shape[1] > LINES_MOST:
            self._draw_image(streets, palette, widths, grades)
        else:
            order = np.argsort(grades, kind="stable")
            lines = self.coordinates[streets[:, order].T]
            look: dict[str, Any] = {"capstyle": "round", "zorder": NETWORK_ORDER}
            look |= {"colors": palette[grades[order]], "linewidths": widths[grades[order]]}
            collection = import_extra("matplotlib.collections", "plot").LineCollection
            self.ax.add_collection(collection(lines, **look), autolim=False)
        self._show_box()

    def _draw_image(self, streets: Array, colors: Array, widths: Array, grades: Array) -> None:
        """Draw lines as one raster image, computed in one pass over the lines."""
        dots = min(DOTS_PER_INCH, MOST_PIXELS / max(self._inches))
        wide, high = (max(1, round(side * dots)) for side in self._inches)
        widths = widths * dots / POINTS_PER_INCH
        edge = EDGE + math.ceil(widths.max(initial=0) / 2)
        ink = np.zeros((high + 2 * edge, wide + 2 * edge, CHANNELS), np.float32)
        west, south, east, north = self.box
        scale = wide / (east - west), high / (north - south)
        lines = map(seal, (self.coordinates, *streets, grades, colors, widths))
        _ink_kernel(*lines, west, north, *scale, edge, ink)
        image = _image_of(ink[edge : edge + high, edge : edge + wide])
        extent = (west, east, south, north)
        self.ax.imshow(image, extent=extent, aspect=self.aspect, zorder=NETWORK_ORDER)

    def mark(self, vertices: Array, **style: Any) -> None:
        """Draw dots at vertices."""
        dots = {"linestyle": "none", "marker": "o", "color": "white", "markeredgecolor": "black"}
        lon, lat = self.coordinates[vertices].T
        self.ax.plot(lon, lat, **{**dots, **style}, scalex=False, scaley=False)

    def color_bar(self, cmap: Any, least: float, greatest: float, label: str) -> None:
        """Draw a colour scale beside the map."""
        norm = import_extra("matplotlib.colors", "plot").Normalize(least, greatest)
        scale = import_extra("matplotlib.cm", "plot").ScalarMappable(norm, cmap)
        look: dict[str, Any] = {"shrink": 0.7, "format": lambda tick, _: amount(tick)}
        self.ax.figure.colorbar(scale, ax=self.ax, label=label, **look)

    def legend(self, colors: Any, widths: Sequence[float], labels: Sequence[str]) -> None:
        """Draw a legend of lines (colours, widths, labels) in the lower right corner."""
        line = import_extra("matplotlib.lines", "plot").Line2D
        handles = [
            line([], [], color=color, linewidth=width, label=label)
            for color, width, label in zip(colors, widths, labels, strict=True)
        ]
        self.ax.legend(handles=handles, loc="lower right")


def street_arcs(graph: Any) -> tuple[Array, Array]:
    """Return the positions of arcs to draw, one per street, and those of their reverse arcs.

    Returns
    -------
    arcs : ndarray of int64, shape (k,)
        Positions of open arcs, and only one of two that join the same two vertices.
    twins : ndarray of int, shape (k,)
        Positions of the others, closed ones too; -1 for none.
    """
    twins = twins_of(graph.indptr, graph.indices)
    closed = graph.weights == closed_weight(graph.weights.dtype)
    # (a position of -1 is that of the last arc, and does not count)
    drawn = (graph.tails < graph.indices) | (twins < 0) | closed[twins]
    arcs = np.flatnonzero(drawn & ~closed)
    return arcs, twins[arcs]


def draw_network(graph: Any, style: Style) -> Axes:
    """Draw the streets of a network as lines of one colour; implements `Graph.plot`."""
    color = import_extra("matplotlib.colors", "plot").to_rgba(style.colors)
    drawn = Map(graph, style)
    streets = drawn.streets_in_view()
    width, _ = drawn.widths(streets.shape[1])
    drawn.draw(streets, color, width)
    return drawn.label()


def draw_flows(graph: Any, flow: ArrayLike, style: Style) -> Axes:
    """Draw flows as line widths over a network in grey; implements `Graph.plot_flows`."""
    on_arcs = flows_on_arcs(graph, flow)
    widest = check_width(style.width) or MOST_FLOW_WIDTH
    if style.colors is None:  # from grey to the darkest of viridis
        viridis = import_extra("matplotlib", "plot").colormaps["viridis"]
        colors = _blend([GREY, *viridis([0.5, 0.25, 0.0])])
    else:
        colors = scale_of_distances(style.colors)
    arcs, twins = street_arcs(graph)
    streets = np.stack([graph.tails[arcs], graph.indices[arcs]])
    on_streets = on_arcs[arcs]
    on_streets[twins >= 0] += on_arcs[twins[twins >= 0]]

    loaded = on_streets > 0
    ends = streets[:, loaded].ravel()
    drawn = Map(graph, style._replace(width=None), ends)
    seen = drawn.in_view(streets)
    thin = min(drawn.widths(int(np.count_nonzero(seen)))[0], widest)
    drawn.draw(streets[:, seen & ~loaded], GREY, thin)
    drawn.label()
    if not ends.size:
        return drawn.ax
    greatest = float(on_streets.max())
    widths = np.maximum(np.linspace(0, widest, GRADES), thin)
    which = seen & loaded
    grades = grade_values(on_streets[which], 0, greatest)
    drawn.draw(streets[:, which], colors, widths, grades)
    # some numbers up to the greatest, of one digit: 1, 2 or 5 and zeros
    power = 10.0 ** math.floor(math.log10(greatest))
    steps = [factor * power * scale for scale in (0.01, 0.1, 1) for factor in (1, 2, 5)]
    shown = [step for step in steps if step <= greatest][-1 : -2 * SHOWN_LOADS : -2][::-1]
    line_widths = [max(widest * load / greatest, thin) for load in shown]
    shades = [colors(load / greatest) for load in shown]
    drawn.legend(shades, line_widths, [amount(load, style.unit) for load in shown])
    return drawn.ax


def draw_distances(
    graph: Any, distances: Array, sources: Array, path: Array | None, style: Style
) -> Axes:
    """Draw a network coloured by distance; implements `ShortestPaths.plot`.

    Parameters
    ----------
    distances : ndarray, shape (n,)
    sources : ndarray, shape (s,)
        Vertices.
    path : ndarray, shape (vertices,), or None
    style : Style
    """
    colors = scale_of_distances(style.colors)
    drawn = Map(graph, style, distances != unreached(distances.dtype), BAR_WIDTH)
    streets, values = _find_lines(drawn, distances)
    thin, bold = drawn.widths(values.size)
    far = values == unreached(values.dtype)
    drawn.draw(streets[:, far], GREY, thin)
    shown, known = streets[:, ~far], values[~far]
    # the scale is that of what is seen, not of the whole network
    least, greatest = 0.0, 0.0
    if known.size:
        nearer = np.minimum(*distances[shown])
        least, greatest = float(nearer.min()), float(known.max())
    drawn.draw(shown, colors, bold, grade_values(known, least, greatest))
    label = f"distance ({style.unit})" if style.unit else "distance"
    drawn.color_bar(colors, least, greatest, label)
    if path is not None:
        effects = import_extra("matplotlib.patheffects", "plot")
        lon, lat = drawn.coordinates[path].T
        casing = effects.Stroke(linewidth=CASING_WIDTH, foreground="white")
        drawn.ax.plot(
            lon, lat, color=PATH_COLOR, linewidth=PATH_WIDTH, solid_capstyle="round",
            solid_joinstyle="round", label="shortest path", scalex=False, scaley=False,
            path_effects=[casing, effects.Normal()],
        )  # fmt: skip
        drawn.mark(path[-1:], color=PATH_COLOR, markersize=DOT_SIZE, zorder=3)
    _mark_sources(drawn, sources)
    return drawn.label()


def draw_isochrones(
    graph: Any, distances: Array, sources: Array, limits: Array, style: Style
) -> Axes:
    """Draw a network coloured by distance band; implements `ShortestPaths.plot_isochrones`.

    Parameters
    ----------
    distances : ndarray, shape (n,)
    sources : ndarray, shape (s,)
        Vertices.
    limits : ndarray, shape (b,)
        Ascending.
    style : Style
    """
    colors = scale_of_distances(style.colors)(np.linspace(0, 1, limits.size))
    missing = unreached(distances.dtype)
    drawn = Map(graph, style, (distances != missing) & (distances <= limits[-1]))
    streets, values = _find_lines(drawn, distances)
    thin, bold = drawn.widths(values.size)
    band = np.where(values == missing, limits.size, np.searchsorted(limits, values))
    beyond = band == limits.size
    drawn.draw(streets[:, beyond], GREY, thin)
    # the narrowest on top
    for number in reversed(range(limits.size)):
        drawn.draw(streets[:, band == number], colors[number], bold)
    labels = [f"within {amount(limit, style.unit)}" for limit in limits.tolist()]
    if beyond.any():
        labels.append("beyond")
    drawn.legend([*colors, GREY][: len(labels)], [LEGEND_WIDTH] * len(labels), labels)
    _mark_sources(drawn, sources)
    return drawn.label()


def check_limits(limits: ArrayLike, limit: float | None) -> Array:
    """Check the distance limits of isochrone bands; return them in ascending order.

    Parameters
    ----------
    limit : number or None
        How far the search went.

    Raises
    ------
    ValueError
        None, not finite, or beyond the limit of the search.
    TypeError
        No numbers.
    """
    bands = np.unique(np.asarray(limits))
    if bands.size == 0:
        raise ValueError("limits names no band; give some, as plot_isochrones([5, 10, 15])")
    if bands.dtype.kind not in "iuf":
        raise TypeError(f"limits must be numbers, as [5, 10, 15], not {limits!r}")
    if not np.isfinite(bands).all():
        raise ValueError(f"limits must be finite numbers, not {limits!r}")
    if limit is not None and bands[-1] > limit:
        raise ValueError(
            f"the search went no farther than limit={limit}, so a band of {bands[-1]} cannot be "
            f"told: call shortest_paths with limit={bands[-1]}"
        )
    return bands


def _find_lines(drawn: Map, distances: Array) -> tuple[Array, Array]:
    """Return the visible arcs as lines, and the distance to the farther end of each."""
    streets = drawn.streets_in_view()
    # (what stands for unreached is the greatest number)
    return streets, np.maximum(*distances[streets])


def _mark_sources(drawn: Map, sources: Array) -> None:
    size = DOT_SIZE if sources.size <= MANY_DOTS else SMALL_DOT_SIZE
    label = "source" if sources.size == 1 else "sources"
    drawn.mark(sources, markersize=size, label=label, zorder=3)


def flows_on_arcs(graph: Any, flow: ArrayLike) -> Array:
    """Check flows on the rows that a graph was made from; return the flows on its arcs.

    Raises
    ------
    ValueError
        Not one an input row, negative or not finite.
    TypeError
        No numbers.
    """
    flows, rows = np.asarray(flow), graph.input_arcs
    if flows.dtype.kind not in "iuf":
        raise TypeError(f"flow must be numbers, not {flows.dtype}")
    if flows.shape != (rows,):
        expected = f"expected a flow for every input row, as load returns: shape ({rows},)"
        raise ValueError(f"{expected}, not {flows.shape}")
    odd = np.flatnonzero(~(np.isfinite(flows) & (flows >= 0)))
    if odd.size:
        raise ValueError(
            f"the flow on row {odd[0]} is {flows[odd[0]]}; flows are finite numbers, 0 or more"
        )
    # rows that lost to a parallel one count too
    kept = graph.row_arc >= 0
    return np.bincount(graph.row_arc[kept], flows[kept], graph.m)


def grade_values(values: Array, least: float, greatest: float) -> NDArray[np.uint8]:
    """Return each value's grade (0 to `GRADES` - 1) on a scale from `least` to `greatest`."""
    span = (greatest - least) or 1
    parts = np.clip((values.astype(np.float64) - least) / span, 0, 1)
    return np.rint(parts * (GRADES - 1)).astype(np.uint8)


def check_width(width: float | None) -> float | None:
    """Check a line width in points: above 0, or None for the default of the picture."""
    if width is not None and not 0 < width < math.inf:
        raise ValueError(f"a line is some points wide, a number above 0, not {width!r}")
    return width


def amount(number: float, unit: str = "") -> str:
    """Return a number with its unit as readable text."""
    text = f"{int(number):,}" if number == int(number) else f"{number:,g}"
    return f"{text} {unit}".rstrip()


def scale_of_distances(cmap: Any) -> Any:
    """Return the Matplotlib colour map `cmap`; for None, viridis without its lightest part."""
    colormaps = import_extra("matplotlib", "plot").colormaps
    if cmap is not None:
        return colormaps.get_cmap(cmap)
    return _blend(colormaps["viridis"](np.linspace(0, VISIBLE_PART, GRADES)))


def _blend(colors: Any) -> Any:
    """Return the colour map that interpolates between the given colours."""
    maps = import_extra("matplotlib.colors", "plot").LinearSegmentedColormap
    return maps.from_list("sssp", colors, GRADES)


def _box_around(points: Array, whole: Box) -> Box:
    """Return the box around points, with a margin and a least size."""
    box = Box(*points.min(axis=0).tolist(), *points.max(axis=0).tolist()) if len(points) else whole
    least = max(LEAST_PART * whole.extent, LEAST_EXTENT)
    low, high = np.array(box[:2]), np.array(box[2:])
    margins = np.maximum(MARGIN * max(box.extent, least), (least - (high - low)) / 2)
    return Box(*(low - margins).tolist(), *(high + margins).tolist())


def _check_extent(extent: Sequence[float], whole: Box) -> Box:
    """Check that the caller's `extent` overlaps the graph's box; return it as a `Box`."""
    sides = np.asarray(extent)
    if sides.shape != (4,) or sides.dtype.kind not in "iuf" or not np.isfinite(sides).all():
        raise ValueError(f"extent is (west, east, south, north) in degrees, not {extent!r}")
    west, east, south, north = (float(side) for side in sides)
    if not (west < east and south < north):
        raise ValueError(
            f"extent is (west, east, south, north), the lesser of two sides first, not {extent!r}"
        )
    box = Box(west, south, east, north)
    beside = box.east < whole.west or box.west > whole.east
    if beside or box.north < whole.south or box.south > whole.north:
        raise ValueError(
            f"extent is (west, east, south, north): {extent!r} shows {box}, where nothing of this "
            f"graph of {whole} lies"
        )
    return box


def _image_of(ink: NDArray[np.float32]) -> NDArray[np.float32]:
    """Convert sums of drawn colours per pixel to an image of red, green, blue and opacity."""
    opacity = ink[..., 3]
    # pixels without ink get the mean colour, so that resampling the image leaves no dark fringes
    total = opacity.sum(dtype=np.float64)
    mean = ink[..., :3].sum(axis=(0, 1), dtype=np.float64) / total if total else np.ones(3)
    inked = opacity > 0
    colored = np.empty_like(ink)
    colored[..., :3] = mean
    np.divide(ink[..., :3], opacity[..., None], out=colored[..., :3], where=inked[..., None])
    np.minimum(colored[..., :3], 1, out=colored[..., :3])
    np.minimum(opacity, 1, out=colored[..., 3])
    return colored


def as_html(text: str, graph: Any, draw: Callable[[Axes], Any] | None) -> str:
    """Return the HTML that a notebook shows: the text of an object, and a picture if possible.

    Parameters
    ----------
    text : str
        What is printed elsewhere.
    graph : Graph
        Without coordinates in degrees, with more than `MOST_ARCS` arcs, or without Matplotlib
        there is no picture.
    draw : callable, or None
        Draws on axes; None: there is nothing to draw.
    """
    shown = f"<code>{html.escape(text)}</code>"
    if (
        draw is not None
        and graph.coordinates is not None
        and 0 < graph.m <= MOST_ARCS
        and find_spec("matplotlib") is not None
        and are_degrees(*graph.coordinates.T).all()
    ):
        import matplotlib
        from matplotlib.figure import Figure

        file = io.BytesIO()
        with matplotlib.rc_context({"font.size": LETTERS}):
            # (outside pyplot, so that a notebook does not show it twice)
            figure = Figure(figsize=(SIDE, SIDE), dpi=NOTEBOOK_DOTS_PER_INCH, layout="constrained")
            ax = figure.add_subplot()
            ax.set_axis_off()
            draw(ax)
            figure.savefig(file, format="png", bbox_inches="tight")
        image = base64.b64encode(file.getvalue()).decode("ascii")
        shown += f'<br><img alt="" src="data:image/png;base64,{image}">'
    return f"<div>{shown}</div>"
