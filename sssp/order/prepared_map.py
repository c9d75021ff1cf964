"""The protocol of prepared maps, and the cases where a search on the graph replaces sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sssp.engine.choose_method import FASTEST
from sssp.engine.network import Network
from sssp.engine.plan import solver_of
from sssp.engine.request import Answer, Request
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INT32, INT64
from sssp.methods import Method
from sssp.order.structure import Structure


class PreparedMap(Network, Protocol):
    """The part of a `Hierarchy` that solvers read: structure, and customized weights."""

    @property
    def graph(self) -> Graph:
        """The graph that the map was prepared from, with the weights of this map."""

    @property
    def _structure(self) -> Structure:
        """The structure: elimination order, elimination tree, chordal arcs; without weights."""

    @property
    def _slots(self) -> NDArray[np.uint32]:
        """Positions of the graph's arcs among the directed chordal arcs."""

    def _layered(self, dtype: np.dtype[Any], threads: int | None = None) -> Any:
        """Return the customized weights as numbers of `dtype`, computed on the CPU."""

    def _trip_labels(self, dtype: np.dtype[Any]) -> Any:
        """Return the distance labels stored for trips; None if none are stored in `dtype`."""


def solve_by_sweeps(
    sweep: Callable[[Any, Request, Method, np.dtype[Any]], Answer | None],
    fits: Callable[[Any, Request, np.dtype[Any]], bool],
    prepared: PreparedMap,
    request: Request,
    method: Method,
    dtype: np.dtype[Any],
) -> Answer | None:
    """Answer a request by sweeps or, if sweeps do not support it, by a search on the graph."""
    if dtype.kind == "f" and (request.outward or request.predecessors or request.wants_tree):
        return search_graph(prepared, request, method, dtype)
    if not fits(prepared, request, dtype):
        return None if dtype == INT32 else search_graph(prepared, request, method, dtype)
    return sweep(prepared, request, method, dtype)


def search_graph(
    prepared: PreparedMap, request: Request, method: Method, dtype: np.dtype[Any]
) -> Answer | None:
    """Answer a request by a search on the map's graph, on the device that the request names."""
    graph = prepared.graph.without_closed_arcs()
    flat = FASTEST[graph.least_weight < 0]
    answer: Answer | None = solver_of(flat, request.device).solve(graph, request, flat, dtype)
    if answer is not None:
        answer.searched_by = flat.name
        answer.stats = {name: np.zeros(request.rows, INT64) for name in method.statistics}
    return answer


def ends_of_trips(prepared: PreparedMap, asked: Graph) -> NDArray[np.bool_]:
    """Return two masks over ranks: vertices that can only end a trip, or only begin one.

    No arc leads on from the ones, and none into the others. `asked` is the graph with turns.
    """
    assert asked.turns is not None
    expansion, order = asked.turns.expansion, prepared._structure.order

    def build() -> NDArray[np.bool_]:
        begins, ends, entered = np.zeros((3, order.size), np.bool_)
        begins[expansion.begin] = ends[expansion.end] = entered[expansion.indices] = True
        return np.stack((ends & ~begins, begins & ~ends & ~entered))[:, order]

    return prepared.graph._shared("ends of trips", build)


def weigh_targets(request: Request) -> Request:
    """Return the request with its vertex weights cut down to the targets, in their order."""
    reduction, targets = request.reduction, request.targets
    if reduction is None or reduction.vertex_weights is None or targets is None:
        return request
    whole = reduction.vertex_weights
    reduction = replace(reduction, vertex_weights=whole[targets])
    held = request.reserved_bytes + whole.nbytes
    return replace(request, reduction=reduction, reserved_bytes=held)
