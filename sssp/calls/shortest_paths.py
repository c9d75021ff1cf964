"""`shortest_paths`: checks the arguments, chooses method and device, calls one solver.

This is the one place that checks; solvers trust the `Query` that it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sssp.calls.placement import Place, Work, choose_device, search_work
from sssp.engine.query import Answer, Query, Reduction, as_limit, as_vertices, physical_memory
from sssp.engine.threads import check_threads
from sssp.errors import DeviceError, NegativeWeightError
from sssp.kernels.dtypes import INDEX, INT32, distance_dtype
from sssp.methods import BellmanFord, DeltaStepping, Method, as_method
from sssp.results.shortest_paths import ShortestPaths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sssp.graph.graph import Graph

__all__ = ["shortest_paths"]

#: module of the solver of every method, below the package of the device
SOLVERS = {
    "dijkstra": "search.dijkstra",
    "delta-stepping": "search.delta_stepping",
    "bellman-ford": "search.bellman_ford",
    "threshold-dijkstra": "search.threshold_dijkstra",
    "breadth-first": "search.breadth_first",
    "baseline-dijkstra": "papers.cpu_searches",
    "baseline-bellman-ford": "papers.cpu_searches",
}
#: methods that have a twin in sssp.cuda
CUDA_METHODS = {"bellman-ford", "delta-stepping", "threshold-dijkstra"}


def shortest_paths(
    g: Graph,
    sources: int | Sequence[int] | NDArray[np.integer[Any]],
    *,
    targets: int | Sequence[int] | NDArray[np.integer[Any]] | None = None,
    nearest: bool = False,
    limit: float | None = None,
    method: str | Method = "auto",
    device: str = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: Literal["host", "device", "sparse"] = "host",
    out: NDArray[Any] | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: bool | None = None,
) -> ShortestPaths:
    """Find shortest paths from one source or many.

    Parameters
    ----------
    g : Graph
        The graph. Weights may be integers (distances are exact) or floats.
    sources : int, or sequence of int, shape (k,)
        Vertices to start from. An int gives results of shape (n,), a sequence (k, n); an
        empty one (0, n). Duplicates are kept.
    targets : int, or sequence of int, shape (t,), optional
        Vertices of interest: the search stops when all are settled, and `distances` has one
        column a target. Predecessors reach as far as the farthest target.
    nearest : bool
        One search from all sources together: distances to the nearest of them, shape (n,), and
        `origin`, the source that is nearest (the smallest of several).
    limit : float, optional
        Greatest distance of interest, inclusive; what lies beyond is unreached. A path may not
        leave the limit and come back over negative arcs.
    method : str or Method
        A name from `sssp.methods.METHODS` or an object with options, as
        ``DeltaStepping(delta=5000)``; ``"auto"`` picks what measured fastest.
    device : str
        ``"cpu"``, ``"cuda"`` or ``"cuda:N"``, obeyed or refused; ``"auto"`` chooses by what
        measured fastest (see Notes), unless the environment variable ``SSSP_DEVICE`` names one.
    predecessors : bool
        Also find the tree, for `path`.
    dtype : dtype, optional
        int32, int64, float32 or float64 for the distances. By default int32 if every distance
        fits, else int64; float64 for float weights.
    output : {"host", "device", "sparse"}
        A dense matrix; one that stays on the GPU, for CuPy, PyTorch and others; or a
        `scipy.sparse.csr_array` of the reached vertices.
    out : ndarray or memmap, shape of `distances`, optional
        Where the distances go; its dtype is that of the call.
    threads : int, optional
        Greatest number of threads; by default what `set_threads` or the environment variable
        ``SSSP_THREADS`` says, else all cores that the process may use (fewer where a container
        has a CPU quota).
    memory_limit : int, optional
        Bytes that this call may take on the device, results and scratch together, on a GPU the
        graph too; by default the machine's memory, or what is free on the GPU.
    stream : int, or object with ``__cuda_stream__``, optional
        CUDA only. The call begins after what this stream has queued, and stands in its order:
        arrays on the device are ready for work that the stream gets afterwards.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal or notebook, after two seconds.

    Returns
    -------
    ShortestPaths

    Raises
    ------
    VertexError
        A source or target is no vertex.
    NegativeWeightError
        The method cannot take the graph's negative weights.
    NegativeCycleError
        A source reaches a cycle of negative length.
    DistanceOverflowError
        A distance does not fit the dtype fixed by the call, or int64.
    DeviceError
        The device does not exist, or the answer needs more memory than the call may take.
    ValueError, TypeError
        Another argument is not what it should be; the message says which and why.

    Notes
    -----
    The same call gives the same distances and predecessors on every machine: among several
    shortest paths the tree takes the smallest tail at every vertex (see `sssp.cpu.tree`).

    ``device="auto"`` leaves small graphs on the CPU, and one source on all but the largest, above
    all where there are many cores. On an H100 beside 16 cores the GPU pays from 64 sources on
    264,000 vertices or 4 on a million; but starting it takes a process 5 to 16 seconds, so the
    CPU goes on until that much work was worth it. A call whose `memory_limit` is given stays on
    the CPU; one with `stream` or ``output="device"`` needs a GPU. See `sssp.calls.placement`.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> r = sssp.shortest_paths(g, 0, predecessors=True)
    >>> r.distances.tolist(), r.path(2).tolist()
    ([0, 5, 10], [0, 1, 2])
    """
    plan = plan_query(
        g,
        sources,
        targets=targets,
        nearest=nearest,
        limit=limit,
        method=method,
        device=device,
        predecessors=predecessors,
        dtype=dtype,
        output=output,
        out=out,
        threads=threads,
        memory_limit=memory_limit,
        stream=stream,
        progress=progress,
    )
    query, answer = answer_query(g, plan)
    result = ShortestPaths(
        g,
        query,
        answer,
        single=plan.single,
        single_target=plan.single_target,
        method=plan.method.name,
        device=query.device,
    )
    if out is not None:
        result.distances = out
    return result


@dataclass(frozen=True)
class Plan:
    """A checked call: the question, and who answers it.

    Attributes
    ----------
    query : Query
    place : Place
        Its device, and whether the CPU may take over.
    method : Method
    single, single_target : bool
        Whether the call named one source or target with an int.
    """

    query: Query
    place: Place
    method: Method
    single: bool
    single_target: bool


def plan_query(
    g: Graph,
    sources: int | Sequence[int] | NDArray[np.integer[Any]],
    *,
    targets: int | Sequence[int] | NDArray[np.integer[Any]] | None = None,
    nearest: bool = False,
    limit: float | None = None,
    method: str | Method = "auto",
    device: str = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: str = "host",
    out: NDArray[Any] | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: bool | None = None,
    reduction: Reduction | None = None,
) -> Plan:
    """Check the arguments of `shortest_paths` (and a reduction) and choose the method."""
    chosen = _choose_method(g, method)
    _check_weights(g, chosen)
    source_array, single = as_vertices(sources, g.n, "source")
    if nearest and source_array.size == 0:
        raise ValueError("nearest=True needs at least one source")
    target_array, single_target = None, False
    if targets is not None:
        target_array, single_target = as_vertices(targets, g.n, "target")
    weights_dtype = g.weights.dtype if chosen.weighted else INT32
    asked = _check_dtype(dtype, out, weights_dtype)
    integral = weights_dtype.kind == "i" and (asked is None or asked.kind == "i")
    query = Query(
        sources=source_array,
        targets=target_array,
        limit=as_limit(limit, integral),
        dtype=asked,
        nearest=nearest,
        predecessors=predecessors,
        output=output,
        reduction=reduction,
        threads=check_threads(threads),
        progress=progress,
    )
    work = None
    if chosen.name in CUDA_METHODS and _same_everywhere(g, query):
        work = _estimate(g, chosen, query)
    place = choose_device(
        device, chosen.name, work, output=output, stream=stream, memory_limit=memory_limit
    )
    if place.device != "cpu" and chosen.name not in CUDA_METHODS:
        raise DeviceError(
            f"{chosen.name} does not run on cuda; methods that do: "
            f"{', '.join(sorted(CUDA_METHODS))}"
        )
    query = replace(
        query,
        output=_check_output(output, place.device, target_array, out),
        device=place.device,
        memory_limit=check_memory_limit(memory_limit, place.device),
        stream=check_stream(stream, place.device),
    )
    if out is not None:
        query = replace(query, out=_as_matrix(out, query, g.n, single, single_target))
    return Plan(query, place, chosen, single, single_target)


def answer_query(g: Graph, plan: Plan) -> tuple[Query, Answer]:
    """Call the one solver that a plan names; return the query as it was answered."""

    def attempt(device: str) -> tuple[Query, Answer]:
        query = plan.query
        if device != query.device:
            query = replace(query, device=device, memory_limit=check_memory_limit(None, device))
        return query, solver_of(plan.method, device, SOLVERS).solve(g, query, plan.method)

    return plan.place.answer(attempt)


def solver_of(method: Method, device: str, modules: dict[str, str]) -> Any:
    """Import the module, of those by names of methods, that has the solver for a device."""
    package = "cpu" if device == "cpu" else "cuda"
    module = modules[method.name]
    if module == "papers.matrix":
        module = f"papers.{package}_matrix"
    if module.startswith("papers."):
        return import_module(f"sssp.{module}")
    return import_module(f"sssp.{package}.{module}")


def _choose_method(g: Graph, method: str | Method) -> Method:
    """Obey the caller; ``"auto"`` is the fastest on road networks that takes the weights."""
    if method != "auto":
        return as_method(method)
    return BellmanFord() if g.least_weight < 0 else DeltaStepping()


def _same_everywhere(g: Graph, query: Query) -> bool:
    """Whether no sum of floats is rounded in an order that depends on the device."""
    reduction = query.reduction
    if reduction is None or reduction.what not in ("sum", "weight"):
        return True
    summed = g.weights if reduction.vertex_weights is None else reduction.vertex_weights
    return summed.dtype.kind != "f"


def _estimate(g: Graph, method: Method, query: Query) -> Work:
    rows, targets = query.rows, query.targets
    columns = g.n if targets is None else targets.size
    host_bytes = 0
    if query.output == "host" and query.reduction is None:
        itemsize = (query.dtype or g.weights.dtype).itemsize
        host_bytes = rows * (columns * itemsize + (g.n * INDEX.itemsize * query.predecessors))
    return search_work(
        method.name,
        g.n,
        g.m,
        rows,
        query.threads,
        targets=None if targets is None else targets.size,
        limited=query.limit is not None,
        host_bytes=host_bytes,
    )


def _check_weights(g: Graph, method: Method) -> None:
    if g.least_weight < 0 and not method.negative_weights:
        arc = int(np.argmin(g.weights))
        raise NegativeWeightError(
            f"{method.name} needs weights >= 0, but the arc {g.tails[arc]} -> {g.indices[arc]} "
            f"weighs {g.weights[arc]}"
        )


def _check_dtype(
    dtype: DTypeLike | None, out: NDArray[Any] | None, weights_dtype: np.dtype[Any]
) -> np.dtype[Any] | None:
    asked = distance_dtype(dtype, weights_dtype)
    if out is None:
        return asked
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array or memmap, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ValueError("out is read-only; pass an array that can be written")
    if asked is not None and asked != out.dtype:
        raise TypeError(f"out holds {out.dtype}, but dtype is {asked}; leave dtype out")
    return distance_dtype(out.dtype, weights_dtype)


def _check_output(
    output: str, device: str, targets: NDArray[np.int64] | None, out: NDArray[Any] | None
) -> str:
    if output not in ("host", "device", "sparse"):
        raise ValueError(f"output must be 'host', 'device' or 'sparse', not {output!r}")
    check_place(output, device)
    if output == "device" and out is not None:
        raise ValueError("output='device' makes arrays on the GPU: leave out away")
    if output == "sparse" and (targets is not None or out is not None):
        raise ValueError("output='sparse' holds all reached vertices: leave targets and out away")
    return output


def check_place(output: str, device: str) -> None:
    """Refuse to leave on a GPU what is not made there."""
    if output == "device" and device == "cpu":
        raise ValueError("output='device' leaves the result on a GPU: it needs device='cuda'")


def check_memory_limit(memory_limit: int | None, device: str) -> int:
    """Return the bytes that a call may take: by default the machine's, or no limit on CUDA."""
    if memory_limit is None:
        return physical_memory() if device == "cpu" else Query.memory_limit
    if isinstance(memory_limit, bool) or not isinstance(memory_limit, int) or memory_limit < 0:
        raise ValueError(f"memory_limit must be a number of bytes, not {memory_limit!r}")
    return memory_limit


def check_stream(stream: Any, device: str) -> int | None:
    """Return the handle of the caller's stream."""
    if stream is None:
        return None
    if device == "cpu":
        raise ValueError("stream= orders work on a GPU: it needs device='cuda'")
    handle = stream
    if hasattr(stream, "__cuda_stream__"):
        _, handle = stream.__cuda_stream__()
    if isinstance(handle, bool) or not isinstance(handle, int) or handle < 0:
        raise TypeError(
            f"stream must be an int or an object with __cuda_stream__, not {stream!r}; "
            "CuPy's handle is stream.ptr, PyTorch's stream.cuda_stream"
        )
    return handle


def _as_matrix(
    out: NDArray[Any], query: Query, n: int, single: bool, single_target: bool
) -> NDArray[Any]:
    """View `out` as (rows, columns), whatever axes the call has dropped."""
    rows = () if single or query.nearest else (query.sources.size,)
    columns = n if query.targets is None else query.targets.size
    shape = rows if single_target else (*rows, columns)
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; the distances of this call have {shape}")
    matrix = np.asarray(out)
    if single_target:
        matrix = matrix[..., np.newaxis]
    return matrix if rows else matrix[np.newaxis]
