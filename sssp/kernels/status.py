"""Status codes that kernels return, for kernels never raise."""

from __future__ import annotations

__all__ = ["CLIPPED", "DONE", "NEGATIVE_CYCLE", "OVERFLOW"]

DONE = 0
#: a candidate distance above the bound was dropped: an overflow, if the bound is the dtype's own
CLIPPED = 1
#: distances are unbounded below
NEGATIVE_CYCLE = 2
#: a candidate distance left the range of the dtype
OVERFLOW = 3
