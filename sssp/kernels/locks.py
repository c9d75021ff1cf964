"""Locks that are free in a forked child process, and a thread-safe cache of computed objects."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")
_locks: WeakSet[Any] = WeakSet()
_NOTHING: Any = object()


def make_lock() -> threading.RLock:
    """Return a lock that is free in a forked child, even if the parent held it.

    What it guards must be whole at any moment, for the child goes on with what was there.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _open_in_child() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_in_child)


class Derived(dict[str, Any]):
    """A cache of objects by name, each built once; a copy or pickle starts empty."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = make_lock()

    def get_or_build(self, key: str, build: Callable[[], T]) -> T:
        """Return the object kept under `key`; call `build` to make it the first time.

        However many threads ask, it is called once, under a lock; it may ask for other objects
        itself. If it raises, nothing is kept.
        """
        kept: T = self.get(key, _NOTHING)
        if kept is _NOTHING:  # (most calls need no lock)
            with self.lock:
                if key not in self:
                    self[key] = build()
                kept = self[key]
        return kept

    def free_device(self) -> None:
        """Drop the cached objects that are on CUDA devices: their keys begin with "cuda"."""
        with self.lock:
            for key in [key for key in self if key.startswith("cuda:")]:
                del self[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Derived, ()
