"""Classes (forms) that collect the rows of a search into a dense, sparse or reduced answer.

Solvers hand over rows, one or several at a time. They lie where they were solved, on the host or
on a GPU, and give away only what a form asks of them: columns, the reached vertices, the paths to
the targets, or one number per row (`FinishedRows`). The form that stays on a GPU is
`sssp.cuda.device_output`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sssp.engine import thresholds
from sssp.engine.check_memory import check_memory
from sssp.engine.narrow import bytes_of_entry, narrow
from sssp.engine.reductions import Block, Reduction, Step
from sssp.engine.request import Answer, Request, Walks
from sssp.graph.interop import scipy_offsets
from sssp.kernels.dtypes import INDEX, INT64

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Entries(NamedTuple):
    """Vertices listed for each row of an answer, with their distances and predecessors.

    Attributes
    ----------
    counts : ndarray, shape (rows,), int64
        How many each row has.
    vertices : ndarray, shape (counts.sum(),), int32
    distances : the same, in the dtype of the search, or None
    tails : the same, int32, or None
        Predecessors.
    """

    counts: NDArray[np.int64]
    vertices: NDArray[np.int32]
    distances: NDArray[Any] | None
    tails: NDArray[np.int32] | None


class FinishedRows(Protocol):
    """The interface to read solved rows, on the host or on a GPU, when an answer is built."""

    @property
    def rows(self) -> range:
        """Positions of the solved rows among all rows of the request, as a range."""

    @property
    def origin(self) -> NDArray[np.int32] | None:
        """The nearest source of every vertex; None if the request did not ask for it."""

    @property
    def walks(self) -> Walks | None:
        """The paths of the trips from each row's source; None if no trip paths were requested."""

    def copy_distances(self, out: NDArray[Any]) -> None:
        """Copy the distances of all vertices, or of the targets if there are any, into `out`."""

    def copy_predecessors(self, out: NDArray[np.int32]) -> None:
        """Copy the predecessors of all vertices to `out`, shape (rows, n)."""

    def list_reached(self, *, tails: bool) -> Entries:
        """Return the reached vertices with their distances, and predecessors if requested."""

    def paths(self) -> Entries:
        """Return the vertices on the paths to the targets, each with its predecessor."""

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Reduce the distances of each row to the sum, count or maximum that `step` defines."""


class Form:
    """Base class of output forms, which collect the rows of a search into an answer.

    Attributes
    ----------
    nbytes : int
        Bytes of the host that the answer will take, as far as that is known beforehand.
    reserved_bytes : int
        Bytes that the call holds beside the answer while rows are found; a search on the CPU says
        so before the first.
    """

    nbytes = reserved_bytes = 0

    def place(self, rows: range) -> NDArray[Any] | None:
        """Return the answer's rows if a search may write its distances into them, else None."""
        return None

    def tree_place(self, rows: range) -> NDArray[np.int32] | None:
        """Return a view of the answer's predecessor rows; None if a search needs its own array."""
        return None

    def take(self, found: FinishedRows) -> None:
        """Store the results of finished search rows that belong in the answer."""
        raise NotImplementedError

    def answer(self) -> Answer:
        """Return the collected results as an `Answer`, once `take` has received all rows."""
        raise NotImplementedError


def make_form(
    n: int, request: Request, dtype: np.dtype[Any], empty: Callable[..., NDArray[Any]] = np.empty
) -> Form:
    """Return an object that collects result rows in the output type that the request asks for.

    ``empty(shape, dtype)`` allocates its matrices.
    """
    if request.reduction is not None:
        return ReducedForm(n, request, request.reduction, dtype)
    if request.target_offsets is not None:
        return TripsForm(request, dtype)
    if request.output == "sparse":
        return SparseForm(n, request, dtype)
    return DenseForm(n, request, dtype, empty)


class DenseForm(Form):
    """Collector of a dense result: a matrix of distances to all vertices, or to the targets."""

    def __init__(
        self, n: int, request: Request, dtype: np.dtype[Any], empty: Callable[..., NDArray[Any]]
    ) -> None:
        self.request, self.dtype, self.n, self._empty = request, dtype, n, empty
        self.shape = request.rows, request.columns(n)
        # (a row that is searched with few vertices more than it has is not copied for their sake)
        fits = request.rows == 1 and request.targets is None and request.out is None
        self._columns = n if fits and n <= self.shape[1] * thresholds.WIDER_ROW else self.shape[1]
        self._lock = threading.Lock()
        self._distances = request.out
        self._predecessors: NDArray[np.int32] | None = None
        self._paths: _Collected | None = None
        self._origin: NDArray[np.int32] | None = None
        if request.out is None:
            self.nbytes += request.rows * self._columns * bytes_of_entry(dtype, request.dtype)
        if request.predecessors and request.targets is not None:
            self._paths = _Collected(request)
        elif request.predecessors:
            self.nbytes += request.rows * n * INDEX.itemsize

    # the matrices are made when the first row asks for them: after memory was planned

    def _rows(self, rows: range) -> NDArray[Any]:
        with self._lock:
            if self._distances is None:
                self._distances = self._empty((self.request.rows, self._columns), self.dtype)
        return self._distances[rows.start : rows.stop]

    def _tree_rows(self, rows: range) -> NDArray[np.int32]:
        with self._lock:
            if self._predecessors is None:
                self._predecessors = self._empty((self.request.rows, self.n), INDEX)
        return self._predecessors[rows.start : rows.stop]

    def part(self, rows: range) -> NDArray[Any] | None:
        """Return a view of the given rows of distances; None if a search cannot write to it."""
        part = self._rows(rows)
        fits = part.dtype == self.dtype and part.flags.c_contiguous and part.flags.aligned
        return part if fits else None

    def place(self, rows: range) -> NDArray[Any] | None:
        """Return a view of distance rows for a search to fill; None if it cannot write to them."""
        is_whole = self.request.targets is None and self._columns == self.n
        return self.part(rows) if is_whole else None

    def tree_place(self, rows: range) -> NDArray[np.int32] | None:
        """Return a view of rows of the predecessor matrix; None if the request has targets."""
        return None if self.request.targets is not None else self._tree_rows(rows)

    def take(self, found: FinishedRows) -> None:
        """Store the distances, and predecessors if requested, of finished rows."""
        found.copy_distances(self._rows(found.rows))
        if self._paths is not None:
            held = {"the distances": self.nbytes, "the searches": self.reserved_bytes}
            self._paths.keep(found.rows, found.paths(), held)
        elif self.request.predecessors:
            found.copy_predecessors(self._tree_rows(found.rows))
        self._origin = found.origin

    def answer(self) -> Answer:
        """Return the distances in the requested dtype, the predecessors and the nearest sources."""
        none = range(0)
        distances = self._distances if self._distances is not None else self._rows(none)
        if self.request.out is None:
            distances = narrow(distances[:, : self.shape[1]], self.request.dtype)
        predecessors: Any = self._predecessors
        if self._paths is not None:
            _, predecessors = _join_entries(self._paths.release(), self.request, self.n)
        elif self.request.predecessors and predecessors is None:  # (there is no row)
            predecessors = self._tree_rows(none)
        return Answer(distances, predecessors, self._origin)


class SparseForm(Form):
    """Collector of finished rows into CSR matrices of the reached vertices, in vertex order."""

    def __init__(self, n: int, request: Request, dtype: np.dtype[Any]) -> None:
        self.request, self.dtype, self.n = request, dtype, n
        self._entries = _Collected(request)
        self._origin: NDArray[np.int32] | None = None

    def take(self, found: FinishedRows) -> None:
        """Store reached vertices, distances and any requested predecessors for finished rows."""
        entries = found.list_reached(tails=self.request.predecessors)
        self._entries.keep(found.rows, entries, {"the searches": self.reserved_bytes})
        self._origin = found.origin

    def answer(self) -> Answer:
        """Return the answer: distances and predecessors of reached vertices, as CSR matrices."""
        entries = self._entries.release()
        return Answer(*_join_entries(entries, self.request, self.n, self.dtype), self._origin)


class _Collected:
    """Container for the result arrays of finished blocks of rows, which are joined at the end.

    `known` says in messages what is held so far, `joined` what a column takes in one piece.
    """

    def __init__(
        self,
        request: Request,
        known: str = "what {done:,} of {rows:,} rows hold",
        joined: str = "a column of that in one piece",
    ) -> None:
        self.request, self.known, self.joined = request, known, joined
        self._parts: dict[int, Any] = {}
        self._done = self._nbytes = self._joining = 0
        self._lock = threading.Lock()

    def keep(
        self, rows: range, part: tuple[NDArray[Any] | None, ...], held: dict[str, int]
    ) -> None:
        """Store the arrays of some rows; raise DeviceError if they exceed the memory limit.

        Raises
        ------
        DeviceError
            What has been found so far is more than the call may take.
        """
        sizes = [column.nbytes for column in part if column is not None]
        with self._lock:
            self._parts[rows.start] = part
            self._done += len(rows)
            self._nbytes += sum(sizes)
            self._joining += max(sizes)
            request, needed = self.request, self._nbytes + self._joining + sum(held.values())
            # (a GPU has a limit of its own; the host keeps what comes back)
            if request.device == "cpu" and needed > request.memory_limit:
                known = self.known.format(done=self._done, rows=request.rows)
                parts = held | {known: self._nbytes, self.joined: self._joining}
                check_memory(parts, request.memory_limit, "cpu", request.advice)

    def release(self) -> list[Any]:
        """Return the result arrays stored for all rows, in row order, and empty the store."""
        return [self._parts.pop(first) for first in sorted(self._parts)]


def _join_entries(
    parts: list[Entries], request: Request, n: int, dtype: np.dtype[Any] = INT64
) -> tuple[csr_array, csr_array | None]:
    """Join blocks of reached vertices to CSR matrices of distances and predecessors."""
    from scipy.sparse import csr_array

    counts = np.concatenate([np.zeros(1, INT64), *(entries.counts for entries in parts)])
    vertices, distances, tails = ([entries[part] for entries in parts] for part in (1, 2, 3))
    parts.clear()
    indptr = scipy_offsets(np.cumsum(counts))
    size, shape = int(indptr[-1]), (request.rows, n)
    indices = _concatenate(vertices, size, INDEX)
    found: Any = None
    predecessors = None
    if request.targets is None:
        values = narrow(_concatenate(distances, size, dtype), request.dtype)
        found = csr_array((values, indices, indptr), shape=shape)
    if request.predecessors:
        joined = _concatenate(tails, size, INDEX)
        predecessors = csr_array((joined, indices, indptr), shape=shape)
    return found, predecessors


def _concatenate(parts: list[Any], size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Concatenate arrays, freeing each once copied, to save memory."""
    joined: NDArray[Any] = np.empty(size, dtype)
    place = size
    while parts:
        part = parts.pop()
        joined[place - part.size : place] = part
        place -= part.size
    return joined


class TripsForm(Form):
    """Collector of the results of trips: distances, and paths if requested, for each trip."""

    def __init__(self, request: Request, dtype: np.dtype[Any]) -> None:
        assert request.target_offsets is not None
        assert request.targets is not None
        self.request, self.target_offsets, self.dtype = request, request.target_offsets, dtype
        self._distances: NDArray[Any] = np.empty(request.targets.size, dtype)
        self.nbytes = self._distances.nbytes + request.reserved_bytes
        self._walks = _Collected(request, "the paths so far", "their vertices in one piece")

    def take(self, found: FinishedRows) -> None:
        """Store the distances of trips, and their paths if requested, from finished searches.

        Raises
        ------
        DeviceError
            The paths found so far are more than the call may take.
        """
        low, high = self.target_offsets[found.rows.start], self.target_offsets[found.rows.stop]
        found.copy_distances(self._distances[np.newaxis, low:high])
        if found.walks is not None:
            held = {"the trips": self.nbytes, "the searches": self.reserved_bytes}
            self._walks.keep(found.rows, found.walks, held)

    def answer(self) -> Answer:
        """Return the distances in the requested dtype, and the paths if requested, of all trips."""
        distances = narrow(self._distances, self.request.dtype)
        if not self.request.predecessors:
            return Answer(distances)
        return Answer(distances, walks=join_walks(self._walks.release()))


def join_walks(parts: list[Walks]) -> Walks:
    """Return the paths of all batches of trips, joined in order; empty the list `parts`."""
    counts = [np.diff(walks.firsts) for walks in parts]
    firsts = np.cumsum(np.concatenate([np.zeros(1, INT64), *counts]), dtype=INT64)
    vertices = [walks.vertices for walks in parts]
    parts.clear()
    return Walks(firsts, _concatenate(vertices, int(firsts[-1]), INDEX))


class ReducedForm(Form):
    """Output of a reduction (such as a sum): one number per row, or per row and weight column."""

    def __init__(
        self, n: int, request: Request, reduction: Reduction, dtype: np.dtype[Any]
    ) -> None:
        self.n, self.request, self.reduction = n, request, reduction
        shape = request.rows, reduction.columns
        self._values: NDArray[Any] = np.zeros(shape, reduction.dtype_of(dtype))
        self.nbytes = self._values.nbytes

    def take(self, found: FinishedRows) -> None:
        """Reduce finished rows of distances to numbers (such as sums), and store the numbers."""
        results = [found.reduce_by(step) for step in self.reduction.steps]
        rows = slice(found.rows.start, found.rows.stop)
        request, kept, sources = self.request, self._values[rows], self.request.sources[rows]
        if request.asked is not None:
            sources = request.asked._searched_ends(sources)
        block = Block(sources, request.targets, self.n, kept.dtype)
        kept[...] = self.reduction.rule.finish(block, *results).reshape(kept.shape)

    def answer(self) -> Answer:
        """Return an answer with one reduced value per row, or one per row and weight column."""
        return Answer(self._values[:, 0] if self.reduction.one_column else self._values)
