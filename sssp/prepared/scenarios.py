"""Many versions of one map, some at a time: who closes which bridge, or another hour's traffic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from sssp.engine.workers import in_order

__all__ = ["made_in_batches"]

T = TypeVar("T")


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
        Taken a batch at a time.
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
    while some := list(islice(left, batch)):
        workers = 1 if all(is_light(change) for _, change in some) else min(threads, len(some))
        made = deque(in_order(partial(_made, make, threads // workers), some, workers))
        if finish is not None:
            finish(list(made))
        del some
        while made:
            yield made.popleft()


def _made(make: Callable[[Any, int], T], threads: int, numbered: tuple[int, Any]) -> T:
    number, change = numbered
    try:
        return make(change, threads)
    except Exception as error:
        _name(error, number)
        raise


def _name(error: Exception, number: int) -> None:
    """Let the message of an exception begin with the number of its scenario."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"scenario {number}: {error.args[0]}", *error.args[1:])
    else:
        error.add_note(f"scenario {number}")
