"""Make graphs to measure: random ones, grids, published ones, some as large as a continent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp import datasets
from sssp.apps.terminal.arguments import find_graph
from sssp.kernels.jit import njit

Vertices = NDArray[np.int64]

#: copies of a country along a side of the continent; places along that of the grid
SIDES = {"continent": 4, "grid": 5000}
COUNTRY = "NE-synthetic"
#: short names of published graphs
KNOWN = {"colorado": "USA-road-d.COL"}
#: share of a side, at each of its ends, that no road crosses
CORNER = 0.1
#: weights are multiplied by factors from this to that
LIGHTER, HEAVIER = 0.8, 1.25
#: of random graphs
SEED = 1
#: weights of random graphs are drawn from 1 up to, but without, this
GREATEST = 1000
#: weights are drawn from this up to, but without, that
LIGHTEST, END = 100, 2000


@njit
def _percolated_arcs_kernel(
    width: int, height: int, share: float, seed: int, tails: Any, heads: Any, weights: Any
) -> int:
    """Keep each arc to the right and each arc down with probability `share`; return how many."""
    # the legacy generator, for the figures of other programs were taken on what it gives
    np.random.seed(seed)  # noqa: NPY002
    count = 0
    for vertex in range(width * height):
        right, down = vertex % width + 1 < width, vertex // width + 1 < height
        for head, exists in ((vertex + 1, right), (vertex + width, down)):
            if exists and np.random.random() < share:  # noqa: NPY002
                tails[count], heads[count] = vertex, head
                weights[count] = np.random.randint(LIGHTEST, END)  # noqa: NPY002
                count += 1
    return count


def percolated_grid(width: int, height: int, *, share: float = 0.62, seed: int = 1) -> sssp.Graph:
    """Return the largest component of a grid without some of its arcs.

    It has few arcs per vertex (2.6), all both ways, and dead ends, as a road network has, but no
    faster roads.

    `width` and `height` are the vertices of the grid, `share` is the probability of an arc to be
    kept; the same seed gives the same graph. Labels are places in the grid, row by row; weights
    are integers from 100 to 1999.
    """
    size = 2 * width * height
    arcs: list[Any] = [np.empty(size, np.int32) for _ in range(3)]
    count = _percolated_arcs_kernel(width, height, share, seed, *arcs)
    tails, heads, weights = (part[:count] for part in arcs)
    whole = sssp.Graph.from_arcs(tails, heads, weights, n=width * height, directed=False)
    return whole.largest_component()


def random_graph(n: int, degree: float) -> sssp.Graph:
    """Return a random graph with `degree` arcs per vertex, less self-loops and twins."""
    random = np.random.default_rng(SEED)
    tails, heads = random.integers(0, n, (2, int(degree * n)))
    return sssp.Graph.from_arcs(tails, heads, random.integers(1, GREATEST, tails.size), n=n)


def real_graph(name: str) -> sssp.Graph | None:
    """Read a published graph; None, and a line on stderr, if it is not on this machine."""
    path = datasets.find(name)
    if path is None:
        print(f"{name} is not here; data/README.md says where to get it", file=sys.stderr)
        return None
    return sssp.read_graph(path)


def add_arguments(parser: argparse.ArgumentParser, *, any_graph: bool = False) -> None:
    """Add the arguments that choose the graph of `choose_maker`: one that it makes, or any."""
    options: dict[str, Any] = {"metavar": "GRAPH"} if any_graph else {"choices": SIDES}
    parser.add_argument("kind", nargs="?", default="continent", **options)
    parser.add_argument("--side", type=int, help="copies, or places, along a side")
    parser.add_argument(
        "--country", default=COUNTRY, metavar="FILE", help=f"what is copied (default {COUNTRY})"
    )


def choose_maker(options: argparse.Namespace) -> Callable[[], sssp.Graph]:
    """Return a function that makes the graph of `add_arguments`; set ``side`` if it is missing.

    Raises
    ------
    argparse.ArgumentTypeError
        There is no graph of that name.
    """
    if options.kind not in SIDES:
        return find_graph(KNOWN.get(options.kind, options.kind)).load
    options.side = options.side or SIDES[options.kind]
    if options.kind == "grid":
        return partial(percolated_grid, options.side, options.side)
    return partial(continent, find_graph(options.country).load(), side=options.side)


class Outline(NamedTuple):
    """Vertices where roads leave a country, equally many on every side.

    Opposite sides have the same order, so that roads between copies do not cross.
    """

    west: Vertices
    east: Vertices
    south: Vertices
    north: Vertices


def continent(
    country: sssp.Graph, *, side: int = 4, crossings: int = 60, seed: int = 1
) -> sssp.Graph:
    """Lay copies of a road network side by side, and join neighbours by a few roads.

    Separators are as small as a real map's: those of the country, and the borders. (A grid of as
    many vertices has separators of thousands.)

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
    outline = _find_outline(part, crossings)
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


def _find_outline(graph: sssp.Graph, count: int) -> Outline:
    """Choose vertices along four sides of a connected road network without coordinates.

    Two vertices far apart are its west and its east, two more in between its south and its north;
    the differences of the distances to them are the coordinates of a vertex.
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
            for vertices in _find_ends(place, across, count)
        )
    )


def _distances(graph: sssp.Graph, source: int | np.int64) -> NDArray[np.int64]:
    distances: NDArray[Any] = sssp.shortest_paths(graph, int(source), device="cpu").distances
    return distances.astype(np.int64)


def _find_ends(
    place: NDArray[np.int64], across: NDArray[np.int64], count: int
) -> tuple[Vertices, Vertices]:
    """Return the vertices of least and of greatest `place` in each strip."""
    order = np.argsort(across, kind="stable")
    corner = int(CORNER * order.size)
    strips = np.array_split(order[corner : order.size - corner], count)
    least = [strip[np.argmin(place[strip])] for strip in strips]
    greatest = [strip[np.argmax(place[strip])] for strip in strips]
    return np.array(least), np.array(greatest)
