"""Decide which calls the backend takes, and on which it is faster than NetworkX."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from functools import cache
from inspect import signature
from numbers import Real
from typing import Any

import networkx as nx

_found = re.match(r"(\d+)\.(\d+)", nx.__version__)
#: major and minor number
NETWORKX = tuple(map(int, _found.groups())) if _found else (0, 0)
#: the first one whose functions return what they return today, and that goes on without a backend
#: which refuses a graph; below it the backend declines
FIRST = (3, 5)
#: since when Floyd and Warshall's algorithm raises on a cycle of negative length, and takes a
#: missing weight for 1 instead of 1.0; before, it returned some numbers
FLOYD_WARSHALL_KNOWS_CYCLES = NETWORKX >= (3, 7)


#: fewest nodes from which the backend was faster than NetworkX (road-like graphs, two cores), on a
#: converted graph and on another. Measured from 30 to 30,000 nodes and on New York; the first call
#: may take 1.2 times as long. By what a call asks for; the same for all functions, for those of
#: NetworkX call each other, and its `shortest_path` writes into the paths that it gets. (Without
#: weights NetworkX has found one pair before the graph is converted, whatever its size.)
LEAST_NODES: dict[tuple[str, str], tuple[float, float]] = {
    ("one pair", "by weights"): (500, 5_000),
    ("one pair", "by hops"): (1_000, math.inf),
    ("one search", "by weights"): (150, 1_000),
    ("one search", "by hops"): (500, 3_500),
    ("all nodes", "by weights"): (30, 50),
    ("all nodes", "by hops"): (120, 120),
}
#: functions that search once, though no node is named
_ONE_SEARCH = {"negative_edge_cycle"}


def _why_not(parameter: str, value: Any, G: Any) -> str:
    """Return why the backend refuses a parameter value; an empty string if it accepts it."""
    match parameter:
        case "weight" | "distance" if callable(value):
            return "weights come from a function"
        case "cutoff" if value is not None:
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            return "" if is_number and value >= 0 else "the cutoff is not a number of 0 or more"
        case "sources" | "nodelist" if not isinstance(value, Collection | None):
            return "nodes come from an iterator"
        case "v" if not isinstance(value, Collection | None) and value not in G:
            return "v is neither a node nor a collection of nodes"
        case "sp" | "e" | "usebounds" if value:
            return "distances or bounds are given"
    return ""


def can_run(name: str, args: Collection[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if the backend supports a call, else False or a text with the reason.

    The weights are seen in the conversion, which may refuse them.
    """
    if NETWORKX < FIRST:
        return False
    given = _bind(name, args, kwargs)
    for parameter, value in given.items():
        if why_not := _why_not(parameter, value, given["G"]):
            return why_not
    return True


def should_run(name: str, args: Collection[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if the backend is likely faster than NetworkX on a call, else a reason (text)."""
    given = _bind(name, args, kwargs)
    G = given.get("G")
    if G is None:
        return True
    ends = [end for end in ("source", "sources", "target", "u", "v") if given.get(end) is not None]
    many = ("all nodes", "one search", "one pair")[len(ends)]
    attribute = given.get("weight", given.get("distance"))
    asked = (
        "one search" if name in _ONE_SEARCH else many,
        "by hops" if attribute is None else "by weights",
    )
    # the conversions that the cache of the graph holds
    cache_of_G = getattr(G, "__networkx_cache__", None) or {}
    kept = cache_of_G.get("backends", {}).get("sssp", {})
    is_converted = kept if attribute is None else (frozenset({(attribute, 1)}), False) in kept
    least = LEAST_NODES[asked][0 if is_converted else 1]
    state = "converted" if is_converted else "not converted yet"
    if len(G) >= least:
        return True
    return f"{' '.join(asked)} on a graph {state} pays from {least:,} nodes on, not on {len(G):,}"


#: of a function of NetworkX
_signature = cache(signature)


def _bind(name: str, args: Collection[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call's arguments by name; an empty dict if they do not fit the signature."""
    try:
        bound = _signature(getattr(nx, name).orig_func).bind(*args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return bound.arguments
