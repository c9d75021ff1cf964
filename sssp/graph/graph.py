"""The graph that every solver takes: immutable CSR arrays, with labels and coordinates.

SciPy is imported by the methods that need it, because most runs never do and it takes longer to
import than a city takes to read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.errors import DistanceOverflowError
from sssp.graph import interop
from sssp.graph.checks import (
    coordinate_pairs,
    scaled_weights,
    vertex_column,
    vertex_count,
    weight_column,
    within,
)
from sssp.graph.csr import droppable, order_by_head, reduce_arcs, tails_of
from sssp.graph.labels import Labels, Lookup, as_labels, label_array, lookup_of, take_labels
from sssp.graph.storage import packed, unpacked
from sssp.kernels.dtypes import INDEX, OFFSET, WeightRange, distance_dtype
from sssp.loaders import read_arrays, read_co, read_gr, write_arrays
from sssp.loaders._files import SSSP_MAGIC

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

__all__ = ["Graph", "read_graph"]

Array = NDArray[Any]
T = TypeVar("T")


class Graph:
    """A weighted directed graph in compressed sparse rows; immutable.

    Make one with `from_arcs`, `from_scipy`, `from_networkx` or `read_graph`. The arcs of vertex
    ``v`` are at positions ``indptr[v]`` to ``indptr[v + 1]``, in order of head. Of parallel arcs
    the lightest is kept; non-negative self-loops, which no shortest path uses, are dropped.

    Attributes
    ----------
    n, m : int
        Numbers of vertices and of kept arcs (an undirected one counts twice).
    indptr : ndarray of int64, shape (n + 1,)
        Where the arcs of each vertex begin.
    indices : ndarray of int32, shape (m,)
        Head of each arc.
    weights : ndarray of int32, int64 or float64, shape (m,)
        Weight of each arc.
    arc_origin : ndarray of int32 (int64 from 2^31 input arcs on), shape (m,)
        Input row of each arc, so that ``values[g.arc_origin]`` brings an attribute of the input
        to the arcs. Both directions of an undirected arc have the same.
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

    Notes
    -----
    All arrays are read-only. What is computed from them later (`tails`, the search tree of
    `nearest_vertex`, copies on a device) is kept with the graph, but not pickled or saved.
    """

    __slots__ = (
        "__weakref__",
        "_derived",
        "_labels",
        "_lock",
        "arc_origin",
        "coordinates",
        "directed",
        "indices",
        "indptr",
        "input_arcs",
        "m",
        "n",
        "parallel_arcs",
        "self_loops",
        "weights",
    )

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
    _labels: Labels
    _derived: dict[str, Any]
    _lock: threading.RLock

    def __init__(self) -> None:
        raise TypeError(
            "make a graph with Graph.from_arcs, Graph.from_scipy, Graph.from_networkx or "
            "sssp.read_graph"
        )

    @classmethod
    def _from_csr(
        cls,
        indptr: Array,
        indices: Array,
        weights: Array,
        *,
        arc_origin: Array,
        input_arcs: int,
        directed: bool,
        parallel_arcs: int,
        self_loops: int,
        coordinates: Array | None = None,
        labels: Labels = None,
    ) -> Graph:
        """Adopt arrays that are known to be right; they become read-only."""
        self = object.__new__(cls)
        fields = {
            "n": indptr.size - 1,
            "m": indices.size,
            "indptr": indptr,
            "indices": indices,
            "weights": weights,
            "arc_origin": arc_origin,
            "input_arcs": input_arcs,
            "directed": directed,
            "parallel_arcs": parallel_arcs,
            "self_loops": self_loops,
            "coordinates": coordinates,
            "_labels": labels,
            "_derived": {},
            "_lock": threading.RLock(),
        }
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        return self

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
            Vertices, counted from 0.
        weights : array_like of int or float, shape (k,)
            Stored as int32 if all fit, else int64; floats as float64. An infinite weight means
            that there is no such arc.
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
            Of parallel arcs it keeps the lightest, among equals the first.

        Raises
        ------
        VertexError
            A tail or head outside ``0..n-1``; the message names the row.
        ValueError
            A weight that is NaN or minus infinity, lengths or shapes that do not agree, labels
            that repeat, more than 2^31 - 1 vertices.
        TypeError
            Vertices that are not integers, weights that are not numbers.
        DistanceOverflowError
            An integer weight that does not fit int64.

        Notes
        -----
        O(n + k) time, by counting sort.

        Examples
        --------
        >>> g = Graph.from_arcs([0, 0, 1], [1, 1, 2], [7, 5, 3])
        >>> g.indices.tolist(), g.weights.tolist(), g.arc_origin.tolist()
        ([1, 2], [5, 3], [1, 2])
        """
        tail_column, head_column = vertex_column(tails, "tail"), vertex_column(heads, "head")
        values = weight_column(weights)
        if not tail_column.size == head_column.size == values.size:
            raise ValueError(
                f"{tail_column.size} tails, {head_column.size} heads and {values.size} weights: "
                "the three must be equally long"
            )
        count = vertex_count(n, tail_column, head_column, coordinates, labels)
        reduced = reduce_arcs(
            count,
            within(tail_column, count, "tail"),
            within(head_column, count, "head"),
            values,
            directed=directed,
        )
        return cls._from_csr(
            *reduced.arcs[:3],
            arc_origin=reduced.arcs.rows,
            input_arcs=values.size,
            directed=bool(directed),
            parallel_arcs=reduced.parallel_arcs,
            self_loops=reduced.self_loops,
            coordinates=coordinate_pairs(coordinates, count),
            labels=as_labels(labels, count),
        )

    @classmethod
    def from_scipy(cls, matrix: Any, directed: bool = True) -> Graph:
        """Make a graph from a SciPy sparse matrix or array: entry ``(i, j)`` is an arc i -> j.

        Parameters
        ----------
        matrix : sparse matrix or array, shape (n, n)
            In any format. Stored zeros are arcs of weight zero; of entries stored more than once
            the least counts (SciPy itself would add them up).
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
            Not square; or in BSR format with zeros inside the blocks, which may be arcs or
            padding.

        Notes
        -----
        In DIA format zeros are padding, as they are for SciPy.
        """
        entries = interop.entries_of(matrix)
        return cls.from_arcs(
            entries.row, entries.col, entries.data, n=matrix.shape[0], directed=directed
        )

    @classmethod
    def from_networkx(
        cls, G: nx.Graph[Any], weight: str = "weight", default: float | None = None
    ) -> Graph:
        """Make a graph from a NetworkX graph of any of the four kinds.

        Parameters
        ----------
        G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Its nodes become the labels, in their order. If every node has numbers ``x`` and
            ``y`` that can be longitude and latitude (as in OSMnx), they become the coordinates.
        weight : str, default "weight"
            The edge attribute that holds the weight (``"length"`` or ``"travel_time"`` in OSMnx).
        default : number, optional
            Weight of edges that lack the attribute.

        Returns
        -------
        Graph
            ``arc_origin`` counts the edges in the order of ``G.edges()``.

        Raises
        ------
        GraphFormatError
            Edges without the attribute while there is no `default`, or with something other
            than a number; the message counts them and shows the first.
        MissingExtraError
            NetworkX is not installed.

        Notes
        -----
        One pass over nodes and edges. Integer attributes stay exact; if any is a float, all are.
        """
        nodes = interop.nodes_of(G)
        edges = interop.edges_of(G, nodes, weight, default)
        return cls.from_arcs(
            edges.tails,
            edges.heads,
            edges.weights,
            n=len(nodes),
            directed=G.is_directed(),
            coordinates=interop.coordinates_of(G),
            labels=nodes,
        )

    # -- what is computed on first use ---------------------------------------------------------

    def derived(self, key: str, build: Callable[[], T]) -> T:
        """Return what `build` makes from this graph: made once, then kept.

        Parameters
        ----------
        key : str
            Its name; whoever asks again under this name gets the same object.
        build : callable
            Called without arguments and under a lock, so at most once, however many threads
            ask. It may ask for other derived objects itself. If it raises, nothing is kept.

        Returns
        -------
        object
            What `build` returned the first time. It is not pickled or saved.
        """
        try:
            return self._derived[key]  # type: ignore[no-any-return]  # the key decides the type
        except KeyError:
            pass
        with self._lock:
            if key not in self._derived:
                self._derived[key] = build()
            return self._derived[key]  # type: ignore[no-any-return]  # the key decides the type

    def free_device(self) -> None:
        """Drop the copies of this graph on CUDA devices; the next call there makes new ones."""
        with self._lock:
            for key in [key for key in self._derived if key.startswith("cuda:")]:
                del self._derived[key]

    @property
    def labels(self) -> Array | None:
        """Label of each vertex: ndarray of int64, ``str_`` or objects, shape (n,), or None."""
        labels = self._labels
        return None if labels is None else self.derived("labels", lambda: label_array(labels))

    @property
    def tails(self) -> NDArray[np.int32]:
        """Tail of each arc: ndarray of int32, shape (m,)."""
        return self.derived("tails", lambda: _read_only(tails_of(self.indptr)))

    @property
    def least_weight(self) -> int | float:
        """The least weight of an arc, as a Python number; 0 without arcs."""
        return self.derived("least weight", lambda: self.weights.min().item() if self.m else 0)

    @property
    def greatest_weight(self) -> int | float:
        """The greatest weight of an arc, as a Python number; 0 without arcs."""
        return self.derived("greatest weight", lambda: self.weights.max().item() if self.m else 0)

    @property
    def weight_range(self) -> WeightRange:
        """Dtype and extremes of the weights of the open arcs."""
        return self.derived(
            "weight range",
            lambda: WeightRange(self.weights.dtype, self.least_weight, self.greatest_weight),
        )

    @property
    def tree_graph(self) -> Graph:
        """The graph whose arcs shortest-path trees are made of: itself."""
        return self

    def open_part(self) -> Graph:
        """Return the graph without closed arcs."""
        return self

    def weights_as(self, dtype: DTypeLike) -> Array:
        """Return the weights in another dtype.

        Parameters
        ----------
        dtype : int32, int64, float32 or float64
            What a solver computes in.

        Returns
        -------
        ndarray, shape (m,)
            Read-only; ``weights`` itself if it has that dtype, else a copy that is kept.

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
        number = int if asked.kind == "i" else float
        least, greatest = number(limits.min), number(limits.max)
        if not least <= self.least_weight <= self.greatest_weight <= greatest:
            raise DistanceOverflowError(
                f"weights from {self.least_weight} to {self.greatest_weight} do not fit {asked}"
            )
        return self.derived(f"weights as {asked}", lambda: _read_only(self.weights.astype(asked)))

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
        return self.derived("lookup", lambda: lookup_of(self._labels, self.n))

    @overload
    def nearest_vertex(self, lon: float, lat: float) -> int: ...

    @overload
    def nearest_vertex(self, lon: ArrayLike, lat: ArrayLike) -> NDArray[np.int64]: ...

    def nearest_vertex(self, lon: ArrayLike, lat: ArrayLike) -> int | NDArray[np.int64]:
        """Return the vertex nearest on the sphere.

        Parameters
        ----------
        lon, lat : float or array_like of float
            Longitude and latitude in degrees; they are broadcast against each other.

        Returns
        -------
        int, or ndarray of int64
            A vertex for each point, in the shape of the points.

        Raises
        ------
        ValueError
            A graph without coordinates or without vertices, or a point that is not finite.

        Notes
        -----
        A KD-tree over the unit sphere, where nearest by chord is nearest by arc: the date line
        and the poles need no care. O(n log n) once, then O(log n) a point.
        """
        from scipy.spatial import cKDTree

        coordinates = self.coordinates
        if coordinates is None:
            raise ValueError(
                "this graph has no coordinates; give them as "
                "read_graph(path, coordinates='....co.gz') or from_arcs(..., coordinates=...)"
            )
        if self.n == 0:
            raise ValueError("a graph without vertices has no nearest one")
        longitudes, latitudes = np.broadcast_arrays(lon, lat)
        if not (np.isfinite(longitudes).all() and np.isfinite(latitudes).all()):
            raise ValueError("lon and lat must be finite numbers")
        tree = self.derived("sphere", lambda: cKDTree(_on_sphere(*coordinates.T)))
        _, nearest = tree.query(_on_sphere(longitudes, latitudes))
        return int(nearest) if longitudes.ndim == 0 else np.asarray(nearest, np.int64)

    # -- other graphs from this one ------------------------------------------------------------

    def reverse(self) -> Graph:
        """Return the graph with every arc turned around.

        Returns
        -------
        Graph
            ``arc_origin`` names the same input rows. O(n + m).
        """
        order = order_by_head(self.n, self.indices)
        counts = np.bincount(self.indices, minlength=self.n)
        return self._changed(
            indptr=np.concatenate(([0], np.cumsum(counts, dtype=OFFSET))),
            indices=self.tails[order],
            weights=self.weights[order],
            arc_origin=self.arc_origin[order],
        )

    def largest_component(self, connection: Literal["strong", "weak"] = "strong") -> Graph:
        """Return the largest connected part.

        Parameters
        ----------
        connection : {"strong", "weak"}
            Whether any two vertices must reach each other, or only in the graph with every arc
            in both directions.

        Returns
        -------
        Graph
            Vertices in their old order, with their labels; if there were none, the old numbers
            become the labels. Among equally large parts the one with the smallest vertex.
            ``arc_origin`` names the same input rows. O(n + m).
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        if connection not in ("strong", "weak"):
            raise ValueError(f"connection must be 'strong' or 'weak', not {connection!r}")
        pattern = csr_array(
            (np.ones(self.m, np.int8), self.indices, self.indptr), shape=(self.n, self.n)
        )
        _, component = connected_components(pattern, directed=True, connection=connection)
        sizes = np.bincount(component)
        inside = component == component[np.argmax(sizes[component])] if self.n else component > 0
        vertices = np.flatnonzero(inside)
        kept = inside[self.tails] & inside[self.indices]
        number = np.cumsum(inside, dtype=INDEX) - 1
        return self._changed(
            indptr=np.append(_offsets(kept, self.indptr)[:-1][inside], np.count_nonzero(kept)),
            indices=number[self.indices[kept]],
            weights=self.weights[kept],
            arc_origin=self.arc_origin[kept],
            coordinates=None if self.coordinates is None else self.coordinates[vertices],
            labels=take_labels(self._labels, vertices),
        )

    def with_weights(self, weights: ArrayLike) -> Graph:
        """Return the graph with other weights on the same arcs.

        Parameters
        ----------
        weights : array_like of int or float, shape (m,)
            A weight for each arc, by its position in ``indices`` (``values[g.arc_origin]``
            brings values of the input there). Infinity removes the arc.

        Returns
        -------
        Graph
            Of an undirected graph whose weights now differ by direction: a directed one.

        Raises
        ------
        ValueError
            NaN, minus infinity, or not `m` weights.
        TypeError, DistanceOverflowError
            As `from_arcs`.
        """
        values = weight_column(weights)
        if values.size != self.m:
            raise ValueError(
                f"{values.size} weights for {self.m} arcs; "
                "values per input row go in as values[g.arc_origin]"
            )
        symmetric = not self.directed and np.array_equal(
            values[order_by_head(self.n, self.indices)], values
        )
        endless, loops = droppable(self.tails, self.indices, values)
        kept = ~(endless | loops)
        return self._changed(
            indptr=_offsets(kept, self.indptr),
            indices=self.indices[kept],
            weights=values[kept],
            arc_origin=self.arc_origin[kept],
            directed=not symmetric,
            self_loops=self.self_loops + int(np.count_nonzero(loops)),
        )

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
            to the nearest integer from the product in float64.

        Raises
        ------
        ValueError
            A factor that is not a finite number above zero.
        DistanceOverflowError
            A product does not fit int64.
        """
        return self.with_weights(scaled_weights(self.weights, factor))

    def _changed(self, **changes: Any) -> Graph:
        return Graph._from_csr(**(self._fields() | changes))

    def _fields(self) -> dict[str, Any]:
        return {
            "indptr": self.indptr,
            "indices": self.indices,
            "weights": self.weights,
            "arc_origin": self.arc_origin,
            "input_arcs": self.input_arcs,
            "directed": self.directed,
            "parallel_arcs": self.parallel_arcs,
            "self_loops": self.self_loops,
            "coordinates": self.coordinates,
            "labels": self._labels,
        }

    # -- out -----------------------------------------------------------------------------------

    def to_scipy(self) -> csr_array:
        """Return the graph as a `scipy.sparse.csr_array` of shape (n, n), zeros stored.

        The arrays are copies, so the result may be changed.
        """
        from scipy.sparse import csr_array

        return csr_array(
            (self.weights, self.indices, self.indptr), shape=(self.n, self.n), copy=True
        )

    def to_networkx(self) -> nx.DiGraph[Any] | nx.Graph[Any]:
        """Return the graph as a `networkx.DiGraph`, or a `networkx.Graph` if undirected.

        Nodes are the labels (else ``0..n-1``), with coordinates as their ``x`` and ``y``; edges
        have the attribute ``weight``.

        Raises
        ------
        MissingExtraError
            NetworkX is not installed.
        """
        G: nx.DiGraph[Any] | nx.Graph[Any] = interop.to_networkx(self)
        return G

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
        """
        write_arrays(path, *packed(self._fields()))

    def __repr__(self) -> str:
        kind = "" if self.directed else "undirected, "
        return (
            f"Graph({kind}n={self.n}, m={self.m}, weights {self.weights.dtype}, "
            f"{self.parallel_arcs} parallel arcs reduced, {self.self_loops} self-loops dropped)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._fields(),)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a graph is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a graph is immutable: {name} cannot be deleted")


def _rebuilt(fields: dict[str, Any]) -> Graph:
    return Graph._from_csr(**fields)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _offsets(kept: Array, indptr: Array) -> Array:
    """Return `indptr` for the arcs of a mask alone."""
    return np.concatenate(([0], np.cumsum(kept, dtype=OFFSET)))[indptr]


def _on_sphere(lon: Array, lat: Array) -> Array:
    """Return the points of the unit sphere at longitudes and latitudes in degrees."""
    longitude, latitude = np.radians(lon), np.radians(lat)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def read_graph(
    path: str | PathLike[str], *, coordinates: str | PathLike[str] | None = None
) -> Graph:
    """Read a graph from a file.

    Parameters
    ----------
    path : path-like
        A DIMACS ``.gr`` file, plain or compressed (gzip, xz, bzip2), or a ``.sssp`` file written
        by `Graph.save`. Which one it is shows in its first bytes, not in its name.
    coordinates : path-like, optional
        A DIMACS ``.co`` file for the same vertices, plain or compressed.

    Returns
    -------
    Graph
        The labels of a DIMACS graph are the vertex numbers of the file, 1..n.

    Raises
    ------
    GraphFormatError
        The file is malformed or damaged, or the coordinates are of another graph. The message
        names the file and, in text, the line.
    OSError
        The file cannot be opened.
    """
    if _is_binary(path):
        graph = Graph._from_csr(**unpacked(path, *read_arrays(path)))
    else:
        arcs = read_gr(path)
        labels = range(1, arcs.n + 1)
        graph = Graph.from_arcs(arcs.tails, arcs.heads, arcs.weights, arcs.n, labels=labels)
    if coordinates is None:
        return graph
    return graph._changed(coordinates=read_co(coordinates, graph.n))


def _is_binary(path: str | PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(len(SSSP_MAGIC)) == SSSP_MAGIC
