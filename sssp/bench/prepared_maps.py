"""Benchmark of prepared maps against searches on the graph, SciPy and other libraries.

Calls of all contenders alternate, so that the load of the machine is the same for all. The first
of each is not timed: it compiles. A contender that would take longer than the limit of a row is
asked a part of the question, and its time is scaled; so is SciPy's, always.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.bench.harness import RIVALS, BenchPlan, BenchTable, RivalMap
from sssp.bench.report import REFUSALS, RIGHT, WRONG, BenchReport, Cell, explain
from sssp.bench.workloads import SAMPLE, choose_first, repeat, time_call
from sssp.engine import thresholds
from sssp.engine.threads import default_threads
from sssp.graph.csr import arc_position
from sssp.kernels.dtypes import unreached

TITLE = "Prepared maps against searches on the graph"
NOTE = (
    "ms: median of one call on a prepared map; x: how many times as fast as on the graph (flat),\n"
    "or as SciPy's dijkstra; pays after: so many trees, rows or trips of such calls take as long\n"
    "flat as preparing takes with them; MB: memory, of the structure (prepare) and for each\n"
    "set of weights (new weights); equal: to the flat answer, of all that was asked of both.\n"
    "A closed street is another one in every trial, closed on the prepared map and on the graph.\n"
    f"SciPy is asked {SAMPLE} of the rows or trips at most, and its time scaled to all; so is the\n"
    "time of a contender that would exceed the limit of a row, as the remarks say."
)
MEGABYTE = 10**6
OURS, FLAT, SCIPY = "ours", "flat", "SciPy"
CLOSED = "closed street, 1 tree"
#: sources of the rows of trees, and trips
TREES, TRIPS = (1, 8, 64), (1000, 100_000)
#: trips whose paths are wanted too
PATHS = 1000
#: as many times more trips than pay for landmarks foretell how long all take
ENOUGH_TRIPS = 2
#: a part that takes such a share of the limit is extrapolated; growth of parts until then
EXTRAPOLATES, GROWTH = 16, 8
#: vertices of the map that compiles
TINY = 2000

Vertices = NDArray[np.int64]
Network = sssp.Graph | sssp.Hierarchy


def count_bytes(*parts: Any) -> int:
    """Return the total bytes of arrays, including arrays in nested tuples."""
    return sum(
        count_bytes(*part) if isinstance(part, tuple) else getattr(part, "nbytes", 0)
        for part in parts
    )


def preparing_pays_after(prepared: float, ours: float, flat: float, count: int) -> int | None:
    """Return the number of rows or trips after which preparation saves more time than it took.

    `ours` and `flat` are the seconds of `count` of them; None: never, it is faster flat.
    """
    return ceil(prepared / ((flat - ours) / count)) if flat > ours else None


class MapQuestion(NamedTuple):
    """A request that the benchmark times: trees, a table of distances, trips or paths."""

    #: "trees", "table", "trips" or "paths"
    kind: str
    #: sources, and targets of a table or one a trip
    ends: tuple[Vertices, ...]

    @property
    def size(self) -> int:
        """Number of sources of the request, one for each row of the answer."""
        return self.ends[0].size

    @property
    def name(self) -> str:
        """Name of the request in the table."""
        if self.kind == "table":
            return f"table {self.size:,} x {self.ends[1].size:,}"
        return "1 tree" if self.size == 1 else f"{self.size:,} {self.kind}"

    @property
    def has_own_ends(self) -> bool:
        """Whether each row has one source and one target, which is the case for trips and paths."""
        return self.kind in ("trips", "paths")

    def part(self, count: int) -> MapQuestion:
        """Return the request limited to its first `count` rows or trips."""
        sources, *targets = self.ends
        if self.has_own_ends:
            targets = [targets[0][:count]]
        return self._replace(ends=(sources[:count], *targets))

    def ask(self, of: RivalMap) -> Any:
        """Run this request with the query function of a library; return its result unchanged."""
        return getattr(of, self.kind)(*self.ends)


def draw_questions(random: np.random.Generator, n: int, side: int) -> Iterator[MapQuestion]:
    """Yield random requests on a graph of n vertices: trees, a table, trips, and paths."""
    for count in TREES:
        yield MapQuestion("trees", (random.integers(0, n, count),))
    least = min(n, side)
    yield MapQuestion("table", tuple(random.choice(n, least, replace=False) for _ in range(2)))
    for count in TRIPS:
        yield MapQuestion("trips", tuple(random.integers(0, n, (2, count))))
    yield MapQuestion("paths", tuple(random.integers(0, n, (2, PATHS))))


@dataclass
class MapContender:
    """A solver in the comparison, with its times and its answer for the current request."""

    name: str
    answers: RivalMap
    #: rows that it is asked at once, at most; None: any number
    most: int | None = None
    #: the part that it is asked; None: nothing
    part: MapQuestion | None = None
    trials: int = 0
    #: of every trial
    seconds: list[float] = field(default_factory=list)
    found: NDArray[Any] | None = None

    @property
    def column(self) -> str:
        """Heading of the column with the times of the contender."""
        return "ms" if self.name == OURS else f"{self.name} ms"

    def warm_up(self, question: MapQuestion, plan: BenchPlan) -> None:
        """Choose how much of a request to time, and how often, by timing parts of growing size."""
        wanted = min(question.size, self.most or question.size)
        few = SAMPLE
        if question.has_own_ends:
            few = ENOUGH_TRIPS * thresholds.WORTH_LANDMARKS * (plan.threads or default_threads())
        part = question.part(min(few, wanted))
        self._time(part)
        seconds, _ = self._time(part)
        while part.size < wanted and seconds < plan.row_limit / EXTRAPOLATES:
            part = question.part(min(wanted, GROWTH * part.size))
            seconds, _ = self._time(part)
        fitting = max(1, int(part.size * plan.row_limit / seconds))
        self.part = question.part(min(wanted, max(part.size, fitting)))
        # (so many may be asked in another way than few, which is compiled now)
        expected, _ = self._time(self.part)
        self.trials = max(1, min(plan.trials, int(plan.row_limit / expected)))

    def time_once(self) -> None:
        """Time one run of a request, or a part of it; store the result if it is the last trial."""
        assert self.part is not None
        seconds, result = self._time(self.part)
        self.seconds.append(seconds)
        if len(self.seconds) == self.trials:
            self.found = np.asarray(self.answers.read(result))

    def _time(self, part: MapQuestion) -> tuple[float, Any]:
        return time_call(lambda: part.ask(self.answers))

    def median(self, question: MapQuestion) -> float | None:
        """Return the median seconds for a request, scaled from a timed part; None if untimed."""
        if not self.seconds or self.part is None:
            return None
        return median(self.seconds) * (question.size / max(self.part.size, 1))


class PreparedMaps(BenchTable):
    """Benchmark table: queries of prepared maps compared with searches of the same graphs.

    Rivals that prepare maps are asked too; on the first device both the prepared map and the
    graph are asked, on the others the map alone.
    """

    #: of the graph in work: itself, its name, and the other libraries that have prepared it
    graph: sssp.Graph
    name: str
    others: list[MapContender]

    def __init__(self, plan: BenchPlan, options: Namespace, report: BenchReport) -> None:
        super().__init__(plan, options, report)
        self.devices, self.device = options.devices, options.devices[0]
        self.rivals = [rival for rival in options.rivals if rival.mapped is not None]
        self.steps = len(options.graphs) * (5 + len(self.rivals) + len(TREES) + len(TRIPS) + 2)
        self.calls: dict[str, Any] = {"threads": plan.threads, "progress": False}
        self._prepare = partial(sssp.prepare, threads=plan.threads, progress=False)
        self._repeat = partial(repeat, runs=plan.trials, limit=plan.row_limit)

    def measure(self) -> None:
        """Measure all requests on every graph, and add the results to the comparison table."""
        others = [*self.devices[1:], *(rival.name for rival in self.rivals)]
        names = "".join(f"|>{name} ms" for name in others)
        columns = (
            f"<graph|<asked for|>ms|>flat ms|>x|>SciPy ms|>x SciPy{names}|>pays after|>MB|<equal"
        )
        self.comparison = self.compare(TITLE, columns, NOTE)
        for origin in self.options.graphs:
            self.name, self.others = origin.name, []
            self._step("loading")
            places = sssp.datasets.find(f"{origin.name}.co")
            self.graph = self.load(origin, choose_first, places).graph
            try:
                self._measure_map()
            except (*REFUSALS, ValueError) as error:
                self._remark(f"broken off: {explain(error, (type(error),))}")

    def _measure_map(self) -> None:
        """Time preparation, new weights and every request on one graph, a table row for each."""
        dtype = self.graph.weights.dtype
        tiny = sssp.road_like(TINY)
        self._prepare(tiny.with_weights(tiny.weights.astype(dtype)))
        self._step("prepare")
        hierarchy = self._prepare(self.graph)
        self.prepared = median(self._repeat(partial(self._prepare, self.graph)))
        # up to a fifth greater
        share = 1 + 0.2 * self.random.random(self.graph.m)
        weights = (self.graph.weights * share).astype(dtype)
        line = self._add("prepare", self.prepared, count_bytes(hierarchy._structure))
        for rival in self.rivals:
            self._step(f"{rival.name}, prepare")
            assert rival.mapped is not None
            with self._note_failures(rival.name):
                if self.graph.least_weight < 0:
                    continue
                seconds, answers = time_call(rival.mapped(self.graph))
                self.others.append(MapContender(rival.name, answers))
                line[f"{rival.name} ms"] = 1000 * seconds
        self._step("read from its file")
        with TemporaryDirectory() as folder:
            path = Path(folder, "map.sssp")
            hierarchy.save(path)
            times = self._repeat(partial(sssp.read_hierarchy, path, threads=self.plan.threads))
        self._add("read from its file", median(times))
        self._weigh(hierarchy, weights)
        if self.graph.m:
            self._close(hierarchy)

        def contend(name: str, network: Network, device: str) -> MapContender:
            return MapContender(name, ask_ours(network, device=device, **self.calls))

        search = RIVALS[0].prepare(self.graph)
        # (SciPy's search has no targets)
        scipy = RivalMap(
            search,
            lambda sources, targets: search(sources)[:, targets],
            lambda sources, targets: search(sources)[np.arange(sources.size), targets],
            np.asarray,
        )
        contenders = [
            contend(OURS, hierarchy, self.device),
            contend(FLAT, self.graph, self.device),
            MapContender(SCIPY, scipy, SAMPLE),
            *(contend(device, hierarchy, device) for device in self.devices[1:]),
            *self.others,
        ]
        for question in draw_questions(self.random, self.graph.n, self.options.side):
            self._step(question.name)
            self._ask(question, contenders)

    def _weigh(self, hierarchy: sssp.Hierarchy, weights: NDArray[Any]) -> None:
        self._step("new weights")
        dtype = self.graph._weight_range.working_dtypes(None)[0]

        def weigh(device: str) -> int:
            return _customize(hierarchy.with_weights(weights), dtype, device)

        held = [weigh(device) for device in self.devices]
        here, *there = (median(self._repeat(partial(weigh, one))) for one in self.devices)
        line = self._add("new weights", here, held[0] + count_bytes(hierarchy._slots))
        for device, seconds in zip(self.devices[1:], there, strict=True):
            line[f"{device} ms"] = 1000 * seconds
        for other in self.others:
            if other.answers.weigh is None:
                continue
            with self._note_failures(other.name):
                seconds = median(self._repeat(partial(other.answers.weigh, weights)))
                line[other.column] = 1000 * seconds
                other.answers.weigh(self.graph.weights)

    def _close(self, hierarchy: sssp.Hierarchy) -> None:
        """Time a search after a random street is closed, on the prepared map and on the graph."""
        self._step(CLOSED)
        graph, random = self.graph, self.random
        seconds: list[list[float]] = []
        equal = True

        def ask(network: Network, street: list[int], source: int) -> sssp.ShortestPaths:
            closed = network.without_arcs(street)
            return sssp.shortest_paths(closed, source, device=self.device, **self.calls)

        while len(seconds) <= self.plan.trials:
            arc, source = (int(random.integers(count)) for count in (graph.m, graph.n))
            ends = graph.indices[arc], graph.tails[arc]
            back = arc_position(graph.indptr, graph.indices, *ends)
            street = [one for one in (arc, back) if one >= 0]
            both = [time_call(partial(ask, each, street, source)) for each in (hierarchy, graph)]
            seconds.append([one for one, _ in both])
            equal &= self._agree(*(result.distances for _, result in both))
            if len(seconds) > 1 and np.sum(seconds) > self.plan.row_limit:
                break
        ours, flat = (median(column) for column in zip(*seconds[1:], strict=True))  # (compiled)
        line = self._add(CLOSED, ours)
        line |= {"flat ms": 1000 * flat, "x": flat / ours, "equal": RIGHT if equal else WRONG}

    def _ask(self, question: MapQuestion, contenders: Sequence[MapContender]) -> None:
        """Time a request with all contenders: prepared map, graph, SciPy, and other libraries."""
        for one in contenders:
            one.part, one.trials, one.seconds, one.found = None, 0, [], None
            able = one.name != SCIPY or self.graph.least_weight >= 0
            if able and getattr(one.answers, question.kind) is not None:
                with self._note_failures(one.name, question):
                    one.warm_up(question, self.plan)
        for trial in range(self.plan.trials):
            for one in contenders:
                if trial < one.trials:
                    one.time_once()
        times = [one.median(question) for one in contenders]
        fast, slow, scipys = times[:3]
        line = self._add(question.name, fast)
        for one, seconds in zip(contenders, times, strict=True):
            line[one.column] = None if seconds is None else 1000 * seconds
        if fast is not None and slow is not None:
            line["x"] = slow / fast
            count = preparing_pays_after(self.prepared, fast, slow, question.size)
            line["pays after"] = "never" if count is None else count
        if fast is not None and scipys is not None:
            line["x SciPy"] = scipys / fast
        line["equal"] = self._compare(question, contenders)

    def _compare(self, question: MapQuestion, contenders: Sequence[MapContender]) -> str:
        """Return a word that says if the plain graph and the prepared map give equal answers."""
        equal = RIGHT
        for one in contenders:
            if not self._agree(contenders[0].found, one.found):
                if one.name == FLAT:
                    equal = WRONG
                else:
                    self._remark(f"{question.name}: {one.name} differs")
            part = one.part
            if one.name != SCIPY and part is not None and part.size < question.size:
                asked = f"{part.size:,} of {question.size:,}"
                self._remark(f"{question.name}: {one.name} asked {asked}")
        return equal

    def _agree(self, mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
        """Return whether two results agree in their common rows, to the tolerance of `verify`."""
        if mine is None or theirs is None:
            return True
        count, integral = min(len(mine), len(theirs)), self.graph.weights.dtype.kind == "i"
        tolerance = 0.0 if integral else 4 * np.finfo(np.float64).eps * self.graph.n
        # (of floats the sentinel is infinite already)
        rows, others = (
            np.where(part == unreached(part.dtype), np.inf, part.astype(np.float64))
            for part in (mine[:count], theirs[:count])
        )
        return bool(np.allclose(rows, others, rtol=tolerance, atol=0))

    def _add(self, asked: str, seconds: float | None, held: int | None = None) -> dict[str, Cell]:
        line: dict[str, Cell] = {"graph": self.name, "asked for": asked}
        line["MB"] = None if held is None else held / MEGABYTE
        line["ms"] = None if seconds is None else 1000 * seconds
        self.comparison.records.append(line)
        return line

    def _step(self, text: str) -> None:
        self.progress(f"{self.name}: {text}")

    def _remark(self, text: str) -> None:
        self.comparison.remarks.append(f"{self.name}: {text}")

    @contextmanager
    def _note_failures(self, name: str, question: MapQuestion | None = None) -> Iterator[None]:
        """Context manager: catch an error of a library, and add it to the report as a remark."""
        what = "" if question is None else f"{question.name}: "
        try:
            yield
        except Exception as error:
            skipped = " skipped" if isinstance(error, REFUSALS) else ""
            self._remark(f"{what}{name}{skipped}: {explain(error)}")


def ask_ours(network: Network, **options: Any) -> RivalMap:
    """Return the `sssp` query functions for a graph or a prepared map, with options bound."""
    return RivalMap(
        lambda sources: sssp.shortest_paths(network, sources, **options),
        lambda sources, targets: sssp.shortest_paths(network, sources, targets=targets, **options),
        partial(sssp.pairs, network, **options),
        lambda result: result.distances,
        paths=partial(sssp.pairs, network, predecessors=True, **options),
    )


def _customize(hierarchy: sssp.Hierarchy, dtype: np.dtype[Any], device: str) -> int:
    """Customize a prepared map on a device; return the bytes of its customized weights."""
    if device == "cpu":
        return count_bytes(hierarchy._layered(dtype))
    from sssp.cuda.availability import device_number, select
    from sssp.cuda.sweep.customization import device_map

    number = device_number(device)
    with select(number):
        there = device_map(hierarchy, dtype, number).settle()
    return int(there.nbytes - there.tree.nbytes)
