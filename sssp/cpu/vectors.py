"""SIMD vectors for Numba kernels: one operation on several numbers at once.

A vector stands in registers between `load` and `store`. Numba has loops over arrays only: what they
work on lies in memory, and a loop over 16 lanes in place of a vector takes three times as long.
LLVM makes of a vector what the processor has, several shorter ones if need be.

A number beside a vector counts for all lanes, in the vector's dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from sssp.cpu.intrinsics import intrinsic, place_of


class Vector(types.Type):
    """Numba's type of a SIMD vector: `lanes` numbers of one dtype."""

    def __init__(self, dtype: Any, lanes: int) -> None:
        self.dtype, self.lanes = dtype, lanes
        super().__init__(f"vector({lanes} x {dtype})")


def _model(manager: Any, kind: Vector) -> Any:
    """Return the data model of a `Vector` for Numba: an LLVM vector type."""
    make: Any = models.PrimitiveModel
    number = manager.lookup(kind.dtype).get_value_type()
    return make(manager, kind, ir.VectorType(number, kind.lanes))


register_model(Vector)(_model)


# ---- between memory and registers


def _pointer(vector: Vector, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place = place_of(context, builder, signature, arguments)
    return builder.bitcast(place, context.get_value_type(vector).as_pointer())


@intrinsic
def load(context: Any, array: Any, place: Any, lanes: Any) -> tuple[Any, Any]:
    """Load a SIMD vector that begins at an array entry or matrix row: ``load(array, 3, LANES)``."""
    vector = Vector(array.dtype, lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(vector, context, builder, signature, arguments)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(array, types.intp, lanes), codegen


@intrinsic
def store(context: Any, array: Any, place: Any, vector: Any) -> tuple[Any, Any]:
    """Store a SIMD vector to consecutive entries of an array: ``store(array, index, vector)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(vector, context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), codegen


@intrinsic
def fill(context: Any, number: Any, lanes: Any) -> tuple[Any, Any]:
    """Return a vector with one number in all lanes: ``fill(0.0, LANES)``."""
    vector = Vector(number, lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _fill(context, builder, vector, arguments[0], number)

    return vector(number, lanes), codegen


# ---- lane by lane


def _fill(context: Any, builder: Any, vector: Vector, value: Any, kind: Any) -> Any:
    """Generate code that returns `value` if it is a vector, else a vector filled with it."""
    if isinstance(kind, Vector):
        return value
    number = context.cast(builder, value, kind, vector.dtype)
    found = ir.Constant(context.get_value_type(vector), ir.Undefined)
    for lane in range(vector.lanes):
        found = builder.insert_element(found, number, ir.IntType(32)(lane))
    return found


def _compare(builder: Any, dtype: Any, sign: str, one: Any, other: Any) -> Any:
    is_float = isinstance(dtype, types.Float)
    return (builder.fcmp_ordered if is_float else builder.icmp_signed)(sign, one, other)


def _add(builder: Any, dtype: Any, one: Any, other: Any) -> Any:
    return (builder.fadd if isinstance(dtype, types.Float) else builder.add)(one, other)


def _lesser(builder: Any, dtype: Any, one: Any, other: Any) -> Any:
    return builder.select(_compare(builder, dtype, "<", other, one), other, one)


def _greater(builder: Any, dtype: Any, one: Any, other: Any) -> Any:
    return builder.select(_compare(builder, dtype, ">", other, one), other, one)


def _combine(emit: Callable[..., Any], vector: Vector, other: Any) -> tuple[Any, Any]:
    """Return the Numba signature and code generator of an operation on a vector and an operand."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        second = _fill(context, builder, vector, arguments[1], other)
        return emit(builder, vector.dtype, arguments[0], second)

    return vector(vector, other), codegen


@intrinsic
def add(context: Any, vector: Any, other: Any) -> tuple[Any, Any]:
    """Add a vector or a number to a vector, lane by lane: ``add(vector, other)``."""
    return _combine(_add, vector, other)


@intrinsic
def minimum(context: Any, vector: Any, other: Any) -> tuple[Any, Any]:
    """Return the lane-wise minimum of two vectors, or of a vector and a number."""
    return _combine(_lesser, vector, other)


@intrinsic
def choose(context: Any, vector: Any, other: Any, same: Any, different: Any) -> tuple[Any, Any]:
    """Return, lane by lane, `same` where `vector` equals `other`, and `different` elsewhere."""
    chosen = same if isinstance(same, Vector) else different

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = zip((vector, vector, chosen, chosen), arguments, signature.args, strict=True)
        one, two, three, four = (_fill(context, builder, *part) for part in kinds)
        return builder.select(_compare(builder, vector.dtype, "==", one, two), three, four)

    return chosen(vector, other, same, different), codegen


@intrinsic
def swap(context: Any, pair: Any) -> tuple[Any, Any]:
    """Exchange the numbers of a vector of two lanes: ``swap(pair)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (found,), order = arguments, ir.Constant(ir.VectorType(ir.IntType(32), 2), [1, 0])
        return builder.shuffle_vector(found, found, order)

    return pair(pair), codegen


# ---- over the lanes


def _fold(emit: Callable[..., Any], vector: Vector) -> tuple[Any, Any]:
    """Return the Numba signature and code generator that reduce a vector's lanes to a number."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (found,), lanes = arguments, vector.lanes
        while lanes > 1:
            lanes //= 2
            half = ir.VectorType(ir.IntType(32), lanes)
            parts = ([*range(first, first + lanes)] for first in (0, lanes))
            halves = [builder.shuffle_vector(found, found, half(part)) for part in parts]
            found = emit(builder, vector.dtype, *halves)
        return builder.extract_element(found, ir.IntType(32)(0))

    return vector.dtype(vector), codegen


@intrinsic
def sum_of(context: Any, vector: Any) -> tuple[Any, Any]:
    """Return the sum of all lanes: ``sum_of(vector)``."""
    return _fold(_add, vector)


@intrinsic
def greatest_of(context: Any, vector: Any) -> tuple[Any, Any]:
    """Return the greatest of all lanes: ``greatest_of(vector)``."""
    return _fold(_greater, vector)
