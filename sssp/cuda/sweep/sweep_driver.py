"""Answer shortest-path requests by sweeps over a hierarchy, on a GPU.

The twin of `sssp.cpu.sweep.sweep_driver`. Nearest sources, float weights whose tight
arcs are wanted, and integers whose sums leave int64 go by a search on the graph, on the same
device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.compiler import SIMULATOR, device_number, select
from sssp.cuda.device_memory import device_graph
from sssp.cuda.search_driver import solve_rows
from sssp.cuda.sweep.device_maps import DeviceMap, device_map
from sssp.cuda.sweep.lanes import FEW, LanesSearch
from sssp.cuda.sweep.selection import Packed
from sssp.cuda.sweep.sweep_outputs import Folded, SideBySide, Turned
from sssp.cuda.sweep.sweep_trips import find_trips
from sssp.engine.reductions import TOTAL, Reduction
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INT32, INT64
from sssp.methods import Method
from sssp.order.prepared_map import PreparedMap, search_graph, solve_by_sweeps, weigh_targets

#: part of the vertices up to which targets are selected; for targets that nobody has asked for
#: before, so many distances of all vertices pay for it
SELECTED, WORTH_SELECTING = (1.0, 0) if SIMULATOR else (1 / 2, 1 << 30)


def solve(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer `request` in one dtype; None if a distance may be too long for it.

    Raises
    ------
    DeviceError
        The device cannot be used, or one row does not fit into what it may take.
    """
    with select(device_number(request.device)):
        return solve_by_sweeps(_sweep, _fits, hierarchy, request, method, dtype)


def _sweep(
    hierarchy: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer by sweeps, except nearest sources and trips, on the current device."""
    if request.width is not None and request.targets is None:
        request = replace(request, targets=hierarchy.graph._first_vertices(request.width))
    if request.nearest:
        return search_graph(hierarchy, request, method, dtype)
    graph = hierarchy.graph.without_closed_arcs() if request.predecessors else hierarchy.graph
    number = device_number(request.device)
    if request.target_offsets is not None:
        return find_trips(device_map(hierarchy, dtype, number), hierarchy, request, method)

    there, trees = device_map(hierarchy, dtype, number), None
    if request.predecessors and graph._least_inner_weight > 0:
        trees = device_graph(graph, number).arcs(graph, dtype, reverse=True)
    if _ends_at_targets(request):
        request = weigh_targets(request)
    search = _search_for(there, request, trees)
    return solve_rows(graph, request, method, dtype, lambda on_device: search)


def _fits(hierarchy: PreparedMap, request: Request, dtype: np.dtype[Any]) -> bool:
    """Return whether all sums of weights fit the dtype."""
    if request.nearest:
        return True
    return device_map(hierarchy, dtype, device_number(request.device)).fits


def _search_for(
    on_device: DeviceMap, request: Request, trees: tuple[Any, ...] | None
) -> LanesSearch:
    """Choose the output of the lanes; with arcs for trees, if lanes are enough to find them."""
    whole = _is_whole(on_device, request)
    if request.predecessors and (trees is None or request.targets is not None):
        return Turned(on_device, None, trees, direct=whole)
    if _ends_at_targets(request):
        assert request.targets is not None
        return _targets_search(
            on_device, request, _packed(on_device, request.targets, request.rows)
        )
    if (
        request.reduction is not None
        and request.targets is None
        and _folds(on_device, request.reduction)
    ):
        return Folded(on_device, request.reduction)
    if not _is_light(request):
        return Turned(on_device, None, trees, direct=whole)
    filled = request.rows > FEW and on_device.dtype != INT64
    if request.output == "device" and request.reduction is None and whole and filled:
        return SideBySide(on_device, request.rows, trees)
    return Turned(on_device, None, trees, direct=whole)


def _targets_search(on_device: DeviceMap, request: Request, packed: Packed | None) -> LanesSearch:
    """Choose the output of the lanes for a request with targets."""
    assert request.targets is not None
    reduction = request.reduction
    if reduction is not None and packed is not None and _folds(on_device, reduction):
        return Folded(on_device, reduction, packed)
    return Turned(on_device, request.targets, packed=packed)


def _ends_at_targets(request: Request) -> bool:
    """Return whether rows have only the columns of the targets."""
    if request.targets is None or request.predecessors:
        return False
    # (a row has one column at least, and of no targets that holds anything)
    return request.reduction is None or request.targets.size > 0


def _is_light(request: Request) -> bool:
    """Return whether a request is for distances, or only their number, sum and maximum."""
    reduction = request.reduction
    return reduction is None or (reduction.vertex_weights is None and reduction.decay is None)


def _folds(on_device: DeviceMap, reduction: Reduction) -> bool:
    """Return whether lanes can be reduced in place: to integers, which no order changes."""
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


def _packed(on_device: DeviceMap, targets: NDArray[np.int64], rows: int) -> Packed | None:
    """Return the selection to sweep for some targets, if faster than sweeping all vertices."""
    tree = on_device.tree
    if not 0 < targets.size <= tree.size * SELECTED:
        return None
    if rows * tree.size < WORTH_SELECTING and not tree.selections.come_again(targets):
        return None
    return on_device.selected.of(tree.selections.of(tree, targets))


def _is_whole(on_device: DeviceMap, request: Request) -> bool:
    """Return whether lanes need no changes: no limit, no potentials, connected."""
    return on_device.joined and not on_device.shifts.size and request.limit is None
