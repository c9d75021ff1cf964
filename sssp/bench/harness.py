"""Time methods and other libraries on a graph, and verify their results.

Before the clock runs, every contender solves a small graph and one four times as large: the first
call compiles (JIT), the others predict the time on the graph itself. Then it solves one source
there twice (the difference is set-up) and all sources once. After that the trials of all contenders
alternate, so that a machine that is slow for a while is slow for all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from sssp import Graph, ShortestPaths, road_like, shortest_paths, verify
from sssp.apps.terminal.arguments import NamedGraph, method_text, vertex_of
from sssp.bench.report import REFUSALS, BenchReport, Comparison, Measurement, explain
from sssp.bench.workloads import Choose, GraphRecord, Workload, time_call, time_without_gc
from sssp.engine.threads import default_threads
from sssp.errors import VerificationError, VertexError
from sssp.kernels.dtypes import INT32, INT64
from sssp.methods import Method

#: above this float64, in which SciPy computes, rounds integers
EXACT_FLOAT = 2**53
#: vertices of the two built-in graphs that predict times, and calls on each
SMALL, LARGER, PROBES = 1024, 4096, 3
#: vertices of the graph that compiles the generator
TINY = 100

Solve = Callable[..., Any]


@dataclass(frozen=True)
class BenchPlan:
    """The settings of a benchmark: trials and seconds per method or library, and thread count."""

    #: timed calls of every contender
    trials: int = 5
    #: seconds that the trials of one contender may take: there are fewer of them if need be, and
    #: none if even one would take longer
    row_limit: float = 60.0
    #: threads of the package's own methods; None: all cores
    threads: int | None = None

    def refuse(self, seconds: float) -> str:
        """Return the reason to skip a call that takes `seconds`; empty if it fits the limit."""
        if seconds <= self.row_limit:
            return ""
        return f"one call takes about {seconds:,.0f} s, the limit is {self.row_limit:g} s"


@dataclass(frozen=True)
class Ours:
    """One of the package's own methods on one device."""

    method: Method
    device: str = "cpu"

    @property
    def name(self) -> str:
        """Name of the method in the table, with its options."""
        return method_text(self.method)

    def prepare(self, graph: Graph, threads: int | None) -> Callable[..., ShortestPaths]:
        """Return `shortest_paths` with all arguments bound but the sources."""
        options: dict[str, Any] = {"method": self.method, "device": self.device}
        return partial(shortest_paths, graph, threads=threads, progress=False, **options)


class BenchTable(ABC):
    """Base class of benchmark tables (``--table``), which run measurements and report them.

    `measure` calls ``progress(text)`` before every step, at most `steps` times. After an
    error the report holds the lines before it.
    """

    steps: int

    def __init__(self, plan: BenchPlan, options: Namespace, report: BenchReport) -> None:
        self.plan, self.options, self.report = plan, options, report
        self.random = np.random.default_rng(options.seed)
        self.progress: Callable[[str], None] = lambda text: None
        self._compiled: set[bool] = set()

    @abstractmethod
    def measure(self) -> None:
        """Run all measurements of this table and add them to the report."""

    def load(self, origin: NamedGraph, choose: Choose, places: Path | None = None) -> Workload:
        """Load a graph, choose its sources, add a record to the report, and return a `Workload`."""
        # first a tiny graph, which compiles the reader
        built_in, jit_seconds = origin.path is None, None
        if built_in not in self._compiled:
            self._compiled.add(built_in)
            with TemporaryDirectory() as folder:
                path = Path(folder, "tiny.gr")
                path.write_text("p sp 2 2\na 1 2 3\na 2 1 3\n")
                tiny = NamedGraph(path.name, None if built_in else path, size=TINY)
                jit_seconds, _ = time_call(tiny.load)
        workload = self.make(origin.name, partial(origin.load, places), choose)
        record = self.report.graphs[-1]
        record.file = None if origin.path is None else origin.path.name
        record.jit_seconds = jit_seconds
        return workload

    def make(self, name: str, make: Callable[[], Graph], choose: Choose) -> Workload:
        """Build a graph by calling `make`, record its build time, and return it as a `Workload`."""
        load_seconds, graph = time_call(make)
        sources = choose(graph)
        labels = sources if graph.labels is None else graph.labels[sources]
        facts = graph.n, graph.m, str(graph.weights.dtype), labels.tolist(), load_seconds
        self.report.graphs.append(GraphRecord(name, None, *facts))
        return Workload(name, graph, sources)

    def compare(self, title: str, columns: str, note: str) -> Comparison:
        """Add an empty comparison table to the report, and return that table."""
        comparison = Comparison(title, tuple(columns.split("|")), note)
        self.report.comparisons.append(comparison)
        return comparison


@dataclass
class Harness:
    """The runner that times and verifies methods and rivals, one workload after the other.

    Ratios are taken to the first of the rivals; ``progress(text)`` names every step before it.
    """

    methods: Sequence[Ours]
    rivals: Sequence[Rival]
    plan: BenchPlan
    progress: Callable[[str], None] = lambda text: None
    _compiled: set[tuple[Ours, np.dtype[Any]]] = field(default_factory=set, init=False)

    @property
    def steps(self) -> int:
        """Greatest number of calls of `progress` for a workload."""
        return (len(self.methods) + len(self.rivals)) * (self.plan.trials + 1) + len(self.methods)

    def measure(self, workload: Workload) -> list[Measurement]:
        """Time and check all contenders; return their table rows, those of other libraries first.

        Rows that were skipped or turned out wrong are among them.
        """
        rivals = [_RivalEntry(rival, workload, self.plan) for rival in self.rivals]
        ours = [_OurEntry(method, workload, self.plan, self._compiled) for method in self.methods]
        entries: list[_Entry] = [*rivals, *ours]
        for entry in entries:
            self._attempt(entry, "warm-up", entry.warm_up)
        for trial in range(self.plan.trials):
            for entry in entries:
                if trial < entry.trials:
                    self._attempt(entry, f"trial {trial + 1}", entry.time_once)
        for entry in ours:
            if not entry.row.skipped:
                self._attempt(entry, "verification", partial(entry.verify, rivals))
        weighted = [*rivals, *(entry for entry in ours if entry.ours.method.weighted)]
        reference = rivals[0].row if rivals else None
        for row in (entry.row for entry in weighted):
            if reference and not reference.skipped and not row.skipped:
                row.ratio = (reference.median / reference.sources) / (row.median / row.sources)
        return [entry.row for entry in entries]

    def _attempt(self, entry: _Entry, what: str, step: Callable[[], None]) -> None:
        """Run a step of a method or library; record a refusal as skipped, other errors as failed.

        Neither ends the run.
        """
        self.progress(f"{entry.row.graph}: {entry.row.method} on {entry.row.device}, {what}")
        try:
            step()
        except Exception as error:
            entry.trials = 0
            entry.row.fail(error)


class _Entry(ABC):
    """One solver measured on one workload, with the table row that the measurement fills."""

    solve: Solve

    def __init__(
        self,
        contender: Ours | Rival,
        prepare: Callable[[Graph], Solve],
        workload: Workload,
        plan: BenchPlan,
        sources: NDArray[np.int64],
        workers: int,
    ) -> None:
        self.prepare, self.workload = prepare, workload
        self.plan, self.sources, self.workers, self.trials = plan, sources, workers, 0
        graph, names = workload.graph, (contender.name, contender.device, workload.name)
        self.row = Measurement(*names, graph.n, graph.m, sources.size)

    def warm_up(self) -> None:
        """Run cheaper calls to estimate a call's time; choose how many trials fit the limit."""
        limit = self.plan.row_limit
        expected = self._expect_seconds()
        self.row.remark = self.plan.refuse(expected)
        if self.row.remark:
            return
        self.trials = max(1, min(self.plan.trials, int(limit / expected)))
        if self.trials < self.plan.trials:
            self.row.remark = f"trials cut to {self.trials}, to end within {limit:g} s"

    def _expect_seconds(self) -> float:
        """Estimate the seconds of one call from cheaper calls, such as on smaller graphs."""
        graph = self.workload.graph
        turns = math.ceil(self.sources.size / self.workers)
        # from two graphs, by a power of the size
        probes = [_make_probe(n, graph.weights.dtype) for n in (SMALL, LARGER)]
        source = np.zeros(1, np.int64)
        solves = [self.prepare(probe) for probe in probes]
        small, large = (
            min(self._time_solve(solve, source)[0] for _ in range(PROBES)) for solve in solves
        )
        # to halves, because short times are noisy: linear, linear times open set, quadratic
        exponent = max(1.0, round(2 * math.log(large / small, LARGER / SMALL)) / 2)
        # (a graph with more arcs a vertex than these have takes longer in proportion)
        density = max(1.0, (graph.m / graph.n) / (probes[1].m / probes[1].n))
        expected = large * math.pow(graph.n / LARGER, exponent) * density * turns
        if expected > self.plan.row_limit:
            return expected
        preparing, self.solve = time_call(lambda: self.prepare(graph))
        first, _ = time_call(lambda: self.solve(self.sources[:1]))
        second, _ = self._time_solve(self.solve, self.sources[:1])
        self.row.setup_seconds = max(0.0, preparing + first - second)
        expected = second * turns
        if self.sources.size == 1 or expected > self.plan.row_limit:
            return expected
        return self._time_solve(self.solve, self.sources)[0]

    def _time_solve(self, solve: Solve, sources: NDArray[np.int64]) -> tuple[float, Any]:
        """Solve once; return the seconds and the result."""
        return time_without_gc(lambda: solve(sources))

    def time_once(self) -> None:
        """Time one trial; keep the result of the last trial for verification."""
        seconds, result = self._time_solve(self.solve, self.sources)
        self.row.trials.append(seconds)
        if len(self.row.trials) == self.trials:
            self._keep(result)

    @abstractmethod
    def _keep(self, result: Any) -> None:
        """Store the part of a result that verification needs."""


class _RivalEntry(_Entry):
    """Another library measured on one workload, from sampled sources only, to save time."""

    def __init__(self, rival: Rival, workload: Workload, plan: BenchPlan) -> None:
        sources = workload.sources[workload.sample]
        super().__init__(rival, rival.prepare, workload, plan, sources, workers=1)
        self.rival = rival
        self.answer: RivalAnswer | None = None

    def warm_up(self) -> None:
        if self.workload.graph.least_weight < 0:
            self.row.remark = "it does not take negative weights"
        else:
            super().warm_up()

    def _time_solve(self, solve: Solve, sources: NDArray[np.int64]) -> tuple[float, Any]:
        seconds, result = super()._time_solve(solve, sources)
        answer = self.rival.read(result)
        return (seconds if answer.seconds is None else answer.seconds), answer

    def _keep(self, result: RivalAnswer) -> None:
        self.row.distances = int(result.reached.sum())
        self.row.remark = "; ".join(filter(None, (self.row.remark, result.remark)))
        self.answer = result


class _OurEntry(_Entry):
    """Benchmark of one of this package's methods on a graph and its sources."""

    def __init__(self, ours: Ours, workload: Workload, plan: BenchPlan, compiled: set[Any]) -> None:
        workers = plan.threads or default_threads()
        prepare = partial(ours.prepare, threads=plan.threads)
        super().__init__(ours, prepare, workload, plan, workload.sources, workers)
        self.ours, self.compiled = ours, compiled
        self.sampled: Any = None

    def warm_up(self) -> None:
        specialisation = (self.ours, self.workload.graph.weights.dtype)
        if specialisation not in self.compiled:
            solve = self.prepare(_make_probe(SMALL, specialisation[1]))
            self.row.jit_seconds, _ = time_call(lambda: solve(np.zeros(1, np.int64)))
            self.compiled.add(specialisation)
        super().warm_up()

    def verify(self, rivals: Sequence[_RivalEntry]) -> None:
        """Certify distances from sampled sources; compare timed results with the certified ones."""
        try:
            sources = self.workload.sources[self.workload.sample]
            result = self.solve(sources, predecessors=True, dtype=self.sampled.dtype)
            verify(self.workload.graph, result)
            if not np.array_equal(result.distances, self.sampled):
                raise VerificationError("the timed distances differ from the certified ones")
            distances = result.to_float()
            largest = np.max(distances, where=np.isfinite(distances), initial=0)
            exact = self.sampled.dtype.kind != "i" or largest <= EXACT_FLOAT
            for rival in rivals if self.ours.method.weighted and exact else ():
                if rival.answer is not None:
                    _compare(distances, rival.answer, rival.row)
            self.row.verified = True
        except Exception as error:
            refused = isinstance(error, REFUSALS) and not isinstance(error, VerificationError)
            self.row.verified = None if refused else False
            self.row.remark = ("could not be verified: " if refused else "") + explain(error)

    def _keep(self, result: ShortestPaths) -> None:
        self.row.distances = int(np.count_nonzero(result.reached))
        if "phases" in result.stats:
            self.row.phases = int(np.sum(result.stats["phases"]))
        self.sampled = result.distances[self.workload.sample]


def _compare(certified: NDArray[Any], found: RivalAnswer, rival: Measurement) -> None:
    """Compare another library's distances with certified ones; record the outcome in `rival`."""
    difference = ""
    reached = np.count_nonzero(np.isfinite(certified), axis=1)
    (wrong,) = np.nonzero(reached != found.reached)
    if wrong.size:
        counts = found.reached[wrong[0]], reached[wrong[0]]
        difference = f"it reaches {counts[0]:,} vertices, where {counts[1]:,} are certified"
    elif found.distances is not None:
        if found.vertices is not None:
            certified = np.take_along_axis(certified, found.vertices, axis=1)
        for row, place in np.argwhere(certified != found.distances)[:1]:
            vertex = place if found.vertices is None else found.vertices[row, place]
            difference = (
                f"it finds {found.distances[row, place]:g} for vertex {vertex}, where "
                f"{certified[row, place]:g} is certified"
            )
    rival.verified = found.right and not difference
    if difference:
        rival.remark = difference
        raise VerificationError(f"the distances differ from those of {rival.method}")
    if not found.right:
        rival.remark = "it fails its own verification"


@cache
def _make_probe(n: int, dtype: np.dtype[Any]) -> Graph:
    """Generate a road-like graph of n vertices with weights of a dtype."""
    g = road_like(n)
    # (a graph keeps integers as int32 where it can)
    more = np.iinfo(INT32).max if dtype == INT64 else 0
    return g.with_weights(g.weights.astype(dtype) + more)


# -- rivals ------------------------------------------------------------------------------------

Vertices = NDArray[np.int64]


@dataclass(frozen=True)
class RivalAnswer:
    """The result of another library: counts of reached vertices, and perhaps distances."""

    #: vertices reached from every source, shape (k,), int64
    reached: NDArray[np.int64]
    #: shape (k, n) or (k, t), inf where unreached
    distances: NDArray[np.float64] | None = None
    #: those whose distances it reports, shape (k, t); None: all n
    vertices: NDArray[np.int64] | None = None
    #: by its own clock, all sources together; None: the time of the call counts
    seconds: float | None = None
    #: whether it passed its own verification, if it has one
    right: bool = True
    remark: str = ""


def read_rows(distances: Any) -> RivalAnswer:
    """Return another library's rows of distances as a result, with counts of reached vertices."""
    rows = np.asarray(distances, np.float64)
    return RivalAnswer(np.count_nonzero(np.isfinite(rows), axis=1), rows)


@dataclass(frozen=True)
class RivalMap:
    """Query functions of another library on one graph; a function that it lacks is None."""

    #: ``trees(sources)``: distances to all vertices, shape (k, n)
    trees: Callable[[Vertices], Any] | None
    #: ``table(sources, targets)``: distances of all pairs, shape (k, t)
    table: Callable[[Vertices, Vertices], Any]
    #: ``trips(sources, targets)``: distances of trips, shape (p,)
    trips: Callable[[Vertices, Vertices], Any]
    #: ``read(result)`` turns their results into an array, untimed; unreached is inf, or the
    #: greatest integer where it is one of ours
    read: Callable[[Any], NDArray[Any]]
    #: ``weigh(weights)`` gives the arcs other weights; None: it has to be prepared anew
    weigh: Callable[[NDArray[Any]], Any] | None = None
    #: as `trips`, but lists the vertices on the way too
    paths: Callable[[Vertices, Vertices], Any] | None = None


@dataclass(frozen=True)
class Rival:
    """Solver of another library or program that the benchmark measures for comparison."""

    #: in the table
    name: str
    #: ``prepare(graph)`` brings the graph to the rival's form, untimed, and returns
    #: ``solve(sources)``. An `sssp.SSSPError` of either says why the rival is skipped
    prepare: Callable[[Graph], Solve]
    device: str = "cpu"
    #: ``read(result)`` turns what ``solve`` returned into a `RivalAnswer`, untimed
    read: Callable[[Any], RivalAnswer] = read_rows
    #: ``mapped(graph)`` brings the graph to the rival's form, untimed, and returns a function
    #: without arguments that prepares it, timed. None: it prepares nothing
    mapped: Callable[[Graph], Callable[[], RivalMap]] | None = None


def _prepare_scipy(graph: Graph) -> Solve:
    # in the dtype that SciPy computes in: it would convert another anew in every call
    matrix = graph.to_scipy().astype(np.float64)
    return lambda sources: np.asarray(dijkstra(matrix, directed=True, indices=sources))


#: the first one is the reference that ratios are taken to
RIVALS = (Rival("SciPy dijkstra", _prepare_scipy),)


class Methods(BenchTable):
    """Default benchmark table: chosen methods and other libraries on the given graphs."""

    def __init__(self, plan: BenchPlan, options: Namespace, report: BenchReport) -> None:
        super().__init__(plan, options, report)
        ours = [Ours(method, device) for device in options.devices for method in options.methods]
        self._harness = Harness(ours, (*RIVALS, *options.rivals), plan)
        self.steps = len(options.graphs) * (self._harness.steps + 1)

    def measure(self) -> None:
        """Measure the chosen methods and the other libraries on every graph."""
        self._harness.progress = self.progress
        for origin in self.options.graphs:
            self.progress(f"{origin.name}: loading")
            self.report.rows += self._harness.measure(self.load(origin, self._choose))

    def _choose(self, graph: Graph) -> NDArray[np.int64]:
        """Return the sources requested by label, or draw random vertices with an outgoing arc."""
        if labels := self.options.labels:
            return np.array([vertex_of(graph, label) for label in labels], dtype=np.int64)
        count: int = self.options.sources
        candidates = np.flatnonzero(np.diff(graph.indptr))
        if candidates.size < count:
            raise VertexError(
                f"{count} sources asked for, but only {candidates.size} vertices have an outgoing "
                "arc"
            )
        return np.random.default_rng(self.options.seed).choice(candidates, count, replace=False)
