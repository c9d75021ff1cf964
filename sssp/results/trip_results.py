"""Results of `pairs` and `alternatives`: distances and paths for source-target pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.cpu import tree_sums
from sssp.engine.exact_sums import as_numbers, carry, join_parts, may_wrap, parts_of
from sssp.engine.request import Walks
from sssp.errors import UnreachableError, VertexError, import_extra
from sssp.graph.frames import WGS84, label_column
from sssp.kernels.dtypes import FLOAT64, unreached
from sssp.results import result_frames as frames
from sssp.results import row_access
from sssp.results.row_access import GLANCE, as_index, refuse_sum, require_turns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sssp.graph.graph import Graph

#: of the most travelled street in a notebook, in points
LINE_WIDTH = 3.0


@dataclass(eq=False, repr=False)
class Trips:
    """Distances of trips, each from its own source to its own target, and their paths.

    Not made by hand: `sssp.pairs` returns it. It owns its memory and pickles. ``len(trips)`` is
    the number of trips, p; they stand in the order in which they were given.

    Attributes
    ----------
    graph : Graph
        The graph that was searched.
    sources, targets : ndarray, shape (p,), int64
        The ends of every trip.
    source_arcs, target_arcs : ndarray, shape (p,), int64, or None
        The arcs after which the trips start and on which they end, where the call named arcs: then
        `sources` and `targets` are their heads.
    limit : int, float or None
        The greatest distance of interest, inclusive.
    distances : ndarray, shape (p,)
        In units of the weights. Unreached: ``iinfo(dtype).max`` for integers, inf for floats.
    method, device : str
        What ran; two methods are joined by a plus sign.
    stats : dict
        Counters of the method, by name: int64 arrays, shape (p,), of the search that has found the
        trip. Trips that were found together have the same.
    """

    graph: Graph
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    distances: NDArray[Any]
    _: KW_ONLY
    limit: int | float | None
    source_arcs: NDArray[np.int64] | None = None
    target_arcs: NDArray[np.int64] | None = None
    method: str
    device: str
    stats: dict[str, NDArray[np.int64]]
    # trips with the same ends share a path: trip i has path ``_walk_of[i]``
    _walks: Walks | None
    _walk_of: NDArray[np.int64]
    _arcs: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self.sources.size)

    def __repr__(self) -> str:
        p = len(self)
        asked = [f"{p:,} trip{'' if p == 1 else 's'}"]
        if self.limit is not None:
            asked.append(f"limit {self.limit}")
        if self.has_paths:
            asked.append("with paths")
        if p <= GLANCE:
            asked.append(f"{np.count_nonzero(self.reached):,} reached")
        return (
            f"<{type(self).__name__} {', '.join(asked)}; distances {self.distances.dtype}; by "
            f"{self.method} on {self.device}>"
        )

    def _repr_html_(self) -> str:
        from sssp.graph.drawing import as_html

        def draw(ax: Axes) -> None:  # (darker where more trips pass)
            flow = self.load(self.reached.astype(np.int64))
            self.graph.plot_flows(flow, ax=ax, max_width=LINE_WIDTH)
            if legend := ax.get_legend():
                legend.remove()

        return as_html(
            repr(self), self.graph, draw if self.has_paths and self.reached.any() else None
        )

    def __getstate__(self) -> dict[str, Any]:
        # what is found again on first use stays behind
        return self.__dict__ | {"_arcs": None}

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether the target of each trip is reached: bool, shape (p,)."""
        return np.asarray(self.distances != unreached(self.distances.dtype))

    def to_float(self) -> NDArray[np.float64]:
        """Return the distances of the trips as float64, with inf for unreached targets."""
        return np.where(self.reached, self.distances, np.inf).astype(FLOAT64)

    @property
    def has_paths(self) -> bool:
        """Whether the call asked for predecessors, so that paths are known."""
        return self._walks is not None

    def distance(self, i: SupportsIndex) -> int | float:
        """Distance of trip `i` as a Python number; `math.inf` if its target is unreached.

        Raises
        ------
        VertexError, TypeError
            As `path`.
        """
        trip = self._trip(i)
        return self.distances[trip].item() if self.reached[trip] else math.inf

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame` with a row for every trip, in order.

        Returns
        -------
        pandas.DataFrame
            Columns ``source`` and ``target``, as labels if the graph has some; ``distance``,
            missing (NA, NaN) where ``reached`` is False.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        starts, ends = (label_column(self.graph.labels, x) for x in (self.sources, self.targets))
        return frames.distance_table({"source": starts, "target": ends}, self.distances.copy())

    def to_geodataframe(self) -> Any:
        """Return a `geopandas.GeoDataFrame` with a line for every trip, in order.

        Returns
        -------
        geopandas.GeoDataFrame
            The columns of `to_dataframe`, and ``geometry``: the path, straight from vertex to
            vertex, missing where ``reached`` is False. In degrees (EPSG:4326).

        Raises
        ------
        MissingExtraError
            GeoPandas is not installed.
        ValueError
            The call did not ask for predecessors; a graph without coordinates in degrees.
        """
        geopandas, walks = import_extra("geopandas", "geo"), self._require_walks()
        lines = frames.walk_lines(self.graph, walks.firsts, walks.vertices)[self._walk_of]
        return geopandas.GeoDataFrame(self.to_dataframe(), geometry=lines, crs=WGS84)

    def plot_flows(self, volumes: ArrayLike, **style: Any) -> Axes:
        """Load volumes onto the shortest paths and draw the flows (as `Graph.plot_flows`).

        Parameters
        ----------
        volumes : array_like, shape (p,)
            As `load`.
        **style
            As `Graph.plot_flows`.
        """
        return self.graph.plot_flows(self.load(volumes), **style)

    def path(self, i: SupportsIndex) -> NDArray[np.int64]:
        """Vertices of the shortest path of trip `i`, from its source to its target.

        Parameters
        ----------
        i : int
            Which trip, counted from 0.

        Returns
        -------
        ndarray, shape (vertices,), int64
            The path that ``shortest_paths(g, source, targets=target, predecessors=True)`` finds,
            whatever other trips there are. One vertex if source and target are the same.

        Raises
        ------
        UnreachableError
            No path leads there (within the limit).
        ValueError
            The call did not ask for predecessors.
        VertexError, TypeError
            No such trip; not an integer.
        """
        walks, trip = self._require_walks(), self._trip(i)
        walk = self._walk_of[trip]
        vertices = walks.vertices[walks.firsts[walk] : walks.firsts[walk + 1]]
        if vertices.size == 0:
            raise UnreachableError(f"{self._describe(trip)} has no path{self._within()}")
        return vertices.astype(np.int64)

    def path_labels(self, i: SupportsIndex) -> list[Any]:
        """Return the shortest path of trip `i` as a list of the labels of its vertices."""
        return row_access.labels_of(self.graph, self.path(i))

    def path_arcs(self, i: SupportsIndex) -> NDArray[np.int64]:
        """Arcs of the shortest path of trip `i`, in order, as positions in ``graph.indices``.

        Like `path`; empty if source and target are the same. ``graph.arc_origin[arcs]`` are the
        rows of the input that they came from.
        """
        return row_access.arcs_along(self.graph, self.path(i))

    def skim(self, values: ArrayLike) -> NDArray[Any]:
        """Sum another attribute of the arcs along the path of every trip.

        Parameters
        ----------
        values : array_like, shape (m,)
            A number per arc, at the arc's position in ``graph.indices``;
            ``attribute[graph.arc_origin]`` brings an attribute of the input there. What stands at
            arcs that no path uses does not matter.

        Returns
        -------
        ndarray, shape (p,), int64 or float64
            In units of the values, added from the source on. Unreached: ``iinfo(int64).max`` or
            inf. Time in the lengths of the paths.

        Raises
        ------
        ValueError
            The call did not ask for predecessors; not one value per arc; a value on a path that is
            NaN or infinite, for infinity is what unreached looks like.
        TypeError
            Values that are not numbers.
        DistanceOverflowError
            A sum (or a value) that does not fit the result; integers are exact.
        """
        arc_values = as_numbers(values, "values")
        tree_sums.check_arc_values(self.graph, arc_values.shape)
        walks = self._require_walks()
        count = walks.firsts.size - 1
        sums = []
        for part in parts_of(arc_values, may_wrap(arc_values, self.graph.n)):
            sums.append(np.zeros(count, arc_values.dtype))
            tree_sums.skim_kernel(walks.firsts, self._path_arcs(walks), part, sums[-1])
        along = join_parts(sums, "values along a path")[self._walk_of]
        missing = unreached(arc_values.dtype)
        odd = np.flatnonzero(self.reached & ((along == missing) | ~np.isfinite(along)))
        if odd.size:
            where = f"on the path of {self._describe(odd[0])}"
            refuse_sum(arc_values, self.path_arcs(odd[0]), where)
        return np.where(self.reached, along, missing)

    def load(self, volumes: ArrayLike) -> NDArray[Any]:
        """Load flows onto the shortest paths (all-or-nothing assignment).

        Parameters
        ----------
        volumes : array_like, shape (p,)
            How much travels on every trip.

        Returns
        -------
        ndarray, shape (input arcs,), int64 or float64
            Flow on every row of the input that made the graph, both directions of an undirected
            one together; 0 on arcs that lost to a parallel one.

        Raises
        ------
        UnreachableError
            Something is to travel on a trip that has no path.
        ValueError
            The call did not ask for predecessors; volumes of another shape, NaN or infinite.
        TypeError
            Volumes that are not numbers.
        DistanceOverflowError
            A flow (or a volume) that does not fit the result; integers are exact.
        """
        loads = self._loads(volumes, self._path_arcs, self.graph.m)
        return tree_sums.flow_on_input(self.graph, loads)

    def _loads(
        self, volumes: ArrayLike, steps_of: Callable[[Walks], NDArray[np.int64]], size: int
    ) -> list[NDArray[Any]]:
        """Return the summed volume on each arc or turn, in 32-bit halves if sums may overflow."""
        flows = as_numbers(volumes, "volumes")
        if flows.shape != (len(self),):
            raise ValueError(
                f"expected volumes, one a trip: shape ({len(self)},), not {flows.shape}"
            )
        walks = self._require_walks()
        odd = np.flatnonzero(~np.isfinite(flows))
        if odd.size:
            raise ValueError(
                f"the volume of {self._describe(odd[0])} is {flows[odd[0]]}; where nothing travels "
                "write 0"
            )
        lost = np.flatnonzero((flows != 0) & ~self.reached)
        if lost.size:
            raise UnreachableError(
                f"{lost.size} trips with volumes have no path{self._within()}, "
                f"{self._describe(lost[0])} first; set them to 0"
            )
        steps, loads = steps_of(walks), list[NDArray[Any]]()
        for part in parts_of(flows, may_wrap(flows, flows.size)):
            loads.append(np.zeros(size, flows.dtype))
            tree_sums.load_kernel(walks.firsts, steps, self._walk_of, part, loads[-1])
        carry(loads)
        return loads

    def load_turns(self, volumes: ArrayLike) -> NDArray[Any]:
        """Return the flow on each turn that was given to `Graph.with_turns`, from trip volumes.

        Parameters
        ----------
        volumes : array_like, shape (p,)
            As of `load`.

        Returns
        -------
        ndarray, shape (rows of the table of `Graph.with_turns`,), int64 or float64
            Flow from the arc before to the arc behind; 0 for rows that met no turn.

        Raises
        ------
        ValueError
            The graph has no turns; as `load`.
        UnreachableError, TypeError, DistanceOverflowError
            As `load`.
        """
        turns = require_turns(self.graph)
        loads = self._loads(volumes, self._path_turns, turns.costs.size + 1)
        flow = join_parts(loads, "volumes on a turn")
        flow[-1] = 0  # (where arcs meet in no turn with a number)
        return flow[turns.row_turn]

    def _path_turns(self, walks: Walks) -> NDArray[np.int64]:
        """Return the index of the turn between the two arcs before each path vertex; -1 if none."""
        turns, arcs, m = self.graph.turns, self._path_arcs(walks), self.graph.m
        assert turns is not None
        driven = arcs
        if self.source_arcs is not None:
            driven, has_path = arcs.copy(), self.reached
            # (those after which the search stands in the same place differ in no turn with a name)
            driven[walks.firsts[self._walk_of[has_path]]] = self.source_arcs[has_path]
        before = np.roll(driven, 1)  # (of source vertices no arc is known)
        keys = turns.into.astype(np.int64) * m + turns.out
        wanted = before * m + arcs
        place = np.searchsorted(keys, wanted)
        is_turn = (before >= 0) & (arcs >= 0) & (np.append(keys, -1)[place] == wanted)
        return np.where(is_turn, np.append(turns.turn, -1)[place], -1)

    def _path_arcs(self, walks: Walks) -> NDArray[np.int64]:
        """Return for every vertex on the paths the arc that leads to it, -1 at sources."""
        if self._arcs is None:
            tails = np.roll(walks.vertices, 1)
            tails[walks.firsts[:-1][np.diff(walks.firsts) > 0]] = -1
            self._arcs = tree_sums.arcs_between(self.graph, tails, walks.vertices)
        return self._arcs

    def _require_walks(self) -> Walks:
        if self._walks is None:
            raise ValueError("this needs paths: call pairs(predecessors=True)")
        return self._walks

    def _trip(self, i: SupportsIndex) -> int:
        trip = as_index(i, "a trip")
        if not -len(self) <= trip < len(self):
            raise VertexError(f"trip {trip} does not exist: the call had {len(self)} trips")
        return trip % len(self)

    def _describe(self, trip: int) -> str:
        return f"trip {trip}, from vertex {self.sources[trip]} to vertex {self.targets[trip]},"

    def _within(self) -> str:
        return "" if self.limit is None else f" within the limit of {self.limit}"


@dataclass(eq=False, repr=False)
class Alternatives(Trips):
    """Trips with one or several routes each: the result of `sssp.alternatives`.

    A route has an entry wherever a trip has one in `Trips`; the first of every pair is the
    shortest path.

    Attributes
    ----------
    pair : ndarray, shape (routes,), int64
        The trip of the call that a route is of, ascending.
    stretch : ndarray, shape (routes,), float64
        Its length by that of the shortest path.
    sharing : ndarray, shape (routes,), float64
        The greatest part of its weight that it has in common with an earlier route of its pair; 0
        for the first.
    """

    _: KW_ONLY
    pair: NDArray[np.int64]
    stretch: NDArray[np.float64]
    sharing: NDArray[np.float64]

    def to_dataframe(self) -> Any:
        """Return a DataFrame with a row per route, with its `pair`, `stretch` and `sharing`."""
        columns = {"pair": self.pair, "stretch": self.stretch, "sharing": self.sharing}
        return super().to_dataframe().assign(**columns)
