"""`read_graph`: read a graph from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from sssp.errors import GraphFormatError
from sssp.graph.csr import pick
from sssp.graph.graph import Graph
from sssp.graph.graph_file import unpack
from sssp.kernels.dtypes import OFFSET, Array
from sssp.loaders import ArcList, RoadNetwork, read_any, read_co, read_weights
from sssp.loaders._files import Pathname

#: A text file is believed to have as many vertices as this (a quarter of a GiB of ``indptr``),
#: or as these for each of its arcs: a part of a continent may keep the continent's numbers.
BELIEVED_VERTICES, BELIEVED_VERTICES_PER_ARC = 1 << 25, 64


@overload
def read_graph(
    path: Pathname, *, coordinates: Pathname | None = None, also: None = None
) -> Graph: ...


@overload
def read_graph(
    path: Pathname, *, coordinates: Pathname | None = None, also: Mapping[str, Pathname]
) -> tuple[Graph, dict[str, Array]]: ...


def read_graph(
    path: Pathname,
    *,
    coordinates: Pathname | None = None,
    also: Mapping[str, Pathname] | None = None,
) -> Graph | tuple[Graph, dict[str, Array]]:
    """Read a graph from a file, and optionally other costs of its arcs from further files.

    Parameters
    ----------
    path : path-like
        A DIMACS ``.gr`` file, a ``.sssp`` file written by `Graph.save`, or an OpenStreetMap file,
        which is read as by `read_osm` with its defaults; plain or compressed (gzip, xz, bzip2).
        Which one it is shows in its first bytes, not in its name. It is read
        once, from the beginning to the end, so a pipe will do: ``/dev/stdin``, or a shell's
        ``<(zcat x.gr.gz)``.
    coordinates : path-like, optional
        A DIMACS ``.co`` file for the same vertices, plain or compressed.
    also : mapping of names to path-like, optional
        DIMACS ``.gr`` files that hold the same arcs in the same order with another cost each,
        as the distance and time graphs of one road network do: ``{"km": "USA-road-d.NY.gr.gz"}``.
        `path` is then a ``.gr`` file too.

    Returns
    -------
    graph : Graph
        The labels of a DIMACS graph are the vertex numbers of the file, 1..n.
    costs : dict of names to ndarray of int32 or int64, shape (m,)
        With `also` alone: a number for each kept arc, as `ShortestPaths.skim` and
        `Graph.with_weights` take them. Of parallel rows it is that of the row which the graph
        kept, the lightest in `path`, whatever is cheaper in the other file.

    Raises
    ------
    GraphFormatError
        A file is malformed or damaged, or of another graph. The message names the file and, in
        text, the line.
    OSError
        A file cannot be opened.
    TypeError
        `also` is no mapping.

    Examples
    --------
    Kilometres along the fastest path::

        g, costs = sssp.read_graph("USA-road-t.NY.gr.gz", also={"km": "USA-road-d.NY.gr.gz"})
        r = sssp.shortest_paths(g, sources, targets=targets, predecessors=True)
        km = r.skim(costs["km"])
    """
    if not (also is None or isinstance(also, Mapping)):
        raise TypeError(f"also must be names and paths, as {{'km': path}}, not {also!r}")
    content = read_any(path)
    graph = graph_of(content, path, coordinates)
    if also is None:
        return graph
    if not isinstance(content, ArcList):
        raise GraphFormatError(
            "also= compares files row by row, and an .sssp file holds no rows: read the .gr file "
            "that it comes from, or take sssp.loaders.read_gr(other).weights[graph.arc_origin]",
            path=path,
        )
    weights = {name: read_weights(other, content, path) for name, other in also.items()}
    return graph, {name: pick(column, graph.arc_origin) for name, column in weights.items()}


def graph_of(
    content: ArcList | RoadNetwork | tuple[dict[str, Any], dict[str, Array]],
    path: Pathname,
    coordinates: Pathname | None,
) -> Graph:
    """Build the graph from a file's content that `sssp.loaders.read_any` returned.

    A text file must not claim more vertices than it can mean.
    """
    if isinstance(content, RoadNetwork):
        if coordinates is not None:
            raise ValueError(f"{path} has coordinates of its own: omit coordinates")
        return graph_of_roads(content)
    if not isinstance(content, ArcList):
        graph = Graph._from_csr(**unpack(path, *content))
    else:
        n, k = content.n, content.tails.size
        believed = max(BELIEVED_VERTICES, BELIEVED_VERTICES_PER_ARC * k)
        if n > believed:
            raise GraphFormatError(
                f"n is {n}, but the file has {k} arcs: {n} vertices take "
                f"{n * OFFSET.itemsize / 2**30:.1f} GiB before the first arc, and a file with so "
                f"few is believed up to n = {believed}; if it is right, read it with "
                "sssp.loaders.read_gr and pass its columns and n to Graph.from_arcs",
                path=path,
            )
        labels = range(1, n + 1)
        graph = Graph.from_arcs(content.tails, content.heads, content.weights, n, labels=labels)
    if coordinates is not None:
        graph = graph._replace(coordinates=read_co(coordinates, graph.n))
    return graph


def graph_of_roads(roads: RoadNetwork, weight: str = "seconds", turns: bool = True) -> Graph:
    """Return the graph of the roads in an OpenStreetMap file, weighted in seconds or metres."""
    weights = roads.columns["length"] if weight == "metres" else roads.seconds
    columns = roads.tails, roads.heads, weights
    ids = roads.ids
    graph = Graph.from_arcs(*columns, ids.size, coordinates=roads.coordinates, labels=ids)
    graph = graph._replace(input=roads.columns, about=roads.report | {"weight": weight})
    pairs, chains = roads.turns
    if not turns or not (pairs.size or chains):
        return graph
    return graph.with_turns((*pairs.T, np.full(len(pairs), np.inf)), ways=chains)
