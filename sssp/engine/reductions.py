"""Reductions of a row of distances to a number, such as its maximum, sum, mean or count.

A reduction is written once, as a `Rule` in `REDUCTIONS`: steps, each of which maps every reached
vertex to a number and combines these, and a function that makes the answer of their results. What
finishes rows (on the CPU, on a GPU, side by side in a sweep) computes steps, and knows no rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.decay import FUNCTION, ONE, Decay, choose_summand
from sssp.engine.exact_sums import join_parts
from sssp.kernels.dtypes import FLOAT64, INT64, unreached

Array = NDArray[Any]

#: bits of an integer that every float64 holds
EXACT = 53


@dataclass(frozen=True)
class Step:
    """One sum or maximum over the reached vertices of a row: a step of a reduction.

    Attributes
    ----------
    number : {"one", "distance", "weight"}
        What a vertex is mapped to.
    combine : {"sum", "max"}
        How the numbers are combined; ``"max"`` goes with distances alone.
    vertex_weights : ndarray, shape (n, c), int64 or float64, or None
        Of the step that adds weights: a sum for each column; None: 1 for every vertex.
    decay : Decay or None
        By how much a weight is multiplied for the distance of its vertex; weights are float64 then.
    """

    number: str
    combine: str = "sum"
    vertex_weights: Array | None = None
    decay: Decay | None = None

    @property
    def columns(self) -> int:
        """Number of results per row of distances: one, or one per column of vertex weights."""
        return 1 if self.vertex_weights is None else int(self.vertex_weights.shape[1])

    @property
    def summand(self) -> Decay:
        """The function of the distance that is summed, times the vertex weight if there is one."""
        return choose_summand(self.decay, self.vertex_weights)

    def dtype_of(self, distances: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype of the result, int64 or float64, for a dtype of distances."""
        if self.number == "one":
            return INT64
        values = distances if self.vertex_weights is None else self.vertex_weights.dtype
        return INT64 if values.kind != "f" and self.decay is None else FLOAT64

    def is_exact(self, distances: np.dtype[Any]) -> bool:
        """Return whether the order of summation cannot change the result, for this dtype."""
        return self.combine == "max" or self.dtype_of(distances) == INT64


COUNT, TOTAL, WEIGHT = Step("one"), Step("distance"), Step("weight")
GREATEST = Step("distance", "max")


class Block(NamedTuple):
    """A block of rows that a reduction computes together: sources, targets, size and dtype.

    Attributes
    ----------
    sources : ndarray, int64
        Of the rows; on the expansion of a graph with turns, where trips to them end.
    targets : ndarray, int64, ascending, or None
        The vertices that count; None: all.
    n : int
        Number of vertices.
    dtype : dtype
        Of the answer.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64] | None
    n: int
    dtype: np.dtype[Any]


class Rule(NamedTuple):
    """The definition of a row reduction (sum, mean...): its steps and its final function.

    Attributes
    ----------
    steps : tuple of Step
    finish : callable
        Makes the answer, shape (rows,) or (rows, c), of a `Block` and the results of the steps.
        Counts and greatest distances have shape (rows,), the least number of all where nothing
        counts; sums of floats (rows, c), and those of integers (rows, c, 2): sums of their upper
        and of their lower 32 bits.
    is_float : bool
        Whether the answer is float64, whatever the distances are.
    """

    steps: tuple[Step, ...]
    finish: Callable[..., Array]
    is_float: bool = False

    @property
    def weighs(self) -> bool:
        """Whether the reduction takes vertex weights and a decay."""
        return WEIGHT in self.steps


def _take_greatest(block: Block, greatest: Array) -> Array:
    """Return each row's greatest distance; the unreached sentinel if it reaches no vertex."""
    return np.where(greatest == least_number(block.dtype), unreached(block.dtype), greatest)


def _join(what: str, block: Block, totals: Array) -> Array:
    """Compute integer sums from their 32-bit halves; raise if one exceeds int64."""
    return totals if totals.ndim == 2 else join_parts([totals[..., 0], totals[..., 1]], what)


def _divide_by_count(block: Block, totals: Array, counts: Array) -> Array:
    sums, divisors = _numbers(totals, np.maximum(counts, 1))
    return np.where(counts > 0, sums / divisors, math.nan)


def _find_closeness(block: Block, totals: Array, counts: Array) -> Array:
    sources, targets, *_ = block
    own = np.ones(sources.size, bool)
    if targets is not None:  # (np.isin would sort them for every block)
        own = np.searchsorted(targets, sources) < np.searchsorted(targets, sources, "right")
    others = (block.n if targets is None else targets.size) - own
    far = np.asarray(_numbers(totals, counts)[0] > 0, bool)
    sums, counts = _numbers(totals[far], counts[far] - own[far])
    found = np.zeros(far.size)
    found[far] = (counts / sums) * (counts / others[far])
    return found


def _numbers(totals: Array, counts: Array) -> tuple[Array, Array]:
    """Return the distance sum and vertex count of each row, as Python integers if a sum is large.

    As NumPy divides them: integers of both kinds to floats, rounded once.
    """
    if totals.ndim == 2:
        return totals[:, 0], counts
    high, low = totals[:, 0, 0], totals[:, 0, 1]
    if not (high.any() or (low >> EXACT).any()):
        return low, counts
    return (high.astype(object) << 32) + low.astype(object), counts.astype(object)


def least_number(dtype: np.dtype[Any]) -> Any:
    """Return the initial value of a maximum: -inf, or the least integer of a dtype."""
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


REDUCTIONS = {
    "eccentricity": Rule((GREATEST,), _take_greatest),
    "sum": Rule((TOTAL,), partial(_join, "distances")),
    "mean": Rule((TOTAL, COUNT), _divide_by_count, is_float=True),
    "count": Rule((COUNT,), lambda block, counts: counts),
    "weight": Rule((WEIGHT,), partial(_join, "vertex weights")),
    "closeness": Rule((TOTAL, COUNT), _find_closeness, is_float=True),
}


@dataclass(frozen=True)
class Reduction:
    """A reduction of each row of distances to numbers: its name, vertex weights and decay.

    Attributes
    ----------
    what : str
        Its name in `REDUCTIONS`.
    vertex_weights, decay
        Of its step that adds weights, as in `Step`.
    one_column : bool
        Whether the answer has no axis for columns.
    """

    what: str
    vertex_weights: Array | None = None
    decay: Decay | None = None
    one_column: bool = True

    @property
    def rule(self) -> Rule:
        """The `Rule` that defines this reduction: its steps and its final function."""
        return REDUCTIONS[self.what]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The counts, sums and maxima of a row from which this reduction is computed."""
        if not self.rule.weighs:
            return self.rule.steps
        weighed = replace(WEIGHT, vertex_weights=self.vertex_weights, decay=self.decay)
        return tuple(weighed if step is WEIGHT else step for step in self.rule.steps)

    @cached_property
    def key(self) -> Any:
        """A cache key of the reduction; None if it has vertex weights or a user-defined decay."""
        decay = self.decay or Decay(ONE)
        if self.vertex_weights is not None or decay.kind == FUNCTION:
            return None
        return self.what, decay.kind, decay.number, decay.edges.tobytes(), decay.values.tobytes()

    @property
    def columns(self) -> int:
        """Number of results of the reduction for a row."""
        return max(step.columns for step in self.steps)

    def dtype_of(self, distances: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype of the answer, int64 or float64, for a dtype of distances."""
        kinds = [step.dtype_of(distances) for step in self.steps]
        return FLOAT64 if self.rule.is_float else np.result_type(*kinds)
