"""Graphs of the size of a continent, made on the spot: no real map of that size is at hand."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.common import percolated_grid
from sssp.apps.terminal.arguments import named_graph

__all__ = ["add_arguments", "continent", "maker_of"]

Vertices = NDArray[np.int64]

#: copies of a country along a side of the continent; places along that of the grid
SIDES = {"continent": 4, "grid": 5000}
COUNTRY = "NE-synthetic"
#: share of a side, at each of its ends, that no road crosses
CORNER = 0.1
#: weights are multiplied by factors from this to that
LIGHTER, HEAVIER = 0.8, 1.25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Let a script's caller choose the graph that `maker_of` makes."""
    parser.add_argument("kind", nargs="?", choices=SIDES, default="continent")
    parser.add_argument("--side", type=int, help="copies, or places, along a side")
    parser.add_argument(
        "--country", default=COUNTRY, metavar="FILE", help=f"what is copied (default {COUNTRY})"
    )


def maker_of(options: argparse.Namespace) -> Callable[[], sssp.Graph]:
    """Return what makes the graph that was chosen; what it is made of is here.

    Parameters
    ----------
    options : Namespace
        Of `add_arguments`. ``side`` is the default one's from now on, if none was named.
    """
    options.side = options.side or SIDES[options.kind]
    if options.kind == "grid":
        return partial(percolated_grid, options.side, options.side)
    return partial(continent, named_graph(options.country).load(), side=options.side)


class Outline(NamedTuple):
    """Where roads leave a country: as many vertices on every side.

    Those of opposite sides stand in the same order, so that what is joined does not cross.
    """

    west: Vertices
    east: Vertices
    south: Vertices
    north: Vertices


def continent(
    country: sssp.Graph, *, side: int = 4, crossings: int = 60, seed: int = 1
) -> sssp.Graph:
    """Lay copies of a road network side by side, and join neighbours by a few roads.

    What comes of that is cut as a real map is: a country by its own separators, and the continent
    along its borders, with few vertices. (A grid of as many vertices has separators of thousands.)

    Parameters
    ----------
    country : Graph
        Its largest component is taken; weights are integers.
    side : int
        Copies along a side of the square that they make.
    crossings : int
        Roads over every border, both ways, of median weight.
    seed : int
        Of the weights: every vertex of every copy has a factor from 0.8 to 1.25, and the weight of
        an arc is multiplied by the mean of those at its ends.

    Returns
    -------
    Graph
        Vertex v of the copy in column i of row j is ``(j * side + i) * country.n + v``.
    """
    part = country.largest_component()
    outline = outline_of(part, crossings)
    copies = np.arange(side * side)
    factors = np.random.default_rng(seed).uniform(LIGHTER, HEAVIER, (copies.size, part.n))
    offsets = copies[:, np.newaxis] * part.n
    tails, heads = offsets + part.tails, offsets + part.indices
    means = (factors[:, part.tails] + factors[:, part.indices]) / 2
    weights = np.maximum(np.rint(part.weights * means), 1).astype(part.weights.dtype)
    here, there = np.hstack(list(_borders(outline, side, part.n)))
    road = np.full(here.size, np.median(part.weights), part.weights.dtype)
    return sssp.Graph.from_arcs(
        np.concatenate((tails.ravel(), here, there)),
        np.concatenate((heads.ravel(), there, here)),
        np.concatenate((weights.ravel(), road, road)),
        n=copies.size * part.n,
    )


def _borders(outline: Outline, side: int, n: int) -> Iterator[Vertices]:
    """Yield the ends of the roads over every border, shape (2, roads); the first has none."""
    yield np.empty((2, 0), np.int64)
    for copy in range(side * side):
        here = copy * n
        if copy % side + 1 < side:
            yield np.stack((here + outline.east, here + n + outline.west))
        if copy + side < side * side:
            yield np.stack((here + outline.north, here + side * n + outline.south))


def outline_of(graph: sssp.Graph, count: int) -> Outline:
    """Choose vertices along four sides of a connected road network, whose places nobody knows.

    Two vertices far apart are its west and its east, two more in between its south and its north;
    by the differences of the distances to them every vertex has a place.
    """
    distances = [_distances(graph, np.argmax(_distances(graph, 0)))]
    for _ in range(3):
        # (the farthest from all so far)
        distances.append(_distances(graph, np.argmax(np.min(distances, axis=0))))
    x, y = distances[0] - distances[1], distances[2] - distances[3]
    return Outline(
        *(
            vertices
            for place, across in ((x, y), (y, x))
            for vertices in _ends(place, across, count)
        )
    )


def _distances(graph: sssp.Graph, source: int | np.int64) -> NDArray[np.int64]:
    distances: NDArray[Any] = sssp.shortest_paths(graph, int(source), device="cpu").distances
    return distances.astype(np.int64)


def _ends(
    place: NDArray[np.int64], across: NDArray[np.int64], count: int
) -> tuple[Vertices, Vertices]:
    """Return the vertices where `place` is least, and where it is greatest, in strips."""
    order = np.argsort(across, kind="stable")
    corner = int(CORNER * order.size)
    strips = np.array_split(order[corner : order.size - corner], count)
    least = [strip[np.argmin(place[strip])] for strip in strips]
    greatest = [strip[np.argmax(place[strip])] for strip in strips]
    return np.array(least), np.array(greatest)
