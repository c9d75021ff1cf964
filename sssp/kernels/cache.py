"""Compiled code on disk that is never stale.

Numba keeps a compiled function for as long as the file that defines it stays as it is. What a
kernel takes from elsewhere, a helper or a constant, it does not notice. So here every file of the
cache has a stamp in its name, taken over all sources that can enter a kernel, and code that was
compiled from other sources is not even looked at. It is deleted as soon as something newer stands
beside it. The key of an entry also holds what Numba's own leaves out: the options of the decorator
and of the environment, and the version of the compiler.

`Stamped` and `StampedNames` go before a cache class of Numba and the class of its ``_impl_class``:
those of the CPU here, those of CUDA where kernels are compiled for it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite
from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache

__all__ = ["KernelCache", "Stamped", "StampedNames", "source_stamp", "warn_once"]

#: rooms that only call the others: no kernel stands there, nor takes anything from there
CALLERS = {"_cli", "_terminal", "bench", "calls"}
#: what begins the stamp in the name of a file
MARK = ".sssp-"
#: digits of a stamp
DIGITS = 16
#: settings of Numba's that change what it compiles, for all functions of a process
SETTINGS = ("OPT", "SLP_VECTORIZE", "LOOP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

logger = logging.getLogger("sssp")
_warned = False


def source_stamp() -> str:
    """Return a digest of all sources that can enter a kernel, as they are on disk now."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        with open(path, "rb") as file:
            source = file.read()
        digest.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:DIGITS]


def _sources() -> Iterator[str]:
    """Yield the files of the package, or the archive that it is imported from."""
    archive = PACKAGE
    while not os.path.exists(archive):
        archive = os.path.dirname(archive)
    if os.path.isfile(archive):
        yield archive
    # the loaders are a link
    for folder, folders, names in os.walk(PACKAGE, followlinks=True):
        if folder == PACKAGE:
            folders[:] = set(folders) - CALLERS
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


#: what this process has loaded, or is about to
STAMP = source_stamp()


class StampedNames:
    """What names the files of one function."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return the names' first part: Numba's and the stamp."""
        base = super().get_filename_base(fullname, abiflags)  # type: ignore[misc]
        return f"{base}{MARK}{STAMP}"


class Stamped:
    """What loads and saves the compiled code of one function.

    Attributes
    ----------
    options : str
        What the function's decorator tells the compiler.
    """

    cache_path: str
    options: str = ""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        settings = tuple(str(getattr(config, name, None)) for name in SETTINGS)
        key = super()._index_key(sig, codegen)  # type: ignore[misc]
        return (*key, self.options, settings, llvmlite.__version__)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None if there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[misc]
        except OSError as error:
            warn_once(str(error))
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, unless the sources have changed under the running process."""
        if source_stamp() != STAMP:
            return
        try:
            super().save_overload(sig, data)  # type: ignore[misc]
        except OSError as error:
            warn_once(str(error))
        else:
            _delete_stale(self.cache_path)


@functools.cache
def _delete_stale(folder: str) -> None:
    """Delete what other sources were compiled to, once a process and folder."""
    for name in os.listdir(folder):
        if MARK in name and MARK + STAMP not in name:
            with contextlib.suppress(OSError):  # another process deletes it too
                os.unlink(os.path.join(folder, name))


class _KernelCacheImpl(StampedNames, CompileResultCacheImpl):
    pass


class KernelCache(Stamped, FunctionCache):
    """Cache of one function that is compiled for the CPU."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.options = options


def warn_once(reason: str) -> None:
    """Say that compiled code is not kept, and what to do; once a process."""
    global _warned
    if not _warned:
        _warned = True
        logger.warning(
            "compiled code is not kept, so every process compiles again (%s); "
            "set NUMBA_CACHE_DIR to a writable folder to avoid this",
            reason,
        )
