"""The binary container ``.sssp``: named arrays and a little metadata, under checksums.

Layout, all numbers little-endian::

    prefix    magic (8 bytes), version (uint32), checksum of prefix and header (uint32, zero
              while it is computed), bytes of the header, bytes of the file (uint64 each)
    header    JSON: {"meta": {...}, "arrays": [{"name", "dtype", "shape", "offset", "checksum"},
              ...]}, filled up with blanks to a multiple of 64; offsets count from its end
    arrays    raw, in C order, each from a multiple of 64 on, with zeros between

Checksums are CRC-32. That of an array includes the zeros before it, so that a change of any
byte is noticed. Nothing in a file is ever executed, as a pickle would be, and nothing in it is
trusted, for checksums are no signatures.

Version 2 has the layout of version 1. It says that arcs of a graph may be closed, which an older
release would take for very long ones.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import struct
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import GraphFormatError, quote
from sssp.loaders._columns import plain_array
from sssp.loaders._files import (
    DAMAGED_STREAM,
    SSSP_MAGIC,
    Pathname,
    RefusedError,
    crc32,
    decompressed,
    other_kind,
    refuse_damage,
    replaced_file,
)

_VERSION = 2
_ALIGNMENT = 64  # of cache lines and of the widest vector registers
_PREFIX = struct.Struct(f"<{len(SSSP_MAGIC)}sIIQQ")

# Booleans, integers, floats and strings of fixed length.
_STORABLE = re.compile(r"\|[biu]1|<[iu][248]|<f[48]|<U[1-9][0-9]*")
_GREATEST_CHARACTER = 0x10FFFF

# What a stream of unknown length promises is believed in pieces of this size.
_PIECE_BYTES = 1 << 24


def write_arrays(path: Pathname, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> None:
    """Write named arrays to an ``.sssp`` file.

    The file appears under its name when it is complete and on disk: whatever goes wrong before,
    a crash included, leaves the old file or none. It has the mode and owner of the one that it
    replaces; a pipe or a device is written to as it is.

    Parameters
    ----------
    path : str or path-like
        Where to.
    meta : mapping of str to JSON values
        Whatever describes the arrays.
    arrays : mapping of str to array_like
        Booleans, integers, floats or strings (NumPy's ``U``), of any shape.

    Raises
    ------
    TypeError, ValueError
        An array has another dtype (objects, say) or is masked, or `meta` is not made of JSON
        values.
    """
    blocks: list[Any] = []
    table = []
    end = 0
    for name, values in arrays.items():
        array = _storable(name, values)
        offset = _aligned(end)
        gap = bytes(offset - end)
        end = offset + array.nbytes
        blocks += [gap, _raw(array)]
        table.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": array.shape,
                "offset": offset,
                "checksum": crc32(_raw(array), crc32(gap)),
            }
        )
    header = json.dumps({"meta": dict(meta), "arrays": table}, allow_nan=False).encode()
    header = header.ljust(_aligned(_PREFIX.size + len(header)) - _PREFIX.size)
    with replaced_file(path) as stream:
        stream.write(_prefix(header, _PREFIX.size + len(header) + end))
        stream.write(header)
        for block in blocks:
            stream.write(block)


def read_arrays(path: Pathname) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an ``.sssp`` file.

    Parameters
    ----------
    path : str or path-like
        A file that `write_arrays` wrote, plain or compressed; a pipe will do.

    Returns
    -------
    meta : dict
        As written.
    arrays : dict of str to ndarray
        As written, in the same order; views of one block of memory.

    Raises
    ------
    GraphFormatError
        The file is of another kind, of a newer version, cut short or damaged.
    FileNotFoundError
        There is no such file.
    """
    with decompressed(path) as stream:
        return arrays_in(stream, path)


def arrays_in(stream: Any, path: Pathname) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an ``.sssp`` file from an open stream; `path` is for messages."""
    try:
        return _read_arrays(stream)
    except RefusedError as error:
        raise GraphFormatError(str(error), path=path) from None
    except DAMAGED_STREAM as error:
        refuse_damage(error, path)


def _read_arrays(stream: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    size = _size_of(stream)
    prefix, header = _read_header(stream, size)
    data = _read_data(stream, prefix.file_bytes - _PREFIX.size - len(header), size)
    try:
        description = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the header makes no sense ({type(error).__name__})") from None
    parts = description if isinstance(description, dict) else {}
    meta, table = parts.get("meta"), parts.get("arrays")
    if not (isinstance(meta, dict) and isinstance(table, list)):
        raise RefusedError("the header makes no sense: it describes no arrays")
    return meta, _arrays(table, data)


def _size_of(stream: Any) -> int | None:
    """Return the length of a plain file; None for a pipe or a compressed file."""
    if not isinstance(stream, io.BufferedReader):
        return None
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _read_data(stream: Any, count: int, size: int | None) -> NDArray[np.uint8]:
    """Read the arrays behind the header."""
    if size is None:
        data = np.frombuffer(_read_up_to(stream, count), np.uint8)
        if data.size == count and stream.read(1):
            raise RefusedError("the file goes on after its end: it is damaged")
    else:
        # One block for all: beyond some megabytes NumPy asks for huge pages, and page faults cost
        # more than the rest of reading.
        data = np.empty(count, np.uint8)
        data = data[: stream.readinto(data.data)]
    if data.size < count:
        raise RefusedError(f"the file is cut short: {data.size} of {count} bytes follow the header")
    return data


def _read_up_to(stream: Any, count: int) -> bytearray:
    """Read up to `count` bytes; allocate memory only for bytes that exist."""
    content = bytearray()
    while len(content) < count:
        piece = stream.read(min(count - len(content), _PIECE_BYTES))
        if not piece:
            break
        content += piece
    return content


class _Entry(NamedTuple):
    """An array's entry in the header."""

    name: str
    dtype: np.dtype[Any]
    shape: list[int]
    offset: int
    checksum: int


def _entry(fields: Any) -> _Entry:
    """Check an entry of the table, without its data."""
    known = fields if isinstance(fields, dict) else {}
    name, dtype, shape = known.get("name"), known.get("dtype"), known.get("shape")
    numbers = known.get("offset"), known.get("checksum")
    if not (
        isinstance(name, str)
        and isinstance(dtype, str)
        and _STORABLE.fullmatch(dtype)
        and isinstance(shape, list)
        and all(type(number) is int for number in (*shape, *numbers))
        and min(shape, default=0) >= 0
    ):
        raise RefusedError("the header makes no sense: it describes something that is not an array")
    try:
        return _Entry(name, np.dtype(dtype), shape, known["offset"], known["checksum"])
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(f"the header makes no sense: no array holds {quote(dtype)}") from None


def _arrays(table: list[Any], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Find the arrays of a table, which must fill the data exactly, and check them."""
    arrays: dict[str, NDArray[Any]] = {}
    end = 0
    for entry in map(_entry, table):
        name = quote(entry.name)
        begin = end
        end = entry.offset + prod(entry.shape) * entry.dtype.itemsize
        if entry.offset != _aligned(begin) or end > data.size or entry.name in arrays:
            raise RefusedError(f"the header makes no sense: array {name} cannot be there")
        try:
            array = data[entry.offset : end].view(entry.dtype).reshape(entry.shape)
        except (TypeError, ValueError, OverflowError):
            raise RefusedError(
                f"the header makes no sense: array {name} has an impossible shape"
            ) from None
        if crc32(data[begin:end]) != entry.checksum:
            raise RefusedError(f"array {name} is damaged: its checksum is not that of the header")
        _check_values(entry, data[entry.offset : end])
        arrays[entry.name] = array
    if end != data.size:
        raise RefusedError(f"the header makes no sense: {data.size - end} bytes are left over")
    return arrays


def _check_values(entry: _Entry, raw: NDArray[np.uint8]) -> None:
    """Refuse bytes that are not booleans, and invalid characters; other types are numbers."""
    kind = entry.dtype.kind
    if raw.size == 0 or kind not in "bU":
        return
    greatest = raw.max() if kind == "b" else raw.view("<u4").max()
    if greatest > (1 if kind == "b" else _GREATEST_CHARACTER):
        raise RefusedError(f"array {quote(entry.name)} holds what is not {entry.dtype}")


class _Prefix(NamedTuple):
    """The numbers at the start of a file."""

    version: int
    checksum: int
    header_bytes: int
    file_bytes: int


def _read_header(stream: Any, size: int | None) -> tuple[_Prefix, bytes]:
    """Check the header before any array is read; return prefix and header."""
    start = stream.read(_PREFIX.size)
    if not start:
        raise RefusedError("the file is empty")
    if not start.startswith(SSSP_MAGIC[: len(start)]):
        kind = other_kind(start + stream.peek())
        raise RefusedError("this is not an .sssp file" + (f" but {kind}" if kind else ""))
    if len(start) < _PREFIX.size:
        raise RefusedError(f"the file is cut short: it has only {len(start)} bytes")
    prefix = _Prefix(*_PREFIX.unpack(start)[1:])
    if prefix.version > _VERSION:
        raise RefusedError(
            f"the file has version {prefix.version}, and this release of sssp reads versions up "
            f"to {_VERSION}: upgrade sssp, or write the file again"
        )
    if size is not None and prefix.file_bytes != size:
        raise RefusedError(
            f"the file is cut short or damaged: it has {size} bytes and should have "
            f"{prefix.file_bytes}"
        )
    if prefix.header_bytes > prefix.file_bytes - _PREFIX.size:
        raise RefusedError("the header is damaged: it does not fit into the file")
    header = bytes(_read_up_to(stream, prefix.header_bytes))
    if len(header) < prefix.header_bytes:
        raise RefusedError("the file is cut short within its header")
    if start != _prefix(header, prefix.file_bytes, prefix.version):
        raise RefusedError("the header is damaged: its checksum is wrong")
    return prefix, header


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _prefix(header: bytes, file_bytes: int, version: int = _VERSION) -> bytes:
    fields = len(header), file_bytes
    checksum = crc32(header, crc32(_PREFIX.pack(SSSP_MAGIC, version, 0, *fields)))
    return _PREFIX.pack(SSSP_MAGIC, version, checksum, *fields)


def _storable(name: str, values: ArrayLike) -> NDArray[Any]:
    array = plain_array(values, f"array '{name}'")
    dtype = array.dtype.newbyteorder("<")
    if not _STORABLE.fullmatch(dtype.str):
        raise TypeError(f"array '{name}' holds {array.dtype}, which an .sssp file cannot store")
    return array.astype(dtype, order="C", copy=False)


def _raw(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array, as a view."""
    return array.reshape(-1).view(np.uint8)
