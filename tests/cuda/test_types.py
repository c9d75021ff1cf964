"""Every kernel types as it is launched: a check of the real compiler that needs no GPU.

The launches are those that `tests.cuda.launches` writes down in the simulator.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.cuda.conftest import SIMULATOR
from tests.cuda.kernels import kernels
from tests.cuda.launches import Launch, Made
from tests.solvers import USUAL

if SIMULATOR:
    pytest.skip("the simulator has no types", allow_module_level=True)

compiler = pytest.importorskip("numba_cuda") and pytest.importorskip("numba.cuda.compiler")
dispatcher = pytest.importorskip("numba.cuda.dispatcher")

from numba import types  # noqa: E402

from sssp.cuda.device.grid import barrier_of  # noqa: E402
from sssp.cuda.matrix import closure_products  # noqa: E402
from sssp.cuda.matrix.min_plus import tile_side  # noqa: E402

ROOT = Path(__file__).parents[2]
#: the long profile takes every launch in every dtype; else both kinds and both sizes have to do,
#: and launches that show every choice of how a kernel is made, and every type of an argument
LONG = settings().max_examples > USUAL
DTYPES = ["int32", "float64", *(["int64", "float32"] if LONG else [])]


class Hopper:
    compute_capability = (9, 0)


#: whose instructions the simulator does not know, so that nothing launches them there
NOT_SIMULATED = "sssp.cuda.matrix.closure_products"
KERNELS = [(module, kernel.name) for module, kernel in kernels() if module != NOT_SIMULATED]


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[Launch]]:
    file = tmp_path_factory.mktemp("launches") / "launches"
    command = [sys.executable, "-m", "tests.cuda.launches", str(file), *DTYPES]
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[tuple[str, str], list[Launch]] = {}
    for launch in pickle.loads(file.read_bytes()):
        found.setdefault((launch.made.module, launch.made.kernel), []).append(launch)
    return found


def kernel_of(made: Made) -> Any:
    """Return the kernel, made as the driver had it made."""
    module = import_module(made.module)
    if made.factory is None:
        return getattr(module, made.kernel)
    factory, arguments = getattr(module, made.factory), dict(made.arguments)
    if "barrier" in signature(factory).parameters:
        # a barrier of the grid needs the driver, so a block's stands in
        arguments["barrier"] = barrier_of(together=False)
    if "tile" in arguments:
        # those of the simulator are too small for a GPU's threads
        with_tails = arguments.get("with_tails", False)
        arguments["tile"] = tile_side(arguments["dtype"], with_tails=with_tails)
    found = factory(**arguments)
    made_together = found if isinstance(found, tuple) else (found,)
    (kernel,) = (each for each in made_together if each.__name__ == made.kernel)
    return kernel


def check(kernel: Any, signature: tuple[Any, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # device functions are compiled for the current device, and there may be none
        patch.setattr(dispatcher, "get_current_device", lambda: Hopper)
        compiler.compile_cuda(kernel.py_func, types.void, signature, cc=Hopper.compute_capability)


def choices(launch: Launch) -> set[tuple[Any, ...]]:
    """What a launch shows: how its kernel was made, and the types that it was called with."""
    return {*launch.made.arguments, *enumerate(launch.signature)}


def enough(launches: list[Launch]) -> list[Launch]:
    """Return launches that together show all that any of them shows."""
    if LONG:
        return launches
    found: list[Launch] = []
    unseen = set[Any]().union(*map(choices, launches))
    while unseen:
        found.append(max(launches, key=lambda launch: len(choices(launch) & unseen)))
        unseen -= choices(found[-1])
    return found


@pytest.mark.parametrize(("module", "name"), KERNELS)
def test_a_kernel_types_for_all_that_it_is_launched_with(module, name, launches):
    assert (module, name) in launches, "nothing that tests.cuda.launches asks for launches it"
    for launch in enough(launches[module, name]):
        check(kernel_of(launch.made), launch.signature)


def test_every_launch_is_of_a_kernel_that_is_checked(launches):
    assert set(launches) <= set(KERNELS)


def test_products_of_bits_type() -> None:
    words, wide = (types.Array(kind, 1, "C") for kind in (types.uint32, types.uint64))
    numbers = (types.uint32,) * 5
    products = closure_products.make_products_kernel(barrier_of(together=False))
    check(products, (words, *numbers[:2], words, words, *numbers))
    check(closure_products._copy_rows_kernel, (wide, types.int64, wide, types.int64))
