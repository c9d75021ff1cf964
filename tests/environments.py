"""Run the tests in other environments: ``python -m tests.environments [pytest's arguments]``.

Each is a virtual environment under ``build/``: this Python with the oldest versions that
pyproject.toml allows, this Python with the newest, and every other Python that is on PATH. What
cannot be set up is skipped with the reason; what fails makes the exit status 1.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
#: of the project's own dependencies, those whose versions are tested
LIBRARIES = ("numpy", "scipy", "numba", "networkx")
#: what the suite runs on, whatever the version
TOOLS = ("hypothesis", "pandas", "pytest", "pytest-xdist", "tqdm", "isal", "osmium", "pyarrow")


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def newest() -> list[str]:
    """Return the libraries with the bounds that pyproject.toml gives."""
    listed = project()["dependencies"] + project()["optional-dependencies"]["networkx"]
    bounds = {re.split(r"[<>=!~]", requirement)[0]: requirement for requirement in listed}
    return [bounds[name] for name in LIBRARIES]


def oldest() -> list[str]:
    """Pin the libraries to the lowest versions that pyproject.toml allows."""
    return [re.sub(r">=([\d.]+).*", r"==\1.*", requirement) for requirement in newest()]


def environments() -> dict[str, tuple[str, list[str]]]:
    """Name every environment, with its Python and what is installed into it."""
    this = f"python3.{sys.version_info.minor}"
    found = {"oldest": (sys.executable, oldest()), "newest": (sys.executable, newest())}
    for name in PYTHONS:
        path = shutil.which(name)
        if path is None:
            print(f"{name}: skipped, it is not on PATH", flush=True)
        elif name != this:
            # what stands there may only tell where to look for it
            run = subprocess.run([path, "--version"], capture_output=True, text=True)
            if run.returncode:
                print(f"{name}: skipped, {path}: {run.stderr.strip().splitlines()[0]}", flush=True)
            else:
                found[name] = (path, newest())
    return found


def made(name: str, python: str, libraries: list[str]) -> Path | None:
    """Set an environment up, or say why it cannot be; return its Python."""
    folder = ROOT / "build" / "environments" / name
    its_python = folder / "bin" / "python"
    install = [str(its_python), "-m", "pip", "install", "--quiet", "--upgrade", *libraries, *TOOLS]
    # for its entry points, by which NetworkX finds the backend
    this = [*install[:5], "--no-deps", "--editable", str(ROOT)]
    for command in ([python, "-m", "venv", "--clear", str(folder)], install, this):
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            why = (run.stderr or run.stdout).strip().splitlines()[-1]
            print(f"{name}: skipped, it cannot be set up: {why}", flush=True)
            return None
    return its_python


def main(arguments: list[str]) -> int:
    failed = []
    for name, (python, libraries) in environments().items():
        its_python = made(name, python, libraries)
        if its_python is None:
            continue
        print(f"{name}: {' '.join(libraries)}", flush=True)
        tests = [
            str(its_python),
            "-m",
            "pytest",
            "-n",
            "auto",
            "--dist",
            "worksteal",
            "-m",
            "not gpu and not slow",
        ]
        if subprocess.run([*tests, *arguments], cwd=ROOT).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all environments passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
