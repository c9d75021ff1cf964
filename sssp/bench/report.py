"""The outcome of a run: as a table to read, and as JSON with every single trial."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sssp.bench.harness import Row
from sssp.bench.workloads import GraphRecord
from sssp.loaders._files import replaced_file

__all__ = ["RIGHT", "SCHEMA", "WRONG", "Cell", "Comparison", "Report", "verdict"]

#: version of the JSON form; it grows when a field changes its meaning or goes
SCHEMA = 1
GIB = 1 << 30
EXPLANATION = (
    "ms: of one call, all sources together; x SciPy: how many times as fast as SciPy, "
    "per source;\nM dist/s: million vertices reached per second; verified: by "
    "certificate, and equal to SciPy's distances."
)
ABSENT, RIGHT, WRONG = "-", "yes", "NO"

Cell = str | int | float | None


@dataclass
class Comparison:
    """A table that sets our figures beside published ones.

    Attributes
    ----------
    title : str
    columns : tuple of str
        Headings; each begins with ``<`` or ``>``, its alignment.
    note : str
        What the columns are.
    records : list of dict
        The lines, by heading without its alignment; what is missing is None or absent.
    remarks : list of str
        Why lines are empty.
    """

    title: str
    columns: tuple[str, ...]
    note: str
    records: list[dict[str, Cell]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return title, table, remarks and note."""
        lines = [
            [_cell(record.get(column[1:])) for column in self.columns] for record in self.records
        ]
        return "\n".join([self.title, _table(self.columns, lines), *self.remarks, self.note])


@dataclass
class Report:
    """Everything that a run has found, so far.

    Attributes
    ----------
    command : list of str
        Program and arguments.
    started : str
        ISO 8601, with the time zone.
    versions, hardware : dict
        Where it was measured.
    settings : dict
        How: numbers by name.
    graphs : list of GraphRecord
    rows : list of Row
    comparisons : list of Comparison
        If there are any, they are printed in place of the rows.
    """

    command: list[str]
    started: str
    versions: dict[str, str]
    hardware: dict[str, str | int | None]
    settings: dict[str, float]
    graphs: list[GraphRecord] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether any row turned out wrong, or broke down, or a line of a comparison is wrong."""
        lines = (record for comparison in self.comparisons for record in comparison.records)
        return any(row.verified is False for row in self.rows) or any(
            line.get("equal") == WRONG for line in lines
        )

    def text(self) -> str:
        """Return header, table, remarks, and the times that the table leaves out."""
        if self.comparisons:
            results = [comparison.text() for comparison in self.comparisons]
            results.append("\n".join(self._remarks()))
        else:
            results = [self._results(), "\n".join([*self._remarks(), EXPLANATION])]
        parts = [self._header(), *results, self._before_the_clock()]
        return "\n\n".join(part for part in parts if part)

    def write_json(self, path: Path) -> None:
        """Write everything to a file, times in seconds."""
        rows = [
            {
                **asdict(row),
                "skipped": row.skipped,
                "median": None if row.skipped else row.median,
                "fastest": None if row.skipped else row.fastest,
                "distances_per_second": None if row.skipped else row.distances_per_second,
            }
            for row in self.rows
        ]
        content = {"schema": SCHEMA, **asdict(self), "rows": rows}
        with replaced_file(path) as stream:
            stream.write((json.dumps(content, indent=1) + "\n").encode())

    def circumstances(self) -> list[str]:
        """Return lines on versions, machine and settings."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        machine = self.hardware
        memory = machine["memory"]
        size = f", {memory / GIB:.1f} GiB" if isinstance(memory, int) else ""
        gpu = ", ".join(str(machine[key]) for key in ("gpu", "driver") if key in machine)
        settings = ", ".join(f"{name} {value:g}" for name, value in self.settings.items())
        return [
            versions,
            f"{machine['cpu']}, {machine['usable_cores']} of {machine['cores']} cores{size}, "
            f"{machine['system']}",
            *([gpu] if gpu else []),
            settings,
        ]

    def _header(self) -> str:
        command = f"{self.started}  {shlex.join(self.command)}"
        return "\n".join([command, *self.circumstances()])

    def _results(self) -> str:
        columns = (
            "<method",
            "<device",
            "<graph",
            ">n",
            ">m",
            ">sources",
            ">median ms",
            ">fastest ms",
            ">x SciPy",
            ">M dist/s",
            "<verified",
        )
        return _table(columns, [_result(row) for row in self.rows])

    def _remarks(self) -> list[str]:
        return [
            f"{row.method} on {row.device}, {row.graph}: {_remark(row)}"
            for row in self.rows
            if row.remark
        ]

    def _before_the_clock(self) -> str:
        loading = [
            (
                "load" if graph.file else "make",
                ABSENT,
                graph.name,
                _milliseconds(graph.load_seconds),
                _milliseconds(graph.jit_seconds),
            )
            for graph in self.graphs
        ]
        setting_up = [
            (
                row.method,
                row.device,
                row.graph,
                _milliseconds(row.setup_seconds),
                _milliseconds(row.jit_seconds),
            )
            for row in self.rows
            if row.setup_seconds is not None or row.jit_seconds is not None
        ]
        columns = ("<what", "<device", "<graph", ">once ms", ">JIT ms")
        return "Not in the times above: loading, set-up for a graph, and JIT\n" + _table(
            columns, loading + setting_up
        )


def _result(row: Row) -> tuple[str, ...]:
    size = (row.method, row.device, row.graph, f"{row.n:,}", f"{row.m:,}", f"{row.sources:,}")
    if row.skipped:
        return (*size, ABSENT, ABSENT, ABSENT, ABSENT, _outcome(row))
    return (
        *size,
        _milliseconds(row.median),
        _milliseconds(row.fastest),
        ABSENT if row.ratio is None else f"{row.ratio:.2f}",
        f"{row.distances_per_second / 1e6:,.1f}",
        _outcome(row),
    )


def verdict(rows: Sequence[Row]) -> str:
    """Sum up several rows: one that turned out wrong counts most, skipped ones least."""
    outcomes = {_outcome(row) for row in rows}
    return next(outcome for outcome in (WRONG, ABSENT, RIGHT, "skipped") if outcome in outcomes)


def _outcome(row: Row) -> str:
    if row.verified is False:
        return WRONG
    if row.skipped:
        return "skipped"
    return ABSENT if row.verified is None else RIGHT


def _remark(row: Row) -> str:
    if row.skipped or row.verified is False:
        return f"{_outcome(row)}: {row.remark}"
    return row.remark


def _cell(value: Cell) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:,.3f}"
    return value if isinstance(value, str) else f"{value:,}"


def _milliseconds(seconds: float | None) -> str:
    return ABSENT if seconds is None else f"{seconds * 1000:,.2f}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out aligned columns; each heading begins with ``<`` or ``>``, its alignment."""
    lines = [[column[1:] for column in columns], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            f"{cell:{column[0]}{width}}"
            for cell, column, width in zip(line, columns, widths, strict=True)
        ).rstrip()
        for line in lines
    )
