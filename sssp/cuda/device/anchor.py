"""Arrays whose address the compiler keeps in a register.

The compiler takes the address of a row, or of an array in shared memory, for so cheap that it
computes it anew before every access: a multiplication in 64 bits there, on Hopper the read of a
special register here. Where a kernel is a chain of short accesses that is a tenth of its time, and
many of its registers. An address that an assembly instruction returned cannot be computed anew.
"""

from __future__ import annotations

from typing import Any

from sssp.cuda.availability import SIMULATOR

#: address spaces
GLOBAL, SHARED = 1, 3

if SIMULATOR:

    def anchor(array: Any) -> Any:
        """Return the given global-memory array, with its address kept in a register."""
        return array

    def anchor_shared(array: Any) -> Any:
        """Return the given shared-memory array, with its address kept in a register."""
        return array

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    def _make_anchor(space: int) -> Any:
        """Return a device function that keeps an array's address in a register."""
        # addresses in shared memory have 32 bits
        bits, register = (32, "r") if space == SHARED else (64, "l")

        @intrinsic
        def function(typing_context: Any, array: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                view = context.make_array(array)(context, builder, value=arguments[0])
                generic = view.data.type
                # loads and stores are those of the space only if the compiler sees the casts
                pointer = ir.PointerType(generic.pointee, addrspace=space)
                address = ir.IntType(bits)
                kind, ends = ir.FunctionType(address, [address]), f"={register},{register}"
                move = ir.InlineAsm(kind, f"mov.b{bits} $0, $1;", ends, side_effect=False)
                start = builder.ptrtoint(builder.addrspacecast(view.data, pointer), address)
                start = builder.inttoptr(builder.call(move, [start]), pointer)
                view.data = builder.addrspacecast(start, generic)
                return view._getvalue()

            return array(array), generate

        return function

    anchor = _make_anchor(GLOBAL)
    anchor_shared = _make_anchor(SHARED)
