"""A job goes on where it was stopped, with the same bytes, or says clearly why it does not."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import signal
import stat
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.jobs.blocks import Inputs
from sssp.apps.jobs.manifest import Manifest
from sssp.apps.jobs.runners import WRITERS_A_GPU, LocalRunner
from sssp.apps.jobs.stores import ParquetParts
from sssp.calls.shortest_paths import solve_plan
from tests.jobs.tables import Elsewhere, contents_of, ring_with_chords

G = ring_with_chords(200)
SOURCES = range(40)
pytest.importorskip("pyarrow", reason="Parquet is what these tables are")


def stopped(to: Path, after: int, **asked: Any) -> None:
    """Do some blocks of a job and stop, as Ctrl-C would."""
    with pytest.raises(KeyboardInterrupt):
        sssp.run(G, SOURCES, to=to, block_size=4, on=Elsewhere(after), **asked)


@pytest.mark.parametrize("name", ["od", "od.zarr"])
def test_what_is_left_is_done_and_the_bytes_are_the_same(tmp_path: Path, name: str) -> None:
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    whole, broken = tmp_path / "whole" / name, tmp_path / "broken" / name
    sssp.run(G, SOURCES, to=whole, block_size=4)
    stopped(broken, 3)
    report = sssp.run(G, SOURCES, to=broken)
    assert (report.blocks, report.done_before, report.done) == (10, 3, 7)
    assert contents_of(whole) == contents_of(broken)
    again = sssp.run(G, SOURCES, to=broken, on=Elsewhere(0))
    assert (again.done_before, again.done, again.complete) == (10, 0, True)
    # nothing of the work is left but the record
    assert [path.name for path in (tmp_path / "broken" / f"{name}.job").iterdir()] == [
        "manifest.jsonl"
    ]


def test_threads_and_blocks_of_their_own_executor_write_the_same_bytes(tmp_path: Path) -> None:
    sssp.run(G, SOURCES, to=tmp_path / "one", block_size=4, threads=1)
    sssp.run(G, SOURCES, to=tmp_path / "two", block_size=4, threads=2)
    with ThreadPoolExecutor(2) as executor:
        sssp.run(G, SOURCES, to=tmp_path / "three", block_size=4, on=executor)
    for name in ("two", "three"):
        assert contents_of(tmp_path / "one") == contents_of(tmp_path / name)


def search_by_fours(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a core search four blocks in one call, as a GPU does; return the sizes of its calls."""
    calls: list[int] = []

    def counted(plan: Any) -> sssp.ShortestPaths:
        calls.append(plan.request.sources.size)
        return solve_plan(plan)

    monkeypatch.setattr("sssp.apps.jobs.blocks.solve_plan", counted)
    monkeypatch.setattr(
        "sssp.apps.jobs.job.LocalRunner",
        lambda devices, threads, together, by_rule: LocalRunner(devices, threads, 4),
    )
    return calls


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"skim": {"km": G.weights / 4}, "targets": range(50)},
        {"targets": range(39), "form": "long"},
        {"reduce": "sum"},
    ],
)
def test_blocks_that_are_searched_in_one_call_are_written_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    whole = sssp.run(G, SOURCES, to=tmp_path / "whole", block_size=1, certify=40, **asked)
    calls = search_by_fours(monkeypatch)
    report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, certify=40, **asked)
    assert (report.blocks, report.certified) == (whole.blocks, whole.certified)
    assert contents_of(tmp_path / "od") == contents_of(tmp_path / "whole")
    if "reduce" not in asked:
        assert sorted(calls) == [whole.searches % 4 or 4] + [4] * (-(-whole.searches // 4) - 1)


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("count", [0, 1, 5, 63, 64, 1000])
def test_the_first_call_of_a_device_is_short_and_no_block_is_left_out(
    slots: int, count: int
) -> None:
    runner = LocalRunner(["cpu"] * slots, 1, 16)
    groups = runner._groups(list(range(count)))
    assert [block for group in groups for block in group] == list(range(count))
    assert all(len(group) <= WRITERS_A_GPU for group in groups[:slots])
    assert all(len(group) <= 16 for group in groups)
    if count == 1000:
        assert {len(group) for group in groups[slots:-1]} == {16}


@pytest.mark.gpu
def test_a_gpu_writes_the_bytes_that_the_cpu_writes(tmp_path: Path, device: str) -> None:
    for targets in (None, [3, 1, 4, 1, 5]):
        asked: dict[str, Any] = {"targets": targets, "block_size": 1, "dtype": np.int32}
        whole, to = tmp_path / f"cpu {targets}", tmp_path / f"gpu {targets}"
        sssp.run(G, range(9), to=whole, device="cpu", **asked)
        report = sssp.run(G, range(9), to=to, device=device, **asked)
        assert contents_of(to) == contents_of(whole)
        assert set(report.devices) == {"cuda:0"}


def test_of_blocks_that_are_searched_in_one_call_only_those_that_are_missing_are_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sssp.run(G, SOURCES, to=tmp_path / "whole", block_size=1)
    calls, write = search_by_fours(monkeypatch), ParquetParts.write
    written: list[int] = []

    def full_at_the_seventh(self: Any, block: int, *args: Any) -> Any:
        if len(written) == 6:
            raise OSError(errno.ENOSPC, "no room")
        # what was found and is not written stays bounded
        assert sum(calls) <= len(written) + 4
        written.append(block)
        return write(self, block, *args)

    with monkeypatch.context() as patch:
        patch.setattr(ParquetParts, "write", full_at_the_seventh)
        with pytest.raises(sssp.JobError, match="6 of 40 blocks are done and kept"):
            sssp.run(G, SOURCES, to=tmp_path / "od", block_size=1, threads=1)
    assert calls == [4, 4]
    report = sssp.run(G, SOURCES, to=tmp_path / "od", threads=1)
    assert (report.done_before, report.done) == (6, 34)
    assert contents_of(tmp_path / "od") == contents_of(tmp_path / "whole")


def test_a_line_that_was_cut_off_is_a_block_that_is_done_again(tmp_path: Path) -> None:
    stopped(tmp_path / "od", 3)
    manifest = tmp_path / "od.job" / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    report = sssp.run(G, SOURCES, to=tmp_path / "od")
    assert (report.done_before, report.done) == (2, 8)
    assert all(json.loads(line) for line in manifest.read_text().splitlines())
    manifest.write_text(manifest.read_text().replace('{"block": 1,', "{oops"))
    with pytest.raises(sssp.JobError, match=r"line \d+ of .* is damaged"):
        sssp.run(G, SOURCES, to=tmp_path / "od")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"g": G.with_changes([0], [9])}, "graph is '.*' there and '.*' here"),
        ({"sources": range(39)}, "sources is '40 numbers.*' there and '39 numbers"),
        ({"targets": [1]}, "targets is None there and '1 numbers"),
        ({"limit": 500}, "limit is None there and 500 here"),
        ({"method": "dijkstra"}, "method is 'DeltaStepping.*' there and 'Dijkstra"),
        ({"block_size": 5}, "block_size is 4 there and 5 here"),
        ({"reduce": "sum"}, "reduce is None there and 'sum' here"),
        ({"dtype": np.int64}, "dtype is .*i4.* there and .*i8"),
        ({"compression": None}, "compression is 'zstd' there and None here"),
        ({"resume": False}, "is there already; resume=True goes on"),
    ],
)
def test_another_job_is_refused_and_the_message_says_what_differs(
    tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    stopped(tmp_path / "od", 1)
    before = contents_of(tmp_path)
    with pytest.raises(sssp.JobError, match=message):
        sssp.run(**{"g": G, "sources": SOURCES, "to": tmp_path / "od", **asked})
    assert contents_of(tmp_path) == before


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("name", "litter"), [("od", "part-000039.parquet"), ("od.zarr", "distances/c/39/0")]
)
def test_a_place_in_which_no_block_is_done_is_taken_over(
    tmp_path: Path, name: str, litter: str, resume: bool
) -> None:
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    far = G.with_weights(G.weights + (1 << 29))
    to, whole = tmp_path / name, tmp_path / "whole" / name
    with pytest.raises(sssp.DistanceOverflowError, match="dtype"):
        sssp.run(far, SOURCES, to=to, dtype=np.int32)
    # (written, and not on record, when the process was killed)
    (to / litter).parent.mkdir(parents=True, exist_ok=True)
    (to / litter).write_text("litter")
    report = sssp.run(far, SOURCES, to=to, dtype=np.int64, resume=resume)
    assert report.complete
    sssp.run(far, SOURCES, to=whole, dtype=np.int64)
    assert contents_of(to) == contents_of(whole)
    with pytest.raises(sssp.JobError, match=r"dtype is .* there and"):
        sssp.run(far, SOURCES, to=to, dtype=np.float64, method="dijkstra")


def stopped_before_a_block(to: Path, **asked: Any) -> None:
    """Begin a job that ends with no block on record."""
    with pytest.raises(KeyboardInterrupt):
        sssp.run(G, SOURCES, to=to, on=Elsewhere(0), **asked)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("name", "litter", "foreign"),
    [
        (
            "od",
            ["part-000000.parquet", "part-1000000.parquet"],
            ["notes.txt", "mine/part-000000.parquet", "part-0.parquet", "part-000000.parquet.bak"],
        ),
        (
            "od.zarr",
            ["distances/c/0/0", "distances/c/39/0", "target/c/0"],
            ["notes.txt", "mine/zarr.json", "mine/c/0", "distances/c/0/note", "distances/c/00"],
        ),
    ],
)
def test_what_no_job_has_written_stays_where_one_begins_anew(
    tmp_path: Path, name: str, litter: list[str], foreign: list[str], resume: bool
) -> None:
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    to, whole = tmp_path / name, tmp_path / "whole" / name
    stopped_before_a_block(to, reduce="sum")
    stopped_before_a_block(to)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "0").write_text("mine")
    (to / "c").symlink_to(outside)
    for file in (*litter, *foreign):
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        if not (to / file).exists():
            (to / file).write_text(file)
    # (what a job finds in a folder of its own, too)
    kept = [to.with_name(f"{name}.job") / file for file in ("inputs-mine.pickle", "unfinished.md")]
    kept.append(next(to.with_name(f"{name}.job").glob("unfinished-*")) / "notes.txt")
    for path in kept:
        path.write_text("mine")
    assert sssp.run(G, SOURCES, to=to, targets=range(50), resume=resume).complete
    sssp.run(G, SOURCES, to=whole, targets=range(50))
    assert contents_of(to) == {
        **contents_of(whole),
        **{file: file.encode() for file in foreign},
    }
    assert (to / "c").is_symlink()
    assert (outside / "0").read_text() == "mine"
    assert [path.read_text() for path in kept] == ["mine"] * 3


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("od", ""),
        ("od", "part-000007.parquet/mine"),
        ("od", "part-000007.parquet"),
        ("od.zarr", ""),
        ("od.zarr", "distances"),
        ("od.zarr", "distances/c/7"),
        ("od.zarr", "distances/c/7/0/mine"),
        ("od.zarr", "zarr.json/mine"),
        ("od.zarr", "zarr.json"),
        ("od.zarr", "target/zarr.json"),
    ],
)
def test_what_is_in_the_way_and_of_no_job_is_named_and_stays(
    tmp_path: Path, name: str, place: str, resume: bool
) -> None:
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    to = tmp_path / name
    stopped_before_a_block(to, reduce="sum")
    shutil.rmtree(to)
    path = to / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if place == "part-000007.parquet":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_text("mine")
    before = contents_of(tmp_path)
    in_the_way = re.escape(str(path.parent if path.name == "mine" else path))
    with pytest.raises(sssp.JobError, match=f"{in_the_way}' is in the way .*no job has written it"):
        sssp.run(G, SOURCES, to=to, resume=resume)
    assert contents_of(tmp_path) == before
    assert place != "part-000007.parquet" or path.is_symlink()


def test_a_place_where_a_job_has_made_nothing_is_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "od"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(sssp.MissingExtraError):
            sssp.run(G, SOURCES, to=to)
    to.mkdir()
    (to / "part-000003.parquet").write_text("mine")
    with pytest.raises(sssp.JobError, match=r"part-000003.parquet' is in the way"):
        sssp.run(G, SOURCES, to=to)
    assert contents_of(to) == {"part-000003.parquet": b"mine"}


def test_a_store_is_recorded_before_it_stands_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    to, replace = tmp_path / "od.zarr", os.replace
    places: list[Any] = []

    def killed_at_the_third(path: Any, place: Any) -> None:
        if str(place).startswith(f"{to}{os.sep}"):
            places.append(place)
        if len(places) == 3:
            raise KeyboardInterrupt
        replace(path, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            sssp.run(G, SOURCES, to=to, block_size=4)
    assert len(contents_of(to)) == 2
    sssp.run(G, SOURCES, to=to, targets=range(50), block_size=4)
    sssp.run(G, SOURCES, to=tmp_path / "whole.zarr", targets=range(50), block_size=4)
    assert contents_of(to) == contents_of(tmp_path / "whole.zarr")


def test_what_workers_find_of_a_job_whose_place_is_taken_gets_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Inputs.write
    late: list[tuple[Inputs, Any]] = []

    def stopped_before(self: Inputs, solved: Any) -> Any:
        late.append((self, solved))
        raise KeyboardInterrupt

    def with_the_late_one(self: Inputs, solved: Any) -> Any:
        with pytest.raises(FileNotFoundError):
            write(*late[0])
        late.append((self, solved))
        return write(self, solved)

    monkeypatch.setattr(Inputs, "write", stopped_before)
    with pytest.raises(KeyboardInterrupt):
        sssp.run(G, SOURCES, to=tmp_path / "od", block_size=4, threads=1)
    monkeypatch.setattr(Inputs, "write", with_the_late_one)
    sssp.run(G, SOURCES, to=tmp_path / "od", targets=range(80), block_size=8)
    assert len(late) == 1 + 5
    sssp.run(G, SOURCES, to=tmp_path / "whole", targets=range(80), block_size=8)
    assert contents_of(tmp_path / "od") == contents_of(tmp_path / "whole")


def test_a_place_that_is_no_jobs_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "od").mkdir()
    with pytest.raises(sssp.JobError, match="no job has written it"):
        sssp.run(G, SOURCES, to=tmp_path / "od")
    (tmp_path / "od.job").mkdir()
    for text, message in (
        ("{}\n", "is not a manifest"),
        ("[]\n", "is not a manifest"),
        ("nothing\n", "is not a manifest"),
        ('{"sssp job": 9, "package": "9.9"}\n', "written by sssp 9.9"),
    ):
        (tmp_path / "od.job" / "manifest.jsonl").write_text(text)
        with pytest.raises(sssp.JobError, match=message):
            sssp.run(G, SOURCES, to=tmp_path / "od")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"block": 1,', '"block": 10,'),
        ('"block": 1,', '"block": -1,'),
        ('"block": 1,', '"block": 1e400,'),
        ('"part-000001', '"../od/part-000001'),
        ('"part-000001', '"/part-000001'),
        ('"part-000001', '"\\u0000'),
        ('[["part-000001', '[[7, "part-000001'),
        ('[["part-000001', f"{'[' * 100_000}"),
    ],
)
def test_a_line_that_somebody_has_changed_is_named(tmp_path: Path, old: str, new: str) -> None:
    report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=4, threads=1)
    manifest = tmp_path / "od.job" / "manifest.jsonl"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new))
    for look in (report.check, lambda: sssp.run(G, SOURCES, to=tmp_path / "od")):
        with pytest.raises(sssp.JobError, match=r"line \d+ of .* is damaged: remove that line"):
            look()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"block_size": 4', '"block_size": 0'),
        ('"block_size": 4', '"block_size": "many"'),
        ('"job": {', '"job": null, "was": {'),
        ('"job": {', '"job": [], "was": {'),
    ],
)
def test_a_head_that_somebody_has_changed_is_no_manifest(
    tmp_path: Path, old: str, new: str
) -> None:
    stopped(tmp_path / "od", 1)
    manifest = tmp_path / "od.job" / "manifest.jsonl"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new))
    with pytest.raises(sssp.JobError, match="is not a manifest of a job"):
        sssp.run(G, SOURCES, to=tmp_path / "od")
    manifest.write_text(text.splitlines()[0])
    with pytest.raises(sssp.JobError, match="is not a manifest of a job"):
        sssp.run(G, SOURCES, to=tmp_path / "od")


def test_a_job_that_was_stopped_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "od.job").mkdir()
    (tmp_path / "od.job" / "manifest.jsonl").write_text('{"sssp job": 1, "pack')
    assert sssp.run(G, SOURCES, to=tmp_path / "od").complete
    assert sssp.run(G, SOURCES, to=tmp_path / "od").done == 0


def test_chunks_of_an_earlier_version_keep_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    with monkeypatch.context() as earlier:
        earlier.setattr("sssp.apps.jobs.stores.CHUNK_BYTES", 1000)
        sssp.run(G, SOURCES, to=tmp_path / "whole" / "od.zarr", block_size=4)
        stopped(tmp_path / "broken" / "od.zarr", 3)
    report = sssp.run(G, SOURCES, to=tmp_path / "broken" / "od.zarr")
    assert (report.done_before, report.done) == (3, 7)
    assert contents_of(tmp_path / "broken" / "od.zarr") == contents_of(
        tmp_path / "whole" / "od.zarr"
    )


def test_a_job_that_another_process_begins_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "od"
    real = Manifest.open

    def opened_late(self: Any, asked: Any) -> Any:
        monkeypatch.setattr(Manifest, "open", real)
        sssp.run(G, SOURCES, to=to, block_size=4)
        return real(self, asked)

    monkeypatch.setattr(Manifest, "open", opened_late)
    with pytest.raises(
        sssp.JobError, match=r"another process has begun a job .* run this one again"
    ):
        sssp.run(G, SOURCES, to=to, block_size=4)
    before = contents_of(to)
    assert sssp.run(G, SOURCES, to=to).done_before == 10
    assert contents_of(to) == before


def test_workers_that_outlive_a_job_do_not_keep_it(tmp_path: Path) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()

    def work() -> None:
        there.send("begun")
        there.recv()

    worker = fork.Process(target=work)
    identity = {"block_size": 4, "chunk_bytes": None}
    manifest = Manifest(tmp_path / "od")
    with manifest.open(identity):
        manifest.add([(0, [])])
        worker.start()
        assert here.recv() == "begun"
        # as if this process were killed: a lock goes with the last one who has the file open
        manifest._stream.close()
    try:
        manifest = Manifest(tmp_path / "od")
        assert manifest.job == identity
        with manifest.open(identity):
            assert worker.is_alive()
    finally:
        here.send("done")
        worker.join()


def test_what_a_store_is_read_by_is_on_the_disk_before_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    to, on_disk = tmp_path / "od.zarr", set()

    def fsync(file: int, real: Any = os.fsync) -> None:
        status = os.fstat(file)
        on_disk.add((status.st_ino, status.st_size))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    stopped(to, 0)
    files = [path.stat() for path in to.rglob("*") if path.is_file()]
    assert len(files) >= 6
    assert {(status.st_ino, status.st_size) for status in files} <= on_disk


def test_two_processes_do_not_work_on_one_job(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    stopped(tmp_path / "od", 1)
    with (tmp_path / "od.job" / "manifest.jsonl").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(sssp.JobError, match="another process is at work"):
            sssp.run(G, SOURCES, to=tmp_path / "od")
    assert sssp.run(G, SOURCES, to=tmp_path / "od").complete


def test_a_damaged_block_is_named_and_a_lost_one_is_done_again(tmp_path: Path) -> None:
    whole = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=4)
    before = contents_of(tmp_path / "od")
    part = tmp_path / "od" / "part-000003.parquet"
    content = bytearray(part.read_bytes())
    content[10] ^= 1
    part.write_bytes(content)
    with pytest.raises(sssp.JobError, match=r"block 3 .*part-000003.*checksum differs"):
        whole.check()
    part.write_bytes(content[:-1])
    with pytest.raises(sssp.JobError, match=r"block 3 is damaged: .* bytes instead of .*; remove"):
        sssp.run(G, SOURCES, to=tmp_path / "od")
    part.unlink()
    with pytest.raises(sssp.JobError, match=r"block 3 is damaged: .* gone"):
        whole.check()
    report = sssp.run(G, SOURCES, to=tmp_path / "od")
    assert (report.done_before, report.done) == (9, 1)
    assert contents_of(tmp_path / "od") == before
    assert report.check() == whole.written


def test_a_block_that_another_version_found_again_counts_as_it_was_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    to = tmp_path / "od.zarr"
    sssp.run(G, SOURCES, to=to, block_size=4)
    chunk = to / "distances" / "c" / "3" / "0"
    size = chunk.stat().st_size
    chunk.unlink()
    monkeypatch.setattr("sssp.apps.jobs.stores.ZSTD_LEVEL", 9)
    assert sssp.run(G, SOURCES, to=to).done == 1
    assert chunk.stat().st_size != size
    report = sssp.run(G, SOURCES, to=to)
    assert (report.done_before, report.done) == (10, 0)
    report.check()


@pytest.mark.parametrize("after", [3, 10])
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("zarr.json", "{", "{ "),
        ("distances/zarr.json", "int32", "int64"),
        ("distances/zarr.json", '"level": 1', '"level": 2'),
        ("source/c/0", "", ""),
        ("target/zarr.json", "", ""),
    ],
)
def test_what_a_store_is_read_by_is_told_where_it_is_changed_and_made_again_where_it_is_lost(
    tmp_path: Path, name: str, old: str, new: str, after: int
) -> None:
    pytest.importorskip("zarr")
    to = tmp_path / "od.zarr"
    whole = sssp.run(G, SOURCES, to=tmp_path / "whole.zarr", block_size=4)
    if after == 10:
        sssp.run(G, SOURCES, to=to, block_size=4)
    else:
        stopped(to, after)
    before, file = contents_of(to), to / name
    if old:
        file.write_text(file.read_text().replace(old, new, 1))
    else:
        file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    # (what is lost beside it hides nothing)
    (to / "source" / "zarr.json").unlink()
    damaged = contents_of(to)
    for dry_run in (True, False):
        with pytest.raises(sssp.JobError, match=rf"metadata and labels.*{name}' is .*; remove"):
            sssp.run(G, SOURCES, to=to, dry_run=dry_run)
    assert contents_of(to) == damaged
    file.unlink()
    report = sssp.run(G, SOURCES, to=to)
    assert (report.done_before, report.done) == (after, 10 - after)
    assert {file: contents_of(to)[file] for file in before} == before
    assert contents_of(to) == contents_of(tmp_path / "whole.zarr")
    assert report.check() == whole.written
    file.unlink()
    with pytest.raises(sssp.JobError, match=rf"metadata and labels.*{name}' is gone; run"):
        report.check()


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        sssp.run(G, SOURCES, to=tmp_path / "file" / "od", on=Elsewhere(0))


def test_without_room_the_blocks_that_are_done_stay(tmp_path: Path) -> None:
    to = tmp_path / "od"
    sssp.run(G, SOURCES, to=tmp_path / "whole", block_size=4)
    smallest = min(map(len, contents_of(tmp_path / "whole").values()))
    stopped(to, 3)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (smallest - 1, limits[1]))
    try:
        with pytest.raises(sssp.JobError, match=r"no room .* 3 of 10 blocks are done and kept"):
            sssp.run(G, SOURCES, to=to, threads=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    report = sssp.run(G, SOURCES, to=to)
    assert (report.done_before, report.done) == (3, 7)
    assert contents_of(to) == contents_of(tmp_path / "whole")


@pytest.mark.parametrize("room", [1000, 400, 0])
def test_without_room_for_the_record_of_blocks_they_stay(tmp_path: Path, room: int) -> None:
    to, record = tmp_path / "od", tmp_path / "od.job" / "manifest.jsonl"
    sssp.run(G, SOURCES, to=tmp_path / "whole", reduce="sum", block_size=1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(map(len, contents_of(tmp_path / "whole").values()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + room if room else 1, limits[1]))
    try:
        with pytest.raises(sssp.JobError, match=r"no room .* of 40 blocks are done and kept"):
            sssp.run(G, SOURCES, to=to, reduce="sum", block_size=1, threads=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (record.stat().st_size > largest) == (room > 0)
    report = sssp.run(G, SOURCES, to=to, reduce="sum", block_size=1)
    assert (report.done_before > 0) == (room > 0)
    assert contents_of(to) == contents_of(tmp_path / "whole")


def test_a_table_that_the_disk_cannot_hold_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(sssp.JobError, match=r"takes 32,000 bytes more, but .* has 1,000 free"):
        sssp.run(G, SOURCES, to=tmp_path / "od", compression=None)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    report = sssp.run(G, [*SOURCES, 3], to=tmp_path / "od", block_size=16, dry_run=True)
    assert list(tmp_path.iterdir()) == []
    assert (report.blocks, report.searches, report.done, report.nbytes) == (3, 40, 0, 40 * 200 * 4)
    assert report.estimate is not None
    assert "40 searches in 3 blocks of 16, 32,000 bytes uncompressed; about" in report.plan()
    with pytest.raises(sssp.JobError, match=r"there is no .*od' to check: no job has begun it"):
        report.check()
    stopped(tmp_path / "half", 4)
    report = sssp.run(G, SOURCES, to=tmp_path / "half", dry_run=True)
    assert "4 blocks are there, 6 to do" in report.plan()


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_estimate_does_not_count_what_only_the_first_blocks_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    calls: list[Any] = []
    now = 0.0

    def compiled_first(plan: Any) -> sssp.ShortestPaths:
        nonlocal now
        calls.append(plan)
        now += 50 if len(calls) == 1 else 2
        return solve_plan(plan)

    sssp.run(G, SOURCES, to=tmp_path / "warm", block_size=4, threads=1)
    monkeypatch.setattr("sssp.apps.jobs.blocks.solve_plan", compiled_first)
    for module in ("job", "blocks"):
        monkeypatch.setattr(f"sssp.apps.jobs.{module}.perf_counter", lambda: now)
    report = sssp.run(G, SOURCES, to=tmp_path / "od", block_size=4, threads=1, dry_run=dry_run)
    assert len(calls) == (2 if dry_run else 10)
    # ten blocks
    assert report.estimate == pytest.approx(20)


def test_a_block_beside_which_compilation_is_nothing_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def counted(plan: Any) -> sssp.ShortestPaths:
        calls.append(plan)
        return solve_plan(plan)

    monkeypatch.setattr("sssp.apps.jobs.blocks.solve_plan", counted)
    monkeypatch.setattr("sssp.apps.jobs.job.LONG", 0.0)
    sssp.run(G, SOURCES, to=tmp_path / "od", dry_run=True)
    assert len(calls) == 1


def test_rows_that_are_wrong_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong_answer(plan: Any) -> sssp.ShortestPaths:
        result = solve_plan(plan)
        result.distances[-1, -1] += 1
        return result

    monkeypatch.setattr("sssp.apps.jobs.blocks.solve_plan", wrong_answer)
    with pytest.raises(sssp.VerificationError):
        sssp.run(G, SOURCES, to=tmp_path / "od", certify=40)
    assert contents_of(tmp_path / "od") == {}


def test_a_graph_travels_as_the_path_of_its_file_or_else_beside_the_table(tmp_path: Path) -> None:
    G.save(tmp_path / "g.sssp")
    h = sssp.prepare(G)
    h.save(tmp_path / "h.sssp")
    plain = sssp.run(G, SOURCES, to=tmp_path / "plain", block_size=4)
    for network, name in (
        (tmp_path / "g.sssp", "by-path"),
        (tmp_path / "h.sssp", "prepared"),
        (h, "object"),
    ):
        sssp.run(network, SOURCES, to=tmp_path / name, block_size=4, on=Elsewhere())
        assert contents_of(tmp_path / name) == contents_of(tmp_path / "plain"), name

    class WithoutTheFile(Elsewhere):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            (tmp_path / "g.sssp").unlink(missing_ok=True)
            return super().submit(function, *args, **kwargs)

    report = sssp.run(
        tmp_path / "g.sssp", SOURCES, to=tmp_path / "lost", block_size=4, on=WithoutTheFile()
    )
    assert report.complete
    assert contents_of(tmp_path / "lost") == contents_of(tmp_path / "plain")
    assert plain.devices == {"cpu": 10}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_graph_from_a_pipe_travels_for_no_worker_reads_it_again(tmp_path: Path) -> None:
    G.save(tmp_path / "g.sssp")
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as executor:
        executor.submit((tmp_path / "pipe").write_bytes, (tmp_path / "g.sssp").read_bytes())
        report = sssp.run(tmp_path / "pipe", SOURCES, to=tmp_path / "od", on=Elsewhere())
    assert report.complete


def test_a_worker_that_does_not_see_the_table_says_so(tmp_path: Path) -> None:
    class OnAnotherHost(Elsewhere):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            for path in (tmp_path / "od.job").glob("unfinished-*/*"):
                path.rename(tmp_path / "moved")
            return super().submit(function, *args, **kwargs)

    with pytest.raises(sssp.JobError, match=r"cannot read .* a folder that all its workers see"):
        sssp.run(G, SOURCES, to=tmp_path / "od", on=OnAnotherHost())


class Planted:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_inputs_that_travel_are_for_the_user_alone_and_checked(tmp_path: Path) -> None:
    found: list[Any] = []

    class WithOtherInputs(Elsewhere):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            (path,) = (tmp_path / "od.job").glob("unfinished-*/*")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found.append((stat.S_IMODE(path.stat().st_mode), args[0].checksum == digest))
            path.write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
            return super().submit(function, *args, **kwargs)

    with pytest.raises(sssp.JobError, match="is not what was written"):
        sssp.run(G, SOURCES, to=tmp_path / "od", on=WithOtherInputs())
    assert found[0] == (0o600, True)
    assert not (tmp_path / "ran").exists()


def test_inputs_that_travel_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open
    swapped: list[Path] = []

    def swapped_behind(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        stream = real(self, mode, *args, **kwargs)
        if self.parent.name.startswith("unfinished-") and mode == "rb" and not swapped:
            swapped.append(self)
            other = tmp_path / "other"
            other.write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
            other.replace(self)
        return stream

    monkeypatch.setattr(Path, "open", swapped_behind)
    report = sssp.run(G, SOURCES, to=tmp_path / "od", on=Elsewhere())
    assert swapped
    assert report.complete
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_a_worker_that_dies_ends_an_executor_of_processes_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    spawn = multiprocessing.get_context("spawn")
    sssp.run(G, SOURCES, to=tmp_path / "whole", block_size=4)
    with ProcessPoolExecutor(1, mp_context=spawn) as executor:
        executor.submit(os.getpid).result()
        (process,) = executor._processes
        blocks = Killer(executor, process)
        with pytest.raises(sssp.JobError, match="a worker of the executor has died"):
            sssp.run(G, SOURCES, to=tmp_path / "od", block_size=4, on=blocks)
    with ProcessPoolExecutor(1, mp_context=spawn) as executor:
        assert sssp.run(G, SOURCES, to=tmp_path / "od", on=executor).complete
    assert contents_of(tmp_path / "od") == contents_of(tmp_path / "whole")


class Killer(Elsewhere):
    """An executor that kills the process of another before its fifth call."""

    def __init__(self, executor: ProcessPoolExecutor, process: int) -> None:
        super().__init__()
        self.executor, self.process = executor, process

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == 5:
            os.kill(self.process, signal.SIGKILL)
        return self.executor.submit(function, *args)


MOMENTS = [5, pytest.param(50, marks=pytest.mark.slow)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("moments", MOMENTS)
def test_killed_at_any_moment_a_job_goes_on_to_the_same_bytes(tmp_path: Path, moments: int) -> None:
    asked: dict[str, Any] = {"block_size": 2, "threads": 2, "progress": False}
    start = time.perf_counter()
    sssp.run(G, range(200), to=tmp_path / "whole", **asked)
    seconds = time.perf_counter() - start
    whole = contents_of(tmp_path / "whole")
    draw = random.Random(moments)
    for moment in range(moments):
        to = tmp_path / f"{moment}"
        killed_run(to, asked, draw.uniform(0, seconds))
        on_record, there = recorded(to), len(contents_of(to))
        report = sssp.run(G, range(200), to=to, **asked)
        assert report.done == report.blocks - on_record
        # those that are done twice: one for each of two threads at most
        assert there - on_record <= 2
        assert contents_of(to) == whole


def killed_run(to: Path, asked: dict[str, Any], after: float) -> None:
    child = os.fork()
    if child == 0:
        try:
            sssp.run(G, range(200), to=to, **asked)
        finally:
            os._exit(0)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def recorded(to: Path) -> int:
    """Return how many blocks the manifest says are done."""
    try:
        lines = (to.parent / f"{to.name}.job" / "manifest.jsonl").read_bytes().splitlines(True)
    except FileNotFoundError:
        return 0
    # (after the head and what the table is read by)
    return sum(line.endswith(b"\n") for line in lines[2:])
