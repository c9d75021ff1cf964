"""Shared parts of the scripts: options, a table that is printed and stored, and GPU timers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from string import Formatter
from time import perf_counter
from typing import Any

from sssp.apps.terminal.arguments import Parser, new_file
from sssp.bench.report import Record, find_hardware, find_versions, now

#: packages of which the JSON of a script has the version
PACKAGES = ("numpy", "numba", "numba-cuda")


def make_parser(description: str | None) -> Parser:
    """Return a parser with the options that all scripts have, described by their docstring."""
    parser = Parser(description=description)
    text = "also write the figures there"
    parser.add_argument("--json", type=new_file, metavar="FILE", help=text)
    return parser


class Listing(Record):
    """A record of a script: its rows are dicts, printed as they come in a Markdown table.

    Parameters
    ----------
    settings : dict
        How it is measured: clock, number of runs and the like.
    headings, cells : str
        Two lines of the table, with ``|`` between cells. The second is a format over the fields
        of a row, ``"{what} | {seconds:,.2f}"``: None is shown as an empty cell, a bool as "equal"
        or "WRONG".
    """

    def __init__(self, settings: dict[str, Any], headings: str, cells: str) -> None:
        super().__init__(["python", *sys.orig_argv[1:]], now(), {}, {}, settings)
        self.cells = cells
        self._begun = perf_counter()
        _print_line(headings)
        _print_line(" | ".join(["---"] * len(headings.split("|"))))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._begun

    def add(self, *rows: dict[str, Any], **shown: Any) -> None:
        """Store rows, and print the first with the fields `shown` added."""
        self.rows += rows
        _print_line(_Cells().vformat(self.cells, (), {**rows[0], **shown}))

    def finish(self, file: Path | None) -> int:
        """Write all rows to a file if asked; return the exit code: 1 if a row is wrong."""
        if file is not None:
            # (not before: asking a GPU makes its context, which some scripts time)
            self.versions, self.hardware = find_versions(PACKAGES), find_hardware(["cuda"])
            self.write_json(file)
        return int(any(row.get("equal") is False for row in self.rows))


class _Cells(Formatter):
    """Formats None as an empty cell, and a bool as a verdict."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "equal" if value else "WRONG"
        return str(super().format_field(value, format_spec))


def _print_line(cells: str) -> None:
    print(f"| {cells} |", flush=True)


def time_launches(stream: Any, *steps: Callable[[], Any]) -> list[float]:
    """Return the milliseconds of every step on a stream of a GPU, between CUDA events."""
    from sssp.cuda.availability import cuda

    events = [cuda.event() for _ in range(len(steps) + 1)]
    events[0].record(stream)
    for step, end in zip(steps, events[1:], strict=True):
        step()
        end.record(stream)
    events[-1].synchronize()
    return [cuda.event_elapsed_time(*pair) for pair in pairwise(events)]
