"""How many threads a call takes: the argument, the process' default, the machine's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.engine import threads
from sssp.engine.threads import check_threads, cpu_quota, default_threads, usable_cores


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give every test a process in which nothing is set, on eight cores without a quota."""
    monkeypatch.delenv("SSSP_THREADS", raising=False)
    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "cpu_quota", lambda: None)
    yield
    sssp.set_threads(None)


def small_graph() -> sssp.Graph:
    return sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])


CALLS = {
    "shortest_paths": lambda g, **options: sssp.shortest_paths(g, [0, 1], **options),
    "all_pairs": lambda g, **options: sssp.all_pairs(g, **options),
    "transitive_closure": lambda g, **options: sssp.transitive_closure(g, **options),
    "reduce": lambda g, **options: sssp.reduce(g, [0, 1], "count", **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("number", [1, 3, np.int64(2), np.uint8(2)], ids=repr)
def test_threads_are_any_integer(call: Any, number: Any) -> None:
    call(small_graph(), threads=number)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("bad", [0, -1, 2.0, "2", True, np.float64(2), np.bool_(True), [2]])
def test_what_is_no_number_of_threads_is_refused(call: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match="threads must be an integer of 1 or more, not"):
        call(small_graph(), threads=bad)


def test_the_default_is_all_usable_cores() -> None:
    assert check_threads(None) == default_threads() == 8


def test_a_process_sets_its_default() -> None:
    sssp.set_threads(3)
    assert check_threads(None) == 3
    assert check_threads(5) == 5
    sssp.set_threads(np.int64(11))
    assert check_threads(None) == 11
    sssp.set_threads(None)
    assert check_threads(None) == 8


@pytest.mark.parametrize("bad", [0, -2, 1.5, "3", True])
def test_a_bad_default_is_refused_and_changes_nothing(bad: Any) -> None:
    sssp.set_threads(3)
    with pytest.raises(ValueError, match="n must be an integer of 1 or more, not"):
        sssp.set_threads(bad)
    assert check_threads(None) == 3


def test_the_environment_sets_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSSP_THREADS", " 5 ")
    assert check_threads(None) == 5
    assert check_threads(2) == 2
    sssp.set_threads(4)
    assert check_threads(None) == 4


@pytest.mark.parametrize("bad", ["0", "-1", "two", "1.5", "0x2"])
def test_a_bad_environment_is_refused(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("SSSP_THREADS", bad)
    with pytest.raises(ValueError, match="SSSP_THREADS must be an integer of 1 or more, not"):
        sssp.shortest_paths(small_graph(), 0)
    sssp.shortest_paths(small_graph(), 0, threads=1)


def test_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSSP_THREADS", "")
    assert check_threads(None) == 8


@pytest.mark.parametrize(
    ("quota", "expected"), [(0.5, 1), (1.0, 1), (1.9, 1), (4.0, 4), (100.0, 8), (None, 8)]
)
def test_the_default_stays_within_the_quota(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int
) -> None:
    monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
    assert check_threads(None) == expected
    assert check_threads(6) == 6


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_usable_cores_are_those_of_the_process() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from sssp.engine.threads import usable_cores; print(usable_cores())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
    assert usable_cores() == len(os.sched_getaffinity(0))


class Machine:
    """What Linux tells a process about its control groups, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.process, self.tree = folder / "process", folder / "tree"
        self.process.mkdir()
        self.tree.mkdir()
        self.mount("tmpfs tmpfs rw,mode=755", self.tree.parent)

    def mount(self, kind: str, place: Path, top: str = "/") -> None:
        with (self.process / "mountinfo").open("a") as file:
            file.write(f"32 31 0:29 {top} {place} rw,relatime shared:9 - {kind}\n")

    def belongs_to(self, *groups: str) -> None:
        (self.process / "cgroup").write_text("".join(f"{group}\n" for group in groups))

    def limit(self, group: str, **files: str) -> None:
        folder = self.tree / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_version_2_gives_the_least_of_the_groups_that_hold_each_other(machine: Machine) -> None:
    machine.mount("cgroup2 cgroup2 rw,nsdelegate", machine.tree)
    machine.belongs_to("0::/jobs/inner")
    machine.limit("jobs", cpu__max="150000 100000")
    machine.limit("jobs/inner", cpu__max="max 100000")
    machine.limit("others", cpu__max="1000 100000")
    assert cpu_quota(machine.process) == 1.5
    machine.limit("jobs/inner", cpu__max="25000 50000")
    cpu_quota.cache_clear()
    assert cpu_quota(machine.process) == 0.5


def test_a_container_sees_its_own_group_at_the_top(machine: Machine) -> None:
    machine.mount("cgroup2 cgroup2 rw", machine.tree)
    machine.belongs_to("0::/")
    machine.limit(".", cpu__max="200000 100000")
    assert cpu_quota(machine.process) == 2.0


def test_a_container_may_be_told_a_name_that_it_does_not_see(machine: Machine) -> None:
    machine.mount("cgroup2 cgroup2 rw", machine.tree, top="/docker/abc")
    machine.belongs_to("0::/docker/abc/worker")
    machine.limit(".", cpu__max="300000 100000")
    machine.limit("worker", cpu__max="max 100000")
    assert cpu_quota(machine.process) == 3.0
    machine.belongs_to("0::/elsewhere")
    cpu_quota.cache_clear()
    assert cpu_quota(machine.process) == 3.0


def test_version_1_gives_the_least_as_well(machine: Machine) -> None:
    machine.mount("cgroup cgroup rw,memory", machine.tree.parent / "memory")
    machine.mount("cgroup cgroup rw,cpu,cpuacct", machine.tree)
    machine.belongs_to("5:memory:/far", "4:cpu,cpuacct:/jobs/inner", "0::/elsewhere")
    machine.limit(".", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    machine.limit("jobs", cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000")
    machine.limit("jobs/inner", cpu__cfs_quota_us="400000", cpu__cfs_period_us="100000")
    assert cpu_quota(machine.process) == 0.5


def test_both_versions_side_by_side(machine: Machine) -> None:
    """As systemd mounts them: version 2 for its own use, without limits."""
    machine.mount("cgroup2 cgroup2 rw", machine.tree / "unified")
    machine.mount("cgroup cgroup rw,cpu", machine.tree)
    machine.belongs_to("1:cpu:/box", "0::/")
    machine.limit("box", cpu__cfs_quota_us="700000", cpu__cfs_period_us="100000")
    assert cpu_quota(machine.process) == 7.0


@pytest.mark.parametrize("groups", [[], ["0::/"], ["nonsense"], ["1:cpu:/"]])
def test_without_a_limit_there_is_none(machine: Machine, groups: list[str]) -> None:
    machine.mount("cgroup2 cgroup2 rw", machine.tree)
    machine.belongs_to(*groups)
    machine.limit(".", cpu__max="max 100000")
    assert cpu_quota(machine.process) is None


def test_elsewhere_than_on_linux_there_is_none(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path / "nothing") is None
