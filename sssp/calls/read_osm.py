"""`read_osm`: from an OpenStreetMap file to a graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np

from sssp.engine.progress import check_progress, progress_bar
from sssp.errors import import_extra
from sssp.graph.check_arrays import as_choice, as_flag
from sssp.graph.graph import Graph
from sssp.graph.reading import graph_of_roads
from sssp.kernels.dtypes import Array
from sssp.loaders import Profile
from sssp.loaders import read_osm as read_roads


def read_osm(
    path: str | PathLike[str],
    profile: Literal["car", "bicycle", "foot"] | Profile = "car",
    weight: Literal["seconds", "metres"] = "seconds",
    *,
    turns: bool = True,
    box: Sequence[float] | None = None,
    polygon: Any = None,
    shapes: bool = False,
    progress: bool | None = None,
) -> Graph:
    """Read the roads of an OpenStreetMap file.

    Parameters
    ----------
    path : path-like
        ``.osm.pbf`` or ``.osm``, plain or compressed (gzip, xz, bzip2): which one it is shows in
        its first bytes. Nodes stand before ways and ways before relations, as in all extracts.
        It is read once, so a pipe will do.
    profile : {"car", "bicycle", "foot"} or Profile, default "car"
        Who travels: which roads are open, which way and how fast. `Profile` makes others.
    weight : {"seconds", "metres"}, default "seconds"
        What arcs weigh. Seconds have the delays at traffic signals and crossings in them.
    turns : bool, default True
        Forbid the turns that the restrictions of the file forbid, as `Graph.with_turns` does;
        False leaves them out, for what takes no graph with turns.
    box : (west, south, east, north), optional
        The part to read, in degrees, borders included. Ways are cut at the last node inside.
    polygon : shapely geometry or array_like of float, shape (corners, 2), optional
        The part to read; the corners of a ring are longitudes and latitudes.
    shapes : bool, default False
        Keep the points between junctions, in ``g.input``.
    progress : bool, optional
        A bar of the bytes read; by default on a terminal or in a notebook.

    Returns
    -------
    Graph
        Vertices are junctions, dead ends, and nodes where one way goes on as another; arcs are
        the parts of ways between them, in each direction that is open. `labels` are the ids of
        the nodes, ascending; weights are float64. A street between the same two vertices as a
        shorter one, or back to its own beginning, has one vertex more in its middle, so that
        no arc is lost.

        ``g.input`` has a value an input row: ``way`` (id, int64), ``name`` and ``highway``
        (str), ``length`` (metres on a sphere), ``speed`` (km/h); ``g.input["name"][g.arc_origin]``
        has one an arc. With `shapes` also ``shape_points`` (degrees, float64, shape (points, 2))
        and ``shape_offsets`` (int64, shape (rows + 1,)): the points of a row, from tail to head,
        are ``shape_points[shape_offsets[row]:shape_offsets[row + 1]]``.

        ``g.turns`` are the forbidden turns. Restrictions by the hour, for others than the profile,
        or that name no road of it are left out, and counted.

        ``g.about`` says whom to name (``"attribution"``), the ``"profile"``, the ``"weight"``, how
        many ``"ways"`` and ``"restrictions"`` were read, and what was left out:
        ``g.about["left_out"]`` has for every reason a count and the first case.

    Raises
    ------
    GraphFormatError
        The file is damaged, in another order, or a history; it holds no road, or none in the area.
    MissingExtraError
        osmium, or for a `polygon` shapely, is not installed.
    ValueError, TypeError
        No such profile or weight; no box or polygon.
    OSError
        The file cannot be opened.

    Notes
    -----
    One pass over the file, linear in its size. Memory: 16 bytes for each node of the file, some
    100 for each node of a road, and an XML file as a whole.

    Examples
    --------
    Minutes on a bicycle within a box::

        g = sssp.read_osm("porto.osm.pbf", "bicycle", box=(-8.65, 41.13, -8.58, 41.17))
        g.save("porto.sssp")
    """
    as_choice(weight, "weight", "seconds", "metres")
    inside = _inside(box, polygon)
    shapes, turns = as_flag(shapes, "shapes"), as_flag(turns, "turns")
    wanted = check_progress(progress)
    with progress_bar(os.stat(path).st_size, wanted, unit="B") as advance:
        roads = read_roads(path, profile, inside=inside, shapes=shapes, advance=advance)
    return graph_of_roads(roads, weight, turns)


def _inside(box: Any, polygon: Any) -> Callable[[Array, Array], Array] | None:
    """Return a function that tells which points (lon, lat) lie in the area; None without area."""
    if box is not None and polygon is not None:
        raise ValueError("an area is a box or a polygon, not both")
    if box is not None:
        bounds = np.asarray(box, np.float64)
        if bounds.shape != (4,) or not (bounds[:2] < bounds[2:]).all():
            raise ValueError(f"box must be (west, south, east, north) in degrees, not {box!r}")
        west, south, east, north = bounds
        return lambda lon, lat: (west <= lon) & (lon <= east) & (south <= lat) & (lat <= north)
    if polygon is None:
        return None
    shapely = import_extra("shapely", "geo")
    if not isinstance(polygon, shapely.Geometry):
        polygon = shapely.Polygon(polygon)
    shapely.prepare(polygon)
    return lambda lon, lat: shapely.intersects_xy(polygon, lon, lat)
