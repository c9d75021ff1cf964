"""Benchmark of the seconds from process start to the first answer, by method and device.

Every figure is taken in a process of its own, from before the interpreter starts. The first of a
task compiles, into an empty folder; those that follow find the code there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import time

import numpy as np

from sssp.bench.harness import BenchTable
from sssp.bench.report import Cell
from sssp.bench.workloads import choose_first, name_road_graph
from sssp.errors import SSSPError
from sssp.kernels.cache_files import VARIABLE

TITLE = "From the start of a process to its first answer, in seconds"
NOTE = (
    "first: compiles, and keeps the code; next: median of the processes that follow;\n"
    "compiled: functions, in the first and in the last process."
)
COLUMNS = "<task|<device|>first|>next|>compiled"
SIZE = 250_000

#: code of processes; their arguments: start time, the graph as ``.sssp`` and as arrays
BEFORE = """
import sys
from time import time
"""
AFTER = """
seconds = time() - float(sys.argv[1])
cache = sys.modules.get("sssp.kernels.cache")
print(seconds, cache.COUNTS["compiled"] if cache else 0)
"""
IMPORT = """
import sssp
sssp.shortest_paths
"""
OURS = """
import sssp
g = sssp.read_graph(sys.argv[2])
sssp.{call}, device="{device}")
"""
DENSE = """
import numpy as np
import sssp
matrix = np.random.default_rng(0).integers(1, 100, (1000, 1000))
sssp.all_pairs(matrix, method="floyd-warshall", device="{device}")
"""
SCIPY = """
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
arrays = np.load(sys.argv[3])
matrix = csr_array((arrays["weights"], arrays["indices"], arrays["indptr"]))
dijkstra(matrix, indices=0)
"""
CUPY = """
import cupy
float(cupy.arange(1000).sum())
"""
#: calls of ours by the name of their task, on a device
CALLS = {
    "delta-stepping, a source": 'shortest_paths(g, 0, method="delta-stepping"',
    "delta-stepping, a tree": 'shortest_paths(g, 0, method="delta-stepping", predecessors=True',
    "delta-stepping, 300 sources": 'shortest_paths(g, range(300), method="delta-stepping"',
    "delta-stepping, reduce 300": 'reduce(g, range(300), "sum", method="delta-stepping"',
    "threshold-dijkstra, a source": 'shortest_paths(g, 0, method="threshold-dijkstra"',
    "bellman-ford, a source": 'shortest_paths(g, 0, method="bellman-ford"',
}


#: name in the table, device, and the code that a process runs
StartupTask = tuple[str, str, str]


def list_tasks() -> Iterator[StartupTask]:
    """Yield the start-up tasks (name, device, code), in the order of the table."""
    yield "import sssp", "cpu", IMPORT
    yield "SciPy, dijkstra", "cpu", SCIPY
    for device in ("cpu", "cuda"):
        if device == "cuda":
            yield "CuPy, a sum", "cuda", CUPY
        for name, call in CALLS.items():
            yield name, device, OURS.format(call=call, device=device)
        yield "floyd-warshall, n = 1,000", device, DENSE.format(device=device)


class Startup(BenchTable):
    """Benchmark table: seconds from process start to first answer, with and without compiling."""

    steps = len(list(list_tasks()))

    def measure(self) -> None:
        """Time each start-up task in new processes, with a separate cache of compiled code."""
        comparison = self.compare(TITLE, COLUMNS, NOTE)
        refused = None
        try:
            from sssp.cuda.availability import SIMULATOR, device_number

            device_number("cuda")
            if SIMULATOR:
                refused = "Numba's CUDA simulator is not a GPU"
        except SSSPError as error:
            refused = str(error)
        if refused:
            comparison.remarks.append(f"on cuda: skipped: {refused}")
        with tempfile.TemporaryDirectory() as folder:
            # the graph as a file of ours, and for SciPy as arrays
            g = self.load(name_road_graph(SIZE), choose_first).graph
            files = [str(Path(folder, name)) for name in ("graph.sssp", "graph.npz")]
            g.save(files[0])
            matrix = g.to_scipy()
            np.savez(files[1], indptr=matrix.indptr, indices=matrix.indices, weights=matrix.data)
            for number, (name, device, code) in enumerate(list_tasks()):
                self.progress(f"{name} on {device}")
                if device == "cuda" and refused:
                    continue
                record: dict[str, Cell] = {"task": name, "device": device}
                comparison.records.append(record)
                environment = os.environ | {VARIABLE: str(Path(folder, str(number)))}
                found: list[list[str]] = []
                while len(found) <= self.plan.trials:
                    command = [sys.executable, "-c", BEFORE + code + AFTER, str(time()), *files]
                    child = subprocess.run(command, capture_output=True, text=True, env=environment)
                    if child.returncode:
                        reason = " ".join(child.stderr.strip().splitlines()[-1:])
                        comparison.remarks.append(f"{name} on {device}: skipped: {reason}")
                        break
                    found.append(child.stdout.split())
                else:
                    first, *following = found
                    record["first"] = float(first[0])
                    record["next"] = median(float(seconds) for seconds, _ in following)
                    record["compiled"] = f"{first[1]}, {following[-1][1]}"
