"""Scenarios of a prepared map: hierarchies with other weights, built in batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from sssp.engine.workers import ordered_map
from sssp.graph.check_arrays import is_on_device

T = TypeVar("T")
R = TypeVar("R")


class Scenarios(Iterator[T]):
    """Iterator over the hierarchies of scenarios, which are built in batches.

    Parameters
    ----------
    batches : iterator of deque
        Emptied as their items are taken.
    """

    def __init__(self, batches: Iterator[deque[T]]) -> None:
        self._batches = batches
        self._left: deque[T] = deque()

    def __next__(self) -> T:
        if not self._left:
            self._left = next(self._batches)
        return self._left.popleft()

    def batches(self) -> Iterator[list[T]]:
        """Yield the remaining hierarchies of the iterator, as one list per batch."""
        for batch in chain([self._left], self._batches):
            if batch:
                versions = list(batch)
                batch.clear()
                yield versions
                del versions


def build_in_batches(
    build: Callable[[Any, int], T],
    changes: Iterable[Any],
    batch: int,
    threads: int,
    finish: Callable[[list[T]], None] | None = None,
    is_light: Callable[[Any], bool] = lambda change: False,
) -> Iterator[deque[T]]:
    """Call ``build(change, threads)`` for each change; yield each batch's results as a deque.

    Parameters
    ----------
    build : callable
    changes : iterable
        Read a batch at a time, and copied as they are read.
    batch : int
        How many are built before they are yielded.
    threads : int
        They share the scenarios of a batch; the only scenario of a batch gets them all.
    finish : callable, optional
        Called with every batch before it is yielded.
    is_light : callable, optional
        Whether building takes less time than handing the change to a thread: the caller's thread
        builds it as it is read.
    """

    def take(change: Any) -> tuple[T | None, Any]:
        """Return (hierarchy, None) if `change` is cheap to apply, else (None, copy of `change`)."""
        if is_light(change):
            return build(change if is_on_device(change) else _copy(change), threads), None
        return None, _copy(change)

    left = enumerate(changes)
    while some := [(number, *_call_for(take, number, one)) for number, one in islice(left, batch)]:
        heavy = [(number, change) for number, light, change in some if light is None]
        workers = min(threads, len(heavy)) or 1

        def build_one(numbered: tuple[int, Any], each: int = threads // workers) -> T:
            return _call_for(build, *numbered, each)

        others = ordered_map(build_one, heavy, workers)
        built = deque(next(others) if light is None else light for _, light, _ in some)
        del some, heavy
        if finish is not None:
            finish(list(built))
        yield built


def _copy(change: Any) -> Any:
    """Return a copy of a scenario, for a generator may overwrite the arrays that it yielded."""
    if isinstance(change, tuple):
        return tuple(map(_copy, change))
    if is_on_device(change):
        from sssp.cuda.device_weights import copy_there

        return copy_there(change)
    try:
        return deepcopy(change)
    except TypeError:  # (NumPy reads things that this cannot copy: a memoryview, a file's dataset)
        return np.array(change)


def _call_for(call: Callable[..., R], number: int, *arguments: Any) -> R:
    """Return ``call(*arguments)``; prefix an exception's message with the scenario's number."""
    try:
        return call(*arguments)
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (f"scenario {number}: {error.args[0]}", *error.args[1:])
        else:
            error.add_note(f"scenario {number}")
        raise
