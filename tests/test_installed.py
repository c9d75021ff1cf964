"""What a stranger gets: the wheel, in an empty environment, running the lines of the README."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.checkout import ROOT, copy_without_links
from tests.pages import blocks_of

# (NumPy, SciPy and Numba are installed anew)
pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """Run a command outside the checkout; return what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


#: of pip, as ``python -m pip ...``
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the checkout, and what a build of long ago has left beside them."""
    # (a copy, for setuptools leaves its metadata beside the sources)
    source = copy_without_links(tmp_path_factory.mktemp("source"))
    for name in ("sssp/left_over.py", "loaders/__init__.py"):
        old = source / "build" / "lib" / name
        old.parent.mkdir(parents=True)
        old.touch()
    return source


def wheel_of(source: Path, folder: Path) -> Path:
    """Build a wheel into a new folder."""
    folder.mkdir()
    run(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, source, folder=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of the checkout."""
    return wheel_of(source, tmp_path_factory.mktemp("wheel") / "built")


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of an empty environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", folder / "environment", folder=folder)
    interpreter = folder / "environment" / "bin" / "python"
    run(interpreter, *PIP, "install", "--no-compile", wheel, folder=folder)
    return interpreter


def test_the_lines_of_the_readme_print_what_it_says(python: Path, tmp_path: Path) -> None:
    shown = [block for block in blocks_of(ROOT / "README.md") if block.printed and not block.needs]
    assert shown
    for block in shown:
        assert run(python, "-c", block.code, folder=tmp_path) == block.printed


def names_in(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_the_wheel_holds_every_module_and_page_and_nothing_else(wheel: Path) -> None:
    """Least of all what an earlier build has left."""
    package = ROOT / "sssp"
    paths = [*package.rglob("*.py*"), *package.rglob("*.cl")]
    paths += (package / "apps" / "page" / "static").iterdir()
    modules = {f"sssp/{path.relative_to(package)}" for path in paths}
    modules |= {f"sssp/loaders/{path.name}" for path in (ROOT / "loaders").glob("*.py")}
    modules = {name for name in modules if "__pycache__" not in name}
    packed = {name for name in names_in(wheel) if ".dist-info/" not in name}
    assert packed == {*modules, "sssp/py.typed"}


@pytest.mark.slow
def test_a_source_distribution_makes_the_same_wheel(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    environment, packed = tmp_path / "environment", tmp_path / "packed"
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    run(sys.executable, "-m", "venv", environment, folder=tmp_path)
    builder = environment / "bin" / "python"
    run(builder, *PIP, "install", *needs, folder=tmp_path)
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    run(builder, "-c", code, packed, folder=source)
    (archive,) = packed.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "loaders/__init__.py"} <= held
    assert not [name for name in held if name.startswith(("build", "tests"))]
    assert names_in(wheel_of(archive, tmp_path / "again")) == names_in(wheel)


def test_a_script_may_lie_beside_modules_of_its_own(python: Path, tmp_path: Path) -> None:
    """Their names are those of folders of the checkout, which are nobody's top-level modules."""
    for name in ("loaders", "bench", "tests"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import bench, loaders, sssp, sssp.bench, sssp.loaders, tests\n"
        "g = sssp.road_like(50)\n"
        "g.save('roads.sssp')\n"
        "print(sssp.read_graph('roads.sssp').n, sssp.shortest_paths(g, 0).distance(0))\n"
        "print(bench.MINE, loaders.MINE, tests.MINE, hasattr(sssp.loaders, 'MINE'))\n"
    )
    assert run(python, script, folder=tmp_path) == "50 0\nTrue True True False\n"


def test_what_needs_an_extra_says_how_to_install_it(python: Path, tmp_path: Path) -> None:
    """The environment is empty, so that every extra is missing."""
    code = """
import importlib.metadata, sssp, sssp.datasets
from sssp.bench.__main__ import main
g = sssp.road_like(50)
for extra, call in {
    "plot": g.plot,
    "networkx": g.to_networkx,
    "geo": g.to_geodataframe,
    "data": lambda: sssp.datasets.fetch("USA-road-d.NY"),
}.items():
    try:
        call()
    except sssp.MissingExtraError as error:
        assert f'pip install "sssp[{extra}]"' in str(error), error
        assert extra in importlib.metadata.metadata("sssp").get_all("Provides-Extra")
    else:
        raise AssertionError(f"{extra} is not missing")
print("all told", main(["--plot", "times.png"]))
"""
    assert run(python, "-c", code, folder=tmp_path, SSSP_DATA=str(tmp_path)) == "all told 2\n"


def test_the_command_works_where_it_is_installed(python: Path, tmp_path: Path) -> None:
    said = run(python.with_name("sssp"), "info", "road-like:100", folder=tmp_path)
    assert "100" in said
    assert run(python, "-m", "sssp", "--help", folder=tmp_path).startswith("usage: sssp")
