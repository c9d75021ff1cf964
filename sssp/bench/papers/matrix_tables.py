"""Benchmark tables of dense methods: published figures, and our own measurements.

All pairs by repeated squaring: Xiao et al., "All-source pair shortest path parallel algorithm
based on GPU acceleration" (2023). Blocked Floyd-Warshall in three kernels, b = 32. Transitive
closure by boolean squaring: Xiao et al., "Parallel transitive closure algorithm for heterogeneous
architecture" (2021). Each on a machine of its own, none of which is ours.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp import all_pairs, methods, transitive_closure
from sssp.bench.harness import BenchPlan, BenchTable
from sssp.bench.papers import baselines
from sssp.bench.report import BenchReport, Cell, Measurement, summarize
from sssp.bench.workloads import time_call, time_without_gc
from sssp.engine.matrix_request import unpack_bits
from sssp.kernels.dtypes import INT32

Matrix = NDArray[Any]

#: weights are drawn from 1 to this
GREATEST_WEIGHT = 1000
#: vertices of the matrix that compiles
TINY = 40
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
        "paper blocked GPU ms": {1000: 2.97, 2500: 25.3, 5000: 158.8, 7500: 515.3, 10_000: 1195.6},
    },
    "closure": {},
}


@dataclass(frozen=True)
class Column:
    """A measured column of a table: heading, method, device, threads and dtype."""

    heading: str
    #: None: SciPy's Floyd-Warshall
    method: methods.Method | None
    device: str = "cpu"
    #: whether it has one thread, however many there are
    serial: bool = False
    #: of distances; None: the call's choice
    dtype: str | None = None


@dataclass(frozen=True)
class Spec:
    """The specification of a table: title, sizes, contenders and task."""

    title: str
    note: str
    #: vertices of its lines, ascending
    sizes: tuple[int, ...]
    contenders: tuple[Column, ...]
    #: "matrix": all pairs of a complete graph; "closure" of a graph with `DEGREE` arcs per vertex
    task: str


OVER_LIMIT = (
    "A cell with an n of its own was measured at that n, the largest that keeps the row limit: "
    "it is not\nscaled to the line's n."
)
ALL_ROUNDS = methods.RepeatedSquaring(early_stop=False)

DENSE_TABLES: dict[str, Spec] = {
    "squaring": Spec(
        "Xiao et al. 2023: all pairs by repeated squaring",
        "Ours: all squarings (early stop off), int32, found in 16 bits from 500 vertices on;\n"
        "baseline: the paper's kernel, float32, in tiles of 16 x 16. GPU: one call, from a\n"
        "matrix on the host to distances on the device; OpenCL: to the host, on whatever device\n"
        "is the first GPU, or else the first.\n"
        "The paper's times for large n are below what its GPU can do for all squarings: nothing\n"
        "is claimed over them; of its lines only the first and the last are at hand.\n"
        f"{OVER_LIMIT}",
        (10, 50, 200, 300, 1400, 2000, 5000, 8920, 10_000),
        (
            Column("serial ms", ALL_ROUNDS, serial=True),
            Column("parallel ms", ALL_ROUNDS),
            Column("GPU ms", ALL_ROUNDS, "cuda"),
            Column("GPU int16 ms", ALL_ROUNDS, "cuda", dtype="int16"),
            Column("OpenCL ms", ALL_ROUNDS, "opencl"),
            Column("baseline GPU ms", baselines.BaselineSquaring(), "cuda"),
        ),
        "matrix",
    ),
    "floyd-warshall": Spec(
        "Blocked Floyd-Warshall, b = 32",
        "Ours: int32, found in 16 bits from 500 vertices on; baselines: the paper's kernels,\n"
        "float32. GPU: one call, from a matrix on the host to distances on the device; OpenCL:\n"
        "to the host.\n"
        f"{OVER_LIMIT}",
        (1000, 2500, 5000, 7500, 10_000),
        (
            Column("SciPy ms", None),
            Column("baseline serial ms", baselines.BaselineFloydWarshall(), serial=True),
            Column("serial ms", methods.FloydWarshall(), serial=True),
            Column("parallel ms", methods.FloydWarshall()),
            Column("GPU ms", methods.FloydWarshall(), "cuda"),
            Column("GPU int16 ms", methods.FloydWarshall(), "cuda", dtype="int16"),
            Column("OpenCL ms", methods.FloydWarshall(), "opencl"),
            Column("baseline plain GPU ms", baselines.BaselineFloydWarshall(), "cuda"),
            Column("baseline blocked GPU ms", baselines.BaselineBlockedFloydWarshall(), "cuda"),
        ),
        "matrix",
    ),
    "closure": Spec(
        "Xiao et al. 2021: transitive closure",
        f"Random graphs, {DEGREE} arcs a vertex. Baselines: the paper's boolean squaring in tiles\n"
        "of 16 x 16. The paper, up to m = 1,024: at most 593 times its serial and 209 times its\n"
        "OpenMP version; its times are not at hand. GPU: one call, packed words left on the\n"
        "device, from 4,096 vertices on by products of bits on tensor cores. OpenCL: one call, to\n"
        "words on the host, all squarings.\n"
        f"{OVER_LIMIT}",
        (20, 40, 50, 70, 200, 300, 500, 1024, 5000, 10_000),
        (
            Column("baseline serial ms", baselines.BaselineClosure(), serial=True),
            Column("baseline parallel ms", baselines.BaselineClosure()),
            Column("serial ms", methods.ClosureByWarshall(), serial=True),
            Column("parallel ms", methods.ClosureByWarshall()),
            Column("GPU ms", methods.ClosureByWarshall(), "cuda"),
            Column("OpenCL squaring ms", methods.ClosureBySquaring(early_stop=False), "opencl"),
            Column("baseline GPU ms", baselines.BaselineClosure(), "cuda"),
        ),
        "closure",
    ),
}


def make_blocks_spec(side: int) -> Spec:
    """Return the specification of a table that times repeated squaring with tiles of one size."""
    method = baselines.BaselineSquaring(side)
    return Spec(
        "Xiao et al. 2023: repeated squaring by the side of its tiles, n = 5,000",
        "The paper's kernel, float32, all squarings. GPU: one call, from a matrix on the host to\n"
        f"distances on the device.\n{OVER_LIMIT}",
        BLOCKS_SIZES,
        (Column("baseline parallel ms", method), Column("baseline GPU ms", method, "cuda")),
        "matrix",
    )


# -- asking a contender ------------------------------------------------------------------------


def _solve(contender: Column, matrix: Matrix, threads: int | None) -> Any:
    """Run a method on a matrix; return its result: distances, or a packed closure."""
    if contender.method is None:
        from scipy.sparse.csgraph import floyd_warshall

        return floyd_warshall(matrix)
    options: dict[str, Any] = {
        "method": contender.method,
        "device": contender.device,
        "output": "device" if contender.device == "cuda" else "host",
        "threads": 1 if contender.serial else threads,
        "progress": False,
    }
    if contender.method.task == "closure":
        return transitive_closure(matrix, packed=True, **options)
    # baselines compute in float32, as the papers do
    dtype = np.float32 if contender.method.name.startswith("baseline") else contender.dtype
    return all_pairs(matrix, dtype=dtype, **options)


# -- matrices, and checks of results -----------------------------------------------------------


def _make_matrix(task: str, n: int, seed: int) -> Matrix:
    """Make a random matrix: integer weights of a complete graph, or booleans for a closure.

    For a closure: a random boolean matrix with `DEGREE` arcs per vertex, less those drawn twice.
    """
    random = np.random.default_rng(seed)
    if task == "closure":
        arcs = np.zeros((n, n), np.bool_)
        arcs[np.arange(n)[:, np.newaxis], random.integers(0, n, (n, DEGREE))] = True
        return arcs
    weights = random.integers(1, GREATEST_WEIGHT + 1, (n, n), INT32)
    np.fill_diagonal(weights, 0)
    return weights


def _is_right(task: str, matrix: Matrix, result: Any) -> bool:
    """Return whether sampled rows of a measured transitive closure or distance matrix are right."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    host = result.to_host() if hasattr(result, "to_host") else result
    found = host.distances if hasattr(host, "distances") else host
    n, graph = len(matrix), csr_array(matrix) if task == "closure" else None
    for source in {0, n // 2, n - 1}:
        if graph is not None:
            row = unpack_bits(found[source : source + 1], n)[0]
            expected = np.zeros(n, np.bool_)
            expected[breadth_first_order(graph, source, return_predecessors=False)] = True
        else:
            row, expected = np.asarray(found[source], np.float64), np.full(n, np.inf)
            for tail in range(n):  # (all sums at once would be a larger matrix again)
                over = row[tail] + matrix[tail]
                over[tail] = np.inf
                np.minimum(expected, over, out=expected)
            expected[source] = 0
        if not np.array_equal(expected, row):
            return False
    return True


# -- measuring ---------------------------------------------------------------------------------


@dataclass
class _Series:
    """The measurements of one solver on matrices of growing size, up to the time limit."""

    contender: Column
    plan: BenchPlan
    spec: Spec
    refusal: str = ""
    largest: Measurement | None = None

    def measure(self, n: int, make: Callable[[], Matrix]) -> Measurement:
        """Time the contender on the n x n matrix that `make` returns, and check its result.

        A row without trials has the reason as its remark.
        """
        contender = self.contender
        row = Measurement(contender.heading, contender.device, f"random-{n}", n, n * (n - 1), n)
        last = self.largest
        expected = 0.0 if last is None else last.median * (n / last.n) ** 3
        row.remark = self.refusal or self.plan.refuse(expected)
        if row.remark:
            return row
        solve = partial(_solve, contender, threads=self.plan.threads)
        try:
            if last is None:
                tiny = _make_matrix(self.spec.task, TINY, seed=0)
                row.jit_seconds, _ = time_call(lambda: solve(tiny))
            matrix = make()
            while len(row.trials) < self.plan.trials:
                seconds, result = time_without_gc(lambda: solve(matrix))
                row.trials.append(seconds)
                if sum(row.trials) + seconds > self.plan.row_limit:
                    break
        except Exception as error:
            row.fail(error)
            self.refusal = row.remark
            return row
        row.verified = _is_right(self.spec.task, matrix, result)
        if not row.verified:
            row.remark = "rows of the result are not those of a search"
        row.distances = row.n * row.n
        self.largest = row
        return row

    def show(self, row: Measurement) -> Cell:
        """Return a row's time; if the row was skipped, the time of the largest measured matrix."""
        shown = self.largest if row.skipped and not self.refusal else row
        if shown is None or shown.skipped:
            return None
        time = 1000 * shown.median
        return time if shown is row else f"{time:,.3f} at n = {shown.n:,}"


class DenseTable(BenchTable):
    """Benchmark table of methods on dense matrices, such as Floyd-Warshall."""

    def __init__(self, plan: BenchPlan, options: Namespace, report: BenchReport) -> None:
        super().__init__(plan, options, report)
        self.name = name = options.table
        #: first cell, contenders and numbers of vertices of every line
        self.lines: list[tuple[int, Spec, tuple[int, ...]]]
        if name == "blocks":
            self.lines = [(side, make_blocks_spec(side), BLOCKS_SIZES) for side in BLOCKS]
        else:
            spec = DENSE_TABLES[name]
            self.lines = [(n, spec, (n,)) for n in spec.sizes]
        self.steps = sum(len(sizes) * len(spec.contenders) for _, spec, sizes in self.lines)

    def measure(self) -> None:
        """Run the benchmark for every line of the table, from small to large matrices."""
        first, spec = "block" if self.name == "blocks" else "n", self.lines[0][1]
        published = PUBLISHED[self.name]
        headings = [first, *published, *(contender.heading for contender in spec.contenders)]
        columns = "".join(f">{heading}|" for heading in headings) + "<verified"
        comparison = self.compare(spec.title, columns, spec.note)
        series: list[_Series] = []
        for line, spec, sizes in self.lines:
            if not series or series[0].spec is not spec:
                series = [_Series(contender, self.plan, spec) for contender in spec.contenders]
            for n in sizes:
                rows = []
                # (made once, and not before a contender takes it)
                make = cache(partial(_make_matrix, spec.task, n, self.options.seed))
                for one in series:
                    heading, device = one.contender.heading, one.contender.device
                    self.progress(f"n = {n:,}: {heading} on {device}")
                    rows.append(one.measure(n, make))
                timed = (row for row in rows if not row.skipped or row.verified is False)
                self.report.rows += timed
            record: dict[str, Cell] = {first: line, "verified": summarize(rows)}
            record |= {heading: figures.get(line) for heading, figures in published.items()}
            shown = zip(series, rows, strict=True)
            record |= {one.contender.heading: one.show(row) for one, row in shown}
            comparison.records.append(record)
        for one in series:
            if one.refusal:
                comparison.remarks.append(f"{one.contender.heading}: skipped: {one.refusal}")
