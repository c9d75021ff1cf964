"""Settings and fixtures that every test shares."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from sssp.calls.choose_device import _number
from sssp.errors import SSSPError
from tests.checkout import ROOT
from tests.solvers import SIMULATOR, Solver

# Derandomised: CI must not fail on Tuesdays only. No deadline: a first call compiles.
settings.register_profile(
    "sssp",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
# pytest --hypothesis-profile=long: what CI has no time for
settings.register_profile(
    "long", settings.get_profile("sssp"), derandomize=False, max_examples=1000
)
settings.load_profile("sssp")

# in the background of a shell Ctrl-C is ignored, by its children too; tests send it to theirs
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# kernels of OpenCL that an earlier run left half written would fail this one
os.environ.setdefault("POCL_CACHE_DIR", str(ROOT / "build" / "pocl"))

if SIMULATOR:
    from tests.simulator import prepare

    prepare()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--hazards",
        action="store_true",
        help="look for races of kernels in the simulator (NUMBA_ENABLE_CUDASIM=1)",
    )


@pytest.fixture(autouse=True)
def hazards(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --hazards, a test fails whose kernels have any."""
    if not request.config.getoption("--hazards"):
        yield
        return
    from tests.race_checks import watching

    with watching() as found:
        yield
    assert not found, "\n".join(sorted(found))


def usable(named: str) -> str:
    """Return the name of a device that works; skip with the reason where there is none."""
    if named != "cpu":
        try:
            _number(named)
        except SSSPError as error:
            pytest.skip(f"{error} (or set NUMBA_ENABLE_CUDASIM=1)")
    return named


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> str:
    """A device that works: a GPU or the simulator, unless the test is parametrised."""
    return usable(getattr(request, "param", "cuda"))


@pytest.fixture(scope="module")
def solver(request: pytest.FixtureRequest) -> Solver:
    """One of `tests.solvers.SOLVERS`, whose device works."""
    solver: Solver = request.param
    usable(solver.device)
    return solver
