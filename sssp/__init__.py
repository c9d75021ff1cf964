"""Exact shortest paths on road networks, on GPUs and CPUs.

Graphs are CSR arrays: the arcs of vertex ``v`` are ``indices[indptr[v]:indptr[v + 1]]`` (heads)
with ``weights[indptr[v]:indptr[v + 1]]``. Vertices are 0-based; a graph may carry labels, such
as the 1-based numbers of a DIMACS file. Integer weights give exact integer distances.

    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> sssp.shortest_paths(g, 0).distances.tolist()
    [0, 5, 10]

Public names are resolved on first use (PEP 562), so that ``import sssp`` costs next to nothing.
"""

import sys
from importlib import import_module
from os.path import dirname, isdir
from types import SimpleNamespace
from typing import Any

#: the only place that states the version; pyproject.toml reads it here
__version__ = "0.1.0"

#: the public names, by the module that defines them
_NAMES = {
    "apps.jobs.job": "run",
    "calls.all_pairs": "all_pairs transitive_closure",
    "calls.alternatives": "alternatives",
    "calls.assign": "Assignment assign",
    "calls.betweenness": "betweenness",
    "calls.load_demand": "Flows load skim",
    "calls.many_sources": "iter_blocks reduce",
    "calls.nearest": "nearest",
    "calls.pairs": "pairs times_by_departure",
    "calls.read_osm": "read_osm",
    "calls.read_tntp": "read_tntp",
    "calls.shortest_paths": "shortest_paths",
    "certificate": "verify",
    "cpu.link_costs": "BPR Conical",
    "datasets.generate": "road_like",
    "engine.threads": "set_threads",
    "errors": (
        "DeviceError DistanceOverflowError GraphFormatError JobError MissingExtraError "
        "NegativeCycleError NegativeWeightError SSSPError UnreachableError VerificationError "
        "VertexError"
    ),
    "graph": "Graph read_graph",
    "loaders": "Profile",
    "methods": (
        "AStar BellmanFord BreadthFirst ClosureBySquaring ClosureByWarshall DeltaStepping "
        "Dijkstra FloydWarshall Johnson RepeatedSquaring ThresholdDijkstra"
    ),
    "prepared.hierarchy": "Hierarchy",
    "prepared.read_hierarchy": "read_hierarchy",
    "prepared.prepare": "prepare",
    "results": "Alternatives NearestFacilities ShortestPaths Trips",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

#: the modules that a user may import, which are here without that too
_MODULES = ("certificate", "csgraph", "datasets", "errors", "loaders", "methods")

__all__ = sorted(_HOMES)


# in a checkout the folder of `sssp.loaders` stands beside this one, in a wheel within it
if not isdir(f"{__path__[0]}/loaders"):

    def _find_loaders(name: str, path: object = None, target: object = None) -> Any:
        """Return the import spec of `sssp.loaders`; None for every other module."""
        if name != "sssp.loaders":
            return None
        from importlib.machinery import PathFinder  # (not before it is needed)

        return PathFinder.find_spec(name, [dirname(__path__[0])])

    # (first: an installed checkout elsewhere would find its own)
    sys.meta_path.insert(0, SimpleNamespace(find_spec=_find_loaders))  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sssp.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sssp' has no attribute {name!r}")
    value = getattr(import_module(f"sssp.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
