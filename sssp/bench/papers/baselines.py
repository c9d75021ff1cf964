"""The baselines of papers as method objects.

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
class BaselineMatrix(Method):
    """Base class of the baselines of dense methods."""

    task: ClassVar[str] = "matrix"
    solvers: ClassVar[dict[str, str]] = _MATRIX
    statistics: ClassVar[dict[str, str]] = {"rounds": "passes over the matrix"}
    negative_weights: ClassVar[bool] = True


@dataclass(frozen=True)
class BaselineFloydWarshall(BaselineMatrix):
    """Floyd-Warshall with a pass over the matrix for every vertex; a baseline."""

    name: ClassVar[str] = "baseline-floyd-warshall"


@dataclass(frozen=True)
class BaselineBlockedFloydWarshall(BaselineMatrix):
    """Floyd-Warshall in blocks of 32 by 1,024 CUDA threads each, as in papers; a baseline."""

    name: ClassVar[str] = "baseline-blocked-floyd-warshall"


@dataclass(frozen=True)
class BaselineSquaring(BaselineMatrix):
    """Repeated squaring as Xiao et al. (2023) have it, a CUDA thread per entry; a baseline.

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
    """Boolean squaring as Xiao et al. (2021) have it, a CUDA thread per entry; a baseline."""

    name: ClassVar[str] = "baseline-closure"
    task: ClassVar[str] = "closure"
    statistics: ClassVar[dict[str, str]] = {}
    weighted: ClassVar[bool] = False
