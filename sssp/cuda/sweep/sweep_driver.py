"""Answer shortest-path requests by sweeps over a hierarchy, on a GPU.

The twin of `sssp.cpu.sweep.sweep_driver`. How many sources are swept at once is decided in
`sssp.cuda.batch_size`. Nearest sources, float weights whose tight arcs are
wanted, and integers whose sums leave int64 go by a search on the graph, on the same device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import kernel, launch_by_name
from sssp.cuda.device_memory import device_graph, on_host, upload
from sssp.cuda.pool import THREADS, current_pool
from sssp.cuda.search_driver import Rows, Setup
from sssp.cuda.sweep.customization import DeviceMap, device_map
from sssp.cuda.sweep.lanes import FEW, LanesSearch
from sssp.cuda.sweep.sweep_outputs import Folded, OfVersions, SideBySide, Summed, Transposed
from sssp.cuda.sweep.sweep_trips import find_trips
from sssp.cuda.sweep.target_selection import Packed, Selection
from sssp.engine.decay import FUNCTION
from sssp.engine.plan import Plan
from sssp.engine.reductions import TOTAL, Reduction
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT32, INT64
from sssp.methods import Method
from sssp.order import prepared_map
from sssp.order.prepared_map import PreparedMap

#: part of the vertices up to which targets are selected; for targets that nobody has asked for
#: before, so many distances of all vertices pay for it
SELECTED, WORTH_SELECTING = (1.0, 0) if SIMULATOR else (1 / 2, 1 << 30)

#: kinds of calls that a version of a map keeps what it has set up for, and that its memory does
MOST_KINDS, MOST_SEARCHES = 64, 8


def solve(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` in one dtype by sweeps; None if a distance may not fit the dtype.

    Raises
    ------
    DeviceError
        The device cannot be used, or one row does not fit into what it may take.
    """
    number = device_number(request.device)
    with select(number):
        sweep, fits = partial(_sweep, number), partial(_fits, number)
        return prepared_map.solve_by_sweeps(sweep, fits, hierarchy, request, method, dtype)


def reduce_versions(
    versions: Sequence[PreparedMap], plan: Plan[Request]
) -> Iterator[NDArray[Any] | None] | None:
    """Return an iterator that computes reductions under several weight sets; None if unsupported.

    Parameters
    ----------
    versions : sequence of PreparedMap
    plan : Plan
        For the first of them.

    Returns
    -------
    iterator or None
        None: not all distances are sure to fit int32, or rows are reduced after they are found, or
        the rows of one version fill the device. Else it yields None when all is set up, and when
        it is launched; and then the numbers, shape (versions, k) or (versions, k, c).

    Raises
    ------
    DeviceError
        As of `solve`.
    """
    request, number = plan.request, device_number(plan.request.device)
    are_small = all(
        one.graph.least_weight >= 0 and one._weight_range.working_dtypes(None)[0] == INT32
        for one in versions
    )
    if request.asked is not None or not are_small or not request.rows:
        return None
    with select(number):
        maps = [device_map(one, INT32, number).settle() for one in versions]
        if not all(one.fits for one in maps):
            return None
        if _ends_at_targets(request):
            request = prepared_map.weigh_targets(request)
        rows, request = request.rows, replace(request, sources=np.tile(request.sources, len(maps)))
        selection, searches = _selection(maps[0], request), []
        for one in maps:
            packed = None if selection is None else one.selected.of(selection, packed=False)
            kind = _kind_of(request, packed, whole=False)
            search = _kept_search(one, request, None, packed, whole=False, kind=kind)
            if not isinstance(search, Folded | Summed) or rows > search.rows_at_once:
                return None
            searches.append(search)
        graph = versions[0].graph
        question = graph, request, plan.method, INT32, OfVersions(searches, rows)
        found = Rows(Setup(*question, device_graph(graph, number)), request)

    def steps() -> Iterator[NDArray[Any] | None]:
        yield None
        try:
            with select(number):
                # (else memory for the next versions would have to wait for these sweeps)
                current_pool().wait()
                found.start()
            yield None
            with select(number):
                answer = found.finish()
        finally:
            with select(number):
                found.wait()
        assert answer is not None  # (all fit)
        yield answer.distances.reshape(len(versions), rows, *answer.distances.shape[1:])

    return steps()


def _sweep(
    number: int, hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer a request by sweeps on the current GPU; None if sums may overflow the dtype."""
    if request.nearest:
        return prepared_map.search_graph(hierarchy, request, method, dtype)
    there = device_map(hierarchy, dtype, number)
    # (whole rows are queued behind a customization, as if all fit; others wait for its end)
    if request.targets is not None or request.asked is not None or not there.joined:
        there.settle()
    if there.fits is False:
        return None
    if request.target_offsets is not None:
        return find_trips(there, hierarchy, request, method)
    width = request.width if request.targets is None else None
    whole = _is_whole(there, hierarchy, request)
    if width is not None and _stand_side_by_side(there, request, whole):
        request = replace(request, width=None)  # (all stand there: the first columns are cut off)
    elif width is not None:
        request = replace(request, targets=hierarchy.graph._first_vertices(width))
    if _ends_at_targets(request):
        request = prepared_map.weigh_targets(request)
    selection = _selection(there, request)
    packed = None if selection is None else there.selected.of(selection)
    kind = _kind_of(request, packed, whole)
    setup = there.setups.get(kind)
    if setup is None:
        setup = _set_up(there, hierarchy, request, method, packed, whole=whole, kind=kind)
        if len(there.setups) == MOST_KINDS:
            there.setups.clear()
        if kind is not None:
            there.setups[kind] = setup
    answer = setup.solve(request)
    if there.fits is None and not (there.settle().fits and there.joined):
        # (some sum may not fit, or some vertex is not reached: what was found is not the answer)
        return _sweep(number, hierarchy, request, method, dtype)
    if answer is not None and width is not None and request.targets is None:
        answer.distances = answer.distances.cut(width)
    return answer


def _fits(number: int, hierarchy: PreparedMap, request: Request, dtype: np.dtype[Any]) -> bool:
    """Return False if a check found that sums of arc weights may overflow the dtype, else True."""
    if request.nearest:
        return True
    there = device_map(hierarchy, dtype, number)
    return there.fits is not False if dtype == INT32 else bool(there.settle().fits)


def _set_up(
    on_device: DeviceMap,
    hierarchy: PreparedMap,
    request: Request,
    method: Method,
    packed: Packed | None,
    *,
    whole: bool,
    kind: Any,
) -> Setup:
    """Return the setup of a request's sweeps on a GPU: search, dtype and device graph."""
    graph = hierarchy.graph.without_closed_arcs() if request.predecessors else hierarchy.graph
    there, dtype, trees = device_graph(graph, device_number(request.device)), on_device.dtype, None
    if request.predecessors and graph._least_inner_weight > 0:
        trees = there.arcs(graph, dtype, reverse=True)
    # (a graph with turns, which is part of the kind, is to go with its version)
    kept = None if trees is not None or request.asked is not None else kind
    search = _kept_search(on_device, request, trees, packed, whole=whole, kind=kept)
    return Setup(graph, request, method, dtype, search, there)


def _kind_of(request: Request, packed: Packed | None, whole: bool) -> Any:
    """Return the cache key of the search for a request; None if it cannot be reused."""
    reduction = request.reduction
    if request.arc_ends is not None or (reduction is not None and reduction.key is None):
        return None
    return request.kind(), packed and packed.serial, whole


def _kept_search(
    on_device: DeviceMap,
    request: Request,
    trees: tuple[Any, ...] | None,
    packed: Packed | None,
    *,
    whole: bool,
    kind: Any,
) -> LanesSearch:
    """Return a sweep search for a request: a cached one of the same `kind`, or a new one.

    Versions of a map, one after the other, have the same memory, and so the same searches.
    """
    searches, key = on_device.loan.maps.searches, (on_device.number, kind)
    search = None if kind is None else searches.get(key)
    if search is None:
        search = _search_for(on_device.base, request, trees, packed, whole=whole)
        if kind is not None:
            if len(searches) >= MOST_SEARCHES * on_device.loan.maps.count:
                searches.clear()
            searches[key] = search
    return search


def _search_for(
    on_device: DeviceMap,
    request: Request,
    trees: tuple[Any, ...] | None,
    packed: Packed | None,
    *,
    whole: bool,
) -> LanesSearch:
    """Return a sweep object for a request: it outputs either distances or reductions."""
    targets, reduction = request.targets, request.reduction
    if request.predecessors and (trees is None or targets is not None):
        return Transposed(on_device, None, trees, direct=whole)
    in_lanes = targets is None or packed is not None
    if reduction is not None and in_lanes and _folds(on_device, reduction):
        return Folded(on_device, reduction, packed)
    if reduction is not None and in_lanes and _adds_in_order(on_device, reduction):
        return Summed(on_device, reduction.steps[0], packed)
    if _ends_at_targets(request):
        return Transposed(on_device, targets, packed=packed)
    if _stand_side_by_side(on_device, request, whole):
        return SideBySide(on_device, request.rows, trees)
    return Transposed(on_device, None, trees, direct=whole)


def _ends_at_targets(request: Request) -> bool:
    """Return whether a request's rows hold only the targets' distances, not all vertices'."""
    if request.targets is None or request.predecessors:
        return False
    # (a row has one column at least, and of no targets that holds anything)
    return request.reduction is None or request.targets.size > 0


def _stand_side_by_side(on_device: DeviceMap, request: Request, whole: bool) -> bool:
    """Return whether a distance matrix on the device is to be stored by columns, as sweeps do."""
    filled = request.rows > FEW and on_device.dtype != INT64
    return whole and filled and request.output == "device" and request.reduction is None


def _folds(on_device: DeviceMap, reduction: Reduction) -> bool:
    """Return whether a sweep can reduce distances by integer sums, exact in any order."""
    if on_device.dtype != INT32 or on_device.shifts.size or reduction.decay is not None:
        return False
    weights = reduction.vertex_weights
    if weights is None:
        return True
    # (there is room for one sum: of distances, or of weights)
    if weights.dtype.kind == "f" or weights.shape[1] != 1 or TOTAL in reduction.rule.steps:
        return False
    most = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    return most * len(weights) <= np.iinfo(INT64).max


def _adds_in_order(on_device: DeviceMap, reduction: Reduction) -> bool:
    """Return whether a reduction is one float sum that the GPU can add up in vertex order."""
    step = reduction.steps[0]
    if on_device.shifts.size or len(reduction.steps) > 1 or step.is_exact(on_device.dtype):
        return False
    return step.summand.kind != FUNCTION


def _selection(on_device: DeviceMap, request: Request) -> Selection | None:
    """Return the part of the elimination tree to sweep for some targets; None for all of it."""
    tree, targets = on_device.tree, request.targets
    if targets is None or not _ends_at_targets(request):
        return None
    if not 0 < targets.size <= tree.size * SELECTED:
        return None
    if request.rows * tree.size < WORTH_SELECTING and not tree.selections.come_again(targets):
        return None
    return tree.selections.of(tree, targets)


def _is_whole(on_device: DeviceMap, hierarchy: PreparedMap, request: Request) -> bool:
    """Return True if swept distances are final: no limit, no potentials, no unreached vertex."""
    if on_device.shifts.size or request.limit is not None:
        return False
    asked, known = request.asked, request.width is not None and request.targets is None
    # (what is found here serves only rows that are left side by side)
    left = known and request.output == "device" and request.rows > FEW
    if on_device.joined or not left or asked is None or asked.turns is None:
        return on_device.joined
    if on_device.joined_by_turns is None:
        on_device.joined_by_turns = _are_joined(on_device, hierarchy, asked)
    return on_device.joined_by_turns


def _are_joined(on_device: DeviceMap, hierarchy: PreparedMap, asked: Graph) -> bool:
    """Return whether, in a graph with turns, every vertex is known to reach every other vertex."""
    structure = hierarchy._structure

    def find_ends() -> dict[str, Any] | None:
        """Return device masks of start-only and end-only vertices; None if they do not suffice."""
        sinks, departures = prepared_map.ends_of_trips(hierarchy, asked)
        lower = np.repeat(np.arange(sinks.size), np.diff(structure.first))
        above = sinks[structure.upper]
        if (structure.parent[lower[above]] != structure.upper[above]).any():
            return None
        hidden = np.where(sinks[structure.parent], structure.depth - 1, -1).astype(INDEX)
        arrays = {"sinks": sinks, "departures": departures, "hidden": hidden}
        return {name: upload(array) for name, array in arrays.items()}

    tree = on_device.tree
    ends = tree.made.get_or_build("ends of trips", find_ends)
    if ends is None:
        return False
    tops, own = upload(np.zeros(2, INDEX)), tree.arrays | on_device.kept._asdict() | ends
    configuration = -(-structure.order.size // THREADS), THREADS
    launch_by_name(_count_tops_kernel, configuration, own, tops=tops)
    return bool((on_host(tops, cuda.default_stream()) == 1).all())


@kernel
def _count_tops_kernel(
    sinks, departures, hidden, kept_first, up_stop, up_depths, down_stop, down_ends, tops
):
    """Count the ranks that no arc leaves upward, and the ranks that no arc enters from above.

    Ends of trips do not count, nor do arcs to them from below: a thread per rank.

    ========== ===== ====== =========================================================
    argument   shape dtype  written by
    ========== ===== ====== =========================================================
    sinks      (n,)  bool   host: ranks where trips only end
    departures (n,)  bool   host: ranks where trips only begin
    hidden     (n,)  int32  host: the depth to which arcs up do not count, or -1
    kept_first (n,)  uint32 host: where the kept arcs of every rank begin
    up_stop    (n,)  uint32 customization: where those up from it end
    up_depths  (c,)  int32  customization: depths that they lead to
    down_stop  (n,)  uint32 customization: where those down to it end
    down_ends  (c,)  int32  customization: ranks that they come from
    tops       (2,)  int32  host: zeros; here
    ========== ===== ====== =========================================================
    """
    rank = uint32(cuda.grid(1))
    if rank >= sinks.size:
        return
    first = uint32(kept_first[rank])
    is_top, arc = not sinks[rank], first
    while arc < up_stop[rank]:
        is_top = is_top and up_depths[arc] == hidden[rank]
        arc = uint32(arc + 1)
    if is_top:
        cuda.atomic.add(tops, 0, 1)
    is_top, arc = not departures[rank], first
    while arc < down_stop[rank]:
        is_top = is_top and departures[uint32(down_ends[arc])]
        arc = uint32(arc + 1)
    if is_top:
        cuda.atomic.add(tops, 1, 1)
