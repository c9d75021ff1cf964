"""Jobs on Dask clusters: workers that die, come late, or lack what others have."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sssp
from sssp.jobs.blocks import do_block
from tests.jobs.tables import contents_of, ring_with_chords

distributed: Any = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")

G = ring_with_chords(200)
SOURCES = range(40)
#: seconds until a second worker is there
PATIENCE = 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an undisturbed job in this process writes."""
    to = tmp_path_factory.mktemp("whole") / "od"
    sssp.run(G, SOURCES, to=to, block_size=1)
    return contents_of(to)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers of one thread each, in this process."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_a_cluster_writes_the_same_bytes(
    tmp_path: Path, client: Any, whole: dict[str, bytes]
) -> None:
    report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, on=client)
    assert report.complete
    assert report.devices == {"cpu": 40}
    assert contents_of(tmp_path / "od") == whole
    G.save(tmp_path / "g.sssp")
    sssp.run(tmp_path / "g.sssp", SOURCES, to=tmp_path / "again", block_size=1, on=client)
    assert contents_of(tmp_path / "again") == whole


def test_what_a_worker_raises_is_raised_and_what_is_done_is_kept(
    tmp_path: Path, client: Any
) -> None:
    chain = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 2] * 3)
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.run(chain, [3, 2, 1, 0], to=tmp_path / "od", block_size=1, on=client, dtype="int32")
    assert contents_of(tmp_path / "od")


def test_a_worker_without_the_device_is_left_out_and_the_others_go_on(
    tmp_path: Path, client: Any, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    able = sorted(client.nthreads())[0]

    def picky(*args: Any) -> Any:
        if distributed.get_worker().address != able:
            raise sssp.DeviceError("there is no GPU here")
        return do_block(*args)

    monkeypatch.setattr("sssp.jobs.runners.do_block", picky)
    report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, on=client)
    assert report.complete
    assert contents_of(tmp_path / "od") == whole
    able = "nobody"
    with pytest.raises(sssp.DeviceError, match=r"no worker of the cluster .* no GPU here"):
        sssp.run(G, SOURCES, to=tmp_path / "none", block_size=1, on=client)


def test_a_worker_that_joins_late_takes_its_share(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()

    def slow(*args: Any) -> Any:
        seen.add(distributed.get_worker().address)
        end = time.perf_counter() + PATIENCE
        while args[1] > 5 and len(seen) < 2 and time.perf_counter() < end:
            time.sleep(0.01)
        return do_block(*args)

    monkeypatch.setattr("sssp.jobs.runners.do_block", slow)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        late = threading.Timer(0.3, cluster.scale, args=(2,))
        late.start()
        report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, on=client)
        late.join()
    assert report.complete
    assert len(seen) == 2
    assert contents_of(tmp_path / "od") == whole


def test_a_worker_that_is_killed_in_mid_job_loses_nothing(
    tmp_path: Path,
) -> None:
    sssp.run(G, range(200), to=tmp_path / "whole", block_size=1)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        pids = client.run(os.getpid)
        victim = next(iter(pids.values()))
        there: list[int] = []
        killer = threading.Thread(target=kill_at_work, args=(victim, tmp_path / "od", there))
        killer.start()
        report = sssp.run(G, range(200), to=tmp_path / "od", block_size=1, on=client)
        killer.join()
    assert there[0] < 200
    assert report.complete
    assert contents_of(tmp_path / "od") == contents_of(tmp_path / "whole")
    # its place was taken
    assert len(report.workers) > 1


def kill_at_work(process: int, table: Path, there: list[int]) -> None:
    """Kill a process as soon as a few files are there; tell how many there are then."""
    while len(list(table.glob("*.parquet"))) < 3:
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    there.append(len(list(table.glob("*.parquet"))))
