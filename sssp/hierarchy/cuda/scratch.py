"""Memory of a device that calls on a prepared map leave for the calls after them."""

from __future__ import annotations

import threading
from typing import Any

from sssp.cuda.pool import kept_until_needed
from sssp.engine.series import in_series, trimmed_after_series

__all__ = ["Pool"]

#: bytes that stay on the device between calls that are no series
KEPT = 1280 << 20


class Pool:
    """Scratch that calls leave for those after them, as long as it is not much.

    In a series of calls it may be much: it goes as soon as somebody needs its memory.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[Any, int, tuple[Any, ...]]] = []
        self._held = 0
        self._lock = threading.Lock()
        trimmed_after_series(self)
        kept_until_needed(self)

    @property
    def idle_bytes(self) -> int:
        """Bytes that wait."""
        return self._held

    def take(self, key: Any) -> tuple[Any, ...] | None:
        """Return scratch that was left under a key, if there is any."""
        with self._lock:
            for i, (own, nbytes, scratch) in enumerate(self._idle):
                if own == key:
                    del self._idle[i]
                    self._held -= nbytes
                    return scratch
        return None

    def leave(self, key: Any, nbytes: int, scratch: tuple[Any, ...]) -> None:
        """Leave scratch that nobody uses."""
        with self._lock:
            self._idle.append((key, nbytes, scratch))
            self._held += nbytes
        if not in_series():
            self.trim()

    def trim(self, most: int = KEPT) -> None:
        """Let go of what has lain longest, but for so many bytes."""
        with self._lock:
            while self._held > most:
                self._held -= self._idle.pop(0)[1]

    def release(self) -> None:
        """Let go of all that waits."""
        self.trim(0)
