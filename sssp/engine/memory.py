"""Budgets: what a call needs, part by part, against what it may take.

This module refuses only: how many rows are solved at once in what memory there is, `sssp.cpu.rows`
and `sssp.cuda.rows` decide.
"""

from __future__ import annotations

from collections.abc import Mapping

from sssp.errors import DeviceError

__all__ = ["FEWER_ROWS", "FEWER_TRIPS", "NO_MATRIX", "check_memory"]

#: what to do where an answer of many rows does not fit
FEWER_ROWS = (
    "ask for fewer sources at a time (sssp.iter_blocks), for less of each (targets, limit with "
    "output='sparse', sssp.reduce), pass a memmap as out, or raise memory_limit"
)
#: and where the paths of many trips do not
FEWER_TRIPS = "ask for fewer trips at a time, leave predecessors out, or raise memory_limit"
#: and where a matrix of all pairs does not
NO_MATRIX = (
    "for a sparse graph sssp.iter_blocks and sssp.reduce keep no whole matrix, dtype='int32' or "
    "'float32' halves one, and memory_limit sets the limit"
)


def check_memory(parts: Mapping[str, int], limit: int, device: str, remedy: str) -> None:
    """Refuse a call that needs more memory than it may take.

    Parameters
    ----------
    parts : mapping of str to int
        Bytes by what they are for.
    limit : int
        Bytes that it may take.
    device : str
        ``"cpu"`` or ``"cuda:N"``.
    remedy : str
        What the caller can do.

    Raises
    ------
    DeviceError
        With all the numbers.
    """
    needed = sum(parts.values())
    if needed <= limit:
        return
    shown = ", ".join(f"{what} {size:,}" for what, size in parts.items() if size)
    place = "of memory" if device == "cpu" else f"on {device}"
    raise DeviceError(
        f"this call needs {needed:,} bytes {place} ({shown}), but may take {max(limit, 0):,}; "
        f"{remedy}"
    )
