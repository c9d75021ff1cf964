"""Our own figures beside those of `sssp.papers.matrix_tables`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.bench.harness import REFUSALS, Plan, Row, fault, one_line
from sssp.bench.report import Cell, Comparison, Report, verdict
from sssp.calls.all_pairs import all_pairs, transitive_closure
from sssp.kernels.dtypes import INT32
from sssp.papers.matrix_tables import (
    BLOCKS,
    DEGREE,
    DENSE_TABLES,
    PUBLISHED,
    Contender,
    Spec,
    blocks_spec,
)

__all__ = ["DenseTable"]

Matrix = NDArray[Any]

#: weights are drawn from 1 to this
GREATEST_WEIGHT = 1000
#: rows that are checked
SAMPLE = 3
#: rows of a matrix that are looked through at a time while checking
CHECKED = 256
#: vertices of the matrix that compiles
TINY = 40


# -- asking a contender ------------------------------------------------------------------------


def _solve(contender: Contender, matrix: Matrix, threads: int | None) -> Any:
    """Return distances, or packed words of a closure, in whatever form and place they are made."""
    if contender.method is None:
        from scipy.sparse.csgraph import floyd_warshall

        return floyd_warshall(matrix)
    options: dict[str, Any] = {
        "method": contender.method,
        "device": contender.device,
        "output": "host" if contender.device == "cpu" else "device",
        "threads": 1 if contender.serial else threads,
        "progress": False,
    }
    if contender.method.task == "closure":
        return transitive_closure(matrix, packed=True, **options)
    # baselines compute in float32, as the papers do
    dtype = np.float32 if contender.method.name.startswith("baseline") else None
    return all_pairs(matrix, dtype=dtype, **options)


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


def _make(spec: Spec, n: int, seed: int) -> Matrix:
    return _arcs(n, seed) if spec.task == "closure" else _weights(n, seed)


def _is_right(spec: Spec, matrix: Matrix, result: Any) -> bool:
    """Check a few rows of what a contender returned."""
    return _closed(matrix, result) if spec.task == "closure" else _shortest(matrix, result)


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
                self._solve(_make(self.spec, TINY, seed))
                row.jit_seconds = perf_counter() - start
                self._compiled = True
            matrix = _make(self.spec, row.n, seed)
            while len(row.trials) < self.plan.trials:
                seconds, result = self._timed(matrix)
                row.trials.append(seconds)
                if sum(row.trials) + seconds > self.plan.row_limit:
                    break
        except REFUSALS as error:
            row.trials.clear()
            row.remark = self.refusal = one_line(error)
            return
        except Exception as error:
            row.trials.clear()
            row.verified = False
            row.remark = self.refusal = fault(error)
            return
        row.verified = _is_right(self.spec, matrix, result)
        if not row.verified:
            row.remark = "rows of the result are not those of a search"
        row.distances = row.n * row.n
        self.largest = row

    def _solve(self, matrix: Matrix) -> Any:
        return _solve(self.contender, matrix, self.plan.threads)

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
            return sum(len(spec.sizes) * len(spec.contenders) for spec in map(blocks_spec, BLOCKS))
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
        comparison = self._comparison(blocks_spec(BLOCKS[0]), "block")
        for side in BLOCKS:
            spec = blocks_spec(side)
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
        self.report.rows += [row for row in rows if not row.skipped or row.verified is False]
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
