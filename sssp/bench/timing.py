"""The clock of the bench: seconds of calls on the host, milliseconds of launches on a GPU."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import inf
from time import perf_counter
from typing import Any


def time_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one call, and its result."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def time_without_gc(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one call while the garbage collector is off, and its result."""
    gc.disable()
    try:
        return time_call(call)
    finally:
        gc.enable()


def repeat(call: Callable[[], Any], runs: int, limit: float = inf) -> list[float]:
    """Return the seconds of `runs` calls; of fewer, at least one, where they exceed the limit."""
    seconds: list[float] = []
    while len(seconds) < runs and (not seconds or sum(seconds) <= limit):
        seconds.append(time_call(call)[0])
    return seconds


def alternate(calls: Mapping[Any, Callable[[], Any]], runs: int) -> dict[Any, list[float]]:
    """Return the seconds of calls in turn, so that all of them meet the same machine."""
    seconds: dict[Any, list[float]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            seconds[name].append(time_call(call)[0])
    return seconds


def time_launches(stream: Any, *steps: Callable[[], Any]) -> list[float]:
    """Return the milliseconds of every step on a stream of a GPU, between CUDA events."""
    from sssp.cuda.compiler import cuda

    events = [cuda.event() for _ in range(len(steps) + 1)]
    events[0].record(stream)
    for step, end in zip(steps, events[1:], strict=True):
        step()
        end.record(stream)
    events[-1].synchronize()
    return [cuda.event_elapsed_time(*pair) for pair in pairwise(events)]
