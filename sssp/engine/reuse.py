"""Reusable device memory: kept during a `series` of calls, and mostly freed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

from sssp.kernels.locks import make_lock


class Keeper(Protocol):
    """The interface of objects that hold reusable device memory."""

    def trim(self) -> None:
        """Free cached device memory that exceeds the normal limit."""


_lock = make_lock()
_keepers: WeakSet[Keeper] = WeakSet()
_running = 0


def in_series() -> bool:
    """Return whether a ``with series()`` block is running, in any thread."""
    return _running > 0


def trim_after_series(keeper: Keeper) -> None:
    """Register a holder of reusable device memory, to free most of it after each `series`."""
    with _lock:
        _keepers.add(keeper)


@contextmanager
def series() -> Iterator[None]:
    """Keep device memory between the calls in a ``with`` block."""
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
