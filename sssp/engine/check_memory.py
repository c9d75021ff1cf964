"""Memory check: refuse a call that needs more bytes than its memory limit or the free memory.

This module refuses only: how many rows are solved at once in what memory there is,
`sssp.cpu.search_driver` and `sssp.cuda.batch_size` decide; the bytes of an answer are counted
where it is kept, in `sssp.engine.outputs`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from sssp.errors import DeviceError

#: bytes that stand for "as much as there is"
NO_LIMIT = 1 << 62

# what to do, beside raising a limit of one's own, by the call that is refused:
#: rows of `sssp.shortest_paths`
FEWER_ROWS = (
    "ask for fewer sources at a time (sssp.iter_blocks) or for less of each (targets, limit with "
    "output='sparse', sssp.reduce); or pass out=, a memmap"
)
#: of `sssp.iter_blocks`
SMALLER_BLOCKS = (
    "pass a smaller block_size; or ask for less of each source (targets, limit with "
    "output='sparse', sssp.reduce)"
)
#: of `sssp.run`
SMALLER_BLOCKS_OF_A_JOB = (
    "pass a smaller block_size (in another place, if blocks are done: a job keeps their size)"
)
#: of `sssp.reduce`
FEWER_SOURCES = "ask for fewer sources at a time"
#: trips
FEWER_TRIPS = "ask for fewer trips at a time, or omit predecessors"
#: all pairs
NO_MATRIX = (
    "for a sparse graph sssp.iter_blocks and sssp.reduce keep no whole matrix, and "
    "dtype='float32' halves one of floats"
)


def check_memory(
    parts: Mapping[str, int], limit: int, device: str, advice: str, room: int = NO_LIMIT
) -> None:
    """Raise DeviceError if a call needs more bytes than its memory limit or the free memory.

    Parameters
    ----------
    parts : mapping of str to int
        Bytes by what they are for.
    limit : int
        Bytes that it may take by its ``memory_limit``.
    device : str
        ``"cpu"``, ``"cuda:N"`` or ``"opencl:N"``.
    advice : str
        What the caller can do, beside raising that limit; may be empty.
    room : int, optional
        Bytes that there are for it: if less than the limit, then to raise that is no advice.

    Raises
    ------
    DeviceError
        With all the numbers.
    """
    needed = sum(parts.values())
    if needed <= min(limit, room):
        return
    shown = ", ".join(f"{what} {size:,}" for what, size in parts.items() if size)
    on_host = device == "cpu"
    # (that is the limit of a call that names none)
    raisable = limit <= room and not (on_host and limit == physical_memory())
    there = "" if raisable else ", all that this machine has" if on_host else ", all that is left"
    ways = [way for way in (advice, "raise memory_limit" if raisable else "") if way]
    raise DeviceError(
        f"this call needs {needed:,} bytes {'of memory' if on_host else f'on {device}'} ({shown}), "
        f"but may take {max(min(limit, room), 0):,}{there}"
        f"{'; ' if ways else ''}{'; or '.join(ways)}"
    )


@cache
def physical_memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return NO_LIMIT
