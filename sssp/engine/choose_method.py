"""Choose the method of a call: the caller's, or for ``"auto"`` the fastest on road networks.

The device is chosen in `sssp.calls.choose_device`; the measured sizes at which a choice changes are
in `sssp.engine.thresholds`. Two calls have a further rule of their own: `sssp.calls.pairs` takes A*
for sources with few targets (`consider_a_star`), and `sssp.calls.nearest` one search with labels
instead of one from each facility.
"""

from __future__ import annotations

from typing import Any

from sssp import methods
from sssp.engine import thresholds
from sssp.engine.device_names import kind_of, named_device
from sssp.graph.graph import Graph
from sssp.methods import Method, as_method, is_auto

#: the search that ``"auto"`` stands for on road networks, by whether a weight is negative
FASTEST: dict[bool, Method] = {False: methods.DeltaStepping(), True: methods.BellmanFord()}


def choose_method(
    user: Any, method: str | Method, known: dict[str, type[Method]]
) -> tuple[Any, Method]:
    """Return the network to search (the expansion of a graph with turns), and the method.

    That is the caller's method; for ``"auto"`` the fastest on road networks for such weights. A
    hierarchy has methods of its own.
    """
    searched = user if user.turns is None else user._searched
    own = searched._methods
    if is_auto(method):
        if own is not None:
            return searched, next(iter(own.values()))()
        return searched, FASTEST[searched._weight_range.least < 0]
    if own is not None:
        try:
            return searched, as_method(method, own)
        except ValueError as error:
            raise ValueError(f"{error}; h.graph takes every method") from None
    chosen = as_method(method, known)
    if chosen.weighted or user.turns is None:
        return searched, chosen
    return user._counting_streets()._searched, methods.CountingStreets()


def choose_dense_method(graph: Graph, method: str | Method, device: str) -> Method:
    """Return the method of `all_pairs`; for ``"auto"``, choose a dense method or searches.

    OpenCL has the dense methods alone.
    """
    if not is_auto(method):
        named = as_method(method, methods.METHODS | methods.DENSE_METHODS)
        if named.task != "search":
            graph._refuse_turns(f"method={named.name!r}")
        return named
    is_negative, n = graph._weight_range.least < 0, graph.n
    if graph.turns is not None:
        return FASTEST[is_negative]
    if kind_of(named_device(device)) == "opencl":
        return methods.FloydWarshall()
    searches = thresholds.PAIRS_PER_VERTEX * n + thresholds.PAIRS_PER_ARC * graph._count_entries()
    if searches >= n * n:
        return methods.FloydWarshall()
    return methods.Johnson() if is_negative else FASTEST[False]


def choose_closure_method(method: str | Method, device: str) -> Method:
    """Return the method of `transitive_closure`; for ``"auto"``, the fastest on the device."""
    if is_auto(method):
        on_opencl = kind_of(named_device(device)) == "opencl"
        return methods.ClosureBySquaring() if on_opencl else methods.ClosureByWarshall()
    return as_method(method, methods.CLOSURE_METHODS)
