"""Check the arguments of a search and make a plan: request, network, method, device.

What ``"auto"`` stands for is decided in `sssp.engine.choose_method` and
`sssp.calls.choose_device`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.choose_device import Work, place, search_work
from sssp.engine import check_arguments, thresholds
from sssp.engine.arc_ends import ArcEnds
from sssp.engine.check_memory import FEWER_ROWS
from sssp.engine.choose_method import choose_method
from sssp.engine.network import open_part, reversed_graph
from sssp.engine.plan import UNIT_WEIGHTS, Plan, is_symmetric, weights_of
from sssp.engine.progress import check_progress
from sssp.engine.reductions import Reduction
from sssp.engine.request import Request
from sssp.engine.threads import check_threads
from sssp.graph.check_arrays import arc_column, as_flag
from sssp.graph.check_weights import refuse_negative
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, WeightRange, distance_dtype
from sssp.methods import METHODS, Method

if TYPE_CHECKING:
    from sssp.prepared.hierarchy import Hierarchy


def make_plan(
    g: Graph | Hierarchy,
    sources: ArrayLike | None,
    *,
    targets: ArrayLike | None = None,
    source_arcs: ArrayLike | None = None,
    target_arcs: ArrayLike | None = None,
    nearest: bool = False,
    limit: float | None = None,
    method: str | Method = "auto",
    device: Any = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: str = "host",
    out: NDArray[Any] | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    stream: Any = None,
    progress: bool | None = None,
    reduction: Reduction | None = None,
    advice: str = FEWER_ROWS,
    from_either_end: bool = False,
    known: dict[str, type[Method]] = METHODS,
) -> Plan[Request]:
    """Check the arguments of a search, choose method and device, and return the plan.

    Parameters
    ----------
    g, sources, targets, source_arcs, target_arcs, nearest, limit, method, device, predecessors
    dtype, output, out, threads, memory_limit, stream, progress
        As of `sssp.shortest_paths`, which documents the errors too.
    reduction : Reduction, optional
    advice : str
        What the caller can do where memory is short.
    from_either_end : bool
        Whether the caller takes the transposed answer of searches from the targets (`transposed`
        of the plan), if that is less work.
    known : dict
        The methods that the caller takes, by name.
    """
    asked = check_arguments.as_network(g)
    network, chosen = choose_method(asked, method, known)
    weights = network._weight_range if chosen.weighted else UNIT_WEIGHTS
    if weights.least < 0:
        refuse_negative(network, chosen)
    starts, arcs, single = check_arguments.as_starts(asked, sources, source_arcs)
    request = Request(
        sources=starts,
        source_arcs=arcs,
        single=single,
        nearest=as_flag(nearest, "nearest"),
        predecessors=as_flag(predecessors, "predecessors"),
        output=output,
        reduction=reduction,
        advice=advice,
        threads=check_threads(threads),
        progress=None if progress is None else check_progress(progress),
    )
    if target_arcs is not None:
        check_arguments.refuse_both("target", targets, target_arcs)
        request.single_target = np.ndim(target_arcs) == 0
        graphs, places = (asked._tree_graph, network._tree_graph), arc_column(target_arcs, asked.m)
        request.arc_ends = ArcEnds.of(*graphs, places, weighted=chosen.weighted)
        request.targets = request.arc_ends.tails
    elif targets is not None:
        ends, request.single_target = check_arguments.as_vertices(targets, asked, "target")
        request.targets = ends if reduction is None else check_arguments.distinct(ends)
    if out is not None or dtype is not None:
        request.given_out, request.dtype = check_arguments.as_out(out, dtype, weights.dtype)
    if limit is not None:
        integral = (request.dtype or weights.dtype).kind == weights.dtype.kind == "i"
        request.limit = check_arguments.as_limit(limit, integral=integral)
    if network._methods is not None:
        check_arguments.refuse_unprepared(network, request)
    if request.nearest or output != "host" or target_arcs is not None:
        _check_form(request)
    if out is not None:
        request.out = _as_matrix(out, request, asked.n)
    if network is not asked:
        _ask_expansion(request, asked._tree_graph)
    # whether fewer searches, from the targets, give the same distances
    turned = (
        from_either_end
        and request.targets is not None
        and request.targets.size < request.sources.size
        and not (single or request.wants_tree)
        and output == "host"
        and is_symmetric(request, network.n, weights)
    )
    work = None
    if device == "auto" and request.rows * (network.n + network.m) > thresholds.NOT_ESTIMATED:
        work = _estimate(network, chosen, _transpose(request) if turned else request, weights)
    place(request, device, chosen, work, stream=stream, memory_limit=memory_limit)
    plan = Plan(network, request, chosen)
    if not turned:
        return plan
    from_targets = Plan(reversed_graph(open_part(network)), _transpose(request), chosen)
    return plan._replace(transposed=from_targets)


def make_request(
    network: Graph,
    method: Method,
    sources: NDArray[np.int64],
    limit: float | None,
    dtype: DTypeLike | None,
    threads: int | None,
    progress: bool | None,
    **more: Any,
) -> Request:
    """Check arguments of `pairs` or `nearest`; return them as the request for a search.

    Parameters
    ----------
    network : Graph or Hierarchy
        What is searched.
    sources : ndarray, int64
        Vertices of the graph that is searched.
    **more
        Fields of the request.
    """
    refuse_negative(network, method)
    weights = weights_of(network, method).dtype
    asked = distance_dtype(dtype, weights)
    request = Request(
        sources=sources,
        limit=check_arguments.as_limit(limit, integral=(asked or weights).kind == "i"),
        dtype=asked,
        threads=check_threads(threads),
        progress=check_progress(progress),
        **more,
    )
    if network._methods is not None:
        check_arguments.refuse_unprepared(network, request)
    return request


def _ask_expansion(request: Request, graph: Graph) -> None:
    """Change a request on a graph with turns to a request on the turn-expanded graph."""
    expansion = graph.turns.expansion  # type: ignore[union-attr]  # it has turns
    whole = request.targets is None
    if request.output == "device" and request.predecessors:
        graph._refuse_turns("a tree that stays on a device")
    request.asked = graph
    if request.arc_ends is not None:
        return
    if request.targets is not None:
        request.targets = expansion.end[request.targets]
    elif request.reduction is not None:
        request.width, request.targets = expansion.n, expansion.end
    elif request.predecessors or request.nearest or request.output == "sparse":
        request.out = None  # (rows have all vertices of the expansion)
    else:
        request.width = expansion.n
        request.targets = None if expansion.rows_come_first else expansion.end
    reduction = request.reduction
    if reduction is None:
        return
    if not (whole and expansion.rows_come_first):
        request.targets = np.sort(request.targets)  # type: ignore[arg-type]  # there are some
    own = reduction.vertex_weights
    if own is not None:
        weights = np.zeros((expansion.vertex_of.size, reduction.columns), own.dtype)
        weights[expansion.end] = own
        request.reduction = replace(reduction, vertex_weights=weights)


def _transpose(request: Request) -> Request:
    """Return the request with sources and targets exchanged, and `out` transposed."""
    assert request.targets is not None
    out = None if request.out is None else request.out.T
    return replace(request, sources=request.targets, targets=request.sources, out=out)


def _estimate(
    network: Graph, method: Method, request: Request, weights: WeightRange
) -> Work | None:
    """Estimate a request's cost on CPU and GPU; None if ``"auto"`` must keep it on the CPU."""
    # exponentials and powers of a GPU may differ in the last bit
    decays = request.reduction is not None and request.reduction.decay is not None
    swept_once = request.nearest and network._methods is not None
    if "cuda" not in method.solvers or decays or swept_once:
        return None
    rows, n = request.rows, network.n
    host_bytes = 0
    if request.output == "host" and request.reduction is None:
        itemsize = (request.dtype or weights.dtype).itemsize
        trees = n * INDEX.itemsize if request.predecessors and request.targets is None else 0
        host_bytes = rows * (request.columns(n) * itemsize + trees)
    return search_work(
        method, n, network.m, rows, request.threads,
        targets=None if request.targets is None else request.targets.size,
        limited=request.limit is not None, trees=request.predecessors, host_bytes=host_bytes,
        is_there=network._is_on_device,
    )  # fmt: skip


def _check_form(request: Request) -> None:
    """Refuse combinations of output options that exclude each other."""
    output, out = request.output, request.given_out
    alone = request.predecessors or request.nearest or output != "host"
    if request.arc_ends is not None and alone:
        raise ValueError(
            "target_arcs gives a table on the host: omit predecessors=, nearest= and output=; "
            "sssp.pairs finds the paths of trips to arcs"
        )
    if request.nearest and request.sources.size == 0:
        raise ValueError("nearest=True needs at least one source")
    if output not in ("host", "device", "sparse"):
        raise ValueError(f"output must be 'host', 'device' or 'sparse', not {output!r}")
    if output == "device" and out is not None:
        raise ValueError("output='device' makes arrays on the GPU: omit out=")
    if output == "device" and request.predecessors and request.targets is not None:
        raise ValueError(
            "paths to targets are put together on the host: omit output='device', or ask for all "
            "vertices"
        )
    if output == "sparse" and (request.targets is not None or out is not None):
        raise ValueError("output='sparse' holds all reached vertices: omit targets= and out=")


def _as_matrix(out: NDArray[Any], request: Request, n: int) -> NDArray[Any] | None:
    """Check the shape of `out`; return it as a matrix if searches can write into it, else None."""
    rows = () if request.single or request.nearest else (request.sources.size,)
    ends = request.arc_ends
    columns = request.columns(n) if ends is None else ends.arcs.size
    shape = rows if request.single_target else (*rows, columns)
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; the distances of this call have {shape}")
    if ends is not None:
        return None  # (distances of arcs follow from those that are searched)
    matrix = np.asarray(out)
    if request.single_target:
        matrix = matrix[..., np.newaxis]
    return matrix if rows else matrix[np.newaxis]
