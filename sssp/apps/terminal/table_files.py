"""Table files: read columns from CSV or Parquet, write blocks of rows, write GeoJSON lines.

GeoJSON (RFC 7946) is what every GIS opens; it is written without one.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from sssp.apps.terminal.arguments import require_coordinates
from sssp.apps.terminal.output import STDOUT, Output
from sssp.errors import GraphFormatError, import_extra, join_briefly, plain_digits, quote

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import sssp

    #: of one length: arrays (masked where something is missing), or lists
    Columns = Mapping[str, NDArray[Any] | list[Any]]

PARQUET_MAGIC = b"PAR1"
#: rows of a .csv file that are turned into text at once
CSV_BLOCK = 1 << 16
#: text that a spreadsheet takes for a formula: it begins like one, and is not a number
FORMULA = re.compile(r"[=@]|[+-](?!([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\Z)")
#: what headings may be called beside their own name
OTHER_HEADINGS = {
    "lon": ("longitude", "x"),
    "lat": ("latitude", "y"),
    "source": ("origin",),
    "target": ("destination",),
}
#: digits behind the point of degrees: a centimetre
DIGITS = 7
#: features that are turned into text at once
FEATURES = 1 << 14
#: number of the file that is stdin
STDIN = 0
#: DIMACS files by their endings: what reads them, and what their columns are called
PROBLEMS = {".ss": ("read_ss", ("vertex",)), ".p2p": ("read_p2p", ("source", "target"))}


@dataclass(frozen=True)
class FileTable:
    """A table read from a file: its columns, and the line number of every row.

    Attributes
    ----------
    path : str
        What to call it in messages.
    columns : dict of str to list
        Texts from CSV, whatever it holds from Parquet; None for what is missing there.
    lines : list of int
        The line of every row, counted from 1; in Parquet its number.
    """

    path: str
    columns: dict[str, list[Any]]
    lines: Sequence[int]

    def find(self, *names: str) -> str | None:
        """Return the heading of the first column called by one of `names` or a synonym, or None."""
        known = {heading.strip().lower(): heading for heading in self.columns}
        for name in names:
            # source_lon is origin_longitude, too
            parts = ((part, *OTHER_HEADINGS.get(part, ())) for part in name.lower().split("_"))
            for spelling in map("_".join, product(*parts)):
                if spelling in known:
                    return known[spelling]
        return None

    def require(self, name: str) -> str:
        """Return the heading that the file has for a column name; raise if there is none."""
        found = self.find(name)
        if found is None:
            raise self.lacks(name)
        return found

    def lacks(self, what: str) -> GraphFormatError:
        """Return the error for a missing column; it lists the columns of the file."""
        names = list(self.columns)
        found = join_briefly(map(quote, names))
        return GraphFormatError(
            f"there is no column {what}, but {found}{_other_commas(names)}", path=self.path
        )

    def refuse(self, row: int, reason: str) -> NoReturn:
        """Raise a `GraphFormatError` with a reason and the line number of a row."""
        raise GraphFormatError(reason, path=self.path, line_number=self.lines[row])

    def numbers(self, column: str) -> list[float]:
        """Return a column as finite floats; raise an error that names the line of a bad value."""
        found = []
        for row, value in enumerate(self.columns[column]):
            try:
                number = float(plain_digits(value) if isinstance(value, str) else value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number):
                has_comma = re.fullmatch(r"\s*[+-]?[0-9]+,[0-9]+\s*", str(value))
                hint = "; write a point in place of the comma" if has_comma else ""
                self.refuse(row, f"{column} must be a finite number, not {quote(value)}{hint}")
            found.append(number)
        return found


def read_table(path: Path) -> FileTable:
    """Read a CSV, Parquet or DIMACS file, plain or compressed; ``-`` is stdin.

    DIMACS files are known by their endings (`PROBLEMS`), the others by their first bytes. The first
    line of CSV holds the names of the columns.

    Raises
    ------
    GraphFormatError
        The file is malformed; names the line.
    MissingExtraError
        Parquet without pyarrow.
    OSError
        It cannot be read.
    """
    from sssp import loaders
    from sssp.loaders._files import DAMAGED_STREAM, decompressing, refuse_damage

    name = "stdin" if path == STDOUT else str(path)
    for ending in PROBLEMS.keys() & {*path.suffixes}:
        reader, names = PROBLEMS[ending]
        labels = getattr(loaders, reader)(path).reshape(-1, len(names)) + 1
        columns = dict(zip(names, labels.T.tolist(), strict=True))
        return FileTable(name, columns, range(1, len(labels) + 1))
    try:
        with open(STDIN if path == STDOUT else path, "rb") as file, decompressing(file) as stream:
            if stream.peek(len(PARQUET_MAGIC)).startswith(PARQUET_MAGIC):
                return _parquet_table(name, stream)
            # (it has a name, and so outlives the file: else it would close that as it goes)
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            return _csv_table(name, text)
    except UnicodeDecodeError as error:
        raise GraphFormatError(
            f"neither Parquet nor CSV in UTF-8 ({error}); save it as UTF-8, which Excel calls "
            '"CSV UTF-8 (Comma delimited)"',
            path=name,
        ) from None
    except csv.Error as error:
        raise GraphFormatError(f"neither CSV nor Parquet: {error}", path=name) from None
    except DAMAGED_STREAM as error:
        refuse_damage(error, name)


def _csv_table(name: str, text: io.TextIOWrapper) -> FileTable:
    reader = csv.reader(text)
    names = [heading.strip() for heading in next(reader, [])]
    _check_names(name, names)
    rows, lines = [], []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(names):
            reason = f"{len(cells)} cells under {len(names)} headings{_other_commas(names)}"
            raise GraphFormatError(reason, path=name, line_number=reader.line_num)
        rows.append(cells)
        lines.append(reader.line_num)
    columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
    return FileTable(name, dict(zip(names, columns, strict=True)), lines)


def _parquet_table(name: str, stream: BinaryIO) -> FileTable:
    arrow, parquet = import_extra("pyarrow", "parquet"), import_extra("pyarrow.parquet", "parquet")
    try:
        # (on no thread of Arrow's: one that lets go of our bytes while Python ends aborts it)
        table = parquet.ParquetFile(arrow.BufferReader(stream.read())).read(use_threads=False)
    except arrow.ArrowException as error:
        raise GraphFormatError(f"the Parquet file is damaged: {error}", path=name) from None
    _check_names(name, table.column_names)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return FileTable(name, columns, range(1, table.num_rows + 1))


def _other_commas(names: Sequence[str]) -> str:
    """Return a hint to use commas if another character seems to separate columns, else ''."""
    found = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if found is None:
        return ""
    point = ", and points in numbers" if found == ";" else ""
    return f"; write commas between the columns in place of {found!r}{point}"


def _check_names(path: str, names: Sequence[str]) -> None:
    if not names:
        raise GraphFormatError("the file has no columns; the first line names them", path=path)
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise GraphFormatError(f"more than one column is called {quote(twins[0])}", path=path)


def write_table(output: Output, blocks: Iterable[Columns]) -> int:
    """Write a table, given as one or more blocks of rows; return its number of rows.

    The first block is there before the file is opened, for a search compiles at first, and may
    refuse what it is asked.

    Raises
    ------
    MissingExtraError
        Parquet without pyarrow.
    """
    import numpy as np

    from sssp.graph.parquet import write_parquet

    some = iter(blocks)
    some = chain([next(some)], some)
    with output.open() as stream:
        if output.format == "csv":
            return _write_csv(stream, some, safe=output.safe_csv)
        if output.format == "parquet":
            return write_parquet(stream, some, extra="parquet")
        parts = list(some)
        columns: dict[str, Any] = {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }
        np.savez(stream, **columns)
        return len(next(iter(columns.values())))


def _write_csv(stream: BinaryIO, blocks: Iterable[Columns], *, safe: bool) -> int:
    count, kept = 0, _unlike_formulas if safe else list
    for number, columns in enumerate(blocks):
        if number == 0:
            stream.write(_csv([kept(columns)]))
        size = len(next(iter(columns.values())))
        for start in range(0, size, CSV_BLOCK):
            part = [_cells(column[start : start + CSV_BLOCK]) for column in columns.values()]
            stream.write(_csv(zip(*map(kept, part), strict=True)))
        count += size
    return count


def _cells(column: NDArray[Any] | list[Any]) -> list[Any]:
    """Return a part of a column as CSV cells; the entries of a list are separated by blanks."""
    if not isinstance(column, list):
        return list(column.tolist())
    return [" ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in column]


def _unlike_formulas(cells: Iterable[Any]) -> list[Any]:
    """Return the cells, with ' before each text that a spreadsheet would take for a formula."""
    return [f"'{c}" if isinstance(c, str) and FORMULA.match(c) else c for c in cells]


def _csv(lines: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def write_lines(
    output: Output, g: sssp.Graph, tails: NDArray[Any], heads: NDArray[Any], properties: Columns
) -> int:
    """Write a straight GeoJSON line from each tail to its head; return the number of lines.

    Parameters
    ----------
    tails, heads : ndarray of int, shape (k,)
        Vertices.
    properties : mapping of names to columns, shape (k,)
    """
    import numpy as np

    places = np.round(require_coordinates(g), DIGITS)
    with output.open() as stream:
        stream.write(b'{"type": "FeatureCollection", "features": [')
        for start in range(0, tails.size, FEATURES):
            part = slice(start, start + FEATURES)
            ends = np.stack([places[tails[part]], places[heads[part]]], axis=1).tolist()
            cells = [np.asarray(column[part]).tolist() for column in properties.values()]
            features = [
                {
                    "type": "Feature",
                    "properties": dict(zip(properties, values, strict=True)),
                    "geometry": {"type": "LineString", "coordinates": line},
                }
                for line, *values in zip(ends, *cells, strict=True)
            ]
            lines = ",\n".join(map(json.dumps, features))
            stream.write((",\n" if start else "\n").encode() + lines.encode())
        stream.write(b"\n]}\n")
    return int(tails.size)
