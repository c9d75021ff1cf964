"""Bits of numbers: integers in the same order as the numbers, for atomic minima."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, int32, int64

from sssp.cuda.compiler import SIMULATOR, inline


def bits_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function from a number to the integer with the same bits.

    Floats that are not negative order like their bits.
    """
    if dtype.kind == "i":

        @inline
        def bits(value):
            return value

    elif SIMULATOR:
        integer = np.dtype(f"i{dtype.itemsize}")

        @inline
        def bits(value):
            return dtype.type(value).view(integer)

    else:
        from numba.cuda import libdevice

        narrow = dtype == np.float32
        convert = libdevice.float_as_int if narrow else libdevice.double_as_longlong

        @inline
        def bits(value):
            return convert(value)

    return bits


def number_of(dtype: np.dtype[Any]) -> Any:
    """Return a device function from an integer to the number with the same bits."""
    if dtype.kind == "i":
        kind = from_dtype(dtype)

        @inline
        def number(bits):
            return kind(bits)

    elif SIMULATOR:
        integer = np.dtype(f"i{dtype.itemsize}")

        @inline
        def number(bits):
            return integer.type(bits).view(dtype)

    else:
        from numba.cuda import libdevice

        narrow = dtype == np.float32
        kind = int32 if narrow else int64
        convert = libdevice.int_as_float if narrow else libdevice.longlong_as_double

        @inline
        def number(bits):
            return convert(kind(bits))

    return number


def ordered_bits_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return device functions from a number to an integer of the same order, and back.

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
