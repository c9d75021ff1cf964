"""The package as a whole: its public names, and what importing it costs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import sssp

DOCUMENTED = {
    "AStar",
    "Alternatives",
    "Assignment",
    "BPR",
    "BellmanFord",
    "BreadthFirst",
    "ClosureBySquaring",
    "ClosureByWarshall",
    "Conical",
    "DeltaStepping",
    "DeviceError",
    "Dijkstra",
    "DistanceOverflowError",
    "FloydWarshall",
    "Flows",
    "Graph",
    "GraphFormatError",
    "Hierarchy",
    "JobError",
    "Johnson",
    "MissingExtraError",
    "NearestFacilities",
    "NegativeCycleError",
    "NegativeWeightError",
    "Profile",
    "RepeatedSquaring",
    "SSSPError",
    "ShortestPaths",
    "ThresholdDijkstra",
    "Trips",
    "UnreachableError",
    "VerificationError",
    "VertexError",
    "all_pairs",
    "alternatives",
    "assign",
    "betweenness",
    "iter_blocks",
    "load",
    "nearest",
    "pairs",
    "prepare",
    "read_graph",
    "read_hierarchy",
    "read_osm",
    "read_tntp",
    "reduce",
    "road_like",
    "run",
    "set_threads",
    "shortest_paths",
    "skim",
    "times_by_departure",
    "transitive_closure",
    "verify",
}
HEAVY = {"numpy", "numba", "scipy", "networkx"}
#: modules that a user may import, and may as well reach as attributes
MODULES = {"certificate", "csgraph", "datasets", "errors", "loaders", "methods"}


def in_fresh_process(code: str) -> str:
    """Run code where nothing is imported yet, and return what it prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_public_names_are_exactly_the_documented_ones():
    assert set(sssp.__all__) == DOCUMENTED
    assert set(dir(sssp)) >= DOCUMENTED | MODULES
    assert len(dir(sssp)) == len(set(dir(sssp)))


def test_every_module_at_the_top_is_an_attribute_of_a_bare_import():
    files = {
        module.name
        for module in pkgutil.iter_modules(sssp.__path__)
        if not module.ispkg and not module.name.startswith("_")
    }
    assert files <= MODULES
    names = in_fresh_process(
        f"import sssp; print(*(getattr(sssp, name).__name__ for name in {sorted(MODULES)}))"
    )
    assert names.split() == [f"sssp.{name}" for name in sorted(MODULES)]


def test_modules_without_arrays_load_none():
    code = "import sys, sssp; sssp.datasets.find('x'), sssp.methods.METHODS, sssp.errors.SSSPError"
    assert in_fresh_process(f"{code}; print({HEAVY} & set(sys.modules))") == "set()"


def test_a_search_loads_no_linear_algebra():
    code = "import sys, sssp; sssp.shortest_paths(sssp.road_like(100), 0)"
    assert in_fresh_process(f"{code}; print('scipy.linalg' in sys.modules)") == "False"


def test_linear_algebra_is_there_for_other_functions_of_a_process():
    code = """
import numpy as np, numba, sssp
sssp.shortest_paths(sssp.road_like(100), 0)
matrix = np.diag([1.0, 2.0])
print(numba.njit(lambda a: np.linalg.inv(a) @ a)(matrix).tolist())
"""
    assert in_fresh_process(code) == "[[1.0, 0.0], [0.0, 1.0]]"


def test_every_public_name_has_a_docstring():
    for name in sssp.__all__:
        assert getattr(sssp, name).__doc__, name


def functions_and_methods() -> Iterator[tuple[str, Callable[..., object], bool]]:
    """Yield what the reference shows that has parameters, and whether it is a function."""
    for module in (sssp, sssp.csgraph, sssp.loaders):
        for name in module.__all__:
            public = getattr(module, name)
            if inspect.isfunction(public):
                yield f"{module.__name__}.{name}", public, True
            for own, method in vars(public).items() if inspect.isclass(public) else ():
                method = getattr(method, "__func__", method)
                if inspect.isfunction(method) and not own.startswith("_"):
                    yield f"{module.__name__}.{name}.{own}", method, False


def documented_parameters(documentation: str) -> list[str]:
    _, _, section = inspect.cleandoc(documentation).partition("\nParameters\n----------\n")
    section = re.split(r"\n\n(?=\S)", section)[0]
    lines = [line.partition(" : ")[0] for line in section.splitlines() if line[:1].strip()]
    return [name.strip(" *") for line in lines for name in line.split(",")]


def test_docstrings_name_every_parameter_and_no_other():
    seen = 0
    for name, function, needs_section in functions_and_methods():
        documented = documented_parameters(function.__doc__ or "")
        parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
        if documented or needs_section:
            assert sorted(documented) == sorted(parameters), name
            seen += len(parameters)
    assert seen > 200


#: every module but `__main__`; the loaders of a checkout do not stand in the folder of the package
SUBMODULES = sorted(
    {
        module.name
        for package in (sssp, sssp.loaders)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    }
    | {"sssp.loaders"}
)


def modules() -> Iterator[ModuleType]:
    """Import every module, but for those for devices where the extra for them is missing."""
    for name in SUBMODULES:
        try:
            yield importlib.import_module(name)
        except ImportError:
            assert ".cuda" in name or ".opencl" in name


def test_no_module_hides_a_public_name():
    assert len(list(modules())) > 100
    for name in sssp.__all__:
        assert not isinstance(getattr(sssp, name), ModuleType), name


@pytest.mark.slow
def test_every_module_imports_on_its_own():
    # a child a module, of a process that has what they all stand on: a fresh one takes a second
    code = f"""
import importlib, os, sys
import numpy, scipy.sparse.csgraph, numba
try:
    import numba_cuda, numba.cuda
except ImportError:
    pass
failed = []
for name in {SUBMODULES}:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing = "numba_cuda" if ".cuda" in name else "pyopencl"
            os._exit(0 if missing in str(error) else 1)
        except BaseException as error:
            print(name, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
print(failed)
"""
    assert in_fresh_process("import sssp.errors" + code) == "[]"


def test_no_public_name_of_a_room_is_a_module():
    for module in modules():
        for public in getattr(module, "__all__", []):
            found = getattr(module, public)
            ours = isinstance(found, ModuleType) and found.__name__.startswith("sssp")
            assert not ours, f"{module.__name__}.{public}"


def test_type_stub_lists_the_public_names_and_modules():
    stub = Path(sssp.__file__).with_suffix(".pyi").read_text()
    listed = {line.rsplit(" as ")[1].strip() for line in stub.splitlines() if " as " in line}
    assert listed == DOCUMENTED | MODULES


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'shortest_path'"):
        getattr(sssp, "shortest_path")  # noqa: B009 (the point is that there is none)


def test_importing_loads_nothing_heavy():
    assert in_fresh_process(f"import sys, sssp; print({HEAVY} & set(sys.modules))") == "set()"


def test_docstring_examples_hold():
    import doctest

    import sssp.calls.all_pairs
    import sssp.calls.many_sources
    import sssp.calls.shortest_paths
    import sssp.csgraph

    for module in (
        sssp,
        sssp.calls.many_sources,
        sssp.calls.all_pairs,
        sssp.calls.shortest_paths,
        sssp.csgraph,
    ):
        outcome = doctest.testmod(module)
        assert outcome.attempted > 0
        assert outcome.failed == 0
