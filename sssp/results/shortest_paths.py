"""`ShortestPaths`: what a call of `shortest_paths` returns."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from sssp.engine.query import Answer, Query
from sssp.errors import UnreachableError, VertexError
from sssp.graph.csr import arc_position
from sssp.kernels.dtypes import FLOAT64, INDEX, INT64, unreached
from sssp.results.tree_sums import load_kernel, order_kernel, skim_kernel

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = ["ShortestPaths"]


class ShortestPaths:
    """Distances from one source or many, and the trees that lead there if asked for.

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
    limit : int, float or None
        The greatest distance of interest, inclusive.
    nearest : bool
        Whether one search ran from all sources together.
    distances : ndarray, shape (n,) or (k, n); with targets (t,) or (k, t)
        In units of the weights. Unreached: ``iinfo(dtype).max`` for integers, inf for floats.
        With ``output="sparse"`` a `scipy.sparse.csr_array` of shape (k, n) that stores the
        reached vertices, a source's own 0 included.
    predecessors : ndarray, shape (n,) or (k, n), int32, or None
        Tail of the last arc of a shortest path; -1 for sources, unreached vertices and, with
        targets, vertices beyond the farthest target. Sparse like the distances if they are.
    origin : ndarray, shape (n,), int32, or None
        Nearest searches only: the winning source of every vertex, -1 where unreached.
    method, device : str
        What ran.
    stats : dict
        Counters of the method, by name: an int for one row, else an int64 array, shape (k,).
    """

    def __init__(
        self,
        graph: Graph,
        query: Query,
        answer: Answer,
        *,
        single: bool,
        single_target: bool,
        method: str,
        device: str,
    ) -> None:
        self.graph = graph
        self.sources = query.sources
        self.single = single
        self.targets = query.targets
        self.limit = query.limit
        self.nearest = query.nearest
        self.method = method
        self.device = device
        self.origin = answer.origin
        one_row = single or query.nearest
        self.distances = _without_axes(answer.distances, one_row, single_target)
        self.predecessors = _without_axes(answer.predecessors, one_row, False)
        self.stats: dict[str, Any] = {
            name: int(values[0]) if one_row and values.size else values
            for name, values in answer.stats.items()
        }

    def __repr__(self) -> str:
        what = f"{self.distances.dtype}, shape {self.distances.shape}"
        return f"<ShortestPaths by {self.method} on {self.device}: {what}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.to_host().__dict__

    def to_host(self) -> ShortestPaths:
        """Return the result with its arrays on the host; itself if they are there already."""
        if not self._on_device:
            return self
        host = object.__new__(ShortestPaths)
        host.__dict__.update(self.__dict__)
        for name in ("distances", "predecessors", "origin"):
            array = getattr(self, name)
            setattr(host, name, None if array is None else array.to_host())
        return host

    @property
    def rows(self) -> int:
        """Number of searches."""
        return 1 if self.single or self.nearest else int(self.sources.size)

    @property
    def reached(self) -> Any:
        """Whether a vertex has a distance: bool, of the shape of `distances`."""
        if self._sparse:
            d = self.distances
            return csr_array((np.ones(d.data.size, np.bool_), d.indices, d.indptr), shape=d.shape)
        self._require_host()
        return self.distances != unreached(self.distances.dtype)

    def distance(self, target: int, row: int = 0) -> int | float:
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
        """
        vertex = self._vertex(target)
        if self._sparse:
            value = _stored(self.distances, self._row(row), vertex)
            return math.inf if value is None else value.item()
        values = self._dense_row(self.distances, row)
        if self.targets is None:
            value = values[vertex]
        else:
            columns = np.flatnonzero(self.targets == vertex)
            if columns.size == 0:
                raise VertexError(
                    f"vertex {vertex} was not among the targets of this call, so nothing is "
                    "known of it; add it to targets, or leave targets out"
                )
            value = np.atleast_1d(values)[columns[0]]
        return math.inf if value == unreached(self.distances.dtype) else value.item()

    def path(self, target: int, row: int = 0) -> NDArray[np.int64]:
        """Vertices of the shortest path to `target`, from its source on.

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
        VertexError
            No such vertex, not one of the targets, or no such row.
        """
        if self.predecessors is None:
            raise ValueError("paths need predecessors: call shortest_paths(predecessors=True)")
        if math.isinf(self.distance(target, row)):
            within = "" if self.limit is None else f" within the limit of {self.limit}"
            raise UnreachableError(f"vertex {target} is not reached from {self._from(row)}{within}")
        path = [self._vertex(target)]
        while (tail := self._predecessor(path[-1], row)) >= 0:
            path.append(tail)
        return np.array(path[::-1], dtype=np.int64)

    def path_labels(self, target: int, row: int = 0) -> list[Any]:
        """Like `path`, in the labels of the graph (the file's own numbers, or NetworkX nodes)."""
        path = self.path(target, row)
        labels = self.graph.labels
        named = path if labels is None else labels[path]
        return list(named.tolist())

    def path_arcs(self, target: int, row: int = 0) -> NDArray[np.int64]:
        """Arcs of the shortest path to `target`, in order, as positions in ``graph.indices``.

        Like `path`; empty if the target is the source. ``graph.arc_origin[arcs]`` are the rows
        of the input that they came from.
        """
        path = self.path(target, row)
        g = self.graph
        arcs = [arc_position(g.indptr, g.indices, *ends) for ends in itertools.pairwise(path)]
        return np.array(arcs, dtype=np.int64)

    def skim(self, values: ArrayLike) -> NDArray[Any]:
        """Sum another attribute of the arcs along every shortest path.

        Kilometres along the fastest path, say: the attribute of each arc on the way to a vertex
        in the tree that `predecessors` describes, added up.

        Parameters
        ----------
        values : array_like, shape (m,)
            A number an arc, at the arc's position in ``graph.indices``;
            ``attribute[graph.arc_origin]`` brings an attribute of the input there.

        Returns
        -------
        ndarray, shape of `distances` (sparse distances: (k, n)), int64 or float64
            In units of the values. Unreached: ``iinfo(int64).max`` or inf. O(n) time a row.

        Raises
        ------
        ValueError
            The call did not ask for predecessors; not one value an arc.
        """
        arc_values = self._numbers(values, (self.graph.m,), "values, one an arc")
        missing = unreached(arc_values.dtype)
        columns = self._columns()
        sums = np.empty((self.rows, columns.size), arc_values.dtype)
        for row in range(self.rows):
            tails = self._tree(row)
            along = np.zeros(self.graph.n, arc_values.dtype)
            g = self.graph
            skim_kernel(g.indptr, g.indices, tails, order_kernel(tails), arc_values, along)
            reached = self._reached_row(row)
            sums[row] = np.where(reached, along[columns], missing)
        return self._shaped(sums)

    def load(self, volumes: ArrayLike) -> NDArray[Any]:
        """Load flows onto the shortest paths (all-or-nothing assignment).

        Parameters
        ----------
        volumes : array_like, shape of `distances` (sparse distances: (k, n))
            How much travels from the source of the row to each vertex (or target).

        Returns
        -------
        ndarray, shape (input arcs,), int64 or float64
            Flow on every row of the input that made the graph, both directions of an
            undirected one together; 0 on arcs that lost to a parallel one. O(n) time a row.

        Raises
        ------
        UnreachableError
            Something is to travel to a vertex that is not reached.
        ValueError
            The call did not ask for predecessors; volumes of another shape.
        """
        columns = self._columns()
        flows = self._numbers(
            volumes, self._shape(columns.size), "volumes, shaped like the distances"
        )
        flows = flows.reshape(self.rows, columns.size)
        g = self.graph
        loads = np.zeros(g.m, flows.dtype)
        for row in range(self.rows):
            lost = np.flatnonzero((flows[row] != 0) & ~self._reached_row(row))
            if lost.size:
                vertex = columns[lost[0]]
                raise UnreachableError(
                    f"volumes lead from {self._from(row)} to {lost.size} vertices that are not "
                    f"reached, vertex {vertex} first; set them to 0"
                )
            tails = self._tree(row)
            at_vertices = np.zeros(g.n, flows.dtype)
            np.add.at(at_vertices, columns, flows[row])
            load_kernel(g.indptr, g.indices, tails, order_kernel(tails), at_vertices, loads)
        on_input = np.zeros(g.input_arcs, loads.dtype)
        np.add.at(on_input, g.arc_origin, loads)
        return on_input

    def to_float(self) -> Any:
        """Distances for arithmetic: float64, inf where unreached, of the same shape.

        Sparse distances stay sparse: what is not stored is unreached. Integers above 2**53 are
        rounded.
        """
        if self._sparse:
            return self.distances.astype(FLOAT64)
        return np.where(self.reached, self.distances, np.inf)

    @property
    def _on_device(self) -> bool:
        return hasattr(self.distances, "__cuda_array_interface__")

    def _require_host(self) -> None:
        if self._on_device:
            raise TypeError(
                f"this result lives on {self.device}: call to_host() first, once, or hand its "
                "arrays to a GPU library, as in cupy.asarray(r.distances)"
            )

    @property
    def _sparse(self) -> bool:
        return bool(issparse(self.distances))

    def _columns(self) -> NDArray[np.int64]:
        """Vertex of every column."""
        return np.arange(self.graph.n) if self.targets is None else self.targets

    def _tree(self, row: int) -> NDArray[np.int32]:
        """Predecessors of one row, dense."""
        if self.predecessors is None:
            raise ValueError("this needs predecessors: call shortest_paths(predecessors=True)")
        if not self._sparse:
            return np.ascontiguousarray(self._dense_row(self.predecessors, row))
        tails = np.full(self.graph.n, -1, INDEX)
        matrix = self.predecessors
        stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
        tails[matrix.indices[stored]] = matrix.data[stored]
        return tails

    def _reached_row(self, row: int) -> NDArray[np.bool_]:
        if not self._sparse:
            return np.atleast_1d(self._dense_row(self.reached, row))
        reached = np.zeros(self.graph.n, np.bool_)
        reached[
            self.distances.indices[self.distances.indptr[row] : self.distances.indptr[row + 1]]
        ] = True
        return reached

    def _shape(self, columns: int) -> tuple[int, ...]:
        if self._sparse:
            return (self.rows, columns)
        shape: tuple[int, ...] = self.distances.shape
        return shape

    def _shaped(self, matrix: NDArray[Any]) -> NDArray[Any]:
        return matrix.reshape(self._shape(matrix.shape[1]))

    @staticmethod
    def _numbers(values: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape != shape:
            raise ValueError(f"expected {what}: shape {shape}, not {array.shape}")
        if array.dtype.kind not in "iubf":
            raise TypeError(f"expected {what}: integers or floats, not {array.dtype}")
        return array.astype(FLOAT64 if array.dtype.kind == "f" else INT64)

    def _from(self, row: int) -> str:
        if self.nearest:
            return f"any of {self.sources.size} sources"
        return f"source {self.sources[self._row(row)]}"

    def _row(self, row: int) -> int:
        if not -self.rows <= row < self.rows:
            raise VertexError(f"row {row} does not exist: the call had {self.rows} sources")
        return row % self.rows

    def _dense_row(self, matrix: Any, row: int) -> Any:
        self._require_host()
        index = self._row(row)
        return matrix if self.single or self.nearest else matrix[index]

    def _vertex(self, vertex: int) -> int:
        if not 0 <= vertex < self.graph.n:
            raise VertexError(
                f"{vertex} is not a vertex of this graph: vertices are 0..{self.graph.n - 1}"
            )
        return int(vertex)

    def _predecessor(self, vertex: int, row: int) -> int:
        if self._sparse:
            value = _stored(self.predecessors, self._row(row), vertex)
            return -1 if value is None else int(value)
        return int(self._dense_row(self.predecessors, row)[vertex])


def _without_axes(matrix: Any, one_row: bool, one_column: bool) -> Any:
    """Drop the axes that a call with a plain int does not expect."""
    if matrix is None or issparse(matrix):
        return matrix
    rows, columns = matrix.shape
    shape = () if one_row else (rows,)
    return matrix.reshape(shape if one_column else (*shape, columns))


def _stored(matrix: Any, row: int, column: int) -> Any:
    """Entry of a CSR matrix with sorted columns, None where nothing is stored."""
    first, last = matrix.indptr[row], matrix.indptr[row + 1]
    place = first + np.searchsorted(matrix.indices[first:last], column)
    if place == last or matrix.indices[place] != column:
        return None
    return matrix.data[place]
