"""Conversion between arrays of arcs and the graphs of SciPy and NetworkX."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, compress
from numbers import Real
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from sssp.errors import GraphFormatError, import_extra
from sssp.graph.check_arrays import first_true, is_sparse
from sssp.graph.check_weights import weight_column
from sssp.graph.frames import ANY_UNIT, COORDINATE_COLUMNS, MOST_DEGREES, excerpt
from sssp.kernels.dtypes import FLOAT64, INDEX, Array

if TYPE_CHECKING:
    import networkx as nx


_MISSING = object()


def entries_of(matrix: Any) -> Any:
    """Return the entries of a square SciPy sparse matrix in COO form, duplicates included."""
    if not is_sparse(matrix):
        raise TypeError(
            f"a SciPy sparse matrix is needed, not {type(matrix).__name__}; "
            "convert it first, for instance with scipy.sparse.csr_array(matrix)"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the matrix must be square, not of shape {matrix.shape}")
    if matrix.format == "bsr" and matrix.blocksize != (1, 1) and not np.all(matrix.data):
        raise ValueError(
            "a BSR matrix with zeros inside its blocks does not tell arcs of weight zero from "
            "padding; convert it with .tocsr(), and then .eliminate_zeros() if they are padding"
        )
    entries = matrix.tocoo(copy=False)
    place = first_true(~(entries.data > -np.inf)) if entries.data.dtype.kind == "f" else None
    if place is not None:
        raise ValueError(
            f"entry ({entries.row[place]}, {entries.col[place]}) of the matrix is "
            f"{entries.data[place]}; where there is no arc store nothing, or inf"
        )
    return entries


def scipy_offsets(indptr: Array) -> Array:
    """Return ``indptr`` as int32, the dtype of ``indices``, if its values fit; else unchanged.

    SciPy brings both to one dtype: int64 would double the indices, and in old versions (1.12) most
    of `scipy.sparse.csgraph` takes int32 alone.
    """
    return indptr.astype(INDEX) if indptr[-1] <= np.iinfo(INDEX).max else indptr


def nodes_of(G: nx.Graph[Any]) -> list[Any]:
    """Return the nodes of a NetworkX graph, after checking its type."""
    if not isinstance(G, import_extra("networkx", "networkx").Graph):
        raise TypeError(f"a NetworkX graph is needed, not {type(G).__name__}")
    return list(G)


def read_edges(G: nx.Graph[Any], vertex_of: dict[Any, int]) -> tuple[Array, Array, Iterator[Any]]:
    """Return tails, heads and attribute dictionaries of all edges of a NetworkX graph.

    An undirected edge stands at both of its nodes.
    """
    rows = [row for _, row in G.adjacency()]
    heads = np.fromiter(map(vertex_of.__getitem__, chain.from_iterable(rows)), INDEX)
    tails = np.repeat(np.arange(len(rows), dtype=INDEX), list(map(len, rows)))
    edges = _values_of_all(rows)
    if G.is_multigraph():
        parallel = list(edges)
        counts = list(map(len, parallel))
        heads, tails, edges = heads.repeat(counts), tails.repeat(counts), _values_of_all(parallel)
    return tails, heads, edges


def _values_of_all(rows: Iterable[Any]) -> Iterator[Any]:
    return chain.from_iterable(map(methodcaller("values"), rows))


def edges_of(
    G: nx.Graph[Any], nodes: list[Any], weight: str, default: float | None
) -> tuple[Array, Array, Array]:
    """Return tails, heads and weights of a NetworkX graph, in order of ``G.edges(keys=True)``."""
    tails, heads, edges = read_edges(G, {node: vertex for vertex, node in enumerate(nodes)})
    given = _MISSING if default is None else default
    values = [data.get(weight, given) for data in edges]
    if not G.is_directed():
        # G.edges() shows an edge at the earlier one of its nodes
        shown = heads >= tails
        tails, heads, values = tails[shown], heads[shown], list(compress(values, shown.tolist()))
    return tails, heads, _edge_weights(nodes, tails, heads, values, weight)


def _edge_weights(
    nodes: list[Any], tails: Array, heads: Array, values: list[Any], weight: str
) -> Array:
    """Return the edge attribute `weight` as weights; raise if an edge has no valid value."""

    def show_ends(place: int) -> str:
        return f"({nodes[tails[place]]!r}, {nodes[heads[place]]!r})"

    def edges(are_odd: list[bool] | Array) -> str:
        return excerpt(are_odd, "edges", lambda place: f"{show_ends(place)}: {values[place]!r}")

    kinds = set(map(type, values))
    if type(_MISSING) in kinds:
        missing = [value is _MISSING for value in values]
        raise GraphFormatError(
            f"{excerpt(missing, 'edges', show_ends)} lack the attribute {weight!r}; name "
            "another with weight=, or give such edges a weight with default="
        )
    if not all(issubclass(kind, Real) for kind in kinds):
        other = [not isinstance(value, Real) for value in values]
        raise GraphFormatError(f"the attribute {weight!r} of {edges(other)} is not a number")
    weights = weight_column(values)
    unusable = ~(weights > -np.inf)
    if unusable.any():
        raise GraphFormatError(
            f"the attribute {weight!r} of {edges(unusable)} is not a weight; a closed edge has "
            "weight +inf"
        )
    return weights


def coordinates_of(G: nx.Graph[Any]) -> Array | None:
    """Return longitude and latitude of all nodes, shape (n, 2), or None if absent.

    Taken are ``lon`` and ``lat``, else ``longitude`` and ``latitude``, else ``x`` and ``y``, if
    every node has finite numbers there.

    Warns
    -----
    UserWarning
        They are no degrees; then None.
    """
    for names in COORDINATE_COLUMNS:
        pairs = _pairs_of(G, names)
        if pairs is None:
            continue
        projected = names == ANY_UNIT and getattr(G.graph.get("crs"), "is_projected", False)
        odd = np.asarray((np.abs(pairs) > MOST_DEGREES).any(axis=1) | projected)
        if not odd.any():
            return pairs
        first = int(np.argmax(odd))
        warnings.warn(
            f"{' and '.join(names)} of {np.count_nonzero(odd)} of {odd.size} nodes "
            f"[{list(G)[first]!r} at {tuple(pairs[first].tolist())}, ...] are no degrees, but "
            "projected, so that this graph has no coordinates: "
            "osmnx.project_graph(G, to_latlong=True) brings degrees, if you need them",
            UserWarning,
            stacklevel=3,
        )
        return None
    return None


def _pairs_of(G: nx.Graph[Any], names: tuple[str, str]) -> Array | None:
    """Return two attributes of all nodes, shape (n, 2); None if any is missing or not finite."""
    columns = []
    for name in names:
        values = [data.get(name) for _, data in G.nodes(data=True)]
        if not values or not all(issubclass(kind, Real) for kind in set(map(type, values))):
            return None
        try:
            columns.append(np.fromiter(values, FLOAT64, len(values)))
        except OverflowError:  # an int beyond all floats
            return None
    pairs = np.stack(columns, axis=1)
    return pairs if np.isfinite(pairs).all() else None


def to_networkx(graph: Any) -> Any:
    """Return a `networkx.DiGraph` with all arcs, or a `networkx.Graph` if undirected."""
    networkx = import_extra("networkx", "networkx")
    nodes = list(range(graph.n)) if graph.labels is None else graph.labels.tolist()
    G = networkx.DiGraph() if graph.directed else networkx.Graph()
    G.add_nodes_from(nodes)
    if graph.coordinates is not None:
        for name, column in zip(("x", "y"), graph.coordinates.T.tolist(), strict=True):
            networkx.set_node_attributes(G, dict(zip(nodes, column, strict=True)), name)
    columns = (graph.tails.tolist(), graph.indices.tolist(), graph.weights.tolist())
    G.add_weighted_edges_from(
        (nodes[tail], nodes[head], weight)
        for tail, head, weight in zip(*columns, strict=True)
        if graph.directed or tail <= head
    )
    return G
