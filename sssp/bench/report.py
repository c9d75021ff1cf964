"""The report of a run: tables as text, and JSON with every trial."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shlex
import subprocess
import traceback
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from itertools import cycle, pairwise
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import sssp
from sssp.bench.workloads import GraphRecord
from sssp.engine.check_memory import NO_LIMIT, physical_memory
from sssp.engine.threads import usable_cores
from sssp.errors import SSSPError, import_extra
from sssp.loaders._files import replaced_file

#: version of the JSON form; it grows when a field changes its meaning or goes
SCHEMA = 1
GIB = 1 << 30
EXPLANATION = (
    "ms: of one call, all sources together; x SciPy: how many times as fast as SciPy, "
    "per source;\nM dist/s: million vertices reached per second; verified: by "
    "certificate, and equal to SciPy's distances."
)
ABSENT, RIGHT, WRONG = "-", "yes", "NO"
#: errors by which a contender refuses to answer; any other is a fault
REFUSALS = (SSSPError, MemoryError)

Cell = str | int | float | None


# -- rows and tables ---------------------------------------------------------------------------


@dataclass
class Measurement:
    """One line of the benchmark table: times and verification of a contender on a graph."""

    method: str
    device: str
    graph: str
    n: int
    m: int
    #: how many are solved in one call
    sources: int
    #: compiling, or loading compiled code; None if there was nothing to compile
    jit_seconds: float | None = None
    #: what the contender did once for this graph
    setup_seconds: float | None = None
    #: seconds of every timed call
    trials: list[float] = field(default_factory=list)
    #: vertices reached by one call, all sources together
    distances: int = 0
    #: phases of the last call, all sources together; None if the method has none
    phases: int | None = None
    #: how many times as fast as the reference rival, per source
    ratio: float | None = None
    #: None: there was nothing to verify, or nothing to verify it with
    verified: bool | None = None
    #: why the row was skipped, why it failed, or what else to know
    remark: str = ""

    @property
    def skipped(self) -> bool:
        """Whether no trial was timed; `remark` says why."""
        return not self.trials

    @property
    def median(self) -> float:
        """Median of the trials, in seconds."""
        return median(self.trials)

    @property
    def fastest(self) -> float:
        """Fastest trial, in seconds."""
        return min(self.trials)

    @property
    def distances_per_second(self) -> float:
        """Reached vertices per second, at the median time."""
        return self.distances / self.median

    @property
    def outcome(self) -> str:
        """How the measurement ended: skipped, verified as right or as wrong, or not verified."""
        if self.verified is False:
            return WRONG
        if self.skipped:
            return "skipped"
        return ABSENT if self.verified is None else RIGHT

    def as_dict(self) -> dict[str, Any]:
        """Return a dict of all fields and of computed figures, such as the median time."""
        derived = ("median", "fastest", "distances_per_second")
        figures = {name: None if self.skipped else getattr(self, name) for name in derived}
        return {**asdict(self), "skipped": self.skipped, **figures}

    def fail(self, error: Exception) -> None:
        """Record an error: drop the timed trials, and mark the row as skipped or as wrong."""
        self.trials.clear()
        self.remark = explain(error)
        if not isinstance(error, REFUSALS):
            self.verified = False


def explain(error: Exception, refusals: tuple[type[Exception], ...] = REFUSALS) -> str:
    """Return an error's message on one line; if unexpected, with its type, file and line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, refusals):
        return text
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"it broke down with {type(error).__name__} in {where}: {text}"


def summarize(rows: Sequence[Measurement]) -> str:
    """Return the first of the outcomes wrong, unchecked, right, skipped that any row has."""
    outcomes = {row.outcome for row in rows}
    return next(outcome for outcome in (WRONG, ABSENT, RIGHT, "skipped") if outcome in outcomes)


@dataclass
class Comparison:
    """A table that compares our measurements with those of papers or other libraries."""

    title: str
    #: headings; each begins with ``<`` or ``>``, its alignment
    columns: tuple[str, ...]
    #: explains the columns
    note: str
    #: the lines, by heading without its alignment; empty cells are None or absent
    records: list[dict[str, Cell]] = field(default_factory=list)
    #: why lines are empty
    remarks: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return title, table, remarks and note as text."""
        lines = [[record.get(column[1:]) for column in self.columns] for record in self.records]
        return "\n".join([self.title, align(self.columns, lines), *self.remarks, self.note])


def align(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Format rows as text columns; a heading begins with its alignment, ``<`` or ``>``."""
    lines = [[column[1:] for column in columns], *([_show(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            f"{cell:{column[0]}{width}}"
            for cell, column, width in zip(line, columns, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _show(cell: Cell) -> str:
    if cell is None:
        return ABSENT
    if isinstance(cell, float):
        return f"{cell:,.3f}"
    return cell if isinstance(cell, str) else f"{cell:,}"


def _ms(seconds: float | None) -> str | None:
    return None if seconds is None else f"{1000 * seconds:,.2f}"


# -- records of runs ---------------------------------------------------------------------------


@dataclass
class Record:
    """Benchmark results, with the machine, time and settings of their measurement."""

    #: program and arguments
    command: list[str]
    #: ISO 8601, with the time zone
    started: str
    versions: dict[str, str]
    hardware: dict[str, Any]
    #: how it was measured, by name
    settings: dict[str, Any]
    rows: list[Any] = field(default_factory=list)

    def write_json(self, path: Path) -> None:
        """Write the benchmark record to a JSON file."""
        rows = [row.as_dict() if isinstance(row, Measurement) else row for row in self.rows]
        content = {"schema": SCHEMA, **asdict(self), "rows": rows}
        with replaced_file(path) as stream:
            stream.write((json.dumps(content, indent=1) + "\n").encode())


@dataclass
class BenchReport(Record):
    """The results of ``python -m sssp.bench``, filled while it runs."""

    graphs: list[GraphRecord] = field(default_factory=list)
    #: if there are any, they are printed in place of the rows
    comparisons: list[Comparison] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether any row is wrong or failed, or a line of a comparison is wrong."""
        lines = (record for comparison in self.comparisons for record in comparison.records)
        failed = any(row.verified is False for row in self.rows)
        return failed or any(line.get("equal") == WRONG for line in lines)

    def text(self) -> str:
        """Return the report: header, table, remarks, and the times that the table leaves out."""
        header = f"{self.started}  {shlex.join(self.command)}"
        remarks = [
            f"{row.method} on {row.device}, {row.graph}: "
            + (f"{row.outcome}: " if row.skipped or row.verified is False else "")
            + row.remark
            for row in self.rows
            if row.remark
        ]
        parts = ["\n".join([header, *self.circumstances()])]
        if self.comparisons:
            parts += [*(each.text() for each in self.comparisons), "\n".join(remarks)]
        else:
            parts += [self._results(), "\n".join([*remarks, EXPLANATION])]
        return "\n\n".join(part for part in (*parts, self._setting_up()) if part)

    def circumstances(self) -> list[str]:
        """Return text lines that state the versions, machine and settings of the benchmark."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        found = self.hardware
        size = f", {found['memory'] / GIB:.1f} GiB" if found["memory"] else ""
        cores = f"{found['usable_cores']} of {found['cores']} cores{size}"
        machine = f"{found['cpu']}, {cores}, {found['system']}"
        gpu = ", ".join(found[key] for key in ("gpu", "driver") if key in found)
        settings = ", ".join(f"{name} {value:g}" for name, value in self.settings.items())
        return [versions, machine, *filter(None, [gpu]), settings]

    def _results(self) -> str:
        columns = "<method|<device|<graph|>n|>m|>sources"
        results = ">median ms|>fastest ms|>x SciPy|>M dist/s|<verified"
        lines: list[list[Cell]] = []
        for row in self.rows:
            figures: list[Cell] = [None] * 4
            if not row.skipped:
                ratio = None if row.ratio is None else f"{row.ratio:,.2f}"
                speed = f"{row.distances_per_second / 1e6:,.1f}"
                figures = [_ms(row.median), _ms(row.fastest), ratio, speed]
            line = [row.method, row.device, row.graph, row.n, row.m, row.sources]
            lines.append([*line, *figures, row.outcome])
        return align(f"{columns}|{results}".split("|"), lines)

    def _setting_up(self) -> str:
        """Return the times of loading, set-up and compilation as a text table."""
        lines: list[list[Cell]] = [
            ["load" if g.file else "make", None, g.name, _ms(g.load_seconds), _ms(g.jit_seconds)]
            for g in self.graphs
        ]
        for row in self.rows:
            times = _ms(row.setup_seconds), _ms(row.jit_seconds)
            if any(times):
                lines.append([row.method, row.device, row.graph, *times])
        columns = ("<what", "<device", "<graph", ">once ms", ">JIT ms")
        heading = "Not in the times above: loading, set-up for a graph, and JIT\n"
        return heading + align(columns, lines)


# -- versions and hardware ---------------------------------------------------------------------


def now() -> str:
    """Return the current time in ISO 8601, with the time zone."""
    return datetime.now(UTC).astimezone().isoformat(timespec="seconds")


def find_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of this package (and its git commit), Python, and other packages."""
    found = {"sssp": sssp.__version__}
    checkout = Path(sssp.__file__).resolve().parent.parent
    if (checkout / ".git").exists():
        command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
            found["commit"] = done.stdout.strip()
    found["python"] = platform.python_version()
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def find_hardware(devices: Sequence[str] = ()) -> dict[str, str | int | None]:
    """Return processor, cores, memory in bytes, system, and the first usable GPU of `devices`."""
    models = []
    with suppress(OSError):
        facts = Path("/proc/cpuinfo").read_text()
        models = re.findall(r"^model name\s*:\s*(.*\S)", facts, re.MULTILINE)
    found: dict[str, str | int | None] = {
        "cpu": models[0] if models else platform.processor() or "unknown processor",
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory": physical_memory() if physical_memory() < NO_LIMIT else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    for device in devices:
        with suppress(SSSPError):
            if device.startswith("cuda"):
                from sssp.cuda.availability import SIMULATOR, cuda, device_number, select

                with select(device_number(device)):
                    if SIMULATOR:
                        return found | {"gpu": "none, Numba's CUDA simulator"}
                    name = cuda.get_current_device().name
                    version = ".".join(map(str, cuda.cudadrv.driver.driver.get_version()))
                    return found | {"gpu": str(name), "driver": f"CUDA {version}"}
    return found


# -- a picture: time against the number of vertices, a line a method, with its slope --------------

#: vertices of the built-in graphs that are drawn where no others are named
SIZES = (4_000, 16_000, 64_000, 256_000)
#: how many numbers have room side by side on the axis of n
LABELS = 8
INCHES = (8, 5)
#: colours that the colour-blind can distinguish (Okabe and Ito), and markers; the first is for the
#: reference
COLOURS = ("#000000", "#d55e00", "#0072b2", "#b0478b", "#009e73", "#e69f00", "#56b4e9")
MARKERS = "xsoD^vP"
#: of the first device, the second and so on
STROKES = ("-", "--", ":", "-.")

#: vertices, and seconds per source
Point = tuple[int, float]


def fit_exponent(points: Sequence[Point]) -> float | None:
    """Return the exponent of n fitted to times (least squares of logarithms); None for one n."""
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    return linear_regression(xs, ys).slope if len(set(xs)) > 1 else None


def draw(report: BenchReport) -> Any:
    """Plot seconds per source against the number of vertices, except for wrong results.

    The `matplotlib.figure.Figure` that is returned belongs to no window.
    """
    #: seconds a source by method and device, in order of n
    lines: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for row in report.rows:
        if not row.skipped and row.verified is not False and row.n > 0 and row.sources > 0:
            lines[row.method, row.device].append((row.n, row.median / row.sources))
    for points in lines.values():
        points.sort()
    looks = cycle(zip(COLOURS, MARKERS, strict=True))
    methods = dict(zip(dict.fromkeys(method for method, _ in lines), looks, strict=False))
    devices = dict(zip(dict.fromkeys(device for _, device in lines), cycle(STROKES), strict=False))
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=INCHES, layout="constrained")
    ax = figure.add_subplot()
    ax.set(xscale="log", yscale="log", xlabel="vertices n", ylabel="ms a source, median")
    ax.set_title("Time against size, and the power of n that fits", loc="left")
    for (method, device), points in lines.items():
        color, marker = methods[method]
        xs, ys = zip(*((n, 1000 * seconds) for n, seconds in points), strict=True)
        name = method if len(devices) == 1 else f"{method}, {device}"
        exponent = fit_exponent(points)
        label = name if exponent is None else f"{name}: n^{exponent:.2f}"
        ax.plot(xs, ys, devices[device], color=color, marker=marker, markersize=5, label=label)
    # numbers in full; on the axis of n the sizes themselves if they have room
    ticker = import_extra("matplotlib.ticker", "plot")
    in_full = ticker.FuncFormatter(lambda value, _: f"{value:,g}")
    ax.yaxis.set_major_formatter(in_full)
    sizes = sorted({n for points in lines.values() for n, _ in points})
    gaps = [math.log(larger / smaller) for smaller, larger in pairwise(sizes)]
    if sizes and min(gaps, default=0) >= sum(gaps) / LABELS:
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    else:
        ax.xaxis.set_major_formatter(in_full)
    ax.grid(color="#d8dee4")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if lines:
        figure.legend(loc="outside right upper", frameon=False)
    caption = "\n".join(report.circumstances())
    figure.supxlabel(caption, x=0.01, ha="left", fontsize=7, color="#57606a")
    return figure
