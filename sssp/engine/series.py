"""Calls in a series, one soon after the other: what one leaves behind, the next can have.

Between calls of their own a device keeps little for the next; within a series all that the next
call will need again. Who keeps something says so here, and lets go of it when the series ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

from sssp.kernels.locks import make_lock


class Keeper(Protocol):
    """Who keeps something for the calls to come."""

    def trim(self) -> None:
        """Let go of what is too much between calls of their own."""


_lock = make_lock()
_keepers: WeakSet[Keeper] = WeakSet()
_running = 0


def in_series() -> bool:
    """Whether some calls of a series are under way, in any thread."""
    return _running > 0


def trimmed_after_series(keeper: Keeper) -> None:
    """Trim a keeper after every series, as long as it is there."""
    with _lock:
        _keepers.add(keeper)


@contextmanager
def series() -> Iterator[None]:
    """The calls within come one soon after the other."""
    global _running
    with _lock:
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            keepers = [] if _running else list(_keepers)
        for keeper in keepers:
            keeper.trim()
