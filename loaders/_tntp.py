"""Readers of TNTP files: networks, trip tables and nodes, for traffic assignment.

The format of https://github.com/bstabler/TransportationNetworks. A file begins with metadata, a
key in angle brackets and its value on each line; ``~`` begins a comment. Zones and nodes count
from 1 in the files, from 0 in the arrays.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError, quote
from sssp.kernels.dtypes import FLOAT64, INT64
from sssp.loaders._dimacs_records import CHUNK_BYTES
from sssp.loaders._files import Pathname, decompressed, printable
from sssp.loaders._text import TextChunks

T = TypeVar("T")

_NETWORK = "a TNTP network (_net.tntp)"
_TRIPS = "a TNTP trip table (_trips.tntp)"
_NODES = "a TNTP file of nodes (_node.tntp)"
_END = "END OF METADATA"
_ZONES, _NODE_COUNT, _LINKS = "NUMBER OF ZONES", "NUMBER OF NODES", "NUMBER OF LINKS"
_FIRST_THROUGH = "FIRST THRU NODE"
#: what the columns of a network hold behind both ends, as `LinkTable` calls them
_COLUMNS = ("capacity", "length", "free", "alpha", "beta", "speed", "toll", "kind")
#: the greatest number that a file may announce
_MOST = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The links of a TNTP network, in the order of the file, in its units.

    Attributes
    ----------
    n : int
        Number of nodes; the zones are the first of them.
    zones : int
        Number of zones.
    closed_zones : int
        So many zones, the first ones, may not be passed: trips begin and end there only.
    tails, heads : ndarray of int64, shape (k,)
        Ends of each link, 0-based: node 1 of the file is 0.
    capacity, length, free, alpha, beta, speed, toll, kind : ndarray of float64, shape (k,)
        Columns of the file: `free` is the free-flow time, `alpha` and `beta` are the file's B and
        power in ``free * (1 + alpha * (flow / capacity) ** beta)``.
    """

    n: int
    zones: int
    closed_zones: int
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    capacity: NDArray[np.float64]
    length: NDArray[np.float64]
    free: NDArray[np.float64]
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    speed: NDArray[np.float64]
    toll: NDArray[np.float64]
    kind: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TripTable:
    """Trips between zones.

    Attributes
    ----------
    zones : int
        Number of zones.
    origins, destinations : ndarray of int64, shape (p,)
        0-based: zone 1 of the file is 0.
    volumes : ndarray of float64, shape (p,)
        How much travels, more than 0.
    """

    zones: int
    origins: NDArray[np.int64]
    destinations: NDArray[np.int64]
    volumes: NDArray[np.float64]


def read_tntp_net(path: Pathname) -> LinkTable:
    """Read the links of a TNTP network.

    Parameters
    ----------
    path : str or path-like
        A ``_net.tntp`` file, plain or compressed with gzip, xz or bzip2 (told by its first bytes).

    Returns
    -------
    LinkTable
        All links as they are.

    Raises
    ------
    GraphFormatError
        The file is malformed, or has another number of links than it announces; names the line.
    FileNotFoundError
        There is no such file.
    """
    lines = _Lines(path, _NETWORK, (_ZONES, _NODE_COUNT, _FIRST_THROUGH, _LINKS))
    ends: list[list[int]] = []
    rows: list[list[float]] = []
    for text in lines.records():
        words = text.partition(";")[0].split()
        if len(words) != 2 + len(_COLUMNS):
            lines.refuse(
                f"a link with {len(words)} fields instead of {2 + len(_COLUMNS)}: it must be "
                f"'tail head {' '.join(_COLUMNS)} ;'"
            )
        ends.append(lines.indices(("tail", "head"), words[:2], lines.count(_NODE_COUNT)))
        rows.append(lines.numbers(_COLUMNS, words[2:]))
    zones, n, first_through, links = map(lines.count, lines.wanted)
    if len(rows) != links:
        lines.refuse_end(f"the file has {len(rows)} links, but announces {links}")
    if zones > n:
        lines.refuse_end(f"{zones} zones, but {n} nodes: zones are nodes")
    closed = max(0, min(zones, first_through - 1))
    tails, heads = np.array(ends, INT64).reshape(-1, 2).T.copy()
    columns = np.array(rows, FLOAT64).reshape(-1, len(_COLUMNS)).T.copy()
    return LinkTable(n, zones, closed, tails, heads, *columns)


def read_tntp_trips(path: Pathname) -> TripTable:
    """Read a TNTP trip table.

    Parameters
    ----------
    path : str or path-like
        A ``_trips.tntp`` file, plain or compressed.

    Returns
    -------
    TripTable
        In the order of the file, without pairs of zones between which nothing travels.

    Raises
    ------
    GraphFormatError
        The file is malformed, or its trips add up to less than 0.99 or more than 1.01 of the total
        that it announces, if it does; names the line.
    FileNotFoundError
        There is no such file.
    """
    lines = _Lines(path, _TRIPS, (_ZONES,))
    # (compact, as lists of millions of Python numbers are not)
    origins, destinations, volumes = array("q"), array("q"), array("d")
    origin = None
    for text in lines.records():
        words = text.replace(":", " : ").replace(";", " ; ").split()
        if words[0] == "Origin":
            if len(words) != 2:
                lines.refuse("the line of an origin must be 'Origin zone'")
            origin = lines.indices(("origin",), words[1:], lines.count(_ZONES))
            continue
        if origin is None:
            lines.refuse("trips before the first line 'Origin zone'")
        if words[-1] != ";":
            words.append(";")
        size = len(words) // 4
        if words[1::4] != [":"] * size or words[3::4] != [";"] * size or len(words) % 4:
            lines.refuse("trips must be 'destination : volume;', again and again")
        found = lines.numbers(("volume",) * size, words[2::4])
        if min(found, default=0) < 0:
            lines.refuse("a volume is negative")
        origins.extend(origin * size)
        destinations.extend(lines.indices(("destination",) * size, words[::4], lines.count(_ZONES)))
        volumes.extend(found)
    column = np.array(volumes, FLOAT64)
    total, announced = float(column.sum()), None
    with suppress(ValueError, IndexError):
        announced = float(lines.metadata.get("TOTAL OD FLOW", ("",))[0].split()[0])
    # (files round it, to hundredths at most; one that is cut short is to be noticed)
    if announced is not None and not math.isclose(total, announced, rel_tol=0.01, abs_tol=1.0):
        lines.refuse_end(f"the trips add up to {total}, but the file announces {announced}")
    some = column > 0
    starts, ends = (np.array(side, INT64)[some] for side in (origins, destinations))
    return TripTable(lines.count(_ZONES), starts, ends, column[some])


def read_tntp_nodes(path: Pathname, n: int) -> NDArray[np.float64]:
    """Read the coordinates of the nodes of a TNTP network, in any coordinate system.

    Parameters
    ----------
    path : str or path-like
        A ``_node.tntp`` file, plain or compressed; its first line names columns.
    n : int
        Number of nodes of the network.

    Returns
    -------
    ndarray of float64, shape (n, 2)
        x and y, which are longitude and latitude in some files, and projected in most.

    Raises
    ------
    GraphFormatError
        The file is malformed, or a node is missing or there twice; names the line.
    FileNotFoundError
        There is no such file.
    """
    lines = _Lines(path, _NODES, ())
    coordinates = np.full((n, 2), np.nan)
    for text in lines.records():
        words = text.replace(";", " ").split()
        if words[0].lower() == "node":
            continue
        if len(words) < 3:
            lines.refuse(f"a node with {len(words)} fields: it must be 'node x y ;'")
        (node,) = lines.indices(("node",), words[:1], n)
        if not np.isnan(coordinates[node, 0]):
            lines.refuse(f"node {node + 1} for the second time")
        coordinates[node] = lines.numbers(("x", "y"), words[1:3])
    missing = np.flatnonzero(np.isnan(coordinates[:, 0]))
    if missing.size:
        lines.refuse_end(f"{missing.size} of {n} nodes are missing, the first is {missing[0] + 1}")
    return coordinates


class _Lines:
    """A reader of one file: its metadata, then its records one by one.

    Parameters
    ----------
    path : str or path-like
        The file.
    kind : str
        What it should be, for messages.
    wanted : tuple of str
        Keys of the counts that its metadata must have; without any it has no metadata.
    """

    def __init__(self, path: Pathname, kind: str, wanted: tuple[str, ...]) -> None:
        self.path, self.kind, self.wanted = path, kind, wanted
        self.metadata: dict[str, tuple[str, int, str]] = {}
        self._chunks: TextChunks

    def records(self) -> Iterator[str]:
        """Yield the lines after the metadata that are neither empty nor comments."""
        reading_metadata = bool(self.wanted)
        with decompressed(self.path) as stream:
            self._chunks = chunks = TextChunks(stream, self.path, CHUNK_BYTES)
            chunks.refuse_other_kinds(self.kind)
            while chunks.refill():
                while chunks.begin < chunks.end:
                    line = chunks.line()
                    text = line.decode("latin-1").strip()
                    key, bracket, value = text.removeprefix("<").partition(">")
                    if reading_metadata and text.startswith("<") and bracket:
                        key, where = key.strip().upper(), (chunks.lines + 1, printable(line))
                        self.metadata[key] = value.strip(), *where
                        reading_metadata = key != _END
                        for name in () if reading_metadata else self.wanted:
                            self.count(name)
                    elif reading_metadata and text and not text.startswith("~"):
                        reason = f"'<KEY> value', though <{_END}> has not come"
                        self.refuse(f"no line of metadata, {reason}")
                    elif text and not text.startswith("~"):
                        yield text
                    chunks.begin += len(line)
                    chunks.lines += 1
        if reading_metadata:
            self.refuse_end(f"the file ends before <{_END}>: {self.kind} has metadata first")

    def count(self, key: str) -> int:
        """Return a count from the metadata."""
        if key not in self.metadata:
            self.refuse(f"the metadata has no <{key}>: is this {self.kind}?")
        text, number, line = self.metadata[key]
        value = text.split()[0] if text else ""
        if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= _MOST):
            reason = f"<{key}> must be a whole number up to {_MOST}, not {quote(value)}"
            raise GraphFormatError(reason, path=self.path, line_number=number, line=line)
        return int(value)

    def indices(self, names: Sequence[str], words: Sequence[str], size: int) -> list[int]:
        """Convert numbers from 1 to `size` to indices that count from 0."""
        wanted = f"a whole number from 1 to {size}"
        values = self._convert(int, range(1, size + 1).__contains__, names, words, wanted)
        return [value - 1 for value in values]

    def numbers(self, names: Sequence[str], words: Sequence[str]) -> list[float]:
        """Convert words to finite numbers."""
        return self._convert(float, math.isfinite, names, words, "a finite number")

    def _convert(
        self,
        kind: Callable[[str], T],
        is_valid: Callable[[T], bool],
        names: Sequence[str],
        words: Sequence[str],
        wanted: str,
    ) -> list[T]:
        """Convert all words at once; on failure name the first invalid word."""
        # (Python would take 1_0 for 10)
        with suppress(ValueError):
            if "_" not in "".join(words) and all(map(is_valid, values := list(map(kind, words)))):
                return values
        for name, word in zip(names, words, strict=True):
            with suppress(ValueError):
                if "_" not in word and is_valid(kind(word)):
                    continue
            self.refuse(f"{name} must be {wanted}, not {quote(word)}")
        raise AssertionError("what fails together fails alone, too")

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error about the current line."""
        self._chunks.refuse(reason, self._chunks.line())

    def refuse_end(self, reason: str) -> NoReturn:
        """Raise an error about the end of the file."""
        raise GraphFormatError(reason, path=self.path, line_number=self._chunks.lines)
