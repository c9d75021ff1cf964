"""The one place that imports ``njit``.

Compiled functions are kept on disk, so a second process does not compile again; the cache notices
a change in any source that can enter a kernel (`sssp.kernels.cache`), so kernels share helpers and
constants across files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import config as _config

from sssp.kernels.cache import CodeCache

config: Any = _config

#: options of functions that allocate nothing and are called for every vertex, from several threads
#: or from a loop that LLVM does not merge with their own: no references to arrays are counted, an
#: atomic operation each, whose counters would travel from core to core besides
UNCOUNTED: dict[str, Any] = {"_nrt": False}


def njit(
    function: Callable[..., Any] | None = None, *, slp_vectorize: bool = False, **options: Any
) -> Any:
    """`numba.njit` that releases the GIL and keeps compiled code on disk where it can.

    Parameters
    ----------
    function : callable, optional
        The function to compile; absent where options are given, as in ``@njit(inline=...)``.
    slp_vectorize : bool
        Let the compiler gather operations on neighbouring entries, written one by one, into
        vector operations; Numba's own switch holds for a whole process.
    **options
        Passed on to `numba.njit`.

    Returns
    -------
    dispatcher or decorator
        The compiled function, or the decorator that makes one.
    """
    if function is None:
        return lambda f: njit(f, slp_vectorize=slp_vectorize, **options)
    options.setdefault("nogil", True)
    # a way in from C, which nobody takes
    options.setdefault("no_cfunc_wrapper", True)
    dispatcher = numba.njit(**options)(function)
    if slp_vectorize:
        _switch_slp_on(dispatcher._compiler)
    dispatcher._cache = CodeCache(function, repr((slp_vectorize, sorted(options.items()))))
    return dispatcher


def _switch_slp_on(compiler: Any) -> None:
    """Set Numba's switch while this compiler works, under Numba's lock, and no longer."""
    compile_plainly = compiler.compile

    def compile_vectorized(*arguments: Any) -> Any:
        before = config.SLP_VECTORIZE
        config.SLP_VECTORIZE = 1
        try:
            return compile_plainly(*arguments)
        finally:
            config.SLP_VECTORIZE = before

    compiler.compile = compile_vectorized
