"""The comparison of two commits: which one it takes, what fails it, and that it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench import compare
from bench.compare import CALLS, PROCESSES, CompareError, Line, find_base, main, report
from tests.checkout import git


def line_of(old: float, again: float, new: float) -> Line:
    """Return a line of three samples a run, of which one is far off."""
    times = {"old": old, "again": again, "new": new}
    start = {run: [seconds, seconds, 50 * seconds] for run, seconds in times.items()}
    return Line("one tree", "a graph", starts=[start])


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (line_of(1.0, 1.0, 1.09), 0),
        (line_of(1.0, 1.0, 1.11), 1),
        (line_of(1.0, 1.0, 0.5), 0),
        # two processes of one commit differ by a fifth
        (line_of(1.0, 1.2, 1.3), 0),
        (line_of(1.2, 1.0, 1.5), 0),
        (line_of(1.0, 1.2, 1.35), 1),
    ],
)
def test_the_exit_status_is_1_beyond_the_limit_and_the_noise(line, status, capsys):
    assert report([line_of(1.0, 1.0, 1.0), line], 1.1) == status
    said = capsys.readouterr().out
    assert said.count("SLOWER") == status
    assert said.endswith("one tree (a graph)\n" if status else "nothing\n")


def test_the_noise_is_that_of_the_worst_start():
    line = line_of(1.0, 1.0, 1.3)
    assert line.fails(1.1)
    line.starts.append({"old": [1.0], "again": [1.25], "new": [1.3]})
    assert not line.fails(1.1)


@pytest.mark.parametrize(("run", "status"), [("new", 1), ("old", 0)])
def test_a_call_fails_that_the_older_commit_could_make(run, status, capsys):
    line = line_of(1.0, 1.0, 1.0)
    line.add(run, "ValueError: no such call")
    assert report([line], 1.1) == status
    assert f"{run}: ValueError: no such call" in capsys.readouterr().out


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of two commits."""
    published, clone = tmp_path / "published", tmp_path / "clone"
    subprocess.run(["git", "init", "-q", "-b", "main", str(published)], check=True)
    for name in ("first", "second"):
        commit(published, name)
    subprocess.run(["git", "clone", "-q", str(published), str(clone)], check=True)
    monkeypatch.setattr(compare, "ROOT", clone)
    return clone


def commit(folder: Path, name: str) -> None:
    (folder / "name").write_text(name)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["add", "name"], [*author, "commit", "-q", "-m", name]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def subject(commit: str) -> str | None:
    return compare.git("log", "-1", "--format=%s", commit)


def test_the_base_is_the_parent_of_the_first_commit_that_is_not_published(repository):
    for name in ("third", "fourth"):
        commit(repository, name)
    assert subject(find_base(None)) == "second"
    assert subject(find_base("HEAD^")) == "third"


def test_the_base_is_the_published_commit_if_only_files_have_changed(repository):
    (repository / "name").write_text("third")
    assert subject(find_base(None)) == "second"


def test_the_base_is_the_parent_if_all_is_published(repository):
    assert subject(find_base(None)) == "first"


def test_a_commit_that_is_not_there_is_named(repository, monkeypatch, tmp_path, capsys):
    with pytest.raises(CompareError, match="no commit 'elsewhere': name one"):
        find_base("elsewhere")
    assert main(["elsewhere"]) == 2
    assert main(["elsewhere", "--no-fail"]) == 0
    assert "bench.compare: git knows no commit 'elsewhere'" in capsys.readouterr().err
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    with pytest.raises(CompareError, match="no earlier commit"):
        find_base(None)


@pytest.fixture
def compare_with_itself(tmp_path, monkeypatch, capsys):
    """Compare HEAD with the working tree, whatever the times; return the lines of the table."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def comparing(*arguments: str) -> list[str]:
        few = ("--rounds", "1", "--starts", "1", "--limit", "inf")
        assert main(["HEAD", *few, *arguments]) == 0
        said: list[str] = capsys.readouterr().out.splitlines()
        assert said[0].startswith("old: ")
        assert said[-1] == "slower than allowed: nothing"
        return said[3:-1]

    git("rev-parse", "HEAD")  # skips where there is no clone
    yield comparing
    assert str(tmp_path) not in git("worktree", "list")
    assert list(tmp_path.iterdir()) == []


def test_the_import_of_a_commit_is_compared_with_itself(compare_with_itself):
    lines = compare_with_itself("--only", "import")
    cells = [line.split("|") for line in lines]
    assert [row[1].strip() for row in cells] == list(PROCESSES)
    assert all(float(cell.replace(",", "")) > 0 for row in cells for cell in row[3:7])


@pytest.mark.slow
def test_all_calls_of_a_commit_are_compared_with_themselves(compare_with_itself, monkeypatch):
    monkeypatch.setattr("sssp.datasets.find", lambda name: None)
    lines = compare_with_itself("--size", "300")
    assert len(lines) == 1 + len(PROCESSES) + len(CALLS)
    assert [line for line in lines if "Error" in line] == []
