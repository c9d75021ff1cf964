"""Where CUDA tests run: on a GPU (``-m gpu``), or in Numba's simulator (tiny graphs)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.solvers import SIMULATOR

__all__ = ["SIMULATOR"]


@pytest.fixture(autouse=True, scope="module")
def cpu_by_default() -> Iterator[None]:
    """Let calls that name no device be those to compare with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSSP_DEVICE", "cpu")
        yield
