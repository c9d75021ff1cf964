"""The rooms of the package: arrows run one way, without a circle, and the papers stay apart.

Read from the import statements, those within functions and for type checkers too, and from texts
that are the name of a module: an import by string is an import.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sssp

ROOT = Path(__file__).resolve().parent.parent
#: from the ground up; a room imports from floors below its own only
FLOORS = (
    ("errors", "methods", "kernels"),
    ("loaders",),
    ("graph",),
    ("datasets", "engine"),
    ("order",),
    ("cpu", "cuda"),
    ("opencl",),
    ("prepared", "results"),
    ("certificate",),
    ("calls",),
    ("csgraph",),
    # the package itself: the public names, without their modules
    ("sssp",),
    ("jobs", "networkx", "page", "terminal"),
    ("bench",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: tables of modules by name, which are loaded when they are wanted: no arrows (the third, that of
#: the public names in `sssp/__init__.py`, has no whole names of modules)
LAZY_TABLES = {"sssp.methods", "sssp.bench.papers.baselines", "sssp.apps.cli"}
#: each of which is a room
PARTS_OF_APPS = {"cli", "jobs", "networkx", "page", "terminal"}
#: methods of results that open something above them
OPENED_FROM_BELOW = {("sssp.results.trees", "sssp.apps.page.explore")}
#: modules inside the package that programs import beside `sssp` and its public modules
INSIDE = {
    "cli": {
        "calls.choose_device",
        "cuda.arrays",
        "cuda.availability",
        "cuda.device_memory",
        "engine.progress",
        "engine.reductions",
        "engine.threads",
        "graph.drawing",
        "kernels.cache",
        "kernels.cache_files",
        "opencl.compiler",
    },
    # a job plans its blocks, and so is a part of the engine that writes tables
    "jobs": {
        "calls.many_sources",
        "calls.choose_device",
        "calls.make_plan",
        "calls.shortest_paths",
        "cpu.tree_sums",
        "engine.check_arguments",
        "engine.exact_sums",
        "engine.check_memory",
        "engine.network",
        "engine.plan",
        "engine.progress",
        "engine.request",
        "engine.threads",
        "engine.workers",
        "graph.check_arrays",
        "graph.parquet",
        "kernels.dtypes",
        "kernels.locks",
        "loaders._files",
        "prepared.read_hierarchy",
    },
    "networkx": {"graph.interop", "kernels.dtypes"},
    "page": {
        "graph.drawing",
        "graph.sphere",
        "kernels.dtypes",
        "loaders._files",
        "results.row_access",
    },
    "terminal": {
        "engine.progress",
        "graph.drawing",
        "graph.parquet",
        "graph.sphere",
        "loaders._files",
        "prepared.read_hierarchy",
    },
}
#: the baselines of papers, and the tables that set our figures beside published ones
PAPERS = "sssp.bench.papers"


def all_modules() -> dict[str, ast.Module]:
    """Return every module of the package and of the scripts beside it, parsed, by name."""
    found = {}
    for folder, inside in (("sssp", ()), ("loaders", ("sssp",)), ("bench", ())):
        for path in (ROOT / folder).rglob("*.py"):
            parts = (*inside, *path.relative_to(ROOT).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


MODULES = all_modules()
#: the package's own, but for the folder of the programs, each of which is a room
OURS = [name for name in MODULES if name.startswith("sssp.") and name != "sssp.apps"]


def imported_by(module: str) -> Iterator[str]:
    """Yield the modules of the package that one imports, by statement or by string."""
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Constant) and module not in LAZY_TABLES:
            named = node.value in MODULES and "." in str(node.value)
            if named and (module, node.value) not in OPENED_FROM_BELOW:
                yield str(node.value)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in MODULES or node.module in MODULES:
                    yield inner if inner in MODULES else str(node.module)


ARROWS = {module: {other for other in imported_by(module) if other != module} for module in MODULES}


def room_of(module: str) -> str:
    """Return the folder or file of `sssp/` that a module is in; each part of `apps/` is one."""
    parts = module.removeprefix("sssp.apps.").removeprefix("sssp.").split(".")
    return parts[0]


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_the_imports_that_are_read_are_the_imports_that_there_are():
    assert "sssp.engine.plan" in ARROWS["sssp.calls.shortest_paths"]
    assert "sssp" in ARROWS["sssp.apps.terminal.arguments"]
    assert "sssp.loaders._dimacs_records" in MODULES
    assert "sssp.cuda.tree_sums" in ARROWS["sssp.results.trees"]  # by string
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


def test_there_are_few_rooms_and_no_room_has_the_name_of_a_public_function():
    rooms = {room_of(module) for module in OURS} - {"__main__"}
    assert len(rooms) <= 22
    modules = {"csgraph", "datasets", "errors", "loaders", "methods"}  # that users import
    assert rooms & set(sssp.__all__) - modules == set()


def test_no_base_name_stands_twice_but_for_twins_of_devices():
    paths: dict[str, set[str]] = {}
    for path in (ROOT / "sssp").rglob("*.py"):
        parts = path.relative_to(ROOT / "sssp").parts
        twin = "/".join(parts[1:]) if parts[0] in ("cpu", "cuda", "opencl") else "/".join(parts)
        paths.setdefault(path.stem, set()).add(twin)
    twice = {name: sorted(places) for name, places in paths.items() if len(places) > 1}
    assert {name: twice[name] for name in twice if name not in ("__init__", "__main__")} == {}


def test_no_module_is_on_a_circle():
    assert circle_in(ARROWS) == []


def test_no_room_is_on_a_circle():
    rooms: dict[str, set[str]] = {}
    for module, others in ARROWS.items():
        if module.startswith("sssp."):
            inside = {room_of(other) for other in others} - {room_of(module)}
            rooms.setdefault(room_of(module), set()).update(inside)
    assert circle_in(rooms) == []


@pytest.mark.parametrize("module", OURS)
def test_a_module_imports_from_floors_below_its_own(module):
    room = room_of(module)
    assert room in FLOOR, f"{room} has no floor yet"
    for other in ARROWS[module]:
        assert not other.startswith("bench"), "the scripts are no part of the package"
        below = FLOOR[room_of(other)] < FLOOR[room]
        # the exceptions are a leaf that everything may import
        assert below or room_of(other) in (room, "errors"), f"{module} imports {other}"


def test_the_page_on_the_architecture_names_what_there_is():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:sssp|loaders|tests|bench|docs)/[\w/.]*)`", page))
    assert len(named) > 20
    assert [
        path for path in sorted(named) if "NAME" not in path and not (ROOT / path).exists()
    ] == []
    # the files of the table stand in `sssp/`
    table = page[page.index("| room |") : page.index("Imports go down")]
    rooms = {
        name.strip("/")
        for cell in re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)
        for name in re.findall(r"`([\w/.]+)`", cell)
    }
    tops = {name.split("/")[0].removesuffix(".py") for name in rooms}
    assert tops == ({room_of(module) for module in OURS} - {"__main__"} - PARTS_OF_APPS) | {"apps"}
    assert [name for name in rooms - {"loaders"} if not (ROOT / "sssp" / name).exists()] == []


@pytest.mark.parametrize("room", INSIDE)
def test_programs_import_public_names_but_for_a_short_list(room):
    public = {"sssp", *(f"sssp.{name}" for name in vars(sssp)["_MODULES"])}
    arrows = {
        other
        for module, others in ARROWS.items()
        if module.startswith(f"sssp.apps.{room}.") or module == f"sssp.apps.{room}"
        for other in others
        if not other.startswith(("sssp.apps.", "sssp.bench."))
    }
    assert {name.removeprefix("sssp.") for name in arrows - public} == INSIDE[room]


def test_the_drawing_of_the_house_has_the_rooms_that_there_are_floor_by_floor():
    drawing = (ROOT / "docs" / "pictures" / "house.svg").read_text(encoding="utf-8")
    drawn = re.findall(r'y="(\d+)" class="mid">(\w+)</text>', drawing)
    rooms = {room_of(module) for module in OURS}
    assert {room for _, room in drawn} == rooms - {"__main__"} | {"sssp"}
    heights: dict[int, set[int]] = {}
    for height, room in drawn:
        if room != "sssp":  # the roof
            heights.setdefault(int(height), set()).add(FLOOR[room])
    floors = [heights[height] for height in sorted(heights, reverse=True)]
    assert all(len(floor) == 1 for floor in floors)
    assert floors == sorted(floors, key=min)


def test_nothing_names_papers_but_the_option_table_and_the_scripts():
    """Neither in an import nor in a text that `import_module` may get."""
    naming = {
        module
        for module, tree in MODULES.items()
        if any(name.startswith(PAPERS) for name in ARROWS[module])
        or any(
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(PAPERS)
            for node in ast.walk(tree)
        )
    }
    inside = {name for name in naming if name.startswith(PAPERS)}
    assert "sssp.bench.papers.baselines" in inside
    outside = {name for name in naming - inside if not name.startswith("bench.")}
    assert outside == {"sssp.bench.__main__"}


def test_a_bench_without_a_table_loads_no_papers():
    code = f"""
import sys
from sssp.bench.__main__ import main
main(["--graph", "road-like:50", "--trials", "1", "--methods", "all"])
print(*(name for name in sys.modules if name.startswith("{PAPERS}")))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == ""
    assert "breadth-first" in done.stdout
