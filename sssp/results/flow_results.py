"""`Flows`: the result of `load`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree_sums import flow_on_input
from sssp.engine.demand import EXACT
from sssp.engine.exact_sums import sum_products
from sssp.errors import DistanceOverflowError
from sssp.kernels.dtypes import FLOAT64, INT64

if TYPE_CHECKING:
    from sssp.graph.graph import Graph


@dataclass(frozen=True, eq=False)
class Flows:
    """Flow on every arc, with all trips on shortest paths.

    Not made by hand: `sssp.load` returns it. It pickles.

    Attributes
    ----------
    graph : Graph
        What was loaded.
    by_arc : ndarray, shape (m,), int64 or float64
        Flow on every arc, at its position in ``graph.indices``; integers if the volumes were.
    total : int or float
        Volume times distance, of all trips: flow times weight, and what turns cost.
    unreached : int or float
        Volume that was left out because no path leads there (``unreached="skip"``).
    selected : ndarray or csr_array, in the shape of the volumes; or None
        Volume of the trips that use a selected row (``select=``); the flow is theirs alone.
    """

    graph: Graph
    by_arc: NDArray[Any]
    total: int | float
    unreached: int | float
    selected: Any = None

    @cached_property
    def flow(self) -> NDArray[Any]:
        """Flow on every row of the input, summed over both directions if undirected."""
        return flow_on_input(self.graph, [self.by_arc])

    def __repr__(self) -> str:
        used = np.count_nonzero(self.by_arc)
        left = f", {self.unreached:,} unreached" if self.unreached else ""
        return f"<Flows on {used:,} of {self.by_arc.size:,} arcs, total {self.total:,}{left}>"


def cost_of(flow: NDArray[np.float64], weights: NDArray[Any], *, is_integral: bool) -> int | float:
    """Return the sum of flow times weight over all arcs; exact for integers."""
    if weights.dtype.kind == "f":
        used = np.flatnonzero(flow)  # (closed arcs weigh infinity)
        return sum_products(flow[used], weights[used])
    total = sum_products(flow, weights)
    if not is_integral:
        return total
    if sum_products(flow, np.abs(weights, dtype=FLOAT64)) < EXACT:
        return int(total)
    used = np.flatnonzero(flow)
    return int(sum(map(mul, map(int, flow[used].tolist()), weights[used].tolist())))


def as_volumes(numbers: NDArray[np.float64], *, is_integral: bool) -> NDArray[Any]:
    """Return sums as integers if the volumes are integers.

    Raises
    ------
    DistanceOverflowError
        One is too large to be exact.
    """
    if not is_integral:
        return numbers
    if numbers.size and not max(numbers.max(), -numbers.min()) < EXACT:
        raise DistanceOverflowError(
            "a sum of integers reaches 2**53, where float64 stops being exact; pass floats, which "
            "are rounded"
        )
    return numbers.astype(INT64)
