"""Atomic operations for kernels that several threads run on the same arrays.

Numba offers none on the CPU, so these few come straight from LLVM by Numba's extension
interface. All are sequentially consistent. Indices are not checked.
"""

from __future__ import annotations

import os
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from sssp.kernels.jit import njit

__all__ = ["atomic_add", "atomic_load", "wait_for_all"]


#: turns of a waiting loop before a thread offers its core
PATIENCE = 4096


#: Numba passes the first argument, which no type checker knows
intrinsic: Any = _intrinsic


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Address of the array entry that the first two arguments name."""
    array_type = signature.args[0]
    view = context.make_array(array_type)(context, builder, arguments[0])
    return cgutils.get_item_pointer(
        context, builder, array_type, view, [arguments[1]], wraparound=False
    )


@intrinsic
def atomic_add(context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """``atomic_add(array, index, value)``: add to an integer, return what it was."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), codegen


@intrinsic
def atomic_load(context: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """``atomic_load(array, index)``: the newest value of an integer."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, "seq_cst", array.dtype.bitwidth // 8)

    return array.dtype(array, types.intp), codegen


#: lets another thread run; only POSIX names it so
_yield_core = types.ExternalFunction("sched_yield", types.int32()) if os.name == "posix" else None


@njit
def wait_for_all(barrier, threads):
    """Return once all threads of a team have come here.

    ``barrier`` int64, two words, zeroed before the first use: who has come, and how often all
    had. Threads spin, for a while before they offer their core to others.
    """
    turn = atomic_load(barrier, 1)
    if atomic_add(barrier, 0, 1) == threads - 1:
        atomic_add(barrier, 0, -threads)
        atomic_add(barrier, 1, 1)
        return
    spins = 0
    while atomic_load(barrier, 1) == turn:
        spins += 1
        if _yield_core is not None and spins > PATIENCE:
            _yield_core()
