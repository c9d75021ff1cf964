"""Compiled code of kernels on disk: the second process compiles nothing, and nothing stale."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.conftest import SIMULATOR

if SIMULATOR:
    pytest.skip("the simulator compiles nothing", allow_module_level=True)

pytest.importorskip("numba_cuda")

#: prints the name of a kernel's entry for given types, on a GPU that is made up
NAME = """
from numba import int64, types
from sssp.cuda.kernel_cache import DeviceCodeCache
from sssp.cuda.search import delta_stepping
import numpy as np

DeviceCodeCache.target = lambda self, context: {target}
delta_stepping.WIDE, delta_stepping.REGISTERS = {wide}, {registers}
kernel = delta_stepping._make_kernel(np.dtype({dtype!r}), together={together})
print(kernel._cache._entry((types.Array(int64, 1, "C"),), None))
"""
USUAL = {"target": (9, 0), "wide": 32, "registers": 64, "dtype": "int32", "together": False}

#: prints how many kernels were found on disk and compiled, before and after the calls
CALLS = """
import numpy as np
import sssp
from sssp.kernels.cache import COUNTS

g = sssp.road_like(5000)
matrix = np.random.default_rng(0).integers(1, 100, (200, 200))
before = dict(COUNTS)
sssp.shortest_paths(g, 0, method="delta-stepping", device="cuda", predecessors=True)
sssp.shortest_paths(g, range(16), method="delta-stepping", device="cuda")
sssp.reduce(g, range(16), "sum", method="delta-stepping", device="cuda")
sssp.all_pairs(matrix, method="floyd-warshall", device="cuda")
print(COUNTS["found"] - before.get("found", 0), COUNTS["compiled"] - before.get("compiled", 0))
"""


def printed(code: str, folder: Path) -> str:
    """What code prints in a process that keeps compiled code in a folder."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"SSSP_CACHE_DIR": str(folder)},
        timeout=600,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.slow
def test_a_kernel_has_the_same_name_in_every_process_and_another_for_other_code(
    tmp_path: Path,
) -> None:
    def name(**changed: Any) -> str:
        return printed(NAME.format(**USUAL | changed), tmp_path)

    usual = name()
    assert name() == usual
    others = [
        name(target=(8, 0)),
        name(wide=33),
        name(registers=65),
        name(dtype="int64"),
        name(together=True),
    ]
    assert len({usual, *others}) == 6


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_what_two_processes_compile_at_once_the_next_one_finds(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as two:
        first = [two.submit(printed, CALLS, tmp_path) for _ in range(2)]
    compiled = [int(each.result().split()[1]) for each in first]
    assert min(compiled) > 0
    found, compiled_again = map(int, printed(CALLS, tmp_path).split())
    # a function that only others call is not looked for
    assert compiled_again == 0 < found <= sum(compiled)
