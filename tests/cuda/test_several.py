"""Several devices share a call's rows: here one GPU twice, and one beside the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sssp
from tests.cuda.conftest import SIMULATOR
from tests.jobs.tables import contents_of

pytestmark = pytest.mark.gpu
#: (the simulator runs one kernel at a time)
DEVICES = ["cuda:all", ["cuda:0", "cpu"], *([] if SIMULATOR else [["cuda:0", "cuda:0"]])]


@pytest.fixture(scope="module")
def g(device: str) -> sssp.Graph:
    return sssp.road_like(24)


def test_a_job_on_all_gpus_writes_the_bytes_of_one_on_the_cpu(
    g: sssp.Graph, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    devices = {"cpu": "cpu", "cuda": "cuda:all"}
    for name, device in devices.items():
        report = sssp.run(
            g, range(8), to=tmp_path / name, reduce="sum", device=device, block_size=2, certify=2
        )
        assert report.complete
        assert all(one.startswith(name) for one in report.devices)
    cpu, cuda = (contents_of(tmp_path / name) for name in devices)
    assert cpu == cuda


@pytest.mark.slow
@pytest.mark.parametrize("devices", DEVICES[:1], ids=str)
def test_trips_and_rows_of_a_prepared_map_are_those_of_the_cpu(
    g: sssp.Graph, devices: str | list[str]
) -> None:
    h, sources = sssp.prepare(g), np.arange(g.n)[::8]
    one = sssp.shortest_paths(g, sources, device="cpu")
    np.testing.assert_array_equal(
        sssp.shortest_paths(h, sources, device=devices).distances, one.distances
    )
    trips = sssp.pairs(h, sources, sources[::-1], device=devices)
    np.testing.assert_array_equal(
        trips.distances, one.distances[range(sources.size), sources[::-1]]
    )


@pytest.mark.parametrize("devices", DEVICES, ids=str)
def test_rows_reductions_trips_and_blocks_are_those_of_the_cpu(
    g: sssp.Graph, devices: str | list[str]
) -> None:
    sources = np.arange(g.n)[::4]
    one = sssp.shortest_paths(g, sources, device="cpu")
    several = sssp.shortest_paths(g, sources, device=devices)
    np.testing.assert_array_equal(several.distances, one.distances)
    np.testing.assert_array_equal(
        sssp.reduce(g, sources, "sum", device=devices), one.distances.sum(axis=1)
    )
    blocks = sssp.iter_blocks(g, sources, block_size=4, device=devices)
    np.testing.assert_array_equal(np.concatenate([r.distances for r in blocks]), one.distances)
    trips = sssp.pairs(g, sources, sources[::-1], device=devices)
    np.testing.assert_array_equal(
        trips.distances, one.distances[range(sources.size), sources[::-1]]
    )


@pytest.mark.skipif(SIMULATOR, reason="its kernels are in no library")
def test_a_process_that_has_used_all_gpus_ends_without_an_error(device: str) -> None:
    asking = """
import sssp
g = sssp.road_like(24)
print(sssp.shortest_paths(g, range(8), device="cuda:all").distances.shape)
"""
    done = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "(8, 24)\n"), done.stderr
