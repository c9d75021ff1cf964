"""Directions and step lengths of bi-conjugate Frank-Wolfe, which `sssp.calls.assign` iterates.

Source: Mitradjieva and Lindberg, The stiff is moving: conjugate direction Frank-Wolfe methods with
applications to traffic assignment, Transportation Science 47 (2013). A target is a flow that a
step goes to: a mix of the all-or-nothing flow and of the last two targets, so that the direction is
conjugate to the last two, with respect to the slopes of the costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.exact_sums import sum_products

Column = NDArray[np.float64]

#: a step ends where the derivative along it is this part of that at its start
FLAT = 1e-12
#: evaluations of a line search; a bracket is at most halved so often
MOST_EVALUATIONS = 60
#: the all-or-nothing flow keeps at least this share of a target, or directions would never change
LEAST_SHARE = 0.01


def conjugate_shares(
    slopes: Column, flow: Column, fresh: Column, targets: list[Column], step: float
) -> tuple[float, float, float]:
    """Return the weights of three flows whose mean is the next target of conjugate Frank-Wolfe.

    Parameters
    ----------
    slopes, flow, fresh : ndarray, shape (rows,)
        Derivatives of the costs, the flow, and the all-or-nothing flow.
    targets : list of ndarray, shape (rows,)
        The last two targets, the latest first, or the only one.
    step : float
        How far the last step went to its target, in [0, 1).

    Notes
    -----
    Let x be the flow, y the all-or-nothing flow, s1 and s2 the last target and the one before, a
    the step, and <u, v> the sum of slopes * u * v. Directions are conjugate if <u, v> is 0. Then

        fresh_1 = <s1 - x, y - x>     last_1 = <s1 - x, s1 - x>     both = <s1 - x, s2 - x>
        fresh_2 = <s2 - x, y - x>     last_2 = <s2 - x, s2 - x>

    With one target, the next one is (1 - share) y + share s1. The direction there is conjugate to
    s1 - x for

        share = fresh_1 / (fresh_1 - last_1)

    With two, the next target is (y + nu s1 + mu s2) / (1 + nu + mu). The last two directions are,
    as seen from x, d1 = s1 - x and d2 = a s1 + (1 - a) s2 - x. They are taken as conjugate to each
    other: they were made so, with the slopes of that time. Then the new one is conjugate to both
    for

        mu = - <d2, y - x> / <d2, s2 - s1>
        nu = - <d1, y - x> / <d1, d1> + mu a / (1 - a)

    where <d2, y - x> is a fresh_1 + (1 - a) fresh_2. `across` is what share or mu is divided by.
    What comes out negative becomes 0, so that the target is a mix of feasible flows; and a share is
    at most 1 - `LEAST_SHARE`.
    """
    to_fresh, to_last, to_older = (end - flow for end in (fresh, targets[0], targets[-1]))
    weighed_last, weighed_older = slopes * to_last, slopes * to_older
    fresh_1, last_1, both = (sum_products(weighed_last, to) for to in (to_fresh, to_last, to_older))
    fresh_2, last_2 = (sum_products(weighed_older, to) for to in (to_fresh, to_older))
    if len(targets) == 1:
        across = fresh_1 - last_1
        share = min(max(fresh_1 / across, 0.0), 1.0 - LEAST_SHARE) if across else 0.0
        return 1.0 - share, share, 0.0
    # the direction before the last, as seen from here, leads to step * last + (1 - step) * older
    rest = 1.0 - step
    across = step * (both - last_1) + rest * (last_2 - both)
    mu = max(0.0, -(step * fresh_1 + rest * fresh_2) / across) if across else 0.0
    nu = max(0.0, -fresh_1 / last_1 + mu * step / rest) if last_1 else 0.0
    own = 1.0 / (1.0 + mu + nu)
    return own, nu * own, mu * own


def find_step(cost: Any, flow: Column, direction: Column, fixed: float) -> float:
    """Return the step in [0, 1] along a flow direction at which the objective is least.

    Newton's method on its derivative, within a bracket; where rounding hides the least, the longest
    step at which the objective was seen to fall.

    Parameters
    ----------
    cost : object with methods ``cost`` and ``slope``
        As for `sssp.assign`; those of this package have compiled derivatives.
    flow, direction : ndarray, shape (rows,)
    fixed : float
        What the whole direction costs in addition, at any flow.
    """

    def derive(step: float) -> tuple[float, float]:
        if hasattr(cost, "_along"):
            first, second = cost._along(flow, direction, step)
        else:
            at = flow + step * direction
            np.maximum(at, 0.0, out=at)  # (rounding may leave an empty row below 0)
            moves = direction != 0.0  # (a closed row costs infinity)
            way = direction[moves]
            first = sum_products(np.asarray(cost.cost(at))[moves], way)
            second = sum_products(np.asarray(cost.slope(at))[moves], way * way)
        return first + fixed, second

    low, high, step, rises_at_high = 0.0, 1.0, 0.0, False
    scale = 0.0
    for _ in range(MOST_EVALUATIONS):
        first, second = derive(step)
        scale = scale or abs(first)
        if abs(first) <= FLAT * scale or (first < 0 and step == 1.0):
            return step
        low, high = (step, high) if first < 0 else (low, step)
        rises_at_high |= first > 0
        if high - low <= FLAT * high:
            break
        new = step - first / second if second > 0 else 1.0
        if not low < new < high:
            new = 0.5 * (low + high) if rises_at_high else 1.0
        step = new
    return low
