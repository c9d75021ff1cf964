"""What is asked again and again: rows of a few sources, as of a map that is clicked on, and tables.

Both are found in less time than it takes Python to launch a few kernels. So what a call needs is
made by the first of its kind, and waits for the next in the pool that the maps of a structure
share: memory, and from a map's second call on its launches, recorded from the sources on pinned
memory to what was counted. What is left is to write the sources down, replay, and copy the rows to
where they are wanted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sssp.cuda import reduce
from sssp.cuda.batch import COUNTERS, Batch
from sssp.cuda.compiler import cuda, device_number
from sssp.cuda.device_memory import SHARE, fetch, free_bytes, move, send
from sssp.cuda.device_output import DeviceForm
from sssp.cuda.pool import device_array
from sssp.cuda.solved_rows import DeviceRows, FormScratch
from sssp.cuda.sweep.graph_replay import Launches
from sssp.engine.memory import NO_LIMIT, check_memory, physical_memory
from sssp.engine.outputs import make_form
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INT64, unreached
from sssp.methods import Method


class Ready:
    """Memory for some rows on a device and their way there and back, and what was launched in it.

    Parameters
    ----------
    search : LanesSearch
        Of the map: it fills the distances of a batch.
    request : Request
        For so many rows; others like it may follow.

    Attributes
    ----------
    rows, together : int
        How many there are, and how many are swept side by side, batch by batch.
    nothing : FormScratch
        What the form of such a request asks for.
    distances : device array, shape (rows, columns)
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, search: Any, request: Request) -> None:
        self.rows, self.together = request.rows, _together(search, request.rows)
        self.scratch, self.launches = search.allocate(self.together), Launches()
        weights = None
        if request.reduction is not None:
            weights = reduce.on_device(request.reduction, search.dtype)
        # (of targets there are no other columns)
        whole = replace(request, targets=None)
        self.nothing = FormScratch.allocate(search.n, whole, search.dtype, self.rows, weights)
        self.given = cuda.pinned_array(self.rows, INT64)
        self.sources = device_array(self.rows, INT64)
        shape = self.rows, COUNTERS
        self.counters, self.counted = (
            cuda.to_device(np.zeros(shape, INT64)),
            cuda.pinned_array(shape, INT64),
        )
        self.distances = device_array((self.rows, _columns(search)), search.dtype)
        self.stream = cuda.stream()
        parts = (*self.scratch, self.sources, self.counters, self.distances)
        self.nbytes = sum(getattr(part, "nbytes", 0) for part in parts)

    def launch(self, search: Any, request: Request) -> Batch:
        """Queue all that is to be done on the device."""
        bound = request.bound(search.dtype)
        self.given[:] = request.sources
        self.launches.do(_launch_rows, self.stream, self, search, bound)
        return self.batch(search, bound, self.stream)

    def batch(self, search: Any, bound: Any, stream: Any) -> Batch:
        """Return all rows as one batch."""
        return Batch(
            self.rows, self.sources, None, search.map.nothing[1], bound, unreached(search.dtype),
            self.distances, self.counters, stream,
        )  # fmt: skip


def _launch_rows(stream: Any, ready: Ready, search: Any, bound: Any) -> None:
    """Launch all that finds the rows, from their sources on the host to what was counted."""
    send(ready.given, ready.sources, stream)
    everything = ready.batch(search, bound, stream)
    for first in range(0, ready.rows, ready.together):
        part = slice(first, min(first + ready.together, ready.rows))
        some = replace(
            everything, rows=part.stop - first, sources=ready.sources[part],
            distances=ready.distances[part], counters=ready.counters[part],
        )  # fmt: skip
        search.fill(some, ready.scratch)
        search.hand_over(some, ready.scratch)
    fetch(ready.counters, ready.counted, stream)


def _columns(search: Any) -> int:
    """Return how many distances a row has; one where there are none, for such cannot be cut."""
    columns: int = search.n if search.columns is None else search.columns
    return max(1, columns)


def _together(search: Any, rows: int) -> int:
    """Return how many rows a batch has: no more than there are."""
    most: int = search.rows_at_once
    alike: int = search.alike(rows, most)
    return rows if rows <= most else alike


def answer_at_once(search: Any, request: Request, method: Method) -> Answer | None:
    """Answer for some rows; None if there is no room for that.

    Parameters
    ----------
    search : LanesSearch
        Of the map; its device is current.
    request : Request
    method : Method
        Whose ``statistics`` the search counts.

    Raises
    ------
    DeviceError
        The answer does not fit into the memory of the host.
    """
    n, dtype, rows, shelf = search.n, search.dtype, request.rows, search.map.shelf
    reduction, on_host = request.reduction, request.output == "host"
    form: Any = (
        make_form(n, request, dtype)
        if on_host
        else DeviceForm(n, request, dtype, device_number(request.device))
    )
    needed = search.fixed_bytes + _together(search, rows) * search.row_bytes
    needed += rows * _columns(search) * dtype.itemsize
    needed += 0 if on_host else form.device_bytes
    needed += 0 if reduction is None else rows * reduce.row_bytes(reduction)
    if needed > request.memory_limit:
        return None
    selected = 0 if search.packed is None else search.packed.selection.serial
    key = Ready, type(search), selected, rows, request.output, reduction and reduction.what
    ready = shelf.take(key)
    if ready is None and needed - search.map.nbytes > free_bytes() * SHARE:
        return None
    ready = ready or Ready(search, request)
    try:
        batch = ready.launch(search, request)
        # (what follows is done while the device works)
        needs = {"the answer on the host": form.nbytes}
        check_memory(needs, NO_LIMIT, "cpu", request.advice, physical_memory())
        if not on_host:
            form.reserve()
            move(batch.distances, form.flat, ready.stream)
        found = DeviceRows(range(rows), batch, ready.nothing, None, None, False, request.threads)
        form.take(search.finished(found, ready.scratch))
    finally:
        # (whatever has happened: the memory may go, or be used by others)
        ready.stream.synchronize()
    answer: Answer = form.answer()
    counted = ready.counted.T[: len(method.statistics)].copy()
    answer.stats = dict(zip(method.statistics, counted, strict=True))
    shelf.leave(key, ready.nbytes, ready)
    return answer
