"""Numbers of vertices and arcs as the kernels of this room have them: unsigned.

Numba tests every signed index for one that counts from the end; a breadth-first search without that
takes half the time. Unsigned and signed numbers of 64 bits must not meet, though: their sum is a
float.
"""

from __future__ import annotations

import numpy as np

VERTEX, ARC = np.uint32, np.uint64
ONE = ARC(1)
#: no vertex, no record
NONE = np.uint32(2**32 - 1)
#: a kernel reads ``stop`` once for so many vertices, and one more
POLL = 4095
