"""Checks of a result's form (shapes, dtypes, ranges), before it is certified."""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.errors import VerificationError
from sssp.graph.check_arrays import is_real, is_sparse
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT32, FLOAT64, INDEX, INT16, INT32, INT64, unreached
from sssp.results.trees import ShortestPaths


def check_form(g: Graph, result: ShortestPaths) -> None:
    """Raise if arrays of a result on the host do not match one another or the graph `g`.

    Raises
    ------
    VerificationError
        The message names the part.
    """
    _check_question(g, result)
    distances, trees, to_all = result.distances, result.predecessors, result.targets is None
    axes = () if result.single or result.nearest else (result.rows,)
    columns = g.n if result.targets is None else result.targets.size
    dtypes: list[np.dtype[Any]] = [INT32, INT64, FLOAT32, FLOAT64]
    if is_sparse(distances):
        if not to_all:
            raise VerificationError("distances to targets are never sparse")
        _check_array("distances", distances, [(result.rows, columns)], dtypes)
        if (distances.data == unreached(distances.dtype)).any():
            raise VerificationError("distances store an entry for a vertex that is unreached")
    else:
        # (without an axis for the target of a call that named one by an int)
        shapes = [(*axes, columns)] if to_all or columns != 1 else [(*axes, columns), axes]
        _check_array("distances", distances, shapes, [INT16, *dtypes])
    if trees is not None:
        sparse = is_sparse(trees)
        _check_array(
            "predecessors", trees, [(result.rows, g.n) if sparse else (*axes, g.n)], [INDEX]
        )
        if to_all and sparse != is_sparse(distances):
            raise VerificationError("predecessors and distances must both be sparse, or both dense")
        parts = ("indptr", "indices") if to_all and sparse else ()
        if not all(np.array_equal(getattr(trees, x), getattr(distances, x)) for x in parts):
            raise VerificationError("predecessors are not stored for the vertices of distances")
    if result.nearest != (result.origin is not None):
        raise VerificationError(
            "a nearest search has an origin for every vertex, and no other search has: origin is "
            f"{'missing' if result.nearest else 'there'}"
        )
    if result.origin is not None:
        _check_array("origin", result.origin, [(g.n,)], [INDEX])


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


def _check_array(
    name: str, array: Any, shapes: list[tuple[int, ...]], dtypes: list[np.dtype[Any]]
) -> None:
    """Raise an error unless an array of a result has an allowed format, dtype and shape."""
    sparse = is_sparse(array)
    if not sparse and not isinstance(array, np.ndarray):
        raise VerificationError(f"{name} must be an array, not {type(array).__name__}")
    if sparse and array.format != "csr":
        raise VerificationError(f"{name} must be in CSR format, not {array.format}")
    for what, given, expected in (("dtype", array.dtype, dtypes), ("shape", array.shape, shapes)):
        if given not in expected:
            raise VerificationError(
                f"{what} of {name} must be {' or '.join(map(str, expected))}, not {given}"
            )
    if not sparse:
        return
    from scipy.sparse import csr_array

    try:
        # (a copy, for the check prunes what lies behind the last row)
        parts = array.data, array.indices, array.indptr
        copy = csr_array(parts, shape=array.shape, copy=True)
        copy.check_format()
        whole = copy.nnz == array.indices.size == array.data.size and copy.has_canonical_format
        whole &= array.indptr.dtype.kind == array.indices.dtype.kind == "i"
    except (ValueError, IndexError, TypeError):
        whole = False
    if not whole:
        raise VerificationError(f"the rows of {name} are not CSR rows with ascending columns")
