"""Whether a result has the form that it must have, before anybody asks whether it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sssp.errors import VerificationError
from sssp.graph.check_arrays import is_sparse
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INDEX, INT16, INT32, INT64, unreached

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.results.trees import ShortestPaths


def is_real(value: Any) -> bool:
    """Whether a value is a number and no truth value; NaN and infinities are."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_form(g: Graph, result: ShortestPaths) -> None:
    """Refuse a result on the host whose parts cannot belong together, or not to `g`.

    Raises
    ------
    VerificationError
        The message names the part.
    """
    _check_question(g, result)
    _check_distances(g, result)
    _check_predecessors(g, result)
    if result.nearest != (result.origin is not None):
        raise VerificationError(
            "a nearest search has an origin for every vertex, and no other search has: origin is "
            f"{'missing' if result.nearest else 'there'}"
        )
    if result.origin is not None:
        _check_array("origin", result.origin, [(g.n,)], [INDEX], g, result)


def _check_question(g: Graph, result: ShortestPaths) -> None:
    for what, vertices in (("source", result.sources), ("target", result.targets)):
        if what == "target" and vertices is None:
            continue
        if not isinstance(vertices, np.ndarray) or vertices.dtype != INT64 or vertices.ndim != 1:
            raise VerificationError(f"{what}s must be an int64 array of one axis, not {vertices!r}")
        outside = vertices[(vertices < 0) | (vertices >= g.n)]
        if outside.size:
            raise VerificationError(
                f"{what} {outside[0]} is not a vertex of this graph of {g.n} vertices"
            )
    count = result.sources.size
    if (result.single and count != 1) or (result.nearest and count == 0):
        raise VerificationError(f"{count} sources cannot be those of such a search")
    if not isinstance(result.method, str):
        raise VerificationError(f"method must be a name, not {result.method!r}")
    limit = result.limit
    if limit is not None and not (is_real(limit) and limit >= 0):
        raise VerificationError(f"limit must be None or a number of 0 or more, not {limit!r}")


def _check_distances(g: Graph, result: ShortestPaths) -> None:
    columns = g.n if result.targets is None else result.targets.size
    matrix = result.distances
    dtypes: list[np.dtype[Any]] = [INT32, INT64, FLOAT32, FLOAT64]
    if is_sparse(matrix):
        if result.targets is not None:
            raise VerificationError("distances to targets are never sparse")
        _check_csr("distances", matrix, (result.rows, columns), dtypes, g, result)
        if (matrix.data == unreached(matrix.dtype)).any():
            raise VerificationError("distances store an entry for a vertex that is unreached")
        return
    shapes = [(*_row_axes(result), columns)]
    if columns == 1 and result.targets is not None:
        shapes.append(_row_axes(result))  # of a call with one target, given as an int
    _check_array("distances", matrix, shapes, [INT16, *dtypes], g, result)


def _check_predecessors(g: Graph, result: ShortestPaths) -> None:
    matrix, distances = result.predecessors, result.distances
    if matrix is None:
        return
    if not is_sparse(matrix):
        if is_sparse(distances):
            raise VerificationError("predecessors of sparse distances must be sparse too")
        _check_array("predecessors", matrix, [(*_row_axes(result), g.n)], [INDEX], g, result)
        return
    _check_csr("predecessors", matrix, (result.rows, g.n), [INDEX], g, result)
    if result.targets is not None:
        return
    if not is_sparse(distances):
        raise VerificationError("predecessors are sparse, but distances to all vertices are not")
    for part in ("indptr", "indices"):
        if not np.array_equal(getattr(matrix, part), getattr(distances, part)):
            raise VerificationError("predecessors are not stored for the vertices of distances")


def _row_axes(result: ShortestPaths) -> tuple[int, ...]:
    return () if result.single or result.nearest else (result.rows,)


def _check_array(
    name: str,
    array: Any,
    shapes: list[tuple[int, ...]],
    dtypes: list[np.dtype[Any]],
    g: Graph,
    result: ShortestPaths,
) -> None:
    if not isinstance(array, np.ndarray):
        raise VerificationError(f"{name} must be an array, not {type(array).__name__}")
    _check_dtype(name, array.dtype, dtypes)
    if array.shape not in shapes:
        raise _wrong_shape(name, array.shape, g, result)


def _check_csr(
    name: str,
    matrix: Any,
    shape: tuple[int, int],
    dtypes: list[np.dtype[Any]],
    g: Graph,
    result: ShortestPaths,
) -> None:
    """Refuse rows that do not store their columns once each and in order."""
    if matrix.format != "csr":
        raise VerificationError(f"{name} must be in CSR format, not {matrix.format}")
    _check_dtype(name, matrix.dtype, dtypes)
    if matrix.shape != shape:
        raise _wrong_shape(name, matrix.shape, g, result)
    indptr, indices = matrix.indptr, matrix.indices
    broken = VerificationError(f"the rows of {name} are no CSR rows with ascending columns")
    if any(part.ndim != 1 for part in (indptr, indices, matrix.data)):
        raise broken
    if indptr.dtype.kind != "i" or indices.dtype.kind != "i" or indptr.size != shape[0] + 1:
        raise broken
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise broken
    if not indptr[-1] == indices.size == matrix.data.size:
        raise broken
    if ((indices < 0) | (indices >= shape[1])).any():
        raise broken
    begins = np.zeros(indices.size + 1, np.bool_)
    begins[indptr] = True
    if not (begins[1:-1] | (np.diff(indices) > 0)).all():
        raise broken


def _check_dtype(name: str, dtype: np.dtype[Any], dtypes: list[np.dtype[Any]]) -> None:
    if dtype not in dtypes:
        expected = " or ".join(map(str, dtypes))
        raise VerificationError(f"{name} must be {expected}, not {dtype}")


def _wrong_shape(
    name: str, shape: tuple[int, ...], g: Graph, result: ShortestPaths
) -> VerificationError:
    return VerificationError(
        f"{name} of shape {shape} do not belong to {result.rows} searches in a graph of {g.n} "
        "vertices"
    )
