"""The line-oriented text formats of the 9th DIMACS Implementation Challenge.

The four formats read here are one grammar: comment lines (``c``), one problem line (``p``), and
as many records as it announces, each a letter and its integer fields. A Numba kernel takes the
lines that look as they should, a chunk of text at a time; at any other line it stops, and Python
takes that line or says what is wrong with it. So the grammar is written out once, in Python, and
the kernel need only be right about the lines that it accepts.

Source: http://www.diag.uniroma1.it/challenge9/format.shtml
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError
from sssp.kernels.dtypes import INDEX, INT64
from sssp.kernels.jit import njit
from sssp.loaders._files import Pathname, RefusedError, decompressed, printable
from sssp.loaders._text import TextChunks

#: text parsed per kernel call: large beside the cost of the call, small beside the cache
CHUNK_BYTES = 1 << 18

# Python may be set to convert no more digits than this; int64 needs 19.
_LONGEST_NUMBER = 640
_MOST_VERTICES = int(np.iinfo(INDEX).max)
_INT64 = np.iinfo(INT64)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# Bytes as the kernel sees them.
_SPACE, _TAB, _RETURN, _NEWLINE = 32, 9, 13, 10
_MINUS, _ZERO, _COMMENT = 45, 48, 99
# Every number of 18 digits fits int64; Python takes the few that are longer.
_MOST_DIGITS = 18


@njit
def _records_kernel(text, begin, end, letter, vertex_fields, largest_vertex, room, columns):
    # Positions are unsigned: signed ones cost a test for negative indices at every byte.
    position, stop, one = np.uint64(begin), np.uint64(end), np.uint64(1)
    fields = columns.shape[0]
    lines = 0
    records = 0
    while position < stop:
        start = position
        byte = text[position]
        while byte in (_SPACE, _TAB, _RETURN):
            position += one
            byte = text[position]
        if byte == letter and records < room:
            accepted = True
            position += one
            for field in range(fields):
                byte = text[position]
                if byte not in (_SPACE, _TAB):
                    accepted = False
                    break
                while byte in (_SPACE, _TAB):
                    position += one
                    byte = text[position]
                negative = byte == _MINUS
                if negative:
                    position += one
                first_digit = position
                value = 0
                digit = text[position] - np.uint8(_ZERO)
                while digit < 10:
                    value = value * 10 + np.int64(digit)
                    position += one
                    digit = text[position] - np.uint8(_ZERO)
                digits = np.int64(position - first_digit)
                if digits == 0 or digits > _MOST_DIGITS:
                    accepted = False
                    break
                if negative:
                    value = -value
                if field < vertex_fields:
                    if value < 1 or value > largest_vertex:
                        accepted = False
                        break
                    value -= 1
                columns[field, records] = value
            byte = text[position]
            while byte in (_SPACE, _TAB, _RETURN):
                position += one
                byte = text[position]
            if not accepted or byte != _NEWLINE:
                return np.int64(start), lines, records
            records += 1
        elif byte == _COMMENT:
            while text[position] != _NEWLINE:
                position += one
        elif byte != _NEWLINE:
            return np.int64(start), lines, records
        position += one
        lines += 1
    return np.int64(position), lines, records


@dataclass(frozen=True)
class RecordFormat:
    """The problem line and the records of one of the formats.

    Parameters
    ----------
    kind : str
        What the file is, for messages.
    problem : tuple of str
        The words between ``p`` and the counts.
    counts : tuple of str
        Names of the counts, the last being the number of records.
    letter : str
        First letter of a record.
    record : str
        What a record is, for messages.
    fields : tuple of str
        Names of its fields, vertices first.
    vertex_fields : int
        How many of the fields are vertices.

    Notes
    -----
    A count named ``n`` is the number of vertices and bounds them.
    """

    kind: str
    problem: tuple[str, ...]
    counts: tuple[str, ...]
    letter: str
    record: str
    fields: tuple[str, ...]
    vertex_fields: int

    @property
    def problem_line(self) -> str:
        """The problem line with names for counts, such as ``p sp n m``."""
        return " ".join(("p", *self.problem, *self.counts))


_PROBLEMS = {
    "edge": "a DIMACS graph-colouring file (.col)",
    "col": "a DIMACS graph-colouring file (.col)",
    "max": "a DIMACS maximum-flow file (.max)",
    "min": "a DIMACS minimum-cost-flow file (.min)",
    "asn": "a DIMACS assignment file (.asn)",
    "cnf": "a DIMACS satisfiability file (.cnf)",
    "tw": "a PACE tree-width file",
    "sp": "a graph file (.gr)",
    "aux sp co": "a coordinates file (.co)",
    "aux sp ss": "a file of sources (.ss)",
    "aux sp p2p": "a file of queries (.p2p)",
}


class RecordReader:
    """A reader of one file.

    Parameters
    ----------
    stream : binary stream
        The file, as `decompressed` opens it; it is read to its end.
    path : str or path-like
        Its name, for messages.
    form : RecordFormat
        Its format.
    chunk_bytes : int
        How much text to read at once. The result does not depend on it.

    Attributes
    ----------
    counts : tuple of int
        The counts of the problem line, known once `blocks` has yielded or ended.
    """

    def __init__(
        self, stream: Any, path: Pathname, form: RecordFormat, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self.path, self.form, self._stream, self._chunk_bytes = path, form, stream, chunk_bytes
        self.counts: tuple[int, ...] = ()
        self._problem: tuple[int, str] = (0, "")
        self._largest_vertex = _MOST_VERTICES
        self._records = 0

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Read the records block by block, in the order of the file.

        Yields
        ------
        columns : ndarray of int64, shape (fields, records)
            The fields of some records, vertices 0-based; overwritten by the next block.

        Raises
        ------
        GraphFormatError
            The file is not as its format demands. What was yielded before is worthless then.
        """
        chunks = TextChunks(self._stream, self.path, self._chunk_bytes)
        chunks.refuse_other_kinds(self.form.kind)
        form, columns = self.form, np.empty((len(self.form.fields), 0), INT64)
        while chunks.refill():
            # the shortest record has a letter, a newline, and a blank and a digit per field
            capacity = chunks.text.size // (2 + 2 * len(form.fields))
            if columns.shape[1] < capacity:
                columns = np.empty((len(columns), capacity), INT64)
            while chunks.begin < chunks.end:
                # valid lines up to the first invalid one
                announced = self.counts[-1] if self.counts else 0
                room = min(announced - self._records, columns.shape[1])
                bounds = form.vertex_fields, self._largest_vertex, room
                text = chunks.text, chunks.begin, chunks.end, ord(form.letter)
                chunks.begin, lines, found = _records_kernel(*text, *bounds, columns)
                chunks.lines += lines
                records = int(found)
                if records == 0 and chunks.begin < chunks.end:
                    records = self._take_line(chunks, columns)
                self._records += records
                if records:
                    yield columns[:, :records]
        if not self.counts:
            reason = f"the file ends without a problem line '{form.problem_line}'"
            last = printable(chunks.last_line())
            raise GraphFormatError(reason, path=self.path, line_number=chunks.lines, line=last)
        if self._records < self.counts[-1]:
            self.refuse_problem(
                f"the file ends after {self._records} of {self.counts[-1]} announced records"
            )

    def _take_line(self, chunks: TextChunks, columns: NDArray[np.int64]) -> int:
        """Parse one line, or raise an error that explains its fault."""
        form, line = self.form, chunks.line()
        words = [word.decode("latin-1") for word in line.split()]
        records = 0
        try:
            if words and words[0] == "p":
                self._take_problem(words)
                self._problem = (chunks.lines + 1, printable(line))
            elif words and words[0] == form.letter:
                columns[:, 0] = self._record(words[1:])
                records = 1
            elif words and not words[0].startswith("c"):
                reason = f"unknown line: the lines of {form.kind} start with c, p or {form.letter}"
                if not self.counts and all(map(_REAL.fullmatch, words)):
                    not_this = f"this is METIS or an edge list, not {form.kind}"
                    reason = f"numbers and no letter: {not_this}"
                elif not self.counts and words[0].startswith("<"):
                    looks = "this looks like a TNTP file (sssp.read_tntp reads it)"
                    reason = f"{looks}, not {form.kind}"
                raise RefusedError(reason)
        except RefusedError as error:
            chunks.refuse(str(error), line)
        chunks.begin += len(line)
        chunks.lines += 1
        return records

    def _take_problem(self, words: list[str]) -> None:
        form = self.form
        if self.counts:
            raise RefusedError(f"second problem line; the first is line {self._problem[0]}")
        numbers_begin = 1 + len(form.problem)
        if tuple(words[1:numbers_begin]) != form.problem:
            found = _PROBLEMS.get(" ".join(words[1:4] if "aux" in words else words[1:2]))
            raise RefusedError(
                f"the problem line of {form.kind} is '{form.problem_line}'"
                + (f"; this looks like {found}" if found else "")
            )
        numbers = words[numbers_begin:]
        if len(numbers) != len(form.counts):
            raise RefusedError(
                f"problem line with {len(numbers)} counts instead of {len(form.counts)}: "
                f"it must be '{form.problem_line}'"
            )
        counts = dict(zip(form.counts, _integers(form.counts, numbers), strict=True))
        for name, count in counts.items():
            if count < 0:
                raise RefusedError(f"{name} is negative")
        self._largest_vertex = counts.get("n", _MOST_VERTICES)
        if self._largest_vertex > _MOST_VERTICES:
            raise RefusedError(f"n is over {_MOST_VERTICES}, the most vertices there can be")
        self.counts = tuple(counts.values())

    def _record(self, words: list[str]) -> list[int]:
        form = self.form
        if not self.counts:
            raise RefusedError(f"{form.record} before the problem line '{form.problem_line}'")
        if self._records == self.counts[-1]:
            raise RefusedError(
                f"{form.record} too many: line {self._problem[0]} announces {self.counts[-1]}"
            )
        if len(words) != len(form.fields):
            raise RefusedError(
                f"{form.record} with {len(words)} fields instead of {len(form.fields)}: "
                f"it must be '{' '.join((form.letter, *form.fields))}'"
            )
        values = _integers(form.fields, words)
        for field in range(form.vertex_fields):
            if not 1 <= values[field] <= self._largest_vertex:
                raise RefusedError(
                    f"{form.fields[field]} {values[field]} is not a vertex: vertices are 1 to "
                    f"{self._largest_vertex}"
                )
            values[field] -= 1
        return values

    def refuse_problem(self, reason: str) -> NoReturn:
        """Raise an error that concerns the problem line."""
        number, line = self._problem
        raise GraphFormatError(reason, path=self.path, line_number=number, line=line)


def _integers(names: tuple[str, ...], words: list[str]) -> list[int]:
    values = []
    for name, word in zip(names, words, strict=True):
        if not _INTEGER.fullmatch(word):
            wanted = "an integer (scale and round it)" if _REAL.fullmatch(word) else "a number"
            raise RefusedError(f"{name} is not {wanted}")
        value = int(word) if len(word) <= _LONGEST_NUMBER else _INT64.max + 1
        if not _INT64.min <= value <= _INT64.max:
            raise RefusedError(f"{name} does not fit int64")
        values.append(value)
    return values


def refuse_record(reason: str, path: Pathname, form: RecordFormat, index: int) -> NoReturn:
    """Raise an error that names line number and text of a record of a valid file, by its position.

    Without them if the file cannot be read a second time.
    """
    place: dict[str, Any] = {}
    if os.path.isfile(path):
        with decompressed(path) as stream:
            letter = [form.letter.encode()]
            records = (
                (number, line)
                for number, line in enumerate(stream, 1)
                if line.split(None, 1)[:1] == letter
            )
            for number, line in islice(records, index, index + 1):
                place = {"line_number": number, "line": printable(line)}
    raise GraphFormatError(reason, path=path, **place)
