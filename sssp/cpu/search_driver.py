"""Run a search for all rows of a request on the CPU, in several threads.

Every one-source method is a kernel of the form::

    kernel(indptr, indices, weights, sources, targets, bound,
           distances, reached, counters, *options, *scratch) -> (status, count)

- ``indptr`` uint64, ``indices`` uint32, ``weights`` in the dtype of the distances. Unsigned,
  because Numba tests every signed index for a wrap-around from the end.
- ``sources`` int64: where the search starts, all at distance 0.
- ``targets`` int64: where not empty, the search may stop once every vertex at or below the
  distance of the farthest target is final.
- ``bound``: greatest distance of interest. A candidate above it is dropped; if its head was
  unreached then, the status is `CLIPPED`; `sssp.engine.overflow` says what that means.
- ``distances``: all unreached on entry.
- ``reached`` int32: on return its first ``count`` entries are the vertices whose entry in
  ``distances`` has changed, in any order, so that a short search costs nothing in n. After
  `NEGATIVE_CYCLE` they are the vertices of one cycle.
- ``counters`` int64: what the method counts, in the order of its ``statistics``.

This module does the rest once for all of them: threads, memory, whether the dtype was wide
enough, trees, and handing finished rows to the form of the answer (`sssp.engine.outputs`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.solved_rows import MANY, HostRows
from sssp.cpu.tree import Tree, cut_branches, find_branches, find_walks, reset, untied_distance
from sssp.engine import thresholds
from sssp.engine.check_memory import check_memory
from sssp.engine.cycles import error_of
from sssp.engine.outputs import make_form
from sssp.engine.overflow import OverflowTest
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request
from sssp.engine.workers import POLL_SECONDS, lend_pool
from sssp.graph.arc_orders import arcs_without_arrivals, unsigned_arcs
from sssp.graph.graph import Graph
from sssp.graph.turns import Expansion
from sssp.kernels.dtypes import INDEX, Number, unreached
from sssp.kernels.jit import njit
from sssp.kernels.locks import make_lock
from sssp.kernels.status import CLIPPED, NEGATIVE_CYCLE, OVERFLOW
from sssp.methods import Method

#: words of ``counters``
COUNTERS = 8
NO_TARGETS = np.empty(0, np.int64)
#: makes the arrays of one worker for a number of vertices
Allocate = Callable[[int], tuple[NDArray[Any], ...]]


@dataclass(frozen=True)
class Search:
    """A search kernel with its options, and the function that allocates its scratch memory.

    Attributes
    ----------
    kernel : callable
        Of the form that the module's docstring gives.
    options : tuple
        Numbers and arrays that every call of the kernel gets.
    scratch : callable
        ``scratch(n)`` makes the arrays of one worker.
    needs_arrivals : bool
        Whether it needs the arcs into arrivals, the vertices where trips end on a graph with turns;
        if not, whole rows are searched without, and arrivals get their distances afterwards.
    """

    kernel: Callable[..., tuple[int, int]]
    options: tuple[Any, ...] = ()
    scratch: Allocate = lambda n: ()
    needs_arrivals: bool = True


@lru_cache
def _bytes_per_vertex(scratch: Allocate) -> int:
    return sum([array.nbytes for array in scratch(1)])


class Scratch:
    """Work arrays of one CPU worker: distances, predecessors, reached vertices, counters."""

    def __init__(self, n: int, dtype: Number, extra: tuple[NDArray[Any], ...]) -> None:
        self.distances = np.full((1, n), unreached(dtype), dtype)
        self.predecessors = np.full((1, n), -1, INDEX)
        self.reached = np.empty(n, INDEX)
        self.counters = np.zeros(COUNTERS, np.int64)
        self.extra = extra
        arrays = (self.distances, self.predecessors, self.reached, *extra)
        self.nbytes = sum([array.nbytes for array in arrays])


class _ScratchPool:
    """Pool of work arrays for searches of a graph; each is lent to one worker at a time.

    A worker that ends with an exception does not return its scratch, which may not be clean.
    """

    def __init__(self) -> None:
        self._lock = make_lock()
        self._free: dict[Any, list[Scratch]] = {}
        self._kept = 0

    def take(self, key: Any) -> Scratch | None:
        """Take unused scratch memory out of the pool; return None if there is none for `key`."""
        with self._lock:
            free = self._free.get(key)
            scratch = free.pop() if free else None
            self._kept -= 0 if scratch is None else scratch.nbytes
            return scratch

    def give_back(self, key: Any, scratch: Scratch) -> None:
        """Keep scratch for later calls, unless the pool would exceed its limit of bytes."""
        with self._lock:
            if self._kept + scratch.nbytes <= thresholds.KEPT_SCRATCH:
                self._kept += scratch.nbytes
                self._free.setdefault(key, []).append(scratch)


def solve_rows(
    graph: Graph, request: Request, method: Method, dtype: Number, search: Search
) -> Answer | None:
    """Run one search per row and return the answer; None if a distance may not fit `dtype`.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    request : Request
    method : Method
        Whose ``statistics`` the search counts.
    dtype : dtype
    search : Search

    """
    finds_paths = request.wants_tree and request.targets is not None and request.rows > 1
    # (two rows fit a block, and arcs of length 0 make ties)
    is_small = 2 * graph.n * (dtype.itemsize + 2 * INDEX.itemsize) <= thresholds.PATH_ROWS_BYTES
    together = finds_paths and is_small and not request.fewest_arcs
    rows = _PathRows if together and untied_distance(graph, dtype) >= 0 else _SearchedRows
    return rows(graph, request, method, dtype, search).run()


def ranges_of(rows: int, step: int) -> Iterator[range]:
    """Return consecutive ranges of at most `step` rows that cover all rows."""
    return (range(first, min(first + step, rows)) for first in range(0, rows, step))


@njit
def _arrive_kernel(vertex_of, n, distances, unseen, reached, count):
    """Set each vertex's distance to the minimum over its copies in the turn-expanded graph.

    ========= =========== ====== ==================================
    argument  shape       dtype  written by
    ========= =========== ====== ==================================
    vertex_of (vertices,) int64  host: the arrival of every vertex
    n         scalar      int64  host: number of the user's; their copies stand behind them
    distances (vertices,) number the search; here
    unseen    scalar      number host: what stands for none
    reached   (vertices,) int32  the search; here: arrivals
    count     scalar      int64  how many the search has reached
    ========= =========== ====== ==================================
    """
    # (all in their order, in which memory is read faster, unless they are few)
    few = count * MANY < distances.size - n
    for i in range(0 if few else n, count if few else distances.size):
        vertex = np.uint64(reached[i] if few else i)
        arrival = np.uint64(vertex_of[vertex])
        if distances[vertex] < distances[arrival]:
            if distances[arrival] == unseen:
                reached[count] = arrival
                count += 1
            distances[arrival] = distances[vertex]
    return count


class Rows:
    """Base class of runs, which solve all rows of a request in one dtype, in several threads.

    Attributes
    ----------
    shared_bytes : int
        What the workers share, beside the graph and what is kept with it.
    worker_bytes : int
        Bytes of a worker's scratch; set by subclasses.
    least_bytes : int
        Bytes of a worker for the smallest request of this kind; 0: as many.
    together : int
        How many rows `solve` finds in one call.
    """

    shared_bytes = worker_bytes = least_bytes = 0
    together = 1

    def __init__(self, graph: Graph, request: Request, method: Method, dtype: Number) -> None:
        self.graph, self.request, self.method, self.dtype = graph, request, method, dtype
        self.bound = request.bound(dtype)
        self.unseen = unreached(dtype)
        self.form = make_form(graph.n, request, dtype)
        self.counts = np.zeros((len(method.statistics), request.rows), np.int64)
        # set by one thread, and seen by the others after the row in hand
        self.stop = False
        self._lock = threading.Lock()
        self._ends: list[tuple[int, Exception | None]] = []

    def lease(self) -> Any:
        """Lend scratch arrays to a worker, until `give_back`."""
        raise NotImplementedError

    def give_back(self, scratch: Any) -> None:
        """Take back a worker's scratch, which must be in its initial state again."""

    def solve(self, rows: range, scratch: Any) -> None:
        """Run the searches for a range of rows, and add their results to the answer."""
        raise NotImplementedError

    def end(self, rows: range, error: Exception | None = None) -> None:
        """Stop the run, because a search of `rows` raised an error or distances may overflow."""
        self._ends.append((rows.start, error))
        self.stop = True

    def run(self) -> Answer | None:
        """Solve all rows in several threads; return the answer, or None after an overflow.

        Rows are begun in their order, and finished once begun. So if it ends at several rows, in
        several threads, the first of them is the row at which one thread would end.
        """
        threads, request = self._plan_threads(), self.request
        blocks = iter([range(1)]) if request.rows == 1 else self.blocks(threads)
        if request.rows == 1:  # (fewer calls of Python than with a bar)
            self._work(blocks)
        elif threads <= 1:
            with progress_bar(request.rows, request.progress) as advance:
                self._work(blocks, advance)
        else:
            bar, pool = progress_bar(request.rows, request.progress), lend_pool(threads)
            with bar as advance, pool as executor:
                try:
                    futures = [executor.submit(self._work, blocks, advance) for _ in range(threads)]
                    # with a timeout, for else Ctrl-C is not heard on every system
                    while wait(futures, POLL_SECONDS, return_when=FIRST_EXCEPTION).not_done:
                        if any(f.done() and f.exception() for f in futures):
                            break
                finally:
                    # Ctrl-C, or memory that a worker did not get: the others end after their row
                    self.stop = True
                for future in futures:
                    future.result()
        if self._ends:
            _, error = min(self._ends, key=lambda end: end[0])
            self._ends.clear()  # (an error holds on to what was in hand)
            if error is not None:
                raise error
            return None
        answer = self.form.answer()
        answer.stats = dict(zip(self.method.statistics, self.counts, strict=True))
        return answer

    def blocks(self, threads: int) -> Iterator[range]:
        """Yield consecutive ranges of rows, one range for each call of `solve`."""
        return ranges_of(self.request.rows, self.together)

    def _plan_threads(self) -> int:
        """Choose the number of workers: as many as pay off and fit into the memory limit."""
        request, each = self.request, self.worker_bytes
        held = {
            "the answer": self.form.nbytes + self.counts.nbytes,
            "the question": request.nbytes,
            "what searches share": self.shared_bytes,
        }
        total = sum(held.values())
        free = request.memory_limit - total
        if each > free:
            # (fewer rows, or less of each, do not help where not even one search fits)
            fits = (self.least_bytes or each) <= request.memory_limit
            advice = request.advice if fits else ""
            check_memory(held | {"a search": each}, request.memory_limit, "cpu", advice)
        workers = max(1, min(request.threads, request.rows, free // max(each, 1)))
        self.form.reserved_bytes = total - self.form.nbytes + workers * each
        return workers

    def _work(
        self, blocks: Iterator[range], advance: Callable[[int], object] | None = None
    ) -> None:
        scratch = self.lease()
        while not self.stop:
            with self._lock:
                rows = next(blocks, None)
            if rows is None:
                break
            try:
                self.solve(rows, scratch)
            except Exception as error:
                self.end(rows, error)
                return
            if advance is not None:
                advance(len(rows))
        self.give_back(scratch)

    def sources_of(self, row: int) -> NDArray[np.int64]:
        """Return the sources of a row: a single one, or all sources in a nearest-source search."""
        request = self.request
        return request.sources if request.nearest else request.sources[row : row + 1]


class SingleRows(Rows):
    """Base class of solvers that compute distances, and trees if requested, row by row.

    Attributes
    ----------
    extra : callable
        ``extra(n)`` makes what a worker needs beside distances and predecessors.
    goes_back : bool
        Whether trees are searched backward from their targets: then only the paths to them are
        reached, and `finish` gets their predecessors with the scratch.
    """

    goes_back = False

    def __init__(
        self, graph: Graph, request: Request, method: Method, dtype: Number, extra: Allocate
    ) -> None:
        super().__init__(graph, request, method, dtype)
        self.extra = extra
        each = dtype.itemsize + 2 * INDEX.itemsize + _bytes_per_vertex(extra)
        # (and the vertices on paths to targets)
        paths = request.wants_tree and request.targets is not None
        self.worker_bytes = graph.n * (each + INDEX.itemsize * paths)
        self._key = dtype, method.name, each
        # (one for all weights of a graph: a version asks little, and asks once)
        self._pool: _ScratchPool = graph._shared("cpu scratch", _ScratchPool)

    @cached_property
    def is_target(self) -> NDArray[np.bool_]:
        """Mask of the targets: bool, shape (n,), True for every vertex that is a target."""
        assert self.request.targets is not None
        found = np.zeros(self.graph.n, np.bool_)
        found[self.request.targets] = True
        return found

    @cached_property
    def arcs(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]:
        """The graph's arcs in CSR form with unsigned indices, and weights in the search's dtype."""
        return unsigned_arcs(self.graph, self.dtype)

    def lease(self) -> Scratch:
        """Lend scratch arrays to a worker thread, until `give_back` is called."""
        n = self.graph.n
        return self._pool.take(self._key) or Scratch(n, self.dtype, self.extra(n))

    def give_back(self, scratch: Scratch) -> None:
        """Keep a worker's scratch arrays for reuse by a later call."""
        self._pool.give_back(self._key, scratch)

    def finish(
        self, rows: range, distances: NDArray[Any], reached: NDArray[np.int32], scratch: Scratch
    ) -> None:
        """Find the tree or paths of a searched row if requested; add the row to the answer."""
        request, sources = self.request, self.sources_of(rows.start)
        found = HostRows(rows, request.targets_of(rows.start), distances, [reached])
        if request.width is not None and request.reduction is not None:
            found.drop_unreached(self.is_target)
        if request.wants_tree and self.goes_back:
            scratch.predecessors[0][sources[: reached.size]] = -2
            found.branches = cut_branches(reached, scratch.predecessors[0])
        elif request.wants_tree:
            self._find_tree(found, sources, scratch)
        elif request.predecessors:
            assert found.targets is not None
            row = sources, found.targets, distances[0], reached, self.bound
            found.walks = find_walks(self.graph, self.arcs, *row, scratch.predecessors[0])
        self.form.take(found)
        if found.predecessors is scratch.predecessors:
            reset(scratch.predecessors[0], reached, -1)

    def _find_tree(self, found: HostRows, sources: NDArray[np.int64], scratch: Scratch) -> None:
        """Compute the requested predecessors and nearest sources of a searched row."""
        distances, reached = found.distances[0], found.reached_vertices[0]
        final = self.bound
        targets = found.targets
        takes_branches = targets is not None and self.unseen <= self._untied
        may_end = targets is not None and targets.size > 0 and not takes_branches
        if may_end and self.graph.least_weight >= 0:
            # (over negative arcs a path may pass through vertices farther away than its end, so
            # then all the row is needed, and the search has completed it)
            farthest = distances[targets].max()
            final = farthest if farthest < self.unseen else final
        tree = Tree(self.graph, self.arcs, sources, distances, reached, final)
        if self.request.nearest:
            found.origin = tree.origins()
        if not self.request.predecessors:
            return
        if targets is not None and final == self.bound and reached.size and not takes_branches:
            final = distances[reached].max()
        if targets is not None and (takes_branches or final <= self._untied):
            lanes = found.distances.T, 1, scratch.predecessors[0]
            found.branches = find_branches(self.graph, targets, *lanes)
        else:
            place = self.form.tree_place(found.rows)
            found.predecessors = scratch.predecessors if place is None else place
            if place is not None:
                place[0].fill(-1)
            tree.predecessors(found.origin, found.predecessors[0], self.request.fewest_arcs)

    @cached_property
    def _untied(self) -> float:
        """Distance up to which paths can be traced back along tight arcs; -1 if impossible."""
        if self.request.nearest or self.request.fewest_arcs:
            return -1.0
        return untied_distance(self.graph, self.dtype)


class _SearchedRows(SingleRows):
    """Solver of a request by a search kernel, one row at a time."""

    def __init__(
        self, graph: Graph, request: Request, method: Method, dtype: Number, search: Search
    ) -> None:
        super().__init__(graph, request, method, dtype, search.scratch)
        self.search = search
        #: the expansion of a graph with turns, if arrivals get their distances at the end
        self.expansion: Expansion | None = None
        if search.needs_arrivals or request.width is None or request.targets is not None:
            self.arcs = unsigned_arcs(graph, dtype)
        else:
            self.expansion = request.asked.turns.expansion  # type: ignore[union-attr]  # it has turns
            self.arcs = arcs_without_arrivals(graph, self.expansion, dtype)

    @cached_property
    def test(self) -> OverflowTest:
        """A test that tells whether distances of a row may have overflowed the dtype."""
        return OverflowTest(self.request, self.graph.n, self.graph._weight_range, self.dtype)

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Search from the sources of one row, and add the row to the answer."""
        place = self.form.place(rows)
        distances = scratch.distances if place is None else place
        if place is not None:
            place.fill(self.unseen)
        reached = self.search_row(rows.start, distances[0], scratch)
        if reached is None:
            distances.fill(self.unseen)
            return
        if place is None or self.request.predecessors or self.request.nearest:
            self.finish(rows, distances, reached, scratch)
        if place is None:
            reset(distances[0], reached, self.unseen)

    def search_row(
        self, row: int, distances: NDArray[Any], scratch: Scratch
    ) -> NDArray[np.int32] | None:
        """Write the distances of a row; return the reached vertices, or None after an overflow."""
        sources, request = self.sources_of(row), self.request
        targets = NO_TARGETS if request.targets is None else request.targets_of(row)
        written = distances, scratch.reached, scratch.counters
        asked, extra = (sources, targets, self.bound), (*self.search.options, *scratch.extra)
        status, count = self.search.kernel(*self.arcs, *asked, *written, *extra)
        if self.expansion is not None:
            copied = self.expansion.vertex_of, self.expansion.n
            count = _arrive_kernel(*copied, distances, self.unseen, scratch.reached, count)
        reached: NDArray[np.int32] = scratch.reached[:count]
        if status == NEGATIVE_CYCLE:
            raise error_of(int(sources[0]), reached)
        # (of floats every row is tested: kernels do not notice that one is infinite)
        is_short = status == OVERFLOW or (
            (self.dtype.kind == "f" or status == CLIPPED)
            and self.test.concerns(status == CLIPPED)
            and self.test.overflowed(self.arcs, distances, reached, row)
        )
        if is_short:
            self.end(range(row, row + 1))
            return None
        self.counts[:, row] = scratch.counters[: len(self.counts)]
        return reached


class _PathRows(_SearchedRows):
    """Solver that finds paths to targets on a small graph, for several sources at a time.

    What a row takes in Python is much beside its search, and threads wait for each other in it.
    """

    def __init__(self, *question: Any) -> None:
        super().__init__(*question)
        request = self.request
        # (a row, and the vertices on its paths)
        row_bytes = self.graph.n * (self.dtype.itemsize + 2 * INDEX.itemsize)
        room = min(thresholds.PATH_ROWS_BYTES, request.memory_limit // (8 * request.threads))
        share = min(thresholds.TRIPS_TOGETHER, -(-request.rows // request.threads))
        self.together = max(1, min(share, room // row_bytes))
        self.worker_bytes += self.together * row_bytes

    def solve(self, rows: range, scratch: Scratch) -> None:
        """Search some rows; add their distances and the paths to the targets to the answer."""
        distances = np.full((len(rows), self.graph.n), self.unseen, self.dtype)
        for row, own in zip(rows, distances, strict=True):
            if self.search_row(row, own, scratch) is None:
                return
        if distances.max(where=distances < self.unseen, initial=0) > self._untied:
            for row in rows:
                super().solve(range(row, row + 1), scratch)
            return
        found = HostRows(rows, self.request.targets, distances, [])
        assert found.targets is not None
        lanes = distances.T, len(rows), scratch.predecessors[0]
        found.branches = find_branches(self.graph, found.targets, *lanes)
        self.form.take(found)
