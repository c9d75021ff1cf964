"""Faster drop-in replacements of the shortest-path functions of `scipy.sparse.csgraph`.

::

    from sssp.csgraph import dijkstra        # in place of scipy.sparse.csgraph

Signatures, dtypes, shapes, -9999 for no predecessor, errors and warnings are those of the SciPy
that is installed, and what it takes for a graph means the same here: dense, masked and sparse
matrices of every format, stored zeros, NaN and infinity. Distances are float64, equal to the bit
where weights are integers (n - 1 of the heaviest up to 2^53), and where they are not and are added
up from the source outward, as by `dijkstra` and `bellman_ford`; `floyd_warshall`, and `johnson`
over negative weights, agree within rounding.

What is more: several sources are searched in all cores, and a GPU where ``device=`` says so (see
`sssp.shortest_paths`). Among several shortest paths the tree takes the fewest arcs, then the
smallest predecessor, whatever the method; SciPy takes what its heap comes to. A negative cycle is
found by its exact sum, so that rounding does not feign one, as it does in SciPy with
``directed=False``.

Where SciPy has the last word, it is asked: negative weights for `dijkstra`, `yen`, matrices that
hold minus infinity. Nothing in SciPy is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph as scipy_csgraph

from sssp import errors
from sssp.csgraph import scipy_matrix as dense
from sssp.csgraph import scipy_rows as rows
from sssp.kernels.dtypes import INDEX, INT64
from sssp.methods import BellmanFord, Johnson, Method

__all__ = [
    "NegativeCycleError",
    "bellman_ford",
    "construct_dist_matrix",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "reconstruct_path",
    "shortest_path",
    "yen",
]


#: vertices times arcs up to which SciPy's `johnson`, which relaxes so often, is asked for a text
MOST_STEPS = 1 << 28


class NegativeCycleError(errors.NegativeCycleError, scipy_csgraph.NegativeCycleError):
    """Error for a negative cycle; a subclass of this package's error and of SciPy's.

    Attributes
    ----------
    cycle : list of int
        The vertices of one such cycle, in order; empty where SciPy has found it.
    """

    def __init__(self, message: str = "", cycle: Sequence[int] = ()) -> None:
        super().__init__(message, cycle)


def shortest_path(
    csgraph: Any,
    method: Literal["auto", "FW", "D", "BF", "J"] = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths, like `scipy.sparse.csgraph.shortest_path`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, overwrite, indices
        As in SciPy.
    method : {"auto", "FW", "D", "BF", "J"}
        Which of `floyd_warshall`, `dijkstra`, `bellman_ford` and `johnson` is called; ``"auto"``
        chooses by SciPy's rule.
    device : str
        As for `sssp.shortest_paths`.

    Returns
    -------
    dist_matrix : ndarray, shape (n, n) or (..., n) for `indices` of shape (...), float64
    predecessors : the same, int32
        If `return_predecessors`.

    Raises
    ------
    NegativeCycleError, ValueError, TypeError
        As SciPy raises them.
    DeviceError
        The device cannot be used.

    Examples
    --------
    >>> graph = [[0, 5, 20], [0, 0, 5], [0, 0, 0]]
    >>> shortest_path(graph, "D", indices=0).tolist()
    [0.0, 5.0, 10.0]
    """
    if overwrite:
        _check(csgraph, directed, overwrite=True)
    if method == "auto":
        method = _method_for(csgraph, directed, indices)
    if method == "FW" and indices is None:
        asked = csgraph, directed, return_predecessors, unweighted, overwrite
        return floyd_warshall(*asked, device=device)
    search: Any = {"D": dijkstra, "BF": bellman_ford, "J": johnson}.get(method)
    if search is None:  # (which SciPy has an error for)
        options = return_predecessors, unweighted, overwrite, indices
        return _by_scipy("shortest_path", csgraph, method, directed, *options)
    return search(csgraph, directed, indices, return_predecessors, unweighted, device=device)


def _check(csgraph: Any, directed: bool, *, overwrite: bool = False) -> None:
    """Raise SciPy's error if a graph is malformed or, with `overwrite`, cannot be overwritten."""
    plain = isinstance(csgraph, np.ndarray) and csgraph.ndim == 2 and csgraph.dtype.kind in "iuf"
    if not plain or csgraph.shape[0] != csgraph.shape[1]:
        rows.validate(csgraph, directed, copy_if_dense=not overwrite)


def _method_for(csgraph: Any, directed: bool, indices: ArrayLike | None) -> Any:
    """Choose a method by SciPy's rule: Floyd-Warshall for dense graphs, else searches."""
    if hasattr(csgraph, "nnz") or np.ma.isMaskedArray(csgraph):
        edges = rows.validate_csr(csgraph, directed).data
        n, count = csgraph.shape[0], getattr(csgraph, "nnz", edges.size)
    else:
        _check(csgraph, directed)
        n = csgraph.shape[0]
        edges = csgraph[np.isfinite(csgraph)]
        edges = edges[edges != 0]
        count = edges.size
    if indices is None and count >= n * n / 4:
        return "FW"
    return "J" if np.any(edges < 0) else "D"


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths over weights of 0 or more, like `scipy.sparse.csgraph.dijkstra`.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, limit, min_only
        As in SciPy.
    device : str
        As for `sssp.shortest_paths`.

    Returns
    -------
    dist_matrix : ndarray, shape (..., n) for `indices` of shape (...), float64
        With `min_only` (n,).
    predecessors : the same, int32
        If `return_predecessors`.
    sources : ndarray, shape (n,), int32
        If `min_only` and `return_predecessors`: of several nearest sources the smallest.

    Raises
    ------
    ValueError, TypeError
        As SciPy raises them.
    DeviceError
        The device cannot be used.

    Warns
    -----
    UserWarning
        A weight is negative. The answer is SciPy's own then.

    Examples
    --------
    >>> graph = [[0, 5, 20], [0, 0, 5], [0, 0, 0]]
    >>> distances, predecessors = dijkstra(graph, indices=[0, 1], return_predecessors=True)
    >>> distances.tolist()
    [[0.0, 5.0, 10.0], [inf, 0.0, 5.0]]
    >>> predecessors.tolist()
    [[-9999, 0, 1], [-9999, -9999, 1]]
    """
    matrix = rows.validate_csr(csgraph, directed)
    arcs = rows.arcs_of(matrix, directed, unweighted)
    asked = csgraph, directed, indices, return_predecessors, unweighted, limit, min_only
    ask_scipy = partial(_by_scipy, "dijkstra", *asked)
    if arcs.least < 0 or (unweighted and np.any(matrix.data < 0)):
        return ask_scipy()
    sources, shape = _sources_of(indices, arcs.n)
    reach = math.fsum([limit])  # refuses what is not a number, as C does
    if not reach >= 0:
        return ask_scipy()
    shape = (arcs.n,) if min_only else shape
    found = rows.search_rows(
        arcs, sources, limit=reach, predecessors=return_predecessors, device=device,
        nearest=min_only,
    )  # fmt: skip
    return ask_scipy() if found is None else _as_scipy_returns(found, shape)


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths over weights of any sign, like `scipy.sparse.csgraph.bellman_ford`.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        As in SciPy.
    device : str
        As for `sssp.shortest_paths`.

    Returns
    -------
    dist_matrix : ndarray, shape (..., n) for `indices` of shape (...), float64
    predecessors : the same, int32
        If `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        A source reaches a cycle of negative length; ``.cycle`` is one.
    ValueError, TypeError
        As SciPy raises them.
    DeviceError
        The device cannot be used.

    Notes
    -----
    Without negative weights it is `dijkstra`; with them a round visits only the vertices whose
    distance changed in the one before.

    Examples
    --------
    >>> bellman_ford([[0, 5, 1], [0, 0, 0], [0, -2, 0]], indices=0).tolist()
    [0.0, -1.0, 1.0]
    """
    asked = csgraph, directed, indices, return_predecessors, unweighted
    return _of_any_sign(BellmanFord(), device, *asked)


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths from many vertices of a sparse graph, like SciPy's `johnson`.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        As in SciPy.
    device : str
        As for `sssp.shortest_paths`.

    Returns
    -------
    dist_matrix : ndarray, shape (..., n) for `indices` of shape (...), float64
    predecessors : the same, int32
        If `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        There is a cycle of negative length, whether a source reaches it or not; ``.cycle`` is one.
    ValueError, TypeError
        As SciPy raises them.
    DeviceError
        The device cannot be used.

    Notes
    -----
    Floats are added up from the source outward, as by `bellman_ford`; SciPy's carry the rounding
    of the potentials. The text of a negative cycle names the vertex that SciPy names, but where
    vertices times arcs exceed 2^28 the least of the cycle: SciPy would take long to tell.

    Examples
    --------
    >>> johnson([[0, 5, 1], [0, 0, 0], [0, -2, 0]], indices=0).tolist()
    [0.0, -1.0, 1.0]
    """
    if unweighted:
        return dijkstra(csgraph, directed, indices, return_predecessors, True, device=device)
    asked = csgraph, directed, indices, return_predecessors, unweighted
    return _of_any_sign(Johnson(), device, *asked)


def _of_any_sign(method: Method, device: str, *asked: Any) -> Any:
    """Find shortest paths for weights of any sign; return arrays as SciPy's function does."""
    csgraph, directed, indices, return_predecessors, unweighted = asked
    arcs = rows.arcs_of(rows.validate_csr(csgraph, directed), directed, unweighted)
    sources, shape = _sources_of(indices, arcs.n)
    try:
        with _scipys_error():
            found = rows.search_rows(
                arcs, sources, negative=method, predecessors=return_predecessors, device=device
            )
    except NegativeCycleError as error:
        if isinstance(method, Johnson) and arcs.n * arcs.indices.size <= MOST_STEPS:
            # (which vertex SciPy names depends on the order in which it relaxes arcs)
            with _scipys_error(error.cycle):
                scipy_csgraph.johnson(csgraph, directed, indices=[0])
        raise
    if found is None:
        return _by_scipy(method.name.replace("-", "_"), *asked)
    return _as_scipy_returns(found, shape)


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find all shortest paths of a dense graph, like `scipy.sparse.csgraph.floyd_warshall`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, overwrite
        As in SciPy.
    device : str
        As for `sssp.all_pairs`.

    Returns
    -------
    dist_matrix : ndarray, shape (n, n), float64
        `csgraph` itself where it is overwritten.
    predecessors : ndarray, shape (n, n), int32
        If `return_predecessors`.

    Raises
    ------
    NegativeCycleError
        There is a cycle of negative length; ``.cycle`` is one.
    ValueError, TypeError
        As SciPy raises them.
    DeviceError
        The device cannot be used, or the matrix needs more memory than there is.

    Notes
    -----
    Predecessors over weights that are no integers are those of the paths that were added up.

    Examples
    --------
    >>> floyd_warshall([[0, 5, 20], [0, 0, 5], [1, 0, 0]]).tolist()
    [[0.0, 5.0, 10.0], [6.0, 0.0, 5.0], [1.0, 6.0, 0.0]]
    """
    matrix = dense.validate_dense(csgraph, directed, unweighted, overwrite)
    found = dense.close_matrix(matrix, return_predecessors, device)
    if found is not None:
        return _as_scipy_returns(found, matrix.shape)
    if isinstance(csgraph, np.ndarray) and not csgraph.flags.c_contiguous:
        csgraph = csgraph.copy(order="C")  # SciPy leaves another order unsolved
    try:
        return _by_scipy(
            "floyd_warshall", csgraph, directed, return_predecessors, unweighted, overwrite
        )
    except NegativeCycleError as error:
        raise NegativeCycleError(error.args[0], dense.find_cycle(matrix)) from None


def yen(
    csgraph: Any,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Find the K shortest paths between two vertices by SciPy's `yen` (SciPy 1.14 or newer).

    Parameters
    ----------
    csgraph, source, sink, K, directed, return_predecessors, unweighted
        As for ``scipy.sparse.csgraph.yen``.

    Raises
    ------
    NegativeCycleError, ValueError, TypeError
        As SciPy raises them.
    """
    options = {"return_predecessors": return_predecessors, "unweighted": unweighted}
    return _by_scipy("yen", csgraph, source, sink, K, directed=directed, **options)


def reconstruct_path(csgraph: Any, predecessors: Any, directed: bool = True) -> Any:
    """Return a shortest-path tree as a sparse matrix, by SciPy's `reconstruct_path`.

    Parameters
    ----------
    csgraph, predecessors, directed
        As for ``scipy.sparse.csgraph.reconstruct_path``.
    """
    return _by_scipy("reconstruct_path", csgraph, predecessors, directed)


def construct_dist_matrix(
    graph: Any, predecessors: Any, directed: bool = True, null_value: float = np.inf
) -> Any:
    """Return distances along the trees in `predecessors`, computed by SciPy's function.

    Parameters
    ----------
    graph, predecessors, directed, null_value
        As for ``scipy.sparse.csgraph.construct_dist_matrix``.
    """
    return _by_scipy("construct_dist_matrix", graph, predecessors, directed, null_value)


def _sources_of(indices: ArrayLike | None, n: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the sources that `indices` lists (None: all), and the shape of SciPy's result."""
    if indices is None:
        return np.arange(n), (n, n)
    given = np.array(indices, order="C", dtype=INDEX)
    sources = given.reshape(-1).astype(INT64)
    sources[sources < 0] += n
    if sources.size and not (sources.min() >= 0 and sources.max() < n):
        raise ValueError("indices out of range 0...N")
    return sources, (*given.shape, n)


def _as_scipy_returns(found: rows.SearchResult, shape: tuple[int, ...]) -> Any:
    """Return the arrays of a search as SciPy does: one array, or a tuple of several."""
    arrays = [array.reshape(shape) for array in found if array is not None]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _by_scipy(name: str, csgraph: Any, *arguments: Any, **options: Any) -> Any:
    """Call the function of a given name in `scipy.sparse.csgraph`; refuse our own graphs."""
    rows.refuse_graph(csgraph)
    with _scipys_error():
        return getattr(scipy_csgraph, name)(csgraph, *arguments, **options)


@contextmanager
def _scipys_error(cycle: Sequence[int] = ()) -> Iterator[None]:
    """Convert negative cycle errors in the context to `NegativeCycleError` of this module."""
    try:
        yield
    except (errors.NegativeCycleError, scipy_csgraph.NegativeCycleError) as error:
        raise NegativeCycleError(str(error), getattr(error, "cycle", cycle)) from None
