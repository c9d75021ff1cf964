"""Setting all entries of a device array, and launches that pass over arrays."""

from __future__ import annotations

from typing import Any

from sssp.cuda.compiler import SIMULATOR, cuda, kernel

__all__ = ["THREADS", "blocks_for", "fill"]

#: threads of a block in passes over arrays
THREADS = 32 if SIMULATOR else 256


@kernel
def _fill_kernel(array, value):
    """Set all entries of an array."""
    for i in range(cuda.grid(1), array.size, cuda.gridsize(1)):
        array[i] = value


def blocks_for(size: int) -> int:
    """Blocks for a pass over `size` entries; the kernels stride, so any number is right."""
    return 1 if SIMULATOR else max(1, min(4096, -(-size // THREADS)))


def fill(array: Any, value: Any, stream: Any) -> None:
    """Set all entries of a contiguous device array."""
    flat = array.reshape(array.size)
    if flat.size:
        _fill_kernel[blocks_for(flat.size), THREADS, stream](flat, value)
