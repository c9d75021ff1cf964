from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sssp
from sssp import datasets
from sssp.datasets import CHECKSUMS, PUBLISHED, REFERENCE, available, fetch, find, require
from tests.site import site

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Three empty folders in the order of the search, in place of the real ones."""
    names = ("named", "checkout/data", "cache/sssp")
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.mkdir(parents=True)
    (tmp_path / "checkout/pyproject.toml").touch()
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "checkout/sssp/datasets/__init__.py"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("SSSP_DATA", str(paths[0]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SSSP_CACHE_DIR", raising=False)
    return paths


def test_folders_are_searched_in_order(folders):
    assert find("own") is None
    for folder in reversed(folders):
        (folder / "own.gr").touch()
        assert find("own") == folder / "own.gr"


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
    cached = tmp_path / ".cache/sssp/own.gr"
    cached.parent.mkdir(parents=True)
    cached.touch()
    assert find("own") == cached


def test_a_home_that_is_no_folder_is_no_error(folders, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/dev/null")
    assert find("rome99") is None


def test_a_name_that_no_file_can_have_is_not_found(folders, monkeypatch):
    assert find("a" * 300) is None
    assert find("nul\0byte") is None
    monkeypatch.setenv("SSSP_DATA", "a" * 300)
    assert find("own") is None
    (folders[2] / "own.gr").touch()
    assert find("own") == folders[2] / "own.gr"


def test_a_required_graph_that_is_nowhere_raises_with_the_places(folders):
    with pytest.raises(FileNotFoundError) as caught:
        require("USA-road-d.BAY")
    for place in (*map(str, folders), "SSSP_DATA", "sssp.datasets.fetch('USA-road-d.BAY')"):
        assert place in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"data/README\.md of the project says"):
        require("NE-synthetic")
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
    sites = "|".join(map(re.escape, (datasets.SITE, datasets.PROBLEM_SITE)))
    addresses = re.findall(rf"\((?:{sites})/(\S+)\)", text)
    assert set(addresses) == set(PUBLISHED.values())
    sums = dict(re.findall(r"^\| `(\S+)` \| `([0-9a-f]{64})` \|$", text, re.MULTILINE))
    assert sums == {file: CHECKSUMS[file] for file in PUBLISHED if file in CHECKSUMS}


def test_importing_datasets_loads_no_numpy():
    script = "import sys, sssp.datasets; print('numpy' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout.strip() == "False"


# -- downloads ---------------------------------------------------------------------------------

#: what the site of these tests says is New York
CITY = gzip.compress(b"p sp 2 1\na 1 2 3\n", mtime=0)
WHERE = "/USA-road-d/USA-road-d.NY.gr.gz"


@pytest.fixture
def published(folders, monkeypatch):
    """A site on this machine in place of the real one; its checksum of New York is known."""
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setitem(CHECKSUMS, "USA-road-d.NY.gr.gz", hashlib.sha256(CITY).hexdigest())
    with site() as served:
        served.files = {WHERE: CITY, "/rome/rome99.gr": b"p sp 0 0\n"}
        monkeypatch.setattr(datasets, "SITE", served.address)
        yield served


@pytest.mark.parametrize("name", ["USA-road-d.NY", "USA-road-d.NY.gr", "USA-road-d.NY.gr.gz"])
def test_a_graph_is_downloaded_once_into_the_cache(folders, published, name, capfd):
    path = fetch(name)
    assert path == folders[2] / "USA-road-d.NY.gr.gz"
    assert list(folders[2].iterdir()) == [path]
    assert path.read_bytes() == CITY
    assert find(name) == fetch(name) == path
    assert published.asked == [WHERE]
    assert path.stat().st_mode & 0o444 == folders[2].stat().st_mode & 0o444
    assert capfd.readouterr() == ("", "")  # no terminal, so no bar


@pytest.mark.parametrize("folder", [0, 1, 2])
def test_what_is_here_in_any_form_is_not_downloaded(folders, published, folder):
    path = folders[folder] / "USA-road-d.NY.gr"
    path.touch()
    assert fetch("USA-road-d.NY") == path
    (folders[0] / "own.gr").touch()
    assert fetch("own") == folders[0] / "own.gr"
    assert published.asked == []


def test_a_damaged_file_in_the_cache_is_downloaded_again(folders, published):
    path = folders[2] / "USA-road-d.NY.gr.gz"
    path.write_bytes(CITY[:-1])
    assert fetch("USA-road-d.NY") == path
    assert path.read_bytes() == CITY


def test_a_wrong_checksum_is_refused_with_both(folders, published):
    published.files[WHERE] = other = CITY + b"!"
    with pytest.raises(sssp.GraphFormatError) as caught:
        fetch("USA-road-d.NY")
    for said in (WHERE, *(hashlib.sha256(content).hexdigest() for content in (CITY, other))):
        assert said in str(caught.value)
    assert list(folders[2].iterdir()) == []


def test_a_download_that_breaks_off_leaves_nothing(folders, published):
    published.cut = 10
    with pytest.raises(ConnectionError, match="put it into"):
        fetch("USA-road-d.NY")
    assert list(folders[2].iterdir()) == []


def test_a_compressed_file_stays_so_if_the_server_calls_it_an_encoding(folders, published):
    published.headers["Content-Encoding"] = "gzip"
    assert fetch("USA-road-d.NY").read_bytes() == CITY


@pytest.mark.parametrize("network", [True, False])
def test_what_cannot_be_downloaded_may_be_put_there_by_hand(
    folders, published, network, monkeypatch
):
    if not network:
        monkeypatch.setattr(datasets, "SITE", "http://127.0.0.1:9")  # nobody listens
    with pytest.raises(ConnectionError) as caught:
        fetch("USA-road-t.BAY")
    for said in ("/USA-road-t/USA-road-t.BAY.gr.gz", str(folders[2]), "SSSP_DATA"):
        assert said in str(caught.value)
    assert list(folders[2].iterdir()) == []


def test_an_unknown_checksum_is_told(folders, published, monkeypatch, caplog):
    monkeypatch.delitem(CHECKSUMS, "rome99.gr")
    fetch("rome99")
    assert hashlib.sha256(b"p sp 0 0\n").hexdigest() in caplog.text
    caplog.clear()
    fetch("rome99")
    assert caplog.text == ""
    assert len(published.asked) == 1


def test_the_first_checksum_is_kept_and_a_later_change_is_noticed(folders, published, monkeypatch):
    monkeypatch.delitem(CHECKSUMS, "rome99.gr")
    path = fetch("rome99")
    content = path.read_bytes()
    path.write_bytes(b"p sp 1 0\n")
    for look in (find, require):
        with pytest.raises(sssp.GraphFormatError, match=r"has changed .*fetch\('rome99'\)"):
            look("rome99")
    assert fetch("rome99") == find("rome99") == path
    assert path.read_bytes() == content
    # and the site's own change is not taken for the file
    path.unlink()
    published.files["/rome/rome99.gr"] = b"p sp 1 0\n"
    with pytest.raises(sssp.GraphFormatError, match=r"delete .*rome99\.gr\.sha256"):
        fetch("rome99")
    assert not path.exists()


def test_a_changed_file_with_a_known_checksum_is_noticed(folders, published):
    fetch("USA-road-d.NY").write_bytes(CITY[:-1])
    with pytest.raises(sssp.GraphFormatError, match="has changed"):
        find("USA-road-d.NY")
    # files elsewhere are the user's own
    (folders[1] / "USA-road-d.NY.gr.gz").write_bytes(CITY[:-1])
    assert find("USA-road-d.NY") == folders[1] / "USA-road-d.NY.gr.gz"


def test_http_serves_only_what_has_a_known_checksum(folders, published, monkeypatch):
    monkeypatch.setattr(datasets, "SITE", published.address.replace("http:", "https:"))
    monkeypatch.delitem(CHECKSUMS, "rome99.gr")
    assert fetch("USA-road-d.NY").read_bytes() == CITY
    with pytest.raises(ConnectionError, match="https:"):
        fetch("rome99")
    assert published.asked == [WHERE]


def test_problems_of_assignment_come_from_a_site_of_their_own(folders, published, monkeypatch):
    monkeypatch.setattr(datasets, "SITE", "http://127.0.0.1:9")  # nobody listens
    monkeypatch.setattr(datasets, "PROBLEM_SITE", published.address)
    published.files["/Chicago-Sketch/ChicagoSketch_net.tntp"] = b"<NUMBER OF ZONES> 0\n"
    path = fetch("ChicagoSketch_net.tntp")
    assert path == folders[2] / "ChicagoSketch_net.tntp"
    assert find("ChicagoSketch_net.tntp") == path
    assert find("ChicagoSketch_trips.tntp") is None


def test_without_a_home_nothing_is_looked_for_in_the_current_folder(
    folders, published, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as without a passwd entry
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    for folder in ("cache/sssp", "~/.cache/sssp"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "rome99.gr").touch()
    assert find("rome99") is None
    with pytest.raises(OSError, match=r"no home folder .* SSSP_CACHE_DIR"):
        fetch("rome99")


def test_named_folders_are_relative_to_what_was_current_first(folders, monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own.gr").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSSP_DATA", "mine")
    assert find("own") == tmp_path / "mine/own.gr"
    monkeypatch.chdir(folders[0])
    assert find("own") == tmp_path / "mine/own.gr"


@pytest.mark.parametrize("name", ["NE-synthetic", "USA-road-t.NY.co", "Atlantis", "../x", ""])
def test_what_nobody_publishes_is_refused(folders, published, name):
    with pytest.raises(FileNotFoundError, match="none of that name is published"):
        fetch(name)
    assert published.asked == []


def test_without_pooch_the_extra_is_named(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(sssp.MissingExtraError, match=r'pip install "sssp\[data\]"'):
        fetch("rome99")


def test_a_bar_shows_how_much_is_downloaded(folders, published, capfd, monkeypatch):
    content = bytes(100_000)
    published.files[WHERE] = content
    published.pace = 0.001
    monkeypatch.setitem(CHECKSUMS, "USA-road-d.NY.gr.gz", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(datasets, "BAR_DELAY", 0)
    fetch("USA-road-d.NY", progress=True)
    assert re.search(r"USA-road-d\.NY\.gr\.gz:.*/100k", capfd.readouterr().err)
