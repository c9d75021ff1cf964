"""Loads Numba without SciPy's linear algebra, which no kernel here calls.

Before it compiles or takes anything from the disk, Numba asks whether SciPy has a BLAS, and imports
the whole of `scipy.linalg`: a quarter of the time that a process takes to its first answer. SciPy
is here, as this package depends on it, and Numba's functions that need BLAS ask once more.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from sssp.kernels.locks import make_lock

_loading = make_lock()


def load_array_functions(package: str) -> None:
    """Import Numba's functions on arrays, telling them that there is a BLAS.

    Parameters
    ----------
    package : str
        Where they are: ``numba.np``, or its copy for GPUs, ``numba.cuda.np``.
    """
    with _loading:
        if f"{package}.arraymath" in sys.modules:
            return
        linalg: Any = import_module(f"{package}.linalg")
        ask = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            functions: Any = import_module(f"{package}.arraymath")
        finally:
            linalg.ensure_blas = ask
        if hasattr(functions, "ensure_blas"):  # not all versions ask at once
            functions.ensure_blas = ask
