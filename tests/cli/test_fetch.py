"""``sssp fetch`` against a site on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssp import datasets
from sssp.apps.cli import main
from tests.site import Site, site

ROME = b"p sp 2 1\na 1 2 3\n"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site in place of the real one, and an empty cache."""
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SSSP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SSSP_DATA", str(tmp_path))
    monkeypatch.setitem(datasets.CHECKSUMS, "rome99.gr", hashlib.sha256(ROME).hexdigest())
    with site() as served:
        served.files["/rome/rome99.gr"] = ROME
        monkeypatch.setattr(datasets, "SITE", served.address)
        yield served


def test_a_graph_is_fetched_by_name_and_found_by_it(published, tmp_path, capsys):
    path = tmp_path / "cache" / "rome99.gr"
    assert main(["fetch", "rome99"]) == 0
    assert capsys.readouterr() == (f"{path}\n", "")
    assert main(["info", "rome99"]) == 0
    assert "rome99" in capsys.readouterr().out


def test_the_list_tells_which_graphs_are_here(published, tmp_path, capsys):
    (tmp_path / "USA-road-d.NY.co").touch()
    assert main(["fetch", "--list"]) == 0
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert told.pop("USA-road-d.NY.co") == str(tmp_path / "USA-road-d.NY.co")
    assert set(told.values()) == {"not here"}
    assert len(told) == len(datasets.PUBLISHED) - 1
    assert published.asked == []


def test_what_cannot_be_fetched_is_told_in_one_line(published, tmp_path, capsys):
    assert main(["fetch", "rome99", "USA-road-d.NY"]) == 2
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'cache' / 'rome99.gr'}\n"
    assert captured.err.startswith(f"sssp fetch: error: {published.address}/USA-road-d/")
    assert captured.err.count("\n") == 1


def test_a_published_graph_that_is_not_here_is_said_to_be_so(published, capsys):
    with pytest.raises(SystemExit):
        main(["info", "USA-road-d.NY"])
    assert "sssp fetch USA-road-d.NY downloads it" in capsys.readouterr().err
