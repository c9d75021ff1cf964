"""Run jobs: compute a result table larger than memory in blocks, and resume after a stop."""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import sssp
from sssp.apps.jobs import blocks, stores
from sssp.apps.jobs.blocks import Done
from sssp.apps.jobs.manifest import FRAME, Manifest
from sssp.apps.jobs.runners import LocalRunner, Runner, runner_of
from sssp.calls.choose_device import named_devices
from sssp.cpu.tree_sums import check_arc_values
from sssp.engine.check_arguments import as_count, as_network, as_vertices
from sssp.engine.exact_sums import as_numbers
from sssp.engine.plan import weights_of, with_fixed_dtype
from sssp.engine.progress import check_progress, progress_bar
from sssp.engine.threads import check_threads
from sssp.errors import JobError, quote
from sssp.graph.check_arrays import as_flag, number_array
from sssp.methods import Method
from sssp.prepared.read_hierarchy import read_network

#: searches of a job whose rows are certified, if the call names no number
CERTIFIED = 16
#: seed of their choice
SEED = 1
#: seconds beside which it hardly counts that kernels are compiled
LONG = 100.0
#: error numbers of a full disk or quota; the last is the process's limit on file sizes
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

#: what skims may not be called
RESERVED = {stores.DISTANCES, "distance", "source", "target"}

Array = NDArray[Any]
logger = logging.getLogger("sssp")


@dataclass
class Report:
    """The report of a job: its table, its blocks, and the work that was done.

    Attributes
    ----------
    path : Path
        The table.
    form : {"zarr", "long", "wide"}
    sources : ndarray, shape (r,), int64
        The vertices of its rows: the sources of the call, each once, as they first appear.
    rows : ndarray, shape (k,), or None
        The row of every source of the call; None: all differ, and row i is that of source i.
    blocks, block_size : int
        How many, of how many searches each.
    searches : int
        Of all blocks: the sources that differ, or the targets where they are fewer and an answer
        from them is the same.
    nbytes : int
        Of the table, uncompressed.
    done_before, done : int
        Blocks that were there already, and that this call has done.
    written : int
        Bytes that this call has written, metadata and labels of a store too.
    seconds : float
        That it took.
    estimate : float or None
        Seconds for all that was left, by a block that came after the first ones, for those wait
        until kernels are compiled; None: there was none.
    certified : int
        Rows that this call has certified, of those that it wrote.
    devices, workers : dict of str to int
        Blocks of this call by where they were done.
    """

    path: Path
    form: str
    sources: Array
    rows: Array | None
    blocks: int
    block_size: int
    searches: int
    nbytes: int
    done_before: int = 0
    done: int = 0
    written: int = 0
    seconds: float = 0.0
    estimate: float | None = None
    certified: int = 0
    devices: dict[str, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all blocks of sources of the job have been computed."""
        return self.done_before + self.done == self.blocks

    def check(self) -> int:
        """Verify the checksums of all files of the job's result table; return their total bytes.

        Raises
        ------
        JobError
            A file is not as it was written, or gone.
        """
        return Manifest(self.path).check(self.blocks)

    def plan(self) -> str:
        """Return a line of text that describes the job: searches, blocks, bytes, estimated time."""
        left = self.blocks - self.done_before
        text = (
            f"{self.path.name}: {self.searches:,} searches in {self.blocks:,} blocks of "
            f"{self.block_size:,}, {self.nbytes:,} bytes uncompressed"
        )
        if self.done_before:
            text += f"; {self.done_before:,} blocks are there, {left:,} to do"
        if self.estimate is not None:
            text += f"; about {_format_seconds(self.estimate)}"
        return text

    def outcome(self) -> str:
        """Return a line of text on the work done: blocks, time, devices, bytes, certified rows."""
        places = ", ".join(f"{count:,} on {name}" for name, count in sorted(self.devices.items()))
        return (
            f"{self.path.name}: {self.done:,} blocks done in {_format_seconds(self.seconds)}"
            f"{f' ({places})' if places else ''}, {self.written:,} bytes written, "
            f"{self.certified:,} rows certified"
        )

    def __str__(self) -> str:
        return f"{self.plan()}\n{self.outcome()}"

    def count(self, done: Done) -> None:
        """Add a finished block to the counters of the report."""
        self.done += 1
        self.written += sum(piece.size for piece in done.pieces)
        self.certified += done.certified
        for counts, name in ((self.devices, done.device), (self.workers, done.worker)):
            counts[name] = counts.get(name, 0) + 1


def run(
    g: sssp.Graph | sssp.Hierarchy | str | PathLike[str],
    sources: ArrayLike,
    *,
    to: str | PathLike[str],
    reduce: str | None = None,
    targets: ArrayLike | None = None,
    skim: ArrayLike | Mapping[str, ArrayLike] | None = None,
    limit: float | None = None,
    vertex_weights: ArrayLike | None = None,
    decay: tuple[Any, Any] | None = None,
    form: str | None = None,
    compression: str | None = "zstd",
    method: str | Method = "auto",
    device: Any = "auto",
    dtype: DTypeLike | None = None,
    on: Any = None,
    resume: bool = True,
    dry_run: bool = False,
    block_size: int | None = None,
    certify: int = CERTIFIED,
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Report:
    """Compute a table that is larger than memory, block by block, on this machine or a cluster.

    Parameters
    ----------
    g : Graph, Hierarchy or path-like
        A graph, a prepared map, or the file of either, which workers then read themselves.
    sources : int, or array_like of int, shape (k,)
        Each is searched once, however often it stands there.
    to : path-like
        The table: a name that ends in ``.zarr`` for a Zarr 3 store, else a folder for Parquet
        parts. A folder beside it, ``<to>.job``, keeps the manifest.
    reduce : str, optional
        Keep what `sssp.reduce` makes of a row.
    targets : int, or array_like of int, optional
        The columns, or the vertices that count in a reduction; by default all. A long table has
        each once, however often it stands there; a wide one refuses what stands there twice.
    skim : array_like, shape (m,), or mapping of str to that, optional
        Values of arcs to add up along the paths, as `ShortestPaths.skim` does; a mapping names
        several. Needs trees, and so a search from every source.
    limit : float, optional
        Greatest distance of interest, inclusive.
    vertex_weights, decay
        As for `sssp.reduce`, with ``reduce="weight"``.
    form : {"long", "wide"}, optional
        Of Parquet: a row for every vertex that is reached (source, target, distance), or a row a
        source and a column per target.
    compression : {"zstd", None}
    method, device, dtype, memory_limit
        As for `sssp.shortest_paths`; a list of devices, and ``"cuda:all"``, for ``on=None``.
        ``"auto"`` takes all GPUs of this process where it takes one; a worker takes what
        ``SSSP_DEVICE`` names there, or chooses.
    on : Executor or Client, optional
        A `concurrent.futures.Executor`, or a `dask.distributed.Client`; by default this process:
        all its cores, or its GPUs.
    resume : bool
        Go on with what is done there. False refuses if any block is.
    dry_run : bool
        Measure a block (twice, for the first time compiles kernels), write nothing, and return the
        plan.
    block_size : int, optional
        Searches of a block; by default as many as fill 64 MiB (128 on a GPU), at most 8,192, and
        so few that there are 64 blocks.
    certify : int
        How many rows to certify, drawn from all, as their blocks are found; 0: none.
    threads : int, optional
        In this process: of all blocks under way together, by default all cores. Else of each, by
        default 1.
    progress : bool, optional
        As for `sssp.shortest_paths`.

    Returns
    -------
    Report

    Raises
    ------
    JobError
        What is done there is of another graph or other parameters (the message says which), of no
        job, damaged, or in use; there is no room; workers died or do not see what they must. What
        is done is kept.
    OSError
        The folder cannot be made or written to.
    MissingExtraError
        The library that writes the table is not installed.
    VerificationError
        A row that was certified is wrong; its block is not written.
    VertexError, NegativeWeightError, NegativeCycleError, DistanceOverflowError, DeviceError
        As `sssp.shortest_paths` raises them.
    ValueError, TypeError
        Another argument is not what it should be.

    Notes
    -----
    A Zarr store has an array ``distances`` (or one named like the reduction), one for each skim,
    and coordinates ``source`` and ``target``: labels if they are integers, else vertices; Parquet
    holds labels, and for no sources a part without rows. Chunks are blocks: each is made under
    another name and renamed, so that a crash leaves it whole or not at all, and the manifest then
    says that it is done. All blocks have one dtype, as `sssp.iter_blocks` has it.

    A table with fewer targets than sources, of integers and without skims, is searched from the
    targets, as `sssp.shortest_paths` does: a block then is some columns (not of wide Parquet).

    Memory: in this process, beside the graph, a block per thread, and of a GPU what two calls find
    (128 MiB each) and what is being written of it; on an executor or a cluster less than that. The
    graph travels as the path of its file, or of a copy beside the table, which only this user may
    read; a worker compares the SHA-256 of what it reads.

    The files are the same to the byte, wherever blocks are computed: the table does not record it.

    Examples
    --------
    >>> import sssp, tempfile
    >>> g = sssp.road_like(100)
    >>> to = tempfile.mkdtemp() + "/od"
    >>> report = sssp.run(g, range(10), to=to, targets=[5, 6], block_size=4)
    >>> report.blocks, report.searches, report.complete
    (1, 2, True)
    """
    file = None
    if isinstance(g, str | PathLike):
        # (a pipe cannot be read a second time)
        file = os.fspath(g) if os.path.isfile(g) else None
        g = read_network(g)
    network = as_network(g)
    text = os.fsdecode(to)
    if "://" in text:
        raise ValueError(
            f"to is {text!r}: a table lies in a folder that this process sees, not at an address"
        )
    table = Path(os.path.abspath(text))
    if not text or not table.name:
        raise ValueError(f"to is {text!r}, which is not the name of a folder to make")
    for name, value in (("vertex_weights", vertex_weights), ("decay", decay)):
        if reduce is None and value is not None:
            raise ValueError(f"{name} belongs to the reduction 'weight', and to nothing else")
    vertices, _ = as_vertices(sources, network, "source")
    distinct, rows = stores.distinct_rows(vertices)
    is_zarr = table.suffix == stores.SUFFIX
    if form is not None and (form not in ("long", "wide") or is_zarr):
        raise ValueError(
            f"form is {form!r}: it is 'long' or 'wide', of Parquet parts, and a name that ends in "
            f"{stores.SUFFIX} makes a Zarr store, which has none"
        )
    form = form or ("zarr" if is_zarr else "long")
    if compression not in ("zstd", None):
        raise ValueError(f"compression must be 'zstd' or None, not {compression!r}")
    if vertex_weights is not None:
        vertex_weights = number_array(vertex_weights, "vertex_weights")
    columns = None if targets is None else as_vertices(targets, network, "target")[0]
    if form == "long" and reduce is None and columns is not None:
        columns, _ = stores.distinct_rows(columns)
    skims = _check_skims(skim, network, reduce)
    dtype_name = None if dtype is None else np.dtype(dtype).str
    asked = blocks.JobRequest(
        columns, reduce, limit, vertex_weights, decay, skims, method, dtype_name, memory_limit
    )
    place = device, on, threads
    job = _Job(network, file, distinct, asked, *place, table, form, compression == "zstd")
    flags = {"resume": as_flag(resume, "resume"), "dry_run": as_flag(dry_run, "dry_run")}
    size = None if block_size is None else as_count(block_size, "block_size")
    checked = as_count(certify, "certify", least=0), check_progress(progress)
    return job.run(rows, size, *checked, **flags)


@dataclass
class _Job:
    """A job with checked arguments, which plans its blocks and computes them."""

    network: sssp.Graph
    file: str | None
    distinct: Array
    asked: blocks.JobRequest
    device: Any
    on: Any
    threads: int | None
    table: Path
    form: str
    zstd: bool

    def __post_init__(self) -> None:
        asked, distinct, threads = self.asked, self.distinct, check_threads(self.threads)
        # (devices and threads of workers are not known)
        place = (self.device, threads) if self.on is None else ("cpu", 1)
        self.plan = asked.plan(self.network, distinct, *place)
        weights_dtype = weights_of(self.plan.network, self.plan.method).dtype
        self.by_columns = self.plan.transposed is not None and self.form != "wide"
        self.targets = asked.targets
        if asked.what is None:
            dtype = with_fixed_dtype(self.plan).request.dtype
            asked = replace(asked, dtype=(dtype or weights_dtype).str)
        self.starts = distinct
        if self.by_columns:
            assert asked.targets is not None
            self.starts, asked = asked.targets, replace(asked, targets=distinct)
        self.asked = asked
        reduction = self.plan.request.reduction
        if reduction is not None:
            width = None if reduction.one_column else reduction.columns
            types = {(reduction.what, reduction.what): reduction.dtype_of(weights_dtype)}
        else:
            width = self.network.n if self.targets is None else self.targets.size
            types = {(stores.DISTANCES, "distance"): np.dtype(asked.dtype)}
            types |= {(name, name): values.dtype for name, values in asked.skims.items()}
        self.fields = tuple(stores.Field(*names, dtype, width) for names, dtype in types.items())
        #: bytes that each search keeps until its block is written
        self.search_bytes = sum(field.row_bytes for field in self.fields)
        if self.by_columns:
            self.search_bytes = distinct.size * self.fields[0].dtype.itemsize
        elif asked.skims:
            self.search_bytes += 4 * self.network.n  # (trees)

    def _identity(self, layout: stores.Layout, chunk_bytes: int | None) -> dict[str, Any]:
        """Return all parameters that determine the job's results, as stored in the manifest."""
        asked, plan = self.asked, self.plan
        reduction = plan.request.reduction
        decay: Any = None if reduction is None else reduction.decay
        if decay is not None and decay.function is not None:
            raise TypeError(
                "a job that goes on cannot tell whether a function is still the same: pass decay "
                "as a tuple, of edges and values for instance"
            )
        if decay is not None:
            decay = repr((*decay[:2], *map(blocks.digest_of, decay[2:4])))
        labels = self.network.labels
        if labels is not None and labels.dtype.kind == "O":
            labels = np.frombuffer(repr(labels.tolist()).encode(), np.uint8)
        return blocks.identity_of(self.network) | {
            "sources": _describe_array(self.distinct),
            "targets": _describe_array(self.targets),
            "reduce": asked.what,
            "vertex_weights": _describe_array(asked.vertex_weights),
            "decay": decay,
            "skim": {name: blocks.digest_of(values) for name, values in asked.skims.items()},
            "limit": plan.request.limit,
            "method": repr(plan.method),
            "dtype": [field.dtype.str for field in layout.fields],
            "form": self.form,
            "compression": "zstd" if self.zstd else None,
            "labels": None if labels is None else blocks.digest_of(labels),
            "block_size": layout.block_size,
            "chunk_bytes": chunk_bytes,
        }

    def run(
        self,
        rows: Array | None,
        block_size: int | None,
        certify: int,
        progress: bool | None,
        *,
        resume: bool,
        dry_run: bool,
    ) -> Report:
        """Compute the missing blocks of the job's result table; return a report on the job."""
        manifest, request = Manifest(self.table), self.plan.request
        chunk_bytes = stores.CHUNK_BYTES if self.form == "zarr" else None
        if manifest.job is not None:
            if not resume:
                raise JobError(f"{str(self.table)!r} is there already; resume=True goes on with it")
            block_size = block_size or manifest.job["block_size"]
            # (an earlier version may have cut them otherwise)
            chunk_bytes = manifest.job["chunk_bytes"]
        size, searches, on_gpu = self.distinct.size, self.starts.size, request.device != "cpu"
        if block_size is None:
            block_size = stores.block_size_of(searches, self.search_bytes, on_gpu=on_gpu)
        layout = stores.Layout(self.fields, size, searches, block_size, self.by_columns)
        identity = self._identity(layout, chunk_bytes)
        known = json.loads(json.dumps(identity))
        if manifest.job is not None and (odd := manifest.differences(known)):
            raise JobError(
                f"{str(self.table)!r} is of another job: {', '.join(odd)}; name another place, "
                "or ask the same"
            )
        report = Report(
            self.table, self.form, self.distinct, rows, layout.blocks, layout.block_size,
            layout.searches, layout.nbytes,
        )  # fmt: skip
        temporary = manifest.temporary(identity)
        inputs = self._inputs(layout, chunk_bytes, temporary, certify)
        runner = self._runner(layout)
        if dry_run:
            report.done_before = int(manifest.find_done(layout.blocks)[1].sum())
            _measure(inputs, report, runner)
            return report
        if manifest.job is None:
            self._refuse_full_disk(report)
        with _explain_full_disk(report), manifest.open(identity):
            # (only now, for another process may have been at work)
            framed, done = manifest.find_done(layout.blocks)
            report.done_before = int(done.sum())
            self._refuse_full_disk(report)
            if not framed:
                frame = inputs.sink.prepare(self._labels(), {"sssp": identity}, temporary)
                # (on record before it is in place: so what is in place is known to be the job's)
                manifest.add([(FRAME, list(frame.values()))])
                for made, piece in frame.items():
                    stores.move_into_place(made, self.table / piece.name)
                    report.written += piece.size
            logger.info("%s", report.plan())
            start = perf_counter()
            left = sum(len(layout.searches_of(block)) for block in np.flatnonzero(~done).tolist())
            try:
                with progress_bar(left, progress) as advance:
                    for some in self._run_blocks(inputs, runner, done):
                        manifest.add((one.block, one.pieces) for one in some)
                        for one in some:
                            done[one.block] = True
                            report.count(one)
                            advance(one.searches)
                        if report.estimate is None and report.done > runner.slots * runner.together:
                            last = some[-1]
                            report.estimate = _estimate(last.seconds, last.searches, left, runner)
                            logger.info("about %s for all of it", _format_seconds(report.estimate))
            finally:
                report.seconds = perf_counter() - start
            manifest.finish()
        return report

    def _run_blocks(
        self, inputs: blocks.Inputs, runner: Runner, done: NDArray[np.bool_]
    ) -> Iterator[list[Done]]:
        """Compute the blocks not marked in `done`; yield manifest entries of finished blocks."""
        if runner.in_process:
            yield from runner.run(inputs, np.flatnonzero(~done).tolist())
            return
        ways = [inputs]
        if self.file is not None:
            path, identity = os.path.abspath(self.file), blocks.identity_of(inputs.network)
            ways.insert(0, replace(inputs, network=blocks.GraphFile(path, identity)))
        for way in ways:
            kept = inputs.temporary / secrets.token_hex(8)
            try:
                ticket = blocks.store_inputs(way, kept)
                yield from runner.run(ticket, np.flatnonzero(~done).tolist())
                return
            except blocks.GraphNotSeenError as error:
                logger.info("%s; so the graph travels", error)
            finally:
                kept.unlink(missing_ok=True)

    def _runner(self, layout: stores.Layout) -> Runner:
        """Return the runner that computes blocks: in this process, on an executor or a cluster."""
        if self.on is not None:
            return runner_of(self.on, self.device, self.threads)
        request, threads = self.plan.request, check_threads(self.threads)
        devices = list(request.devices) or [request.device]
        if request.by_rule:
            devices = named_devices("cuda:all")
        elif devices == ["cpu"]:
            devices = ["cpu"] * max(1, min(threads, layout.blocks))
        together = 1
        if any(device != "cpu" for device in devices):
            together = stores.blocks_together(layout.block_size, self.search_bytes)
        each = max(1, threads // len(devices))
        return LocalRunner(devices, each, together, by_rule=request.by_rule)

    def _inputs(
        self, layout: stores.Layout, chunk_bytes: int | None, temporary: Path, certify: int
    ) -> blocks.Inputs:
        sink: stores.ZarrStore | stores.ParquetParts
        if self.form == "zarr":
            most = chunk_bytes or stores.CHUNK_BYTES
            sink = stores.ZarrStore(self.table, layout, self.zstd, most)
        else:
            labels = self._labels()
            for name, values in labels.items():
                if values.dtype.kind not in "iuU":
                    raise TypeError(
                        f"Parquet holds {name}s whose labels are all integers or all strings, not "
                        f"like {quote(values[0])}; relabel the vertices, or write a .zarr store"
                    )
            sink = stores.ParquetParts(
                self.table, layout, self.zstd, self.form == "wide",
                labels["source"], labels.get("target"),
            )  # fmt: skip
            sink.check()
        size = min(certify, layout.searches)
        sample = np.random.default_rng(SEED).choice(layout.searches, size, replace=False)
        return blocks.Inputs(
            self.network, self.starts, self.asked, layout, sink, temporary, np.sort(sample)
        )

    def _labels(self) -> dict[str, Array]:
        """Return a dict with source labels and, unless the job reduces rows, target labels."""
        vertices, labels = {"source": self.distinct}, self.network.labels
        if self.asked.what is None:
            vertices["target"] = np.arange(self.network.n) if self.targets is None else self.targets
        # (strings have no form in the standard of Zarr yet)
        if labels is None or (self.form == "zarr" and labels.dtype.kind not in "iu"):
            return vertices
        return {name: labels[own] for name, own in vertices.items()}

    def _refuse_full_disk(self, report: Report) -> None:
        """Raise `JobError` if the table does not fit on the disk (not for compressed tables)."""
        folder = next(parent for parent in self.table.absolute().parents if parent.exists())
        free = shutil.disk_usage(folder).free
        needed = report.nbytes * (report.blocks - report.done_before) // max(1, report.blocks)
        if needed > free and not self.zstd:
            raise JobError(
                f"the table takes {needed:,} bytes more, but {str(folder)!r} has {free:,} free: "
                "make room, name another disk, or ask for less (targets, limit, reduce)"
            )


@contextmanager
def _explain_full_disk(report: Report) -> Iterator[None]:
    """Turn the error of a full disk into a `JobError`."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise JobError(
            f"there is no room for more of {str(report.path)!r} ({error.strerror}): "
            f"{report.done_before + report.done:,} of {report.blocks:,} blocks are done and kept; "
            "make room, and run the job again"
        ) from error


def _measure(inputs: blocks.Inputs, report: Report, runner: Runner) -> None:
    """Time the first searches in this process; set `report.estimate` to the job's seconds left.

    Twice, for kernels are compiled the first time; unless that is lost in what it takes.
    """
    if report.complete:
        return
    layout = inputs.layout
    blocks = range(min(runner.together, layout.blocks))
    for _ in range(2):
        start = perf_counter()
        inputs.solve(blocks, runner.measured_on, runner.threads)
        seconds = perf_counter() - start
        if seconds > LONG:
            break
    searches = sum(len(layout.searches_of(block)) for block in blocks)
    left = layout.searches * (report.blocks - report.done_before) // report.blocks
    report.estimate = _estimate(seconds, searches, left, runner)


def _estimate(seconds: float, searches: int, left: int, runner: Runner) -> float:
    """Estimate the seconds of `left` remaining searches from those of `searches` timed ones."""
    return seconds / searches * left / min(runner.slots, -(-left // searches))


def _check_skims(skim: Any, network: sssp.Graph, reduce: str | None) -> dict[str, Array]:
    if skim is None:
        return {}
    if reduce is not None:
        raise ValueError("skim= keeps sums of every row, and reduce= no rows: omit one")
    named = skim if isinstance(skim, Mapping) else {"skim": skim}
    values = {name: as_numbers(one, f"skim {name!r}") for name, one in named.items()}
    for name, one in values.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise ValueError(
                f"a skim is called {name!r}: it takes a name of letters, digits and underscores, "
                f"and none of {', '.join(sorted(RESERVED))}"
            )
        check_arc_values(network._tree_graph, one.shape)
    return values


def _describe_array(array: Array | None) -> str | None:
    return None if array is None else f"{len(array):,} numbers, {blocks.digest_of(array)}"


def _format_seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
