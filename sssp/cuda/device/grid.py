"""Barriers of a whole grid: all its blocks run at once and wait for each other."""

from __future__ import annotations

from typing import Any

from sssp.cuda.compiler import SIMULATOR, cuda, inline

__all__ = ["barrier_of", "blocks_at_once"]


@inline
def _grid_barrier():
    cuda.cg.this_grid().sync()


@inline
def _block_barrier():
    cuda.syncthreads()


def barrier_of(*, together: bool) -> Any:
    """Return a device function: the barrier of the grid, or that of a block."""
    return _grid_barrier if together else _block_barrier


def blocks_at_once(per_multiprocessor: int = 1) -> int:
    """Blocks of a grid that meets, for a kernel of which so many fit on a multiprocessor.

    In the simulator one: its barrier of the grid is that of a block.
    """
    if SIMULATOR:
        return 1
    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT) * per_multiprocessor
