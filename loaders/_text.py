"""Text files in chunks of whole lines, and errors that name the line."""

from __future__ import annotations

import io
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.errors import GraphFormatError
from sssp.loaders import _files
from sssp.loaders._files import DAMAGED_STREAM, Pathname, printable, refuse_damage

_LONGEST_LINE = 1 << 20
# So much of a compressed file is read on to see whether its stream is damaged.
_MOST_DRAINED_BYTES = 1 << 26
_NEWLINE = 10


class TextChunks:
    """A moving window over a text file that holds whole lines.

    Parameters
    ----------
    stream : binary stream
        The file, decompressed.
    path : str or path-like
        Its name, for messages.
    chunk_bytes : int
        How much to read at once.

    Attributes
    ----------
    text : ndarray of uint8
        The window: ``text[begin:end]`` is the lines still to be taken, each with its newline.
    begin, end : int
        Bounds of these lines. A caller that takes lines moves `begin` past them.
    lines : int
        Number of lines taken so far. A caller that takes lines adds them.
    """

    def __init__(self, stream: Any, path: Pathname, chunk_bytes: int) -> None:
        self.path, self._stream, self._chunk_bytes = path, stream, chunk_bytes
        self.begin = self.end = self.lines = 0
        self._filled = 0  # text[end:filled] is the start of the next line
        self._allocate(chunk_bytes)

    def _allocate(self, size: int) -> None:
        # One byte more, for the newline that the last line may lack.
        self._bytes = bytearray(size + 1)
        self.text: NDArray[np.uint8] = np.frombuffer(self._bytes, np.uint8)

    def refuse_other_kinds(self, expected: str) -> None:
        """Refuse an empty file, or a file of another kind than `expected` by its first bytes."""
        try:
            head = self._stream.peek(_files.PEEKED_BYTES)
        except DAMAGED_STREAM as error:
            self._refuse_stream(error)
        if not head:
            raise GraphFormatError("the file is empty", path=self.path, line_number=1)
        kind = _files.other_kind(head)
        if kind is not None:
            self.refuse(f"this is {kind}, not {expected}", head.split(b"\n")[0])

    def refill(self) -> bool:
        """Read the next chunk once all lines are parsed; return False at the end of the file."""
        rest = self._filled - self.end
        self._bytes[:rest] = self._bytes[self.end : self._filled]
        self._filled = rest
        self.begin = 0
        end = 0
        while end == 0:
            searched = self._filled
            if searched == len(self._bytes) - 1:
                if searched > _LONGEST_LINE:
                    self.refuse("a line this long is in no graph file", self._bytes)
                text = self._bytes
                self._allocate(2 * len(text))
                self._bytes[: len(text)] = text
            size = min(len(self._bytes) - 1 - searched, self._chunk_bytes)
            try:
                # readinto() would hold text back that came before the damage.
                window = memoryview(self._bytes)[searched : searched + size]
                self._filled += int(self._stream.readinto1(window))
            except DAMAGED_STREAM as error:
                self._refuse_stream(error)
            if self._filled == searched:
                if searched == 0:
                    return False
                self._bytes[searched] = _NEWLINE
                self._filled += 1
            end = self._bytes.rfind(b"\n", searched, self._filled) + 1
        self.end = end
        return True

    def line(self) -> bytes:
        """Return the first line that is not parsed yet."""
        return bytes(self._bytes[self.begin : self._bytes.index(b"\n", self.begin) + 1])

    def last_line(self) -> bytes:
        """Return the last line of a file that is read to its end."""
        return bytes(self._bytes[self._bytes.rfind(b"\n", 0, self.end - 1) + 1 : self.end])

    def refuse(self, reason: str, line: bytes | bytearray) -> NoReturn:
        """Raise an error about the first line that is not parsed yet."""
        if not isinstance(self._stream, io.BufferedReader):
            # Nonsense in a compressed file may be the work of a damaged stream, which its
            # checksum tells at the end, unless that is too far away.
            try:
                for _ in range(_MOST_DRAINED_BYTES // _LONGEST_LINE):
                    if not self._stream.read(_LONGEST_LINE):
                        break
            except DAMAGED_STREAM as error:
                self._refuse_stream(error)
        raise GraphFormatError(
            reason, path=self.path, line_number=self.lines + 1, line=printable(line)
        ) from None

    def _refuse_stream(self, error: Exception) -> NoReturn:
        line = printable(self._bytes[self.begin : self._filled].split(b"\n")[0]) or None
        refuse_damage(error, self.path, line_number=self.lines + 1, line=line)
