"""The elimination tree, cut into ranges of ranks on which threads work side by side.

From below the tree falls apart into whole subtrees: neighbouring small ones make a range of about
n / `PIECES` vertices. What is above them are chains, each a range too, because the heaviest child
of a vertex stands right before it; a chain can start when what is below it is done.

Work that goes up takes the subtrees in any order, the dearest first, and then every chain once
those below it are done; work that goes down takes the same in reverse. Who has done what makes no
difference to the outcome. No call is long, so that Ctrl-C is heard.

Towards the top chains have to wait for each other. There all threads may take part in one: a chain
whose range is dear is given to what knows how to cut it up (`Together`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.workers import POLL_SECONDS, Pool
from sssp.kernels.dtypes import INDEX

#: ranges of subtrees: with more of them work spreads better, and more vertices are left above
PIECES = 64
#: vertices in such a range, at least
SMALLEST = 2000
#: triangles of a range of a chain: a tenth of a second
DEAREST = 20_000_000
#: triangles of a range that are worth cutting up for several threads: some milliseconds
DEAR = 2_000_000

#: ``work(low, high, own)``, with what a worker has of its own
Work = Callable[[int, int, Any], Any]
#: ``together(low, high, pool)``, which gives parts of the work to the pool
Together = Callable[[int, int, Pool], Any]


class Tasks(NamedTuple):
    """Ranges of ranks, and which of them wait for which.

    Attributes
    ----------
    ranges : ndarray, shape (t, 2), int32
        First rank and end: of subtrees, the dearest first, and then of chains, upward.
    subtrees : int
        How many are ranges of whole subtrees.
    above : ndarray, shape (t,), int32
        Of every chain the next that waits for it; -1 for the topmost, and for subtrees.
    dear : ndarray, shape (t,), bool
        Which chains are worth cutting up.
    """

    ranges: NDArray[np.int32]
    subtrees: int
    above: NDArray[np.int32]
    dear: NDArray[np.bool_]

    def upward(
        self,
        work: Work,
        threads: int,
        scratch: Callable[[], Any],
        together: Together | None = None,
    ) -> None:
        """Call ``work(low, high, own)`` for every range, children before parents.

        `scratch` makes what every worker has of its own; `together`, if there is one, gets the
        ranges that are dear, where there are several threads.
        """
        self._run(_Upward, self.ranges, work, threads, scratch, together)

    def downward(
        self,
        work: Work,
        threads: int,
        scratch: Callable[[], Any],
        together: Together | None = None,
    ) -> None:
        """Call ``work(low, high, own)`` for every range, parents before children."""
        self._run(_Downward, self.ranges[::-1], work, threads, scratch, together)

    def _run(
        self,
        crew: type[_Crew],
        ranges: NDArray[np.int32],
        work: Work,
        threads: int,
        scratch: Callable[[], Any],
        together: Together | None,
    ) -> None:
        if threads > 1 and len(ranges) > 1:
            crew(self).run(work, threads, scratch, together)
            return
        own = scratch()
        for low, high in ranges.tolist():
            work(low, high, own)


class _Crew:
    """Several threads that take whatever range may start."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks
        self._ranges: list[list[int]] = tasks.ranges.tolist()
        self.ready: deque[int] = deque()
        self._left = len(tasks.ranges)
        self._change = threading.Condition()

    def done(self, task: int) -> None:
        """Note that a range is done: add what may start now to `ready`."""
        raise NotImplementedError

    def run(
        self, work: Work, threads: int, scratch: Callable[[], Any], together: Together | None
    ) -> None:
        with (
            Pool(threads) as pool,
            Pool(threads) as executor,
        ):

            def take_part(low: int, high: int, own: Any, is_dear: bool) -> None:
                if is_dear and together is not None:
                    together(low, high, pool)
                else:
                    work(low, high, own)

            try:
                futures = [
                    executor.submit(self._work, take_part, scratch()) for _ in range(threads)
                ]
                # with a timeout, for else Ctrl-C is not heard on every system
                while wait(futures, POLL_SECONDS).not_done:
                    pass
            finally:
                self._stop()
            for future in futures:
                future.result()

    def _stop(self) -> None:
        with self._change:
            self._left = 0
            self._change.notify_all()

    def _work(self, work: Callable[..., Any], own: Any) -> None:
        try:
            while (task := self._take()) is not None:
                work(*self._ranges[task], own, bool(self.tasks.dear[task]))
                with self._change:
                    self.done(task)
                    self._change.notify_all()
        except BaseException:
            self._stop()
            raise

    def _take(self) -> int | None:
        with self._change:
            self._change.wait_for(lambda: self.ready or not self._left)
            if not self._left:
                return None
            self._left -= 1
            return self.ready.popleft()


class _Upward(_Crew):
    """Subtrees, and then every chain once those below it are done."""

    def __init__(self, tasks: Tasks) -> None:
        super().__init__(tasks)
        self.ready.extend(range(tasks.subtrees))
        above = tasks.above
        self._waiting = np.bincount(above[above >= 0], minlength=above.size).tolist()
        self._subtrees = tasks.subtrees
        if not self._subtrees:
            self._start_chains()

    def _start_chains(self) -> None:
        chains = range(self.tasks.subtrees, len(self.tasks.ranges))
        self.ready.extend(task for task in chains if not self._waiting[task])

    def done(self, task: int) -> None:
        if task < self.tasks.subtrees:
            self._subtrees -= 1
            if not self._subtrees:
                self._start_chains()
            return
        above = int(self.tasks.above[task])
        if above >= 0:
            self._waiting[above] -= 1
            if not self._waiting[above]:
                self.ready.append(above)


class _Downward(_Crew):
    """Chains from the top, and then the subtrees."""

    def __init__(self, tasks: Tasks) -> None:
        super().__init__(tasks)
        self._below: dict[int, list[int]] = {}
        for task in range(tasks.subtrees, len(tasks.ranges)):
            self._below.setdefault(int(tasks.above[task]), []).append(task)
        self.ready.extend(self._below.get(-1, ()))
        self._chains = len(tasks.ranges) - tasks.subtrees
        if not self._chains:
            self.ready.extend(range(tasks.subtrees))

    def done(self, task: int) -> None:
        if task < self.tasks.subtrees:
            return
        self.ready.extend(self._below.get(task, ()))
        self._chains -= 1
        if not self._chains:
            self.ready.extend(range(self.tasks.subtrees))


def make_tasks(
    parent: NDArray[np.int32], size: NDArray[np.int32], counts: NDArray[np.int64]
) -> Tasks:
    """Cut an elimination tree into ranges.

    Parameters
    ----------
    parent, size : ndarray, shape (n,), int32
        Of every rank; ranks are numbers in postorder, the heaviest child last.
    counts : ndarray, shape (n,), int64
        Chordal arcs above every rank.
    """
    n = parent.size
    limit = max(SMALLEST, n // PIECES)
    costs = np.concatenate(([0], np.cumsum(counts * counts // 2, dtype=np.int64)))
    small = size <= limit
    low_parent = parent >= 0
    inside = np.zeros(n, np.bool_)
    inside[low_parent] = small[parent[low_parent]]
    roots = np.flatnonzero(small & ~inside)
    subtrees: list[list[int]] = []
    for low, high in zip((roots - size[roots] + 1).tolist(), (roots + 1).tolist(), strict=True):
        # neighbours are joined as long as they are few together
        if subtrees and subtrees[-1][1] == low and high - subtrees[-1][0] <= limit:
            subtrees[-1][1] = high
        else:
            subtrees.append([low, high])
    subtrees.sort(key=lambda cut: costs[cut[0]] - costs[cut[1]])
    chains, above = _chains(np.flatnonzero(~small), parent, size, costs, len(subtrees))
    ranges = np.array(subtrees + chains, INDEX).reshape(-1, 2)
    dear = costs[ranges[:, 1]] - costs[ranges[:, 0]] >= DEAR
    dear[: len(subtrees)] = False
    return Tasks(ranges, len(subtrees), np.array([-1] * len(subtrees) + above, INDEX), dear)


def _chains(
    tops: NDArray[np.int64],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    costs: NDArray[np.int64],
    number: int,
) -> tuple[list[list[int]], list[int]]:
    """Cut the ranks above the subtrees into chains; return ranges, and which waits for which.

    A chain goes on from v to v + 1 if that is its parent and no other top is: the subtrees of
    all others end before. The first of `tops` has nothing but subtrees below.
    """
    top_children = np.bincount(parent[tops][parent[tops] >= 0], minlength=parent.size)
    chains: list[list[int]] = []
    task_of: dict[int, int] = {}
    for v in tops.tolist():
        goes_on = chains and chains[-1][1] == v and parent[v - 1] == v and top_children[v] == 1
        if goes_on and costs[v + 1] - costs[chains[-1][0]] <= DEAREST:
            chains[-1][1] = v + 1
        else:
            chains.append([v, v + 1])
        task_of[v] = number + len(chains) - 1
    above = [task_of.get(int(parent[high - 1]), -1) for _, high in chains]
    return chains, above
