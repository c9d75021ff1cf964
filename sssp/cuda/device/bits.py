"""Reinterpret floats as integers that sort in the same order, so that atomics find minima."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype

from sssp.cuda.availability import SIMULATOR
from sssp.cuda.compiler import inline


def _converters(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return functions that convert a float to the integer with the same bits, and back."""
    if SIMULATOR:
        integer = np.dtype(f"i{dtype.itemsize}")
        return (
            lambda value: dtype.type(value).view(integer),
            lambda bits: integer.type(bits).view(dtype),
        )
    from numba.cuda import libdevice

    if dtype == np.float32:
        return libdevice.float_as_int, libdevice.int_as_float
    return libdevice.double_as_longlong, libdevice.longlong_as_double


def bits_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that converts a number to the integer with the same bits.

    Floats that are not negative order like their bits.
    """
    integers, (convert, _) = dtype.kind == "i", _converters(dtype)

    @inline
    def bits(value):
        return value if integers else convert(value)

    return bits


def number_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function that reinterprets an integer's bits as a number of `dtype`."""
    integers, (_, convert) = dtype.kind == "i", _converters(dtype)
    kind = from_dtype(np.dtype(f"i{dtype.itemsize}"))

    @inline
    def number(bits):
        return kind(bits) if integers else convert(kind(bits))

    return number


def ordered_bits_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return device functions that convert numbers to order-preserving integers, and back.

    The integers order like the numbers, also below zero: a float's bits, all but the sign
    flipped where it is negative.
    """
    if dtype.kind == "i":
        same = bits_of(dtype)
        return same, same
    bits, plain_value_of = bits_of(dtype), number_of(dtype)
    integer = np.int32 if dtype.itemsize == 4 else np.int64
    but_sign = integer(np.iinfo(integer).max)
    zero = integer(0)

    @inline
    def ordered(value):
        plain = bits(value)
        return plain if plain >= zero else integer(plain ^ but_sign)

    @inline
    def value_of(key):
        return plain_value_of(key if key >= zero else integer(key ^ but_sign))

    return ordered, value_of
