"""Check the columns that are passed to writers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def plain_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return values as an array; raise TypeError for a masked one: NumPy would drop its mask."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and no file says what stands behind the mask")
    return np.asarray(values)
