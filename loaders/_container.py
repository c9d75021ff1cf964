"""The binary container ``.sssp``: named arrays and a little metadata, under checksums.

Layout, all numbers little-endian::

    prefix    magic (8 bytes), version (uint32), checksum of prefix and header (uint32, zero
              while it is computed), bytes of the header, bytes of the file (uint64 each)
    header    JSON: {"meta": {...}, "arrays": [{"name", "dtype", "shape", "offset", "checksum"},
              ...]}, filled up with blanks to a multiple of 64; offsets count from its end
    arrays    raw, in C order, each from a multiple of 64 on, with zeros between

Checksums are CRC-32. That of an array includes the zeros before it, so that a change of any
byte is noticed. Nothing in a file is ever executed, as a pickle would be.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.errors import GraphFormatError
from sssp.loaders._files import SSSP_MAGIC, Pathname, RefusedError, crc32, other_kind, replaced_file

__all__ = ["read_arrays", "write_arrays"]

_VERSION = 1
_ALIGNMENT = 64  # of cache lines and of the widest vector registers
_PREFIX = struct.Struct(f"<{len(SSSP_MAGIC)}sIIQQ")

# Booleans, integers, floats and strings of fixed length.
_STORABLE = re.compile(r"\|[biu]1|<[iu][248]|<f[48]|<U[1-9][0-9]*")


def write_arrays(path: Pathname, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> None:
    """Write named arrays to an ``.sssp`` file.

    The file appears under its name when it is complete and on disk: whatever goes wrong before,
    a crash included, leaves the old file or none.

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
        An array has another dtype (objects, say), or `meta` is not made of JSON values.
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
        A file that `write_arrays` wrote.

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
    with open(path, "rb") as stream:
        try:
            return _read_arrays(stream)
        except RefusedError as error:
            raise GraphFormatError(str(error), path=path) from None


def _read_arrays(stream: BufferedReader) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    size = os.fstat(stream.fileno()).st_size
    header = _read_header(stream, size)
    # One block for all: beyond some megabytes NumPy asks for huge pages, and page faults cost
    # more than the rest of reading.
    data: NDArray[np.uint8] = np.empty(size - stream.tell(), np.uint8)
    if stream.readinto(data.data) != data.size:
        raise RefusedError("the file was cut short while it was read")
    try:
        description = json.loads(header)
        return description["meta"], _arrays(description["arrays"], data)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RefusedError(f"the header makes no sense ({error!r})") from None


def _arrays(table: list[dict[str, Any]], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Find the arrays of a table, which must fill the data exactly, and check them."""
    arrays = {}
    end = 0
    for entry in table:
        begin, offset = end, entry["offset"]
        if offset != _aligned(begin) or not _STORABLE.fullmatch(entry["dtype"]):
            raise ValueError(f"array '{entry['name']}'")
        dtype = np.dtype(entry["dtype"])
        end = offset + prod(entry["shape"]) * dtype.itemsize
        array = data[offset:end].view(dtype).reshape(entry["shape"])
        if crc32(data[begin:end]) != entry["checksum"]:
            raise RefusedError(
                f"array '{entry['name']}' is damaged: its checksum is not that of the header"
            )
        arrays[entry["name"]] = array
    if end != data.size:
        raise ValueError(f"{data.size - end} bytes left over")
    return arrays


def _read_header(stream: BufferedReader, size: int) -> bytes:
    """Check what can be checked before an array is read; return the header."""
    prefix = stream.read(_PREFIX.size)
    if not prefix:
        raise RefusedError("the file is empty")
    if not prefix.startswith(SSSP_MAGIC[: len(prefix)]):
        kind = other_kind(prefix + stream.peek())
        raise RefusedError("this is not an .sssp file" + (f" but {kind}" if kind else ""))
    if len(prefix) < _PREFIX.size:
        raise RefusedError(f"the file is cut short: it has only {size} bytes")
    _, version, _, header_bytes, file_bytes = _PREFIX.unpack(prefix)
    if version > _VERSION:
        raise RefusedError(
            f"the file has version {version}, and this release of sssp reads versions up to "
            f"{_VERSION}: upgrade sssp, or write the file again"
        )
    if file_bytes != size:
        raise RefusedError(
            f"the file is cut short or damaged: it has {size} bytes and should have {file_bytes}"
        )
    if header_bytes > size - _PREFIX.size:
        raise RefusedError("the header is damaged: it does not fit into the file")
    header = stream.read(header_bytes)
    if prefix != _prefix(header, file_bytes):
        raise RefusedError("the header is damaged: its checksum is wrong")
    return header


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _prefix(header: bytes, file_bytes: int) -> bytes:
    fields = len(header), file_bytes
    checksum = crc32(header, crc32(_PREFIX.pack(SSSP_MAGIC, _VERSION, 0, *fields)))
    return _PREFIX.pack(SSSP_MAGIC, _VERSION, checksum, *fields)


def _storable(name: str, values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    dtype = array.dtype.newbyteorder("<")
    if not _STORABLE.fullmatch(dtype.str):
        raise TypeError(f"array '{name}' holds {array.dtype}, which an .sssp file cannot store")
    return array.astype(dtype, order="C", copy=False)


def _raw(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array, as a view."""
    return array.reshape(-1).view(np.uint8)
