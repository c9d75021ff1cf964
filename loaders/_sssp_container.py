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
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import GraphFormatError, quote
from sssp.loaders import _files
from sssp.loaders._columns import plain_array
from sssp.loaders._files import SSSP_MAGIC, Pathname, RefusedError, crc32, decompressed

_VERSION = 2
_ALIGNMENT = 64  # of cache lines and of the widest vector registers
_PREFIX = struct.Struct(f"<{len(SSSP_MAGIC)}sIIQQ")

# Booleans, integers, floats and strings of fixed length.
_STORABLE = re.compile(r"\|[biu]1|<[iu][248]|<f[48]|<U[1-9][0-9]*")
_LAST_CHARACTER = 0x10FFFF

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
        given = plain_array(values, f"array '{name}'")
        dtype = given.dtype.newbyteorder("<")
        if not _STORABLE.fullmatch(dtype.str):
            raise TypeError(f"array '{name}' holds {given.dtype}, which an .sssp file cannot store")
        array = given.astype(dtype, order="C", copy=False)
        raw, offset = array.reshape(-1).view(np.uint8), _aligned(end)
        gap = bytes(offset - end)
        end = offset + array.nbytes
        blocks += [gap, raw]
        entry = {"name": name, "dtype": dtype.str, "shape": array.shape, "offset": offset}
        table.append(entry | {"checksum": crc32(raw, crc32(gap))})
    header = json.dumps({"meta": dict(meta), "arrays": table}, allow_nan=False).encode()
    header = header.ljust(_aligned(_PREFIX.size + len(header)) - _PREFIX.size)
    with _files.replaced_file(path) as stream:
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
    size = None  # known of a plain file only, not of a pipe or a compressed file
    with suppress(OSError):
        if isinstance(stream, io.BufferedReader):
            status = os.fstat(stream.fileno())
            size = status.st_size if stat.S_ISREG(status.st_mode) else None
    try:
        file_bytes, header = _read_header(stream, size)
        count = file_bytes - _PREFIX.size - len(header)
        if size is None:
            data = np.frombuffer(_read_up_to(stream, count), np.uint8)
            if data.size == count and stream.read(1):
                raise RefusedError("the file goes on after its end: it is damaged")
        else:
            # One block for all: beyond some megabytes NumPy asks for huge pages, and page faults
            # cost more than the rest of reading.
            data = np.empty(count, np.uint8)
            data = data[: stream.readinto(data.data)]
        if data.size < count:
            follow = f"{data.size} of {count} bytes follow the header"
            raise RefusedError(f"the file is cut short: {follow}")
        try:
            description = json.loads(header)
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"the header makes no sense ({type(error).__name__})") from None
        parts = description if isinstance(description, dict) else {}
        meta, table = parts.get("meta"), parts.get("arrays")
        if not (isinstance(meta, dict) and isinstance(table, list)):
            raise RefusedError("the header makes no sense: it describes no arrays")
        return meta, _arrays(table, data)
    except RefusedError as error:
        raise GraphFormatError(str(error), path=path) from None
    except _files.DAMAGED_STREAM as error:
        _files.refuse_damage(error, path)


def _read_up_to(stream: Any, count: int) -> bytearray:
    """Read up to `count` bytes; allocate memory only for bytes that exist."""
    content = bytearray()
    while len(content) < count:
        piece = stream.read(min(count - len(content), _PIECE_BYTES))
        if not piece:
            break
        content += piece
    return content


def _entry(fields: Any) -> tuple[str, np.dtype[Any], list[int], int, int]:
    """Return name, dtype, shape, offset and checksum of an array, from its entry in the header."""
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
        return name, np.dtype(dtype), shape, known["offset"], known["checksum"]
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(f"the header makes no sense: no array holds {quote(dtype)}") from None


def _arrays(table: list[Any], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Find the arrays of a table, which must fill the data exactly, and check them."""
    arrays: dict[str, NDArray[Any]] = {}
    end = 0
    for key, dtype, shape, offset, checksum in map(_entry, table):
        name = quote(key)
        begin, end = end, offset + prod(shape) * dtype.itemsize
        if offset != _aligned(begin) or end > data.size or key in arrays:
            raise RefusedError(f"the header makes no sense: array {name} cannot be there")
        raw = data[offset:end]
        try:
            arrays[key] = raw.view(dtype).reshape(shape)
        except (TypeError, ValueError, OverflowError):
            raise RefusedError(
                f"the header makes no sense: array {name} has an impossible shape"
            ) from None
        if crc32(data[begin:end]) != checksum:
            raise RefusedError(f"array {name} is damaged: its checksum is not that of the header")
        # (bytes that are no booleans, and invalid characters; other types are numbers)
        if dtype.kind in "bU":
            codes, greatest = (raw, 1) if dtype.kind == "b" else (raw.view("<u4"), _LAST_CHARACTER)
            if codes.max(initial=0) > greatest:
                raise RefusedError(f"array {name} holds what is not {dtype}")
    if end != data.size:
        raise RefusedError(f"the header makes no sense: {data.size - end} bytes are left over")
    return arrays


def _read_header(stream: Any, size: int | None) -> tuple[int, bytes]:
    """Check the header before any array is read; return the bytes of the file, and the header."""
    start = stream.read(_PREFIX.size)
    if not start:
        raise RefusedError("the file is empty")
    if not start.startswith(SSSP_MAGIC[: len(start)]):
        kind = _files.other_kind(start + stream.peek())
        raise RefusedError("this is not an .sssp file" + (f" but {kind}" if kind else ""))
    if len(start) < _PREFIX.size:
        raise RefusedError(f"the file is cut short: it has only {len(start)} bytes")
    _, version, _, header_bytes, file_bytes = _PREFIX.unpack(start)
    if version > _VERSION:
        raise RefusedError(
            f"the file has version {version}, and this release of sssp reads versions up "
            f"to {_VERSION}: upgrade sssp, or write the file again"
        )
    if size is not None and file_bytes != size:
        raise RefusedError(
            f"the file is cut short or damaged: it has {size} bytes and should have {file_bytes}"
        )
    if header_bytes > file_bytes - _PREFIX.size:
        raise RefusedError("the header is damaged: it does not fit into the file")
    header = bytes(_read_up_to(stream, header_bytes))
    if len(header) < header_bytes:
        raise RefusedError("the file is cut short within its header")
    if start != _prefix(header, file_bytes, version):
        raise RefusedError("the header is damaged: its checksum is wrong")
    return file_bytes, header


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _prefix(header: bytes, file_bytes: int, version: int = _VERSION) -> bytes:
    fields = len(header), file_bytes
    checksum = crc32(header, crc32(_PREFIX.pack(SSSP_MAGIC, version, 0, *fields)))
    return _PREFIX.pack(SSSP_MAGIC, version, checksum, *fields)
