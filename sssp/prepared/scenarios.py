"""Many versions of one map, some at a time: who closes which bridge, or another hour's traffic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from sssp.engine.workers import ordered_map

T = TypeVar("T")
R = TypeVar("R")


def made_in_batches(
    make: Callable[[Any, int], T],
    changes: Iterable[Any],
    batch: int,
    threads: int,
    finish: Callable[[list[T]], None] | None = None,
    is_light: Callable[[Any], bool] = lambda change: False,
) -> Iterator[T]:
    """Yield what `make` makes of each change, in order, a batch made together.

    Parameters
    ----------
    make : callable
        ``make(change, threads)``.
    changes : iterable
        Taken a batch at a time, and copied as they are taken.
    batch : int
        How many are made before the first of them is yielded; none is kept once it is.
    threads : int
        They share the scenarios of a batch; one that is alone in it has them all.
    finish : callable, optional
        What is done to a whole batch before the first of it is yielded.
    is_light : callable, optional
        Whether a change is made in less time than it takes to hand it to a thread; a batch of such
        ones the caller's thread makes.
    """
    left = enumerate(changes)
    while some := [(number, _made(_copied, number, one)) for number, one in islice(left, batch)]:
        workers = 1 if all(is_light(change) for _, change in some) else min(threads, len(some))

        def make_one(numbered: tuple[int, Any], each: int = threads // workers) -> T:
            return _made(make, *numbered, each)

        made = deque(ordered_map(make_one, some, workers))
        if finish is not None:
            finish(list(made))
        del some
        while made:
            yield made.popleft()


def _copied(change: Any) -> Any:
    """Return a scenario as it is now, for a generator may fill the same arrays anew."""
    if isinstance(change, tuple):
        return tuple(map(_copied, change))
    if is_device_array(change):
        from sssp.cuda.device_weights import copied

        return copied(change)
    try:
        return deepcopy(change)
    except TypeError:  # (not all that NumPy reads can be copied so: a memoryview, a file's dataset)
        return np.array(change)


def _made(make: Callable[..., R], number: int, *arguments: Any) -> R:
    """Return ``make(*arguments)``; an exception begins with the number of its scenario."""
    try:
        return make(*arguments)
    except Exception as error:
        _name(error, number)
        raise


def is_device_array(array: Any) -> bool:
    """Tell whether an array of any library is on a CUDA device."""
    return hasattr(array, "__cuda_array_interface__")


def _name(error: Exception, number: int) -> None:
    """Let the message of an exception begin with the number of its scenario."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"scenario {number}: {error.args[0]}", *error.args[1:])
    else:
        error.add_note(f"scenario {number}")
