"""Open and decompress files, name kinds that are not read, and replace files atomically."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import platform
import re
import secrets
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from sssp.errors import LONGEST, GraphFormatError, shorten

fcntl: Any = None
with suppress(ImportError):  # Windows
    import fcntl

Pathname = str | PathLike[str]

#: First bytes of the binary container. As in PNG, a byte over 127, CRLF and Ctrl-Z show at once
#: whether the file went through a transfer that took it for text.
SSSP_MAGIC = b"\x89SSSP\r\n\x1a"

#: as many bytes show of what kind a file is
PEEKED_BYTES = 512

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
    (SSSP_MAGIC, "an .sssp file (read_graph opens it)"),
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
    (b"<?xml", "an XML file (GraphML?)"),
    (b"{", "a JSON file"),
    (b"%", "a METIS or Matrix Market file"),
    (b"#", "an edge list with '#' comments"),
)
_ZIP, _ZIP_NAME_OFFSET = b"PK\x03\x04", 30
_TAR, _TAR_OFFSET = b"ustar", 257
_OSM_PBF, _OSM_PBF_OFFSET = b"OSMHeader", 6


class RefusedError(Exception):
    """A file is malformed; the caller, which knows the place, raises a `GraphFormatError`."""


@contextmanager
def decompressed(path: Pathname) -> Iterator[Any]:
    """Open a file for reading; recognize gzip, xz and bzip2 by the first bytes.

    It is opened once and never moved back, so it may be a pipe. The stream raises one of
    `DAMAGED_STREAM` when it is truncated or corrupt; `peek` shows its first bytes.
    """
    # (a number would be a file that is open already, and closed then)
    with open(os.fspath(path), "rb") as file, decompressing(file) as stream:
        yield stream


@contextmanager
def decompressing(file: Any) -> Iterator[Any]:
    """Decompress an open binary stream as `decompressed` does."""
    raw = file if file.seekable() else io.BufferedReader(_Pipe(file))
    head = raw.peek(PEEKED_BYTES)
    found = (make for magic, make in _DECOMPRESSORS if head.startswith(magic))
    with next(found, nullcontext)(raw) as stream:
        yield stream


class _Pipe(io.RawIOBase):
    """A pipe that returns its first bytes in one piece."""

    def __init__(self, stream: BinaryIO) -> None:
        self._head = stream.read(PEEKED_BYTES)
        self._stream: Any = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            return int(self._stream.readinto1(buffer))
        count = min(len(self._head), len(buffer))
        buffer[:count], self._head = self._head[:count], self._head[count:]
        return count


@contextmanager
def compressed(path: Pathname) -> Iterator[Any]:
    """Open a file for writing in one piece; ``.gz``, ``.xz`` and ``.bz2`` in its name compress."""
    compressor = _COMPRESSORS.get(Path(path).suffix.lower(), nullcontext)
    with replaced_file(path) as raw, compressor(raw) as stream:
        yield stream


@contextmanager
def replaced_file(path: Pathname) -> Iterator[BinaryIO]:
    """Write a file next to `path`, and rename it to `path` once it is complete and on disk.

    Whatever ends the writing early, a crash included, leaves the old file or none. The new file
    has the mode and, as far as the system allows, the owner of the old one. What is no regular
    file, a pipe or a device, is written to as it is.
    """
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as stream:
            yield stream
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    _remove_unfinished(folder)
    try:
        temporary, stream = _new_temporary(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        if old is not None:
            _take_over(stream.fileno(), old)
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        if fcntl is None:
            stream.close()  # Windows does not rename an open file
        # (locked while the stream is open: no other writer removes the file before it is renamed)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):  # what is still buffered may have no room either
            stream.close()
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    stream.close()


# Names of unfinished files: the host they are written on (older releases did not say), and a
# random part.
_TEMPORARY = re.compile(r"\.sssp-(?:([0-9a-f]{8})-)?[0-9a-f]{16}\.tmp")
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
# A lock may hold on its own host only; files of other hosts are kept until this age.
_SECONDS_OF_DOUBT = 24 * 3600


def _new_temporary(folder: str) -> tuple[str, Any]:
    """Open a new file for writing, locked for as long as it is open and this process lives."""
    while True:
        name = os.path.join(folder, f".sssp-{_HOST}-{secrets.token_hex(8)}.tmp")
        stream = open(name, "xb")  # noqa: SIM115  # closed by `replaced_file`
        if fcntl is None:
            return name, stream
        with suppress(OSError):  # some file systems know no locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return name, stream
        stream.close()  # another writer removed it just before it was locked


def _remove_unfinished(folder: str) -> None:
    """Remove the unfinished files of killed writers, which hold no lock."""
    if fcntl is None:
        return
    now = time.time()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _TEMPORARY.fullmatch(entry.name)
            if name is None:
                continue
            with suppress(OSError):
                age = now - entry.stat(follow_symlinks=False).st_mtime
                if name[1] != _HOST and age <= _SECONDS_OF_DOUBT:
                    continue
                descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _take_over(descriptor: int, old: os.stat_result) -> None:
    """Copy the mode of another file, and its owner if allowed, to an open file."""
    if hasattr(os, "fchown"):
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(OSError):
                os.fchown(descriptor, owner, group)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def other_kind(head: bytes) -> str | None:
    """Return the kind of a file that is not DIMACS text, by its first bytes; None if unknown."""
    if head.startswith(_ZIP):
        npz = b".npy" in head[_ZIP_NAME_OFFSET:]
        return "a NumPy .npz file" if npz else "a ZIP archive (unpack it first)"
    if head.startswith(_TAR, _TAR_OFFSET):
        return "a tar archive (unpack it first)"
    if is_osm(head):
        return "an OpenStreetMap file (sssp.read_osm reads it)"
    start = head.lstrip().lower()
    for magic, kind in _KINDS:
        if head.startswith(magic) or start.startswith(magic):
            return kind
    return "a binary file" if b"\x00" in head else None


def first_bytes(stream: Any) -> bytes:
    """Return the first bytes of a stream, decompressed; empty if it is damaged."""
    try:
        return bytes(stream.peek(PEEKED_BYTES))
    except DAMAGED_STREAM:
        return b""


def refuse_damage(error: Exception, path: Pathname, **place: Any) -> NoReturn:
    """Raise a `GraphFormatError` for an error of a decompressor; re-raise errors of the disk."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    text = f"the compressed stream is cut short or corrupt ({error})"
    raise GraphFormatError(text, path=path, **place) from error


def is_pbf(head: bytes) -> bool:
    """Return whether a file is OpenStreetMap's binary format, by its first bytes."""
    return head.startswith(_OSM_PBF, _OSM_PBF_OFFSET)


def is_osm(head: bytes) -> bool:
    """Return whether a file is OpenStreetMap's, binary or XML, by its first bytes."""
    return is_pbf(head) or (head.lstrip().startswith(b"<") and b"<osm" in head)


def printable(line: bytes | bytearray) -> str:
    """Return a line of a file as text that is short and safe to show in a message."""
    text = line[: 4 * LONGEST].decode("utf-8", errors="replace").strip()
    text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)
    return shorten(text)
