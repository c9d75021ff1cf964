"""Inline PTX for instructions that Numba lacks, some with twins in Python for the simulator.

A word holds two numbers of 16 bits, the *halves*. What an instruction does to both is what its twin
says; tests compare them on a GPU, and have twins of those that the simulator does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as _types
from numba import uint32

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline
from sssp.cuda.device.anchor import GLOBAL, SHARED

types: Any = _types
HALF_BITS, LOW_HALF = 16, 0xFFFF


def _halves(word: Any) -> tuple[int, int]:
    return int(word) & LOW_HALF, int(word) >> HALF_BITS


def _word(low: int, high: int) -> Any:
    return np.uint32((high << HALF_BITS) | low)


def least_halves_twin(a: Any, b: Any) -> Any:
    """Return the minima of the unsigned 16-bit halves of two words, in Python for the simulator."""
    return _word(*map(min, _halves(a), _halves(b)))


def lower_halves_twin(a: Any, b: Any, c: Any) -> Any:
    """Return ``min(a + b, c)`` of the 16-bit halves of words, in Python for the simulator."""
    sums = ((x + y) & LOW_HALF for x, y in zip(_halves(a), _halves(b), strict=True))
    return _word(*map(min, sums, _halves(c)))


if SIMULATOR:
    least_halves, lower_halves = inline(least_halves_twin), inline(lower_halves_twin)

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    _WORD, _ADDRESS = ir.IntType(32), ir.IntType(64)
    _FOUR_WORDS = ir.LiteralStructType([_WORD] * 4)

    def _emit(
        builder: Any, ptx: str, operands: str, found: Any, arguments: Any, *, pure: bool = False
    ) -> Any:
        """Emit a PTX instruction; unless `pure`, the compiler neither moves nor drops it."""
        kind = ir.FunctionType(found, [argument.type for argument in arguments])
        return builder.call(ir.InlineAsm(kind, ptx, operands, side_effect=not pure), arguments)

    def _of_words(ptx: str, count: int) -> tuple[Any, Callable[..., Any]]:
        """Return Numba's type signature and code generator of a PTX instruction on words."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _emit(builder, ptx, "=r" + ",r" * count, _WORD, arguments, pure=True)

        return uint32(*[uint32] * count), generate

    @intrinsic
    def least_halves(typing_context: Any, a: Any, b: Any) -> Any:
        """Return the minimum of two words for each 16-bit half, in one instruction (VIMNMX)."""
        return _of_words("min.u16x2 $0, $1, $2;", 2)

    @intrinsic
    def lower_halves(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        """Return ``min(a + b, c)`` for each unsigned 16-bit half of three words."""
        return _of_words("{ .reg .b32 t; add.u16x2 t, $1, $2; min.u16x2 $0, t, $3; }", 3)

    def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any, space: int) -> Any:
        """Return a pointer to a word of a flat array, in a given address space."""
        data = context.make_array(kind)(context, builder, array).data
        place = builder.gep(data, [builder.zext(index, _ADDRESS)], inbounds=True)
        return builder.addrspacecast(place, _WORD.as_pointer(space))

    def _four(context: Any, builder: Any, signature: Any, found: Any) -> Any:
        """Pack the four words of an instruction's result into a tuple."""
        words = [builder.extract_value(found, i) for i in range(4)]
        return context.make_tuple(builder, signature.return_type, words)

    @intrinsic
    def add_common_bits(
        typing_context: Any, c0: Any, c1: Any, c2: Any, c3: Any, a0: Any, a1: Any, a2: Any, a3: Any,
        b0: Any, b1: Any,
    ) -> Any:  # fmt: skip
        """Add the product of a 16 x 256 and a 256 x 8 bit matrix (AND, popcount) to counts (BMMA).

        Lane ``4 g + q`` of a warp has the counts of rows g, g, g + 8, g + 8 and columns 2 q,
        2 q + 1, 2 q, 2 q + 1; in a0 to a3 words q of rows g and g + 8, and words 4 + q of the same;
        in b0 and b1 words q and 4 + q of column g.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            ptx = (
                "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
                "{$0,$1,$2,$3}, {$8,$9,$10,$11}, {$12,$13}, {$4,$5,$6,$7};"
            )
            operands = ",".join(["=r"] * 4 + ["r"] * 10)
            found = _emit(builder, ptx, operands, _FOUR_WORDS, arguments)
            return _four(context, builder, signature, found)

        return types.UniTuple(uint32, 4)(*[uint32] * 10), generate

    @intrinsic
    def four_tiles(typing_context: Any, array: Any, index: Any) -> Any:
        """Load four tiles, each of 8 rows by 4 words, from shared memory into a warp (LDSM).

        Lane ``8 t + r`` of a warp gives the place where row r of tile t begins, a multiple of 4;
        lane ``4 r + w`` gets word w of row r of every tile.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, index = arguments
            place = _place(context, builder, signature.args[0], array, index, SHARED)
            ptx = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4];"
            starts = [builder.ptrtoint(place, _WORD)]
            found = _emit(builder, ptx, "=r,=r,=r,=r,r,~{memory}", _FOUR_WORDS, starts)
            return _four(context, builder, signature, found)

        return types.UniTuple(uint32, 4)(array, uint32), generate

    @intrinsic
    def start_copy(typing_context: Any, shared: Any, place: Any, array: Any, index: Any) -> Any:
        """Start an asynchronous copy of four words from global to shared memory."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, index = arguments[:2]
            there = _place(context, builder, signature.args[0], array, index, SHARED)
            data = context.make_array(signature.args[2])(context, builder, arguments[2]).data
            source = builder.gep(data, [arguments[3]], inbounds=True)
            ptx = "cp.async.cg.shared.global [$0], [$1], 16;"
            ends = [builder.ptrtoint(there, _WORD), builder.ptrtoint(source, _ADDRESS)]
            _emit(builder, ptx, "r,l,~{memory}", ir.VoidType(), ends)
            return context.get_dummy_value()

        return types.void(shared, uint32, array, types.uint64), generate

    def _without_result(ptx: str, operands: str) -> Callable[..., Any]:
        """Return the code generator of a PTX instruction that has no result."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _emit(builder, ptx, operands, ir.VoidType(), arguments)
            return context.get_dummy_value()

        return generate

    @intrinsic
    def wait_for_copies(typing_context: Any) -> Any:
        """Wait until all asynchronous copies of this thread are complete."""
        return types.void(), _without_result("cp.async.wait_all;", "~{memory}")

    @intrinsic
    def wait_for_group(typing_context: Any, number: Any, threads: Any) -> Any:
        """Wait at barrier `number` (1 to 15) until `threads` threads of the block arrive."""
        return types.void(uint32, uint32), _without_result("bar.sync $0, $1;", "r,r,~{memory}")

    _QUARTER = ir.VectorType(_WORD, 4)

    def _quarter(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
        """Return an LLVM pointer to four words of a flat array, from the given index on."""
        data = context.make_array(kind)(context, builder, array).data
        place = builder.bitcast(builder.gep(data, [index], inbounds=True), _QUARTER.as_pointer())
        return builder.addrspacecast(place, _QUARTER.as_pointer(GLOBAL))

    @intrinsic
    def read_four(typing_context: Any, array: Any, index: Any) -> Any:
        """Read four words of global memory at once; the index is a multiple of four."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _quarter(context, builder, signature.args[0], *arguments)
            four = builder.load(place, align=16)
            parts = [builder.extract_element(four, _WORD(i)) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(uint32, 4)(array, types.uint64), generate

    @intrinsic
    def write_four(
        typing_context: Any, array: Any, index: Any, w0: Any, w1: Any, w2: Any, w3: Any
    ) -> Any:
        """Write four words to global memory at once; the index is a multiple of four."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _quarter(context, builder, signature.args[0], *arguments[:2])
            four = ir.Constant(_QUARTER, ir.Undefined)
            for i, word in enumerate(arguments[2:]):
                four = builder.insert_element(four, word, _WORD(i))
            builder.store(four, place, align=16)
            return context.get_dummy_value()

        return types.void(array, types.uint64, *[uint32] * 4), generate


@inline
def low_twice(word):
    """Return a 32-bit integer with both 16-bit halves equal to the lower half of `word`."""
    return uint32((word << uint32(HALF_BITS)) | (word & uint32(LOW_HALF)))


@inline
def high_twice(word):
    """Return a word whose halves are both the upper half of the given word."""
    return uint32((word & ~uint32(LOW_HALF)) | (word >> uint32(HALF_BITS)))


def has_short_arithmetic() -> bool:
    """Return whether the current GPU computes 16-bit ``min(a + b, c)`` in one instruction.

    That is measured on compute capability 9.0, and so in machine code for 10; 12.0 takes two.
    """
    return SIMULATOR or cuda.get_current_device().compute_capability[0] in (9, 10)


def has_bit_products() -> bool:
    """Return whether the current device counts common bits on tensor cores: capability 8.0 to 9.0.

    Machine code for newer ones calls a subroutine for each instruction. The simulator knows none.
    """
    return not SIMULATOR and (8, 0) <= cuda.get_current_device().compute_capability <= (9, 0)
