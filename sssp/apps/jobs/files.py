"""Files of a table: each appears whole, under its name, with what tells later whether it is."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sssp.loaders._files import crc32

#: bytes that are read at a time
PIECE_BYTES = 1 << 20
#: mode of a file, less what the umask takes away
MODE = 0o666


class Piece(NamedTuple):
    """A file of a table.

    Attributes
    ----------
    name : str
        Relative to the table.
    size, checksum : int
        Bytes, and their CRC-32.
    """

    name: str
    size: int
    checksum: int


class TalliedFile(io.RawIOBase):
    """A file to write, which counts its bytes and sums them up."""

    def __init__(self, path: Path, mode: int = MODE) -> None:
        super().__init__()
        self._stream = open(path, "xb", opener=partial(os.open, mode=mode))  # noqa: SIM115  # see `close`
        self.size = self.checksum = 0

    def writable(self) -> bool:
        """Say that it is."""
        return True

    def write(self, data: Any) -> int:
        """Write all of what supports the buffer protocol."""
        view = memoryview(data).cast("B")
        self._stream.write(view)
        self.checksum = crc32(view, self.checksum)
        self.size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return how much is written."""
        return self.size

    def close(self) -> None:
        """Bring everything to the disk, unless it is closed."""
        if not self.closed:
            try:
                with self._stream as stream:
                    stream.flush()
                    os.fsync(stream.fileno())
            finally:
                super().close()


@contextmanager
def whole_file(path: Path, temporary: Path, mode: int = MODE) -> Iterator[TalliedFile]:
    """Open a file for writing that gets its name when it is complete and on disk.

    Unlike `sssp.loaders._files.replaced_file` it is made in a folder of its own: no search for
    unfinished files among a million parts.

    Parameters
    ----------
    path : Path
        Its folder is made.
    temporary : Path
        A folder on the same file system.
    mode : int
        Of the file, less what the umask takes away.
    """
    unfinished = temporary / secrets.token_hex(8)
    stream = TalliedFile(unfinished, mode)
    try:
        yield stream
        stream.close()
        put_in_place(unfinished, path)
    except BaseException:
        with suppress(OSError):
            stream.close()
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise


def put_in_place(made: Path, path: Path) -> None:
    """Give a file that is on disk its name; the folder of that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(made, path)


def piece_of(path: Path, name: str) -> Piece:
    """Bring a file that a library has made to the disk; return what it is as a file of a table.

    Parameters
    ----------
    path : Path
    name : str
        That it will have, relative to the table.
    """
    with path.open("r+b") as stream:
        os.fsync(stream.fileno())
    return Piece(name, path.stat().st_size, checksum_of(path))


def checksum_of(path: Path) -> int:
    """Return the CRC-32 of a file."""
    checksum = 0
    with path.open("rb") as stream:
        while piece := stream.read(PIECE_BYTES):
            checksum = crc32(piece, checksum)
    return checksum
