"""Rows of a few sources on their way to the host, again and again: as for a map that is clicked on.

Such rows are found in less time than it takes Python to launch one kernel. So what a call needs is
made by the first of its kind, and waits for the next in the map's pool: memory, and from the
second call on its launches, recorded from the sources on pinned memory to what was counted. What
is left is to write the sources down, replay, and copy the rows to where they are wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cuda.batch import COUNTERS, Batch
from sssp.cuda.compiler import cuda
from sssp.cuda.finished import DeviceRows, FormScratch
from sssp.cuda.memory import SHARE, fetch, free_bytes, send
from sssp.engine.checks import physical_memory
from sssp.engine.forms import make_form
from sssp.engine.memory import FEWER_ROWS, check_memory
from sssp.engine.query import Answer, Query
from sssp.hierarchy.cuda.launches import Launches
from sssp.hierarchy.cuda.resident import Pool
from sssp.kernels.dtypes import INT64, unreached
from sssp.methods import Method

__all__ = ["answer_at_once"]


class Ready:
    """Memory for some rows on a device and their way there and back, and what was launched in it.

    Parameters
    ----------
    search : Search
        Of the map: it fills the distances of a batch.
    query : Query
        For so many rows, dense and on the host; others like it may follow.

    Attributes
    ----------
    nothing : FormScratch
        Of such a query.
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, search: Any, query: Query) -> None:
        self.rows = rows = query.rows
        self.scratch, self.launches = search.allocate(rows), Launches()
        self.nothing = FormScratch.allocate(search.n, query, search.dtype, rows, None)
        self.given, self.sources = cuda.pinned_array(rows, INT64), cuda.device_array(rows, INT64)
        shape = rows, COUNTERS
        self.counters, self.counted = (
            cuda.to_device(np.zeros(shape, INT64)),
            cuda.pinned_array(shape, INT64),
        )
        self.distances = cuda.device_array((rows, search.n), search.dtype)
        self.stream = cuda.stream()
        parts = (*self.scratch, self.sources, self.counters, self.distances)
        self.nbytes = sum(getattr(part, "nbytes", 0) for part in parts)

    def launch(self, search: Any, query: Query) -> Batch:
        """Queue all that is to be done on the device."""
        bound = query.bound(search.dtype)

        def batch(stream: Any) -> Batch:
            return Batch(
                self.rows, self.sources, None, None, bound, unreached(search.dtype), self.distances,
                self.counters, stream,
            )  # fmt: skip

        def launches(stream: Any) -> None:
            send(self.given, self.sources, stream)
            search.fill(batch(stream), self.scratch)
            search.hand_over(batch(stream), self.scratch)
            fetch(self.counters, self.counted, stream)

        self.given[:] = query.sources
        self.launches.do((bound, search.direct), self.stream, launches)
        return batch(self.stream)


def answer_at_once(pool: Pool, search: Any, query: Query, method: Method) -> Answer | None:
    """Answer for whole rows of a few sources, on the host; None if there is no room for that.

    Parameters
    ----------
    pool : Pool
        Of the map.
    search : Search
        Of the map; its device is current.
    query : Query
    method : Method
        Whose ``statistics`` the search counts.

    Raises
    ------
    DeviceError
        The answer does not fit into the memory of the host.
    """
    n, dtype, rows = search.n, search.dtype, query.rows
    key = Ready, rows
    needed = search.fixed_bytes + rows * (search.row_bytes + n * dtype.itemsize)
    if needed > query.memory_limit:
        return None
    kept = pool.take(key)
    if kept is None and needed - search.map.nbytes > free_bytes() * SHARE:
        return None
    ready = Ready(search, query) if kept is None else kept[0]
    try:
        batch = ready.launch(search, query)
        # (what follows is done while the device works)
        form: Any = make_form(n, query, dtype)
        check_memory({"the answer on the host": form.nbytes}, physical_memory(), "cpu", FEWER_ROWS)
        form.take(DeviceRows(range(rows), batch, ready.nothing, None, None, False, query.threads))
    finally:
        # (whatever has happened: the memory may go, or be used by others)
        ready.stream.synchronize()
    answer: Answer = form.answer()
    counted = ready.counted.T.copy()
    answer.stats = dict(zip(method.statistics, counted, strict=False))
    pool.leave(key, ready.nbytes, (ready,))
    return answer
