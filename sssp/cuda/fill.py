"""Setting all entries of a device array, and launches that pass over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cuda.compiler import SIMULATOR, cuda, kernel, repeat_word

#: threads of a block in passes over arrays
THREADS = 32 if SIMULATOR else 256
#: bytes of what the driver repeats
WORD = 4


@kernel
def _fill_kernel(array, value):
    """Set all entries of an array."""
    for i in range(cuda.grid(1), array.size, cuda.gridsize(1)):
        array[i] = value


def blocks_for(size: int) -> int:
    """Blocks for a pass over `size` entries; the kernels stride, so any number is right."""
    return 1 if SIMULATOR else max(1, min(4096, -(-size // THREADS)))


def fill(array: Any, value: Any, stream: Any) -> None:
    """Set all entries of a contiguous device array.

    The driver does it where all 32-bit words are alike: Python launches a kernel in ten times the
    time that it asks the driver in.
    """
    if not array.size:
        return
    words = np.array([value], array.dtype)
    if not SIMULATOR and words.nbytes % WORD == 0:
        words = words.view(np.uint32)
        if (words == words[0]).all():
            repeat_word(array, int(words[0]), array.size * words.size, stream)
            return
    flat = array.reshape(array.size)
    _fill_kernel[blocks_for(flat.size), THREADS, stream](flat, value)
