"""The result of `sssp.nearest`: the k nearest facilities of every vertex."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from sssp.errors import VertexError, import_extra
from sssp.graph.frames import WGS84, label_column
from sssp.methods import BreadthFirst
from sssp.results import result_frames as frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sssp.graph.graph import Graph


@dataclass(eq=False, repr=False)
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

    graph: Graph
    facilities: NDArray[np.int64]
    distances: NDArray[Any]
    index: NDArray[np.int32]
    _: KW_ONLY
    direction: str
    limit: int | float | None
    method: str
    device: str
    stats: dict[str, int]
    _searched: tuple[NDArray[Any], NDArray[np.int32]] | None = None  # with turns: of all copies

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Mask, shape (n, k): whether a vertex has a nearest, second nearest, ... facility."""
        return np.greater_equal(self.index, 0)

    def distance(self, vertex: SupportsIndex, rank: SupportsIndex = 0) -> int | float:
        """Return the distance between a vertex and one of its nearest facilities, inf if none.

        Parameters
        ----------
        vertex : int
        rank : int
            0 for the nearest facility, 1 for the next, and so on.

        Raises
        ------
        VertexError
            No such vertex or rank.
        """
        v, i = operator.index(vertex), operator.index(rank)
        n, k = self.index.shape
        if not (0 <= v < n and 0 <= i < k):
            raise VertexError(f"there are {n} vertices and {k} ranks, not vertex {v}, rank {i}")
        return self.distances[v, i].item() if self.index[v, i] >= 0 else math.inf

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame`: a row per vertex and rank (0: nearest facility).

        Returns
        -------
        pandas.DataFrame
            In order of ``distances.ravel()``. Columns ``vertex`` and ``facility``, as labels if the
            graph has some; ``rank`` from 0; ``distance``; ``reached``. Where nothing is reached,
            facility and distance are missing (NA, NaN).

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return frames.facility_table(self.graph, self.facilities, self.distances, self.index)

    def service_areas(self, *, width: float = 60) -> Any:
        """Return the area that each facility is nearest to, in a `geopandas.GeoDataFrame`.

        An area is all points within a width of the streets that the facility is nearest to, and
        nearer to them than to other facilities' streets. A street is cut where two facilities
        meet, or where the limit of the call falls on it.

        Parameters
        ----------
        width : float
            In metres, 1 to 100,000, on either side of a street.

        Returns
        -------
        geopandas.GeoDataFrame
            A row for each facility, in order. Columns: ``facility``, a label if the graph has
            some; ``geometry``, a valid `shapely.MultiPolygon`, which is empty where others are
            as near everywhere. In degrees (EPSG:4326). Areas do not overlap; between two that
            meet there may be gaps no larger than the grid.

        Raises
        ------
        MissingExtraError
            GeoPandas is not installed.
        ValueError, NegativeWeightError, TypeError
            As `ShortestPaths.isochrone_areas`, whose notes hold here, too.

        Examples
        --------
        >>> import sssp
        >>> places = [[8.50, 47.0], [8.51, 47.0], [8.52, 47.0]]
        >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 15], directed=False, coordinates=places)
        >>> areas = sssp.nearest(g, [0, 2]).service_areas(width=60)
        >>> areas.facility.tolist(), (areas.to_crs(32632).area / 1e6).round(2).tolist()
        ([0, 2], [0.13, 0.07])
        """
        from sssp.results.isochrone_areas import Streets, draw_areas

        geopandas, shapely = import_extra("geopandas", "geo"), import_extra("shapely", "geo")
        g, (distances, nearest) = self.graph, self._searched or (self.distances, self.index)
        weights = None if self.method == BreadthFirst.name else g.weights
        streets = Streets.of(g, lambda: distances[:, 0], weights, towards=self.direction == "to")
        parts = streets.reached(math.inf if self.limit is None else self.limit)[None]
        # (of several facilities at one place the first is the nearest)
        dots = np.stack([self.facilities, self.index[self.facilities, 0]], axis=1)
        marks = nearest[streets.begins, 0][None]
        drawn = draw_areas(streets, parts, marks, dots, width, apart=True)
        areas = [drawn.get(mark, shapely.MultiPolygon()) for mark in range(self.facilities.size)]
        names = {"facility": label_column(g.labels, self.facilities)}
        return geopandas.GeoDataFrame(names, geometry=areas, crs=WGS84)

    def plot(
        self,
        *,
        rank: SupportsIndex = 0,
        ax: Axes | None = None,
        extent: Sequence[float] | None = None,
        cmap: Any = None,
        linewidth: float | None = None,
        unit: str = "",
        title: str = "",
        credit: str | None = None,
    ) -> Axes:
        """Draw the network coloured by the distance to the facility of a rank, 0 for the nearest.

        Parameters
        ----------
        rank : int
            0 for the nearest, 1 for the next, and so on.
        ax, extent, cmap, linewidth, unit, title, credit
            As `ShortestPaths.plot`. Facilities are white dots.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        ValueError
            A graph without coordinates.
        VertexError
            No such rank.
        """
        from sssp.graph.drawing import Style, draw_distances

        self.distance(0, rank)
        style = Style(ax, extent, cmap, linewidth, unit, title, credit)
        column = np.ascontiguousarray(self.distances[:, operator.index(rank)])
        return draw_distances(self.graph, column, self.facilities, None, style)

    def __repr__(self) -> str:
        n, k = self.index.shape
        limit = "" if self.limit is None else f", limit {self.limit}"
        return (
            f"<NearestFacilities {k} of {self.facilities.size:,}, {self.direction} them{limit}; "
            f"distances {self.distances.dtype}, shape ({n}, {k}); by {self.method} on "
            f"{self.device}>"
        )

    def _repr_html_(self) -> str:
        from sssp.graph.drawing import as_html

        return as_html(repr(self), self.graph, lambda ax: self.plot(ax=ax))
