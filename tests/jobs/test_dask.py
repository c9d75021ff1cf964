"""Jobs on Dask clusters: workers that die, come late, or lack what others have."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sssp
from sssp.apps.jobs.blocks import do_block
from tests.jobs.tables import contents_of, ring_with_chords
from tests.patience import PATIENCE, wait_until

dask: Any = pytest.importorskip("dask")
distributed: Any = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")

G = ring_with_chords(200)
SOURCES = range(40)


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """Dask gives up on connections after 30 s."""
    times = {f"distributed.comm.timeouts.{what}": f"{PATIENCE}s" for what in ("connect", "tcp")}
    with dask.config.set(times):
        yield


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
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*args: Any) -> Any:
        if args[1] == 3:  # the block that fails
            wait_until(lambda: contents_of(tmp_path / "od"), "another block")
        return do_block(*args)

    monkeypatch.setattr("sssp.apps.jobs.runners.do_block", late)
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

    monkeypatch.setattr("sssp.apps.jobs.runners.do_block", picky)
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
    under_way = threading.Event()
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )

    def in_turn(*args: Any) -> Any:
        """Do the sixth block once another worker has joined, and later ones once it does some."""
        seen.add(distributed.get_worker().address)
        if args[1] == 5:
            under_way.set()
            wait_until(lambda: len(cluster.scheduler.workers) == 2, "a second worker")
        elif args[1] > 5:
            wait_until(lambda: len(seen) == 2, "a block of the second worker")
        return do_block(*args)

    def scale() -> None:
        under_way.wait()
        cluster.scale(2)

    monkeypatch.setattr("sssp.apps.jobs.runners.do_block", in_turn)
    with cluster, distributed.Client(cluster) as client:
        late = threading.Thread(target=scale, daemon=True)
        late.start()
        report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, on=client)
        late.join()
    assert report.complete
    assert len(seen) == 2
    assert contents_of(tmp_path / "od") == whole


def test_a_worker_that_is_killed_in_mid_job_loses_nothing(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(hold_blocks, marks, PATIENCE).values()))
        killer = threading.Thread(target=kill_at_work, args=(victim, marks), daemon=True)
        killer.start()
        report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, on=client)
        killer.join()
    assert report.complete
    assert f"{victim}" in {mark.name for mark in marks.iterdir()}
    assert contents_of(tmp_path / "od") == whole


def hold_blocks(marks: Path, patience: float) -> int:
    """Let a worker's process say that it has a block in hand, and go on after the kill only."""
    runners: Any = import_module("sssp.apps.jobs.runners")
    undisturbed = runners.do_block

    def held(ticket: Any, block: int, device: Any, threads: int | None) -> Any:
        (marks / f"{os.getpid()}").touch()
        end = time.monotonic() + patience
        while not (marks / "killed").exists() and time.monotonic() < end:
            time.sleep(0.005)
        return undisturbed(ticket, block, device, threads)

    runners.do_block = held
    return os.getpid()


def kill_at_work(process: int, marks: Path) -> None:
    """Kill a process as soon as it has a block in hand."""
    wait_until((marks / f"{process}").exists, "a block of the worker")
    os.kill(process, signal.SIGKILL)
    (marks / "killed").touch()
