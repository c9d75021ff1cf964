"""Blocks of a job: the functions that every worker runs, and how it comes by its inputs.

What goes to a worker with a block is a `Ticket`: the number of the block, and where the inputs lie
that all blocks share. Those are read once a process, and kept until another job comes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.apps.jobs.job_request import Asked, Buffers, identity_of, some_rows
from sssp.apps.jobs.layout import Layout
from sssp.apps.jobs.stores import ParquetParts, Piece, TalliedFile, ZarrStore, whole_file
from sssp.engine.network import open_part, reversed_graph
from sssp.errors import GraphFormatError, JobError
from sssp.kernels.locks import make_lock
from sssp.prepared.prepare import read_network

#: mode of a file that this user alone may read or write
PRIVATE = 0o600

Array = NDArray[Any]


class GraphNotSeenError(JobError):
    """A worker does not see the file of the graph, or another one under its name."""


class GraphFile(NamedTuple):
    """A file that a worker reads the graph from.

    Attributes
    ----------
    path : str
    identity : dict
        Of what is in it.
    """

    path: str
    identity: dict[str, Any]


class Solved(NamedTuple):
    """What the searches of a block have found.

    Attributes
    ----------
    block : int
    network : Graph or Hierarchy
        What was searched.
    searches : range
        Which of the job.
    starts : ndarray, int64
        Where they start.
    values : dict of str to ndarray
        Every field, a row a search.
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
    starts: Array
    values: dict[str, Array]
    result: sssp.ShortestPaths | None
    first: int
    device: str
    seconds: float


@dataclass(frozen=True)
class Inputs:
    """What all blocks of a job share.

    Attributes
    ----------
    network : Graph, Hierarchy or GraphFile
    starts : ndarray, int64
        Where the searches start, those of all blocks.
    asked : Asked
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
    asked: Asked
    layout: Layout
    sink: ZarrStore | ParquetParts
    temporary: Path
    sample: Array
    buffers: Buffers = field(default_factory=Buffers)

    def solve(self, blocks: Sequence[int], device: Any, threads: int | None) -> list[Solved]:
        """Search for some blocks in one call; return what it has found for each, as views."""
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
            found.append(
                Solved(block, network, own, starts[rows], part, result, first, device, seconds)
            )
            first = rows.stop
        return found

    def certify(self, solved: Solved) -> int:
        """Certify those searches of a block that are in the sample; return how many they are."""
        searches = solved.searches
        first, end = np.searchsorted(self.sample, (searches.start, searches.stop))
        rows = (self.sample[first:end] - searches.start).tolist()
        result = solved.result
        if rows and result is not None:
            result = some_rows(result, [solved.first + row for row in rows])
        self.asked.certify(solved.network, solved.starts, rows, solved.values, result)
        return len(rows)

    def write(self, solved: Solved) -> list[Piece]:
        """Write a block; return its files."""
        values = solved.values
        if self.layout.by_columns:
            values = {name: table.T for name, table in values.items()}
        return self.sink.write(solved.block, values, self.temporary)


class Ticket(NamedTuple):
    """Where a worker finds the inputs of a block.

    Attributes
    ----------
    key : str
        Tells jobs apart.
    path : str or None
        A file; None: they are in this process.
    checksum : str
        Its SHA-256: what is unpickled is what the job wrote.
    """

    key: str
    path: str | None = None
    checksum: str = ""


class Done(NamedTuple):
    """A block that is done.

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
    pieces: list[Piece]
    searches: int
    certified: int
    seconds: float
    device: str
    worker: str


_lock = make_lock()
#: inputs by the key of their job: of jobs that this process has begun, and of the last that it read
_begun: dict[str, Inputs] = {}
_read: dict[str, Inputs] = {}
#: the graph of the latter, by its digest: the next job on it finds it here, and on the GPU
_networks: dict[str, sssp.Graph] = {}


@contextmanager
def lend_inputs(key: str, inputs: Inputs) -> Iterator[Ticket]:
    """Keep inputs in this process for a while; yield the ticket for its workers."""
    _begun[key] = inputs
    try:
        yield Ticket(key)
    finally:
        del _begun[key]


def store_inputs(inputs: Inputs, key: str, path: Path) -> Ticket:
    """Write inputs to a file of this user alone; return the ticket for workers that see it."""
    with whole_file(path, inputs.temporary, PRIVATE) as stream:
        digested = _DigestingFile(stream)
        pickle.dump(inputs, digested, protocol=5)
    return Ticket(key, os.fspath(path), digested.digest.hexdigest())


class _DigestingFile:
    """A stream to write, with the SHA-256 of its bytes."""

    def __init__(self, stream: TalliedFile) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write all of what supports the buffer protocol."""
        self.digest.update(data)
        return self.stream.write(data)


def do_block(ticket: Ticket, block: int, device: Any, threads: int | None) -> Done:
    """Find a block and write it; return its entry in the manifest."""
    (solved,) = search_blocks(ticket, [block], device, threads)
    return finish_block(ticket, solved)


def search_blocks(
    ticket: Ticket, blocks: Sequence[int], device: Any, threads: int | None
) -> list[Solved]:
    """Find some blocks in one call."""
    return _inputs_of(ticket).solve(blocks, device, threads)


def finish_block(ticket: Ticket, solved: Solved) -> Done:
    """Certify a block and write it; return its entry in the manifest."""
    start = perf_counter()
    inputs = _inputs_of(ticket)
    certified = inputs.certify(solved)
    pieces = inputs.write(solved)
    return Done(
        solved.block,
        pieces,
        len(solved.searches),
        certified,
        solved.seconds + perf_counter() - start,
        solved.device,
        worker_name(),
    )


def worker_name() -> str:
    """Return a name for this process."""
    return f"{platform.node()}:{os.getpid()}"


def _inputs_of(ticket: Ticket) -> Inputs:
    with _lock:
        found = _begun.get(ticket.key) or _read.get(ticket.key)
        if found is None:
            found = _read_inputs(ticket)
            _read.clear()
            _read[ticket.key] = found
            _networks.clear()
            _networks[identity_of(found.network)["graph"]] = found.network
        return found


def _read_inputs(ticket: Ticket) -> Inputs:
    path = Path(ticket.path or "")
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
    if isinstance(inputs.network, GraphFile):
        network = _read_graph(inputs.network)
        inputs = Inputs(**{**inputs.__dict__, "network": network})
    return inputs


def _read_graph(file: GraphFile) -> sssp.Graph:
    kept = _networks.get(file.identity["graph"])
    if kept is not None and identity_of(kept) == file.identity:
        return kept
    try:
        network: sssp.Graph = read_network(file.path)  # type: ignore[assignment]  # or what stands for it
    except (OSError, GraphFormatError) as error:
        raise GraphNotSeenError(f"the worker {worker_name()}: {error}") from error
    if identity_of(network) != file.identity:
        raise GraphNotSeenError(f"the worker {worker_name()} has another graph in {file.path!r}")
    return network
