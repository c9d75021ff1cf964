"""Many sources without keeping the whole matrix: one number a source, or block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.shortest_paths import answer_query, plan_query, shortest_paths
from sssp.engine.query import REDUCTIONS, Reduction, as_vertices
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.results.shortest_paths import ShortestPaths

__all__ = ["iter_blocks", "reduce"]

#: bytes of distances in a block, if the caller names no size
BLOCK_BYTES = 256 << 20


def reduce(
    g: Graph,
    sources: int | Sequence[int] | NDArray[np.integer[Any]],
    what: str,
    *,
    limit: float | None = None,
    vertex_weights: ArrayLike | None = None,
    method: str | Method = "auto",
    device: str = "auto",
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: bool | None = None,
) -> Any:
    """Reduce the distances from every source to one number, without keeping them.

    Parameters
    ----------
    g : Graph
    sources : int, or sequence of int, shape (k,)
    what : {"eccentricity", "sum", "count", "weight"}
        The greatest distance; the sum of the distances; the number of reached vertices, the
        source among them; the sum of their `vertex_weights` (inhabitants within ten minutes,
        say). Unreached vertices do not count.
    limit : float, optional
        Greatest distance of interest, inclusive.
    vertex_weights : array_like, shape (n,)
        For ``what="weight"``, integers or floats.
    method, device, threads, memory_limit, progress
        As for `sssp.shortest_paths`.

    Returns
    -------
    ndarray, shape (k,), int64 or float64
        A Python number for a single source. Integers are exact.

    Raises
    ------
    ValueError
        No such reduction; vertex weights missing, superfluous or of another shape.
    DistanceOverflowError
        A sum does not fit int64.

    Notes
    -----
    Takes the time of `sssp.shortest_paths`, and memory for one row a thread. A GPU reduces where
    it searches, and sends back one number a row. Sums of floats are rounded in the order in which
    the method reached the vertices, on a GPU in an order of the vertices that is always the same.
    """
    reduction = _as_reduction(what, vertex_weights, g.n)
    plan = plan_query(
        g,
        sources,
        limit=limit,
        method=method,
        device=device,
        threads=threads,
        memory_limit=memory_limit,
        progress=progress,
        reduction=reduction,
    )
    _, answer = answer_query(g, plan)
    values = answer.distances
    return values[0].item() if plan.single else values


def iter_blocks(
    g: Graph,
    sources: Sequence[int] | NDArray[np.integer[Any]],
    *,
    block_size: int | None = None,
    **options: Any,
) -> Iterator[ShortestPaths]:
    """Solve for many sources block by block, for reductions of one's own.

    Parameters
    ----------
    g : Graph
    sources : sequence of int, shape (k,)
    block_size : int, optional
        Sources in a block; by default as many as fill 256 MiB with distances.
    **options
        As for `sssp.shortest_paths`.

    Yields
    ------
    ShortestPaths
        Of the next `block_size` sources, in order; the last block may be smaller. Each block
        chooses its dtype like a call of its own; ``dtype=`` fixes one for all.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.road_like(100)
    >>> [r.distances.shape for r in sssp.iter_blocks(g, range(100), block_size=64)]
    [(64, 100), (36, 100)]
    """
    vertices, _ = as_vertices(sources, g.n, "source")
    if block_size is None:
        block_size = max(1, BLOCK_BYTES // max(1, 8 * g.n))
    if block_size < 1:
        raise ValueError(f"block_size must be 1 or more, not {block_size}")
    for first in range(0, vertices.size, block_size):
        yield shortest_paths(g, vertices[first : first + block_size], **options)


def _as_reduction(what: str, vertex_weights: ArrayLike | None, n: int) -> Reduction:
    if what not in REDUCTIONS:
        raise ValueError(f"unknown reduction {what!r}; choose from {', '.join(REDUCTIONS)}")
    if (what == "weight") != (vertex_weights is not None):
        raise ValueError("vertex_weights belong to what='weight', and to nothing else")
    if vertex_weights is None:
        return Reduction(what)
    weights = np.asarray(vertex_weights)
    if weights.shape != (n,):
        raise ValueError(f"vertex_weights must have shape ({n},), not {weights.shape}")
    if weights.dtype.kind not in "iubf":
        raise TypeError(f"vertex_weights must be integers or floats, not {weights.dtype}")
    return Reduction(what, weights.astype(np.float64 if weights.dtype.kind == "f" else np.int64))
