"""A picture of a run: time against the number of vertices, a line a method, with its slope."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any

from sssp.bench.report import Report, Row
from sssp.graph.extras import imported

#: vertices of the built-in graphs that are drawn where no others are named
SIZES = (4_000, 16_000, 64_000, 256_000)
#: endings of what can be written
FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 200
#: how many numbers have room side by side on the axis of n
LABELS = 8
INCHES = (8, 5)
#: colours that the colour-blind can distinguish (Okabe and Ito), and markers; the first is for the
#: reference
LOOKS = (
    ("#000000", "x"),
    ("#d55e00", "s"),
    ("#0072b2", "o"),
    ("#b0478b", "D"),
    ("#009e73", "^"),
    ("#e69f00", "v"),
    ("#56b4e9", "P"),
)
#: of the first device, the second and so on
STROKES = ("-", "--", ":", "-.")

#: vertices, and seconds a source
Point = tuple[int, float]


def fit_exponent(points: Sequence[Point]) -> float | None:
    """Fit a power of n to times by least squares of their logarithms; None for a single n."""
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    middle = math.fsum(xs) / len(xs)
    spread = math.fsum((x - middle) ** 2 for x in xs)
    if spread == 0:
        return None
    return math.fsum((x - middle) * y for x, y in zip(xs, ys, strict=True)) / spread


def draw(report: Report) -> Any:
    """Draw the rows of a report that were timed and are not known to be wrong.

    The `matplotlib.figure.Figure` that is returned belongs to no window.
    """
    lines = _collect_lines(report.rows)
    methods = dict(zip(dict.fromkeys(method for method, _ in lines), cycle(LOOKS), strict=False))
    devices = dict(zip(dict.fromkeys(device for _, device in lines), cycle(STROKES), strict=False))
    figure = imported("matplotlib.figure", "plot").Figure(figsize=INCHES, layout="constrained")
    ax = figure.add_subplot()
    ax.set(xscale="log", yscale="log", xlabel="vertices n", ylabel="ms a source, median")
    ax.set_title("Time against size, and the power of n that fits", loc="left")
    for (method, device), points in lines.items():
        color, marker = methods[method]
        xs, ys = zip(*((n, 1000 * seconds) for n, seconds in points), strict=True)
        name = method if len(devices) == 1 else f"{method}, {device}"
        label = _label(name, fit_exponent(points))
        ax.plot(xs, ys, devices[device], color=color, marker=marker, markersize=5, label=label)
    _number_axes(ax, sorted({n for points in lines.values() for n, _ in points}))
    ax.grid(color="#d8dee4")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if lines:
        figure.legend(loc="outside right upper", frameon=False)
    caption = "\n".join(report.circumstances())
    figure.supxlabel(caption, x=0.01, ha="left", fontsize=7, color="#57606a")
    return figure


def _collect_lines(rows: Sequence[Row]) -> dict[tuple[str, str], list[Point]]:
    """Gather seconds a source by method and device, in order of n."""
    lines: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for row in rows:
        if not row.skipped and row.verified is not False and row.n > 0 and row.sources > 0:
            lines[row.method, row.device].append((row.n, row.median / row.sources))
    return {line: sorted(points) for line, points in lines.items()}


def _label(name: str, exponent: float | None) -> str:
    return name if exponent is None else f"{name}: n^{exponent:.2f}"


def _number_axes(ax: Any, sizes: Sequence[int]) -> None:
    """Write numbers in full; on the axis of n, the sizes themselves where they have room."""
    ticker = imported("matplotlib.ticker", "plot")
    in_full = ticker.FuncFormatter(lambda value, _: f"{value:,g}")
    ax.yaxis.set_major_formatter(in_full)
    gaps = [math.log(larger / smaller) for smaller, larger in pairwise(sizes)]
    if sizes and min(gaps, default=0) >= sum(gaps) / LABELS:
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    else:
        ax.xaxis.set_major_formatter(in_full)
