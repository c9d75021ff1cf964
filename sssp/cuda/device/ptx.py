"""Instructions that Numba does not know: inline PTX, with twins in Python for the simulator.

A word holds two numbers of 16 bits, the *halves*. What an instruction does to both is what its twin
says; tests compare them on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uint32

from sssp.cuda.compiler import SIMULATOR, cuda, inline

HALF_BITS, LOW_HALF = 16, 0xFFFF


def _halves(word: Any) -> tuple[int, int]:
    return int(word) & LOW_HALF, int(word) >> HALF_BITS


def _word(low: int, high: int) -> Any:
    return np.uint32((high << HALF_BITS) | low)


def least_halves_twin(a: Any, b: Any) -> Any:
    """Return the lesser of both words' halves, unsigned."""
    return _word(*map(min, _halves(a), _halves(b)))


def lower_halves_twin(a: Any, b: Any, c: Any) -> Any:
    """Return ``min(a + b, c)`` of halves, unsigned; sums wrap."""
    sums = ((x + y) & LOW_HALF for x, y in zip(_halves(a), _halves(b), strict=True))
    return _word(*map(min, sums, _halves(c)))


if SIMULATOR:
    least_halves, lower_halves = inline(least_halves_twin), inline(lower_halves_twin)

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    def _of_words(ptx: str, count: int) -> tuple[Any, Callable[..., Any]]:
        """Return type and code of an instruction from so many words to one."""

        def generate(context, builder, signature, arguments):
            word = ir.IntType(32)
            kind = ir.FunctionType(word, [word] * count)
            asm = ir.InlineAsm(kind, ptx, ",".join(["=r"] + ["r"] * count))
            return builder.call(asm, arguments)

        return uint32(*[uint32] * count), generate

    @intrinsic
    def least_halves(typing_context, a, b):
        """Return the lesser of both words' halves: one instruction (VIMNMX.U16x2)."""
        return _of_words("min.u16x2 $0, $1, $2;", 2)

    @intrinsic
    def lower_halves(typing_context, a, b, c):
        """Return ``min(a + b, c)`` of halves: one instruction (VIADDMNMX.U16x2), two on 12.0."""
        return _of_words("{ .reg .b32 t; add.u16x2 t, $1, $2; min.u16x2 $0, t, $3; }", 3)


@inline
def low_twice(word):
    """Return the word of which both halves are the low one of a word."""
    return uint32((word << uint32(HALF_BITS)) | (word & uint32(LOW_HALF)))


@inline
def high_twice(word):
    """Return the word of which both halves are the high one of a word."""
    return uint32((word & ~uint32(LOW_HALF)) | (word >> uint32(HALF_BITS)))


def has_short_arithmetic() -> bool:
    """Whether the current device lowers two numbers of 16 bits by one instruction.

    That is measured on compute capability 9.0, and so in machine code for 10; 12.0 takes two.
    """
    return SIMULATOR or cuda.get_current_device().compute_capability[0] in (9, 10)
