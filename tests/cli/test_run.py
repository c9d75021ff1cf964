"""``sssp run``: tables that go on where they were stopped."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sssp
from sssp.apps.cli import main

pytest.importorskip("pyarrow")


def rows_of(table: Path) -> dict[str, Any]:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    columns: dict[str, Any] = parquet.read_table(table).to_pydict()
    return columns


def test_a_table_is_made_and_the_next_time_there_is_nothing_to_do(graph, tmp_path, capsys):
    ends = ["--source", "2", "--source", "5", "--source", "2", "--target", "3", "--target", "1"]
    job = ["run", graph, *ends, "--to", str(tmp_path / "od"), "--compression", "none"]
    assert main([*job, "--dry-run"]) == 0
    assert "2 searches in 2 blocks of 1, 16 bytes uncompressed; about" in capsys.readouterr().out
    assert not (tmp_path / "od").exists()
    assert main([*job, "--threads", "1"]) == 0
    captured = capsys.readouterr()
    # (what is told on stderr before the work is not said again after it)
    assert captured.err.startswith("od: 2 searches in 2 blocks of 1, 16 bytes uncompressed\n")
    assert captured.err.count("searches") == 1
    assert captured.out.startswith("od: 2 blocks done in")
    assert "searches" not in captured.out
    assert rows_of(tmp_path / "od") == {
        "source": [2, 5, 5],
        "target": [3, 3, 1],
        "distance": [10, 21, 1],
    }
    assert main(job) == 0
    assert "0 blocks done in" in capsys.readouterr().out
    assert main([*job, "--no-resume"]) == 2
    # (resume=True is no option)
    assert capsys.readouterr().err.endswith("is there already\n")
    assert main([*job, "--limit", "9"]) == 2
    assert "limit is None there and 9 here" in capsys.readouterr().err


def test_every_vertex_of_a_prepared_map_is_reduced_by_label(named, tmp_path, capsys):
    prepared = tmp_path / "prepared.sssp"
    sssp.prepare(sssp.read_graph(named)).save(prepared)
    arguments = ["--all-sources", "--reduce", "eccentricity", "--to", str(tmp_path / "far")]
    assert main(["run", str(prepared), *arguments]) == 0
    far = rows_of(tmp_path / "far")
    assert far == {"source": ["home", "work", "caf\xe9"], "eccentricity": [7, 2, 0]}


def test_a_reduction_that_is_unknown_or_needs_weights_is_refused(graph, tmp_path, capsys):
    for what in ("weight", "median"):
        with pytest.raises(SystemExit):
            main(["run", graph, "--all-sources", "--reduce", what, "--to", str(tmp_path / "od")])
        assert f"{what!r} is none of eccentricity, sum, mean" in capsys.readouterr().err


def test_sources_are_named_or_all_and_not_both(graph, tmp_path, capsys):
    for arguments, complaint in (
        ([], "or else --all-sources"),
        (["--source", "1", "--all-sources"], "name no other source beside it"),
    ):
        assert main(["run", graph, *arguments, "--to", str(tmp_path / "od")]) == 2
        assert complaint in capsys.readouterr().err


def test_no_folder_is_made_under_the_name_of_a_file(graph, tmp_path, capsys):
    assert main(["run", graph, "--all-sources", "--to", str(tmp_path / "od.csv")]) == 2
    assert "od.csv' would be a folder" in capsys.readouterr().err
    assert not list(tmp_path.glob("od*"))


def test_workers_of_dask_do_it(graph, tmp_path, capsys):
    distributed: Any = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0",
        protocol="tcp",
    )  # fmt: skip
    with cluster:
        job = ["run", graph, "--all-sources", "--reduce", "count", "--to", str(tmp_path / "c")]
        assert main([*job, "--dask", cluster.scheduler_address]) == 0
    assert rows_of(tmp_path / "c")["count"] == [4, 3, 2, 1, 5]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("form", ["text", "graph", "prepared"])
def test_a_graph_comes_from_a_pipe(graph, coordinates, tmp_path, form):
    path, pipe = Path(graph), tmp_path / "pipe"
    if form != "text":
        path, g = tmp_path / "map.sssp", sssp.read_graph(graph)
        (g if form == "graph" else sssp.prepare(g)).save(path)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as executor:
        sent = executor.submit(pipe.write_bytes, path.read_bytes())
        job = ["run", str(pipe), "--source-at=-74,40", "--coordinates", coordinates]
        assert main([*job, "--target", "4", "--to", str(tmp_path / "od")]) == 0
        sent.result()
    assert rows_of(tmp_path / "od") == {"source": [1], "target": [4], "distance": [27]}
    record = (tmp_path / "od.job" / "manifest.jsonl").read_text()
    assert json.loads(record.splitlines()[0])["job"]["prepared"] == (form == "prepared")


def test_a_scheduler_that_has_not_written_its_file_is_waited_for_and_that_is_told(
    graph, tmp_path, capsys, monkeypatch
):
    distributed = pytest.importorskip("distributed")

    def waiting(scheduler_file):
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "Client", waiting)
    file = tmp_path / "scheduler.json"
    job = ["run", graph, "--all-sources", "--to", str(tmp_path / "od"), "--dask", str(file)]
    assert main(job) == 130
    assert f"waits for {file}" in capsys.readouterr().err
