"""What a notebook shows of a graph or a result: what it prints, and a small picture."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sssp.graph.sphere import require_degrees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: a graph of more takes longer to draw than a reader waits: New York's 730,100 take a second
MOST_ARCS = 1_000_000
#: of the picture, in inches; dots an inch; of letters, in points
SIDE, DOTS_PER_INCH, LETTERS = 4.0, 100, 8

Draw = Callable[["Axes"], Any]


def as_html(text: str, graph: Any, draw: Draw | None) -> str:
    """Return what a notebook shows.

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
    if draw is not None and _can_be_drawn(graph):
        image = base64.b64encode(_png(draw)).decode("ascii")
        shown += f'<br><img alt="" src="data:image/png;base64,{image}">'
    return f"<div>{shown}</div>"


def _can_be_drawn(graph: Any) -> bool:
    if graph.coordinates is None or not 0 < graph.m <= MOST_ARCS or find_spec("matplotlib") is None:
        return False
    try:
        require_degrees(graph.coordinates)
    except ValueError:
        return False
    return True


def _png(draw: Draw) -> bytes:
    """Draw on a figure that pyplot does not know, or a notebook would show it a second time."""
    import matplotlib
    from matplotlib.figure import Figure

    file = io.BytesIO()
    with matplotlib.rc_context({"font.size": LETTERS}):
        figure = Figure(figsize=(SIDE, SIDE), dpi=DOTS_PER_INCH, layout="constrained")
        ax = figure.add_subplot()
        ax.set_axis_off()
        draw(ax)
        figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()
