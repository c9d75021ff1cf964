"""The request of every block of a job, its answer in recycled memory, and the check of a sample."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.calls.make_plan import make_plan
from sssp.calls.many_sources import make_reduction_plan
from sssp.calls.shortest_paths import run_plan, solve_plan
from sssp.engine.memory import SMALLER_BLOCKS_OF_A_JOB
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.methods import BellmanFord, BreadthFirst, Dijkstra, Method

#: the field of a table that holds distances
DISTANCES = "distances"
#: sums of floats that two searches may add in another order differ by no more than this share
ROUNDING = 1e-9

Array = NDArray[Any]


class Buffers:
    """Arrays whose memory is used again once nothing refers to them any more.

    Touching fresh memory costs more: what a GPU finds in ten milliseconds it takes the system
    seventy to have room for, page by page.

    They do not travel: a copy has buffers of its own.
    """

    def __init__(self) -> None:
        #: (an array may be collected in the midst of anything: nothing is locked on that way)
        self._returned: deque[NDArray[np.uint8]] = deque()
        self._lock = threading.Lock()

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array whose entries are anything.

        Of memory that lies idle the first that is large enough serves; what is too small is given
        up. So no more is held than was in use at some time, where all ask for about as much.
        """
        nbytes = prod(shape) * dtype.itemsize
        memory = None
        with self._lock:
            while self._returned and memory is None:
                one = self._returned.popleft()
                memory = one if one.size >= nbytes else None
        if memory is None:
            memory = np.empty(max(1, nbytes), np.uint8)
        # NumPy lets views of views refer to this array: it goes when the last of them does
        array: NDArray[Any] = np.frombuffer(memory.data, np.uint8, nbytes)
        weakref.finalize(array, _give_back, weakref.ref(self), memory).atexit = False
        return array.view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Buffers, ()


def _give_back(buffers: weakref.ref[Buffers], memory: NDArray[np.uint8]) -> None:
    """Keep memory for the next array, if the job has not ended."""
    own = buffers()
    if own is not None:
        own._returned.append(memory)


@dataclass(frozen=True)
class Asked:
    """A question that is the same for every block, but for its sources.

    Attributes
    ----------
    targets : ndarray, int64, or None
        The sources of the call where blocks search from its targets.
    what : str or None
        A reduction.
    skims : dict of str to ndarray, shape (m,)
        Values of arcs to sum up along the paths, by the field that they fill.
    dtype : str or None
        Of all distances; None: a reduction has its own.
    limit, vertex_weights, decay, method, memory_limit
        As of the call.
    """

    targets: Array | None = None
    what: str | None = None
    limit: float | None = None
    vertex_weights: Array | None = None
    decay: tuple[Any, Any] | None = None
    skims: Mapping[str, Array] = field(default_factory=dict)
    method: str | Method = "auto"
    dtype: str | None = None
    memory_limit: float | None = None

    def plan(
        self, network: sssp.Graph, sources: Array, device: Any, threads: int | None
    ) -> Plan[Request]:
        """Return the plan from some sources, checked; raises as the calls do."""
        options: dict[str, Any] = {
            "targets": self.targets,
            "limit": self.limit,
            "method": self.method,
            "device": device,
            "threads": threads,
            "memory_limit": self.memory_limit,
            "progress": False,
            "advice": SMALLER_BLOCKS_OF_A_JOB,
        }
        if self.what is not None:
            return make_reduction_plan(
                network, sources, self.what, self.vertex_weights, self.decay, **options
            )
        tree = bool(self.skims)
        return make_plan(
            network, sources, predecessors=tree, dtype=self.dtype, from_either_end=True, **options
        )

    def answer(
        self, plan: Plan[Request], buffers: Buffers
    ) -> tuple[dict[str, Array], sssp.ShortestPaths | None, str]:
        """Return the rows of every field, the result behind them, and the device."""
        if self.what is not None:
            answer = run_plan(plan)
            return {self.what: answer.distances}, None, answer.device
        if plan.transposed is None:
            shape = plan.request.rows, plan.request.columns(plan.network.n)
            request = replace(plan.request, out=buffers.take(shape, np.dtype(self.dtype)))
            plan = plan._replace(request=request)
        result = solve_plan(plan)
        fields = {name: result.skim(values) for name, values in self.skims.items()}
        return {DISTANCES: result.distances, **fields}, result, result.device

    def certify(
        self,
        network: sssp.Graph,
        sources: Array,
        rows: list[int],
        values: Mapping[str, Array],
        result: sssp.ShortestPaths | None,
    ) -> None:
        """Certify some rows of a block; `result` is of those rows, None for a reduction.

        Distances by `verify`; a reduction by that of a search on the graph itself, on the CPU.
        """
        if not rows:
            return
        graph = network._tree_graph
        if result is not None:
            sssp.verify(graph, result)
            return
        assert self.what is not None
        checked = sssp.reduce(
            graph, sources[rows], self.what, limit=self.limit, targets=self.targets,
            vertex_weights=self.vertex_weights, decay=self.decay, method=self._check_method(graph),
            device="cpu", threads=1, progress=False,
        )  # fmt: skip
        found = values[self.what][rows]
        exact = found.dtype.kind == "i"
        if not np.allclose(found, checked, rtol=0 if exact else ROUNDING, atol=0, equal_nan=True):
            raise sssp.VerificationError(
                f"{self.what} from the sources {sources[rows].tolist()} is {found.tolist()}, but "
                f"a search on the CPU finds {checked.tolist()}"
            )

    def _check_method(self, graph: sssp.Graph) -> Method:
        if isinstance(self.method, BreadthFirst) or self.method == BreadthFirst.name:
            return BreadthFirst()
        return BellmanFord() if graph.least_weight < 0 else Dijkstra()


def some_rows(result: sssp.ShortestPaths, rows: list[int]) -> sssp.ShortestPaths:
    """Return the rows of a result that start from some of its sources."""
    request = Request(sources=result.sources[rows], targets=result.targets, limit=result.limit)
    trees = None if result.predecessors is None else result.predecessors[rows]
    return sssp.ShortestPaths(
        result.graph,
        request,
        Answer(result.distances[rows], trees),
        method=result.method,
        device=result.device,
    )


def digest_of(*arrays: Array | None) -> str:
    """Return the SHA-256 of the shapes, dtypes and contents of arrays, shortened."""
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        contents: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest.update(contents)
    return digest.hexdigest()[:32]


def identity_of(network: sssp.Graph) -> dict[str, Any]:
    """Return the fields that identify a graph in the manifest."""
    graph = network._tree_graph
    return {
        "graph": digest_of(graph.indptr, graph.indices, graph.weights),
        "vertices": graph.n,
        "arcs": graph.m,
        # (sums of floats are rounded in another order there)
        "prepared": isinstance(network, sssp.Hierarchy),
    }
