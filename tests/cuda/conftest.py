"""Where CUDA tests run: on a GPU (``-m gpu``), or in Numba's simulator (tiny graphs)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sssp.errors import SSSPError

SIMULATOR = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


@pytest.fixture(scope="session")
def device() -> str:
    """Name of a device that works; skips with the reason where there is none."""
    try:
        from sssp.cuda.compiler import device_number

        device_number("cuda")
    except SSSPError as error:
        pytest.skip(f"{error} (or set NUMBA_ENABLE_CUDASIM=1)")
    return "cuda"


@pytest.fixture(autouse=True, scope="session")
def cpu_by_default() -> Iterator[None]:
    """Let calls that name no device be those to compare with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSSP_DEVICE", "cpu")
        yield
