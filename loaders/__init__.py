"""File formats to arrays and back; this package knows nothing of graphs and solvers.

========== ============================== ====================================
format     read                           write
========== ============================== ====================================
``.gr``    `read_gr`: arcs                `write_gr`
``.co``    `read_co`: coordinates
``.ss``    `read_ss`: sources
``.p2p``   `read_p2p`: queries
``.sssp``  `read_arrays`: named arrays    `write_arrays`
========== ============================== ====================================

The text formats are those of the 9th DIMACS Implementation Challenge; in them vertices count
from 1, in the arrays from 0. They may be compressed with gzip, xz or bzip2.
"""

from __future__ import annotations

from sssp.loaders._container import read_arrays, write_arrays
from sssp.loaders._dimacs import ArcList, read_co, read_gr, read_p2p, read_ss, write_gr

__all__ = [
    "ArcList",
    "read_arrays",
    "read_co",
    "read_gr",
    "read_p2p",
    "read_ss",
    "write_arrays",
    "write_gr",
]
