"""Locks that are unlocked in a forked child process, even if the parent held them."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Any] = WeakSet()


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
