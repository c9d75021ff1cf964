"""A table as a Zarr 3 store: an array a field, and every block writes chunks of its own.

The library makes the store and its metadata; chunks are written here, as its codecs would: bytes in
C order, little-endian, compressed by zstd or not at all. So a chunk appears whole or not at all, on
any version of the library, and nothing waits for a lock.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.apps.jobs.files import Piece, piece_of, whole_file
from sssp.apps.jobs.layout import Field, Layout
from sssp.graph.extras import imported

#: ending of the name of a store
SUFFIX = ".zarr"
#: most bytes of a chunk: everybody who writes has one in hand, and what it is compressed to
CHUNK_BYTES = 16 << 20
#: the fastest level
ZSTD_LEVEL = 1
#: name of the file that describes a store, or an array
METADATA = "zarr.json"
#: labels that are written at a time
PIECE = 1 << 20

Array = NDArray[Any]


@dataclass(frozen=True)
class ZarrStore:
    """Where the blocks of a table go.

    Attributes
    ----------
    path : Path
    layout : Layout
    zstd : bool
        Whether chunks are compressed.
    chunk_bytes : int
        Most bytes of a chunk, where a block may be cut.
    """

    path: Path
    layout: Layout
    zstd: bool
    chunk_bytes: int = CHUNK_BYTES

    #: what the manifest calls it
    form = "zarr"

    def prepare(
        self, labels: Mapping[str, Array], attributes: Mapping[str, Any], temporary: Path
    ) -> dict[Path, Piece]:
        """Make what the store is read by, its metadata and labels, outside of it.

        Parameters
        ----------
        labels : mapping of str to ndarray
            What the rows and the columns are called, by dimension: integers.
        attributes : mapping
            Of the store.
        temporary : Path
            A folder on the same file system.

        Returns
        -------
        dict of Path to Piece
            The files, and what they are to be in the store.

        Raises
        ------
        MissingExtraError
            The library is not installed.
        """
        zarr = imported("zarr", "jobs")
        # (made elsewhere, for the library removes the chunks of an array that it makes again)
        made = temporary / secrets.token_hex(8)
        group = zarr.open_group(str(made), mode="w", zarr_format=3)
        group.update_attributes(dict(attributes))
        for name, values in labels.items():
            array = self._create(group, name, values.shape, (max(1, min(PIECE, values.size)),),
                                 values.dtype, 0, (name,))  # fmt: skip
            for first in range(0, values.size, PIECE):
                array[first : first + PIECE] = values[first : first + PIECE]
        for field in self.layout.fields:
            shape: tuple[int, ...] = (self.layout.rows,)
            dimensions: tuple[str, ...] = ("source",)
            if field.width is not None:
                shape = (self.layout.rows, field.width)
                dimensions = ("source", "target" if "target" in labels else "column")
            array = self._create(
                group, field.name, shape, self._chunk_shape(field)[: len(shape)],
                field.dtype, field.missing, dimensions,
            )  # fmt: skip
            array.update_attributes({"unreached": _plain(field.missing)})
        return {
            path: piece_of(path, path.relative_to(made).as_posix())
            for path in sorted(made.rglob("*"))
            if path.is_file()
        }

    def _create(
        self,
        group: Any,
        name: str,
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        dtype: np.dtype[Any],
        fill_value: Any,
        dimensions: tuple[str, ...],
    ) -> Any:
        codecs = imported("zarr.codecs", "jobs")
        return group.create_array(
            name,
            shape=shape,
            chunks=chunks,
            dtype=dtype.newbyteorder("<"),
            compressors=codecs.ZstdCodec(level=ZSTD_LEVEL) if self.zstd else None,
            fill_value=fill_value,
            dimension_names=dimensions,
        )

    def _chunk_shape(self, field: Field) -> tuple[int, int]:
        """Return rows and columns of a chunk: those of a block, cut evenly where they are many."""
        layout, columns = self.layout, max(1, self.layout.columns(field))
        across, along = (layout.rows, columns) if layout.by_columns else (columns, layout.rows)
        block = max(1, min(layout.block_size, along))
        pieces = -(-block * across * field.dtype.itemsize // self.chunk_bytes)
        piece = max(1, -(-across // max(1, pieces)))
        return (piece, block) if layout.by_columns else (block, piece)

    def write(self, block: int, values: Mapping[str, Array], temporary: Path) -> list[Piece]:
        """Write a block; return its files.

        Parameters
        ----------
        block : int
        values : mapping of str to ndarray
            Of every field the rows of the block, or the columns, of all of the table.
        temporary : Path
            A folder on the same file system.
        """
        pieces = []
        for field in self.layout.fields:
            for name, chunk in self._chunks(block, field, values[field.name]):
                with whole_file(self.path / name, temporary) as stream:
                    stream.write(self._encoded(chunk))
                pieces.append(Piece(name, stream.size, stream.checksum))
        return pieces

    def _chunks(self, block: int, field: Field, values: Array) -> Iterator[tuple[str, Array]]:
        """Yield the chunks of a field, each as large as all, and their names."""
        table = values if values.ndim == 2 else values[:, np.newaxis]
        rows, columns = self._chunk_shape(field)
        by_columns = self.layout.by_columns
        step = rows if by_columns else columns
        for number, first in enumerate(range(0, table.shape[0 if by_columns else 1], step)):
            end = first + step
            part = table[first:end] if by_columns else table[:, first:end]
            place = (number, block) if by_columns else (block, number)
            keys = place if field.width is not None else place[:1]
            yield (
                f"{field.name}/c/{'/'.join(map(str, keys))}",
                _filled(part, (rows, columns), field),
            )

    def _encoded(self, chunk: Array) -> Any:
        if not self.zstd:
            return chunk
        return self._codec.encode(chunk)

    @cached_property
    def _codec(self) -> Any:
        return imported("numcodecs", "jobs").Zstd(level=ZSTD_LEVEL)


def names_in_store(lines: Iterable[str], tables: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names of a store's files, relative to it: a regular expression a folder or file.

    Parameters
    ----------
    lines, tables : iterable of str
        Its arrays of one axis and of two.
    """
    line, table = ("|".join(map(re.escape, arrays)) for arrays in (lines, tables))
    metadata, number = re.escape(METADATA), "0|[1-9][0-9]*"
    return [
        (metadata,),
        (f"{line}|{table}", metadata),
        (line, "c", number),
        (table, "c", number, number),
    ]


def _filled(part: Array, shape: tuple[int, int], field: Field) -> Array:
    """Return a chunk of a whole shape: at the edges of a table there is nothing in some of it."""
    dtype = field.dtype.newbyteorder("<")
    if part.shape == shape:
        return np.ascontiguousarray(part, dtype)
    whole = np.full(shape, field.missing, dtype)
    whole[: part.shape[0], : part.shape[1]] = part
    return whole


def _plain(missing: Any) -> Any:
    """Return what stands for unreached as JSON has it."""
    return int(missing) if missing != np.inf else "Infinity"
