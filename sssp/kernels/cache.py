"""The cache of compiled code: kept on disk, and never stale.

An entry is named by all that it was compiled from and by: the sources of the package
(`sssp.kernels.cache_files`), the types of the arguments, the options of the decorator and of the
environment, the versions of the compiler, and what a function made by another function has from
there: closures are digested with the constants and helpers that they see, as they are now.

`CodeCache` is what a dispatcher of Numba takes for its cache, in place of Numba's own, which asks
for the file of the function alone.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import config
from numba.core.caching import CompileResultCacheImpl
from numba.core.serialize import dumps

from sssp.kernels import cache_files
from sssp.kernels.locks import make_lock
from sssp.kernels.messages import COMPILING, warn_once

#: settings of Numba's that change what it compiles, for all functions of a process
SETTINGS = ("OPT", "SLP_VECTORIZE", "LOOP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
#: interpreter and libraries that compiled code depends on
VERSIONS = (sys.version, numba.__version__, np.__version__)
#: constants that a kernel may see in its module
NUMBERS = (int, float, str, tuple, np.generic)
#: digits of the digest in the name of an entry
DIGITS = 32

#: functions, one for every signature, that this process has ``found`` on disk and ``compiled``
COUNTS: Counter[str] = Counter()
_loading = make_lock()


class CodeCache:
    """Cache on disk of one function's compiled code, an entry per tuple of argument types.

    Parameters
    ----------
    function : callable
    options : str
        What the function's decorator tells the compiler.
    """

    #: what Numba turns compiled code into so that it can be pickled, and back
    packer: Any = object.__new__(CompileResultCacheImpl)
    dumps = staticmethod(dumps)
    #: where Numba has its functions on arrays for what the code runs on
    array_functions = "numba.np"

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        self.function, self.options = function, options
        self.name = f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "")

    @property
    def cache_path(self) -> str:
        """The cache folder, as Numba's dispatcher statistics show it; empty if there is none."""
        try:
            return str(cache_files.cache_folder())
        except OSError:
            return ""

    def target(self, context: Any) -> tuple[Any, ...]:
        """Return the processor, compiler settings and versions that compiled code depends on."""
        settings = [str(getattr(config, name, None)) for name in SETTINGS]
        return (*context.codegen().magic_tuple(), settings, llvmlite.__version__)

    def is_portable(self, code: Any) -> bool:
        """Return whether the code holds no memory addresses, so that other processes can use it."""
        return not (code.library.has_dynamic_globals or any(code.lifted))

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load the compiled code for a signature; None if the cache has none that can be used."""
        load_array_functions(self.array_functions)
        context.refresh()
        try:
            data = cache_files.read(self._entry(signature, context))
            if data is not None:
                code = self.packer.rebuild(context, pickle.loads(data))
                COUNTS["found"] += 1
                return code
        except Exception as error:  # whatever a file that was tampered with throws
            warn_once("compiled code cannot be used, and is compiled again: %s", error)
        COMPILING.begin()
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Write the compiled code for a signature to the cache."""
        COMPILING.end()
        COUNTS["compiled"] += 1
        if not self.is_portable(code):
            return
        entry = self._entry(signature, code.target_context)
        try:
            cache_files.write(entry, self.dumps(self.packer.reduce(code)))
        except OSError as error:
            warn_once(
                "compiled code is not kept, so every process compiles again (%s); "
                f"set {cache_files.VARIABLE} to a folder of yours to avoid this",
                error,
            )

    def _entry(self, signature: Any, context: Any) -> str:
        digest = hashlib.sha256()
        for part in (signature, self.options, self.target(context), VERSIONS):
            digest.update(repr(part).encode())
        for word in _words(self.function, {}):
            digest.update(word.encode())
        return f"{self.name}-{digest.hexdigest()[:DIGITS]}"


def _words(function: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield the texts that a function's digest covers: its code, and global values it uses."""
    code, scope = function.__code__, function.__globals__
    seen[id(function)] = len(seen)
    for part in (code, *(value for value in code.co_consts if isinstance(value, types.CodeType))):
        yield part.co_code.hex()
        yield repr([value for value in part.co_consts if not isinstance(value, types.CodeType)])
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    # a module or a class of another file is in the stamp, or has a version
    used = [
        (name, scope[name])
        for name in code.co_names
        if isinstance(scope.get(name), NUMBERS) or hasattr(scope.get(name), "py_func")
    ]
    for name, value in used + list(zip(code.co_freevars, cells, strict=True)):
        yield name
        helper = getattr(value, "py_func", value)
        if not isinstance(helper, types.FunctionType):
            yield repr(value)
        elif id(helper) in seen:
            yield str(seen[id(helper)])
        else:
            yield repr(sorted(getattr(value, "targetoptions", {}).items()))
            yield from _words(helper, seen)


def load_array_functions(package: str) -> None:
    """Import Numba's array functions, but skip their search for a BLAS library.

    Before it compiles or takes anything from the disk, Numba asks whether SciPy has a BLAS, and
    imports the whole of `scipy.linalg`: a quarter of the time that a process takes to its first
    answer. SciPy is here, as this package depends on it, no kernel here calls its linear algebra,
    and Numba's functions that need BLAS ask once more.

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
