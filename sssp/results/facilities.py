"""`NearestFacilities`: what a call of `nearest` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.graph.html import as_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sssp.graph.graph import Graph


class NearestFacilities:
    """The k nearest facilities of every vertex.

    Not made by hand: `sssp.nearest` returns it. It owns its memory and pickles.

    Attributes
    ----------
    graph : Graph
        The graph of the call.
    facilities : ndarray, shape (f,), int64
        Their vertices, in the order in which they were given.
    direction : {"from", "to"}
        Whether distances are from facilities to vertices, or from vertices to facilities.
    limit : int, float or None
        The greatest distance of interest, inclusive.
    distances : ndarray, shape (n, k)
        Ascending in every row, in units of the weights. Where fewer than k facilities are reached,
        ``iinfo(dtype).max`` for integers, inf for floats.
    index : ndarray, shape (n, k), int32
        Their positions in `facilities`, -1 where there is none:
        ``r.facilities[r.index[r.reached]]`` are vertices.
    method, device : str
        What ran.
    stats : dict
        Counters of the method by name, ints, of all searches together.
    """

    def __init__(
        self,
        graph: Graph,
        facilities: NDArray[np.int64],
        distances: NDArray[Any],
        index: NDArray[np.int32],
        *,
        direction: str,
        limit: int | float | None,
        method: str,
        device: str,
        stats: dict[str, int],
    ) -> None:
        self.graph = graph
        self.facilities = facilities
        self.distances = distances
        self.index = index
        self.direction = direction
        self.limit = limit
        self.method = method
        self.device = device
        self.stats = stats

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Where there is a facility: bool, shape (n, k)."""
        found: NDArray[np.bool_] = self.index >= 0
        return found

    def __repr__(self) -> str:
        n, k = self.index.shape
        limit = "" if self.limit is None else f", limit {self.limit}"
        return (
            f"<NearestFacilities {k} of {self.facilities.size:,}, {self.direction} them{limit}; "
            f"distances {self.distances.dtype}, shape ({n}, {k}); by {self.method} on "
            f"{self.device}>"
        )

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.graph, self._draw)

    def _draw(self, ax: Axes) -> Axes:
        """Draw how far it is to the nearest."""
        from sssp.results.plots import Style, draw_distances

        style = Style(ax, None, None, None, "")
        return draw_distances(self.graph, self.distances[:, 0], self.facilities, None, style)
