"""`shortest_paths`: distances and paths from one source or many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp.calls.make_plan import make_plan
from sssp.engine.cycles import error_of
from sssp.engine.narrow import convert_into, narrow
from sssp.engine.plan import Plan, overflow_error
from sssp.engine.request import Answer, Request
from sssp.methods import Method
from sssp.results.trees import ShortestPaths
from sssp.results.turned_paths import TurnedPaths

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy


def shortest_paths(
    g: Graph | Hierarchy,
    sources: ArrayLike | None = None,
    *,
    targets: ArrayLike | None = None,
    source_arcs: ArrayLike | None = None,
    target_arcs: ArrayLike | None = None,
    nearest: bool = False,
    limit: float | None = None,
    method: str | Method = "auto",
    device: str | Sequence[str] = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: Literal["host", "device", "sparse"] = "host",
    out: NDArray[Any] | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    stream: Any = None,
    progress: bool | None = None,
) -> ShortestPaths:
    """Find shortest paths from one source or many.

    Parameters
    ----------
    g : Graph or Hierarchy
        The graph. Weights may be integers (distances are exact) or floats.
    sources : int, or array_like of int, shape (k,)
        Vertices to start from: any integer type, and whatever NumPy takes for one row of
        integers, a pandas Series or Index too. An int gives results of shape (n,), a row (k, n);
        an empty one (0, n). Duplicates are kept.
    targets : int, or array_like of int, shape (t,), optional
        Vertices of interest: the search stops when all are settled, and `distances` has one
        column per target. Predecessors are kept as far as paths to the targets need them.
    source_arcs : int, or array_like of int, shape (k,), optional
        In place of `sources`: arcs, as positions in ``graph.indices`` (`Graph.arcs`), after which
        to start. Their weights do not count, but the turns from them do (`Graph.with_turns`).
    target_arcs : int, or array_like of int, shape (t,), optional
        In place of `targets`: arcs to drive to the end of. Their weights count, and the turns to
        them; from an arc to itself leads a round trip. Distances alone: `sssp.pairs` has paths.
    nearest : bool
        One search from all sources together: distances to the nearest of them, shape (n,), and
        `origin`, the source that is nearest (the smallest of several; of a source itself).
    limit : float, optional
        Greatest distance of interest, inclusive; what lies beyond is unreached. A path may not
        leave the limit and come back over negative arcs.
    method : str or Method
        A name from `sssp.methods.METHODS` or an object with options, as
        ``DeltaStepping(delta=5000)``; ``"auto"`` picks what measured fastest.
    device : str, or sequence of str
        ``"cpu"``, ``"cuda"`` or ``"cuda:N"``, obeyed or refused; several share the rows, and
        ``"cuda:all"`` is all GPUs. ``"auto"`` chooses one by what measured fastest (see Notes),
        unless the environment variable ``SSSP_DEVICE`` names one.
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
    memory_limit : number, optional
        Bytes that this call may take on the device (on each of several), results and scratch
        together, on a GPU the graph too; by default the machine's memory, or what is free on the
        GPU.
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
        A source or target is not a vertex.
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
    An OD table of integers with fewer targets than sources, and without trees, is searched from
    the targets on ``g.reverse()``, which is kept: a million homes and a thousand jobs take a
    thousand searches. It is the same table; its memory then is that of the transposed one, and
    `stats` counts the searches, one a target.

    A prepared map (`sssp.prepare`) in place of the graph gives the same answers. Distances of many
    sources are a view of memory that has those of a vertex side by side;
    ``np.ascontiguousarray(r.distances)`` has rows; with ``output="device"`` so are predecessors,
    where every weight is an integer above 0 and every vertex reaches every other. Trees of its
    float weights, and integers that leave int64, are searched for on the graph.

    O(m log m) time per source for ``dijkstra``, O(n m) for ``bellman-ford``; the other methods lie
    in between, and on road networks all but ``bellman-ford`` are close to O(n + m). Memory: the
    answer, and some 20 to 60 bytes per vertex for every thread.

    The same call gives the same distances and predecessors on every machine: among several
    shortest paths the tree takes the smallest tail at every vertex (`sssp.cpu.tree`).

    ``device="auto"`` leaves small graphs on the CPU, and one source on all but the largest, above
    all where there are many cores. On an H100 beside 16 cores the GPU pays from 64 sources on
    264,000 vertices or 4 on a million; but starting it takes a process 1.5 seconds, and some 10
    more where kernels have to be compiled, so the CPU goes on until that much work was worth it. A
    call whose `memory_limit` is given stays on the CPU; one with `stream` or ``output="device"``
    needs a GPU. See `sssp.calls.choose_device`. Of several GPUs each has the graph, and takes the
    next rows as it gets to them; the answer is in order, the same as from one, and stands twice in
    memory while its parts are put together, but with `out`.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> r = sssp.shortest_paths(g, 0, predecessors=True)
    >>> r.distances.tolist(), r.path(2).tolist()
    ([0, 5, 10], [0, 1, 2])
    """
    return solve_plan(
        make_plan(
            g, sources, targets=targets, source_arcs=source_arcs, target_arcs=target_arcs,
            nearest=nearest, limit=limit, method=method, device=device, predecessors=predecessors,
            dtype=dtype, output=output, out=out, threads=threads, memory_limit=memory_limit,
            stream=stream, progress=progress, from_either_end=True,
        )
    )  # fmt: skip


def solve_plan(plan: Plan[Request]) -> ShortestPaths:
    """Compute the shortest paths that a plan (a checked call) asks for; return the result.

    Raises
    ------
    NegativeCycleError, DistanceOverflowError, DeviceError
        As `shortest_paths` documents.
    """
    asked = plan.transposed or plan
    answer = asked.run()
    if answer is None:
        raise failure(asked)
    if plan.transposed is not None:
        answer.distances = answer.distances.T
    graph = plan.network._tree_graph
    kind, request = ShortestPaths, plan.request
    if request.arc_ends is not None:
        _, least = request.arc_ends.reach(answer.distances, request.limit)
        answer.distances = narrow(least, request.dtype)
    if request.asked is not None:
        kind, graph = TurnedPaths, request.asked
    result = kind(graph, request, answer, method=plan.method.name, device=answer.device)
    if request.given_out is not None:
        if request.out is None:
            convert_into(result.distances, request.given_out)
        result.distances = request.given_out
    return result


def run_plan(plan: Plan[Request]) -> Answer:
    """Answer a plan (a checked call); raise an error if no dtype is wide enough for a distance.

    Raises
    ------
    NegativeCycleError
        Distances have left every dtype because they are unbounded below.
    DistanceOverflowError
        They have not.
    """
    answer = plan.run()
    if answer is None:
        raise failure(plan)
    return answer


def failure(plan: Plan[Request]) -> Exception:
    """Return the error for a call that found no answer: negative cycle or distance overflow."""
    graph = plan.network._tree_graph.without_closed_arcs()
    if graph.least_weight < 0:
        from sssp.cpu.search.bellman_ford import negative_cycle_from

        sources = plan.request.sources
        cycle = negative_cycle_from(graph, sources)
        if cycle.size:
            return error_of(int(sources[0]), cycle)
    return overflow_error(plan.network, plan.request)
