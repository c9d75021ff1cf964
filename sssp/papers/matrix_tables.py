"""Published evaluations as data: three dense systems.

All pairs by repeated squaring: Xiao et al., "All-source pair shortest path parallel algorithm
based on GPU acceleration" (2023). Blocked Floyd-Warshall in three kernels, b = 32. Transitive
closure by boolean squaring: Xiao et al., "Parallel transitive closure algorithm for heterogeneous
architecture" (2021). Each on a machine of its own, none of which is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from sssp.methods import ClosureByWarshall, FloydWarshall, Method, RepeatedSquaring
from sssp.papers.methods import (
    BaselineBlockedFloydWarshall,
    BaselineClosure,
    BaselineFloydWarshall,
    BaselineSquaring,
)

__all__ = ["BLOCKS", "DENSE_TABLES", "PUBLISHED", "Contender", "Spec", "blocks_spec"]

#: arcs of a vertex in the graphs whose closure is made
DEGREE = 2
#: vertices of the blocks table; the smaller ones are for contenders that the last is too much for
BLOCKS_SIZES = (500, 1000, 2000, 5000)
#: sides of a tile there
BLOCKS = (4, 8, 16, 32)

#: what the papers print: by table, heading and line; None where the source at hand does not say
PUBLISHED: dict[str, dict[str, dict[int, float]]] = {
    "squaring": {
        "paper serial s": {10: 0.09, 10_000: 407.10},
        "paper parallel s": {10: 0.08, 10_000: 76.09},
        "paper GPU s": {10: 0.04, 10_000: 2.07},
    },
    "blocks": {"paper GPU s": {4: 0.96, 8: 0.94, 16: 0.85, 32: 0.91}},
    "floyd-warshall": {
        "paper plain GPU ms": {
            1000: 14.76,
            2500: 377.1,
            5000: 2971.0,
            7500: 10013.0,
            10_000: 22616.0,
        },
        "paper blocked GPU ms": {
            1000: 2.97,
            2500: 25.3,
            5000: 158.8,
            7500: 515.3,
            10_000: 1195.6,
        },
    },
    "closure": {},
}


@dataclass(frozen=True)
class Contender:
    """A column.

    Attributes
    ----------
    heading : str
        Of the column; in milliseconds.
    method : Method or None
        None: SciPy's Floyd-Warshall.
    device : str
    serial : bool
        Whether it has one thread, however many there are.
    """

    heading: str
    method: Method | None
    device: str = "cpu"
    serial: bool = False


@dataclass(frozen=True)
class Spec:
    """A table.

    Attributes
    ----------
    title, note : str
    sizes : tuple of int
        Vertices of its lines, ascending.
    contenders : tuple of Contender
    task : {"matrix", "closure"}
        All pairs of a complete graph, or the closure of one with `DEGREE` arcs a vertex.
    """

    title: str
    note: str
    sizes: tuple[int, ...]
    contenders: tuple[Contender, ...]
    task: str


OVER_LIMIT = (
    "A cell with an n of its own was measured at that n, the largest that keeps the row limit: "
    "it is not\nscaled to the line's n."
)
ALL_ROUNDS = RepeatedSquaring(early_stop=False)

DENSE_TABLES: dict[str, Spec] = {
    "squaring": Spec(
        "Xiao et al. 2023: all pairs by repeated squaring",
        "Ours: all squarings (early stop off), int32; baseline: the paper's kernel, float32, in\n"
        "tiles of 16 x 16. GPU: one call, from a matrix on the host to distances on the device.\n"
        "The paper's times for large n are below what its GPU can do for all squarings: nothing\n"
        "is claimed over them; of its lines only the first and the last are at hand.\n"
        f"{OVER_LIMIT}",
        (10, 50, 200, 300, 1400, 2000, 5000, 8920, 10_000),
        (
            Contender("serial ms", ALL_ROUNDS, serial=True),
            Contender("parallel ms", ALL_ROUNDS),
            Contender("GPU ms", ALL_ROUNDS, "cuda"),
            Contender("baseline GPU ms", BaselineSquaring(), "cuda"),
        ),
        "matrix",
    ),
    "floyd-warshall": Spec(
        "Blocked Floyd-Warshall, b = 32",
        "Ours: int32; baselines: the paper's kernels, float32. GPU: one call, from a matrix on\n"
        f"the host to distances on the device.\n{OVER_LIMIT}",
        (1000, 2500, 5000, 7500, 10_000),
        (
            Contender("SciPy ms", None),
            Contender("baseline serial ms", BaselineFloydWarshall(), serial=True),
            Contender("serial ms", FloydWarshall(), serial=True),
            Contender("parallel ms", FloydWarshall()),
            Contender("GPU ms", FloydWarshall(), "cuda"),
            Contender("baseline plain GPU ms", BaselineFloydWarshall(), "cuda"),
            Contender("baseline blocked GPU ms", BaselineBlockedFloydWarshall(), "cuda"),
        ),
        "matrix",
    ),
    "closure": Spec(
        "Xiao et al. 2021: transitive closure",
        f"Random graphs, {DEGREE} arcs a vertex. Baselines: the paper's boolean squaring in tiles\n"
        "of 16 x 16. The paper, up to m = 1,024: at most 593 times its serial and 209 times its\n"
        "OpenMP version; its times are not at hand. GPU: one call, packed words left on the\n"
        f"device.\n{OVER_LIMIT}",
        (20, 40, 50, 70, 200, 300, 500, 1024, 5000, 10_000),
        (
            Contender("baseline serial ms", BaselineClosure(), serial=True),
            Contender("baseline parallel ms", BaselineClosure()),
            Contender("serial ms", ClosureByWarshall(), serial=True),
            Contender("parallel ms", ClosureByWarshall()),
            Contender("GPU ms", ClosureByWarshall(), "cuda"),
            Contender("baseline GPU ms", BaselineClosure(), "cuda"),
        ),
        "closure",
    ),
}


def blocks_spec(side: int) -> Spec:
    """Return one line of the blocks table: the baseline with tiles of one size, over several n."""
    method = BaselineSquaring(side)
    return Spec(
        "Xiao et al. 2023: repeated squaring by the side of its tiles, n = 5,000",
        "The paper's kernel, float32, all squarings. GPU: one call, from a matrix on the host to\n"
        f"distances on the device.\n{OVER_LIMIT}",
        BLOCKS_SIZES,
        (
            Contender("baseline parallel ms", method),
            Contender("baseline GPU ms", method, "cuda"),
        ),
        "matrix",
    )
