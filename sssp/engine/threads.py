"""How many threads a call may use."""

from __future__ import annotations

import os

__all__ = ["check_threads"]


def check_threads(threads: int | None) -> int:
    """Return the number of threads of a call: by default all cores that the process may use."""
    if threads is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else (os.cpu_count() or 1)
        )
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be an int of 1 or more, not {threads!r}")
    return threads
