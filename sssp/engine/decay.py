"""Distance-decay functions of vertex weights, and sums of floats in a fixed order of vertices.

A sum of floats depends on its order, which is the same on every device: groups of `GROUP` places
are added up, place by place, and then their sums. A place is a vertex of a whole row, or the
position of a target. (Exponentials and powers may differ in the last bit on a GPU.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.dtypes import FLOAT64
from sssp.kernels.jit import njit

#: what the kernel adds up of a vertex: its distance, 1, or what a decay makes of the distance
DISTANCE, ONE, EXPONENTIAL, POWER, LINEAR, GAUSSIAN, TABLE, FUNCTION = range(8)
_NOTHING = np.empty(0, FLOAT64)
#: places of a row whose floats are added up by themselves
GROUP = 64


class Decay(NamedTuple):
    """A function of the distance that multiplies the weight of a vertex in a reduction.

    Attributes
    ----------
    kind : int
        `EXPONENTIAL`: ``exp(-number * distance)``; `POWER`: ``max(distance, 1) ** -number``;
        `LINEAR`: ``max(0, 1 - distance / number)``; `GAUSSIAN`:
        ``exp(-(distance / number) ** 2 / 2)``; `TABLE`: constant between edges; `FUNCTION`: of
        the caller's. `ONE` and `DISTANCE` are not decays.
    number : float
        Rate, exponent, or distance.
    edges, values : ndarray, float64
        Of a table: the first edge that is no less than the distance tells the value, 0 beyond.
    function : callable or None
        Makes float64 factors of an array of float64 distances.
    """

    kind: int
    number: float = 0.0
    edges: NDArray[np.float64] = _NOTHING
    values: NDArray[np.float64] = _NOTHING
    function: Callable[[NDArray[np.float64]], Any] | None = None

    @property
    def reach(self) -> float:
        """The greatest distance at which the factor may be above 0."""
        if self.kind == LINEAR:
            return self.number
        return float(self.edges[-1]) if self.kind == TABLE else math.inf

    def factors(self, distances: NDArray[Any]) -> NDArray[np.float64]:
        """Return the factors that the caller's function gives for distances.

        Raises
        ------
        ValueError
            Not a finite number for each of them.
        """
        assert self.function is not None
        found = np.asarray(self.function(distances.astype(FLOAT64)))
        if found.shape != distances.shape or found.dtype.kind not in "iubf":
            raise ValueError(
                f"decay must return a number for each of {distances.size} distances, not "
                f"{found.dtype} of shape {found.shape}"
            )
        odd = np.flatnonzero(~np.isfinite(found))
        if odd.size:
            raise ValueError(f"decay returns {found[odd[0]]} for the distance {distances[odd[0]]}")
        return found.astype(FLOAT64)


@njit
def _factor(kind, number, edges, values, distance):
    """Return the factor of a vertex at a distance, a float64."""
    if kind == DISTANCE:
        return distance
    if kind == EXPONENTIAL:
        return math.exp(-number * distance)
    if kind == POWER:
        return max(distance, 1.0) ** -number
    if kind == LINEAR:
        return max(0.0, 1.0 - distance / number)
    if kind == GAUSSIAN:
        return math.exp(-((distance / number) ** 2) / 2.0)
    if kind == TABLE:
        place = np.searchsorted(edges, distance)
        return values[place] if place < edges.size else 0.0
    return 1.0


@njit
def _ordered_sums_kernel(distances, unseen, vertices, places, weights, decay, totals):
    """Sum weight times decay over the reached vertices of a row, in groups of places.

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
        factor = _factor(kind, number, edges, values, np.float64(distance))
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
    """Return the sums of a row, added up in groups of places.

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
        reached = distances != unseen
        factors = np.full(distances.size, math.inf)
        factors[reached] = summand.factors(distances[reached])
        distances, unseen, summand = factors, math.inf, Decay(DISTANCE)
    numbers = tuple(summand[:-1])
    _ordered_sums_kernel(distances, unseen, vertices, places, weights, numbers, totals)
    return totals


def choose_summand(decay: Decay | None, weights: NDArray[Any] | None) -> Decay:
    """Return what to sum for each vertex, as a `Decay`: its factor, its distance, or 1."""
    if decay is not None:
        return decay
    return Decay(DISTANCE if weights is None else ONE)


@njit
def _ordered_lanes_kernel(block, start, places, bound, weights, decay, totals):
    """Sum weight times decay over the reached vertices of every lane, in groups of places.

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
                    factors[lane] = _factor(kind, number, edges, values, np.float64(found[lane]))
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
    """Return the sums of rows swept side by side, rounded as those of `ordered_sums`.

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
        reached = found <= bound
        factors = np.full(found.shape, math.inf)
        factors[reached] = summand.factors(found[reached])
        lanes, start, places = factors, 0, np.arange(places.size)
        bound, summand = np.finfo(FLOAT64).max, Decay(DISTANCE)
    _ordered_lanes_kernel(lanes, start, places, bound, weights, tuple(summand[:-1]), totals)
    return totals.T
