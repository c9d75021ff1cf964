"""The elimination tree, cut into ranges of ranks on which threads work side by side.

From below the tree falls apart into whole subtrees: neighbouring small ones make a range of about
n / `PIECES` vertices. Above them are chains, each a range too, because the heaviest child of a
vertex has the number right before it; a chain can start when the chains below it are done.

Upward work takes the subtrees in any order, the most expensive first, and then every chain after
those below it; downward work takes the same in reverse. The result does not depend on which thread
does what. Every call is short, so that Ctrl-C is heard.

Towards the top, chains have to wait for each other. There all threads may share one: an expensive
range is passed to a function that splits it (`Together`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.workers import POLL_SECONDS, Pool
from sssp.kernels.dtypes import INDEX

#: ranges of subtrees: with more of them work spreads better, and more vertices remain above
PIECES = 64
#: least number of vertices in such a range
SMALLEST = 2000
#: greatest number of triangles in a range of a chain: a tenth of a second
MOST_TRIANGLES = 20_000_000
#: triangles from which on threads share a range: some milliseconds
SHARED_TRIANGLES = 2_000_000

#: ``work(low, high, scratch)``
Work = Callable[[int, int, Any], Any]
#: ``together(low, high, pool)``, which submits parts of a range to the pool
Together = Callable[[int, int, Pool], Any]


class Tasks(NamedTuple):
    """Ranges of ranks and their dependencies.

    Attributes
    ----------
    ranges : ndarray, shape (t, 2), int32
        First rank and end: of subtrees, the most expensive first, and then of chains, upward.
    subtrees : int
        Number of ranges of whole subtrees.
    above : ndarray, shape (t,), int32
        The chain that waits for each chain; -1 for the topmost chains and for subtrees.
    shared : ndarray, shape (t,), bool
        Chains that are worth splitting.
    """

    ranges: NDArray[np.int32]
    subtrees: int
    above: NDArray[np.int32]
    shared: NDArray[np.bool_]

    def run(
        self,
        work: Work,
        threads: int,
        make_scratch: Callable[[], Any],
        together: Together | None = None,
        *,
        downward: bool = False,
    ) -> None:
        """Call ``work(low, high, scratch)`` for every range, children before parents.

        `make_scratch` makes the scratch of a worker; `together`, if given, gets the ranges that
        several threads share. `downward`: parents before children.
        """
        subtrees, chains = range(self.subtrees), range(self.subtrees, len(self.ranges))
        phases = (chains[::-1], subtrees) if downward else (subtrees, chains)
        #: the tasks that may start when a task is done
        after: list[list[int]] = [[] for _ in self.ranges]
        for chain in chains[::-1]:
            above = self.above[chain]
            if above >= 0 and downward:
                after[above].append(chain)
            elif above >= 0:
                after[chain].append(above)
        ranges: list[tuple[int, int]] = [(low, high) for low, high in self.ranges.tolist()]
        if threads == 1 or len(ranges) <= 1:
            scratch = make_scratch()
            for task in (task for phase in phases for task in phase):
                work(*ranges[task], scratch)
            return
        waiting = [0] * len(ranges)
        for task in (task for following in after for task in following):
            waiting[task] += 1
        spare = [make_scratch() for _ in range(threads)]
        with Pool(threads) as pool, Pool(threads) as executor:

            def process(task: int) -> int:
                if together is not None and self.shared[task]:
                    together(*ranges[task], pool)
                else:
                    scratch = spare.pop()
                    work(*ranges[task], scratch)
                    spare.append(scratch)
                return task

            try:
                for phase in phases:
                    running = {
                        executor.submit(process, task) for task in phase if not waiting[task]
                    }
                    while running:
                        # (with a timeout, or some systems do not hear Ctrl-C)
                        done, running = wait(running, POLL_SECONDS, FIRST_COMPLETED)
                        for task in (task for one in done for task in after[one.result()]):
                            waiting[task] -= 1
                            if not waiting[task]:
                                running.add(executor.submit(process, task))
            finally:
                executor.shutdown(wait=False, cancel_futures=True)


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
        # join neighbours while they stay small together
        if subtrees and subtrees[-1][1] == low and high - subtrees[-1][0] <= limit:
            subtrees[-1][1] = high
        else:
            subtrees.append([low, high])
    subtrees.sort(key=lambda cut: costs[cut[0]] - costs[cut[1]])
    # A chain continues from v to v + 1 if that is the parent of v and v is its only child that is
    # not small: the subtrees of its other children end before.
    tops = np.flatnonzero(~small)
    top_children = np.bincount(parent[tops][parent[tops] >= 0], minlength=n)
    chains: list[list[int]] = []
    task_of: dict[int, int] = {}
    for v in tops.tolist():
        goes_on = chains and chains[-1][1] == v and parent[v - 1] == v and top_children[v] == 1
        if goes_on and costs[v + 1] - costs[chains[-1][0]] <= MOST_TRIANGLES:
            chains[-1][1] = v + 1
        else:
            chains.append([v, v + 1])
        task_of[v] = len(subtrees) + len(chains) - 1
    above = [task_of.get(int(parent[high - 1]), -1) for _, high in chains]
    ranges = np.array(subtrees + chains, INDEX).reshape(-1, 2)
    shared = costs[ranges[:, 1]] - costs[ranges[:, 0]] >= SHARED_TRIANGLES
    shared[: len(subtrees)] = False
    return Tasks(ranges, len(subtrees), np.array([-1] * len(subtrees) + above, INDEX), shared)
