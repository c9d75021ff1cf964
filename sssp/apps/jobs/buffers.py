"""Memory of the host that the blocks of a job hand on, for touching fresh memory costs more.

What a GPU finds in ten milliseconds it takes the system seventy to have room for, page by page.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Buffers:
    """Arrays whose memory serves another one once nothing refers to them any more.

    They do not travel: a copy has buffers of its own.
    """

    def __init__(self) -> None:
        #: (an array may be collected in the midst of anything: nothing is locked on that way)
        self._returned: deque[NDArray[np.uint8]] = deque()
        self._lock = threading.Lock()

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array whose entries are anything.

        Of memory that lies idle the first that is large enough serves; what is too small is given
        up. So no more is held than was in use at some time, where all ask for about as much.
        """
        nbytes = prod(shape) * dtype.itemsize
        memory = None
        with self._lock:
            while self._returned and memory is None:
                one = self._returned.popleft()
                memory = one if one.size >= nbytes else None
        if memory is None:
            memory = np.empty(max(1, nbytes), np.uint8)
        # NumPy lets views of views refer to this array: it goes when the last of them does
        array: NDArray[Any] = np.frombuffer(memory.data, np.uint8, nbytes)
        weakref.finalize(array, _give_back, weakref.ref(self), memory).atexit = False
        return array.view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Buffers, ()


def _give_back(buffers: weakref.ref[Buffers], memory: NDArray[np.uint8]) -> None:
    """Leave memory to whoever asks next, if the job has not ended."""
    own = buffers()
    if own is not None:
        own._returned.append(memory)
