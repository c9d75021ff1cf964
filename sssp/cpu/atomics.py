"""What kernels need that several threads run on the same arrays: atomics, waiting, a clock.

Numba offers none on the CPU, so these few come straight from LLVM and the C library by Numba's
extension interface. All atomics are sequentially consistent. Indices are not checked.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from sssp.kernels.jit import njit, part

__all__ = ["atomic_add", "atomic_load", "now", "wait_for_all", "wait_for_change"]


#: turns of a waiting loop before a thread naps, about half a millisecond: parts of a team rarely
#: differ by more, and a nap lasts longer than the wait, so that then the others wait for the napper
PATIENCE = 1 << 18
#: length of a nap in microseconds; the system adds as many to it
NAP = 50


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


@intrinsic
def now(context: Any) -> tuple[Any, Any]:
    """``now()``: nanoseconds of a clock that runs evenly; 0 on systems that are not POSIX."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name != "posix":
            return context.get_constant(types.int64, 0)
        moment = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), 2))
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), moment.type])
        read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(read, [ir.Constant(ir.IntType(32), time.CLOCK_MONOTONIC), moment])
        seconds, rest = (
            builder.load(cgutils.gep_inbounds(builder, moment, 0, place)) for place in range(2)
        )
        return builder.add(builder.mul(seconds, ir.Constant(ir.IntType(64), 10**9)), rest)

    return types.int64(), codegen


#: sleeps for a number of microseconds; only POSIX names it so
_sleep = types.ExternalFunction("usleep", types.int32(types.uint32)) if os.name == "posix" else None


@part
def wait_for_change(words, index, old):
    """Return once an integer is no longer `old`.

    The thread spins for a while and then naps: who keeps it waiting may need its core.
    """
    spins = 0
    while atomic_load(words, index) == old:
        spins += 1
        if spins > PATIENCE and _sleep is not None:
            _sleep(np.uint32(NAP))


@njit
def wait_for_all(barrier, threads):
    """Return once all threads of a team have come here.

    ``barrier`` int64, two words, zeroed before the first use: who has come, and how often all had.
    """
    turn = atomic_load(barrier, 1)
    if atomic_add(barrier, 0, 1) == threads - 1:
        atomic_add(barrier, 0, -threads)
        atomic_add(barrier, 1, 1)
    else:
        wait_for_change(barrier, 1, turn)
