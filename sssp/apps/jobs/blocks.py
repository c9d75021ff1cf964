"""Computation of one block of a job's large table, by a thread or in another process.

The inputs that all blocks share go to threads of this process as they are, and to other processes
as a `Ticket`, which says where they lie; they read them once, until another job comes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.apps.jobs import stores
from sssp.calls.make_plan import make_plan
from sssp.calls.many_sources import make_reduction_plan
from sssp.calls.shortest_paths import run_plan, solve_plan
from sssp.engine.check_memory import SMALLER_BLOCKS_OF_A_JOB
from sssp.engine.network import open_part, reversed_graph
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.errors import GraphFormatError, JobError
from sssp.kernels.locks import make_lock
from sssp.methods import BellmanFord, BreadthFirst, Dijkstra, Method
from sssp.prepared.read_hierarchy import read_network

#: sums of floats that two searches may add in another order differ by no more than this share
ROUNDING = 1e-9

Array = NDArray[Any]


class Buffers:
    """A pool of array memory: an array's memory is reused once nothing refers to the array.

    Touching fresh memory costs more: what a GPU finds in ten milliseconds it takes the system
    seventy to have room for, page by page.

    They do not travel: a copy has buffers of its own.
    """

    def __init__(self) -> None:
        #: (a deque needs no lock: an array may be collected in the midst of anything)
        self._returned: deque[NDArray[np.uint8]] = deque()

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialized array, in reused memory if there is any.

        Of memory that lies idle the first that is large enough serves; what is too small is given
        up. So no more is held than was in use at some time, where all ask for about as much.
        """
        nbytes = prod(shape) * dtype.itemsize
        try:
            while (memory := self._returned.popleft()).size < nbytes:
                pass
        except IndexError:
            memory = np.empty(max(1, nbytes), np.uint8)
        # NumPy lets views of views refer to this array: it goes when the last of them does
        array: NDArray[Any] = np.frombuffer(memory.data, np.uint8, nbytes)
        weakref.finalize(array, _give_back, weakref.ref(self), memory).atexit = False
        return array.view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Buffers, ()


def _give_back(buffers: weakref.ref[Buffers], memory: NDArray[np.uint8]) -> None:
    """Put an array's memory back into the pool for reuse, if the pool still exists."""
    own = buffers()
    if own is not None:
        own._returned.append(memory)


@dataclass(frozen=True)
class JobRequest:
    """The call arguments that all blocks of a job share: all except the sources.

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
        """Check the arguments of a search from `sources`, and return the plan of the search."""
        asked = ("targets", "limit", "method", "memory_limit")
        options: dict[str, Any] = {name: getattr(self, name) for name in asked}
        options |= {"device": device, "threads": threads, "progress": False}
        options["advice"] = SMALLER_BLOCKS_OF_A_JOB
        if self.what is not None:
            weighed = self.vertex_weights, self.decay
            return make_reduction_plan(network, sources, self.what, *weighed, **options)
        options |= {"predecessors": bool(self.skims), "dtype": self.dtype}
        return make_plan(network, sources, from_either_end=True, **options)

    def answer(
        self, plan: Plan[Request], buffers: Buffers
    ) -> tuple[dict[str, Array], sssp.ShortestPaths | None, str]:
        """Run a plan; return arrays by name, the result (None for a reduction), and the device."""
        if self.what is not None:
            answer = run_plan(plan)
            return {self.what: answer.distances}, None, answer.device
        if plan.transposed is None:
            shape = plan.request.rows, plan.request.columns(plan.network.n)
            request = replace(plan.request, out=buffers.take(shape, np.dtype(self.dtype)))
            plan = plan._replace(request=request)
        result = solve_plan(plan)
        fields = {name: result.skim(values) for name, values in self.skims.items()}
        return {stores.DISTANCES: result.distances, **fields}, result, result.device

    def certify(self, solved: Solved, rows: list[int], sources: list[int]) -> None:
        """Certify `rows` of a block, searched from `sources`; raise an error if one is wrong.

        Distances by `verify`; a reduction by that of a search on the graph itself, on the CPU.
        """
        if not rows:
            return
        graph = solved.network._tree_graph
        if solved.result is not None:
            result, at = solved.result, [solved.first + row for row in rows]
            request = Request(result.sources[at], targets=result.targets, limit=result.limit)
            # (of a graph with turns the distances alone: it has no trees)
            has_trees = result.has_paths and graph.turns is None
            trees = result.predecessors[at] if has_trees else None
            ran = {"method": result.method, "device": result.device}
            answer = Answer(result.distances[at], trees)
            sssp.verify(graph, sssp.ShortestPaths(result.graph, request, answer, **ran))
            return
        assert self.what is not None
        method: Method = BellmanFord() if graph.least_weight < 0 else Dijkstra()
        if isinstance(self.method, BreadthFirst) or self.method == BreadthFirst.name:
            method = BreadthFirst()
        checked = sssp.reduce(
            graph, sources, self.what, limit=self.limit, targets=self.targets,
            vertex_weights=self.vertex_weights, decay=self.decay, method=method,
            device="cpu", threads=1, progress=False,
        )  # fmt: skip
        found = solved.values[self.what][rows]
        exact = found.dtype.kind == "i"
        if not np.allclose(found, checked, rtol=0 if exact else ROUNDING, atol=0, equal_nan=True):
            raise sssp.VerificationError(
                f"{self.what} from the sources {sources} is {found.tolist()}, but "
                f"a search on the CPU finds {checked.tolist()}"
            )


def digest_of(*arrays: Array) -> str:
    """Return a shortened SHA-256 of the shapes, dtypes and contents of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        contents: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest.update(contents)
    return digest.hexdigest()[:32]


def identity_of(network: sssp.Graph) -> dict[str, Any]:
    """Return what identifies a graph in the manifest: digest, size, and whether prepared."""
    graph = network._tree_graph
    searched = graph._searched
    return {
        "graph": digest_of(searched.indptr, searched.indices, searched.weights),
        "vertices": graph.n,
        "arcs": graph.m,
        # (sums of floats are rounded in another order there)
        "prepared": isinstance(network, sssp.Hierarchy),
    }


#: mode of a file that this user alone may read or write
PRIVATE = 0o600


class GraphNotSeenError(JobError):
    """A worker cannot read the file of the graph, or reads another graph from it."""


class GraphFile(NamedTuple):
    """The path of a graph file for workers, with a digest and sizes to identify the graph.

    Attributes
    ----------
    path : str
    identity : dict
        Of what is in it.
    """

    path: str
    identity: dict[str, Any]


class Solved(NamedTuple):
    """The results of the searches of one block of a job.

    Attributes
    ----------
    block : int
    network : Graph or Hierarchy
        What was searched.
    searches : range
        Which of the job.
    values : dict of str to ndarray
        Every field, a row per search.
    result : ShortestPaths or None
        What the values are of, and those of the blocks that were searched with this one; None:
        they are reduced.
    first : int
        Which of its rows is the first of the block.
    device : str
        Where.
    seconds : float
        The block's share of the time.
    """

    block: int
    network: sssp.Graph
    searches: range
    values: dict[str, Array]
    result: sssp.ShortestPaths | None
    first: int
    device: str
    seconds: float


@dataclass(frozen=True)
class Inputs:
    """The inputs that all blocks of a job share: network, sources, request, table layout...

    Attributes
    ----------
    network : Graph, Hierarchy or GraphFile
    starts : ndarray, int64
        Where the searches start, those of all blocks.
    asked : JobRequest
    layout : Layout
    sink : ZarrStore or ParquetParts
    temporary : Path
        Where files are made.
    sample : ndarray, int64
        The searches that are certified, ascending.
    buffers : Buffers
        For what is found.
    """

    network: Any
    starts: Array
    asked: JobRequest
    layout: stores.Layout
    sink: stores.ZarrStore | stores.ParquetParts
    temporary: Path
    sample: Array
    buffers: Buffers = field(default_factory=Buffers)

    def solve(self, blocks: Sequence[int], device: Any, threads: int | None) -> list[Solved]:
        """Run the searches of several blocks in one call; return the results of each block."""
        begun = perf_counter()
        searches = [self.layout.searches_of(block) for block in blocks]
        starts = np.concatenate([self.starts[own.start : own.stop] for own in searches])
        network = self.network
        if self.layout.by_columns:
            network = reversed_graph(open_part(network))
        plan = self.asked.plan(network, starts, device, threads)
        values, result, device = self.asked.answer(plan, self.buffers)
        each = (perf_counter() - begun) / starts.size
        found, first = [], 0
        for block, own in zip(blocks, searches, strict=True):
            rows = slice(first, first + len(own))
            part = {name: table[rows] for name, table in values.items()}
            seconds = each * len(own)
            found.append(Solved(block, network, own, part, result, first, device, seconds))
            first = rows.stop
        return found

    def write(self, solved: Solved) -> list[stores.Piece]:
        """Write the results of a block into the table; return the files written."""
        return self.sink.write(solved.block, solved.values, self.temporary)

    def finish(self, solved: Solved) -> Done:
        """Certify the sampled searches of a block, write the block; return its manifest entry."""
        start, own = perf_counter(), solved.searches
        first, end = np.searchsorted(self.sample, (own.start, own.stop))
        sample = self.sample[first:end]
        rows = (sample - own.start).tolist()
        self.asked.certify(solved, rows, self.starts[sample].tolist())
        pieces = self.write(solved)
        seconds, ran = solved.seconds + perf_counter() - start, (solved.device, worker_name())
        return Done(solved.block, pieces, len(own), len(rows), seconds, *ran)


class Ticket(NamedTuple):
    """The path and checksum of a file with the inputs of a job, sent to a worker process.

    Attributes
    ----------
    path : str
        A file whose name no other job has.
    checksum : str
        Its SHA-256: what is unpickled is what the job wrote.
    """

    path: str
    checksum: str


class Done(NamedTuple):
    """The manifest entry of a finished block: its files, its time, and the worker that computed it.

    Attributes
    ----------
    block : int
    pieces : list of Piece
    searches, certified : int
        How many; of those how many were certified.
    seconds : float
    device, worker : str
        Where.
    """

    block: int
    pieces: list[stores.Piece]
    searches: int
    certified: int
    seconds: float
    device: str
    worker: str


_lock = make_lock()
#: their graph, by its digest: the next job on it finds it here, and on the GPU
_networks: dict[str, sssp.Graph] = {}


def store_inputs(inputs: Inputs, path: Path) -> Ticket:
    """Write a job's inputs to a private file; return a `Ticket` with its path and checksum."""
    with stores.whole_file(path, inputs.temporary, PRIVATE) as stream:
        digested = _DigestingFile(stream)
        pickle.dump(inputs, digested, protocol=5)
    return Ticket(os.fspath(path), digested.digest.hexdigest())


class _DigestingFile:
    """A writable stream that computes the SHA-256 of its bytes."""

    def __init__(self, stream: stores.TalliedFile) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write a buffer and add its bytes to the SHA-256; return the number of bytes."""
        self.digest.update(data)
        return self.stream.write(data)


def do_block(inputs: Inputs | Ticket, block: int, device: Any, threads: int | None) -> Done:
    """Compute and write one block of a job's table; return the block's manifest entry."""
    if isinstance(inputs, Ticket):
        with _lock:
            inputs = _read_inputs(inputs)
    (solved,) = inputs.solve([block], device, threads)
    return inputs.finish(solved)


def worker_name() -> str:
    """Return the name of this worker process: host name and process id."""
    return f"{platform.node()}:{os.getpid()}"


@lru_cache(1)
def _read_inputs(ticket: Ticket) -> Inputs:
    path = Path(ticket.path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JobError(
            f"the worker {worker_name()} cannot read {str(path)!r} ({error.strerror}): a job's "
            "table lies in a folder that all its workers see under the same name"
        ) from error
    # (of the bytes that are unpickled: another may write to the file between two readings)
    if hashlib.sha256(content).hexdigest() != ticket.checksum:
        raise JobError(
            f"{str(path)!r} is not what was written: the disk has damaged it, or another program "
            "has changed it; run the job again"
        )
    inputs: Inputs = pickle.loads(content)
    file = inputs.network
    if isinstance(file, GraphFile):
        network: Any = _networks.get(file.identity["graph"])
        if network is None or identity_of(network) != file.identity:
            try:
                network = read_network(file.path)
            except (OSError, GraphFormatError) as error:
                raise GraphNotSeenError(f"the worker {worker_name()}: {error}") from error
            if identity_of(network) != file.identity:
                other = f"the worker {worker_name()} has another graph in {file.path!r}"
                raise GraphNotSeenError(other)
        inputs = replace(inputs, network=network)
    _networks.clear()
    _networks[identity_of(inputs.network)["graph"]] = inputs.network
    return inputs
