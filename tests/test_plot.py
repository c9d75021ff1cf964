"""Pictures of networks and results: what is drawn where, and in which colour."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sssp
from sssp import Graph

GREY = (0.8, 0.8, 0.8)
#: a crossing with four streets; from the south a one-way street leads to it
CROSS: list[list[float]] = [[10, 0.5], [10, 1.5], [10, -0.5], [9, 0.5], [11, 0.5]]


@pytest.fixture
def pyplot() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def cross(**options: Any) -> Graph:
    """Vertex 0 with ways to 1, 3 and 4 and back, 5, 10 and 15 long; from 2 one leads to it."""
    tails, heads = [0, 1, 0, 3, 0, 4, 2], [1, 0, 3, 0, 4, 0, 0]
    return Graph.from_arcs(tails, heads, [5, 5, 10, 10, 15, 15, 1], coordinates=CROSS, **options)


def lines_of(ax: Any) -> dict[tuple[tuple[float, float], ...], tuple[Any, float]]:
    """Return colour and width of every line, by its ends in order."""
    found: dict[tuple[tuple[float, float], ...], tuple[Any, float]] = {}
    drawn: Any
    for drawn in ax.collections:
        assert type(drawn).__name__ == "LineCollection"
        styles = zip(drawn.get_colors(), drawn.get_linewidths(), strict=True)
        for segment, (color, width) in zip(drawn.get_segments(), styles, strict=True):
            key = tuple(sorted(map(tuple, segment.tolist())))
            assert key not in found, "a line drawn twice"
            found[key] = tuple(color[:3].tolist()), width
    return found


def between(u: int, v: int) -> tuple[tuple[float, float], ...]:
    (a, b), (c, d) = sorted([CROSS[u], CROSS[v]])
    return (a, b), (c, d)


def vertices_of(ax: Any, label: str) -> Any:
    """Return the places that a line of this label joins, or that it marks."""
    line = next(line for line in ax.lines if line.get_label() == label)
    return line.get_xydata().tolist()


def legend_of(ax: Any) -> dict[str, Any]:
    from matplotlib.colors import to_rgb

    legend = ax.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    colors = [to_rgb(handle.get_color()) for handle in legend.legend_handles]
    return dict(zip(texts, colors, strict=True))


def pixel(ax: Any, lon: float, lat: float) -> Any:
    """Return the colour of a place, as the figure is drawn."""
    canvas = ax.figure.canvas
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())
    across, up = ax.transData.transform((lon, lat))
    return picture[picture.shape[0] - 1 - int(up), int(across), :3] / 255


# -- networks --------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
def test_both_directions_are_one_line(pyplot: Any, directed: bool) -> None:
    ax = cross(directed=directed).plot(color="tab:blue", linewidth=2)
    from matplotlib.colors import to_rgb

    assert lines_of(ax) == {between(0, v): (to_rgb("tab:blue"), 2) for v in (1, 2, 3, 4)}


def test_closed_arcs_are_left_out_but_not_their_open_twins(pyplot: Any) -> None:
    g = cross()
    there, back = g.arcs([0, 1], [1, 0])
    assert between(0, 1) in lines_of(g.without_arcs(there).plot())
    assert between(0, 1) in lines_of(g.without_arcs(back).plot())
    assert between(0, 1) not in lines_of(g.without_arcs([there, back]).plot())
    # the last arc closed: a lone arc has no twin, not that one
    assert set(lines_of(g.without_arcs(g.m - 1).plot())) == set(lines_of(g.plot()))


def test_a_kilometre_east_is_as_long_as_a_kilometre_north(pyplot: Any) -> None:
    points = np.array([[10, 60], [10.02, 60.01]])
    ax = Graph.from_arcs([0], [1], [1], coordinates=points).plot()
    ax.figure.canvas.draw()
    east, north = np.abs(np.diff(ax.transData.transform(points), axis=0))[0]
    assert east == pytest.approx(north, rel=1e-3)


def test_axes_are_taken_and_returned(pyplot: Any) -> None:
    figure, (left, right) = pyplot.subplots(1, 2)
    g = cross()
    assert g.plot(ax=left) is left
    assert sssp.shortest_paths(g, 0).plot_isochrones([5], ax=right) is right
    assert lines_of(left)
    assert lines_of(right)
    assert pyplot.get_fignums() == [figure.number]


def test_the_extent_is_what_is_shown(pyplot: Any) -> None:
    ax = cross().plot(extent=(9.5, 10.5, 0.4, 1.6))
    assert (*ax.get_xlim(), *ax.get_ylim()) == (9.5, 10.5, 0.4, 1.6)
    # the street to the south touches it at the crossing
    assert len(lines_of(ax)) == 4
    assert len(lines_of(cross().plot(extent=(9.5, 10.5, 0.6, 1.6)))) == 1


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_without_lines_have_pictures(pyplot: Any, n: int) -> None:
    g = Graph.from_arcs([], [], [], coordinates=np.zeros((n, 2)))
    assert lines_of(g.plot()) == {}
    g.plot_flows([])
    for source in range(n):
        r = sssp.shortest_paths(g, source)
        r.plot().figure.canvas.draw()
        assert list(legend_of(r.plot_isochrones([5]))) == ["within 5"]


# -- distances -------------------------------------------------------------------------------


def test_lines_have_the_colour_of_their_farther_end(pyplot: Any) -> None:
    lines = lines_of(sssp.shortest_paths(cross(), 0).plot(cmap="cividis", linewidth=1))
    scale = pyplot.colormaps["cividis"]
    for v, part in ((1, 1 / 3), (3, 2 / 3), (4, 1.0)):
        assert lines[between(0, v)][0] == pytest.approx(scale(part)[:3], abs=0.01)
    assert lines[between(0, 2)] == (GREY, 1), "no way leads to 2"


def test_the_scale_of_colours_has_the_unit_and_range_of_what_is_shown(pyplot: Any) -> None:
    r = sssp.shortest_paths(cross(), 0)
    for extent, greatest in ((None, 15), ((9, 9.9, 0, 2), 10)):
        ax = r.plot(unit="min", extent=extent)
        bar = next(axes for axes in ax.figure.axes if axes is not ax)
        assert bar.get_ylabel() == "distance (min)"
        assert bar.get_ylim() == (0, greatest)


def test_the_path_lies_on_top_and_ends_at_its_target(pyplot: Any) -> None:
    r = sssp.shortest_paths(cross(), [4, 3], predecessors=True)
    ax = r.plot(row=1, path_to=1)
    assert vertices_of(ax, "shortest path") == [CROSS[v] for v in (3, 0, 1)]
    with pytest.raises(sssp.UnreachableError):
        r.plot(path_to=2)
    with pytest.raises(ValueError, match="predecessors=True"):
        sssp.shortest_paths(cross(), 0).plot(path_to=1)


@pytest.mark.parametrize("output", ["host", "sparse"])
def test_what_lies_beyond_the_limit_is_grey(pyplot: Any, output: Any) -> None:
    lines = lines_of(sssp.shortest_paths(cross(), [0], limit=10, output=output).plot())
    assert {v for v in (1, 2, 3, 4) if lines[between(0, v)][0] == GREY} == {2, 4}


def test_all_sources_of_a_nearest_search_are_marked(pyplot: Any) -> None:
    ax = sssp.shortest_paths(cross(), [3, 4], nearest=True).plot()
    assert vertices_of(ax, "sources") == [CROSS[3], CROSS[4]]


# -- isochrones ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 0.5], ids=["integers", "floats"])
def test_bands_are_cumulative_and_inclusive(pyplot: Any, factor: float) -> None:
    g = cross()
    if factor != 1:
        g = g.with_weights(g.weights * factor)
    bands = [15 * factor, 5 * factor]
    ax = sssp.shortest_paths(g, 0).plot_isochrones(bands, unit="min")
    legend, lines = legend_of(ax), lines_of(ax)
    near, far = (f"within {number} min" for number in ((5, 15) if factor == 1 else (2.5, 7.5)))
    assert list(legend) == [near, far, "beyond"]
    assert lines[between(0, 1)][0] == pytest.approx(legend[near])
    assert lines[between(0, 3)][0] == pytest.approx(legend[far])
    assert lines[between(0, 4)][0] == pytest.approx(legend[far])
    assert lines[between(0, 2)][0] == legend["beyond"] == GREY


def test_where_all_is_within_nothing_is_beyond(pyplot: Any) -> None:
    ax = sssp.shortest_paths(cross(), 2).plot_isochrones([1, 16])
    assert list(legend_of(ax)) == ["within 1", "within 16"]


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        ([], ValueError, "names no band"),
        ([5, np.inf], ValueError, "finite"),
        (["5"], TypeError, "numbers"),
        ([5, 12], ValueError, "limit=12"),
    ],
)
def test_limits_that_make_no_bands_are_refused(
    pyplot: Any, limits: Any, error: type[Exception], message: str
) -> None:
    r = sssp.shortest_paths(cross(), 0, limit=10)
    with pytest.raises(error, match=message):
        r.plot_isochrones(limits)


# -- flows -----------------------------------------------------------------------------------


def test_lines_are_as_wide_as_their_flow(pyplot: Any) -> None:
    flow = [1, 2, 6, 0, 0, 0, 0]
    lines = lines_of(cross().plot_flows(flow, max_width=6))
    assert lines[between(0, 3)][1] == pytest.approx(6)
    assert lines[between(0, 1)][1] == pytest.approx(3, abs=0.02), "both directions together"
    for v in (2, 4):
        assert lines[between(0, v)][0] == GREY
        assert lines[between(0, v)][1] < 3
    # an undirected row stands for both directions, and counts once
    again = lines_of(cross(directed=False).plot_flows(flow, max_width=6))
    assert again[between(0, 1)][1] == pytest.approx(3, abs=0.02)


def test_flows_of_rows_that_lost_to_a_parallel_one_count(pyplot: Any) -> None:
    g = Graph.from_arcs([0, 0, 0], [1, 1, 2], [5, 9, 1], coordinates=CROSS[:3])
    lines = lines_of(g.plot_flows([1, 2, 6]))
    assert lines[between(0, 1)][1] == pytest.approx(3, abs=0.02)


def test_the_legend_of_flows_has_round_numbers(pyplot: Any) -> None:
    ax = cross().plot_flows([730, 0, 20, 0, 0, 0, 0], unit="cars")
    assert list(legend_of(ax)) == ["20 cars", "100 cars", "500 cars"]
    assert list(legend_of(cross().plot_flows([0.2, 0, 0, 0, 0, 0, 0])))[-1] == "0.2"


def test_volumes_are_loaded_and_drawn(pyplot: Any) -> None:
    r = sssp.shortest_paths(cross(), 1, predecessors=True)
    volumes = [0, 0, 0, 3, 4]
    drawn, loaded = r.plot_flows(volumes), r.graph.plot_flows(r.load(volumes))
    assert lines_of(drawn) == lines_of(loaded)


@pytest.mark.parametrize(
    ("flow", "error", "message"),
    [
        ([1] * 6, ValueError, r"shape \(7,\)"),
        ([1, 1, 1, -1, 1, 1, 1], ValueError, "row 3 is -1"),
        ([np.nan] * 7, ValueError, "row 0 is nan"),
        (["a"] * 7, TypeError, "numbers"),
    ],
)
def test_flows_without_width_are_refused(
    pyplot: Any, flow: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cross().plot_flows(flow)


# -- many lines ------------------------------------------------------------------------------


def comb(teeth: int) -> Graph:
    """Return that many streets to the north, a twentieth of which no way leads to."""
    lon = np.linspace(0, 1, teeth)
    points = np.stack([np.tile(lon, 2), np.repeat([0.0, 1.0], teeth)], axis=1)
    spine, tooth = np.arange(teeth - 1), np.arange(teeth)
    tails, heads = np.append(spine, tooth), np.append(spine + 1, tooth + teeth)
    weights = np.repeat([1, 10], [teeth - 1, teeth])
    g = Graph.from_arcs(tails, heads, weights, coordinates=points)
    lost = tooth[tooth >= teeth * 0.95]
    return g.without_arcs(g.arcs(lost - 1, lost))


@pytest.mark.slow
def test_many_lines_are_an_image_of_the_same_colours(pyplot: Any) -> None:
    teeth = 12_000
    all_of_it = (-0.1, 1.1, -0.1, 1.1)
    r = sssp.shortest_paths(comb(teeth), 0)
    ax = r.plot(cmap="viridis", linewidth=1, extent=all_of_it)
    # teeth that are not reached are few enough for lines
    assert len(ax.images) == 1
    assert len(lines_of(ax)) == teeth * 0.05
    greatest = teeth * 0.95 + 9
    for part in (0.2, 0.5, 0.9):
        color = pyplot.colormaps["viridis"]((part * teeth + 10) / greatest)[:3]
        assert pixel(ax, part, 0.5) == pytest.approx(color, abs=0.03)
    assert pixel(ax, 0.98, 0.5) == pytest.approx(GREY, abs=0.03)
    assert pixel(ax, 0.5, 1.02) == pytest.approx((1, 1, 1))


def test_an_image_shows_lines_through_its_edge_where_they_are(pyplot: Any) -> None:
    """A fan of lines that end far outside, and one of them thick."""
    k = 10_001
    points = np.zeros((k + 1, 2))
    points[1:] = np.stack([np.linspace(50, 60, k), np.full(k, -10.0)], axis=1)
    points[1] = (-40, 40)
    g = Graph.from_arcs(np.zeros(k, int), np.arange(1, k + 1), np.ones(k, int), coordinates=points)
    flow = np.ones(k)
    flow[0] = 1000
    ax = g.plot_flows(flow, extent=(-1, 1, -1, 1), cmap="viridis_r", max_width=10)
    assert len(ax.images) == 1
    dark = pyplot.colormaps["viridis_r"](1.0)[:3]
    for lon, lat in ((-0.9, 0.9), (-0.5, 0.5), (-0.5, 0.515)):
        assert pixel(ax, lon, lat) == pytest.approx(dark, abs=0.03)
    for lon, lat in ((0.5, 0.5), (-0.5, -0.5), (-0.5, 0.6), (0.05, 0.05)):
        assert pixel(ax, lon, lat) == pytest.approx((1, 1, 1))


# -- files and refusals ----------------------------------------------------------------------


def test_an_svg_of_few_lines_has_lines_and_of_many_an_image(pyplot: Any) -> None:
    def svg(g: Graph) -> str:
        file = io.StringIO()
        figure: Any = g.plot().figure
        figure.savefig(file, format="svg")
        return file.getvalue()

    few, many = svg(cross()), svg(comb(12_000))
    assert "<image" not in few
    assert few.count("<path") >= 4
    assert "<image" in many


NO_PLACES = Graph.from_arcs([0], [1], [1])


@pytest.mark.parametrize(
    ("picture", "error", "message"),
    [
        (lambda g: NO_PLACES.plot(), ValueError, "coordinates="),
        (lambda g: sssp.shortest_paths(NO_PLACES, 0).plot(), ValueError, "coordinates="),
        (lambda g: NO_PLACES.plot_flows([1]), ValueError, "coordinates="),
        (lambda g: g.plot(extent=(11, 9, 0, 1)), ValueError, "lesser of two sides first"),
        (lambda g: g.plot(extent=(0, 1, 2)), ValueError, "west, east, south, north"),
        (lambda g: g.plot(extent=(0, 2, 9, 11)), ValueError, "nothing of this graph of longitude"),
        (lambda g: g.plot(extent=(9, 11, 3, 4)), ValueError, r"\(9, 11, 3, 4\) shows longitude 9"),
        (lambda g: g.plot(linewidth=0), ValueError, "above 0"),
        (lambda g: g.plot(color="no colour"), ValueError, "no colour"),
        (lambda g: g.plot_flows([1] * 7, max_width=-1), ValueError, "above 0"),
        (lambda g: sssp.shortest_paths(g, 0).plot(cmap="mauve"), ValueError, "mauve"),
        (lambda g: sssp.shortest_paths(g, 0, targets=[1]).plot(), ValueError, "omit targets="),
        (lambda g: sssp.shortest_paths(g, [0, 1]).plot(row=2), sssp.VertexError, "row 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_figure(
    pyplot: Any, picture: Callable[[Graph], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        picture(cross())
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    "picture",
    [
        lambda g: g.plot(),
        lambda g: g.plot_flows([1] * 7),
        lambda g: sssp.shortest_paths(g, 0).plot(),
        lambda g: sssp.shortest_paths(g, 0).plot_isochrones([5]),
    ],
)
def test_without_matplotlib_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, picture: Callable[[Graph], Any]
) -> None:
    for name in [*sys.modules, "matplotlib"]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(sssp.MissingExtraError, match=r'matplotlib.* pip install "sssp\[plot\]"'):
        picture(cross())


def test_pictures_have_a_scale_a_title_and_whose_data_it_is(pyplot: Any) -> None:
    g = sssp.road_like(200, seed=1)
    tree = sssp.shortest_paths(g, 0, predecessors=True)
    for axes in (
        g.plot(title="A town", credit="Our survey"),
        g.plot_flows(np.ones(g.input_arcs), title="A town", credit="Our survey"),
        tree.plot(title="A town", credit="Our survey"),
        tree.plot_isochrones([900, 2000], title="A town", credit="Our survey"),
        sssp.nearest(g, [0, 5]).plot(title="A town", credit="Our survey"),
    ):
        texts = [text.get_text() for text in axes.texts]
        assert axes.get_title(loc="left") == "A town"
        assert "Our survey" in texts
        [scale] = [text for text in texts if text.endswith("m")]
        # a kilometre north is 1 / 111.195 degrees, and the map is a good two of them wide
        west, east = axes.get_xlim()
        number, unit = scale.split()
        km = float(number) * (1 if unit == "km" else 0.001)
        assert 0.08 < km / ((east - west) * 111.195) <= 0.25
        along: Any = axes.lines[_bar_of(axes)].get_xdata()
        assert np.ptp(along) * (east - west) * 111.195 == pytest.approx(km, rel=0.01)
    assert g.plot().texts[-1].get_text().endswith("m")


def _bar_of(axes: Any) -> int:
    """Return which line is the bar of the scale: the one in parts of the axes."""
    return next(i for i, line in enumerate(axes.lines) if line.get_transform() == axes.transAxes)
