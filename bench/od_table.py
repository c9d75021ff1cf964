"""Write a table of a million points and a thousand targets, and compare with what the disk takes.

    python -m bench.od_table [GRAPH] [--device cuda] [--folder /mnt/disk] [--json FILE]
    python -m bench.od_table --points 1000000 --targets 1000 --processes 2

``dd`` writes as many bytes as the table has, and waits until they are on disk (``conv=fsync``); so
does `sssp.run`, file by file. The whole job is timed, searches and all, and the writing alone of
blocks that are there already, without and with zstd; a few columns are certified. Points are random
vertices, so that many stand at the same one, which has one row.

Memory is the most that this process has held while the job ran (VmHWM of Linux), less what it held
just before (VmRSS): the graph, the libraries, and with a GPU its context and the kernels, for a
small job has run by then. What counts are blocks that are found or in the hands of those who write.
With ``--processes 2`` an executor does the blocks, and this process only coordinates.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from bench.common import Record, options_of
from sssp.apps.jobs.layout import Field, Layout
from sssp.apps.jobs.runners import WRITERS_A_GPU
from sssp.apps.jobs.zarr_store import ZarrStore
from sssp.apps.terminal.arguments import named_graph
from sssp.kernels.dtypes import INT32

SEED = 1
MEGABYTE = 10**6
#: columns of the table that are certified, each by a search of Dijkstra's of its own
CERTIFIED = 4
#: bytes that ``dd`` writes at a time, and blocks that are written alone
DD_PIECE, WRITTEN = 16 << 20, 16
STATUS = Path("/proc/self/status")


@dataclass
class Figure:
    """One line of the table.

    Attributes
    ----------
    what : str
    seconds : float
    table, written : int
        Bytes of distances, and of files.
    share : float or None
        Bytes of files a second, beside those of ``dd``.
    memory : int or None
        Most bytes that the process held, beside those before the job.
    """

    what: str
    seconds: float
    table: int
    written: int
    share: float | None = None
    memory: int | None = None


def main() -> int:
    """Measure, print a table, and write it down if asked."""
    parser = options_of(__doc__)
    parser.add_argument("graph", nargs="?", default="USA-road-d.NY", type=named_graph)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--processes", type=int, default=0, help="that do the blocks")
    parser.add_argument("--folder", help="on the disk that is to be written")
    options = parser.parse_args()
    g = options.graph.load()
    random = np.random.default_rng(SEED)
    points = random.integers(0, g.n, options.points)
    targets = random.choice(g.n, options.targets, replace=False)
    record = Record(
        {
            "graph": options.graph.name,
            "n": g.n,
            "m": g.m,
            "points": options.points,
            "distinct": int(np.unique(points).size),
            "targets": options.targets,
            "device": options.device,
            "processes": options.processes,
            "clock": "wall, seconds",
        },
        ("what", "s", "MB of table/s", "MB of files/s", "times dd", "MB of memory"),
    )
    on: Any = nullcontext()
    if options.processes:
        on = ProcessPoolExecutor(options.processes, get_context("spawn"))
    with tempfile.TemporaryDirectory(prefix="sssp-", dir=options.folder) as folder, on as executor:
        measure(g, points, targets, Path(folder), options.device, executor, record)
    return record.finish(options.json)


def measure(
    g: sssp.Graph,
    points: Any,
    targets: Any,
    folder: Path,
    device: str,
    executor: Executor | None,
    record: Record,
) -> None:
    """Time the disk, the job, and the writing alone."""
    # (kernels, context and graph are there before the clock runs, and the libraries that write)
    sssp.run(
        g, points[:100], to=folder / "warm.zarr", targets=targets[:64], block_size=4, on=executor,
        device=device, progress=False,
    )  # fmt: skip
    nbytes = int(np.unique(points).size) * targets.size * INT32.itemsize
    disk = max(dd(folder, nbytes) for _ in range(2))
    show(record, Figure("dd", nbytes / disk, nbytes, nbytes, 1.0))
    for compression in (None, "zstd"):
        name = f"job, {compression or 'uncompressed'}"
        held = memory("VmRSS")
        forget_peak()
        start = perf_counter()
        report = sssp.run(
            g, points, to=folder / f"{compression}.zarr", targets=targets, on=executor,
            compression=compression, device=device, certify=CERTIFIED, progress=False,
        )  # fmt: skip
        seconds = perf_counter() - start
        share = report.written / seconds / disk
        peak = None if held is None else (memory("VmHWM") or 0) - held
        show(record, Figure(name, seconds, report.nbytes, report.written, share, peak))
    rows = np.ascontiguousarray(report.sources)
    block = sssp.shortest_paths(g, targets[:16], device=device).distances[:, rows]
    for zstd in (False, True):
        write_alone(record, folder, block.T, targets.size, disk, zstd=zstd)


def write_alone(
    record: Record, folder: Path, values: Any, columns: int, disk: float, *, zstd: bool
) -> None:
    """Time the writing of blocks that are there, in as many threads as a GPU has."""
    field = Field("distances", "distance", INT32, columns)
    layout = Layout((field,), len(values), columns, values.shape[1], by_columns=True)
    store = ZarrStore(folder / f"alone-{zstd}.zarr", layout, zstd)
    temporary = folder / "unfinished"
    temporary.mkdir(exist_ok=True)
    store.prepare({}, {}, temporary)
    values = values.astype(INT32)
    blocks = min(WRITTEN, layout.blocks)
    start = perf_counter()
    with ThreadPoolExecutor(WRITERS_A_GPU) as writers:
        files = writers.map(
            lambda block: store.write(block, {"distances": values}, temporary), range(blocks)
        )
        written = sum(piece.size for pieces in files for piece in pieces)
    seconds = perf_counter() - start
    what = f"writing alone, {WRITERS_A_GPU} threads, {'zstd' if zstd else 'uncompressed'}"
    figure = Figure(what, seconds, blocks * values.nbytes, written, written / seconds / disk)
    show(record, figure)


def dd(folder: Path, nbytes: int) -> float:
    """Return the bytes a second that ``dd`` brings to the disk."""
    file = folder / "dd"
    pieces = max(1, nbytes // DD_PIECE)
    command = ["dd", "if=/dev/zero", f"of={file}", f"bs={DD_PIECE}", f"count={pieces}"]
    start = perf_counter()
    subprocess.run([*command, "conv=fsync"], check=True, capture_output=True)
    rate = pieces * DD_PIECE / (perf_counter() - start)
    file.unlink()
    return rate


def forget_peak() -> None:
    """Let the greatest memory be counted anew, where the system can."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def memory(name: str) -> int | None:
    """Return what the system says of this process, in bytes."""
    if not STATUS.exists():
        return None
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def show(record: Record, figure: Figure) -> None:
    """Keep a figure, and print it."""
    rates = (figure.table / figure.seconds, figure.written / figure.seconds)
    record.add(
        [figure],
        [
            figure.what,
            f"{figure.seconds:.2f}",
            *(f"{rate / MEGABYTE:,.0f}" for rate in rates),
            "" if figure.share is None else f"{figure.share:.2f}",
            "" if figure.memory is None else f"{figure.memory / MEGABYTE:,.0f}",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
