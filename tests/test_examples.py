"""What the README, the pages and the examples of ``docs`` show runs, and prints what they say."""

from __future__ import annotations

import doctest
import io
import pydoc
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp import datasets
from sssp.apps.terminal.outcome import USAGE_ERROR
from tests.conftest import usable
from tests.osm_files import find_extract
from tests.pages import ROOT, blocks_of, cells_of, shell_lines_of, split_last, written_pages
from tests.solvers import SIMULATOR

EXAMPLES = ROOT / "docs" / "examples"
PAGES = written_pages()
NEW_YORK = ("USA-road-d.NY.gr.gz", "USA-road-t.NY.gr.gz", "USA-road-d.NY.co.gz")
#: files that blocks need, by what they say
FILES = {"new-york": NEW_YORK} | {
    need: (f"{name}_net.tntp", f"{name}_trips.tntp")
    for need, name in (("sioux-falls", "SiouxFalls"), ("chicago", "ChicagoSketch"))
}
#: what is no module to import
SPECIAL = {*FILES, "porto", "gpu", "slow"}


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runs() -> Iterator[Any]:
    """Yield every page with what its blocks need: once with what needs nothing, and more."""
    for page in PAGES:
        needs = {block.needs for block in blocks_of(page)}
        for every in sorted(needs, key=sorted):
            marks = []
            if "slow" in every or ("new-york" in every and page.name != "README.md"):
                marks.append(pytest.mark.slow)
            if "gpu" in every:
                marks.append(pytest.mark.gpu)
            name = "-".join([named(page), *sorted(every)])
            yield pytest.param(page, every, id=name, marks=marks)


def town_of_osmnx() -> Any:
    """Make what OSMnx would download: streets where Middelburg is."""
    networkx = import_module("networkx")
    roads = sssp.road_like(400, seed=3)
    assert roads.coordinates is not None
    G = networkx.MultiDiGraph(crs="epsg:4326", simplified=True)
    box = roads.coordinates.min(axis=0), np.ptp(roads.coordinates, axis=0)
    places = [3.58, 51.47] + (roads.coordinates - box[0]) / box[1] * [0.07, 0.06]
    for vertex, (lon, lat) in enumerate(places.tolist()):
        G.add_node(vertex + 53_017_000, x=lon, y=lat, street_count=3)
    arcs = zip(roads.tails.tolist(), roads.indices.tolist(), roads.weights.tolist(), strict=True)
    for number, (u, v, length) in enumerate(arcs):
        G.add_edge(
            u + 53_017_000,
            v + 53_017_000,
            osmid=number,
            highway=("residential", "primary")[(u + v) % 2],
            maxspeed=("30", "50")[(u + v) % 2],
            name=f"{min(u, v)}th Street",
            oneway=False,
            reversed=u > v,
            length=length / 10,
        )
    return G


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder where the code runs, with figures that nobody sees."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield tmp_path
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
        pyplot.rcdefaults()  # (a notebook has settings of its own)


def provide(need: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """See to it that code finds what it needs, or skip with the reason."""
    if need in FILES:
        for file in FILES[need]:
            if datasets.find(file) is None:
                pytest.skip(f"{file} is not on this machine (data/README.md says where to get it)")
    elif need == "porto":
        Path("porto.osm.pbf").symlink_to(find_extract("porto.osm.pbf"))
    elif need == "gpu":
        if SIMULATOR:
            pytest.skip("pages run on a GPU, which the simulator is too slow for")
        usable("cuda")
    elif need not in SPECIAL:
        module, _, version = need.partition(">=")
        pytest.importorskip(module, version or None, reason=f"{need} is not installed")
    if need == "pyopencl":
        usable("opencl")
    if need == "matplotlib":
        import_module("matplotlib").use("Agg")
    if need == "osmnx":
        monkeypatch.setattr(
            import_module("osmnx"), "graph_from_place", lambda *place, **options: town_of_osmnx()
        )


def assert_printed(got: str, expected: str, where: str) -> None:
    got, expected = (
        "".join(line.rstrip() + "\n" for line in text.splitlines()) for text in (got, expected)
    )
    if not doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS):
        assert got == expected, where


@pytest.mark.filterwarnings("default:::osmnx", "default:::networkx")
@pytest.mark.parametrize(("page", "needs"), list(runs()))
def test_a_page_runs_and_prints_what_it_says(
    page: Path, needs: frozenset[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for need in sorted(needs):
        provide(need, monkeypatch)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if not block.needs <= needs:
            continue
        # (so that a traceback names the line of the page)
        code = compile("\n" * block.line + block.code, str(page), "exec")
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, namespace)
        if block.printed is not None:
            assert_printed(printed.getvalue(), block.printed, f"{named(page)}:{block.line + 1}")


def test_pages_show_code() -> None:
    blocks = {named(page): blocks_of(page) for page in PAGES}
    assert any(block.printed for block in blocks["README.md"])
    assert any("new-york" in block.needs for block in blocks["README.md"])


def test_the_reference_has_every_public_name() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    shown = re.findall(r"^::: (\S+)\n    options:\n      heading: (\S+)$", text, re.MULTILINE)
    names = [f"sssp.{name}" for name in sssp.__all__]
    names += [f"sssp.loaders.{name}" for name in sssp.loaders.__all__]
    names += [f"sssp.csgraph.{name}" for name in sssp.csgraph.__all__]
    assert {heading for _, heading in shown} >= set(names)
    for path, heading in shown:
        module, _, name = path.rpartition(".")
        # (the site's tool reads files, and finds those of the loaders at the top)
        module = re.sub(r"^loaders\b", "sssp.loaders", module)
        assert getattr(import_module(module), name) is pydoc.locate(heading), path


@cache
def extras() -> set[str]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(table["project"]["optional-dependencies"])


def understand(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that what a page tells to type is there: commands, options, targets, extras."""
    for extra in re.findall(r"(?:sssp|\.)\[([\w,-]+)\]", line):
        assert set(extra.split(",")) <= extras(), line
    command, *arguments = [
        word for word in shlex.split(line) if not re.fullmatch(r"[A-Z_]+=\S*", word)
    ]
    if command == "make":
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in arguments:
            assert "=" in target or re.search(rf"^{target}:", text, re.MULTILINE), line
    if command == "python" and arguments[:1] == ["-m"]:
        assert find_spec(arguments[1]) is not None, line
    if command == "sssp" or (command == "python" and arguments[:2] == ["-m", "sssp.bench"]):
        parse(["bench", *arguments[2:]] if command == "python" else arguments, monkeypatch)


def parse(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command line read its arguments, and stop it there."""
    from sssp.apps import cli

    if any(word in arguments for word in ("|", ">")):
        arguments = arguments[: min(arguments.index(w) for w in "|>" if w in arguments)]
    chosen = import_module(cli.COMMANDS[arguments[0]])
    monkeypatch.setattr(chosen, "run", lambda options: 0)
    assert cli.main(arguments) != USAGE_ERROR, arguments
    # what it writes, the next line may read
    for option, file in pairwise(arguments):
        if option == "-o" and file != "-":
            Path(file).touch()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_tells_to_type_is_there(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSSP_DATA", str(folder))
    for file in (*datasets.PUBLISHED, "porto.osm.pbf"):
        (folder / file).touch()
    for line in shell_lines_of(page):
        understand(line, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    for link in links:
        target = link.partition("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{named(page)}: {link}"


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=named)
def test_a_notebook_runs_and_shows_what_it_says(
    notebook: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for need in ("matplotlib", notebook.stem, "pandas"):
        provide(need, monkeypatch)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells_of(notebook):
        statements, last = split_last(cell.code, str(notebook))
        printed, shown = io.StringIO(), None
        with redirect_stdout(printed):
            exec(statements, namespace)
            if last is not None:
                shown = eval(last, namespace)
        assert_printed(printed.getvalue(), cell.printed, cell.code)
        assert (shown is None) == (cell.shown is None)
        if cell.shown is not None:
            assert_printed(repr(shown), cell.shown, cell.code)


@pytest.mark.parametrize(
    ("network", "ids"),
    [
        pytest.param([], "'X00000' to 'X01999'", id="town"),
        pytest.param(NEW_YORK, "'X00000' to", id="new-york", marks=pytest.mark.slow),
    ],
)
def test_an_analysts_day_goes_without_a_number_translated_by_hand(
    network: list[str],
    ids: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    geopandas = pytest.importorskip("geopandas", reason="GeoPandas is not installed")
    if network:
        provide("new-york", monkeypatch)
        network = ["USA-road-t.NY", "USA-road-d.NY"]
    monkeypatch.setattr(sys, "argv", ["analysts_day.py", *network])
    runpy.run_path(str(EXAMPLES / "analysts_day.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for told in (f"labels {ids}", "home", "hospital", "LINESTRING", "take longer", "rush"):
        assert told in printed
    rows = {name: len(geopandas.read_file(f"{name}.gpkg")) for name in ("reach", "trips")}
    assert rows == {"reach": 3, "trips": 200}
    areas = geopandas.read_file("service_areas.gpkg")
    assert areas.is_valid.all()
