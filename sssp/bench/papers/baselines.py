"""Baseline algorithms of published papers, as method objects that are passed to calls.

Calls take them as objects only, as ``shortest_paths(g, 0, method=BaselineDijkstra())``: they have
no names in `sssp.methods`, so that only ``--table`` loads this folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sssp.methods import Method

#: sides of a tile in the papers' squaring
TILES = (4, 8, 16, 32)
_SEARCHES = {"cpu": "sssp.bench.papers.cpu_searches"}
_MATRIX = {"cpu": "sssp.bench.papers.cpu_matrix", "cuda": "sssp.bench.papers.cuda_matrix"}


@dataclass(frozen=True)
class BaselineDijkstra(Method):
    """Baseline of papers: Dijkstra that finds the nearest open vertex by linear search."""

    name: ClassVar[str] = "baseline-dijkstra"
    solvers: ClassVar[dict[str, str]] = _SEARCHES
    statistics: ClassVar[dict[str, str]] = {"settled": "vertices expanded"}


@dataclass(frozen=True)
class BaselineBellmanFord(Method):
    """Baseline of papers: Bellman-Ford that relaxes all arcs in each of n - 1 rounds."""

    name: ClassVar[str] = "baseline-bellman-ford"
    solvers: ClassVar[dict[str, str]] = _SEARCHES
    statistics: ClassVar[dict[str, str]] = {"rounds": "passes over all arcs"}
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineMatrix(Method):
    """Base class of the papers' baselines that solve all pairs on a dense matrix."""

    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = {"rounds": "passes over the matrix"}
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineFloydWarshall(BaselineMatrix):
    """Baseline of papers: Floyd-Warshall with one pass over the matrix per vertex."""

    name: ClassVar[str] = "baseline-floyd-warshall"


@dataclass(frozen=True)
class BaselineBlockedFloydWarshall(BaselineMatrix):
    """Baseline of papers: Floyd-Warshall in 32 x 32 tiles; on a GPU, a thread per tile entry."""

    name: ClassVar[str] = "baseline-blocked-floyd-warshall"


@dataclass(frozen=True)
class BaselineSquaring(BaselineMatrix):
    """Baseline: repeated min-plus squaring as published by Xiao et al. (2023).

    `block` is the side of a tile: 4, 8, 16 or 32.
    """

    name: ClassVar[str] = "baseline-squaring"
    block: int = 16

    def __post_init__(self) -> None:
        if self.block not in TILES:
            sides = ", ".join(map(str, TILES))
            raise ValueError(f"block must be one of {sides}, not {self.block!r}")


@dataclass(frozen=True)
class BaselineClosure(BaselineSquaring):
    """Baseline: transitive closure by boolean matrix squaring, as in Xiao et al. (2021)."""

    name: ClassVar[str] = "baseline-closure"
    task: ClassVar[str] = "closure"
    statistics: ClassVar[dict[str, str]] = {}
    weighted: ClassVar[bool] = False
