"""Many sources without keeping the whole matrix: one number a source, or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sssp.calls.question import Options, ask
from sssp.calls.shortest_paths import answered, solved
from sssp.engine.bounds import with_fixed_dtype
from sssp.engine.checks import as_network, as_reduction
from sssp.methods import Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.results.shortest_paths import ShortestPaths

__all__ = ["iter_blocks", "reduce"]

#: bytes of distances in a block, if the caller names no size
BLOCK_BYTES = 256 << 20


def reduce(
    g: Graph,
    sources: ArrayLike,
    what: str,
    *,
    limit: float | None = None,
    vertex_weights: ArrayLike | None = None,
    method: str | Method = "auto",
    device: str = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Any:
    """Reduce the distances from every source to one number, without keeping them.

    Parameters
    ----------
    g : Graph
    sources : int, or array_like of int, shape (k,)
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
    it searches, and sends back one number a row. Sums of floats are rounded in the order of the
    vertices on the CPU, on a GPU in another order that is always the same.
    """
    reduction = as_reduction(what, vertex_weights, as_network(g).n)
    options = Options(
        limit=limit,
        method=method,
        device=device,
        threads=threads,
        memory_limit=memory_limit,
        progress=progress,
    )
    question = ask(g, sources, options, reduction)
    values = answered(question.plan).distances
    return values[0].item() if question.single else values


def iter_blocks(
    g: Graph, sources: ArrayLike, *, block_size: int | None = None, **options: Any
) -> Iterator[ShortestPaths]:
    """Solve for many sources block by block, for reductions of one's own.

    Parameters
    ----------
    g : Graph
    sources : array_like of int, shape (k,)
    block_size : int, optional
        Sources in a block; by default as many as fill 256 MiB with distances.
    **options
        As for `sssp.shortest_paths`, but for ``nearest`` and ``out``.

    Returns
    -------
    iterator of ShortestPaths
        Of the next `block_size` sources, in order; the last block may be smaller. All have one
        dtype, fixed before the first: the caller's, else int32 if a bound on every distance
        fits, else int64; float64 for float weights.

    Raises
    ------
    ValueError, TypeError, VertexError, NegativeWeightError, DeviceError
        At the call, as `sssp.shortest_paths` does; what only a search can find is raised by the
        block in which it is found.

    Notes
    -----
    Memory for one block. The bound takes two searches on a graph of which n - 1 of the heaviest
    arcs do not fit int32.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.road_like(100)
    >>> [r.distances.shape for r in sssp.iter_blocks(g, range(100), block_size=64)]
    [(64, 100), (36, 100)]
    """
    for name, absent in (("nearest", False), ("out", None)):
        if options.get(name, absent) is not absent:
            raise ValueError(f"iter_blocks takes no {name}=: each block is a result of its own")
    question = ask(g, sources, _options(options))
    if question.single:
        raise TypeError("iter_blocks takes a row of sources; for one call sssp.shortest_paths")
    if block_size is None:
        block_size = max(1, BLOCK_BYTES // max(1, 8 * g.n))
    if isinstance(block_size, bool) or not block_size >= 1:
        raise ValueError(f"block_size must be 1 or more, not {block_size}")
    if question.plan.query.rows == 0:
        return iter(())
    parts = with_fixed_dtype(question.plan).split(int(block_size))
    return (solved(question._replace(plan=part)) for part in parts)


def _options(given: dict[str, Any]) -> Options:
    try:
        return Options(**given)
    except TypeError:
        known = Options.__dataclass_fields__
        odd = next(name for name in given if name not in known)
        raise TypeError(f"iter_blocks() got an unexpected keyword argument {odd!r}") from None
