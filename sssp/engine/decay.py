"""Distance decay: functions of the distance that multiply the weights of vertices."""

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
        """The greatest distance at which the decay factor may be above 0."""
        if self.kind == LINEAR:
            return self.number
        return float(self.edges[-1]) if self.kind == TABLE else math.inf

    def factors(self, distances: NDArray[Any], reached: NDArray[Any]) -> NDArray[np.float64]:
        """Return the decay factor of each distance, by `function`; inf for unreached vertices.

        Raises
        ------
        ValueError
            Not a finite number for each of them.
        """
        assert self.function is not None
        known, factors = distances[reached], np.full(distances.shape, math.inf)
        found = np.asarray(self.function(known.astype(FLOAT64)))
        if found.shape != known.shape or found.dtype.kind not in "iubf":
            raise ValueError(
                f"decay must return a number for each of {known.size} distances, not "
                f"{found.dtype} of shape {found.shape}"
            )
        odd = np.flatnonzero(~np.isfinite(found))
        if odd.size:
            raise ValueError(f"decay returns {found[odd[0]]} for the distance {known[odd[0]]}")
        factors[reached] = found
        return factors


@njit
def factor_at(kind, number, edges, values, distance):
    """Return the decay factor at a distance, a float64; compiled for CPUs and GPUs."""
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
        # (np.searchsorted is not there on a GPU)
        place, end = 0, edges.size
        while place < end:
            middle = (place + end) // 2
            if edges[middle] < distance:
                place = middle + 1
            else:
                end = middle
        return values[place] if place < edges.size else 0.0
    return 1.0


def choose_summand(decay: Decay | None, weights: NDArray[Any] | None) -> Decay:
    """Return `decay` or, if it is None, a default: the distance or, with vertex weights, 1."""
    if decay is not None:
        return decay
    return Decay(DISTANCE if weights is None else ONE)
