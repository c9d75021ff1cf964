"""The baselines as method objects: what the papers measure, and what they measure against.

Calls take them as objects only, as ``shortest_paths(g, 0, method=BaselineDijkstra())``: they have
no names among `sssp.methods`, so that nothing but ``--table`` loads this room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sssp.methods import Method

__all__ = [
    "BaselineBellmanFord",
    "BaselineBlockedFloydWarshall",
    "BaselineClosure",
    "BaselineDijkstra",
    "BaselineFloydWarshall",
    "BaselineSquaring",
]

#: sides of a tile that the papers' squaring comes in
TILES = (4, 8, 16, 32)
_SEARCHES = {"cpu": "sssp.papers.cpu_searches"}
_MATRIX = {"cpu": "sssp.papers.cpu_matrix", "cuda": "sssp.papers.cuda_matrix"}
_ROUNDS = {"rounds": "passes over the matrix"}


@dataclass(frozen=True)
class BaselineDijkstra(Method):
    """Dijkstra with a linear search over the open set, as papers measure against; a baseline."""

    name: ClassVar[str] = "baseline-dijkstra"
    solvers: ClassVar[dict[str, str]] = _SEARCHES
    statistics: ClassVar[dict[str, str]] = {"settled": "vertices expanded"}


@dataclass(frozen=True)
class BaselineBellmanFord(Method):
    """Bellman-Ford over all arcs for n - 1 rounds, as papers measure against; a baseline."""

    name: ClassVar[str] = "baseline-bellman-ford"
    solvers: ClassVar[dict[str, str]] = _SEARCHES
    statistics: ClassVar[dict[str, str]] = {"rounds": "passes over all arcs"}
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineFloydWarshall(Method):
    """Floyd-Warshall with a pass over the matrix for every vertex; a baseline."""

    name: ClassVar[str] = "baseline-floyd-warshall"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = _ROUNDS
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineBlockedFloydWarshall(Method):
    """Floyd-Warshall in blocks of 32, 1,024 CUDA threads each, as papers have it; a baseline."""

    name: ClassVar[str] = "baseline-blocked-floyd-warshall"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = _ROUNDS
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineSquaring(Method):
    """Repeated squaring as Xiao et al. (2023) have it, a CUDA thread an entry; a baseline.

    Parameters
    ----------
    block : {4, 8, 16, 32}
        Side of a tile.
    """

    name: ClassVar[str] = "baseline-squaring"
    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = _ROUNDS
    negative_weights: ClassVar[bool] = True
    block: int = 16

    def __post_init__(self) -> None:
        _check_tile(self.block)


@dataclass(frozen=True)
class BaselineClosure(Method):
    """Boolean squaring as Xiao et al. (2021) have it, a CUDA thread an entry; a baseline.

    Parameters
    ----------
    block : {4, 8, 16, 32}
        Side of a tile.
    """

    name: ClassVar[str] = "baseline-closure"
    task: ClassVar[str] = "closure"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = {}
    negative_weights: ClassVar[bool] = True
    weighted: ClassVar[bool] = False
    block: int = 16

    def __post_init__(self) -> None:
        _check_tile(self.block)


def _check_tile(block: int) -> None:
    if block not in TILES:
        raise ValueError(f"block must be one of {', '.join(map(str, TILES))}, not {block!r}")
