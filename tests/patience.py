"""How long tests wait: for a condition, never for a time, since a machine may be busy."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "wait_until"]

#: seconds after which what has not come never will
PATIENCE = 300


def wait_until(happened: Callable[[], object], what: str = "what is waited for") -> None:
    """Return once a condition holds; raise if it never does."""
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} has not come in {PATIENCE} s")
        time.sleep(0.001)
