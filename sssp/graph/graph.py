"""The graph that solvers take: immutable CSR arrays, with labels and coordinates.

SciPy is imported by the methods that need it, because most runs never do and it takes longer to
import than a city takes to read.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.errors import DistanceOverflowError, GraphFormatError, NegativeWeightError, VertexError
from sssp.graph import check_arrays, csr, frames, interop
from sssp.graph.check_weights import as_stored, weight_column
from sssp.graph.graph_file import pack
from sssp.graph.labels import Labels, Lookup, are_labels, as_labels, label_hint, lookup_of
from sssp.graph.sphere import HOW_TO_LOCATE, Sphere, points_of
from sssp.graph.turns import Naming, Turns, make_turns
from sssp.graph.weights import (
    Change,
    Extremes,
    closed_weight,
    converted,
    copy_open,
    extremes_after,
    extremes_of,
    scale_weights,
)
from sssp.kernels.dtypes import INDEX, INT32, OFFSET, Array, WeightRange, distance_dtype
from sssp.kernels.locks import Derived
from sssp.loaders import write_arrays

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

    from sssp.methods import Method

T = TypeVar("T")

#: names that other programs take for the text of the DIMACS challenges
DIMACS_NAME = re.compile(r"\.(gr|co)(\.(gz|xz|bz2))?$")
#: attributes that are not computed from others, under the same name as in a file
FIELDS = (
    *("indptr", "indices", "weights", "arc_origin", "input_arcs", "directed"),
    *("parallel_arcs", "self_loops", "coordinates", "input", "about", "turns"),
)
#: functions that `Graph.free_device` calls last: they release device memory that no graph owns
ON_FREE_DEVICE: list[Callable[[], None]] = []

#: what to do about vertices that are ids, or labels
NUMBER_IDS = "number the vertices so, with their names as labels, or use Graph.from_dataframe"
NUMBER_LABELS = (
    "number the vertices in order of their labels, for instance with Graph.from_arcs([], [], [], "
    "labels=labels).vertices(tails), or let Graph.from_dataframe do it"
)

#: A graph that differs from another in at most this part of the arcs is known by them.
MOST_CHANGED = 1 / 16


class Graph:
    """A weighted directed graph in compressed sparse rows; immutable.

    Make one with `from_arcs`, `from_dataframe`, `from_scipy`, `from_networkx` or `read_graph`. The
    arcs of vertex ``v`` are at positions ``indptr[v]`` to ``indptr[v + 1]``, in order of head. Of
    parallel arcs the lightest is kept; non-negative self-loops, which no shortest path uses, are
    dropped. An arc of infinite weight is closed: no path takes it, but it keeps its position, and
    opens with another weight.

    Attributes
    ----------
    n, m : int
        Numbers of vertices and of kept arcs, closed ones too (an undirected one counts twice).
    indptr : ndarray of int64, shape (n + 1,)
        Where the arcs of each vertex begin.
    indices : ndarray of int32, shape (m,)
        Head of each arc.
    weights : ndarray of int32, int64 or float64, shape (m,)
        Weight of each arc; a closed one has the greatest number of the dtype, infinity for
        floats.
    arc_origin : ndarray of int32 (int64 from 2^31 input arcs on), shape (m,)
        Input row of each arc, the one whose weight counts, so that ``values[g.arc_origin]``
        brings an attribute of the input to the arcs. Both directions of an undirected arc have
        the same.
    input_arcs : int
        Number of input rows.
    directed : bool
        False if each input arc was stored both ways.
    parallel_arcs : int
        Input arcs that lost to a parallel one.
    self_loops : int
        Non-negative self-loops of the input, dropped.
    coordinates : ndarray of float64, shape (n, 2), or None
        Longitude and latitude of each vertex in degrees.
    input : dict of str to ndarray
        What else is known of the input rows, as of `read_osm`: a value per row but where it says
        otherwise, ``g.input["name"][g.arc_origin]`` has one an arc. Empty for other graphs.
    about : dict
        Where the graph comes from, as of `read_osm`: whom to name, and what was left out.
    turns : Turns or None
        What turns cost, of a graph of `with_turns`.

    Notes
    -----
    All arrays are read-only for good. What is computed from them later (`tails`, the search tree
    of `nearest_vertex`, copies on a device) is kept with the graph, but not pickled or saved;
    what does not depend on weights is shared by the graphs of `with_weights` and its like.
    """

    n: int
    m: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Array
    arc_origin: Array
    input_arcs: int
    directed: bool
    parallel_arcs: int
    self_loops: int
    coordinates: NDArray[np.float64] | None
    input: Mapping[str, Array]
    about: Mapping[str, Any]
    turns: Turns | None
    _arrivals: int  # of an expansion: vertices below it where no arc leads on only end trips
    _change: Change | None  # what it was made by, from a graph of the same arcs
    _labels: Labels
    _make_weights: Callable[[], Array] | None  # None: the weights are there
    _row_arc: Array | None  # None: one row per arc and one arc per row, so `arc_origin` tells
    _derived: Derived
    _structure: Derived  # what is derived from the arcs, whatever they weigh

    #: the fields above
    __slots__ = ("__weakref__", *__annotations__)

    #: of a network on which other methods answer than those of graphs
    _methods: ClassVar[dict[str, type[Method]] | None] = None
    #: a GPU needs nothing of a graph but its arrays
    _is_on_device: ClassVar[bool] = False

    def __init__(self, *given: Never, **named: Never) -> None:
        raise TypeError(
            "make a graph with Graph.from_arcs, Graph.from_dataframe, Graph.from_scipy, "
            "Graph.from_networkx or sssp.read_graph"
        )

    @classmethod
    def _from_csr(
        cls,
        indptr: Array,
        indices: Array,
        weights: Array | Callable[[], Array],
        *,
        row_arc: Array | None = None,
        labels: Labels = None,
        coordinates: Array | None = None,
        structure: Derived | None = None,
        change: Change | None = None,
        input: Mapping[str, Array] = MappingProxyType({}),
        about: Mapping[str, Any] = MappingProxyType({}),
        turns: Turns | None = None,
        arrivals: int = 0,
        **fields: Any,
    ) -> Graph:
        """Make a graph of CSR arrays that are known to be correct; they become read-only.

        `structure` holds what is derived from the same arcs whatever they weigh. `weights` may be
        a function that makes them when they are first looked at; `change` says how they differ
        from those of another graph. `fields` are the other attributes that are not computed.
        """
        self = object.__new__(cls)
        fields |= {"n": indptr.size - 1, "m": indices.size, "indptr": indptr, "indices": indices}
        fields |= {"coordinates": coordinates, "_labels": labels, "_row_arc": row_arc}
        fields["_make_weights"] = None if isinstance(weights, np.ndarray) else weights
        if fields["_make_weights"] is None:
            fields["weights"] = weights
        fields |= {"_structure": Derived() if structure is None else structure}
        columns = {name: csr.freeze(column) for name, column in input.items()}
        fields |= {"input": MappingProxyType(columns), "about": MappingProxyType(dict(about))}
        fields |= {"_change": change, "_derived": Derived(), "turns": turns, "_arrivals": arrivals}
        for name, value in fields.items():
            kept = csr.freeze(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return `weights`, computed on first use; raise AttributeError for other names."""
            if name != "weights":
                raise AttributeError(f"'Graph' object has no attribute {name!r}")
            with self._derived.lock:
                # (another thread may have made them meanwhile)
                if self._make_weights is not None:
                    object.__setattr__(self, "weights", csr.freeze(self._make_weights()))
                    object.__setattr__(self, "_make_weights", None)
            return self.weights

    @classmethod
    def from_arcs(
        cls,
        tails: ArrayLike,
        heads: ArrayLike,
        weights: ArrayLike,
        n: SupportsIndex | None = None,
        directed: bool = True,
        coordinates: ArrayLike | None = None,
        labels: Any = None,
    ) -> Graph:
        """Make a graph from three columns: tail, head and weight of each arc.

        Parameters
        ----------
        tails, heads : array_like of int, shape (k,)
            Vertices, counted from 0, whatever their labels.
        weights : array_like of int or float, shape (k,)
            Stored as int32 if all fit, else int64; floats as float64. An infinite weight closes
            the arc, and so does the greatest int64, 2^63 - 1, which is too long for any path
            anyway. A list of Python numbers stays integers if all finite ones are.
        n : int, optional
            Number of vertices; by default that of `labels` or `coordinates`, or without them
            the greatest vertex plus one.
        directed : bool, default True
            False stores each arc in both directions. A negative weight is then a negative cycle.
        coordinates : array_like of float, shape (n, 2), optional
            Longitude and latitude of each vertex in degrees.
        labels : sequence of length n, optional
            Names of the vertices: integers, strings or other hashable objects, no two alike.

        Returns
        -------
        Graph
            Of parallel arcs it keeps the lightest, among equals the first. ``row_arc`` tells
            where each row went.

        Raises
        ------
        VertexError
            A tail or head outside ``0..n-1``; the message names the row.
        ValueError
            A weight that is NaN or minus infinity, lengths or shapes that do not agree, labels
            that repeat, more than 2^31 - 1 vertices.
        TypeError
            Vertices that are not integers, weights that are not numbers, masked arrays,
            `directed` that is neither True nor False.
        DistanceOverflowError
            A weight that does not fit int64 or float64.

        Notes
        -----
        O(n + k) time, by counting sort.

        Graphs of other libraries come in by their columns; vertices are their own numbers::

            # igraph; labels=G.vs["name"] if its vertices have names
            tails, heads = numpy.transpose(G.get_edgelist())
            g = sssp.Graph.from_arcs(tails, heads, G.es["weight"], G.vcount(), G.is_directed())

            # rustworkx; weights are what its edges hold
            n, directed = max(G.node_indices()) + 1, isinstance(G, rustworkx.PyDiGraph)
            g = sssp.Graph.from_arcs(*zip(*G.weighted_edge_list()), n, directed)

            # networkit; its weights are floats, of which g.scaled(1) makes integers
            n, directed = G.upperNodeIdBound(), G.isDirected()
            g = sssp.Graph.from_arcs(*zip(*G.iterEdgesWeights()), n, directed)

        Examples
        --------
        >>> g = Graph.from_arcs([0, 0, 1], [1, 1, 2], [7, 5, 3])
        >>> g.indices.tolist(), g.weights.tolist(), g.arc_origin.tolist()
        ([1, 2], [5, 3], [1, 2])
        """
        directed = check_arrays.as_flag(directed, "directed")
        advice = NUMBER_IDS if labels is None else NUMBER_LABELS
        tail_column = check_arrays.integer_column(tails, "tails", advice)
        head_column = check_arrays.integer_column(heads, "heads", advice)
        values = weight_column(weights)
        if not tail_column.size == head_column.size == values.size:
            sizes = f"{tail_column.size} tails, {head_column.size} heads and {values.size} weights"
            raise ValueError(f"{sizes}: the three must be equally long")
        count = check_arrays.vertex_count(n, tail_column, head_column, coordinates, labels)
        names = as_labels(labels, count)

        def advise(_: Any) -> str:
            if all(are_labels(column, names, count) for column in (tail_column, head_column)):
                return f"; these are labels: {advice}"
            return f"; if these are ids of your own, {advice}" if labels is None else ""

        ends = check_arrays.ends_within(tail_column, head_column, count, advise)
        reduced = csr.reduce_arcs(count, *ends, as_stored(values), directed=directed)
        pairs = check_arrays.coordinate_pairs(coordinates, count)
        return cls._from_csr(**reduced, coordinates=pairs, labels=names)

    @classmethod
    def from_dataframe(
        cls,
        edges: Any,
        tail: Hashable = "u",
        head: Hashable = "v",
        weight: Hashable = "minutes",
        nodes: Any | None = None,
        directed: bool = True,
    ) -> Graph:
        """Make a graph from a pandas DataFrame of edges, whose ids of vertices become labels.

        Parameters
        ----------
        edges : pandas.DataFrame or geopandas.GeoDataFrame, k rows
            One row per arc.
        tail, head : hashable, default "u" and "v"
            Columns of the ids, or levels of the index (as in OSMnx, whose index is u, v, key); a
            column goes before a level of its name. Ids are integers, strings or other hashable
            objects.
        weight : hashable, default "minutes"
            Column of the weights, integers or floats of any width, nullable ones too. They are
            stored as by `from_arcs`; an infinite one closes its arc. ``"length"`` or
            ``"travel_time"`` in OSMnx.
        nodes : pandas.DataFrame or geopandas.GeoDataFrame, n rows, optional
            Its index holds the ids, no two alike; those without edges are vertices too. Columns
            ``lon`` and ``lat``, else ``x`` and ``y``, else points as the geometry become the
            coordinates, in degrees.
        directed : bool, default True
            False stores each arc in both directions.

        Returns
        -------
        Graph
            Vertices stand in order of `nodes`, without `nodes` in order of first appearance, row
            by row, the tail before the head. `labels` are the ids: int64, ``str_`` or objects.
            ``arc_origin`` and ``row_arc`` count the rows of `edges` from 0, whatever their
            index: ``edges.iloc[g.arc_origin]`` has a row for every arc, and
            ``values[g.row_arc]``, of values of arcs, one for every row (but for those of dropped
            self-loops, whose ``row_arc`` is -1).

        Raises
        ------
        TypeError
            `edges` or `nodes` is no pandas DataFrame; the message says what to call.
        GraphFormatError
            A column that is not there, or there twice; missing ids or weights; ids that are
            floats, booleans or dates, or cannot be hashed; weights that are booleans, objects or
            minus infinity; ids of edges that `nodes` lacks, and ids that it has twice;
            coordinates that are missing, no numbers, or projected. The message shows the first
            rows.
        DistanceOverflowError
            A weight that does not fit int64 or float64.

        See Also
        --------
        from_arcs : From columns of vertices, counted from 0.
        vertices : From ids to vertices.

        Notes
        -----
        O(n + k) time, by one hash table. A missing value (None, NaN, NA) is no id, though
        `from_arcs` takes None as a label.

        Examples
        --------
        >>> import pandas
        >>> columns = {"u": ["b", "a", "b"], "v": ["a", "c", "a"], "minutes": [7, 3, 5]}
        >>> edges = pandas.DataFrame(columns | {"street": ["Mill", "Bridge", "New"]})
        >>> g = Graph.from_dataframe(edges)
        >>> g.labels.tolist(), g.weights.tolist()
        (['b', 'a', 'c'], [5, 3])
        >>> edges["street"].to_numpy()[g.arc_origin].tolist()
        ['New', 'Bridge']
        >>> g.vertices(["c", "b"]).tolist()
        [2, 0]
        """
        columns = "give columns of vertices to sssp.Graph.from_arcs(tails, heads, weights)"
        edges = frames.as_frame(edges, "edges", columns)
        if nodes is not None:
            nodes = frames.as_frame(nodes, "nodes", "pandas.DataFrame(index=ids) makes one of ids")
        tails, heads, weights, ids = frames.arcs_of(edges, tail, head, weight, nodes)
        coordinates = None if nodes is None else frames.node_coordinates(nodes)
        return cls.from_arcs(tails, heads, weights, ids.size, directed, coordinates, ids)

    @classmethod
    def from_scipy(cls, matrix: Any, directed: bool = True) -> Graph:
        """Make a graph from a SciPy sparse matrix or array: entry ``(i, j)`` is an arc i -> j.

        Parameters
        ----------
        matrix : sparse matrix or array, shape (n, n)
            In any format. Stored zeros are arcs of weight zero, infinite entries closed arcs; of
            entries stored more than once the least counts (SciPy itself would add them up).
        directed : bool, default True
            False takes each entry in both directions.

        Returns
        -------
        Graph
            ``arc_origin`` is the position of an arc's entry in ``matrix.tocoo()``.

        Raises
        ------
        TypeError
            Not a sparse matrix.
        ValueError
            Not square; NaN or minus infinity; or in BSR format with zeros inside the blocks,
            which may be arcs or padding.

        Notes
        -----
        In DIA format zeros are padding, as they are for SciPy.
        """
        entries = interop.entries_of(matrix)
        columns = entries.row, entries.col, entries.data
        return cls.from_arcs(*columns, n=matrix.shape[0], directed=directed)

    @classmethod
    def from_networkx(
        cls, G: nx.Graph[Any], weight: str = "weight", default: float | None = None
    ) -> Graph:
        """Make a graph from a NetworkX graph, directed or not, multigraph or not.

        Parameters
        ----------
        G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Its nodes become the labels, in their order. If every node has numbers ``lon`` and
            ``lat``, else ``x`` and ``y`` (as in OSMnx), in degrees, they become the coordinates.
        weight : str, default "weight"
            The edge attribute that holds the weight (``"length"`` or ``"travel_time"`` in OSMnx).
        default : number, optional
            Weight of edges that lack the attribute.

        Returns
        -------
        Graph
            ``arc_origin`` and ``row_arc`` count the edges in the order of ``G.edges()``, of a
            multigraph that of ``G.edges(keys=True)``.

        Raises
        ------
        GraphFormatError
            Edges without the attribute while there is no `default`, or with something other
            than a number; the message counts them and shows the first.
        DistanceOverflowError
            A weight that does not fit int64 or float64.
        MissingExtraError
            NetworkX is not installed.

        Warns
        -----
        UserWarning
            The coordinates of the nodes are no degrees, but projected; the graph has none then.

        Notes
        -----
        One pass over nodes and edges. Integer attributes stay exact; if any but an infinite one,
        which closes its edge, is a float, all are.

        Examples
        --------
        The edges along a path, with the keys by which a multigraph tells parallel ones apart:

        >>> import networkx, sssp
        >>> G = networkx.MultiDiGraph()
        >>> for u, v, length in [(71, 72, 30.5), (71, 72, 12.5), (72, 75, 8.0)]:
        ...     key = G.add_edge(u, v, length=length)
        >>> g = Graph.from_networkx(G, weight="length")
        >>> r = sssp.shortest_paths(g, g.vertex(71), predecessors=True)
        >>> edges = list(G.edges(keys=True))
        >>> [edges[row] for row in g.arc_origin[r.path_arcs(g.vertex(75))]]
        [(71, 72, 1), (72, 75, 0)]
        """
        nodes = interop.nodes_of(G)
        edges = interop.edges_of(G, nodes, weight, default)
        return cls.from_arcs(*edges, len(nodes), G.is_directed(), interop.coordinates_of(G), nodes)

    # -- what is computed on first use ---------------------------------------------------------

    def _cached(self, key: str, build: Callable[[], T]) -> T:
        """Return the result of ``build()``, computed once for this graph, then kept.

        It is not pickled or saved.
        """
        kept = self._derived
        # (most calls find it, and need no more than this)
        return kept[key] if key in kept else kept.get_or_build(key, build)

    def _shared(self, key: str, build: Callable[[], T]) -> T:
        """Return the result of ``build()``, computed once for all graphs with the same arcs."""
        return self._structure.get_or_build(key, build)

    def free_device(self) -> None:
        """Free the copies of this graph on CUDA devices; a later call on a device copies it again.

        Those of graphs that were made from it for solvers go too, and the memory that waits on
        devices for the next call, of whatever graph. Weights that are on a device alone come to
        the host first.
        """
        if self._change is None:
            _ = self.weights  # (a GPU alone may hold them)
        for held in list(self._derived.values()):
            if isinstance(held, Graph):
                held.free_device()
        self._derived.free_device()
        for release in ON_FREE_DEVICE:
            release()

    @property
    def labels(self) -> Array | None:
        """Label of each vertex: ndarray of int64, ``str_`` or objects, shape (n,), or None."""
        labels = self._labels
        if not isinstance(labels, range):
            return labels
        ends = labels.start, labels.stop
        return self._shared("labels", lambda: csr.freeze(np.arange(*ends, dtype=np.int64)))

    @property
    def tails(self) -> NDArray[np.int32]:
        """Tail of each arc: ndarray of int32, shape (m,)."""
        return self._shared("tails", lambda: csr.freeze(csr.tails_of(self.indptr)))

    @property
    def row_arc(self) -> Array:
        """Position of the arc of each input row, -1 for none: ndarray of int, shape (input_arcs,).

        The arc in the direction of the row; if parallel rows were reduced to one arc, all of
        them have its position. -1 where a row is not an arc of this graph: a self-loop that was
        dropped, or what lies outside a `largest_component` or an `without_closed_arcs`.

        Raises
        ------
        GraphFormatError
            The graph was read from a file of an older release, which does not know it.
        """
        if self._row_arc is not None:
            return self._row_arc
        return self._shared("row arc", self._row_arc_of_origins)

    def _row_arc_of_origins(self) -> Array:
        places = np.arange(self.m, dtype=csr.row_dtype(self.m))
        row_arc = np.full(self.input_arcs, -1, places.dtype)
        row_arc[self.arc_origin] = places
        one_to_one = self.directed and not self.parallel_arcs
        if not (one_to_one and csr.rows_are_own(row_arc, self.arc_origin)):
            raise GraphFormatError(
                "this graph does not know the arcs of all its input rows, for the .sssp file that "
                "it comes from was written by an older release: make it again from its source, "
                "or give weights per arc, as with_weights(w)"
            )
        return csr.freeze(row_arc)

    @property
    def _twins(self) -> Array:
        """Position of each arc's reverse arc, -1 for none: ndarray, shape (m,)."""
        return self._shared("twins", lambda: csr.freeze(csr.twins_of(self.indptr, self.indices)))

    @property
    def _rows_go_both_ways(self) -> bool:
        """Whether a row of the input stands for two arcs, one in each direction."""
        return self._shared("two ways", lambda: not csr.rows_are_own(self.row_arc, self.arc_origin))

    def _count_entries(self) -> int:
        """Return the number of arcs; a dense matrix counts its entries instead."""
        return self.m

    @property
    def _extremes(self) -> Extremes:
        """Least and greatest weight, and the numbers of closed arcs and non-negative self-loops."""
        return self._cached("extremes", lambda: extremes_of(self.weights, self._loops))

    @property
    def _loops(self) -> NDArray[np.int64]:
        """Positions of the self-loops."""
        return self._shared("self-loops", lambda: csr.self_loops_of(self.indptr, self.indices))

    @property
    def least_weight(self) -> int | float:
        """The least weight of an open arc, as a Python number; 0 if there is none."""
        return self._extremes.least

    @property
    def greatest_weight(self) -> int | float:
        """The greatest weight of an open arc, as a Python number; 0 if there is none."""
        return self._extremes.greatest

    @property
    def closed_arcs(self) -> int:
        """Number of closed arcs."""
        return self._extremes.closed

    @property
    def _weight_range(self) -> WeightRange:
        """Dtype and extremes of the weights of the open arcs."""
        return self._derived.get("weight range") or self._cached(
            "weight range", lambda: WeightRange(*self._extremes[:3])
        )

    @property
    def _tree_graph(self) -> Graph:
        """The graph whose arcs make up shortest-path trees: this graph."""
        return self

    @property
    def _searched(self) -> Graph:
        """The graph that searches run on: this one, or its turn expansion if it has turns."""
        turns = self.turns
        if turns is None:
            return self

        def build() -> Graph:
            e, m = turns.expansion, turns.expansion.indices.size
            own = e.structure.get_or_build("rows", lambda: np.arange(m, dtype=csr.row_dtype(m)))
            rows: dict[str, Any] = {"arc_origin": own, "input_arcs": m, "directed": True}
            rows |= {"parallel_arcs": 0, "self_loops": 0}
            arcs = e.indptr, e.indices, lambda: turns.weigh(self.weights)
            return Graph._from_csr(*arcs, structure=e.structure, arrivals=self.n, **rows)

        return self._cached("searched", build)

    def _searched_ends(self, begins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the expansion's end vertices for the user vertices that `begins` stand for."""
        assert self.turns is not None
        expansion = self.turns.expansion
        return expansion.end[expansion.vertex_of[begins]]

    def _first_vertices(self, count: int) -> Array:
        """Return the array 0, 1, ..., `count` - 1, shared by all graphs with the same arcs."""
        return self._shared(f"first {count}", lambda: csr.freeze(np.arange(count)))

    @property
    def _least_inner_weight(self) -> int | float:
        """The least weight of an open arc, without arcs into dead ends of a turn expansion."""
        if not self._arrivals:
            return self.least_weight

        def build() -> int | float:
            leads_on = np.diff(self.indptr) > 0
            leads_on[self._arrivals :] = True
            return extremes_of(self.weights[leads_on[self.indices]], np.empty(0, np.int64)).least

        return self._cached("least inner weight", build)

    def weights_as(self, dtype: DTypeLike) -> Array:
        """Return the weights in another dtype.

        Parameters
        ----------
        dtype : int32, int64, float32 or float64
            What a solver computes in.

        Returns
        -------
        ndarray, shape (m,)
            Read-only; ``weights`` itself if it has that dtype, else a copy that is kept. Closed
            arcs have the greatest number of the dtype, infinity for floats.

        Raises
        ------
        TypeError
            Another dtype, or an integer one for float weights.
        DistanceOverflowError
            A weight does not fit.
        """
        asked = distance_dtype(dtype, self.weights.dtype)
        if asked is None or asked == self.weights.dtype:
            return self.weights
        limits: Any = np.iinfo(asked) if asked.kind == "i" else np.finfo(asked)
        # (the greatest integer is the weight of a closed arc)
        greatest = int(limits.max) - 1 if asked.kind == "i" else float(limits.max)
        if not float(limits.min) <= self.least_weight <= self.greatest_weight <= greatest:
            raise DistanceOverflowError(
                f"weights from {self.least_weight} to {self.greatest_weight} do not fit {asked}"
            )
        key = f"weights as {asked}"
        return self._cached(key, lambda: csr.freeze(converted(self.weights, asked)))

    # -- vertices ------------------------------------------------------------------------------

    def vertex(self, label: Any) -> int:
        """Return the vertex that has a label; without labels ``vertex(v) == v``.

        Raises
        ------
        VertexError
            No vertex has it.
        TypeError
            Not an integer, where vertices go by integers (a bool is none).
        """
        return self._lookup.find(label)

    def vertices(self, labels: Any) -> NDArray[np.int64]:
        """Return the vertices of many labels at once.

        Parameters
        ----------
        labels : sequence of length k
            Labels; without labels, vertices.

        Returns
        -------
        ndarray of int64, shape (k,)
            Their vertices.

        Raises
        ------
        VertexError, TypeError
            As `vertex` does, for the first that is unknown.
        """
        return self._lookup.find_all(labels)

    @property
    def _lookup(self) -> Lookup:
        return self._shared("lookup", lambda: lookup_of(self._labels, self.n))

    @overload
    def nearest_vertex(
        self, lon: Any, *, distance: bool = False, max_distance: float | None = None
    ) -> Any: ...

    @overload
    def nearest_vertex(
        self, lon: float, lat: float, *, max_distance: float | None = None
    ) -> int: ...

    @overload
    def nearest_vertex(
        self, lon: ArrayLike, lat: ArrayLike, *, max_distance: float | None = None
    ) -> NDArray[np.int64]: ...

    @overload
    def nearest_vertex(
        self, lon: float, lat: float, *, distance: Literal[True], max_distance: float | None = None
    ) -> tuple[int, float]: ...

    @overload
    def nearest_vertex(
        self,
        lon: ArrayLike,
        lat: ArrayLike,
        *,
        distance: Literal[True],
        max_distance: float | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

    def nearest_vertex(
        self,
        lon: ArrayLike,
        lat: ArrayLike | None = None,
        *,
        distance: bool = False,
        max_distance: float | None = None,
    ) -> Any:
        """Return the vertex nearest to a point on the sphere, or to each of many points.

        Parameters
        ----------
        lon, lat : float or array_like of float
            Longitude and latitude in degrees; they are broadcast against each other. Or a GeoSeries
            (GeoDataFrame) of points alone, in any reference system that it knows.
        distance : bool, default False
            Return the distance too.
        max_distance : float, optional
            Metres, inclusive. A point farther than this from all vertices has none.

        Returns
        -------
        vertex : int, or ndarray of int64
            A vertex for each point, in the shape of the points; -1 for none within
            `max_distance`, which no call takes for a vertex.
        metres : float, or ndarray of float64
            With `distance` alone: the way through the air, on a sphere of the earth's mean radius
            (6371.0088 km; up to 0.6% off that on the ellipsoid); inf where there is no vertex.

        Raises
        ------
        ValueError
            A graph without coordinates or without vertices, or whose coordinates are no degrees;
            a point that is not finite or no degrees (the message names its row); a negative
            `max_distance`.
        TypeError
            A masked array; a `max_distance` that is not a number.

        Warns
        -----
        UserWarning
            All points lie far outside the graph, as if longitude and latitude were swapped: by
            more than its width or height, whichever is greater, and more than a degree.

        Notes
        -----
        A KD-tree over the unit sphere, where nearest by chord is nearest by arc: the date line
        and the poles need no care. O(n log n) once, then O(log n) a point.

        Examples
        --------
        >>> places = [[8.54, 47.38], [8.31, 47.05]]
        >>> g = Graph.from_arcs([0], [1], [40], coordinates=places)
        >>> g.nearest_vertex(8.3, 47.0)
        1
        >>> vertices, metres = g.nearest_vertex(
        ...     [8.5, 8.0], [47.4, 47.1], distance=True, max_distance=5000
        ... )
        >>> vertices.tolist(), metres.round().tolist()
        ([0, -1], [3740.0, inf])
        """
        coordinates = self.coordinates
        if coordinates is None:
            raise ValueError(f"this graph has no coordinates; {HOW_TO_LOCATE}")
        if self.n == 0:
            raise ValueError("a graph without vertices has no nearest one")
        lons, lats = points_of(*(frames.points_in(lon) if lat is None else (lon, lat)))
        sphere = self._shared("sphere", lambda: Sphere(coordinates))
        sphere.warn_if_far(lons, lats, stacklevel=3)
        farthest = np.inf if max_distance is None else max_distance
        vertices, metres = sphere.nearest(lons, lats, farthest)
        if lons.ndim == 0:
            return (int(vertices), float(metres)) if distance else int(vertices)
        return (vertices, metres) if distance else vertices

    # -- arcs ----------------------------------------------------------------------------------

    def arc(self, u: SupportsIndex, v: SupportsIndex) -> int:
        """Return the position of the arc from vertex `u` to vertex `v`, open or closed.

        Raises
        ------
        VertexError
            There is no such vertex, or no such arc.
        TypeError
            Not an integer.
        """
        return int(self.arcs(np.array([u]), np.array([v]))[0])

    def arcs(self, us: ArrayLike, vs: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of many arcs at once, given their tails and heads.

        Parameters
        ----------
        us, vs : array_like of int, shape (k,)
            Their tails and heads: vertices, as `vertices` makes them from labels.

        Returns
        -------
        ndarray of int64, shape (k,)
            Positions in ``indices`` and ``weights``, of closed arcs too. ``g.arcs([u, v], [v, u])``
            are both directions of a street. O(log degree) each.

        Raises
        ------
        VertexError, TypeError, ValueError
            As `arc` does, for the first pair that is none; not as many tails as heads.
        """
        advice = "g.vertices(labels) turns labels into vertices"
        tails = check_arrays.integer_column(us, "tails", advice)
        heads = check_arrays.integer_column(vs, "heads", advice)
        if tails.size != heads.size:
            raise ValueError(f"{tails.size} tails and {heads.size} heads must be equally many")
        ends = check_arrays.ends_within(tails, heads, self.n, partial(label_hint, self))
        positions = csr.arc_positions(self.indptr, self.indices, *ends)
        if (row := check_arrays.first_true(positions < 0)) is not None:
            raise VertexError(f"no arc leads from vertex {tails[row]} to vertex {heads[row]}")
        return positions

    # -- other graphs from this one ------------------------------------------------------------

    def without_closed_arcs(self) -> Graph:
        """Return this graph without its closed arcs; solvers work on the result.

        Returns
        -------
        Graph
            Without closed arcs and without self-loops that came to weigh 0 or more; positions of
            arcs are its own. The graph itself where there are none, else made once and kept.
            O(n + m).
        """
        extremes = self._extremes
        if extremes.closed == extremes.idle == 0:
            return self

        def build() -> Graph:
            stays = self.weights != closed_weight(self.weights.dtype)
            stays[self._loops[self.weights[self._loops] >= 0]] = False
            return self._keep_arcs(stays, self_loops=self.self_loops + extremes.idle)

        return self._cached("open part", build)

    def _keep_arcs(self, stays: Array, **changes: Any) -> Graph:
        """Return a graph of the arcs where the mask `stays` is True, with their turns."""
        before = np.zeros(self.m + 1, csr.row_dtype(self.m))
        np.cumsum(stays, out=before[1:])
        fields = {name: getattr(self, name)[stays] for name in ("indices", "weights", "arc_origin")}
        fields["indptr"] = before[self.indptr].astype(OFFSET)
        places = before[:-1]
        places[~stays] = -1
        if self._row_arc is not None:
            row_arc = csr.move(self._row_arc, places)
            if self._rows_go_both_ways:
                # one direction alone may be left; it then stands for the row
                other = csr.move(csr.move(self._row_arc, self._twins), places)
                row_arc = np.where(row_arc < 0, other, row_arc)
            fields["row_arc"] = row_arc
        made = self._replace(**fields | {"turns": None} | changes)
        if self.turns is None:
            return made
        turns = self.turns.carry_over(made.indptr, made.indices, places)
        return made._reweight(made.weights, turns=turns)

    def reverse(self) -> Graph:
        """Return the graph with every arc and every turn reversed.

        Returns
        -------
        Graph
            ``arc_origin`` and ``row_arc`` name the same input rows. O(n + m).
        """
        indptr, tails, order = csr.transpose(self.indptr, self.indices)
        places = np.empty_like(order)
        places[order] = np.arange(self.m, dtype=order.dtype)
        fields: dict[str, Any] = {"indptr": indptr, "indices": tails}
        fields |= {name: csr.pick(getattr(self, name), order) for name in ("weights", "arc_origin")}
        fields["row_arc"] = None if self._row_arc is None else csr.move(self._row_arc, places)
        fields["turns"] = None if self.turns is None else self.turns.reverse(places)
        return self._replace(**fields)

    def largest_component(self, connection: Literal["strong", "weak"] = "strong") -> Graph:
        """Return the largest strongly (or weakly) connected part of the graph.

        Parameters
        ----------
        connection : {"strong", "weak"}
            Whether any two vertices must reach each other, or only in the graph with every arc
            in both directions. Closed arcs connect nothing; turns are not looked at.

        Returns
        -------
        Graph
            Vertices in their old order, with their labels; if there were none, the old numbers
            become the labels. All arcs between them, closed ones too. Among equally large parts
            the one with the smallest vertex. ``arc_origin`` and ``row_arc`` name the same input
            rows, and ``input_arcs``, ``parallel_arcs`` and ``self_loops`` count the same input.

        Raises
        ------
        ValueError
            Another connection.

        Notes
        -----
        O(n + m) time, by SciPy's depth-first search (Pearce 2005).
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        check_arrays.as_choice(connection, "connection", "strong", "weak")
        part = self.without_closed_arcs()
        arcs = np.ones(part.m, np.int8), part.indices, part.indptr
        pattern = csr_array(arcs, shape=(self.n, self.n))
        _, component = connected_components(pattern, directed=True, connection=connection)
        sizes = np.bincount(component)
        inside = component == component[np.argmax(sizes[component])] if self.n else component > 0
        vertices = np.flatnonzero(inside)
        kept = inside[self.tails] & inside[self.indices]
        number = np.cumsum(inside, dtype=INDEX) - 1
        own = vertices if self.labels is None else self.labels[vertices]
        degrees = np.bincount(number[self.tails[kept]], minlength=vertices.size)
        return self._keep_arcs(
            kept,
            indptr=csr.offsets(degrees),
            indices=number[self.indices[kept]],
            coordinates=None if self.coordinates is None else self.coordinates[vertices],
            labels=as_labels(own, vertices.size),
        )

    def with_weights(self, w: ArrayLike | None = None, *, rows: ArrayLike | None = None) -> Graph:
        """Return the graph with other weights on the same arcs.

        Parameters
        ----------
        w : array_like of int or float, shape (m,), optional
            A weight for each arc, by its position in ``indices`` (a Series in its order, whatever
            its index: so everywhere). Of parallel input rows one was
            kept, and the others do not come back whatever they would weigh now: for weights of
            the input give `rows`.
        rows : array_like of int or float, shape (input_arcs,), optional
            A weight for each input row instead. Of parallel rows the lightest counts, anew; both
            directions of an undirected arc get the weight of its row. What is given for rows
            that are no arc (-1 in ``row_arc``) is not looked at, but for the error below.

        Returns
        -------
        Graph
            All arcs keep their positions. An infinite weight closes an arc, and so does the
            greatest int64, 2^63 - 1; any other opens it. A closed arc that is given its old
            weight stays closed: ``g.with_weights(g.weights)`` changes nothing. The dtype is that
            of `from_arcs`: integers stay integers, but an array of floats makes a graph of
            floats, even if all are whole or infinite (`without_arcs` closes arcs of an integer
            graph). With `rows`, ``arc_origin`` is the row whose weight counts. Of an undirected
            graph whose weights differ by direction: a directed one.

        Raises
        ------
        ValueError
            NaN, minus infinity, or not as many weights as arcs or input rows.
        NegativeWeightError
            A negative weight in `rows` for a self-loop, which was dropped as it was not negative.
        GraphFormatError
            `rows` for a graph without ``row_arc``, from a file of an older release.
        TypeError, DistanceOverflowError
            As `from_arcs`; both `w` and `rows`, or neither.

        Notes
        -----
        O(m + input rows) time.

        Examples
        --------
        >>> g = Graph.from_arcs([0, 0], [1, 1], [5, 6])
        >>> g.with_weights(rows=[50, 10]).weights.tolist()
        [10]
        """
        if rows is not None and w is None:
            what = "input rows; w= takes one per arc"
            return self._with_row_weights(weight_column(rows, self.input_arcs, what))
        if w is None or rows is not None:
            raise TypeError("with_weights takes one of w, a weight per arc, and rows=, one per row")
        column = weight_column(w, self.m, "arcs; rows= takes one per row")
        before = self.weights if self.closed_arcs else None
        copied = None if before is not None or self._loops.size else copy_open(column)
        weights, extremes = copied or (as_stored(column, before), None)
        symmetric = not self.directed and np.array_equal(csr.pick(weights, self._twins), weights)
        graph = self._reweight(weights, directed=not symmetric)
        if extremes is not None:
            graph._derived["extremes"] = extremes
        return graph

    def _with_row_weights(self, column: Array) -> Graph:
        row_arc = self.row_arc
        values = as_stored(column, self.weights[row_arc] if self.closed_arcs else None)
        if self.self_loops:
            loops = self._shared("rows without arc", lambda: np.flatnonzero(row_arc < 0))
            negative = loops[values[loops] < 0]
            if negative.size:
                raise NegativeWeightError(
                    f"row {negative[0]} gets the weight {values[negative[0]]}, but is not an arc "
                    f"of this graph, which dropped {self.self_loops} self-loops, none negative: "
                    "a negative one is a negative cycle; make such a graph anew with from_arcs"
                )
        if self._row_arc is None:
            return self._reweight(csr.pick(values, self.arc_origin))
        twins = self._twins if self._rows_go_both_ways else None
        origins, weights = csr.lightest_rows(row_arc, values, self.m, twins)
        directed = self.directed if twins is None else bool((twins < 0).any())
        return self._reweight(weights, arc_origin=origins, directed=directed)

    def with_changes(self, arcs: ArrayLike, weights: ArrayLike) -> Graph:
        """Return the graph with other weights on some arcs.

        Parameters
        ----------
        arcs : int or array_like of int, shape (k,)
            Positions, as of `arcs`. Of a position given twice the last weight counts.
        weights : number or array_like of int or float, shape (k,)
            Their weights, as for `with_weights`; one number is for all.

        Returns
        -------
        Graph
            All else as it was. int32 becomes int64 where a weight needs it; floats make integers
            floats. An undirected arc has two positions; with one of them changed alone the graph
            is directed.

        Raises
        ------
        IndexError
            No position of an arc.
        ValueError, TypeError, DistanceOverflowError
            As `with_weights`.

        Notes
        -----
        O(k log k) time, and a copy of the weights when they are first looked at; all else is
        shared.
        """
        places = check_arrays.arc_column(arcs, self.m)
        if np.ndim(weights) == 0:
            column = np.broadcast_to(weight_column(np.atleast_1d(weights)), places.shape)
        else:
            column = weight_column(weights, places.size, "arcs")
        values = as_stored(column, self.weights[places] if self.closed_arcs else None)
        own = self.weights.dtype
        dtype = np.promote_types(own, values.dtype) if places.size else own
        if dtype == own:
            return self._change_at(places, converted(values, own))
        changed = converted(self.weights, dtype)
        changed[places] = converted(values, dtype)
        return self._reweight(changed, directed=self._becomes_directed(changed, places))

    def without_arcs(self, arcs: ArrayLike) -> Graph:
        """Return the graph with some arcs closed, so that no path uses them.

        Parameters
        ----------
        arcs : int or array_like of int, shape (k,)
            Positions, as of `arcs`; both directions of a street are two.

        Returns
        -------
        Graph
            The arcs keep their positions, integers stay integers.

        Raises
        ------
        IndexError, TypeError
            No positions of arcs.
        """
        places = check_arrays.arc_column(arcs, self.m)
        dtype = self.weights.dtype
        return self._change_at(places, np.full(places.size, closed_weight(dtype), dtype))

    def _change_at(self, places: Array, values: Array) -> Graph:
        """Return the graph with new weights for the arcs at the given positions."""
        change = Change.of(self, places, values)
        places, values = change.places, change.values
        whole = change.from_base()
        first = whole if whole.places.size <= MOST_CHANGED * self.m else None
        weights: Any = first.apply if self.directed and first is not None else change.apply()
        directed = self._becomes_directed(weights, places)
        graph = self._reweight(weights, directed=directed, change=first)
        if not self._loops.size:
            before, after = self.weights[places], lambda: graph.weights
            extremes = extremes_after(self._extremes, before, values, self.m, after)
            if extremes is not None:
                graph._derived["extremes"] = extremes  # (the weights may not be made yet)
        return graph

    def _becomes_directed(self, weights: Array, changed: Array) -> bool:
        """Return True if the graph is directed or a changed arc's reverse has another weight."""
        return self.directed or not np.array_equal(weights[self._twins[changed]], weights[changed])

    def scaled(self, factor: float) -> Graph:
        """Return the graph with integer weights ``rint(weights * factor)``.

        Parameters
        ----------
        factor : float
            Greater than zero: 1000 turns float kilometres into integer metres.

        Returns
        -------
        Graph
            Integer weights; a whole factor of integer weights is exact, all else is rounded
            to the nearest integer from the product in float64. Closed arcs stay closed. What turns
            cost is scaled too.

        Raises
        ------
        ValueError, TypeError
            A factor that is not a finite number above zero.
        DistanceOverflowError
            A product does not fit int64.
        """
        made = self.without_turns().with_weights(scale_weights(self.weights, factor))
        if self.turns is None:
            return made
        return made._reweight(made.weights, turns=self.turns.scale(factor))

    # -- turns ---------------------------------------------------------------------------------

    def with_turns(
        self,
        table: Any = None,
        *,
        arcs: bool = False,
        u_turns: float | None = None,
        ways: Sequence[ArrayLike] | None = None,
        cost: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike | None = None,
        lightest: float = 0.0,
    ) -> Graph:
        """Return the graph with turns that are forbidden, or cost something.

        Vertices, arcs and labels stay as they are, and every function that takes a graph takes
        this one. A trip leaves its source in any direction, and comes to its target from any; a
        path may pass a vertex twice.

        Parameters
        ----------
        table : pandas.DataFrame, or tuple of three or four arrays, k rows, optional
            Columns ``from`` and ``to``, input rows of the graph that meet at a vertex; ``cost`` of
            the turn there, 0 or more in units of the weights, and inf to forbid it; and ``kind``,
            which may be left out: ``"cost"``; ``"no"``, which forbids; or ``"only"``, which
            forbids all other turns from there. Of a turn that is named twice the dearest counts.
        arcs : bool, default False
            Whether `table` and `ways` hold positions of arcs in place of input rows.
        u_turns : number, optional
            What it costs to go back where one came from, inf to forbid it; but not where there is
            no other way out (a closed arc is one: it may be opened). For all turns that `table`
            does not name.
        ways : sequence of array_like of int, optional
            Sequences of two input rows or more, none of which a path may follow from end to end.
        cost : callable or array_like, shape (pairs,), optional
            What all other turns cost: one number for each pair of an arc and an arc that it leads
            to, in order of position, first of the former; or a function that makes these of the
            angles, degrees in (-180, 180], 0 straight on and positive to the left.
        lightest : float, default 0
            A share of its weight, from 0 to 1, that no arc will fall below; less is refused. Then
            `u_turns` splits only crossings near other turns, where a U-turn may pay, and
            everything is faster. 0 allows any weights.

        Returns
        -------
        Graph
            Its `turns` say how many rows met turns.

        Raises
        ------
        ValueError
            Rows that do not meet, or meet at both ends (which an undirected street can); costs that
            are negative or NaN, or fractions beside integer weights; angles without coordinates;
            a graph that has turns already. The message names the row.
        IndexError, TypeError, DistanceOverflowError
            No such row or arc; other arguments are not what they should be; a cost beyond int64.

        Notes
        -----
        Crossings where some turn is not free are split (`sssp.graph.turns`), into as many copies
        as arcs that lead there differ in their turns. With one forbidden turn at 2 of 100
        crossings of New York, as in OpenStreetMap, everything takes the time that it took; with
        costs everywhere, or U-turns forbidden, three to four times that, and a prepared map ten
        times for new weights. O(n + m) time for few turns, else in the pairs of arcs that meet.

        Self-loops that the graph has dropped, and parallel arcs that lost to a lighter one, make no
        turns: a row of the latter names the one that was kept.

        Examples
        --------
        >>> g = Graph.from_arcs([0, 1, 1, 2], [1, 2, 3, 3], [5, 5, 9, 1])
        >>> import sssp
        >>> t = g.with_turns(([0], [1], [float("inf")]))
        >>> sssp.shortest_paths(g, 0).distances.tolist(), sssp.shortest_paths(t, 0).distances[3]
        ([0, 5, 10, 11], np.int32(14))
        """
        if self.turns is not None:
            raise ValueError("this graph has turns; give new ones to t.without_turns()")
        naming = Naming(self, by_row=not check_arrays.as_flag(arcs, "arcs"))
        turns = make_turns(naming, table, cost, u_turns, ways, lightest)
        return self._reweight(self.weights, turns=turns)

    def _close_vertices(self, vertices: Array) -> Graph:
        """Return the graph where paths may begin or end at given vertices, but not pass through."""
        made = self.with_turns() if self.turns is None else self
        assert made.turns is not None
        turns = made.turns.forbid_at(self.indptr, self.indices, vertices)
        return made._reweight(self.weights, turns=turns)

    def _counting_streets(self) -> Graph:
        """Return the graph with weight 1 on open arcs and no turn costs; forbidden turns stay."""
        turns = self.turns
        assert turns is not None

        def build() -> Graph:
            is_open = self.weights != closed_weight(self.weights.dtype)
            weights = np.where(is_open, 1, closed_weight(INT32)).astype(INT32)
            return self._reweight(weights, turns=turns.without_costs())

        return self._cached("streets", build)

    def without_turns(self) -> Graph:
        """Return the graph on which every turn is free; the graph itself if it has no turns."""
        return self if self.turns is None else self._reweight(self.weights, turns=None)

    def with_turn_costs(self, costs: ArrayLike) -> Graph:
        """Return the graph with new costs for the turns that its turn table lists.

        Parameters
        ----------
        costs : array_like, shape (k,)
            One a row of the table of `with_turns`; inf forbids. In a row of kind ``"only"`` it is
            what all other turns from there cost at least: 0 lifts the restriction.

        Returns
        -------
        Graph
            All else as it was: u_turns, ways and the costs of other turns. O(m) time.

        Raises
        ------
        ValueError, TypeError, DistanceOverflowError
            As `with_turns`; not as many costs as rows; a graph without turns.
        """
        if self.turns is None:
            raise ValueError("this graph has no turns: g.with_turns names some first")
        return self._reweight(self.weights, turns=self.turns.with_row_costs(costs, self.weights))

    def _replace(self, **changes: Any) -> Graph:
        """Return a copy of the graph with some fields replaced."""
        return Graph._from_csr(**self._fields(**changes))

    def _reweight(self, weights: Array | Callable[[], Array], **changes: Any) -> Graph:
        """Return the graph with other weights: an array, or a function that computes the array."""
        fields = self._fields(weights=weights, **changes)
        turns = fields["turns"]
        if turns is not None and turns.lightest.size:
            if callable(weights):
                fields["weights"] = weights = weights()
            turns.refuse_lighter(weights)
        if turns is not None and isinstance(weights, np.ndarray):
            fields["turns"] = turns.convert_for(weights.dtype)
        return Graph._from_csr(structure=self._structure, **fields)

    def _fields(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments that make a copy of this graph, with `changes` applied."""
        own = {name: getattr(self, name) for name in FIELDS if name not in changes}
        own |= {"arrivals": self._arrivals, "row_arc": self._row_arc, "labels": self._labels}
        # (dictionaries pickle)
        own |= {name: dict(own[name]) for name in ("input", "about") if name in own}
        return own | changes

    # -- out -----------------------------------------------------------------------------------

    def _refuse_turns(self, what: str) -> None:
        """Raise ValueError if the graph has turns, for a call that does not support them."""
        if self.turns is not None:
            raise ValueError(
                f"{what} does not know turns, and would go as if all were free; if that is meant, "
                "ask t.without_turns()"
            )

    def to_scipy(self) -> csr_array:
        """Return the graph as a `scipy.sparse.csr_array` of shape (n, n), zeros stored.

        Closed arcs are not in it. The arrays are copies, so the result may be changed. Indices are
        int32 up to 2^31 - 1 arcs, so that `scipy.sparse.csgraph` takes them in any version.

        Raises
        ------
        ValueError
            A graph with turns, which a matrix cannot hold.
        """
        from scipy.sparse import csr_array

        self._refuse_turns("a sparse matrix")
        part = self.without_closed_arcs()
        offsets = interop.scipy_offsets(part.indptr)
        return csr_array((part.weights, part.indices, offsets), shape=(self.n, self.n), copy=True)

    def to_networkx(self) -> nx.DiGraph[Any] | nx.Graph[Any]:
        """Return the graph as a `networkx.DiGraph`, or a `networkx.Graph` if undirected.

        Nodes are the labels (else ``0..n-1``), with coordinates as their ``x`` and ``y``; edges
        have the attribute ``weight``. Closed arcs are not in it.

        Raises
        ------
        MissingExtraError
            NetworkX is not installed.
        ValueError
            A graph with turns, which a NetworkX graph cannot hold.
        """
        self._refuse_turns("a NetworkX graph")
        return interop.to_networkx(self.without_closed_arcs())  # type: ignore[no-any-return]

    def to_dataframe(self, values: Any, vertices: ArrayLike | None = None) -> Any:
        """Return a `pandas.DataFrame` of vertices, with their labels and the data in `values`.

        Parameters
        ----------
        values : array_like, shape (n,) or (k,), or mapping of names to such
            One for each vertex, as `sssp.betweenness` and ``sssp.reduce(g, vertices, ...)`` give;
            a mapping gives several columns.
        vertices : int or array_like of int, shape (k,), optional
            Which ones they are of, in this order; by default all.

        Returns
        -------
        pandas.DataFrame
            Columns: ``vertex``, labels if the graph has some; ``value``, or the names.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        ValueError
            Not as many values as vertices.
        VertexError, TypeError
            No vertices.

        Examples
        --------
        >>> import sssp
        >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 2], labels=["home", "school", "shop"])
        >>> g.to_dataframe({"shops": [0, 0, 3]}, g.vertices(["school", "shop", "home"]))
           vertex  shops
        0  school      0
        1    shop      0
        2    home      3
        """
        return frames.vertex_table(self, values, vertices)

    def to_geodataframe(self) -> Any:
        """Return the arcs as straight lines between their ends, in a `geopandas.GeoDataFrame`.

        Returns
        -------
        geopandas.GeoDataFrame
            One row per arc, in order of position; one row per edge of an undirected graph, whose
            tail is then the smaller vertex. Closed arcs are not in it. Columns: ``arc``, its
            position in ``indices``; ``tail`` and ``head``, labels if the graph has some;
            ``weight``; ``geometry``. In degrees (EPSG:4326). ``values[gdf["arc"]]`` brings values
            of the arcs there, ``values[g.arc_origin[gdf["arc"]]]`` those of input rows, such as
            the flows of `ShortestPaths.load`.

        Raises
        ------
        MissingExtraError
            GeoPandas is not installed.
        ValueError
            A graph without coordinates, or whose coordinates are no degrees.

        See Also
        --------
        from_dataframe : ``Graph.from_dataframe(gdf, "tail", "head", "weight")`` is the way back.

        Notes
        -----
        The lines join two vertices straight, whatever the way of the street; a geometry of the
        input comes back as ``edges.geometry.iloc[g.arc_origin[gdf["arc"]]]``.
        """
        shown = self.weights != closed_weight(self.weights.dtype)
        if not self.directed:
            shown &= self.tails <= self.indices
        arcs = np.flatnonzero(shown)
        ends = self.tails[arcs], self.indices[arcs]
        return frames.arc_lines(self, arcs, *ends, weight=self.weights[arcs])

    def plot(
        self,
        *,
        ax: Axes | None = None,
        extent: Sequence[float] | None = None,
        color: Any = "0.2",
        linewidth: float | None = None,
        title: str = "",
        credit: str | None = None,
    ) -> Axes:
        """Draw the arcs of the network as lines on Matplotlib axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure, without axes of its own. Its limits and its
            aspect ratio are set.
        extent : (west, east, south, north), optional
            The part to draw, in degrees; by default all.
        color : a colour of Matplotlib, default a dark grey
        linewidth : float, optional
            In points; by default thinner the more lines there are.
        title : str
            Above the map.
        credit : str, optional
            Whose data is drawn, in small letters below; by default what the graph's file says.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on, in degrees: ``ax.scatter(lon, lat)`` adds points, and
            ``ax.figure.savefig("map.png")``, or ``"map.svg"``, writes a file.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        ValueError
            A graph without coordinates, or whose coordinates are no degrees; no such colour,
            width or extent.

        Notes
        -----
        Arcs are straight lines, both directions between two vertices one line; closed arcs are
        left out. Up to 10,000 lines are drawn as lines (a `LineCollection` of Matplotlib, lines in
        an SVG too); more are drawn as an image of 200 dots per inch, where lines thinner than a
        pixel show how dense they are. To look closer call again with an `extent`: an image does
        not become sharper by zooming in. O(n + m) time: a second for a city, some ten
        for 24 million vertices.
        """
        from sssp.graph.drawing import Style, draw_network

        return draw_network(self, Style(ax, extent, color, linewidth, "", title, credit))

    def plot_flows(
        self,
        flow: ArrayLike,
        *,
        ax: Axes | None = None,
        extent: Sequence[float] | None = None,
        cmap: Any = None,
        max_width: float | None = None,
        unit: str = "",
        title: str = "",
        credit: str | None = None,
    ) -> Axes:
        """Draw flows as width and darkness of lines, with a legend.

        Parameters
        ----------
        flow : array_like, shape (input arcs,)
            What every row of the input carries, 0 or more, as `ShortestPaths.load` and
            `Trips.load` return it. The flows of both directions between two vertices, and of
            parallel rows, are added up.
        ax, extent
            As `plot`; by default the part that carries something is drawn.
        cmap : a map of colours of Matplotlib, or its name, optional
            From no flow to the greatest; by default from grey to the darkest of viridis.
        max_width : float, optional
            Width of the greatest flow, in points; by default 6.
        unit : str
            For the legend, such as ``"vehicles"``.
        title, credit : str
            As `plot`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on. What carries nothing is grey.

        Raises
        ------
        MissingExtraError, ValueError
            As `plot`; a flow that is negative or not finite, or not one an input row.
        TypeError
            Flows that are not numbers.
        """
        from sssp.graph.drawing import Style, draw_flows

        return draw_flows(self, flow, Style(ax, extent, cmap, max_width, unit, title, credit))

    def _credit(self, given: str | None) -> str:
        """Return the attribution of the map data: `given` or, if that is None, the graph's own."""
        return str(self.about.get("attribution", "") if given is None else given)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to a ``.sssp`` file, which `read_graph` reads fastest.

        Parameters
        ----------
        path : path-like
            Written beside and renamed: a crash leaves the old file, or none.

        Raises
        ------
        TypeError
            Labels that are neither integers nor strings; the message shows the first.
        ValueError
            The name is that of a DIMACS text, such as ``ny.gr.gz``.
        """
        if DIMACS_NAME.search(str(path)):
            raise ValueError(
                f"{str(path)!r} is the name of a DIMACS text, and save writes .sssp files; what "
                "it has written `sssp convert town.sssp -o town.gr` turns into text"
            )
        write_arrays(path, *pack(self._fields()))

    def __repr__(self) -> str:
        facts = [] if self.directed else ["undirected"]
        facts += [f"n={self.n}", f"m={self.m}"]
        if self.closed_arcs:
            facts.append(f"{self.closed_arcs} of them closed")
        some = self.m > self.closed_arcs
        between = f" {self.least_weight} to {self.greatest_weight}" if some else ""
        facts.append(f"weights {self._weight_range.dtype}{between}")
        if self._labels is not None and self.n:
            ends: list[Any] = [self._labels[0], self._labels[-1]]
            first, last = (end.item() if isinstance(end, np.generic) else end for end in ends)
            facts.append(f"labels {reprlib.repr(first)} to {reprlib.repr(last)}")
        if self.coordinates is not None:
            facts.append("coordinates")
        if self.parallel_arcs:
            facts.append(f"{self.parallel_arcs} parallel arcs reduced")
        if self.self_loops:
            facts.append(f"{self.self_loops} self-loops dropped")
        if self.turns is not None:
            facts.append(f"{self.turns.split} crossings with turns")
        return f"Graph({', '.join(facts)})"

    def _repr_html_(self) -> str:
        from sssp.graph.drawing import as_html

        return as_html(repr(self), self, lambda ax: self.plot(ax=ax))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Graph._from_csr, **self._fields()), ()

    def __setattr__(self, name: str, value: Any) -> Never:
        raise AttributeError(f"a graph is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"a graph is immutable: {name} cannot be deleted")
