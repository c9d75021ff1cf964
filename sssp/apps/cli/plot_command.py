r"""Draw a network, distances, paths or isochrone bands.

Without a source the network is drawn, with one it is coloured by distance; from several sources by
that to the nearest. --target draws the shortest path there on top; --limits colours bands instead.
The graph needs coordinates. A .png file has 200 dots an inch, .svg and .pdf files have lines up to
10,000 streets, and an image of more.

Examples
--------
  # the network
  %(prog)s USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz -o ny.png
  # the path from one point to another, over the distances within 400000
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz --limit 400000 \
      --source-at -73.9855,40.7580 --target-at -73.9442,40.6782 -o path.png
  # bands around a place, in a part of the map
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz --limits 20000,40000,60000 \
      --source-at -73.9855,40.7580 --extent -74.05,-73.90,40.68,40.82 -o bands.svg
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.output import DOTS_PER_INCH, PICTURES, add_output, choose_output
from sssp.apps.terminal.vertices import add_vertices, find_ends, graph_of, search
from sssp.errors import import_extra, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp plot``."""
    arguments.add_graph(parser)
    add_vertices(parser, "source", help="colour by the distance from here")
    add_vertices(parser, "target", help="draw the shortest path to this vertex; one only")
    text = "colour bands that end there, inclusive, in units of the weights"
    arguments.add_limits(parser, help=text)
    arguments.add_limit(parser, help="leave grey what lies farther than this")
    arguments.add_unit(parser)
    box = arguments.numbers(4, "WEST,EAST,SOUTH,NORTH in degrees, as -74.05,-73.90,40.68,40.82")
    text = "the part to draw, in degrees (default all that is reached)"
    parser.add_argument("--extent", type=box, metavar="W,E,S,N", help=text)
    text, dots = f"dots an inch of a .png file (default {DOTS_PER_INCH})", arguments.whole_number(1)
    parser.add_argument("--dpi", type=dots, default=DOTS_PER_INCH, metavar="N", help=text)
    parser.add_argument("--title", default="", metavar="TEXT", help="above the map")
    text = "whose data is drawn, below the map (default what the file says)"
    parser.add_argument("--credit", metavar="TEXT", help=text)
    arguments.add_search(parser)
    add_output(parser, PICTURES, required=True)


def run(options: argparse.Namespace) -> int:
    """Draw the network, and distances, bands or a path if asked for; write the picture."""
    output = choose_output(options)
    for name in ("targets", "limits", "limit"):
        if getattr(options, name) is not None and not options.sources:
            flag = name.removesuffix("s") if name == "targets" else name
            raise ValueError(f"--{flag} needs --source V or --source-at LON,LAT")
    if options.limits and (options.targets or options.limit is not None):
        raise ValueError("--limits draws bands, without a path and without another --limit")
    g = graph_of(options)
    arguments.require_coordinates(g)
    # a picture for a file needs no screen
    import_extra("matplotlib", "plot").use("agg")
    sources, targets, notes = find_ends(g, options)
    if targets is not None and targets.size != 1:
        raise ValueError("one path is drawn: name one target")
    if sources is None:
        axes = g.plot(extent=options.extent, title=options.title, credit=options.credit)
    else:
        axes = _draw_result(g, sources, targets, options)
    try:
        output.draw(axes.figure, options.dpi)
    finally:
        import_extra("matplotlib.pyplot", "plot").close(axes.figure)
    output.summarize([*notes, f"drew {g.n:,} vertices and {g.m:,} arcs to {output.name}"])
    return 0


def _draw_result(g: sssp.Graph, sources: Any, targets: Any, options: argparse.Namespace) -> Axes:
    unit = arguments.take_unit(options)
    # (a limit of integers is one)
    limit = math.ceil(options.limits[-1]) if options.limits else options.limit
    asked = {"nearest": True, "limit": limit, "predecessors": targets is not None}
    result, _ = search(g, options, sssp.shortest_paths, sources, **asked)
    target = None if targets is None else int(targets[0])
    if targets is not None and not result.reached[target]:
        [name] = arguments.label_vertices(g, targets)
        raise sssp.UnreachableError(f"no path leads to {shorten(str(name))}: there is none to draw")
    style = {name: getattr(options, name) for name in ("extent", "title", "credit")}
    style["unit"] = unit.name
    # (from here on in the unit that is shown)
    if unit.size != 1:
        result.distances, result.limit = unit.of(result.to_float()), None
    if options.limits:
        return result.plot_isochrones([unit.of(limit) for limit in options.limits], **style)
    return result.plot(path_to=target, **style)
