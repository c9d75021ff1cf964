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

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.common import Record, options_of
from sssp.apps.terminal.arguments import named_graph

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


@dataclass
class Figure:
    """One line of the table.

    Attributes
    ----------
    what : str
    devices : int
        How many took part.
    searches : int
    seconds : float or None
        Of the fastest run; None: it was skipped.
    times : float or None
        How many times as fast as the same on one device, in one process.
    equal : bool
        Whether the numbers are those of one device.
    remark : str
    """

    what: str
    devices: int
    searches: int
    seconds: float | None = None
    times: float | None = None
    equal: bool = True
    remark: str = ""


class Run:
    """What is measured, and what is left of the time.

    Parameters
    ----------
    g : Graph
    path : Path
        Of a file with the graph, for workers.
    sources : ndarray
    devices : list of str
    seconds : float
        After which nothing new is begun.
    record : Record
    """

    def __init__(
        self,
        g: sssp.Graph,
        path: Path,
        sources: NDArray[np.int64],
        devices: list[str],
        seconds: float,
        record: Record,
    ) -> None:
        self.g, self.path, self.sources, self.devices = g, path, sources, devices
        self.distinct = np.unique(sources)
        self.end = perf_counter() + seconds
        self.record = record
        #: of one device, by what is measured
        self.alone: dict[str, float] = {}
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
            found: list[Sums] = []

            def call(devices: list[str] = devices, found: list[Sums] = found) -> float:
                start = perf_counter()
                found[:] = [
                    sssp.reduce(network, self.sources, WHAT, device=devices, progress=False)
                ]
                return perf_counter() - start

            seconds = self._fastest(call)
            if seconds is None:
                self._skip(what, "no time is left")
                continue
            if not self.truth.size:
                self.truth = found[0]
                self._check_some(found[0])
            equal = bool(np.array_equal(found[0], self.truth))
            self._add(what, what, len(devices), self.sources.size, seconds, equal)

    def _check_some(self, sums: Sums) -> None:
        some = self.sources[:COMPARED]
        expected = sssp.reduce(self.g, some, WHAT, device="cpu", method="dijkstra")
        equal = bool(np.array_equal(sums[:COMPARED], expected))
        self._add("", "the same on the CPU, some sources", 1, COMPARED, None, equal)

    def _job(self, key: str, what: str, devices: list[str], place: Any) -> None:
        """Time a job on workers that have done another one before."""
        if perf_counter() > self.end:
            self._skip(what, "no time is left")
            return
        with tempfile.TemporaryDirectory(prefix="sssp-") as folder, place as (on, device):
            if on is None:
                network: Any = self.g
            else:
                network, device = self.path, device or "auto"
            number = iter(range(1000))

            def job(sources: NDArray[np.int64], block: int) -> tuple[float, Path]:
                to = Path(folder, f"{next(number)}.zarr")
                start = perf_counter()
                sssp.run(
                    network, sources, to=to, reduce=WHAT, device=device, on=on, certify=0,
                    block_size=block, progress=False, threads=None if on is None else 1,
                )  # fmt: skip
                return perf_counter() - start, to

            # (so many small blocks that every worker gets one)
            job(self.distinct[:WARMING], max(1, WARMING // 64))
            tables: list[Path] = []

            def timed() -> float:
                seconds, to = job(self.distinct, BLOCK)
                tables[:] = [to]
                return seconds

            seconds = self._fastest(timed)
            if seconds is None:
                self._skip(what, "no time is left")
                return
            equal = self._equals(tables[0])
        self._add(key, what, len(devices), self.distinct.size, seconds, equal)

    def _equals(self, table: Path) -> bool:
        zarr: Any = import_module("zarr")
        sums = np.zeros(self.g.n, np.int64)
        sums[self.distinct] = zarr.open_group(str(table), mode="r")[WHAT][:]
        return bool(np.array_equal(sums[self.sources], self.truth))

    @contextmanager
    def _processes(self) -> Iterator[tuple[Any, Any]]:
        """Lend an executor with a process a device."""
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
        """Lend the client of a cluster with a worker a device."""
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

    def _fastest(self, call: Callable[[], float]) -> float | None:
        """Return the seconds of the fastest run; None if there is no time for one."""
        best: float | None = None
        for _ in range(RUNS):
            if perf_counter() + (best or 0) > self.end:
                break
            seconds = call()
            best = seconds if best is None else min(best, seconds)
        return best

    def _add(
        self, key: str, what: str, devices: int, searches: int, seconds: float | None, equal: bool
    ) -> None:
        figure = Figure(what, devices, searches, seconds, equal=equal)
        if seconds is not None:
            self.alone.setdefault(key, seconds)
            figure.times = self.alone[key] / seconds
        self._show(figure)

    def _skip(self, what: str, reason: str) -> None:
        self._show(Figure(what, 0, 0, remark=f"skipped: {reason}"))

    def _show(self, figure: Figure) -> None:
        self.record.add([figure], _cells(figure))


def _take_device(devices: Any) -> None:
    """Be a process of an executor that has one device for itself."""
    _set_device(devices.get())


def _set_device(device: str) -> None:
    os.environ["SSSP_DEVICE"] = device


def _cells(figure: Figure) -> list[str]:
    if figure.seconds is None:
        remark = figure.remark or ("equal" if figure.equal else "DIFFERS")
        return [figure.what, str(figure.devices or ""), "", "", "", "", remark]
    each = 1e6 * figure.seconds / max(1, figure.searches)
    return [
        figure.what,
        str(figure.devices),
        f"{figure.searches:,}",
        f"{figure.seconds:.3f}",
        f"{each:.2f}",
        f"{figure.times:.2f}",
        figure.remark or ("equal" if figure.equal else "DIFFERS"),
    ]


def main() -> int:
    """Measure, print a table, and write it down if asked."""
    parser = options_of(__doc__)
    parser.add_argument("graph", nargs="?", default="USA-road-d.NY", type=named_graph)
    parser.add_argument("--sources", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=270, help="then nothing new is begun")
    parser.add_argument("--devices", help="names with commas between (default: all GPUs)")
    options = parser.parse_args()
    if options.devices is None:
        from sssp.calls.placement import named_devices

        devices = named_devices("cuda:all")
    else:
        devices = options.devices.split(",")
    g = options.graph.load()
    sources = np.random.default_rng(SEED).integers(0, g.n, options.sources)
    record = Record(
        {
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
        },
        ("what", "devices", "searches", "s", "us a search", "times as fast as one", ""),
    )
    with tempfile.TemporaryDirectory(prefix="sssp-") as folder:
        path = Path(folder, "graph.sssp")
        g.save(path)
        Run(g, path, sources, devices, options.seconds, record).all()
    return record.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
