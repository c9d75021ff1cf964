"""The decorators of CPU kernels; no other module imports ``njit`` from Numba.

Compiled functions are kept on disk, so a second process does not compile again; the cache notices
a change in any source that can enter a kernel (`sssp.kernels.cache`), so kernels share helpers and
constants across files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba

from sssp.kernels.cache import CodeCache


def njit_with(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit` with options; it releases the GIL and keeps compiled code on disk.

    Parameters
    ----------
    **options
        Passed on to `numba.njit`.

    Returns
    -------
    callable
        The decorator, which makes a dispatcher of a function.
    """
    # (no entry for calls from C, which is never used)
    options = {"nogil": True, "no_cfunc_wrapper": True} | options

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        dispatcher._cache = CodeCache(function, repr(sorted(options.items())))
        return dispatcher

    return decorate


if TYPE_CHECKING:  # the types within a kernel are Numba's business
    from typing import no_type_check as njit
    from typing import no_type_check as njit_inline
    from typing import no_type_check as njit_uncounted
else:
    njit, njit_inline = njit_with(), njit_with(inline="always")
    # for functions that allocate nothing and are called for every vertex, from several threads or
    # from a loop that LLVM does not merge with their own: no references to arrays are counted, an
    # atomic operation each, whose counters would travel from core to core besides
    njit_uncounted = njit_with(_nrt=False)
