"""The one place that imports ``njit``.

Compiled functions are cached on disk, so a second process does not compile again. Where no
cache folder is writable (a read-only install, say) Numba would raise while a module is being
imported; here it compiles without a cache instead and says so once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba

__all__ = ["njit"]

logger = logging.getLogger("sssp")
_warned = False


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit` that releases the GIL and caches on disk where it can.

    Parameters
    ----------
    function : callable, optional
        The function to compile; absent where options are given, as in ``@njit(inline=...)``.
    **options
        Passed on to `numba.njit`.

    Returns
    -------
    dispatcher or decorator
        The compiled function, or the decorator that makes one.
    """
    if function is None:
        return lambda f: njit(f, **options)
    options.setdefault("nogil", True)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _warn_once()
        return numba.njit(**options)(function)


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        logger.warning(
            "no folder for compiled code is writable, so every process compiles again; "
            "set NUMBA_CACHE_DIR to a writable folder to avoid this"
        )
