"""Time a table of a million points and a thousand targets, beside the rate of the disk.

    python -m bench.od_table [GRAPH] [--device cuda] [--folder /mnt/disk] [--json FILE]
    python -m bench.od_table --points 1000000 --targets 1000 --processes 2

``dd`` writes as many bytes as the table has, and waits until they are on disk (``conv=fsync``); so
does `sssp.run`, file by file. The whole job is timed, searches and all, and the writing alone of
blocks that are there already, without and with zstd; a few columns are certified. Points are random
vertices, so that many stand at the same one, which has one row.

Memory is the most that this process has held while the job ran (VmHWM of Linux), less what it held
just before (VmRSS): the graph, the libraries, and with a GPU its context and the kernels, for a
small job has run by then. These are blocks that wait for a writer or are being written.
With ``--processes 2`` an executor does the blocks, and this process only coordinates.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import sssp
from bench.listing import Listing, make_parser
from sssp.apps.jobs.runners import WRITERS_A_GPU
from sssp.apps.jobs.stores import Field, Layout, ZarrStore
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.workloads import time_call
from sssp.kernels.dtypes import INT32

SEED = 1
MEGABYTE = 10**6
#: columns of the table that are certified, each by a search of Dijkstra's of its own
CERTIFIED = 4
#: bytes that ``dd`` writes at a time, and blocks that are written alone
DD_PIECE, WRITTEN = 16 << 20, 16
STATUS = Path("/proc/self/status")


HEADINGS = "what | s | MB of table/s | MB of files/s | times dd | MB of memory"
CELLS = (
    "{what} | {seconds:.2f} | {table_rate:,.0f} | {file_rate:,.0f} | {share:.2f} | {megabytes:,.0f}"
)


class Run:
    """A listing, and the rate of the disk."""

    def __init__(self, listing: Listing, folder: Path, nbytes: int) -> None:
        self.listing = listing
        #: bytes per second that ``dd`` writes
        self.rate = max(write_by_dd(folder, nbytes) for _ in range(2))
        self.add("dd", nbytes / self.rate, nbytes, nbytes)

    def add(
        self, what: str, seconds: float, table: int, written: int, memory: int | None = None
    ) -> None:
        """Keep and print a row: bytes of the table, of its files, and of memory beyond before."""
        row = {"what": what, "seconds": seconds, "table": table, "written": written}
        row |= {"share": written / seconds / self.rate, "memory": memory}
        rates = {"table_rate": table / seconds, "file_rate": written / seconds, "megabytes": memory}
        shown = {name: None if one is None else one / MEGABYTE for name, one in rates.items()}
        self.listing.add(row, **shown)


def main() -> int:
    """Measure, print a table, and write it as JSON if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("graph", nargs="?", default="USA-road-d.NY", type=find_graph)
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
    settings = {
        "graph": options.graph.name,
        "n": g.n,
        "m": g.m,
        "points": options.points,
        "distinct": int(np.unique(points).size),
        "targets": options.targets,
        "device": options.device,
        "processes": options.processes,
        "clock": "wall, seconds",
    }
    listing = Listing(settings, HEADINGS, CELLS)
    on: Any = nullcontext()
    if options.processes:
        on = ProcessPoolExecutor(options.processes, get_context("spawn"))
    with tempfile.TemporaryDirectory(prefix="sssp-", dir=options.folder) as folder, on as executor:
        measure(g, points, targets, Path(folder), options.device, executor, listing)
    return listing.finish(options.json)


def measure(
    g: sssp.Graph,
    points: Any,
    targets: Any,
    folder: Path,
    device: str,
    executor: Executor | None,
    listing: Listing,
) -> None:
    """Time the disk, the job, and the writing alone."""
    # (kernels, context and graph are there before the clock runs, and the libraries that write)
    sssp.run(
        g, points[:100], to=folder / "warm.zarr", targets=targets[:64], block_size=4, on=executor,
        device=device, progress=False,
    )  # fmt: skip
    nbytes = int(np.unique(points).size) * targets.size * INT32.itemsize
    run = Run(listing, folder, nbytes)
    for compression in (None, "zstd"):
        name = f"job, {compression or 'uncompressed'}"
        held = read_memory("VmRSS")
        forget_peak()
        write = partial(
            sssp.run, g, points, to=folder / f"{compression}.zarr", targets=targets, on=executor,
            compression=compression, device=device, certify=CERTIFIED, progress=False,
        )  # fmt: skip
        seconds, report = time_call(write)
        peak = None if held is None else (read_memory("VmHWM") or 0) - held
        run.add(name, seconds, report.nbytes, report.written, peak)
    rows = np.ascontiguousarray(report.sources)
    block = sssp.shortest_paths(g, targets[:16], device=device).distances[:, rows]
    for zstd in (False, True):
        write_alone(run, folder, block, targets.size, zstd=zstd)


def write_alone(run: Run, folder: Path, values: Any, columns: int, *, zstd: bool) -> None:
    """Time the writing of blocks in memory, in as many threads as a GPU has."""
    field = Field("distances", "distance", INT32, columns)
    layout = Layout((field,), values.shape[1], columns, len(values), by_columns=True)
    store = ZarrStore(folder / f"alone-{zstd}.zarr", layout, zstd)
    temporary = folder / "unfinished"
    temporary.mkdir(exist_ok=True)
    store.prepare({}, {}, temporary)
    values = values.astype(INT32)
    blocks = min(WRITTEN, layout.blocks)

    def write() -> int:
        with ThreadPoolExecutor(WRITERS_A_GPU) as writers:
            files = writers.map(
                lambda block: store.write(block, {"distances": values}, temporary), range(blocks)
            )
            return sum(piece.size for pieces in files for piece in pieces)

    seconds, written = time_call(write)
    what = f"writing alone, {WRITERS_A_GPU} threads, {'zstd' if zstd else 'uncompressed'}"
    run.add(what, seconds, blocks * values.nbytes, written)


def write_by_dd(folder: Path, nbytes: int) -> float:
    """Return the bytes per second that ``dd`` writes to the disk."""
    file = folder / "dd"
    pieces = max(1, nbytes // DD_PIECE)
    command = ["dd", "if=/dev/zero", f"of={file}", f"bs={DD_PIECE}", f"count={pieces}"]
    run = partial(subprocess.run, [*command, "conv=fsync"], check=True, capture_output=True)
    seconds, _ = time_call(run)
    file.unlink()
    return pieces * DD_PIECE / seconds


def forget_peak() -> None:
    """Reset the peak memory of this process, if the system can."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def read_memory(name: str) -> int | None:
    """Return a figure of the system on this process, in bytes; None if it has none."""
    if not STATUS.exists():
        return None
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    sys.exit(main())
