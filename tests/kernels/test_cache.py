"""Compiled code on disk: kept, never stale, and done without where nothing can be written."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from numba import config as _config
from numba import types
from numba.extending import intrinsic as _intrinsic

import sssp
from sssp.kernels.cache import CALLERS
from sssp.kernels.jit import njit

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
    shutil.copytree(
        Path(sssp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "cpu" / "answer.py").write_text(ANSWER)
    (package / "cpu" / "question.py").write_text(QUESTION)
    return package


def run(code: str, path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that imports what is in `path`; only `variables` speak to Numba."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=path.parent,
        env=environment | {"PYTHONPATH": str(path)} | variables,
        timeout=300,
    )


def ask(path: Path, **variables: str) -> list[int]:
    """Return the answer and the number of functions found on disk."""
    asked = run(ASK, path, **variables)
    assert asked.stderr == ""
    return [int(word) for word in asked.stdout.split()]


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    package = copy_of_package(tmp_path)
    question = package / "cpu" / "question.py"
    assert ask(tmp_path) == [42, 0]
    files = len(list(package.rglob("answer.*.nb?")))
    assert files == 2
    question.write_text(QUESTION.replace("NUMBER = 2", "NUMBER = 3"))
    assert ask(tmp_path) == [43, 0]
    question.write_text(QUESTION.replace("2 * x", "4 * x"))
    assert ask(tmp_path) == [82, 0]
    assert ask(tmp_path) == [82, 1]
    # what other sources were compiled to is gone
    assert len(list(package.rglob("answer.*.nb?"))) == files


def test_what_only_calls_kernels_may_change(tmp_path: Path) -> None:
    package = copy_of_package(tmp_path)
    assert ask(tmp_path) == [42, 0]
    for room in sorted(CALLERS):
        with (package / room / "__init__.py").open("a") as file:
            file.write("# changed\n")
    assert ask(tmp_path) == [42, 1]


def test_a_process_whose_sources_changed_meanwhile_keeps_nothing(tmp_path: Path) -> None:
    question = copy_of_package(tmp_path) / "cpu" / "question.py"
    late = f"""
import sssp.kernels.jit
with open({str(question)!r}, "a") as file:
    file.write("NUMBER = 3")
{ASK}
"""
    asked = run(late, tmp_path)
    assert (asked.stdout, asked.stderr) == ("43 0\n", "")
    question.write_text(QUESTION)
    assert ask(tmp_path) == [42, 0]


def test_options_of_the_compiler_are_told_apart(tmp_path: Path) -> None:
    copy_of_package(tmp_path)
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    assert ask(tmp_path, **kept) == [42, 0]
    assert ask(tmp_path, NUMBA_BOUNDSCHECK="1", **kept) == [42, 0]
    assert ask(tmp_path, **kept) == [42, 1]


def test_the_package_works_from_an_archive(tmp_path: Path) -> None:
    copy_of_package(tmp_path)
    archive = tmp_path / "archive.zip"
    for number in (2, 3):
        question = QUESTION.replace("NUMBER = 2", f"NUMBER = {number}")
        (tmp_path / "sssp" / "cpu" / "question.py").write_text(question)
        with zipfile.ZipFile(archive, "w") as file:
            for path in (tmp_path / "sssp").rglob("*.py"):
                file.write(path, path.relative_to(tmp_path))
        answer = run(ASK, archive, XDG_CACHE_HOME=str(tmp_path / "home"))
        assert answer.stdout.split()[:1] == [str(40 + number)], answer.stderr


def test_without_a_writable_cache_it_works_with_one_warning(tmp_path: Path) -> None:
    package = copy_of_package(tmp_path)
    # a plain file where the cache folder would be stops even root from making one
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    solved = run(SOLVE, tmp_path, HOME=os.devnull, XDG_CACHE_HOME=os.devnull)
    assert solved.stdout == f"{package / '__init__.py'} [0, 5, 10]\n", solved.stderr
    assert solved.stderr.count("NUMBA_CACHE_DIR") == 1
    assert len(solved.stderr.splitlines()) == 1, solved.stderr


def test_a_cache_that_fails_later_costs_one_warning(tmp_path: Path) -> None:
    package = copy_of_package(tmp_path)
    folder = package / "cpu" / "__pycache__"
    gone = f"""
import shutil
import sssp.cpu.answer
shutil.rmtree({str(folder)!r})
open({str(folder)!r}, "w").close()
{ASK}
"""
    asked = run(gone, tmp_path)
    assert asked.stdout == "42 0\n", asked.stderr
    assert asked.stderr.count("NUMBA_CACHE_DIR") == 1
    assert len(asked.stderr.splitlines()) == 1, asked.stderr


def imported_rooms(path: Path) -> set[str]:
    """Rooms of the package that a source imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {match[1] for name in found if (match := re.match(r"sssp\.(\w+)", name))}


def test_no_kernel_stands_in_a_room_that_only_calls_or_takes_anything_from_there() -> None:
    package = Path(sssp.__file__).parent
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0]
        if room in CALLERS:
            assert "njit" not in path.read_text(), path
        elif room != "__main__.py":
            assert not imported_rooms(path) & CALLERS, path


def switch_during_compilation(**options: Any) -> int:
    """Numba's switch for straight-line vectorisation while a kernel is compiled."""

    def typed(context: Any) -> Any:
        value = config.SLP_VECTORIZE
        return types.intp(), lambda c, builder, s, arguments: c.get_constant(types.intp, value)

    switch = intrinsic(typed)

    def kernel():
        return switch()

    found: int = njit(kernel, **options)()
    return found


def test_neighbouring_operations_are_gathered_where_a_kernel_asks_for_it() -> None:
    before = int(config.SLP_VECTORIZE)
    assert switch_during_compilation() == before
    assert switch_during_compilation(slp_vectorize=True) == 1
    assert switch_during_compilation() == before
