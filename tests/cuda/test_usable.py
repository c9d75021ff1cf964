"""A GPU that cannot be used says why, and what mends it."""

from __future__ import annotations

import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sssp

pytest.importorskip("numba_cuda")

from sssp.cuda import availability

GRAPH = sssp.Graph.from_arcs([0], [1], [1])


class Broken(MetaPathFinder, Loader):
    """Imports `numba.cuda` as far as an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname == "numba.cuda" else None

    def exec_module(self, module: ModuleType) -> None:
        raise self.error


def import_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("numba")
    package.__path__ = []
    package.config = None  # type: ignore[attr-defined]  # a stand-in for the module there
    monkeypatch.setitem(sys.modules, "numba", package)
    monkeypatch.delitem(sys.modules, "numba.cuda", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])
    assert availability.__file__ is not None
    runpy.run_path(availability.__file__)


def machine(
    driver: tuple[int, int] | None = (13, 0),
    toolkit: tuple[int, int] | Exception = (13, 0),
    *,
    nvvm: bool = True,
) -> SimpleNamespace:
    """Return what Numba tells of a machine."""

    def toolkit_version() -> tuple[int, int]:
        if isinstance(toolkit, Exception):
            raise toolkit
        return toolkit

    return SimpleNamespace(
        is_available=lambda: driver is not None and nvvm,
        gpus=SimpleNamespace(lst=["one"]),
        runtime=SimpleNamespace(get_version=toolkit_version),
        cudadrv=SimpleNamespace(
            driver=SimpleNamespace(
                driver=SimpleNamespace(
                    is_available=driver is not None,
                    initialization_error=None if driver else "\nCUDA driver library\nnot found\n",
                    get_version=lambda: driver,
                )
            )
        ),
    )


@pytest.mark.parametrize(
    ("found", "reason", "command"),
    [
        (
            machine(driver=None),
            r"no NVIDIA driver works here \(CUDA driver library not found\)",
            "sudo ubuntu-drivers install",
        ),
        (
            machine(nvvm=False),
            "toolkit is missing or incomplete .*libNVVM",
            r'pip install "sssp\[cu13\]"',
        ),
        (
            machine(driver=(12, 8), toolkit=OSError("no libnvrtc.so")),
            "toolkit is missing or incomplete .*no libnvrtc.so",
            r'pip install "sssp\[cu12\]"',
        ),
        (
            machine(driver=(12, 8), toolkit=(13, 1)),
            "toolkit 13.1 is newer than the driver, which knows CUDA 12.8",
            r'pip install "sssp\[cu12\]"',
        ),
    ],
    ids=["no driver", "no libNVVM", "no NVRTC", "toolkit too new"],
)
def test_a_machine_that_runs_no_kernel_says_why(found, reason, command, monkeypatch):
    monkeypatch.setattr(availability, "cuda", found)
    monkeypatch.setattr(availability, "SIMULATOR", False)
    with pytest.raises(sssp.DeviceError, match=f"CUDA cannot be used: .*{reason}.*{command}"):
        sssp.shortest_paths(GRAPH, 0, device="cuda")


def test_a_driver_newer_than_the_toolkit_is_fine(monkeypatch):
    monkeypatch.setattr(availability, "cuda", machine(driver=(13, 0), toolkit=(12, 8)))
    monkeypatch.setattr(availability, "SIMULATOR", False)
    # (another one was found before, so that there is nothing to be done at the end of the process)
    monkeypatch.setattr(availability, "_usable_in", (0, None))
    assert availability.device_number("cuda:0") == 0
    with pytest.raises(sssp.DeviceError, match=r"no device 'cuda:1'.* 1 GPU"):
        availability.device_number("cuda:1")


def test_a_gpu_is_described_by_name_and_capability(monkeypatch):
    gpu = SimpleNamespace(name="NVIDIA H200", compute_capability=(9, 0))
    monkeypatch.setattr(availability, "cuda", SimpleNamespace(gpus=[gpu]))
    monkeypatch.setattr(availability, "SIMULATOR", False)
    assert availability.describe(0) == "NVIDIA H200, compute capability 9.0"


def test_a_numpy_that_is_too_new_is_named(monkeypatch):
    error = AttributeError("module 'numpy' has no attribute 'row_stack'")
    with pytest.raises(sssp.MissingExtraError, match=r'NumPy: pip install "numpy<2.5"'):
        import_with(error, monkeypatch)


def test_a_missing_numba_cuda_is_named(monkeypatch):
    error = ModuleNotFoundError("No module named 'numba_cuda'")
    with pytest.raises(
        sssp.MissingExtraError, match=r'No module named .*pip install "sssp\[cu13\]"'
    ):
        import_with(error, monkeypatch)
