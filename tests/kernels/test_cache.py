"""Compiled code on disk: kept, never stale, and done without where nothing can be written."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from numba import config as _config
from numba.extending import intrinsic as _intrinsic

import sssp
from sssp.kernels import cache_files
from sssp.kernels.cache_files import CALLERS

config: Any = _config
intrinsic: Any = _intrinsic

SOLVE = """
import sssp

g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
r = sssp.shortest_paths(g, 0, method="dijkstra")
print(sssp.__file__, r.distances.tolist())
"""

#: a kernel that takes a constant and a helper from another file of the package, by which
#: the answer is 42
ANSWER = """
from sssp.cpu.question import NUMBER, twice
from sssp.kernels.jit import njit

@njit
def answer(x):
    return twice(x) + NUMBER
"""
QUESTION = """
from sssp.kernels.jit import njit

NUMBER = 2

@njit
def twice(x):
    return 2 * x
"""
#: prints the answer, and how often compiled code was found on disk
ASK = """
from sssp.cpu.answer import answer

print(answer(20), sum(answer.stats.cache_hits.values()))
"""


def copy_of_package(folder: Path) -> Path:
    """Return a copy of the package, with `ANSWER` and `QUESTION` in it."""
    package = folder / "sssp"
    for origin, copy in (
        (Path(sssp.__file__).parent, package),
        (Path(sssp.loaders.__file__).parent, folder / "loaders"),
    ):
        shutil.copytree(origin, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "cpu" / "answer.py").write_text(ANSWER)
    (package / "cpu" / "question.py").write_text(QUESTION)
    return package


def surroundings(path: Path, **variables: str) -> dict[str, str]:
    """Environment of a process that imports what is in `path`, and keeps code beside it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    here = {"PYTHONPATH": str(path), "SSSP_CACHE_DIR": str(path.with_name("kept"))}
    # (bytecode is told from newer sources by their second and their size alone)
    here["PYTHONDONTWRITEBYTECODE"] = "1"
    return inherited | here | variables


def run(code: str, path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that imports what is in `path`."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=path.parent,
        env=surroundings(path, **variables),
        timeout=300,
    )


def ask(path: Path, **variables: str) -> list[int]:
    """Return the answer and the number of functions found on disk."""
    asked = run(ASK, path, **variables)
    assert asked.stderr == ""
    return [int(word) for word in asked.stdout.split()]


def entries(path: Path) -> list[Path]:
    """Compiled code that is kept of the function that is asked."""
    return list(path.with_name("kept").rglob("*answer.answer-*"))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder for the package, beside which code is kept."""
    path = tmp_path / "here"
    path.mkdir()
    return path


def test_a_change_in_another_file_is_noticed(here: Path) -> None:
    package = copy_of_package(here)
    question = package / "cpu" / "question.py"
    assert ask(here) == [42, 0]
    question.write_text(QUESTION.replace("NUMBER = 2", "NUMBER = 3"))
    assert ask(here) == [43, 0]
    question.write_text(QUESTION.replace("2 * x", "4 * x"))
    assert ask(here) == [82, 0]
    assert ask(here) == [82, 1]
    # what other sources were compiled to is gone
    assert len(entries(here)) == 1


@pytest.mark.slow
def test_a_constant_that_is_set_while_the_process_runs_is_noticed(here: Path) -> None:
    copy_of_package(here)
    assert ask(here) == [42, 0]
    patched = run(f"import sssp.cpu.answer\nsssp.cpu.answer.NUMBER = 3{ASK}", here)
    assert patched.stdout == "43 0\n", patched.stderr
    assert ask(here) == [42, 1]


@pytest.mark.slow
def test_code_of_a_package_that_is_gone_is_deleted(here: Path) -> None:
    gone = here.with_name("gone")
    gone.mkdir()
    for path in (here, gone):
        copy_of_package(path)
        assert ask(path) == [42, 0]
    assert len(entries(here)) == 2
    shutil.rmtree(gone)
    # what keeps anything looks around first
    with (here / "sssp" / "cpu" / "question.py").open("a") as file:
        file.write("# changed")
    assert ask(here) == [42, 0]
    assert len(entries(here)) == 1


@pytest.mark.slow
def test_damaged_code_is_compiled_again(here: Path) -> None:
    copy_of_package(here)
    assert ask(here) == [42, 0]
    (entry,) = entries(here)
    whole = entry.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + b"?", checked(b"no pickle")):
        entry.write_bytes(damaged)
        asked = run(ASK, here)
        assert asked.stdout == "42 0\n", asked.stderr
        assert len(asked.stderr.splitlines()) == 1, asked.stderr
        assert ask(here) == [42, 1]


def checked(data: bytes) -> bytes:
    """Return an entry with these data."""
    return hashlib.sha256(data).digest() + data


def test_processes_that_start_at_once_share_what_they_compile(here: Path) -> None:
    copy_of_package(here)
    several = [
        subprocess.Popen(
            [sys.executable, "-c", ASK],
            stdout=subprocess.PIPE,
            text=True,
            cwd=here.parent,
            env=surroundings(here),
        )
        for _ in range(3)
    ]
    answers = {process.communicate(timeout=300)[0].split()[0] for process in several}
    assert answers == {"42"}
    assert ask(here) == [42, 1]
    assert len(entries(here)) == 1


def test_what_only_calls_kernels_may_change(here: Path) -> None:
    package = copy_of_package(here)
    assert ask(here) == [42, 0]
    for room in sorted(CALLERS):
        with (package / room / "__init__.py").open("a") as file:
            file.write("# changed\n")
    assert ask(here) == [42, 1]


def test_a_process_whose_sources_changed_meanwhile_keeps_nothing(here: Path) -> None:
    question = copy_of_package(here) / "cpu" / "question.py"
    late = f"""
import sssp.kernels.jit
with open({str(question)!r}, "a") as file:
    file.write("NUMBER = 3")
{ASK}
"""
    asked = run(late, here)
    assert (asked.stdout, asked.stderr) == ("43 0\n", "")
    question.write_text(QUESTION)
    assert ask(here) == [42, 0]


@pytest.mark.slow
def test_options_of_the_compiler_are_told_apart(here: Path) -> None:
    copy_of_package(here)
    assert ask(here) == [42, 0]
    assert ask(here, NUMBA_BOUNDSCHECK="1") == [42, 0]
    assert ask(here) == [42, 1]


@pytest.mark.slow
def test_the_package_works_from_an_archive(here: Path) -> None:
    copy_of_package(here)
    archive = here / "archive.zip"
    for number in (2, 3):
        question = QUESTION.replace("NUMBER = 2", f"NUMBER = {number}")
        (here / "sssp" / "cpu" / "question.py").write_text(question)
        with zipfile.ZipFile(archive, "w") as file:
            for path in (here / "sssp").rglob("*.py"):
                file.write(path, path.relative_to(here))
        for found in (0, 1):
            assert ask(archive) == [40 + number, found]


@pytest.mark.slow
def test_without_a_writable_folder_it_works_with_one_warning(here: Path) -> None:
    package = copy_of_package(here)
    # a plain file where the folder would be stops even root from making one
    (here / "file").touch()
    solved = run(SOLVE, here, SSSP_CACHE_DIR=str(here / "file"))
    assert solved.stdout == f"{package / '__init__.py'} [0, 5, 10]\n", solved.stderr
    assert solved.stderr.count("SSSP_CACHE_DIR") == 1
    assert len(solved.stderr.splitlines()) == 1, solved.stderr


@pytest.mark.slow
def test_the_users_folder_is_used_where_none_is_named(here: Path) -> None:
    copy_of_package(here)
    home = {"SSSP_CACHE_DIR": "", "XDG_CACHE_HOME": str(here / "home")}
    assert ask(here, **home) == [42, 0]
    assert ask(here, **home) == [42, 1]
    assert not entries(here)


#: as where the user has no passwd entry
NOBODY = """
import os
os.path.expanduser = lambda path: path
"""


def test_without_a_home_nothing_is_kept_and_nothing_taken_from_the_current_folder(
    here: Path,
) -> None:
    copy_of_package(here)
    variables = {"SSSP_CACHE_DIR": "", "XDG_CACHE_HOME": "relative", "HOME": ""}
    asked = run(NOBODY + ASK, here, **variables)
    assert asked.stdout == "42 0\n"
    assert asked.stderr.count("SSSP_CACHE_DIR") == 2  # of one line
    assert len(asked.stderr.splitlines()) == 1, asked.stderr
    assert sorted(path.name for path in here.parent.iterdir()) == ["here"]


def test_a_named_folder_is_relative_to_what_was_current_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSSP_CACHE_DIR", f"of-{tmp_path.name}")
    monkeypatch.chdir(tmp_path)
    assert cache_files.cache_folder() == tmp_path / f"of-{tmp_path.name}"
    monkeypatch.chdir("/")
    assert cache_files.cache_folder() == tmp_path / f"of-{tmp_path.name}"


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, 12345, -1)


def link(path: Path) -> None:
    """Put a link in place of a path."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.skipif(os.name != "posix", reason="files have no owner and mode here")
@pytest.mark.parametrize("level", range(5), ids=["top", "kernels", "package", "stamp", "entry"])
@pytest.mark.parametrize(
    "spoil",
    [lambda path: path.chmod(0o777), lambda path: path.chmod(0o775), give_away, link],
    ids=["all", "group", "owner", "link"],
)
def test_code_that_others_may_have_written_does_not_run(here: Path, level: int, spoil: Any) -> None:
    if spoil is link and level == 0:
        pytest.skip("a user's own link to the folder is fine")
    copy_of_package(here)
    assert ask(here) == [42, 0]
    (entry,) = entries(here)
    ran = here / "ran"
    data = pickle.dumps(Planted(ran))
    entry.write_bytes(hashlib.sha256(data).digest() + data)
    paths = [entry, *entry.parents][:5]
    spoil(paths[4 - level])
    before = {path: path.stat().st_mtime_ns for path in here.with_name("kept").rglob("*")}
    asked = run(ASK, here)
    assert asked.stdout == "42 0\n"
    assert not ran.exists()
    assert len(asked.stderr.splitlines()) == 1, asked.stderr
    assert str(paths[4 - level]) in asked.stderr
    if level < 4:  # an entry is replaced, a folder is left alone
        after = {path: path.stat().st_mtime_ns for path in here.with_name("kept").rglob("*")}
        assert after == before


@pytest.mark.skipif(os.name != "posix", reason="files have no owner and mode here")
@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077])
def test_modes_follow_the_umask_and_never_let_others_write(here: Path, mask: int) -> None:
    copy_of_package(here)
    asked = run(f"import os; os.umask({mask})\n{ASK}", here)
    assert (asked.stdout, asked.stderr) == ("42 0\n", "")
    kept = here.with_name("kept")
    for path in (kept, *kept.rglob("*")):
        expected = (0o755 if path.is_dir() else 0o644) & ~mask
        assert path.stat().st_mode & 0o777 == expected, path
    assert ask(here) == [42, 1]


@pytest.mark.skipif(os.name != "posix", reason="there are no user numbers")
def test_what_root_has_compiled_serves_other_users(here: Path) -> None:
    copy_of_package(here)
    assert ask(here) == [42, 0]
    for path in (here, *here.parents):
        path.chmod(path.stat().st_mode | 0o055)
    try:
        asked = subprocess.run(
            [sys.executable, "-c", ASK],
            capture_output=True,
            text=True,
            cwd="/",
            env=surroundings(here),
            user=12345,
            timeout=300,
        )
    except PermissionError:
        pytest.skip("this process may not start another user's")
    if "Permission denied" in asked.stderr or "ModuleNotFoundError" in asked.stderr:
        pytest.skip("another user cannot start this interpreter")
    assert (asked.stdout, asked.stderr) == ("42 1\n", "")


def test_hosts_that_share_a_home_keep_each_others_code(here: Path) -> None:
    package = copy_of_package(here)
    question = package / "cpu" / "question.py"
    assert ask(here) == [42, 0]
    (first,) = entries(here)
    another = first.with_name("used-00000000")
    another.touch()
    question.write_text(QUESTION.replace("NUMBER = 2", "NUMBER = 3"))
    assert ask(here) == [43, 0]
    assert len(entries(here)) == 2
    # what that host has not used for long goes
    os.utime(another, (0, 0))
    question.write_text(QUESTION.replace("NUMBER = 2", "NUMBER = 4"))
    assert ask(here) == [44, 0]
    assert len(entries(here)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_a_person_at_a_terminal_is_told_what_takes_long(here: Path) -> None:
    import pty

    copy_of_package(here)
    patient = f"import sssp.kernels.messages\nsssp.kernels.messages.PATIENCE = 0.0{ASK}"
    for told in (True, False):
        ours, theirs = pty.openpty()
        asked = subprocess.run(
            [sys.executable, "-c", patient],
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=here,
            text=True,
            env=surroundings(here),
            timeout=300,
        )
        os.close(theirs)
        assert asked.stdout.startswith("42")
        said = b""
        with contextlib.suppress(OSError):  # nobody writes any more
            while part := os.read(ours, 4096):
                said += part
        os.close(ours)
        assert (said.count(b"sssp compile") == 1) == told, said


def imported_rooms(path: Path) -> set[str]:
    """Rooms of the package that a source imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {match[1] for name in found if (match := re.match(r"sssp\.(\w+)", name))}


def has_kernel(path: Path) -> bool:
    """Whether a source makes a compiled function."""
    return (
        re.search(r"@(njit|kernel|inline|intrinsic)(_\w+)?\b|\bnjit_with\(", path.read_text())
        is not None
    )


def test_a_change_of_any_file_with_a_kernel_changes_the_stamp(here: Path, monkeypatch: Any) -> None:
    package = copy_of_package(here)
    monkeypatch.setattr(cache_files, "PACKAGE", package)
    stamp = cache_files.source_stamp()
    with_kernels = [path for path in here.rglob("*.py") if has_kernel(path)]
    folders = {str(path.parent.relative_to(here)) for path in with_kernels}
    assert {"loaders", "sssp/bench/papers", "sssp/cpu/search", "sssp/order"} <= folders
    for path in with_kernels:
        source = path.read_text()
        path.write_text(f"{source}\nCHANGED = 1\n")
        assert cache_files.source_stamp() != stamp, path
        path.write_text(source)
    assert cache_files.source_stamp() == stamp


def test_no_kernel_stands_in_a_folder_that_only_calls_or_takes_anything_from_there() -> None:
    package = Path(sssp.__file__).parent
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in CALLERS:
            assert not has_kernel(path), path
        elif has_kernel(path):
            assert not imported_rooms(path) & CALLERS, path
