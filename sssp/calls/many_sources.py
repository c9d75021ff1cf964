"""Many sources without the whole matrix: `reduce` to one number per source, or `iter_blocks`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.make_plan import make_plan
from sssp.calls.shortest_paths import run_plan, solve_plan
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_count, as_limit, as_network, as_reduction
from sssp.engine.check_memory import FEWER_SOURCES, SMALLER_BLOCKS
from sssp.engine.device_names import kind_of
from sssp.engine.narrow import convert_into
from sssp.engine.plan import Plan, solver_of, with_fixed_dtype
from sssp.engine.request import Request
from sssp.graph.frames import by_vertex
from sssp.methods import Method
from sssp.prepared.scenarios import Scenarios

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy
    from sssp.results.trees import ShortestPaths


def reduce(
    g: Graph | Hierarchy | Scenarios[Hierarchy],
    sources: ArrayLike,
    what: str,
    *,
    limit: float | None = None,
    targets: ArrayLike | None = None,
    vertex_weights: ArrayLike | None = None,
    decay: tuple[Any, Any] | Callable[..., Any] | None = None,
    method: str | Method = "auto",
    device: str | Sequence[str] = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Any:
    """Reduce the distances from each source to one number, such as their sum or maximum.

    Parameters
    ----------
    g : Graph, Hierarchy, or what `Hierarchy.scenarios` returns
        All scenarios that are left are reduced, a batch at a time: on a GPU all rows of a batch in
        one launch, while the next batch is made.
    sources : int, or array_like of int, shape (k,)
    what : {"eccentricity", "sum", "mean", "count", "weight", "closeness"}
        Of the vertices that are reached, of those that count; see Notes.
    limit : float, optional
        Greatest distance of interest, inclusive.
    targets : int, or array_like of int, shape (t,), optional
        The vertices that count, each once however often it is named; by default all. A search
        stops once it has settled them.
    vertex_weights : array_like, shape (n,) or (n, c), optional
        For ``what="weight"``, integers or floats in order of vertex, or a Series (DataFrame) of
        pandas by own ids: vertices that it does not name weigh 0. Several columns are summed side
        by side.
    decay : tuple or callable, optional
        For ``what="weight"``: by how much the weight of a vertex (1 without `vertex_weights`) is
        multiplied for its distance d. ``("step", d0)``: 1 up to d0, 0 beyond; ``("linear", d0)``:
        ``max(0, 1 - d / d0)``; ``("gaussian", sigma)``: ``exp(-d**2 / (2 * sigma**2))``;
        ``("exponential", rate)``: ``exp(-rate * d)``; ``("power", exponent)``:
        ``max(d, 1) ** -exponent``; ``(edges, values)``, two rows of equal size: the value of the
        first edge that is no less than d, 0 beyond the last. A function gets float64 arrays of
        distances, from several threads at once, on the host, and returns a number for each.
    method, device, threads, memory_limit, progress
        As for `sssp.shortest_paths`.

    Returns
    -------
    ndarray, shape (k,), int64 or float64
        A Python number for a single source; with columns of weights shape (k, c), or (c,). Of
        scenarios one more axis, the first.
        Integers are exact; means, closeness and whatever has a decay are float64.

    Raises
    ------
    ValueError, TypeError
        No such reduction or decay; vertex weights or a decay missing, superfluous, of another
        shape, or not finite.
    DistanceOverflowError
        A sum of integers does not fit int64.

    Notes
    -----
    ``"eccentricity"``
        The greatest distance; without any what stands for unreached, ``iinfo(int64).max`` or inf.
    ``"sum"``, ``"count"``
        The sum of the distances; the number of the vertices, the source among them if it counts.
    ``"mean"``
        The sum divided by the count; nan if that is 0.
    ``"weight"``
        The sum of the `vertex_weights` (inhabitants within ten minutes, say), with a decay of the
        products.
    ``"closeness"``
        ``(r / s) * (r / t)``: s is the sum of the distances, r the count without the source, t
        the number of vertices or targets without the source; 0 if s is not above 0. It is what
        ``networkx.closeness_centrality`` finds on the reversed graph, for distances from a vertex
        instead of to it.

    Takes the time of `sssp.shortest_paths`, and memory for one row per thread. A GPU reduces where
    it searches, and sends back some numbers per row. Floats are added up by groups of 64 vertices
    or targets, in order, so that sums are the same on every device; only exponentials and powers of
    a decay may differ from those of a CPU in the last bit on a GPU.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 10])
    >>> sssp.reduce(g, [0, 1, 2], "mean").tolist()
    [6.666666666666667, 5.0, 0.0]
    >>> jobs = [0, 100, 40]
    >>> sssp.reduce(g, [0, 1, 2], "weight", vertex_weights=jobs, decay=("step", 12)).tolist()
    [100.0, 140.0, 40.0]
    """
    plan_for = partial(
        make_reduction_plan, sources=sources, what=what, vertex_weights=vertex_weights, decay=decay,
        limit=limit, targets=targets, method=method, device=device, threads=threads,
        memory_limit=memory_limit, progress=progress,
    )  # fmt: skip
    if isinstance(g, Scenarios):
        return _reduce_scenarios(g, plan_for, sources)
    plan = plan_for(g)
    values = run_plan(plan).distances
    if not plan.request.single:
        return values
    assert plan.request.reduction is not None
    return values[0].item() if plan.request.reduction.one_column else values[0]


def _reduce_scenarios(
    scenarios: Scenarios[Hierarchy], plan_for: Callable[[Hierarchy], Plan[Request]], sources: Any
) -> NDArray[Any]:
    """Reduce distances per source under each scenario; return an array with a row per scenario."""
    values, single, under_way = [], False, None
    for versions in scenarios.batches():
        plan = plan_for(versions[0])
        single = plan.request.single
        steps = _reduce_together(plan, versions)
        if steps is None:
            steps = iter((None, None, [run_plan(plan_for(one)).distances for one in versions]))
        next(steps)  # (prepared)
        if under_way is not None:
            values.extend(next(under_way))
            under_way = None  # (its memory is for the batch after this one)
        next(steps)  # (launched)
        under_way = steps
    if under_way is None:
        return np.empty((0, *np.shape(sources)))
    values.extend(next(under_way))
    found = np.empty((len(values), *values[0].shape), np.result_type(*values))
    for row, value in zip(found, values, strict=True):
        convert_into(value, row)  # (floats have another sentinel than integers)
    return found[:, 0] if single else found


def _reduce_together(plan: Plan[Request], versions: list[Hierarchy]) -> Any:
    """Return a generator of reductions on a GPU for several weight sets; None if unsupported."""
    request = plan.request
    # (what a rule has sent to a GPU falls back to the CPU one by one)
    if kind_of(request.device) != "cuda" or request.devices or request.by_rule:
        return None
    return solver_of(plan.method, request.device).reduce_versions(versions, plan)


def make_reduction_plan(
    g: Graph | Hierarchy,
    sources: ArrayLike,
    what: str,
    vertex_weights: ArrayLike | None = None,
    decay: tuple[Any, Any] | Callable[..., Any] | None = None,
    *,
    limit: float | None = None,
    advice: str = FEWER_SOURCES,
    **options: Any,
) -> Plan[Request]:
    """Check the arguments of a reduction, choose method and device, and return the plan."""
    network = as_network(g)
    weights = by_vertex(vertex_weights, network._tree_graph)
    reduction = as_reduction(what, weights, decay, network.n)
    if reduction.decay is not None and network._weight_range.least >= 0:
        # (beyond, the decay is 0)
        wanted = as_limit(limit, integral=False)
        limit = min(math.inf if wanted is None else wanted, reduction.decay.reach)
    return make_plan(network, sources, limit=limit, reduction=reduction, advice=advice, **options)


def iter_blocks(
    g: Graph | Hierarchy,
    sources: ArrayLike,
    *,
    block_size: int | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    method: str | Method = "auto",
    device: str | Sequence[str] = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: Literal["host", "device", "sparse"] = "host",
    threads: int | None = None,
    memory_limit: float | None = None,
    stream: Any = None,
    progress: bool | None = None,
) -> Iterator[ShortestPaths]:
    """Yield shortest-path results of many sources, block by block, for your own reductions.

    Parameters
    ----------
    g : Graph or Hierarchy
    sources : array_like of int, shape (k,)
    block_size : int, optional
        Sources in a block; by default as many as fill 256 MiB with distances.
    targets, limit, method, device, predecessors, dtype, output, threads, memory_limit, stream, \
    progress
        As for `sssp.shortest_paths`.

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
    Memory for one block; with several devices, each of which takes a block, for two a device that
    are done before their turn. The bound takes two searches on a graph of which n - 1 of the
    heaviest arcs do not fit int32.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.road_like(100)
    >>> [r.distances.shape for r in sssp.iter_blocks(g, range(100), block_size=64)]
    [(64, 100), (36, 100)]
    """
    plan = make_plan(
        g, sources, targets=targets, limit=limit, method=method, device=device,
        predecessors=predecessors, dtype=dtype, output=output, threads=threads,
        memory_limit=memory_limit, stream=stream, progress=progress, advice=SMALLER_BLOCKS,
    )  # fmt: skip
    if plan.request.single:
        raise TypeError("iter_blocks takes a sequence of sources; for one use sssp.shortest_paths")
    if block_size is None:
        block_size = max(1, thresholds.ITERATED_BYTES // max(1, 8 * g.n))
    size = as_count(block_size, "block_size")
    if plan.request.rows == 0:
        return iter(())
    parts = with_fixed_dtype(plan).split(size)
    if len(plan.request.devices) > 1:
        return plan.share_out(parts, solve_plan)
    return map(solve_plan, parts)
