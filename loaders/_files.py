"""Files: decompression chosen by content, files of another kind, files written in one piece."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

__all__ = [
    "DAMAGED_STREAM",
    "SSSP_MAGIC",
    "Pathname",
    "RefusedError",
    "compressed",
    "crc32",
    "decompressed",
    "other_kind",
    "printable",
    "replaced_file",
]

Pathname = str | PathLike[str]

#: First bytes of the binary container. As in PNG, a byte over 127, CRLF and Ctrl-Z show at once
#: whether the file went through a transfer that took it for text.
SSSP_MAGIC = b"\x89SSSP\r\n\x1a"

#: what a decompressor raises on a bad stream; an `OSError` only where it has no ``errno``
DAMAGED_STREAM: tuple[Any, ...] = (EOFError, OSError, zlib.error, lzma.LZMAError)

_gunzip: Callable[..., Any] = gzip.GzipFile
#: `zlib.crc32`, or the same by a faster library
crc32: Callable[..., int] = zlib.crc32
try:
    from isal import igzip, igzip_lib, isal_zlib
except ImportError:
    pass
else:
    _gunzip = igzip.IGzipFile
    crc32 = isal_zlib.crc32
    DAMAGED_STREAM = (*DAMAGED_STREAM, igzip_lib.IsalError)

_DECOMPRESSORS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda raw: _gunzip(fileobj=raw, mode="rb")),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
)

_COMPRESSORS: dict[str, Callable[[BinaryIO], Any]] = {
    # No time and no name inside, so that the same graph gives the same bytes.
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
}

_KINDS: tuple[tuple[bytes, str], ...] = (
    (SSSP_MAGIC, "an .sssp file (read_graph opens it by its suffix .sssp)"),
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard-compressed file (decompress it, or use .gz, .xz or .bz2)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"\xef\xbb\xbf", "text with a byte order mark (save it as plain ASCII)"),
    (b"\xff\xfe", "UTF-16 text (save it as plain ASCII)"),
    (b"\xfe\xff", "UTF-16 text (save it as plain ASCII)"),
    (b"%%matrixmarket", "a Matrix Market file (read it with scipy.io.mmread)"),
    (b"<!doctype html", "an HTML page (a failed download?)"),
    (b"<html", "an HTML page (a failed download?)"),
    (b"<?xml", "an XML file (GraphML or OSM?)"),
    (b"{", "a JSON file"),
    (b"%", "a METIS or Matrix Market file"),
    (b"#", "an edge list with '#' comments"),
)
_ZIP, _ZIP_NAME_OFFSET = b"PK\x03\x04", 30
_TAR, _TAR_OFFSET = b"ustar", 257
_OSM_PBF, _OSM_PBF_OFFSET = b"OSMHeader", 6

_LONGEST_EXCERPT = 80


class RefusedError(Exception):
    """A file is not what it should be; who knows the place makes a `GraphFormatError` of it."""


@contextmanager
def decompressed(path: Pathname) -> Iterator[Any]:
    """Open a file for reading; gzip, xz and bzip2 are told by their first bytes.

    The stream raises one of `DAMAGED_STREAM` when it is truncated or corrupt.
    """
    with open(path, "rb") as raw:
        head = raw.peek(8)
        for magic, decompressor in _DECOMPRESSORS:
            if head.startswith(magic):
                with decompressor(raw) as stream:
                    yield stream
                return
        yield raw


@contextmanager
def compressed(path: Pathname) -> Iterator[Any]:
    """Open a file for writing in one piece; ``.gz``, ``.xz`` and ``.bz2`` in its name compress."""
    with replaced_file(path) as raw:
        compressor = _COMPRESSORS.get(Path(path).suffix.lower())
        if compressor is None:
            yield raw
        else:
            with compressor(raw) as stream:
                yield stream


@contextmanager
def replaced_file(path: Pathname) -> Iterator[BinaryIO]:
    """Write a file beside `path` and rename it to `path` when it is complete and on disk.

    Whatever ends the writing early, a crash included, leaves the old file or none.
    """
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".sssp-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def other_kind(head: bytes) -> str | None:
    """Name the kind of a file that is no DIMACS text from its first bytes, None if unknown."""
    if head.startswith(_ZIP):
        npz = b".npy" in head[_ZIP_NAME_OFFSET:]
        return "a NumPy .npz file" if npz else "a ZIP archive (unpack it first)"
    if head.startswith(_TAR, _TAR_OFFSET):
        return "a tar archive (unpack it first)"
    if head.startswith(_OSM_PBF, _OSM_PBF_OFFSET):
        return "an OpenStreetMap .osm.pbf file"
    start = head.lstrip().lower()
    for magic, kind in _KINDS:
        if head.startswith(magic) or start.startswith(magic):
            return kind
    return "a binary file" if b"\x00" in head else None


def printable(line: bytes | bytearray) -> str:
    """Return a line of a file as text that is short and safe to show in a message."""
    text = line[: 4 * _LONGEST_EXCERPT].decode("utf-8", errors="replace").strip()
    text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)
    return text if len(text) <= _LONGEST_EXCERPT else text[: _LONGEST_EXCERPT - 3] + "..."
