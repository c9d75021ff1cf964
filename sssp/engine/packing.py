"""Boolean matrices, 64 columns to a word: column j is bit ``j % 64`` of word ``j // 64``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: columns in a word
WORD = 64


def words_for(columns: int) -> int:
    """Words in a row of so many columns."""
    return -(-columns // WORD)


def packed_bits(bits: NDArray[Any], out: NDArray[np.uint64]) -> None:
    """Pack a matrix of booleans (or of 0 and 1).

    Parameters
    ----------
    bits : ndarray, shape (rows, columns)
    out : ndarray, shape (rows, words), uint64
        Bits beyond the columns become 0.
    """
    octets = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), 8 * out.shape[1]), np.uint8)
    padded[:, : octets.shape[1]] = octets
    out[...] = padded.view("<u8")


def unpacked_bits(words: NDArray[np.uint64], columns: int) -> NDArray[np.uint8]:
    """Return the matrix of 0 and 1, shape (rows, columns), uint8."""
    octets = words.astype("<u8", copy=False).view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.unpackbits(octets, axis=1, count=columns, bitorder="little")
