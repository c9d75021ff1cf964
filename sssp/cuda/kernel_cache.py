"""Compiled code of CUDA kernels, kept on disk like that of CPU kernels.

What makes kept code stale is in `sssp.kernels.cache_files`; here come the tools that made it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba_cuda
from cuda.bindings import nvjitlink
from numba import cuda as _cuda
from numba.cuda.dispatcher import CUDACacheImpl
from numba.cuda.serialize import dumps
from numba.cuda.utils import numba_target_override

from sssp.kernels.cache import CodeCache

cuda: Any = _cuda


@cache
def _toolkit() -> tuple[Any, ...]:
    """Return the versions of the tools that compile a kernel."""
    return numba_cuda.__version__, cuda.runtime.get_version(), nvjitlink.version()


class DeviceCodeCache(CodeCache):
    """Compiled code of one kernel on disk, by argument types and compute capability."""

    packer = object.__new__(CUDACacheImpl)
    dumps = staticmethod(dumps)
    array_functions = "numba.cuda.np"

    def target(self, context: Any) -> tuple[Any, ...]:
        """Return the device's compute capability and the versions of the compiler's tools."""
        return cuda.get_current_device().compute_capability, _toolkit()

    def is_portable(self, code: Any) -> bool:
        """Return whether compiled code works for any launch configuration, so it can be cached."""
        return not code.launch_config_sensitive

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the cached compiled code for a signature; None if there is no usable code."""
        with numba_target_override():
            code = super().load_overload(signature, context)
        if code is not None:
            # (while no other thread compiles: Numba fails where two threads load it at once)
            code.bind()
        return code
