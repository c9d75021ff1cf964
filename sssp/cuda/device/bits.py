"""Numbers as integers that order alike: what atomic minima of the hardware need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64

from sssp.cuda.compiler import SIMULATOR, bits_of, inline


def number_of_bits(dtype: np.dtype[Any]) -> Any:
    """Return a device function that gives the number of the same bits as an integer."""
    if SIMULATOR:

        def value_of(bits):
            return np.dtype(f"u{dtype.itemsize}").type(bits).view(dtype)

    elif dtype.kind == "i":
        integer = int32 if dtype.itemsize == 4 else int64

        def value_of(bits):
            return integer(bits)

    elif dtype.itemsize == 4:
        from numba.cuda.libdevice import int_as_float

        def value_of(bits):
            return int_as_float(int32(bits))

    else:
        from numba.cuda.libdevice import longlong_as_double

        def value_of(bits):
            return longlong_as_double(int64(bits))

    return inline(value_of)


def ordered_bits_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return two device functions: a number as an integer of its width, and the way back.

    The integers order like the numbers, also below zero: a float's bits, all but the sign
    flipped where it is negative.
    """
    if dtype.kind == "i":
        same = bits_of(dtype)
        return same, same
    bits, plain_number_of = bits_of(dtype), number_of_bits(dtype)
    integer = np.int32 if dtype.itemsize == 4 else np.int64
    but_sign = integer(np.iinfo(integer).max)
    zero = integer(0)

    @inline
    def ordered(value):
        plain = bits(value)
        return plain if plain >= zero else integer(plain ^ but_sign)

    @inline
    def number_of(key):
        return plain_number_of(key if key >= zero else integer(key ^ but_sign))

    return ordered, number_of
