"""Answers a question about shortest paths by sweeps over a hierarchy, on a GPU.

The twin of `sssp.cpu.sweep.sweep_driver`. Nearest sources, float weights whose tight
arcs are wanted, and integers whose sums leave int64 go by a search on the graph, on the same
device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.batch import Search
from sssp.cuda.compiler import SIMULATOR, device_number, select
from sssp.cuda.device_memory import DeviceGraph
from sssp.cuda.search_driver import solve_rows
from sssp.cuda.sweep.device_maps import DeviceMap, device_map
from sssp.cuda.sweep.lanes import FEW, LanesSearch
from sssp.cuda.sweep.low_latency import answer_at_once
from sssp.cuda.sweep.selection import Packed
from sssp.cuda.sweep.sweep_outputs import Folded, SideBySide, Turned
from sssp.cuda.sweep.sweep_trips import found_trips
from sssp.engine.request import Answer, Query, Reduction
from sssp.kernels.dtypes import INT32, INT64
from sssp.methods import Method
from sssp.order.prepared_map import (
    PreparedMap,
    search_graph,
    solve_by_sweeps,
    weigh_targets,
)

#: part of the vertices up to which targets are selected; for targets that nobody has asked for
#: before, so many distances of all vertices pay for it
SELECTED, WORTH_SELECTING = (1.0, 0) if SIMULATOR else (1 / 2, 1 << 30)
#: bytes of a table that is answered at once
TABLE_BYTES = 512 << 20


def solve(
    hierarchy: PreparedMap, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `query` in one dtype; None if a distance may be too long for it.

    Raises
    ------
    DeviceError
        The device cannot be used, or one row does not fit into what it may take.
    """
    with select(device_number(query.device)):
        return solve_by_sweeps(_swept, _fits, hierarchy, query, method, dtype)


def _swept(
    hierarchy: PreparedMap, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer by sweeps, but for nearest sources; the device is current."""
    if query.nearest:
        return search_graph(hierarchy, query, method, dtype)
    graph = hierarchy.graph.open_part() if query.predecessors else hierarchy.graph
    number = device_number(query.device)

    def make_search(on_device: DeviceGraph) -> Search:
        there, trees = device_map(hierarchy, dtype, number), None
        if query.predecessors and graph.least_weight > 0:
            trees = on_device.arcs(graph, dtype, reverse=True)
        return _search_for(there, query, trees)

    if query.rows and query.stream is None and not query.predecessors:
        search = _ready_search(device_map(hierarchy, dtype, number), query)
        answer = None if search is None else answer_at_once(search, query, method)
        if answer is not None:
            return answer
    if _ends_at_targets(query):
        query = weigh_targets(query)
    return solve_rows(graph, query, method, dtype, make_search)


def solve_trips(
    hierarchy: PreparedMap, query: Query, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Find the distances of trips by climbs that meet; None if sums may leave the dtype.

    Raises
    ------
    DeviceError
        As `solve` does.
    """
    number = device_number(query.device)
    with select(number):
        on_device = device_map(hierarchy, dtype, number)
        return found_trips(on_device, hierarchy, query, method) if on_device.fits else None


def _fits(hierarchy: PreparedMap, query: Query, dtype: np.dtype[Any]) -> bool:
    """Whether no sum can leave a dtype; of a search on the graph that is for the search to tell."""
    if query.nearest:
        return True
    return device_map(hierarchy, dtype, device_number(query.device)).fits


def _ready_search(on_device: DeviceMap, query: Query) -> LanesSearch | None:
    """Return the search for what is answered at once; None: it is not.

    Those are whole rows of a few sources, on the host, and what comes of targets that have been
    selected before.
    """
    if query.targets is None:
        plain = query.rows <= FEW and query.output == "host" and query.reduction is None
        return Turned(on_device, None, direct=_is_whole(on_device, query)) if plain else None
    selection = on_device.tree.selections.known(query.targets)
    nbytes = query.rows * query.targets.size * on_device.dtype.itemsize
    if selection is None or query.output == "sparse" or not _is_light(query):
        return None
    search = _targets_search(on_device, query, on_device.selected.of(selection))
    assert search.rows_at_once is not None
    fits = query.rows <= search.rows_at_once if query.reduction is not None else True
    return search if fits and nbytes <= TABLE_BYTES else None


def _search_for(on_device: DeviceMap, query: Query, trees: tuple[Any, ...] | None) -> Search:
    """Choose what becomes of the lanes; with arcs to find trees by, if lanes do for that."""
    whole = _is_whole(on_device, query)
    if query.predecessors and (trees is None or query.targets is not None):
        return Turned(on_device, None, trees, direct=whole)
    if _ends_at_targets(query):
        assert query.targets is not None
        return _targets_search(on_device, query, _packed(on_device, query.targets, query.rows))
    if query.reduction is not None and query.targets is None and _folds(on_device, query.reduction):
        return Folded(on_device, query.reduction)
    if not _is_light(query):
        return Turned(on_device, None, trees, direct=whole)
    filled = query.rows > FEW and on_device.dtype != INT64
    if query.output == "device" and query.reduction is None and whole and filled:
        return SideBySide(on_device, query.rows, trees)
    return Turned(on_device, None, trees, direct=whole)


def _targets_search(on_device: DeviceMap, query: Query, packed: Packed | None) -> LanesSearch:
    """Choose what becomes of lanes that targets are found in."""
    assert query.targets is not None
    reduction = query.reduction
    if reduction is not None and packed is not None and _folds(on_device, reduction):
        return Folded(on_device, reduction, packed)
    return Turned(on_device, query.targets, packed=packed)


def _ends_at_targets(query: Query) -> bool:
    """Whether rows have the columns of its targets alone."""
    if query.targets is None or query.predecessors:
        return False
    # (a row has one column at least, and of no targets that holds anything)
    return query.reduction is None or query.targets.size > 0


def _is_light(query: Query) -> bool:
    """Whether it asks for distances, or only how many there are, their sum, and the greatest."""
    reduction = query.reduction
    return reduction is None or (reduction.vertex_weights is None and reduction.decay is None)


def _folds(on_device: DeviceMap, reduction: Reduction) -> bool:
    """Whether lanes are folded as they are: to whole numbers that no order changes."""
    if on_device.dtype != INT32 or on_device.shifts.size or reduction.decay is not None:
        return False
    weights = reduction.vertex_weights
    if weights is None:
        return True
    if weights.dtype.kind == "f" or weights.shape[1] != 1:
        return False
    most = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    return most * len(weights) <= np.iinfo(INT64).max


def _packed(on_device: DeviceMap, targets: NDArray[np.int64], rows: int) -> Packed | None:
    """Return what is swept for some targets, if that takes less time than to sweep all vertices."""
    tree = on_device.tree
    if not 0 < targets.size <= tree.size * SELECTED:
        return None
    if rows * tree.size < WORTH_SELECTING and not tree.selections.come_again(targets):
        return None
    return on_device.selected.of(tree.selections.of(tree, targets))


def _is_whole(on_device: DeviceMap, query: Query) -> bool:
    """Whether lanes are rows: what is not reached, or too far, is told where rows are turned."""
    return on_device.joined and not on_device.shifts.size and query.limit is None
