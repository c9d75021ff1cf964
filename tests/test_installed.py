"""What a stranger gets: the wheel, in an empty environment, running the lines of the README."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import blocks_of

ROOT = Path(__file__).parents[1]
# (NumPy, SciPy and Numba are installed anew)
pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path) -> str:
    """Run a command outside the checkout; return what it printed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of an empty environment in which the wheel is installed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone, so nobody says which files belong to the package")
    folder = tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    # (from a copy: setuptools leaves its build folder beside the sources)
    source = folder / "source"
    tracked = run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", folder=folder)
    for name in tracked.splitlines():
        origin = ROOT / name
        if origin.is_file():
            copy = source / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if origin.is_symlink():
                copy.symlink_to(origin.readlink())
            else:
                copy.write_bytes(origin.read_bytes())
        elif origin.is_symlink():  # to a folder
            (source / name).symlink_to(origin.readlink())
    run(sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", folder, source, folder=folder)
    run(sys.executable, "-m", "venv", folder / "environment", folder=folder)
    interpreter = folder / "environment" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    run(interpreter, *pip, "install", "--no-compile", wheel, folder=folder)
    return interpreter


def test_the_lines_of_the_readme_print_what_it_says(python: Path, tmp_path: Path) -> None:
    shown = [block for block in blocks_of(ROOT / "README.md") if block.printed and not block.needs]
    assert shown
    for block in shown:
        assert run(python, "-c", block.code, folder=tmp_path) == block.printed


def test_the_wheel_holds_every_module_and_nothing_of_the_tests(
    python: Path, tmp_path: Path
) -> None:
    packaged = run(
        python,
        "-c",
        "import pathlib, sssp; root = pathlib.Path(sssp.__file__).parent\n"
        "for path in root.rglob('*.py*'):\n"
        "    if '__pycache__' not in path.parts: print(path.relative_to(root))",
        folder=tmp_path,
    )
    here = {
        str(path.relative_to(ROOT / "sssp"))
        for folder in (ROOT / "sssp", ROOT / "sssp" / "loaders")
        for path in folder.rglob("*.py*")
        if "__pycache__" not in path.parts
    }
    assert set(packaged.split()) == here


def test_the_command_works_where_it_is_installed(python: Path, tmp_path: Path) -> None:
    said = run(python.with_name("sssp"), "info", "road-like:100", folder=tmp_path)
    assert "100" in said
    assert run(python, "-m", "sssp", "--help", folder=tmp_path).startswith("usage: sssp")
