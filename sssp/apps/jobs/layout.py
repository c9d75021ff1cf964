"""How a table is cut into blocks: what it holds, and which rows or columns a block finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.dtypes import unreached

#: bytes of a block, and of one that a GPU finds, which wants more rows side by side: two such, and
#: what writers hold, stay below 500 MB
BLOCK_BYTES, GPU_BLOCK_BYTES = 64 << 20, 128 << 20
#: blocks of a job, if they are not larger than that
FEWEST_BLOCKS = 64
#: most searches of a block: what a crash costs
MOST_SEARCHES = 8192
#: searches that keep a GPU busy: a few take it nearly as long as some hundreds
GPU_SEARCHES = 1024
#: sources that are looked up at a time
PIECE = 1 << 20


@dataclass(frozen=True)
class Field:
    """An array of a table.

    Attributes
    ----------
    name : str
        In a Zarr store; in a row of Parquet it is `column`.
    column : str
    dtype : dtype
    width : int or None
        Numbers of a source; None: one, without an axis for it.
    """

    name: str
    column: str
    dtype: np.dtype[Any]
    width: int | None

    @property
    def missing(self) -> Any:
        """What stands for unreached."""
        return unreached(self.dtype)

    @property
    def row_bytes(self) -> int:
        """Bytes for a source."""
        return self.dtype.itemsize * (1 if self.width is None else self.width)


@dataclass(frozen=True)
class Layout:
    """A table of one or several fields, and its blocks.

    Attributes
    ----------
    fields : tuple of Field
    rows : int
        Sources that differ.
    searches : int
        Of all blocks: the rows; or the columns, where a block searches from targets.
    block_size : int
        Searches of a block; the last may have fewer.
    by_columns : bool
        Whether a block is some columns of all rows instead of some rows.
    """

    fields: tuple[Field, ...]
    rows: int
    searches: int
    block_size: int
    by_columns: bool = False

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.searches // self.block_size)

    @property
    def nbytes(self) -> int:
        """Bytes of the table, uncompressed."""
        return self.rows * sum(field.row_bytes for field in self.fields)

    def searches_of(self, block: int) -> range:
        """Return which searches a block makes."""
        first = block * self.block_size
        return range(first, min(first + self.block_size, self.searches))

    def columns(self, field: Field) -> int:
        """Return how many columns a field has: 1 where it has no axis for them."""
        return 1 if field.width is None else field.width


def block_size_of(searches: int, search_bytes: int, *, on_gpu: bool) -> int:
    """Return how many searches make a block: as many as fit, in blocks enough to share.

    Parameters
    ----------
    searches : int
        Of the job.
    search_bytes : int
        What one keeps until its block is written.
    on_gpu : bool
    """
    room = (GPU_BLOCK_BYTES if on_gpu else BLOCK_BYTES) // max(1, search_bytes)
    return max(1, min(room, MOST_SEARCHES, -(-searches // FEWEST_BLOCKS)))


def blocks_together(block_size: int, search_bytes: int) -> int:
    """Return how many blocks a GPU searches in one call: enough to keep it busy, if they fit.

    Together they hold no more than one large block may.

    Parameters
    ----------
    block_size : int
    search_bytes : int
        What a search keeps until its block is written.
    """
    room = GPU_BLOCK_BYTES // max(1, block_size * search_bytes)
    return max(1, min(room, GPU_SEARCHES // block_size))


def distinct_rows(vertices: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], Any]:
    """Return the vertices that differ, as they first appear, and the row of every one of them.

    The rows are None if all differ: then they are 0, 1, 2...; memory for n numbers, and a row a
    vertex.
    """
    row_of = np.full(n, -1, np.int32)
    found = 0
    kept: list[NDArray[np.int64]] = []
    for piece in _pieces(vertices):
        unseen = piece[row_of[piece] < 0]
        places = np.arange(unseen.size, dtype=np.int32)
        # (of several values for one place the last is kept, which is the first from behind)
        row_of[unseen[::-1]] = places[::-1]
        new = unseen[row_of[unseen] == places]
        row_of[new] = np.arange(found, found + new.size)
        found += new.size
        kept.append(new)
    distinct = np.concatenate(kept) if kept else np.empty(0, np.int64)
    return distinct, None if found == vertices.size else row_of[vertices]


def _pieces(vertices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    return (vertices[first : first + PIECE] for first in range(0, vertices.size, PIECE))
