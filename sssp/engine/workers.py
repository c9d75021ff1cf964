"""Parallel maps over work items, with results in the order of the items."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty
from typing import Generic, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")
#: seconds between two chances for Ctrl-C
POLL_SECONDS = 0.2
#: pieces per thread that are under way or wait for those before them
AHEAD = 2


def _do_now(work: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> Future[R]:
    """Run a function in this thread, and return its outcome as a finished future."""
    future: Future[R] = Future()
    try:
        future.set_result(work(*arguments, **options))
    except Exception as error:
        future.set_exception(error)
    return future


class Pool(ThreadPoolExecutor):
    """A thread pool that goes on with fewer threads if the system starts no more.

    Without any, `submit` does the work itself.
    """

    def __init__(self, threads: int, name: str = "sssp") -> None:
        super().__init__(threads, thread_name_prefix=name)

    def submit(self, work: Callable[P, R], /, *arguments: P.args, **options: P.kwargs) -> Future[R]:
        """Run a function in a thread of the pool, or in this thread if the pool has none."""
        future = super().submit(work, *arguments, **options)
        if not self._threads:
            with suppress(Empty):
                self._work_queue.get_nowait()
            return _do_now(work, *arguments, **options)
        return future

    def _adjust_thread_count(self) -> None:
        with suppress(RuntimeError):  # "can't start new thread"
            super()._adjust_thread_count()


_idle: dict[int, list[Pool]] = {}
if hasattr(os, "register_at_fork"):  # (a child has none of the threads)
    os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def lend_pool(threads: int) -> Iterator[Pool]:
    """Lend a thread pool in a ``with`` block: an idle one of an earlier call, or a new one.

    To start threads takes longer than many calls. The caller waits for what it submits;
    after an exception what has not begun is cancelled, the rest is waited for, and the threads end.
    """
    pools = _idle.setdefault(threads, [])
    try:
        pool = pools.pop()
    except IndexError:
        pool = Pool(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pools.append(pool)


class Spare(Generic[T]):
    """A store of scratch memory, lent to one worker at a time and allocated on demand.

    Parameters
    ----------
    make : callable
        Makes the scratch of one worker.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: list[T] = []

    @contextmanager
    def lend(self) -> Iterator[T]:
        """Lend scratch memory to a worker in a ``with`` block."""
        try:  # (another thread may take the last one)
            scratch = self._free.pop()
        except IndexError:
            scratch = self._make()
        yield scratch
        self._free.append(scratch)


def ordered_map(work: Callable[[T], R], pieces: Iterable[T], threads: int) -> Iterator[R]:
    """Yield ``work(piece)`` for every piece in order, computed in several threads.

    So what is made of the results does not depend on the number of threads.

    Parameters
    ----------
    work : callable
        Releases the GIL while it is busy.
    pieces : iterable
        Taken as threads get to them; few results wait for an earlier one at any time.
    threads : int
        How many pieces are worked on side by side; the caller's thread is one of them.
    """
    if threads <= 1:
        yield from map(work, pieces)
        return
    with lend_pool(threads - 1) as pool:
        under_way: deque[tuple[T, Future[R]]] = deque()
        submitted = ((piece, pool.submit(work, piece)) for piece in pieces)
        under_way.extend(islice(submitted, AHEAD * threads))
        while under_way:
            while not under_way[0][1].done():
                # (this thread helps: to wake one of the pool takes longer than many a piece)
                place = next((i for i, (_, each) in enumerate(under_way) if each.cancel()), None)
                if place is None:
                    # with a timeout, for else Ctrl-C is not heard on every system
                    wait([under_way[0][1]], POLL_SECONDS)
                    continue
                # (an error waits its turn: that of the first piece counts, in their order)
                piece = under_way[place][0]
                under_way[place] = piece, _do_now(work, piece)
            _, done = under_way.popleft()
            under_way.extend(islice(submitted, 1))
            yield done.result()


def do_all(work: Callable[[T], object], pieces: Iterable[T], threads: int) -> None:
    """Call ``work(piece)`` for every piece in several threads; discard the results."""
    for _ in ordered_map(work, pieces, threads):
        pass
