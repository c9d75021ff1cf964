"""The arguments of a search, checked once: from a call to a plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.placement import Work, place_rows, search_work
from sssp.engine.check_arguments import (
    as_limit,
    as_network,
    as_out,
    as_vertices,
    distinct,
    refuse_negative,
    refuse_unprepared,
)
from sssp.engine.memory import FEWER_ROWS
from sssp.engine.network import is_on_device, methods_of, open_part, reversed_graph
from sssp.engine.plan import Plan, is_symmetric, weights_of
from sssp.engine.progress import check_progress
from sssp.engine.request import Reduction, Request
from sssp.engine.threads import check_threads
from sssp.graph.check_arrays import as_flag
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX
from sssp.methods import METHODS, BellmanFord, DeltaStepping, Method, as_method, is_auto

if TYPE_CHECKING:
    from sssp.prepared.hierarchy import Hierarchy

#: what ``"auto"`` stands for on road networks
FASTEST, WITH_NEGATIVE_WEIGHTS = DeltaStepping(), BellmanFord()


@dataclass(slots=True, kw_only=True)
class Options:
    """What a call says beside graph and sources, as it was given; `shortest_paths` explains it."""

    targets: ArrayLike | None = None
    nearest: bool = False
    limit: float | None = None
    method: str | Method = "auto"
    device: Any = "auto"
    predecessors: bool = False
    dtype: DTypeLike | None = None
    output: str = "host"
    out: NDArray[Any] | None = None
    threads: int | None = None
    memory_limit: float | None = None
    stream: Any = None
    progress: bool | None = None
    #: what the caller can do where memory is short; of the call itself, never given
    advice: str = field(default=FEWER_ROWS, init=False)


class Question(NamedTuple):
    """A plan, and the form in which the caller wants its answer.

    Attributes
    ----------
    plan : Plan
    single, single_target : bool
        Whether the call named one source or target with an int.
    out : ndarray or None
        Where the caller wants the distances, in the shape that was given.
    turned : Plan or None
        A plan that searches from the targets, on the reversed graph, if that is less work: its
        answer is the transposed one.
    """

    plan: Plan[Request]
    single: bool
    single_target: bool
    out: NDArray[Any] | None = None
    turned: Plan[Request] | None = None


def ask(
    g: Graph | Hierarchy,
    sources: ArrayLike,
    options: Options,
    reduction: Reduction | None = None,
    *,
    from_either_end: bool = False,
) -> Question:
    """Check the arguments of a search, and choose method and place.

    Parameters
    ----------
    g, sources, options
        As of the call.
    reduction : Reduction, optional
    from_either_end : bool
        Whether the call can do with the answer of a plan that searches from the targets.

    Raises
    ------
    VertexError, NegativeWeightError, DistanceOverflowError, DeviceError, ValueError, TypeError
        As `sssp.shortest_paths` documents.
    """
    graph = as_network(g)
    method = choose_method(graph, options.method)
    refuse_negative(graph, method)
    weights = weights_of(graph, method).dtype
    vertices, single = as_vertices(sources, graph, "source")
    nearest = as_flag(options.nearest, "nearest")
    if nearest and vertices.size == 0:
        raise ValueError("nearest=True needs at least one source")
    targets, single_target = None, False
    if options.targets is not None:
        targets, single_target = as_vertices(options.targets, graph, "target")
        if reduction is not None:
            targets = distinct(targets)
    out, dtype = as_out(options.out, options.dtype, weights)
    integral = weights.kind == "i" and (dtype is None or dtype.kind == "i")
    request = Request(
        sources=vertices,
        targets=targets,
        limit=as_limit(options.limit, integral=integral),
        dtype=dtype,
        nearest=nearest,
        predecessors=as_flag(options.predecessors, "predecessors"),
        output=options.output,
        reduction=reduction,
        advice=options.advice,
        threads=check_threads(options.threads),
        progress=check_progress(options.progress),
    )
    refuse_unprepared(graph, request)
    _check_output(request, out)
    if out is not None:
        request.out = _as_matrix(out, request, graph.n, single, single_target)
    turns = from_either_end and not single and _is_shorter_turned(graph, method, request)
    work = None
    if options.device == "auto":  # (who names a device gets it, however little there is to do)
        work = _estimate(graph, method, _turned(request) if turns else request)
    place = place_rows(
        request,
        options.device,
        method,
        work,
        stream=options.stream,
        memory_limit=options.memory_limit,
    )
    plan = Plan(graph, request, method, place.by_rule)
    turned = None
    if turns:
        back = reversed_graph(open_part(graph))
        turned = Plan(back, _turned(request), method, place.by_rule)
    return Question(plan, single, single_target, out, turned)


def _is_shorter_turned(graph: Graph, method: Method, request: Request) -> bool:
    """Whether searches from the targets are fewer and find the same."""
    return (
        request.targets is not None
        and request.targets.size < request.sources.size
        and not request.wants_tree
        and request.output == "host"
        and is_symmetric(request, graph.n, weights_of(graph, method))
    )


def _turned(request: Request) -> Request:
    """Return the same question with its ends exchanged."""
    assert request.targets is not None
    out = None if request.out is None else request.out.T
    return replace(request, sources=request.targets, targets=request.sources, out=out)


def choose_method(
    graph: Graph, method: str | Method, known: dict[str, type[Method]] = METHODS
) -> Method:
    """Obey the caller; ``"auto"`` is the fastest on road networks that takes the weights.

    A hierarchy has methods of its own.
    """
    own = methods_of(graph)
    if own is not None:
        return next(iter(own.values()))() if is_auto(method) else _own_method(method, own)
    if is_auto(method):
        return WITH_NEGATIVE_WEIGHTS if graph.least_weight < 0 else FASTEST
    return as_method(method, known)


def _own_method(method: str | Method, own: dict[str, type[Method]]) -> Method:
    try:
        return as_method(method, own)
    except ValueError as error:
        raise ValueError(f"{error}; of h.graph every method may be asked") from None


def _estimate(graph: Graph, method: Method, request: Request) -> Work | None:
    if "cuda" not in method.solvers:
        return None
    if request.reduction is not None and request.reduction.decay is not None:
        return None  # the host computes it, from whole rows
    if methods_of(graph) is not None and request.nearest:
        return None
    rows, n = request.rows, graph.n
    host_bytes = 0
    if request.output == "host" and request.reduction is None:
        itemsize = (request.dtype or graph._weight_range.dtype).itemsize
        trees = n * INDEX.itemsize if request.predecessors and request.targets is None else 0
        host_bytes = rows * (request.columns(n) * itemsize + trees)
    return search_work(
        method,
        n,
        graph.m,
        rows,
        request.threads,
        targets=None if request.targets is None else request.targets.size,
        limited=request.limit is not None,
        trees=request.predecessors,
        host_bytes=host_bytes,
        is_there=is_on_device(graph),
    )


def _check_output(request: Request, out: NDArray[Any] | None) -> None:
    output = request.output
    if output not in ("host", "device", "sparse"):
        raise ValueError(f"output must be 'host', 'device' or 'sparse', not {output!r}")
    if output == "device" and out is not None:
        raise ValueError("output='device' makes arrays on the GPU: leave out away")
    if output == "device" and request.predecessors and request.targets is not None:
        raise ValueError(
            "paths to targets are put together on the host: leave output='device' away, or ask "
            "for all vertices"
        )
    if output == "sparse" and (request.targets is not None or out is not None):
        raise ValueError("output='sparse' holds all reached vertices: leave targets and out away")


def _as_matrix(
    out: NDArray[Any], request: Request, n: int, single: bool, single_target: bool
) -> NDArray[Any]:
    """View `out` as (rows, columns), whatever axes the call has dropped."""
    rows = () if single or request.nearest else (request.sources.size,)
    columns = request.columns(n)
    shape = rows if single_target else (*rows, columns)
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; the distances of this call have {shape}")
    matrix = np.asarray(out)
    if single_target:
        matrix = matrix[..., np.newaxis]
    return matrix if rows else matrix[np.newaxis]
