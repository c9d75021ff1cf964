"""Memory of a device that calls on a prepared map leave for the calls after them."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Pool"]

#: bytes that stay on the device between calls
KEPT = 1280 << 20


class Pool:
    """Scratch that calls leave for those after them, as long as it is not much."""

    def __init__(self) -> None:
        self._idle: list[tuple[Any, int, tuple[Any, ...]]] = []
        self._held = 0
        self._lock = threading.Lock()

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
        """Leave scratch that nobody uses; what has lain longest goes."""
        with self._lock:
            self._idle.append((key, nbytes, scratch))
            self._held += nbytes
            while self._held > KEPT:
                self._held -= self._idle.pop(0)[1]
