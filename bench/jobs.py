"""Time the rows of one call, and of a job, on one GPU and on all GPUs of a host.

    python -m bench.jobs [GRAPH] [--sources 400000] [--seconds 270] [--json FILE]
    python -m bench.jobs road-like:20000 --sources 2000 --devices cpu,cpu

Every source is reduced to the sum of its distances. ``reduce`` is one call, and ``run`` a job that
writes a table: by threads of this process, by a process a GPU, and by a Dask cluster with a worker
a GPU. Contexts, kernels and the graph on every device are there before the clock runs; of a few
runs the fastest counts. Every line is printed as soon as it is known, and what needs a package that
is not installed, or more time than is left, is skipped with the reason. Checked are: all numbers
against those of one GPU, and some of these against the CPU. (Graphs of the size of a
continent: `bench.large`.)
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.listing import Listing, make_parser
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.workloads import time_call

WHAT = "sum"
SEED = 1
#: sources that warm up a device, and that are compared with the CPU
WARMING, COMPARED = 4096, 4
#: runs of each, of which the fastest counts
RUNS = 2
#: searches of a block of a job
BLOCK = 4096
#: seconds until the workers of a cluster are there
PATIENCE = 60.0

Sums = NDArray[np.int64]


HEADINGS = "what | devices | searches | s | us a search | times as fast as one | "
CELLS = "{what} | {count} | {asked:,} | {seconds:.3f} | {each:.2f} | {times:.2f} | {note}"


class Run:
    """Calls and jobs on a graph; none is started after a time limit.

    `path` names a file with the graph, for workers.
    """

    def __init__(
        self,
        g: sssp.Graph,
        path: Path,
        sources: NDArray[np.int64],
        devices: list[str],
        seconds: float,
        listing: Listing,
    ) -> None:
        self.g, self.path, self.sources, self.devices = g, path, sources, devices
        self.distinct = np.unique(sources)
        self.end = perf_counter() + seconds
        self.listing = listing
        #: seconds on one device, by what is measured
        self.alone: dict[str, float] = {}
        #: sums by one device
        self.truth: Sums = np.empty(0, np.int64)

    def all(self) -> None:
        """Measure everything."""
        self._calls("reduce, flat", self.g)
        self._calls("reduce, prepared", sssp.prepare(self.g))
        if not self._has("zarr"):
            self._skip("run: a table of sums", "the package zarr is not installed")
            return
        local = [("run, in this process", self.devices[:1]), ("run, in this process", self.devices)]
        for what, devices in local if len(self.devices) > 1 else local[:1]:
            self._job("run", what, devices, nullcontext((None, devices)))
        count = len(self.devices)
        self._job("run", f"run, {count} processes", self.devices, self._processes())
        if self._has("distributed"):
            self._job("run", f"run, Dask with {count} workers", self.devices, self._cluster())
        else:
            self._skip("run, Dask", "the package distributed is not installed")

    def _has(self, package: str) -> bool:
        return find_spec(package) is not None

    def _calls(self, what: str, network: Any) -> None:
        """Time `sssp.reduce` on one device and on all."""
        for device in self.devices:  # contexts, kernels and uploads
            sssp.reduce(network, self.sources[:WARMING], WHAT, device=device, progress=False)
        for devices in (self.devices[:1], self.devices)[: len(self.devices)]:
            reduce = partial(sssp.reduce, network, self.sources, WHAT, device=devices)
            seconds, sums = self._time(partial(reduce, progress=False))
            if seconds is None:
                self._skip(what, "no time is left")
                continue
            if not self.truth.size:
                self.truth = sums
                self._check_some(sums)
            equal = bool(np.array_equal(sums, self.truth))
            self._add(what, what, len(devices), self.sources.size, seconds, equal)

    def _check_some(self, sums: Sums) -> None:
        some = self.sources[:COMPARED]
        expected = sssp.reduce(self.g, some, WHAT, device="cpu", method="dijkstra")
        equal = bool(np.array_equal(sums[:COMPARED], expected))
        self._add("", "the same on the CPU, some sources", 1, COMPARED, None, equal)

    def _job(self, key: str, what: str, devices: list[str], place: Any) -> None:
        """Time a job on workers that have run another job before."""
        if perf_counter() > self.end:
            self._skip(what, "no time is left")
            return
        with tempfile.TemporaryDirectory(prefix="sssp-") as folder, place as (on, device):
            if on is None:
                network: Any = self.g
            else:
                network, device = self.path, device or "auto"
            number = itertools.count()

            def job(sources: NDArray[np.int64], block: int) -> Path:
                to = Path(folder, f"{next(number)}.zarr")
                sssp.run(
                    network, sources, to=to, reduce=WHAT, device=device, on=on, certify=0,
                    block_size=block, progress=False, threads=None if on is None else 1,
                )  # fmt: skip
                return to

            # (so many small blocks that every worker gets one)
            job(self.distinct[:WARMING], max(1, WARMING // 64))
            seconds, table = self._time(lambda: job(self.distinct, BLOCK))
            if seconds is None:
                self._skip(what, "no time is left")
                return
            equal = self._is_right(table)
        self._add(key, what, len(devices), self.distinct.size, seconds, equal)

    def _is_right(self, table: Path) -> bool:
        zarr: Any = import_module("zarr")
        sums = np.zeros(self.g.n, np.int64)
        sums[self.distinct] = zarr.open_group(str(table), mode="r")[WHAT][:]
        return bool(np.array_equal(sums[self.sources], self.truth))

    @contextmanager
    def _processes(self) -> Iterator[tuple[Any, Any]]:
        """Yield an executor with a process a device."""
        context = get_context("spawn")
        devices = context.Queue()
        for device in self.devices:
            devices.put(device)
        with ProcessPoolExecutor(
            len(self.devices), context, initializer=_take_device, initargs=(devices,)
        ) as executor:
            yield executor, None

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, Any]]:
        """Yield the client of a cluster with a worker a device."""
        distributed: Any = import_module("distributed")
        with (
            distributed.LocalCluster(
                n_workers=len(self.devices), threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            client.wait_for_workers(len(self.devices), timeout=PATIENCE)
            workers = list(client.scheduler_info(n_workers=-1)["workers"])
            for worker, device in zip(workers, self.devices, strict=True):
                client.run(_set_device, device, workers=[worker])
            yield client, None

    def _time(self, call: Callable[[], Any]) -> tuple[float | None, Any]:
        """Return the seconds of the fastest run, None if no time is left, and a result."""
        best, result = None, None
        for _ in range(RUNS):
            if perf_counter() + (best or 0) > self.end:
                break
            seconds, result = time_call(call)
            best = seconds if best is None else min(best, seconds)
        return best, result

    def _add(
        self,
        key: str,
        what: str,
        devices: int,
        searches: int,
        seconds: float | None,
        equal: bool,
        remark: str = "",
    ) -> None:
        """Store and print a row; without seconds it was skipped, or only compared."""
        times = each = None
        if seconds is not None:
            times = self.alone.setdefault(key, seconds) / seconds
            each = 1e6 * seconds / max(1, searches)
        row = {"what": what, "devices": devices, "searches": searches, "seconds": seconds}
        row |= {"times": times, "equal": equal, "remark": remark}
        asked = None if seconds is None else searches
        self.listing.add(row, count=devices or "", asked=asked, each=each, note=remark or equal)

    def _skip(self, what: str, reason: str) -> None:
        self._add("", what, 0, 0, None, True, f"skipped: {reason}")


def _take_device(devices: Any) -> None:
    """Give a process of an executor a device of its own."""
    _set_device(devices.get())


def _set_device(device: str) -> None:
    os.environ["SSSP_DEVICE"] = device


def main() -> int:
    """Measure, print a table, and write it as JSON if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("graph", nargs="?", default="USA-road-d.NY", type=find_graph)
    parser.add_argument("--sources", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=270, help="then nothing new is begun")
    parser.add_argument("--devices", help="names with commas between (default: all GPUs)")
    options = parser.parse_args()
    if options.devices is None:
        from sssp.calls.choose_device import named_devices

        devices = named_devices("cuda:all")
    else:
        devices = options.devices.split(",")
    g = options.graph.load()
    sources = np.random.default_rng(SEED).integers(0, g.n, options.sources)
    settings = {
        "graph": options.graph.name,
        "n": g.n,
        "m": g.m,
        "sources": sources.size,
        "distinct": int(np.unique(sources).size),
        "devices": devices,
        "reduction": WHAT,
        "runs": RUNS,
        "block": BLOCK,
        "clock": "wall, seconds",
    }
    listing = Listing(settings, HEADINGS, CELLS)
    with tempfile.TemporaryDirectory(prefix="sssp-") as folder:
        path = Path(folder, "graph.sssp")
        g.save(path)
        Run(g, path, sources, devices, options.seconds, listing).all()
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
