"""Sums of floats over the vertices of a row, in one order on every device.

A sum of floats depends on its order: groups of `GROUP` places are added up, place by place, and
then their sums. A place is a vertex of a whole row, or the position of a target. (Exponentials and
powers may differ in the last bit on a GPU.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.decay import DISTANCE, FUNCTION, ONE, Decay, choose_summand, factor_at
from sssp.kernels.dtypes import FLOAT64
from sssp.kernels.jit import njit

#: places of a row whose floats are added up by themselves
GROUP = 64


@njit
def _ordered_sums_kernel(distances, unseen, vertices, places, weights, decay, totals):
    """Sum weight * decay over the reached vertices of a row, in a fixed order of additions.

    ========= ======== ======= ==============================================================
    argument  shape    dtype   written by
    ========= ======== ======= ==============================================================
    distances (n,)     number  a search
    unseen    scalar   number  host: what stands for none
    vertices  (s,)     integer host: those to look at, ascending; None: all
    places    (s,)     integer host: their places, if some are left out; None: 0 to s - 1
    weights   (n, c)   float64 host; None: all 1, and c is 1
    decay     4        mixed   host: a `Decay`
    totals    (c,)     float64 host: zeros; here
    ========= ======== ======= ==============================================================
    """
    kind, number, edges, values = decay
    sums, group = np.zeros_like(totals), 0
    for i in range(distances.size if vertices is None else vertices.size):
        vertex = i if vertices is None else vertices[i]
        distance = distances[vertex]
        if distance == unseen:
            continue
        own = (i if places is None else places[i]) // GROUP
        if own != group:
            totals += sums
            sums[:], group = 0.0, own
        factor = factor_at(kind, number, edges, values, np.float64(distance))
        if weights is None:
            sums[0] += factor
        else:
            for column in range(sums.size):
                sums[column] += factor * weights[vertex, column]
    totals += sums


def ordered_sums(
    distances: NDArray[Any],
    unseen: Any,
    vertices: NDArray[Any] | None,
    weights: NDArray[np.float64] | None,
    decay: Decay | None,
    places: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Return sums of weight times decay over the reached vertices of a row, in a fixed order.

    Parameters
    ----------
    distances : ndarray, shape (n,)
    unseen : number
        What stands for unreached.
    vertices : ndarray, ascending, or None
        Those to look at; None: all.
    weights : ndarray, shape (n, c), or None
    decay : Decay or None
        None: the weights alone are added up, or the distances if there are none.
    places : ndarray, ascending, or None
        Of the vertices, if some are left out; None: in order.

    Returns
    -------
    ndarray, shape (c,) or (1,), float64
    """
    totals = np.zeros(1 if weights is None else weights.shape[1], FLOAT64)
    summand = choose_summand(decay, weights)
    if summand.kind == FUNCTION:
        distances = summand.factors(distances, distances != unseen)
        unseen, summand = math.inf, Decay(DISTANCE)
    numbers = tuple(summand[:-1])
    _ordered_sums_kernel(distances, unseen, vertices, places, weights, numbers, totals)
    return totals


@njit
def _ordered_lanes_kernel(block, start, places, bound, weights, decay, totals):
    """Sum weight * decay over the reached vertices of each search, in a fixed order of addition.

    ======== ============= ======= ============================================
    argument shape         dtype   written by
    ======== ============= ======= ============================================
    block    (size, lanes) number  sweeps
    start    scalar        int     host: the first lane that is wanted
    places   (s,)          integer host: rows of the block, in order of vertex
    bound    scalar        number  host: greatest distance that counts
    weights  (s, c)        float64 host; None: all 1, and c is 1
    decay    4             mixed   host: a `Decay`
    totals   (c, rows)     float64 host: zeros; here
    ======== ============= ======= ============================================
    """
    kind, number, edges, values = decay
    factors, sums = np.empty(totals.shape[1], np.float64), np.zeros_like(totals)
    for i in range(places.size):
        if i % GROUP == 0:
            totals += sums
            sums[:] = 0.0
        found = block[np.uint64(places[i]), start : start + factors.size]
        if kind == ONE:
            for lane in range(factors.size):
                factors[lane] = 1.0 if found[lane] <= bound else 0.0
        else:
            for lane in range(factors.size):
                factors[lane] = 0.0
                if found[lane] <= bound:
                    factors[lane] = factor_at(kind, number, edges, values, np.float64(found[lane]))
        # (what is not reached adds 0, which changes no sum)
        for column in range(totals.shape[0]):
            weight = 1.0 if weights is None else weights[i, column]
            for lane in range(factors.size):
                sums[column, lane] += factors[lane] * weight
    totals += sums


def ordered_sums_of_lanes(
    lanes: NDArray[Any],
    start: int,
    rows: int,
    places: NDArray[Any],
    bound: Any,
    weights: NDArray[np.float64] | None,
    decay: Decay | None,
) -> NDArray[np.float64]:
    """Return for each source the sum of distances, or of (decayed) weights, of reached vertices.

    Parameters
    ----------
    lanes : ndarray, shape (size, lanes)
        Distances,
    start, rows : int
        in so many lanes from one on.
    places : ndarray
        Which are looked at, in order of vertex.
    bound : number
        The greatest distance that counts.
    weights : ndarray, shape (places, c), or None
    decay : Decay or None
        As for `ordered_sums`.

    Returns
    -------
    ndarray, shape (rows, c) or (rows, 1), float64
    """
    totals = np.zeros((1 if weights is None else weights.shape[1], rows), FLOAT64)
    summand = choose_summand(decay, weights)
    if summand.kind == FUNCTION:
        found = lanes[places, start : start + rows]
        lanes = summand.factors(found, found <= bound)
        start, places = 0, np.arange(places.size)
        bound, summand = np.finfo(FLOAT64).max, Decay(DISTANCE)
    _ordered_lanes_kernel(lanes, start, places, bound, weights, tuple(summand[:-1]), totals)
    return totals.T
