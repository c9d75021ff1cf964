"""The number of threads of a call: set by the user, or by default the usable cores.

A container's share of the CPU is a quota: so much time in every period, on however many cores it
likes. A process with more threads uses that time up early in every period and stands still for the
rest, and threads that wait for each other stand still longer than one alone would. So the
default is the quota's whole cores, at most the cores that the process may run on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, SupportsIndex

from sssp.engine.check_arguments import as_count

#: sets the default of ``threads`` for a process
VARIABLE = "SSSP_THREADS"

#: most threads that the environment may ask for, on any machine and for each of its cores: more of
#: them only wait for each other, and a typing error would start a million
MOST, MOST_A_CORE = 64, 4

_chosen: int | None = None


def set_threads(n: SupportsIndex | None) -> None:
    """Set the default number of threads of calls.

    Parameters
    ----------
    n : int or None
        Threads, at least 1. None goes back to what holds without: the environment variable
        ``SSSP_THREADS``, else the cores that the process may run on, or what the CPU quota of its
        container amounts to if that is less.

    Raises
    ------
    ValueError
        Not an int of 1 or more.

    Notes
    -----
    It holds for the process and every thread in it. Programs that run one worker a core want 1.
    """
    global _chosen
    _chosen = None if n is None else as_count(n, "n")


def check_threads(threads: Any) -> int:
    """Check the argument `threads`; return the number of threads.

    Raises
    ------
    ValueError
        Neither None nor an integer of 1 or more.
    """
    if threads is None:
        return default_threads()
    return threads if type(threads) is int and threads > 0 else as_count(threads, "threads")


def default_threads() -> int:
    """Return the number of threads that a call uses by default.

    Raises
    ------
    ValueError
        The environment variable ``SSSP_THREADS`` holds no number of threads.
    """
    if _chosen is not None:
        return _chosen
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return _bound(as_count(int(named) if named.isdecimal() else named, VARIABLE))
    quota = cpu_quota()
    cores = usable_cores()
    return cores if quota is None else max(1, min(cores, int(quota)))


@cache
def _bound(threads: int) -> int:
    """Limit a number of threads read from the environment to a maximum, with a warning."""
    most = max(MOST, MOST_A_CORE * usable_cores())
    if threads > most:
        logging.getLogger("sssp").warning(
            "%s=%d is more than the %d threads that calls take here", VARIABLE, threads, most
        )
    return min(threads, most)


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def cpu_quota(process: Path = Path("/proc/self")) -> float | None:
    """Return the number of cores that control groups allow, None for no limit.

    Parameters
    ----------
    process : Path
        What Linux tells about a process: a folder with ``cgroup`` and ``mountinfo``.

    Notes
    -----
    A control group has no more than any group that holds it, so the least counts. Read once, for
    it takes longer than a short search.
    """
    try:
        return min(_quotas(process), default=None)
    except (OSError, ValueError):  # no Linux, or one that tells something else
        return None


def _quotas(process: Path) -> Iterator[float]:
    """Yield the CPU limits, in cores, of the process' control groups and of all groups above."""
    # where trees of control groups with CPU limits are mounted: is it version 2, root, path
    mounts = []
    for line in (process / "mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            root, mounted_at = fields.split()[3:5]
            mounts.append((kind == "cgroup2", root, Path(mounted_at)))
    for line in (process / "cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for version_2, top, mounted in mounts:
            if version_2 == (not controllers):
                # in a container the top of the tree may be the group itself
                below = os.path.relpath(group, top)
                place = mounted if below.startswith("..") else mounted / below
                for folder in (place, *place.parents):
                    if folder.is_relative_to(mounted):
                        yield from _quota(folder)


def _quota(folder: Path) -> Iterator[float]:
    """Yield the CPU limit of one control group in cores, if it has one."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        if all((folder / name).is_file() for name in names):
            time, period = " ".join((folder / name).read_text() for name in names).split()
            if time not in ("max", "-1"):
                yield int(time) / int(period)
