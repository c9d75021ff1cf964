"""Where CUDA tests run: on a GPU (``-m gpu``), or in Numba's simulator (tiny graphs)."""

from __future__ import annotations

import os

import pytest

from sssp.errors import SSSPError

SIMULATOR = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


@pytest.fixture(scope="session")
def device() -> str:
    """Name of a device that works; skips with the reason where there is none."""
    try:
        from sssp.cuda._numba import device_number

        device_number("cuda")
    except SSSPError as error:
        pytest.skip(f"{error} (or set NUMBA_ENABLE_CUDASIM=1)")
    return "cuda"
