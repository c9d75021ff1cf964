"""Graphs to measure on that need no file."""

from __future__ import annotations

from typing import Any

import numpy as np

import sssp
from sssp.kernels.jit import njit

__all__ = ["percolated_grid"]

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
    """Return the largest component of a grid of which some arcs are left out.

    Like a road network it has few arcs a vertex (2.6), all both ways, and dead ends; like none
    it has no faster roads.

    Parameters
    ----------
    width, height : int
        Vertices of the grid.
    share : float
        Probability of an arc to be kept.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    Graph
        Labels are places in the grid, row by row; weights are integers from 100 to 1999.
    """
    size = 2 * width * height
    arcs: list[Any] = [np.empty(size, np.int32) for _ in range(3)]
    count = _percolated_arcs_kernel(width, height, share, seed, *arcs)
    tails, heads, weights = (part[:count] for part in arcs)
    whole = sssp.Graph.from_arcs(tails, heads, weights, n=width * height, directed=False)
    return whole.largest_component()
