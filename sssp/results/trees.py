"""`ShortestPaths`: the result of `shortest_paths`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.cpu.tree_sums import TreeSums, arcs_between, check_arc_values, flow_on_input
from sssp.engine.exact_sums import as_numbers, carry, join_parts, may_wrap, parts_of
from sssp.engine.request import Answer, Request
from sssp.engine.threads import default_threads
from sssp.engine.workers import do_all, ordered_map
from sssp.errors import UnreachableError, VertexError, import_extra
from sssp.graph.check_arrays import as_flag, is_on_device, is_sparse
from sssp.graph.frames import WGS84, arc_lines
from sssp.graph.labels import label_hint, no_vertex
from sssp.kernels.dtypes import FLOAT64, INT64, unreached
from sssp.methods import BreadthFirst
from sssp.results import result_frames as frames
from sssp.results import row_access
from sssp.results.row_access import GLANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sssp.graph.graph import Graph


class ShortestPaths:
    """Distances from one or more sources, and the shortest-path trees if requested.

    Not made by hand: `sssp.shortest_paths` returns it. It owns its memory and pickles.

    With ``output="device"``, `distances`, `predecessors` and `origin` are arrays on the GPU that
    CuPy, PyTorch, Numba and others take without a copy (``cupy.asarray(r.distances)``,
    ``torch.as_tensor(r.distances, device="cuda")``); everything that looks into them here asks
    for `to_host` first. Such a result pickles as its host copy.

    Attributes
    ----------
    graph : Graph
        The graph that was searched.
    sources : ndarray, shape (k,), int64
        The sources, one a row (all of one row in a nearest search).
    single : bool
        Whether the call named one source, not a sequence; then results lack the first axis.
    targets : ndarray, shape (t,), int64, or None
        The targets; None: all vertices.
    source_arcs, target_arcs : ndarray, int64, or None
        The arcs after which the rows start and on which they end, where the call named arcs: then
        `sources` and `targets` are their heads.
    limit : int, float or None
        The greatest distance of interest, inclusive.
    nearest : bool
        Whether one search ran from all sources together.
    distances : ndarray, shape (n,) or (k, n); with targets (t,) or (k, t)
        In units of the weights. Unreached: ``iinfo(dtype).max`` for integers, inf for floats.
        With ``output="sparse"`` a `scipy.sparse.csr_array` of shape (k, n) that stores the
        reached vertices, a source's own 0 included.
    predecessors : ndarray, shape (n,) or (k, n), int32, or None
        Tail of the last arc of a shortest path; -1 for sources and unreached vertices. With
        targets a `scipy.sparse.csr_array` of shape (k, n) that stores the vertices on the paths
        to them, the sources with their -1 among them. Sparse like the distances if they are.
    origin : ndarray, shape (n,), int32, or None
        Nearest searches only: the winning source of every vertex, -1 where unreached.
    method, device : str
        What ran.
    stats : dict
        Counters of the method, by name: an int for one row, else an int64 array, shape (k,); of a
        table that was searched from its targets, shape (t,).
    """

    def __init__(
        self, graph: Graph, request: Request, answer: Answer, *, method: str, device: str
    ) -> None:
        self.graph = graph
        self.sources = request.sources
        self.single = request.single
        self.targets = request.targets
        self.source_arcs, self.target_arcs = request.source_arcs, None
        if request.arc_ends is not None:
            self.target_arcs = request.arc_ends.arcs
            self.targets = graph.indices[self.target_arcs].astype(np.int64)
        self.limit = request.limit
        self.nearest = request.nearest
        self.method = method
        self.device = device
        self.origin = answer.origin
        one_row = request.single or request.nearest
        self.distances = _without_axes(answer.distances, one_row, request.single_target)
        self.predecessors: Any = None
        if answer.predecessors is not None:
            self.predecessors = _without_axes(answer.predecessors, one_row, False)
        self.stats: dict[str, Any] = {}
        for name, values in answer.stats.items():
            self.stats[name] = int(values[0]) if one_row and values.size else values

    def __repr__(self) -> str:
        asked = [f"from {_count(self.sources.size, 'source')}"]
        if self.nearest:
            asked = [f"from the nearest of {_count(self.sources.size, 'source')}"]
        elif self.single:
            asked = [f"from vertex {self.sources[0]}"]
        if self.targets is not None:
            asked.append(f"to {_count(self.targets.size, 'target')}")
        if self.limit is not None:
            asked.append(f"limit {self.limit}")
        if self.has_paths:
            asked.append("with predecessors")
        d = self.distances
        if self._sparse or not (self._on_device or d.size > GLANCE):  # (others take long to count)
            reached = d.nnz if self._sparse else np.count_nonzero(self.reached)
            asked.append(f"{reached:,} of {self.rows * self._width:,} reached")
        form = f"{'sparse ' if self._sparse else ''}{d.dtype}, shape {d.shape}"
        return (
            f"<ShortestPaths {', '.join(asked)}; distances {form}; by {self.method} "
            f"on {self.device}>"
        )

    def _repr_html_(self) -> str:
        from sssp.graph.drawing import as_html

        knows_all = self.targets is None and not self._on_device and self.rows > 0
        return as_html(repr(self), self.graph, (lambda ax: self.plot(ax=ax)) if knows_all else None)

    def __getstate__(self) -> dict[str, Any]:
        return self.to_host().__dict__

    def to_host(self) -> ShortestPaths:
        """Return a copy of the result in host memory; the result itself if it is there already."""
        if not self._on_device:
            return self
        host = object.__new__(type(self))
        host.__dict__.update(self.__dict__)
        for name in ("distances", "predecessors", "origin"):
            array = getattr(self, name)
            setattr(host, name, array.to_host() if is_on_device(array) else array)
        return host

    @property
    def has_paths(self) -> bool:
        """Whether the call asked for predecessors, so that paths are known."""
        return self.predecessors is not None

    @property
    def rows(self) -> int:
        """Number of searches, which is the number of rows of the distances."""
        return 1 if self.single or self.nearest else int(self.sources.size)

    @property
    def reached(self) -> Any:
        """Mask of the reached vertices: bool, in the shape of `distances`."""
        if self._sparse:
            from scipy.sparse import csr_array

            d = self.distances
            return csr_array((np.ones(d.data.size, np.bool_), d.indices, d.indptr), shape=d.shape)
        self._require_host()
        return self.distances != unreached(self.distances.dtype)

    def distance(self, target: SupportsIndex, row: SupportsIndex = 0) -> int | float:
        """Distance of a vertex as a Python number; `math.inf` if it is unreached.

        Parameters
        ----------
        target : int
            A vertex; with targets in the call, one of them.
        row : int
            Which source, for calls with several.

        Raises
        ------
        VertexError
            No such vertex, not one of the targets, or no such row.
        TypeError
            Not integers.
        """
        vertex, row = self._vertex(target), self._row(row)
        self._require_host()
        missing = unreached(self.distances.dtype)
        value = row_access.entries(self.distances, row, self.rows, missing)(self._column(vertex))
        return math.inf if value == missing else value

    def path(self, target: SupportsIndex, row: SupportsIndex = 0) -> NDArray[np.int64]:
        """Return the vertices of the shortest path to `target`, beginning at the source.

        Parameters
        ----------
        target : int
            A vertex; with targets in the call, one of them.
        row : int
            Which source, for calls with several.

        Returns
        -------
        ndarray, shape (vertices,), int64
            Only the target itself if it is the source. O(length) time.

        Raises
        ------
        UnreachableError
            No path leads there (within the limit).
        ValueError
            The call did not ask for predecessors.
        VertexError, TypeError
            As `distance`.
        """
        self._require_predecessors()
        vertex, row = self._vertex(target), self._row(row)
        if math.isinf(self.distance(vertex, row)):
            within = "" if self.limit is None else f" within the limit of {self.limit}"
            raise UnreachableError(f"vertex {vertex} is not reached from {self._from(row)}{within}")
        return self._walk_to(vertex, row)

    def _walk_to(self, vertex: int, row: int) -> NDArray[np.int64]:
        """Return the vertices on the path from the source to a reached vertex."""
        path, tail_of = [], row_access.entries(self.predecessors, row, self.rows, -1)
        while vertex >= 0:
            path.append(vertex)
            vertex = tail_of(vertex)
        return np.array(path[::-1], dtype=np.int64)

    def path_labels(self, target: SupportsIndex, row: SupportsIndex = 0) -> list[Any]:
        """Return the shortest path to a target as a list of the labels of its vertices."""
        return row_access.labels_of(self.graph, self.path(target, row))

    def path_arcs(self, target: SupportsIndex, row: SupportsIndex = 0) -> NDArray[np.int64]:
        """Arcs of the shortest path to `target`, in order, as positions in ``graph.indices``.

        Like `path`; empty if the target is the source. ``graph.arc_origin[arcs]`` are the rows
        of the input that they came from.
        """
        return row_access.arcs_along(self.graph, self.path(target, row))

    def skim(self, values: ArrayLike) -> Any:
        """Sum another attribute of the arcs along every shortest path.

        Kilometres along the fastest path, say: the attribute of each arc on the way to a vertex
        in the tree that `predecessors` describes, added up.

        Parameters
        ----------
        values : array_like, shape (m,)
            A number per arc, at the arc's position in ``graph.indices``;
            ``attribute[graph.arc_origin]`` brings an attribute of the input there. What stands
            at arcs that no path uses does not matter.

        Returns
        -------
        ndarray, shape of `distances` (sparse distances: (k, n)), int64 or float64
            In units of the values. Unreached: ``iinfo(int64).max`` or inf. A row costs time in
            the vertices that its predecessors store: O(n), or less if they are sparse.

            Of a result on a GPU the sums are found and stay there, a `DeviceArray`: O(n log p)
            work a row for paths of p arcs, and 24 bytes per entry meanwhile. Floats are added up
            in another order there, the same each time.

        Raises
        ------
        ValueError
            The call did not ask for predecessors; not one value per arc; a value on a path that
            is NaN or infinite, for infinity is what unreached looks like.
        TypeError
            Values that are not numbers.
        DistanceOverflowError
            A sum (or a value) that does not fit the result; integers are exact, even if a sum
            leaves int64 on its way and comes back.
        """
        arc_values = as_numbers(values, "values")
        check_arc_values(self.graph, arc_values.shape)
        wide = may_wrap(arc_values, self.graph.n)
        if self._on_device:
            there = self._trees_there()
            found = there.skim(arc_values) if self.predecessors.size and not wide else None
            if found is None:  # (what the device cannot add, the host does)
                found = there.upload(self.to_host().skim(values))
            return found.reshape(self._shape())
        self._require_predecessors()
        trees = self._tree_sums(arc_values.dtype)
        sums = np.empty((self.rows, self._width), arc_values.dtype)
        turns = self.graph.turns
        along = arc_values if turns is None else turns.expansion.values_of_arcs(arc_values)
        parts = [trees.by_head(part) for part in parts_of(along, wide)]

        def fill(rows: range) -> None:
            own = sums[rows.start : rows.stop]
            halves = [np.empty_like(own) for _ in parts] if wide else [own]
            for half, part in zip(halves, parts, strict=True):
                odd = trees.skim(rows, part, half)
            if wide:
                reached = halves[0] != trees.missing
                own[...] = trees.missing
                own[reached] = join_parts([half[reached] for half in halves], "values along a path")
                lost = np.argwhere(reached & (own == trees.missing)).tolist()
                odd = (lost[0][0], lost[0][1]) if lost else None
            if odd is not None:
                row, vertex = rows.start + odd[0], int(self._vertices_of(np.array(odd[1:]))[0])
                where = f"on the path from {self._from(row)} to vertex {vertex}"
                row_access.refuse_sum(arc_values, self.path_arcs(vertex, row), where)

        do_all(fill, trees.blocks(), default_threads())
        return sums.reshape(self._shape())

    def load(self, volumes: ArrayLike) -> NDArray[Any]:
        """Load flows onto the shortest paths (all-or-nothing assignment).

        Parameters
        ----------
        volumes : array_like, shape of `distances` (sparse distances: (k, n))
            How much travels from the source of the row to each vertex (or target). Of a result
            on a GPU they may be there as well: int64, without gaps.

        Returns
        -------
        ndarray, shape (input arcs,), int64 or float64
            Flow on every row of the input that made the graph, both directions of an
            undirected one together; 0 on arcs that lost to a parallel one. Time a row as for
            `skim`. Of a result on a GPU integers are added up there, and only the flow comes
            back; floats on the host.

        Raises
        ------
        UnreachableError
            Something is to travel to a vertex that is not reached.
        ValueError
            The call did not ask for predecessors; volumes of another shape, NaN or infinite.
        TypeError
            Volumes that are not numbers.
        DistanceOverflowError
            A flow (or a volume) that does not fit the result; integers are exact, even if a sum
            leaves int64 on its way and comes back.
        """
        if not self._on_device:
            loads = [row_access.onto_arcs(self.graph, load) for load in self._loads(volumes)]
            return flow_on_input(self.graph, loads)
        is_there = is_on_device(volumes)
        flows: Any = volumes if is_there else as_numbers(volumes, "volumes")
        self._check_volumes_shape(tuple(flows.shape))
        trees, found = self._trees_there(), None
        if self.predecessors.size and (is_there or flows.dtype == INT64):
            found = trees.load(flows.reshape((self.rows, self.graph.n)))
        if found is None:
            return self.to_host().load(trees.on_host(flows))
        return flow_on_input(self.graph, [found])

    def load_turns(self, volumes: ArrayLike) -> NDArray[Any]:
        """Load flows onto the turns that were given to `Graph.with_turns`.

        Parameters
        ----------
        volumes : array_like
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
        turns = row_access.require_turns(self.graph)
        place, size = turns.expansion.turn_of, turns.costs.size
        loads = [row_access.add_up(load, place, size + 1) for load in self._loads(volumes)]
        return join_parts(loads, "volumes on a turn")[turns.row_turn]

    def _loads(self, volumes: ArrayLike) -> list[NDArray[Any]]:
        """Return the flow on each arc: a list of one array, or of two arrays of 32-bit halves."""
        flows = as_numbers(volumes, "volumes")
        self._check_volumes_shape(flows.shape)
        self._require_predecessors()
        return self._load_arcs(flows.reshape(self.rows, self._width))

    def _load_arcs(self, flows: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the flow on every arc, as upper and lower 32-bit halves if sums may overflow."""
        wide = may_wrap(flows, flows.size)
        trees = self._tree_sums(flows.dtype)
        m = trees.graph.m

        def loads_of(rows: range) -> tuple[NDArray[Any], ...]:
            loads = parts_of(np.zeros(m, flows.dtype), wide)
            volumes = flows[rows.start : rows.stop]
            for part, load in zip(parts_of(volumes, wide), loads, strict=True):
                lost = trees.load(rows, part, load)
                if lost is not None:
                    self._refuse_volumes(flows, rows.start + lost)
            return loads

        loads = parts_of(np.zeros(m, flows.dtype), wide)
        for more in ordered_map(loads_of, trees.blocks(4 * m), default_threads()):
            for load, part in zip(loads, more, strict=True):
                load += part
            carry(loads)
        return [trees.by_tail(load) for load in loads]

    def to_float(self) -> Any:
        """Return the distances as float64 in the same shape, with infinity for unreached vertices.

        Sparse distances stay sparse: what is not stored is unreached. Integers above 2**53 are
        rounded.
        """
        if self._sparse:
            return self.distances.astype(FLOAT64)
        # (a Python inf would leave float32 distances what they are)
        return np.where(self.reached, self.distances, FLOAT64.type(np.inf))

    def to_dataframe(self, *, wide: bool = False) -> Any:
        """Return the distances as a `pandas.DataFrame`, with vertex labels if the graph has them.

        Parameters
        ----------
        wide : bool, default False
            A row for every source and a column for every target, named by index and columns,
            instead of a row for every pair.

        Returns
        -------
        pandas.DataFrame
            Long: a row for every entry of `distances`, of sparse ones for those that are stored,
            source by source. Columns: ``source`` (of a nearest search `origin`, missing where it
            is -1), ``target``, ``distance`` and ``reached``. Integer distances stay exact, in
            pandas' Int32 or Int64, floats are floats; what is not reached is missing (NA, NaN),
            so that means and sums leave it out.

            Wide: the distances; if some are missing, as floats with NaN (integers above 2**53 are
            then rounded).

            The table has memory of its own: long, 8 bytes per entry for each label and 6 or 10 for
            the rest. Rows of dense distances stand in order of ``distances.ravel()``, so that
            ``table["km"] = r.skim(km).ravel()`` adds a column.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        ValueError
            A wide table of a nearest search, whose only row has no source of its own.

        Examples
        --------
        >>> import sssp
        >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 2], labels=["home", "school", "shop"])
        >>> r = sssp.shortest_paths(g, g.vertices(["home", "school"]), targets=g.vertex("shop"))
        >>> r.to_dataframe()
           source target  distance  reached
        0    home   shop         6     True
        1  school   shop         2     True
        >>> r.to_dataframe(wide=True).loc["school"].to_dict()
        {'shop': 2}
        """
        self._require_host()
        g = self.graph
        targets = np.arange(g.n) if self.targets is None else self.targets
        distances = self.distances
        if not self._sparse:
            distances = distances.reshape(self.rows, self._width)
        if not wide:
            origin = None if self.origin is None else self.origin[targets]
            return frames.long_table(g, self.sources, targets, distances, origin)
        if self.nearest:
            raise ValueError(
                "a nearest search has one row for all its sources: its table is long, with the "
                "nearest one beside every target"
            )
        return frames.wide_table(g, self.sources, targets, distances)

    def to_geodataframe(self, row: SupportsIndex = 0) -> Any:
        """Return the arcs of a shortest-path tree as lines in a `geopandas.GeoDataFrame`.

        Parameters
        ----------
        row : int
            Which source, for calls with several.

        Returns
        -------
        geopandas.GeoDataFrame
            One row for the last arc to every vertex that is reached and no source, in order of
            vertex; with targets in the call, for every arc on a path to one of them. Columns:
            ``arc``, its position in ``graph.indices``; ``tail`` and ``head``, labels if the graph
            has some; ``distance`` of the head; ``geometry``, a straight line. In degrees
            (EPSG:4326), as `Graph.to_geodataframe`.

        Raises
        ------
        MissingExtraError
            GeoPandas is not installed.
        ValueError
            The call did not ask for predecessors; a graph without coordinates.
        VertexError, TypeError
            No such row.
        """
        self._require_predecessors()
        row = self._row(row)
        if is_sparse(self.predecessors):
            vertices, tails = row_access.stored_row(self.predecessors, row)
        else:
            vertices = np.arange(self.graph.n)
            tails = row_access.dense_row(self.predecessors, row, self.rows, -1)
        if self.targets is None:
            distances = self._distances_of(row)[vertices]
        else:
            weights = self._weights_of_distances()
            trees = self._tree_sums(weights.dtype, vertices.astype(INT64))
            distances = np.empty(vertices.size, weights.dtype)
            trees.skim(range(row, row + 1), trees.by_head(weights), distances[np.newaxis])
        inner = tails >= 0
        tails, heads = tails[inner], vertices[inner]
        arcs = arcs_between(self.graph, tails, heads)
        return arc_lines(self.graph, arcs, tails, heads, distance=distances[inner])

    def plot(
        self,
        *,
        row: SupportsIndex = 0,
        path_to: SupportsIndex | None = None,
        ax: Axes | None = None,
        extent: Sequence[float] | None = None,
        cmap: Any = None,
        linewidth: float | None = None,
        unit: str = "",
        title: str = "",
        credit: str | None = None,
    ) -> Axes:
        """Draw the network coloured by distance, and a shortest path on top.

        Parameters
        ----------
        row : int
            Which source, for calls with several.
        path_to : int, optional
            A vertex; the path that leads there is drawn.
        ax, extent, linewidth
            As `Graph.plot`; by default the part that is reached is drawn.
        cmap : a map of colours of Matplotlib, or its name, optional
            From the least distance shown to the greatest; by default viridis but for its lightest
            part, which is hard to see on white.
        unit : str
            Of the weights, for the scale of colours, such as ``"min"``.
        title : str
            Above the map.
        credit : str, optional
            Whose data is drawn, in small letters below; by default what the graph's file says.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on, as `Graph.plot`. A line has the colour of the farther of its ends;
            it is grey where an end is not reached (within the limit). Sources are white dots.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        ValueError
            A graph without coordinates; a call with targets, which knows too few distances; a
            `path_to` of a call without predecessors.
        UnreachableError, VertexError, TypeError
            As `path`.
        """
        from sssp.graph.drawing import Style, draw_distances

        row, distances = self._distances_to_all(row)
        path = None if path_to is None else self.path(path_to, row)
        style = Style(ax, extent, cmap, linewidth, unit, title, credit)
        return draw_distances(self.graph, distances, self._sources_of(row), path, style)

    def plot_isochrones(
        self,
        limits: ArrayLike,
        *,
        row: SupportsIndex = 0,
        ax: Axes | None = None,
        extent: Sequence[float] | None = None,
        cmap: Any = None,
        linewidth: float | None = None,
        unit: str = "",
        title: str = "",
        credit: str | None = None,
    ) -> Axes:
        """Draw the network in bands of distance, with a legend.

        Parameters
        ----------
        limits : array_like of numbers, shape (b,)
            How far each band reaches, in units of the weights, inclusive: ``[5, 10, 15]``.
        row : int
            Which source, for calls with several.
        ax, extent, linewidth
            As `Graph.plot`; by default the part within the widest band is drawn.
        cmap : a map of colours of Matplotlib, or its name, optional
            From the narrowest band to the widest, as `plot`.
        unit : str
            Of the weights, for the legend, such as ``"min"``.
        title, credit : str
            As of `plot`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on, as `Graph.plot`. A line belongs to the narrowest band that holds
            both its ends; beyond the widest it is grey. Sources are white dots.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        ValueError
            As `plot`; no limits, or a limit beyond that of the call.
        VertexError, TypeError
            No such row; limits that are not numbers.
        """
        from sssp.graph.drawing import Style, check_limits, draw_isochrones

        row, distances = self._distances_to_all(row)
        bands = check_limits(limits, self.limit)
        style = Style(ax, extent, cmap, linewidth, unit, title, credit)
        return draw_isochrones(self.graph, distances, self._sources_of(row), bands, style)

    def isochrone_areas(
        self, limits: ArrayLike, *, width: float = 60, row: SupportsIndex = 0, rings: bool = False
    ) -> Any:
        """Return the areas within given distances of the source, in a `geopandas.GeoDataFrame`.

        An area is all points within a width of the reached parts of streets: a street is cut
        where the limit falls on it.

        Parameters
        ----------
        limits : array_like of numbers, shape (b,)
            How far each area reaches, in units of the weights, inclusive: ``[10, 20, 30]``.
        width : float
            In metres, 1 to 100,000, on either side of a street. Blocks between streets become
            part of the area where they are narrower than twice the width.
        row : int
            Which source, for calls with several.
        rings : bool, default False
            Leave out of each area what is within the limit before. By default areas are nested:
            each covers the one before.

        Returns
        -------
        geopandas.GeoDataFrame
            A row for each limit, ascending. Columns: ``limit``; ``geometry``, a valid
            `shapely.MultiPolygon` (empty below 0). In degrees (EPSG:4326).

        Raises
        ------
        MissingExtraError
            GeoPandas is not installed.
        ValueError
            As `plot_isochrones`; coordinates beyond 85 degrees of latitude; no such width.
        NegativeWeightError
            A negative weight.
        VertexError, TypeError
            No such row; limits or a width that are not numbers.

        Notes
        -----
        Boundaries are drawn on a grid with a sixth of the width between its points, by linear
        interpolation: within 1% of the width where streets are straight or end, and without what
        is narrower than the grid. Widths are right on the ground at every latitude.

        Time in the number of reached streets and in the square of their length by the width; New
        York's areas within 10, 20 and 30 minutes (158,050 vertices) take some 2.6 s of CPU.

        Examples
        --------
        >>> import sssp
        >>> places = [[8.50, 47.0], [8.51, 47.0], [8.52, 47.0]]
        >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 10], directed=False, coordinates=places)
        >>> areas = sssp.shortest_paths(g, 0).isochrone_areas([5, 10], width=60)
        >>> (areas.to_crs(32632).area / 1e6).round(2).tolist()  # square kilometres
        [0.1, 0.15]
        """
        from sssp.graph.drawing import check_limits
        from sssp.results.isochrone_areas import Streets, draw_areas

        row, _ = self._distances_to_all(row)
        bands, sources = check_limits(limits, self.limit), self._sources_of(row)
        weights = None if self.method == BreadthFirst.name else self._weights_of_distances()
        streets = Streets.of(self.graph, lambda: self._searched_distances(row), weights)
        rings = as_flag(rings, "rings")
        geopandas, shapely = import_extra("geopandas", "geo"), import_extra("shapely", "geo")
        parts = np.stack([streets.reached(limit) for limit in bands.tolist()])
        # a part that is not longer than within the limit before is there already
        parts[1:][parts[1:] <= parts[:-1]] = 0
        marks = np.broadcast_to(np.arange(bands.size)[:, None, None], parts.shape)
        first = int(np.searchsorted(bands, 0))
        areas = [shapely.MultiPolygon()] * bands.size
        dots = np.stack([sources, np.full(sources.size, first)], axis=1)
        drawn = draw_areas(streets, parts, marks, dots, width)
        for mark in range(first, bands.size):  # (marks without a line are as the one before)
            areas[mark] = drawn.get(mark, areas[mark - 1])
        if rings:
            areas[1:] = shapely.difference(areas[1:], areas[:-1]).tolist()
        return geopandas.GeoDataFrame({"limit": bands}, geometry=areas, crs=WGS84)

    def plot_flows(self, volumes: ArrayLike, **style: Any) -> Axes:
        """Load volumes onto the shortest paths and draw the flows (as `Graph.plot_flows`).

        Parameters
        ----------
        volumes : array_like, shape of `distances` (sparse distances: (k, n))
            As `load`.
        **style
            As `Graph.plot_flows`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Raises
        ------
        SSSPError, ValueError, TypeError
            As `load` and `Graph.plot_flows`.
        """
        return self.graph.plot_flows(self.load(volumes), **style)

    def explore(
        self,
        *,
        row: SupportsIndex = 0,
        path: str | PathLike[str] | None = None,
        network: Any = None,
        unit: str = "",
        name: str = "",
        port: int = 0,
        open_browser: bool | None = None,
        credit: str = "",
        flows: ArrayLike | None = None,
    ) -> Any:
        """Open the result as a page in a browser: a map that answers clicks.

        The page of ``sssp serve``, served by this process to browsers on this machine; it shows
        the result first, and a click on a crossing asks the graph anew. With `path` the page is
        written to a file instead, which needs no server: it holds this result alone, and its
        routes if the call asked for predecessors.

        Parameters
        ----------
        row : int
            Which source, for calls with several.
        path : path-like, optional
            Where to write an HTML file instead of serving.
        network : Hierarchy, optional
            The prepared map of this result's graph, to answer clicks by; else the graph does.
        unit : str
            Of the weights, such as ``"min"``.
        name : str
            Of the map, for its title.
        port : int
            Where to listen; 0: any that is free.
        open_browser : bool, optional
            Whether to open a browser; by default everywhere but in a notebook, which shows the
            page in a frame.
        credit : str
            Whose data is shown; by default what the graph's file says.
        flows : array_like, shape (input arcs,), optional
            On every row of the input, as `Flows.flow`, `Assignment.flow` and `load` have them:
            streets are as wide as their flow.

        Returns
        -------
        OpenPage, or pathlib.Path
            What is being served: ``.address`` says where, ``.wait()`` serves until Ctrl-C at the
            end of a script, ``.close()`` ends it, and so does ``with``. With `path`, that path.

        Raises
        ------
        ValueError
            A graph without coordinates in degrees; a call with targets, which knows too few
            distances; a `network` of another graph.
        VertexError, TypeError
            No such row; a result on a device.
        OSError
            The file cannot be written, or the port is in use.

        Notes
        -----
        A file takes some 18 bytes per vertex: 4.7 MB for New York.
        """
        # (by name, for pages ask for more shortest paths, and that is above results)
        page = import_module("sssp.apps.page.explore")
        asked = {"unit": unit, "name": name, "row": row, "credit": credit, "flows": flows}
        if path is not None:
            return page.write_page(self, path, **asked)
        return page.open_page(self, network, port=port, open_browser=open_browser, **asked)

    def _distances_to_all(self, row: SupportsIndex) -> tuple[int, NDArray[Any]]:
        """Return a row's index and its distances to all vertices; refuse a call with targets."""
        self._require_host()
        index = self._row(row)
        if self.targets is not None:
            raise ValueError(
                "this call asked for targets alone, so nothing is known of the other vertices: "
                "omit targets=, or give a limit instead"
            )
        return index, self._distances_of(index)

    def _distances_of(self, row: int) -> NDArray[Any]:
        """Return a row of the distances as a dense contiguous array, an entry per column."""
        return row_access.dense_row(self.distances, row, self.rows, unreached(self.distances.dtype))

    def _searched_distances(self, row: int) -> NDArray[Any]:
        """Return the distances of a row to all vertices of the graph that was searched."""
        return self._distances_to_all(row)[1]

    def _sources_of(self, row: int) -> NDArray[np.int64]:
        return self.sources if self.nearest else self.sources[row : row + 1]

    def _weights_of_distances(self) -> NDArray[Any]:
        """Return the arc weights that distances are sums of: all 1 for breadth-first search."""
        dtype = self.distances.dtype
        if self.method == BreadthFirst.name:
            return np.ones(self.graph.m, dtype)
        return self.graph.weights_as(dtype if dtype.kind == "f" else INT64)

    @property
    def _on_device(self) -> bool:
        return is_on_device(self.distances)

    def _require_host(self) -> None:
        if self._on_device:
            raise TypeError(
                f"this result lives on {self.device}: call to_host() first, once, or hand its "
                "arrays to a GPU library, as in cupy.asarray(r.distances)"
            )

    def _require_predecessors(self) -> None:
        self._require_host()
        self._require_trees()

    def _require_trees(self) -> None:
        if not self.has_paths:
            raise ValueError("this needs predecessors: call shortest_paths(predecessors=True)")

    def _trees_there(self) -> Any:
        """Return an object that sums arc values along the trees, on the device that holds them."""
        self._require_trees()
        from sssp.cuda.tree_sums import TreeSumsThere

        trees = self.predecessors.reshape((self.rows, self.graph.n))
        return TreeSumsThere(self.graph, trees, self.sources)

    @property
    def _sparse(self) -> bool:
        return is_sparse(self.distances)

    @property
    def _width(self) -> int:
        """Number of columns of the distances: the number of targets or, without targets, n."""
        return self.graph.n if self.targets is None else int(self.targets.size)

    def _tree_sums(self, dtype: np.dtype[Any], ends: NDArray[np.int64] | None = None) -> TreeSums:
        """Return an object that sums values along the tree paths to the targets, or to `ends`."""
        trees, ends = self.predecessors, self.targets if ends is None else ends
        if not is_sparse(trees):
            trees = trees.reshape(self.rows, self.graph.n)
        return TreeSums(self.graph, trees, self.sources, ends, dtype)

    def _shape(self) -> tuple[int, ...]:
        """Return the shape of the distances as a dense array, also if they are stored sparse."""
        return (self.rows, self._width) if self._sparse else tuple(self.distances.shape)

    def _vertices_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        return columns if self.targets is None else self.targets[columns]

    def _column(self, vertex: int) -> int:
        if self.targets is None:
            return vertex
        if self.target_arcs is not None:
            raise ValueError("the columns of this table are arcs: r.target_arcs says which")
        columns = np.flatnonzero(self.targets == vertex)
        if columns.size == 0:
            raise VertexError(
                f"vertex {vertex} was not among the targets of this call, so nothing is "
                "known of it; add it to targets, or omit targets="
            )
        return int(columns[0])

    def _check_volumes_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self._shape():
            what = "rows and vertices" if self._sparse else "the distances"
            raise ValueError(
                f"expected volumes, shaped like {what}: shape {self._shape()}, not {shape}; "
                "fill numpy.zeros of that shape"
            )

    def _refuse_volumes(self, flows: NDArray[Any], row: int) -> NoReturn:
        """Raise an error for a row's first volume that is not finite or has an unreached target."""
        columns = np.flatnonzero(flows[row])
        wrong = columns[~np.isfinite(flows[row, columns])]
        if wrong.size:
            raise ValueError(
                f"the volume from {self._from(row)} to vertex {self._vertices_of(wrong)[0]} is "
                f"{flows[row, wrong[0]]}; where nothing travels write 0"
            )
        lost = columns[self._distances_of(row)[columns] == unreached(self.distances.dtype)]
        raise UnreachableError(
            f"volumes lead from {self._from(row)} to {lost.size} vertices that are not "
            f"reached, vertex {self._vertices_of(lost)[0]} first; set them to 0"
        )

    def _from(self, row: int) -> str:
        if self.nearest:
            return f"any of {self.sources.size} sources"
        return f"source {self.sources[row]}"

    def _row(self, row: SupportsIndex) -> int:
        index = row_access.as_index(row, "a row")
        if not -self.rows <= index < self.rows:
            raise VertexError(f"row {index} does not exist: the call had {self.rows} sources")
        return index % self.rows

    def _vertex(self, vertex: SupportsIndex) -> int:
        """Check a vertex and return it as an int; the error hints at labels if one was given."""
        g = self.graph
        try:
            index = row_access.as_index(vertex, "a vertex")
        except TypeError as error:
            raise TypeError(f"{error}{label_hint(g, vertex)}") from None
        if not 0 <= index < g.n:
            raise no_vertex(index, g)
        return index


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _without_axes(matrix: Any, one_row: bool, one_column: bool) -> Any:
    """Drop the row axis of a dense matrix if `one_row`, and the column axis if `one_column`."""
    if is_sparse(matrix) or not (one_row or one_column):
        return matrix
    rows, columns = matrix.shape
    shape = () if one_row else (rows,)
    return matrix.reshape(shape if one_column else (*shape, columns))
