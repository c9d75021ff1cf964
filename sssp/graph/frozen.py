"""Arrays that nobody can make writable again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class _Memory:
    """The memory of a frozen array: no array itself, so that NumPy finds nothing to unlock.

    NumPy lets an array be made writable whenever the array that owns its memory could be; one
    that came over the array interface, from what says that it is read-only, stays so.
    """

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, array: Array) -> None:
        interface = array.__array_interface__
        address, _ = interface["data"]
        self.__array_interface__ = interface | {"data": (address, True)}
        self._owner = array


def frozen(array: Array) -> Array:
    """Return an array over the same memory that is read-only for good, and its ``base`` too."""
    base: object = array.base  # an array, as far as NumPy's own annotations know
    if isinstance(base, _Memory):
        return array
    return np.asarray(_Memory(array))
