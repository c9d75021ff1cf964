"""Sums along paths that stand one behind the other."""

from __future__ import annotations

from sssp.kernels.jit import njit


@njit
def skim_kernel(firsts, arcs, values, sums):
    """Add `values` of the arcs of every path into `sums`, from its source on.

    ``arcs`` has the arc that leads to every vertex of the paths, -1 at their sources.
    """
    for walk in range(firsts.size - 1):
        for place in range(firsts[walk] + 1, firsts[walk + 1]):
            sums[walk] += values[arcs[place]]


@njit
def load_kernel(firsts, arcs, walk_of, volumes, loads):
    """Add the volume of every trip to `loads` of the arcs of its path."""
    for trip in range(walk_of.size):
        walk = walk_of[trip]
        for place in range(firsts[walk] + 1, firsts[walk + 1]):
            loads[arcs[place]] += volumes[trip]
