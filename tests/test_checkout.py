"""A clone runs as it is: not installed, without symbolic links, as git makes it on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import copy_without_links, git

TRIANGLE = "p sp 3 3\na 1 2 5\na 2 3 5\na 1 3 20\n"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which links are texts."""
    folder = copy_without_links(tmp_path_factory.mktemp("clone"))
    (folder / "triangle.gr").write_text(TRIANGLE)
    return folder


def run(*arguments: str, folder: Path) -> str:
    """Run Python in a folder, and return what it prints."""
    environment = os.environ | {"SSSP_CACHE_DIR": str(folder / "kept")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_checkout_has_no_symbolic_link() -> None:
    listed = git("ls-files", "--stage").splitlines()
    assert len(listed) > 100
    assert [line for line in listed if line.startswith("120000")] == []


def test_a_clone_reads_a_file_and_solves(clone: Path) -> None:
    code = """
import sssp
g = sssp.read_graph("triangle.gr")
print(sssp.shortest_paths(g, 0).distances.tolist(), sssp.loaders.__file__)
print(sssp.loaders.ArcList.__module__)
"""
    distances, module = run("-c", code, folder=clone).splitlines()
    assert distances == f"[0, 5, 10] {clone / 'loaders' / '__init__.py'}"
    assert module == "sssp.loaders._dimacs"
    kept = {path.name.rpartition(".")[0] for path in (clone / "kept").rglob("sssp.*")}
    assert "sssp.loaders._dimacs_records" in kept


def test_a_folder_of_the_clone_is_not_a_module_of_the_package(clone: Path) -> None:
    code = """
import sssp
from importlib.util import find_spec
print([name for name in ("tests", "docs", "data") if find_spec(f"sssp.{name}")])
"""
    assert run("-c", code, folder=clone) == "[]\n"


def test_commands_and_tests_run_in_a_clone(clone: Path) -> None:
    assert "vertices" in run("-m", "sssp", "info", "triangle.gr", folder=clone)
    assert run("-m", "sssp.bench", "--help", folder=clone).startswith("usage:")
    assert " passed" in run("-m", "pytest", "-q", "tests/loaders/test_container.py", folder=clone)


def test_compiled_code_is_of_the_loaders_beside_the_package(clone: Path) -> None:
    ask = "from sssp.kernels.cache_files import source_stamp; print(source_stamp())"
    before = run("-c", ask, folder=clone)
    path = clone / "loaders" / "_dimacs_records.py"
    source = path.read_text()
    path.write_text(source + "\nANOTHER = 1\n")
    try:
        assert run("-c", ask, folder=clone) != before
    finally:
        path.write_text(source)
    assert run("-c", ask, folder=clone) == before
