"""Run a CUDA search for all sources of a request: batches, memory, trees, and copies to the host.

The twin of `sssp.cpu.search_driver`. A method is a `Search` (`sssp.cuda.search_base`): it launches
kernels that fill the rows of a `Batch`, all on one stream. Everything else is here, once for all of
them; what becomes of finished rows is the form's business (`sssp.engine.outputs`).

How many rows a batch has is decided in `sssp.cuda.batch_size`.

Two workers, each with a stream and memory of its own, take batches in turn: while the rows of one
travel back, the other's are solved, and its blocks fill the multiprocessors that the last blocks
of the first leave idle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import cycle
from typing import Any

import numpy as np
from numba import float64, int64

from sssp.cuda import device_memory, host_memory, row_reductions
from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.batch_size import fit_batches, searched_at_once
from sssp.cuda.compiler import kernel
from sssp.cuda.device_output import DeviceForm
from sssp.cuda.driver import after, is_pinned
from sssp.cuda.graph_replay import Launches
from sssp.cuda.pool import THREADS, current_pool, device_array
from sssp.cuda.search_base import CLIPPED_ROW, COUNTERS, Batch, Search
from sssp.cuda.solved_rows import DeviceRows, FormScratch, form_bytes
from sssp.cuda.tree import Scratch, Tree, allocate_tree, tree_bytes
from sssp.engine.check_memory import NO_LIMIT, check_memory, physical_memory
from sssp.engine.narrow import convert_into, narrow
from sssp.engine.outputs import DenseForm, make_form
from sssp.engine.overflow import OverflowTest
from sssp.engine.plan import merge_answers
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request
from sssp.graph.arc_orders import unsigned_arcs
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, unreached
from sssp.kernels.status import CLIPPED, OVERFLOW
from sssp.methods import Method

#: bytes of a table on the host, and most sources of one
BLOCK_BYTES, LARGEST_BLOCK = 256 << 20, 1024
#: bytes of an answer on the device that is copied there; a larger one is found in place, and what
#: is recorded comes again where it has the memory of one before
MOVED = 16 << 20
#: blocks that share the vertices of one row
BLOCKS = 1 if SIMULATOR else 64


def solve_rows(
    graph: Graph,
    request: Request,
    method: Method,
    dtype: np.dtype[Any],
    make_search: Callable[[device_memory.DeviceGraph], Search],
) -> Answer | None:
    """Answer `request` on its device in one dtype; None if a distance may not fit the dtype.

    Parameters
    ----------
    graph : Graph
        Without closed arcs.
    request : Request
    method : Method
        Whose ``statistics`` the search counts.
    dtype : dtype
    make_search : callable
        Returns the search for the graph's copy on the device.

    Raises
    ------
    DeviceError
        The device cannot be used, or one search does not fit into what it may take.
    NegativeCycleError
        A source reaches a cycle of negative length.
    """
    if request.width is not None and request.targets is None:
        request = replace(request, targets=graph._first_vertices(request.width))
    if request.target_offsets is not None:
        solve = partial(solve_rows, graph, method=method, dtype=dtype, make_search=make_search)
        return _solve_by_tables(solve, graph.n, request, dtype)
    number = device_number(request.device)
    with select(number):
        on_device = device_memory.device_graph(graph, number)
        search = make_search(on_device)
        return Setup(graph, request, method, dtype, search, on_device).solve(request)


class _Worker:
    """A CUDA stream with device and host buffers for one batch of rows, reused by later calls.

    Attributes
    ----------
    given, given_there, asked : pinned array, that as a device array, and device array, int64
        Sources of a batch, targets, and which of the sources belong to which row.
    sources, targets, firsts : device arrays
        These, as views of `asked`.
    sent : ndarray or None
        The targets that are there, if they are the vertices that a user knows.
    counters, counted : device array and pinned array, shape (rows, COUNTERS), int64
    form_scratch : FormScratch
    distances : device array, shape (rows, columns), or None
        None where they are found in the answer.
    tails : device array, int32, or None
        Of a search that finds trees, likewise.
    scratch : tuple of device arrays
        Of the search.
    launches : Launches
        What was launched in this memory.
    full : Batch or None
        The last batch that filled it, for the next.
    tree : Scratch or None
    batch, rows, is_fetched
        The batch that is under way, which rows it has, and whether their copy to the host is.
    nbytes : int
        Device bytes that the worker keeps between calls.
    """

    def __init__(self, run: Rows) -> None:
        rows, n, request, search = run.size, run.graph.n, run.request, run.search
        sources = request.sources.size if request.nearest else rows
        end = sources + (0 if request.targets is None else request.targets.size)
        # (an empty array cannot be cut)
        firsts = np.array([0, sources]) if request.nearest else np.arange(rows + 1)
        self.asked = device_array(end + firsts.size, np.int64)
        self.given, self.given_there = device_memory.mapped_array(self.asked.size, np.int64)
        self.given[end:] = firsts
        self.firsts, self.stream = self.asked[end:], cuda.stream()
        device_memory.send(self.given[end:], self.firsts, self.stream)
        nothing = device_array(0, np.int64)
        self.sources = self.asked[:sources] if sources else nothing
        self.targets = self.asked[sources:end] if sources < end else nothing
        self.counted, self.counters = device_memory.mapped_array((rows, COUNTERS), np.int64)
        self.counted[:] = 0
        if not search.writes_all:
            self.counters = device_array((rows, COUNTERS), np.int64)
        leaves_tails = request.wants_tree and search.finds_trees and not run.in_place
        if search.columns is not None:  # (rows have no other columns)
            request = replace(request, targets=None)
        self.form_scratch = FormScratch.allocate(n, request, run.dtype, run.columns, rows)
        shape: tuple[int, ...] = (rows, max(1, run.columns))
        if search.pitch is not None:
            shape = (max(1, n * search.pitch),)
        self.distances = None if run.in_place else device_array(shape, run.dtype)
        self.tails = device_array(shape, INDEX) if leaves_tails else None
        self.scratch, self.launches = search.allocate(rows), Launches()
        self.sent: Any = None
        self.full: Batch | None = None
        self.tree: Scratch | None = None
        self.batch: Batch | None = None
        self.rows, self.is_fetched = range(0), False
        parts = self.asked, self.counters, self.distances, self.tails, *self.scratch
        nbytes = sum(getattr(part, "nbytes", 0) for part in parts)
        self.nbytes = int(self.form_scratch.nbytes + nbytes)


class Setup:
    """Data shared by calls that run the same GPU search on arrays of the same sizes.

    Such calls differ only in what stands in their arrays, in `out` and in the stream.

    Parameters
    ----------
    graph, request, method, dtype
        As of `solve_rows`.
    search : Search
    on_device : DeviceGraph
    """

    def __init__(
        self,
        graph: Graph,
        request: Request,
        method: Method,
        dtype: np.dtype[Any],
        search: Search,
        on_device: device_memory.DeviceGraph,
    ) -> None:
        self.graph, self.method, self.search, self.dtype = graph, method, search, dtype
        self.on_device = on_device
        # by head: only trees need them in that order
        self.finds_trees = request.wants_tree and not search.finds_trees
        self.arcs = on_device.arcs(graph, dtype) if self.finds_trees else None
        self.bound = request.bound(dtype)
        self.unseen = unreached(dtype)
        self.drops_silently = self.test(request).dropped_silently
        self.on_host = request.output != "device"
        self.columns = graph.n if search.columns is None else search.columns
        self.targeted = request.targets is not None and search.columns is None
        #: bytes of a row of distances, and of predecessors that come with them
        self.row_bytes = self.columns * dtype.itemsize
        if request.wants_tree and search.finds_trees:
            self.row_bytes += graph.n * INDEX.itemsize
        most = MOVED // max(self.row_bytes, 1)
        if search.pitch is not None and search.rows_at_once is not None:
            most = min(most, search.rows_at_once)
        self.in_place = not self.on_host and not self.targeted and request.rows > most
        #: all bytes of a row in a worker
        self.worker_bytes = search.row_bytes + form_bytes(graph.n, request, dtype, self.columns)
        if self.finds_trees:
            self.worker_bytes += tree_bytes(graph, request)
        if not self.in_place:
            self.worker_bytes += self.row_bytes
        self.most_rows = search.rows_at_once or searched_at_once(self.row_bytes)
        #: of workers for all rows at once
        self.key = self.key_of(request, request.rows)

    def solve(self, request: Request) -> Answer | None:
        """Answer a search request on the current GPU; return None if a distance overflows."""
        rows = Rows(self, request)
        try:
            rows.start()
            return rows.finish()
        finally:
            rows.wait()

    def test(self, request: Request) -> OverflowTest:
        """Return a test for vertices that are unreached only because their distance overflows."""
        return OverflowTest(request, self.graph.n, self.graph._weight_range, self.dtype)

    def key_of(self, request: Request, size: int) -> Any:
        """Return a cache key for the device memory that a batch of `size` rows needs."""
        reduction = request.reduction
        return (
            type(self.search), self.search.kind, size, self.columns, self.dtype.char,
            self.in_place, self.finds_trees, request.nearest and request.sources.size,
            request.output, request.predecessors, request.wants_tree,
            None if request.targets is None else request.targets.size,
            reduction and (reduction.what, reduction.columns, reduction.dtype_of(self.dtype).char),
        )  # fmt: skip


class Rows(Setup):
    """Solver of one request: launches the search for all rows in batches, collects the output.

    Whoever starts it has to finish it or to wait, for else its memory may go under its kernels.
    """

    def __init__(self, setup: Setup, request: Request) -> None:
        vars(self).update(vars(setup))
        self.request = request
        self._workers: list[_Worker] = []
        self.form: Any
        if self.on_host:
            self.form = make_form(self.graph.n, request, self.dtype, host_memory.empty)
            reduction = request.reduction
            weights = None if reduction is None else reduction.vertex_weights
            self.fixed_bytes = 0 if weights is None else weights.nbytes
        else:
            number, pitch = self.on_device.number, self.search.pitch
            self.form = DeviceForm(self.graph.n, request, self.dtype, number, pitch)
            self.fixed_bytes = self.form.device_bytes
        if self.form.nbytes:
            needs = {"the answer on the host": self.form.nbytes}
            check_memory(needs, NO_LIMIT, "cpu", request.advice, physical_memory())

    def start(self) -> None:
        """Launch the searches of the first batches of sources, one batch on each CUDA stream."""
        request = self.request
        reduction, self.vertex_weights = request.reduction, None
        if reduction is not None and self.columns and reduction.vertex_weights is not None:
            self.vertex_weights = row_reductions.on_device(reduction, self.dtype)
        self._workers = workers = self._take_workers()
        if not self.on_host and not request.rows:
            self.form.reserve()
        for worker in workers:
            self._prepare(worker)
        if request.stream is not None:
            after(request.stream, [worker.stream for worker in workers])
        if (ready := self.search.ready) is not None:
            for worker in workers:
                ready.wait(worker.stream)
        elif not (self.on_host or self.in_place):
            # (memory for the answer may be in use yet: behind a launch it would wait for that too)
            current_pool().settle()
        self._left = iter(range(0, request.rows, self.size))
        for worker in workers:
            self._start_next(worker)

    def finish(self) -> Answer | None:
        """Solve the remaining batches; return the answer, or None after an overflow."""
        # (while the GPU is busy)
        names = self.method.statistics
        self.stats = np.zeros((len(names), self.request.rows), np.int64)
        stats = dict(zip(names, self.stats, strict=True))
        with progress_bar(self.request.rows, self.request.progress) as advance:
            # the workers take batches one after the other; in the end all are waited for
            for worker in cycle(self._workers):
                if worker.batch is None:
                    break
                if not self._finish(worker):
                    return None
                advance(len(worker.rows))
                self._start_next(worker)
        self.wait()
        workers, self._workers = self._workers, []
        for worker in workers if not self.search.arcs_travel else ():
            if self.vertex_weights is not None:
                worker.form_scratch.weights = None
            worker.tree, worker.batch, worker.rows = None, None, range(0)
            self.on_device.shelf.leave(self.key, worker.nbytes, worker)
        answer: Answer = self.form.answer()
        answer.stats = stats
        return answer

    def wait(self) -> None:
        """Wait for the batches under way; after that their memory can be freed or reused."""
        for worker in self._workers:
            if worker.batch is not None or self.targeted:
                worker.stream.synchronize()

    def _take_workers(self) -> list[_Worker]:
        """Set the batch size by the available memory; return one or two workers for the batches."""
        request, search, row = self.request, self.search, self.worker_bytes
        limit, size, shelf = request.memory_limit, self.most_rows, self.on_device.shelf
        fixed = 0  # (without a limit it does not matter, and to add it up takes time)
        if limit != NO_LIMIT:
            fixed = self.on_device.nbytes + self.fixed_bytes + search.fixed_bytes
        if 0 < request.rows <= size and fixed + request.rows * row <= limit:
            self.size = request.rows
            if worker := shelf.take(self.key):
                return [worker]
        held = self.on_device.nbytes
        available = device_memory.available_bytes(limit, held)
        if request.rows:
            parts = {"the graph": held, "the answer": self.fixed_bytes}
            parts["one search"] = row + search.fixed_bytes
            check_memory(parts, limit, request.device, request.advice, available + held)
        room = available - self.fixed_bytes
        self.size, workers = fit_batches(request.rows, size, row, search.fixed_bytes, room)
        if self.size < request.rows:
            self.size = search.alike(request.rows, self.size)
        key = self.key = self.key_of(request, self.size)
        return [shelf.take(key) or _Worker(self) for _ in range(workers)]

    def _prepare(self, worker: _Worker) -> None:
        """Upload to a worker's device memory the arrays that all batches of the request share."""
        request, reduction = self.request, self.request.reduction
        if self.vertex_weights is not None:
            worker.form_scratch.weights = self.vertex_weights
        elif reduction is not None and worker.form_scratch.weights is None:
            plain = replace(reduction, vertex_weights=None)
            worker.form_scratch.weights = row_reductions.on_device(plain, self.dtype)
        if self.finds_trees:
            worker.tree = allocate_tree(self.graph, request, self.size, self.dtype)
        targets = request.targets
        if targets is None or not self.search.reads_targets:
            return
        if targets.size and targets is not worker.sent:
            given = worker.given[worker.sources.size :][: targets.size]
            given[:] = targets
            device_memory.send(given, worker.targets, worker.stream)
            known = request.width is not None and self.graph._first_vertices(request.width)
            worker.sent = targets if targets is known else None

    def _start_next(self, worker: _Worker) -> None:
        """Launch a worker's search for the next batch of rows; do nothing after the last batch."""
        if (first := next(self._left, None)) is None:
            return
        rows = range(first, min(first + self.size, self.request.rows))
        sources = self.request.sources
        if not self.request.nearest:
            sources = sources[rows.start : rows.stop]
        worker.given[: sources.size] = sources
        if self.in_place:
            self.form.reserve()
        batch, search = self._batch(worker, rows), self.search.part(rows)
        worker.batch, worker.rows = batch, rows
        if search.is_replayed:
            worker.launches.do(_launch, worker.stream, worker, search, batch)
        else:
            _launch(worker.stream, worker, search, batch)
        form, worker.is_fetched = self.form, False
        if self.on_host:
            if not self.targeted and isinstance(form, DenseForm) and batch.distances.size:
                part = form.part(rows)
                # (a copy that needs no other array is queued behind the search)
                if part is not None and part.size and is_pinned(part.ctypes.data, part.nbytes):
                    device_memory.fetch(batch.distances, part, worker.stream)
                    worker.is_fetched = True
        elif not self.in_place:
            self.form.reserve()
            all_rows = len(rows) == self.request.rows
            if not self.targeted:
                to = form.flat if all_rows else form.place(rows)
                device_memory.move(batch.distances, to, worker.stream)
            if worker.tails is not None:
                to = form.flat_tree if all_rows else form.tree_place(rows)
                device_memory.move(batch.tails, to, worker.stream)

    def _batch(self, worker: _Worker, rows: range) -> Batch:
        """Return the arrays and limits (a `Batch`) of a worker's search for some rows."""
        own = len(rows) == self.size and not self.in_place
        if own and worker.full is not None and worker.full.bound == self.bound:
            return worker.full
        distances, tails = worker.distances, worker.tails
        if self.in_place:
            distances, tails = self.form.place(rows), None
            if self.request.wants_tree and self.search.finds_trees:
                tails = self.form.tree_place(rows)
        elif not own:
            distances = self._first(distances, rows)
            tails = None if tails is None else self._first(tails, rows)
        batch = Batch(
            len(rows), self._first(worker.sources, rows), worker.firsts, worker.targets, self.bound,
            self.unseen, distances, self._first(worker.counters, rows), worker.stream, tails,
            worker.given_there,
        )  # fmt: skip
        if own:
            worker.full = batch
        return batch

    def _first(self, array: Any, rows: range) -> Any:
        """Return the first ``len(rows)`` rows of one of a worker's arrays."""
        return array if len(rows) == self.size else array[: len(rows)]

    def _finish(self, worker: _Worker) -> bool:
        """Wait for a worker's batch and output its rows; return False if a distance overflows."""
        batch, rows = worker.batch, worker.rows
        assert batch is not None
        worker.stream.synchronize()
        counters = worker.counted[: len(rows)]
        status = counters[:, CLIPPED_ROW]
        # (of most rows there is nothing to say; NumPy counts faster than it asks for any)
        suspicious = self.drops_silently or np.count_nonzero(status)
        if suspicious and ((status == OVERFLOW).any() or self._is_too_narrow(batch, status)):
            return False
        self.stats[:, rows.start : rows.stop] = counters.T[: len(self.stats)]
        request, origin, tails = self.request, None, batch.tails
        if worker.tree is not None and self.arcs is not None:
            tree = Tree(self.graph, self.arcs, batch, worker.tree)
            origin = tree.origin() if request.nearest else None
            if request.predecessors:
                place = None if self.on_host else self.form.tree_place(rows)
                tails = tree.predecessors(origin, place, request.fewest_arcs)
        given = rows, batch, worker.form_scratch, tails, origin, self.targeted, worker.is_fetched
        self.form.take(self.search.complete(DeviceRows(*given), worker.scratch))
        worker.batch = None
        return True

    def _is_too_narrow(self, batch: Batch, status: Any) -> bool:
        """Return whether the dtype may be too narrow for the distance of a wanted vertex.

        The exact test of `sssp.engine.overflow`, which explains it, in the rows that were clipped.
        """
        test, stream = self.test(self.request), batch.stream
        suspects = test.concerns(status == CLIPPED)
        if not suspects.any():
            return False
        if self.search.arcs_travel:
            # there may be no room for all arcs: look at those of the host
            arcs = unsigned_arcs(self.graph, self.dtype)
            distances = device_memory.on_host(batch.distances, stream)
            return any(
                test.overflowed(arcs, row, np.flatnonzero(row != self.unseen))
                for row in distances[suspects]
            )
        distances, unseen = batch.distances, batch.unseen
        there = cuda.to_device(suspects.astype(INDEX), stream=stream)
        found = cuda.to_device(np.zeros(1, INDEX), stream=stream)
        if test.targets is not None:
            _whole_kernel[batch.rows, THREADS, stream](distances, batch.targets, unseen, there)
        arcs_there = self.on_device.arcs(self.graph, self.dtype)
        leads_on = _make_leads_on_kernel(np.dtype(distances.dtype).kind == "i")
        leads_on[(BLOCKS, batch.rows), THREADS, stream](
            *arcs_there, distances, unseen, test.limit, there, found
        )
        return bool(device_memory.on_host(found, stream)[0])


def _launch(stream: Any, worker: _Worker, search: Search, batch: Batch) -> None:
    """Queue the GPU search of a batch of rows, with the copies between host and GPU it needs."""
    batch = replace(batch, stream=stream)
    if not search.writes_all:
        if worker.sources.size:
            device_memory.send(worker.given[: worker.sources.size], worker.sources, stream)
        batch.fill(batch.distances, batch.unseen)
        batch.fill(batch.counters, 0)
    search.launch(batch, worker.scratch)
    if not search.writes_all:
        device_memory.fetch(batch.counters, worker.counted[: batch.rows], stream)


@kernel
def _whole_kernel(distances, targets, unseen, suspects):
    """Clear the overflow flag of every row whose targets are all reached; one block per row."""
    row = cuda.blockIdx.x
    missing = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == 0:
        missing[0] = 0
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < targets.size:
        if distances[row, targets[i]] == unseen:
            missing[0] = 1
        i += cuda.blockDim.x
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and missing[0] == 0:
        suspects[row] = 0


@cache
def _make_leads_on_kernel(integral: bool) -> Any:
    """Return the kernel that detects an arc from a reached to an unreached vertex of a row."""
    wide = int64 if integral else float64

    @kernel
    def _leads_on_kernel(indptr, indices, weights, distances, unseen, limit, suspects, found):
        """Set `found` if an arc leads from a reached to an unreached vertex within the limit.

        Sums are taken in the type of the limit, which none of them leaves.

        ========= ========= ================ ======================================
        argument  shape     dtype            written by
        ========= ========= ================ ======================================
        indptr    (n + 1,)  int32            upload of the graph
        indices   (m,)      int32            upload of the graph
        weights   (m,)      number           upload of the graph
        distances (rows, n) number           the search
        unseen    scalar    number           host: what stands for none
        limit     scalar    int64 or float64 host: greatest sum that matters
        suspects  (rows,)   int32            host: rows to look at; `_whole_kernel`
        found     (1,)      int32            host: 0; here: whether there is one
        ========= ========= ================ ======================================
        """
        row = cuda.blockIdx.y
        if suspects[row] == 0:
            return
        tail, stride = cuda.grid(1), cuda.gridsize(1)
        while tail < indptr.size - 1:
            start = distances[row, tail]
            if start != unseen:
                for arc in range(indptr[tail], indptr[tail + 1]):
                    if (
                        distances[row, indices[arc]] == unseen
                        and wide(start) + wide(weights[arc]) <= limit
                    ):
                        found[0] = 1
            tail += stride

    return _leads_on_kernel


def _solve_by_tables(
    solve: Callable[[Request], Answer | None], n: int, request: Request, dtype: np.dtype[Any]
) -> Answer | None:
    """Find trip distances by searches from blocks of sources; None if a distance overflows.

    A block of sources is searched at once, all of them to the targets of any, and each keeps its
    own.

    Parameters
    ----------
    solve : callable
        Answers a request without target offsets in this dtype.
    n : int
        Vertices of the graph that it searches.
    request : Request
    dtype : dtype
    """
    firsts = range(0, max(request.rows, 1), LARGEST_BLOCK)
    left = [request.part(slice(first, first + LARGEST_BLOCK)) for first in reversed(firsts)]
    answers = []
    # (other distances may be too long for the dtype of the call)
    asked = None if dtype.kind == "i" else dtype
    with progress_bar(request.rows, request.progress) as advance:
        while left:
            part = left.pop()
            size, answer = part.rows, None
            assert part.target_offsets is not None
            assert part.targets is not None
            if size <= 1 or size * min(part.columns(n), n) * dtype.itemsize <= BLOCK_BYTES:
                targets, columns = np.unique(part.targets, return_inverse=True)
                table = replace(part, targets=targets, target_offsets=None, dtype=asked)
                answer = solve(replace(table, progress=False))
            if answer is not None:
                row_of = np.repeat(np.arange(size), np.diff(part.target_offsets))
                distances = np.empty(columns.size, dtype)
                convert_into(answer.distances[row_of, columns], distances)
                answers.append(Answer(distances, stats=answer.stats))
                advance(size)
            elif size > 1:
                # (the distance that is too long may belong to no trip)
                left += [part.part(slice(size // 2, None)), part.part(slice(size // 2))]
            else:
                return None
    whole = merge_answers(answers)
    whole.distances = narrow(whole.distances, request.dtype)
    return whole
