"""`nearest`: the k nearest facilities of every vertex."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sssp.calls.choose_device import place
from sssp.calls.make_plan import make_request
from sssp.calls.shortest_paths import failure, run_plan
from sssp.cpu.search.nearest_labels import Table, empty_table, leads_on, merge_kernel, solve
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_count, as_network, as_vertices
from sssp.engine.check_memory import check_memory
from sssp.engine.choose_method import choose_method
from sssp.engine.device_names import named_device
from sssp.engine.narrow import bytes_of_entry, narrow
from sssp.engine.network import open_part, reversed_graph
from sssp.engine.plan import Plan, weights_of
from sssp.engine.progress import progress_bar
from sssp.engine.request import Request
from sssp.graph.check_arrays import as_choice
from sssp.kernels.dtypes import INDEX, INT64, largest_distance, unreached
from sssp.methods import METHODS, Dijkstra, Method, is_auto
from sssp.results.facilities import NearestFacilities

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy

#: what to do where the table does not fit
FEWER = "ask for a smaller k, or pass dtype='int32' or 'float32'"
#: and where that of a row a facility does not
UNPREPARED = "ask the graph itself (h.graph)"


def nearest(
    g: Graph | Hierarchy,
    facilities: ArrayLike,
    *,
    k: SupportsIndex = 1,
    direction: Literal["from", "to"] = "from",
    limit: float | None = None,
    method: str | Method = "auto",
    device: str = "auto",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> NearestFacilities:
    """Find the k nearest facilities of every vertex.

    Parameters
    ----------
    g : Graph or Hierarchy
        The graph.
    facilities : int, or array_like of int, shape (f,)
        Their vertices. Several at one vertex are different facilities.
    k : int
        How many to find for every vertex.
    direction : {"from", "to"}
        From a facility to the vertex (an ambulance), or from the vertex to a facility (a patient).
    limit : float, optional
        Greatest distance of interest, inclusive.
    method : str or Method
        ``"dijkstra"`` is one search with k labels a vertex, on the CPU; any other method of
        `sssp.shortest_paths` runs from every facility, and the best are kept. ``"auto"`` takes
        labels for more than 8 k facilities or with a limit, else ``delta-stepping``, with
        negative weights ``bellman-ford``; on a prepared map sweeps, but labels on its graph for
        more than 50 k facilities or with a limit.
    device : str
        As for `sssp.shortest_paths`; ``"auto"`` is the CPU. On a GPU ``"auto"`` runs
        ``delta-stepping`` from every facility.
    dtype, memory_limit, progress
        As for `sssp.shortest_paths`.
    threads : int, optional
        Greatest number of threads, for searches from every facility.

    Returns
    -------
    NearestFacilities
        Distances (n, k), ascending, and positions in `facilities`; among facilities at the same
        distance the smaller position comes first.

    Raises
    ------
    VertexError
        A facility is not a vertex.
    ValueError, TypeError
        k is not a number of 1 or more, another direction, or another argument is not what it should
        be.
    NegativeWeightError, NegativeCycleError, DistanceOverflowError, DeviceError
        As `sssp.shortest_paths`; only distances that are returned can be too long.

    See Also
    --------
    shortest_paths : With ``nearest=True`` for one facility a vertex and the paths that lead there.

    Notes
    -----
    O(k m log(k m)) time for one search with k labels (`sssp.cpu.search.nearest_labels`), whatever
    the number of facilities; from every facility f searches and O(f k n) for keeping the best.
    Memory for the result, and for labels or for 256 MiB of rows.

    Distances are those of ``shortest_paths(g, facility)``, in direction ``"to"`` those on
    ``g.reverse()``, to the bit. Which of two facilities comes first, if only rounding makes their
    distances equal floats, may depend on the method.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [4, 1, 1], directed=False)
    >>> r = sssp.nearest(g, [3, 0], k=2)
    >>> r.distances.tolist()
    [[0, 6], [2, 4], [1, 5], [0, 6]]
    >>> r.index.tolist()
    [[1, 0], [0, 1], [0, 1], [0, 1]]
    """
    user_network = as_network(g)
    network, chosen = choose_method(user_network, method, METHODS)
    as_choice(direction, "direction", "from", "to")
    places, _ = as_vertices(facilities, user_network, "facility")
    count = as_count(k, "k")
    prepared = network._methods is not None
    most = thresholds.FACILITIES_SWEPT if prepared else thresholds.FACILITIES_SEARCHED
    few = limit is None and places.size <= most * count
    by_labels = named_device(device) in ("auto", "cpu") and not few and network.least_weight >= 0
    if is_auto(method) and by_labels:
        chosen = Dijkstra()
    starts, wanted = places, None
    if user_network.turns is not None:
        ends = user_network.turns.expansion.begin, user_network.turns.expansion.end
        begin, wanted = ends if direction == "from" else ends[::-1]
        starts = begin[places]
    once = isinstance(chosen, Dijkstra)
    advice, options = UNPREPARED if prepared and not once else "", (limit, dtype, threads, progress)
    request = make_request(network, chosen, starts, *options, advice=advice)
    place(request, device, chosen, None, memory_limit=memory_limit)
    part = open_part(network._tree_graph if once else network)
    plan = Plan(part if direction == "from" else reversed_graph(part), request, chosen)
    asked = request.dtype
    if request.device == "cpu":
        size = network.n * count * (INDEX.itemsize + bytes_of_entry(asked or INT64, asked))
        check_memory({"the answer": size}, request.memory_limit, "cpu", FEWER)
    (distances, index), stats = (_search_once if once else _search_from_each)(plan, count)
    searched = None
    if wanted is not None:
        searched = distances[:, :1].copy(), index[:, :1].copy()
        distances, index = distances[wanted], index[wanted]
    return NearestFacilities(
        user_network._tree_graph,
        places,
        narrow(distances, asked),
        index,
        direction=direction,
        limit=request.limit,
        method=chosen.name,
        device=request.device,
        stats=stats,
        _searched=searched,
    )


def _search_once(plan: Plan[Request], k: int) -> tuple[Table, dict[str, int]]:
    """Search once from all facilities; return each vertex's k nearest, and statistics."""
    graph = plan.network._tree_graph
    for dtype in weights_of(graph, plan.method).working_dtypes(plan.request.dtype):
        found = solve(graph, plan.request, k, dtype)
        if found is not None:
            return found[0], {"settled": found[1]}
    raise failure(plan)


def _search_from_each(plan: Plan[Request], k: int) -> tuple[Table, dict[str, int]]:
    """Search from each facility; return each vertex's k nearest facilities, and statistics."""
    graph, request = plan.network._tree_graph.without_closed_arcs(), plan.request
    weights, limit = weights_of(graph, plan.method), request.limit
    dtype: np.dtype[Any] = weights.working_dtypes(request.dtype)[-1]
    longest = largest_distance(dtype).item()
    table = empty_table(graph.n, k, dtype)
    stats = dict.fromkeys(plan.method.statistics, 0)
    if weights.least >= 0:
        # what is too long is left out, and missed only where there is room for it
        limit = longest if limit is None else min(limit, longest)
    rows = replace(request, limit=limit, dtype=None if dtype.kind == "i" else dtype, progress=False)
    block = thresholds.MERGED_BYTES
    if request.device == "cpu":
        # beside the table there are rows, and what searches work in takes as much as they may
        rows.memory_limit -= sum(part.nbytes for part in table)
        block = min(block, rows.memory_limit // 2)
    size = max(1, block // max(1, graph.n * dtype.itemsize))
    first = 0
    with progress_bar(request.rows, request.progress) as advance:
        for part in plan._replace(request=rows).split(size):
            answer = run_plan(part)
            merge_kernel(answer.distances, unreached(answer.distances.dtype), first, *table)
            for name, counts in answer.stats.items():
                stats[name] += int(counts.sum())
            first += part.request.rows
            advance(part.request.rows)
            del answer  # (before there are the next rows)
    if float(weights.largest) * graph.n >= longest and leads_on(graph, table, request.limit):
        raise failure(plan)
    return table, stats
