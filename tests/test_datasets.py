from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sssp import datasets
from sssp.datasets import REFERENCE, available, find, require

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Three empty folders in the order of the search, in place of the real ones."""
    names = ("named", "checkout/data", "cache/sssp")
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.mkdir(parents=True)
    (tmp_path / "checkout/pyproject.toml").touch()
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "checkout/sssp/datasets.py"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("SSSP_DATA", str(paths[0]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return paths


def test_folders_are_searched_in_order(folders):
    assert find("rome99") is None
    for folder in reversed(folders):
        (folder / "rome99.gr").touch()
        assert find("rome99") == folder / "rome99.gr"


@pytest.mark.parametrize("name", ["USA-road-d.NY", "USA-road-d.NY.gr", "USA-road-d.NY.gr.gz"])
@pytest.mark.parametrize("present", ["", ".gz", ".xz", ".bz2"])
def test_a_file_is_found_however_it_is_compressed(folders, name, present):
    file = folders[0] / f"USA-road-d.NY.gr{present}"
    file.touch()
    assert find(name) == file


def test_a_name_finds_its_own_format_only(folders):
    (folders[0] / "USA-road-d.NY.co.gz").touch()
    assert find("USA-road-d.NY") is None
    assert find("USA-road-d.NY.co") == folders[0] / "USA-road-d.NY.co.gz"


def test_a_folder_is_no_graph(folders):
    (folders[0] / "rome99.gr").mkdir()
    assert find("rome99") is None


def test_data_beside_an_installed_package_is_left_alone(folders):
    (folders[1].parent / "pyproject.toml").unlink()
    (folders[1] / "rome99.gr").touch()
    assert find("rome99") is None


def test_without_settings_the_cache_is_in_the_home_folder(folders, monkeypatch, tmp_path):
    monkeypatch.delenv("SSSP_DATA")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    cached = tmp_path / ".cache/sssp/rome99.gr"
    cached.parent.mkdir(parents=True)
    cached.touch()
    assert find("rome99") == cached


def test_a_home_that_is_no_folder_is_no_error(folders, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/dev/null")
    assert find("rome99") is None


def test_a_name_that_no_file_can_have_is_not_found(folders, monkeypatch):
    assert find("a" * 300) is None
    assert find("nul\0byte") is None
    monkeypatch.setenv("SSSP_DATA", "a" * 300)
    assert find("rome99") is None
    (folders[2] / "rome99.gr").touch()
    assert find("rome99") == folders[2] / "rome99.gr"


def test_a_required_graph_that_is_nowhere_raises_with_the_places(folders):
    with pytest.raises(FileNotFoundError) as caught:
        require("USA-road-d.BAY")
    for place in (*map(str, folders), "data/README.md", "SSSP_DATA", "USA-road-d.BAY"):
        assert place in str(caught.value)
    (folders[2] / "USA-road-d.BAY.gr").touch()
    assert require("USA-road-d.BAY") == folders[2] / "USA-road-d.BAY.gr"


def test_available_lists_what_is_there(folders):
    assert available() == {}
    (folders[1] / "USA-road-t.NY.gr.gz").touch()
    (folders[2] / "unknown.gr").touch()
    assert available() == {"USA-road-t.NY": folders[1] / "USA-road-t.NY.gr.gz"}


def test_files_on_this_machine_are_the_published_ones():
    checked = 0
    for name, path in available().items():
        if path.name == REFERENCE[name].file:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == REFERENCE[name].sha256
            checked += 1
    if checked == 0:
        pytest.skip("none of the known graphs is on this machine (see data/README.md)")


def test_the_readme_states_the_same_facts():
    text = (ROOT / "data/README.md").read_text()
    for name, known in REFERENCE.items():
        row = re.search(rf"^\| `{re.escape(name)}` \|.*$", text, re.MULTILINE)
        assert row is not None
        numbers = [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]*\d|\d", row[0])]
        assert numbers[-6:] == [
            known.m,
            known.least_weight,
            known.greatest_weight,
            known.distance_sum,
            known.largest_distance,
            known.farthest_vertex + 1,
        ]
    addresses = re.findall(r"\(http://www\.diag\.uniroma1\.it/challenge9/data/(\S+)\)", text)
    assert len(set(addresses)) == 12 * 3 + 1


def test_importing_datasets_loads_no_numpy():
    script = "import sys, sssp.datasets; print('numpy' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout.strip() == "False"
