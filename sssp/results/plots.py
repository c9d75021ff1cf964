"""Plots of results: a network coloured by distance or in bands, with a path on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sssp.errors import import_extra
from sssp.graph import drawing
from sssp.kernels.dtypes import Array, unreached

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sssp.graph.graph import Graph


#: of a path and the casing that sets it off from the network, in points
PATH_WIDTH, CASING_WIDTH = 2.5, 5.0
#: orange-red: in no map of colours that is used here, and told from it by the colour-blind
PATH_COLOR = "#d62d20"
#: of sources, in points; of many of them
DOT_SIZE, SMALL_DOT_SIZE, MANY_DOTS = 7.0, 3.0, 20
#: of lines in the legend of bands, in points
LEGEND_WIDTH = 4.0


def draw_distances(
    graph: Graph, distances: Array, sources: Array, path: Array | None, style: drawing.Style
) -> Axes:
    """Draw a network coloured by distance; as `ShortestPaths.plot`.

    Parameters
    ----------
    distances : ndarray, shape (n,)
    sources : ndarray, shape (s,)
        Vertices.
    path : ndarray, shape (vertices,), or None
    style : Style
    """
    colors = drawing.scale_of_distances(style.colors)
    drawn = drawing.Map(graph, style, distances != unreached(distances.dtype), drawing.BAR_WIDTH)
    streets, values = _find_lines(drawn, distances)
    thin, bold = drawn.widths(values.size)
    far = values == unreached(values.dtype)
    drawn.draw(streets.take(far), drawing.GREY, thin)
    shown, known = streets.take(~far), values[~far]
    # the scale is that of what is seen, not of the whole network
    least, greatest = 0.0, 0.0
    if known.size:
        nearer = np.minimum(distances[shown.tails], distances[shown.heads])
        least, greatest = float(nearer.min()), float(known.max())
    drawn.draw(shown, colors, bold, drawing.grade_values(known, least, greatest))
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
    graph: Graph, distances: Array, sources: Array, limits: Array, style: drawing.Style
) -> Axes:
    """Draw a network in bands of distance; as `ShortestPaths.plot_isochrones`.

    Parameters
    ----------
    distances : ndarray, shape (n,)
    sources : ndarray, shape (s,)
        Vertices.
    limits : ndarray, shape (b,)
        Ascending.
    style : Style
    """
    colors = drawing.scale_of_distances(style.colors)(np.linspace(0, 1, limits.size))
    missing = unreached(distances.dtype)
    drawn = drawing.Map(graph, style, (distances != missing) & (distances <= limits[-1]))
    streets, values = _find_lines(drawn, distances)
    thin, bold = drawn.widths(values.size)
    band = np.where(values == missing, limits.size, np.searchsorted(limits, values))
    beyond = band == limits.size
    drawn.draw(streets.take(beyond), drawing.GREY, thin)
    # the narrowest on top
    for number in reversed(range(limits.size)):
        drawn.draw(streets.take(band == number), colors[number], bold)
    labels = [f"within {drawing.amount(limit, style.unit)}" for limit in limits.tolist()]
    if beyond.any():
        labels.append("beyond")
    drawn.legend([*colors, drawing.GREY][: len(labels)], [LEGEND_WIDTH] * len(labels), labels)
    _mark_sources(drawn, sources)
    return drawn.label()


def check_limits(limits: ArrayLike, limit: float | None) -> Array:
    """Check the limits of bands; return them in ascending order.

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


def _find_lines(drawn: drawing.Map, distances: Array) -> tuple[drawing.Streets, Array]:
    """Return the visible lines, and for each the distance of its farther end."""
    streets = drawn.streets_in_view()
    # (what stands for unreached is the greatest number)
    return streets, np.maximum(distances[streets.tails], distances[streets.heads])


def _mark_sources(drawn: drawing.Map, sources: Array) -> None:
    size = DOT_SIZE if sources.size <= MANY_DOTS else SMALL_DOT_SIZE
    label = "source" if sources.size == 1 else "sources"
    drawn.mark(sources, markersize=size, label=label, zorder=3)
