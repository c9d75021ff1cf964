"""Machine operations that Numba does not offer on the CPU: atomics, a barrier, prefetch.

They come straight from LLVM and the C library by Numba's extension interface. All atomics are
sequentially consistent. Indices are not checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from sssp.kernels.jit import njit

#: iterations of a waiting loop before a thread sleeps, about half a millisecond: threads of a team
#: rarely differ by more, and a sleep lasts longer than the wait, so then the others wait for it
PATIENCE = 1 << 18
#: length of a sleep in microseconds; the system adds as many to it
NAP = 50


def intrinsic(function: Callable[..., Any]) -> Any:
    """Decorate a Numba intrinsic so that type checkers ignore its extra first argument.

    It sees the values of constants.
    """
    decorate: Any = _intrinsic(prefer_literal=True)
    return decorate(function)


def place_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate LLVM code for the address of ``array[index]``, which is an entry or a row."""
    array_type = signature.args[0]
    view = context.make_array(array_type)(context, builder, arguments[0])
    index = [arguments[1], *[context.get_constant(types.intp, 0)] * (array_type.ndim - 1)]
    find: Any = cgutils.get_item_pointer
    return find(context, builder, array_type, view, index, wraparound=False)


@intrinsic
def atomic_add(context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Add to an integer atomically, return its old value: ``atomic_add(array, index, value)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = place_of(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), codegen


@intrinsic
def atomic_load(context: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """Read an integer atomically: ``atomic_load(array, index)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = place_of(context, builder, signature, arguments)
        return builder.load_atomic(place, "seq_cst", array.dtype.bitwidth // 8)

    return array.dtype(array, types.intp), codegen


@intrinsic
def prefetch(context: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """Prefetch the cache line of an array entry; any index is safe: ``prefetch(array, index)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        load = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = builder.bitcast(place_of(context, builder, signature, arguments), byte)
        # to read, and to keep in all caches, data
        builder.call(load, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


#: sleeps for a number of microseconds; only POSIX names it so
_sleep = types.ExternalFunction("usleep", types.int32(types.uint32)) if os.name == "posix" else None


@njit
def wait_for_all(barrier, threads):
    """Wait until all threads of a team have called this function (a barrier).

    A thread spins for a while and then sleeps: the one it waits for may need its core. ``barrier``
    int64, two words, zeroed before the first use: how many threads wait, and how often all have
    met.
    """
    turn = atomic_load(barrier, 1)
    if atomic_add(barrier, 0, 1) == threads - 1:
        atomic_add(barrier, 0, -threads)
        atomic_add(barrier, 1, 1)
        return
    spins = 0
    while atomic_load(barrier, 1) == turn:
        spins += 1
        if spins > PATIENCE and _sleep is not None:
            _sleep(np.uint32(NAP))
