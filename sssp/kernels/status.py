"""Status codes that kernels return, as kernels never raise."""

DONE = 0
#: a candidate distance above the bound was dropped, for a vertex that was unreached then
CLIPPED = 1
#: distances are unbounded below
NEGATIVE_CYCLE = 2
#: a candidate distance fell below the range of the dtype
OVERFLOW = 3
#: a cycle among the predecessors may be negative; the kernel can go on
SUSPECT = 4
