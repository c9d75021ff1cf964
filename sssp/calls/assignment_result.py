"""`Assignment`: the result of `assign`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.load_demand import load, skim
from sssp.errors import import_extra
from sssp.graph.check_arrays import number_array

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy

Column = NDArray[np.float64]

#: columns of `Assignment.history`
HISTORY = ("gap", "objective", "seconds")


@dataclass(eq=False, repr=False)
class Assignment:
    """Flows at user equilibrium, within the gap that the call asked for.

    Not made by hand: `sssp.assign` returns it. It owns its memory and pickles.

    Attributes
    ----------
    graph : Graph
        The graph of the call; a row is a row of its input.
    flow : ndarray, shape (rows,), float64
        What every row carries, all classes together.
    times : ndarray, shape (rows,), float64
        What every row costs at that flow, before what it costs a class besides; infinite if it is
        closed.
    by_class : dict of str to ndarray, shape (rows,), float64
        The flow of every class; empty where the call named none.
    selected : ndarray or csr_array, shape of the volumes, or dict of str to such, or None
        With `select`: how much of every pair of origin and destination uses one of these rows.
    selected_flow : ndarray, shape (rows,), float64, or None
        With `select`: what every row carries of that.
    gap : float
        The relative gap: how much less all trips together would pay on the shortest paths at these
        costs, as a part of what they pay.
    total : float
        What all trips pay together: flow times costs, those of classes too.
    objective : float
        The sum over the rows of the integral of the cost from 0 to the flow (Beckmann's), and what
        classes pay besides: the least at equilibrium.
    iterations : int
        Number of iterations.
    unreached : float
        Volume that was left out, because no path leads there.
    interrupted : bool
        Whether Ctrl-C ended the call; everything above is then of the last flow whose gap is known.
    """

    graph: Graph
    flow: Column
    times: Column
    _: KW_ONLY
    by_class: dict[str, Column]
    gap: float
    total: float
    unreached: float
    interrupted: bool
    _history: NDArray[np.float64]
    _network: Graph | Hierarchy
    _weights: dict[str, Column]
    selected: Any = None
    selected_flow: Any = None

    @property
    def iterations(self) -> int:
        """Number of all-or-nothing loadings, each at other costs."""
        return len(self._history)

    @property
    def objective(self) -> float:
        """Beckmann's objective at the flow."""
        return float(self._history[-1, 1])

    @property
    def history(self) -> Any:
        """Gap and objective of every iteration, seconds since the call began: a `pandas.DataFrame`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return import_extra("pandas", "geo").DataFrame(self._history, columns=list(HISTORY))

    def load(self, demand: Any, *, name: str | None = None, **options: Any) -> Any:
        """Load any demand onto the shortest paths at these costs (all-or-nothing).

        Parameters
        ----------
        demand : tuple or DataFrame
            As for `sssp.load`.
        name : str, optional
            The class that travels, where there are classes.
        **options
            As for `sssp.load`: ``select=rows`` tells what would use a row.

        Returns
        -------
        Flows
            As of `sssp.load`; with closed zones its `graph` has them as forbidden turns.

        Raises
        ------
        ValueError
            No such class.
        UnreachableError, ValueError, TypeError, VertexError
            As `sssp.load` does.
        """
        return load(self._version(name), demand, **options)

    def skim(
        self, demand: Any, values: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Any:
        """Sum an attribute of the rows along the shortest paths at these costs.

        Parameters
        ----------
        demand : tuple or DataFrame
            As for `sssp.skim`: ``(origins, destinations)`` asks for the whole table.
        values : array_like, shape (rows,) or (rows, c)
            A number, or c of them, for every row of the input: `times`, a length, a toll.
        name : str, optional
            The class that travels, where there are classes.
        **options
            As for `sssp.skim`.

        Returns
        -------
        ndarray
            As of `sssp.skim`.

        Raises
        ------
        ValueError
            No such class; not one value per row.
        TypeError, VertexError
            As `sssp.skim` does.
        """
        columns = number_array(values, "values")
        if columns.ndim not in (1, 2) or len(columns) != self.graph.input_arcs:
            rows = self.graph.input_arcs
            raise ValueError(f"values must have shape ({rows},) or ({rows}, c): one a row")
        version = self._version(name)
        return skim(version, demand, columns[version._tree_graph.arc_origin], **options)

    def _version(self, name: str | None) -> Graph | Hierarchy:
        """Return the network with the weights of a user class, None for the only one."""
        if name is None and len(self._weights) == 1:
            (name,) = self._weights
        elif name not in self.by_class:
            names = ", ".join(map(repr, self.by_class)) or "none"
            raise ValueError(f"name must be that of a class, not {name!r}; there are {names}")
        return self._network.with_weights(rows=self._weights[name])

    def __repr__(self) -> str:
        ended = ", interrupted" if self.interrupted else ""
        return (
            f"<Assignment of {self.flow.size} rows: gap {self.gap:.2e} after {self.iterations} "
            f"iterations{ended}>"
        )
