"""`all_pairs`: shortest paths between all vertices; `transitive_closure`: reachability."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sssp import methods
from sssp.calls.choose_device import matrix_work, place, search_work
from sssp.calls.johnson import johnson
from sssp.calls.make_plan import make_plan
from sssp.calls.shortest_paths import run_plan, solve_plan
from sssp.engine import matrix_request, thresholds
from sssp.engine.check_memory import NO_MATRIX, check_memory
from sssp.engine.choose_method import FASTEST, choose_closure_method, choose_dense_method
from sssp.engine.device_names import kind_of, refuse_several
from sssp.engine.narrow import narrow
from sssp.engine.network import methods_of, reversed_graph
from sssp.engine.plan import Plan, run_placed, solver_of
from sssp.engine.progress import check_progress
from sssp.engine.request import Answer, Request
from sssp.engine.threads import check_threads
from sssp.graph.check_arrays import as_choice, as_flag, is_sparse
from sssp.graph.graph import Graph
from sssp.graph.interop import entries_of
from sssp.graph.matrix import MatrixGraph, as_matrix, weight_range
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import INDEX, INT16, INT32, SHORT, distance_dtype, infinity, unreached
from sssp.results.trees import ShortestPaths

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix


#: what may solve in 16 bits; the papers' methods do not
SHORT_METHODS = methods.FloydWarshall, methods.RepeatedSquaring


def all_pairs(
    g_or_matrix: Graph | ArrayLike | sparray | spmatrix,
    *,
    method: str | methods.Method = "auto",
    device: str = "auto",
    predecessors: bool = False,
    dtype: DTypeLike | None = None,
    output: Literal["host", "device"] = "host",
    threads: int | None = None,
    memory_limit: float | None = None,
    stream: Any = None,
    progress: bool | None = None,
    zero_is_arc: bool = False,
) -> ShortestPaths:
    """Find shortest paths from every vertex to every other.

    Parameters
    ----------
    g_or_matrix : Graph, array_like of shape (n, n), or SciPy sparse matrix
        The graph. An entry (i, j) of a dense matrix is the weight of the arc i -> j; off the
        diagonal 0 and inf mean that there is none. The diagonal counts only where it is negative.
        In a sparse matrix every stored entry is an arc, zeros too. Lists are what NumPy makes of
        them: of integers alone integers, and with a float among them, inf too, float64.
    method : str or Method
        ``"floyd-warshall"``, ``"repeated-squaring"``, ``"johnson"``, or a method of
        `sssp.shortest_paths` (``"dijkstra"``) to run from every vertex. ``"auto"`` picks what
        measured fastest: Floyd-Warshall for dense graphs, searches from every vertex for others
        (Johnson's if a weight is negative).
    device : str
        As for `sssp.shortest_paths`; ``"auto"`` keeps the CPU for what it does in 40 ms
        (Floyd-Warshall for 2,000 vertices on 16 cores, 1,000 on 2), and for floats on a matrix, of
        which another device adds up other paths of the same length. ``"opencl"`` (the first GPU of
        any vendor, else the first device) and ``"opencl:N"``, which ``"auto"`` never takes, run
        Floyd-Warshall, the default there, and repeated squaring.
    predecessors : bool
        Also find the trees, for `path`.
    dtype : dtype, optional
        int16, int32, int64, float32 or float64 for the distances. By default int32 if every
        distance fits, else int64; float64 for floats. int16 takes half of the memory, for
        distances up to 32,766.
    output : {"host", "device"}
        Where the result is left.
    threads : int, optional
        Greatest number of threads, by default as `shortest_paths` has it.
    memory_limit : int, optional
        Bytes that results and scratch of this call may take; by default the machine's memory.
    stream : int or object with ``__cuda_stream__``, optional
        CUDA only: the stream in whose order the call stands.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal or notebook, after two seconds.
    zero_is_arc : bool
        Whether an off-diagonal 0 of a dense matrix is an arc of weight 0 instead of none.

    Returns
    -------
    ShortestPaths
        Of n rows: `distances` has shape (n, n), row i from vertex i. Its `graph` is made from a
        dense matrix when it is first needed (by `path_arcs`, `skim`, `load`, `verify`), so the
        matrix must not change before that.

    Raises
    ------
    NegativeCycleError
        There is a cycle of negative length; ``.cycle`` is one. On an undirected graph a
        negative arc is one.
    NegativeWeightError
        The method cannot take the graph's negative weights.
    DistanceOverflowError
        A distance does not fit the dtype fixed by the call, or int64.
    DeviceError
        The device does not exist, or the matrix needs more memory than the call may take.
    ValueError, TypeError
        Another argument is not what it should be; the message says which and why.

    Notes
    -----
    Floyd-Warshall takes n^3 steps, in place in one (n, n) matrix; repeated squaring log n times
    as many in two; searches from every vertex O(n m log n). Integers are exact whatever the
    method. Floyd-Warshall and repeated squaring add floats in another order than along the path:
    distances agree with those of searches within a few eps times the number of arcs, relative to
    the lengths along the path, and predecessors are those of the paths that were added up.

    Examples
    --------
    >>> import sssp
    >>> r = sssp.all_pairs([[0, 5, 20], [0, 0, 5], [1, 0, 0]], predecessors=True)
    >>> r.distances.tolist(), r.path(2, row=0).tolist()
    ([[0, 5, 10], [6, 0, 5], [1, 6, 0]], [0, 1, 2])
    """
    refuse_several(device)
    if methods_of(g_or_matrix) is not None:
        raise TypeError(
            "all_pairs takes a graph or a matrix; of a prepared map ask for "
            "sssp.shortest_paths(h, range(h.n))"
        )
    source: Any = g_or_matrix
    if not isinstance(source, Graph):
        source = Graph.from_scipy(source) if is_sparse(source) else as_matrix(source)
    graph = source if isinstance(source, Graph) else MatrixGraph.of(source, zero_is_arc)
    chosen = choose_dense_method(graph, method, device)
    as_choice(output, "output", "host", "device")
    asked = distance_dtype(dtype, graph._weight_range.dtype, short=True)
    if chosen.task == "search":
        if asked == INT16 and output == "device":
            raise ValueError(
                "dtype='int16' with output='device' takes method='floyd-warshall' or "
                "'repeated-squaring'"
            )
        plan = make_plan(
            graph, np.arange(graph.n), method=chosen, device=device, predecessors=predecessors,
            dtype=INT32 if asked == INT16 else dtype, output=output, threads=threads,
            memory_limit=memory_limit, stream=stream, progress=progress, advice=NO_MATRIX,
        )  # fmt: skip
        result = solve_plan(plan)
        if asked == INT16:
            result.distances = narrow(result.distances, INT16)
        return result
    request = Request(
        sources=np.arange(graph.n),
        dtype=asked,
        predecessors=as_flag(predecessors, "predecessors"),
        output=output,
        advice=NO_MATRIX,
        threads=check_threads(threads),
        progress=check_progress(progress),
    )
    n, threads, weights = graph.n, request.threads, graph._weight_range
    held = weights.dtype if asked is None else asked
    host_bytes = n * n * (held.itemsize + INDEX.itemsize * request.predecessors)
    if isinstance(chosen, methods.Johnson):
        work = search_work(methods.DeltaStepping(), n, graph.m, n, threads, host_bytes=host_bytes)
    elif held.kind == "f":  # (another device adds floats on a matrix in another order)
        work = None
    else:
        work = matrix_work(chosen, n, threads, host_bytes=host_bytes)
    place(request, device, chosen, work, stream=stream, memory_limit=memory_limit)

    def answer(request: Request) -> Answer:
        plan = Plan(graph, request, chosen)
        if not isinstance(chosen, methods.Johnson):
            return _by_matrix(plan, source, zero_is_arc)
        found = johnson(plan)
        found.device = request.device
        return found

    found = run_placed(request, answer)
    return ShortestPaths(graph, request, found, method=chosen.name, device=found.device)


def _by_matrix(plan: Plan[Request], source: Graph | NDArray[Any], zero_is_arc: bool) -> Answer:
    """Solve all pairs by a dense method; by searches if overflow or a negative cycle is possible.

    That is where a distance comes near the end of the widest dtype, and where rounding on a cycle
    of length zero seems to make it negative. OpenCL has no searches: the CPU takes them over.
    """
    graph, (_, request, method, _) = plan.network._tree_graph, plan
    on_matrix = matrix_request.MatrixRequest(
        n=graph.n,
        source=graph.without_closed_arcs() if isinstance(source, Graph) else source,
        zero_is_arc=zero_is_arc,
        weights=graph._weight_range,
        dtype=request.dtype,
        predecessors=request.predecessors,
        **request.resources(),
        short=type(method) in SHORT_METHODS and _may_be_short(graph, source, request.dtype),
    )
    if kind_of(request.device) == "opencl":
        request = replace(request, device="cpu")
    try:
        answer = Plan(graph, on_matrix, method).run()
    except matrix_request.NegativeDiagonalError as alarm:
        # a search from there either finds the cycle, and raises, or knows better
        from_there = replace(request, sources=np.array([alarm.vertex]), output="host")
        run_plan(Plan(graph, from_there, methods.BellmanFord()))
        answer = None
    if answer is not None:
        return answer
    search = FASTEST[graph.least_weight < 0]
    asked = INT32 if request.dtype == INT16 else request.dtype
    answer = run_plan(Plan(graph, replace(request, dtype=asked), search))
    if asked != request.dtype:
        answer.distances = narrow(answer.distances, request.dtype)
    answer.stats = {name: np.zeros(graph.n, np.int64) for name in method.statistics}
    return answer


def _may_be_short(graph: Graph, source: Graph | NDArray[Any], asked: np.dtype[Any] | None) -> bool:
    """Return whether 16-bit arithmetic is worth trying: whether all distances may fit 16 bits.

    They are not if the eccentricity of a vertex, outward or inward, and the heaviest arc come to
    it: that is how solvers tell that their dtype was too narrow. Where searches from a vertex and
    to it would take a good part of the time of the call, the solver finds out.
    """
    weights, far = graph._weight_range, int(infinity(SHORT))
    whole = weights.dtype.kind == "i" and asked in (None, INT16, INT32)
    small = not whole or weights.least < 0 or weights.greatest >= far
    if small or graph.n < max(1, thresholds.SHORT_VERTICES):
        return False
    if isinstance(source, Graph) and graph.m * thresholds.SHORT_ARCS <= graph.n * graph.n:
        vertex = Request(np.zeros(1, np.int64), threads=1)
        for towards in (graph, reversed_graph(graph)):
            distances = run_plan(Plan(towards, vertex, methods.DeltaStepping())).distances
            farthest = distances[distances != unreached(distances.dtype)].max()
            if int(farthest) + int(weights.greatest) >= far:
                return False
    return True


def transitive_closure(
    g_or_matrix: Graph | ArrayLike | sparray | spmatrix,
    *,
    reflexive: bool = True,
    method: str | methods.Method = "auto",
    device: str = "auto",
    packed: bool = False,
    output: Literal["host", "device"] = "host",
    threads: int | None = None,
    memory_limit: float | None = None,
    stream: Any = None,
    progress: bool | None = None,
) -> Any:
    """Find which vertices each vertex reaches.

    Parameters
    ----------
    g_or_matrix : Graph, array_like of shape (n, n), or SciPy sparse matrix
        The graph; weights do not matter. In a dense matrix every entry but 0 (False) and inf is
        an arc, also on the diagonal; in a sparse one every stored entry, but for stored False
        and inf. NaN and -inf are refused.
    reflexive : bool
        Whether every vertex reaches itself; if not, only over a cycle or a self-loop.
    method : str or Method
        ``"closure-by-warshall"`` or ``"closure-by-squaring"``; ``"auto"`` is the former, which
        measured faster, and on OpenCL the latter, which alone runs there.
    device : str
        As for `all_pairs`; ``"auto"`` keeps the CPU for what it does in 40 ms (15,000 vertices on
        16 cores, 7,000 on 2).
    packed : bool
        Return 64 columns to a word.
    output : {"host", "device"}
        Where the result is left; on a device it is packed.
    threads, memory_limit, stream, progress
        As for `sssp.all_pairs`.

    Returns
    -------
    ndarray of bool, shape (n, n)
        Row i: whether i reaches j. Packed: ndarray of uint64, shape (n, ceil(n / 64)); column j
        is bit ``j % 64`` of word ``j // 64``, and bits beyond n are 0.

    Raises
    ------
    DeviceError
        The device does not exist, or the matrix needs more memory than the call may take.
    ValueError, TypeError
        Another argument is not what it should be; or ``reflexive=False`` for a `Graph` that has
        dropped self-loops, of which it does not know where they were; or a `Graph` with turns.

    Notes
    -----
    n^3 / 512 steps on words of 64 vertices (see `sssp.cpu.matrix.transitive_closure`).

    Examples
    --------
    >>> import sssp
    >>> sssp.transitive_closure([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    chosen = choose_closure_method(method, device)
    reflexive, packed = as_flag(reflexive, "reflexive"), as_flag(packed, "packed")
    if isinstance(g_or_matrix, Graph):
        g_or_matrix._refuse_turns("transitive_closure")
    n, arcs, matrix = _as_pattern(g_or_matrix, reflexive)
    request = matrix_request.ClosureRequest(
        n=n,
        arcs=arcs,
        matrix=matrix,
        reflexive=reflexive,
        output=as_choice(output, "output", "host", "device"),
        advice="" if packed else "pass packed=True",
        threads=check_threads(threads),
        progress=check_progress(progress),
    )
    host_bytes = n * (8 * request.words + (0 if packed else n))
    work = matrix_work(chosen, n, request.threads, host_bytes=host_bytes)
    place(request, device, chosen, work, stream=stream, memory_limit=memory_limit)
    if output == "device" and not packed:
        raise ValueError("output='device' leaves packed words on the GPU: it needs packed=True")

    def answer(request: matrix_request.ClosureRequest) -> Any:
        if not packed and kind_of(request.device) != "cuda":
            parts = {"a boolean matrix": n * n, "packed": 8 * n * request.words}
            check_memory(parts, request.memory_limit, "cpu", request.advice)
        return solver_of(chosen, request.device).close(request, chosen)

    words = run_placed(request, answer)
    return words if packed else matrix_request.unpack_bits(words, n).view(np.bool_)


def _as_pattern(
    g_or_matrix: Any, reflexive: bool
) -> tuple[int, tuple[NDArray[Any], NDArray[Any]] | None, NDArray[Any] | None]:
    """Return the number of vertices and the arcs of a graph or matrix, in CSR or dense form."""
    if methods_of(g_or_matrix) is not None:
        raise TypeError("transitive_closure takes a graph or a matrix; pass h.graph")
    if isinstance(g_or_matrix, Graph):
        if g_or_matrix.self_loops and not reflexive:
            raise ValueError(
                f"this graph has dropped {g_or_matrix.self_loops} self-loops, so it does not know "
                "which vertices reach themselves over one; pass a matrix, or reflexive=True"
            )
        graph = g_or_matrix.without_closed_arcs()
        if graph.self_loops and not reflexive:
            # self-loops that have come to weigh 0 or more are left out there, but are arcs here
            closed = closed_weight(g_or_matrix.weights.dtype)
            arcs = np.where(g_or_matrix.weights == closed, closed_weight(np.dtype(np.int64)), -1)
            graph = g_or_matrix.with_weights(arcs).without_closed_arcs()
        return graph.n, (graph.indptr, graph.indices), None
    if is_sparse(g_or_matrix):
        from scipy.sparse import csr_array

        entries = entries_of(g_or_matrix)
        kept = np.isfinite(entries.data) & (entries.data.dtype.kind != "b" or entries.data)
        ends = entries.row[kept], entries.col[kept]
        pattern = csr_array((np.ones(len(ends[0]), np.bool_), ends), shape=entries.shape)
        return pattern.shape[0], (pattern.indptr, pattern.indices), None
    matrix = as_matrix(g_or_matrix)
    if matrix.dtype.kind == "f":
        weight_range(matrix)  # refuses what is not a number
    return len(matrix), None, matrix
