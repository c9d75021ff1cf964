"""The output of a command: a file that is written completely or not at all, or stdout."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sssp.apps.terminal.arguments import new_file
from sssp.apps.terminal.interrupt import raise_interrupts
from sssp.apps.terminal.outcome import name_in_errors, on_one_line, tell
from sssp.errors import import_extra

#: name of an output file that stands for stdout
STDOUT = Path("-")
#: path of a command without an output file (no file has the name of this folder)
NOWHERE = Path()
#: the format that spreadsheets read
CSV = "csv"
#: formats of pictures, and dots an inch of those that have some
PICTURES = ("png", "svg", "pdf")
DOTS_PER_INCH = 200
#: formats that a terminal can show
TEXTS = {CSV, "geojson", "gr", "svg"}
#: formats of GeoDataFrames, and the drivers that write them
DRIVERS = {"geojson": "GeoJSON", "gpkg": "GPKG"}
#: rows of a frame between two steps of a progress bar
ROWS_TOGETHER = 5_000
#: packages that write formats, and the extras that bring them
EXTRAS = {
    "parquet": ("pyarrow", "parquet"),
    "gpkg": ("geopandas", "geo"),
    **dict.fromkeys(PICTURES, ("matplotlib", "plot")),
}


@dataclass(frozen=True)
class Output:
    """The output of a command: a file to write, stdout, or nothing.

    Attributes
    ----------
    path : Path
        `STDOUT` for stdout, `NOWHERE` for no output at all.
    format : str
        One of the command's formats, such as ``"csv"``.
    safe_csv : bool
        Whether text that a spreadsheet takes for a formula is quoted.
    """

    path: Path
    format: str
    safe_csv: bool = False

    @property
    def is_stdout(self) -> bool:
        """Whether the output goes to stdout, so that nothing else may be printed there."""
        return self.path == STDOUT

    @property
    def name(self) -> str:
        """The path of the output file, or ``stdout``, as messages show it."""
        return "stdout" if self.is_stdout else on_one_line(str(self.path))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the output for writing; after an error or Ctrl-C an old file remains unchanged.

        Errors name the file.
        """
        with name_in_errors(self.name):
            if self.is_stdout:
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
                return
            from sssp.loaders._files import replaced_file

            with raise_interrupts(), replaced_file(self.path) as stream:
                yield stream

    def save(self, write: Callable[[Path], object]) -> None:
        """Save the output by a call of `write`, which must replace an existing file atomically."""
        by_name = self.path.name.lower().endswith(f".{self.format}")
        if self.is_stdout or not by_name or (self.path.exists() and not self.path.is_file()):
            self.fill(write)
            return
        with raise_interrupts(), name_in_errors(self.name):
            write(self.path)

    def fill(self, write: Callable[[Path], object]) -> None:
        """Call `write` to write a temporary file, then copy that file to the output.

        For what writes to paths only, or needs to move back and forth.
        """
        with raise_interrupts(), tempfile.TemporaryDirectory(prefix="sssp-") as folder:
            path = Path(folder, f"output.{self.format}")
            write(path)
            with path.open("rb") as content, self.open() as stream:
                shutil.copyfileobj(content, stream)

    def write_frame(self, frame: Any, layer: str) -> None:
        """Write a GeoDataFrame, with a progress bar; errors name the file."""
        from sssp.engine.progress import progress_bar

        # (GeoJSON is one text, which nothing can be put behind)
        step = ROWS_TOGETHER if self.format == "gpkg" else max(len(frame), 1)

        def write(path: Path) -> None:
            with progress_bar(len(frame), None, unit="row") as advance:
                for first in range(0, max(len(frame), 1), step):
                    part = frame.iloc[first : first + step]
                    mode = "a" if first else "w"
                    part.to_file(path, driver=DRIVERS[self.format], layer=layer, mode=mode)
                    advance(len(part))

        self.fill(write)

    def draw(self, figure: Any, dpi: int) -> None:
        """Write a Matplotlib figure to the output, with `dpi` dots per inch."""
        with self.open() as stream:
            figure.savefig(stream, format=self.format, dpi=dpi)

    def summarize(self, lines: Iterable[str]) -> None:
        """Print a summary of the answer: on stderr if the answer itself goes to stdout."""
        if not self.is_stdout:
            print(*lines, sep="\n")
            return
        for line in lines:
            tell(line)


def add_output(
    parser: argparse.ArgumentParser,
    formats: Sequence[str],
    *,
    default: Path = NOWHERE,
    required: bool = False,
) -> None:
    """Declare ``--output``, ``--format`` and, if CSV is a format, ``--safe-csv``."""
    endings = _either(formats)
    parser.set_defaults(formats=formats)
    text = (
        f"write a {endings} file, whole or not at all; - is stdout, and the summary goes to "
        f"stderr{' (default -)' if default == STDOUT else ''}"
    )
    options: dict[str, Any] = {"default": default, "required": required, "metavar": "FILE"}
    parser.add_argument("-o", "--output", type=output_path, help=text, **options)
    text = f"what to write, whatever the name of the file (on stdout by default {formats[0]})"
    parser.add_argument("--format", choices=formats, help=text)
    if CSV in formats:
        text = (
            "put ' before text in CSV that a spreadsheet takes for a formula: it begins with "
            "= + - or @ and is not a number"
        )
        parser.add_argument("--safe-csv", action="store_true", help=text)


def choose_output(options: argparse.Namespace) -> Output:
    """Return the destination and format of a command's output; refuse an unknown format.

    Raises
    ------
    ValueError
        The name of the file has no known format; the format is not for a terminal, or takes no
        ``--safe-csv``.
    MissingExtraError
        The package that writes it is not installed.
    """
    formats, path = options.formats, options.output
    safe_csv = CSV in formats and options.safe_csv
    if path == NOWHERE:
        for name, given in (("--format", options.format is not None), ("--safe-csv", safe_csv)):
            if given:
                raise ValueError(f"{name} is for the output file: name one with -o")
        return Output(NOWHERE, formats[0])
    name, endings = path.name.lower(), _either(formats)
    ending = next((ending for ending in formats if name.endswith(f".{ending}")), None)
    guessed = options.format is None and ending is None and path != STDOUT
    # (a pipe or device may have any name)
    if guessed and (path.is_file() or not path.exists()):
        raise ValueError(f"{str(path)!r} must end in {endings}, or --format say what it is")
    output = Output(path, options.format or ending or formats[0], safe_csv)
    if output.format not in formats:
        raise ValueError(f"this is written as {endings}, not as .{output.format}")
    if safe_csv and output.format != CSV:
        raise ValueError(f"--safe-csv is for .csv output, not .{output.format}")
    if output.format in EXTRAS:
        import_extra(*EXTRAS[output.format])
    if output.is_stdout and output.format not in TEXTS and sys.stdout.isatty():
        raise ValueError(f"a .{output.format} file is not for a terminal: name a file with -o")
    return output


def _either(formats: Sequence[str]) -> str:
    *others, last = (f".{name}" for name in formats)
    return f"{', '.join(others)} or {last}" if others else last


def output_path(text: str) -> Path:
    """Return the path of a file to write, or `STDOUT` if the text means stdout."""
    if text == str(STDOUT):
        return STDOUT
    path = new_file(text)
    with suppress(OSError, ValueError):  # (``/dev/stdout``, say, is what stdout leads to)
        if os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno())):
            return STDOUT
    return path
