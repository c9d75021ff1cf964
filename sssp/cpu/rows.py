"""Runs a kernel for one source over all sources of a query.

Every one-source method on the CPU is a kernel of the form::

    kernel(indptr, indices, weights, sources, targets, bound,
           distances, reached, counters, *options, *scratch) -> (status, count)

- ``indptr`` uint64, ``indices`` uint32, ``weights`` in the dtype of the distances. Unsigned,
  because Numba tests every signed index for a wrap-around from the end.
- ``sources`` int64: where the search starts, all at distance 0.
- ``targets`` int64: where not empty, the search may stop once every vertex at or below the
  distance of the farthest target is final.
- ``bound``: greatest distance of interest. A candidate above it is dropped and the status is
  then `CLIPPED`: an overflow, if the bound is the greatest distance that the dtype can hold.
- ``distances``: all unreached on entry.
- ``reached`` int32: on return its first ``count`` entries are the vertices whose entry in
  ``distances`` has changed, in any order, so that a short search costs nothing in n. After
  `NEGATIVE_CYCLE` they are the vertices of one cycle.
- ``counters`` int64: statistics, named by the driver.

This module does the rest once for all of them: threads, memory, the wider dtype after an
overflow, predecessors, and the form of the answer (see `sssp.engine.forms`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree import Tree, fill, reset
from sssp.engine.cycles import error_of
from sssp.engine.forms import Collector, Row, make_collector
from sssp.engine.progress import progress_bar
from sssp.engine.query import Answer, Query
from sssp.errors import DeviceError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, largest_distance, unreached
from sssp.kernels.jit import njit
from sssp.kernels.status import CLIPPED, NEGATIVE_CYCLE, OVERFLOW

__all__ = ["Search", "solve_rows"]

#: scratch that a graph keeps between calls, in bytes; beyond it workers allocate anew
KEPT_SCRATCH = 256 << 20
COUNTERS = 8
#: seconds between two chances for Ctrl-C
PATIENCE = 0.2
ONE = np.uint64(1)


@njit
def _leads_nowhere_kernel(indptr, indices, distances, reached, final):
    """Whether an arc leads from a final vertex to an unreached one."""
    for i in range(reached.size):
        tail = np.uint32(reached[i])
        if distances[tail] > final:
            continue
        for arc in range(indptr[tail], indptr[np.uint64(tail) + ONE]):
            if distances[indices[arc]] == np.inf:
                return True
    return False


@dataclass(frozen=True)
class Search:
    """A method, ready to run.

    Attributes
    ----------
    kernel : callable
        Of the form that the module's docstring gives.
    counters : tuple of str
        Names of the statistics that the kernel counts.
    options : tuple
        Numbers and arrays that every call of the kernel gets.
    scratch : callable
        ``scratch(n)`` makes the arrays of one worker.
    """

    kernel: Callable[..., tuple[int, int]]
    counters: tuple[str, ...] = ()
    options: tuple[Any, ...] = ()
    scratch: Callable[[int], tuple[NDArray[Any], ...]] = lambda n: ()


class _Scratch:
    """Memory of one worker: clean, that is all unreached and without predecessors, between rows."""

    def __init__(self, n: int, dtype: np.dtype[Any], extra: tuple[NDArray[Any], ...]) -> None:
        self.distances = np.full(n, unreached(dtype), dtype)
        self.predecessors = np.full(n, -1, INDEX)
        self.reached = np.empty(n, INDEX)
        self.counters = np.zeros(COUNTERS, np.int64)
        self.extra = extra

    @property
    def nbytes(self) -> int:
        arrays = (self.distances, self.predecessors, self.reached, self.counters, *self.extra)
        return sum(array.nbytes for array in arrays)


class _ScratchPool:
    """Scratch of a graph, leased to one worker at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[Any, list[_Scratch]] = {}
        self._kept = 0

    @contextmanager
    def lease(self, key: Any, make: Callable[[], _Scratch]) -> Iterator[_Scratch]:
        """Lend scratch; after an exception it may be dirty and is dropped."""
        with self._lock:
            free = self._free.setdefault(key, [])
            scratch = free.pop() if free else None
            if scratch is not None:
                self._kept -= scratch.nbytes
        scratch = scratch or make()
        yield scratch
        with self._lock:
            if self._kept + scratch.nbytes <= KEPT_SCRATCH:
                self._kept += scratch.nbytes
                free.append(scratch)


def solve_rows(
    graph: Graph, query: Query, make_search: Callable[[np.dtype[Any]], Search]
) -> Answer:
    """Answer `query` with the search that `make_search` returns for a dtype.

    Raises
    ------
    DistanceOverflowError
        A distance fits none of the dtypes that the call may use.
    NegativeCycleError
        A source reaches a cycle of negative length.
    DeviceError
        The answer needs more memory than the call may take.
    """
    return query.widened(graph, lambda dtype: _Rows(graph, query, make_search(dtype), dtype).run())


class _Rows:
    """One pass over all rows of a query in one dtype."""

    def __init__(self, graph: Graph, query: Query, search: Search, dtype: np.dtype[Any]) -> None:
        self.graph, self.query, self.search, self.dtype = graph, query, search, dtype
        self.pool = graph.derived("cpu scratch", _ScratchPool)
        self.arcs = (
            graph.indptr.view(np.uint64),
            graph.indices.view(np.uint32),
            graph.weights_as(dtype),
        )
        self.targets = np.empty(0, np.int64) if query.targets is None else query.targets
        self.bound = query.bound(dtype)
        self.collector: Collector = make_collector(graph, query, dtype)
        self.stats = {name: np.zeros(query.rows, np.int64) for name in search.counters}
        self.threads = self._plan_threads()
        self.overflow = threading.Event()
        self.stop = threading.Event()

    def run(self) -> Answer | None:
        """Return the answer, or None after an overflow."""
        with progress_bar(self.query.rows, self.query.progress) as advance:
            if self.threads <= 1:
                self._work(iter(range(self.query.rows)), advance)
            else:
                self._work_in_threads(advance)
        if self.overflow.is_set():
            return None
        answer = self.collector.answer()
        answer.stats = self.stats
        return answer

    def _plan_threads(self) -> int:
        """Take as many workers as pay and fit into the memory limit."""
        n, query = self.graph.n, self.query
        extra = sum(array.nbytes for array in self.search.scratch(1))
        self.worker_bytes = n * (self.dtype.itemsize + 2 * INDEX.itemsize + extra)
        free = query.memory_limit - self.collector.nbytes
        if free < self.worker_bytes:
            raise DeviceError(
                f"the answer takes {self.collector.nbytes:,} bytes and a search "
                f"{self.worker_bytes:,}, "
                f"but memory_limit is {query.memory_limit:,}; ask for fewer sources at a time "
                "(sssp.iter_blocks), for targets, for output='sparse', or pass a memmap as out"
            )
        return max(1, min(query.threads, query.rows, free // max(self.worker_bytes, 1)))

    def _work_in_threads(self, advance: Callable[[int], object]) -> None:
        rows = _SharedIterator(range(self.query.rows))
        with ThreadPoolExecutor(self.threads, thread_name_prefix="sssp") as executor:
            try:
                futures = [executor.submit(self._work, rows, advance) for _ in range(self.threads)]
                # with a timeout, for else Ctrl-C is not heard on every system
                while wait(futures, PATIENCE, return_when=FIRST_EXCEPTION).not_done:
                    if any(f.done() and f.exception() for f in futures):
                        break
            finally:
                # Ctrl-C, or a worker's exception: the others end after the row in hand
                self.stop.set()
            for future in futures:
                future.result()

    def _work(self, rows: Iterator[int], advance: Callable[[int], object]) -> None:
        n = self.graph.n
        key = (self.dtype, self.search.kernel, self.worker_bytes)
        with self.pool.lease(
            key, lambda: _Scratch(n, self.dtype, self.search.scratch(n))
        ) as scratch:
            for i in rows:
                if self.stop.is_set() or self.overflow.is_set():
                    return
                self._solve_row(i, scratch)
                advance(1)

    def _solve_row(self, i: int, scratch: _Scratch) -> None:
        sources = self.query.sources if self.query.nearest else self.query.sources[i : i + 1]
        direct = self.collector.distance_row(i)
        distances = scratch.distances if direct is None else direct
        if direct is not None:
            fill(distances, unreached(self.dtype))
        status, count = self.search.kernel(
            *self.arcs,
            sources,
            self.targets,
            self.bound,
            distances,
            scratch.reached,
            scratch.counters,
            *self.search.options,
            *scratch.extra,
        )
        reached = scratch.reached[:count]
        if status == NEGATIVE_CYCLE:
            self.stop.set()
            raise error_of(int(sources[0]), reached)
        if self._overflowed(status, distances, reached):
            self.overflow.set()
        else:
            for name, value in zip(self.search.counters, scratch.counters, strict=False):
                self.stats[name][i] = value
            row = self._complete(i, sources, distances, reached, scratch)
            self.collector.take(i, row)
            if row.predecessors is scratch.predecessors:
                reset(scratch.predecessors, reached, -1)
        if direct is None:
            reset(distances, reached, unreached(self.dtype))

    def _overflowed(self, status: int, distances: NDArray[Any], reached: NDArray[np.int32]) -> bool:
        """Whether the search met a sum that its dtype does not hold."""
        if status == OVERFLOW or self.bound < largest_distance(self.dtype):
            return status == OVERFLOW
        if self.dtype.kind == "i":
            return status == CLIPPED
        # an infinite sum is no shorter than unreached, so kernels do not notice it
        heaviest = float(self.graph.greatest_weight) * self.graph.n
        return heaviest > float(largest_distance(self.dtype)) and bool(
            _leads_nowhere_kernel(*self.arcs[:2], distances, reached, self._final(distances))
        )

    def _final(self, distances: NDArray[Any]) -> Any:
        """Greatest distance up to which a row is final: that of the farthest target, if reached.

        Over negative arcs a path may pass through vertices farther away than its end, so then
        all the row is needed, and the search has completed it.
        """
        if self.targets.size == 0 or self.graph.least_weight < 0:
            return self.bound
        farthest = distances[self.targets].max()
        return farthest if farthest < unreached(self.dtype) else self.bound

    def _complete(
        self,
        i: int,
        sources: NDArray[np.int64],
        distances: NDArray[Any],
        reached: NDArray[np.int32],
        scratch: _Scratch,
    ) -> Row:
        """Complete a search: what is final, origins, predecessors."""
        row = Row(distances, reached)
        if not self.query.wants_tree:
            return row
        final = self._final(distances)
        tree = Tree(self.graph, self.arcs, sources, distances, reached, final)
        if self.query.nearest:
            row.origin = tree.origins()
        if self.query.predecessors:
            direct = self.collector.predecessor_row(i)
            row.predecessors = scratch.predecessors if direct is None else direct
            if direct is not None:
                fill(direct, -1)
            tree.predecessors(row.origin, row.predecessors)
        return row


class _SharedIterator:
    """Hands out rows to several threads, each once."""

    def __init__(self, rows: range) -> None:
        self._rows = iter(rows)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._rows)
