"""Published figures of three dense systems, and our own beside them.

All pairs by repeated squaring: Xiao et al., "All-source pair shortest path parallel algorithm
based on GPU acceleration" (2023). Blocked Floyd-Warshall in three kernels, b = 32. Transitive
closure by boolean squaring: Xiao et al., "Parallel transitive closure algorithm for heterogeneous
architecture" (2021). Each on a machine of its own, none of which is ours.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.bench.harness import Plan, Row
from sssp.bench.report import Cell, Comparison, Report, verdict
from sssp.calls.all_pairs import all_pairs, transitive_closure
from sssp.errors import SSSPError
from sssp.kernels.dtypes import INT32
from sssp.methods import (
    BaselineBlockedFloydWarshall,
    BaselineClosure,
    BaselineFloydWarshall,
    BaselineSquaring,
    ClosureByWarshall,
    FloydWarshall,
    Method,
    RepeatedSquaring,
)

__all__ = ["DENSE_TABLES", "PUBLISHED", "DenseTable"]

Matrix = NDArray[Any]

#: weights are drawn from 1 to this
GREATEST_WEIGHT = 1000
#: arcs of a vertex in the graphs whose closure is made
DEGREE = 2
#: rows that are checked
SAMPLE = 3
#: rows of a matrix that are looked through at a time while checking
CHECKED = 256
#: vertices of the matrix that compiles
TINY = 40
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
    device : str
    solve : callable
        ``solve(matrix, threads)`` returns distances, or packed words of a closure, in whatever
        form and place they are made in.
    """

    heading: str
    device: str
    solve: Callable[[Matrix, int | None], Any]


def _pairs(heading: str, method: Method, device: str = "cpu", serial: bool = False) -> Contender:
    """Return a contender of all pairs; baselines compute in float32, as the papers do."""
    dtype = np.float32 if method.name.startswith("baseline") else None

    def solve(matrix: Matrix, threads: int | None) -> Any:
        return all_pairs(
            matrix,
            method=method,
            device=device,
            dtype=dtype,
            output="host" if device == "cpu" else "device",
            threads=1 if serial else threads,
            progress=False,
        )

    return Contender(heading, device, solve)


def _closure(heading: str, method: Method, device: str = "cpu", serial: bool = False) -> Contender:
    def solve(matrix: Matrix, threads: int | None) -> Any:
        return transitive_closure(
            matrix,
            method=method,
            device=device,
            packed=True,
            output="host" if device == "cpu" else "device",
            threads=1 if serial else threads,
            progress=False,
        )

    return Contender(heading, device, solve)


def _scipy(matrix: Matrix, threads: int | None) -> Any:
    from scipy.sparse.csgraph import floyd_warshall

    return floyd_warshall(matrix)


@dataclass(frozen=True)
class Spec:
    """A table.

    Attributes
    ----------
    title, note : str
    sizes : tuple of int
        Vertices of its lines, ascending.
    contenders : tuple of Contender
    make : callable
        ``make(n, seed)`` returns a matrix.
    is_right : callable
        ``is_right(matrix, result)`` checks a few rows of what a contender returned.
    """

    title: str
    note: str
    sizes: tuple[int, ...]
    contenders: tuple[Contender, ...]
    make: Callable[[int, int], Matrix]
    is_right: Callable[[Matrix, Any], bool]


# -- the matrices, and what is right about them ------------------------------------------------


@cache
def _weights(n: int, seed: int) -> Matrix:
    """Make a complete graph with random whole weights."""
    weights = np.random.default_rng(seed).integers(1, GREATEST_WEIGHT + 1, (n, n), INT32)
    np.fill_diagonal(weights, 0)
    return weights


@cache
def _arcs(n: int, seed: int) -> Matrix:
    """Make a random boolean matrix with `DEGREE` arcs a vertex, less those drawn twice."""
    arcs = np.zeros((n, n), np.bool_)
    heads = np.random.default_rng(seed).integers(0, n, (n, DEGREE))
    arcs[np.arange(n)[:, np.newaxis], heads] = True
    return arcs


def _sample(n: int) -> list[int]:
    return sorted({0, n // 2, n - 1})[:SAMPLE]


def _on_host(result: Any) -> Any:
    host = result.to_host() if hasattr(result, "to_host") else result
    return host.distances if hasattr(host, "distances") else host


def _shortest(matrix: Matrix, result: Any) -> bool:
    """Certify rows: where weights are positive, the best last arc must explain every distance."""
    distances = _on_host(result)
    n = len(matrix)
    for source in _sample(n):
        row = np.asarray(distances[source], np.float64)
        best = np.full(n, np.inf)
        for first in range(0, n, CHECKED):
            part = slice(first, min(first + CHECKED, n))
            over = row[part, np.newaxis] + matrix[part]
            over[np.arange(over.shape[0]), np.arange(part.start, part.stop)] = np.inf
            np.minimum(best, over.min(axis=0), out=best)
        best[source] = 0
        if not np.array_equal(best, row):
            return False
    return True


def _closed(matrix: Matrix, result: Any) -> bool:
    """Compare rows with searches."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    words, graph = _on_host(result), csr_array(matrix)
    n = len(matrix)
    for source in _sample(n):
        reached = np.zeros(n, np.bool_)
        reached[breadth_first_order(graph, source, return_predecessors=False)] = True
        octets = words[source : source + 1].astype("<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=n, bitorder="little")[0]
        if not np.array_equal(bits.astype(np.bool_), reached):
            return False
    return True


# -- the tables --------------------------------------------------------------------------------

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
            _pairs("serial ms", ALL_ROUNDS, serial=True),
            _pairs("parallel ms", ALL_ROUNDS),
            _pairs("GPU ms", ALL_ROUNDS, "cuda"),
            _pairs("baseline GPU ms", BaselineSquaring(), "cuda"),
        ),
        _weights,
        _shortest,
    ),
    "floyd-warshall": Spec(
        "Blocked Floyd-Warshall, b = 32",
        "Ours: int32; baselines: the paper's kernels, float32. GPU: one call, from a matrix on\n"
        f"the host to distances on the device.\n{OVER_LIMIT}",
        (1000, 2500, 5000, 7500, 10_000),
        (
            Contender("SciPy ms", "cpu", _scipy),
            _pairs("baseline serial ms", BaselineFloydWarshall(), serial=True),
            _pairs("serial ms", FloydWarshall(), serial=True),
            _pairs("parallel ms", FloydWarshall()),
            _pairs("GPU ms", FloydWarshall(), "cuda"),
            _pairs("baseline plain GPU ms", BaselineFloydWarshall(), "cuda"),
            _pairs("baseline blocked GPU ms", BaselineBlockedFloydWarshall(), "cuda"),
        ),
        _weights,
        _shortest,
    ),
    "closure": Spec(
        "Xiao et al. 2021: transitive closure",
        f"Random graphs, {DEGREE} arcs a vertex. Baselines: the paper's boolean squaring in tiles\n"
        "of 16 x 16. The paper, up to m = 1,024: at most 593 times its serial and 209 times its\n"
        "OpenMP version; its times are not at hand. GPU: one call, packed words left on the\n"
        f"device.\n{OVER_LIMIT}",
        (20, 40, 50, 70, 200, 300, 500, 1024, 5000, 10_000),
        (
            _closure("baseline serial ms", BaselineClosure(), serial=True),
            _closure("baseline parallel ms", BaselineClosure()),
            _closure("serial ms", ClosureByWarshall(), serial=True),
            _closure("parallel ms", ClosureByWarshall()),
            _closure("GPU ms", ClosureByWarshall(), "cuda"),
            _closure("baseline GPU ms", BaselineClosure(), "cuda"),
        ),
        _arcs,
        _closed,
    ),
}


def _blocks_spec(side: int) -> Spec:
    """One line of the blocks table: the baseline with tiles of one size, over several n."""
    method = BaselineSquaring(side)
    return Spec(
        "Xiao et al. 2023: repeated squaring by the side of its tiles, n = 5,000",
        "The paper's kernel, float32, all squarings. GPU: one call, from a matrix on the host to\n"
        f"distances on the device.\n{OVER_LIMIT}",
        BLOCKS_SIZES,
        (
            _pairs("baseline parallel ms", method),
            _pairs("baseline GPU ms", method, "cuda"),
        ),
        _weights,
        _shortest,
    )


# -- measuring ---------------------------------------------------------------------------------


@dataclass
class _Series:
    """A contender on ever larger matrices, until one would take too long."""

    contender: Contender
    plan: Plan
    spec: Spec
    refusal: str = ""
    largest: Row | None = None
    _compiled: bool = field(default=False, init=False)

    def measure(self, n: int, seed: int) -> Row:
        """Time and check; a row without trials says why there are none."""
        contender = self.contender
        row = Row(contender.heading, contender.device, f"random-{n}", n, n * (n - 1), n)
        expected = self._expected(n)
        if self.refusal:
            row.remark = self.refusal
        elif expected > self.plan.row_limit:
            limit = self.plan.row_limit
            row.remark = f"one call takes about {expected:,.0f} s, the limit is {limit:g} s"
        else:
            self._attempt(row, seed)
        return row

    def _expected(self, n: int) -> float:
        if self.largest is None:
            return 0.0
        growth: float = (n / self.largest.n) ** 3
        return self.largest.median * growth

    def _attempt(self, row: Row, seed: int) -> None:
        try:
            if not self._compiled:
                start = perf_counter()
                self._solve(self.spec.make(TINY, seed))
                row.jit_seconds = perf_counter() - start
                self._compiled = True
            matrix = self.spec.make(row.n, seed)
            while len(row.trials) < self.plan.trials:
                seconds, result = self._timed(matrix)
                row.trials.append(seconds)
                if sum(row.trials) + seconds > self.plan.row_limit:
                    break
        except (SSSPError, MemoryError) as error:
            row.trials.clear()
            row.remark = self.refusal = " ".join(str(error).split()) or type(error).__name__
            return
        row.verified = self.spec.is_right(matrix, result)
        if not row.verified:
            row.remark = "rows of the result are not those of a search"
        row.distances = row.n * row.n
        self.largest = row

    def _solve(self, matrix: Matrix) -> Any:
        return self.contender.solve(matrix, self.plan.threads)

    def _timed(self, matrix: Matrix) -> tuple[float, Any]:
        gc.disable()
        try:
            start = perf_counter()
            result = self._solve(matrix)
            return perf_counter() - start, result
        finally:
            gc.enable()

    def cell(self, row: Row) -> Cell:
        """Time of a row; if it was too large, of the largest that was not, marked."""
        shown = self.largest if row.skipped and not self.refusal else row
        if shown is None or shown.skipped:
            return None
        time = 1000 * shown.median
        return time if shown is row else f"{time:,.3f} at n = {shown.n:,}"


class DenseTable:
    """Measures one table into a report.

    Parameters
    ----------
    name : {"squaring", "blocks", "floyd-warshall", "closure"}
    plan : Plan
    seed : int
        Of the random matrices.
    report : Report
        Gets rows and a `Comparison`.
    """

    def __init__(self, name: str, plan: Plan, seed: int, report: Report) -> None:
        self.name, self.plan, self.seed, self.report = name, plan, seed, report

    @property
    def steps(self) -> int:
        """Calls of `progress`."""
        if self.name == "blocks":
            return sum(len(spec.sizes) * len(spec.contenders) for spec in map(_blocks_spec, BLOCKS))
        spec = DENSE_TABLES[self.name]
        return len(spec.sizes) * len(spec.contenders)

    def measure(self, progress: Callable[[str], None]) -> None:
        """Measure everything; what is done by the time of an error stands in the report.

        ``progress(text)`` is told before every step what it is.
        """
        try:
            if self.name == "blocks":
                self._measure_blocks(progress)
            else:
                self._measure_sizes(DENSE_TABLES[self.name], progress)
        finally:
            for make in (_weights, _arcs):
                make.cache_clear()

    def _measure_sizes(self, spec: Spec, progress: Callable[[str], None]) -> None:
        comparison = self._comparison(spec, "n")
        series = [_Series(contender, self.plan, spec) for contender in spec.contenders]
        for n in spec.sizes:
            rows = self._line(series, n, progress)
            comparison.records.append({"n": n, **self._cells(n, series, rows)})
        _remark_once(comparison, series)

    def _measure_blocks(self, progress: Callable[[str], None]) -> None:
        comparison = self._comparison(_blocks_spec(BLOCKS[0]), "block")
        for side in BLOCKS:
            spec = _blocks_spec(side)
            series = [_Series(contender, self.plan, spec) for contender in spec.contenders]
            for n in spec.sizes:
                rows = self._line(series, n, progress)
            comparison.records.append({"block": side, **self._cells(side, series, rows)})
        _remark_once(comparison, series)

    def _comparison(self, spec: Spec, first: str) -> Comparison:
        headings = [first, *PUBLISHED[self.name], *(c.heading for c in spec.contenders)]
        columns = (*(f">{heading}" for heading in headings), "<verified")
        comparison = Comparison(spec.title, columns, spec.note)
        self.report.comparisons.append(comparison)
        return comparison

    def _line(
        self, series: Sequence[_Series], n: int, progress: Callable[[str], None]
    ) -> list[Row]:
        rows = []
        for one in series:
            progress(f"n = {n:,}: {one.contender.heading} on {one.contender.device}")
            rows.append(one.measure(n, self.seed))
        for make in (_weights, _arcs):
            make.cache_clear()
        self.report.rows += [row for row in rows if not row.skipped]
        return rows

    def _cells(self, line: int, series: Sequence[_Series], rows: Sequence[Row]) -> dict[str, Cell]:
        published: dict[str, Cell] = {
            heading: figures.get(line) for heading, figures in PUBLISHED[self.name].items()
        }
        ours = {one.contender.heading: one.cell(row) for one, row in zip(series, rows, strict=True)}
        return {**published, **ours, "verified": verdict(rows)}


def _remark_once(comparison: Comparison, series: Sequence[_Series]) -> None:
    """Say why columns are empty."""
    for one in series:
        if one.refusal:
            comparison.remarks.append(f"{one.contender.heading}: skipped: {one.refusal}")
