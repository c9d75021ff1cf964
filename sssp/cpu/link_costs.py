"""Volume-delay functions: cost, slope and integral of every link at its flow, compiled.

Sources: Bureau of Public Roads, Traffic Assignment Manual (1964); Spiess, Conical volume-delay
functions, Transportation Science 24 (1990).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.graph.check_arrays import number_array
from sssp.graph.csr import seal
from sssp.kernels.dtypes import FLOAT64
from sssp.kernels.jit import njit, njit_inline

Column = NDArray[np.float64]

#: which of the three numbers of `_cost_at` a column holds
COST, SLOPE, INTEGRAL = 0, 1, 2
#: the exponent that most networks have, for which no power is computed
USUAL_BETA = 4.0


@njit_inline
def _cost_at(conical, free, capacity, alpha, beta, flow):
    """Return the cost of a link at a flow, its slope and its integral, without the fixed cost."""
    if not free < math.inf:
        return math.inf, 0.0, 0.0
    ratio = flow / capacity
    if conical:
        away = alpha * (1.0 - ratio)
        root = math.sqrt(away * away + beta * beta)
        root_0 = math.sqrt(alpha * alpha + beta * beta)
        # the integral of sqrt(w^2 + beta^2) over w from away to alpha
        area = alpha * root_0 - away * root
        area = 0.5 * (area + beta * beta * (math.asinh(alpha / beta) - math.asinh(away / beta)))
        whole = ratio * (2.0 - beta - alpha + 0.5 * alpha * ratio) + area / alpha
        cost, slope = 2.0 - beta + root - away, alpha - alpha * away / root
        return free * cost, free * slope / capacity, free * whole * capacity
    if beta == 0.0:
        return free * (1.0 + alpha), 0.0, free * (1.0 + alpha) * flow
    power = ratio * ratio * ratio if beta == USUAL_BETA else ratio ** (beta - 1.0)
    slower = alpha * power * ratio
    cost, slope = free * (1.0 + slower), free * alpha * beta * power / capacity
    return cost, slope, free * flow * (1.0 + slower / (beta + 1.0))


@njit
def _column_kernel(conical, free, capacity, alpha, beta, fixed, flow, what, out):
    """Write each link's cost at its flow, or the slope or integral of the cost, as `what` selects.

    ============================ ========================= =============================
    argument                     shape, dtype              written by
    ============================ ========================= =============================
    free, capacity, alpha, beta  (rows,) float64           caller: parameters
    fixed, flow                  (rows,) float64           caller
    what                         int                       caller: COST, SLOPE, INTEGRAL
    out                          (rows,) float64           kernel
    ============================ ========================= =============================
    """
    for row in range(flow.size):
        cost, slope, integral = _cost_at(
            conical, free[row], capacity[row], alpha[row], beta[row], flow[row]
        )
        found = cost + fixed[row], slope, integral + fixed[row] * flow[row]
        out[row] = found[what]


@njit
def _along_kernel(conical, free, capacity, alpha, beta, fixed, flow, direction, step):
    """Return first and second derivative of Beckmann's objective by the step along `direction`."""
    first = second = 0.0
    for row in range(flow.size):
        way = direction[row]
        if way != 0.0:
            # (rounding may leave an empty row below 0)
            at = max(0.0, flow[row] + step * way)
            cost, slope, _ = _cost_at(conical, free[row], capacity[row], alpha[row], beta[row], at)
            first += way * (cost + fixed[row])
            second += way * way * slope
    return first, second


class _LinkCost:
    """A volume-delay function with parameters for every link; base class."""

    _conical: ClassVar[bool]

    __slots__ = ("alpha", "beta", "capacity", "fixed", "free")

    def _keep(self, **given: ArrayLike) -> None:
        """Check the parameters, broadcast them to one length, and store them."""
        numbers = {name: number_array(value, name).astype(FLOAT64) for name, value in given.items()}
        shapes = {value.shape for value in numbers.values()} - {()}
        if len(shapes) != 1 or len(min(shapes)) != 1:
            text = ", ".join(f"{name} {value.shape}" for name, value in numbers.items())
            raise ValueError(f"parameters are numbers, or hold one for each row: {text}")
        shape = min(shapes)
        kept = {name: seal(np.broadcast_to(value, shape)) for name, value in numbers.items()}
        self.free, self.capacity, self.fixed = kept["free"], kept["capacity"], kept["fixed"]
        self.alpha, self.beta = kept["alpha"], kept["beta"]
        self._require("free", self.free >= 0, "0 or more; infinite closes the row")
        positive = (self.capacity > 0) & (self.capacity < np.inf)
        self._require("capacity", positive, "a positive number; an infinite free closes a row")
        self._require("fixed", (self.fixed >= 0) & (self.fixed < np.inf), "0 or more, and finite")

    def _require(self, name: str, right: NDArray[np.bool_], wanted: str) -> None:
        odd = np.flatnonzero(~right)
        if odd.size:
            value = getattr(self, name)[odd[0]]
            raise ValueError(f"{name} of row {odd[0]} is {value}: it must be {wanted}")

    @property
    def _parameters(self) -> tuple[Any, ...]:
        return self._conical, self.free, self.capacity, self.alpha, self.beta, self.fixed

    def _column(self, flow: ArrayLike, what: int) -> Column:
        flows = number_array(flow, "flow").astype(FLOAT64, copy=False)
        if flows.shape != self.free.shape:
            raise ValueError(f"flow must have shape {self.free.shape}, not {flows.shape}")
        out = np.empty(flows.size, FLOAT64)
        _column_kernel(*self._parameters, flows, what, out)
        return out

    def cost(self, flow: ArrayLike) -> Column:
        """Return the cost of each link at its flow (0 or more): float64, shape (rows,)."""
        return self._column(flow, COST)

    def slope(self, flow: ArrayLike) -> Column:
        """Return the derivative of each link's cost at its flow: float64, shape (rows,)."""
        return self._column(flow, SLOPE)

    def integral(self, flow: ArrayLike) -> Column:
        """Return the integral of each link's cost from 0 to its flow: float64, shape (rows,)."""
        return self._column(flow, INTEGRAL)

    def _along(self, flow: Column, direction: Column, step: float) -> tuple[float, float]:
        first, second = _along_kernel(*self._parameters, flow, direction, step)
        return float(first), float(second)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.free.size} rows>"


class BPR(_LinkCost):
    """BPR link cost function: ``free * (1 + alpha * (flow / capacity) ** beta) + fixed``.

    Parameters
    ----------
    free : array_like, shape (rows,)
        Cost of every row of the network's input while it is empty, 0 or more; an infinite one
        closes the row.
    capacity : array_like, shape (rows,), or float
        Flow at which a row costs ``1 + alpha`` times as much; above 0.
    alpha, beta : float or array_like, shape (rows,)
        0 or more; `beta` 0 or from 1 on, so that slopes are finite.
    fixed : float or array_like, shape (rows,)
        What a row costs at any flow in addition: a toll in units of time, say.

    Raises
    ------
    ValueError
        A parameter out of its range, or of another length; names the row.
    TypeError
        Parameters that are not numbers.

    Examples
    --------
    >>> import sssp
    >>> sssp.BPR(free=[10.0, 20.0], capacity=[100, 50]).cost([100, 100]).tolist()
    [11.5, 68.0]
    """

    __slots__ = ()
    _conical = False

    def __init__(
        self,
        free: ArrayLike,
        capacity: ArrayLike,
        alpha: ArrayLike = 0.15,
        beta: ArrayLike = 4.0,
        fixed: ArrayLike = 0.0,
    ) -> None:
        self._keep(free=free, capacity=capacity, alpha=alpha, beta=beta, fixed=fixed)
        self._require("alpha", (self.alpha >= 0) & (self.alpha < np.inf), "0 or more, and finite")
        exponents = (self.beta == 0) | ((self.beta >= 1) & (self.beta < np.inf))
        self._require("beta", exponents, "0, or a number from 1 on")


class Conical(_LinkCost):
    """Conical costs of Spiess, which rise less steeply beyond the capacity than those of `BPR`.

    With ``u = alpha * (1 - flow / capacity)`` and ``beta = (2 * alpha - 1) / (2 * alpha - 2)``
    a row costs ``free * (2 + sqrt(u ** 2 + beta ** 2) - u - beta)``: at its capacity twice as much
    as while it is (almost) empty.

    Parameters
    ----------
    free, capacity, fixed
        As of `BPR`.
    alpha : float or array_like, shape (rows,)
        Above 1; the greater, the steeper.

    Raises
    ------
    ValueError, TypeError
        As `BPR`.

    Examples
    --------
    >>> import sssp
    >>> sssp.Conical(free=[10.0], capacity=100.0).cost([100.0]).tolist()
    [20.0]
    """

    __slots__ = ()
    _conical = True

    def __init__(
        self, free: ArrayLike, capacity: ArrayLike, alpha: ArrayLike = 4.0, fixed: ArrayLike = 0.0
    ) -> None:
        self._keep(free=free, capacity=capacity, alpha=alpha, beta=0.0, fixed=fixed)
        self._require("alpha", (self.alpha > 1) & (self.alpha < np.inf), "above 1, and finite")
        self.beta = (2 * self.alpha - 1) / (2 * self.alpha - 2)
        self.beta.flags.writeable = False
